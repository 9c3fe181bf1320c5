/* Solves cos x = x by processes of which any may die:
 *
 *     muster run --nodes 4 -n 16 --on-failure continue solve [RANK@ROUND | node:RANK@ROUND]...
 *
 * Each round the interval that has the solution is cut into as many parts as there are processes.
 * Each looks at its own part, and says by one bit whether the solution is there.  They agree: the
 * AND of all bits tells everybody in which part it is, and whether all think that it is narrow
 * enough.
 *
 * When somebody has failed nobody knows what is in its part.  All are told so by the same
 * agreement: the survivors shrink, which gives them new numbers, and do the round again with larger
 * parts.
 *
 * To see that, let some die: '5@2' is killed in round 2, 'node:12@4' takes its node along. */
#define _GNU_SOURCE
#include <muster.h>

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROCESSES_MAX = 63 }; /* a bit for each, and one for whether it is done */

#define DONE      (UINT64_C(1) << PROCESSES_MAX)
#define PRECISION 1e-12

static struct muster *m;
static struct muster_error error;

static _Noreturn void fail(const char *text)
{
    fprintf(stderr, "solve: %s\n", text);
    exit(1);
}

static double f(double x)
{
    return cos(x) - x;
}

/* So that there is something to see. */
static void die_when_told(int argc, char **argv, unsigned round)
{
    for (int i = 1; i < argc; i++) {
        bool node = strncmp(argv[i], "node:", 5) == 0;
        unsigned rank, when;
        if (sscanf(argv[i] + (node ? 5 : 0), "%u@%u", &rank, &when) != 2)
            fail("who dies is RANK@ROUND or node:RANK@ROUND");
        if (rank != muster_rank(m) || when != round)
            continue;
        if (node)
            kill(getppid(), SIGKILL); /* its daemon: all its processes go with it */
        kill(getpid(), SIGKILL);
    }
}

/* What this process says of its part.  Bits are ANDed: to say something is to clear its bit. */
static uint64_t look(double low, double high, uint32_t number, uint32_t parts)
{
    double width = (high - low) / parts;
    double from = low + width * number,
           to = number + 1 == parts ? high : low + width * (number + 1);
    uint64_t bits = UINT64_MAX;
    if (f(from) > 0 && f(to) <= 0)
        bits &= ~(UINT64_C(1) << number);
    if (width > PRECISION)
        bits &= ~DONE;
    return bits;
}

/* The part whose bit is clear; 'parts' when nobody has found it. */
static uint32_t part_of(uint64_t bits, uint32_t parts)
{
    uint32_t part = 0;
    while (part < parts && (bits >> part & 1) != 0)
        part++;
    return part;
}

int main(int argc, char **argv)
{
    double low = 0, high = 1;
    if (muster_open(&m, &error) != 0)
        fail(error.text);
    if (muster_size(m) > PROCESSES_MAX)
        fail("there are more than 63 processes");
    for (unsigned round = 1;; round++) {
        die_when_told(argc, argv, round);
        uint32_t parts = muster_group_size(m, MUSTER_ALL);
        uint32_t number = muster_group_index(m, MUSTER_ALL, muster_rank(m));
        uint64_t bits = look(low, high, number, parts);
        int result = muster_agree(m, MUSTER_ALL, &bits, &error);
        if (result == MUSTER_AGREED_FAILURES) {
            if (muster_shrink(m, MUSTER_ALL, &error) != 0)
                fail(error.text);
            if (muster_group_index(m, MUSTER_ALL, muster_rank(m)) == 0)
                printf("round %u: %" PRIu32 " of %" PRIu32 " processes are left\n", round,
                       muster_group_size(m, MUSTER_ALL), muster_size(m));
            continue; /* nobody has looked at the parts of those who failed */
        }
        if (result < 0)
            fail(error.text);
        uint32_t part = part_of(bits, parts);
        if (part == parts)
            fail("nobody has found the solution in any part");
        double width = (high - low) / parts;
        if (part + 1 < parts)
            high = low + width * (part + 1);
        low += width * part;
        if ((bits & DONE) == 0)
            continue;
        if (muster_group_index(m, MUSTER_ALL, muster_rank(m)) == 0)
            printf("cos x = x for x = %.10f, found by %" PRIu32 " processes in %u rounds\n", low,
                   parts, round);
        muster_close(m);
        return 0;
    }
}
