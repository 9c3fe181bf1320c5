#define _GNU_SOURCE
#include "daemon/pmi/pmi1.h"

#include "daemon/roll/roll.h"
#include "host/log.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* One at a time from the set: whoever is answered may end others, which then are not in a list of
 * events that is still to be gone through.  So many in one turn of the loop. */
enum { TURN_MAX = 64 };

struct process {
    struct mu_pmi1_job *job;
    uint32_t rank, appnum;
    int fd;          /* -1: not yet, or no more */
    bool gone;       /* ended, or its end is closed: it cannot come to a barrier any more */
    bool in_barrier; /* and waits for the others */
    bool passing;    /* over the lines of a spawn */
    bool inside;     /* it has said 'init', and not 'finalize' */
    uint32_t used;   /* of 'line' */
    char *line;      /* what has come of one; NULL: nothing ever came */
};

struct mu_pmi1_job {
    struct mu_pmi1 *pmi1;
    uint32_t number, size;
    mu_slot self;
    bool alone;     /* no other node has ranks of it */
    bool gathering; /* all of this node are there, and others may not be */
    bool broken;    /* what a node put cannot come: nobody is told that the barrier is over */
    bool has_mapping;
    char name[MU_PMI1_NAME_MAX];
    char mapping[MU_PMI1_VALUE_MAX];
    struct mu_pmi1_space *space;
    uint32_t able, arrived; /* processes that are not gone; of these, in the barrier */
    uint32_t count;
    struct process processes[]; /* of this node, in the order of ranks */
};

struct mu_pmi1 {
    struct mu_pmi1_hooks hooks;
    int epoll;
    uv_poll_t poll;
};

/* ---- a connection ---- */

static void disconnect(struct process *process)
{
    struct mu_pmi1_job *job = process->job;
    if (process->fd >= 0) {
        epoll_ctl(job->pmi1->epoll, EPOLL_CTL_DEL, process->fd, NULL);
        close(process->fd);
    }
    free(process->line);
    process->fd = -1;
    process->line = NULL;
    job->able -= !process->gone;
    job->arrived -= process->in_barrier;
    process->gone = true;
    process->in_barrier = false;
}

/* An answer is short, and the client waits for it: one that does not fit was not read for long. */
__attribute__((format(printf, 2, 3))) static void answer(struct process *process,
                                                         const char *format, ...)
{
    char text[MU_PMI1_LINE_MAX];
    va_list values;
    va_start(values, format);
    int count = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    assert(count > 0 && (size_t)count < sizeof text);
    if (send(process->fd, text, (size_t)count, MSG_NOSIGNAL | MSG_DONTWAIT) != count)
        disconnect(process);
}

/* ---- barriers ---- */

/* Given by a node in place of what was put there: the length of a key, which no pair has. */
static const uint8_t cannot[] = {0};

void mu_pmi1_part(struct mu_pmi1_job *job, mu_slot node, const uint8_t *bytes, size_t count)
{
    if (count == sizeof cannot && bytes[0] == cannot[0]) {
        mu_warn("what node %" PRIu32 " put for job %" PRIu32 " by PMI-1 cannot come", node,
                job->number);
        job->broken = true;
        return;
    }
    const char *wrong = node != job->self ? mu_pmi1_merge(job->space, bytes, count) : NULL;
    if (wrong != NULL)
        mu_warn("what node %" PRIu32 " put for job %" PRIu32 " by PMI-1 is wrong: %s", node,
                job->number, wrong);
}

static void disconnect_all(struct mu_pmi1_job *job)
{
    for (uint32_t i = 0; i < job->count; i++)
        disconnect(&job->processes[i]);
}

void mu_pmi1_gathered(struct mu_pmi1_job *job)
{
    job->gathering = false;
    if (job->broken) {
        disconnect_all(job);
        return;
    }
    for (uint32_t i = 0; i < job->count; i++) {
        struct process *process = &job->processes[i];
        if (!process->in_barrier)
            continue;
        process->in_barrier = false;
        job->arrived--;
        answer(process, "cmd=barrier_out\n");
    }
}

/* Without what was put, when that cannot go: else the other nodes would wait. */
static void gather(struct mu_pmi1_job *job)
{
    const struct mu_pmi1_hooks *hooks = &job->pmi1->hooks;
    size_t count;
    const uint8_t *news = mu_pmi1_news(job->space, &count);
    const char *why = hooks->gather(hooks->owner, job->number, job->size, news, count);
    if (why == NULL)
        return;
    mu_warn("processes of job %" PRIu32 " cannot meet by PMI-1: %s", job->number, why);
    if (hooks->gather(hooks->owner, job->number, job->size, cannot, sizeof cannot) != NULL)
        disconnect_all(job);
}

/* When all are there that can still come. */
static void look_at_barrier(struct mu_pmi1_job *job)
{
    if (job->gathering || job->arrived == 0 || job->arrived < job->able)
        return;
    job->gathering = true;
    if (!job->alone)
        gather(job);
    mu_pmi1_told(job->space);
    if (job->alone)
        mu_pmi1_gathered(job);
}

static void refuse(struct process *process, const char *why)
{
    mu_warn("process %" PRIu32 " of job %" PRIu32
            " breaks a rule of PMI-1, and is heard no more: %s",
            process->rank, process->job->number, why);
    process->inside = false; /* it cannot say 'finalize' any more */
    disconnect(process);
}

/* ---- what it says ---- */

static bool get_dead(const struct mu_pmi1_job *job, char text[MU_PMI1_VALUE_MAX])
{
    const struct mu_pmi1_hooks *hooks = &job->pmi1->hooks;
    uint64_t *failed = calloc((job->size + (size_t)63) / 64, sizeof *failed);
    if (failed == NULL)
        return false;
    hooks->dead(hooks->owner, job->number, failed);
    bool fits = mu_pmi1_dead(failed, job->size, text);
    free(failed);
    return fits;
}

/* What nobody has put, and is there.  'text' holds the value. */
static bool get_own(const struct mu_pmi1_job *job, struct mu_pmi1_text key,
                    char text[MU_PMI1_VALUE_MAX])
{
    if (mu_pmi1_is(key, "PMI_dead_processes"))
        return get_dead(job, text);
    if (!mu_pmi1_is(key, "PMI_process_mapping") || !job->has_mapping)
        return false;
    memcpy(text, job->mapping, sizeof job->mapping);
    return true;
}

static void on_get(struct process *process, const struct mu_pmi1_line *line)
{
    const struct mu_pmi1_job *job = process->job;
    char text[MU_PMI1_VALUE_MAX];
    struct mu_pmi1_text value;
    bool found = mu_pmi1_is(line->kvsname, job->name);
    if (found && get_own(job, line->key, text))
        value = (struct mu_pmi1_text){text, strlen(text)};
    else
        found = found && mu_pmi1_get(job->space, line->key, &value);
    if (found)
        answer(process, "cmd=get_result rc=0 msg=success value=%.*s\n", (int)value.count, value.at);
    else
        answer(process, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
}

static void on_put(struct process *process, const struct mu_pmi1_line *line)
{
    struct mu_pmi1_job *job = process->job;
    const char *why = mu_pmi1_is(line->kvsname, job->name)
                          ? mu_pmi1_put(job->space, line->key, line->value)
                          : "no_such_kvsname";
    answer(process, "cmd=put_result rc=%d msg=%s\n", why == NULL ? 0 : -1,
           why == NULL ? "success" : why);
}

static void on_barrier(struct process *process)
{
    if (process->in_barrier) {
        refuse(process, "it comes to a barrier that it is in");
        return;
    }
    process->in_barrier = true;
    process->job->arrived++;
}

static void take(struct process *process, const struct mu_pmi1_line *line)
{
    const struct mu_pmi1_job *job = process->job;
    const struct mu_pmi1_hooks *hooks = &job->pmi1->hooks;
    switch (line->command) {
    case MU_PMI1_INIT:
        process->inside = true;
        answer(process, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=%d\n",
               line->version == 1 ? 0 : -1);
        return;
    case MU_PMI1_GET_MAXES:
        answer(process, "cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d\n", MU_PMI1_NAME_MAX,
               MU_PMI1_KEY_MAX, MU_PMI1_VALUE_MAX);
        return;
    case MU_PMI1_GET_APPNUM:
        answer(process, "cmd=appnum appnum=%" PRIu32 "\n", process->appnum);
        return;
    case MU_PMI1_GET_MY_KVSNAME:
        answer(process, "cmd=my_kvsname kvsname=%s\n", job->name);
        return;
    case MU_PMI1_GET_UNIVERSE_SIZE:
        answer(process, "cmd=universe_size size=%" PRIu32 "\n", job->size);
        return;
    case MU_PMI1_PUT:
        on_put(process, line);
        return;
    case MU_PMI1_GET:
        on_get(process, line);
        return;
    case MU_PMI1_BARRIER_IN:
        on_barrier(process);
        return;
    case MU_PMI1_FINALIZE:
        process->inside = false;
        answer(process, "cmd=finalize_ack\n");
        return;
    case MU_PMI1_ABORT:
        hooks->aborted(hooks->owner, job->number, process->rank, line->exit_code);
        return;
    case MU_PMI1_PUBLISH:
        answer(process, "cmd=publish_result rc=-1 msg=not_supported\n");
        return;
    case MU_PMI1_UNPUBLISH:
        answer(process, "cmd=unpublish_result rc=-1 msg=not_supported\n");
        return;
    case MU_PMI1_LOOKUP:
        answer(process, "cmd=lookup_result rc=-1 msg=not_supported\n");
        return;
    case MU_PMI1_SPAWN:
        process->passing = true;
        return;
    }
    abort();
}

static void on_line(struct process *process, const char *bytes, size_t count)
{
    struct mu_pmi1_line line;
    char text[MU_PMI1_TEXT_MAX];
    if (process->passing) {
        process->passing = !mu_pmi1_is((struct mu_pmi1_text){bytes, count}, "endcmd");
        if (!process->passing)
            answer(process, "cmd=spawn_result rc=-1 msg=not_supported\n");
        return;
    }
    const char *wrong = mu_pmi1_parse(bytes, count, &line, text);
    if (wrong != NULL)
        refuse(process, wrong);
    else
        take(process, &line);
}

/* ---- lines ---- */

/* All whole lines of what has come; the rest goes to the front. */
static void split(struct process *process)
{
    char *line = process->line;
    size_t begin = 0, used = process->used;
    const char *end;
    while (process->fd >= 0 && (end = memchr(line + begin, '\n', used - begin)) != NULL) {
        size_t count = (size_t)(end - line) - begin;
        on_line(process, line + begin, count);
        begin += count + 1;
    }
    if (process->fd < 0)
        return;
    memmove(line, line + begin, used - begin);
    process->used = (uint32_t)(used - begin);
    if (process->used == MU_PMI1_LINE_MAX)
        refuse(process, "its line is too long");
}

enum heard { HEARD_LINES, HEARD_NOTHING, HEARD_THE_END };

/* What has come, at most as much as a line may be long. */
static enum heard hear(struct process *process)
{
    if (process->line == NULL && (process->line = malloc(MU_PMI1_LINE_MAX)) == NULL) {
        refuse(process, "there is no memory for what it says");
        return HEARD_NOTHING;
    }
    ssize_t count = recv(process->fd, process->line + process->used,
                         MU_PMI1_LINE_MAX - process->used, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return HEARD_NOTHING;
    if (count <= 0)
        return HEARD_THE_END;
    process->used += (uint32_t)count;
    split(process);
    return HEARD_LINES;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct mu_pmi1 *pmi1 = poll->data;
    struct epoll_event event;
    (void)status;
    (void)events;
    for (int i = 0; i < TURN_MAX && epoll_wait(pmi1->epoll, &event, 1, 0) == 1; i++) {
        struct process *process = event.data.ptr;
        if (hear(process) == HEARD_THE_END)
            disconnect(process);
        look_at_barrier(process->job);
    }
}

/* ---- processes ---- */

int mu_pmi1_connect(struct mu_pmi1_job *job, uint32_t local, int *theirs)
{
    struct process *process = &job->processes[local];
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = process};
    int ends[2];
    assert(process->fd < 0 && !process->gone);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return errno;
    if (epoll_ctl(job->pmi1->epoll, EPOLL_CTL_ADD, ends[0], &event) != 0) {
        int error = errno;
        close(ends[0]);
        close(ends[1]);
        return error;
    }
    process->fd = ends[0];
    *theirs = ends[1];
    return 0;
}

bool mu_pmi1_inside(struct mu_pmi1_job *job, uint32_t rank)
{
    for (uint32_t i = 0; i < job->count; i++) {
        struct process *process = &job->processes[i];
        if (process->rank != rank)
            continue;
        while (process->fd >= 0 && hear(process) == HEARD_LINES)
            ;
        return process->inside;
    }
    return false;
}

void mu_pmi1_ended(struct mu_pmi1_job *job, uint32_t local)
{
    disconnect(&job->processes[local]);
    look_at_barrier(job);
}

/* ---- jobs ---- */

static void list_here(struct mu_pmi1_job *job, const struct mu_launch_job *spec)
{
    for (uint32_t i = 0; i < spec->run_count; i++)
        for (uint32_t k = 0; spec->runs[i].slot == job->self && k < spec->runs[i].count; k++) {
            uint32_t rank = spec->runs[i].first + k;
            job->processes[job->count++] = (struct process){
                .job = job,
                .rank = rank,
                .appnum = (uint32_t)(mu_launch_program_of(spec, rank) - spec->programs),
                .fd = -1,
            };
        }
    job->able = job->count;
}

struct mu_pmi1_job *mu_pmi1_job_open(struct mu_pmi1 *pmi1, uint32_t number, mu_slot self,
                                     uint64_t machine, const struct mu_launch_job *spec)
{
    uint32_t here = mu_roll_count(spec, self);
    struct mu_pmi1_job *job = calloc(1, sizeof *job + here * sizeof *job->processes);
    if (job == NULL)
        return NULL;
    job->pmi1 = pmi1;
    job->number = number;
    job->size = spec->size;
    job->self = self;
    job->alone = here == spec->size;
    job->has_mapping = mu_pmi1_mapping(spec, job->mapping);
    snprintf(job->name, sizeof job->name, "muster_%016" PRIx64 "_%" PRIu32, machine, number);
    job->space = mu_pmi1_space_open();
    if (job->space == NULL) {
        free(job);
        return NULL;
    }
    list_here(job, spec);
    return job;
}

void mu_pmi1_job_close(struct mu_pmi1_job *job)
{
    if (job == NULL)
        return;
    disconnect_all(job);
    mu_pmi1_space_close(job->space);
    free(job);
}

/* ---- open and close ---- */

int mu_pmi1_open(uv_loop_t *loop, const struct mu_pmi1_hooks *hooks, struct mu_pmi1 **pmi1)
{
    struct mu_pmi1 *made = calloc(1, sizeof *made);
    if (made == NULL)
        return ENOMEM;
    made->hooks = *hooks;
    made->epoll = epoll_create1(EPOLL_CLOEXEC);
    int error = made->epoll < 0 ? errno : -uv_poll_init(loop, &made->poll, made->epoll);
    if (error != 0) {
        if (made->epoll >= 0)
            close(made->epoll);
        free(made);
        return error;
    }
    made->poll.data = made;
    int failed = uv_poll_start(&made->poll, UV_READABLE, on_poll);
    assert(failed == 0);
    *pmi1 = made;
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct mu_pmi1 *pmi1 = handle->data;
    close(pmi1->epoll);
    free(pmi1);
}

void mu_pmi1_close(struct mu_pmi1 *pmi1)
{
    if (pmi1 != NULL)
        uv_close((uv_handle_t *)&pmi1->poll, on_closed);
}
