/* Threads that wait in the kernel for a terminal, a pipe or a disk, in place of the loop. */
#ifndef MU_HOST_THREAD_H
#define MU_HOST_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts one that takes no signals: those are for the loop.  The first thing it does is
 * thread_must_not_be_cancelled().  Returns 0 or an errno. */
int thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument);

/* Around a system call that may never return. */
void thread_may_be_cancelled(void);
void thread_must_not_be_cancelled(void);

/* Joins it.  One that may be in such a call is cancelled, and only waited for a moment.  False: it
 * hangs in the kernel, where nothing can reach it, and ends with the process; what it uses must
 * stay. */
bool thread_end(pthread_t thread, bool may_hang);

#endif
