/* One small world, drawn from its seed and checked against the laws of the ring. */
#ifndef MU_SIM_CHECK_RING_H
#define MU_SIM_CHECK_RING_H

#include "sim/check.h"

sim_check_one sim_check_ring_one;

#endif
