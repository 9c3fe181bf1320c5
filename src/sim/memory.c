#define _GNU_SOURCE
#include "sim/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

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

void *sim_map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return or_die(NULL, bytes);
    (void)madvise(memory, bytes, MADV_HUGEPAGE); /* only faster; works without */
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
