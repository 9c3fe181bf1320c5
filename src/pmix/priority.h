/* libpmix's threads come first, as the daemon's own do.
 *
 * A death goes from the loop through libpmix's thread to the processes: on a busy node it would
 * wait there for its turn.  And of a daemon that is killed, the last thread closes the connections,
 * which is how others notice. */
#ifndef MU_PMIX_PRIORITY_H
#define MU_PMIX_PRIORITY_H

#include <pthread.h>
#include <stdbool.h>

struct mu_priority {
    bool is_set;
    pthread_attr_t usual;
};

/* Threads that this process makes from now on have the priority of its main thread; where that has
 * none, nothing happens. */
void mu_priority_begin(struct mu_priority *priority);

/* From now on they are as before. */
void mu_priority_end(struct mu_priority *priority);

#endif
