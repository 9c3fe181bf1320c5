#include "cli/commands.h"

#include <string.h>

static const struct subcommand commands[] = {
    {"procfail", "from the death of a process to the last survivor that reads of it",
     cmd_bench_procfail},
    {"floor", "the same with bare sockets and no protocol, alone", cmd_bench_floor},
};

int cmd_bench(int argc, char **argv)
{
    /* Not in the list: nobody but a bench has a use for it. */
    if (argc >= 2 && strcmp(argv[1], "client") == 0)
        return cmd_bench_client(argc - 1, argv + 1);
    return cli_dispatch("muster bench", "What muster takes, measured here.", commands,
                        sizeof commands / sizeof commands[0], argc, argv);
}
