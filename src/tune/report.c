#include "tune/report.h"

#include "command/output.h"

#include <stdio.h>
#include <stdlib.h>

enum { PAIR_TEXT_MAX = 64 };

const char *tune_condition_text(enum tune_condition condition)
{
    static const char *const texts[TUNE_CONDITIONS] = {"idle", "under load",
                                                       "launching under load"};
    return texts[condition];
}

static unsigned long long ms_of(uint64_t ns)
{
    return ns / 1000000;
}

/* As 'muster run --heartbeat' takes it. */
static const char *pair_text(uint64_t period_ns, char text[PAIR_TEXT_MAX])
{
    snprintf(text, PAIR_TEXT_MAX, "%llums,%llums", ms_of(period_ns), ms_of(TUNE_RATIO * period_ns));
    return text;
}

/* As 'muster set' takes it. */
static const char *set_text(uint64_t period_ns, char text[PAIR_TEXT_MAX])
{
    snprintf(text, PAIR_TEXT_MAX, "period=%llums timeout=%llums", ms_of(period_ns),
             ms_of(TUNE_RATIO * period_ns));
    return text;
}

/* The last step of a condition, which ended as its ladder did; NULL: there was none. */
static const struct tune_step *last_step(const struct tune_outcome *outcome,
                                         enum tune_condition condition)
{
    const struct tune_step *last = NULL;
    for (size_t i = 0; i < outcome->step_count; i++)
        if (outcome->steps[i].condition == condition && !outcome->steps[i].is_check)
            last = &outcome->steps[i];
    return last;
}

/* ---- words ---- */

static void print_spoilt(const struct tune_outcome *outcome, enum tune_condition condition)
{
    char pair[PAIR_TEXT_MAX];
    uint64_t failed_ns = outcome->ladders[condition].failed_ns, stall_ns = 0;
    for (size_t i = 0; i < outcome->step_count; i++) {
        const struct tune_step *step = &outcome->steps[i];
        if (step->condition == condition && step->result == TUNE_SPOILT &&
            step->period_ns == failed_ns && step->sample.stall_ns > stall_ns)
            stall_ns = step->sample.stall_ns;
    }
    if (stall_ns > (TUNE_RATIO - 1) * failed_ns)
        printf(
            "; %s means nothing here: the host itself stood still for %.1f ms within a timeout\n",
            pair_text(failed_ns, pair), (double)stall_ns / 1e6);
    else
        printf("; with %s daemons did not come to beat as often as they should\n",
               pair_text(failed_ns, pair));
}

static void print_end(const struct tune_outcome *outcome, enum tune_condition condition)
{
    char pair[PAIR_TEXT_MAX];
    const struct tune_ladder *ladder = &outcome->ladders[condition];
    const struct tune_step *last = last_step(outcome, condition);
    switch (ladder->end) {
    case TUNE_GOES_ON:
        printf("; it was cut short\n");
        return;
    case TUNE_END_BOTTOM:
        printf(", the shortest there is\n");
        return;
    case TUNE_END_ALARM:
        printf("; the first false alarm at %s: %s\n", pair_text(ladder->failed_ns, pair),
               last->text);
        return;
    case TUNE_END_REFUSED:
        printf("; with %s daemons do not come up\n", pair_text(ladder->failed_ns, pair));
        return;
    case TUNE_END_STALLS:
        print_spoilt(outcome, condition);
        return;
    case TUNE_END_TIME:
        printf("; there was no time for shorter ones\n");
        return;
    }
    abort();
}

static void print_ladder(const struct tune_outcome *outcome, enum tune_condition condition)
{
    const struct tune_ladder *ladder = &outcome->ladders[condition];
    char pair[PAIR_TEXT_MAX];
    printf("  %s: ", tune_condition_text(condition));
    if (ladder->held_ns == 0)
        printf("nothing held");
    else
        printf("held down to %s", pair_text(ladder->held_ns, pair));
    print_end(outcome, condition);
}

static void print_reasons(const struct tune_outcome *outcome)
{
    const struct tune_advice *advice = &outcome->advice;
    const struct tune_facts *facts = &outcome->facts;
    printf("  a period of %llu ms held under every condition, and twice that is %llu ms; the host "
           "stood still for up to %.1f ms, and twice that is %.1f ms\n",
           ms_of(advice->held_ns), ms_of(TUNE_MARGIN * advice->held_ns),
           (double)facts->stall_ns / 1e6, (double)(TUNE_MARGIN * facts->stall_ns) / 1e6);
    if (advice->reason == TUNE_BY_CHECK)
        printf("  a period of %llu ms was to be recommended and did not hold, so this is at least "
               "twice that\n",
               ms_of(facts->refuted_ns));
    if (advice->reason == TUNE_BY_STALL)
        printf("  shorter ones would not do: whoever stands still for longer than the timeout "
               "leaves after a period is declared dead\n");
}

static void print_check(const struct tune_outcome *outcome)
{
    char pair[PAIR_TEXT_MAX];
    const struct tune_step *check = outcome->check;
    if (check == NULL) {
        printf("  there was no time to run it\n");
        return;
    }
    if (check->period_ns < outcome->advice.period_ns)
        printf("  %s, which is even shorter, was run", pair_text(check->period_ns, pair));
    else
        printf("  it was run");
    printf(" for %.1f s, %s: no alarm in %llu heartbeats and acknowledgements\n",
           (double)check->sample.span_ns / 1e9, tune_condition_text(check->condition),
           (unsigned long long)check->sample.beats);
}

static void print_cost(const struct tune_sample *cost)
{
    double seconds = (double)cost->node_ns / 1e9;
    if (cost->node_ns == 0)
        return;
    printf("  it costs a node %.4f %% of a core, and %.0f bytes/s in %.1f datagrams/s\n",
           (double)cost->cpu_ns / (double)cost->node_ns * 100, (double)cost->bytes / seconds,
           (double)cost->beats / seconds);
}

static void print_advice(const struct tune_outcome *outcome)
{
    char text[PAIR_TEXT_MAX];
    const struct tune_advice *advice = &outcome->advice;
    printf("recommended: heartbeats every %llu ms, timeout %llu ms\n", ms_of(advice->period_ns),
           ms_of(advice->timeout_ns));
    print_reasons(outcome);
    print_check(outcome);
    print_cost(&outcome->cost);
    printf("muster run --heartbeat %s\n", pair_text(advice->period_ns, text));
    printf("muster set %s\n", set_text(advice->period_ns, text));
}

void tune_print_words(const struct tune_outcome *outcome)
{
    printf(
        "%u nodes on this host, %u processes for each core as load; %.0f s, daemons were started "
        "%llu times\n",
        outcome->nodes, outcome->load_per_core, (double)outcome->took_ns / 1e9,
        (unsigned long long)outcome->machines);
    for (int i = 0; i < TUNE_CONDITIONS; i++)
        print_ladder(outcome, i);
    printf("  the host stood still for up to %.1f ms%s\n", (double)outcome->facts.stall_ns / 1e6,
           outcome->is_realtime ? "" : ", or its load kept the timers from running");
    if (outcome->has_advice)
        print_advice(outcome);
    else
        printf("nothing is recommended: no pair held under every condition\n");
}

/* ---- JSON ---- */

static json_t *json_whole(uint64_t number)
{
    return json_integer((json_int_t)number);
}

static void set_pair(json_t *object, uint64_t period_ns)
{
    json_object_set_new(object, "period_ms", json_whole(ms_of(period_ns)));
    json_object_set_new(object, "timeout_ms", json_whole(ms_of(TUNE_RATIO * period_ns)));
}

static json_t *json_pair(uint64_t period_ns)
{
    if (period_ns == 0)
        return json_null();
    json_t *object = json_object();
    set_pair(object, period_ns);
    return object;
}

static json_t *json_step(const struct tune_step *step)
{
    static const char *const results[] = {"held", "false alarm", "refused", "spoilt"};
    json_t *object = json_object();
    set_pair(object, step->period_ns);
    json_object_set_new(object, "result", json_string(results[step->result]));
    json_object_set_new(object, "seconds", json_real((double)step->sample.span_ns / 1e9));
    json_object_set_new(object, "heartbeats", json_whole(step->sample.beats));
    json_object_set_new(object, "false", json_whole(step->sample.alarms - step->sample.excused));
    json_object_set_new(object, "excused", json_whole(step->sample.excused));
    json_object_set_new(object, "stall_ms", json_real((double)step->sample.stall_ns / 1e6));
    if (step->text[0] != '\0')
        json_object_set_new(object, "why", json_string(step->text));
    return object;
}

static json_t *json_steps(const struct tune_outcome *outcome, enum tune_condition condition,
                          bool are_checks)
{
    json_t *array = json_array();
    for (size_t i = 0; i < outcome->step_count; i++)
        if (outcome->steps[i].condition == condition && outcome->steps[i].is_check == are_checks)
            json_array_append_new(array, json_step(&outcome->steps[i]));
    return array;
}

static json_t *json_condition(const struct tune_outcome *outcome, enum tune_condition condition)
{
    static const char *const names[TUNE_CONDITIONS] = {"idle", "load", "launch"};
    static const char *const ends[] = {"cut short", "all held", "false alarm",
                                       "refused",   "stalls",   "time"};
    const struct tune_ladder *ladder = &outcome->ladders[condition];
    json_t *object = json_object();
    json_object_set_new(object, "condition", json_string(names[condition]));
    json_object_set_new(object, "held", json_pair(ladder->held_ns));
    json_object_set_new(object, "failed", json_pair(ladder->failed_ns));
    json_object_set_new(object, "end", json_string(ends[ladder->end]));
    json_object_set_new(object, "steps", json_steps(outcome, condition, false));
    json_object_set_new(object, "checks", json_steps(outcome, condition, true));
    return object;
}

static json_t *json_advice(const struct tune_outcome *outcome)
{
    static const char *const reasons[] = {"held", "stall", "check"};
    char text[PAIR_TEXT_MAX];
    if (!outcome->has_advice)
        return json_null();
    const struct tune_advice *advice = &outcome->advice;
    json_t *object = json_pair(advice->period_ns);
    json_object_set_new(object, "because", json_string(reasons[advice->reason]));
    json_object_set_new(object, "checked", json_boolean(outcome->check != NULL));
    json_object_set_new(object, "heartbeat", json_string(pair_text(advice->period_ns, text)));
    json_object_set_new(object, "set", json_string(set_text(advice->period_ns, text)));
    return object;
}

static json_t *json_cost(const struct tune_sample *cost)
{
    if (cost->node_ns == 0)
        return json_null();
    json_t *object = json_object();
    double seconds = (double)cost->node_ns / 1e9;
    json_object_set_new(object, "cpu_percent",
                        json_real((double)cost->cpu_ns / (double)cost->node_ns * 100));
    json_object_set_new(object, "bytes_per_s", json_real((double)cost->bytes / seconds));
    json_object_set_new(object, "messages_per_s", json_real((double)cost->beats / seconds));
    return object;
}

void tune_print_json(const struct tune_outcome *outcome)
{
    json_t *object = json_object(), *conditions = json_array(), *stalls = json_object();
    for (int i = 0; i < TUNE_CONDITIONS; i++)
        json_array_append_new(conditions, json_condition(outcome, i));
    json_object_set_new(object, "nodes", json_integer(outcome->nodes));
    json_object_set_new(object, "load", json_integer(outcome->load_per_core));
    json_object_set_new(object, "seconds", json_real((double)outcome->took_ns / 1e9));
    json_object_set_new(object, "machines", json_whole(outcome->machines));
    json_object_set_new(object, "conditions", conditions);
    json_object_set_new(stalls, "longest_ms", json_real((double)outcome->facts.stall_ns / 1e6));
    json_object_set_new(stalls, "realtime", json_boolean(outcome->is_realtime));
    json_object_set_new(object, "stalls", stalls);
    json_object_set_new(object, "margin", json_integer(TUNE_MARGIN));
    json_object_set_new(object, "recommended", json_advice(outcome));
    json_object_set_new(object, "cost_of_a_node", json_cost(&outcome->cost));
    output_json(object);
}
