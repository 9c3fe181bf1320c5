#define _GNU_SOURCE
#include "rig/stall.h"

#include "host/clock.h"
#include "rig/page.h"
#include "host/thread.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum {
    PRIORITY = 50,                 /* of SCHED_FIFO: far above any daemon's */
    INTERVAL_NS_MAX = 1000 * 1000, /* often enough to tell one stall from the next */
    INTERVAL_NS_MIN = 100 * 1000,  /* seldom enough not to be a load itself */
    INTERVALS_OF_LIMIT = 4,        /* a stall is measured too short by up to one interval */
};

/* ---- windows ---- */

bool stall_windows_make(struct stall_windows *windows, uint64_t span_ns)
{
    windows->count = (size_t)(span_ns / windows->width_ns) + 1;
    windows->longest_ns = calloc(windows->count, sizeof *windows->longest_ns);
    windows->start_ns = mu_now_ns();
    return windows->longest_ns != NULL;
}

void stall_windows_free(struct stall_windows *windows)
{
    free(windows->longest_ns);
    windows->longest_ns = NULL;
    windows->count = 0;
}

void stall_windows_reset(struct stall_windows *windows)
{
    for (size_t i = 0; i < windows->count; i++)
        atomic_store_explicit(&windows->longest_ns[i], 0, memory_order_relaxed);
    windows->start_ns = mu_now_ns();
}

static size_t window_of(const struct stall_windows *windows, uint64_t ns)
{
    return ns < windows->start_ns ? 0 : (size_t)((ns - windows->start_ns) / windows->width_ns);
}

static void raise_to(_Atomic uint64_t *longest_ns, uint64_t long_ns)
{
    uint64_t before = atomic_load(longest_ns);
    while (long_ns > before && !atomic_compare_exchange_weak(longest_ns, &before, long_ns))
        ;
}

void stall_note(struct stall_windows *windows, uint64_t from_ns, uint64_t long_ns)
{
    if (from_ns + long_ns < windows->start_ns)
        return;
    size_t last = window_of(windows, from_ns + long_ns);
    for (size_t i = window_of(windows, from_ns); i <= last && i < windows->count; i++)
        raise_to(&windows->longest_ns[i], long_ns);
}

/* Without room the earliest is forgotten: stalls are then so short that others make up for it. */
uint64_t stall_add(struct stall_recent *recent, uint64_t near_ns, uint64_t from_ns,
                   uint64_t long_ns)
{
    uint32_t old = recent->count == STALL_RECENT_MAX;
    while (old < recent->count &&
           recent->stalls[old].from_ns + recent->stalls[old].long_ns + near_ns < from_ns)
        old++;
    recent->count -= old;
    memmove(recent->stalls, recent->stalls + old, recent->count * sizeof recent->stalls[0]);
    recent->stalls[recent->count].from_ns = from_ns;
    recent->stalls[recent->count++].long_ns = long_ns;
    uint64_t sum_ns = 0;
    for (uint32_t i = 0; i < recent->count; i++)
        sum_ns += recent->stalls[i].long_ns;
    return sum_ns;
}

size_t stall_spoilt(const struct stall_windows *windows, size_t first, size_t count)
{
    size_t spoilt = 0;
    for (size_t i = first; i < first + count && i < windows->count; i++)
        spoilt += windows->longest_ns[i] > windows->limit_ns;
    return spoilt;
}

uint64_t stall_longest_between_ns(const struct stall_windows *windows, uint64_t from_ns,
                                  uint64_t to_ns)
{
    uint64_t longest_ns = 0;
    if (to_ns < windows->start_ns)
        return 0;
    size_t last = window_of(windows, to_ns);
    for (size_t i = window_of(windows, from_ns); i <= last && i < windows->count; i++) {
        uint64_t here_ns = atomic_load(&windows->longest_ns[i]);
        if (here_ns > longest_ns)
            longest_ns = here_ns;
    }
    return longest_ns;
}

uint64_t stall_longest_ns(const struct stall_windows *windows)
{
    return stall_longest_between_ns(windows, windows->start_ns, UINT64_MAX);
}

bool stall_between(const struct stall_windows *windows, uint64_t from_ns, uint64_t to_ns)
{
    return stall_longest_between_ns(windows, from_ns, to_ns) > windows->limit_ns;
}

/* ---- the timers ---- */

static void *run(void *argument)
{
    struct stall_timers *all = argument;
    struct stall_recent recent = {.count = 0};
    thread_must_not_be_cancelled();
    pthread_mutex_lock(&all->gate);
    pthread_mutex_unlock(&all->gate);
    prctl(PR_SET_NAME, "bench-timer");
    prctl(PR_SET_TIMERSLACK, 1);
    uint64_t due_ns = mu_now_ns();
    while (!atomic_load_explicit(&all->stopping, memory_order_relaxed)) {
        due_ns += all->interval_ns;
        struct timespec due = {.tv_sec = (time_t)(due_ns / 1000000000u),
                               .tv_nsec = (long)(due_ns % 1000000000u)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
            ;
        uint64_t now_ns = mu_now_ns();
        uint64_t late_ns = now_ns - due_ns;
        raise_to(&all->longest_ns, late_ns);
        if (late_ns <= all->interval_ns) {
            stall_note(all->windows, due_ns, late_ns);
            continue;
        }
        uint64_t near_ns = all->windows->near_ns;
        stall_note(all->windows, due_ns, stall_add(&recent, near_ns, due_ns, late_ns));
        due_ns = now_ns; /* what was slept through is one stall, not many */
    }
    return NULL;
}

static int start_one(struct stall_timers *timers, const cpu_set_t *core)
{
    const struct sched_param first = {.sched_priority = PRIORITY};
    pthread_t *thread = &timers->threads[timers->count];
    int error = thread_start(thread, run, timers);
    if (error != 0)
        return error;
    timers->count++;
    if (pthread_setschedparam(*thread, SCHED_FIFO, &first) != 0)
        timers->is_realtime = false;
    return pthread_setaffinity_np(*thread, sizeof *core, core);
}

/* Before it has its priority a timer could be late only because this process is. */
static int start_all(struct stall_timers *timers, const cpu_set_t *allowed)
{
    int error = 0;
    pthread_mutex_lock(&timers->gate);
    for (int core = 0; error == 0 && core < CPU_SETSIZE; core++) {
        cpu_set_t one;
        if (!CPU_ISSET(core, allowed))
            continue;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        error = start_one(timers, &one);
    }
    pthread_mutex_unlock(&timers->gate);
    return error;
}

int stall_timers_start(struct stall_timers *timers, struct stall_windows *windows)
{
    cpu_set_t allowed;
    uint64_t interval_ns = windows->limit_ns / INTERVALS_OF_LIMIT;
    if (interval_ns > INTERVAL_NS_MAX)
        interval_ns = INTERVAL_NS_MAX;
    if (interval_ns < INTERVAL_NS_MIN)
        interval_ns = INTERVAL_NS_MIN;
    *timers = (struct stall_timers){.windows = windows,
                                    .interval_ns = interval_ns,
                                    .is_realtime = true,
                                    .gate = PTHREAD_MUTEX_INITIALIZER};
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return errno;
    timers->threads = calloc((size_t)CPU_COUNT(&allowed), sizeof *timers->threads);
    if (timers->threads == NULL)
        return ENOMEM;
    int error = start_all(timers, &allowed);
    if (error != 0)
        stall_timers_stop(timers);
    return error;
}

void stall_timers_stop(struct stall_timers *timers)
{
    atomic_store(&timers->stopping, true);
    for (uint32_t i = 0; i < timers->count; i++)
        thread_end(timers->threads[i], false);
    timers->count = 0;
    free(timers->threads);
    timers->threads = NULL;
}

void stall_timers_tell(const struct stall_timers *timers, int error, const char *command)
{
    if (error != 0)
        fprintf(stderr, "%s: a timer on each core: %s\n", command, strerror(error));
    else if (!timers->is_realtime)
        fprintf(stderr,
                "%s: the timer on each core has no real-time priority, so what it takes for a "
                "stall may be the load\n",
                command);
}
