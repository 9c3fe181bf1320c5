/* Starting the processes of jobs: pipes, environment, and what became of it. */
#define _GNU_SOURCE
#include "daemon/jobs/env.h"
#include "daemon/jobs/inside.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- what is freed when it has started ---- */

/* The process has its own copies of the descriptors. */
void mu_job_start_free(struct mu_job_process *process)
{
    struct mu_spawn_spec *start = process->start;
    if (start == NULL)
        return;
    for (int i = 0; i < 3; i++)
        if (start->stdio[i] >= 0)
            close(start->stdio[i]);
    if (start->passed > 0)
        close(start->passed);
    free((void *)start->envp);
    free(start);
    process->start = NULL;
}

void mu_job_orders_free(struct mu_job *job)
{
    if (job->orders == NULL)
        return;
    mu_launch_lists_free(&job->orders->lists);
    free(job->orders);
    job->orders = NULL;
}

/* ---- before ---- */

static struct mu_exit_kind no_start(enum mu_start_step step, int error)
{
    return mu_exit_kind_not_started(step, error);
}

static const char *const *make_environment(const struct mu_job_process *process,
                                           const struct mu_launch_program *program)
{
    const struct mu_job *job = process->job;
    const struct mu_jobs_config *config = &job->jobs->config;
    struct mu_jobs_env env = {
        .socket = config->socket,
        .job = job->number,
        .rank = process->rank,
        .size = job->orders->spec.size,
        .node = config->net->self.from,
        .nodes = config->net->self.size,
        .local_rank = (uint32_t)(process - job->processes),
        .pmi = job->pmi != NULL,
    };
    const struct mu_jobs_hooks *hooks = &config->hooks;
    char **given = NULL, **usual = NULL;
    if (hooks->env != NULL) {
        given = hooks->env(hooks->owner, job->number, process->rank);
        usual = hooks->usual_env(hooks->owner, job->number);
    }
    env.given = (const char *const *)given;
    env.usual = (const char *const *)usual;
    const char *const *made = mu_jobs_env_make(job->orders->spec.envp, program->envp, &env);
    if (given != NULL)
        hooks->env_free(hooks->owner, given);
    if (usual != NULL)
        hooks->env_free(hooks->owner, usual);
    return made;
}

static int open_pipes(struct mu_job_process *process, int stdio[3])
{
    struct mu_job *job = process->job;
    int error = 0;
    if (job->input.stream.process == process && !job->input.closed)
        error = mu_job_stream_open(&job->input.stream, &stdio[0]);
    for (int i = 0; i < 2 && error == 0; i++)
        error = mu_job_stream_open(&process->output[i], &stdio[1 + i]);
    return error;
}

/* MU_EXIT_LEFT: nothing went wrong.  On failure process->start may be there. */
static struct mu_exit_kind prepare(struct mu_job_process *process)
{
    const struct mu_launch_job *spec = &process->job->orders->spec;
    const struct mu_launch_program *program = mu_launch_program_of(spec, process->rank);
    struct mu_spawn_spec *start = malloc(sizeof *start);
    if (start == NULL)
        return no_start(MU_START_CLONE, ENOMEM);
    *start = (struct mu_spawn_spec){
        .argv = program->argv,
        .envp = make_environment(process, program),
        .directory = program->directory,
        .stdio = {MU_SPAWN_NULL, MU_SPAWN_NULL, MU_SPAWN_NULL},
        .own_group = true,
        .ignore_sigpipe = spec->ignore_sigpipe,
    };
    mu_job_bind(process, start);
    process->start = start;
    if (start->envp == NULL)
        return no_start(MU_START_CLONE, ENOMEM);
    int error = open_pipes(process, start->stdio);
    if (error == 0)
        error = mu_job_pmi_connect(process, &start->passed);
    return error == 0 ? (struct mu_exit_kind){.type = MU_EXIT_LEFT}
                      : no_start(MU_START_STDIO, error);
}

/* ---- after ---- */

static void not_started(struct mu_job_process *process, const struct mu_exit_kind *why,
                        uint64_t at_ns)
{
    struct mu_evidence evidence = mu_job_evidence(process->job->jobs, why, 0, at_ns);
    const char *path = process->start != NULL ? mu_spawn_path(process->start, why->step) : NULL;
    mu_evidence_path(&evidence, path);
    mu_job_start_free(process);
    mu_job_process_ended(process, &evidence);
}

static void start(struct mu_job_process *process)
{
    struct mu_job *job = process->job;
    struct mu_jobs *jobs = job->jobs;
    job->submitted++;
    struct mu_exit_kind failure = prepare(process);
    if (failure.type != MU_EXIT_LEFT) {
        not_started(process, &failure, uv_hrtime());
        return;
    }
    process->state = MU_JOB_STARTING;
    job->starting++;
    jobs->starting++;
    bool room = mu_spawner_submit(jobs->spawner, process->start, process);
    assert(room); /* jobs->starting is below its capacity */
}

static struct mu_job_process *next_waiting(struct mu_jobs *jobs)
{
    for (struct mu_job *job = jobs->first; job != NULL; job = job->next)
        if (!job->held && job->submitted < job->count)
            return &job->processes[job->submitted];
    return NULL;
}

void mu_jobs_start_more(struct mu_jobs *jobs)
{
    struct mu_job_process *process;
    while (jobs->starting < MU_JOBS_STARTS && (process = next_waiting(jobs)) != NULL) {
        start(process);
        if (process->job->starting == 0 && process->job->submitted == process->job->count)
            mu_job_orders_free(process->job);
    }
}

void mu_jobs_go(struct mu_jobs *jobs, uint32_t number)
{
    struct mu_job *job = mu_jobs_find(jobs, number);
    if (job == NULL || !job->held)
        return;
    job->held = false;
    mu_job_say_ready(job);
    mu_jobs_start_more(jobs);
}

/* One that cannot be watched must not run.  It is an orphan from here on, and reaped as those. */
static void put_down(struct mu_job_process *process, const struct mu_spawn_result *result,
                     int error)
{
    struct mu_exit_kind why = no_start(MU_START_CLONE, error);
    syscall(SYS_pidfd_send_signal, result->pidfd, SIGKILL, NULL, 0);
    close(result->pidfd);
    not_started(process, &why, result->at_ns);
}

static void has_started(struct mu_job_process *process, const struct mu_spawn_result *result)
{
    struct mu_job *job = process->job;
    struct mu_jobs *jobs = job->jobs;
    struct mu_watched watched = {job->number, process->rank, result->pid, result->pidfd, true};
    if (mu_watch_proc_add(jobs->watch, &watched) != MU_WATCH_OK) {
        put_down(process, result, errno);
        return;
    }
    mu_job_start_free(process);
    process->state = MU_JOB_RUNNING;
    process->pid = result->pid;
    const struct mu_jobs_hooks *hooks = &jobs->config.hooks;
    hooks->started(hooks->owner, job->number, process->rank, (uint32_t)result->pid);
    struct mu_launch_message message = {
        .type = MU_LAUNCH_STARTED,
        .job = job->number,
        .started = {.rank = process->rank, .pid = (uint32_t)result->pid},
    };
    mu_job_send(job, &message);
    mu_job_say_bound(process);
    mu_job_output_begin(process);
    if (job->input.stream.process == process)
        mu_job_input_write(job);
    mu_job_signal_late(process);
}

void mu_jobs_on_spawned(uv_poll_t *poll, int status, int events)
{
    struct mu_jobs *jobs = poll->data;
    struct mu_spawn_result result;
    (void)status;
    (void)events;
    while (mu_spawner_next(jobs->spawner, &result)) {
        struct mu_job_process *process = result.tag;
        struct mu_job *job = process->job;
        jobs->starting--;
        job->starting--;
        if (result.started)
            has_started(process, &result);
        else
            not_started(process, &result.failure, result.at_ns);
        if (job->starting == 0 && job->submitted == job->count)
            mu_job_orders_free(job);
    }
    mu_jobs_start_more(jobs);
}
