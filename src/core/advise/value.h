/* What is said at a boundary: 64 bits joined by AND, and a bounded set of words joined by union.
 *
 * A word says that 'by' accuses 'subject', votes for its return, or takes no part in this group.
 * It is opaque to the agreement.  Values are joined in any order, and joining one twice changes
 * nothing.  When there is no room for all, the lowest words stay, and 'more' says that there were
 * others; whoever said these says them again at the next boundary. */
#ifndef MU_CORE_ADVISE_VALUE_H
#define MU_CORE_ADVISE_VALUE_H

#include "core/base/types.h"

enum mu_advise_says {
    MU_ADVISE_VOID = 0, /* 'by' is of another group of this round: none of this one works */
    MU_ADVISE_ACCUSE,   /* too slow, and lately: 2 of 3 */
    MU_ADVISE_AGREE,    /* it may come back, if another one proposes it */
    MU_ADVISE_PROPOSE,  /* it may come back */
    MU_ADVISE_SAYS_LAST = MU_ADVISE_PROPOSE,
};

typedef uint64_t mu_advise_word;

struct mu_advise_value {
    uint64_t bits;
    const mu_advise_word *words; /* in order, none twice */
    uint32_t count;
    bool more; /* not all words are here */
};

/* A value that is being gathered, in memory of its own. */
struct mu_advise_gather {
    uint64_t bits;
    mu_advise_word *words;
    uint32_t count, capacity;
    bool more;
};

static inline mu_advise_word mu_advise_say(enum mu_advise_says says, mu_slot subject, mu_slot by)
{
    return (uint64_t)says << 48 | (uint64_t)subject << 24 | by;
}

static inline enum mu_advise_says mu_advise_says_of(mu_advise_word word)
{
    return (enum mu_advise_says)(word >> 48);
}

static inline mu_slot mu_advise_subject_of(mu_advise_word word)
{
    return (mu_slot)(word >> 24 & 0xffffff);
}

static inline mu_slot mu_advise_by_of(mu_advise_word word)
{
    return (mu_slot)(word & 0xffffff);
}

/* Of nobody yet: all bits, no word. */
void mu_advise_gather_clear(struct mu_advise_gather *gather);
void mu_advise_gather_add(struct mu_advise_gather *gather, mu_advise_word word);
void mu_advise_gather_join(struct mu_advise_gather *gather, const struct mu_advise_value *value);

/* How it looks to others; points into the gather. */
struct mu_advise_value mu_advise_gather_value(const struct mu_advise_gather *gather);

/* NULL, or the rule that a value breaks which came from outside. */
const char *mu_advise_value_error(const struct mu_advise_value *value, uint32_t size);

#endif
