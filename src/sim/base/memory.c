#define _GNU_SOURCE
#include "sim/base/memory.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { PARTS = 4, PAGE_HUGE = 2 << 20, TOUCH_FROM_BYTES = 256 << 20 };

static void *or_die(void *memory, size_t bytes)
{
    if (memory == NULL) {
        fprintf(stderr, "muster sim: no memory for %zu bytes more\n", bytes);
        exit(3);
    }
    return memory;
}

void *sim_realloc(void *old, size_t bytes)
{
    return or_die(realloc(old, bytes), bytes);
}

void *sim_calloc(size_t count, size_t item_size)
{
    return or_die(calloc(count == 0 ? 1 : count, item_size), count * item_size);
}

struct share {
    uint8_t *from;
    size_t bytes;
};

static void *touch(void *argument)
{
    struct share share = *(struct share *)argument;
    free(argument);
    /* Only sooner: what fails here is touched when it is used. */
    (void)madvise(share.from, share.bytes, MADV_POPULATE_WRITE);
    return NULL;
}

/* On a virtual machine the first touch of a page can cost more than all later ones together.  While
 * the caller begins with the first part, other threads touch the rest.  Nobody waits for them. */
static void touch_rest(uint8_t *memory, size_t bytes)
{
    size_t each = bytes / PARTS / PAGE_HUGE * PAGE_HUGE;
    for (size_t i = 1; i < PARTS; i++) {
        struct share *share = sim_calloc(1, sizeof *share);
        share->from = memory + i * each;
        share->bytes = i + 1 < PARTS ? each : bytes - i * each;
        pthread_t thread;
        if (pthread_create(&thread, NULL, touch, share) == 0)
            pthread_detach(thread);
        else
            free(share);
    }
}

void *sim_map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return or_die(NULL, bytes);
    (void)madvise(memory, bytes, MADV_HUGEPAGE); /* only faster; works without */
    if (bytes >= TOUCH_FROM_BYTES)
        touch_rest(memory, bytes);
    return memory;
}

void sim_unmap(void *memory, size_t bytes)
{
    if (memory != NULL)
        (void)munmap(memory, bytes);
}

double sim_peak_rss_mib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024.0;
}
