#include "core/spread/spread.h"

#include "core/spread/adopt.h"

#include <assert.h>
#include <string.h>

/* ---- small tools ---- */

static bool is_broken(const struct mu_spread *spread, enum mu_broken_rule rule)
{
    return (spread->broken_rules & rule) != 0;
}

static uint64_t bit(uint32_t edge)
{
    return 1ull << edge;
}

static bool leads_onward(uint32_t edge)
{
    return edge % 2 == 0;
}

static void queue_add(struct mu_spread *spread, struct mu_queue *queue, mu_body body)
{
    spread->held[body].next = MU_BODY_NONE;
    if (queue->first == MU_BODY_NONE)
        queue->first = body;
    else
        spread->held[queue->last].next = body;
    queue->last = body;
}

static mu_body queue_take(struct mu_spread *spread, struct mu_queue *queue)
{
    mu_body body = queue->first;
    assert(body != MU_BODY_NONE);
    queue->first = spread->held[body].next;
    if (queue->first == MU_BODY_NONE)
        queue->last = MU_BODY_NONE;
    return body;
}

static void queue_remove(struct mu_spread *spread, struct mu_queue *queue, mu_body body)
{
    mu_body before = MU_BODY_NONE;
    for (mu_body at = queue->first; at != MU_BODY_NONE; before = at, at = spread->held[at].next) {
        if (at != body)
            continue;
        if (before == MU_BODY_NONE)
            queue->first = spread->held[at].next;
        else
            spread->held[before].next = spread->held[at].next;
        if (queue->last == at)
            queue->last = before;
        return;
    }
}

/* Index in 'order' of the first held notice that is not before 'id'. */
static uint16_t place_of(const struct mu_spread *spread, const struct mu_notice_id *id)
{
    uint16_t low = 0, high = spread->count;
    while (low < high) {
        uint16_t middle = (uint16_t)(low + (high - low) / 2);
        if (mu_notice_compare(&spread->held[spread->order[middle]].id, id) < 0)
            low = (uint16_t)(middle + 1);
        else
            high = middle;
    }
    return low;
}

static mu_body find(const struct mu_spread *spread, const struct mu_notice_id *id)
{
    uint16_t at = place_of(spread, id);
    if (at == spread->count || mu_notice_compare(&spread->held[spread->order[at]].id, id) != 0)
        return MU_BODY_NONE;
    return spread->order[at];
}

/* ---- start ---- */

void mu_spread_init(struct mu_spread *spread, struct mu_arena *arena,
                    const struct mu_config *config, struct mu_links *links,
                    const struct mu_roster *roster)
{
    uint16_t capacity = (uint16_t)(config->limits.notices + config->limits.dead);
    uint32_t edges_max = mu_graph_edges(config->slots);
    mu_body *order = mu_arena_array(arena, capacity, sizeof *order);
    struct mu_edge *edges = mu_arena_array(arena, edges_max, sizeof *edges);
    struct mu_held *held = mu_arena_array_line(arena, capacity, sizeof *held);
    /* At least one byte: without payloads there is still a place for none. */
    uint8_t *payloads = mu_arena_array(arena, capacity, config->limits.payload_bytes + 1u);
    if (held == NULL)
        return; /* only measuring */
    *spread = (struct mu_spread){
        .self = config->self,
        .size = config->size,
        .edge_count = (uint16_t)mu_graph_edges(config->size),
        .broken_rules = config->broken_rules,
        .redundant_wait_ns = config->redundant_wait_ns,
        .retain_ns = config->retain_ns,
        .payload_bytes = config->limits.payload_bytes,
        .capacity = config->limits.notices,
        .await_onward = {MU_BODY_NONE, MU_BODY_NONE},
        .await_back = {MU_BODY_NONE, MU_BODY_NONE},
        .retained = {MU_BODY_NONE, MU_BODY_NONE},
        .edges = edges,
        .held = held,
        .order = order,
        .payloads = payloads,
        .links = links,
        .roster = roster,
    };
    for (uint16_t i = 0; i < capacity; i++)
        held[i].next = (uint16_t)(i + 1 == capacity ? MU_BODY_NONE : i + 1);
}

/* ---- edges ---- */

/* Where an edge leads when the dead are stepped over; MU_SLOT_NONE when that is here. */
static mu_slot occupant(const struct mu_spread *spread, uint32_t edge)
{
    mu_slot target = mu_graph_target(spread->size, spread->self, edge);
    if (is_broken(spread, MU_BROKEN_NO_REPLACE))
        return mu_roster_is_vacant(spread->roster, target) ? MU_SLOT_NONE : target;
    return mu_roster_next_live(spread->roster, target, !leads_onward(edge), spread->self);
}

static uint32_t edge_with(const struct mu_edge *edges, uint32_t count, mu_slot slot)
{
    uint32_t edge = 0;
    while (edge < count && edges[edge].slot != slot)
        edge++;
    return edge;
}

static bool lower_edge_leads_to(const struct mu_spread *spread, uint32_t edge, mu_slot slot)
{
    if (spread->roster->count == 0) /* by nature: no need to look */
        return mu_graph_edge_to(spread->size, spread->self, slot) < edge;
    return edge_with(spread->edges, edge, slot) < edge;
}

/* Finds where each edge leads now, and the link along it.  With links_up it is connected. */
static enum mu_fault lay_edges(struct mu_spread *spread, bool links_up, struct mu_update *update)
{
    enum mu_fault fault = MU_FAULT_NONE;
    bool is_first = spread->links->count == 0; /* nothing to look for */
    spread->size = spread->roster->size;
    spread->edge_count = (uint16_t)mu_graph_edges(spread->size);
    for (uint32_t e = 0; e < spread->edge_count; e++) {
        struct mu_edge *edge = &spread->edges[e];
        mu_slot slot = occupant(spread, e);
        edge->slot = lower_edge_leads_to(spread, e, slot) ? MU_SLOT_NONE : slot;
        if (edge->slot == MU_SLOT_NONE)
            continue;
        struct mu_link *link =
            is_first ? mu_links_add(spread->links, slot) : mu_links_get(spread->links, slot);
        if (link == NULL) {
            edge->slot = MU_SLOT_NONE; /* leads nowhere until the next mending finds room */
            fault = MU_FAULT_LINKS_FULL;
            continue;
        }
        edge->link = (uint16_t)(link - spread->links->at);
        if (links_up)
            mu_link_up(link, mu_roster_incarnation(spread->roster, slot));
        if (!link->up && !link->asked) {
            link->asked = true;
            mu_update_add(update, MU_DO_OPEN)->peer = slot;
        }
    }
    return fault;
}

enum mu_fault mu_spread_start(struct mu_spread *spread, bool links_up, struct mu_update *update)
{
    return lay_edges(spread, links_up, update);
}

enum mu_fault mu_spread_mend(struct mu_spread *spread, mu_slot changed, uint64_t *fresh,
                             struct mu_update *update)
{
    struct mu_edge before[MU_GRAPH_EDGES_MAX];
    uint32_t count = spread->edge_count;
    memcpy(before, spread->edges, count * sizeof before[0]);
    enum mu_fault fault = lay_edges(spread, false, update);
    *fresh = 0;
    /* A neighbour may be reached over another edge than before: what it has goes along. */
    uint32_t from[MU_GRAPH_EDGES_MAX];
    bool moved = false;
    for (uint32_t e = 0; e < spread->edge_count; e++) {
        mu_slot slot = spread->edges[e].slot;
        bool nobody_was = slot == MU_SLOT_NONE || slot == changed;
        from[e] = nobody_was ? count : edge_with(before, count, slot);
        if (slot != MU_SLOT_NONE && from[e] == count)
            *fresh |= bit(e);
        moved = moved || e >= count || slot == changed || slot != before[e].slot;
    }
    if (!moved)
        return fault;
    for (uint16_t i = 0; i < spread->count; i++) {
        struct mu_held *held = &spread->held[spread->order[i]];
        uint64_t done = 0;
        for (uint32_t e = 0; e < spread->edge_count; e++)
            if (from[e] < count && (held->done & bit(from[e])) != 0)
                done |= bit(e);
        held->done = done;
    }
    return fault;
}

uint32_t mu_spread_edge_of(const struct mu_spread *spread, mu_slot slot)
{
    /* Almost always the edge that leads there by nature. */
    uint32_t edge = mu_graph_edge_to(spread->size, spread->self, slot);
    if (edge < spread->edge_count && spread->edges[edge].slot == slot)
        return edge;
    return edge_with(spread->edges, spread->edge_count, slot);
}

/* ---- sending ---- */

/* A held notice, as it is sent on. */
static struct mu_notice notice_of(const struct mu_spread *spread, mu_body body, uint64_t now_ns)
{
    const struct mu_held *held = &spread->held[body];
    return (struct mu_notice){
        .id = held->id,
        .root = held->root,
        .hops = (uint16_t)(held->hops + 1),
        .length = held->length,
        .age_ns = held->age_ns + (now_ns - held->heard_ns),
        .payload = &spread->payloads[(size_t)body * spread->payload_bytes],
    };
}

void mu_spread_emit(struct mu_spread *spread, struct mu_link *link, uint16_t i, uint64_t now_ns,
                    struct mu_update *update)
{
    struct mu_effect *effect = mu_update_add(update, MU_DO_SEND);
    effect->peer = link->peer;
    effect->frame.type = MU_FRAME_NOTICE;
    effect->frame.notice = notice_of(spread, mu_link_pending_at(spread->links, link, i), now_ns);
    mu_link_stamp(link, i, &effect->frame);
}

/* The death of a node waits for no room on the other side: it has a place there. */
static bool always_fits(const struct mu_spread *spread, mu_body body)
{
    return spread->held[body].id.kind == MU_NOTICE_NODE_DEAD &&
           !is_broken(spread, MU_BROKEN_DEATHS_WAIT);
}

static void send_on(struct mu_spread *spread, mu_body body, uint32_t edge, uint64_t now_ns,
                    struct mu_update *update)
{
    struct mu_link *link = &spread->links->at[spread->edges[edge].link];
    bool waits = link->pushed_back && !always_fits(spread, body);
    if (waits || !mu_link_has_room(spread->links, link)) {
        link->starved = true; /* mu_spread_on_room() comes back to it */
        return;
    }
    spread->held[body].done |= bit(edge);
    if (mu_link_push(spread->links, link, body))
        mu_spread_emit(spread, link, (uint16_t)(link->pending - 1), now_ns, update);
}

/* Children in the notice's tree hear it at once.  So do orphans, from a few: their own parent is
 * dead. */
static bool is_urgent(const struct mu_spread *spread, const struct mu_held *held, mu_slot slot)
{
    if (is_broken(spread, MU_BROKEN_CHAIN))
        return slot == spread->edges[0].slot;
    if (held->root >= spread->size)
        return true; /* of one who joined, and is not known here yet: no tree to go by */
    mu_slot parent = mu_graph_parent(spread->size, held->root, slot);
    return parent == spread->self ||
           (parent != MU_SLOT_NONE && mu_roster_is_vacant(spread->roster, parent) &&
            mu_adopts(spread->roster, held->root, spread->self, slot));
}

enum wave { WAVE_URGENT, WAVE_ONWARD, WAVE_ALL };

static void serve_edge(struct mu_spread *spread, mu_body body, uint32_t e, enum wave wave,
                       uint64_t now_ns, struct mu_update *update)
{
    const struct mu_held *held = &spread->held[body];
    mu_slot slot = spread->edges[e].slot;
    bool done = (held->done & bit(e)) != 0 && !is_broken(spread, MU_BROKEN_SEND_AGAIN);
    if (slot == MU_SLOT_NONE || done)
        return;
    if (wave == WAVE_ALL || (wave == WAVE_ONWARD && leads_onward(e)) ||
        is_urgent(spread, held, slot))
        send_on(spread, body, e, now_ns, update);
}

static void serve(struct mu_spread *spread, mu_body body, enum wave wave, uint64_t now_ns,
                  struct mu_update *update)
{
    for (uint32_t e = 0; e < spread->edge_count; e++)
        serve_edge(spread, body, e, wave, now_ns, update);
}

/* Which edges a notice in this phase may use. */
static enum wave wave_of(const struct mu_held *held)
{
    switch ((enum mu_held_phase)held->phase) {
    case MU_HELD_AWAIT_ONWARD:
        return WAVE_URGENT;
    case MU_HELD_AWAIT_BACK:
        return WAVE_ONWARD;
    case MU_HELD_SPREAD:
        return WAVE_ALL;
    case MU_HELD_FREE:
        break;
    }
    assert(!"a free notice is never served");
    return WAVE_URGENT;
}

static void serve_all_on(struct mu_spread *spread, uint32_t edge, uint64_t now_ns,
                         struct mu_update *update)
{
    for (uint16_t i = 0; i < spread->count; i++) {
        mu_body body = spread->order[i];
        serve_edge(spread, body, edge, wave_of(&spread->held[body]), now_ns, update);
    }
}

static void serve_queue(struct mu_spread *spread, const struct mu_queue *queue, uint64_t now_ns,
                        struct mu_update *update)
{
    for (mu_body body = queue->first; body != MU_BODY_NONE; body = spread->held[body].next)
        serve(spread, body, wave_of(&spread->held[body]), now_ns, update);
}

/* ---- learning ---- */

static uint32_t used(const struct mu_spread *spread)
{
    return (uint32_t)spread->count - spread->deaths;
}

bool mu_spread_has_room(const struct mu_spread *spread)
{
    return used(spread) < spread->capacity;
}

static bool is_new_term(const struct mu_spread *spread, uint64_t now_ns)
{
    return now_ns - spread->own_since_ns >= spread->redundant_wait_ns;
}

/* What all nodes see before they hear of each other is to fit into the other half. */
bool mu_spread_has_room_for_own(const struct mu_spread *spread, uint64_t now_ns)
{
    uint32_t share = spread->capacity / 2 / spread->size;
    uint32_t taken = is_new_term(spread, now_ns) ? 0 : spread->own_count;
    if (is_broken(spread, MU_BROKEN_OWN_FILLS))
        return mu_spread_has_room(spread);
    return 2 * used(spread) < spread->capacity && taken < (share == 0 ? 1 : share);
}

uint32_t mu_spread_own_eighths(const struct mu_spread *spread)
{
    uint32_t eighths = 16 * used(spread) / spread->capacity;
    return eighths < 8 ? eighths : 8;
}

static void count_own(struct mu_spread *spread, uint64_t now_ns)
{
    if (is_new_term(spread, now_ns)) {
        spread->own_since_ns = now_ns;
        spread->own_count = 0;
    }
    spread->own_count++;
}

/* A quarter: one place at a time would be asked for by all links, and given to one. */
bool mu_spread_has_room_again(const struct mu_spread *spread)
{
    uint32_t left = spread->capacity - used(spread);
    return left > 0 && 4 * left >= spread->capacity;
}

static mu_body hold(struct mu_spread *spread, const struct mu_notice *notice, uint64_t now_ns)
{
    mu_body body = spread->free;
    assert(body != MU_BODY_NONE);
    struct mu_held *held = &spread->held[body];
    spread->free = held->next;
    *held = (struct mu_held){
        .id = notice->id,
        .age_ns = notice->age_ns,
        .heard_ns = now_ns,
        .root = notice->root,
        .hops = notice->hops,
        .length = notice->length,
        .next = MU_BODY_NONE,
        .phase = MU_HELD_AWAIT_ONWARD,
    };
    if (notice->length > 0)
        memcpy(&spread->payloads[(size_t)body * spread->payload_bytes], notice->payload,
               notice->length);
    uint16_t at = place_of(spread, &notice->id);
    memmove(&spread->order[at + 1], &spread->order[at],
            (size_t)(spread->count - at) * sizeof spread->order[0]);
    spread->order[at] = body;
    spread->count++;
    spread->deaths += notice->id.kind == MU_NOTICE_NODE_DEAD;
    return body;
}

static void mark_done(struct mu_spread *spread, mu_body body, mu_slot neighbour)
{
    uint32_t edge = mu_spread_edge_of(spread, neighbour);
    if (edge < spread->edge_count)
        spread->held[body].done |= bit(edge);
}

static void forget(struct mu_spread *spread, mu_body body);

/* The notice without proof, if it is held. */
static mu_body find_unproven(const struct mu_spread *spread, const struct mu_notice_id *id)
{
    struct mu_notice_id unproven = mu_notice_node((mu_slot)id->index, mu_notice_incarnation(id));
    return mu_notice_is_proof(id) ? find(spread, &unproven) : MU_BODY_NONE;
}

/* A proof takes the place of the notice without one, in the same body: whatever of that is still to
 * be sent again carries the proof. */
static void make_way(struct mu_spread *spread, mu_body body)
{
    queue_remove(spread, &spread->await_onward, body);
    queue_remove(spread, &spread->await_back, body);
    queue_remove(spread, &spread->retained, body); /* it may have been over */
    forget(spread, body);                          /* what is forgotten last is used next */
}

/* What this step has sent already carries the proof, too: its payload is there. */
static void send_anew(struct mu_spread *spread, mu_body body, uint64_t now_ns,
                      struct mu_update *update)
{
    struct mu_notice notice = notice_of(spread, body, now_ns);
    for (uint32_t i = 0; i < update->count; i++) {
        struct mu_effect *effect = &update->effects[i];
        if (effect->type != MU_DO_SEND || effect->frame.type != MU_FRAME_NOTICE ||
            effect->frame.notice.id.kind != MU_NOTICE_NODE_DEAD ||
            effect->frame.notice.id.index != notice.id.index)
            continue;
        effect->frame.notice = notice;
        mark_done(spread, body, effect->peer);
    }
}

static bool all_edges_done(const struct mu_spread *spread, const struct mu_held *held)
{
    for (uint32_t e = 0; e < spread->edge_count; e++)
        if (spread->edges[e].slot != MU_SLOT_NONE && (held->done & bit(e)) == 0)
            return false;
    return true;
}

static void enter_spread(struct mu_spread *spread, mu_body body)
{
    struct mu_held *held = &spread->held[body];
    held->phase = MU_HELD_SPREAD;
    /* Deaths of nodes stay: they are what a later neighbour needs to mend its own edges. */
    bool stays = held->id.kind == MU_NOTICE_NODE_DEAD && !held->over;
    if (!stays && spread->retain_ns != MU_NEVER)
        queue_add(spread, &spread->retained, body);
}

void mu_spread_learn(struct mu_spread *spread, const struct mu_notice *notice, mu_slot from,
                     uint64_t now_ns, struct mu_update *update)
{
    assert(notice->length <= spread->payload_bytes);
    mu_body unproven = find_unproven(spread, &notice->id);
    if (unproven != MU_BODY_NONE)
        make_way(spread, unproven);
    mu_body body = hold(spread, notice, now_ns);
    if (unproven != MU_BODY_NONE)
        send_anew(spread, body, now_ns, update);
    struct mu_held *held = &spread->held[body];
    if (from != MU_SLOT_NONE)
        mark_done(spread, body, from);
    else if (notice->id.kind != MU_NOTICE_NODE_DEAD)
        count_own(spread, now_ns);
    serve(spread, body, WAVE_URGENT, now_ns, update);

    struct mu_effect *deliver = mu_update_add(update, MU_DO_DELIVER);
    deliver->notice = *notice;
    deliver->notice.payload = &spread->payloads[(size_t)body * spread->payload_bytes];

    if (is_broken(spread, MU_BROKEN_NO_REDUNDANT) || all_edges_done(spread, held))
        enter_spread(spread, body);
    else
        queue_add(spread, &spread->await_onward, body);
}

bool mu_spread_heard_again(struct mu_spread *spread, const struct mu_notice_id *id, mu_slot from)
{
    mu_body body = find(spread, id);
    if (body == MU_BODY_NONE)
        return false;
    spread->duplicates++;
    if (from != MU_SLOT_NONE)
        mark_done(spread, body, from);
    return true;
}

void mu_spread_resend(struct mu_spread *spread, uint64_t fresh, uint64_t now_ns,
                      struct mu_update *update)
{
    if (is_broken(spread, MU_BROKEN_NO_RESEND))
        return;
    for (uint32_t e = 0; e < spread->edge_count; e++)
        if ((fresh & bit(e)) != 0)
            serve_all_on(spread, e, now_ns, update);
    /* Some neighbours may have become orphans in the tree of a notice that is still on its way. */
    serve_queue(spread, &spread->await_onward, now_ns, update);
    serve_queue(spread, &spread->await_back, now_ns, update);
}

void mu_spread_on_room(struct mu_spread *spread, struct mu_link *link, uint64_t now_ns,
                       struct mu_update *update)
{
    if (!link->starved)
        return;
    link->starved = false;
    uint32_t edge = mu_spread_edge_of(spread, link->peer);
    if (edge < spread->edge_count)
        serve_all_on(spread, edge, now_ns, update);
}

void mu_spread_push_back(struct mu_spread *spread, struct mu_link *link, uint64_t now_ns,
                         struct mu_update *update)
{
    uint32_t edge = mu_spread_edge_of(spread, link->peer);
    uint16_t kept = 0;
    for (uint16_t i = 0; i < link->pending; i++) {
        mu_body body = mu_link_pending_at(spread->links, link, i);
        if (always_fits(spread, body))
            mu_link_put_at(spread->links, link, kept++, body);
        else if (edge < spread->edge_count)
            spread->held[body].done &= ~bit(edge);
    }
    mu_link_shorten(link, kept);
    link->pushed_back = link->starved = true;
    mu_link_say(link, MU_FRAME_AGAIN, update);
    for (uint16_t i = 0; i < kept; i++)
        mu_spread_emit(spread, link, i, now_ns, update);
    mu_spread_on_room(spread, link, now_ns, update); /* a death may have found the ring full */
}

/* ---- deadlines ---- */

static uint64_t due_ns(const struct mu_spread *spread, const struct mu_queue *queue,
                       uint64_t wait_ns)
{
    if (queue->first == MU_BODY_NONE)
        return MU_NEVER;
    return spread->held[queue->first].heard_ns + wait_ns;
}

/* Onward edges go after half the wait, edges back after the whole: of two neighbours that heard at
 * about the same time one sends and the other one saves its copy.
 *
 * Both go at moments that are half a wait apart, so that notices of many failures go together; each
 * node has its own such moments, else nodes that share cores would all send at once. */
static uint64_t shared_due_ns(const struct mu_spread *spread, const struct mu_queue *queue,
                              uint64_t wait_ns)
{
    uint64_t at_ns = due_ns(spread, queue, wait_ns);
    uint64_t apart_ns = spread->redundant_wait_ns / 2;
    if (at_ns == MU_NEVER || apart_ns == 0)
        return at_ns;
    uint64_t own_ns = apart_ns / spread->size * spread->self +
                      apart_ns % spread->size * spread->self / spread->size;
    uint64_t past_ns = (at_ns % apart_ns + own_ns) % apart_ns;
    return past_ns == 0 ? at_ns : at_ns + (apart_ns - past_ns);
}

uint64_t mu_spread_onward_due_ns(const struct mu_spread *spread)
{
    return shared_due_ns(spread, &spread->await_onward, spread->redundant_wait_ns / 2);
}

uint64_t mu_spread_back_due_ns(const struct mu_spread *spread)
{
    return shared_due_ns(spread, &spread->await_back, spread->redundant_wait_ns);
}

uint64_t mu_spread_retain_due_ns(const struct mu_spread *spread)
{
    return spread->retain_ns == MU_NEVER ? MU_NEVER
                                         : due_ns(spread, &spread->retained, spread->retain_ns);
}

void mu_spread_on_onward(struct mu_spread *spread, uint64_t now_ns, struct mu_update *update)
{
    if (mu_spread_onward_due_ns(spread) > now_ns)
        return; /* the timer was late for a deadline that is gone */
    mu_body body = queue_take(spread, &spread->await_onward);
    serve(spread, body, WAVE_ONWARD, now_ns, update);
    if (all_edges_done(spread, &spread->held[body])) {
        enter_spread(spread, body);
        return;
    }
    spread->held[body].phase = MU_HELD_AWAIT_BACK;
    queue_add(spread, &spread->await_back, body);
}

void mu_spread_on_back(struct mu_spread *spread, uint64_t now_ns, struct mu_update *update)
{
    if (mu_spread_back_due_ns(spread) > now_ns)
        return;
    mu_body body = queue_take(spread, &spread->await_back);
    serve(spread, body, WAVE_ALL, now_ns, update);
    enter_spread(spread, body);
}

/* ---- forgetting ---- */

static void forget(struct mu_spread *spread, mu_body body)
{
    struct mu_held *held = &spread->held[body];
    uint16_t at = place_of(spread, &held->id);
    assert(spread->order[at] == body);
    spread->count--;
    memmove(&spread->order[at], &spread->order[at + 1],
            (size_t)(spread->count - at) * sizeof spread->order[0]);
    spread->deaths -= held->id.kind == MU_NOTICE_NODE_DEAD;
    memset(held, 0, sizeof *held);
    held->next = spread->free;
    spread->free = body;
}

/* Forgets what everybody has; else keeps it for one more term. */
static void forget_or_retain(struct mu_spread *spread, mu_body body, uint64_t now_ns)
{
    struct mu_held *held = &spread->held[body];
    bool served = all_edges_done(spread, held) || is_broken(spread, MU_BROKEN_FORGET_EARLY);
    if (served && !mu_links_carry(spread->links, body)) {
        forget(spread, body);
        return;
    }
    held->age_ns += now_ns - held->heard_ns;
    held->heard_ns = now_ns;
    queue_add(spread, &spread->retained, body);
}

void mu_spread_on_retain(struct mu_spread *spread, uint64_t now_ns)
{
    if (mu_spread_retain_due_ns(spread) > now_ns)
        return;
    forget_or_retain(spread, queue_take(spread, &spread->retained), now_ns);
}

static bool is_covered(const struct mu_held *held, mu_slot slot, uint32_t incarnation)
{
    return held->id.kind == MU_NOTICE_NODE_DEAD && held->id.index == slot &&
           mu_notice_incarnation(&held->id) <= incarnation;
}

void mu_spread_death_is_over(struct mu_spread *spread, mu_slot slot, uint32_t incarnation,
                             uint64_t now_ns)
{
    if (is_broken(spread, MU_BROKEN_DEATHS_KEPT))
        return;
    for (uint16_t i = spread->count; i-- > 0;) {
        mu_body body = spread->order[i];
        struct mu_held *held = &spread->held[body];
        if (held->over || !is_covered(held, slot, incarnation))
            continue;
        held->over = true;
        if (held->phase == MU_HELD_SPREAD)
            forget_or_retain(spread, body, now_ns);
    }
}

/* ---- fingerprint ---- */

static void print_held(const struct mu_held *held, struct mu_fingerprint *print)
{
    mu_fingerprint_add(print, held->id.kind);
    mu_fingerprint_add(print, held->id.stream);
    mu_fingerprint_add(print, held->id.index);
    mu_fingerprint_add(print, held->root);
    mu_fingerprint_add(print, held->done);
    mu_fingerprint_add(print, held->phase | (uint64_t)held->over << 8);
}

static void print_queue(const struct mu_spread *spread, const struct mu_queue *queue,
                        struct mu_fingerprint *print)
{
    for (mu_body body = queue->first; body != MU_BODY_NONE; body = spread->held[body].next)
        print_held(&spread->held[body], print);
    mu_fingerprint_add(print, MU_BODY_NONE);
}

/* Hops, ages and counters of duplicates are left out: nothing is decided by them.  So are the
 * edges, which follow from the dead. */
void mu_spread_fingerprint(const struct mu_spread *spread, struct mu_fingerprint *print)
{
    for (uint16_t i = 0; i < spread->count; i++)
        print_held(&spread->held[spread->order[i]], print);
    mu_fingerprint_add(print, spread->count);
    print_queue(spread, &spread->await_onward, print);
    print_queue(spread, &spread->await_back, print);
    print_queue(spread, &spread->retained, print);
}
