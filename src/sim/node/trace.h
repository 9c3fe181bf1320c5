/* Words for what happens, for --trace and for the message of a broken law. */
#ifndef MU_SIM_NODE_TRACE_H
#define MU_SIM_NODE_TRACE_H

#include "core/base/event.h"

#include <stdio.h>

/* "node 5 is dead", in the caller's 64 bytes; returns them. */
const char *sim_trace_notice(char text[64], const struct mu_notice_id *id);

/* One line: what enters a node. */
void sim_trace_event(FILE *to, mu_slot node, const struct mu_event *event);

/* One line for each effect that a reader cares about. */
void sim_trace_effect(FILE *to, mu_slot node, uint64_t now_ns, const struct mu_effect *effect);

#endif
