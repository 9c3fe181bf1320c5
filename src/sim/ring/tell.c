/* Between a detector and the others: its node, and spread; or the oracle that stands for both. */
#include "sim/ring/world_inside.h"
#include "sim/node/world.h"

/* Spread takes a while, cannot reach who is cut off or on the other side, and does not talk to the
 * dead. */
static void tell(struct ring_world *world, mu_slot by, mu_slot slot, mu_slot out, bool proven)
{
    const struct ring_seat *seat = &world->seats[slot];
    uint64_t at_ns = world->queue->now_ns + ring_world_draw_ns(world, world->plan->queue_ns_max) +
                     ring_world_draw_ns(world, world->plan->tell_ns_max);
    uint64_t cut_ns =
        ring_law_max(ring_net_cut_off_until_ns(&world->net, slot, RING_BOTH_WAYS, at_ns),
                     ring_net_apart_until_ns(&world->net, by, slot, at_ns));
    if (seat->crashed || seat->fenced)
        return;
    /* One that lives and was declared may hear it from somebody who does not know yet. */
    if (slot == out && (world->plan->nodes != NULL || !sim_random_chance(&world->random, 30)))
        return;
    ring_world_push(world, ring_law_max(at_ns, cut_ns), RING_OUT, slot, out, proven ? 1 : 0);
}

void ring_tell_everybody(struct ring_world *world, mu_slot by, mu_slot out, bool proven)
{
    if (world->plan->tell_slots == 0) {
        for (mu_slot slot = 0; slot < world->size; slot++)
            tell(world, by, slot, out, proven);
        return;
    }
    mu_slot onward = out, back = out;
    for (uint32_t i = 0; i < world->plan->tell_slots && i < world->size / 2; i++) {
        do
            onward = onward + 1 == world->size ? 0 : onward + 1;
        while (world->seats[onward].crashed && onward != out);
        do
            back = back == 0 ? world->size - 1 : back - 1;
        while (world->seats[back].crashed && back != out);
        if (onward != by)
            tell(world, by, onward, out, proven);
        if (back != by && back != onward)
            tell(world, by, back, out, proven);
    }
}

void ring_tell_on_verdict(struct ring_world *world, const struct sim_item *item)
{
    /* Nobody is told when the node dies first; a fenced one may have spoken, or not. */
    const struct ring_seat *seat = &world->seats[item->node];
    if (seat->crashed || (seat->fenced && sim_random_chance(&world->random, 50)))
        return;
    ring_law_on_declared(world, item->peer);
    ring_launcher_on_word(world, item->node, item->peer);
    if (world->plan->nodes != NULL)
        sim_world_push(world->plan->nodes, item->at_ns, SIM_TELL, item->node, item->peer, 0);
    else
        ring_tell_everybody(world, item->node, item->peer, false);
}

void ring_world_told(void *detectors, mu_slot slot, const struct mu_notice *notice)
{
    struct ring_world *world = detectors;
    if (notice->id.kind == MU_NOTICE_NODE_DEAD)
        ring_world_push(world,
                        world->queue->now_ns + ring_world_draw_ns(world, world->plan->queue_ns_max),
                        RING_OUT, slot, (mu_slot)notice->id.index, 0);
}

void ring_tell_on_out(struct ring_world *world, const struct sim_item *item)
{
    ring_law_on_out(world, item->node, item->peer, item->ref != 0);
    struct mu_detect_event event = {
        .type = MU_DETECT_OUT,
        .out = {.slot = item->peer,
                .incarnation = ring_world_incarnation(world, item->peer),
                .proven = item->ref != 0}};
    ring_world_step(world, item->node, &event, NULL);
}

void ring_tell_on_loop(struct ring_world *world, mu_slot slot)
{
    struct mu_detect_event event = {.type = MU_DETECT_LOOP};
    ring_world_step(world, slot, &event, NULL);
}
