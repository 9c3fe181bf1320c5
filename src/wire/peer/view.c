#include "wire/peer/view.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LOST_COUNTS = 1, LOST_CLEAN = 2, LOST_PROVEN = 4, LOST_BITS = 3 };
enum { LENGTH_BYTES = 4, TYPE_AT = 5, FRAME_FIXED = 6 };

/* ---- rules: the same for what comes in and what goes out ---- */

static const char *check_id(bool is_first, mu_slot before, mu_slot id)
{
    if (id >= MU_SIZE_MAX)
        return "an id is below 2^24";
    return is_first || id > before ? NULL : "ids are in order, none twice";
}

static const char *check_spans(const struct mu_view_whole *whole)
{
    uint64_t end = 0;
    if (whole->span_count == 0)
        return "a view has members";
    for (uint32_t i = 0; i < whole->span_count; i++) {
        const struct mu_span *span = &whole->spans[i];
        if (span->count == 0 || (i > 0 && span->first <= end))
            return "spans of members are in order, not empty, with gaps between them";
        end = (uint64_t)span->first + span->count;
        if (end > MU_SIZE_MAX)
            return "an id is below 2^24";
    }
    return NULL;
}

static const char *check_members(const struct mu_view_member *list, uint32_t count)
{
    const char *error = NULL;
    for (uint32_t i = 0; i < count && error == NULL; i++) {
        error = check_id(i == 0, i == 0 ? 0 : list[i - 1].id, list[i].id);
        if (list[i].incarnation == 0)
            error = "an incarnation is at least 1";
    }
    return error;
}

static const char *check_lost(const struct mu_view_whole *whole)
{
    const char *error = NULL;
    for (uint32_t i = 0; i < whole->lost_count && error == NULL; i++) {
        error = check_id(i == 0, i == 0 ? 0 : whole->lost[i - 1].id, whole->lost[i].id);
        if (whole->lost[i].incarnation == 0)
            error = "an incarnation is at least 1";
    }
    return error;
}

static const char *check_dead(const struct mu_view_whole *whole)
{
    const char *error = NULL;
    for (uint32_t i = 0; i < whole->dead_count && error == NULL; i++) {
        error = check_id(i == 0, i == 0 ? 0 : whole->dead[i - 1].slot, whole->dead[i].slot);
        if (whole->dead[i].incarnation == 0)
            error = "an incarnation is at least 1";
    }
    return error;
}

static const char *check_whole(const struct mu_view_whole *whole)
{
    const char *error = NULL;
    if (whole->span_count > MU_VIEW_LIST_MAX || whole->odd_count > MU_VIEW_LIST_MAX ||
        whole->lost_count > MU_VIEW_LIST_MAX || whole->joined_count > MU_VIEW_LIST_MAX ||
        whole->dead_count > MU_VIEW_LIST_MAX)
        return "a list of a WELCOME has at most 1024 entries";
    error = check_spans(whole);
    if (error == NULL)
        error = check_members(whole->odd, whole->odd_count);
    if (error == NULL)
        error = check_lost(whole);
    for (uint32_t i = 0; i < whole->joined_count && error == NULL; i++)
        error = check_id(i == 0, i == 0 ? 0 : whole->joined[i - 1], whole->joined[i]);
    return error != NULL ? error : check_dead(whole);
}

static const char *check_join(const struct mu_agree_entry *join)
{
    const struct mu_agree_value value = {.entries = join, .entry_count = 1};
    if (join->kind != MU_VIEW_KIND_JOIN)
        return "a JOIN has an entry of kind 1";
    if ((uint32_t)join->key == 0 || join->key >> 32 >= MU_SIZE_MAX)
        return "a JOIN names an id below 2^24 and an incarnation of at least 1";
    return mu_agree_value_check(&value, MU_SIZE_MAX);
}

const char *mu_view_message_error(const struct mu_view_message *message)
{
    if (message->type < MU_VIEW_AGREE || message->type > MU_VIEW_MESSAGE_LAST)
        return "the type is one of 1 (AGREE) to 5 (FENCE)";
    if (message->type == MU_VIEW_JOIN)
        return check_join(&message->join);
    if (message->mark.number == 0)
        return "views are numbered from 1";
    switch ((enum mu_view_message_type)message->type) {
    case MU_VIEW_AGREE:
        if (message->agree.dead_count > 0)
            return "an ASK about a view tells of deaths by id, and of none by position";
        if (message->whole.dead_count > MU_VIEW_LIST_MAX)
            return "an ASK about a view tells of at most 1024 deaths";
        if (check_dead(&message->whole) != NULL)
            return check_dead(&message->whole);
        return mu_agree_message_error(&message->agree);
    case MU_VIEW_WELCOME:
        return check_whole(&message->whole);
    case MU_VIEW_FENCE:
        return check_members(&message->fenced, 1);
    case MU_VIEW_SAY_AGAIN:
    case MU_VIEW_JOIN:
        break;
    }
    return NULL;
}

/* ---- out ---- */

static void write_ids(struct mu_writer *writer, const mu_slot *ids, uint32_t count)
{
    mu_slot next = 0;
    mu_write_varint(writer, count);
    for (uint32_t i = 0; i < count; i++) {
        mu_write_varint(writer, ids[i] - next);
        next = ids[i] + 1;
    }
}

static void write_spans(struct mu_writer *writer, const struct mu_view_whole *whole)
{
    mu_slot next = 0;
    mu_write_varint(writer, whole->span_count);
    for (uint32_t i = 0; i < whole->span_count; i++) {
        mu_write_varint(writer, whole->spans[i].first - next);
        mu_write_varint(writer, whole->spans[i].count);
        next = whole->spans[i].first + whole->spans[i].count;
    }
}

static void write_members(struct mu_writer *writer, const struct mu_view_member *list,
                          uint32_t count)
{
    mu_slot next = 0;
    mu_write_varint(writer, count);
    for (uint32_t i = 0; i < count; i++) {
        mu_write_varint(writer, list[i].id - next);
        mu_write_varint(writer, list[i].incarnation);
        next = list[i].id + 1;
    }
}

static void write_lost(struct mu_writer *writer, const struct mu_view_whole *whole)
{
    mu_slot next = 0;
    mu_write_varint(writer, whole->lost_count);
    for (uint32_t i = 0; i < whole->lost_count; i++) {
        const struct mu_view_lost *lost = &whole->lost[i];
        uint32_t flags = (lost->counts ? LOST_COUNTS : 0u) | (lost->clean ? LOST_CLEAN : 0u) |
                         (lost->proven ? LOST_PROVEN : 0u);
        mu_write_varint(writer, lost->id - next);
        mu_write_varint(writer, (uint64_t)lost->incarnation << LOST_BITS | flags);
        next = lost->id + 1;
    }
}

static void write_dead(struct mu_writer *writer, const struct mu_view_whole *whole)
{
    mu_slot next = 0;
    mu_write_varint(writer, whole->dead_count);
    for (uint32_t i = 0; i < whole->dead_count; i++) {
        const struct mu_roster_entry *dead = &whole->dead[i];
        mu_write_varint(writer, dead->slot - next);
        mu_write_varint(writer, (uint64_t)dead->incarnation << 1 | (dead->proven ? 1u : 0u));
        next = dead->slot + 1;
    }
}

static void write_whole(struct mu_writer *writer, const struct mu_view_whole *whole)
{
    mu_write_u64(writer, whole->before);
    write_spans(writer, whole);
    write_members(writer, whole->odd, whole->odd_count);
    write_lost(writer, whole);
    write_ids(writer, whole->joined, whole->joined_count);
    write_dead(writer, whole);
}

static void write_mark(struct mu_writer *writer, const struct mu_view_mark *mark)
{
    mu_write_u64(writer, mark->number);
    mu_write_u64(writer, mark->hash);
    mu_write_u8(writer, mark->provisional ? 1 : 0);
}

void mu_view_encode(struct mu_writer *writer, const struct mu_view_message *message)
{
    assert(mu_view_message_error(message) == NULL);
    mu_write_u8(writer, MU_VIEW_VERSION);
    mu_write_u8(writer, message->type);
    if (message->type != MU_VIEW_JOIN)
        write_mark(writer, &message->mark);
    switch ((enum mu_view_message_type)message->type) {
    case MU_VIEW_AGREE:
        write_dead(writer, &message->whole);
        mu_agree_encode(writer, &message->agree);
        return;
    case MU_VIEW_SAY_AGAIN:
        return;
    case MU_VIEW_JOIN:
        mu_agree_write_entry(writer, &message->join);
        return;
    case MU_VIEW_WELCOME:
        write_whole(writer, &message->whole);
        return;
    case MU_VIEW_FENCE:
        mu_write_u32(writer, message->fenced.id);
        mu_write_u32(writer, message->fenced.incarnation);
        return;
    }
    abort();
}

/* ---- in ---- */

/* How many entries a list has; 0 when it says more than there is room for. */
static uint32_t read_count(struct mu_reader *reader)
{
    uint64_t count = mu_read_varint(reader);
    if (count > MU_VIEW_LIST_MAX)
        reader->bad = true;
    return reader->bad ? 0 : (uint32_t)count;
}

/* The id that is so far behind the one before; anything too large stays too large for a rule. */
static mu_slot read_id(struct mu_reader *reader, mu_slot *next)
{
    uint64_t gap = mu_read_varint(reader);
    mu_slot id = gap > MU_SIZE_MAX || *next > MU_SIZE_MAX ? MU_SIZE_MAX : *next + (mu_slot)gap;
    *next = id + 1;
    return id;
}

static uint32_t read_number(struct mu_reader *reader)
{
    uint64_t number = mu_read_varint(reader);
    if (number > UINT32_MAX)
        reader->bad = true;
    return reader->bad ? 0 : (uint32_t)number;
}

/* An incarnation above so many bits of flags. */
static uint64_t read_packed(struct mu_reader *reader, uint32_t bits)
{
    uint64_t packed = mu_read_varint(reader);
    if (packed >> bits > UINT32_MAX)
        reader->bad = true;
    return reader->bad ? 0 : packed;
}

static void read_spans(struct mu_reader *reader, struct mu_view_room *room,
                       struct mu_view_whole *whole)
{
    mu_slot next = 0;
    whole->spans = room->spans;
    whole->span_count = read_count(reader);
    for (uint32_t i = 0; i < whole->span_count && !reader->bad; i++) {
        room->spans[i].first = read_id(reader, &next);
        uint32_t count = read_number(reader);
        room->spans[i].count = count;
        next = count > MU_SIZE_MAX ? MU_SIZE_MAX : room->spans[i].first + count;
    }
}

static uint32_t read_members(struct mu_reader *reader, struct mu_view_member *list)
{
    mu_slot next = 0;
    uint32_t count = read_count(reader);
    for (uint32_t i = 0; i < count && !reader->bad; i++) {
        list[i].id = read_id(reader, &next);
        list[i].incarnation = read_number(reader);
    }
    return count;
}

static void read_lost(struct mu_reader *reader, struct mu_view_room *room,
                      struct mu_view_whole *whole)
{
    mu_slot next = 0;
    whole->lost = room->lost;
    whole->lost_count = read_count(reader);
    for (uint32_t i = 0; i < whole->lost_count && !reader->bad; i++) {
        mu_slot id = read_id(reader, &next);
        uint64_t packed = read_packed(reader, LOST_BITS);
        room->lost[i] = (struct mu_view_lost){.id = id,
                                              .incarnation = (uint32_t)(packed >> LOST_BITS),
                                              .proven = (packed & LOST_PROVEN) != 0,
                                              .counts = (packed & LOST_COUNTS) != 0,
                                              .clean = (packed & LOST_CLEAN) != 0};
    }
}

static void read_dead(struct mu_reader *reader, struct mu_view_room *room,
                      struct mu_view_whole *whole)
{
    mu_slot next = 0;
    whole->dead = room->out;
    whole->dead_count = read_count(reader);
    for (uint32_t i = 0; i < whole->dead_count && !reader->bad; i++) {
        mu_slot id = read_id(reader, &next);
        uint64_t packed = read_packed(reader, 1);
        room->out[i] = (struct mu_roster_entry){
            .slot = id, .incarnation = (uint32_t)(packed >> 1), .proven = (packed & 1) != 0};
    }
}

static void read_whole(struct mu_reader *reader, struct mu_view_room *room,
                       struct mu_view_whole *whole)
{
    mu_slot next = 0;
    whole->before = mu_read_u64(reader);
    read_spans(reader, room, whole);
    whole->odd = room->odd;
    whole->odd_count = read_members(reader, room->odd);
    read_lost(reader, room, whole);
    whole->joined = room->joined;
    whole->joined_count = read_count(reader);
    for (uint32_t i = 0; i < whole->joined_count && !reader->bad; i++)
        room->joined[i] = read_id(reader, &next);
    read_dead(reader, room, whole);
}

/* A flag has one spelling. */
static void read_mark(struct mu_reader *reader, struct mu_view_mark *mark)
{
    mark->number = mu_read_u64(reader);
    mark->hash = mu_read_u64(reader);
    uint8_t flag = mu_read_u8(reader);
    mark->provisional = flag == 1;
    if (flag > 1)
        reader->bad = true;
}

static const char *read_agree(struct mu_reader *reader, struct mu_view_room *room,
                              struct mu_agree_message *agree)
{
    const struct mu_agree_room lists = {.failed = room->failed,
                                        .failed_capacity = MU_AGREE_FAILED_MAX,
                                        .dead = room->dead,
                                        .dead_capacity = MU_AGREE_FAILED_MAX,
                                        .entries = room->entries,
                                        .entry_capacity = MU_AGREE_ENTRIES_MAX};
    size_t left = mu_reader_left(reader);
    const uint8_t *bytes = mu_read_bytes(reader, left);
    if (bytes == NULL || left == 0)
        return "a message of a view ends inside a field";
    return mu_agree_decode(bytes, left, &lists, agree);
}

static const char *read_body(struct mu_reader *reader, struct mu_view_room *room,
                             struct mu_view_message *message)
{
    switch (message->type) {
    case MU_VIEW_AGREE:
        read_dead(reader, room, &message->whole);
        return read_agree(reader, room, &message->agree);
    case MU_VIEW_SAY_AGAIN:
        return NULL;
    case MU_VIEW_JOIN:
        mu_agree_read_entry(reader, &message->join);
        return NULL;
    case MU_VIEW_WELCOME:
        read_whole(reader, room, &message->whole);
        return NULL;
    case MU_VIEW_FENCE:
        message->fenced.id = mu_read_u32(reader);
        message->fenced.incarnation = mu_read_u32(reader);
        return NULL;
    }
    return "the type is one of 1 (AGREE) to 5 (FENCE)";
}

const char *mu_view_decode(const uint8_t *bytes, size_t count, struct mu_view_room *room,
                           struct mu_view_message *message)
{
    struct mu_reader reader;
    mu_reader_init(&reader, bytes, count);
    memset(message, 0, sizeof *message);
    uint8_t version = mu_read_u8(&reader);
    message->type = mu_read_u8(&reader);
    if (message->type != MU_VIEW_JOIN)
        read_mark(&reader, &message->mark);
    if (reader.bad)
        return "a message of a view ends inside a field";
    if (version != MU_VIEW_VERSION)
        return "the version of a message of a view is 1";
    const char *error = read_body(&reader, room, message);
    if (error != NULL)
        return error;
    if (reader.bad)
        return "a message of a view ends inside a field, or a number is too large";
    if (mu_reader_left(&reader) > 0)
        return "something follows the last field";
    return mu_view_message_error(message);
}

/* ---- frames ---- */

bool mu_view_frame_is(const uint8_t *bytes, size_t count)
{
    return count > TYPE_AT && bytes[TYPE_AT] == MU_VIEW_FRAME;
}

size_t mu_view_frame_encode(const struct mu_view_message *message, uint8_t bytes[MU_WIRE_FRAME_MAX])
{
    struct mu_writer writer, length;
    mu_writer_init(&writer, bytes, MU_WIRE_FRAME_MAX);
    mu_write_u32(&writer, 0); /* the length, when it is known */
    mu_write_u8(&writer, MU_WIRE_VERSION);
    mu_write_u8(&writer, MU_VIEW_FRAME);
    mu_view_encode(&writer, message);
    assert(!writer.full);
    mu_writer_init(&length, bytes, LENGTH_BYTES);
    mu_write_u32(&length, (uint32_t)(writer.used - LENGTH_BYTES));
    return writer.used;
}

const char *mu_view_frame_decode(const uint8_t *bytes, size_t count,
                                 struct mu_view_message *message, struct mu_view_room *room)
{
    struct mu_reader reader;
    mu_reader_init(&reader, bytes, count);
    if (mu_read_u32(&reader) + (uint64_t)LENGTH_BYTES != count)
        return "the length of a frame is that of the bytes that follow";
    if (mu_read_u8(&reader) != MU_WIRE_VERSION || mu_read_u8(&reader) != MU_VIEW_FRAME)
        return "not a frame of a view, or of another version";
    return mu_view_decode(bytes + FRAME_FIXED, count - FRAME_FIXED, room, message);
}
