#include "command/commands.h"

static const struct subcommand commands[] = {
    {"procfail", "time from a process failure to the last notification", cmd_bench_procfail},
    {"floor", "the same with plain sockets and no protocol", cmd_bench_floor},
    {"nodefail", "time from node failures to the last notification", cmd_bench_nodefail},
    {"accuracy", "false positives on a busy host", cmd_bench_accuracy},
    {"agree", "duration of agreements, also with failures", cmd_bench_agree},
    {"agree-stress", "agreements while processes and daemons are killed", cmd_bench_agree_stress},
    {"noise", "cost of heartbeats in an idle cluster", cmd_bench_noise},
};

int cmd_bench(int argc, char **argv)
{
    return cli_dispatch("muster bench", "Benchmark muster on this host, against plain sockets.",
                        commands, sizeof commands / sizeof commands[0], argc, argv);
}
