#include "sim/ring/draw.h"

#include "sim/ring/law_inside.h"

#include <assert.h>
#include <string.h>

enum { MS = 1000 * 1000, SETTLE_TIMEOUTS = 16 };

static uint64_t between(struct ring_draw *draw, uint64_t low, uint64_t high)
{
    return low >= high ? low : sim_random_between(&draw->random, low, high);
}

static bool chance(struct ring_draw *draw, uint32_t percent)
{
    return sim_random_chance(&draw->random, percent);
}

static mu_slot draw_slot(struct ring_draw *draw)
{
    return (mu_slot)sim_random_below(&draw->random, draw->plan.config.size);
}

static struct ring_fault *add_at(struct ring_draw *draw, enum ring_fault_type type, mu_slot node,
                                 uint64_t at_ns)
{
    assert(draw->plan.fault_count < RING_FAULTS_MAX);
    struct ring_fault *fault = &draw->faults[draw->plan.fault_count++];
    *fault = (struct ring_fault){
        .type = type, .node = node, .peer = MU_SLOT_NONE, .at_ns = at_ns / 1000 * 1000 + 250};
    return fault;
}

static struct ring_fault *add(struct ring_draw *draw, enum ring_fault_type type, mu_slot node)
{
    return add_at(draw, type, node, between(draw, draw->from_ns, draw->until_ns));
}

/* ---- times ---- */

static uint64_t draw_timeout_ns(struct ring_draw *draw, uint64_t period_ns)
{
    return period_ns * between(draw, 8, chance(draw, 20) ? 40 : 12) / 4;
}

/* Delays of all datagrams, and stalls of a node, within what the law allows; sometimes close to it.
 * Whoever is asked needs a round trip within a timeout, too. */
static void draw_delays(struct ring_draw *draw)
{
    struct ring_plan *plan = &draw->plan;
    const struct mu_detect_config *config = &plan->config;
    uint64_t spare_ns = ring_law_min(config->timeout_ns - config->period_ns,
                                     draw->other_timeout_ns - draw->other_period_ns);
    uint64_t round_ns = ring_law_min(config->timeout_ns, draw->other_timeout_ns) / 2;
    draw->limit_ns = ring_law_min(spare_ns, round_ns);
    plan->timer_ns_max = draw->limit_ns / 1000;
    uint64_t usable_ns = draw->limit_ns - draw->limit_ns / 16;
    plan->net.delay_ns_min = 2000;
    plan->net.delay_ns_max =
        between(draw, 10 * 1000, chance(draw, 30) ? usable_ns : draw->limit_ns / 10);
    if (draw->kind == RING_CUT_PAIR)
        plan->net.delay_ns_max = between(draw, 5 * 1000, draw->limit_ns / 64);
    draw->stall_ns_max = (usable_ns - plan->net.delay_ns_max) / 2;
    if (chance(draw, 50))
        plan->queue_ns_max = between(draw, 0, draw->limit_ns / 4);
    plan->tell_ns_max = between(draw, 0, chance(draw, 20) ? config->timeout_ns : spare_ns / 8);
}

static void draw_config(struct ring_draw *draw, uint32_t nodes, uint32_t broken_rules)
{
    struct mu_detect_config *config = &draw->plan.config;
    mu_detect_config_default(config, nodes, 0);
    static const uint64_t periods_ms[] = {1, 5, 10, 100};
    config->period_ns = periods_ms[sim_random_below(&draw->random, 4)] * MS;
    config->timeout_ns = draw_timeout_ns(draw, config->period_ns);
    draw->other_period_ns = config->period_ns;
    draw->other_timeout_ns = config->timeout_ns;
    if (draw->kind != RING_CUT_PAIR && chance(draw, 40)) {
        draw->other_period_ns = config->period_ns * between(draw, 4, 12) / 4;
        draw->other_timeout_ns = draw_timeout_ns(draw, draw->other_period_ns);
    }
    config->dead = nodes;
    config->broken_rules = broken_rules;
}

static void draw_schedule(struct ring_draw *draw)
{
    struct ring_plan *plan = &draw->plan;
    struct mu_detect_config *config = &plan->config;
    uint64_t timeout_ns = ring_law_max(config->timeout_ns, draw->other_timeout_ns);
    plan->start_ns_max = between(draw, 1, 2 * config->period_ns);
    config->grace_ns = plan->start_ns_max + between(draw, timeout_ns, 3 * timeout_ns);
    draw->from_ns = plan->start_ns_max + config->grace_ns;
    if (draw->kind != RING_CUT_PAIR && chance(draw, 15))
        draw->from_ns = 0;
    draw->until_ns =
        plan->start_ns_max + config->grace_ns +
        between(draw, config->period_ns, chance(draw, 50) ? 3 * timeout_ns : 10 * timeout_ns);
}

/* ---- troubles of the network ---- */

static void draw_net(struct ring_draw *draw)
{
    struct ring_net_plan *net = &draw->plan.net;
    const struct mu_detect_config *config = &draw->plan.config;
    net->from_ns = draw->from_ns;
    net->until_ns = draw->until_ns;
    if (chance(draw, 50))
        net->repeat_ppm = (uint32_t)between(draw, 1000, 200 * 1000);
    if (chance(draw, 50)) {
        net->replay_ppm = (uint32_t)between(draw, 1000, 200 * 1000);
        net->replay_ns_max = between(draw, 1000, 4 * config->timeout_ns);
    }
    if (chance(draw, 50))
        net->haunt_percent = 70;
    if (sim_random_hash(draw->plan.seed) % 2 == 1)
        net->echo_percent = 50;
    if (draw->kind == RING_FEW_LOSSES) {
        net->loss_ppm = (uint32_t)between(draw, 1000, 300 * 1000);
        net->loss_apart_ns =
            ring_law_max(config->timeout_ns, draw->other_timeout_ns) + 2 * net->delay_ns_max;
    }
    if (draw->kind == RING_STORM) {
        net->loss_ppm = (uint32_t)between(draw, 0, chance(draw, 30) ? 400 * 1000 : 30 * 1000);
        net->late_ppm = (uint32_t)between(draw, 0, 50 * 1000);
        net->late_ns_max = between(draw, 1000, 3 * config->timeout_ns);
    }
}

static void draw_set(struct ring_draw *draw)
{
    const struct mu_detect_config *config = &draw->plan.config;
    if (draw->other_timeout_ns == config->timeout_ns && draw->other_period_ns == config->period_ns)
        return;
    uint64_t times = between(draw, 1, 3);
    for (uint64_t i = 0; i < times; i++) {
        struct ring_fault *set = add(draw, RING_FAULT_SET, 0);
        bool back = i % 2 == 1;
        set->period_ns = back ? config->period_ns : draw->other_period_ns;
        set->timeout_ns = back ? config->timeout_ns : draw->other_timeout_ns;
    }
}

static void draw_old_dead(struct ring_draw *draw)
{
    if (!chance(draw, 30))
        return;
    draw->plan.incarnations = 3;
    for (uint64_t i = between(draw, 1, 8); i > 0; i--)
        add(draw, RING_FAULT_OLD_DEAD, draw_slot(draw));
}

/* ---- troubles of nodes ---- */

static void draw_failure(struct ring_draw *draw, mu_slot node, uint64_t at_ns)
{
    uint64_t timeout_ns = draw->plan.config.timeout_ns;
    if (chance(draw, 60)) {
        struct ring_fault *crash = add_at(draw, RING_FAULT_CRASH, node, at_ns);
        crash->known = chance(draw, 25);
        crash->for_ns = crash->known && chance(draw, 40) ? between(draw, 0, 3 * timeout_ns) : 0;
        return;
    }
    struct ring_fault *stop = add_at(draw, RING_FAULT_STOP, node, at_ns);
    stop->for_ns = chance(draw, 40) ? MU_NEVER : between(draw, timeout_ns / 4, 5 * timeout_ns);
}

/* A node stops, the one behind it is observed in its place and given back; then both fail, and
 * everybody is told of the first only.  Beats of the second that were recorded in between come from
 * a watch that is over. */
static void draw_take_over(struct ring_draw *draw)
{
    const struct mu_detect_config *config = &draw->plan.config;
    uint32_t size = config->size;
    mu_slot node = draw_slot(draw), behind = node == 0 ? size - 1 : node - 1;
    uint64_t spare_ns = config->timeout_ns - config->period_ns;
    uint64_t at_ns = between(draw, draw->from_ns, draw->until_ns);
    struct ring_fault *stop = add_at(draw, RING_FAULT_STOP, node, at_ns);
    stop->for_ns = config->period_ns + between(draw, spare_ns / 4, spare_ns * 3 / 4);
    at_ns += stop->for_ns + between(draw, config->period_ns / 4, 4 * config->period_ns);
    add_at(draw, RING_FAULT_CRASH, behind, at_ns);
    add_at(draw, RING_FAULT_CRASH, node, at_ns)->known = true;
    draw->plan.net.haunt_percent = 70;
}

/* Neighbours that fail together, or nodes here and there. */
static void draw_failures(struct ring_draw *draw)
{
    uint32_t size = draw->plan.config.size;
    uint64_t some = chance(draw, 60) ? between(draw, 1, 3) : between(draw, 1, size);
    if (chance(draw, 40)) {
        mu_slot first = draw_slot(draw);
        uint64_t at_ns = between(draw, draw->from_ns, draw->until_ns);
        bool together = chance(draw, 60);
        for (uint64_t i = 0; i < some && i + 1 < size; i++)
            draw_failure(draw, (mu_slot)((first + i) % size),
                         together ? at_ns : between(draw, draw->from_ns, draw->until_ns));
        return;
    }
    for (uint64_t i = 0; i < some; i++)
        draw_failure(draw, draw_slot(draw), between(draw, draw->from_ns, draw->until_ns));
}

static void draw_stalls(struct ring_draw *draw)
{
    uint64_t count = between(draw, 0, 2 * (uint64_t)draw->plan.config.size);
    for (uint64_t i = 0; i < count; i++)
        add(draw, RING_FAULT_STOP, draw_slot(draw))->for_ns =
            between(draw, 1000, draw->stall_ns_max);
}

/* The main loop of some stands still; most often of nodes that then have to carry a verdict.  Not
 * where times change: those come through the main loop, and have to be everywhere within a timeout.
 */
static void draw_loops(struct ring_draw *draw)
{
    struct mu_detect_config *config = &draw->plan.config;
    uint64_t timeout_ns = config->timeout_ns;
    config->loop_ns = between(draw, 1, chance(draw, 50) ? timeout_ns : 10 * timeout_ns);
    uint64_t patience_ns = mu_detect_loop_patience_ns(timeout_ns, config->loop_ns);
    if (draw->other_timeout_ns != timeout_ns || draw->other_period_ns != config->period_ns)
        return;
    for (uint64_t i = between(draw, 1, 1 + config->size / 8); i > 0; i--) {
        mu_slot node = draw_slot(draw);
        struct ring_fault *loop = add(draw, RING_FAULT_LOOP, node);
        loop->for_ns =
            chance(draw, 40) ? MU_NEVER : between(draw, patience_ns / 8, 2 * patience_ns);
        if (chance(draw, 60))
            add_at(draw, RING_FAULT_CRASH, node == 0 ? config->size - 1 : node - 1,
                   loop->at_ns + between(draw, 0, patience_ns));
    }
}

static struct ring_fault *draw_cut(struct ring_draw *draw, mu_slot node, mu_slot peer)
{
    struct ring_fault *fault = add(draw, RING_FAULT_CUT, node);
    fault->peer = peer;
    fault->ways = (uint32_t)between(draw, RING_OUTWARD, RING_BOTH_WAYS);
    fault->for_ns = between(draw, draw->plan.config.period_ns, 16 * draw->plan.config.timeout_ns);
    return fault;
}

/* Mostly two neighbours: others have nothing to say to each other. */
static void draw_cut_pair(struct ring_draw *draw)
{
    uint32_t size = draw->plan.config.size;
    mu_slot node = draw_slot(draw);
    mu_slot peer = chance(draw, 80) ? (node + 1) % size : draw_slot(draw);
    if (peer == node)
        peer = (node + 1) % size;
    draw->plan.pair = chance(draw, 50) ? draw_cut(draw, node, peer) : draw_cut(draw, peer, node);
}

static void draw_cut_nodes(struct ring_draw *draw)
{
    for (uint64_t i = between(draw, 1, 1 + draw->plan.config.size / 8); i > 0; i--)
        draw_cut(draw, draw_slot(draw), MU_SLOT_NONE);
}

static void draw_storm(struct ring_draw *draw)
{
    uint32_t size = draw->plan.config.size;
    for (uint64_t i = between(draw, 0, 8); i > 0; i--) {
        mu_slot node = draw_slot(draw), peer = draw_slot(draw);
        if (chance(draw, 50))
            peer = (node + 1) % size; /* they watch each other */
        if (peer != node)
            draw_cut(draw, node, peer);
    }
    if (chance(draw, 30))
        draw_cut_nodes(draw);
}

/* Two sides, once or twice; somebody fails meanwhile. */
static void draw_sides(struct ring_draw *draw)
{
    uint64_t timeout_ns = draw->plan.config.timeout_ns;
    for (uint64_t i = between(draw, 1, 2); i > 0; i--) {
        struct ring_fault *cut = add(draw, RING_FAULT_CUT, 0);
        cut->side = 1 + sim_random_below(&draw->random, UINT32_MAX);
        cut->ways =
            chance(draw, 70) ? RING_BOTH_WAYS : (uint32_t)between(draw, RING_OUTWARD, RING_INWARD);
        cut->for_ns = between(draw, timeout_ns / 2, 6 * timeout_ns);
        if (chance(draw, 60))
            add_at(draw, RING_FAULT_CRASH, draw_slot(draw),
                   cut->at_ns + between(draw, 0, cut->for_ns + timeout_ns));
    }
}

/* A node stands still, or is not heard by its observer, for about as long as it takes to be
 * declared; its observer dies about then, and the word of it may be on its way.  The next one
 * onward has found the node already, because the observer was late as well. */
static void draw_last_words(struct ring_draw *draw)
{
    const struct mu_detect_config *config = &draw->plan.config;
    uint64_t period_ns = config->period_ns, timeout_ns = config->timeout_ns;
    mu_slot node = draw_slot(draw), observer = (node + 1) % config->size;
    uint64_t at_ns = between(draw, draw->from_ns, draw->until_ns);
    add_at(draw, RING_FAULT_STOP, node, at_ns)->for_ns =
        between(draw, timeout_ns, timeout_ns + period_ns);
    at_ns += timeout_ns + between(draw, 0, period_ns / 2);
    if (chance(draw, 50)) { /* its node stands still when its verdict should leave */
        add_at(draw, RING_FAULT_STOP, (node + 2) % config->size, at_ns - timeout_ns / 2)->for_ns =
            between(draw, 1000, draw->stall_ns_max);
    }
    add_at(draw, RING_FAULT_CRASH, observer, at_ns);
    draw->plan.tell_ns_max = between(draw, 0, (timeout_ns - period_ns) / 4);
}

/* Two neighbours are cut off from each other for long, so that a helper observes the one for the
 * other.  Then the observer hears nothing of it any more: those that reach it do not reach the
 * observer, or stand still when they are asked. */
static void draw_taken(struct ring_draw *draw)
{
    const struct mu_detect_config *config = &draw->plan.config;
    mu_slot node = draw_slot(draw), observer = (node + 1) % config->size;
    uint64_t timeout_ns = config->timeout_ns;
    struct ring_fault *first = draw_cut(draw, node, observer);
    uint64_t at_ns = first->at_ns + 2 * timeout_ns + between(draw, 0, 3 * timeout_ns);
    first->ways = RING_BOTH_WAYS;
    first->for_ns = between(draw, 4 * timeout_ns, 14 * timeout_ns);
    bool stands = chance(draw, 50);
    for (mu_slot slot = 0; slot < config->size && slot < 8; slot++) {
        if (slot == node || slot == observer || chance(draw, 20))
            continue;
        if (stands) {
            add_at(draw, RING_FAULT_STOP, slot, at_ns + between(draw, 0, timeout_ns / 8))->for_ns =
                between(draw, timeout_ns, 3 * timeout_ns);
            continue;
        }
        /* In one way: who answers the observer does not reach the node, and the other way round. */
        bool answers = chance(draw, 50);
        struct ring_fault *cut = draw_cut(draw, slot, answers ? node : observer);
        cut->ways = answers ? RING_BOTH_WAYS : RING_OUTWARD;
        cut->at_ns = (at_ns + between(draw, 0, timeout_ns / 8)) / 1000 * 1000 + 250;
        cut->for_ns = between(draw, 2 * timeout_ns, 6 * timeout_ns);
    }
    if (chance(draw, 30))
        add_at(draw, RING_FAULT_STOP, observer, first->at_ns - first->at_ns / 8)->for_ns =
            between(draw, timeout_ns / 2, timeout_ns);
}

/* Connections break while both live, and now and then because one of them has died. */
static void draw_broken(struct ring_draw *draw)
{
    uint32_t size = draw->plan.config.size;
    for (uint64_t i = between(draw, 0, 6); i > 0; i--) {
        struct ring_fault *broke = add(draw, RING_FAULT_BROKE, draw_slot(draw));
        broke->peer = broke->node == 0 ? size - 1 : broke->node - 1;
        if (chance(draw, 30))
            add_at(draw, RING_FAULT_CRASH, broke->peer,
                   broke->at_ns + between(draw, 0, draw->plan.config.period_ns));
    }
}

static void draw_launcher(struct ring_draw *draw)
{
    struct ring_launcher *launcher = &draw->plan.launcher;
    launcher->there = chance(draw, 60);
    launcher->reaches_percent = chance(draw, 60) ? 100 : 60;
    if (!chance(draw, 30))
        return;
    launcher->still_from_ns = between(draw, draw->from_ns, draw->until_ns);
    launcher->still_until_ns =
        launcher->still_from_ns + between(draw, 0, 4 * draw->plan.config.timeout_ns);
}

/* While a helper observes a node in the place of another, the one whose place that is stands still
 * for so long that the next one onward, perhaps that helper, finds the node; or helpers stand still
 * while it renews what it has asked of them. */
static void draw_taken_still(struct ring_draw *draw)
{
    const struct mu_detect_config *config = &draw->plan.config;
    const struct ring_fault *cut = NULL;
    for (uint32_t i = 0; cut == NULL && i < draw->plan.fault_count; i++)
        if (draw->faults[i].type == RING_FAULT_CUT)
            cut = &draw->faults[i];
    uint64_t spare_ns = config->timeout_ns - config->period_ns, from_ns = cut->at_ns;
    uint64_t at_ns = from_ns + config->timeout_ns, until_ns = from_ns + cut->for_ns;
    mu_slot observer = cut->peer;
    bool is_observer = chance(draw, 50);
    for (uint64_t i = is_observer ? between(draw, 2, 5) : 12; i > 0; i--) {
        mu_slot node = is_observer ? observer : (observer + 1 + i % 4) % config->size;
        if (node == cut->node)
            continue;
        uint64_t least_ns = is_observer ? config->period_ns + spare_ns / 4 : spare_ns / 6;
        add_at(draw, RING_FAULT_STOP, node, between(draw, at_ns, until_ns))->for_ns =
            between(draw, least_ns, config->timeout_ns);
    }
}

/* Two sides, for long enough that each declares the other; then nobody of them speaks first. */
static void draw_sides_long(struct ring_draw *draw)
{
    struct ring_fault *cut = add(draw, RING_FAULT_CUT, 0);
    cut->side = 1 + sim_random_below(&draw->random, UINT32_MAX);
    cut->ways = RING_BOTH_WAYS;
    cut->for_ns = between(draw, 3, 12) * draw->plan.config.timeout_ns;
}

/* A row of four: the first stops, the second dies with it, the third about when its first probe
 * comes, and the last stops at once and keeps the lease that the third has just given it. */
static void draw_row(struct ring_draw *draw, mu_slot node)
{
    const struct mu_detect_config *config = &draw->plan.config;
    uint64_t spare_ns = config->timeout_ns - config->period_ns;
    uint64_t at_ns = between(draw, draw->from_ns, draw->until_ns);
    add_at(draw, RING_FAULT_STOP, (node + 3) % config->size, at_ns)->for_ns = MU_NEVER;
    add_at(draw, RING_FAULT_CRASH, (node + 2) % config->size, at_ns);
    at_ns += spare_ns / 4 + between(draw, 0, config->period_ns + spare_ns / 4);
    add_at(draw, RING_FAULT_CRASH, (node + 1) % config->size, at_ns);
    add_at(draw, RING_FAULT_STOP, node, at_ns + between(draw, 0, config->period_ns / 8))->for_ns =
        MU_NEVER;
}

static void draw_rows(struct ring_draw *draw)
{
    uint32_t size = draw->plan.config.size;
    mu_slot first = draw_slot(draw);
    for (uint32_t i = 0; i + 6 <= size && i < 48; i += 6)
        draw_row(draw, (first + i) % size);
}

/* From random numbers of its own, so that the rest of a world is what its seed always was. */
static void draw_apart(struct ring_draw *draw)
{
    struct sim_random before = draw->random;
    sim_random_init(&draw->random, sim_random_hash(draw->plan.seed + 11));
    if (draw->plan.pair == NULL && chance(draw, 30))
        draw_loops(draw);
    if (draw->kind == RING_TAKEN && chance(draw, 60))
        draw_taken_still(draw);
    if (draw->kind == RING_SIDES && chance(draw, 50))
        draw_sides_long(draw);
    if (draw->kind == RING_WITHIN_BOUNDS && chance(draw, 50))
        draw_rows(draw);
    draw->random = before;
}

static void draw_faults(struct ring_draw *draw)
{
    draw_set(draw);
    draw_old_dead(draw);
    switch (draw->kind) {
    case RING_CUT_PAIR:
        draw_cut_pair(draw);
        return;
    case RING_CUT_NODES:
        draw_cut_nodes(draw);
        break;
    case RING_STORM:
        draw_storm(draw);
        break;
    case RING_SIDES:
        draw_sides(draw);
        break;
    case RING_LAST_WORDS:
        draw_last_words(draw);
        break;
    case RING_TAKEN:
        draw_taken(draw);
        break;
    case RING_WITHIN_BOUNDS:
    case RING_FEW_LOSSES:
    case RING_KINDS:
        break;
    }
    if (chance(draw, 10))
        draw_take_over(draw);
    if (chance(draw, draw->kind < RING_SIDES ? 80 : 30))
        draw_failures(draw);
    if (chance(draw, 50))
        draw_stalls(draw);
    if (chance(draw, 30))
        draw_broken(draw);
}

/* When the last trouble is over, everything has time to settle. */
static void draw_end(struct ring_draw *draw)
{
    struct ring_plan *plan = &draw->plan;
    uint64_t last_ns = draw->until_ns;
    for (uint32_t i = 0; i < plan->fault_count; i++) {
        const struct ring_fault *fault = &plan->faults[i];
        if (fault->for_ns != MU_NEVER)
            last_ns = ring_law_max(last_ns, fault->at_ns + fault->for_ns);
        else if (fault->type == RING_FAULT_LOOP)
            last_ns = ring_law_max(last_ns,
                                   fault->at_ns + mu_detect_loop_bound_ns(plan->config.timeout_ns,
                                                                          plan->config.loop_ns));
    }
    uint64_t timeout_ns = ring_law_max(plan->config.timeout_ns, draw->other_timeout_ns);
    uint64_t period_ns = ring_law_max(plan->config.period_ns, draw->other_period_ns);
    uint64_t replays_ns = ring_law_max(plan->net.replay_ns_max, 12 * plan->config.period_ns);
    plan->end_ns = last_ns + replays_ns + plan->net.late_ns_max + plan->tell_ns_max +
                   SETTLE_TIMEOUTS * timeout_ns;
    plan->quiet_ns = plan->end_ns - 3 * period_ns;
}

void ring_draw(struct ring_draw *draw, uint64_t seed, uint32_t nodes, uint32_t broken_rules)
{
    struct ring_plan *plan = &draw->plan;
    memset(draw, 0, offsetof(struct ring_draw, faults));
    sim_random_init(&draw->random, seed);
    plan->seed = seed;
    plan->small = true;
    plan->faults = draw->faults;
    draw->kind = (enum ring_kind)sim_random_below(&draw->random, RING_KINDS);
    draw_config(draw, nodes, broken_rules);
    draw_delays(draw);
    draw_schedule(draw);
    draw_net(draw);
    plan->clock_ns_max = chance(draw, 50) ? 0 : 3600ull * 1000 * MS;
    plan->inbox_max = chance(draw, 80) ? 100000 : (uint32_t)between(draw, 4, 64);
    draw_launcher(draw);
    draw_faults(draw);
    draw_apart(draw);
    draw_end(draw);
}
