/* Pi, by ranks of which any may be killed:
 *
 *     muster run -n 32 --on-failure continue pi [MILLIONS OF STEPS]
 *
 * The area under 4 / (1 + x^2) from 0 to 1 is cut into slices, four for each rank but the highest.
 * Whoever has computed one prints it, and all of them add up to pi.  The processes do not talk to
 * each other: who computes what follows from who is gone, which muster tells everyone.
 *
 *   - A rank computes its own slices and leaves.
 *   - The highest rank that is still there is the keeper.  It computes the slices of the dead, and
 *     leaves when it is alone.  How far the dead came nobody knows, so it computes all of theirs,
 *     and a slice may be printed twice, with the same value: add it up once.
 *   - The keeper dies: the next one is the keeper, and computes the slices of all the dead.
 *
 * Whichever process is killed, and whenever, all slices are printed: a rank that has slices is not
 * the keeper before the highest one is gone, and that one has none that could be lost with it.  So
 * it is when several are killed, as long as the highest rank lives; without it, as long as somebody
 * is still there to hear of it. */
#include <muster.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SLICES = 4, PARTS = 100 }; /* of a rank; of a slice, between which we listen */

enum fate { HERE, LEFT, DEAD };

static struct muster *m;
static uint32_t self, size;
static uint32_t sharers; /* ranks that have slices of their own */
static struct rank {
    enum fate fate;
    bool computed; /* by this process */
} * ranks;
static long steps = 10 * 1000 * 1000; /* of a slice */

/* Reads all that muster has to say; waits for the first of it only. */
static void hear(int64_t timeout_ns)
{
    struct muster_event event;
    struct muster_error error;
    int got;
    while ((got = muster_next(m, &event, timeout_ns, &error)) == 1) {
        if (event.type == MUSTER_EVENT_PROCESS && event.verdict == MUSTER_DEAD)
            ranks[event.rank].fate = DEAD;
        if (event.type == MUSTER_EVENT_PROCESS && event.verdict == MUSTER_LEFT)
            ranks[event.rank].fate = LEFT;
        timeout_ns = MUSTER_NOW;
    }
    if (got < 0) {
        fprintf(stderr, "pi: %s\n", error.text);
        exit(1);
    }
}

static bool are_gone(uint32_t first, uint32_t end)
{
    while (first < end && ranks[first].fate != HERE)
        first++;
    return first >= end;
}

static bool is_keeper(void)
{
    return are_gone(self + 1, size);
}

/* The rank whose slices this process computes next; 'sharers': there is none. */
static uint32_t next_rank(void)
{
    if (self < sharers && !ranks[self].computed)
        return self;
    uint32_t rank = is_keeper() ? 0 : sharers;
    while (rank < sharers && (ranks[rank].fate != DEAD || ranks[rank].computed))
        rank++;
    return rank;
}

static void compute(uint32_t slice)
{
    double width = 1.0 / sharers / SLICES, step = width / (double)steps, sum = 0;
    for (int part = 0; part < PARTS; part++) {
        hear(MUSTER_NOW);
        for (long i = steps * part / PARTS; i < steps * (part + 1) / PARTS; i++) {
            double x = slice * width + ((double)i + 0.5) * step;
            sum += 4 / (1 + x * x);
        }
    }
    char line[80]; /* in one write: lines of many processes do not mix */
    int length = snprintf(line, sizeof line, "slice %u %.17g by %u\n", slice, sum * step, self);
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        exit(1);
}

int main(int count, char **words)
{
    struct muster_error error;
    if (count > 1 && (steps = atol(words[1]) * 1000 * 1000) <= 0) {
        fprintf(stderr, "pi: '%s' is no number of millions of steps, from 1 on\n", words[1]);
        return 2;
    }
    if (muster_open(&m, &error) != 0) {
        fprintf(stderr, "pi: %s\n", error.text);
        return 1;
    }
    self = muster_rank(m);
    size = muster_size(m);
    sharers = size > 1 ? size - 1 : 1;
    if ((ranks = calloc(size, sizeof *ranks)) == NULL)
        return 1;
    for (;;) {
        uint32_t rank = next_rank();
        if (rank < sharers) {
            for (uint32_t i = 0; i < SLICES; i++)
                compute(rank * SLICES + i);
            ranks[rank].computed = true;
        } else if (is_keeper() && !are_gone(0, self))
            hear(MUSTER_FOREVER);
        else
            break;
    }
    muster_close(m); /* without it, exit code 0 is a failure while others run */
    return 0;        /* which tells the others that this one has left */
}
