#include "bench/procfail/rig.h"

#include "rig/libexec.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool start_relays(struct bench_rig *rig)
{
    int page_fd = bench_page_make(bench_rig_size(rig), &rig->page);
    bool is_ok = page_fd >= 0 && bench_relays_start(&rig->relays, rig->nodes, page_fd) == 0;
    if (!is_ok)
        fprintf(stderr, "muster bench: %u relays: %s\n", rig->nodes, strerror(errno));
    if (page_fd >= 0)
        close(page_fd);
    return is_ok;
}

/* Relays that sleep go on sleeping: what changes is how they will wake up. */
static bool prepare(struct bench_rig *rig, enum bench_kind kind)
{
    if (kind == BENCH_DEATH ||
        bench_relays_set_realtime(&rig->relays, kind == BENCH_BARE_REALTIME) == 0)
        return true;
    fprintf(stderr, "muster bench: the priority of the relays cannot be set: %s\n",
            strerror(errno));
    return false;
}

bool bench_rig_make(struct bench_rig *rig)
{
    int error = libexec_find("muster-bench-client", rig->client);
    if (error != 0) {
        fprintf(stderr, "muster bench: the client %s cannot be started: %s\n", rig->client,
                strerror(error));
        return false;
    }
    if (!start_relays(rig))
        return false;
    rig->can_realtime = bench_relays_set_realtime(&rig->relays, true) == 0;
    return prepare(rig, BENCH_BARE);
}

void bench_rig_free(struct bench_rig *rig)
{
    bench_relays_stop(&rig->relays);
    bench_page_free(rig->page);
}

/* True also when it is too late: the counter tells. */
static bool wait_for(struct bench_rig *rig, const _Atomic uint32_t *counter, uint32_t wanted,
                     uint64_t limit_ms)
{
    uint64_t end_ns = bench_now_ns() + limit_ms * 1000000u;
    while (atomic_load(counter) < wanted && bench_now_ns() < end_ns)
        if (!rig->pass_ms(rig->owner))
            return false;
    return true;
}

bool bench_rig_settle(struct bench_rig *rig)
{
    uint64_t end_ns = bench_now_ns() + BENCH_SETTLE_MS * UINT64_C(1000000);
    while (bench_now_ns() < end_ns)
        if (!rig->pass_ms(rig->owner))
            return false;
    return true;
}

/* One message that does not count: what a process does for the first time takes longer.  Of
 * libmuster a client has read its history by now. */
static bool warm_up(struct bench_rig *rig)
{
    struct bench_page *page = rig->page;
    if (!bench_rig_settle(rig) || bench_relays_post(&rig->relays, 0, BENCH_RANK_NONE) != 0 ||
        !wait_for(rig, &page->warm, page->size, BENCH_WAIT_MS))
        return false;
    if (page->warm < page->size)
        fprintf(stderr, "muster bench: bare sockets reached %u of %u processes in %u s\n",
                page->warm, page->size, BENCH_WAIT_MS / 1000);
    return page->warm == page->size;
}

bool bench_rig_ready(struct bench_rig *rig)
{
    if (!wait_for(rig, &rig->page->ready, bench_rig_size(rig), BENCH_START_MS))
        return false;
    if (rig->page->ready < bench_rig_size(rig)) {
        fprintf(stderr, "muster bench: %u of %u processes were there after %u s\n",
                rig->page->ready, bench_rig_size(rig), BENCH_START_MS / 1000);
        return false;
    }
    return warm_up(rig);
}

static bool begin(struct bench_rig *rig, enum bench_kind kind)
{
    uint32_t victim = rig->page->victim;
    const struct bench_slot *slot = &rig->page->slots[victim];
    if (kind == BENCH_DEATH && kill((pid_t)slot->pid, SIGKILL) != 0) {
        fprintf(stderr, "muster bench: process %u (rank %u) cannot be killed: %s\n", slot->pid,
                victim, strerror(errno));
        return false;
    }
    if (kind != BENCH_DEATH && bench_relays_post(&rig->relays, slot->node, victim) != 0) {
        fprintf(stderr, "muster bench: the relay of node %u is gone: %s\n", slot->node,
                strerror(errno));
        return false;
    }
    return true;
}

bool bench_rig_measure(struct bench_rig *rig, enum bench_kind kind, struct bench_sample *sample)
{
    struct bench_page *page = rig->page;
    uint32_t survivors = bench_rig_size(rig) - 1;
    if (!prepare(rig, kind) || !bench_rig_settle(rig))
        return false;
    sample->from_ns = bench_now_ns();
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
