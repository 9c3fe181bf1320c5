#include "host/clock.h"
#include "rig/role.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { SHRINK_EVERY = 64 };

static void wait_go(struct client *c)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    struct muster_error error;
    if (muster_barrier(c->muster, MUSTER_ALL, &error) < 0) /* all links are there from here on */
        client_end(c, &error);
    client_is_ready(c);
    while (!c->page->go)
        nanosleep(&moment, NULL);
}

/* ---- how long ---- */

static _Noreturn void die(const struct rig_page *page)
{
    if (page->agree.kill == RIG_KILL_NODE)
        kill(getppid(), SIGKILL);
    kill(getpid(), SIGKILL);
    abort();
}

static void take_times(struct client *c)
{
    struct rig_page *page = c->page;
    _Atomic uint64_t *log = rig_page_log(page, c->rank);
    struct muster_error error;
    for (uint32_t i = 0; i < page->agree.count; i++) {
        uint64_t bits = UINT64_MAX;
        if (page->agree.kill != RIG_KILL_NOBODY && i == page->agree.warm &&
            c->rank == page->agree.victim)
            die(page);
        uint64_t from_ns = mu_now_ns();
        int result = muster_agree(c->muster, MUSTER_ALL, &bits, &error);
        log[i] = mu_now_ns() - from_ns;
        if (result < 0)
            client_end(c, &error);
        if (result == MUSTER_AGREED_FAILURES)
            muster_ack_failed(c->muster, MUSTER_ALL, &error);
        if (bits != UINT64_MAX ||
            (result == MUSTER_AGREED_FAILURES && page->agree.kill == RIG_KILL_NOBODY))
            c->slot->wrong++;
        c->slot->logged = i + 1;
    }
    while (!page->is_over)
        pause(); /* until it is killed */
}

/* ---- what is decided ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x100000001b3) ^ hash >> 29;
}

/* Each clears the bit of its rank: what is set after all of it is of those who failed. */
static bool can_be(const struct rig_page *page, uint64_t bits, const uint32_t *failed,
                   uint32_t failed_count)
{
    uint64_t living = 0;
    bool *is_failed = calloc(page->size, sizeof *is_failed);
    for (uint32_t i = 0; i < failed_count; i++)
        is_failed[failed[i]] = true;
    for (uint32_t rank = 0; rank < page->size; rank++)
        living |= is_failed[rank] ? 0 : UINT64_C(1) << rank % 64;
    free(is_failed);
    return (bits & living) == 0;
}

static void agree_for_ever(struct client *c)
{
    struct rig_page *page = c->page;
    _Atomic uint64_t *log = rig_page_log(page, c->rank);
    uint64_t entries = page->log_bytes / sizeof *log;
    uint32_t *failed = calloc(page->size, sizeof *failed);
    if (failed == NULL)
        client_fail("memory", "for those who failed");
    struct muster_error error;
    for (uint64_t round = 0; !page->is_over; round++) {
        uint64_t bits = UINT64_MAX & ~(UINT64_C(1) << c->rank % 64);
        uint32_t count = 0;
        bool shrink = round % SHRINK_EVERY == SHRINK_EVERY - 1;
        int result = shrink ? muster_shrink(c->muster, MUSTER_ALL, &error)
                            : muster_agree(c->muster, MUSTER_ALL, &bits, &error);
        if (result < 0)
            client_end(c, &error);
        if (muster_get_failed(c->muster, MUSTER_ALL, failed, page->size, &count, &error) != 0)
            client_end(c, &error);
        uint64_t digest = mix(mix(round, shrink ? 0 : bits), (uint64_t)result);
        for (uint32_t i = 0; i < count; i++)
            digest = mix(digest, failed[i]);
        digest = mix(digest, muster_group_size(c->muster, MUSTER_ALL));
        /* From the end on processes leave, which is no failure. */
        if (!shrink && !page->is_over && !can_be(page, bits, failed, count))
            c->slot->wrong++;
        log[round % entries] = digest;
        c->slot->logged = round + 1;
        if (result == MUSTER_AGREED_FAILURES)
            muster_ack_failed(c->muster, MUSTER_ALL, &error);
    }
    free(failed);
}

void role_agree(struct client *c)
{
    wait_go(c);
    if (c->page->agree.count > 0)
        take_times(c);
    else
        agree_for_ever(c);
}
