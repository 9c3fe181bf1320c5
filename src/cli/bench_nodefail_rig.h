/* One repetition of 'muster bench nodefail': new daemons, new readers, some nodes fail at once, and
 * everything is gone again. */
#ifndef MU_CLI_BENCH_NODEFAIL_RIG_H
#define MU_CLI_BENCH_NODEFAIL_RIG_H

#include "cli/bench_nodefail_guard.h"
#include "cli/bench_nodefail_page.h"
#include "cli/bench_ring.h"

#include <limits.h>

enum {
    NODEFAIL_WAIT_MS = 10000,  /* what was not read by then is missed */
    NODEFAIL_START_MS = 60000, /* until all readers are there */
    NODEFAIL_SETTLE_MS = 250,  /* of rest before a node fails, for what is still on its way */
};

enum nodefail_how { NODEFAIL_KILL, NODEFAIL_STOP, NODEFAIL_CUT };

struct nodefail_rig {
    uint32_t nodes, procs, count;
    uint64_t period_ns, timeout_ns;
    enum nodefail_how how;
    char reader[PATH_MAX]; /* the program */
    struct nodefail_door door;
    /* Of one repetition. */
    struct bench_ring ring;
    struct job *job;
    struct nodefail_guard guard;
};

struct nodefail_sample {
    uint64_t from_ns;   /* right before the first victim was killed, stopped or cut off */
    double detect_ms;   /* until each victim was known to some daemon */
    double all_told_ms; /* until the last survivor had read the last event about them */
    uint32_t last_rank; /* that survivor */
    uint64_t missed;    /* events that survivors did not read in time */
    uint64_t wrong;     /* events that survivors read and should not have */
};

/* Finds the reader and makes the page.  False: it has said why. */
bool nodefail_rig_open(struct nodefail_rig *rig);
void nodefail_rig_close(struct nodefail_rig *rig);

/* The whole repetition.  'phase_ns' is waited for before the failure, so that it falls anywhere
 * between two heartbeats.  False: it has said why, or a signal came (ring.signal). */
bool nodefail_rig_measure(struct nodefail_rig *rig, const mu_slot *victims, uint64_t phase_ns,
                          struct nodefail_sample *sample);

#endif
