/* Watches the processes of a node until they end: one descriptor to poll, one end at a time.
 *
 * Every process is held by its pidfd, so that a number that was used again can never be meant: not
 * when it is signalled, not when it is reaped.  There is no SIGCHLD handler and no waiting for
 * "any child", which would take the ends of processes that others in this daemon started
 * (libpmix).  A stopped or continued process has not ended.
 *
 * When the leader of a group of its own ends, the rest of the group is killed before the leader is
 * reaped: only until then is the group's number certain to be ours.
 *
 * One that a signal killed is reported as soon as it can run no more, where the kernel says so
 * (early_ends.h); it is reaped when the kernel has taken it apart, which takes longer the more
 * memory it had.  Otherwise one that a debugger holds is reported when the debugger lets go.  Not
 * thread-safe. */
#ifndef MU_HOST_WATCH_H
#define MU_HOST_WATCH_H

#include "wire/base/exit_kind.h"

#include <stdint.h>
#include <sys/types.h>

struct mu_watch_proc;

struct mu_watched {
    uint32_t job;
    uint32_t rank;
    pid_t pid;
    int pidfd;
    bool own_group; /* it leads one: signals go to the group */
};

struct mu_proc_end {
    uint32_t job;
    uint32_t rank;
    pid_t pid;
    struct mu_exit_kind kind;
    uint64_t seen_ns; /* CLOCK_MONOTONIC, when it was found to have ended */
};

/* Room for 'capacity' processes: nothing is allocated later.  Where the daemon was started with
 * SIGCHLD ignored, that is undone: the kernel would throw the exit status away.  Returns 0 and the
 * set, or an errno with *watch untouched. */
int mu_watch_proc_open(uint32_t capacity, struct mu_watch_proc **watch);

/* Forgets what is still watched, without a signal: mu_watch_proc_kill() before it.  NULL is fine.
 */
void mu_watch_proc_close(struct mu_watch_proc *watch);

enum mu_watch_error {
    MU_WATCH_OK = 0,
    MU_WATCH_FULL,      /* as many processes as the capacity */
    MU_WATCH_TWICE,     /* this rank of this job is watched already */
    MU_WATCH_NO_SUCH,   /* this rank of this job is not watched (any more) */
    MU_WATCH_BAD_PIDFD, /* not a pidfd, or no memory for one more: errno says which */
    MU_WATCH_SIGNAL,    /* the kernel refused the signal: errno says why */
};

const char *mu_watch_error_text(enum mu_watch_error error);

/* On success the pidfd belongs to the set; else it is still the caller's. */
enum mu_watch_error mu_watch_proc_add(struct mu_watch_proc *watch,
                                      const struct mu_watched *process);

/* How many are watched. */
uint32_t mu_watch_proc_count(const struct mu_watch_proc *watch);

/* Whose end was fetched while the kernel still takes them apart: how many, and whether one is of
 * this job. */
uint32_t mu_watch_proc_told(const struct mu_watch_proc *watch);
bool mu_watch_proc_has_told(const struct mu_watch_proc *watch, uint32_t job);

/* Whether mu_watch_proc_reap() has something to do. */
bool mu_watch_proc_has_dead(const struct mu_watch_proc *watch);

/* Readable while an end waits, or somebody that was told of can be reaped.  For poll only; belongs
 * to the set. */
int mu_watch_proc_fd(const struct mu_watch_proc *watch);

/* One process that has ended; it is no longer watched, but still to be reaped, perhaps later.  The
 * group that it has led is killed with the next call, so that who tells the end comes first: call
 * it until there is none.  False when there is none. */
bool mu_watch_proc_next(struct mu_watch_proc *watch, struct mu_proc_end *end);

/* Reaps those whose end was fetched, when their ends have been told: it may take long.  The last
 * thread of a process wakes us up first and forgets its name in /proc then, if somebody has looked
 * at it there, and who reaps spins in the kernel until that is done.  With our priority we may have
 * taken the core that it needs: more than 100 ms were seen.  It may hear of more ends: look for
 * them after it. */
void mu_watch_proc_reap(struct mu_watch_proc *watch);

/* A signal to one process (or its group); NO_SUCH once its end was fetched.  One that has ended and
 * was not fetched yet takes it without effect. */
enum mu_watch_error mu_watch_proc_signal(struct mu_watch_proc *watch, uint32_t job, uint32_t rank,
                                         int signal);

/* To all processes of a job, or of all jobs.  Returns how many took it. */
uint32_t mu_watch_proc_signal_job(struct mu_watch_proc *watch, uint32_t job, int signal);
uint32_t mu_watch_proc_signal_all(struct mu_watch_proc *watch, int signal);

/* For the end of the daemon: SIGKILL to all, and reaps until none is left or the time is over.
 * Whoever wants the ends uses mu_watch_proc_signal_all() and its own loop.  Returns how many are
 * left: these hang in the kernel. */
uint32_t mu_watch_proc_kill(struct mu_watch_proc *watch, uint64_t timeout_ns);

#endif
