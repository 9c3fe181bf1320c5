#include "daemon/view/view.h"

#include "host/clock.h"
#include "wire/peer/view.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEASE_MS = 2,    /* between two looks whether it is held again */
    DEAD_MAX = 4096, /* incarnations: as many as one message tells of */
};

_Static_assert((int)DEAD_MAX <= (int)MU_AGREE_FAILED_MAX, "an ASK tells of all of them");

/* That members told of. */
struct death {
    struct mu_roster_entry death;
    mu_slot by;
};

struct mu_views {
    struct mu_views_config config;
    struct mu_view_config core_config;
    void *memory;
    struct mu_view *core;
    struct mu_view_update update;
    uint32_t *incarnations; /* by id: in the view that was installed last; 0: not in it */
    struct mu_roll_seat *ins, *outs;
    struct mu_span *spans;  /* of the view that is being told */
    uv_timer_t lease_timer; /* while it is not held */
    uv_idle_t later;        /* what is told from the loop only */
    struct death *deaths;   /* each once without proof, and once with it */
    uint32_t death_count, death_room;
    enum mu_view_stop stop;
    bool stop_told, closing;
    uint32_t handles; /* of the loop, that are not closed yet */
    struct mu_view_room room;
    uint8_t frame[MU_WIRE_FRAME_MAX];
};

/* ---- an installed view ---- */

static struct mu_roll_seat seat_of(mu_slot id, uint32_t incarnation)
{
    return (struct mu_roll_seat){.slot = id, .incarnation = incarnation};
}

/* What members have told of it, and the roll will hear from the loop. */
static bool is_proven(const struct mu_views *views, mu_slot id, uint32_t incarnation)
{
    for (uint32_t i = 0; i < views->death_count; i++) {
        const struct mu_roster_entry *death = &views->deaths[i].death;
        if (death->slot == id && death->incarnation >= incarnation && death->proven)
            return true;
    }
    return mu_roll_member(views->config.roll, id).proven;
}

static void note_out(struct mu_views *views, mu_slot id, struct mu_roll_view *view)
{
    struct mu_roll_seat *out = &views->outs[view->out_count++];
    *out = seat_of(id, views->incarnations[id]);
    out->proven = is_proven(views, id, out->incarnation);
    views->incarnations[id] = 0;
}

static void note_in(struct mu_views *views, struct mu_view_member member, struct mu_roll_view *view)
{
    views->ins[view->in_count++] = seat_of(member.id, member.incarnation);
    views->incarnations[member.id] = member.incarnation;
}

static void compare(struct mu_views *views, struct mu_roll_view *view)
{
    for (mu_slot id = 0; id < views->config.roll->size; id++) {
        const struct mu_view_member was = {id, views->incarnations[id]};
        if (was.incarnation != 0 && mu_view_position(views->core, was) == UINT32_MAX)
            note_out(views, id, view);
    }
    for (uint32_t i = 0; i < mu_view_total(views->core); i++) {
        struct mu_view_member member = mu_view_at(views->core, i);
        if (views->incarnations[member.id] != member.incarnation)
            note_in(views, member, view);
    }
}

static void install(struct mu_views *views, struct mu_view_mark mark)
{
    const struct mu_views_hooks *hooks = &views->config.hooks;
    struct mu_roll_view view = {.number = mark.number,
                                .hash = mark.hash,
                                .ins = views->ins,
                                .outs = views->outs,
                                .now_ns = mu_now_ns(),
                                .clock = views->config.clock};
    compare(views, &view);
    hooks->installed(hooks->owner, &view);
}

static void tell(struct mu_views *views, struct mu_view_mark mark)
{
    const struct mu_views_hooks *hooks = &views->config.hooks;
    uint32_t total = mu_view_told_total(views->core, mark.number), count = 0;
    for (uint32_t i = 0; i < total; i++) {
        mu_slot id = mu_view_told_at(views->core, mark.number, i).id;
        struct mu_span *last = count > 0 ? &views->spans[count - 1] : NULL;
        if (last != NULL && last->first + last->count == id)
            last->count++;
        else
            views->spans[count++] = (struct mu_span){id, 1};
    }
    hooks->told(hooks->owner, mark, views->spans, count);
}

/* ---- the core ---- */

static void send_message(struct mu_views *views, mu_slot peer,
                         const struct mu_view_message *message)
{
    const struct mu_views_hooks *hooks = &views->config.hooks;
    size_t count = mu_view_frame_encode(message, views->frame);
    hooks->send(hooks->owner, peer, views->frame, count);
}

static void note_death(struct mu_views *views, struct mu_view_member member, bool proven,
                       mu_slot by)
{
    assert(views->death_count < views->death_room);
    const struct mu_roster_entry death = {
        .slot = member.id, .incarnation = member.incarnation, .proven = proven};
    views->deaths[views->death_count++] = (struct death){death, by};
}

static void carry_out(struct mu_views *views, const struct mu_view_effect *effect)
{
    const struct mu_views_hooks *hooks = &views->config.hooks;
    switch (effect->type) {
    case MU_VIEW_SEND:
        send_message(views, effect->peer.id, &effect->message);
        return;
    case MU_VIEW_DEATH:
        note_death(views, effect->death.member, effect->death.proven, effect->peer.id);
        return;
    case MU_VIEW_JOINING: /* its JOIN came over a link that only members have */
        hooks->fault(hooks->owner, MU_FAULT_AGREE_MEMBER, MU_SLOT_NONE);
        return;
    case MU_VIEW_INSTALL:
        install(views, effect->install.mark);
        return;
    case MU_VIEW_TELL:
        tell(views, effect->told);
        return;
    case MU_VIEW_STOPPED:
        views->stop = effect->stop;
        return;
    case MU_VIEW_FAULT:
        hooks->fault(hooks->owner, effect->fault, effect->peer.id);
        return;
    }
    abort();
}

static void on_later(uv_idle_t *idle);
static void on_lease(uv_timer_t *timer);

static void step_once(struct mu_views *views, struct mu_view_event *event)
{
    const struct mu_views_hooks *hooks = &views->config.hooks;
    event->lease_held = hooks->lease(hooks->owner);
    mu_view_step(views->core, event, &views->update);
    for (uint32_t i = 0; i < views->update.count; i++)
        carry_out(views, &views->update.effects[i]);
}

static void step(struct mu_views *views, struct mu_view_event *event)
{
    step_once(views, event);
    while (mu_view_is_due(views->core)) {
        *event = (struct mu_view_event){.type = MU_VIEW_LEASE};
        step_once(views, event);
    }
    if (views->closing)
        return;
    /* It can run out and be extended without a word of the detector. */
    if (!event->lease_held && views->stop == MU_VIEW_STOP_NONE)
        uv_timer_start(&views->lease_timer, on_lease, LEASE_MS, 0);
    if (views->death_count > 0 || (views->stop != MU_VIEW_STOP_NONE && !views->stop_told))
        uv_idle_start(&views->later, on_later);
}

/* From the loop, because the one who is told may be the one who has called us. */
static void on_later(uv_idle_t *idle)
{
    struct mu_views *views = idle->data;
    const struct mu_views_hooks *hooks = &views->config.hooks;
    uv_idle_stop(idle);
    for (uint32_t i = 0; i < views->death_count; i++) {
        const struct death told = views->deaths[i]; /* whoever is told may learn of more */
        hooks->dead(hooks->owner, &told.death, told.by);
    }
    views->death_count = 0;
    if (views->stop == MU_VIEW_STOP_NONE || views->stop_told)
        return;
    views->stop_told = true;
    hooks->stopped(hooks->owner, views->stop);
}

/* ---- what happens ---- */

static struct mu_view_member member_of(const struct mu_views *views, mu_slot slot)
{
    return (struct mu_view_member){slot, mu_roll_member(views->config.roll, slot).incarnation};
}

const char *mu_views_frame(struct mu_views *views, mu_slot from, const uint8_t *bytes, size_t count)
{
    struct mu_view_message message;
    const char *rule = mu_view_frame_decode(bytes, count, &message, &views->room);
    if (rule != NULL)
        return rule;
    struct mu_view_event event = {.type = MU_VIEW_RECV, .recv = {member_of(views, from), &message}};
    step(views, &event);
    return NULL;
}

void mu_views_up(struct mu_views *views, mu_slot peer)
{
    struct mu_view_event event = {.type = MU_VIEW_RESUME, .resume.peer = member_of(views, peer)};
    step(views, &event);
}

void mu_views_dead(struct mu_views *views, const struct mu_roster_entry *death)
{
    struct mu_view_event event = {
        .type = MU_VIEW_DEAD,
        .dead = {.member = {death->slot, death->incarnation}, .proven = death->proven}};
    step(views, &event);
}

void mu_views_lease(struct mu_views *views)
{
    struct mu_view_event event = {.type = MU_VIEW_LEASE};
    step(views, &event);
}

static void on_lease(uv_timer_t *timer)
{
    mu_views_lease(timer->data);
}

/* ---- to look ---- */

struct mu_view_mark mu_views_present(const struct mu_views *views)
{
    return mu_view_mark(views->core);
}

/* ---- open and close ---- */

static void free_all(struct mu_views *views)
{
    free(views->memory);
    free(views->update.effects);
    free(views->incarnations);
    free(views->ins);
    free(views->outs);
    free(views->spans);
    free(views->deaths);
    free(views);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct mu_views *views = handle->data;
    assert(views->handles > 0);
    if (--views->handles == 0)
        free_all(views);
}

static bool take_memory(struct mu_views *views)
{
    size_t bytes = mu_view_bytes(&views->core_config);
    uint32_t size = views->config.roll->size;
    views->memory = aligned_alloc(64, bytes);
    views->update.capacity = mu_view_effects_max(&views->core_config);
    views->update.effects = calloc(views->update.capacity, sizeof *views->update.effects);
    views->incarnations = calloc(size, sizeof *views->incarnations);
    views->ins = calloc(size, sizeof *views->ins);
    views->outs = calloc(size, sizeof *views->outs);
    views->spans = calloc(size, sizeof *views->spans);
    views->death_room = 2 * (views->core_config.limits.dead + size);
    views->deaths = calloc(views->death_room, sizeof *views->deaths);
    if (views->memory == NULL || views->update.effects == NULL || views->incarnations == NULL ||
        views->ins == NULL || views->outs == NULL || views->spans == NULL || views->deaths == NULL)
        return false;
    memset(views->memory, 0, bytes);
    views->core = mu_view_init(views->memory, bytes, &views->core_config);
    return true;
}

int mu_views_open(const struct mu_views_config *config, struct mu_views **views)
{
    struct mu_views *made = calloc(1, sizeof *made);
    if (made == NULL)
        return ENOMEM;
    made->config = *config;
    struct mu_view_config *core = &made->core_config;
    mu_view_config_default(core, config->roll->size, config->roll->self);
    core->incarnation = mu_roll_member(config->roll, config->roll->self).incarnation;
    core->shift = config->shift;
    core->partition = config->partition;
    core->limits.dead = config->roll->size < DEAD_MAX ? config->roll->size : DEAD_MAX;
    /* The others need last words and marks in heartbeats. */
    assert(config->partition == MU_VIEW_ANY);
    assert(mu_view_config_error(core) == NULL);
    if (!take_memory(made)) {
        free_all(made);
        return ENOMEM;
    }
    uv_timer_init(config->loop, &made->lease_timer);
    uv_idle_init(config->loop, &made->later);
    made->lease_timer.data = made->later.data = made;
    made->handles = 2;
    *views = made;
    return 0;
}

void mu_views_start(struct mu_views *views)
{
    struct mu_view_event event = {
        .type = MU_VIEW_START,
        .start = {.count = views->config.roll->size, .cluster = views->config.cluster}};
    step(views, &event);
}

void mu_views_close(struct mu_views *views)
{
    views->closing = true;
    uv_close((uv_handle_t *)&views->lease_timer, on_handle_closed);
    uv_close((uv_handle_t *)&views->later, on_handle_closed);
}
