#include "sim/advise/run.h"

#include "sim/advise/world.h"
#include "sim/base/memory.h"
#include "sim/base/wall.h"

#include <stdlib.h>
#include <string.h>

enum { SLOW_FIRST = 4, SLOW_LAST = 11, END = 26, SLOW_PERCENT = 300, NOISE_PERCENT = 8 };

/* What happens to whom, interval by interval. */
struct watch {
    const struct sim_run_advise *run;
    struct sim_run_advise_result *result;
    uint8_t *is_slow;
    uint8_t *was_out;
};

/* Room for the slow and what their testers say, and O(log N) else. */
static void plan_config(const struct sim_run_advise *run, struct mu_advise_config *config)
{
    uint32_t testers = mu_cluster_dimension(run->nodes);
    mu_advise_config_default(config, run->nodes, 0);
    if (run->assignment == MU_ADVISE_ALL_PAIRS)
        testers = run->nodes;
    config->assignment = run->assignment;
    config->limits = (struct mu_advise_limits){.changed = 2 * run->slow + 8,
                                               .tested = 4 * testers + 8,
                                               .words = (run->slow + 1) * (testers + 1),
                                               .dead = 8,
                                               .others = 3};
}

static void draw_slow(const struct sim_run_advise *run, struct advise_fault *faults,
                      uint8_t *is_slow)
{
    struct sim_random random;
    sim_random_init(&random, run->seed + 1);
    for (uint32_t i = 0; i < run->slow;) {
        mu_slot slot = (mu_slot)sim_random_below(&random, run->nodes);
        if (is_slow[slot])
            continue;
        is_slow[slot] = 1;
        faults[i++] = (struct advise_fault){.type = ADVISE_SLOW,
                                            .node = slot,
                                            .first = SLOW_FIRST,
                                            .last = SLOW_LAST,
                                            .percent = SLOW_PERCENT};
    }
}

/* By what it says itself whether it works. */
static void look(const struct advise_world *world, struct watch *watch, double interval)
{
    struct sim_run_advise_result *result = watch->result;
    result->back = 0;
    for (mu_slot slot = 0; slot < world->size; slot++) {
        bool works = mu_advise_works(advise_at(world, slot));
        if (!watch->is_slow[slot]) {
            result->well_out += !works && !watch->was_out[slot];
            watch->was_out[slot] = watch->was_out[slot] || !works;
            continue;
        }
        if (!works && !watch->was_out[slot]) {
            watch->was_out[slot] = 1;
            result->out++;
            result->out_intervals_max = interval - SLOW_FIRST;
        }
        if (works && watch->was_out[slot] == 1) {
            watch->was_out[slot] = 2;
            result->back_intervals_max = interval - SLOW_LAST;
        }
        result->back += works && watch->was_out[slot] != 0;
    }
}

static void take(const struct advise_world *world, struct sim_run_advise_result *result)
{
    for (mu_slot slot = 0; slot < world->size; slot++)
        if (world->seats[slot].tests_max > result->tests_per_node_max)
            result->tests_per_node_max = world->seats[slot].tests_max;
    result->rounds = mu_advise_group_of(advise_at(world, 0))->round;
    result->intervals = END;
    result->tests_per_node = (double)world->tests / world->size / END;
    result->words_max = world->round_words_max;
    result->state_bytes_per_node = world->node_bytes;
    result->events = world->events;
    result->digest = world->digest;
    if (world->broken != NULL) {
        memcpy(result->message, world->message, sizeof result->message);
        strncpy(result->broken, world->broken, sizeof result->broken - 1);
    }
}

void sim_run_advise(const struct sim_run_advise *run, struct sim_run_advise_result *result)
{
    double start_s = sim_wall_s();
    memset(result, 0, sizeof *result);
    struct advise_fault *faults = sim_calloc(run->slow + 1, sizeof *faults);
    struct watch watch = {run, result, sim_calloc(run->nodes, 1), sim_calloc(run->nodes, 1)};
    struct advise_plan plan = {.seed = run->seed,
                               .faults = faults,
                               .fault_count = run->slow,
                               .noise_percent = NOISE_PERCENT,
                               .busy = SLOW_LAST,
                               .end = END,
                               .work_ns_max = ADVISE_INTERVAL_NS / 2,
                               .tell_ns_max = ADVISE_INTERVAL_NS / 100,
                               .decide_ns_max = ADVISE_INTERVAL_NS / 100,
                               .trace = run->trace};
    plan_config(run, &plan.config);
    draw_slow(run, faults, watch.is_slow);
    struct advise_world world;
    advise_world_init(&world, &plan);
    for (uint32_t quarter = 1; quarter <= 4 * END && world.broken == NULL; quarter++) {
        advise_world_run_until(&world, quarter * ADVISE_INTERVAL_NS / 4);
        look(&world, &watch, quarter / 4.0);
        if (run->progress != NULL)
            run->progress(world.events, quarter / 4.0);
    }
    take(&world, result);
    result->slow = run->slow;
    advise_world_free(&world);
    free(faults);
    free(watch.is_slow);
    free(watch.was_out);
    result->wall_s = sim_wall_s() - start_s;
    result->rss_mib = sim_peak_rss_mib();
}
