#define _GNU_SOURCE
#include "cli/bench_accuracy_stall.h"

#include "cli/bench_page.h"
#include "cli/thread.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

enum {
    PRIORITY = 50,                 /* of SCHED_FIFO: far above any daemon's */
    INTERVAL_NS_MAX = 1000 * 1000, /* often enough to tell one stall from the next */
    INTERVAL_NS_MIN = 100 * 1000,  /* seldom enough not to be a load itself */
    INTERVALS_OF_LIMIT = 4,        /* a stall is measured too short by up to one interval */
};

/* ---- windows ---- */

static size_t window_of(const struct stall_windows *windows, uint64_t ns)
{
    return ns < windows->start_ns ? 0 : (size_t)((ns - windows->start_ns) / STALL_WINDOW_NS);
}

void stall_note(struct stall_windows *windows, uint64_t from_ns, uint64_t long_ns)
{
    if (from_ns + long_ns < windows->start_ns)
        return;
    size_t last = window_of(windows, from_ns + long_ns);
    for (size_t i = window_of(windows, from_ns); i <= last && i < windows->count; i++) {
        uint64_t before = atomic_load(&windows->longest_ns[i]);
        while (long_ns > before &&
               !atomic_compare_exchange_weak(&windows->longest_ns[i], &before, long_ns))
            ;
    }
}

size_t stall_spoilt(const struct stall_windows *windows, size_t first, size_t count)
{
    size_t spoilt = 0;
    for (size_t i = first; i < first + count && i < windows->count; i++)
        spoilt += windows->longest_ns[i] > windows->limit_ns;
    return spoilt;
}

uint64_t stall_longest_ns(const struct stall_windows *windows)
{
    uint64_t longest_ns = 0;
    for (size_t i = 0; i < windows->count; i++)
        if (windows->longest_ns[i] > longest_ns)
            longest_ns = windows->longest_ns[i];
    return longest_ns;
}

bool stall_between(const struct stall_windows *windows, uint64_t from_ns, uint64_t to_ns)
{
    if (to_ns < windows->start_ns)
        return false;
    size_t last = window_of(windows, to_ns);
    for (size_t i = window_of(windows, from_ns); i <= last && i < windows->count; i++)
        if (windows->longest_ns[i] > windows->limit_ns)
            return true;
    return false;
}

/* ---- the timers ---- */

static void *run(void *argument)
{
    const struct stall_timer *timer = argument;
    struct stall_timers *all = timer->all;
    thread_must_not_be_cancelled();
    prctl(PR_SET_NAME, "bench-timer");
    prctl(PR_SET_TIMERSLACK, 1);
    uint64_t due_ns = bench_now_ns();
    while (!atomic_load_explicit(&all->stopping, memory_order_relaxed)) {
        due_ns += all->interval_ns;
        struct timespec due = {.tv_sec = (time_t)(due_ns / 1000000000u),
                               .tv_nsec = (long)(due_ns % 1000000000u)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
            ;
        uint64_t now_ns = bench_now_ns();
        stall_note(all->windows, due_ns, now_ns - due_ns);
        if (now_ns - due_ns > all->interval_ns)
            due_ns = now_ns; /* what was slept through is one stall, not many */
    }
    return NULL;
}

static int start_one(struct stall_timers *timers, const cpu_set_t *core)
{
    const struct sched_param first = {.sched_priority = PRIORITY};
    struct stall_timer *timer = &timers->timers[timers->count];
    int error = thread_start(&timer->thread, run, timer);
    if (error != 0)
        return error;
    timers->count++;
    if (pthread_setschedparam(timer->thread, SCHED_FIFO, &first) != 0)
        timers->is_realtime = false;
    return pthread_setaffinity_np(timer->thread, sizeof *core, core);
}

int stall_timers_start(struct stall_timers *timers, struct stall_windows *windows)
{
    cpu_set_t allowed, one;
    uint64_t interval_ns = windows->limit_ns / INTERVALS_OF_LIMIT;
    if (interval_ns > INTERVAL_NS_MAX)
        interval_ns = INTERVAL_NS_MAX;
    if (interval_ns < INTERVAL_NS_MIN)
        interval_ns = INTERVAL_NS_MIN;
    *timers =
        (struct stall_timers){.windows = windows, .interval_ns = interval_ns, .is_realtime = true};
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return errno;
    timers->timers = calloc((size_t)CPU_COUNT(&allowed), sizeof *timers->timers);
    if (timers->timers == NULL)
        return ENOMEM;
    int error = 0;
    for (int core = 0; error == 0 && core < CPU_SETSIZE; core++) {
        if (!CPU_ISSET(core, &allowed))
            continue;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        timers->timers[timers->count] = (struct stall_timer){.all = timers, .core = core};
        error = start_one(timers, &one);
    }
    if (error != 0)
        stall_timers_stop(timers);
    return error;
}

void stall_timers_stop(struct stall_timers *timers)
{
    atomic_store(&timers->stopping, true);
    for (uint32_t i = 0; i < timers->count; i++)
        thread_end(timers->timers[i].thread, false);
    timers->count = 0;
    free(timers->timers);
    timers->timers = NULL;
}
