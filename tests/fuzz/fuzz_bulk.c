/* What daemons say on bulk connections: frames, and the messages that they carry.  Whatever is read
 * well is written back to the same bytes. */
#include "../unit/help/test_exchange_random.h"
#include "wire/peer/bulk.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_frame(const uint8_t *data, size_t size, struct mu_writer *writer)
{
    struct mu_bulk_frame frame;
    if (mu_bulk_decode(data, size, &frame) != NULL)
        return;
    mu_bulk_encode(writer, &frame);
    assert(!writer->full && writer->used == size && memcmp(writer->bytes, data, size) == 0);
}

static void try_message(const uint8_t *data, size_t size, struct mu_writer *writer)
{
    struct mu_exchange_message message;
    if (mu_exchange_decode(data, size, &message) != NULL)
        return;
    assert(message.run_count <= size);
    struct mu_rank_run *runs = calloc(message.run_count + (size_t)1, sizeof *runs);
    assert(runs != NULL);
    encode_exchange_again(&message, runs, writer);
    assert(!writer->full && writer->used == size && memcmp(writer->bytes, data, size) == 0);
    free(runs);
}

/* The first byte says which. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    uint8_t *room = malloc(size);
    assert(room != NULL);
    struct mu_writer writer;
    mu_writer_init(&writer, room, size);
    if (data[0] % 2 == 0)
        try_frame(data + 1, size - 1, &writer);
    else
        try_message(data + 1, size - 1, &writer);
    free(room);
    return 0;
}
