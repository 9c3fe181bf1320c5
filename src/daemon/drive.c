#include "daemon/inside.h"

#include "core/node.h"
#include "host/clock.h"
#include "host/log.h"
#include "host/memory.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

/* Deadlines that have passed are handled one by one; between so many others get their turn. */
enum { FIRINGS_AT_ONCE = 64 };

struct mu_drive {
    struct mu_node *node;
    void *memory;
    size_t bytes;
    struct mu_update update;
    struct mu_record_stream *record;
    struct mu_daemon *daemon;
    uint64_t events;
    bool in_step;
    bool no_room; /* for what was seen here, in this step */
    bool ended;
    /* It counts milliseconds, which is fine enough for all that the node waits for, and setting it
     * takes no system call: on a virtual machine that costs more than all of the node's work. */
    uv_timer_t timer;
    uint64_t armed_ns; /* what it is set to */
    mu_slot *downs;    /* connections that were cut by the core in this step, yet to be reported */
    uint32_t down_count;
};

/* ---- one step ---- */

/* None of these gives the core an event: one step is one step. */
static void carry_out(struct mu_drive *drive, const struct mu_effect *effect)
{
    struct mu_daemon *daemon = drive->daemon;
    switch (effect->type) {
    case MU_DO_SEND:
        mu_peers_send(daemon->peers, effect->peer, &effect->frame);
        return;
    case MU_DO_DELIVER:
        mu_daemon_deliver(daemon, &effect->notice);
        return;
    case MU_DO_OPEN:
        mu_peers_want(daemon->peers, effect->peer);
        return;
    case MU_DO_CLOSE: /* of one that was up the core is to hear that it is down */
        if (mu_peers_cut(daemon->peers, effect->peer, effect->reason))
            drive->downs[drive->down_count++] = effect->peer;
        return;
    case MU_DO_FENCED:
        mu_daemon_fenced(daemon);
        return;
    case MU_DO_FAULT:
        drive->no_room |= effect->peer == MU_SLOT_NONE && (effect->fault == MU_FAULT_NOTICES_FULL ||
                                                           effect->fault == MU_FAULT_SEEN_FULL ||
                                                           effect->fault == MU_FAULT_DEAD_FULL);
        mu_daemon_fault(daemon, effect->fault, effect->peer);
        return;
    }
    abort();
}

static void step_once(struct mu_drive *drive, struct mu_event *event)
{
    assert(!drive->in_step);
    drive->in_step = true;
    drive->events++;
    event->now_ns = mu_now_ns();
    mu_node_step(drive->node, event, &drive->update);
    mu_recorder_step(drive->record, event, &drive->update);
    for (uint32_t i = 0; i < drive->update.count; i++)
        carry_out(drive, &drive->update.effects[i]);
    drive->in_step = false;
}

static uint64_t earliest(const struct mu_drive *drive, enum mu_timer *which)
{
    uint64_t due_ns = MU_NEVER;
    for (int timer = 0; timer < MU_TIMERS; timer++)
        if (drive->update.deadline_ns[timer] < due_ns) {
            due_ns = drive->update.deadline_ns[timer];
            *which = (enum mu_timer)timer;
        }
    return due_ns;
}

static void on_timer(uv_timer_t *timer);

/* Never early: it fires when the loop's time, whose fractions are cut off, has come so far. */
static void arm(struct mu_drive *drive)
{
    enum mu_timer which;
    uint64_t due_ns = earliest(drive, &which);
    if (due_ns >= drive->armed_ns)
        return; /* a timer that fires too early does no harm, and is set again then */
    drive->armed_ns = due_ns;
    uint64_t due_ms = (due_ns + 999999) / 1000000, now_ms = uv_now(drive->timer.loop);
    /* Not 0, also when it is late: libuv runs such a timer before it looks at anything else. */
    uv_timer_start(&drive->timer, on_timer, due_ms > now_ms ? due_ms - now_ms : 1, 0);
}

static void step(struct mu_drive *drive, struct mu_event *event)
{
    if (drive->ended)
        return;
    step_once(drive, event);
    while (drive->down_count > 0) {
        struct mu_event down = {.type = MU_EVENT_LINK_DOWN};
        down.link_down.peer = drive->downs[--drive->down_count];
        step_once(drive, &down);
    }
    arm(drive);
}

static void on_timer(uv_timer_t *timer)
{
    struct mu_drive *drive = timer->data;
    drive->armed_ns = MU_NEVER;
    for (int i = 0; i < FIRINGS_AT_ONCE; i++) {
        struct mu_event event = {.type = MU_EVENT_TIMEOUT};
        if (earliest(drive, &event.timeout.timer) > mu_now_ns())
            break;
        step(drive, &event);
    }
    arm(drive);
}

/* ---- events ---- */

void mu_drive_start(struct mu_drive *drive)
{
    step(drive, &(struct mu_event){.type = MU_EVENT_START});
}

void mu_drive_cut(struct mu_drive *drive, mu_slot peer)
{
    struct mu_event event = {.type = MU_EVENT_LINK_DOWN};
    event.link_down.peer = peer;
    step(drive, &event);
}

void mu_drive_up(void *owner, mu_slot peer, uint32_t incarnation, uint64_t has)
{
    struct mu_daemon *daemon = owner;
    struct mu_event event = {.type = MU_EVENT_LINK_UP};
    event.link_up.peer = peer;
    event.link_up.incarnation = incarnation;
    event.link_up.peer_has = has;
    mu_tell("link to node %" PRIu32 " is up", peer);
    mu_daemon_witness_links(daemon);
    step(daemon->drive, &event);
    mu_agreements_up(daemon->agreements, peer);
    mu_views_up(daemon->views, peer);
    mu_daemon_settle(daemon);
}

void mu_drive_down(void *owner, mu_slot peer)
{
    struct mu_daemon *daemon = owner;
    mu_tell("link to node %" PRIu32 " is down", peer);
    mu_daemon_witness_links(daemon);
    mu_drive_cut(daemon->drive, peer);
    mu_daemon_settle(daemon);
}

void mu_drive_frame(void *owner, mu_slot peer, uint32_t incarnation, const struct mu_frame *frame)
{
    struct mu_daemon *daemon = owner;
    struct mu_event event = {.type = MU_EVENT_RECV};
    event.recv.from = peer;
    event.recv.incarnation = incarnation;
    event.recv.frame = frame;
    step(daemon->drive, &event);
    if (daemon->fenced)
        mu_daemon_settle(daemon);
}

bool mu_drive_verdict(struct mu_drive *drive, const struct mu_notice *notice)
{
    struct mu_event event = {.type = MU_EVENT_VERDICT};
    event.verdict.notice = notice;
    drive->no_room = false;
    step(drive, &event);
    return !drive->no_room;
}

bool mu_drive_post(struct mu_drive *drive, const uint8_t *payload, uint16_t length)
{
    struct mu_event event = {.type = MU_EVENT_POST};
    event.post.payload = payload;
    event.post.length = length;
    drive->no_room = false;
    step(drive, &event);
    return !drive->no_room;
}

uint32_t mu_drive_eighths(const struct mu_drive *drive)
{
    return mu_spread_own_eighths(&drive->node->spread);
}

uint64_t mu_drive_has(void *owner, mu_slot peer, uint32_t incarnation)
{
    const struct mu_daemon *daemon = owner;
    return mu_node_link_has(daemon->drive->node, peer, incarnation);
}

size_t mu_drive_bytes(const struct mu_drive *drive)
{
    return drive->bytes;
}

uint64_t mu_drive_events(const struct mu_drive *drive)
{
    return drive->events;
}

/* ---- beginning and end ---- */

static void free_all(struct mu_drive *drive)
{
    free(drive->memory);
    free(drive->update.effects);
    free(drive->downs);
    free(drive);
}

static struct mu_drive *make(const struct mu_config *config)
{
    struct mu_drive *drive = calloc(1, sizeof *drive);
    if (drive == NULL)
        return NULL;
    drive->armed_ns = MU_NEVER;
    drive->bytes = mu_node_bytes(config);
    drive->memory = aligned_alloc(64, (drive->bytes + 63) / 64 * 64);
    drive->update.capacity = mu_node_effects_max(config);
    drive->update.effects = calloc(drive->update.capacity, sizeof *drive->update.effects);
    drive->downs = calloc(drive->update.capacity, sizeof *drive->downs);
    if (drive->memory == NULL || drive->update.effects == NULL || drive->downs == NULL) {
        free_all(drive);
        return NULL;
    }
    mu_memory_populate(drive->memory, drive->bytes);
    for (int timer = 0; timer < MU_TIMERS; timer++)
        drive->update.deadline_ns[timer] = MU_NEVER;
    drive->node = mu_node_init(drive->memory, drive->bytes, config);
    return drive;
}

int mu_drive_open(uv_loop_t *loop, const struct mu_config *config, struct mu_daemon *daemon,
                  struct mu_drive **out)
{
    struct mu_drive *drive = make(config);
    if (drive == NULL)
        return ENOMEM;
    drive->daemon = daemon;
    drive->record = mu_recorder_stream(daemon->recorder, MU_RECORD_NODE, config);
    uv_timer_init(loop, &drive->timer);
    drive->timer.data = drive;
    *out = drive;
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    free_all(handle->data);
}

void mu_drive_close(struct mu_drive *drive)
{
    drive->ended = true;
    uv_close((uv_handle_t *)&drive->timer, on_closed);
}
