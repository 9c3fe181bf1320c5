#include "sim/ring/run.h"

#include "core/base/graph.h"
#include "sim/base/memory.h"
#include "sim/ring/law_inside.h"
#include "sim/base/wall.h"
#include "sim/node/world.h"

#include <stdlib.h>
#include <string.h>

enum {
    TELL_SLOTS = 64,           /* on either side hear of a death from the oracle */
    DELAY_NS_MIN = 20 * 1000,  /* of a datagram between two hosts of one machine room */
    DELAY_NS_MAX = 200 * 1000, /* with queues on the way */
    TELL_NS_MAX = 5 * 1000 * 1000,
    QUEUE_NS_MAX = 500 * 1000, /* between a detector and its node */
    LOSS_PPM = 20,
    START_PERIODS = 1,  /* nodes start within */
    QUIET_PERIODS = 2,  /* then they have found each other */
    COUNT_PERIODS = 2,  /* then their messages are counted */
    FAIL_PERIODS = 2,   /* then they fail */
    TRACKED_MAX = 1024, /* as in sim/node/run.c */
};

/* Which nodes fail: drawn without repeats, by shuffling the front of the list of all. */
static void draw_faults(const struct sim_run_ring *run, uint64_t from_ns, struct ring_fault *faults)
{
    struct sim_random random;
    sim_random_init(&random, run->seed + 1);
    mu_slot *slots = sim_calloc(run->nodes, sizeof *slots);
    for (mu_slot slot = 0; slot < run->nodes; slot++)
        slots[slot] = slot;
    for (uint32_t i = 0; i < run->fail; i++) {
        uint64_t at = sim_random_between(&random, i, run->nodes - 1);
        mu_slot node = slots[at];
        slots[at] = slots[i];
        uint64_t after_ns = sim_random_below(&random, FAIL_PERIODS * run->period_ns);
        faults[i] = (struct ring_fault){.type = sim_random_chance(&random, 50) ? RING_FAULT_CRASH
                                                                               : RING_FAULT_STOP,
                                        .node = node,
                                        .peer = MU_SLOT_NONE,
                                        .for_ns = MU_NEVER,
                                        .at_ns = from_ns + after_ns / 1000 * 1000 + 250};
    }
    free(slots);
}

/* Alone, a detector hears of deaths nearby only: so many, and a good deal more. */
static uint32_t dead_nearby(const struct sim_run_ring *run)
{
    uint64_t mean = (2 * TELL_SLOTS + 64) * (uint64_t)run->fail / (run->nodes - run->fail);
    uint64_t room = 4 * mean + 32;
    return (uint32_t)ring_law_min(room, run->fail == 0 ? 1 : run->fail);
}

static void plan_ring(const struct sim_run_ring *run, struct ring_plan *plan,
                      struct ring_fault *faults)
{
    uint64_t period_ns = run->period_ns;
    uint64_t count_ns = (START_PERIODS + QUIET_PERIODS) * period_ns;
    uint64_t fail_ns = count_ns + COUNT_PERIODS * period_ns;
    *plan = (struct ring_plan){.seed = run->seed,
                               .start_ns_max = START_PERIODS * period_ns,
                               .queue_ns_max = QUEUE_NS_MAX,
                               .tell_ns_max = TELL_NS_MAX,
                               .tell_slots = run->spread ? 0 : TELL_SLOTS,
                               .inbox_max = 0, /* nobody who stops goes on */
                               .end_ns = MU_NEVER,
                               .quiet_ns = MU_NEVER,
                               .count_from_ns = count_ns,
                               .count_until_ns = fail_ns,
                               .faults = faults,
                               .fault_count = run->fail,
                               .trace = run->trace};
    mu_detect_config_default(&plan->config, run->nodes, 0);
    plan->config.period_ns = period_ns;
    plan->config.timeout_ns = run->timeout_ns;
    /* Over when the first one fails: who fails without ever having been heard is found as fast. */
    plan->config.grace_ns = (START_PERIODS + QUIET_PERIODS) * period_ns;
    plan->config.dead = run->spread ? run->fail + 1 : dead_nearby(run);
    plan->net = (struct ring_net_plan){.delay_ns_min = DELAY_NS_MIN,
                                       .delay_ns_max = DELAY_NS_MAX,
                                       .loss_ppm = LOSS_PPM,
                                       .from_ns = fail_ns,
                                       .until_ns = MU_NEVER};
    draw_faults(run, fail_ns, faults);
}

static void plan_nodes(const struct sim_run_ring *run, struct sim_plan *plan)
{
    uint32_t edges = mu_graph_edges(run->nodes);
    *plan = (struct sim_plan){.seed = run->seed, .links_up = true};
    mu_config_default(&plan->config, run->nodes, 0);
    plan->config.retain_ns = MU_NEVER; /* the run ends when everybody knows */
    plan->config.limits = (struct mu_limits){
        /* The slots next to dead nodes take over all links that led to them. */
        .links = (uint32_t)ring_law_min(run->nodes + edges, 8 * edges + 64),
        .dead = run->fail + 1,
        .seen = 1,
        .notices = 1,
        .payload_bytes = 32,
        .window = 4,
    };
    plan->net.tracked = run->nodes <= TRACKED_MAX;
    plan->net.delay_ns_min = DELAY_NS_MIN;
    plan->net.jitter_ns_max = DELAY_NS_MAX - DELAY_NS_MIN;
}

static void fill_result(const struct sim_run_ring *run, const struct ring_world *world,
                        struct sim_run_ring_result *result)
{
    const struct ring_law *law = &world->law;
    const struct ring_plan *plan = world->plan;
    double periods = (double)(plan->count_until_ns - plan->count_from_ns) / (double)run->period_ns;
    result->failed = law->failure_count;
    result->declared = law->detected + law->detected_groups;
    result->wrong = law->wrong;
    result->groups = (uint32_t)law->detected_groups;
    result->detect_ms_mean =
        law->detected == 0 ? 0 : (double)law->detect_ns_sum / 1e6 / (double)law->detected;
    result->detect_ms_max = (double)law->detect_ns_max / 1e6;
    result->detect_group_ms_max = (double)law->detect_group_ns_max / 1e6;
    result->bound_ms = (double)(run->timeout_ns + DELAY_NS_MAX) / 1e6;
    result->bound_group_ms = (double)(3 * run->timeout_ns + DELAY_NS_MAX) / 1e6;
    result->messages_per_node_period = (double)world->sent_counted / periods / (double)run->nodes;
    result->state_bytes_per_node = world->detect_bytes;
    result->virtual_ms = (double)world->queue->now_ns / 1e6;
    result->events = world->events;
    result->digest = world->digest;
    if (law->broken != NULL) {
        snprintf(result->broken, sizeof result->broken, "%s", law->broken);
        snprintf(result->message, sizeof result->message, "%s", law->message);
    }
}

void sim_run_ring(const struct sim_run_ring *run, struct sim_run_ring_result *result)
{
    double start_s = sim_wall_s();
    memset(result, 0, sizeof *result);
    struct ring_fault *faults = sim_calloc(run->fail + 1, sizeof *faults);
    struct ring_plan plan;
    plan_ring(run, &plan, faults);
    struct sim_plan node_plan;
    struct sim_world nodes;
    struct ring_world world;
    if (run->spread) {
        plan_nodes(run, &node_plan);
        node_plan.told = ring_world_told;
        node_plan.detectors = &world;
        sim_world_init(&nodes, &node_plan);
        plan.nodes = &nodes;
    }
    ring_world_init(&world, &plan);
    ring_world_run(&world, run->progress);
    fill_result(run, &world, result);
    ring_world_free(&world);
    if (run->spread)
        sim_world_free(&nodes);
    free(faults);
    result->wall_s = sim_wall_s() - start_s;
    result->rss_mib = sim_peak_rss_mib();
}
