/* Processes of jobs that find each other by PMI-1. */
#include "daemon/jobs/inside.h"

#include <errno.h>

static const char *on_gather(void *owner, uint32_t job, uint32_t size, const uint8_t *bytes,
                             size_t count)
{
    const struct mu_jobs *jobs = owner;
    const struct mu_jobs_hooks *hooks = &jobs->config.hooks;
    return hooks->gather(hooks->owner, job, size, bytes, count);
}

static void on_aborted(void *owner, uint32_t job, uint32_t rank, uint8_t code)
{
    mu_jobs_abort(owner, job, rank, code);
}

static void on_dead(void *owner, uint32_t job, uint64_t *failed)
{
    const struct mu_jobs *jobs = owner;
    const struct mu_jobs_hooks *hooks = &jobs->config.hooks;
    hooks->dead(hooks->owner, job, failed);
}

bool mu_job_pmi_open(struct mu_job *job)
{
    struct mu_jobs *jobs = job->jobs;
    const struct mu_hello *self = &jobs->config.net->self;
    const struct mu_pmi1_hooks hooks = {jobs, on_gather, on_aborted, on_dead};
    if (!job->orders->spec.pmi || job->count == 0)
        return true;
    if (jobs->pmi1 == NULL && mu_pmi1_open(jobs->config.net->loop, &hooks, &jobs->pmi1) != 0)
        return false;
    job->pmi =
        mu_pmi1_job_open(jobs->pmi1, job->number, self->from, self->machine, &job->orders->spec);
    return job->pmi != NULL;
}

int mu_job_pmi_connect(struct mu_job_process *process, int *theirs)
{
    struct mu_job *job = process->job;
    return job->pmi != NULL
               ? mu_pmi1_connect(job->pmi, (uint32_t)(process - job->processes), theirs)
               : 0;
}

void mu_job_pmi_ended(struct mu_job_process *process)
{
    struct mu_job *job = process->job;
    if (job->pmi != NULL)
        mu_pmi1_ended(job->pmi, (uint32_t)(process - job->processes));
}

struct mu_pmi1_job *mu_jobs_pmi(struct mu_jobs *jobs, uint32_t number)
{
    struct mu_job *job = mu_jobs_find(jobs, number);
    return job != NULL ? job->pmi : NULL;
}
