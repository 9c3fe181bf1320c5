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
    while (found != NULL && found->roll->number != job)
        found = found->next;
    return found;
}

static void free_job(struct mu_notify_job *job)
{
    free(job->handles);
    if (job->bell >= 0)
        close(job->bell);
    free(job);
}

static struct mu_notify_job *make_job(const struct mu_roll_job *roll)
{
    struct mu_notify_job *job = calloc(1, sizeof *job);
    if (job == NULL)
        return NULL;
    job->roll = roll;
    job->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    job->handles = calloc(roll->here_count + (size_t)1, sizeof *job->handles);
    if (job->handles != NULL && job->bell >= 0)
        return job;
    free_job(job);
    return NULL;
}

static void append_job(struct mu_notify *notify, struct mu_notify_job *job)
{
    struct mu_notify_job **end = &notify->jobs;
    while (*end != NULL)
        end = &(*end)->next;
    *end = job;
}

/* ---- news ---- */

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

static void publish(void *arg, const struct mu_local_event *event)
{
    struct mu_notify *notify = arg;
    mu_journal_add(&notify->journal, event);
    for (struct mu_notify_job *job = notify->jobs; job != NULL; job = job->next)
        job->to_ring |= event->subject != MU_SUBJECT_PROCESS || event->job == job->roll->number;
}

/* The bells first: programs wait for these. */
static void tell_all(struct mu_notify *notify, const struct mu_roll_change *change)
{
    mu_roll_events(change, publish, notify);
    for (struct mu_notify_job *job = notify->jobs; job != NULL; job = job->next)
        if (job->to_ring)
            ring(job);
    tell_watchers(notify);
}

/* ---- the life of a job ---- */

/* What came before has no member to ring for: they begin with the state. */
static const char *begin_job(struct mu_notify *notify, const struct mu_roll_change *change)
{
    struct mu_notify_job *made = make_job(change->job);
    mu_roll_events(change, publish, notify);
    if (made != NULL)
        append_job(notify, made);
    tell_watchers(notify);
    return made != NULL ? NULL : "no memory or descriptor for the bell of the job";
}

static void close_members(struct mu_notify *notify, const struct mu_notify_job *job)
{
    char text[MU_LOCAL_TEXT_MAX + 1];
    snprintf(text, sizeof text, "job %" PRIu32 " is over", job->roll->number);
    for (uint32_t i = 0; i < notify->accepted;) {
        if (notify->clients[i]->job == job)
            mu_client_refuse(notify->clients[i], MU_LOCAL_ENDING, text); /* another comes here */
        else
            i++;
    }
}

static void end_job(struct mu_notify *notify, const struct mu_roll_job *roll)
{
    struct mu_notify_job **link = &notify->jobs;
    while (*link != NULL && (*link)->roll != roll)
        link = &(*link)->next;
    struct mu_notify_job *over = *link;
    mu_journal_job_over(&notify->journal, roll->number);
    if (over == NULL)
        return; /* it could not begin */
    close_members(notify, over);
    *link = over->next;
    free_job(over);
}

const char *mu_notify_changed(struct mu_notify *notify, const struct mu_roll_change *change)
{
    switch (change->what) {
    case MU_ROLL_BEGAN:
        return begin_job(notify, change);
    case MU_ROLL_OVER:
        end_job(notify, change->job);
        return NULL;
    case MU_ROLL_GONE:
    case MU_ROLL_DEAD:
    case MU_ROLL_VIEW:
    case MU_ROLL_STABLE:
        tell_all(notify, change);
        return NULL;
    case MU_ROLL_NOTHING:
    case MU_ROLL_STARTED:
    case MU_ROLL_ENDED:
    case MU_ROLL_PROVEN:
        return NULL;
    }
    abort();
}

bool mu_notify_inside(struct mu_notify *notify, uint32_t job, uint32_t rank)
{
    const struct mu_notify_job *known = mu_notify_find(notify, job);
    uint32_t place = known != NULL ? mu_roll_place(known->roll, rank) : UINT32_MAX;
    if (place == UINT32_MAX)
        return false;
    for (uint32_t i = 0; i < notify->accepted;) {
        struct mu_client *client = notify->clients[i];
        if (client->counted && client->job == known && client->rank == rank)
            mu_client_catch_up(client);
        i += i < notify->accepted && notify->clients[i] == client;
    }
    return known->handles[place] > 0;
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
    if (notify->clients == NULL)
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
    assert(config->clients > 0 && config->machine != 0);
    assert(config->roll && config->hooks.node && config->hooks.counter && config->hooks.kill &&
           config->hooks.set && config->hooks.chaos && config->hooks.let_go && config->hooks.voter);
    struct mu_notify *made = calloc(1, sizeof *made);
    if (made == NULL)
        return ENOMEM;
    made->config = *config;
    mu_local_name(made->name, (uint32_t)geteuid(), config->machine, config->roll->self);
    made->journal.board_fd = -1;
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
