#include "sim/ring/check.h"

#include "sim/base/random.h"
#include "sim/ring/draw.h"

#include <stdio.h>
#include <string.h>

/* Small worlds most often: most of what can go wrong needs few nodes, and little time. */
static uint32_t nodes_of(const struct sim_check *check, uint64_t seed)
{
    struct sim_check small = *check;
    uint32_t most = check->nodes_first + 4;
    if (sim_random_hash(seed ^ UINT64_C(0x5eed)) % 100 < 70 && most < check->nodes_last)
        small.nodes_last = most;
    return sim_check_nodes_of(&small, seed);
}

void sim_check_ring_one(const struct sim_check *check, uint64_t seed, FILE *trace,
                        struct sim_check_result *result)
{
    struct ring_draw draw;
    struct ring_world world;
    ring_draw(&draw, seed, nodes_of(check, seed), check->broken_rules);
    draw.plan.trace = trace;
    ring_world_init(&world, &draw.plan);
    ring_world_run(&world, NULL);
    uint64_t crashes = 0;
    for (mu_slot slot = 0; slot < world.size; slot++)
        crashes += world.seats[slot].crashed ? 1 : 0;
    sim_check_take(result, &(struct sim_check_outcome){.seed = seed,
                                                       .nodes = world.size,
                                                       .events = world.events,
                                                       .crashes = crashes,
                                                       .broken = world.law.broken,
                                                       .message = world.law.message,
                                                       .step = world.law.broken_step});
    ring_world_free(&world);
}
