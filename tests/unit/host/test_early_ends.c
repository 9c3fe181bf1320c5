/* What the kernel's accounting says of ends: which of it is one, and that it comes before the child
 * can be reaped is in test_spawn.c. */
#include "host/early_ends.h"

#include <linux/acct.h>
#include <linux/genetlink.h>
#include <linux/taskstats.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PARENT = 77, CHILD = 1234, ROOM = 2048, TIMEOUT_MS = 30000 };

struct message {
    uint8_t bytes[ROOM];
    size_t count;
};

static size_t open_attribute(struct message *message, uint16_t type)
{
    struct nlattr head = {.nla_len = NLA_HDRLEN, .nla_type = type};
    size_t at = message->count;
    memcpy(message->bytes + at, &head, sizeof head);
    message->count += NLA_HDRLEN;
    return at;
}

static void close_attribute(struct message *message, size_t at)
{
    uint16_t length = (uint16_t)(message->count - at);
    memcpy(message->bytes + at, &length, sizeof length);
    message->count = NLA_ALIGN(message->count);
}

static void put_attribute(struct message *message, uint16_t type, const void *value, size_t count)
{
    size_t at = open_attribute(message, type);
    if (count > 0)
        memcpy(message->bytes + message->count, value, count);
    message->count += count;
    close_attribute(message, at);
}

/* As the kernel has it; 'padded' as on machines that want their words in place. */
static struct message message_of(const struct taskstats *stats, size_t stats_count, bool padded)
{
    struct message message = {.count = NLMSG_HDRLEN + GENL_HDRLEN};
    uint32_t thread = CHILD + 1;
    size_t nest = open_attribute(&message, TASKSTATS_TYPE_AGGR_PID);
    put_attribute(&message, TASKSTATS_TYPE_PID, &thread, sizeof thread);
    if (padded)
        put_attribute(&message, TASKSTATS_TYPE_NULL, NULL, 0);
    put_attribute(&message, TASKSTATS_TYPE_STATS, stats, stats_count);
    close_attribute(&message, nest);
    struct nlmsghdr head = {.nlmsg_len = (uint32_t)message.count, .nlmsg_type = 31};
    memcpy(message.bytes, &head, sizeof head);
    return message;
}

static struct taskstats killed(void)
{
    return (struct taskstats){.version = 12,
                              .ac_exitcode = SIGKILL,
                              .ac_flag = AGROUP | AXSIG,
                              .ac_ppid = PARENT,
                              .ac_tgid = CHILD};
}

static bool is_end(const struct taskstats *stats, struct mu_early_end *end)
{
    struct message message = message_of(stats, sizeof *stats, false);
    return mu_early_ends_decode(message.bytes, message.count, PARENT, end);
}

static void a_killed_child_is_an_end(void **state)
{
    (void)state;
    struct mu_early_end end;
    struct taskstats stats = killed();
    for (int padded = 0; padded < 2; padded++) {
        struct message message = message_of(&stats, sizeof stats, padded == 1);
        assert_true(mu_early_ends_decode(message.bytes, message.count, PARENT, &end));
        assert_int_equal(end.pid, CHILD);
        assert_int_equal(end.signal, SIGKILL);
        assert_false(end.core_dumped);
    }
    stats.ac_exitcode = SIGSEGV | 0x80;
    stats.ac_flag |= ACORE;
    assert_true(is_end(&stats, &end));
    assert_int_equal(end.signal, SIGSEGV);
    assert_true(end.core_dumped);
}

static void nothing_else_is(void **state)
{
    (void)state;
    struct mu_early_end end;
    struct taskstats stats = killed();
    stats.ac_flag = AXSIG; /* others of its group run on */
    assert_false(is_end(&stats, &end));
    stats = killed();
    stats.ac_exitcode = 3 << 8; /* it has left by itself */
    assert_false(is_end(&stats, &end));
    stats = killed();
    stats.ac_exitcode = SIGSEGV; /* another thread may be writing a core file */
    assert_false(is_end(&stats, &end));
    stats = killed();
    stats.ac_ppid = PARENT + 1;
    assert_false(is_end(&stats, &end));
    stats = killed();
    stats.version = 11; /* its kernel does not know of last ones */
    assert_false(is_end(&stats, &end));
    stats = killed();
    struct message message = message_of(&stats, offsetof(struct taskstats, ac_tgid), false);
    assert_false(mu_early_ends_decode(message.bytes, message.count, PARENT, &end));
}

/* Each in a block of its own, so that a byte too far is seen. */
static void what_is_cut_short_is_none(void **state)
{
    (void)state;
    struct mu_early_end end;
    struct taskstats stats = killed();
    struct message whole = message_of(&stats, sizeof stats, true);
    for (size_t count = 0; count < whole.count; count++) {
        uint8_t *part = malloc(count > 0 ? count : 1);
        assert_non_null(part);
        memcpy(part, whole.bytes, count);
        assert_false(mu_early_ends_decode(part, count, PARENT, &end));
        free(part);
    }
}

static void *wait_for_ever(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static pid_t child_with_threads(int threads)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pthread_t thread;
        for (int i = 0; i < threads; i++)
            if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
                _exit(1);
        if (write(ready[1], "", 1) != 1)
            _exit(1);
        wait_for_ever(NULL);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

/* Once, however many threads it has; an exit, and the ends of other people's children, never. */
static void the_kernel_tells(void **state)
{
    (void)state;
    struct mu_early_ends ends;
    struct mu_early_end end;
    int error = mu_early_ends_open(&ends);
    if (error != 0) {
        assert_int_equal(ends.fd, -1);
        print_message("not checked: %s\n", strerror(error));
        skip();
    }
    for (int threads = 0; threads < 4; threads++) {
        pid_t leaves = fork();
        assert_true(leaves >= 0);
        if (leaves == 0) {
            pid_t grandchild = fork();
            if (grandchild == 0)
                wait_for_ever(NULL);
            kill(grandchild, SIGKILL);
            waitpid(grandchild, NULL, 0);
            _exit(0);
        }
        assert_int_equal(waitpid(leaves, NULL, 0), leaves);
        assert_false(mu_early_ends_next(&ends, &end));

        pid_t child = child_with_threads(threads);
        assert_int_equal(kill(child, SIGTERM), 0);
        struct pollfd readable = {.fd = ends.fd, .events = POLLIN};
        assert_int_equal(poll(&readable, 1, TIMEOUT_MS), 1);
        assert_true(mu_early_ends_next(&ends, &end));
        assert_int_equal(end.pid, child);
        assert_int_equal(end.signal, SIGTERM);
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_false(mu_early_ends_next(&ends, &end));
    }
    mu_early_ends_close(&ends);
    mu_early_ends_close(&ends); /* once more is fine */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_child_is_an_end),
        cmocka_unit_test(nothing_else_is),
        cmocka_unit_test(what_is_cut_short_is_none),
        cmocka_unit_test(the_kernel_tells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
