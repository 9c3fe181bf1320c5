/* Datagrams that nobody of the machine has made, or that were made for another time: each is
 * counted, and changes nothing.  And many that come while nobody reads. */
#include "test_beat_random.h"
#include "test_heartbeat_world.h"

#include "daemon/heart/tag.h"

#include <limits.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/socket.h>

/* At once, so that the socket has room for them. */
enum { BURST = 100 };

struct stranger {
    int fd;
    struct world *world;
    struct mu_beat_key key; /* what a stranger does not have; for what members might say */
};

static struct stranger come(struct world *world)
{
    struct stranger stranger = {.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0),
                                .world = world};
    assert_true(stranger.fd >= 0);
    mu_beat_key_derive(&stranger.key, world->key);
    return stranger;
}

static void throw(const struct stranger *stranger, mu_slot slot, const void *bytes, size_t count)
{
    const union mu_heartbeat_address *address = &stranger->world->address[slot];
    assert_int_equal(sendto(stranger->fd, bytes, count, 0, &address->any, sizeof address->v4),
                     (ssize_t)count);
}

/* A beat that node 1 might say to node 0. */
static struct mu_beat probe(void)
{
    return (struct mu_beat){.type = MU_BEAT_PROBE,
                            .from = 1,
                            .to = 0,
                            .from_incarnation = 1,
                            .to_incarnation = 1,
                            .nonce = 5,
                            .stamp_ns = 6};
}

static void make_datagram(const struct stranger *stranger, const struct mu_beat *beat,
                          uint8_t *datagram)
{
    mu_beat_encode(beat, datagram);
    mu_beat_tag_write(datagram, &stranger->key);
}

static struct world *open_standing_world(struct stranger *stranger)
{
    struct world *world = open_world(3);
    start_all(world);
    await_ring(world);
    *stranger = come(world);
    return world;
}

static void close_standing_world(struct world *world, struct stranger *stranger)
{
    await_ring(world);
    assert_nobody_accused(world);
    close(stranger->fd);
    close_world(world);
}

static void test_flipped_bits(void **state)
{
    (void)state;
    struct stranger stranger;
    struct world *world = open_standing_world(&stranger);
    struct mu_beat beat = probe();
    uint8_t datagram[MU_DATAGRAM_BYTES];
    make_datagram(&stranger, &beat, datagram);
    for (uint32_t bit = 0; bit < sizeof datagram * 8; bit++) {
        datagram[bit / 8] ^= (uint8_t)(1u << bit % 8);
        throw(&stranger, 0, datagram, sizeof datagram);
        datagram[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (bit % BURST == 0)
            AWAIT_COUNTS(world, 0, c.forged == bit + 1);
    }
    AWAIT_COUNTS(world, 0, c.forged == sizeof datagram * 8);
    assert_int_equal(counts_of(world, 0).malformed, 0);
    close_standing_world(world, &stranger);
}

static void test_other_lengths(void **state)
{
    (void)state;
    struct stranger stranger;
    struct world *world = open_standing_world(&stranger);
    struct mu_beat beat = probe();
    uint8_t datagram[1400] = {0};
    uint32_t thrown = 0;
    make_datagram(&stranger, &beat, datagram);
    for (size_t count = 0; count <= MU_DATAGRAM_BYTES + 5; count++)
        if (count != MU_DATAGRAM_BYTES) {
            throw(&stranger, 0, datagram, count);
            thrown++;
        }
    throw(&stranger, 0, datagram, sizeof datagram);
    AWAIT_COUNTS(world, 0, c.malformed == thrown + 1);
    assert_int_equal(counts_of(world, 0).forged, 0);
    close_standing_world(world, &stranger);
}

static void test_of_another_machine(void **state)
{
    (void)state;
    struct stranger stranger;
    struct world *world = open_standing_world(&stranger);
    uint8_t datagram[MU_DATAGRAM_BYTES], other[crypto_kdf_KEYBYTES] = {1};
    struct random r = {.state = 1, .slots = 3, .small = true};
    mu_beat_key_derive(&stranger.key, other);
    for (uint8_t type = 1; type <= MU_BEAT_LAST; type++) {
        struct mu_beat beat = random_beat(&r, type);
        make_datagram(&stranger, &beat, datagram);
        throw(&stranger, beat.to, datagram, sizeof datagram);
    }
    for (struct turns turns = begin_turns();; next_turn(&turns))
        if (counts_of(world, 0).forged + counts_of(world, 1).forged + counts_of(world, 2).forged ==
            MU_BEAT_LAST)
            break;
    close_standing_world(world, &stranger);
}

/* With a right tag, as by a member that is broken. */
static void test_authentic_and_wrong(void **state)
{
    (void)state;
    struct stranger stranger;
    struct world *world = open_standing_world(&stranger);
    uint8_t datagram[MU_DATAGRAM_BYTES];
    struct mu_beat to_another = probe(), from_nobody = probe(), about_nobody = probe();
    to_another.to = 2;
    from_nobody.from = 3;
    about_nobody.type = MU_BEAT_ASK;
    about_nobody.stamp_ns = 0;
    about_nobody.subject = 3;
    about_nobody.subject_incarnation = 1;
    const struct mu_beat *beats[] = {&to_another, &from_nobody, &about_nobody};
    for (size_t i = 0; i < sizeof beats / sizeof *beats; i++) {
        make_datagram(&stranger, beats[i], datagram);
        throw(&stranger, 0, datagram, sizeof datagram);
    }
    struct mu_beat beat = probe();
    for (uint8_t version = 0; version < 4; version++) {
        make_datagram(&stranger, &beat, datagram);
        datagram[0] = version == MU_BEAT_VERSION ? 255 : version;
        mu_beat_tag_write(datagram, &stranger.key);
        throw(&stranger, 0, datagram, sizeof datagram);
    }
    AWAIT_COUNTS(world, 0, c.malformed == 7);
    assert_int_equal(counts_of(world, 0).forged, 0);
    close_standing_world(world, &stranger);
}

/* ---- replay ---- */

enum { TAPED = 20 };

/* Whoever carries the datagrams from node 0 to node 1 keeps a copy of each, delivers each twice,
 * and all of them again when they are old. */
static void test_replay(void **state)
{
    (void)state;
    struct world *world = open_world(3);
    union mu_heartbeat_address real = world->address[1], relay = loopback(0);
    struct stranger stranger = come(world);
    socklen_t length = sizeof relay.v4;
    assert_int_equal(bind(stranger.fd, &relay.any, length), 0);
    assert_int_equal(getsockname(stranger.fd, &relay.any, &length), 0);
    start_node(world, 1);
    start_node(world, 2);
    world->address[1] = relay; /* for node 0 only: each has a copy */
    start_node(world, 0);
    world->address[1] = real;

    uint8_t tape[TAPED][MU_DATAGRAM_BYTES];
    uint32_t taped = 0;
    for (uint64_t end_ms = test_now_ms() + BOUND_MS; taped < TAPED;) {
        struct pollfd polled = {.fd = stranger.fd, .events = POLLIN};
        assert_true(test_now_ms() < end_ms && poll(&polled, 1, BOUND_MS) == 1);
        uint8_t datagram[MU_DATAGRAM_BYTES];
        assert_int_equal(recv(stranger.fd, datagram, sizeof datagram, 0), sizeof datagram);
        throw(&stranger, 1, datagram, sizeof datagram);
        throw(&stranger, 1, datagram, sizeof datagram);
        if (datagram[1] == MU_BEAT_BEAT)
            memcpy(tape[taped++], datagram, sizeof datagram);
    }
    AWAIT_COUNTS(world, 1, c.dropped >= TAPED); /* the second of each */
    struct mu_heartbeat_counts before = counts_of(world, 1);
    for (uint32_t i = 0; i < TAPED; i++)
        throw(&stranger, 1, tape[i], sizeof tape[i]);
    AWAIT_COUNTS(world, 1, c.dropped >= before.dropped + TAPED);
    assert_int_equal(counts_of(world, 1).forged + counts_of(world, 1).malformed, 0);
    assert_nobody_accused(world);
    close(stranger.fd);
    close_world(world);
}

/* ---- late ---- */

enum { PROBES = 50 }; /* more than one batch, and fewer than the socket keeps */

/* Holds the thread in the midst of a step, and counts what enters afterwards. */
struct hold {
    atomic_bool wanted;
    sem_t held, go;
    bool counting; /* of the thread only */
    unsigned probes;
    atomic_uint probes_before_timeout; /* that came before the first TIMEOUT; UINT_MAX: none yet */
};

static void on_event(void *context, const struct mu_detect_event *event,
                     const struct mu_detect_update *update)
{
    (void)update;
    struct hold *hold = context;
    if (atomic_exchange(&hold->wanted, false)) {
        sem_post(&hold->held);
        sem_wait(&hold->go);
        hold->counting = true;
    } else if (hold->counting && event->type == MU_DETECT_TIMEOUT) {
        hold->counting = false;
        atomic_store(&hold->probes_before_timeout, hold->probes);
    } else if (event->type == MU_DETECT_RECV && event->beat->type == MU_BEAT_PROBE) {
        hold->probes++;
    }
}

/* A node that was held up has deadlines behind it, and a socket full of what came meanwhile: it
 * reads all of that before it looks at a deadline. */
static void test_what_came_is_heard_before_a_deadline(void **state)
{
    (void)state;
    struct hold hold = {.wanted = false, .probes_before_timeout = UINT_MAX};
    sem_init(&hold.held, 0, 0);
    sem_init(&hold.go, 0, 0);
    struct world *world = open_world(2);
    struct stranger stranger = come(world);
    world->config.detect.timeout_ns = 20 * MS; /* it does something each 2.5 ms */
    world->config.record = on_event;
    world->config.record_context = &hold;
    start_node(world, 0);
    AWAIT_COUNTS(world, 0, c.rounds > 3);
    atomic_store(&hold.wanted, true);
    sem_wait(&hold.held);
    uint64_t held_ns = test_now_ns();
    for (uint64_t i = 1; i <= PROBES; i++) {
        uint8_t datagram[MU_DATAGRAM_BYTES];
        struct mu_beat beat = probe();
        beat.nonce = i;
        make_datagram(&stranger, &beat, datagram);
        throw(&stranger, 0, datagram, sizeof datagram);
    }
    while (test_now_ns() < held_ns + 20 * MS)
        poll(NULL, 0, TURN_MS);
    sem_post(&hold.go);
    for (struct turns turns = begin_turns(); atomic_load(&hold.probes_before_timeout) == UINT_MAX;)
        next_turn(&turns);
    assert_int_equal(hold.probes_before_timeout, PROBES);
    close(stranger.fd);
    close_world(world);
    sem_destroy(&hold.held);
    sem_destroy(&hold.go);
}

/* A flood of rubbish delays nobody for long enough to be accused. */
static void test_flood(void **state)
{
    (void)state;
    struct stranger stranger;
    struct world *world = open_standing_world(&stranger);
    uint8_t rubbish[MU_DATAGRAM_BYTES] = {0};
    struct mu_heartbeat_counts before = counts_of(world, 0);
    for (int i = 0; i < 100 * BURST; i++) {
        memcpy(rubbish, &i, sizeof i);
        throw(&stranger, 0, rubbish, sizeof rubbish);
    }
    AWAIT_COUNTS(world, 0, c.forged > before.forged && c.out > before.out + 10);
    close_standing_world(world, &stranger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flipped_bits),
        cmocka_unit_test(test_other_lengths),
        cmocka_unit_test(test_of_another_machine),
        cmocka_unit_test(test_authentic_and_wrong),
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_what_came_is_heard_before_a_deadline),
        cmocka_unit_test(test_flood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
