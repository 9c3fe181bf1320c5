#include "cli/args.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "sim/explore_link.h"
#include "sim/explore_spread.h"
#include "sim/mutants.h"

#include <string.h>

static void progress(uint64_t states, uint64_t transitions)
{
    output_progress("%.1f million states, %.1f million transitions", (double)states / 1e6,
                    (double)transitions / 1e6);
}

static void print_json(const struct explore_result *result)
{
    json_t *object = json_object();
    json_object_set_new(object, "states", json_integer((json_int_t)result->states));
    json_object_set_new(object, "transitions", json_integer((json_int_t)result->transitions));
    json_object_set_new(object, "depth_max", json_integer((json_int_t)result->depth_max));
    json_object_set_new(object, "violations", json_integer((json_int_t)result->violations));
    json_object_set_new(object, "complete", json_boolean(result->complete));
    if (result->violations > 0) {
        json_object_set_new(object, "law", json_string(result->law));
        json_object_set_new(object, "message", json_string(result->message));
        json_object_set_new(object, "trace_length", json_integer(result->trace_length));
    }
    json_object_set_new(object, "wall_s", json_real(result->wall_s));
    json_object_set_new(object, "rss_mib", json_real(result->rss_mib));
    output_json(object);
}

static void print_words(const struct explore_result *result)
{
    printf("%llu states, %llu transitions, depth %llu, %.1f s, %.0f MiB: %s, %llu violations\n",
           (unsigned long long)result->states, (unsigned long long)result->transitions,
           (unsigned long long)result->depth_max, result->wall_s, result->rss_mib,
           result->complete ? "complete" : "not complete", (unsigned long long)result->violations);
}

int cmd_sim_explore(int argc, char **argv)
{
    uint64_t nodes = 3, crashes = 1, posts = 1, resets = 2, window = 2;
    uint64_t seconds = 600, memory_gib = 12;
    bool json = false, root_at_dead = false;
    const char *mutant_name = NULL;
    const struct arg args[] = {
        {"nodes", ARG_NUMBER, &nodes, 2, EXPLORE_SPREAD_NODES_MAX, "N", "spread: nodes (3)"},
        {"crashes", ARG_NUMBER, &crashes, 0, EXPLORE_SPREAD_NODES_MAX, "K",
         "spread: crashes at the most, below --nodes (1)"},
        {"posts", ARG_NUMBER, &posts, 0, EXPLORE_LINK_POSTS_MAX, "P",
         "spread: nodes with a payload; link: payloads a node (1)"},
        {"root-at-dead", ARG_FLAG, &root_at_dead, 0, 0, NULL,
         "spread: the tree of a death hangs from the dead node"},
        {"resets", ARG_NUMBER, &resets, 0, EXPLORE_LINK_RESETS_MAX, "R", "link: resets (2)"},
        {"window", ARG_NUMBER, &window, 1, 8, "W", "link: frames on their way (2)"},
        {"mutant", ARG_TEXT, &mutant_name, 0, 0, "NAME", "with a rule broken (see sim mutants)"},
        {"seconds", ARG_NUMBER, &seconds, 1, 1000000, "T", "give up after (600)"},
        {"memory-gib", ARG_NUMBER, &memory_gib, 1, 1024, "G", "for visited states (12)"},
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object"},
    };
    const struct command command = {
        "muster sim explore",
        "Every interleaving of deliveries, deadlines, crashes (also between two sends of one\n"
        "update) and the news of crashes among a few nodes ('spread'), or of two nodes whose\n"
        "connection breaks at any moment ('link'), on the daemon's own core.  A violation prints\n"
        "the shortest trace on standard error, and exit is 1; giving up exits 3.",
        "spread|link", args, sizeof args / sizeof args[0]};
    const char *what = args_parse(&command, argc, argv);
    bool is_spread = what != NULL && strcmp(what, "spread") == 0;
    if (what == NULL)
        args_fail(&command, "nothing to explore was named; there are: spread, link");
    if (!is_spread && strcmp(what, "link") != 0)
        args_fail(&command, "'%s' is not something to explore; there are: spread, link", what);
    if (is_spread && crashes >= nodes)
        args_fail(&command, "--crashes is %llu, but must be below --nodes, %llu",
                  (unsigned long long)crashes, (unsigned long long)nodes);
    if (is_spread && posts > nodes)
        args_fail(&command, "--posts is %llu, but must be at most --nodes, %llu",
                  (unsigned long long)posts, (unsigned long long)nodes);
    const struct sim_mutant *mutant = NULL;
    if (mutant_name != NULL && (mutant = sim_mutant_find(mutant_name)) == NULL)
        args_fail(&command, "--mutant '%s' is unknown", mutant_name);
    if (mutant != NULL && mutant->of_ring)
        args_fail(&command, "--mutant '%s' breaks a rule of 'ring', which is not explored",
                  mutant_name);

    struct explore_options options = {.seconds_max = seconds,
                                      .memory_bytes = memory_gib << 30,
                                      .progress = progress,
                                      .trace = stderr};
    uint32_t broken_rules = mutant == NULL ? 0 : mutant->rule;
    struct explore_result result;
    if (is_spread) {
        struct explore_spread spread = {.nodes = (uint32_t)nodes,
                                        .crashes = (uint32_t)crashes,
                                        .posts = (uint32_t)posts,
                                        .root_at_dead = root_at_dead,
                                        .broken_rules = broken_rules};
        explore_spread(&spread, &options, &result);
    } else {
        struct explore_link link = {.posts = (uint32_t)posts,
                                    .resets = (uint32_t)resets,
                                    .window = (uint32_t)window,
                                    .broken_rules = broken_rules};
        explore_link(&link, &options, &result);
    }
    output_progress_end();
    if (json)
        print_json(&result);
    else
        print_words(&result);
    if (result.violations > 0)
        return 1;
    return result.complete ? 0 : 3;
}
