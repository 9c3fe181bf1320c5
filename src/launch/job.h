/* One job on a machine: what is to run, what became of each rank, what it writes and reads.
 *
 *     job_start()  ->  'connected', 'started'..., 'output'..., 'ended'..., 'told'...
 *     'idle'       ->  job_finish()  ->  job_free()
 *
 * Jobs of one machine may follow each other or run at once.  Hooks come on the machine's loop,
 * never within a function of this header; after job_free() none does. */
#ifndef MU_LAUNCH_JOB_H
#define MU_LAUNCH_JOB_H

#include "launch/machine.h"
#include "wire/launch/launch.h"

struct job;

/* A daemon has told its processes of a death. */
struct job_told {
    mu_slot by;      /* whose daemon */
    bool is_node;    /* else a process of this job */
    uint32_t rank;   /* of the process */
    mu_slot node;    /* the dead node, or where the process ran */
    uint16_t hops;   /* that the news took; 0: it saw the death itself */
    uint64_t age_ns; /* since the death was first seen, when the processes were told */
    const struct mu_evidence *evidence;
};

/* All may be NULL. */
struct job_hooks {
    void *owner;
    /* Every daemon concerned has the job (or is lost). */
    void (*connected)(void *owner);
    void (*started)(void *owner, uint32_t rank, uint32_t pid);
    /* With report_bindings, of a process that is bound: to what, "core 1: [./B]". */
    void (*bound)(void *owner, uint32_t rank, const char *text);
    /* Once for each rank, also when it never started.  Verdict LEFT: exit code 0.  DEAD: its daemon
     * says how, or the cause is NODE_LOST: then seen_by is MU_SLOT_NONE, and 'node_lost' came
     * before. */
    void (*ended)(void *owner, uint32_t rank, const struct mu_evidence *evidence);
    /* A node with ranks of this job that had not ended: 'ended' follows for each of them.  'text'
     * is a clause, "its connection was cut" for instance. */
    void (*node_lost)(void *owner, mu_slot node, const char *text);
    void (*told)(void *owner, const struct job_told *told);
    /* A word of a node counts (words.h): after 'told', and before 'node_lost' when that follows.
     * It may come several times. */
    void (*declared)(void *owner, mu_slot node, const struct mu_evidence *evidence);
    /* What a rank wrote to stream 1 or 2, in its order; 'bytes' only live within the call.  True:
     * done with, more may come.  False: job_credit() follows when it is.  Without this hook output
     * is thrown away. */
    bool (*output)(void *owner, uint32_t rank, uint8_t stream, const uint8_t *bytes,
                   uint32_t count);
    /* Nothing more of this stream.  Once for each stream, also when the process never started or
     * its node was lost. */
    void (*output_end)(void *owner, uint32_t rank, uint8_t stream);
    /* So many bytes of input can be given to job_input(), in all. */
    void (*input_room)(void *owner, uint64_t bytes);
    /* A daemon cannot start the job at all; 'text' says why.  Its ranks end as not started
     * (MU_START_CLONE, EAGAIN). */
    void (*refused)(void *owner, mu_slot node, const char *text);
    /* Every rank has started or ended, and every daemon concerned has the job: job_has_begun().
     * Again, when that has become true again after job_extend(). */
    void (*begun)(void *owner);
    /* A process wants a further job, of which only size and programs are said; they live within the
     * call.  job_answer() follows, exactly once. */
    void (*spawn)(void *owner, mu_slot node, uint32_t number, uint32_t rank,
                  const struct mu_launch_job *wish);
    /* Every rank and every stream has ended.  Words of 'told' may still come until job_finish(). */
    void (*idle)(void *owner);
};

/* The same program for a row of ranks; rows follow each other in the order of ranks. */
struct job_program {
    uint32_t count;
    const char *directory;   /* working directory, absolute */
    const char *const *argv; /* argv[0] without a slash: looked for in PATH by the daemon */
    const char *const *envp; /* besides the job's, over which it wins; NULL: none */
};

struct job_config {
    struct machine *machine; /* ready */
    uint32_t program_count;
    const struct job_program *programs;
    const char *const *envp; /* of every process; the daemon adds MUSTER_* */
    /* Which ranks run where; NULL: in blocks over all nodes, rank r of n on node r * K / n. */
    const struct mu_launch_run *runs;
    uint32_t run_count;
    /* A node that a daemon tells to be dead is lost, also while its connection stands: it is
     * stopped, or cut off.  Of sides that declare each other one goes on: words.h.  'told' comes
     * before 'node_lost'. */
    bool lose_declared;
    bool input; /* rank 0 reads what job_input() is given; else /dev/null */
    bool ignore_sigpipe;
    uint8_t binding;      /* enum mu_launch_binding; MU_LAUNCH_PART: see job_choose_binding() */
    bool report_bindings; /* the hook 'bound' comes */
    bool pmi;             /* processes are to find each other by PMI-1 */
    struct mu_launch_parent parent;
    /* By slot: nodes whose daemons are to know the job, though no rank of it is there.  NULL: none.
     */
    const bool *also;
    struct job_hooks hooks;
};

/* What becomes of a binding that is wanted.  With MU_LAUNCH_PART, for one host only, processes are
 * not bound where that would leave a processor idle (map_is_even()). */
uint8_t job_choose_binding(uint8_t wanted, const struct mu_launch_run *runs, uint32_t run_count,
                           uint32_t nodes);

/* Copies what it needs.  Returns the job, or NULL with a sentence in 'text'. */
struct job *job_start(const struct job_config *config, char text[MACHINE_TEXT_MAX]);

/* At any time; not within a hook of this job other than 'idle'.  What was not finished is cut off:
 * its daemons kill its processes.  NULL is fine. */
void job_free(struct job *job);

/* After 'idle': tells the daemons to forget it, with a goodbye.  Only job_free() may follow. */
void job_finish(struct job *job);

/* One more daemon that is to know the job, though no rank of it is there.  Nothing, when it does or
 * is lost.  False with a sentence in 'text': it cannot be called, and nothing has changed. */
bool job_extend(struct job *job, mu_slot node, char text[MACHINE_TEXT_MAX]);
bool job_has_begun(const struct job *job);

/* Its daemon has not taken the job, or the connection to it is lost. */
bool job_turned_away(const struct job *job, mu_slot node);

/* To the hook 'spawn': the number of the new job; or 0, and why not. */
void job_answer(struct job *job, mu_slot node, uint32_t number, uint32_t made, const char *text);

/* To every process that runs. */
void job_signal(struct job *job, int number);

/* SIGTERM to every process, and SIGKILL 'grace_ms' later (0: at once).  From now on ends are no
 * failures: nobody else is told of them. */
void job_stop(struct job *job, uint32_t grace_ms);
bool job_stopped(const struct job *job);

/* Standard input of rank 0, within the room; none: it ends. */
void job_input(struct job *job, const uint8_t *bytes, uint32_t count);

/* So many bytes of ranks of this node, for which 'output' returned false, are done with. */
void job_credit(struct job *job, mu_slot node, uint64_t bytes);

/* Words for the daemons that their connections have not taken yet. */
size_t job_queued(const struct job *job);

enum job_state { JOB_WAITING, JOB_RUNNING, JOB_ENDED };

uint32_t job_number(const struct job *job);
uint8_t job_binding(const struct job *job);     /* enum mu_launch_binding, as it came out */
uint32_t job_size(const struct job *job);       /* ranks */
uint32_t job_left(const struct job *job);       /* ranks that have not ended */
uint32_t job_node_count(const struct job *job); /* nodes that host ranks of it, also lost ones */
uint32_t job_live_nodes(const struct job *job); /* of these, not lost */
mu_slot job_node_of(const struct job *job, uint32_t rank);
bool job_hosts(const struct job *job, mu_slot node);     /* it has ranks there, and is not lost */
bool job_node_left(const struct job *job, mu_slot node); /* it is lost, by its own goodbye */
uint32_t job_pid(const struct job *job, uint32_t rank);  /* 0: did not start */
enum job_state job_state(const struct job *job, uint32_t rank);

#endif
