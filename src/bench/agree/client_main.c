/* muster-bench-agree, which 'muster bench agree' and 'agree-stress' start on every node: agrees, as
 * any program would, and writes down how long it took, or what was decided.
 *
 *     muster-bench-agree BENCH FD      in a job; BENCH is the process id of the bench, FD its page
 */
#include "bench/agree/page.h"
#include "rig/page.h"
#include "muster.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { SHRINK_EVERY = 64 };

static struct agree_page *page;
static struct agree_slot *slot;
static _Atomic uint64_t *mine; /* log */
static struct muster *m;
static uint32_t *failed; /* ranks, as told */

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "muster-bench-agree: %s: %s\n", what, why);
    exit(1);
}

/* The daemon was killed, or the bench is over: no surprise. */
static _Noreturn void end(const struct muster_error *error)
{
    if (error->code == MUSTER_E_NO_DAEMON || page->is_over)
        exit(0);
    fail("agreement", error->text);
}

static void wait_go(void)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    struct muster_error error;
    if (muster_barrier(m, MUSTER_ALL, &error) < 0) /* all links are there from here on */
        end(&error);
    slot->pid = (uint32_t)getpid();
    atomic_fetch_add(&page->ready, 1);
    while (!page->go)
        nanosleep(&moment, NULL);
}

/* ---- how long ---- */

static void die(void)
{
    if (page->kill == AGREE_KILL_NODE)
        kill(getppid(), SIGKILL);
    kill(getpid(), SIGKILL);
}

static void take_times(uint32_t rank)
{
    struct muster_error error;
    for (uint32_t i = 0; i < page->count; i++) {
        uint64_t bits = UINT64_MAX;
        if (page->kill != AGREE_KILL_NOBODY && i == page->warm && rank == page->victim)
            die();
        uint64_t from_ns = bench_now_ns();
        int result = muster_agree(m, MUSTER_ALL, &bits, &error);
        mine[i] = bench_now_ns() - from_ns;
        if (result < 0)
            end(&error);
        if (result == MUSTER_FAILED)
            muster_ack_failed(m, MUSTER_ALL, &error);
        if (bits != UINT64_MAX || (result == MUSTER_FAILED && page->kill == AGREE_KILL_NOBODY))
            slot->wrong++;
        slot->logged = i + 1;
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
static bool can_be(uint64_t bits, uint32_t failed_count)
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

static void agree_for_ever(uint32_t rank)
{
    struct muster_error error;
    for (uint64_t round = 0; !page->is_over; round++) {
        uint64_t bits = UINT64_MAX & ~(UINT64_C(1) << rank % 64);
        uint32_t count = 0;
        bool shrink = round % SHRINK_EVERY == SHRINK_EVERY - 1;
        int result = shrink ? muster_shrink(m, MUSTER_ALL, &error)
                            : muster_agree(m, MUSTER_ALL, &bits, &error);
        if (result < 0)
            end(&error);
        if (muster_get_failed(m, MUSTER_ALL, failed, page->size, &count, &error) != 0)
            end(&error);
        uint64_t digest = mix(mix(round, shrink ? 0 : bits), (uint64_t)result);
        for (uint32_t i = 0; i < count; i++)
            digest = mix(digest, failed[i]);
        digest = mix(digest, muster_group_size(m, MUSTER_ALL));
        /* From the end on processes leave, which is no failure. */
        if (!shrink && !page->is_over && !can_be(bits, count))
            slot->wrong++;
        mine[round % page->log] = digest;
        slot->logged = round + 1;
        if (result == MUSTER_FAILED)
            muster_ack_failed(m, MUSTER_ALL, &error);
    }
}

int main(int argc, char **argv)
{
    struct muster_error error;
    if (argc != 3)
        fail("it takes BENCH and FD", "'muster bench agree' starts it, nobody else");
    prctl(PR_SET_NAME, "bench-agree"); /* for who profiles it */
    if (muster_open(&m, &error) != 0)
        fail("muster_open", error.text);
    page =
        agree_page_get((uint32_t)strtoul(argv[1], NULL, 10), (uint32_t)strtoul(argv[2], NULL, 10));
    if (page == NULL || muster_rank(m) >= page->size)
        fail("the page of the bench", page == NULL ? strerror(errno) : "is for fewer processes");
    uint32_t rank = muster_rank(m);
    slot = &page->slots[rank];
    mine = agree_page_log(page, rank);
    failed = calloc(page->size, sizeof *failed);
    if (failed == NULL)
        fail("memory", strerror(errno));
    wait_go();
    if (page->count > 0)
        take_times(rank);
    else
        agree_for_ever(rank);
    return 0;
}
