/* 'muster tune': the shortest times for heartbeats that this host can keep, by the method of the
 * paper that the ring comes from: shrink period and timeout until the first false alarm. */
#define _GNU_SOURCE
#include "command/args.h"
#include "rig/page.h"
#include "command/commands.h"
#include "command/output.h"
#include "host/clock.h"
#include "tune/report.h"
#include "tune/rig.h"

#include <assert.h>
#include <sched.h>

enum { NODES_MIN = 16, NODES_PER_CORE = 2, IDLE_SHARE = 6, SHOW_MS = 100 };

#define SECOND_NS   UINT64_C(1000000000)
#define COST_NS_MAX (5 * SECOND_NS)

struct tune {
    struct tune_rig rig;
    struct tune_outcome outcome;
    uint64_t start_ns, end_ns;
    struct tune_step now;    /* the step that is under way */
    uint64_t shown_ns;       /* when progress was */
    uint64_t cost_period_ns; /* whose cost was measured; 0: none */
};

static uint64_t left_ns(uint64_t until_ns)
{
    uint64_t now_ns = mu_now_ns();
    return now_ns < until_ns ? until_ns - now_ns : 0;
}

/* ---- one step ---- */

static void show(void *owner)
{
    struct tune *t = owner;
    const struct tune_step *step = &t->now;
    if (mu_now_ns() - t->shown_ns < SHOW_MS * UINT64_C(1000000))
        return;
    t->shown_ns = mu_now_ns();
    output_progress("%.0f s left; %s, period %llu ms%s; the host stood still for up to %.1f ms",
                    (double)left_ns(t->end_ns) / 1e9, tune_condition_text(step->condition),
                    (unsigned long long)(step->period_ns / 1000000),
                    step->is_check ? ", which may be recommended" : "",
                    (double)tune_rig_stall_ns(&t->rig) / 1e6);
}

static bool run(struct tune *t, enum tune_condition condition, bool is_check, uint64_t period_ns,
                uint64_t span_ns)
{
    t->now =
        (struct tune_step){.condition = condition, .is_check = is_check, .period_ns = period_ns};
    if (!tune_rig_step(&t->rig, condition, period_ns, span_ns, &t->now.sample, t->now.text, show,
                       t))
        return false;
    t->now.result = tune_judge(&t->now.sample, t->rig.config.nodes, period_ns);
    return true;
}

/* NULL: something broke, or a signal came. */
static const struct tune_step *try(struct tune *t, enum tune_condition condition, bool is_check,
                                   uint64_t period_ns, uint64_t span_ns)
{
    assert(t->outcome.step_count < TUNE_STEPS_MAX);
    if (!run(t, condition, is_check, period_ns, span_ns))
        return NULL;
    struct tune_step *step = &t->outcome.steps[t->outcome.step_count++];
    *step = t->now;
    return step;
}

/* ---- what comes after what ---- */

static bool go_down(struct tune *t, enum tune_condition condition, uint64_t until_ns)
{
    struct tune_ladder *ladder = &t->outcome.ladders[condition];
    uint64_t period_ns, span_ns;
    while (tune_ladder_next(ladder, left_ns(until_ns), &period_ns, &span_ns)) {
        const struct tune_step *step = try(t, condition, false, period_ns, span_ns);
        if (step == NULL)
            return false;
        tune_ladder_take(ladder, step->result);
    }
    t->outcome.facts.held_ns[condition] = ladder->held_ns;
    return true;
}

static void advise(struct tune *t)
{
    t->outcome.facts.stall_ns = tune_rig_stall_ns(&t->rig);
    t->outcome.has_advice = tune_advise(&t->outcome.facts, &t->outcome.advice);
}

/* Idle, and where everything is hardest.  False: something broke, or a signal came. */
static bool check_once(struct tune *t, uint64_t period_ns)
{
    struct tune_outcome *outcome = &t->outcome;
    uint64_t idle_ns = left_ns(t->end_ns) / IDLE_SHARE, min_ns = tune_span_ns_min(period_ns);
    const struct tune_step *idle =
        try(t, TUNE_IDLE, true, period_ns, idle_ns < min_ns ? min_ns : idle_ns);
    if (idle == NULL)
        return false;
    outcome->cost = idle->sample;
    t->cost_period_ns = period_ns;
    const struct tune_step *hard = try(t, TUNE_LAUNCH, true, period_ns, left_ns(t->end_ns));
    if (hard == NULL)
        return false;
    if (tune_is_refuted(&idle->sample) || tune_is_refuted(&hard->sample))
        outcome->facts.refuted_ns = period_ns;
    else if (hard->result == TUNE_HELD)
        outcome->check = hard;
    advise(t); /* the host may have stood still for longer than ever before */
    return true;
}

/* What is going to be recommended is run itself.  An alarm, whoever's fault it is, makes it another
 * pair, which is run in turn. */
static bool check(struct tune *t)
{
    struct tune_outcome *outcome = &t->outcome;
    for (int i = 0; i < TUNE_CHECKS_MAX && outcome->has_advice && outcome->check == NULL; i++) {
        uint64_t period_ns = outcome->advice.period_ns;
        if (left_ns(t->end_ns) < 2 * tune_span_ns_min(period_ns))
            break;
        if (!check_once(t, period_ns))
            return false;
    }
    if (!outcome->has_advice || t->cost_period_ns == outcome->advice.period_ns)
        return true;
    /* No time was left for the last one: what it costs is measured nevertheless, in a moment. */
    uint64_t period_ns = outcome->advice.period_ns, span_ns = tune_span_ns_min(period_ns);
    bool good = run(t, TUNE_IDLE, true, period_ns, span_ns < COST_NS_MAX ? span_ns : COST_NS_MAX);
    outcome->cost = t->now.sample;
    return good;
}

/* Each part has what those before it left of the time: equal shares for the conditions and the
 * check. */
static bool tune(struct tune *t)
{
    bool good = true;
    for (int i = 0; good && i < TUNE_CONDITIONS; i++) {
        uint64_t share_ns = left_ns(t->end_ns) / (uint64_t)(TUNE_CONDITIONS + 1 - i);
        good = go_down(t, i, mu_now_ns() + share_ns);
    }
    advise(t);
    good = good && check(t);
    output_progress_end();
    t->outcome.took_ns = mu_now_ns() - t->start_ns;
    t->outcome.machines = t->rig.machines;
    t->outcome.is_realtime = t->rig.is_realtime;
    return good;
}

/* ---- the command ---- */

static uint64_t nodes_for_this_host(void)
{
    cpu_set_t allowed;
    uint64_t cores =
        sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? (uint64_t)CPU_COUNT(&allowed) : 1;
    uint64_t nodes = NODES_PER_CORE * cores;
    if (nodes < NODES_MIN)
        return NODES_MIN;
    return nodes > MACHINE_NODES_MAX ? MACHINE_NODES_MAX : nodes;
}

int cmd_tune(int argc, char **argv)
{
    uint64_t nodes = nodes_for_this_host(), load = 4, seconds = 120;
    bool json = false;
    const struct arg args[] = {
        {"nodes", ARG_NUMBER, &nodes, 2, MACHINE_NODES_MAX, "N",
         "nodes [default: 2 per core, at least 16]"},
        {"load", ARG_NUMBER, &load, 1, 64, "L", "computing processes per core [default: 4]"},
        {"seconds", ARG_NUMBER, &seconds, 20, 600, "S", "time limit [default: 120]"},
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object"},
    };
    const struct command command = {
        .path = "muster tune",
        .about = "Find the shortest heartbeat settings that this host can keep.",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .examples = "muster tune\nmuster tune --load 8 --seconds 300",
        .exits = "0 success   1 nothing can be recommended   2 usage error",
    };
    args_parse(&command, argc, argv);

    static struct tune t;
    t.start_ns = mu_now_ns();
    t.end_ns = t.start_ns + seconds * SECOND_NS;
    t.outcome.nodes = (uint32_t)nodes;
    t.outcome.load_per_core = (uint32_t)load;
    bool good =
        tune_rig_open(&t.rig, (uint32_t)nodes, (uint32_t)load, seconds * SECOND_NS) && tune(&t);
    tune_rig_close(&t.rig);
    if (good && json)
        tune_print_json(&t.outcome);
    else if (good)
        tune_print_words(&t.outcome);
    return rig_end(&t.rig.rig, good && t.outcome.has_advice ? 0 : 1);
}
