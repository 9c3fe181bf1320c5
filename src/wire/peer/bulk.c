#include "wire/peer/bulk.h"

#include <assert.h>

const char *mu_bulk_error(const struct mu_bulk_frame *frame)
{
    if (frame->type < 1 || frame->type > MU_BULK_TYPE_LAST)
        return "the type of a bulk frame is 1 to 3";
    if (frame->type == MU_BULK_ACK)
        return NULL;
    if (frame->count < 1 || frame->count > MU_BULK_MESSAGE_MAX)
        return "a piece of a message has 1 byte to 64 MiB";
    if (frame->type == MU_BULK_MORE)
        return NULL;
    if (frame->sequence < 1)
        return "messages are numbered from 1 on";
    if (frame->total < 1 || frame->total > MU_BULK_MESSAGE_MAX)
        return "a message has 1 byte to 64 MiB";
    return frame->count > frame->total ? "a piece is longer than its message" : NULL;
}

void mu_bulk_encode(struct mu_writer *writer, const struct mu_bulk_frame *frame)
{
    assert(mu_bulk_error(frame) == NULL);
    mu_write_u8(writer, frame->type);
    if (frame->type == MU_BULK_FIRST)
        mu_write_u64(writer, frame->sequence);
    if (frame->type != MU_BULK_MORE)
        mu_write_u64(writer, frame->ack);
    if (frame->type == MU_BULK_FIRST)
        mu_write_u32(writer, frame->total);
    if (frame->type != MU_BULK_ACK)
        mu_write_bytes(writer, frame->bytes, frame->count);
}

const char *mu_bulk_decode(const uint8_t *bytes, size_t count, struct mu_bulk_frame *frame)
{
    struct mu_reader reader;
    mu_reader_init(&reader, bytes, count);
    *frame = (struct mu_bulk_frame){.type = mu_read_u8(&reader)};
    if (frame->type == MU_BULK_FIRST)
        frame->sequence = mu_read_u64(&reader);
    if (frame->type == MU_BULK_FIRST || frame->type == MU_BULK_ACK)
        frame->ack = mu_read_u64(&reader);
    if (frame->type == MU_BULK_FIRST)
        frame->total = mu_read_u32(&reader);
    if (reader.bad)
        return "a bulk frame ends too early";
    frame->count = mu_reader_left(&reader);
    if (frame->type == MU_BULK_ACK && frame->count > 0)
        return "nothing follows an acknowledgement";
    frame->bytes = mu_read_bytes(&reader, frame->count);
    return mu_bulk_error(frame);
}
