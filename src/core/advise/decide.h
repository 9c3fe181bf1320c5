/* From one group to the next: a function of what was agreed, the same at all. */
#ifndef MU_CORE_ADVISE_DECIDE_H
#define MU_CORE_ADVISE_DECIDE_H

#include "core/advise/cluster.h"
#include "core/advise/value.h"

struct mu_decide_rules {
    enum mu_advise_assignment assignment;
    uint32_t members_min;  /* slowness alone leaves at least so many */
    uint32_t broken_rules; /* enum mu_advise_broken */
};

/* What a boundary has decided. */
struct mu_advise_decision {
    struct mu_advise_value value;
    const mu_slot *failed; /* in order; who took part and is not counted any more */
    uint32_t failed_count;
};

/* Is somebody in it of another group? */
bool mu_advise_decision_is_void(const struct mu_decide_rules *rules,
                                const struct mu_advise_decision *decision);

/* The group after 'from'.  'to' has memory of its own; 'tally' has room for a number for each word.
 * False: not all that changed fits into 'to'. */
bool mu_advise_decide(const struct mu_decide_rules *rules, const struct mu_advise_group *from,
                      const struct mu_advise_decision *decision, uint32_t *tally,
                      struct mu_advise_group *to);

/* Passes in a row after which a tester proposes that one comes back, which is out in this stint. */
uint32_t mu_advise_need(uint32_t zeta, uint32_t count);

#endif
