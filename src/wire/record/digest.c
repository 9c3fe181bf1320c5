/* The digest of a recording: every field that has a meaning, in a fixed order, and no padding, no
 * pointer and no field that an event or effect of that type does not use. */
#include "wire/record/record.h"

#include <stdlib.h>

static void add(struct mu_fingerprint *digest, uint64_t value)
{
    mu_fingerprint_add(digest, value);
}

/* Eight bytes a word, the last one filled up with zeros: the length before makes that unambiguous.
 */
static void add_bytes(struct mu_fingerprint *digest, const uint8_t *bytes, size_t count)
{
    add(digest, count);
    for (size_t i = 0; i < count; i += 8) {
        uint64_t word = 0;
        for (size_t k = i; k < i + 8; k++)
            word = word << 8 | (k < count ? bytes[k] : 0);
        add(digest, word);
    }
}

static void add_notice(struct mu_fingerprint *digest, const struct mu_notice *notice)
{
    add(digest, notice->id.kind);
    add(digest, notice->id.stream);
    add(digest, notice->id.index);
    add(digest, notice->root);
    add(digest, notice->hops);
    add(digest, notice->age_ns);
    add_bytes(digest, notice->payload, notice->length);
}

static void add_frame(struct mu_fingerprint *digest, const struct mu_frame *frame)
{
    add(digest, frame->type);
    add(digest, frame->ack);
    if (frame->type != MU_FRAME_NOTICE)
        return;
    add(digest, frame->sequence);
    add_notice(digest, &frame->notice);
}

static void add_event(struct mu_fingerprint *digest, const struct mu_event *event)
{
    add(digest, event->type);
    add(digest, event->now_ns);
    switch (event->type) {
    case MU_EVENT_START:
        add(digest, event->start.links_up);
        return;
    case MU_EVENT_TIMEOUT:
        add(digest, event->timeout.timer);
        return;
    case MU_EVENT_RECV:
        add(digest, event->recv.from);
        add(digest, event->recv.incarnation);
        add(digest, event->recv.transit_ns);
        add_frame(digest, event->recv.frame);
        return;
    case MU_EVENT_LINK_UP:
        add(digest, event->link_up.peer);
        add(digest, event->link_up.incarnation);
        add(digest, event->link_up.peer_has);
        return;
    case MU_EVENT_LINK_DOWN:
        add(digest, event->link_down.peer);
        return;
    case MU_EVENT_VERDICT:
        add_notice(digest, event->verdict.notice);
        return;
    case MU_EVENT_POST:
        add_bytes(digest, event->post.payload, event->post.length);
        return;
    case MU_EVENT_FORGET:
        add(digest, event->forget.kind);
        add(digest, event->forget.stream);
        if (event->forget.kind == MU_NOTICE_NODE_DEAD)
            add(digest, event->forget.slot);
        return;
    case MU_EVENT_MEMBER:
        add(digest, event->member.entry.slot);
        add(digest, event->member.entry.incarnation);
        add(digest, event->member.entry.in | event->member.entry.proven << 1);
        return;
    }
    abort();
}

static void add_effect(struct mu_fingerprint *digest, const struct mu_effect *effect)
{
    add(digest, effect->type);
    switch (effect->type) {
    case MU_DO_SEND:
        add(digest, effect->peer);
        add_frame(digest, &effect->frame);
        return;
    case MU_DO_DELIVER:
    case MU_DO_FENCED:
        add_notice(digest, &effect->notice);
        return;
    case MU_DO_OPEN:
        add(digest, effect->peer);
        return;
    case MU_DO_CLOSE:
        add(digest, effect->reason);
        add(digest, effect->peer);
        return;
    case MU_DO_FAULT:
        add(digest, effect->fault);
        add(digest, effect->peer);
        return;
    }
    abort();
}

void mu_record_digest_start(struct mu_fingerprint *digest, const struct mu_config *config)
{
    mu_fingerprint_init(digest);
    add(digest, config->size);
    add(digest, config->self);
    add(digest, config->incarnation);
    add(digest, config->redundant_wait_ns);
    add(digest, config->ack_delay_ns);
    add(digest, config->retain_ns);
    add(digest, config->limits.links);
    add(digest, config->limits.dead);
    add(digest, config->limits.seen);
    add(digest, config->limits.notices);
    add(digest, config->limits.payload_bytes);
    add(digest, config->limits.window);
    add(digest, config->broken_rules);
}

void mu_record_digest_step(struct mu_fingerprint *digest, const struct mu_event *event,
                           const struct mu_update *update)
{
    add_event(digest, event);
    add(digest, update->count);
    for (uint32_t i = 0; i < update->count; i++)
        add_effect(digest, &update->effects[i]);
    for (uint32_t i = 0; i < MU_TIMERS; i++)
        add(digest, update->deadline_ns[i]);
}
