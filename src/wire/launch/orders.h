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
 *     shared-host                     only where all nodes are on one host: see below
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
 * its launcher was killed, or what connects the two.  Any other line there means nothing.
 *
 * "shared-host" changes names, addresses, what processes are bound to and what PMIx counts; no
 * rule, wait or priority: a node on a shared host fails as any other. */
#ifndef MU_WIRE_LAUNCH_ORDERS_H
#define MU_WIRE_LAUNCH_ORDERS_H

#include "core/base/types.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    MU_ORDERS_KEY_BYTES = 32,
    MU_ORDERS_NAME_MAX = 64,
    MU_ORDERS_LINE_MAX = 256,
    MU_ORDERS_TEXT_MAX = MU_ORDERS_LINE_MAX + 128, /* for a sentence */
    MU_ORDERS_BYTES_MAX = 512,                     /* of the first part, written */
    MU_ORDERS_NODE_MAX = 48, /* of a line that says where a node is, written */
};

struct mu_orders {
    uint64_t machine;
    uint8_t key[MU_ORDERS_KEY_BYTES];
    uint32_t size;
    mu_slot slot;
    struct in_addr listen;
    char name[MU_ORDERS_NAME_MAX + 1];
    uint64_t period_ns, timeout_ns; /* that pass mu_detect_times_error() */
    bool shared_host;               /* all nodes are on one host */
    unsigned there;                 /* reading: lines that have come */
};

/* The first part, with its last line; returns its length.  It holds the key: who writes it wipes it
 * when it has gone. */
size_t mu_orders_write(const struct mu_orders *orders, char text[MU_ORDERS_BYTES_MAX]);

/* Where the nodes are: MU_ORDERS_NODE_MAX bytes for each, and one more.  Returns its length. */
size_t mu_orders_write_nodes(const struct sockaddr_in *addresses, uint32_t size, char *text);

/* The lines of the first part, one after the other, without their ends; 'orders' is zeroed before
 * the first.  *over: that was the last one, and nothing is missing.  NULL, or a sentence with the
 * value and the rule in 'text' (MU_ORDERS_TEXT_MAX). */
const char *mu_orders_first(const char *line, char *text);
const char *mu_orders_line(const char *line, struct mu_orders *orders, bool *over, char *text);

/* The same of the second part.  Ports of 'addresses' are 0 before the first line. */
const char *mu_orders_node(const char *line, uint32_t size, struct sockaddr_in *addresses,
                           bool *over, char *text);

/* Wipes the key. */
void mu_orders_wipe(struct mu_orders *orders);

#endif
