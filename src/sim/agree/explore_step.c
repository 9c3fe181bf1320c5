#include "sim/agree/explore_inside.h"

#include <assert.h>
#include <string.h>

static void put(struct agree_model *model, uint32_t from, const struct mu_agree_effect *effect)
{
    struct agree_state *state = model->state;
    uint32_t to = effect->peer;
    if (!agree_in(state->alive, to) || agree_in(state->down[from], to))
        return;
    struct agree_channel *channel = &state->channels[from][to];
    assert(channel->count < AGREE_CHANNEL);
    channel->messages[channel->count++] = agree_shrink(&effect->message);
}

static void carry_out(struct agree_model *model, uint32_t slot, uint32_t happen)
{
    bool lapsed = agree_in(model->state->lapsed, slot);
    for (uint32_t i = 0; i < happen; i++) {
        const struct mu_agree_effect *effect = &model->update.effects[i];
        switch (effect->type) {
        case MU_AGREE_SEND:
            if (lapsed)
                agree_break(model, "lease", "node %u has no lease and sends", slot);
            put(model, slot, effect);
            break;
        case MU_AGREE_DELIVER:
            if (lapsed)
                agree_break(model, "lease", "node %u has no lease and decides", slot);
            agree_law_on_deliver(model, slot, effect);
            break;
        case MU_AGREE_DEATH:
            if (agree_in(model->state->alive & ~model->state->lapsed, effect->death.slot))
                agree_break(model, "no-fault", "node %u hears that node %u is dead, which lives",
                            slot, effect->death.slot);
            break;
        case MU_AGREE_FENCED:
            if (!agree_in(model->state->declared, slot))
                agree_break(model, "no-fault", "a living node was declared dead");
            break;
        case MU_AGREE_FAULT:
            agree_break(model, "no-fault", "node %u: %s", slot, mu_fault_text(effect->fault));
            break;
        }
    }
}

/* Places where a crash inside the update makes a difference: after a send, before another one. */
static uint64_t cuts_of(const struct mu_agree_update *update)
{
    uint64_t sends = 0;
    for (uint32_t i = 0; i < update->count; i++)
        if (update->effects[i].type == MU_AGREE_SEND)
            sends |= 2ull << i; /* after effect i, i + 1 have happened */
    if (sends == 0)
        return 0;
    return sends & ~(1ull << (63 - __builtin_clzll(sends)));
}

static void forget(struct agree_model *model, uint32_t slot)
{
    memset(model->state->decided[slot], 0, sizeof model->state->decided[slot]);
    memset(model->state->acked[slot], 0, sizeof model->state->acked[slot]);
}

void agree_crash(struct agree_model *model, uint32_t slot)
{
    struct agree_state *state = model->state;
    agree_mask others = (agree_mask) ~(1u << slot);
    state->alive &= others;
    state->lapsed &= others;
    state->declared &= others;
    state->down[slot] = 0;
    state->crashes_left--;
    memset(state->called[slot], 0, sizeof state->called[slot]);
    for (uint32_t peer = 0; peer < model->size; peer++) {
        memset(&state->channels[peer][slot], 0, sizeof(struct agree_channel));
        state->down[peer] &= others;
    }
    /* Nothing looks at it any more: let all its last moments be one. */
    memset(agree_at(model, slot), 0, model->node_bytes);
    forget(model, slot);
}

void agree_act(struct agree_model *model, uint32_t slot, struct mu_agree_event *event, uint8_t cut)
{
    event->lease_held = !agree_in(model->state->lapsed, slot);
    agree_law_before(model, slot);
    mu_agree_step(agree_at(model, slot), event, &model->update);
    model->cuts = model->state->crashes_left > 0 ? cuts_of(&model->update) : 0;
    if (cut == EXPLORE_WHOLE && agree_is_living(model, slot))
        agree_law_after(model, slot, event);
    carry_out(model, slot, cut == EXPLORE_WHOLE ? model->update.count : cut);
    if (cut != EXPLORE_WHOLE)
        agree_crash(model, slot);
}

void agree_deliver(struct agree_model *model, uint32_t from, uint32_t to, uint8_t cut)
{
    struct agree_channel *channel = &model->state->channels[from][to];
    struct agree_whole whole;
    agree_widen(&channel->messages[0], &whole);
    channel->count--;
    memmove(&channel->messages[0], &channel->messages[1],
            channel->count * sizeof channel->messages[0]);
    memset(&channel->messages[channel->count], 0, sizeof channel->messages[0]);
    struct mu_agree_event event = {.type = MU_AGREE_RECV};
    event.recv.from = from;
    event.recv.message = &whole.message;
    agree_act(model, to, &event, cut);
}

/* Every node acknowledges the deaths that it knows when it calls. */
void agree_call(struct agree_model *model, uint32_t slot, uint32_t g, uint8_t cut)
{
    const struct mu_agree *agree = agree_at(model, slot);
    struct mu_failed failed[AGREE_NODES];
    struct mu_agree_event event = {.type = MU_AGREE_CALL};
    event.call.group = g + 1;
    event.call.bits = ~(1ull << slot);
    event.call.failed = failed;
    model->state->acked[slot][g] = 0;
    for (uint32_t i = 0; i < agree->dead.count; i++) {
        mu_slot dead = agree->dead.entries[i].slot;
        if (!mu_agree_is_member(agree, g + 1, dead))
            continue;
        model->state->acked[slot][g] |= (agree_mask)(1u << dead);
        failed[event.call.failed_count++] =
            (struct mu_failed){.node = dead & 0x7f, .acked = 1, .process = MU_FAILED_NODE};
    }
    model->state->called[slot][g]++;
    agree_act(model, slot, &event, cut);
}

void agree_tell(struct agree_model *model, uint32_t slot, uint32_t dead, bool proven, uint8_t cut)
{
    struct mu_agree_event event = {.type = MU_AGREE_DEAD};
    event.dead.slot = dead;
    event.dead.incarnation = 1;
    event.dead.proven = proven;
    if (agree_in(model->state->alive, dead)) {
        model->state->declared |= (agree_mask)(1u << dead);
        forget(model, dead);
    }
    agree_act(model, slot, &event, cut);
}
