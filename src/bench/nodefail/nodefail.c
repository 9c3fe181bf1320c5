/* 'muster bench nodefail': from the failure of nodes until the last survivor has read of them and
 * of all their processes. */
#include "command/args.h"
#include "bench/nodefail/rig.h"
#include "rig/stats.h"
#include "command/commands.h"
#include "command/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const how_words[] = {"kill", "stop", "cut"};
static const char *const how_done[] = {"killed", "stopped", "cut off"};

struct nodefail {
    struct nodefail_rig rig;
    struct nodefail_tally tally;
    struct sim_random random;
    uint64_t seed;
    bool contiguous, with_each;
};

static const char path[] = "muster bench nodefail";

/* ---- what is measured ---- */

static void tell_each(const struct nodefail *n, size_t rep, const mu_slot *victims,
                      const struct nodefail_sample *sample)
{
    fprintf(stderr, "%zu: nodes", rep + 1);
    for (uint32_t i = 0; i < n->rig.count; i++)
        fprintf(stderr, " %u", victims[i]);
    fprintf(stderr,
            ": from %.6f s on, known after %.3f ms, on each node after %.3f ms, all told after "
            "%.3f ms (last: process %u), the host stood still for %.3f ms, missed %llu, false "
            "%llu\n",
            (double)sample->from_ns / 1e9, sample->detect_ms, sample->each_node_ms,
            sample->all_told_ms, sample->last_rank, sample->host_stall_ms,
            (unsigned long long)sample->missed, (unsigned long long)sample->wrong);
}

static void tell_excused(const struct nodefail *n, size_t rep, const struct nodefail_sample *sample)
{
    fprintf(stderr,
            "%s: repetition %zu does not count: the host stood still for %.3f ms, more than %.0f "
            "ms; excused: missed %llu, false %llu\n",
            path, rep + 1, (double)sample->stall_ns / 1e6, (double)n->tally.limit_ns / 1e6,
            (unsigned long long)sample->missed, (unsigned long long)sample->wrong);
}

static void tell_early(size_t rep, const struct nodefail_sample *sample)
{
    fprintf(stderr,
            "%s: repetition %zu has no figures: %llu daemons ended before any was to fail; they "
            "count as false\n",
            path, rep + 1, (unsigned long long)sample->wrong);
}

/* Until it counts, or never will. */
static enum nodefail_next measure_one(struct nodefail *n, size_t rep)
{
    mu_slot victims[RIG_NODES_MAX];
    struct nodefail_sample sample;
    enum nodefail_next next = NODEFAIL_AGAIN;
    nodefail_draw(&n->random, n->rig.nodes, n->rig.count, n->contiguous, victims);
    uint64_t phase_ns = sim_random_below(&n->random, n->rig.period_ns);
    while (next == NODEFAIL_AGAIN) {
        output_progress("%zu of %zu, %zu repeated", rep + 1, n->tally.reps, n->tally.repeated);
        nodefail_rig_measure(&n->rig, victims, phase_ns, &sample);
        if (n->rig.rig.signal != 0)
            return NODEFAIL_CANNOT;
        next = nodefail_tally_take(&n->tally, &sample);
        if (next == NODEFAIL_AGAIN || next == NODEFAIL_TOO_STILL)
            tell_excused(n, rep, &sample);
    }
    if (next == NODEFAIL_TOO_STILL)
        fprintf(stderr, "%s: %zu were repeated already, and with --reps %zu no more are\n", path,
                n->tally.repeated, n->tally.reps);
    else if (next == NODEFAIL_NEXT && sample.end == NODEFAIL_ENDED_EARLY)
        tell_early(rep, &sample);
    else if (next == NODEFAIL_NEXT && n->with_each)
        tell_each(n, rep, victims, &sample);
    return next;
}

static enum nodefail_next measure(struct nodefail *n)
{
    enum nodefail_next next = NODEFAIL_NEXT;
    for (size_t rep = 0; next == NODEFAIL_NEXT && rep < n->tally.reps; rep++)
        next = measure_one(n, rep);
    output_progress_end();
    return next;
}

/* ---- what is said of it ---- */

static const char *const figure_names[NODEFAIL_FIGURES] = {
    [NODEFAIL_DETECT] = "detect_ms",
    [NODEFAIL_EACH_NODE] = "each_node_ms",
    [NODEFAIL_ALL_TOLD] = "all_told_ms",
    [NODEFAIL_HOST_STALL] = "host_stall_ms",
};

/* 'sorted' is; null without any. */
static json_t *figures_json(const struct bench_figures *figures, const double *sorted, size_t count)
{
    if (count == 0)
        return json_null();
    json_t *object = json_object();
    json_object_set_new(object, "median", json_real(figures->median));
    json_object_set_new(object, "p99", json_real(figures->p99));
    json_object_set_new(object, "max", json_real(figures->max));
    json_object_set_new(object, "min", json_real(sorted[0]));
    return object;
}

static void print_json(const struct nodefail *n, const struct bench_figures *figures)
{
    const struct nodefail_rig *rig = &n->rig;
    const struct nodefail_tally *tally = &n->tally;
    json_t *object = json_object(), *stalls = json_object();
    json_object_set_new(object, "bench", json_string("nodefail"));
    json_object_set_new(object, "nodes", json_integer(rig->nodes));
    json_object_set_new(object, "procs", json_integer(rig->procs));
    json_object_set_new(object, "period_ms", json_integer((json_int_t)(rig->period_ns / 1000000)));
    json_object_set_new(object, "timeout_ms",
                        json_integer((json_int_t)(rig->timeout_ns / 1000000)));
    json_object_set_new(object, "how", json_string(how_words[rig->how]));
    json_object_set_new(object, "count", json_integer(rig->count));
    json_object_set_new(object, "placement", json_string(n->contiguous ? "contiguous" : "random"));
    json_object_set_new(object, "reps", json_integer((json_int_t)tally->taken));
    json_object_set_new(object, "seed", json_integer((json_int_t)n->seed));
    for (int i = 0; i < NODEFAIL_FIGURES; i++)
        json_object_set_new(object, figure_names[i],
                            figures_json(&figures[i], tally->ms[i], tally->taken));
    json_object_set_new(object, "missed", json_integer((json_int_t)tally->missed));
    json_object_set_new(object, "false", json_integer((json_int_t)tally->wrong));
    json_object_set_new(stalls, "repeated", json_integer((json_int_t)tally->repeated));
    json_object_set_new(stalls, "longest_ms", json_real((double)tally->longest_ns / 1e6));
    json_object_set_new(object, "stalls", stalls);
    output_json(object);
}

static void print_words(const struct nodefail *n, const struct bench_figures *figures)
{
    const struct nodefail_rig *rig = &n->rig;
    const struct nodefail_tally *tally = &n->tally;
    char last[64];
    const char *const rows[NODEFAIL_FIGURES] = {
        [NODEFAIL_DETECT] = rig->count == 1 ? "some daemon knows" : "of each, some daemon knows",
        [NODEFAIL_EACH_NODE] = "on each node a process has read all of it",
        [NODEFAIL_ALL_TOLD] = last,
        [NODEFAIL_HOST_STALL] = "meanwhile the host stood still, at a time, for",
    };
    snprintf(last, sizeof last, "the last of %u survivors has read all of it",
             (rig->nodes - rig->count) * rig->procs);
    printf(
        "%u nodes x %u processes, heartbeats every %llu ms, timeout %llu ms; %u %s %s, %zu times\n"
        "  %-46s %9s %9s %9s %9s\n",
        rig->nodes, rig->procs, (unsigned long long)(rig->period_ns / 1000000),
        (unsigned long long)(rig->timeout_ns / 1000000), rig->count,
        rig->count == 1 ? "node" : "nodes", how_done[rig->how], tally->taken, "ms after that",
        "min", "median", "99 %", "max");
    for (int i = 0; i < NODEFAIL_FIGURES && tally->taken > 0; i++)
        printf("  %-46s %9.3f %9.3f %9.3f %9.3f\n", rows[i], tally->ms[i][0], figures[i].median,
               figures[i].p99, figures[i].max);
    printf("  missed %llu, false %llu\n", (unsigned long long)tally->missed,
           (unsigned long long)tally->wrong);
    printf("  the host stood still for at most %.3f ms; repetitions with more than %.0f ms, which "
           "were repeated: %zu\n",
           (double)tally->longest_ns / 1e6, (double)tally->limit_ns / 1e6, tally->repeated);
}

static void print(const struct nodefail *n, bool json)
{
    struct bench_figures figures[NODEFAIL_FIGURES];
    for (int i = 0; i < NODEFAIL_FIGURES; i++)
        figures[i] = bench_figures_of(n->tally.ms[i], n->tally.taken);
    if (json)
        print_json(n, figures);
    else
        print_words(n, figures);
}

/* ---- the command ---- */

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
        {"nodes", ARG_NUMBER, &nodes, 2, MACHINE_NODES_MAX, "N", "nodes [default: 64]"},
        {"procs", ARG_NUMBER, &procs, 1, 1024, "P", "processes per node [default: 12]"},
        {"period-ms", ARG_NUMBER, &period_ms, 1, 60000, "MS", "heartbeat period [default: 100]"},
        {"timeout-ms", ARG_NUMBER, &timeout_ms, 2, 600000, "MS",
         "heartbeat timeout [default: 200]"},
        {"how", ARG_CHOICE, &how, 0, 0, "kill|stop|cut", "how they fail [default: stop]"},
        {"count", ARG_NUMBER, &count, 1, MACHINE_NODES_MAX - 1, "K",
         "nodes that fail [default: 1]"},
        {"placement", ARG_CHOICE, &placement, 0, 0, "random|contiguous",
         "any nodes, or neighbors on the ring [default: random]"},
        {"reps", ARG_NUMBER, &reps, 1, 10000, "R", "repetitions [default: 10]"},
        {"seed", ARG_NUMBER, &seed, 0, INT64_MAX, "S",
         "random seed for victims and times [default: 1]"},
        {"each", ARG_FLAG, &each, 0, 0, NULL, "each repetition, on standard error"},
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object"},
    };
    const struct command command = {
        .path = path,
        .about = "Measure the time from the failure of nodes to the last notification.",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .examples = "muster bench nodefail --nodes 16 --how stop",
        .exits = "0 success   1 a notification was missed, or was false   2 usage error",
    };
    args_parse(&command, argc, argv);
    const char *broken = rig_times_error(period_ms, timeout_ms);
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
    n.tally.reps = reps;
    n.tally.limit_ns = n.rig.timeout_ns - n.rig.period_ns;
    sim_random_init(&n.random, seed);
    if (!nodefail_tally_make(&n.tally)) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 1;
    }
    bool opened = nodefail_rig_open(&n.rig);
    enum nodefail_next end = opened ? measure(&n) : NODEFAIL_CANNOT;
    if (end != NODEFAIL_CANNOT)
        print(&n, json);
    if (opened)
        nodefail_rig_close(&n.rig);
    nodefail_tally_free(&n.tally);
    bool good = end == NODEFAIL_NEXT && n.tally.missed == 0 && n.tally.wrong == 0;
    return rig_end(&n.rig.rig, good ? 0 : 1);
}
