#include "bench/procfail/rig.h"

#include "host/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPORT_WAIT_MS = 2000 };

#define SILENCE_NS UINT64_C(10000000000)

static const char command[] = "muster bench";

/* ---- hooks ---- */

static void on_ended(void *owner, uint32_t rank, const struct mu_evidence *evidence)
{
    struct bench_rig *rig = owner;
    char text[MU_EVIDENCE_TEXT_MAX];
    if (rank == rig->page->victim && rig->seen_ns == 0) {
        rig->seen_ns = evidence->seen_ns;
    } else if (!job_stopped(rig->rig.job) && !rig->rig.is_broken) {
        fprintf(stderr, "%s: nobody killed process %u: %s\n", command, rank,
                mu_evidence_text(evidence, text, sizeof text));
        rig->rig.is_broken = true;
    }
}

static void on_told(void *owner, const struct job_told *told)
{
    struct bench_rig *rig = owner;
    if (told->is_node || told->rank != rig->page->victim)
        return; /* clients count what should not have been */
    struct bench_told *by = &rig->told[told->by];
    by->ns = told->evidence->seen_ns + told->age_ns;
    by->hops = told->hops;
}

/* ---- beginning and end ---- */

/* Relays that sleep go on sleeping: what changes is how they will wake up. */
static bool prepare(struct bench_rig *rig, enum bench_kind kind)
{
    if (kind == BENCH_DEATH ||
        bench_relays_set_realtime(&rig->relays, kind == BENCH_BARE_REALTIME) == 0)
        return true;
    fprintf(stderr, "%s: the priority of the relays cannot be set: %s\n", command, strerror(errno));
    return false;
}

static bool start_relays(struct bench_rig *rig)
{
    if (bench_relays_start(&rig->relays, rig->nodes) != 0) {
        fprintf(stderr, "%s: %u relays: %s\n", command, rig->nodes, strerror(errno));
        return false;
    }
    rig->can_realtime = bench_relays_set_realtime(&rig->relays, true) == 0;
    return prepare(rig, BENCH_BARE);
}

/* Relays first: what is forked later would hold the daemons' lifelines open. */
bool bench_rig_make(struct bench_rig *rig, bool has_daemons)
{
    const struct rig_config config = {
        .command = command,
        .nodes = has_daemons ? rig->nodes : 0,
        /* The beats are the usual ones, but a host that stands still is no failure here. */
        .period_ns = MACHINE_PERIOD_NS,
        .timeout_ns = SILENCE_NS,
        .ended = on_ended,
        .told = on_told,
        .owner = rig,
    };
    rig->page = rig_prepare_clients(command, rig->nodes, rig->procs, 0);
    if (rig->page == NULL)
        return false;
    rig->told = calloc(rig->nodes, sizeof *rig->told);
    if (rig->told == NULL)
        abort();
    return start_relays(rig) && rig_open(&rig->rig, &config);
}

/* Relays first: with the rig everything that descends from us is reaped. */
void bench_rig_free(struct bench_rig *rig)
{
    bench_relays_stop(&rig->relays);
    rig_close(&rig->rig);
    rig_page_free(rig->page);
    free(rig->told);
}

bool bench_rig_start(struct bench_rig *rig, uint32_t victim, const enum bench_kind *order,
                     uint32_t order_count, bool has_parts)
{
    struct rig_page *page = rig->page;
    rig_page_reset(page);
    page->victim = victim;
    page->order_count = order_count;
    memcpy(page->order, order, order_count * sizeof *order);
    rig->seen_ns = 0;
    memset(rig->told, 0, rig->nodes * sizeof *rig->told);
    return rig_start_clients(&rig->rig, page, "read",
                             has_parts ? MU_LAUNCH_PART : MU_LAUNCH_UNBOUND);
}

/* ---- measurements ---- */

/* True also when it is too late: the counter tells. */
static bool wait_for(struct bench_rig *rig, const _Atomic uint32_t *counter, uint32_t wanted,
                     uint64_t limit_ms)
{
    uint64_t end_ns = mu_now_ns() + limit_ms * 1000000u;
    while (atomic_load(counter) < wanted && mu_now_ns() < end_ns)
        if (!rig_pass_ms(&rig->rig, 1))
            return false;
    return true;
}

/* One message that does not count: what a process does for the first time takes longer.  Of
 * libmuster a client has read its history by now. */
static bool warm_up(struct bench_rig *rig)
{
    struct rig_page *page = rig->page;
    if (!rig_pass_ms(&rig->rig, BENCH_SETTLE_MS) ||
        bench_relays_post(&rig->relays, 0, BENCH_RANK_NONE) != 0 ||
        !wait_for(rig, &page->warm, page->size, BENCH_WAIT_MS))
        return false;
    if (page->warm < page->size)
        fprintf(stderr, "%s: bare sockets reached %u of %u processes in %u s\n", command,
                page->warm, page->size, BENCH_WAIT_MS / 1000);
    return page->warm == page->size;
}

bool bench_rig_ready(struct bench_rig *rig)
{
    return rig_wait_ready(&rig->rig) && warm_up(rig);
}

static bool begin(struct bench_rig *rig, enum bench_kind kind)
{
    uint32_t victim = rig->page->victim, node = victim / rig->procs;
    const struct rig_slot *slot = &rig->page->slots[victim];
    if (kind == BENCH_DEATH && kill((pid_t)slot->pid, SIGKILL) != 0) {
        fprintf(stderr, "%s: process %u (rank %u) cannot be killed: %s\n", command, slot->pid,
                victim, strerror(errno));
        return false;
    }
    if (kind != BENCH_DEATH && bench_relays_post(&rig->relays, node, victim) != 0) {
        fprintf(stderr, "%s: the relay of node %u is gone: %s\n", command, node, strerror(errno));
        return false;
    }
    return true;
}

bool bench_rig_measure(struct bench_rig *rig, enum bench_kind kind, struct bench_sample *sample)
{
    struct rig_page *page = rig->page;
    uint32_t survivors = bench_rig_size(rig) - 1;
    if (!prepare(rig, kind) || !rig_pass_ms(&rig->rig, BENCH_SETTLE_MS))
        return false;
    sample->from_ns = mu_now_ns();
    if (!begin(rig, kind) || !wait_for(rig, &page->read[kind], survivors, BENCH_WAIT_MS))
        return false;
    uint64_t last_ns = 0;
    for (uint32_t i = 0; i < page->size; i++)
        if (i != page->victim && page->slots[i].read_ns[kind] > last_ns)
            last_ns = page->slots[i].read_ns[kind];
    sample->missed = survivors - page->read[kind];
    sample->last_ms =
        sample->missed > 0 ? BENCH_WAIT_MS : (double)(last_ns - sample->from_ns) / 1e6;
    return true;
}

static bool has_reported(const struct bench_rig *rig)
{
    for (uint32_t i = 0; i < rig->nodes; i++)
        if (rig->told[i].ns == 0)
            return false;
    return rig->seen_ns > 0;
}

bool bench_rig_reported(struct bench_rig *rig)
{
    uint64_t end_ns = mu_now_ns() + REPORT_WAIT_MS * UINT64_C(1000000);
    while (!has_reported(rig) && mu_now_ns() < end_ns)
        if (!rig_pass_ms(&rig->rig, 1))
            return false;
    return true;
}
