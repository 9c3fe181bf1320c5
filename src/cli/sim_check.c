#include "command/args.h"
#include "command/commands.h"
#include "command/output.h"
#include "core/agree/agree.h"
#include "sim/advise/check.h"
#include "sim/agree/check.h"
#include "sim/central/check.h"
#include "sim/ring/check.h"
#include "sim/node/check.h"
#include "sim/view/check.h"
#include "sim/mutants.h"

#include <string.h>

static void progress(uint64_t done, uint64_t runs)
{
    if (done % 64 == 0)
        output_progress("%llu of %llu runs", (unsigned long long)done, (unsigned long long)runs);
}

static void print_json(const struct sim_check_result *result)
{
    json_t *object = json_object();
    json_object_set_new(object, "runs", json_integer((json_int_t)result->runs));
    json_object_set_new(object, "violations", json_integer((json_int_t)result->violations));
    json_t *first = json_null();
    if (result->violations > 0) {
        first = json_object();
        json_object_set_new(first, "seed", json_integer((json_int_t)result->seed));
        json_object_set_new(first, "step", json_integer((json_int_t)result->step));
        json_object_set_new(first, "nodes", json_integer(result->nodes));
        json_object_set_new(first, "law", json_string(result->law));
        json_object_set_new(first, "message", json_string(result->message));
    }
    json_object_set_new(object, "first", first);
    json_object_set_new(object, "events", json_integer((json_int_t)result->events));
    json_object_set_new(object, "crashes", json_integer((json_int_t)result->crashes));
    output_json(object);
}

static void print_words(const struct sim_check_result *result, const char *what, const char *mutant,
                        bool printed)
{
    printf("%llu runs, %llu crashes, %llu events: %llu violations\n",
           (unsigned long long)result->runs, (unsigned long long)result->crashes,
           (unsigned long long)result->events, (unsigned long long)result->violations);
    if (result->violations > 0)
        printf("first: seed %llu (%u nodes), step %llu: %s is broken: %s\n"
               "see it: muster sim check %s --nodes %u --seeds %llu --trace%s%s%s\n",
               (unsigned long long)result->seed, result->nodes, (unsigned long long)result->step,
               result->law, result->message, what, result->nodes, (unsigned long long)result->seed,
               mutant == NULL ? "" : " --mutant ", mutant == NULL ? "" : mutant,
               printed ? " --rules printed" : "");
}

#define THINGS "spread, ring, agree, central, advise, view"

/* What can be checked. */
static const struct thing {
    const char *name;
    enum sim_mutant_of of;
    sim_check_one *one;
} things[] = {
    {"spread", SIM_SPREAD, sim_check_spread_one},    {"ring", SIM_RING, sim_check_ring_one},
    {"agree", SIM_AGREE, sim_check_agree_one},       {"advise", SIM_ADVISE, sim_check_advise_one},
    {"central", SIM_CENTRAL, sim_check_central_one}, {"view", SIM_VIEW, sim_check_view_one},
};

static const struct thing *thing_of(const struct command *command, const char *what)
{
    if (what == NULL)
        args_fail(command, "nothing to check was named; there are: " THINGS);
    for (size_t i = 0; i < sizeof things / sizeof things[0]; i++)
        if (strcmp(things[i].name, what) == 0)
            return &things[i];
    args_fail(command, "'%s' is not something to check; there are: " THINGS, what);
}

static uint32_t broken_rules(const struct command *command, const struct thing *thing,
                             const char *mutant_name, bool printed)
{
    const struct sim_mutant *mutant = NULL;
    if (mutant_name != NULL && (mutant = sim_mutant_find(mutant_name)) == NULL)
        args_fail(command, "--mutant '%s' is unknown", mutant_name);
    if (mutant != NULL && mutant->of != thing->of)
        args_fail(command, "--mutant '%s' breaks a rule of '%s', not of '%s'", mutant_name,
                  sim_mutant_of_name(mutant->of), thing->name);
    if (printed && thing->of != SIM_AGREE)
        args_fail(command, "--rules printed is of 'agree' only");
    return (printed ? MU_AGREE_PRINTED : 0) | (mutant == NULL ? 0 : mutant->rule);
}

int cmd_sim_check(int argc, char **argv)
{
    uint64_t nodes[2] = {2, 64}, seeds[2] = {1, 1000};
    bool json = false, trace = false;
    const char *mutant = NULL, *rules = "ours";
    const struct arg args[] = {
        {"nodes", ARG_RANGE, nodes, 2, 256, "A:B",
         "nodes of a cluster, a size per seed [default: 2:64]"},
        {"seeds", ARG_RANGE, seeds, 0, INT64_MAX, "A:B",
         "random seeds, one cluster each [default: 1:1000]"},
        {"rules", ARG_CHOICE, &rules, 0, 0, "ours|printed",
         "agree: our rules, or those of the paper [default: ours]"},
        {"mutant", ARG_TEXT, &mutant, 0, 0, "NAME", "rule to break on purpose (see sim mutants)"},
        {"trace", ARG_FLAG, &trace, 0, 0, NULL, "every event of the run (one seed only)"},
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object"},
    };
    const struct command command = {
        .path = "muster sim check",
        .about = "Check the guarantees in many small simulated clusters with random faults.",
        .operand = "spread|ring|agree|central|advise|view",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .examples = "muster sim check ring --seeds 1:10000\nmuster sim check agree --nodes 2:8",
        .exits = "0 success   1 a guarantee was violated   2 usage error",
    };
    const char *what = args_parse(&command, argc, argv);
    const struct thing *thing = thing_of(&command, what);
    bool printed = strcmp(rules, "printed") == 0;
    bool is_masked = thing->of == SIM_AGREE || thing->of == SIM_ADVISE || thing->of == SIM_VIEW;
    if (is_masked && nodes[1] > SIM_CHECK_AGREE_NODES_MAX)
        args_fail(&command, "--nodes goes to %llu, but must be at most %d for '%s'",
                  (unsigned long long)nodes[1], SIM_CHECK_AGREE_NODES_MAX, thing->name);
    struct sim_check check = {.nodes_first = (uint32_t)nodes[0],
                              .nodes_last = (uint32_t)nodes[1],
                              .seeds_first = seeds[0],
                              .seeds_last = seeds[1],
                              .broken_rules = broken_rules(&command, thing, mutant, printed),
                              .progress = progress};
    struct sim_check_result result = {0};
    if (trace && seeds[0] != seeds[1])
        args_fail(&command, "--trace needs one seed, but --seeds is %llu:%llu",
                  (unsigned long long)seeds[0], (unsigned long long)seeds[1]);
    if (trace)
        thing->one(&check, seeds[0], output_trace(trace, json), &result);
    else
        sim_check_all(&check, thing->one, false, &result);
    output_progress_end();
    if (json)
        print_json(&result);
    else
        print_words(&result, what, mutant, printed);
    return result.violations > 0 ? 1 : 0;
}
