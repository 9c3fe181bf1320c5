#include "wire/peer/agree_frame.h"

#include <assert.h>

enum { LENGTH_BYTES = 4, TYPE_AT = 5 };

bool mu_agree_frame_is(const uint8_t *bytes, size_t count)
{
    return count > TYPE_AT && bytes[TYPE_AT] == MU_AGREE_FRAME;
}

size_t mu_agree_frame_encode(const struct mu_agree_message *message,
                             uint8_t bytes[MU_WIRE_FRAME_MAX])
{
    assert(mu_agree_message_error(message) == NULL);
    struct mu_writer writer, length;
    mu_writer_init(&writer, bytes, MU_WIRE_FRAME_MAX);
    mu_write_u32(&writer, 0); /* the length, when it is known */
    mu_write_u8(&writer, MU_WIRE_VERSION);
    mu_write_u8(&writer, MU_AGREE_FRAME);
    mu_agree_encode(&writer, message);
    assert(!writer.full);
    mu_writer_init(&length, bytes, LENGTH_BYTES);
    mu_write_u32(&length, (uint32_t)(writer.used - LENGTH_BYTES));
    return writer.used;
}

const char *mu_agree_frame_decode(const uint8_t *bytes, size_t count,
                                  struct mu_agree_message *message,
                                  struct mu_agree_frame_lists *lists)
{
    const struct mu_agree_room room = {.failed = lists->failed,
                                       .failed_capacity = MU_AGREE_FRAME_LIST_MAX,
                                       .dead = lists->dead,
                                       .dead_capacity = MU_AGREE_FRAME_LIST_MAX,
                                       .entries = lists->entries,
                                       .entry_capacity = MU_AGREE_ENTRIES_MAX};
    struct mu_reader reader;
    mu_reader_init(&reader, bytes, count);
    if (mu_read_u32(&reader) + (uint64_t)LENGTH_BYTES != count)
        return "the length of a frame is that of the bytes that follow";
    if (mu_read_u8(&reader) != MU_WIRE_VERSION || mu_read_u8(&reader) != MU_AGREE_FRAME)
        return "not a frame of an agreement, or of another version";
    return mu_agree_decode(bytes + MU_AGREE_FRAME_FIXED, count - MU_AGREE_FRAME_FIXED, &room,
                           message);
}
