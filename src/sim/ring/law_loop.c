/* D7: a main loop that stands still takes its node down with it, in time; one that moves does not.
 */
#include "sim/ring/law.h"

#include "core/ring/inside.h"
#include "sim/ring/law_inside.h"

enum {
    TIMERS_LATE = 16 /* so many timers in a row, each late by timer_ns_max, are forgiven */
};

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

/* The longest that it takes from the question until the lease is over. */
static uint64_t patience_ns(const struct ring_world *world)
{
    return mu_detect_loop_patience_ns(world->law.timeout_ns_max, world->plan->config.loop_ns);
}

static uint64_t late_ns(const struct ring_world *world)
{
    return world->plan->queue_ns_max + TIMERS_LATE * world->plan->timer_ns_max + 1000;
}

/* ---- it stands still ---- */

static uint64_t lease_over_ns(const struct ring_world *world, mu_slot slot)
{
    uint64_t part_ns = patience_ns(world) / MU_DETECT_LOOP_PART;
    return world->seats[slot].loop_from_ns + part_ns + patience_ns(world) + late_ns(world);
}

void ring_law_on_loop(struct ring_world *world, mu_slot slot)
{
    uint64_t over_ns = lease_over_ns(world, slot);
    if (world->plan->config.loop_ns == 0)
        return;
    ring_world_push(world, over_ns, RING_LOOP_DUE, slot, 0, 0);
    ring_world_push(world, over_ns + world->law.timeout_ns_max, RING_LOOP_DUE, slot, 0, 1);
}

/* Of one that is left alone nobody could take the place. */
void ring_law_on_loop_due(struct ring_world *world, mu_slot slot, bool is_silence)
{
    const struct ring_seat *seat = &world->seats[slot];
    const struct mu_detect *detect = ring_world_detect(world, slot);
    uint64_t now_ns = world->queue->now_ns;
    uint64_t due_ns = lease_over_ns(world, slot) + (is_silence ? world->law.timeout_ns_max : 0);
    if (!ring_world_lives(world, slot) || seat->loop_until_ns <= now_ns || now_ns < due_ns ||
        detect->nearest == MU_SLOT_NONE)
        return;
    if (mu_detect_lease_until_ns(detect) > now_ns + ring_world_clock_ns(world, slot))
        ring_law_fail(world, "D7",
                      "the main loop of node %u has stood still for %.3f ms, and it "
                      "holds its lease",
                      slot, ms(now_ns - seat->loop_from_ns));
    if (is_silence && !seat->silent)
        ring_law_fail(world, "D7",
                      "the main loop of node %u has stood still for %.3f ms, and its "
                      "heartbeats go on",
                      slot, ms(now_ns - seat->loop_from_ns));
}

/* ---- what its detector makes of it ---- */

static void check_stands(struct ring_world *world, mu_slot slot, uint32_t phase)
{
    const struct ring_seat *seat = &world->seats[slot];
    uint64_t now_ns = world->queue->now_ns;
    uint64_t least_ns =
        mu_detect_loop_patience_ns(world->law.timeout_ns_min, world->plan->config.loop_ns) +
        (phase == MU_LOOP_SILENT ? world->law.timeout_ns_min : 0);
    bool stands = seat->loop_from_ns != 0 && now_ns - late_ns(world) <= seat->loop_until_ns;
    if (!stands || now_ns - seat->loop_from_ns + late_ns(world) < least_ns)
        ring_law_fail(world, "D7",
                      "node %u says that its main loop stands still, and it has not for long "
                      "enough",
                      slot);
}

void ring_law_on_stood(struct ring_world *world, mu_slot slot, uint32_t phase)
{
    struct ring_seat *seat = &world->seats[slot];
    if (phase != MU_LOOP_MOVES)
        check_stands(world, slot, phase);
    if (phase == MU_LOOP_SILENT) {
        seat->silent = true;
        ring_law_on_stall(world, slot, seat->loop_until_ns);
    } else if (seat->silent) {
        seat->silent = false;
        if (ring_net_cut_off_until_ns(&world->net, slot, RING_OUTWARD, world->queue->now_ns) == 0)
            ring_law_on_back(world, slot);
    }
}
