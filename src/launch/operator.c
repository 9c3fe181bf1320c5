#define _GNU_SOURCE /* struct ucred */
#include "launch/operator.h"

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
    return mu_local_name_parse(name, &of, &daemon->machine, &daemon->slot) && of == uid;
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

/* ---- choosing ---- */

static bool begins_with(uint64_t machine, const char *prefix)
{
    char digits[17];
    snprintf(digits, sizeof digits, "%016" PRIx64, machine);
    return strncasecmp(digits, prefix, strlen(prefix)) == 0;
}

/* Writes "A, B and 3 more": the machines that begin with 'prefix'.  Returns how many there are. */
static size_t list_machines(const struct operator_found *found, const char *prefix, char *text,
                            size_t room)
{
    enum { SHOWN = 8 };
    size_t used = 0, machines = 0;
    text[0] = '\0';
    for (size_t i = 0; i < found->count; i++) {
        uint64_t machine = found->daemons[i].machine;
        bool again = i > 0 && found->daemons[i - 1].machine == machine;
        if (again || !begins_with(machine, prefix) || machines++ >= SHOWN)
            continue;
        used += (size_t)snprintf(text + used, room - used, "%s%016" PRIx64, used > 0 ? ", " : "",
                                 machine);
    }
    if (machines > SHOWN)
        snprintf(text + used, room - used, " and %zu more", machines - SHOWN);
    return machines;
}

const char *operator_choose(struct operator_found *found, const char *prefix,
                            char text[OPERATOR_TEXT_MAX])
{
    char list[OPERATOR_TEXT_MAX / 2];
    if (found->count == 0)
        return strcpy(text, "no machine of yours runs on this host");
    size_t machines = list_machines(found, prefix == NULL ? "" : prefix, list, sizeof list);
    if (machines > 1) {
        snprintf(text, OPERATOR_TEXT_MAX, "which of your %zu machines? --machine must say one: %s",
                 machines, list);
        return text;
    }
    if (machines == 0) {
        list_machines(found, "", list, sizeof list);
        snprintf(text, OPERATOR_TEXT_MAX,
                 "no machine of yours on this host begins with '%.16s': there is %s", prefix, list);
        return text;
    }
    size_t kept = 0;
    for (size_t i = 0; i < found->count; i++)
        if (prefix == NULL || begins_with(found->daemons[i].machine, prefix))
            found->daemons[kept++] = found->daemons[i];
    found->count = kept;
    return NULL;
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

/* Only a daemon of this user, or of root, who could be anybody, is talked to. */
static bool is_trusted(struct operator_link *link)
{
    struct ucred owner;
    socklen_t length = sizeof owner;
    if (getsockopt(link->fd, SOL_SOCKET, SO_PEERCRED, &owner, &length) != 0)
        return false;
    link->pid = owner.pid;
    return owner.uid == geteuid() || owner.uid == 0;
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
    mu_local_name(name, geteuid(), daemon->machine, daemon->slot);
    memcpy(address.sun_path + 1, name, strlen(name)); /* after a NUL: the abstract namespace */
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    if (connect(link->fd, (struct sockaddr *)&address, length) == 0) {
        if (is_trusted(link))
            return TRUSTED;
        fail(link, "is not yours: another user listens in its place");
        return NOT_OURS;
    }
    bool gone = errno == ECONNREFUSED;
    if (gone)
        fail(link, "is gone");
    else if (errno == EAGAIN)
        fail(link, "does not answer: too many wait already");
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
        return fail(link, "is gone");
    return fail(link, "cannot be told: %s", strerror(errno));
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
        return fail(link, "is gone");
    if (count < 0)
        return fail(link, "cannot be heard: %s", strerror(errno));
    if (count > MU_LOCAL_PACKET_MAX)
        return fail(link, "says what cannot be: a packet of %zd bytes, at most %d are allowed",
                    count, MU_LOCAL_PACKET_MAX);
    const char *broken = mu_local_decode(bytes, (size_t)count, message);
    if (broken != NULL)
        return fail(link, "says what cannot be: %s", broken);
    return true;
}

bool operator_unexpected(struct operator_link *link, const struct mu_local_message *message)
{
    link->refused = message->type == MU_LOCAL_REFUSED;
    if (link->refused)
        return fail(link, "refuses: %s", message->refused.text);
    return fail(link, "says what was not asked: a message of type %u", message->type);
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
        return fail(link, "says to be node %u of machine %016" PRIx64, link->welcome.slot,
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

/* ---- for a command ---- */

/* Names that others have taken are as good as not there.  Only asked when it decides something:
 * each question is one connection. */
static void drop_foreign(struct operator_found *found)
{
    size_t kept = 0;
    for (size_t i = 0; i < found->count; i++) {
        struct operator_link link = {.fd = -1};
        enum contact whose = contact(&link, &found->daemons[i]);
        operator_close(&link);
        if (whose == TRUSTED || whose == UNKNOWN)
            found->daemons[kept++] = found->daemons[i];
    }
    found->count = kept;
}

static void check_prefix(const struct command *command, const char *prefix)
{
    size_t digits = strspn(prefix, "0123456789abcdefABCDEF");
    if (digits < 1 || digits > 16 || prefix[digits] != '\0')
        args_fail(command, "--machine is '%s', but must be 1 to 16 hexadecimal digits", prefix);
}

bool operator_find(const struct command *command, const char *prefix, struct operator_found *found)
{
    char text[OPERATOR_TEXT_MAX];
    if (prefix != NULL)
        check_prefix(command, prefix);
    *found = (struct operator_found){0};
    FILE *file = fopen("/proc/net/unix", "re");
    bool good = file != NULL && operator_read(file, geteuid(), found);
    int error = errno;
    if (file != NULL)
        fclose(file);
    if (!good) {
        fprintf(stderr, "%s: /proc/net/unix: %s\n", command->path, strerror(error));
        operator_free(found);
        return false;
    }
    const char *why = operator_choose(found, prefix, text);
    if (why != NULL) {
        drop_foreign(found);
        why = operator_choose(found, prefix, text);
    }
    if (why == NULL)
        return true;
    fprintf(stderr, "%s: %s\n", command->path, why);
    operator_free(found);
    return false;
}
