#include "cli/commands.h"

static const struct subcommand commands[] = {
    {"procfail", "from the death of a process to the last survivor that reads of it",
     cmd_bench_procfail},
    {"floor", "the same with bare sockets and no protocol, alone", cmd_bench_floor},
};

int cmd_bench(int argc, char **argv)
{
    return cli_dispatch("muster bench", "What muster takes, measured here.", commands,
                        sizeof commands / sizeof commands[0], argc, argv);
}
