#include "core/advise/inside.h"

static void join(struct mu_advise *advise, struct mu_advise_update *update)
{
    advise->joined = true;
    struct mu_advise_effect *effect = mu_advise_add(update, MU_ADVISE_JOIN);
    effect->join.number = advise->refounds + 1;
    effect->join.no_member = !advise->works || mu_advise_is_broken(advise, MU_ADVISE_BROKEN_GUARD);
}

void mu_advise_call(struct mu_advise *advise, struct mu_advise_update *update)
{
    if (advise->joined || mu_advise_is_broken(advise, MU_ADVISE_BROKEN_REFOUND))
        return;
    advise->called = advise->refounds + 1;
    if (!mu_advise_is_broken(advise, MU_ADVISE_BROKEN_CALL)) {
        struct mu_advise_effect *effect = mu_advise_add(update, MU_ADVISE_POST);
        effect->notice =
            (struct mu_advise_notice){.type = MU_ADVISE_REFOUND, .number = advise->called};
    }
    join(advise, update);
}

/* All members but this one, which may be one of a group that it has not decided. */
static bool all_failed(const struct mu_advise *advise)
{
    uint32_t left = advise->group.members;
    left -= mu_advise_is_member(&advise->group, advise->config.self) ? 1 : 0;
    for (uint32_t i = 0; i < advise->dead.count; i++)
        left -= mu_advise_is_member(&advise->group, advise->dead.entries[i].slot) ? 1 : 0;
    return left == 0;
}

void mu_advise_look(struct mu_advise *advise, struct mu_advise_update *update)
{
    if (!advise->works && !advise->joined && all_failed(advise))
        mu_advise_call(advise, update);
}

void mu_advise_hear_refound(struct mu_advise *advise, uint32_t number,
                            struct mu_advise_update *update)
{
    if (number > advise->called)
        advise->called = number;
    if (advise->called > advise->refounds && !advise->joined)
        join(advise, update);
}

static void found(struct mu_advise *advise, const struct mu_advise_event *event,
                  struct mu_advise_update *update)
{
    mu_advise_group_all(&advise->group, advise->config.size, event->refounded.number + 1);
    for (uint32_t i = 0; i < event->refounded.failed_count; i++)
        if (!mu_advise_group_put(
                &advise->group,
                (struct mu_advise_entry){.slot = event->refounded.failed[i], .gone = 1}))
            mu_advise_fault(update, MU_FAULT_ADVISE_CHANGED);
    for (uint32_t i = 0; i < advise->config.limits.others; i++)
        advise->others[i].used = false;
    advise->works = true;
    advise->trial_count = 0;
    mu_advise_enter(advise, UINT64_MAX, update);
}

void mu_advise_refounded(struct mu_advise *advise, const struct mu_advise_event *event,
                         struct mu_advise_update *update)
{
    if (!advise->joined || event->refounded.number != advise->refounds + 1)
        return;
    advise->refounds++;
    advise->joined = false;
    if (event->refounded.no_member)
        found(advise, event, update);
    else if (advise->works)
        mu_advise_post_group(advise, update);
    else
        mu_advise_thaw(advise, update);
    mu_advise_look(advise, update);
    if (advise->called > advise->refounds && !advise->joined)
        join(advise, update);
}
