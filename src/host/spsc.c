#include "host/spsc.h"

#include <assert.h>
#include <string.h>

void mu_spsc_init(struct mu_spsc *queue, void *items, uint32_t capacity, uint32_t item_bytes)
{
    assert(capacity >= 1 && capacity <= MU_SPSC_CAPACITY_MAX && (capacity & (capacity - 1)) == 0);
    queue->items = items;
    queue->capacity = capacity;
    queue->item_bytes = item_bytes;
    atomic_init(&queue->put, 0);
    atomic_init(&queue->taken, 0);
}

static uint8_t *place(struct mu_spsc *queue, uint32_t count)
{
    return queue->items + (size_t)(count & (queue->capacity - 1)) * queue->item_bytes;
}

/* In both, the count of the other side is acquired: its copy of that place is over. */

bool mu_spsc_put(struct mu_spsc *queue, const void *item)
{
    uint32_t put = atomic_load_explicit(&queue->put, memory_order_relaxed);
    uint32_t taken = atomic_load_explicit(&queue->taken, memory_order_acquire);
    if (put - taken == queue->capacity)
        return false;
    memcpy(place(queue, put), item, queue->item_bytes);
    atomic_store(&queue->put, put + 1);
    return true;
}

bool mu_spsc_is_empty(const struct mu_spsc *queue)
{
    uint32_t taken = atomic_load_explicit(&queue->taken, memory_order_relaxed);
    return atomic_load(&queue->put) == taken;
}

bool mu_spsc_take(struct mu_spsc *queue, void *item)
{
    uint32_t taken = atomic_load_explicit(&queue->taken, memory_order_relaxed);
    if (mu_spsc_is_empty(queue))
        return false;
    memcpy(item, place(queue, taken), queue->item_bytes);
    atomic_store_explicit(&queue->taken, taken + 1, memory_order_release);
    return true;
}
