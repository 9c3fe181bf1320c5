#include "daemon/agree/agree.h"

#include "daemon/agree/inside.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    GROUPS_MAX = 64,
    LEASE_MS = 2,         /* between two looks whether it is held again */
    ANNOUNCE_MS = 50,     /* a first agreement that takes longer: somebody may not know the group */
    ANNOUNCE_STEP_MS = 5, /* then one node of it after the other, as each makes it needless for the
                             rest; */
    ANNOUNCE_ALL_MS = 500, /* closer in a large group: the last one does not wait for longer */
};

_Static_assert((int)MU_AGREE_FRAME_LIST_MAX >= 4096, "all dead that the core's default allows");

/* ---- the core ---- */

static void send_message(struct mu_agreements *agreements, mu_slot peer,
                         const struct mu_agree_message *message)
{
    const struct mu_agreements_hooks *hooks = &agreements->config.hooks;
    size_t count = mu_agree_frame_encode(message, agreements->frame);
    agreements->counts.sent++;
    hooks->send(hooks->owner, peer, agreements->frame, count);
}

static void note_death(struct mu_agreements *agreements, const struct mu_roster_entry *death,
                       mu_slot by)
{
    assert(agreements->death_count < 2 * agreements->config.roll->size);
    agreements->deaths[agreements->death_count++] = (struct mu_agreements_death){*death, by};
}

/* A message of a group for which there is no room would come again on each new connection, and be
 * refused again: so that is cut when there is room. */
static void fault(struct mu_agreements *agreements, enum mu_fault what, mu_slot peer)
{
    const struct mu_agreements_hooks *hooks = &agreements->config.hooks;
    bool is_full = what == MU_FAULT_AGREE_GROUPS && peer < agreements->config.roll->size;
    if (is_full)
        agreements->starved[peer] = agreements->some_starved = true;
    hooks->fault(hooks->owner, what, is_full ? MU_SLOT_NONE : peer);
}

static void carry_out(struct mu_agreements *agreements, const struct mu_agree_effect *effect)
{
    struct mu_group *group;
    switch (effect->type) {
    case MU_AGREE_SEND:
        send_message(agreements, effect->peer, &effect->message);
        return;
    case MU_AGREE_DELIVER:
        group = mu_group_find(agreements, effect->decision.group);
        if (group != NULL)
            mu_group_decided(agreements, group, effect->decision.round, &effect->decision.value);
        return;
    case MU_AGREE_DEATH:
        note_death(agreements, &effect->death, effect->peer);
        return;
    case MU_AGREE_FENCED:
        agreements->is_fenced = true;
        agreements->fenced_by = effect->peer;
        return;
    case MU_AGREE_FAULT:
        fault(agreements, effect->fault, effect->peer);
        return;
    }
    abort();
}

static void close_group(struct mu_agreements *agreements, struct mu_group *group);
static void on_later(uv_idle_t *idle);
static void on_lease(uv_timer_t *timer);

void mu_agreements_step(struct mu_agreements *agreements, struct mu_agree_event *event)
{
    const struct mu_agreements_hooks *hooks = &agreements->config.hooks;
    event->lease_held = hooks->lease(hooks->owner);
    mu_agree_step(agreements->core, event, &agreements->update);
    mu_recorder_step(agreements->record, event, &agreements->update);
    for (uint32_t i = 0; i < agreements->update.count; i++)
        carry_out(agreements, &agreements->update.effects[i]);
    /* It can run out and be extended without a word of the detector, which looks at it only when
     * something happens. */
    if (!event->lease_held && !agreements->closing)
        uv_timer_start(&agreements->lease_timer, on_lease, LEASE_MS, 0);
    if ((agreements->death_count > 0 || agreements->is_fenced) && !agreements->closing)
        uv_idle_start(&agreements->later, on_later);
}

/* A call may decide, and a decision may ask for the next call. */
void mu_agreements_settle(struct mu_agreements *agreements)
{
    for (bool some = true; some;) {
        some = false;
        for (struct mu_group_job *job = agreements->jobs; job != NULL; job = job->next)
            for (struct mu_group *group = job->groups; group != NULL; group = group->next) {
                if (group->again) {
                    group->again = false;
                    some = true;
                    mu_group_call(agreements, group);
                }
                if (group->over && !group->closed)
                    close_group(agreements, group);
            }
    }
}

/* From the loop, because the one who is told may be the one who has called us. */
static void on_later(uv_idle_t *idle)
{
    struct mu_agreements *agreements = idle->data;
    const struct mu_agreements_hooks *hooks = &agreements->config.hooks;
    uv_idle_stop(idle);
    for (uint32_t i = 0; i < agreements->death_count; i++)
        hooks->dead(hooks->owner, &agreements->deaths[i].death, agreements->deaths[i].by);
    agreements->death_count = 0;
    if (agreements->is_fenced)
        hooks->fenced(hooks->owner, agreements->fenced_by);
    agreements->is_fenced = false;
    if (agreements->counts.groups == GROUPS_MAX)
        return;
    for (mu_slot peer = 0; agreements->some_starved && peer < agreements->config.roll->size; peer++)
        if (agreements->starved[peer]) {
            agreements->starved[peer] = false;
            hooks->fault(hooks->owner, MU_FAULT_AGREE_GROUPS, peer);
        }
    agreements->some_starved = false;
}

/* ---- the other daemons ---- */

/* What is still on its way when a job or a group is over is for nobody: of a group that is over
 * nobody is left who could wait for a decision, at whatever node. */
static bool is_past(struct mu_agreements *agreements, uint64_t id)
{
    const struct mu_group *group = mu_group_find(agreements, id);
    if (group != NULL)
        return group->closed;
    return mu_roll_is_over(agreements->config.roll, (uint32_t)(id >> 32));
}

const char *mu_agreements_frame(struct mu_agreements *agreements, mu_slot from,
                                const uint8_t *bytes, size_t count)
{
    struct mu_agree_message message;
    const char *rule = mu_agree_frame_decode(bytes, count, &message, &agreements->lists);
    agreements->counts.received++;
    if (rule != NULL || is_past(agreements, message.group))
        return rule;
    struct mu_agree_event event = {.type = MU_AGREE_RECV, .recv = {from, &message}};
    mu_agreements_step(agreements, &event);
    mu_agreements_settle(agreements);
    return NULL;
}

void mu_agreements_up(struct mu_agreements *agreements, mu_slot peer)
{
    struct mu_agree_event event = {.type = MU_AGREE_RESUME, .resume.peer = peer};
    mu_agreements_step(agreements, &event);
    mu_agreements_settle(agreements);
}

static void dead(struct mu_agreements *agreements, struct mu_roster_entry death)
{
    struct mu_agree_event event = {.type = MU_AGREE_DEAD, .dead = death};
    mu_agreements_step(agreements, &event);
    mu_agreements_settle(agreements);
}

void mu_agreements_lease(struct mu_agreements *agreements)
{
    struct mu_agree_event event = {.type = MU_AGREE_LEASE};
    mu_agreements_step(agreements, &event);
    mu_agreements_settle(agreements);
}

static void on_lease(uv_timer_t *timer)
{
    mu_agreements_lease(timer->data);
}

/* ---- announcing ---- */

static void announce(struct mu_agreements *agreements, struct mu_group *group)
{
    const struct mu_agreements_hooks *hooks = &agreements->config.hooks;
    struct mu_news news = {.type = MU_NEWS_GROUP, .job = group->job->roll->number};
    news.group.instance = group->instance;
    news.group.rows = group->rows;
    for (uint32_t i = 0; i < group->rows; i++) {
        news.group.row[i].first = group->row[i].first;
        news.group.row[i].count = group->row[i].count;
    }
    group->announced = true;
    hooks->announce(hooks->owner, &news);
}

static void on_announce(uv_timer_t *timer)
{
    struct mu_agreements *agreements = timer->data;
    uint64_t now_ms = uv_now(agreements->config.loop), next_ms = UINT64_MAX;
    for (struct mu_group_job *job = agreements->jobs; job != NULL; job = job->next)
        for (struct mu_group *group = job->groups; group != NULL; group = group->next) {
            if (group->announced || group->announce_at_ms == 0)
                continue;
            if (group->announce_at_ms <= now_ms)
                announce(agreements, group);
            else if (group->announce_at_ms < next_ms)
                next_ms = group->announce_at_ms;
        }
    if (next_ms != UINT64_MAX)
        uv_timer_start(timer, on_announce, next_ms - now_ms, 0);
}

static uint64_t announce_wait_ms(const struct mu_group *group)
{
    uint64_t turns_ms = ANNOUNCE_STEP_MS * (uint64_t)group->node_count;
    if (turns_ms > ANNOUNCE_ALL_MS)
        turns_ms = ANNOUNCE_ALL_MS;
    return ANNOUNCE_MS + turns_ms * group->place / group->node_count;
}

void mu_agreements_announce_late(struct mu_agreements *agreements, struct mu_group *group)
{
    if (group->announced || group->announce_at_ms != 0)
        return;
    group->announce_at_ms = uv_now(agreements->config.loop) + announce_wait_ms(group);
    if (!uv_is_active((uv_handle_t *)&agreements->announce_timer))
        uv_timer_start(&agreements->announce_timer, on_announce, ANNOUNCE_MS, 0);
}

void mu_agreements_group(struct mu_agreements *agreements, const struct mu_news *news)
{
    struct mu_group_job *job = mu_group_job_find(agreements, news->job);
    struct mu_ballot_row row[MU_BALLOT_ROWS_MAX];
    const char *why;
    if (job == NULL)
        return; /* not of this node */
    for (uint32_t i = 0; i < news->group.rows; i++)
        row[i] = (struct mu_ballot_row){news->group.row[i].first, news->group.row[i].count};
    struct mu_group *group =
        mu_group_get(agreements, job, news->group.instance, row, news->group.rows, &why);
    if (group != NULL)
        group->announced = true;
    mu_agreements_settle(agreements);
}

/* ---- jobs and processes ---- */

static const char *begin_job(struct mu_agreements *agreements, const struct mu_roll_job *roll)
{
    struct mu_group_job *made = calloc(1, sizeof *made);
    if (made == NULL)
        return "no memory for the groups of the job";
    made->roll = roll;
    made->next = agreements->jobs;
    agreements->jobs = made;
    return NULL;
}

static void close_group(struct mu_agreements *agreements, struct mu_group *group)
{
    struct mu_agree_event event = {.type = MU_AGREE_CLOSE, .close.group = group->id};
    for (uint32_t i = 0; i < group->local_count; i++)
        if (group->locals[i].voter != NULL)
            mu_voter_close(group->locals[i].voter);
    mu_agreements_step(agreements, &event);
    mu_group_free_lists(group);
    group->closed = true;
    group->again = false;
    agreements->counts.groups--;
    if (agreements->some_starved && !agreements->closing)
        uv_idle_start(&agreements->later, on_later);
}

static void free_job(struct mu_agreements *agreements, struct mu_group_job *job)
{
    while (job->groups != NULL) {
        struct mu_group *group = job->groups;
        job->groups = group->next;
        if (!group->closed)
            close_group(agreements, group);
        mu_group_free(group);
    }
    free(job);
}

static void end_job(struct mu_agreements *agreements, const struct mu_roll_job *roll)
{
    struct mu_group_job **place = &agreements->jobs;
    while (*place != NULL && (*place)->roll != roll)
        place = &(*place)->next;
    struct mu_group_job *job = *place;
    if (job == NULL)
        return; /* it could not begin */
    *place = job->next;
    free_job(agreements, job);
}

static void end_process(struct mu_agreements *agreements, const struct mu_roll_change *change)
{
    struct mu_group_job *job = mu_group_job_find(agreements, change->job->number);
    struct mu_group *group = job != NULL ? job->groups : NULL;
    for (; group != NULL; group = group->next) {
        struct mu_group_local *local = mu_group_local(group, change->rank);
        if (local == NULL)
            continue;
        if (local->voter != NULL)
            mu_voter_close(local->voter);
        mu_group_lose(group, local, change->failed ? MU_BALLOT_FAILED : MU_BALLOT_LEFT);
    }
    mu_agreements_settle(agreements);
}

static void lose_outs(struct mu_agreements *agreements, const struct mu_roll_change *change)
{
    for (uint32_t i = 0; i < change->out_count; i++)
        dead(agreements, (struct mu_roster_entry){.slot = change->outs[i].slot,
                                                  .incarnation = change->outs[i].incarnation,
                                                  .proven = change->outs[i].proven});
}

const char *mu_agreements_changed(struct mu_agreements *agreements,
                                  const struct mu_roll_change *change)
{
    switch (change->what) {
    case MU_ROLL_BEGAN:
        return begin_job(agreements, change->job);
    case MU_ROLL_OVER:
        end_job(agreements, change->job);
        return NULL;
    case MU_ROLL_ENDED:
        end_process(agreements, change);
        return NULL;
    case MU_ROLL_DEAD:
    case MU_ROLL_PROVEN:
        dead(agreements, change->member);
        return NULL;
    case MU_ROLL_VIEW:
        lose_outs(agreements, change);
        return NULL;
    case MU_ROLL_NOTHING:
    case MU_ROLL_STARTED:
    case MU_ROLL_STABLE:
    case MU_ROLL_GONE: /* what failed elsewhere is decided */
        return NULL;
    }
    abort();
}

/* ---- open and close ---- */

static void free_all(struct mu_agreements *agreements)
{
    free(agreements->memory);
    free(agreements->update.effects);
    free(agreements->deaths);
    free(agreements->starved);
    free(agreements->list);
    free(agreements);
}

void mu_agreements_handle_gone(struct mu_agreements *agreements)
{
    assert(agreements->handles > 0);
    if (--agreements->handles == 0)
        free_all(agreements);
}

static void on_handle_closed(uv_handle_t *handle)
{
    mu_agreements_handle_gone(handle->data);
}

int mu_agreements_open(const struct mu_agreements_config *config, struct mu_agreements **agreements)
{
    struct mu_agreements *made = calloc(1, sizeof *made);
    if (made == NULL)
        return ENOMEM;
    made->config = *config;
    struct mu_agree_config *core = &made->core_config;
    mu_agree_config_default(core, config->roll->size, config->roll->self);
    core->shift = config->shift;
    core->limits.groups = GROUPS_MAX;
    assert(mu_agree_config_error(core) == NULL);
    size_t bytes = mu_agree_bytes(core);
    made->memory = aligned_alloc(64, bytes);
    made->update.capacity = mu_agree_effects_max(core);
    made->update.effects = calloc(made->update.capacity, sizeof *made->update.effects);
    made->deaths = calloc(2 * (size_t)config->roll->size, sizeof *made->deaths);
    made->starved = calloc(config->roll->size, sizeof *made->starved);
    if (made->memory == NULL || made->update.effects == NULL || made->deaths == NULL ||
        made->starved == NULL) {
        free_all(made);
        return ENOMEM;
    }
    memset(made->memory, 0, bytes);
    made->core = mu_agree_init(made->memory, bytes, core);
    made->record = mu_recorder_stream(config->recorder, MU_RECORD_AGREE, core);
    uv_timer_init(config->loop, &made->announce_timer);
    uv_timer_init(config->loop, &made->lease_timer);
    uv_idle_init(config->loop, &made->later);
    made->announce_timer.data = made->lease_timer.data = made->later.data = made;
    made->handles = 3;
    *agreements = made;
    return 0;
}

void mu_agreements_close(struct mu_agreements *agreements)
{
    agreements->closing = true;
    while (agreements->voters != NULL)
        mu_voter_close(agreements->voters);
    while (agreements->jobs != NULL)
        end_job(agreements, agreements->jobs->roll);
    uv_close((uv_handle_t *)&agreements->announce_timer, on_handle_closed);
    uv_close((uv_handle_t *)&agreements->lease_timer, on_handle_closed);
    uv_close((uv_handle_t *)&agreements->later, on_handle_closed);
}

struct mu_agreements_counts mu_agreements_counts(const struct mu_agreements *agreements)
{
    return agreements->counts;
}
