/* What a ring of heartbeats costs at least: as many processes with a bare UDP socket each, which
 * send one datagram to the next in each period, and answer each of the one before with another.
 *
 * They do what cannot be left out, once: ppoll() for the time or a datagram, sendto(), recv().  No
 * tag, no rule, no clock but for the period; with the priority that heartbeats have. */
#ifndef MU_BENCH_NOISE_BARE_H
#define MU_BENCH_NOISE_BARE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct bare_node {
    pid_t pid;
    int control; /* -1: there is none */
    uint64_t cpu_ns, periods;
};

struct bare_ring {
    struct bare_node *nodes;
    uint32_t count;
    uint64_t period_ns;
};

/* Before there are daemons: what is forked later would hold their lifelines open.  They end with
 * this process, however it ends.  Returns 0, or -1 with errno and nothing running. */
int bare_ring_start(struct bare_ring *ring, uint32_t count, uint64_t period_ns);
void bare_ring_stop(struct bare_ring *ring);

/* Tells them to beat so many times, from now on. */
bool bare_ring_go(struct bare_ring *ring, uint32_t periods);

/* Waits for the last, and adds what each has used of a processor.  False with errno. */
bool bare_ring_take(struct bare_ring *ring);

#endif
