/* Batches of beats between two sockets. */
#define _GNU_SOURCE
#include "daemon/datagrams.h"

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

static void test_cut(void **state)
{
    struct world *world = *state;
    struct mu_beat beat;
    send_beat(world, 0, 1, 1);
    mu_datagrams_flush(&world->node[0]);
    world->node[0].cut = true;
    send_beat(world, 0, 1, 2);
    mu_datagrams_flush(&world->node[0]);
    assert_int_equal(world->counts[0].out, 1);
    assert_int_equal(world->counts[0].cut, 1);
    assert_int_equal(mu_datagrams_receive(&world->node[1]), 1);
    world->node[1].cut = true;
    assert_false(mu_datagrams_open(&world->node[1], 0, &beat));
    assert_int_equal(world->counts[1].cut, 1);
    assert_int_equal(world->counts[1].in, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_bad_address, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cut, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
