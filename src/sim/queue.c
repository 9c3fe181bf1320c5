#include "sim/queue.h"

#include "sim/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void sim_queue_init(struct sim_queue *queue)
{
    memset(queue, 0, sizeof *queue);
}

void sim_queue_free(struct sim_queue *queue)
{
    for (int i = 0; i < 65; i++)
        free(queue->buckets[i].items);
    memset(queue, 0, sizeof *queue);
}

static void bucket_add(struct sim_bucket *bucket, const struct sim_item *item)
{
    if (bucket->count == bucket->capacity) {
        bucket->capacity = bucket->capacity == 0 ? 64 : 2 * bucket->capacity;
        bucket->items = sim_realloc(bucket->items, bucket->capacity * sizeof *item);
    }
    bucket->items[bucket->count++] = *item;
}

static unsigned bucket_of(const struct sim_queue *queue, uint64_t at_ns)
{
    return at_ns == queue->now_ns ? 0 : 64 - (unsigned)__builtin_clzll(at_ns ^ queue->now_ns);
}

void sim_queue_push(struct sim_queue *queue, const struct sim_item *item)
{
    assert(item->at_ns >= queue->now_ns);
    bucket_add(&queue->buckets[bucket_of(queue, item->at_ns)], item);
    queue->count++;
}

/* Bucket 0 is used up: move on to the next instant.  Items of one instant always wait in one bucket
 * and move in their order, so they stay first in, first out. */
static void advance(struct sim_queue *queue)
{
    queue->buckets[0].count = 0;
    queue->next = 0;
    unsigned from = 1;
    while (queue->buckets[from].count == 0)
        from++;
    struct sim_bucket *bucket = &queue->buckets[from];
    uint64_t earliest_ns = bucket->items[0].at_ns;
    for (size_t i = 1; i < bucket->count; i++)
        if (bucket->items[i].at_ns < earliest_ns)
            earliest_ns = bucket->items[i].at_ns;
    queue->now_ns = earliest_ns;
    for (size_t i = 0; i < bucket->count; i++)
        bucket_add(&queue->buckets[bucket_of(queue, bucket->items[i].at_ns)], &bucket->items[i]);
    bucket->count = 0;
}

bool sim_queue_pop(struct sim_queue *queue, struct sim_item *item)
{
    if (queue->count == 0)
        return false;
    if (queue->next == queue->buckets[0].count)
        advance(queue);
    *item = queue->buckets[0].items[queue->next++];
    queue->count--;
    return true;
}

const struct sim_item *sim_queue_peek(const struct sim_queue *queue, size_t ahead)
{
    size_t place = queue->next + ahead;
    return place < queue->buckets[0].count ? &queue->buckets[0].items[place] : NULL;
}
