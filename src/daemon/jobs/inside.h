/* The inside of jobs.h; for daemon/jobs only.  Who frees: a job is freed in one place, at the end
 * of a turn of the loop (on_soon() in jobs.c), so nothing here disappears under its caller. */
#ifndef MU_DAEMON_JOBS_INSIDE_H
#define MU_DAEMON_JOBS_INSIDE_H

#include "host/cores.h"
#include "daemon/jobs/jobs.h"
#include "daemon/pmi/pmi1.h"
#include "host/spawn.h"
#include "host/watch.h"

enum {
    MU_JOBS_STARTS = 32,    /* with the spawner at once */
    MU_JOBS_GRACE_MS = 500, /* for a job whose launcher is gone, or that an operator ends */
    MU_JOBS_INPUT_WINDOW = 64 * 1024,
    MU_JOBS_BUFFER = MU_LAUNCH_DATA_FIXED + MU_LAUNCH_CHUNK_MAX, /* the longest message from here */
};

/* Our end of a pipe. */
struct mu_job_stream {
    struct mu_job_process *process;
    struct mu_job_stream *next; /* in the queue of its job */
    int fd;                     /* -1: not open */
    uint8_t number;             /* as the descriptor in the process: 0, 1 or 2 */
    bool queued;                /* there may be something to read */
    bool last;                  /* the process has ended: 'left' bytes are still there, no more */
    bool ended;                 /* OUTPUT_END was said */
    uint32_t left;
};

enum mu_job_state { MU_JOB_WAITING, MU_JOB_STARTING, MU_JOB_RUNNING, MU_JOB_ENDED };

struct mu_job_process {
    struct mu_job *job;
    uint32_t rank;
    enum mu_job_state state;
    pid_t pid;
    uint8_t abort_code; /* not 0: it is killed because it asked for that, with this exit code */
    uint64_t signals;   /* WAITING, STARTING: for when it runs; bit 0 is signal 1 */
    struct mu_job_stream output[2];
    struct mu_spawn_spec *start; /* STARTING; its descriptors and environment are ours */
};

/* Standard input, when its rank is here. */
struct mu_job_input {
    struct mu_job_stream stream;
    uint8_t *bytes; /* a ring of MU_JOBS_INPUT_WINDOW: what the pipe did not take yet; NULL: not
                     * here */
    uint32_t begin, count;
    uint32_t granted; /* bytes that the launcher may send; with 'count' it is the window */
    bool ending;      /* closed when the ring is empty */
    bool closed;      /* what still comes is dropped */
};

/* The JOB message, until everything has started. */
struct mu_job_orders {
    struct mu_launch_job spec;
    struct mu_launch_lists lists;
    uint8_t bytes[];
};

struct mu_job {
    struct mu_jobs *jobs;
    struct mu_job *next;
    struct mu_job_launcher *launcher; /* NULL: it said OVER, or is gone */
    uint32_t number;
    struct mu_job_orders *orders; /* NULL: nothing is waiting or starting */
    uint32_t count;               /* processes here */
    uint32_t submitted;           /* of these, the first so many are not waiting any more */
    uint32_t starting;
    uint32_t left; /* that have not ended */
    bool held;     /* nothing starts before mu_jobs_go() */
    bool stopping;
    bool killed;                        /* time is over: whoever still comes up is killed */
    uint64_t kill_at_ms;                /* of the loop's clock; UINT64_MAX: never */
    uint64_t credit;                    /* bytes of output that the launcher takes */
    struct mu_job_stream *first, *last; /* streams to read, in turn */
    struct mu_job_input input;
    struct mu_pmi1_job *pmi;     /* NULL: it is without */
    struct mu_local_event *told; /* gathered: mu_job_tell() */
    uint32_t told_count, told_room;
    struct mu_job_process processes[]; /* in the order of ranks */
};

/* A launcher's connection.  It carries one job in its life. */
struct mu_job_launcher {
    struct mu_jobs *jobs;
    struct mu_job_launcher *next;
    struct mu_conn *conn;
    struct mu_job *job; /* NULL: none yet, or it is over or was refused */
    bool had_job;
};

struct mu_jobs {
    struct mu_jobs_config config;
    struct mu_spawner *spawner;
    struct mu_watch_proc *watch;
    int stream_epoll; /* all streams, edge-triggered: see output.c */
    uint8_t *buffer;  /* every message out is made here */
    struct mu_job *first;
    struct mu_job_launcher *launchers;
    uint32_t left;     /* processes of all jobs that have not ended */
    uint32_t starting; /* of these, with the spawner */
    bool ending;       /* no job is taken any more */
    void (*all_over)(void *owner);
    uint32_t sweeps;              /* for orphans, since the last job was over */
    struct mu_pmi1 *pmi1;         /* NULL: no job wanted it */
    struct mu_cores cores;        /* known when the first job wants them */
    struct mu_spawn_cpus allowed; /* what this daemon might run on when it began */

    uv_poll_t spawned, ends, streams;
    uv_timer_t told_timer, kill_timer, orphan_timer;
    uv_idle_t soon;
    uint32_t handles; /* of these, not closed yet */
};

/* jobs.c */
struct mu_job *mu_jobs_find(struct mu_jobs *jobs, uint32_t number);
void mu_jobs_soon(struct mu_jobs *jobs); /* there is output to read, or a job may be over */
void mu_jobs_watch_orphans(struct mu_jobs *jobs); /* while jobs run */
/* Processes whose end was told are reaped (host/watch.h says why not before). */
void mu_jobs_reap_soon(struct mu_jobs *jobs);

/* launcher.c */
void mu_job_send(struct mu_job *job, const struct mu_launch_message *message);
void mu_job_free(struct mu_job *job);
void mu_job_say_ready(struct mu_job *job); /* when it has no process here */

/* told.c: news for launchers, gathered. */
void mu_job_tell(struct mu_job *job); /* now */
void mu_jobs_on_told_timer(uv_timer_t *timer);

/* start.c */
void mu_jobs_start_more(struct mu_jobs *jobs);
void mu_jobs_on_spawned(uv_poll_t *poll, int status, int events);
void mu_job_start_free(struct mu_job_process *process);
void mu_job_orders_free(struct mu_job *job);

/* bind.c */
const char *mu_jobs_bind_error(struct mu_jobs *jobs, const struct mu_launch_job *spec,
                               char *text); /* why its processes cannot be bound here, or NULL */
void mu_job_bind(const struct mu_job_process *process, struct mu_spawn_spec *start);
void mu_job_say_bound(const struct mu_job_process *process); /* to the launcher, if it asked */

/* pmi.c: without effect for jobs that are without. */
bool mu_job_pmi_open(struct mu_job *job);                            /* false: no memory */
int mu_job_pmi_connect(struct mu_job_process *process, int *theirs); /* 0 or an errno */
void mu_job_pmi_ended(struct mu_job_process *process);

/* end.c */
void mu_jobs_on_ends(uv_poll_t *poll, int status, int events);
void mu_jobs_on_kill_timer(uv_timer_t *timer);
void mu_jobs_abort(struct mu_jobs *jobs, uint32_t number, uint32_t rank, uint8_t code);
void mu_job_process_ended(struct mu_job_process *process, const struct mu_evidence *evidence);
struct mu_evidence mu_job_evidence(const struct mu_jobs *jobs, const struct mu_exit_kind *how,
                                   pid_t pid, uint64_t seen_ns);
void mu_job_stop(struct mu_job *job, int signal, uint32_t grace_ms);
void mu_job_signal(struct mu_job *job, int signal);      /* to all, also to those that start */
void mu_job_signal_late(struct mu_job_process *process); /* what came before it ran */

/* output.c */
int mu_job_stream_open(struct mu_job_stream *stream, int *theirs); /* 0 or an errno */
void mu_job_stream_close(struct mu_job_stream *stream);
void mu_job_output_begin(struct mu_job_process *process);
void mu_job_output_last(struct mu_job_process *process);
void mu_jobs_on_streams(uv_poll_t *poll, int status, int events);
bool mu_jobs_read_some(struct mu_jobs *jobs); /* true: there is more that can be read now */

/* input.c */
bool mu_job_input_open(struct mu_job *job, struct mu_job_process *process); /* false: no memory */
void mu_job_input_grant(struct mu_job *job, uint32_t bytes);
bool mu_job_input_take(struct mu_job *job, const uint8_t *bytes, uint32_t count);
void mu_job_input_write(struct mu_job *job);
void mu_job_input_close(struct mu_job *job);

#endif
