/* Where the time of a death goes, stage by stage. */
#ifndef MU_BENCH_PROCFAIL_STAGES_H
#define MU_BENCH_PROCFAIL_STAGES_H

#include "bench/procfail/rig.h"
#include "rig/stats.h"

enum { BENCH_HOPS_MAX = 6 };

/* Each has one value in each repetition, in ms. */
enum bench_stage {
    BENCH_STAGE_SEEN, /* from the kill to its daemon's seeing it */
    BENCH_STAGE_HOP,  /* from there to the daemons that are so many hops */
    BENCH_STAGE_HOP_LAST = BENCH_STAGE_HOP + BENCH_HOPS_MAX, /* away: the median of them */
    BENCH_STAGE_DAEMONS,                                     /* from there to the last daemon */
    BENCH_STAGE_READ,      /* from a daemon's telling it to a client's reading it: the median, */
    BENCH_STAGE_READ_LAST, /* and the longest */
    BENCH_STAGE_HALF,      /* from the kill until half of the survivors had read it */
    BENCH_STAGE_BARE_HALF, /* the same of the floor, */
    BENCH_STAGE_BARE_REALTIME_HALF, /* and of the floor with the daemons' priority */
    BENCH_STAGES,
};

struct bench_stages {
    double *values[BENCH_STAGES];
    size_t count[BENCH_STAGES];
    double *scratch; /* one for each rank */
};

/* Returns 0, or -1: no memory. */
int bench_stages_make(struct bench_stages *stages, size_t reps, uint32_t size);
void bench_stages_free(struct bench_stages *stages);

/* One repetition: the page has who read what when, 'from_ns' has the beginnings.  What was not
 * measured is not in the page. */
void bench_stages_add(struct bench_stages *stages, const struct bench_rig *rig,
                      const uint64_t from_ns[BENCH_KINDS]);

/* A table in words, or an object. */
void bench_stages_print(struct bench_stages *stages);
json_t *bench_stages_json(struct bench_stages *stages);

#endif
