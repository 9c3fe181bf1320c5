/* Every interleaving of views among a few nodes: crashes, leases that run out, a cut that heals,
 * nodes that join, come back and leave. */
#ifndef MU_SIM_VIEW_EXPLORE_H
#define MU_SIM_VIEW_EXPLORE_H

#include "sim/base/explore.h"

struct explore_view {
    uint32_t nodes;   /* that found the cluster */
    uint32_t joiners; /* besides, from the start on */
    uint32_t crashes;
    uint32_t proofs;  /* of those: crashes that a witness tells of, with the last word */
    uint32_t stalls;  /* a node loses its lease: it may be declared dead, or find it again */
    uint32_t cuts;    /* 0 or 1: two sides that do not hear each other */
    uint64_t sides;   /* the one cut: bits of the nodes on one side; 0: any */
    bool heals;       /* a cut heals in the end, at any moment; else it stays */
    uint32_t returns; /* of hosts whose node crashed or stopped */
    uint32_t leaves;
    uint32_t shift;  /* the tree's fan-out is 2^shift */
    const char *law; /* only this one counts; NULL: all */
    uint32_t broken_rules;
};

enum {
    EXPLORE_VIEW_NODES_MAX = 5,
    EXPLORE_VIEW_STARTS_MAX = 7, /* nodes, joiners and returns */
};

void explore_view(const struct explore_view *view, const struct explore_options *options,
                  struct explore_result *result);

#endif
