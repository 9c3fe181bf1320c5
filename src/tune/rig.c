#include "tune/rig.h"

#include "host/clock.h"
#include "rig/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LOOK_MS = 5,
    OPEN_TRIES = 3,
    TAKEN_WAIT_MS = 5000, /* for all nodes to have new times */
};

#define WINDOW_NS UINT64_C(10000000)     /* a verdict is excused by stalls this near, or nearer */
#define EXTRA_NS  UINT64_C(600000000000) /* for daemons that are slow to start and to end */

static const char path[] = "muster tune";

/* ---- beginning and end ---- */

/* Stalls within a timeout are added up, so the timers must know it. */
static bool start_timers(struct tune_rig *rig, uint64_t period_ns, uint64_t timeout_ns)
{
    rig->windows.limit_ns = timeout_ns - period_ns;
    rig->windows.near_ns = timeout_ns;
    int error = stall_timers_start(&rig->timers, &rig->windows);
    if (error != 0 || (rig->is_realtime && !rig->timers.is_realtime))
        stall_timers_tell(&rig->timers, error, path);
    rig->is_realtime = rig->is_realtime && rig->timers.is_realtime;
    return error == 0;
}

static void stop_timers(struct tune_rig *rig)
{
    if (rig->timers.threads != NULL)
        stall_timers_stop(&rig->timers);
    rig->stall_ns = tune_rig_stall_ns(rig);
}

uint64_t tune_rig_stall_ns(struct tune_rig *rig)
{
    uint64_t now_ns = atomic_load(&rig->timers.longest_ns);
    return now_ns > rig->stall_ns ? now_ns : rig->stall_ns;
}

bool tune_rig_open(struct tune_rig *rig, uint32_t nodes, uint32_t load_per_core, uint64_t span_ns)
{
    *rig = (struct tune_rig){
        .config = {.command = path,
                   .nodes = nodes,
                   .period_ns = tune_rung_ns(0),
                   .timeout_ns = TUNE_RATIO * tune_rung_ns(0),
                   .is_mute = true,   /* false alarms are what is looked for */
                   .may_lose = true}, /* the verdict on it counts, not that it obeys */
        .load_per_core = load_per_core,
        .windows = {.width_ns = WINDOW_NS},
        .is_realtime = true,
    };
    rig->launch.rig = rig->watch.rig = &rig->rig;
    rig->watch.verdicts = calloc(nodes, sizeof *rig->watch.verdicts);
    rig->before = calloc(nodes, sizeof *rig->before);
    if (!stall_windows_make(&rig->windows, span_ns + EXTRA_NS) || rig->watch.verdicts == NULL ||
        rig->before == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(ENOMEM));
        return false;
    }
    return start_timers(rig, rig->config.period_ns, rig->config.timeout_ns);
}

/* What computes ends before the daemons: with them everything that descends from us is killed. */
static void close_machine(struct tune_rig *rig)
{
    watch_close(&rig->watch);
    launch_stop(&rig->launch);
    load_stop(&rig->load);
    if (rig->is_open)
        rig_close(&rig->rig);
    rig->is_open = false;
}

void tune_rig_close(struct tune_rig *rig)
{
    close_machine(rig);
    stop_timers(rig);
    stall_windows_free(&rig->windows);
    free(rig->watch.verdicts);
    free(rig->before);
}

/* When the host stood still for longer than these times bear, daemons are started again. */
static bool open_machine(struct tune_rig *rig, uint64_t period_ns)
{
    uint64_t limit_ns = (TUNE_RATIO - 1) * period_ns;
    bool again = true;
    rig->config.period_ns = period_ns;
    rig->config.timeout_ns = TUNE_RATIO * period_ns;
    for (int i = 0; i < OPEN_TRIES && again; i++) {
        uint64_t from_ns = mu_now_ns();
        memset(rig->watch.verdicts, 0, rig->config.nodes * sizeof *rig->watch.verdicts);
        rig->is_open = true;
        rig->is_spent = false;
        rig->machines++;
        if (rig_open(&rig->rig, &rig->config) && rig_wait_heard(&rig->rig))
            return true;
        again = rig->rig.signal == 0 &&
                stall_longest_between_ns(&rig->windows, from_ns, mu_now_ns()) > limit_ns;
        close_machine(rig);
    }
    return false;
}

/* What is to keep the host busy beside the daemons. */
static bool make_busy(struct tune_rig *rig, enum tune_condition condition)
{
    if (condition != TUNE_LAUNCH)
        launch_stop(&rig->launch);
    if (condition == TUNE_IDLE)
        load_stop(&rig->load);
    else if (rig->load.count == 0 && load_start(&rig->load, rig->load_per_core) != 0) {
        fprintf(stderr, "%s: processes that compute: %s\n", path, strerror(errno));
        return false;
    }
    return true;
}

/* Daemons of which nobody was declared dead.  They begin with the longest times, which a start does
 * not endanger. */
static bool prepare(struct tune_rig *rig, enum tune_condition condition)
{
    if (rig->is_open && rig->is_spent)
        close_machine(rig);
    return (rig->is_open || open_machine(rig, tune_rung_ns(0))) && make_busy(rig, condition);
}

/* ---- new times ---- */

/* One daemon tells all others.  False: none of them answers, or *is_refused. */
static bool order(struct tune_rig *rig, uint64_t period_ns, uint64_t timeout_ns, bool *is_refused)
{
    const struct mu_local_message set = {.type = MU_LOCAL_SET, .set = {period_ns, timeout_ns}};
    bool told = false;
    *is_refused = false;
    for (mu_slot node = 0; node < rig->config.nodes && !told && !*is_refused; node++) {
        const struct operator_daemon daemon = {
            .machine = machine_id(rig->rig.machine), .slot = node, .uid = geteuid()};
        struct operator_link link;
        told = operator_open(&link, &daemon) && operator_order(&link, &set);
        *is_refused = link.refused;
        operator_close(&link);
    }
    return told;
}

/* Until all have them, or somebody was declared dead, or it takes too long, which the count of
 * heartbeats will show. */
static bool wait_taken(struct tune_rig *rig, uint64_t period_ns)
{
    uint64_t until_ns = mu_now_ns() + TAKEN_WAIT_MS * UINT64_C(1000000);
    char why[MACHINE_TEXT_MAX];
    mu_slot node = 0;
    while (node < rig->config.nodes && mu_now_ns() < until_ns) {
        struct rig_counts now;
        if (rig_ask(&rig->rig, node, &now, why) && now.period_ns == period_ns) {
            node++;
            continue;
        }
        if (!rig_pass_ms(&rig->rig, LOOK_MS))
            return false;
        watch_take(&rig->watch);
        if (watch_has_verdict(&rig->watch))
            break;
    }
    return true;
}

/* A daemon refuses times that its heartbeats were too late for so far, also when that was long ago
 * or while it started.  What holds is to be seen, so others are started with these times.  When
 * these do not come up, *is_refused stays.  False: something else broke, or a signal came. */
static bool set_times(struct tune_rig *rig, enum tune_condition condition, uint64_t period_ns,
                      uint64_t timeout_ns, bool *is_refused)
{
    bool told = order(rig, period_ns, timeout_ns, is_refused);
    if (*is_refused) {
        close_machine(rig);
        told = open_machine(rig, period_ns);
        *is_refused = !told;
        if (told && !make_busy(rig, condition))
            return false;
    }
    rig->is_spent = rig->is_spent || !told; /* nobody answers: the next step has others */
    return told ? wait_taken(rig, period_ns) : rig->rig.signal == 0;
}

/* ---- one step ---- */

static void count_before(struct tune_rig *rig)
{
    char why[MACHINE_TEXT_MAX];
    for (mu_slot node = 0; node < rig->config.nodes; node++)
        if (!rig_ask(&rig->rig, node, &rig->before[node], why))
            rig->before[node] = (struct rig_counts){0};
}

/* Of all nodes together that answered before and do now. */
static void count_after(struct tune_rig *rig, struct tune_sample *sum)
{
    char why[MACHINE_TEXT_MAX];
    for (mu_slot node = 0; node < rig->config.nodes; node++) {
        struct rig_counts now;
        const struct rig_counts *before = &rig->before[node];
        if (before->up_ns == 0 || !rig_ask(&rig->rig, node, &now, why))
            continue;
        sum->node_ns += now.up_ns - before->up_ns;
        sum->cpu_ns += now.cpu_ns - before->cpu_ns;
        sum->beats += now.beats_out - before->beats_out;
        sum->bytes += now.beat_bytes_out - before->beat_bytes_out;
    }
}

/* So long, or until somebody was declared dead; then a little longer, because one stall or one
 * delay may cost several nodes, and all of them are to be judged. */
static bool pass(struct tune_rig *rig, bool is_launching, uint64_t timeout_ns, uint64_t span_ns,
                 tune_rig_tick *tick, void *owner)
{
    uint64_t until_ns = mu_now_ns() + span_ns;
    bool is_ending = false;
    while (mu_now_ns() < until_ns) {
        if (!rig_pass_ms(&rig->rig, LOOK_MS))
            return false;
        watch_take(&rig->watch);
        if (!is_ending && watch_has_verdict(&rig->watch)) {
            is_ending = true;
            until_ns = mu_now_ns() + 2 * timeout_ns;
        }
        if (is_launching && !is_ending && !launch_go_on(&rig->launch))
            return false;
        tick(owner);
    }
    return true;
}

static void take_verdicts(struct tune_rig *rig, uint64_t period_ns, uint64_t timeout_ns,
                          struct tune_sample *sample, char text[VERDICT_TEXT_MAX])
{
    uint64_t first_ns = UINT64_MAX;
    char how[VERDICT_TEXT_MAX];
    for (mu_slot node = 0; node < rig->config.nodes; node++) {
        const struct verdict *verdict = &rig->watch.verdicts[node];
        if (verdict->seen_ns == 0)
            continue;
        sample->alarms++;
        if (verdict_is_excused(verdict, &rig->windows, period_ns, timeout_ns)) {
            sample->excused++;
        } else if (verdict->seen_ns < first_ns) {
            first_ns = verdict->seen_ns;
            snprintf(text, VERDICT_TEXT_MAX, "node %u was declared %.*s", node,
                     VERDICT_TEXT_MAX - 64, verdict_text(verdict, how));
        }
    }
    rig->is_spent = rig->is_spent || sample->alarms > 0;
}

bool tune_rig_step(struct tune_rig *rig, enum tune_condition condition, uint64_t period_ns,
                   uint64_t span_ns, struct tune_sample *sample, char text[VERDICT_TEXT_MAX],
                   tune_rig_tick *tick, void *owner)
{
    uint64_t timeout_ns = TUNE_RATIO * period_ns;
    *sample = (struct tune_sample){0};
    text[0] = '\0';
    if (!prepare(rig, condition))
        return false;
    stop_timers(rig);
    if (!start_timers(rig, period_ns, timeout_ns))
        return false;
    uint64_t from_ns = mu_now_ns();
    if (!set_times(rig, condition, period_ns, timeout_ns, &sample->is_refused))
        return false;
    if (!rig->is_spent) {
        count_before(rig);
        uint64_t begin_ns = mu_now_ns();
        if (!pass(rig, condition == TUNE_LAUNCH, timeout_ns, span_ns, tick, owner))
            return false;
        sample->span_ns = mu_now_ns() - begin_ns;
        count_after(rig, sample);
    }
    if (rig->is_open)
        watch_take(&rig->watch);
    take_verdicts(rig, period_ns, timeout_ns, sample, text);
    sample->stall_ns = stall_longest_between_ns(&rig->windows, from_ns, mu_now_ns());
    return true;
}
