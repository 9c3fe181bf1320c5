/* Who is gone of jobs that have not begun here: none is lost, and if one is, that is known. */
#include "daemon/roll/unbegun.h"

#include "test_local_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

static uint64_t serial;

static struct mu_local_event event_of(uint32_t job, uint32_t rank)
{
    struct mu_local_event event = {.serial = ++serial,
                                   .subject = MU_SUBJECT_PROCESS,
                                   .hops = (uint16_t)(rank % 7),
                                   .job = job,
                                   .rank = rank,
                                   .node = rank % 5,
                                   .learned_ns = 1000 + rank,
                                   .age_ns = rank};
    event.evidence = (struct mu_evidence){.verdict = MU_VERDICT_DEAD,
                                          .cause = MU_CAUSE_EXIT,
                                          .node = event.node,
                                          .how = mu_exit_kind_not_started(MU_START_EXEC, 2)};
    mu_evidence_path(&event.evidence, rank % 2 == 0 ? "./a" : "/a/path/that/is/longer/than/most");
    return event;
}

struct taken {
    uint32_t job, count;
    uint64_t serial;
};

static void on_one(void *arg, const struct mu_local_event *event)
{
    struct taken *taken = arg;
    uint64_t before = serial;
    struct mu_local_event expected = event_of(taken->job, event->rank);
    serial = before;
    assert_true(event->serial > taken->serial);
    expected.serial = taken->serial = event->serial;
    taken->count++;
    uint8_t is[MU_LOCAL_PACKET_MAX], should[MU_LOCAL_PACKET_MAX];
    size_t count = mu_local_encode_event(event, is);
    assert_int_equal(mu_local_encode_event(&expected, should), count);
    assert_memory_equal(is, should, count);
}

static uint32_t take(struct mu_unbegun *unbegun, uint32_t job)
{
    struct taken taken = {.job = job};
    mu_unbegun_take(unbegun, job, on_one, &taken);
    return taken.count;
}

static void each_is_kept_until_its_job_begins(void **state)
{
    (void)state;
    enum { JOBS = 5, RANKS = 3000, STEP = 1 << 17 };
    struct mu_unbegun unbegun;
    mu_unbegun_init(&unbegun, MU_UNBEGUN_MAX);
    assert_false(mu_unbegun_has(&unbegun, 1, 0));
    assert_int_equal(take(&unbegun, 1), 0);
    for (uint32_t i = 0; i < RANKS; i++)
        for (uint32_t job = 1; job <= JOBS; job++) {
            struct mu_local_event event = event_of(job, i * STEP);
            mu_unbegun_add(&unbegun, &event);
        }
    for (uint32_t job = 1; job <= JOBS; job++) {
        assert_true(mu_unbegun_has(&unbegun, job, (RANKS - 1) * STEP));
        assert_false(mu_unbegun_has(&unbegun, job, 1));
        assert_false(mu_unbegun_lost(&unbegun, job));
        assert_int_equal(take(&unbegun, job), RANKS);
        assert_false(mu_unbegun_has(&unbegun, job, 0));
    }
    assert_int_equal(unbegun.count, 0);
    mu_unbegun_free(&unbegun);
}

static void what_does_not_fit_is_known(void **state)
{
    (void)state;
    struct mu_unbegun unbegun;
    mu_unbegun_init(&unbegun, 100);
    for (uint32_t i = 0; i < 103; i++) {
        struct mu_local_event event = event_of(i < 101 ? 1 : 2, i);
        mu_unbegun_add(&unbegun, &event);
    }
    assert_true(mu_unbegun_lost(&unbegun, 1));
    assert_true(mu_unbegun_lost(&unbegun, 2));
    assert_false(mu_unbegun_lost(&unbegun, 3));
    assert_int_equal(take(&unbegun, 1), 100);
    assert_false(mu_unbegun_lost(&unbegun, 1)); /* its number is another's */
    assert_true(mu_unbegun_lost(&unbegun, 2));
    struct mu_local_event event = event_of(3, 7);
    mu_unbegun_add(&unbegun, &event);
    assert_false(mu_unbegun_lost(&unbegun, 3));
    mu_unbegun_free(&unbegun);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_kept_until_its_job_begins),
        cmocka_unit_test(what_does_not_fit_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
