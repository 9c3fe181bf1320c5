/* What is known of the failures of a job: who, where, how, and when every node had told its
 * processes.  For the summary at the end, and for --report. */
#ifndef MU_RUN_DEATHS_H
#define MU_RUN_DEATHS_H

#include "launch/job.h"

#include <stdio.h>

/* A death is written to the report, and no longer waited for, when all nodes have told of it or
 * this time is over: a daemon gathers what it says of that for 250 ms. */
enum { RUN_DEATHS_WAIT_MS = 500 };

struct run_deaths;

struct run_deaths_config {
    uv_loop_t *loop;
    const struct machine *machine;
    const struct job *job;
    FILE *report;      /* NULL: none */
    int *report_error; /* errno of the first write that failed; not touched before */
    void *owner;
    /* run_deaths_settled() has become true. */
    void (*settled)(void *owner);
};

/* NULL: no memory. */
struct run_deaths *run_deaths_open(const struct run_deaths_config *config);

/* The memory goes when the loop has run once more.  NULL is fine. */
void run_deaths_close(struct run_deaths *deaths);

/* A process failed, or a node was lost; 'with_ranks': and with it what has not ended there by now.
 * What is known already is not counted again. */
void run_deaths_process(struct run_deaths *deaths, uint32_t rank,
                        const struct mu_evidence *evidence);
void run_deaths_node(struct run_deaths *deaths, mu_slot node, const char *how, bool with_ranks);

/* A better word for how a node was lost, when that is known and not settled. */
void run_deaths_node_how(struct run_deaths *deaths, mu_slot node, const char *how);

/* Of a death that is not known, too, unless 'only_known': nobody is told of ends after the job was
 * stopped, so it happened before, and is a failure. */
void run_deaths_told(struct run_deaths *deaths, const struct job_told *told, bool only_known);

/* A node will tell nothing any more. */
void run_deaths_node_silent(struct run_deaths *deaths);

/* No more is waited for: what is open goes into the report as it is. */
void run_deaths_give_up(struct run_deaths *deaths);

/* Nothing is waited for. */
bool run_deaths_settled(const struct run_deaths *deaths);

/* How the job ended, for its summary. */
struct run_tally {
    bool go_on; /* survivors continued */
    double seconds;
    uint32_t exited, failed, terminated; /* ranks */
    int code;
    const char *first_who; /* "rank 5" */
};

/* In words: each part is whole lines. */
void run_deaths_summary(const struct run_deaths *deaths, const struct run_tally *tally,
                        void (*say)(void *owner, const char *lines), void *owner);

#endif
