/* News for which the queue has no room: order, what replaces what, and what may be lost. */
#include "daemon/heart/backlog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

enum { DEAD = 5, QUEUE = 2 };

struct world {
    struct mu_spsc queue;
    struct mu_backlog backlog;
    struct mu_heartbeat_news queued[QUEUE];
    struct mu_heartbeat_news items[DEAD + 32];
};

static void open_world(struct world *world)
{
    memset(world, 0, sizeof *world);
    assert_true(mu_backlog_capacity(DEAD) <= DEAD + 32);
    mu_spsc_init(&world->queue, world->queued, QUEUE, sizeof *world->queued);
    mu_backlog_init(&world->backlog, world->items, mu_backlog_capacity(DEAD));
}

static bool put(struct world *world, enum mu_detect_effect_type type, mu_slot subject,
                uint64_t at_ns)
{
    struct mu_heartbeat_news news = {.at_ns = at_ns, .effect = {.type = type}};
    if (type == MU_DETECT_VERDICT || type == MU_DETECT_REPORT)
        news.effect.evidence.subject = subject;
    return mu_backlog_put(&world->backlog, &world->queue, &news);
}

/* The next one that the main thread reads; 0: none. */
static uint64_t next(struct world *world)
{
    struct mu_heartbeat_news news = {.at_ns = 0};
    mu_spsc_take(&world->queue, &news);
    return news.at_ns;
}

static void test_order_is_kept(void **state)
{
    (void)state;
    struct world world;
    open_world(&world);
    for (uint64_t i = 1; i <= 5; i++)
        assert_true(put(&world, MU_DETECT_VERDICT, (mu_slot)i, i));
    assert_int_equal(world.backlog.count, 3);
    assert_int_equal(next(&world), 1);
    /* There is room now, and yet it goes behind those that wait. */
    assert_true(put(&world, MU_DETECT_FENCED, 0, 6));
    assert_int_equal(mu_backlog_move(&world.backlog, &world.queue), 1);
    assert_int_equal(mu_backlog_move(&world.backlog, &world.queue), 0);
    for (uint64_t i = 2; i <= 6; i++) {
        assert_int_equal(next(&world), i);
        mu_backlog_move(&world.backlog, &world.queue);
    }
    assert_int_equal(next(&world), 0);
    assert_int_equal(world.backlog.count, 0);
}

static void test_the_last_word_counts(void **state)
{
    (void)state;
    struct world world;
    open_world(&world);
    put(&world, MU_DETECT_LEASE, 0, 1);
    put(&world, MU_DETECT_LEASE, 0, 2); /* both in the queue */
    for (uint64_t i = 3; i <= 9; i++) {
        assert_true(put(&world, MU_DETECT_LEASE, 0, i));
        assert_true(put(&world, MU_DETECT_REPORT, 7, 10 + i));
        assert_true(put(&world, MU_DETECT_VERDICT, 7, 20 + i));
    }
    assert_int_equal(world.backlog.count, 3);
    const uint64_t expected[] = {1, 2, 9, 19, 29, 0};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(next(&world), expected[i]);
        mu_backlog_move(&world.backlog, &world.queue);
    }
}

/* However many reports come, there is room for every verdict that can come. */
static void test_reports_take_no_verdicts_place(void **state)
{
    (void)state;
    struct world world;
    open_world(&world);
    put(&world, MU_DETECT_LEASE, 0, 1);
    put(&world, MU_DETECT_LEASE, 0, 2);
    for (mu_slot slot = 0; slot < MU_BACKLOG_REPORTS; slot++)
        assert_true(put(&world, MU_DETECT_REPORT, slot, 3));
    assert_false(put(&world, MU_DETECT_REPORT, MU_BACKLOG_REPORTS, 3));
    assert_true(put(&world, MU_DETECT_REPORT, 0, 4)); /* of one that waits already */
    for (mu_slot slot = 0; slot < DEAD + 1; slot++)
        assert_true(put(&world, MU_DETECT_VERDICT, slot, 5));
    assert_true(put(&world, MU_DETECT_FENCED, 0, 6));
    assert_true(put(&world, MU_DETECT_LEASE, 0, 7));
    assert_true(put(&world, MU_DETECT_FAULT, 0, 8));
    assert_true(put(&world, MU_DETECT_FAULT, 0, 9));
    assert_int_equal(world.backlog.count, world.backlog.capacity);

    uint32_t verdicts = 0, reports = 0;
    for (struct mu_heartbeat_news news; mu_spsc_take(&world.queue, &news);) {
        verdicts += news.effect.type == MU_DETECT_VERDICT;
        reports += news.effect.type == MU_DETECT_REPORT;
        mu_backlog_move(&world.backlog, &world.queue);
    }
    assert_int_equal(verdicts, DEAD + 1);
    assert_int_equal(reports, MU_BACKLOG_REPORTS);
    assert_int_equal(world.backlog.reports, 0);
    assert_true(put(&world, MU_DETECT_REPORT, 99, 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_is_kept),
        cmocka_unit_test(test_the_last_word_counts),
        cmocka_unit_test(test_reports_take_no_verdicts_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
