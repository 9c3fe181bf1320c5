#include "core/advise/test.h"

#include "core/advise/advise.h"

enum { PRINTED_ALPHA_TENTHS = 9, PRINTED_BETA = 4 };

void mu_test_rules_default(struct mu_test_rules *rules)
{
    *rules = (struct mu_test_rules){.threshold = MU_TEST_MEDIAN,
                                    .factor_percent = 200,
                                    .failures = 2,
                                    .printed_factor_percent = 250,
                                    .printed_start_ns = UINT64_C(8000000000)};
}

static void sort(uint64_t *values, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        uint64_t value = values[i];
        uint32_t at = i;
        for (; at > 0 && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

uint64_t mu_test_middle(const uint64_t runs_ns[MU_TEST_RUNS])
{
    uint64_t a = runs_ns[0], b = runs_ns[1], c = runs_ns[2];
    uint64_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

uint64_t mu_test_median(uint64_t *values, uint32_t count)
{
    sort(values, count);
    return values[(count - 1) / 2];
}

/* ---- Algorithm 1 ---- */

static uint64_t weigh(uint64_t old, uint64_t now)
{
    return (old * PRINTED_ALPHA_TENTHS + now * (10 - PRINTED_ALPHA_TENTHS)) / 10;
}

uint64_t mu_printed_limit_ns(const struct mu_test_rules *rules, const struct mu_printed *printed)
{
    if (!printed->any)
        return rules->printed_start_ns;
    return (printed->mean_ns + PRINTED_BETA * printed->deviation_ns) *
           rules->printed_factor_percent / 100;
}

void mu_printed_take(struct mu_printed *printed, uint64_t time_ns)
{
    printed->mean_ns = weigh(printed->mean_ns, time_ns);
    uint64_t off =
        printed->mean_ns < time_ns ? time_ns - printed->mean_ns : printed->mean_ns - time_ns;
    printed->deviation_ns = weigh(printed->deviation_ns, off);
    printed->any = true;
}

/* ---- one that is tested ---- */

void mu_trial_begin(struct mu_trial *trial, mu_slot slot, uint32_t stint)
{
    *trial = (struct mu_trial){.slot = slot, .stint = stint, .time_ns = MU_NEVER};
}

uint64_t mu_trial_limit_ns(const struct mu_trial *trial, const struct mu_test_rules *rules,
                           uint64_t median_ns)
{
    if (rules->threshold == MU_TEST_PRINTED)
        return mu_printed_limit_ns(rules, &trial->printed);
    return median_ns * rules->factor_percent / 100;
}

/* No answer is a failed test. */
static bool note(struct mu_trial *trial, uint64_t limit_ns)
{
    bool failed = trial->time_ns == MU_NEVER || trial->time_ns > limit_ns;
    trial->failed = (uint8_t)((trial->failed << 1 | failed) & ((1 << MU_TEST_HISTORY) - 1));
    if (trial->tests < MU_TEST_HISTORY)
        trial->tests++;
    trial->passes = failed ? 0 : trial->passes + (trial->passes < UINT16_MAX);
    return failed;
}

static bool is_enough(const struct mu_trial *trial, const struct mu_test_rules *rules,
                      uint32_t values)
{
    uint32_t failures = (uint32_t)__builtin_popcount(trial->failed);
    if (rules->threshold == MU_TEST_PRINTED || (rules->broken_rules & MU_ADVISE_BROKEN_ONCE) != 0)
        return true;
    bool rough = values <= MU_TEST_ROUGH && (rules->broken_rules & MU_ADVISE_BROKEN_ROUGH) == 0;
    return failures >= (rough ? MU_TEST_HISTORY : rules->failures);
}

/* The printed mean is fed from all tests where it is the threshold, as printed; else from passed
 * ones, so that it stays what a well one takes. */
bool mu_trial_judge(struct mu_trial *trial, const struct mu_test_rules *rules, uint64_t median_ns,
                    uint32_t values)
{
    bool failed = note(trial, mu_trial_limit_ns(trial, rules, median_ns));
    bool feeds = !failed || rules->threshold == MU_TEST_PRINTED;
    if (trial->time_ns != MU_NEVER && feeds)
        mu_printed_take(&trial->printed, trial->time_ns);
    trial->last_ns = trial->time_ns;
    trial->time_ns = MU_NEVER;
    if (!failed || !is_enough(trial, rules, values))
        return false;
    trial->accused = true;
    return true;
}
