/* One small world, drawn from its seed and checked against the laws of the ring. */
#ifndef MU_SIM_RING_CHECK_H
#define MU_SIM_RING_CHECK_H

#include "sim/base/check.h"

sim_check_one sim_check_ring_one;

#endif
