#define _GNU_SOURCE
#include "bench/agree/page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t bytes_of(uint32_t size, uint32_t log)
{
    return sizeof(struct agree_page) + (size_t)size * sizeof(struct agree_slot) +
           (size_t)size * log * sizeof(uint64_t);
}

static struct agree_page *map(int fd, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

int agree_page_make(uint32_t size, uint32_t log, struct agree_page **page)
{
    int fd = memfd_create("muster-bench-agree", MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    size_t bytes = bytes_of(size, log);
    if (ftruncate(fd, (off_t)bytes) != 0 || (*page = map(fd, bytes)) == NULL) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    (*page)->size = size;
    (*page)->log = log;
    return fd;
}

struct agree_page *agree_page_get(uint32_t bench, uint32_t number)
{
    char path[64];
    struct stat stat;
    struct agree_page *page = NULL;
    snprintf(path, sizeof path, "/proc/%u/fd/%u", bench, number);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &stat) == 0 && (size_t)stat.st_size >= sizeof *page)
        page = map(fd, (size_t)stat.st_size);
    close(fd);
    return page;
}

void agree_page_free(struct agree_page *page)
{
    munmap(page, bytes_of(page->size, page->log));
}

void agree_page_reset(struct agree_page *page)
{
    memset(page->slots, 0, page->size * sizeof page->slots[0]);
    page->ready = 0;
    page->go = page->is_over = false;
}

_Atomic uint64_t *agree_page_log(struct agree_page *page, uint32_t rank)
{
    _Atomic uint64_t *logs = (_Atomic uint64_t *)&page->slots[page->size];
    return logs + (size_t)rank * page->log;
}
