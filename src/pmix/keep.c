/* What is published, at the node that keeps it. */
#include "host/clock.h"
#include "pmix/inside.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of one job, at one node: what is published there, and the questions that wait. */
enum { KEPT_BYTES_MAX = 16 * 1024 * 1024 };

struct mu_published {
    struct mu_published *next;
    uint32_t job;
    bool waits;        /* nothing is published yet: it is a question that waits for it */
    bool read_once;    /* gone with its first reader */
    uint32_t by, rank; /* who published it, or waits: its job */
    void *ticket;      /* of who waits */
    uint64_t due_ns;   /* until when; 0: as long as it takes */
    char *key;
    size_t count;
    uint8_t bytes[];
};

static void answer(struct mu_pmix *pmix, void *ticket, pmix_status_t status,
                   const struct mu_published *found)
{
    enum { FIXED = 12 };
    struct mu_writer writer;
    size_t room = FIXED + (found != NULL ? found->count : 0);
    uint8_t *text = malloc(room);
    if (text == NULL)
        abort(); /* somebody would wait for ever */
    mu_writer_init(&writer, text, room);
    mu_write_u32(&writer, (uint32_t)status);
    if (found != NULL) {
        mu_write_u32(&writer, found->by);
        mu_write_u32(&writer, found->rank);
        if (found->count > 0)
            mu_write_bytes(&writer, found->bytes, found->count);
    }
    pmix->config.host.answer(pmix->config.host.owner, ticket, text, writer.used);
    free(text);
}

static struct mu_published **find(struct mu_pmix *pmix, uint32_t job, const char *key, bool waits)
{
    struct mu_published **link = &pmix->published;
    while (*link != NULL &&
           ((*link)->job != job || (*link)->waits != waits || strcmp((*link)->key, key) != 0))
        link = &(*link)->next;
    return link;
}

static void drop(struct mu_published **link)
{
    struct mu_published *published = *link;
    *link = published->next;
    free(published->key);
    free(published);
}

static bool has_room(const struct mu_pmix *pmix, const struct mu_kept_question *question)
{
    size_t used = sizeof(struct mu_published) + strlen(question->key) + 1 + question->count;
    for (const struct mu_published *each = pmix->published; each != NULL; each = each->next)
        if (each->job == question->job)
            used += sizeof *each + strlen(each->key) + 1 + each->count;
    return used <= KEPT_BYTES_MAX;
}

static struct mu_published *add(struct mu_pmix *pmix, uint32_t job, const char *key,
                                const uint8_t *bytes, size_t count)
{
    struct mu_published *made = calloc(1, sizeof *made + count);
    char *copy = strdup(key);
    if (made == NULL || copy == NULL)
        abort();
    made->job = job;
    made->key = copy;
    made->count = count;
    if (count > 0)
        memcpy(made->bytes, bytes, count);
    made->next = pmix->published;
    pmix->published = made;
    return made;
}

static void publish(struct mu_pmix *pmix, const struct mu_kept_question *question, void *ticket)
{
    struct mu_published **link, *made;
    if (*find(pmix, question->job, question->key, false) != NULL) {
        answer(pmix, ticket, PMIX_ERR_DUPLICATE_KEY, NULL);
        return;
    }
    if (!has_room(pmix, question)) {
        answer(pmix, ticket, PMIX_ERR_OUT_OF_RESOURCE, NULL);
        return;
    }
    made = add(pmix, question->job, question->key, question->bytes, question->count);
    made->by = question->by;
    made->rank = question->rank;
    made->read_once = question->flag;
    answer(pmix, ticket, PMIX_SUCCESS, NULL);
    bool was_read = false;
    while ((!made->read_once || !was_read) &&
           *(link = find(pmix, question->job, question->key, true)) != NULL) {
        answer(pmix, (*link)->ticket, PMIX_SUCCESS, made);
        drop(link);
        was_read = true;
    }
    if (made->read_once && was_read)
        drop(find(pmix, question->job, question->key, false));
}

void mu_keep_turn(struct mu_pmix *pmix)
{
    uint64_t now = mu_now_ns(), next_ns = UINT64_MAX;
    for (struct mu_published **link = &pmix->published; *link != NULL;) {
        if ((*link)->due_ns > 0 && (*link)->due_ns <= now) {
            answer(pmix, (*link)->ticket, PMIX_ERR_TIMEOUT, NULL);
            drop(link);
            continue;
        }
        if ((*link)->due_ns > 0 && (*link)->due_ns < next_ns)
            next_ns = (*link)->due_ns;
        link = &(*link)->next;
    }
    if (next_ns != UINT64_MAX) /* rounded up: not once more in vain */
        pmix->config.host.later(pmix->config.host.owner, (next_ns - now) / 1000000 + 1);
}

static void lookup(struct mu_pmix *pmix, const struct mu_kept_question *question, void *ticket)
{
    struct mu_published **link = find(pmix, question->job, question->key, false);
    if (*link != NULL) {
        answer(pmix, ticket, PMIX_SUCCESS, *link);
        if ((*link)->read_once)
            drop(link);
    } else if (question->flag && !has_room(pmix, question)) {
        answer(pmix, ticket, PMIX_ERR_OUT_OF_RESOURCE, NULL);
    } else if (question->flag) {
        struct mu_published *waiting = add(pmix, question->job, question->key, NULL, 0);
        waiting->waits = true;
        waiting->by = question->by;
        waiting->ticket = ticket;
        if (question->wait_s > 0) {
            waiting->due_ns = mu_now_ns() + question->wait_s * UINT64_C(1000000000);
            mu_keep_turn(pmix);
        }
    } else {
        answer(pmix, ticket, PMIX_ERR_NOT_FOUND, NULL);
    }
}

/* By who published it only. */
static void unpublish(struct mu_pmix *pmix, const struct mu_kept_question *question, void *ticket)
{
    struct mu_published **link = find(pmix, question->job, question->key, false);
    bool its_own = *link != NULL && (*link)->by == question->by && (*link)->rank == question->rank;
    if (its_own)
        drop(link);
    answer(pmix, ticket, its_own ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, NULL);
}

void mu_keep_asked(struct mu_pmix *pmix, enum mu_ask_kind kind,
                   const struct mu_kept_question *question, void *ticket)
{
    if (kind == MU_ASK_PUBLISH)
        publish(pmix, question, ticket);
    else if (kind == MU_ASK_LOOKUP)
        lookup(pmix, question, ticket);
    else
        unpublish(pmix, question, ticket);
}

void mu_keep_over(struct mu_pmix *pmix, uint32_t job)
{
    for (struct mu_published **link = &pmix->published; *link != NULL;) {
        if ((*link)->job != job && (*link)->by != job) {
            link = &(*link)->next;
            continue;
        }
        if ((*link)->waits)
            answer(pmix, (*link)->ticket, PMIX_ERR_NOT_FOUND, NULL);
        drop(link);
    }
}
