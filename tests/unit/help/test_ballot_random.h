/* Random messages about agreements that are good, from one seed: for tests/unit/wire/test_ballot.c
 * and tests/fuzz. */
#ifndef TEST_BALLOT_RANDOM_H
#define TEST_BALLOT_RANDOM_H

#include "test_wire_random.h"

#include "wire/local/ballot.h"

static inline struct mu_ballot random_ballot(struct random *r)
{
    static const uint8_t types[] = {MU_BALLOT_JOIN, MU_BALLOT_CALL, MU_BALLOT_JOINED,
                                    MU_BALLOT_GONE, MU_BALLOT_DECIDED};
    struct mu_ballot ballot;
    memset(&ballot, 0, sizeof ballot);
    ballot.type = types[random_below(r, sizeof types)];
    switch ((enum mu_ballot_type)ballot.type) {
    case MU_BALLOT_JOIN:
        ballot.join.rows = (uint16_t)random_between(r, 0, MU_BALLOT_ROWS_MAX);
        for (uint32_t i = 0, at = 0; i < ballot.join.rows; i++) {
            ballot.join.row[i].first = at + (uint32_t)random_below(r, 1000);
            ballot.join.row[i].count = 1 + (uint32_t)random_below(r, 1000);
            at = ballot.join.row[i].first + ballot.join.row[i].count + 1;
        }
        break;
    case MU_BALLOT_CALL:
        ballot.call.bits = random_between(r, 0, UINT64_MAX);
        ballot.call.acked = (uint32_t)random_between(r, 0, UINT32_MAX);
        break;
    case MU_BALLOT_JOINED:
        ballot.joined.group = random_between(r, 0, UINT64_MAX);
        ballot.joined.size = (uint32_t)random_between(r, 1, UINT32_MAX);
        break;
    case MU_BALLOT_GONE:
        ballot.gone.rows = (uint16_t)random_between(r, 1, MU_BALLOT_ROWS_MAX);
        for (uint32_t i = 0; i < ballot.gone.rows; i++) {
            ballot.gone.row[i].first = (uint32_t)random_between(r, 0, UINT32_MAX);
            ballot.gone.row[i].count = (uint32_t)random_between(
                r, 1,
                (uint64_t)UINT32_MAX - ballot.gone.row[i].first + 1 > UINT32_MAX
                    ? UINT32_MAX
                    : (uint64_t)UINT32_MAX - ballot.gone.row[i].first + 1);
            ballot.gone.kind[i] = (uint8_t)(1 + random_below(r, 2));
        }
        break;
    case MU_BALLOT_DECIDED:
        ballot.decided.round = random_between(r, 1, UINT64_MAX);
        ballot.decided.bits = random_between(r, 0, UINT64_MAX);
        ballot.decided.error = random_below(r, 2) == 0;
        ballot.decided.more = random_below(r, 2) == 0;
        break;
    }
    return ballot;
}

#endif
