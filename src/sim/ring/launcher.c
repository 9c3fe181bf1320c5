/* The launcher: it has a connection of its own to some of the nodes. */
#include "sim/ring/law_inside.h"
#include "sim/ring/world_inside.h"

bool ring_launcher_reaches(const struct ring_world *world, mu_slot slot)
{
    if (!world->plan->launcher.there)
        return false;
    uint64_t draw = sim_random_hash(world->plan->seed * 31 + slot) % 100;
    return draw < world->plan->launcher.reaches_percent;
}

/* It believes whom it has not given up, and listens to nobody that it has. */
void ring_launcher_on_word(struct ring_world *world, mu_slot by, mu_slot out)
{
    if (ring_launcher_reaches(world, by) && !world->seats[by].given_up)
        world->seats[out].given_up = true;
}

static void answer(struct ring_world *world, mu_slot slot, const struct mu_detect_effect *effect,
                   enum mu_launcher_reach reach, uint64_t at_ns)
{
    struct ring_datagram word = {.next = RING_NO_DATAGRAM};
    word.beat.reach = (uint8_t)reach;
    word.beat.subject = effect->ask.subject;
    word.beat.nonce = effect->ask.nonce;
    word.beat.stamp_ns = effect->ask.stamp_ns;
    ring_world_push(world, at_ns / 1000 * 1000, RING_LAUNCHER, slot, effect->ask.subject,
                    ring_net_keep(&world->net, &word));
}

/* It says at once that it tries, and then how that went. */
void ring_launcher_on_ask(struct ring_world *world, mu_slot slot,
                          const struct mu_detect_effect *effect)
{
    const struct ring_launcher *launcher = &world->plan->launcher;
    uint64_t now_ns = world->queue->now_ns, round_ns = 2 * world->plan->net.delay_ns_max;
    bool stands_still = now_ns >= launcher->still_from_ns && now_ns < launcher->still_until_ns;
    if (stands_still || !ring_launcher_reaches(world, slot) || world->seats[slot].given_up)
        return;
    answer(world, slot, effect, MU_LAUNCHER_TRYING,
           now_ns + 1000 + ring_world_draw_ns(world, round_ns));
    answer(world, slot, effect, MU_LAUNCHER_HEARD,
           now_ns + round_ns + 1000 + ring_world_draw_ns(world, round_ns));
}

/* It listens to this node alone. */
static bool is_last(const struct ring_world *world, mu_slot slot)
{
    for (mu_slot other = 0; other < world->size; other++)
        if (other != slot && !world->seats[other].given_up && !world->seats[other].proven)
            return false;
    return !world->seats[slot].given_up;
}

/* What it has heard of the suspect when its second answer leaves; half of the time it knows the
 * suspect's clock. */
void ring_launcher_on_answer(struct ring_world *world, const struct sim_item *item)
{
    struct mu_beat word = world->net.datagrams[item->ref].beat;
    mu_slot subject = word.subject;
    uint64_t round_ns = 2 * world->plan->net.delay_ns_max;
    bool hears = ring_world_lives(world, subject) && !ring_world_frozen(world, subject) &&
                 ring_launcher_reaches(world, subject) && !world->seats[subject].given_up;
    ring_net_release(&world->net, item->ref);
    if (!ring_world_lives(world, item->node))
        return;
    struct mu_detect_event event = {.type = MU_DETECT_LAUNCHER,
                                    .launcher = {.subject = subject,
                                                 .nonce = word.nonce,
                                                 .stamp_ns = word.stamp_ns,
                                                 .reach = word.reach}};
    if (is_last(world, item->node))
        event.launcher.reach = MU_LAUNCHER_CHOSE;
    else if (word.reach == MU_LAUNCHER_HEARD && !hears)
        event.launcher.reach = MU_LAUNCHER_UNREACHED;
    else if (word.reach == MU_LAUNCHER_HEARD && sim_random_chance(&world->random, 50))
        event.launcher.clock_ns = 1 + ring_world_clock_ns(world, subject) +
                                  (item->at_ns - ring_law_min(item->at_ns, round_ns));
    ring_world_step(world, item->node, &event, NULL);
}
