#include "wire/peer/frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LENGTH_BYTES = 4,
    LENGTH_MIN = MU_WIRE_FRAME_MIN - LENGTH_BYTES,
    LENGTH_MAX = MU_WIRE_FRAME_MAX - LENGTH_BYTES,
};

static struct mu_wire_result ok(void)
{
    return (struct mu_wire_result){.error = MU_WIRE_OK};
}

static struct mu_wire_result bad(enum mu_wire_error error, uint64_t value, uint64_t bound)
{
    return (struct mu_wire_result){.error = error, .value = value, .bound = bound};
}

/* ---- rules: the same for what comes in and what goes out ---- */

static struct mu_wire_result check_slot(uint64_t slot)
{
    return slot < MU_SIZE_MAX ? ok() : bad(MU_WIRE_SLOT, slot, MU_SIZE_MAX);
}

static struct mu_wire_result check_incarnation(uint64_t incarnation)
{
    bool good = incarnation >= 1 && incarnation <= UINT32_MAX;
    return good ? ok() : bad(MU_WIRE_INCARNATION, incarnation, UINT32_MAX);
}

static struct mu_wire_result check_node_dead(const struct mu_notice_id *id)
{
    struct mu_wire_result result = check_slot(id->index);
    if (result.error != MU_WIRE_OK)
        return result;
    uint64_t proven = mu_notice_is_proof(id) ? UINT64_C(1) << 32 : 0;
    return check_incarnation(id->stream - proven);
}

static struct mu_wire_result check_process_dead(const struct mu_notice_id *id)
{
    return id->index <= UINT32_MAX ? ok() : bad(MU_WIRE_RANK, id->index, UINT32_MAX);
}

static struct mu_wire_result check_payload(const struct mu_notice_id *id)
{
    struct mu_wire_result result = check_slot(id->stream >> 32);
    if (result.error == MU_WIRE_OK && id->index == 0)
        result = bad(MU_WIRE_PAYLOAD_INDEX, id->index, 1);
    return result;
}

struct mu_wire_result mu_wire_check_notice(const struct mu_notice *notice)
{
    const struct mu_notice_id *id = &notice->id;
    struct mu_wire_result result = check_slot(notice->root);
    if (result.error != MU_WIRE_OK)
        return result;
    switch (id->kind) {
    case MU_NOTICE_NODE_DEAD:
        return check_node_dead(id);
    case MU_NOTICE_PROC_DEAD:
        return check_process_dead(id);
    case MU_NOTICE_PAYLOAD:
        return check_payload(id);
    }
    return bad(MU_WIRE_KIND, id->kind, 0); /* any byte may have come in */
}

static struct mu_wire_result check_frame(const struct mu_frame *frame, enum mu_message_type type)
{
    bool numbered = type == MU_MESSAGE_NOTICE;
    if (frame->type != type)
        return bad(MU_WIRE_TYPE, frame->type, 0);
    if (numbered != (frame->sequence != 0))
        return bad(MU_WIRE_SEQUENCE, frame->sequence, numbered);
    return numbered ? mu_wire_check_notice(&frame->notice) : ok();
}

static struct mu_wire_result check_hello(const struct mu_hello *hello)
{
    if (hello->size < 1 || hello->size > MU_SIZE_MAX)
        return bad(MU_WIRE_SIZE, hello->size, MU_SIZE_MAX);
    if (hello->from > hello->size)
        return bad(MU_WIRE_HELLO_SLOT, hello->from, hello->size);
    if (hello->to > hello->size)
        return bad(MU_WIRE_HELLO_SLOT, hello->to, hello->size);
    if (hello->from == hello->to)
        return bad(MU_WIRE_HELLO_SELF, hello->from, 0);
    if (hello->view == 0 && hello->hash != 0)
        return bad(MU_WIRE_HELLO_VIEW, hello->hash, 0);
    return check_incarnation(hello->incarnation);
}

static struct mu_wire_result check_refuse(const struct mu_refuse *refuse)
{
    if (refuse->code == 0)
        return bad(MU_WIRE_REFUSE_CODE, refuse->code, 1);
    if (refuse->length < 1 || refuse->length > MU_WIRE_REASON_MAX)
        return bad(MU_WIRE_REASON_LENGTH, refuse->length, MU_WIRE_REASON_MAX);
    for (uint8_t i = 0; i < refuse->length; i++) {
        uint8_t byte = (uint8_t)refuse->reason[i];
        if (byte < 0x20 || byte > 0x7e)
            return bad(MU_WIRE_REASON_BYTE, byte, 0);
    }
    return ok();
}

static struct mu_wire_result check(const struct mu_message *message)
{
    switch (message->type) {
    case MU_MESSAGE_NOTICE:
    case MU_MESSAGE_ACK:
    case MU_MESSAGE_FULL:
    case MU_MESSAGE_ROOM:
    case MU_MESSAGE_AGAIN:
        return check_frame(&message->frame, message->type);
    case MU_MESSAGE_HELLO:
        return check_hello(&message->hello);
    case MU_MESSAGE_REFUSE:
        return check_refuse(&message->refuse);
    case MU_MESSAGE_BYE:
        return ok();
    }
    return bad(MU_WIRE_TYPE, message->type, 0); /* a core's frame of no type comes here, too */
}

bool mu_wire_is_frame(enum mu_message_type type)
{
    return type == MU_MESSAGE_NOTICE || type == MU_MESSAGE_ACK || type == MU_MESSAGE_FULL ||
           type == MU_MESSAGE_ROOM || type == MU_MESSAGE_AGAIN;
}

/* ---- out ---- */

void mu_wire_write_notice(struct mu_writer *writer, const struct mu_notice *notice)
{
    mu_write_u8(writer, notice->id.kind);
    mu_write_u64(writer, notice->id.stream);
    mu_write_u64(writer, notice->id.index);
    mu_write_u32(writer, notice->root);
    mu_write_u16(writer, notice->hops);
    mu_write_u64(writer, notice->age_ns);
    mu_write_u16(writer, notice->length);
    mu_write_bytes(writer, notice->payload, notice->length);
}

static void write_hello(struct mu_writer *writer, const struct mu_hello *hello)
{
    mu_write_u64(writer, hello->machine);
    mu_write_u32(writer, hello->size);
    mu_write_u32(writer, hello->from);
    mu_write_u32(writer, hello->to);
    mu_write_u32(writer, hello->incarnation);
    mu_write_u64(writer, hello->view);
    mu_write_u64(writer, hello->hash);
    mu_write_u64(writer, hello->has);
}

static void write_refuse(struct mu_writer *writer, const struct mu_refuse *refuse)
{
    mu_write_u8(writer, refuse->code);
    mu_write_u8(writer, refuse->length);
    mu_write_bytes(writer, refuse->reason, refuse->length);
}

static uint8_t version_of(uint8_t type)
{
    return type == MU_MESSAGE_REFUSE ? MU_WIRE_REFUSE_VERSION : MU_WIRE_VERSION;
}

/* All that the length field counts. */
static void write_counted(struct mu_writer *writer, const struct mu_message *message)
{
    mu_write_u8(writer, version_of((uint8_t)message->type));
    mu_write_u8(writer, (uint8_t)message->type);
    switch (message->type) {
    case MU_MESSAGE_NOTICE:
        mu_write_u64(writer, message->frame.sequence);
        mu_write_u64(writer, message->frame.ack);
        mu_wire_write_notice(writer, &message->frame.notice);
        return;
    case MU_MESSAGE_ACK:
    case MU_MESSAGE_FULL:
    case MU_MESSAGE_ROOM:
    case MU_MESSAGE_AGAIN:
        mu_write_u64(writer, message->frame.ack);
        return;
    case MU_MESSAGE_HELLO:
        write_hello(writer, &message->hello);
        return;
    case MU_MESSAGE_REFUSE:
        write_refuse(writer, &message->refuse);
        return;
    case MU_MESSAGE_BYE:
        return;
    }
    abort();
}

struct mu_wire_result mu_wire_encode(struct mu_writer *writer, const struct mu_message *message)
{
    struct mu_wire_result result = check(message);
    if (result.error != MU_WIRE_OK)
        return result;
    struct mu_writer counter;
    mu_writer_init(&counter, NULL, SIZE_MAX);
    write_counted(&counter, message);

    size_t before = writer->used;
    mu_write_u32(writer, (uint32_t)counter.used);
    write_counted(writer, message);
    if (writer->full) {
        writer->used = before; /* half a frame is of no use to anybody */
        return bad(MU_WIRE_NO_ROOM, LENGTH_BYTES + counter.used, writer->capacity - before);
    }
    return ok();
}

struct mu_wire_result mu_wire_encode_frame(struct mu_writer *writer, const struct mu_frame *frame)
{
    if (!mu_wire_is_frame((enum mu_message_type)frame->type))
        return bad(MU_WIRE_TYPE, frame->type, 0);
    struct mu_message message = {.type = (enum mu_message_type)frame->type, .frame = *frame};
    return mu_wire_encode(writer, &message);
}

/* ---- in ---- */

enum mu_wire_progress mu_wire_frame_size(const uint8_t *bytes, size_t available, size_t *size)
{
    struct mu_reader reader;
    mu_reader_init(&reader, bytes, available);
    uint32_t length = mu_read_u32(&reader);
    if (reader.bad) {
        *size = LENGTH_BYTES;
        return MU_WIRE_MORE;
    }
    *size = LENGTH_BYTES + (size_t)length;
    if (length < LENGTH_MIN || length > LENGTH_MAX)
        return MU_WIRE_BAD_LENGTH;
    return available < *size ? MU_WIRE_MORE : MU_WIRE_COMPLETE;
}

struct mu_wire_result mu_wire_read_notice(struct mu_reader *reader, struct mu_notice *notice)
{
    notice->id.kind = mu_read_u8(reader);
    notice->id.stream = mu_read_u64(reader);
    notice->id.index = mu_read_u64(reader);
    notice->root = mu_read_u32(reader);
    notice->hops = mu_read_u16(reader);
    notice->age_ns = mu_read_u64(reader);
    notice->length = mu_read_u16(reader);
    if (reader->bad)
        return bad(MU_WIRE_BODY_SHORT, 0, 0);
    if (notice->length != mu_reader_left(reader))
        return bad(MU_WIRE_PAYLOAD_LENGTH, notice->length, mu_reader_left(reader));
    notice->payload = mu_read_bytes(reader, notice->length);
    return mu_wire_check_notice(notice);
}

static struct mu_wire_result read_refuse(struct mu_reader *reader, struct mu_refuse *refuse)
{
    refuse->code = mu_read_u8(reader);
    refuse->length = mu_read_u8(reader);
    if (!reader->bad && refuse->length > mu_reader_left(reader))
        return bad(MU_WIRE_REASON_SHORT, refuse->length, mu_reader_left(reader));
    refuse->reason = (const char *)mu_read_bytes(reader, refuse->length);
    return ok();
}

static void read_hello(struct mu_reader *reader, struct mu_hello *hello)
{
    hello->machine = mu_read_u64(reader);
    hello->size = mu_read_u32(reader);
    hello->from = mu_read_u32(reader);
    hello->to = mu_read_u32(reader);
    hello->incarnation = mu_read_u32(reader);
    hello->view = mu_read_u64(reader);
    hello->hash = mu_read_u64(reader);
    hello->has = mu_read_u64(reader);
}

static struct mu_wire_result read_body(struct mu_reader *reader, struct mu_message *message)
{
    switch (message->type) {
    case MU_MESSAGE_NOTICE:
        message->frame.type = MU_FRAME_NOTICE;
        message->frame.sequence = mu_read_u64(reader);
        message->frame.ack = mu_read_u64(reader);
        return mu_wire_read_notice(reader, &message->frame.notice);
    case MU_MESSAGE_ACK:
    case MU_MESSAGE_FULL:
    case MU_MESSAGE_ROOM:
    case MU_MESSAGE_AGAIN:
        message->frame.type = (uint8_t)message->type;
        message->frame.ack = mu_read_u64(reader);
        return ok();
    case MU_MESSAGE_HELLO:
        read_hello(reader, &message->hello);
        return ok();
    case MU_MESSAGE_REFUSE:
        return read_refuse(reader, &message->refuse);
    case MU_MESSAGE_BYE:
        return ok();
    }
    return bad(MU_WIRE_TYPE, message->type, 0);
}

/* The envelope: the length is right, and the version is that of the type. */
static struct mu_wire_result read_envelope(struct mu_reader *reader, size_t count, uint8_t *type)
{
    uint32_t length = mu_read_u32(reader);
    if (reader->bad)
        return bad(MU_WIRE_TRUNCATED, count, LENGTH_BYTES);
    if (length < LENGTH_MIN || length > LENGTH_MAX)
        return bad(MU_WIRE_LENGTH, length, LENGTH_MAX);
    if (length > mu_reader_left(reader))
        return bad(MU_WIRE_TRUNCATED, count, LENGTH_BYTES + (uint64_t)length);
    if (length < mu_reader_left(reader))
        return bad(MU_WIRE_TRAILING, mu_reader_left(reader) - length, 0);
    uint8_t version = mu_read_u8(reader);
    *type = mu_read_u8(reader);
    uint8_t spoken = version_of(*type);
    if (version > spoken)
        return bad(MU_WIRE_VERSION_NEWER, version, spoken);
    if (version < spoken)
        return bad(MU_WIRE_VERSION_OLDER, version, spoken);
    return ok();
}

struct mu_wire_result mu_wire_decode(const uint8_t *bytes, size_t count, struct mu_message *message)
{
    struct mu_reader reader;
    mu_reader_init(&reader, bytes, count);
    memset(message, 0, sizeof *message);
    uint8_t type = 0;
    struct mu_wire_result result = read_envelope(&reader, count, &type);
    if (result.error != MU_WIRE_OK)
        return result;
    message->type = (enum mu_message_type)type;
    result = read_body(&reader, message);
    if (result.error != MU_WIRE_OK)
        return result;
    if (reader.bad)
        return bad(MU_WIRE_BODY_SHORT, 0, 0);
    if (mu_reader_left(&reader) > 0)
        return bad(MU_WIRE_TRAILING, mu_reader_left(&reader), 0);
    return check(message);
}

/* ---- sentences ---- */

/* printf takes the value and then the bound; a sentence may use none of them, or the value only. */
static const char *sentence(enum mu_wire_error error)
{
#define N "%" PRIu64
    switch (error) {
    case MU_WIRE_OK:
        return "the frame is good";
    case MU_WIRE_TRUNCATED:
        return "the bytes end after " N " of the " N " that the frame needs";
    case MU_WIRE_LENGTH:
        return "frame length " N " is not between 2 and " N;
    case MU_WIRE_VERSION_NEWER:
        return "frame version " N " is newer than " N ", the newest this program speaks";
    case MU_WIRE_VERSION_OLDER:
        return "frame version " N " is older than " N ", the oldest this program speaks";
    case MU_WIRE_TYPE:
        return "frame type " N " is not one of 1 (NOTICE) to 9 (AGAIN)";
    case MU_WIRE_BODY_SHORT:
        return "the frame ends before the last field of its type";
    case MU_WIRE_TRAILING:
        return "bytes after the last field: " N;
    case MU_WIRE_SEQUENCE:
        return "sequence " N " is wrong: it is at least 1 in a NOTICE, and 0 elsewhere";
    case MU_WIRE_KIND:
        return "notice kind " N " is not one of 1 (node dead) to 3 (payload)";
    case MU_WIRE_SLOT:
        return "slot " N " is not below " N ", the size of the largest machine";
    case MU_WIRE_INCARNATION:
        return "incarnation " N " is not between 1 and " N;
    case MU_WIRE_RANK:
        return "rank " N " is above " N;
    case MU_WIRE_PAYLOAD_INDEX:
        return "payload index " N " is not at least " N;
    case MU_WIRE_PAYLOAD_LENGTH:
        return "payload length " N " is not the number of bytes that follow, " N;
    case MU_WIRE_SIZE:
        return "machine size " N " is not between 1 and " N;
    case MU_WIRE_HELLO_SLOT:
        return "slot " N " in a HELLO is above " N ", the size of its machine";
    case MU_WIRE_HELLO_VIEW:
        return "a HELLO says the hash " N " of no view";
    case MU_WIRE_HELLO_SELF:
        return "slot " N " says HELLO to itself";
    case MU_WIRE_REFUSE_CODE:
        return "refusal code " N " is not at least " N;
    case MU_WIRE_REASON_LENGTH:
        return "length " N " of a refusal's reason is not between 1 and " N;
    case MU_WIRE_REASON_SHORT:
        return "length " N " of a refusal's reason is more than the bytes that follow, " N;
    case MU_WIRE_REASON_BYTE:
        return "byte " N " in a refusal's reason is not printable ASCII";
    case MU_WIRE_NO_ROOM:
        return "the frame needs " N " bytes, and the buffer has room for " N;
    }
#undef N
    abort();
}

const char *mu_wire_text(struct mu_wire_result result, char *text, size_t room)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* every one stands just above */
#pragma GCC diagnostic ignored "-Wformat-extra-args"
    snprintf(text, room, sentence(result.error), result.value, result.bound);
#pragma GCC diagnostic pop
    return text;
}
