#include "core/advise/inside.h"

/* ---- groups besides the own one ---- */

static struct mu_advise_other *find(struct mu_advise *advise, const struct mu_advise_key *key)
{
    for (uint32_t i = 0; i < advise->config.limits.others; i++) {
        struct mu_advise_other *other = &advise->others[i];
        struct mu_advise_key its = mu_advise_group_key(&other->group);
        if (other->used && mu_advise_key_same(&its, key))
            return other;
    }
    return NULL;
}

static struct mu_advise_other *take(struct mu_advise *advise, const struct mu_advise_group *group,
                                    struct mu_advise_update *update)
{
    for (uint32_t i = 0; i < advise->config.limits.others; i++) {
        struct mu_advise_other *other = &advise->others[i];
        if (other->used)
            continue;
        other->used = true;
        other->said = other->decided = other->ready = false;
        mu_advise_group_copy(&other->group, group);
        return other;
    }
    mu_advise_fault(update, MU_FAULT_ADVISE_OTHERS);
    return NULL;
}

static struct mu_advise_effect *speak(const struct mu_advise_group *group,
                                      struct mu_advise_update *update)
{
    struct mu_advise_effect *effect = mu_advise_add(update, MU_ADVISE_CONTRIBUTE);
    effect->contribute.group = group;
    effect->contribute.value = (struct mu_advise_value){.bits = UINT64_MAX};
    return effect;
}

void mu_advise_attend(struct mu_advise *advise, const struct mu_advise_group *group,
                      struct mu_advise_update *update)
{
    struct mu_advise_key key = mu_advise_group_key(group);
    struct mu_advise_other *other = find(advise, &key); /* somebody may have told of it before */
    if (other == NULL)
        other = take(advise, group, update);
    if (other == NULL)
        return;
    other->said = true;
    struct mu_advise_effect *effect = speak(&other->group, update);
    if (!mu_advise_is_broken(advise, MU_ADVISE_BROKEN_STRANGERS))
        return;
    mu_advise_gather_words(advise);
    effect->contribute.value = mu_advise_gather_value(&advise->said);
}

/* Whoever of that group waits for this one learns that it is not what the living have decided. */
static void refuse(struct mu_advise *advise, const struct mu_advise_group *group,
                   struct mu_advise_update *update)
{
    mu_slot self = advise->config.self;
    advise->void_word = mu_advise_say(MU_ADVISE_VOID, self, self);
    struct mu_advise_effect *effect = speak(group, update);
    effect->contribute.value.words = &advise->void_word;
    effect->contribute.value.count = 1;
}

static bool is_past(const struct mu_advise *advise, const struct mu_advise_key *key)
{
    for (uint32_t i = 0; i < MU_ADVISE_PAST; i++)
        if (mu_advise_key_same(&advise->past[i], key))
            return true;
    return false;
}

/* ---- of a member ---- */

/* May this one still decide it? */
static bool is_ahead(const struct mu_advise *advise, const struct mu_advise_group *group)
{
    return group->round > advise->group.round;
}

static bool is_mine(const struct mu_advise *advise, const struct mu_advise_group *group)
{
    struct mu_advise_key key = mu_advise_group_key(group);
    struct mu_advise_key own = mu_advise_group_key(&advise->group);
    return mu_advise_key_same(&key, &own) || is_past(advise, &key);
}

static void settle_member(struct mu_advise *advise, struct mu_advise_other *other,
                          struct mu_advise_update *update)
{
    if (other->said) {
        other->used = false; /* it works now: what it came from is over */
        return;
    }
    if (is_ahead(advise, &other->group))
        return;
    if (!is_mine(advise, &other->group))
        refuse(advise, &other->group, update);
    other->used = false;
}

/* ---- of one that is no member ---- */

/* Can what this one takes part in still become that group? */
static bool is_awaited(const struct mu_advise *advise, const struct mu_advise_other *wanted)
{
    struct mu_advise_key key = mu_advise_group_key(&wanted->group);
    for (uint32_t i = 0; i < advise->config.limits.others; i++) {
        const struct mu_advise_other *other = &advise->others[i];
        if (!other->used || !other->said || other->group.round + 1 != wanted->group.round)
            continue;
        struct mu_advise_key next = mu_advise_group_key(&other->next);
        if (!other->decided || mu_advise_key_same(&next, &key))
            return true;
    }
    return false;
}

static void settle_other(struct mu_advise *advise, struct mu_advise_other *other,
                         struct mu_advise_update *update)
{
    if (other->said || is_awaited(advise, other))
        return;
    refuse(advise, &other->group, update);
    other->used = false;
}

void mu_advise_settle(struct mu_advise *advise, struct mu_advise_update *update)
{
    for (uint32_t i = 0; i < advise->config.limits.others; i++) {
        struct mu_advise_other *other = &advise->others[i];
        if (other->used && advise->works)
            settle_member(advise, other, update);
        else if (other->used)
            settle_other(advise, other, update);
    }
}

static bool is_newer(const struct mu_advise_group *a, const struct mu_advise_group *b)
{
    if (a->round != b->round)
        return a->round > b->round;
    return mu_advise_group_key(a).hash > mu_advise_group_key(b).hash;
}

static void know(struct mu_advise *advise, const struct mu_advise_group *group,
                 struct mu_advise_update *update)
{
    if (!is_newer(group, &advise->group))
        return;
    mu_advise_group_copy(&advise->group, group);
    struct mu_advise_effect *effect = mu_advise_add(update, MU_ADVISE_ROUND);
    effect->round.group = &advise->group;
    effect->round.bits = UINT64_MAX;
}

static void begin_work(struct mu_advise *advise, struct mu_advise_other *other,
                       struct mu_advise_update *update)
{
    if (advise->joined && !mu_advise_is_broken(advise, MU_ADVISE_BROKEN_FREEZE)) {
        other->ready = true;
        return;
    }
    advise->past[advise->past_at++ % MU_ADVISE_PAST] = mu_advise_group_key(&other->group);
    advise->works = true;
    mu_advise_group_copy(&advise->group, &other->next);
    mu_advise_enter(advise, UINT64_MAX, update);
    if (!advise->config.has_program && !advise->contributed) /* others may have, unheard */
        mu_advise_contribute(advise, UINT64_MAX, update);
}

void mu_advise_thaw(struct mu_advise *advise, struct mu_advise_update *update)
{
    for (uint32_t i = 0; i < advise->config.limits.others; i++)
        if (advise->others[i].used && advise->others[i].ready && !advise->works)
            begin_work(advise, &advise->others[i], update);
}

/* ---- what is told of groups ---- */

/* Is that what came of a boundary that this one took part in?  Then a member has decided so, too.
 */
static bool confirms(struct mu_advise *advise, const struct mu_advise_key *key,
                     struct mu_advise_update *update)
{
    for (uint32_t i = 0; i < advise->config.limits.others; i++) {
        struct mu_advise_other *other = &advise->others[i];
        struct mu_advise_key next = mu_advise_group_key(&other->next);
        if (!other->used || !other->decided || !mu_advise_key_same(&next, key))
            continue;
        begin_work(advise, other, update);
        return true;
    }
    return false;
}

static void hear_outside(struct mu_advise *advise, const struct mu_advise_group *group,
                         struct mu_advise_update *update)
{
    struct mu_advise_key key = mu_advise_group_key(group);
    mu_slot self = advise->config.self;
    if (confirms(advise, &key, update))
        return;
    know(advise, group, update);
    if (find(advise, &key) != NULL || is_past(advise, &key))
        return;
    bool comes = mu_advise_group_get(group, self).comes != 0;
    if (comes && mu_advise_is_broken(advise, MU_ADVISE_BROKEN_COMER)) {
        advise->works = true;
        mu_advise_group_copy(&advise->group, group);
        mu_advise_enter(advise, UINT64_MAX, update);
    } else if (comes) {
        mu_advise_attend(advise, group, update);
    } else if (mu_advise_is_part(group, self)) {
        take(advise, group, update);
        mu_advise_settle(advise, update);
    }
}

void mu_advise_hear_group(struct mu_advise *advise, const struct mu_advise_group *group,
                          struct mu_advise_update *update)
{
    struct mu_advise_key key = mu_advise_group_key(group);
    if (group->era != advise->group.era)
        return; /* of before, or of one that has failed: nobody gets there without this one */
    if (!advise->works) {
        hear_outside(advise, group, update);
        mu_advise_look(advise, update);
        return;
    }
    if (is_mine(advise, group) || !mu_advise_is_part(group, advise->config.self) ||
        find(advise, &key) != NULL)
        return;
    if (is_ahead(advise, group))
        take(advise, group, update);
    else
        refuse(advise, group, update);
}

/* ---- what is decided of them ---- */

static void leave_or_stay_out(struct mu_advise *advise, struct mu_advise_other *other,
                              struct mu_advise_update *update)
{
    other->used = false;
    mu_advise_group_copy(&advise->next, &other->next); /* its place may be taken again */
    know(advise, &advise->next, update);
    struct mu_advise_entry entry = mu_advise_group_get(&advise->next, advise->config.self);
    if (entry.comes || entry.leaves)
        mu_advise_attend(advise, &advise->next, update);
}

static void take_over(struct mu_advise *advise, struct mu_advise_other *other,
                      struct mu_advise_update *update)
{
    if (!mu_advise_is_member(&other->next, advise->config.self)) {
        leave_or_stay_out(advise, other, update);
        return;
    }
    struct mu_advise_key next = mu_advise_group_key(&other->next);
    other->decided = true;
    struct mu_advise_other *heard = find(advise, &next);
    if (heard == NULL && !mu_advise_is_broken(advise, MU_ADVISE_BROKEN_CONFIRM))
        return;
    begin_work(advise, other, update);
}

void mu_advise_other_decided(struct mu_advise *advise, const struct mu_advise_key *key,
                             const struct mu_advise_decision *decision,
                             struct mu_advise_update *update)
{
    struct mu_decide_rules rules = mu_advise_decide_rules(advise);
    struct mu_advise_other *other = find(advise, key);
    if (advise->works || other == NULL || !other->said || other->decided)
        return;
    if (mu_advise_decision_is_void(&rules, decision)) {
        bool came = mu_advise_group_get(&other->group, advise->config.self).comes != 0;
        other->used = false;
        if (came)
            mu_advise_call(advise, update);
    } else {
        if (!mu_advise_decide(&rules, &other->group, decision, advise->tally, &other->next))
            mu_advise_fault(update, MU_FAULT_ADVISE_CHANGED);
        take_over(advise, other, update);
    }
    mu_advise_settle(advise, update);
    mu_advise_look(advise, update);
}
