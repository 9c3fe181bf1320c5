/* Heartbeat threads whose main loop stands still, and whose host was suspended. */
#define _GNU_SOURCE
#include "test_heartbeat_world.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <sys/syscall.h>

/* A host that was suspended: CLOCK_BOOTTIME has gone on by so much, and CLOCK_MONOTONIC has not.
 * This one is found before that of the C library. */
static _Atomic uint64_t suspended_ns;

int clock_gettime(clockid_t clock, struct timespec *time)
{
    long result = syscall(SYS_clock_gettime, clock, time);
    if (clock == CLOCK_BOOTTIME) {
        uint64_t ns = (uint64_t)time->tv_nsec + atomic_load(&suspended_ns);
        time->tv_sec += (time_t)(ns / (1000 * MS));
        time->tv_nsec = (long)(ns % (1000 * MS));
    }
    return (int)result;
}

/* ---- the main loop ---- */

/* Nobody reads what node 1 says: it falls silent, and the others find it and the node that it
 * observed, whose death it knew and could not tell. */
static void test_a_main_loop_stands_still(void **state)
{
    (void)state;
    struct world *world = open_world(4);
    world->config.detect.timeout_ns = 300 * MS;
    world->config.detect.loop_ns = 1;
    start_all(world);
    for (struct turns turns = begin_turns(); !holds_lease(world, 1); next_turn(&turns))
        for (mu_slot slot = 0; slot < world->size; slot++)
            read_news(world, slot);
    stop_node(world, 0);
    for (struct turns turns = begin_turns(); said(world, 2, MU_DETECT_VERDICT, 0) == 0;
         next_turn(&turns)) {
        read_news(world, 2);
        read_news(world, 3);
    }
    assert_int_equal(said(world, 2, MU_DETECT_VERDICT, 1), 1);
    assert_int_equal(said(world, 1, MU_DETECT_VERDICT, 0), 0); /* nobody has read it */
    assert_int_equal(counts_of(world, 1).loop_stood, 1);
    assert_false(holds_lease(world, 1));
    struct mu_heartbeat_counts before = counts_of(world, 1);
    AWAIT_COUNTS(world, 1, c.in > before.in + 5); /* it is told that it is dead */
    assert_int_equal(counts_of(world, 1).out, before.out);
    await_news(world, 1, MU_DETECT_FENCED, MU_SLOT_NONE); /* that is all that it took in */
    close_world(world);
}

/* It goes on before anybody has declared it. */
static void test_a_main_loop_goes_on(void **state)
{
    (void)state;
    struct world *world = open_world(2);
    world->config.detect.timeout_ns = 200 * MS;
    world->config.detect.loop_ns = 1; /* two nodes: nobody vouches, so nobody is declared */
    start_all(world);
    for (struct turns turns = begin_turns(); !holds_lease(world, 1); next_turn(&turns))
        for (mu_slot slot = 0; slot < world->size; slot++)
            read_news(world, slot);
    uint64_t out = 0, same = 0;
    for (struct turns turns = begin_turns(); same < 500; next_turn(&turns)) {
        read_news(world, 0);
        uint64_t now = counts_of(world, 1).out;
        same = now == out ? same + 1 : 0;
        out = now;
    }
    assert_int_equal(counts_of(world, 1).loop_stood, 1);
    for (struct turns turns = begin_turns(); !holds_lease(world, 1); next_turn(&turns)) {
        read_news(world, 0);
        read_news(world, 1);
    }
    assert_nobody_accused(world);
    close_world(world);
}

/* ---- the clock ---- */

struct gate {
    atomic_bool hold;
    sem_t held, go;
};

static void on_event(void *context, const struct mu_detect_event *event,
                     const struct mu_detect_update *update)
{
    (void)update;
    struct gate *gate = context;
    (void)event;
    if (atomic_exchange(&gate->hold, false)) {
        sem_post(&gate->held);
        sem_wait(&gate->go);
    }
}

/* The lease of before is over in the moment in which the host wakes up, and comes back. */
static void test_a_lease_ends_while_the_host_sleeps(void **state)
{
    (void)state;
    struct gate gate = {.hold = false};
    sem_init(&gate.held, 0, 0);
    sem_init(&gate.go, 0, 0);
    struct world *world = open_world(3);
    start_node(world, 0);
    start_node(world, 2);
    world->config.record = on_event;
    world->config.record_context = &gate;
    start_node(world, 1);
    await_ring(world);
    atomic_store(&gate.hold, true);
    sem_wait(&gate.held);
    assert_true(holds_lease(world, 1));
    atomic_fetch_add(&suspended_ns, 10 * 1000 * MS);
    assert_false(holds_lease(world, 1));
    sem_post(&gate.go);
    for (struct turns turns = begin_turns(); !holds_lease(world, 1);)
        next_turn(&turns);
    assert_nobody_accused(world);
    close_world(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_main_loop_stands_still),
        cmocka_unit_test(test_a_main_loop_goes_on),
        cmocka_unit_test(test_a_lease_ends_while_the_host_sleeps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
