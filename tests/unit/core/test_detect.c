/* The detector of one node, by hand: watches, freshness, lease and fence (N1, N2, N3, N11).
 *
 * Most tests look at node 4 of 8.  It observes 3 and is observed by 5.  Period 100 ms, timeout 200
 * ms, so the slack is 25 ms, and a beat is missing when it is late by 12.5 ms. */
#include "few_by_hand.h"

enum { NODES = 8, ME = 4, MINE = 3, OBSERVER = 5 };
#define SLACK (25 * MS)
#define LATE  (SLACK / 2)
#define LEASE (100 * MS + LATE) /* timeout - period, and that */

static struct few *node_four_with(uint32_t broken_rules)
{
    struct few *few = few_new(NODES);
    few->config.broken_rules = broken_rules;
    few_start_one(few, ME);
    return few;
}

static struct few *node_four(void)
{
    return node_four_with(0);
}

static struct mu_detect *me(struct few *few)
{
    return few->nodes[ME].detect;
}

/* The nonce of the WATCH that went out in the last step. */
static uint64_t asked_nonce(struct few *few)
{
    const struct mu_beat *watch = few_sent(few, MU_BEAT_WATCH, 0);
    assert_non_null(watch);
    return watch->nonce;
}

static struct mu_beat beat_of_mine(struct few *few, uint64_t nonce, uint64_t stamp_ns)
{
    struct mu_beat beat = few_beat(few, MU_BEAT_BEAT, MINE, ME);
    beat.nonce = nonce;
    beat.stamp_ns = stamp_ns;
    beat.acked_ns = stamp_ns; /* whatever was sent has come back */
    return beat;
}

static struct mu_beat ack_of(struct few *few, mu_slot from, uint64_t nonce, uint64_t stamp_ns)
{
    struct mu_beat ack = few_beat(few, MU_BEAT_ACK, from, ME);
    ack.nonce = nonce;
    ack.stamp_ns = stamp_ns;
    return ack;
}

/* Is watched by 'from', and the beat that goes out at once is acknowledged.  Returns its stamp. */
static uint64_t watched_by(struct few *few, mu_slot from, uint64_t nonce)
{
    few_recv(few, few_watch(few, from, ME, nonce));
    const struct mu_beat *beat = few_sent(few, MU_BEAT_BEAT, 0);
    assert_non_null(beat);
    uint64_t stamp_ns = beat->stamp_ns;
    few_recv(few, ack_of(few, from, nonce, stamp_ns));
    return stamp_ns;
}

/* ---- configuration ---- */

static void a_configuration_is_checked(void **state)
{
    (void)state;
    struct mu_detect_config config;
    mu_detect_config_default(&config, 8, 4);
    assert_null(mu_detect_config_error(&config));
    assert_int_equal(config.period_ns, 100 * MS);
    assert_int_equal(config.timeout_ns, 200 * MS);
    assert_int_equal(config.grace_ns, 10000 * MS);
    struct mu_detect_config bad = config;
    bad.self = 8;
    assert_non_null(mu_detect_config_error(&bad));
    bad = config;
    bad.incarnation = 0;
    assert_non_null(mu_detect_config_error(&bad));
    bad = config;
    bad.size = MU_SIZE_MAX + 1;
    assert_non_null(mu_detect_config_error(&bad));
    bad = config;
    bad.dead = 9;
    assert_non_null(mu_detect_config_error(&bad));
    bad = config;
    bad.nonce = UINT64_C(1) << 63;
    assert_non_null(mu_detect_config_error(&bad));
    bad = config;
    bad.grace_ns = MU_NEVER;
    assert_non_null(mu_detect_config_error(&bad));
    assert_null(mu_detect_times_error(1 * MS, 2 * MS));
    assert_non_null(mu_detect_times_error(1 * MS - 1, 2 * MS));
    assert_non_null(mu_detect_times_error(1 * MS, 2 * MS - 1));
    assert_non_null(mu_detect_times_error(1 * MS, MU_TIMEOUT_NS_MAX + 1));
    assert_null(mu_detect_times_error(1 * MS, MU_TIMEOUT_NS_MAX));
}

static void state_does_not_grow_with_the_machine(void **state)
{
    (void)state;
    struct mu_detect_config small, large;
    mu_detect_config_default(&small, 2, 0);
    mu_detect_config_default(&large, MU_SIZE_MAX, 0);
    small.dead = large.dead = 0;
    assert_int_equal(mu_detect_bytes(&small), mu_detect_bytes(&large));
    assert_true(mu_detect_bytes(&large) <= 1408);
    large.dead = 10;
    assert_true(mu_detect_bytes(&large) <= 1408 + 64 + 2 * 10 * sizeof(struct mu_roster_entry));
}

/* ---- N1: watch ---- */

static void an_observer_asks_again_each_slack_until_a_beat_comes(void **state)
{
    (void)state;
    struct few *few = node_four();
    uint64_t nonce = asked_nonce(few);
    const struct mu_beat *watch = few_sent(few, MU_BEAT_WATCH, 0);
    assert_int_equal(few->update.count, 1);
    assert_int_equal(watch->to, MINE);
    assert_int_equal(watch->period_ns, 100 * MS);
    assert_int_equal(watch->timeout_ns, 200 * MS);
    assert_int_equal(watch->subject, ME);
    assert_int_equal(mu_detect_observes(me(few)), MINE);
    for (int i = 1; i <= 3; i++) {
        uint64_t before_ns = few->now_ns;
        few_fire(few, ME);
        assert_int_equal(few->now_ns - before_ns, SLACK);
        assert_int_equal(few_sent_to(few, MU_BEAT_WATCH, MINE), 1);
        assert_int_equal(asked_nonce(few), nonce);
    }
    few_recv(few, beat_of_mine(few, nonce, 1));
    assert_int_equal(few->update.count, 1);
    const struct mu_beat *ack = few_sent(few, MU_BEAT_ACK, 0);
    assert_non_null(ack);
    assert_int_equal(ack->to, MINE);
    assert_int_equal(ack->nonce, nonce);
    assert_int_equal(ack->stamp_ns, 1);
    uint64_t heard_ns = few->now_ns;
    few_fire(few, ME); /* the next deadline is that of a late beat */
    assert_int_equal(few->now_ns - heard_ns, 100 * MS + LATE);
    assert_null(few_sent(few, MU_BEAT_WATCH, 0));
    assert_int_equal(few_sent_to(few, MU_BEAT_PROBE, MINE), 1);
    few_free(few);
}

static void ends_matter_at_once_where_the_ring_mends(void **state)
{
    (void)state;
    struct few *few = node_four();
    few_recv(few, beat_of_mine(few, asked_nonce(few), 1));
    assert_int_equal(mu_detect_depends_on(me(few)), MINE);
    few_fire(few, ME); /* a beat is missing */
    assert_int_equal(few_sent_to(few, MU_BEAT_PROBE, MINE), 1);
    assert_int_equal(mu_detect_depends_on(me(few)), MU_SLOT_NONE);
    few_free(few);
    few = node_four();
    few_out(few, ME, MINE);
    assert_int_equal(mu_detect_depends_on(me(few)), MINE - 1);
    few_free(few);
}

static void short_times_leave_a_beat_more_of_the_slack(void **state)
{
    (void)state;
    static const struct {
        uint64_t period_us, timeout_us, late_us;
    } cases[] = {{10000, 20000, 2500},      {16000, 36000, 5000},    {25000, 50000, 5000},
                 {50000, 100000, 6250},     {100000, 200000, 12500}, {1000, 2000, 250},
                 {1000000, 2000000, 125000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct few *few = few_new(NODES);
        few->config.period_ns = cases[i].period_us * 1000;
        few->config.timeout_ns = cases[i].timeout_us * 1000;
        few_start_one(few, ME);
        few_recv(few, beat_of_mine(few, asked_nonce(few), 1));
        uint64_t heard_ns = few->now_ns;
        few_fire(few, ME);
        assert_int_equal(few->now_ns - heard_ns, (cases[i].period_us + cases[i].late_us) * 1000);
        assert_int_equal(few_sent_to(few, MU_BEAT_PROBE, MINE), 1);
        few_free(few);
    }
}

static void a_watched_node_beats_at_once_and_then_without_drift(void **state)
{
    (void)state;
    struct few *few = node_four();
    few_recv(few, beat_of_mine(few, asked_nonce(few), 1)); /* nothing else is due for long */
    few_recv(few, few_watch(few, OBSERVER, ME, 7));
    assert_int_equal(few->update.count, 1);
    const struct mu_beat *beat = few_sent(few, MU_BEAT_BEAT, 0);
    assert_int_equal(beat->to, OBSERVER);
    assert_int_equal(beat->nonce, 7);
    assert_int_equal(beat->stamp_ns, few_clock(few, ME));
    assert_int_equal(beat->acked_ns, 0);
    uint64_t first_ns = few->now_ns;
    assert_int_equal(few->nodes[ME].due_ns, first_ns + 100 * MS);
    few->now_ns = first_ns + 103 * MS; /* the timer is late, the rhythm is not */
    few_fire(few, ME);
    assert_int_equal(few_sent_to(few, MU_BEAT_BEAT, OBSERVER), 1);
    assert_int_equal(me(few)->watchers[0].next_beat_ns,
                     first_ns + 200 * MS + few->nodes[ME].clock_ns);
    few_free(few);
}

static void after_a_stall_one_beat_goes_out_and_the_rhythm_starts_there(void **state)
{
    (void)state;
    struct few *few = node_four();
    few_recv(few, few_watch(few, OBSERVER, ME, 7));
    few->now_ns += 530 * MS;
    few_fire(few, ME);
    assert_int_equal(few_sent_to(few, MU_BEAT_BEAT, OBSERVER), 1);
    assert_int_equal(me(few)->watchers[0].next_beat_ns, few_clock(few, ME) + 100 * MS);
    few_fire(few, ME);
    assert_int_equal(few_sent_to(few, MU_BEAT_BEAT, OBSERVER), 0);
    few_free(few);
}

/* Fires until 'until_ns'; how many beats went to 'to'? */
static uint32_t beats_until(struct few *few, mu_slot to, uint64_t until_ns)
{
    uint32_t beats = 0;
    while (few->nodes[ME].due_ns <= until_ns) {
        few_fire(few, ME);
        beats += few_sent_to(few, MU_BEAT_BEAT, to);
    }
    few->now_ns = until_ns;
    return beats;
}

static void a_watch_that_nobody_answers_ends_after_five_timeouts(void **state)
{
    (void)state;
    struct few *few = node_four();
    few_recv(few, few_watch(few, OBSERVER, ME, 7));
    uint64_t from_ns = few->now_ns;
    assert_int_equal(beats_until(few, OBSERVER, from_ns + 950 * MS), 9);
    assert_int_equal(beats_until(few, OBSERVER, from_ns + 3000 * MS), 0);
    few_recv(few, few_watch(few, OBSERVER, ME, 7)); /* its nonce is used up */
    assert_null(few_sent(few, MU_BEAT_BEAT, 0));
    few_recv(few, few_watch(few, OBSERVER, ME, 8));
    assert_non_null(few_sent(few, MU_BEAT_BEAT, 0));
    few_free(few);
}

static void an_acknowledged_watch_goes_on(void **state)
{
    (void)state;
    struct few *few = node_four();
    few_recv(few, few_watch(few, OBSERVER, ME, 7));
    for (int i = 0; i < 30; i++) {
        few_recv(few, ack_of(few, OBSERVER, 7, me(few)->stamp_ns));
        assert_int_equal(beats_until(few, OBSERVER, few->now_ns + 100 * MS), 1);
    }
    assert_int_equal(mu_detect_observer(me(few)), OBSERVER);
    few_free(few);
}

static void watchers_that_leave_or_die_are_beaten_to_no_more(void **state)
{
    (void)state;
    struct few *few = node_four();
    watched_by(few, OBSERVER, 7);
    watched_by(few, 6, 9);
    struct mu_beat release = few_beat(few, MU_BEAT_RELEASE, 6, ME);
    release.subject = ME;
    release.nonce = 8;
    few_recv(few, release); /* of another watch */
    assert_int_equal(beats_until(few, 6, few->now_ns + 100 * MS), 1);
    release.nonce = 9;
    few_recv(few, release);
    assert_int_equal(beats_until(few, 6, few->now_ns + 100 * MS), 0);
    few_out(few, ME, OBSERVER);
    assert_int_equal(beats_until(few, OBSERVER, few->now_ns + 300 * MS), 0);
    assert_int_equal(mu_detect_observer(me(few)), MU_SLOT_NONE);
    few_free(few);
}

static void those_next_onward_are_beaten_to_first(void **state)
{
    (void)state;
    struct few *few = node_four();
    watched_by(few, 7, 1);
    watched_by(few, 1, 1);
    watched_by(few, 2, 1);
    uint64_t dropped = few_dropped(few, ME);
    few_recv(few, few_watch(few, 3, ME, 1)); /* stands farther onward than all of them */
    assert_null(few_sent(few, MU_BEAT_BEAT, 0));
    assert_int_equal(few_dropped(few, ME), dropped + 1);
    watched_by(few, OBSERVER, 1); /* takes the place of 2 */
    few_fire(few, ME);
    few->now_ns += 100 * MS;
    few_fire(few, ME);
    assert_int_equal(few_sent_to(few, MU_BEAT_BEAT, OBSERVER), 1);
    assert_int_equal(few_sent_to(few, MU_BEAT_BEAT, 2), 0);
    few_free(few);
}

static void a_beat_that_nobody_asked_for_is_answered_with_release(void **state)
{
    (void)state;
    struct few *few = node_four();
    struct mu_beat beat = few_beat(few, MU_BEAT_BEAT, 1, ME);
    beat.nonce = 99;
    beat.stamp_ns = 5;
    few_recv(few, beat);
    const struct mu_beat *release = few_sent(few, MU_BEAT_RELEASE, 0);
    assert_non_null(release);
    assert_int_equal(release->to, 1);
    assert_int_equal(release->nonce, 99);
    assert_int_equal(release->subject, 1);
    assert_int_equal(few->update.count, 1);
    few_free(few);
}

/* ---- N2: fresh ---- */

/* Does a beat put off the time at which mine is late? */
static bool is_news(struct few *few, struct mu_beat beat)
{
    few->now_ns += 10 * MS;
    uint64_t before_ns = me(few)->ring[MU_RING_NEAREST].heard_ns;
    few_recv(few, beat);
    return me(few)->ring[MU_RING_NEAREST].heard_ns > before_ns;
}

static void a_beat_counts_once_and_only_with_the_nonce_of_the_watch(void **state)
{
    (void)state;
    struct few *few = node_four();
    uint64_t nonce = asked_nonce(few);
    assert_false(is_news(few, beat_of_mine(few, nonce - 1, 50)));
    assert_int_equal(few->update.count, 0);
    assert_true(is_news(few, beat_of_mine(few, nonce, 50)));
    uint64_t dropped = few_dropped(few, ME);
    assert_false(is_news(few, beat_of_mine(few, nonce, 50)));     /* a repeat */
    assert_false(is_news(few, beat_of_mine(few, nonce, 49)));     /* an older one */
    assert_false(is_news(few, beat_of_mine(few, nonce + 1, 60))); /* nobody sent that WATCH */
    assert_false(is_news(few, beat_of_mine(few, 0, 60)));
    assert_int_equal(few->update.count, 0);
    assert_int_equal(few_dropped(few, ME), dropped + 4);
    struct mu_beat strange = beat_of_mine(few, nonce, 60);
    strange.acked_ns = 61; /* nobody can acknowledge what was not sent yet */
    assert_false(is_news(few, strange));
    strange = beat_of_mine(few, nonce, 60);
    strange.from_incarnation++;
    assert_false(is_news(few, strange));
    assert_true(is_news(few, beat_of_mine(few, nonce, 60)));
    few_free(few);
    few = node_four_with(MU_DETECT_BROKEN_NONCE);
    assert_true(is_news(few, beat_of_mine(few, 1, 50)));
    few_free(few);
    few = node_four_with(MU_DETECT_BROKEN_STAMP);
    nonce = asked_nonce(few);
    assert_true(is_news(few, beat_of_mine(few, nonce, 50)));
    assert_true(is_news(few, beat_of_mine(few, nonce, 50)));
    few_free(few);
}

/* The times were set twice, and mine knows of the first change only.  It lives; but its lease would
 * run by times that are not in force here. */
static void a_beat_under_other_times_is_not_acknowledged(void **state)
{
    (void)state;
    struct few *few = node_four();
    const struct mu_watch *watch = &me(few)->ring[MU_RING_NEAREST];
    assert_true(is_news(few, beat_of_mine(few, asked_nonce(few), 50)));
    few_set(few, ME, 1000 * MS, 9000 * MS);
    uint64_t between = asked_nonce(few);
    few_set(few, ME, 300 * MS, 700 * MS);
    uint64_t last = asked_nonce(few);
    assert_true(is_news(few, beat_of_mine(few, between, 60)));
    assert_null(few_sent(few, MU_BEAT_ACK, 0));
    assert_int_equal(watch->timeout_ns, 200 * MS);
    assert_true(is_news(few, beat_of_mine(few, last, 70)));
    assert_non_null(few_sent(few, MU_BEAT_ACK, 0));
    assert_int_equal(watch->timeout_ns, 700 * MS);
    assert_false(is_news(few, beat_of_mine(few, between, 80))); /* not back again */
    few_free(few);
}

static void an_older_watch_changes_nothing(void **state)
{
    (void)state;
    struct few *few = node_four();
    watched_by(few, OBSERVER, 7);
    struct mu_beat old = few_watch(few, OBSERVER, ME, 6);
    old.period_ns = 10 * MS;
    uint64_t dropped = few_dropped(few, ME);
    few_recv(few, old);
    old.nonce = 7;
    few_recv(few, old);
    assert_int_equal(few_dropped(few, ME), dropped + 2);
    assert_null(few_sent(few, MU_BEAT_BEAT, 0));
    assert_int_equal(me(few)->watchers[0].period_ns, 100 * MS);
    old.nonce = 8;
    few_recv(few, old);
    assert_non_null(few_sent(few, MU_BEAT_BEAT, 0));
    assert_int_equal(me(few)->watchers[0].period_ns, 10 * MS);
    few_free(few);
    few = node_four_with(MU_DETECT_BROKEN_OLD_WATCH);
    watched_by(few, OBSERVER, 7);
    few_recv(few, few_watch(few, OBSERVER, ME, 6));
    assert_non_null(few_sent(few, MU_BEAT_BEAT, 0));
    few_free(few);
}

/* The observer waits and asks again: that is a word, and no reason to give it up. */
static void a_watch_that_is_repeated_does_not_end(void **state)
{
    (void)state;
    struct few *few = node_four();
    for (int i = 0; i < 100; i++) {
        few_recv(few, few_watch(few, OBSERVER, ME, 7));
        assert_non_null(few_sent(few, MU_BEAT_BEAT, 0));
        few->now_ns += SLACK;
    }
    few_free(few);
}

/* The first beat was lost: the observer asks again, with the same nonce. */
static void a_repeated_watch_is_answered_until_the_first_acknowledgement(void **state)
{
    (void)state;
    struct few *few = node_four();
    few_recv(few, few_watch(few, OBSERVER, ME, 7));
    uint64_t first_ns = few_sent(few, MU_BEAT_BEAT, 0)->stamp_ns;
    few_recv(few, few_watch(few, OBSERVER, ME, 7));
    const struct mu_beat *again = few_sent(few, MU_BEAT_BEAT, 0);
    assert_non_null(again);
    assert_true(again->stamp_ns > first_ns); /* no two beats have the same stamp */
    few_recv(few, ack_of(few, OBSERVER, 7, again->stamp_ns));
    few_recv(few, few_watch(few, OBSERVER, ME, 7));
    assert_int_equal(few->update.count, 0);
    few_recv(few, few_watch(few, OBSERVER, ME, 8)); /* a new watch: the same again */
    few_recv(few, few_watch(few, OBSERVER, ME, 8));
    assert_non_null(few_sent(few, MU_BEAT_BEAT, 0));
    few_free(few);
}

static void a_watch_with_impossible_times_is_dropped(void **state)
{
    (void)state;
    struct few *few = node_four();
    struct mu_beat watch = few_watch(few, OBSERVER, ME, 7);
    watch.timeout_ns = 150 * MS;
    few_recv(few, watch);
    watch = few_watch(few, OBSERVER, ME, 7);
    watch.period_ns = 0;
    few_recv(few, watch);
    watch = few_watch(few, OBSERVER, ME, 7);
    watch.subject = ME; /* nobody observes itself */
    few_recv(few, watch);
    assert_int_equal(few->update.count, 0);
    assert_int_equal(few_dropped(few, ME), 3);
    few_free(few);
}

static void what_is_not_for_this_incarnation_is_dropped_and_counted(void **state)
{
    (void)state;
    struct few *few = node_four();
    struct mu_beat probe = few_beat(few, MU_BEAT_PROBE, 1, ME);
    probe.subject = 1;
    probe.subject_incarnation = 1;
    struct mu_beat bad = probe;
    bad.type = MU_BEAT_LAST + 1;
    few_recv(few, bad);
    bad = probe;
    bad.type = 0;
    few_recv(few, bad);
    bad = probe;
    bad.reach = MU_REACH_LAST + 1;
    few_recv(few, bad);
    bad = probe;
    bad.from = NODES;
    few_recv(few, bad);
    bad = probe;
    bad.from = ME;
    few_recv(few, bad);
    bad = probe;
    bad.subject = NODES;
    few_recv(few, bad);
    bad = probe;
    bad.from_incarnation = 0;
    few_recv(few, bad);
    bad = probe;
    bad.to_incarnation = 2;
    few_recv(few, bad);
    bad = probe;
    bad.to = 5; /* handed over to the wrong one */
    struct mu_detect_event event = {.type = MU_DETECT_RECV, .beat = &bad};
    few_step(few, ME, event);
    assert_int_equal(few_dropped(few, ME), 9);
    assert_int_equal(few->update.count, 0);
    probe.to_incarnation = 0; /* who has not heard this node yet means whichever it is */
    few_recv(few, probe);
    const struct mu_beat *answer = few_sent(few, MU_BEAT_ANSWER, 0);
    assert_non_null(answer);
    assert_int_equal(answer->acked_ns, few_clock(few, ME));
    assert_int_equal(few_dropped(few, ME), 9);
    few_free(few);
}

/* ---- N2: answers ---- */

/* The probe that went out to a slot in the last step. */
static struct mu_beat probe_to(const struct few *few, mu_slot slot)
{
    const struct mu_beat *probe;
    uint32_t n = 0;
    do
        probe = few_sent(few, MU_BEAT_PROBE, n++);
    while (probe != NULL && probe->to != slot);
    assert_non_null(probe);
    return *probe;
}

/* Mine was heard once, and is late now.  Returns the probe that went out. */
static struct mu_beat late(struct few *few)
{
    few_recv(few, beat_of_mine(few, asked_nonce(few), 1000));
    few_fire(few, ME);
    return probe_to(few, MINE);
}

static struct mu_beat answer_to(struct few *few, const struct mu_beat *probe, uint64_t clock_ns)
{
    struct mu_beat answer = few_beat(few, MU_BEAT_ANSWER, probe->to, ME);
    answer.nonce = probe->nonce;
    answer.stamp_ns = probe->stamp_ns;
    answer.subject = probe->subject;
    answer.subject_incarnation = probe->subject_incarnation;
    answer.acked_ns = clock_ns;
    return answer;
}

static void an_answer_is_a_sign_of_life_once(void **state)
{
    (void)state;
    struct few *few = node_four();
    struct mu_beat probe = late(few);
    assert_int_equal(probe.to, MINE);
    assert_int_equal(probe.subject, ME);
    assert_true(is_news(few, answer_to(few, &probe, 2000)));
    assert_false(is_news(few, answer_to(few, &probe, 2000)));
    few_free(few);
}

static void an_answer_to_nobodys_question_or_to_an_old_one_is_nothing(void **state)
{
    (void)state;
    struct few *few = node_four();
    struct mu_beat probe = late(few);
    struct mu_beat strange = answer_to(few, &probe, 2000);
    strange.nonce = me(few)->nonce + 1;
    assert_false(is_news(few, strange));
    strange = answer_to(few, &probe, 2000);
    strange.stamp_ns = few_clock(few, ME) + 1000 * MS;
    assert_false(is_news(few, strange));
    uint64_t asked_ns = few->now_ns;
    while (few->nodes[ME].due_ns < asked_ns + 200 * MS)
        few_fire(few, ME);
    few->now_ns = asked_ns + 200 * MS + 1;
    assert_false(is_news(few, answer_to(few, &probe, 2000)));
    few_free(few);
}

/* Node 2 was probed while mine was late.  When it comes to be observed, nothing that it has said is
 * remembered: a recorded answer to that probe would look new. */
static void an_answer_to_a_question_from_before_the_watch_is_nothing(void **state)
{
    (void)state;
    struct few *few = node_four();
    struct mu_beat probe = late(few), before = probe_to(few, 2);
    assert_true(is_news(few, answer_to(few, &probe, 2000)));
    few_out(few, ME, MINE);
    assert_int_equal(me(few)->ring[MU_RING_NEAREST].slot, 2);
    uint64_t dropped = few_dropped(few, ME);
    assert_false(is_news(few, answer_to(few, &before, 2000)));
    assert_int_equal(few_dropped(few, ME), dropped + 1);
    while (few_sent_to(few, MU_BEAT_PROBE, 2) == 0)
        few_fire(few, ME);
    probe = probe_to(few, 2);
    assert_true(is_news(few, answer_to(few, &probe, 2001)));
    few_free(few);
}

/* Mine was late once before, and node 2 was probed then.  Now it may be dead. */
static void an_answer_from_an_earlier_suspicion_clears_nobody(void **state)
{
    (void)state;
    struct few *few = node_four();
    struct mu_beat probe = late(few), before = probe_to(few, 2);
    assert_true(is_news(few, answer_to(few, &probe, 2000)));
    while (few_sent_to(few, MU_BEAT_PROBE, 2) == 0)
        few_fire(few, ME);
    probe = probe_to(few, 2);
    uint64_t dropped = few_dropped(few, ME);
    few_recv(few, answer_to(few, &before, 2000));
    assert_int_equal(few_dropped(few, ME), dropped + 1);
    assert_int_equal(me(few)->ring[MU_RING_MENDED].slot, MU_SLOT_NONE);
    few_recv(few, answer_to(few, &probe, 2001));
    assert_int_equal(me(few)->ring[MU_RING_MENDED].slot, 2);
    few_free(few);
}

/* A beat was held back; d has answered since.  It is acknowledged, for d's lease, but says nothing
 * of whether d still lives. */
static void a_beat_from_before_an_answer_is_acknowledged_and_no_news(void **state)
{
    (void)state;
    struct few *few = node_four();
    struct mu_beat probe = late(few);
    uint64_t nonce = me(few)->ring[MU_RING_NEAREST].nonce;
    assert_true(is_news(few, answer_to(few, &probe, 3000)));
    assert_false(is_news(few, beat_of_mine(few, nonce, 2000)));
    assert_non_null(few_sent(few, MU_BEAT_ACK, 0));
    assert_true(is_news(few, beat_of_mine(few, nonce, 3001)));
    few_free(few);
}

/* ---- N3: lease ---- */

static void expect_lease(struct few *few, bool held)
{
    assert_int_equal(few->update.count > 0, true);
    const struct mu_detect_effect *last = &few->update.effects[few->update.count - 1];
    assert_int_equal(last->type, MU_DETECT_LEASE);
    assert_int_equal(last->held, held);
    assert_int_equal(mu_detect_lease_held(me(few)), held);
}

static void the_lease_runs_from_the_stamp_that_was_acknowledged(void **state)
{
    (void)state;
    struct few *few = node_four();
    assert_false(mu_detect_lease_held(me(few)));
    few_recv(few, few_watch(few, OBSERVER, ME, 7));
    uint64_t stamp_ns = me(few)->stamp_ns, from_ns = few->now_ns;
    assert_false(mu_detect_lease_held(me(few)));
    few->now_ns += 60 * MS; /* the acknowledgement takes long, and extends nothing */
    few_recv(few, ack_of(few, OBSERVER, 7, stamp_ns));
    expect_lease(few, true);
    assert_int_equal(mu_detect_lease_until_ns(me(few)), stamp_ns + LEASE);
    few_recv(few, ack_of(few, OBSERVER, 7, stamp_ns)); /* recorded */
    assert_int_equal(mu_detect_lease_until_ns(me(few)), stamp_ns + LEASE);
    few_recv(few, ack_of(few, OBSERVER, 7, stamp_ns + 1)); /* never sent */
    few_recv(few, ack_of(few, OBSERVER, 6, stamp_ns));     /* of an older watch */
    assert_int_equal(mu_detect_lease_until_ns(me(few)), stamp_ns + LEASE);
    while (mu_detect_lease_held(me(few)))
        few_fire(few, ME);
    expect_lease(few, false);
    assert_int_equal(few->now_ns, from_ns + LEASE);
    few_free(few);
    few = node_four_with(MU_DETECT_BROKEN_LEASE);
    watched_by(few, OBSERVER, 7);
    few->now_ns += 1000 * MS;
    few_fire(few, ME);
    assert_true(mu_detect_lease_held(me(few)));
    few_free(few);
}

static void an_older_acknowledgement_does_not_shorten_the_lease(void **state)
{
    (void)state;
    struct few *few = node_four();
    uint64_t first_ns = watched_by(few, OBSERVER, 7);
    few->now_ns += 100 * MS;
    few_fire(few, ME);
    uint64_t second_ns = me(few)->stamp_ns;
    assert_true(second_ns > first_ns);
    few_recv(few, ack_of(few, OBSERVER, 7, second_ns));
    uint64_t dropped = few_dropped(few, ME);
    few_recv(few, ack_of(few, OBSERVER, 7, first_ns));
    assert_int_equal(few_dropped(few, ME), dropped + 1);
    assert_int_equal(mu_detect_lease_until_ns(me(few)), second_ns + LEASE);
    few_free(few);
}

/* Node 5 is the one that may declare node 4, whatever 6 acknowledges; but when it dies, 6 is. */
static void the_least_of_several_leases_counts(void **state)
{
    (void)state;
    struct few *few = node_four();
    uint64_t five_ns = watched_by(few, OBSERVER, 7);
    few->now_ns += 50 * MS;
    uint64_t six_ns = watched_by(few, 6, 7);
    assert_true(six_ns > five_ns);
    assert_int_equal(mu_detect_lease_until_ns(me(few)), five_ns + LEASE);
    while (few_sent_to(few, MU_BEAT_BEAT, OBSERVER) == 0)
        few_fire(few, ME);
    few_recv(few, ack_of(few, OBSERVER, 7, few_sent(few, MU_BEAT_BEAT, 0)->stamp_ns));
    assert_int_equal(mu_detect_lease_until_ns(me(few)), six_ns + LEASE);
    few_out(few, ME, OBSERVER);
    assert_int_equal(mu_detect_lease_until_ns(me(few)), six_ns + LEASE);
    few_free(few);
}

/* Node 6 was set to a shorter timeout, and 5, which was not, has died: nobody has said so yet. */
static void a_shorter_timeout_of_a_farther_observer_shortens_the_lease(void **state)
{
    (void)state;
    struct few *few = node_four();
    watched_by(few, OBSERVER, 7);
    struct mu_beat watch = few_watch(few, 6, ME, 7);
    watch.period_ns = 10 * MS;
    watch.timeout_ns = 20 * MS;
    uint64_t lease_ns = mu_detect_lease_until_ns(me(few));
    few_recv(few, watch);
    assert_int_equal(mu_detect_lease_until_ns(me(few)), lease_ns); /* it has only asked */
    uint64_t stamp_ns = few_sent(few, MU_BEAT_BEAT, 0)->stamp_ns;
    few_recv(few, ack_of(few, 6, 7, stamp_ns));
    assert_int_equal(mu_detect_lease_until_ns(me(few)), stamp_ns + 10 * MS + 5 * MS / 2);
    few_free(few);
}

static void a_helper_counts_in_the_place_of_the_observer(void **state)
{
    (void)state;
    struct few *few = node_four();
    watched_by(few, OBSERVER, 7);
    few->now_ns += 50 * MS;
    struct mu_beat watch = few_watch(few, 1, ME, 9);
    watch.subject = OBSERVER;
    few_recv(few, watch);
    uint64_t stamp_ns = me(few)->stamp_ns;
    few_recv(few, ack_of(few, 1, 9, stamp_ns));
    assert_int_equal(mu_detect_lease_until_ns(me(few)), stamp_ns + LEASE);
    few_out(few, ME, OBSERVER); /* and goes with it; but nobody declares before that is over */
    assert_int_equal(mu_detect_lease_until_ns(me(few)), stamp_ns + LEASE);
    while (mu_detect_lease_held(me(few)))
        few_fire(few, ME);
    assert_int_equal(few_clock(few, ME), stamp_ns + LEASE);
    few_free(few);
}

/* Beats go out, and nobody acknowledges them, until the lease is over. */
static void lose_lease(struct few *few)
{
    while (mu_detect_lease_held(me(few)))
        few_fire(few, ME);
}

static void acknowledge_last(struct few *few, mu_slot from, uint64_t nonce)
{
    few_recv(few, ack_of(few, from, nonce, me(few)->stamp_ns));
}

static void an_ended_lease_comes_back_from_the_same_observer_at_once(void **state)
{
    (void)state;
    struct few *few = node_four();
    watched_by(few, OBSERVER, 7);
    lose_lease(few);
    few_fire(few, ME); /* the next beat */
    acknowledge_last(few, OBSERVER, 7);
    expect_lease(few, true);
    few_free(few);
}

/* From another one a timeout after both: it took over, and the lease was over.  Until then the one
 * before it may have declared this node, and the word of that may be on its way. */
static void an_ended_lease_comes_back_from_another_one_a_timeout_later(void **state)
{
    (void)state;
    for (int is_out = 0; is_out < 2; is_out++) {
        struct few *few = node_four();
        watched_by(few, OBSERVER, 7);
        lose_lease(few);
        uint64_t ended_ns = few_clock(few, ME);
        if (is_out)
            few_out(few, ME, OBSERVER);
        few_recv(few, few_watch(few, 6, ME, 9));
        uint64_t since_ns = few_clock(few, ME);
        assert_true(since_ns >= ended_ns);
        for (int i = 0; !mu_detect_lease_held(me(few)); i++) {
            assert_true(i < 100);
            acknowledge_last(few, 6, 9);
            few_fire(few, ME);
        }
        assert_in_range(few_clock(few, ME), since_ns + 200 * MS, since_ns + 301 * MS);
        assert_int_equal(mu_detect_lease_held(me(few)), true);
        uint32_t beats = 0; /* the silent one may live: it is beaten to */
        for (int i = 0; i < 20; i++) {
            few_fire(few, ME);
            beats += few_sent_to(few, MU_BEAT_BEAT, OBSERVER);
        }
        assert_int_equal(beats > 0, !is_out);
        few_free(few);
    }
    struct few *few = node_four_with(MU_DETECT_BROKEN_LEASE_BACK);
    watched_by(few, OBSERVER, 7);
    lose_lease(few);
    few_recv(few, few_watch(few, 6, ME, 9));
    acknowledge_last(few, 6, 9);
    assert_true(mu_detect_lease_held(me(few)));
    few_free(few);
}

/* A nearer observer appears: one round trip until its first acknowledgement is bridged. */
static void a_new_observer_takes_the_lease_over(void **state)
{
    (void)state;
    struct few *few = node_four();
    watched_by(few, 6, 7);
    few_recv(few, few_watch(few, OBSERVER, ME, 7));
    assert_true(mu_detect_lease_held(me(few)));
    assert_int_equal(mu_detect_lease_until_ns(me(few)), few_clock(few, ME) + SLACK);
    few_free(few);
}

static void a_new_timeout_counts_for_the_lease_from_the_beat_that_follows(void **state)
{
    (void)state;
    struct few *few = node_four();
    uint64_t stamp_ns = watched_by(few, OBSERVER, 7);
    struct mu_beat watch = few_watch(few, OBSERVER, ME, 8);
    watch.timeout_ns = 10000 * MS; /* longer: only when acknowledged */
    few->now_ns += 10 * MS;
    few_recv(few, watch);
    assert_int_equal(mu_detect_lease_until_ns(me(few)), stamp_ns + LEASE);
    few_recv(few, ack_of(few, OBSERVER, 8, me(few)->stamp_ns));
    uint64_t long_ns = mu_detect_lease_until_ns(me(few));
    assert_true(long_ns > stamp_ns + 7000 * MS);
    watch = few_watch(few, OBSERVER, ME, 9);
    watch.period_ns = 10 * MS; /* shorter: at once */
    watch.timeout_ns = 20 * MS;
    few_recv(few, watch);
    assert_true(mu_detect_lease_held(me(few)));
    assert_int_equal(mu_detect_lease_until_ns(me(few)), few_clock(few, ME) + 10 * MS + 5 * MS / 2);
    few_free(few);
}

static void who_is_alone_holds_its_lease(void **state)
{
    (void)state;
    struct few *few = few_new(1);
    few_start_one(few, 0);
    assert_true(mu_detect_lease_held(few->nodes[0].detect));
    assert_int_equal(few->nodes[0].due_ns, MU_NEVER);
    assert_int_equal(mu_detect_observes(few->nodes[0].detect), MU_SLOT_NONE);
    few_free(few);
    few = few_new(2);
    few_start_one(few, 0);
    assert_false(mu_detect_lease_held(few->nodes[0].detect));
    few_out_proven(few, 0, 1);
    assert_true(mu_detect_lease_held(few->nodes[0].detect));
    assert_int_equal(mu_detect_lease_until_ns(few->nodes[0].detect), MU_NEVER);
    few_free(few);
}

/* Without proof the other one may live, and think the same.  Proof may come later; but what has
 * ended meanwhile does not come back. */
static void who_is_alone_without_proof_has_no_lease(void **state)
{
    (void)state;
    struct few *few = few_new(2);
    few_start_one(few, 0);
    few_out(few, 0, 1);
    assert_false(mu_detect_lease_held(few->nodes[0].detect));
    few_out_proven(few, 0, 1);
    assert_true(mu_detect_lease_held(few->nodes[0].detect)); /* it never ended */
    few_free(few);
    few = few_started(2);
    few_run(few, 1037 * MS);
    few_kill(few, 1);
    few_out(few, 0, 1);
    assert_true(mu_detect_lease_held(few->nodes[0].detect)); /* until it is over */
    few_run(few, 200 * MS);
    assert_false(mu_detect_lease_held(few->nodes[0].detect));
    few_out_proven(few, 0, 1);
    assert_false(mu_detect_lease_held(few->nodes[0].detect));
    few_free(few);
}

/* ---- N10, N11: out, and fenced ---- */

static void what_the_dead_say_is_answered_with_dead(void **state)
{
    (void)state;
    struct few *few = node_four();
    watched_by(few, OBSERVER, 7);
    few_out(few, ME, OBSERVER);
    for (int type = MU_BEAT_WATCH; type < MU_BEAT_DEAD; type++) {
        struct mu_beat beat = few_watch(few, OBSERVER, ME, 8);
        beat.type = (uint8_t)type;
        few_recv(few, beat);
        const struct mu_beat *dead = few_sent(few, MU_BEAT_DEAD, 0);
        assert_non_null(dead);
        assert_int_equal(few->update.count, 1);
        assert_int_equal(dead->to, OBSERVER);
        assert_int_equal(dead->subject, OBSERVER);
        assert_int_equal(dead->subject_incarnation, 1);
    }
    struct mu_beat later = few_watch(few, OBSERVER, ME, 9);
    later.from_incarnation = 2; /* for views to admit: not dead, and not in */
    few_recv(few, later);
    assert_int_equal(few->update.count, 0);
    few_free(few);
}

static struct mu_beat dead_of(struct few *few, mu_slot from, uint32_t incarnation)
{
    struct mu_beat dead = few_beat(few, MU_BEAT_DEAD, from, ME);
    dead.to_incarnation = incarnation;
    dead.subject = ME;
    dead.subject_incarnation = incarnation;
    return dead;
}

static void expect_fenced(struct few *few, mu_slot by)
{
    const struct mu_detect_effect *last = &few->update.effects[few->update.count - 1];
    assert_int_equal(last->type, MU_DETECT_FENCED);
    assert_int_equal(last->by, by);
    assert_int_equal(few->update.deadline_ns, MU_NEVER);
    assert_false(mu_detect_lease_held(me(few)));
    assert_int_equal(mu_detect_lease_until_ns(me(few)), 0);
    struct mu_beat watch = few_watch(few, 6, ME, 100);
    few_recv(few, watch);
    assert_int_equal(few->update.count, 0);
    few->now_ns += 1000 * MS;
    few_step(few, ME, (struct mu_detect_event){.type = MU_DETECT_TIMEOUT});
    assert_int_equal(few->update.count, 0);
    assert_int_equal(few->update.deadline_ns, MU_NEVER);
    few_out(few, ME, 6);
    few_set(few, ME, 10 * MS, 20 * MS);
    assert_int_equal(few->update.count, 0);
}

static void who_hears_of_its_own_death_is_fenced(void **state)
{
    (void)state;
    struct few *few = node_four();
    watched_by(few, OBSERVER, 7);
    few_recv(few, dead_of(few, 1, 1));
    assert_int_equal(few->update.count, 2); /* the lease goes first */
    assert_int_equal(few->update.effects[0].type, MU_DETECT_LEASE);
    expect_fenced(few, 1);
    few_free(few);
    few = node_four();
    few_out(few, ME, 1);
    few_recv(few, dead_of(few, 1, 1)); /* also from one that is out: they accused each other */
    expect_fenced(few, 1);
    few_free(few);
    few = node_four();
    few_out(few, ME, ME);
    expect_fenced(few, ME);
    few_free(few);
}

static void the_death_of_an_earlier_incarnation_is_not_ones_own(void **state)
{
    (void)state;
    struct few *few = few_new(NODES);
    few->config.incarnation = 3;
    few_start_one(few, ME);
    few_recv(few, dead_of(few, 1, 2));
    assert_int_equal(few->update.count, 0);
    assert_false(me(few)->fenced);
    struct mu_beat of_other = dead_of(few, 1, 3);
    of_other.subject = 5;
    few_recv(few, of_other);
    assert_false(me(few)->fenced);
    few_step(
        few, ME,
        (struct mu_detect_event){.type = MU_DETECT_OUT, .out = {.slot = ME, .incarnation = 2}});
    assert_false(me(few)->fenced);
    few_recv(few, dead_of(few, 1, 3));
    assert_true(me(few)->fenced);
    few_free(few);
    few = few_new(NODES);
    few->config.incarnation = 3;
    few->config.broken_rules = MU_DETECT_BROKEN_FENCE_ORIGIN;
    few_start_one(few, ME);
    few_recv(few, dead_of(few, 1, 2));
    assert_true(me(few)->fenced);
    few_free(few);
}

static void a_node_that_is_out_is_skipped(void **state)
{
    (void)state;
    struct few *few = node_four();
    few_out(few, ME, MINE);
    assert_int_equal(few_sent_to(few, MU_BEAT_WATCH, 2), 1);
    assert_int_equal(few->update.count, 1);
    assert_int_equal(mu_detect_observes(me(few)), 2);
    few_out(few, ME, MINE); /* known */
    assert_int_equal(few->update.count, 0);
    few_out(few, ME, 0);
    assert_int_equal(few->update.count, 0);
    few_out(few, ME, 2);
    few_out(few, ME, 1);
    assert_int_equal(mu_detect_observes(me(few)), 7);
    few_step(few, ME, (struct mu_detect_event){.type = MU_DETECT_OUT, .out = {.slot = NODES}});
    assert_int_equal(few->update.count, 0);
    few_free(few);
}

static void a_death_that_cannot_be_kept_is_a_fault(void **state)
{
    (void)state;
    struct few *few = few_new(NODES);
    few->config.dead = 1;
    few_start_one(few, ME);
    watched_by(few, OBSERVER, 7);
    few_out(few, ME, 0);
    assert_int_equal(few->update.count, 0);
    few_out(few, ME, OBSERVER);
    assert_int_equal(few->update.effects[0].type, MU_DETECT_FAULT);
    assert_int_equal(few->update.effects[0].fault, MU_FAULT_DEAD_FULL);
    assert_int_equal(mu_detect_observer(me(few)), MU_SLOT_NONE); /* nobody beats to the dead */
    few_out(few, ME, 0);                                         /* has its place */
    assert_int_equal(few->update.count, 0);
    few_free(few);
}

/* ---- the rest of the door ---- */

static void the_same_events_give_the_same_fingerprint(void **state)
{
    (void)state;
    struct few *a = node_four(), *b = node_four();
    struct mu_fingerprint one, two;
    watched_by(a, OBSERVER, 7);
    watched_by(b, OBSERVER, 7);
    mu_fingerprint_init(&one);
    mu_fingerprint_init(&two);
    mu_detect_fingerprint(me(a), &one);
    mu_detect_fingerprint(me(b), &two);
    assert_memory_equal(&one, &two, sizeof one);
    few_recv(b, dead_of(b, 1, 1));
    mu_fingerprint_init(&two);
    mu_detect_fingerprint(me(b), &two);
    assert_memory_not_equal(&one, &two, sizeof one);
    few_free(a);
    few_free(b);
}

static void datagrams_are_counted(void **state)
{
    (void)state;
    struct few *few = node_four();
    watched_by(few, OBSERVER, 7);
    const struct mu_detect_counts *counts = mu_detect_counts(me(few));
    assert_int_equal(counts->sent[MU_BEAT_WATCH], 1);
    assert_int_equal(counts->sent[MU_BEAT_BEAT], 1);
    assert_int_equal(counts->received[MU_BEAT_WATCH], 1);
    assert_int_equal(counts->received[MU_BEAT_ACK], 1);
    assert_int_equal(counts->dropped, 0);
    few_free(few);
}

/* A million nodes, and nobody answers: everybody is probed in time, 64 effects a step at most. */
static void a_long_batch_goes_out_over_several_steps(void **state)
{
    (void)state;
    enum { MILLION = 1 << 20 };
    struct mu_detect_config config;
    mu_detect_config_default(&config, MILLION, 5);
    config.grace_ns = 0;
    config.dead = 0;
    void *memory = NULL;
    size_t bytes = mu_detect_bytes(&config);
    assert_int_equal(posix_memalign(&memory, 64, bytes), 0);
    struct mu_detect *detect = mu_detect_init(memory, bytes, &config);
    struct mu_detect_effect effects[MU_DETECT_EFFECTS_MAX];
    struct mu_detect_update update = {.effects = effects, .capacity = MU_DETECT_EFFECTS_MAX};
    struct mu_detect_event event = {.type = MU_DETECT_START, .now_ns = 1000 * MS};
    mu_detect_step(detect, &event, &update);
    event.type = MU_DETECT_TIMEOUT;
    uint8_t *probed = calloc(MILLION, 1);
    uint32_t count = 0;
    while (update.deadline_ns < 1200 * MS) {
        event.now_ns = update.deadline_ns;
        mu_detect_step(detect, &event, &update);
        assert_true(update.count <= MU_DETECT_EFFECTS_MAX);
        for (uint32_t i = 0; i < update.count; i++)
            if (effects[i].type == MU_DETECT_SEND && effects[i].beat.type == MU_BEAT_PROBE &&
                probed[effects[i].beat.to]++ == 0)
                count++;
    }
    assert_int_equal(count, MILLION - 1);
    free(probed);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_configuration_is_checked),
        cmocka_unit_test(state_does_not_grow_with_the_machine),
        cmocka_unit_test(an_observer_asks_again_each_slack_until_a_beat_comes),
        cmocka_unit_test(short_times_leave_a_beat_more_of_the_slack),
        cmocka_unit_test(ends_matter_at_once_where_the_ring_mends),
        cmocka_unit_test(a_watched_node_beats_at_once_and_then_without_drift),
        cmocka_unit_test(after_a_stall_one_beat_goes_out_and_the_rhythm_starts_there),
        cmocka_unit_test(a_watch_that_nobody_answers_ends_after_five_timeouts),
        cmocka_unit_test(an_acknowledged_watch_goes_on),
        cmocka_unit_test(watchers_that_leave_or_die_are_beaten_to_no_more),
        cmocka_unit_test(those_next_onward_are_beaten_to_first),
        cmocka_unit_test(a_beat_that_nobody_asked_for_is_answered_with_release),
        cmocka_unit_test(a_beat_counts_once_and_only_with_the_nonce_of_the_watch),
        cmocka_unit_test(a_beat_under_other_times_is_not_acknowledged),
        cmocka_unit_test(an_older_watch_changes_nothing),
        cmocka_unit_test(a_watch_that_is_repeated_does_not_end),
        cmocka_unit_test(a_repeated_watch_is_answered_until_the_first_acknowledgement),
        cmocka_unit_test(a_watch_with_impossible_times_is_dropped),
        cmocka_unit_test(what_is_not_for_this_incarnation_is_dropped_and_counted),
        cmocka_unit_test(an_answer_is_a_sign_of_life_once),
        cmocka_unit_test(an_answer_to_nobodys_question_or_to_an_old_one_is_nothing),
        cmocka_unit_test(an_answer_to_a_question_from_before_the_watch_is_nothing),
        cmocka_unit_test(an_answer_from_an_earlier_suspicion_clears_nobody),
        cmocka_unit_test(a_beat_from_before_an_answer_is_acknowledged_and_no_news),
        cmocka_unit_test(the_lease_runs_from_the_stamp_that_was_acknowledged),
        cmocka_unit_test(an_older_acknowledgement_does_not_shorten_the_lease),
        cmocka_unit_test(the_least_of_several_leases_counts),
        cmocka_unit_test(a_shorter_timeout_of_a_farther_observer_shortens_the_lease),
        cmocka_unit_test(a_helper_counts_in_the_place_of_the_observer),
        cmocka_unit_test(a_new_observer_takes_the_lease_over),
        cmocka_unit_test(a_new_timeout_counts_for_the_lease_from_the_beat_that_follows),
        cmocka_unit_test(who_is_alone_holds_its_lease),
        cmocka_unit_test(who_is_alone_without_proof_has_no_lease),
        cmocka_unit_test(an_ended_lease_comes_back_from_the_same_observer_at_once),
        cmocka_unit_test(an_ended_lease_comes_back_from_another_one_a_timeout_later),
        cmocka_unit_test(what_the_dead_say_is_answered_with_dead),
        cmocka_unit_test(who_hears_of_its_own_death_is_fenced),
        cmocka_unit_test(the_death_of_an_earlier_incarnation_is_not_ones_own),
        cmocka_unit_test(a_node_that_is_out_is_skipped),
        cmocka_unit_test(a_death_that_cannot_be_kept_is_a_fault),
        cmocka_unit_test(the_same_events_give_the_same_fingerprint),
        cmocka_unit_test(datagrams_are_counted),
        cmocka_unit_test(a_long_batch_goes_out_over_several_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
