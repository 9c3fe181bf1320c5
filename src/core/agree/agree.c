#include "core/agree/inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- effects ---- */

struct mu_agree_effect *mu_agree_add(struct mu_agree_update *update, enum mu_agree_effect_type type)
{
    assert(update->count < update->capacity);
    struct mu_agree_effect *effect = &update->effects[update->count++];
    memset(effect, 0, sizeof *effect);
    effect->type = type;
    effect->peer = MU_SLOT_NONE;
    return effect;
}

static void add_fault(struct mu_agree_update *update, enum mu_fault fault, mu_slot peer)
{
    struct mu_agree_effect *effect = mu_agree_add(update, MU_AGREE_FAULT);
    effect->fault = fault;
    effect->peer = peer;
}

static bool is_sent_already(const struct mu_agree_update *update, uint64_t group, uint64_t number,
                            enum mu_agree_message_type type, mu_slot peer)
{
    for (uint32_t i = 0; i < update->count; i++) {
        const struct mu_agree_effect *effect = &update->effects[i];
        if (effect->type == MU_AGREE_SEND && effect->peer == peer && effect->message.type == type &&
            effect->message.group == group && effect->message.round == number)
            return true;
    }
    return false;
}

void mu_agree_send(struct mu_agree *agree, const struct mu_agree_group *group, uint64_t number,
                   enum mu_agree_message_type type, mu_slot peer, struct mu_agree_update *update)
{
    if (!agree->held || (agree->crowded && is_sent_already(update, group->id, number, type, peer)))
        return;
    struct mu_agree_effect *effect = mu_agree_add(update, MU_AGREE_SEND);
    effect->peer = peer;
    effect->message =
        (struct mu_agree_message){.type = (uint8_t)type, .group = group->id, .round = number};
    if (type == MU_AGREE_ASK) {
        effect->message.dead = agree->dead.entries;
        effect->message.dead_count = agree->dead.count;
    } else {
        effect->message.value = mu_gather_value(&group->rounds[number % MU_ROUNDS].value);
    }
}

/* Deaths learned late in a step: nothing is sent to the dead, and an ASK tells of all. */
static void finish(const struct mu_agree *agree, struct mu_agree_update *update)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < update->count; i++) {
        struct mu_agree_effect *effect = &update->effects[i];
        if (effect->type == MU_AGREE_SEND && mu_roster_is_vacant(&agree->dead, effect->peer))
            continue;
        if (effect->type == MU_AGREE_SEND && effect->message.type == MU_AGREE_ASK)
            effect->message.dead_count = agree->dead.count;
        update->effects[kept++] = *effect;
    }
    update->count = kept;
}

/* ---- deciding ---- */

static bool error_of(const struct mu_agree *agree, const struct mu_agree_value *value)
{
    if (mu_agree_is_broken(agree, MU_AGREE_BROKEN_ERROR))
        return agree->dead.count > 0;
    return mu_agree_value_error(value);
}

void mu_agree_tell(struct mu_agree *agree, struct mu_agree_group *group, uint64_t number,
                   struct mu_agree_update *update)
{
    struct mu_round *round = mu_agree_round(group, number);
    struct mu_tree tree = mu_agree_tree(agree, group);
    struct mu_tree_walk walk;
    mu_slot self = agree->config.self;
    if (!agree->held)
        return;
    for (mu_slot child = mu_tree_first_child(&tree, self, &walk); child != MU_SLOT_NONE;
         child = mu_tree_next_child(&tree, &walk))
        mu_agree_send(agree, group, number, MU_AGREE_DOWN, child, update);
    for (uint32_t i = 0; i < round->peer_count; i++) {
        mu_slot peer = round->peers[i].slot;
        if (round->peers[i].asks && mu_tree_parent(&tree, peer) != self)
            mu_agree_send(agree, group, number, MU_AGREE_DOWN, peer, update);
    }
    mu_agree_peers_clear(round); /* from here on everybody is answered at once */
    round->told = true;
    if (round->delivered)
        return;
    round->delivered = true;
    struct mu_agree_effect *effect = mu_agree_add(update, MU_AGREE_DELIVER);
    effect->decision.group = group->id;
    effect->decision.round = number;
    effect->decision.value = mu_gather_value(&round->value);
    effect->decision.error = error_of(agree, &effect->decision.value);
}

/* 'value': NULL when it is what was gathered here. */
static void decide(struct mu_agree *agree, struct mu_agree_group *group, uint64_t number,
                   const struct mu_agree_value *value, mu_slot from, struct mu_agree_update *update)
{
    struct mu_round *round = mu_agree_round(group, number);
    if (value != NULL)
        mu_gather_set(&round->value, value);
    round->status = MU_AGREE_WAITING;
    round->decided = true;
    round->delivered = false;
    group->learns = true;
    group->learns_from = from;
    /* Every living member has contributed to this one, so it had decided the one before: nobody
     * will ask for that any more.  Effects of this step may still point there. */
    group->stale = group->decided != number && group->decided > 0;
    group->decided = number;
    mu_agree_tell(agree, group, number, update);
}

static bool children_are_in(const struct mu_agree *agree, const struct mu_agree_group *group,
                            const struct mu_round *round)
{
    struct mu_tree tree = mu_agree_tree(agree, group);
    struct mu_tree_walk walk;
    if (mu_agree_is_broken(agree, MU_AGREE_BROKEN_CHILDREN))
        return true;
    for (mu_slot child = mu_tree_first_child(&tree, agree->config.self, &walk);
         child != MU_SLOT_NONE; child = mu_tree_next_child(&tree, &walk))
        if (!mu_agree_peer_got(round, child))
            return false;
    return true;
}

void mu_agree_complete(struct mu_agree *agree, struct mu_agree_group *group, uint64_t number,
                       struct mu_agree_update *update)
{
    struct mu_round *round = mu_agree_round(group, number);
    if (round->status != MU_AGREE_GATHERING || !mu_agree_is_undecided(agree, round) ||
        !children_are_in(agree, group, round))
        return;
    struct mu_tree tree = mu_agree_tree(agree, group);
    mu_slot parent = mu_tree_parent(&tree, agree->config.self);
    if (!mu_agree_is_broken(agree, MU_AGREE_BROKEN_FROZEN))
        mu_agree_add_dead(agree, group, round);
    struct mu_agree_value notes = mu_gather_value(&agree->notes);
    mu_gather_join(&round->value, &notes);
    round->status = MU_AGREE_WAITING;
    if (parent == MU_SLOT_NONE)
        decide(agree, group, number, NULL, agree->config.self, update);
    else
        mu_agree_send(agree, group, number, MU_AGREE_UP, parent, update);
}

/* ---- R1 ---- */

static enum mu_fault call(struct mu_agree *agree, const struct mu_agree_event *event,
                          struct mu_agree_update *update)
{
    struct mu_agree_group *group = mu_agree_find(agree, event->call.group);
    if (group == NULL || !group->open)
        return MU_FAULT_AGREE_CALL;
    uint64_t number = group->decided + 1;
    struct mu_round *round = mu_agree_round(group, number);
    struct mu_round *last = mu_agree_round(group, group->decided);
    if (round->status != MU_AGREE_IDLE || (group->decided > 0 && !last->delivered))
        return MU_FAULT_AGREE_CALL;
    struct mu_agree_value value = {.bits = event->call.bits,
                                   .failed = event->call.failed,
                                   .failed_count = event->call.failed_count,
                                   .entries = event->call.entries,
                                   .entry_count = event->call.entry_count,
                                   .silent = event->call.silent};
    if (mu_agree_value_check(&value, agree->config.size) != NULL)
        return MU_FAULT_AGREE_VALUE;
    enum mu_fault fault = mu_agree_settle(agree, group);
    if (fault != MU_FAULT_NONE)
        add_fault(update, fault, MU_SLOT_NONE); /* a slower tree, and no less right */
    if (mu_agree_is_broken(agree, MU_AGREE_BROKEN_COLLECT) && group->decided > 0)
        mu_agree_round_clear(last);
    mu_gather_join(&round->value, &value);
    mu_agree_add_dead(agree, group, round);
    round->status = MU_AGREE_GATHERING;
    mu_agree_complete(agree, group, number, update);
    return MU_FAULT_NONE;
}

static enum mu_fault note(struct mu_agree *agree, const struct mu_agree_entry *entry)
{
    struct mu_agree_value value = {
        .bits = UINT64_MAX, .entries = entry, .entry_count = 1, .silent = true};
    if (mu_agree_value_check(&value, agree->config.size) != NULL)
        return MU_FAULT_AGREE_VALUE;
    mu_gather_join(&agree->notes, &value);
    return MU_FAULT_NONE;
}

/* ---- messages ---- */

/* One that asks for a decision that is there. */
static void answer(struct mu_agree *agree, struct mu_agree_group *group, uint64_t number,
                   mu_slot peer, struct mu_agree_update *update)
{
    struct mu_round *round = mu_agree_round(group, number);
    struct mu_agree_peer *asker = agree->held ? NULL : mu_agree_peer_add(agree, round, peer);
    if (asker != NULL) {
        asker->asks = 1; /* with the lease */
        round->told = false;
    }
    mu_agree_send(agree, group, number, MU_AGREE_DOWN, peer, update);
}

/* R3 */
static enum mu_fault on_up(struct mu_agree *agree, struct mu_agree_group *group, mu_slot from,
                           const struct mu_agree_message *up, struct mu_agree_update *update)
{
    struct mu_round *round = mu_agree_round(group, up->round);
    if (!mu_agree_is_undecided(agree, round)) {
        if (round->decided)
            answer(agree, group, up->round, from, update);
        return MU_FAULT_NONE;
    }
    struct mu_agree_peer *peer = mu_agree_peer_add(agree, round, from);
    if (peer == NULL)
        return MU_FAULT_AGREE_PEERS;
    if (!mu_agree_is_broken(agree, MU_AGREE_BROKEN_ASKERS))
        peer->asks = 1;
    mu_gather_join(&round->value, &up->value);
    peer->got = 1;
    mu_agree_complete(agree, group, up->round, update);
    return MU_FAULT_NONE;
}

/* R4.  Whoever has decided and takes this node for its child, or was asked by it, has the decision
 * of all that live. */
static void on_down(struct mu_agree *agree, struct mu_agree_group *group, mu_slot from,
                    const struct mu_agree_message *down, struct mu_agree_update *update)
{
    struct mu_round *round = mu_agree_round(group, down->round);
    if (round->decided || round->status == MU_AGREE_IDLE)
        return;
    struct mu_tree tree = mu_agree_tree(agree, group);
    if (mu_agree_is_broken(agree, MU_AGREE_BROKEN_DEAF_ROOT) &&
        from != mu_tree_parent(&tree, agree->config.self))
        return;
    decide(agree, group, down->round, &down->value, from, update);
}

/* R5.  One that has not contributed yet, or waits for its own children, need not remember who asks:
 * that is its parent, which is sent the contribution anyway. */
static void on_ask(struct mu_agree *agree, struct mu_agree_group *group, mu_slot from,
                   const struct mu_agree_message *ask, struct mu_agree_update *update)
{
    if (!mu_agree_learn_asked(agree, group, from, ask, update))
        return;
    const struct mu_round *round = mu_agree_round(group, ask->round);
    if (round->decided)
        answer(agree, group, ask->round, from, update);
    else if (round->status == MU_AGREE_WAITING)
        mu_agree_send(agree, group, ask->round, MU_AGREE_UP, from, update);
}

static bool is_discarded(const struct mu_agree *agree, mu_slot from)
{
    if (!mu_roster_is_vacant(&agree->dead, from) ||
        mu_agree_is_broken(agree, MU_AGREE_BROKEN_DISCARD))
        return false;
    bool told = from < 64 && (agree->told_by_ask >> from & 1) != 0;
    return !told || !mu_agree_is_broken(agree, MU_AGREE_BROKEN_DISCARD_TOLD);
}

static bool is_in_order(const struct mu_agree *agree, const struct mu_agree_message *message)
{
    for (uint32_t i = 0; i < message->dead_count; i++)
        if (message->dead[i].slot >= agree->config.size ||
            (i > 0 && message->dead[i].slot <= message->dead[i - 1].slot))
            return false;
    return mu_agree_value_check(&message->value, agree->config.size) == NULL;
}

static enum mu_fault receive(struct mu_agree *agree, mu_slot from,
                             const struct mu_agree_message *message, struct mu_agree_update *update)
{
    if (from >= agree->config.size || from == agree->config.self)
        return MU_FAULT_SLOT_RANGE;
    if (is_discarded(agree, from))
        return MU_FAULT_NONE; /* R0 */
    if (!is_in_order(agree, message))
        return MU_FAULT_AGREE_VALUE;
    struct mu_agree_group *group = mu_agree_find(agree, message->group);
    if (group == NULL && message->type == MU_AGREE_DOWN)
        return MU_FAULT_NONE; /* nobody here waits for it */
    if (group == NULL && (group = mu_agree_find_or_add(agree, message->group)) == NULL)
        return MU_FAULT_AGREE_GROUPS;
    if (group->open && mu_members_position(&group->members, from) == UINT32_MAX)
        return MU_FAULT_AGREE_MEMBER;
    if (message->round < group->decided)
        return MU_FAULT_NONE; /* its sender has decided since */
    if (message->round == 0 || message->round > group->decided + 2)
        return MU_FAULT_AGREE_ROUND;
    switch ((enum mu_agree_message_type)message->type) {
    case MU_AGREE_UP:
        return on_up(agree, group, from, message, update);
    case MU_AGREE_DOWN:
        on_down(agree, group, from, message, update);
        return MU_FAULT_NONE;
    case MU_AGREE_ASK:
        on_ask(agree, group, from, message, update);
        return MU_FAULT_NONE;
    }
    return MU_FAULT_AGREE_VALUE; /* any byte may have come in */
}

/* ---- the door ---- */

static void dispatch(struct mu_agree *agree, const struct mu_agree_event *event,
                     struct mu_agree_update *update)
{
    enum mu_fault fault = MU_FAULT_NONE;
    switch (event->type) {
    case MU_AGREE_OPEN:
        fault = mu_agree_open(agree, event->open.group, event->open.spans, event->open.count);
        if (fault != MU_FAULT_NONE)
            add_fault(update, fault, MU_SLOT_NONE);
        return;
    case MU_AGREE_CLOSE:
        mu_agree_close(agree, event->close.group);
        return;
    case MU_AGREE_CALL:
        fault = call(agree, event, update);
        if (fault != MU_FAULT_NONE)
            add_fault(update, fault, MU_SLOT_NONE);
        return;
    case MU_AGREE_RECV:
        fault = receive(agree, event->recv.from, event->recv.message, update);
        if (fault != MU_FAULT_NONE)
            add_fault(update, fault, event->recv.from);
        return;
    case MU_AGREE_DEAD:
        if (event->dead.slot >= agree->config.size)
            add_fault(update, MU_FAULT_SLOT_RANGE, MU_SLOT_NONE);
        else
            mu_agree_learn(agree, event->dead, MU_SLOT_NONE, update);
        return;
    case MU_AGREE_RESUME:
        if (!mu_agree_is_broken(agree, MU_AGREE_BROKEN_RESUME) &&
            !mu_roster_is_vacant(&agree->dead, event->resume.peer))
            mu_agree_say_again(agree, event->resume.peer, update);
        return;
    case MU_AGREE_NOTE:
        fault = note(agree, &event->note);
        if (fault != MU_FAULT_NONE)
            add_fault(update, fault, MU_SLOT_NONE);
        return;
    case MU_AGREE_LEASE:
        return;
    }
    abort();
}

void mu_agree_step(struct mu_agree *agree, const struct mu_agree_event *event,
                   struct mu_agree_update *update)
{
    update->count = 0;
    if (agree->fenced)
        return;
    mu_agree_collect(agree);
    bool was_held = agree->held;
    agree->held = event->lease_held || mu_agree_is_broken(agree, MU_AGREE_BROKEN_LEASE);
    agree->crowded = false;
    dispatch(agree, event, update);
    mu_agree_learn_decided(agree, update);
    if (agree->held && !was_held && !agree->fenced) {
        agree->crowded = true; /* the event itself may have said some of it */
        mu_agree_say_again(agree, MU_SLOT_NONE, update);
    }
    finish(agree, update);
}
