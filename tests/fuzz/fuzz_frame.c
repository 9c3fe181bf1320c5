/* Frames: what decodes encodes to the same bytes, and what does not is told in a sentence. */
#include "wire/peer/frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_canonical(const uint8_t *bytes, size_t count, const struct mu_message *message)
{
    uint8_t *again = malloc(count);
    struct mu_writer writer;
    mu_writer_init(&writer, again, count);
    assert(mu_wire_encode(&writer, message).error == MU_WIRE_OK);
    assert(writer.used == count && memcmp(again, bytes, count) == 0);
    free(again);
}

static void decode(const uint8_t *bytes, size_t count)
{
    struct mu_message message;
    struct mu_wire_result result = mu_wire_decode(bytes, count, &message);
    char text[MU_WIRE_TEXT_MAX];
    size_t length = strlen(mu_wire_text(result, text, sizeof text));
    assert(length > 0 && length < sizeof text - 1);
    if (result.error == MU_WIRE_OK)
        check_canonical(bytes, count, &message);
}

/* As it comes off a stream. */
static void decode_stream(const uint8_t *data, size_t size)
{
    for (;;) {
        size_t frame_bytes;
        switch (mu_wire_frame_size(data, size, &frame_bytes)) {
        case MU_WIRE_MORE:
            assert(frame_bytes > size && frame_bytes <= MU_WIRE_FRAME_MAX);
            decode(data, size);
            return;
        case MU_WIRE_BAD_LENGTH:
            decode(data, size);
            return;
        case MU_WIRE_COMPLETE:
            assert(frame_bytes <= size);
            decode(data, frame_bytes);
            data += frame_bytes;
            size -= frame_bytes;
            break;
        }
    }
}

/* And with a length that is right, which a mutation rarely hits: what follows the first four bytes
 * is taken as all of one frame. */
static void decode_with_length(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size);
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, size);
    mu_write_u32(&writer, (uint32_t)(size - 4));
    mu_write_bytes(&writer, data + 4, size - 4);
    decode(bytes, size);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    decode_stream(data, size);
    if (size >= 4)
        decode_with_length(data, size);
    return 0;
}
