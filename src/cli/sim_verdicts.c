#include "command/args.h"
#include "command/commands.h"
#include "command/output.h"
#include "sim/advise/verdicts.h"

/* Noise as in docs/spec/advise.md. */
static const struct noise {
    const char *name;
    uint32_t noise_permil, tail_permil;
} noises[] = {
    {"10 %, 5 % in the tail", 100, 50},
    {"30 %, 1 % in the tail", 300, 10},
};

enum { NOISES = sizeof noises / sizeof noises[0], TRIALS = 2000 };

static const struct row {
    const char *name;
    enum mu_test_threshold threshold;
    uint32_t runs, failures;
    uint32_t printed_factor_percent;
    uint64_t printed_start_ns;
} rows[] = {
    {"printed, factor 1", MU_TEST_PRINTED, 1, 1, 100, 0},
    {"printed, factor 2.5", MU_TEST_PRINTED, 1, 1, 250, 8000000000},
    {"2 x median, one run, 1 of 1", MU_TEST_MEDIAN, 1, 1, 250, 0},
    {"2 x median, one run, 3 of 3", MU_TEST_MEDIAN, 1, 3, 250, 0},
    {"2 x median, middle of 3 runs, 2 of 3", MU_TEST_MEDIAN, 3, 2, 250, 0},
    {"2 x median, middle of 3 runs, 3 of 3", MU_TEST_MEDIAN, 3, 3, 250, 0},
};

static void measure(const struct row *row, const struct noise *noise, uint64_t seed, uint64_t tests,
                    struct sim_verdicts_result *result)
{
    struct sim_verdicts verdicts = {.runs = row->runs,
                                    .noise_permil = noise->noise_permil,
                                    .tail_permil = noise->tail_permil,
                                    .tests = tests,
                                    .trials = TRIALS,
                                    .seed = seed};
    mu_test_rules_default(&verdicts.rules);
    verdicts.rules.threshold = row->threshold;
    verdicts.rules.failures = row->failures;
    verdicts.rules.printed_factor_percent = row->printed_factor_percent;
    verdicts.rules.printed_start_ns = row->printed_start_ns;
    sim_verdicts(&verdicts, result);
}

static void print_json(const struct row *row, const struct noise *noise,
                       const struct sim_verdicts_result *result)
{
    json_t *object = json_object();
    json_object_set_new(object, "verdict", json_string(row->name));
    json_object_set_new(object, "noise", json_real(noise->noise_permil / 1000.0));
    json_object_set_new(object, "tail", json_real(noise->tail_permil / 1000.0));
    json_object_set_new(object, "false_per_100000", json_real(result->false_per_100000));
    json_object_set_new(object, "found_percent", json_real(result->found_percent));
    json_object_set_new(object, "out_percent", json_real(result->out_percent));
    json_object_set_new(object, "stall_percent", json_real(result->stall_percent));
    output_json(object);
}

static void print_words(const struct row *row, const struct noise *noise,
                        const struct sim_verdicts_result *result)
{
    printf("%-38s %-22s %9.1f %8.1f %% %8.1f %% %8.1f %%\n", row->name, noise->name,
           result->false_per_100000, result->found_percent, result->out_percent,
           result->stall_percent);
}

int cmd_sim_verdicts(int argc, char **argv)
{
    uint64_t seed = 1, tests = 1000000;
    bool json = false;
    const struct arg args[] = {
        {"seed", ARG_NUMBER, &seed, 0, INT64_MAX, "S", "random seed [default: 1]"},
        {"tests", ARG_NUMBER, &tests, 1000, 100000000, "N",
         "tests per row for false accusations [default: 1000000]"},
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object for each row"},
    };
    const struct command command = {
        .path = "muster sim verdicts",
        .about = "Measure verdicts of recommended groups, printed threshold and median, on "
                 "synthetic times.",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .examples = "muster sim verdicts --tests 100000",
    };
    args_parse(&command, argc, argv);
    if (!json)
        printf("%-38s %-22s %9s %10s %10s %10s\n", "verdict", "noise", "false", "found",
               "stays out", "stalls");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (uint32_t n = 0; n < NOISES; n++) {
            struct sim_verdicts_result result;
            measure(&rows[i], &noises[n], seed, tests, &result);
            if (json)
                print_json(&rows[i], &noises[n], &result);
            else
                print_words(&rows[i], &noises[n], &result);
        }
    return 0;
}
