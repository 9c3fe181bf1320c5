#define _GNU_SOURCE
#include "bench/procfail/door.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

socklen_t bench_door_address(struct sockaddr_un *address, uint32_t bench, uint32_t node)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "muster-bench/%u/%u",
                          bench, node);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static int take_page(int fd)
{
    char word;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {.iov_base = &word, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t count = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    if (count < 0)
        return -1;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (count != 1 || header == NULL || header->cmsg_type != SCM_RIGHTS) {
        errno = ECONNRESET;
        return -1;
    }
    int page_fd;
    memcpy(&page_fd, CMSG_DATA(header), sizeof page_fd);
    return page_fd;
}

int bench_door_connect(uint32_t bench, uint32_t node, uint32_t rank, int *page_fd)
{
    struct sockaddr_un address;
    socklen_t length = bench_door_address(&address, bench, node);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, (struct sockaddr *)&address, length) == 0 &&
        send(fd, &rank, sizeof rank, MSG_NOSIGNAL) == sizeof rank &&
        (*page_fd = take_page(fd)) >= 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}
