/* muster chaos random: faults drawn from a seed, and whether everybody was told of them. */
#include "rig/stall.h"
#include "chaos/act.h"
#include "chaos/random/law.h"
#include "chaos/random/log.h"
#include "chaos/stage.h"
#include "command/commands.h"
#include "command/output.h"
#include "command/span.h"
#include "host/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char path[] = "muster chaos random";

#define MS UINT64_C(1000000)

enum {
    LIMIT_MS = 10000,   /* and ten timeouts: for everybody to know */
    LOOK_MS = 5,        /* between two looks for that */
    SETTLE_PERIODS = 4, /* before the first round */
    STALL_PERCENT = 30, /* of timeout - period: short faults take up to 60 of it */
    WINDOW_MS = 100,
    SECONDS_MORE = 3600, /* for what takes longer than it was given */
};

struct totals {
    uint64_t machines, rounds, faults, kinds[CHAOS_KINDS];
    uint64_t told, missed, duplicates, wrong; /* of rounds that count */
    uint64_t hung;                            /* waited for in vain, or left behind */
    uint64_t excused;                         /* rounds that the host itself spoilt */
    uint64_t blurred;                         /* stops that were longer than planned */
};

struct random_run {
    struct chaos_plan plan;
    struct chaos_round round;
    struct chaos_law law;
    struct chaos_stage stage;
    struct chaos_stage_config config;
    struct chaos_log log; /* of the daemons */
    bool has_machine;     /* that is as planned */
    uint64_t told;        /* so far, on this machine */
    uint64_t end_ns;      /* no round begins after that */
    struct stall_windows windows;
    struct stall_timers timers;
    struct totals totals;
};

/* ---- words ---- */

static void print_round(FILE *to, const struct chaos_round *round)
{
    char text[CHAOS_FAULT_TEXT_MAX];
    for (uint32_t i = 0; i < round->count; i++) {
        const struct chaos_planned *planned = &round->faults[i];
        fprintf(to, "round %u%s: after %" PRIu64 " ms %s (%s)\n", round->number,
                round->is_new_machine && i == 0 ? ", in a new cluster" : "", planned->after_ns / MS,
                chaos_fault_text(&planned->fault, text), chaos_kind_word(planned->kind));
    }
}

/* ---- a machine ---- */

/* Nodes that were declared dead because the host stood still never have their readers.  False: that
 * is not why there is no machine. */
static bool is_excused(struct random_run *run, uint64_t from_ns)
{
    uint64_t now_ns = mu_now_ns();
    run->has_machine = false;
    if (run->stage.signal != 0 || run->stage.rig.is_broken)
        return false;
    if (!stall_between(&run->windows, from_ns, now_ns)) {
        run->totals.hung++;
        return false;
    }
    fprintf(stderr,
            "%s: the host stalled for up to %" PRIu64 " ms while a cluster started, which does "
            "not count\n",
            path, stall_longest_between_ns(&run->windows, from_ns, now_ns) / MS);
    return true;
}

/* False: it was interrupted, or something hangs. */
static bool open_machine(struct random_run *run)
{
    run->law = (struct chaos_law){.nodes = run->plan.nodes};
    run->told = 0;
    run->has_machine = true;
    run->totals.machines++;
    chaos_log_divert(&run->log);
    uint64_t from_ns = mu_now_ns();
    bool good = chaos_stage_open(&run->stage, &run->config);
    chaos_log_restore(&run->log);
    if (!good && run->stage.signal == 0)
        chaos_log_show(&run->log);
    if (!good)
        return is_excused(run, from_ns);
    return chaos_stage_pass_ms(&run->stage, (uint32_t)(SETTLE_PERIODS * run->plan.period_ns / MS));
}

/* Does a socket of a daemon of this machine remain? */
static bool is_left(uint64_t machine)
{
    struct operator_found found = {0};
    FILE *file = fopen("/proc/net/unix", "re");
    bool left = false;
    if (file != NULL && operator_read(file, geteuid(), &found))
        for (size_t i = 0; i < found.count; i++)
            left |= found.daemons[i].machine == machine;
    if (file != NULL)
        fclose(file);
    operator_free(&found);
    return left;
}

static void close_machine(struct random_run *run)
{
    uint64_t machine = run->stage.rig.machine != NULL ? machine_id(run->stage.rig.machine) : 0;
    chaos_stage_close(&run->stage);
    if (machine != 0 && is_left(machine)) {
        fprintf(stderr, "%s: a daemon of cluster %016" PRIx64 " is still running\n", path, machine);
        run->totals.hung++;
    }
    run->stage = (struct chaos_stage){0};
    run->has_machine = false;
}

/* ---- a round ---- */

/* A fault of this round, as it really was. */
struct standing {
    bool is_on;
    uint64_t from_ns, until_ns;
    struct chaos_hold hold;
};

static bool begin_fault(struct random_run *run, uint32_t i, struct standing *standing)
{
    const struct chaos_planned *planned = &run->round.faults[i];
    char why[OPERATOR_TEXT_MAX], text[CHAOS_FAULT_TEXT_MAX];
    standing->from_ns = mu_now_ns();
    standing->until_ns = standing->from_ns + planned->fault.for_ns;
    if (chaos_do(&run->stage.found, &planned->fault, true, &standing->hold, why)) {
        standing->is_on = true;
        run->totals.faults++;
        run->totals.kinds[planned->kind]++;
        chaos_law_take(&run->law, planned);
        return true;
    }
    fprintf(stderr, "%s: round %u: %s: %s\n", path, run->round.number,
            chaos_fault_text(&planned->fault, text), why);
    return false;
}

/* We may have had no time to continue what was stopped, and then it was stopped for longer. */
static void end_fault(struct random_run *run, uint32_t i, struct standing *standing)
{
    const struct chaos_planned *planned = &run->round.faults[i];
    chaos_undo(&standing->hold);
    standing->is_on = false;
    uint64_t spare_ns = run->plan.timeout_ns - run->plan.period_ns;
    uint64_t over_ns = mu_now_ns() - standing->until_ns;
    if (planned->kind == CHAOS_KIND_STOP_SHORT &&
        over_ns > spare_ns * STALL_PERCENT / 100 / run->round.count) {
        run->totals.blurred++;
        chaos_law_blur(&run->law, planned->node);
        run->has_machine = false; /* what is planned next may not be possible */
    }
}

/* False: it is not to go on. */
static bool do_faults(struct random_run *run)
{
    struct standing standing[CHAOS_ROUND_MAX] = {0};
    uint64_t start_ns = mu_now_ns();
    uint32_t begun = 0;
    bool good = true, busy = true;
    while (good && busy) {
        uint64_t now_ns = mu_now_ns();
        busy = begun < run->round.count;
        if (busy && now_ns >= start_ns + run->round.faults[begun].after_ns) {
            good = begin_fault(run, begun, &standing[begun]);
            begun++;
        }
        for (uint32_t i = 0; i < begun; i++) {
            if (standing[i].is_on && mu_now_ns() >= standing[i].until_ns)
                end_fault(run, i, &standing[i]);
            busy |= standing[i].is_on;
        }
        good = good && chaos_stage_pass_ms(&run->stage, 1);
    }
    for (uint32_t i = 0; i < begun; i++)
        if (standing[i].is_on)
            chaos_undo(&standing[i].hold);
    return good;
}

/* A node that was declared dead ends by itself. */
static bool is_settled(struct random_run *run, struct chaos_findings *findings)
{
    chaos_law_find(&run->law, run->stage.page, findings);
    if (findings->first[0] != '\0')
        return false;
    for (mu_slot node = 0; node < run->plan.nodes; node++)
        if (run->law.node[node] == CHAOS_DIES && machine_alive(run->stage.rig.machine, node)) {
            snprintf(findings->first, sizeof findings->first, "node %u: its daemon still runs",
                     node);
            return false;
        }
    return true;
}

/* Until everybody knows, and then for a timeout in which nobody is accused. */
static bool wait_settled(struct random_run *run, struct chaos_findings *findings)
{
    uint64_t limit_ns = mu_now_ns() + LIMIT_MS * MS + 10 * run->plan.timeout_ns;
    while (!is_settled(run, findings)) {
        bool hopeless = findings->wrong > 0 || findings->duplicates > 0;
        if (hopeless || mu_now_ns() > limit_ns)
            return true;
        if (!chaos_stage_pass_ms(&run->stage, LOOK_MS))
            return false;
    }
    if (!chaos_stage_pass_ms(&run->stage, (uint32_t)(run->plan.timeout_ns / MS)))
        return false;
    is_settled(run, findings);
    return true;
}

static void take_findings(struct random_run *run, uint64_t from_ns,
                          const struct chaos_findings *findings)
{
    struct totals *totals = &run->totals;
    bool is_bad = findings->first[0] != '\0';
    if (is_bad && stall_between(&run->windows, from_ns, mu_now_ns())) {
        totals->excused++;
        fprintf(stderr,
                "%s: the host stalled for up to %" PRIu64 " ms: round %u does not "
                "count (%s)\n",
                path, stall_longest_between_ns(&run->windows, from_ns, mu_now_ns()) / MS,
                run->round.number, findings->first);
        run->has_machine = false;
        return;
    }
    totals->told += findings->told - run->told;
    run->told = findings->told;
    if (!is_bad)
        return;
    totals->missed += findings->missed;
    totals->duplicates += findings->duplicates;
    totals->wrong += findings->wrong;
    totals->hung += findings->missed + findings->duplicates + findings->wrong == 0;
    fprintf(stderr, "%s: %s\n", path, findings->first);
    print_round(stderr, &run->round);
    chaos_log_show(&run->log);
    run->has_machine = false;
}

/* False: it is not to go on. */
static bool do_round(struct random_run *run)
{
    struct chaos_findings findings;
    uint64_t from_ns = mu_now_ns();
    chaos_log_forget(&run->log);
    if (!do_faults(run) || !wait_settled(run, &findings))
        return false;
    run->totals.rounds++;
    take_findings(run, from_ns, &findings);
    output_progress("%" PRIu64 " faults, %" PRIu64 " clusters, %" PRIu64 " notifications",
                    run->totals.faults, run->totals.machines, run->totals.told);
    return true;
}

/* After a surprise the rest of what was planned for this machine is left out.  False: it was
 * interrupted, or could not go on. */
static bool do_rounds(struct random_run *run)
{
    bool good = true;
    while (good && mu_now_ns() < run->end_ns) {
        chaos_plan_next(&run->plan, &run->round);
        if (run->round.is_new_machine) {
            close_machine(run);
            good = open_machine(run);
        }
        if (good && run->has_machine)
            good = do_round(run);
    }
    int signal = run->stage.signal;
    close_machine(run);
    run->stage.signal = signal;
    return good;
}

/* ---- the command ---- */

/* Where no round counts, nothing was shown. */
static bool is_failed(const struct totals *totals)
{
    return totals->missed + totals->duplicates + totals->wrong + totals->hung > 0 ||
           totals->excused == totals->rounds;
}

static void report(const struct random_run *run, uint64_t seed, bool json)
{
    const struct totals *totals = &run->totals;
    if (json) {
        json_t *kinds = json_object();
        for (int i = 0; i < CHAOS_KINDS; i++)
            json_object_set_new(kinds, chaos_kind_word((enum chaos_kind)i),
                                json_integer((json_int_t)totals->kinds[i]));
        output_json(json_pack(
            "{s:I, s:i, s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f}", "seed",
            (json_int_t)seed, "nodes", (int)run->plan.nodes, "clusters",
            (json_int_t)totals->machines, "rounds", (json_int_t)totals->rounds, "faults",
            (json_int_t)totals->faults, "kinds", kinds, "told", (json_int_t)totals->told, "missed",
            (json_int_t)totals->missed, "duplicates", (json_int_t)totals->duplicates, "false",
            (json_int_t)totals->wrong, "hung", (json_int_t)totals->hung, "excused",
            (json_int_t)totals->excused, "blurred", (json_int_t)totals->blurred, "stall_ms_max",
            (double)stall_longest_ns(&run->windows) / 1e6));
        return;
    }
    printf("seed %" PRIu64 ": %" PRIu64 " faults in %" PRIu64 " rounds on %" PRIu64
           " clusters of %u nodes\n",
           seed, totals->faults, totals->rounds, totals->machines, run->plan.nodes);
    for (int i = 0; i < CHAOS_KINDS; i++)
        printf("  %6" PRIu64 "  %s\n", totals->kinds[i], chaos_kind_word((enum chaos_kind)i));
    printf("%" PRIu64 " notifications; %" PRIu64 " missed, %" PRIu64 " repeated, %" PRIu64
           " false, %" PRIu64 " hung or left behind\n",
           totals->told, totals->missed, totals->duplicates, totals->wrong, totals->hung);
    printf("%" PRIu64 " rounds do not count, because the host stalled; %" PRIu64
           " stops were longer than planned; the longest stall was %.1f ms\n",
           totals->excused, totals->blurred, (double)stall_longest_ns(&run->windows) / 1e6);
}

static int print_plan(struct random_run *run, uint64_t length_ns)
{
    uint64_t so_far_ns = 0;
    while (so_far_ns < length_ns) {
        chaos_plan_next(&run->plan, &run->round);
        print_round(stdout, &run->round);
        so_far_ns += run->round.length_ns + run->plan.timeout_ns;
    }
    return 0;
}

static bool start_stall(struct random_run *run, uint64_t seconds)
{
    uint64_t spare_ns = run->plan.timeout_ns - run->plan.period_ns;
    run->windows = (struct stall_windows){.width_ns = WINDOW_MS * MS,
                                          .near_ns = run->plan.timeout_ns,
                                          .limit_ns = spare_ns * STALL_PERCENT / 100};
    int error = ENOMEM;
    if (stall_windows_make(&run->windows, (seconds + SECONDS_MORE) * 1000 * MS))
        error = stall_timers_start(&run->timers, &run->windows);
    if (error != 0)
        fprintf(stderr, "%s: timers: %s\n", path, strerror(error));
    return error == 0;
}

/* Returns the exit code. */
static int play(struct random_run *run, uint64_t seconds, uint64_t seed, bool json)
{
    if (!chaos_log_open(&run->log)) {
        fprintf(stderr, "%s: memory for what daemons say: %s\n", path, strerror(errno));
        return 1;
    }
    if (!start_stall(run, seconds))
        return 1;
    run->end_ns = mu_now_ns() + seconds * 1000 * MS;
    bool good = do_rounds(run);
    stall_timers_stop(&run->timers);
    output_progress_end();
    if (run->stage.signal == 0)
        report(run, seed, json);
    stall_windows_free(&run->windows);
    chaos_log_close(&run->log);
    return good && !is_failed(&run->totals) ? 0 : 1;
}

int cmd_chaos_random(int argc, char **argv)
{
    static struct random_run run;
    uint64_t nodes = 16, seconds = 60, seed = 1;
    const char *heartbeat = "50ms,250ms";
    bool plan = false, json = false;
    const struct arg args[] = {
        {"nodes", ARG_NUMBER, &nodes, CHAOS_NODES_MIN, CHAOS_NODES_MAX, "N",
         "nodes of each cluster [default: 16]"},
        {"seconds", ARG_NUMBER, &seconds, 1, 86400, "S",
         "duration; the last round is completed [default: 60]"},
        {"seed", ARG_NUMBER, &seed, 0, UINT64_MAX, "N", "random seed of the schedule [default: 1]"},
        {"heartbeat", ARG_TEXT, &heartbeat, 0, 0, "PERIOD,TIMEOUT",
         "heartbeat settings [default: 50ms,250ms]"},
        {"plan", ARG_FLAG, &plan, 0, 0, NULL, "the schedule only"},
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object"},
    };
    const struct command command = {
        .path = path,
        .about = "Inject random faults into new clusters, and check all notifications.",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .examples = "muster chaos random --seed 7\nmuster chaos random --nodes 8 --seconds 300",
        .exits = "0 success   1 a notification was missed, repeated or false   2 usage error",
    };
    char why[SPAN_WHY_MAX];
    uint64_t period_ns, timeout_ns;
    args_parse(&command, argc, argv);
    if (span_heartbeat(heartbeat, &period_ns, &timeout_ns, why) != NULL)
        args_fail(&command, "--heartbeat: %s", why);
    if (period_ns < 10 * MS || timeout_ns < 3 * period_ns)
        args_fail(&command,
                  "--heartbeat is '%s', but here the period is at least 10ms and the "
                  "timeout at least three periods",
                  heartbeat);
    chaos_plan_init(&run.plan, (uint32_t)nodes, period_ns, timeout_ns, seed);
    run.config = (struct chaos_stage_config){.command = path,
                                             .nodes = (uint32_t)nodes,
                                             .procs = 1,
                                             .role = "count",
                                             .period_ns = period_ns,
                                             .timeout_ns = timeout_ns};
    if (plan)
        return print_plan(&run, seconds * 1000 * MS);
    int code = play(&run, seconds, seed, json);
    return chaos_stage_end(&run.stage, code);
}
