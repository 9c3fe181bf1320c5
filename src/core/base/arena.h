/* Memory that is sized once, at start.  All of a node's state lives in one arena, so that a driver
 * can save, restore and move on without knowing what is inside. */
#ifndef MU_CORE_BASE_ARENA_H
#define MU_CORE_BASE_ARENA_H

#include "core/base/types.h"

struct mu_arena {
    uint8_t *base; /* NULL: only measure how much would be needed */
    size_t size;
    size_t used;
};

/* An arena over memory of the caller's, at least 64-byte aligned.  With base NULL nothing is
 * handed out, but arena.used says afterwards how many bytes a real one needs. */
void mu_arena_init(struct mu_arena *arena, void *base, size_t size);

/* A zeroed array of 'count' items, aligned to 8 bytes; NULL in a measuring arena.  A real arena
 * that is too small is a bug of the caller (it measured with another configuration): assert. */
void *mu_arena_array(struct mu_arena *arena, size_t count, size_t item_size);

/* The same, beginning on a cache line. */
void *mu_arena_array_line(struct mu_arena *arena, size_t count, size_t item_size);

#endif
