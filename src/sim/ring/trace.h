/* Words for what happens on the ring, for --trace and for the message of a broken law. */
#ifndef MU_SIM_RING_TRACE_H
#define MU_SIM_RING_TRACE_H

#include "core/ring/ring.h"

#include <stdio.h>

/* Each prints one line.  Times are the world's. */
void ring_trace_event(FILE *to, uint64_t now_ns, mu_slot node, const struct mu_detect_event *event,
                      bool genuine);
void ring_trace_effect(FILE *to, uint64_t now_ns, mu_slot node,
                       const struct mu_detect_effect *effect);
void ring_trace_lost(FILE *to, uint64_t now_ns, const struct mu_beat *beat, const char *why);
void ring_trace_cut(FILE *to, uint64_t now_ns, mu_slot node, mu_slot peer, uint32_t ways,
                    uint64_t for_ns);
void ring_trace_words(FILE *to, uint64_t now_ns, mu_slot node, const char *words);

#endif
