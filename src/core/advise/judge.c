#include "core/advise/inside.h"

/* ---- who is tested ---- */

static struct mu_trial *find(struct mu_trial *trials, uint32_t count, mu_slot slot)
{
    for (uint32_t i = 0; i < count; i++)
        if (trials[i].slot == slot)
            return &trials[i];
    return NULL;
}

/* What was known of one goes on while both are in the same stints. */
static void carry_over(const struct mu_advise *advise, struct mu_trial *trial,
                       const struct mu_trial *old, bool own_stint)
{
    uint32_t stint = mu_advise_group_get(&advise->group, trial->slot).count;
    if (old != NULL && own_stint && old->stint == stint) {
        *trial = *old;
        return;
    }
    mu_trial_begin(trial, trial->slot, stint);
    if (old != NULL && mu_advise_is_broken(advise, MU_ADVISE_BROKEN_STINT)) {
        trial->failed = old->failed;
        trial->tests = old->tests;
        trial->passes = old->passes;
    }
    if (old != NULL && mu_advise_is_broken(advise, MU_ADVISE_BROKEN_COUNTS))
        trial->accused = old->accused;
}

static bool is_listed(const struct mu_advise *advise, uint32_t count, mu_slot slot)
{
    for (uint32_t i = 0; i < count; i++)
        if (advise->tested[i] == slot)
            return true;
    return false;
}

/* Whom this one has accused it goes on to test, also when another one is nearer now: its word still
 * counts.  Returns how many are listed then. */
static uint32_t add_accused(struct mu_advise *advise, uint32_t count, uint32_t room)
{
    for (uint32_t i = 0; i < advise->trial_count; i++) {
        const struct mu_trial *trial = &advise->trials[i];
        bool stays = trial->accused && mu_advise_is_member(&advise->group, trial->slot) &&
                     mu_advise_group_get(&advise->group, trial->slot).count == trial->stint;
        if (!stays || is_listed(advise, count < room ? count : room, trial->slot))
            continue;
        if (count < room)
            advise->tested[count] = trial->slot;
        count++;
    }
    return count;
}

void mu_advise_retest(struct mu_advise *advise, struct mu_advise_update *update)
{
    uint32_t room = advise->config.limits.tested, old_count = advise->trial_count;
    uint32_t stint = mu_advise_group_get(&advise->group, advise->config.self).count;
    struct mu_trial *old = advise->trials;
    uint32_t count = mu_advise_tested(&advise->group, advise->config.assignment,
                                      advise->config.self, advise->tested, room);
    if (stint == advise->trial_stint)
        count = add_accused(advise, count, room);
    if (count > room)
        mu_advise_fault(update, MU_FAULT_ADVISE_TESTED);
    advise->trial_count = count < room ? count : room;
    advise->trials = advise->trials_old;
    advise->trials_old = old;
    for (uint32_t i = 0; i < advise->trial_count; i++) {
        advise->trials[i].slot = advise->tested[i];
        carry_over(advise, &advise->trials[i], find(old, old_count, advise->tested[i]),
                   stint == advise->trial_stint);
    }
    advise->trial_stint = stint;
}

const struct mu_trial *mu_advise_trial(const struct mu_advise *advise, mu_slot slot,
                                       uint64_t *median_ns)
{
    *median_ns = advise->median_ns;
    return advise->works ? find(advise->trials, advise->trial_count, slot) : NULL;
}

/* ---- an interval ---- */

void mu_advise_answer(struct mu_advise *advise, const struct mu_advise_event *event)
{
    struct mu_trial *trial = find(advise->trials, advise->trial_count, event->answer.from);
    if (advise->works && trial != NULL && trial->asked) /* else it is of the stint before */
        trial->time_ns = mu_test_middle(event->answer.runs_ns);
}

/* Of members only: who is out would make itself the norm, when many are. */
static uint32_t gather_times(struct mu_advise *advise, const struct mu_advise_event *event)
{
    bool all = mu_advise_is_broken(advise, MU_ADVISE_BROKEN_OUTSIDERS);
    uint32_t count = 0;
    if (event->interval.has_run && !advise->config.remote)
        advise->times[count++] = mu_test_middle(event->interval.runs_ns);
    for (uint32_t i = 0; i < advise->trial_count; i++) {
        const struct mu_trial *trial = &advise->trials[i];
        if (trial->time_ns != MU_NEVER && (all || mu_advise_is_member(&advise->group, trial->slot)))
            advise->times[count++] = trial->time_ns;
    }
    return count;
}

static void judge_all(struct mu_advise *advise, uint32_t values, struct mu_advise_update *update)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < advise->trial_count; i++) {
        struct mu_trial *trial = &advise->trials[i];
        bool was = trial->accused;
        if (!trial->asked)
            continue;
        if (!mu_advise_is_member(&advise->group, trial->slot)) {
            mu_trial_judge(trial, &advise->config.test, advise->median_ns, values);
            trial->accused = was;
        } else if (mu_trial_judge(trial, &advise->config.test, advise->median_ns, values) && !was)
            advise->accused[count++] =
                mu_advise_say(MU_ADVISE_ACCUSE, trial->slot, advise->config.self);
    }
    if (count == 0)
        return;
    struct mu_advise_effect *effect = mu_advise_add(update, MU_ADVISE_POST);
    effect->notice = (struct mu_advise_notice){.type = MU_ADVISE_ACCUSED,
                                               .words = advise->accused,
                                               .count = count,
                                               .stint = advise->trial_stint};
}

static void judge(struct mu_advise *advise, const struct mu_advise_event *event,
                  struct mu_advise_update *update)
{
    bool counts = !event->interval.late || mu_advise_is_broken(advise, MU_ADVISE_BROKEN_LATE);
    uint32_t values = counts ? gather_times(advise, event) : 0;
    if (values == 0 || (advise->config.remote && values < MU_TEST_VALUES_MIN)) {
        for (uint32_t i = 0; i < advise->trial_count; i++)
            advise->trials[i].time_ns = MU_NEVER;
        return;
    }
    uint64_t median_ns = mu_test_median(advise->times, values);
    if (advise->median_ns == 0 || !mu_advise_is_broken(advise, MU_ADVISE_BROKEN_MEDIAN))
        advise->median_ns = median_ns;
    judge_all(advise, values, update);
}

void mu_advise_interval(struct mu_advise *advise, const struct mu_advise_event *event,
                        struct mu_advise_update *update)
{
    if (!advise->works)
        return;
    judge(advise, event, update);
    for (uint32_t i = 0; i < advise->trial_count; i++) {
        advise->trials[i].asked = true;
        mu_advise_add(update, MU_ADVISE_ASK)->peer = advise->trials[i].slot;
    }
    if (!advise->config.has_program && !advise->contributed && mu_advise_gather_words(advise))
        mu_advise_contribute(advise, UINT64_MAX, update);
}

/* ---- what is said of it ---- */

static bool is_voted_for(const struct mu_advise *advise, const struct mu_trial *trial,
                         enum mu_advise_says *says)
{
    bool backoff = !mu_advise_is_broken(advise, MU_ADVISE_BROKEN_BACKOFF);
    uint32_t need = mu_advise_need(advise->config.zeta, backoff ? trial->stint : 1);
    if (mu_advise_is_broken(advise, MU_ADVISE_BROKEN_PASSES))
        need = 1;
    *says = trial->passes >= need ? MU_ADVISE_PROPOSE : MU_ADVISE_AGREE;
    return 2 * trial->passes > need;
}

bool mu_advise_gather_words(struct mu_advise *advise)
{
    enum mu_advise_says says;
    bool news = false; /* worth a boundary of its own: an agreement alone brings nobody back */
    mu_advise_gather_clear(&advise->said);
    for (uint32_t i = 0; i < advise->trial_count; i++) {
        const struct mu_trial *trial = &advise->trials[i];
        struct mu_advise_entry entry = mu_advise_group_get(&advise->group, trial->slot);
        if (entry.count % 2 == 0 && trial->accused)
            says = MU_ADVISE_ACCUSE;
        else if (entry.count % 2 == 0 || !is_voted_for(advise, trial, &says))
            continue;
        mu_advise_gather_add(&advise->said, mu_advise_say(says, trial->slot, advise->config.self));
        news = news || says != MU_ADVISE_AGREE;
    }
    return news;
}
