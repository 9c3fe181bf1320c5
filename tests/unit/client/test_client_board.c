/* libmuster and the board: when its descriptor is readable, and what it does when it was too slow.
 */
#define _GNU_SOURCE
#include "test_client_joined.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { FEW = 4 }; /* places */

/* The library reads packets by this one, because a program's own function comes before the C
 * library's.  So something can happen in that moment. */
static void (*before_packet)(void);

__attribute__((visibility("default"))) ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    void (*happens)(void) = before_packet;
    before_packet = NULL;
    if (happens != NULL)
        happens();
    return syscall(SYS_recvmsg, fd, message, flags);
}

/* As follow(), with a board that is soon full. */
static int follow_few(void **state)
{
    (void)state;
    fake_daemon_open(&daemon_here);
    fake_daemon_board(&daemon_here, FEW);
    m = open_here();
    catch_up();
    memset(&event, 0x5a, sizeof event);
    return 0;
}

static void publish_ranks(uint32_t first, uint32_t count)
{
    for (uint32_t rank = first; rank < first + count; rank++)
        publish(fake_death(1, rank));
}

static struct mu_local_message of_another_job(void)
{
    struct mu_local_message death = fake_death(1, 7);
    death.event.job = FAKE_JOB + 1;
    death.event.rank = FAKE_SIZE + 1000; /* whose size is not known here */
    return death;
}

/* ---- readable ---- */

static void the_descriptor_is_readable_while_there_is_something(void **state)
{
    (void)state;
    int fd = muster_fd(m);
    assert_false(is_readable(fd));
    publish(fake_death(1, 7));
    publish(fake_death(2, 8));
    for (uint32_t rank = 7; rank <= 8; rank++) {
        assert_true(is_readable(fd));
        expect_rank(rank);
    }
    expect_nothing(MUSTER_NOW); /* it may be said once too often */
    assert_false(is_readable(fd));
    publish(fake_death(3, 9));
    assert_true(is_readable(fd));
    expect_rank(9);
    expect_nothing(MUSTER_NOW);
    assert_false(is_readable(fd));
    fake_daemon_hang_up(&daemon_here);
    assert_true(is_readable(fd));
    expect_failure(MUSTER_E_NO_DAEMON, "has ended");
    assert_true(is_readable(fd)); /* it still has that to say */
}

/* One event each time that it is readable, and it is readable until all are read: for every way in
 * which the strokes were used up before. */
static void who_reads_one_at_a_time_misses_none(void **state)
{
    (void)state;
    for (int strokes = 1; strokes <= 5; strokes++)
        for (int looks = 0; looks < 4; looks++) {
            for (uint32_t rank = 1; rank <= 5; rank++) {
                put(fake_death(1, rank));
                if (rank >= (uint32_t)(6 - strokes))
                    fake_daemon_strike(&daemon_here);
            }
            for (uint32_t rank = 1; rank <= 5; rank++) {
                assert_true(is_readable(muster_fd(m)));
                int64_t wait_ns = looks == 1 ? MUSTER_FOREVER : looks == 2 ? 1000 : MUSTER_NOW;
                assert_int_equal(muster_next(m, &event, wait_ns, &error), 1);
                assert_int_equal(event.rank, rank);
            }
            if (looks < 3) /* else it is left readable, for the next round */
                expect_nothing(MUSTER_NOW);
        }
}

/* The bell is struck while the state is told, and the stroke is used up by who waits for that. */
static void strokes_before_the_state_is_told_count_afterwards(void **state)
{
    (void)state;
    struct mu_local_message caught_up = fake_caught_up(&daemon_here);
    publish(fake_death(1, 7));
    publish(fake_death(2, 8));
    expect_nothing(MUSTER_NOW); /* uses them up */
    assert_false(is_readable(muster_fd(m)));
    say(fake_death(1, 3));
    say(caught_up);
    expect_rank(3);
    assert_true(is_readable(muster_fd(m)));
    expect_next(MUSTER_EVENT_CAUGHT_UP, "caught up: later events are live");
    for (uint32_t rank = 7; rank <= 8; rank++) {
        assert_true(is_readable(muster_fd(m)));
        expect_rank(rank);
    }
    expect_nothing(MUSTER_NOW);
    assert_false(is_readable(muster_fd(m)));
}

/* An event loop has it in an epoll of its own, edge-triggered, and reads until there is no more. */
static void in_an_epoll_of_the_program(void **state)
{
    (void)state;
    int loop = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event watched = {.events = EPOLLIN | EPOLLET}, ready;
    assert_int_equal(epoll_ctl(loop, EPOLL_CTL_ADD, muster_fd(m), &watched), 0);
    for (uint32_t round = 0; round < 20; round++) {
        publish_ranks(1, 1 + round % 3);
        assert_int_equal(epoll_wait(loop, &ready, 1, -1), 1);
        for (uint32_t rank = 1; rank <= 1 + round % 3; rank++)
            expect_rank(rank);
        expect_nothing(MUSTER_NOW);
        while (epoll_wait(loop, &ready, 1, 0) == 1) /* it may be said once too often */
            expect_nothing(MUSTER_NOW);
    }
    close(loop);
}

/* ---- of others ---- */

static void events_of_another_job_are_passed_over(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++)
        put(of_another_job());
    expect_nothing(MUSTER_NOW);
    put(of_another_job());
    publish(fake_death(1, 7));
    put(of_another_job());
    expect_rank(7);
    assert_int_equal(event.serial, 12);
    expect_nothing(MUSTER_NOW);
}

/* ---- too slow ---- */

static void who_is_too_slow_is_told_what_it_lost(void **state)
{
    (void)state;
    publish_ranks(1, 10);
    expect_nothing(MUSTER_NOW); /* it asks, and the answer is to come */
    expect_nothing(MUSTER_NOW);
    assert_false(is_readable(muster_fd(m)));
    assert_true(hear(MU_LOCAL_AGAIN).again.serial == 1);
    say((struct mu_local_message){.type = MU_LOCAL_LOST, .lost = {.count = UINT64_MAX}});
    for (uint32_t rank = 1; rank <= 10; rank++) {
        struct mu_local_message death = fake_death(rank, rank);
        death.event.is_state = true;
        say(death);
    }
    say(fake_caught_up(&daemon_here));
    publish(fake_death(1, 11));
    expect_next(MUSTER_EVENT_OVERFLOW, "18446744073709551615 events were not read in time and are "
                                       "lost: the current state follows");
    assert_true(event.lost == UINT64_MAX);
    assert_int_equal(event.verdict, 0);
    for (uint32_t rank = 1; rank <= 10; rank++) {
        expect_rank(rank);
        assert_int_equal(event.is_state, 1);
    }
    expect_next(MUSTER_EVENT_CAUGHT_UP, "caught up: later events are live");
    expect_rank(11);
    assert_int_equal(event.is_state, 0);
    expect_nothing(MUSTER_NOW);
}

/* What it missed was others' business: the program hears nothing of it, and goes on. */
static void who_has_lost_nothing_goes_on(void **state)
{
    (void)state;
    for (int i = 0; i < 3 * FEW; i++)
        put(of_another_job());
    publish(fake_death(1, 7));
    expect_nothing(MUSTER_NOW);
    assert_true(hear(MU_LOCAL_AGAIN).again.serial == 1);
    uint64_t oldest = daemon_here.journal.head - FEW + 1;
    say((struct mu_local_message){.type = MU_LOCAL_CAUGHT_UP, .caught_up.serial = oldest - 1});
    assert_true(is_readable(muster_fd(m)));
    expect_rank(7); /* and no CAUGHT_UP */
    expect_nothing(MUSTER_NOW);
    publish(fake_death(1, 8));
    expect_rank(8);
}

static void who_is_overtaken_again_asks_again(void **state)
{
    (void)state;
    publish_ranks(1, 2 * FEW);
    for (int time = 0; time < 5; time++) {
        expect_nothing(MUSTER_NOW);
        uint64_t wanted = hear(MU_LOCAL_AGAIN).again.serial;
        uint64_t oldest = daemon_here.journal.head - FEW + 1;
        assert_true(wanted < oldest);
        say((struct mu_local_message){.type = MU_LOCAL_CAUGHT_UP, .caught_up.serial = oldest - 1});
        publish_ranks(1, 2 * FEW); /* before that is read */
    }
    expect_nothing(MUSTER_NOW);
    hear(MU_LOCAL_AGAIN);
    say((struct mu_local_message){.type = MU_LOCAL_LOST, .lost = {.count = 3}});
    publish_ranks(1, 2 * FEW); /* while the state is told */
    say(fake_caught_up(&daemon_here));
    publish(fake_death(1, 9));
    assert_int_equal(muster_next(m, &event, MUSTER_FOREVER, &error), 1);
    assert_int_equal(event.type, MUSTER_EVENT_OVERFLOW);
    assert_int_equal(muster_next(m, &event, MUSTER_FOREVER, &error), 1);
    assert_int_equal(event.type, MUSTER_EVENT_CAUGHT_UP);
    expect_rank(9);
    expect_nothing(MUSTER_NOW);
}

static void nobody_is_left_to_ask(void **state)
{
    (void)state;
    publish_ranks(1, 2 * FEW);
    fake_daemon_hang_up(&daemon_here);
    expect_failure(MUSTER_E_NO_DAEMON, "has ended");
    expect_failure(MUSTER_E_NO_DAEMON, "has ended");
}

static void put_one(void)
{
    put(fake_death(1, 7));
}

/* An event, and then the last word, both after the board was looked at and found empty. */
static void the_last_word_does_not_overtake_an_event(void **state)
{
    (void)state;
    say(fake_refusal(MU_LOCAL_ENDING, "job 3 is over"));
    before_packet = put_one;
    expect_rank(7);
    assert_null(before_packet);
    expect_failure(MUSTER_E_NO_DAEMON, "job 3 is over");
}

/* It asked, and the answer is that the job is over. */
static void the_answer_is_the_last_word(void **state)
{
    (void)state;
    publish_ranks(1, 2 * FEW);
    expect_nothing(MUSTER_NOW);
    hear(MU_LOCAL_AGAIN);
    say(fake_refusal(MU_LOCAL_ENDING, "job 3 is over"));
    expect_failure(MUSTER_E_NO_DAEMON, "job 3 is over");
}

/* ---- what the daemon may not do ---- */

static void expect_bad_event(const void *bytes, size_t count, const char *words)
{
    fake_daemon_put_bytes(&daemon_here, bytes, count);
    fake_daemon_strike(&daemon_here);
    publish(fake_death(1, 7)); /* nothing counts any more */
    expect_failure(MUSTER_E_PROTOCOL, words);
    expect_failure(MUSTER_E_PROTOCOL, words);
    assert_true(is_readable(muster_fd(m)));
    leave(NULL);
    follow(NULL);
}

static void garbage_on_the_board_ends_it(void **state)
{
    (void)state;
    struct mu_local_message death = fake_death(1, 7);
    uint8_t bytes[MU_BOARD_WORDS * 8] = {0};
    size_t count = mu_local_encode_event(&death.event, bytes);
    for (size_t cut = 0; cut < count; cut++)
        expect_bad_event(bytes, cut, "event 1 on the board");
    expect_bad_event(bytes, count + 1, "event 1 on the board");
    expect_bad_event(bytes, sizeof bytes, "not an event");
    uint8_t type = bytes[0];
    bytes[0] = MU_LOCAL_CAUGHT_UP;
    expect_bad_event(bytes, count, "not an event");
    bytes[0] = type;
    death.event.serial = 2;
    expect_bad_event(bytes, mu_local_encode_event(&death.event, bytes), "another serial");
    death = fake_death(1, FAKE_SIZE);
    expect_bad_event(bytes, mu_local_encode_event(&death.event, bytes), "rank 32 of job 3");
    death = fake_death(1, 7);
    death.event.evidence.seen_by = FAKE_NODES;
    expect_bad_event(bytes, mu_local_encode_event(&death.event, bytes), "detected by node 8");
}

/* Once all is on the board, only the last word comes by a packet. */
static void packets_after_the_state_end_it(void **state)
{
    (void)state;
    const struct mu_local_message wrong[] = {
        fake_death(1, 7),
        fake_caught_up(&daemon_here),
        fake_welcome(),
        {.type = MU_LOCAL_LOST, .lost = {.count = 1}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        put(fake_death(1, 3)); /* which is read first */
        say(wrong[i]);
        expect_rank(3);
        expect_failure(MUSTER_E_PROTOCOL, "nothing but events on its board");
        leave(NULL);
        follow(NULL);
    }
}

static void the_news_cannot_begin_in_the_future(void **state)
{
    (void)state;
    static const uint64_t serials[] = {1, 2, UINT64_MAX};
    for (size_t i = 0; i < sizeof serials / sizeof serials[0]; i++) {
        say((struct mu_local_message){.type = MU_LOCAL_CAUGHT_UP,
                                      .caught_up = {.serial = serials[i]}});
        expect_failure(MUSTER_E_PROTOCOL, "which is not on its board yet");
        leave(NULL);
        join(NULL);
    }
}

int main(void)
{
#define JOINED(test)     cmocka_unit_test_setup_teardown(test, join, leave)
#define FOLLOWING(test)  cmocka_unit_test_setup_teardown(test, follow, leave)
#define FEW_PLACES(test) cmocka_unit_test_setup_teardown(test, follow_few, leave)
    const struct CMUnitTest tests[] = {
        FOLLOWING(the_descriptor_is_readable_while_there_is_something),
        FOLLOWING(who_reads_one_at_a_time_misses_none),
        JOINED(strokes_before_the_state_is_told_count_afterwards),
        FOLLOWING(in_an_epoll_of_the_program),
        FOLLOWING(events_of_another_job_are_passed_over),
        FEW_PLACES(who_is_too_slow_is_told_what_it_lost),
        FEW_PLACES(who_has_lost_nothing_goes_on),
        FEW_PLACES(who_is_overtaken_again_asks_again),
        FEW_PLACES(nobody_is_left_to_ask),
        FOLLOWING(the_last_word_does_not_overtake_an_event),
        FEW_PLACES(the_answer_is_the_last_word),
        FOLLOWING(garbage_on_the_board_ends_it),
        FOLLOWING(packets_after_the_state_end_it),
        JOINED(the_news_cannot_begin_in_the_future),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
