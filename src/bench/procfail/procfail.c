/* 'muster bench procfail': from the SIGKILL of one process until the last survivor has read it. */
#include "command/args.h"
#include "bench/procfail/rig.h"
#include "bench/procfail/stages.h"
#include "rig/stats.h"
#include "command/commands.h"
#include "command/output.h"
#include "sim/base/random.h"

#include <stdlib.h>

/* One value for each repetition. */
struct rows {
    double *detect, *daemons;
    double *last[BENCH_KINDS]; /* until the last survivor had read it */
};

struct procfail {
    struct bench_rig rig;
    struct sim_random random;
    uint64_t seed;
    size_t reps;
    uint32_t *nodes; /* where the next victims are: all nodes once before one comes twice */
    struct rows rows;
    double *pss_kib; /* of each daemon */
    struct bench_stages stages;
    bool with_parts, with_stages, with_each;
    uint64_t missed, wrong;
};

static bool make(struct procfail *p)
{
    uint32_t nodes = p->rig.nodes;
    p->nodes = calloc(nodes, sizeof *p->nodes);
    p->pss_kib = calloc(nodes, sizeof *p->pss_kib);
    p->rows.detect = calloc(p->reps, sizeof(double));
    p->rows.daemons = calloc(p->reps, sizeof(double));
    bool is_ok =
        p->nodes != NULL && p->pss_kib != NULL && p->rows.detect != NULL && p->rows.daemons != NULL;
    for (int kind = 0; kind < BENCH_KINDS; kind++) {
        p->rows.last[kind] = calloc(p->reps, sizeof(double));
        is_ok = is_ok && p->rows.last[kind] != NULL;
    }
    is_ok = is_ok && bench_stages_make(&p->stages, p->reps, bench_rig_size(&p->rig)) == 0;
    if (!is_ok)
        fprintf(stderr, "muster bench procfail: no memory for %zu repetitions\n", p->reps);
    return is_ok;
}

static void unmake(struct procfail *p)
{
    free(p->nodes);
    free(p->pss_kib);
    free(p->rows.detect);
    free(p->rows.daemons);
    for (int kind = 0; kind < BENCH_KINDS; kind++)
        free(p->rows.last[kind]);
    bench_stages_free(&p->stages);
}

/* ---- what is measured ---- */

static uint32_t draw_victim(struct procfail *p, size_t rep)
{
    uint32_t nodes = p->rig.nodes, at = (uint32_t)(rep % nodes);
    if (at == 0)
        for (uint32_t i = 0; i < nodes; i++)
            p->nodes[i] = i;
    uint32_t other = at + (uint32_t)sim_random_below(&p->random, nodes - at);
    uint32_t node = p->nodes[other];
    p->nodes[other] = p->nodes[at];
    p->nodes[at] = node;
    return node * p->rig.procs + (uint32_t)sim_random_below(&p->random, p->rig.procs);
}

/* Writes the kinds in the order in which they are measured; returns how many there are. */
static uint32_t draw_order(struct procfail *p, enum bench_kind order[BENCH_KINDS])
{
    uint32_t count = p->rig.can_realtime ? BENCH_KINDS : BENCH_KINDS - 1; /* that is the last */
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (uint32_t)sim_random_below(&p->random, i + 1);
        order[i] = order[at];
        order[at] = (enum bench_kind)i;
    }
    return count;
}

static void keep(struct procfail *p, size_t rep, const struct bench_sample samples[BENCH_KINDS])
{
    const struct bench_rig *rig = &p->rig;
    uint64_t killed_ns = samples[BENCH_DEATH].from_ns, last_ns = rig->seen_ns;
    uint64_t from_ns[BENCH_KINDS];
    for (uint32_t i = 0; i < rig->nodes; i++)
        if (rig->told[i].ns > last_ns)
            last_ns = rig->told[i].ns;
    p->rows.detect[rep] = ((double)rig->seen_ns - (double)killed_ns) / 1e6;
    p->rows.daemons[rep] = ((double)last_ns - (double)killed_ns) / 1e6;
    for (int kind = 0; kind < BENCH_KINDS; kind++) {
        p->rows.last[kind][rep] = samples[kind].last_ms;
        p->missed += samples[kind].missed;
        from_ns[kind] = samples[kind].from_ns;
    }
    bench_stages_add(&p->stages, rig, from_ns);
}

static void weigh_daemons(struct procfail *p)
{
    for (uint32_t i = 0; i < p->rig.nodes; i++)
        p->pss_kib[i] = bench_pss_kib(machine_daemon(p->rig.rig.machine, i));
}

/* In seconds of CLOCK_MONOTONIC, as perf has them with --clockid: to cut a profile out. */
static void tell_each(const struct procfail *p, const char *what, const struct bench_sample *sample)
{
    double from_s = (double)sample->from_ns / 1e9;
    if (p->with_each)
        fprintf(stderr, "%s %.6f %.6f %.3f ms\n", what, from_s, from_s + sample->last_ms / 1e3,
                sample->last_ms);
}

static bool measure_in_order(struct procfail *p, struct bench_sample samples[BENCH_KINDS])
{
    static const char *const names[BENCH_KINDS] = {
        [BENCH_DEATH] = "death", [BENCH_BARE] = "bare", [BENCH_BARE_REALTIME] = "bare-realtime"};
    const struct rig_page *page = p->rig.page;
    for (uint32_t i = 0; i < page->order_count; i++) {
        enum bench_kind kind = page->order[i];
        if (!bench_rig_measure(&p->rig, kind, &samples[kind]))
            return false;
        if (kind == BENCH_DEATH && !bench_rig_reported(&p->rig))
            return false;
        tell_each(p, names[kind], &samples[kind]);
    }
    return rig_pass_ms(&p->rig.rig, BENCH_SETTLE_MS);
}

/* All measurements, with processes that are new, so that each has the same number of survivors
 * whatever died before. */
static bool measure_once(struct procfail *p, size_t rep)
{
    struct bench_sample samples[BENCH_KINDS] = {0};
    enum bench_kind order[BENCH_KINDS] = {0};
    uint32_t order_count = draw_order(p, order), victim = draw_victim(p, rep);
    if (!bench_rig_start(&p->rig, victim, order, order_count, p->with_parts) ||
        !bench_rig_ready(&p->rig) || !measure_in_order(p, samples))
        return false;
    keep(p, rep, samples);
    if (rep + 1 == p->reps)
        weigh_daemons(p);
    if (!rig_stop_clients(&p->rig.rig))
        return false;
    /* Last, because the end of the job must be no news to anybody either. */
    for (uint32_t i = 0; i < p->rig.page->size; i++)
        p->wrong += p->rig.page->slots[i].wrong;
    return true;
}

static bool measure(struct procfail *p)
{
    for (size_t rep = 0; rep < p->reps; rep++) {
        output_progress("%zu of %zu", rep + 1, p->reps);
        if (!measure_once(p, rep)) {
            output_progress_end();
            return false;
        }
    }
    output_progress_end();
    return true;
}

/* ---- what is said of it ---- */

struct result {
    struct bench_figures detect, daemons, last[BENCH_KINDS], pss;
    double ratio[BENCH_KINDS]; /* of the death to this */
};

static struct result result_of(struct procfail *p)
{
    struct result result = {
        .detect = bench_figures_of(p->rows.detect, p->reps),
        .daemons = bench_figures_of(p->rows.daemons, p->reps),
        .pss = bench_figures_of(p->pss_kib, p->rig.nodes),
    };
    for (int kind = 0; kind < BENCH_KINDS; kind++) {
        result.last[kind] = bench_figures_of(p->rows.last[kind], p->reps);
        result.ratio[kind] = result.last[BENCH_DEATH].median / result.last[kind].median;
    }
    return result;
}

/* Daemons guard a key, so that only root may look at them. */
static json_t *pss_json(const struct bench_figures *pss)
{
    if (pss->median == 0)
        return json_null();
    json_t *object = json_object();
    json_object_set_new(object, "median", json_real(pss->median));
    json_object_set_new(object, "max", json_real(pss->max));
    return object;
}

static void print_json(struct procfail *p, const struct result *result)
{
    bool can = p->rig.can_realtime;
    json_t *object = json_object();
    json_object_set_new(object, "bench", json_string("procfail"));
    json_object_set_new(object, "nodes", json_integer(p->rig.nodes));
    json_object_set_new(object, "procs", json_integer(p->rig.procs));
    json_object_set_new(object, "reps", json_integer((json_int_t)p->reps));
    json_object_set_new(object, "seed", json_integer((json_int_t)p->seed));
    json_object_set_new(object, "parts", json_boolean(p->with_parts));
    json_object_set_new(object, "detect_ms", bench_figures_json(&result->detect));
    json_object_set_new(object, "daemon_all_ms", bench_figures_json(&result->daemons));
    json_object_set_new(object, "all_told_ms", bench_figures_json(&result->last[BENCH_DEATH]));
    json_object_set_new(object, "bare_ms", bench_figures_json(&result->last[BENCH_BARE]));
    json_object_set_new(object, "ratio", json_real(result->ratio[BENCH_BARE]));
    json_object_set_new(object, "bare_realtime_ms",
                        can ? bench_figures_json(&result->last[BENCH_BARE_REALTIME]) : json_null());
    json_object_set_new(object, "ratio_realtime",
                        can ? json_real(result->ratio[BENCH_BARE_REALTIME]) : json_null());
    json_object_set_new(object, "missed", json_integer((json_int_t)p->missed));
    json_object_set_new(object, "false", json_integer((json_int_t)p->wrong));
    json_object_set_new(object, "pss_kib", pss_json(&result->pss));
    if (p->with_stages)
        json_object_set_new(object, "stages", bench_stages_json(&p->stages));
    output_json(object);
}

static void print_row(const char *name, const struct bench_figures *figures)
{
    printf("  %-50s %10.3f %10.3f %10.3f\n", name, figures->median, figures->p99, figures->max);
}

static void print_words(struct procfail *p, const struct result *result)
{
    char title[64], last[64];
    snprintf(title, sizeof title, "%u nodes x %u processes, %zu deaths, ms", p->rig.nodes,
             p->rig.procs, p->reps);
    snprintf(last, sizeof last, "kill -> read by the last of %u survivors",
             bench_rig_size(&p->rig) - 1);
    printf("%-52s %10s %10s %10s\n", title, "median", "99 %", "max");
    print_row("kill -> seen by its daemon", &result->detect);
    print_row("kill -> told by the last daemon", &result->daemons);
    print_row(last, &result->last[BENCH_DEATH]);
    print_row("bare sockets: sent -> read by the last of them", &result->last[BENCH_BARE]);
    if (p->rig.can_realtime)
        print_row("the same with the daemons' priority", &result->last[BENCH_BARE_REALTIME]);
    else
        printf("  real-time priority is not permitted here, to daemons and relays alike\n");
    printf("  ratio %.3f", result->ratio[BENCH_BARE]);
    if (p->rig.can_realtime)
        printf(", with the daemons' priority %.3f", result->ratio[BENCH_BARE_REALTIME]);
    printf(", missed %llu, false %llu\n", (unsigned long long)p->missed,
           (unsigned long long)p->wrong);
    if (result->pss.median > 0)
        printf("  a daemon takes %.0f KiB of memory, at most %.0f (Pss)\n", result->pss.median,
               result->pss.max);
    if (p->with_stages)
        bench_stages_print(&p->stages);
}

int cmd_bench_procfail(int argc, char **argv)
{
    uint64_t nodes = 64, procs = 12, reps = 30, seed = 1;
    bool json = false, stages = false, each = false, parts = false;
    const struct arg args[] = {
        {"nodes", ARG_NUMBER, &nodes, 1, MACHINE_NODES_MAX, "N", "nodes [default: 64]"},
        {"procs", ARG_NUMBER, &procs, 1, BENCH_CLIENTS_MAX, "P",
         "processes per node [default: 12]"},
        {"reps", ARG_NUMBER, &reps, 1, 10000, "R", "repetitions [default: 30]"},
        {"seed", ARG_NUMBER, &seed, 0, INT64_MAX, "S",
         "random seed for victims and order [default: 1]"},
        {"parts", ARG_FLAG, &parts, 0, 0, NULL,
         "processes bound to their node's part of this host"},
        {"stages", ARG_FLAG, &stages, 0, 0, NULL, "time by stage"},
        {"each", ARG_FLAG, &each, 0, 0, NULL, "each repetition, on standard error"},
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object"},
    };
    const struct command command = {
        .path = "muster bench procfail",
        .about = "Measure the time from the failure of a process to the last notification.",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .examples = "muster bench procfail --nodes 16 --procs 2",
        .exits = "0 success   1 a notification was missed, or was false   2 usage error",
    };
    args_parse(&command, argc, argv);
    if (nodes * procs < 2)
        args_fail(&command, "--nodes 1 needs --procs of at least 2, to leave a survivor");

    static struct procfail p;
    p.rig.nodes = (uint32_t)nodes;
    p.rig.procs = (uint32_t)procs;
    p.with_parts = parts;
    p.seed = seed;
    p.reps = reps;
    p.with_stages = stages;
    p.with_each = each;
    sim_random_init(&p.random, seed);
    bool is_ok = make(&p) && bench_rig_make(&p.rig, true) && measure(&p);
    if (is_ok) {
        struct result result = result_of(&p);
        if (json)
            print_json(&p, &result);
        else
            print_words(&p, &result);
    }
    bench_rig_free(&p.rig);
    unmake(&p);
    return rig_end(&p.rig.rig, is_ok && p.missed == 0 && p.wrong == 0 ? 0 : 1);
}
