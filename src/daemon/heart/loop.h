/* What runs on the heartbeat thread.  For heartbeat.c only. */
#ifndef MU_DAEMON_HEART_LOOP_H
#define MU_DAEMON_HEART_LOOP_H

#include "daemon/heart/datagrams.h"
#include "daemon/heart/backlog.h"

enum mu_heartbeat_order_type {
    MU_ORDER_OUT = 1,
    MU_ORDER_SET,
    MU_ORDER_READY,
    MU_ORDER_BROKE,
    MU_ORDER_LAUNCHER
};

struct mu_heartbeat_order {
    enum mu_heartbeat_order_type type;
    union {
        struct {
            mu_slot slot;
            uint32_t incarnation;
            bool proven;
        } out;
        struct {
            uint64_t period_ns;
            uint64_t timeout_ns;
        } set;
        struct {
            mu_slot slot;
        } broke;
        struct mu_heartbeat_answer launcher;
    };
};

/* A fault on purpose, on its way to the thread: one at a time, because it is too large for a queue
 * that is hardly ever used for it. */
struct mu_harm_order {
    atomic_bool waits; /* the main thread has put one here, and the other has not taken it */
    struct mu_harm harm;
    struct mu_late *late;
};

struct mu_heartbeat_loop {
    /* Of both threads. */
    int wait_fd; /* epoll: the socket and wake_fd */
    int wake_fd; /* eventfd: there are orders that cannot wait, or the end has come */
    int news_fd; /* eventfd: there is news */
    struct mu_spsc orders;
    struct mu_spsc news;
    struct mu_harm_order harm;
    _Atomic uint32_t asked;            /* how often the main thread was asked for a sign (N13), */
    _Atomic uint32_t answered;         /* up to which of these it has had its turn, */
    _Atomic uint64_t answered_ns;      /* and when */
    atomic_bool waits_for_answer;      /* it is to be woken up for the next one */
    _Atomic mu_slot depends_on;        /* mu_detect_depends_on(), before each sleep */
    atomic_bool stopping;              /* not an order: it must not find the queue full */
    struct mu_heartbeat_counts counts; /* written by mu_count() only */

    /* Of the heartbeat thread alone, once it runs. */
    alignas(64) struct mu_detect *detect;
    struct mu_detect_update update;
    struct mu_datagrams datagrams;
    struct mu_backlog backlog;
    bool has_news;     /* in this round */
    uint32_t heard;    /* of 'answered' */
    uint64_t asked_ns; /* for the last time */
    void (*record)(void *context, const struct mu_detect_event *event,
                   const struct mu_detect_update *update);
    void *record_context;
};

/* CLOCK_BOOTTIME: a lease that was granted before the host was suspended is over when it wakes up.
 */
uint64_t mu_heartbeat_now_ns(void);

/* The thread's function; 'argument' is the loop. */
void *mu_heartbeat_loop_run(void *argument);

#endif
