/* Deaths, what waits for the next agreement, and the steps of the agreements. */
#include "core/view/inside.h"

#include <assert.h>
#include <string.h>

/* ---- effects ---- */

struct mu_view_effect *mu_view_add(struct mu_view_update *update, enum mu_view_effect_type type)
{
    assert(update->count < update->capacity);
    struct mu_view_effect *effect = &update->effects[update->count++];
    memset(effect, 0, sizeof *effect);
    effect->type = type;
    effect->peer = mu_view_nobody();
    return effect;
}

void mu_view_fault(struct mu_view_update *update, enum mu_fault fault, struct mu_view_member by)
{
    struct mu_view_effect *effect = mu_view_add(update, MU_VIEW_FAULT);
    effect->peer = by;
    effect->fault = fault;
}

void mu_view_send(struct mu_view *view, const struct mu_view_message *message,
                  struct mu_view_member to, struct mu_view_update *update)
{
    if (!view->held && message->type != MU_VIEW_JOIN)
        return;
    struct mu_view_effect *effect = mu_view_add(update, MU_VIEW_SEND);
    effect->peer = to;
    effect->message = *message;
}

void mu_view_stop(struct mu_view *view, enum mu_view_stop stop, struct mu_view_update *update)
{
    if (view->status == MU_VIEW_ENDED)
        return;
    view->status = MU_VIEW_ENDED;
    view->decided = false;
    mu_view_add(update, MU_VIEW_STOPPED)->stop = stop;
}

/* ---- what waits ---- */

/* It goes into the contribution of the present view, if that is not complete yet. */
static void note_entry(struct mu_view *view, const struct mu_agree_entry *entry)
{
    struct mu_agree_event event = {.type = MU_AGREE_NOTE, .lease_held = view->held};
    struct mu_agree_effect fault;
    struct mu_agree_update none = {.effects = &fault, .capacity = 1};
    event.note = *entry;
    mu_agree_step(view->agrees[MU_VIEW_NOW], &event, &none);
    assert(none.count == 0); /* what may wait was checked */
}

bool mu_view_pend(struct mu_view *view, const struct mu_agree_entry *entry)
{
    uint32_t at = 0;
    while (at < view->pending_count && mu_agree_entry_compare(&view->pending[at], entry) < 0)
        at++;
    struct mu_agree_entry *place = &view->pending[at];
    if (at < view->pending_count && mu_agree_entry_compare(place, entry) == 0)
        return true;
    if (view->pending_count == view->config.limits.entries)
        return false;
    memmove(place + 1, place, (view->pending_count - at) * sizeof *place);
    *place = *entry;
    view->pending_count++;
    if (mu_view_has_view(view))
        note_entry(view, place);
    return true;
}

void mu_view_unpend(struct mu_view *view, uint32_t at)
{
    view->pending_count--;
    memmove(&view->pending[at], &view->pending[at + 1],
            (view->pending_count - at) * sizeof *view->pending);
}

void mu_view_unsponsor(struct mu_view *view, struct mu_view_member member)
{
    for (uint32_t i = view->sponsored_count; i-- > 0;)
        if (view->sponsored[i].id == member.id &&
            view->sponsored[i].incarnation <= member.incarnation)
            view->sponsored[i] = view->sponsored[--view->sponsored_count];
}

/* Nothing waits for the dead. */
static void forget(struct mu_view *view, struct mu_view_member dead)
{
    mu_view_unsponsor(view, dead);
    for (uint32_t i = view->pending_count; i-- > 0;) {
        struct mu_view_member member = mu_view_of_key(view->pending[i].key);
        if (view->pending[i].kind == MU_VIEW_KIND_JOIN && member.id == dead.id &&
            member.incarnation <= dead.incarnation)
            mu_view_unpend(view, i);
    }
    for (uint32_t i = view->early_count; i-- > 0;)
        if (view->early[i].member.id == dead.id &&
            view->early[i].member.incarnation <= dead.incarnation)
            view->early[i] = view->early[--view->early_count];
}

/* ---- the agreements ---- */

static void add_death(struct mu_view *view, struct mu_view_member member, bool proven,
                      struct mu_view_member by, struct mu_view_update *update)
{
    struct mu_view_effect *effect = mu_view_add(update, MU_VIEW_DEATH);
    effect->peer = by;
    effect->death.member = member;
    effect->death.proven = proven;
    (void)view;
}

/* Notes a death.  False: there is nothing new in it, or no room. */
static bool note(struct mu_view *view, struct mu_view_member member, bool proven,
                 struct mu_view_update *update)
{
    if (mu_roster_is_out(&view->dead, member.id, member.incarnation))
        return proven && mu_roster_prove(&view->dead, member.id, member.incarnation);
    if (!mu_roster_fits(&view->dead, member.id)) {
        mu_view_fault(update, MU_FAULT_DEAD_FULL, mu_view_nobody());
        return false;
    }
    mu_roster_out(&view->dead, member.id, member.incarnation);
    if (proven)
        mu_roster_prove(&view->dead, member.id, member.incarnation);
    forget(view, member);
    return true;
}

/* Tells an agreement of a death, if that is a member's. */
static void feed(struct mu_view *view, enum mu_view_which which, mu_slot id,
                 struct mu_view_update *update)
{
    const struct mu_view_list *list = &view->lists[which];
    struct mu_view_member member = mu_view_list_find(list, id);
    if (member.id == MU_SLOT_NONE || !mu_roster_is_out(&view->dead, id, member.incarnation))
        return;
    struct mu_agree_event event = {.type = MU_AGREE_DEAD};
    event.dead.slot = mu_members_position(&list->ids, id);
    event.dead.incarnation = 1;
    event.dead.proven = mu_roster_is_proven(&view->dead, id, member.incarnation);
    mu_view_run(view, which, &event, update);
}

static void take_over(struct mu_view *view, enum mu_view_which which,
                      const struct mu_agree_event *event, const struct mu_agree_effect *from,
                      struct mu_view_update *update)
{
    const struct mu_view_list *list = &view->lists[which];
    struct mu_view_member peer =
        from->peer == MU_SLOT_NONE ? mu_view_nobody() : mu_view_list_at(list, from->peer);
    struct mu_view_message message = {.type = MU_VIEW_AGREE};
    switch (from->type) {
    case MU_AGREE_SEND:
        message.mark = (struct mu_view_mark){
            list->number, list->hash, which == MU_VIEW_NOW && view->status == MU_VIEW_PROVISIONAL};
        message.agree = from->message;
        if (message.agree.type == MU_AGREE_ASK) { /* by id: it may come early */
            message.agree.dead = NULL;
            message.agree.dead_count = 0;
            message.whole.dead = view->dead.entries;
            message.whole.dead_count = view->dead.count;
        }
        view->late_spoke = view->late_spoke || which == MU_VIEW_LATE;
        mu_view_send(view, &message, peer, update);
        return;
    case MU_AGREE_DELIVER:
        view->decided = true;
        return;
    case MU_AGREE_DEATH: {
        struct mu_view_member member = mu_view_list_at(list, from->death.slot);
        if (note(view, member, from->death.proven, update))
            add_death(view, member, from->death.proven, peer, update);
        return;
    }
    case MU_AGREE_FENCED:
        mu_view_stop(view,
                     event->type == MU_AGREE_RECV && event->recv.message->type == MU_AGREE_ASK
                         ? MU_VIEW_STOP_FENCED
                         : MU_VIEW_STOP_DECIDED,
                     update);
        return;
    case MU_AGREE_FAULT:
        mu_view_fault(update, from->fault, peer);
        return;
    }
}

/* The agreement's effects are made where the caller's room ends, and taken over from there. */
void mu_view_run(struct mu_view *view, enum mu_view_which which, struct mu_agree_event *event,
                 struct mu_view_update *update)
{
    uint32_t most = mu_agree_effects_max(&view->agrees[which]->config);
    uint32_t first = update->count;
    struct mu_agree_update inner = {.capacity = most};
    _Static_assert(sizeof(struct mu_agree_effect) <= sizeof(struct mu_view_effect), "it has room");
    inner.effects = (struct mu_agree_effect *)(void *)&update->effects[update->capacity - most];
    event->lease_held = view->held;
    mu_agree_step(view->agrees[which], event, &inner);
    for (uint32_t i = 0; i < inner.count; i++) {
        struct mu_agree_effect effect = inner.effects[i];
        take_over(view, which, event, &effect, update);
    }
    enum mu_view_which other = which == MU_VIEW_NOW ? MU_VIEW_LATE : MU_VIEW_NOW;
    for (uint32_t i = first; i < update->count && view->status != MU_VIEW_ENDED; i++)
        if (update->effects[i].type == MU_VIEW_DEATH) {
            feed(view, other, update->effects[i].death.member.id, update);
            mu_view_begin(view, false, update);
        }
}

void mu_view_open(struct mu_view *view, struct mu_view_update *update)
{
    const struct mu_view_list *list = &view->lists[MU_VIEW_NOW];
    struct mu_agree_config config;
    mu_view_agree_config(view, list->ids.total, mu_view_list_position(list, mu_view_self(view)),
                         &config);
    view->agrees[MU_VIEW_NOW] =
        mu_agree_init(view->memories[MU_VIEW_NOW], view->memory_bytes, &config);
    struct mu_span all = {.first = 0, .count = list->ids.total};
    struct mu_agree_event event = {.type = MU_AGREE_OPEN};
    event.open.group = MU_VIEW_GROUP;
    event.open.spans = &all;
    event.open.count = 1;
    mu_view_run(view, MU_VIEW_NOW, &event, update);
    for (uint32_t i = 0; i < view->pending_count; i++)
        note_entry(view, &view->pending[i]);
    for (uint32_t i = 0; i < view->dead.count; i++)
        feed(view, MU_VIEW_NOW, view->dead.entries[i].slot, update);
}

bool mu_view_has_begun(const struct mu_view *view)
{
    const struct mu_agree *agree = view->agrees[MU_VIEW_NOW];
    return agree->groups[0].rounds[MU_VIEW_ROUND].status != MU_AGREE_IDLE;
}

/* What is worth an agreement of its own. */
static bool has_news(const struct mu_view *view)
{
    for (uint32_t i = 0; i < view->pending_count; i++)
        if (view->pending[i].kind == MU_VIEW_KIND_JOIN ||
            view->pending[i].kind >= MU_VIEW_KIND_FACT)
            return true;
    return false;
}

void mu_view_begin(struct mu_view *view, bool is_asked, struct mu_view_update *update)
{
    if (!mu_view_has_view(view) || view->decided || mu_view_has_begun(view) ||
        !(is_asked || view->follows || has_news(view) || view->agrees[MU_VIEW_NOW]->dead.count > 0))
        return;
    struct mu_agree_event event = {.type = MU_AGREE_CALL};
    event.call.group = MU_VIEW_GROUP;
    event.call.bits =
        view->status == MU_VIEW_PROVISIONAL ? UINT64_MAX : ~(uint64_t)MU_VIEW_UNCONFIRMED;
    mu_view_run(view, MU_VIEW_NOW, &event, update);
}

/* ---- deaths ---- */

void mu_view_learn(struct mu_view *view, struct mu_view_member member, bool proven,
                   struct mu_view_member by, struct mu_view_update *update)
{
    struct mu_view_member self = mu_view_self(view);
    if (view->status == MU_VIEW_ENDED)
        return;
    if (member.id >= view->config.limits.ids || member.incarnation == 0) {
        mu_view_fault(update, MU_FAULT_SLOT_RANGE, by);
        return;
    }
    if (member.id == self.id && member.incarnation >= self.incarnation) {
        mu_view_stop(view, MU_VIEW_STOP_FENCED, update);
        return;
    }
    if (!note(view, member, proven, update))
        return;
    if (by.id != MU_SLOT_NONE)
        add_death(view, member, proven, by, update);
    feed(view, MU_VIEW_LATE, member.id, update);
    feed(view, MU_VIEW_NOW, member.id, update);
    mu_view_begin(view, false, update);
}
