/* What clients here were told, for the launchers: gathered, and sent a little later, when the news
 * has had time to reach everybody.  A launcher only wants to know how fast that went. */
#include "daemon/jobs/inside.h"

#include <stdlib.h>

enum { TOLD_MS = 250, ROOM_FIRST = 4 };

static void tell(struct mu_job *job, const struct mu_local_event *event)
{
    bool is_node = event->subject == MU_SUBJECT_NODE;
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
    mu_job_send(job, &message);
}

void mu_job_tell(struct mu_job *job)
{
    for (uint32_t i = 0; i < job->told_count; i++)
        tell(job, &job->told[i]);
    job->told_count = 0;
}

void mu_jobs_on_told_timer(uv_timer_t *timer)
{
    struct mu_jobs *jobs = timer->data;
    for (struct mu_job *job = jobs->first; job != NULL; job = job->next)
        mu_job_tell(job);
}

static bool make_room(struct mu_job *job)
{
    if (job->told_count < job->told_room)
        return true;
    uint32_t room = job->told_room > 0 ? job->told_room * 2 : ROOM_FIRST;
    struct mu_local_event *larger = realloc(job->told, room * sizeof *larger);
    if (larger == NULL)
        return false;
    job->told = larger;
    job->told_room = room;
    return true;
}

/* Without memory to gather it goes at once. */
static void tell_later(struct mu_job *job, const struct mu_local_event *event)
{
    if (job->launcher == NULL)
        return;
    if (make_room(job)) {
        job->told[job->told_count++] = *event;
    } else {
        mu_job_tell(job);
        tell(job, event);
    }
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
    if (event->evidence.cause == MU_CAUSE_NODE_LOST)
        return; /* its node is told, and whoever started the job knows what ran there */
    for (struct mu_job *job = jobs->first; job != NULL; job = job->next)
        if (event->subject == MU_SUBJECT_NODE || event->job == job->number)
            tell_later(job, event);
}
