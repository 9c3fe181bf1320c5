/* Processes whose parents died: this one inherits them, reaps them and kills them. */
#include "host/orphans.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
/* after those above */
#include <cmocka.h>

enum { TIMEOUT_MS = 20000 };

static const uint64_t timeout_ns = TIMEOUT_MS * 1000000ull;

/* Not for ever: where a test fails to end it, nothing must be left behind for long. */
static void wait_to_be_killed(void)
{
    alarm(100);
    for (;;)
        pause();
}

/* Who tells that it lives. */
struct word {
    int generation; /* from 0 */
    pid_t pid;
};

/* A child of a child, and so many generations below it, each in a session of its own. */
static void live(int out, int generations)
{
    struct word word = {.generation = 0};
    while (setsid() > 0 && word.generation < generations && fork() == 0)
        word.generation++;
    word.pid = getpid();
    if (write(out, &word, sizeof word) != sizeof word)
        _exit(1);
    wait_to_be_killed();
}

/* Makes a family whose first parent is gone.  Returns the eldest that is left; all of them run. */
static pid_t make_orphan(int more)
{
    int ends[2];
    struct word word;
    pid_t eldest = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t parent = fork();
    assert_true(parent >= 0);
    if (parent == 0) {
        if (fork() == 0)
            live(ends[1], more);
        _exit(0);
    }
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    close(ends[1]);
    for (int i = 0; i <= more; i++) {
        assert_int_equal(read(ends[0], &word, sizeof word), sizeof word);
        if (word.generation == 0)
            eldest = word.pid;
    }
    close(ends[0]);
    assert_true(eldest > 0);
    return eldest;
}

static void wait_until_dead(pid_t pid)
{
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    assert_true(ended.fd >= 0);
    assert_int_equal(poll(&ended, 1, TIMEOUT_MS), 1);
    close(ended.fd);
}

static bool no_child_is_left(void)
{
    return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

static int adopt(void **state)
{
    (void)state;
    return mu_orphans_adopt();
}

static int leave_nobody(void **state)
{
    (void)state;
    return (int)mu_orphans_end(timeout_ns);
}

static void test_the_dead_are_reaped(void **state)
{
    (void)state;
    pid_t one = make_orphan(0), two = make_orphan(0);
    assert_int_equal(mu_orphans_sweep(NULL, 0, false), 0); /* nobody is dead: it does not look */
    kill(one, SIGKILL);
    wait_until_dead(one);
    assert_int_equal(kill(one, 0), 0); /* a zombie */
    assert_int_equal(mu_orphans_sweep(NULL, 0, false), 2);
    assert_int_equal(kill(one, 0), -1);
    assert_int_equal(kill(two, 0), 0);
}

static void test_our_own_are_left_alone(void **state)
{
    (void)state;
    pid_t ours[3];
    siginfo_t info;
    for (int i = 0; i < 3; i++) {
        ours[i] = fork();
        if (ours[i] == 0)
            _exit(40 + i);
        wait_until_dead(ours[i]);
    }
    pid_t orphan = make_orphan(0);
    assert_true(ours[0] < ours[1] && ours[1] < ours[2]);
    assert_int_equal(mu_orphans_sweep(ours, 3, true), 1);
    if (kill(orphan, 0) == 0)
        wait_until_dead(orphan);
    mu_orphans_sweep(ours, 3, true);
    assert_int_equal(mu_orphans_sweep(ours, 3, true), 0);
    assert_int_equal(kill(orphan, 0), -1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(waitid(P_PID, (id_t)ours[i], &info, WEXITED | WNOHANG), 0);
        assert_int_equal(info.si_status, 40 + i);
    }
    assert_true(no_child_is_left());
}

/* Killing one brings us the next. */
static void test_generations(void **state)
{
    (void)state;
    make_orphan(3);
    make_orphan(2);
    /* None is waited for in between: a sweep may have overlooked the only one that is left. */
    while (mu_orphans_sweep(NULL, 0, true) > 0)
        sched_yield();
    assert_true(no_child_is_left());
}

static void test_the_end(void **state)
{
    (void)state;
    pid_t stopped = make_orphan(4);
    make_orphan(0);
    kill(stopped, SIGSTOP);
    assert_int_equal(mu_orphans_end(timeout_ns), 0);
    assert_true(no_child_is_left());
    assert_int_equal(mu_orphans_end(timeout_ns), 0); /* nobody */
}

static void *start_one(void *arg)
{
    (void)arg;
    if (fork() == 0)
        wait_to_be_killed();
    assert_int_equal(mu_orphans_end(timeout_ns), 0);
    return NULL;
}

/* Children stand with the thread that made them. */
static void test_threads(void **state)
{
    (void)state;
    pthread_t thread;
    make_orphan(1);
    assert_int_equal(pthread_create(&thread, NULL, start_one, NULL), 0);
    pthread_join(thread, NULL);
    assert_true(no_child_is_left());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_the_dead_are_reaped, leave_nobody),
        cmocka_unit_test_teardown(test_our_own_are_left_alone, leave_nobody),
        cmocka_unit_test_teardown(test_generations, leave_nobody),
        cmocka_unit_test_teardown(test_the_end, leave_nobody),
        cmocka_unit_test_teardown(test_threads, leave_nobody),
    };
    return cmocka_run_group_tests(tests, adopt, NULL);
}
