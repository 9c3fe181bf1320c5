/* One small world, drawn from its seed and checked against the laws of agreement. */
#ifndef MU_SIM_AGREE_CHECK_H
#define MU_SIM_AGREE_CHECK_H

#include "sim/base/check.h"

/* A value has a bit for each node, so that it shows who has contributed. */
enum { SIM_CHECK_AGREE_NODES_MAX = 64 };

sim_check_one sim_check_agree_one;

#endif
