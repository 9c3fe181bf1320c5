/* A recommended group of any size: some become slow, are out, and come back. */
#ifndef MU_SIM_ADVISE_RUN_H
#define MU_SIM_ADVISE_RUN_H

#include "core/advise/cluster.h"
#include "core/base/fingerprint.h"

#include <stdio.h>

struct sim_run_advise {
    uint32_t nodes;
    uint32_t slow; /* so many take three times as long for a while */
    enum mu_advise_assignment assignment;
    uint64_t seed;
    FILE *trace;
    void (*progress)(uint64_t events, double intervals);
};

struct sim_run_advise_result {
    uint32_t slow, out, back;  /* out: of the slow, before they were well again; back: at the end */
    uint32_t well_out;         /* of those that never were slow: at any time */
    double out_intervals_max;  /* from slow to out of every member's group */
    double back_intervals_max; /* from well to work */
    uint64_t rounds;
    uint32_t intervals;
    double tests_per_node; /* and interval */
    uint32_t tests_per_node_max;
    uint32_t words_max; /* in one decision */
    size_t state_bytes_per_node;
    uint64_t events;
    double wall_s, rss_mib;
    struct mu_fingerprint digest;
    char broken[16]; /* a law; empty: none */
    char message[256];
};

void sim_run_advise(const struct sim_run_advise *run, struct sim_run_advise_result *result);

#endif
