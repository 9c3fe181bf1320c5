/* Many small worlds, each drawn from its seed, each checked against the laws of agreement. */
#ifndef MU_SIM_CHECK_AGREE_H
#define MU_SIM_CHECK_AGREE_H

#include "sim/check_spread.h"

/* A value has a bit for each node, so that it shows who has contributed. */
enum { SIM_CHECK_AGREE_NODES_MAX = 64 };

void sim_check_agree(const struct sim_check *check, bool stop_at_first,
                     struct sim_check_result *result);
void sim_check_agree_one(const struct sim_check *check, uint64_t seed, FILE *trace,
                         struct sim_check_result *result);

#endif
