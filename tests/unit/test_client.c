/* libmuster: reading what happens, with one thread or many. */
#define _GNU_SOURCE
#include "fake_daemon.h"
#include "muster.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
/* after the four that it needs */
#include <cmocka.h>

static struct fake_daemon daemon_here;
static struct muster *m;
static struct muster_event event;
static struct muster_error error;

static struct muster *open_here(void)
{
    struct mu_local_message welcome = fake_welcome();
    struct muster *opened;
    fake_daemon_greet(&daemon_here, &welcome);
    assert_int_equal(muster_open(&opened, &error), 0);
    fake_daemon_greeted(&daemon_here);
    return opened;
}

static int join(void **state)
{
    (void)state;
    fake_daemon_open(&daemon_here);
    m = open_here();
    memset(&event, 0x5a, sizeof event);
    return 0;
}

static int leave(void **state)
{
    (void)state;
    muster_close(m);
    fake_daemon_close(&daemon_here);
    return 0;
}

static void say(struct mu_local_message message)
{
    fake_daemon_say(&daemon_here, &message);
}

static void expect_next(uint32_t type, const char *text)
{
    errno = EXDEV;
    assert_int_equal(muster_next(m, &event, MUSTER_NOW, &error), 1);
    assert_int_equal(errno, EXDEV);
    assert_int_equal(event.type, type);
    assert_string_equal(event.text, text);
    for (size_t i = 0; i < sizeof event.reserved / sizeof event.reserved[0]; i++)
        assert_int_equal(event.reserved[i], 0);
}

static void expect_nothing(int64_t timeout_ns)
{
    struct muster_event before = event;
    errno = EXDEV;
    assert_int_equal(muster_next(m, &event, timeout_ns, &error), 0);
    assert_int_equal(errno, EXDEV);
    assert_memory_equal(&event, &before, sizeof event);
}

static void expect_failure(int code, const char *words)
{
    struct muster_event before = event;
    errno = EXDEV;
    assert_int_equal(muster_next(m, &event, MUSTER_FOREVER, &error), -1);
    assert_int_equal(errno, EXDEV);
    assert_memory_equal(&event, &before, sizeof event);
    if (strstr(error.text, words) == NULL)
        fail_msg("'%s' does not say '%s'", error.text, words);
    assert_int_equal(error.code, code);
}

static bool is_readable(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    return poll(&poll_fd, 1, 0) == 1;
}

/* ---- one thread ---- */

static void first_what_has_happened_then_the_news(void **state)
{
    (void)state;
    struct mu_local_message death = fake_death(1, 7);
    death.event.is_state = true;
    say(death);
    say((struct mu_local_message){.type = MU_LOCAL_CAUGHT_UP});
    say(fake_death(2, 8));

    expect_next(MUSTER_EVENT_PROCESS, "process 7 on node 2 is dead: killed (signal 9)");
    assert_int_equal(event.is_state, 1);
    assert_int_equal(event.serial, 1);
    expect_next(MUSTER_EVENT_CAUGHT_UP, "from here on it is news");
    assert_int_equal(event.serial, 0);
    expect_next(MUSTER_EVENT_PROCESS, "process 8 on node 2 is dead: killed (signal 9)");
    assert_int_equal(event.is_state, 0);
    assert_int_equal(event.serial, 2);
    assert_int_equal(event.verdict, MUSTER_DEAD);
    assert_int_equal(event.rank, 8);
    assert_int_equal(event.node, 2);
    assert_int_equal(event.seen_by, 2);
    assert_int_equal(event.hops, 2);
    assert_int_equal(event.pid, 1234);
    assert_int_equal(event.exit_code, -1);
    assert_int_equal(event.signal, 9);
    assert_int_equal(event.lost, 0);
    expect_nothing(MUSTER_NOW);
}

static void expect_end(const struct mu_evidence *evidence, const char *text, int verdict,
                       int exit_code, int signal_number)
{
    struct mu_local_message end = fake_death(1, 7);
    end.event.evidence = *evidence;
    end.event.evidence.node = end.event.node;
    say(end);
    expect_next(MUSTER_EVENT_PROCESS, text);
    assert_int_equal(event.verdict, verdict);
    assert_int_equal(event.exit_code, exit_code);
    assert_int_equal(event.signal, signal_number);
}

static void every_end_of_a_process(void **state)
{
    (void)state;
    struct mu_evidence left = {.verdict = MU_VERDICT_LEFT, .cause = MU_CAUSE_EXIT};
    expect_end(&left, "process 7 on node 2 has left", MUSTER_LEFT, 0, 0);
    struct mu_evidence code = {.verdict = MU_VERDICT_DEAD,
                               .cause = MU_CAUSE_EXIT,
                               .how = {.type = MU_EXIT_CODE, .code = 3}};
    expect_end(&code, "process 7 on node 2 is dead: exit code 3", MUSTER_DEAD, 3, 0);
    struct mu_evidence lost = {.verdict = MU_VERDICT_DEAD, .cause = MU_CAUSE_NODE_LOST};
    expect_end(&lost, "process 7 on node 2 is dead: its node was lost", MUSTER_DEAD, -1, 0);
    struct mu_evidence unknown = {
        .verdict = MU_VERDICT_DEAD, .cause = MU_CAUSE_EXIT, .how = {.type = MU_EXIT_UNKNOWN}};
    say((struct mu_local_message){
        .type = MU_LOCAL_EVENT,
        .event = {
            .serial = 1, .subject = MU_SUBJECT_PROCESS, .job = FAKE_JOB, .evidence = unknown}});
    assert_int_equal(muster_next(m, &event, MUSTER_NOW, &error), 1);
    assert_int_equal(event.exit_code, -1);
    assert_int_equal(event.signal, 0);
}

/* The longest that an event has to say: cut off, if at all, and never without its subject. */
static void a_start_that_failed(void **state)
{
    (void)state;
    struct mu_local_message end = fake_death(1, FAKE_SIZE - 1);
    end.event.evidence.how =
        (struct mu_exit_kind){.type = MU_EXIT_NOT_STARTED, .step = MU_START_EXEC, .error = ENOENT};
    char path[4000] = "";
    memset(path, 'p', sizeof path - 1);
    mu_evidence_path(&end.event.evidence, path);
    say(end);
    assert_int_equal(muster_next(m, &event, MUSTER_NOW, &error), 1);
    assert_non_null(strstr(event.text, "process 31 on node 2 is dead: could not start: ...pppp"));
    assert_non_null(strstr(event.text, "No such file or directory"));
    assert_int_equal(event.exit_code, -1);
}

static void a_node_is_lost(void **state)
{
    (void)state;
    struct mu_local_message death = fake_death(4, 0);
    death.event.subject = MU_SUBJECT_NODE;
    death.event.job = 0;
    death.event.evidence = (struct mu_evidence){
        .verdict = MU_VERDICT_DEAD, .cause = MU_CAUSE_REFUSED, .seen_by = 6, .node = 2};
    say(death);
    expect_next(MUSTER_EVENT_NODE,
                "node 2 is dead: its connection closed and a new one was refused");
    assert_int_equal(event.node, 2);
    assert_int_equal(event.seen_by, 6);
    assert_int_equal(event.exit_code, 0);
    assert_int_equal(event.pid, 0);
}

static void what_was_lost_is_counted(void **state)
{
    (void)state;
    struct mu_local_message death = fake_death(9, 7);
    death.event.is_state = true;
    say((struct mu_local_message){.type = MU_LOCAL_LOST, .lost = {.count = UINT64_MAX}});
    say(death);
    say((struct mu_local_message){.type = MU_LOCAL_CAUGHT_UP});
    expect_next(MUSTER_EVENT_LOST, "18446744073709551615 events were not read in time and are "
                                   "lost: what is so now follows");
    assert_true(event.lost == UINT64_MAX);
    assert_int_equal(event.verdict, 0);
    expect_next(MUSTER_EVENT_PROCESS, "process 7 on node 2 is dead: killed (signal 9)");
    assert_int_equal(event.is_state, 1);
    expect_next(MUSTER_EVENT_CAUGHT_UP, "from here on it is news");
}

static void ages_go_on_until_they_are_read(void **state)
{
    (void)state;
    struct mu_local_message death = fake_death(1, 7);
    death.event.learned_ns -= 3000000000u;
    uint64_t learned_ns = death.event.learned_ns;
    say(death);
    assert_int_equal(muster_next(m, &event, MUSTER_NOW, &error), 1);
    assert_true(event.age_ns >= 3000500000u);
    assert_true(event.age_ns <= fake_now_ns() - learned_ns + 500000);

    death.event.learned_ns = UINT64_MAX; /* of a clock that is ahead */
    say(death);
    assert_int_equal(muster_next(m, &event, MUSTER_NOW, &error), 1);
    assert_true(event.age_ns == 500000);

    death.event.learned_ns = 0;
    death.event.age_ns = UINT64_MAX - 1;
    say(death);
    assert_int_equal(muster_next(m, &event, MUSTER_NOW, &error), 1);
    assert_true(event.age_ns == UINT64_MAX);
}

static void timeouts(void **state)
{
    (void)state;
    expect_nothing(MUSTER_NOW);
    expect_nothing(-1);
    expect_nothing(INT64_MIN);
    expect_nothing(1);
    uint64_t before_ns = fake_now_ns();
    expect_nothing(20000000);
    assert_true(fake_now_ns() - before_ns >= 20000000);
    say(fake_death(1, 7));
    say(fake_death(2, 7));
    say(fake_death(3, 7));
    assert_int_equal(muster_next(m, &event, INT64_MIN, NULL), 1);
    assert_int_equal(muster_next(m, &event, MUSTER_FOREVER - 1, NULL), 1);
    assert_int_equal(muster_next(m, &event, MUSTER_FOREVER, NULL), 1);
}

static void the_descriptor_is_readable_while_there_is_something(void **state)
{
    (void)state;
    int fd = muster_fd(m);
    assert_false(is_readable(fd));
    say(fake_death(1, 7));
    say(fake_death(2, 8));
    assert_true(is_readable(fd));
    assert_int_equal(muster_next(m, &event, MUSTER_NOW, &error), 1);
    assert_true(is_readable(fd));
    assert_int_equal(muster_next(m, &event, MUSTER_NOW, &error), 1);
    assert_false(is_readable(fd));
    fake_daemon_hang_up(&daemon_here);
    assert_true(is_readable(fd));
    expect_failure(MUSTER_E_NO_DAEMON, "is gone");
    assert_true(is_readable(fd)); /* it still has that to say */
}

static void a_daemon_that_is_gone_has_said_what_it_said(void **state)
{
    (void)state;
    say(fake_death(1, 7));
    say(fake_death(2, 8));
    fake_daemon_hang_up(&daemon_here);
    assert_int_equal(muster_next(m, &event, MUSTER_FOREVER, &error), 1);
    assert_int_equal(muster_next(m, &event, MUSTER_NOW, &error), 1);
    assert_int_equal(event.rank, 8);
    for (int i = 0; i < 3; i++)
        expect_failure(MUSTER_E_NO_DAEMON, "is gone");
    assert_int_equal(muster_next(m, &event, MUSTER_NOW, NULL), -1);
}

/* As a program may do that locks itself up.  Only a wait with an end needs poll(). */
static void where_no_descriptor_may_be_opened(void **state)
{
    (void)state;
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    say(fake_death(1, 7));
    say(fake_death(2, 8));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int forever = muster_next(m, &event, MUSTER_FOREVER, &error);
    int a_while = muster_next(m, &event, 1000000000, &error);
    int now = muster_next(m, &event, MUSTER_NOW, &error);
    int in_vain = muster_next(m, &event, 1000000000, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(forever, 1);
    assert_int_equal(a_while, 1);
    assert_int_equal(now, 0);
    assert_int_equal(in_vain, -1);
    assert_int_equal(error.code, MUSTER_E_SYSTEM);
    assert_non_null(strstr(error.text, "Invalid argument"));
}

static void several_handles_each_hear_everything(void **state)
{
    (void)state;
    struct fake_daemon first = daemon_here;
    struct muster *other = open_here();
    say(fake_death(1, 7));
    fake_daemon_say(&first, &(struct mu_local_message){.type = MU_LOCAL_CAUGHT_UP});
    assert_int_not_equal(muster_fd(other), muster_fd(m));
    assert_int_equal(muster_next(other, &event, MUSTER_FOREVER, &error), 1);
    assert_int_equal(event.type, MUSTER_EVENT_PROCESS);
    muster_close(other);
    expect_next(MUSTER_EVENT_CAUGHT_UP, "from here on it is news");
    fake_daemon_hang_up(&first);
}

static void words(void **state)
{
    (void)state;
    assert_string_equal(muster_verdict_word(MUSTER_DEAD), "dead");
    assert_string_equal(muster_verdict_word(MUSTER_FAILED_CHECK), "failed-check");
    assert_string_equal(muster_verdict_word(MUSTER_LEFT), "left");
    assert_string_equal(muster_verdict_word(0), "unknown");
    assert_string_equal(muster_verdict_word(MUSTER_LEFT + 1), "unknown");
    assert_string_equal(muster_verdict_word(UINT32_MAX), "unknown");
    assert_string_equal(muster_version(), MUSTER_VERSION);
}

/* ---- what the daemon may not say ---- */

static void again(void)
{
    leave(NULL);
    join(NULL);
}

static void expect_refused_bytes(const uint8_t *bytes, size_t count, const char *words_of_it)
{
    fake_daemon_say_bytes(&daemon_here, bytes, count);
    say(fake_death(1, 7)); /* nothing counts any more */
    expect_failure(MUSTER_E_PROTOCOL, words_of_it);
    expect_failure(MUSTER_E_PROTOCOL, words_of_it);
    assert_true(is_readable(muster_fd(m)));
    again();
}

static void expect_refused(struct mu_local_message message, const char *words_of_it)
{
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    expect_refused_bytes(bytes, mu_local_encode(&message, bytes), words_of_it);
}

static void garbage_ends_it(void **state)
{
    (void)state;
    struct mu_local_message death = fake_death(1, 7);
    uint8_t bytes[70000] = {0};
    size_t count = mu_local_encode(&death, bytes);
    for (size_t cut = 1; cut < count; cut++)
        expect_refused_bytes(bytes, cut, "a packet of ");
    expect_refused_bytes(bytes, count + 1, "bytes follow");
    expect_refused_bytes(bytes, MU_LOCAL_PACKET_MAX + 1, "513 bytes and type 34");
    expect_refused_bytes(bytes, sizeof bytes, "70000 bytes and type 34");
    for (int type = 0; type < 256; type++) {
        bytes[0] = (uint8_t)type;
        bool good = type == MU_LOCAL_EVENT;
        if (!good)
            expect_refused_bytes(bytes, count, "");
    }
}

static void messages_of_others_end_it(void **state)
{
    (void)state;
    expect_refused(fake_welcome(), "type 32, which is not for a member");
    expect_refused((struct mu_local_message){.type = MU_LOCAL_DONE}, "type 40");
    expect_refused((struct mu_local_message){.type = MU_LOCAL_STATUS}, "type 2");
    struct mu_local_message refusal = fake_refusal(MU_LOCAL_BAD_PACKET, "you talk too much");
    say(refusal);
    expect_failure(MUSTER_E_REFUSED, "you talk too much");
    expect_failure(MUSTER_E_REFUSED, "you talk too much");
}

static void events_that_cannot_be_end_it(void **state)
{
    (void)state;
    struct mu_local_message death = fake_death(1, FAKE_SIZE);
    expect_refused(death, "rank 32 of job 3: this is job 3 with 32 processes");
    death = fake_death(1, 7);
    death.event.job = 4;
    expect_refused(death, "rank 7 of job 4");
    death = fake_death(1, 7);
    death.event.node = death.event.evidence.node = FAKE_NODES;
    expect_refused(death, "node 8, seen by node 2: this machine has 8 nodes");
    death = fake_death(1, 7);
    death.event.evidence.seen_by = FAKE_NODES;
    expect_refused(death, "seen by node 8");
}

/* ---- fork ---- */

static int in_the_child(void)
{
    if (muster_next(m, &event, MUSTER_FOREVER, &error) != -1 || error.code != MUSTER_E_FORKED)
        return 1;
    if (muster_next(m, &event, MUSTER_NOW, NULL) != -1 || muster_fd(m) != -1)
        return 2;
    if (muster_rank(m) != FAKE_RANK || muster_size(m) != FAKE_SIZE)
        return 3;
    muster_close(m);
    return 0;
}

static void a_child_has_no_part_in_it(void **state)
{
    (void)state;
    say(fake_death(1, 7));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(in_the_child());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    say(fake_death(2, 8));
    expect_next(MUSTER_EVENT_PROCESS, "process 7 on node 2 is dead: killed (signal 9)");
    expect_next(MUSTER_EVENT_PROCESS, "process 8 on node 2 is dead: killed (signal 9)");
}

/* ---- many threads ---- */

struct reader {
    pthread_t thread;
    int64_t timeout_ns;
    _Atomic pid_t tid;
    int got;
    struct muster_event event;
    struct muster_error error;
};

static void *read_one(void *argument)
{
    struct reader *reader = argument;
    atomic_store(&reader->tid, gettid());
    do
        reader->got = muster_next(m, &reader->event, reader->timeout_ns, &reader->error);
    while (reader->got == 0);
    return NULL;
}

static void start(struct reader *reader, int64_t timeout_ns)
{
    *reader = (struct reader){.timeout_ns = timeout_ns};
    assert_int_equal(pthread_create(&reader->thread, NULL, read_one, reader), 0);
}

/* Until the kernel says that the thread sleeps, which it does nowhere but in muster_next(). */
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

static const int64_t waits[] = {MUSTER_FOREVER, INT64_C(60000000000)};

static void who_waits_is_woken_by_an_event(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        struct reader reader;
        start(&reader, waits[i]);
        wait_until_it_waits(&reader);
        expect_nothing(MUSTER_NOW); /* nobody waits for the one that waits */
        say(fake_death(1, 7));
        pthread_join(reader.thread, NULL);
        assert_int_equal(reader.got, 1);
        assert_int_equal(reader.event.rank, 7);
    }
}

static void who_waits_is_woken_by_the_end(void **state)
{
    (void)state;
    for (int how = 0; how < 2; how++) {
        struct reader readers[4];
        for (int i = 0; i < 4; i++) {
            start(&readers[i], waits[i % 2]);
            wait_until_it_waits(&readers[i]);
        }
        if (how == 0)
            fake_daemon_hang_up(&daemon_here);
        else /* one of them gets it, and it concerns all */
            fake_daemon_say_bytes(&daemon_here, "garbage", 7);
        for (int i = 0; i < 4; i++) {
            pthread_join(readers[i].thread, NULL);
            assert_int_equal(readers[i].got, -1);
            assert_int_equal(readers[i].error.code,
                             how == 0 ? MUSTER_E_NO_DAEMON : MUSTER_E_PROTOCOL);
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
    say(fake_death(1, 7));
    pthread_join(reader.thread, NULL);
    assert_int_equal(reader.got, 1);
}

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
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        struct reader reader;
        start(&reader, waits[i]);
        for (int n = 0; n < 3; n++) {
            wait_until_it_waits(&reader);
            int seen = caught;
            pthread_kill(reader.thread, SIGUSR1);
            while (caught == seen)
                poll(NULL, 0, 1);
        }
        say(fake_death(1, 7));
        pthread_join(reader.thread, NULL);
        assert_int_equal(reader.got, 1);
    }
    sigaction(SIGUSR1, &before, NULL);
}

enum { EVENTS = 20000, THREADS = 6 };

static atomic_uchar times_read[EVENTS + 1];
static atomic_int out_of_order;

/* Each waits in its own way, until the daemon is gone. */
static void *read_all(void *argument)
{
    int way = (int)(intptr_t)argument;
    uint64_t last = 0;
    for (;;) {
        static const int64_t timeouts_ns[] = {MUSTER_FOREVER, 50000, MUSTER_NOW};
        struct muster_event got;
        struct muster_error why;
        struct pollfd poll_fd = {.fd = muster_fd(m), .events = POLLIN};
        if (timeouts_ns[way] == MUSTER_NOW)
            poll(&poll_fd, 1, -1);
        int result = muster_next(m, &got, timeouts_ns[way], &why);
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
    for (uint64_t serial = 1; serial <= EVENTS; serial++)
        say(fake_death(serial, (uint32_t)(serial % FAKE_SIZE)));
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
#define JOINED(test) cmocka_unit_test_setup_teardown(test, join, leave)
    const struct CMUnitTest tests[] = {
        JOINED(first_what_has_happened_then_the_news),
        JOINED(every_end_of_a_process),
        JOINED(a_start_that_failed),
        JOINED(a_node_is_lost),
        JOINED(what_was_lost_is_counted),
        JOINED(ages_go_on_until_they_are_read),
        JOINED(timeouts),
        JOINED(the_descriptor_is_readable_while_there_is_something),
        JOINED(a_daemon_that_is_gone_has_said_what_it_said),
        JOINED(where_no_descriptor_may_be_opened),
        JOINED(several_handles_each_hear_everything),
        cmocka_unit_test(words),
        JOINED(garbage_ends_it),
        JOINED(messages_of_others_end_it),
        JOINED(events_that_cannot_be_end_it),
        JOINED(a_child_has_no_part_in_it),
        JOINED(who_waits_is_woken_by_an_event),
        JOINED(who_waits_is_woken_by_the_end),
        JOINED(an_event_loop_may_make_it_nonblocking),
        JOINED(a_signal_does_not_end_it),
        JOINED(each_event_is_read_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
