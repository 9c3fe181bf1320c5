#include "command/commands.h"
#include "command/output.h"

#include <stdio.h>
#include <string.h>

static const struct subcommand commands[] = {
    {"run", "start a parallel job, and the daemons that look after it", cmd_run},
    {"status", "nodes and jobs of a machine that runs on this host", cmd_status},
    {"events", "who died or left, when, and who saw it", cmd_events},
    {"why", "how a node or a process came to be dead, step by step", cmd_why},
    {"kill", "end a job on all its nodes", cmd_kill},
    {"set", "how often nodes beat, and which silence is a death", cmd_set},
    {"chaos", "faults on purpose: kill, stop, cut off, slow down", cmd_chaos},
    {"tune", "the shortest times for heartbeats that this host can keep", cmd_tune},
    {"sim", "run the protocols in a virtual world, up to millions of nodes", cmd_sim},
    {"bench", "measure it here, against bare sockets", cmd_bench},
};

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("muster %s\n", MUSTER_VERSION);
        return 0;
    }
    int code = cli_dispatch("muster", "muster takes the roll of a parallel machine.", commands,
                            sizeof commands / sizeof commands[0], argc, argv);
    return output_ok() || code != 0 ? code : 1;
}
