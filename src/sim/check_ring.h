/* Many small worlds, each drawn from its seed, each checked against the laws of the ring. */
#ifndef MU_SIM_CHECK_RING_H
#define MU_SIM_CHECK_RING_H

#include "sim/check_spread.h"

/* As sim_check_spread(): the ranges, the progress and the result mean the same; broken_rules are
 * those of enum mu_detect_broken. */
void sim_check_ring(const struct sim_check *check, bool stop_at_first,
                    struct sim_check_result *result);

/* One of them again, with a readable trace. */
void sim_check_ring_one(const struct sim_check *check, uint64_t seed, FILE *trace,
                        struct sim_check_result *result);

#endif
