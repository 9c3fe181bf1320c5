#define _GNU_SOURCE
#include "daemon/programs/notify.h"

#include "daemon/programs/inside.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ACCEPT_AT_ONCE = 64, LOOK_AGAIN_MS = 100 };

/* ---- jobs ---- */

struct mu_notify_job *mu_notify_find(const struct mu_notify *notify, uint32_t job)
{
    struct mu_notify_job *found = notify->jobs;
    while (found != NULL && found->number != job)
        found = found->next;
    return found;
}

struct mu_notify_here *mu_notify_find_here(const struct mu_notify_job *job, uint32_t rank)
{
    uint32_t low = 0, high = job->here_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (job->here[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < job->here_count && job->here[low].rank == rank;
    return found ? &job->here[low] : NULL;
}

mu_slot mu_notify_node_of(const struct mu_notify_job *job, uint32_t rank)
{
    const struct mu_launch_run *run = mu_launch_run_of(&job->spec, rank);
    assert(run != NULL); /* every rank is in one */
    return run->slot;
}

static void free_job(struct mu_notify_job *job)
{
    mu_roll_free(&job->roll);
    free((void *)job->spec.runs);
    free(job->here);
    if (job->bell >= 0)
        close(job->bell);
    free(job);
}

static uint32_t count_here(const struct mu_launch_job *spec, mu_slot self)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < spec->run_count; i++)
        count += spec->runs[i].slot == self ? spec->runs[i].count : 0;
    return count;
}

static void list_here(struct mu_notify_job *job, mu_slot self)
{
    for (uint32_t i = 0; i < job->spec.run_count; i++) {
        const struct mu_launch_run *run = &job->spec.runs[i];
        for (uint32_t j = 0; run->slot == self && j < run->count; j++)
            job->here[job->here_count++].rank = run->first + j;
    }
}

static struct mu_notify_job *make_job(uint32_t number, const struct mu_launch_job *spec,
                                      mu_slot self)
{
    struct mu_notify_job *job = calloc(1, sizeof *job);
    if (job == NULL)
        return NULL;
    struct mu_launch_run *runs = calloc(spec->run_count, sizeof *runs);
    job->number = number;
    job->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    job->spec =
        (struct mu_launch_job){.size = spec->size, .run_count = spec->run_count, .runs = runs};
    job->here = calloc(count_here(spec, self) + (size_t)1, sizeof *job->here);
    if (!mu_roll_init(&job->roll, spec->size) || runs == NULL || job->here == NULL ||
        job->bell < 0) {
        free_job(job);
        return NULL;
    }
    memcpy(runs, spec->runs, spec->run_count * sizeof *runs);
    list_here(job, self);
    return job;
}

static void append_job(struct mu_notify *notify, struct mu_notify_job *job)
{
    struct mu_notify_job **end = &notify->jobs;
    while (*end != NULL)
        end = &(*end)->next;
    *end = job;
    job->order = ++notify->jobs_begun;
    notify->job_count++;
}

/* ---- news ---- */

static void enroll(struct mu_notify_job *job, const struct mu_local_event *event)
{
    mu_roll_add(&job->roll, event->rank, event);
    if (event->evidence.verdict == MU_VERDICT_LEFT)
        job->left++;
    else
        job->failed++;
    struct mu_notify_here *here = mu_notify_find_here(job, event->rank);
    if (here != NULL)
        here->pid = 0; /* the number may be used again */
}

/* Nobody reads it, and it counts to 2^64: it is full only if a program has written to it, by
 * mistake or not.  Then it begins anew. */
static void ring(struct mu_notify_job *job)
{
    uint64_t one = 1, count;
    job->to_ring = false;
    while (write(job->bell, &one, sizeof one) < 0 &&
           (errno == EINTR || (errno == EAGAIN && read(job->bell, &count, sizeof count) > 0)))
        ;
}

static void tell_watchers(struct mu_notify *notify)
{
    for (uint32_t i = 0; i < notify->accepted;) {
        struct mu_client *client = notify->clients[i];
        if (client->role == MU_LOCAL_OPERATOR)
            mu_client_pump(client);
        /* One that closed has left its place to another. */
        i += i < notify->accepted && notify->clients[i] == client;
    }
}

static void ring_bells(struct mu_notify *notify)
{
    for (struct mu_notify_job *job = notify->jobs; job != NULL; job = job->next)
        if (job->to_ring)
            ring(job);
}

static bool is_past(const struct mu_notify *notify, uint32_t job)
{
    for (uint32_t i = 0; i < MU_NOTIFY_PAST; i++)
        if (notify->past[i] == job && job != 0)
            return true;
    return false;
}

/* Its number is used again, or was used. */
static void set_past(struct mu_notify *notify, uint32_t job, bool past)
{
    for (uint32_t i = 0; i < MU_NOTIFY_PAST; i++)
        if (notify->past[i] == job)
            notify->past[i] = 0;
    if (past)
        notify->past[notify->past_next++ % MU_NOTIFY_PAST] = job;
}

/* Into the journal, and into the roll of its job or of the nodes; or it is kept for its job. */
static void publish(struct mu_notify *notify, struct mu_notify_job *job,
                    struct mu_local_event *event)
{
    mu_journal_add(&notify->journal, event);
    if (event->subject == MU_SUBJECT_NODE) {
        mu_roll_add(&notify->dead, event->node, event);
        for (struct mu_notify_job *each = notify->jobs; each != NULL; each = each->next)
            each->to_ring = true;
    } else if (job != NULL) {
        enroll(job, event);
        job->to_ring = true;
    } else if (!is_past(notify, event->job)) {
        mu_unbegun_add(&notify->unbegun, event);
    }
}

static void was_told(struct mu_notify *notify, const struct mu_local_event *event)
{
    notify->config.hooks.told(notify->config.hooks.owner, event);
}

void mu_notify_process(struct mu_notify *notify, uint32_t job, uint32_t rank, uint64_t now_ns,
                       uint64_t age_ns, uint16_t hops, const struct mu_evidence *evidence)
{
    struct mu_notify_job *known = mu_notify_find(notify, job);
    if (known != NULL && rank >= known->spec.size) {
        notify->ignored++;
        return;
    }
    if (known != NULL ? mu_roll_has(&known->roll, rank)
                      : mu_unbegun_has(&notify->unbegun, job, rank))
        return;
    struct mu_local_event event = {
        .subject = MU_SUBJECT_PROCESS,
        .hops = hops,
        .job = job,
        .rank = rank,
        .learned_ns = now_ns,
        .age_ns = age_ns,
        .evidence = *evidence,
    };
    if (known != NULL)
        event.evidence.node = mu_notify_node_of(known, rank);
    event.node = event.evidence.node;
    publish(notify, known, &event);
    ring_bells(notify);
    was_told(notify, &event);
    tell_watchers(notify);
}

/* The processes of a job that ran on a dead node and are not gone yet.  'node' is its event. */
static void lose_processes(struct mu_notify *notify, struct mu_notify_job *job,
                           const struct mu_local_event *node)
{
    struct mu_local_event event = *node;
    event.subject = MU_SUBJECT_PROCESS;
    event.job = job->number;
    event.evidence = (struct mu_evidence){
        .verdict = MU_VERDICT_DEAD, /* however their node was lost: to everybody they are gone */
        .cause = MU_CAUSE_NODE_LOST,
        .seen_by = node->evidence.seen_by,
        .node = node->node,
        .seen_ns = node->evidence.seen_ns,
        .clock = node->evidence.clock,
    };
    for (uint32_t i = 0; i < job->spec.run_count; i++) {
        const struct mu_launch_run *run = &job->spec.runs[i];
        for (uint32_t j = 0; run->slot == node->node && j < run->count; j++) {
            event.rank = run->first + j;
            if (mu_roll_has(&job->roll, event.rank))
                continue;
            publish(notify, job, &event);
            was_told(notify, &event);
        }
    }
}

bool mu_notify_has_node(const struct mu_notify *notify, mu_slot node)
{
    return node < notify->config.size && mu_roll_has(&notify->dead, node);
}

void mu_notify_node(struct mu_notify *notify, mu_slot node, uint64_t now_ns, uint64_t age_ns,
                    uint16_t hops, const struct mu_evidence *evidence)
{
    if (node >= notify->config.size) {
        notify->ignored++;
        return;
    }
    if (mu_roll_has(&notify->dead, node)) {
        if (mu_evidence_is_proof(evidence))
            mu_roll_prove(&notify->dead, node, evidence);
        return;
    }
    struct mu_local_event event = {
        .subject = MU_SUBJECT_NODE,
        .hops = hops,
        .node = node,
        .learned_ns = now_ns,
        .age_ns = age_ns,
        .evidence = *evidence,
    };
    event.evidence.node = node;
    publish(notify, NULL, &event);
    was_told(notify, &event);
    for (struct mu_notify_job *job = notify->jobs; job != NULL; job = job->next)
        lose_processes(notify, job, &event);
    ring_bells(notify);
    tell_watchers(notify);
}

/* ---- the life of a job ---- */

/* What came before the job did.  Nobody can have heard it: who is of the job comes later. */
static void was_gone(void *arg, const struct mu_local_event *event)
{
    struct mu_notify_job *job = arg;
    if (event->rank < job->spec.size)
        enroll(job, event);
}

/* The i-th that is dead. */
static struct mu_local_event dead_node(const struct mu_notify *notify, uint32_t i)
{
    struct mu_local_event event = {.subject = MU_SUBJECT_NODE, .node = notify->dead.gone[i].index};
    mu_roll_event(&notify->dead, i, event.node, &event);
    return event;
}

static void read_dead_nodes(struct mu_notify *notify, struct mu_notify_job *job)
{
    for (uint32_t i = 0; i < notify->dead.count; i++) {
        const struct mu_local_event event = dead_node(notify, i);
        lose_processes(notify, job, &event);
    }
}

const char *mu_notify_job(struct mu_notify *notify, uint32_t job, const struct mu_launch_job *spec)
{
    if (mu_notify_find(notify, job) != NULL)
        return "a job of this number runs here already";
    if (mu_unbegun_lost(&notify->unbegun, job))
        return "so many processes were gone before the job began here that not all could be kept";
    struct mu_notify_job *made = make_job(job, spec, notify->config.self);
    if (made == NULL)
        return "no memory or descriptor for the roll of the job";
    append_job(notify, made);
    set_past(notify, job, false);
    mu_unbegun_take(&notify->unbegun, job, was_gone, made);
    read_dead_nodes(notify, made);
    made->to_ring = false; /* it has no members yet, and they begin with the state */
    tell_watchers(notify);
    return NULL;
}

void mu_notify_gone(const struct mu_notify *notify, uint32_t job, mu_notify_each *each, void *arg)
{
    const struct mu_notify_job *known = mu_notify_find(notify, job);
    for (uint32_t i = 0; known != NULL && i < known->roll.count; i++) {
        struct mu_local_event event = {
            .subject = MU_SUBJECT_PROCESS, .job = job, .rank = known->roll.gone[i].index};
        event.node = mu_notify_node_of(known, event.rank);
        mu_roll_event(&known->roll, i, event.node, &event);
        each(arg, &event);
    }
}

void mu_notify_dead(const struct mu_notify *notify, mu_notify_each *each, void *arg)
{
    for (uint32_t i = 0; i < notify->dead.count; i++) {
        const struct mu_local_event event = dead_node(notify, i);
        each(arg, &event);
    }
}

static void close_members(struct mu_notify *notify, const struct mu_notify_job *job)
{
    char text[MU_LOCAL_TEXT_MAX + 1];
    snprintf(text, sizeof text, "job %" PRIu32 " is over", job->number);
    for (uint32_t i = 0; i < notify->accepted;) {
        if (notify->clients[i]->job == job)
            mu_client_refuse(notify->clients[i], MU_LOCAL_ENDING, text); /* another comes here */
        else
            i++;
    }
}

void mu_notify_job_over(struct mu_notify *notify, uint32_t job)
{
    struct mu_notify_job **link = &notify->jobs;
    while (*link != NULL && (*link)->number != job)
        link = &(*link)->next;
    struct mu_notify_job *over = *link;
    if (over == NULL)
        return;
    close_members(notify, over);
    mu_journal_job_over(&notify->journal, job);
    set_past(notify, job, true);
    *link = over->next;
    notify->job_count--;
    free_job(over);
}

void mu_notify_started(struct mu_notify *notify, uint32_t job, uint32_t rank, uint32_t pid)
{
    const struct mu_notify_job *known = mu_notify_find(notify, job);
    struct mu_notify_here *here = known != NULL ? mu_notify_find_here(known, rank) : NULL;
    if (here != NULL && !mu_roll_has(&known->roll, rank))
        here->pid = pid;
}

void mu_notify_ended(struct mu_notify *notify, uint32_t job, uint32_t rank)
{
    const struct mu_notify_job *known = mu_notify_find(notify, job);
    struct mu_notify_here *here = known != NULL ? mu_notify_find_here(known, rank) : NULL;
    if (here == NULL)
        return;
    here->pid = 0;
    here->ended = true;
}

bool mu_notify_inside(struct mu_notify *notify, uint32_t job, uint32_t rank)
{
    const struct mu_notify_job *known = mu_notify_find(notify, job);
    const struct mu_notify_here *here = known != NULL ? mu_notify_find_here(known, rank) : NULL;
    if (here == NULL)
        return false;
    for (uint32_t i = 0; i < notify->accepted;) {
        struct mu_client *client = notify->clients[i];
        if (client->counted && client->job == known && client->rank == rank)
            mu_client_catch_up(client);
        i += i < notify->accepted && notify->clients[i] == client;
    }
    return here->handles > 0;
}

/* Who of this node has ended just now is not on the roll yet: goodbyes are gathered. */
static uint32_t count_others(const struct mu_notify_job *job)
{
    uint32_t ended = job->roll.count;
    for (uint32_t i = 0; i < job->here_count; i++)
        ended += job->here[i].ended && !mu_roll_has(&job->roll, job->here[i].rank);
    return job->spec.size - ended;
}

bool mu_notify_others(const struct mu_notify *notify, uint32_t job, uint32_t rank)
{
    for (const struct mu_notify_job *each = notify->jobs; each != NULL; each = each->next) {
        const struct mu_notify_here *here = mu_notify_find_here(each, rank);
        bool is_own =
            each->number == job && here != NULL && !here->ended && !mu_roll_has(&each->roll, rank);
        if (count_others(each) > is_own)
            return true;
    }
    return false;
}

/* ---- the socket ---- */

/* Somebody who has not said HELLO, and came first. */
static struct mu_client *oldest_stranger(const struct mu_notify *notify)
{
    struct mu_client *oldest = NULL;
    for (uint32_t i = 0; i < notify->accepted; i++) {
        struct mu_client *client = notify->clients[i];
        bool stranger = client->step == MU_STEP_HELLO;
        if (stranger && (oldest == NULL || client->since < oldest->since))
            oldest = client;
    }
    return oldest;
}

static bool make_place(struct mu_notify *notify)
{
    if (notify->accepted < notify->config.clients)
        return true;
    struct mu_client *stranger = oldest_stranger(notify);
    if (stranger == NULL)
        return false;
    notify->refused++;
    mu_client_refuse(stranger, MU_LOCAL_NO_PLACE, "no HELLO came, and others wait for the place");
    return true;
}

static void turn_away(struct mu_notify *notify, int fd, enum mu_local_refusal code,
                      const char *text)
{
    notify->refused++;
    mu_client_turn_away(fd, code, text);
    close(fd);
}

static void take(struct mu_notify *notify, int fd)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
        (peer.uid != geteuid() && peer.uid != 0))
        turn_away(notify, fd, MU_LOCAL_OTHER_USER, "this daemon serves another user");
    else if (!make_place(notify))
        turn_away(notify, fd, MU_LOCAL_NO_PLACE, "too many clients at once");
    else if (mu_client_open(notify, fd, peer.pid) == NULL)
        notify->refused++;
}

static void on_listener(uv_poll_t *poll, int status, int events)
{
    struct mu_notify *notify = poll->data;
    (void)status;
    (void)events;
    for (int i = 0; i < ACCEPT_AT_ONCE; i++) {
        int fd = accept4(notify->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            take(notify, fd);
        } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
            /* No descriptor or no memory: whoever waits would wake us up again and again. */
            uv_poll_stop(&notify->listener);
            mu_notify_look_again(notify);
            return;
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

static void on_again(uv_timer_t *timer)
{
    struct mu_notify *notify = timer->data;
    uv_poll_start(&notify->listener, UV_READABLE, on_listener);
    for (uint32_t i = 0; i < notify->accepted;) {
        struct mu_client *client = notify->clients[i];
        if (client->later) {
            client->later = false;
            mu_client_pump(client);
        }
        i += i < notify->accepted && notify->clients[i] == client;
    }
}

void mu_notify_look_again(struct mu_notify *notify)
{
    if (!uv_is_active((uv_handle_t *)&notify->again))
        uv_timer_start(&notify->again, on_again, LOOK_AGAIN_MS, 0);
}

/* Returns the socket, or a negative errno. */
static int listen_at(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    memcpy(address.sun_path + 1, name, length); /* a leading NUL: the abstract namespace */
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (bind(fd, (struct sockaddr *)&address, bytes) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    int error = errno;
    close(fd);
    return -error;
}

/* ---- open and close ---- */

static void free_notify(struct mu_notify *notify)
{
    while (notify->jobs != NULL) {
        struct mu_notify_job *job = notify->jobs;
        notify->jobs = job->next;
        free_job(job);
    }
    mu_roll_free(&notify->dead);
    mu_unbegun_free(&notify->unbegun);
    mu_journal_free(&notify->journal);
    free(notify->clients);
    free(notify);
}

void mu_notify_handle_gone(struct mu_notify *notify)
{
    assert(notify->handles > 0);
    if (--notify->handles == 0 && notify->closing)
        free_notify(notify);
}

static void on_closed(uv_handle_t *handle)
{
    mu_notify_handle_gone(handle->data);
}

/* Returns 0 or an errno. */
static int make_memory(struct mu_notify *notify)
{
    const struct mu_notify_config *config = &notify->config;
    notify->clients = calloc(config->clients, sizeof(struct mu_client *));
    if (notify->clients == NULL || !mu_roll_init(&notify->dead, config->size))
        return ENOMEM;
    return mu_journal_init(&notify->journal, config->journal);
}

/* Returns 0 or an errno. */
static int open_socket(struct mu_notify *notify)
{
    uv_loop_t *loop = notify->config.loop;
    int fd = listen_at(notify->name);
    if (fd < 0)
        return -fd;
    int error = uv_poll_init(loop, &notify->listener, fd);
    if (error != 0) {
        close(fd);
        return -error;
    }
    uv_timer_init(loop, &notify->again);
    notify->fd = fd;
    notify->handles = 2;
    notify->listener.data = notify->again.data = notify;
    uv_poll_start(&notify->listener, UV_READABLE, on_listener);
    return 0;
}

int mu_notify_open(const struct mu_notify_config *config, struct mu_notify **notify)
{
    assert(config->clients > 0 && config->self < config->size && config->machine != 0);
    assert(config->hooks.told && config->hooks.dying && config->hooks.node &&
           config->hooks.counter && config->hooks.kill && config->hooks.set &&
           config->hooks.chaos && config->hooks.let_go && config->hooks.voter);
    struct mu_notify *made = calloc(1, sizeof *made);
    if (made == NULL)
        return ENOMEM;
    made->config = *config;
    mu_local_name(made->name, (uint32_t)geteuid(), config->machine, config->self);
    made->journal.board_fd = -1;
    mu_unbegun_init(&made->unbegun, MU_UNBEGUN_MAX);
    int error = make_memory(made);
    if (error == 0)
        error = open_socket(made);
    if (error != 0) {
        free_notify(made);
        return error;
    }
    *notify = made;
    return 0;
}

void mu_notify_close(struct mu_notify *notify)
{
    notify->closing = true;
    while (notify->accepted > 0)
        mu_client_refuse(notify->clients[0], MU_LOCAL_ENDING, "the daemon of this node ends");
    uv_close((uv_handle_t *)&notify->listener, on_closed);
    uv_close((uv_handle_t *)&notify->again, on_closed);
    close(notify->fd);
}

const char *mu_notify_name(const struct mu_notify *notify)
{
    return notify->name;
}

uint32_t mu_notify_clients(const struct mu_notify *notify)
{
    return notify->accepted;
}

uint64_t mu_notify_lost(const struct mu_notify *notify)
{
    return notify->lost;
}

uint64_t mu_notify_refused(const struct mu_notify *notify)
{
    return notify->refused;
}
