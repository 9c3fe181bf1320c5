#include "sim/agree/run.h"

#include "sim/base/memory.h"
#include "sim/base/wall.h"

#include <stdlib.h>
#include <string.h>

enum {
    TRACKED_MAX = 64,         /* larger worlds do not keep contributions one by one */
    DELAY_NS_MIN = 20 * 1000, /* as in sim/node/run.c */
    JITTER_NS_MAX = 20 * 1000,
    TELL_NS_MIN = 100 * 1000, /* a closed connection, refused again, and the broadcast of it */
    TELL_NS_MAX = 500 * 1000,
};

/* Limits of a node that lives through one agreement: what a million of them take must fit. */
static void plan_config(const struct sim_run_agree *run, struct mu_agree_config *config)
{
    mu_agree_config_default(config, run->nodes, 0);
    config->shift = run->shift;
    config->limits = (struct mu_agree_limits){
        .dead = run->crashes + 1, .groups = 1, .runs = 2, .failed = (uint16_t)(run->crashes + 2)};
}

static void draw_crashes(const struct sim_run_agree *run, uint64_t until_ns,
                         struct agree_fault *faults)
{
    struct sim_random random;
    sim_random_init(&random, run->seed + 1);
    for (uint32_t i = 0; i < run->crashes; i++)
        faults[i] = (struct agree_fault){.type = AGREE_FAULT_CRASH,
                                         .node = (mu_slot)sim_random_below(&random, run->nodes),
                                         .at_ns = sim_random_below(&random, until_ns),
                                         .after_effects = AGREE_NOT_IN_UPDATE};
}

void sim_run_agree(const struct sim_run_agree *run, struct sim_run_agree_result *result)
{
    double start_s = sim_wall_s();
    memset(result, 0, sizeof *result);
    result->height = mu_tree_height(run->nodes, run->shift);
    result->message_delay_ms = (DELAY_NS_MIN + JITTER_NS_MAX) / 1e6;
    result->bound_ms = 2.2 * result->height * result->message_delay_ms;

    struct mu_span all = {.first = 0, .count = run->nodes};
    struct agree_group_plan group = {.spans = &all, .span_count = 1, .rounds = 1};
    struct agree_fault *faults = sim_calloc(run->crashes + 1, sizeof *faults);
    struct agree_plan plan = {.seed = run->seed,
                              .delay_ns_min = DELAY_NS_MIN,
                              .jitter_ns_max = JITTER_NS_MAX,
                              .tell_ns_min = TELL_NS_MIN,
                              .tell_ns_max = TELL_NS_MAX,
                              .tracked = run->nodes <= TRACKED_MAX,
                              .groups = &group,
                              .group_count = 1,
                              .faults = faults,
                              .fault_count = run->crashes,
                              .trace = run->trace};
    plan_config(run, &plan.config);
    draw_crashes(run, (uint64_t)(result->bound_ms * 1e6) + 1, faults);

    struct agree_world world;
    agree_world_init(&world, &plan);
    agree_world_run(&world, run->progress);
    for (mu_slot slot = 0; slot < world.size; slot++)
        if (world.seats[slot].sent > result->messages_per_node_max)
            result->messages_per_node_max = world.seats[slot].sent;
    result->survivors = world.living;
    result->virtual_ms = (double)(world.last_decision_ns - world.last_call_ns) / 1e6;
    result->messages = world.messages;
    result->agree_bytes_per_node = world.node_bytes;
    result->state_bytes_per_node = world.node_bytes + run->other_bytes;
    result->events = world.events;
    result->digest = world.digest;
    if (world.broken != NULL) {
        snprintf(result->broken, sizeof result->broken, "%s", world.broken);
        snprintf(result->message, sizeof result->message, "%s", world.message);
    }
    agree_world_free(&world);
    free(faults);
    result->wall_s = sim_wall_s() - start_s;
    result->rss_mib = sim_peak_rss_mib();
}
