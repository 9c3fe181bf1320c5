#define _GNU_SOURCE
#include "host/thread.h"

#include <signal.h>
#include <time.h>

enum { JOIN_MS = 200 };

int thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

void thread_may_be_cancelled(void)
{
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
}

void thread_must_not_be_cancelled(void)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
}

bool thread_end(pthread_t thread, bool may_hang)
{
    struct timespec until;
    if (!may_hang)
        return pthread_join(thread, NULL) == 0;
    pthread_cancel(thread);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += JOIN_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    return pthread_timedjoin_np(thread, NULL, &until) == 0;
}
