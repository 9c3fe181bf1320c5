#include "daemon/exchange/exchange.h"

#include "daemon/exchange/inside.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEAD_MAX = 64, /* of a message with one part, without the ranks */
    RUN_BYTES_MAX = 6,
    LEASE_MS = 2, /* between two looks whether it is held again */
};

/* ---- pieces ---- */

bool mu_piece_copy(struct mu_piece *piece, const uint8_t *bytes, size_t count)
{
    struct mu_bulk_message *holder = mu_bulk_message_make(count > 0 ? (uint32_t)count : 1);
    if (holder == NULL)
        return false;
    if (count > 0)
        memcpy(holder->bytes, bytes, count);
    *piece = (struct mu_piece){holder, holder->bytes, count};
    return true;
}

void mu_piece_drop(struct mu_piece *piece)
{
    mu_bulk_message_drop(piece->holder);
    *piece = (struct mu_piece){0};
}

/* ---- jobs ---- */

struct mu_exchange_job *mu_exchanges_find(const struct mu_exchanges *exchanges, uint32_t job)
{
    struct mu_exchange_job *found = exchanges->jobs;
    while (found != NULL && found->number != job)
        found = found->next;
    return found;
}

bool mu_exchanges_is_past(const struct mu_exchanges *exchanges, uint32_t job)
{
    for (uint32_t i = 0; i < MU_JOINED_PAST; i++)
        if (job != 0 && exchanges->past[i] == job)
            return true;
    return mu_roll_is_over(exchanges->config.roll, job);
}

bool mu_exchanges_is_dead(const struct mu_exchanges *exchanges, mu_slot node)
{
    return node != exchanges->self &&
           mu_roll_member(exchanges->config.roll, node).state == MU_MEMBER_DEAD;
}

void mu_exchanges_free_job(struct mu_exchange_job *job)
{
    if (job == NULL)
        return;
    while (job->series != NULL) {
        struct mu_series *series = job->series;
        job->series = series->next;
        mu_series_free(series);
    }
    mu_settle_over(job);
    free(job->shares);
    free(job);
}

struct mu_exchange_job *mu_exchanges_make_job(uint32_t number, uint32_t shares)
{
    struct mu_exchange_job *job = calloc(1, sizeof *job);
    if (job == NULL)
        return NULL;
    job->number = number;
    job->shares = calloc(shares, sizeof *job->shares);
    if (job->shares != NULL)
        return job;
    mu_exchanges_free_job(job);
    return NULL;
}

void mu_exchanges_add_share(struct mu_exchange_job *job, const struct mu_roll_job *roll)
{
    job->shares[job->share_count++] = (struct mu_exchange_share){roll, job->size};
    job->size += roll->spec.size;
    job->run_count += roll->spec.run_count;
}

void mu_exchanges_add_job(struct mu_exchanges *exchanges, struct mu_exchange_job *job)
{
    job->next = exchanges->jobs;
    exchanges->jobs = job;
    for (uint32_t i = 0; i < MU_JOINED_PAST; i++)
        if (exchanges->past[i] == job->number)
            exchanges->past[i] = 0; /* its number is used again */
    mu_exchanges_later(exchanges);
}

static const char *begin_job(struct mu_exchanges *exchanges, const struct mu_roll_job *roll)
{
    if (roll->number == MU_SETTLE_JOB)
        return "the number of a job is not 0";
    struct mu_exchange_job *made = mu_exchanges_make_job(roll->number, 1);
    if (made == NULL)
        return "no memory for the exchanges of the job";
    mu_exchanges_add_share(made, roll);
    mu_exchanges_add_job(exchanges, made);
    return NULL;
}

/* ---- what the roll says of its ranks ---- */

struct mu_launch_run mu_exchange_run(const struct mu_exchange_job *job, uint32_t i)
{
    const struct mu_exchange_share *share = job->shares;
    for (; i >= share->roll->spec.run_count; share++)
        i -= share->roll->spec.run_count;
    struct mu_launch_run run = share->roll->spec.runs[i];
    run.first += share->first;
    return run;
}

static const struct mu_exchange_share *share_of(const struct mu_exchange_job *job, uint32_t rank)
{
    const struct mu_exchange_share *share = job->shares;
    while (rank - share->first >= share->roll->spec.size)
        share++;
    return share;
}

mu_slot mu_exchange_node(const struct mu_exchange_job *job, uint32_t rank)
{
    const struct mu_exchange_share *share = share_of(job, rank);
    return mu_roll_node(share->roll, rank - share->first);
}

enum mu_rank_state mu_exchange_state(const struct mu_exchange_job *job, uint32_t rank)
{
    const struct mu_exchange_share *share = share_of(job, rank);
    return mu_roll_state(share->roll, rank - share->first);
}

/* ---- changes of the roll ---- */

static void drop_early(struct mu_exchanges *exchanges, struct mu_early **place)
{
    struct mu_early *early = *place;
    *place = early->next;
    if (*place == NULL)
        exchanges->early_end = place;
    exchanges->counts.early -= early->message->count;
    mu_bulk_message_drop(early->message);
    free(early);
}

void mu_exchanges_end_job(struct mu_exchanges *exchanges, uint32_t job)
{
    struct mu_exchange_job **place = &exchanges->jobs;
    while (*place != NULL && (*place)->number != job)
        place = &(*place)->next;
    struct mu_exchange_job *over = *place;
    if (over == NULL)
        return; /* it could not begin */
    *place = over->next;
    if (over->joined)
        exchanges->past[exchanges->past_next++ % MU_JOINED_PAST] = job;
    mu_exchanges_free_job(over);
    mu_questions_drop(exchanges, job, false);
    /* Of several jobs as one, which nobody will make here any more. */
    bool no_joint = exchanges->jobs == NULL;
    for (struct mu_early **early = &exchanges->early; *early != NULL;)
        if ((*early)->job == job || (no_joint && (*early)->job >> 31 != 0))
            drop_early(exchanges, early);
        else
            early = &(*early)->next;
}

/* In each job that has it: its own, and those that this is a part of. */
static void end_rank(struct mu_exchanges *exchanges, const struct mu_roll_job *roll, uint32_t rank)
{
    for (struct mu_exchange_job *job = exchanges->jobs; job != NULL; job = job->next)
        for (uint32_t i = 0; i < job->share_count; i++)
            for (struct mu_series *series = job->series;
                 job->shares[i].roll == roll && series != NULL; series = series->next)
                mu_series_ended(series, job->shares[i].first + rank);
    mu_exchanges_later(exchanges);
}

/* Of ranks here ENDED has said it, or will. */
static void end_remote(void *arg, const struct mu_local_event *event)
{
    struct mu_exchanges *exchanges = arg;
    if (event->subject != MU_SUBJECT_PROCESS)
        return;
    const struct mu_roll_job *roll = mu_roll_find(exchanges->config.roll, event->job);
    if (roll != NULL && mu_roll_place(roll, event->rank) == UINT32_MAX)
        end_rank(exchanges, roll, event->rank);
}

static void lose_node(struct mu_exchanges *exchanges, mu_slot node)
{
    if (node == exchanges->self)
        return;
    mu_bulk_dead(exchanges->bulk, node);
    mu_questions_dead(exchanges, node);
    for (struct mu_early **early = &exchanges->early; *early != NULL;)
        if ((*early)->from == node)
            drop_early(exchanges, early);
        else
            early = &(*early)->next;
}

const char *mu_exchanges_changed(struct mu_exchanges *exchanges,
                                 const struct mu_roll_change *change)
{
    switch (change->what) {
    case MU_ROLL_BEGAN:
        return begin_job(exchanges, change->job);
    case MU_ROLL_OVER:
        mu_joined_over(exchanges, change->job);
        mu_exchanges_end_job(exchanges, change->job->number);
        return NULL;
    case MU_ROLL_ENDED:
        end_rank(exchanges, change->job, change->rank);
        return NULL;
    case MU_ROLL_GONE:
        mu_roll_events(change, end_remote, exchanges);
        return NULL;
    case MU_ROLL_DEAD:
        mu_roll_events(change, end_remote, exchanges);
        lose_node(exchanges, change->member.slot);
        return NULL;
    case MU_ROLL_VIEW:
        mu_roll_events(change, end_remote, exchanges);
        for (uint32_t i = 0; i < change->out_count; i++)
            lose_node(exchanges, change->outs[i].slot);
        return NULL;
    case MU_ROLL_NOTHING:
    case MU_ROLL_STARTED:
    case MU_ROLL_PROVEN:
    case MU_ROLL_STABLE:
        return NULL;
    }
    abort();
}

/* The core hears who is out before anything else: whoever has lost all its own participants knows
 * that before it hears of what others do without it. */
static void tell_outs(struct mu_exchanges *exchanges)
{
    for (struct mu_exchange_job *job = exchanges->jobs; job != NULL; job = job->next) {
        if (!job->outs_wait)
            continue;
        job->outs_wait = false;
        for (struct mu_series *series = job->series; series != NULL; series = series->next)
            mu_series_outs(exchanges, series);
    }
}

/* ---- messages ---- */

static const char *take_exchange(struct mu_exchanges *exchanges, struct mu_exchange_job *job,
                                 mu_slot from, const struct mu_exchange_message *message,
                                 struct mu_bulk_message *holder)
{
    const char *rule;
    struct mu_rank_run *runs = calloc(message->run_count, sizeof *runs);
    if (runs == NULL)
        abort(); /* somebody would wait for ever */
    mu_exchange_read_runs(message, runs);
    struct mu_series *series =
        mu_series_get(exchanges, job, message->tag, runs, message->run_count, &rule);
    free(runs);
    if (series == NULL)
        return rule;
    return mu_series_message(exchanges, series, from, message, holder);
}

/* All of them: who sent one counts on it, and sends nothing more of that exchange until this node
 * has taken part.  So it is no more than the exchange needs here anyway, once the job has begun.
 * Where there is no memory for a message, it has not come (bulk_flow.c), and comes again. */
static void keep_early(struct mu_exchanges *exchanges, mu_slot from, uint32_t job,
                       struct mu_bulk_message *message)
{
    struct mu_early *early = malloc(sizeof *early);
    if (early == NULL)
        abort(); /* somebody would wait for ever */
    *early = (struct mu_early){NULL, from, job, mu_bulk_message_hold(message)};
    *exchanges->early_end = early;
    exchanges->early_end = &early->next;
    exchanges->counts.early += message->count;
}

/* NULL, or the rule that it breaks. */
static const char *take(struct mu_exchanges *exchanges, mu_slot from,
                        struct mu_bulk_message *message)
{
    struct mu_exchange_message heard;
    const char *rule = mu_exchange_decode(message->bytes, message->count, &heard);
    if (rule != NULL)
        return rule;
    struct mu_exchange_job *job = mu_exchanges_find(exchanges, heard.job);
    bool is_past = job == NULL && mu_exchanges_is_past(exchanges, heard.job);
    switch ((enum mu_exchange_type)heard.type) {
    case MU_EXCHANGE_UP:
    case MU_EXCHANGE_DOWN:
    case MU_EXCHANGE_WANT:
    case MU_EXCHANGE_PART:
        if (job != NULL)
            return take_exchange(exchanges, job, from, &heard, message);
        if (!is_past)
            keep_early(exchanges, from, heard.job, message);
        return NULL;
    case MU_EXCHANGE_QUESTION:
        if (heard.hosted && job == NULL && !is_past)
            keep_early(exchanges, from, heard.job, message);
        else
            mu_question_came(exchanges, from, &heard);
        return NULL;
    case MU_EXCHANGE_ANSWER:
        mu_answer_came(exchanges, from, &heard);
        return NULL;
    }
    abort();
}

/* What came before its job did, in the order in which it came. */
static void take_early(struct mu_exchanges *exchanges)
{
    for (struct mu_early **place = &exchanges->early; *place != NULL;) {
        struct mu_early *early = *place;
        if (mu_exchanges_find(exchanges, early->job) == NULL) {
            place = &early->next;
            continue;
        }
        mu_slot from = early->from;
        struct mu_bulk_message *message = mu_bulk_message_hold(early->message);
        drop_early(exchanges, place);
        exchanges->counts.dropped += take(exchanges, from, message) != NULL;
        mu_bulk_message_drop(message);
        place = &exchanges->early; /* a hook may have changed the list */
    }
}

static const char *on_message(void *owner, mu_slot from, struct mu_bulk_message *message)
{
    struct mu_exchanges *exchanges = owner;
    tell_outs(exchanges);
    take_early(exchanges);
    return take(exchanges, from, message);
}

static void on_fenced(void *owner, mu_slot by)
{
    struct mu_exchanges *exchanges = owner;
    if (exchanges->config.hooks.fenced != NULL)
        exchanges->config.hooks.fenced(exchanges->config.hooks.owner, by);
}

/* ---- from the loop ---- */

static void on_lease(uv_timer_t *timer)
{
    mu_exchanges_later(timer->data);
}

/* It can run out and be extended without a word of the detector: so it is asked for, as agreements
 * do. */
bool mu_exchanges_has_lease(struct mu_exchanges *exchanges)
{
    const struct mu_exchanges_hooks *hooks = &exchanges->config.hooks;
    if (hooks->lease == NULL || hooks->lease(hooks->owner))
        return true;
    if (!exchanges->left)
        uv_timer_start(&exchanges->lease, on_lease, LEASE_MS, 0);
    return false;
}

static bool may_tell(struct mu_exchanges *exchanges, const struct mu_series *series)
{
    bool is_alone = series->core->members.total == 1; /* whoever else lives */
    return series->told_turn != exchanges->turn && mu_series_is_ready(series) &&
           (is_alone || mu_exchanges_has_lease(exchanges));
}

/* 'done' may begin others: so each time from the first one on, but each series once a turn.  One
 * that is always ready again must not keep the loop from everything else. */
static struct mu_series *find_ready(struct mu_exchanges *exchanges)
{
    for (struct mu_exchange_job *job = exchanges->jobs; job != NULL; job = job->next)
        for (struct mu_series *series = job->series; series != NULL; series = series->next) {
            mu_series_call(exchanges, series);
            if (may_tell(exchanges, series))
                return series;
        }
    return NULL;
}

static void on_later(uv_idle_t *idle)
{
    struct mu_exchanges *exchanges = idle->data;
    struct mu_series *series;
    uv_idle_stop(idle);
    exchanges->turn++;
    tell_outs(exchanges);
    take_early(exchanges);
    while (!exchanges->left && (series = find_ready(exchanges)) != NULL) {
        series->told_turn = exchanges->turn;
        mu_series_tell(exchanges, series);
    }
    mu_questions_tell(exchanges);
    if (!exchanges->left)
        mu_settle(exchanges);
}

void mu_exchanges_later(struct mu_exchanges *exchanges)
{
    if (!exchanges->left)
        uv_idle_start(&exchanges->later, on_later);
}

/* ---- beginning one ---- */

static int compare_runs(const void *a, const void *b)
{
    const struct mu_rank_run *left = a, *right = b;
    return left->first < right->first ? -1 : left->first > right->first;
}

/* One spelling for one set of ranks: in order, joined where they touch.  Returns how many. */
static uint32_t join_runs(struct mu_rank_run *runs, uint32_t count)
{
    uint32_t kept = 0;
    qsort(runs, count, sizeof *runs, compare_runs);
    for (uint32_t i = 0; i < count; i++) {
        struct mu_rank_run *last = kept > 0 ? &runs[kept - 1] : NULL;
        uint64_t end = (uint64_t)runs[i].first + runs[i].count;
        if (runs[i].count == 0)
            continue;
        if (last == NULL || runs[i].first > last->first + (uint64_t)last->count)
            runs[kept++] = runs[i];
        else if (end > last->first + (uint64_t)last->count)
            last->count = (uint32_t)(end - last->first);
    }
    return kept;
}

static const char *append_call(struct mu_exchanges *exchanges, struct mu_series *series,
                               const uint8_t *bytes, size_t count, mu_exchange_done *done,
                               void *arg)
{
    if (series->core->retired)
        return "no participant of the exchange lives on this node";
    if (count > MU_BULK_MESSAGE_MAX - HEAD_MAX - series->run_count * (size_t)RUN_BYTES_MAX)
        return "the part of one node in an exchange is at most 64 MiB";
    struct mu_exchange_call *call = calloc(1, sizeof *call);
    if (call == NULL || !mu_piece_copy(&call->piece, bytes, count)) {
        free(call);
        return "no memory for one more exchange";
    }
    call->done = done;
    call->arg = arg;
    *series->calls_end = call;
    series->calls_end = &call->next;
    mu_series_call(exchanges, series);
    return NULL;
}

const char *mu_exchange_begin(struct mu_exchanges *exchanges, uint32_t job, uint64_t tag,
                              const struct mu_rank_run *ranks, uint32_t run_count,
                              const uint8_t *bytes, size_t count, mu_exchange_done *done, void *arg)
{
    struct mu_exchange_job *known = mu_exchanges_find(exchanges, job);
    if (known == NULL)
        return "no job of this number runs here";
    struct mu_rank_run *runs = calloc(run_count + (size_t)1, sizeof *runs);
    if (runs == NULL)
        return "no memory for one more exchange";
    if (run_count > 0)
        memcpy(runs, ranks, run_count * sizeof *runs);
    run_count = join_runs(runs, run_count);
    tell_outs(exchanges);
    const char *why;
    struct mu_series *series = mu_series_get(exchanges, known, tag, runs, run_count, &why);
    free(runs);
    return series == NULL ? why : append_call(exchanges, series, bytes, count, done, arg);
}

void mu_exchange_abandon(struct mu_exchanges *exchanges, const void *arg)
{
    for (struct mu_exchange_job *job = exchanges->jobs; job != NULL; job = job->next)
        for (struct mu_series *series = job->series; series != NULL; series = series->next)
            for (struct mu_exchange_call *call = series->calls; call != NULL; call = call->next)
                if (call->arg == arg)
                    call->done = NULL;
    for (struct mu_question *each = exchanges->questions; each != NULL; each = each->next)
        if (each->arg == arg)
            each->answered = NULL;
}

/* ---- beginning and end ---- */

int mu_exchanges_open(const struct mu_exchanges_config *config, struct mu_exchanges **exchanges)
{
    struct mu_exchanges *made = calloc(1, sizeof *made);
    if (made == NULL)
        return ENOMEM;
    const struct mu_bulk_hooks hooks = {made, on_message, on_fenced};
    made->config = *config;
    made->self = config->net->self.from;
    made->bulk = mu_bulk_open(config->net, config->addresses, &hooks);
    made->resting_max = MU_EXCHANGES_RESTING_MAX;
    made->early_end = &made->early;
    made->questions_end = &made->questions;
    if (made->bulk == NULL) {
        free(made);
        return ENOMEM;
    }
    uv_idle_init(config->net->loop, &made->later);
    uv_timer_init(config->net->loop, &made->lease);
    made->later.data = made->lease.data = made;
    made->handles = 2;
    *exchanges = made;
    return 0;
}

void mu_exchanges_member(struct mu_exchanges *exchanges, struct mu_conn *conn)
{
    mu_bulk_member(exchanges->bulk, conn);
}

void mu_exchanges_leave(struct mu_exchanges *exchanges, bool goodbye)
{
    exchanges->left = true;
    uv_idle_stop(&exchanges->later);
    uv_timer_stop(&exchanges->lease);
    mu_bulk_leave(exchanges->bulk, goodbye);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct mu_exchanges *exchanges = handle->data;
    if (--exchanges->handles == 0)
        free(exchanges);
}

void mu_exchanges_close(struct mu_exchanges *exchanges)
{
    if (exchanges == NULL)
        return;
    mu_exchanges_leave(exchanges, true);
    mu_bulk_close(exchanges->bulk);
    mu_questions_drop(exchanges, 0, true);
    while (exchanges->early != NULL)
        drop_early(exchanges, &exchanges->early);
    while (exchanges->jobs != NULL) {
        struct mu_exchange_job *job = exchanges->jobs;
        exchanges->jobs = job->next;
        mu_exchanges_free_job(job);
    }
    free(exchanges->update.effects);
    free(exchanges->made);
    uv_close((uv_handle_t *)&exchanges->later, on_handle_closed);
    uv_close((uv_handle_t *)&exchanges->lease, on_handle_closed);
}

struct mu_exchanges_counts mu_exchanges_counts(const struct mu_exchanges *exchanges)
{
    struct mu_exchanges_counts counts = exchanges->counts;
    counts.bulk = mu_bulk_counts(exchanges->bulk);
    return counts;
}
