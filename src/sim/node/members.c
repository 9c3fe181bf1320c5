#include "sim/node/members.h"

#include <assert.h>
#include <string.h>

/* ---- who comes back, or comes ---- */

/* Views come in their order: before this one, those that admitted the peer earlier. */
void sim_members_on_member(struct sim_world *world, mu_slot node, mu_slot peer,
                           uint32_t incarnation)
{
    const struct sim_lives *lives = &world->lives[peer];
    for (uint32_t i = 0; i < lives->count && lives->of[i] <= incarnation; i++) {
        struct mu_event event = {.type = MU_EVENT_MEMBER};
        event.member.entry =
            (struct mu_roster_entry){.slot = peer, .incarnation = lives->of[i], .in = true};
        const struct mu_roster *roster = &sim_world_node(world, node)->roster;
        if (!sim_world_alive(world, node) || mu_roster_is_in(roster, peer, lives->of[i]) ||
            mu_roster_is_out(roster, peer, lives->of[i]))
            continue;
        world->seats[node].members++;
        sim_world_step(world, node, &event);
    }
}

static uint64_t soon_ns(struct sim_world *world)
{
    return world->queue.now_ns + sim_random_below(&world->random, world->plan->member_ns_max + 1);
}

/* The view that admits it reaches everybody, each in its own time; and it hears of those that its
 * first view, which is its sponsor's, does not know yet. */
static void announce(struct sim_world *world, mu_slot slot, mu_slot sponsor)
{
    const struct mu_roster *first = &sim_world_node(world, slot)->roster;
    for (mu_slot other = 0; other < world->size; other++) {
        if (!sim_world_alive(world, other) || other == slot)
            continue;
        uint32_t incarnation = world->seats[other].incarnation;
        if (other != sponsor)
            sim_world_push(world, soon_ns(world), SIM_MEMBER, other, slot,
                           world->seats[slot].incarnation);
        if (!mu_roster_is_in(first, other, incarnation))
            sim_world_push(world, soon_ns(world), SIM_MEMBER, slot, other, incarnation);
    }
}

/* A fresh core at the place of the old one.  What was meant for that is not for this. */
static void begin(struct sim_world *world, mu_slot slot, uint32_t incarnation,
                  const struct mu_roster *first)
{
    struct sim_seat *seat = &world->seats[slot];
    struct mu_config config = world->plan->config;
    config.self = slot;
    config.incarnation = seat->incarnation = incarnation;
    memset(sim_world_node(world, slot), 0, world->node_bytes);
    mu_node_init(sim_world_node(world, slot), world->node_bytes, &config);
    seat->alive = true;
    seat->crash_after = SIM_NOT_IN_UPDATE;
    seat->stopped_until_ns = 0;
    seat->members = 0;
    seat->started_ns = world->queue.now_ns;
    for (int t = 0; t < MU_TIMERS; t++)
        seat->timer_at_ns[t] = MU_NEVER;
    world->living++;
    world->returns++;
    sim_law_on_begin(world, slot, first);
    for (uint32_t i = 0; i < first->count; i++) {
        struct mu_event event = {.type = MU_EVENT_MEMBER, .member = {.entry = first->entries[i]}};
        sim_world_step(world, slot, &event);
    }
    sim_world_step(world, slot, &(struct mu_event){.type = MU_EVENT_START});
}

void sim_members_on_return(struct sim_world *world, mu_slot slot)
{
    bool same = (world->plan->config.broken_rules & MU_BROKEN_SAME_AGAIN) != 0;
    mu_slot sponsor = sim_world_draw_living(world);
    uint32_t before = world->seats[slot].incarnation;
    uint32_t incarnation = before + 1 + (uint32_t)sim_random_below(&world->random, 3);
    if (same && before > 0)
        incarnation = before;
    if (world->plan->trace != NULL)
        fprintf(world->plan->trace, "%10.3f ms  node %-4u COMES, incarnation %u, by node %u\n",
                (double)world->queue.now_ns / 1e6, slot, incarnation, sponsor);
    struct sim_lives *lives = &world->lives[slot];
    assert(lives->count < SIM_LIVES_MAX);
    lives->of[lives->count++] = incarnation;
    sim_members_on_member(world, sponsor, slot, incarnation);
    if (!sim_world_alive(world, sponsor)) {
        lives->count--; /* nobody else has heard of it: it has to ask another one */
        return;
    }
    begin(world, slot, incarnation, &sim_world_node(world, sponsor)->roster);
    announce(world, slot, sponsor);
}

/* A death is over when everybody knows it: a view holds it, and the next one is installed. */
static bool is_known_to_all(const struct sim_world *world, mu_slot dead, uint32_t incarnation)
{
    for (mu_slot node = 0; node < world->size; node++)
        if (sim_world_alive(world, node) &&
            !mu_roster_is_out(&sim_world_node(world, node)->roster, dead, incarnation))
            return false;
    return true;
}

void sim_members_on_over(struct sim_world *world, mu_slot dead, uint32_t incarnation)
{
    if (!is_known_to_all(world, dead, incarnation))
        return; /* the end of the run says it */
    for (mu_slot node = 0; node < world->size; node++)
        if (sim_world_alive(world, node))
            sim_world_push(world, soon_ns(world), SIM_FORGET, node, dead, incarnation);
}

void sim_members_on_forget(struct sim_world *world, mu_slot node, mu_slot dead,
                           uint32_t incarnation)
{
    struct mu_event event = {.type = MU_EVENT_FORGET};
    event.forget.kind = MU_NOTICE_NODE_DEAD;
    event.forget.slot = dead;
    event.forget.stream = incarnation;
    sim_world_step(world, node, &event);
}

/* In the end every death is over. */
void sim_members_forget_all(struct sim_world *world)
{
    for (mu_slot node = 0; node < world->size; node++)
        for (mu_slot dead = 0; dead < world->size; dead++) {
            const struct sim_seat *seat = &world->seats[dead];
            uint32_t last = seat->alive ? seat->incarnation - 1 : seat->incarnation;
            if (sim_world_alive(world, node) && last > 0)
                sim_members_on_forget(world, node, dead, last);
        }
}

/* What views owe: everybody comes to know who is in. */
bool sim_members_insist(struct sim_world *world)
{
    bool told = false;
    for (mu_slot node = 0; world->returns > 0 && node < world->size; node++)
        for (mu_slot peer = 0; peer < world->size; peer++) {
            uint32_t incarnation = world->seats[peer].incarnation;
            if (node == peer || !sim_world_alive(world, node) || !sim_world_alive(world, peer) ||
                mu_roster_is_in(&sim_world_node(world, node)->roster, peer, incarnation) ||
                mu_roster_is_out(&sim_world_node(world, node)->roster, peer, incarnation))
                continue;
            sim_world_push(world, world->queue.now_ns, SIM_MEMBER, node, peer, incarnation);
            told = true;
        }
    return told;
}
