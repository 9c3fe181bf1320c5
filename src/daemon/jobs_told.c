/* What clients here were told, for the launchers: gathered, and sent a little later, when the news
 * has had time to reach everybody.  A launcher only wants to know how fast that went. */
#include "daemon/jobs_parts.h"

#include <stdlib.h>
#include <string.h>

enum { TOLD_MS = 100, ROOM_FIRST = 4096 };

void mu_job_tell(struct mu_job *job)
{
    for (size_t at = 0; at < job->told_used;) {
        uint32_t length;
        memcpy(&length, job->told + at, sizeof length);
        at += sizeof length;
        if (job->launcher != NULL)
            mu_conn_send(job->launcher->conn, job->told + at, length);
        at += length;
    }
    job->told_used = 0;
}

void mu_jobs_on_told_timer(uv_timer_t *timer)
{
    struct mu_jobs *jobs = timer->data;
    for (struct mu_job *job = jobs->first; job != NULL; job = job->next)
        mu_job_tell(job);
}

static bool make_room(struct mu_job *job, size_t bytes)
{
    size_t room = job->told_room > 0 ? job->told_room : ROOM_FIRST;
    while (room - job->told_used < bytes)
        room *= 2;
    if (room == job->told_room)
        return true;
    uint8_t *larger = realloc(job->told, room);
    if (larger == NULL)
        return false;
    job->told = larger;
    job->told_room = room;
    return true;
}

/* Without memory to gather it goes at once. */
static void gather(struct mu_job *job, const uint8_t *bytes, uint32_t count)
{
    if (!make_room(job, sizeof count + count)) {
        mu_job_tell(job);
        mu_conn_send(job->launcher->conn, bytes, count);
        return;
    }
    memcpy(job->told + job->told_used, &count, sizeof count);
    memcpy(job->told + job->told_used + sizeof count, bytes, count);
    job->told_used += sizeof count + count;
}

static void tell_later(struct mu_job *job, const struct mu_local_event *event)
{
    bool is_node = event->subject == MU_SUBJECT_NODE;
    uint8_t bytes[MU_LAUNCH_DATA_FIXED + 64 + MU_EVIDENCE_BYTES_MAX];
    struct mu_writer writer;
    struct mu_launch_message message = {
        .type = MU_LAUNCH_TOLD,
        .job = job->number,
        .told = {.is_node = is_node,
                 .rank = is_node ? 0 : event->rank,
                 .node = event->node,
                 .hops = event->hops,
                 .age_ns = event->age_ns,
                 .evidence = event->evidence},
    };
    if (job->launcher == NULL)
        return;
    mu_writer_init(&writer, bytes, sizeof bytes);
    mu_launch_encode(&writer, &message);
    gather(job, bytes, (uint32_t)writer.used);
    /* With no process here nobody waits for news any more, and the launcher may be about to go. */
    if (job->left == 0)
        mu_job_tell(job);
    else if (!uv_is_active((uv_handle_t *)&job->jobs->told_timer))
        uv_timer_start(&job->jobs->told_timer, mu_jobs_on_told_timer, TOLD_MS, 0);
}

void mu_jobs_told(struct mu_jobs *jobs, const struct mu_local_event *event)
{
    if (event->evidence.verdict == MU_VERDICT_LEFT)
        return; /* no death */
    for (struct mu_job *job = jobs->first; job != NULL; job = job->next)
        if (event->subject == MU_SUBJECT_NODE || event->job == job->number)
            tell_later(job, event);
}
