/* 'muster bench agree-stress': jobs that do nothing but agree, while processes and daemons are
 * killed at random until one process is left; then a fresh job. */
#include "command/args.h"
#include "bench/agree/rig.h"
#include "command/commands.h"
#include "command/output.h"
#include "host/clock.h"
#include "sim/base/random.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOG = 1 << 16,    /* agreements of one job that are compared */
    PAUSE_MS = 20,    /* between two kills, at most */
    STOP_MS = 1500,   /* how long a daemon is stopped: longer than it takes to be declared dead */
    STUCK_MS = 30000, /* who has not agreed for so long never will */
    GO_ON = 5,        /* agreements that the survivors must come to in the end */
};

static const char path[] = "muster bench agree-stress";

struct stress {
    struct agree_rig rig;
    struct sim_random random;
    uint64_t seed, end_ns;
    uint64_t agreements, failures, violations, jobs;
    uint64_t rss_kb_first, rss_kb_last; /* of the largest daemon, at the end of a job */
    bool *killed;                       /* by rank */
    bool *node_killed;
    bool stops;          /* daemons are stopped, in place of killed */
    uint64_t *resume_ns; /* by node; 0: it is not stopped */
    uint32_t living;
};

/* ---- kills ---- */

static uint32_t nth_living(const struct stress *s, uint32_t n)
{
    for (uint32_t rank = 0;; rank++)
        if (!s->killed[rank] && n-- == 0)
            return rank;
}

static void kill_rank(struct stress *s, uint32_t rank)
{
    if (s->killed[rank])
        return;
    s->killed[rank] = true;
    s->living--;
    s->failures++;
}

static void kill_one(struct stress *s)
{
    uint32_t rank = nth_living(s, (uint32_t)sim_random_below(&s->random, s->living));
    mu_slot node = rank / s->rig.procs;
    uint32_t there = 0;
    for (uint32_t i = 0; i < s->rig.procs; i++)
        there += !s->killed[node * s->rig.procs + i];
    if (sim_random_below(&s->random, 8) > 0 || there == s->living) {
        kill((pid_t)s->rig.page->slots[rank].pid, SIGKILL);
        kill_rank(s, rank);
        return;
    }
    if (s->stops) {
        kill(machine_daemon(s->rig.rig.machine, node), SIGSTOP);
        s->resume_ns[node] = mu_now_ns() + STOP_MS * UINT64_C(1000000);
    } else {
        machine_kill(s->rig.rig.machine, node);
    }
    s->node_killed[node] = true;
    for (uint32_t i = 0; i < s->rig.procs; i++)
        kill_rank(s, node * s->rig.procs + i);
}

/* By then it was declared dead: it must not tell its processes anything any more. */
static void resume(struct stress *s)
{
    for (mu_slot node = 0; node < s->rig.nodes; node++)
        if (s->resume_ns[node] != 0 && mu_now_ns() >= s->resume_ns[node]) {
            s->resume_ns[node] = 0;
            kill(machine_daemon(s->rig.rig.machine, node), SIGCONT);
        }
}

/* ---- one job ---- */

static uint64_t least_logged(const struct stress *s)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t rank = 0; rank < s->rig.page->size; rank++)
        if (!s->killed[rank] && s->rig.page->slots[rank].logged < least)
            least = s->rig.page->slots[rank].logged;
    return least;
}

/* The survivors go on.  False: there is no going on here. */
static bool expect_progress(struct stress *s)
{
    uint64_t from = least_logged(s), end_ns = mu_now_ns() + STUCK_MS * UINT64_C(1000000);
    while (least_logged(s) < from + GO_ON && mu_now_ns() < end_ns) {
        resume(s);
        if (!rig_pass_ms(&s->rig.rig, 1))
            return false;
    }
    if (least_logged(s) >= from + GO_ON)
        return true;
    s->violations++;
    fprintf(stderr, "%s: seed %llu, job %llu: stuck after %llu agreements, %u of %u live\n", path,
            (unsigned long long)s->seed, (unsigned long long)s->jobs, (unsigned long long)from,
            s->living, s->rig.page->size);
    return true;
}

/* What two processes have logged of the same agreement is the same; but for the last one of a
 * process that was killed, which it may have been told alone. */
static void compare(struct stress *s, uint32_t witness)
{
    struct rig_page *page = s->rig.page;
    _Atomic uint64_t *theirs = rig_page_log(page, witness);
    uint64_t until = page->slots[witness].logged;
    for (uint32_t rank = 0; rank < page->size; rank++) {
        _Atomic uint64_t *log = rig_page_log(page, rank);
        uint64_t logged = page->slots[rank].logged;
        uint64_t newest = logged > until ? logged : until;
        uint64_t end = s->killed[rank] && logged > 0 ? logged - 1 : logged;
        s->violations += page->slots[rank].wrong;
        for (uint64_t i = newest > LOG ? newest - LOG : 0; i < end && i < until; i++)
            if (log[i % LOG] != theirs[i % LOG]) {
                s->violations++;
                fprintf(stderr,
                        "%s: seed %llu, job %llu: ranks %u and %u disagree on agreement "
                        "%llu\n",
                        path, (unsigned long long)s->seed, (unsigned long long)s->jobs, rank,
                        witness, (unsigned long long)i);
                break;
            }
    }
    s->agreements += until;
}

static void look_at_memory(struct stress *s)
{
    uint64_t largest = 0;
    for (mu_slot node = 0; node < s->rig.nodes; node++) {
        char name[64];
        unsigned long pages = 0;
        snprintf(name, sizeof name, "/proc/%d/statm",
                 (int)machine_daemon(s->rig.rig.machine, node));
        FILE *file = s->node_killed[node] ? NULL : fopen(name, "r");
        if (file != NULL && fscanf(file, "%*s %lu", &pages) == 1 && pages * 4 > largest)
            largest = pages * 4;
        if (file != NULL)
            fclose(file);
    }
    if (s->jobs == 1)
        s->rss_kb_first = largest;
    s->rss_kb_last = largest;
}

/* False: it has said why, or a signal came. */
static bool run_job(struct stress *s)
{
    struct rig_page *page = s->rig.page;
    memset(s->killed, 0, page->size * sizeof *s->killed);
    memset(s->node_killed, 0, s->rig.nodes * sizeof *s->node_killed);
    memset(s->resume_ns, 0, s->rig.nodes * sizeof *s->resume_ns);
    s->living = page->size;
    s->jobs++;
    const struct rig_agree for_ever = {.count = 0};
    bool good = agree_rig_begin(&s->rig, &for_ever);
    while (good && s->living > 1 && mu_now_ns() < s->end_ns) {
        good = rig_pass_ms(&s->rig.rig, 1 + (uint32_t)sim_random_below(&s->random, PAUSE_MS));
        resume(s);
        if (good)
            kill_one(s);
    }
    good = good && expect_progress(s);
    uint32_t witness = s->living > 0 ? nth_living(s, 0) : 0;
    if (good)
        look_at_memory(s);
    rig_close(&s->rig.rig);
    if (good)
        compare(s, witness);
    return good;
}

/* ---- the command ---- */

static void print(const struct stress *s, double seconds, bool json)
{
    if (!json) {
        printf("%u nodes x %u processes, %.0f s, seed %llu: %llu jobs, %llu agreements, %llu "
               "processes died, violations %llu\n",
               s->rig.nodes, s->rig.procs, seconds, (unsigned long long)s->seed,
               (unsigned long long)s->jobs, (unsigned long long)s->agreements,
               (unsigned long long)s->failures, (unsigned long long)s->violations);
        return;
    }
    json_t *object = json_object();
    json_object_set_new(object, "bench", json_string("agree-stress"));
    json_object_set_new(object, "nodes", json_integer(s->rig.nodes));
    json_object_set_new(object, "procs", json_integer(s->rig.procs));
    json_object_set_new(object, "seconds", json_real(seconds));
    json_object_set_new(object, "seed", json_integer((json_int_t)s->seed));
    json_object_set_new(object, "agreements", json_integer((json_int_t)s->agreements));
    json_object_set_new(object, "failures", json_integer((json_int_t)s->failures));
    json_object_set_new(object, "violations", json_integer((json_int_t)s->violations));
    json_object_set_new(object, "rounds", json_integer((json_int_t)s->jobs));
    json_object_set_new(object, "daemon_rss_kb_first", json_integer((json_int_t)s->rss_kb_first));
    json_object_set_new(object, "daemon_rss_kb_last", json_integer((json_int_t)s->rss_kb_last));
    output_json(object);
}

int cmd_bench_agree_stress(int argc, char **argv)
{
    static struct stress s;
    uint64_t nodes = 16, procs = 8, seconds = 60;
    bool json = false;
    s.seed = 1;
    const struct arg args[] = {
        {"nodes", ARG_NUMBER, &nodes, 1, MACHINE_NODES_MAX, "N", "nodes [default: 16]"},
        {"procs", ARG_NUMBER, &procs, 1, 1024, "P", "processes per node [default: 8]"},
        {"seconds", ARG_NUMBER, &seconds, 1, 1000000, "S", "duration [default: 60]"},
        {"seed", ARG_NUMBER, &s.seed, 0, INT64_MAX, "S",
         "random seed for victims and times [default: 1]"},
        {"stop", ARG_FLAG, &s.stops, 0, 0, NULL, "daemons stopped for 1.5 s instead of killed"},
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object"},
    };
    const struct command command = {
        .path = path,
        .about = "Check agreements while random processes and daemons are killed.",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .examples = "muster bench agree-stress --nodes 16 --procs 8 --seconds 60",
        .exits = "0 success   1 a guarantee was violated   2 usage error",
    };
    args_parse(&command, argc, argv);
    s.rig.command = path;
    s.rig.nodes = (uint32_t)nodes;
    s.rig.procs = (uint32_t)procs;
    s.rig.fanout = 2;
    sim_random_init(&s.random, s.seed);
    s.killed = calloc(nodes * procs, sizeof *s.killed);
    s.node_killed = calloc(nodes, sizeof *s.node_killed);
    s.resume_ns = calloc(nodes, sizeof *s.resume_ns);
    uint64_t from_ns = mu_now_ns();
    s.end_ns = from_ns + seconds * UINT64_C(1000000000);
    bool opened = s.killed != NULL && s.node_killed != NULL && s.resume_ns != NULL &&
                  agree_rig_open(&s.rig, LOG);
    bool good = opened;
    while (good && mu_now_ns() < s.end_ns) {
        output_progress("%llu jobs, %llu died", (unsigned long long)s.jobs,
                        (unsigned long long)s.failures);
        good = run_job(&s);
    }
    output_progress_end();
    if (good)
        print(&s, (double)(mu_now_ns() - from_ns) / 1e9, json);
    rig_page_free(s.rig.page);
    free(s.killed);
    free(s.node_killed);
    free(s.resume_ns);
    return rig_end(&s.rig.rig, good && s.violations == 0 ? 0 : 1);
}
