/* One daemon: the parts of this folder, put together. */
#ifndef MU_DAEMON_DAEMON_H
#define MU_DAEMON_DAEMON_H

#include "daemon/lifeline.h"
#include "witness/witness.h"

struct mu_daemon;

struct mu_daemon_config {
    const struct mu_orders *orders;
    const char *record;               /* a folder to be made, or NULL */
    uint8_t shift;                    /* trees of agreements have a fan-out of 2^shift */
    uint32_t journal;                 /* events that are kept for clients; a power of two */
    uint16_t notices;                 /* places for notices besides deaths of nodes; 0: as usual */
    uint32_t retain_s;                /* how long they are kept; 0: as usual */
    bool pmix;                        /* programs find a PMIx server, where there is libpmix */
    struct mu_orders_input *lifeline; /* when it ends, the daemon ends; of the caller */
    int answers;                      /* where "ready" goes */
    const struct mu_witness *witness; /* of this daemon; NULL: none */
};

/* Listens.  NULL, with a sentence in 'text' (MU_ORDERS_TEXT_MAX).  The key is copied. */
struct mu_daemon *mu_daemon_open(const struct mu_daemon_config *config, char *text);

/* Where it listens. */
struct sockaddr_in mu_daemon_address(const struct mu_daemon *daemon);

/* Where the others are: of the caller, and stays there.  They have been listening since before this
 * is known.  NULL, or a sentence in 'text'. */
const char *mu_daemon_start(struct mu_daemon *daemon, const struct sockaddr_in *addresses,
                            char *text);

/* Until the lifeline ends, a signal says so, or it was declared dead.  Frees it.  Returns the exit
 * code. */
int mu_daemon_run(struct mu_daemon *daemon);

#endif
