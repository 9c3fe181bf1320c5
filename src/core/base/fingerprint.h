/* A 128-bit hash of a state, for the explorer's set of visited states.  Not a secret one. */
#ifndef MU_CORE_BASE_FINGERPRINT_H
#define MU_CORE_BASE_FINGERPRINT_H

#include "core/base/types.h"

struct mu_fingerprint {
    uint64_t a, b;
};

void mu_fingerprint_init(struct mu_fingerprint *print);

/* Order matters. */
void mu_fingerprint_add(struct mu_fingerprint *print, uint64_t value);

/* Order does not matter: for members of a set, each with a fingerprint of its own. */
void mu_fingerprint_add_member(struct mu_fingerprint *sum, const struct mu_fingerprint *member);

#endif
