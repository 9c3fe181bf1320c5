#include "command/commands.h"

static const struct subcommand commands[] = {
    {"procfail", "from the death of a process to the last survivor that reads of it",
     cmd_bench_procfail},
    {"floor", "the same with bare sockets and no protocol, alone", cmd_bench_floor},
    {"nodefail", "from the failure of nodes to the last survivor that reads of them",
     cmd_bench_nodefail},
    {"accuracy", "who is declared dead although nobody dies, on a busy host", cmd_bench_accuracy},
    {"agree", "how long processes take to agree, also when one of them dies", cmd_bench_agree},
    {"agree-stress", "agreements while processes and daemons are killed, until one is left",
     cmd_bench_agree_stress},
    {"noise", "what heartbeats take when nothing happens, against bare sockets", cmd_bench_noise},
};

int cmd_bench(int argc, char **argv)
{
    return cli_dispatch("muster bench", "What muster takes, measured here.", commands,
                        sizeof commands / sizeof commands[0], argc, argv);
}
