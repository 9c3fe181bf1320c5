/* Streams of all doors: whatever the bytes, reading them ends; what is read is written as the same
 * bytes again, and has the same digest in either way. */
#include "wire/record/stream.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was read, as it is written. */
static void check_again(struct mu_stream *again, struct mu_stream_reader *reader,
                        const uint8_t *record, size_t count)
{
    const struct mu_fingerprint check = {.a = reader->check};
    again->count = 0;
    mu_stream_put(again, mu_stream_event(reader), &check);
    assert(again->count == count && memcmp(again->bytes, record, count) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct mu_stream_reader reader;
    struct mu_stream again;
    if (!mu_stream_open(&reader, data, size)) {
        assert(strlen(reader.text) > 0);
        mu_stream_close(&reader);
        return 0;
    }
    mu_stream_start(&again, reader.door, mu_stream_config(&reader));
    assert(again.count == reader.at && memcmp(again.bytes, data, reader.at) == 0);
    enum mu_stream_what what;
    for (size_t at = reader.at; (what = mu_stream_next(&reader)) == MU_STREAM_EVENT; at = reader.at)
        check_again(&again, &reader, data + at, reader.at - at);
    assert(what != MU_STREAM_BAD || strlen(reader.text) > 0);
    mu_stream_free(&again);
    mu_stream_close(&reader);
    return 0;
}
