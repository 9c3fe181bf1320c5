#include "command/commands.h"

static const struct subcommand commands[] = {
    {"spread", "broadcast one failure through a cluster of any size", cmd_sim_spread},
    {"ring", "detect failures in a cluster of any size", cmd_sim_ring},
    {"central", "a central detector and the hosts that it polls", cmd_sim_central},
    {"agree", "one agreement in a cluster of any size", cmd_sim_agree},
    {"advise", "a recommended group of any size, without its slow members", cmd_sim_advise},
    {"verdicts", "measure false and missed verdicts on synthetic times", cmd_sim_verdicts},
    {"check", "check many small clusters with random faults", cmd_sim_check},
    {"explore", "check every interleaving of events among a few nodes", cmd_sim_explore},
    {"mutants", "break rules on purpose, and check that each is caught", cmd_sim_mutants},
    {"replay", "replay a recording", cmd_sim_replay},
};

int cmd_sim(int argc, char **argv)
{
    return cli_dispatch(
        "muster sim",
        "Run the protocols of the daemon in simulated clusters, reproducibly by seed.", commands,
        sizeof commands / sizeof commands[0], argc, argv);
}
