/* Every interleaving of exchanges, and of crashes and the news of them, among a few nodes. */
#ifndef MU_SIM_GATHER_EXPLORE_H
#define MU_SIM_GATHER_EXPLORE_H

#include "sim/base/explore.h"

struct explore_gather {
    uint32_t nodes;
    uint32_t crashes; /* or nodes that lose all who take part: to the others that is the same */
    uint32_t rounds;  /* one after the other */
    uint32_t shift;   /* the tree's fan-out is 2^shift */
    uint32_t broken_rules;
};

enum { EXPLORE_GATHER_NODES_MAX = 7, EXPLORE_GATHER_ROUNDS_MAX = 3 };

void explore_gather(const struct explore_gather *gather, const struct explore_options *options,
                    struct explore_result *result);

#endif
