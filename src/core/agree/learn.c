#include "core/agree/inside.h"

/* ---- what a death changes ---- */

/* How the dead node stands to this one, in each tree, before it is marked. */
static void look(struct mu_agree *agree, mu_slot slot)
{
    for (uint32_t i = 0; i < agree->config.limits.groups; i++) {
        struct mu_agree_group *group = &agree->groups[i];
        group->was_par = group->was_kid = false;
        if (!group->open || mu_members_position(&group->members, slot) == UINT32_MAX)
            continue;
        struct mu_tree tree = mu_agree_tree(agree, group);
        mu_slot self = agree->config.self;
        group->was_par = mu_tree_parent(&tree, self) == slot;
        group->was_kid = mu_tree_parent(&tree, slot) == self;
    }
}

/* Asks those of the children of 'of' whose contribution is missing: this node's own, or of one that
 * has just died, which are its own now. */
static void ask_missing(struct mu_agree *agree, struct mu_agree_group *group, uint64_t number,
                        mu_slot of, struct mu_agree_update *update)
{
    const struct mu_round *round = mu_agree_round(group, number);
    struct mu_tree tree = mu_agree_tree(agree, group);
    struct mu_tree_walk walk;
    for (mu_slot child = mu_tree_first_child(&tree, of, &walk); child != MU_SLOT_NONE;
         child = mu_tree_next_child(&tree, &walk))
        if (!mu_agree_peer_got(round, child))
            mu_agree_send(agree, group, number, MU_AGREE_ASK, child, update);
}

/* What this node sent up may be lost with its parent; and a new root cannot know whether the old
 * one has decided. */
static void lose_parent(struct mu_agree *agree, struct mu_agree_group *group, uint64_t number,
                        struct mu_agree_update *update)
{
    struct mu_round *round = mu_agree_round(group, number);
    struct mu_tree tree = mu_agree_tree(agree, group);
    mu_slot parent = mu_tree_parent(&tree, agree->config.self);
    if (parent != MU_SLOT_NONE) {
        if (mu_agree_is_broken(agree, MU_AGREE_BROKEN_GROWS))
            mu_agree_add_dead(agree, group, round);
        mu_agree_send(agree, group, number, MU_AGREE_UP, parent, update);
        return;
    }
    round->status = MU_AGREE_GATHERING;
    ask_missing(agree, group, number, agree->config.self, update);
}

static void mend(struct mu_agree *agree, struct mu_agree_group *group, uint64_t number,
                 mu_slot dead, struct mu_agree_update *update)
{
    struct mu_round *round = mu_agree_round(group, number);
    mu_agree_peer_remove(round, dead);
    if (round->decided && !mu_agree_is_broken(agree, MU_AGREE_BROKEN_AGAIN))
        return;
    bool ask = !mu_agree_is_broken(agree, MU_AGREE_BROKEN_ORPHANS);
    if (round->status == MU_AGREE_WAITING && group->was_par)
        lose_parent(agree, group, number, update);
    else if (round->status == MU_AGREE_GATHERING && group->was_kid && ask)
        ask_missing(agree, group, number, dead, update);
    mu_agree_complete(agree, group, number, update);
}

/* Once, however many do not fit. */
static void say_full(mu_slot by, struct mu_agree_update *update)
{
    const struct mu_agree_effect *last =
        update->count > 0 ? &update->effects[update->count - 1] : NULL;
    if (last != NULL && last->type == MU_AGREE_FAULT && last->fault == MU_FAULT_DEAD_FULL)
        return;
    struct mu_agree_effect *effect = mu_agree_add(update, MU_AGREE_FAULT);
    effect->fault = MU_FAULT_DEAD_FULL;
    effect->peer = by;
}

static void report(const struct mu_roster_entry *death, mu_slot by, struct mu_agree_update *update)
{
    struct mu_agree_effect *effect = mu_agree_add(update, MU_AGREE_DEATH);
    effect->peer = by;
    effect->death = *death;
}

/* A death that is known may turn out to be proven: nothing changes in any tree. */
static void learn_proof(struct mu_agree *agree, const struct mu_roster_entry *death, mu_slot by,
                        struct mu_agree_update *update)
{
    if (!death->proven || !mu_roster_is_out(&agree->dead, death->slot, death->incarnation) ||
        mu_agree_is_broken(agree, MU_AGREE_BROKEN_FIRST))
        return;
    if (mu_roster_prove(&agree->dead, death->slot, death->incarnation) && by != MU_SLOT_NONE)
        report(death, by, update);
}

void mu_agree_learn(struct mu_agree *agree, struct mu_roster_entry death, mu_slot by,
                    struct mu_agree_update *update)
{
    mu_slot slot = death.slot;
    if (agree->fenced)
        return;
    if (by != MU_SLOT_NONE && mu_agree_is_broken(agree, MU_AGREE_BROKEN_PROVES))
        death.proven = true;
    if (mu_roster_is_vacant(&agree->dead, slot)) {
        learn_proof(agree, &death, by, update);
        return;
    }
    if (slot == agree->config.self) {
        agree->fenced = true;
        update->count = 0;
        mu_agree_add(update, MU_AGREE_FENCED)->peer = by;
        return;
    }
    if (!mu_roster_fits(&agree->dead, slot)) {
        say_full(by == agree->config.self ? MU_SLOT_NONE : by, update);
        return;
    }
    if (!mu_agree_is_broken(agree, MU_AGREE_BROKEN_PARENT))
        look(agree, slot);
    mu_roster_out(&agree->dead, slot, death.incarnation);
    if (death.proven)
        mu_roster_prove(&agree->dead, slot, death.incarnation);
    if (mu_agree_is_broken(agree, MU_AGREE_BROKEN_PARENT))
        look(agree, slot);
    if (by != MU_SLOT_NONE) {
        agree->crowded = true;
        report(&death, by, update);
    }
    for (uint32_t i = 0; i < agree->config.limits.groups; i++) {
        struct mu_agree_group *group = &agree->groups[i];
        if (!group->used)
            continue;
        uint64_t last = group->decided + 2; /* as it was: mending may decide */
        for (uint64_t number = group->decided; number <= last; number++) {
            if (number == 0)
                continue;
            if (group->open)
                mend(agree, group, number, slot, update);
            else
                mu_agree_peer_remove(mu_agree_round(group, number), slot);
        }
    }
}

/* ---- deaths that others tell of ---- */

void mu_agree_learn_decided(struct mu_agree *agree, struct mu_agree_update *update)
{
    /* Learning may decide other groups, which may tell of more. */
    for (bool again = true; again && !agree->fenced;) {
        again = false;
        for (uint32_t i = 0; i < agree->config.limits.groups; i++) {
            struct mu_agree_group *group = &agree->groups[i];
            if (!group->learns)
                continue;
            group->learns = false;
            again = true;
            const struct mu_gather *value = &mu_agree_round(group, group->decided)->value;
            for (uint16_t k = 0; k < value->count; k++) {
                struct mu_roster_entry death = {.slot = value->failed[k].node,
                                                .incarnation = 1,
                                                .proven = value->failed[k].proven};
                if (value->failed[k].process == MU_FAILED_NODE)
                    mu_agree_learn(agree, death, group->learns_from, update);
            }
        }
    }
}

static bool is_told(const struct mu_agree *agree, const struct mu_agree_group *group, mu_slot from,
                    mu_slot dead)
{
    return !mu_agree_is_broken(agree, MU_AGREE_BROKEN_PATH) ||
           (mu_members_position(&group->members, dead) != UINT32_MAX && dead < from);
}

bool mu_agree_learn_asked(struct mu_agree *agree, const struct mu_agree_group *group, mu_slot from,
                          const struct mu_agree_message *ask, struct mu_agree_update *update)
{
    for (uint32_t i = 0; i < ask->dead_count && !agree->fenced; i++) {
        mu_slot slot = ask->dead[i].slot;
        if (!is_told(agree, group, from, slot))
            continue;
        if (slot < 64 && !mu_roster_is_vacant(&agree->dead, slot))
            agree->told_by_ask |= 1ull << slot;
        if (mu_agree_is_broken(agree, MU_AGREE_BROKEN_MARK) && slot != agree->config.self &&
            !mu_roster_is_vacant(&agree->dead, slot))
            mu_roster_out(&agree->dead, slot, ask->dead[i].incarnation);
        else
            mu_agree_learn(agree, ask->dead[i], from, update);
    }
    return !agree->fenced;
}

/* ---- what is said again ---- */

static void say_again(struct mu_agree *agree, struct mu_agree_group *group, uint64_t number,
                      mu_slot peer, struct mu_agree_update *update)
{
    struct mu_round *round = mu_agree_round(group, number);
    struct mu_tree tree = mu_agree_tree(agree, group);
    mu_slot self = agree->config.self, parent = mu_tree_parent(&tree, self);
    if (round->decided) {
        if (peer == MU_SLOT_NONE && !round->told)
            mu_agree_tell(agree, group, number, update);
    } else if (round->status == MU_AGREE_WAITING) {
        if (parent != MU_SLOT_NONE && (peer == MU_SLOT_NONE || peer == parent))
            mu_agree_send(agree, group, number, MU_AGREE_UP, parent, update);
    } else if (round->status == MU_AGREE_GATHERING && agree->dead.count > 0) {
        /* Without deaths nothing was asked. */
        if (peer == MU_SLOT_NONE || mu_tree_parent(&tree, peer) == self)
            ask_missing(agree, group, number, self, update);
    }
}

void mu_agree_say_again(struct mu_agree *agree, mu_slot peer, struct mu_agree_update *update)
{
    for (uint32_t i = 0; i < agree->config.limits.groups; i++) {
        struct mu_agree_group *group = &agree->groups[i];
        if (!group->open ||
            (peer != MU_SLOT_NONE && mu_members_position(&group->members, peer) == UINT32_MAX))
            continue;
        if (group->decided > 0)
            say_again(agree, group, group->decided, peer, update);
        say_again(agree, group, group->decided + 1, peer, update);
    }
}
