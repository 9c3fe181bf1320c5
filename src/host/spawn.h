/* Starts the processes of a job: one spawner, with a thread of its own, per daemon.
 *
 * Why a thread.  A process is to die with its daemon, and the kernel's parent-death signal comes
 * when the *thread* that made the process ends.  So all starts happen on one thread that lives as
 * long as the daemon.  It is not the main thread, because a start lasts until the program is
 * loaded, which on a busy parallel file system may take seconds, and the loop must not stand still.
 *
 * What dies with the daemon: every process started here, by SIGKILL, however the daemon ends.  Not
 * covered: what these start themselves (the signal is not inherited), and set-user-ID programs or
 * those with file capabilities (exec clears it).  While the daemon lives, the rest of a process's
 * own group dies when it does (watch.h); what leaves the group with setsid() needs a cgroup.
 *
 * How.  clone(CLONE_VM | CLONE_VFORK | CLONE_PIDFD): nothing of the daemon's memory is copied, so a
 * start costs the same however large the daemon is; the pidfd is there with the process, so that
 * no number can be reused in between; and the calling thread stands still until exec has
 * succeeded or failed, so that a failed step is simply left in memory that both share, as
 * posix_spawn() does it: no pipe, and no moment in which a process is neither started nor not.
 * Needs Linux 5.4. */
#ifndef MU_HOST_SPAWN_H
#define MU_HOST_SPAWN_H

#include "wire/base/exit_kind.h"

#include <stdint.h>
#include <sys/types.h>

/* In the place of a descriptor: /dev/null. */
enum { MU_SPAWN_NULL = -1 };

/* A set of the kernel's processors, as the kernel has it: as many as it can be built for. */
enum { MU_SPAWN_CPUS_MAX = 8192, MU_SPAWN_WORD_BITS = 8 * sizeof(unsigned long) };
struct mu_spawn_cpus {
    unsigned long words[MU_SPAWN_CPUS_MAX / MU_SPAWN_WORD_BITS];
};

/* One process to be.  All signals begin at their default and unblocked; every descriptor but these
 * is closed; limits (of core files too), umask and scheduling are the spawner's, but how many
 * files may be open is what it was when the spawner was opened. */
struct mu_spawn_spec {
    const char *const *argv; /* argv[0]: without a slash it is looked for in envp's PATH */
    const char *const *envp; /* all of its environment: nothing of the daemon's comes along */
    const char *directory;   /* NULL: the daemon's */
    int stdio[3];            /* become 0, 1, 2: zeroed is not a default, MU_SPAWN_NULL is */
    int passed;              /* becomes 3; 0: nothing does */
    bool own_group;          /* leads a new session, and its group, which a signal reaches whole */
    bool ignore_sigpipe;     /* MPI programs write to dead peers */
    bool bound;              /* to these, which counts as making it */
    bool preferred;          /* or these, if that can be; else it runs where the spawner does */
    struct mu_spawn_cpus cpus;
};

/* What became of a start. */
struct mu_spawn_result {
    const struct mu_spawn_spec *spec;
    void *tag;
    uint64_t at_ns;              /* CLOCK_MONOTONIC, when exec had succeeded or a step failed */
    bool started;                /* else 'failure' says why, and there is nothing to reap */
    pid_t pid;                   /* started */
    int pidfd;                   /* started: the caller's to close; close-on-exec */
    struct mu_exit_kind failure; /* not started */
};

struct mu_spawner;

/* Starts the thread.  Up to 'capacity' starts can be on their way: nothing is allocated later.
 * The thread inherits the caller's scheduling, and so do the processes: call it before raising
 * priorities, and before keeping to some processors.  Only while it has nothing to do it comes
 * first, where that is permitted.  Call it after daemonizing: threads do not survive a fork.
 * Returns 0 and the spawner, or an errno with *spawner untouched; ENOSYS: the kernel has no
 * pidfd_open(). */
int mu_spawner_open(uint32_t capacity, struct mu_spawner **spawner);

/* Ends the thread, *and with it every process that it started* and that still runs: they get
 * SIGKILL.  Waits for a start in progress; what had not begun is given up, what was started and
 * not fetched is reaped.  NULL is fine. */
void mu_spawner_close(struct mu_spawner *spawner);

/* Asks for a start; from any thread.  The spec, what it points to and its descriptors stay the
 * caller's and stay as they are until mu_spawner_next() returns them.  False when 'capacity' starts
 * are on their way: fetch some first. */
bool mu_spawner_submit(struct mu_spawner *spawner, const struct mu_spawn_spec *spec, void *tag);

/* Readable while a result waits.  For poll only; belongs to the spawner. */
int mu_spawner_fd(const struct mu_spawner *spawner);

/* The next result, in the order of submission; from one thread.  False when there is none yet. */
bool mu_spawner_next(struct mu_spawner *spawner, struct mu_spawn_result *result);

/* The file or folder that a step was about, for mu_exit_kind_text(). */
const char *mu_spawn_path(const struct mu_spawn_spec *spec, enum mu_start_step step);

#endif
