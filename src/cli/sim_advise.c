#include "command/args.h"
#include "command/commands.h"
#include "command/output.h"
#include "sim/advise/run.h"

#include <string.h>

static void progress(uint64_t events, double intervals)
{
    output_progress("%.1f million events, %.2f intervals", (double)events / 1e6, intervals);
}

static void print_json(const struct sim_run_advise *run, const struct sim_run_advise_result *result)
{
    char digest[33];
    json_t *object = json_object();
    json_object_set_new(object, "nodes", json_integer(run->nodes));
    json_object_set_new(object, "assignment",
                        json_string(run->assignment == MU_ADVISE_CLUSTERS ? "cluster" : "pairs"));
    json_object_set_new(object, "seed", json_integer((json_int_t)run->seed));
    json_object_set_new(object, "intervals", json_integer(result->intervals));
    json_object_set_new(object, "rounds", json_integer((json_int_t)result->rounds));
    json_object_set_new(object, "slow", json_integer(result->slow));
    json_object_set_new(object, "out", json_integer(result->out));
    json_object_set_new(object, "back", json_integer(result->back));
    json_object_set_new(object, "well_out", json_integer(result->well_out));
    json_object_set_new(object, "out_intervals_max", json_real(result->out_intervals_max));
    json_object_set_new(object, "back_intervals_max", json_real(result->back_intervals_max));
    json_object_set_new(object, "tests_per_node", json_real(result->tests_per_node));
    json_object_set_new(object, "tests_per_node_max", json_integer(result->tests_per_node_max));
    json_object_set_new(object, "words_max", json_integer(result->words_max));
    json_object_set_new(object, "state_bytes_per_node",
                        json_integer((json_int_t)result->state_bytes_per_node));
    json_object_set_new(object, "events", json_integer((json_int_t)result->events));
    json_object_set_new(object, "wall_s", json_real(result->wall_s));
    json_object_set_new(object, "rss_mib", json_real(result->rss_mib));
    json_object_set_new(object, "digest", json_string(output_digest(digest, &result->digest)));
    output_json(object);
}

static void print_words(const struct sim_run_advise *run,
                        const struct sim_run_advise_result *result)
{
    char digest[33];
    printf("%u nodes, seed %llu, %u intervals, %llu rounds\n", run->nodes,
           (unsigned long long)run->seed, result->intervals, (unsigned long long)result->rounds);
    printf("  slow for 8 intervals    %u; out: %u, within %.2f intervals; well and out: %u\n",
           result->slow, result->out, result->out_intervals_max, result->well_out);
    printf("  back at work            %u, within %.2f intervals after they were well again\n",
           result->back, result->back_intervals_max);
    printf("  tests                   %.2f per node and interval, at most %u by one node\n",
           result->tests_per_node, result->tests_per_node_max);
    printf("  state of a node         %zu bytes; at most %u words in a decision\n",
           result->state_bytes_per_node, result->words_max);
    printf("  this run                %llu events, %.2f s, %.0f MiB, digest %s\n",
           (unsigned long long)result->events, result->wall_s, result->rss_mib,
           output_digest(digest, &result->digest));
}

int cmd_sim_advise(int argc, char **argv)
{
    uint64_t nodes = 64, slow = UINT64_MAX, seed = 1;
    bool json = false, trace = false;
    const char *assignment = "cluster";
    const struct arg args[] = {
        {"nodes", ARG_NUMBER, &nodes, 4, 1u << 20, "N", "nodes of the machine [default: 64]"},
        {"slow", ARG_NUMBER, &slow, 1, 4096, "K", "slow nodes [default: 1 in 16, at most 64]"},
        {"assignment", ARG_CHOICE, &assignment, 0, 0, "cluster|pairs",
         "who tests whom [default: cluster]"},
        {"seed", ARG_NUMBER, &seed, 0, INT64_MAX, "S", "random seed [default: 1]"},
        {"trace", ARG_FLAG, &trace, 0, 0, NULL, "print everything that happens"},
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object"},
    };
    const struct command command = {
        .path = "muster sim advise",
        .about = "Simulate a recommended group of any size: slow nodes leave it, and return.",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .examples =
            "muster sim advise --nodes 4096\nmuster sim advise --nodes 16 --assignment pairs",
        .exits = "0 success   1 a guarantee was violated   2 usage error",
    };
    args_parse(&command, argc, argv);
    bool pairs = strcmp(assignment, "pairs") == 0;
    if (pairs && nodes > 64)
        args_fail(&command, "--nodes is %llu, but must be at most 64 for --assignment pairs",
                  (unsigned long long)nodes);
    if (slow == UINT64_MAX)
        slow = nodes / 16 < 1 ? 1 : nodes / 16 > 64 ? 64 : nodes / 16;
    if (slow > nodes / 4)
        args_fail(&command, "--slow is %llu, but must be at most a quarter of --nodes, %llu",
                  (unsigned long long)slow, (unsigned long long)nodes);
    struct sim_run_advise run = {.nodes = (uint32_t)nodes,
                                 .slow = (uint32_t)slow,
                                 .assignment = pairs ? MU_ADVISE_ALL_PAIRS : MU_ADVISE_CLUSTERS,
                                 .seed = seed,
                                 .trace = output_trace(trace, json),
                                 .progress = progress};
    struct sim_run_advise_result result;
    sim_run_advise(&run, &result);
    output_progress_end();
    if (json)
        print_json(&run, &result);
    else
        print_words(&run, &result);
    if (result.broken[0] != '\0') {
        fprintf(stderr, "muster sim advise: %s is broken: %s\n", result.broken, result.message);
        return 1;
    }
    return result.out == result.slow && result.back == result.slow && result.well_out == 0 ? 0 : 1;
}
