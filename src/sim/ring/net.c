#include "sim/ring/net.h"

#include "sim/base/memory.h"
#include "sim/ring/trace.h"
#include "sim/ring/world.h"

#include <assert.h>
#include <stdlib.h>

enum { MILLION = 1000 * 1000, HAUNTS = 6, HAUNT_TIMES = 24 };

void ring_net_init(struct ring_net *net, const struct ring_net_plan *plan, uint32_t size)
{
    *net = (struct ring_net){.plan = *plan};
    if (plan->loss_apart_ns > 0)
        net->lost_ns = sim_calloc(size, sizeof *net->lost_ns);
    if (plan->replay_ppm > 0 || plan->haunt_percent > 0 || plan->echo_percent > 0)
        net->record = sim_calloc(RING_RECORD, sizeof *net->record);
}

void ring_net_free(struct ring_net *net)
{
    free(net->datagrams);
    free(net->unused);
    free(net->lost_ns);
    free(net->record);
    *net = (struct ring_net){0};
}

/* ---- datagrams on their way ---- */

uint32_t ring_net_keep(struct ring_net *net, const struct ring_datagram *datagram)
{
    if (net->unused_count == 0 && net->count == net->capacity) {
        size_t capacity = net->capacity == 0 ? 64 : 2 * (size_t)net->capacity;
        net->datagrams = sim_realloc(net->datagrams, capacity * sizeof *net->datagrams);
        net->unused = sim_realloc(net->unused, capacity * sizeof *net->unused);
        net->capacity = (uint32_t)capacity;
    }
    uint32_t ref = net->unused_count > 0 ? net->unused[--net->unused_count] : net->count++;
    net->datagrams[ref] = *datagram;
    return ref;
}

void ring_net_release(struct ring_net *net, uint32_t ref)
{
    net->unused[net->unused_count++] = ref;
}

/* Arrivals are at whole microseconds, and timers between two of them: what arrives at the same
 * instant as a timer would be told before it. */
static void arrive(struct ring_world *world, const struct mu_beat *beat, enum ring_copy copy,
                   uint64_t after_ns)
{
    struct ring_datagram datagram = {
        .beat = *beat, .next = RING_NO_DATAGRAM, .copy = (uint8_t)copy};
    uint64_t at_ns = (world->queue->now_ns + after_ns + 999) / 1000 * 1000;
    ring_world_push(world, at_ns, RING_DATAGRAM, beat->to, beat->from,
                    ring_net_keep(&world->net, &datagram));
}

/* ---- what becomes of one ---- */

static bool draw(struct ring_world *world, uint32_t ppm)
{
    const struct ring_net_plan *plan = &world->net.plan;
    uint64_t now_ns = world->queue->now_ns;
    return ppm > 0 && now_ns >= plan->from_ns && now_ns < plan->until_ns &&
           sim_random_below(&world->random, MILLION) < ppm;
}

static uint64_t draw_delay_ns(struct ring_world *world)
{
    const struct ring_net_plan *plan = &world->net.plan;
    /* Rounded up to whole microseconds on arrival. */
    return sim_random_between(&world->random, plan->delay_ns_min, plan->delay_ns_max - 999);
}

/* Losses that come one by one are no excuse for anything. */
static bool is_lost(struct ring_world *world, const struct mu_beat *beat)
{
    struct ring_net *net = &world->net;
    if (!draw(world, net->plan.loss_ppm))
        return false;
    if (net->lost_ns == NULL)
        return true;
    uint64_t now_ns = world->queue->now_ns, apart_ns = net->plan.loss_apart_ns;
    uint64_t *from_ns = &net->lost_ns[beat->from], *to_ns = &net->lost_ns[beat->to];
    if (now_ns < *from_ns + apart_ns || now_ns < *to_ns + apart_ns)
        return false;
    *from_ns = *to_ns = now_ns;
    return true;
}

/* 'until_ns': from then on the laws wait anew; 0: it is no excuse for that. */
static void lose(struct ring_world *world, const struct mu_beat *beat, const char *why,
                 uint64_t until_ns)
{
    if (world->plan->trace != NULL)
        ring_trace_lost(world->plan->trace, world->queue->now_ns, beat, why);
    ring_law_on_lost(world, beat, until_ns);
}

/* What was lost is not recorded: when it came later all the same, it would be late, not a replay.
 */
static void record(struct ring_world *world, const struct mu_beat *beat)
{
    struct ring_net *net = &world->net;
    net->record[net->recorded++ % RING_RECORD] = *beat;
    if (!draw(world, net->plan.replay_ppm))
        return;
    uint64_t known = net->recorded < RING_RECORD ? net->recorded : RING_RECORD;
    const struct mu_beat *old = &net->record[sim_random_below(&world->random, known)];
    ring_net_replay(world, old,
                    net->plan.delay_ns_max +
                        sim_random_below(&world->random, net->plan.replay_ns_max));
}

/* A watch begins: somebody who has recorded the same two nodes is faster than the one that is
 * asked. To the observer, who remembers nothing from before, only the nonce is wrong. */
static void echo(struct ring_world *world, const struct mu_beat *watch)
{
    const struct ring_net *net = &world->net;
    uint64_t known = net->recorded < RING_RECORD ? net->recorded : RING_RECORD;
    if (sim_random_hash(world->plan->seed ^ watch->nonce) % 100 >= net->plan.echo_percent)
        return; /* looked up, so that a world without echoes stays the same */
    for (uint64_t i = 1; i <= known; i++) {
        const struct mu_beat *beat = &net->record[(net->recorded - i) % RING_RECORD];
        if (beat->type != MU_BEAT_BEAT || beat->from != watch->to || beat->to != watch->from ||
            beat->nonce == watch->nonce)
            continue;
        ring_net_replay(world, beat, net->plan.delay_ns_min);
        return;
    }
}

void ring_net_send(struct ring_world *world, const struct mu_beat *beat)
{
    struct ring_net *net = &world->net;
    uint64_t now_ns = world->queue->now_ns;
    if (beat->type == MU_BEAT_WATCH && net->plan.echo_percent > 0)
        echo(world, beat);
    if (net->cut_count > 0 && ring_net_is_cut(net, beat->from, beat->to, now_ns)) {
        lose(world, beat, "cut", now_ns);
        return;
    }
    if (is_lost(world, beat)) {
        lose(world, beat, "lost", net->lost_ns == NULL ? now_ns : 0);
        return;
    }
    uint64_t after_ns = draw_delay_ns(world);
    if (draw(world, net->plan.late_ppm)) {
        after_ns = net->plan.delay_ns_max + sim_random_below(&world->random, net->plan.late_ns_max);
        lose(world, beat, "late", now_ns + after_ns);
    } else if (net->record != NULL) {
        record(world, beat);
    }
    arrive(world, beat, RING_GENUINE, after_ns);
    if (draw(world, net->plan.repeat_ppm))
        arrive(world, beat, RING_REPEATED, after_ns + draw_delay_ns(world));
}

void ring_net_replay(struct ring_world *world, const struct mu_beat *beat, uint64_t after_ns)
{
    arrive(world, beat, RING_REPLAYED, after_ns);
}

/* Its newest beats and answers, what helpers heard of it, and newest beats under another watch. */
static uint32_t find_last(const struct ring_net *net, mu_slot node,
                          const struct mu_beat *last[2 * HAUNTS])
{
    uint64_t known = net->recorded < RING_RECORD ? net->recorded : RING_RECORD;
    uint32_t newest = 0, others = 0;
    for (uint64_t i = 1; i <= known && newest + others < 2 * HAUNTS; i++) {
        const struct mu_beat *beat = &net->record[(net->recorded - i) % RING_RECORD];
        bool is_heard =
            beat->type == MU_BEAT_REPLY && beat->reach == MU_REACH_HEARD && beat->subject == node;
        bool is_said =
            beat->from == node && (beat->type == MU_BEAT_BEAT || beat->type == MU_BEAT_ANSWER);
        if (!is_heard && !is_said)
            continue;
        if (newest < HAUNTS)
            newest++;
        else if (others < HAUNTS && beat->type == MU_BEAT_BEAT && beat->nonce != last[0]->nonce)
            others++;
        else
            continue;
        last[newest + others - 1] = beat;
    }
    return newest + others;
}

/* Oldest first: each may look new to somebody who has forgotten the others. */
void ring_net_haunt(struct ring_world *world, mu_slot node)
{
    struct ring_net *net = &world->net;
    const struct mu_beat *last[2 * HAUNTS];
    if (net->record == NULL || !sim_random_chance(&world->random, net->plan.haunt_percent))
        return;
    uint32_t found = find_last(net, node, last);
    uint64_t each_ns = world->plan->config.period_ns / 2;
    for (uint32_t i = 0; found > 0 && i < HAUNT_TIMES; i++)
        ring_net_replay(world, last[found - 1 - i % found],
                        net->plan.delay_ns_max + (i + 1) * each_ns);
}

/* ---- cuts ---- */

bool ring_net_is_inside(uint64_t side, mu_slot slot)
{
    return sim_random_hash(side + slot) % 2 == 0;
}

static bool takes(const struct ring_cut *cut, mu_slot from, mu_slot to)
{
    if (cut->side != 0) {
        bool leaves = ring_net_is_inside(cut->side, from),
             enters = ring_net_is_inside(cut->side, to);
        return leaves != enters && (cut->ways & (leaves ? RING_OUTWARD : RING_INWARD)) != 0;
    }
    bool outward = cut->ways & RING_OUTWARD && from == cut->node &&
                   (cut->peer == MU_SLOT_NONE || cut->peer == to);
    bool inward = cut->ways & RING_INWARD && to == cut->node &&
                  (cut->peer == MU_SLOT_NONE || cut->peer == from);
    return outward || inward;
}

bool ring_net_is_cut(const struct ring_net *net, mu_slot from, mu_slot to, uint64_t now_ns)
{
    for (uint32_t i = 0; i < net->cut_count; i++)
        if (now_ns < net->cuts[i].until_ns && takes(&net->cuts[i], from, to))
            return true;
    return false;
}

uint64_t ring_net_cut_off_until_ns(const struct ring_net *net, mu_slot node, uint32_t ways,
                                   uint64_t now_ns)
{
    uint64_t until_ns = 0;
    for (uint32_t i = 0; i < net->cut_count; i++) {
        const struct ring_cut *cut = &net->cuts[i];
        if (cut->node == node && cut->peer == MU_SLOT_NONE && cut->side == 0 &&
            (cut->ways & ways) != 0 && now_ns < cut->until_ns && cut->until_ns > until_ns)
            until_ns = cut->until_ns;
    }
    return until_ns;
}

uint64_t ring_net_apart_until_ns(const struct ring_net *net, mu_slot a, mu_slot b, uint64_t now_ns)
{
    uint64_t until_ns = 0;
    for (uint32_t i = 0; i < net->cut_count; i++) {
        const struct ring_cut *cut = &net->cuts[i];
        bool parts = cut->side != 0 && (takes(cut, a, b) || takes(cut, b, a));
        if (parts && now_ns < cut->until_ns && cut->until_ns > until_ns)
            until_ns = cut->until_ns;
    }
    return until_ns;
}

void ring_net_cut(struct ring_world *world, const struct ring_fault *fault)
{
    struct ring_net *net = &world->net;
    assert(net->cut_count < RING_CUTS_MAX);
    net->cuts[net->cut_count++] =
        (struct ring_cut){.until_ns = world->queue->now_ns + fault->for_ns,
                          .node = fault->node,
                          .peer = fault->peer,
                          .ways = fault->ways,
                          .side = fault->side};
}
