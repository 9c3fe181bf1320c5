/* The subcommands of muster.  Each takes argv from its own name on and returns the exit code. */
#ifndef MU_COMMAND_COMMANDS_H
#define MU_COMMAND_COMMANDS_H

#include <stddef.h>

struct subcommand {
    const char *name;
    const char *about;
    int (*run)(int argc, char **argv);
};

/* Runs the subcommand that argv[1] names, or prints the list; 'path' is what was typed so far. */
int cli_dispatch(const char *path, const char *about, const struct subcommand *commands,
                 size_t count, int argc, char **argv);

int cmd_run(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_events(int argc, char **argv);
int cmd_views(int argc, char **argv);
int cmd_why(int argc, char **argv);
int cmd_kill(int argc, char **argv);
int cmd_set(int argc, char **argv);
int cmd_tune(int argc, char **argv);
int cmd_chaos(int argc, char **argv);
int cmd_chaos_script(int argc, char **argv);
int cmd_chaos_random(int argc, char **argv);
int cmd_sim(int argc, char **argv);
int cmd_sim_spread(int argc, char **argv);
int cmd_sim_ring(int argc, char **argv);
int cmd_sim_central(int argc, char **argv);
int cmd_sim_agree(int argc, char **argv);
int cmd_sim_advise(int argc, char **argv);
int cmd_sim_verdicts(int argc, char **argv);
int cmd_sim_check(int argc, char **argv);
int cmd_sim_explore(int argc, char **argv);
int cmd_sim_mutants(int argc, char **argv);
int cmd_sim_replay(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_bench_procfail(int argc, char **argv);
int cmd_bench_floor(int argc, char **argv);
int cmd_bench_nodefail(int argc, char **argv);
int cmd_bench_accuracy(int argc, char **argv);
int cmd_bench_noise(int argc, char **argv);
int cmd_bench_agree(int argc, char **argv);
int cmd_bench_agree_stress(int argc, char **argv);

#endif
