/* What will happen, in the order of virtual time; first in, first out at the same instant.
 *
 * A wheel of wheels: time never runs backwards, so an item waits in a bucket by the highest byte in
 * which its time differs from the present, and by the value of that byte.  When the present comes
 * to a bucket of one instant its items are taken from there; others move to lower wheels.  All
 * access is sequential: a million nodes need tens of millions of items, and a heap would miss the
 * cache on each. */
#ifndef MU_SIM_BASE_QUEUE_H
#define MU_SIM_BASE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_item {
    uint64_t at_ns;
    uint32_t node;
    uint32_t peer;
    uint32_t ref;   /* by 'what': index of a frame, epoch of a connection, number of a fault */
    uint8_t what;   /* enum sim_what, in world.h */
    uint8_t detail; /* of a timer: which; of a frame: its type */
};

enum { SIM_WHEELS = 8, SIM_BUCKETS = 256, SIM_CHUNK = 170 };

/* Items are kept in chunks that all buckets share, so that memory follows what waits now. */
struct sim_chunk {
    struct sim_chunk *next;
    uint32_t count;
    struct sim_item items[SIM_CHUNK];
};

struct sim_bucket {
    struct sim_chunk *first, *last; /* NULL: empty */
    uint64_t at_ns;                 /* of the first item */
    bool mixed;                     /* there are items of another instant */
};

struct sim_queue {
    struct sim_bucket buckets[SIM_WHEELS][SIM_BUCKETS];
    uint64_t in_use[SIM_WHEELS][SIM_BUCKETS / 64]; /* a bit for each bucket with items */
    struct sim_chunk *present;                     /* the items of this instant */
    uint32_t next;                                 /* place in the first of these chunks */
    struct sim_chunk *unused;
    uint64_t now_ns;
    uint64_t count;
};

void sim_queue_init(struct sim_queue *queue);
void sim_queue_free(struct sim_queue *queue);

/* item->at_ns is not before the time of the item taken last. */
void sim_queue_push(struct sim_queue *queue, const struct sim_item *item);

/* False when the queue is empty. */
bool sim_queue_pop(struct sim_queue *queue, struct sim_item *item);

/* An item that comes 'ahead' pops later (below SIM_CHUNK), if it is of the same instant; else NULL.
 */
const struct sim_item *sim_queue_peek(const struct sim_queue *queue, uint32_t ahead);

#endif
