#include "wire/record/record.h"

#include "wire/record/doors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC_BYTES = sizeof MU_RECORD_MAGIC - 1 };

/* What the length at the front of a record counts, at least (a type) and at most. */
enum { LENGTH_MIN = 1, LENGTH_MAX = MU_RECORD_MAX - 3 };

static struct mu_record_result ok(void)
{
    return (struct mu_record_result){.error = MU_RECORD_OK};
}

static struct mu_record_result bad(enum mu_record_error error, uint64_t value, uint64_t bound)
{
    return (struct mu_record_result){.error = error, .value = value, .bound = bound};
}

static struct mu_record_result from_wire(enum mu_record_error error, struct mu_wire_result wire)
{
    if (wire.error == MU_WIRE_OK)
        return ok();
    return (struct mu_record_result){.error = error, .wire = wire};
}

/* Takes back what did not fit as a whole. */
static struct mu_record_result settle(struct mu_writer *writer, size_t before)
{
    if (!writer->full)
        return ok();
    writer->used = before;
    return bad(MU_RECORD_NO_ROOM, writer->capacity - before, 0);
}

/* ---- header ---- */

_Static_assert(
    sizeof(void *) != 8 || sizeof(struct mu_config) == 64,
    "struct mu_config has changed: give the new field a place in the header, here and in "
    "docs/record.md, under a new version");

static void write_config(struct mu_writer *writer, const struct mu_config *config)
{
    mu_write_u32(writer, config->size);
    mu_write_u32(writer, config->slots);
    mu_write_u32(writer, config->self);
    mu_write_u32(writer, config->incarnation);
    mu_write_u64(writer, config->redundant_wait_ns);
    mu_write_u64(writer, config->ack_delay_ns);
    mu_write_u64(writer, config->retain_ns);
    mu_write_u32(writer, config->limits.links);
    mu_write_u32(writer, config->limits.dead);
    mu_write_u32(writer, config->limits.seen);
    mu_write_u16(writer, config->limits.notices);
    mu_write_u16(writer, config->limits.payload_bytes);
    mu_write_u16(writer, config->limits.window);
    mu_write_u32(writer, config->broken_rules);
}

static void read_config(struct mu_reader *reader, struct mu_config *config)
{
    memset(config, 0, sizeof *config);
    config->size = mu_read_u32(reader);
    config->slots = mu_read_u32(reader);
    config->self = mu_read_u32(reader);
    config->incarnation = mu_read_u32(reader);
    config->redundant_wait_ns = mu_read_u64(reader);
    config->ack_delay_ns = mu_read_u64(reader);
    config->retain_ns = mu_read_u64(reader);
    config->limits.links = mu_read_u32(reader);
    config->limits.dead = mu_read_u32(reader);
    config->limits.seen = mu_read_u32(reader);
    config->limits.notices = mu_read_u16(reader);
    config->limits.payload_bytes = mu_read_u16(reader);
    config->limits.window = mu_read_u16(reader);
    config->broken_rules = mu_read_u32(reader);
}

static struct mu_record_result check_config(const struct mu_config *config)
{
    const char *rule = mu_config_error(config);
    if (rule == NULL)
        return ok();
    return (struct mu_record_result){.error = MU_RECORD_CONFIG, .rule = rule};
}

struct mu_record_result mu_record_encode_header(struct mu_writer *writer,
                                                const struct mu_config *config)
{
    struct mu_record_result result = check_config(config);
    if (result.error != MU_RECORD_OK)
        return result;
    size_t before = writer->used;
    mu_write_bytes(writer, MU_RECORD_MAGIC, MAGIC_BYTES);
    mu_write_u8(writer, MU_RECORD_VERSION);
    mu_write_u8(writer, MU_RECORD_NODE);
    write_config(writer, config);
    return settle(writer, before);
}

struct mu_record_result mu_record_decode_header(const uint8_t *bytes, size_t available,
                                                struct mu_config *config)
{
    struct mu_reader reader;
    mu_reader_init(&reader, bytes, available);
    const uint8_t *magic = mu_read_bytes(&reader, MAGIC_BYTES);
    if (magic != NULL && memcmp(magic, MU_RECORD_MAGIC, MAGIC_BYTES) != 0)
        return bad(MU_RECORD_BAD_MAGIC, 0, 0);
    uint8_t version = mu_read_u8(&reader);
    if (!reader.bad && version > MU_RECORD_VERSION)
        return bad(MU_RECORD_VERSION_NEWER, version, MU_RECORD_VERSION);
    if (!reader.bad && version < MU_RECORD_VERSION)
        return bad(MU_RECORD_VERSION_OLDER, version, MU_RECORD_VERSION);
    uint8_t door = mu_read_u8(&reader);
    if (!reader.bad && door != MU_RECORD_NODE)
        return bad(MU_RECORD_OTHER_DOOR, door, MU_RECORD_NODE);
    read_config(&reader, config);
    if (reader.bad)
        return bad(MU_RECORD_TRUNCATED, available, MU_RECORD_HEADER_BYTES);
    return check_config(config);
}

/* ---- rules: the same for what comes in and what goes out ---- */

static struct mu_record_result check_slot(uint64_t slot)
{
    return slot < MU_SIZE_MAX ? ok() : bad(MU_RECORD_SLOT, slot, MU_SIZE_MAX);
}

/* May this event come next? */
static struct mu_record_result check_order(const struct mu_record_state *state,
                                           const struct mu_event *event)
{
    enum mu_event_type type = event->type;
    uint64_t now_ns = event->now_ns;
    if (state->ended)
        return bad(MU_RECORD_AFTER_END, 0, 0);
    if (!state->started && type != MU_EVENT_START && type != MU_EVENT_MEMBER)
        return bad(MU_RECORD_NOT_STARTED, type, MU_EVENT_START);
    if (state->started && type == MU_EVENT_START)
        return bad(MU_RECORD_STARTED_TWICE, state->events, 0);
    if (state->started && type == MU_EVENT_MEMBER && !event->member.entry.in)
        return bad(MU_RECORD_MEMBER_OUT, event->member.entry.slot, 0);
    if (now_ns < state->now_ns)
        return bad(MU_RECORD_TIME_BACKWARDS, now_ns, state->now_ns);
    if (now_ns > MU_NEVER / 2) /* a deadline, that plus a wait, must not wrap */
        return bad(MU_RECORD_TIME_OVERFLOW, now_ns - state->now_ns, state->now_ns);
    return ok();
}

static struct mu_record_result check_incarnation(uint64_t incarnation)
{
    return incarnation <= UINT32_MAX ? ok() : bad(MU_RECORD_INCARNATION, incarnation, UINT32_MAX);
}

static struct mu_record_result check_forget(const struct mu_event *event)
{
    if (event->forget.kind < MU_NOTICE_NODE_DEAD || event->forget.kind > MU_NOTICE_PAYLOAD)
        return bad(MU_RECORD_FORGET_KIND, event->forget.kind, MU_NOTICE_PAYLOAD);
    if (event->forget.kind != MU_NOTICE_NODE_DEAD)
        return ok();
    struct mu_record_result result = check_slot(event->forget.slot);
    return result.error == MU_RECORD_OK ? check_incarnation(event->forget.stream) : result;
}

static struct mu_record_result check_member(const struct mu_roster_entry *entry)
{
    struct mu_record_result result = check_slot(entry->slot);
    if (result.error != MU_RECORD_OK)
        return result;
    if (entry->incarnation == 0)
        return bad(MU_RECORD_MEMBER_NONE, entry->slot, 0);
    return entry->in && entry->proven ? bad(MU_RECORD_MEMBER_FLAGS, 3, 2) : ok();
}

static struct mu_record_result check_content(const struct mu_event *event)
{
    switch (event->type) {
    case MU_EVENT_START:
    case MU_EVENT_POST:
        return ok();
    case MU_EVENT_TIMEOUT:
        if ((uint64_t)event->timeout.timer >= MU_TIMERS)
            return bad(MU_RECORD_TIMER, (uint64_t)event->timeout.timer, MU_TIMERS);
        return ok();
    case MU_EVENT_RECV:
        return check_slot(event->recv.from);
    case MU_EVENT_LINK_UP:
        return check_slot(event->link_up.peer);
    case MU_EVENT_LINK_DOWN:
        return check_slot(event->link_down.peer);
    case MU_EVENT_VERDICT:
        return from_wire(MU_RECORD_NOTICE, mu_wire_check_notice(event->verdict.notice));
    case MU_EVENT_FORGET:
        return check_forget(event);
    case MU_EVENT_MEMBER:
        return check_member(&event->member.entry);
    }
    return bad(MU_RECORD_TYPE, (uint64_t)event->type, 0);
}

/* ---- events out ---- */

static struct mu_record_result write_recv(struct mu_writer *writer, const struct mu_event *event)
{
    mu_write_varint(writer, event->recv.from);
    mu_write_varint(writer, event->recv.incarnation);
    mu_write_varint(writer, event->recv.transit_ns);
    struct mu_wire_result wire = mu_wire_encode_frame(writer, event->recv.frame);
    if (wire.error == MU_WIRE_NO_ROOM)
        return ok(); /* the writer remembers */
    return from_wire(MU_RECORD_FRAME, wire);
}

/* All that the length counts. */
static struct mu_record_result write_counted(struct mu_writer *writer, const struct mu_event *event,
                                             uint64_t delta_ns)
{
    mu_write_u8(writer, (uint8_t)event->type);
    mu_write_varint(writer, delta_ns);
    switch (event->type) {
    case MU_EVENT_START:
        mu_write_u8(writer, event->start.links_up);
        return ok();
    case MU_EVENT_TIMEOUT:
        mu_write_u8(writer, (uint8_t)event->timeout.timer);
        return ok();
    case MU_EVENT_RECV:
        return write_recv(writer, event);
    case MU_EVENT_LINK_UP:
        mu_write_varint(writer, event->link_up.peer);
        mu_write_varint(writer, event->link_up.incarnation);
        mu_write_varint(writer, event->link_up.peer_has);
        return ok();
    case MU_EVENT_LINK_DOWN:
        mu_write_varint(writer, event->link_down.peer);
        return ok();
    case MU_EVENT_VERDICT:
        mu_wire_write_notice(writer, event->verdict.notice);
        return ok();
    case MU_EVENT_POST:
        mu_write_bytes(writer, event->post.payload, event->post.length);
        return ok();
    case MU_EVENT_FORGET:
        mu_write_u8(writer, event->forget.kind);
        mu_write_u64(writer, event->forget.stream);
        if (event->forget.kind == MU_NOTICE_NODE_DEAD)
            mu_write_varint(writer, event->forget.slot);
        return ok();
    case MU_EVENT_MEMBER:
        mu_write_varint(writer, event->member.entry.slot);
        mu_write_varint(writer, event->member.entry.incarnation);
        mu_write_u8(writer, (uint8_t)(event->member.entry.in | event->member.entry.proven << 1));
        return ok();
    }
    abort();
}

static void take(struct mu_record_state *state, const struct mu_event *event)
{
    state->now_ns = event->now_ns;
    state->events++;
    state->started = state->started || event->type == MU_EVENT_START;
}

struct mu_record_result mu_record_encode_event(struct mu_record_state *state,
                                               struct mu_writer *writer,
                                               const struct mu_event *event)
{
    struct mu_record_result result = check_content(event);
    if (result.error == MU_RECORD_OK)
        result = check_order(state, event);
    if (result.error != MU_RECORD_OK)
        return result;
    uint64_t delta_ns = event->now_ns - state->now_ns;
    struct mu_writer counter;
    mu_writer_init(&counter, NULL, SIZE_MAX);
    result = write_counted(&counter, event, delta_ns);
    if (result.error != MU_RECORD_OK)
        return result;

    size_t before = writer->used;
    mu_write_varint(writer, counter.used);
    write_counted(writer, event, delta_ns);
    result = settle(writer, before);
    if (result.error == MU_RECORD_OK) {
        take(state, event);
    }
    return result;
}

static void write_end(struct mu_writer *writer, const struct mu_record_end *end)
{
    mu_write_u8(writer, MU_RECORD_END);
    mu_write_u64(writer, end->events);
    mu_write_u64(writer, end->digest.a);
    mu_write_u64(writer, end->digest.b);
}

struct mu_record_result mu_record_encode_end(struct mu_record_state *state,
                                             struct mu_writer *writer,
                                             const struct mu_fingerprint *digest)
{
    if (state->ended)
        return bad(MU_RECORD_AFTER_END, 0, 0);
    struct mu_record_end end = {.events = state->events, .digest = *digest};
    struct mu_writer counter;
    mu_writer_init(&counter, NULL, SIZE_MAX);
    write_end(&counter, &end);

    size_t before = writer->used;
    mu_write_varint(writer, counter.used);
    write_end(writer, &end);
    struct mu_record_result result = settle(writer, before);
    state->ended = result.error == MU_RECORD_OK;
    return result;
}

/* ---- records in ---- */

static struct mu_record_result read_start(struct mu_reader *reader, struct mu_event *event)
{
    uint8_t links_up = mu_read_u8(reader);
    event->start.links_up = links_up != 0;
    return links_up <= 1 ? ok() : bad(MU_RECORD_LINKS_UP, links_up, 1);
}

static struct mu_record_result read_slot(struct mu_reader *reader, mu_slot *slot)
{
    uint64_t value = mu_read_varint(reader);
    *slot = (mu_slot)value;
    return check_slot(value);
}

static struct mu_record_result read_incarnation(struct mu_reader *reader, uint32_t *incarnation)
{
    uint64_t value = mu_read_varint(reader);
    *incarnation = (uint32_t)value;
    return check_incarnation(value);
}

/* A slot, and an incarnation of who is there. */
static struct mu_record_result read_who(struct mu_reader *reader, mu_slot *slot,
                                        uint32_t *incarnation)
{
    struct mu_record_result first = read_slot(reader, slot);
    struct mu_record_result second = read_incarnation(reader, incarnation);
    return first.error != MU_RECORD_OK ? first : second;
}

static struct mu_record_result read_recv(struct mu_reader *reader, struct mu_record *record)
{
    struct mu_event *event = &record->event;
    struct mu_record_result result = read_who(reader, &event->recv.from, &event->recv.incarnation);
    event->recv.transit_ns = mu_read_varint(reader);
    if (result.error != MU_RECORD_OK || reader->bad)
        return result;
    size_t left = mu_reader_left(reader);
    struct mu_message message;
    result = from_wire(MU_RECORD_FRAME, mu_wire_decode(reader->at, left, &message));
    if (result.error != MU_RECORD_OK)
        return result;
    if (!mu_wire_is_frame(message.type))
        return bad(MU_RECORD_FRAME_TYPE, message.type, 0);
    mu_read_bytes(reader, left);
    record->frame = message.frame;
    event->recv.frame = &record->frame;
    return ok();
}

static struct mu_record_result read_link_up(struct mu_reader *reader, struct mu_event *event)
{
    struct mu_record_result result =
        read_who(reader, &event->link_up.peer, &event->link_up.incarnation);
    event->link_up.peer_has = mu_read_varint(reader);
    return result;
}

static struct mu_record_result read_forget(struct mu_reader *reader, struct mu_event *event)
{
    event->forget.kind = mu_read_u8(reader);
    event->forget.stream = mu_read_u64(reader);
    if (event->forget.kind != MU_NOTICE_NODE_DEAD)
        return ok();
    return read_slot(reader, &event->forget.slot);
}

static struct mu_record_result read_member(struct mu_reader *reader, struct mu_event *event)
{
    struct mu_roster_entry *entry = &event->member.entry;
    struct mu_record_result result = read_who(reader, &entry->slot, &entry->incarnation);
    uint8_t flags = mu_read_u8(reader);
    entry->in = (flags & 1) != 0;
    entry->proven = (flags & 2) != 0;
    if (result.error == MU_RECORD_OK && flags > 2)
        return bad(MU_RECORD_MEMBER_FLAGS, flags, 2);
    return result;
}

static struct mu_record_result read_verdict(struct mu_reader *reader, struct mu_record *record)
{
    record->event.verdict.notice = &record->notice;
    struct mu_wire_result wire = mu_wire_read_notice(reader, &record->notice);
    return from_wire(MU_RECORD_NOTICE, wire);
}

static struct mu_record_result read_post(struct mu_reader *reader, struct mu_event *event)
{
    size_t left = mu_reader_left(reader);
    if (left > UINT16_MAX)
        return bad(MU_RECORD_POST_LENGTH, left, UINT16_MAX);
    event->post.length = (uint16_t)left;
    event->post.payload = mu_read_bytes(reader, left);
    return ok();
}

static struct mu_record_result read_content(struct mu_reader *reader, struct mu_record *record)
{
    struct mu_event *event = &record->event;
    switch (event->type) {
    case MU_EVENT_START:
        return read_start(reader, event);
    case MU_EVENT_TIMEOUT:
        event->timeout.timer = (enum mu_timer)mu_read_u8(reader);
        return ok();
    case MU_EVENT_RECV:
        return read_recv(reader, record);
    case MU_EVENT_LINK_UP:
        return read_link_up(reader, event);
    case MU_EVENT_LINK_DOWN:
        return read_slot(reader, &event->link_down.peer);
    case MU_EVENT_VERDICT:
        return read_verdict(reader, record);
    case MU_EVENT_POST:
        return read_post(reader, event);
    case MU_EVENT_FORGET:
        return read_forget(reader, event);
    case MU_EVENT_MEMBER:
        return read_member(reader, event);
    }
    return bad(MU_RECORD_TYPE, (uint64_t)event->type, 0);
}

/* After the last field: was each of them there and spelled well, and is nothing else? */
static struct mu_record_result check_read(const struct mu_reader *reader,
                                          struct mu_record_result result)
{
    if (reader->bad)
        return bad(reader->ended ? MU_RECORD_SHORT : MU_RECORD_VARINT, 0, 0);
    if (result.error != MU_RECORD_OK)
        return result;
    if (mu_reader_left(reader) > 0)
        return bad(MU_RECORD_TRAILING, mu_reader_left(reader), 0);
    return ok();
}

static struct mu_record_result read_end(const struct mu_record_state *state,
                                        struct mu_reader *reader, struct mu_record *record)
{
    record->is_end = true;
    record->end.events = mu_read_u64(reader);
    record->end.digest.a = mu_read_u64(reader);
    record->end.digest.b = mu_read_u64(reader);
    struct mu_record_result result = check_read(reader, ok());
    if (result.error == MU_RECORD_OK && record->end.events != state->events)
        result = bad(MU_RECORD_COUNT, record->end.events, state->events);
    return result;
}

static struct mu_record_result read_event(const struct mu_record_state *state,
                                          struct mu_reader *reader, struct mu_record *record)
{
    struct mu_event *event = &record->event;
    uint64_t delta_ns = mu_read_varint(reader);
    if (!reader->bad && delta_ns >= MU_NEVER - state->now_ns)
        return bad(MU_RECORD_TIME_OVERFLOW, delta_ns, state->now_ns);
    event->now_ns = state->now_ns + delta_ns;
    struct mu_record_result result = check_read(reader, read_content(reader, record));
    if (result.error == MU_RECORD_OK)
        result = check_content(event);
    if (result.error == MU_RECORD_OK)
        result = check_order(state, event);
    return result;
}

/* The bytes of one record, without the length, in *content. */
static struct mu_record_result read_envelope(struct mu_reader *reader, size_t available,
                                             struct mu_reader *content)
{
    uint64_t length = mu_read_varint(reader);
    if (reader->bad && !reader->ended)
        return bad(MU_RECORD_VARINT, 0, 0);
    if (reader->bad)
        return bad(MU_RECORD_TRUNCATED, available, available + 1);
    if (length < LENGTH_MIN || length > LENGTH_MAX)
        return bad(MU_RECORD_LENGTH, length, LENGTH_MAX);
    size_t left = mu_reader_left(reader);
    const uint8_t *bytes = mu_read_bytes(reader, length);
    if (bytes == NULL)
        return bad(MU_RECORD_TRUNCATED, available, available - left + length);
    mu_reader_init(content, bytes, length);
    return ok();
}

struct mu_record_result mu_record_decode(struct mu_record_state *state, const uint8_t *bytes,
                                         size_t available, struct mu_record *record, size_t *used)
{
    if (state->ended)
        return bad(MU_RECORD_AFTER_END, available, 0);
    struct mu_reader reader, content;
    mu_reader_init(&reader, bytes, available);
    struct mu_record_result result = read_envelope(&reader, available, &content);
    if (result.error != MU_RECORD_OK)
        return result;
    memset(record, 0, sizeof *record);
    uint8_t type = mu_read_u8(&content);
    record->event.type = (enum mu_event_type)type;
    result = type == MU_RECORD_END ? read_end(state, &content, record)
                                   : read_event(state, &content, record);
    if (result.error != MU_RECORD_OK)
        return result;
    *used = available - mu_reader_left(&reader);
    state->ended = record->is_end;
    if (!record->is_end)
        take(state, &record->event);
    return ok();
}

/* ---- sentences ---- */

/* printf takes the value and then the bound; a sentence may use none of them, or the value only. */
static const char *sentence(enum mu_record_error error)
{
#define N "%" PRIu64
    switch (error) {
    case MU_RECORD_OK:
        return "the recording is good";
    case MU_RECORD_TRUNCATED:
        return "the recording ends after " N " bytes of a part that needs at least " N;
    case MU_RECORD_BAD_MAGIC:
        return "this is not a recording: it does not begin with " MU_RECORD_MAGIC;
    case MU_RECORD_VERSION_NEWER:
        return "recording version " N " is newer than " N ", the newest this program reads";
    case MU_RECORD_VERSION_OLDER:
        return "recording version " N " is older than " N ", the oldest this program reads";
    case MU_RECORD_OTHER_DOOR:
        return "a stream of door " N ", which is not " N ", the node's";
    case MU_RECORD_LENGTH:
        return "record length " N " is not between 1 and " N;
    case MU_RECORD_TYPE:
        return "record type " N " is neither an event, 1 (START) to 9 (MEMBER), nor 255 (END)";
    case MU_RECORD_SHORT:
        return "the record ends before the last field of its type";
    case MU_RECORD_TRAILING:
        return "bytes after the last field of a record: " N;
    case MU_RECORD_VARINT:
        return "a number is not in its shortest form, or over 64 bits";
    case MU_RECORD_TIME_BACKWARDS:
        return "time " N " ns runs backwards: the event before was at " N " ns";
    case MU_RECORD_TIME_OVERFLOW:
        return "time overflows: " N " ns after an event at " N " ns";
    case MU_RECORD_NOT_STARTED:
        return "the first event has type " N "; it must be " N " (START)";
    case MU_RECORD_STARTED_TWICE:
        return "a second START after " N " events";
    case MU_RECORD_LINKS_UP:
        return "links_up " N " in a START is neither 0 nor " N;
    case MU_RECORD_TIMER:
        return "timer " N " is not below " N;
    case MU_RECORD_SLOT:
        return "slot " N " is not below " N ", the size of the largest machine";
    case MU_RECORD_INCARNATION:
        return "incarnation " N " is above " N;
    case MU_RECORD_FORGET_KIND:
        return "a stream of kind " N " cannot be forgotten: only of 1 to " N;
    case MU_RECORD_MEMBER_NONE:
        return "the member at slot " N " has no incarnation";
    case MU_RECORD_MEMBER_FLAGS:
        return "what is said of a member, " N ", is above " N ": out, in, or out with proof";
    case MU_RECORD_MEMBER_OUT:
        return "after START a member, at slot " N ", can only be in";
    case MU_RECORD_POST_LENGTH:
        return "posted payload of " N " bytes is longer than " N;
    case MU_RECORD_FRAME_TYPE:
        return "a received frame has type " N "; 3 (HELLO) to 5 (BYE) do not enter the core";
    case MU_RECORD_COUNT:
        return "END counts " N " events, but there are " N;
    case MU_RECORD_AFTER_END:
        return "something follows END, the last record";
    case MU_RECORD_NO_ROOM:
        return "the record does not fit the " N " bytes that are left in the buffer";
    case MU_RECORD_CONFIG:
    case MU_RECORD_FRAME:
    case MU_RECORD_NOTICE:
        break; /* told in the words of others */
    }
#undef N
    abort();
}

const char *mu_record_text(struct mu_record_result result, char *text, size_t room)
{
    char inner[MU_WIRE_TEXT_MAX];
    switch (result.error) {
    case MU_RECORD_CONFIG:
        snprintf(text, room, "the recorded configuration cannot be: %s", result.rule);
        return text;
    case MU_RECORD_FRAME:
        mu_wire_text(result.wire, inner, sizeof inner);
        snprintf(text, room, "a received frame cannot be: %s", inner);
        return text;
    case MU_RECORD_NOTICE:
        mu_wire_text(result.wire, inner, sizeof inner);
        snprintf(text, room, "a verdict cannot be: %s", inner);
        return text;
    default:
        break;
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* every one stands just above */
#pragma GCC diagnostic ignored "-Wformat-extra-args"
    snprintf(text, room, sentence(result.error), result.value, result.bound);
#pragma GCC diagnostic pop
    return text;
}
