#include "sim/view/explore.h"

#include "sim/base/memory.h"
#include "sim/view/explore_inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum action_type {
    ACT_DELIVER = 1, /* b hears the next message from a */
    ACT_TELL,        /* a hears that b is dead, or finds it out, or sees the last word */
    ACT_HEAR_JOIN,   /* a hears that b wants to join */
    ACT_ASK,         /* a asks b to let it join */
    ACT_BEAT,        /* b hears a heartbeat from a */
    ACT_LEASE,       /* a has its lease (again) */
    ACT_ISOLATE,     /* a loses its lease: nobody is there to give it */
    ACT_STALL,       /* a loses its lease */
    ACT_CRASH,       /* b: a witness tells of it */
    ACT_LEAVE,
    ACT_CUT, /* b: ids on one side */
    ACT_HEAL,
    ACT_RETURN, /* the host of a starts its node again */
    ACT_EXPIRE, /* a was not confirmed for six timeouts */
};

/* ---- the reduction ---- */

/* A message that its receiver throws away, now as at any later time: it is of an agreement that is
 * decided there, and asks for nothing. */
static bool changes_nothing(const struct view_model *model, uint32_t from, uint32_t to)
{
    const struct view_channel *channel = &model->state->channels[from][to];
    const struct mu_view_message *message = view_messages_at(model->messages, channel->messages[0]);
    const struct mu_view *view = view_at(model, to);
    const struct mu_view_list *late = &view->lists[MU_VIEW_LATE];
    if (view->status != MU_VIEW_MEMBER || late->number == 0 || model->options->broken_rules != 0)
        return false;
    if (message->type == MU_VIEW_SAY_AGAIN)
        return message->mark.number <= late->number;
    if (message->type != MU_VIEW_AGREE)
        return false;
    if (message->mark.number < late->number)
        return mu_view_position(view, view_member(model, from)) != UINT32_MAX;
    return message->mark.hash == late->hash && message->agree.type == MU_AGREE_DOWN;
}

static bool is_deliverable(const struct view_model *model, uint32_t from, uint32_t to)
{
    return model->state->channels[from][to].count > 0 && !view_are_apart(model, from, to);
}

static void drain(struct view_model *model)
{
    for (uint32_t from = 0; from < model->starts; from++)
        for (uint32_t to = 0; to < model->starts; to++)
            while (is_deliverable(model, from, to) && changes_nothing(model, from, to) &&
                   model->law == NULL)
                view_deliver(model, from, to, EXPLORE_WHOLE);
}

/* ---- what can happen ---- */

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

/* What happens by itself, sooner or later. */
static void add_pair(const struct view_model *model, struct list *list, uint32_t a, uint32_t b,
                     bool in_vain)
{
    if (is_deliverable(model, a, b))
        add(list, ACT_DELIVER, a, b);
    if (view_can_be_told(model, a, b))
        add(list, ACT_TELL, a, b);
    if (view_can_hear_join(model, a, b))
        add(list, ACT_HEAR_JOIN, a, b);
    if (view_can_ask(model, a, b, in_vain))
        add(list, ACT_ASK, a, b);
    if (view_can_beat(model, a, b))
        add(list, ACT_BEAT, a, b);
}

static void add_course(const struct view_model *model, struct list *list, bool in_vain)
{
    const struct view_state *state = model->state;
    for (uint32_t a = 0; a < model->starts; a++) {
        if (view_can_have_lease(model, a))
            add(list, ACT_LEASE, a, 0);
        if (view_in(state->alive, a) && view_can_lose_lease(model, a))
            add(list, ACT_ISOLATE, a, 0);
        for (uint32_t b = 0; b < model->starts; b++)
            if (view_in(state->born, a) && view_in(state->born, b) && a != b)
                add_pair(model, list, a, b, in_vain);
    }
    if (state->side != 0 && model->options->heals)
        add(list, ACT_HEAL, 0, 0);
}

static void add_faults(const struct view_model *model, struct list *list, uint32_t a)
{
    const struct view_state *state = model->state;
    bool declared = view_in(state->declared, a), lapsed = view_in(state->lapsed, a);
    if (!view_in(state->alive, a))
        return;
    if (state->crashes_left > 0 && !declared)
        add(list, ACT_CRASH, a, 0);
    if (state->crashes_left > 0 && !declared && state->proofs_left > 0)
        add(list, ACT_CRASH, a, 1);
    if (state->stalls_left > 0 && mu_view_has_view(view_at(model, a)) &&
        (!lapsed || state->watch[a] == VIEW_STARTS))
        add(list, ACT_STALL, a, 0);
    if (state->leaves_left > 0 && !lapsed && view_at(model, a)->status == MU_VIEW_MEMBER)
        add(list, ACT_LEAVE, a, 0);
}

static bool is_host_free(const struct view_model *model, uint32_t process)
{
    const struct view_state *state = model->state;
    if (!view_in(state->born & (view_mask)~state->alive, process))
        return false;
    for (uint32_t later = process + 1; later < model->starts; later++)
        if (view_in(state->born, later) && state->ids[later] == state->ids[process])
            return false;
    return true;
}

static void add_sides(const struct view_model *model, struct list *list)
{
    uint32_t ids = model->options->nodes + model->options->joiners;
    if (model->options->sides != 0) {
        add(list, ACT_CUT, 0, (uint32_t)model->options->sides);
        return;
    }
    for (uint32_t side = 1; side < 1u << (ids - 1); side++) /* the last id is on the other */
        add(list, ACT_CUT, 0, side);
}

static uint32_t actions(struct explore_model *base, struct explore_action *out)
{
    struct view_model *model = (struct view_model *)base;
    const struct view_state *state = model->state;
    struct list list = {out, 0};
    add_course(model, &list, true);
    bool still = list.count == 0;
    for (uint32_t a = 0; a < model->starts; a++) {
        add_faults(model, &list, a);
        if (state->returns_left > 0 && is_host_free(model, a))
            add(&list, ACT_RETURN, a, 0);
        if (still && view_in(state->alive, a) && view_at(model, a)->status != MU_VIEW_MEMBER &&
            (state->was_cut || model->options->stalls > 0))
            add(&list, ACT_EXPIRE, a, 0);
    }
    if (state->cuts_left > 0)
        add_sides(model, &list);
    return list.count;
}

/* ---- taking one ---- */

static void ask(struct view_model *model, uint32_t process, uint32_t member, uint8_t cut)
{
    struct view_state *state = model->state;
    struct mu_view_event event = {.type = MU_VIEW_ASK};
    event.ask.member = view_member(model, member);
    if (!view_can_ask(model, process, member, false) ||
        view_breaks(model, MU_VIEW_BROKEN_ONE_ASKED))
        state->asked[process] |= (view_mask)(1u << member);
    view_act(model, process, &event, cut);
}

static void leave(struct view_model *model, uint32_t process)
{
    struct view_state *state = model->state;
    struct mu_view_event event = {.type = MU_VIEW_LEAVE};
    state->leaves_left--;
    mu_view_word(view_at(model, process), &state->words[process]);
    view_act(model, process, &event, EXPLORE_WHOLE);
    state->proven |= (view_mask)(1u << process);
}

static void come_back(struct view_model *model, uint32_t process)
{
    struct view_state *state = model->state;
    uint32_t next = 0;
    while (view_in(state->born, next))
        next++;
    state->returns_left--;
    view_born(model, next, state->ids[process]);
}

static void hear_join(struct view_model *model, uint32_t process, uint32_t joiner, uint8_t cut)
{
    struct mu_view_member member = view_member(model, joiner);
    struct mu_view_event event = {.type = MU_VIEW_HEARD_JOIN};
    event.entry.kind = MU_VIEW_KIND_JOIN;
    event.entry.key = mu_view_key(member.id, member.incarnation);
    view_act(model, process, &event, cut);
}

static void take_one(struct view_model *model, const struct explore_action *action)
{
    struct view_state *state = model->state;
    uint8_t a = action->a, b = action->b, cut = action->cut;
    struct mu_view_event event = {.type = MU_VIEW_LEASE};
    switch ((enum action_type)action->type) {
    case ACT_DELIVER:
        view_deliver(model, a, b, cut);
        return;
    case ACT_TELL:
        view_tell(model, a, b, cut);
        return;
    case ACT_HEAR_JOIN:
        hear_join(model, a, b, cut);
        return;
    case ACT_ASK:
        ask(model, a, b, cut);
        return;
    case ACT_BEAT:
        event.type = MU_VIEW_BEAT;
        event.beat.from = view_member(model, a);
        event.beat.mark = mu_view_mark(view_at(model, a));
        view_act(model, b, &event, cut);
        return;
    case ACT_LEASE:
        state->lapsed &= (view_mask) ~(1u << a);
        state->watch[a] = 0;
        view_act(model, a, &event, cut);
        return;
    case ACT_STALL:
        state->stalls_left--;
        state->lapsed |= (view_mask)(1u << a);
        state->watch[a] = (uint8_t)view_observer(model, a);
        view_act(model, a, &event, cut);
        return;
    case ACT_ISOLATE:
        state->lapsed |= (view_mask)(1u << a);
        state->watch[a] = (uint8_t)view_observer(model, a);
        view_act(model, a, &event, cut);
        return;
    case ACT_CRASH:
        state->crashes_left--;
        state->proofs_left -= b;
        view_crash(model, a, b != 0);
        return;
    case ACT_LEAVE:
        leave(model, a);
        return;
    case ACT_CUT:
        state->cuts_left--;
        state->side = b;
        state->was_cut = true;
        return;
    case ACT_HEAL:
        state->side = 0;
        return;
    case ACT_RETURN:
        come_back(model, a);
        return;
    case ACT_EXPIRE:
        event.type = MU_VIEW_EXPIRED;
        view_act(model, a, &event, cut);
        return;
    }
    abort();
}

static void take(struct explore_model *base, const struct explore_action *action)
{
    struct view_model *model = (struct view_model *)base;
    model->cuts = 0;
    take_one(model, action);
    uint64_t cuts_of_action = model->cuts;
    drain(model);
    model->cuts = cuts_of_action;
}

static uint64_t cuts(struct explore_model *base)
{
    return ((struct view_model *)base)->cuts;
}

/* ---- states ---- */

static void print_process(const struct view_model *model, uint32_t a, struct mu_fingerprint *print)
{
    const struct view_state *state = model->state;
    mu_fingerprint_add(print, (uint64_t)state->ids[a] << 32 | (uint64_t)state->watch[a] << 24 |
                                  (uint64_t)state->knew[a] << 16 | (uint64_t)state->asked[a] << 8 |
                                  state->worded[a]);
    if (view_in(state->alive, a))
        mu_view_fingerprint(view_at(model, a), print);
    if (view_in(state->proven, a)) {
        struct mu_agree_entry entry;
        mu_view_write_word(&entry, view_member(model, a), &state->words[a]);
        for (uint32_t i = 0; i < entry.length; i++)
            mu_fingerprint_add(print, entry.bytes[i]);
    }
    for (uint32_t number = 0; number < VIEW_NUMBERS; number++)
        if (state->told[a][number] != 0)
            mu_fingerprint_add(print, state->told[a][number] + number);
    for (uint32_t b = 0; b < model->starts; b++) {
        const struct view_channel *channel = &state->channels[a][b];
        if (channel->count == 0)
            continue;
        mu_fingerprint_add(print, (uint64_t)(a * VIEW_STARTS + b) << 8 | channel->count);
        for (uint32_t i = 0; i < channel->count; i++) {
            struct mu_fingerprint one = view_messages_print(model->messages, channel->messages[i]);
            mu_fingerprint_add(print, one.a);
            mu_fingerprint_add(print, one.b);
        }
    }
}

static void fingerprint(const struct explore_model *base, struct mu_fingerprint *print)
{
    const struct view_model *model = (const struct view_model *)base;
    const struct view_state *state = model->state;
    mu_fingerprint_add(
        print, (uint64_t)state->crashes_left | (uint64_t)state->proofs_left << 8 |
                   (uint64_t)state->stalls_left << 16 | (uint64_t)state->cuts_left << 24 |
                   (uint64_t)state->returns_left << 32 | (uint64_t)state->leaves_left << 40 |
                   (uint64_t)state->side << 48 | (uint64_t)state->was_cut << 56);
    mu_fingerprint_add(print, (uint64_t)state->alive | (uint64_t)state->born << 8 |
                                  (uint64_t)state->stopped << 16 | (uint64_t)state->lapsed << 24 |
                                  (uint64_t)state->declared << 32 | (uint64_t)state->proven << 40);
    for (uint32_t a = 0; a < model->starts; a++)
        if (view_in(state->born, a))
            print_process(model, a, print);
}

static const char *check(struct explore_model *base, char message[256])
{
    struct view_model *model = (struct view_model *)base;
    static struct explore_action room[EXPLORE_ACTIONS_MAX];
    struct list list = {room, 0};
    add_course(model, &list, false);
    view_law_check(model, list.count == 0);
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
    static const char *const one[] = {
        [ACT_LEASE] = "node %u has its lease (again)%s",
        [ACT_ISOLATE] = "node %u hears nobody and loses its lease%s",
        [ACT_STALL] = "node %u stands still and loses its lease%s",
        [ACT_LEAVE] = "node %u leaves%s",
        [ACT_EXPIRE] = "node %u gives up being confirmed%s",
    };
    static const char *const two[] = {
        [ACT_TELL] = "node %u hears that node %u is dead%s",
        [ACT_HEAR_JOIN] = "node %u hears that node %u wants to join%s",
        [ACT_ASK] = "node %u asks node %u to let it join%s",
        [ACT_BEAT] = "the heartbeat of node %u reaches node %u%s",
    };
    const struct view_model *model = (const struct view_model *)base;
    char what[VIEW_TEXT], cut[32] = "";
    unsigned a = action->a, b = action->b;
    if (action->cut != EXPLORE_WHOLE)
        snprintf(cut, sizeof cut, ", and crashes after effect %u", action->cut);
    switch ((enum action_type)action->type) {
    case ACT_DELIVER:
        view_messages_describe(
            view_messages_at(model->messages, model->state->channels[a][b].messages[0]), what);
        snprintf(text, 128, "node %u hears %s from node %u%s", b, what, a, cut);
        return;
    case ACT_CRASH:
        snprintf(text, 128, "node %u crashes%s", a, b != 0 ? ", and a witness tells of it" : "");
        return;
    case ACT_CUT:
        snprintf(text, 128, "nodes 0x%x are cut off from the others", b);
        return;
    case ACT_HEAL:
        snprintf(text, 128, "the cut heals");
        return;
    case ACT_RETURN:
        snprintf(text, 128, "the host of node %u is back, as one more", a);
        return;
    case ACT_TELL:
    case ACT_HEAR_JOIN:
    case ACT_ASK:
    case ACT_BEAT:
        snprintf(text, 128, two[action->type], a, b, cut);
        return;
    case ACT_LEASE:
    case ACT_ISOLATE:
    case ACT_STALL:
    case ACT_LEAVE:
    case ACT_EXPIRE:
        snprintf(text, 128, one[action->type], a, cut);
        return;
    }
    abort();
}

/* ---- start ---- */

static void configure(const struct explore_view *view, struct mu_view_config *config)
{
    uint32_t ids = view->nodes + view->joiners;
    uint32_t starts = ids + view->returns;
    mu_view_config_default(config, ids, 0);
    config->shift = (uint8_t)view->shift;
    config->broken_rules = view->broken_rules;
    config->limits.dead = ids;
    config->limits.odd = starts;
    config->limits.failed = (uint16_t)ids;
    config->limits.entries = (uint16_t)(starts < 4 ? 4 : starts);
    config->limits.spans = (uint16_t)mu_view_spans_needed(&config->limits);
}

static void start(struct view_model *model)
{
    const struct explore_view *options = model->options;
    struct view_state *state = model->state;
    state->crashes_left = (uint8_t)options->crashes;
    state->proofs_left = (uint8_t)options->proofs;
    state->stalls_left = (uint8_t)options->stalls;
    state->cuts_left = (uint8_t)options->cuts;
    state->returns_left = (uint8_t)options->returns;
    state->leaves_left = (uint8_t)options->leaves;
    for (uint32_t process = 0; process < options->nodes + options->joiners; process++)
        view_born(model, process, process);
    for (uint32_t process = 0; process < options->nodes; process++) {
        struct mu_view_event event = {.type = MU_VIEW_START};
        event.start.count = options->nodes;
        event.start.cluster = 1;
        view_act(model, process, &event, EXPLORE_WHOLE);
    }
}

void explore_view(const struct explore_view *view, const struct explore_options *options,
                  struct explore_result *result)
{
    assert(view->nodes >= 1 && view->nodes <= EXPLORE_VIEW_NODES_MAX);
    struct view_model model = {.base = {.actions = actions,
                                        .take = take,
                                        .cuts = cuts,
                                        .fingerprint = fingerprint,
                                        .check = check,
                                        .describe = describe},
                               .options = view,
                               .starts = view->nodes + view->joiners + view->returns};
    assert(model.starts <= VIEW_STARTS);
    configure(view, &model.config);
    model.node_bytes = mu_view_bytes(&model.config);
    size_t state_bytes = (sizeof *model.state + 63) / 64 * 64;
    model.base.state_bytes = state_bytes + model.starts * model.node_bytes;
    model.base.state = sim_map(model.base.state_bytes);
    model.state = model.base.state;
    model.nodes = (uint8_t *)model.base.state + state_bytes;
    model.messages = view_messages_new(&model.config);
    model.update.capacity = mu_view_effects_max(&model.config);
    model.update.effects = sim_calloc(model.update.capacity, sizeof *model.update.effects);
    start(&model);
    explore(&model.base, options, result);
    free(model.update.effects);
    view_messages_free(model.messages);
    sim_unmap(model.base.state, model.base.state_bytes);
}
