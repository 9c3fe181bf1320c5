#include "wire/local/board.h"

size_t mu_board_bytes(uint32_t capacity)
{
    return sizeof(struct mu_board) + (size_t)capacity * sizeof(struct mu_board_place);
}

void mu_board_init(struct mu_board *board, uint32_t capacity)
{
    assert(capacity > 0 && (capacity & (capacity - 1)) == 0 && capacity <= MU_BOARD_CAPACITY_MAX);
    board->magic = MU_BOARD_MAGIC;
    board->capacity = capacity;
}

const char *mu_board_look(struct mu_board_view *view, const void *memory, size_t bytes)
{
    const struct mu_board *board = memory;
    if (bytes < sizeof *board || board->magic != MU_BOARD_MAGIC)
        return "it does not begin as a board does";
    uint64_t capacity = *(const volatile uint64_t *)&board->capacity; /* once */
    if (capacity == 0 || (capacity & (capacity - 1)) != 0 || capacity > MU_BOARD_CAPACITY_MAX)
        return "its capacity is no power of two up to 2^24";
    if (bytes < mu_board_bytes((uint32_t)capacity))
        return "it is shorter than its capacity says";
    *view = (struct mu_board_view){.board = board, .capacity = capacity};
    return NULL;
}

static uint64_t place_of(uint64_t capacity, uint64_t serial)
{
    return serial & (capacity - 1);
}

/* Each word is released, so that who sees one of the new words does not see the old serial. */
void mu_board_put(struct mu_board *board, const uint64_t *words, size_t count)
{
    assert(count <= MU_BOARD_WORDS * 8);
    uint64_t serial = atomic_load_explicit(&board->head, memory_order_relaxed) + 1;
    struct mu_board_place *place = &board->places[place_of(board->capacity, serial)];
    atomic_store_explicit(&place->serial, 0, memory_order_relaxed);
    atomic_store_explicit(&place->count, count, memory_order_release);
    for (size_t i = 0; i * 8 < count; i++)
        atomic_store_explicit(&place->words[i], words[i], memory_order_release);
    atomic_store_explicit(&place->serial, serial, memory_order_release);
    atomic_store_explicit(&board->head, serial, memory_order_release);
}

const uint8_t *mu_board_bytes_of(const struct mu_board *board, uint64_t serial)
{
    return (const uint8_t *)board->places[place_of(board->capacity, serial)].words;
}

/* Each word is acquired, so that the second look at the serial comes after all of them. */
enum mu_board_answer mu_board_take(const struct mu_board_view *view, uint64_t serial,
                                   uint64_t *words, size_t *count)
{
    if (mu_board_head(view) < serial)
        return MU_BOARD_NOT_YET;
    const struct mu_board_place *place = &view->board->places[place_of(view->capacity, serial)];
    if (atomic_load_explicit(&place->serial, memory_order_acquire) != serial)
        return MU_BOARD_GONE;
    uint64_t bytes = atomic_load_explicit(&place->count, memory_order_acquire);
    for (size_t i = 0; i < MU_BOARD_WORDS && i * 8 < bytes; i++)
        words[i] = atomic_load_explicit(&place->words[i], memory_order_acquire);
    if (atomic_load_explicit(&place->serial, memory_order_relaxed) != serial)
        return MU_BOARD_GONE;
    *count = (size_t)bytes;
    return MU_BOARD_TAKEN;
}
