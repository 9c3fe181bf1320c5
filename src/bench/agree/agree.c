/* 'muster bench agree': how long processes take to agree, and how long when one of them, or a node,
 * dies in place of contributing. */
#include "command/args.h"
#include "bench/agree/rig.h"
#include "rig/stats.h"
#include "command/commands.h"
#include "command/output.h"
#include "host/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WARM = 50,       /* agreements before those that count */
    AFTER = 50,      /* and, with --kill, after the two that count alone */
    WAIT_MS = 60000, /* then processes that have not agreed are stuck */
};

static const char path[] = "muster bench agree";

/* A growing row of measurements, in us. */
struct row {
    double *us;
    size_t count, room;
};

struct bench_agree {
    struct agree_rig rig;
    uint32_t reps;
    const char *kill; /* "no" */
    struct row agree, failing, stabilizing, after;
    uint64_t wrong;
};

static void add(struct row *row, uint64_t ns)
{
    if (row->count == row->room) {
        row->room = row->room == 0 ? 1024 : 2 * row->room;
        row->us = realloc(row->us, row->room * sizeof *row->us);
        if (row->us == NULL)
            abort();
    }
    row->us[row->count++] = (double)ns / 1e3;
}

/* ---- what is measured ---- */

static bool survives(const struct rig_page *page, uint32_t rank)
{
    uint32_t victim = page->agree.victim;
    switch (page->agree.kill) {
    case RIG_KILL_NOBODY:
        return true;
    case RIG_KILL_PROCESS:
        return rank != victim;
    case RIG_KILL_NODE:
        return rank / page->procs != victim / page->procs;
    }
    abort();
}

static bool all_done(const struct rig_page *page)
{
    for (uint32_t rank = 0; rank < page->size; rank++)
        if (survives(page, rank) && page->slots[rank].logged < page->agree.count)
            return false;
    return true;
}

static void take(struct bench_agree *b)
{
    struct rig_page *page = b->rig.page;
    const struct rig_agree *what = &page->agree;
    for (uint32_t rank = 0; rank < page->size; rank++) {
        if (!survives(page, rank))
            continue;
        _Atomic uint64_t *log = rig_page_log(page, rank);
        b->wrong += page->slots[rank].wrong;
        for (uint32_t i = what->warm; i < what->count; i++)
            if (what->kill == RIG_KILL_NOBODY)
                add(&b->agree, log[i]);
            else
                add(i == what->warm       ? &b->failing
                    : i == what->warm + 1 ? &b->stabilizing
                                          : &b->after,
                    log[i]);
    }
}

/* One job, on daemons of its own.  False: it has said why, or a signal came. */
static bool measure_one(struct bench_agree *b, const struct rig_agree *what)
{
    const struct rig_page *page = b->rig.page;
    bool good = agree_rig_begin(&b->rig, what);
    uint64_t end_ns = mu_now_ns() + WAIT_MS * UINT64_C(1000000);
    while (good && !all_done(page) && mu_now_ns() < end_ns)
        good = rig_pass_ms(&b->rig.rig, 20);
    if (good && !all_done(page)) {
        fprintf(stderr, "%s: processes have not agreed after %d s\n", path, WAIT_MS / 1000);
        good = false;
    }
    if (good)
        take(b);
    rig_close(&b->rig.rig);
    return good;
}

/* The first process of the root's node, of its first child, of the last leaf; or all of that child,
 * with its daemon. */
static void choose_victim(const struct bench_agree *b, struct rig_agree *what)
{
    what->kill = RIG_KILL_PROCESS;
    what->victim = b->rig.procs;
    if (strcmp(b->kill, "root") == 0)
        what->victim = 0;
    else if (strcmp(b->kill, "leaf") == 0)
        what->victim = (b->rig.nodes - 1) * b->rig.procs;
    else if (strcmp(b->kill, "node") == 0)
        what->kill = RIG_KILL_NODE;
}

static bool measure(struct bench_agree *b)
{
    struct rig_agree what = {.warm = WARM, .count = WARM + b->reps};
    if (strcmp(b->kill, "no") == 0)
        return measure_one(b, &what);
    what.count = WARM + 2 + AFTER;
    choose_victim(b, &what);
    bool good = true;
    for (uint32_t rep = 0; good && rep < b->reps; rep++) {
        output_progress("%u of %u", rep + 1, b->reps);
        good = measure_one(b, &what);
    }
    output_progress_end();
    return good;
}

/* ---- what is said of it ---- */

static void say(json_t *object, const char *name, const char *words, struct row *row)
{
    struct bench_figures figures = bench_figures_of(row->us, row->count);
    if (row->count == 0)
        return;
    if (object != NULL)
        json_object_set_new(object, name, bench_figures_json(&figures));
    else
        printf("  %-46s %9.1f %9.1f %9.1f\n", words, figures.median, figures.p99, figures.max);
}

static void say_all(struct bench_agree *b, json_t *object)
{
    say(object, "agree_us", "an agreement", &b->agree);
    say(object, "failing_us", "that in which somebody dies", &b->failing);
    say(object, "stabilizing_us", "the next one", &b->stabilizing);
    say(object, "after_us", "those after it", &b->after);
}

static void print(struct bench_agree *b, bool json)
{
    if (!json) {
        printf("%u nodes x %u processes, trees of fan-out %u, killed: %s, %u times\n"
               "  %-46s %9s %9s %9s\n",
               b->rig.nodes, b->rig.procs, b->rig.fanout, b->kill, b->reps, "us, of all processes",
               "median", "99 %", "max");
        say_all(b, NULL);
        printf("  wrong %llu\n", (unsigned long long)b->wrong);
        return;
    }
    json_t *object = json_object();
    json_object_set_new(object, "bench", json_string("agree"));
    json_object_set_new(object, "nodes", json_integer(b->rig.nodes));
    json_object_set_new(object, "procs", json_integer(b->rig.procs));
    json_object_set_new(object, "fanout", json_integer(b->rig.fanout));
    json_object_set_new(object, "kill", json_string(b->kill));
    json_object_set_new(object, "reps", json_integer(b->reps));
    say_all(b, object);
    json_object_set_new(object, "wrong", json_integer((json_int_t)b->wrong));
    output_json(object);
}

/* ---- the command ---- */

int cmd_bench_agree(int argc, char **argv)
{
    static struct bench_agree b;
    uint64_t nodes = 4, procs = 4, fanout = 2, reps = 0;
    bool json = false;
    b.kill = "no";
    const struct arg args[] = {
        {"nodes", ARG_NUMBER, &nodes, 1, MACHINE_NODES_MAX, "N", "nodes [default: 4]"},
        {"procs", ARG_NUMBER, &procs, 1, 1024, "P", "processes per node [default: 4]"},
        {"fanout", ARG_NUMBER, &fanout, 1, 1024, "A",
         "fanout of the tree, a power of two [default: 2]"},
        {"reps", ARG_NUMBER, &reps, 1, 1000000, "R", "repetitions [default: 1000; with --kill 10]"},
        {"kill", ARG_CHOICE, &b.kill, 0, 0, "no|root|child|leaf|node", "what fails [default: no]"},
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object"},
    };
    const struct command command = {
        .path = path,
        .about = "Measure the duration of agreements, also when a member fails.",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .examples = "muster bench agree --nodes 4 --procs 4\nmuster bench agree --kill root",
        .exits = "0 success   1 a wrong decision   2 usage error",
    };
    args_parse(&command, argc, argv);
    bool kills = strcmp(b.kill, "no") != 0;
    if ((fanout & (fanout - 1)) != 0)
        args_fail(&command, "--fanout %llu is not a power of two", (unsigned long long)fanout);
    if (kills && nodes < 2)
        args_fail(&command, "--kill %s needs two nodes at least", b.kill);
    b.reps = reps != 0 ? (uint32_t)reps : kills ? 10 : 1000;
    b.rig.command = path;
    b.rig.nodes = (uint32_t)nodes;
    b.rig.procs = (uint32_t)procs;
    b.rig.fanout = (uint32_t)fanout;
    bool opened = agree_rig_open(&b.rig, kills ? WARM + 2 + AFTER : WARM + b.reps);
    bool good = opened && measure(&b);
    if (good)
        print(&b, json);
    rig_page_free(b.rig.page);
    free(b.agree.us);
    free(b.failing.us);
    free(b.stabilizing.us);
    free(b.after.us);
    return rig_end(&b.rig.rig, good && b.wrong == 0 ? 0 : 1);
}
