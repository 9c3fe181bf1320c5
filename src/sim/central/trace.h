/* Words for what happens in the central detector's world. */
#ifndef MU_SIM_CENTRAL_TRACE_H
#define MU_SIM_CENTRAL_TRACE_H

#include "sim/central/world.h"

/* Nothing without plan->trace. */
void central_trace_line(const struct central_world *world, mu_slot slot, const char *words);
void central_trace_lost(const struct central_world *world, const struct mu_poll *poll);
void central_trace_receive(const struct central_world *world, mu_slot slot,
                           const struct mu_poll *poll);
void central_trace_effect(const struct central_world *world, mu_slot slot,
                          const struct mu_central_effect *effect);

#endif
