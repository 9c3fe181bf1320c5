/* Questions of one daemon to one other, and their answers. */
#include "daemon/exchange/inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_MAX = 32 }; /* bytes of a message before what it carries */

/* ---- out ---- */

/* False: no memory. */
static bool send_to(struct mu_exchanges *exchanges, mu_slot to,
                    const struct mu_exchange_message *message)
{
    struct mu_writer writer;
    mu_writer_init(&writer, NULL, SIZE_MAX);
    mu_exchange_encode(&writer, message, NULL);
    struct mu_bulk_message *made = mu_bulk_message_make((uint32_t)writer.used);
    if (made == NULL)
        return false;
    mu_writer_init(&writer, made->bytes, made->count);
    mu_exchange_encode(&writer, message, NULL);
    mu_bulk_send(exchanges->bulk, to, made);
    mu_bulk_message_drop(made);
    return true;
}

static bool hosts(const struct mu_exchange_job *job, mu_slot node)
{
    for (uint32_t i = 0; job != NULL && i < job->run_count; i++)
        if (mu_exchange_run(job, i).slot == node)
            return true;
    return false;
}

static const char *length_error(size_t count)
{
    return count > MU_BULK_MESSAGE_MAX - HEAD_MAX ? "a question or an answer is at most 64 MiB"
                                                  : NULL;
}

/* The question goes where it is to go.  False: no memory. */
static bool put(struct mu_exchanges *exchanges, struct mu_question *question, const uint8_t *bytes,
                size_t count)
{
    const struct mu_exchange_message message = {
        .type = MU_EXCHANGE_QUESTION,
        .job = question->job,
        .number = question->number,
        .hosted = hosts(mu_exchanges_find(exchanges, question->job), question->node),
        .bytes = bytes,
        .count = count};
    if (mu_exchanges_is_dead(exchanges, question->node)) {
        question->state = MU_QUESTION_LOST;
    } else if (question->node == exchanges->self) {
        question->state = MU_QUESTION_HERE;
        return mu_piece_copy(&question->piece, bytes, count);
    } else {
        question->state = MU_QUESTION_ASKED;
        return send_to(exchanges, question->node, &message);
    }
    return true;
}

const char *mu_exchange_ask(struct mu_exchanges *exchanges, uint32_t job, mu_slot node,
                            const uint8_t *bytes, size_t count, mu_exchange_answered *answered,
                            void *arg)
{
    const char *rule = length_error(count);
    if (rule != NULL)
        return rule;
    if (node >= exchanges->config.net->self.size)
        return "the machine has no such node to ask";
    struct mu_question *question = calloc(1, sizeof *question);
    if (question == NULL)
        return "no memory for one more question";
    *question = (struct mu_question){.job = job,
                                     .node = node,
                                     .number = exchanges->numbers + 1,
                                     .answered = answered,
                                     .arg = arg};
    if (!put(exchanges, question, bytes, count)) {
        free(question);
        return "no memory for one more question";
    }
    exchanges->numbers++;
    exchanges->counts.asked++;
    *exchanges->questions_end = question;
    exchanges->questions_end = &question->next;
    if (question->state != MU_QUESTION_ASKED)
        mu_exchanges_later(exchanges);
    return NULL;
}

/* Where that question is; of another node, or none: NULL. */
static struct mu_question **find(struct mu_exchanges *exchanges, mu_slot node, uint64_t number)
{
    for (struct mu_question **place = &exchanges->questions; *place != NULL;
         place = &(*place)->next)
        if ((*place)->number == number)
            return (*place)->node == node ? place : NULL;
    return NULL;
}

const char *mu_exchange_answer(struct mu_exchanges *exchanges,
                               const struct mu_exchange_ticket *ticket, const uint8_t *bytes,
                               size_t count)
{
    const char *rule = length_error(count);
    if (rule != NULL)
        return rule;
    if (ticket->node != exchanges->self) {
        const struct mu_exchange_message message = {.type = MU_EXCHANGE_ANSWER,
                                                    .job = ticket->job,
                                                    .number = ticket->number,
                                                    .bytes = bytes,
                                                    .count = count};
        return send_to(exchanges, ticket->node, &message) ? NULL : "no memory for the answer";
    }
    struct mu_question **place = find(exchanges, exchanges->self, ticket->number);
    if (place == NULL)
        return NULL; /* its job is over */
    assert((*place)->state == MU_QUESTION_ASKED);
    if (!mu_piece_copy(&(*place)->piece, bytes, count))
        return "no memory for the answer";
    (*place)->state = MU_QUESTION_ANSWERED;
    mu_exchanges_later(exchanges);
    return NULL;
}

/* ---- in ---- */

static void ask_here(struct mu_exchanges *exchanges, const struct mu_exchange_ticket *ticket,
                     const uint8_t *bytes, size_t count)
{
    const struct mu_exchanges_hooks *hooks = &exchanges->config.hooks;
    if (ticket->job == MU_SETTLE_JOB)
        mu_settle_asked(exchanges, ticket, bytes, count);
    else if (hooks->asked == NULL || mu_exchanges_is_past(exchanges, ticket->job))
        mu_exchange_answer(exchanges, ticket, NULL, 0);
    else
        hooks->asked(hooks->owner, ticket, bytes, count);
}

void mu_question_came(struct mu_exchanges *exchanges, mu_slot from,
                      const struct mu_exchange_message *message)
{
    const struct mu_exchange_ticket ticket = {from, message->job, message->number};
    ask_here(exchanges, &ticket, message->bytes, message->count);
}

/* Takes it out of the list, and tells. */
static void conclude(struct mu_exchanges *exchanges, struct mu_question **place,
                     const uint8_t *bytes, size_t count)
{
    struct mu_question *question = *place;
    *place = question->next;
    if (*place == NULL)
        exchanges->questions_end = place;
    exchanges->counts.answered += bytes != NULL;
    if (question->answered != NULL)
        question->answered(question->arg, bytes, count);
    mu_piece_drop(&question->piece);
    free(question);
}

/* What exchanges ask each other themselves is told nobody, and what was asked here concerns nobody
 * else. */
static bool may_tell(struct mu_exchanges *exchanges, const struct mu_question *question)
{
    return question->job == MU_SETTLE_JOB || question->node == exchanges->self ||
           mu_exchanges_has_lease(exchanges);
}

/* One that nobody waits for any more is no harm: its job is over here. */
void mu_answer_came(struct mu_exchanges *exchanges, mu_slot from,
                    const struct mu_exchange_message *message)
{
    struct mu_question **place = find(exchanges, from, message->number);
    static const uint8_t nothing;
    if (place == NULL)
        return;
    if (may_tell(exchanges, *place)) {
        conclude(exchanges, place, message->count > 0 ? message->bytes : &nothing, message->count);
        return;
    }
    if (!mu_piece_copy(&(*place)->piece, message->bytes, message->count))
        abort(); /* somebody would wait for ever */
    (*place)->state = MU_QUESTION_ANSWERED;
}

void mu_questions_dead(struct mu_exchanges *exchanges, mu_slot node)
{
    for (struct mu_question *each = exchanges->questions; each != NULL; each = each->next)
        if (each->node == node && each->state == MU_QUESTION_ASKED)
            each->state = MU_QUESTION_LOST;
    mu_exchanges_later(exchanges);
}

void mu_questions_drop(struct mu_exchanges *exchanges, uint32_t job, bool all)
{
    for (struct mu_question **place = &exchanges->questions; *place != NULL;) {
        struct mu_question *question = *place;
        if (!all && question->job != job) {
            place = &question->next;
            continue;
        }
        *place = question->next;
        if (*place == NULL)
            exchanges->questions_end = place;
        mu_piece_drop(&question->piece);
        free(question);
    }
}

/* A hook may ask and answer: so each time from the first one on, up to the last one there was. */
static struct mu_question **find_due(struct mu_exchanges *exchanges, uint64_t last)
{
    for (struct mu_question **place = &exchanges->questions;
         *place != NULL && (*place)->number <= last; place = &(*place)->next)
        if ((*place)->state != MU_QUESTION_ASKED &&
            ((*place)->state == MU_QUESTION_HERE || may_tell(exchanges, *place)))
            return place;
    return NULL;
}

void mu_questions_tell(struct mu_exchanges *exchanges)
{
    struct mu_question **place;
    uint64_t last = exchanges->numbers;
    while (!exchanges->left && (place = find_due(exchanges, last)) != NULL) {
        struct mu_question *question = *place;
        if (question->state == MU_QUESTION_HERE) {
            const struct mu_exchange_ticket ticket = {question->node, question->job,
                                                      question->number};
            struct mu_piece piece = question->piece;
            question->piece = (struct mu_piece){0};
            question->state = MU_QUESTION_ASKED;
            ask_here(exchanges, &ticket, piece.bytes, piece.count);
            mu_piece_drop(&piece);
        } else if (question->state == MU_QUESTION_LOST) {
            conclude(exchanges, place, NULL, 0);
        } else {
            conclude(exchanges, place, question->piece.bytes, question->piece.count);
        }
    }
}
