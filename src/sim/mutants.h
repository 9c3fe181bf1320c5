/* Rules broken on purpose, one at a time: a checker that misses one is too weak. */
#ifndef MU_SIM_MUTANTS_H
#define MU_SIM_MUTANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whose rule is broken. */
enum sim_mutant_of {
    SIM_SPREAD, /* and of the link */
    SIM_RING,
    SIM_CENTRAL,
    SIM_AGREE,
    SIM_GATHER,
    SIM_VIEW,
    SIM_ADVISE,
};

struct sim_mutant {
    const char *name;  /* as on the command line */
    const char *about; /* what is broken */
    uint32_t rule;     /* enum mu_broken_rule, mu_detect_broken, mu_central_broken,
                          mu_agree_broken, mu_allgather_broken, mu_view_broken or
                          mu_advise_broken */
    enum sim_mutant_of of;
};

extern const struct sim_mutant sim_mutants[];
extern const size_t sim_mutant_count;

/* NULL when there is none of that name. */
const struct sim_mutant *sim_mutant_find(const char *name);

/* "spread", "ring", "central", "agree", "gather", "view", "advise". */
const char *sim_mutant_of_name(enum sim_mutant_of of);

struct sim_mutant_result {
    bool caught;
    const char *by; /* "check spread", "explore spread", "explore link", "check ring", ... */
    char law[16];
    char message[256];
    uint64_t seed; /* of check; 0 for explore */
    uint32_t nodes;
    uint32_t trace_length; /* of explore */
};

/* Tries the explorers first, since they give the shortest trace, then random worlds; rules of
 * detectors, in random worlds only; of exchanges, by the explorer only. */
void sim_mutant_try(const struct sim_mutant *mutant, struct sim_mutant_result *result);

#endif
