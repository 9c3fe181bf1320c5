/* Draws and prints plans. */
#include "stops.h"

#include <inttypes.h>
#include <stdio.h>

const char *const what_words[WHATS] = {"stop", "stop with processes", "stop of two", "kill"};
const char *const when_words[WHENS] = {"starting", "running", "ending"};
const char *const length_words[LENGTHS] = {"short", "between", "long", "for good"};

static uint64_t draw_between_ns(uint64_t low_ns, uint64_t high_ns)
{
    return low_ns + trial_draw((uint32_t)((high_ns - low_ns) / 1000)) * UINT64_C(1000);
}

static void draw_length(const struct cycle *cycle, struct action *action)
{
    uint64_t timeout_ns = cycle->timeout_ns, spare_ns = timeout_ns - cycle->period_ns;
    uint32_t kind = trial_draw(12);
    if (kind < 5) {
        action->length = SHORT;
        action->for_ns = draw_between_ns(MS, spare_ns * 9 / 10);
    } else if (kind < 7) {
        action->length = BETWEEN;
        action->for_ns = draw_between_ns(spare_ns * 9 / 10, timeout_ns * 12 / 10);
    } else if (kind < 11 || action->when == STARTING) {
        action->length = LONG;
        action->for_ns = draw_between_ns(timeout_ns * 13 / 10,
                                         trial_draw(4) == 0 ? timeout_ns * 8 : timeout_ns * 4);
    } else {
        action->length = FOR_GOOD;
        action->for_ns = FOR_GOOD_NS;
    }
}

static void draw_action(const struct cycle *cycle, struct action *action)
{
    uint32_t what = trial_draw(10), when = trial_draw(10);
    action->what = what < 4 ? STOP : what < 6 ? STOP_WITH_PROCESSES : what < 8 ? STOP_TWO : KILL;
    action->when = when < 2 ? STARTING : when < 8 ? RUNNING : ENDING;
    action->slot = trial_draw(cycle->trial.nodes);
    uint64_t most_ns = action->when == RUNNING ? 3 * cycle->timeout_ns : 20 * MS;
    action->after_ns = draw_between_ns(0, most_ns);
    if (action->what != KILL)
        draw_length(cycle, action);
}

void stops_plan(struct cycle *cycle, uint64_t times)
{
    static const uint64_t heartbeats_ms[][2] = {{20, 80}, {50, 200}, {100, 200}, {25, 150}};
    uint32_t kind = trial_draw(sizeof heartbeats_ms / sizeof heartbeats_ms[0]);
    cycle->period_ns = heartbeats_ms[kind][0] * MS * times;
    cycle->timeout_ns = heartbeats_ms[kind][1] * MS * times;
    cycle->trial.nodes = 3 + trial_draw(TRIAL_NODES_MAX - 2);
    cycle->trial.ranks = cycle->trial.nodes + trial_draw(cycle->trial.nodes + 1);
    /* Mostly few: of one that is stopped while others are, less can be said. */
    cycle->action_count = 1 + trial_draw(trial_draw(3) == 0 ? ACTIONS_MAX : 2);
    for (uint32_t i = 0; i < cycle->action_count; i++)
        draw_action(cycle, &cycle->actions[i]);
}

static void print_plan(const struct cycle *cycle)
{
    fprintf(stderr,
            "  %u nodes, %u ranks, heartbeat %" PRIu64 "ms,%" PRIu64 "ms, worst lag of the "
            "machine %" PRIu64 " us\n",
            cycle->trial.nodes, cycle->trial.ranks, cycle->period_ns / MS, cycle->timeout_ns / MS,
            cycle->lag_ns / 1000);
    for (uint32_t i = 0; i < cycle->action_count; i++) {
        const struct action *action = &cycle->actions[i];
        fprintf(stderr, "  planned: %s of node %u, %s, after %" PRIu64 " us",
                what_words[action->what], action->slot, when_words[action->when],
                action->after_ns / 1000);
        if (action->what != KILL)
            fprintf(stderr, ", %s", length_words[action->length]);
        if (action->what != KILL && action->length != FOR_GOOD)
            fprintf(stderr, ": %" PRIu64 " us", action->for_ns / 1000);
        fprintf(stderr, "\n");
    }
    for (uint32_t i = 0; i < cycle->stop_count; i++) {
        const struct stop *stop = &cycle->stops[i];
        fprintf(stderr, "  done: node %u stopped", stop->slot);
        if (stop->over)
            fprintf(stderr, " for %" PRIu64 " us, surely %" PRIu64 " us",
                    (stop->until_ns - stop->from_ns) / 1000,
                    (stop->ending_ns - stop->begun_ns) / 1000);
        fprintf(stderr, "\n");
    }
    for (uint32_t n = 0; n < cycle->trial.nodes; n++)
        if (cycle->nodes[n].killed)
            fprintf(stderr, "  done: node %u killed\n", n);
}

int stops_fail(const struct cycle *cycle, const char *what, long number)
{
    fprintf(stderr, "FAILED: %s %ld, see %s\n", what, number, cycle->trial.folder);
    print_plan(cycle);
    return 1;
}
