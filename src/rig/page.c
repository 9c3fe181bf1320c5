#define _GNU_SOURCE
#include "rig/page.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

uint64_t bench_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static size_t bytes_of(uint32_t size)
{
    return sizeof(struct bench_page) + (size_t)size * sizeof(struct bench_slot);
}

static struct bench_page *map(int fd, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

int bench_page_make(uint32_t size, struct bench_page **page)
{
    int fd = memfd_create("muster-bench", MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    if (ftruncate(fd, (off_t)bytes_of(size)) != 0 || (*page = map(fd, bytes_of(size))) == NULL) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    (*page)->size = size;
    return fd;
}

struct bench_page *bench_page_open(int fd)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0)
        return NULL;
    if ((size_t)stat.st_size < sizeof(struct bench_page)) {
        errno = EINVAL;
        return NULL;
    }
    struct bench_page *page = map(fd, (size_t)stat.st_size);
    if (page != NULL && bytes_of(page->size) != (size_t)stat.st_size) {
        munmap(page, (size_t)stat.st_size);
        errno = EINVAL;
        return NULL;
    }
    return page;
}

void bench_page_free(struct bench_page *page)
{
    munmap(page, bytes_of(page->size));
}

void bench_page_reset(struct bench_page *page, uint32_t victim, const enum bench_kind *order,
                      uint32_t order_count)
{
    assert(order_count <= BENCH_KINDS);
    memset(page->slots, 0, page->size * sizeof page->slots[0]);
    page->victim = victim;
    page->order_count = order_count;
    memcpy(page->order, order, order_count * sizeof *order);
    page->ready = page->warm = 0;
    for (int kind = 0; kind < BENCH_KINDS; kind++)
        page->read[kind] = 0;
}
