/* Agreements as a program uses them, with real daemons: tests/system/agree.sh.
 *
 *     agreeing WHAT       in a job; every process that lives to the end prints "WHAT RANK good" */
#define _GNU_SOURCE
#include "muster.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct muster *m;
static struct muster_error error;
static uint32_t rank, size;

static _Noreturn void fail(int line, const char *what)
{
    fprintf(stderr, "agreeing: line %d: rank %" PRIu32 ": %s (%s)\n", line, rank, what, error.text);
    exit(1);
}

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail(__LINE__, #condition);                                                            \
    } while (0)

static uint64_t without(uint32_t number)
{
    return ~(UINT64_C(1) << number);
}

/* What is left when these ranks have contributed. */
static uint64_t expected(uint32_t first, uint32_t step)
{
    uint64_t bits = UINT64_MAX;
    for (uint32_t i = first; i < size; i += step)
        bits &= without(i);
    return bits;
}

static int agree(struct muster_group *group, uint64_t *bits)
{
    *bits = without(rank);
    return muster_agree(m, group, bits, &error);
}

/* ---- what ---- */

/* The AND of all, again and again. */
static void plain(void)
{
    uint64_t bits;
    for (int i = 0; i < 200; i++) {
        EXPECT(agree(MUSTER_ALL, &bits) == MUSTER_AGREED);
        EXPECT(bits == expected(0, 1));
    }
    EXPECT(muster_barrier(m, MUSTER_ALL, &error) == MUSTER_AGREED);
}

/* Odd ranks leave with exit code 0: that is no failure. */
static void leaving(void)
{
    uint64_t bits;
    uint32_t count;
    for (int i = 0; i < 3; i++)
        EXPECT(agree(MUSTER_ALL, &bits) == MUSTER_AGREED);
    if (rank % 2 == 1) {
        printf("leaving %" PRIu32 " good\n", rank);
        fflush(stdout);
        muster_close(m);
        _exit(0);
    }
    do {
        EXPECT(agree(MUSTER_ALL, &bits) == MUSTER_AGREED);
    } while (bits != expected(0, 2));
    EXPECT(muster_get_failed(m, MUSTER_ALL, NULL, 0, &count, &error) == 0 && count == 0);
    EXPECT(muster_shrink(m, MUSTER_ALL, &error) == 0);
    EXPECT(muster_group_size(m, MUSTER_ALL) == (size + 1) / 2);
    EXPECT(muster_group_index(m, MUSTER_ALL, rank) == rank / 2);
    EXPECT(muster_group_member(m, MUSTER_ALL, rank / 2) == rank);
    EXPECT(muster_group_index(m, MUSTER_ALL, 1) == UINT32_MAX);
}

/* Rank 1 dies.  All are told, until all have acknowledged. */
static void dying(void)
{
    uint64_t bits;
    uint32_t failed[2], count;
    EXPECT(agree(MUSTER_ALL, &bits) == MUSTER_AGREED);
    if (rank == 1)
        raise(SIGKILL);
    int result = agree(MUSTER_ALL, &bits);
    EXPECT(result == MUSTER_AGREED_FAILURES && (bits | UINT64_C(2)) == (expected(0, 1) | 2));
    EXPECT(agree(MUSTER_ALL, &bits) == MUSTER_AGREED_FAILURES);
    if (rank != 0)
        EXPECT(muster_ack_failed(m, MUSTER_ALL, &error) == 0);
    EXPECT(agree(MUSTER_ALL, &bits) == MUSTER_AGREED_FAILURES); /* rank 0 has not */
    EXPECT(muster_ack_failed(m, MUSTER_ALL, &error) == 0);
    EXPECT(agree(MUSTER_ALL, &bits) == MUSTER_AGREED);
    EXPECT(muster_get_failed(m, MUSTER_ALL, failed, 2, &count, &error) == 0);
    EXPECT(count == 1 && failed[0] == 1);
}

/* Every rank but one stops the daemon that it is a child of: nothing proves that these nodes are
 * dead, and the last one has only the launcher to ask. */
static void last(void)
{
    uint64_t bits;
    EXPECT(agree(MUSTER_ALL, &bits) == MUSTER_AGREED);
    if (rank != 1) {
        kill(getppid(), SIGSTOP);
        for (;;)
            pause();
    }
    for (int i = 0; i < 10; i++)
        EXPECT(agree(MUSTER_ALL, &bits) == MUSTER_AGREED_FAILURES);
    EXPECT(muster_ack_failed(m, MUSTER_ALL, &error) == 0);
    EXPECT(agree(MUSTER_ALL, &bits) == MUSTER_AGREED);
}

/* Even and odd ranks have a group each, and a second one; all of it at once. */
static void groups(void)
{
    uint32_t ranks[64], count = 0;
    struct muster_group *first, *second;
    uint64_t bits, more;
    for (uint32_t i = rank % 2; i < size; i += 2)
        ranks[count++] = i;
    EXPECT(muster_group_create(m, ranks, count, &first, &error) == 0);
    EXPECT(muster_group_create(m, ranks, count, &second, &error) == 0);
    EXPECT(muster_group_size(m, first) == count && muster_group_index(m, first, rank) == rank / 2);
    for (int i = 0; i < 50; i++) {
        EXPECT(muster_agree_start(m, second, without(rank + 1), &error) == 0);
        EXPECT(muster_agree_start(m, MUSTER_ALL, without(rank), &error) == 0);
        EXPECT(agree(first, &bits) == MUSTER_AGREED && bits == expected(rank % 2, 2));
        EXPECT(muster_agree_wait(m, MUSTER_ALL, &bits, MUSTER_FOREVER, &error) == MUSTER_AGREED);
        EXPECT(bits == expected(0, 1));
        EXPECT(muster_agree_wait(m, second, &more, MUSTER_FOREVER, &error) == MUSTER_AGREED);
        EXPECT((~more >> 1 | ~(UINT64_MAX >> 1)) == (~expected(rank % 2, 2) | ~(UINT64_MAX >> 1)));
    }
    muster_group_free(second);
    EXPECT(muster_barrier(m, first, &error) == MUSTER_AGREED);
    muster_group_free(first);
}

/* Rank 0 contributes last: when the others have seen that nothing is decided yet. */
static void nonblocking(void)
{
    uint64_t bits = 7;
    uint32_t ranks[64];
    struct muster_group *seen;
    struct pollfd fd = {.fd = muster_agree_fd(m, MUSTER_ALL), .events = POLLIN};
    for (uint32_t i = 0; i < size; i++)
        ranks[i] = i;
    EXPECT(fd.fd > 2);
    EXPECT(muster_group_create(m, ranks, size, &seen, &error) == 0);
    if (rank == 0) {
        EXPECT(muster_barrier(m, seen, &error) == MUSTER_AGREED);
        EXPECT(agree(MUSTER_ALL, &bits) == MUSTER_AGREED);
    } else {
        EXPECT(muster_agree_start(m, MUSTER_ALL, without(rank), &error) == 0);
        EXPECT(muster_agree_start(m, MUSTER_ALL, 0, &error) == -1 &&
               error.code == MUSTER_E_INVALID);
        EXPECT(muster_agree_test(m, MUSTER_ALL, &bits, &error) == MUSTER_PENDING && bits == 7);
        EXPECT(muster_agree_wait(m, MUSTER_ALL, &bits, 1000, &error) == MUSTER_PENDING);
        EXPECT(poll(&fd, 1, 0) == 0);
        EXPECT(muster_barrier(m, seen, &error) == MUSTER_AGREED);
        EXPECT(poll(&fd, 1, -1) == 1);
        EXPECT(muster_agree_test(m, MUSTER_ALL, &bits, &error) == MUSTER_AGREED);
    }
    EXPECT(bits == expected(0, 1));
    EXPECT(muster_agree_test(m, MUSTER_ALL, &bits, &error) == -1 && error.code == MUSTER_E_INVALID);
    muster_group_free(seen);
}

/* Ranks of node 1 die before they have joined: their node must learn of the groups. */
static void strangers(void)
{
    uint64_t bits;
    uint32_t ranks[64], count;
    struct muster_group *group;
    if (muster_node(m) == 1)
        raise(SIGKILL);
    for (count = 0; count < size; count++)
        ranks[count] = size - 1 - count;
    EXPECT(agree(MUSTER_ALL, &bits) == MUSTER_AGREED_FAILURES);
    EXPECT(muster_group_create(m, ranks, count - 1, &group, &error) == 0 || rank == 0);
    if (rank != 0) {
        EXPECT(agree(group, &bits) == MUSTER_AGREED_FAILURES);
        EXPECT(muster_shrink(m, group, &error) == 0);
        EXPECT(agree(group, &bits) == MUSTER_AGREED);
        muster_group_free(group);
    }
}

/* As many ranks as GONE says fail, by whoever runs the test.  The others agree all the time, until
 * all of these are known to have failed and an agreement without them is there, and say when. */
static void going_on(void)
{
    uint64_t bits;
    uint32_t count = 0;
    char *gone = getenv("GONE");
    uint32_t wanted = gone == NULL ? 0 : (uint32_t)atoi(gone);
    printf("here %" PRIu32 " %s\n", rank, getenv("MUSTER_SOCKET"));
    fflush(stdout);
    for (int result = MUSTER_AGREED_FAILURES; count < wanted || result != MUSTER_AGREED;) {
        result = agree(MUSTER_ALL, &bits);
        EXPECT(result == MUSTER_AGREED || result == MUSTER_AGREED_FAILURES);
        EXPECT(muster_ack_failed(m, MUSTER_ALL, &error) == 0);
        EXPECT(muster_get_failed(m, MUSTER_ALL, NULL, 0, &count, &error) == 0);
        usleep(2000);
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("after %" PRIu64 "\n", (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
}

static void *in_a_thread(void *group)
{
    uint64_t bits;
    struct muster_error ours;
    for (int i = 0; i < 50; i++) {
        bits = without(rank);
        if (muster_agree(m, group, &bits, &ours) != MUSTER_AGREED || bits != expected(0, 1))
            return "wrong";
    }
    return NULL;
}

/* Each thread has a group of its own. */
static void threads(void)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    struct muster_group *group[THREADS];
    uint32_t ranks[64];
    void *wrong;
    for (uint32_t i = 0; i < size; i++)
        ranks[i] = i;
    for (int i = 0; i < THREADS; i++)
        EXPECT(muster_group_create(m, ranks, size, &group[i], &error) == 0);
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&thread[i], NULL, in_a_thread, group[i]) == 0);
    for (int i = 0; i < THREADS; i++) {
        EXPECT(pthread_join(thread[i], &wrong) == 0);
        EXPECT(wrong == NULL);
        muster_group_free(group[i]);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } whats[] = {
        {"plain", plain},     {"leaving", leaving},     {"dying", dying},
        {"groups", groups},   {"strangers", strangers}, {"nonblocking", nonblocking},
        {"threads", threads}, {"going_on", going_on},   {"last", last},
    };
    EXPECT(muster_open(&m, &error) == 0);
    rank = muster_rank(m);
    size = muster_size(m);
    for (size_t i = 0; i < sizeof whats / sizeof whats[0]; i++)
        if (argc == 2 && strcmp(argv[1], whats[i].name) == 0) {
            whats[i].run();
            printf("%s %" PRIu32 " good\n", whats[i].name, rank);
            muster_close(m);
            return 0;
        }
    fail(__LINE__, "what?");
}
