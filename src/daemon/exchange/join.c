/* Several jobs as one, for what processes of all of them do together. */
#include "daemon/exchange/inside.h"

#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

static bool is_same(const struct mu_exchange_job *job, const uint32_t *jobs, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < job->joined_count; i++)
        if (job->joined[i].job != jobs[i])
            return false;
    return job->joined_count == count;
}

/* Ranks and runs of one more job.  False: no memory. */
static bool append(struct mu_exchange_job *made, const struct mu_exchange_job *job)
{
    struct mu_launch_run *runs =
        realloc(made->runs, (made->run_count + job->run_count) * sizeof *runs);
    if (runs != NULL)
        made->runs = runs;
    uint8_t *ended = realloc(made->ended, made->size + job->size);
    if (ended != NULL)
        made->ended = ended;
    if (runs == NULL || ended == NULL)
        return false;
    memcpy(ended + made->size, job->ended, job->size);
    for (uint32_t i = 0; i < job->run_count; i++) {
        runs[made->run_count] = job->runs[i];
        runs[made->run_count++].first += made->size;
    }
    made->joined[made->joined_count++] = (struct mu_joined){job->number, made->size, job->size};
    made->size += job->size;
    return true;
}

const char *mu_exchanges_join(struct mu_exchanges *exchanges, uint32_t number, const uint32_t *jobs,
                              uint32_t count)
{
    const struct mu_exchange_job *known = mu_exchanges_find(exchanges, number);
    if (known != NULL)
        return is_same(known, jobs, count) ? NULL : "these jobs have the number of others";
    for (uint32_t i = 0; i < count; i++)
        if (mu_exchanges_find(exchanges, jobs[i]) == NULL)
            return "one of the jobs is not known here";
    struct mu_exchange_job *made = calloc(1, sizeof *made);
    if (made != NULL)
        made->joined = calloc(count, sizeof *made->joined);
    bool good = made != NULL && made->joined != NULL;
    for (uint32_t i = 0; good && i < count; i++)
        good = append(made, mu_exchanges_find(exchanges, jobs[i]));
    if (!good) {
        mu_exchanges_free_job(made);
        return "no memory for exchanges among several jobs";
    }
    made->number = number;
    mu_exchanges_add_job(exchanges, made);
    return NULL;
}

/* ---- what happens to one of them ---- */

static const struct mu_joined *part_of(const struct mu_exchange_job *whole, uint32_t job)
{
    for (uint32_t i = 0; i < whole->joined_count; i++)
        if (whole->joined[i].job == job)
            return &whole->joined[i];
    return NULL;
}

void mu_joined_ended(struct mu_exchanges *exchanges, uint32_t job, uint32_t rank, bool failed)
{
    for (struct mu_exchange_job *whole = exchanges->jobs; whole != NULL; whole = whole->next) {
        const struct mu_joined *part = part_of(whole, job);
        if (part != NULL)
            mu_exchanges_ended(exchanges, whole->number, part->first + rank, failed);
    }
}

void mu_joined_over(struct mu_exchanges *exchanges, uint32_t job)
{
    for (struct mu_exchange_job *whole = exchanges->jobs; whole != NULL;) {
        struct mu_exchange_job *next = whole->next;
        if (part_of(whole, job) != NULL) {
            mu_exchanges_job_over(exchanges, whole->number);
            next = exchanges->jobs; /* from the beginning: the list has changed */
        }
        whole = next;
    }
}
