#include "sim/node/world.h"

#include "core/base/graph.h"
#include "sim/base/memory.h"
#include "sim/node/members.h"
#include "sim/node/record.h"
#include "sim/node/trace.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    CRASH_PATIENCE_NS = 1000 * 1000, /* a crash inside an update waits so long for an update */
    PREFETCH_AHEAD = 8,
    PROGRESS_EVERY = 1 << 20,
    LOST_US_MAX = 100,
    POST_AGAIN_NS = 500 * 1000, /* what found no room is posted again after */
};

#define END_NS_MAX (100ull * 1000 * 1000 * 1000)

/* ---- building ---- */

struct mu_node *sim_world_node(const struct sim_world *world, mu_slot slot)
{
    return (struct mu_node *)(void *)(world->memory + (size_t)slot * world->node_bytes);
}

void sim_world_init(struct sim_world *world, const struct sim_plan *plan)
{
    assert(plan->config.limits.payload_bytes <= SIM_PAYLOAD_MAX);
    memset(world, 0, sizeof *world);
    world->plan = plan;
    world->fencing = MU_SLOT_NONE;
    world->size = plan->config.slots;
    sim_random_init(&world->random, plan->seed);
    sim_queue_init(&world->queue);
    mu_fingerprint_init(&world->digest);
    sim_net_init(&world->net, &plan->net, plan->seed, world->size);

    size_t size = world->size;
    world->node_bytes = mu_node_bytes(&plan->config);
    world->memory = sim_map(size * world->node_bytes);
    for (mu_slot slot = 0; slot < plan->config.size; slot++) {
        struct mu_config config = plan->config;
        config.self = slot;
        mu_node_init(sim_world_node(world, slot), world->node_bytes, &config);
    }
    world->update.capacity = mu_node_effects_max(&plan->config);
    world->update.effects = sim_calloc(world->update.capacity, sizeof *world->update.effects);

    world->seats = sim_map(size * sizeof *world->seats);
    for (mu_slot slot = 0; slot < size; slot++) {
        world->seats[slot].alive = slot < plan->config.size;
        world->seats[slot].incarnation = slot < plan->config.size ? 1 : 0;
        world->seats[slot].crash_after = SIM_NOT_IN_UPDATE;
        world->seats[slot].lost_after_ns = MU_NEVER;
        for (int t = 0; t < MU_TIMERS; t++)
            world->seats[slot].timer_at_ns[t] = MU_NEVER;
    }
    world->living = plan->config.size;
    if (plan->over_ns > 0)
        world->lives = sim_calloc(size, sizeof *world->lives);
    sim_law_init(&world->law, world);
}

void sim_world_free(struct sim_world *world)
{
    sim_queue_free(&world->queue);
    sim_net_free(&world->net);
    sim_law_free(&world->law);
    sim_unmap(world->memory, (size_t)world->size * world->node_bytes);
    free(world->update.effects);
    free(world->lives);
    sim_unmap(world->seats, (size_t)world->size * sizeof *world->seats);
    free(world->free_frames);
    free(world->contents);
    free(world->frames);
    memset(world, 0, sizeof *world);
}

/* ---- the queue ---- */

static void count_item(struct sim_world *world, const struct sim_item *item, uint64_t one)
{
    if (item->what == SIM_TELL || item->what == SIM_MEMBER || item->what == SIM_OVER ||
        item->what == SIM_FORGET)
        world->tells += one;
    else if (item->what == SIM_AGAIN)
        world->again += one;
    else if (item->what != SIM_TIMER || item->detail != MU_TIMER_RETAIN)
        world->busy += one;
}

static void push(struct sim_world *world, const struct sim_item *item)
{
    sim_queue_push(&world->queue, item);
    count_item(world, item, 1);
}

void sim_world_push(struct sim_world *world, uint64_t at_ns, enum sim_what what, mu_slot node,
                    mu_slot peer, uint32_t ref)
{
    struct sim_item item = {
        .at_ns = at_ns, .node = node, .peer = peer, .ref = ref, .what = (uint8_t)what};
    push(world, &item);
}

static void push_timer(struct sim_world *world, mu_slot node, enum mu_timer timer, uint64_t at_ns)
{
    struct sim_item item = {
        .at_ns = at_ns, .node = node, .what = SIM_TIMER, .detail = (uint8_t)timer};
    push(world, &item);
    world->seats[node].timer_at_ns[timer] = at_ns;
}

/* ---- frames on their way ---- */

static uint32_t content_of(struct sim_world *world, const struct mu_notice *notice)
{
    for (uint32_t i = world->content_count; i-- > 0;) {
        const struct sim_content *content = &world->contents[i];
        if (mu_notice_compare(&content->id, &notice->id) == 0 && content->root == notice->root)
            return i;
    }
    if (world->content_count == world->content_capacity) {
        world->content_capacity = world->content_capacity == 0 ? 16 : 2 * world->content_capacity;
        world->contents =
            sim_realloc(world->contents, world->content_capacity * sizeof *world->contents);
    }
    struct sim_content *content = &world->contents[world->content_count];
    *content =
        (struct sim_content){.id = notice->id, .root = notice->root, .length = notice->length};
    if (notice->length > 0)
        memcpy(content->payload, notice->payload, notice->length);
    return world->content_count++;
}

static void grow_frames(struct sim_world *world)
{
    size_t capacity = world->frame_capacity == 0 ? 256 : 2 * (size_t)world->frame_capacity;
    world->frames = sim_realloc(world->frames, capacity * sizeof *world->frames);
    world->free_frames = sim_realloc(world->free_frames, capacity * sizeof *world->free_frames);
    world->frame_capacity = (uint32_t)capacity;
}

static uint32_t keep_frame(struct sim_world *world, mu_slot from, const struct mu_frame *frame,
                           uint32_t epoch)
{
    assert(frame->sequence <= UINT32_MAX && frame->ack <= UINT32_MAX);
    if (world->free_count == 0 && world->frame_count == world->frame_capacity)
        grow_frames(world);
    uint32_t ref =
        world->free_count > 0 ? world->free_frames[--world->free_count] : world->frame_count++;
    world->frames[ref] = (struct sim_frame){
        .age_ns = frame->notice.age_ns,
        .sequence = (uint32_t)frame->sequence,
        .ack = (uint32_t)frame->ack,
        .content = frame->type == MU_FRAME_NOTICE ? content_of(world, &frame->notice) : UINT32_MAX,
        .epoch = epoch,
        .incarnation = world->seats[from].incarnation,
        .hops = frame->notice.hops,
        .type = frame->type,
    };
    return ref;
}

/* The frame as the core knows it; its payload is valid until the next frame is kept. */
static struct mu_frame whole_frame(const struct sim_world *world, uint32_t ref)
{
    const struct sim_frame *kept = &world->frames[ref];
    struct mu_frame frame = {.type = kept->type, .sequence = kept->sequence, .ack = kept->ack};
    if (kept->content == UINT32_MAX)
        return frame;
    const struct sim_content *content = &world->contents[kept->content];
    frame.notice = (struct mu_notice){
        .id = content->id,
        .root = content->root,
        .hops = kept->hops,
        .length = content->length,
        .age_ns = kept->age_ns,
        .payload = content->payload,
    };
    return frame;
}

static void release_frame(struct sim_world *world, uint32_t ref)
{
    world->free_frames[world->free_count++] = ref;
}

/* An acknowledgement is nothing but one number; where connections are not told apart it needs no
 * frame to be kept, and there are as many of them as of all others. */
static bool is_bare_ack(const struct sim_world *world, const struct sim_item *item)
{
    return item->detail == MU_FRAME_ACK && !world->net.plan.tracked;
}

static void send_frame(struct sim_world *world, mu_slot from, const struct mu_effect *effect)
{
    uint32_t epoch;
    uint64_t arrives_ns = sim_net_send(world, from, effect->peer, &epoch);
    sim_law_on_send(world, from, effect->peer, &effect->frame);
    if (arrives_ns == MU_NEVER)
        return;
    struct sim_item item = {.at_ns = arrives_ns,
                            .node = effect->peer,
                            .peer = from,
                            .what = SIM_FRAME,
                            .detail = effect->frame.type};
    if (is_bare_ack(world, &item))
        item.ref = (uint32_t)effect->frame.ack;
    else
        item.ref = keep_frame(world, from, &effect->frame, epoch);
    push(world, &item);
}

/* ---- one step of one node ---- */

static void carry_out(struct sim_world *world, mu_slot slot, const struct mu_effect *effect)
{
    if (world->plan->trace != NULL)
        sim_trace_effect(world->plan->trace, slot, world->queue.now_ns, effect);
    switch (effect->type) {
    case MU_DO_SEND:
        send_frame(world, slot, effect);
        return;
    case MU_DO_DELIVER:
        sim_law_on_deliver(world, slot, &effect->notice);
        if (world->plan->told != NULL)
            world->plan->told(world->plan->detectors, slot, &effect->notice);
        return;
    case MU_DO_OPEN:
        sim_net_open(world, slot, effect->peer);
        return;
    case MU_DO_CLOSE:
        sim_net_close(world, slot, effect->peer);
        return;
    case MU_DO_FENCED:
        if (effect->notice.id.index == slot && world->fencing == slot)
            return;
        sim_law_fail(world, "no-accusation", "node %u lives and was declared dead", slot);
        return;
    case MU_DO_FAULT:
        sim_law_on_fault(world, slot, effect->fault);
        return;
    }
    abort();
}

static void rearm(struct sim_world *world, mu_slot slot)
{
    for (int t = 0; t < MU_TIMERS; t++) {
        uint64_t due_ns = world->update.deadline_ns[t];
        if (due_ns == MU_NEVER)
            continue;
        if (due_ns < world->queue.now_ns)
            due_ns = world->queue.now_ns;
        if (due_ns < world->seats[slot].timer_at_ns[t])
            push_timer(world, slot, (enum mu_timer)t, due_ns);
    }
}

void sim_world_step(struct sim_world *world, mu_slot slot, struct mu_event *event)
{
    assert(sim_world_alive(world, slot));
    event->now_ns = world->queue.now_ns;
    if (world->plan->trace != NULL)
        sim_trace_event(world->plan->trace, slot, event);
    mu_node_step(sim_world_node(world, slot), event, &world->update);
    if (world->plan->recorder != NULL)
        sim_record_step(world->plan->recorder, slot, event, &world->update);

    /* A step may be cut short by a crash, between any two of its effects. */
    uint32_t happen = world->update.count;
    bool dies =
        world->seats[slot].crash_after != SIM_NOT_IN_UPDATE && happen > 0 && world->living > 1;
    if (dies)
        happen = world->seats[slot].crash_after % (happen + 1);
    for (uint32_t i = 0; i < happen; i++)
        carry_out(world, slot, &world->update.effects[i]);
    if (dies)
        sim_world_crash(world, slot, sim_random_chance(&world->random, 50));
    else
        rearm(world, slot);
}

/* ---- faults and the oracle ---- */

mu_slot sim_world_draw_living(struct sim_world *world)
{
    mu_slot slot = (mu_slot)sim_random_below(&world->random, world->size);
    while (!sim_world_alive(world, slot))
        slot = slot + 1 == world->size ? 0 : slot + 1;
    return slot;
}

static void oracle_tells(struct sim_world *world, mu_slot dead, uint64_t after_ns)
{
    mu_slot told = sim_world_draw_living(world);
    sim_world_push(world, world->queue.now_ns + after_ns, SIM_TELL, told, dead,
                   world->seats[dead].incarnation);
}

static void neighbours_see(struct sim_world *world, mu_slot dead)
{
    for (uint32_t e = 0; e < mu_graph_edges(world->size); e++) {
        mu_slot neighbour = mu_graph_target(world->size, dead, e);
        if (mu_graph_edge_to(world->size, dead, neighbour) != e)
            continue; /* told already, over a lower edge */
        uint64_t after_us = sim_random_below(&world->random, world->plan->neighbours_see_ns / 1000);
        sim_world_push(world, world->queue.now_ns + 1000 * after_us, SIM_TELL, neighbour, dead,
                       world->seats[dead].incarnation);
    }
}

void sim_world_crash(struct sim_world *world, mu_slot slot, bool host_lives)
{
    world->seats[slot].alive = false;
    world->living--;
    world->crashes++;
    if (world->plan->trace != NULL)
        fprintf(world->plan->trace, "%10.3f ms  node %-4u CRASHES\n",
                (double)world->queue.now_ns / 1e6, slot);
    /* A host that dies takes along what it had not sent yet. */
    if (!host_lives)
        world->seats[slot].lost_after_ns =
            world->queue.now_ns + 1000 * sim_random_below(&world->random, LOST_US_MAX);
    sim_net_vanish(world, slot, host_lives);
    if (world->plan->over_ns > 0)
        sim_world_push(world, world->queue.now_ns + world->plan->over_ns, SIM_OVER, slot, 0,
                       world->seats[slot].incarnation);
    if (world->plan->told != NULL)
        return;
    if (world->plan->neighbours_see_ns > 0) {
        neighbours_see(world, slot);
        return;
    }
    if (world->plan->late_tell_ns > 0)
        oracle_tells(world, slot, world->plan->late_tell_ns);
    /* Who dies with its witness is for the ring to find: oracle_insists(). */
    if (world->plan->late_tell_ns > 0 && !host_lives)
        return;
    uint64_t count = sim_random_between(&world->random, 1, world->plan->told_max);
    for (uint64_t i = 0; i < count; i++)
        oracle_tells(world, slot,
                     sim_random_between(&world->random, world->plan->tell_ns_min / 1000,
                                        world->plan->tell_ns_max / 1000) *
                         1000);
}

/* Not drawn from the world's own numbers: worlds without proofs stay as they are. */
static bool has_proof(const struct sim_world *world, mu_slot node, mu_slot dead)
{
    uint64_t pair = (uint64_t)node << 32 | dead;
    return world->plan->proofs && sim_random_hash(world->plan->seed ^ pair) % 2 == 0;
}

static void on_tell(struct sim_world *world, mu_slot node, mu_slot dead, uint32_t incarnation)
{
    bool proven = has_proof(world, node, dead);
    struct mu_notice notice = {.id = proven ? mu_notice_proof(dead, incarnation)
                                            : mu_notice_node(dead, incarnation),
                               .root = world->plan->root_at_dead ? dead : node};
    struct mu_event event = {.type = MU_EVENT_VERDICT, .verdict = {.notice = &notice}};
    if (proven && incarnation > world->seats[dead].proven)
        world->seats[dead].proven = incarnation;
    sim_world_step(world, node, &event);
    if (proven && sim_world_alive(world, node))
        sim_law_on_proof(world, node, dead, incarnation);
}

static bool found_no_room(const struct sim_world *world)
{
    for (uint32_t i = 0; i < world->update.count; i++)
        if (world->update.effects[i].type == MU_DO_FAULT &&
            world->update.effects[i].peer == MU_SLOT_NONE)
            return true;
    return false;
}

static void on_post(struct sim_world *world, const struct sim_fault *fault)
{
    static const uint8_t payload[] = "so it is";
    struct mu_notice notice = {
        .id = fault->id, .root = fault->node, .length = sizeof payload, .payload = payload};
    struct mu_event event = {.type = MU_EVENT_VERDICT, .verdict = {.notice = &notice}};
    if (fault->id.kind == MU_NOTICE_PAYLOAD)
        event = (struct mu_event){.type = MU_EVENT_POST,
                                  .post = {.payload = payload, .length = sizeof payload}};
    sim_world_step(world, fault->node, &event);
    if (world->plan->flood && !world->plan->tight && found_no_room(world))
        sim_world_push(world, world->queue.now_ns + POST_AGAIN_NS, SIM_AGAIN, 0, 0,
                       (uint32_t)(fault - world->plan->faults));
}

/* The driver of a node has heard that it was declared dead. */
static void on_fence(struct sim_world *world, const struct sim_fault *fault)
{
    struct mu_notice notice = {.id = fault->id, .root = fault->node};
    struct mu_event event = {.type = MU_EVENT_VERDICT, .verdict = {.notice = &notice}};
    world->fencing = fault->node;
    sim_world_step(world, fault->node, &event);
    world->fencing = MU_SLOT_NONE;
    sim_law_on_told_own_death(world, fault->node);
    if (sim_world_alive(world, fault->node))
        sim_world_crash(world, fault->node, true);
}

/* Frames arrive at whole microseconds and stops end between two of them: what waited for a stopped
 * node then cannot be overtaken by what arrives as it wakes.  For the same reason a node that
 * stands still is not stopped for longer. */
static void stop(struct sim_world *world, mu_slot node, uint64_t for_ns)
{
    if (world->seats[node].stopped_until_ns <= world->queue.now_ns)
        world->seats[node].stopped_until_ns = (world->queue.now_ns + for_ns) / 1000 * 1000 + 500;
}

static void on_fault(struct sim_world *world, const struct sim_fault *fault)
{
    mu_slot node = fault->node;
    switch (fault->type) {
    case SIM_FAULT_POST:
        if (sim_world_alive(world, node))
            on_post(world, fault);
        return;
    case SIM_FAULT_CRASH:
        if (!sim_world_alive(world, node) || world->living == 1)
            return;
        if (fault->after_effects == SIM_NOT_IN_UPDATE) {
            sim_world_crash(world, node, fault->host_lives);
            return;
        }
        world->seats[node].crash_after = fault->after_effects;
        sim_world_push(world, world->queue.now_ns + CRASH_PATIENCE_NS, SIM_DIE, node, 0, 0);
        return;
    case SIM_FAULT_STOP:
        stop(world, node, fault->for_ns);
        return;
    case SIM_FAULT_RESET:
        sim_net_reset(world, node, fault->peer);
        return;
    case SIM_FAULT_SPLIT:
        sim_net_split(world, node, fault->for_ns);
        return;
    case SIM_FAULT_REFUSE:
        sim_net_refuse(world, node, fault->peer, fault->for_ns);
        return;
    case SIM_FAULT_FENCE:
        if (sim_world_alive(world, node) && world->living > 1)
            on_fence(world, fault);
        return;
    case SIM_FAULT_RETURN:
        if (!sim_world_alive(world, node))
            sim_members_on_return(world, node);
        return;
    }
    abort();
}

/* What a detector owes: every death comes to be known to the next live node onward, its observer on
 * the ring, also when those who were told first have died.  Less is not enough: two groups of
 * survivors, each cut off by deaths that only the other knows of, would never find each other. */
static bool observer_knows(const struct sim_world *world, mu_slot dead, mu_slot *observer)
{
    *observer = dead;
    while (!sim_world_alive(world, *observer))
        *observer = *observer + 1 == world->size ? 0 : *observer + 1;
    return mu_roster_is_out(&sim_world_node(world, *observer)->roster, dead,
                            world->seats[dead].incarnation);
}

/* Returns false when there is nothing left to tell. */
static bool oracle_insists(struct sim_world *world)
{
    bool told = false;
    for (mu_slot dead = 0; dead < world->size; dead++) {
        mu_slot observer;
        if (sim_world_alive(world, dead) || world->seats[dead].incarnation == 0 ||
            observer_knows(world, dead, &observer))
            continue;
        sim_world_push(world, world->queue.now_ns, SIM_TELL, observer, dead,
                       world->seats[dead].incarnation);
        told = true;
    }
    return told;
}

/* ---- running ---- */

/* A network may keep what a dead host had sent until the node is back: the core is to see that. */
static bool is_of_before(const struct sim_world *world, const struct sim_item *item)
{
    return !is_bare_ack(world, item) &&
           world->frames[item->ref].incarnation < world->seats[item->peer].incarnation;
}

static bool arrives(const struct sim_world *world, const struct sim_item *item)
{
    bool sender_lives = sim_world_alive(world, item->peer) && !is_of_before(world, item);
    if (!sim_world_alive(world, item->node) ||
        (!sender_lives && item->at_ns > world->seats[item->peer].lost_after_ns))
        return false;
    return is_bare_ack(world, item) || is_of_before(world, item) ||
           sim_net_delivers(&world->net, item->peer, item->node, world->frames[item->ref].epoch);
}

static void on_frame(struct sim_world *world, const struct sim_item *item)
{
    bool does_arrive = arrives(world, item);
    uint32_t incarnation = is_bare_ack(world, item) ? world->seats[item->peer].incarnation
                                                    : world->frames[item->ref].incarnation;
    struct mu_frame frame = {.type = MU_FRAME_ACK, .ack = item->ref};
    if (!is_bare_ack(world, item)) {
        frame = whole_frame(world, item->ref);
        release_frame(world, item->ref);
    }
    if (!does_arrive)
        return;
    struct mu_node *node = sim_world_node(world, item->node);
    bool fenced =
        world->living < world->size && mu_roster_is_out(&node->roster, item->peer, incarnation);
    uint64_t strays = fenced ? node->strays : 0;
    struct mu_event event = {
        .type = MU_EVENT_RECV,
        .recv = {.from = item->peer, .incarnation = incarnation, .frame = &frame}};
    sim_world_step(world, item->node, &event);
    if (fenced && node->strays == strays)
        sim_law_fail(world, "fence", "node %u takes a frame of node %u, which it knows is dead",
                     item->node, item->peer);
}

static void on_timer(struct sim_world *world, const struct sim_item *item)
{
    uint64_t *at_ns = &world->seats[item->node].timer_at_ns[item->detail];
    if (*at_ns != item->at_ns || !sim_world_alive(world, item->node))
        return; /* an earlier one took its place */
    *at_ns = MU_NEVER;
    struct mu_event event = {.type = MU_EVENT_TIMEOUT,
                             .timeout = {.timer = (enum mu_timer)item->detail}};
    sim_world_step(world, item->node, &event);
}

/* Does the item wait because its node stands still?  It keeps its place among the waiting. */
static bool waits_for_stopped(struct sim_world *world, const struct sim_item *item)
{
    if (item->what == SIM_TIMER &&
        world->seats[item->node].timer_at_ns[item->detail] != item->at_ns)
        return false; /* an earlier one took its place */
    uint64_t until_ns = world->seats[item->node].stopped_until_ns;
    if (item->what == SIM_CONNECT && world->seats[item->peer].stopped_until_ns > until_ns)
        until_ns =
            world->seats[item->peer].stopped_until_ns; /* both ends take part in a handshake */
    bool of_world = item->what == SIM_FAULT || item->what == SIM_DIE || item->what == SIM_AGAIN ||
                    item->what == SIM_OVER;
    if (until_ns <= item->at_ns || of_world || !sim_world_alive(world, item->node))
        return false;
    struct sim_item later = *item;
    later.at_ns = until_ns;
    if (item->what == SIM_TIMER)
        world->seats[item->node].timer_at_ns[item->detail] = until_ns;
    push(world, &later);
    return true;
}

static void on_item(struct sim_world *world, const struct sim_item *item)
{
    switch ((enum sim_what)item->what) {
    case SIM_FRAME:
        on_frame(world, item);
        return;
    case SIM_TIMER:
        on_timer(world, item);
        return;
    case SIM_CONNECT:
        sim_net_on_connect(world, item->node, item->peer);
        return;
    case SIM_LINK_DOWN:
        sim_net_on_link_down(world, item->node, item->peer, item->ref);
        return;
    case SIM_TELL:
        if (sim_world_alive(world, item->node))
            on_tell(world, item->node, item->peer, item->ref);
        return;
    case SIM_MEMBER:
        if (sim_world_alive(world, item->node))
            sim_members_on_member(world, item->node, item->peer, item->ref);
        return;
    case SIM_OVER:
        sim_members_on_over(world, item->node, item->ref);
        return;
    case SIM_FORGET:
        if (sim_world_alive(world, item->node))
            sim_members_on_forget(world, item->node, item->peer, item->ref);
        return;
    case SIM_FAULT:
    case SIM_AGAIN:
        on_fault(world, &world->plan->faults[item->ref]);
        return;
    case SIM_DIE:
        if (sim_world_alive(world, item->node) && world->living > 1)
            sim_world_crash(world, item->node, true);
        return;
    }
    abort();
}

static void digest_item(struct sim_world *world, const struct sim_item *item)
{
    uint64_t what = (uint64_t)item->what << 56 | (uint64_t)item->detail << 48 |
                    (uint64_t)item->node << 24 | item->peer;
    mu_fingerprint_add(&world->digest, item->at_ns);
    mu_fingerprint_add(&world->digest, what);
    if (item->what != SIM_FRAME)
        return;
    if (is_bare_ack(world, item)) {
        mu_fingerprint_add(&world->digest, item->ref);
        return;
    }
    const struct sim_frame *frame = &world->frames[item->ref];
    uint64_t carries = (uint64_t)frame->content << 16 | frame->hops;
    mu_fingerprint_add(&world->digest, frame->age_ns ^ carries << 32);
    mu_fingerprint_add(&world->digest, (uint64_t)frame->sequence << 32 | frame->ack);
}

/* In a large world each node is far from the caches.  Fetch, of those that come next, what a step
 * is going to touch; every node has the same layout. */
static void prefetch(const struct sim_world *world)
{
    const struct sim_item *item = sim_queue_peek(&world->queue, PREFETCH_AHEAD);
    if (item == NULL || world->net.plan.tracked)
        return;
    const struct mu_node *first = sim_world_node(world, 0);
    ptrdiff_t to_node = (const uint8_t *)sim_world_node(world, item->node) - (const uint8_t *)first;
    const struct mu_spread *spread = &first->spread;
    for (size_t line = 0; line < offsetof(struct mu_node, spread.redundant_wait_ns); line += 64)
        __builtin_prefetch((const uint8_t *)first + to_node + line);
    __builtin_prefetch(&world->seats[item->node]);
    if (item->what != SIM_FRAME)
        return;
    if (item->detail != MU_FRAME_ACK)
        __builtin_prefetch(&world->frames[item->ref]);
    uint32_t edge = mu_graph_edge_to(world->size, item->node, item->peer);
    if (edge == spread->edge_count)
        return;
    __builtin_prefetch((const uint8_t *)&first->links.at[edge] + to_node);
    if (item->detail == MU_FRAME_ACK)
        return;
    __builtin_prefetch((const uint8_t *)&spread->edges[edge] + to_node);
    __builtin_prefetch((const uint8_t *)&spread->held[0] + to_node);
}

void sim_world_start(struct sim_world *world)
{
    if (world->plan->links_up)
        sim_net_connect_graph(&world->net, world->plan->config.size);
    for (mu_slot slot = 0; slot < world->plan->config.size; slot++) {
        struct mu_event event = {.type = MU_EVENT_START,
                                 .start = {.links_up = world->plan->links_up}};
        sim_world_step(world, slot, &event);
    }
    for (uint32_t i = 0; i < world->plan->fault_count; i++)
        sim_world_push(world, world->plan->faults[i].at_ns, SIM_FAULT, 0, 0, i);
}

static bool somebody_waits_for_room(const struct sim_world *world)
{
    if (!world->plan->flood || world->plan->tight)
        return false;
    for (mu_slot node = 0; world->again == 0 && node < world->size; node++)
        if (sim_world_alive(world, node) && sim_world_node(world, node)->owes_room)
            return true;
    return world->again > 0;
}

/* Nothing is left but timers that forget.  Once everybody has been told, the laws must hold; then
 * the forgetting is watched to its end.  Returns whether the run goes on. */
static bool on_rest(struct sim_world *world)
{
    if (world->at_rest)
        return world->queue.count > 0;
    bool told = oracle_insists(world);
    if (sim_members_insist(world) || told)
        return true;
    if (somebody_waits_for_room(world))
        return world->queue.count > 0;
    world->at_rest = true;
    sim_law_on_quiet(world);
    if (world->plan->over_ns > 0 && world->law.broken == NULL)
        sim_members_forget_all(world);
    return world->law.broken == NULL && world->queue.count > 0;
}

void sim_world_take(struct sim_world *world, const struct sim_item *item)
{
    count_item(world, item, (uint64_t)-1);
    prefetch(world);
    if (waits_for_stopped(world, item))
        return;
    world->events++;
    digest_item(world, item);
    on_item(world, item);
}

bool sim_world_is_calm(const struct sim_world *world)
{
    return world->busy == 0 && world->tells == 0;
}

void sim_world_run(struct sim_world *world, void (*progress)(const struct sim_world *))
{
    sim_world_start(world);
    while (world->law.broken == NULL) {
        if (world->busy == 0 && world->tells == 0 && !on_rest(world)) {
            sim_law_on_end(world);
            return;
        }
        struct sim_item item;
        bool popped = sim_queue_pop(&world->queue, &item);
        assert(popped);
        (void)popped;
        if (item.at_ns > END_NS_MAX) {
            if (!world->at_rest)
                sim_law_fail(world, "rest", "after %llu s something is still on its way",
                             END_NS_MAX / 1000000000);
            sim_law_on_end(world);
            return;
        }
        sim_world_take(world, &item);
        if (world->busy == 0 && world->tells > 0)
            sim_law_on_calm(world);
        if (progress != NULL && world->events % PROGRESS_EVERY == 0)
            progress(world);
    }
}
