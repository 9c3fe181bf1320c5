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

/* alike.c: ranks that failed in the same way, and of which the user was not told yet. */
struct run_alike {
    uint32_t count;
    char who[64]; /* the first of them */
    mu_slot node; /* where that ran */
    char how[MU_EVIDENCE_TEXT_MAX];
    enum mu_exit_type type;
    bool others_ran; /* when it failed */
    bool *nodes;     /* where they ran */
    uv_timer_t timer;
};

/* lost.c: what is said of each node. */
struct run_node {
    bool said;     /* that it failed */
    bool declared; /* the ring has declared it: stopped, or disconnected */
    char *how;     /* why its daemon ended, where that is known */
    char *ranks;   /* that failed with it: the line is still to come */
    uint32_t left; /* of these */
    char *text;    /* the cause, where no better one becomes known */
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
    char *record_dir;                    /* with hosts: its whole path */
    char refused[MACHINE_TEXT_MAX];      /* why a node did not take the job; said once for all */
    uint32_t said;                       /* failures that were said at once */
    uint32_t all;                        /* ranks, while they are counted */
    char first_who[64];                  /* the first failure: "rank 5" */
    uint32_t exited, failed, terminated; /* ranks of the first job, by how they ended */
    struct run_node *nodes;
    uv_timer_t lost_timer;
    struct run_alike alike;
    int report_error; /* errno; 0: none */
    struct input *input;
    uint64_t input_room;
    bool input_asked, input_ended;
    struct run_signals signals;
    uv_timer_t look, timeout, late_stop, deadline;
    uv_timer_t orphans; /* runs while a lost node may have left some */
    uint32_t sweeps;
    uint64_t deadline_ms; /* 0: none */
    uint64_t begin_ns, job_begin_ns;
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
/* "rank 3" has failed, with that code: the run ends, unless survivors are to continue. */
void run_failed(struct run *run, const char *who, int code);
/* Of a failure, as the end of a message: "; 7 of 8 ranks continue". */
enum { RUN_CONSEQUENCE_MAX = 128 };
const char *run_consequence(const struct run *run, char text[RUN_CONSEQUENCE_MAX]);

/* alike.c: "rank 3", of whichever job, has failed: told soon, with those that do the same. */
void run_process_failed(struct run *run, const char *who, mu_slot node,
                        const struct mu_evidence *evidence);
void run_say_alike(struct run *run);

/* lost.c: a node has failed with these ranks; said when the cause is known, or soon. */
void run_node_failed(struct run *run, mu_slot node, const char *ranks, uint32_t left,
                     const char *text);
void run_node_how(struct run *run, mu_slot node, const char *how);
void run_say_lost(struct run *run); /* what is still to be said */
void run_nodes_free(struct run *run);

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
