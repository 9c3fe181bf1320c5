/* One measurement with the clients that are there: a death, or the message of a floor. */
#ifndef MU_BENCH_PROCFAIL_RIG_H
#define MU_BENCH_PROCFAIL_RIG_H

#include "rig/page.h"
#include "bench/procfail/relay.h"

#include <limits.h>
#include <stdbool.h>

enum {
    BENCH_WAIT_MS = 10000,  /* who has not read it by then has missed it */
    BENCH_SETTLE_MS = 300,  /* of rest before each measurement, for what is still on its way */
    BENCH_START_MS = 60000, /* until all clients are there */
};

struct bench_rig {
    uint32_t nodes, procs;
    char client[PATH_MAX]; /* the program */
    bool can_realtime;     /* real-time priority is permitted, to relays as to daemons */
    struct bench_page *page;
    struct bench_relays relays;
    /* Lets a millisecond pass, in which the bench does what it has to do besides.  False: there is
     * no going on; it has said why. */
    bool (*pass_ms)(void *owner);
    void *owner;
};

struct bench_sample {
    uint64_t from_ns; /* right before the kill, or before the message was sent */
    double last_ms;   /* until the last survivor had read it; BENCH_WAIT_MS when one never did */
    uint32_t missed;  /* survivors that never did */
};

/* Finds the clients' program, makes the page and starts the relays.  False: it has said why, and
 * all that is left to do is to exit. */
bool bench_rig_make(struct bench_rig *rig);
void bench_rig_free(struct bench_rig *rig);

static inline uint32_t bench_rig_size(const struct bench_rig *rig)
{
    return rig->nodes * rig->procs;
}

/* All clients are there, and have done once what they will do. */
bool bench_rig_ready(struct bench_rig *rig);

/* After a rest, BENCH_DEATH: SIGKILL to the victim of the page.  Else a message enters at the
 * victim's node, and goes to everybody but the victim.  False: as pass_ms. */
bool bench_rig_measure(struct bench_rig *rig, enum bench_kind kind, struct bench_sample *sample);

/* What is still on its way arrives. */
bool bench_rig_settle(struct bench_rig *rig);

#endif
