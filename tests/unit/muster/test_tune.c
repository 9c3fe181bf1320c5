/* What 'muster tune' makes of what it sees: which step is next, what a step shows, what is
 * recommended.  All results here are invented. */
#include "tune/advice.h"
#include "tune/ladder.h"
#include "core/ring/ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after those above */
#include <cmocka.h>

#define MS      UINT64_C(1000000)
#define SECOND  UINT64_C(1000000000)
#define MINUTES (60 * SECOND)

enum { NODES = 4 };

/* ---- one step ---- */

/* A second of heartbeats every 10 ms, all acknowledged. */
static const struct tune_sample calm = {.span_ns = SECOND, .beats = 2 * NODES * 100};

static enum tune_result judge(struct tune_sample sample)
{
    return tune_judge(&sample, NODES, 10 * MS);
}

static void a_step_without_an_alarm_holds(void **state)
{
    (void)state;
    struct tune_sample sample = calm;
    assert_int_equal(judge(sample), TUNE_HELD);
    sample.stall_ns = SECOND; /* and nobody was declared dead: all the better */
    assert_int_equal(judge(sample), TUNE_HELD);
}

static void one_alarm_that_nothing_excuses_counts(void **state)
{
    (void)state;
    struct tune_sample sample = calm;
    sample.alarms = 3;
    sample.excused = 2;
    assert_int_equal(judge(sample), TUNE_ALARM);
    sample.is_refused = true;
    assert_int_equal(judge(sample), TUNE_ALARM);
}

static void alarms_that_are_all_excused_spoil_a_step(void **state)
{
    (void)state;
    struct tune_sample sample = calm;
    sample.alarms = sample.excused = 2;
    assert_int_equal(judge(sample), TUNE_SPOILT);
}

static void silence_is_no_proof_when_daemons_did_not_run(void **state)
{
    (void)state;
    struct tune_sample sample = calm;
    sample.beats = NODES * 100; /* half of what was due is enough */
    assert_int_equal(judge(sample), TUNE_HELD);
    sample.beats--;
    assert_int_equal(judge(sample), TUNE_SPOILT);
    /* Nor when it ended before it began. */
    assert_int_equal(judge((struct tune_sample){0}), TUNE_SPOILT);
}

static void times_that_are_refused_do_not_hold(void **state)
{
    (void)state;
    assert_int_equal(judge((struct tune_sample){.is_refused = true}), TUNE_REFUSED);
}

static void nobody_excuses_an_alarm_where_times_are_lived_with(void **state)
{
    (void)state;
    assert_false(tune_is_refuted(&calm));
    assert_false(tune_is_refuted(&(struct tune_sample){.stall_ns = SECOND}));
    assert_true(tune_is_refuted(&(struct tune_sample){.alarms = 1}));
    assert_true(tune_is_refuted(&(struct tune_sample){.alarms = 1, .excused = 1}));
    assert_true(tune_is_refuted(&(struct tune_sample){.is_refused = true}));
}

/* ---- the ladder ---- */

/* Goes down while everything holds, 'steps' times. */
static struct tune_ladder down(size_t steps)
{
    struct tune_ladder ladder = {0};
    uint64_t period_ns, span_ns;
    for (size_t i = 0; i < steps; i++) {
        assert_true(tune_ladder_next(&ladder, MINUTES, &period_ns, &span_ns));
        assert_int_equal(period_ns, tune_rung_ns(i));
        tune_ladder_take(&ladder, TUNE_HELD);
    }
    return ladder;
}

static void assert_over(struct tune_ladder *ladder, enum tune_end end, uint64_t held_ns,
                        uint64_t failed_ns)
{
    uint64_t period_ns, span_ns;
    assert_false(tune_ladder_next(ladder, MINUTES, &period_ns, &span_ns));
    assert_int_equal(ladder->end, end);
    assert_int_equal(ladder->held_ns, held_ns);
    assert_int_equal(ladder->failed_ns, failed_ns);
}

static void rungs_are_allowed_and_get_shorter(void **state)
{
    (void)state;
    for (size_t i = 0; i < TUNE_RUNGS; i++) {
        uint64_t period_ns = tune_rung_ns(i);
        assert_null(mu_detect_times_error(period_ns, TUNE_RATIO * period_ns));
        assert_true(i == 0 || period_ns < tune_rung_ns(i - 1));
    }
    assert_int_equal(tune_rung_ns(TUNE_RUNGS - 1), MU_PERIOD_NS_MIN);
}

static void it_ends_at_the_bottom_when_all_holds(void **state)
{
    (void)state;
    struct tune_ladder ladder = down(TUNE_RUNGS);
    assert_over(&ladder, TUNE_END_BOTTOM, 1 * MS, 0);
}

static void it_ends_at_the_first_false_alarm(void **state)
{
    (void)state;
    for (size_t steps = 0; steps < TUNE_RUNGS; steps++) {
        struct tune_ladder ladder = down(steps);
        tune_ladder_take(&ladder, TUNE_ALARM);
        assert_over(&ladder, TUNE_END_ALARM, steps == 0 ? 0 : tune_rung_ns(steps - 1),
                    tune_rung_ns(steps));
    }
}

static void it_ends_where_daemons_do_not_come_up(void **state)
{
    (void)state;
    struct tune_ladder ladder = down(4);
    tune_ladder_take(&ladder, TUNE_REFUSED);
    assert_over(&ladder, TUNE_END_REFUSED, 20 * MS, 10 * MS);
}

static void spoilt_steps_are_repeated(void **state)
{
    (void)state;
    uint64_t period_ns, span_ns;
    struct tune_ladder ladder = down(4);
    for (int i = 0; i < TUNE_TRIES - 1; i++) {
        tune_ladder_take(&ladder, TUNE_SPOILT);
        assert_true(tune_ladder_next(&ladder, MINUTES, &period_ns, &span_ns));
        assert_int_equal(period_ns, 10 * MS);
    }
    /* One that holds at last wipes that out: the next rung has all its tries. */
    tune_ladder_take(&ladder, TUNE_HELD);
    for (int i = 0; i < TUNE_TRIES; i++) {
        assert_true(tune_ladder_next(&ladder, MINUTES, &period_ns, &span_ns));
        assert_int_equal(period_ns, 5 * MS);
        tune_ladder_take(&ladder, TUNE_SPOILT);
    }
    assert_over(&ladder, TUNE_END_STALLS, 10 * MS, 5 * MS);
}

static void a_host_that_always_stands_still_holds_nothing(void **state)
{
    (void)state;
    struct tune_ladder ladder = {0};
    for (int i = 0; i < TUNE_TRIES; i++)
        tune_ladder_take(&ladder, TUNE_SPOILT);
    assert_over(&ladder, TUNE_END_STALLS, 0, 200 * MS);
}

static void time_is_shared_by_the_rungs_that_are_left(void **state)
{
    (void)state;
    uint64_t period_ns, span_ns;
    for (size_t steps = 0; steps < TUNE_RUNGS; steps++) {
        struct tune_ladder ladder = down(steps);
        assert_true(tune_ladder_next(&ladder, MINUTES, &period_ns, &span_ns));
        assert_int_equal(span_ns, MINUTES / (TUNE_RUNGS - steps));
        /* However little it is, there are enough heartbeats. */
        uint64_t min_ns = tune_span_ns_min(period_ns);
        assert_true(min_ns >= TUNE_PERIODS_MIN * period_ns);
        assert_true(tune_ladder_next(&ladder, min_ns, &period_ns, &span_ns));
        assert_int_equal(span_ns, min_ns);
    }
}

static void it_ends_when_no_time_is_left(void **state)
{
    (void)state;
    uint64_t period_ns, span_ns;
    struct tune_ladder ladder = down(2);
    assert_false(tune_ladder_next(&ladder, tune_span_ns_min(50 * MS) - 1, &period_ns, &span_ns));
    assert_over(&ladder, TUNE_END_TIME, 100 * MS, 0);
    /* The reason is the stall when that is why there is something left to do. */
    ladder = down(2);
    tune_ladder_take(&ladder, TUNE_SPOILT);
    assert_false(tune_ladder_next(&ladder, 0, &period_ns, &span_ns));
    assert_over(&ladder, TUNE_END_STALLS, 100 * MS, 50 * MS);
}

static void the_top_is_tried_once_without_time(void **state)
{
    (void)state;
    uint64_t period_ns, span_ns;
    struct tune_ladder ladder = {0};
    assert_true(tune_ladder_next(&ladder, 0, &period_ns, &span_ns));
    assert_int_equal(period_ns, 200 * MS);
    assert_int_equal(span_ns, tune_span_ns_min(200 * MS));
    tune_ladder_take(&ladder, TUNE_SPOILT);
    assert_false(tune_ladder_next(&ladder, 0, &period_ns, &span_ns));
    assert_over(&ladder, TUNE_END_STALLS, 0, 200 * MS);
}

/* ---- advice ---- */

static void periods_are_rounded_up_to_what_people_write(void **state)
{
    (void)state;
    static const struct {
        uint64_t from_ns, to_ns;
    } rows[] = {
        {0, 1 * MS},          {1, 1 * MS},
        {1 * MS, 1 * MS},     {1 * MS + 1, 2 * MS},
        {2 * MS + 1, 3 * MS}, {7 * MS, 8 * MS},
        {9 * MS, 10 * MS},    {11 * MS, 15 * MS},
        {21 * MS, 25 * MS},   {32 * MS, 40 * MS},
        {81 * MS, 100 * MS},  {101 * MS, 150 * MS},
        {999 * MS, SECOND},   {SECOND + 1, 1500 * MS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(tune_round_up_ns(rows[i].from_ns), rows[i].to_ns);
}

static void assert_advice(struct tune_facts facts, uint64_t period_ns, enum tune_reason reason)
{
    struct tune_advice advice;
    assert_true(tune_advise(&facts, &advice));
    assert_int_equal(advice.period_ns, period_ns);
    assert_int_equal(advice.timeout_ns, TUNE_RATIO * period_ns);
    assert_int_equal(advice.reason, reason);
    assert_null(mu_detect_times_error(advice.period_ns, advice.timeout_ns));
    /* The margin that is promised. */
    assert_true(advice.period_ns >= TUNE_MARGIN * advice.held_ns);
    assert_true(advice.timeout_ns - advice.period_ns > TUNE_MARGIN * facts.stall_ns);
}

static void the_worst_condition_decides(void **state)
{
    (void)state;
    assert_advice((struct tune_facts){.held_ns = {1 * MS, 1 * MS, 1 * MS}}, 2 * MS, TUNE_BY_HELD);
    assert_advice((struct tune_facts){.held_ns = {1 * MS, 5 * MS, 10 * MS}}, 20 * MS, TUNE_BY_HELD);
    assert_advice((struct tune_facts){.held_ns = {50 * MS, 5 * MS, 10 * MS}}, 100 * MS,
                  TUNE_BY_HELD);
}

static void the_longest_stall_decides_when_it_is_longer(void **state)
{
    (void)state;
    struct tune_facts facts = {.held_ns = {1 * MS, 5 * MS, 10 * MS}, .stall_ns = 9 * MS};
    assert_advice(facts, 20 * MS, TUNE_BY_HELD);
    facts.stall_ns = 10 * MS; /* twice that is not more than 20 ms */
    assert_advice(facts, 25 * MS, TUNE_BY_STALL);
    facts.stall_ns = 24 * MS;
    assert_advice(facts, 50 * MS, TUNE_BY_STALL);
    facts.stall_ns = 3 * SECOND;
    assert_advice(facts, 8 * SECOND, TUNE_BY_STALL);
}

static void what_did_not_hold_is_doubled(void **state)
{
    (void)state;
    struct tune_facts facts = {.held_ns = {10 * MS, 10 * MS, 10 * MS}, .refuted_ns = 20 * MS};
    assert_advice(facts, 40 * MS, TUNE_BY_CHECK);
    facts.stall_ns = 30 * MS;
    assert_advice(facts, 80 * MS, TUNE_BY_STALL);
}

static void nothing_is_recommended_without_grounds(void **state)
{
    (void)state;
    struct tune_advice advice = {.period_ns = 1};
    for (int i = 0; i < TUNE_CONDITIONS; i++) {
        struct tune_facts facts = {.held_ns = {1 * MS, 1 * MS, 1 * MS}};
        facts.held_ns[i] = 0;
        assert_false(tune_advise(&facts, &advice));
    }
    /* Nor what is not allowed: a timeout of more than an hour. */
    struct tune_facts facts = {.held_ns = {1 * MS, 1 * MS, 1 * MS}, .stall_ns = 20 * MINUTES};
    assert_false(tune_advise(&facts, &advice));
    facts.stall_ns = UINT64_MAX;
    assert_false(tune_advise(&facts, &advice));
    assert_int_equal(advice.period_ns, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_without_an_alarm_holds),
        cmocka_unit_test(one_alarm_that_nothing_excuses_counts),
        cmocka_unit_test(alarms_that_are_all_excused_spoil_a_step),
        cmocka_unit_test(silence_is_no_proof_when_daemons_did_not_run),
        cmocka_unit_test(times_that_are_refused_do_not_hold),
        cmocka_unit_test(nobody_excuses_an_alarm_where_times_are_lived_with),
        cmocka_unit_test(rungs_are_allowed_and_get_shorter),
        cmocka_unit_test(it_ends_at_the_bottom_when_all_holds),
        cmocka_unit_test(it_ends_at_the_first_false_alarm),
        cmocka_unit_test(it_ends_where_daemons_do_not_come_up),
        cmocka_unit_test(spoilt_steps_are_repeated),
        cmocka_unit_test(a_host_that_always_stands_still_holds_nothing),
        cmocka_unit_test(time_is_shared_by_the_rungs_that_are_left),
        cmocka_unit_test(it_ends_when_no_time_is_left),
        cmocka_unit_test(the_top_is_tried_once_without_time),
        cmocka_unit_test(periods_are_rounded_up_to_what_people_write),
        cmocka_unit_test(the_worst_condition_decides),
        cmocka_unit_test(the_longest_stall_decides_when_it_is_longer),
        cmocka_unit_test(what_did_not_hold_is_doubled),
        cmocka_unit_test(nothing_is_recommended_without_grounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
