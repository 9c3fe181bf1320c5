/* What will happen, in the order of virtual time; first in, first out at the same instant.
 *
 * A radix heap: time never runs backwards, so items wait in buckets by the highest bit in which
 * their time differs from the present.  All access is sequential: a million nodes need tens of
 * millions of items, and a binary heap would miss the cache on each. */
#ifndef MU_SIM_QUEUE_H
#define MU_SIM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_item {
    uint64_t at_ns;
    uint32_t node;
    uint32_t peer;
    uint32_t ref; /* by 'what': index of a frame, epoch of a connection, number of a fault */
    uint8_t what; /* enum sim_what, in world.h */
    uint8_t timer;
};

struct sim_bucket {
    struct sim_item *items;
    size_t count, capacity;
};

struct sim_queue {
    struct sim_bucket buckets[65];
    size_t next; /* place in bucket 0, whose items all have the present time */
    uint64_t now_ns;
    uint64_t count;
};

void sim_queue_init(struct sim_queue *queue);
void sim_queue_free(struct sim_queue *queue);

/* item->at_ns is not before the time of the item taken last. */
void sim_queue_push(struct sim_queue *queue, const struct sim_item *item);

/* False when the queue is empty. */
bool sim_queue_pop(struct sim_queue *queue, struct sim_item *item);

/* The item that comes 'ahead' pops later, if it is of the same instant; else NULL. */
const struct sim_item *sim_queue_peek(const struct sim_queue *queue, size_t ahead);

#endif
