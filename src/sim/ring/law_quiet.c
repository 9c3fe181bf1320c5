/* Liveness: what holds when the world has been quiet for long. */
#include "sim/ring/law.h"

#include "core/ring/inside.h"
#include "sim/ring/law_inside.h"
#include "sim/node/world.h"

static bool takes_part(const struct ring_world *world, mu_slot slot)
{
    return ring_is_well(world, slot);
}

static mu_slot before(const struct ring_world *world, mu_slot slot)
{
    mu_slot at = slot;
    do
        at = at == 0 ? world->size - 1 : at - 1;
    while (at != slot && !takes_part(world, at));
    return at;
}

/* ---- fence: whoever was declared and speaks, finds out ---- */

static void check_fenced(struct ring_world *world, mu_slot slot)
{
    for (mu_slot other = 0; other < world->size; other++)
        if (other != slot && takes_part(world, other) && ring_pair(world, other, slot)->knows)
            ring_law_fail(world, "fence",
                          "node %u lives and was declared dead; node %u knows it, and it does not",
                          slot, other);
}

/* ---- D1, D5: everybody knows ---- */

static void check_known(struct ring_world *world, mu_slot slot)
{
    for (mu_slot other = 0; other < world->size; other++)
        if (takes_part(world, other) && !ring_pair(world, other, slot)->knows)
            ring_law_fail(world, "D1", "node %u never learns that node %u is out", other, slot);
}

/* ---- D3: one observer for each ---- */

static void check_observed(struct ring_world *world, mu_slot slot)
{
    mu_slot subject = before(world, slot);
    mu_slot observes = mu_detect_observes(ring_world_detect(world, slot));
    mu_slot observer = mu_detect_observer(ring_world_detect(world, subject));
    const struct ring_pair *pair = ring_pair(world, slot, subject);
    uint64_t silence_ns = 2 * world->law.period_ns_max + world->plan->net.delay_ns_max;
    if (subject == slot) {
        if (observes != MU_SLOT_NONE)
            ring_law_fail(world, "D3", "node %u is alone and observes node %u", slot, observes);
        return;
    }
    if (observes != subject)
        ring_law_fail(world, "D3", "node %u observes node %d, and not node %u", slot,
                      observes == MU_SLOT_NONE ? -1 : (int)observes, subject);
    if (observer != slot)
        ring_law_fail(world, "D3", "node %u is observed by node %d, it says, and not by node %u",
                      subject, observer == MU_SLOT_NONE ? -1 : (int)observer, slot);
    /* Where acknowledgements are late because of their delay, a lease comes and goes, and a watch
     * may be renewed. */
    uint64_t round_trip_ns = 2 * world->plan->net.delay_ns_max + 4 * world->plan->timer_ns_max;
    uint64_t spare_ns = world->law.spare_ns_min;
    bool is_slow = round_trip_ns >= spare_ns - spare_ns / RING_SLACKS;
    if ((pair->stamp_ns == 0 && !is_slow) || world->queue->now_ns - pair->beat_ns > silence_ns)
        ring_law_fail(world, "D3", "node %u does not beat to node %u, its observer", subject, slot);
    bool is_steady = round_trip_ns < ring_law_tolerance_ns(world);
    if (is_steady && !mu_detect_lease_held(ring_world_detect(world, subject)))
        ring_law_fail(world, "lease", "node %u is observed by node %u and has no lease", subject,
                      slot);
    if (pair->reported_ns != 0 && !is_slow)
        ring_law_fail(world, "D6", "node %u reported node %u, and never that it is mended", slot,
                      subject);
}

/* ---- a large machine with real nodes: everybody knows everything ---- */

static void check_all_know(struct ring_world *world)
{
    struct sim_world *nodes = world->plan->nodes;
    sim_law_on_quiet(nodes);
    if (nodes->law.broken != NULL)
        ring_law_fail(world, nodes->law.broken, "%s", nodes->law.message);
    for (mu_slot slot = 0; slot < world->size && world->law.broken == NULL; slot++) {
        const struct mu_roster *dead = &ring_world_detect(world, slot)->dead;
        for (uint32_t i = 0; takes_part(world, slot) && i < world->law.failure_count; i++)
            if (!mu_roster_is_vacant(dead, world->law.failures[i].slot))
                ring_law_fail(world, "S1", "node %u never learns that node %u is out", slot,
                              world->law.failures[i].slot);
    }
}

void ring_law_on_end(struct ring_world *world)
{
    if (world->plan->nodes != NULL)
        check_all_know(world);
    if (!world->plan->small)
        return;
    if (world->plan->pair != NULL)
        ring_law_on_end_of_pair(world);
    uint32_t well = 0;
    for (mu_slot slot = 0; slot < world->size; slot++)
        well += takes_part(world, slot) ? 1 : 0;
    for (mu_slot slot = 0; slot < world->size && world->law.broken == NULL; slot++)
        if (takes_part(world, slot))
            check_fenced(world, slot);
    /* One that is alone and doubts itself waits for ever. */
    if (well == 0 || well == 1)
        return;
    for (mu_slot slot = 0; slot < world->size && world->law.broken == NULL; slot++) {
        if (takes_part(world, slot))
            check_observed(world, slot);
        else
            check_known(world, slot);
    }
}
