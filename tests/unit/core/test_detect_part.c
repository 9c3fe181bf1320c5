/* Unreachable: two nodes that cannot hear each other while others hear both (N6, N9).
 *
 * Node 4 observes 3.  Period 100 ms, timeout 200 ms, slack 25 ms; a datagram takes 1 ms. */
#include "few_by_hand.h"

#define TIMEOUT (200 * MS)

static struct few *running(uint32_t size)
{
    struct few *few = few_started(size);
    few_run(few, 1037 * MS);
    return few;
}

static struct mu_part *part_of(struct few *few, mu_slot slot)
{
    return &few->nodes[slot].detect->part;
}

static bool holds_lease(struct few *few, mu_slot slot)
{
    return mu_detect_lease_held(few->nodes[slot].detect);
}

/* ---- helpers ---- */

static void a_helper_says_trying_and_then_heard(void **state)
{
    (void)state;
    struct few *few = few_new(8);
    few_start_one(few, 1);
    struct mu_beat ask = few_beat(few, MU_BEAT_ASK, 4, 1);
    ask.nonce = 77;
    ask.stamp_ns = 123;
    ask.subject = 3;
    ask.subject_incarnation = 1;
    few_recv(few, ask);
    assert_int_equal(few->update.count, 2);
    const struct mu_beat *reply = few_sent(few, MU_BEAT_REPLY, 0);
    const struct mu_beat *probe = few_sent(few, MU_BEAT_PROBE, 0);
    assert_int_equal(reply->to, 4);
    assert_int_equal(reply->reach, MU_REACH_TRYING);
    assert_int_equal(reply->nonce, 77);
    assert_int_equal(reply->stamp_ns, 123);
    assert_int_equal(probe->to, 3);
    assert_int_equal(probe->nonce, 77); /* the asker's: the suspect returns it */
    assert_int_equal(probe->stamp_ns, 123);
    assert_int_equal(probe->subject, 4);
    struct mu_beat answer = few_beat(few, MU_BEAT_ANSWER, 3, 1);
    answer.nonce = 77;
    answer.stamp_ns = 123;
    answer.acked_ns = 999;
    answer.subject = 4;
    answer.subject_incarnation = 1;
    few_recv(few, answer);
    assert_int_equal(few->update.count, 1);
    reply = few_sent(few, MU_BEAT_REPLY, 0);
    assert_int_equal(reply->to, 4);
    assert_int_equal(reply->reach, MU_REACH_HEARD);
    assert_int_equal(reply->nonce, 77);
    assert_int_equal(reply->stamp_ns, 123);
    assert_int_equal(reply->acked_ns, 999);
    assert_int_equal(reply->subject, 3);
    few_free(few);
}

static void a_helper_says_dead_of_whom_it_knows_dead(void **state)
{
    (void)state;
    struct few *few = few_new(8);
    few_start_one(few, 1);
    few_out(few, 1, 3);
    struct mu_beat ask = few_beat(few, MU_BEAT_ASK, 4, 1);
    ask.subject = 3;
    ask.subject_incarnation = 1;
    few_recv(few, ask);
    assert_int_equal(few->update.count, 1);
    assert_int_equal(few_sent(few, MU_BEAT_REPLY, 0)->reach, MU_REACH_DEAD);
    ask.subject_incarnation = 0; /* the asker never heard it */
    few_recv(few, ask);
    assert_int_equal(few_sent(few, MU_BEAT_REPLY, 0)->reach, MU_REACH_DEAD);
    ask.type = MU_BEAT_TAKE;
    ask.period_ns = 100 * MS;
    ask.timeout_ns = 200 * MS;
    few_recv(few, ask);
    assert_int_equal(few_sent(few, MU_BEAT_REPLY, 0)->reach, MU_REACH_DEAD);
    few_free(few);
}

/* Node 4 has not heard of the death that a helper knows. */
static void what_a_helper_knows_dead_is_out(void **state)
{
    (void)state;
    struct few *few = running(8);
    few->spread_ns = MU_NEVER;
    few_kill(few, 3);
    for (mu_slot slot = 0; slot < 8; slot++)
        if (slot != 3 && slot != 4)
            few_out(few, slot, 3);
    few_run(few, 140 * MS);
    assert_int_equal(mu_detect_observes(few->nodes[4].detect), 2);
    assert_int_equal(few_count(few, MU_DETECT_VERDICT), 0);
    few_free(few);
}

static struct mu_beat take_of(struct few *few, mu_slot asker, mu_slot subject, uint64_t nonce)
{
    struct mu_beat take = few_watch(few, asker, 1, nonce);
    take.type = MU_BEAT_TAKE;
    take.subject = subject;
    take.subject_incarnation = 1;
    return take;
}

static void a_helper_observes_in_the_place_of_the_asker(void **state)
{
    (void)state;
    struct few *few = few_new(8);
    few_start_one(few, 1);
    few_recv(few, take_of(few, 4, 3, 50));
    const struct mu_beat *watch = few_sent(few, MU_BEAT_WATCH, 0);
    assert_non_null(watch);
    assert_int_equal(watch->to, 3);
    assert_int_equal(watch->subject, 4);
    assert_int_equal(watch->timeout_ns, TIMEOUT);
    assert_int_equal(few_sent(few, MU_BEAT_REPLY, 0)->reach, MU_REACH_TAKEN);
    struct mu_beat beat = few_beat(few, MU_BEAT_BEAT, 3, 1);
    beat.nonce = watch->nonce;
    beat.stamp_ns = 10;
    few_recv(few, beat);
    assert_int_equal(few_sent_to(few, MU_BEAT_ACK, 3), 1);
    few_recv(few, beat); /* a repeat */
    assert_int_equal(few->update.count, 0);
    few_recv(few, take_of(few, 4, 3, 51)); /* renewed: no new watch */
    assert_null(few_sent(few, MU_BEAT_WATCH, 0));
    assert_int_equal(few_sent(few, MU_BEAT_REPLY, 0)->reach, MU_REACH_TAKEN);
    few_recv(few, take_of(few, 4, 3, 51)); /* recorded */
    assert_int_equal(few->update.count, 0);
    few->now_ns += 50 * MS; /* not renewed: it falls silent, and does not say RELEASE */
    beat.stamp_ns = 11;
    few_recv(few, beat);
    assert_int_equal(few->update.count, 0);
    few_free(few);
}

static void a_helper_without_room_says_nothing(void **state)
{
    (void)state;
    struct few *few = few_new(8);
    few_start_one(few, 1);
    few_recv(few, take_of(few, 4, 3, 50));
    few_recv(few, take_of(few, 6, 5, 60));
    few_recv(few, take_of(few, 3, 2, 70));
    assert_int_equal(few->update.count, 0);
    struct mu_beat release = few_beat(few, MU_BEAT_RELEASE, 4, 1);
    release.subject = 3;
    release.nonce = 51;
    few_recv(few, release);
    few_recv(few, take_of(few, 4, 3, 50)); /* older than the release */
    assert_int_equal(few->update.count, 0);
    few_recv(few, take_of(few, 3, 2, 71));
    assert_int_equal(few_sent(few, MU_BEAT_REPLY, 0)->reach, MU_REACH_TAKEN);
    few_out(few, 1, 5);
    few_recv(few, take_of(few, 7, 6, 80)); /* and room for another one */
    assert_int_equal(few_sent(few, MU_BEAT_REPLY, 0)->reach, MU_REACH_TAKEN);
    few_recv(few, take_of(few, 2, 0, 90)); /* node 0 is the one that node 1 observes */
    assert_int_equal(few->update.count, 0);
    few_free(few);
}

/* ---- reported, taken and mended ---- */

/* Node 4 does not hear 3, or 3 does not hear 4, or both. */
static void check_reported_and_mended(bool to_observer, bool to_subject)
{
    struct few *few = running(8);
    uint64_t cut_ns = few->now_ns;
    few_cut_one_way(few, 3, 4, to_observer);
    few_cut_one_way(few, 4, 3, to_subject);
    few_run(few, 4 * TIMEOUT);
    assert_int_equal(few_count(few, MU_DETECT_VERDICT), 0);
    assert_int_equal(few_count(few, MU_DETECT_REPORT), 1);
    const struct few_entry *report = few_find(few, MU_DETECT_REPORT, 3, 0);
    assert_non_null(report);
    assert_int_equal(report->at, 4);
    assert_int_equal(report->cause, MU_DETECT_UNREACHABLE);
    assert_in_range(report->at_ns, cut_ns + TIMEOUT / 2, cut_ns + 2 * TIMEOUT + 2 * MS);
    mu_slot taker = part_of(few, 4)->taker;
    assert_int_not_equal(taker, MU_SLOT_NONE);
    assert_int_equal(mu_detect_observer(few->nodes[3].detect), taker);
    assert_true(holds_lease(few, 3)); /* a helper acknowledges it */
    few_cut_both(few, 3, 4, false);
    few_run(few, 2 * TIMEOUT);
    assert_int_equal(few_count(few, MU_DETECT_REPORT), 2);
    const struct few_entry *mended = few_find(few, MU_DETECT_REPORT, 3, report->at_ns + 1);
    assert_non_null(mended);
    assert_int_equal(mended->cause, 0);
    few_run(few, 2 * TIMEOUT);
    few_expect_whole(few);
    assert_int_equal(few_count(few, MU_DETECT_VERDICT), 0);
    few_free(few);
}

static void a_broken_path_is_reported_taken_over_and_mended(void **state)
{
    (void)state;
    check_reported_and_mended(true, false);
    check_reported_and_mended(false, true);
    check_reported_and_mended(true, true);
}

static void without_the_helpers_answer_a_living_node_is_declared(void **state)
{
    (void)state;
    struct few *few = few_new(8);
    few->config.broken_rules = MU_DETECT_BROKEN_HELPERS;
    few_start(few);
    few_run(few, 1037 * MS);
    few_cut_both(few, 3, 4, true);
    few_run(few, 2 * TIMEOUT);
    assert_non_null(few_find(few, MU_DETECT_VERDICT, 3, 0));
    few_free(few);
}

static void a_helper_that_dies_is_replaced(void **state)
{
    (void)state;
    struct few *few = running(16);
    few_cut_both(few, 3, 4, true);
    few_run(few, 2 * TIMEOUT);
    mu_slot first = part_of(few, 4)->taker;
    assert_int_not_equal(first, MU_SLOT_NONE);
    few_kill(few, first);
    few_run(few, 3 * TIMEOUT);
    mu_slot second = part_of(few, 4)->taker;
    assert_int_not_equal(second, MU_SLOT_NONE);
    assert_int_not_equal(second, first);
    assert_int_equal(mu_detect_observer(few->nodes[3].detect), second);
    assert_true(holds_lease(few, 3));
    few_free(few);
}

static bool loses_taken_of_six(const struct few *few, const struct mu_beat *beat)
{
    (void)few;
    return beat->type == MU_BEAT_REPLY && beat->reach == MU_REACH_TAKEN && beat->from == 6;
}

/* Node 6 is asked to take over, and that it did is never heard of. */
static void a_helper_that_does_not_take_is_replaced(void **state)
{
    (void)state;
    struct few *few = running(8);
    few->loses = loses_taken_of_six;
    for (mu_slot slot = 0; slot < 8; slot++) /* at first, only 6 hears 3 */
        if (slot != 6)
            few_cut_one_way(few, 3, slot, true);
    few_run(few, 3 * TIMEOUT / 2);
    assert_int_equal(part_of(few, 4)->taker, 6);
    for (mu_slot slot = 0; slot < 8; slot++)
        if (slot != 4)
            few_cut_one_way(few, 3, slot, false);
    few_run(few, 2 * TIMEOUT);
    assert_int_not_equal(part_of(few, 4)->taker, 6);
    assert_int_not_equal(part_of(few, 4)->taker, MU_SLOT_NONE);
    assert_true(holds_lease(few, 3));
    few_free(few);
}

/* It dies while it is unreachable: its observer finds out through the helpers.  It must be sure
 * that no helper extends a lease any more. */
static void an_unreachable_node_that_dies_is_declared_silent(void **state)
{
    (void)state;
    struct few *few = running(8);
    few_cut_both(few, 3, 4, true);
    few_run(few, 3 * TIMEOUT);
    assert_int_equal(few_count(few, MU_DETECT_REPORT), 1);
    few_kill(few, 3);
    uint64_t killed_ns = few->now_ns;
    few_run(few, 4 * TIMEOUT);
    const struct few_entry *verdict = few_find(few, MU_DETECT_VERDICT, 3, 0);
    assert_non_null(verdict);
    assert_int_equal(verdict->at, 4);
    assert_int_equal(verdict->cause, MU_DETECT_SILENT);
    assert_in_range(verdict->at_ns, killed_ns + TIMEOUT, killed_ns + 2 * TIMEOUT + 55 * MS);
    few_expect_whole(few);
    few_free(few);
}

/* Every word of helpers to node 4 is lost, when one of them has taken over. */
static bool loses_replies_to_four(const struct few *few, const struct mu_beat *beat)
{
    (void)few;
    return beat->type == MU_BEAT_REPLY && beat->to == 4 && beat->reach != MU_REACH_TRYING;
}

/* The observer may be set to other times meanwhile: what it has allowed before goes on. */
static void expect_no_verdict_before_the_lease_is_over(uint64_t set_period_ns)
{
    struct few *few = running(8);
    few_cut_both(few, 3, 4, true);
    few_run(few, 3 * TIMEOUT);
    assert_true(holds_lease(few, 3));
    few->loses = loses_replies_to_four;
    if (set_period_ns != 0)
        few_set(few, 4, set_period_ns, 2 * set_period_ns);
    uint64_t from_ns = few->now_ns;
    while (few_count(few, MU_DETECT_VERDICT) == 0 && few->now_ns < from_ns + 5 * TIMEOUT)
        few_run(few, 1 * MS);
    const struct few_entry *verdict = few_find(few, MU_DETECT_VERDICT, 3, 0);
    assert_non_null(verdict); /* nobody says any more that it lives */
    assert_true(mu_detect_lease_until_ns(few->nodes[3].detect) <= few_clock(few, 3));
    few_free(few);
}

static void nobody_is_declared_while_a_helper_may_extend_its_lease(void **state)
{
    (void)state;
    expect_no_verdict_before_the_lease_is_over(0);
    expect_no_verdict_before_the_lease_is_over(10 * MS);
}

/* Behind a dead node lies one that its new observer cannot reach. */
static void a_suspect_behind_a_dead_one_is_unreachable(void **state)
{
    (void)state;
    struct few *few = running(8);
    few_cut_both(few, 2, 4, true);
    few_kill(few, 3);
    few_run(few, 3 * TIMEOUT);
    assert_int_equal(few_count(few, MU_DETECT_VERDICT), 1);
    assert_non_null(few_find(few, MU_DETECT_VERDICT, 3, 0));
    assert_int_equal(few_count(few, MU_DETECT_REPORT), 1);
    assert_non_null(few_find(few, MU_DETECT_REPORT, 2, 0));
    assert_int_equal(mu_detect_observes(few->nodes[4].detect), 2);
    few_cut_both(few, 2, 4, false);
    few_run(few, 3 * TIMEOUT);
    few_expect_whole(few);
    few_free(few);
}

/* All of 1, 2 and 3 die.  Node 0 is due together with 1, and must have been asked about before. */
static void helpers_are_asked_about_every_suspect(void **state)
{
    (void)state;
    struct few *few = running(64);
    few_cut_both(few, 0, 4, true);
    for (mu_slot slot = 1; slot < 4; slot++)
        few_kill(few, slot);
    few_run(few, 4 * TIMEOUT);
    assert_int_equal(few_count(few, MU_DETECT_VERDICT), 3);
    assert_null(few_find(few, MU_DETECT_VERDICT, 0, 0));
    assert_non_null(few_find(few, MU_DETECT_REPORT, 0, 0));
    few_free(few);
}

/* ---- five timeouts later ---- */

static void at_a_tie_the_higher_slot_goes_the_observer_itself(void **state)
{
    (void)state;
    struct few *few = running(8);
    few_cut_both(few, 3, 4, true);
    few_run(few, 12 * TIMEOUT);
    const struct few_entry *report = few_find(few, MU_DETECT_REPORT, 3, 0);
    const struct few_entry *verdict = few_find(few, MU_DETECT_VERDICT, MU_SLOT_NONE, 0);
    assert_non_null(verdict);
    assert_int_equal(verdict->subject, 4);
    assert_int_equal(verdict->at, 4);
    assert_int_equal(verdict->cause, MU_DETECT_UNREACHABLE);
    assert_in_range(verdict->at_ns - report->at_ns, 5 * TIMEOUT, 7 * TIMEOUT);
    assert_int_equal(verdict->evidence.incarnation, 1);
    assert_int_equal(verdict->evidence.helpers, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(verdict->evidence.helper[i].reach, MU_REACH_HEARD);
    assert_non_null(few_find(few, MU_DETECT_FENCED, 4, verdict->at_ns));
    assert_int_equal(few_count(few, MU_DETECT_FENCED), 1);
    few_run(few, 2 * TIMEOUT);
    assert_int_equal(few_count(few, MU_DETECT_VERDICT), 1);
    few_expect_whole(few);
    few_free(few);
}

/* Around the end of the ring the observer is the lower one: node 0 observes 7. */
static void at_a_tie_the_higher_slot_goes_the_observed(void **state)
{
    (void)state;
    struct few *few = running(8);
    few_cut_both(few, 7, 0, true);
    uint64_t from_ns = few->now_ns;
    while (few_count(few, MU_DETECT_VERDICT) == 0 && few->now_ns < from_ns + 20 * TIMEOUT) {
        few_run(few, 1 * MS);
        if (few_count(few, MU_DETECT_VERDICT) == 0)
            continue;
        /* Its lease was over before. */
        const struct mu_detect *seven = few->nodes[7].detect;
        assert_true(mu_detect_lease_until_ns(seven) <= few_clock(few, 7));
    }
    const struct few_entry *report = few_find(few, MU_DETECT_REPORT, 7, 0);
    const struct few_entry *verdict = few_find(few, MU_DETECT_VERDICT, MU_SLOT_NONE, 0);
    assert_non_null(verdict);
    assert_int_equal(verdict->subject, 7);
    assert_int_equal(verdict->at, 0);
    assert_int_equal(verdict->cause, MU_DETECT_UNREACHABLE);
    assert_in_range(verdict->at_ns - report->at_ns, 5 * TIMEOUT, 10 * TIMEOUT);
    few_run(few, 4 * TIMEOUT);
    assert_non_null(few_find(few, MU_DETECT_FENCED, 7, 0)); /* others reach it, and tell it */
    few_expect_whole(few);
    few_free(few);
}

/* Node 3 reaches few: it goes, although its slot is the lower one. */
static void the_one_that_fewer_reach_goes(void **state)
{
    (void)state;
    struct few *few = running(8);
    for (mu_slot slot = 4; slot < 8; slot++) /* 0, 1, 2 hear it still */
        few_cut_both(few, 3, slot, true);
    few_run(few, 14 * TIMEOUT);
    const struct few_entry *verdict = few_find(few, MU_DETECT_VERDICT, MU_SLOT_NONE, 0);
    assert_non_null(verdict);
    assert_int_equal(verdict->subject, 3);
    assert_int_equal(verdict->at, 4);
    assert_int_equal(verdict->cause, MU_DETECT_UNREACHABLE);
    few_run(few, 4 * TIMEOUT);
    few_expect_whole(few);
    few_free(few);
}

/* It hears nobody, but everybody hears it: it is reported, has no lease, and stops beating to one
 * that does not answer for five timeouts.  Then it is silent. */
static void a_node_that_hears_nobody_goes(void **state)
{
    (void)state;
    struct few *few = running(8);
    for (mu_slot slot = 0; slot < 8; slot++)
        few_cut_one_way(few, slot, 3, true);
    uint64_t cut_ns = few->now_ns;
    few_run(few, TIMEOUT);
    assert_false(holds_lease(few, 3));
    few_run(few, 9 * TIMEOUT);
    assert_non_null(few_find(few, MU_DETECT_REPORT, 3, 0));
    const struct few_entry *verdict = few_find(few, MU_DETECT_VERDICT, MU_SLOT_NONE, 0);
    assert_non_null(verdict);
    assert_int_equal(verdict->subject, 3);
    assert_int_equal(verdict->at, 4);
    assert_true(verdict->at_ns >= cut_ns + 5 * TIMEOUT);
    few_free(few);
}

static void a_path_that_mends_in_time_costs_nobody(void **state)
{
    (void)state;
    for (uint64_t timeouts = 5; timeouts <= 6; timeouts++) {
        struct few *few = running(8);
        few_cut_both(few, 7, 0, true);
        few_run(few, timeouts * TIMEOUT + TIMEOUT / 2);
        few_cut_both(few, 7, 0, false);
        few_run(few, 50 * MS); /* a slack, and two round trips */
        assert_int_equal(mu_detect_observer(few->nodes[7].detect), 0);
        few_run(few, 8 * TIMEOUT);
        assert_int_equal(few_count(few, MU_DETECT_VERDICT), 0);
        assert_int_equal(few_count(few, MU_DETECT_REPORT), 2);
        few_expect_whole(few);
        few_free(few);
    }
}

/* Node 3 hears nothing of 4 for so long that it stops beating to it; just then the path is mended.
 */
static void after_a_path_has_mended_the_observer_asks_for_beats_again(void **state)
{
    (void)state;
    struct few *few = running(8);
    few_cut_one_way(few, 4, 3, true);
    few_run(few, 5 * TIMEOUT + TIMEOUT / 5);
    assert_int_equal(few_count(few, MU_DETECT_REPORT), 1);
    assert_int_not_equal(mu_detect_observer(few->nodes[3].detect), 4);
    few_cut_one_way(few, 4, 3, false);
    few_run(few, 50 * MS);
    assert_int_equal(few_count(few, MU_DETECT_REPORT), 2);
    few_expect_whole(few);
    few_free(few);
}

/* With two nodes nobody can say which of them is cut off. */
static void two_nodes_that_are_cut_off_doubt_themselves(void **state)
{
    (void)state;
    struct few *few = running(2);
    few_cut_both(few, 0, 1, true);
    few_run(few, 20 * TIMEOUT);
    assert_int_equal(few_count(few, MU_DETECT_REPORT), 2); /* that they cannot decide */
    assert_false(holds_lease(few, 0) || holds_lease(few, 1));
    few_cut_both(few, 0, 1, false);
    few_run(few, 3 * TIMEOUT);
    assert_int_equal(few_count(few, MU_DETECT_REPORT), 4); /* and that it is over */
    assert_int_equal(few_count(few, MU_DETECT_VERDICT), 0);
    few_expect_whole(few);
    few_free(few);
}

static void three_nodes_find_out_which_one_is_cut_off(void **state)
{
    (void)state;
    struct few *few = running(3);
    few_cut_off(few, 1, true);
    few_run(few, 4 * TIMEOUT);
    assert_int_equal(few_count(few, MU_DETECT_VERDICT), 1);
    assert_int_equal(few_find(few, MU_DETECT_VERDICT, 1, 0)->at, 2);
    few_cut_off(few, 1, false);
    few_run(few, 4 * TIMEOUT);
    assert_non_null(few_find(few, MU_DETECT_FENCED, 1, 0));
    few_expect_whole(few);
    few_free(few);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_helper_says_trying_and_then_heard),
        cmocka_unit_test(a_helper_says_dead_of_whom_it_knows_dead),
        cmocka_unit_test(what_a_helper_knows_dead_is_out),
        cmocka_unit_test(a_helper_observes_in_the_place_of_the_asker),
        cmocka_unit_test(a_helper_without_room_says_nothing),
        cmocka_unit_test(a_broken_path_is_reported_taken_over_and_mended),
        cmocka_unit_test(without_the_helpers_answer_a_living_node_is_declared),
        cmocka_unit_test(a_helper_that_dies_is_replaced),
        cmocka_unit_test(a_helper_that_does_not_take_is_replaced),
        cmocka_unit_test(an_unreachable_node_that_dies_is_declared_silent),
        cmocka_unit_test(nobody_is_declared_while_a_helper_may_extend_its_lease),
        cmocka_unit_test(a_suspect_behind_a_dead_one_is_unreachable),
        cmocka_unit_test(helpers_are_asked_about_every_suspect),
        cmocka_unit_test(at_a_tie_the_higher_slot_goes_the_observer_itself),
        cmocka_unit_test(at_a_tie_the_higher_slot_goes_the_observed),
        cmocka_unit_test(the_one_that_fewer_reach_goes),
        cmocka_unit_test(a_node_that_hears_nobody_goes),
        cmocka_unit_test(a_path_that_mends_in_time_costs_nobody),
        cmocka_unit_test(after_a_path_has_mended_the_observer_asks_for_beats_again),
        cmocka_unit_test(two_nodes_that_are_cut_off_doubt_themselves),
        cmocka_unit_test(three_nodes_find_out_which_one_is_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
