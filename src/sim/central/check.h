/* One small world, drawn from its seed and checked against the laws of the central detector. */
#ifndef MU_SIM_CENTRAL_CHECK_H
#define MU_SIM_CENTRAL_CHECK_H

#include "sim/base/check.h"

enum { SIM_CHECK_CENTRAL_NODES_MAX = 256 };

sim_check_one sim_check_central_one;

#endif
