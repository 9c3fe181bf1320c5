#include "sim/node/run.h"

#include "core/base/graph.h"
#include "sim/base/memory.h"
#include "sim/base/wall.h"

#include <string.h>

enum {
    TRACKED_MAX = 1024, /* larger worlds do not keep their connections one by one */
    SEEN_US = 20,       /* neighbours see a closed connection after up to so long */
};

/* Limits of a node that lives through one death: what a million of them take must fit. */
void sim_run_spread_config(struct mu_config *config, const struct sim_run_spread *run)
{
    mu_config_default(config, run->nodes, 0);
    config->retain_ns = MU_NEVER; /* the run ends when everybody knows */
    uint32_t edges = mu_graph_edges(run->nodes);
    config->limits = (struct mu_limits){
        /* The slots next to a dead node take over all links that led to it. */
        .links = run->node_dies ? 2 * edges + 8
                 : edges == 0   ? 1
                                : edges,
        .dead = 1,
        .seen = 1,
        .notices = 1,
        .payload_bytes = 32,
        .window = 4,
    };
}

static void plan_network(struct sim_net_plan *net, uint32_t nodes)
{
    net->tracked = nodes <= TRACKED_MAX;
    net->delay_ns_min = 20 * 1000; /* a message between two hosts of one machine room */
    net->jitter_ns_max = 20 * 1000;
}

static uint64_t count_messages(const struct sim_world *world)
{
    uint64_t messages = 0;
    for (uint32_t i = 0; i < world->law.told_count; i++)
        for (mu_slot node = 0; node < world->size; node++)
            messages += world->law.told[i].sent[node];
    return messages;
}

void sim_run_spread(const struct sim_run_spread *run, struct sim_run_spread_result *result,
                    uint16_t *hop_of)
{
    double start_s = sim_wall_s();
    memset(result, 0, sizeof *result);
    struct sim_plan plan = {.seed = run->seed, .trace = run->trace, .recorder = run->recorder};
    sim_run_spread_config(&plan.config, run);
    plan_network(&plan.net, run->nodes);
    plan.links_up = true;
    plan.calm = true;
    struct sim_random random;
    sim_random_init(&random, run->seed);
    result->origin = (mu_slot)sim_random_below(&random, run->nodes);

    /* The death itself.  A dead node's neighbours all see their connection close. */
    struct sim_fault fault = {
        .type = SIM_FAULT_POST, .node = result->origin, .id = mu_notice_process(1, 1, 0)};
    if (run->node_dies)
        fault = (struct sim_fault){
            .type = SIM_FAULT_CRASH, .node = result->origin, .after_effects = SIM_NOT_IN_UPDATE};
    plan.faults = &fault;
    plan.fault_count = 1;
    plan.root_at_dead = true;
    plan.neighbours_see_ns = SEEN_US * 1000;

    struct sim_world world;
    sim_world_init(&world, &plan);
    world.law.hop_of = hop_of;
    for (mu_slot node = 0; hop_of != NULL && node < run->nodes; node++)
        hop_of[node] = UINT16_MAX;
    sim_world_run(&world, run->progress);

    result->hops_max = world.law.hops_max;
    result->messages_per_node_max = sim_law_messages_max(&world);
    result->acks_per_node_max = sim_law_acks_max(&world);
    result->messages = count_messages(&world);
    result->state_bytes_per_node = world.node_bytes;
    result->virtual_ms = (double)world.law.last_heard_ns / 1e6;
    result->events = world.events;
    result->digest = world.digest;
    if (world.law.broken != NULL) {
        snprintf(result->broken, sizeof result->broken, "%s", world.law.broken);
        snprintf(result->message, sizeof result->message, "%s", world.law.message);
    }
    sim_world_free(&world);
    result->wall_s = sim_wall_s() - start_s;
    result->rss_mib = sim_peak_rss_mib();
}
