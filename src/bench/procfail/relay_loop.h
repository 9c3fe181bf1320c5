/* One relay: what it has when it begins, and its loop. */
#ifndef MU_BENCH_PROCFAIL_RELAY_LOOP_H
#define MU_BENCH_PROCFAIL_RELAY_LOOP_H

#include "bench/procfail/relay.h"
#include "core/base/graph.h"

struct bench_relay {
    int post;     /* the bench: messages come in here */
    int listener; /* clients connect here */
    uint32_t neighbour_count;
    int neighbours[MU_GRAPH_EDGES_MAX];
};

/* Until the bench is gone. */
_Noreturn void bench_relay_loop(const struct bench_relay *relay);

#endif
