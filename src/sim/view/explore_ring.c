/* What the ring, the notices and the links allow, whatever the times: who may declare whom, who
 * hears of it, and when a lease ends and comes back (docs/spec/view.md). */
#include "sim/view/explore_inside.h"

/* ---- who is who ---- */

struct mu_view_member view_member(const struct view_model *model, uint32_t process)
{
    enum { LATER = 0x2000 };
    mu_slot id = model->state->ids[process];
    bool is_old = view_breaks(model, MU_VIEW_BROKEN_RETURN) &&
                  process >= model->options->nodes + model->options->joiners;
    uint32_t incarnation = process < model->options->nodes ? MU_VIEW_FOUNDER : LATER + process;
    for (uint32_t before = 0; is_old && before < process; before++)
        if (model->state->ids[before] == id)
            return view_member(model, before);
    return (struct mu_view_member){id, incarnation};
}

uint32_t view_process(const struct view_model *model, struct mu_view_member member)
{
    for (uint32_t process = model->starts; process-- > 0;)
        if (view_in(model->state->born, process) &&
            mu_view_same(view_member(model, process), member))
            return process;
    return model->starts;
}

bool view_holds_dead(const struct view_model *model, uint32_t by, uint32_t process)
{
    if (!view_in(model->state->alive, by))
        return view_in(model->state->knew[by], process);
    return mu_view_is_dead(view_at(model, by), view_member(model, process));
}

bool view_are_apart(const struct view_model *model, uint32_t a, uint32_t b)
{
    const struct view_state *state = model->state;
    return view_in(state->side, state->ids[a]) != view_in(state->side, state->ids[b]);
}

static bool is_member_of(const struct view_model *model, uint32_t process, uint32_t of)
{
    return view_in(model->state->alive, of) &&
           mu_view_position(view_at(model, of), view_member(model, process)) != UINT32_MAX;
}

/* Do they still talk to each other, were both running? */
static bool are_friends(const struct view_model *model, uint32_t a, uint32_t b)
{
    return a != b && view_in(model->state->born, a) && view_in(model->state->born, b) &&
           !view_are_apart(model, a, b) && !view_holds_dead(model, a, b) &&
           !view_holds_dead(model, b, a);
}

/* ---- deaths ---- */

static bool has_join(const struct mu_view *view, struct mu_view_member member, bool sponsors)
{
    bool pends = false;
    for (uint32_t i = 0; i < view->pending_count; i++)
        pends = pends || (view->pending[i].kind == MU_VIEW_KIND_JOIN &&
                          view->pending[i].key == mu_view_key(member.id, member.incarnation));
    for (uint32_t i = 0; i < view->sponsored_count && sponsors; i++)
        if (mu_view_same(view->sponsored[i], member))
            return true;
    return pends && !sponsors;
}

static bool is_concerned(const struct view_model *model, uint32_t process, uint32_t with)
{
    return is_member_of(model, with, process) ||
           has_join(view_at(model, process), view_member(model, with), false);
}

/* Its lease was given by its own side, lately: the side of a cut that is one node alone loses its
 * lease before it can declare anybody. */
static bool is_supported(const struct view_model *model, uint32_t process)
{
    for (uint32_t other = 0; other < model->starts; other++)
        if (are_friends(model, process, other) && is_member_of(model, other, process))
            return true;
    return false;
}

static bool can_declare(const struct view_model *model, uint32_t process, uint32_t dead)
{
    const struct view_state *state = model->state;
    bool apart = view_are_apart(model, process, dead);
    uint32_t watch = state->watch[dead];
    if (!is_concerned(model, process, dead) || !mu_view_has_view(view_at(model, process)))
        return false;
    if (view_breaks(model, MU_VIEW_BROKEN_VERDICT) && apart)
        return true;
    if (!view_has_lease(model, process))
        return false;
    if (apart)
        return is_supported(model, process);
    if (!view_in(state->alive, dead))
        return !view_in(state->proven, dead); /* else its witness's word comes first */
    return view_in(state->lapsed, dead) && watch < model->starts &&
           (watch == process || view_holds_dead(model, process, watch));
}

static bool can_hear(const struct view_model *model, uint32_t process, uint32_t dead)
{
    for (uint32_t from = 0; from < model->starts; from++)
        if (from != dead && are_friends(model, process, from) && view_holds_dead(model, from, dead))
            return true;
    return false;
}

bool view_can_be_told(const struct view_model *model, uint32_t process, uint32_t dead)
{
    const struct view_state *state = model->state;
    if (!view_in(state->alive, process) || !view_in(state->born, dead) ||
        state->ids[process] == state->ids[dead])
        return false;
    bool shows = view_in(state->proven, dead) && !view_are_apart(model, process, dead) &&
                 !view_in(state->worded[process], dead);
    if (view_holds_dead(model, process, dead))
        return shows && is_member_of(model, dead, process);
    return shows || can_declare(model, process, dead) || can_hear(model, process, dead);
}

/* ---- leases ---- */

/* The one before it in its view that it does not hold dead. */
uint32_t view_observer(const struct view_model *model, uint32_t process)
{
    const struct mu_view *view = view_at(model, process);
    uint32_t total = mu_view_total(view);
    uint32_t position = mu_view_position(view, view_member(model, process));
    for (uint32_t back = 1; position < total && back < total; back++) {
        struct mu_view_member member = mu_view_at(view, (position + total - back) % total);
        if (!mu_view_is_dead(view, member))
            return view_process(model, member);
    }
    return model->starts;
}

/* Nobody acknowledges its heartbeats any more: those that run are on the other side of a cut, or
 * one of the two holds the other dead. */
bool view_can_lose_lease(const struct view_model *model, uint32_t process)
{
    const struct view_state *state = model->state;
    const struct mu_view *view = view_at(model, process);
    bool waits = false, any = state->side != 0;
    if (!view_has_lease(model, process) || !mu_view_has_view(view))
        return false;
    for (uint32_t other = 0; other < model->starts; other++) {
        if (other == process || !is_member_of(model, other, process))
            continue;
        waits = waits || !view_holds_dead(model, process, other);
        if (view_in(state->alive, other) && are_friends(model, process, other))
            return false;
        any = any || view_in(state->alive, other);
    }
    return waits && any;
}

/* Will anybody else hear that it is dead, or has somebody heard? */
static bool is_verdict_under_way(const struct view_model *model, uint32_t process)
{
    for (uint32_t other = 0; other < model->starts; other++)
        if (other != process && view_in(model->state->alive, other) &&
            !view_are_apart(model, process, other) &&
            (view_holds_dead(model, other, process) || can_hear(model, other, process)))
            return true;
    return false;
}

bool view_can_have_lease(const struct view_model *model, uint32_t process)
{
    const struct view_state *state = model->state;
    uint32_t watch = state->watch[process];
    if (!view_in(state->alive & state->lapsed, process) ||
        !mu_view_has_view(view_at(model, process)))
        return false;
    bool is_first = watch >= model->starts;
    bool is_gone =
        is_first || !view_in(state->alive, watch) || view_holds_dead(model, process, watch);
    if (is_gone && !view_breaks(model, MU_VIEW_BROKEN_LEASE_BACK) &&
        is_verdict_under_way(model, process))
        return false;
    for (uint32_t other = 0; other < model->starts; other++) {
        if (!view_in(state->alive, other) || !are_friends(model, process, other) ||
            !is_member_of(model, process, other))
            continue;
        if (view_breaks(model, MU_VIEW_BROKEN_LEASE_BACK) || is_first || other == watch)
            return true;
        if (is_gone && view_holds_dead(model, process, watch) &&
            view_holds_dead(model, other, watch))
            return true;
    }
    return false;
}

/* ---- heartbeats, and asking to join ---- */

static bool has_message(const struct view_model *model, uint32_t from, uint32_t to, uint8_t type)
{
    const struct view_channel *channel = &model->state->channels[from][to];
    for (uint32_t i = 0; i < channel->count; i++)
        if (view_messages_at(model->messages, channel->messages[i])->type == type)
            return true;
    return false;
}

/* Only those of which something follows. */
bool view_can_beat(const struct view_model *model, uint32_t from, uint32_t to)
{
    const struct view_state *state = model->state;
    if (from == to || !view_in(state->alive, from) || !view_in(state->alive, to) ||
        view_are_apart(model, from, to))
        return false;
    const struct mu_view *view = view_at(model, to);
    struct mu_view_mark mark = mu_view_mark(view_at(model, from)), mine = mu_view_mark(view);
    bool dead = view_holds_dead(model, to, from);
    if (view->status != MU_VIEW_MEMBER || mark.number == 0 || mark.number > mine.number ||
        (view_breaks(model, MU_VIEW_BROKEN_BEATS) && (dead || view_holds_dead(model, from, to))))
        return false;
    if (is_member_of(model, from, to))
        return mark.number == mine.number && mark.hash != mine.hash && !mark.provisional && !dead &&
               !view_breaks(model, MU_VIEW_BROKEN_RIVAL);
    return (!mark.provisional || dead) && view_has_lease(model, to) &&
           !view_breaks(model, MU_VIEW_BROKEN_NO_FENCE) &&
           !has_message(model, to, from, MU_VIEW_FENCE);
}

/* Would the joiner take the view of that member? */
static bool would_take(const struct mu_view *joiner, const struct mu_view *member)
{
    struct mu_view_mark mine = mu_view_mark(joiner), theirs = mu_view_mark(member);
    bool is_next =
        theirs.number == mine.number + 1 && member->lists[MU_VIEW_LATE].hash == mine.hash;
    if (joiner->status == MU_VIEW_OUTSIDE)
        return true;
    return !is_next && theirs.number >= mine.number && theirs.hash != mine.hash;
}

bool view_can_ask(const struct view_model *model, uint32_t process, uint32_t member, bool in_vain)
{
    const struct view_state *state = model->state;
    if (process == member || !view_in(state->alive, process) || !view_has_lease(model, member) ||
        view_are_apart(model, process, member) || view_holds_dead(model, process, member))
        return false;
    const struct mu_view *view = view_at(model, process), *other = view_at(model, member);
    if (view->status == MU_VIEW_MEMBER || other->status != MU_VIEW_MEMBER ||
        has_message(model, process, member, MU_VIEW_JOIN) ||
        has_message(model, member, process, MU_VIEW_WELCOME) ||
        has_message(model, member, process, MU_VIEW_FENCE) ||
        (view_breaks(model, MU_VIEW_BROKEN_ONE_ASKED) && state->asked[process] != 0))
        return false;
    bool again = in_vain && !view_in(state->asked[process], member);
    if (is_member_of(model, process, member))
        return again || would_take(view, other);
    if (has_join(other, view_member(model, process), true))
        return false;
    /* While one sponsors it that it can reach, others are asked once. */
    for (uint32_t sponsor = 0; sponsor < model->starts; sponsor++)
        if (view_has_lease(model, sponsor) && are_friends(model, process, sponsor) &&
            (has_join(view_at(model, sponsor), view_member(model, process), true) ||
             has_message(model, process, sponsor, MU_VIEW_JOIN) ||
             has_message(model, sponsor, process, MU_VIEW_WELCOME)))
            return again;
    return true;
}

/* A notice: somebody reachable has the wish. */
bool view_can_hear_join(const struct view_model *model, uint32_t process, uint32_t joiner)
{
    const struct view_state *state = model->state;
    struct mu_view_member member = view_member(model, joiner);
    if (!view_in(state->alive, process) || process == joiner ||
        state->ids[process] == state->ids[joiner] || !view_in(state->born, joiner))
        return false;
    const struct mu_view *view = view_at(model, process);
    struct mu_view_member present = mu_view_list_find(&view->lists[MU_VIEW_NOW], member.id);
    if (has_join(view, member, false) || mu_view_is_dead(view, member) ||
        (present.id != MU_SLOT_NONE && present.incarnation >= member.incarnation))
        return false;
    for (uint32_t from = 0; from < model->starts; from++)
        if (view_in(state->alive, from) && are_friends(model, process, from) &&
            has_join(view_at(model, from), member, false))
            return true;
    return false;
}
