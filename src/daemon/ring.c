/* The heartbeat thread and the daemon: verdicts come from there, deaths and new times go there. */
#include "daemon/inside.h"
#include "host/clock.h"
#include "host/log.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PORTS_TRIED = 16,
    QUEUE = 1024,  /* words between the threads, each way */
    GRACE_S = 30,  /* between the first daemon that knows where the others are, and the last */
    AGAIN_MS = 10, /* when the heartbeat thread has had no time to listen */
    BYE_MS = 5000, /* within this after the first goodbye, everybody is told to end */
};

/* ---- beginning and end ---- */

/* Somebody else may have the same port of TCP. */
static int try_tcp(const struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    int failed = bind(fd, (const struct sockaddr *)address, sizeof *address) == 0 ? 0 : errno;
    close(fd);
    return failed;
}

int mu_daemon_ring_listen(struct mu_daemon *daemon, struct sockaddr_in *address)
{
    int failed = EADDRINUSE;
    for (int i = 0; i < PORTS_TRIED && failed == EADDRINUSE; i++) {
        uint16_t port;
        address->sin_port = 0;
        failed = mu_heartbeat_listen((const struct sockaddr *)address, &daemon->heartbeat, &port);
        if (failed != 0)
            return failed;
        address->sin_port = htons(port);
        failed = try_tcp(address);
        if (failed != 0) {
            mu_heartbeat_stop(daemon->heartbeat);
            daemon->heartbeat = NULL;
        }
    }
    return failed;
}

static void on_news(uv_poll_t *poll, int status, int events);

/* On a shared host the first node speaks for all. */
static void say_refused(const struct mu_daemon *daemon, const struct mu_heartbeat_refused *refused)
{
    if (daemon->shared_host && daemon->net.self.from != 0)
        return;
    if (refused->priority != 0)
        mu_tell("no real-time priority (%s): notification may be slow under load (see ulimit -r)",
                strerror(refused->priority));
    if (refused->lock != 0)
        mu_tell(
            "cannot lock memory (%s): heartbeats may be late when the host swaps (see ulimit -l)",
            strerror(refused->lock));
}

int mu_daemon_ring_start(struct mu_daemon *daemon, const struct sockaddr_in *addresses)
{
    uint32_t size = daemon->net.self.size;
    struct mu_heartbeat_config config = {
        .key = daemon->net.key,
        .priority = sched_get_priority_min(SCHED_FIFO) + 1, /* above the main thread */
        .queue = QUEUE,
    };
    mu_detect_config_default(&config.detect, size, daemon->net.self.from);
    config.detect.incarnation = daemon->net.self.incarnation;
    config.detect.period_ns = daemon->period_ns;
    config.detect.timeout_ns = daemon->timeout_ns;
    config.detect.grace_ns = GRACE_S * UINT64_C(1000000000);
    config.detect.nonce = mu_heartbeat_draw_nonce();
    config.detect.loop_ns = MU_DETECT_LOOP_NS;
    assert(mu_detect_config_error(&config.detect) == NULL);
    config.record_context = mu_recorder_ring(daemon->recorder, &config.detect);
    if (config.record_context != NULL)
        config.record = mu_recorder_on_ring;
    union mu_heartbeat_address *table = calloc(size, sizeof *table);
    if (table == NULL)
        return ENOMEM;
    for (uint32_t i = 0; i < size; i++)
        table[i].v4 = addresses[i];
    config.addresses = table;
    struct mu_heartbeat_refused refused = {0};
    int failed = mu_heartbeat_start(daemon->heartbeat, &config, &refused);
    free(table);
    if (failed != 0)
        return failed;
    say_refused(daemon, &refused);
    failed = uv_poll_init(&daemon->loop, &daemon->ring_poll, mu_heartbeat_fd(daemon->heartbeat));
    assert(failed == 0); /* an eventfd can be polled */
    daemon->ring_poll.data = daemon;
    daemon->ring_runs = true;
    uv_poll_start(&daemon->ring_poll, UV_READABLE, on_news);
    return 0;
}

void mu_daemon_ring_close(struct mu_daemon *daemon)
{
    if (daemon->ring_runs)
        uv_close((uv_handle_t *)&daemon->ring_poll, NULL);
    daemon->ring_runs = false;
    free(daemon->outs);
    daemon->outs = NULL;
    free(daemon->held);
    daemon->held = NULL;
    daemon->held_count = 0;
}

void mu_daemon_ring_stop(struct mu_daemon *daemon)
{
    mu_heartbeat_stop(daemon->heartbeat);
    daemon->heartbeat = NULL;
}

bool mu_daemon_lease(void *owner)
{
    const struct mu_daemon *daemon = owner;
    return daemon->ring_runs && !daemon->fenced && mu_heartbeat_lease_ns(daemon->heartbeat) > 0;
}

/* ---- from the ring ---- */

static void on_verdict(struct mu_daemon *daemon, const struct mu_detect_evidence *seen,
                       uint64_t at_ns)
{
    bool silent = seen->cause == MU_DETECT_SILENT;
    uint32_t incarnation = mu_roll_incarnation(&daemon->roll, seen->subject, seen->incarnation);
    struct mu_evidence evidence = {
        .verdict = silent ? MU_VERDICT_SILENT : MU_VERDICT_UNREACHABLE,
        .cause = silent ? MU_CAUSE_SILENCE : MU_CAUSE_UNREACHABLE,
        .seen_by = daemon->net.self.from,
        .node = seen->subject,
        .seen_ns = at_ns,
        .clock = daemon->clock,
        .ring = mu_ring_proof_of(seen),
    };
    if (seen->subject == daemon->net.self.from)
        mu_warn("the node that this one observes is not heard here, but by others: one of the two "
                "has to go, and it is this one");
    else
        mu_tell("node %" PRIu32 " was heard last %" PRIu64 " ms ago: declared dead", seen->subject,
                seen->silent_ns / 1000000);
    mu_daemon_node_declared(daemon, incarnation, &evidence);
    mu_daemon_settle(daemon);
}

/* ---- goodbyes ---- */

/* A node says goodbye when the machine ends, and only its neighbours hear that: for others it falls
 * silent, in the moment before they are told to end as well.  So a verdict waits then for a while.
 * Who is still there counts it: somebody left alone, and the death is one like any other. */
static void on_bye_timer(uv_timer_t *timer)
{
    struct mu_daemon *daemon = timer->data;
    uint32_t count = daemon->held_count;
    daemon->held_count = 0;
    for (uint32_t i = 0; i < count && !daemon->ending; i++)
        on_verdict(daemon, &daemon->held[i].effect.evidence, daemon->held[i].at_ns);
}

static bool is_held(struct mu_daemon *daemon, const struct mu_heartbeat_news *news)
{
    uint64_t until_ns = daemon->bye_ns + BYE_MS * UINT64_C(1000000), now_ns = mu_now_ns();
    uint32_t most = daemon->net.self.size; /* nobody is declared twice */
    if (daemon->bye_ns == 0 || now_ns >= until_ns)
        return false;
    if (daemon->held == NULL)
        daemon->held = calloc(most, sizeof *daemon->held);
    if (daemon->held == NULL || daemon->held_count == most)
        return false;
    daemon->held[daemon->held_count++] = *news;
    uv_update_time(&daemon->loop);
    uv_timer_start(&daemon->bye_timer, on_bye_timer, (until_ns - now_ns) / 1000000 + 1, 0);
    return true;
}

static void forget_held(struct mu_daemon *daemon, mu_slot slot)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < daemon->held_count; i++)
        if (daemon->held[i].effect.evidence.subject != slot)
            daemon->held[kept++] = daemon->held[i];
    daemon->held_count = kept;
}

static void on_report(struct mu_daemon *daemon, const struct mu_detect_evidence *seen)
{
    if (daemon->undecided == seen->subject)
        daemon->undecided = MU_SLOT_NONE;
    if (seen->cause == 0) {
        mu_warn("node %" PRIu32 " is heard here again, or somebody answers questions about it",
                seen->subject);
        return;
    }
    if (seen->cause == MU_DETECT_UNDECIDED) {
        daemon->undecided = seen->subject;
        mu_warn("node %" PRIu32 " cannot tell whether node %" PRIu32 " is dead: nobody else is "
                "left to ask, so it waits; it goes on when that node is heard, or has ended",
                daemon->net.self.from, seen->subject);
        return;
    }
    daemon->unreachable++;
    mu_warn("node %" PRIu32 " is not heard here, but by others: one of them observes it meanwhile",
            seen->subject);
}

static void on_effect(struct mu_daemon *daemon, const struct mu_heartbeat_news *news)
{
    const struct mu_detect_effect *effect = &news->effect;
    switch (effect->type) {
    case MU_DETECT_VERDICT:
        if (!is_held(daemon, news))
            on_verdict(daemon, &effect->evidence, news->at_ns);
        return;
    case MU_DETECT_REPORT:
        on_report(daemon, &effect->evidence);
        return;
    case MU_DETECT_FENCED:
        mu_daemon_fenced_by(daemon, effect->by);
        return;
    case MU_DETECT_LEASE:
        mu_tell(effect->held ? "others hear this node" : "nobody acknowledges this node");
        mu_agreements_lease(daemon->agreements);
        mu_views_lease(daemon->views);
        return;
    case MU_DETECT_FAULT:
        mu_daemon_fault(daemon, effect->fault, MU_SLOT_NONE);
        return;
    case MU_DETECT_ASK_LAUNCHER:
        mu_jobs_ask_launcher(daemon->jobs, effect->ask.subject, effect->ask.nonce,
                             effect->ask.stamp_ns);
        return;
    case MU_DETECT_SEND: /* the heartbeat thread does these itself, and hands on none of them */
    case MU_DETECT_ASK_LOOP:
    case MU_DETECT_STOOD:
        break;
    }
    abort();
}

static void on_news(uv_poll_t *poll, int status, int events)
{
    struct mu_daemon *daemon = poll->data;
    struct mu_heartbeat_news news;
    (void)status;
    (void)events;
    /* Also when it comes too late to matter: what is not taken wakes the loop again and again. */
    while (daemon->ring_runs && mu_heartbeat_next(daemon->heartbeat, &news))
        if (!daemon->ending)
            on_effect(daemon, &news);
}

/* ---- to the ring ---- */

/* What does not fit into the queue now is given when the thread has had its turn. */
static void give(struct mu_daemon *daemon)
{
    uint32_t given = 0;
    while (given < daemon->out_count &&
           mu_heartbeat_out(daemon->heartbeat, daemon->outs[given].slot,
                            daemon->outs[given].incarnation, daemon->outs[given].proven))
        given++;
    daemon->out_count -= given;
    if (given > 0) /* else there may be no room for any yet */
        memmove(daemon->outs, daemon->outs + given, daemon->out_count * sizeof *daemon->outs);
    if (daemon->times_wait &&
        mu_heartbeat_set(daemon->heartbeat, daemon->period_ns, daemon->timeout_ns))
        daemon->times_wait = false;
    if (daemon->out_count > 0 || daemon->times_wait)
        uv_timer_start(&daemon->ring_timer, mu_daemon_ring_again, AGAIN_MS, 0);
}

void mu_daemon_ring_again(uv_timer_t *timer)
{
    struct mu_daemon *daemon = timer->data;
    if (daemon->ring_runs)
        give(daemon);
}

void mu_daemon_ring_out(struct mu_daemon *daemon, mu_slot slot, uint32_t incarnation, bool proven)
{
    if (!daemon->ring_runs)
        return;
    if (daemon->undecided == slot)
        daemon->undecided = MU_SLOT_NONE;
    /* Each goodbye is said once, each death told once, and proven once. */
    uint32_t most = 3 * daemon->net.self.size;
    if (daemon->outs == NULL)
        daemon->outs = calloc(most, sizeof *daemon->outs);
    if (daemon->outs == NULL)
        abort(); /* the ring would go on to observe the dead */
    assert(daemon->out_count < most);
    daemon->outs[daemon->out_count++] =
        (struct mu_roster_entry){.slot = slot, .incarnation = incarnation, .proven = proven};
    give(daemon);
}

void mu_daemon_ring_left(struct mu_daemon *daemon, mu_slot slot, uint32_t incarnation)
{
    daemon->bye_ns = mu_now_ns();
    forget_held(daemon, slot);
    incarnation = mu_roll_incarnation(&daemon->roll, slot, incarnation);
    mu_daemon_ring_out(daemon, slot, incarnation, true); /* its own word */
}

void mu_daemon_ring_broke(struct mu_daemon *daemon, mu_slot slot)
{
    if (daemon->ring_runs && !daemon->ending)
        mu_heartbeat_broke(daemon->heartbeat, slot);
}

void mu_daemon_ring_times(struct mu_daemon *daemon, uint64_t period_ns, uint64_t timeout_ns)
{
    if (!daemon->ring_runs)
        return;
    daemon->period_ns = period_ns;
    daemon->timeout_ns = timeout_ns;
    daemon->times_wait = true;
    give(daemon);
    mu_tell("heartbeats every %" PRIu64 " us, timeout %" PRIu64 " us", period_ns / 1000,
            timeout_ns / 1000);
}

/* A launcher brings a job when every node is ready, and not before. */
void mu_daemon_ring_ready(struct mu_daemon *daemon)
{
    if (daemon->ring_runs && !daemon->ring_ready)
        daemon->ring_ready = mu_heartbeat_ready(daemon->heartbeat);
}

/* ---- a launcher, where nobody else is left to ask ---- */

static_assert((int)MU_LAUNCH_TRYING == (int)MU_LAUNCHER_TRYING &&
                  (int)MU_LAUNCH_UNREACHED == (int)MU_LAUNCHER_UNREACHED &&
                  (int)MU_LAUNCH_HEARD == (int)MU_LAUNCHER_HEARD &&
                  (int)MU_LAUNCH_CHOSE == (int)MU_LAUNCHER_CHOSE,
              "what a launcher says is what the ring hears");

void mu_daemon_reached(void *owner, const struct mu_launch_reach *answer)
{
    struct mu_daemon *daemon = owner;
    if (daemon->ring_runs && !daemon->ending)
        mu_heartbeat_launcher(
            daemon->heartbeat,
            &(struct mu_heartbeat_answer){.subject = answer->other,
                                          .nonce = answer->nonce,
                                          .stamp_ns = answer->stamp_ns,
                                          .clock_ns = answer->clock_ns,
                                          .reach = (enum mu_launcher_reach)answer->reach});
}

/* When the heartbeat thread was last awake, and not the time: if it stands still, so does this, and
 * whoever asks has heard all of it before. */
uint64_t mu_daemon_alive_ns(void *owner)
{
    const struct mu_daemon *daemon = owner;
    struct mu_heartbeat_counts counts;
    if (!daemon->ring_runs || daemon->ending || daemon->fenced)
        return 0;
    mu_heartbeat_counts(daemon->heartbeat, &counts);
    return counts.at_ns;
}

/* ---- an operator's words ---- */

const char *mu_daemon_set(void *owner, uint64_t period_ns, uint64_t timeout_ns)
{
    struct mu_daemon *daemon = owner;
    static char text[MU_LOCAL_TEXT_MAX + 1];
    struct mu_heartbeat_counts counts;
    mu_heartbeat_counts(daemon->heartbeat, &counts);
    uint64_t lag_ns = mu_heartbeat_lag_ns(&counts, 99);
    if (lag_ns > timeout_ns - period_ns) {
        snprintf(text, sizeof text,
                 "heartbeats of node %" PRIu32 " are late by up to %" PRIu64 " us, which is more "
                 "than the timeout leaves after a period, %" PRIu64 " us",
                 daemon->net.self.from, lag_ns / 1000, (timeout_ns - period_ns) / 1000);
        return text;
    }
    mu_daemon_post_times(daemon, period_ns, timeout_ns);
    return NULL;
}
