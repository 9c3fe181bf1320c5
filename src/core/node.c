#include "core/node.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

/* What every frame touches stands on the first two cache lines. */
_Static_assert(offsetof(struct mu_node, spread.redundant_wait_ns) <= 128, "the hot part has grown");

static struct mu_node *lay_out(struct mu_arena *arena, const struct mu_config *config)
{
    struct mu_node unused; /* a measuring arena hands out no memory to write to */
    struct mu_node *node = mu_arena_array_line(arena, 1, sizeof *node);
    struct mu_node *target = node == NULL ? &unused : node;
    target->config = *config;
    mu_spread_init(&target->spread, arena, config, &target->links, &target->roster);
    mu_links_init(&target->links, arena, (uint16_t)config->limits.links, config->limits.window,
                  config->ack_delay_ns);
    mu_roster_init(&target->roster, arena, config->size, config->limits.dead);
    mu_seen_init(&target->seen, arena, config->limits.seen,
                 (config->broken_rules & MU_BROKEN_SEEN_APART) != 0);
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
    struct mu_node *node = lay_out(&arena, config);
    mu_roster_join(&node->roster, config->self, config->incarnation); /* a founder is in already */
    return node;
}

uint32_t mu_node_effects_max(const struct mu_config *config)
{
    /* A full ring on every edge, and on one more that led elsewhere when the step began, an opening
     * on each, an acknowledgement and a word that there is room on every link, and a few of the
     * rest: deliver, close, fenced, faults. */
    uint32_t edges = mu_graph_edges(config->slots) + 1;
    return edges * (config->limits.window + 1u) + 2 * config->limits.links + 8;
}

/* ---- deaths: one door, whether seen or heard ---- */

static bool is_broken(const struct mu_node *node, enum mu_broken_rule rule)
{
    return (node->spread.broken_rules & rule) != 0;
}

static void cut(struct mu_node *node, mu_slot slot, struct mu_update *update)
{
    struct mu_link *link = mu_links_find(&node->links, slot);
    if (link == NULL || is_broken(node, MU_BROKEN_NO_FENCE))
        return;
    if (is_broken(node, MU_BROKEN_KEEPS_RING))
        mu_link_down(link);
    else
        mu_links_remove(&node->links, link);
    mu_update_close(update, MU_CLOSE_DEAD, slot);
}

static bool is_own_death(const struct mu_node *node, const struct mu_notice_id *id)
{
    if (id->kind != MU_NOTICE_NODE_DEAD || id->index != node->spread.self)
        return false;
    if (is_broken(node, MU_BROKEN_OWN_DEATH))
        return mu_notice_incarnation(id) == node->config.incarnation;
    return mu_notice_incarnation(id) >= node->config.incarnation;
}

/* A proof is news to whoever knows of the death and has none; never the other way round. */
static bool is_death_known(const struct mu_node *node, const struct mu_notice_id *id)
{
    mu_slot slot = (mu_slot)id->index;
    uint32_t incarnation = mu_notice_incarnation(id);
    if (mu_notice_is_proof(id) && !is_broken(node, MU_BROKEN_FIRST_WINS))
        return mu_roster_is_proven(&node->roster, slot, incarnation);
    return mu_roster_is_out(&node->roster, slot, incarnation);
}

/* Heard before?  Most copies are of something that is still held. */
static bool is_known(struct mu_node *node, const struct mu_notice_id *id, mu_slot from)
{
    if (mu_spread_heard_again(&node->spread, id, from))
        return true;
    if (id->kind == MU_NOTICE_NODE_DEAD)
        return is_death_known(node, id);
    return mu_seen_has(&node->seen, id) && !is_broken(node, MU_BROKEN_NO_SEEN);
}

static enum mu_fault check_shape(const struct mu_node *node, const struct mu_notice *notice)
{
    const struct mu_notice_id *id = &notice->id;
    uint32_t slots = node->config.slots;
    if (notice->root >= slots || (id->kind == MU_NOTICE_NODE_DEAD && id->index >= slots) ||
        (id->kind == MU_NOTICE_PAYLOAD && id->stream >> 32 >= slots))
        return MU_FAULT_SLOT_RANGE;
    if (notice->length > node->spread.payload_bytes)
        return MU_FAULT_PAYLOAD_LENGTH;
    return MU_FAULT_NONE;
}

/* 'from' is MU_SLOT_NONE for what was seen here: it leaves room for what is heard. */
static enum mu_fault check_room(const struct mu_node *node, const struct mu_notice_id *id,
                                mu_slot from)
{
    if (is_own_death(node, id))
        return MU_FAULT_NONE;
    if (mu_notice_is_proof(id) &&
        mu_roster_is_out(&node->roster, (mu_slot)id->index, mu_notice_incarnation(id)))
        return MU_FAULT_NONE; /* it takes the place of the notice without proof */
    if (id->kind == MU_NOTICE_NODE_DEAD) {
        bool fits = mu_roster_fits(&node->roster, (mu_slot)id->index) &&
                    node->spread.deaths < node->config.limits.dead;
        return fits ? MU_FAULT_NONE : MU_FAULT_DEAD_FULL;
    }
    bool fits = from == MU_SLOT_NONE ? mu_spread_has_room_for_own(&node->spread, node->now_ns)
                                     : mu_spread_has_room(&node->spread);
    if (!fits)
        return MU_FAULT_NOTICES_FULL;
    return mu_seen_fits(&node->seen, id) ? MU_FAULT_NONE : MU_FAULT_SEEN_FULL;
}

static bool can_be_pushed_back(enum mu_fault fault)
{
    return fault == MU_FAULT_NOTICES_FULL || fault == MU_FAULT_SEEN_FULL;
}

/* Is it news, and can it be taken? */
static enum mu_fault judge(struct mu_node *node, const struct mu_notice *notice, mu_slot from,
                           bool *is_news)
{
    *is_news = false;
    enum mu_fault fault = check_shape(node, notice);
    if (fault != MU_FAULT_NONE)
        return fault;
    if (is_known(node, &notice->id, from))
        return MU_FAULT_NONE; /* every edge of the graph may repeat the news */
    *is_news = true;
    return check_room(node, &notice->id, from);
}

/* The edges that lead to somebody new since the roster has changed at 'slot'. */
static uint64_t mend(struct mu_node *node, mu_slot slot, struct mu_update *update)
{
    uint64_t fresh;
    enum mu_fault fault = mu_spread_mend(&node->spread, slot, &fresh, update);
    if (fault != MU_FAULT_NONE)
        mu_update_fault(update, fault, slot);
    return fresh;
}

/* Order: mark dead, cut, forward the notice, send to the replacements what they may lack.  Of a
 * proof that comes later only the forwarding is left to do. */
static void learn_node_dead(struct mu_node *node, const struct mu_notice *notice, mu_slot from,
                            struct mu_update *update)
{
    mu_slot slot = (mu_slot)notice->id.index;
    mu_roster_out(&node->roster, slot, mu_notice_incarnation(&notice->id));
    if (mu_notice_is_proof(&notice->id))
        mu_roster_prove(&node->roster, slot, mu_notice_incarnation(&notice->id));
    cut(node, slot, update);
    uint64_t fresh = mend(node, slot, update);
    mu_spread_learn(&node->spread, notice, from, node->now_ns, update);
    mu_spread_resend(&node->spread, fresh, node->now_ns, update);
}

/* Everything that anybody learns comes through here, after judge().  'from' is MU_SLOT_NONE when it
 * was seen here. */
static void learn(struct mu_node *node, const struct mu_notice *notice, mu_slot from, bool is_news,
                  struct mu_update *update)
{
    if (!is_news) {
        if (is_broken(node, MU_BROKEN_NO_DUP_CHECK))
            mu_update_add(update, MU_DO_DELIVER)->notice = *notice;
    } else if (is_own_death(node, &notice->id)) {
        node->fenced = true;
        mu_update_add(update, MU_DO_FENCED)->notice = *notice;
    } else if (notice->id.kind == MU_NOTICE_NODE_DEAD) {
        learn_node_dead(node, notice, from, update);
    } else {
        if (!mu_seen_has(&node->seen, &notice->id)) /* always, unless a rule is broken */
            mu_seen_add(&node->seen, &notice->id);
        mu_spread_learn(&node->spread, notice, from, node->now_ns, update);
    }
}

/* Something was seen here.  Returns whether it could be taken. */
static bool see(struct mu_node *node, const struct mu_notice *notice, struct mu_update *update)
{
    bool is_news;
    enum mu_fault fault = judge(node, notice, MU_SLOT_NONE, &is_news);
    if (fault == MU_FAULT_NONE)
        learn(node, notice, MU_SLOT_NONE, is_news, update);
    else
        mu_update_fault(update, fault, MU_SLOT_NONE);
    return fault == MU_FAULT_NONE;
}

/* ---- frames ---- */

static struct mu_link *link_to(struct mu_node *node, mu_slot peer)
{
    /* Links are made in the order of the edges: almost always this is the one. */
    uint32_t guess = mu_graph_edge_to(node->spread.size, node->spread.self, peer);
    if (guess < node->links.count && node->links.at[guess].peer == peer)
        return &node->links.at[guess];
    return mu_links_find(&node->links, peer);
}

/* The link closes and, when it comes up again, resumes from what is certain. */
static void refuse(struct mu_link *link, enum mu_fault fault, struct mu_update *update)
{
    mu_update_fault(update, fault, link->peer);
    mu_update_close(update, fault == MU_FAULT_DEAD_FULL ? MU_CLOSE_FULL : MU_CLOSE_RULE,
                    link->peer);
    mu_link_down(link);
}

static enum mu_fault on_ack(struct mu_node *node, struct mu_link *link, uint64_t ack,
                            struct mu_update *update)
{
    enum mu_fault fault = MU_FAULT_NONE;
    if (mu_link_trim(&node->links, link, ack, &fault) > 0)
        mu_spread_on_room(&node->spread, link, node->now_ns, update);
    return fault;
}

/* No room: from here on nothing is taken until the other side has answered. */
static void push_back(struct mu_node *node, struct mu_link *link, enum mu_fault fault,
                      struct mu_update *update)
{
    mu_update_fault(update, fault, link->peer);
    mu_link_say(link, MU_FRAME_FULL, update);
    link->told_full = link->ignores = true;
    node->owes_room = true;
}

/* A frame that was on its way when there was no room: it will come again, with another number.  The
 * death of a node does not wait for that. */
static void on_ignored(struct mu_node *node, const struct mu_link *link,
                       const struct mu_notice *notice, struct mu_update *update)
{
    bool is_news;
    if (notice->id.kind == MU_NOTICE_NODE_DEAD && !is_broken(node, MU_BROKEN_DEATHS_WAIT) &&
        judge(node, notice, link->peer, &is_news) == MU_FAULT_NONE)
        learn(node, notice, link->peer, is_news, update);
}

/* A notice that there is no room for is not accepted: it is pushed back, and comes again. */
static enum mu_fault on_notice(struct mu_node *node, struct mu_link *link,
                               const struct mu_frame *frame, uint64_t transit_ns,
                               struct mu_update *update)
{
    struct mu_notice notice = frame->notice;
    notice.age_ns += transit_ns;
    if (link->ignores) {
        on_ignored(node, link, &notice, update);
        return MU_FAULT_NONE;
    }
    enum mu_fault fault = MU_FAULT_NONE, judged = MU_FAULT_NONE;
    bool is_news = false;
    if (frame->sequence == link->received + 1)
        judged = judge(node, &notice, link->peer, &is_news);
    if (judged == MU_FAULT_DEAD_FULL)
        return judged;
    if (can_be_pushed_back(judged)) {
        push_back(node, link, judged, update);
        return MU_FAULT_NONE;
    }
    if (!mu_link_accept(&node->links, link, frame->sequence, node->now_ns, &fault))
        return fault;
    if (judged != MU_FAULT_NONE)
        mu_update_fault(update, judged, link->peer);
    else if (!is_broken(node, MU_BROKEN_FENCE_RELAYED) ||
             !mu_roster_is_vacant(&node->roster, notice.root))
        learn(node, &notice, link->peer, is_news, update);
    return MU_FAULT_NONE;
}

/* What is said of room: docs/spec/link.md. */
static void on_word(struct mu_node *node, struct mu_link *link, enum mu_frame_type type,
                    struct mu_update *update)
{
    if (type == MU_FRAME_FULL)
        mu_spread_push_back(&node->spread, link, node->now_ns, update);
    else if (type == MU_FRAME_AGAIN)
        link->ignores = false;
    else if (type == MU_FRAME_ROOM) {
        link->pushed_back = false;
        mu_spread_on_room(&node->spread, link, node->now_ns, update);
    }
}

/* Whoever was told that there is no room hears when there is. */
static void tell_room(struct mu_node *node, struct mu_update *update)
{
    if (!mu_spread_has_room_again(&node->spread) || node->seen.count == node->seen.capacity)
        return;
    node->owes_room = false;
    for (uint32_t i = 0; i < node->links.count; i++) {
        struct mu_link *link = &node->links.at[i];
        if (link->told_full)
            mu_link_say(link, MU_FRAME_ROOM, update);
        link->told_full = false;
    }
}

/* Who has come back has nothing to do with frames of before. */
static bool is_of(const struct mu_node *node, const struct mu_link *link, uint32_t incarnation)
{
    return link->incarnation == incarnation || is_broken(node, MU_BROKEN_OLD_FRAMES);
}

static void on_recv(struct mu_node *node, const struct mu_event *event, struct mu_update *update)
{
    mu_slot from = event->recv.from;
    const struct mu_frame *frame = event->recv.frame;
    struct mu_link *link = from < node->spread.size ? link_to(node, from) : NULL;
    if (link == NULL || !link->up || !is_of(node, link, event->recv.incarnation)) {
        node->strays++; /* the fence: a dead node has no link */
        return;
    }
    enum mu_fault fault = on_ack(node, link, frame->ack, update);
    if (fault == MU_FAULT_NONE && frame->type == MU_FRAME_NOTICE)
        fault = on_notice(node, link, frame, event->recv.transit_ns, update);
    else if (fault == MU_FAULT_NONE)
        on_word(node, link, (enum mu_frame_type)frame->type, update);
    if (fault != MU_FAULT_NONE)
        refuse(link, fault, update);
}

static void on_link_up(struct mu_node *node, const struct mu_event *event, struct mu_update *update)
{
    mu_slot peer = event->link_up.peer;
    uint32_t incarnation = event->link_up.incarnation;
    if (peer >= node->config.slots || peer == node->config.self) {
        mu_update_fault(update, MU_FAULT_SLOT_RANGE, peer);
        return;
    }
    if (!mu_roster_is_in(&node->roster, peer, incarnation)) {
        bool is_dead = mu_roster_is_out(&node->roster, peer, incarnation);
        mu_update_close(update, is_dead ? MU_CLOSE_DEAD : MU_CLOSE_RETURNED, peer);
        return;
    }
    struct mu_link *link = mu_links_get(&node->links, peer);
    if (link == NULL) {
        mu_update_fault(update, MU_FAULT_LINKS_FULL, peer);
        mu_update_close(update, MU_CLOSE_FULL, peer);
        return;
    }
    if (is_broken(node, MU_BROKEN_LINK_FORGETS)) {
        link->sent = link->received = 0;
        link->pending = 0;
    }
    mu_link_up(link, incarnation);
    uint64_t has = event->link_up.peer_has;
    enum mu_fault fault = MU_FAULT_NONE;
    if (has < link->sent - link->pending)
        fault = MU_FAULT_LINK_RESUME; /* it was acknowledged, and is gone */
    else if (!is_broken(node, MU_BROKEN_RESUME_ALL))
        mu_link_trim(&node->links, link, has, &fault);
    if (fault != MU_FAULT_NONE) {
        refuse(link, MU_FAULT_LINK_RESUME, update);
        return;
    }
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
    /* Who has come back may have taken an edge over whose frames are still on their way. */
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
    case MU_TIMER_ONWARD:
        mu_spread_on_onward(&node->spread, node->now_ns, update);
        return;
    case MU_TIMER_BACK:
        mu_spread_on_back(&node->spread, node->now_ns, update);
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
    if (see(node, &notice, update))
        node->posted++;
}

/* ---- members ---- */

/* Before the start: no link is laid yet, and nobody needs to be told. */
static void take_first_view(struct mu_node *node, const struct mu_roster_entry *entry)
{
    if (entry->in)
        mu_roster_join(&node->roster, entry->slot, entry->incarnation);
    else
        mu_roster_out(&node->roster, entry->slot, entry->incarnation);
    if (!entry->in && entry->proven)
        mu_roster_prove(&node->roster, entry->slot, entry->incarnation);
}

/* Whoever was there before is dead, and everybody is to hear that. */
static bool bury(struct mu_node *node, mu_slot slot, uint32_t incarnation, struct mu_update *update)
{
    uint32_t before = mu_roster_incarnation(&node->roster, slot);
    if (before == 0 || before >= incarnation || is_broken(node, MU_BROKEN_JOIN_NO_DEATH))
        return true;
    struct mu_notice notice = {.id = mu_notice_node(slot, before), .root = node->config.self};
    return see(node, &notice, update);
}

/* Somebody is in: edges lead there, and what is held goes over them once. */
static void on_member(struct mu_node *node, const struct mu_event *event, struct mu_update *update)
{
    const struct mu_roster_entry *entry = &event->member.entry;
    if (entry->slot >= node->config.slots) {
        mu_update_fault(update, MU_FAULT_SLOT_RANGE, entry->slot);
    } else if (!mu_roster_fits(&node->roster, entry->slot)) {
        mu_update_fault(update, MU_FAULT_DEAD_FULL, entry->slot);
    } else if (!node->started) {
        take_first_view(node, entry);
    } else if (bury(node, entry->slot, entry->incarnation, update) && !node->fenced &&
               mu_roster_join(&node->roster, entry->slot, entry->incarnation)) {
        uint64_t fresh = mend(node, entry->slot, update);
        if (!is_broken(node, MU_BROKEN_NEWCOMER))
            mu_spread_resend(&node->spread, fresh, node->now_ns, update);
    }
}

static void on_forget(struct mu_node *node, const struct mu_event *event)
{
    if (event->forget.kind == MU_NOTICE_NODE_DEAD)
        mu_spread_death_is_over(&node->spread, event->forget.slot, (uint32_t)event->forget.stream,
                                node->now_ns);
    else
        mu_seen_forget(&node->seen, event->forget.kind, event->forget.stream);
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
        see(node, event->verdict.notice, update);
        return;
    case MU_EVENT_POST:
        on_post(node, event, update);
        return;
    case MU_EVENT_FORGET:
        on_forget(node, event);
        return;
    case MU_EVENT_MEMBER:
        on_member(node, event, update);
        return;
    }
    abort();
}

void mu_node_step(struct mu_node *node, const struct mu_event *event, struct mu_update *update)
{
    assert(event->now_ns >= node->now_ns);
    assert(node->started || event->type == MU_EVENT_START || event->type == MU_EVENT_MEMBER);
    node->now_ns = event->now_ns;
    update->count = 0;
    if (!node->fenced)
        dispatch(node, event, update);
    if (node->owes_room && !node->fenced)
        tell_room(node, update);
    if (node->fenced) {
        for (int timer = 0; timer < MU_TIMERS; timer++)
            update->deadline_ns[timer] = MU_NEVER;
        return;
    }
    update->deadline_ns[MU_TIMER_ACK] = node->links.ack_due_ns;
    update->deadline_ns[MU_TIMER_ONWARD] = mu_spread_onward_due_ns(&node->spread);
    update->deadline_ns[MU_TIMER_BACK] = mu_spread_back_due_ns(&node->spread);
    update->deadline_ns[MU_TIMER_RETAIN] = mu_spread_retain_due_ns(&node->spread);
}

uint64_t mu_node_link_has(struct mu_node *node, mu_slot peer, uint32_t incarnation)
{
    const struct mu_link *link = mu_links_find(&node->links, peer);
    if (link == NULL || is_broken(node, MU_BROKEN_LINK_FORGETS))
        return 0;
    return link->incarnation == incarnation ? link->received : 0;
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
        mu_fingerprint_add(&one, (uint64_t)link->owed << 8 | (uint64_t)link->told_full << 5 |
                                     (uint64_t)link->ignores << 4 |
                                     (uint64_t)link->pushed_back << 3 | (uint64_t)link->up << 2 |
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

void mu_node_fingerprint_linkless(const struct mu_node *node, struct mu_fingerprint *print)
{
    mu_fingerprint_add(print, (uint64_t)node->owes_room << 2 | (uint64_t)node->started << 1 |
                                  (uint64_t)node->fenced);
    mu_fingerprint_add(print, node->posted);
    for (uint32_t i = 0; i < node->roster.count; i++) {
        mu_fingerprint_add(print, node->roster.entries[i].slot |
                                      (uint64_t)node->roster.entries[i].proven << 32 |
                                      (uint64_t)node->roster.entries[i].in << 33);
        mu_fingerprint_add(print, node->roster.entries[i].incarnation);
    }
    mu_fingerprint_add(print, node->roster.count);
    for (uint32_t i = 0; i < node->seen.count; i++) {
        mu_fingerprint_add(print, node->seen.ranges[i].kind);
        mu_fingerprint_add(print, node->seen.ranges[i].stream);
        mu_fingerprint_add(print, node->seen.ranges[i].first);
        mu_fingerprint_add(print, node->seen.ranges[i].last);
    }
    mu_fingerprint_add(print, node->seen.count);
    mu_spread_fingerprint(&node->spread, print);
}

void mu_node_fingerprint(const struct mu_node *node, struct mu_fingerprint *print)
{
    mu_node_fingerprint_linkless(node, print);
    print_links(node, print);
}
