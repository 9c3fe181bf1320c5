#include "sim/node/net.h"

#include "core/base/graph.h"
#include "sim/base/memory.h"
#include "sim/node/world.h"

#include <assert.h>
#include <stdlib.h>

enum {
    NOTICE_DELAY_MAX_US = 400, /* until an end notices that its connection is gone */
    AGAIN_US = 200,            /* until one that was refused is tried again */
};

void sim_net_init(struct sim_net *net, const struct sim_net_plan *plan, uint64_t seed,
                  uint32_t size)
{
    *net = (struct sim_net){.plan = *plan, .seed = seed, .size = size};
    if (plan->tracked)
        net->connections = sim_calloc((size_t)size * size, sizeof *net->connections);
}

void sim_net_free(struct sim_net *net)
{
    free(net->connections);
    net->connections = NULL;
}

static struct sim_connection *between(const struct sim_net *net, mu_slot a, mu_slot b)
{
    assert(a != b && a < net->size && b < net->size);
    mu_slot low = a < b ? a : b, high = a < b ? b : a;
    return &net->connections[(size_t)low * net->size + high];
}

/* Which end of its connection to 'peer' is at 'node'. */
static int end_at(mu_slot node, mu_slot peer)
{
    return node < peer ? 0 : 1;
}

void sim_net_connect_graph(struct sim_net *net, uint32_t founders)
{
    if (!net->plan.tracked)
        return;
    for (mu_slot slot = 0; slot < founders; slot++) {
        for (uint32_t e = 0; e < mu_graph_edges(founders); e++) {
            struct sim_connection *c = between(net, slot, mu_graph_target(founders, slot, e));
            c->epoch = 1;
            c->up[0] = c->up[1] = true;
        }
    }
}

/* Time is drawn in whole microseconds: many things then happen at one instant, in large worlds. */
static uint64_t in_microseconds(uint64_t ns)
{
    return ns / 1000 * 1000;
}

static uint64_t delay_ns(struct sim_world *world, mu_slot from, mu_slot to)
{
    const struct sim_net_plan *plan = &world->net.plan;
    if (plan->tracked)
        return plan->delay_ns_min +
               in_microseconds(sim_random_below(&world->random, plan->jitter_ns_max + 1));
    /* One delay for each pair: frames cannot overtake, and nothing has to be remembered. */
    uint64_t drawn = sim_random_hash(world->net.seed ^ ((uint64_t)from << 32 | to));
    return plan->delay_ns_min + in_microseconds(drawn % (plan->jitter_ns_max + 1));
}

static bool is_split(const struct sim_net *net, mu_slot a, mu_slot b, uint64_t now_ns)
{
    return now_ns < net->split_until_ns && (a < net->split_below) != (b < net->split_below);
}

uint64_t sim_net_send(struct sim_world *world, mu_slot from, mu_slot to, uint32_t *epoch)
{
    uint64_t arrives_ns = in_microseconds(world->queue.now_ns) + delay_ns(world, from, to);
    *epoch = 0;
    if (!world->net.plan.tracked)
        return arrives_ns;
    struct sim_connection *c = between(&world->net, from, to);
    assert(c->up[end_at(from, to)]); /* the core sends on links that are up only */
    *epoch = c->epoch;
    if (!c->up[end_at(to, from)])
        return MU_NEVER;
    uint64_t *last_ns = &c->last_arrival_ns[end_at(to, from)];
    if (arrives_ns < *last_ns)
        arrives_ns = *last_ns;
    *last_ns = arrives_ns;
    return arrives_ns;
}

bool sim_net_delivers(const struct sim_net *net, mu_slot from, mu_slot to, uint32_t epoch)
{
    if (!net->plan.tracked)
        return true;
    const struct sim_connection *c = between(net, from, to);
    return c->epoch == epoch && c->up[end_at(to, from)];
}

void sim_net_open(struct sim_world *world, mu_slot node, mu_slot peer)
{
    struct sim_net *net = &world->net;
    uint64_t at_ns = world->queue.now_ns + delay_ns(world, node, peer);
    if (net->plan.tracked) {
        struct sim_connection *c = between(net, node, peer);
        if (c->connecting)
            return;
        c->connecting = true;
        if (is_split(net, node, peer, at_ns))
            at_ns = net->split_until_ns + delay_ns(world, node, peer);
    }
    sim_world_push(world, at_ns, SIM_CONNECT, node, peer, 0);
}

/* What each end has is told before either goes on: that is what the handshake is. */
static struct mu_event what_peer_says(const struct sim_world *world, mu_slot node, mu_slot peer)
{
    struct mu_event event = {.type = MU_EVENT_LINK_UP};
    event.link_up.peer = peer;
    event.link_up.incarnation = world->seats[peer].incarnation;
    event.link_up.peer_has =
        mu_node_link_has(sim_world_node(world, peer), node, world->seats[node].incarnation);
    return event;
}

static void both_ends_up(struct sim_world *world, mu_slot node, mu_slot peer)
{
    struct mu_event at_node = what_peer_says(world, node, peer);
    struct mu_event at_peer = what_peer_says(world, peer, node);
    sim_world_step(world, node, &at_node);
    if (sim_world_alive(world, peer))
        sim_world_step(world, peer, &at_peer);
}

static void end_goes_down(struct sim_world *world, mu_slot node, mu_slot peer)
{
    struct sim_connection *c = between(&world->net, node, peer);
    if (!c->up[end_at(node, peer)])
        return;
    c->up[end_at(node, peer)] = false;
    if (!sim_world_alive(world, node))
        return;
    struct mu_event event = {.type = MU_EVENT_LINK_DOWN, .link_down = {.peer = peer}};
    sim_world_step(world, node, &event);
}

/* That proves nothing (W2): a daemon tries again. */
static void on_refused(struct sim_world *world, mu_slot node, mu_slot peer)
{
    if ((world->plan->config.broken_rules & MU_BROKEN_REFUSED) != 0) {
        sim_world_push(world, world->queue.now_ns, SIM_TELL, node, peer,
                       world->seats[peer].incarnation);
        return;
    }
    between(&world->net, node, peer)->connecting = true;
    sim_world_push(world, world->queue.now_ns + 1000 * AGAIN_US, SIM_CONNECT, node, peer, 0);
}

void sim_net_on_connect(struct sim_world *world, mu_slot node, mu_slot peer)
{
    struct sim_net *net = &world->net;
    bool both_live = sim_world_alive(world, node) && sim_world_alive(world, peer);
    if (!net->plan.tracked) {
        struct mu_link *link = mu_links_find(&sim_world_node(world, node)->links, peer);
        if (both_live && (link == NULL || !link->up)) /* both may have asked */
            both_ends_up(world, node, peer);
        return;
    }
    struct sim_connection *c = between(net, node, peer);
    c->connecting = false;
    if (!both_live || (c->up[0] && c->up[1]))
        return; /* too late, or the other end was faster */
    if (is_split(net, node, peer, world->queue.now_ns)) {
        sim_net_open(world, node, peer);
        return;
    }
    if (world->queue.now_ns < c->refused_until_ns) {
        on_refused(world, node, peer);
        return;
    }
    /* Whoever has not noticed yet notices now: a new connection replaces the old one. */
    end_goes_down(world, node, peer);
    end_goes_down(world, peer, node);
    if (!sim_world_alive(world, node) || !sim_world_alive(world, peer))
        return; /* a crash in one of these steps */
    c->epoch++;
    c->up[0] = c->up[1] = true;
    c->last_arrival_ns[0] = c->last_arrival_ns[1] = 0;
    both_ends_up(world, node, peer);
}

/* An end notices after a while; until then it sends into nothing, and still hears what is there. */
static void will_notice(struct sim_world *world, mu_slot node, mu_slot peer, uint32_t epoch)
{
    uint64_t after_ns = 1000 * sim_random_below(&world->random, NOTICE_DELAY_MAX_US);
    sim_world_push(world, world->queue.now_ns + after_ns, SIM_LINK_DOWN, node, peer, epoch);
}

void sim_net_close(struct sim_world *world, mu_slot node, mu_slot peer)
{
    sim_net_reset(world, node, peer);
}

void sim_net_vanish(struct sim_world *world, mu_slot node, bool peers_notice)
{
    struct sim_net *net = &world->net;
    for (mu_slot peer = 0; net->plan.tracked && peer < net->size; peer++) {
        if (peer == node)
            continue;
        struct sim_connection *c = between(net, node, peer);
        bool was_up = c->up[end_at(node, peer)];
        c->up[end_at(node, peer)] = false;
        if (was_up && peers_notice)
            will_notice(world, peer, node, c->epoch);
    }
}

void sim_net_on_link_down(struct sim_world *world, mu_slot node, mu_slot peer, uint32_t epoch)
{
    if (between(&world->net, node, peer)->epoch == epoch)
        end_goes_down(world, node, peer);
}

void sim_net_reset(struct sim_world *world, mu_slot a, mu_slot b)
{
    if (!world->net.plan.tracked || a == b)
        return;
    const struct sim_connection *c = between(&world->net, a, b);
    if (!c->up[0] && !c->up[1])
        return;
    will_notice(world, a, b, c->epoch);
    will_notice(world, b, a, c->epoch);
}

void sim_net_split(struct sim_world *world, mu_slot below, uint64_t for_ns)
{
    struct sim_net *net = &world->net;
    net->split_below = below;
    net->split_until_ns = world->queue.now_ns + for_ns;
    for (mu_slot a = 0; a < below; a++)
        for (mu_slot b = below; b < net->size; b++)
            sim_net_reset(world, a, b);
}

/* Its connection is reset, too. */
void sim_net_refuse(struct sim_world *world, mu_slot a, mu_slot b, uint64_t for_ns)
{
    if (!world->net.plan.tracked || a == b)
        return;
    between(&world->net, a, b)->refused_until_ns = world->queue.now_ns + for_ns;
    sim_net_reset(world, a, b);
}
