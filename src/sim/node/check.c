#include "sim/node/check.h"

#include "sim/node/world.h"

#include "core/base/graph.h"

#include <assert.h>
#include <string.h>

enum {
    FAULTS_MAX = 1024,
    BUSY_NS = 4 * 1000 * 1000 /* crashes strike while notices travel */,
    FLOOD_NODES_MAX = 16
};

struct draw {
    struct sim_random random;
    struct sim_plan plan;
    struct sim_fault faults[FAULTS_MAX];
    uint32_t size;
};

static uint64_t draw_us(struct draw *draw, uint64_t low, uint64_t high)
{
    return 1000 * sim_random_between(&draw->random, low, high);
}

static mu_slot draw_slot(struct draw *draw)
{
    return (mu_slot)sim_random_below(&draw->random, draw->size);
}

static struct sim_fault *add(struct draw *draw, enum sim_fault_type type, mu_slot node)
{
    assert(draw->plan.fault_count < FAULTS_MAX);
    struct sim_fault *fault = &draw->faults[draw->plan.fault_count++];
    *fault =
        (struct sim_fault){.type = type, .node = node, .at_ns = draw_us(draw, 0, BUSY_NS / 1000)};
    return fault;
}

static void draw_posts(struct draw *draw)
{
    uint64_t count = sim_random_between(&draw->random, 1, 4);
    for (uint64_t i = 0; i < count; i++) {
        struct sim_fault *post = add(draw, SIM_FAULT_POST, draw_slot(draw));
        post->id.kind = MU_NOTICE_PAYLOAD;
        if (sim_random_chance(&draw->random, 50))
            post->id = mu_notice_process(1, 1, (uint32_t)i);
    }
}

static void draw_crash(struct draw *draw, mu_slot node)
{
    struct sim_fault *crash = add(draw, SIM_FAULT_CRASH, node);
    crash->host_lives = sim_random_chance(&draw->random, 50);
    crash->after_effects = sim_random_chance(&draw->random, 50)
                               ? (uint32_t)sim_random_below(&draw->random, 64)
                               : SIM_NOT_IN_UPDATE;
}

/* Half of the schedules kill all neighbours of one node, the others up to all but one. */
static void draw_crashes(struct draw *draw, uint64_t seed)
{
    if (seed % 2 == 0) {
        mu_slot lonely = draw_slot(draw);
        for (uint32_t e = 0; e < mu_graph_edges(draw->size); e++)
            draw_crash(draw, mu_graph_target(draw->size, lonely, e));
        return;
    }
    uint64_t count = sim_random_below(&draw->random, draw->size);
    for (uint64_t i = 0; i < count; i++)
        draw_crash(draw, draw_slot(draw));
}

static void draw_troubles(struct draw *draw)
{
    uint64_t stops = sim_random_below(&draw->random, 3);
    for (uint64_t i = 0; i < stops; i++)
        add(draw, SIM_FAULT_STOP, draw_slot(draw))->for_ns = draw_us(draw, 100, 5000);
    uint64_t resets = sim_random_below(&draw->random, 2 * draw->size);
    for (uint64_t i = 0; i < resets; i++) {
        mu_slot node = draw_slot(draw);
        add(draw, SIM_FAULT_RESET, node)->peer = draw_slot(draw);
    }
    if (sim_random_chance(&draw->random, 25))
        add(draw, SIM_FAULT_SPLIT, draw_slot(draw))->for_ns = draw_us(draw, 500, 5000);
}

/* Small limits, so that rings fill up and links starve, but never so small that a fault is right.
 */
static void draw_config(struct draw *draw, uint32_t broken_rules)
{
    struct mu_config *config = &draw->plan.config;
    mu_config_default(config, draw->size, 0);
    config->broken_rules = broken_rules;
    config->redundant_wait_ns = draw_us(draw, 0, 1500);
    config->ack_delay_ns = draw_us(draw, 10, 3000);
    /* Long enough for every death to become known: see draw_calm() for a short one. */
    config->retain_ns = 1000ull * 1000 * 1000;
    config->limits = (struct mu_limits){
        .links = draw->size + mu_graph_edges(draw->size),
        .dead = draw->size,
        .seen = 16,
        .notices = (uint16_t)(8 * draw->size + 16), /* a share of 4 for each node */
        .payload_bytes = 16,
        .window = (uint16_t)sim_random_between(&draw->random, 1, 8),
    };
}

/* Nobody dies: notices may be forgotten while copies of them are still on their way.  Half of the
 * time links break all the same; else delays are short, and the number of hops is bounded. */
static void draw_calm(struct draw *draw)
{
    struct mu_config *config = &draw->plan.config;
    config->retain_ns = config->ack_delay_ns + draw_us(draw, 1, 3000);
    if (sim_random_chance(&draw->random, 50)) {
        draw_troubles(draw);
        return;
    }
    draw->plan.links_up = true;
    draw->plan.calm = true;
    draw->plan.net.jitter_ns_max = draw->plan.net.delay_ns_min;
    uint64_t tree_ns = 2 * draw->plan.net.delay_ns_min * mu_graph_bits(draw->size);
    if (config->redundant_wait_ns < 2 * tree_ns)
        config->redundant_wait_ns = 2 * tree_ns;
}

/* A node is told that it is dead, and so it is: of its own incarnation, or of a later one. */
static void draw_fence(struct draw *draw)
{
    mu_slot node = draw_slot(draw);
    uint32_t incarnation = 1 + (uint32_t)sim_random_below(&draw->random, 2);
    add(draw, SIM_FAULT_FENCE, node)->id = mu_notice_node(node, incarnation);
}

/* In half of the worlds that are flooded there is a share of room for each node, and redundant
 * edges wait longer than news takes: then everything finds room in time.  In the others there is
 * less.
 *
 * How long a node's death may take: as many hops as the graph has, there and back, each behind a
 * full window and what it takes to acknowledge that; and the waits of redundant edges. */
static void draw_room(struct draw *draw)
{
    struct mu_config *config = &draw->plan.config;
    struct sim_net_plan *net = &draw->plan.net;
    net->jitter_ns_max = draw_us(draw, 0, 100);
    uint64_t hop_ns = net->delay_ns_min + net->jitter_ns_max;
    uint32_t bits = mu_graph_bits(draw->size);
    draw->plan.flood = true;
    draw->plan.tight = sim_random_chance(&draw->random, 50);
    config->limits.notices = (uint16_t)(2 * draw->size);
    if (draw->plan.tight)
        config->limits.notices = (uint16_t)sim_random_between(&draw->random, 1, draw->size);
    else if (config->redundant_wait_ns < 4 * hop_ns * bits)
        config->redundant_wait_ns = 4 * hop_ns * bits;
    config->limits.seen = FAULTS_MAX;
    config->retain_ns = 100ull * 1000 * 1000;
    draw->plan.death_ns_max = (2 * bits + 2) * 4 * hop_ns + 2 * config->redundant_wait_ns;
}

/* Three times as many payloads and deaths of processes as there is room for, while nodes die. */
static void draw_flood(struct draw *draw)
{
    draw_room(draw);
    draw->plan.links_up = true;
    draw->plan.tell_ns_max = draw_us(draw, 50, 200);
    for (uint32_t i = 0; i < 6 * draw->size; i++) {
        struct sim_fault *post = add(draw, SIM_FAULT_POST, draw_slot(draw));
        post->id.kind = MU_NOTICE_PAYLOAD;
        if (sim_random_chance(&draw->random, 50))
            post->id = mu_notice_process(1, 1, i);
    }
    uint64_t crashes = sim_random_between(&draw->random, 1, 1 + draw->size / 4);
    for (uint64_t i = 0; i < crashes; i++)
        draw_crash(draw, draw_slot(draw));
}

static bool is_flood(uint64_t seed)
{
    return seed % 8 == 5;
}

/* A firewall rejects connections between nodes that live, for longer than most worlds have news. */
static void draw_refusals(struct draw *draw)
{
    uint64_t count = sim_random_between(&draw->random, 1, 6);
    for (uint64_t i = 0; i < count; i++) {
        struct sim_fault *refuse = add(draw, SIM_FAULT_REFUSE, draw_slot(draw));
        refuse->peer = draw_slot(draw);
        refuse->for_ns = draw_us(draw, 500, 20000);
    }
}

/* Nodes come back, some again and again, and new ones join: while notices travel, or when the
 * deaths are over and nobody holds their notices any more. */
static void draw_returns(struct draw *draw)
{
    struct mu_config *config = &draw->plan.config;
    uint32_t slots = draw->size + (uint32_t)sim_random_below(&draw->random, 4);
    uint64_t count = sim_random_between(&draw->random, 1, 6);
    bool late = sim_random_chance(&draw->random, 30);
    config->slots = slots;
    config->limits.links = slots + mu_graph_edges(slots);
    config->limits.dead = 4 * slots; /* each comes back a few times: as many deaths are held */
    draw->plan.member_ns_max = draw_us(draw, 0, 3000);
    draw->plan.over_ns = draw_us(draw, 1000, 100000);
    for (uint64_t i = 0; i < count; i++) {
        mu_slot node = (mu_slot)sim_random_below(&draw->random, slots);
        if (i % 2 == 0 && draw->plan.fault_count > 0)
            node = draw->faults[sim_random_below(&draw->random, draw->plan.fault_count)].node;
        add(draw, SIM_FAULT_RETURN, node)->at_ns = draw_us(draw, 100, late ? 300000 : 12000);
        if (sim_random_chance(&draw->random, 40))
            draw_crash(draw, node);
        draw->faults[draw->plan.fault_count - 1].at_ns = draw_us(draw, 100, late ? 300000 : 12000);
    }
}

static void draw_plan(struct draw *draw, const struct sim_check *check, uint64_t seed)
{
    memset(draw, 0, sizeof *draw);
    sim_random_init(&draw->random, seed);
    draw->size = sim_check_nodes_of(check, seed);
    if (is_flood(seed) && draw->size > FLOOD_NODES_MAX)
        draw->size = 2 + draw->size % (FLOOD_NODES_MAX - 1);
    draw->plan.seed = seed;
    draw->plan.faults = draw->faults;
    draw_config(draw, check->broken_rules);
    draw->plan.net.tracked = true;
    draw->plan.net.delay_ns_min = draw_us(draw, 5, 100);
    draw->plan.net.jitter_ns_max =
        draw_us(draw, 0, sim_random_chance(&draw->random, 30) ? 3000 : 100);
    draw->plan.links_up = sim_random_chance(&draw->random, 50);
    draw->plan.root_at_dead = sim_random_chance(&draw->random, 30);
    draw->plan.told_max = 3;
    draw->plan.proofs = true;
    draw->plan.tell_ns_min = draw_us(draw, 0, 50);
    draw->plan.tell_ns_max = draw_us(draw, 50, sim_random_chance(&draw->random, 50) ? 200 : 60000);
    if (is_flood(seed)) {
        draw_flood(draw);
        return;
    }
    draw_posts(draw);
    if (sim_random_chance(&draw->random, 10)) {
        draw_calm(draw);
        return;
    }
    draw_crashes(draw, seed);
    if (sim_random_chance(&draw->random, 70))
        draw_troubles(draw);
    bool fenced = sim_random_chance(&draw->random, 10);
    if (fenced)
        draw_fence(draw);
    if (sim_random_chance(&draw->random, 25))
        draw_refusals(draw);
    if (sim_random_chance(&draw->random, 20))
        draw->plan.late_tell_ns = draw_us(draw, 1000, 300000);
    if (seed % 3 == 0 && !fenced)
        draw_returns(draw);
}

void sim_check_spread_one(const struct sim_check *check, uint64_t seed, FILE *trace,
                          struct sim_check_result *result)
{
    struct draw draw;
    draw_plan(&draw, check, seed);
    draw.plan.trace = trace;
    struct sim_world world;
    sim_world_init(&world, &draw.plan);
    sim_world_run(&world, NULL);
    sim_check_take(result, &(struct sim_check_outcome){.seed = seed,
                                                       .nodes = draw.size,
                                                       .events = world.events,
                                                       .crashes = world.crashes,
                                                       .broken = world.law.broken,
                                                       .message = world.law.message,
                                                       .step = world.law.broken_step});
    sim_world_free(&world);
}
