/* Standard input of one process, from its launcher.
 *
 * The launcher may send so many bytes; what was written to the pipe it may send again.  A process
 * that has closed its input, or ended, is written to no more, and the launcher may send on: what
 * comes is dropped. */
#include "daemon/jobs/inside.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

bool mu_job_input_open(struct mu_job *job, struct mu_job_process *process)
{
    job->input.bytes = malloc(MU_JOBS_INPUT_WINDOW);
    job->input.stream = (struct mu_job_stream){.process = process, .fd = -1, .number = 0};
    return job->input.bytes != NULL;
}

void mu_job_input_grant(struct mu_job *job, uint32_t bytes)
{
    struct mu_launch_message message = {
        .type = MU_LAUNCH_INPUT_CREDIT, .job = job->number, .credit = {.bytes = bytes}};
    job->input.granted += bytes;
    assert(job->input.granted + job->input.count <= MU_JOBS_INPUT_WINDOW);
    mu_job_send(job, &message);
}

static void drop(struct mu_job_input *input, uint32_t count)
{
    input->begin = (input->begin + count) % MU_JOBS_INPUT_WINDOW;
    input->count -= count;
}

void mu_job_input_close(struct mu_job *job)
{
    struct mu_job_input *input = &job->input;
    uint32_t count = input->count;
    if (input->bytes == NULL || input->closed)
        return;
    input->closed = true;
    mu_job_stream_close(&input->stream);
    drop(input, count);
    if (count > 0)
        mu_job_input_grant(job, count);
}

static ssize_t write_ring(struct mu_job_input *input)
{
    uint32_t to_end = MU_JOBS_INPUT_WINDOW - input->begin;
    uint32_t first = input->count < to_end ? input->count : to_end;
    struct iovec parts[2] = {
        {.iov_base = input->bytes + input->begin, .iov_len = first},
        {.iov_base = input->bytes, .iov_len = input->count - first},
    };
    ssize_t count;
    do
        count = writev(input->stream.fd, parts, 2);
    while (count < 0 && errno == EINTR);
    return count;
}

/* As much as the pipe takes; an event says when it takes more. */
void mu_job_input_write(struct mu_job *job)
{
    struct mu_job_input *input = &job->input;
    if (input->stream.fd < 0)
        return; /* no pipe yet, or closed */
    while (input->count > 0) {
        ssize_t count = write_ring(input);
        if (count < 0 && errno == EAGAIN)
            return;
        if (count < 0) { /* nobody reads it any more */
            mu_job_input_close(job);
            return;
        }
        drop(input, (uint32_t)count);
        mu_job_input_grant(job, (uint32_t)count);
    }
    if (input->ending)
        mu_job_input_close(job);
}

static void append(struct mu_job_input *input, const uint8_t *bytes, uint32_t count)
{
    uint32_t end = (input->begin + input->count) % MU_JOBS_INPUT_WINDOW;
    uint32_t to_end = MU_JOBS_INPUT_WINDOW - end;
    uint32_t first = count < to_end ? count : to_end;
    memcpy(input->bytes + end, bytes, first);
    memcpy(input->bytes, bytes + first, count - first);
    input->count += count;
}

/* False: more than was granted, or nobody here reads it. */
bool mu_job_input_take(struct mu_job *job, const uint8_t *bytes, uint32_t count)
{
    struct mu_job_input *input = &job->input;
    if (input->bytes == NULL || count > input->granted)
        return false;
    if (count == 0)
        input->ending = true;
    input->granted -= count;
    if (input->closed) {
        if (count > 0)
            mu_job_input_grant(job, count);
        return true;
    }
    append(input, bytes, count);
    mu_job_input_write(job);
    return true;
}
