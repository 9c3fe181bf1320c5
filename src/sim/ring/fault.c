/* What goes wrong with nodes: they stand still, crash, are cut off, get other times. */
#include "sim/ring/trace.h"
#include "sim/ring/world_inside.h"
#include "sim/node/world.h"

#include <stdlib.h>

/* ---- nodes that stand still ---- */

void ring_fault_wait_in_socket(struct ring_world *world, mu_slot slot, uint32_t ref)
{
    struct ring_seat *seat = &world->seats[slot];
    struct ring_datagram *datagrams = world->net.datagrams;
    if (seat->inbox_count == world->plan->inbox_max) {
        ring_law_on_lost(world, &datagrams[ref].beat, world->queue->now_ns);
        ring_net_release(&world->net, ref);
        return;
    }
    if (seat->inbox_count++ == 0)
        seat->inbox_first = ref;
    else
        datagrams[seat->inbox_last].next = ref;
    seat->inbox_last = ref;
}

void ring_fault_on_wake(struct ring_world *world, mu_slot slot)
{
    struct ring_seat *seat = &world->seats[slot];
    if (seat->crashed || seat->frozen_until_ns > world->queue->now_ns)
        return;
    if (world->plan->trace != NULL)
        ring_trace_words(world->plan->trace, world->queue->now_ns, slot, "GOES ON");
    if (ring_net_cut_off_until_ns(&world->net, slot, RING_OUTWARD, world->queue->now_ns) == 0)
        ring_law_on_back(world, slot);
    while (seat->inbox_count > 0 && world->law.broken == NULL) {
        uint32_t ref = seat->inbox_first;
        seat->inbox_first = world->net.datagrams[ref].next;
        seat->inbox_count--;
        ring_world_receive(world, slot, ref);
    }
    if (world->law.broken != NULL)
        return;
    if (seat->deadline_ns <= world->queue->now_ns) {
        struct mu_detect_event event = {.type = MU_DETECT_TIMEOUT};
        ring_world_step(world, slot, &event, NULL);
    }
    ring_world_arm(world, slot); /* the item of its timer may have come meanwhile, and gone */
}

static void stop(struct ring_world *world, mu_slot slot, uint64_t for_ns)
{
    struct ring_seat *seat = &world->seats[slot];
    if (!ring_world_lives(world, slot) || ring_world_frozen(world, slot) ||
        seat->loop_until_ns > world->queue->now_ns)
        return;
    /* It wakes between two instants at which datagrams arrive. */
    seat->frozen_until_ns =
        for_ns == MU_NEVER ? MU_NEVER : (world->queue->now_ns + for_ns) / 1000 * 1000 + 1500;
    if (world->plan->trace != NULL)
        ring_trace_words(world->plan->trace, world->queue->now_ns, slot,
                         for_ns == MU_NEVER ? "STOPS for good" : "STOPS");
    ring_law_on_stall(world, slot, seat->frozen_until_ns);
    if (for_ns != MU_NEVER)
        ring_world_push(world, seat->frozen_until_ns, RING_WAKE, slot, 0, 0);
    if (world->plan->nodes != NULL && for_ns == MU_NEVER)
        sim_world_crash(world->plan->nodes, slot, false);
}

/* The main loop alone: whatever it was to carry waits.  Not one that stands still altogether, so
 * that no two stalls are one. */
static void stop_loop(struct ring_world *world, mu_slot slot, uint64_t for_ns)
{
    struct ring_seat *seat = &world->seats[slot];
    uint64_t now_ns = world->queue->now_ns;
    if (!ring_world_lives(world, slot) || ring_world_frozen(world, slot) ||
        seat->loop_until_ns > now_ns)
        return;
    seat->loop_from_ns = now_ns;
    seat->loop_until_ns = for_ns == MU_NEVER ? MU_NEVER : (now_ns + for_ns) / 1000 * 1000 + 1500;
    if (world->plan->trace != NULL)
        ring_trace_words(world->plan->trace, now_ns, slot,
                         for_ns == MU_NEVER ? "its MAIN LOOP STOPS for good"
                                            : "its MAIN LOOP STOPS for a while");
    ring_law_on_loop(world, slot);
}

/* ---- faults ---- */

static void crash(struct ring_world *world, const struct ring_fault *fault)
{
    mu_slot node = fault->node;
    struct ring_seat *seat = &world->seats[node];
    if (seat->crashed || world->living == 1)
        return;
    if (world->plan->trace != NULL)
        ring_trace_words(world->plan->trace, world->queue->now_ns, node, "CRASHES");
    if (!seat->fenced)
        world->living--;
    seat->crashed = true;
    ring_law_on_failed(world, node);
    ring_net_haunt(world, node);
    if (world->plan->nodes != NULL)
        sim_world_crash(world->plan->nodes, node, false);
    /* Its witness tells: known without a detector, and to everybody; perhaps late. */
    if (fault->known)
        ring_world_push(world, world->queue->now_ns + fault->for_ns, RING_PROVEN, node, 0, 0);
}

void ring_fault_on_proven(struct ring_world *world, mu_slot node)
{
    world->seats[node].proven = true;
    ring_law_on_declared(world, node);
    ring_tell_everybody(world, node, node, true);
}

/* A node that nobody can hear has failed, to the others. */
static void cut(struct ring_world *world, const struct ring_fault *fault, uint32_t index)
{
    if (world->plan->trace != NULL)
        ring_trace_cut(world->plan->trace, world->queue->now_ns, fault->node, fault->peer,
                       fault->ways, fault->for_ns);
    ring_net_cut(world, fault);
    if (fault->peer != MU_SLOT_NONE || fault->side != 0 || (fault->ways & RING_OUTWARD) == 0)
        return;
    ring_law_on_failed(world, fault->node);
    ring_world_push(world, world->queue->now_ns + fault->for_ns, RING_MENDED, fault->node, 0,
                    index);
}

void ring_fault_on_mended(struct ring_world *world, mu_slot node)
{
    if (ring_net_cut_off_until_ns(&world->net, node, RING_OUTWARD, world->queue->now_ns) == 0 &&
        !ring_world_frozen(world, node) && !world->seats[node].silent &&
        !world->seats[node].crashed)
        ring_law_on_back(world, node);
}

/* Its slot had an earlier tenant, who was declared dead and told so. */
static void send_old_dead(struct ring_world *world, mu_slot node)
{
    uint32_t incarnation = ring_world_incarnation(world, node);
    mu_slot from = (node + 1) % world->size;
    if (incarnation == 1)
        return;
    struct mu_beat beat = {.type = MU_BEAT_DEAD,
                           .from = from,
                           .to = node,
                           .from_incarnation = ring_world_incarnation(world, from),
                           .to_incarnation = incarnation - 1,
                           .subject = node,
                           .subject_incarnation = incarnation - 1};
    ring_net_replay(world, &beat, 0);
}

/* The connection of the two is lost, and both may live. */
static void break_connection(struct ring_world *world, mu_slot node, mu_slot peer)
{
    struct mu_detect_event event = {.type = MU_DETECT_BROKE, .broke = {.slot = peer}};
    if (ring_world_lives(world, node) && !ring_world_frozen(world, node))
        ring_world_step(world, node, &event, NULL);
}

void ring_fault_on_fault(struct ring_world *world, uint32_t index)
{
    const struct ring_fault *fault = &world->plan->faults[index];
    switch (fault->type) {
    case RING_FAULT_CRASH:
        crash(world, fault);
        return;
    case RING_FAULT_STOP:
        stop(world, fault->node, fault->for_ns);
        return;
    case RING_FAULT_CUT:
        cut(world, fault, index);
        return;
    case RING_FAULT_SET:
        for (mu_slot slot = 0; slot < world->size; slot++)
            ring_world_push(
                world, world->queue->now_ns + ring_world_draw_ns(world, world->plan->tell_ns_max),
                RING_SET, slot, 0, index);
        return;
    case RING_FAULT_OLD_DEAD:
        send_old_dead(world, fault->node);
        return;
    case RING_FAULT_LOOP:
        stop_loop(world, fault->node, fault->for_ns);
        return;
    case RING_FAULT_BROKE:
        break_connection(world, fault->node, fault->peer);
        return;
    }
    abort();
}

/* Times come to every node in the order in which they were set: one that was overtaken is old. */
void ring_fault_on_set(struct ring_world *world, mu_slot slot, const struct ring_fault *fault)
{
    if (fault->at_ns < world->seats[slot].set_ns)
        return;
    world->seats[slot].set_ns = fault->at_ns;
    ring_law_on_set(world, slot, fault->period_ns, fault->timeout_ns);
    struct mu_detect_event event = {
        .type = MU_DETECT_SET,
        .set = {.period_ns = fault->period_ns, .timeout_ns = fault->timeout_ns}};
    ring_world_step(world, slot, &event, NULL);
}
