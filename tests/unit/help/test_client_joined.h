/* A program that has joined its job, with a daemon that a test plays: for
 * tests/unit/test_client*.c.
 */
#ifndef TEST_CLIENT_JOINED_H
#define TEST_CLIENT_JOINED_H

#include "fake_daemon.h"
#include "muster.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* after those above */
#include <cmocka.h>

static struct fake_daemon daemon_here;
static struct muster *m;
static struct muster_event event;
static struct muster_error error;

static inline struct muster *open_here(void)
{
    struct mu_local_message welcome = fake_welcome();
    struct muster *opened;
    fake_daemon_greet(&daemon_here, &welcome);
    assert_int_equal(muster_open(&opened, &error), 0);
    fake_daemon_greeted(&daemon_here);
    return opened;
}

static inline void say(struct mu_local_message message)
{
    fake_daemon_say(&daemon_here, &message);
}

static inline void put(struct mu_local_message message)
{
    fake_daemon_put(&daemon_here, &message);
}

static inline void publish(struct mu_local_message message)
{
    fake_daemon_publish(&daemon_here, &message);
}

static inline struct mu_local_message hear(enum mu_local_type type)
{
    struct mu_local_message message;
    assert_true(fake_daemon_hear(&daemon_here, &message));
    assert_int_equal(message.type, type);
    return message;
}

static inline bool is_readable(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    return poll(&poll_fd, 1, 0) == 1;
}

static inline void expect_next(uint32_t type, const char *text)
{
    errno = EXDEV;
    assert_int_equal(muster_next(m, &event, MUSTER_NOW, &error), 1);
    assert_int_equal(errno, EXDEV);
    assert_int_equal(event.type, type);
    assert_string_equal(event.text, text);
    for (size_t i = 0; i < sizeof event.reserved / sizeof event.reserved[0]; i++)
        assert_int_equal(event.reserved[i], 0);
}

static inline void expect_rank(uint32_t rank)
{
    assert_int_equal(muster_next(m, &event, MUSTER_NOW, &error), 1);
    assert_int_equal(event.type, MUSTER_EVENT_PROCESS);
    assert_int_equal(event.rank, rank);
}

static inline void expect_nothing(int64_t timeout_ns)
{
    struct muster_event before = event;
    errno = EXDEV;
    assert_int_equal(muster_next(m, &event, timeout_ns, &error), 0);
    assert_int_equal(errno, EXDEV);
    assert_memory_equal(&event, &before, sizeof event);
}

static inline void expect_failure(int code, const char *words)
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

/* ---- setup and teardown ---- */

/* Joined: the state is to come. */
static inline int join(void **state)
{
    (void)state;
    fake_daemon_open(&daemon_here);
    m = open_here();
    memset(&event, 0x5a, sizeof event);
    return 0;
}

static inline void catch_up(void)
{
    say(fake_caught_up(&daemon_here));
    expect_next(MUSTER_EVENT_CAUGHT_UP, "caught up: later events are live");
}

/* The state is told; what comes is news, on the board. */
static inline int follow(void **state)
{
    join(state);
    catch_up();
    return 0;
}

static inline int leave(void **state)
{
    (void)state;
    muster_close(m);
    fake_daemon_close(&daemon_here);
    return 0;
}

#endif
