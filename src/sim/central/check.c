#include "sim/central/check.h"

#include "sim/base/random.h"
#include "sim/central/draw.h"

/* Small worlds most often: most of what can go wrong needs few nodes. */
static uint32_t nodes_of(const struct sim_check *check, uint64_t seed)
{
    struct sim_check small = *check;
    uint32_t most = check->nodes_first + 4;
    if (sim_random_hash(seed ^ UINT64_C(0x5eed)) % 100 < 70 && most < check->nodes_last)
        small.nodes_last = most;
    return sim_check_nodes_of(&small, seed);
}

void sim_check_central_one(const struct sim_check *check, uint64_t seed, FILE *trace,
                           struct sim_check_result *result)
{
    struct central_draw draw;
    struct central_world world;
    central_draw(&draw, seed, nodes_of(check, seed), check->broken_rules);
    draw.plan.trace = trace;
    central_world_init(&world, &draw.plan);
    central_world_run(&world);
    sim_check_take(result, &(struct sim_check_outcome){.seed = seed,
                                                       .nodes = world.size,
                                                       .events = world.events,
                                                       .crashes = world.crashes,
                                                       .broken = world.broken,
                                                       .message = world.message,
                                                       .step = world.step});
    central_world_free(&world);
}
