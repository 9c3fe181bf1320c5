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
 * it. */
#ifndef MU_PMIX_LIBPMIX_H
#define MU_PMIX_LIBPMIX_H

#include <pmix_common.h>
#include <stdbool.h>

/* Can it be seen?  From any thread. */
bool mu_libpmix_is_known(void);

/* Processes of the namespace that have asked for codes[count - 1] and for none before it, into
 * *procs, which the caller frees; how many. */
size_t mu_libpmix_only_of(const char *nspace, const pmix_status_t *codes, size_t count,
                          pmix_proc_t **procs);

/* A process of this node was deregistered: collectives that are under way do not count on it. */
void mu_libpmix_forget(const pmix_proc_t *proc);

#endif
