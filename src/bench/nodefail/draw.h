/* Which nodes fail. */
#ifndef MU_BENCH_NODEFAIL_DRAW_H
#define MU_BENCH_NODEFAIL_DRAW_H

#include "core/base/types.h"
#include "sim/base/random.h"

/* So many of 0 .. nodes-1, each once: neighbours on the ring from a drawn one on, or any, with the
 * same chance for all, in rising order. */
void nodefail_draw(struct sim_random *random, uint32_t nodes, uint32_t count, bool contiguous,
                   mu_slot *victims);

#endif
