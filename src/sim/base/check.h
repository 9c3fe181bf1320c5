/* Many small worlds, each drawn from its seed, each checked against the laws of a protocol. */
#ifndef MU_SIM_BASE_CHECK_H
#define MU_SIM_BASE_CHECK_H

#include "core/base/types.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sim_check {
    uint32_t nodes_first, nodes_last;
    uint64_t seeds_first, seeds_last;
    uint32_t broken_rules; /* for mutants: those of the protocol */
    void (*progress)(uint64_t runs_done, uint64_t runs);
};

struct sim_check_result {
    uint64_t runs;
    uint64_t violations;
    uint64_t events;
    uint64_t crashes; /* drawn */
    /* the first violation */
    uint32_t nodes;
    uint64_t seed, step;
    char law[16];
    char message[256];
};

/* The world of one seed, with a readable trace unless that is NULL. */
typedef void sim_check_one(const struct sim_check *check, uint64_t seed, FILE *trace,
                           struct sim_check_result *result);

/* Every seed runs on one number of nodes of the range, so that a range of seeds covers all. */
uint32_t sim_check_nodes_of(const struct sim_check *check, uint64_t seed);

/* Runs them all; goes on after a violation, unless stop_at_first. */
void sim_check_all(const struct sim_check *check, sim_check_one *one, bool stop_at_first,
                   struct sim_check_result *result);

/* What came of one world. */
struct sim_check_outcome {
    uint64_t seed;
    uint32_t nodes;
    uint64_t events, crashes;
    const char *broken; /* the law; NULL: none */
    const char *message;
    uint64_t step;
};

void sim_check_take(struct sim_check_result *result, const struct sim_check_outcome *outcome);

#endif
