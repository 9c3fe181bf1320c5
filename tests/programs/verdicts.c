/* Runs the table of verdicts on a network of hosts that somebody has made (netns_common.sh), or
 * prints it as a page.
 *
 *     verdicts page TABLE
 *     verdicts run TABLE TIMES MUSTER ROLL FOLDER HOSTFILE [CASE]...      where the bridge is
 *
 * Each case has a machine of its own, of 8 nodes with 2 processes each, which write down what they
 * are told (roll.c).  Its bounds follow from the period and the timeout, which are TIMES as long as
 * usual.  When this host itself stood still for more than a small part of them, or a fault took
 * longer than it was to, a case that failed says nothing: it is run again, with all times doubled,
 * so that the same stalls matter half as much. */
#define _GNU_SOURCE
#include "reference.h"
#include "verdicts.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS         UINT64_C(1000000)
#define PERIOD_NS  (100 * MS)
#define TIMEOUT_NS (200 * MS)

enum {
    TRIES_MAX = 4,
    STALL_PART = 4, /* a stall of a quarter of what a beat may be late is too long */
    UP_MS = 20000,
    OVER_MS = 10000,
    CLEAN_MS = 2000,
    LOOK_US = 3000,
    EXIT_WRONG = 1,
    EXIT_USAGE = 2
};

static volatile sig_atomic_t ended_by;

static void on_signal(int number)
{
    ended_by = number;
}

/* ---- one case ---- */

static struct witness witnesses[RANKS];

static bool all_are_there(struct rig *rig)
{
    pid_t children[TRIAL_CHILDREN_MAX];
    watch_read(rig, witnesses);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        if (!witnesses[rank].there)
            return false;
        rig->processes[rank] = witnesses[rank].pid;
    }
    uint32_t count = trial_daemons(rig->trial.launcher, children);
    for (uint32_t n = 0; n < NODES && n < count; n++)
        rig->daemons[n] = children[n];
    /* Those who take the time read at once, however busy this host is. */
    const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    for (uint32_t rank = 0; rank < RANKS && count == NODES; rank++)
        sched_setscheduler(rig->processes[rank], SCHED_FIFO, &lowest);
    return count == NODES;
}

static const char *bring_up(struct rig *rig, const struct row *row)
{
    const char *agent = "ip netns exec";
    char heartbeat[64];
    if (strcmp(row->needs, "faketime") == 0) {
        agent = getenv("VERDICTS_FAKETIME");
        setenv("VERDICTS_CLOCK", rig->clock, 1);
        FILE *clock = fopen(rig->clock, "we");
        if (clock == NULL)
            return "no file for the clock";
        fputs("+0\n", clock);
        fclose(clock);
    }
    snprintf(heartbeat, sizeof heartbeat, "%llums,%llums",
             (unsigned long long)(rig->period_ns / MS), (unsigned long long)(rig->timeout_ns / MS));
    const char *flags[] = {"--on-failure", "continue", "--agent", agent,
                           "--heartbeat",  heartbeat,  NULL};
    if (trial_start(&rig->trial, flags) != 0)
        return "the launcher cannot be started";
    uint64_t until_ns = trial_now_ns() + UP_MS * MS;
    while (!all_are_there(rig)) {
        if (trial_has_ended(&rig->trial) || trial_now_ns() > until_ns || ended_by != 0)
            return "not all processes are there";
        trial_pause_us(LOOK_US);
    }
    /* A first beat has come back from everybody by then. */
    trial_pause_us(2 * rig->period_ns / 1000);
    return NULL;
}

/* NULL: both have ended. */
static const char *judge_ends(const struct rig *rig, const struct step *step, char text[TEXT_MAX])
{
    for (uint32_t n = 0; n < NODES; n++) {
        if ((step->nodes & 1u << n) == 0)
            continue;
        bool left = trial_has_process(&rig->trial, rig->daemons[n]);
        for (uint32_t k = 0; k < EACH; k++)
            left |= trial_has_process(&rig->trial, rig->processes[n * EACH + k]);
        if (!left)
            continue;
        snprintf(text, TEXT_MAX, "node %u goes on, or a process there", n);
        return text;
    }
    return NULL;
}

/* The steps of a row up to 'count', all that was told so far: NULL, or what is missing.  Those
 * before 'first' were judged when their time was, and only explain what was told. */
static const char *judge(struct rig *rig, const struct row *row, uint32_t first, uint32_t count,
                         char text[TEXT_MAX], bool *hopeless)
{
    watch_read(rig, witnesses);
    *hopeless = false;
    for (uint32_t i = 0; i < first; i++)
        if (row->steps[i].type == STEP_TOLD)
            watch_explain(&row->steps[i], witnesses);
    const char *wrong = NULL;
    for (uint32_t i = first; wrong == NULL && i < count; i++) {
        const struct step *step = &row->steps[i];
        uint64_t until_ns = rig->end_ns + span_ns(rig, &step->until);
        if (step->type == STEP_TOLD)
            wrong = watch_judge(rig, step, witnesses, text, hopeless);
        else if (step->type == STEP_ENDS)
            wrong = judge_ends(rig, step, text);
        else if (trial_now_ns() < until_ns)
            wrong = strcpy(text, "its time is not over");
        if (wrong != NULL && step->type != STEP_NOTHING &&
            trial_now_ns() > until_ns + OVER_MS / 10 * MS)
            *hopeless = true;
    }
    return wrong;
}

/* Nodes that are to end, by the steps up to 'count'. */
static uint32_t ended_by_then(const struct row *row, uint32_t count)
{
    uint32_t ended = 0;
    for (uint32_t i = 0; i < count; i++)
        if (row->steps[i].type == STEP_ENDS)
            ended |= row->steps[i].nodes;
    return ended;
}

/* What follows a DO, up to the next one. */
static const char *wait_for(struct rig *rig, const struct row *row, uint32_t first, uint32_t count,
                            char text[TEXT_MAX])
{
    for (;;) {
        bool hopeless;
        const char *wrong = judge(rig, row, first, count, text, &hopeless);
        if (wrong == NULL || hopeless)
            return wrong != NULL ? wrong
                                 : watch_surplus(witnesses, ended_by_then(row, count), text);
        if (trial_has_ended(&rig->trial))
            return "the launcher has ended";
        if (ended_by != 0)
            return "interrupted";
        trial_pause_us(LOOK_US);
    }
}

static const char *run_steps(struct rig *rig, const struct row *row, char text[TEXT_MAX])
{
    const char *wrong = NULL;
    for (uint32_t i = 0; wrong == NULL && i < row->step_count;) {
        wrong = act_do(rig, &row->steps[i]);
        uint32_t next = i + 1;
        while (next < row->step_count && row->steps[next].type != STEP_DO)
            next++;
        if (wrong == NULL)
            wrong = wait_for(rig, row, i + 1, next, text);
        i = next;
    }
    return wrong;
}

static const char *end(struct rig *rig, char text[TEXT_MAX])
{
    long number;
    trial_say_over(&rig->trial);
    if (!trial_wait_for_end(&rig->trial, OVER_MS))
        return "the launcher does not end";
    const char *left = trial_left(&rig->trial, &number);
    if (left != NULL) {
        snprintf(text, TEXT_MAX, "%s %ld", left, number);
        return text;
    }
    return NULL;
}

static void show(const struct rig *rig)
{
    char path[4096], line[512];
    for (uint32_t rank = 0; rank < RANKS; rank++)
        for (uint32_t i = 0; i < witnesses[rank].count; i++) {
            const struct told *told = &witnesses[rank].told[i];
            if (!told->is_node && (told->expected || witnesses[rank].count > EACH))
                continue;
            printf("    process %2u on node %u: %s %u %s, %+.1f ms\n", rank, rank / EACH,
                   told->is_node ? "node" : "process", told->subject, told->verdict,
                   ((double)told->at_ns - (double)rig->end_ns) / 1e6);
        }
    snprintf(path, sizeof path, "%s/log", rig->trial.folder);
    FILE *log = fopen(path, "re");
    while (log != NULL && fgets(line, sizeof line, log) != NULL)
        printf("    | %s", line);
    if (log != NULL)
        fclose(log);
}

/* NULL, or what is wrong; *excused: this host was too slow for it to say anything. */
static const char *run_once(struct rig *rig, const struct row *row, char text[TEXT_MAX],
                            bool *excused)
{
    reference_lag_ns();
    rig->worst_down_ns = 0;
    const char *wrong = bring_up(rig, row);
    if (wrong == NULL)
        wrong = run_steps(rig, row, text);
    uint64_t spare_ns = rig->timeout_ns - rig->period_ns, lag_ns = reference_lag_ns();
    bool fast_flap = false;
    for (uint32_t i = 0; i < row->step_count; i++)
        fast_flap |= row->steps[i].act == ACT_FLAP && row->steps[i].type == STEP_DO &&
                     span_ns(rig, &row->steps[i].down) < spare_ns;
    *excused =
        lag_ns > spare_ns / STALL_PART || (fast_flap && rig->worst_down_ns + lag_ns > spare_ns);
    if (wrong != NULL) {
        printf("  %s: %s%s\n", row->name, wrong, *excused ? ", but this host was too slow" : "");
        printf("    (it was late by up to %.1f ms; the longest cut of a flap took %.1f ms)\n",
               (double)lag_ns / 1e6, (double)rig->worst_down_ns / 1e6);
        if (!*excused)
            show(rig);
    }
    act_undo(rig);
    if (wrong == NULL)
        wrong = end(rig, text);
    trial_end(&rig->trial);
    return wrong;
}

static bool run_row(const struct row *row, uint64_t times, char **argv, uint32_t number)
{
    char text[TEXT_MAX];
    const char *wrong = NULL;
    uint64_t begin_ns = trial_now_ns();
    bool excused = true;
    uint32_t tries = 0;
    while (tries < TRIES_MAX && excused && ended_by == 0) {
        struct rig rig = {.trial = {.muster = argv[0],
                                    .roll = argv[1],
                                    .hostfile = argv[3],
                                    .nodes = NODES,
                                    .ranks = RANKS,
                                    .clean_ms = CLEAN_MS},
                          .period_ns = (times << tries) * PERIOD_NS,
                          .timeout_ns = (times << tries) * TIMEOUT_NS};
        tries++;
        snprintf(rig.trial.folder, sizeof rig.trial.folder, "%s/%u-%u", argv[2], number, tries);
        snprintf(rig.clock, sizeof rig.clock, "%s/clock", argv[2]);
        snprintf(rig.trial.mark, sizeof rig.trial.mark, "MUSTER_VERDICTS=%d-%u-%u", (int)getpid(),
                 number, tries);
        wrong = run_once(&rig, row, text, &excused);
        trial_remove_folder(&rig.trial);
        if (wrong == NULL)
            break;
    }
    printf("%s  %-24s %4.1f s%s%s%s\n", wrong == NULL ? "ok  " : "FAIL", row->name,
           (double)(trial_now_ns() - begin_ns) / 1e9,
           tries > 1 ? ", tried again, since this host was too slow" : "",
           wrong == NULL ? "" : ": ", wrong == NULL ? "" : wrong);
    fflush(stdout);
    return wrong == NULL;
}

/* ---- all of them ---- */

static bool wanted(const struct row *row, int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], row->name) == 0)
            return true;
    return argc == 0;
}

static int run(const struct table *table, uint64_t times, int argc, char **argv)
{
    const struct sigaction action = {.sa_handler = on_signal};
    bool good = true;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    reference_start();
    int refused = act_come_first(false);
    if (refused != 0)
        printf("note: no real-time priority here: %s\n", strerror(refused));
    for (uint32_t i = 0; i < table->count && ended_by == 0; i++) {
        const struct row *row = &table->rows[i];
        if (!wanted(row, argc - 4, argv + 4))
            continue;
        const char *missing = act_needs_error(row->needs);
        if (missing != NULL)
            printf("--    %-24s not tried: %s\n", row->name, missing);
        else
            good &= run_row(row, times, argv, i);
    }
    act_close();
    return good && ended_by == 0 ? 0 : EXIT_WRONG;
}

int main(int argc, char **argv)
{
    static struct table table;
    if (argc == 3 && strcmp(argv[1], "page") == 0) {
        table_read(&table, argv[2]);
        table_print(&table, PERIOD_NS, TIMEOUT_NS);
        return 0;
    }
    if (argc < 8 || strcmp(argv[1], "run") != 0 || atoi(argv[3]) < 1) {
        fputs("usage: verdicts page TABLE, or verdicts run TABLE TIMES MUSTER ROLL FOLDER HOSTFILE "
              "[CASE]...\n",
              stderr);
        return EXIT_USAGE;
    }
    table_read(&table, argv[2]);
    return run(&table, (uint64_t)atoi(argv[3]), argc - 4, argv + 4);
}
