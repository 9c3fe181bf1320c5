/* Groups: made, joined, numbered, left. */
#include "client/group.h"

#include "host/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { JOIN_TIMEOUT_S = 10 };

/* ---- joining ---- */

static void free_memory(struct muster_group *group)
{
    free(group->members);
    free(group->failed);
    free(group->gone);
    free(group);
}

static struct muster_group *make(struct muster *m, const struct mu_ballot_row *row, uint32_t rows,
                                 struct muster_error *error)
{
    const struct mu_ballot_row all = {0, m->who.size};
    struct muster_group *group = calloc(1, sizeof *group);
    if (rows == 0) {
        row = &all;
        rows = 1;
    }
    uint32_t size = 0;
    for (uint32_t i = 0; i < rows; i++)
        size += row[i].count;
    if (group != NULL) {
        group->members = calloc(size, sizeof *group->members);
        group->failed = calloc(size, sizeof *group->failed);
        group->gone = calloc(m->who.size / 64 + (size_t)1, sizeof *group->gone);
    }
    if (group == NULL || group->members == NULL || group->failed == NULL || group->gone == NULL) {
        if (group != NULL)
            free_memory(group);
        mu_client_fail(error, MUSTER_E_SYSTEM, "no memory for a group of %" PRIu32 " processes",
                       size);
        return NULL;
    }
    group->m = m;
    group->pid = m->pid;
    group->fd = -1;
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t k = 0; k < row[i].count; k++)
            group->members[group->size++] = row[i].first + k;
    return group;
}

static int say_join(const struct muster_group *group, const struct mu_ballot_row *row,
                    uint32_t rows, struct muster_error *error)
{
    const struct mu_local_welcome *who = &group->m->who;
    struct mu_local_message hello = {
        .type = MU_LOCAL_HELLO,
        .hello = {MU_LOCAL_VERSION, MU_LOCAL_VOTER, who->job, who->rank},
    };
    struct mu_ballot join = {.type = MU_BALLOT_JOIN, .join.rows = (uint16_t)rows};
    uint8_t bytes[MU_BALLOT_BYTES_MAX];
    for (uint32_t i = 0; i < rows; i++)
        join.join.row[i] = row[i];
    size_t count = mu_ballot_encode(&join, bytes);
    if (mu_client_send(group->fd, &hello, error) != 0)
        return -1;
    if (send(group->fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EPIPE &&
        errno != ECONNRESET)
        return mu_client_fail(error, MUSTER_E_SYSTEM, "cannot write to the daemon: %s",
                              mu_client_errno_text(errno));
    return 0;
}

static int hear_joined(const struct muster_group *group, uint64_t until_ns,
                       struct muster_error *error)
{
    struct mu_ballot ballot;
    int got = mu_client_wait_readable(group->fd, until_ns);
    if (got < 0)
        return mu_client_fail(error, MUSTER_E_SYSTEM, "cannot wait for the daemon: %s",
                              mu_client_errno_text(-got));
    if (got > 0)
        got = mu_client_ballot(group->fd, group->m->name, &ballot, error);
    if (got < 0)
        return -1;
    if (got == 0)
        return mu_client_fail(error, MUSTER_E_NO_DAEMON,
                              "the daemon @%s has not answered for %d seconds", group->m->name,
                              JOIN_TIMEOUT_S);
    if (ballot.type != MU_BALLOT_JOINED || ballot.joined.size != group->size)
        return mu_client_fail(error, MUSTER_E_PROTOCOL,
                              "the daemon @%s answers with a message of type %d to one who joins "
                              "a group of %" PRIu32,
                              group->m->name, ballot.type, group->size);
    return 0;
}

struct muster_group *mu_client_join(struct muster *m, const struct mu_ballot_row *row,
                                    uint32_t rows, struct muster_error *error)
{
    uint64_t until_ns = mu_now_ns() + JOIN_TIMEOUT_S * UINT64_C(1000000000);
    struct muster_group *group = make(m, row, rows, error);
    if (group == NULL)
        return NULL;
    group->fd = mu_client_connect(m->name, until_ns, error);
    if (group->fd >= 0 && say_join(group, row, rows, error) == 0 &&
        hear_joined(group, until_ns, error) == 0) {
        pthread_mutex_init(&group->lock, NULL); /* of the default kind: cannot fail on Linux */
        return group;
    }
    if (group->fd >= 0)
        close(group->fd);
    free_memory(group);
    return NULL;
}

/* ---- which group is meant ---- */

static struct muster_group *all_of(struct muster *m, struct muster_error *error)
{
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* we have the lock */
    pthread_mutex_lock(&m->group_lock);
    if (m->all == NULL)
        m->all = mu_client_join(m, NULL, 0, error);
    struct muster_group *all = m->all;
    pthread_mutex_unlock(&m->group_lock);
    pthread_setcancelstate(cancel, &cancel);
    return all;
}

struct muster_group *mu_client_group(struct muster *m, struct muster_group *group,
                                     struct muster_error *error)
{
    if (mu_client_check_owner(m, error) != 0)
        return NULL;
    return group == MUSTER_ALL ? all_of(m, error) : group;
}

/* ---- the functions of muster.h ---- */

static int compare_ranks(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

/* Ranks in order, as rows.  Returns how many, or -1 with *error filled. */
static int make_rows(const struct muster *m, const uint32_t *ranks, uint32_t count,
                     struct mu_ballot_row row[MU_BALLOT_ROWS_MAX], struct muster_error *error)
{
    uint32_t rows = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (ranks[i] >= m->who.size)
            return mu_client_fail(error, MUSTER_E_INVALID,
                                  "rank %" PRIu32 " is not below %" PRIu32 ", the size of the job",
                                  ranks[i], m->who.size);
        if (i > 0 && ranks[i] == ranks[i - 1])
            return mu_client_fail(error, MUSTER_E_INVALID, "rank %" PRIu32 " is in the group twice",
                                  ranks[i]);
        if (i > 0 && ranks[i] == ranks[i - 1] + 1) {
            row[rows - 1].count++;
            continue;
        }
        if (rows == MU_BALLOT_ROWS_MAX)
            return mu_client_fail(error, MUSTER_E_INVALID,
                                  "a group has at most %d runs of neighbouring ranks",
                                  MU_BALLOT_ROWS_MAX);
        row[rows++] = (struct mu_ballot_row){ranks[i], 1};
    }
    return (int)rows;
}

static int create(struct muster *m, const uint32_t *ranks, uint32_t count,
                  struct muster_group **group, struct muster_error *error)
{
    struct mu_ballot_row row[MU_BALLOT_ROWS_MAX];
    if (mu_client_check_owner(m, error) != 0)
        return -1;
    uint32_t *sorted = count > 0 ? malloc(count * sizeof *sorted) : NULL;
    if (sorted == NULL)
        return mu_client_fail(error, count > 0 ? MUSTER_E_SYSTEM : MUSTER_E_INVALID,
                              count > 0 ? "no memory for a list of ranks"
                                        : "a group has at least one member");
    memcpy(sorted, ranks, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_ranks);
    int rows = make_rows(m, sorted, count, row, error);
    bool is_in = bsearch(&m->who.rank, sorted, count, sizeof *sorted, compare_ranks) != NULL;
    free(sorted);
    if (rows < 0)
        return -1;
    if (!is_in)
        return mu_client_fail(error, MUSTER_E_INVALID,
                              "rank %" PRIu32 " is not a member of the group that it creates",
                              m->who.rank);
    struct muster_group *made = mu_client_join(m, row, (uint32_t)rows, error);
    if (made == NULL)
        return -1;
    *group = made;
    return 0;
}

int muster_group_create(struct muster *m, const uint32_t *ranks, uint32_t count,
                        struct muster_group **group, struct muster_error *error)
{
    int errno_before = errno;
    int result = create(m, ranks, count, group, error);
    errno = errno_before;
    return result;
}

void mu_client_group_free(struct muster_group *group)
{
    if (group == NULL)
        return;
    struct mu_local_message leave = {.type = MU_LOCAL_LEAVE};
    /* In a child of fork() another thread may have held the lock: it is left as it is. */
    if (group->pid == getpid()) {
        if (!group->is_broken)
            mu_client_send(group->fd, &leave, NULL);
        pthread_mutex_destroy(&group->lock);
    }
    close(group->fd);
    free_memory(group);
}

void muster_group_free(struct muster_group *group)
{
    int errno_before = errno;
    mu_client_group_free(group);
    errno = errno_before;
}

/* ---- numbers ---- */

uint32_t muster_group_size(struct muster *m, struct muster_group *group)
{
    int errno_before = errno;
    struct muster_group *meant = mu_client_group(m, group, NULL);
    uint32_t size = 0;
    if (meant != NULL) {
        pthread_mutex_lock(&meant->lock);
        size = meant->size;
        pthread_mutex_unlock(&meant->lock);
    }
    errno = errno_before;
    return size;
}

uint32_t muster_group_member(struct muster *m, struct muster_group *group, uint32_t number)
{
    int errno_before = errno;
    struct muster_group *meant = mu_client_group(m, group, NULL);
    uint32_t rank = UINT32_MAX;
    if (meant != NULL) {
        pthread_mutex_lock(&meant->lock);
        rank = number < meant->size ? meant->members[number] : UINT32_MAX;
        pthread_mutex_unlock(&meant->lock);
    }
    errno = errno_before;
    return rank;
}

uint32_t muster_group_index(struct muster *m, struct muster_group *group, uint32_t rank)
{
    int errno_before = errno;
    struct muster_group *meant = mu_client_group(m, group, NULL);
    uint32_t number = UINT32_MAX;
    if (meant != NULL) {
        pthread_mutex_lock(&meant->lock);
        const uint32_t *found =
            bsearch(&rank, meant->members, meant->size, sizeof rank, compare_ranks);
        number = found != NULL ? (uint32_t)(found - meant->members) : UINT32_MAX;
        pthread_mutex_unlock(&meant->lock);
    }
    errno = errno_before;
    return number;
}
