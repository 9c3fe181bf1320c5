/* The inside of 'muster run'; for run*.c only.
 *
 * One loop, and one place that decides what comes next: run_look_soon() has it looked at, outside
 * of all hooks.  A run goes: the machine comes up, the job runs until all ranks and streams have
 * ended, what is known of failures is summed up, the machine ends, output is written to the last
 * byte. */
#ifndef MU_RUN_INSIDE_H
#define MU_RUN_INSIDE_H

#include "run/output/input.h"
#include "launch/job.h"
#include "run/deaths.h"
#include "run/options.h"
#include "run/output/output.h"
#include "launch/signals.h"

/* quits.c: those that exited without a goodbye, and of which the user was not told yet. */
struct run_quits {
    uint32_t count;
    char who[128]; /* the first of them */
    char how[MU_EVIDENCE_TEXT_MAX];
    uv_timer_t timer;
};

struct run {
    struct run_options options;
    uv_loop_t loop;
    struct machine *machine;
    bool machine_gone;
    struct job *job; /* NULL: not yet, or over */
    bool job_idle, job_over;
    struct run_child *children; /* further jobs that its processes have asked for */
    uint32_t spawned;           /* how many there were */
    struct run_output *output;
    bool output_given_up;
    struct run_deaths *deaths; /* as long as the job */
    FILE *report;
    char *record_dir;               /* with hosts: its whole path */
    char refused[MACHINE_TEXT_MAX]; /* why a node did not take the job; said once for all */
    uint32_t said;                  /* failures that were said at once */
    bool *nodes_said;               /* of these, nodes that were lost */
    bool *nodes_declared;           /* nodes that the ring has declared dead: stopped, or cut off */
    struct run_quits quits;
    struct input *input;
    uint64_t input_room;
    bool input_asked, input_ended;
    struct run_signals signals;
    uv_timer_t look, timeout, late_stop, deadline;
    uv_timer_t orphans; /* runs while a lost node may have left some */
    uint32_t sweeps;
    uint64_t deadline_ms; /* 0: none */
    uint64_t begin_ns;
    int code; /* of the exit */
    bool has_code;
    int signal;    /* that ends us; 0: none */
    bool stopping; /* the job is being ended, so what ends now has not failed */
    bool closing;
};

/* run.c */
void run_look_soon(struct run *run);
void run_set_code(struct run *run, int code); /* the first one counts */

struct run_output_config run_output_config(struct run *run);

/* end.c: ends the job, or the machine when there is no job yet.  What lasts too long is
 * killed. */
void run_stop(struct run *run, uint32_t grace_ms);
void run_on_signal(void *owner, int number);
void run_on_timeout(uv_timer_t *timer);
void run_on_output_failed(void *owner, const char *where, int error);

/* job.c: starts it; from the machine's 'ready'. */
void run_start_job(struct run *run);
void run_on_node_lost(void *owner, mu_slot node, const char *text); /* of the machine */
void run_close_input(struct run *run);
void run_failed(struct run *run, int code);
/* "process 3 on node 1 (node1)", of whichever job: said, and what comes of it. */
void run_process_failed(struct run *run, const char *who, const struct mu_evidence *evidence);
const char *run_consequence(const struct run *run); /* of a failure, as the end of a message */

/* quits.c: 'who' has exited without a goodbye: told soon, with those that do the same; or now, with
 * what comes of it. */
void run_quit(struct run *run, const char *who, const char *how);
void run_say_quits(struct run *run);

/* spawn.c: further jobs.  A process of 'asker' wants one. */
void run_spawn(struct run *run, struct job *asker, mu_slot node, uint32_t number, uint32_t rank,
               const struct mu_launch_job *wish);
void run_spawn_look(struct run *run); /* begins what can begin, ends what is over */

/* Of all jobs of the run; the first one is there. */
uint32_t run_left(const struct run *run); /* ranks that have not ended */
void run_stop_jobs(struct run *run, uint32_t grace_ms);
void run_signal_jobs(struct run *run, int number);
void run_each_job(const struct run *run, void (*visit)(struct run *run, const struct job *job));
void run_credit(struct run *run, uint32_t source, uint64_t bytes);

#endif
