/* A further job of a run, which one of its processes has asked for; for child.c and
 * spawn.c.
 *
 *     WANTED  ->  STARTING  ->  RUNS
 *        `----------`------->  FAILED   whoever asked was told so; it has no processes, or they end
 */
#ifndef MU_RUN_CHILD_H
#define MU_RUN_CHILD_H

#include "run/inside.h"

enum child_state { CHILD_WANTED, CHILD_STARTING, CHILD_RUNS, CHILD_FAILED };

struct run_child {
    struct run *run;
    struct run_child *next;
    enum child_state state;
    uint32_t index; /* of the run's jobs; the first one is 0 */
    struct {
        uint32_t job, rank, number;
        mu_slot node;
    } asker;
    uint32_t size, run_count;
    struct mu_launch_run *runs;
    uint32_t program_count;
    struct job_program *programs; /* their strings are ours */
    struct job *job;              /* NULL: not yet */
    struct run_deaths *deaths;
    struct run_output *output; /* the run's, or with --output-dir its own */
    uint32_t first_stream;     /* where its ranks begin there */
    bool idle;
};

/* Of a wish, which is copied. */
struct run_child *run_child_make(struct run *run, uint32_t size, uint32_t program_count,
                                 const struct mu_launch_program *programs);

/* When it has no job, or that is idle. */
void run_child_free(struct run_child *child);

/* WANTED, and its runs say where: starts the job, or fails. */
void run_child_start(struct run_child *child);

/* To whoever asked, if that is still there: the job; or 0, and why not. */
void run_child_answer(struct run_child *child, uint32_t made, const char *text);

/* It is no failure of the run: whoever asked is told, and decides.  Nothing, when it runs or has
 * failed. */
void run_child_fail(struct run_child *child, const char *text);

/* A job of the run.  NULL: there is none of this number any more. */
struct job *run_job_of(const struct run *run, uint32_t number);

#endif
