/* Direct modex: what one process has put, for somebody on another node who asks for it.
 *
 * The answer waits until the process has put something, so it must not wait for one that has
 * ended. */
#include "pmix/inside.h"

#include <stdlib.h>
#include <string.h>

/* ---- who asks ---- */

struct wanted {
    struct mu_upcall upcall;
    struct mu_pending pending;
    struct mu_pmix_wait wait;
    pmix_proc_t proc;
    pmix_modex_cbfunc_t done;
    void *data;
};

static void finish(struct wanted *wanted, pmix_status_t status, char *bytes, size_t count)
{
    mu_pending_remove(&wanted->pending);
    wanted->done(status, bytes, count, wanted->data, free, bytes);
    free(wanted);
}

static void give_up(struct mu_pending *pending)
{
    size_t offset = offsetof(struct wanted, pending);
    finish((struct wanted *)((char *)pending - offset), PMIX_ERR_JOB_TERMINATED, NULL, 0);
}

/* Answers begin with the status. */
static void on_answered(struct mu_pmix_wait *wait, const uint8_t *bytes, size_t count)
{
    size_t offset = offsetof(struct wanted, wait);
    struct wanted *wanted = (struct wanted *)((char *)wait - offset);
    struct mu_reader reader;
    mu_reader_init(&reader, bytes, bytes != NULL ? count : 0);
    pmix_status_t status = (pmix_status_t)mu_read_u32(&reader);
    size_t left = mu_reader_left(&reader);
    if (bytes == NULL || reader.bad) {
        finish(wanted, PMIX_ERR_UNREACH, NULL, 0);
        return;
    }
    char *copy = malloc(left + 1);
    if (copy == NULL) {
        finish(wanted, PMIX_ERR_NOMEM, NULL, 0);
        return;
    }
    if (left > 0)
        memcpy(copy, mu_read_bytes(&reader, left), left);
    finish(wanted, status, copy, left);
}

static void run_wanted(struct mu_pmix *pmix, struct mu_upcall *upcall)
{
    struct wanted *wanted = (struct wanted *)upcall;
    const struct mu_pmix_host *host = &pmix->config.host;
    struct mu_space *space = mu_space_named(pmix, wanted->proc.nspace);
    uint8_t question[8];
    struct mu_writer writer;
    if (space == NULL || wanted->proc.rank >= space->size) {
        finish(wanted, PMIX_ERR_NOT_FOUND, NULL, 0);
        return;
    }
    mu_writer_init(&writer, question, sizeof question);
    mu_write_u8(&writer, MU_ASK_MODEX);
    mu_write_u32(&writer, wanted->proc.rank);
    wanted->wait.answered = on_answered;
    mu_pending_add(&space->pending, &wanted->pending, give_up);
    host->ask(host->owner, space->number, mu_space_node(space, wanted->proc.rank), question,
              writer.used, &wanted->wait);
}

pmix_status_t mu_modex_want(const pmix_proc_t *proc, pmix_modex_cbfunc_t done, void *data)
{
    if (mu_pmix_is_closing())
        return PMIX_ERR_JOB_TERMINATED;
    struct wanted *wanted = malloc(sizeof *wanted);
    if (wanted == NULL)
        return PMIX_ERR_NOMEM;
    *wanted = (struct wanted){.upcall.run = run_wanted, .proc = *proc, .done = done, .data = data};
    mu_upcall_put(&wanted->upcall);
    return PMIX_SUCCESS;
}

/* ---- who is asked ---- */

/* A question that libpmix has not answered.  It is freed when it has: libpmix may answer late. */
struct mu_modex {
    struct mu_upcall upcall;
    struct mu_modex *next;
    uint32_t job, rank;
    void *ticket;
    bool settled; /* answered without libpmix, or nobody wants it any more */
    pmix_status_t status;
    size_t count;
    uint8_t *bytes;
};

static void answer(struct mu_pmix *pmix, struct mu_modex *modex, pmix_status_t status,
                   const uint8_t *bytes, size_t count)
{
    struct mu_writer writer;
    uint8_t *text = malloc(count + 4);
    if (modex->settled) {
        free(text);
        return;
    }
    modex->settled = true;
    if (text == NULL)
        abort(); /* somebody would wait for ever */
    mu_writer_init(&writer, text, count + 4);
    mu_write_u32(&writer, (uint32_t)status);
    if (count > 0)
        mu_write_bytes(&writer, bytes, count);
    pmix->config.host.answer(pmix->config.host.owner, modex->ticket, text, writer.used);
    free(text);
}

static void run_found(struct mu_pmix *pmix, struct mu_upcall *upcall)
{
    struct mu_modex *modex = (struct mu_modex *)upcall;
    struct mu_modex **link = &pmix->modex;
    while (*link != NULL && *link != modex)
        link = &(*link)->next;
    if (*link != NULL)
        *link = modex->next;
    answer(pmix, modex, modex->status, modex->bytes, modex->count);
    free(modex->bytes);
    free(modex);
}

/* On libpmix's thread. */
static void on_found(pmix_status_t status, char *bytes, size_t count, void *data)
{
    struct mu_modex *modex = data;
    mu_pmix_takes();
    modex->status = status;
    modex->bytes = malloc(count + 1);
    if (modex->bytes == NULL)
        abort();
    if (count > 0)
        memcpy(modex->bytes, bytes, count);
    modex->count = count;
    modex->upcall.run = run_found;
    mu_upcall_put(&modex->upcall);
}

void mu_modex_asked(struct mu_pmix *pmix, struct mu_space *space, struct mu_reader *reader,
                    void *ticket)
{
    struct mu_modex *modex = calloc(1, sizeof *modex);
    pmix_proc_t proc;
    if (modex == NULL)
        abort();
    modex->job = space->number;
    modex->rank = mu_read_u32(reader);
    modex->ticket = ticket;
    const struct mu_client_here *client = reader->bad ? NULL : mu_space_client(space, modex->rank);
    PMIX_LOAD_PROCID(&proc, space->name, modex->rank);
    mu_pmix_gives();
    if (client == NULL || client->ended ||
        PMIx_server_dmodex_request(&proc, on_found, modex) != PMIX_SUCCESS) {
        answer(pmix, modex, PMIX_ERR_NOT_FOUND, NULL, 0);
        free(modex);
        return;
    }
    modex->next = pmix->modex;
    pmix->modex = modex;
}

void mu_modex_ended(struct mu_pmix *pmix, uint32_t job, uint32_t rank)
{
    for (struct mu_modex *modex = pmix->modex; modex != NULL; modex = modex->next)
        if (modex->job == job && modex->rank == rank)
            answer(pmix, modex, PMIX_ERR_NOT_FOUND, NULL, 0);
}

/* Whoever asked has forgotten the job, too. */
void mu_modex_over(struct mu_pmix *pmix, uint32_t job)
{
    for (struct mu_modex *modex = pmix->modex; modex != NULL; modex = modex->next)
        if (modex->job == job)
            answer(pmix, modex, PMIX_ERR_NOT_FOUND, NULL, 0);
}

void mu_modex_free(struct mu_pmix *pmix)
{
    while (pmix->modex != NULL) {
        struct mu_modex *modex = pmix->modex;
        pmix->modex = modex->next;
        free(modex);
    }
}
