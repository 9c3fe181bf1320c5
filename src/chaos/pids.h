/* Which processes are meant: daemons, and what they run, each held by a pidfd, because a number may
 * be another's by the time that it is used. */
#ifndef MU_CHAOS_PIDS_H
#define MU_CHAOS_PIDS_H

#include "chaos/fault.h"
#include "launch/operator.h"

/* Zeroed at first; the descriptors and the array are the caller's, also after a failure. */
struct chaos_pids {
    int *fds;
    uint32_t count;
};

/* All add to 'pids'; false: 'why' says why not. */

/* The daemon itself, of a link that is connected: it need not answer. */
bool chaos_pids_of_daemon(const struct operator_link *link, struct chaos_pids *pids,
                          char why[OPERATOR_TEXT_MAX]);

/* Its children: the processes that it runs. */
bool chaos_pids_of_children(const struct operator_link *link, struct chaos_pids *pids,
                            char why[OPERATOR_TEXT_MAX]);

/* Ranks of a job, which the daemons are asked for.  All of them must run on this host. */
bool chaos_pids_of_processes(const struct operator_found *found, const struct chaos_target *target,
                             struct chaos_pids *pids, char why[OPERATOR_TEXT_MAX]);

#endif
