/* What the checkers of the ring share among themselves. */
#ifndef MU_SIM_RING_LAW_INSIDE_H
#define MU_SIM_RING_LAW_INSIDE_H

#include "sim/ring/world.h"

enum { RING_SLACKS = 4 /* in (timeout - period): probes go out each */ };
#define RING_TOLERANCE_NS UINT64_C(5000000) /* its "Words" */

/* What 'node' has seen and said of 'other'. */
static inline struct ring_pair *ring_pair(const struct ring_world *world, mu_slot node,
                                          mu_slot other)
{
    return &world->law.pairs[(size_t)node * world->size + other];
}

static inline uint64_t ring_law_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* So much later than a period a beat is missing, for all times that are in use. */
static inline uint64_t ring_law_tolerance_ns(const struct ring_world *world)
{
    uint64_t slack_ns = world->law.spare_ns_min / RING_SLACKS;
    return ring_law_max(slack_ns / 2, ring_law_min(slack_ns, RING_TOLERANCE_NS));
}

static inline mu_slot ring_next(const struct ring_world *world, mu_slot slot)
{
    return slot + 1 == world->size ? 0 : slot + 1;
}

/* Does it take part: it lives, does not stand still, and can be heard? */
static inline bool ring_is_well(const struct ring_world *world, mu_slot slot)
{
    return ring_world_lives(world, slot) && world->seats[slot].failed_ns == MU_NEVER;
}

/* Places of observers of a node, whose leases have run out, or not; a bit for each. */
uint64_t ring_law_places(const struct ring_world *world, mu_slot slot, bool lapsed);

/* Losses between two nodes since then, as many as are remembered. */
uint32_t ring_losses_since(const struct ring_world *world, mu_slot a, mu_slot b, uint64_t since_ns);

#endif
