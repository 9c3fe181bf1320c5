/* One small world, drawn from its seed and checked against the laws of spread and link. */
#ifndef MU_SIM_NODE_CHECK_H
#define MU_SIM_NODE_CHECK_H

#include "sim/base/check.h"

sim_check_one sim_check_spread_one;

#endif
