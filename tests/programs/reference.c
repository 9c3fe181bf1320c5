#define _GNU_SOURCE
#include "reference.h"

#include "trial.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TICK_NS = 2 * 1000 * 1000, SECOND_NS = 1000 * 1000 * 1000 };

static _Atomic uint64_t worst_ns;

static void note(uint64_t lag_ns)
{
    uint64_t before_ns = atomic_load(&worst_ns);
    while (lag_ns > before_ns && !atomic_compare_exchange_weak(&worst_ns, &before_ns, lag_ns))
        ;
}

static void *tick(void *unused)
{
    for (uint64_t due_ns = trial_now_ns();;) {
        due_ns += TICK_NS;
        struct timespec due = {.tv_sec = (time_t)(due_ns / SECOND_NS),
                               .tv_nsec = (long)(due_ns % SECOND_NS)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        uint64_t now_ns = trial_now_ns();
        note(now_ns - due_ns);
        if (now_ns - due_ns > TICK_NS)
            due_ns = now_ns; /* one stall is noted once */
    }
    return unused;
}

static bool start_on(int core)
{
    pthread_attr_t attributes;
    pthread_t thread;
    cpu_set_t cores;
    struct sched_param priority = {.sched_priority = sched_get_priority_min(SCHED_FIFO) + 1};
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    pthread_attr_init(&attributes);
    pthread_attr_setaffinity_np(&attributes, sizeof cores, &cores);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attributes, tick, NULL) != 0) {
        fprintf(stderr, "no thread for core %d\n", core);
        exit(2);
    }
    pthread_attr_destroy(&attributes);
    return pthread_setschedparam(thread, SCHED_FIFO, &priority) == 0;
}

bool reference_start(void)
{
    cpu_set_t cores;
    bool real_time = true;
    if (sched_getaffinity(0, sizeof cores, &cores) != 0)
        return false;
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &cores))
            real_time &= start_on(core);
    return real_time;
}

uint64_t reference_lag_ns(void)
{
    return atomic_exchange(&worst_ns, 0);
}
