#define _GNU_SOURCE /* memfd_create() */
#include "rig/page.h"

#include "rig/door.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static size_t bytes_of(const struct rig_page *shape)
{
    return sizeof *shape + shape->size * (sizeof shape->slots[0] + shape->log_bytes);
}

void *rig_page_log(struct rig_page *page, uint32_t rank)
{
    return (char *)&page->slots[page->size] + (size_t)rank * page->log_bytes;
}

static struct rig_page *map(int fd, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* ---- in the rig ---- */

static void set_shape(struct rig_page *page, const struct rig_page *shape)
{
    page->nodes = shape->nodes;
    page->procs = shape->procs;
    page->size = shape->size;
    page->log_bytes = shape->log_bytes;
    page->fd = shape->fd;
}

struct rig_page *rig_page_make(uint32_t nodes, uint32_t procs, uint32_t log_bytes)
{
    const struct rig_page shape = {.nodes = nodes,
                                   .procs = procs,
                                   .size = nodes * procs,
                                   .log_bytes = (log_bytes + 63) / 64 * 64, /* lines of a cache */
                                   .fd = memfd_create("muster-rig", MFD_CLOEXEC)};
    if (shape.fd < 0)
        return NULL;
    struct rig_page *page = NULL;
    if (ftruncate(shape.fd, (off_t)bytes_of(&shape)) == 0)
        page = map(shape.fd, bytes_of(&shape));
    if (page == NULL) {
        int error = errno;
        close(shape.fd);
        errno = error;
        return NULL;
    }
    set_shape(page, &shape);
    return page;
}

void rig_page_free(struct rig_page *page)
{
    if (page == NULL)
        return;
    close(page->fd);
    munmap(page, bytes_of(page));
}

/* Logs may be large and are mostly empty: what is cut off takes no memory when it is back. */
void rig_page_reset(struct rig_page *page)
{
    struct rig_page shape = {0};
    set_shape(&shape, page);
    if (ftruncate(shape.fd, 0) != 0 || ftruncate(shape.fd, (off_t)bytes_of(&shape)) != 0)
        abort(); /* it was as large before */
    set_shape(page, &shape);
}

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

void rig_page_give(const struct rig_page *page, int fd)
{
    char word = 'p';
    union control control = {.header = {.cmsg_len = CMSG_LEN(sizeof page->fd),
                                        .cmsg_level = SOL_SOCKET,
                                        .cmsg_type = SCM_RIGHTS}};
    memcpy(CMSG_DATA(&control.header), &page->fd, sizeof page->fd);
    struct iovec part = {.iov_base = &word, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    sendmsg(fd, &message, MSG_NOSIGNAL); /* who does not get it says so */
}

/* ---- in a client ---- */

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

/* A page of another build has another size. */
static struct rig_page *open_page(int page_fd)
{
    struct stat about;
    if (fstat(page_fd, &about) != 0)
        return NULL;
    size_t bytes = (size_t)about.st_size;
    struct rig_page *page = bytes < sizeof *page ? NULL : map(page_fd, bytes);
    if (page != NULL && bytes_of(page) == bytes)
        return page;
    if (page != NULL)
        munmap(page, bytes);
    errno = EINVAL;
    return NULL;
}

struct rig_page *rig_page_get(uint32_t rig)
{
    struct rig_page *page = NULL;
    int fd = rig_door_connect(rig, RIG_DOOR_PAGE);
    if (fd < 0)
        return NULL;
    int page_fd = take(fd);
    if (page_fd >= 0)
        page = open_page(page_fd);
    int error = errno;
    if (page_fd >= 0)
        close(page_fd);
    close(fd);
    errno = error;
    return page;
}
