/* The queue between two threads: full, empty, around the end, and with both at work. */
#include "host/spsc.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

struct item {
    uint64_t number;
    uint8_t filling[29]; /* an odd size */
};

static struct item make(uint64_t number)
{
    struct item item = {.number = number};
    memset(item.filling, (int)(number % 251), sizeof item.filling);
    return item;
}

static bool whole(const struct item *item)
{
    struct item wanted = make(item->number);
    return memcmp(item->filling, wanted.filling, sizeof wanted.filling) == 0;
}

static void test_full_and_empty(void **state)
{
    (void)state;
    for (uint32_t capacity = 1; capacity <= 8; capacity *= 2) {
        struct item memory[8], item;
        struct mu_spsc queue;
        mu_spsc_init(&queue, memory, capacity, sizeof(struct item));
        assert_false(mu_spsc_take(&queue, &item));
        for (uint64_t turn = 0; turn < 5; turn++) {
            for (uint64_t i = 0; i < capacity; i++) {
                item = make(turn * 100 + i);
                assert_true(mu_spsc_put(&queue, &item));
            }
            item = make(99);
            assert_false(mu_spsc_put(&queue, &item));
            for (uint64_t i = 0; i < capacity; i++) {
                assert_true(mu_spsc_take(&queue, &item));
                assert_int_equal(item.number, turn * 100 + i);
                assert_true(whole(&item));
            }
            item = make(77);
            assert_false(mu_spsc_take(&queue, &item));
            assert_int_equal(item.number, 77);
        }
    }
}

/* The counts go around after 2^32 items. */
static void test_counts_wrap_around(void **state)
{
    (void)state;
    struct item memory[4], item;
    struct mu_spsc queue;
    mu_spsc_init(&queue, memory, 4, sizeof(struct item));
    atomic_store(&queue.put, UINT32_MAX - 1);
    atomic_store(&queue.taken, UINT32_MAX - 1);
    for (uint64_t i = 0; i < 4; i++) {
        item = make(i);
        assert_true(mu_spsc_put(&queue, &item));
    }
    assert_false(mu_spsc_put(&queue, &item));
    for (uint64_t i = 0; i < 4; i++) {
        assert_true(mu_spsc_take(&queue, &item));
        assert_int_equal(item.number, i);
    }
    assert_false(mu_spsc_take(&queue, &item));
}

/* Whoever has nothing to do yields: on a busy host that takes a turn of the others. */
enum { ITEMS = 20000, ITEMS_ONE_BY_ONE = 500 };

struct putting {
    struct mu_spsc queue;
    uint64_t items;
};

static void *put_all(void *argument)
{
    struct putting *putting = argument;
    for (uint64_t i = 0; i < putting->items; i++) {
        struct item item = make(i);
        while (!mu_spsc_put(&putting->queue, &item))
            sched_yield();
    }
    return NULL;
}

static void take_all(uint32_t capacity, uint64_t items)
{
    static struct item memory[64];
    struct putting putting = {.items = items};
    pthread_t thread;
    mu_spsc_init(&putting.queue, memory, capacity, sizeof(struct item));
    assert_int_equal(pthread_create(&thread, NULL, put_all, &putting), 0);
    for (uint64_t i = 0; i < items; i++) {
        struct item item;
        while (!mu_spsc_take(&putting.queue, &item))
            sched_yield();
        assert_int_equal(item.number, i);
        assert_true(whole(&item));
    }
    pthread_join(thread, NULL);
}

static void test_two_threads(void **state)
{
    (void)state;
    take_all(64, ITEMS);
}

static void test_two_threads_with_room_for_one(void **state)
{
    (void)state;
    take_all(1, ITEMS_ONE_BY_ONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_and_empty),
        cmocka_unit_test(test_counts_wrap_around),
        cmocka_unit_test(test_two_threads),
        cmocka_unit_test(test_two_threads_with_room_for_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
