/* A folder for files of jobs on this node: Open MPI's session folders and its shared memory.  It is
 * in memory where there is /dev/shm.
 *
 * Nothing of it may be left, however a daemon ends: it is removed by the daemon when it ends, by
 * the launcher on the same host when the daemon was killed, and by the next daemon of this user
 * when both were.  So the name says whose it is, and a lock on the folder itself says that somebody
 * lives in it: the kernel lets go of it when the daemon dies. */
#ifndef MU_HOST_SCRATCH_H
#define MU_HOST_SCRATCH_H

#include "core/base/types.h"

#include <limits.h>

struct mu_scratch {
    char path[128];
    int fd; /* the folder, locked; -1: not there */
};

/* Makes it, and removes those of daemons of this user that are dead.  0 or an errno. */
int mu_scratch_open(struct mu_scratch *scratch, uint64_t machine, mu_slot slot);

/* A folder in it for a job; its path into 'path'.  0 or an errno. */
int mu_scratch_job(const struct mu_scratch *scratch, uint32_t job, char path[PATH_MAX]);
void mu_scratch_job_over(const struct mu_scratch *scratch, uint32_t job);

/* Removes it.  Without effect when it is not there. */
void mu_scratch_close(struct mu_scratch *scratch);

/* For a launcher: what a dead daemon has left.  Does nothing when that lives. */
void mu_scratch_remove(uint64_t machine, mu_slot slot);

#endif
