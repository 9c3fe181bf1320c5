/* Recorded streams (docs/record.md), run again: each through a fresh state of its door. */
#ifndef MU_SIM_NODE_REPLAY_H
#define MU_SIM_NODE_REPLAY_H

#include "wire/record/stream.h"

#include <stdio.h>

enum sim_replay_end {
    SIM_REPLAY_COMPLETE, /* to its END */
    SIM_REPLAY_CUT,      /* it ends without one: whoever recorded it was killed */
    SIM_REPLAY_GAP,      /* what followed was not recorded: there was no room, or no memory */
};

struct sim_replay_result {
    enum mu_record_door door;
    enum sim_replay_end end;
    uint64_t events;
    uint64_t effects;
    uint64_t delivered; /* of the node's door: notices */
    bool same;          /* each event with its check, and the END */
    uint64_t differs;   /* not the same: the first event that is not, from 1; 0: the END */
    struct mu_fingerprint digest;   /* of this run */
    struct mu_fingerprint recorded; /* COMPLETE: of the recorded one */
    char error[512];                /* why the file cannot be run; empty: it was */
};

/* Runs the file at 'path'.  'trace' may be NULL; only the node's door has one. */
void sim_replay(const char *path, FILE *trace, struct sim_replay_result *result);

#endif
