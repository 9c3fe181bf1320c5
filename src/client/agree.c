/* One agreement after the other: contribute, wait, and what a decision tells. */
#define _GNU_SOURCE
#include "client/group.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

/* ---- packets ---- */

int mu_client_wait_readable(int fd, uint64_t until_ns)
{
    struct timespec wait = mu_client_left(until_ns);
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    int ready = ppoll(&poll_fd, 1, until_ns == MU_CLIENT_NO_END ? NULL : &wait, NULL);
    if (ready < 0 && errno != EINTR)
        return -errno;
    return ready != 0;
}

int mu_client_ballot(int fd, const char *name, struct mu_ballot *ballot, struct muster_error *error)
{
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    struct mu_local_message message;
    ssize_t count;
    /* A reset is told once, and before the packets that are still there: they come first. */
    do
        count = recv(fd, bytes, sizeof bytes, MSG_TRUNC | MSG_DONTWAIT);
    while (count < 0 && (errno == EINTR || errno == ECONNRESET));
    if (count < 0 && errno == EAGAIN)
        return 0;
    if (count < 0)
        return mu_client_fail(error, MUSTER_E_SYSTEM, "cannot read from the daemon: %s",
                              mu_client_errno_text(errno));
    if (count == 0)
        return mu_client_fail(error, MUSTER_E_NO_DAEMON, "the daemon @%s has ended", name);
    if (bytes[0] == MU_LOCAL_REFUSED && mu_local_decode(bytes, (size_t)count, &message) == NULL)
        return mu_client_refused(&message, error);
    const char *rule = mu_ballot_decode(bytes, (size_t)count, ballot);
    if (rule != NULL)
        return mu_client_fail(error, MUSTER_E_PROTOCOL,
                              "the daemon @%s sent a packet of %zd bytes and type %d: %s", name,
                              count, bytes[0], rule);
    return 1;
}

/* ---- one agreement ---- */

static int fail_again(const struct muster_group *group, struct muster_error *error)
{
    if (error != NULL)
        *error = group->broken;
    return -1;
}

static int break_off(struct muster_group *group, struct muster_error *error)
{
    struct mu_local_message leave = {.type = MU_LOCAL_LEAVE};
    group->is_broken = true;
    group->is_pending = false;
    mu_client_send(group->fd, &leave, NULL); /* the others need not wait for this process */
    shutdown(group->fd, SHUT_RDWR);
    return fail_again(group, error);
}

static int contribute(struct muster_group *group, uint64_t bits, struct muster_error *error)
{
    if (group->is_broken)
        return fail_again(group, error);
    if (group->is_pending)
        return mu_client_fail(error, MUSTER_E_INVALID,
                              "an agreement of this group is pending: one at a time");
    struct mu_ballot call = {.type = MU_BALLOT_CALL, .call = {bits, group->acked}};
    uint8_t bytes[MU_BALLOT_BYTES_MAX];
    size_t count = mu_ballot_encode(&call, bytes);
    ssize_t sent;
    do
        sent = send(group->fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    /* That the daemon is gone is found when its answer is read: it may have said why. */
    if (sent < 0 && errno != EPIPE && errno != ECONNRESET) {
        mu_client_fail(&group->broken, MUSTER_E_SYSTEM, "cannot write to the daemon: %s",
                       mu_client_errno_text(errno));
        return break_off(group, error);
    }
    group->is_pending = true;
    return 0;
}

bool mu_client_is_gone(const struct muster_group *group, uint32_t rank)
{
    return (group->gone[rank / 64] >> rank % 64 & 1) != 0;
}

static int take_gone(struct muster_group *group, const struct mu_ballot *ballot)
{
    for (uint16_t i = 0; i < ballot->gone.rows; i++)
        for (uint32_t k = 0; k < ballot->gone.row[i].count; k++) {
            uint32_t rank = ballot->gone.row[i].first + k;
            if (rank >= group->m->who.size || mu_client_is_gone(group, rank))
                return mu_client_fail(&group->broken, MUSTER_E_PROTOCOL,
                                      "invalid message from the daemon: rank %" PRIu32
                                      " has failed, which is impossible or was reported before",
                                      rank);
            group->gone[rank / 64] |= UINT64_C(1) << rank % 64;
            if (ballot->gone.kind[i] == MU_BALLOT_FAILED)
                group->failed[group->failed_count++] = rank;
        }
    return 0;
}

/* Does not wait. */
static int take_decision(struct muster_group *group, uint64_t *bits, struct muster_error *error)
{
    if (group->is_broken)
        return fail_again(group, error);
    if (!group->is_pending)
        return mu_client_fail(error, MUSTER_E_INVALID, "no agreement of this group is pending");
    for (;;) {
        struct mu_ballot ballot;
        int got = mu_client_ballot(group->fd, group->m->name, &ballot, &group->broken);
        if (got == 0)
            return MUSTER_PENDING;
        if (got == 1 && ballot.type == MU_BALLOT_DECIDED) {
            group->is_pending = false;
            group->more = ballot.decided.more;
            *bits = ballot.decided.bits;
            return ballot.decided.error ? MUSTER_AGREED_FAILURES : MUSTER_AGREED;
        }
        if (got == 1 && ballot.type != MU_BALLOT_GONE)
            got = mu_client_fail(&group->broken, MUSTER_E_PROTOCOL,
                                 "the daemon @%s sent a message of type %d in place of a decision",
                                 group->m->name, ballot.type);
        if (got < 0 || take_gone(group, &ballot) != 0)
            return break_off(group, error);
    }
}

/* What needs the lock, which nobody has while it waits. */
enum step { CONTRIBUTE, TAKE, GIVE_UP };

static int do_step(struct muster_group *group, enum step step, uint64_t *bits,
                   struct muster_error *error)
{
    int cancel, result = -1;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    pthread_mutex_lock(&group->lock);
    switch (step) {
    case CONTRIBUTE:
        result = contribute(group, *bits, error);
        break;
    case TAKE:
        result = take_decision(group, bits, error);
        break;
    case GIVE_UP:
        mu_client_fail(&group->broken, MUSTER_E_SYSTEM, "cannot wait for the daemon: %s",
                       mu_client_errno_text(errno));
        result = break_off(group, error);
        break;
    }
    pthread_mutex_unlock(&group->lock);
    pthread_setcancelstate(cancel, &cancel);
    return result;
}

static int wait_for_decision(struct muster_group *group, uint64_t until_ns, uint64_t *bits,
                             struct muster_error *error)
{
    for (;;) {
        int result = mu_client_wait_readable(group->fd, until_ns);
        if (result == 0)
            return MUSTER_PENDING;
        if (result < 0) {
            errno = -result;
            return do_step(group, GIVE_UP, bits, error);
        }
        result = do_step(group, TAKE, bits, error);
        if (result != MUSTER_PENDING)
            return result;
    }
}

/* ---- the functions of muster.h ---- */

static int agree(struct muster_group *group, uint64_t *bits, struct muster_error *error)
{
    uint64_t decided = *bits;
    int result = do_step(group, CONTRIBUTE, &decided, error);
    if (result == 0)
        result = wait_for_decision(group, MU_CLIENT_NO_END, &decided, error);
    if (result >= 0)
        *bits = decided;
    return result;
}

int muster_agree(struct muster *m, struct muster_group *group, uint64_t *bits,
                 struct muster_error *error)
{
    int errno_before = errno;
    struct muster_group *meant = mu_client_group(m, group, error);
    int result = meant != NULL ? agree(meant, bits, error) : -1;
    errno = errno_before;
    return result;
}

int muster_agree_start(struct muster *m, struct muster_group *group, uint64_t bits,
                       struct muster_error *error)
{
    int errno_before = errno;
    struct muster_group *meant = mu_client_group(m, group, error);
    int result = meant != NULL ? do_step(meant, CONTRIBUTE, &bits, error) : -1;
    errno = errno_before;
    return result;
}

int muster_agree_wait(struct muster *m, struct muster_group *group, uint64_t *bits,
                      int64_t timeout_ns, struct muster_error *error)
{
    int errno_before = errno;
    struct muster_group *meant = mu_client_group(m, group, error);
    int result = meant != NULL ? do_step(meant, TAKE, bits, error) : -1;
    if (result == MUSTER_PENDING && timeout_ns > MUSTER_NOW)
        result = wait_for_decision(meant, mu_client_deadline_ns(timeout_ns), bits, error);
    errno = errno_before;
    return result;
}

int muster_agree_test(struct muster *m, struct muster_group *group, uint64_t *bits,
                      struct muster_error *error)
{
    return muster_agree_wait(m, group, bits, MUSTER_NOW, error);
}

int muster_agree_fd(struct muster *m, struct muster_group *group)
{
    int errno_before = errno;
    struct muster_group *meant = mu_client_group(m, group, NULL);
    errno = errno_before;
    return meant != NULL ? meant->fd : -1;
}

int muster_barrier(struct muster *m, struct muster_group *group, struct muster_error *error)
{
    uint64_t bits = UINT64_MAX;
    return muster_agree(m, group, &bits, error);
}

int muster_get_failed(struct muster *m, struct muster_group *group, uint32_t *ranks, uint32_t room,
                      uint32_t *count, struct muster_error *error)
{
    int errno_before = errno;
    struct muster_group *meant = mu_client_group(m, group, error);
    if (meant != NULL) {
        pthread_mutex_lock(&meant->lock);
        *count = meant->failed_count;
        if (room > 0)
            memcpy(ranks, meant->failed, (room < *count ? room : *count) * sizeof *ranks);
        pthread_mutex_unlock(&meant->lock);
    }
    errno = errno_before;
    return meant != NULL ? 0 : -1;
}

int muster_ack_failed(struct muster *m, struct muster_group *group, struct muster_error *error)
{
    int errno_before = errno;
    struct muster_group *meant = mu_client_group(m, group, error);
    if (meant != NULL) {
        pthread_mutex_lock(&meant->lock);
        meant->acked = meant->failed_count;
        pthread_mutex_unlock(&meant->lock);
    }
    errno = errno_before;
    return meant != NULL ? 0 : -1;
}

/* Who is gone by the decision is gone at all members: so they all come to the same numbers.
 * Returns whether there are more who have gone. */
static bool renumber(struct muster_group *group)
{
    uint32_t kept = 0;
    pthread_mutex_lock(&group->lock);
    for (uint32_t i = 0; i < group->size; i++)
        if (!mu_client_is_gone(group, group->members[i]))
            group->members[kept++] = group->members[i];
    group->size = kept;
    group->acked = group->failed_count;
    bool more = group->more;
    pthread_mutex_unlock(&group->lock);
    return more;
}

int muster_shrink(struct muster *m, struct muster_group *group, struct muster_error *error)
{
    int errno_before = errno, result = -1;
    struct muster_group *meant = mu_client_group(m, group, error);
    bool more = meant != NULL;
    while (more) {
        uint64_t bits = UINT64_MAX;
        result = agree(meant, &bits, error);
        more = result >= 0 && renumber(meant);
    }
    errno = errno_before;
    return result < 0 ? -1 : 0;
}
