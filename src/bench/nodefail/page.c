#define _GNU_SOURCE
#include "bench/nodefail/page.h"

#include "host/thread.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 4096 }; /* or what the kernel allows: all readers may come at once */

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static socklen_t address_of(struct sockaddr_un *address, uint32_t bench)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1,
                          "muster-bench/%u/nodefail", bench);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static size_t bytes_of(uint32_t size)
{
    return sizeof(struct nodefail_page) + (size_t)size * sizeof(struct nodefail_slot);
}

/* Both ends look at the other: anybody may take the name, or connect. */
static bool is_ours(int fd)
{
    struct ucred other;
    socklen_t length = sizeof other;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &other, &length) == 0 && other.uid == geteuid();
}

/* ---- in the bench ---- */

void nodefail_page_reset(struct nodefail_page *page)
{
    memset(page->slots, 0, page->size * sizeof page->slots[0]);
    memset(page->is_victim, 0, sizeof page->is_victim);
    page->victim_count = 0;
    for (uint32_t i = 0; i < NODEFAIL_NODES_MAX; i++)
        page->seen_ns[i] = UINT64_MAX;
    page->ready = page->done = 0;
    page->is_over = false;
}

static int make_page(struct nodefail_door *door, uint32_t nodes, uint32_t procs)
{
    uint32_t size = nodes * procs;
    door->page_fd = memfd_create("muster-bench-nodefail", MFD_CLOEXEC);
    if (door->page_fd < 0 || ftruncate(door->page_fd, (off_t)bytes_of(size)) != 0)
        return -1;
    void *memory = mmap(NULL, bytes_of(size), PROT_READ | PROT_WRITE, MAP_SHARED, door->page_fd, 0);
    if (memory == MAP_FAILED)
        return -1;
    door->page = memory;
    door->page->size = size;
    door->page->nodes = nodes;
    door->page->procs = procs;
    nodefail_page_reset(door->page);
    return 0;
}

static void give(int fd, int page_fd)
{
    char word = 0;
    union control control;
    struct iovec part = {.iov_base = &word, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    memset(&control, 0, sizeof control);
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof page_fd);
    memcpy(CMSG_DATA(&control.header), &page_fd, sizeof page_fd);
    sendmsg(fd, &message, MSG_NOSIGNAL); /* who does not get it says so */
}

/* Until the socket is shut down. */
static void *give_to_all(void *argument)
{
    const struct nodefail_door *door = argument;
    thread_must_not_be_cancelled();
    for (;;) {
        int fd = accept4(door->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) {
            if (is_ours(fd))
                give(fd, door->page_fd);
            close(fd);
        } else if (errno == EINVAL) {
            return NULL;
        }
    }
}

int nodefail_door_open(struct nodefail_door *door, uint32_t nodes, uint32_t procs)
{
    struct sockaddr_un address;
    socklen_t length = address_of(&address, (uint32_t)getpid());
    *door = (struct nodefail_door){.page_fd = -1, .fd = -1};
    if (make_page(door, nodes, procs) != 0)
        return -1;
    door->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (door->fd < 0 || bind(door->fd, (struct sockaddr *)&address, length) != 0 ||
        listen(door->fd, BACKLOG) != 0)
        return -1;
    errno = thread_start(&door->thread, give_to_all, door);
    door->has_thread = errno == 0;
    return door->has_thread ? 0 : -1;
}

void nodefail_door_close(struct nodefail_door *door)
{
    if (door->has_thread) {
        shutdown(door->fd, SHUT_RDWR); /* accept() fails from now on, with EINVAL */
        thread_end(door->thread, false);
    }
    if (door->page != NULL)
        munmap(door->page, bytes_of(door->page->size));
    if (door->page_fd >= 0)
        close(door->page_fd);
    if (door->fd >= 0)
        close(door->fd);
}

/* ---- in a reader ---- */

static int take(int fd)
{
    char word;
    union control control;
    struct iovec part = {.iov_base = &word, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t count = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *header = count == 1 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header == NULL || header->cmsg_type != SCM_RIGHTS) {
        errno = count < 0 ? errno : ECONNRESET;
        return -1;
    }
    int page_fd;
    memcpy(&page_fd, CMSG_DATA(header), sizeof page_fd);
    return page_fd;
}

static struct nodefail_page *map(int page_fd)
{
    struct stat stat;
    if (fstat(page_fd, &stat) != 0)
        return NULL;
    void *memory = mmap(NULL, (size_t)stat.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, page_fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

struct nodefail_page *nodefail_page_get(uint32_t bench)
{
    struct sockaddr_un address;
    socklen_t length = address_of(&address, bench);
    struct nodefail_page *page = NULL;
    int page_fd = -1, fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return NULL;
    if (connect(fd, (struct sockaddr *)&address, length) == 0 && is_ours(fd) &&
        (page_fd = take(fd)) >= 0)
        page = map(page_fd);
    int error = errno;
    if (page_fd >= 0)
        close(page_fd);
    close(fd);
    errno = error;
    return page;
}
