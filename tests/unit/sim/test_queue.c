/* The queue of virtual time against a plain list that is searched from its beginning. */
#include "sim/base/queue.h"
#include "sim/base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

enum { LIST_MAX = 4096 };

static struct sim_item list[LIST_MAX]; /* by time; of one instant, in the order of arrival */
static size_t list_count;

static void list_push(const struct sim_item *item)
{
    assert_true(list_count < LIST_MAX);
    size_t at = list_count++;
    for (; at > 0 && list[at - 1].at_ns > item->at_ns; at--)
        list[at] = list[at - 1];
    list[at] = *item;
}

static struct sim_item list_pop(void)
{
    struct sim_item first = list[0];
    memmove(list, list + 1, --list_count * sizeof list[0]);
    return first;
}

static void push_both(struct sim_queue *queue, uint64_t at_ns)
{
    static uint32_t number;
    struct sim_item item = {
        .at_ns = at_ns, .ref = ++number, .node = number * 7, .peer = number * 13, .what = 3};
    sim_queue_push(queue, &item);
    list_push(&item);
}

static void expect_same(const struct sim_item *item, const struct sim_item *expected)
{
    assert_int_equal(item->at_ns, expected->at_ns);
    assert_int_equal(item->ref, expected->ref);
    assert_int_equal(item->node, expected->node);
    assert_int_equal(item->peer, expected->peer);
    assert_int_equal(item->what, expected->what);
}

static uint64_t pop_both(struct sim_queue *queue)
{
    struct sim_item item, expected = list_pop();
    assert_true(sim_queue_pop(queue, &item));
    expect_same(&item, &expected);
    return item.at_ns;
}

static void drain_both(struct sim_queue *queue)
{
    struct sim_item item;
    while (list_count > 0)
        pop_both(queue);
    assert_false(sim_queue_pop(queue, &item));
    assert_int_equal(queue->count, 0);
    sim_queue_free(queue);
}

static void an_empty_queue_has_nothing(void **state)
{
    (void)state;
    struct sim_queue queue;
    struct sim_item item;
    sim_queue_init(&queue);
    assert_false(sim_queue_pop(&queue, &item));
    assert_null(sim_queue_peek(&queue, 0));
    drain_both(&queue);
}

static void items_come_in_the_order_of_time(void **state)
{
    (void)state;
    static const uint64_t times_ns[] = {5, 3, 900, 4, 1ull << 40, 0, 17, UINT64_MAX - 1, 16};
    struct sim_queue queue;
    sim_queue_init(&queue);
    for (size_t i = 0; i < sizeof times_ns / sizeof times_ns[0]; i++)
        push_both(&queue, times_ns[i]);
    drain_both(&queue);
}

/* What is seen ahead is what will come, and of this instant. */
static void check_peek(const struct sim_queue *queue, uint64_t now_ns)
{
    for (uint32_t ahead = 0; ahead < 12; ahead++) {
        const struct sim_item *item = sim_queue_peek(queue, ahead);
        if (item == NULL)
            continue;
        assert_true(ahead < list_count && item->at_ns == now_ns);
        expect_same(item, &list[ahead]);
    }
}

static void what_waits_for_one_instant_is_seen_ahead_once_it_begins(void **state)
{
    (void)state;
    struct sim_queue queue;
    sim_queue_init(&queue);
    for (int i = 0; i < 1000; i++)
        push_both(&queue, 77);
    push_both(&queue, 78);
    while (list_count > 1) {
        uint64_t now_ns = pop_both(&queue);
        check_peek(&queue, now_ns);
        for (uint32_t ahead = 0; ahead < 12; ahead++)
            assert_int_equal(sim_queue_peek(&queue, ahead) != NULL, ahead + 1 < list_count);
    }
    drain_both(&queue);
}

static void items_of_one_instant_are_first_in_first_out(void **state)
{
    (void)state;
    struct sim_queue queue;
    sim_queue_init(&queue);
    for (int i = 0; i < 1000; i++)
        push_both(&queue, i % 2 == 0 ? 1000 : 2000);
    for (int i = 0; i < 300; i++)
        pop_both(&queue);
    for (int i = 0; i < 1000; i++) /* these go to the end of the present, or wait */
        push_both(&queue, i % 3 == 0 ? 1000 : 2000);
    while (list_count > 0) {
        uint64_t now_ns = pop_both(&queue);
        check_peek(&queue, now_ns);
    }
    drain_both(&queue);
}

/* Near, far, and the very same instant. */
static uint64_t draw_delay_ns(struct sim_random *random)
{
    switch (sim_random_below(random, 5)) {
    case 0:
        return 0;
    case 1:
        return sim_random_below(random, 8);
    case 2:
        return 1000 * sim_random_below(random, 50);
    case 3:
        return sim_random_below(random, 1 << 20);
    default:
        return 1ull << sim_random_below(random, 50);
    }
}

static void random_pushes_and_pops_do_as_the_plain_list_does(void **state)
{
    (void)state;
    struct sim_random random;
    sim_random_init(&random, 3);
    for (int round = 0; round < 20; round++) {
        struct sim_queue queue;
        uint64_t now_ns = 0;
        sim_queue_init(&queue);
        for (int i = 0; i < 3000; i++) {
            /* Rounds that grow, rounds that hover about empty. */
            uint32_t pushes_percent = round % 2 == 0 ? 60 : 50;
            if (list_count == 0 || sim_random_chance(&random, pushes_percent))
                push_both(&queue, now_ns + draw_delay_ns(&random));
            else
                now_ns = pop_both(&queue);
            assert_int_equal(queue.count, list_count);
            check_peek(&queue, now_ns);
        }
        drain_both(&queue);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_queue_has_nothing),
        cmocka_unit_test(items_come_in_the_order_of_time),
        cmocka_unit_test(what_waits_for_one_instant_is_seen_ahead_once_it_begins),
        cmocka_unit_test(items_of_one_instant_are_first_in_first_out),
        cmocka_unit_test(random_pushes_and_pops_do_as_the_plain_list_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
