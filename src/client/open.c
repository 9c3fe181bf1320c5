#include "client/handle.h"
#include "host/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OPEN_TIMEOUT_S = 10 };

/* What 'muster run' put into the environment. */
struct place {
    const char *name; /* of the daemon's socket */
    uint32_t job, rank;
};

/* Digits only, and in one spelling: what strtoul() would also take (blanks, signs, "0x") was not
 * written by muster. */
static bool read_number(const char *text, uint32_t *number)
{
    uint64_t value = 0;
    size_t length = strlen(text);
    if (length == 0 || length > 10 || (text[0] == '0' && length > 1))
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    *number = (uint32_t)value;
    return value <= UINT32_MAX;
}

static int read_variable(const char *variable, uint32_t *number, struct muster_error *error)
{
    const char *text = getenv(variable);
    if (text == NULL)
        return mu_client_fail(error, MUSTER_E_NOT_A_MEMBER,
                              "MUSTER_SOCKET is in the environment and %s is not: "
                              "'muster run' sets both",
                              variable);
    if (!read_number(text, number))
        return mu_client_fail(error, MUSTER_E_NOT_A_MEMBER,
                              "%s is '%.40s', which is not a number from 0 to 4294967295", variable,
                              text);
    return 0;
}

static int read_place(struct place *place, struct muster_error *error)
{
    place->name = getenv("MUSTER_SOCKET");
    if (place->name == NULL)
        return mu_client_fail(error, MUSTER_E_NOT_A_MEMBER,
                              "MUSTER_SOCKET is not in the environment: "
                              "this process was not started by 'muster run'");
    uint32_t uid, slot;
    uint64_t machine;
    if (!mu_local_name_parse(place->name, &uid, &machine, &slot))
        return mu_client_fail(error, MUSTER_E_NOT_A_MEMBER,
                              "MUSTER_SOCKET is '%.80s', which is not the name of a daemon: "
                              "muster/UID/CLUSTER/SLOT, CLUSTER as 16 hexadecimal digits",
                              place->name);
    if (read_variable("MUSTER_JOB", &place->job, error) != 0)
        return -1;
    return read_variable("MUSTER_RANK", &place->rank, error);
}

/* What the kernel says of this process decides at the daemon, not the environment: so the answer
 * tells who it is. */
static int take_welcome(struct muster *m, uint64_t until_ns, struct muster_error *error)
{
    struct mu_local_message message;
    int fds[MU_CLIENT_FDS];
    int got = mu_client_receive(m->fd, m->name, until_ns, &message, fds, error);
    if (got == 1 && message.type == MU_LOCAL_WELCOME && message.welcome.size > 0) {
        m->who = message.welcome;
        return mu_client_attach(m, fds, error);
    }
    for (int i = 0; i < MU_CLIENT_FDS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    if (got < 0)
        return -1;
    if (got == 0)
        return mu_client_fail(error, MUSTER_E_NO_DAEMON,
                              "the daemon @%s has not answered for %d seconds", m->name,
                              OPEN_TIMEOUT_S);
    if (message.type == MU_LOCAL_REFUSED)
        return mu_client_refused(&message, error);
    if (message.type != MU_LOCAL_WELCOME)
        return mu_client_fail(error, MUSTER_E_PROTOCOL,
                              "the daemon @%s answers with a message of type %d instead of "
                              "WELCOME (%d)",
                              m->name, message.type, MU_LOCAL_WELCOME);
    return mu_client_fail(error, MUSTER_E_PROTOCOL,
                          "the daemon @%s accepted a member of a job without ranks", m->name);
}

static int join(struct muster *m, const struct place *place, struct muster_error *error)
{
    uint64_t until_ns = mu_now_ns() + OPEN_TIMEOUT_S * UINT64_C(1000000000);
    struct mu_local_message hello = {
        .type = MU_LOCAL_HELLO,
        .hello = {.version = MU_LOCAL_VERSION,
                  .role = MU_LOCAL_MEMBER,
                  .job = place->job,
                  .rank = place->rank},
    };
    m->fd = mu_client_connect(m->name, until_ns, error);
    if (m->fd < 0)
        return -1;
    if (mu_client_send(m->fd, &hello, error) == 0 && take_welcome(m, until_ns, error) == 0)
        return 0;
    close(m->fd);
    return -1;
}

/* The first event would pay for every page and every symbol that is touched for the first time: 8
 * us instead of 0.6, in each of a node's processes at once.  So one is read here that never
 * happened, and the board where the next one will stand. */
static void warm_up(struct muster *m)
{
    struct mu_local_event told = {.serial = 1,
                                  .subject = MU_SUBJECT_PROCESS,
                                  .job = m->who.job,
                                  .rank = m->who.rank,
                                  .node = m->who.slot,
                                  .evidence = {.verdict = MU_VERDICT_DEAD,
                                               .cause = MU_CAUSE_EXIT,
                                               .seen_by = m->who.slot,
                                               .node = m->who.slot,
                                               .how = {.type = MU_EXIT_SIGNAL, .signal = SIGKILL}}};
    struct muster_event event;
    uint64_t words[MU_BOARD_WORDS];
    size_t count;
    mu_board_take(&m->board, mu_board_head(&m->board), words, &count);
    count = mu_local_encode_event(&told, (uint8_t *)words);
    if (mu_local_decode_event((const uint8_t *)words, count, &told) == NULL)
        mu_client_happened(m, &told, &event, NULL);
}

/* A page of which a child of fork() has an empty one.  (One of vfork() has ours; all that it may do
 * is to call exec.)  NULL: this kernel cannot do it. */
static const uint8_t *make_mark(void)
{
    uint8_t *mark = mmap(NULL, MU_CLIENT_MARK_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mark == MAP_FAILED)
        return NULL;
    if (madvise(mark, MU_CLIENT_MARK_BYTES, MADV_WIPEONFORK) != 0) {
        munmap(mark, MU_CLIENT_MARK_BYTES);
        return NULL;
    }
    *mark = 1;
    return mark;
}

static int open_handle(struct muster **m, struct muster_error *error)
{
    struct place place;
    if (read_place(&place, error) != 0)
        return -1;
    struct muster *made = calloc(1, sizeof *made);
    if (made == NULL)
        return mu_client_fail(error, MUSTER_E_SYSTEM, "no memory for %zu bytes", sizeof *made);
    made->pid = getpid();
    made->fd = made->poll_fd = made->bell = -1;
    snprintf(made->name, sizeof made->name, "%s", place.name);
    if (join(made, &place, error) != 0) {
        free(made);
        return -1;
    }
    made->mark = make_mark();
    warm_up(made);
    pthread_mutex_init(&made->group_lock, NULL);
    pthread_mutex_init(&made->lock, NULL); /* of the default kind: cannot fail on Linux */
    *m = made;
    return 0;
}

int muster_open(struct muster **m, struct muster_error *error)
{
    int errno_before = errno;
    int result = open_handle(m, error);
    errno = errno_before;
    return result;
}
