/* 'muster bench accuracy': nobody dies, so every verdict is false. */
#include "command/args.h"
#include "rig/load.h"
#include "rig/watch.h"
#include "rig/page.h"
#include "rig/stall.h"
#include "command/commands.h"
#include "command/output.h"
#include "host/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOOK_MS = 5,
    STARTS_S_MAX = 600, /* of all starts of daemons together */
    EXCUSED_TOLD_MAX = 4,
};

#define WINDOW_NS UINT64_C(1000000000)

static const char path[] = "muster bench accuracy";

struct accuracy {
    struct rig rig;
    uint64_t load_per_core, seconds;
    bool with_launch;
    struct load load;
    struct launch launch;
    struct watch watch;
    struct stall_windows windows; /* from before the daemons are started on */
    struct stall_timers timers;
    struct rig_counts *before; /* of each node */
    size_t first;              /* window that counts, of this machine */
    /* What came of it. */
    size_t machines;
    size_t measured, spoilt; /* windows */
    uint64_t wrong, excused; /* verdicts */
    uint64_t heartbeats, unreachable, given_back;
    uint64_t lag_ns_p99, lag_ns_max;
};

static bool make(struct accuracy *a, uint32_t nodes)
{
    a->watch.verdicts = calloc(nodes, sizeof *a->watch.verdicts);
    a->before = calloc(nodes, sizeof *a->before);
    return stall_windows_make(&a->windows, (STARTS_S_MAX + 2 * a->seconds) * WINDOW_NS) &&
           a->watch.verdicts != NULL && a->before != NULL;
}

static void unmake(struct accuracy *a)
{
    stall_windows_free(&a->windows);
    free(a->watch.verdicts);
    free(a->before);
}

/* The verdict on it counts, not that it obeys. */
static void on_lost(void *owner, mu_slot node, const char *text)
{
    (void)owner;
    fprintf(stderr, "%s: node %u: %s\n", path, node, text);
}

/* ---- what is measured ---- */

/* Who does not answer may have been declared dead already: then that counts. */
static void count_before(struct accuracy *a)
{
    char why[MACHINE_TEXT_MAX];
    for (mu_slot node = 0; node < a->rig.config.nodes; node++)
        if (!machine_alive(a->rig.machine, node) || !rig_ask(&a->rig, node, &a->before[node], why))
            a->before[node] = (struct rig_counts){0};
}

/* Of those that answered before, and still do. */
static void count_after(struct accuracy *a)
{
    char why[MACHINE_TEXT_MAX];
    for (mu_slot node = 0; node < a->rig.config.nodes; node++) {
        struct rig_counts now;
        const struct rig_counts *before = &a->before[node];
        if (before->up_ns == 0 || !machine_alive(a->rig.machine, node) ||
            !rig_ask(&a->rig, node, &now, why))
            continue;
        a->heartbeats += now.beats_out - before->beats_out;
        a->unreachable += now.unreachable - before->unreachable;
        a->given_back += now.lags_given_back - before->lags_given_back;
        if (now.lag_ns_p99 > a->lag_ns_p99)
            a->lag_ns_p99 = now.lag_ns_p99;
        if (now.lag_ns_max > a->lag_ns_max)
            a->lag_ns_max = now.lag_ns_max;
    }
}

/* The window that we are in. */
static size_t window_now(const struct accuracy *a)
{
    return (size_t)((mu_now_ns() - a->windows.start_ns) / WINDOW_NS);
}

/* As many good windows as wanted, or twice as many of both, or no more room for any. */
static bool is_enough(const struct accuracy *a, size_t measured, size_t spoilt)
{
    return measured - spoilt >= a->seconds || measured >= 2 * a->seconds ||
           window_now(a) >= a->windows.count;
}

/* Until it is enough, or somebody was declared dead and the window after that is over. */
static bool go_on(struct accuracy *a)
{
    size_t measured = 0, spoilt = 0, last = SIZE_MAX;
    a->first = window_now(a) + 1;
    while (!is_enough(a, a->measured + measured, a->spoilt + spoilt) && window_now(a) <= last) {
        if (a->with_launch && !launch_go_on(&a->launch))
            return false;
        if (!rig_pass_ms(&a->rig, LOOK_MS))
            return false;
        watch_take(&a->watch);
        if (last == SIZE_MAX && watch_has_verdict(&a->watch))
            last = window_now(a) + 1;
        measured = window_now(a) > a->first ? window_now(a) - a->first : 0;
        spoilt = stall_spoilt(&a->windows, a->first, measured);
        output_progress("%zu s, %zu of them spoilt by stalls", a->measured + measured,
                        a->spoilt + spoilt);
    }
    a->measured += measured;
    a->spoilt += spoilt;
    return true;
}

static bool is_excused(const struct accuracy *a, const struct verdict *verdict)
{
    return verdict_is_excused(verdict, &a->windows, a->rig.config.period_ns,
                              a->rig.config.timeout_ns);
}

static void tell_verdict(const struct accuracy *a, mu_slot node, bool excused)
{
    char text[VERDICT_TEXT_MAX];
    const struct verdict *verdict = &a->watch.verdicts[node];
    double at_s = ((double)verdict->seen_ns - (double)a->windows.start_ns) / 1e9;
    uint64_t stall_ns =
        verdict_stall_ns(verdict, &a->windows, a->rig.config.period_ns, a->rig.config.timeout_ns);
    fprintf(
        stderr,
        "%s: node %u was declared %s, %.3f s after the beginning, when the host stood still for "
        "%.3f ms%s: %s\n",
        path, node, mu_verdict_word(verdict->evidence.verdict), at_s, (double)stall_ns / 1e6,
        excused ? ", which excuses it" : "", verdict_text(verdict, text));
}

/* One stall may cost many nodes: the first of them tell enough. */
static void tell_excused(const struct accuracy *a, uint64_t count)
{
    uint64_t after_ns = 0, told = 0;
    for (; told < count && told < EXCUSED_TOLD_MAX; told++) {
        mu_slot first = MU_SLOT_NONE;
        for (mu_slot node = 0; node < a->rig.config.nodes; node++) {
            const struct verdict *verdict = &a->watch.verdicts[node];
            if (verdict->seen_ns > after_ns && is_excused(a, verdict) &&
                (first == MU_SLOT_NONE || verdict->seen_ns < a->watch.verdicts[first].seen_ns))
                first = node;
        }
        if (first == MU_SLOT_NONE)
            break;
        after_ns = a->watch.verdicts[first].seen_ns;
        tell_verdict(a, first, true);
    }
    if (told < count)
        fprintf(stderr, "%s: and %llu more\n", path, (unsigned long long)(count - told));
}

static void judge(struct accuracy *a)
{
    uint64_t excused = 0;
    for (mu_slot node = 0; node < a->rig.config.nodes; node++) {
        const struct verdict *verdict = &a->watch.verdicts[node];
        if (verdict->seen_ns == 0)
            continue;
        if (is_excused(a, verdict)) {
            excused++;
            continue;
        }
        a->wrong++;
        tell_verdict(a, node, false);
    }
    tell_excused(a, excused);
    a->excused += excused;
}

static bool measure(struct accuracy *a)
{
    if (load_start(&a->load, (uint32_t)a->load_per_core) != 0) {
        fprintf(stderr, "%s: processes that compute: %s\n", path, strerror(errno));
        return false;
    }
    count_before(a);
    bool good = go_on(a);
    output_progress_end();
    if (good) {
        count_after(a);
        watch_take(&a->watch);
        judge(a);
    }
    return good;
}

/* Daemons that could not be started because the host stood still are started again. */
static bool open_machine(struct accuracy *a, const struct rig_config *config, bool *again)
{
    uint64_t from_ns = mu_now_ns();
    bool opened = rig_open(&a->rig, config);
    *again = !opened && a->rig.signal == 0 && stall_between(&a->windows, from_ns, mu_now_ns());
    if (*again)
        fprintf(stderr, "%s: the host stood still meanwhile, so once more\n", path);
    return opened;
}

/* On a machine of its own: one that has lost nodes is not what is to be measured. */
static bool measure_machine(struct accuracy *a, const struct rig_config *config)
{
    bool again;
    memset(a->watch.verdicts, 0, config->nodes * sizeof *a->watch.verdicts);
    a->machines++;
    bool good = open_machine(a, config, &again) ? measure(a) : again;
    watch_close(&a->watch);
    launch_stop(&a->launch);
    load_stop(&a->load);
    rig_close(&a->rig);
    return good;
}

/* ---- what is said of it ---- */

static void print_json(const struct accuracy *a)
{
    const struct rig_config *config = &a->rig.config;
    json_t *object = json_object(), *lag = json_object(), *stalls = json_object();
    json_object_set_new(object, "bench", json_string("accuracy"));
    json_object_set_new(object, "nodes", json_integer(config->nodes));
    json_object_set_new(object, "period_ms",
                        json_integer((json_int_t)(config->period_ns / 1000000)));
    json_object_set_new(object, "timeout_ms",
                        json_integer((json_int_t)(config->timeout_ns / 1000000)));
    json_object_set_new(object, "load", json_integer((json_int_t)a->load_per_core));
    json_object_set_new(object, "launch", json_boolean(a->with_launch));
    json_object_set_new(object, "seconds", json_integer((json_int_t)(a->measured - a->spoilt)));
    json_object_set_new(object, "false", json_integer((json_int_t)a->wrong));
    json_object_set_new(object, "heartbeats", json_integer((json_int_t)a->heartbeats));
    json_object_set_new(lag, "p99", json_real((double)a->lag_ns_p99 / 1e3));
    json_object_set_new(lag, "max", json_real((double)a->lag_ns_max / 1e3));
    json_object_set_new(object, "lag_us", lag);
    json_object_set_new(stalls, "windows", json_integer((json_int_t)a->spoilt));
    json_object_set_new(stalls, "longest_ms",
                        json_real((double)stall_longest_ns(&a->windows) / 1e6));
    json_object_set_new(stalls, "excused", json_integer((json_int_t)a->excused));
    json_object_set_new(object, "stalls", stalls);
    json_object_set_new(object, "unreachable", json_integer((json_int_t)a->unreachable));
    json_object_set_new(object, "lags_given_back", json_integer((json_int_t)a->given_back));
    json_object_set_new(object, "launched", json_integer((json_int_t)a->launch.processes));
    json_object_set_new(object, "machines", json_integer((json_int_t)a->machines));
    output_json(object);
}

static void print_words(const struct accuracy *a)
{
    const struct rig_config *config = &a->rig.config;
    printf("%u nodes, heartbeats every %llu ms, timeout %llu ms; %llu computing processes for each "
           "core, %llu short ones launched\n",
           config->nodes, (unsigned long long)(config->period_ns / 1000000),
           (unsigned long long)(config->timeout_ns / 1000000), (unsigned long long)a->load_per_core,
           (unsigned long long)a->launch.processes);
    printf("  %llu false verdicts in %zu s with %llu heartbeats and acknowledgements\n",
           (unsigned long long)a->wrong, a->measured - a->spoilt,
           (unsigned long long)a->heartbeats);
    printf("  heartbeat threads were late by %.1f us (99 %%, of the worst), at most %.1f us; given "
           "back %llu times\n",
           (double)a->lag_ns_p99 / 1e3, (double)a->lag_ns_max / 1e3,
           (unsigned long long)a->given_back);
    printf("  nodes that their observer did not hear, but others did: %llu\n",
           (unsigned long long)a->unreachable);
    printf("  the host stood still for at most %.3f ms; %zu s with more than %.0f ms don't count, "
           "nor do %llu verdicts in them; %zu %s\n",
           (double)stall_longest_ns(&a->windows) / 1e6, a->spoilt,
           (double)a->windows.limit_ns / 1e6, (unsigned long long)a->excused, a->machines,
           a->machines == 1 ? "cluster" : "clusters, one after the other");
}

static void tell_too_little(const struct accuracy *a)
{
    fprintf(stderr,
            "%s: only %zu s of %llu count: the host stood still in %zu s more, and daemons were "
            "started %zu times\n",
            path, a->measured - a->spoilt, (unsigned long long)a->seconds, a->spoilt, a->machines);
}

/* ---- the command ---- */

int cmd_bench_accuracy(int argc, char **argv)
{
    uint64_t nodes = 64, period_ms = 100, timeout_ms = 200, load = 0, seconds = 60;
    bool json = false, launch = false;
    const struct arg args[] = {
        {"nodes", ARG_NUMBER, &nodes, 2, MACHINE_NODES_MAX, "N", "nodes [default: 64]"},
        {"period-ms", ARG_NUMBER, &period_ms, 1, 60000, "MS", "heartbeat period [default: 100]"},
        {"timeout-ms", ARG_NUMBER, &timeout_ms, 2, 600000, "MS",
         "heartbeat timeout [default: 200]"},
        {"load", ARG_NUMBER, &load, 0, 64, "L", "computing processes per core [default: 0]"},
        {"launch", ARG_FLAG, &launch, 0, 0, NULL, "load by short processes as well"},
        {"seconds", ARG_NUMBER, &seconds, 1, 86400, "S", "duration [default: 60]"},
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object"},
    };
    const struct command command = {
        .path = path,
        .about = "Count false positives of failure detection on a busy host.",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .examples = "muster bench accuracy --nodes 16 --load 4 --seconds 60",
        .exits = "0 success   1 a false positive, or the host stalled too often   2 usage error",
    };
    args_parse(&command, argc, argv);
    const char *broken = rig_times_error(period_ms, timeout_ms);
    if (broken != NULL)
        args_fail(&command, "--period-ms %llu --timeout-ms %llu: %s", (unsigned long long)period_ms,
                  (unsigned long long)timeout_ms, broken);

    static struct accuracy a;
    const struct rig_config config = {.command = path,
                                      .nodes = (uint32_t)nodes,
                                      .period_ns = period_ms * 1000000,
                                      .timeout_ns = timeout_ms * 1000000,
                                      .lost = on_lost};
    a.load_per_core = load;
    a.with_launch = launch;
    a.seconds = seconds;
    a.windows.width_ns = WINDOW_NS;
    a.windows.limit_ns = config.timeout_ns - config.period_ns;
    a.windows.near_ns = config.timeout_ns;
    a.launch.rig = a.watch.rig = &a.rig;
    if (!make(&a, config.nodes)) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 1;
    }
    int error = stall_timers_start(&a.timers, &a.windows);
    bool good = error == 0;
    stall_timers_tell(&a.timers, error, path);
    while (good && !is_enough(&a, a.measured, a.spoilt))
        good = measure_machine(&a, &config);
    if (error == 0)
        stall_timers_stop(&a.timers);
    if (good && json)
        print_json(&a);
    else if (good)
        print_words(&a);
    unmake(&a);
    bool enough = a.measured - a.spoilt >= a.seconds;
    if (good && !enough)
        tell_too_little(&a);
    return rig_end(&a.rig, good && enough && a.wrong == 0 ? 0 : 1);
}
