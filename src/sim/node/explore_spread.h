/* Every interleaving of one notice, and of crashes, returns and the news of them, among a few
 * nodes. */
#ifndef MU_SIM_NODE_EXPLORE_SPREAD_H
#define MU_SIM_NODE_EXPLORE_SPREAD_H

#include "sim/base/explore.h"

struct explore_spread {
    uint32_t nodes;
    uint32_t crashes;
    uint32_t returns;  /* of crashed nodes, each at most once, at any moment */
    uint32_t posts;    /* nodes 0 .. posts-1 each have one payload for everybody, at any moment */
    bool root_at_dead; /* a death's tree hangs from the dead node, else from who saw it */
    uint32_t broken_rules;
};

enum { EXPLORE_SPREAD_NODES_MAX = 8 };

void explore_spread(const struct explore_spread *spread, const struct explore_options *options,
                    struct explore_result *result);

#endif
