#include "sim/node/explore_link.h"

#include "core/node.h"
#include "sim/base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Law K1: what one node posts arrives at the other in order, nothing lost, nothing repeated,
 * however often and whenever the connection breaks.  A break is noticed by each end in its own
 * time: until then it hears what is still on its way, and sends into nothing once the other end has
 * gone.
 *
 * Law K2, where room is short: the death of a node does not wait for it. */

enum { CHANNEL_MAX = 8 * EXPLORE_LINK_POSTS_MAX, THIRD = 2 /* the slot of the one that dies */ };

enum action_type {
    ACT_POST = 1,
    ACT_DELIVER,
    ACT_ACK,
    ACT_DOWN,
    ACT_SHAKE, /* both tell each other what they have */
    ACT_UP,    /* one end takes the new connection into use */
    ACT_TIMER, /* b: one of the timers of waves and of forgetting */
    ACT_SEE,   /* node 0 sees that the third node is dead */
};

struct small_frame {
    uint8_t type; /* enum mu_frame_type */
    uint8_t post; /* of a NOTICE: which payload, from 1; 0: the death of the third node */
    uint8_t sequence, ack;
};

struct end {
    struct small_frame inbox[CHANNEL_MAX]; /* on its way to this end */
    uint8_t inbox_count;
    uint8_t posted;   /* payloads of this node */
    uint8_t accepted; /* of the other one's */
    uint8_t peer_has; /* what the other end said in the handshake */
    bool up;
    bool shaken; /* the handshake is done, LINK_UP is to come */
    bool wanted; /* the core has asked for a connection */
    bool armed[MU_TIMERS];
};

struct pair {
    struct end ends[2];
    uint8_t resets_left;
    bool seen; /* the third node's death */
};

struct model {
    struct explore_model base; /* first, so that one leads to the other */
    const struct explore_link *options;
    struct pair *pair;
    uint8_t *nodes;
    size_t node_bytes;
    struct mu_update update;
    char broken[256]; /* how K1 broke in the action taken last; empty: it did not */
};

static struct mu_node *node_at(const struct model *model, uint32_t slot)
{
    return (struct mu_node *)(void *)(model->nodes + slot * model->node_bytes);
}

/* Has this end left its last connection, and no new one in sight? */
static bool is_gone(const struct end *end)
{
    return !end->up && !end->shaken;
}

/* ---- steps ---- */

static uint8_t post_of(const struct mu_frame *frame)
{
    bool is_payload = frame->type == MU_FRAME_NOTICE && frame->notice.id.kind == MU_NOTICE_PAYLOAD;
    return is_payload ? (uint8_t)frame->notice.id.index : 0;
}

static void put(struct model *model, uint32_t from, const struct mu_frame *frame)
{
    struct end *to = &model->pair->ends[1 - from];
    if (is_gone(to))
        return;
    assert(to->inbox_count < CHANNEL_MAX);
    to->inbox[to->inbox_count++] = (struct small_frame){
        .type = frame->type,
        .post = post_of(frame),
        .sequence = (uint8_t)frame->sequence,
        .ack = (uint8_t)frame->ack,
    };
}

static void carry_out(struct model *model, uint32_t slot, const struct mu_effect *effect)
{
    bool to_third = effect->peer == THIRD;
    if (effect->type == MU_DO_SEND && !to_third)
        put(model, slot, &effect->frame);
    else if (effect->type == MU_DO_OPEN && !to_third)
        model->pair->ends[slot].wanted = true;
    else if (effect->type == MU_DO_FAULT &&
             (model->options->room == 0 || effect->fault != MU_FAULT_NOTICES_FULL))
        snprintf(model->broken, sizeof model->broken, "node %u: %s", slot,
                 mu_fault_text(effect->fault));
}

/* Time goes on only where a notice is to be forgotten; nothing that is compared depends on it. */
static void step(struct model *model, uint32_t slot, struct mu_event *event)
{
    struct mu_node *node = node_at(model, slot);
    bool forgets = event->type == MU_EVENT_TIMEOUT && event->timeout.timer == MU_TIMER_RETAIN;
    event->now_ns = node->now_ns + (forgets ? 1 : 0);
    mu_node_step(node, event, &model->update);
    for (uint32_t i = 0; i < model->update.count; i++)
        carry_out(model, slot, &model->update.effects[i]);
    for (int timer = 0; timer < MU_TIMERS; timer++)
        model->pair->ends[slot].armed[timer] = model->update.deadline_ns[timer] != MU_NEVER;
}

/* Was this frame taken, and should it have been? */
static void judge(struct model *model, uint32_t slot, uint8_t post, bool taken)
{
    struct end *end = &model->pair->ends[slot];
    if (taken && post == end->accepted + 1)
        end->accepted++;
    else if (taken)
        snprintf(model->broken, sizeof model->broken,
                 "node %u takes payload %u after payload %u of the other node", slot, post,
                 end->accepted);
    else if (post > end->accepted && model->options->room == 0)
        snprintf(model->broken, sizeof model->broken,
                 "node %u drops payload %u, though it has only %u", slot, post, end->accepted);
}

static void deliver(struct model *model, uint32_t slot)
{
    struct end *end = &model->pair->ends[slot];
    struct small_frame small = end->inbox[0];
    end->inbox_count--;
    memmove(&end->inbox[0], &end->inbox[1], end->inbox_count * sizeof small);
    memset(&end->inbox[end->inbox_count], 0, sizeof small);
    struct mu_frame frame = {
        .type = small.type,
        .sequence = small.sequence,
        .ack = small.ack,
        .notice = {.id = mu_notice_payload(1 - slot, 1, small.post), .root = 1 - slot, .hops = 1}};
    if (small.post == 0)
        frame.notice.id = mu_notice_node(THIRD, 1);
    struct mu_event event = {.type = MU_EVENT_RECV,
                             .recv = {.from = 1 - slot, .incarnation = 1, .frame = &frame}};
    const struct mu_link *link = mu_links_find(&node_at(model, slot)->links, 1 - slot);
    uint64_t before = link->received;
    step(model, slot, &event);
    if (small.post != 0 && model->broken[0] == '\0')
        judge(model, slot, small.post, link->received != before);
}

/* An end that has not taken the connection into use yet gives it up without a word. */
static void go_down(struct model *model, uint32_t slot)
{
    struct end *end = &model->pair->ends[slot];
    bool was_up = end->up;
    end->up = end->shaken = false;
    memset(end->inbox, 0, sizeof end->inbox);
    end->inbox_count = 0;
    if (!was_up) {
        end->wanted = true; /* it goes on trying */
        return;
    }
    struct mu_event event = {.type = MU_EVENT_LINK_DOWN, .link_down = {.peer = 1 - slot}};
    step(model, slot, &event);
}

static void shake(struct model *model)
{
    for (uint32_t slot = 0; slot < 2; slot++) {
        struct end *end = &model->pair->ends[slot];
        end->peer_has = (uint8_t)mu_node_link_has(node_at(model, 1 - slot), slot, 1);
        end->shaken = true;
        end->wanted = false;
    }
}

static void come_up(struct model *model, uint32_t slot)
{
    struct end *end = &model->pair->ends[slot];
    end->up = true;
    end->shaken = false;
    struct mu_event event = {.type = MU_EVENT_LINK_UP};
    event.link_up.peer = 1 - slot;
    event.link_up.incarnation = 1;
    event.link_up.peer_has = end->peer_has;
    step(model, slot, &event);
}

/* ---- the model ---- */

static uint32_t actions(struct explore_model *base, struct explore_action *out)
{
    struct model *model = (struct model *)base;
    const struct pair *pair = model->pair;
    uint32_t count = 0;
    for (uint8_t slot = 0; slot < 2; slot++) {
        const struct end *end = &pair->ends[slot];
        if (end->posted < model->options->posts)
            out[count++] = (struct explore_action){ACT_POST, slot, 0, EXPLORE_WHOLE};
        if (end->inbox_count > 0 && end->up)
            out[count++] = (struct explore_action){ACT_DELIVER, slot, 0, EXPLORE_WHOLE};
        if (end->armed[MU_TIMER_ACK])
            out[count++] = (struct explore_action){ACT_ACK, slot, 0, EXPLORE_WHOLE};
        for (uint8_t timer = MU_TIMER_ONWARD; timer < MU_TIMERS; timer++)
            if (end->armed[timer] && model->options->room > 0)
                out[count++] = (struct explore_action){ACT_TIMER, slot, timer, EXPLORE_WHOLE};
        if (end->shaken)
            out[count++] = (struct explore_action){ACT_UP, slot, 0, EXPLORE_WHOLE};
        /* The first end to notice spends a reset, the other one only follows. */
        if (!is_gone(end) && (pair->resets_left > 0 || is_gone(&pair->ends[1 - slot])))
            out[count++] = (struct explore_action){ACT_DOWN, slot, 0, EXPLORE_WHOLE};
    }
    const struct end *ends = pair->ends;
    if (is_gone(&ends[0]) && is_gone(&ends[1]) && (ends[0].wanted || ends[1].wanted))
        out[count++] = (struct explore_action){ACT_SHAKE, 0, 0, EXPLORE_WHOLE};
    if (model->options->room > 0 && !pair->seen)
        out[count++] = (struct explore_action){ACT_SEE, 0, 0, EXPLORE_WHOLE};
    return count;
}

static void see_death(struct model *model)
{
    struct mu_notice notice = {.id = mu_notice_node(THIRD, 1)};
    struct mu_event event = {.type = MU_EVENT_VERDICT, .verdict = {.notice = &notice}};
    model->pair->seen = true;
    step(model, 0, &event);
}

/* A payload that finds no room is posted again later. */
static void post(struct model *model, uint32_t slot)
{
    struct mu_event event = {.type = MU_EVENT_POST};
    step(model, slot, &event);
    model->pair->ends[slot].posted = (uint8_t)node_at(model, slot)->posted;
}

static void take(struct explore_model *base, const struct explore_action *action)
{
    struct model *model = (struct model *)base;
    struct mu_event event = {.type = MU_EVENT_TIMEOUT, .timeout = {.timer = MU_TIMER_ACK}};
    switch ((enum action_type)action->type) {
    case ACT_POST:
        post(model, action->a);
        return;
    case ACT_DELIVER:
        deliver(model, action->a);
        return;
    case ACT_ACK:
        step(model, action->a, &event);
        return;
    case ACT_DOWN:
        if (!is_gone(&model->pair->ends[1 - action->a]))
            model->pair->resets_left--;
        go_down(model, action->a);
        return;
    case ACT_SHAKE:
        shake(model);
        return;
    case ACT_UP:
        come_up(model, action->a);
        return;
    case ACT_TIMER:
        event.timeout.timer = (enum mu_timer)action->b;
        step(model, action->a, &event);
        return;
    case ACT_SEE:
        see_death(model);
        return;
    }
    abort();
}

static uint64_t cuts(struct explore_model *base)
{
    (void)base;
    return 0; /* nobody crashes here */
}

static void fingerprint(const struct explore_model *base, struct mu_fingerprint *print)
{
    const struct model *model = (const struct model *)base;
    mu_fingerprint_add(print, model->pair->resets_left | (uint64_t)model->pair->seen << 8);
    for (uint32_t slot = 0; slot < 2; slot++) {
        const struct end *end = &model->pair->ends[slot];
        mu_node_fingerprint(node_at(model, slot), print);
        mu_fingerprint_add(print, (uint64_t)end->up << 34 | (uint64_t)end->shaken << 33 |
                                      (uint64_t)end->wanted << 32 | (uint64_t)end->peer_has << 16 |
                                      (uint64_t)end->posted << 8 | (uint64_t)end->accepted);
        for (uint32_t i = 0; i < end->inbox_count; i++)
            mu_fingerprint_add(
                print, (uint64_t)end->inbox[i].type << 24 | (uint64_t)end->inbox[i].post << 16 |
                           (uint64_t)end->inbox[i].sequence << 8 | (uint64_t)end->inbox[i].ack);
        mu_fingerprint_add(print, end->inbox_count);
    }
}

/* Does nothing move but what comes from outside (a post, a death, a reset of a sound connection),
 * or after a wait? */
static bool is_still(struct model *model)
{
    const struct end *ends = model->pair->ends;
    struct explore_action any[EXPLORE_ACTIONS_MAX];
    bool sound = !is_gone(&ends[0]) && !is_gone(&ends[1]), still = true;
    for (uint32_t i = 0, count = actions(&model->base, any); i < count; i++)
        still = still && (any[i].type == ACT_POST || any[i].type == ACT_SEE ||
                          any[i].type == ACT_TIMER || (any[i].type == ACT_DOWN && sound));
    return still;
}

static bool may_forget(const struct mu_node *node, const struct mu_held *held)
{
    bool done = true;
    for (uint32_t e = 0; e < node->spread.edge_count; e++)
        done = done && (node->spread.edges[e].slot == MU_SLOT_NONE || (held->done >> e & 1) != 0);
    return done && held->id.kind != MU_NOTICE_NODE_DEAD &&
           !mu_links_carry(&node->links, (mu_body)(held - node->spread.held));
}

/* With short room: is there a wave to come, or a notice to be forgotten, or the third node in the
 * way, of whom nothing is acknowledged?  With one place only, payloads of both may wait for each
 * other for ever: that is less than a node's share, and K2 holds all the same. */
static bool may_move_yet(const struct model *model)
{
    if (model->options->room == 0)
        return false;
    bool may = !model->pair->seen || model->options->room == 1;
    for (uint32_t slot = 0; slot < 2; slot++) {
        const struct mu_node *node = node_at(model, slot);
        const struct end *end = &model->pair->ends[slot];
        may = may || end->armed[MU_TIMER_ONWARD] || end->armed[MU_TIMER_BACK];
        for (uint16_t i = 0; i < node->spread.count; i++)
            may = may || may_forget(node, &node->spread.held[node->spread.order[i]]);
    }
    return may;
}

static const char *check(struct explore_model *base, char message[256])
{
    struct model *model = (struct model *)base;
    const struct end *ends = model->pair->ends;
    if (model->broken[0] != '\0') {
        snprintf(message, 256, "%s", model->broken);
        model->broken[0] = '\0';
        return "K1";
    }
    for (uint32_t slot = 0; slot < 2; slot++) {
        uint64_t repeats = node_at(model, slot)->links.repeats;
        if (repeats == 0)
            continue;
        snprintf(message, 256, "node %u was sent a frame again that it had", slot);
        return "K1";
    }
    bool still = is_still(model);
    for (uint32_t slot = 0; still && slot < 2; slot++) {
        if (!model->pair->seen || mu_roster_is_vacant(&node_at(model, slot)->roster, THIRD))
            continue;
        snprintf(message, 256, "node %u has not heard that node 2 is dead, and nothing moves",
                 slot);
        return "K2";
    }
    for (uint32_t slot = 0; still && !may_move_yet(model) && slot < 2; slot++) {
        if (ends[slot].posted == ends[1 - slot].accepted)
            continue;
        snprintf(message, 256, "node %u posted %u payloads, node %u has %u, and nothing moves",
                 slot, ends[slot].posted, 1 - slot, ends[1 - slot].accepted);
        return "K1";
    }
    return NULL;
}

static void describe(const struct explore_model *base, const struct explore_action *action,
                     char text[128])
{
    const struct model *model = (const struct model *)base;
    const struct small_frame *head = &model->pair->ends[action->a].inbox[0];
    switch ((enum action_type)action->type) {
    case ACT_POST:
        snprintf(text, 128, "node %u posts payload %u", action->a,
                 model->pair->ends[action->a].posted + 1u);
        return;
    case ACT_DELIVER:
        if (head->type != MU_FRAME_NOTICE)
            snprintf(text, 128, "node %u receives %s of %u", action->a,
                     head->type == MU_FRAME_FULL    ? "'no room' and an ack"
                     : head->type == MU_FRAME_ROOM  ? "'room again' and an ack"
                     : head->type == MU_FRAME_AGAIN ? "'from here on' and an ack"
                                                    : "an ack",
                     head->ack);
        else if (head->post == 0)
            snprintf(text, 128, "node %u hears that node 2 is dead, as frame %u, with an ack of %u",
                     action->a, head->sequence, head->ack);
        else
            snprintf(text, 128, "node %u receives payload %u as frame %u, with an ack of %u",
                     action->a, head->post, head->sequence, head->ack);
        return;
    case ACT_ACK:
        snprintf(text, 128, "node %u sends what it owes in acknowledgements", action->a);
        return;
    case ACT_DOWN:
        snprintf(text, 128, "node %u notices that the connection is gone", action->a);
        return;
    case ACT_SHAKE:
        snprintf(text, 128, "they shake hands, and say what they have");
        return;
    case ACT_UP:
        snprintf(text, 128, "node %u takes the new connection into use", action->a);
        return;
    case ACT_TIMER:
        snprintf(text, 128, "node %u %s", action->a,
                 action->b == MU_TIMER_RETAIN ? "may forget a notice" : "serves redundant edges");
        return;
    case ACT_SEE:
        snprintf(text, 128, "node 0 sees that node 2 is dead");
        return;
    }
    abort();
}

void explore_link(const struct explore_link *link, const struct explore_options *options,
                  struct explore_result *result)
{
    assert(link->posts <= EXPLORE_LINK_POSTS_MAX && link->resets <= EXPLORE_LINK_RESETS_MAX);
    struct model model = {.base = {.actions = actions,
                                   .take = take,
                                   .cuts = cuts,
                                   .fingerprint = fingerprint,
                                   .check = check,
                                   .describe = describe},
                          .options = link};
    struct mu_config config;
    mu_config_default(&config, link->room == 0 ? 2 : 3, 0);
    config.redundant_wait_ns = 0;
    config.ack_delay_ns = 0; /* an armed deadline may pass at any moment */
    config.retain_ns = link->room == 0 ? MU_NEVER : 1;
    config.broken_rules = link->broken_rules;
    uint32_t enough = 8 * link->posts + 1; /* a node's own may take half, a share of it each */
    config.limits = (struct mu_limits){.links = 4,
                                       .dead = 1,
                                       .seen = 4,
                                       .notices = (uint16_t)(link->room == 0 ? enough : link->room),
                                       .payload_bytes = 0,
                                       .window = (uint16_t)link->window};
    model.node_bytes = mu_node_bytes(&config);
    size_t pair_bytes = (sizeof *model.pair + 63) / 64 * 64;
    model.base.state_bytes = pair_bytes + 2 * model.node_bytes;
    model.base.state = sim_map(model.base.state_bytes);
    model.pair = model.base.state;
    model.nodes = (uint8_t *)model.base.state + pair_bytes;
    model.update.capacity = mu_node_effects_max(&config);
    model.update.effects = sim_calloc(model.update.capacity, sizeof *model.update.effects);
    model.pair->resets_left = (uint8_t)link->resets;
    for (uint32_t slot = 0; slot < 2; slot++) {
        config.self = slot;
        mu_node_init(node_at(&model, slot), model.node_bytes, &config);
        struct mu_event event = {.type = MU_EVENT_START, .start = {.links_up = true}};
        model.pair->ends[slot].up = true;
        step(&model, slot, &event);
    }
    explore(&model.base, options, result);
    free(model.update.effects);
    sim_unmap(model.base.state, model.base.state_bytes);
}
