#include "sim/agree/check.h"

#include "sim/agree/world.h"

#include <assert.h>
#include <string.h>

enum { N_MAX = SIM_CHECK_AGREE_NODES_MAX, FAULTS_MAX = 4 * N_MAX, GROUPS_MAX = 3 };

struct draw {
    struct sim_random random;
    struct agree_plan plan;
    struct agree_fault faults[FAULTS_MAX];
    struct agree_group_plan groups[GROUPS_MAX];
    struct mu_span spans[GROUPS_MAX][N_MAX];
    uint32_t size;
    uint64_t busy_ns; /* faults strike until then */
};

static uint64_t draw_us(struct draw *draw, uint64_t low, uint64_t high)
{
    return 1000 * sim_random_between(&draw->random, low, high);
}

static mu_slot draw_slot(struct draw *draw)
{
    return (mu_slot)sim_random_below(&draw->random, draw->size);
}

static struct agree_fault *add(struct draw *draw, enum agree_fault_type type, mu_slot node)
{
    assert(draw->plan.fault_count < FAULTS_MAX);
    struct agree_fault *fault = &draw->faults[draw->plan.fault_count++];
    *fault = (struct agree_fault){
        .type = type, .node = node, .at_ns = draw_us(draw, 0, draw->busy_ns / 1000)};
    return fault;
}

/* All nodes, a stretch of them, or any. */
static void draw_group(struct draw *draw, uint32_t g)
{
    struct agree_group_plan *group = &draw->groups[g];
    struct mu_span *spans = draw->spans[g];
    *group = (struct agree_group_plan){.spans = spans,
                                       .span_count = 1,
                                       .rounds = (uint32_t)sim_random_between(&draw->random, 1, 4)};
    spans[0] = (struct mu_span){.first = 0, .count = draw->size};
    if (g == 0)
        return;
    if (sim_random_chance(&draw->random, 50)) {
        spans[0].first = draw_slot(draw);
        spans[0].count =
            (uint32_t)sim_random_between(&draw->random, 1, draw->size - spans[0].first);
        return;
    }
    group->span_count = 0;
    bool joins = false; /* the slot before is a member, too */
    for (mu_slot slot = 0; slot < draw->size; slot++) {
        bool is_member = sim_random_chance(&draw->random, 60) ||
                         (slot + 1 == draw->size && group->span_count == 0);
        if (is_member && joins)
            spans[group->span_count - 1].count++;
        else if (is_member)
            spans[group->span_count++] = (struct mu_span){.first = slot, .count = 1};
        joins = is_member;
    }
}

/* Half of the schedules kill up to all nodes but one, the others some of the first. */
static void draw_crashes(struct draw *draw, uint64_t seed)
{
    uint64_t most = seed % 2 == 0 ? draw->size - 1 : 3;
    uint64_t count = sim_random_below(&draw->random, most + 1);
    for (uint64_t i = 0; i < count; i++) {
        uint32_t first = draw->size < 8 ? draw->size : 8;
        mu_slot node =
            seed % 2 == 0 ? draw_slot(draw) : (mu_slot)sim_random_below(&draw->random, first);
        struct agree_fault *crash = add(draw, AGREE_FAULT_CRASH, node);
        crash->after_effects = sim_random_chance(&draw->random, 50)
                                   ? (uint32_t)sim_random_below(&draw->random, 4)
                                   : AGREE_NOT_IN_UPDATE;
    }
}

static void draw_troubles(struct draw *draw)
{
    uint64_t lapses = sim_random_below(&draw->random, 3);
    for (uint64_t i = 0; i < lapses; i++) {
        struct agree_fault *lapse = add(draw, AGREE_FAULT_LAPSE, draw_slot(draw));
        lapse->for_ns = draw_us(draw, 1, 1000);
        lapse->declared = sim_random_chance(&draw->random, 50);
    }
    uint64_t resets = sim_random_below(&draw->random, draw->size + 1);
    for (uint64_t i = 0; i < resets; i++) {
        struct agree_fault *reset = add(draw, AGREE_FAULT_RESET, draw_slot(draw));
        reset->peer = draw_slot(draw);
        reset->for_ns = draw_us(draw, 1, 500);
    }
}

static void draw_config(struct draw *draw, uint32_t broken_rules)
{
    struct mu_agree_config *config = &draw->plan.config;
    bool tight = sim_random_chance(&draw->random, 30);
    mu_agree_config_default(config, draw->size, 0);
    config->broken_rules = broken_rules;
    if (sim_random_chance(&draw->random, 30))
        config->shift = (uint8_t)sim_random_below(&draw->random, 7);
    config->rebalance_at = (uint16_t)sim_random_between(&draw->random, 1, 4);
    config->limits = (struct mu_agree_limits){
        .dead = draw->size,
        .groups = (uint16_t)draw->plan.group_count,
        .runs = (uint16_t)(tight ? draw->size / 2 + 1 : draw->size),
        .failed = (uint16_t)(tight ? sim_random_between(&draw->random, 1, 4) : 2 * draw->size)};
    draw->plan.runs_may_fill = tight;
}

static void draw_plan(struct draw *draw, const struct sim_check *check, uint64_t seed)
{
    memset(draw, 0, sizeof *draw);
    sim_random_init(&draw->random, seed);
    draw->size = sim_check_nodes_of(check, seed);
    draw->busy_ns = draw_us(draw, 50, 3000);
    draw->plan = (struct agree_plan){.seed = seed,
                                     .tracked = true,
                                     .proofs = true,
                                     .faults = draw->faults,
                                     .groups = draw->groups};
    draw->plan.group_count = (uint32_t)sim_random_between(&draw->random, 1, GROUPS_MAX);
    for (uint32_t g = 0; g < draw->plan.group_count; g++)
        draw_group(draw, g);
    draw_config(draw, check->broken_rules);
    draw->plan.delay_ns_min = draw_us(draw, 5, 50);
    draw->plan.jitter_ns_max = draw_us(draw, 0, sim_random_chance(&draw->random, 30) ? 1000 : 50);
    draw->plan.start_ns_max = draw_us(draw, 0, 500);
    draw->plan.think_ns_max = draw_us(draw, 0, 300);
    draw->plan.tell_ns_min = draw_us(draw, 0, 50);
    draw->plan.tell_ns_max = draw_us(draw, 50, sim_random_chance(&draw->random, 50) ? 200 : 3000);
    draw->plan.ack_percent = sim_random_chance(&draw->random, 60) ? 100 : 60;
    draw->plan.silent_percent = sim_random_chance(&draw->random, 70) ? 0 : 40;
    draw->plan.process_percent = sim_random_chance(&draw->random, 50) ? 0 : 20;
    if (sim_random_chance(&draw->random, 95))
        draw_crashes(draw, seed);
    if (sim_random_chance(&draw->random, 60))
        draw_troubles(draw);
}

void sim_check_agree_one(const struct sim_check *check, uint64_t seed, FILE *trace,
                         struct sim_check_result *result)
{
    struct draw draw;
    draw_plan(&draw, check, seed);
    draw.plan.trace = trace;
    struct agree_world world;
    agree_world_init(&world, &draw.plan);
    agree_world_run(&world, NULL);
    sim_check_take(result, &(struct sim_check_outcome){.seed = seed,
                                                       .nodes = world.size,
                                                       .events = world.events,
                                                       .crashes = world.size - world.living,
                                                       .broken = world.broken,
                                                       .message = world.message,
                                                       .step = world.broken_step});
    agree_world_free(&world);
}
