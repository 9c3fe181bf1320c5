/* The next event: from the board, or while the state is told by packets.
 *
 * One thread at a time, and none of them waits in here. */
#include "client/handle.h"

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

/* Whoever was woken by a stroke of the bell has used it up, and there may be more on the board than
 * it takes: for the next one that waits, or polls. */
static void strike_again(const struct muster *m)
{
    struct epoll_event strokes = {.events = EPOLLIN | EPOLLET, .data.fd = m->bell};
    if (mu_board_has(m->board, m->next))
        epoll_ctl(m->poll_fd, EPOLL_CTL_MOD, m->bell, &strokes);
}

/* What was told by packets so far comes from the board from here on. */
static bool is_news(struct muster *m, const struct mu_local_message *message)
{
    if (message->type != MU_LOCAL_CAUGHT_UP && message->type != MU_LOCAL_LOST)
        return true;
    bool silent = m->asked && message->type == MU_LOCAL_CAUGHT_UP;
    m->asked = false;
    if (message->type == MU_LOCAL_CAUGHT_UP)
        m->next = message->caught_up.serial + 1;
    return !silent;
}

/* Returns 1, 0: there is none, or it is no news; -1: m->broken says why. */
static int take_packet(struct muster *m, struct muster_event *event, bool *more)
{
    struct mu_local_message message;
    int got = mu_client_receive(m->fd, m->name, MU_CLIENT_NO_WAIT, &message, NULL, &m->broken);
    *more = got == 1;
    if (got != 1)
        return got;
    return is_news(m, &message) ? mu_client_event(m, &message, event, &m->broken) : 0;
}

static int ask_again(struct muster *m)
{
    struct mu_local_message again = {.type = MU_LOCAL_AGAIN, .again.serial = m->next};
    m->next = 0;
    m->asked = true;
    return mu_client_send(m->fd, &again, &m->broken);
}

/* Returns 1, 0: nothing there for us, -1: m->broken says why. */
static int take_from_board(struct muster *m, struct muster_event *event)
{
    uint64_t words[MU_BOARD_WORDS];
    struct mu_local_event told;
    size_t count;
    for (;;) {
        switch (mu_board_take(m->board, m->next, words, &count)) {
        case MU_BOARD_NOT_YET:
            return 0;
        case MU_BOARD_GONE:
            return ask_again(m);
        case MU_BOARD_TAKEN:
            break;
        }
        m->next++;
        const char *rule = mu_local_decode_event((const uint8_t *)words, count, &told);
        if (rule != NULL)
            return mu_client_fail(&m->broken, MUSTER_E_PROTOCOL,
                                  "event %llu on the board of the daemon @%s: %s",
                                  (unsigned long long)(m->next - 1), m->name, rule);
        if (told.subject == MU_SUBJECT_NODE || told.job == m->who.job)
            return mu_client_happened(m, &told, event, &m->broken);
    }
}

static int take(struct muster *m, bool packets, struct muster_event *event,
                struct muster_error *error)
{
    if (m->is_broken)
        return fail_again(m, error);
    for (;;) {
        int got = m->next != 0 ? take_from_board(m, event) : 0;
        if (got == 1)
            return 1;
        if (got < 0 || (m->is_ending && got == 0))
            return break_off(m, error);
        if (m->next != 0 && !packets)
            return 0;
        bool more;
        got = take_packet(m, event, &more);
        if (got == 1)
            return 1;
        /* The last word may have overtaken an event: that is looked for once more. */
        m->is_ending = got < 0;
        if (got == 0 && !more)
            return 0;
    }
}

int mu_client_take(struct muster *m, bool packets, struct muster_event *event,
                   struct muster_error *error)
{
    pthread_mutex_lock(&m->lock);
    int got = take(m, packets, event, error);
    if (got == 1 && m->next != 0)
        strike_again(m);
    pthread_mutex_unlock(&m->lock);
    return got;
}
