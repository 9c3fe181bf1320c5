/* A few detectors together: deaths, mending, doubt, lag, grace, and times that change (N4 to N8,
 * N10, N12).  Period 100 ms, timeout 200 ms, slack 25 ms, half of which a beat may be late; each
 * datagram takes 1 ms. */
#include "few_by_hand.h"

#define LATE (25 * MS / 2) /* than a period */

static void expect_verdicts(const struct few *few, uint32_t count)
{
    assert_int_equal(few_count(few, MU_DETECT_VERDICT), count);
}

/* 'by' declared 'subject' between the two times. */
static const struct few_entry *expect_declared(const struct few *few, mu_slot subject, mu_slot by,
                                               uint64_t from_ns, uint64_t until_ns)
{
    const struct few_entry *verdict = few_find(few, MU_DETECT_VERDICT, subject, 0);
    assert_non_null(verdict);
    assert_int_equal(verdict->at, by);
    assert_int_equal(verdict->cause, MU_DETECT_SILENT);
    assert_in_range(verdict->at_ns, from_ns, until_ns);
    return verdict;
}

/* ---- quiet ---- */

static void a_quiet_ring_is_whole_and_says_two_things_a_period(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 3, 4, 7, 64};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct few *few = few_started(sizes[i]);
        few_run(few, 1050 * MS);
        uint32_t before = few->spoken;
        few_run(few, 4000 * MS);
        few_expect_whole(few);
        few_expect_calm(few);
        assert_int_equal(few_count(few, MU_DETECT_LEASE), sizes[i]); /* won once, never lost */
        assert_int_equal(few->spoken - before, sizes[i] == 1 ? 0 : 2 * 40 * sizes[i]);
        few_free(few);
    }
}

/* ---- one death ---- */

static void a_death_is_declared_a_timeout_after_the_last_beat(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {3, 4, 8, 64};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (uint64_t phase_ms = 0; phase_ms < 100; phase_ms += 33) {
            struct few *few = few_started(sizes[i]);
            few_run(few, 1000 * MS + phase_ms * MS);
            uint64_t heard_ns =
                few->nodes[2].detect->ring[MU_RING_NEAREST].heard_ns - few->nodes[2].clock_ns;
            few_kill(few, 1);
            few_run(few, 2000 * MS);
            expect_verdicts(few, 1);
            expect_declared(few, 1, 2, heard_ns + 200 * MS, heard_ns + 200 * MS);
            few_expect_whole(few);
            few_free(few);
        }
}

static void the_evidence_says_what_the_observer_knew(void **state)
{
    (void)state;
    struct few *few = few_started(8);
    few_run(few, 1050 * MS);
    few_kill(few, 3);
    few_run(few, 1000 * MS);
    const struct mu_detect_evidence *evidence = &few_find(few, MU_DETECT_VERDICT, 3, 0)->evidence;
    assert_int_equal(evidence->incarnation, 1);
    assert_int_equal(evidence->period_ns, 100 * MS);
    assert_int_equal(evidence->timeout_ns, 200 * MS);
    assert_int_equal(evidence->silent_ns, 200 * MS);
    assert_int_equal(evidence->suspect_ns, 100 * MS - LATE);
    assert_int_equal(evidence->lag_ns, 0);
    assert_int_equal(evidence->probes, 4); /* one each slack */
    assert_int_not_equal(evidence->vouched_by, MU_SLOT_NONE);
    assert_int_not_equal(evidence->vouched_by, 3);
    assert_int_equal(evidence->helpers, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_not_equal(evidence->helper[i].slot, 3);
        assert_int_not_equal(evidence->helper[i].slot, 4);
        assert_int_equal(evidence->helper[i].reach, MU_REACH_TRYING);
        for (int k = 0; k < i; k++)
            assert_int_not_equal(evidence->helper[i].slot, evidence->helper[k].slot);
    }
    few_free(few);
}

/* ---- N4: a lost beat costs nothing ---- */

static bool loses_every_third_beat(const struct few *few, const struct mu_beat *beat)
{
    return beat->type == MU_BEAT_BEAT && few->spoken % 3 == 0;
}

static void lost_beats_are_made_good_by_probes(void **state)
{
    (void)state;
    struct few *few = few_started(8);
    few->loses = loses_every_third_beat;
    few_run(few, 20000 * MS);
    few_expect_calm(few);
    few->loses = NULL;
    few_run(few, 2000 * MS);
    few_expect_whole(few);
    few_free(few);
}

static bool loses_three_in_ten(const struct few *few, const struct mu_beat *beat)
{
    (void)beat;
    return (few->spoken * 2654435761u >> 16) % 10 < 3;
}

/* Three of ten datagrams are lost, of all kinds.  Whoever is declared all the same is told. */
static void after_heavy_losses_the_ring_is_whole_again(void **state)
{
    (void)state;
    struct few *few = few_started(16);
    few->loses = loses_three_in_ten;
    few_run(few, 10000 * MS);
    few->loses = NULL;
    few_run(few, 4000 * MS);
    few_expect_whole(few);
    few_free(few);
}

/* ---- N5: mending ---- */

/* Eight of 64 die together; when is the last one declared? */
static uint64_t eight_deaths_take_ns(uint32_t broken_rules)
{
    struct few *few = few_new(64);
    few->config.broken_rules = broken_rules;
    few_start(few);
    few_run(few, 1037 * MS);
    uint64_t killed_ns = few->now_ns, last_ns = 0;
    for (mu_slot slot = 20; slot < 28; slot++)
        few_kill(few, slot);
    few_run(few, 4000 * MS);
    expect_verdicts(few, 8);
    for (mu_slot slot = 20; slot < 28; slot++) {
        const struct few_entry *verdict = few_find(few, MU_DETECT_VERDICT, slot, 0);
        assert_non_null(verdict);
        assert_int_equal(verdict->at, 28);
        last_ns = verdict->at_ns > last_ns ? verdict->at_ns : last_ns;
    }
    few_expect_whole(few);
    few_free(few);
    return last_ns - killed_ns;
}

static void neighbours_that_die_together_are_declared_within_two_timeouts(void **state)
{
    (void)state;
    assert_true(eight_deaths_take_ns(0) <= 401 * MS);
    assert_true(eight_deaths_take_ns(MU_DETECT_BROKEN_SEQUENTIAL) > 1400 * MS);
}

/* Whenever they die between two beats: the one behind is asked when a beat of the other is missing,
 * and has (timeout - period) from then on. */
static void two_neighbours_take_little_longer_than_one(void **state)
{
    (void)state;
    for (uint64_t after_ms = 1000; after_ms < 1100; after_ms += 9) {
        struct few *few = few_started(16);
        few_run(few, after_ms * MS);
        few_kill(few, 3);
        few_kill(few, 2);
        uint64_t killed_ns = few->now_ns;
        few_run(few, 1000 * MS);
        expect_verdicts(few, 2);
        uint64_t first_ns =
            expect_declared(few, 3, 4, killed_ns + 99 * MS, killed_ns + 201 * MS)->at_ns;
        expect_declared(few, 2, 4, first_ns, first_ns + LATE + 1 * MS);
        few_expect_whole(few);
        few_free(few);
    }
}

/* Node 4 knows when node 3 was heard last, and not when node 2 stopped, which has acknowledged node
 * 1: that one is given two tolerances more after its first probe. */
static void who_is_behind_one_that_was_only_probed_has_more_time(void **state)
{
    (void)state;
    struct few *few = few_started(16);
    few_run(few, 1037 * MS);
    for (mu_slot slot = 1; slot <= 3; slot++)
        few_kill(few, slot);
    few_run(few, 1000 * MS);
    expect_verdicts(few, 3);
    const struct mu_detect_evidence *near = &few_find(few, MU_DETECT_VERDICT, 2, 4)->evidence;
    const struct mu_detect_evidence *far = &few_find(few, MU_DETECT_VERDICT, 1, 4)->evidence;
    assert_in_range(near->silent_ns, 100 * MS, 113 * MS);
    assert_in_range(far->silent_ns, 125 * MS, 126 * MS);
    few_free(few);
}

static void half_of_the_machine_dies_and_no_living_node_is_declared(void **state)
{
    (void)state;
    struct few *few = few_started(64);
    few_run(few, 1037 * MS);
    for (mu_slot slot = 16; slot < 48; slot++)
        few_kill(few, slot);
    few_run(few, 403 * MS);
    expect_verdicts(few, 32);
    few_run(few, 2000 * MS);
    expect_verdicts(few, 32);
    few_expect_whole(few);
    few_free(few);
}

static void every_other_node_dies(void **state)
{
    (void)state;
    struct few *few = few_started(32);
    few_run(few, 1037 * MS);
    for (mu_slot slot = 0; slot < 32; slot += 2)
        few_kill(few, slot);
    few_run(few, 203 * MS);
    expect_verdicts(few, 0); /* each has lost its observer, too, and with it its lease */
    few_run(few, 120 * MS);
    expect_verdicts(few, 16); /* two timeouts less a period, the tolerance and round trips */
    few_run(few, 2000 * MS);
    expect_verdicts(few, 16);
    few_expect_whole(few);
    few_free(few);
}

/* The one that mending has found dies before it is needed. */
static void the_node_behind_dies_while_the_ring_mends(void **state)
{
    (void)state;
    struct few *few = few_started(8);
    few_run(few, 1037 * MS);
    few_kill(few, 3);
    few_run(few, 150 * MS);
    assert_int_equal(few->nodes[4].detect->ring[MU_RING_MENDED].slot, 2);
    uint64_t killed_ns = few->now_ns;
    few_kill(few, 2);
    few_run(few, 2000 * MS);
    expect_verdicts(few, 2);
    expect_declared(few, 2, 4, killed_ns + 100 * MS, killed_ns + 201 * MS);
    few_expect_whole(few);
    few_free(few);
}

/* With a long timeout there is time to die one after the other.  Node 2 is found, and dies together
 * with 1: 1 is probed when 2 is silent, and not only when 3 has been declared. */
static void the_search_goes_on_when_the_one_that_was_found_is_silent(void **state)
{
    (void)state;
    struct few *few = few_new(8);
    few->config.timeout_ns = 1000 * MS;
    few_start(few);
    few_run(few, 1037 * MS);
    uint64_t killed_ns = few->now_ns;
    few_kill(few, 3);
    few_run(few, 400 * MS);
    assert_int_equal(few->nodes[4].detect->ring[MU_RING_MENDED].slot, 2);
    few_kill(few, 2);
    few_kill(few, 1);
    few_run(few, 4000 * MS);
    expect_verdicts(few, 3);
    expect_declared(few, 3, 4, killed_ns, killed_ns + 1001 * MS);
    expect_declared(few, 2, 4, killed_ns, killed_ns + 1401 * MS);
    expect_declared(few, 1, 4, killed_ns, killed_ns + 400 * MS + 325 * MS + 1002 * MS);
    few_expect_whole(few);
    few_free(few);
}

/* The same, but the one that was found had only stood still. */
static void the_one_that_was_found_comes_back(void **state)
{
    (void)state;
    struct few *few = few_new(8);
    few->config.timeout_ns = 1000 * MS;
    few_start(few);
    few_run(few, 1037 * MS);
    few_kill(few, 3);
    few_run(few, 400 * MS);
    few_stop(few, 2);
    few_run(few, 450 * MS);
    assert_true(mu_mend_is_suspect(few->nodes[4].detect, 2));
    few_continue(few, 2);
    few_run(few, 10 * MS);
    assert_false(mu_mend_is_suspect(few->nodes[4].detect, 2));
    few_run(few, 3000 * MS);
    expect_verdicts(few, 1);
    few_expect_whole(few);
    few_free(few);
}

/* Node 3 stands still for a while: 4 observes 2 meanwhile, and lets it go again. */
static void a_suspect_that_comes_back_is_observed_again(void **state)
{
    (void)state;
    struct few *few = few_started(8);
    few_run(few, 1037 * MS);
    few_stop(few, 3);
    few_run(few, 130 * MS);
    assert_int_equal(few->nodes[4].detect->ring[MU_RING_MENDED].slot, 2);
    few_continue(few, 3);
    few_run(few, 1000 * MS);
    few_expect_calm(few);
    few_expect_whole(few);
    few_free(few);
}

/* Suspects are declared nearest first, whoever is told what meanwhile. */
static void a_death_that_others_saw_is_skipped_while_the_ring_mends(void **state)
{
    (void)state;
    struct few *few = few_started(16);
    few_run(few, 1037 * MS);
    for (mu_slot slot = 4; slot < 10; slot++)
        few_kill(few, slot);
    few_run(few, 170 * MS);
    for (mu_slot slot = 5; slot < 9; slot++) /* connections were refused */
        for (mu_slot other = 0; other < 16; other++)
            if (other < 4 || other > 9)
                few_out(few, other, slot);
    few_run(few, 1000 * MS);
    expect_verdicts(few, 2);
    assert_non_null(few_find(few, MU_DETECT_VERDICT, 4, 0));
    assert_non_null(few_find(few, MU_DETECT_VERDICT, 9, 0));
    few_expect_whole(few);
    few_free(few);
}

static void without_room_for_a_death_there_is_a_fault_and_no_verdict(void **state)
{
    (void)state;
    struct few *few = few_new(8);
    few->config.dead = 1;
    few_start(few);
    few_run(few, 1037 * MS);
    few_kill(few, 3);
    few_kill(few, 6);
    few_run(few, 3000 * MS);
    expect_verdicts(few, 2);                           /* each by another node */
    assert_true(few_count(few, MU_DETECT_FAULT) >= 6); /* each hears of both */
    few_kill(few, 2);                                  /* observed by 4, which is full */
    few_run(few, 3000 * MS);
    assert_null(few_find(few, MU_DETECT_VERDICT, 2, 0));
    few_free(few);
}

/* ---- N7: doubt ---- */

static struct few *cut_off_for(uint32_t broken_rules, uint64_t for_ns)
{
    struct few *few = few_new(8);
    few->config.broken_rules = broken_rules;
    few->spread_ns = MU_NEVER; /* only its own verdicts are of interest */
    few_start(few);
    few_run(few, 1037 * MS);
    few_cut_off(few, 4, true);
    few_run(few, for_ns);
    return few;
}

static uint32_t verdicts_of(const struct few *few, mu_slot slot)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < few->logged; i++)
        count += few->log[i].type == MU_DETECT_VERDICT && few->log[i].at == slot;
    return count;
}

static void who_hears_nobody_accuses_nobody(void **state)
{
    (void)state;
    struct few *few = cut_off_for(0, 3000 * MS);
    assert_int_equal(verdicts_of(few, 4), 0);
    expect_declared(few, 4, 5, 0, MU_NEVER); /* the others know whom they have lost */
    assert_false(mu_detect_lease_held(few->nodes[4].detect));
    few_cut_off(few, 4, false);
    few_run(few, 2000 * MS);
    assert_int_equal(verdicts_of(few, 4), 0);
    assert_non_null(few_find(few, MU_DETECT_FENCED, 4, 0));
    few_free(few);
    few = cut_off_for(MU_DETECT_BROKEN_DOUBT | MU_DETECT_BROKEN_NO_LEASE, 3000 * MS);
    assert_true(verdicts_of(few, 4) > 0);
    few_free(few);
}

/* The cut ends when everybody has long been due: nobody is declared for what was not heard. */
static void after_doubt_everybody_has_a_full_timeout_again(void **state)
{
    (void)state;
    struct few *few = few_started(8);
    few_run(few, 1037 * MS);
    for (mu_slot other = 0; other < 8; other++) /* it hears nobody, and everybody hears it */
        few_cut_one_way(few, other, 4, true);
    few_run(few, 450 * MS);
    assert_true(few->nodes[4].detect->ask.doubt);
    for (mu_slot other = 0; other < 8; other++)
        few_cut_one_way(few, other, 4, false);
    few_kill(few, 3);
    uint64_t healed_ns = few->now_ns;
    few_run(few, 2000 * MS);
    expect_verdicts(few, 1);
    expect_declared(few, 3, 4, healed_ns + 200 * MS, healed_ns + 300 * MS);
    few_expect_whole(few);
    few_free(few);
}

static void the_last_one_declares_the_others_only_with_the_launchers_word(void **state)
{
    (void)state;
    for (uint32_t size = 2; size <= 6; size++)
        for (int reach = MU_LAUNCHER_NONE; reach <= MU_LAUNCHER_UNREACHED; reach++) {
            struct few *few = few_started(size);
            few->launcher = reach;
            few_run(few, 1037 * MS);
            uint64_t killed_ns = few->now_ns;
            for (mu_slot slot = 1; slot < size; slot++)
                few_kill(few, slot);
            few_run(few, 5000 * MS);
            bool answers = reach != MU_LAUNCHER_NONE;
            expect_verdicts(few, answers ? size - 1 : 0);
            for (mu_slot slot = 1; answers && slot < size; slot++) {
                const struct few_entry *verdict =
                    expect_declared(few, slot, 0, killed_ns + 100 * MS, killed_ns + 401 * MS);
                assert_int_equal(verdict->evidence.vouched_by, MU_SLOT_NONE);
                assert_int_not_equal(verdict->evidence.launcher, MU_LAUNCHER_NONE);
            }
            few_free(few);
        }
}

/* Nobody is left to be asked, and no launcher answers: said once, and once more when it is over. */
static void what_nobody_can_decide_is_reported(void **state)
{
    (void)state;
    struct few *few = few_started(2);
    few_run(few, 1037 * MS);
    few_stop(few, 1);
    few_run(few, 3000 * MS);
    expect_verdicts(few, 0);
    assert_int_equal(few_count(few, MU_DETECT_REPORT), 1);
    const struct few_entry *report = few_find(few, MU_DETECT_REPORT, 1, 0);
    assert_int_equal(report->at, 0);
    assert_int_equal(report->cause, MU_DETECT_UNDECIDED);
    few_continue(few, 1);
    few_run(few, 1000 * MS);
    expect_verdicts(few, 0);
    assert_int_equal(few_count(few, MU_DETECT_REPORT), 2);
    assert_int_equal(few_find(few, MU_DETECT_REPORT, 1, report->at_ns + 1)->cause, 0);
    few_expect_whole(few);
    few_free(few);
}

/* Who comes late is in doubt first; the launcher's first word ends that, and then it waits anew. */
static void a_launcher_that_answers_late_ends_the_doubt(void **state)
{
    (void)state;
    struct few *few = few_started(2);
    few_run(few, 1037 * MS);
    few_kill(few, 1);
    few_run(few, 1000 * MS);
    assert_true(few->nodes[0].detect->ask.doubt);
    few->launcher = MU_LAUNCHER_TRYING;
    uint64_t since_ns = few->now_ns;
    few_run(few, 1000 * MS);
    expect_declared(few, 1, 0, since_ns + 200 * MS, since_ns + 300 * MS);
    few_free(few);
}

/* Each hears nothing of the other, and the launcher hears both: of two, the higher one goes. */
static void of_two_that_the_launcher_hears_the_higher_one_goes(void **state)
{
    (void)state;
    struct few *few = few_started(2);
    few->launcher = MU_LAUNCHER_HEARD;
    few_run(few, 1037 * MS);
    uint64_t cut_ns = few->now_ns;
    few_cut_both(few, 0, 1, true);
    few_run(few, 3000 * MS);
    const struct few_entry *report = few_find(few, MU_DETECT_REPORT, 1, 0);
    assert_non_null(report);
    assert_int_equal(report->cause, MU_DETECT_UNREACHABLE);
    const struct few_entry *verdict = few_find(few, MU_DETECT_VERDICT, 1, 0);
    assert_non_null(verdict);
    assert_null(few_find(few, MU_DETECT_VERDICT, 0, 0));
    assert_int_equal(verdict->cause, MU_DETECT_UNREACHABLE);
    assert_in_range(verdict->at_ns, cut_ns + 5 * 200 * MS, cut_ns + 9 * 200 * MS);
    few_free(few);
}

/* Alone without proof: no lease, until the launcher has chosen it. */
static void the_last_one_has_a_lease_when_the_launcher_chose_it(void **state)
{
    (void)state;
    struct few *few = few_started(3);
    const struct mu_detect *last = few->nodes[0].detect;
    few->launcher = MU_LAUNCHER_UNREACHED;
    few_run(few, 1037 * MS);
    few_kill(few, 1);
    few_kill(few, 2);
    few_run(few, 1500 * MS);
    assert_non_null(few_find(few, MU_DETECT_VERDICT, 1, 0));
    assert_non_null(few_find(few, MU_DETECT_VERDICT, 2, 0));
    assert_false(mu_detect_lease_held(last));
    few->launcher = MU_LAUNCHER_CHOSE;
    few_run(few, 200 * MS);
    assert_true(mu_detect_lease_held(last));
    assert_true(mu_detect_lease_until_ns(last) == MU_NEVER);
    few_free(few);
}

static void an_answer_of_the_launcher_to_no_question_of_now_is_dropped(void **state)
{
    (void)state;
    struct few *few = few_started(2);
    few_run(few, 1037 * MS);
    few_kill(few, 1);
    few_run(few, 1000 * MS);
    uint64_t dropped = few_dropped(few, 0);
    uint64_t nonce = few->nodes[0].detect->nonce;
    struct mu_detect_event answer = {.type = MU_DETECT_LAUNCHER,
                                     .launcher = {.subject = 1,
                                                  .nonce = nonce,
                                                  .stamp_ns = few_clock(few, 0) - 201 * MS,
                                                  .reach = MU_LAUNCHER_TRYING}};
    few_step(few, 0, answer); /* too old */
    answer.launcher.stamp_ns = few_clock(few, 0);
    answer.launcher.nonce = nonce + 1; /* never asked */
    few_step(few, 0, answer);
    answer.launcher.nonce = few->nodes[0].detect->ask.first_nonce - 1; /* before the suspicion */
    few_step(few, 0, answer);
    assert_int_equal(few_dropped(few, 0), dropped + 3);
    assert_true(few->nodes[0].detect->ask.doubt);
    few_free(few);
}

/* ---- a broken connection ---- */

static void broke(struct few *few, mu_slot at, mu_slot slot)
{
    few_step(few, at, (struct mu_detect_event){.type = MU_DETECT_BROKE, .broke = {.slot = slot}});
}

static void a_broken_connection_only_makes_the_observer_ask(void **state)
{
    (void)state;
    struct few *few = few_started(4);
    few_run(few, 1037 * MS);
    broke(few, 2, 1);
    few_fire(few, 2);
    assert_int_equal(few_sent_to(few, MU_BEAT_PROBE, 1), 1);
    assert_non_null(few_sent(few, MU_BEAT_ASK, 0));
    few_run(few, 10 * MS); /* it has answered */
    assert_false(mu_ask_is_on(few->nodes[2].detect));
    broke(few, 2, 0); /* not the one that it observes */
    assert_false(mu_ask_is_on(few->nodes[2].detect));
    few_run(few, 1000 * MS);
    few_expect_calm(few);
    few_expect_whole(few);
    few_free(few);
}

static void a_broken_connection_brings_no_verdict_forward(void **state)
{
    (void)state;
    struct few *few = few_started(4);
    few_run(few, 1037 * MS);
    uint64_t heard_ns =
        few->nodes[2].detect->ring[MU_RING_NEAREST].heard_ns - few->nodes[2].clock_ns;
    few_kill(few, 1);
    broke(few, 2, 1);
    few_run(few, 1000 * MS);
    expect_verdicts(few, 1);
    expect_declared(few, 1, 2, heard_ns + 200 * MS, heard_ns + 200 * MS);
    few_free(few);
}

/* ---- N7: who has no lease declares nobody ---- */

static bool loses_acks_to_node_2(const struct few *few, const struct mu_beat *beat)
{
    (void)few;
    return beat->type == MU_BEAT_ACK && beat->to == 2;
}

static void who_has_no_lease_declares_nobody(void **state)
{
    (void)state;
    struct few *few = few_started(4);
    few_run(few, 1037 * MS);
    few->loses = loses_acks_to_node_2;
    few_run(few, 300 * MS);
    assert_false(mu_detect_lease_held(few->nodes[2].detect));
    few_kill(few, 1);
    few_run(few, 500 * MS);
    expect_verdicts(few, 0);
    few->loses = NULL;
    few_run(few, 120 * MS);
    expect_declared(few, 1, 2, 0, MU_NEVER);
    few_run(few, 1000 * MS);
    few_expect_whole(few);
    few_free(few);
}

/* The observer of a node dies, and that is proven at once: the node never loses its lease. */
static void a_proven_death_costs_nobody_its_lease(void **state)
{
    (void)state;
    for (uint32_t size = 2; size <= 8; size++)
        for (uint64_t phase_ms = 0; phase_ms < 100; phase_ms += 17) {
            struct few *few = few_started(size);
            few_run(few, 1000 * MS + phase_ms * MS);
            uint32_t before = few_count(few, MU_DETECT_LEASE);
            few_kill(few, 1);
            for (mu_slot slot = 0; slot < size; slot++)
                if (slot != 1)
                    few_out_proven(few, slot, 1);
            few_run(few, 2000 * MS);
            assert_int_equal(few_count(few, MU_DETECT_LEASE), before);
            few_free(few);
        }
}

/* Node 0 declares 2 and 3, which it does not hear, and dies.  They hear of it, each of the other,
 * and each is alone then: nobody has anything to say to anybody. */
static void who_is_out_is_told_also_when_it_is_silent(void **state)
{
    (void)state;
    struct few *few = few_started(4);
    few_run(few, 1037 * MS);
    few_kill(few, 0);
    few_kill(few, 1);
    few_out_proven(few, 2, 0);
    few_out_proven(few, 2, 1);
    few_out_proven(few, 3, 0);
    few_out_proven(few, 3, 1);
    few_out(few, 2, 3);
    few_out(few, 3, 2);
    few_run(few, 100 * MS);
    assert_non_null(few_find(few, MU_DETECT_FENCED, 2, 0));
    assert_non_null(few_find(few, MU_DETECT_FENCED, 3, 0));
    few_free(few);
}

/* ---- N8: lag ---- */

/* The observer stands still for three timeouts; so much is lost that its socket holds nothing. */
static uint32_t verdicts_after_own_stall(uint32_t broken_rules, bool with_socket)
{
    struct few *few = few_new(8);
    few->config.broken_rules = broken_rules;
    few->launcher = MU_LAUNCHER_TRYING; /* doubt would help it as well */
    few->spread_ns = MU_NEVER;
    few_start(few);
    few_run(few, 1037 * MS);
    few_stop(few, 4);
    if (!with_socket)
        few_cut_off(few, 4, true);
    few_run(few, 600 * MS);
    few_cut_off(few, 4, false);
    few_continue(few, 4);
    few_run(few, 100 * MS);
    uint32_t count = verdicts_of(few, 4);
    few_free(few);
    return count;
}

static void an_observers_own_lag_is_given_back(void **state)
{
    (void)state;
    assert_int_equal(verdicts_after_own_stall(0, true), 0);
    assert_int_equal(verdicts_after_own_stall(0, false), 0);
    uint32_t broken = MU_DETECT_BROKEN_NO_LAG | MU_DETECT_BROKEN_DOUBT | MU_DETECT_BROKEN_NO_LEASE;
    assert_true(verdicts_after_own_stall(broken, false) > 0);
}

static void lag_is_given_back_once_and_shows_in_the_evidence(void **state)
{
    (void)state;
    struct few *few = few_started(8);
    few_run(few, 1050 * MS);
    uint64_t heard_ns =
        few->nodes[4].detect->ring[MU_RING_NEAREST].heard_ns - few->nodes[4].clock_ns;
    few_kill(few, 3);
    few_run_until(few, heard_ns + 130 * MS); /* late, and suspected */
    few_stop(few, 4);
    uint64_t due_ns = few->nodes[4].due_ns;
    few_run_until(few, due_ns + 60 * MS);
    few_continue(few, 4);
    few_run(few, 1000 * MS);
    const struct few_entry *verdict =
        expect_declared(few, 3, 4, heard_ns + 260 * MS, heard_ns + 260 * MS);
    assert_int_equal(verdict->evidence.lag_ns, 60 * MS);
    assert_int_equal(verdict->evidence.silent_ns, 260 * MS);
    assert_int_equal(mu_detect_counts(few->nodes[4].detect)->lags, 1);
    assert_int_equal(mu_detect_counts(few->nodes[4].detect)->lag_ns_max, 60 * MS);
    few_free(few);
}

/* Those that were probed are given the lag as well. */
static void lag_is_given_back_to_every_suspect(void **state)
{
    (void)state;
    uint64_t declared_ns[2];
    for (int stalls = 0; stalls < 2; stalls++) {
        struct few *few = few_started(8);
        few_run(few, 1050 * MS);
        few_kill(few, 3);
        few_kill(few, 2);
        few_run(few, 150 * MS);
        assert_true(mu_mend_is_suspect(few->nodes[4].detect, 2));
        if (stalls > 0) {
            few_stop(few, 4);
            few_run_until(few, few->nodes[4].due_ns + 60 * MS);
            few_continue(few, 4);
        }
        few_run(few, 1000 * MS);
        declared_ns[stalls] = few_find(few, MU_DETECT_VERDICT, 2, 0)->at_ns;
        few_free(few);
    }
    assert_int_equal(declared_ns[1], declared_ns[0] + 60 * MS);
}

static struct mu_beat probe_of(struct few *few, mu_slot from, mu_slot to)
{
    struct mu_beat probe = few_beat(few, MU_BEAT_PROBE, from, to);
    probe.subject = from;
    return probe;
}

/* Nobody is observed: 3 is out, and 2, which stood still, was only asked.  It answers while 4
 * stands still for longer than a timeout. */
static void what_waited_in_the_socket_meanwhile_counts(void **state)
{
    (void)state;
    struct few *few = few_started(8);
    few_run(few, 1037 * MS);
    few_stop(few, 2);
    few_kill(few, 3);
    few_run(few, 150 * MS);
    few_out(few, 4, 3);
    const struct mu_watch *nearest = &few->nodes[4].detect->ring[MU_RING_NEAREST];
    assert_int_equal(nearest->slot, MU_SLOT_NONE);
    few_stop(few, 4);
    few_continue(few, 2);
    few_run(few, 300 * MS);
    few_continue(few, 4);
    few_run(few, 0);
    assert_int_equal(nearest->slot, 2);
    few_run(few, 1000 * MS);
    assert_null(few_find(few, MU_DETECT_VERDICT, 2, 0));
    few_free(few);
}

/* What waited in the socket is handed over first, and takes its time: lag is what passed until the
 * deadline was kept, however many steps came before. */
static void lag_is_measured_until_the_deadline_is_kept(void **state)
{
    (void)state;
    struct few *few = few_new(8);
    few_start_one(few, 4);
    const struct mu_watch *watch = &few->nodes[4].detect->ring[MU_RING_NEAREST];
    uint64_t due_ns = few->nodes[4].due_ns;
    few->now_ns = due_ns + 40 * MS;
    for (int i = 0; i < 5; i++) {
        few_recv(few, probe_of(few, 1, 4));
        assert_int_equal(watch->lag_ns, (40 + i) * MS);
        few->now_ns += 1 * MS;
    }
    few_step(few, 4, (struct mu_detect_event){.type = MU_DETECT_TIMEOUT});
    assert_int_equal(watch->lag_ns, 45 * MS);
    few_recv(few, probe_of(few, 1, 4));
    assert_int_equal(watch->lag_ns, 45 * MS);
    due_ns = few->nodes[4].due_ns; /* each step is a little late, all of them together too much */
    few->now_ns = due_ns;
    for (int i = 0; i < 3; i++) {
        few->now_ns += 5 * MS;
        few_step(few, 4,
                 (struct mu_detect_event){.type = i < 2 ? MU_DETECT_SET : MU_DETECT_TIMEOUT,
                                          .set = {100 * MS, 200 * MS}});
    }
    assert_int_equal(watch->lag_ns, 60 * MS);
    few_free(few);
}

static void a_timer_that_is_a_little_late_moves_nothing(void **state)
{
    (void)state;
    struct few *few = few_started(8);
    few_run(few, 1050 * MS);
    few_stop(few, 4);
    few_run_until(few, few->nodes[4].due_ns + 12 * MS); /* an eighth of 100 ms is 12.5 */
    few_continue(few, 4);
    few_run(few, 100 * MS);
    assert_int_equal(mu_detect_counts(few->nodes[4].detect)->lags, 0);
    few_free(few);
}

/* A stopped node comes back when it has been declared: it finds out and accuses nobody. */
static void a_node_that_stood_still_too_long_is_fenced(void **state)
{
    (void)state;
    struct few *few = few_started(8);
    few_run(few, 1037 * MS);
    few_stop(few, 3);
    few_run(few, 700 * MS);
    expect_verdicts(few, 1);
    few_continue(few, 3);
    uint64_t back_ns = few->now_ns;
    few_run(few, 1000 * MS);
    expect_verdicts(few, 1);
    const struct few_entry *fenced = few_find(few, MU_DETECT_FENCED, 3, 0);
    assert_non_null(fenced);
    assert_true(fenced->at_ns <= back_ns + 2 * MS); /* one round trip */
    few_expect_whole(few);
    few_free(few);
}

static void a_stall_below_the_bound_is_forgiven(void **state)
{
    (void)state;
    struct few *few = few_started(8);
    for (int i = 0; i < 20; i++) {
        few_run(few, 1037 * MS);
        mu_slot slot = (mu_slot)(i * 3 % 8);
        few_stop(few, slot);
        few_run(few, 98 * MS); /* timeout - period - delay, and a bit */
        few_continue(few, slot);
    }
    few_run(few, 1000 * MS);
    few_expect_calm(few);
    few_expect_whole(few);
    few_free(few);
}

/* ---- N2: period and timeout change ---- */

static void times_change_without_a_false_verdict(void **state)
{
    (void)state;
    static const uint64_t times_ms[][2] = {{100, 200}, {10, 20}, {1000, 5000}, {1, 100}, {50, 100}};
    struct few *few = few_started(8);
    for (size_t i = 0; i < 5 * sizeof times_ms / sizeof times_ms[0]; i++) {
        const uint64_t *ms = times_ms[i % 5];
        for (mu_slot slot = 0; slot < 8; slot++) {
            few_set(few, slot, ms[0] * MS, ms[1] * MS);
            few_run(few, (i % 7) * MS); /* some change long before others */
        }
        few_run(few, 3333 * MS);
        few_expect_calm(few);
        few_expect_whole(few);
        assert_int_equal(few->nodes[3].detect->ring[MU_RING_NEAREST].timeout_ns, ms[1] * MS);
    }
    few_run(few, 2 * 5000 * MS); /* until no lease of the longest timeout can be left */
    few_kill(few, 3);
    uint64_t killed_ns = few->now_ns;
    few_run(few, 1000 * MS);
    expect_declared(few, 3, 4, killed_ns, killed_ns + 101 * MS);
    few_free(few);
}

static void set_all(struct few *few, uint64_t period_ns, uint64_t timeout_ns)
{
    for (mu_slot slot = 0; slot < few->size; slot++)
        if (!few->nodes[slot].dead && !few->nodes[slot].stopped)
            few_set(few, slot, period_ns, timeout_ns);
}

/* Node 3 holds a lease of 4, which dies, and stands still.  5, which never observed it, was set to
 * a tenth of that timeout meanwhile. */
static void a_lease_of_a_longer_timeout_is_waited_for(void **state)
{
    (void)state;
    struct few *few = few_started(8);
    few_run(few, 1037 * MS);
    few_stop(few, 3);
    few_kill(few, 4);
    set_all(few, 10 * MS, 20 * MS);
    uint64_t lease_ns = mu_detect_lease_until_ns(few->nodes[3].detect) - few->nodes[3].clock_ns,
             from_ns = few->now_ns;
    assert_true(lease_ns > from_ns + 20 * MS);
    few_run(few, 1000 * MS);
    expect_verdicts(few, 2);
    expect_declared(few, 3, 5, lease_ns, from_ns + 400 * MS);
    few_free(few);
}

/* For two of the longer ones, the longer timeout counts; then the shorter one does. */
static void a_shorter_timeout_counts_when_no_older_lease_can_be_left(void **state)
{
    (void)state;
    struct few *few = few_started(8);
    few_run(few, 1037 * MS);
    set_all(few, 10 * MS, 20 * MS);
    few_run(few, 50 * MS);
    few_kill(few, 3);
    uint64_t killed_ns = few->now_ns;
    few_run(few, 400 * MS);
    expect_declared(few, 3, 4, killed_ns + 189 * MS, killed_ns + 201 * MS);
    few_kill(few, 6);
    killed_ns = few->now_ns;
    few_run(few, 400 * MS);
    expect_declared(few, 6, 7, killed_ns + 9 * MS, killed_ns + 21 * MS);
    expect_verdicts(few, 2);
    few_free(few);
}

/* The old timeout holds until d is known to have heard of the new one. */
static void the_old_timeout_holds_until_the_new_nonce_comes_back(void **state)
{
    (void)state;
    struct few *few = few_started(8);
    few_run(few, 1037 * MS);
    few_cut_one_way(few, 4, 3, true); /* 3 does not hear of it, and beats as before */
    few_set(few, 4, 1 * MS, 5 * MS);
    few_run(few, 150 * MS);
    few_expect_calm(few);
    assert_int_equal(few->nodes[4].detect->ring[MU_RING_NEAREST].timeout_ns, 200 * MS);
    few_cut_one_way(few, 4, 3, false);
    few_run(few, 5 * MS);
    assert_int_equal(few->nodes[4].detect->ring[MU_RING_NEAREST].timeout_ns, 5 * MS);
    few_run(few, 1000 * MS);
    few_expect_calm(few);
    few_free(few);
}

/* Two changes in a row: beats with the nonce in between count as well. */
static void a_change_overtakes_a_change(void **state)
{
    (void)state;
    struct few *few = few_new(8);
    few->delay_ns = 40 * MS;
    few_start(few);
    few_run(few, 1037 * MS);
    for (int i = 0; i < 40; i++) {
        uint64_t timeout_ns = i % 2 == 0 ? 210 * MS : 220 * MS;
        for (mu_slot slot = 0; slot < 8; slot++)
            few_set(few, slot, 100 * MS, timeout_ns);
        few_run(few, 30 * MS); /* less than a round trip */
    }
    few_run(few, 2000 * MS);
    few_expect_calm(few);
    few_free(few);
}

/* Node 2 has a lease from 3, for as long as (timeout - period) was, when both stop: 4 observes 3
 * under shorter times, which 3 has not heard of for its own part, and can only probe 2. */
static void
a_lease_under_longer_times_is_over_before_one_who_was_only_probed_is_declared(void **state)
{
    (void)state;
    static const uint64_t before_ms[][2] = {{50, 200}, {100, 400}};
    for (int i = 0; i < 2; i++)
        for (uint64_t after_ms = 5; after_ms < 200; after_ms += 3) {
            struct few *few = few_new(8);
            few->config.period_ns = before_ms[i][0] * MS;
            few->config.timeout_ns = before_ms[i][1] * MS;
            few_start(few);
            few_run(few, 1037 * MS);
            few_set(few, 4, 100 * MS, 200 * MS);
            few_run(few, after_ms * MS);
            uint64_t lease_ns =
                mu_detect_lease_until_ns(few->nodes[2].detect) - few->nodes[2].clock_ns;
            few_kill(few, 3);
            few_kill(few, 2);
            few_run(few, 2000 * MS);
            expect_verdicts(few, 2);
            expect_declared(few, 2, 4, lease_ns, few->now_ns);
            few_free(few);
        }
}

/* ---- N12: grace ---- */

static void nodes_may_start_late(void **state)
{
    (void)state;
    struct few *few = few_new(8);
    few->config.grace_ns = 3000 * MS;
    few_start_one(few, 4);
    few_start_one(few, 5);
    few_run(few, 2500 * MS);
    few_expect_calm(few);
    few_start(few); /* the others */
    few_run(few, 2000 * MS);
    few_expect_calm(few);
    few_expect_whole(few);
    few_free(few);
}

static void who_never_starts_is_declared_when_the_grace_is_over(void **state)
{
    (void)state;
    struct few *few = few_new(8);
    few->config.grace_ns = 3000 * MS;
    uint64_t start_ns = few->now_ns;
    few_kill(few, 2);
    few_kill(few, 3);
    few_start(few);
    few_run(few, 5000 * MS);
    expect_verdicts(few, 2);
    const struct few_entry *verdict =
        expect_declared(few, 3, 4, start_ns + 3000 * MS, start_ns + 3001 * MS);
    assert_int_equal(verdict->evidence.incarnation, 0); /* never heard */
    expect_declared(few, 2, 4, start_ns + 3000 * MS, start_ns + 3201 * MS);
    few_expect_whole(few);
    few_free(few);
}

/* Node 3 was heard and dies; 2 never started.  Only 2 is given the grace. */
static void the_grace_is_given_to_those_that_are_probed_as_well(void **state)
{
    (void)state;
    struct few *few = few_new(8);
    few->config.grace_ns = 3000 * MS;
    uint64_t start_ns = few->now_ns;
    few_kill(few, 2);
    few_start(few);
    few_run(few, 1037 * MS);
    few_kill(few, 3);
    few_run(few, 4000 * MS);
    expect_declared(few, 3, 4, start_ns + 1037 * MS, start_ns + 1238 * MS);
    expect_declared(few, 2, 4, start_ns + 3000 * MS, start_ns + 3001 * MS);
    few_free(few);
}

/* Who was heard is not given any grace. */
static void a_death_within_the_grace_is_found_as_fast(void **state)
{
    (void)state;
    struct few *few = few_new(8);
    few->config.grace_ns = 60000 * MS;
    few_start(few);
    few_run(few, 1037 * MS);
    uint64_t killed_ns = few->now_ns;
    few_kill(few, 3);
    few_run(few, 1000 * MS);
    expect_declared(few, 3, 4, killed_ns, killed_ns + 201 * MS);
    few_free(few);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quiet_ring_is_whole_and_says_two_things_a_period),
        cmocka_unit_test(a_death_is_declared_a_timeout_after_the_last_beat),
        cmocka_unit_test(the_evidence_says_what_the_observer_knew),
        cmocka_unit_test(lost_beats_are_made_good_by_probes),
        cmocka_unit_test(after_heavy_losses_the_ring_is_whole_again),
        cmocka_unit_test(neighbours_that_die_together_are_declared_within_two_timeouts),
        cmocka_unit_test(two_neighbours_take_little_longer_than_one),
        cmocka_unit_test(who_is_behind_one_that_was_only_probed_has_more_time),
        cmocka_unit_test(half_of_the_machine_dies_and_no_living_node_is_declared),
        cmocka_unit_test(every_other_node_dies),
        cmocka_unit_test(the_node_behind_dies_while_the_ring_mends),
        cmocka_unit_test(the_search_goes_on_when_the_one_that_was_found_is_silent),
        cmocka_unit_test(the_one_that_was_found_comes_back),
        cmocka_unit_test(a_suspect_that_comes_back_is_observed_again),
        cmocka_unit_test(a_death_that_others_saw_is_skipped_while_the_ring_mends),
        cmocka_unit_test(without_room_for_a_death_there_is_a_fault_and_no_verdict),
        cmocka_unit_test(who_hears_nobody_accuses_nobody),
        cmocka_unit_test(after_doubt_everybody_has_a_full_timeout_again),
        cmocka_unit_test(the_last_one_declares_the_others_only_with_the_launchers_word),
        cmocka_unit_test(what_nobody_can_decide_is_reported),
        cmocka_unit_test(a_launcher_that_answers_late_ends_the_doubt),
        cmocka_unit_test(of_two_that_the_launcher_hears_the_higher_one_goes),
        cmocka_unit_test(the_last_one_has_a_lease_when_the_launcher_chose_it),
        cmocka_unit_test(an_answer_of_the_launcher_to_no_question_of_now_is_dropped),
        cmocka_unit_test(a_broken_connection_only_makes_the_observer_ask),
        cmocka_unit_test(a_broken_connection_brings_no_verdict_forward),
        cmocka_unit_test(who_has_no_lease_declares_nobody),
        cmocka_unit_test(a_proven_death_costs_nobody_its_lease),
        cmocka_unit_test(who_is_out_is_told_also_when_it_is_silent),
        cmocka_unit_test(an_observers_own_lag_is_given_back),
        cmocka_unit_test(lag_is_given_back_once_and_shows_in_the_evidence),
        cmocka_unit_test(lag_is_given_back_to_every_suspect),
        cmocka_unit_test(what_waited_in_the_socket_meanwhile_counts),
        cmocka_unit_test(lag_is_measured_until_the_deadline_is_kept),
        cmocka_unit_test(a_timer_that_is_a_little_late_moves_nothing),
        cmocka_unit_test(a_node_that_stood_still_too_long_is_fenced),
        cmocka_unit_test(a_stall_below_the_bound_is_forgiven),
        cmocka_unit_test(times_change_without_a_false_verdict),
        cmocka_unit_test(a_lease_of_a_longer_timeout_is_waited_for),
        cmocka_unit_test(a_shorter_timeout_counts_when_no_older_lease_can_be_left),
        cmocka_unit_test(the_old_timeout_holds_until_the_new_nonce_comes_back),
        cmocka_unit_test(a_change_overtakes_a_change),
        cmocka_unit_test(
            a_lease_under_longer_times_is_over_before_one_who_was_only_probed_is_declared),
        cmocka_unit_test(nodes_may_start_late),
        cmocka_unit_test(who_never_starts_is_declared_when_the_grace_is_over),
        cmocka_unit_test(the_grace_is_given_to_those_that_are_probed_as_well),
        cmocka_unit_test(a_death_within_the_grace_is_found_as_fast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
