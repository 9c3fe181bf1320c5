/* What the new process does between clone and exec.  It runs in the daemon's memory, while other
 * threads of the daemon hold locks and run on: so it makes system calls and nothing else, writes to
 * its own stack and to its struct mu_spawn_child, and no sanitizer looks. */
#ifndef MU_HOST_SPAWN_CHILD_H
#define MU_HOST_SPAWN_CHILD_H

#include "host/spawn.h"

#include <sys/resource.h>

enum { MU_SPAWN_STACK_BYTES = 64 * 1024 };

struct mu_spawn_child {
    const struct mu_spawn_spec *spec; /* in */
    pid_t daemon;                     /* in: who must still be the parent */
    int null_fd;                      /* in: /dev/null, open */
    const struct rlimit64 *files;     /* in: RLIMIT_NOFILE, as the program is to have it */
    enum mu_start_step step;          /* out: where it is, or was */
    int error;                        /* out: errno of that step; 0: none failed */
};

/* For clone(): 'arg' is a struct mu_spawn_child.  Returns to nobody. */
int mu_spawn_child_run(void *arg);

#endif
