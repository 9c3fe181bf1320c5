/* Batches of beats between two sockets. */
#define _GNU_SOURCE
#include "daemon/heart/datagrams.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* after those above */
#include <cmocka.h>

enum { NODES = 3 };

struct world {
    union mu_heartbeat_address address[NODES];
    struct mu_heartbeat_counts counts[NODES];
    struct mu_datagrams node[NODES];
};

static int open_socket(union mu_heartbeat_address *address)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t length = sizeof address->v4;
    address->v4.sin_family = AF_INET;
    address->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, &address->any, length), 0);
    assert_int_equal(getsockname(fd, &address->any, &length), 0);
    return fd;
}

static int set_up(void **state)
{
    static const uint8_t machine_key[crypto_kdf_KEYBYTES] = {1};
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    for (mu_slot slot = 0; slot < NODES; slot++) {
        struct mu_datagrams *node = &world->node[slot];
        node->fd = open_socket(&world->address[slot]);
        node->self = slot;
        node->size = NODES;
        node->addresses = world->address;
        node->address_bytes = sizeof world->address[slot].v4;
        node->counts = &world->counts[slot];
        mu_beat_key_derive(&node->key, machine_key);
        mu_datagrams_init(node);
    }
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    for (mu_slot slot = 0; slot < NODES; slot++)
        close(world->node[slot].fd);
    free(world);
    return 0;
}

static void send_beat(struct world *world, mu_slot from, mu_slot to, uint64_t stamp_ns)
{
    struct mu_beat beat = {
        .type = MU_BEAT_BEAT, .from = from, .to = to, .from_incarnation = 1, .stamp_ns = stamp_ns};
    mu_datagrams_send(&world->node[from], &beat);
}

/* More than a batch, in order: none is left, and none comes twice. */
static void test_many(void **state)
{
    enum { MANY = 3 * MU_DATAGRAMS_BATCH + 1 };
    struct world *world = *state;
    for (uint64_t i = 1; i <= MANY; i++)
        send_beat(world, 0, 1, i);
    mu_datagrams_flush(&world->node[0]);
    mu_datagrams_flush(&world->node[0]);
    assert_int_equal(world->counts[0].out, MANY);
    uint64_t stamp_ns = 0;
    for (uint32_t count = MU_DATAGRAMS_BATCH; count == MU_DATAGRAMS_BATCH;) {
        count = mu_datagrams_receive(&world->node[1]);
        for (uint32_t i = 0; i < count; i++) {
            struct mu_beat beat;
            assert_true(mu_datagrams_open(&world->node[1], i, &beat));
            assert_int_equal(beat.stamp_ns, ++stamp_ns);
        }
    }
    assert_int_equal(stamp_ns, MANY);
    assert_int_equal(world->counts[1].in, MANY);
    assert_int_equal(world->counts[1].in_bytes, world->counts[0].out_bytes);
    assert_int_equal(mu_datagrams_receive(&world->node[1]), 0);
    assert_int_equal(world->counts[1].receive_errors, 0); /* to be empty is no error */
}

/* One that cannot be sent keeps back none of the others. */
static void test_one_bad_address(void **state)
{
    struct world *world = *state;
    world->address[2].v4.sin_addr.s_addr = htonl(INADDR_BROADCAST); /* not permitted */
    for (uint64_t i = 1; i <= 5; i++)
        send_beat(world, 0, i == 1 || i == 3 ? 2 : 1, i);
    mu_datagrams_flush(&world->node[0]);
    assert_int_equal(world->counts[0].send_errors, 2);
    assert_int_equal(world->counts[0].send_errno, EACCES);
    assert_int_equal(world->counts[0].out, 3);
    assert_int_equal(mu_datagrams_receive(&world->node[1]), 3);
    for (uint32_t i = 0; i < 3; i++) {
        static const uint64_t expected[] = {2, 4, 5};
        struct mu_beat beat;
        assert_true(mu_datagrams_open(&world->node[1], i, &beat));
        assert_int_equal(beat.stamp_ns, expected[i]);
    }
}

static const struct mu_harm cut = {.is_on = true,
                                   .chaos = {.kind = MU_CHAOS_CUT, .in = true, .out = true}};

static void test_cut(void **state)
{
    struct world *world = *state;
    struct mu_beat beat;
    send_beat(world, 0, 1, 1);
    mu_datagrams_flush(&world->node[0]);
    world->node[0].harm = cut;
    send_beat(world, 0, 1, 2);
    mu_datagrams_flush(&world->node[0]);
    assert_int_equal(world->counts[0].out, 1);
    assert_int_equal(world->counts[0].cut, 1);
    assert_int_equal(mu_datagrams_receive(&world->node[1]), 1);
    world->node[1].harm = cut;
    assert_false(mu_datagrams_open(&world->node[1], 0, &beat));
    assert_int_equal(world->counts[1].cut, 1);
    assert_int_equal(world->counts[1].in, 0);
}

/* Only one way, and only one of two peers. */
static void test_cut_from_one(void **state)
{
    struct world *world = *state;
    struct mu_beat beat;
    world->node[0].harm = cut;
    world->node[0].harm.chaos.in = false;
    world->node[0].harm.chaos.range_count = 1;
    world->node[0].harm.chaos.ranges[0] = (struct mu_chaos_range){2, 2};
    send_beat(world, 0, 1, 1);
    send_beat(world, 0, 2, 2);
    mu_datagrams_flush(&world->node[0]);
    assert_int_equal(world->counts[0].out, 1);
    assert_int_equal(world->counts[0].cut, 1);
    assert_int_equal(mu_datagrams_receive(&world->node[1]), 1);
    assert_int_equal(mu_datagrams_receive(&world->node[2]), 0);

    world->node[1].harm = cut;
    world->node[1].harm.chaos.out = false;
    world->node[1].harm.chaos.range_count = 1;
    world->node[1].harm.chaos.ranges[0] = (struct mu_chaos_range){2, 7};
    assert_true(mu_datagrams_open(&world->node[1], 0, &beat));
    world->node[1].harm.chaos.ranges[0] = (struct mu_chaos_range){0, 0};
    assert_false(mu_datagrams_open(&world->node[1], 0, &beat));
    assert_int_equal(world->counts[1].cut, 1);
}

/* What is late is neither lost nor early; on its way out and in. */
static void test_late(void **state)
{
    static struct mu_late late[2];
    struct world *world = *state;
    struct mu_beat beat;
    memset(late, 0, sizeof late);
    for (int i = 0; i < 2; i++) {
        world->node[i].harm = (struct mu_harm){
            .is_on = true,
            .chaos = {.kind = MU_CHAOS_SLOW, .in = i == 1, .out = i == 0, .delay_ns = 1000}};
        world->node[i].late = &late[i];
        world->node[i].now_ns = 5000;
    }
    send_beat(world, 0, 1, 7);
    mu_datagrams_flush(&world->node[0]);
    assert_int_equal(world->counts[0].out, 0);
    assert_int_equal(mu_late_next_ns(&late[0]), 6000);
    world->node[0].now_ns = 5999;
    assert_false(mu_datagrams_late(&world->node[0], &beat));
    assert_int_equal(late[0].count, 1);
    world->node[0].now_ns = 6000;
    assert_false(mu_datagrams_late(&world->node[0], &beat)); /* it goes out: nothing came in */
    mu_datagrams_flush(&world->node[0]);
    assert_int_equal(world->counts[0].out, 1);

    assert_int_equal(mu_datagrams_receive(&world->node[1]), 1);
    assert_false(mu_datagrams_open(&world->node[1], 0, &beat));
    assert_false(mu_datagrams_late(&world->node[1], &beat));
    world->node[1].now_ns = 6000;
    assert_true(mu_datagrams_late(&world->node[1], &beat));
    assert_int_equal(beat.stamp_ns, 7);
    assert_false(mu_datagrams_late(&world->node[1], &beat));
    assert_int_equal(mu_late_next_ns(&late[1]), MU_NEVER);
}

/* A cut that comes after it also cuts what is still on its way. */
static void test_cut_while_late(void **state)
{
    static struct mu_late late[2];
    struct world *world = *state;
    struct mu_beat beat;
    memset(late, 0, sizeof late);
    send_beat(world, 0, 1, 7);
    mu_datagrams_flush(&world->node[0]);
    assert_int_equal(mu_datagrams_receive(&world->node[1]), 1);
    for (int i = 0; i < 2; i++) {
        world->node[i].harm = (struct mu_harm){
            .is_on = true,
            .chaos = {.kind = MU_CHAOS_SLOW, .in = true, .out = true, .delay_ns = 1000}};
        world->node[i].late = &late[i];
    }
    send_beat(world, 0, 1, 8);
    assert_false(mu_datagrams_open(&world->node[1], 0, &beat));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(late[i].count, 1);
        world->node[i].harm = cut;
        world->node[i].now_ns = 1000;
        assert_false(mu_datagrams_late(&world->node[i], &beat));
        assert_int_equal(world->counts[i].cut, 1);
    }
    mu_datagrams_flush(&world->node[0]);
    assert_int_equal(world->counts[0].out, 1);
}

/* By time, and what is due at the same time in the order in which it came; full is full. */
static void test_order_of_late(void **state)
{
    (void)state;
    static struct mu_late late;
    const uint64_t due[] = {30, 10, 20, 10};
    const uint32_t expected[] = {1, 3, 2, 0};
    uint8_t bytes[MU_DATAGRAM_BYTES] = {0};
    struct mu_late_one one;
    memset(&late, 0, sizeof late);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(mu_late_put(&late, due[i], i, bytes));
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(mu_late_take(&late, 30, &one));
        assert_int_equal(one.to, expected[i]);
    }
    assert_false(mu_late_take(&late, MU_NEVER, &one));
    for (uint32_t i = 0; i < MU_LATE_MAX; i++)
        assert_true(mu_late_put(&late, 1, 0, bytes));
    assert_false(mu_late_put(&late, 1, 0, bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_bad_address, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cut_from_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_late, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cut_while_late, set_up, tear_down),
        cmocka_unit_test(test_order_of_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
