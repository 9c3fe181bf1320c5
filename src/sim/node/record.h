/* Recorded event logs (docs/record.md): written from a virtual world, run again from a file. */
#ifndef MU_SIM_NODE_RECORD_H
#define MU_SIM_NODE_RECORD_H

#include "core/base/event.h"
#include "wire/record/recording.h"

#include <stdio.h>

/* Writes what enters one node, as a daemon does with --record. */
struct sim_recorder {
    FILE *to;
    mu_slot node;
    struct mu_recording *recording;
    bool failed; /* the file could not be written */
};

/* 'to' stays the caller's.  False when it cannot be written. */
bool sim_record_start(struct sim_recorder *recorder, FILE *to, const struct mu_config *config);

/* One step of one node; steps of other nodes than the recorder's are passed over. */
void sim_record_step(struct sim_recorder *recorder, mu_slot node, const struct mu_event *event,
                     const struct mu_update *update);

/* Returns false when something could not be written.  Frees what the recorder holds. */
bool sim_record_end(struct sim_recorder *recorder);

struct sim_replay_result {
    uint64_t events;
    uint64_t effects;
    uint64_t delivered;
    struct mu_fingerprint digest;   /* of this run */
    struct mu_fingerprint recorded; /* of the recorded one */
    char error[512];                /* why the file cannot be run; empty: it was */
};

/* Runs the file at 'path' through a fresh node.  'trace' may be NULL. */
void sim_replay(const char *path, FILE *trace, struct sim_replay_result *result);

#endif
