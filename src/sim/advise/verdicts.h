/* How good verdicts are: false ones, steps found, who stays out, and stalls of all, with the
 * shipping tests on synthetic times.
 *
 * A run takes 1 ms times lognormal noise; in a small part of all runs it is in a tail besides,
 * which is a factor of Pareto's law.  Eight values are in a median. */
#ifndef MU_SIM_ADVISE_VERDICTS_H
#define MU_SIM_ADVISE_VERDICTS_H

#include "core/advise/test.h"

struct sim_verdicts {
    struct mu_test_rules rules;
    uint32_t runs;         /* of one test: 3, of which the middle one counts, or 1 */
    uint32_t noise_permil; /* standard deviation of the logarithm */
    uint32_t tail_permil;  /* of the runs */
    uint64_t tests;        /* for false verdicts */
    uint32_t trials;       /* of steps, and of stalls */
    uint64_t seed;
};

struct sim_verdicts_result {
    double false_per_100000; /* accusations in ordinary times */
    double found_percent;    /* steps to 3x accused within 3 tests */
    double out_percent;      /* later tests of the slow one that fail: does it stay out? */
    double stall_percent;    /* testers that accuse somebody when all are 3x slower at once */
};

void sim_verdicts(const struct sim_verdicts *verdicts, struct sim_verdicts_result *result);

#endif
