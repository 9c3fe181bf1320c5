#define _DEFAULT_SOURCE
#include "host/memory.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

void mu_memory_populate(void *memory, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = (uintptr_t)memory / page * page;
    madvise((void *)from, (uintptr_t)memory + bytes - from, MADV_POPULATE_WRITE);
}
