/* The inside of job.h; for launch only. */
#ifndef MU_LAUNCH_JOB_INSIDE_H
#define MU_LAUNCH_JOB_INSIDE_H

#include "launch/job.h"
#include "launch/words.h"

#define JOB_NO_HOST UINT32_MAX

/* A node that hosts ranks of the job, and the connection to its daemon. */
struct job_host {
    struct job *job;
    mu_slot slot;
    struct mu_conn *conn; /* NULL: lost, or finished */
    bool open;            /* the connection is */
    bool lost;
    bool left; /* with a goodbye */
    bool refused;
    bool has_ranks;
    bool ready;    /* READY came; with ranks there, these tell */
    uint64_t owed; /* credit that was not given back yet */
};

struct job_rank {
    uint32_t pid;
    mu_slot node;
    uint8_t state;         /* enum job_state */
    uint8_t streams_ended; /* bit 0: stream 1, bit 1: stream 2 */
};

struct job {
    struct machine *machine;
    struct job_hooks hooks;
    uint32_t number, size;
    uint32_t run_count;
    struct mu_launch_run *runs;
    struct job_rank *ranks;
    uint32_t host_count, hosts_lost;
    struct job_host *hosts;
    uint32_t *host_at; /* by slot: its place in 'hosts', or JOB_NO_HOST */
    uint8_t *orders;   /* the JOB message */
    size_t orders_count;
    uint8_t *buffer;  /* every other message is made here */
    uint64_t credit;  /* that each node has at first */
    uint32_t left;    /* ranks that have not ended */
    uint32_t waiting; /* of these, not started */
    uint32_t streams_left;
    uint8_t binding;     /* enum mu_launch_binding */
    struct words *words; /* NULL: what daemons say of nodes does not end these here */
    bool connected, stopped, idle;
    bool begun;        /* and said so */
    uint32_t grace_ms; /* stopped */
};

/* job_events.c */
extern const struct mu_conn_hooks job_conn_hooks; /* the owner is a struct job_host */

/* job.c */
void job_hand_out(struct job *job); /* to all at once: see on_open() */
void job_hand_late(struct job_host *host);

/* A daemon asks whether this launcher reaches another one; one has answered. */
void job_take_ask(struct job_host *host, const struct mu_launch_reach *ask);
void job_take_pong(struct job_host *host, const struct mu_launch_reach *pong);

static inline struct job_host *job_host_of(struct job *job, mu_slot node)
{
    return &job->hosts[job->host_at[node]];
}

#endif
