/* Runs a job many times and kills what it is made of at random moments: processes, daemons, the
 * launcher; while it starts, runs and ends.
 *
 *     random_kills MUSTER ROLL FOLDER SEED RUNS [CLEAN_MS]
 *
 * After each run: the launcher has ended in time; nothing is left of it (a process that has this
 * run's mark in its environment, an abstract socket); nobody was told of one death twice; and every
 * survivor that lived to the end was told of each death that came before that end.
 *
 * The same seed draws the same plans; when a kill lands inside a run is the machine's. */
#define _GNU_SOURCE
#include "trial.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    KILLS_MAX = 4,
    END_MS = 10000,  /* for a run to end once it is told to */
    TOLD_MS = 10000, /* for the last survivor to have heard */
};

/* Long enough for a busy host: only the killed are to be found dead. */
static const char *const flags[] = {"--on-failure", "continue", "--heartbeat", "100ms,1s", NULL};

enum target { TARGET_PROCESS, TARGET_DAEMON, TARGET_LAUNCHER, TARGETS };

struct plan {
    uint32_t kills;
    struct {
        enum target target;
        uint32_t after_us; /* the kill before, or the start */
        uint32_t which;
        bool at_end; /* after the processes were told to end */
    } kill[KILLS_MAX];
};

struct run {
    struct trial trial;
    struct plan plan;
    bool launcher_killed, late_kill;
    uint32_t daemons_killed;
    pid_t daemon[KILLS_MAX];      /* those */
    bool killed[TRIAL_RANKS_MAX]; /* this process was killed by us */
};

static void make_plan(struct run *run)
{
    struct plan *plan = &run->plan;
    run->trial.nodes = 1 + trial_draw(6);
    run->trial.ranks = run->trial.nodes + trial_draw(3 * run->trial.nodes + 1);
    plan->kills = trial_draw(KILLS_MAX + 1);
    for (uint32_t i = 0; i < plan->kills; i++) {
        uint32_t kind = trial_draw(10);
        plan->kill[i].target = kind < 6   ? TARGET_PROCESS
                               : kind < 9 ? TARGET_DAEMON
                                          : TARGET_LAUNCHER;
        /* Half of them early, where a machine and a job begin. */
        plan->kill[i].after_us = trial_draw(2) == 0 ? trial_draw(40000) : trial_draw(300000);
        plan->kill[i].which = trial_draw(1 << 30);
        plan->kill[i].at_end = trial_draw(5) == 0;
    }
}

/* ---- kills ---- */

/* Kills one process of the job; which, its notes say. */
static void kill_process(struct run *run, uint32_t which)
{
    uint32_t rank = which % run->trial.ranks;
    struct trial_notes notes;
    trial_read_notes(&run->trial, rank, &notes);
    if (!notes.there || notes.over || run->killed[rank])
        return;
    if (!trial_has_process(&run->trial, notes.pid) || kill(notes.pid, SIGKILL) != 0)
        return;
    run->killed[rank] = true;
}

/* Kills one daemon that was not killed yet. */
static void kill_daemon(struct run *run, uint32_t which)
{
    static pid_t children[TRIAL_CHILDREN_MAX];
    uint32_t count = trial_daemons(run->trial.launcher, children), daemons = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool good = true;
        for (uint32_t k = 0; k < run->daemons_killed; k++)
            good &= run->daemon[k] != children[i];
        if (good)
            children[daemons++] = children[i];
    }
    int number = (which >> 16) % 4 == 0 ? SIGTERM : SIGKILL; /* the others must see no difference */
    if (daemons == 0 || kill(children[which % daemons], number) != 0)
        return;
    run->daemon[run->daemons_killed++] = children[which % daemons];
}

static void carry_out(struct run *run, uint32_t i)
{
    if (trial_has_ended(&run->trial))
        return;
    run->late_kill |= run->trial.told_over;
    switch (run->plan.kill[i].target) {
    case TARGET_PROCESS:
        kill_process(run, run->plan.kill[i].which);
        return;
    case TARGET_DAEMON:
        kill_daemon(run, run->plan.kill[i].which);
        return;
    case TARGET_LAUNCHER:
        run->launcher_killed = kill(run->trial.launcher, SIGKILL) == 0;
        return;
    case TARGETS:
        break;
    }
    abort();
}

/* ---- one run ---- */

static int fail(const struct run *run, const char *what, long number)
{
    fprintf(stderr, "FAILED: %s (%ld): %u nodes, %u ranks, see %s\n", what, number,
            run->trial.nodes, run->trial.ranks, run->trial.folder);
    for (uint32_t i = 0; i < run->plan.kills; i++)
        fprintf(stderr, "  kill %u: target %d after %u us%s\n", i, run->plan.kill[i].target,
                run->plan.kill[i].after_us, run->plan.kill[i].at_end ? ", at the end" : "");
    return 1;
}

/* Who is dead, by what those who live have heard: those that we killed, and all of lost nodes. */
static bool all_told(const struct run *run)
{
    const struct trial *trial = &run->trial;
    struct trial_notes notes[TRIAL_RANKS_MAX];
    bool node_lost[TRIAL_NODES_MAX] = {false};
    for (uint32_t r = 0; r < trial->ranks; r++) {
        trial_read_notes(trial, r, &notes[r]);
        for (uint32_t n = 0; n < TRIAL_NODES_MAX; n++)
            node_lost[n] |= notes[r].nodes[n] > 0;
    }
    uint32_t lost = 0;
    for (uint32_t n = 0; n < TRIAL_NODES_MAX; n++)
        lost += node_lost[n];
    bool anybody = false;
    for (uint32_t r = 0; r < trial->ranks; r++) {
        if (run->killed[r] || node_lost[trial_home(trial, r)])
            continue;
        if (!notes[r].there || !trial_has_process(trial, notes[r].pid))
            continue; /* not up yet, or of a node whose loss nobody has noted yet */
        anybody = true;
        for (uint32_t q = 0; q < trial->ranks; q++)
            if ((run->killed[q] || node_lost[trial_home(trial, q)]) && notes[r].dead[q] == 0)
                return false;
        for (uint32_t n = 0; n < TRIAL_NODES_MAX; n++)
            if (node_lost[n] && notes[r].nodes[n] == 0)
                return false;
    }
    return !anybody || lost == run->daemons_killed;
}

/* Is somebody there that has noted nothing yet?  Then the run has not begun. */
static bool has_begun(const struct run *run)
{
    for (uint32_t r = 0; r < run->trial.ranks; r++) {
        struct trial_notes notes;
        trial_read_notes(&run->trial, r, &notes);
        if (notes.there)
            return true;
    }
    return false;
}

static int check_notes(const struct run *run)
{
    for (uint32_t r = 0; r < run->trial.ranks; r++) {
        struct trial_notes notes;
        long number;
        trial_read_notes(&run->trial, r, &notes);
        const char *error = trial_notes_error(&run->trial, &notes, r, &number);
        if (error != NULL)
            return fail(run, error, number);
        if (!notes.broken)
            continue;
        bool may = run->launcher_killed || run->daemons_killed > 0 || run->late_kill;
        if (!may)
            return fail(run, "a process lost its daemon, which nobody killed: rank", r);
    }
    return 0;
}

static int do_run(struct run *run)
{
    struct trial *trial = &run->trial;
    make_plan(run);
    int error = trial_start(trial, flags);
    if (error != 0)
        return fail(run, strerror(error), error);
    for (uint32_t i = 0; i < run->plan.kills; i++)
        if (!run->plan.kill[i].at_end) {
            trial_pause_us(run->plan.kill[i].after_us);
            carry_out(run, i);
        }
    uint64_t until_ns = trial_now_ns() + TOLD_MS * UINT64_C(1000000);
    bool done = false;
    while (!done && trial_now_ns() < until_ns) {
        done = trial_has_ended(trial) || run->launcher_killed || (has_begun(run) && all_told(run));
        if (!done)
            trial_pause_us(5000);
    }
    if (!done)
        return fail(run, "not everybody was told in time, ms:", TOLD_MS);
    trial_say_over(trial);
    for (uint32_t i = 0; i < run->plan.kills; i++)
        if (run->plan.kill[i].at_end) {
            trial_pause_us(run->plan.kill[i].after_us % 5000);
            carry_out(run, i);
        }
    if (!trial_wait_for_end(trial, END_MS))
        return fail(run, "the launcher has not ended, ms:", END_MS);
    long number;
    const char *left = trial_left(trial, &number);
    return left != NULL ? fail(run, left, number) : check_notes(run);
}

int main(int argc, char **argv)
{
    if (argc != 6 && argc != 7) {
        fprintf(stderr, "usage: random_kills MUSTER ROLL FOLDER SEED RUNS [CLEAN_MS]\n");
        return 2;
    }
    uint64_t seed = strtoull(argv[4], NULL, 10);
    uint32_t runs = (uint32_t)atoi(argv[5]);
    uint32_t processes = 0, daemons = 0, launchers = 0;
    printf("seed %llu, %u runs\n", (unsigned long long)seed, runs);
    for (uint32_t i = 0; i < runs; i++) {
        static struct run run;
        memset(&run, 0, sizeof run);
        struct trial *trial = &run.trial;
        trial->muster = argv[1];
        trial->roll = argv[2];
        trial->clean_ms = argc == 7 ? strtoull(argv[6], NULL, 10) : 2000;
        trial_seed(seed, i);
        snprintf(trial->folder, sizeof trial->folder, "%s/run-%u", argv[3], i);
        snprintf(trial->mark, sizeof trial->mark, "MUSTER_TEST_RUN=%d-%u.", (int)getpid(), i);
        int failed = do_run(&run);
        if (failed) {
            fprintf(stderr, "run %u of seed %llu\n", i, (unsigned long long)seed);
            trial_end(trial);
            return failed;
        }
        for (uint32_t r = 0; r < trial->ranks; r++)
            processes += run.killed[r];
        daemons += run.daemons_killed;
        launchers += run.launcher_killed;
        trial_remove_folder(trial);
    }
    printf("%u runs, killed: %u processes, %u daemons, %u launchers: none hung, nothing left, "
           "everybody told once\n",
           runs, processes, daemons, launchers);
    return 0;
}
