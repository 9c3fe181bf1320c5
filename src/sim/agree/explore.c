#include "sim/agree/explore.h"

#include "sim/agree/explore_inside.h"
#include "sim/base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What a dead node sent may still arrive, for as long as its receiver does not know.  That it is
 * lost with its host is the same as that it comes too late. */

enum action_type {
    ACT_CALL = 1, /* node a contributes to the next agreement of group b */
    ACT_DELIVER,  /* b hears the next message from a */
    ACT_TELL,     /* a hears that b is dead */
    ACT_PROVE,    /* a hears proof of it, first of all or later */
    ACT_CRASH,
    ACT_LAPSE,  /* a loses its lease */
    ACT_RENEW,  /* and has it again; nobody was told that it is dead */
    ACT_RESET,  /* the connection of two nodes breaks; a: both, b: what still arrives of each */
    ACT_RESUME, /* a has a new connection to b */
};

enum { PAIR = 8, KEEP = 16 }; /* two numbers in one */

/* ---- the reduction: docs/spec/agree.md argues it ---- */

/* A message that its receiver throws away, now as at any later time. */
static bool changes_nothing(const struct agree_model *model, uint32_t from, uint32_t to)
{
    const struct agree_small *message = &model->state->channels[from][to].messages[0];
    const struct mu_agree *agree = agree_at(model, to);
    const struct mu_agree_group *group = mu_agree_find(agree, message->group);
    uint32_t discard = MU_AGREE_BROKEN_DISCARD | MU_AGREE_BROKEN_DISCARD_TOLD;
    if (message->round < group->decided)
        return true;
    if (mu_roster_is_vacant(&agree->dead, from) && (model->options->broken_rules & discard) == 0)
        return true;
    return message->type == MU_AGREE_DOWN && message->round == group->decided;
}

static bool is_deliverable(const struct agree_model *model, uint32_t from, uint32_t to)
{
    const struct agree_state *state = model->state;
    if (state->channels[from][to].count == 0)
        return false;
    /* What was sent over a new connection waits until both ends have it. */
    return agree_in(state->down[from], to) || !agree_in(state->down[to], from);
}

static void drain(struct agree_model *model)
{
    if (model->options->every_order)
        return;
    for (uint32_t from = 0; from < model->size; from++)
        for (uint32_t to = 0; to < model->size; to++)
            while (is_deliverable(model, from, to) && changes_nothing(model, from, to) &&
                   model->law == NULL)
                agree_deliver(model, from, to, EXPLORE_WHOLE);
}

/* ---- the model ---- */

static bool can_call(const struct agree_model *model, uint32_t slot, uint32_t g)
{
    uint32_t called = model->state->called[slot][g];
    const struct mu_agree_group *group = mu_agree_find(agree_at(model, slot), g + 1);
    const struct mu_round *last = &group->rounds[called % MU_ROUNDS];
    return called < model->options->rounds && group->decided == called &&
           (called == 0 || last->delivered);
}

static bool can_be_told(const struct agree_model *model, uint32_t slot, uint32_t dead)
{
    bool is_silent = !agree_in(model->state->alive, dead) || agree_in(model->state->lapsed, dead);
    const struct mu_agree *agree = agree_at(model, slot);
    return slot != dead && is_silent && !agree->fenced && !mu_roster_is_vacant(&agree->dead, dead);
}

static bool can_be_shown(const struct agree_model *model, uint32_t slot, uint32_t dead)
{
    const struct mu_agree *agree = agree_at(model, slot);
    return !agree_in(model->state->alive, dead) && !agree->fenced &&
           !mu_roster_is_proven(&agree->dead, dead, 1);
}

static bool can_resume(const struct agree_model *model, uint32_t a, uint32_t b)
{
    const struct agree_state *state = model->state;
    bool is_first = agree_in(state->down[b], a); /* nothing of the old connection is left */
    bool is_empty = state->channels[a][b].count + state->channels[b][a].count == 0;
    return agree_in(state->down[a], b) && (!is_first || is_empty);
}

struct list {
    struct explore_action *at;
    uint32_t count;
};

static void add(struct list *list, enum action_type type, uint32_t a, uint32_t b)
{
    assert(list->count < EXPLORE_ACTIONS_MAX);
    list->at[list->count++] =
        (struct explore_action){(uint8_t)type, (uint8_t)a, (uint8_t)b, EXPLORE_WHOLE};
}

static void add_resets(const struct agree_model *model, struct list *list, uint32_t a, uint32_t b)
{
    const struct agree_state *state = model->state;
    if (state->resets_left == 0 || agree_in(state->down[a], b) || agree_in(state->down[b], a) ||
        state->channels[a][b].count + state->channels[b][a].count == 0)
        return;
    for (uint32_t there = 0; there <= state->channels[a][b].count; there++)
        for (uint32_t back = 0; back <= state->channels[b][a].count; back++)
            add(list, ACT_RESET, a * PAIR + b, there * KEEP + back);
}

static void add_own(const struct agree_model *model, struct list *list, uint32_t a)
{
    const struct agree_state *state = model->state;
    bool lapsed = agree_in(state->lapsed, a), declared = agree_in(state->declared, a);
    for (uint32_t g = 0; g < model->options->agreements; g++)
        if (can_call(model, a, g))
            add(list, ACT_CALL, a, g);
    if (state->crashes_left > 0 && !declared)
        add(list, ACT_CRASH, a, 0);
    if (state->lapses_left > 0 && !lapsed)
        add(list, ACT_LAPSE, a, 0);
    if (lapsed && !declared)
        add(list, ACT_RENEW, a, 0);
}

static uint32_t actions(struct explore_model *base, struct explore_action *out)
{
    struct agree_model *model = (struct agree_model *)base;
    const struct agree_state *state = model->state;
    struct list list = {out, 0};
    for (uint32_t a = 0; a < model->size && model->options->calls_first; a++)
        if (agree_in(state->alive, a) && state->called[a][0] == 0) {
            add(&list, ACT_CALL, a, 0);
            return list.count;
        }
    for (uint32_t a = 0; a < model->size; a++) {
        bool lives = agree_in(state->alive, a);
        if (lives)
            add_own(model, &list, a);
        for (uint32_t b = 0; b < model->size; b++) {
            if (is_deliverable(model, a, b))
                add(&list, ACT_DELIVER, a, b);
            if (lives && can_be_told(model, a, b))
                add(&list, ACT_TELL, a, b);
            bool is_proven = agree_in(state->proven, b);
            if (lives && (is_proven || state->proofs_left > 0) && can_be_shown(model, a, b))
                add(&list, ACT_PROVE, a, b);
            if (lives && can_resume(model, a, b))
                add(&list, ACT_RESUME, a, b);
            if (lives && a < b && agree_in(state->alive, b))
                add_resets(model, &list, a, b);
        }
    }
    return list.count;
}

static void keep(struct agree_channel *channel, uint32_t count)
{
    while (channel->count > count)
        channel->messages[--channel->count] = (struct agree_small){0};
}

static void take_one(struct agree_model *model, const struct explore_action *action)
{
    struct agree_state *state = model->state;
    uint8_t a = action->a, b = action->b, cut = action->cut;
    struct mu_agree_event event = {.type = MU_AGREE_LEASE};
    switch ((enum action_type)action->type) {
    case ACT_CALL:
        agree_call(model, a, b, cut);
        return;
    case ACT_DELIVER:
        agree_deliver(model, a, b, cut);
        return;
    case ACT_TELL:
        agree_tell(model, a, b, false, cut);
        return;
    case ACT_PROVE:
        state->proofs_left -= agree_in(state->proven, b) ? 0 : 1;
        state->proven |= (agree_mask)(1u << b);
        agree_tell(model, a, b, true, cut);
        return;
    case ACT_CRASH:
        agree_crash(model, a);
        return;
    case ACT_LAPSE:
        state->lapsed |= (agree_mask)(1u << a);
        state->lapses_left--;
        agree_act(model, a, &event, cut);
        return;
    case ACT_RENEW:
        state->lapsed &= (agree_mask) ~(1u << a);
        agree_act(model, a, &event, cut);
        return;
    case ACT_RESET:
        state->resets_left--;
        keep(&state->channels[a / PAIR][a % PAIR], b / KEEP);
        keep(&state->channels[a % PAIR][a / PAIR], b % KEEP);
        state->down[a / PAIR] |= (agree_mask)(1u << a % PAIR);
        state->down[a % PAIR] |= (agree_mask)(1u << a / PAIR);
        return;
    case ACT_RESUME:
        state->down[a] &= (agree_mask) ~(1u << b);
        event.type = MU_AGREE_RESUME;
        event.resume.peer = b;
        agree_act(model, a, &event, cut);
        return;
    }
    abort();
}

static void take(struct explore_model *base, const struct explore_action *action)
{
    struct agree_model *model = (struct agree_model *)base;
    model->cuts = 0;
    take_one(model, action);
    uint64_t cuts_of_action = model->cuts;
    drain(model);
    model->cuts = cuts_of_action;
}

static uint64_t cuts(struct explore_model *base)
{
    return ((struct agree_model *)base)->cuts;
}

static void fingerprint(const struct explore_model *base, struct mu_fingerprint *print)
{
    const struct agree_model *model = (const struct agree_model *)base;
    const struct agree_state *state = model->state;
    mu_fingerprint_add(print,
                       (uint64_t)state->crashes_left << 32 | (uint64_t)state->lapses_left << 40 |
                           (uint64_t)state->resets_left << 48 | (uint64_t)state->proofs_left << 56 |
                           (uint64_t)state->alive | (uint64_t)state->lapsed << 8 |
                           (uint64_t)state->declared << 16 | (uint64_t)state->proven << 24);
    for (uint32_t a = 0; a < model->size; a++) {
        if (agree_in(state->alive, a))
            mu_agree_fingerprint(agree_at(model, a), print);
        uint64_t words[1 + AGREE_GROUPS + AGREE_GROUPS * AGREE_ROUNDS] = {state->down[a]};
        uint32_t count = 1;
        for (uint32_t g = 0; g < model->options->agreements; g++) {
            words[count++] = (uint64_t)state->acked[a][g] << 8 | state->called[a][g];
            for (uint32_t r = 0; r < model->options->rounds; r++)
                memcpy(&words[count++], &state->decided[a][g][r], sizeof words[0]);
        }
        for (uint32_t i = 0; i < count; i++)
            mu_fingerprint_add(print, words[i]);
        for (uint32_t b = 0; b < model->size; b++) {
            const struct agree_channel *channel = &state->channels[a][b];
            if (channel->count == 0)
                continue;
            mu_fingerprint_add(print, (uint64_t)(a * PAIR + b) << 8 | channel->count);
            for (uint32_t i = 0; i < channel->count; i++) {
                uint64_t word;
                memcpy(&word, &channel->messages[i], sizeof word);
                mu_fingerprint_add(print, word);
            }
        }
    }
}

/* Nothing more happens, but that somebody crashes, loses its lease or its connection. */
static bool is_still(struct agree_model *model)
{
    const struct agree_state *state = model->state;
    for (uint32_t a = 0; a < model->size; a++)
        for (uint32_t b = 0; b < model->size; b++)
            if (is_deliverable(model, a, b))
                return false;
    for (uint32_t a = 0; a < model->size; a++) {
        if (!agree_in(state->alive, a))
            continue;
        if (agree_in(state->lapsed & ~state->declared, a))
            return false; /* it may have its lease again */
        for (uint32_t g = 0; g < model->options->agreements; g++)
            if (can_call(model, a, g))
                return false;
        for (uint32_t b = 0; b < model->size; b++)
            if (can_be_told(model, a, b) || can_resume(model, a, b) ||
                (agree_in(state->proven, b) && can_be_shown(model, a, b)))
                return false;
    }
    return true;
}

static const char *check(struct explore_model *base, char message[256])
{
    struct agree_model *model = (struct agree_model *)base;
    agree_law_check(model, is_still(model));
    const char *law = model->law;
    if (law != NULL)
        memcpy(message, model->message, sizeof model->message);
    model->law = NULL;
    return law;
}

/* ---- words ---- */

static void describe(const struct explore_model *base, const struct explore_action *action,
                     char text[128])
{
    const struct agree_model *model = (const struct agree_model *)base;
    char what[AGREE_TEXT], cut[32] = "";
    if (action->cut != EXPLORE_WHOLE)
        snprintf(cut, sizeof cut, ", and crashes after effect %u", action->cut);
    switch ((enum action_type)action->type) {
    case ACT_CALL:
        snprintf(text, 128, "node %u contributes to agreement %u.%u%s", action->a, action->b + 1u,
                 model->state->called[action->a][action->b] + 1u, cut);
        return;
    case ACT_DELIVER:
        agree_describe_message(&model->state->channels[action->a][action->b].messages[0], what);
        snprintf(text, 128, "node %u hears %s from node %u%s", action->b, what, action->a, cut);
        return;
    case ACT_TELL:
        snprintf(text, 128, "node %u hears that node %u is dead%s", action->a, action->b, cut);
        return;
    case ACT_PROVE:
        snprintf(text, 128, "node %u sees proof that node %u is dead%s", action->a, action->b, cut);
        return;
    case ACT_CRASH:
        snprintf(text, 128, "node %u crashes", action->a);
        return;
    case ACT_LAPSE:
        snprintf(text, 128, "node %u loses its lease", action->a);
        return;
    case ACT_RENEW:
        snprintf(text, 128, "node %u has its lease again%s", action->a, cut);
        return;
    case ACT_RESET:
        snprintf(text, 128, "the connection of nodes %u and %u breaks", action->a / PAIR,
                 action->a % PAIR);
        return;
    case ACT_RESUME:
        snprintf(text, 128, "node %u has a new connection to node %u%s", action->a, action->b, cut);
        return;
    }
    abort();
}

/* ---- start ---- */

static void start(struct agree_model *model, struct mu_agree_config *config)
{
    struct mu_span all = {.first = 0, .count = model->size};
    for (uint32_t slot = 0; slot < model->size; slot++) {
        config->self = slot;
        mu_agree_init(agree_at(model, slot), model->node_bytes, config);
        for (uint32_t g = 0; g < model->options->agreements; g++) {
            struct mu_agree_event event = {.type = MU_AGREE_OPEN, .lease_held = true};
            event.open.group = g + 1;
            event.open.spans = &all;
            event.open.count = 1;
            mu_agree_step(agree_at(model, slot), &event, &model->update);
        }
        model->state->alive |= (agree_mask)(1u << slot);
    }
    model->state->crashes_left = (uint8_t)model->options->crashes;
    model->state->lapses_left = (uint8_t)model->options->lapses;
    model->state->resets_left = (uint8_t)model->options->resets;
    model->state->proofs_left = (uint8_t)model->options->proofs;
}

void explore_agree(const struct explore_agree *agree, const struct explore_options *options,
                   struct explore_result *result)
{
    assert(agree->nodes >= 1 && agree->nodes <= AGREE_NODES);
    struct agree_model model = {.base = {.actions = actions,
                                         .take = take,
                                         .cuts = cuts,
                                         .fingerprint = fingerprint,
                                         .check = check,
                                         .describe = describe,
                                         .is_acyclic = true},
                                .options = agree,
                                .size = agree->nodes};
    struct mu_agree_config config;
    mu_agree_config_default(&config, agree->nodes, 0);
    config.shift = (uint8_t)agree->shift;
    config.rebalance_at = 1; /* as often as can be */
    config.broken_rules = agree->broken_rules;
    config.limits = (struct mu_agree_limits){.dead = agree->nodes,
                                             .groups = (uint16_t)agree->agreements,
                                             .runs = (uint16_t)agree->nodes,
                                             .failed = (uint16_t)agree->nodes};
    model.node_bytes = mu_agree_bytes(&config);
    size_t state_bytes = (sizeof *model.state + 63) / 64 * 64;
    model.base.state_bytes = state_bytes + agree->nodes * model.node_bytes;
    model.base.state = sim_map(model.base.state_bytes);
    model.state = model.base.state;
    model.nodes = (uint8_t *)model.base.state + state_bytes;
    /* Broken rules may decide again and again. */
    model.update.capacity = mu_agree_effects_max(&config) + (agree->broken_rules != 0 ? 64 : 0);
    model.update.effects = sim_calloc(model.update.capacity, sizeof *model.update.effects);
    start(&model, &config);
    explore(&model.base, options, result);
    free(model.update.effects);
    sim_unmap(model.base.state, model.base.state_bytes);
}
