#include "daemon/roll/roll.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

struct mu_roll_job *mu_roll_find(const struct mu_roll *roll, uint32_t job)
{
    struct mu_roll_job *found = roll->jobs;
    while (found != NULL && found->number != job)
        found = found->next;
    return found;
}

bool mu_roll_is_over(const struct mu_roll *roll, uint32_t job)
{
    for (uint32_t i = 0; i < MU_ROLL_OVER_MAX; i++)
        if (job != 0 && roll->over[i].number == job)
            return true;
    return false;
}

struct mu_roll_member mu_roll_member(const struct mu_roll *roll, mu_slot slot)
{
    return slot < roll->size ? roll->members[slot] : (struct mu_roll_member){0};
}

uint32_t mu_roll_incarnation(const struct mu_roll *roll, mu_slot slot, uint32_t heard)
{
    return heard != 0 ? heard : mu_roll_member(roll, slot).incarnation;
}

mu_slot mu_roll_node(const struct mu_roll_job *job, uint32_t rank)
{
    const struct mu_launch_run *run = mu_launch_run_of(&job->spec, rank);
    assert(run != NULL); /* every rank is in one */
    return run->slot;
}

enum mu_rank_state mu_roll_state(const struct mu_roll_job *job, uint32_t rank)
{
    assert(rank < job->spec.size);
    return (enum mu_rank_state)job->states[rank];
}

uint32_t mu_roll_place(const struct mu_roll_job *job, uint32_t rank)
{
    uint32_t low = 0, high = job->here_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (job->here[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < job->here_count && job->here[low].rank == rank;
    return found ? low : UINT32_MAX;
}

static int compare_slots(const void *a, const void *b)
{
    mu_slot left = *(const mu_slot *)a, right = *(const mu_slot *)b;
    return left < right ? -1 : left > right;
}

uint32_t mu_roll_count(const struct mu_launch_job *spec, mu_slot slot)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < spec->run_count; i++)
        count += spec->runs[i].slot == slot ? spec->runs[i].count : 0;
    return count;
}

uint32_t mu_roll_slots(mu_slot *slots, uint32_t count)
{
    uint32_t kept = 0;
    qsort(slots, count, sizeof *slots, compare_slots);
    for (uint32_t i = 0; i < count; i++)
        if (kept == 0 || slots[kept - 1] != slots[i])
            slots[kept++] = slots[i];
    return kept;
}

uint32_t mu_roll_slot_place(const mu_slot *slots, uint32_t count, mu_slot slot)
{
    const mu_slot *found = bsearch(&slot, slots, count, sizeof *slots, compare_slots);
    assert(found != NULL);
    return (uint32_t)(found - slots);
}

uint32_t mu_roll_spans(mu_slot *slots, uint32_t count, struct mu_span *spans)
{
    uint32_t made = 0;
    count = mu_roll_slots(slots, count);
    for (uint32_t i = 0; i < count; i++)
        if (made > 0 && spans[made - 1].first + spans[made - 1].count == slots[i])
            spans[made - 1].count++;
        else
            spans[made++] = (struct mu_span){.first = slots[i], .count = 1};
    return made;
}

static bool has_ended(const struct mu_roll_job *job, uint32_t rank)
{
    return job->states[rank] >= MU_RANK_LEFT;
}

bool mu_roll_others(const struct mu_roll *roll, uint32_t job, uint32_t rank)
{
    for (const struct mu_roll_job *each = roll->jobs; each != NULL; each = each->next) {
        bool is_own = each->number == job && mu_roll_place(each, rank) != UINT32_MAX &&
                      !has_ended(each, rank);
        if (each->spec.size - each->ended > is_own)
            return true;
    }
    return false;
}

/* ---- events of a change ---- */

void mu_roll_gone_event(const struct mu_roll_job *job, uint32_t i, struct mu_local_event *event)
{
    uint32_t rank = job->gone.gone[i].index;
    *event = (struct mu_local_event){.subject = MU_SUBJECT_PROCESS,
                                     .job = job->number,
                                     .rank = rank,
                                     .node = mu_roll_node(job, rank)};
    mu_gone_event(&job->gone, i, event->node, event);
}

void mu_roll_dead_event(const struct mu_roll *roll, uint32_t i, struct mu_local_event *event)
{
    *event = (struct mu_local_event){.subject = MU_SUBJECT_NODE, .node = roll->dead.gone[i].index};
    mu_gone_event(&roll->dead, i, event->node, event);
}

/* Those of a job with serials from 'first' up to, but not with, 'end'. */
static void events_of_job(const struct mu_roll_job *job, uint64_t first, uint64_t end,
                          mu_roll_each *each, void *arg)
{
    const struct mu_gone_list *gone = &job->gone;
    for (uint32_t i = mu_gone_before(gone, first); mu_gone_serial(gone, i) < end; i++) {
        struct mu_local_event event;
        mu_roll_gone_event(job, i, &event);
        each(arg, &event);
    }
}

/* Each node, and after it who ran there. */
static void events_of_nodes(const struct mu_roll_change *change, mu_roll_each *each, void *arg)
{
    const struct mu_roll *roll = change->roll;
    const struct mu_gone_list *dead = &roll->dead;
    for (uint32_t i = mu_gone_before(dead, change->first); i < dead->count; i++) {
        uint64_t serial = mu_gone_serial(dead, i), next = mu_gone_serial(dead, i + 1);
        struct mu_local_event event;
        if (serial > change->last)
            return;
        mu_roll_dead_event(roll, i, &event);
        each(arg, &event);
        for (const struct mu_roll_job *job = roll->jobs; job != NULL; job = job->next)
            events_of_job(job, serial, next <= change->last ? next : change->last + 1, each, arg);
    }
}

static void events_of_view(const struct mu_roll *roll, mu_roll_each *each, void *arg)
{
    struct mu_local_event event;
    for (uint32_t i = 0; mu_roll_stable_event(roll, i, &event); i++)
        each(arg, &event);
}

void mu_roll_events(const struct mu_roll_change *change, mu_roll_each *each, void *arg)
{
    if (change->first > change->last)
        return;
    if (change->what == MU_ROLL_GONE)
        each(arg, &change->event);
    else if (change->what == MU_ROLL_STABLE)
        events_of_view(change->roll, each, arg);
    else if (change->what == MU_ROLL_BEGAN)
        events_of_job(change->job, change->first, change->last + 1, each, arg);
    else
        events_of_nodes(change, each, arg);
}

void mu_roll_dead_before(const struct mu_roll *roll, mu_roll_each *each, void *arg)
{
    const struct mu_gone_list *dead = &roll->dead;
    for (uint32_t i = mu_gone_next(dead, 0); i < dead->count; i = mu_gone_next(dead, i + 1)) {
        struct mu_local_event event;
        mu_roll_dead_event(roll, i, &event);
        each(arg, &event);
    }
}

void mu_roll_gone_before(const struct mu_roll *roll, uint32_t job, mu_roll_each *each, void *arg)
{
    const struct mu_roll_job *known = mu_roll_find(roll, job);
    if (known != NULL)
        events_of_job(known, 0, UINT64_MAX, each, arg);
}

/* ---- changing ---- */

static void free_job(struct mu_roll_job *job)
{
    if (job == NULL)
        return;
    mu_gone_free(&job->gone);
    free((void *)job->spec.runs);
    free(job->states);
    free(job->here);
    free(job);
}

/* Every change begins here. */
static struct mu_roll_change nothing(struct mu_roll *roll)
{
    free_job(roll->ending);
    roll->ending = NULL;
    return (struct mu_roll_change){.roll = roll, .first = roll->serial + 1, .last = roll->serial};
}

static struct mu_roll_change refuse(struct mu_roll *roll, const char *why_not)
{
    struct mu_roll_change change = nothing(roll);
    change.why_not = why_not;
    return change;
}

static void end_rank(struct mu_roll_job *job, uint32_t rank, bool failed)
{
    job->states[rank] = failed ? MU_RANK_FAILED : MU_RANK_LEFT;
    job->ended++;
}

static void enroll(struct mu_roll_job *job, const struct mu_local_event *event)
{
    bool failed = event->evidence.verdict != MU_VERDICT_LEFT;
    mu_gone_add(&job->gone, event->rank, event);
    job->failed += failed;
    job->left += !failed;
    uint32_t place = mu_roll_place(job, event->rank);
    if (place == UINT32_MAX)
        end_rank(job, event->rank, failed);
    else
        job->here[place].pid =
            0; /* the number may be used again; of its end we have our own word */
}

/* The processes of a job that ran on a dead node and are not gone yet.  'node' is its event. */
static void lose_processes(struct mu_roll *roll, struct mu_roll_job *job,
                           const struct mu_local_event *node)
{
    struct mu_local_event event = *node;
    event.subject = MU_SUBJECT_PROCESS;
    event.job = job->number;
    event.evidence = (struct mu_evidence){
        .verdict = MU_VERDICT_DEAD, /* however their node was lost: to everybody they are gone */
        .cause = MU_CAUSE_NODE_LOST,
        .seen_by = node->evidence.seen_by,
        .node = node->node,
        .seen_ns = node->evidence.seen_ns,
        .clock = node->evidence.clock,
    };
    for (uint32_t i = 0; i < job->spec.run_count; i++) {
        const struct mu_launch_run *run = &job->spec.runs[i];
        for (uint32_t j = 0; run->slot == node->node && j < run->count; j++) {
            event.rank = run->first + j;
            if (mu_gone_has(&job->gone, event.rank))
                continue;
            event.serial = ++roll->serial;
            enroll(job, &event);
        }
    }
}

/* ---- begin, over ---- */

static void list_here(struct mu_roll_job *job, mu_slot self)
{
    for (uint32_t i = 0; i < job->spec.run_count; i++) {
        const struct mu_launch_run *run = &job->spec.runs[i];
        for (uint32_t j = 0; run->slot == self && j < run->count; j++)
            job->here[job->here_count++].rank = run->first + j;
    }
}

/* NULL: no memory. */
static struct mu_roll_job *make_job(uint32_t number, const struct mu_launch_job *spec, mu_slot self)
{
    struct mu_roll_job *job = calloc(1, sizeof *job);
    struct mu_launch_run *runs = calloc(spec->run_count, sizeof *runs);
    if (job == NULL || runs == NULL) {
        free(runs);
        free(job);
        return NULL;
    }
    job->number = number;
    job->spec =
        (struct mu_launch_job){.size = spec->size, .run_count = spec->run_count, .runs = runs};
    job->states = calloc(spec->size, sizeof *job->states);
    job->here = calloc(mu_roll_count(spec, self) + (size_t)1, sizeof *job->here);
    if (!mu_gone_init(&job->gone, spec->size) || job->states == NULL || job->here == NULL) {
        free_job(job);
        return NULL;
    }
    memcpy(runs, spec->runs, spec->run_count * sizeof *runs);
    list_here(job, self);
    return job;
}

static void append_job(struct mu_roll *roll, struct mu_roll_job *job)
{
    struct mu_roll_job **end = &roll->jobs;
    while (*end != NULL)
        end = &(*end)->next;
    *end = job;
    job->order = ++roll->jobs_begun;
    roll->job_count++;
}

/* Its number is used again, or was used. */
static void set_over(struct mu_roll *roll, uint32_t job, bool over, uint64_t now_ns)
{
    for (uint32_t i = 0; i < MU_ROLL_OVER_MAX; i++)
        if (roll->over[i].number == job)
            roll->over[i].number = 0;
    if (over)
        roll->over[roll->over_next++ % MU_ROLL_OVER_MAX] = (struct mu_roll_over){job, now_ns};
}

/* What came before the job did.  No program can have heard it: who is of the job comes later. */
static void was_gone(void *arg, const struct mu_local_event *event)
{
    struct mu_roll_job *job = arg;
    if (event->rank < job->spec.size)
        enroll(job, event);
}

struct losing {
    struct mu_roll *roll;
    struct mu_roll_job *job;
};

static void lose_on_dead_node(void *arg, const struct mu_local_event *node)
{
    const struct losing *losing = arg;
    lose_processes(losing->roll, losing->job, node);
}

struct mu_roll_change mu_roll_begin(struct mu_roll *roll, uint32_t job,
                                    const struct mu_launch_job *spec)
{
    if (mu_roll_find(roll, job) != NULL)
        return refuse(roll, "a job of this number runs here already");
    if (mu_unbegun_lost(&roll->unbegun, job))
        return refuse(roll, "so many processes were gone before the job began here that not all "
                            "could be kept");
    struct mu_roll_job *made = make_job(job, spec, roll->self);
    if (made == NULL)
        return refuse(roll, "no memory for the roll of the job");
    struct mu_roll_change change = nothing(roll);
    append_job(roll, made);
    set_over(roll, job, false, 0);
    mu_unbegun_take(&roll->unbegun, job, was_gone, made);
    mu_roll_dead_before(roll, lose_on_dead_node, &(struct losing){roll, made});
    change.what = MU_ROLL_BEGAN;
    change.job = made;
    change.last = roll->serial;
    return change;
}

struct mu_roll_change mu_roll_over(struct mu_roll *roll, uint32_t job, uint64_t now_ns)
{
    struct mu_roll_change change = nothing(roll);
    struct mu_roll_job **link = &roll->jobs;
    while (*link != NULL && (*link)->number != job)
        link = &(*link)->next;
    if (*link == NULL)
        return change;
    roll->ending = *link;
    *link = roll->ending->next;
    roll->job_count--;
    set_over(roll, job, true, now_ns);
    change.what = MU_ROLL_OVER;
    change.job = roll->ending;
    return change;
}

/* ---- started, ended: processes of this node ---- */

/* Its place here; NULL: no such job or rank is here. */
static struct mu_roll_here *find_here(struct mu_roll_change *change, uint32_t job, uint32_t rank)
{
    struct mu_roll_job *known = mu_roll_find(change->roll, job);
    uint32_t place = known != NULL ? mu_roll_place(known, rank) : UINT32_MAX;
    change->job = known;
    change->rank = rank;
    return place != UINT32_MAX ? &known->here[place] : NULL;
}

struct mu_roll_change mu_roll_started(struct mu_roll *roll, uint32_t job, uint32_t rank,
                                      uint32_t pid)
{
    struct mu_roll_change change = nothing(roll);
    struct mu_roll_here *here = find_here(&change, job, rank);
    if (here == NULL || has_ended(change.job, rank) || mu_gone_has(&change.job->gone, rank))
        return nothing(roll);
    here->pid = pid;
    change.job->states[rank] = MU_RANK_RUNS;
    change.what = MU_ROLL_STARTED;
    return change;
}

struct mu_roll_change mu_roll_ended(struct mu_roll *roll, uint32_t job, uint32_t rank, bool failed)
{
    struct mu_roll_change change = nothing(roll);
    struct mu_roll_here *here = find_here(&change, job, rank);
    if (here == NULL || has_ended(change.job, rank))
        return nothing(roll);
    here->pid = 0;
    end_rank(change.job, rank, failed);
    change.what = MU_ROLL_ENDED;
    change.failed = failed;
    return change;
}

/* ---- told: notices ---- */

static struct mu_roll_change ignore(struct mu_roll *roll)
{
    roll->ignored++;
    return nothing(roll);
}

static bool is_known(const struct mu_roll *roll, const struct mu_roll_job *job,
                     const struct mu_local_event *news)
{
    return job != NULL ? mu_gone_has(&job->gone, news->rank)
                       : mu_unbegun_has(&roll->unbegun, news->job, news->rank);
}

static struct mu_roll_change told_process(struct mu_roll *roll, const struct mu_local_event *news)
{
    struct mu_roll_job *job = mu_roll_find(roll, news->job);
    if (job != NULL && news->rank >= job->spec.size)
        return ignore(roll);
    struct mu_roll_change change = nothing(roll);
    if (is_known(roll, job, news))
        return change;
    change.what = MU_ROLL_GONE;
    change.job = job;
    change.rank = news->rank;
    change.failed = news->evidence.verdict != MU_VERDICT_LEFT;
    change.event = *news;
    if (job != NULL)
        change.event.evidence.node = mu_roll_node(job, news->rank);
    change.event.node = change.event.evidence.node;
    change.event.serial = change.last = ++roll->serial;
    if (job != NULL)
        enroll(job, &change.event);
    else if (!mu_roll_is_over(roll, news->job))
        mu_unbegun_add(&roll->unbegun, &change.event);
    return change;
}

/* One that was never seen in is dead, so it does not come in any more. */
static void raise_to(struct mu_roll_member *member, uint32_t incarnation)
{
    if (incarnation > member->incarnation)
        member->incarnation = incarnation;
}

/* An incarnation that is in goes: it is told, and so is who ran there. */
static void lose_node(struct mu_roll *roll, uint32_t incarnation, struct mu_local_event *event)
{
    struct mu_roll_member *member = &roll->members[event->node];
    roll->in_count -= member->state == MU_MEMBER_IN;
    roll->dead_count++;
    raise_to(member, incarnation);
    member->state = MU_MEMBER_DEAD;
    member->proven = mu_evidence_is_proof(&event->evidence);
    event->serial = ++roll->serial;
    mu_gone_add(&roll->dead, event->node, event);
    for (struct mu_roll_job *job = roll->jobs; job != NULL; job = job->next)
        lose_processes(roll, job, event);
}

static struct mu_roll_change prove(struct mu_roll *roll, struct mu_roll_change change,
                                   const struct mu_local_event *news)
{
    struct mu_roll_member *member = &roll->members[news->node];
    raise_to(member, change.member.incarnation);
    if (member->state != MU_MEMBER_DEAD || member->proven || !change.member.proven)
        return nothing(roll);
    member->proven = true;
    mu_gone_prove(&roll->dead, news->node, &news->evidence);
    change.what = MU_ROLL_PROVEN;
    return change;
}

static struct mu_roll_change told_node(struct mu_roll *roll, const struct mu_local_event *news,
                                       uint32_t incarnation)
{
    if (news->node >= roll->size)
        return ignore(roll);
    struct mu_roll_change change = nothing(roll);
    const struct mu_roll_member *member = &roll->members[news->node];
    incarnation = mu_roll_incarnation(roll, news->node, incarnation);
    if (incarnation < member->incarnation)
        return change; /* of one that has come back since */
    change.member = (struct mu_roster_entry){.slot = news->node,
                                             .incarnation = incarnation,
                                             .proven = mu_evidence_is_proof(&news->evidence)};
    if (member->state == MU_MEMBER_DEAD || member->state == MU_MEMBER_LEFT)
        return prove(roll, change, news);
    change.what = MU_ROLL_DEAD;
    change.event = *news;
    change.event.evidence.node = news->node;
    lose_node(roll, incarnation, &change.event);
    change.last = roll->serial;
    return change;
}

struct mu_roll_change mu_roll_told(struct mu_roll *roll, const struct mu_local_event *news,
                                   uint32_t incarnation)
{
    return news->subject == MU_SUBJECT_NODE ? told_node(roll, news, incarnation)
                                            : told_process(roll, news);
}

/* ---- view ---- */

static const char *seats_error(const struct mu_roll *roll, const struct mu_roll_seat *seats,
                               uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (seats[i].slot >= roll->size)
            return "a view has a slot that the cluster has not";
        if (i > 0 && seats[i].slot <= seats[i - 1].slot)
            return "a list of a view is not by increasing slot";
    }
    return NULL;
}

static bool may_come_in(const struct mu_roll_member *member, uint32_t incarnation)
{
    return incarnation > member->incarnation ||
           (incarnation == member->incarnation && member->state == MU_MEMBER_IN);
}

static const char *view_error(const struct mu_roll *roll, const struct mu_roll_view *view)
{
    if (view->number == roll->view && view->hash != roll->view_hash)
        return "two views have the same number";
    const char *rule = seats_error(roll, view->ins, view->in_count);
    if (rule == NULL)
        rule = seats_error(roll, view->outs, view->out_count);
    for (uint32_t i = 0; rule == NULL && i < view->in_count; i++)
        if (!may_come_in(&roll->members[view->ins[i].slot], view->ins[i].incarnation))
            rule = "an incarnation comes in that is dead, or lower than one that was in";
    return rule;
}

/* It is out, says a view, and no notice has said it before. */
static void lose_unseen(struct mu_roll *roll, const struct mu_roll_view *view,
                        const struct mu_roll_seat *seat)
{
    struct mu_local_event event = {
        .subject = MU_SUBJECT_NODE,
        .node = seat->slot,
        .learned_ns = view->now_ns,
        .evidence = {.verdict = seat->proven ? MU_VERDICT_DEAD : MU_VERDICT_SILENT,
                     .cause = MU_CAUSE_TOLD,
                     .seen_by = roll->self,
                     .node = seat->slot,
                     .seen_ns = view->now_ns,
                     .clock = view->clock},
    };
    lose_node(roll, seat->incarnation, &event);
}

static void go_out(struct mu_roll *roll, const struct mu_roll_view *view,
                   const struct mu_roll_seat *seat, struct mu_roll_change *change)
{
    struct mu_roll_member *member = &roll->members[seat->slot];
    if (member->state != MU_MEMBER_IN)
        raise_to(member, seat->incarnation);
    if (member->state != MU_MEMBER_IN || seat->incarnation < member->incarnation)
        return;
    lose_unseen(roll, view, seat);
    if (seat->left) {
        roll->dead_count--;
        member->state = MU_MEMBER_LEFT;
    }
    roll->outs[change->out_count++] = *seat;
}

/* The place of a lower incarnation is free only when that is out. */
static void come_in(struct mu_roll *roll, const struct mu_roll_view *view,
                    const struct mu_roll_seat *seat, struct mu_roll_change *change)
{
    struct mu_roll_member *member = &roll->members[seat->slot];
    if (seat->incarnation == member->incarnation)
        return;
    if (member->state == MU_MEMBER_IN)
        go_out(roll, view, &(struct mu_roll_seat){seat->slot, member->incarnation, true, false},
               change);
    if (mu_gone_has(&roll->dead, seat->slot))
        mu_gone_back(&roll->dead, seat->slot);
    roll->dead_count -= member->state == MU_MEMBER_DEAD;
    roll->in_count++;
    *member = (struct mu_roll_member){.incarnation = seat->incarnation, .state = MU_MEMBER_IN};
    roll->ins[change->in_count++] = *seat;
}

struct mu_roll_change mu_roll_view(struct mu_roll *roll, const struct mu_roll_view *view)
{
    const char *rule = view_error(roll, view);
    if (rule != NULL)
        return refuse(roll, rule);
    struct mu_roll_change change = nothing(roll);
    if (view->number <= roll->view)
        return change;
    roll->view = view->number;
    roll->view_hash = view->hash;
    for (uint32_t i = 0; i < view->out_count; i++)
        go_out(roll, view, &view->outs[i], &change);
    for (uint32_t i = 0; i < view->in_count; i++)
        come_in(roll, view, &view->ins[i], &change);
    change.what = MU_ROLL_VIEW;
    change.ins = roll->ins;
    change.outs = roll->outs;
    change.last = roll->serial;
    return change;
}

/* ---- the view that programs are told ---- */

static uint32_t stable_parts(const struct mu_roll_stable *stable)
{
    return (stable->span_count + MU_LOCAL_SPANS_MAX - 1) / MU_LOCAL_SPANS_MAX;
}

bool mu_roll_stable_event(const struct mu_roll *roll, uint32_t i, struct mu_local_event *event)
{
    const struct mu_roll_stable *stable = &roll->stable;
    uint32_t parts = stable_parts(stable), at = i * MU_LOCAL_SPANS_MAX;
    if (i >= parts)
        return false;
    *event = (struct mu_local_event){.serial = stable->first + i,
                                     .subject = MU_SUBJECT_VIEW,
                                     .learned_ns = stable->learned_ns,
                                     .view = {.number = stable->number,
                                              .hash = stable->hash,
                                              .total = stable->total,
                                              .is_first = i == 0,
                                              .is_last = i + 1 == parts}};
    while (at < stable->span_count && event->view.span_count < MU_LOCAL_SPANS_MAX) {
        const struct mu_span *span = &stable->spans[at++];
        event->view.spans[event->view.span_count++] =
            (struct mu_local_span){span->first, span->count};
    }
    return true;
}

uint32_t mu_roll_views_told(const struct mu_roll *roll, uint64_t from, uint64_t to)
{
    uint32_t count = 0;
    uint64_t kept = roll->views_told < MU_ROLL_VIEWS_MAX ? roll->views_told : MU_ROLL_VIEWS_MAX;
    for (uint64_t i = 0; i < kept; i++) {
        const struct mu_roll_told *told =
            &roll->views[(roll->views_told - 1 - i) % MU_ROLL_VIEWS_MAX];
        count += told->last >= from && told->first < to;
        if (i + 1 == kept && kept < roll->views_told)
            count += from < told->first; /* there may have been some that are forgotten */
    }
    return count;
}

struct mu_roll_change mu_roll_stable(struct mu_roll *roll, uint64_t number, uint64_t hash,
                                     const struct mu_span *spans, uint32_t count, uint64_t now_ns)
{
    struct mu_roll_stable *stable = &roll->stable;
    struct mu_roll_change change = nothing(roll);
    if (number <= stable->number || count == 0)
        return change;
    assert(count <= roll->size / 2 + 1);
    memcpy(stable->spans, spans, count * sizeof *spans);
    stable->span_count = count;
    stable->total = 0;
    for (uint32_t i = 0; i < count; i++)
        stable->total += spans[i].count;
    stable->number = number;
    stable->hash = hash;
    stable->learned_ns = now_ns;
    stable->first = roll->serial + 1;
    stable->last = change.last = roll->serial += stable_parts(stable);
    roll->views[roll->views_told++ % MU_ROLL_VIEWS_MAX] =
        (struct mu_roll_told){stable->first, stable->last};
    change.what = MU_ROLL_STABLE;
    return change;
}

/* ---- beginning and end ---- */

bool mu_roll_open(struct mu_roll *roll, mu_slot self, uint32_t size)
{
    assert(self < size);
    *roll = (struct mu_roll){
        .self = self,
        .size = size,
        .members = calloc(size, sizeof *roll->members),
        .ins = calloc(size, sizeof *roll->ins),
        .outs = calloc(size, sizeof *roll->outs),
        .stable.spans = calloc(size / 2 + 1, sizeof *roll->stable.spans),
    };
    mu_unbegun_init(&roll->unbegun, MU_UNBEGUN_MAX);
    if (mu_gone_init(&roll->dead, size) && roll->members != NULL && roll->ins != NULL &&
        roll->outs != NULL && roll->stable.spans != NULL)
        return true;
    mu_roll_close(roll);
    return false;
}

void mu_roll_close(struct mu_roll *roll)
{
    while (roll->jobs != NULL) {
        struct mu_roll_job *job = roll->jobs;
        roll->jobs = job->next;
        free_job(job);
    }
    free_job(roll->ending);
    mu_gone_free(&roll->dead);
    mu_unbegun_free(&roll->unbegun);
    free(roll->members);
    free(roll->ins);
    free(roll->outs);
    free(roll->stable.spans);
    *roll = (struct mu_roll){0};
}
