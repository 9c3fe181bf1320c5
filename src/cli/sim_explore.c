#include "command/args.h"
#include "command/commands.h"
#include "command/output.h"
#include "core/agree/agree.h"
#include "core/base/tree.h"
#include "sim/agree/explore.h"
#include "sim/gather/explore.h"
#include "sim/node/explore_link.h"
#include "sim/node/explore_spread.h"
#include "sim/view/explore.h"
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

/* What the flags say. */
struct flags {
    uint64_t nodes, crashes, posts, resets, window, room, agreements, rounds, lapses, proofs;
    uint64_t fanout, joiners, stalls, cuts, sides, returns, leaves;
    bool heals;
    bool root_at_dead, calls_first, every_order;
    const char *mutant, *rules, *law;
};

static uint32_t shift_of(const struct command *command, uint64_t fanout)
{
    uint32_t shift = 0;
    while ((1ull << shift) < fanout)
        shift++;
    if (1ull << shift != fanout)
        args_fail(command, "--fanout is %llu, but must be a power of two",
                  (unsigned long long)fanout);
    return shift;
}

static enum sim_mutant_of thing_of(const struct command *command, const char *what)
{
    if (what == NULL)
        args_fail(command,
                  "nothing to explore was named; there are: spread, link, agree, gather, view");
    if (strcmp(what, "agree") == 0)
        return SIM_AGREE;
    if (strcmp(what, "gather") == 0)
        return SIM_GATHER;
    if (strcmp(what, "view") == 0)
        return SIM_VIEW;
    if (strcmp(what, "spread") != 0 && strcmp(what, "link") != 0)
        args_fail(command,
                  "'%s' is not something to explore; there are: spread, link, agree, gather, view",
                  what);
    return SIM_SPREAD;
}

static uint32_t broken_rules(const struct command *command, const struct flags *flags,
                             enum sim_mutant_of of)
{
    const struct sim_mutant *mutant = NULL;
    if (flags->mutant != NULL && (mutant = sim_mutant_find(flags->mutant)) == NULL)
        args_fail(command, "--mutant '%s' is unknown", flags->mutant);
    if (mutant != NULL && mutant->of == SIM_RING)
        args_fail(command, "--mutant '%s' breaks a rule of 'ring', which is not explored",
                  flags->mutant);
    if (mutant != NULL && mutant->of != of)
        args_fail(command, "--mutant '%s' breaks a rule of '%s'", flags->mutant,
                  sim_mutant_of_name(mutant->of));
    uint32_t printed = strcmp(flags->rules, "printed") == 0 ? MU_AGREE_PRINTED : 0;
    if (printed != 0 && of != SIM_AGREE)
        args_fail(command, "--rules printed is of 'agree' only");
    return printed | (mutant == NULL ? 0 : mutant->rule);
}

static void check_view(const struct command *command, const struct flags *flags)
{
    uint64_t ids = flags->nodes + flags->joiners;
    if (flags->nodes > EXPLORE_VIEW_NODES_MAX)
        args_fail(command, "--nodes is %llu, but must be at most %d for 'view'",
                  (unsigned long long)flags->nodes, EXPLORE_VIEW_NODES_MAX);
    if (ids + flags->returns > EXPLORE_VIEW_STARTS_MAX)
        args_fail(command, "--nodes, --joiners and --returns are %llu, but must be at most %d",
                  (unsigned long long)(ids + flags->returns), EXPLORE_VIEW_STARTS_MAX);
    if (flags->sides >= 1ull << ids)
        args_fail(command, "--side is %llu, but must be below 2^%llu, a bit for each node",
                  (unsigned long long)flags->sides, (unsigned long long)ids);
}

static void run_view(const struct command *command, const struct flags *flags, uint32_t broken,
                     const struct explore_options *options, struct explore_result *result)
{
    struct explore_view view = {.nodes = (uint32_t)flags->nodes,
                                .joiners = (uint32_t)flags->joiners,
                                .crashes = (uint32_t)flags->crashes,
                                .proofs = (uint32_t)flags->proofs,
                                .stalls = (uint32_t)flags->stalls,
                                .cuts = (uint32_t)flags->cuts,
                                .sides = flags->sides,
                                .heals = flags->heals,
                                .returns = (uint32_t)flags->returns,
                                .leaves = (uint32_t)flags->leaves,
                                .shift = shift_of(command, flags->fanout),
                                .law = flags->law,
                                .broken_rules = broken};
    explore_view(&view, options, result);
}

static void check_counts(const struct command *command, const struct flags *flags, const char *what)
{
    bool is_spread = strcmp(what, "spread") == 0, is_agree = strcmp(what, "agree") == 0;
    bool is_gather = strcmp(what, "gather") == 0;
    if ((is_spread || is_agree || is_gather) && flags->crashes + flags->lapses >= flags->nodes)
        args_fail(command, "--crashes is %llu%s, but must be below --nodes, %llu",
                  (unsigned long long)(flags->crashes + flags->lapses),
                  flags->lapses > 0 ? " with --lapses" : "", (unsigned long long)flags->nodes);
    int nodes_max = is_gather ? EXPLORE_GATHER_NODES_MAX : EXPLORE_AGREE_NODES_MAX;
    if ((is_agree || is_gather) && flags->nodes > (uint64_t)nodes_max)
        args_fail(command, "--nodes is %llu, but must be at most %d for '%s'",
                  (unsigned long long)flags->nodes, nodes_max, what);
    if (strcmp(what, "view") == 0)
        check_view(command, flags);
    if (is_spread && flags->posts > flags->nodes)
        args_fail(command, "--posts is %llu, but must be at most --nodes, %llu",
                  (unsigned long long)flags->posts, (unsigned long long)flags->nodes);
}

static void run_agree(const struct command *command, const struct flags *flags, uint32_t broken,
                      const struct explore_options *options, struct explore_result *result)
{
    struct explore_agree agree = {.nodes = (uint32_t)flags->nodes,
                                  .crashes = (uint32_t)flags->crashes,
                                  .agreements = (uint32_t)flags->agreements,
                                  .rounds = (uint32_t)flags->rounds,
                                  .lapses = (uint32_t)flags->lapses,
                                  .proofs = (uint32_t)flags->proofs,
                                  .resets =
                                      flags->resets == UINT64_MAX ? 0 : (uint32_t)flags->resets,
                                  .shift = shift_of(command, flags->fanout),
                                  .calls_first = flags->calls_first,
                                  .every_order = flags->every_order,
                                  .law = flags->law,
                                  .broken_rules = broken};
    explore_agree(&agree, options, result);
}

static void run(const struct command *command, const struct flags *flags, const char *what,
                const struct explore_options *options, struct explore_result *result)
{
    enum sim_mutant_of of = thing_of(command, what);
    check_counts(command, flags, what);
    uint32_t broken = broken_rules(command, flags, of);
    if (of == SIM_AGREE) {
        run_agree(command, flags, broken, options, result);
    } else if (of == SIM_VIEW) {
        run_view(command, flags, broken, options, result);
    } else if (of == SIM_GATHER) {
        struct explore_gather gather = {.nodes = (uint32_t)flags->nodes,
                                        .crashes = (uint32_t)flags->crashes,
                                        .rounds = (uint32_t)flags->rounds,
                                        .shift = shift_of(command, flags->fanout),
                                        .broken_rules = broken};
        explore_gather(&gather, options, result);
    } else if (strcmp(what, "spread") == 0) {
        struct explore_spread spread = {.nodes = (uint32_t)flags->nodes,
                                        .crashes = (uint32_t)flags->crashes,
                                        .returns = (uint32_t)flags->returns,
                                        .posts = (uint32_t)flags->posts,
                                        .root_at_dead = flags->root_at_dead,
                                        .broken_rules = broken};
        explore_spread(&spread, options, result);
    } else {
        struct explore_link link = {.posts = (uint32_t)flags->posts,
                                    .resets =
                                        flags->resets == UINT64_MAX ? 2 : (uint32_t)flags->resets,
                                    .window = (uint32_t)flags->window,
                                    .room = (uint32_t)flags->room,
                                    .broken_rules = broken};
        explore_link(&link, options, result);
    }
}

int cmd_sim_explore(int argc, char **argv)
{
    struct flags flags = {.nodes = 3,
                          .crashes = 1,
                          .posts = 1,
                          .resets = UINT64_MAX,
                          .window = 2,
                          .agreements = 1,
                          .rounds = 1,
                          .fanout = 2,
                          .rules = "ours"};
    uint64_t seconds = 600, memory_gib = 12;
    bool json = false, any_trace = false;
    const struct arg args[] = {
        {"nodes", ARG_NUMBER, &flags.nodes, 2, EXPLORE_SPREAD_NODES_MAX, "N",
         "spread, agree, gather, view: nodes [default: 3]"},
        {"crashes", ARG_NUMBER, &flags.crashes, 0, EXPLORE_SPREAD_NODES_MAX, "K",
         "spread, agree, gather, view: maximum crashes [default: 1]"},
        {"posts", ARG_NUMBER, &flags.posts, 0, EXPLORE_LINK_POSTS_MAX, "P",
         "spread: nodes with a payload; link: per node [default: 1]"},
        {"root-at-dead", ARG_FLAG, &flags.root_at_dead, 0, 0, NULL,
         "spread: broadcast tree rooted at the failed node"},
        {"resets", ARG_NUMBER, &flags.resets, 0, EXPLORE_LINK_RESETS_MAX, "R",
         "connection resets [default: link 2, agree 0]"},
        {"window", ARG_NUMBER, &flags.window, 1, 8, "W", "link: frames in flight [default: 2]"},
        {"room", ARG_NUMBER, &flags.room, 0, EXPLORE_LINK_ROOM_MAX, "N",
         "link: room for notices per node, 0: enough [default: 0]"},
        {"agreements", ARG_NUMBER, &flags.agreements, 1, EXPLORE_AGREE_GROUPS_MAX, "A",
         "agree: concurrent agreements [default: 1]"},
        {"rounds", ARG_NUMBER, &flags.rounds, 1, EXPLORE_AGREE_ROUNDS_MAX, "R",
         "agree, gather: consecutive rounds [default: 1]"},
        {"lapses", ARG_NUMBER, &flags.lapses, 0, EXPLORE_AGREE_NODES_MAX, "L",
         "agree: leases that run out [default: 0]"},
        {"proofs", ARG_NUMBER, &flags.proofs, 0, EXPLORE_AGREE_NODES_MAX, "P",
         "agree, view: crashes that may be proven [default: 0]"},
        {"fanout", ARG_NUMBER, &flags.fanout, 1, 1u << MU_TREE_SHIFT_MAX, "F",
         "agree, gather, view: fanout of the tree [default: 2]"},
        {"joiners", ARG_NUMBER, &flags.joiners, 0, 2, "J",
         "view: nodes that want to join [default: 0]"},
        {"stalls", ARG_NUMBER, &flags.stalls, 0, 3, "S", "view: leases that run out [default: 0]"},
        {"cuts", ARG_NUMBER, &flags.cuts, 0, 1, "X", "view: network partitions [default: 0]"},
        {"side", ARG_NUMBER, &flags.sides, 0, 127, "BITS",
         "view: nodes on one side, as bits; 0: any [default: 0]"},
        {"heals", ARG_FLAG, &flags.heals, 0, 0, NULL, "view: the partition heals in the end"},
        {"returns", ARG_NUMBER, &flags.returns, 0, 2, "R",
         "spread, view: nodes that return after a failure [default: 0]"},
        {"leaves", ARG_NUMBER, &flags.leaves, 0, 2, "L", "view: nodes that leave [default: 0]"},
        {"rules", ARG_CHOICE, &flags.rules, 0, 0, "ours|printed",
         "agree: our rules, or those of the paper [default: ours]"},
        {"law", ARG_TEXT, &flags.law, 0, 0, "NAME", "agree, view: only this guarantee"},
        {"calls-first", ARG_FLAG, &flags.calls_first, 0, 0, NULL,
         "agree: all contributions come first"},
        {"every-order", ARG_FLAG, &flags.every_order, 0, 0, NULL,
         "agree: no reduction of equivalent orders"},
        {"mutant", ARG_TEXT, &flags.mutant, 0, 0, "NAME",
         "rule to break on purpose (see sim mutants)"},
        {"seconds", ARG_NUMBER, &seconds, 1, 1000000, "T", "time limit [default: 600]"},
        {"memory-gib", ARG_NUMBER, &memory_gib, 1, 1024, "G",
         "memory for visited states [default: 12]"},
        {"any-trace", ARG_FLAG, &any_trace, 0, 0, NULL,
         "trace of the first violation, not the shortest"},
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object"},
    };
    const struct command command = {
        .path = "muster sim explore",
        .about = "Check the guarantees in every interleaving of events among a few nodes.",
        .operand = "spread|link|agree|gather|view",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .examples =
            "muster sim explore spread --nodes 3 --crashes 1\nmuster sim explore agree --nodes 3",
        .exits = "0 success   1 a guarantee was violated   2 usage error   3 gave up (--seconds, "
                 "--memory-gib)",
    };
    const char *what = args_parse(&command, argc, argv);
    struct explore_options options = {.seconds_max = seconds,
                                      .memory_bytes = memory_gib << 30,
                                      .progress = progress,
                                      .any_trace = any_trace,
                                      .trace = stderr};
    struct explore_result result;
    run(&command, &flags, what, &options, &result);
    output_progress_end();
    if (json)
        print_json(&result);
    else
        print_words(&result);
    if (result.violations > 0)
        return 1;
    return result.complete ? 0 : 3;
}
