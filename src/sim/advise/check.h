/* One small world, drawn from its seed and checked against the laws of recommended groups. */
#ifndef MU_SIM_ADVISE_CHECK_H
#define MU_SIM_ADVISE_CHECK_H

#include "sim/base/check.h"

enum { SIM_CHECK_ADVISE_NODES_MAX = 64 };

sim_check_one sim_check_advise_one;

#endif
