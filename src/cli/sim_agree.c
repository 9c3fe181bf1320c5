#include "command/args.h"
#include "command/commands.h"
#include "command/output.h"
#include "core/ring/ring.h"
#include "sim/agree/run.h"
#include "sim/node/run.h"

static void progress(const struct agree_world *world)
{
    output_progress("%.1f million events, %.3f ms of virtual time", (double)world->events / 1e6,
                    (double)world->queue.now_ns / 1e6);
}

static void print_json(const struct sim_run_agree *run, const struct sim_run_agree_result *result)
{
    char digest[33];
    json_t *object = json_object();
    json_object_set_new(object, "nodes", json_integer(run->nodes));
    json_object_set_new(object, "seed", json_integer((json_int_t)run->seed));
    json_object_set_new(object, "fanout", json_integer((json_int_t)(1ull << run->shift)));
    json_object_set_new(object, "height", json_integer(result->height));
    json_object_set_new(object, "survivors", json_integer(result->survivors));
    json_object_set_new(object, "message_delay_ms", json_real(result->message_delay_ms));
    json_object_set_new(object, "bound_ms", json_real(result->bound_ms));
    json_object_set_new(object, "virtual_ms", json_real(result->virtual_ms));
    json_object_set_new(object, "messages_per_node_max",
                        json_integer(result->messages_per_node_max));
    json_object_set_new(object, "messages", json_integer((json_int_t)result->messages));
    json_object_set_new(object, "agree_bytes_per_node",
                        json_integer((json_int_t)result->agree_bytes_per_node));
    json_object_set_new(object, "state_bytes_per_node",
                        json_integer((json_int_t)result->state_bytes_per_node));
    json_object_set_new(object, "events", json_integer((json_int_t)result->events));
    json_object_set_new(object, "wall_s", json_real(result->wall_s));
    json_object_set_new(object, "rss_mib", json_real(result->rss_mib));
    json_object_set_new(object, "digest", json_string(output_digest(digest, &result->digest)));
    output_json(object);
}

static void print_words(const struct sim_run_agree *run, const struct sim_run_agree_result *result)
{
    char digest[33];
    printf("%u nodes, seed %llu, a tree of fan-out %llu and height %u\n", run->nodes,
           (unsigned long long)run->seed, 1ull << run->shift, result->height);
    printf("  decided by              all %u survivors, %.3f ms after the last contribution\n",
           result->survivors, result->virtual_ms);
    printf("  2.2 x height x delay    %.3f ms; messages take 0.020 to %.3f ms\n", result->bound_ms,
           result->message_delay_ms);
    printf("  messages                %llu, at most %u by one node\n",
           (unsigned long long)result->messages, result->messages_per_node_max);
    printf("  state of a node         %zu bytes; %zu with the rest of the core\n",
           result->agree_bytes_per_node, result->state_bytes_per_node);
    printf("  this run                %llu events, %.2f s, %.0f MiB, digest %s\n",
           (unsigned long long)result->events, result->wall_s, result->rss_mib,
           output_digest(digest, &result->digest));
}

/* The rest of a core, with room for one death: one notice at a time on each link. */
static size_t other_bytes(uint32_t nodes)
{
    struct sim_run_spread spread = {.nodes = nodes};
    struct mu_config node;
    struct mu_detect_config detect;
    sim_run_spread_config(&node, &spread);
    node.limits.window = 2;
    mu_detect_config_default(&detect, nodes, 0);
    detect.dead = 1;
    return mu_node_bytes(&node) + mu_detect_bytes(&detect);
}

int cmd_sim_agree(int argc, char **argv)
{
    uint64_t nodes = 64, crashes = 0, seed = 1, fanout = 2;
    bool json = false, trace = false;
    const struct arg args[] = {
        {"nodes", ARG_NUMBER, &nodes, 2, MU_SIZE_MAX, "N",
         "nodes of the simulated cluster [default: 64]"},
        {"crashes", ARG_NUMBER, &crashes, 0, 64, "K", "nodes that fail meanwhile [default: 0]"},
        {"fanout", ARG_NUMBER, &fanout, 1, 1u << MU_TREE_SHIFT_MAX, "F",
         "fanout of the tree, a power of two [default: 2]"},
        {"seed", ARG_NUMBER, &seed, 0, INT64_MAX, "S",
         "random seed for delays and crashes [default: 1]"},
        {"trace", ARG_FLAG, &trace, 0, 0, NULL, "every event of the run"},
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object"},
    };
    const struct command command = {
        .path = "muster sim agree",
        .about = "Simulate one agreement in a cluster of any size.",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .examples = "muster sim agree --nodes 100000\nmuster sim agree --nodes 1024 --crashes 8",
        .exits = "0 success   1 a guarantee was violated   2 usage error",
    };
    args_parse(&command, argc, argv);
    if (crashes >= nodes)
        args_fail(&command, "--crashes is %llu, but must be below --nodes, %llu",
                  (unsigned long long)crashes, (unsigned long long)nodes);
    if ((fanout & (fanout - 1)) != 0)
        args_fail(&command, "--fanout is %llu, but must be a power of two",
                  (unsigned long long)fanout);
    struct sim_run_agree run = {.nodes = (uint32_t)nodes,
                                .crashes = (uint32_t)crashes,
                                .seed = seed,
                                .shift = (uint8_t)__builtin_ctzll(fanout),
                                .other_bytes = other_bytes((uint32_t)nodes),
                                .trace = output_trace(trace, json),
                                .progress = progress};
    struct sim_run_agree_result result;
    sim_run_agree(&run, &result);
    output_progress_end();
    if (json)
        print_json(&run, &result);
    else
        print_words(&run, &result);
    if (result.broken[0] != '\0') {
        fprintf(stderr, "muster sim agree: %s is broken: %s\n", result.broken, result.message);
        return 1;
    }
    return 0;
}
