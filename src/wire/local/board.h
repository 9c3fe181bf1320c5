/* The board: events in memory that a daemon shares with the programs of its node.
 *
 * One writer, any number of readers, who can only read: a ring of the last events, each as the
 * packet of docs/local.md, at the place that its serial says.  The writer never waits.  A reader
 * that was too slow finds another serial at the place, before or after it has copied, and knows
 * that its event is gone.  Nothing here enters the kernel. */
#ifndef MU_WIRE_LOCAL_BOARD_H
#define MU_WIRE_LOCAL_BOARD_H

#include "wire/local/local.h"

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>

enum {
    MU_BOARD_WORDS = 30, /* of 8 bytes each, of one event */
    MU_BOARD_CAPACITY_MAX = 1 << 24,
};

#define MU_BOARD_MAGIC UINT64_C(0x315f4452414f424d) /* "MBOARD_1", on this kind of machine */

struct mu_board_place {
    _Atomic uint64_t serial; /* 0: being written, or nothing yet */
    _Atomic uint64_t count;  /* bytes */
    _Atomic uint64_t words[MU_BOARD_WORDS];
};

struct mu_board {
    uint64_t magic;
    uint64_t capacity;                 /* places; a power of two */
    alignas(64) _Atomic uint64_t head; /* serial of the last event; 0: none yet */
    alignas(64) struct mu_board_place places[];
};

/* Programs were compiled with these: another layout needs another magic number. */
static_assert(offsetof(struct mu_board, head) == 64 && offsetof(struct mu_board, places) == 128 &&
                  sizeof(struct mu_board_place) == 256,
              "layout");
static_assert(MU_LOCAL_EVENT_MAX <= MU_BOARD_WORDS * 8, "an event fits its place");
static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a lock would be in the memory that nobody may write");

size_t mu_board_bytes(uint32_t capacity);

/* Writes the head of a board into zeroed memory. */
void mu_board_init(struct mu_board *board, uint32_t capacity);

/* What a reader has of it.  The capacity is looked at once, so that nothing that is written there
 * later leads out of the memory. */
struct mu_board_view {
    const struct mu_board *board;
    uint64_t capacity;
};

/* NULL, or what is wrong with memory that should be a board; then *view is untouched. */
const char *mu_board_look(struct mu_board_view *view, const void *memory, size_t bytes);

/* The next event, of so many bytes: its serial is head + 1. */
void mu_board_put(struct mu_board *board, const uint64_t *words, size_t count);

/* The writer's own look at an event that it has not overwritten. */
const uint8_t *mu_board_bytes_of(const struct mu_board *board, uint64_t serial);

enum mu_board_answer {
    MU_BOARD_NOT_YET,
    MU_BOARD_TAKEN,
    MU_BOARD_GONE, /* overwritten: this reader was too slow */
};

/* Copies one event into 'words', MU_BOARD_WORDS of them.  A count that no event has is passed on,
 * and the words are worth nothing then. */
enum mu_board_answer mu_board_take(const struct mu_board_view *view, uint64_t serial,
                                   uint64_t *words, size_t *count);

/* Serial of the last event; 0: none yet. */
static inline uint64_t mu_board_head(const struct mu_board_view *view)
{
    return atomic_load_explicit(&view->board->head, memory_order_acquire);
}

#endif
