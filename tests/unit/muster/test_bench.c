/* What 'muster bench' counts with: figures, the shared page, and relays that pass each message to
 * every client once. */
#define _GNU_SOURCE /* memfd_create() */
#include "rig/libexec.h"
#include "rig/door.h"
#include "rig/rig.h"
#include "bench/procfail/relay.h"
#include "rig/stats.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
/* after those above */
#include <cmocka.h>

enum { WAIT_MS = 10000, NODES_MAX = 17, PROCS = 2 };

/* ---- figures ---- */

static void figures_are_nearest_ranks(void **state)
{
    (void)state;
    double values[100];
    for (int i = 0; i < 100; i++)
        values[i] = (i * 37) % 100 + 1; /* 1 .. 100 in some order */
    struct bench_figures figures = bench_figures_of(values, 100);
    assert_true(figures.p10 == 10 && figures.median == 50.5);
    assert_true(figures.p99 == 99 && figures.max == 100);

    double three[] = {7, -1, 3};
    figures = bench_figures_of(three, 3);
    assert_true(figures.p10 == -1 && figures.median == 3 && figures.p99 == 7 && figures.max == 7);
}

static void figures_of_one_and_of_none(void **state)
{
    (void)state;
    double one = 2.5;
    struct bench_figures figures = bench_figures_of(&one, 1);
    assert_true(figures.p10 == 2.5 && figures.median == 2.5);
    assert_true(figures.p99 == 2.5 && figures.max == 2.5);
    figures = bench_figures_of(NULL, 0);
    assert_true(figures.p10 == 0 && figures.median == 0 && figures.p99 == 0 && figures.max == 0);
}

/* ---- the page ---- */

/* In a client: writes into slot 2 of the page, and ends with what became of it. */
static _Noreturn void be_client(void)
{
    struct rig_page *page = rig_page_get((uint32_t)getppid());
    if (page == NULL)
        _exit(errno);
    page->slots[2].wrong = page->size;
    *(char *)rig_page_log(page, 2) = 'x';
    atomic_fetch_add(&page->ready, 1);
    _exit(0);
}

/* Returns the exit code of a client to which this page was given. */
static int give_to_client(const struct rig_page *page)
{
    int status = -1, door = rig_door_open(RIG_DOOR_PAGE);
    assert_true(door >= 0);
    pid_t pid = fork();
    if (pid == 0)
        be_client();
    int fd = rig_door_accept(door);
    assert_true(fd >= 0);
    rig_page_give(page, fd);
    close(fd);
    close(door);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

static void page_is_shared(void **state)
{
    (void)state;
    struct rig_page *page = rig_page_make(3, 2, 100);
    assert_non_null(page);
    assert_int_equal(page->size, 6);
    assert_int_equal(give_to_client(page), 0);
    assert_int_equal(page->ready, 1);
    assert_int_equal(page->slots[2].wrong, 6);
    assert_int_equal(*(char *)rig_page_log(page, 2), 'x');
    rig_page_reset(page);
    assert_int_equal(page->ready, 0);
    assert_int_equal(page->slots[2].wrong, 0);
    assert_int_equal(*(char *)rig_page_log(page, 2), 0);
    assert_int_equal(page->size, 6);
    assert_int_equal(give_to_client(page), 0); /* the next ones get the same */
    rig_page_free(page);
}

static void page_of_a_wrong_size_is_refused(void **state)
{
    (void)state;
    struct rig_page *page = rig_page_make(3, 1, 0);
    assert_non_null(page);
    page->size = 4;
    assert_int_equal(give_to_client(page), EINVAL);
    page->size = 3;
    rig_page_free(page);
    struct rig_page small = {.fd = memfd_create("small", MFD_CLOEXEC)};
    assert_int_equal(ftruncate(small.fd, 5), 0);
    assert_int_equal(give_to_client(&small), EINVAL);
    close(small.fd);
}

/* It has no daemons; clients are served while time passes, and none is left at the end. */
static void a_rig_serves_clients_and_sweeps(void **state)
{
    (void)state;
    struct rig rig;
    struct rig_page *page = rig_page_make(1, 3, 8);
    assert_non_null(page);
    const struct rig_config config = {.command = "a test"};
    assert_true(rig_open(&rig, &config));
    assert_true(rig_open_door(&rig, page));
    for (uint32_t i = 0; i < page->size; i++)
        if (fork() == 0)
            be_client();
    if (fork() == 0)
        pause();
    assert_true(rig_wait_ready(&rig));
    assert_int_equal(page->slots[2].wrong, 3);
    assert_false(page->is_over);
    rig_close(&rig);
    assert_true(page->is_over);
    assert_int_equal(waitpid(-1, NULL, 0), -1);
    assert_int_equal(rig_end(&rig, 7), 7);
    assert_null(rig_page_get((uint32_t)getpid()));
    rig_page_free(page);
}

static void no_rig_no_page(void **state)
{
    (void)state;
    assert_null(rig_page_get((uint32_t)getpid()));
    assert_int_equal(errno, ECONNREFUSED);
}

/* ---- relays ---- */

static struct bench_relays relays;
static int clients[NODES_MAX * PROCS];

static int connect_client(uint32_t rank)
{
    char word;
    int fd = rig_door_connect((uint32_t)getpid(), rank / PROCS);
    assert_true(fd >= 0);
    assert_int_equal(send(fd, &rank, sizeof rank, 0), sizeof rank);
    assert_int_equal(recv(fd, &word, 1, 0), 1);
    return fd;
}

static void start(uint32_t nodes)
{
    assert_int_equal(bench_relays_start(&relays, nodes), 0);
    for (uint32_t rank = 0; rank < nodes * PROCS; rank++)
        clients[rank] = connect_client(rank);
}

static void stop(uint32_t nodes)
{
    bench_relays_stop(&relays);
    for (uint32_t rank = 0; rank < nodes * PROCS; rank++)
        close(clients[rank]);
}

/* The next message of a client, waiting for it; its sequence. */
static uint64_t next_sequence(int client)
{
    struct bench_message message;
    struct pollfd fd = {.fd = client, .events = POLLIN};
    assert_int_equal(poll(&fd, 1, WAIT_MS), 1);
    assert_int_equal(recv(client, &message, sizeof message, 0), sizeof message);
    return message.sequence;
}

/* Each message is read before the next is sent; so one that came twice would be found there. */
static void every_client_is_told_once(void **state)
{
    (void)state;
    for (uint32_t nodes = 1; nodes <= NODES_MAX; nodes += nodes < 9 ? 1 : 4) {
        uint32_t size = nodes * PROCS;
        start(nodes);
        for (uint32_t i = 0; i < 2 * nodes; i++) {
            assert_int_equal(bench_relays_post(&relays, i % nodes, BENCH_RANK_NONE), 0);
            for (uint32_t rank = 0; rank < size; rank++)
                assert_int_equal(next_sequence(clients[rank]), i + 1);
        }
        stop(nodes);
    }
}

static void the_victim_is_not_told(void **state)
{
    (void)state;
    start(4);
    assert_int_equal(bench_relays_post(&relays, 1, 3), 0);
    assert_int_equal(bench_relays_post(&relays, 1, BENCH_RANK_NONE), 0);
    for (uint32_t rank = 0; rank < 4 * PROCS; rank++) {
        if (rank != 3)
            assert_int_equal(next_sequence(clients[rank]), 1);
        assert_int_equal(next_sequence(clients[rank]), 2);
    }
    stop(4);
}

/* As root or with a limit for it (ulimit -r) it is permitted; else it must be refused, and nothing
 * changed. */
static void relays_have_the_priority_they_are_given(void **state)
{
    (void)state;
    start(3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(sched_getscheduler(relays.pids[i]), SCHED_OTHER);
    errno = 0;
    bool can = bench_relays_set_realtime(&relays, true) == 0;
    assert_int_equal(errno, can ? 0 : EPERM);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(sched_getscheduler(relays.pids[i]), can ? SCHED_FIFO : SCHED_OTHER);
    assert_int_equal(bench_relays_post(&relays, 2, BENCH_RANK_NONE), 0);
    for (uint32_t rank = 0; rank < 3 * PROCS; rank++)
        assert_int_equal(next_sequence(clients[rank]), 1);
    assert_int_equal(bench_relays_set_realtime(&relays, false), 0);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(sched_getscheduler(relays.pids[i]), SCHED_OTHER);
    stop(3);
}

static void a_client_that_ends_is_forgotten(void **state)
{
    (void)state;
    start(2);
    close(clients[0]);
    clients[0] = connect_client(0);
    assert_int_equal(bench_relays_post(&relays, 1, BENCH_RANK_NONE), 0);
    for (uint32_t rank = 0; rank < 2 * PROCS; rank++)
        assert_int_equal(next_sequence(clients[rank]), 1);
    stop(2);
}

static void no_relay_no_connection(void **state)
{
    (void)state;
    assert_int_equal(rig_door_connect((uint32_t)getpid(), 0), -1);
    assert_int_equal(errno, ECONNREFUSED);
}

/* ---- the program of the clients ---- */

/* Of PREFIX/FOLDER/this it must be somewhere else under PREFIX; there it is not, in this case. */
static void the_client_is_looked_for_under_the_same_prefix(void **state)
{
    (void)state;
    static const char name[] = "/muster-rig-client";
    char path[PATH_MAX], prefix[PATH_MAX] = "";
    assert_true(readlink("/proc/self/exe", prefix, sizeof prefix - 1) > 0);
    *strrchr(prefix, '/') = '\0';
    char *folder = strrchr(prefix, '/') + 1;
    assert_int_equal(libexec_find("muster-rig-client", path), ENOENT);
    assert_string_equal(path + strlen(path) - strlen(name), name);
    assert_int_not_equal(strncmp(path, prefix, strlen(prefix)), 0);
    *folder = '\0';
    assert_memory_equal(path, prefix, strlen(prefix));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_nearest_ranks),
        cmocka_unit_test(figures_of_one_and_of_none),
        cmocka_unit_test(page_is_shared),
        cmocka_unit_test(page_of_a_wrong_size_is_refused),
        cmocka_unit_test(a_rig_serves_clients_and_sweeps),
        cmocka_unit_test(no_rig_no_page),
        cmocka_unit_test(every_client_is_told_once),
        cmocka_unit_test(the_victim_is_not_told),
        cmocka_unit_test(relays_have_the_priority_they_are_given),
        cmocka_unit_test(a_client_that_ends_is_forgotten),
        cmocka_unit_test(no_relay_no_connection),
        cmocka_unit_test(the_client_is_looked_for_under_the_same_prefix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
