/* A bounded queue between two threads: one puts, one takes, and neither ever waits.
 *
 * Items have a fixed size and are copied.  What was written before a put is seen after the take.
 * Whoever wants to sleep until there is something needs a descriptor beside it. */
#ifndef MU_HOST_SPSC_H
#define MU_HOST_SPSC_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MU_SPSC_CAPACITY_MAX = 1 << 24 };

/* Both counts only grow, and wrap around.  Each is written by one side only, and has a cache line
 * of its own. */
struct mu_spsc {
    uint8_t *items; /* of the caller */
    uint32_t capacity;
    uint32_t item_bytes;
    alignas(64) _Atomic uint32_t put;
    alignas(64) _Atomic uint32_t taken;
};

/* 'items' has room for 'capacity' items, which is a power of two up to MU_SPSC_CAPACITY_MAX. */
void mu_spsc_init(struct mu_spsc *queue, void *items, uint32_t capacity, uint32_t item_bytes);

/* By the one side only.  False: it is full, and nothing was put. */
bool mu_spsc_put(struct mu_spsc *queue, const void *item);

/* By the other side only.  False: it is empty, and *item is untouched. */
bool mu_spsc_take(struct mu_spsc *queue, void *item);

/* By the other side only: would it take nothing?  Whoever writes an atomic word and then finds the
 * queue empty, and whoever puts something and then reads that word: one of them sees the other. */
bool mu_spsc_is_empty(const struct mu_spsc *queue);

#endif
