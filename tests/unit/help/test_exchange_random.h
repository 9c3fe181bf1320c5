/* A random message of an exchange, as bytes: for tests and for the first inputs of the fuzzer. */
#ifndef MU_TEST_EXCHANGE_RANDOM_H
#define MU_TEST_EXCHANGE_RANDOM_H

#include "wire/peer/exchange.h"

static inline uint32_t exchange_drawn(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % below;
}

static inline void random_exchange(uint64_t seed, struct mu_writer *writer)
{
    static const uint8_t bytes[300];
    struct mu_rank_run runs[5];
    struct mu_exchange_message message = {.type = (uint8_t)(1 + seed % MU_EXCHANGE_TYPE_LAST),
                                          .job = exchange_drawn(&seed, 1000),
                                          .tag = exchange_drawn(&seed, 3),
                                          .round = 1 + exchange_drawn(&seed, 200),
                                          .number = exchange_drawn(&seed, 1000),
                                          .hosted = exchange_drawn(&seed, 2) == 1,
                                          .bytes = bytes,
                                          .count = exchange_drawn(&seed, sizeof bytes)};
    message.run_count = 1 + exchange_drawn(&seed, 5);
    if (message.type != MU_EXCHANGE_WANT)
        message.part_count = exchange_drawn(&seed, 4);
    if (message.type == MU_EXCHANGE_ANSWER)
        message.hosted = false;
    uint32_t end = 0;
    for (uint32_t i = 0; i < message.run_count; i++) {
        runs[i].first = end + (i > 0) + exchange_drawn(&seed, 300);
        runs[i].count = 1 + exchange_drawn(&seed, 300);
        end = runs[i].first + runs[i].count;
    }
    mu_exchange_encode(writer, &message, runs);
    struct mu_exchange_part part = {0}, before = {0};
    for (uint32_t i = 0; message.type <= MU_EXCHANGE_PART && i < message.part_count; i++) {
        part.node = before.node + (i > 0) + exchange_drawn(&seed, 300);
        part.count = exchange_drawn(&seed, sizeof bytes);
        part.bytes = bytes;
        mu_exchange_encode_part(writer, &part, i > 0 ? &before : NULL);
        before = part;
    }
}

/* Decoded, and encoded again into a writer. */
static inline void encode_exchange_again(const struct mu_exchange_message *message,
                                         struct mu_rank_run *runs, struct mu_writer *writer)
{
    struct mu_exchange_part part = {.node = MU_SLOT_NONE}, before = {0};
    struct mu_reader at = message->parts;
    if (message->type <= MU_EXCHANGE_PART)
        mu_exchange_read_runs(message, runs);
    mu_exchange_encode(writer, message, runs);
    for (uint32_t i = 0; i < message->part_count; i++) {
        mu_exchange_read_part(&at, &part);
        mu_exchange_encode_part(writer, &part, i > 0 ? &before : NULL);
        before = part;
    }
}

#endif
