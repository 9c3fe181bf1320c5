#define _GNU_SOURCE
#include "pmix/priority.h"

#include <sched.h>
#include <unistd.h>

/* libpmix makes its threads without attributes, so the default ones are what it takes.  To look for
 * them in /proc/self/task afterwards would be simpler, but then the kernel remembers each there,
 * and who waits for the end of this process has to wait until it has forgotten them. */
void mu_priority_begin(struct mu_priority *priority)
{
    struct sched_param main_thread;
    pthread_attr_t first;
    *priority = (struct mu_priority){0};
    if (sched_getparam(getpid(), &main_thread) != 0 || main_thread.sched_priority == 0 ||
        pthread_getattr_default_np(&priority->usual) != 0)
        return;
    if (pthread_getattr_default_np(&first) == 0) {
        priority->is_set = pthread_attr_setinheritsched(&first, PTHREAD_EXPLICIT_SCHED) == 0 &&
                           pthread_attr_setschedpolicy(&first, SCHED_FIFO) == 0 &&
                           pthread_attr_setschedparam(&first, &main_thread) == 0 &&
                           pthread_setattr_default_np(&first) == 0;
        pthread_attr_destroy(&first);
    }
    if (!priority->is_set)
        pthread_attr_destroy(&priority->usual);
}

void mu_priority_end(struct mu_priority *priority)
{
    if (!priority->is_set)
        return;
    pthread_setattr_default_np(&priority->usual);
    pthread_attr_destroy(&priority->usual);
}
