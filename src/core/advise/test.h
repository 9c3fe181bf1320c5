/* The verdict of one test: a time against the median of the members in the same interval.
 *
 * docs/spec/advise.md says why not against what the tested one took before: a slow one would be its
 * own norm soon.  That threshold, as the paper prints it (Algorithm 1), is kept beside, to compare
 * and to explain. */
#ifndef MU_CORE_ADVISE_TEST_H
#define MU_CORE_ADVISE_TEST_H

#include "core/base/types.h"

enum {
    MU_TEST_RUNS = 3,       /* of one test; the middle one counts */
    MU_TEST_HISTORY = 3,    /* tests that a verdict looks at */
    MU_TEST_ROUGH = 2,      /* with so few values the median is rough: 3 of 3 */
    MU_TEST_VALUES_MIN = 3, /* without a run of the tester's own, a median of fewer is none */
};

enum mu_test_threshold {
    MU_TEST_MEDIAN = 1, /* F times the lower median */
    MU_TEST_PRINTED, /* Algorithm 1: factor times (mean + beta deviations); one failure accuses */
};

/* Algorithm 1: weighted mean and deviation. */
struct mu_printed {
    uint64_t mean_ns, deviation_ns;
    bool any; /* a time was taken in */
};

struct mu_test_rules {
    enum mu_test_threshold threshold;
    uint32_t factor_percent;         /* F: 200 */
    uint32_t failures;               /* of the last three tests, to accuse: 2 */
    uint32_t printed_factor_percent; /* 250 */
    uint64_t printed_start_ns;       /* the threshold before the first time: 8 s */
    uint32_t broken_rules;           /* enum mu_advise_broken */
};

/* What a tester knows of one that it tests, in the stints that both are in. */
struct mu_trial {
    mu_slot slot;
    uint32_t stint;   /* its event counter */
    uint32_t passes;  /* in a row */
    uint8_t failed;   /* of the last tests, a bit each, the latest lowest */
    uint8_t tests;    /* up to MU_TEST_HISTORY */
    bool accused;     /* in this stint */
    bool asked;       /* for this interval's time */
    uint64_t time_ns; /* of this interval; MU_NEVER: none */
    uint64_t last_ns; /* of the last interval that counted */
    struct mu_printed printed;
};

void mu_test_rules_default(struct mu_test_rules *rules);

uint64_t mu_test_middle(const uint64_t runs_ns[MU_TEST_RUNS]);

/* The lower median; count > 0.  Sorts the values. */
uint64_t mu_test_median(uint64_t *values, uint32_t count);

/* The limit by Algorithm 1 for the next time, and how that is taken in. */
uint64_t mu_printed_limit_ns(const struct mu_test_rules *rules, const struct mu_printed *printed);
void mu_printed_take(struct mu_printed *printed, uint64_t time_ns);

/* A stint begins. */
void mu_trial_begin(struct mu_trial *trial, mu_slot slot, uint32_t stint);

/* Judges what was measured in this interval (trial->time_ns) against the median, or by the printed
 * threshold.  'values': how many the median is of.  Returns whether that is to be accused, now. */
bool mu_trial_judge(struct mu_trial *trial, const struct mu_test_rules *rules, uint64_t median_ns,
                    uint32_t values);

/* The limit that the last judgement used, for who explains it. */
uint64_t mu_trial_limit_ns(const struct mu_trial *trial, const struct mu_test_rules *rules,
                           uint64_t median_ns);

#endif
