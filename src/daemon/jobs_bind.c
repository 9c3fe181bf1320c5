/* Processes of jobs on cores of their own. */
#include "daemon/jobs_parts.h"

#include <inttypes.h>
#include <stdio.h>

/* Once for each daemon, when the first job wants it. */
static const char *know_cores(struct mu_jobs *jobs)
{
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
    uint32_t wanted = mu_cores_wanted(spec, jobs->config.net->self.from);
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
    uint32_t before = mu_cores_before(&job->orders->spec, jobs->config.net->self.from);
    uint32_t local = (uint32_t)(process - job->processes);
    return (before + local) % mu_cores_usable(&jobs->cores);
}

void mu_job_bind(const struct mu_job_process *process, struct mu_spawn_spec *start)
{
    const struct mu_job *job = process->job;
    const struct mu_launch_job *spec = &job->orders->spec;
    const struct mu_hello *self = &job->jobs->config.net->self;
    start->bound = spec->binding != MU_LAUNCH_UNBOUND;
    if (has_cores(spec))
        mu_cores_mask(&job->jobs->cores, core_of(process), &start->cpus);
    else if (start->bound)
        mu_cores_part(&job->jobs->allowed, self->from, self->size, &start->cpus);
}

static void say(const struct mu_job_process *process, char *text, size_t room)
{
    const struct mu_jobs *jobs = process->job->jobs;
    const struct mu_hello *self = &jobs->config.net->self;
    struct mu_spawn_cpus part;
    uint32_t count;
    if (has_cores(&process->job->orders->spec)) {
        mu_cores_text(&jobs->cores, core_of(process), text, room);
        return;
    }
    count = mu_cores_part(&jobs->allowed, self->from, self->size, &part);
    snprintf(text, room, "its node's part of the host: %" PRIu32 " processor%s", count,
             count == 1 ? "" : "s");
}

void mu_job_say_bound(const struct mu_job_process *process)
{
    struct mu_job *job = process->job;
    const struct mu_launch_job *spec = &job->orders->spec;
    char text[MU_LAUNCH_BOUND_MAX + 1];
    if (spec->binding == MU_LAUNCH_UNBOUND || !spec->report_bindings)
        return;
    say(process, text, sizeof text);
    struct mu_launch_message message = {
        .type = MU_LAUNCH_BOUND,
        .job = job->number,
        .bound = {.rank = process->rank, .text = text},
    };
    mu_job_send(job, &message);
}
