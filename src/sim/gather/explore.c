#include "sim/gather/explore.h"

#include "core/gather/gather.h"
#include "sim/base/memory.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* What a dead node sent may arrive, before or after its receiver knows of the death, or be lost
 * from some message on.  So this is also the case of a node that lives and is out: what it sent
 * arrives, and it does nothing any more. */

enum { NODES = EXPLORE_GATHER_NODES_MAX, ROUNDS = EXPLORE_GATHER_ROUNDS_MAX, CHANNEL = 12 };

enum action_type {
    ACT_CALL = 1, /* a has its part of the next round */
    ACT_DELIVER,  /* b hears the next message from a */
    ACT_LOSE,     /* what a, which is dead, sent to b is lost */
    ACT_TELL,     /* a hears that b is out */
    ACT_CRASH,
};

typedef uint8_t node_mask;

struct small {
    uint8_t type;
    uint8_t round;
    node_mask parts;
};

struct channel {
    struct small messages[CHANNEL];
    uint8_t count;
};

/* Everything that changes, besides the nodes' own memory, which follows. */
struct state {
    struct channel channels[NODES][NODES]; /* from, to */
    uint8_t called[NODES];                 /* rounds */
    uint8_t delivered[NODES];
    node_mask alive;
    uint8_t crashes_left;
};

struct model {
    struct explore_model base; /* first, so that one leads to the other */
    const struct explore_gather *options;
    struct state *state;
    uint8_t *nodes;
    size_t node_bytes;
    struct mu_allgather_update update;
    uint64_t cuts;   /* of the action taken last */
    const char *law; /* that broke in it; NULL: none */
    char message[256];
};

static struct mu_allgather *node_at(const struct model *model, uint32_t slot)
{
    return (struct mu_allgather *)(void *)(model->nodes + slot * model->node_bytes);
}

static bool in(node_mask set, uint32_t slot)
{
    return (set >> slot & 1) != 0;
}

__attribute__((format(printf, 3, 4))) static void break_law(struct model *model, const char *law,
                                                            const char *format, ...)
{
    if (model->law != NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(model->message, sizeof model->message, format, arguments);
    va_end(arguments);
    model->law = law;
}

/* ---- laws ---- */

/* G2: each round once, in order.  G3: nothing of a living node is missing. */
static void judge_result(struct model *model, uint32_t slot,
                         const struct mu_allgather_message *result)
{
    struct state *state = model->state;
    if (result->round != state->delivered[slot] + 1u)
        break_law(model, "G2", "node %u has result %u after result %u", slot,
                  (unsigned)result->round, state->delivered[slot]);
    state->delivered[slot]++;
    for (uint32_t other = 0; other < model->options->nodes; other++)
        if (in(state->alive, other) && !mu_allgather_in(result->parts, other))
            break_law(model, "G3", "the result of node %u lacks the part of node %u, which lives",
                      slot, other);
}

/* G4: of all rounds that are done, only the last is kept. */
static void judge_memory(struct model *model, uint32_t slot)
{
    const struct mu_allgather *gather = node_at(model, slot);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < MU_ALLGATHER_ROUNDS; i++)
        kept += gather->rounds[i].called;
    uint32_t wanted = model->state->called[slot] > gather->done ? 2 : 1;
    if (kept > wanted)
        break_law(model, "G4", "node %u keeps %u rounds", slot, kept);
}

/* ---- steps ---- */

static void put(struct model *model, uint32_t from, const struct mu_allgather_effect *effect)
{
    if (!in(model->state->alive, effect->peer))
        return;
    struct channel *channel = &model->state->channels[from][effect->peer];
    assert(channel->count < CHANNEL);
    const struct mu_allgather_message *message = &effect->message;
    channel->messages[channel->count++] =
        (struct small){.type = message->type,
                       .round = (uint8_t)message->round,
                       .parts = message->parts != NULL ? (node_mask)message->parts[0] : 0};
}

/* Places where a crash inside the update makes a difference: after a send, before another one. */
static uint64_t cuts_of(const struct mu_allgather_update *update)
{
    uint64_t sends = 0;
    for (uint32_t i = 0; i < update->count; i++)
        if (update->effects[i].type == MU_ALLGATHER_SEND)
            sends |= 2ull << i; /* after effect i, i + 1 have happened */
    if (sends == 0)
        return 0;
    return sends & ~(1ull << (63 - __builtin_clzll(sends)));
}

static void crash(struct model *model, uint32_t slot)
{
    struct state *state = model->state;
    state->alive &= (node_mask) ~(1u << slot);
    state->crashes_left--;
    state->called[slot] = state->delivered[slot] = 0;
    for (uint32_t peer = 0; peer < model->options->nodes; peer++)
        memset(&state->channels[peer][slot], 0, sizeof(struct channel));
    /* Nothing looks at it any more: let all its last moments be one. */
    memset(node_at(model, slot), 0, model->node_bytes);
}

static void step(struct model *model, uint32_t slot, const struct mu_allgather_event *event,
                 uint8_t cut)
{
    mu_allgather_step(node_at(model, slot), event, &model->update);
    model->cuts = model->state->crashes_left > 0 ? cuts_of(&model->update) : 0;
    uint32_t happen = cut == EXPLORE_WHOLE ? model->update.count : cut;
    for (uint32_t i = 0; i < happen; i++) {
        const struct mu_allgather_effect *effect = &model->update.effects[i];
        if (effect->type == MU_ALLGATHER_SEND)
            put(model, slot, effect);
        else if (effect->type == MU_ALLGATHER_DELIVER)
            judge_result(model, slot, &effect->message);
        else if (effect->type == MU_ALLGATHER_FAULT)
            break_law(model, "no-fault", "node %u: %s", slot, mu_fault_text(effect->fault));
    }
    if (cut == EXPLORE_WHOLE)
        judge_memory(model, slot);
    else
        crash(model, slot);
}

static void deliver(struct model *model, uint32_t from, uint32_t to, uint8_t cut)
{
    struct channel *channel = &model->state->channels[from][to];
    struct small small = channel->messages[0];
    channel->count--;
    memmove(&channel->messages[0], &channel->messages[1], channel->count * sizeof small);
    memset(&channel->messages[channel->count], 0, sizeof small);
    uint64_t parts = small.parts;
    struct mu_allgather_message message = {small.type, small.round,
                                           small.type == MU_ALLGATHER_WANT ? NULL : &parts};
    step(model, to, &(struct mu_allgather_event){MU_ALLGATHER_RECV, from, &message}, cut);
}

/* ---- the model ---- */

static bool can_call(const struct model *model, uint32_t slot)
{
    uint32_t called = model->state->called[slot];
    return called < model->options->rounds && called == model->state->delivered[slot];
}

static bool can_be_told(const struct model *model, uint32_t slot, uint32_t other)
{
    return !in(model->state->alive, other) && !mu_allgather_is_out(node_at(model, slot), other);
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

static uint32_t actions(struct explore_model *base, struct explore_action *out)
{
    struct model *model = (struct model *)base;
    const struct state *state = model->state;
    struct list list = {out, 0};
    for (uint32_t a = 0; a < model->options->nodes; a++) {
        bool lives = in(state->alive, a);
        if (lives && can_call(model, a))
            add(&list, ACT_CALL, a, 0);
        if (lives && state->crashes_left > 0)
            add(&list, ACT_CRASH, a, 0);
        for (uint32_t b = 0; b < model->options->nodes; b++) {
            bool some = state->channels[a][b].count > 0;
            if (some)
                add(&list, ACT_DELIVER, a, b);
            if (some && !lives)
                add(&list, ACT_LOSE, a, b);
            if (lives && can_be_told(model, a, b))
                add(&list, ACT_TELL, a, b);
        }
    }
    return list.count;
}

static void take(struct explore_model *base, const struct explore_action *action)
{
    struct model *model = (struct model *)base;
    uint8_t a = action->a, b = action->b;
    model->cuts = 0;
    switch ((enum action_type)action->type) {
    case ACT_CALL:
        model->state->called[a]++;
        step(model, a, &(struct mu_allgather_event){MU_ALLGATHER_CALL, a, NULL}, action->cut);
        return;
    case ACT_DELIVER:
        deliver(model, a, b, action->cut);
        return;
    case ACT_LOSE:
        memset(&model->state->channels[a][b], 0, sizeof(struct channel));
        return;
    case ACT_TELL:
        step(model, a, &(struct mu_allgather_event){MU_ALLGATHER_OUT, b, NULL}, action->cut);
        return;
    case ACT_CRASH:
        crash(model, a);
        return;
    }
    abort();
}

static uint64_t cuts(struct explore_model *base)
{
    return ((struct model *)base)->cuts;
}

static void fingerprint(const struct explore_model *base, struct mu_fingerprint *print)
{
    const struct model *model = (const struct model *)base;
    const struct state *state = model->state;
    mu_fingerprint_add(print, (uint64_t)state->crashes_left << 8 | state->alive);
    for (uint32_t a = 0; a < model->options->nodes; a++) {
        mu_fingerprint_add(print, (uint64_t)state->called[a] << 8 | state->delivered[a]);
        if (in(state->alive, a))
            mu_allgather_fingerprint(node_at(model, a), print);
        for (uint32_t b = 0; b < model->options->nodes; b++) {
            const struct channel *channel = &state->channels[a][b];
            if (channel->count == 0)
                continue;
            mu_fingerprint_add(print, (uint64_t)(a * NODES + b) << 8 | channel->count);
            for (uint32_t i = 0; i < channel->count; i++)
                mu_fingerprint_add(print, (uint64_t)channel->messages[i].type << 16 |
                                              (uint64_t)channel->messages[i].round << 8 |
                                              channel->messages[i].parts);
        }
    }
}

/* G1: when nothing more happens but that somebody crashes, everybody living has every result. */
static void judge_end(struct model *model)
{
    const struct state *state = model->state;
    struct explore_action possible[EXPLORE_ACTIONS_MAX];
    uint32_t count = actions(&model->base, possible);
    for (uint32_t i = 0; i < count; i++)
        if (possible[i].type != ACT_CRASH)
            return;
    for (uint32_t slot = 0; slot < model->options->nodes; slot++)
        if (in(state->alive, slot) && state->delivered[slot] < model->options->rounds)
            break_law(model, "G1", "node %u waits for ever", slot);
}

static const char *check(struct explore_model *base, char message[256])
{
    struct model *model = (struct model *)base;
    judge_end(model);
    const char *law = model->law;
    if (law != NULL)
        memcpy(message, model->message, sizeof model->message);
    model->law = NULL;
    return law;
}

static void describe(const struct explore_model *base, const struct explore_action *action,
                     char text[128])
{
    static const char *const names[] = {"", "UP", "DOWN", "WANT", "PART"};
    const struct model *model = (const struct model *)base;
    const struct small *head = &model->state->channels[action->a][action->b].messages[0];
    const char *cut = action->cut == EXPLORE_WHOLE ? "" : ", and crashes while it sends";
    switch ((enum action_type)action->type) {
    case ACT_CALL:
        snprintf(text, 128, "node %u has its part%s", action->a, cut);
        return;
    case ACT_DELIVER:
        snprintf(text, 128, "node %u hears %s (parts %#x, round %u) from node %u%s", action->b,
                 names[head->type], head->parts, head->round, action->a, cut);
        return;
    case ACT_LOSE:
        snprintf(text, 128, "what node %u sent to node %u is lost", action->a, action->b);
        return;
    case ACT_TELL:
        snprintf(text, 128, "node %u hears that node %u is out%s", action->a, action->b, cut);
        return;
    case ACT_CRASH:
        snprintf(text, 128, "node %u crashes", action->a);
        return;
    }
    abort();
}

void explore_gather(const struct explore_gather *gather, const struct explore_options *options,
                    struct explore_result *result)
{
    assert(gather->nodes >= 1 && gather->nodes <= NODES && gather->rounds <= ROUNDS);
    struct model model = {.base = {.actions = actions,
                                   .take = take,
                                   .cuts = cuts,
                                   .fingerprint = fingerprint,
                                   .check = check,
                                   .describe = describe,
                                   .is_acyclic = true},
                          .options = gather};
    const struct mu_span all = {.first = 0, .count = gather->nodes};
    struct mu_allgather_config config = {.size = gather->nodes,
                                         .shift = (uint8_t)gather->shift,
                                         .spans = &all,
                                         .span_count = 1,
                                         .broken_rules = gather->broken_rules};
    model.node_bytes = mu_allgather_bytes(&config);
    size_t state_bytes = (sizeof *model.state + 63) / 64 * 64;
    model.base.state_bytes = state_bytes + gather->nodes * model.node_bytes;
    model.base.state = sim_map(model.base.state_bytes);
    model.state = model.base.state;
    model.nodes = (uint8_t *)model.base.state + state_bytes;
    for (uint32_t slot = 0; slot < gather->nodes; slot++) {
        config.self = slot;
        mu_allgather_init(node_at(&model, slot), model.node_bytes, &config);
        model.state->alive |= (node_mask)(1u << slot);
    }
    model.state->crashes_left = (uint8_t)gather->crashes;
    model.update.capacity = mu_allgather_effects_max(&config);
    model.update.effects = sim_calloc(model.update.capacity, sizeof *model.update.effects);
    explore(&model.base, options, result);
    free(model.update.effects);
    sim_unmap(model.base.state, model.base.state_bytes);
}
