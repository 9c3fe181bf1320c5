#define _GNU_SOURCE /* accept4() */
#include "rig/door.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 4096 }; /* or what the kernel allows: all clients may come at once */

static socklen_t address_of(struct sockaddr_un *address, uint32_t rig, uint32_t node)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    char *name = address->sun_path + 1;
    size_t room = sizeof address->sun_path - 1;
    int length = node == RIG_DOOR_PAGE ? snprintf(name, room, "muster-rig/%u", rig)
                                       : snprintf(name, room, "muster-rig/%u/%u", rig, node);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static bool is_ours(int fd)
{
    struct ucred other;
    socklen_t length = sizeof other;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &other, &length) == 0 && other.uid == geteuid();
}

static int close_failed(int fd)
{
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

int rig_door_open(uint32_t node)
{
    struct sockaddr_un address;
    socklen_t length = address_of(&address, (uint32_t)getpid(), node);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    return close_failed(fd);
}

int rig_door_accept(int door)
{
    int fd = accept4(door, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0 || is_ours(fd))
        return fd;
    close(fd);
    return -1;
}

int rig_door_connect(uint32_t rig, uint32_t node)
{
    struct sockaddr_un address;
    socklen_t length = address_of(&address, rig, node);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, (struct sockaddr *)&address, length) != 0)
        return close_failed(fd);
    if (is_ours(fd))
        return fd;
    errno = EPERM;
    return close_failed(fd);
}
