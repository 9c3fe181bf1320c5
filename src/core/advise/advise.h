/* Recommended groups: who is well enough to be given work, decided at each round's boundary.
 *
 * After Camargo and Duarte, "Running resilient MPI applications on a Dynamic Group of Recommended
 * Processes" (2018); docs/spec/advise.md has the rules, the laws, and where we leave the paper.
 *
 * A door like the others, for one of those that take part: events in, effects out, no clock.  The
 * driver measures (its own three runs, once an interval), asks and answers, and carries two
 * services that muster has: a reliable broadcast for notices, and agreements.
 *
 * What it needs of an agreement: all that take part contribute once, or fail.  All that live
 * decide, the same; one that fails may have decided otherwise.  A decision has the contributions of
 * all that live, and lists as failed whoever is not in it.  One boundary is one agreement, named by
 * its key; REFOUND k is one of all slots. */
#ifndef MU_CORE_ADVISE_ADVISE_H
#define MU_CORE_ADVISE_ADVISE_H

#include "core/advise/decide.h"
#include "core/advise/test.h"
#include "core/base/roster.h"
#include "core/base/fingerprint.h"

/* ---- configuration ---- */

/* Rules that a test breaks on purpose.  Zero in every daemon. */
enum mu_advise_broken {
    MU_ADVISE_BROKEN_MEDIAN = 1u << 0,    /* against the first median, for ever */
    MU_ADVISE_BROKEN_OUTSIDERS = 1u << 1, /* times of those that are out are in the median */
    MU_ADVISE_BROKEN_LATE = 1u << 2,      /* an interval counts although its tester was late */
    MU_ADVISE_BROKEN_ONCE = 1u << 3,      /* one failed test accuses */
    MU_ADVISE_BROKEN_ROUGH = 1u << 4,     /* 2 of 3 with a rough median, too */
    MU_ADVISE_BROKEN_STINT = 1u << 5,     /* a new stint begins with the old history */
    MU_ADVISE_BROKEN_COUNTS = 1u << 6,    /* and with the old accusations */
    MU_ADVISE_BROKEN_STRANGERS = 1u << 7, /* whoever takes part accuses and votes */
    MU_ADVISE_BROKEN_LOCAL = 1u << 8,     /* each decides by what it has said itself */
    MU_ADVISE_BROKEN_OWN_WORD = 1u << 9,  /* who leaves takes its accused along */
    MU_ADVISE_BROKEN_MINIMUM = 1u << 10,  /* all but one may leave */
    MU_ADVISE_BROKEN_MAJORITY = 1u << 11, /* who is proposed comes back */
    MU_ADVISE_BROKEN_TESTERS = 1u << 12,  /* a majority of all, and not of its testers */
    MU_ADVISE_BROKEN_PASSES = 1u << 13,   /* one pass is enough for a vote */
    MU_ADVISE_BROKEN_RECALL = 1u << 14,   /* nobody is called back when too few are left */
    MU_ADVISE_BROKEN_LEAVER = 1u << 15,   /* who leaves takes no part any more */
    MU_ADVISE_BROKEN_COMER = 1u << 16,    /* who comes works as soon as it hears of it */
    MU_ADVISE_BROKEN_FULL = 1u << 17,     /* a group of which others know nothing goes on */
    MU_ADVISE_BROKEN_CONFIRM = 1u << 18,  /* who comes works without a member's word */
    MU_ADVISE_BROKEN_POST = 1u << 19,     /* only the lowest member tells of a new group */
    MU_ADVISE_BROKEN_REFOUND = 1u << 20,  /* when all members have failed nobody does anything */
    MU_ADVISE_BROKEN_CALL = 1u << 21,     /* who wants to found anew tells nobody */
    MU_ADVISE_BROKEN_FREEZE = 1u << 22,   /* one that has said to be no member becomes one */
    MU_ADVISE_BROKEN_GUARD = 1u << 23,    /* members say that they are none */
    MU_ADVISE_BROKEN_BACKOFF = 1u << 24,  /* earlier exits cost nothing */
};

/* Capacities.  Memory is taken once for all of them; running over one is a named fault. */
struct mu_advise_limits {
    uint32_t changed; /* that have ever left or failed, in one era */
    uint32_t tested;  /* by one member */
    uint32_t words;   /* in one decision; beyond it the next one has the rest */
    uint32_t dead;
    uint16_t others; /* groups besides the own one that matter at a time */
};

struct mu_advise_config {
    uint32_t size;
    mu_slot self;
    enum mu_advise_assignment assignment;
    struct mu_test_rules test;
    uint32_t zeta;        /* passes in a row to come back after the first exit */
    uint32_t members_min; /* slowness alone leaves at least so many */
    bool has_program;     /* a round ends when the program arrives; else when there is news */
    bool remote;          /* tests measure the network, too: the tester's own run does not count */
    struct mu_advise_limits limits;
    uint32_t broken_rules; /* enum mu_advise_broken */
};

/* All pairs up to 16, above it clusters; F 2, zeta 5, at least half. */
void mu_advise_config_default(struct mu_advise_config *config, uint32_t size, mu_slot self);

/* NULL, or the rule that the configuration breaks. */
const char *mu_advise_config_error(const struct mu_advise_config *config);

/* ---- notices: by reliable broadcast, to all ---- */

enum mu_advise_notice_type {
    MU_ADVISE_GROUP = 1, /* a group as a member decided it: 'number' and its key name it, whoever
                            posts it */
    MU_ADVISE_REFOUND,   /* join agreement 'number' of all; the number names it */
    MU_ADVISE_ACCUSED,   /* for programs in a hurry, and to explain: nothing here waits for it */
    MU_ADVISE_NOTICE_LAST = MU_ADVISE_ACCUSED,
};

struct mu_advise_notice {
    uint8_t type;
    const struct mu_advise_group *group; /* GROUP */
    uint32_t number; /* REFOUND: from 1 on; GROUP: agreements of all so far, after each of which
                        members may tell of their group again */
    const mu_advise_word *words; /* ACCUSED: all of one interval */
    uint32_t count;
    uint32_t stint; /* ACCUSED: of the accuser */
};

/* ---- what enters ---- */

enum mu_advise_event_type {
    MU_ADVISE_INTERVAL = 1, /* one is over: what was measured is judged, and the next asks go out */
    MU_ADVISE_ANSWER,       /* one that was asked has told its runs of this interval */
    MU_ADVISE_ARRIVE,       /* the program here is at the boundary */
    MU_ADVISE_BEGUN,        /* somebody has contributed to the boundary with this key */
    MU_ADVISE_DECIDED,      /* the boundary with this key */
    MU_ADVISE_REFOUNDED,    /* the agreement 'number' of all */
    MU_ADVISE_HEAR,         /* a notice; not those that this one has posted */
    MU_ADVISE_DEAD,         /* that slot has failed */
};

struct mu_advise_event {
    enum mu_advise_event_type type;
    union {
        struct {
            bool late;    /* the driver's timer was: no measurement of this one counts */
            bool has_run; /* there is an own run */
            uint64_t runs_ns[MU_TEST_RUNS];
        } interval;
        struct {
            mu_slot from;
            uint64_t runs_ns[MU_TEST_RUNS];
        } answer;
        struct {
            uint64_t bits;
        } arrive;
        struct mu_advise_key begun;
        struct {
            struct mu_advise_key key;
            struct mu_advise_decision decision;
        } decided;
        struct {
            uint32_t number;
            bool no_member; /* the AND of what all have said */
            const mu_slot *failed;
            uint32_t failed_count;
        } refounded;
        const struct mu_advise_notice *notice;
        mu_slot dead;
    };
};

/* ---- what leaves ---- */

enum mu_advise_effect_type {
    MU_ADVISE_ASK = 1,    /* 'peer' for its runs */
    MU_ADVISE_POST,       /* a notice to all */
    MU_ADVISE_CONTRIBUTE, /* to the boundary of 'group', whose parts are its participants */
    MU_ADVISE_JOIN,       /* the agreement 'number' of all, with 'no_member' */
    MU_ADVISE_ROUND,      /* 'group' is the present one here, and it works or not */
    MU_ADVISE_FAULT,
};

/* Pointers inside an effect are valid until the next step. */
struct mu_advise_effect {
    enum mu_advise_effect_type type;
    union {
        mu_slot peer;                   /* ASK */
        struct mu_advise_notice notice; /* POST */
        struct {
            const struct mu_advise_group *group;
            struct mu_advise_value value;
        } contribute;
        struct {
            uint32_t number;
            bool no_member;
        } join;
        struct {
            const struct mu_advise_group *group;
            uint64_t bits; /* of those that took part in the boundary before */
            bool works;
        } round;
        enum mu_fault fault;
    };
};

struct mu_advise_update {
    struct mu_advise_effect *effects; /* of the caller, with room for mu_advise_effects_max() */
    uint32_t count;
    uint32_t capacity;
};

/* ---- one that takes part ---- */

struct mu_advise; /* inside.h: for the core and for checkers that look inside */

size_t mu_advise_bytes(const struct mu_advise_config *config);

/* As mu_node_init(): all state lives in 'memory' (64-byte aligned, mu_advise_bytes() long).  All
 * begin as members in round 1. */
struct mu_advise *mu_advise_init(void *memory, size_t bytes, const struct mu_advise_config *config);

uint32_t mu_advise_effects_max(const struct mu_advise_config *config);

/* The one door. */
void mu_advise_step(struct mu_advise *advise, const struct mu_advise_event *event,
                    struct mu_advise_update *update);

/* Does it work in the present round? */
bool mu_advise_works(const struct mu_advise *advise);

/* The group that it works in; of one that does not, the newest that it knows. */
const struct mu_advise_group *mu_advise_group_of(const struct mu_advise *advise);

/* What is known of one that it tests, and the median of the last interval that counted (0: none
 * yet); NULL: it does not test that one. */
const struct mu_trial *mu_advise_trial(const struct mu_advise *advise, mu_slot slot,
                                       uint64_t *median_ns);

/* What the next step depends on, and nothing else. */
void mu_advise_fingerprint(const struct mu_advise *advise, struct mu_fingerprint *print);

#endif
