#include "sim/base/queue.h"

#include "sim/base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = SIM_BUCKETS / 64 };

void sim_queue_init(struct sim_queue *queue)
{
    memset(queue, 0, sizeof *queue);
}

static void free_chunks(struct sim_chunk *chunk)
{
    while (chunk != NULL) {
        struct sim_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
}

void sim_queue_free(struct sim_queue *queue)
{
    for (int wheel = 0; wheel < SIM_WHEELS; wheel++)
        for (int digit = 0; digit < SIM_BUCKETS; digit++)
            free_chunks(queue->buckets[wheel][digit].first);
    free_chunks(queue->present);
    free_chunks(queue->unused);
    memset(queue, 0, sizeof *queue);
}

static void add_chunk(struct sim_queue *queue, struct sim_bucket *bucket)
{
    struct sim_chunk *chunk = queue->unused;
    if (chunk != NULL)
        queue->unused = chunk->next;
    else
        chunk = sim_realloc(NULL, sizeof *chunk);
    chunk->next = NULL;
    chunk->count = 0;
    if (bucket->first == NULL)
        bucket->first = chunk;
    else
        bucket->last->next = chunk;
    bucket->last = chunk;
}

/* Gives the first of a list of chunks back; returns the rest. */
static struct sim_chunk *drop_chunk(struct sim_queue *queue, struct sim_chunk *chunk)
{
    struct sim_chunk *rest = chunk->next;
    chunk->next = queue->unused;
    queue->unused = chunk;
    return rest;
}

static void place(struct sim_queue *queue, const struct sim_item *item)
{
    uint64_t differs = item->at_ns ^ queue->now_ns;
    unsigned wheel = differs == 0 ? 0 : (63 - (unsigned)__builtin_clzll(differs)) / 8;
    unsigned digit = (unsigned)(item->at_ns >> (8 * wheel)) % SIM_BUCKETS;
    struct sim_bucket *bucket = &queue->buckets[wheel][digit];
    if (bucket->first == NULL) {
        bucket->at_ns = item->at_ns;
        bucket->mixed = false;
    }
    bucket->mixed |= item->at_ns != bucket->at_ns;
    if (bucket->first == NULL || bucket->last->count == SIM_CHUNK)
        add_chunk(queue, bucket);
    bucket->last->items[bucket->last->count++] = *item;
    queue->in_use[wheel][digit / 64] |= 1ull << digit % 64;
}

void sim_queue_push(struct sim_queue *queue, const struct sim_item *item)
{
    assert(item->at_ns >= queue->now_ns);
    place(queue, item);
    queue->count++;
}

/* The first bucket of a wheel that has items; those before the present are empty. */
static bool first_in_use(const struct sim_queue *queue, unsigned wheel, unsigned *digit)
{
    for (unsigned word = 0; word < WORDS; word++) {
        if (queue->in_use[wheel][word] == 0)
            continue;
        *digit = 64 * word + (unsigned)__builtin_ctzll(queue->in_use[wheel][word]);
        return true;
    }
    return false;
}

/* The present instant is used up: move on to the next one.  Items of one instant always wait in one
 * bucket and move in their order, so they stay first in, first out. */
static void advance(struct sim_queue *queue)
{
    for (;;) {
        unsigned wheel = 0, digit;
        while (!first_in_use(queue, wheel, &digit))
            wheel++;
        struct sim_bucket *bucket = &queue->buckets[wheel][digit];
        struct sim_chunk *chunk = bucket->first;
        bucket->first = NULL;
        queue->in_use[wheel][digit / 64] &= ~(1ull << digit % 64);
        if (!bucket->mixed) {
            queue->now_ns = bucket->at_ns;
            queue->present = chunk;
            return;
        }
        /* The time at which this bucket begins: its digit, and nothing below. */
        unsigned shift = 8 * wheel;
        queue->now_ns = ((queue->now_ns >> shift & ~0xffull) + digit) << shift;
        for (; chunk != NULL; chunk = drop_chunk(queue, chunk))
            for (uint32_t i = 0; i < chunk->count; i++)
                place(queue, &chunk->items[i]);
    }
}

bool sim_queue_pop(struct sim_queue *queue, struct sim_item *item)
{
    if (queue->count == 0)
        return false;
    if (queue->present == NULL)
        advance(queue);
    *item = queue->present->items[queue->next++];
    queue->count--;
    if (queue->next == queue->present->count) {
        queue->present = drop_chunk(queue, queue->present);
        queue->next = 0;
    }
    return true;
}

const struct sim_item *sim_queue_peek(const struct sim_queue *queue, uint32_t ahead)
{
    const struct sim_chunk *chunk = queue->present;
    if (chunk == NULL)
        return NULL;
    uint32_t at = queue->next + ahead;
    if (at < chunk->count)
        return &chunk->items[at];
    at -= chunk->count;
    return chunk->next != NULL && at < chunk->next->count ? &chunk->next->items[at] : NULL;
}
