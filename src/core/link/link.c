#include "core/link/link.h"

#include <assert.h>
#include <string.h>

_Static_assert(sizeof(struct mu_link) == 32, "a link must not cross a cache line");

void mu_links_init(struct mu_links *links, struct mu_arena *arena, uint16_t capacity,
                   uint16_t window, uint64_t ack_delay_ns)
{
    assert(window > 0 && capacity > 0);
    links->at = mu_arena_array_line(arena, capacity, sizeof *links->at);
    links->rings = mu_arena_array(arena, (size_t)capacity * window, sizeof *links->rings);
    links->count = 0;
    links->unused = 0;
    links->capacity = capacity;
    links->window = window;
    links->ack_due_ns = MU_NEVER;
    links->ack_delay_ns = ack_delay_ns;
    links->repeats = 0;
}

struct mu_link *mu_links_find(struct mu_links *links, mu_slot peer)
{
    for (uint32_t i = 0; i < links->count; i++)
        if (links->at[i].peer == peer)
            return &links->at[i];
    return NULL;
}

struct mu_link *mu_links_add(struct mu_links *links, mu_slot peer)
{
    assert(peer != MU_SLOT_NONE);
    struct mu_link *link;
    if (links->unused > 0) {
        link = mu_links_find(links, MU_SLOT_NONE);
        links->unused--;
    } else if (links->count < links->capacity) {
        link = &links->at[links->count++];
    } else {
        return NULL;
    }
    memset(link, 0, sizeof *link);
    link->peer = peer;
    return link;
}

struct mu_link *mu_links_get(struct mu_links *links, mu_slot peer)
{
    struct mu_link *link = mu_links_find(links, peer);
    return link != NULL ? link : mu_links_add(links, peer);
}

void mu_links_remove(struct mu_links *links, struct mu_link *link)
{
    memset(link, 0, sizeof *link);
    link->peer = MU_SLOT_NONE;
    links->unused++;
}

static mu_body *ring_place(const struct mu_links *links, const struct mu_link *link, uint16_t i)
{
    size_t of_link = (size_t)(link - links->at) * links->window;
    return &links->rings[of_link + (size_t)(link->head + i) % links->window];
}

bool mu_link_has_room(const struct mu_links *links, const struct mu_link *link)
{
    return link->pending < links->window;
}

bool mu_link_push(struct mu_links *links, struct mu_link *link, mu_body body)
{
    assert(mu_link_has_room(links, link));
    *ring_place(links, link, link->pending) = body;
    link->pending++;
    link->sent++;
    return link->up;
}

mu_body mu_link_pending_at(const struct mu_links *links, const struct mu_link *link, uint16_t i)
{
    assert(i < link->pending);
    return *ring_place(links, link, i);
}

void mu_link_put_at(struct mu_links *links, const struct mu_link *link, uint16_t i, mu_body body)
{
    assert(i < link->pending);
    *ring_place(links, link, i) = body;
}

void mu_link_shorten(struct mu_link *link, uint16_t count)
{
    assert(count <= link->pending);
    link->sent -= link->pending - count;
    link->pending = count;
}

void mu_link_say(struct mu_link *link, enum mu_frame_type type, struct mu_update *update)
{
    struct mu_effect *effect = mu_update_add(update, MU_DO_SEND);
    effect->peer = link->peer;
    effect->frame.type = (uint8_t)type;
    effect->frame.ack = link->received;
    link->owed = 0;
}

void mu_link_stamp(struct mu_link *link, uint16_t i, struct mu_frame *frame)
{
    assert(i < link->pending);
    frame->sequence = link->sent - link->pending + 1 + i;
    frame->ack = link->received;
    link->owed = 0;
}

bool mu_links_carry(const struct mu_links *links, mu_body body)
{
    for (uint32_t i = 0; i < links->count; i++)
        for (uint16_t k = 0; k < links->at[i].pending; k++)
            if (mu_link_pending_at(links, &links->at[i], k) == body)
                return true;
    return false;
}

uint16_t mu_link_trim(struct mu_links *links, struct mu_link *link, uint64_t ack,
                      enum mu_fault *fault)
{
    uint64_t oldest = link->sent - link->pending;
    if (ack > link->sent)
        *fault = MU_FAULT_LINK_ACK;
    if (ack > link->sent || ack <= oldest)
        return 0;
    uint16_t covered = (uint16_t)(ack - oldest);
    link->head = (uint16_t)((link->head + covered) % links->window);
    link->pending -= covered;
    return covered;
}

bool mu_link_accept(struct mu_links *links, struct mu_link *link, uint64_t sequence,
                    uint64_t now_ns, enum mu_fault *fault)
{
    if (sequence > link->received + 1) {
        *fault = MU_FAULT_LINK_GAP;
        return false;
    }
    link->owed++;
    /* A half full window is acknowledged at once: the other side must never stand still. */
    uint64_t delay_ns = link->owed >= (links->window + 1) / 2 ? 0 : links->ack_delay_ns;
    if (now_ns + delay_ns < links->ack_due_ns)
        links->ack_due_ns = now_ns + delay_ns;
    if (sequence <= link->received) {
        links->repeats++;
        return false;
    }
    link->received = sequence;
    return true;
}

void mu_link_up(struct mu_link *link, uint32_t incarnation)
{
    link->up = true;
    link->asked = false;
    link->incarnation = incarnation;
    link->owed = 0; /* the handshake said what has arrived */
}

/* What was said of room goes with the connection: on the next one it shows again. */
void mu_link_down(struct mu_link *link)
{
    link->up = false;
    link->owed = 0;
    link->told_full = link->ignores = link->pushed_back = false;
}

void mu_links_send_acks(struct mu_links *links, struct mu_update *update)
{
    links->ack_due_ns = MU_NEVER;
    for (uint32_t i = 0; i < links->count; i++) {
        struct mu_link *link = &links->at[i];
        if (link->up && link->owed > 0)
            mu_link_say(link, MU_FRAME_ACK, update);
    }
}
