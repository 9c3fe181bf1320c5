#include "command/args.h"
#include "command/commands.h"
#include "command/output.h"
#include "sim/central/check.h"
#include "sim/central/run.h"

#include <string.h>

static double per_cycle(const struct sim_run_central *run, uint64_t count)
{
    return (double)count / (double)run->cycles;
}

static void print_json(const struct sim_run_central *run,
                       const struct sim_run_central_result *result)
{
    json_t *object = json_object();
    json_object_set_new(object, "nodes", json_integer(run->nodes));
    json_object_set_new(object, "rules", json_string(run->printed ? "printed" : "ours"));
    json_object_set_new(object, "cycles", json_integer((json_int_t)run->cycles));
    json_object_set_new(object, "seed", json_integer((json_int_t)run->seed));
    json_object_set_new(object, "round_trip_ms", json_real((double)run->trip_ns / 1e6));
    json_object_set_new(object, "false", json_integer((json_int_t)result->accused));
    json_object_set_new(object, "false_per_cycle", json_real(per_cycle(run, result->accused)));
    if (run->printed) {
        json_object_set_new(object, "false_per_cycle_if_restored",
                            json_real(per_cycle(run, result->accused_restored)));
        json_object_set_new(object, "timeout_zero_in_cycle",
                            json_integer((json_int_t)result->exhausted_cycle));
    }
    json_object_set_new(object, "events", json_integer((json_int_t)result->events));
    json_object_set_new(object, "wall_s", json_real(result->wall_s));
    output_json(object);
}

static void print_words(const struct sim_run_central *run,
                        const struct sim_run_central_result *result)
{
    printf("%u healthy hosts, %llu cycles, round trip %g ms on average, seed %llu\n",
           run->nodes - 1, (unsigned long long)run->cycles, (double)run->trip_ns / 1e6,
           (unsigned long long)run->seed);
    printf("  declared, and healthy   %llu, %g per cycle\n", (unsigned long long)result->accused,
           per_cycle(run, result->accused));
    if (run->printed)
        printf("  if the timeout were restored each cycle: %g per cycle; it is zero from cycle "
               "%llu on\n",
               per_cycle(run, result->accused_restored),
               (unsigned long long)result->exhausted_cycle);
    printf("  this run                %llu events, %.2f s\n", (unsigned long long)result->events,
           result->wall_s);
}

int cmd_sim_central(int argc, char **argv)
{
    uint64_t nodes = 64, seed = 1, cycles = 10000, trip_ms = 50, cycle_ms = 500;
    bool json = false;
    const char *rules = "ours";
    const struct arg args[] = {
        {"nodes", ARG_NUMBER, &nodes, 2, SIM_CHECK_CENTRAL_NODES_MAX, "N",
         "nodes, with the master [default: 64]"},
        {"cycles", ARG_NUMBER, &cycles, 1, 10000000, "N", "rounds of polls [default: 10000]"},
        {"rules", ARG_CHOICE, &rules, 0, 0, "ours|printed",
         "our rules, or those of the paper [default: ours]"},
        {"round-trip-ms", ARG_NUMBER, &trip_ms, 1, 10000, "MS", "mean round trip [default: 50]"},
        {"cycle-ms", ARG_NUMBER, &cycle_ms, 5, 3600000, "MS",
         "time between two polls [default: 500]"},
        {"seed", ARG_NUMBER, &seed, 0, INT64_MAX, "S", "random seed for delays [default: 1]"},
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object"},
    };
    const struct command command = {
        .path = "muster sim central",
        .about = "Simulate the central detector with healthy hosts, and count false positives.",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .examples = "muster sim central --nodes 64\nmuster sim central --rules printed",
        .exits = "0 success   1 our rules declared a healthy host   2 usage error",
    };
    args_parse(&command, argc, argv);
    struct sim_run_central run = {.nodes = (uint32_t)nodes,
                                  .seed = seed,
                                  .cycles = cycles,
                                  .printed = strcmp(rules, "printed") == 0,
                                  .trip_ns = trip_ms * 1000000,
                                  .cycle_ns = cycle_ms * 1000000};
    struct sim_run_central_result result;
    sim_run_central(&run, &result);
    if (json)
        print_json(&run, &result);
    else
        print_words(&run, &result);
    return !run.printed && result.accused > 0 ? 1 : 0;
}
