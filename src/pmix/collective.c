/* Collectives over processes of several nodes.  libpmix calls when all participants of this node
 * have come; the daemons' exchange brings the nodes together, and discounts whoever dies. */
#include "pmix/inside.h"

#include <inttypes.h>
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
    free(made->procs);
    free(made);
}

struct mu_collective *mu_collective_make(enum mu_collective_kind kind, const char *name,
                                         const pmix_proc_t *procs, size_t proc_count,
                                         const char *bytes, size_t count, bool all_came)
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
    bool whole = result->gone == 0, failed = false;
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

/* Who has failed has not come: the others are told that it is not complete. */
static void on_done(struct mu_pmix_wait *wait, const struct mu_pmix_result *result)
{
    size_t offset = offsetof(struct mu_collective, wait), count;
    struct mu_collective *made = (struct mu_collective *)((char *)wait - offset);
    pmix_status_t status = PMIX_ERR_NOMEM;
    char *bytes = join(result, &count, &status);
    finish(made, status, bytes, bytes != NULL ? count : 0);
}

static int by_rank(const void *a, const void *b)
{
    uint32_t left = ((const struct mu_rank_run *)a)->first,
             right = ((const struct mu_rank_run *)b)->first;
    return left < right ? -1 : left > right;
}

/* Rows of ranks, in order, without a rank twice.  NULL: no memory, or a rank that is not there. */
static struct mu_rank_run *rows_of(const struct mu_space *space, const struct mu_collective *made,
                                   uint32_t *count)
{
    struct mu_rank_run *rows = malloc(made->proc_count * sizeof *rows);
    uint32_t used = 0;
    if (rows == NULL)
        return NULL;
    for (size_t i = 0; i < made->proc_count; i++) {
        bool all = made->procs[i].rank == PMIX_RANK_WILDCARD;
        rows[i].first = all ? 0 : made->procs[i].rank;
        rows[i].count = all ? space->size : 1;
        if (rows[i].first >= space->size) {
            free(rows);
            return NULL;
        }
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

/* libpmix has called for whoever is still connected: it may know of an end before the daemon does.
 */
static bool somebody_is_lost(const struct mu_space *space, const struct mu_rank_run *rows,
                             uint32_t count)
{
    for (uint32_t i = 0; i < space->here_count; i++)
        for (uint32_t k = 0; space->here[i].state == MU_CLIENT_LOST && k < count; k++)
            if (space->here[i].rank - rows[k].first < rows[k].count)
                return true;
    return false;
}

static bool one_space(const struct mu_collective *made)
{
    for (size_t i = 1; i < made->proc_count; i++)
        if (!PMIX_CHECK_NSPACE(made->procs[i].nspace, made->procs[0].nspace))
            return false;
    return true;
}

/* NULL, or why not.  Without what it brings, when that is too much: else all others would wait. */
static const char *begin_exchange(const struct mu_pmix_host *host, const struct mu_space *space,
                                  const struct mu_rank_run *rows, uint32_t count,
                                  struct mu_collective *made)
{
    const char *why_not = host->exchange(host->owner, space->number, made->tag, rows, count,
                                         made->bytes, made->count, &made->wait);
    if (why_not == NULL)
        return NULL;
    made->bytes[0] = PART_FAILED;
    return host->exchange(host->owner, space->number, made->tag, rows, count, made->bytes, 1,
                          &made->wait);
}

static void run_collective(struct mu_pmix *pmix, struct mu_upcall *upcall)
{
    struct mu_collective *made = (struct mu_collective *)upcall;
    struct mu_space *space = mu_space_named(pmix, made->procs[0].nspace);
    uint32_t count = 0;
    if (space == NULL || !one_space(made)) {
        finish(made, space == NULL ? PMIX_ERR_NOT_FOUND : PMIX_ERR_NOT_SUPPORTED, NULL, 0);
        return;
    }
    struct mu_rank_run *rows = rows_of(space, made, &count);
    if (rows == NULL) {
        finish(made, PMIX_ERR_BAD_PARAM, NULL, 0);
        return;
    }
    made->wait.done = on_done;
    if (somebody_is_lost(space, rows, count))
        made->bytes[0] = PART_WITHOUT_SOMEBODY;
    const char *why_not = begin_exchange(&pmix->config.host, space, rows, count, made);
    free(rows);
    if (why_not == NULL)
        mu_pending_add(space, &made->pending, give_up);
    else
        finish(made, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
}
