#include "sim/view/explore_inside.h"

#include <string.h>

static bool is_fence(const struct mu_view_message *message)
{
    return message->type == MU_VIEW_FENCE;
}

/* Between two sides a message waits.  What a node sends to one that holds it dead is refused. */
static void put(struct view_model *model, uint32_t from, const struct mu_view_effect *effect)
{
    struct view_state *state = model->state;
    uint32_t to = view_process(model, effect->peer);
    if (to == model->starts || !view_in(state->alive, to))
        return;
    if (view_holds_dead(model, to, from) && !is_fence(&effect->message) &&
        !view_breaks(model, MU_VIEW_BROKEN_DEAD_SAY))
        return;
    struct view_channel *channel = &state->channels[from][to];
    if (channel->count == VIEW_CHANNEL) {
        view_break(model, "room", "node %u has said %u things that node %u has not heard", from,
                   (unsigned)VIEW_CHANNEL, to);
        return;
    }
    channel->messages[channel->count++] = view_messages_number(model->messages, &effect->message);
}

static view_mask dead_of(const struct view_model *model, uint32_t process)
{
    view_mask dead = 0;
    for (uint32_t other = 0; other < model->starts; other++)
        if (view_in(model->state->born, other) && view_holds_dead(model, process, other))
            dead |= (view_mask)(1u << other);
    return dead;
}

/* It runs no more, and what its memory was does not matter. */
static void end(struct view_model *model, uint32_t process)
{
    struct view_state *state = model->state;
    view_mask others = (view_mask) ~(1u << process);
    state->knew[process] = dead_of(model, process);
    state->alive &= others;
    state->lapsed &= others;
    state->declared &= others;
    state->watch[process] = 0;
    state->asked[process] = state->worded[process] = 0;
    for (uint32_t peer = 0; peer < model->starts; peer++) {
        memset(&state->channels[peer][process], 0, sizeof(struct view_channel));
        if (view_are_apart(model, process, peer)) /* it waits to be sent */
            memset(&state->channels[process][peer], 0, sizeof(struct view_channel));
    }
    memset(view_at(model, process), 0, model->node_bytes);
}

void view_crash(struct view_model *model, uint32_t process, bool proven)
{
    struct view_state *state = model->state;
    if (proven) {
        mu_view_word(view_at(model, process), &state->words[process]);
        state->proven |= (view_mask)(1u << process);
    }
    if (model->options->proofs > 0)
        memset(state->told[process], 0, sizeof state->told[process]);
    end(model, process);
}

/* What is said of the dead: links are cut, and what waits to be sent there goes (W3). */
static void cut_links(struct view_model *model, uint32_t process, view_mask fresh)
{
    struct view_state *state = model->state;
    for (uint32_t dead = 0; dead < model->starts; dead++) {
        if (!view_in(fresh, dead))
            continue;
        if (view_in(state->alive, dead))
            state->declared |= (view_mask)(1u << dead);
        if (view_are_apart(model, process, dead) && !view_breaks(model, MU_VIEW_BROKEN_QUEUE))
            memset(&state->channels[process][dead], 0, sizeof(struct view_channel));
        if (!view_breaks(model, MU_VIEW_BROKEN_DEAD_SAY))
            memset(&state->channels[dead][process], 0, sizeof(struct view_channel));
    }
}

static void carry_out(struct view_model *model, uint32_t process, uint32_t happen)
{
    bool stops = false;
    for (uint32_t i = 0; i < happen; i++) {
        const struct mu_view_effect *effect = &model->update.effects[i];
        view_law_on_effect(model, process, effect);
        if (effect->type == MU_VIEW_SEND)
            put(model, process, effect);
        stops = stops || effect->type == MU_VIEW_STOPPED;
    }
    if (!stops)
        return;
    model->state->stopped |= (view_mask)(1u << process);
    end(model, process);
}

/* Places where a crash inside the update makes a difference: after a send, before another one. */
static uint64_t cuts_of(const struct mu_view_update *update)
{
    uint64_t sends = 0;
    for (uint32_t i = 0; i < update->count && i < 60; i++)
        if (update->effects[i].type == MU_VIEW_SEND)
            sends |= 2ull << i; /* after effect i, i + 1 have happened */
    if (sends == 0)
        return 0;
    return sends & ~(1ull << (63 - __builtin_clzll(sends)));
}

void view_act(struct view_model *model, uint32_t process, struct mu_view_event *event, uint8_t cut)
{
    struct view_state *state = model->state;
    struct mu_view *view = view_at(model, process);
    view_mask before = dead_of(model, process);
    event->lease_held = view_has_lease(model, process);
    mu_view_step(view, event, &model->update);
    model->cuts =
        state->crashes_left > 0 && !view_in(state->declared, process) ? cuts_of(&model->update) : 0;
    cut_links(model, process, dead_of(model, process) & (view_mask)~before);
    carry_out(model, process, cut == EXPLORE_WHOLE ? model->update.count : cut);
    if (cut != EXPLORE_WHOLE) {
        state->crashes_left--;
        view_crash(model, process, false);
        return;
    }
    if (view_in(state->alive, process) && mu_view_is_due(view)) {
        struct mu_view_event again = {.type = MU_VIEW_LEASE};
        uint64_t cuts = model->cuts;
        view_act(model, process, &again, EXPLORE_WHOLE);
        model->cuts = cuts;
    }
}

void view_deliver(struct view_model *model, uint32_t from, uint32_t to, uint8_t cut)
{
    struct view_channel *channel = &model->state->channels[from][to];
    struct mu_view_event event = {.type = MU_VIEW_RECV};
    event.recv.from = view_member(model, from);
    event.recv.message = view_messages_at(model->messages, channel->messages[0]);
    channel->count--;
    memmove(&channel->messages[0], &channel->messages[1],
            channel->count * sizeof channel->messages[0]);
    channel->messages[channel->count] = 0;
    if (event.recv.message->type == MU_VIEW_WELCOME && view_breaks(model, MU_VIEW_BROKEN_WELCOME))
        model->state->lapsed &= (view_mask) ~(1u << to);
    view_act(model, to, &event, cut);
}

void view_tell(struct view_model *model, uint32_t process, uint32_t dead, uint8_t cut)
{
    struct view_state *state = model->state;
    bool shows = view_in(state->proven, dead) && !view_are_apart(model, process, dead);
    struct mu_view_event event = {.type = MU_VIEW_DEAD};
    event.dead.member = view_member(model, dead);
    event.dead.proven = shows;
    event.dead.word = shows ? &state->words[dead] : NULL;
    if (shows)
        state->worded[process] |= (view_mask)(1u << dead);
    view_act(model, process, &event, cut);
}

void view_born(struct view_model *model, uint32_t process, uint32_t id)
{
    struct view_state *state = model->state;
    state->ids[process] = (uint8_t)id;
    state->born |= (view_mask)(1u << process);
    state->alive |= (view_mask)(1u << process);
    model->config.self = id;
    model->config.incarnation = view_member(model, process).incarnation;
    mu_view_init(view_at(model, process), model->node_bytes, &model->config);
    if (process < model->options->nodes)
        return;
    state->lapsed |= (view_mask)(1u << process);
    state->watch[process] = VIEW_STARTS;
}
