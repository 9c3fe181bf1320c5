#define _GNU_SOURCE /* memfd_create() */
#include "chaos/random/page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t row(uint32_t nodes)
{
    return 2 * (size_t)nodes + 1;
}

static size_t bytes_of(uint32_t nodes)
{
    return sizeof(struct chaos_page) + nodes * row(nodes);
}

static struct chaos_page *map(int fd, size_t bytes)
{
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return page == MAP_FAILED ? NULL : page;
}

struct chaos_page *chaos_page_make(uint32_t nodes, int *fd)
{
    *fd = memfd_create("muster-chaos", MFD_CLOEXEC);
    if (*fd < 0)
        return NULL;
    struct chaos_page *page =
        ftruncate(*fd, (off_t)bytes_of(nodes)) == 0 ? map(*fd, bytes_of(nodes)) : NULL;
    if (page == NULL) {
        int error = errno;
        close(*fd);
        errno = error;
        return NULL;
    }
    page->nodes = nodes;
    return page;
}

void chaos_page_free(struct chaos_page *page)
{
    munmap(page, bytes_of(page->nodes));
}

void chaos_page_reset(struct chaos_page *page)
{
    page->ready = 0;
    for (size_t i = 0; i < page->nodes * row(page->nodes); i++)
        page->told[i] = 0;
}

const char *chaos_page_path(int fd, char path[CHAOS_PATH_MAX])
{
    snprintf(path, CHAOS_PATH_MAX, "/proc/%d/fd/%d", (int)getpid(), fd);
    return path;
}

struct chaos_page *chaos_page_open(const char *path)
{
    struct stat about;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct chaos_page *page = NULL;
    if (fstat(fd, &about) == 0 && (size_t)about.st_size >= sizeof *page)
        page = map(fd, (size_t)about.st_size);
    else
        errno = EINVAL;
    int error = errno;
    close(fd);
    if (page != NULL && bytes_of(page->nodes) > (size_t)about.st_size) {
        munmap(page, (size_t)about.st_size);
        page = NULL;
        error = EINVAL;
    }
    errno = error;
    return page;
}

_Atomic uint8_t *chaos_page_node(struct chaos_page *page, uint32_t reader, uint32_t node)
{
    return &page->told[reader * row(page->nodes) + node];
}

_Atomic uint8_t *chaos_page_process(struct chaos_page *page, uint32_t reader, uint32_t rank)
{
    return &page->told[reader * row(page->nodes) + page->nodes + rank];
}

_Atomic uint8_t *chaos_page_wrong(struct chaos_page *page, uint32_t reader)
{
    return &page->told[reader * row(page->nodes) + 2 * (size_t)page->nodes];
}
