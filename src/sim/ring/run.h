/* Some nodes of a machine of any size fail, and its ring finds them. */
#ifndef MU_SIM_RING_RUN_H
#define MU_SIM_RING_RUN_H

#include "sim/ring/world.h"

struct sim_run_ring {
    uint32_t nodes;
    uint32_t fail; /* so many of them; fewer than nodes */
    uint64_t seed;
    uint64_t period_ns, timeout_ns;
    bool spread; /* the real nodes carry every verdict to everybody */
    FILE *trace;
    void (*progress)(const struct ring_world *);
};

struct sim_run_ring_result {
    uint32_t failed; /* at the end */
    uint64_t declared;
    uint64_t wrong;  /* declared, and alive */
    uint32_t groups; /* of those that failed: with a neighbour that had failed, too */
    double detect_ms_mean, detect_ms_max; /* of one that fails between live nodes */
    double detect_group_ms_max;
    double bound_ms, bound_group_ms;
    double messages_per_node_period; /* before the first failure */
    size_t state_bytes_per_node;     /* of the detector */
    double virtual_ms;
    uint64_t events;
    double wall_s;
    double rss_mib;
    struct mu_fingerprint digest;
    char broken[16]; /* a law; empty: none */
    char message[256];
};

void sim_run_ring(const struct sim_run_ring *run, struct sim_run_ring_result *result);

#endif
