/* What 'muster bench accuracy' keeps the host busy with. */
#ifndef MU_RIG_LOAD_H
#define MU_RIG_LOAD_H

#include "rig/rig.h"

/* ---- processes that only compute ---- */

struct load {
    pid_t *pids;
    uint32_t count;
};

/* So many for each core that this process may use, with ordinary priority.  They end with this
 * process, however it ends.  Returns 0, or -1 with errno and nothing running. */
int load_start(struct load *load, uint32_t per_core);
void load_stop(struct load *load);

/* ---- jobs of short processes ---- */

enum { LAUNCH_PER_NODE = 2 };

/* Zeroed, then .rig. */
struct launch {
    struct rig *rig;
    struct job *job;
    bool is_idle;
    uint64_t jobs;      /* that are over */
    uint64_t processes; /* that ended well */
    uint64_t failed;    /* that did not */
};

/* Starts the next job when the one before is over.  False: it has said why. */
bool launch_go_on(struct launch *launch);

/* Cuts the last one off. */
void launch_stop(struct launch *launch);

#endif
