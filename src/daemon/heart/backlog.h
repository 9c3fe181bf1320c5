/* News that did not fit into the queue to the main thread, in the heartbeat thread's own memory.
 *
 * It has room for all that may not be lost.  A verdict covers every incarnation up to its own, so
 * one for each slot is enough, and a detector declares no more slots than its capacity for dead
 * nodes, and itself.  It is fenced once.  Of the lease, and of faults, only the last word counts.
 * Reports have REPORTS places, one for each node. */
#ifndef MU_DAEMON_HEART_BACKLOG_H
#define MU_DAEMON_HEART_BACKLOG_H

#include "daemon/heart/heartbeat.h"
#include "host/spsc.h"

enum { MU_BACKLOG_REPORTS = 16 };

struct mu_backlog {
    struct mu_heartbeat_news *items; /* the oldest first */
    uint32_t count;
    uint32_t capacity;
    uint32_t reports; /* how many of them */
};

/* Items that are needed for a detector with this capacity for dead nodes. */
uint32_t mu_backlog_capacity(uint32_t dead);

/* 'items' has room for 'capacity'. */
void mu_backlog_init(struct mu_backlog *backlog, struct mu_heartbeat_news *items,
                     uint32_t capacity);

/* Puts news into the queue, or behind what waits already.  False: it was a report too many. */
bool mu_backlog_put(struct mu_backlog *backlog, struct mu_spsc *queue,
                    const struct mu_heartbeat_news *news);

/* Moves to the queue what fits.  Returns how many. */
uint32_t mu_backlog_move(struct mu_backlog *backlog, struct mu_spsc *queue);

#endif
