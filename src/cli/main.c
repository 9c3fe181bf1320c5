#include "command/commands.h"
#include "command/output.h"

#include <stdio.h>
#include <string.h>

static const struct subcommand commands[] = {
    {"run", "run a parallel job", cmd_run},
    {"status", "show nodes and jobs of a running cluster", cmd_status},
    {"events", "list failures and exits", cmd_events},
    {"views", "show the numbered membership of a cluster, and how it changed", cmd_views},
    {"why", "explain how a failure was detected", cmd_why},
    {"kill", "end a job on all its nodes", cmd_kill},
    {"set", "change heartbeat period and timeout", cmd_set},
    {"chaos", "inject faults: kill, stop, disconnect or delay nodes", cmd_chaos},
    {"tune", "find the shortest heartbeat settings that this host can keep", cmd_tune},
    {"sim", "simulate the protocols, up to millions of nodes", cmd_sim},
    {"bench", "benchmark muster against plain sockets", cmd_bench},
};

int main(int argc, char **argv)
{
    bool is_version =
        argc == 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0);
    if (is_version) {
        printf("muster %s\n", MUSTER_VERSION);
        return output_ok() ? 0 : 1;
    }
    int code = cli_dispatch("muster", "Launch parallel jobs, detect failures, notify survivors.",
                            commands, sizeof commands / sizeof commands[0], argc, argv);
    return output_ok() || code != 0 ? code : 1;
}
