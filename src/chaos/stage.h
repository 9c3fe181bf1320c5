/* Where faults happen: a machine that is there, or one of our own with processes. */
#ifndef MU_CHAOS_STAGE_H
#define MU_CHAOS_STAGE_H

#include "rig/rig.h"
#include "launch/operator.h"

/* Zeroed at first. */
struct chaos_stage {
    bool is_own;
    struct rig rig;        /* of our own, */
    struct rig_page *page; /* with that of its processes */
    struct operator_found found;
    int signal; /* that came, and ends us; 0: none */
};

struct chaos_stage_config {
    const char *command;   /* "muster chaos script" */
    uint32_t nodes, procs; /* rank r is on node r / procs */
    uint64_t period_ns, timeout_ns;
    const char *role; /* of the processes, which are clients of the rig */
};

/* A machine that is there.  From then on signals that end us are noted only.  False: said why. */
bool chaos_stage_find(struct chaos_stage *stage, const struct command *command, const char *prefix);

/* One of our own, with job 1, whose processes are all there.  False: said why, or a signal came. */
bool chaos_stage_open(struct chaos_stage *stage, const struct chaos_stage_config *config);

/* Lets so much time pass.  False: a signal came, or our own machine broke, and that was said. */
bool chaos_stage_pass_ms(struct chaos_stage *stage, uint32_t ms);

/* After either, also when it failed.  Nothing of our own is left. */
void chaos_stage_close(struct chaos_stage *stage);

/* The exit code, or the end by the signal that came. */
int chaos_stage_end(const struct chaos_stage *stage, int code);

#endif
