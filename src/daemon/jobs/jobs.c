#include "daemon/jobs/jobs.h"
#include "daemon/jobs/inside.h"
#include "host/orphans.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    ORPHANS_REAP_MS = 5000, /* how long a dead orphan may stay while jobs run */
    ORPHANS_KILL_MS = 10,   /* between two sweeps after the last job */
    REAP_MS = 20,           /* after an end was told */
    ORPHANS_SWEEPS_MAX = 200,
};

static const uint64_t close_timeout_ns = 2000000000u; /* for those that hang in the kernel */

struct mu_job *mu_jobs_find(struct mu_jobs *jobs, uint32_t number)
{
    for (struct mu_job *job = jobs->first; job != NULL; job = job->next)
        if (job->number == number)
            return job;
    return NULL;
}

uint32_t mu_jobs_count(const struct mu_jobs *jobs)
{
    uint32_t count = 0;
    for (const struct mu_job *job = jobs->first; job != NULL; job = job->next)
        count++;
    return count;
}

uint32_t mu_jobs_processes(const struct mu_jobs *jobs)
{
    return mu_watch_proc_count(jobs->watch);
}

/* ---- orphans ---- */

static int compare_pids(const void *a, const void *b)
{
    pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;
    return left < right ? -1 : left > right;
}

static void reap_orphans(struct mu_jobs *jobs)
{
    pid_t *ours = malloc((jobs->left + 1) * sizeof *ours);
    uint32_t count = 0;
    if (ours == NULL)
        return; /* the next time */
    for (const struct mu_job *job = jobs->first; job != NULL; job = job->next)
        for (uint32_t i = 0; i < job->count; i++)
            if (job->processes[i].state == MU_JOB_RUNNING)
                ours[count++] = job->processes[i].pid;
    qsort(ours, count, sizeof *ours, compare_pids);
    mu_orphans_sweep(ours, count, false);
    free(ours);
}

/* While jobs run the dead are reaped.  After the last one all are killed. */
static void on_orphan_timer(uv_timer_t *timer)
{
    struct mu_jobs *jobs = timer->data;
    mu_watch_proc_reap(jobs->watch);
    mu_jobs_on_ends(&jobs->ends, 0, UV_READABLE);
    if (jobs->starting > 0 || mu_watch_proc_told(jobs->watch) > 0)
        return; /* who is being started, or taken apart, looks like one */
    if (jobs->first != NULL)
        reap_orphans(jobs);
    else if (mu_orphans_sweep(NULL, 0, true) == 0 || ++jobs->sweeps >= ORPHANS_SWEEPS_MAX)
        uv_timer_stop(timer);
}

void mu_jobs_watch_orphans(struct mu_jobs *jobs)
{
    uv_timer_start(&jobs->orphan_timer, on_orphan_timer, ORPHANS_REAP_MS, ORPHANS_REAP_MS);
}

/* Ends that follow each other do not put it off. */
void mu_jobs_reap_soon(struct mu_jobs *jobs)
{
    if (uv_timer_get_due_in(&jobs->orphan_timer) > REAP_MS ||
        !uv_is_active((uv_handle_t *)&jobs->orphan_timer))
        uv_timer_start(&jobs->orphan_timer, on_orphan_timer, REAP_MS, ORPHANS_REAP_MS);
}

static void end_orphans(struct mu_jobs *jobs)
{
    jobs->sweeps = 0;
    uv_timer_start(&jobs->orphan_timer, on_orphan_timer, 0, ORPHANS_KILL_MS);
}

/* ---- once in a turn of the loop ---- */

static void bury_jobs(struct mu_jobs *jobs)
{
    const struct mu_jobs_hooks *hooks = &jobs->config.hooks;
    bool some = false;
    for (struct mu_job **place = &jobs->first; *place != NULL;) {
        struct mu_job *job = *place;
        if (job->left > 0 || job->launcher != NULL ||
            mu_watch_proc_has_told(jobs->watch, job->number)) {
            place = &job->next;
            continue;
        }
        uint32_t number = job->number;
        *place = job->next;
        mu_job_free(job);
        some = true;
        hooks->over(hooks->owner, number);
    }
    if (some && jobs->first == NULL)
        end_orphans(jobs);
}

static void on_soon(uv_idle_t *idle)
{
    struct mu_jobs *jobs = idle->data;
    uv_idle_stop(idle);
    if (mu_jobs_read_some(jobs))
        mu_jobs_soon(jobs);
    bury_jobs(jobs);
    if (jobs->all_over == NULL || jobs->left > 0 || mu_watch_proc_told(jobs->watch) > 0)
        return;
    void (*all_over)(void *owner) = jobs->all_over;
    jobs->all_over = NULL;
    all_over(jobs->config.hooks.owner); /* may close us: last */
}

void mu_jobs_soon(struct mu_jobs *jobs)
{
    uv_idle_start(&jobs->soon, on_soon);
}

/* ---- on command ---- */

bool mu_jobs_kill(struct mu_jobs *jobs, uint32_t number, int signal)
{
    struct mu_job *job = mu_jobs_find(jobs, number);
    if (job == NULL)
        return false;
    mu_job_stop(job, signal, signal == SIGKILL ? 0 : MU_JOBS_GRACE_MS);
    return true;
}

void mu_jobs_stop_all(struct mu_jobs *jobs, uint32_t grace_ms, void (*all_over)(void *owner))
{
    jobs->ending = true;
    for (struct mu_job *job = jobs->first; job != NULL; job = job->next)
        mu_job_stop(job, SIGTERM, grace_ms);
    if (jobs->left == 0)
        all_over(jobs->config.hooks.owner);
    else
        jobs->all_over = all_over;
}

/* ---- open and close ---- */

static void free_parts(struct mu_jobs *jobs)
{
    if (jobs->stream_epoll >= 0)
        close(jobs->stream_epoll);
    free(jobs->buffer);
    mu_cores_free(&jobs->cores);
    free(jobs);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct mu_jobs *jobs = handle->data;
    if (--jobs->handles == 0)
        free_parts(jobs);
}

static void close_handles(struct mu_jobs *jobs)
{
    void *handles[] = {&jobs->spawned,    &jobs->ends,         &jobs->streams, &jobs->told_timer,
                       &jobs->kill_timer, &jobs->orphan_timer, &jobs->soon};
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++) {
        uv_handle_t *handle = handles[i];
        if (handle->data != NULL) /* else open_handles() did not come to it */
            uv_close(handle, on_handle_closed);
    }
}

static int open_poll(struct mu_jobs *jobs, uv_poll_t *poll, int fd, uv_poll_cb callback)
{
    int failed = uv_poll_init(jobs->config.net->loop, poll, fd);
    if (failed != 0)
        return -failed;
    poll->data = jobs;
    jobs->handles++;
    failed = uv_poll_start(poll, UV_READABLE, callback);
    assert(failed == 0);
    return 0;
}

static void open_timer(struct mu_jobs *jobs, uv_timer_t *timer)
{
    int failed = uv_timer_init(jobs->config.net->loop, timer);
    assert(failed == 0);
    timer->data = jobs;
    jobs->handles++;
}

static int open_handles(struct mu_jobs *jobs)
{
    open_timer(jobs, &jobs->told_timer);
    open_timer(jobs, &jobs->kill_timer);
    open_timer(jobs, &jobs->orphan_timer);
    int failed = uv_idle_init(jobs->config.net->loop, &jobs->soon);
    assert(failed == 0);
    jobs->soon.data = jobs;
    jobs->handles++;
    int error = open_poll(jobs, &jobs->spawned, mu_spawner_fd(jobs->spawner), mu_jobs_on_spawned);
    if (error == 0)
        error = open_poll(jobs, &jobs->ends, mu_watch_proc_fd(jobs->watch), mu_jobs_on_ends);
    if (error == 0)
        error = open_poll(jobs, &jobs->streams, jobs->stream_epoll, mu_jobs_on_streams);
    return error;
}

static int open_parts(struct mu_jobs *jobs)
{
    jobs->buffer = malloc(MU_JOBS_BUFFER);
    if (jobs->buffer == NULL)
        return ENOMEM;
    jobs->stream_epoll = epoll_create1(EPOLL_CLOEXEC);
    if (jobs->stream_epoll < 0)
        return errno;
    int error = mu_orphans_adopt();
    if (error == 0)
        error = mu_watch_proc_open(jobs->config.processes, &jobs->watch);
    if (error == 0)
        error = mu_spawner_open(MU_JOBS_STARTS, &jobs->spawner);
    return error == 0 ? open_handles(jobs) : error;
}

int mu_jobs_open(const struct mu_jobs_config *config, struct mu_jobs **jobs)
{
    struct mu_jobs *made = calloc(1, sizeof *made);
    if (made == NULL)
        return ENOMEM;
    made->config = *config;
    made->stream_epoll = -1;
    mu_cores_allowed(&made->allowed); /* or there is none, and nobody is bound */
    int error = open_parts(made);
    if (error == 0)
        *jobs = made;
    else
        mu_jobs_close(made);
    return error;
}

/* Whatever is being started or runs dies with the spawner's thread; then it is reaped. */
static void end_processes(struct mu_jobs *jobs)
{
    bool started = jobs->spawner != NULL;
    mu_spawner_close(jobs->spawner);
    if (started) {
        mu_watch_proc_kill(jobs->watch, close_timeout_ns);
        mu_orphans_end(close_timeout_ns);
    }
    mu_watch_proc_close(jobs->watch);
}

void mu_jobs_close(struct mu_jobs *jobs)
{
    bool has_handles = jobs->handles > 0;
    mu_jobs_leave(jobs);
    close_handles(jobs);
    end_processes(jobs);
    while (jobs->first != NULL) {
        struct mu_job *job = jobs->first;
        jobs->first = job->next;
        mu_job_free(job);
    }
    mu_pmi1_close(jobs->pmi1);
    if (!has_handles)
        free_parts(jobs);
}
