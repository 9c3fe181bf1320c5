/* The ring's virtual world itself: what its network does, and that its checkers can fail. */
#include "sim/ring/draw.h"
#include "sim/ring/law_inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

enum { MS = 1000 * 1000, NODES = 5 };

static struct ring_plan plan;
static struct ring_world world;
static struct ring_fault faults[8];

/* Five nodes that start at once, with a period of 10 ms and a timeout of 20. */
static void begin_plan(void)
{
    memset(faults, 0, sizeof faults);
    plan = (struct ring_plan){.seed = 7,
                              .small = true,
                              .inbox_max = 1000,
                              .end_ns = 400 * MS,
                              .quiet_ns = 300 * MS,
                              .faults = faults};
    mu_detect_config_default(&plan.config, NODES, 0);
    plan.config.period_ns = 10 * MS;
    plan.config.timeout_ns = 20 * MS;
    plan.config.grace_ns = 20 * MS;
    plan.net.delay_ns_min = 10 * 1000;
    plan.net.delay_ns_max = 100 * 1000;
}

static struct ring_fault *add_fault(enum ring_fault_type type, mu_slot node, uint64_t at_ms,
                                    uint64_t for_ms)
{
    struct ring_fault *fault = &faults[plan.fault_count++];
    *fault = (struct ring_fault){.type = type,
                                 .node = node,
                                 .peer = MU_SLOT_NONE,
                                 .ways = RING_BOTH_WAYS,
                                 .at_ns = at_ms * MS,
                                 .for_ns = for_ms * MS};
    return fault;
}

static void run(void)
{
    ring_world_init(&world, &plan);
    ring_world_run(&world, NULL);
}

static void expect_no_violation(void)
{
    if (world.law.broken != NULL)
        fail_msg("%s is broken: %s", world.law.broken, world.law.message);
}

static bool is_out_at(mu_slot node, mu_slot other)
{
    return ring_pair(&world, node, other)->knows;
}

/* ---- stories ---- */

static void test_nothing_happens(void **state)
{
    (void)state;
    begin_plan();
    run();
    expect_no_violation();
    assert_int_equal(world.law.verdicts, 0);
    assert_int_equal(world.living, NODES);
    ring_world_free(&world);
}

static void test_a_crash_is_found(void **state)
{
    (void)state;
    begin_plan();
    add_fault(RING_FAULT_CRASH, 3, 100, 0);
    run();
    expect_no_violation();
    assert_int_equal(world.law.verdicts, 1);
    assert_int_equal(world.law.detected, 1);
    assert_in_range(world.law.detect_ns_max, 10 * MS, 21 * MS);
    for (mu_slot node = 0; node < NODES; node++)
        assert_int_equal(node != 3 && is_out_at(node, 3), node != 3);
    ring_world_free(&world);
}

/* Longer than the timeout: it is declared, goes on, and finds out. */
static void test_a_stopped_node_is_fenced(void **state)
{
    (void)state;
    begin_plan();
    add_fault(RING_FAULT_STOP, 2, 100, 60);
    run();
    expect_no_violation();
    assert_true(world.seats[2].fenced);
    assert_int_equal(world.law.fenced, 1);
    ring_world_free(&world);
}

static void test_a_short_stop_is_nothing(void **state)
{
    (void)state;
    begin_plan();
    add_fault(RING_FAULT_STOP, 2, 100, 5);
    run();
    expect_no_violation();
    assert_int_equal(world.law.verdicts, 0);
    ring_world_free(&world);
}

static void test_a_cut_node_is_declared_and_fenced(void **state)
{
    (void)state;
    begin_plan();
    add_fault(RING_FAULT_CUT, 4, 100, 80);
    run();
    expect_no_violation();
    assert_int_equal(world.law.verdicts, 1);
    assert_true(world.seats[4].fenced);
    ring_world_free(&world);
}

static void test_a_cut_pair_is_reported_and_mended(void **state)
{
    (void)state;
    begin_plan();
    struct ring_fault *cut = add_fault(RING_FAULT_CUT, 1, 100, 70);
    cut->peer = 2;
    plan.pair = cut;
    run();
    expect_no_violation();
    assert_int_equal(world.law.verdicts, 0);
    assert_int_equal(world.law.reports, 1);
    assert_int_equal(world.law.mended, 1);
    ring_world_free(&world);
}

/* ---- the network ---- */

static void test_cuts(void **state)
{
    (void)state;
    begin_plan();
    ring_world_init(&world, &plan);
    struct ring_fault pair = {.node = 1, .peer = 2, .ways = RING_OUTWARD, .for_ns = 10};
    struct ring_fault node = {.node = 4, .peer = MU_SLOT_NONE, .ways = RING_INWARD, .for_ns = 20};
    ring_net_cut(&world, &pair);
    ring_net_cut(&world, &node);
    assert_true(ring_net_is_cut(&world.net, 1, 2, 9));
    assert_false(ring_net_is_cut(&world.net, 2, 1, 9));
    assert_false(ring_net_is_cut(&world.net, 1, 3, 9));
    assert_false(ring_net_is_cut(&world.net, 1, 2, 10));
    assert_true(ring_net_is_cut(&world.net, 0, 4, 19));
    assert_false(ring_net_is_cut(&world.net, 4, 0, 19));
    assert_int_equal(ring_net_cut_off_until_ns(&world.net, 4, RING_BOTH_WAYS, 19), 20);
    assert_int_equal(ring_net_cut_off_until_ns(&world.net, 4, RING_OUTWARD, 19), 0);
    assert_int_equal(ring_net_cut_off_until_ns(&world.net, 1, RING_BOTH_WAYS, 9), 0);
    ring_world_free(&world);
}

/* All that may be lost is lost, and yet each node has a timeout between two losses. */
static void test_losses_are_apart(void **state)
{
    (void)state;
    begin_plan();
    plan.net.loss_ppm = 1000 * 1000;
    plan.net.loss_apart_ns = 25 * MS;
    plan.net.from_ns = 100 * MS;
    plan.net.until_ns = 200 * MS;
    run();
    expect_no_violation();
    uint32_t lost = 0;
    for (mu_slot a = 0; a < NODES; a++)
        for (mu_slot b = a + 1; b < NODES; b++)
            lost += ring_losses_since(&world, a, b, 0);
    assert_in_range(lost, 4, 4 * NODES); /* four each at most, and each touches two */
    ring_world_free(&world);
}

static void test_same_seed_same_run(void **state)
{
    (void)state;
    struct mu_fingerprint first = {0, 0};
    struct ring_draw draw;
    for (int i = 0; i < 3; i++) {
        ring_draw(&draw, i < 2 ? 11 : 12, 16, 0);
        ring_world_init(&world, &draw.plan);
        ring_world_run(&world, NULL);
        if (i == 0)
            first = world.digest;
        assert_int_equal(first.a == world.digest.a && first.b == world.digest.b, i < 2);
        ring_world_free(&world);
    }
}

static void test_every_kind_is_drawn(void **state)
{
    (void)state;
    uint32_t seen = 0;
    struct ring_draw draw;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        ring_draw(&draw, seed, 2 + (uint32_t)seed % 63, 0);
        assert_null(mu_detect_config_error(&draw.plan.config));
        assert_null(mu_detect_times_error(draw.other_period_ns, draw.other_timeout_ns));
        assert_true(draw.plan.net.delay_ns_max + draw.stall_ns_max < draw.limit_ns);
        seen |= 1u << draw.kind;
    }
    assert_int_equal(seen, (1u << RING_KINDS) - 1);
}

/* ---- checkers can fail ---- */

static void expect_broken(const char *law)
{
    assert_non_null(world.law.broken);
    assert_string_equal(world.law.broken, law);
    ring_world_free(&world);
}

/* A quiet world at its end, to which something wrong is told. */
static void begin_quiet(void)
{
    begin_plan();
    run();
    expect_no_violation();
}

static struct mu_detect_evidence evidence_against(mu_slot subject, enum mu_detect_cause cause)
{
    return (struct mu_detect_evidence){.cause = (uint8_t)cause,
                                       .subject = subject,
                                       .incarnation = 1,
                                       .silent_ns = 30 * MS,
                                       .suspect_ns = 10 * MS,
                                       .vouched_by = MU_SLOT_NONE};
}

static void test_false_verdicts_are_noticed(void **state)
{
    (void)state;
    begin_quiet();
    struct mu_detect_evidence silent = evidence_against(0, MU_DETECT_SILENT);
    ring_law_on_verdict(&world, 1, &silent);
    expect_broken("D2");
    begin_quiet();
    struct mu_detect_evidence unreachable = evidence_against(0, MU_DETECT_UNREACHABLE);
    ring_law_on_verdict(&world, 1, &unreachable);
    expect_broken("D6");
    begin_quiet();
    silent.incarnation = 5;
    ring_law_on_verdict(&world, 1, &silent);
    expect_broken("evidence");
}

static void test_false_reports_are_noticed(void **state)
{
    (void)state;
    begin_quiet();
    struct mu_detect_evidence report = evidence_against(0, MU_DETECT_UNREACHABLE);
    ring_law_on_report(&world, 1, &report);
    expect_broken("D6");
    begin_quiet();
    report.cause = 0;
    ring_law_on_report(&world, 1, &report);
    expect_broken("D6");
}

static void test_wrong_fences_are_noticed(void **state)
{
    (void)state;
    begin_quiet();
    ring_law_on_fenced(&world, 3);
    expect_broken("fence");
    begin_quiet();
    world.seats[3].fenced = true;
    struct mu_beat beat = {.type = MU_BEAT_BEAT, .from = 3, .to = 4, .from_incarnation = 1};
    ring_law_on_send(&world, 3, &beat);
    expect_broken("fence");
    begin_quiet();
    ring_pair(&world, 4, 3)->knows = true;
    beat = (struct mu_beat){.type = MU_BEAT_ACK, .from = 4, .to = 3, .from_incarnation = 1};
    ring_law_on_send(&world, 4, &beat);
    expect_broken("fence");
    begin_quiet();
    ring_pair(&world, 4, 3)->knows = true; /* and 3 lives, and does not know it */
    ring_law_on_end(&world);
    expect_broken("fence");
}

/* What a detector sends must be what the wire takes: a daemon cannot send anything else. */
static void test_a_datagram_that_nobody_takes_is_noticed(void **state)
{
    (void)state;
    begin_quiet();
    struct mu_beat beat = {.type = MU_BEAT_ACK, .from = 4, .to = 3, .from_incarnation = 1};
    beat.subject = 3;
    ring_law_on_send(&world, 4, &beat);
    expect_broken("wire");
}

static void test_a_missed_failure_is_noticed(void **state)
{
    (void)state;
    begin_quiet();
    world.seats[3].crashed = true;
    ring_law_on_failed(&world, 3);
    world.queue->now_ns += 15 * MS;
    ring_law_on_due(&world, 0);
    expect_no_violation();
    world.queue->now_ns += 30 * MS;
    ring_law_on_due(&world, 0);
    expect_broken("D1");
    begin_quiet();
    world.seats[3].crashed = true;
    ring_law_on_failed(&world, 3);
    ring_law_on_end(&world);
    expect_broken("D1");
}

static void test_a_noisy_ring_is_noticed(void **state)
{
    (void)state;
    begin_quiet();
    struct mu_beat probe = {.type = MU_BEAT_PROBE, .from = 1, .to = 0, .from_incarnation = 1};
    ring_law_on_send(&world, 1, &probe);
    expect_broken("D3");
    begin_quiet();
    world.queue->now_ns += 50 * MS; /* and no beat since */
    ring_law_on_end(&world);
    expect_broken("D3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_happens),
        cmocka_unit_test(test_a_crash_is_found),
        cmocka_unit_test(test_a_stopped_node_is_fenced),
        cmocka_unit_test(test_a_short_stop_is_nothing),
        cmocka_unit_test(test_a_cut_node_is_declared_and_fenced),
        cmocka_unit_test(test_a_cut_pair_is_reported_and_mended),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_losses_are_apart),
        cmocka_unit_test(test_same_seed_same_run),
        cmocka_unit_test(test_every_kind_is_drawn),
        cmocka_unit_test(test_false_verdicts_are_noticed),
        cmocka_unit_test(test_false_reports_are_noticed),
        cmocka_unit_test(test_wrong_fences_are_noticed),
        cmocka_unit_test(test_a_datagram_that_nobody_takes_is_noticed),
        cmocka_unit_test(test_a_missed_failure_is_noticed),
        cmocka_unit_test(test_a_noisy_ring_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
