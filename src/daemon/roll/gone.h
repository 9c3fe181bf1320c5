/* Who of a job, or of the cluster, is gone: each once, in the order in which it became known here.
 *
 * It is complete, where the journal only has the last events: the state is told from it.  Room for
 * everybody is taken at the start, but memory that was never written costs nothing, so what it
 * takes grows with those who are gone: 40 bytes each, and 48 more for a failure, whose evidence is
 * kept.  Of those that left only when is kept.  A node that comes back and dies again takes one
 * more place. */
#ifndef MU_DAEMON_ROLL_GONE_H
#define MU_DAEMON_ROLL_GONE_H

#include "wire/local/local.h"

struct mu_gone {
    uint64_t serial;
    uint64_t learned_ns, age_ns;
    uint32_t index; /* rank or slot */
    uint32_t proof; /* its place there, plus 1; 0: it left */
    uint16_t hops;
    bool back; /* it has come back since: whoever is told the state is not told this */
};

struct mu_proof {
    uint8_t bytes[MU_EVIDENCE_BYTES_MAX - MU_EVIDENCE_PATH_MAX]; /* encoded: enough for most */
    uint16_t count;
    uint8_t *longer; /* what does not fit there; NULL: it does */
};

/* Copies the evidence; to be dropped.  And back. */
void mu_proof_keep(struct mu_proof *proof, const struct mu_evidence *evidence);
void mu_proof_read(const struct mu_proof *proof, struct mu_evidence *evidence);
void mu_proof_drop(struct mu_proof *proof);

struct mu_gone_list {
    uint32_t size;  /* ranks or slots */
    uint32_t count; /* that are gone, or were */
    uint32_t room, proof_count;
    uint64_t *is_gone; /* a bit each */
    struct mu_gone *gone;
    struct mu_proof *proofs;
};

/* False: no memory. */
bool mu_gone_init(struct mu_gone_list *list, uint32_t size);
void mu_gone_free(struct mu_gone_list *list);

bool mu_gone_has(const struct mu_gone_list *list, uint32_t index);

/* One that is not there yet; the serial is above all others'. */
void mu_gone_add(struct mu_gone_list *list, uint32_t index, const struct mu_local_event *event);

/* One that is there has come back. */
void mu_gone_back(struct mu_gone_list *list, uint32_t index);

/* There is proof of one that is there and was only silent: whoever is told of it from now on is
 * told the proof.  One that has proof already stays as it is. */
void mu_gone_prove(struct mu_gone_list *list, uint32_t index, const struct mu_evidence *evidence);

/* How many became known before the event with that serial. */
uint32_t mu_gone_before(const struct mu_gone_list *list, uint64_t serial);

/* The place of one that is there; UINT32_MAX: it is not. */
uint32_t mu_gone_place(const struct mu_gone_list *list, uint32_t index);

/* The first one from the i-th on that has not come back. */
uint32_t mu_gone_next(const struct mu_gone_list *list, uint32_t i);

/* Serial of the i-th; UINT64_MAX when there are not so many. */
uint64_t mu_gone_serial(const struct mu_gone_list *list, uint32_t i);

/* The i-th: all but subject, job, rank and node, which the caller knows; evidence.node is 'node'.
 */
void mu_gone_event(const struct mu_gone_list *list, uint32_t i, mu_slot node,
                   struct mu_local_event *event);

#endif
