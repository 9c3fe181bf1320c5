/* Many small worlds, each drawn from its seed, each checked against the laws of spread and link. */
#ifndef MU_SIM_CHECK_SPREAD_H
#define MU_SIM_CHECK_SPREAD_H

#include "sim/world.h"

struct sim_check {
    uint32_t nodes_first, nodes_last;
    uint64_t seeds_first, seeds_last;
    uint32_t broken_rules; /* for mutants */
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

/* Every seed runs on one number of nodes of the range, so that a range of seeds covers all. */
uint32_t sim_check_nodes_of(const struct sim_check *check, uint64_t seed);

/* Runs them all; goes on after a violation, unless stop_at_first. */
void sim_check_spread(const struct sim_check *check, bool stop_at_first,
                      struct sim_check_result *result);

/* One of them again, with a readable trace. */
void sim_check_spread_one(const struct sim_check *check, uint64_t seed, FILE *trace,
                          struct sim_check_result *result);

#endif
