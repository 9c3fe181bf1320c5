#include "sim/check_ring.h"

#include "sim/ring_draw.h"

#include <stdio.h>
#include <string.h>

void sim_check_ring_one(const struct sim_check *check, uint64_t seed, FILE *trace,
                        struct sim_check_result *result)
{
    struct ring_draw draw;
    struct ring_world world;
    ring_draw(&draw, seed, sim_check_nodes_of(check, seed), check->broken_rules);
    draw.plan.trace = trace;
    ring_world_init(&world, &draw.plan);
    ring_world_run(&world, NULL);
    result->runs++;
    result->events += world.events;
    for (mu_slot slot = 0; slot < world.size; slot++)
        result->crashes += world.seats[slot].crashed ? 1 : 0;
    if (world.law.broken != NULL && result->violations++ == 0) {
        result->nodes = world.size;
        result->seed = seed;
        result->step = world.law.broken_step;
        snprintf(result->law, sizeof result->law, "%s", world.law.broken);
        snprintf(result->message, sizeof result->message, "%s", world.law.message);
    }
    ring_world_free(&world);
}

void sim_check_ring(const struct sim_check *check, bool stop_at_first,
                    struct sim_check_result *result)
{
    memset(result, 0, sizeof *result);
    uint64_t runs = check->seeds_last - check->seeds_first + 1;
    for (uint64_t seed = check->seeds_first;; seed++) {
        sim_check_ring_one(check, seed, NULL, result);
        if (check->progress != NULL)
            check->progress(result->runs, runs);
        if (seed == check->seeds_last || (stop_at_first && result->violations > 0))
            return;
    }
}
