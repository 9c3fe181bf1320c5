/* What a daemon and a process say about agreements, on a socket of their own: one for each group
 * that the process is in.  docs/local.md has every byte.
 *
 * The conversation begins as every other does (HELLO of wire/local/local.h, with the role of a
 * voter), and may end in its REFUSED.  Types differ from those of wire/local/local.h. */
#ifndef MU_WIRE_LOCAL_BALLOT_H
#define MU_WIRE_LOCAL_BALLOT_H

#include "wire/local/local.h"

enum mu_ballot_type {
    /* to the daemon */
    MU_BALLOT_JOIN = 16, /* first, and once: the group that this socket is for */
    MU_BALLOT_CALL,      /* a contribution to its next agreement */
    /* from the daemon */
    MU_BALLOT_JOINED = 48,
    MU_BALLOT_GONE,    /* these members have failed or left, by the decision that follows */
    MU_BALLOT_DECIDED, /* the answer to CALL */
};

enum {
    MU_BALLOT_ROWS_MAX = 28, /* runs of neighbouring ranks of one group, and of one GONE */
    MU_BALLOT_BYTES_MAX = 3 + 9 * MU_BALLOT_ROWS_MAX,
};

enum mu_ballot_kind { MU_BALLOT_FAILED = 1, MU_BALLOT_LEFT };

struct mu_ballot_row {
    uint32_t first, count; /* ranks */
};

struct mu_ballot {
    uint8_t type; /* enum mu_ballot_type */
    union {
        struct {
            uint16_t rows;                                /* 0: all of the job */
            struct mu_ballot_row row[MU_BALLOT_ROWS_MAX]; /* in order, with gaps between them */
        } join;
        struct {
            uint64_t bits;
            uint32_t acked; /* so many of the failed, in the order in which they were told */
        } call;
        struct {
            uint64_t group;
            uint32_t size; /* members */
        } joined;
        struct {
            uint16_t rows; /* at least 1 */
            struct mu_ballot_row row[MU_BALLOT_ROWS_MAX];
            uint8_t kind[MU_BALLOT_ROWS_MAX]; /* enum mu_ballot_kind */
        } gone;
        struct {
            uint64_t round; /* agreements of the group, from 1 */
            uint64_t bits;
            bool error; /* one of the failed is not acknowledged by all */
            bool more;  /* more have gone than the decision tells */
        } decided;
    };
};

/* NULL, or the rule that the rows of a group break. */
const char *mu_ballot_rows_error(const struct mu_ballot_row *row, uint32_t rows);

/* Returns how many bytes; asserts what breaks a rule. */
size_t mu_ballot_encode(const struct mu_ballot *ballot, uint8_t bytes[MU_BALLOT_BYTES_MAX]);

/* NULL, or the rule that the packet breaks; then *ballot is worth nothing. */
const char *mu_ballot_decode(const uint8_t *bytes, size_t count, struct mu_ballot *ballot);

#endif
