#include "sim/view/check.h"

#include "sim/view/world.h"

#include <assert.h>
#include <string.h>

enum { N_MAX = SIM_CHECK_VIEW_NODES_MAX, FAULTS_MAX = 4 * N_MAX, RETURNS_MAX = 8 };

struct draw {
    struct sim_random random;
    struct view_plan plan;
    struct view_fault faults[FAULTS_MAX];
    uint64_t busy_ns; /* faults strike until then */
};

static uint64_t draw_us(struct draw *draw, uint64_t low, uint64_t high)
{
    return 1000 * sim_random_between(&draw->random, low, high);
}

static uint64_t draw_below(struct draw *draw, uint64_t bound)
{
    return sim_random_below(&draw->random, bound);
}

static struct view_fault *add(struct draw *draw, enum view_fault_type type, mu_slot id)
{
    assert(draw->plan.fault_count < FAULTS_MAX);
    struct view_fault *fault = &draw->faults[draw->plan.fault_count++];
    *fault = (struct view_fault){
        .type = type, .id = id, .at_ns = draw_us(draw, 0, draw->busy_ns / 1000)};
    return fault;
}

static void draw_crash(struct draw *draw, mu_slot id)
{
    struct view_fault *crash = add(draw, VIEW_FAULT_CRASH, id);
    crash->proven = draw->plan.proofs && sim_random_chance(&draw->random, 50);
    crash->after_effects =
        sim_random_chance(&draw->random, 50) ? (uint32_t)draw_below(draw, 5) : VIEW_NOT_IN_UPDATE;
}

/* A third of the schedules kill the root and those that follow it, the others anybody. */
static void draw_crashes(struct draw *draw, uint64_t seed)
{
    uint32_t founders = draw->plan.founders;
    uint64_t most = sim_random_chance(&draw->random, 30) ? founders - 1 : 3;
    uint64_t count = 1 + draw_below(draw, most < founders ? most + 1 : founders);
    for (uint64_t i = 0; i < count; i++)
        draw_crash(draw,
                   seed % 3 == 0 ? (mu_slot)i % founders : (mu_slot)draw_below(draw, founders));
}

/* Those longer than half a timeout cost the lease, those longer than one are false accusations. */
static void draw_stalls(struct draw *draw)
{
    uint64_t stalls = 1 + draw_below(draw, 3);
    for (uint64_t i = 0; i < stalls; i++) {
        mu_slot id = (mu_slot)draw_below(draw, draw->plan.config.limits.ids);
        struct view_fault *stall = add(draw, VIEW_FAULT_STALL, id);
        stall->for_ns = draw_below(draw, 3 * draw->plan.timeout_ns) + 1;
    }
}

static uint64_t draw_sides(struct draw *draw)
{
    uint64_t ids = draw->plan.config.limits.ids;
    if (sim_random_chance(&draw->random, 30))
        return 1ull << draw_below(draw, ids) % 64;
    return sim_random_next(&draw->random);
}

/* Most heal: before, while or long after both sides accuse each other. */
static void draw_cuts(struct draw *draw)
{
    uint64_t cuts = 1 + draw_below(draw, 2);
    for (uint64_t i = 0; i < cuts; i++) {
        struct view_fault *cut = add(draw, VIEW_FAULT_CUT, 0);
        cut->sides = draw_sides(draw);
        if (sim_random_chance(&draw->random, 20))
            continue;
        uint64_t timeouts = sim_random_chance(&draw->random, 50) ? 2 : 10;
        uint64_t heal_ns = cut->at_ns + 1 + draw_below(draw, timeouts * draw->plan.timeout_ns);
        add(draw, VIEW_FAULT_HEAL, 0)->at_ns = heal_ns;
    }
}

static void draw_resets(struct draw *draw)
{
    uint64_t resets = draw_below(draw, draw->plan.founders + 1);
    for (uint64_t i = 0; i < resets; i++) {
        mu_slot id = (mu_slot)draw_below(draw, draw->plan.config.limits.ids);
        struct view_fault *reset = add(draw, VIEW_FAULT_RESET, id);
        reset->peer = (mu_slot)draw_below(draw, draw->plan.config.limits.ids);
        reset->for_ns = draw_us(draw, 1, 2000);
    }
}

/* Newcomers, hosts that start again, and those that leave. */
static void draw_changes(struct draw *draw, bool comes_back)
{
    uint32_t ids = draw->plan.config.limits.ids;
    for (mu_slot id = draw->plan.founders; id < ids; id++)
        add(draw, VIEW_FAULT_START, id);
    uint64_t returns = comes_back ? 1 + draw_below(draw, 3) : 0;
    for (uint64_t i = 0; i < returns; i++)
        add(draw, VIEW_FAULT_START, (mu_slot)draw_below(draw, ids));
    uint64_t leaves = draw->plan.proofs ? draw_below(draw, 3) : 0;
    for (uint64_t i = 0; i < leaves; i++)
        add(draw, VIEW_FAULT_LEAVE, (mu_slot)draw_below(draw, ids));
}

/* Joiners, and starts of those that were there before. */
static void draw_sizes(struct draw *draw)
{
    struct view_plan *plan = &draw->plan;
    uint32_t joiners = sim_random_chance(&draw->random, 40) ? 1 + (uint32_t)draw_below(draw, 3) : 0;
    plan->comes_back = sim_random_chance(&draw->random, 30);
    plan->config.limits.ids = plan->founders + joiners;
    plan->starts = plan->founders + joiners +
                   (plan->comes_back ? 1 + (uint32_t)draw_below(draw, RETURNS_MAX) : 0);
}

static void draw_config(struct draw *draw, uint32_t broken_rules)
{
    struct view_plan *plan = &draw->plan;
    struct mu_view_config *config = &plan->config;
    draw_sizes(draw);
    uint32_t ids = config->limits.ids;
    mu_view_config_default(config, ids, 0);
    config->broken_rules = broken_rules;
    config->shift = (uint8_t)sim_random_between(&draw->random, 0, 4);
    config->limits = (struct mu_view_limits){.ids = ids,
                                             .dead = ids,
                                             .odd = ids,
                                             .failed = (uint16_t)ids,
                                             .entries = (uint16_t)(2 * plan->starts + 4)};
    config->limits.spans = (uint16_t)mu_view_spans_needed(&config->limits);
}

static void draw_plan(struct draw *draw, const struct sim_check *check, uint64_t seed)
{
    struct view_plan *plan = &draw->plan;
    memset(draw, 0, sizeof *draw);
    sim_random_init(&draw->random, seed);
    *plan = (struct view_plan){
        .seed = seed, .founders = sim_check_nodes_of(check, seed), .faults = draw->faults};
    draw_config(draw, check->broken_rules);
    plan->delay_ns_min = draw_us(draw, 5, 50);
    plan->jitter_ns_max = draw_us(draw, 0, sim_random_chance(&draw->random, 30) ? 2000 : 100);
    plan->timeout_ns = draw_us(draw, 2000, 10000);
    draw->busy_ns = sim_random_chance(&draw->random, 50) ? draw_us(draw, 100, 60000)
                                                         : draw_below(draw, 2 * plan->timeout_ns);
    plan->proofs = sim_random_chance(&draw->random, 40);
    bool cuts = sim_random_chance(&draw->random, 30);
    plan->halts = !plan->proofs && !cuts && plan->starts == plan->founders;
    if (sim_random_chance(&draw->random, 80))
        draw_crashes(draw, seed);
    if (sim_random_chance(&draw->random, 40))
        draw_stalls(draw);
    if (cuts)
        draw_cuts(draw);
    draw_changes(draw, plan->comes_back);
    if (sim_random_chance(&draw->random, 50))
        draw_resets(draw);
}

void sim_check_view_one(const struct sim_check *check, uint64_t seed, FILE *trace,
                        struct sim_check_result *result)
{
    struct draw draw;
    draw_plan(&draw, check, seed);
    draw.plan.trace = trace;
    struct view_world world;
    view_world_init(&world, &draw.plan);
    view_world_run(&world);
    sim_check_take(result, &(struct sim_check_outcome){.seed = seed,
                                                       .nodes = draw.plan.founders,
                                                       .events = world.events,
                                                       .crashes = world.crashes,
                                                       .broken = world.broken,
                                                       .message = world.message,
                                                       .step = world.broken_step});
    view_world_free(&world);
}
