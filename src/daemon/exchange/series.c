/* Exchanges of the same ranks: between the core, which knows who, and the bytes. */
#include "daemon/exchange/inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_BYTES = 4 * 1024 * 1024 }; /* more parts go into another message */

/* ---- who takes part ---- */

static bool has_rank(const struct mu_series *series, uint32_t rank)
{
    uint32_t low = 0, high = series->run_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (series->runs[middle].first + series->runs[middle].count <= rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < series->run_count && series->runs[low].first <= rank;
}

static bool takes(const struct mu_series *series, const struct mu_launch_run *run)
{
    for (uint32_t k = 0; k < run->count; k++)
        if (has_rank(series, run->first + k))
            return true;
    return false;
}

/* The nodes of the ranks, in order, each once.  NULL: no memory. */
static struct mu_span *spans_of(const struct mu_series *series, uint32_t *count)
{
    const struct mu_exchange_job *job = series->job;
    mu_slot *slots = calloc(job->run_count, sizeof *slots);
    struct mu_span *spans = calloc(job->run_count, sizeof *spans);
    uint32_t found = 0;
    *count = 0;
    for (uint32_t i = 0; slots != NULL && i < job->run_count; i++) {
        const struct mu_launch_run run = mu_exchange_run(job, i);
        if (takes(series, &run))
            slots[found++] = run.slot;
    }
    if (slots != NULL && spans != NULL)
        *count = mu_roll_spans(slots, found, spans);
    bool good = slots != NULL && spans != NULL;
    free(slots);
    if (!good)
        free(spans);
    return good ? spans : NULL;
}

static uint32_t position_of(const struct mu_series *series, mu_slot slot)
{
    return mu_members_position(&series->core->members, slot);
}

static void count_living(struct mu_series *series)
{
    const struct mu_exchange_job *job = series->job;
    for (uint32_t i = 0; i < job->run_count; i++) {
        const struct mu_launch_run run = mu_exchange_run(job, i);
        uint32_t position = position_of(series, run.slot);
        for (uint32_t k = 0; k < run.count; k++) {
            uint32_t rank = run.first + k;
            if (!has_rank(series, rank))
                continue;
            series->living[position]++;
            if (mu_exchange_state(job, rank) >= MU_RANK_LEFT)
                mu_series_ended(series, rank);
        }
    }
}

/* ---- making ---- */

void mu_series_free(struct mu_series *series)
{
    uint32_t pieces = 0;
    if (series->pieces != NULL)
        pieces = series->core->members.total * MU_ALLGATHER_ROUNDS;
    for (uint32_t i = 0; i < pieces; i++)
        mu_piece_drop(&series->pieces[i]);
    while (series->calls != NULL) {
        struct mu_exchange_call *call = series->calls;
        series->calls = call->next;
        mu_piece_drop(&call->piece);
        free(call);
    }
    mu_recorder_end(series->record);
    free(series->runs);
    free(series->memory);
    free(series->living);
    free(series->pieces);
    free(series->set);
    free(series);
}

/* The core of a series, and what goes with it.  False: no memory. */
static bool open_core(struct mu_exchanges *exchanges, struct mu_series *series,
                      const struct mu_span *spans, uint32_t span_count)
{
    struct mu_allgather_config config = {.size = exchanges->config.net->self.size,
                                         .self = exchanges->self,
                                         .shift = exchanges->config.shift,
                                         .spans = spans,
                                         .span_count = span_count,
                                         .done = mu_settled_round(series->job, series->id)};
    size_t bytes = mu_allgather_bytes(&config);
    series->memory = aligned_alloc(64, bytes);
    if (series->memory == NULL)
        return false;
    series->core = mu_allgather_init(series->memory, bytes, &config);
    series->record = mu_recorder_stream(exchanges->config.recorder, MU_RECORD_GATHER, &config);
    size_t total = series->core->members.total;
    series->living = calloc(total, sizeof *series->living);
    series->pieces = calloc(total * MU_ALLGATHER_ROUNDS, sizeof *series->pieces);
    series->set = calloc(series->core->words, sizeof *series->set);
    uint32_t effects = mu_allgather_effects_max(&config);
    if (effects > exchanges->update.capacity) {
        struct mu_allgather_effect *more =
            realloc(exchanges->update.effects, effects * sizeof *more);
        if (more == NULL)
            return false;
        exchanges->update.effects = more;
        exchanges->update.capacity = effects;
    }
    return series->living != NULL && series->pieces != NULL && series->set != NULL;
}

static bool has_member(const struct mu_span *spans, uint32_t count, mu_slot slot)
{
    for (uint32_t i = 0; i < count; i++)
        if (slot >= spans[i].first && slot - spans[i].first < spans[i].count)
            return true;
    return false;
}

static struct mu_series *make(struct mu_exchanges *exchanges, struct mu_exchange_job *job,
                              uint64_t tag, const struct mu_rank_run *runs, uint32_t run_count,
                              const char **why)
{
    struct mu_series *series = calloc(1, sizeof *series);
    *why = "no memory for one more exchange";
    if (series == NULL)
        return NULL;
    *series = (struct mu_series){
        .job = job, .tag = tag, .run_count = run_count, .runs = calloc(run_count, sizeof *runs)};
    series->calls_end = &series->calls;
    uint32_t span_count = 0;
    struct mu_span *spans = NULL;
    if (series->runs != NULL) {
        memcpy(series->runs, runs, run_count * sizeof *runs);
        mu_series_name(series);
        spans = spans_of(series, &span_count);
    }
    bool is_member = spans != NULL && has_member(spans, span_count, exchanges->self);
    if (spans != NULL && !is_member)
        *why = "none of the ranks of the exchange is on this node";
    if (!is_member || !open_core(exchanges, series, spans, span_count)) {
        free(spans);
        mu_series_free(series);
        return NULL;
    }
    free(spans);
    count_living(series);
    series->next = job->series;
    job->series = series;
    mu_series_outs(exchanges, series);
    return series;
}

struct mu_series *mu_series_get(struct mu_exchanges *exchanges, struct mu_exchange_job *job,
                                uint64_t tag, const struct mu_rank_run *runs, uint32_t run_count,
                                const char **why)
{
    *why = mu_exchange_runs_error(runs, run_count);
    if (*why != NULL)
        return NULL;
    if (runs[run_count - 1].first + (uint64_t)runs[run_count - 1].count > job->size) {
        *why = "a rank of the exchange is not below the size of the job";
        return NULL;
    }
    for (struct mu_series *series = job->series; series != NULL; series = series->next)
        if (series->tag == tag && series->run_count == run_count &&
            memcmp(series->runs, runs, run_count * sizeof *runs) == 0)
            return series;
    return make(exchanges, job, tag, runs, run_count, why);
}

/* ---- out ---- */

static struct mu_piece *pieces_of(const struct mu_series *series, uint64_t round)
{
    return &series->pieces[round % MU_ALLGATHER_ROUNDS * series->core->members.total];
}

/* The position after 'at' of the next member in the set; UINT32_MAX: none. */
static uint32_t next_in(const struct mu_series *series, const uint64_t *set, uint32_t at)
{
    for (uint32_t i = at; set != NULL && i < series->core->members.total; i++)
        if (mu_allgather_in(set, i))
            return i;
    return UINT32_MAX;
}

static struct mu_exchange_part part_at(const struct mu_series *series, uint64_t round,
                                       uint32_t position)
{
    const struct mu_piece *piece = &pieces_of(series, round)[position];
    assert(piece->holder != NULL);
    return (struct mu_exchange_part){.node = mu_members_slot(&series->core->members, position),
                                     .bytes = piece->bytes,
                                     .count = piece->count};
}

/* One message, with the parts from position 'first' up to 'end'. */
static void write_parts(const struct mu_series *series, struct mu_writer *writer,
                        const struct mu_exchange_message *head, const uint64_t *set, uint32_t first,
                        uint32_t end)
{
    struct mu_exchange_part before = {0};
    mu_exchange_encode(writer, head, series->runs);
    bool is_first = true;
    for (uint32_t i = next_in(series, set, first); i < end; i = next_in(series, set, i + 1)) {
        struct mu_exchange_part part = part_at(series, head->round, i);
        mu_exchange_encode_part(writer, &part, is_first ? NULL : &before);
        before = part;
        is_first = false;
    }
}

static void keep_made(struct mu_exchanges *exchanges, struct mu_bulk_message *message)
{
    if (exchanges->made_count == exchanges->made_room) {
        uint32_t room = exchanges->made_room * 2 + 4;
        struct mu_bulk_message **more = realloc(exchanges->made, room * sizeof *more);
        if (more == NULL)
            abort(); /* what others wait for could not go */
        exchanges->made = more;
        exchanges->made_room = room;
    }
    exchanges->made[exchanges->made_count++] = message;
}

/* As many messages as the parts need: all but the last are PART. */
static void make_messages(struct mu_exchanges *exchanges, const struct mu_series *series,
                          const struct mu_allgather_message *what)
{
    uint32_t first = 0, total = series->core->members.total;
    do {
        struct mu_exchange_message head = {.type = what->type,
                                           .job = series->job->number,
                                           .tag = series->tag,
                                           .round = what->round,
                                           .run_count = series->run_count};
        uint32_t at = next_in(series, what->parts, first), end = at;
        for (size_t bytes = 0; at < total; at = next_in(series, what->parts, at + 1)) {
            size_t count = part_at(series, what->round, at).count;
            if (bytes > 0 && bytes + count > MESSAGE_BYTES)
                break;
            bytes += count + 1;
            head.part_count++;
            end = at + 1;
        }
        if (at < total)
            head.type = MU_EXCHANGE_PART;
        struct mu_writer writer;
        mu_writer_init(&writer, NULL, SIZE_MAX);
        write_parts(series, &writer, &head, what->parts, first, end);
        struct mu_bulk_message *message = mu_bulk_message_make((uint32_t)writer.used);
        if (message == NULL)
            abort(); /* what others wait for could not go */
        mu_writer_init(&writer, message->bytes, message->count);
        write_parts(series, &writer, &head, what->parts, first, end);
        assert(!writer.full && writer.used == message->count);
        keep_made(exchanges, message);
        first = at;
    } while (first < total);
}

static void drop_made(struct mu_exchanges *exchanges)
{
    while (exchanges->made_count > 0)
        mu_bulk_message_drop(exchanges->made[--exchanges->made_count]);
}

static void forget(struct mu_series *series, uint64_t round)
{
    struct mu_piece *pieces = pieces_of(series, round);
    for (uint32_t i = 0; i < series->core->members.total; i++)
        mu_piece_drop(&pieces[i]);
}

/* A result goes to several: its messages are made once.  NULL, or the rule that the event broke. */
static const char *carry_out(struct mu_exchanges *exchanges, struct mu_series *series)
{
    struct mu_allgather_message made = {0};
    const char *rule = NULL;
    for (uint32_t i = 0; i < exchanges->update.count; i++) {
        const struct mu_allgather_effect *effect = &exchanges->update.effects[i];
        switch (effect->type) {
        case MU_ALLGATHER_SEND:
            if (made.type != effect->message.type || made.round != effect->message.round) {
                drop_made(exchanges);
                make_messages(exchanges, series, &effect->message);
                made = effect->message;
            }
            for (uint32_t k = 0; k < exchanges->made_count; k++)
                mu_bulk_send(exchanges->bulk, effect->peer, exchanges->made[k]);
            break;
        case MU_ALLGATHER_DELIVER:
            series->ready = true;
            series->ready_round = effect->message.round;
            exchanges->counts.done++;
            mu_exchanges_later(exchanges);
            break;
        case MU_ALLGATHER_FORGET:
            forget(series, effect->message.round);
            break;
        case MU_ALLGATHER_FAULT:
            rule = mu_fault_text(effect->fault);
            break;
        }
    }
    drop_made(exchanges);
    return rule;
}

static const char *step(struct mu_exchanges *exchanges, struct mu_series *series,
                        const struct mu_allgather_event *event)
{
    mu_allgather_step(series->core, event, &exchanges->update);
    mu_recorder_step(series->record, event, &exchanges->update);
    return carry_out(exchanges, series);
}

/* ---- in ---- */

void mu_series_call(struct mu_exchanges *exchanges, struct mu_series *series)
{
    struct mu_exchange_call *call = series->calls;
    if (series->calling || call == NULL || series->core->retired)
        return;
    series->calling = true;
    struct mu_piece *own = &pieces_of(series, series->core->done + 1)[series->core->position];
    mu_piece_drop(own);
    *own = call->piece;
    call->piece = (struct mu_piece){0};
    const struct mu_allgather_event event = {.type = MU_ALLGATHER_CALL};
    const char *rule = step(exchanges, series, &event);
    assert(rule == NULL); /* 'calling' */
    (void)rule;
}

const char *mu_series_message(struct mu_exchanges *exchanges, struct mu_series *series,
                              mu_slot from, const struct mu_exchange_message *message,
                              struct mu_bulk_message *holder)
{
    struct mu_reader at = message->parts;
    struct mu_exchange_part part = {.node = MU_SLOT_NONE};
    memset(series->set, 0, series->core->words * sizeof *series->set);
    for (uint32_t i = 0; i < message->part_count; i++) {
        mu_exchange_read_part(&at, &part);
        uint32_t position = position_of(series, part.node);
        if (position == UINT32_MAX)
            return "a part is of a node that takes part";
        mu_allgather_put(series->set, position);
        if (!mu_allgather_lacks(series->core, message->round, position))
            continue;
        struct mu_piece *piece = &pieces_of(series, message->round)[position];
        mu_piece_drop(piece);
        *piece = (struct mu_piece){mu_bulk_message_hold(holder), part.bytes, part.count};
    }
    const struct mu_allgather_message heard = {
        .type = message->type,
        .round = message->round,
        .parts = message->type == MU_EXCHANGE_WANT ? NULL : series->set};
    const struct mu_allgather_event event = {
        .type = MU_ALLGATHER_RECV, .slot = from, .message = &heard};
    return step(exchanges, series, &event);
}

void mu_series_ended(struct mu_series *series, uint32_t rank)
{
    if (!has_rank(series, rank))
        return;
    series->living[position_of(series, mu_exchange_node(series->job, rank))]--;
    series->job->outs_wait = true;
}

void mu_series_outs(struct mu_exchanges *exchanges, struct mu_series *series)
{
    struct mu_allgather_event event = {.type = MU_ALLGATHER_OUT};
    for (uint32_t i = 0; i < series->core->members.total; i++) {
        if (series->living[i] > 0 || mu_allgather_is_out(series->core, i))
            continue;
        event.slot = mu_members_slot(&series->core->members, i);
        step(exchanges, series, &event);
    }
    if (series->core->retired && series->calls != NULL)
        mu_exchanges_later(exchanges);
}

/* ---- results ---- */

/* A member without a part is out, as whoever made the result has known.  Here that news may still
 * be on its way, and without it nobody can say whether those who are missing have failed. */
static bool knows_who_is_missing(const struct mu_series *series)
{
    const uint64_t *have = series->core->rounds[series->ready_round % MU_ALLGATHER_ROUNDS].have;
    for (uint32_t i = 0; i < series->core->members.total; i++)
        if (!mu_allgather_in(have, i) && series->living[i] > 0)
            return false;
    return true;
}

/* Whoever has come and failed since is not missed: so all who get the same parts are told the same,
 * however late they hear of it. */
static uint32_t count_missed(const struct mu_series *series, const uint64_t *have)
{
    const struct mu_exchange_job *job = series->job;
    uint32_t missed = 0;
    for (uint32_t i = 0; i < job->run_count; i++) {
        const struct mu_launch_run run = mu_exchange_run(job, i);
        uint32_t position = position_of(series, run.slot);
        if (position == UINT32_MAX || mu_allgather_in(have, position))
            continue;
        for (uint32_t rank = run.first; rank - run.first < run.count; rank++)
            missed += has_rank(series, rank) && mu_exchange_state(job, rank) == MU_RANK_FAILED;
    }
    return missed;
}

bool mu_series_is_ready(const struct mu_series *series)
{
    if (series->core->retired)
        return series->ready || series->calls != NULL;
    return series->ready && knows_who_is_missing(series);
}

void mu_series_tell(struct mu_exchanges *exchanges, struct mu_series *series)
{
    const uint64_t *have = series->core->rounds[series->ready_round % MU_ALLGATHER_ROUNDS].have;
    uint32_t total = series->core->members.total, count = 0;
    struct mu_exchange_part *parts = calloc(total, sizeof *parts);
    if (parts == NULL)
        abort(); /* somebody would wait for ever */
    for (uint32_t i = 0; i < total && series->ready; i++)
        if (mu_allgather_in(have, i))
            parts[count++] = part_at(series, series->ready_round, i);
    struct mu_exchange_call *call = series->calls;
    series->calls = call->next;
    if (series->calls == NULL)
        series->calls_end = &series->calls;
    series->ready = series->calling = false;
    const struct mu_exchange_result result = {
        .part_count = count, .parts = parts, .missed = count_missed(series, have)};
    mu_exchanges_later(exchanges); /* another call may have waited for this one */
    if (call->done != NULL)
        call->done(call->arg, &result);
    mu_piece_drop(&call->piece);
    free(call);
    free(parts);
}
