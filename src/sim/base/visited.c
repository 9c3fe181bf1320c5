#include "sim/base/visited.h"

#include "sim/base/memory.h"

#include <string.h>

enum { DEPTH_BITS = 16, FIRST_CAPACITY = 1 << 16 };

#define DEPTH_MASK ((1ull << DEPTH_BITS) - 1)

void visited_init(struct visited *visited, uint64_t memory_bytes)
{
    *visited = (struct visited){.capacity = FIRST_CAPACITY, .memory_bytes = memory_bytes};
    visited->entries = sim_map(visited->capacity * sizeof *visited->entries);
}

void visited_free(struct visited *visited)
{
    sim_unmap(visited->entries, visited->capacity * sizeof *visited->entries);
    memset(visited, 0, sizeof *visited);
}

/* The entry of this state, or the free one where it belongs. */
static struct visited_entry *place_of(const struct visited *visited, uint64_t a, uint64_t b)
{
    uint64_t at = a & (visited->capacity - 1);
    for (;; at = (at + 1) & (visited->capacity - 1)) {
        struct visited_entry *entry = &visited->entries[at];
        if (entry->b == 0 || (entry->a == a && (entry->b & ~DEPTH_MASK) == (b & ~DEPTH_MASK)))
            return entry;
    }
}

/* Twice the room; false when memory does not allow it. */
static bool grow(struct visited *visited)
{
    struct visited old = *visited;
    /* While it grows both tables are there. */
    if (3 * old.capacity * sizeof *old.entries > visited->memory_bytes)
        return false;
    visited->capacity = 2 * old.capacity;
    visited->entries = sim_map(visited->capacity * sizeof *visited->entries);
    for (uint64_t i = 0; i < old.capacity; i++)
        if (old.entries[i].b != 0)
            *place_of(visited, old.entries[i].a, old.entries[i].b) = old.entries[i];
    sim_unmap(old.entries, old.capacity * sizeof *old.entries);
    return true;
}

enum visited_answer visited_add(struct visited *visited, const struct mu_fingerprint *print,
                                uint64_t depth, bool shorter)
{
    uint64_t stored = depth + 1 > DEPTH_MASK ? DEPTH_MASK : depth + 1;
    uint64_t b = (print->b & ~DEPTH_MASK) | stored;
    struct visited_entry *entry = place_of(visited, print->a, b);
    if (entry->b != 0) {
        if (!shorter || (entry->b & DEPTH_MASK) <= stored)
            return VISITED_SEEN;
        entry->b = b;
        return VISITED_NEW;
    }
    if (visited->count + 1 > visited->capacity / 10 * 9) {
        if (!grow(visited))
            return VISITED_FULL;
        entry = place_of(visited, print->a, b);
    }
    *entry = (struct visited_entry){.a = print->a, .b = b};
    visited->count++;
    return VISITED_NEW;
}
