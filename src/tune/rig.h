/* What 'muster tune' measures with: daemons on this host, what keeps the host busy, and a timer on
 * each core that notes when the host itself stands still. */
#ifndef MU_TUNE_RIG_H
#define MU_TUNE_RIG_H

#include "rig/load.h"
#include "rig/watch.h"
#include "rig/stall.h"
#include "tune/advice.h"
#include "tune/ladder.h"

struct tune_rig {
    struct rig_config config;
    uint32_t load_per_core;
    struct rig rig;
    bool is_open;  /* there are daemons, */
    bool is_spent; /* of which some were declared dead, or do not answer */
    struct load load;
    struct launch launch;
    struct watch watch;
    struct stall_windows windows;
    struct stall_timers timers;
    bool is_realtime;          /* so were the timers, each time */
    uint64_t stall_ns;         /* the longest in one piece, of timers that were stopped */
    struct rig_counts *before; /* of each node */
    uint64_t machines;         /* that were started */
};

/* For so much time.  False: it has said why. */
bool tune_rig_open(struct tune_rig *rig, uint32_t nodes, uint32_t load_per_core, uint64_t span_ns);

/* Also after tune_rig_open() failed.  Nothing is left, of whatever was started. */
void tune_rig_close(struct tune_rig *rig);

/* The longest stall since the rig was opened, in one piece. */
uint64_t tune_rig_stall_ns(struct tune_rig *rig);

/* Called while time passes, often. */
typedef void tune_rig_tick(void *owner);

/* Daemons with these times for so long, or until one is declared dead: then 'text' says how the
 * first of those came about that nothing excuses.  Else it is empty.  False: it has said what
 * broke, or a signal came (rig.signal). */
bool tune_rig_step(struct tune_rig *rig, enum tune_condition condition, uint64_t period_ns,
                   uint64_t span_ns, struct tune_sample *sample, char text[VERDICT_TEXT_MAX],
                   tune_rig_tick *tick, void *owner);

#endif
