/* 'muster bench floor': the floor of 'muster bench procfail' alone, without a daemon of muster. */
#include "command/args.h"
#include "bench/procfail/rig.h"
#include "rig/libexec.h"
#include "rig/stats.h"
#include "command/commands.h"
#include "command/output.h"
#include "sim/base/random.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static _Noreturn void be_client(const struct bench_rig *rig, const char *program, uint32_t rank,
                                pid_t bench)
{
    char pid[16], rank_text[16], node[16];
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != bench)
        _exit(1);
    snprintf(pid, sizeof pid, "%d", (int)bench);
    snprintf(rank_text, sizeof rank_text, "%u", rank);
    snprintf(node, sizeof node, "%u", rank / rig->procs);
    execl(program, program, "read", pid, rank_text, node, (char *)NULL);
    _exit(1);
}

/* They end when the relays do. */
static bool start_clients(struct bench_rig *rig, enum bench_kind kind)
{
    char program[PATH_MAX];
    pid_t bench = getpid();
    libexec_find(RIG_CLIENT, program); /* was there */
    rig->page->order[0] = kind;
    rig->page->order_count = 1;
    if (!rig_open_door(&rig->rig, rig->page))
        return false;
    for (uint32_t rank = 0; rank < bench_rig_size(rig); rank++) {
        pid_t pid = fork();
        if (pid == 0)
            be_client(rig, program, rank, bench);
        if (pid < 0) {
            fprintf(stderr, "muster bench floor: client %u: %s\n", rank, strerror(errno));
            return false;
        }
    }
    return true;
}

/* Returns how often somebody did not get it, or -1. */
static int64_t measure(struct bench_rig *rig, enum bench_kind kind, struct sim_random *random,
                       double *last_ms, uint64_t reps)
{
    int64_t missed = 0;
    for (uint64_t i = 0; i < reps; i++) {
        struct bench_sample sample;
        rig->page->victim = (uint32_t)sim_random_below(random, bench_rig_size(rig));
        rig->page->read[kind] = 0;
        if (!bench_rig_measure(rig, kind, &sample))
            return -1;
        last_ms[i] = sample.last_ms;
        missed += sample.missed;
        output_progress("%llu of %llu", (unsigned long long)i + 1, (unsigned long long)reps);
    }
    output_progress_end();
    return missed;
}

static const char *figures_name(enum bench_kind kind)
{
    return kind == BENCH_BARE ? "bare_ms" : "bare_realtime_ms";
}

static void print(const struct bench_rig *rig, enum bench_kind kind, uint64_t reps, int64_t missed,
                  double *last_ms, bool json)
{
    struct bench_figures bare = bench_figures_of(last_ms, reps);
    if (!json) {
        printf("%u nodes x %u processes, %llu times, bare sockets%s: the last had read it after\n"
               "  median %.3f ms, 99 %% %.3f ms, max %.3f ms\n",
               rig->nodes, rig->procs, (unsigned long long)reps,
               kind == BENCH_BARE ? "" : " with real-time priority", bare.median, bare.p99,
               bare.max);
        return;
    }
    json_t *object = json_object();
    json_object_set_new(object, "bench", json_string("floor"));
    json_object_set_new(object, "nodes", json_integer(rig->nodes));
    json_object_set_new(object, "procs", json_integer(rig->procs));
    json_object_set_new(object, "reps", json_integer((json_int_t)reps));
    json_object_set_new(object, figures_name(kind), bench_figures_json(&bare));
    json_object_set_new(object, "missed", json_integer(missed));
    output_json(object);
}

int cmd_bench_floor(int argc, char **argv)
{
    uint64_t nodes = 64, procs = 12, reps = 30, seed = 1;
    bool json = false, realtime = false;
    const struct arg args[] = {
        {"nodes", ARG_NUMBER, &nodes, 1, BENCH_RELAYS_MAX, "N", "relays [default: 64]"},
        {"procs", ARG_NUMBER, &procs, 1, BENCH_CLIENTS_MAX, "P", "clients per relay [default: 12]"},
        {"reps", ARG_NUMBER, &reps, 1, 100000, "R", "repetitions [default: 30]"},
        {"seed", ARG_NUMBER, &seed, 0, INT64_MAX, "S", "random seed for the origin [default: 1]"},
        {"realtime", ARG_FLAG, &realtime, 0, 0, NULL,
         "relays with the priority and processors of daemons"},
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object"},
    };
    const struct command command = {
        .path = "muster bench floor",
        .about = "Measure one message to all processes with plain sockets and no protocol.",
        .args = args,
        .count = sizeof args / sizeof args[0],
    };
    args_parse(&command, argc, argv);

    static struct bench_rig rig;
    const enum bench_kind kind = realtime ? BENCH_BARE_REALTIME : BENCH_BARE;
    rig.nodes = (uint32_t)nodes;
    rig.procs = (uint32_t)procs;
    double *last_ms = calloc(reps, sizeof *last_ms);
    if (last_ms == NULL)
        fprintf(stderr, "muster bench floor: no memory for %llu figures\n",
                (unsigned long long)reps);
    struct sim_random random;
    sim_random_init(&random, seed);
    int64_t missed = -1;
    if (last_ms != NULL && bench_rig_make(&rig, false) && start_clients(&rig, kind) &&
        bench_rig_ready(&rig))
        missed = measure(&rig, kind, &random, last_ms, reps);
    if (missed >= 0)
        print(&rig, kind, reps, missed, last_ms, json);
    bench_rig_free(&rig);
    free(last_ms);
    return rig_end(&rig.rig, missed == 0 ? 0 : 1);
}
