#include "daemon/inside.h"
#include "host/log.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

/* ---- turns of the loop ---- */

static void on_wake(void *owner)
{
    const struct mu_daemon *daemon = owner;
    mu_pmix_loader_wake(daemon->pmix);
}

static void on_later(void *owner, uint64_t ms)
{
    const struct mu_daemon *daemon = owner;
    mu_pmix_loader_later(daemon->pmix, ms);
}

/* ---- exchanges and questions ---- */

static void on_done(void *arg, const struct mu_exchange_result *result)
{
    struct mu_pmix_wait *wait = arg;
    const struct mu_pmix_result passed = {
        .part_count = result->part_count, .parts = result->parts, .missed = result->missed};
    wait->done(wait, &passed);
}

static const char *on_exchange(void *owner, uint32_t job, uint64_t tag,
                               const struct mu_rank_run *runs, uint32_t run_count,
                               const uint8_t *bytes, size_t count, struct mu_pmix_wait *wait)
{
    struct mu_daemon *daemon = owner;
    return mu_exchange_begin(daemon->exchanges, job, tag, runs, run_count, bytes, count, on_done,
                             wait);
}

static void on_answered(void *arg, const uint8_t *bytes, size_t count)
{
    struct mu_pmix_wait *wait = arg;
    wait->answered(wait, bytes, count);
}

static void on_ask(void *owner, uint32_t job, mu_slot node, const uint8_t *bytes, size_t count,
                   struct mu_pmix_wait *wait)
{
    struct mu_daemon *daemon = owner;
    if (mu_exchange_ask(daemon->exchanges, job, node, bytes, count, on_answered, wait) != NULL)
        wait->answered(wait, NULL, 0);
}

/* An empty answer means that this is not served here, or that it cannot be sent. */
static void on_answer(void *owner, void *ticket, const uint8_t *bytes, size_t count)
{
    struct mu_daemon *daemon = owner;
    const char *why_not = mu_exchange_answer(daemon->exchanges, ticket, bytes, count);
    if (why_not != NULL) {
        mu_warn("a question of another node gets an empty answer: %s", why_not);
        mu_exchange_answer(daemon->exchanges, ticket, NULL, 0);
    }
    free(ticket);
}

void mu_daemon_pmix_asked(void *owner, const struct mu_exchange_ticket *ticket,
                          const uint8_t *bytes, size_t count)
{
    struct mu_daemon *daemon = owner;
    struct mu_exchange_ticket *kept = malloc(sizeof *kept);
    if (kept == NULL)
        abort(); /* somebody would wait for ever */
    *kept = *ticket;
    if (daemon->pmix != NULL)
        mu_pmix_loader_asked(daemon->pmix, ticket->job, bytes, count, kept);
    else
        on_answer(daemon, kept, NULL, 0);
}

static const char *on_join(void *owner, uint32_t number, const uint32_t *jobs, uint32_t count)
{
    struct mu_daemon *daemon = owner;
    return mu_exchanges_join(daemon->exchanges, number, jobs, count);
}

/* ---- jobs ---- */

static const char *on_spawn(void *owner, uint32_t job, uint32_t rank, uint32_t number,
                            const struct mu_launch_job *wish)
{
    struct mu_daemon *daemon = owner;
    const char *why_not = mu_jobs_spawn(daemon->jobs, job, rank, number, wish);
    if (why_not != NULL)
        mu_warn("the job that process %" PRIu32 " of job %" PRIu32 " wanted cannot be: %s", rank,
                job, why_not);
    return why_not;
}

void mu_daemon_pmix_spawned(void *owner, uint32_t job, uint32_t number, uint32_t made,
                            const char *text)
{
    struct mu_daemon *daemon = owner;
    mu_pmix_loader_spawned(daemon->pmix, job, number, made, text);
}

static void on_quiet(void *owner, uint32_t job, uint32_t rank)
{
    struct mu_daemon *daemon = owner;
    const struct mu_news quiet = {
        .type = MU_NEWS_QUIET, .job = job, .quiet = {.rank = rank, .node = daemon->net.self.from}};
    mu_tell("process %" PRIu32 " of job %" PRIu32 " has stopped its heartbeats", rank, job);
    mu_daemon_announce(daemon, &quiet);
}

static void on_ready(void *owner, uint32_t job)
{
    struct mu_daemon *daemon = owner;
    mu_jobs_go(daemon->jobs, job);
}

static bool on_gone(void *owner, uint32_t job, uint32_t rank, struct mu_local_event *event)
{
    const struct mu_daemon *daemon = owner;
    const struct mu_roll_job *known = mu_roll_find(&daemon->roll, job);
    uint32_t place = known != NULL ? mu_gone_place(&known->gone, rank) : UINT32_MAX;
    if (place != UINT32_MAX)
        mu_roll_gone_event(known, place, event);
    return place != UINT32_MAX;
}

static bool on_is_dead(void *owner, mu_slot node)
{
    const struct mu_daemon *daemon = owner;
    return mu_roll_member(&daemon->roll, node).state == MU_MEMBER_DEAD;
}

/* ---- a process that ends its job ---- */

static void end_job(struct mu_daemon *daemon)
{
    uint32_t job = daemon->abort_job;
    daemon->abort_job = 0;
    uv_timer_stop(&daemon->abort_timer);
    if (job == 0)
        return;
    mu_tell("rank %u has ended job %u", (unsigned)daemon->abort_rank, (unsigned)job);
    mu_daemon_kill(daemon, job, SIGTERM);
}

static void on_abort_timer(uv_timer_t *timer)
{
    end_job(timer->data);
}

/* It mostly ends itself now, with the exit code that the job is to have: that is to come first. */
static void on_abort(void *owner, uint32_t job, uint32_t rank)
{
    enum { ITS_OWN_END_MS = 200 };
    struct mu_daemon *daemon = owner;
    end_job(daemon); /* one before it */
    daemon->abort_job = job;
    daemon->abort_rank = rank;
    uv_timer_start(&daemon->abort_timer, on_abort_timer, ITS_OWN_END_MS, 0);
}

void mu_daemon_pmix_ended(struct mu_daemon *daemon, uint32_t job, uint32_t rank)
{
    mu_pmix_loader_ended(daemon->pmix, job, rank);
    if (daemon->abort_job == job && daemon->abort_rank == rank)
        uv_timer_start(&daemon->abort_timer, on_abort_timer, 0, 0); /* its end is told first */
}

/* ---- beginning, and hooks of jobs ---- */

bool mu_daemon_pmix_open(struct mu_daemon *daemon)
{
    const struct mu_pmix_loader_config config = {.loop = &daemon->loop,
                                                 .machine = daemon->net.self.machine,
                                                 .self = daemon->net.self.from,
                                                 .size = daemon->net.self.size,
                                                 .shared_host = daemon->shared_host,
                                                 .roll = &daemon->roll,
                                                 .host = {.owner = daemon,
                                                          .wake = on_wake,
                                                          .later = on_later,
                                                          .ready = on_ready,
                                                          .exchange = on_exchange,
                                                          .ask = on_ask,
                                                          .answer = on_answer,
                                                          .join = on_join,
                                                          .spawn = on_spawn,
                                                          .gone = on_gone,
                                                          .is_dead = on_is_dead,
                                                          .quiet = on_quiet,
                                                          .abort_job = on_abort}};
    daemon->pmix = mu_pmix_loader_open(&config);
    return daemon->pmix != NULL;
}

bool mu_daemon_pmix_hold(void *owner, uint32_t job, const struct mu_launch_job *spec)
{
    struct mu_daemon *daemon = owner;
    return mu_pmix_loader_job(daemon->pmix, job, spec);
}

char **mu_daemon_pmix_env(void *owner, uint32_t job, uint32_t rank)
{
    struct mu_daemon *daemon = owner;
    return mu_pmix_loader_env(daemon->pmix, job, rank);
}

char **mu_daemon_pmix_usual_env(void *owner, uint32_t job)
{
    struct mu_daemon *daemon = owner;
    return mu_pmix_loader_usual_env(daemon->pmix, job);
}

void mu_daemon_pmix_env_free(void *owner, char **env)
{
    struct mu_daemon *daemon = owner;
    mu_pmix_loader_env_free(daemon->pmix, env);
}
