#include "sim/central/draw.h"

#include <assert.h>
#include <string.h>

enum { MS = 1000 * 1000, MILLION = 1000 * 1000 };

static uint64_t between(struct central_draw *draw, uint64_t low, uint64_t high)
{
    return low >= high ? low : sim_random_between(&draw->random, low, high);
}

static bool chance(struct central_draw *draw, uint32_t percent)
{
    return sim_random_chance(&draw->random, percent);
}

static mu_slot draw_slot(struct central_draw *draw)
{
    if (chance(draw, 30))
        return CENTRAL_MASTER;
    return (mu_slot)sim_random_below(&draw->random, draw->plan.config.size);
}

static struct central_fault *add(struct central_draw *draw, enum central_fault_type type,
                                 mu_slot node)
{
    struct central_plan *plan = &draw->plan;
    assert(plan->fault_count < CENTRAL_FAULTS_MAX);
    struct central_fault *fault = &plan->faults[plan->fault_count++];
    *fault = (struct central_fault){
        .type = type,
        .node = node,
        .peer = MU_SLOT_NONE,
        .for_ns = MU_NEVER,
        .at_ns = between(draw, draw->from_ns, draw->until_ns) / 1000 * 1000 + 250};
    return fault;
}

/* ---- times ---- */

static void draw_config(struct central_draw *draw, uint32_t nodes, uint32_t broken_rules)
{
    struct mu_central_config *config = &draw->plan.config;
    static const uint64_t cycles_ms[] = {10, 50, 500};
    mu_central_config_default(config, nodes, 0);
    config->hosts = nodes;
    config->cycle_ns = cycles_ms[sim_random_below(&draw->random, 3)] * MS;
    config->floor_ns = config->cycle_ns * between(draw, 3, 6) / 4;
    config->ceiling_ns = config->floor_ns * between(draw, 4, 12) / 2;
    config->broken_rules = broken_rules;
}

/* A round trip and a stall stay below the tolerance: both timeouts, or where one datagram may be
 * lost, one of them. */
static void draw_delays(struct central_draw *draw)
{
    struct central_plan *plan = &draw->plan;
    uint64_t floor_ns = plan->config.floor_ns;
    bool one = draw->kind != CENTRAL_KIND_WITHIN && draw->kind != CENTRAL_KIND_MASTERS;
    uint64_t usable_ns = (one ? floor_ns : 2 * floor_ns) * 15 / 16;
    plan->timer_ns_max = floor_ns / 200;
    plan->delay_ns_min = 2000;
    plan->delay_ns_max = between(draw, 10 * 1000, chance(draw, 30) ? usable_ns / 3 : floor_ns / 20);
    if (draw->kind == CENTRAL_KIND_SLOWER)
        plan->delay_ns_max = between(draw, 10 * 1000, floor_ns / 20);
    plan->stall_ns_max = usable_ns - 2 * plan->delay_ns_max - 4 * plan->timer_ns_max;
    plan->tell_ns_max = between(draw, 1000, plan->config.cycle_ns);
    plan->view_ns_max = between(draw, 1000, plan->config.ceiling_ns / 2);
    plan->back_ns_max = between(draw, 1000, 2 * plan->config.cycle_ns);
    plan->turn_ns_max = between(draw, 1000, plan->config.cycle_ns);
    plan->start_ns_max = between(draw, 1000, plan->config.cycle_ns);
}

static void draw_schedule(struct central_draw *draw)
{
    const struct mu_central_config *config = &draw->plan.config;
    draw->from_ns = 12 * config->cycle_ns + (chance(draw, 70) ? 4 * config->ceiling_ns : 0);
    draw->until_ns = draw->from_ns + between(draw, 4, 40) * config->cycle_ns;
}

/* After the last fault, until all is well again: each dead master may cost one more wait. */
static void draw_end(struct central_draw *draw)
{
    struct central_plan *plan = &draw->plan;
    const struct mu_central_config *config = &plan->config;
    uint64_t last_ns = draw->until_ns, deaths = 0;
    for (uint32_t i = 0; i < plan->fault_count; i++) {
        const struct central_fault *fault = &plan->faults[i];
        uint64_t for_ns = fault->for_ns == MU_NEVER ? 0 : fault->for_ns;
        if (fault->at_ns + for_ns > last_ns)
            last_ns = fault->at_ns + for_ns;
        deaths += fault->type == CENTRAL_CRASH ? 1 : 0;
    }
    plan->trouble_until_ns = draw->until_ns;
    plan->quiet_ns = last_ns + (deaths + 3) * (4 * config->cycle_ns + 6 * config->ceiling_ns) +
                     plan->slow_ns_max + 2 * config->loop_ns;
    plan->end_ns = plan->quiet_ns + 12 * config->cycle_ns;
}

/* ---- troubles ---- */

static void draw_stalls(struct central_draw *draw)
{
    uint64_t count = between(draw, 0, 6);
    for (uint64_t i = 0; i < count; i++)
        add(draw, CENTRAL_STALL, draw_slot(draw))->for_ns =
            between(draw, 1000, draw->plan.stall_ns_max);
}

static void draw_crashes(struct central_draw *draw, uint64_t most, bool back)
{
    uint64_t count = between(draw, 0, most);
    for (uint64_t i = 0; i < count; i++) {
        struct central_fault *crash = add(draw, CENTRAL_CRASH, draw_slot(draw));
        crash->known = chance(draw, 30);
        if (back && chance(draw, 60))
            crash->for_ns = between(draw, 1000, 4 * draw->plan.config.ceiling_ns);
    }
}

static uint64_t draw_long_ns(struct central_draw *draw)
{
    const struct mu_central_config *config = &draw->plan.config;
    uint64_t most_ns = chance(draw, 60) ? 4 * config->floor_ns : 4 * config->ceiling_ns;
    return between(draw, config->cycle_ns / 4, most_ns);
}

/* Who stands still, or is cut off: one, whoever that is. */
static mu_slot draw_victim(struct central_draw *draw)
{
    return chance(draw, 70) ? 0 : (mu_slot)sim_random_below(&draw->random, draw->plan.config.size);
}

static void draw_long_stalls(struct central_draw *draw)
{
    mu_slot victim = draw_victim(draw);
    uint64_t count = between(draw, 1, 4), at_ns = draw->from_ns;
    bool aimed = chance(draw, 50);
    if (aimed) {
        draw->plan.delay_ns_max = between(draw, 10 * 1000, draw->plan.config.floor_ns / 20);
        draw->plan.config.ceiling_ns = 8 * draw->plan.config.floor_ns;
    }
    draw->plan.inbox_max = aimed || chance(draw, 50) ? 0 : 4096;
    for (uint64_t i = 0; i < count; i++) {
        struct central_fault *stall = add(draw, CENTRAL_STALL, victim);
        stall->for_ns = draw_long_ns(draw);
        stall->excuses = true;
        stall->aimed = aimed;
        if (!aimed)
            continue;
        /* One after the other: each so long that nobody is heard in time, and too short to be
         * missed. */
        stall->at_ns = at_ns;
        stall->for_ns = 2 * draw->plan.config.floor_ns + draw->plan.config.cycle_ns;
        at_ns += stall->for_ns + between(draw, 1, 100) * 1000;
    }
    if (!aimed)
        draw->plan.loss_ppm = 150 * 1000;
}

static void draw_cut_off(struct central_draw *draw)
{
    mu_slot victim = draw_victim(draw);
    uint64_t count = between(draw, 1, 3);
    for (uint64_t i = 0; i < count; i++) {
        struct central_fault *cut = add(draw, CENTRAL_CUT, victim);
        cut->for_ns = i == 0 && chance(draw, 30) ? MU_NEVER : draw_long_ns(draw);
        cut->ways = (uint32_t)between(draw, 1, 3);
        cut->excuses = true;
    }
}

static void draw_pair(struct central_draw *draw)
{
    mu_slot other = (mu_slot)between(draw, 1, draw->plan.config.size - 1);
    struct central_fault *cut = add(draw, CENTRAL_CUT, 0);
    cut->peer = other;
    cut->ways = (uint32_t)between(draw, 1, 3);
    cut->for_ns = draw_long_ns(draw);
    cut->excuses = true;
    draw->plan.reachable = draw->plan.config.size > 2;
    draw->plan.delay_ns_max = between(draw, 5000, draw->plan.config.floor_ns / 20);
}

static void draw_masters(struct central_draw *draw)
{
    uint64_t count = between(draw, 1, 3);
    bool back = chance(draw, 50);
    draw->until_ns = draw->from_ns + count * (2 * draw->plan.config.cycle_ns +
                                              between(draw, 0, 8) * draw->plan.config.ceiling_ns);
    for (uint64_t i = 0; i < count; i++) {
        struct central_fault *crash = add(draw, CENTRAL_CRASH, CENTRAL_MASTER);
        crash->known = chance(draw, 30);
        if (back)
            crash->for_ns = between(draw, 1000, 8 * draw->plan.config.ceiling_ns);
    }
    draw->plan.timely = !back;
    /* Somebody who holds a lease of the old one does not hear the new one. */
    if (chance(draw, 50)) {
        struct central_fault *stall = add(draw, CENTRAL_STALL, draw_slot(draw));
        stall->at_ns = draw->plan.faults[0].at_ns - 500;
        stall->for_ns = draw_long_ns(draw);
        stall->excuses = true;
        draw->plan.timely = false;
    }
}

static void draw_loops(struct central_draw *draw)
{
    struct mu_central_config *config = &draw->plan.config;
    config->loop_ns = 4 * config->ceiling_ns;
    struct central_fault *loop = add(draw, CENTRAL_LOOP_STOPS, draw_slot(draw));
    loop->for_ns = chance(draw, 50) ? between(draw, 1000, config->loop_ns / 2) : MU_NEVER;
    loop->excuses = loop->for_ns == MU_NEVER;
    if (loop->for_ns != MU_NEVER)
        draw->plan.timely = false;
}

static void draw_storm(struct central_draw *draw)
{
    struct central_plan *plan = &draw->plan;
    plan->strict = plan->timely = false;
    plan->inbox_max = (uint32_t)between(draw, 0, 64);
    plan->loss_ppm = (uint32_t)between(draw, 0, chance(draw, 30) ? 300 * 1000 : 30 * 1000);
    plan->late_ppm = (uint32_t)between(draw, 0, 50 * 1000);
    plan->late_ns_max = between(draw, 1000, 4 * plan->config.ceiling_ns);
    plan->repeat_ppm = (uint32_t)between(draw, 0, 100 * 1000);
    plan->replay_ppm = (uint32_t)between(draw, 0, 100 * 1000);
    draw_crashes(draw, 4, true);
    draw_stalls(draw);
    uint64_t count = between(draw, 0, 5);
    for (uint64_t i = 0; i < count; i++) {
        struct central_fault *fault =
            add(draw, chance(draw, 50) ? CENTRAL_STALL : CENTRAL_CUT, draw_slot(draw));
        fault->for_ns = draw_long_ns(draw);
        fault->ways = (uint32_t)between(draw, 1, 3);
        if (chance(draw, 50))
            fault->peer = (mu_slot)sim_random_below(&draw->random, plan->config.size);
    }
}

static void draw_troubles(struct central_draw *draw)
{
    struct central_plan *plan = &draw->plan;
    plan->strict = plan->timely = true;
    plan->inbox_max = 4096;
    switch (draw->kind) {
    case CENTRAL_KIND_WITHIN:
        draw_crashes(draw, 3, false);
        draw_stalls(draw);
        if (chance(draw, 50))
            plan->repeat_ppm = plan->replay_ppm = (uint32_t)between(draw, 1000, 200 * 1000);
        break;
    case CENTRAL_KIND_LOSSES:
        plan->timely = false;
        plan->loss_ppm = (uint32_t)between(draw, 1000, 300 * 1000);
        draw_stalls(draw);
        break;
    case CENTRAL_KIND_STALLED:
        plan->timely = false;
        draw_long_stalls(draw);
        break;
    case CENTRAL_KIND_CUT_OFF:
        plan->timely = false;
        draw_cut_off(draw);
        break;
    case CENTRAL_KIND_PAIR:
        plan->timely = false;
        draw_pair(draw);
        break;
    case CENTRAL_KIND_SLOWER:
        plan->timely = false;
        plan->slow_from_ns = draw->from_ns;
        plan->config.ceiling_ns = plan->config.floor_ns * between(draw, 6, 12);
        plan->slow_ns_max = plan->config.ceiling_ns / 4;
        draw->until_ns = draw->from_ns + 120 * plan->config.cycle_ns;
        break;
    case CENTRAL_KIND_MASTERS:
        draw_masters(draw);
        break;
    case CENTRAL_KIND_LOOP:
        draw_loops(draw);
        break;
    case CENTRAL_KIND_STORM:
        draw_storm(draw);
        break;
    case CENTRAL_KINDS:
        assert(false);
    }
    plan->loss_apart_ns =
        plan->strict ? 2 * plan->config.cycle_ns + 4 * plan->config.ceiling_ns : 0;
}

void central_draw(struct central_draw *draw, uint64_t seed, uint32_t nodes, uint32_t broken_rules)
{
    memset(draw, 0, sizeof *draw);
    sim_random_init(&draw->random, seed);
    draw->kind = (enum central_kind)sim_random_below(&draw->random, CENTRAL_KINDS);
    draw->plan.seed = seed;
    draw_config(draw, nodes, broken_rules);
    draw_delays(draw);
    draw_schedule(draw);
    draw_troubles(draw);
    draw_end(draw);
}
