/* Processes of jobs on cores of their own, or on their node's part of the host. */
#include "daemon/jobs/inside.h"

#include <inttypes.h>
#include <stdio.h>

/* Once for each daemon, when the first job wants it. */
static const char *know_cores(struct mu_jobs *jobs)
{
    if (mu_cores_count(&jobs->allowed) == 0)
        return "the kernel does not say which processors are allowed";
    return jobs->cores.count > 0 ? NULL : mu_cores_read(&jobs->cores, &jobs->allowed);
}

static bool has_cores(const struct mu_launch_job *spec)
{
    return spec->binding == MU_LAUNCH_CORES || spec->binding == MU_LAUNCH_CORES_SHARED;
}

const char *mu_jobs_bind_error(struct mu_jobs *jobs, const struct mu_launch_job *spec, char *text)
{
    if (!has_cores(spec))
        return NULL;
    const char *wrong = know_cores(jobs);
    if (wrong != NULL) {
        snprintf(text, MU_WIRE_TEXT_MAX, "processes cannot be bound to cores: %s", wrong);
        return text;
    }
    uint32_t usable = mu_cores_usable(&jobs->cores);
    uint32_t wanted = mu_cores_wanted(spec, jobs->config.net->self.from, jobs->config.shared_host);
    if (usable > 0 && (wanted <= usable || spec->binding == MU_LAUNCH_CORES_SHARED))
        return NULL;
    snprintf(text, MU_WIRE_TEXT_MAX,
             "%" PRIu32 " process%s cannot have a core each: its host has %" PRIu32
             " (--bind-to none, or core:overload-allowed)",
             wanted, wanted == 1 ? "" : "es", usable);
    return text;
}

/* Of the usable cores, the one that a process gets. */
static uint32_t core_of(const struct mu_job_process *process)
{
    const struct mu_job *job = process->job;
    const struct mu_jobs *jobs = job->jobs;
    uint32_t before =
        mu_cores_before(&job->orders->spec, jobs->config.net->self.from, jobs->config.shared_host);
    uint32_t local = (uint32_t)(process - job->processes);
    return (before + local) % mu_cores_usable(&jobs->cores);
}

/* A part is a preference: who cannot have it runs anywhere. */
static bool has_part(const struct mu_job *job)
{
    return job->orders->spec.binding == MU_LAUNCH_PART && job->jobs->config.shared_host &&
           mu_cores_count(&job->jobs->allowed) > 0;
}

static void find_part(const struct mu_job *job, struct mu_spawn_cpus *part)
{
    const struct mu_hello *self = &job->jobs->config.net->self;
    mu_cores_part(&job->jobs->allowed, self->from, self->size, part);
}

void mu_job_bind(const struct mu_job_process *process, struct mu_spawn_spec *start)
{
    const struct mu_job *job = process->job;
    start->bound = has_cores(&job->orders->spec);
    start->preferred = has_part(job);
    if (start->bound)
        mu_cores_mask(&job->jobs->cores, core_of(process), &start->cpus);
    else if (start->preferred)
        find_part(job, &start->cpus);
}

static void say_part(const struct mu_job *job, char *text, size_t room)
{
    struct mu_spawn_cpus part;
    char list[MU_LAUNCH_BOUND_MAX / 2];
    find_part(job, &part);
    mu_cores_list(&part, list, sizeof list);
    snprintf(text, room, "processors %s, its node's part of the host", list);
}

void mu_job_say_bound(const struct mu_job_process *process)
{
    struct mu_job *job = process->job;
    const struct mu_launch_job *spec = &job->orders->spec;
    char text[MU_LAUNCH_BOUND_MAX + 1];
    if (!spec->report_bindings || !(has_cores(spec) || has_part(job)))
        return;
    if (has_cores(spec))
        mu_cores_text(&job->jobs->cores, core_of(process), text, sizeof text);
    else
        say_part(job, text, sizeof text);
    struct mu_launch_message message = {
        .type = MU_LAUNCH_BOUND,
        .job = job->number,
        .bound = {.rank = process->rank, .text = text},
    };
    mu_job_send(job, &message);
}
