#include "command/args.h"
#include "command/commands.h"
#include "command/output.h"
#include "sim/node/record.h"
#include "sim/node/run.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void progress(const struct sim_world *world)
{
    output_progress("%.1f million events, %.3f ms of virtual time", (double)world->events / 1e6,
                    (double)world->queue.now_ns / 1e6);
}

static void print_json(const struct sim_run_spread *run, const struct sim_run_spread_result *result)
{
    char digest[33];
    json_t *object = json_object();
    json_object_set_new(object, "nodes", json_integer(run->nodes));
    json_object_set_new(object, "seed", json_integer((json_int_t)run->seed));
    json_object_set_new(object, "hops_max", json_integer(result->hops_max));
    json_object_set_new(object, "messages_per_node_max",
                        json_integer(result->messages_per_node_max));
    json_object_set_new(object, "acks_per_node_max", json_integer(result->acks_per_node_max));
    json_object_set_new(object, "messages", json_integer((json_int_t)result->messages));
    json_object_set_new(object, "state_bytes_per_node",
                        json_integer((json_int_t)result->state_bytes_per_node));
    json_object_set_new(object, "virtual_ms", json_real(result->virtual_ms));
    json_object_set_new(object, "events", json_integer((json_int_t)result->events));
    json_object_set_new(object, "wall_s", json_real(result->wall_s));
    json_object_set_new(object, "rss_mib", json_real(result->rss_mib));
    json_object_set_new(object, "digest", json_string(output_digest(digest, &result->digest)));
    output_json(object);
}

static void print_words(const struct sim_run_spread *run,
                        const struct sim_run_spread_result *result)
{
    char digest[33];
    printf("%u nodes, seed %llu\n"
           "  everybody knows after   %.3f ms of virtual time, %u hops\n"
           "  messages                %llu, at most %u by one node\n"
           "  acknowledgements        at most %u by one node\n"
           "  state of a node         %zu bytes\n"
           "  this run                %llu events, %.2f s, %.0f MiB, digest %s\n",
           run->nodes, (unsigned long long)run->seed, result->virtual_ms, result->hops_max,
           (unsigned long long)result->messages, result->messages_per_node_max,
           result->acks_per_node_max, result->state_bytes_per_node,
           (unsigned long long)result->events, result->wall_s, result->rss_mib,
           output_digest(digest, &result->digest));
}

/* Opens the file and makes a recorder for one node of the run. */
static void start_recorder(const struct command *command, const char *path, uint64_t node,
                           const struct sim_run_spread *run, struct sim_recorder *recorder)
{
    if (node >= run->nodes)
        args_fail(command, "--record-node is %llu, but must be below --nodes, %u",
                  (unsigned long long)node, run->nodes);
    struct mu_config config;
    sim_run_spread_config(&config, run);
    config.self = (mu_slot)node;
    FILE *to = fopen(path, "wb");
    if (to == NULL || !sim_record_start(recorder, to, &config))
        args_fail(command, "--record '%s' cannot be written: %s", path, strerror(errno));
}

int cmd_sim_spread(int argc, char **argv)
{
    uint64_t nodes = 64, seed = 1, record_node = 0;
    bool json = false, picture = false, trace = false;
    const char *kill = "process", *record = NULL;
    const struct arg args[] = {
        {"nodes", ARG_NUMBER, &nodes, 1, MU_SIZE_MAX, "N",
         "nodes of the simulated cluster [default: 64]"},
        {"seed", ARG_NUMBER, &seed, 0, INT64_MAX, "S",
         "random seed for origin and delays [default: 1]"},
        {"kill", ARG_CHOICE, &kill, 0, 0, "process|node", "what fails [default: process]"},
        {"picture", ARG_FLAG, &picture, 0, 0, NULL, "notified nodes, hop by hop"},
        {"trace", ARG_FLAG, &trace, 0, 0, NULL, "every event of the run"},
        {"record", ARG_TEXT, &record, 0, 0, "FILE", "recording of the input of one node"},
        {"record-node", ARG_NUMBER, &record_node, 0, MU_SIZE_MAX, "N",
         "node to record [default: 0]"},
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object"},
    };
    const struct command command = {
        .path = "muster sim spread",
        .about = "Simulate the broadcast of one failure through a cluster of any size.",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .examples = "muster sim spread --nodes 1000000\nmuster sim spread --picture",
        .exits = "0 success   1 a guarantee was violated   2 usage error",
    };
    args_parse(&command, argc, argv);

    struct sim_run_spread run = {.nodes = (uint32_t)nodes,
                                 .seed = seed,
                                 .node_dies = strcmp(kill, "node") == 0,
                                 .trace = output_trace(trace, json),
                                 .progress = picture ? NULL : progress};
    if (run.node_dies && nodes < 2)
        args_fail(&command, "--kill node needs --nodes of at least 2, to leave a survivor");
    if (picture && (json || trace || record != NULL))
        args_fail(&command, "--picture goes with neither --json, --trace nor --record");
    struct sim_recorder recorder;
    if (record != NULL) {
        start_recorder(&command, record, record_node, &run, &recorder);
        run.recorder = &recorder;
    }
    struct sim_run_spread_result result;
    if (picture)
        sim_picture_spread(stdout, &run, isatty(STDOUT_FILENO) != 0, &result);
    else
        sim_run_spread(&run, &result, NULL);
    output_progress_end();
    if (json)
        print_json(&run, &result);
    else if (!picture)
        print_words(&run, &result);
    if (record != NULL && (!sim_record_end(&recorder) || fclose(recorder.to) != 0)) {
        fprintf(stderr, "muster sim spread: %s: %s\n", record, strerror(errno));
        return 1;
    }
    if (result.broken[0] != '\0') {
        fprintf(stderr, "muster sim spread: %s is broken: %s\n", result.broken, result.message);
        return 1;
    }
    return 0;
}
