/* What daemons post to everybody besides deaths: the payload of a notice of kind PAYLOAD.
 * docs/wire.md has every byte. */
#ifndef MU_WIRE_PEER_NEWS_H
#define MU_WIRE_PEER_NEWS_H

#include "core/base/types.h"
#include "wire/base/bytes.h"
#include "wire/base/evidence.h"

enum mu_news_type {
    MU_NEWS_ENDED = 1, /* these processes of a job ended on one node, all in the same way */
    MU_NEWS_KILL = 2,  /* an operator wants a job to end */
    MU_NEWS_TIMES = 3, /* an operator wants other heartbeats; job 0 */
    MU_NEWS_GROUP = 4, /* processes of a job agree, as a group that not all may know yet */
    MU_NEWS_QUIET = 5, /* a process lives, but has stopped the heartbeats that it had promised */
    MU_NEWS_GONE = 6,  /* a node's witness: no process of it is left; job 0 */
    MU_NEWS_LAST = MU_NEWS_GONE,
};

/* As many rows as fit into a payload of the default length. */
enum { MU_NEWS_ROWS_MAX = 28, MU_NEWS_ENDED_ROWS_MAX = 16, MU_NEWS_BYTES_MAX = 256 };

struct mu_news {
    uint8_t type; /* enum mu_news_type */
    uint32_t job;
    union {
        struct {
            struct mu_evidence evidence; /* MU_CAUSE_EXIT; pid 0; seen: the first of them */
            uint64_t waited_ns;          /* from then until it was posted */
            uint32_t rows;               /* at least 1, at most mu_news_ended_rows() */
            struct {
                uint32_t first, count; /* ranks; count at least 1 */
                uint32_t pid;          /* of the first; the others' count up.  0: they have none */
            } row[MU_NEWS_ENDED_ROWS_MAX];
        } ended;
        struct {
            uint8_t signal; /* 1 .. 64 */
        } kill;
        struct {
            uint32_t instance; /* groups of the same members are told apart by it */
            uint32_t rows;     /* 0: all of the job */
            struct {
                uint32_t first, count; /* ranks; count at least 1 */
            } row[MU_NEWS_ROWS_MAX];   /* in order, with gaps between them */
        } group;
        struct {
            uint32_t rank;
            mu_slot node; /* where it runs */
        } quiet;
        struct {
            mu_slot node;
            uint32_t incarnation;    /* of it: at least 1 */
            struct mu_exit_kind how; /* its daemon ended; as in wire/peer/word.h */
        } gone;
        struct {
            uint64_t period_ns, timeout_ns; /* that pass mu_detect_times_error() */
        } times;
    };
};

/* How many rows fit behind this evidence; at least 1. */
uint32_t mu_news_ended_rows(const struct mu_evidence *evidence);

/* Returns how many bytes, at most MU_NEWS_BYTES_MAX. */
size_t mu_news_encode(const struct mu_news *news, uint8_t bytes[MU_NEWS_BYTES_MAX]);

/* False: the bytes break a rule, and *news is worth nothing. */
bool mu_news_decode(const uint8_t *bytes, size_t count, struct mu_news *news);

#endif
