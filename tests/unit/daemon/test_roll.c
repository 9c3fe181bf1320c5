/* The roll: what changes it, and what each change says. */
#include "daemon/roll/roll.h"

#include "test_local_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

enum { SELF = 1, NODES = 4, JOB = 7, RANKS = 8, EVENTS_MAX = 64 };

/* ---- a roll, and what its changes have said ---- */

struct heard {
    uint32_t count;
    struct mu_local_event events[EVENTS_MAX];
};

static void hear(void *arg, const struct mu_local_event *event)
{
    struct heard *heard = arg;
    assert_true(heard->count < EVENTS_MAX);
    heard->events[heard->count++] = *event;
}

static struct heard events_of(const struct mu_roll_change *change)
{
    struct heard heard = {0};
    mu_roll_events(change, hear, &heard);
    for (uint32_t i = 0; i < heard.count; i++)
        assert_true(heard.events[i].serial == change->first + i);
    assert_true(change->first + heard.count == change->last + 1);
    return heard;
}

static void view(struct mu_roll *roll, uint64_t number, uint32_t in_count,
                 const struct mu_roll_seat *ins, uint32_t out_count,
                 const struct mu_roll_seat *outs, struct mu_roll_change *change)
{
    *change = mu_roll_view(roll, &(struct mu_roll_view){.number = number,
                                                        .hash = number,
                                                        .in_count = in_count,
                                                        .out_count = out_count,
                                                        .ins = ins,
                                                        .outs = outs,
                                                        .now_ns = 99,
                                                        .clock = 5});
}

static const struct mu_roll_seat founders[NODES] = {
    {.slot = 0, .incarnation = 1},
    {.slot = 1, .incarnation = 1},
    {.slot = 2, .incarnation = 1},
    {.slot = 3, .incarnation = 1},
};

static void open_roll(struct mu_roll *roll)
{
    struct mu_roll_change change;
    assert_true(mu_roll_open(roll, SELF, NODES));
    view(roll, 1, NODES, founders, 0, NULL, &change);
    assert_int_equal(change.what, MU_ROLL_VIEW);
    assert_int_equal(change.in_count, NODES);
    assert_int_equal(events_of(&change).count, 0);
}

/* Two ranks on each node, in the order of slots. */
static struct mu_roll_change begin(struct mu_roll *roll, uint32_t job)
{
    struct mu_launch_run runs[NODES];
    for (uint32_t i = 0; i < NODES; i++)
        runs[i] = (struct mu_launch_run){.slot = i, .first = 2 * i, .count = 2};
    const struct mu_launch_job spec = {.size = RANKS, .run_count = NODES, .runs = runs};
    return mu_roll_begin(roll, job, &spec);
}

static struct mu_roll_change process(struct mu_roll *roll, uint32_t job, uint32_t rank,
                                     enum mu_verdict verdict)
{
    struct mu_local_event event = {
        .subject = MU_SUBJECT_PROCESS,
        .job = job,
        .rank = rank,
        .learned_ns = 10,
        .age_ns = 3,
        .hops = 2,
        .evidence = {.verdict = (uint8_t)verdict, .cause = MU_CAUSE_EXIT, .seen_by = 2}};
    if (verdict != MU_VERDICT_LEFT)
        event.evidence.how = (struct mu_exit_kind){.type = MU_EXIT_SIGNAL, .signal = 9};
    return mu_roll_told(roll, &event, 0);
}

static struct mu_roll_change node(struct mu_roll *roll, mu_slot slot, uint32_t incarnation,
                                  bool proven)
{
    const struct mu_local_event event = {
        .subject = MU_SUBJECT_NODE,
        .node = slot,
        .evidence = {.verdict = proven ? MU_VERDICT_DEAD : MU_VERDICT_SILENT,
                     .cause = MU_CAUSE_TOLD,
                     .seen_by = 0}};
    return mu_roll_told(roll, &event, incarnation);
}

/* ---- jobs and ranks ---- */

static void a_job_begins_and_is_over(void **state)
{
    (void)state;
    struct mu_roll roll;
    open_roll(&roll);
    struct mu_roll_change change = begin(&roll, JOB);
    assert_int_equal(change.what, MU_ROLL_BEGAN);
    assert_ptr_equal(change.job, mu_roll_find(&roll, JOB));
    assert_int_equal(change.job->here_count, 2);
    assert_int_equal(mu_roll_node(change.job, 5), 2);
    assert_int_equal(mu_roll_place(change.job, 3), 1);
    assert_int_equal(mu_roll_place(change.job, 4), UINT32_MAX);
    assert_non_null(begin(&roll, JOB).why_not); /* its number is taken */
    change = mu_roll_over(&roll, JOB, 5);
    assert_int_equal(change.what, MU_ROLL_OVER);
    assert_int_equal(change.job->number, JOB); /* still there */
    assert_null(mu_roll_find(&roll, JOB));
    assert_true(mu_roll_is_over(&roll, JOB));
    assert_int_equal(mu_roll_over(&roll, JOB, 6).what, MU_ROLL_NOTHING);
    assert_int_equal(begin(&roll, JOB).what, MU_ROLL_BEGAN); /* the number is used again */
    assert_false(mu_roll_is_over(&roll, JOB));
    mu_roll_close(&roll);
}

static void a_death_is_told_once_whoever_brings_it(void **state)
{
    (void)state;
    struct mu_roll roll;
    open_roll(&roll);
    const struct mu_roll_job *job = begin(&roll, JOB).job;
    struct mu_roll_change change = process(&roll, JOB, 6, MU_VERDICT_DEAD);
    assert_int_equal(change.what, MU_ROLL_GONE);
    assert_true(change.failed);
    assert_int_equal(events_of(&change).events[0].node, 3);
    assert_int_equal(mu_roll_state(job, 6), MU_RANK_FAILED);
    assert_int_equal(process(&roll, JOB, 6, MU_VERDICT_LEFT).what, MU_ROLL_NOTHING);
    change = node(&roll, 3, 1, true);
    assert_int_equal(change.what, MU_ROLL_DEAD);
    const struct heard heard = events_of(&change);
    assert_int_equal(heard.count, 2); /* the node, and the one that was not gone yet */
    assert_int_equal(heard.events[0].subject, MU_SUBJECT_NODE);
    assert_int_equal(heard.events[1].rank, 7);
    assert_int_equal(heard.events[1].evidence.cause, MU_CAUSE_NODE_LOST);
    assert_int_equal(process(&roll, JOB, 7, MU_VERDICT_DEAD).what, MU_ROLL_NOTHING);
    assert_int_equal(job->failed, 2);
    mu_roll_close(&roll);
}

static void the_own_word_on_a_process_comes_first(void **state)
{
    (void)state;
    struct mu_roll roll;
    open_roll(&roll);
    const struct mu_roll_job *job = begin(&roll, JOB).job;
    assert_int_equal(mu_roll_started(&roll, JOB, 2, 4711).what, MU_ROLL_STARTED);
    assert_int_equal(job->here[0].pid, 4711);
    assert_int_equal(mu_roll_state(job, 2), MU_RANK_RUNS);
    assert_int_equal(mu_roll_started(&roll, JOB, 4, 4712).what, MU_ROLL_NOTHING); /* not here */
    struct mu_roll_change change = mu_roll_ended(&roll, JOB, 2, false);
    assert_int_equal(change.what, MU_ROLL_ENDED);
    assert_int_equal(events_of(&change).count, 0); /* it is told when everybody hears it */
    assert_int_equal(job->here[0].pid, 0);
    assert_int_equal(mu_roll_ended(&roll, JOB, 2, true).what, MU_ROLL_NOTHING);
    change = process(&roll, JOB, 2, MU_VERDICT_DEAD);
    assert_int_equal(events_of(&change).count, 1);
    assert_int_equal(mu_roll_state(job, 2), MU_RANK_LEFT);
    assert_int_equal(mu_roll_started(&roll, JOB, 2, 4713).what, MU_ROLL_NOTHING);
    mu_roll_close(&roll);
}

static void others_run_until_all_have_ended(void **state)
{
    (void)state;
    struct mu_roll roll;
    open_roll(&roll);
    begin(&roll, JOB);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        assert_true(mu_roll_others(&roll, JOB, 3));
        if (rank / 2 != SELF)
            process(&roll, JOB, rank, MU_VERDICT_LEFT);
        else if (rank != 3)
            mu_roll_ended(&roll, JOB, rank, true);
    }
    assert_false(mu_roll_others(&roll, JOB, 3));
    begin(&roll, JOB + 1);
    assert_true(mu_roll_others(&roll, JOB, 3));
    mu_roll_close(&roll);
}

static void who_was_gone_before_a_job_began_is_gone_in_it(void **state)
{
    (void)state;
    struct mu_roll roll;
    open_roll(&roll);
    struct mu_roll_change change = process(&roll, JOB, 5, MU_VERDICT_DEAD);
    assert_int_equal(change.what, MU_ROLL_GONE);
    assert_null(change.job);
    assert_int_equal(events_of(&change).count, 1);
    assert_int_equal(process(&roll, JOB, 5, MU_VERDICT_DEAD).what, MU_ROLL_NOTHING);
    node(&roll, 0, 1, false);
    change = begin(&roll, JOB);
    const struct heard heard = events_of(&change);
    assert_int_equal(heard.count, 2); /* those of node 0: rank 5 was told */
    assert_int_equal(heard.events[0].rank, 0);
    assert_int_equal(heard.events[1].rank, 1);
    assert_int_equal(change.job->gone.count, 3);
    assert_int_equal(mu_roll_state(change.job, 5), MU_RANK_FAILED);
    mu_roll_close(&roll);
}

static void news_of_what_there_is_not_is_counted(void **state)
{
    (void)state;
    struct mu_roll roll;
    open_roll(&roll);
    begin(&roll, JOB);
    assert_int_equal(process(&roll, JOB, RANKS, MU_VERDICT_DEAD).what, MU_ROLL_NOTHING);
    assert_int_equal(node(&roll, NODES, 1, true).what, MU_ROLL_NOTHING);
    assert_true(roll.ignored == 2);
    mu_roll_close(&roll);
}

/* A thousand jobs leave 256 numbers and nothing else. */
static void of_jobs_that_are_over_the_last_ones_are_known(void **state)
{
    (void)state;
    struct mu_roll roll;
    open_roll(&roll);
    for (uint32_t job = 1; job <= 1000; job++) {
        begin(&roll, job);
        mu_roll_over(&roll, job, job);
        struct mu_roll_change change = process(&roll, job, 0, MU_VERDICT_DEAD);
        assert_int_equal(change.what, MU_ROLL_GONE);
        assert_null(change.job);
        assert_int_equal(mu_roll_is_over(&roll, job - MU_ROLL_OVER_MAX), false);
    }
    assert_true(mu_roll_is_over(&roll, 1000 - MU_ROLL_OVER_MAX + 1));
    assert_null(roll.jobs);
    assert_int_equal(roll.unbegun.count, 0);
    mu_roll_close(&roll);
}

/* ---- members ---- */

static void of_a_dead_node_only_proof_is_news(void **state)
{
    (void)state;
    struct mu_roll roll;
    open_roll(&roll);
    assert_int_equal(node(&roll, 2, 1, false).what, MU_ROLL_DEAD);
    assert_int_equal(node(&roll, 2, 1, false).what, MU_ROLL_NOTHING);
    struct mu_roll_change change = node(&roll, 2, 1, true);
    assert_int_equal(change.what, MU_ROLL_PROVEN);
    assert_int_equal(events_of(&change).count, 0);
    assert_int_equal(node(&roll, 2, 1, true).what, MU_ROLL_NOTHING);
    assert_int_equal(roll.dead_count, 1);
    assert_int_equal(roll.in_count, NODES - 1);
    struct heard heard = {0};
    mu_roll_dead_before(&roll, hear, &heard);
    assert_int_equal(heard.count, 1);
    assert_int_equal(heard.events[0].evidence.verdict, MU_VERDICT_DEAD); /* the proof */
    mu_roll_close(&roll);
}

static void a_view_says_what_is_news(void **state)
{
    (void)state;
    struct mu_roll roll;
    open_roll(&roll);
    begin(&roll, JOB);
    node(&roll, 3, 1, true);
    struct mu_roll_change change;
    const struct mu_roll_seat outs[] = {{2, 1, true, false}, {3, 1, true, false}};
    view(&roll, 2, 0, NULL, 2, outs, &change);
    assert_int_equal(change.what, MU_ROLL_VIEW);
    assert_int_equal(change.out_count, 1); /* 3 was known */
    assert_int_equal(change.outs[0].slot, 2);
    const struct heard heard = events_of(&change);
    assert_int_equal(heard.count, 3); /* node 2 and its ranks, whom no notice has told */
    assert_int_equal(heard.events[0].node, 2);
    assert_int_equal(heard.events[2].rank, 5);
    assert_true(roll.view == 2);
    view(&roll, 2, 0, NULL, 2, outs, &change); /* again */
    assert_int_equal(change.what, MU_ROLL_NOTHING);
    assert_null(change.why_not);
    assert_int_equal(node(&roll, 2, 1, true).what, MU_ROLL_NOTHING);
    mu_roll_close(&roll);
}

static void who_comes_back_is_another_incarnation(void **state)
{
    (void)state;
    struct mu_roll roll;
    open_roll(&roll);
    struct mu_roll_change change;
    node(&roll, 3, 1, true);
    const struct mu_roll_seat same[] = {{.slot = 3, .incarnation = 1}};
    view(&roll, 2, 1, same, 0, NULL, &change);
    assert_non_null(change.why_not);
    assert_true(roll.view == 1); /* nothing has changed */
    const struct mu_roll_seat next[] = {{.slot = 3, .incarnation = 2}};
    view(&roll, 2, 1, next, 0, NULL, &change);
    assert_int_equal(change.what, MU_ROLL_VIEW);
    assert_int_equal(change.in_count, 1);
    assert_int_equal(mu_roll_member(&roll, 3).incarnation, 2);
    assert_int_equal(mu_roll_member(&roll, 3).state, MU_MEMBER_IN);
    assert_int_equal(roll.dead_count, 0);
    struct heard heard = {0};
    mu_roll_dead_before(&roll, hear, &heard);
    assert_int_equal(heard.count, 0);
    struct mu_roll_change begun = begin(&roll, JOB);
    assert_int_equal(events_of(&begun).count, 0);                    /* its ranks can run there */
    assert_int_equal(node(&roll, 3, 1, true).what, MU_ROLL_NOTHING); /* late news of the old one */
    change = node(&roll, 3, 2, false);
    assert_int_equal(events_of(&change).count, 3);
    mu_roll_close(&roll);
}

/* Nobody has seen the old one die: that a new one comes in its place proves it. */
static void one_that_comes_in_proves_the_death_of_the_one_before(void **state)
{
    (void)state;
    struct mu_roll roll;
    open_roll(&roll);
    begin(&roll, JOB);
    struct mu_roll_change change;
    const struct mu_roll_seat next[] = {{.slot = 0, .incarnation = 5}};
    view(&roll, 2, 1, next, 0, NULL, &change);
    assert_int_equal(change.in_count, 1);
    assert_int_equal(change.out_count, 1);
    assert_int_equal(change.outs[0].incarnation, 1);
    assert_int_equal(events_of(&change).count, 3);
    assert_int_equal(roll.in_count, NODES);
    assert_int_equal(roll.dead_count, 0);
    mu_roll_close(&roll);
}

static void who_leaves_is_out_and_not_dead(void **state)
{
    (void)state;
    struct mu_roll roll;
    open_roll(&roll);
    struct mu_roll_change change;
    const struct mu_roll_seat outs[] = {{3, 1, true, true}};
    view(&roll, 2, 0, NULL, 1, outs, &change);
    assert_int_equal(mu_roll_member(&roll, 3).state, MU_MEMBER_LEFT);
    assert_int_equal(roll.dead_count, 0);
    assert_int_equal(roll.in_count, NODES - 1);
    mu_roll_close(&roll);
}

static void a_view_that_breaks_a_rule_changes_nothing(void **state)
{
    (void)state;
    struct mu_roll roll;
    open_roll(&roll);
    struct mu_roll_change change;
    const struct mu_roll_seat far[] = {{.slot = NODES, .incarnation = 2}};
    const struct mu_roll_seat twice[] = {{.slot = 2, .incarnation = 2},
                                         {.slot = 2, .incarnation = 3}};
    view(&roll, 2, 1, far, 0, NULL, &change);
    assert_non_null(change.why_not);
    view(&roll, 2, 2, twice, 0, NULL, &change);
    assert_non_null(change.why_not);
    view(&roll, 2, 0, NULL, 1, far, &change);
    assert_non_null(change.why_not);
    change = mu_roll_view(&roll, &(struct mu_roll_view){.number = 1, .hash = 4});
    assert_string_equal(change.why_not, "two views have the same number");
    assert_true(roll.view == 1);
    assert_int_equal(roll.in_count, NODES);
    mu_roll_close(&roll);
}

/* ---- many changes: counts are what a count of the rows says ---- */

static void check(const struct mu_roll *roll)
{
    uint32_t in = 0, dead = 0;
    for (mu_slot slot = 0; slot < NODES; slot++) {
        in += roll->members[slot].state == MU_MEMBER_IN;
        dead += roll->members[slot].state == MU_MEMBER_DEAD;
        assert_int_equal(mu_gone_has(&roll->dead, slot), roll->members[slot].state != MU_MEMBER_IN);
    }
    assert_int_equal(roll->in_count, in);
    assert_int_equal(roll->dead_count, dead);
    for (const struct mu_roll_job *job = roll->jobs; job != NULL; job = job->next) {
        uint32_t ended = 0;
        for (uint32_t rank = 0; rank < job->spec.size; rank++) {
            ended += mu_roll_state(job, rank) >= MU_RANK_LEFT;
            if (mu_gone_has(&roll->dead, mu_roll_node(job, rank)))
                assert_true(mu_gone_has(&job->gone, rank));
        }
        assert_int_equal(job->ended, ended);
        assert_int_equal(job->failed + job->left, job->gone.count);
    }
}

static uint32_t draw(struct random *random)
{
    return (uint32_t)random_below(random, 1u << 30);
}

static void change_at_random(struct mu_roll *roll, struct random *random, uint32_t step)
{
    uint32_t job = 1 + draw(random) % 3, rank = draw(random) % RANKS;
    mu_slot slot = draw(random) % NODES;
    uint32_t incarnation = roll->members[slot].incarnation;
    const struct mu_roll_seat in[] = {
        {.slot = slot, .incarnation = incarnation + draw(random) % 2}};
    const struct mu_roll_seat out[] = {{slot, incarnation, draw(random) % 2, draw(random) % 2}};
    struct mu_roll_change change;
    switch (draw(random) % 9) {
    case 0:
        change = begin(roll, job);
        break;
    case 1:
        change = mu_roll_over(roll, job, step);
        break;
    case 2:
        change = mu_roll_started(roll, job, rank, 1 + step);
        break;
    case 3:
        change = mu_roll_ended(roll, job, rank, draw(random) % 2);
        break;
    case 4:
        change = node(roll, slot, incarnation, draw(random) % 2);
        break;
    case 5:
        view(roll, roll->view + 1, 1, in, 0, NULL, &change);
        break;
    case 6:
        view(roll, roll->view + 1, 0, NULL, 1, out, &change);
        break;
    default:
        change = process(roll, job, rank, draw(random) % 2 ? MU_VERDICT_DEAD : MU_VERDICT_LEFT);
    }
    events_of(&change);
}

static void counts_hold_whatever_happens(void **state)
{
    (void)state;
    struct mu_roll roll;
    struct random random = {.state = 1};
    open_roll(&roll);
    for (uint32_t step = 0; step < 20000; step++) {
        change_at_random(&roll, &random, step);
        check(&roll);
    }
    mu_roll_close(&roll);
}

/* ---- the view that programs are told ---- */

static void a_stable_view_is_told_once_and_forwards(void **state)
{
    (void)state;
    struct mu_roll roll;
    const struct mu_span three[] = {{0, 1}, {2, 2}}, all[] = {{0, 4}};
    open_roll(&roll);
    struct mu_roll_change change = mu_roll_stable(&roll, 2, 77, three, 2, 5);
    assert_int_equal(change.what, MU_ROLL_STABLE);
    const struct heard heard = events_of(&change);
    assert_int_equal(heard.count, 1);
    const struct mu_local_event *event = &heard.events[0];
    assert_int_equal(event->subject, MU_SUBJECT_VIEW);
    assert_true(event->view.number == 2 && event->view.hash == 77 && event->view.total == 3);
    assert_true(event->view.is_first && event->view.is_last && event->view.span_count == 2);
    assert_true(event->view.spans[1].first == 2 && event->view.spans[1].count == 2);
    assert_int_equal(mu_roll_stable(&roll, 2, 77, three, 2, 6).what, MU_ROLL_NOTHING);
    assert_int_equal(mu_roll_stable(&roll, 1, 5, all, 1, 6).what, MU_ROLL_NOTHING);
    assert_true(roll.stable.number == 2 && roll.stable.learned_ns == 5);
    mu_roll_close(&roll);
}

static void a_view_of_many_spans_comes_in_parts(void **state)
{
    (void)state;
    enum { MANY = 100, SPANS = 40 };
    struct mu_roll roll;
    struct mu_span spans[SPANS];
    assert_true(mu_roll_open(&roll, SELF, MANY));
    for (uint32_t i = 0; i < SPANS; i++)
        spans[i] = (struct mu_span){2 * i, 1};
    struct mu_roll_change change = mu_roll_stable(&roll, 9, 1, spans, SPANS, 5);
    const struct heard heard = events_of(&change);
    assert_int_equal(heard.count, 3);
    uint32_t members = 0;
    for (uint32_t i = 0; i < heard.count; i++) {
        const struct mu_local_view *part = &heard.events[i].view;
        assert_true(part->number == 9 && part->total == SPANS);
        assert_true(part->is_first == (i == 0) && part->is_last == (i == 2));
        members += part->span_count;
    }
    assert_int_equal(members, SPANS);
    mu_roll_close(&roll);
}

static void views_between_serials_are_counted(void **state)
{
    (void)state;
    struct mu_roll roll;
    const struct mu_span all[] = {{0, 4}};
    open_roll(&roll);
    uint64_t from = roll.serial + 1;
    for (uint64_t number = 2; number < 5; number++)
        mu_roll_stable(&roll, number, 1, all, 1, 5);
    assert_int_equal(mu_roll_views_told(&roll, from, from), 0);
    assert_int_equal(mu_roll_views_told(&roll, from, from + 2), 2);
    assert_int_equal(mu_roll_views_told(&roll, from, from + 9), 3);
    for (uint64_t number = 5; number < 5 + MU_ROLL_VIEWS_MAX; number++)
        mu_roll_stable(&roll, number, 1, all, 1, 5);
    /* Of those that are forgotten one is said. */
    assert_int_equal(mu_roll_views_told(&roll, from, from + 2), 1);
    assert_int_equal(mu_roll_views_told(&roll, roll.serial, roll.serial + 1), 1);
    mu_roll_close(&roll);
}

/* ---- the nodes of a job ---- */

static void slots_are_put_in_order_and_become_spans(void **state)
{
    (void)state;
    mu_slot slots[] = {5, 1, 5, 4, 1, 9};
    struct mu_span spans[6];
    assert_int_equal(mu_roll_spans(slots, 6, spans), 3);
    assert_true(spans[0].first == 1 && spans[0].count == 1);
    assert_true(spans[1].first == 4 && spans[1].count == 2);
    assert_true(spans[2].first == 9 && spans[2].count == 1);
    assert_int_equal(mu_roll_slots(slots, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_begins_and_is_over),
        cmocka_unit_test(a_death_is_told_once_whoever_brings_it),
        cmocka_unit_test(the_own_word_on_a_process_comes_first),
        cmocka_unit_test(others_run_until_all_have_ended),
        cmocka_unit_test(who_was_gone_before_a_job_began_is_gone_in_it),
        cmocka_unit_test(news_of_what_there_is_not_is_counted),
        cmocka_unit_test(of_jobs_that_are_over_the_last_ones_are_known),
        cmocka_unit_test(of_a_dead_node_only_proof_is_news),
        cmocka_unit_test(a_view_says_what_is_news),
        cmocka_unit_test(who_comes_back_is_another_incarnation),
        cmocka_unit_test(one_that_comes_in_proves_the_death_of_the_one_before),
        cmocka_unit_test(who_leaves_is_out_and_not_dead),
        cmocka_unit_test(a_view_that_breaks_a_rule_changes_nothing),
        cmocka_unit_test(counts_hold_whatever_happens),
        cmocka_unit_test(a_stable_view_is_told_once_and_forwards),
        cmocka_unit_test(a_view_of_many_spans_comes_in_parts),
        cmocka_unit_test(views_between_serials_are_counted),
        cmocka_unit_test(slots_are_put_in_order_and_become_spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
