/* A notice: one verdict, or any other payload, on its way to everybody. */
#ifndef MU_CORE_BASE_NOTICE_H
#define MU_CORE_BASE_NOTICE_H

#include "core/base/types.h"

enum mu_notice_kind {
    MU_NOTICE_NODE_DEAD = 1, /* a node, with all that ran on it */
    MU_NOTICE_PROC_DEAD = 2, /* one process */
    MU_NOTICE_PAYLOAD = 3,   /* anything else that everybody must hear */
};

/* Who this news is about, the same wherever it was seen first: several neighbours may report one
 * death at once.  'index' counts within a 'stream', so that what is known can be kept as ranges:
 *   a node's death      stream: the incarnation; bit 32: it is proven   index: the slot
 *   a process's death   stream: job and its incarnation  index: the rank
 *   a payload           stream: origin and incarnation   index: its sequence, from 1 */
struct mu_notice_id {
    uint64_t stream;
    uint64_t index;
    uint8_t kind; /* enum mu_notice_kind */
};

struct mu_notice {
    struct mu_notice_id id;
    mu_slot root;    /* where its tree hangs: the reporter, or the dead node itself when its
                        neighbours all see the death by themselves */
    uint16_t hops;   /* nodes it has passed through */
    uint16_t length; /* of the payload */
    uint64_t age_ns; /* since it was first reported, summed hop by hop: there is no shared clock */
    const uint8_t *payload;
};

struct mu_notice_id mu_notice_node(mu_slot slot, uint32_t incarnation);

/* The death of a node with proof: a notice of its own, which takes the place of the one without.
 * Nobody makes it but one who saw the proof, or was told it. */
struct mu_notice_id mu_notice_proof(mu_slot slot, uint32_t incarnation);
bool mu_notice_is_proof(const struct mu_notice_id *id);

/* Of a node's death. */
static inline uint32_t mu_notice_incarnation(const struct mu_notice_id *id)
{
    return (uint32_t)id->stream;
}

struct mu_notice_id mu_notice_process(uint32_t job, uint32_t incarnation, uint32_t rank);
struct mu_notice_id mu_notice_payload(mu_slot origin, uint32_t incarnation, uint64_t sequence);

/* Negative, zero or positive, as for memcmp. */
int mu_notice_compare(const struct mu_notice_id *a, const struct mu_notice_id *b);

#endif
