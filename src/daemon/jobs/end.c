/* How processes of jobs end, by themselves and on command. */
#include "daemon/jobs/inside.h"

#include <assert.h>
#include <errno.h>

struct mu_evidence mu_job_evidence(const struct mu_jobs *jobs, const struct mu_exit_kind *how,
                                   pid_t pid, uint64_t seen_ns)
{
    mu_slot self = jobs->config.net->self.from;
    return (struct mu_evidence){
        .verdict = mu_exit_kind_failed(how) ? MU_VERDICT_DEAD : MU_VERDICT_LEFT,
        .cause = MU_CAUSE_EXIT,
        .seen_by = self,
        .node = self,
        .pid = (uint32_t)pid,
        .how = *how,
        .seen_ns = seen_ns,
        .clock = jobs->config.clock,
    };
}

/* Everybody else first: this is where the news starts. */
void mu_job_process_ended(struct mu_job_process *process, const struct mu_evidence *evidence)
{
    struct mu_job *job = process->job;
    struct mu_jobs *jobs = job->jobs;
    const struct mu_jobs_hooks *hooks = &jobs->config.hooks;
    assert(process->state != MU_JOB_ENDED);
    process->state = MU_JOB_ENDED;
    job->left--;
    jobs->left--;
    hooks->ended(hooks->owner, job->number, process->rank, evidence, job->stopping);
    struct mu_launch_message message = {
        .type = MU_LAUNCH_ENDED,
        .job = job->number,
        .ended = {.rank = process->rank, .evidence = *evidence},
    };
    mu_job_send(job, &message);
    if (job->left == 0)
        mu_job_tell(job);
    mu_job_output_last(process);
    mu_job_pmi_ended(process);
    if (job->input.stream.process == process)
        mu_job_input_close(job);
    mu_jobs_soon(jobs);
}

/* NULL: it is of another node, or none. */
static struct mu_job_process *find_process(struct mu_job *job, uint32_t rank)
{
    uint32_t low = 0, high = job->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (job->processes[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < job->count && job->processes[low].rank == rank ? &job->processes[low] : NULL;
}

/* One that asks for its end with an exit code of its own, and waits. */
void mu_jobs_abort(struct mu_jobs *jobs, uint32_t number, uint32_t rank, uint8_t code)
{
    struct mu_job *job = mu_jobs_find(jobs, number);
    struct mu_job_process *process = job != NULL ? find_process(job, rank) : NULL;
    if (process == NULL || process->state == MU_JOB_ENDED)
        return;
    process->abort_code = code;
    if (process->state == MU_JOB_RUNNING)
        mu_watch_proc_signal(jobs->watch, number, rank, SIGKILL);
    else
        process->signals |= UINT64_C(1) << (SIGKILL - 1);
}

/* Of a job that is being ended nobody waits for anybody. */
static enum mu_goodbye owed_by(const struct mu_job_process *process)
{
    const struct mu_job *job = process->job;
    const struct mu_jobs_hooks *hooks = &job->jobs->config.hooks;
    if (job->stopping || hooks->owes == NULL)
        return MU_GOODBYE_SAID;
    return hooks->owes(hooks->owner, job->number, process->rank);
}

/* What we did on its behalf is its own end. */
static struct mu_exit_kind kind_of(const struct mu_job_process *process,
                                   const struct mu_exit_kind *kind)
{
    if (process->abort_code != 0 && kind->type == MU_EXIT_SIGNAL && kind->signal == SIGKILL)
        return (struct mu_exit_kind){.type = MU_EXIT_CODE, .code = process->abort_code};
    enum mu_goodbye owed = kind->type == MU_EXIT_LEFT ? owed_by(process) : MU_GOODBYE_SAID;
    return owed != MU_GOODBYE_SAID ? mu_exit_kind_no_goodbye(owed) : *kind;
}

void mu_jobs_on_ends(uv_poll_t *poll, int status, int events)
{
    struct mu_jobs *jobs = poll->data;
    struct mu_proc_end end;
    (void)status;
    (void)events;
    while (mu_watch_proc_next(jobs->watch, &end)) {
        struct mu_job *job = mu_jobs_find(jobs, end.job);
        assert(job != NULL); /* it is not freed while a process of it is watched */
        struct mu_job_process *process = find_process(job, end.rank);
        assert(process != NULL);
        struct mu_exit_kind kind = kind_of(process, &end.kind);
        struct mu_evidence evidence = mu_job_evidence(jobs, &kind, end.pid, end.seen_ns);
        mu_job_process_ended(process, &evidence);
    }
    if (!mu_watch_proc_has_dead(jobs->watch))
        return;
    mu_jobs_reap_soon(jobs);
    mu_jobs_soon(jobs); /* a job may have waited for that */
}

/* ---- on command ---- */

/* No line of them ran and none will; a signal that they never got would be a lie. */
static void give_up_waiting(struct mu_job *job)
{
    struct mu_exit_kind cancelled = mu_exit_kind_not_started(MU_START_CLONE, ECANCELED);
    struct mu_evidence evidence = mu_job_evidence(job->jobs, &cancelled, 0, uv_hrtime());
    while (job->submitted < job->count)
        mu_job_process_ended(&job->processes[job->submitted++], &evidence);
    if (job->starting == 0)
        mu_job_orders_free(job);
}

static void kill_all(struct mu_job *job)
{
    job->killed = true;
    job->kill_at_ms = UINT64_MAX;
    mu_watch_proc_signal_job(job->jobs->watch, job->number, SIGKILL);
}

static void set_kill_timer(struct mu_jobs *jobs)
{
    uint64_t at_ms = UINT64_MAX;
    for (const struct mu_job *job = jobs->first; job != NULL; job = job->next)
        if (job->kill_at_ms < at_ms)
            at_ms = job->kill_at_ms;
    uv_update_time(jobs->config.net->loop);
    uint64_t now_ms = uv_now(jobs->config.net->loop);
    if (at_ms == UINT64_MAX)
        uv_timer_stop(&jobs->kill_timer);
    else
        uv_timer_start(&jobs->kill_timer, mu_jobs_on_kill_timer,
                       at_ms > now_ms ? at_ms - now_ms : 0, 0);
}

void mu_jobs_on_kill_timer(uv_timer_t *timer)
{
    struct mu_jobs *jobs = timer->data;
    uint64_t now_ms = uv_now(jobs->config.net->loop);
    for (struct mu_job *job = jobs->first; job != NULL; job = job->next)
        if (job->kill_at_ms <= now_ms)
            kill_all(job);
    set_kill_timer(jobs);
}

/* Once more is fine: the shorter time counts. */
void mu_job_stop(struct mu_job *job, int signal, uint32_t grace_ms)
{
    mu_job_tell(job);
    job->stopping = true;
    give_up_waiting(job);
    if (grace_ms == 0) {
        kill_all(job);
        return;
    }
    mu_job_signal(job, signal);
    uv_update_time(job->jobs->config.net->loop);
    uint64_t at_ms = uv_now(job->jobs->config.net->loop) + grace_ms;
    if (at_ms < job->kill_at_ms && !job->killed)
        job->kill_at_ms = at_ms;
    set_kill_timer(job->jobs);
}

void mu_job_signal(struct mu_job *job, int signal)
{
    mu_watch_proc_signal_job(job->jobs->watch, job->number, signal);
    for (uint32_t i = 0; i < job->count; i++) {
        struct mu_job_process *process = &job->processes[i];
        if (process->state == MU_JOB_WAITING || process->state == MU_JOB_STARTING)
            process->signals |= UINT64_C(1) << (signal - 1);
    }
}

void mu_job_signal_late(struct mu_job_process *process)
{
    const struct mu_job *job = process->job;
    if (job->killed)
        process->signals = UINT64_C(1) << (SIGKILL - 1);
    for (int signal = 1; process->signals != 0; signal++, process->signals >>= 1)
        if (process->signals & 1)
            mu_watch_proc_signal(job->jobs->watch, job->number, process->rank, signal);
}
