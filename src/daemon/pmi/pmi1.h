/* PMI-1 for the processes of a job: how MPICH's processes find each other.  docs/spec/pmi1.md.
 *
 * Each process inherits one end of a pair of sockets, and says lines there; MU_PMI1_FD is its
 * number.  Who breaks a rule, or does not read its answers, loses the connection. */
#ifndef MU_DAEMON_PMI_PMI1_H
#define MU_DAEMON_PMI_PMI1_H

#include "daemon/pmi/space.h"

#include <uv.h>

enum { MU_PMI1_FD = 3 };

struct mu_pmi1;     /* of a daemon: costs nothing until a job is there */
struct mu_pmi1_job; /* of a job on this node */

struct mu_pmi1_hooks {
    void *owner;
    /* Every process of the job here, which has 'size' ranks in all, that can come has come to a
     * barrier: these bytes go to all other nodes of the job that have living processes, and theirs
     * to us.  mu_pmi1_gathered() follows, once, not within this call, unless the job is closed
     * before.  NULL, or why it cannot be. Never called for a job that is on one node. */
    const char *(*gather)(void *owner, uint32_t job, uint32_t size, const uint8_t *bytes,
                          size_t count);
    /* A process asks to be ended as if it had exited with this code, and waits for it. */
    void (*aborted)(void *owner, uint32_t job, uint32_t rank, uint8_t code);
    /* Sets the bit of each rank of the job that is known to have failed, 64 to a word. */
    void (*dead)(void *owner, uint32_t job, uint64_t *failed);
};

/* Returns 0, or an errno with *pmi1 untouched. */
int mu_pmi1_open(uv_loop_t *loop, const struct mu_pmi1_hooks *hooks, struct mu_pmi1 **pmi1);

/* After all its jobs.  The handle of the loop is closed when that runs next.  NULL is fine. */
void mu_pmi1_close(struct mu_pmi1 *pmi1);

/* The spec is only looked at within the call.  'machine' makes the name of its space its own. NULL:
 * no memory. */
struct mu_pmi1_job *mu_pmi1_job_open(struct mu_pmi1 *pmi1, uint32_t job, mu_slot self,
                                     uint64_t machine, const struct mu_launch_job *spec);
void mu_pmi1_job_close(struct mu_pmi1_job *job); /* NULL is fine */

/* Before a process is started: its end of the pair is the caller's.  Returns 0 or an errno.
 * 'local' counts the job's processes on this node, in the order of ranks. */
int mu_pmi1_connect(struct mu_pmi1_job *job, uint32_t local, int *theirs);

/* Is it inside: has this rank, of this node, said 'init', and after that no 'finalize'?  Reads what
 * it has said until now: of one that has ended, everything.  Calls hooks. */
bool mu_pmi1_inside(struct mu_pmi1_job *job, uint32_t rank);

/* It has ended, or was never started: nobody waits for it any more.  Once for each. */
void mu_pmi1_ended(struct mu_pmi1_job *job, uint32_t local);

/* What another node's processes put; then, after the last of these, the barrier is over. */
void mu_pmi1_part(struct mu_pmi1_job *job, mu_slot node, const uint8_t *bytes, size_t count);
void mu_pmi1_gathered(struct mu_pmi1_job *job);

#endif
