/* How long faults take to be found, and the paper's estimate. */
#include "core/central/latency.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
/* after those above */
#include <cmocka.h>

enum { MS = 1000 * 1000 };

static void says_nothing_below_eight_samples(void **unused)
{
    (void)unused;
    struct mu_latency latency = {0};
    for (int i = 0; i < 7; i++) {
        mu_latency_add(&latency, 5 * MS, MS);
        assert_int_equal(mu_latency_estimate_ns(&latency, MS), 0);
    }
    mu_latency_add(&latency, 5 * MS, MS);
    assert_int_equal(mu_latency_estimate_ns(&latency, MS), 6 * MS);
    assert_int_equal(latency.judged, 0);
}

static void knows_mean_and_deviation(void **unused)
{
    (void)unused;
    struct mu_latency latency = {0};
    static const uint64_t took_ms[] = {2, 4, 4, 4, 5, 5, 7, 9};
    for (size_t i = 0; i < 8; i++)
        mu_latency_add(&latency, took_ms[i] * MS, 0);
    assert_int_equal(latency.mean_ns, 5 * MS);
    /* sum of squares 32, divided by 7 */
    assert_in_range(mu_latency_sigma_ns(&latency), 2137 * 1000, 2139 * 1000);
}

static void counts_what_exceeds_the_estimate(void **unused)
{
    (void)unused;
    struct mu_latency latency = {0};
    for (int i = 0; i < 1000; i++)
        mu_latency_add(&latency, (uint64_t)(100 + i % 10) * MS, MS);
    assert_int_equal(latency.judged, 992);
    assert_int_equal(latency.exceeded, 0);
    mu_latency_add(&latency, 200 * MS, MS);
    assert_int_equal(latency.exceeded, 1);
}

static void holds_an_hour_and_more(void **unused)
{
    (void)unused;
    struct mu_latency latency = {0};
    for (int i = 0; i < 100000; i++)
        mu_latency_add(&latency, i % 2 == 0 ? 0 : MU_NEVER, 0);
    uint64_t half_hour_ns = UINT64_C(1800) * 1000 * MS;
    assert_in_range(latency.mean_ns, half_hour_ns - MS, half_hour_ns + MS);
    assert_true(mu_latency_sigma_ns(&latency) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_nothing_below_eight_samples),
        cmocka_unit_test(knows_mean_and_deviation),
        cmocka_unit_test(counts_what_exceeds_the_estimate),
        cmocka_unit_test(holds_an_hour_and_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
