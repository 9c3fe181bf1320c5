/* The inside of libpmix: what its API does not say, and what it does not do.
 *
 * With the headers of its inside, which its development package has, and only when the library that
 * was loaded is of the version that these are of; and on libpmix's thread, within one of its
 * callbacks.  Everything else in this folder does without.
 *
 * Who has asked for which codes.  One death has several: the one that says how, more general ones,
 * and one that is deprecated and that programs still ask for.  A process is told once, by the first
 * code of these that it has asked for; without knowing that, one handler for several of them would
 * be called several times.
 *
 * Collectives that count on the dead.  libpmix takes a process out of all collectives when its
 * connection closes, and tells us later; whoever lists it by its rank between the two waits for
 * it.  And a group waits for whoever was lost after its tracker was made.
 *
 * What jobs leave behind: groups, and what is known of processes.
 *
 * Who listens.  It has no function to take a connection that is there already. */
#ifndef MU_PMIX_LIBPMIX_H
#define MU_PMIX_LIBPMIX_H

#include <pmix_common.h>
#include <stdbool.h>

/* Can it be seen?  From any thread. */
bool mu_libpmix_is_known(void);

/* What is said to a process does not wait until it has confirmed what was said before, which takes
 * 40 ms.  Once, when the server is up; from any thread. */
void mu_libpmix_send_at_once(void);

/* A connection that somebody else has accepted, with what is known of the jobs by then. */
void mu_libpmix_take(int connection);

/* What libpmix knows of the processes of a job is not freed when one of them ends while it
 * connects: all are registered, one has connected, the job is over and is not deregistered yet. */
void mu_libpmix_hold(const char *nspace);
void mu_libpmix_connected(const pmix_proc_t *proc);
void mu_libpmix_let_go(const char *nspace);

/* Processes of these namespaces that have asked for codes[count - 1] and for none before it, into
 * *procs, which the caller frees; how many. */
size_t mu_libpmix_only_of(const pmix_proc_t *nspaces, size_t nspace_count,
                          const pmix_status_t *codes, size_t count, pmix_proc_t **procs);

/* This process of this node was lost, and deregistered: collectives that are under way do not count
 * on it, and those to come do not take it for one that is here.  true: mu_libpmix_pass_on_groups()
 * is to be called, in a later callback. */
bool mu_libpmix_forget(const pmix_proc_t *proc);
void mu_libpmix_pass_on_groups(void);

/* How many of this node have come to a fence, connect or disconnect, for which libpmix calls with
 * this data.  UINT32_MAX: not known. */
uint32_t mu_libpmix_came(void *data);

/* libpmix has called for a group, with this data. */
void mu_libpmix_group_called(void *data);

/* A job is over: what it has not destructed itself is no group of the next one. */
void mu_libpmix_drop_groups(const char *nspace);

/* libpmix keeps all that it knows of a process that was connected, for ever.  Of jobs that were
 * over a while ago it is dropped: when the next one begins, since something may be on its way
 * before. */
void mu_libpmix_drop_peers(void);

#endif
