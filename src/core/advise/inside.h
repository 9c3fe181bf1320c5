/* The inside of one that takes part in recommended groups, and what its parts offer each other. */
#ifndef MU_CORE_ADVISE_INSIDE_H
#define MU_CORE_ADVISE_INSIDE_H

#include "core/advise/advise.h"

enum { MU_ADVISE_PAST = 4 }; /* own groups that are remembered by their keys */

/* A group besides the own one: this one comes or leaves in it; or somebody has told of it, and it
 * is not clear yet whether this one will decide it, too. */
struct mu_advise_other {
    bool used;
    bool said;    /* that it is there: the boundary of 'group' will be decided */
    bool decided; /* 'next' is what came of it; a member's word for that is missing */
    bool ready;   /* and is there, but this one has said to be no member */
    struct mu_advise_group group, next;
};

struct mu_advise {
    struct mu_advise_config config;
    bool works;
    bool contributed;             /* to the boundary of its own group */
    bool joined;                  /* the agreement after 'refounds' */
    uint32_t refounds, called;    /* the last one decided, and the last one heard of */
    struct mu_advise_group group; /* it works in that one; else the newest that it knows */
    struct mu_advise_group next;  /* scratch */
    struct mu_advise_other *others;
    struct mu_advise_key past[MU_ADVISE_PAST];
    uint32_t past_at;
    struct mu_advise_key begun; /* the last boundary heard of */
    struct mu_roster dead;
    /* tests */
    struct mu_trial *trials, *trials_old;
    uint32_t trial_count;
    uint32_t trial_stint;         /* own count when these trials began */
    uint64_t median_ns;           /* of the last interval that counted; 0: none */
    uint64_t *times;              /* scratch */
    mu_slot *tested;              /* scratch */
    uint32_t *tally;              /* scratch */
    struct mu_advise_gather said; /* what it has contributed to its own group's boundary */
    mu_advise_word *accused;      /* scratch: in this step */
    mu_advise_word void_word;
};

static inline bool mu_advise_is_broken(const struct mu_advise *advise, uint32_t rule)
{
    return (advise->config.broken_rules & rule) != 0;
}

struct mu_advise_effect *mu_advise_add(struct mu_advise_update *update,
                                       enum mu_advise_effect_type type);
void mu_advise_fault(struct mu_advise_update *update, enum mu_fault fault);

/* ---- judge.c: tests ---- */

/* A round begins: who is tested now, and what is known of them. */
void mu_advise_retest(struct mu_advise *advise, struct mu_advise_update *update);
void mu_advise_interval(struct mu_advise *advise, const struct mu_advise_event *event,
                        struct mu_advise_update *update);
void mu_advise_answer(struct mu_advise *advise, const struct mu_advise_event *event);

/* Gathers what this one says at its boundary; true: there is any word. */
bool mu_advise_gather_words(struct mu_advise *advise);

/* ---- round.c: the own group's boundary ---- */

struct mu_decide_rules mu_advise_decide_rules(const struct mu_advise *advise);
void mu_advise_contribute(struct mu_advise *advise, uint64_t bits, struct mu_advise_update *update);
void mu_advise_arrive(struct mu_advise *advise, uint64_t bits, struct mu_advise_update *update);
void mu_advise_begun(struct mu_advise *advise, const struct mu_advise_key *key,
                     struct mu_advise_update *update);
void mu_advise_decided(struct mu_advise *advise, const struct mu_advise_event *event,
                       struct mu_advise_update *update);

/* The present group is another one. */
void mu_advise_enter(struct mu_advise *advise, uint64_t bits, struct mu_advise_update *update);
void mu_advise_post_group(struct mu_advise *advise, struct mu_advise_update *update);

/* ---- other.c: groups of which it is no member, or not yet ---- */

void mu_advise_hear_group(struct mu_advise *advise, const struct mu_advise_group *group,
                          struct mu_advise_update *update);
void mu_advise_other_decided(struct mu_advise *advise, const struct mu_advise_key *key,
                             const struct mu_advise_decision *decision,
                             struct mu_advise_update *update);

/* It takes part in a group's boundary without work: says so. */
void mu_advise_attend(struct mu_advise *advise, const struct mu_advise_group *group,
                      struct mu_advise_update *update);

/* The own group has changed: which others are not it? */
void mu_advise_settle(struct mu_advise *advise, struct mu_advise_update *update);

/* Those that were only waiting for the end of an agreement of all. */
void mu_advise_thaw(struct mu_advise *advise, struct mu_advise_update *update);

/* ---- refound.c: when all members have failed ---- */

void mu_advise_call(struct mu_advise *advise, struct mu_advise_update *update);
void mu_advise_look(struct mu_advise *advise, struct mu_advise_update *update);
void mu_advise_hear_refound(struct mu_advise *advise, uint32_t number,
                            struct mu_advise_update *update);
void mu_advise_refounded(struct mu_advise *advise, const struct mu_advise_event *event,
                         struct mu_advise_update *update);

#endif
