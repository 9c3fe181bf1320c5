/* Messages of views: what decodes encodes to the same bytes. */
#include "wire/peer/view.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct mu_view_room room;
    static uint8_t again[MU_WIRE_FRAME_MAX];
    struct mu_view_message message;
    const char *rule = mu_view_decode(data, size, &room, &message);
    if (rule != NULL) {
        assert(strlen(rule) > 0);
        return 0;
    }
    struct mu_writer writer;
    mu_writer_init(&writer, again, sizeof again);
    mu_view_encode(&writer, &message);
    assert(!writer.full && writer.used == size && memcmp(again, data, size) == 0);
    return 0;
}
