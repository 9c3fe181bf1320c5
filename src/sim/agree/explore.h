/* Every interleaving of agreements, and of crashes and the news of them, among a few nodes. */
#ifndef MU_SIM_AGREE_EXPLORE_H
#define MU_SIM_AGREE_EXPLORE_H

#include "sim/base/explore.h"

struct explore_agree {
    uint32_t nodes;
    uint32_t crashes;
    uint32_t agreements; /* at a time: groups, each of all nodes */
    uint32_t rounds;     /* one after the other in each group */
    uint32_t lapses;     /* a node loses its lease: it may be declared dead, or find it again */
    uint32_t resets;     /* of connections */
    uint32_t proofs;     /* crashes of which there may be proof; others are silent */
    uint32_t shift;      /* the tree's fan-out is 2^shift */
    bool calls_first;    /* everybody contributes before anything else happens: not every case */
    bool every_order;    /* without the reduction */
    const char *law;     /* only this one counts; NULL: all */
    uint32_t broken_rules;
};

enum {
    EXPLORE_AGREE_NODES_MAX = 7,
    EXPLORE_AGREE_GROUPS_MAX = 2,
    EXPLORE_AGREE_ROUNDS_MAX = 3,
};

void explore_agree(const struct explore_agree *agree, const struct explore_options *options,
                   struct explore_result *result);

#endif
