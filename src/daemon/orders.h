/* What whoever starts a daemon tells it on its standard input, in lines:
 *
 *     muster-orders 1                 which version of these orders
 *     machine 0123456789abcdef        its number, not 0
 *     key 64 hexadecimal digits       the machine's key: here and nowhere else
 *     size 8                          nodes
 *     slot 3                          which of them this is
 *     listen 127.77.1.4               where; the kernel chooses the port
 *     name node3                      of the host, for messages and, where permitted, for programs
 *     period 100000000                of heartbeats, in ns
 *     timeout 500000000               of silence, in ns
 *     .
 *
 * The daemon says "listening ADDRESS PORT PID" on its standard output, its process id last, and
 * reads where the others are:
 *
 *     node 0 127.77.1.1 40111         for each slot, this one too
 *     .
 *
 * and says "ready" when all its links are up.  It says "failed SENTENCE" instead, and ends, when it
 * cannot go on.  After that the input is a lifeline: when it ends, the daemon ends.  When the whole
 * machine ends, the last line is
 *
 *     end
 *
 * and the daemon says goodbye to the others.  Without it, this node goes alone as far as it knows:
 * its launcher was killed, or what connects the two.  Any other line there means nothing. */
#ifndef MU_DAEMON_ORDERS_H
#define MU_DAEMON_ORDERS_H

#include "core/base/types.h"
#include "net/seal.h"

#include <netinet/in.h>

enum { MU_ORDERS_NAME_MAX = 64, MU_ORDERS_LINE_MAX = 256 };

struct mu_orders {
    uint64_t machine;
    uint8_t key[MU_SEAL_KEY_BYTES];
    uint32_t size;
    mu_slot slot;
    struct in_addr listen;
    char name[MU_ORDERS_NAME_MAX + 1];
    uint64_t period_ns, timeout_ns; /* that pass mu_detect_times_error() */
};

/* Bytes that were read and not looked at yet.  Zeroed at first. */
struct mu_orders_input {
    int fd;
    char bytes[4096];
    size_t from, to;
    size_t matched; /* bytes of the lifeline's last line that are those of "end" */
    bool end_said;  /* that line has come */
};

/* Both block until their last line is there.  NULL, or a sentence with the value and the rule, in
 * the caller's text (MU_ORDERS_LINE_MAX + 128); an end of input is one, too. */
const char *mu_orders_read(struct mu_orders_input *input, struct mu_orders *orders, char *text);
const char *mu_orders_read_nodes(struct mu_orders_input *input, uint32_t size,
                                 struct sockaddr_in *addresses, char *text);

enum { MU_ORDERS_TEXT_MAX = MU_ORDERS_LINE_MAX + 128 };

/* The lifeline: takes what came with the orders, and what is there now; waits only where 'fd' does.
 * end_said is true once the line "end" has come, in however many pieces.  False: the input has
 * ended. */
bool mu_orders_lifeline(struct mu_orders_input *input);

/* Wipes the key.  The bytes that it came in were wiped when they had been read. */
void mu_orders_wipe(struct mu_orders *orders);

#endif
