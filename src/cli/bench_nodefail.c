/* 'muster bench nodefail': from the failure of nodes until the last survivor has read of them and
 * of all their processes. */
#include "cli/args.h"
#include "cli/bench_nodefail_draw.h"
#include "cli/bench_nodefail_rig.h"
#include "cli/bench_stats.h"
#include "cli/commands.h"
#include "cli/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const how_words[] = {"kill", "stop", "cut"};
static const char *const how_done[] = {"killed", "stopped", "cut off"};

struct nodefail {
    struct nodefail_rig rig;
    struct sim_random random;
    uint64_t seed;
    size_t reps;
    bool contiguous, with_each;
    double *detect_ms, *all_told_ms; /* one for each repetition */
    uint64_t missed, wrong;
};

/* ---- what is measured ---- */

static void tell_each(const struct nodefail *n, size_t rep, const mu_slot *victims,
                      const struct nodefail_sample *sample)
{
    fprintf(stderr, "%zu: nodes", rep + 1);
    for (uint32_t i = 0; i < n->rig.count; i++)
        fprintf(stderr, " %u", victims[i]);
    fprintf(stderr,
            ": from %.6f s on, known after %.3f ms, all told after %.3f ms (last: process %u), "
            "missed %llu, false %llu\n",
            (double)sample->from_ns / 1e9, sample->detect_ms, sample->all_told_ms,
            sample->last_rank, (unsigned long long)sample->missed,
            (unsigned long long)sample->wrong);
}

static bool measure_once(struct nodefail *n, size_t rep)
{
    mu_slot victims[NODEFAIL_NODES_MAX];
    struct nodefail_sample sample;
    nodefail_draw(&n->random, n->rig.nodes, n->rig.count, n->contiguous, victims);
    uint64_t phase_ns = sim_random_below(&n->random, n->rig.period_ns);
    if (!nodefail_rig_measure(&n->rig, victims, phase_ns, &sample))
        return false;
    n->detect_ms[rep] = sample.detect_ms;
    n->all_told_ms[rep] = sample.all_told_ms;
    n->missed += sample.missed;
    n->wrong += sample.wrong;
    if (n->with_each)
        tell_each(n, rep, victims, &sample);
    return true;
}

static bool measure(struct nodefail *n)
{
    bool good = true;
    for (size_t rep = 0; good && rep < n->reps; rep++) {
        output_progress("%zu of %zu", rep + 1, n->reps);
        good = measure_once(n, rep);
    }
    output_progress_end();
    return good;
}

/* ---- what is said of it ---- */

/* 'sorted' is, and has at least one value. */
static json_t *figures_json(const struct bench_figures *figures, const double *sorted)
{
    json_t *object = json_object();
    json_object_set_new(object, "median", json_real(figures->median));
    json_object_set_new(object, "p99", json_real(figures->p99));
    json_object_set_new(object, "max", json_real(figures->max));
    json_object_set_new(object, "min", json_real(sorted[0]));
    return object;
}

static void print_json(const struct nodefail *n, const struct bench_figures *detect,
                       const struct bench_figures *all_told)
{
    const struct nodefail_rig *rig = &n->rig;
    json_t *object = json_object();
    json_object_set_new(object, "bench", json_string("nodefail"));
    json_object_set_new(object, "nodes", json_integer(rig->nodes));
    json_object_set_new(object, "procs", json_integer(rig->procs));
    json_object_set_new(object, "period_ms", json_integer((json_int_t)(rig->period_ns / 1000000)));
    json_object_set_new(object, "timeout_ms",
                        json_integer((json_int_t)(rig->timeout_ns / 1000000)));
    json_object_set_new(object, "how", json_string(how_words[rig->how]));
    json_object_set_new(object, "count", json_integer(rig->count));
    json_object_set_new(object, "placement", json_string(n->contiguous ? "contiguous" : "random"));
    json_object_set_new(object, "reps", json_integer((json_int_t)n->reps));
    json_object_set_new(object, "seed", json_integer((json_int_t)n->seed));
    json_object_set_new(object, "detect_ms", figures_json(detect, n->detect_ms));
    json_object_set_new(object, "all_told_ms", figures_json(all_told, n->all_told_ms));
    json_object_set_new(object, "missed", json_integer((json_int_t)n->missed));
    json_object_set_new(object, "false", json_integer((json_int_t)n->wrong));
    output_json(object);
}

static void print_row(const char *what, const struct bench_figures *figures, const double *sorted)
{
    printf("  %-46s %9.3f %9.3f %9.3f %9.3f\n", what, sorted[0], figures->median, figures->p99,
           figures->max);
}

static void print_words(const struct nodefail *n, const struct bench_figures *detect,
                        const struct bench_figures *all_told)
{
    const struct nodefail_rig *rig = &n->rig;
    char last[64];
    snprintf(last, sizeof last, "the last of %u survivors has read all of it",
             (rig->nodes - rig->count) * rig->procs);
    printf(
        "%u nodes x %u processes, heartbeats every %llu ms, timeout %llu ms; %u %s %s, %zu times\n"
        "  %-46s %9s %9s %9s %9s\n",
        rig->nodes, rig->procs, (unsigned long long)(rig->period_ns / 1000000),
        (unsigned long long)(rig->timeout_ns / 1000000), rig->count,
        rig->count == 1 ? "node" : "nodes", how_done[rig->how], n->reps, "ms after that", "min",
        "median", "99 %", "max");
    print_row(rig->count == 1 ? "some daemon knows" : "of each, some daemon knows", detect,
              n->detect_ms);
    print_row(last, all_told, n->all_told_ms);
    printf("  missed %llu, false %llu\n", (unsigned long long)n->missed,
           (unsigned long long)n->wrong);
}

static void print(const struct nodefail *n, bool json)
{
    struct bench_figures detect = bench_figures_of(n->detect_ms, n->reps);
    struct bench_figures all_told = bench_figures_of(n->all_told_ms, n->reps);
    if (json)
        print_json(n, &detect, &all_told);
    else
        print_words(n, &detect, &all_told);
}

/* ---- the command ---- */

static const char about[] =
    "Lets nodes fail at once and takes the time until the last survivor has read, through\n"
    "libmuster, of each of these nodes and of each of their processes.\n"
    "\n"
    "kill: SIGKILL of the daemon; its processes die with it.  stop: SIGSTOP of the daemon and its\n"
    "processes.  cut: all its traffic with other nodes is silently dropped.  Each time daemons "
    "and\n"
    "processes are new; the victims, and when they fail between two heartbeats, are drawn.  All\n"
    "nodes are on this host: times are for its number of cores.\n"
    "\n"
    "missed: events that survivors had not read after 10 s. false: events that survivors read\n"
    "about somebody who lives, twice, or of a process before its node; until a timeout after the\n"
    "last was told.  Exit 1 when there is one of either.";

static enum nodefail_how how_of(const char *word)
{
    enum nodefail_how how = NODEFAIL_KILL;
    while (strcmp(how_words[how], word) != 0)
        how++;
    return how;
}

int cmd_bench_nodefail(int argc, char **argv)
{
    uint64_t nodes = 64, procs = 12, period_ms = 100, timeout_ms = 200, count = 1, reps = 10,
             seed = 1;
    const char *how = "stop", *placement = "random";
    bool json = false, each = false;
    const struct arg args[] = {
        {"nodes", ARG_NUMBER, &nodes, 2, MACHINE_NODES_MAX, "N", "nodes, a daemon on each (64)"},
        {"procs", ARG_NUMBER, &procs, 1, 1024, "P", "processes on each node (12)"},
        {"period-ms", ARG_NUMBER, &period_ms, 1, 60000, "MS", "between two heartbeats (100)"},
        {"timeout-ms", ARG_NUMBER, &timeout_ms, 2, 600000, "MS", "of silence, then dead (200)"},
        {"how", ARG_CHOICE, &how, 0, 0, "kill|stop|cut", "what happens to them (stop)"},
        {"count", ARG_NUMBER, &count, 1, MACHINE_NODES_MAX - 1, "K", "nodes that fail (1)"},
        {"placement", ARG_CHOICE, &placement, 0, 0, "random|contiguous",
         "which: any, or neighbours on the ring (random)"},
        {"reps", ARG_NUMBER, &reps, 1, 10000, "R", "how often (10)"},
        {"seed", ARG_NUMBER, &seed, 0, INT64_MAX, "S", "what is drawn: victims, and when (1)"},
        {"each", ARG_FLAG, &each, 0, 0, NULL, "say each repetition, to standard error"},
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object"},
    };
    const struct command command = {"muster bench nodefail", about, NULL, args,
                                    sizeof args / sizeof args[0]};
    args_parse(&command, argc, argv);
    const char *broken = bench_ring_times_error(period_ms, timeout_ms);
    if (broken != NULL)
        args_fail(&command, "--period-ms %llu --timeout-ms %llu: %s", (unsigned long long)period_ms,
                  (unsigned long long)timeout_ms, broken);
    if (count >= nodes)
        args_fail(&command, "--count %llu leaves no survivor of %llu nodes",
                  (unsigned long long)count, (unsigned long long)nodes);

    static struct nodefail n;
    n.rig.nodes = (uint32_t)nodes;
    n.rig.procs = (uint32_t)procs;
    n.rig.count = (uint32_t)count;
    n.rig.period_ns = period_ms * 1000000;
    n.rig.timeout_ns = timeout_ms * 1000000;
    n.rig.how = how_of(how);
    n.contiguous = strcmp(placement, "contiguous") == 0;
    n.with_each = each;
    n.seed = seed;
    n.reps = reps;
    sim_random_init(&n.random, seed);
    n.detect_ms = calloc(reps, sizeof(double));
    n.all_told_ms = calloc(reps, sizeof(double));
    if (n.detect_ms == NULL || n.all_told_ms == NULL) {
        fprintf(stderr, "%s: %s\n", command.path, strerror(errno));
        return 1;
    }
    bool opened = nodefail_rig_open(&n.rig);
    bool good = opened && measure(&n);
    if (good)
        print(&n, json);
    if (opened)
        nodefail_rig_close(&n.rig);
    free(n.detect_ms);
    free(n.all_told_ms);
    return bench_ring_end(&n.rig.ring, good && n.missed == 0 && n.wrong == 0 ? 0 : 1);
}
