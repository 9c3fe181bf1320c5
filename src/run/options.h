/* What is asked of 'muster run'. */
#ifndef MU_RUN_OPTIONS_H
#define MU_RUN_OPTIONS_H

#include "command/args.h"
#include "launch/hosts.h"
#include "run/place.h"

enum {
    RUN_EXIT_OWN = 1,        /* muster's own failure */
    RUN_EXIT_QUIT = 1,       /* a rank exited with 0 without a goodbye: as of mpirun */
    RUN_EXIT_TIMEOUT = 124,  /* as timeout(1) has it */
    RUN_EXIT_NO_READER = 141 /* 128 + SIGPIPE: as a shell shows who wrote to nobody */
};

struct run_program {
    uint32_t count;    /* processes */
    char *directory;   /* absolute */
    char **argv;       /* of the caller's argv, ended with NULL */
    const char **envp; /* "NAME=VALUE", ended with NULL */
};

struct run_options {
    uint32_t nodes;
    struct hosts hosts; /* of the nodes, without addresses; none: this host */
    const char *agent;
    uint32_t ranks; /* of all programs */
    struct run_place place;
    bool report_bindings;
    bool ignore_sigpipe;
    bool no_pmi;
    struct run_program *programs;
    uint32_t program_count;
    bool tag_output;
    const char *output_dir; /* NULL: standard output and error */
    uint64_t timeout_s;     /* 0: none */
    bool go_on;             /* after a failure */
    uint32_t grace_ms;
    const char *record_dir;
    const char *report;
    uint64_t period_ns, timeout_ns; /* of heartbeats; 0: as usual */
    bool no_pmix;
    bool verbose;
};

/* Prints help and exits 0, or one line and exits 2, when it is not for running. */
void run_options_parse(struct run_options *options, int argc, char **argv);
void run_options_free(struct run_options *options);

#endif
