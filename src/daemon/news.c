/* News: what happened here goes to the core, ends of processes gathered where there are many; what
 * everybody hears comes from it, changes the roll, and is handed on. */
#include "daemon/inside.h"
#include "host/clock.h"
#include "host/log.h"

#include <assert.h>
#include <inttypes.h>
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

/* ---- a change of the roll, for everybody in this order ---- */

static void to_pmix(void *arg, const struct mu_local_event *event)
{
    mu_pmix_loader_told(arg, event);
}

static void to_jobs(void *arg, const struct mu_local_event *event)
{
    mu_jobs_told(arg, event);
}

static void hand_on(struct mu_daemon *daemon, const struct mu_roll_change *change)
{
    mu_notify_changed(daemon->notify, change);
    if (change->what == MU_ROLL_STABLE)
        return; /* it is for programs alone */
    mu_exchanges_changed(daemon->exchanges, change);
    mu_agreements_changed(daemon->agreements, change);
    if (change->what == MU_ROLL_OVER)
        mu_pmix_loader_over(daemon->pmix, change->job->number);
    if (daemon->pmix != NULL)
        mu_roll_events(change, to_pmix, daemon->pmix);
    mu_roll_events(change, to_jobs, daemon->jobs);
}

/* ---- ends of processes: what goes together ---- */

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

/* ---- ends of processes: when they go ---- */

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

static void add_ended(struct mu_daemon *daemon, uint32_t job, uint32_t rank,
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

/* ---- out: what happened here ---- */

static void report(struct mu_daemon *daemon, struct mu_notice_id id, mu_slot root,
                   const struct mu_evidence *evidence)
{
    struct mu_daemon_news news = {.urgent = true, .id = id, .root = root};
    struct mu_writer writer;
    mu_writer_init(&writer, news.bytes, sizeof news.bytes);
    mu_write_evidence(&writer, evidence);
    assert(!writer.full);
    news.length = (uint16_t)writer.used;
    mu_daemon_give(daemon, &news);
}

/* Whether it is proven follows from the evidence, and from nothing else. */
static void report_node(struct mu_daemon *daemon, uint32_t incarnation, mu_slot root,
                        const struct mu_evidence *evidence)
{
    struct mu_notice_id id = mu_evidence_is_proof(evidence)
                                 ? mu_notice_proof(evidence->node, incarnation)
                                 : mu_notice_node(evidence->node, incarnation);
    report(daemon, id, root, evidence);
}

/* They have no news: nobody is there yet who could be told. */
void mu_daemon_found(struct mu_daemon *daemon)
{
    struct mu_roll *roll = &daemon->roll;
    struct mu_roll_seat *seats = calloc(roll->size, sizeof *seats);
    struct mu_roll_view view = {.number = 1, .in_count = roll->size, .ins = seats};
    if (seats == NULL)
        abort(); /* before the start */
    for (mu_slot slot = 0; slot < roll->size; slot++)
        seats[slot] = (struct mu_roll_seat){.slot = slot, .incarnation = MU_INCARNATION_FOUNDER};
    const struct mu_roll_change change = mu_roll_view(roll, &view);
    assert(change.what == MU_ROLL_VIEW && change.in_count == roll->size);
    free(seats);
}

void mu_daemon_view_installed(void *owner, const struct mu_roll_view *view)
{
    struct mu_daemon *daemon = owner;
    if (view->number == 1)
        return; /* mu_daemon_found() */
    const struct mu_roll_change change = mu_roll_view(&daemon->roll, view);
    if (change.why_not != NULL)
        mu_warn("view %" PRIu64 " is not taken: %s", view->number, change.why_not);
    hand_on(daemon, &change);
}

void mu_daemon_view_told(void *owner, struct mu_view_mark mark, const struct mu_span *spans,
                         uint32_t count)
{
    struct mu_daemon *daemon = owner;
    const struct mu_roll_change change =
        mu_roll_stable(&daemon->roll, mark.number, mark.hash, spans, count, mu_now_ns());
    mu_tell("view %" PRIu64 " is stable", mark.number);
    hand_on(daemon, &change);
}

void mu_daemon_node_told(struct mu_daemon *daemon, const struct mu_roster_entry *death, mu_slot by)
{
    struct mu_evidence evidence = {
        .verdict = death->proven ? MU_VERDICT_DEAD : MU_VERDICT_SILENT,
        .cause = MU_CAUSE_TOLD,
        .seen_by = by != MU_SLOT_NONE ? by : daemon->net.self.from, /* the launcher has no slot */
        .node = death->slot,
        .seen_ns = mu_now_ns(),
        .clock = daemon->clock,
    };
    report_node(daemon, death->incarnation, death->slot, &evidence);
}

void mu_daemon_node_ended(struct mu_daemon *daemon, uint32_t incarnation,
                          const struct mu_evidence *evidence)
{
    /* Several are told at once: each goes on with its part of one tree, that of the dead. */
    report_node(daemon, incarnation, evidence->node, evidence);
}

void mu_daemon_node_declared(struct mu_daemon *daemon, uint32_t incarnation,
                             const struct mu_evidence *evidence)
{
    /* Only its observer sees it, so the tree hangs here. */
    report_node(daemon, incarnation, daemon->net.self.from, evidence);
}

void mu_daemon_announce(void *owner, const struct mu_news *announced)
{
    struct mu_daemon *daemon = owner;
    struct mu_daemon_news news = {.is_post = true, .job = announced->job};
    news.length = (uint16_t)mu_news_encode(announced, news.bytes);
    mu_daemon_give(daemon, &news);
}

void mu_daemon_post_times(struct mu_daemon *daemon, uint64_t period_ns, uint64_t timeout_ns)
{
    struct mu_news times = {.type = MU_NEWS_TIMES, .times = {period_ns, timeout_ns}};
    struct mu_daemon_news news = {.is_post = true};
    news.length = (uint16_t)mu_news_encode(&times, news.bytes);
    mu_daemon_give(daemon, &news);
}

void mu_daemon_post_gone(struct mu_daemon *daemon, mu_slot node, uint32_t incarnation,
                         const struct mu_exit_kind *how)
{
    struct mu_news gone = {.type = MU_NEWS_GONE, .gone = {node, incarnation, *how}};
    struct mu_daemon_news news = {.is_post = true, .urgent = true};
    news.length = (uint16_t)mu_news_encode(&gone, news.bytes);
    mu_daemon_give(daemon, &news);
}

const char *mu_daemon_job_begin(void *owner, uint32_t job, const struct mu_launch_job *spec)
{
    struct mu_daemon *daemon = owner;
    mu_daemon_ring_ready(daemon);
    const struct mu_roll_change change = mu_roll_begin(&daemon->roll, job, spec);
    if (change.what != MU_ROLL_BEGAN)
        return change.why_not;
    const char *why_not = mu_notify_changed(daemon->notify, &change);
    if (why_not == NULL)
        why_not = mu_exchanges_changed(daemon->exchanges, &change);
    if (why_not == NULL)
        why_not = mu_agreements_changed(daemon->agreements, &change);
    if (why_not != NULL)
        mu_daemon_job_over(daemon, job);
    return why_not;
}

void mu_daemon_started(void *owner, uint32_t job, uint32_t rank, uint32_t pid)
{
    struct mu_daemon *daemon = owner;
    const struct mu_roll_change change = mu_roll_started(&daemon->roll, job, rank, pid);
    hand_on(daemon, &change);
}

void mu_daemon_ended(void *owner, uint32_t job, uint32_t rank, const struct mu_evidence *evidence,
                     bool stopping)
{
    struct mu_daemon *daemon = owner;
    bool failed = !stopping && evidence->verdict != MU_VERDICT_LEFT;
    const struct mu_roll_change change = mu_roll_ended(&daemon->roll, job, rank, failed);
    hand_on(daemon, &change);
    mu_daemon_pmix_ended(daemon, job, rank);
    if (stopping)
        return; /* the launcher ends the job: it is news to nobody */
    add_ended(daemon, job, rank, evidence);
}

const char *mu_daemon_kill(void *owner, uint32_t job, int signal)
{
    struct mu_daemon *daemon = owner;
    struct mu_news kill = {.type = MU_NEWS_KILL, .job = job, .kill = {(uint8_t)signal}};
    struct mu_daemon_news news = {.is_post = true, .urgent = true, .job = job};
    news.length = (uint16_t)mu_news_encode(&kill, news.bytes);
    mu_daemon_give(daemon, &news);
    return NULL;
}

/* ---- in: what everybody hears, here as elsewhere ---- */

/* On the clock of whoever saw it, if that is ours; else as the hops have added it up, after it
 * waited at the first of them. */
static uint64_t age_of(const struct mu_daemon *daemon, const struct mu_notice *notice,
                       uint64_t waited_ns, uint64_t clock, uint64_t seen_ns, uint64_t now_ns)
{
    bool same = clock != 0 && clock == daemon->clock && seen_ns <= now_ns;
    return same ? now_ns - seen_ns : notice->age_ns + waited_ns;
}

/* A member that says what cannot be read has still said who is dead.  The evidence says what the
 * notice says: that it is proven, or that it is not. */
static void read_evidence(struct mu_daemon *daemon, const struct mu_notice *notice,
                          struct mu_evidence *evidence)
{
    struct mu_reader reader;
    mu_reader_init(&reader, notice->payload, notice->length);
    mu_read_evidence(&reader, evidence);
    bool proven = mu_notice_is_proof(&notice->id);
    if (!reader.bad && mu_reader_left(&reader) == 0 && mu_evidence_is_proof(evidence) == proven)
        return;
    daemon->bad_evidence++;
    *evidence = (struct mu_evidence){
        .verdict = proven ? MU_VERDICT_DEAD : MU_VERDICT_SILENT,
        .cause = MU_CAUSE_TOLD,
        .seen_by = notice->root,
        .node = (mu_slot)notice->id.index,
    };
}

static void deliver_ended(struct mu_daemon *daemon, const struct mu_notice *notice,
                          const struct mu_news *news, uint64_t now_ns)
{
    struct mu_evidence evidence = news->ended.evidence;
    uint64_t age_ns =
        age_of(daemon, notice, news->ended.waited_ns, evidence.clock, evidence.seen_ns, now_ns);
    for (uint32_t i = 0; i < news->ended.rows; i++)
        for (uint32_t k = 0; k < news->ended.row[i].count; k++) {
            uint32_t pid = news->ended.row[i].pid;
            evidence.pid = pid == 0 ? 0 : pid + k;
            const struct mu_local_event event = {.subject = MU_SUBJECT_PROCESS,
                                                 .hops = notice->hops,
                                                 .job = news->job,
                                                 .rank = news->ended.row[i].first + k,
                                                 .learned_ns = now_ns,
                                                 .age_ns = age_ns,
                                                 .evidence = evidence};
            const struct mu_roll_change change = mu_roll_told(&daemon->roll, &event, 0);
            hand_on(daemon, &change);
        }
}

static void deliver_news(struct mu_daemon *daemon, const struct mu_notice *notice, uint64_t now_ns)
{
    struct mu_news news;
    if (!mu_news_decode(notice->payload, notice->length, &news)) {
        daemon->bad_news++;
        return;
    }
    switch ((enum mu_news_type)news.type) {
    case MU_NEWS_ENDED:
        deliver_ended(daemon, notice, &news, now_ns);
        return;
    case MU_NEWS_KILL:
        mu_jobs_kill(daemon->jobs, news.job, news.kill.signal);
        return;
    case MU_NEWS_TIMES:
        mu_daemon_ring_times(daemon, news.times.period_ns, news.times.timeout_ns);
        return;
    case MU_NEWS_GROUP:
        mu_agreements_group(daemon->agreements, &news);
        return;
    case MU_NEWS_QUIET:
        if (news.quiet.node != daemon->net.self.from) /* there libpmix has told it */
            mu_pmix_loader_quiet(daemon->pmix, news.job, news.quiet.rank, news.quiet.node);
        return;
    case MU_NEWS_GONE:
        mu_daemon_gone(daemon, &news, now_ns, notice->age_ns);
        return;
    }
    abort();
}

/* Of a death that is known there may be proof later: then only that is news. */
static void deliver_node(struct mu_daemon *daemon, const struct mu_notice *notice, uint64_t now_ns)
{
    struct mu_evidence evidence;
    struct mu_roster_entry death = {.slot = (mu_slot)notice->id.index,
                                    .incarnation = mu_notice_incarnation(&notice->id),
                                    .proven = mu_notice_is_proof(&notice->id)};
    read_evidence(daemon, notice, &evidence);
    const struct mu_local_event event = {
        .subject = MU_SUBJECT_NODE,
        .hops = notice->hops,
        .node = death.slot,
        .learned_ns = now_ns,
        .age_ns = age_of(daemon, notice, 0, evidence.clock, evidence.seen_ns, now_ns),
        .evidence = evidence};
    mu_daemon_ring_out(daemon, death.slot, death.incarnation, death.proven);
    const struct mu_roll_change change = mu_roll_told(&daemon->roll, &event, death.incarnation);
    mu_tell(change.what == MU_ROLL_DEAD ? "node %u is dead, seen by node %u"
                                        : "the death of node %u is proven, seen by node %u",
            (unsigned)death.slot, (unsigned)evidence.seen_by);
    hand_on(daemon, &change);
    mu_views_dead(daemon->views, &death);
}

void mu_daemon_deliver(struct mu_daemon *daemon, const struct mu_notice *notice)
{
    uint64_t now_ns = mu_now_ns();
    daemon->delivered++;
    switch ((enum mu_notice_kind)notice->id.kind) {
    case MU_NOTICE_PAYLOAD:
        deliver_news(daemon, notice, now_ns);
        return;
    case MU_NOTICE_PROC_DEAD: /* daemons put these into payloads: many fit into one */
        daemon->bad_news++;
        return;
    case MU_NOTICE_NODE_DEAD:
        deliver_node(daemon, notice, now_ns);
        return;
    }
    abort();
}

/* ---- jobs that are over ---- */

void mu_daemon_job_over(void *owner, uint32_t job)
{
    struct mu_daemon *daemon = owner;
    const struct mu_roll_change change = mu_roll_over(&daemon->roll, job, mu_now_ns());
    hand_on(daemon, &change);
    mu_daemon_forget_ended(daemon, job);
    mu_daemon_forget_waiting(daemon, job);
}
