/* One measurement with clients, in role 'read': a death, or the message of a floor. */
#ifndef MU_BENCH_PROCFAIL_RIG_H
#define MU_BENCH_PROCFAIL_RIG_H

#include "bench/procfail/relay.h"
#include "rig/rig.h"

enum {
    BENCH_WAIT_MS = 10000, /* who has not read it by then has missed it */
    BENCH_SETTLE_MS = 300, /* of rest before each measurement, for what is still on its way */
};

/* When a daemon told its clients of the victim's death; ns 0: it did not say so. */
struct bench_told {
    uint64_t ns; /* CLOCK_MONOTONIC: all daemons are on this host */
    uint16_t hops;
};

struct bench_rig {
    uint32_t nodes, procs;
    bool can_realtime; /* real-time priority is permitted, to relays as to daemons */
    struct rig_page *page;
    struct bench_relays relays;
    struct rig rig;
    uint64_t seen_ns;        /* the victim's daemon saw it die then; 0: not yet */
    struct bench_told *told; /* of each node */
};

struct bench_sample {
    uint64_t from_ns; /* right before the kill, or before the message was sent */
    double last_ms;   /* until the last survivor had read it; BENCH_WAIT_MS when one never did */
    uint32_t missed;  /* survivors that never did */
};

/* Makes the page and starts the relays, and then the daemons, if there are to be any.  False: it
 * has said why, or a signal came.  bench_rig_free() follows either way. */
bool bench_rig_make(struct bench_rig *rig, bool has_daemons);
void bench_rig_free(struct bench_rig *rig);

/* Starts clients, which keep to their node's part of the host or run anywhere.  False: it has said
 * why. */
bool bench_rig_start(struct bench_rig *rig, uint32_t victim, const enum bench_kind *order,
                     uint32_t order_count, bool has_parts);

static inline uint32_t bench_rig_size(const struct bench_rig *rig)
{
    return rig->nodes * rig->procs;
}

/* All clients are there, and have done once what they will do. */
bool bench_rig_ready(struct bench_rig *rig);

/* After a rest, BENCH_DEATH: SIGKILL to the victim of the page.  Else a message enters at the
 * victim's node, and goes to everybody but the victim.  False: it has said why, or a signal came.
 */
bool bench_rig_measure(struct bench_rig *rig, enum bench_kind kind, struct bench_sample *sample);

/* Waits until every daemon has said when it told its clients, so that nothing of the death is on
 * its way any more.  Gives up after a while: a daemon that says nothing has no figure. */
bool bench_rig_reported(struct bench_rig *rig);

#endif
