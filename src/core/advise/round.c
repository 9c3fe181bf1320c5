#include "core/advise/inside.h"

struct mu_decide_rules mu_advise_decide_rules(const struct mu_advise *advise)
{
    return (struct mu_decide_rules){.assignment = advise->config.assignment,
                                    .members_min = advise->config.members_min,
                                    .broken_rules = advise->config.broken_rules};
}

/* ---- contributions ---- */

void mu_advise_contribute(struct mu_advise *advise, uint64_t bits, struct mu_advise_update *update)
{
    mu_advise_gather_words(advise);
    advise->said.bits = bits;
    advise->contributed = true;
    struct mu_advise_effect *effect = mu_advise_add(update, MU_ADVISE_CONTRIBUTE);
    effect->contribute.group = &advise->group;
    effect->contribute.value = mu_advise_gather_value(&advise->said);
}

void mu_advise_arrive(struct mu_advise *advise, uint64_t bits, struct mu_advise_update *update)
{
    if (!advise->works)
        return; /* its program is not in this round */
    if (advise->contributed)
        mu_advise_fault(update, MU_FAULT_ADVISE_ARRIVE);
    else
        mu_advise_contribute(advise, bits, update);
}

static bool is_own(const struct mu_advise *advise, const struct mu_advise_key *key)
{
    struct mu_advise_key own = mu_advise_group_key(&advise->group);
    return advise->works && mu_advise_key_same(&own, key);
}

/* Without a program nothing else tells when a round is over. */
void mu_advise_begun(struct mu_advise *advise, const struct mu_advise_key *key,
                     struct mu_advise_update *update)
{
    if (advise->config.has_program)
        return;
    if (is_own(advise, key) && !advise->contributed)
        mu_advise_contribute(advise, UINT64_MAX, update);
    else if (key->round > advise->group.round)
        advise->begun = *key;
}

/* ---- the decision ---- */

void mu_advise_post_group(struct mu_advise *advise, struct mu_advise_update *update)
{
    struct mu_advise_effect *effect = mu_advise_add(update, MU_ADVISE_POST);
    effect->notice = (struct mu_advise_notice){
        .type = MU_ADVISE_GROUP, .group = &advise->group, .number = advise->refounds};
}

void mu_advise_enter(struct mu_advise *advise, uint64_t bits, struct mu_advise_update *update)
{
    advise->contributed = false;
    if (advise->works)
        mu_advise_retest(advise, update);
    struct mu_advise_effect *effect = mu_advise_add(update, MU_ADVISE_ROUND);
    effect->round.group = &advise->group;
    effect->round.bits = bits;
    effect->round.works = advise->works;
    mu_advise_settle(advise, update);
    if (is_own(advise, &advise->begun))
        mu_advise_begun(advise, &advise->begun, update);
}

/* Those that are no members hear of it: who leaves or comes, and, so that who came knows that a
 * member has decided the same, one round later. */
static bool concerns_others(const struct mu_advise_group *from, const struct mu_advise_group *to)
{
    for (uint32_t i = 0; i < from->count; i++)
        if (from->entries[i].comes)
            return true;
    for (uint32_t i = 0; i < to->count; i++)
        if (to->entries[i].comes || (to->entries[i].count % 2 == 1 && to->entries[i].leaves))
            return true;
    return false;
}

static bool is_lowest(const struct mu_advise *advise)
{
    return !mu_advise_any_member(&advise->group, 0, advise->config.self);
}

static void decide(struct mu_advise *advise, const struct mu_advise_decision *decision,
                   struct mu_advise_update *update)
{
    struct mu_decide_rules rules = mu_advise_decide_rules(advise);
    if (mu_advise_decision_is_void(&rules, decision)) {
        mu_advise_fault(update, MU_FAULT_ADVISE_VOID);
        return;
    }
    if (!mu_advise_decide(&rules, &advise->group, decision, advise->tally, &advise->next))
        mu_advise_fault(update, MU_FAULT_ADVISE_CHANGED);
    bool posts = concerns_others(&advise->group, &advise->next);
    advise->past[advise->past_at++ % MU_ADVISE_PAST] = mu_advise_group_key(&advise->group);
    bool told = !mu_advise_is_broken(advise, MU_ADVISE_BROKEN_POST) || is_lowest(advise);
    mu_advise_group_copy(&advise->group, &advise->next);
    advise->works = mu_advise_is_member(&advise->group, advise->config.self);
    if (posts && told)
        mu_advise_post_group(advise, update);
    if (!advise->works && mu_advise_is_part(&advise->group, advise->config.self))
        mu_advise_attend(advise, &advise->group, update);
    mu_advise_enter(advise, decision->value.bits, update);
    mu_advise_look(advise, update);
}

void mu_advise_decided(struct mu_advise *advise, const struct mu_advise_event *event,
                       struct mu_advise_update *update)
{
    struct mu_advise_decision decision = event->decided.decision;
    if (mu_advise_is_broken(advise, MU_ADVISE_BROKEN_LOCAL))
        decision.value = mu_advise_gather_value(&advise->said);
    if (is_own(advise, &event->decided.key))
        decide(advise, &decision, update);
    else
        mu_advise_other_decided(advise, &event->decided.key, &decision, update);
}
