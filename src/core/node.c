#include "core/node.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

static struct mu_node *lay_out(struct mu_arena *arena, const struct mu_config *config)
{
    struct mu_node unused; /* a measuring arena hands out no memory to write to */
    struct mu_node *node = mu_arena_array_line(arena, 1, sizeof *node);
    struct mu_node *target = node == NULL ? &unused : node;
    target->config = *config;
    mu_spread_init(&target->spread, arena, config, &target->links, &target->dead);
    mu_links_init(&target->links, arena, config->limits.links, config->limits.window,
                  config->ack_delay_ns);
    mu_dead_init(&target->dead, arena, config->size, config->limits.dead);
    mu_seen_init(&target->seen, arena, config->limits.seen);
    return node;
}

size_t mu_node_bytes(const struct mu_config *config)
{
    struct mu_arena arena;
    mu_arena_init(&arena, NULL, 0);
    lay_out(&arena, config);
    return (arena.used + 63) / 64 * 64;
}

struct mu_node *mu_node_init(void *memory, size_t bytes, const struct mu_config *config)
{
    assert(memory != NULL && mu_config_error(config) == NULL);
    struct mu_arena arena;
    mu_arena_init(&arena, memory, bytes);
    return lay_out(&arena, config);
}

uint32_t mu_node_effects_max(const struct mu_config *config)
{
    const struct mu_limits *limits = &config->limits;
    /* A full ring on every link, an acknowledgement and an opening on each, and a few of the rest:
     * deliver, close, fenced, faults. */
    return limits->links * (limits->window + 2u) + 8;
}

/* ---- deaths: one door, whether seen or heard ---- */

static bool is_broken(const struct mu_node *node, enum mu_broken_rule rule)
{
    return (node->config.broken_rules & rule) != 0;
}

static void cut(struct mu_node *node, mu_slot slot, struct mu_update *update)
{
    struct mu_link *link = mu_links_find(&node->links, slot);
    if (link == NULL)
        return;
    for (mu_body body; (body = mu_link_drop_pending(&node->links, link)) != MU_BODY_NONE;)
        mu_spread_release(&node->spread, body);
    mu_links_remove(&node->links, link);
    mu_update_add(update, MU_DO_CLOSE)->peer = slot;
}

/* Heard before?  Most copies are of something that is still held. */
static bool is_known(struct mu_node *node, const struct mu_notice_id *id, mu_slot from)
{
    if (mu_spread_heard_again(&node->spread, id, from))
        return true;
    if (id->kind == MU_NOTICE_NODE_DEAD)
        return mu_dead_has(&node->dead, (mu_slot)id->index, (uint32_t)id->stream);
    return mu_seen_has(&node->seen, id);
}

/* Is there something that the news breaks? */
static enum mu_fault check(const struct mu_node *node, const struct mu_notice *notice)
{
    const struct mu_notice_id *id = &notice->id;
    if (notice->root >= node->config.size)
        return MU_FAULT_SLOT_RANGE;
    if (id->kind == MU_NOTICE_NODE_DEAD && id->index >= node->config.size)
        return MU_FAULT_SLOT_RANGE;
    if (notice->length > node->config.limits.payload_bytes)
        return MU_FAULT_PAYLOAD_LENGTH;
    return MU_FAULT_NONE;
}

static enum mu_fault check_room(const struct mu_node *node, const struct mu_notice_id *id)
{
    if (!mu_spread_has_room(&node->spread))
        return MU_FAULT_NOTICES_FULL;
    if (id->kind == MU_NOTICE_NODE_DEAD)
        return mu_dead_fits(&node->dead, (mu_slot)id->index) ? MU_FAULT_NONE : MU_FAULT_DEAD_FULL;
    return mu_seen_fits(&node->seen, id) ? MU_FAULT_NONE : MU_FAULT_SEEN_FULL;
}

static void fence_self(struct mu_node *node, const struct mu_notice *notice,
                       struct mu_update *update)
{
    node->fenced = true;
    mu_update_add(update, MU_DO_FENCED)->notice = *notice;
}

/* Order: mark dead, cut, forward the notice, mend. */
static void learn_node_dead(struct mu_node *node, const struct mu_notice *notice, mu_slot from,
                            struct mu_update *update)
{
    mu_slot slot = (mu_slot)notice->id.index;
    mu_dead_add(&node->dead, slot, (uint32_t)notice->id.stream);
    cut(node, slot, update);
    enum mu_fault fault = mu_spread_mend(&node->spread, update);
    if (fault != MU_FAULT_NONE)
        mu_update_fault(update, fault, slot);
    mu_spread_learn(&node->spread, notice, from, node->now_ns, update);
    mu_spread_resend(&node->spread, node->now_ns, update);
}

/* Everything that anybody learns comes through here.  'from' is MU_SLOT_NONE when seen here. */
static void learn(struct mu_node *node, const struct mu_notice *notice, mu_slot from,
                  struct mu_update *update)
{
    const struct mu_notice_id *id = &notice->id;
    enum mu_fault fault = check(node, notice);
    if (fault == MU_FAULT_NONE && is_known(node, id, from)) {
        if (is_broken(node, MU_BROKEN_NO_DUP_CHECK))
            mu_update_add(update, MU_DO_DELIVER)->notice = *notice;
        return; /* every edge of the graph may repeat the news */
    }
    if (fault == MU_FAULT_NONE)
        fault = check_room(node, id);
    if (fault != MU_FAULT_NONE) {
        mu_update_fault(update, fault, from);
        return;
    }
    if (id->kind != MU_NOTICE_NODE_DEAD) {
        mu_seen_add(&node->seen, id);
        mu_spread_learn(&node->spread, notice, from, node->now_ns, update);
    } else if (id->index == node->config.self && id->stream >= node->config.incarnation) {
        fence_self(node, notice, update);
    } else {
        learn_node_dead(node, notice, from, update);
    }
}

/* ---- frames ---- */

static struct mu_link *link_to(struct mu_node *node, mu_slot peer)
{
    uint32_t edge = mu_spread_edge_of(&node->spread, peer);
    if (edge < node->spread.edge_count)
        return &node->links.at[node->spread.edges[edge].link];
    return mu_links_find(&node->links, peer);
}

/* A peer that breaks the rules of the link loses it; a reconnect resumes from what is certain. */
static void refuse(struct mu_node *node, struct mu_link *link, enum mu_fault fault,
                   struct mu_update *update)
{
    (void)node;
    mu_update_fault(update, fault, link->peer);
    mu_update_add(update, MU_DO_CLOSE)->peer = link->peer;
    mu_link_down(link);
}

static enum mu_fault on_ack(struct mu_node *node, struct mu_link *link, uint64_t ack,
                            struct mu_update *update)
{
    enum mu_fault fault = MU_FAULT_NONE;
    uint16_t covered = mu_link_acked(link, ack, &fault);
    for (uint16_t i = 0; i < covered; i++)
        mu_spread_release(&node->spread, mu_link_pop(&node->links, link));
    if (covered > 0)
        mu_spread_on_room(&node->spread, link, node->now_ns, update);
    return fault;
}

static void on_recv(struct mu_node *node, const struct mu_event *event, struct mu_update *update)
{
    mu_slot from = event->recv.from;
    const struct mu_frame *frame = event->recv.frame;
    struct mu_link *link = from < node->config.size ? link_to(node, from) : NULL;
    if (link == NULL || !link->up) {
        node->strays++; /* the fence: a dead node has no link */
        return;
    }
    enum mu_fault fault = on_ack(node, link, frame->ack, update);
    bool is_next = false;
    if (fault == MU_FAULT_NONE && frame->type != MU_FRAME_ACK)
        is_next = mu_link_accept(&node->links, link, frame->sequence, node->now_ns, &fault);
    if (fault != MU_FAULT_NONE) {
        refuse(node, link, fault, update);
        return;
    }
    if (!is_next)
        return;
    struct mu_notice notice = frame->notice;
    notice.age_ns += event->recv.transit_ns;
    if (is_broken(node, MU_BROKEN_FENCE_RELAYED) && mu_dead_is_out(&node->dead, notice.root))
        return;
    learn(node, &notice, from, update);
}

static void on_link_up(struct mu_node *node, const struct mu_event *event, struct mu_update *update)
{
    mu_slot peer = event->link_up.peer;
    if (peer >= node->config.size || peer == node->config.self) {
        mu_update_fault(update, MU_FAULT_SLOT_RANGE, peer);
        return;
    }
    /* Until views admit returning nodes, a slot that is out stays out. */
    if (mu_dead_is_out(&node->dead, peer)) {
        mu_update_add(update, MU_DO_CLOSE)->peer = peer;
        return;
    }
    struct mu_link *link = mu_links_get(&node->links, peer);
    if (link == NULL) {
        mu_update_fault(update, MU_FAULT_LINKS_FULL, peer);
        mu_update_add(update, MU_DO_CLOSE)->peer = peer;
        return;
    }
    if (is_broken(node, MU_BROKEN_LINK_FORGETS)) {
        for (mu_body body; (body = mu_link_drop_pending(&node->links, link)) != MU_BODY_NONE;)
            mu_spread_release(&node->spread, body);
        link->sent = link->received = 0;
    }
    mu_link_up(link, event->link_up.incarnation);
    uint64_t has = event->link_up.peer_has;
    if (has > link->sent || has < link->sent - link->pending) {
        refuse(node, link, MU_FAULT_LINK_RESUME, update);
        return;
    }
    for (uint64_t i = link->sent - link->pending; i < has; i++)
        mu_spread_release(&node->spread, mu_link_pop(&node->links, link));
    for (uint16_t i = 0; i < link->pending; i++)
        mu_spread_emit(&node->spread, link, i, node->now_ns, update);
    mu_spread_on_room(&node->spread, link, node->now_ns, update);
}

static void on_link_down(struct mu_node *node, const struct mu_event *event,
                         struct mu_update *update)
{
    struct mu_link *link = mu_links_find(&node->links, event->link_down.peer);
    if (link == NULL)
        return; /* cut already */
    mu_link_down(link);
    bool is_edge = mu_spread_edge_of(&node->spread, link->peer) < node->spread.edge_count;
    if ((is_edge || link->pending > 0) && !link->asked) {
        link->asked = true;
        mu_update_add(update, MU_DO_OPEN)->peer = link->peer;
    }
}

/* ---- the rest of the door ---- */

static void on_start(struct mu_node *node, const struct mu_event *event, struct mu_update *update)
{
    assert(!node->started);
    node->started = true;
    enum mu_fault fault = mu_spread_start(&node->spread, event->start.links_up, update);
    if (fault != MU_FAULT_NONE)
        mu_update_fault(update, fault, MU_SLOT_NONE);
}

static void on_timeout(struct mu_node *node, enum mu_timer timer, struct mu_update *update)
{
    switch (timer) {
    case MU_TIMER_ACK:
        if (node->links.ack_due_ns <= node->now_ns)
            mu_links_send_acks(&node->links, update);
        return;
    case MU_TIMER_REDUNDANT:
        mu_spread_on_redundant(&node->spread, node->now_ns, update);
        return;
    case MU_TIMER_RETAIN:
        mu_spread_on_retain(&node->spread, node->now_ns);
        return;
    case MU_TIMERS:
        break;
    }
    abort();
}

static void on_post(struct mu_node *node, const struct mu_event *event, struct mu_update *update)
{
    struct mu_notice notice = {
        .id = mu_notice_payload(node->config.self, node->config.incarnation, node->posted + 1),
        .root = node->config.self,
        .length = event->post.length,
        .payload = event->post.payload,
    };
    uint32_t before = update->count;
    learn(node, &notice, MU_SLOT_NONE, update);
    if (update->count == before || update->effects[before].type != MU_DO_FAULT)
        node->posted++;
}

static void dispatch(struct mu_node *node, const struct mu_event *event, struct mu_update *update)
{
    switch (event->type) {
    case MU_EVENT_START:
        on_start(node, event, update);
        return;
    case MU_EVENT_TIMEOUT:
        on_timeout(node, event->timeout.timer, update);
        return;
    case MU_EVENT_RECV:
        on_recv(node, event, update);
        return;
    case MU_EVENT_LINK_UP:
        on_link_up(node, event, update);
        return;
    case MU_EVENT_LINK_DOWN:
        on_link_down(node, event, update);
        return;
    case MU_EVENT_VERDICT:
        learn(node, event->verdict.notice, MU_SLOT_NONE, update);
        return;
    case MU_EVENT_POST:
        on_post(node, event, update);
        return;
    }
    abort();
}

void mu_node_step(struct mu_node *node, const struct mu_event *event, struct mu_update *update)
{
    assert(event->now_ns >= node->now_ns);
    assert(node->started || event->type == MU_EVENT_START);
    node->now_ns = event->now_ns;
    update->count = 0;
    if (!node->fenced)
        dispatch(node, event, update);
    bool runs = !node->fenced;
    update->deadline_ns[MU_TIMER_ACK] = runs ? node->links.ack_due_ns : MU_NEVER;
    update->deadline_ns[MU_TIMER_REDUNDANT] =
        runs ? mu_spread_redundant_due_ns(&node->spread) : MU_NEVER;
    update->deadline_ns[MU_TIMER_RETAIN] = runs ? mu_spread_retain_due_ns(&node->spread) : MU_NEVER;
}

uint64_t mu_node_link_has(struct mu_node *node, mu_slot peer)
{
    const struct mu_link *link = mu_links_find(&node->links, peer);
    if (link == NULL || is_broken(node, MU_BROKEN_LINK_FORGETS))
        return 0;
    return link->received;
}

/* ---- fingerprint ---- */

static void print_links(const struct mu_node *node, struct mu_fingerprint *print)
{
    struct mu_fingerprint sum = {0, 0};
    for (uint32_t i = 0; i < node->links.count; i++) {
        const struct mu_link *link = &node->links.at[i];
        if (link->peer == MU_SLOT_NONE)
            continue;
        struct mu_fingerprint one;
        mu_fingerprint_init(&one);
        mu_fingerprint_add(&one, link->peer);
        mu_fingerprint_add(&one, link->incarnation);
        mu_fingerprint_add(&one, link->sent);
        mu_fingerprint_add(&one, link->received);
        mu_fingerprint_add(&one, (uint64_t)link->owed << 8 | (uint64_t)link->up << 2 |
                                     (uint64_t)link->starved << 1 | (uint64_t)link->asked);
        for (uint16_t k = 0; k < link->pending; k++) {
            mu_body body = mu_link_pending_at(&node->links, link, k);
            mu_fingerprint_add(&one, node->spread.held[body].id.kind);
            mu_fingerprint_add(&one, node->spread.held[body].id.stream);
            mu_fingerprint_add(&one, node->spread.held[body].id.index);
        }
        mu_fingerprint_add_member(&sum, &one);
    }
    mu_fingerprint_add(print, sum.a);
    mu_fingerprint_add(print, sum.b);
    mu_fingerprint_add(print, node->links.ack_due_ns != MU_NEVER);
}

void mu_node_fingerprint(const struct mu_node *node, enum mu_fingerprint_scope scope,
                         struct mu_fingerprint *print)
{
    mu_fingerprint_add(print, (uint64_t)node->started << 1 | (uint64_t)node->fenced);
    mu_fingerprint_add(print, node->posted);
    for (uint32_t i = 0; i < node->dead.count; i++) {
        mu_fingerprint_add(print, node->dead.entries[i].slot);
        mu_fingerprint_add(print, node->dead.entries[i].incarnation);
    }
    mu_fingerprint_add(print, node->dead.count);
    for (uint32_t i = 0; i < node->seen.count; i++) {
        mu_fingerprint_add(print, node->seen.ranges[i].kind);
        mu_fingerprint_add(print, node->seen.ranges[i].stream);
        mu_fingerprint_add(print, node->seen.ranges[i].first);
        mu_fingerprint_add(print, node->seen.ranges[i].last);
    }
    mu_fingerprint_add(print, node->seen.count);
    mu_spread_fingerprint(&node->spread, print);
    if (scope == MU_PRINT_ALL)
        print_links(node, print);
}
