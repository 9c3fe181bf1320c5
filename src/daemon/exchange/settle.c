/* Series that nobody needs any more: docs/spec/exchange.md, "When a series is settled".
 *
 * When the last results that are kept take too much room, all members are asked whether they have
 * them, too.  What everybody has, nobody will ask for: of such a series only the number of its last
 * round stays, so that the next one has the number that it has everywhere. */
#include "daemon/exchange/inside.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { ID = MU_SERIES_ID_BYTES, ENTRY = ID + 8, HEAD = 4, FIRST_ROOM = 64 };

/* One series of which others are asked. */
struct asked {
    uint8_t id[ID];
    uint64_t round;
    bool stays; /* somebody has not got that result, or it is not known */
};

struct mu_sweep {
    struct mu_exchanges *exchanges;
    uint32_t job;
    uint32_t waits; /* for so many answers */
    uint32_t count;
    struct asked asked[];
};

/* ---- names of series, the same at all nodes ---- */

void mu_series_name(struct mu_series *series)
{
    crypto_generichash_state state;
    uint8_t bytes[8];
    struct mu_writer writer;
    crypto_generichash_init(&state, NULL, 0, ID);
    mu_writer_init(&writer, bytes, sizeof bytes);
    mu_write_u64(&writer, series->tag);
    crypto_generichash_update(&state, bytes, sizeof bytes);
    for (uint32_t i = 0; i < series->run_count; i++) {
        mu_writer_init(&writer, bytes, sizeof bytes);
        mu_write_u32(&writer, series->runs[i].first);
        mu_write_u32(&writer, series->runs[i].count);
        crypto_generichash_update(&state, bytes, sizeof bytes);
    }
    crypto_generichash_final(&state, series->id, ID);
}

static struct mu_series *find(const struct mu_exchange_job *job, const uint8_t id[ID])
{
    struct mu_series *series = job->series;
    while (series != NULL && memcmp(series->id, id, ID) != 0)
        series = series->next;
    return series;
}

/* ---- what stays of those that are settled ---- */

/* Its place, or the one that is free for it. */
static struct mu_settled *place_of(struct mu_settled *table, uint32_t room, const uint8_t id[ID])
{
    uint32_t at;
    memcpy(&at, id, sizeof at);
    while (table[at % room].done != 0 && memcmp(table[at % room].id, id, ID) != 0)
        at++;
    return &table[at % room];
}

uint64_t mu_settled_round(const struct mu_exchange_job *job, const uint8_t id[ID])
{
    return job->settled == NULL ? 0 : place_of(job->settled, job->settled_room, id)->done;
}

/* False: no memory. */
static bool make_room(struct mu_exchange_job *job)
{
    if (job->settled_count < job->settled_room / 4 * 3)
        return true;
    uint32_t room = job->settled_room > 0 ? 2 * job->settled_room : FIRST_ROOM;
    struct mu_settled *more = calloc(room, sizeof *more);
    if (more == NULL)
        return false;
    for (uint32_t i = 0; i < job->settled_room; i++)
        if (job->settled[i].done != 0)
            *place_of(more, room, job->settled[i].id) = job->settled[i];
    free(job->settled);
    job->settled = more;
    job->settled_room = room;
    return true;
}

/* False: no memory. */
static bool remember(struct mu_exchange_job *job, const struct mu_series *series)
{
    if (!make_room(job))
        return false;
    struct mu_settled *place = place_of(job->settled, job->settled_room, series->id);
    job->settled_count += place->done == 0;
    memcpy(place->id, series->id, ID);
    place->done = series->core->done;
    return true;
}

/* ---- series that rest ---- */

static bool is_empty(const struct mu_series *series, const struct mu_allgather_round *round)
{
    for (uint32_t word = 0; word < series->core->words; word++)
        if (round->have[word] != 0 || round->asks[word] != 0)
            return false;
    return !round->called;
}

/* Nobody here waits, and nothing of the next rounds is here. */
static bool rests(const struct mu_series *series)
{
    const struct mu_allgather *core = series->core;
    return series->calls == NULL && !series->ready && core->done > 0 &&
           is_empty(series, &core->rounds[(core->done + 1) % MU_ALLGATHER_ROUNDS]) &&
           is_empty(series, &core->rounds[(core->done + 2) % MU_ALLGATHER_ROUNDS]);
}

/* More or less. */
static size_t bytes_of(const struct mu_series *series)
{
    enum { SMALL_THINGS = 1024 };
    size_t member = MU_ALLGATHER_ROUNDS * sizeof *series->pieces + sizeof *series->living;
    return SMALL_THINGS + series->core->members.total * member +
           series->run_count * sizeof *series->runs;
}

static void drop(struct mu_exchange_job *job, struct mu_series *series)
{
    struct mu_series **place = &job->series;
    while (*place != series)
        place = &(*place)->next;
    *place = series->next;
    mu_series_free(series);
}

/* No other node has to do with it, or none will listen: X7. */
static bool is_of_nobody(const struct mu_series *series)
{
    return series->calls == NULL && !series->ready &&
           (series->core->retired || series->core->members.total == 1);
}

static size_t drop_of_nobody(struct mu_exchange_job *job)
{
    size_t resting = 0;
    for (struct mu_series *series = job->series, *next; series != NULL; series = next) {
        next = series->next;
        if (is_of_nobody(series))
            drop(job, series);
        else if (rests(series))
            resting += bytes_of(series);
    }
    return resting;
}

/* ---- asking ---- */

static void conclude(struct mu_sweep *sweep)
{
    struct mu_exchange_job *job = mu_exchanges_find(sweep->exchanges, sweep->job);
    assert(job != NULL && job->sweep == sweep); /* it would have been abandoned */
    for (uint32_t i = 0; i < sweep->count; i++) {
        struct mu_series *series = sweep->asked[i].stays ? NULL : find(job, sweep->asked[i].id);
        if (series != NULL && rests(series) && series->core->done == sweep->asked[i].round &&
            remember(job, series))
            drop(job, series);
    }
    /* Those that stay are not asked about again and again. */
    job->resting_max = 2 * drop_of_nobody(job) + sweep->exchanges->resting_max;
    job->sweep = NULL;
    free(sweep);
}

/* A node that is dead is out. */
static void on_answered(void *arg, const uint8_t *bytes, size_t count)
{
    struct mu_sweep *sweep = arg;
    for (uint32_t i = 0; bytes != NULL && i < sweep->count; i++)
        if (count != sweep->count || bytes[i] != 1)
            sweep->asked[i].stays = true;
    if (--sweep->waits == 0)
        conclude(sweep);
}

static struct mu_sweep *make_sweep(struct mu_exchanges *exchanges,
                                   const struct mu_exchange_job *job, bool *members)
{
    uint32_t count = 0;
    for (const struct mu_series *series = job->series; series != NULL; series = series->next)
        count += rests(series);
    struct mu_sweep *sweep = calloc(1, sizeof *sweep + count * sizeof sweep->asked[0]);
    if (sweep == NULL)
        return NULL;
    sweep->exchanges = exchanges;
    sweep->job = job->number;
    for (const struct mu_series *series = job->series; series != NULL; series = series->next) {
        if (!rests(series))
            continue;
        struct asked *asked = &sweep->asked[sweep->count++];
        memcpy(asked->id, series->id, ID);
        asked->round = series->core->done;
        for (uint32_t i = 0; i < series->core->members.total; i++)
            if (!mu_allgather_is_out(series->core, i))
                members[mu_members_slot(&series->core->members, i)] = true;
    }
    return sweep;
}

static uint8_t *write_question(const struct mu_sweep *sweep, size_t *count)
{
    struct mu_writer writer;
    *count = HEAD + (size_t)sweep->count * ENTRY;
    uint8_t *bytes = malloc(*count);
    if (bytes == NULL)
        return NULL;
    mu_writer_init(&writer, bytes, *count);
    mu_write_u32(&writer, sweep->job);
    for (uint32_t i = 0; i < sweep->count; i++) {
        mu_write_bytes(&writer, sweep->asked[i].id, ID);
        mu_write_u64(&writer, sweep->asked[i].round);
    }
    return bytes;
}

/* Without memory it is tried again when there is more. */
static void begin_sweep(struct mu_exchanges *exchanges, struct mu_exchange_job *job)
{
    uint32_t size = exchanges->config.net->self.size;
    bool *members = calloc(size, sizeof *members);
    struct mu_sweep *sweep = members != NULL ? make_sweep(exchanges, job, members) : NULL;
    size_t count = 0;
    uint8_t *question = sweep != NULL ? write_question(sweep, &count) : NULL;
    if (question == NULL) {
        free(members);
        free(sweep);
        return;
    }
    job->sweep = sweep;
    sweep->waits = 1; /* for this function */
    for (mu_slot node = 0; node < size; node++) {
        if (!members[node] || node == exchanges->self)
            continue;
        if (mu_exchange_ask(exchanges, MU_SETTLE_JOB, node, question, count, on_answered, sweep) ==
            NULL)
            sweep->waits++;
        else
            for (uint32_t i = 0; i < sweep->count; i++)
                sweep->asked[i].stays = true;
    }
    free(question);
    free(members);
    on_answered(sweep, NULL, 0);
}

void mu_settle(struct mu_exchanges *exchanges)
{
    for (struct mu_exchange_job *job = exchanges->jobs; job != NULL; job = job->next) {
        size_t resting = drop_of_nobody(job);
        size_t most =
            job->resting_max > exchanges->resting_max ? job->resting_max : exchanges->resting_max;
        if (job->sweep == NULL && resting > most)
            begin_sweep(exchanges, job);
    }
}

void mu_settle_over(struct mu_exchange_job *job)
{
    if (job->sweep != NULL)
        mu_exchange_abandon(job->sweep->exchanges, job->sweep);
    free(job->sweep);
    free(job->settled);
}

/* ---- answering ---- */

/* Whoever asks has the result, with the part of this node, if that is not out: so this node knows
 * the series, or has nobody who waits. */
static bool has_result(const struct mu_exchange_job *job, const uint8_t id[ID], uint64_t round)
{
    const struct mu_series *series = find(job, id);
    return series == NULL || series->core->retired || series->core->done >= round;
}

void mu_settle_asked(struct mu_exchanges *exchanges, const struct mu_exchange_ticket *ticket,
                     const uint8_t *bytes, size_t count)
{
    struct mu_reader reader;
    mu_reader_init(&reader, bytes, count);
    uint32_t number = mu_read_u32(&reader);
    size_t asked = count >= HEAD ? (count - HEAD) / ENTRY : 0;
    const struct mu_exchange_job *job = mu_exchanges_find(exchanges, number);
    bool is_past = mu_exchanges_is_past(exchanges, number);
    uint8_t *answer = calloc(1, asked + 1);
    for (size_t i = 0; answer != NULL && i < asked; i++) {
        const uint8_t *id = mu_read_bytes(&reader, ID);
        uint64_t round = mu_read_u64(&reader);
        answer[i] = job != NULL ? has_result(job, id, round) : is_past;
    }
    mu_exchange_answer(exchanges, ticket, answer, answer != NULL ? asked : 0);
    free(answer);
}
