/* Packets to and from the daemon, and how long to wait for them. */
#define _GNU_SOURCE
#include "client/handle.h"
#include "host/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000, NS_PER_US = 1000 };

static uint64_t left_ns(uint64_t until_ns)
{
    uint64_t now_ns = mu_now_ns();
    return until_ns > now_ns ? until_ns - now_ns : 0;
}

struct timespec mu_client_left(uint64_t until_ns)
{
    uint64_t wait_ns = left_ns(until_ns);
    return (struct timespec){.tv_sec = (time_t)(wait_ns / NS_PER_S),
                             .tv_nsec = (long)(wait_ns % NS_PER_S)};
}

/* ---- connecting ---- */

int mu_client_above_standard(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int errno_of_dup = errno;
    close(fd);
    errno = errno_of_dup;
    return higher;
}

/* connect() waits while the daemon has many others to accept, which the send timeout bounds. */
static int connect_until(int fd, const char *name, uint64_t until_ns)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    memcpy(address.sun_path + 1, name, length); /* behind a NUL: the abstract namespace */
    for (;;) {
        uint64_t wait_us = left_ns(until_ns) / NS_PER_US;
        if (wait_us == 0) /* would be no bound at all */
            return ETIMEDOUT;
        struct timeval wait = {.tv_sec = (time_t)(wait_us / 1000000),
                               .tv_usec = (suseconds_t)(wait_us % 1000000)};
        if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) != 0)
            return errno;
        if (connect(fd, (const struct sockaddr *)&address,
                    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) == 0)
            return 0;
        if (errno != EINTR && errno != EAGAIN)
            return errno;
    }
}

/* Whoever listens at that name: without this check another user could be there first, and tell us
 * what he likes. */
static int check_owner(int fd, const char *name, struct muster_error *error)
{
    struct ucred daemon;
    socklen_t length = sizeof daemon;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &daemon, &length) != 0)
        return mu_client_fail(error, MUSTER_E_SYSTEM, "cannot find out whose daemon it is: %s",
                              mu_client_errno_text(errno));
    uid_t self = geteuid();
    if (daemon.uid != self && daemon.uid != 0)
        return mu_client_fail(error, MUSTER_E_REFUSED,
                              "the daemon @%s is of user %u: it must be of user %u or of root",
                              name, (unsigned)daemon.uid, (unsigned)self);
    return 0;
}

int mu_client_connect(const char *name, uint64_t until_ns, struct muster_error *error)
{
    int fd = mu_client_above_standard(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (fd < 0)
        return mu_client_fail(error, MUSTER_E_SYSTEM, "cannot make a socket: %s",
                              mu_client_errno_text(errno));
    int number = connect_until(fd, name, until_ns);
    if (number != 0)
        mu_client_fail(error, MUSTER_E_NO_DAEMON, "cannot connect to the daemon @%s: %s", name,
                       mu_client_errno_text(number));
    if (number == 0 && check_owner(fd, name, error) == 0)
        return fd;
    close(fd);
    return -1;
}

/* ---- talking ---- */

int mu_client_send(int fd, const struct mu_local_message *message, struct muster_error *error)
{
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    size_t count = mu_local_encode(message, bytes);
    ssize_t sent;
    do
        sent = send(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno != EPIPE && errno != ECONNRESET)
        return mu_client_fail(error, MUSTER_E_SYSTEM, "cannot write to the daemon: %s",
                              mu_client_errno_text(errno));
    return 0;
}

/* 0: it may be worth another look.  EAGAIN: the time is over.  Another errno: poll() cannot wait,
 * as where no descriptor is allowed to be opened (RLIMIT_NOFILE 0). */
static int wait_for_packet(int fd, uint64_t until_ns)
{
    if (until_ns == MU_CLIENT_NO_WAIT)
        return EAGAIN;
    struct timespec wait = mu_client_left(until_ns);
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    int ready = ppoll(&poll_fd, 1, &wait, NULL);
    if (ready == 0)
        return EAGAIN;
    return ready > 0 || errno == EINTR ? 0 : errno;
}

static void take_descriptors(struct msghdr *message, int *fds)
{
    int got[MU_CLIENT_FDS] = {-1, -1};
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL;
         part = CMSG_NXTHDR(message, part))
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS)
            memcpy(got, CMSG_DATA(part), part->cmsg_len - CMSG_LEN(0));
    for (int i = 0; i < MU_CLIENT_FDS; i++) {
        if (fds != NULL)
            fds[i] = mu_client_above_standard(got[i]);
        else if (got[i] >= 0)
            close(got[i]);
    }
}

/* Returns its length, however long it is; 0: the daemon is gone; -EAGAIN: none in time; or another
 * errno, negated. */
static ssize_t receive_bytes(int fd, uint64_t until_ns, uint8_t bytes[MU_LOCAL_PACKET_MAX],
                             int *fds)
{
    for (;;) {
        union {
            struct cmsghdr header;
            char bytes[CMSG_SPACE(sizeof(int[MU_CLIENT_FDS]))];
        } control;
        struct iovec part = {.iov_base = bytes, .iov_len = MU_LOCAL_PACKET_MAX};
        struct msghdr message = {.msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control.bytes,
                                 .msg_controllen = sizeof control.bytes};
        ssize_t count = recvmsg(fd, &message, MSG_TRUNC | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (count >= 0) {
            take_descriptors(&message, fds);
            return count;
        }
        /* A reset is told once, and before the packets that are still there: they come first. */
        if (errno == EINTR || errno == ECONNRESET)
            continue;
        if (errno != EAGAIN)
            return -errno;
        int number = wait_for_packet(fd, until_ns);
        if (number != 0)
            return -number;
    }
}

int mu_client_receive(int fd, const char *name, uint64_t until_ns, struct mu_local_message *message,
                      int *fds, struct muster_error *error)
{
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    if (fds != NULL)
        fds[0] = fds[1] = -1;
    ssize_t count = receive_bytes(fd, until_ns, bytes, fds);
    if (count == -EAGAIN)
        return 0;
    if (count < 0)
        return mu_client_fail(error, MUSTER_E_SYSTEM, "cannot read from the daemon: %s",
                              mu_client_errno_text((int)-count));
    if (count == 0)
        return mu_client_fail(error, MUSTER_E_NO_DAEMON, "the daemon @%s has ended", name);
    const char *rule = mu_local_decode(bytes, (size_t)count, message);
    if (rule != NULL)
        return mu_client_fail(error, MUSTER_E_PROTOCOL,
                              "the daemon @%s sent a packet of %zd bytes and type %d: %s", name,
                              count, bytes[0], rule);
    return 1;
}
