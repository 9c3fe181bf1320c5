/* The next event: from the board, or while the state is told by packets.
 *
 * One thread at a time, and none of them waits in here.
 *
 * How nobody sleeps while events wait: an event stands on the board before the bell is struck, and
 * a stroke stays in our epoll until a wait returns it (wait_for_more()).  Whoever has had it so
 * looks at the board.  If there is more than the one event that it takes, it puts the stroke back,
 * for the next that waits or polls.  While the state is told, the board does not count yet: then
 * the stroke is owed until CAUGHT_UP. */
#define _GNU_SOURCE
#include "client/handle.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* What has ended a wait.  To be told so is to have used it up: take_locked() must know. */
struct woken {
    bool by_packet;
    bool by_stroke;
};

static int fail_again(const struct muster *m, struct muster_error *error)
{
    if (error != NULL)
        *error = m->broken;
    return -1;
}

/* The first failure is the handle's for good.  The shutdown wakes all who wait, in here or with
 * poll(), and they find it. */
static int break_off(struct muster *m, struct muster_error *error)
{
    m->is_broken = true;
    shutdown(m->fd, SHUT_RDWR);
    return fail_again(m, error);
}

static void put_stroke_back(struct muster *m)
{
    struct epoll_event strokes = {.events = EPOLLIN | EPOLLET, .data.fd = m->bell};
    m->stroke_used = false;
    if (mu_board_head(&m->board) >= m->next)
        epoll_ctl(m->poll_fd, EPOLL_CTL_MOD, m->bell, &strokes);
}

/* ---- packets ---- */

/* From where the next event comes, now.  Returns 1: the program is to hear of it; 0: not; -1: it
 * cannot be. */
static int follow(struct muster *m, const struct mu_local_message *message)
{
    bool caught_up = message->type == MU_LOCAL_CAUGHT_UP;
    if (m->next != 0 && message->type != MU_LOCAL_REFUSED)
        return mu_client_fail(&m->broken, MUSTER_E_PROTOCOL,
                              "the daemon @%s sent a message of type %d, when there should be "
                              "nothing but events on its board",
                              m->name, message->type);
    if (caught_up && message->caught_up.serial > mu_board_head(&m->board))
        return mu_client_fail(&m->broken, MUSTER_E_PROTOCOL,
                              "the daemon @%s goes on after event %" PRIu64
                              ", which is not on its board yet",
                              m->name, message->caught_up.serial);
    bool silent = caught_up && m->asked;
    if (caught_up)
        m->next = message->caught_up.serial + 1;
    if (caught_up || message->type == MU_LOCAL_LOST)
        m->asked = false;
    return silent ? 0 : 1;
}

/* Returns 1, 0: there is none, or it is no news; -1: m->broken says why. */
static int take_packet(struct muster *m, struct muster_event *event, bool *more)
{
    struct mu_local_message message;
    int cancel, got;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* we have the lock */
    got = mu_client_receive(m->fd, m->name, MU_CLIENT_NO_WAIT, &message, NULL, &m->broken);
    pthread_setcancelstate(cancel, &cancel);
    *more = got == 1;
    if (got == 1)
        got = follow(m, &message);
    return got == 1 ? mu_client_event(m, &message, event, &m->broken) : got;
}

/* ---- the board ---- */

/* Returns 0, or -1: m->broken says why. */
static int ask_again(struct muster *m)
{
    struct mu_local_message again = {.type = MU_LOCAL_AGAIN, .again.serial = m->next};
    int cancel, sent;
    m->next = 0;
    m->asked = true;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    sent = mu_client_send(m->fd, &again, &m->broken);
    pthread_setcancelstate(cancel, &cancel);
    return sent;
}

static int decode(struct muster *m, const uint64_t *words, size_t count,
                  struct mu_local_event *told)
{
    const char *rule = mu_local_decode_event((const uint8_t *)words, count, told);
    if (rule == NULL && told->serial != m->next)
        rule = "it has another serial";
    if (rule == NULL)
        return 0;
    return mu_client_fail(&m->broken, MUSTER_E_PROTOCOL,
                          "event %" PRIu64 " on the board of the daemon @%s: %s", m->next, m->name,
                          rule);
}

/* Returns 1, 0: nothing there for us, -1: m->broken says why. */
static int take_from_board(struct muster *m, struct muster_event *event)
{
    uint64_t words[MU_BOARD_WORDS];
    struct mu_local_event told;
    size_t count;
    for (;;) {
        switch (mu_board_take(&m->board, m->next, words, &count)) {
        case MU_BOARD_NOT_YET:
            return 0;
        case MU_BOARD_GONE:
            return m->is_ending ? 0 : ask_again(m); /* nobody would answer */
        case MU_BOARD_TAKEN:
            break;
        }
        if (decode(m, words, count, &told) != 0)
            return -1;
        m->next++;
        if (told.subject == MU_SUBJECT_PROCESS && told.job != m->who.job)
            continue;
        int happened = mu_client_happened(m, &told, event, &m->broken);
        if (happened != 0)
            return happened;
    }
}

/* ---- both ---- */

static int take(struct muster *m, bool packets, struct muster_event *event,
                struct muster_error *error)
{
    if (m->is_broken)
        return fail_again(m, error);
    for (;;) {
        int got = m->next != 0 ? take_from_board(m, event) : 0;
        if (got == 1)
            return 1;
        if (got < 0 || m->is_ending)
            return break_off(m, error);
        if (m->next != 0 && !packets)
            return 0;
        bool more;
        got = take_packet(m, event, &more);
        if (got == 1)
            return 1;
        if (got == 0 && !more)
            return 0;
        /* The last word may have overtaken an event: that is looked for once more. */
        m->is_ending = got < 0;
    }
}

/* Returns 1, 0: none yet, or -1 with *error filled, and then each time. */
static int take_locked(struct muster *m, const struct woken *woken, struct muster_event *event,
                       struct muster_error *error)
{
    pthread_mutex_lock(&m->lock);
    m->stroke_used |= woken->by_stroke;
    int got = take(m, woken->by_packet, event, error);
    if (m->stroke_used && m->next != 0)
        put_stroke_back(m);
    pthread_mutex_unlock(&m->lock);
    return got;
}

/* The handle is of no more use, because of *why, or of what was wrong before.  Returns -1 with
 * *error filled. */
static int give_up(struct muster *m, const struct muster_error *why, struct muster_error *error)
{
    pthread_mutex_lock(&m->lock);
    if (!m->is_broken)
        m->broken = *why;
    int result = break_off(m, error);
    pthread_mutex_unlock(&m->lock);
    return result;
}

/* ---- waiting ---- */

/* As wait_for_more(), but says in errno what is wrong. */
static int wait_in_epoll(const struct muster *m, int timeout_ms, struct woken *woken)
{
    struct epoll_event ready[2];
    int count = epoll_wait(m->poll_fd, ready, 2, timeout_ms);
    for (int i = 0; i < count; i++)
        if (ready[i].data.fd == m->fd)
            woken->by_packet = true;
        else
            woken->by_stroke = true;
    if (count < 0)
        return errno == EINTR ? 1 : -1;
    return count > 0;
}

/* epoll_wait() counts milliseconds, so it is poll() that waits, and wakes all threads. */
static int wait_until(const struct muster *m, uint64_t until_ns, struct woken *woken)
{
    struct timespec wait = mu_client_left(until_ns);
    struct pollfd fd = {.fd = m->poll_fd, .events = POLLIN};
    int ready = ppoll(&fd, 1, &wait, NULL);
    if (ready < 0)
        return errno == EINTR ? 1 : -1;
    if (ready == 0)
        return 0;
    return wait_in_epoll(m, 0, woken) < 0 ? -1 : 1; /* another thread may have been faster */
}

/* Until there may be something to take.  Returns 1: look again; 0: the time is over; -1 with *error
 * filled.  Without end it is one call, in which the kernel wakes one thread for each stroke. */
static int wait_for_more(const struct muster *m, uint64_t until_ns, struct woken *woken,
                         struct muster_error *error)
{
    int result;
    *woken = (struct woken){false};
    if (until_ns == MU_CLIENT_NO_WAIT || until_ns == MU_CLIENT_NO_END)
        result = wait_in_epoll(m, until_ns == MU_CLIENT_NO_WAIT ? 0 : -1, woken);
    else
        result = wait_until(m, until_ns, woken);
    if (result < 0)
        mu_client_fail(error, MUSTER_E_SYSTEM, "cannot wait for the daemon: %s",
                       mu_client_errno_text(errno));
    return result;
}

/* ---- for the program ---- */

static int next(struct muster *m, struct muster_event *event, int64_t timeout_ns,
                struct muster_error *error)
{
    if (mu_client_check_owner(m, error) != 0)
        return -1;
    struct woken woken = {false};
    int got = take_locked(m, &woken, event, error);
    if (got != 0)
        return got;
    uint64_t until_ns = mu_client_deadline_ns(timeout_ns);
    do {
        struct muster_error why;
        int waited = wait_for_more(m, until_ns, &woken, &why);
        if (waited == 0)
            return 0;
        if (waited < 0)
            return give_up(m, &why, error);
        got = take_locked(m, &woken, event, error);
    } while (got == 0);
    return got;
}

int muster_next(struct muster *m, struct muster_event *event, int64_t timeout_ns,
                struct muster_error *error)
{
    int errno_before = errno;
    int result = next(m, event, timeout_ns, error);
    errno = errno_before;
    return result;
}
