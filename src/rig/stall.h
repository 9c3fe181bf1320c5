/* How long this host itself stood still: a timer on each core, with a priority above everything
 * that is measured, notes how late it wakes up.  What delays it are the kernel and the hypervisor,
 * and no program could have been on time then. */
#ifndef MU_RIG_STALL_H
#define MU_RIG_STALL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STALL_RECENT_MAX = 32 };

/* Time from start_ns on in windows, and the longest stall that touched each.  A core that stands
 * still again and again is as late as one that stood still for all of that in one piece: stalls
 * within 'near_ns' of each other are added up. */
struct stall_windows {
    uint64_t start_ns;
    uint64_t width_ns; /* of a window */
    uint64_t near_ns;  /* 0: each stall counts for itself */
    uint64_t limit_ns; /* a window with a longer stall than this one is spoilt */
    size_t count;
    _Atomic uint64_t *longest_ns;
};

/* Windows for so much time, which begins now.  'width_ns', 'near_ns' and 'limit_ns' are set by the
 * caller.
 * False: no memory. */
bool stall_windows_make(struct stall_windows *windows, uint64_t span_ns);
void stall_windows_free(struct stall_windows *windows);

/* The time begins again now, with no stall.  No timer runs meanwhile. */
void stall_windows_reset(struct stall_windows *windows);

/* A core did not run from 'from_ns' on for so long. */
void stall_note(struct stall_windows *windows, uint64_t from_ns, uint64_t long_ns);

/* The latest stalls of one core. */
struct stall_recent {
    struct {
        uint64_t from_ns, long_ns;
    } stalls[STALL_RECENT_MAX];
    uint32_t count;
};

/* One more: returns how long it and those near before it are together. */
uint64_t stall_add(struct stall_recent *recent, uint64_t near_ns, uint64_t from_ns,
                   uint64_t long_ns);

/* Of 'count' windows from 'first' on: how many are spoilt. */
size_t stall_spoilt(const struct stall_windows *windows, size_t first, size_t count);

/* The longest stall of all windows, or of those that a span touches.  What lies before the first
 * window and behind the last one has none. */
uint64_t stall_longest_ns(const struct stall_windows *windows);
uint64_t stall_longest_between_ns(const struct stall_windows *windows, uint64_t from_ns,
                                  uint64_t to_ns);

/* Is a window spoilt that this span touches? */
bool stall_between(const struct stall_windows *windows, uint64_t from_ns, uint64_t to_ns);

/* ---- the timers ---- */

struct stall_timers {
    struct stall_windows *windows;
    uint64_t interval_ns;
    pthread_t *threads;
    uint32_t count;              /* cores */
    _Atomic uint64_t longest_ns; /* stall in one piece, since they were started */
    bool is_realtime;     /* else they compete with the load, and every window may be spoilt */
    pthread_mutex_t gate; /* held until all have their core and their priority */
    atomic_bool stopping;
};

/* One on each core that this process may use.  Returns 0, or an errno with nothing running. */
int stall_timers_start(struct stall_timers *timers, struct stall_windows *windows);

/* A stall that goes on meanwhile is waited for, and noted. */
void stall_timers_stop(struct stall_timers *timers);

/* For a person, on standard error: what came of the start, when that was not all well. */
void stall_timers_tell(const struct stall_timers *timers, int error, const char *command);

#endif
