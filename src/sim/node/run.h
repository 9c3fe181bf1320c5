/* One death crosses a machine of any size. */
#ifndef MU_SIM_NODE_RUN_H
#define MU_SIM_NODE_RUN_H

#include "sim/node/world.h"

struct sim_run_spread {
    uint32_t nodes;
    uint64_t seed;
    bool node_dies; /* a whole node, seen by its neighbours; else one process, seen by its node */
    FILE *trace;
    struct sim_recorder *recorder;
    void (*progress)(const struct sim_world *);
};

struct sim_run_spread_result {
    mu_slot origin; /* where the death was seen, or the node that died */
    uint32_t hops_max;
    uint32_t messages_per_node_max;
    uint32_t acks_per_node_max;
    uint64_t messages;
    size_t state_bytes_per_node;
    double virtual_ms; /* until the last node knew */
    uint64_t events;
    double wall_s;
    double rss_mib;
    struct mu_fingerprint digest;
    char broken[16]; /* a law; empty: none */
    char message[256];
};

/* The configuration of the nodes of such a run; 'self' is 0. */
void sim_run_spread_config(struct mu_config *config, const struct sim_run_spread *run);

/* 'hop_of', when not NULL, has room for every node: after how many hops it heard, UINT16_MAX for
 * the dead. */
void sim_run_spread(const struct sim_run_spread *run, struct sim_run_spread_result *result,
                    uint16_t *hop_of);

/* The same in a picture: who has heard after each hop. */
void sim_picture_spread(FILE *to, const struct sim_run_spread *run, bool colour,
                        struct sim_run_spread_result *result);

#endif
