#define _GNU_SOURCE /* epoll_pwait2() */
#include "daemon/heart/loop.h"

#include "host/clock.h"
#include "host/log.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
    TIMEOUTS_AT_ONCE = 64,     /* between so many, what has arrived gets its turn */
    PROMPT_NS = 100 * 1000,    /* a wait that ends within this was on time; no detector takes so
                                  little for lag */
    RETRY_NS = 5 * 1000 * 1000 /* how soon news that did not fit is tried again, at the latest */
};

#define SECOND_NS 1000000000u

uint64_t mu_heartbeat_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* ---- one step ---- */

static void tell(struct mu_heartbeat_loop *loop, uint64_t at_ns,
                 const struct mu_detect_effect *effect)
{
    uint64_t ago_ns = mu_heartbeat_now_ns() - at_ns;
    struct mu_heartbeat_news news = {.at_ns = mu_now_ns() - ago_ns, .effect = *effect};
    if (!mu_backlog_put(&loop->backlog, &loop->news, &news))
        mu_count(&loop->counts.reports_lost, 1);
    loop->has_news = true;
}

/* ---- the main thread (N13) ---- */

static void ask_main(struct mu_heartbeat_loop *loop, uint64_t now)
{
    loop->asked_ns = now;
    atomic_fetch_add(&loop->asked, 1);
    loop->has_news = true;
}

/* Said from here, because the main thread cannot.  It does not block: log.h. */
static void say_stood(struct mu_heartbeat_loop *loop, uint32_t phase, uint64_t stood_ns)
{
    uint64_t ms = stood_ns / 1000000;
    if (phase == MU_LOOP_MOVES) {
        mu_warn("the main loop of this daemon moves again, after %" PRIu64 " ms", ms);
    } else if (phase == MU_LOOP_LATE) {
        mu_count(&loop->counts.loop_stood, 1);
        mu_warn("the main loop of this daemon has not moved for %" PRIu64 " ms: this node decides "
                "nothing until it does, and its heartbeats stop if it does not move soon",
                ms);
    } else {
        mu_warn("the main loop of this daemon has not moved for %" PRIu64 " ms: its heartbeats "
                "stop, so that the other nodes declare this one failed and go on without it; is "
                "it stopped by a debugger, or blocked by a file system (eu-stack -p %d)?",
                ms, (int)getpid());
    }
}

static void step(struct mu_heartbeat_loop *loop, const struct mu_detect_event *event);

static void hear_main(struct mu_heartbeat_loop *loop, uint64_t now)
{
    uint32_t answered = atomic_load(&loop->answered);
    if (answered == loop->heard)
        return;
    uint64_t at_ns = atomic_load(&loop->answered_ns);
    uint64_t took_ns = at_ns > loop->asked_ns ? at_ns - loop->asked_ns : 0;
    if (took_ns > loop->counts.loop_ns_max)
        mu_count_set(&loop->counts.loop_ns_max, took_ns);
    loop->heard = answered;
    step(loop, &(struct mu_detect_event){.type = MU_DETECT_LOOP, .now_ns = now});
}

/* ---- one step ---- */

/* It is asked again each slack: no reason to wait for room. */
static void ask_launcher(struct mu_heartbeat_loop *loop, const struct mu_detect_effect *effect)
{
    struct mu_heartbeat_news news = {.at_ns = mu_now_ns(), .effect = *effect};
    loop->has_news |= mu_spsc_put(&loop->news, &news);
}

static void step(struct mu_heartbeat_loop *loop, const struct mu_detect_event *event)
{
    mu_detect_step(loop->detect, event, &loop->update);
    if (loop->record != NULL)
        loop->record(loop->record_context, event, &loop->update);
    for (uint32_t i = 0; i < loop->update.count; i++) {
        const struct mu_detect_effect *effect = &loop->update.effects[i];
        switch (effect->type) {
        case MU_DETECT_SEND:
            mu_datagrams_send(&loop->datagrams, &effect->beat);
            break;
        case MU_DETECT_VERDICT:
        case MU_DETECT_REPORT:
        case MU_DETECT_FENCED:
        case MU_DETECT_LEASE:
        case MU_DETECT_FAULT:
            tell(loop, event->now_ns, effect);
            break;
        case MU_DETECT_ASK_LAUNCHER:
            ask_launcher(loop, effect);
            break;
        case MU_DETECT_ASK_LOOP:
            ask_main(loop, event->now_ns);
            break;
        case MU_DETECT_STOOD:
            say_stood(loop, effect->stood.phase, effect->stood.ns);
            break;
        }
    }
}

/* ---- what enters ---- */

static void follow(struct mu_heartbeat_loop *loop, uint64_t now,
                   const struct mu_heartbeat_order *order)
{
    struct mu_detect_event event = {.now_ns = now};
    switch (order->type) {
    case MU_ORDER_OUT:
        event.type = MU_DETECT_OUT;
        event.out.slot = order->out.slot;
        event.out.incarnation = order->out.incarnation;
        event.out.proven = order->out.proven;
        step(loop, &event);
        return;
    case MU_ORDER_SET:
        event.type = MU_DETECT_SET;
        event.set.period_ns = order->set.period_ns;
        event.set.timeout_ns = order->set.timeout_ns;
        step(loop, &event);
        return;
    case MU_ORDER_READY:
        event.type = MU_DETECT_READY;
        step(loop, &event);
        return;
    case MU_ORDER_BROKE:
        event.type = MU_DETECT_BROKE;
        event.broke.slot = order->broke.slot;
        step(loop, &event);
        return;
    case MU_ORDER_LAUNCHER:
        event.type = MU_DETECT_LAUNCHER;
        event.launcher.subject = order->launcher.subject;
        event.launcher.nonce = order->launcher.nonce;
        event.launcher.stamp_ns = order->launcher.stamp_ns;
        event.launcher.clock_ns = order->launcher.clock_ns;
        event.launcher.reach = order->launcher.reach;
        step(loop, &event);
        return;
    }
    abort();
}

static void take_orders(struct mu_heartbeat_loop *loop, uint64_t now)
{
    struct mu_heartbeat_order order;
    for (uint32_t i = 0; i < loop->orders.capacity && mu_spsc_take(&loop->orders, &order); i++)
        follow(loop, now, &order);
}

static void take_harm(struct mu_heartbeat_loop *loop)
{
    if (!atomic_load_explicit(&loop->harm.waits, memory_order_acquire))
        return;
    mu_datagrams_flush(&loop->datagrams); /* what was sent before was sent before */
    loop->datagrams.harm = loop->harm.harm;
    loop->datagrams.late = loop->harm.late;
    atomic_store_explicit(&loop->harm.waits, false, memory_order_release);
}

static void receive_late(struct mu_heartbeat_loop *loop, uint64_t now)
{
    struct mu_beat beat;
    struct mu_detect_event event = {.type = MU_DETECT_RECV, .now_ns = now, .beat = &beat};
    while (mu_datagrams_late(&loop->datagrams, &beat))
        step(loop, &event);
}

/* All that has arrived before 'now', and perhaps more: the kernel keeps them in order and has room
 * for no more than that, so even a flood ends, and no deadline is looked at before its time. */
static void receive(struct mu_heartbeat_loop *loop, uint64_t now)
{
    struct mu_datagrams *datagrams = &loop->datagrams;
    struct mu_beat beat;
    struct mu_detect_event event = {.type = MU_DETECT_RECV, .now_ns = now, .beat = &beat};
    for (uint32_t total = 0, count = MU_DATAGRAMS_BATCH;
         count == MU_DATAGRAMS_BATCH && total < datagrams->room; total += count) {
        count = mu_datagrams_receive(datagrams);
        for (uint32_t i = 0; i < count; i++)
            if (mu_datagrams_open(datagrams, i, &beat))
                step(loop, &event);
    }
}

/* The number of bits of the lag. */
static uint32_t lag_place(uint64_t lag_ns)
{
    uint32_t bits = lag_ns == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(lag_ns);
    return bits < MU_HEARTBEAT_LAGS ? bits : MU_HEARTBEAT_LAGS - 1;
}

/* It is 'woke_ns' on the clock; 'now' may be a little before. */
static void fire(struct mu_heartbeat_loop *loop, uint64_t now, uint64_t woke_ns)
{
    struct mu_detect_event event = {.type = MU_DETECT_TIMEOUT, .now_ns = now};
    for (int i = 0; i < TIMEOUTS_AT_ONCE && loop->update.deadline_ns <= now; i++) {
        uint64_t lag_ns = woke_ns - loop->update.deadline_ns;
        mu_count(&loop->counts.lags[lag_place(lag_ns)], 1);
        if (lag_ns > loop->counts.lag_ns_max)
            mu_count_set(&loop->counts.lag_ns_max, lag_ns);
        step(loop, &event);
    }
}

/* ---- what leaves ---- */

static void announce(struct mu_heartbeat_loop *loop)
{
    if (loop->backlog.count > 0)
        loop->has_news |= mu_backlog_move(&loop->backlog, &loop->news) > 0;
    if (!loop->has_news)
        return;
    uint64_t one = 1;
    ssize_t written = write(loop->news_fd, &one, sizeof one);
    assert(written == sizeof one); /* it counts to 2^64 */
    (void)written;
    loop->has_news = false;
}

static void publish(struct mu_heartbeat_loop *loop)
{
    struct mu_heartbeat_counts *counts = &loop->counts;
    const struct mu_detect_counts *detect = mu_detect_counts(loop->detect);
    mu_count_set(&counts->news_waiting, loop->backlog.count);
    mu_count_set(&counts->dropped, detect->dropped);
    mu_count_set(&counts->lags_given_back, detect->lags);
    mu_count_set(&counts->observes, mu_detect_observes(loop->detect));
    mu_count_set(&counts->observer, mu_detect_observer(loop->detect));
    mu_count_set(&counts->lease_until_ns, mu_detect_lease_until_ns(loop->detect));
}

/* ---- the loop ---- */

/* Sleeps until then, or until something comes.  True: the time has come, and nothing had come when
 * the kernel looked after that.
 *
 * Not by ppoll(): in a process that is stopped and goes on, the kernel begins that anew with what
 * was left of the time, so that the wait is longer than it was asked for.  This one is interrupted,
 * and the detector notices at once how late it is. */
static bool wait_until(struct mu_heartbeat_loop *loop, uint64_t until_ns)
{
    struct epoll_event events[2];
    uint64_t now = mu_heartbeat_now_ns();
    atomic_store(&loop->depends_on, mu_detect_depends_on(loop->detect)); /* mu_heartbeat_out() */
    atomic_store(&loop->waits_for_answer, mu_detect_loop_phase(loop->detect) != MU_LOOP_MOVES);
    if (until_ns <= now || !mu_spsc_is_empty(&loop->orders) ||
        atomic_load(&loop->answered) != loop->heard)
        return false;
    struct timespec left = {.tv_sec = (time_t)((until_ns - now) / SECOND_NS),
                            .tv_nsec = (long)((until_ns - now) % SECOND_NS)};
    int ready = epoll_pwait2(loop->wait_fd, events, 2, until_ns == MU_NEVER ? NULL : &left, NULL);
    uint64_t wakes;
    for (int i = 0; i < ready; i++)
        if (events[i].data.fd == loop->wake_fd && read(loop->wake_fd, &wakes, sizeof wakes) < 0)
            assert(errno == EAGAIN);
    return ready == 0;
}

static uint64_t wake_at(const struct mu_heartbeat_loop *loop, uint64_t now)
{
    uint64_t until_ns = loop->update.deadline_ns;
    bool retry = loop->backlog.count > 0 && until_ns > now + RETRY_NS;
    if (loop->datagrams.late != NULL && mu_late_next_ns(loop->datagrams.late) < until_ns)
        until_ns = mu_late_next_ns(loop->datagrams.late);
    return retry ? now + RETRY_NS : until_ns;
}

/* A wait that ended on time, with nothing in the socket, saves the look into it: then it is exactly
 * as late as was asked for, and all that had come by then has been handed over.  Otherwise the
 * clock is read first, and the socket after it.  Either way no deadline is kept before everything
 * that came before 'now' is known. */
void *mu_heartbeat_loop_run(void *argument)
{
    struct mu_heartbeat_loop *loop = argument;
    prctl(PR_SET_NAME, "muster-beat");
    prctl(PR_SET_TIMERSLACK, 1); /* in ns; without real-time priority it would be 50 us */

    uint64_t until_ns = 0;
    bool quiet = false;
    struct mu_detect_event start = {.type = MU_DETECT_START, .now_ns = mu_heartbeat_now_ns()};
    step(loop, &start);
    while (!atomic_load_explicit(&loop->stopping, memory_order_relaxed)) {
        uint64_t woke_ns = mu_heartbeat_now_ns();
        bool on_time = quiet && woke_ns - until_ns < PROMPT_NS;
        uint64_t now = on_time ? until_ns : woke_ns;
        mu_count(&loop->counts.rounds, 1);
        mu_count_set(&loop->counts.at_ns, now);
        loop->datagrams.now_ns = now;
        hear_main(loop, now);
        take_orders(loop, now);
        take_harm(loop);
        if (!on_time)
            receive(loop, now);
        receive_late(loop, now);
        fire(loop, now, woke_ns);
        mu_datagrams_flush(&loop->datagrams);
        announce(loop);
        publish(loop);
        until_ns = wake_at(loop, now);
        quiet = wait_until(loop, until_ns);
    }
    return NULL;
}
