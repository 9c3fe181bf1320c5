/* Agreements in libmuster, with a daemon that a test plays. */
#define _GNU_SOURCE
#include "test_client_joined.h"

#include "wire/local/ballot.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>

static int member_fd; /* of the handle itself, at the daemon's end */

static int begin(void **state)
{
    join(state);
    member_fd = daemon_here.fd;
    daemon_here.fd = -1;
    return 0;
}

static int finish(void **state)
{
    (void)state;
    muster_close(m);
    close(member_fd);
    fake_daemon_close(&daemon_here);
    return 0;
}

/* ---- the daemon's words ---- */

static void greet_group(uint32_t size)
{
    const struct mu_ballot joined = {.type = MU_BALLOT_JOINED, .joined = {7, size}};
    uint8_t bytes[MU_BALLOT_BYTES_MAX];
    fake_daemon_greet_bytes(&daemon_here, bytes, mu_ballot_encode(&joined, bytes));
}

static void say_ballot(struct mu_ballot ballot)
{
    uint8_t bytes[MU_BALLOT_BYTES_MAX];
    fake_daemon_say_bytes(&daemon_here, bytes, mu_ballot_encode(&ballot, bytes));
}

static void decide(uint64_t bits, bool failed, bool more)
{
    say_ballot((struct mu_ballot){.type = MU_BALLOT_DECIDED,
                                  .decided = {1, bits, .error = failed, .more = more}});
}

static void say_gone(uint32_t first, uint32_t count, enum mu_ballot_kind kind)
{
    say_ballot(
        (struct mu_ballot){.type = MU_BALLOT_GONE,
                           .gone = {.rows = 1, .row = {{first, count}}, .kind = {(uint8_t)kind}}});
}

static struct mu_ballot hear_ballot(enum mu_ballot_type type)
{
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    struct mu_ballot ballot;
    ssize_t count = recv(daemon_here.fd, bytes, sizeof bytes, 0);
    assert_true(count > 0);
    assert_null(mu_ballot_decode(bytes, (size_t)count, &ballot));
    assert_int_equal(ballot.type, type);
    return ballot;
}

static void expect_call(uint64_t bits, uint32_t acked)
{
    struct mu_ballot call = hear_ballot(MU_BALLOT_CALL);
    assert_int_equal(call.call.bits, bits);
    assert_int_equal(call.call.acked, acked);
}

static void expect_leave(void)
{
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    assert_int_equal(recv(daemon_here.fd, bytes, sizeof bytes, 0), 1);
    assert_int_equal(bytes[0], MU_LOCAL_LEAVE);
}

/* Joins the group of all. */
static void use_all(void)
{
    greet_group(FAKE_SIZE);
    assert_int_equal(muster_group_size(m, MUSTER_ALL), FAKE_SIZE);
    fake_daemon_greeted(&daemon_here);
    assert_int_equal(daemon_here.hello.hello.role, MU_LOCAL_VOTER);
    assert_int_equal(daemon_here.hello.hello.job, FAKE_JOB);
    assert_int_equal(daemon_here.hello.hello.rank, FAKE_RANK);
    assert_int_equal(hear_ballot(MU_BALLOT_JOIN).join.rows, 0);
}

static void start(uint64_t bits)
{
    assert_int_equal(muster_agree_start(m, MUSTER_ALL, bits, &error), 0);
}

static void expect_error(int code, const char *words)
{
    assert_int_equal(error.code, code);
    if (strstr(error.text, words) == NULL)
        fail_msg("'%s' does not say '%s'", error.text, words);
}

/* ---- tests ---- */

static void a_decision_is_handed_through(void **state)
{
    (void)state;
    uint64_t bits = 5;
    use_all();
    errno = EXDEV;
    start(6);
    expect_call(6, 0);
    assert_int_equal(muster_agree_test(m, MUSTER_ALL, &bits, &error), MUSTER_PENDING);
    assert_int_equal(muster_agree_wait(m, MUSTER_ALL, &bits, 1000, &error), MUSTER_PENDING);
    assert_int_equal(bits, 5);
    assert_false(is_readable(muster_agree_fd(m, MUSTER_ALL)));
    decide(2, false, false);
    assert_true(is_readable(muster_agree_fd(m, MUSTER_ALL)));
    assert_int_equal(muster_agree_test(m, MUSTER_ALL, &bits, &error), MUSTER_AGREED);
    assert_int_equal(bits, 2);
    assert_false(is_readable(muster_agree_fd(m, MUSTER_ALL)));
    assert_int_equal(errno, EXDEV);
}

static void one_agreement_is_pending_at_a_time(void **state)
{
    (void)state;
    uint64_t bits = 1;
    use_all();
    assert_int_equal(muster_agree_test(m, MUSTER_ALL, &bits, &error), -1);
    expect_error(MUSTER_E_INVALID, "no agreement of this group is pending");
    start(1);
    assert_int_equal(muster_agree_start(m, MUSTER_ALL, 1, &error), -1);
    expect_error(MUSTER_E_INVALID, "one at a time");
    assert_int_equal(muster_agree(m, MUSTER_ALL, &bits, NULL), -1);
    decide(1, false, false);
    assert_int_equal(muster_agree_wait(m, MUSTER_ALL, &bits, MUSTER_FOREVER, &error),
                     MUSTER_AGREED);
}

static void failures_are_told_and_acknowledged(void **state)
{
    (void)state;
    uint64_t bits;
    uint32_t ranks[4] = {99, 99, 99, 99}, count;
    use_all();
    start(1);
    expect_call(1, 0);
    say_gone(8, 2, MU_BALLOT_FAILED);
    say_gone(3, 1, MU_BALLOT_LEFT);
    say_gone(1, 1, MU_BALLOT_FAILED);
    decide(1, true, false);
    assert_int_equal(muster_agree_test(m, MUSTER_ALL, &bits, &error), MUSTER_AGREED_FAILURES);
    assert_int_equal(muster_get_failed(m, MUSTER_ALL, ranks, 2, &count, &error), 0);
    assert_int_equal(count, 3);
    assert_int_equal(ranks[0], 8);
    assert_int_equal(ranks[1], 9);
    assert_int_equal(ranks[2], 99);
    start(1);
    expect_call(1, 0);
    decide(1, true, false);
    assert_int_equal(muster_agree_test(m, MUSTER_ALL, &bits, &error), MUSTER_AGREED_FAILURES);
    assert_int_equal(muster_ack_failed(m, MUSTER_ALL, &error), 0);
    start(1);
    expect_call(1, 3);
    decide(1, false, false);
    assert_int_equal(muster_agree_test(m, MUSTER_ALL, &bits, &error), MUSTER_AGREED);
    assert_int_equal(muster_group_size(m, MUSTER_ALL), FAKE_SIZE); /* only muster_shrink() does */
}

static void *answer_twice(void *unused)
{
    (void)unused;
    expect_call(UINT64_MAX, 0);
    say_gone(0, 3, MU_BALLOT_FAILED);
    decide(UINT64_MAX, true, true);
    expect_call(UINT64_MAX, 3);
    say_gone(6, 1, MU_BALLOT_LEFT);
    decide(UINT64_MAX, false, false);
    return NULL;
}

static void to_shrink_is_to_agree_until_all_is_told(void **state)
{
    (void)state;
    pthread_t thread;
    use_all();
    assert_int_equal(pthread_create(&thread, NULL, answer_twice, NULL), 0);
    assert_int_equal(muster_shrink(m, MUSTER_ALL, &error), 0);
    pthread_join(thread, NULL);
    assert_int_equal(muster_group_size(m, MUSTER_ALL), FAKE_SIZE - 4);
    assert_int_equal(muster_group_member(m, MUSTER_ALL, 0), 3);
    assert_int_equal(muster_group_member(m, MUSTER_ALL, 3), 7);
    assert_int_equal(muster_group_index(m, MUSTER_ALL, FAKE_RANK), 2);
    assert_int_equal(muster_group_index(m, MUSTER_ALL, 6), UINT32_MAX);
    assert_int_equal(muster_group_member(m, MUSTER_ALL, FAKE_SIZE - 4), UINT32_MAX);
}

static void expect_broken(int code, const char *words)
{
    uint64_t bits = 77;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(muster_agree_wait(m, MUSTER_ALL, &bits, MUSTER_FOREVER, &error), -1);
        expect_error(code, words);
        assert_int_equal(muster_agree_start(m, MUSTER_ALL, 1, &error), -1);
        expect_error(code, words);
    }
    assert_int_equal(bits, 77);
}

static void a_daemon_that_is_gone_is_gone_for_good(void **state)
{
    (void)state;
    use_all();
    start(1);
    fake_daemon_hang_up(&daemon_here);
    expect_broken(MUSTER_E_NO_DAEMON, "has ended");
}

static void a_refusal_is_the_last_word(void **state)
{
    (void)state;
    struct mu_local_message refusal = fake_refusal(MU_LOCAL_BAD_PACKET, "not like this");
    use_all();
    start(1);
    fake_daemon_say(&daemon_here, &refusal);
    expect_broken(MUSTER_E_REFUSED, "not like this");
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        struct mu_ballot ballot;
    } lies[] = {
        {"in place of a decision", {.type = MU_BALLOT_JOINED, .joined = {1, 1}}},
        {"impossible or was reported before",
         {.type = MU_BALLOT_GONE, .gone = {.rows = 2, .row = {{1, 2}, {2, 1}}, .kind = {1, 1}}}},
        {"impossible or was reported before",
         {.type = MU_BALLOT_GONE, .gone = {.rows = 1, .row = {{FAKE_SIZE - 1, 2}}, .kind = {1}}}},
    };
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        use_all();
        start(1);
        say_ballot(lies[i].ballot);
        expect_broken(MUSTER_E_PROTOCOL, lies[i].words);
        finish(NULL);
        begin(NULL);
    }
    use_all();
    start(1);
    fake_daemon_say_bytes(&daemon_here, "\x32nonsense", 9);
    expect_broken(MUSTER_E_PROTOCOL, "type 50");
}

static void who_cannot_join_is_told_why(void **state)
{
    (void)state;
    uint64_t bits = 1;
    struct mu_local_message refusal = fake_refusal(MU_LOCAL_CANNOT, "too many groups");
    fake_daemon_greet(&daemon_here, &refusal);
    assert_int_equal(muster_agree(m, MUSTER_ALL, &bits, &error), -1);
    expect_error(MUSTER_E_REFUSED, "too many groups");
    fake_daemon_greeted(&daemon_here);
    fake_daemon_hang_up(&daemon_here);
    use_all(); /* and may try again */
}

static void a_group_is_some_ranks_in_any_order(void **state)
{
    (void)state;
    const uint32_t ranks[] = {9, FAKE_RANK, 4, 30};
    struct muster_group *group;
    greet_group(4);
    assert_int_equal(muster_group_create(m, ranks, 4, &group, &error), 0);
    fake_daemon_greeted(&daemon_here);
    struct mu_ballot heard = hear_ballot(MU_BALLOT_JOIN);
    assert_int_equal(heard.join.rows, 3);
    assert_int_equal(heard.join.row[0].first, 4);
    assert_int_equal(heard.join.row[0].count, 2);
    assert_int_equal(heard.join.row[2].first, 30);
    assert_int_equal(muster_group_member(m, group, 2), 9);
    assert_int_equal(muster_group_index(m, group, FAKE_RANK), 1);
    muster_group_free(group);
    expect_leave();
}

static void what_is_no_group_is_refused_here(void **state)
{
    (void)state;
    const uint32_t high[] = {FAKE_RANK, FAKE_SIZE}, twice[] = {FAKE_RANK, 1, 1}, others[] = {1, 2};
    struct muster_group *group = (struct muster_group *)&group;
    assert_int_equal(muster_group_create(m, high, 2, &group, &error), -1);
    expect_error(MUSTER_E_INVALID, "rank 32 is not below 32");
    assert_int_equal(muster_group_create(m, twice, 3, &group, &error), -1);
    expect_error(MUSTER_E_INVALID, "rank 1 is in the group twice");
    assert_int_equal(muster_group_create(m, others, 2, &group, &error), -1);
    expect_error(MUSTER_E_INVALID, "not a member");
    assert_int_equal(muster_group_create(m, others, 0, &group, &error), -1);
    expect_error(MUSTER_E_INVALID, "at least one");
    assert_ptr_equal(group, (struct muster_group *)&group);
}

static void the_end_of_a_handle_is_a_goodbye_to_all(void **state)
{
    (void)state;
    use_all();
    muster_close(m);
    expect_leave();
    m = NULL;
}

static void a_child_has_no_part_in_it(void **state)
{
    (void)state;
    uint64_t bits = 1;
    use_all();
    pid_t child = fork();
    if (child == 0) {
        bool good = muster_agree(m, MUSTER_ALL, &bits, &error) == -1 &&
                    error.code == MUSTER_E_FORKED && muster_agree_fd(m, MUSTER_ALL) == -1 &&
                    muster_group_size(m, MUSTER_ALL) == 0;
        muster_close(m);
        _exit(good ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    start(1);
    expect_call(1, 0); /* and no goodbye of the child */
}

/* Threads that use one group at once: each has its own decision, or is told to try again. */
static void *agree_often(void *failed)
{
    struct muster_error ours;
    for (int i = 0; i < 100; i++) {
        uint64_t bits = 3;
        int result;
        do
            result = muster_agree(m, MUSTER_ALL, &bits, &ours);
        while (result < 0 && ours.code == MUSTER_E_INVALID);
        if (result != MUSTER_AGREED || bits != 3)
            *(_Atomic int *)failed = 1;
    }
    return NULL;
}

static void threads_take_turns(void **state)
{
    (void)state;
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    _Atomic int failed = 0;
    use_all();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, agree_often, &failed);
    for (int i = 0; i < THREADS * 100; i++) {
        expect_call(3, 0);
        decide(3, false, false);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(failed, 0);
}

static void *wait_for_ever(void *unused)
{
    uint64_t bits = 1;
    muster_agree(m, MUSTER_ALL, &bits, NULL);
    return unused;
}

static void a_thread_that_is_cancelled_leaves_the_group_usable(void **state)
{
    (void)state;
    pthread_t thread;
    uint64_t bits;
    void *result;
    use_all();
    pthread_create(&thread, NULL, wait_for_ever, NULL);
    expect_call(1, 0);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    decide(1, false, false);
    assert_int_equal(muster_agree_wait(m, MUSTER_ALL, &bits, MUSTER_FOREVER, &error),
                     MUSTER_AGREED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_decision_is_handed_through, begin, finish),
        cmocka_unit_test_setup_teardown(one_agreement_is_pending_at_a_time, begin, finish),
        cmocka_unit_test_setup_teardown(failures_are_told_and_acknowledged, begin, finish),
        cmocka_unit_test_setup_teardown(to_shrink_is_to_agree_until_all_is_told, begin, finish),
        cmocka_unit_test_setup_teardown(a_daemon_that_is_gone_is_gone_for_good, begin, finish),
        cmocka_unit_test_setup_teardown(a_refusal_is_the_last_word, begin, finish),
        cmocka_unit_test_setup_teardown(what_cannot_be_is_refused, begin, finish),
        cmocka_unit_test_setup_teardown(who_cannot_join_is_told_why, begin, finish),
        cmocka_unit_test_setup_teardown(a_group_is_some_ranks_in_any_order, begin, finish),
        cmocka_unit_test_setup_teardown(what_is_no_group_is_refused_here, begin, finish),
        cmocka_unit_test_setup_teardown(the_end_of_a_handle_is_a_goodbye_to_all, begin, finish),
        cmocka_unit_test_setup_teardown(a_child_has_no_part_in_it, begin, finish),
        cmocka_unit_test_setup_teardown(threads_take_turns, begin, finish),
        cmocka_unit_test_setup_teardown(a_thread_that_is_cancelled_leaves_the_group_usable, begin,
                                        finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
