/* Heartbeat threads on loopback: a ring that stands, nodes that die or are cut off, full queues. */
#define _GNU_SOURCE
#include "test_heartbeat_world.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* ---- beginning and end ---- */

static void test_stop_before_start(void **state)
{
    (void)state;
    mu_heartbeat_stop(NULL);
    struct world *world = open_world(2);
    struct mu_heartbeat_counts counts = counts_of(world, 0);
    struct mu_heartbeat_news news;
    assert_int_equal(counts.rounds, 0);
    assert_int_equal(mu_heartbeat_cpu_ns(world->node[0]), 0);
    assert_int_equal(mu_heartbeat_lease_ns(world->node[0]), 0);
    assert_false(mu_heartbeat_next(world->node[0], &news));
    close_world(world);
}

static void test_listen_refused(void **state)
{
    (void)state;
    struct mu_heartbeat *first, *second = NULL;
    uint16_t port, other = 77;
    union mu_heartbeat_address address = loopback(0);
    assert_int_equal(mu_heartbeat_listen(&address.any, &first, &port), 0);
    assert_int_not_equal(port, 0);
    address = loopback(port);
    assert_int_equal(mu_heartbeat_listen(&address.any, &second, &other), EADDRINUSE);
    address.any.sa_family = AF_UNIX;
    assert_int_equal(mu_heartbeat_listen(&address.any, &second, &other), EAFNOSUPPORT);
    assert_null(second);
    assert_int_equal(other, 77);
    mu_heartbeat_stop(first);
}

static void test_start_refused(void **state)
{
    (void)state;
    struct world *world = open_world(2);
    struct mu_heartbeat_refused refused;
    world->address[1].any.sa_family = AF_INET6;
    assert_int_equal(mu_heartbeat_start(world->node[0], &world->config, &refused), EAFNOSUPPORT);
    close_world(world);
}

/* ---- the ring ---- */

static void test_a_ring_forms(void **state)
{
    (void)state;
    struct world *world = open_world(5);
    start_all(world);
    for (mu_slot slot = 0; slot < world->size; slot++)
        assert_true(await_news(world, slot, MU_DETECT_LEASE, MU_SLOT_NONE)->effect.held);
    await_ring(world);
    AWAIT_COUNTS(world, 0, c.in >= 20 && c.out >= 20); /* it goes on */
    struct mu_heartbeat_counts counts = counts_of(world, 0);
    assert_int_equal(counts.malformed + counts.forged + counts.send_errors, 0);
    assert_true(counts.in_bytes >= counts.in * 83 - 83 && counts.out_bytes >= counts.out * 83 - 83);
    assert_true(mu_heartbeat_cpu_ns(world->node[0]) > 0);
    assert_nobody_accused(world);
    close_world(world);
}

static void test_two_nodes_over_ipv6(void **state)
{
    (void)state;
    union mu_heartbeat_address here = {.v6 = {.sin6_family = AF_INET6}};
    here.v6.sin6_addr = in6addr_loopback;
    struct mu_heartbeat *probe;
    uint16_t port;
    if (mu_heartbeat_listen(&here.any, &probe, &port) != 0)
        skip(); /* this host has no ::1 */
    mu_heartbeat_stop(probe);

    struct world *world = open_world(2);
    for (mu_slot slot = 0; slot < 2; slot++) {
        stop_node(world, slot);
        here.v6.sin6_port = 0;
        assert_int_equal(mu_heartbeat_listen(&here.any, &world->node[slot], &port), 0);
        here.v6.sin6_port = htons(port);
        world->address[slot] = here;
    }
    start_all(world);
    await_ring(world);
    close_world(world);
}

/* What came before the start waits in the socket. */
static void test_early_datagrams_wait(void **state)
{
    (void)state;
    struct world *world = open_world(2);
    start_node(world, 0);
    AWAIT_COUNTS(world, 0, c.out >= 2);
    start_node(world, 1);
    AWAIT_COUNTS(world, 1, c.in >= 2 && c.rounds >= 1);
    await_ring(world);
    close_world(world);
}

static void carry_death(struct world *world, mu_slot dead)
{
    for (mu_slot slot = 0; slot < world->size; slot++)
        if (world->node[slot] != NULL && slot != dead)
            assert_true(mu_heartbeat_out(world->node[slot], dead, 1, false));
}

static void test_a_death_is_declared_and_the_ring_mends(void **state)
{
    (void)state;
    struct world *world = open_world(5);
    world->config.detect.timeout_ns = 500 * MS;
    start_all(world);
    await_ring(world);
    stop_node(world, 2);
    const struct mu_heartbeat_news *news = await_news(world, 3, MU_DETECT_VERDICT, 2);
    assert_int_equal(news->effect.evidence.cause, MU_DETECT_SILENT);
    assert_int_equal(news->effect.evidence.incarnation, 1);
    assert_int_equal(news->effect.evidence.timeout_ns, 500 * MS);
    carry_death(world, 2);
    await_ring(world);
    close_world(world);
}

static void test_neighbours_that_die_together(void **state)
{
    (void)state;
    struct world *world = open_world(8);
    world->config.detect.timeout_ns = 500 * MS;
    start_all(world);
    await_ring(world);
    for (mu_slot slot = 2; slot <= 5; slot++)
        stop_node(world, slot);
    for (mu_slot slot = 2; slot <= 5; slot++) {
        await_news(world, 6, MU_DETECT_VERDICT, slot);
        assert_int_equal(said(world, 6, MU_DETECT_VERDICT, slot), 1);
        carry_death(world, slot);
    }
    await_ring(world);
    close_world(world);
}

/* A node that is silently cut off loses its lease and is declared; when it is heard again, it is
 * told, and accuses nobody. */
static void test_cut_off(void **state)
{
    (void)state;
    struct world *world = open_world(4);
    world->config.detect.timeout_ns = 500 * MS;
    start_all(world);
    await_ring(world);
    const struct mu_harm cut = {.is_on = true,
                                .chaos = {.kind = MU_CHAOS_CUT, .in = true, .out = true}};
    assert_true(mu_heartbeat_harm(world->node[1], &cut));
    await_news(world, 2, MU_DETECT_VERDICT, 1);
    carry_death(world, 1);
    AWAIT_COUNTS(world, 1, c.cut > 0 && !holds_lease(world, 1));
    struct mu_heartbeat_counts before = counts_of(world, 1);
    AWAIT_COUNTS(world, 1, c.cut > before.cut);
    struct mu_heartbeat_counts after = counts_of(world, 1);
    assert_int_equal(after.in, before.in);
    assert_int_equal(after.out, before.out);

    assert_true(mu_heartbeat_harm(world->node[1], &(struct mu_harm){0}));
    await_news(world, 1, MU_DETECT_FENCED, MU_SLOT_NONE);
    assert_int_equal(said(world, 1, MU_DETECT_VERDICT, MU_SLOT_NONE), 0);
    close_world(world);
}

/* ---- queues ---- */

/* The main thread does not read while nearly everybody dies: no verdict is lost.  Node 0
 * lives, and answers. */
static void test_no_verdict_is_lost(void **state)
{
    (void)state;
    struct world *world = open_world(9);
    world->config.detect.timeout_ns = 500 * MS;
    world->config.queue = 1;
    start_all(world);
    await_ring(world);
    for (mu_slot slot = 1; slot < 8; slot++)
        stop_node(world, slot);
    AWAIT_COUNTS(world, 8, c.news_waiting >= 7);
    for (mu_slot slot = 1; slot < 8; slot++)
        await_news(world, 8, MU_DETECT_VERDICT, slot);
    AWAIT_COUNTS(world, 8, c.news_waiting == 0);
    read_news(world, 8);
    for (mu_slot slot = 1; slot < 8; slot++)
        assert_int_equal(said(world, 8, MU_DETECT_VERDICT, slot), 1);
    close_world(world);
}

/* What a test sees of the events that enter, and where it can hold the thread. */
struct watch {
    atomic_bool hold;
    sem_t held, go;
    atomic_uint starts, outs, sets;
    _Atomic uint64_t watch_period_ns; /* of the last WATCH that came */
    uint64_t last_ns;                 /* of the thread only */
    atomic_bool went_back;
};

static void on_event(void *context, const struct mu_detect_event *event,
                     const struct mu_detect_update *update)
{
    (void)update;
    struct watch *watch = context;
    if (atomic_load(&watch->hold)) {
        sem_post(&watch->held);
        sem_wait(&watch->go);
    }
    if (event->now_ns < watch->last_ns || (event->type != MU_DETECT_START && watch->starts == 0))
        atomic_store(&watch->went_back, true);
    watch->last_ns = event->now_ns;
    watch->starts += event->type == MU_DETECT_START;
    watch->outs += event->type == MU_DETECT_OUT;
    watch->sets += event->type == MU_DETECT_SET;
    if (event->type == MU_DETECT_RECV && event->beat->type == MU_BEAT_WATCH)
        atomic_store(&watch->watch_period_ns, event->beat->period_ns);
}

static void test_orders_wait_for_room(void **state)
{
    (void)state;
    struct watch watch = {.hold = true};
    sem_init(&watch.held, 0, 0);
    sem_init(&watch.go, 0, 0);
    struct world *world = open_world(3);
    world->config.queue = 4;
    world->config.record = on_event;
    world->config.record_context = &watch;
    start_node(world, 0);
    sem_wait(&watch.held); /* in the midst of its first event */
    for (int i = 0; i < 4; i++)
        assert_true(mu_heartbeat_out(world->node[0], 1, 1, false));
    assert_false(mu_heartbeat_out(world->node[0], 2, 1, false));
    assert_false(mu_heartbeat_set(world->node[0], 20 * MS, 4000 * MS));
    assert_true(mu_heartbeat_harm(world->node[0], &(struct mu_harm){0}));
    assert_false(mu_heartbeat_harm(world->node[0], &(struct mu_harm){0})); /* one at a time */
    atomic_store(&watch.hold, false);
    sem_post(&watch.go);
    for (struct turns turns = begin_turns(); !mu_heartbeat_out(world->node[0], 2, 1, false);)
        next_turn(&turns);
    for (struct turns turns = begin_turns(); atomic_load(&watch.outs) < 5;)
        next_turn(&turns);
    assert_int_equal(watch.starts, 1);
    assert_false(watch.went_back);
    close_world(world);
    sem_destroy(&watch.held);
    sem_destroy(&watch.go);
}

/* Every round of the loop has its reason: a datagram, a deadline or an order. */
static void assert_never_wakes_for_nothing(const struct world *world, mu_slot slot, uint32_t orders)
{
    uint64_t rounds = counts_of(world, slot).rounds;
    struct mu_heartbeat_counts later = counts_of(world, slot);
    uint64_t reasons = 1 + orders + later.in; /* the first needs none */
    for (uint32_t i = 0; i < MU_HEARTBEAT_LAGS; i++)
        reasons += later.lags[i];
    assert_true(rounds <= reasons);
}

/* New times go to whoever is observed, with the next WATCH. */
static void test_set_times(void **state)
{
    (void)state;
    struct watch watch = {.hold = false};
    struct world *world = open_world(3);
    start_node(world, 0);
    start_node(world, 2);
    world->config.record = on_event;
    world->config.record_context = &watch;
    start_node(world, 1);
    await_ring(world);
    assert_int_equal(atomic_load(&watch.watch_period_ns), 10 * MS);
    for (mu_slot slot = 0; slot < world->size; slot++)
        assert_true(mu_heartbeat_set(world->node[slot], 5 * MS, 3000 * MS));
    for (struct turns turns = begin_turns(); atomic_load(&watch.watch_period_ns) != 5 * MS;)
        next_turn(&turns);
    for (struct turns turns = begin_turns(); atomic_load(&watch.sets) != 1;)
        next_turn(&turns);
    await_ring(world);
    assert_false(watch.went_back);
    assert_nobody_accused(world);
    AWAIT_COUNTS(world, 1, c.out >= 100);
    assert_never_wakes_for_nothing(world, 1, 1);
    close_world(world);
}

/* ---- the thread ---- */

/* The number of a thread of this process with that name; 0: none. */
static int find_thread(const char *name)
{
    DIR *tasks = opendir("/proc/self/task");
    int found = 0;
    assert_non_null(tasks);
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        char path[300], comm[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        if (file != NULL && fgets(comm, sizeof comm, file) != NULL &&
            strncmp(comm, name, strlen(name)) == 0)
            found = atoi(task->d_name);
        if (file != NULL)
            fclose(file);
    }
    closedir(tasks);
    return found;
}

/* A number of /proc/self/task/TID/status. */
static uint64_t status_of(int tid, const char *field, int base)
{
    char path[300], line[256];
    uint64_t value = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, field, strlen(field)) == 0 && line[strlen(field)] == ':') {
            value = strtoull(line + strlen(field) + 1, NULL, base);
            found = true;
        }
    fclose(file);
    assert_true(found);
    return value;
}

static void test_the_thread_is_as_promised(void **state)
{
    (void)state;
    struct world *world = open_world(2);
    struct mu_heartbeat_refused refused;
    uint64_t locked_before = status_of((int)getpid(), "VmLck", 10);
    world->config.priority = 2;
    assert_int_equal(mu_heartbeat_start(world->node[0], &world->config, &refused), 0);
    AWAIT_COUNTS(world, 0, c.rounds > 0);
    int tid = find_thread("muster-beat");
    assert_int_not_equal(tid, 0);
    /* All but those that cannot be blocked, and two that belong to the C library. */
    uint64_t blocked = status_of(tid, "SigBlk", 16);
    for (int signal = 1; signal < 32; signal++)
        if (signal != SIGKILL && signal != SIGSTOP)
            assert_true(blocked & UINT64_C(1) << (signal - 1));
    struct sched_param given;
    sched_getparam(tid, &given);
    assert_int_equal(sched_getscheduler(tid), refused.priority == 0 ? SCHED_FIFO : SCHED_OTHER);
    assert_int_equal(given.sched_priority, refused.priority == 0 ? 2 : 0);
    const char *sanitized = getenv("MUSTER_SANITIZED"); /* those make mlock() nothing */
    if (refused.lock == 0 && (sanitized == NULL || strcmp(sanitized, "1") != 0)) {
        uint64_t locked = status_of((int)getpid(), "VmLck", 10) - locked_before;
        assert_in_range(locked, 64, 1024); /* kB: its region, and not the process */
    }
    stop_node(world, 0);
    assert_int_equal(find_thread("muster-beat"), 0);
    close_world(world);
}

/* A process that was stopped notices as soon as it goes on, also when nothing comes. */
static void test_a_stop_is_noticed(void **state)
{
    (void)state;
    _Atomic uint64_t *rounds =
        mmap(NULL, sizeof *rounds, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(rounds != MAP_FAILED);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct world *world = open_world(1); /* it waits for nobody */
        start_node(world, 0);
        for (;; poll(NULL, 0, TURN_MS))
            atomic_store(rounds, counts_of(world, 0).rounds);
    }
    for (struct turns turns = begin_turns(); atomic_load(rounds) == 0;)
        next_turn(&turns);
    uint64_t before = atomic_load(rounds);
    int status;
    assert_int_equal(kill(child, SIGSTOP), 0);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
    assert_int_equal(kill(child, SIGCONT), 0);
    for (struct turns turns = begin_turns(); atomic_load(rounds) == before;)
        next_turn(&turns);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    munmap(rounds, sizeof *rounds);
}

/* Errors of our own are counted, and are no evidence. */
static void test_what_cannot_be_sent_is_counted(void **state)
{
    (void)state;
    struct world *world = open_world(3);
    world->address[2].v4.sin_addr.s_addr = htonl(INADDR_BROADCAST); /* not permitted */
    start_node(world, 0);
    AWAIT_COUNTS(world, 0, c.send_errors >= 2);
    assert_int_equal(counts_of(world, 0).send_errno, EACCES);
    assert_nobody_accused(world);
    close_world(world);
}

static void test_lag_of_so_many_percent(void **state)
{
    (void)state;
    struct mu_heartbeat_counts counts = {0};
    assert_int_equal(mu_heartbeat_lag_ns(&counts, 99), 0);
    counts.lags[11] = 98; /* under 2048 ns */
    counts.lags[14] = 1;  /* under 16384 ns */
    counts.lags[20] = 1;
    counts.lag_ns_max = 600000;
    assert_int_equal(mu_heartbeat_lag_ns(&counts, 50), 2048);
    assert_int_equal(mu_heartbeat_lag_ns(&counts, 98), 2048);
    assert_int_equal(mu_heartbeat_lag_ns(&counts, 99), 16384);
    assert_int_equal(mu_heartbeat_lag_ns(&counts, 100), 600000);
    counts.lag_ns_max = 1500;
    assert_int_equal(mu_heartbeat_lag_ns(&counts, 50), 1500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop_before_start),
        cmocka_unit_test(test_listen_refused),
        cmocka_unit_test(test_start_refused),
        cmocka_unit_test(test_a_ring_forms),
        cmocka_unit_test(test_two_nodes_over_ipv6),
        cmocka_unit_test(test_early_datagrams_wait),
        cmocka_unit_test(test_a_death_is_declared_and_the_ring_mends),
        cmocka_unit_test(test_neighbours_that_die_together),
        cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_no_verdict_is_lost),
        cmocka_unit_test(test_orders_wait_for_room),
        cmocka_unit_test(test_set_times),
        cmocka_unit_test(test_the_thread_is_as_promised),
        cmocka_unit_test(test_a_stop_is_noticed),
        cmocka_unit_test(test_what_cannot_be_sent_is_counted),
        cmocka_unit_test(test_lag_of_so_many_percent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
