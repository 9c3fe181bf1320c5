/* Several jobs as one, for what processes of all of them do together. */
#include "daemon/exchange/inside.h"

static bool is_same(const struct mu_exchange_job *job, const uint32_t *jobs, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < job->share_count; i++)
        if (job->shares[i].roll->number != jobs[i])
            return false;
    return job->joined && job->share_count == count;
}

const char *mu_exchanges_join(struct mu_exchanges *exchanges, uint32_t number, const uint32_t *jobs,
                              uint32_t count)
{
    const struct mu_exchange_job *known = mu_exchanges_find(exchanges, number);
    if (known != NULL)
        return is_same(known, jobs, count) ? NULL : "these jobs have the number of others";
    for (uint32_t i = 0; i < count; i++)
        if (mu_roll_find(exchanges->config.roll, jobs[i]) == NULL)
            return "one of the jobs is not known here";
    struct mu_exchange_job *made = mu_exchanges_make_job(number, count);
    if (made == NULL)
        return "no memory for exchanges among several jobs";
    made->joined = true;
    for (uint32_t i = 0; i < count; i++)
        mu_exchanges_add_share(made, mu_roll_find(exchanges->config.roll, jobs[i]));
    mu_exchanges_add_job(exchanges, made);
    return NULL;
}

static bool has_share(const struct mu_exchange_job *job, const struct mu_roll_job *roll)
{
    for (uint32_t i = 0; i < job->share_count; i++)
        if (job->shares[i].roll == roll)
            return true;
    return false;
}

void mu_joined_over(struct mu_exchanges *exchanges, const struct mu_roll_job *roll)
{
    for (struct mu_exchange_job *job = exchanges->jobs, *next; job != NULL; job = next) {
        next = job->next;
        if (job->joined && has_share(job, roll))
            mu_exchanges_end_job(exchanges, job->number);
    }
}
