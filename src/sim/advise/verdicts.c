#include "sim/advise/verdicts.h"

#include "sim/base/random.h"

#include <math.h>
#include <string.h>

enum {
    VALUES = 8,       /* of one median: the tester's own and seven others */
    WARM = 60,        /* tests before anything is counted: a threshold has settled */
    STEP = 3,         /* times slower */
    FOUND_WITHIN = 3, /* tests */
    LATER_FIRST = 10, /* tests after a step: what the threshold has made of it by then */
    LATER_LAST = 30,
    STALL_FOR = 5, /* tests */
};

#define RUN_NS     1e6
#define TAIL_SHAPE 1.5

struct bench {
    const struct sim_verdicts *verdicts;
    struct sim_random random;
    struct mu_trial trials[VALUES - 1];
};

/* In (0, 1]. */
static double uniform(struct sim_random *random)
{
    return ((double)(sim_random_next(random) >> 11) + 1) / 9007199254740992.0;
}

static double normal(struct sim_random *random)
{
    const double two_pi = 6.283185307179586;
    double a = uniform(random), b = uniform(random);
    return sqrt(-2 * log(a)) * cos(two_pi * b);
}

static uint64_t draw_run(struct bench *bench, double factor)
{
    const struct sim_verdicts *verdicts = bench->verdicts;
    double time_ns = RUN_NS * factor * exp(normal(&bench->random) * verdicts->noise_permil / 1000);
    if (sim_random_below(&bench->random, 1000) < verdicts->tail_permil)
        time_ns *= pow(uniform(&bench->random), -1 / TAIL_SHAPE);
    return time_ns < 1e15 ? (uint64_t)time_ns : (uint64_t)1e15;
}

static uint64_t draw_time(struct bench *bench, double factor)
{
    uint64_t runs_ns[MU_TEST_RUNS];
    for (uint32_t i = 0; i < bench->verdicts->runs; i++)
        runs_ns[i] = draw_run(bench, factor);
    return bench->verdicts->runs == 1 ? runs_ns[0] : mu_test_middle(runs_ns);
}

static void begin(struct bench *bench)
{
    for (uint32_t i = 0; i < VALUES - 1; i++)
        mu_trial_begin(&bench->trials[i], i + 1, 0);
}

/* One interval of one tester: bit i is set when it accuses the one tested as i. */
static uint32_t pass(struct bench *bench, double first_factor, double factor)
{
    uint64_t values[VALUES] = {draw_time(bench, factor)};
    uint32_t accused = 0;
    for (uint32_t i = 0; i < VALUES - 1; i++)
        values[i + 1] = bench->trials[i].time_ns = draw_time(bench, i == 0 ? first_factor : factor);
    uint64_t median_ns = mu_test_median(values, VALUES);
    for (uint32_t i = 0; i < VALUES - 1; i++)
        accused |=
            (uint32_t)mu_trial_judge(&bench->trials[i], &bench->verdicts->rules, median_ns, VALUES)
            << i;
    return accused;
}

static void warm_up(struct bench *bench)
{
    begin(bench);
    for (uint32_t i = 0; i < WARM; i++)
        pass(bench, 1, 1);
}

static double count_false(struct bench *bench)
{
    uint64_t accused = 0, tests = 0;
    warm_up(bench);
    for (; tests < bench->verdicts->tests; tests += VALUES - 1)
        accused += (uint64_t)__builtin_popcount(pass(bench, 1, 1));
    return (double)accused * 1e5 / (double)tests;
}

static void count_steps(struct bench *bench, struct sim_verdicts_result *result)
{
    uint64_t found = 0, failed = 0, later = 0;
    for (uint32_t trial = 0; trial < bench->verdicts->trials; trial++) {
        bool is_found = false;
        warm_up(bench);
        for (uint32_t i = 1; i <= LATER_LAST; i++) {
            uint32_t accused = pass(bench, STEP, 1);
            is_found = is_found || (i <= FOUND_WITHIN && (accused & 1) != 0);
            later += i > LATER_FIRST;
            failed += i > LATER_FIRST && (bench->trials[0].failed & 1) != 0;
        }
        found += is_found;
    }
    result->found_percent = 100.0 * (double)found / bench->verdicts->trials;
    result->out_percent = 100.0 * (double)failed / (double)later;
}

static double count_stalls(struct bench *bench)
{
    uint64_t stalled = 0;
    for (uint32_t trial = 0; trial < bench->verdicts->trials; trial++) {
        uint32_t accused = 0;
        warm_up(bench);
        for (uint32_t i = 0; i < STALL_FOR; i++)
            accused |= pass(bench, STEP, STEP);
        stalled += accused != 0;
    }
    return 100.0 * (double)stalled / bench->verdicts->trials;
}

void sim_verdicts(const struct sim_verdicts *verdicts, struct sim_verdicts_result *result)
{
    struct bench bench = {.verdicts = verdicts};
    memset(result, 0, sizeof *result);
    sim_random_init(&bench.random, verdicts->seed);
    result->false_per_100000 = count_false(&bench);
    count_steps(&bench, result);
    result->stall_percent = count_stalls(&bench);
}
