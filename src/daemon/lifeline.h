/* The standard input of a daemon: its orders (wire/launch/orders.h), and then its lifeline. */
#ifndef MU_DAEMON_LIFELINE_H
#define MU_DAEMON_LIFELINE_H

#include "wire/launch/orders.h"

/* Bytes that were read and not looked at yet.  Zeroed at first. */
struct mu_orders_input {
    int fd;
    char bytes[4096];
    size_t from, to;
    size_t matched; /* bytes of the lifeline's last line that are those of "end" */
    bool end_said;  /* that line has come */
};

/* Both block until their last line is there.  NULL, or a sentence with the value and the rule, in
 * the caller's text (MU_ORDERS_TEXT_MAX); an end of input is one, too. */
const char *mu_orders_read(struct mu_orders_input *input, struct mu_orders *orders, char *text);
const char *mu_orders_read_nodes(struct mu_orders_input *input, uint32_t size,
                                 struct sockaddr_in *addresses, char *text);

/* The lifeline: takes what came with the orders, and what is there now; waits only where 'fd' does.
 * end_said is true once the line "end" has come, in however many pieces.  False: the input has
 * ended. */
bool mu_orders_lifeline(struct mu_orders_input *input);

#endif
