/* One measurement with the clients that are there: a death, or the message of the floor. */
#ifndef MU_CLI_BENCH_RIG_H
#define MU_CLI_BENCH_RIG_H

#include "cli/bench_page.h"
#include "cli/bench_relay.h"

#include <stdbool.h>

enum {
    BENCH_WAIT_MS = 10000,  /* who has not read it by then has missed it */
    BENCH_SETTLE_MS = 150,  /* of rest before each measurement, for what is still on its way */
    BENCH_START_MS = 60000, /* until all clients are there */
};

struct bench_rig {
    uint32_t nodes, procs;
    bool plain_relays; /* without the priority that daemons have */
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

/* Of 'muster bench' commands that have relays. */
#define BENCH_PLAIN_HELP "relays have no real-time priority, though daemons have it if permitted"

/* Makes the page and starts the relays.  Returns 0, or -1 with errno: then exit. */
int bench_rig_make(struct bench_rig *rig);
void bench_rig_free(struct bench_rig *rig);

static inline uint32_t bench_rig_size(const struct bench_rig *rig)
{
    return rig->nodes * rig->procs;
}

/* All clients are there, and it is quiet. */
bool bench_rig_ready(struct bench_rig *rig);

/* SIGKILL to the victim of the page. */
bool bench_rig_death(struct bench_rig *rig, struct bench_sample *sample);

/* The message enters at the victim's node, and goes to everybody but the victim. */
bool bench_rig_floor(struct bench_rig *rig, struct bench_sample *sample);

#endif
