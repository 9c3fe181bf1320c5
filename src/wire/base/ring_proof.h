/* What the observer of a node knew when it declared it dead: part of the evidence.  docs/local.md
 * has every byte; the rules that are named are those of docs/spec/ring.md.  All spans end at the
 * declaration. */
#ifndef MU_WIRE_BASE_RING_PROOF_H
#define MU_WIRE_BASE_RING_PROOF_H

#include "core/ring/ring.h"
#include "wire/base/bytes.h"

enum { MU_RING_PROOF_BYTES_MAX = 49 + 5 * MU_DETECT_HELPERS };

struct mu_ring_proof {
    uint64_t period_ns, timeout_ns; /* that it was observed with; 0 and 0: there is no such proof */
    uint64_t silent_ns;             /* since it was last heard */
    uint64_t suspect_ns;            /* since its beat was late */
    uint64_t lag_ns;                /* of the observer itself, given back to the suspect */
    uint32_t probes;                /* sent to the suspect meanwhile */
    mu_slot vouched_by;             /* who answered the observer; MU_SLOT_NONE: nobody was there */
    uint8_t helper_count;           /* asked whether they reach the suspect */
    struct {
        mu_slot slot;
        uint8_t reach; /* enum mu_reach, up to MU_REACH_DEAD */
    } helpers[MU_DETECT_HELPERS];
};

struct mu_ring_proof mu_ring_proof_of(const struct mu_detect_evidence *evidence);

/* What breaks a rule, or NULL. */
const char *mu_ring_proof_error(const struct mu_ring_proof *proof);

void mu_write_ring_proof(struct mu_writer *writer, const struct mu_ring_proof *proof);
void mu_read_ring_proof(struct mu_reader *reader, struct mu_ring_proof *proof);

#endif
