#include "command/args.h"
#include "command/commands.h"
#include "command/output.h"
#include "sim/ring/run.h"

#include <stdlib.h>
#include <string.h>

static void progress(const struct ring_world *world)
{
    output_progress("%.1f million events, %.3f ms of virtual time", (double)world->events / 1e6,
                    (double)world->queue->now_ns / 1e6);
}

static void print_json(const struct sim_run_ring *run, const struct sim_run_ring_result *result)
{
    char digest[33];
    json_t *object = json_object();
    json_object_set_new(object, "nodes", json_integer(run->nodes));
    json_object_set_new(object, "seed", json_integer((json_int_t)run->seed));
    json_object_set_new(object, "spread", json_boolean(run->spread));
    json_object_set_new(object, "period_ms", json_real((double)run->period_ns / 1e6));
    json_object_set_new(object, "timeout_ms", json_real((double)run->timeout_ns / 1e6));
    json_object_set_new(object, "failed", json_integer(result->failed));
    json_object_set_new(object, "declared", json_integer((json_int_t)result->declared));
    json_object_set_new(object, "false", json_integer((json_int_t)result->wrong));
    json_object_set_new(object, "detect_ms_mean", json_real(result->detect_ms_mean));
    json_object_set_new(object, "detect_ms_max", json_real(result->detect_ms_max));
    json_object_set_new(object, "bound_ms", json_real(result->bound_ms));
    json_object_set_new(object, "with_failed_neighbour", json_integer(result->groups));
    json_object_set_new(object, "detect_group_ms_max", json_real(result->detect_group_ms_max));
    json_object_set_new(object, "bound_group_ms", json_real(result->bound_group_ms));
    json_object_set_new(object, "messages_per_node_period",
                        json_real(result->messages_per_node_period));
    json_object_set_new(object, "state_bytes_per_node",
                        json_integer((json_int_t)result->state_bytes_per_node));
    json_object_set_new(object, "virtual_ms", json_real(result->virtual_ms));
    json_object_set_new(object, "events", json_integer((json_int_t)result->events));
    json_object_set_new(object, "wall_s", json_real(result->wall_s));
    json_object_set_new(object, "rss_mib", json_real(result->rss_mib));
    json_object_set_new(object, "digest", json_string(output_digest(digest, &result->digest)));
    output_json(object);
}

static void print_words(const struct sim_run_ring *run, const struct sim_run_ring_result *result)
{
    char digest[33];
    printf("%u nodes, seed %llu, period %g ms, timeout %g ms\n", run->nodes,
           (unsigned long long)run->seed, (double)run->period_ns / 1e6,
           (double)run->timeout_ns / 1e6);
    printf("  failed, declared        %u, %llu; alive and declared: %llu\n", result->failed,
           (unsigned long long)result->declared, (unsigned long long)result->wrong);
    printf("  declared after          %.3f ms on average, %.3f ms at most; the bound is %.3f ms\n",
           result->detect_ms_mean, result->detect_ms_max, result->bound_ms);
    printf("  next to a failed one    %u, after %.3f ms at most; the bound is %.3f ms\n",
           result->groups, result->detect_group_ms_max, result->bound_group_ms);
    printf("  told of it              %s\n", run->spread
                                                 ? "everybody, by the real nodes"
                                                 : "64 live slots on either side, by an oracle");
    printf("  messages                %.4f per node and period before the first failure\n",
           result->messages_per_node_period);
    printf("  state of a detector     %zu bytes\n", result->state_bytes_per_node);
    printf("  this run                %.3f ms of virtual time, %llu events, %.2f s, %.0f MiB, "
           "digest %s\n",
           result->virtual_ms, (unsigned long long)result->events, result->wall_s, result->rss_mib,
           output_digest(digest, &result->digest));
}

/* "12" nodes, or "1.5%" of them, rounded down. */
static uint32_t parse_fail(const struct command *command, const char *text, uint64_t nodes)
{
    char *end;
    double value = strtod(text, &end);
    bool percent = *end == '%';
    double count = percent ? value * (double)nodes / 100 : value;
    bool digits = text[0] >= '0' && text[0] <= '9' && text[strspn(text, "0123456789.%")] == '\0';
    if (!digits || end[percent ? 1 : 0] != '\0' || (!percent && strchr(text, '.') != NULL) ||
        count >= (double)nodes)
        args_fail(command,
                  "--fail is '%s', but must be a number of nodes below --nodes, %llu, or "
                  "a part of them, as in 1%%",
                  text, (unsigned long long)nodes);
    return (uint32_t)count;
}

int cmd_sim_ring(int argc, char **argv)
{
    uint64_t nodes = 64, seed = 1, period_ms = 100, timeout_ms = 200;
    bool json = false, trace = false, spread = false;
    const char *fail = "1";
    const struct arg args[] = {
        {"nodes", ARG_NUMBER, &nodes, 2, MU_SIZE_MAX, "N",
         "nodes of the simulated cluster [default: 64]"},
        {"fail", ARG_TEXT, &fail, 0, 0, "K|P%", "nodes that crash or stop [default: 1]"},
        {"seed", ARG_NUMBER, &seed, 0, INT64_MAX, "S",
         "random seed for victims, times and delays [default: 1]"},
        {"period-ms", ARG_NUMBER, &period_ms, 1, 3600000, "MS", "heartbeat period [default: 100]"},
        {"timeout-ms", ARG_NUMBER, &timeout_ms, 2, 3600000, "MS",
         "heartbeat timeout [default: 200]"},
        {"spread", ARG_FLAG, &spread, 0, 0, NULL, "whole nodes: each failure is broadcast to all"},
        {"trace", ARG_FLAG, &trace, 0, 0, NULL, "every event of the run"},
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object"},
    };
    const struct command command = {
        .path = "muster sim ring",
        .about = "Simulate failure detection in a cluster of any size.",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .examples = "muster sim ring --nodes 100000 --fail 1%\nmuster sim ring --nodes 64 --fail 3 "
                    "--spread",
        .exits = "0 success   1 a guarantee was violated   2 usage error",
    };
    args_parse(&command, argc, argv);

    struct sim_run_ring run = {.nodes = (uint32_t)nodes,
                               .fail = parse_fail(&command, fail, nodes),
                               .seed = seed,
                               .period_ns = period_ms * 1000000,
                               .timeout_ns = timeout_ms * 1000000,
                               .spread = spread,
                               .trace = output_trace(trace, json),
                               .progress = progress};
    const char *error = mu_detect_times_error(run.period_ns, run.timeout_ns);
    if (error != NULL)
        args_fail(&command, "--period-ms is %llu and --timeout-ms is %llu: %s",
                  (unsigned long long)period_ms, (unsigned long long)timeout_ms, error);
    struct sim_run_ring_result result;
    sim_run_ring(&run, &result);
    output_progress_end();
    if (json)
        print_json(&run, &result);
    else
        print_words(&run, &result);
    if (result.broken[0] != '\0') {
        fprintf(stderr, "muster sim ring: %s is broken: %s\n", result.broken, result.message);
        return 1;
    }
    return 0;
}
