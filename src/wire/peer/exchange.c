#include "wire/peer/exchange.h"

#include <assert.h>

enum { RANKS_MAX = 1 << 20 };

static bool is_of_exchange(uint8_t type)
{
    return type >= MU_EXCHANGE_UP && type <= MU_EXCHANGE_PART;
}

const char *mu_exchange_runs_error(const struct mu_rank_run *runs, uint32_t count)
{
    uint64_t end = 0; /* of the run before */
    if (count == 0)
        return "somebody takes part in an exchange";
    for (uint32_t i = 0; i < count; i++) {
        if (runs[i].count == 0)
            return "a run of ranks is not empty";
        if (i > 0 && runs[i].first <= end)
            return "runs of ranks are in order, with gaps between them";
        end = (uint64_t)runs[i].first + runs[i].count;
        if (end > RANKS_MAX)
            return "a rank is below 2^20";
    }
    return NULL;
}

/* ---- out ---- */

/* The first less the end of the run before, but for the first one at least 1. */
static void write_runs(struct mu_writer *writer, const struct mu_rank_run *runs, uint32_t count)
{
    assert(mu_exchange_runs_error(runs, count) == NULL);
    mu_write_varint(writer, count);
    uint32_t end = 0;
    for (uint32_t i = 0; i < count; i++) {
        mu_write_varint(writer, runs[i].first - end);
        mu_write_varint(writer, runs[i].count);
        end = runs[i].first + runs[i].count;
    }
}

void mu_exchange_encode(struct mu_writer *writer, const struct mu_exchange_message *message,
                        const struct mu_rank_run *runs)
{
    mu_write_u8(writer, MU_EXCHANGE_VERSION);
    mu_write_u8(writer, message->type);
    mu_write_u32(writer, message->job);
    if (is_of_exchange(message->type)) {
        mu_write_u64(writer, message->tag);
        mu_write_u64(writer, message->round);
        write_runs(writer, runs, message->run_count);
        mu_write_varint(writer, message->part_count);
        return;
    }
    mu_write_u64(writer, message->number);
    if (message->type == MU_EXCHANGE_QUESTION)
        mu_write_u8(writer, message->hosted ? 1 : 0);
    mu_write_bytes(writer, message->bytes, message->count);
}

void mu_exchange_encode_part(struct mu_writer *writer, const struct mu_exchange_part *part,
                             const struct mu_exchange_part *before)
{
    assert(before == NULL || before->node < part->node);
    mu_write_varint(writer, part->node - (before == NULL ? 0 : before->node + 1));
    mu_write_varint(writer, part->count);
    mu_write_bytes(writer, part->bytes, part->count);
}

/* ---- in ---- */

static bool read_run(struct mu_reader *reader, bool is_first, struct mu_rank_run *run)
{
    uint64_t gap = mu_read_varint(reader), count = mu_read_varint(reader);
    uint64_t end = (uint64_t)run->first + run->count; /* of the one before */
    if (reader->bad || (gap == 0 && !is_first) || gap > RANKS_MAX || count == 0 ||
        count > RANKS_MAX || end + gap + count > RANKS_MAX)
        return false;
    run->first = (uint32_t)(end + gap);
    run->count = (uint32_t)count;
    return true;
}

static bool read_part(struct mu_reader *reader, struct mu_exchange_part *part)
{
    uint64_t gap = mu_read_varint(reader), count = mu_read_varint(reader);
    uint64_t node = (part->node == MU_SLOT_NONE ? 0 : (uint64_t)part->node + 1) + gap;
    if (reader->bad || gap >= MU_SIZE_MAX || node >= MU_SIZE_MAX || count > mu_reader_left(reader))
        return false;
    part->node = (mu_slot)node;
    part->count = (size_t)count;
    part->bytes = mu_read_bytes(reader, part->count);
    return true;
}

static const char *decode_lists(struct mu_reader *reader, struct mu_exchange_message *message)
{
    uint64_t run_count = mu_read_varint(reader);
    message->runs = *reader;
    if (reader->bad || run_count < 1 || run_count > mu_reader_left(reader))
        return "an exchange has so many runs of ranks as it says, and at least one";
    message->run_count = (uint32_t)run_count;
    struct mu_rank_run run = {0};
    for (uint32_t i = 0; i < message->run_count; i++)
        if (!read_run(reader, i == 0, &run))
            return "runs of ranks are in order, not empty, with gaps between them, below 2^20";
    uint64_t part_count = mu_read_varint(reader);
    message->parts = *reader;
    if (reader->bad || part_count > mu_reader_left(reader))
        return "an exchange has so many parts as it says";
    message->part_count = (uint32_t)part_count;
    struct mu_exchange_part part = {.node = MU_SLOT_NONE};
    for (uint32_t i = 0; i < message->part_count; i++)
        if (!read_part(reader, &part))
            return "parts are in the order of their nodes, with all their bytes";
    if (message->type == MU_EXCHANGE_WANT && part_count > 0)
        return "who wants a result sends no part";
    return mu_reader_left(reader) > 0 ? "nothing follows the last part" : NULL;
}

const char *mu_exchange_decode(const uint8_t *bytes, size_t count,
                               struct mu_exchange_message *message)
{
    struct mu_reader reader;
    mu_reader_init(&reader, bytes, count);
    *message = (struct mu_exchange_message){0};
    if (mu_read_u8(&reader) != MU_EXCHANGE_VERSION)
        return "a message of an exchange is of version 1";
    message->type = mu_read_u8(&reader);
    message->job = mu_read_u32(&reader);
    if (message->type < 1 || message->type > MU_EXCHANGE_TYPE_LAST)
        return "the type of a message of an exchange is 1 to 6";
    if (is_of_exchange(message->type)) {
        message->tag = mu_read_u64(&reader);
        message->round = mu_read_u64(&reader);
        if (reader.bad || message->round < 1)
            return "rounds of an exchange are numbered from 1 on";
        return decode_lists(&reader, message);
    }
    message->number = mu_read_u64(&reader);
    uint8_t hosted = message->type == MU_EXCHANGE_QUESTION ? mu_read_u8(&reader) : 0;
    if (reader.bad || hosted > 1)
        return "a question has a number, and says 0 or 1";
    message->hosted = hosted == 1;
    message->count = mu_reader_left(&reader);
    message->bytes = mu_read_bytes(&reader, message->count);
    return NULL;
}

void mu_exchange_read_runs(const struct mu_exchange_message *message, struct mu_rank_run *runs)
{
    struct mu_reader at = message->runs;
    struct mu_rank_run run = {0};
    for (uint32_t i = 0; i < message->run_count; i++) {
        bool good = read_run(&at, i == 0, &run);
        assert(good); /* it was decoded */
        (void)good;
        runs[i] = run;
    }
}

void mu_exchange_read_part(struct mu_reader *at, struct mu_exchange_part *part)
{
    bool good = read_part(at, part);
    assert(good); /* it was decoded */
    (void)good;
}
