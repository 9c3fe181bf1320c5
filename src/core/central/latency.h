/* How long it takes to find a fault of some kind: measured, and estimated as the paper does (C8).
 *
 * One of these for each kind and node.  Nothing is said below 8 samples. */
#ifndef MU_CORE_CENTRAL_LATENCY_H
#define MU_CORE_CENTRAL_LATENCY_H

#include "core/base/types.h"

enum { MU_LATENCY_SAMPLES_MIN = 8 };

struct mu_latency {
    uint64_t count;    /* samples */
    uint64_t mean_ns;  /* E, */
    uint64_t left;     /* and what rounding has left of it, in parts of 'count' */
    uint64_t square;   /* sum of squares of distances from the mean, in square microseconds */
    uint64_t judged;   /* samples that an estimate was made for */
    uint64_t exceeded; /* of those: longer than the estimate */
};

/* A fault took so long to be found.  'round_trip_ns' of that moment goes into the estimate that it
 * is compared with.  A sample above an hour counts as an hour. */
void mu_latency_add(struct mu_latency *latency, uint64_t took_ns, uint64_t round_trip_ns);

/* The deviation; the paper's text calls it variance, whose unit would not fit. */
uint64_t mu_latency_sigma_ns(const struct mu_latency *latency);

/* E + 3 sigma + round trip: before this much time has passed, nothing can be said of a fault.
 * 0: too few samples. */
uint64_t mu_latency_estimate_ns(const struct mu_latency *latency, uint64_t round_trip_ns);

#endif
