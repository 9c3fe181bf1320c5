#include "wire/peer/agree.h"

#include <assert.h>
#include <string.h>

enum { FLAG_ACKED = 1, FLAG_NODE = 2, FLAG_PROVEN = 4 }; /* of one that failed */

enum { /* of a value */
       FLAG_MORE = 1,
       FLAG_SILENT = 2,
       FLAG_ENTRIES = 4,
       FLAG_ENTRIES_MORE = 8,
       FLAGS_ALL = 15,
};

/* ---- rules: the same for what comes in and what goes out ---- */

static const char *check_dead(const struct mu_agree_message *message)
{
    if (message->dead_count > MU_AGREE_DEAD_MAX)
        return "an ASK tells of at most 32768 deaths";
    for (uint32_t i = 0; i < message->dead_count; i++) {
        if (message->dead[i].slot >= MU_SIZE_MAX)
            return "a dead node's slot is below 2^24";
        if (message->dead[i].incarnation == 0)
            return "a dead node has an incarnation, from 1";
        if (i > 0 && message->dead[i].slot <= message->dead[i - 1].slot)
            return "the dead are in order, none twice";
    }
    return NULL;
}

const char *mu_agree_message_error(const struct mu_agree_message *message)
{
    if (message->type < MU_AGREE_UP || message->type > MU_AGREE_MESSAGE_LAST)
        return "the type is one of 1 (UP) to 3 (ASK)";
    if (message->round == 0)
        return "agreements are numbered from 1";
    if (message->type == MU_AGREE_ASK) {
        if (message->value.bits != 0 || message->value.failed_count > 0 || message->value.more ||
            message->value.silent || message->value.entry_count > 0 || message->value.entries_more)
            return "an ASK has no value";
        return check_dead(message);
    }
    if (message->dead_count > 0)
        return "only an ASK tells of deaths";
    if (message->value.failed_count > MU_AGREE_FAILED_MAX)
        return "a value lists at most 4096 that failed";
    if (message->value.entry_count > MU_AGREE_ENTRIES_MAX)
        return "a value has at most 256 entries";
    return mu_agree_value_check(&message->value, MU_SIZE_MAX);
}

/* ---- out ---- */

void mu_agree_write_entry(struct mu_writer *writer, const struct mu_agree_entry *entry)
{
    mu_write_u8(writer, entry->kind);
    mu_write_u64(writer, entry->key);
    mu_write_u8(writer, entry->length);
    mu_write_bytes(writer, entry->bytes, entry->length);
}

static void write_entries(struct mu_writer *writer, const struct mu_agree_value *value)
{
    if (value->entry_count == 0)
        return;
    mu_write_varint(writer, value->entry_count);
    for (uint32_t i = 0; i < value->entry_count; i++)
        mu_agree_write_entry(writer, &value->entries[i]);
}

static uint8_t flags_of(const struct mu_agree_value *value)
{
    return (uint8_t)((value->more ? FLAG_MORE : 0) | (value->silent ? FLAG_SILENT : 0) |
                     (value->entry_count > 0 ? FLAG_ENTRIES : 0) |
                     (value->entries_more ? FLAG_ENTRIES_MORE : 0));
}

static void write_failed(struct mu_writer *writer, const struct mu_agree_value *value)
{
    uint32_t before = 0;
    mu_write_varint(writer, value->failed_count);
    for (uint32_t i = 0; i < value->failed_count; i++) {
        const struct mu_failed *failed = &value->failed[i];
        bool whole = failed->process == MU_FAILED_NODE;
        mu_write_varint(writer, failed->node - before);
        mu_write_u8(writer, (uint8_t)((failed->acked ? FLAG_ACKED : 0) | (whole ? FLAG_NODE : 0) |
                                      (failed->proven ? FLAG_PROVEN : 0)));
        if (!whole)
            mu_write_varint(writer, failed->process);
        before = failed->node;
    }
}

static void write_value(struct mu_writer *writer, const struct mu_agree_value *value)
{
    mu_write_u64(writer, value->bits);
    mu_write_u8(writer, flags_of(value));
    write_failed(writer, value);
    write_entries(writer, value);
}

/* So many entries from 'first' on are neighbours, of the same incarnation, with proof or without.
 */
static uint32_t run_at(const struct mu_agree_message *message, uint32_t first)
{
    const struct mu_roster_entry *dead = message->dead;
    uint32_t count = 1;
    while (first + count < message->dead_count &&
           dead[first + count].slot == dead[first].slot + count &&
           dead[first + count].incarnation == dead[first].incarnation &&
           dead[first + count].proven == dead[first].proven)
        count++;
    return count;
}

static void write_dead(struct mu_writer *writer, const struct mu_agree_message *message)
{
    mu_slot before = 0;
    mu_write_varint(writer, message->dead_count);
    for (uint32_t i = 0; i < message->dead_count;) {
        uint32_t count = run_at(message, i);
        mu_write_varint(writer, message->dead[i].slot - before);
        mu_write_varint(writer, count);
        mu_write_varint(writer, (uint64_t)message->dead[i].incarnation << 1 |
                                    (message->dead[i].proven ? 1 : 0));
        before = message->dead[i].slot + count;
        i += count;
    }
}

void mu_agree_encode(struct mu_writer *writer, const struct mu_agree_message *message)
{
    assert(mu_agree_message_error(message) == NULL);
    mu_write_u8(writer, MU_AGREE_VERSION);
    mu_write_u8(writer, message->type);
    mu_write_u64(writer, message->group);
    mu_write_u64(writer, message->round);
    if (message->type == MU_AGREE_ASK)
        write_dead(writer, message);
    else
        write_value(writer, &message->value);
}

/* ---- in ---- */

static const char *read_failed(struct mu_reader *reader, uint32_t before, struct mu_failed *failed)
{
    uint64_t gap = mu_read_varint(reader);
    uint8_t flags = mu_read_u8(reader);
    uint64_t process = (flags & FLAG_NODE) != 0 ? MU_FAILED_NODE : mu_read_varint(reader);
    if (gap >= MU_SIZE_MAX || before + gap >= MU_SIZE_MAX)
        return "the slot of one that failed is below 2^24";
    if (flags > (FLAG_ACKED | FLAG_NODE | FLAG_PROVEN))
        return "the flags of one that failed are 0 to 7";
    if ((flags & FLAG_NODE) == 0 && process >= MU_FAILED_NODE)
        return "the number of a process is below 2^32 - 1";
    *failed = (struct mu_failed){.node = (before + (uint32_t)gap) & 0x3fffffff,
                                 .acked = (flags & FLAG_ACKED) != 0,
                                 .proven = (flags & FLAG_PROVEN) != 0,
                                 .process = (uint32_t)process};
    return NULL;
}

/* What is behind its length is zero: one entry, one spelling. */
void mu_agree_read_entry(struct mu_reader *reader, struct mu_agree_entry *entry)
{
    memset(entry, 0, sizeof *entry);
    entry->kind = mu_read_u8(reader);
    entry->key = mu_read_u64(reader);
    entry->length = mu_read_u8(reader);
    if (entry->length > MU_AGREE_ENTRY_BYTES)
        reader->bad = true;
    const uint8_t *bytes = mu_read_bytes(reader, reader->bad ? 0 : entry->length);
    if (!reader->bad)
        memcpy(entry->bytes, bytes, entry->length);
}

static const char *read_entries(struct mu_reader *reader, const struct mu_agree_room *room,
                                struct mu_agree_value *value)
{
    uint64_t count = mu_read_varint(reader);
    if (reader->bad)
        return NULL; /* the caller says so */
    if (count == 0 || count > MU_AGREE_ENTRIES_MAX)
        return "entries that follow are 1 to 256";
    if (count > room->entry_capacity)
        return "more entries than there is room for";
    value->entries = room->entries;
    value->entry_count = (uint32_t)count;
    for (uint32_t i = 0; i < count && !reader->bad; i++)
        mu_agree_read_entry(reader, &room->entries[i]);
    return NULL;
}

static const char *read_failed_list(struct mu_reader *reader, const struct mu_agree_room *room,
                                    struct mu_agree_value *value)
{
    const char *error = NULL;
    uint32_t before = 0;
    uint64_t count = mu_read_varint(reader);
    if (count > MU_AGREE_FAILED_MAX)
        return "a value lists at most 4096 that failed";
    if (count > room->failed_capacity)
        return "more failed than there is room for";
    value->failed = room->failed;
    value->failed_count = (uint32_t)count;
    for (uint32_t i = 0; i < count && error == NULL && !reader->bad; i++) {
        error = read_failed(reader, before, &room->failed[i]);
        before = room->failed[i].node;
    }
    return error;
}

static const char *read_value(struct mu_reader *reader, const struct mu_agree_room *room,
                              struct mu_agree_value *value)
{
    value->bits = mu_read_u64(reader);
    uint8_t flags = mu_read_u8(reader);
    if (flags > FLAGS_ALL)
        return "the flags of a value are 0 to 15";
    value->more = (flags & FLAG_MORE) != 0;
    value->silent = (flags & FLAG_SILENT) != 0;
    value->entries_more = (flags & FLAG_ENTRIES_MORE) != 0;
    const char *error = read_failed_list(reader, room, value);
    if (error == NULL && (flags & FLAG_ENTRIES) != 0)
        error = read_entries(reader, room, value);
    return error;
}

/* One run of neighbours; 'dead_count' says how many there are already. */
static const char *read_run(struct mu_reader *reader, uint32_t total, mu_slot *before,
                            const struct mu_agree_room *room, struct mu_agree_message *message)
{
    uint64_t gap = mu_read_varint(reader);
    uint64_t count = mu_read_varint(reader);
    uint64_t died = mu_read_varint(reader), incarnation = died >> 1;
    bool proven = (died & 1) != 0;
    if (reader->bad)
        return NULL; /* the caller says so */
    if (count == 0 || count > total - message->dead_count)
        return "a run of the dead is not empty, and no more than there are";
    if (gap >= MU_SIZE_MAX || *before + gap + count > MU_SIZE_MAX)
        return "a dead node's slot is below 2^24";
    if (incarnation == 0 || incarnation > UINT32_MAX)
        return "a dead node's incarnation is 1 to 2^32 - 1";
    uint32_t at = message->dead_count;
    if (at > 0 && gap == 0 && room->dead[at - 1].incarnation == incarnation &&
        room->dead[at - 1].proven == proven)
        return "neighbours that died alike are one run";
    for (uint64_t i = 0; i < count; i++)
        room->dead[at + i] = (struct mu_roster_entry){.slot = (mu_slot)(*before + gap + i),
                                                      .incarnation = (uint32_t)incarnation,
                                                      .proven = proven};
    message->dead_count += (uint32_t)count;
    *before += (mu_slot)(gap + count);
    return NULL;
}

static const char *read_dead(struct mu_reader *reader, const struct mu_agree_room *room,
                             struct mu_agree_message *message)
{
    const char *error = NULL;
    mu_slot before = 0;
    uint64_t total = mu_read_varint(reader);
    if (total > MU_AGREE_DEAD_MAX)
        return "an ASK tells of at most 32768 deaths";
    if (total > room->dead_capacity)
        return "more dead than there is room for";
    message->dead = room->dead;
    while (message->dead_count < total && error == NULL && !reader->bad)
        error = read_run(reader, (uint32_t)total, &before, room, message);
    return error;
}

const char *mu_agree_decode(const uint8_t *bytes, size_t count, const struct mu_agree_room *room,
                            struct mu_agree_message *message)
{
    struct mu_reader reader;
    mu_reader_init(&reader, bytes, count);
    memset(message, 0, sizeof *message);
    uint8_t version = mu_read_u8(&reader);
    message->type = mu_read_u8(&reader);
    message->group = mu_read_u64(&reader);
    message->round = mu_read_u64(&reader);
    if (reader.bad)
        return "a message of an agreement ends inside a field";
    if (version != MU_AGREE_VERSION)
        return "the version of a message of an agreement is 3";
    if (message->type < MU_AGREE_UP || message->type > MU_AGREE_MESSAGE_LAST)
        return "the type is one of 1 (UP) to 3 (ASK)";
    const char *error = message->type == MU_AGREE_ASK ? read_dead(&reader, room, message)
                                                      : read_value(&reader, room, &message->value);
    if (error != NULL)
        return error;
    if (reader.bad)
        return "a message of an agreement ends inside a field, or a number is spelled too long";
    if (mu_reader_left(&reader) > 0)
        return "something follows the last field";
    return mu_agree_message_error(message);
}
