/* Pi, by processes of which any may be killed:  muster run -n 32 pi [MILLIONS OF STEPS]
 *
 * The area under 4 / (1 + x^2) from 0 to 1 is cut into slices, four for each rank.  Whoever has
 * computed one prints it; all of them add up to pi.  Nobody talks to anybody: which slices are
 * whose follows from who is dead, which muster tells everyone.
 *
 *   - The slices of a dead rank go to the next rank above it that is not dead, and are computed
 *     again, since nobody knows how far it came.  A slice may be printed twice, then, with the same
 *     value: add each up once.
 *   - A rank leaves when it has computed what is its own by then, and all ranks below it are gone.
 *     So while somebody computes, everybody above is there to take over, and who leaves has left
 *     nothing undone below.
 *   - The highest rank has no slices of its own: it is the spare.  When it alone is left, it has
 *     only to compute what others left, and if that is nothing it may die, too.
 *   - When all above a dead rank are dead, as when a node is lost, the highest that is not dead
 *     takes its slices; it is the last one to leave.
 *
 * So whichever process is killed and whenever, all slices are printed; and of several, as long as
 * one that still has to leave lives. */
#include <muster.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SLICES = 4, PARTS = 100 }; /* of a rank; of a slice, between which we listen */

enum fate { HERE, LEFT, DEAD };

static struct muster *m;
static uint32_t self, size;
static uint32_t shares; /* the slices of share s are those of rank s */
static enum fate *fates;
static long steps = 10 * 1000 * 1000; /* of a slice */

static void *zeroed(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    if (memory == NULL) {
        perror("pi");
        exit(1);
    }
    return memory;
}

/* Reads what muster has to say, waiting for the first event only. */
static void listen_for(int64_t timeout_ns)
{
    struct muster_event event;
    struct muster_error error;
    int got;
    while ((got = muster_next(m, &event, timeout_ns, &error)) == 1) {
        if (event.type == MUSTER_EVENT_PROCESS && event.verdict == MUSTER_DEAD)
            fates[event.rank] = DEAD;
        if (event.type == MUSTER_EVENT_PROCESS && event.verdict == MUSTER_LEFT)
            fates[event.rank] = LEFT;
        timeout_ns = MUSTER_NOW;
    }
    if (got < 0) {
        fprintf(stderr, "pi: %s\n", error.text);
        exit(1);
    }
}

static uint32_t owner(uint32_t share)
{
    uint32_t rank = share;
    while (rank < size && fates[rank] == DEAD)
        rank++;
    if (rank < size)
        return rank;
    for (rank = size - 1; fates[rank] == DEAD;) /* ends at the latest at this process */
        rank--;
    return rank;
}

static bool below_are_gone(void)
{
    for (uint32_t rank = 0; rank < self; rank++)
        if (fates[rank] == HERE)
            return false;
    return true;
}

static void compute(uint32_t slice)
{
    double width = 1.0 / ((double)shares * SLICES), left = slice * width, step = width / steps;
    double sum = 0;
    for (int part = 0; part < PARTS; part++) {
        listen_for(MUSTER_NOW);
        for (long i = steps * part / PARTS; i < steps * (part + 1) / PARTS; i++) {
            double x = left + (i + 0.5) * step;
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
    if (count > 1)
        steps = atol(words[1]) * 1000 * 1000;
    if (muster_open(&m, &error) != 0) {
        fprintf(stderr, "pi: %s\n", error.text);
        return 1;
    }
    self = muster_rank(m);
    size = muster_size(m);
    shares = size > 1 ? size - 1 : 1;
    fates = zeroed(size, sizeof *fates);
    unsigned char *done = zeroed(shares, 1);

    for (;;) {
        uint32_t share = 0;
        while (share < shares && (done[share] || owner(share) != self))
            share++;
        if (share < shares) {
            for (uint32_t i = 0; i < SLICES; i++)
                compute(share * SLICES + i);
            done[share] = 1;
        } else if (below_are_gone())
            return 0; /* which tells the others that we have left */
        else
            listen_for(MUSTER_FOREVER);
    }
}
