#include "daemon/inside.h"
#include "host/clock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEFT_WAIT_MS = 50, /* goodbyes come in crowds, and nobody waits for them */
    STEP_MS = 10,      /* the shortest wait of a failure, where many have failed */
    EIGHTHS_MAX = 7,   /* the last eighth of the room is for other news: that a job is to end */
};

/* Ends of one job that differ in rank and pid only. */
struct mu_daemon_ended {
    struct mu_news news;
    uint64_t due_ms; /* on the loop's clock */
    struct mu_daemon_ended *next;
};

/* ---- what goes together ---- */

static bool same_how(const struct mu_exit_kind *one, const struct mu_exit_kind *other)
{
    return one->type == other->type && one->code == other->code && one->signal == other->signal &&
           one->core_dumped == other->core_dumped && one->step == other->step &&
           one->error == other->error;
}

static bool goes_with(const struct mu_daemon_ended *ended, uint32_t job,
                      const struct mu_evidence *evidence)
{
    const struct mu_evidence *first = &ended->news.ended.evidence;
    return ended->news.job == job && first->verdict == evidence->verdict &&
           same_how(&first->how, &evidence->how) && strcmp(first->path, evidence->path) == 0;
}

/* Ranks and pids both count up along a row. */
static bool extend_row(struct mu_news *news, uint32_t rank, uint32_t pid)
{
    for (uint32_t i = 0; i < news->ended.rows; i++) {
        uint32_t count = news->ended.row[i].count, first_pid = news->ended.row[i].pid;
        bool next_pid = pid == 0 ? first_pid == 0 : first_pid != 0 && pid == first_pid + count;
        if (rank == news->ended.row[i].first + count && next_pid) {
            news->ended.row[i].count++;
            return true;
        }
    }
    return false;
}

static bool add_rank(struct mu_news *news, uint32_t rank, uint32_t pid)
{
    if (extend_row(news, rank, pid))
        return true;
    if (news->ended.rows == mu_news_ended_rows(&news->ended.evidence))
        return false;
    uint32_t i = news->ended.rows++;
    news->ended.row[i].first = rank;
    news->ended.row[i].count = 1;
    news->ended.row[i].pid = pid;
    return true;
}

/* ---- when they go ---- */

/* A failure goes at once, by itself, while few have: an eighth of the room for what this node sees.
 * The more of it is in use, the longer those that follow wait for each other. */
static uint64_t wait_ms(const struct mu_daemon *daemon, const struct mu_evidence *evidence)
{
    if (evidence->verdict == MU_VERDICT_LEFT)
        return LEFT_WAIT_MS;
    uint32_t eighths = mu_drive_eighths(daemon->drive);
    return eighths == 0 ? 0 : (uint64_t)STEP_MS << (eighths - 1);
}

static bool post(struct mu_daemon *daemon, struct mu_news *news)
{
    uint8_t bytes[MU_NEWS_BYTES_MAX];
    news->ended.waited_ns = mu_now_ns() - news->ended.evidence.seen_ns;
    size_t count = mu_news_encode(news, bytes);
    return mu_drive_post(daemon->drive, bytes, (uint16_t)count);
}

static void drop(struct mu_daemon_ended **place)
{
    struct mu_daemon_ended *ended = *place;
    *place = ended->next;
    free(ended);
}

static void arm(struct mu_daemon *daemon)
{
    uint64_t now_ms = uv_now(&daemon->loop), due_ms = UINT64_MAX;
    for (const struct mu_daemon_ended *ended = daemon->ended; ended != NULL; ended = ended->next)
        due_ms = ended->due_ms < due_ms ? ended->due_ms : due_ms;
    if (due_ms == UINT64_MAX)
        uv_timer_stop(&daemon->ended_timer);
    else
        uv_timer_start(&daemon->ended_timer, mu_daemon_on_ended,
                       due_ms > now_ms ? due_ms - now_ms : 0, 0);
}

void mu_daemon_on_ended(uv_timer_t *timer)
{
    struct mu_daemon *daemon = timer->data;
    uint64_t now_ms = uv_now(&daemon->loop);
    for (struct mu_daemon_ended **place = &daemon->ended; *place != NULL;) {
        bool fits = mu_drive_eighths(daemon->drive) < EIGHTHS_MAX;
        if (fits && (*place)->due_ms <= now_ms && post(daemon, &(*place)->news)) {
            drop(place);
            continue;
        }
        if ((*place)->due_ms <= now_ms)
            (*place)->due_ms = now_ms + STEP_MS; /* no room: it grows meanwhile */
        place = &(*place)->next;
    }
    arm(daemon);
}

/* ---- in ---- */

static struct mu_daemon_ended *begin(struct mu_daemon *daemon, uint32_t job,
                                     const struct mu_evidence *evidence)
{
    struct mu_daemon_ended *ended = calloc(1, sizeof *ended), **place = &daemon->ended;
    if (ended == NULL)
        abort(); /* a death would stay unknown */
    ended->news = (struct mu_news){.type = MU_NEWS_ENDED, .job = job};
    ended->news.ended.evidence = *evidence;
    ended->news.ended.evidence.pid = 0;
    ended->due_ms = uv_now(&daemon->loop) + wait_ms(daemon, evidence);
    while (*place != NULL)
        place = &(*place)->next;
    return *place = ended;
}

void mu_daemon_add_ended(struct mu_daemon *daemon, uint32_t job, uint32_t rank,
                         const struct mu_evidence *evidence)
{
    struct mu_daemon_ended *ended = daemon->ended;
    while (ended != NULL &&
           !(goes_with(ended, job, evidence) && add_rank(&ended->news, rank, evidence->pid)))
        ended = ended->next;
    if (ended == NULL) {
        ended = begin(daemon, job, evidence);
        bool added = add_rank(&ended->news, rank, evidence->pid);
        assert(added);
        (void)added;
    }
    if (ended->due_ms <= uv_now(&daemon->loop))
        mu_daemon_on_ended(&daemon->ended_timer);
    else
        arm(daemon);
}

void mu_daemon_forget_ended(struct mu_daemon *daemon, uint32_t job)
{
    for (struct mu_daemon_ended **place = &daemon->ended; *place != NULL;)
        if (job == 0 || (*place)->news.job == job)
            drop(place);
        else
            place = &(*place)->next;
    if (job != 0)
        arm(daemon);
}
