/* Runs a job many times and disturbs its daemons at random moments: SIGSTOP for a while, then
 * SIGCONT, with or without their processes, alone or two neighbours at once; stopped for good;
 * SIGKILL.  While the job starts, runs and ends.
 *
 *     random_stops MUSTER ROLL FOLDER SEED RUNS [CLEAN_MS [TIMES]]
 *
 * TIMES: heartbeats are so many times slower, and so is all that is drawn from them.
 *
 * After each cycle: the launcher has ended in time; nothing is left; every survivor was told
 * exactly once of every dead node and of its processes.  A node that was stopped for longer than
 * its timeout was declared dead; when it went on, its daemon found out and ended its processes.
 * Nobody was declared by anybody who was not killed, nor stopped for longer than timeout - period.
 *
 * A stop is as long as it was, not as long as it was meant to be.  Delays of the whole machine
 * count as part of it (reference.h), and a cycle in which that alone was longer than timeout -
 * period is repeated.  The same seed draws the same plans. */
#define _GNU_SOURCE
#include "reference.h"
#include "stops.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    /* What follows takes 10 s and 10 timeouts at most: for the daemons to be there, and then for
     * the processes; for the last survivor to have heard; for the job to end once it is told to. */
    LIMIT_MS = 10000,
    LIMIT_TIMEOUTS = 10, /* more than the longest stop */
    LOOK_US = 1000,
    TIMES_SLOW = 4 /* without real-time priority */
};

struct counts {
    uint32_t whats[WHATS], whens[WHENS], lengths[LENGTHS];
    uint32_t nodes;                    /* that were stopped and not killed; of these: */
    uint32_t must, must_not, declared; /* be declared; were */
    uint32_t stalled;
};

/* ---- waiting ---- */

static void wait_ns(struct cycle *cycle, uint64_t until_ns)
{
    for (uint64_t now_ns; (now_ns = trial_now_ns()) < until_ns;) {
        uint64_t next_ns = stops_tend(cycle);
        if (next_ns > until_ns)
            next_ns = until_ns;
        if (next_ns > now_ns)
            trial_pause_us((next_ns - now_ns) / 1000 + 1);
    }
    stops_tend(cycle);
}

static void look_at_reference(struct cycle *cycle)
{
    uint64_t lag_ns = reference_lag_ns();
    if (lag_ns > cycle->lag_ns)
        cycle->lag_ns = lag_ns;
}

/* Until it is so, the launcher has ended, or the time is over: then false. */
static bool wait_for(struct cycle *cycle, bool (*is_so)(struct cycle *cycle))
{
    uint64_t until_ns = trial_now_ns() + LIMIT_MS * MS + LIMIT_TIMEOUTS * cycle->timeout_ns;
    while (!trial_has_ended(&cycle->trial)) {
        look_at_reference(cycle);
        if (is_so(cycle))
            return true;
        if (trial_now_ns() >= until_ns)
            return false;
        wait_ns(cycle, trial_now_ns() + LOOK_US * 1000);
    }
    return true;
}

static void do_phase(struct cycle *cycle, enum when when)
{
    for (uint32_t i = 0; i < cycle->action_count; i++) {
        const struct action *action = &cycle->actions[i];
        if (action->when != when)
            continue;
        wait_ns(cycle, trial_now_ns() + action->after_ns);
        if (!trial_has_ended(&cycle->trial))
            stops_carry_out(cycle, action);
    }
}

/* ---- one cycle ---- */

static bool is_disturbed(const struct cycle *cycle)
{
    bool disturbed = cycle->stop_count > 0;
    for (uint32_t n = 0; n < cycle->trial.nodes; n++)
        disturbed |= cycle->nodes[n].killed;
    return disturbed;
}

static int start(struct cycle *cycle)
{
    char heartbeat[64], report[4096];
    snprintf(heartbeat, sizeof heartbeat, "%" PRIu64 "ms,%" PRIu64 "ms", cycle->period_ns / MS,
             cycle->timeout_ns / MS);
    snprintf(report, sizeof report, "%s/report", cycle->trial.folder);
    const char *const flags[] = {"--on-failure", "continue", "--heartbeat", heartbeat,
                                 "--report",     report,     "--verbose",   NULL};
    int error = trial_start(&cycle->trial, flags);
    return error != 0 ? stops_fail(cycle, strerror(error), error) : 0;
}

/* Up to the moment when everybody knows all. */
static int disturb(struct cycle *cycle)
{
    if (!wait_for(cycle, stops_find_daemons))
        return stops_fail(cycle, cycle->why, cycle->number);
    do_phase(cycle, STARTING);
    if (!wait_for(cycle, stops_are_up))
        return stops_fail(cycle, cycle->why, cycle->number);
    wait_ns(cycle, trial_now_ns() + 2 * cycle->period_ns); /* all have beaten since they began */
    do_phase(cycle, RUNNING);
    if (!wait_for(cycle, stops_are_settled))
        return stops_fail(cycle, cycle->why, cycle->number);
    wait_ns(cycle, trial_now_ns() + cycle->timeout_ns); /* who is wrongly suspected is found now */
    if (!wait_for(cycle, stops_are_settled))
        return stops_fail(cycle, cycle->why, cycle->number);
    if (trial_has_ended(&cycle->trial) && !stops_may_end_early(cycle))
        return stops_fail(cycle, "the launcher has ended too soon, status", cycle->trial.status);
    return 0;
}

static bool never(struct cycle *cycle)
{
    cycle->why = "the launcher has not ended, its process:";
    cycle->number = cycle->trial.launcher;
    return false;
}

static int do_cycle(struct cycle *cycle)
{
    reference_lag_ns();
    if (start(cycle) != 0 || disturb(cycle) != 0)
        return 1;
    for (uint32_t n = 0; n < cycle->trial.nodes; n++)
        cycle->nodes[n].was_dead = cycle->nodes[n].dead;
    bool all_up = !trial_has_ended(&cycle->trial);
    trial_say_over(&cycle->trial);
    do_phase(cycle, ENDING);
    if (!wait_for(cycle, stops_are_over) || !wait_for(cycle, never))
        return stops_fail(cycle, cycle->why, cycle->number);
    look_at_reference(cycle);
    long number;
    const char *left = trial_left(&cycle->trial, &number);
    if (left != NULL)
        return stops_fail(cycle, left, number);
    if (!is_disturbed(cycle) && cycle->trial.status != 0)
        return stops_fail(cycle, "not disturbed, but the launcher has ended with status",
                          cycle->trial.status);
    return all_up ? stops_check(cycle) : stops_check_log(cycle);
}

/* ---- all of them ---- */

static void count(const struct cycle *cycle, struct counts *counts)
{
    for (uint32_t i = 0; i < cycle->action_count; i++) {
        const struct action *action = &cycle->actions[i];
        counts->whats[action->what]++;
        counts->whens[action->when]++;
        if (action->what != KILL)
            counts->lengths[action->length]++;
    }
    for (uint32_t n = 0; n < cycle->trial.nodes; n++) {
        bool stopped = false;
        for (uint32_t i = 0; i < cycle->stop_count; i++)
            stopped |= cycle->stops[i].slot == n;
        if (!stopped || cycle->nodes[n].killed)
            continue;
        counts->nodes++;
        counts->must += stops_must_be_declared(cycle, n);
        counts->must_not += !stops_may_be_declared(cycle, n);
        counts->declared += cycle->nodes[n].dead;
    }
}

static void print_counts(const struct counts *counts)
{
    printf("planned:");
    for (int i = 0; i < WHATS; i++)
        printf(" %u %s%s", counts->whats[i], what_words[i], i + 1 < WHATS ? "," : ";");
    for (int i = 0; i < WHENS; i++)
        printf(" %u while %s%s", counts->whens[i], when_words[i], i + 1 < WHENS ? "," : ";");
    for (int i = 0; i < LENGTHS; i++)
        printf(" %u %s%s", counts->lengths[i], length_words[i], i + 1 < LENGTHS ? "," : "\n");
    printf("nodes that were stopped, and not killed: %u; for so long that they must be declared: "
           "%u; too short for that: %u; declared: %u\n",
           counts->nodes, counts->must, counts->must_not, counts->declared);
}

int main(int argc, char **argv)
{
    if (argc < 6 || argc > 8) {
        fprintf(stderr, "usage: random_stops MUSTER ROLL FOLDER SEED RUNS [CLEAN_MS [TIMES]]\n");
        return 2;
    }
    uint64_t seed = strtoull(argv[4], NULL, 10);
    uint32_t runs = (uint32_t)atoi(argv[5]);
    uint64_t times = argc > 7 ? strtoull(argv[7], NULL, 10) : 1;
    if (!reference_start() && times < TIMES_SLOW)
        times = TIMES_SLOW;
    struct counts counts = {0};
    printf("seed %" PRIu64 ", %u cycles, heartbeats times %" PRIu64 "\n", seed, runs, times);
    for (uint32_t i = 0; i < runs;) {
        static struct cycle cycle;
        memset(&cycle, 0, sizeof cycle);
        struct trial *trial = &cycle.trial;
        for (uint32_t n = 0; n < TRIAL_NODES_MAX; n++)
            cycle.nodes[n].daemon = -1;
        trial->muster = argv[1];
        trial->roll = argv[2];
        trial->clean_ms = argc > 6 ? strtoull(argv[6], NULL, 10) : 2000;
        trial_seed(seed, i);
        snprintf(trial->folder, sizeof trial->folder, "%s/cycle-%u", argv[3], i);
        snprintf(trial->mark, sizeof trial->mark, "MUSTER_TEST_RUN=%d-%u.", (int)getpid(), i);
        stops_plan(&cycle, times);
        int failed = do_cycle(&cycle);
        stops_close(&cycle);
        if (failed) {
            fprintf(stderr, "cycle %u of seed %" PRIu64 "\n", i, seed);
            trial_end(trial);
            return failed;
        }
        trial_remove_folder(trial);
        if (stops_is_stalled(&cycle)) {
            printf("cycle %u: the machine stood still for %" PRIu64 " ms: once more\n", i,
                   cycle.lag_ns / MS);
            if (++counts.stalled > runs / 4 + 2) {
                fprintf(stderr, "FAILED: the machine stood still too often\n");
                return 1;
            }
            continue;
        }
        count(&cycle, &counts);
        i++;
    }
    print_counts(&counts);
    printf("%u cycles, %u more in which the machine stood still: none hung, nothing left, every "
           "survivor told once, nobody declared who was not killed or stopped for long\n",
           runs, counts.stalled);
    return 0;
}
