/* One repetition of 'muster bench nodefail': new daemons, new processes in role 'count', some nodes
 * fail at once, and everything is gone again. */
#ifndef MU_BENCH_NODEFAIL_RIG_H
#define MU_BENCH_NODEFAIL_RIG_H

#include "bench/nodefail/tally.h"
#include "rig/rig.h"
#include "rig/stall.h"
#include "rig/guard.h"

enum {
    NODEFAIL_WAIT_MS = 10000, /* what was not read by then is missed */
    NODEFAIL_SETTLE_MS = 250, /* of rest before a node fails, for what is still on its way */
};

enum nodefail_how { NODEFAIL_KILL, NODEFAIL_STOP, NODEFAIL_CUT };

struct nodefail_rig {
    uint32_t nodes, procs, count;
    uint64_t period_ns, timeout_ns;
    enum nodefail_how how;
    struct rig_page *page;
    bool was_timed; /* it was said how good the timers are */
    /* Of one repetition. */
    struct stall_windows windows; /* from before the daemons are started on */
    struct stall_timers timers;
    struct rig rig;
    struct guard guard;
};

/* Makes the page and the windows.  False: it has said why. */
bool nodefail_rig_open(struct nodefail_rig *rig);
void nodefail_rig_close(struct nodefail_rig *rig);

/* The whole repetition.  'phase_ns' is waited for before the failure, so that it falls anywhere
 * between two heartbeats.  A daemon that ends before that ends the repetition.  Broken: it has said
 * why, or a signal came (rig.signal). */
void nodefail_rig_measure(struct nodefail_rig *rig, const mu_slot *victims, uint64_t phase_ns,
                          struct nodefail_sample *sample);

#endif
