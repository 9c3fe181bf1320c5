/* Pipes of processes, and what comes out of them.
 *
 * All are in one epoll set, edge-triggered: an event puts a stream into the queue of its job, where
 * it stays until read() says that there is nothing more.  So a pipe that may not be read for want
 * of credit costs nothing, not even when it is closed at the other end. */
#define _GNU_SOURCE
#include "daemon/jobs/inside.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Rounds over all jobs in one turn of the loop, a chunk each: news must not wait for output. */
enum { ROUNDS_MAX = 4, EVENTS_MAX = 64 };

/* ---- pipes ---- */

/* Output says nothing before mu_job_output_begin(), so that it comes after STARTED. */
int mu_job_stream_open(struct mu_job_stream *stream, int *theirs)
{
    bool is_input = stream->number == 0;
    struct epoll_event event = {.events = EPOLLET | (is_input ? EPOLLOUT : 0), .data.ptr = stream};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    int ours = ends[is_input ? 1 : 0];
    if (fcntl(ours, F_SETFL, O_NONBLOCK) != 0 ||
        epoll_ctl(stream->process->job->jobs->stream_epoll, EPOLL_CTL_ADD, ours, &event) != 0) {
        int error = errno;
        close(ends[0]);
        close(ends[1]);
        return error;
    }
    stream->fd = ours;
    *theirs = ends[is_input ? 0 : 1];
    return 0;
}

/* Out of the set first: a process that is just being started may still hold a copy, and then
 * closing alone would leave it in. */
void mu_job_stream_close(struct mu_job_stream *stream)
{
    if (stream->fd < 0)
        return;
    epoll_ctl(stream->process->job->jobs->stream_epoll, EPOLL_CTL_DEL, stream->fd, NULL);
    close(stream->fd);
    stream->fd = -1;
}

/* ---- whose turn it is ---- */

static void enqueue(struct mu_job_stream *stream)
{
    struct mu_job *job = stream->process->job;
    if (stream->queued || stream->ended)
        return;
    stream->queued = true;
    stream->next = NULL;
    if (job->first == NULL)
        job->first = stream;
    else
        job->last->next = stream;
    job->last = stream;
    mu_jobs_soon(job->jobs);
}

static struct mu_job_stream *dequeue(struct mu_job *job)
{
    struct mu_job_stream *stream = job->first;
    job->first = stream->next;
    stream->queued = false;
    return stream;
}

void mu_job_output_begin(struct mu_job_process *process)
{
    for (int i = 0; i < 2; i++) {
        struct mu_job_stream *stream = &process->output[i];
        struct epoll_event event = {.events = EPOLLET | EPOLLIN, .data.ptr = stream};
        int failed = epoll_ctl(process->job->jobs->stream_epoll, EPOLL_CTL_MOD, stream->fd, &event);
        assert(failed == 0);
    }
}

void mu_jobs_on_streams(uv_poll_t *poll, int status, int events)
{
    struct mu_jobs *jobs = poll->data;
    struct epoll_event ready[EVENTS_MAX];
    (void)status;
    (void)events;
    int count = epoll_wait(jobs->stream_epoll, ready, EVENTS_MAX, 0);
    for (int i = 0; i < count; i++) {
        struct mu_job_stream *stream = ready[i].data.ptr;
        if (stream->number == 0)
            mu_job_input_write(stream->process->job);
        else
            enqueue(stream);
    }
}

/* ---- reading ---- */

static void send_output(struct mu_job_stream *stream, uint8_t type, uint32_t count)
{
    struct mu_job *job = stream->process->job;
    struct mu_launch_message message = {
        .type = type,
        .job = job->number,
        .data = {.rank = stream->process->rank,
                 .stream = stream->number,
                 .count = count,
                 .bytes = job->jobs->buffer + MU_LAUNCH_DATA_FIXED},
    };
    mu_job_send(job, &message);
}

/* It may still stand in the queue. */
static void end_stream(struct mu_job_stream *stream)
{
    if (stream->ended)
        return;
    mu_job_stream_close(stream);
    stream->ended = true;
    send_output(stream, MU_LAUNCH_OUTPUT_END, 0);
}

/* What the pipes hold now is all that the process wrote.  Others may have them still, and go on
 * writing: that is not waited for. */
void mu_job_output_last(struct mu_job_process *process)
{
    for (int i = 0; i < 2; i++) {
        struct mu_job_stream *stream = &process->output[i];
        int left = 0;
        if (stream->fd >= 0 && ioctl(stream->fd, FIONREAD, &left) != 0)
            left = 0;
        stream->last = true;
        stream->left = (uint32_t)left;
        if (left > 0)
            enqueue(stream);
        else
            end_stream(stream);
    }
}

static size_t at_most(const struct mu_job_stream *stream)
{
    const struct mu_job *job = stream->process->job;
    size_t most = MU_LAUNCH_CHUNK_MAX;
    if (job->launcher != NULL && job->credit < most)
        most = job->credit;
    if (stream->last && stream->left < most)
        most = stream->left;
    return most;
}

/* Straight to where it is sent from. */
static ssize_t read_chunk(struct mu_job_stream *stream)
{
    uint8_t *place = stream->process->job->jobs->buffer + MU_LAUNCH_DATA_FIXED;
    size_t most = at_most(stream);
    ssize_t count;
    if (most == 0)
        return 0;
    do
        count = read(stream->fd, place, most);
    while (count < 0 && errno == EINTR);
    return count;
}

static void read_stream(struct mu_job *job)
{
    struct mu_job_stream *stream = dequeue(job);
    if (stream->ended)
        return;
    ssize_t count = read_chunk(stream);
    if (count < 0 && errno == EAGAIN && !stream->last)
        return; /* the next event brings it back */
    if (count <= 0) {
        end_stream(stream);
        return;
    }
    send_output(stream, MU_LAUNCH_OUTPUT, (uint32_t)count);
    if (job->launcher != NULL)
        job->credit -= (uint64_t)count;
    stream->left -= stream->last ? (uint32_t)count : 0;
    enqueue(stream);
}

/* What nobody wants any more is read, too, so that no process waits for a pipe. */
static bool can_read(const struct mu_job *job)
{
    if (job->first == NULL)
        return false;
    return job->launcher == NULL ||
           (job->credit > 0 && mu_conn_queued(job->launcher->conn) <= MU_CONN_QUEUE_HIGH);
}

bool mu_jobs_read_some(struct mu_jobs *jobs)
{
    bool more = true;
    for (int round = 0; round < ROUNDS_MAX && more; round++) {
        more = false;
        for (struct mu_job *job = jobs->first; job != NULL; job = job->next) {
            if (!can_read(job))
                continue;
            read_stream(job);
            more = true;
        }
    }
    return more;
}
