#include "cli/args.h"
#include "cli/commands.h"
#include "cli/operator.h"

#include <inttypes.h>

/* Returns the exit code. */
static int cut_node(const struct operator_found *found, mu_slot node, bool heal)
{
    uint64_t machine = found->daemons[0].machine;
    const struct mu_local_message order = {.type = MU_LOCAL_CUT, .cut = {.is_cut = !heal}};
    for (size_t i = 0; i < found->count; i++) {
        if (found->daemons[i].slot != node)
            continue;
        struct operator_link link;
        bool done = operator_open(&link, &found->daemons[i]) && operator_order(&link, &order);
        operator_close(&link);
        if (!done)
            fprintf(stderr, "muster cut: node %u of machine %016" PRIx64 " %s\n", node, machine,
                    link.why);
        return done ? 0 : 1;
    }
    fprintf(stderr,
            "muster cut: machine %016" PRIx64 " has no node %u on this host ('muster status' shows "
            "its nodes)\n",
            machine, node);
    return 1;
}

int cmd_cut(int argc, char **argv)
{
    const char *machine = NULL;
    bool heal = false;
    const struct arg args[] = {
        {"heal", ARG_FLAG, &heal, 0, 0, NULL, "let it hear and be heard again"},
        OPERATOR_MACHINE_ARG(&machine),
    };
    const struct command command = {
        "muster cut",
        "Cuts a node off, without a word to anybody: its daemon neither hears nor says anything\n"
        "any more, as if its network were gone, and goes on with its processes.  This is for\n"
        "tests of how failures are handled: the others will declare the node dead, and what ran\n"
        "there is lost.  After --heal the node finds out, and ends its processes; healed before\n"
        "the timeout, it goes on as if nothing had been.\n\n" OPERATOR_HELP,
        "NODE", args, sizeof args / sizeof args[0]};
    const char *text = args_parse(&command, argc, argv);
    if (text == NULL)
        args_fail(&command, "the number of a node is missing");
    uint64_t node;
    if (!args_number(text, &node) || node >= MU_SIZE_MAX)
        args_fail(&command, "NODE is '%s', but must be a whole number from 0 to %u", text,
                  MU_SIZE_MAX - 1);

    struct operator_found found;
    if (!operator_find(&command, machine, &found))
        return 1;
    int code = cut_node(&found, (mu_slot)node, heal);
    operator_free(&found);
    return code;
}
