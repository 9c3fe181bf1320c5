/* What daemons say to each other about exchanges and questions of a job's processes: each is one
 * message of wire/peer/bulk.h.  docs/wire.md has every byte.
 *
 * One message has exactly one encoding.  Nothing is allocated here: lists stay in the bytes, and
 * are read one by one. */
#ifndef MU_WIRE_PEER_EXCHANGE_H
#define MU_WIRE_PEER_EXCHANGE_H

#include "core/base/types.h"
#include "wire/base/bytes.h"

enum { MU_EXCHANGE_VERSION = 1 };

enum mu_exchange_type {
    /* As enum mu_allgather_type. */
    MU_EXCHANGE_UP = 1,
    MU_EXCHANGE_DOWN,
    MU_EXCHANGE_WANT,
    MU_EXCHANGE_PART,
    /* Of one daemon to one other: */
    MU_EXCHANGE_QUESTION,
    MU_EXCHANGE_ANSWER,
    MU_EXCHANGE_TYPE_LAST = MU_EXCHANGE_ANSWER,
};

/* So many ranks from 'first' on. */
struct mu_rank_run {
    uint32_t first, count;
};

/* What one node has given. */
struct mu_exchange_part {
    mu_slot node;
    const uint8_t *bytes;
    size_t count;
};

struct mu_exchange_message {
    uint8_t type; /* enum mu_exchange_type */
    uint32_t job;
    /* UP, DOWN, WANT, PART: */
    uint64_t tag;
    uint64_t round;
    uint32_t run_count;           /* of who takes part, in order, with gaps between them */
    uint32_t part_count;          /* WANT: 0 */
    struct mu_reader runs, parts; /* decoded: where they are, for the functions below */
    /* QUESTION, ANSWER: */
    uint64_t number; /* that the asker gave it */
    bool hosted;     /* QUESTION: processes of the job are where it goes */
    const uint8_t *bytes;
    size_t count;
};

/* What comes before runs and parts, or all of a question or an answer. */
void mu_exchange_encode(struct mu_writer *writer, const struct mu_exchange_message *message,
                        const struct mu_rank_run *runs);

/* After that, part by part, by increasing node: 'before' is the one before it; NULL: none. */
void mu_exchange_encode_part(struct mu_writer *writer, const struct mu_exchange_part *part,
                             const struct mu_exchange_part *before);

/* NULL, or the rule that the bytes break; then *message is worth nothing.  All of it is checked
 * but what needs the job: whether it has these ranks. */
const char *mu_exchange_decode(const uint8_t *bytes, size_t count,
                               struct mu_exchange_message *message);

/* All runs of a decoded message, into room for so many. */
void mu_exchange_read_runs(const struct mu_exchange_message *message, struct mu_rank_run *runs);

/* The parts one by one: *at begins as message->parts, *part as all zero with MU_SLOT_NONE as its
 * node. */
void mu_exchange_read_part(struct mu_reader *at, struct mu_exchange_part *part);

/* NULL, or the rule that runs of ranks break: not empty, in order, with gaps between them. */
const char *mu_exchange_runs_error(const struct mu_rank_run *runs, uint32_t count);

#endif
