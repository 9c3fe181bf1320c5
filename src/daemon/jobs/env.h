/* The environment of one process of a job; for daemon/jobs only. */
#ifndef MU_DAEMON_JOBS_ENV_H
#define MU_DAEMON_JOBS_ENV_H

#include <stdbool.h>
#include <stdint.h>

/* What MUSTER_* and PMI_* say. */
struct mu_jobs_env {
    const char *socket;
    uint32_t job, rank, size;
    uint32_t node, nodes;
    uint32_t local_rank;
    bool pmi;                 /* else there is no PMI_* of ours */
    const char *const *usual; /* under all others; NULL: none */
    const char *const *given; /* over the program's; NULL: none */
};

/* The usual ones, over them the job's variables, the program's, the given ones, and MUSTER_* and
 * PMI_*: of two with the same name the later one is there alone.  Strings of the job and the
 * program are not copied.  One block to free(); NULL: no memory. */
const char *const *mu_jobs_env_make(const char *const *job, const char *const *program,
                                    const struct mu_jobs_env *env);

#endif
