#include "sim/advise/check.h"

#include "sim/advise/world.h"

#include <assert.h>
#include <string.h>

enum { FAULTS_MAX = 5 * SIM_CHECK_ADVISE_NODES_MAX, HARSH_MAX = 7 };

struct draw {
    struct sim_random random;
    struct advise_plan plan;
    struct advise_fault faults[FAULTS_MAX];
    uint32_t size;
    bool harsh; /* small, with delays of several rounds, and members that fail as they decide */
};

static uint32_t draw_between(struct draw *draw, uint32_t low, uint32_t high)
{
    return (uint32_t)sim_random_between(&draw->random, low, high);
}

static struct advise_fault *add(struct draw *draw, enum advise_fault_type type)
{
    assert(draw->plan.fault_count < FAULTS_MAX);
    struct advise_fault *fault = &draw->faults[draw->plan.fault_count++];
    *fault = (struct advise_fault){.type = type};
    fault->node = fault->peer = draw_between(draw, 0, draw->size - 1);
    fault->first = draw_between(draw, 1, draw->plan.busy - 1);
    fault->last = fault->first;
    return fault;
}

static void draw_last(struct draw *draw, struct advise_fault *fault, uint32_t most)
{
    uint32_t last = fault->first + draw_between(draw, 0, most);
    fault->last = last < draw->plan.busy ? last : draw->plan.busy;
}

/* Few are slow, or many, or nearly all: some for one interval, some for long. */
static void draw_slow(struct draw *draw)
{
    uint32_t share = draw_between(draw, 0, 3);
    uint32_t most = share == 0 ? 1 : share == 1 ? draw->size / 4 + 1 : draw->size;
    uint32_t count = draw_between(draw, 0, most);
    for (uint32_t i = 0; i < count; i++) {
        struct advise_fault *fault = add(draw, ADVISE_SLOW);
        fault->percent = draw_between(draw, 30, 60) * 10;
        draw_last(draw, fault, sim_random_chance(&draw->random, 30) ? 2 : 25);
    }
}

static void draw_troubles(struct draw *draw)
{
    uint32_t stalls = draw_between(draw, 0, 2), late = draw_between(draw, 0, draw->size / 2 + 1);
    uint32_t links = draw_between(draw, 0, 2);
    for (uint32_t i = 0; i < stalls; i++) {
        struct advise_fault *fault = add(draw, ADVISE_STALL);
        fault->percent = draw_between(draw, 20, 60) * 10;
        draw_last(draw, fault, 6);
    }
    for (uint32_t i = 0; i < late; i++)
        draw_last(draw, add(draw, ADVISE_LATE), 3);
    for (uint32_t i = 0; i < links; i++) {
        struct advise_fault *fault = add(draw, ADVISE_BAD_LINK);
        fault->peer = draw_between(draw, 0, draw->size - 1);
        draw_last(draw, fault, 8);
    }
}

static void draw_crashes(struct draw *draw)
{
    uint32_t most = sim_random_chance(&draw->random, 50) ? draw->size - 1 : draw->size / 3;
    uint32_t count = draw_between(draw, 0, most);
    for (uint32_t i = 0; i < count; i++) {
        struct advise_fault *fault = add(draw, ADVISE_CRASH);
        bool cut = sim_random_chance(&draw->random, draw->harsh ? 80 : 40);
        fault->after_effects = cut ? draw_between(draw, 0, 5) : ADVISE_NOT_IN_STEP;
    }
}

static void draw_config(struct draw *draw, uint32_t broken_rules)
{
    struct mu_advise_config *config = &draw->plan.config;
    mu_advise_config_default(config, draw->size, 0);
    bool pairs = draw->size <= 16 && sim_random_chance(&draw->random, 60);
    config->assignment = pairs ? MU_ADVISE_ALL_PAIRS : MU_ADVISE_CLUSTERS;
    config->zeta = draw_between(draw, 1, draw->size <= 16 ? 5 : 3);
    config->members_min =
        sim_random_chance(&draw->random, 50) ? 1 : draw_between(draw, 1, (draw->size + 1) / 2);
    config->has_program = sim_random_chance(&draw->random, 75);
    config->limits = (struct mu_advise_limits){.changed = draw->size,
                                               .tested = draw->size,
                                               .words = 64 * draw->size,
                                               .dead = draw->size,
                                               .others = 16};
    config->broken_rules = broken_rules;
}

static uint64_t draw_ns(struct draw *draw, uint64_t tenths)
{
    return 1 + ADVISE_INTERVAL_NS / 10 * tenths / 100 * draw_between(draw, 1, 100);
}

/* Long enough after the last fault for those that were out twice to come back. */
static void draw_times(struct draw *draw)
{
    struct advise_plan *plan = &draw->plan;
    plan->work_ns_max = draw_ns(draw, draw->harsh ? 10 : 60);
    plan->tell_ns_max = draw_ns(draw, draw->harsh ? 40 : 2);
    plan->decide_ns_max = draw_ns(draw, draw->harsh ? 20 : 2);
    uint64_t round_ns = 8 * plan->work_ns_max + 2 * plan->decide_ns_max + 4 * plan->tell_ns_max;
    plan->end =
        plan->busy + 12 + 4 * plan->config.zeta + (uint32_t)(5 * round_ns / ADVISE_INTERVAL_NS);
}

static void draw_plan(struct draw *draw, const struct sim_check *check, uint64_t seed)
{
    memset(draw, 0, sizeof *draw);
    sim_random_init(&draw->random, seed);
    draw->size = sim_check_nodes_of(check, seed);
    draw->harsh = sim_random_chance(&draw->random, draw->size <= HARSH_MAX ? 75 : 10);
    draw->plan = (struct advise_plan){.seed = seed, .faults = draw->faults, .tracked = true};
    draw->plan.busy = draw_between(draw, 15, 40);
    draw->plan.noise_percent = sim_random_chance(&draw->random, 70) ? 8 : 0;
    draw_config(draw, check->broken_rules);
    draw_times(draw);
    draw_slow(draw);
    if (sim_random_chance(&draw->random, 60))
        draw_troubles(draw);
    if (sim_random_chance(&draw->random, draw->harsh ? 90 : 60))
        draw_crashes(draw);
}

void sim_check_advise_one(const struct sim_check *check, uint64_t seed, FILE *trace,
                          struct sim_check_result *result)
{
    struct draw draw;
    draw_plan(&draw, check, seed);
    draw.plan.trace = trace;
    struct advise_world world;
    advise_world_init(&world, &draw.plan);
    advise_world_run(&world);
    sim_check_take(result, &(struct sim_check_outcome){.seed = seed,
                                                       .nodes = world.size,
                                                       .events = world.events,
                                                       .crashes = world.size - world.living,
                                                       .broken = world.broken,
                                                       .message = world.message,
                                                       .step = world.broken_step});
    advise_world_free(&world);
}
