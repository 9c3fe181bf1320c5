#include "cli/bench_rig.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int bench_rig_make(struct bench_rig *rig)
{
    int page_fd = bench_page_make(bench_rig_size(rig), &rig->page);
    if (page_fd < 0)
        return -1;
    int made = bench_relays_start(&rig->relays, rig->nodes, page_fd, !rig->plain_relays);
    int error = errno;
    close(page_fd);
    errno = error;
    return made;
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

static bool settle(struct bench_rig *rig)
{
    uint64_t end_ns = bench_now_ns() + BENCH_SETTLE_MS * UINT64_C(1000000);
    while (bench_now_ns() < end_ns)
        if (!rig->pass_ms(rig->owner))
            return false;
    return true;
}

/* One message that does not count: what a process does for the first time takes longer (the dynamic
 * linker looks its functions up).  Of libmuster a client has read its history by now. */
static bool warm_up(struct bench_rig *rig)
{
    struct bench_page *page = rig->page;
    if (!settle(rig) || bench_relays_post(&rig->relays, 0, BENCH_RANK_NONE) != 0 ||
        !wait_for(rig, &page->bare, page->size, BENCH_WAIT_MS) || !settle(rig))
        return false;
    if (page->bare < page->size) {
        fprintf(stderr, "muster bench: bare sockets reached %u of %u processes in %u s\n",
                page->bare, page->size, BENCH_WAIT_MS / 1000);
        return false;
    }
    for (uint32_t i = 0; i < page->size; i++)
        page->slots[i].bare_ns = page->slots[i].bare = 0;
    page->bare = 0;
    return true;
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

bool bench_rig_death(struct bench_rig *rig, struct bench_sample *sample)
{
    struct bench_page *page = rig->page;
    uint32_t victim = page->victim, survivors = bench_rig_size(rig) - 1;
    sample->from_ns = bench_now_ns();
    if (kill((pid_t)page->slots[victim].pid, SIGKILL) != 0) {
        fprintf(stderr, "muster bench: process %u (rank %u) cannot be killed: %s\n",
                page->slots[victim].pid, victim, strerror(errno));
        return false;
    }
    if (!wait_for(rig, &page->told, survivors, BENCH_WAIT_MS))
        return false;
    uint64_t last_ns = 0;
    for (uint32_t i = 0; i < page->size; i++)
        if (i != victim && page->slots[i].told_ns > last_ns)
            last_ns = page->slots[i].told_ns;
    sample->missed = survivors - page->told;
    sample->last_ms =
        sample->missed > 0 ? BENCH_WAIT_MS : (double)(last_ns - sample->from_ns) / 1e6;
    return settle(rig);
}

bool bench_rig_floor(struct bench_rig *rig, struct bench_sample *sample)
{
    struct bench_page *page = rig->page;
    uint32_t victim = page->victim, survivors = bench_rig_size(rig) - 1;
    sample->from_ns = bench_now_ns();
    if (bench_relays_post(&rig->relays, page->slots[victim].node, victim) != 0) {
        fprintf(stderr, "muster bench: the relay of node %u is gone: %s\n",
                page->slots[victim].node, strerror(errno));
        return false;
    }
    if (!wait_for(rig, &page->bare, survivors, BENCH_WAIT_MS))
        return false;
    uint64_t last_ns = 0;
    for (uint32_t i = 0; i < page->size; i++)
        if (page->slots[i].bare_ns > last_ns)
            last_ns = page->slots[i].bare_ns;
    sample->missed = survivors - page->bare;
    sample->last_ms =
        sample->missed > 0 ? BENCH_WAIT_MS : (double)(last_ns - sample->from_ns) / 1e6;
    return settle(rig);
}
