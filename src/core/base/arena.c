#include "core/base/arena.h"

#include <assert.h>
#include <string.h>

enum { WORD = 8, LINE = 64 };

void mu_arena_init(struct mu_arena *arena, void *base, size_t size)
{
    assert(((uintptr_t)base % LINE) == 0);
    arena->base = base;
    arena->size = size;
    arena->used = 0;
}

static void *take(struct mu_arena *arena, size_t count, size_t item_size, size_t align)
{
    assert(item_size > 0 && count <= SIZE_MAX / 2 / item_size);
    size_t at = (arena->used + align - 1) / align * align;
    size_t bytes = count * item_size;
    arena->used = at + bytes;
    if (arena->base == NULL)
        return NULL;
    assert(arena->used <= arena->size);
    memset(arena->base + at, 0, bytes);
    return arena->base + at;
}

void *mu_arena_array(struct mu_arena *arena, size_t count, size_t item_size)
{
    return take(arena, count, item_size, WORD);
}

void *mu_arena_array_line(struct mu_arena *arena, size_t count, size_t item_size)
{
    return take(arena, count, item_size, LINE);
}
