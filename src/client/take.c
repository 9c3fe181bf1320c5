/* The next event: from the board, or while the state is told by packets.
 *
 * One thread at a time, and none of them waits in here.
 *
 * How nobody sleeps while events wait: an event stands on the board before the bell is struck, and
 * a stroke stays in our epoll until a wait returns it (mu_client_wait()).  Whoever has had it so
 * looks at the board.  If there is more than the one event that it takes, it puts the stroke back,
 * for the next that waits or polls.  While the state is told, the board does not count yet: then
 * the stroke is owed until CAUGHT_UP. */
#include "client/handle.h"

#include <inttypes.h>
#include <sys/epoll.h>
#include <sys/socket.h>

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
        rule = "it says another serial";
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
        if (told.subject == MU_SUBJECT_NODE || told.job == m->who.job)
            return mu_client_happened(m, &told, event, &m->broken);
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

int mu_client_take(struct muster *m, const struct mu_client_woken *woken,
                   struct muster_event *event, struct muster_error *error)
{
    pthread_mutex_lock(&m->lock);
    m->stroke_used |= woken->by_stroke;
    int got = take(m, woken->by_packet, event, error);
    if (m->stroke_used && m->next != 0)
        put_stroke_back(m);
    pthread_mutex_unlock(&m->lock);
    return got;
}

int mu_client_give_up(struct muster *m, const struct muster_error *why, struct muster_error *error)
{
    pthread_mutex_lock(&m->lock);
    if (!m->is_broken)
        m->broken = *why;
    int result = break_off(m, error);
    pthread_mutex_unlock(&m->lock);
    return result;
}
