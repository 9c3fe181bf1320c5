/* One agreement of a machine of any size. */
#ifndef MU_SIM_AGREE_RUN_H
#define MU_SIM_AGREE_RUN_H

#include "sim/agree/world.h"

struct sim_run_agree {
    uint32_t nodes;
    uint32_t crashes; /* so many nodes die meanwhile */
    uint64_t seed;
    uint8_t shift;      /* the tree's fan-out is 2^shift */
    size_t other_bytes; /* what the rest of a core takes, for the result */
    FILE *trace;
    void (*progress)(const struct agree_world *);
};

struct sim_run_agree_result {
    uint32_t height; /* of the tree */
    uint32_t survivors;
    double message_delay_ms; /* the longest */
    double bound_ms;         /* 2.2 times height and delay */
    double virtual_ms;       /* from the last contribution to the last decision */
    uint32_t messages_per_node_max;
    uint64_t messages;
    size_t agree_bytes_per_node; /* of the agreement, */
    size_t state_bytes_per_node; /* and with the node and its detector */
    uint64_t events;
    double wall_s;
    double rss_mib;
    struct mu_fingerprint digest;
    char broken[16]; /* a law; empty: none */
    char message[256];
};

void sim_run_agree(const struct sim_run_agree *run, struct sim_run_agree_result *result);

#endif
