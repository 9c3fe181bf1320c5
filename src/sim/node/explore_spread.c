#include "sim/node/explore_spread.h"

#include "core/base/graph.h"
#include "core/node.h"
#include "sim/base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Links neither break nor fill up here (explore_link.c has those), so what they count is left out
 * of the fingerprint: spread never looks at it.
 *
 * One reduction: a copy of something that its receiver holds, over one of its edges that is done
 * already, changes nothing whenever it arrives; it is delivered as soon as it is at the head of its
 * channel.  The order of no other two actions is fixed.  Where somebody returns nothing is reduced:
 * an edge may be taken over and come back, and what was done on it is not known any more.
 *
 * Who returns is admitted by one node, whose roster is its first view, and has incarnation 2; the
 * others are told one by one.  A connection comes up when both ends hold each other for members:
 * one that would be refused is tried again, which changes nothing. */

enum {
    N_MAX = EXPLORE_SPREAD_NODES_MAX,
    INCARNATIONS = 2,
    NOTICES_MAX = (INCARNATIONS + 1) * N_MAX,
    CHANNEL_MAX = NOTICES_MAX
};

enum action_type {
    ACT_POST = 1,
    ACT_DELIVER, /* b hears the next frame from a */
    ACT_LOSE,    /* what dead a sent to b, and b has not heard, is lost with its host */
    ACT_CONNECT, /* a link that one of them asked for comes up, first at a, then at b */
    ACT_ONWARD,
    ACT_BACK,
    ACT_CRASH,
    ACT_TELL,   /* a sees that b is dead */
    ACT_RETURN, /* b comes back, admitted by a */
    ACT_MEMBER, /* a hears that b has come back */
};

/* A frame on its way, without what nothing depends on. */
struct small_frame {
    uint8_t notice; /* number: nodes' deaths first, then posts */
    uint8_t root;
    uint8_t incarnation; /* of who sent it */
    uint16_t sequence, ack;
};

struct channel {
    struct small_frame frames[CHANNEL_MAX];
    uint8_t count;
};

/* Everything that changes, besides the nodes' own memory, which follows. */
struct group {
    struct channel channels[N_MAX][N_MAX]; /* from, to */
    uint8_t delivered[N_MAX][NOTICES_MAX];
    bool alive[N_MAX];
    bool posted[N_MAX];
    bool onward[N_MAX], back[N_MAX]; /* deadlines that are armed */
    bool opening[N_MAX][N_MAX];      /* by whom, to whom */
    uint8_t incarnation[N_MAX];
    uint8_t crashes_left, returns_left;
};

struct model {
    struct explore_model base; /* first, so that one leads to the other */
    const struct explore_spread *options;
    uint32_t size;
    struct group *group;
    uint8_t *nodes;
    size_t node_bytes;
    struct mu_update update;
    uint64_t cuts;     /* of the action taken last */
    const char *fault; /* a rule of the core that broke in it */
};

static struct mu_node *node_at(const struct model *model, uint32_t slot)
{
    return (struct mu_node *)(void *)(model->nodes + slot * model->node_bytes);
}

/* ---- numbers for notices ---- */

static uint8_t number_of(const struct model *model, const struct mu_notice_id *id)
{
    if (id->kind == MU_NOTICE_NODE_DEAD)
        return (uint8_t)((mu_notice_incarnation(id) - 1) * model->size + id->index);
    return (uint8_t)(INCARNATIONS * model->size + (id->stream >> 32));
}

static bool is_death(const struct model *model, uint32_t number)
{
    return number < INCARNATIONS * model->size;
}

static struct mu_notice_id id_of(const struct model *model, uint8_t number)
{
    if (is_death(model, number))
        return mu_notice_node(number % model->size, 1 + number / model->size);
    return mu_notice_payload(number - INCARNATIONS * model->size, 1, 1);
}

static uint32_t notice_count(const struct model *model)
{
    return INCARNATIONS * model->size + model->options->posts;
}

/* ---- steps ---- */

static void step(struct model *model, uint32_t slot, const struct mu_event *event)
{
    mu_node_step(node_at(model, slot), event, &model->update);
    model->group->onward[slot] = model->update.deadline_ns[MU_TIMER_ONWARD] != MU_NEVER;
    model->group->back[slot] = model->update.deadline_ns[MU_TIMER_BACK] != MU_NEVER;
}

static void put(struct model *model, uint32_t from, const struct mu_effect *effect)
{
    uint32_t to = effect->peer;
    const struct mu_link *link = mu_links_find(&node_at(model, from)->links, to);
    if (!model->group->alive[to] || effect->frame.type != MU_FRAME_NOTICE || link == NULL ||
        link->incarnation != model->group->incarnation[to])
        return; /* nobody is there, or not the one who is meant */
    struct channel *channel = &model->group->channels[from][to];
    assert(channel->count < CHANNEL_MAX);
    channel->frames[channel->count++] = (struct small_frame){
        .notice = number_of(model, &effect->frame.notice.id),
        .root = (uint8_t)effect->frame.notice.root,
        .incarnation = model->group->incarnation[from],
        .sequence = (uint16_t)effect->frame.sequence,
        .ack = (uint16_t)effect->frame.ack,
    };
}

static const struct mu_roster *roster_of(const struct model *model, uint32_t slot)
{
    return &node_at(model, slot)->roster;
}

/* Does 'at' know that the last incarnation of 'dead' is dead? */
static bool knows_dead(const struct model *model, uint32_t at, uint32_t dead)
{
    return mu_roster_is_out(roster_of(model, at), dead, model->group->incarnation[dead]);
}

/* Does 'at' hold the last incarnation of 'peer' for a member? */
static bool knows_in(const struct model *model, uint32_t at, uint32_t peer)
{
    return mu_roster_is_in(roster_of(model, at), peer, model->group->incarnation[peer]);
}

static void carry_out(struct model *model, uint32_t slot, uint32_t happen)
{
    struct group *group = model->group;
    for (uint32_t i = 0; i < happen; i++) {
        const struct mu_effect *effect = &model->update.effects[i];
        switch (effect->type) {
        case MU_DO_SEND:
            put(model, slot, effect);
            break;
        case MU_DO_DELIVER:
            group->delivered[slot][number_of(model, &effect->notice.id)]++;
            break;
        case MU_DO_OPEN:
            group->opening[slot][effect->peer] = true;
            break;
        case MU_DO_CLOSE:
            memset(&group->channels[effect->peer][slot], 0, sizeof(struct channel));
            group->opening[slot][effect->peer] = false;
            break;
        case MU_DO_FENCED:
            model->fault = "a living node was declared dead";
            break;
        case MU_DO_FAULT:
            model->fault = mu_fault_text(effect->fault);
            break;
        }
    }
}

/* Places where a crash inside the update makes a difference: after a send, before another one. */
static uint64_t cuts_of(const struct mu_update *update)
{
    uint64_t sends = 0;
    for (uint32_t i = 0; i < update->count; i++)
        if (update->effects[i].type == MU_DO_SEND)
            sends |= 2ull << i; /* after effect i, i + 1 have happened */
    if (sends == 0)
        return 0;
    return sends & ~(1ull << (63 - __builtin_clzll(sends)));
}

static void crash(struct model *model, uint32_t slot)
{
    struct group *group = model->group;
    group->alive[slot] = false;
    group->onward[slot] = group->back[slot] = false;
    group->crashes_left--;
    for (uint32_t peer = 0; peer < model->size; peer++) {
        memset(&group->channels[peer][slot], 0, sizeof(struct channel));
        group->opening[slot][peer] = group->opening[peer][slot] = false;
    }
    /* Nothing looks at it any more: let all its last moments be one. */
    memset(node_at(model, slot), 0, model->node_bytes);
    memset(group->delivered[slot], 0, sizeof group->delivered[slot]);
}

static void act(struct model *model, uint32_t slot, const struct mu_event *event, uint8_t cut)
{
    step(model, slot, event);
    model->cuts = model->group->crashes_left > 0 ? cuts_of(&model->update) : 0;
    carry_out(model, slot, cut == EXPLORE_WHOLE ? model->update.count : cut);
    if (cut != EXPLORE_WHOLE)
        crash(model, slot);
}

static void deliver(struct model *model, uint32_t from, uint32_t to, uint8_t cut)
{
    struct channel *channel = &model->group->channels[from][to];
    struct small_frame small = channel->frames[0];
    channel->count--;
    memmove(&channel->frames[0], &channel->frames[1], channel->count * sizeof small);
    memset(&channel->frames[channel->count], 0, sizeof small);
    struct mu_frame frame = {.type = MU_FRAME_NOTICE,
                             .sequence = small.sequence,
                             .ack = small.ack,
                             .notice = {.id = id_of(model, small.notice), .root = small.root}};
    struct mu_event event = {
        .type = MU_EVENT_RECV,
        .recv = {.from = from, .incarnation = small.incarnation, .frame = &frame}};
    bool is_old = mu_roster_is_out(roster_of(model, to), from, small.incarnation);
    uint64_t strays = node_at(model, to)->strays;
    act(model, to, &event, cut);
    if (is_old && model->group->alive[to] && node_at(model, to)->strays == strays)
        model->fault = "a frame of one who is known to be dead is taken";
}

static void link_up(struct model *model, uint32_t node, uint32_t peer, uint8_t cut)
{
    struct mu_event event = {.type = MU_EVENT_LINK_UP};
    event.link_up.peer = peer;
    event.link_up.incarnation = model->group->incarnation[peer];
    event.link_up.peer_has =
        mu_node_link_has(node_at(model, peer), node, model->group->incarnation[node]);
    act(model, node, &event, cut);
}

/* Only the first end can crash in the middle: the other order is another action. */
static void connect(struct model *model, uint32_t first, uint32_t second, uint8_t cut)
{
    model->group->opening[first][second] = model->group->opening[second][first] = false;
    link_up(model, first, second, cut);
    uint64_t cuts_of_first = model->cuts;
    if (model->group->alive[first])
        link_up(model, second, first, EXPLORE_WHOLE);
    model->cuts = cuts_of_first;
}

/* ---- the reduction ---- */

static bool changes_nothing(const struct model *model, uint32_t from, uint32_t to)
{
    const struct mu_spread *spread = &node_at(model, to)->spread;
    struct mu_notice_id id = id_of(model, model->group->channels[from][to].frames[0].notice);
    uint32_t edge = mu_spread_edge_of(spread, from);
    for (uint16_t i = 0; i < spread->count; i++) {
        const struct mu_held *held = &spread->held[spread->order[i]];
        if (mu_notice_compare(&held->id, &id) == 0)
            return edge < spread->edge_count && (held->done >> edge & 1) != 0;
    }
    return false;
}

static void drain(struct model *model)
{
    if (model->options->returns > 0)
        return;
    for (uint32_t from = 0; from < model->size; from++)
        for (uint32_t to = 0; to < model->size; to++)
            while (model->group->channels[from][to].count > 0 && changes_nothing(model, from, to) &&
                   model->fault == NULL)
                deliver(model, from, to, EXPLORE_WHOLE);
}

/* ---- the model ---- */

static bool can_connect(const struct model *model, uint32_t a, uint32_t b)
{
    const struct group *group = model->group;
    return group->alive[a] && group->alive[b] && (group->opening[a][b] || group->opening[b][a]) &&
           knows_in(model, a, b) && knows_in(model, b, a);
}

static bool can_return(const struct group *group, uint32_t sponsor, uint32_t slot)
{
    return group->returns_left > 0 && group->alive[sponsor] && !group->alive[slot] &&
           group->incarnation[slot] < INCARNATIONS;
}

static bool can_hear_of_member(const struct model *model, uint32_t a, uint32_t b)
{
    return model->group->alive[a] && a != b && model->group->incarnation[b] > 1 &&
           !knows_in(model, a, b) && !knows_dead(model, a, b);
}

static uint32_t actions(struct explore_model *base, struct explore_action *out)
{
    struct model *model = (struct model *)base;
    const struct group *group = model->group;
    uint32_t count = 0;
    for (uint8_t a = 0; a < model->size; a++) {
        bool lives = group->alive[a];
        if (lives && a < model->options->posts && !group->posted[a])
            out[count++] = (struct explore_action){ACT_POST, a, 0, EXPLORE_WHOLE};
        if (lives && group->onward[a])
            out[count++] = (struct explore_action){ACT_ONWARD, a, 0, EXPLORE_WHOLE};
        if (lives && group->back[a])
            out[count++] = (struct explore_action){ACT_BACK, a, 0, EXPLORE_WHOLE};
        if (lives && group->crashes_left > 0)
            out[count++] = (struct explore_action){ACT_CRASH, a, 0, EXPLORE_WHOLE};
        for (uint8_t b = 0; b < model->size; b++) {
            bool on_its_way = group->channels[a][b].count > 0;
            if (on_its_way)
                out[count++] = (struct explore_action){ACT_DELIVER, a, b, EXPLORE_WHOLE};
            if (on_its_way && !lives)
                out[count++] = (struct explore_action){ACT_LOSE, a, b, EXPLORE_WHOLE};
            if (can_connect(model, a, b))
                out[count++] = (struct explore_action){ACT_CONNECT, a, b, EXPLORE_WHOLE};
            if (lives && !group->alive[b] && !knows_dead(model, a, b))
                out[count++] = (struct explore_action){ACT_TELL, a, b, EXPLORE_WHOLE};
            if (can_return(group, a, b))
                out[count++] = (struct explore_action){ACT_RETURN, a, b, EXPLORE_WHOLE};
            if (can_hear_of_member(model, a, b))
                out[count++] = (struct explore_action){ACT_MEMBER, a, b, EXPLORE_WHOLE};
        }
    }
    return count;
}

static void timeout(struct model *model, uint32_t slot, enum mu_timer timer, uint8_t cut)
{
    struct mu_event event = {.type = MU_EVENT_TIMEOUT, .timeout = {.timer = timer}};
    act(model, slot, &event, cut);
}

static void tell(struct model *model, uint32_t slot, uint32_t dead, uint8_t cut)
{
    struct mu_notice notice = {.id = mu_notice_node(dead, model->group->incarnation[dead]),
                               .root = model->options->root_at_dead ? dead : slot};
    struct mu_event event = {.type = MU_EVENT_VERDICT, .verdict = {.notice = &notice}};
    act(model, slot, &event, cut);
}

static void hear_of_member(struct model *model, uint32_t slot, uint32_t peer, uint8_t cut)
{
    struct mu_event event = {.type = MU_EVENT_MEMBER};
    event.member.entry = (struct mu_roster_entry){
        .slot = peer, .incarnation = model->group->incarnation[peer], .in = true};
    act(model, slot, &event, cut);
}

/* A fresh core, which begins with what the roster of its sponsor says. */
static void begin_again(struct model *model, uint32_t sponsor, uint32_t slot)
{
    struct mu_config config = node_at(model, sponsor)->config;
    config.self = slot;
    config.incarnation = model->group->incarnation[slot];
    mu_node_init(node_at(model, slot), model->node_bytes, &config);
    const struct mu_roster *roster = roster_of(model, sponsor);
    for (uint32_t i = 0; i < roster->count; i++) {
        struct mu_event event = {.type = MU_EVENT_MEMBER, .member = {.entry = roster->entries[i]}};
        act(model, slot, &event, EXPLORE_WHOLE);
    }
    act(model, slot, &(struct mu_event){.type = MU_EVENT_START}, EXPLORE_WHOLE);
}

static void come_back(struct model *model, uint32_t sponsor, uint32_t slot)
{
    struct group *group = model->group;
    bool same = (model->options->broken_rules & MU_BROKEN_SAME_AGAIN) != 0;
    group->incarnation[slot] += same ? 0 : 1;
    group->returns_left--;
    hear_of_member(model, sponsor, slot, EXPLORE_WHOLE);
    group->alive[slot] = group->posted[slot] = true;
    begin_again(model, sponsor, slot);
    model->cuts = 0; /* the sponsor lives until it has answered */
}

static void take_one(struct model *model, const struct explore_action *action)
{
    uint8_t a = action->a, b = action->b, cut = action->cut;
    struct mu_event post = {.type = MU_EVENT_POST};
    switch ((enum action_type)action->type) {
    case ACT_POST:
        model->group->posted[a] = true;
        act(model, a, &post, cut);
        return;
    case ACT_DELIVER:
        deliver(model, a, b, cut);
        return;
    case ACT_LOSE:
        memset(&model->group->channels[a][b], 0, sizeof(struct channel));
        return;
    case ACT_CONNECT:
        connect(model, a, b, cut);
        return;
    case ACT_ONWARD:
        timeout(model, a, MU_TIMER_ONWARD, cut);
        return;
    case ACT_BACK:
        timeout(model, a, MU_TIMER_BACK, cut);
        return;
    case ACT_CRASH:
        crash(model, a);
        return;
    case ACT_TELL:
        tell(model, a, b, cut);
        return;
    case ACT_RETURN:
        come_back(model, a, b);
        return;
    case ACT_MEMBER:
        hear_of_member(model, a, b, cut);
        return;
    }
    abort();
}

static void take(struct explore_model *base, const struct explore_action *action)
{
    struct model *model = (struct model *)base;
    model->cuts = 0;
    take_one(model, action);
    uint64_t cuts_of_action = model->cuts;
    drain(model);
    model->cuts = cuts_of_action;
}

static uint64_t cuts(struct explore_model *base)
{
    return ((struct model *)base)->cuts;
}

/* Of links only those that are not up yet: what waits there is sent when they come up. */
static void print_links(const struct mu_node *node, struct mu_fingerprint *print)
{
    for (uint32_t i = 0; i < node->links.count; i++) {
        const struct mu_link *link = &node->links.at[i];
        if (link->peer == MU_SLOT_NONE || link->up)
            continue;
        mu_fingerprint_add(print, link->peer);
        for (uint16_t k = 0; k < link->pending; k++) {
            const struct mu_held *held =
                &node->spread.held[mu_link_pending_at(&node->links, link, k)];
            mu_fingerprint_add(print, (uint64_t)held->id.kind << 32 | held->id.index);
        }
        mu_fingerprint_add(print, link->pending);
    }
}

static void fingerprint(const struct explore_model *base, struct mu_fingerprint *print)
{
    const struct model *model = (const struct model *)base;
    const struct group *group = model->group;
    mu_fingerprint_add(print, (uint64_t)group->returns_left << 8 | group->crashes_left);
    for (uint32_t a = 0; a < model->size; a++) {
        mu_fingerprint_add(print, (uint64_t)group->incarnation[a] << 2 |
                                      (uint64_t)group->alive[a] << 1 | (uint64_t)group->posted[a]);
        if (group->alive[a]) {
            mu_node_fingerprint_linkless(node_at(model, a), print);
            print_links(node_at(model, a), print);
        }
        for (uint32_t b = 0; b < model->size; b++) {
            const struct channel *channel = &group->channels[a][b];
            mu_fingerprint_add(print, group->opening[a][b]);
            for (uint32_t i = 0; i < channel->count; i++)
                mu_fingerprint_add(print, (uint64_t)channel->frames[i].incarnation << 16 |
                                              (uint64_t)channel->frames[i].notice << 8 |
                                              (uint64_t)channel->frames[i].root);
            mu_fingerprint_add(print, channel->count);
        }
        for (uint32_t n = 0; n < notice_count(model); n++)
            mu_fingerprint_add(print, group->delivered[a][n]);
    }
}

/* ---- laws ---- */

static bool is_still(const struct model *model)
{
    const struct group *group = model->group;
    for (uint32_t a = 0; a < model->size; a++) {
        if (group->onward[a] || group->back[a])
            return false;
        for (uint32_t b = 0; b < model->size; b++)
            if (group->channels[a][b].count > 0 || can_connect(model, a, b))
                return false;
    }
    return true;
}

/* What views owe: everybody knows who is in. */
static bool members_know(const struct model *model)
{
    for (uint32_t a = 0; a < model->size; a++)
        for (uint32_t b = 0; b < model->size; b++)
            if (model->group->alive[a] && model->group->alive[b] && a != b &&
                !knows_in(model, a, b) && !knows_dead(model, a, b))
                return false;
    return true;
}

/* What a detector owes, as in world.c: the next live node onward knows each death. */
static bool observers_know(const struct model *model)
{
    for (uint32_t dead = 0; dead < model->size; dead++) {
        uint32_t observer = dead;
        while (!model->group->alive[observer])
            observer = (observer + 1) % model->size;
        if (observer != dead && !knows_dead(model, observer, dead))
            return false;
    }
    return true;
}

static void name_notice(const struct model *model, uint32_t n, char text[32])
{
    if (!is_death(model, n))
        snprintf(text, 32, "payload of node %u", n - INCARNATIONS * model->size);
    else if (n < model->size)
        snprintf(text, 32, "node %u is dead", n);
    else
        snprintf(text, 32, "node %u is dead again", n % model->size);
}

/* The death of a later incarnation stands for that of an earlier one, and a first view for both. */
static bool has_heard(const struct model *model, uint32_t slot, uint32_t n)
{
    const uint8_t *delivered = model->group->delivered[slot];
    if (delivered[n] > 0 || !is_death(model, n))
        return delivered[n] > 0;
    bool later = n < model->size && delivered[n + model->size] > 0;
    bool in_view = model->group->incarnation[slot] > 1 &&
                   mu_roster_is_out(roster_of(model, slot), n % model->size, 1 + n / model->size);
    return later || in_view;
}

/* A link between them can be up. */
static bool can_talk(const struct model *model, uint32_t a, uint32_t b)
{
    return model->group->alive[b] && knows_in(model, a, b) && knows_in(model, b, a);
}

static const char *check_neighbours(const struct model *model, uint32_t a, uint32_t n,
                                    char message[256])
{
    const struct mu_spread *spread = &node_at(model, a)->spread;
    for (uint32_t e = 0; e < spread->edge_count; e++) {
        mu_slot b = spread->edges[e].slot;
        if (b == MU_SLOT_NONE || !can_talk(model, a, b) || has_heard(model, b, n))
            continue;
        char what[32];
        name_notice(model, n, what);
        snprintf(message, 256, "node %u knows '%s', its live neighbour %u does not", a, what, b);
        return "S6";
    }
    return NULL;
}

static const char *check_all(const struct model *model, uint32_t a, uint32_t n, char message[256])
{
    for (uint32_t b = 0; b < model->size; b++) {
        if (!model->group->alive[b] || has_heard(model, b, n))
            continue;
        char what[32];
        name_notice(model, n, what);
        snprintf(message, 256, "node %u knows '%s', node %u never hears it", a, what, b);
        return "S1";
    }
    return NULL;
}

static const char *check(struct explore_model *base, char message[256])
{
    struct model *model = (struct model *)base;
    const struct group *group = model->group;
    if (model->fault != NULL) {
        snprintf(message, 256, "%s", model->fault);
        model->fault = NULL;
        return "no-fault";
    }
    bool still = is_still(model);
    bool told = still && observers_know(model) && members_know(model);
    for (uint32_t a = 0; a < model->size; a++) {
        for (uint32_t n = 0; group->alive[a] && n < notice_count(model); n++) {
            const char *law = NULL;
            if (group->delivered[a][n] > 1) {
                char what[32];
                name_notice(model, n, what);
                snprintf(message, 256, "node %u delivers '%s' twice", a, what);
                law = "S2";
            } else if (still && group->delivered[a][n] > 0) {
                law = check_neighbours(model, a, n, message);
                if (law == NULL && told)
                    law = check_all(model, a, n, message);
            }
            if (law != NULL)
                return law;
        }
    }
    return NULL;
}

static void describe(const struct explore_model *base, const struct explore_action *action,
                     char text[128])
{
    const struct model *model = (const struct model *)base;
    char what[32], cut[64] = "";
    if (action->cut != EXPLORE_WHOLE)
        snprintf(cut, sizeof cut, ", and crashes after effect %u", action->cut);
    switch ((enum action_type)action->type) {
    case ACT_POST:
        snprintf(text, 128, "node %u posts its payload%s", action->a, cut);
        return;
    case ACT_DELIVER:
        name_notice(model, model->group->channels[action->a][action->b].frames[0].notice, what);
        snprintf(text, 128, "node %u hears '%s' from node %u%s", action->b, what, action->a, cut);
        return;
    case ACT_LOSE:
        snprintf(text, 128, "what node %u sent to node %u is lost with its host", action->a,
                 action->b);
        return;
    case ACT_CONNECT:
        snprintf(text, 128, "nodes %u and %u connect%s", action->a, action->b,
                 action->cut == EXPLORE_WHOLE ? "" : ", and the first one crashes sending");
        return;
    case ACT_ONWARD:
        snprintf(text, 128, "node %u serves its edges onward%s", action->a, cut);
        return;
    case ACT_BACK:
        snprintf(text, 128, "node %u serves its edges back%s", action->a, cut);
        return;
    case ACT_CRASH:
        snprintf(text, 128, "node %u crashes", action->a);
        return;
    case ACT_TELL:
        snprintf(text, 128, "node %u sees that node %u is dead%s", action->a, action->b, cut);
        return;
    case ACT_RETURN:
        snprintf(text, 128, "node %u comes back, admitted by node %u", action->b, action->a);
        return;
    case ACT_MEMBER:
        snprintf(text, 128, "node %u hears that node %u has come back%s", action->a, action->b,
                 cut);
        return;
    }
    abort();
}

static void start(struct model *model, struct mu_config *config)
{
    for (uint32_t slot = 0; slot < model->size; slot++) {
        config->self = slot;
        mu_node_init(node_at(model, slot), model->node_bytes, config);
        struct mu_event event = {.type = MU_EVENT_START, .start = {.links_up = true}};
        step(model, slot, &event);
        model->group->alive[slot] = true;
        model->group->incarnation[slot] = 1;
    }
    model->group->returns_left = (uint8_t)model->options->returns;
    model->group->crashes_left = (uint8_t)model->options->crashes;
}

void explore_spread(const struct explore_spread *spread, const struct explore_options *options,
                    struct explore_result *result)
{
    assert(spread->nodes >= 2 && spread->nodes <= N_MAX);
    struct model model = {.base = {.actions = actions,
                                   .take = take,
                                   .cuts = cuts,
                                   .fingerprint = fingerprint,
                                   .check = check,
                                   .describe = describe},
                          .options = spread,
                          .size = spread->nodes};
    struct mu_config config;
    mu_config_default(&config, spread->nodes, 0);
    config.redundant_wait_ns = 0; /* an armed deadline may pass at any moment */
    config.ack_delay_ns = MU_NEVER / 2;
    config.retain_ns = MU_NEVER;
    config.broken_rules = spread->broken_rules;
    config.limits = (struct mu_limits){.links = 2 * spread->nodes + 2,
                                       .dead = (spread->returns > 0 ? 2 : 1) * spread->nodes,
                                       .seen = spread->posts + 1,
                                       .notices = (uint16_t)(spread->nodes + spread->posts),
                                       .payload_bytes = 0,
                                       .window = 2 * CHANNEL_MAX};
    model.node_bytes = mu_node_bytes(&config);
    size_t group_bytes = (sizeof *model.group + 63) / 64 * 64;
    model.base.state_bytes = group_bytes + spread->nodes * model.node_bytes;
    model.base.state = sim_map(model.base.state_bytes);
    model.group = model.base.state;
    model.nodes = (uint8_t *)model.base.state + group_bytes;
    model.update.capacity = mu_node_effects_max(&config);
    model.update.effects = sim_calloc(model.update.capacity, sizeof *model.update.effects);
    start(&model, &config);
    explore(&model.base, options, result);
    free(model.update.effects);
    sim_unmap(model.base.state, model.base.state_bytes);
}
