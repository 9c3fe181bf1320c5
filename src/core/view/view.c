/* The door: what enters, and the next view. */
#include "core/view/inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- who is ahead ---- */

/* W9: a message of a view that is not here yet.  Its sender says it again when it is. */
static void note_early(struct mu_view *view, struct mu_view_member from,
                       const struct mu_view_mark *mark, struct mu_view_update *update)
{
    uint32_t at = 0;
    if (mu_view_is_broken(view, MU_VIEW_BROKEN_EARLY))
        return;
    while (at < view->early_count && !mu_view_same(view->early[at].member, from))
        at++;
    if (at == mu_view_early_max(view)) {
        mu_view_fault(update, MU_FAULT_VIEW_EARLY, from);
        return;
    }
    view->early_count += at == view->early_count ? 1 : 0;
    view->early[at] = (struct mu_view_early){from, mark->number, mark->hash};
}

/* Those that are ahead no more.  True: one has begun the agreement of the present view. */
static bool answer_early(struct mu_view *view, struct mu_view_update *update)
{
    struct mu_view_message message = {.type = MU_VIEW_SAY_AGAIN, .mark = mu_view_mark(view)};
    bool any = false;
    for (uint32_t i = view->early_count; i-- > 0 && view->held;) {
        struct mu_view_early early = view->early[i];
        if (early.number > message.mark.number)
            continue;
        view->early[i] = view->early[--view->early_count];
        if (early.number != message.mark.number || early.hash != message.mark.hash)
            continue;
        mu_view_send(view, &message, early.member, update);
        any = true;
    }
    return any;
}

/* ---- WELCOME ---- */

static void welcome(struct mu_view *view, struct mu_view_member to, struct mu_view_update *update)
{
    const struct mu_view_list *list = &view->lists[MU_VIEW_NOW];
    const struct mu_members *ids = &list->ids;
    struct mu_view_message message = {.type = MU_VIEW_WELCOME, .mark = mu_view_mark(view)};
    for (uint32_t i = 0; i < ids->count; i++) {
        uint32_t end = i + 1 < ids->count ? ids->runs[i + 1].position : ids->total;
        view->spans[i] = (struct mu_span){ids->runs[i].first, end - ids->runs[i].position};
    }
    message.whole = (struct mu_view_whole){.before = view->lists[MU_VIEW_LATE].hash,
                                           .spans = view->spans,
                                           .span_count = ids->count,
                                           .odd = list->odd,
                                           .odd_count = list->odd_count,
                                           .lost = view->lost,
                                           .lost_count = view->lost_count,
                                           .joined = view->joined,
                                           .joined_count = view->joined_count,
                                           .dead = view->dead.entries,
                                           .dead_count = view->dead.count};
    mu_view_send(view, &message, to, update);
}

static void welcome_sponsored(struct mu_view *view, struct mu_view_update *update)
{
    for (uint32_t i = view->sponsored_count; i-- > 0;) {
        if (mu_view_position(view, view->sponsored[i]) == UINT32_MAX)
            continue;
        welcome(view, view->sponsored[i], update);
        view->sponsored[i] = view->sponsored[--view->sponsored_count];
    }
}

/* ---- the next view ---- */

static bool has_facts(const struct mu_agree_value *value)
{
    return value->entry_count > 0 &&
           value->entries[value->entry_count - 1].kind >= MU_VIEW_KIND_FACT;
}

/* What is decided, or can never be, waits no more. */
static void sift_pending(struct mu_view *view, const struct mu_agree_value *value)
{
    const struct mu_view_list *now = &view->lists[MU_VIEW_NOW];
    for (uint32_t i = view->pending_count; i-- > 0;) {
        const struct mu_agree_entry *entry = &view->pending[i];
        struct mu_view_member member = mu_view_of_key(entry->key);
        struct mu_view_member present = mu_view_list_find(now, member.id);
        bool is_in = present.id != MU_SLOT_NONE;
        bool is_over = mu_agree_value_entry(value, entry->kind, entry->key) != NULL ||
                       entry->kind == MU_VIEW_KIND_TIE ||
                       (entry->kind == MU_VIEW_KIND_JOIN && is_in &&
                        present.incarnation >= member.incarnation) ||
                       (entry->kind == MU_VIEW_KIND_WORD && !mu_view_same(present, member));
        if (is_over)
            mu_view_unpend(view, i);
    }
}

/* The view that was made in the place of the one before becomes the present one. */
static void turn(struct mu_view *view, uint32_t lost_count, uint32_t joined_count)
{
    struct mu_view_list list = view->lists[MU_VIEW_NOW];
    struct mu_agree *agree = view->agrees[MU_VIEW_NOW];
    uint8_t *memory = view->memories[MU_VIEW_NOW];
    struct mu_view_lost *lost = view->lost;
    mu_slot *joined = view->joined;
    view->lists[MU_VIEW_NOW] = view->lists[MU_VIEW_LATE];
    view->lists[MU_VIEW_LATE] = list;
    view->memories[MU_VIEW_NOW] = view->memories[MU_VIEW_LATE];
    view->memories[MU_VIEW_LATE] = memory;
    view->agrees[MU_VIEW_LATE] = agree;
    view->lost = view->lost_next;
    view->lost_next = lost;
    view->lost_count = lost_count;
    view->joined = view->joined_next;
    view->joined_next = joined;
    view->joined_count = joined_count;
    view->status = MU_VIEW_MEMBER;
}

/* W23: that the next one is decided says that all have installed this one. */
static void tell(struct mu_view *view, bool changed, struct mu_view_update *update)
{
    struct mu_view_mark now = mu_view_mark(view), late = {.provisional = false};
    bool at_once =
        view->lists[MU_VIEW_NOW].ids.total == 1 || mu_view_is_broken(view, MU_VIEW_BROKEN_STABLE);
    late.number = view->lists[MU_VIEW_LATE].number;
    late.hash = view->lists[MU_VIEW_LATE].hash;
    if (view->untold)
        mu_view_add(update, MU_VIEW_TELL)->told = late;
    view->untold = changed && !at_once;
    if (changed && at_once)
        mu_view_add(update, MU_VIEW_TELL)->told = now;
    view->follows = changed && view->lists[MU_VIEW_NOW].ids.total > 1 &&
                    !mu_view_is_broken(view, MU_VIEW_BROKEN_FOLLOW);
}

/* The present view is a new one: its agreement, and all who waited for it. */
static void enter(struct mu_view *view, struct mu_view_update *update)
{
    mu_view_open(view, update);
    bool is_asked = answer_early(view, update);
    bool is_let_be =
        mu_view_is_broken(view, MU_VIEW_BROKEN_AGAIN) && !view->follows && view->pending_count == 0;
    if (is_asked || !is_let_be)
        mu_view_begin(view, is_asked, update);
}

static void install(struct mu_view *view, const struct mu_agree_value *value,
                    struct mu_view_update *update)
{
    uint32_t lost_count, joined_count;
    view->decided = false;
    view->is_spent = true;
    if ((value->bits & MU_VIEW_UNCONFIRMED) != 0 &&
        !mu_view_is_broken(view, MU_VIEW_BROKEN_CONFIRMED)) {
        mu_view_stop(view, MU_VIEW_STOP_UNCONFIRMED, update);
        return;
    }
    switch (mu_view_make_next(view, value, &lost_count, &joined_count)) {
    case MU_VIEW_NEXT_OK:
        break;
    case MU_VIEW_NEXT_FULL:
        mu_view_fault(update, MU_FAULT_VIEW_FULL, mu_view_nobody());
        mu_view_stop(view, MU_VIEW_STOP_QUORUM, update);
        return;
    case MU_VIEW_NEXT_QUORUM:
        mu_view_stop(view, MU_VIEW_STOP_QUORUM, update);
        return;
    }
    bool changed = lost_count > 0 || joined_count > 0 || has_facts(value);
    turn(view, lost_count, joined_count);
    sift_pending(view, value);
    struct mu_view_effect *effect = mu_view_add(update, MU_VIEW_INSTALL);
    effect->install.mark = mu_view_mark(view);
    effect->install.value = *value;
    effect->install.changed = changed;
    tell(view, changed, update);
    welcome_sponsored(view, update);
    enter(view, update);
}

/* One view a step: its effects point into the memory of both agreements. */
static void install_decided(struct mu_view *view, struct mu_view_update *update)
{
    if (!view->decided || !view->held || view->is_spent || view->late_spoke)
        return;
    const struct mu_agree *agree = view->agrees[MU_VIEW_NOW];
    struct mu_agree_value value = mu_gather_value(&agree->groups[0].rounds[MU_VIEW_ROUND].value);
    install(view, &value, update);
}

/* ---- start, join ---- */

static void start(struct mu_view *view, const struct mu_view_event *event,
                  struct mu_view_update *update)
{
    struct mu_view_list *list = &view->lists[MU_VIEW_NOW];
    struct mu_span all = {.first = 0, .count = event->start.count};
    if (view->status != MU_VIEW_OUTSIDE || view->config.self >= event->start.count ||
        event->start.count > view->config.limits.ids ||
        view->config.incarnation != MU_VIEW_FOUNDER) {
        mu_view_fault(update, MU_FAULT_VIEW_START, mu_view_nobody());
        return;
    }
    mu_members_set(&list->ids, &all, 1);
    list->number = 1;
    list->hash = event->start.cluster;
    view->status = MU_VIEW_MEMBER;
    struct mu_view_effect *effect = mu_view_add(update, MU_VIEW_INSTALL);
    effect->install.mark = mu_view_mark(view);
    effect->install.changed = true;
    struct mu_view_mark mark = mu_view_mark(view);
    mu_view_add(update, MU_VIEW_TELL)->told = mark; /* all know it without a word */
    enter(view, update);
}

static void ask(struct mu_view *view, const struct mu_view_event *event,
                struct mu_view_update *update)
{
    struct mu_view_message message = {.type = MU_VIEW_JOIN};
    if (view->status == MU_VIEW_MEMBER || event->ask.length > MU_AGREE_ENTRY_BYTES) {
        mu_view_fault(update, MU_FAULT_VIEW_START, mu_view_nobody());
        return;
    }
    message.join.kind = MU_VIEW_KIND_JOIN;
    message.join.key = mu_view_key(view->config.self, view->config.incarnation);
    message.join.length = event->ask.length;
    if (event->ask.length > 0)
        memcpy(message.join.bytes, event->ask.address, event->ask.length);
    mu_view_send(view, &message, event->ask.member, update);
}

static void fence(struct mu_view *view, struct mu_view_member member, struct mu_view_update *update)
{
    struct mu_view_message message = {
        .type = MU_VIEW_FENCE, .mark = mu_view_mark(view), .fenced = member};
    if (!mu_view_is_broken(view, MU_VIEW_BROKEN_NO_FENCE))
        mu_view_send(view, &message, member, update);
}

/* W8 broken: the sponsor decides alone. */
static void take_in_alone(struct mu_view *view, const struct mu_agree_entry *entry,
                          struct mu_view_update *update)
{
    struct mu_agree_value value = {.entries = entry, .entry_count = 1};
    install(view, &value, update);
}

/* W4, W5, W14: somebody wants in, by what it says or by a notice of its sponsor. */
static void want(struct mu_view *view, const struct mu_agree_entry *entry, bool sponsors,
                 struct mu_view_update *update)
{
    struct mu_view_member member = mu_view_of_key(entry->key);
    struct mu_view_member old = mu_view_list_find(&view->lists[MU_VIEW_NOW], member.id);
    if (!mu_view_pend(view, entry) ||
        (sponsors && view->sponsored_count == view->config.limits.entries)) {
        mu_view_fault(update, MU_FAULT_VIEW_ENTRIES, member);
        return;
    }
    mu_view_unsponsor(view, sponsors ? member : mu_view_nobody());
    if (sponsors) {
        view->sponsored[view->sponsored_count++] = member;
        mu_view_add(update, MU_VIEW_JOINING)->entry = *entry;
    }
    if (old.id != MU_SLOT_NONE && old.incarnation < member.incarnation)
        mu_view_learn(view, old, false, sponsors ? member : mu_view_nobody(), update);
    if (view->status == MU_VIEW_ENDED)
        return;
    if (sponsors && mu_view_is_broken(view, MU_VIEW_BROKEN_OUTSIDE) && !view->is_spent)
        take_in_alone(view, entry, update);
    else
        mu_view_begin(view, false, update);
}

/* A later incarnation is in already, or this one is dead. */
static bool is_past(const struct mu_view *view, struct mu_view_member member)
{
    struct mu_view_member present = mu_view_list_find(&view->lists[MU_VIEW_NOW], member.id);
    return mu_view_is_dead(view, member) ||
           (present.id != MU_SLOT_NONE && present.incarnation > member.incarnation);
}

static bool is_good_join(const struct mu_view *view, const struct mu_agree_entry *entry)
{
    struct mu_agree_value value = {.entries = entry, .entry_count = 1};
    struct mu_view_member member = mu_view_of_key(entry->key);
    return entry->kind == MU_VIEW_KIND_JOIN && member.id < view->config.limits.ids &&
           member.id != view->config.self && member.incarnation > MU_VIEW_FOUNDER &&
           mu_agree_value_check(&value, 1) == NULL;
}

static void on_join(struct mu_view *view, struct mu_view_member from,
                    const struct mu_view_message *message, struct mu_view_update *update)
{
    if (!is_good_join(view, &message->join) ||
        !mu_view_same(mu_view_of_key(message->join.key), from)) {
        mu_view_fault(update, MU_FAULT_VIEW_MESSAGE, from);
        return;
    }
    if (view->status != MU_VIEW_MEMBER)
        return; /* it asks another */
    if (mu_view_position(view, from) != UINT32_MAX && !mu_view_is_dead(view, from))
        welcome(view, from, update);
    else if (is_past(view, from))
        fence(view, from, update);
    else
        want(view, &message->join, true, update);
}

/* ---- WELCOME at the joiner ---- */

static bool is_good_welcome(const struct mu_view *view, const struct mu_view_message *message)
{
    const struct mu_view_limits *limits = &view->config.limits;
    const struct mu_view_whole *whole = &message->whole;
    return message->mark.number > 0 && whole->odd_count <= limits->odd &&
           whole->lost_count <= (uint32_t)limits->failed + limits->entries &&
           whole->joined_count <= limits->entries &&
           mu_members_error(&view->lists[MU_VIEW_NOW].ids, limits->ids, whole->spans,
                            whole->span_count) == NULL;
}

/* Before anything else that an ASK or a WELCOME says. */
static void learn_all(struct mu_view *view, struct mu_view_member from,
                      const struct mu_view_message *message, struct mu_view_update *update)
{
    for (uint32_t i = 0; i < message->whole.dead_count; i++) {
        const struct mu_roster_entry *dead = &message->whole.dead[i];
        struct mu_view_member member = {dead->slot, dead->incarnation};
        mu_view_learn(view, member, dead->proven, from, update);
    }
}

/* W17: one that it will decide itself it must decide itself. */
static bool is_to_take(const struct mu_view *view, const struct mu_view_message *message)
{
    const struct mu_view_list *now = &view->lists[MU_VIEW_NOW];
    bool is_next = message->mark.number == now->number + 1 && message->whole.before == now->hash;
    if (view->status != MU_VIEW_PROVISIONAL)
        return view->status == MU_VIEW_OUTSIDE;
    if (is_next)
        return mu_view_is_broken(view, MU_VIEW_BROKEN_NEWER);
    return message->mark.number > now->number ||
           (message->mark.number == now->number && message->mark.hash != now->hash);
}

/* An empty list may be nowhere. */
static void copy(void *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        memcpy(to, from, bytes);
}

static void set_list(struct mu_view *view, const struct mu_view_message *message)
{
    const struct mu_view_whole *whole = &message->whole;
    struct mu_view_list *list = &view->lists[MU_VIEW_NOW];
    mu_members_set(&list->ids, whole->spans, whole->span_count);
    list->number = message->mark.number;
    list->hash = message->mark.hash;
    copy(list->odd, whole->odd, whole->odd_count * sizeof *list->odd);
    list->odd_count = whole->odd_count;
    copy(view->lost, whole->lost, whole->lost_count * sizeof *view->lost);
    view->lost_count = whole->lost_count;
    copy(view->joined, whole->joined, whole->joined_count * sizeof *view->joined);
    view->joined_count = whole->joined_count;
    view->lists[MU_VIEW_LATE].number = 0;
    view->lists[MU_VIEW_LATE].hash = whole->before;
}

static void on_welcome(struct mu_view *view, struct mu_view_member from,
                       const struct mu_view_message *message, struct mu_view_update *update)
{
    if (!is_good_welcome(view, message)) {
        mu_view_fault(update, MU_FAULT_VIEW_MESSAGE, from);
        return;
    }
    if (!is_to_take(view, message))
        return;
    view->status = MU_VIEW_OUTSIDE;
    view->lists[MU_VIEW_NOW].number = view->lists[MU_VIEW_LATE].number = 0;
    view->decided = false;
    learn_all(view, from, message, update);
    if (view->status == MU_VIEW_ENDED)
        return;
    set_list(view, message);
    if (mu_view_position(view, mu_view_self(view)) == UINT32_MAX) {
        mu_view_stop(view, MU_VIEW_STOP_FENCED, update); /* a later start of this host is in */
        return;
    }
    view->status = MU_VIEW_PROVISIONAL;
    view->follows = view->untold = true;
    struct mu_view_effect *effect = mu_view_add(update, MU_VIEW_INSTALL);
    effect->install.mark = mu_view_mark(view);
    effect->install.changed = true;
    if (mu_view_is_broken(view, MU_VIEW_BROKEN_DELIVERS))
        mu_view_add(update, MU_VIEW_TELL)->told = mu_view_mark(view);
    enter(view, update);
}

/* ---- messages ---- */

/* W20, W21: what a sender's view says of it. */
static void meet(struct mu_view *view, struct mu_view_member from, const struct mu_view_mark *mark,
                 struct mu_view_update *update)
{
    struct mu_view_mark mine = mu_view_mark(view);
    if (view->status != MU_VIEW_MEMBER || mark->number == 0)
        return;
    if (mu_view_position(view, from) != UINT32_MAX) {
        bool is_rival = mark->number == mine.number && mark->hash != mine.hash &&
                        !mark->provisional && !mu_view_is_dead(view, from);
        if (is_rival && !mu_view_is_broken(view, MU_VIEW_BROKEN_RIVAL))
            mu_view_learn(view, from, false, mu_view_self(view), update);
        return;
    }
    if (mark->number <= mine.number && (!mark->provisional || mu_view_is_dead(view, from)))
        fence(view, from, update);
}

static bool is_of(const struct mu_view *view, enum mu_view_which which,
                  const struct mu_view_mark *mark)
{
    const struct mu_view_list *list = &view->lists[which];
    return list->number != 0 && mark->number == list->number &&
           (mark->hash == list->hash || mu_view_is_broken(view, MU_VIEW_BROKEN_HASH));
}

static void to_agreement(struct mu_view *view, enum mu_view_which which, struct mu_view_member from,
                         const struct mu_view_message *message, struct mu_view_update *update)
{
    struct mu_agree_event event = {.type = MU_AGREE_RESUME};
    uint32_t position = mu_view_list_position(&view->lists[which], from);
    if (position == UINT32_MAX || position == view->agrees[which]->config.self) {
        mu_view_fault(update, MU_FAULT_AGREE_MEMBER, from);
        return;
    }
    if (message != NULL && message->type == MU_VIEW_AGREE) {
        event.type = MU_AGREE_RECV;
        event.recv.from = position;
        event.recv.message = &message->agree;
    } else {
        event.resume.peer = position;
    }
    mu_view_run(view, which, &event, update);
    if (which == MU_VIEW_NOW)
        mu_view_begin(view, event.type == MU_AGREE_RECV, update);
}

static void on_agree(struct mu_view *view, struct mu_view_member from,
                     const struct mu_view_message *message, struct mu_view_update *update)
{
    const struct mu_view_mark *mark = &message->mark;
    struct mu_view_mark mine = mu_view_mark(view);
    if (!mu_view_has_view(view) || mark->number > mine.number) {
        if (message->type == MU_VIEW_AGREE)
            note_early(view, from, mark, update);
    } else if (is_of(view, MU_VIEW_NOW, mark)) {
        to_agreement(view, MU_VIEW_NOW, from, message, update);
    } else if (is_of(view, MU_VIEW_LATE, mark)) {
        if (!mu_view_is_broken(view, MU_VIEW_BROKEN_LATE))
            to_agreement(view, MU_VIEW_LATE, from, message, update);
    } else if (view->status == MU_VIEW_PROVISIONAL && mark->number == mine.number) {
        if (message->type == MU_VIEW_AGREE)
            note_early(view, from, mark, update);
    } else {
        meet(view, from, mark, update);
    }
}

static void on_fence(struct mu_view *view, const struct mu_view_message *message,
                     struct mu_view_update *update)
{
    bool is_old = mu_view_has_view(view) && message->mark.number < mu_view_mark(view).number;
    if (!mu_view_same(message->fenced, mu_view_self(view)) ||
        (is_old && !mu_view_is_broken(view, MU_VIEW_BROKEN_FENCE)))
        return;
    mu_view_stop(view, MU_VIEW_STOP_FENCED, update);
}

static void receive(struct mu_view *view, struct mu_view_member from,
                    const struct mu_view_message *message, struct mu_view_update *update)
{
    if (from.id >= view->config.limits.ids || from.id == view->config.self ||
        from.incarnation == 0) {
        mu_view_fault(update, MU_FAULT_SLOT_RANGE, from);
        return;
    }
    if (message->type == MU_VIEW_JOIN) {
        on_join(view, from, message, update);
        return;
    }
    if (message->type == MU_VIEW_FENCE) {
        on_fence(view, message, update);
        return;
    }
    /* W3: nothing that the dead say counts, but that they are there. */
    if (mu_view_is_dead(view, from) && !mu_view_is_broken(view, MU_VIEW_BROKEN_DEAD_SAY)) {
        meet(view, from, &message->mark, update);
        return;
    }
    switch ((enum mu_view_message_type)message->type) {
    case MU_VIEW_AGREE:
    case MU_VIEW_SAY_AGAIN:
        learn_all(view, from, message, update);
        if (view->status != MU_VIEW_ENDED)
            on_agree(view, from, message, update);
        return;
    case MU_VIEW_WELCOME:
        on_welcome(view, from, message, update);
        return;
    case MU_VIEW_JOIN:
    case MU_VIEW_FENCE:
        return; /* see above */
    }
    mu_view_fault(update, MU_FAULT_VIEW_MESSAGE, from); /* any byte may have come in */
}

/* ---- the driver's own words ---- */

static void on_death(struct mu_view *view, const struct mu_view_event *event,
                     struct mu_view_update *update)
{
    struct mu_view_member member = event->dead.member;
    bool is_member = mu_view_same(mu_view_list_find(&view->lists[MU_VIEW_NOW], member.id), member);
    struct mu_agree_entry entry;
    if (event->dead.word != NULL && is_member) {
        mu_view_write_word(&entry, member, event->dead.word);
        if (!mu_view_pend(view, &entry))
            mu_view_fault(update, MU_FAULT_VIEW_ENTRIES, mu_view_nobody());
    }
    mu_view_learn(view, member, event->dead.proven, mu_view_nobody(), update);
}

static void on_entry(struct mu_view *view, const struct mu_view_event *event,
                     struct mu_view_update *update)
{
    const struct mu_agree_entry *entry = &event->entry;
    if (event->type == MU_VIEW_HEARD_JOIN) {
        struct mu_view_member member = mu_view_of_key(entry->key);
        if (!is_good_join(view, entry))
            mu_view_fault(update, MU_FAULT_VIEW_MESSAGE, mu_view_nobody());
        else if (mu_view_position(view, member) == UINT32_MAX && !is_past(view, member))
            want(view, entry, false, update);
    } else if (entry->kind < MU_VIEW_KIND_FACT ||
               mu_agree_value_check(&(struct mu_agree_value){.entries = entry, .entry_count = 1},
                                    1) != NULL ||
               !mu_view_pend(view, entry)) {
        mu_view_fault(update, MU_FAULT_VIEW_ENTRIES, mu_view_nobody());
    } else {
        mu_view_begin(view, false, update);
    }
}

static void on_tie(struct mu_view *view, mu_slot keep, struct mu_view_update *update)
{
    struct mu_agree_entry entry;
    mu_view_write_tie(&entry, mu_view_mark(view).number, keep);
    if (mu_view_has_view(view) && !mu_view_pend(view, &entry))
        mu_view_fault(update, MU_FAULT_VIEW_ENTRIES, mu_view_nobody());
}

static void leave(struct mu_view *view, struct mu_view_update *update)
{
    struct mu_view_effect *effect = mu_view_add(update, MU_VIEW_DEATH);
    effect->peer = effect->death.member = mu_view_self(view);
    effect->death.proven = true;
    mu_view_stop(view, MU_VIEW_STOP_LEFT, update);
}

static void resume(struct mu_view *view, struct mu_view_member peer, struct mu_view_update *update)
{
    for (int which = MU_VIEW_NOW; which <= MU_VIEW_LATE && mu_view_has_view(view); which++)
        if (mu_view_list_position(&view->lists[which], peer) != UINT32_MAX)
            to_agreement(view, which, peer, NULL, update);
}

/* ---- the door ---- */

static void set_lease(struct mu_view *view, bool held, struct mu_view_update *update)
{
    struct mu_agree_event event = {.type = MU_AGREE_LEASE};
    held = held || mu_view_is_broken(view, MU_VIEW_BROKEN_LEASE);
    if (held == view->held)
        return;
    view->held = held;
    for (int which = MU_VIEW_LATE; which >= MU_VIEW_NOW && mu_view_has_view(view); which--)
        if (view->lists[which].number != 0)
            mu_view_run(view, which, &event, update);
    if (held && mu_view_has_view(view) && !view->decided)
        mu_view_begin(view, answer_early(view, update), update);
}

static void dispatch(struct mu_view *view, const struct mu_view_event *event,
                     struct mu_view_update *update)
{
    switch (event->type) {
    case MU_VIEW_START:
        start(view, event, update);
        return;
    case MU_VIEW_ASK:
        ask(view, event, update);
        return;
    case MU_VIEW_DEAD:
        on_death(view, event, update);
        return;
    case MU_VIEW_HEARD_JOIN:
    case MU_VIEW_FACT:
        on_entry(view, event, update);
        return;
    case MU_VIEW_TIE:
        on_tie(view, event->tie.keep, update);
        return;
    case MU_VIEW_LEAVE:
        leave(view, update);
        return;
    case MU_VIEW_RECV:
        receive(view, event->recv.from, event->recv.message, update);
        return;
    case MU_VIEW_BEAT:
        meet(view, event->beat.from, &event->beat.mark, update);
        return;
    case MU_VIEW_RESUME:
        resume(view, event->resume.peer, update);
        return;
    case MU_VIEW_EXPIRED:
        if (view->status != MU_VIEW_MEMBER)
            mu_view_stop(view, MU_VIEW_STOP_UNCONFIRMED, update);
        return;
    case MU_VIEW_LEASE:
        return;
    }
    abort();
}

/* Deaths learned late in a step: nothing is sent to the dead but that they are out, and an ASK
 * tells of all. */
static void finish(const struct mu_view *view, struct mu_view_update *update)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < update->count; i++) {
        struct mu_view_effect *effect = &update->effects[i];
        bool is_send = effect->type == MU_VIEW_SEND;
        if (is_send && effect->message.type != MU_VIEW_FENCE && mu_view_is_dead(view, effect->peer))
            continue;
        if (is_send && effect->message.whole.dead != NULL)
            effect->message.whole.dead_count = view->dead.count;
        if (kept != i)
            update->effects[kept] = *effect;
        kept++;
    }
    update->count = kept;
}

void mu_view_step(struct mu_view *view, const struct mu_view_event *event,
                  struct mu_view_update *update)
{
    update->count = 0;
    if (view->status == MU_VIEW_ENDED)
        return;
    view->is_spent = view->late_spoke = false;
    set_lease(view, event->lease_held, update);
    install_decided(view, update);
    if (view->status != MU_VIEW_ENDED)
        dispatch(view, event, update);
    install_decided(view, update);
    finish(view, update);
}
