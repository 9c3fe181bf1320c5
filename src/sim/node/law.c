#include "sim/node/law.h"

#include "core/base/graph.h"
#include "sim/base/memory.h"
#include "sim/node/trace.h"
#include "sim/node/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sim_law_init(struct sim_law *law, struct sim_world *world)
{
    memset(law, 0, sizeof *law);
    law->acks = sim_calloc(world->size, sizeof *law->acks);
    if (!world->net.plan.tracked)
        return;
    size_t pairs = (size_t)world->size * world->size;
    law->highest_sent = sim_calloc(pairs, sizeof *law->highest_sent);
    law->taken_back = sim_calloc(pairs, sizeof *law->taken_back);
    law->link_of = sim_calloc(pairs, sizeof *law->link_of);
    law->first_view = sim_calloc(pairs, sizeof *law->first_view);
}

void sim_law_free(struct sim_law *law)
{
    for (uint32_t i = 0; i < law->told_count; i++) {
        free(law->told[i].delivered);
        free(law->told[i].sent);
        free(law->told[i].copies);
    }
    free(law->told);
    free(law->highest_sent);
    free(law->taken_back);
    free(law->link_of);
    free(law->first_view);
    free(law->acks);
    memset(law, 0, sizeof *law);
}

void sim_law_fail(struct sim_world *world, const char *law, const char *format, ...)
{
    if (world->law.broken != NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(world->law.message, sizeof world->law.message, format, arguments);
    va_end(arguments);
    world->law.broken = law;
    world->law.broken_step = world->events;
}

static struct sim_told *told_of(struct sim_world *world, const struct mu_notice_id *id)
{
    struct sim_law *law = &world->law;
    for (uint32_t i = law->told_count; i-- > 0;) /* mostly a late one */
        if (mu_notice_compare(&law->told[i].id, id) == 0)
            return &law->told[i];
    if (law->told_count == law->told_capacity) {
        law->told_capacity = law->told_capacity == 0 ? 16 : 2 * law->told_capacity;
        law->told = sim_realloc(law->told, law->told_capacity * sizeof *law->told);
    }
    struct sim_told *told = &law->told[law->told_count++];
    size_t size = world->size;
    *told = (struct sim_told){.id = *id};
    told->delivered = sim_calloc(size, sizeof *told->delivered);
    told->sent = sim_calloc(size, sizeof *told->sent);
    if (world->net.plan.tracked)
        told->copies = sim_calloc(size * size, sizeof *told->copies);
    return told;
}

/* ---- S2: at most once; S4: hops ---- */

/* S8: a node's death waits for nothing. */
static void check_time(struct sim_world *world, mu_slot node, const struct sim_told *told)
{
    uint64_t took_ns = world->queue.now_ns - told->first_ns, most_ns = world->plan->death_ns_max;
    char what[64];
    if (most_ns > 0 && told->id.kind == MU_NOTICE_NODE_DEAD && took_ns > most_ns)
        sim_law_fail(world, "S8", "'%s' took %.3f ms to node %u, at most %.3f are allowed",
                     sim_trace_notice(what, &told->id), (double)took_ns / 1e6, node,
                     (double)most_ns / 1e6);
}

/* S10: what is known takes one range for all numbers without a gap. */
static void check_ranges(struct sim_world *world, mu_slot node)
{
    const struct mu_seen *seen = &sim_world_node(world, node)->seen;
    for (uint32_t i = 1; i < seen->count; i++) {
        const struct mu_seen_range *one = &seen->ranges[i - 1], *next = &seen->ranges[i];
        if (one->kind == next->kind && one->stream == next->stream && one->last + 1 >= next->first)
            sim_law_fail(world, "S10", "node %u keeps %llu to %llu and %llu to %llu apart", node,
                         (unsigned long long)one->first, (unsigned long long)one->last,
                         (unsigned long long)next->first, (unsigned long long)next->last);
    }
}

/* ---- W1, W2: who is declared dead has ended ---- */

/* The oracle speaks for witnesses, and for a ring that waited.  Real detectors may err, but have no
 * proof. */
static void check_ended(struct sim_world *world, mu_slot node, const struct mu_notice *notice)
{
    bool may_err = world->plan->told != NULL && !mu_notice_is_proof(&notice->id);
    const struct sim_seat *seat = &world->seats[notice->id.index];
    if (notice->id.kind == MU_NOTICE_NODE_DEAD && !may_err && seat->alive &&
        seat->incarnation <= mu_notice_incarnation(&notice->id))
        sim_law_fail(world, mu_notice_is_proof(&notice->id) ? "W1" : "W2",
                     "node %u hears that node %u is dead, which lives", node,
                     (mu_slot)notice->id.index);
}

void sim_law_on_deliver(struct sim_world *world, mu_slot node, const struct mu_notice *notice)
{
    struct sim_law *law = &world->law;
    struct sim_told *told = told_of(world, &notice->id);
    char what[64];
    if (told->first_ns == 0)
        told->first_ns = world->queue.now_ns;
    check_ended(world, node, notice);
    check_time(world, node, told);
    check_ranges(world, node);
    if (mu_notice_is_proof(&notice->id) &&
        world->seats[notice->id.index].proven < mu_notice_incarnation(&notice->id))
        sim_law_fail(world, "S11", "node %u hears that '%s', which nobody has seen", node,
                     sim_trace_notice(what, &notice->id));
    if (++told->delivered[node] > 1)
        sim_law_fail(world, "S2", "node %u delivers '%s' %u times", node,
                     sim_trace_notice(what, &notice->id), told->delivered[node]);
    if (notice->hops > law->hops_max)
        law->hops_max = notice->hops;
    law->last_heard_ns = world->queue.now_ns;
    if (law->hop_of != NULL)
        law->hop_of[node] = notice->hops;
    if (world->plan->calm && notice->hops > mu_graph_bits(world->size))
        sim_law_fail(world, "S4", "'%s' took %u hops to node %u, at most %u are allowed",
                     sim_trace_notice(what, &notice->id), notice->hops, node,
                     mu_graph_bits(world->size));
}

/* ---- S3: how many messages ---- */

/* A fresh link, to one that has come back, counts from nothing. */
static void note_link(struct sim_world *world, mu_slot node, mu_slot peer)
{
    const struct mu_link *link = mu_links_find(&sim_world_node(world, node)->links, peer);
    size_t pair = (size_t)node * world->size + peer;
    uint32_t incarnation = link == NULL ? 0 : link->incarnation;
    if (world->plan->over_ns == 0 || world->law.link_of[pair] == incarnation)
        return; /* in most worlds nobody comes back */
    world->law.link_of[pair] = incarnation;
    world->law.highest_sent[pair] = 0;
    world->law.taken_back[pair] = false;
    for (uint32_t i = 0; i < world->law.told_count; i++)
        world->law.told[i].copies[pair] = 0;
}

static bool is_resend(struct sim_world *world, mu_slot node, mu_slot peer, uint64_t sequence)
{
    if (world->law.highest_sent == NULL)
        return false;
    uint64_t *highest = &world->law.highest_sent[(size_t)node * world->size + peer];
    if (sequence <= *highest)
        return true;
    *highest = sequence;
    return false;
}

/* How often edges may have been laid anew for one who came: by a view that admits it, or by news of
 * a slot so high that the circle grows. */
static uint32_t edges_moved(const struct sim_world *world, mu_slot node)
{
    if (world->plan->over_ns == 0)
        return 0;
    const struct mu_roster *roster = &sim_world_node(world, node)->roster;
    uint32_t moved = world->seats[node].members;
    for (uint32_t i = 0; i < roster->count; i++)
        moved += roster->entries[i].slot >= roster->founders;
    return moved;
}

void sim_law_on_send(struct sim_world *world, mu_slot node, mu_slot peer,
                     const struct mu_frame *frame)
{
    if (frame->type != MU_FRAME_NOTICE) {
        world->law.acks[node]++;
        if (frame->type == MU_FRAME_AGAIN && world->law.taken_back != NULL)
            world->law.taken_back[(size_t)node * world->size + peer] = true;
        return;
    }
    note_link(world, node, peer);
    if (world->law.taken_back != NULL && world->law.taken_back[(size_t)node * world->size + peer])
        return;
    if (is_resend(world, node, peer, frame->sequence))
        return;
    struct sim_told *told = told_of(world, &frame->notice.id);
    char what[64];
    /* A neighbour that dies may be replaced by one onward and one back, but then it had two edges
     * and got one copy. */
    bool some_died = world->living < world->size;
    uint32_t dead = some_died ? sim_world_node(world, node)->roster.count : 0;
    uint32_t came = edges_moved(world, node);
    /* A proof goes twice where the notice without it, which it took the place of, still waited. */
    uint32_t twice = mu_notice_is_proof(&told->id) ? 2 : 1;
    uint32_t most = twice * (mu_graph_edges(world->size) + dead + 3 * came);
    if (++told->sent[node] > most)
        sim_law_fail(world, "S3", "node %u sends '%s' %u times, at most %u with %u dead", node,
                     sim_trace_notice(what, &told->id), told->sent[node], most, dead);
    twice += came; /* an edge that was taken over and came back has carried nothing, as it seems */
    if (told->copies != NULL && ++told->copies[(size_t)node * world->size + peer] > twice)
        sim_law_fail(world, "S3", "node %u sends '%s' to node %u %u times", node,
                     sim_trace_notice(what, &told->id), peer, twice + 1);
}

void sim_law_on_fault(struct sim_world *world, mu_slot node, enum mu_fault fault)
{
    bool for_room = fault == MU_FAULT_NOTICES_FULL || fault == MU_FAULT_SEEN_FULL;
    world->law.no_room += for_room;
    if (!world->plan->flood || !for_room)
        sim_law_fail(world, "no-fault", "node %u: %s", node, mu_fault_text(fault));
}

/* ---- S9: who is told that it is dead is inert ---- */

void sim_law_on_told_own_death(struct sim_world *world, mu_slot node)
{
    if (!sim_world_node(world, node)->fenced)
        sim_law_fail(world, "S9", "node %u goes on, though it was told that it is dead", node);
}

/* ---- S11: proof ---- */

static bool holds_proof(const struct sim_world *world, mu_slot node, mu_slot dead,
                        uint32_t incarnation)
{
    return mu_roster_is_proven(&sim_world_node(world, node)->roster, dead, incarnation);
}

void sim_law_on_proof(struct sim_world *world, mu_slot node, mu_slot dead, uint32_t incarnation)
{
    if (!sim_world_node(world, node)->fenced && !holds_proof(world, node, dead, incarnation))
        sim_law_fail(world, "S11", "node %u saw proof that node %u is dead, and does not keep it",
                     node, dead);
}

/* Did it start when the notice was there?  Then a death may be in its first view. */
static bool came_later(const struct sim_world *world, const struct sim_told *told, mu_slot node)
{
    return world->seats[node].started_ns > 0 && world->seats[node].started_ns >= told->first_ns;
}

/* Did it hear of this death, proven or not, or of that of a later incarnation; or did its first
 * view say so? */
static bool heard_of(const struct sim_world *world, const struct mu_notice_id *id, mu_slot node)
{
    size_t pair = (size_t)node * world->size + id->index;
    if (world->law.first_view[pair] >= mu_notice_incarnation(id))
        return true;
    for (uint32_t i = 0; i < world->law.told_count; i++) {
        const struct sim_told *other = &world->law.told[i];
        if (other->id.kind == MU_NOTICE_NODE_DEAD && other->id.index == id->index &&
            mu_notice_incarnation(&other->id) >= mu_notice_incarnation(id) &&
            other->delivered[node] > 0)
            return true;
    }
    return false;
}

/* Has it delivered the notice, or the proof that makes it needless, or the death of a later
 * incarnation; or was a death in its first view?  A join proves the deaths before it. */
static bool was_told(const struct sim_world *world, const struct sim_told *told, mu_slot node)
{
    if (told->delivered[node] > 0)
        return true;
    if (told->id.kind != MU_NOTICE_NODE_DEAD)
        return false;
    mu_slot dead = (mu_slot)told->id.index;
    uint32_t incarnation = mu_notice_incarnation(&told->id);
    bool has_proof = holds_proof(world, node, dead, incarnation);
    if (world->returns == 0)
        return has_proof && !mu_notice_is_proof(&told->id);
    if (mu_notice_is_proof(&told->id) && !has_proof)
        return false;
    return mu_roster_is_out(&sim_world_node(world, node)->roster, dead, incarnation) &&
           heard_of(world, &told->id, node);
}

static void check_proofs(struct sim_world *world, mu_slot dead)
{
    uint32_t incarnation = world->seats[dead].incarnation;
    mu_slot has = MU_SLOT_NONE, lacks = MU_SLOT_NONE;
    for (mu_slot node = 0; node < world->size; node++) {
        if (!sim_world_alive(world, node))
            continue;
        if (holds_proof(world, node, dead, incarnation))
            has = node;
        else
            lacks = node;
    }
    if (has != MU_SLOT_NONE && lacks != MU_SLOT_NONE)
        sim_law_fail(world, "S11",
                     "to node %u the death of node %u is proven, to node %u it is not", has, dead,
                     lacks);
}

/* ---- S6: news does not wait for the detector ---- */

/* Where room is short, all but deaths of nodes may wait for it. */
static bool may_wait(const struct sim_world *world, const struct sim_told *told)
{
    return world->plan->flood && told->id.kind != MU_NOTICE_NODE_DEAD;
}

static bool holds_for_member(const struct sim_world *world, mu_slot node, mu_slot peer)
{
    return mu_roster_is_in(&sim_world_node(world, node)->roster, peer,
                           world->seats[peer].incarnation);
}

static bool holds(const struct mu_spread *spread, const struct mu_notice_id *id)
{
    for (uint16_t i = 0; i < spread->count; i++)
        if (mu_notice_compare(&spread->held[spread->order[i]].id, id) == 0)
            return true;
    return false;
}

/* Before a view has come to both of them there is no link.  Who came later gets what is held. */
static bool owes(const struct sim_world *world, const struct sim_told *told, mu_slot node,
                 mu_slot peer)
{
    if (!sim_world_alive(world, peer) || was_told(world, told, peer))
        return false;
    if (world->returns == 0)
        return true;
    return holds_for_member(world, node, peer) && holds_for_member(world, peer, node) &&
           (!came_later(world, told, peer) ||
            holds(&sim_world_node(world, node)->spread, &told->id));
}

static void check_edges_served(struct sim_world *world, const struct sim_told *told, mu_slot node)
{
    const struct mu_spread *spread = &sim_world_node(world, node)->spread;
    for (uint32_t e = 0; e < spread->edge_count; e++) {
        mu_slot peer = spread->edges[e].slot;
        if (peer == MU_SLOT_NONE || !owes(world, told, node, peer))
            continue;
        char what[64];
        sim_law_fail(world, "S6", "node %u knows '%s', its live neighbour %u does not", node,
                     sim_trace_notice(what, &told->id), peer);
    }
}

void sim_law_on_calm(struct sim_world *world)
{
    for (uint32_t i = 0; i < world->law.told_count; i++)
        for (mu_slot node = 0; node < world->size; node++)
            if (sim_world_alive(world, node) && world->law.told[i].delivered[node] > 0 &&
                !may_wait(world, &world->law.told[i]))
                check_edges_served(world, &world->law.told[i], node);
}

/* ---- S1: all survivors or none ---- */

static void check_all_told(struct sim_world *world, const struct sim_told *told)
{
    mu_slot knows = MU_SLOT_NONE, lacks = MU_SLOT_NONE;
    for (mu_slot node = 0; node < world->size; node++) {
        if (!sim_world_alive(world, node))
            continue;
        bool is_for_others = came_later(world, told, node) && told->id.kind != MU_NOTICE_NODE_DEAD;
        if (was_told(world, told, node))
            knows = node;
        else if (!is_for_others)
            lacks = node;
    }
    char what[64];
    if (knows != MU_SLOT_NONE && lacks != MU_SLOT_NONE)
        sim_law_fail(world, "S1", "node %u knows '%s', node %u never hears it", knows,
                     sim_trace_notice(what, &told->id), lacks);
}

/* ---- S5: the graph among survivors ---- */

/* The greatest distance from 'start' along the edges of live nodes; UINT32_MAX: not all reached. */
static uint32_t reach(const struct sim_world *world, mu_slot start, uint32_t *distance,
                      mu_slot *queue)
{
    uint32_t seen = 1, farthest = 0;
    for (mu_slot node = 0; node < world->size; node++)
        distance[node] = UINT32_MAX;
    distance[start] = 0;
    queue[0] = start;
    for (uint32_t next = 0; next < seen; next++) {
        const struct mu_spread *spread = &sim_world_node(world, queue[next])->spread;
        farthest = distance[queue[next]];
        for (uint32_t e = 0; e < spread->edge_count; e++) {
            mu_slot peer = spread->edges[e].slot;
            if (peer == MU_SLOT_NONE || !sim_world_alive(world, peer) ||
                distance[peer] != UINT32_MAX)
                continue;
            distance[peer] = farthest + 1;
            queue[seen++] = peer;
        }
    }
    return seen == world->living ? farthest : UINT32_MAX;
}

static void check_graph(struct sim_world *world)
{
    uint32_t *distance = sim_calloc(world->size, sizeof *distance);
    mu_slot *queue = sim_calloc(world->size, sizeof *queue);
    for (mu_slot node = 0; node < world->size; node++) {
        if (!sim_world_alive(world, node))
            continue;
        uint32_t farthest = reach(world, node, distance, queue);
        uint32_t most = mu_graph_bits(sim_world_node(world, node)->roster.size);
        if (farthest == UINT32_MAX)
            sim_law_fail(world, "S5", "node %u does not reach every survivor", node);
        else if (farthest > most)
            sim_law_fail(world, "S5", "node %u is %u hops from a survivor, at most %u are allowed",
                         node, farthest, most);
    }
    free(distance);
    free(queue);
}

/* ---- K1: a link loses nothing and repeats nothing ---- */

static void check_links(struct sim_world *world, mu_slot node)
{
    struct mu_links *links = &sim_world_node(world, node)->links;
    if (links->repeats > 0)
        sim_law_fail(world, "K1", "node %u was sent %llu frames again that it had", node,
                     (unsigned long long)links->repeats);
    for (uint32_t i = 0; i < links->count; i++) {
        const struct mu_link *link = &links->at[i];
        if (link->peer == MU_SLOT_NONE || !sim_world_alive(world, link->peer))
            continue;
        uint64_t received = mu_node_link_has(sim_world_node(world, link->peer), node,
                                             world->seats[node].incarnation);
        if (link->sent != received)
            sim_law_fail(world, "K1", "node %u sent %llu frames to node %u, which received %llu",
                         node, (unsigned long long)link->sent, link->peer,
                         (unsigned long long)received);
    }
}

static void note_first_view(struct sim_world *world, mu_slot node, const struct mu_roster *first)
{
    uint32_t *said = &world->law.first_view[(size_t)node * world->size];
    memset(said, 0, world->size * sizeof *said);
    for (uint32_t i = 0; i < first->count; i++) {
        const struct mu_roster_entry *entry = &first->entries[i];
        said[entry->slot] = entry->in ? entry->incarnation - 1 : entry->incarnation;
    }
}

void sim_law_on_begin(struct sim_world *world, mu_slot node, const struct mu_roster *first)
{
    note_first_view(world, node, first);
    for (uint32_t i = 0; i < world->law.told_count; i++) {
        struct sim_told *told = &world->law.told[i];
        told->delivered[node] = 0;
        told->sent[node] = 0;
        for (mu_slot peer = 0; peer < world->size; peer++)
            told->copies[(size_t)node * world->size + peer] = 0;
    }
    for (mu_slot peer = 0; peer < world->size; peer++) {
        size_t pair = (size_t)node * world->size + peer;
        world->law.highest_sent[pair] = 0;
        world->law.taken_back[pair] = false;
        world->law.link_of[pair] = 0;
    }
}

void sim_law_on_quiet(struct sim_world *world)
{
    sim_law_on_calm(world);
    for (uint32_t i = 0; i < world->law.told_count; i++)
        if (!world->plan->tight || !may_wait(world, &world->law.told[i]))
            check_all_told(world, &world->law.told[i]);
    for (mu_slot node = 0; world->plan->proofs && node < world->size; node++)
        if (!sim_world_alive(world, node))
            check_proofs(world, node);
    if (!world->net.plan.tracked)
        return; /* too large for the rest */
    for (mu_slot node = 0; node < world->size; node++)
        if (sim_world_alive(world, node))
            check_links(world, node);
    if (world->law.broken == NULL)
        check_graph(world);
}

/* ---- S7: what everybody has is forgotten, but for the deaths of nodes ---- */

void sim_law_on_end(struct sim_world *world)
{
    if (world->plan->config.retain_ns == MU_NEVER || world->plan->tight)
        return;
    for (mu_slot node = 0; world->law.broken == NULL && node < world->size; node++) {
        const struct mu_spread *spread = &sim_world_node(world, node)->spread;
        for (uint16_t i = 0; sim_world_alive(world, node) && i < spread->count; i++) {
            char what[64];
            const struct mu_notice_id *id = &spread->held[spread->order[i]].id;
            if (id->kind != MU_NOTICE_NODE_DEAD || world->plan->over_ns > 0)
                sim_law_fail(world, "S7", "node %u never forgets '%s'", node,
                             sim_trace_notice(what, id));
        }
    }
}

/* ---- figures ---- */

uint32_t sim_law_messages_max(const struct sim_world *world)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < world->law.told_count; i++)
        for (mu_slot node = 0; node < world->size; node++)
            if (world->law.told[i].sent[node] > most)
                most = world->law.told[i].sent[node];
    return most;
}

uint32_t sim_law_acks_max(const struct sim_world *world)
{
    uint32_t most = 0;
    for (mu_slot node = 0; node < world->size; node++)
        if (world->law.acks[node] > most)
            most = world->law.acks[node];
    return most;
}
