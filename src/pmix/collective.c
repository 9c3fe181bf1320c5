/* Collectives over processes of several nodes.  libpmix calls when all participants of this node
 * have come; the daemons' exchange brings the nodes together, and discounts whoever dies. */
#include "pmix/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mu_collective {
    struct mu_upcall upcall;
    enum mu_collective_kind kind;
    uint64_t tag;
    pmix_modex_cbfunc_t fence_done;
    pmix_op_cbfunc_t op_done;
    pmix_info_cbfunc_t group_done;
    void *data;
    struct mu_pending pending;
    struct mu_pmix_wait wait;
    uint32_t job_count;
    uint32_t *jobs; /* of who takes part, by number */
    uint32_t came;  /* of this node; UINT32_MAX: as many as are left */
    size_t proc_count;
    pmix_proc_t *procs;
    size_t count;
    uint8_t bytes[]; /* bytes[0]: enum part_flag */
};

/* The first byte of each node's part. */
enum part_flag {
    PART_WHOLE,
    PART_WITHOUT_SOMEBODY,
    PART_FAILED, /* what the processes of that node brought could not be sent: it is not there */
};

/* ---- on libpmix's thread ---- */

/* FNV-1a. */
uint64_t mu_name_hash(const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *name != '\0'; name++)
        hash = (hash ^ (uint8_t)*name) * UINT64_C(1099511628211);
    return hash;
}

static void free_collective(struct mu_collective *made)
{
    free(made->jobs);
    free(made->procs);
    free(made);
}

struct mu_collective *mu_collective_make(enum mu_collective_kind kind, const char *name,
                                         const pmix_proc_t *procs, size_t proc_count,
                                         const char *bytes, size_t count, bool all_came,
                                         uint32_t came)
{
    struct mu_collective *made = calloc(1, sizeof *made + 1 + count);
    if (made == NULL)
        return NULL;
    made->procs = calloc(proc_count, sizeof *procs);
    if (made->procs == NULL || proc_count == 0) {
        free_collective(made);
        return NULL;
    }
    made->kind = kind;
    made->tag = (uint64_t)kind << 56 | (name != NULL ? mu_name_hash(name) >> 8 : 0);
    memcpy(made->procs, procs, proc_count * sizeof *procs);
    made->proc_count = proc_count;
    made->count = 1 + count;
    made->came = came;
    made->bytes[0] = all_came ? PART_WHOLE : PART_WITHOUT_SOMEBODY;
    if (count > 0)
        memcpy(made->bytes + 1, bytes, count);
    return made;
}

static void run_collective(struct mu_pmix *pmix, struct mu_upcall *upcall);

static pmix_status_t hand_over(struct mu_collective *made, void *data)
{
    if (mu_pmix_is_closing()) {
        free_collective(made);
        return PMIX_ERR_JOB_TERMINATED;
    }
    made->data = data;
    made->upcall.run = run_collective;
    mu_upcall_put(&made->upcall);
    return PMIX_SUCCESS;
}

pmix_status_t mu_collective_fence(struct mu_collective *made, pmix_modex_cbfunc_t done, void *data)
{
    if (made == NULL)
        return PMIX_ERR_NOMEM;
    made->fence_done = done;
    return hand_over(made, data);
}

pmix_status_t mu_collective_op(struct mu_collective *made, pmix_op_cbfunc_t done, void *data)
{
    if (made == NULL)
        return PMIX_ERR_NOMEM;
    made->op_done = done;
    return hand_over(made, data);
}

pmix_status_t mu_collective_group(struct mu_collective *made, pmix_info_cbfunc_t done, void *data)
{
    if (made == NULL)
        return PMIX_ERR_NOMEM;
    made->group_done = done;
    return hand_over(made, data);
}

/* ---- on the loop ---- */

/* 'bytes' is freed by libpmix, or here. */
static void finish(struct mu_collective *made, pmix_status_t status, char *bytes, size_t count)
{
    mu_pending_remove(&made->pending);
    if (made->fence_done != NULL)
        made->fence_done(status, bytes, count, made->data, free, bytes);
    else if (made->op_done != NULL)
        made->op_done(status, made->data);
    else if (made->group_done != NULL)
        made->group_done(status, NULL, 0, made->data, NULL, NULL);
    if (made->fence_done == NULL)
        free(bytes);
    free_collective(made);
}

static void give_up(struct mu_pending *pending)
{
    size_t offset = offsetof(struct mu_collective, pending);
    finish((struct mu_collective *)((char *)pending - offset), PMIX_ERR_JOB_TERMINATED, NULL, 0);
}

/* All parts without their first bytes, one after the other, and what becomes of it.  NULL: no
 * memory. */
static char *join(const struct mu_pmix_result *result, size_t *count, pmix_status_t *status)
{
    size_t room = 1;
    for (uint32_t i = 0; i < result->part_count; i++)
        room += result->parts[i].count;
    char *bytes = malloc(room);
    *count = 0;
    bool whole = result->missed == 0, failed = false;
    for (uint32_t i = 0; bytes != NULL && i < result->part_count; i++) {
        const struct mu_exchange_part *part = &result->parts[i];
        if (part->count == 0)
            continue; /* that node had nobody left */
        whole = whole && part->bytes[0] == PART_WHOLE;
        failed = failed || part->bytes[0] == PART_FAILED;
        memcpy(bytes + *count, part->bytes + 1, part->count - 1);
        *count += part->count - 1;
    }
    *status = failed ? PMIX_ERR_OUT_OF_RESOURCE : whole ? PMIX_SUCCESS : PMIX_ERR_PARTIAL_SUCCESS;
    return bytes;
}

/* Of the jobs, as a whole: with whom each of its processes has connected is not known here. */
static void link_jobs(const struct mu_pmix *pmix, const struct mu_collective *made)
{
    bool linked = made->kind == MU_COLLECTIVE_CONNECT;
    if (!linked && made->kind != MU_COLLECTIVE_DISCONNECT)
        return;
    for (uint32_t i = 0; i < made->job_count; i++)
        for (uint32_t k = 0; k < made->job_count; k++)
            if (i != k)
                mu_space_link(mu_space_find(pmix, made->jobs[i]), made->jobs[k], linked);
}

/* Who has failed has not come: the others are told that it is not complete. */
static void on_done(struct mu_pmix_wait *wait, const struct mu_pmix_result *result)
{
    size_t offset = offsetof(struct mu_collective, wait), count;
    struct mu_collective *made = (struct mu_collective *)((char *)wait - offset);
    pmix_status_t status = PMIX_ERR_NOMEM;
    link_jobs(mu_pmix_open_one, made);
    char *bytes = join(result, &count, &status);
    finish(made, status, bytes, bytes != NULL ? count : 0);
}

static int by_rank(const void *a, const void *b)
{
    uint32_t left = ((const struct mu_rank_run *)a)->first,
             right = ((const struct mu_rank_run *)b)->first;
    return left < right ? -1 : left > right;
}

/* Where the ranks of a job begin, when the jobs stand one after the other. */
static uint32_t first_of(const struct mu_pmix *pmix, const struct mu_collective *made, uint32_t job)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < made->job_count && made->jobs[i] != job; i++)
        first += mu_space_find(pmix, made->jobs[i])->size;
    return first;
}

/* Rows of ranks, in order, without a rank twice.  NULL: no memory, or a rank that is not there. */
static struct mu_rank_run *rows_of(const struct mu_pmix *pmix, const struct mu_collective *made,
                                   uint32_t *count)
{
    struct mu_rank_run *rows = malloc(made->proc_count * sizeof *rows);
    uint32_t used = 0;
    if (rows == NULL)
        return NULL;
    for (size_t i = 0; i < made->proc_count; i++) {
        const struct mu_space *space = mu_space_named(pmix, made->procs[i].nspace);
        bool all = made->procs[i].rank == PMIX_RANK_WILDCARD;
        if (!all && made->procs[i].rank >= space->size) {
            free(rows);
            return NULL;
        }
        rows[i].first = first_of(pmix, made, space->number) + (all ? 0 : made->procs[i].rank);
        rows[i].count = all ? space->size : 1;
    }
    qsort(rows, made->proc_count, sizeof *rows, by_rank);
    for (size_t i = 0; i < made->proc_count; i++) {
        uint32_t last = used > 0 ? rows[used - 1].first + rows[used - 1].count : 0;
        uint32_t end = rows[i].first + rows[i].count;
        if (used > 0 && rows[i].first <= last)
            rows[used - 1].count += end > last ? end - last : 0;
        else
            rows[used++] = rows[i];
    }
    *count = used;
    return rows;
}

static bool is_lost(const struct mu_space *space, const struct mu_client_here *client)
{
    struct mu_local_event event;
    return client->state == MU_CLIENT_LOST || (mu_space_gone(space, client->rank, &event) &&
                                               event.evidence.verdict != MU_VERDICT_LEFT);
}

static bool takes_part(const struct mu_rank_run *rows, uint32_t count, uint32_t rank)
{
    for (uint32_t i = 0; i < count; i++)
        if (rank - rows[i].first < rows[i].count)
            return true;
    return false;
}

/* Of this node.  libpmix calls for whoever is still connected: of some ends it knows before the
 * daemon does, and tells later, and of others after it.  So those who came are counted as well. */
static bool somebody_is_missing(const struct mu_pmix *pmix, const struct mu_collective *made,
                                const struct mu_rank_run *rows, uint32_t count)
{
    uint32_t expected = 0;
    for (uint32_t j = 0; j < made->job_count; j++) {
        const struct mu_space *space = mu_space_find(pmix, made->jobs[j]);
        uint32_t first = first_of(pmix, made, space->number);
        for (uint32_t i = 0; i < space->here_count; i++) {
            if (!takes_part(rows, count, first + space->here[i].rank))
                continue;
            if (is_lost(space, &space->here[i]))
                return true;
            expected += space->here[i].state != MU_CLIENT_FINALIZED;
        }
    }
    return made->came < expected;
}

/* ---- several jobs ---- */

static int by_number(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

/* The jobs of all who take part, each once.  PMIX_SUCCESS, or why not. */
static pmix_status_t find_jobs(const struct mu_pmix *pmix, struct mu_collective *made)
{
    uint32_t used = 0;
    made->jobs = malloc(made->proc_count * sizeof *made->jobs);
    if (made->jobs == NULL)
        return PMIX_ERR_NOMEM;
    for (size_t i = 0; i < made->proc_count; i++) {
        const struct mu_space *space = mu_space_named(pmix, made->procs[i].nspace);
        if (space == NULL)
            return PMIX_ERR_NOT_FOUND;
        made->jobs[i] = space->number;
    }
    qsort(made->jobs, made->proc_count, sizeof *made->jobs, by_number);
    for (size_t i = 0; i < made->proc_count; i++)
        if (used == 0 || made->jobs[used - 1] != made->jobs[i])
            made->jobs[used++] = made->jobs[i];
    made->job_count = used;
    return PMIX_SUCCESS;
}

/* For several jobs as one: the same everywhere, and above all that a launcher gives out. */
static uint32_t joint_number(const struct mu_collective *made)
{
    char text[32];
    uint64_t hash = 0;
    for (uint32_t i = 0; i < made->job_count; i++) {
        snprintf(text, sizeof text, "%" PRIu32 " %" PRIu32, (uint32_t)hash, made->jobs[i]);
        hash = mu_name_hash(text);
    }
    return UINT32_C(1) << 31 | (uint32_t)(hash >> 33);
}

void mu_collective_over(struct mu_pmix *pmix, const struct mu_space *space)
{
    for (struct mu_pending *each = pmix->joint; each != NULL;) {
        size_t offset = offsetof(struct mu_collective, pending);
        const struct mu_collective *made =
            (const struct mu_collective *)((const char *)each - offset);
        struct mu_pending *next = each->next;
        for (uint32_t i = 0; i < made->job_count; i++)
            if (made->jobs[i] == space->number) {
                each->give_up(each);
                break;
            }
        each = next;
    }
}

/* NULL, or why not.  Without what it brings, when that is too much: else all others would wait. */
static const char *begin(struct mu_pmix *pmix, struct mu_collective *made,
                         const struct mu_rank_run *rows, uint32_t count)
{
    const struct mu_pmix_host *host = &pmix->config.host;
    struct mu_space *space = mu_space_find(pmix, made->jobs[0]);
    uint32_t number = made->job_count == 1 ? space->number : joint_number(made);
    const char *why_not = NULL;
    if (made->job_count > 1)
        why_not = host->join(host->owner, number, made->jobs, made->job_count);
    if (why_not != NULL)
        return why_not;
    if (host->exchange(host->owner, number, made->tag, rows, count, made->bytes, made->count,
                       &made->wait) != NULL) {
        made->bytes[0] = PART_FAILED;
        why_not = host->exchange(host->owner, number, made->tag, rows, count, made->bytes, 1,
                                 &made->wait);
    }
    if (why_not == NULL)
        mu_pending_add(made->job_count == 1 ? &space->pending : &pmix->joint, &made->pending,
                       give_up);
    return why_not;
}

static void run_collective(struct mu_pmix *pmix, struct mu_upcall *upcall)
{
    struct mu_collective *made = (struct mu_collective *)upcall;
    uint32_t count = 0;
    pmix_status_t status = find_jobs(pmix, made);
    if (status != PMIX_SUCCESS) {
        finish(made, status, NULL, 0);
        return;
    }
    struct mu_rank_run *rows = rows_of(pmix, made, &count);
    if (rows == NULL) {
        finish(made, PMIX_ERR_BAD_PARAM, NULL, 0);
        return;
    }
    made->wait.done = on_done;
    if (somebody_is_missing(pmix, made, rows, count))
        made->bytes[0] = PART_WITHOUT_SOMEBODY;
    const char *why_not = begin(pmix, made, rows, count);
    free(rows);
    if (why_not != NULL)
        finish(made, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
}
