/* libmuster: one handle and many threads, each of which waits in its own way. */
#define _GNU_SOURCE
#include "test_client_joined.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>

struct reader {
    pthread_t thread;
    int64_t timeout_ns;
    _Atomic pid_t tid;
    int got;
    struct muster_event event;
    struct muster_error error;
};

/* A program that polls, and looks when it is woken. */
enum { POLLS = MUSTER_NOW };

static void wait_in_poll(void)
{
    struct pollfd fd = {.fd = muster_fd(m), .events = POLLIN};
    poll(&fd, 1, -1);
}

static void *read_one(void *argument)
{
    struct reader *reader = argument;
    atomic_store(&reader->tid, gettid());
    do {
        if (reader->timeout_ns == POLLS)
            wait_in_poll();
        reader->got = muster_next(m, &reader->event, reader->timeout_ns, &reader->error);
    } while (reader->got == 0);
    return NULL;
}

static void start(struct reader *reader, int64_t timeout_ns)
{
    *reader = (struct reader){.timeout_ns = timeout_ns};
    assert_int_equal(pthread_create(&reader->thread, NULL, read_one, reader), 0);
}

/* Until the kernel says that the thread sleeps, which it does nowhere but where it waits. */
static void wait_until_it_waits(struct reader *reader)
{
    for (int i = 0; i < 10000; i++) {
        char path[64], text[256] = "";
        snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)atomic_load(&reader->tid));
        FILE *file = fopen(path, "r");
        if (file != NULL) {
            size_t count = fread(text, 1, sizeof text - 1, file);
            text[count] = '\0';
            fclose(file);
        }
        if (strstr(text, ") S ") != NULL)
            return;
        poll(NULL, 0, 1);
    }
    fail_msg("the thread does not go to sleep");
}

static const int64_t waits[] = {MUSTER_FOREVER, INT64_C(60000000000), POLLS};
enum { WAYS = sizeof waits / sizeof waits[0] };

static void again(void)
{
    leave(NULL);
    follow(NULL);
}

/* ---- woken ---- */

static void who_waits_is_woken_by_an_event(void **state)
{
    (void)state;
    for (size_t i = 0; i < WAYS; i++) {
        struct reader reader;
        start(&reader, waits[i]);
        wait_until_it_waits(&reader);
        expect_nothing(MUSTER_NOW); /* nobody waits for the one that waits */
        publish(fake_death(1, 7));
        pthread_join(reader.thread, NULL);
        assert_int_equal(reader.got, 1);
        assert_int_equal(reader.event.rank, 7);
    }
}

static void who_waits_for_the_state_is_woken_by_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < WAYS; i++) {
        struct reader reader;
        start(&reader, waits[i]);
        wait_until_it_waits(&reader);
        put(fake_death(1, 7));
        say(fake_death(1, 7));
        pthread_join(reader.thread, NULL);
        assert_int_equal(reader.got, 1);
        assert_int_equal(reader.event.rank, 7);
    }
}

/* There are as many events as threads that wait, but the bell is struck once: who is woken by that
 * sees to it that nobody sleeps while an event waits. */
static void one_stroke_wakes_as_many_as_there_are_events(void **state)
{
    (void)state;
    enum { THREADS = 6, ROUNDS = 30 };
    for (int round = 0; round < ROUNDS; round++) {
        struct reader readers[THREADS];
        bool seen[THREADS] = {false};
        for (int i = 0; i < THREADS; i++) /* all of one way, or one of each */
            start(&readers[i], waits[round % 4 < WAYS ? round % 4 : i % WAYS]);
        for (int i = 0; i < THREADS; i++)
            wait_until_it_waits(&readers[i]);
        for (uint32_t rank = 0; rank < THREADS; rank++)
            put(fake_death(1, rank));
        fake_daemon_strike(&daemon_here);
        for (int i = 0; i < THREADS; i++) {
            pthread_join(readers[i].thread, NULL);
            assert_int_equal(readers[i].got, 1);
            assert_true(readers[i].event.rank < THREADS && !seen[readers[i].event.rank]);
            seen[readers[i].event.rank] = true;
        }
        expect_nothing(MUSTER_NOW);
    }
}

/* The same when the strokes came before CAUGHT_UP, and were used up by those who waited for it. */
static void the_end_of_the_state_wakes_as_many_as_there_are_events(void **state)
{
    (void)state;
    enum { THREADS = 6, ROUNDS = 10 };
    for (int round = 0; round < ROUNDS; round++) {
        struct reader readers[THREADS];
        struct mu_local_message caught_up = fake_caught_up(&daemon_here);
        for (int i = 0; i < THREADS; i++)
            start(&readers[i], waits[round % 2 == 0 ? 0 : i % WAYS]);
        for (uint32_t rank = 1; rank < THREADS; rank++) {
            for (int i = 0; i < THREADS; i++)
                wait_until_it_waits(&readers[i]);
            publish(fake_death(1, rank)); /* wakes, and is not for them yet */
        }
        say(caught_up);
        uint32_t events = 0;
        for (int i = 0; i < THREADS; i++) {
            pthread_join(readers[i].thread, NULL);
            assert_int_equal(readers[i].got, 1);
            events += readers[i].event.type == MUSTER_EVENT_PROCESS;
        }
        assert_int_equal(events, THREADS - 1);
        leave(NULL);
        join(NULL);
    }
}

static void who_waits_is_woken_by_the_end(void **state)
{
    (void)state;
    enum { THREADS = 6, HOWS = 3 };
    static const int codes[HOWS] = {MUSTER_E_NO_DAEMON, MUSTER_E_PROTOCOL, MUSTER_E_PROTOCOL};
    for (int how = 0; how < HOWS; how++) {
        struct reader readers[THREADS];
        for (int i = 0; i < THREADS; i++) {
            start(&readers[i], waits[i % WAYS]);
            wait_until_it_waits(&readers[i]);
        }
        if (how == 0) {
            fake_daemon_hang_up(&daemon_here);
        } else if (how == 1) { /* one of them gets it, and it concerns all */
            fake_daemon_say_bytes(&daemon_here, "garbage", 7);
        } else {
            fake_daemon_put_bytes(&daemon_here, "garbage", 7);
            fake_daemon_strike(&daemon_here);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(readers[i].thread, NULL);
            assert_int_equal(readers[i].got, -1);
            assert_int_equal(readers[i].error.code, codes[how]);
        }
        again();
    }
}

static void an_event_loop_may_make_it_nonblocking(void **state)
{
    (void)state;
    assert_int_equal(fcntl(muster_fd(m), F_SETFL, O_NONBLOCK), 0);
    struct reader reader;
    start(&reader, MUSTER_FOREVER);
    wait_until_it_waits(&reader);
    publish(fake_death(1, 7));
    pthread_join(reader.thread, NULL);
    assert_int_equal(reader.got, 1);
}

/* ---- disturbed ---- */

static atomic_int caught;

static void on_signal(int number)
{
    (void)number;
    caught++;
}

static void a_signal_does_not_end_it(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = on_signal}, before; /* without SA_RESTART */
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    for (size_t i = 0; i < WAYS; i++) {
        struct reader reader;
        start(&reader, waits[i]);
        for (int n = 0; n < 3; n++) {
            wait_until_it_waits(&reader);
            int seen = caught;
            pthread_kill(reader.thread, SIGUSR1);
            while (caught == seen)
                poll(NULL, 0, 1);
        }
        publish(fake_death(1, 7));
        pthread_join(reader.thread, NULL);
        assert_int_equal(reader.got, 1);
    }
    sigaction(SIGUSR1, &before, NULL);
}

/* A thread that is cancelled while it waits takes nothing along: no event, and no lock. */
static void who_is_cancelled_takes_nothing_along(void **state)
{
    (void)state;
    for (size_t i = 0; i < WAYS; i++) {
        struct reader cancelled, other;
        start(&cancelled, waits[i]);
        wait_until_it_waits(&cancelled);
        start(&other, waits[i]);
        wait_until_it_waits(&other);
        assert_int_equal(pthread_cancel(cancelled.thread), 0);
        void *result;
        pthread_join(cancelled.thread, &result);
        assert_ptr_equal(result, PTHREAD_CANCELED);
        publish(fake_death(1, 7));
        pthread_join(other.thread, NULL);
        assert_int_equal(other.got, 1);
        assert_int_equal(other.event.rank, 7);
    }
}

/* ---- in a crowd ---- */

enum { EVENTS = 20000, THREADS = 6 };

static atomic_uchar times_read[EVENTS + 1];
static atomic_int out_of_order;

/* Each waits in its own way, until the daemon is gone. */
static void *read_all(void *argument)
{
    static const int64_t timeouts_ns[] = {MUSTER_FOREVER, 50000, POLLS};
    int64_t timeout_ns = timeouts_ns[(intptr_t)argument];
    uint64_t last = 0;
    for (;;) {
        struct muster_event got;
        struct muster_error why;
        if (timeout_ns == POLLS)
            wait_in_poll();
        int result = muster_next(m, &got, timeout_ns, &why);
        if (result < 0)
            return (void *)(intptr_t)why.code;
        if (result == 0)
            continue;
        if (got.serial <= last)
            out_of_order++;
        last = got.serial;
        times_read[got.serial]++;
    }
}

static void each_event_is_read_once(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    memset((void *)times_read, 0, sizeof times_read);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, (void *)(intptr_t)(i % 3)), 0);
    for (uint64_t serial = 1; serial <= EVENTS; serial++) {
        put(fake_death(serial, (uint32_t)(serial % FAKE_SIZE)));
        if (serial % 8 < 4) /* as a daemon that tells of a node and its processes */
            fake_daemon_strike(&daemon_here);
    }
    fake_daemon_hang_up(&daemon_here);
    for (int i = 0; i < THREADS; i++) {
        void *code;
        pthread_join(threads[i], &code);
        assert_int_equal((intptr_t)code, MUSTER_E_NO_DAEMON);
    }
    for (int serial = 1; serial <= EVENTS; serial++)
        assert_int_equal(times_read[serial], 1);
    assert_int_equal(out_of_order, 0);
}

int main(void)
{
#define JOINED(test)    cmocka_unit_test_setup_teardown(test, join, leave)
#define FOLLOWING(test) cmocka_unit_test_setup_teardown(test, follow, leave)
    const struct CMUnitTest tests[] = {
        FOLLOWING(who_waits_is_woken_by_an_event),
        JOINED(who_waits_for_the_state_is_woken_by_it),
        FOLLOWING(one_stroke_wakes_as_many_as_there_are_events),
        JOINED(the_end_of_the_state_wakes_as_many_as_there_are_events),
        FOLLOWING(who_waits_is_woken_by_the_end),
        FOLLOWING(an_event_loop_may_make_it_nonblocking),
        FOLLOWING(a_signal_does_not_end_it),
        FOLLOWING(who_is_cancelled_takes_nothing_along),
        FOLLOWING(each_event_is_read_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
