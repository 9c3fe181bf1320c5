#include "command/commands.h"

static const struct subcommand commands[] = {
    {"spread", "one death crosses a machine of any size", cmd_sim_spread},
    {"ring", "nodes fail, and the ring finds them, on a machine of any size", cmd_sim_ring},
    {"central", "a master polls healthy hosts: whom does it accuse?", cmd_sim_central},
    {"agree", "one agreement of a machine of any size", cmd_sim_agree},
    {"check", "many small worlds full of faults, checked against the laws", cmd_sim_check},
    {"explore", "every interleaving of a few nodes, checked against the laws", cmd_sim_explore},
    {"mutants", "break rules on purpose: is each one caught?", cmd_sim_mutants},
    {"replay", "run a recorded event log again", cmd_sim_replay},
};

int cmd_sim(int argc, char **argv)
{
    return cli_dispatch(
        "muster sim",
        "The protocols of the daemon, byte for byte the same code, in virtual time.\n"
        "The same seed gives the same run.",
        commands, sizeof commands / sizeof commands[0], argc, argv);
}
