/* What daemons tell an operator of nodes that were declared dead. */
#ifndef MU_RIG_WATCH_H
#define MU_RIG_WATCH_H

#include "rig/rig.h"
#include "rig/stall.h"
#include "launch/operator.h"

/* Every daemon is told of every verdict, so a few are enough; the machine loses one at a time. */
enum { WATCHES = 3 };

struct verdict {
    uint64_t seen_ns; /* when it was declared; 0: it was not */
    struct mu_evidence evidence;
};

/* Zeroed, then .rig and .verdicts. */
struct watch {
    struct rig *rig;
    struct verdict *verdicts; /* of each node */
    struct {
        bool is_open;
        mu_slot node;
        struct operator_link link;
    } links[WATCHES];
    mu_slot next; /* node to be tried when a link is gone */
};

/* Takes what has come; never waits long.  A daemon that is gone is replaced by another, which
 * begins with everything that it was told. */
void watch_take(struct watch *watch);
void watch_close(struct watch *watch);

/* Was anybody declared dead? */
bool watch_has_verdict(const struct watch *watch);

/* How long the host stood still when this came about: a stall may have kept away heartbeats as long
 * as nothing was heard, and the one before that. */
uint64_t verdict_stall_ns(const struct verdict *verdict, const struct stall_windows *windows,
                          uint64_t period_ns, uint64_t timeout_ns);

/* For longer than timeout - period? */
bool verdict_is_excused(const struct verdict *verdict, const struct stall_windows *windows,
                        uint64_t period_ns, uint64_t timeout_ns);

/* "silent for 25.1 ms, declared by node 7, which was late by 0.3 ms itself; ..." */
enum { VERDICT_TEXT_MAX = 512 };
const char *verdict_text(const struct verdict *verdict, char text[VERDICT_TEXT_MAX]);

#endif
