#define _GNU_SOURCE /* struct ucred */
#include "launch/operator.h"

#include "launch/operator_inside.h"

#include "host/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* ---- finding ---- */

/* ADDRESS: REFERENCES PROTOCOL FLAGS TYPE STATE INODE [NAME], numbers in hexadecimal but the inode.
 * Connections that the daemon has accepted carry its name as well: only what listens counts. */
bool operator_line(const char *line, uid_t uid, struct operator_daemon *daemon)
{
    enum { LISTENS = 0x10000 }; /* __SO_ACCEPTCON of the kernel */
    unsigned int flags, type;
    char name[MU_LOCAL_NAME_MAX + 2];
    int end = 0;
    uint32_t of;
    if (sscanf(line, "%*x: %*x %*x %x %x %*x %*u @%65s%n", &flags, &type, name, &end) != 3)
        return false;
    if (line[end] != '\0' && line[end] != '\n')
        return false; /* longer than a name of ours, or with a space in it */
    if ((flags & LISTENS) == 0 || type != SOCK_SEQPACKET)
        return false;
    if (!mu_local_name_parse(name, &of, &daemon->machine, &daemon->slot))
        return false;
    daemon->uid = of;
    return uid == OPERATOR_ANY_USER || of == uid;
}

static int compare(const void *a, const void *b)
{
    const struct operator_daemon *one = a, *other = b;
    if (one->machine != other->machine)
        return one->machine < other->machine ? -1 : 1;
    return (one->slot > other->slot) - (one->slot < other->slot);
}

static bool add(struct operator_found *found, size_t *room, const struct operator_daemon *daemon)
{
    if (found->count == *room) {
        size_t more = *room == 0 ? 16 : 2 * *room;
        void *grown = realloc(found->daemons, more * sizeof *found->daemons);
        if (grown == NULL)
            return false;
        found->daemons = grown;
        *room = more;
    }
    found->daemons[found->count++] = *daemon;
    return true;
}

/* The kernel's table is no snapshot: a socket may be shown twice. */
static void sort(struct operator_found *found)
{
    size_t kept = 0;
    if (found->count > 0)
        qsort(found->daemons, found->count, sizeof *found->daemons, compare);
    for (size_t i = 0; i < found->count; i++)
        if (kept == 0 || compare(&found->daemons[kept - 1], &found->daemons[i]) != 0)
            found->daemons[kept++] = found->daemons[i];
    found->count = kept;
}

bool operator_read(FILE *file, uid_t uid, struct operator_found *found)
{
    char *line = NULL;
    size_t line_room = 0, room = found->count;
    struct operator_daemon daemon;
    bool good = true;
    while (good && getline(&line, &line_room, file) >= 0)
        if (operator_line(line, uid, &daemon))
            good = add(found, &room, &daemon);
    free(line);
    sort(found);
    return good && ferror(file) == 0;
}

void operator_free(struct operator_found *found)
{
    free(found->daemons);
    *found = (struct operator_found){0};
}

/* ---- one daemon ---- */

static bool fail(struct operator_link *link, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool fail(struct operator_link *link, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(link->why, sizeof link->why, format, arguments);
    va_end(arguments);
    return false;
}

/* Only a daemon of the user whose name it has, or of root, who could be anybody, is talked to. */
static bool is_trusted(struct operator_link *link, uid_t uid)
{
    struct ucred owner;
    socklen_t length = sizeof owner;
    if (getsockopt(link->fd, SOL_SOCKET, SO_PEERCRED, &owner, &length) != 0)
        return false;
    link->pid = owner.pid;
    return owner.uid == uid || owner.uid == 0;
}

enum contact { TRUSTED, UNKNOWN, NOT_OURS, GONE };

/* Never waits: a daemon that is stopped may have a full queue of connections.  Then its owner
 * cannot be told. */
static enum contact contact(struct operator_link *link, const struct operator_daemon *daemon)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[MU_LOCAL_NAME_MAX];
    link->slot = daemon->slot;
    link->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (link->fd < 0) {
        fail(link, "cannot be asked: socket: %s", strerror(errno));
        return UNKNOWN;
    }
    mu_local_name(name, daemon->uid, daemon->machine, daemon->slot);
    memcpy(address.sun_path + 1, name, strlen(name)); /* after a NUL: the abstract namespace */
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    if (connect(link->fd, (struct sockaddr *)&address, length) == 0) {
        if (is_trusted(link, daemon->uid))
            return TRUSTED;
        fail(link, "was not asked: a process of another user listens on its socket");
        return NOT_OURS;
    }
    bool gone = errno == ECONNREFUSED;
    if (gone)
        fail(link, "has ended");
    else if (errno == EAGAIN)
        fail(link, "does not answer: too many connections are waiting");
    else
        fail(link, "cannot be asked: %s", strerror(errno));
    return gone ? GONE : UNKNOWN;
}

void operator_close(struct operator_link *link)
{
    if (link->fd >= 0)
        close(link->fd);
    link->fd = -1;
}

bool operator_say(struct operator_link *link, const struct mu_local_message *message)
{
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    size_t count = mu_local_encode(message, bytes);
    if (send(link->fd, bytes, count, MSG_NOSIGNAL) == (ssize_t)count)
        return true;
    if (errno == EAGAIN)
        return fail(link, "does not answer");
    if (errno == EPIPE || errno == ECONNRESET)
        return fail(link, "has ended");
    return fail(link, "cannot be reached: %s", strerror(errno));
}

/* 1: there is something to read; 0: not in time; -1: errno. */
static int wait_readable(int fd, int timeout_ms)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int64_t end_ms = mu_now_ms() + timeout_ms;
    for (;;) {
        int64_t rest_ms = end_ms - mu_now_ms();
        int count = poll(&ready, 1, timeout_ms < 0 ? -1 : rest_ms > 0 ? (int)rest_ms : 0);
        if (count >= 0 || errno != EINTR)
            return count;
    }
}

bool operator_hear(struct operator_link *link, struct mu_local_message *message, int timeout_ms)
{
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    int ready = wait_readable(link->fd, timeout_ms);
    if (ready == 0)
        return fail(link, "does not answer");
    /* With MSG_TRUNC the result is how long the packet was, also when it is longer than the room.
     */
    ssize_t count = ready < 0 ? -1 : recv(link->fd, bytes, sizeof bytes, MSG_TRUNC);
    if (count == 0 || (count < 0 && errno == ECONNRESET))
        return fail(link, "has ended");
    if (count < 0)
        return fail(link, "cannot be read: %s", strerror(errno));
    if (count > MU_LOCAL_PACKET_MAX)
        return fail(link, "sent an invalid reply: a packet of %zd bytes, over the limit of %d",
                    count, MU_LOCAL_PACKET_MAX);
    const char *broken = mu_local_decode(bytes, (size_t)count, message);
    if (broken != NULL)
        return fail(link, "sent an invalid reply: %s", broken);
    return true;
}

bool operator_unexpected(struct operator_link *link, const struct mu_local_message *message)
{
    link->refused = message->type == MU_LOCAL_REFUSED;
    if (link->refused)
        return fail(link, "refused: %s", message->refused.text);
    return fail(link, "sent an unexpected reply: a message of type %u", message->type);
}

bool operator_status(struct operator_link *link, operator_each *each, void *owner)
{
    struct mu_local_message message = {.type = MU_LOCAL_STATUS};
    if (!operator_say(link, &message))
        return false;
    while (operator_hear(link, &message, OPERATOR_TIMEOUT_MS)) {
        switch (message.type) {
        case MU_LOCAL_NODE:
        case MU_LOCAL_JOB:
        case MU_LOCAL_PROCESS:
        case MU_LOCAL_COUNTER:
        case MU_LOCAL_GONE:
            each(owner, &message);
            break;
        case MU_LOCAL_DONE:
            return true;
        default:
            return operator_unexpected(link, &message);
        }
    }
    return false;
}

bool operator_order(struct operator_link *link, const struct mu_local_message *order)
{
    struct mu_local_message answer;
    if (!operator_say(link, order) || !operator_hear(link, &answer, OPERATOR_TIMEOUT_MS))
        return false;
    return answer.type == MU_LOCAL_DONE || operator_unexpected(link, &answer);
}

static bool greet(struct operator_link *link, const struct operator_daemon *daemon)
{
    struct mu_local_message message = {
        .type = MU_LOCAL_HELLO,
        .hello = {.version = MU_LOCAL_VERSION, .role = MU_LOCAL_OPERATOR},
    };
    if (!operator_say(link, &message) || !operator_hear(link, &message, OPERATOR_TIMEOUT_MS))
        return false;
    if (message.type != MU_LOCAL_WELCOME)
        return operator_unexpected(link, &message);
    link->welcome = message.welcome;
    if (link->welcome.machine != daemon->machine || link->welcome.slot != daemon->slot)
        return fail(link, "claims to be node %u of cluster %016" PRIx64, link->welcome.slot,
                    link->welcome.machine);
    return true;
}

bool operator_open(struct operator_link *link, const struct operator_daemon *daemon)
{
    *link = (struct operator_link){.fd = -1};
    if (contact(link, daemon) == TRUSTED && greet(link, daemon))
        return true;
    operator_close(link);
    return false;
}

bool operator_reach(struct operator_link *link, const struct operator_daemon *daemon)
{
    *link = (struct operator_link){.fd = -1};
    if (contact(link, daemon) == TRUSTED)
        return true;
    operator_close(link);
    return false;
}

/* Names that others have taken are as good as not there. */
bool operator_is_foreign(const struct operator_daemon *daemon)
{
    struct operator_link link = {.fd = -1};
    enum contact whose = contact(&link, daemon);
    operator_close(&link);
    return whose == NOT_OURS || whose == GONE;
}
