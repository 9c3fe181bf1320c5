#include "chaos/random/plan.h"

#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

static const struct {
    const char *word;
    uint32_t weight;
    bool is_alone; /* others at once would be in the way of those who are to hear it */
} kinds[CHAOS_KINDS] = {
    [CHAOS_KIND_KILL_PROCESS] = {"process killed", 12, false},
    [CHAOS_KIND_KILL_NODE] = {"node killed", 8, false},
    [CHAOS_KIND_STOP_SHORT] = {"short stop", 16, false},
    [CHAOS_KIND_STOP_LONG] = {"long stop", 8, false},
    [CHAOS_KIND_CUT_SHORT] = {"short cut", 16, false},
    [CHAOS_KIND_CUT_LONG] = {"long cut", 8, false},
    [CHAOS_KIND_FLAP_FAST] = {"fast flap", 10, false},
    [CHAOS_KIND_FLAP_SLOW] = {"slow flap", 4, false},
    [CHAOS_KIND_SLOW] = {"slow", 10, false},
    [CHAOS_KIND_IN_MEDIUM] = {"deaf for a while", 6, true},
    [CHAOS_KIND_IN_LONG] = {"deaf for long", 3, true},
    [CHAOS_KIND_PART_MEDIUM] = {"cut from some for a while", 8, true},
    [CHAOS_KIND_PART_LONG] = {"cut from its observer", 3, true},
};

const char *chaos_kind_word(enum chaos_kind kind)
{
    return kinds[kind].word;
}

/* ---- drawing ---- */

/* In whole milliseconds, so that words say it exactly. */
static uint64_t draw_ns(struct chaos_plan *plan, uint64_t low_ns, uint64_t high_ns)
{
    uint64_t low = low_ns / MS, high = high_ns / MS;
    if (low < 1)
        low = 1;
    return sim_random_between(&plan->random, low, high > low ? high : low) * MS;
}

static uint64_t spare_ns(const struct chaos_plan *plan)
{
    return plan->timeout_ns - plan->period_ns;
}

static mu_slot draw_sure(struct chaos_plan *plan)
{
    uint64_t skip = sim_random_below(&plan->random, plan->sure);
    for (mu_slot node = 0; node < plan->nodes; node++)
        if (plan->is_sure[node] && skip-- == 0)
            return node;
    abort();
}

static bool is_taken(const struct chaos_round *round, mu_slot node)
{
    for (uint32_t i = 0; i < round->count; i++)
        if (round->faults[i].node == node)
            return true;
    return false;
}

static enum chaos_kind draw_kind(struct chaos_plan *plan, bool with_others)
{
    uint32_t all = 0;
    for (int i = 0; i < CHAOS_KINDS; i++)
        all += with_others && kinds[i].is_alone ? 0 : kinds[i].weight;
    uint32_t drawn = (uint32_t)sim_random_below(&plan->random, all);
    for (int i = 0; i < CHAOS_KINDS; i++) {
        uint32_t weight = with_others && kinds[i].is_alone ? 0 : kinds[i].weight;
        if (drawn < weight)
            return (enum chaos_kind)i;
        drawn -= weight;
    }
    abort();
}

/* ---- one fault ---- */

static void be_verb(struct chaos_planned *planned, enum chaos_verb verb, enum chaos_outcome outcome)
{
    planned->fault.verb = verb;
    planned->outcome = outcome;
}

static void be_network(struct chaos_planned *planned, enum chaos_verb verb, uint8_t kind,
                       enum chaos_outcome outcome)
{
    be_verb(planned, verb, outcome);
    planned->fault.net.kind = kind;
    planned->fault.net.in = planned->fault.net.out = true;
}

/* Of faults at once, one may be at the end of what the other began: their lengths add up. */
static uint64_t draw_short_ns(struct chaos_plan *plan, uint32_t at_once)
{
    return draw_ns(plan, spare_ns(plan) / 10, spare_ns(plan) * 6 / 10 / at_once);
}

/* Whoever observes it may be hit as well, and whoever takes its place: each costs two timeouts. */
static uint64_t draw_long_ns(struct chaos_plan *plan, uint32_t at_once)
{
    uint64_t least_ns = plan->timeout_ns * 3 / 2 + (at_once - 1) * 2 * plan->timeout_ns;
    return draw_ns(plan, least_ns, least_ns + plan->timeout_ns);
}

/* The next live one onward, if that is sure. */
static mu_slot observer_of(const struct chaos_plan *plan, mu_slot node)
{
    for (uint32_t hop = 1; hop < plan->nodes; hop++) {
        mu_slot next = (node + hop) % plan->nodes;
        if (plan->is_sure[next])
            return next;
        if (!plan->is_dead[next])
            return MU_SLOT_NONE;
    }
    return MU_SLOT_NONE;
}

static void add_peer(struct chaos_planned *planned, mu_slot peer)
{
    struct mu_chaos *net = &planned->fault.net;
    struct mu_chaos_range range = {peer, peer};
    if (peer == planned->node || mu_chaos_concerns(net, peer) == (net->range_count > 0))
        return; /* itself, or it is there */
    uint8_t at = net->range_count++;
    for (; at > 0 && net->ranges[at - 1].first > peer; at--)
        net->ranges[at] = net->ranges[at - 1];
    net->ranges[at] = range;
}

static void draw_part(struct chaos_plan *plan, struct chaos_planned *planned)
{
    uint64_t timeout_ns = plan->timeout_ns;
    mu_slot observer = observer_of(plan, planned->node);
    if (planned->kind == CHAOS_KIND_PART_LONG && observer == MU_SLOT_NONE)
        planned->kind = CHAOS_KIND_PART_MEDIUM;
    be_network(planned, CHAOS_CUT, MU_CHAOS_CUT, CHAOS_NOTHING);
    if (planned->kind == CHAOS_KIND_PART_LONG) {
        planned->outcome = CHAOS_ONE_DIES;
        planned->peer = observer;
        add_peer(planned, observer);
        planned->fault.for_ns = draw_ns(plan, 11 * timeout_ns, 12 * timeout_ns);
        return;
    }
    while (planned->fault.net.range_count == 0)
        add_peer(planned, draw_sure(plan));
    if (observer != MU_SLOT_NONE && sim_random_chance(&plan->random, 50))
        add_peer(planned, observer);
    planned->fault.for_ns = draw_ns(plan, timeout_ns, 3 * timeout_ns);
}

static void draw_fault(struct chaos_plan *plan, struct chaos_planned *planned, uint32_t at_once)
{
    struct chaos_fault *fault = &planned->fault;
    struct mu_chaos *net = &fault->net;
    fault->target.list = chaos_list_of(planned->node);
    switch (planned->kind) {
    case CHAOS_KIND_KILL_PROCESS:
        be_verb(planned, CHAOS_KILL, CHAOS_PROCESS_DIES);
        fault->target.is_process = true;
        fault->target.job = 1;
        break;
    case CHAOS_KIND_KILL_NODE:
        be_verb(planned, CHAOS_KILL, CHAOS_NODE_DIES);
        break;
    case CHAOS_KIND_STOP_SHORT:
        be_verb(planned, CHAOS_STOP, CHAOS_NOTHING);
        fault->for_ns = draw_short_ns(plan, at_once);
        break;
    case CHAOS_KIND_STOP_LONG:
        be_verb(planned, CHAOS_STOP, CHAOS_NODE_DIES);
        fault->for_ns = draw_long_ns(plan, at_once);
        break;
    case CHAOS_KIND_CUT_SHORT:
        be_network(planned, CHAOS_CUT, MU_CHAOS_CUT, CHAOS_NOTHING);
        switch (sim_random_below(&plan->random, 3)) {
        case 0:
            net->in = false;
            break;
        case 1:
            net->out = false;
            break;
        }
        fault->for_ns = draw_short_ns(plan, at_once);
        break;
    case CHAOS_KIND_CUT_LONG:
        be_network(planned, CHAOS_CUT, MU_CHAOS_CUT, CHAOS_NODE_DIES);
        net->in = sim_random_chance(&plan->random, 60);
        fault->for_ns = draw_long_ns(plan, at_once);
        break;
    case CHAOS_KIND_FLAP_FAST:
        be_network(planned, CHAOS_FLAP, MU_CHAOS_FLAP, CHAOS_NOTHING);
        net->down_ns = draw_ns(plan, spare_ns(plan) / 20, spare_ns(plan) * 4 / 10 / at_once);
        net->up_ns = draw_ns(plan, 2 * plan->period_ns, 3 * plan->period_ns);
        fault->for_ns = draw_ns(plan, plan->timeout_ns, 3 * plan->timeout_ns);
        break;
    case CHAOS_KIND_FLAP_SLOW:
        be_network(planned, CHAOS_FLAP, MU_CHAOS_FLAP, CHAOS_NODE_DIES);
        net->down_ns = draw_long_ns(plan, at_once);
        net->up_ns = draw_ns(plan, plan->timeout_ns / 2, plan->timeout_ns);
        fault->for_ns = net->down_ns + net->up_ns;
        break;
    case CHAOS_KIND_SLOW:
        be_network(planned, CHAOS_SLOW, MU_CHAOS_SLOW, CHAOS_NOTHING);
        net->delay_ns = draw_ns(plan, MS, spare_ns(plan) / 4 / at_once);
        net->jitter_ns = draw_ns(plan, MS, spare_ns(plan) / 8 / at_once);
        net->seed = sim_random_next(&plan->random);
        fault->for_ns = draw_ns(plan, plan->timeout_ns, 3 * plan->timeout_ns);
        break;
    case CHAOS_KIND_IN_MEDIUM:
    case CHAOS_KIND_IN_LONG: {
        bool is_long = planned->kind == CHAOS_KIND_IN_LONG;
        be_network(planned, CHAOS_CUT, MU_CHAOS_CUT, is_long ? CHAOS_NODE_DIES : CHAOS_NOTHING);
        net->out = false;
        fault->for_ns = draw_ns(plan, (is_long ? 11 : 1) * plan->timeout_ns,
                                (is_long ? 12 : 3) * plan->timeout_ns);
        break;
    }
    case CHAOS_KIND_PART_MEDIUM:
    case CHAOS_KIND_PART_LONG:
        draw_part(plan, planned);
        break;
    case CHAOS_KINDS:
        abort();
    }
    net->for_ns = net->kind == MU_CHAOS_NONE ? 0 : fault->for_ns;
}

/* ---- what is left after it ---- */

static void lose(struct chaos_plan *plan, mu_slot node, bool surely)
{
    plan->sure -= plan->is_sure[node];
    plan->is_sure[node] = false;
    plan->is_dead[node] = surely;
}

static void take_outcome(struct chaos_plan *plan, const struct chaos_planned *planned)
{
    switch (planned->outcome) {
    case CHAOS_NOTHING:
        return;
    case CHAOS_PROCESS_DIES:
        plan->has_process[planned->node] = false;
        return;
    case CHAOS_NODE_DIES:
        lose(plan, planned->node, true);
        return;
    case CHAOS_ONE_DIES:
        lose(plan, planned->node, false);
        lose(plan, planned->peer, false);
        return;
    }
    abort();
}

static void begin_machine(struct chaos_plan *plan)
{
    plan->sure = plan->nodes;
    for (mu_slot node = 0; node < plan->nodes; node++) {
        plan->is_sure[node] = plan->has_process[node] = true;
        plan->is_dead[node] = false;
    }
}

/* ---- rounds ---- */

void chaos_plan_init(struct chaos_plan *plan, uint32_t nodes, uint64_t period_ns,
                     uint64_t timeout_ns, uint64_t seed)
{
    *plan = (struct chaos_plan){.nodes = nodes, .period_ns = period_ns, .timeout_ns = timeout_ns};
    sim_random_init(&plan->random, seed);
}

static int compare(const void *a, const void *b)
{
    const struct chaos_planned *one = a, *other = b;
    if (one->after_ns != other->after_ns)
        return one->after_ns < other->after_ns ? -1 : 1;
    return (one->node > other->node) - (one->node < other->node);
}

void chaos_plan_next(struct chaos_plan *plan, struct chaos_round *round)
{
    *round = (struct chaos_round){.number = plan->rounds++};
    /* Enough must be left to hear of what happens, whoever is hit in this round. */
    if (plan->sure < (plan->nodes + 1) / 2 || plan->sure < CHAOS_ROUND_MAX + 3) {
        begin_machine(plan);
        round->is_new_machine = true;
    }
    uint32_t at_once = 1 + (uint32_t)sim_random_below(&plan->random, CHAOS_ROUND_MAX);
    for (uint32_t i = 0; i < at_once; i++) {
        struct chaos_planned planned = {.peer = MU_SLOT_NONE};
        do
            planned.node = draw_sure(plan);
        while (is_taken(round, planned.node));
        do
            planned.kind = draw_kind(plan, at_once > 1);
        while (planned.kind == CHAOS_KIND_KILL_PROCESS && !plan->has_process[planned.node]);
        draw_fault(plan, &planned, at_once);
        planned.after_ns = at_once == 1 ? 0 : draw_ns(plan, MS, plan->timeout_ns / 2);
        round->faults[round->count++] = planned;
    }
    qsort(round->faults, round->count, sizeof round->faults[0], compare);
    for (uint32_t i = 0; i < round->count; i++) {
        uint64_t end_ns = round->faults[i].after_ns + round->faults[i].fault.for_ns;
        if (end_ns > round->length_ns)
            round->length_ns = end_ns;
        take_outcome(plan, &round->faults[i]);
    }
}
