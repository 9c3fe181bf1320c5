/* The processes of this node's jobs: started, fed, listened to, signalled, reaped; and one
 * connection to the launcher of each job.
 *
 * Output goes from a pipe to the launcher within the credit that the launcher has given; without
 * credit the pipe is not read, and the process waits.  Nothing is ever thrown away: when a process
 * has ended, what its pipes still hold is read first.
 *
 * Every child of this process that is not of a job counts as an orphan of one (orphans.h): it is
 * killed when the last job is over.  SIGPIPE is ignored by the caller.  docs/launch.md has the
 * words between a launcher and this. */
#ifndef MU_DAEMON_JOBS_JOBS_H
#define MU_DAEMON_JOBS_JOBS_H

#include "net/conn.h"
#include "wire/launch/launch.h"
#include "wire/local/local.h"

struct mu_jobs;
struct mu_pmi1_job;

struct mu_jobs_hooks {
    void *owner;
    /* A job is to begin.  NULL, or why it cannot be. */
    const char *(*begin)(void *owner, uint32_t job, const struct mu_launch_job *spec);
    /* It begins.  True: its processes have to wait for mu_jobs_go().  May be NULL. */
    bool (*hold)(void *owner, uint32_t job, const struct mu_launch_job *spec);
    /* Variables of one process, ended with NULL: those that win over the user's, and those over
     * which the user's win.  NULL is none.  Given back with env_free().  All NULL: there are none.
     */
    char **(*env)(void *owner, uint32_t job, uint32_t rank);
    char **(*usual_env)(void *owner, uint32_t job);
    void (*env_free)(void *owner, char **env);
    void (*started)(void *owner, uint32_t job, uint32_t rank, uint32_t pid);
    /* A process ended, or could not be started.  'stopping': the launcher has ended the job (or is
     * gone), so this is no news for anybody else. */
    void (*ended)(void *owner, uint32_t job, uint32_t rank, const struct mu_evidence *evidence,
                  bool stopping);
    /* Nothing of the job is left here: processes have ended, and the launcher said OVER or is gone.
     */
    void (*over)(void *owner, uint32_t job);
    /* All processes of a job here meet those of other nodes, by PMI-1: see pmi1.h. */
    const char *(*gather)(void *owner, uint32_t job, uint32_t size, const uint8_t *bytes,
                          size_t count);
    /* The launcher's answer to mu_jobs_spawn(): the number of the new job; 0: 'text' says why
     * not.  May be NULL. */
    void (*spawned)(void *owner, uint32_t job, uint32_t number, uint32_t made, const char *text);
    /* To mu_jobs_ask_launcher(): how far a launcher came with the node in question. */
    void (*reached)(void *owner, const struct mu_launch_reach *answer);
    /* The launcher wants to know whether this node works: what its detector has on its clock; 0:
     * it does not, say nothing. */
    uint64_t (*alive_ns)(void *owner);
    /* A launcher says that the other nodes have declared this one dead.  May be NULL. */
    void (*declared)(void *owner);
    /* A process of this node has ended with exit code 0, and 'ended' is still to come: what it
     * should have called before, because others may wait for it.  May be NULL. */
    enum mu_goodbye (*owes)(void *owner, uint32_t job, uint32_t rank);
    /* Sets the bit of each rank of the job that is known to have failed, 64 to a word. */
    void (*dead)(void *owner, uint32_t job, uint64_t *failed);
};

struct mu_jobs_config {
    struct mu_net *net; /* its loop, slot and size; like 'socket' it stays the caller's */
    uint64_t clock;     /* of evidences */
    bool shared_host;   /* all nodes are on one host, and share its cores */
    uint32_t processes; /* at once */
    const char *socket; /* for the environment of processes: MUSTER_SOCKET */
    struct mu_jobs_hooks hooks;
};

/* Starts the thread that starts processes.  Returns 0, or an errno with *jobs untouched. */
int mu_jobs_open(const struct mu_jobs_config *config, struct mu_jobs **jobs);

/* Kills what still runs, reaps it, says goodbye to launchers.  Calls no hook, and is not called
 * within one.  Handles of the loop are closed when it runs next. */
void mu_jobs_close(struct mu_jobs *jobs);

/* A launcher has connected: the connection is accepted, and belongs to 'jobs' now.  It brings one
 * job in its life. */
void mu_jobs_launcher(struct mu_jobs *jobs, struct mu_conn *conn);

/* A job that was held: its processes may start. */
void mu_jobs_go(struct mu_jobs *jobs, uint32_t job);

/* A process of this job wants a further job, of this size and with these programs: its launcher is
 * asked.  The hook 'spawned' follows with the same number, unless the job is over first.  NULL, or
 * why not. */
const char *mu_jobs_spawn(struct mu_jobs *jobs, uint32_t job, uint32_t rank, uint32_t number,
                          const struct mu_launch_job *wish);

/* The ring has nobody else to ask (ring.h, ASK_LAUNCHER): every launcher that has a job here is
 * asked, and may answer with 'reached'.  Says nothing where there is none. */
void mu_jobs_ask_launcher(struct mu_jobs *jobs, mu_slot subject, uint64_t nonce, uint64_t stamp_ns);

/* Clients here were told this: the launchers of the jobs concerned are told so, soon.  Who left is
 * not dead, and no launcher hears of it this way. */
void mu_jobs_told(struct mu_jobs *jobs, const struct mu_local_event *event);

/* An operator's word that came to every node: ends the job here as MU_LAUNCH_STOP does, beginning
 * with this signal; SIGKILL follows 500 ms later.  False: no such job here. */
bool mu_jobs_kill(struct mu_jobs *jobs, uint32_t job, int signal);

/* Says goodbye to every launcher, which hears no more of what happens to its processes here. */
void mu_jobs_leave(struct mu_jobs *jobs);

/* The node ends: as MU_LAUNCH_STOP for every job.  Afterwards no job is taken, and 'all_over' is
 * called once, with the owner of the hooks, when no process is left (within the call, when there is
 * none).  It may call mu_jobs_close().  Not within a hook. */
void mu_jobs_stop_all(struct mu_jobs *jobs, uint32_t grace_ms, void (*all_over)(void *owner));

/* For what 'gather' leads to; NULL: the job is not here any more. */
struct mu_pmi1_job *mu_jobs_pmi(struct mu_jobs *jobs, uint32_t job);

uint32_t mu_jobs_count(const struct mu_jobs *jobs);
uint32_t mu_jobs_processes(const struct mu_jobs *jobs); /* that run */

#endif
