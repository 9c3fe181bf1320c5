/* Random messages and events that are good, from one seed: for tests/unit/wire/test_wire.c,
 * tests/unit/wire/test_record.c and tests/fuzz.  Half of the numbers sit at the edge of their
 * range. */
#ifndef TEST_WIRE_RANDOM_H
#define TEST_WIRE_RANDOM_H

#include "core/base/event.h"
#include "wire/peer/frame.h"

#include <string.h>

struct random {
    uint64_t state;
    uint32_t slots; /* slots are below this; MU_SIZE_MAX for anything that can be encoded */
    bool small;     /* numbers as they occur in a small machine that has just begun */
};

static inline uint64_t random_u64(struct random *r)
{
    /* splitmix64: every seed is a good one */
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline uint64_t random_below(struct random *r, uint64_t bound)
{
    return random_u64(r) % bound;
}

static inline uint64_t random_between(struct random *r, uint64_t low, uint64_t high)
{
    if (r->small && high - low > 7)
        return low + random_below(r, 8);
    switch (random_below(r, 6)) {
    case 0:
        return low;
    case 1:
        return high;
    case 2:
        return low + (high - low) / 2;
    default:
        return high - low == UINT64_MAX ? random_u64(r) : low + random_below(r, high - low + 1);
    }
}

static inline mu_slot random_slot(struct random *r)
{
    return (mu_slot)(r->small ? random_below(r, r->slots) : random_between(r, 0, r->slots - 1));
}

static uint8_t random_payload_bytes[UINT16_MAX];

static inline uint16_t random_payload(struct random *r, const uint8_t **payload)
{
    /* Long ones are rare: they only make the tests slow. */
    bool is_long = !r->small && random_below(r, 64) == 0;
    uint16_t length = (uint16_t)random_between(r, 0, is_long ? UINT16_MAX : 40);
    for (uint16_t i = 0; i < length; i++)
        random_payload_bytes[i] = (uint8_t)random_u64(r);
    *payload = random_payload_bytes;
    return length;
}

static inline struct mu_notice random_notice(struct random *r)
{
    struct mu_notice notice = {
        .id.kind = (uint8_t)(1 + random_below(r, 3)),
        .root = random_slot(r),
        .hops = (uint16_t)random_between(r, 0, UINT16_MAX),
        .age_ns = random_between(r, 0, UINT64_MAX),
    };
    switch ((enum mu_notice_kind)notice.id.kind) {
    case MU_NOTICE_NODE_DEAD:
        notice.id.stream = random_between(r, 1, UINT32_MAX);
        if (random_below(r, 2) == 0)
            notice.id = mu_notice_proof(0, (uint32_t)notice.id.stream);
        notice.id.index = random_slot(r);
        break;
    case MU_NOTICE_PROC_DEAD:
        notice.id.stream = random_between(r, 0, UINT64_MAX);
        notice.id.index = random_between(r, 0, UINT32_MAX);
        break;
    case MU_NOTICE_PAYLOAD:
        notice.id.stream = (uint64_t)random_slot(r) << 32 | random_between(r, 0, UINT32_MAX);
        notice.id.index = random_between(r, 1, UINT64_MAX);
        break;
    }
    notice.length = random_payload(r, &notice.payload);
    return notice;
}

static inline struct mu_frame random_frame(struct random *r)
{
    static const uint8_t words[] = {MU_FRAME_ACK, MU_FRAME_FULL, MU_FRAME_ROOM, MU_FRAME_AGAIN};
    struct mu_frame frame = {.type = words[random_below(r, 4)],
                             .ack = random_between(r, 0, UINT64_MAX)};
    if (random_below(r, 4) > 0) {
        frame.type = MU_FRAME_NOTICE;
        frame.sequence = random_between(r, 1, UINT64_MAX);
        frame.notice = random_notice(r);
    }
    return frame;
}

static inline struct mu_hello random_hello(struct random *r)
{
    struct mu_hello hello = {
        .machine = random_between(r, 0, UINT64_MAX),
        .size = (uint32_t)random_between(r, 2, MU_SIZE_MAX),
        .incarnation = (uint32_t)random_between(r, 1, UINT32_MAX),
        .view = random_between(r, 1, UINT64_MAX),
        .hash = random_between(r, 0, UINT64_MAX),
        .has = random_between(r, 0, UINT64_MAX),
    };
    hello.from = (mu_slot)random_between(r, 0, hello.size - 1);
    hello.to = (mu_slot)random_between(r, 0, hello.size - 1);
    if (hello.to == hello.from)
        hello.to = (hello.from + 1) % hello.size;
    return hello;
}

static inline struct mu_refuse random_refuse(struct random *r)
{
    static char reason[MU_WIRE_REASON_MAX];
    for (size_t i = 0; i < sizeof reason; i++)
        reason[i] = (char)random_between(r, 0x20, 0x7e);
    return (struct mu_refuse){
        .code = (uint8_t)random_between(r, 1, UINT8_MAX),
        .length = (uint8_t)random_between(r, 1, MU_WIRE_REASON_MAX),
        .reason = reason,
    };
}

static inline struct mu_message random_message(struct random *r)
{
    struct mu_message message = {.type = MU_MESSAGE_BYE};
    switch (random_below(r, 8)) {
    case 0:
        break;
    case 1:
        message.type = MU_MESSAGE_HELLO;
        message.hello = random_hello(r);
        break;
    case 2:
        message.type = MU_MESSAGE_REFUSE;
        message.refuse = random_refuse(r);
        break;
    default:
        message.frame = random_frame(r);
        message.type = (enum mu_message_type)message.frame.type;
    }
    return message;
}

/* Any event but START, later than 'after_ns'; what it points to is kept in *frame and *notice. */
static inline struct mu_event random_event(struct random *r, uint64_t after_ns,
                                           struct mu_frame *frame, struct mu_notice *notice)
{
    struct mu_event event = {
        .type = (enum mu_event_type)(MU_EVENT_TIMEOUT + random_below(r, MU_EVENT_MEMBER - 1)),
        .now_ns = after_ns + random_between(r, 0, 1000 * 1000),
    };
    switch (event.type) {
    case MU_EVENT_START:
        break;
    case MU_EVENT_TIMEOUT:
        event.timeout.timer = (enum mu_timer)random_below(r, MU_TIMERS);
        break;
    case MU_EVENT_RECV:
        *frame = random_frame(r);
        event.recv.from = random_slot(r);
        event.recv.incarnation = 1 + (uint32_t)random_below(r, 2);
        event.recv.transit_ns = random_between(r, 0, UINT64_MAX);
        event.recv.frame = frame;
        break;
    case MU_EVENT_LINK_UP:
        event.link_up.peer = random_slot(r);
        event.link_up.incarnation = (uint32_t)random_between(r, 0, UINT32_MAX);
        event.link_up.peer_has = random_between(r, 0, UINT64_MAX);
        break;
    case MU_EVENT_LINK_DOWN:
        event.link_down.peer = random_slot(r);
        break;
    case MU_EVENT_VERDICT:
        *notice = random_notice(r);
        event.verdict.notice = notice;
        break;
    case MU_EVENT_POST:
        event.post.length = random_payload(r, &event.post.payload);
        break;
    case MU_EVENT_FORGET:
        event.forget.kind = (uint8_t)(MU_NOTICE_NODE_DEAD + random_below(r, 3));
        event.forget.stream = random_between(r, 0, UINT64_MAX);
        if (event.forget.kind == MU_NOTICE_NODE_DEAD) {
            event.forget.stream = random_between(r, 0, UINT32_MAX);
            event.forget.slot = random_slot(r);
        }
        break;
    case MU_EVENT_MEMBER:
        event.member.entry.slot = random_slot(r);
        event.member.entry.incarnation = 1 + (uint32_t)random_below(r, 4);
        event.member.entry.in = true;
        break;
    }
    return event;
}

#endif
