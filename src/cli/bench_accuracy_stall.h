/* How long this host itself stood still: a timer on each core, with a priority above everything
 * that is measured, notes how late it wakes up.  What delays it are the kernel and the hypervisor,
 * and no program could have been on time then. */
#ifndef MU_CLI_BENCH_ACCURACY_STALL_H
#define MU_CLI_BENCH_ACCURACY_STALL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STALL_WINDOW_NS UINT64_C(1000000000)

/* Time from start_ns on in windows, and the longest stall that touched each. */
struct stall_windows {
    uint64_t start_ns;
    uint64_t limit_ns; /* a window with a longer stall than this one is spoilt */
    size_t count;
    _Atomic uint64_t *longest_ns;
};

/* No core ran from 'from_ns' on for so long. */
void stall_note(struct stall_windows *windows, uint64_t from_ns, uint64_t long_ns);

/* Of 'count' windows from 'first' on: how many are spoilt. */
size_t stall_spoilt(const struct stall_windows *windows, size_t first, size_t count);
uint64_t stall_longest_ns(const struct stall_windows *windows);

/* Is a window spoilt that this span touches?  What lies before the first window is not. */
bool stall_between(const struct stall_windows *windows, uint64_t from_ns, uint64_t to_ns);

/* ---- the timers ---- */

struct stall_timer {
    struct stall_timers *all;
    int core;
    pthread_t thread;
};

struct stall_timers {
    struct stall_windows *windows;
    uint64_t interval_ns;
    struct stall_timer *timers;
    uint32_t count;   /* cores */
    bool is_realtime; /* else they compete with the load, and every window may be spoilt */
    atomic_bool stopping;
};

/* One on each core that this process may use.  Returns 0, or an errno with nothing running. */
int stall_timers_start(struct stall_timers *timers, struct stall_windows *windows);
void stall_timers_stop(struct stall_timers *timers);

#endif
