/* Listens to every daemon of a machine on this host, as 'muster events' does. */
#ifndef MU_CHAOS_SCRIPT_WATCH_H
#define MU_CHAOS_SCRIPT_WATCH_H

#include "chaos/script/judge.h"
#include "launch/operator.h"

/* Zeroed at first. */
struct chaos_watch {
    struct operator_link *links; /* fd -1: it is gone */
    bool *is_live;               /* it has told what was before */
    mu_slot *nodes;              /* whose */
    uint32_t count;
    struct chaos_told *told; /* what is new, in the order in which it was heard */
    uint32_t told_count, told_room;
    uint64_t lost; /* events that we were too slow for */
};

/* Waits until each of them has told what was before.  A daemon that does not answer is not watched;
 * false: none does, and 'why' says why. */
bool chaos_watch_open(struct chaos_watch *watch, const struct operator_found *found,
                      char why[OPERATOR_TEXT_MAX]);

/* Takes what has come; never waits. */
void chaos_watch_take(struct chaos_watch *watch);
void chaos_watch_close(struct chaos_watch *watch);

#endif
