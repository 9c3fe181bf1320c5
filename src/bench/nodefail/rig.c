#include "bench/nodefail/rig.h"

#include "host/clock.h"
#include "launch/operator.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { REST_MS = 180 * 1000 }; /* of a repetition, at most: until all are there, and some */

#define WINDOW_NS UINT64_C(1000000)

static const char command[] = "muster bench nodefail";

/* ---- page and windows ---- */

bool nodefail_rig_open(struct nodefail_rig *rig)
{
    rig->page = rig_prepare_clients(command, rig->nodes, rig->procs,
                                    rig_count_bytes(rig->nodes, rig->procs));
    if (rig->page == NULL)
        return false;
    uint64_t fixed_ms = REST_MS + NODEFAIL_SETTLE_MS + NODEFAIL_WAIT_MS;
    uint64_t span_ns = fixed_ms * 1000000 + rig->period_ns + rig->timeout_ns;
    rig->windows.width_ns = WINDOW_NS;
    rig->windows.limit_ns = rig->timeout_ns - rig->period_ns;
    rig->windows.near_ns = rig->timeout_ns;
    if (!stall_windows_make(&rig->windows, span_ns)) {
        fprintf(stderr, "%s: no memory for stalls in %llu s\n", command,
                (unsigned long long)(span_ns / 1000000000));
        rig_page_free(rig->page);
        return false;
    }
    return true;
}

void nodefail_rig_close(struct nodefail_rig *rig)
{
    stall_windows_free(&rig->windows);
    rig_page_free(rig->page);
}

/* ---- hooks ---- */

/* The survivors count what is told of it; a person wants to know why. */
static void on_lost(void *owner, mu_slot node, const char *text)
{
    struct nodefail_rig *rig = owner;
    if (rig->page->count.is_victim[node] || rig->page->is_over)
        return;
    fprintf(stderr, "%s: node %u, which is no victim: %s\n", command, node, text);
}

static void on_ended(void *owner, uint32_t rank, const struct mu_evidence *evidence)
{
    struct nodefail_rig *rig = owner;
    char text[MU_EVIDENCE_TEXT_MAX];
    if (evidence->cause == MU_CAUSE_EXIT && !rig->page->count.is_victim[rank / rig->procs])
        fprintf(stderr, "%s: process %u, which nobody killed: %s\n", command, rank,
                mu_evidence_text(evidence, text, sizeof text));
}

/* ---- before ---- */

static bool wait_phase(struct nodefail_rig *rig, uint64_t phase_ns)
{
    if (phase_ns >= 1000000 && !rig_pass_ms(&rig->rig, (uint32_t)(phase_ns / 1000000)))
        return false;
    struct timespec rest = {.tv_nsec = (long)(phase_ns % 1000000)};
    nanosleep(&rest, NULL);
    return true;
}

/* ---- the failure ---- */

static uint64_t kill_all(struct nodefail_rig *rig, const mu_slot *victims)
{
    uint64_t from_ns = mu_now_ns();
    for (uint32_t i = 0; i < rig->count; i++)
        machine_kill(rig->rig.machine, victims[i]);
    return from_ns;
}

/* All daemons first: from then on these nodes are silent.  Its own processes are what a stopped
 * node would have to tell something; nobody else talks to them. */
static uint64_t stop_all(struct nodefail_rig *rig, const mu_slot *victims)
{
    const struct rig_page *page = rig->page;
    uint64_t from_ns = mu_now_ns();
    for (uint32_t i = 0; i < rig->count; i++)
        kill(machine_daemon(rig->rig.machine, victims[i]), SIGSTOP);
    for (uint32_t i = 0; i < rig->count; i++)
        for (uint32_t k = 0; k < rig->procs; k++)
            kill((pid_t)page->slots[victims[i] * rig->procs + k].pid, SIGSTOP);
    return from_ns;
}

/* The conversations begin before: only one packet each is left to be sent. */
static uint64_t cut_all(struct nodefail_rig *rig, const mu_slot *victims)
{
    struct operator_link *links = calloc(rig->count, sizeof *links);
    struct mu_local_message message = {.type = MU_LOCAL_CHAOS,
                                       .chaos = {.kind = MU_CHAOS_CUT, .in = true, .out = true}};
    uint32_t opened = 0;
    bool good = links != NULL;
    for (; good && opened < rig->count; opened += good) {
        const struct operator_daemon daemon = {
            .machine = machine_id(rig->rig.machine), .slot = victims[opened], .uid = geteuid()};
        good = operator_open(&links[opened], &daemon);
        if (!good)
            rig_broke(&rig->rig, victims[opened], links[opened].why);
    }
    uint64_t from_ns = mu_now_ns();
    for (uint32_t i = 0; good && i < rig->count; i++)
        good = operator_say(&links[i], &message);
    for (uint32_t i = 0; good && i < rig->count; i++) {
        good = operator_hear(&links[i], &message, OPERATOR_TIMEOUT_MS) &&
               (message.type == MU_LOCAL_DONE || operator_unexpected(&links[i], &message));
        if (!good)
            rig_broke(&rig->rig, victims[i], links[i].why);
    }
    for (uint32_t i = 0; i < opened; i++)
        operator_close(&links[i]);
    free(links);
    return good ? from_ns : 0;
}

/* They are children of this process that it has not reaped: each number is still theirs. */
static bool guard_victims(struct nodefail_rig *rig, const mu_slot *victims)
{
    int pidfds[RIG_NODES_MAX];
    uint32_t held = 0;
    bool good = true;
    for (; good && held < rig->count; held += good) {
        pidfds[held] = guard_hold(machine_daemon(rig->rig.machine, victims[held]));
        good = pidfds[held] >= 0;
    }
    good = good && guard_start(&rig->guard, pidfds, held, SIGKILL) == 0;
    if (!good)
        fprintf(stderr, "%s: no guard for what is stopped: %s\n", command, strerror(errno));
    for (uint32_t i = 0; i < held; i++)
        close(pidfds[i]);
    return good;
}

/* Events about all victims, and all their processes. */
static uint32_t expected(const struct nodefail_rig *rig)
{
    return rig->count * (1 + rig->procs);
}

static bool fail_all(struct nodefail_rig *rig, const mu_slot *victims, uint64_t *from_ns)
{
    struct rig_page *page = rig->page;
    for (uint32_t i = 0; i < rig->count; i++)
        page->count.is_victim[victims[i]] = true;
    page->count.expected = expected(rig); /* clients look when they hear of what we do below */
    switch (rig->how) {
    case NODEFAIL_KILL:
        *from_ns = kill_all(rig, victims);
        return true;
    case NODEFAIL_STOP:
        *from_ns = stop_all(rig, victims);
        return true;
    case NODEFAIL_CUT:
        *from_ns = cut_all(rig, victims);
        return *from_ns != 0;
    }
    abort();
}

/* ---- after ---- */

/* True also when it is too late: the page tells. */
static bool wait_told(struct nodefail_rig *rig)
{
    uint64_t end_ns = mu_now_ns() + NODEFAIL_WAIT_MS * UINT64_C(1000000);
    uint32_t survivors = (rig->nodes - rig->count) * rig->procs;
    while (atomic_load(&rig->page->count.done) < survivors && mu_now_ns() < end_ns)
        if (!rig_pass_ms(&rig->rig, 1))
            return false;
    return true;
}

/* When the first process of this node had read all of it; UINT64_MAX: none has. */
static uint64_t node_told_ns(const struct rig_page *page, mu_slot node)
{
    uint64_t first_ns = UINT64_MAX;
    for (uint32_t rank = node * page->procs; rank < (node + 1) * page->procs; rank++) {
        const struct rig_slot *slot = &page->slots[rank];
        bool all = slot->told == page->count.expected;
        if (all && slot->last_ns < first_ns)
            first_ns = slot->last_ns;
    }
    return first_ns;
}

/* Who never did counts as 'never'. */
static double until_ms(const struct nodefail_sample *sample, uint64_t ns)
{
    return ns == UINT64_MAX ? NODEFAIL_WAIT_MS : ((double)ns - (double)sample->from_ns) / 1e6;
}

static void take_sample(const struct nodefail_rig *rig, const mu_slot *victims,
                        struct nodefail_sample *sample)
{
    const struct rig_page *page = rig->page;
    uint64_t seen_ns = 0, node_ns = 0, last_ns = 0;
    for (uint32_t i = 0; i < rig->count; i++) {
        uint64_t first_ns = page->count.seen_ns[victims[i]];
        if (first_ns == 0 || first_ns > seen_ns)
            seen_ns = first_ns == 0 ? UINT64_MAX : first_ns;
    }
    for (mu_slot node = 0; node < page->nodes; node++) {
        uint64_t first_ns = page->count.is_victim[node] ? 0 : node_told_ns(page, node);
        if (first_ns > node_ns)
            node_ns = first_ns;
    }
    for (uint32_t rank = 0; rank < page->size; rank++) {
        const struct rig_slot *slot = &page->slots[rank];
        if (page->count.is_victim[rank / page->procs])
            continue;
        sample->missed += page->count.expected - slot->told;
        sample->wrong += slot->wrong + slot->unexpected;
        if (slot->last_ns > last_ns) {
            last_ns = slot->last_ns;
            sample->last_rank = rank;
        }
    }
    sample->detect_ms = until_ms(sample, seen_ns);
    sample->each_node_ms = until_ms(sample, node_ns);
    sample->all_told_ms = until_ms(sample, sample->missed > 0 ? UINT64_MAX : last_ns);
}

/* ---- one repetition ---- */

static bool prepare(struct nodefail_rig *rig, const mu_slot *victims, uint64_t phase_ns)
{
    return rig_wait_heard(&rig->rig) &&
           rig_start_clients(&rig->rig, rig->page, "count", MU_LAUNCH_PART) &&
           rig_wait_ready(&rig->rig) && rig_pass_ms(&rig->rig, NODEFAIL_SETTLE_MS) &&
           (rig->how != NODEFAIL_STOP || guard_victims(rig, victims)) && wait_phase(rig, phase_ns);
}

/* After the last event another timeout passes, in which nobody else may be accused. */
static enum nodefail_end measure(struct nodefail_rig *rig, const mu_slot *victims,
                                 uint64_t phase_ns, struct nodefail_sample *sample)
{
    bool ready = prepare(rig, victims, phase_ns);
    if (!ready) /* who did not answer may have ended: the loop is to hear of that */
        rig_pass_ms(&rig->rig, NODEFAIL_SETTLE_MS);
    if (rig->rig.lost > 0 && rig->rig.signal == 0) {
        sample->wrong = rig->rig.lost;
        return NODEFAIL_ENDED_EARLY;
    }
    if (!ready || !fail_all(rig, victims, &sample->from_ns) || !wait_told(rig) ||
        !rig_pass_ms(&rig->rig, (uint32_t)(rig->timeout_ns / 1000000)))
        return NODEFAIL_BROKEN;
    take_sample(rig, victims, sample);
    return NODEFAIL_MEASURED;
}

static bool start_timers(struct nodefail_rig *rig)
{
    stall_windows_reset(&rig->windows);
    int error = stall_timers_start(&rig->timers, &rig->windows);
    if (error != 0 || !rig->was_timed)
        stall_timers_tell(&rig->timers, error, command);
    rig->was_timed = true;
    return error == 0;
}

/* A stall that began before the failure counts from there on. */
static void take_stalls(const struct nodefail_rig *rig, struct nodefail_sample *sample)
{
    sample->stall_ns = stall_longest_ns(&rig->windows);
    if (sample->end != NODEFAIL_MEASURED)
        return;
    uint64_t told_ns = sample->from_ns + (uint64_t)(sample->all_told_ms * 1e6);
    uint64_t stall_ns = stall_longest_between_ns(&rig->windows, sample->from_ns, told_ns);
    double stall_ms = (double)stall_ns / 1e6;
    sample->host_stall_ms = stall_ms < sample->all_told_ms ? stall_ms : sample->all_told_ms;
}

void nodefail_rig_measure(struct nodefail_rig *rig, const mu_slot *victims, uint64_t phase_ns,
                          struct nodefail_sample *sample)
{
    const struct rig_config config = {.command = command,
                                      .nodes = rig->nodes,
                                      .period_ns = rig->period_ns,
                                      .timeout_ns = rig->timeout_ns,
                                      .lost = on_lost,
                                      .ended = on_ended,
                                      .owner = rig};
    *sample = (struct nodefail_sample){.end = NODEFAIL_BROKEN};
    rig_page_reset(rig->page);
    if (!start_timers(rig))
        return;
    if (rig_open(&rig->rig, &config))
        sample->end = measure(rig, victims, phase_ns, sample);
    stall_timers_stop(&rig->timers);
    take_stalls(rig, sample);
    rig->page->is_over = true; /* what strikes now is no news */
    guard_strike(&rig->guard);
    rig_close(&rig->rig);
}
