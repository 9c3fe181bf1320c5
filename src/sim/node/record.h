/* Recorded event logs (docs/record.md): written from a virtual world.  replay.h runs them again. */
#ifndef MU_SIM_NODE_RECORD_H
#define MU_SIM_NODE_RECORD_H

#include "core/base/event.h"
#include "wire/record/stream.h"

#include <stdio.h>

/* Writes what enters one node, as a daemon does with --record. */
struct sim_recorder {
    FILE *to;
    mu_slot node;
    struct mu_stream stream;
    bool failed; /* the file could not be written */
};

/* 'to' stays the caller's.  False when it cannot be written. */
bool sim_record_start(struct sim_recorder *recorder, FILE *to, const struct mu_config *config);

/* One step of one node; steps of other nodes than the recorder's are passed over. */
void sim_record_step(struct sim_recorder *recorder, mu_slot node, const struct mu_event *event,
                     const struct mu_update *update);

/* Returns false when something could not be written.  Frees what the recorder holds. */
bool sim_record_end(struct sim_recorder *recorder);

#endif
