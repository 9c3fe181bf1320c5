/* 'muster bench noise': what the ring takes when nothing happens. */
#include "command/args.h"
#include "bench/noise_bare.h"
#include "rig/rig.h"
#include "rig/stats.h"
#include "command/commands.h"
#include "command/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUND_MS_MIN = 1000,
    ROUND_PERIODS_MIN = 10,
    SETTLE_MS = 500, /* after the start, for what is still on its way */
};

static const char path[] = "muster bench noise";

/* Of one daemon, all rounds together. */
struct usage {
    uint64_t up_ns, cpu_ns, messages, bytes;
};

struct noise {
    struct rig rig;
    struct bare_ring bare;
    uint32_t rounds, round_periods;
    struct rig_counts *before; /* of each node */
    struct usage *usage;
    double *values; /* as many: what is to be sorted */
    /* What came of it. */
    struct bench_figures cpu_ns, bare_ns, pss_kib;
    double bytes_per_s, messages_per_s;
};

static bool make(struct noise *n, uint32_t nodes)
{
    n->before = calloc(nodes, sizeof *n->before);
    n->usage = calloc(nodes, sizeof *n->usage);
    n->values = calloc(nodes, sizeof *n->values);
    return n->before != NULL && n->usage != NULL && n->values != NULL;
}

static void unmake(struct noise *n)
{
    free(n->before);
    free(n->usage);
    free(n->values);
}

/* ---- what is measured ---- */

static bool ask(struct noise *n, mu_slot node, struct rig_counts *counts)
{
    char why[MACHINE_TEXT_MAX];
    bool good = rig_ask(&n->rig, node, counts, why);
    if (!good)
        rig_broke(&n->rig, node, why);
    return good;
}

static bool begin(struct noise *n)
{
    for (mu_slot node = 0; node < n->rig.config.nodes; node++)
        if (!ask(n, node, &n->before[node]))
            return false;
    return true;
}

static bool end(struct noise *n)
{
    for (mu_slot node = 0; node < n->rig.config.nodes; node++) {
        struct rig_counts now;
        const struct rig_counts *before = &n->before[node];
        struct usage *usage = &n->usage[node];
        if (!ask(n, node, &now))
            return false;
        usage->up_ns += now.up_ns - before->up_ns;
        usage->cpu_ns += now.cpu_ns - before->cpu_ns;
        usage->messages += now.beats_out - before->beats_out;
        usage->bytes += now.beat_bytes_out - before->beat_bytes_out;
    }
    return true;
}

static bool measure_bare(struct noise *n)
{
    /* One period until they begin, and one until the last of them ends. */
    uint64_t ms = (n->round_periods + 2) * n->rig.config.period_ns / 1000000;
    if (bare_ring_go(&n->bare, n->round_periods) && rig_pass_ms(&n->rig, (uint32_t)ms) &&
        bare_ring_take(&n->bare))
        return true;
    if (n->rig.signal == 0)
        fprintf(stderr, "%s: the bare sockets: %s\n", path, strerror(errno));
    return false;
}

static bool measure(struct noise *n)
{
    uint64_t ms = n->round_periods * n->rig.config.period_ns / 1000000;
    bool good = rig_wait_heard(&n->rig) && rig_pass_ms(&n->rig, SETTLE_MS);
    for (uint32_t i = 0; good && i < n->rounds; i++) {
        output_progress("%u of %u", i + 1, n->rounds);
        good = begin(n) && rig_pass_ms(&n->rig, (uint32_t)ms) && end(n) && measure_bare(n);
    }
    output_progress_end();
    return good;
}

static void work_out(struct noise *n)
{
    uint32_t nodes = n->rig.config.nodes;
    double period_ns = (double)n->rig.config.period_ns, seconds = 0;
    for (uint32_t i = 0; i < nodes; i++)
        n->values[i] = (double)n->usage[i].cpu_ns / ((double)n->usage[i].up_ns / period_ns);
    n->cpu_ns = bench_figures_of(n->values, nodes);
    for (uint32_t i = 0; i < nodes; i++)
        n->values[i] = (double)n->bare.nodes[i].cpu_ns / (double)n->bare.nodes[i].periods;
    n->bare_ns = bench_figures_of(n->values, nodes);
    for (uint32_t i = 0; i < nodes; i++)
        n->values[i] = bench_pss_kib(machine_daemon(n->rig.machine, i));
    n->pss_kib = bench_figures_of(n->values, nodes);
    for (uint32_t i = 0; i < nodes; i++) {
        seconds += (double)n->usage[i].up_ns / 1e9;
        n->bytes_per_s += (double)n->usage[i].bytes;
        n->messages_per_s += (double)n->usage[i].messages;
    }
    n->bytes_per_s /= seconds;
    n->messages_per_s /= seconds;
}

/* ---- what is said of it ---- */

static void print_json(const struct noise *n)
{
    json_t *object = json_object();
    bool has_pss = n->pss_kib.median > 0; /* daemons guard a key: only root may look at them */
    json_object_set_new(object, "bench", json_string("noise"));
    json_object_set_new(object, "nodes", json_integer(n->rig.config.nodes));
    json_object_set_new(object, "period_ms",
                        json_integer((json_int_t)(n->rig.config.period_ns / 1000000)));
    json_object_set_new(object, "cpu_ns_per_period", json_real(n->cpu_ns.median));
    json_object_set_new(object, "bare_ns", json_real(n->bare_ns.median));
    json_object_set_new(object, "ratio", json_real(n->cpu_ns.median / n->bare_ns.median));
    json_object_set_new(object, "bytes_per_s_per_node", json_real(n->bytes_per_s));
    json_object_set_new(object, "messages_per_s_per_node", json_real(n->messages_per_s));
    json_object_set_new(object, "pss_mib_per_daemon",
                        has_pss ? json_real(n->pss_kib.median / 1024) : json_null());
    output_json(object);
}

static void print_words(const struct noise *n)
{
    double share = n->cpu_ns.median / (double)n->rig.config.period_ns;
    printf("%u nodes, heartbeats every %llu ms, nothing happens\n", n->rig.config.nodes,
           (unsigned long long)(n->rig.config.period_ns / 1000000));
    printf("  the heartbeats of a daemon take %.1f us of a core in each period (%.4f %%), of the "
           "busiest %.1f us\n",
           n->cpu_ns.median / 1e3, share * 100, n->cpu_ns.max / 1e3);
    printf("  bare sockets %.1f us, ratio %.2f\n", n->bare_ns.median / 1e3,
           n->cpu_ns.median / n->bare_ns.median);
    printf("  a node sends %.0f bytes/s in %.1f datagrams/s\n", n->bytes_per_s, n->messages_per_s);
    if (n->pss_kib.median > 0)
        printf("  a daemon takes %.2f MiB of memory (Pss)\n", n->pss_kib.median / 1024);
}

/* ---- the command ---- */

int cmd_bench_noise(int argc, char **argv)
{
    uint64_t nodes = 64, period_ms = 100, rounds = 5;
    bool json = false;
    const struct arg args[] = {
        {"nodes", ARG_NUMBER, &nodes, 2, MACHINE_NODES_MAX, "N", "nodes [default: 64]"},
        {"period-ms", ARG_NUMBER, &period_ms, 1, 60000, "MS", "heartbeat period [default: 100]"},
        {"rounds", ARG_NUMBER, &rounds, 1, 10000, "R", "rounds [default: 5]"},
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object"},
    };
    const struct command command = {
        .path = path,
        .about = "Measure CPU time, traffic and memory of an idle cluster.",
        .args = args,
        .count = sizeof args / sizeof args[0],
    };
    args_parse(&command, argc, argv);

    static struct noise n;
    const struct rig_config config = {
        .command = path,
        .nodes = (uint32_t)nodes,
        .period_ns = period_ms * 1000000,
        .timeout_ns = period_ms * 1000000 * MACHINE_TIMEOUT_NS / MACHINE_PERIOD_NS,
    };
    n.rounds = (uint32_t)rounds;
    n.round_periods = (uint32_t)(ROUND_MS_MIN / period_ms);
    if (n.round_periods < ROUND_PERIODS_MIN)
        n.round_periods = ROUND_PERIODS_MIN;
    if (!make(&n, config.nodes) || bare_ring_start(&n.bare, config.nodes, config.period_ns) != 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 1;
    }
    bool good = rig_open(&n.rig, &config) && measure(&n);
    if (good) {
        work_out(&n);
        if (json)
            print_json(&n);
        else
            print_words(&n);
    }
    bare_ring_stop(&n.bare);
    rig_close(&n.rig);
    unmake(&n);
    return rig_end(&n.rig, good ? 0 : 1);
}
