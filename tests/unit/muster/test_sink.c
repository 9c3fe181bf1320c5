/* Writing by a thread: order, marks, failures, and readers that do not read. */
#define _GNU_SOURCE
#include "run/output/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* after those above */
#include <cmocka.h>

enum { MARKS = 8, TURNS_MAX = 100000 };

struct world {
    uv_loop_t loop;
    struct sink *sink;
    int pipe[2], other[2];
    uint64_t marked[MARKS];
    uint32_t order[MARKS]; /* numbers in the order in which they came first */
    uint32_t order_count;
    uint32_t failed_target;
    int failed_error;
    uint32_t failures, drains;
    bool close_when_marked;
};

static void on_marked(void *owner, uint32_t mark, uint64_t count)
{
    struct world *world = owner;
    assert_in_range(mark, 0, MARKS - 1);
    if (world->marked[mark] == 0)
        world->order[world->order_count++] = mark;
    world->marked[mark] += count;
    if (!world->close_when_marked)
        return;
    sink_close(world->sink);
    world->sink = NULL;
}

static void on_failed(void *owner, uint32_t target, int error)
{
    struct world *world = owner;
    world->failed_target = target;
    world->failed_error = error;
    world->failures++;
}

static void on_drained(void *owner)
{
    struct world *world = owner;
    assert_true(world->sink == NULL || sink_queued(world->sink) == 0);
    world->drains++;
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    const struct sink_hooks hooks = {
        .owner = world, .marked = on_marked, .failed = on_failed, .drained = on_drained};
    signal(SIGPIPE, SIG_IGN);
    assert_non_null(world);
    assert_int_equal(uv_loop_init(&world->loop), 0);
    assert_int_equal(pipe2(world->pipe, O_CLOEXEC), 0);
    assert_int_equal(pipe2(world->other, O_CLOEXEC), 0);
    assert_int_equal(sink_open(&world->loop, &hooks, &world->sink), 0);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    sink_close(world->sink);
    while (uv_run(&world->loop, UV_RUN_DEFAULT) != 0)
        ;
    assert_int_equal(uv_loop_close(&world->loop), 0);
    for (int i = 0; i < 2; i++) {
        if (world->pipe[i] >= 0)
            close(world->pipe[i]);
        if (world->other[i] >= 0)
            close(world->other[i]);
    }
    free(world);
    return 0;
}

static void close_end(int *descriptor)
{
    close(*descriptor);
    *descriptor = -1;
}

/* Runs the loop until a number is reached. */
static void wait_for(struct world *world, const uint64_t *number, uint64_t expected)
{
    for (int turn = 0; *number < expected && turn < TURNS_MAX; turn++)
        uv_run(&world->loop, UV_RUN_ONCE);
    assert_int_equal(*number, expected);
}

static void expect_read(int descriptor, const char *text)
{
    char bytes[256];
    size_t used = 0, wanted = strlen(text);
    assert_true(wanted <= sizeof bytes);
    while (used < wanted) {
        ssize_t count = read(descriptor, bytes + used, wanted - used);
        assert_true(count > 0);
        used += (size_t)count;
    }
    assert_memory_equal(bytes, text, wanted);
}

/* ---- */

static void what_is_written_arrives_in_order(void **state)
{
    struct world *world = *state;
    sink_write(world->sink, (uint32_t)world->pipe[1], "one ", 4);
    sink_write(world->sink, (uint32_t)world->pipe[1], "two ", 4);
    sink_write(world->sink, (uint32_t)world->other[1], "other", 5);
    sink_write(world->sink, (uint32_t)world->pipe[1], "three", 5);
    sink_mark(world->sink, 1, 18);
    assert_true(sink_queued(world->sink) > 0);
    wait_for(world, &world->marked[1], 18);
    expect_read(world->pipe[0], "one two three");
    expect_read(world->other[0], "other");
    assert_int_equal(sink_queued(world->sink), 0);
    assert_true(world->drains >= 1);
}

static void a_mark_comes_after_what_was_before_it(void **state)
{
    struct world *world = *state;
    static uint8_t bytes[200 * 1024]; /* over what a pipe takes */
    sink_write(world->sink, (uint32_t)world->other[1], "x", 1);
    sink_mark(world->sink, 3, 1);
    wait_for(world, &world->marked[3], 1);
    sink_write(world->sink, (uint32_t)world->pipe[1], bytes, sizeof bytes);
    sink_mark(world->sink, 4, sizeof bytes);
    for (int turn = 0; turn < 1000; turn++)
        uv_run(&world->loop, UV_RUN_NOWAIT);
    assert_int_equal(world->marked[4], 0); /* nobody has read */
    for (size_t taken = 0; taken < sizeof bytes;) {
        static uint8_t some[64 * 1024];
        ssize_t count = read(world->pipe[0], some, sizeof some);
        assert_true(count > 0);
        taken += (size_t)count;
    }
    wait_for(world, &world->marked[4], sizeof bytes);
    assert_int_equal(world->order[0], 3);
    assert_int_equal(world->order[1], 4);
}

static void a_mark_alone_comes_back(void **state)
{
    struct world *world = *state;
    sink_mark(world->sink, 2, 7);
    wait_for(world, &world->marked[2], 7);
    assert_int_equal(world->drains, 0);
}

static void many_small_ones_add_up(void **state)
{
    struct world *world = *state;
    enum { COUNT = 20000 };
    static char expected[COUNT], got[COUNT];
    int file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    for (int i = 0; i < COUNT; i++) {
        expected[i] = (char)('a' + i % 26);
        sink_write(world->sink, (uint32_t)file, &expected[i], 1);
        sink_mark(world->sink, (uint32_t)(i % MARKS), 1);
        if (i % 100 == 0)
            uv_run(&world->loop, UV_RUN_NOWAIT);
    }
    for (int i = 0; i < MARKS; i++)
        wait_for(world, &world->marked[i], COUNT / MARKS);
    assert_int_equal(pread(file, got, COUNT, 0), COUNT);
    assert_memory_equal(got, expected, COUNT);
    close(file);
}

static void a_reader_that_is_gone_is_told_once_and_marks_go_on(void **state)
{
    struct world *world = *state;
    close_end(&world->pipe[0]);
    for (int i = 0; i < 10; i++) {
        sink_write(world->sink, (uint32_t)world->pipe[1], "nobody", 6);
        sink_mark(world->sink, 1, 6);
        uv_run(&world->loop, UV_RUN_NOWAIT);
    }
    sink_write(world->sink, (uint32_t)world->other[1], "somebody", 8);
    sink_mark(world->sink, 2, 8);
    wait_for(world, &world->marked[1], 60);
    wait_for(world, &world->marked[2], 8);
    assert_int_equal(world->failures, 1);
    assert_int_equal(world->failed_target, world->pipe[1]);
    assert_int_equal(world->failed_error, EPIPE);
    expect_read(world->other[0], "somebody");
}

static void a_full_disk_is_told(void **state)
{
    struct world *world = *state;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (full < 0)
        skip();
    sink_write(world->sink, (uint32_t)full, "x", 1);
    sink_mark(world->sink, 1, 1);
    wait_for(world, &world->marked[1], 1);
    assert_int_equal(world->failed_error, ENOSPC);
    close(full);
}

static void a_descriptor_that_does_not_block_is_waited_for(void **state)
{
    struct world *world = *state;
    static uint8_t bytes[512 * 1024], some[64 * 1024];
    assert_int_equal(fcntl(world->pipe[1], F_SETFL, O_NONBLOCK), 0);
    sink_write(world->sink, (uint32_t)world->pipe[1], bytes, sizeof bytes);
    sink_mark(world->sink, 1, sizeof bytes);
    for (size_t taken = 0; taken < sizeof bytes;) {
        ssize_t count = read(world->pipe[0], some, sizeof some);
        assert_true(count > 0);
        taken += (size_t)count;
    }
    wait_for(world, &world->marked[1], sizeof bytes);
    assert_int_equal(world->failures, 0);
}

static void closing_does_not_wait_for_a_reader(void **state)
{
    struct world *world = *state;
    static uint8_t bytes[512 * 1024];
    for (int i = 0; i < 4; i++)
        sink_write(world->sink, (uint32_t)world->pipe[1], bytes, sizeof bytes);
    sink_mark(world->sink, 1, 1);
    sink_close(world->sink); /* tear_down would hang, if this left something open */
    world->sink = NULL;
}

static void a_hook_may_close_it(void **state)
{
    struct world *world = *state;
    world->close_when_marked = true;
    sink_write(world->sink, (uint32_t)world->pipe[1], "a", 1);
    sink_mark(world->sink, 1, 1);
    sink_mark(world->sink, 2, 1);
    for (int turn = 0; world->sink != NULL && turn < TURNS_MAX; turn++)
        uv_run(&world->loop, UV_RUN_ONCE);
    assert_null(world->sink);
    assert_int_equal(world->marked[2], 0);
}

/* Targets that are no descriptors: on the thread, one after the other. */
static int descriptor_of(void *owner, uint32_t target)
{
    struct world *world = owner;
    if (target == 7) {
        errno = EMFILE;
        return -1;
    }
    return target == 0 ? world->pipe[1] : world->other[1];
}

static void targets_can_be_looked_up(void **state)
{
    struct world *world = *state;
    const struct sink_hooks hooks = {
        .owner = world, .descriptor = descriptor_of, .marked = on_marked, .failed = on_failed};
    struct sink *sink;
    assert_int_equal(sink_open(&world->loop, &hooks, &sink), 0);
    sink_write(sink, 0, "zero", 4);
    sink_write(sink, 7, "none", 4);
    sink_write(sink, 1, "one", 3);
    sink_mark(sink, 5, 11);
    wait_for(world, &world->marked[5], 11);
    expect_read(world->pipe[0], "zero");
    expect_read(world->other[0], "one");
    assert_int_equal(world->failed_target, 7);
    assert_int_equal(world->failed_error, EMFILE);
    sink_close(sink);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_arrives_in_order),
        TEST(a_mark_comes_after_what_was_before_it),
        TEST(a_mark_alone_comes_back),
        TEST(many_small_ones_add_up),
        TEST(a_reader_that_is_gone_is_told_once_and_marks_go_on),
        TEST(a_full_disk_is_told),
        TEST(a_descriptor_that_does_not_block_is_waited_for),
        TEST(closing_does_not_wait_for_a_reader),
        TEST(a_hook_may_close_it),
        TEST(targets_can_be_looked_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
