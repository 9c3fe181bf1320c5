/* A process that opens its job with libmuster, and may exit with code 0 without closing it.
 *
 *     goodbye none         all close
 *     goodbye RANK         this one does not; the others wait until they are told, and say what
 *     goodbye all          nobody does
 *     goodbye last         rank 0 does not, when it was told that all others have left
 *     goodbye child        nor does a child of rank 0, which ends before it
 *     goodbye twice RANK   this one closes one of two handles */
#include <muster.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct muster *m;
static struct muster_error error;

static struct muster *open_one(void)
{
    struct muster *made;
    if (muster_open(&made, &error) == 0)
        return made;
    fprintf(stderr, "goodbye: %s\n", error.text);
    exit(2);
}

static struct muster_event next(void)
{
    struct muster_event event;
    if (muster_next(m, &event, INT64_C(20000000000), &error) == 1)
        return event;
    printf("rank %" PRIu32 " was told nothing\n", muster_rank(m));
    exit(3);
}

static void hear_of(uint32_t rank)
{
    struct muster_event event;
    do
        event = next();
    while (event.type != MUSTER_EVENT_PROCESS || event.rank != rank);
    printf("rank %" PRIu32 ": %s, exit code %" PRId32 ": %s\n", muster_rank(m),
           muster_verdict_name(event.verdict), event.exit_code, event.text);
}

static void hear_that_others_left(void)
{
    for (uint32_t left = 0; left + 1 < muster_size(m);)
        left += next().type == MUSTER_EVENT_PROCESS;
}

static void child_without_a_word(void)
{
    pid_t child = fork();
    if (child == 0) {
        open_one();
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

/* So that all have joined. */
static void meet(void)
{
    if (muster_barrier(m, MUSTER_ALL, &error) < 0)
        exit(4);
}

int main(int argc, char **argv)
{
    const char *who = argc > 1 ? argv[1] : "none";
    m = open_one();
    meet();
    bool twice = strcmp(who, "twice") == 0 && argc > 2, all = strcmp(who, "all") == 0;
    const char *number = twice ? argv[2] : who;
    bool is_number = number[0] >= '0' && number[0] <= '9';
    bool is_one = is_number && muster_rank(m) == (uint32_t)atoi(number);
    if (twice && is_one)
        muster_close(open_one());
    if (all || is_one)
        exit(0);
    if (is_number)
        hear_of((uint32_t)atoi(number));
    if (strcmp(who, "child") == 0 && muster_rank(m) == 0)
        child_without_a_word();
    if (strcmp(who, "last") == 0 && muster_rank(m) == 0) {
        hear_that_others_left();
        exit(0);
    }
    muster_close(m);
    return 0;
}
