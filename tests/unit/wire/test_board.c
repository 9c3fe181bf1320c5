/* The board: one that writes and many that read, at any speed, without a lock. */
#include "wire/local/board.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

static struct mu_board *make_board(uint32_t capacity)
{
    struct mu_board *board = aligned_alloc(64, (mu_board_bytes(capacity) + 63) / 64 * 64);
    assert_non_null(board);
    memset((void *)board, 0, mu_board_bytes(capacity));
    mu_board_init(board, capacity);
    return board;
}

static struct mu_board_view look_at(const struct mu_board *board, uint32_t capacity)
{
    struct mu_board_view view;
    assert_null(mu_board_look(&view, board, mu_board_bytes(capacity)));
    return view;
}

/* What event 'serial' says: every word is another's, and there are more or fewer of them. */
static size_t words_of(uint64_t serial, uint64_t *words)
{
    size_t count = 1 + serial * 37 % (MU_BOARD_WORDS * 8);
    for (size_t i = 0; i * 8 < count; i++)
        words[i] = serial * 0x9e3779b97f4a7c15u + i;
    return count;
}

static void put(struct mu_board *board, uint64_t serial)
{
    uint64_t words[MU_BOARD_WORDS];
    size_t count = words_of(serial, words);
    mu_board_put(board, words, count);
}

/* Not cmocka's: this also runs on threads. */
static bool is_whole(uint64_t serial, const uint64_t *words, size_t count)
{
    uint64_t expected[MU_BOARD_WORDS];
    return count == words_of(serial, expected) && memcmp(words, expected, (count + 7) / 8 * 8) == 0;
}

/* ---- one thread ---- */

/* docs/local.md, byte by byte. */
static void the_bytes_are_those_of_the_page(void **state)
{
    (void)state;
    struct mu_board *board = make_board(2);
    const uint8_t *bytes = (const uint8_t *)board;
    const uint64_t event[] = {0x1111111111111111u, 0x2222222222222222u};
    mu_board_put(board, event, 9);
    assert_int_equal(mu_board_bytes(2), 128 + 2 * 256);
    assert_memory_equal(bytes, "MBOARD_1", 8);
    uint64_t number;
    memcpy(&number, bytes + 8, 8);
    assert_true(number == 2); /* places */
    memcpy(&number, bytes + 64, 8);
    assert_true(number == 1); /* the last event */
    memcpy(&number, bytes + 128 + 256, 8);
    assert_true(number == 1); /* stands at the second place */
    memcpy(&number, bytes + 128 + 256 + 8, 8);
    assert_true(number == 9);
    assert_memory_equal(bytes + 128 + 256 + 16, event, 16);
    assert_ptr_equal(mu_board_bytes_of(board, 1), bytes + 128 + 256 + 16);
    free(board);
}

static void what_is_put_is_read_by_its_serial(void **state)
{
    (void)state;
    struct mu_board *board = make_board(4);
    struct mu_board_view view = look_at(board, 4);
    uint64_t words[MU_BOARD_WORDS];
    size_t count;
    assert_true(mu_board_head(&view) == 0);
    assert_int_equal(mu_board_take(&view, 1, words, &count), MU_BOARD_NOT_YET);
    for (uint64_t serial = 1; serial <= 1000; serial++) {
        put(board, serial);
        assert_true(mu_board_head(&view) == serial);
        for (uint64_t back = 0; back < 8 && back < serial; back++) {
            enum mu_board_answer answer = mu_board_take(&view, serial - back, words, &count);
            assert_int_equal(answer, back < 4 ? MU_BOARD_TAKEN : MU_BOARD_GONE);
            if (answer == MU_BOARD_TAKEN)
                assert_true(is_whole(serial - back, words, count));
        }
        assert_int_equal(mu_board_take(&view, serial + 1, words, &count), MU_BOARD_NOT_YET);
        assert_int_equal(mu_board_take(&view, serial + 4, words, &count), MU_BOARD_NOT_YET);
        assert_int_equal(mu_board_take(&view, UINT64_MAX, words, &count), MU_BOARD_NOT_YET);
    }
    free(board);
}

static void a_board_of_one_place(void **state)
{
    (void)state;
    struct mu_board *board = make_board(1);
    struct mu_board_view view = look_at(board, 1);
    uint64_t words[MU_BOARD_WORDS];
    size_t count;
    for (uint64_t serial = 1; serial <= 3; serial++) {
        put(board, serial);
        assert_int_equal(mu_board_take(&view, serial, words, &count), MU_BOARD_TAKEN);
        assert_true(is_whole(serial, words, count));
    }
    assert_int_equal(mu_board_take(&view, 2, words, &count), MU_BOARD_GONE);
    free(board);
}

/* Whoever is in the middle of writing: the old event is gone, the new one is not there yet. */
static void a_place_that_is_being_written_has_nothing(void **state)
{
    (void)state;
    struct mu_board *board = make_board(2);
    struct mu_board_view view = look_at(board, 2);
    uint64_t words[MU_BOARD_WORDS];
    size_t count;
    put(board, 1);
    put(board, 2);
    board->places[1].serial = 0; /* of event 3, as far as it has come when its writer dies */
    assert_int_equal(mu_board_take(&view, 1, words, &count), MU_BOARD_GONE);
    assert_int_equal(mu_board_take(&view, 2, words, &count), MU_BOARD_TAKEN);
    assert_int_equal(mu_board_take(&view, 3, words, &count), MU_BOARD_NOT_YET);
    free(board);
}

/* ---- boards that are none ---- */

static void expect_refused(const void *memory, size_t bytes, const char *words)
{
    struct mu_board_view view = {.capacity = 77};
    const char *why = mu_board_look(&view, memory, bytes);
    assert_non_null(why);
    if (strstr(why, words) == NULL)
        fail_msg("'%s' does not say '%s'", why, words);
    assert_true(view.capacity == 77);
}

static void what_is_no_board_is_refused(void **state)
{
    (void)state;
    struct mu_board *board = make_board(4);
    size_t bytes = mu_board_bytes(4);
    for (size_t less = 0; less < sizeof *board; less++)
        expect_refused(board, less, "does not begin");
    for (size_t less = sizeof *board; less < bytes; less++)
        expect_refused(board, less, "shorter");
    struct mu_board_view view;
    assert_null(mu_board_look(&view, board, bytes + 4096)); /* pages are whole */
    static const uint64_t wrong[] = {0, 3, 5, UINT64_C(1) << 25, UINT64_C(1) << 32, UINT64_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        board->capacity = wrong[i];
        expect_refused(board, SIZE_MAX, "power of two");
    }
    board->capacity = 8;
    expect_refused(board, bytes, "shorter");
    board->capacity = 4;
    board->magic++;
    expect_refused(board, bytes, "does not begin");
    free(board);
}

/* A writer gone mad does not lead a reader out of the memory: sanitizers would see it. */
static void what_is_written_later_leads_nowhere(void **state)
{
    (void)state;
    struct mu_board *board = make_board(4);
    struct mu_board_view view = look_at(board, 4);
    uint64_t words[MU_BOARD_WORDS];
    size_t count;
    for (uint64_t serial = 1; serial <= 4; serial++)
        put(board, serial);
    board->capacity = UINT64_C(1) << 24;
    board->head = UINT64_MAX - 1;
    assert_int_equal(mu_board_take(&view, 3, words, &count), MU_BOARD_TAKEN);
    assert_true(is_whole(3, words, count));
    assert_int_equal(mu_board_take(&view, 1000003, words, &count), MU_BOARD_GONE);
    static const uint64_t counts[] = {MU_BOARD_WORDS * 8 + 1, 100000, UINT64_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        board->places[3].count = counts[i];
        assert_int_equal(mu_board_take(&view, 3, words, &count), MU_BOARD_TAKEN);
        assert_true(count > MU_LOCAL_EVENT_MAX); /* so no decoder takes it */
    }
    free(board);
}

/* ---- at full speed ---- */

enum {
    READERS = 3,
    PLACES = 2,
#ifdef __SANITIZE_THREAD__
    EVENTS = 300000, /* it is looked at each access, so there need not be many */
#else
    EVENTS = 10000000,
#endif
};

struct reader {
    pthread_t thread;
    const struct mu_board *board;
    bool at_the_edge; /* reads what is overwritten next; else it follows as a program does */
    uint64_t taken, gone, torn;
};

static void *read_all(void *argument)
{
    struct reader *reader = argument;
    struct mu_board_view view = {.board = reader->board, .capacity = PLACES};
    uint64_t words[MU_BOARD_WORDS], next = 1;
    size_t count;
    while (next <= EVENTS) {
        uint64_t head = mu_board_head(&view);
        if (reader->at_the_edge && head >= PLACES && next + PLACES <= head)
            next = head - PLACES + 1;
        switch (mu_board_take(&view, next, words, &count)) {
        case MU_BOARD_NOT_YET:
            sched_yield();
            continue;
        case MU_BOARD_GONE:
            reader->gone++;
            next = reader->at_the_edge ? next + 1 : mu_board_head(&view);
            continue;
        case MU_BOARD_TAKEN:
            reader->torn += is_whole(next, words, count) ? 0 : 1;
            reader->taken++;
            next++;
        }
    }
    return NULL;
}

static void no_event_is_read_torn(void **state)
{
    (void)state;
    struct mu_board *board = make_board(PLACES);
    struct reader readers[READERS];
    for (int i = 0; i < READERS; i++) {
        readers[i] = (struct reader){.board = board, .at_the_edge = i % 2 == 0};
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_all, &readers[i]), 0);
    }
    for (uint64_t serial = 1; serial <= EVENTS; serial++)
        put(board, serial);
    uint64_t gone = 0;
    for (int i = 0; i < READERS; i++) {
        assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
        assert_int_equal(readers[i].torn, 0);
        assert_true(readers[i].taken > 0);
        gone += readers[i].gone;
    }
    assert_true(gone > 0); /* else nobody was overtaken, and nothing was tested */
    free(board);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_those_of_the_page),
        cmocka_unit_test(what_is_put_is_read_by_its_serial),
        cmocka_unit_test(a_board_of_one_place),
        cmocka_unit_test(a_place_that_is_being_written_has_nothing),
        cmocka_unit_test(what_is_no_board_is_refused),
        cmocka_unit_test(what_is_written_later_leads_nowhere),
        cmocka_unit_test(no_event_is_read_torn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
