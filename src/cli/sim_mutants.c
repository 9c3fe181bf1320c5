#include "command/args.h"
#include "command/commands.h"
#include "command/output.h"
#include "sim/mutants.h"

#include <string.h>

static void print_json(const struct sim_mutant *mutant, const struct sim_mutant_result *result)
{
    json_t *object = json_object();
    json_object_set_new(object, "mutant", json_string(mutant->name));
    json_object_set_new(object, "caught", json_boolean(result->caught));
    json_object_set_new(object, "by", result->caught ? json_string(result->by) : json_null());
    json_object_set_new(object, "seed",
                        result->seed > 0 ? json_integer((json_int_t)result->seed) : json_null());
    json_object_set_new(object, "nodes", json_integer(result->nodes));
    json_object_set_new(object, "law", json_string(result->law));
    json_object_set_new(object, "message", json_string(result->message));
    output_json(object);
}

static void print_words(const struct sim_mutant *mutant, const struct sim_mutant_result *result)
{
    printf("%-20s %s\n", mutant->name, mutant->about);
    if (!result->caught)
        printf("%-20s NOT CAUGHT\n", "");
    else if (result->seed > 0)
        printf("%-20s caught by %s, seed %llu (%u nodes): %s, %s\n", "", result->by,
               (unsigned long long)result->seed, result->nodes, result->law, result->message);
    else
        printf("%-20s caught by %s in %u steps (%u nodes): %s, %s\n", "", result->by,
               result->trace_length, result->nodes, result->law, result->message);
}

int cmd_sim_mutants(int argc, char **argv)
{
    bool json = false;
    const struct arg args[] = {
        {"json", ARG_FLAG, &json, 0, 0, NULL, "one JSON object per mutant"},
    };
    const struct command command = {
        .path = "muster sim mutants",
        .about = "Break one protocol rule after the other and verify that a check fails.",
        .operand = "[spread|ring|central|agree|gather|view|advise]",
        .args = args,
        .count = sizeof args / sizeof args[0],
        .exits = "0 all were caught   1 one was missed   2 usage error",
    };
    const char *only = args_parse(&command, argc, argv);
    if (only != NULL && strcmp(only, "spread") != 0 && strcmp(only, "ring") != 0 &&
        strcmp(only, "central") != 0 && strcmp(only, "agree") != 0 && strcmp(only, "gather") != 0 &&
        strcmp(only, "view") != 0 && strcmp(only, "advise") != 0)
        args_fail(
            &command,
            "'%s' has no mutants; there are: spread, ring, central, agree, gather, view, advise",
            only);
    int missed = 0;
    for (size_t i = 0; i < sim_mutant_count; i++) {
        if (only != NULL && strcmp(only, sim_mutant_of_name(sim_mutants[i].of)) != 0)
            continue;
        struct sim_mutant_result result;
        sim_mutant_try(&sim_mutants[i], &result);
        missed += result.caught ? 0 : 1;
        if (json)
            print_json(&sim_mutants[i], &result);
        else
            print_words(&sim_mutants[i], &result);
    }
    return missed > 0 ? 1 : 0;
}
