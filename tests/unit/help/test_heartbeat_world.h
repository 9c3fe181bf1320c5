/* A machine of heartbeat threads in one process, on loopback: for tests/unit/test_heartbeat*.c.
 * Whatever is waited for has BOUND_MS, which only a broken program needs. */
#ifndef TEST_HEARTBEAT_WORLD_H
#define TEST_HEARTBEAT_WORLD_H

#include "daemon/heart/heartbeat.h"

#include <arpa/inet.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
/* after those above */
#include <cmocka.h>

enum { NODES_MAX = 9, NEWS_MAX = 256, BOUND_MS = 60000, TURN_MS = 1 };

#define MS UINT64_C(1000000)

struct world {
    uint32_t size;
    struct mu_heartbeat *node[NODES_MAX]; /* NULL: stopped */
    union mu_heartbeat_address address[NODES_MAX];
    struct mu_heartbeat_config config; /* of all; a test may change it before they start */
    uint8_t key[32];
    /* All that a node has said. */
    struct mu_heartbeat_news news[NODES_MAX][NEWS_MAX];
    uint32_t news_count[NODES_MAX];
};

static inline union mu_heartbeat_address loopback(uint16_t port)
{
    union mu_heartbeat_address address = {.v4 = {.sin_family = AF_INET, .sin_port = htons(port)}};
    address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/* The timeout is long, so that a busy host accuses nobody. */
static inline struct world *open_world(uint32_t size)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->size = size;
    for (mu_slot slot = 0; slot < size; slot++) {
        uint16_t port;
        world->address[slot] = loopback(0);
        assert_int_equal(mu_heartbeat_listen(&world->address[slot].any, &world->node[slot], &port),
                         0);
        world->address[slot] = loopback(port);
    }
    memset(world->key, 7, sizeof world->key);
    mu_detect_config_default(&world->config.detect, size, 0);
    world->config.detect.period_ns = 10 * MS;
    world->config.detect.timeout_ns = 2000 * MS;
    world->config.detect.grace_ns = 2000 * MS;
    world->config.addresses = world->address;
    world->config.key = world->key;
    world->config.queue = 64;
    return world;
}

static inline void start_node(struct world *world, mu_slot slot)
{
    struct mu_heartbeat_config config = world->config;
    struct mu_heartbeat_refused refused;
    config.detect.self = slot;
    config.detect.nonce = mu_heartbeat_draw_nonce();
    assert_null(mu_detect_config_error(&config.detect));
    assert_int_equal(mu_heartbeat_start(world->node[slot], &config, &refused), 0);
    assert_int_equal(refused.priority, 0); /* none was asked for */
}

static inline void start_all(struct world *world)
{
    for (mu_slot slot = 0; slot < world->size; slot++)
        start_node(world, slot);
}

static inline void stop_node(struct world *world, mu_slot slot)
{
    mu_heartbeat_stop(world->node[slot]);
    world->node[slot] = NULL;
}

static inline void close_world(struct world *world)
{
    for (mu_slot slot = 0; slot < world->size; slot++)
        mu_heartbeat_stop(world->node[slot]);
    free(world);
}

/* ---- waiting ---- */

static inline uint64_t test_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

static inline uint64_t test_now_ms(void)
{
    return test_now_ns() / MS;
}

static inline void read_news(struct world *world, mu_slot slot)
{
    struct mu_heartbeat_news news;
    while (mu_heartbeat_next(world->node[slot], &news)) {
        assert_true(world->news_count[slot] < NEWS_MAX);
        world->news[slot][world->news_count[slot]++] = news;
    }
}

/* How many verdicts about 'subject', or of others that are not a death with MU_SLOT_NONE, a node
 * has said. */
static inline uint32_t said(const struct world *world, mu_slot slot,
                            enum mu_detect_effect_type type, mu_slot subject)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < world->news_count[slot]; i++) {
        const struct mu_detect_effect *effect = &world->news[slot][i].effect;
        count += effect->type == type &&
                 (subject == MU_SLOT_NONE || effect->evidence.subject == subject);
    }
    return count;
}

/* Reads until a node has said it; returns the first that it said. */
static inline const struct mu_heartbeat_news *
await_news(struct world *world, mu_slot slot, enum mu_detect_effect_type type, mu_slot subject)
{
    for (uint64_t end_ms = test_now_ms() + BOUND_MS; test_now_ms() < end_ms;) {
        read_news(world, slot);
        if (said(world, slot, type, subject) > 0)
            break;
        struct pollfd polled = {.fd = mu_heartbeat_fd(world->node[slot]), .events = POLLIN};
        poll(&polled, 1, BOUND_MS);
    }
    for (uint32_t i = 0; i < world->news_count[slot]; i++) {
        const struct mu_detect_effect *effect = &world->news[slot][i].effect;
        if (effect->type == type &&
            (subject == MU_SLOT_NONE || effect->evidence.subject == subject))
            return &world->news[slot][i];
    }
    fail_msg("node %u did not say it", (unsigned)slot);
    return NULL;
}

/* Counts have no descriptor to wait for: they are looked at each TURN_MS.  For use as
 *     for (struct turns turns = begin_turns(); !condition; next_turn(&turns)) ...  */
struct turns {
    uint64_t end_ms;
};

static inline struct turns begin_turns(void)
{
    return (struct turns){.end_ms = test_now_ms() + BOUND_MS};
}

static inline void next_turn(struct turns *turns)
{
    if (test_now_ms() >= turns->end_ms)
        fail_msg("it did not happen within %d ms", (int)BOUND_MS);
    poll(NULL, 0, TURN_MS);
}

static inline struct mu_heartbeat_counts counts_of(const struct world *world, mu_slot slot)
{
    struct mu_heartbeat_counts counts;
    mu_heartbeat_counts(world->node[slot], &counts);
    return counts;
}

static inline bool holds_lease(const struct world *world, mu_slot slot)
{
    return mu_heartbeat_lease_ns(world->node[slot]) > 0;
}

#define AWAIT_COUNTS(world, slot, condition)                                                       \
    for (struct turns turns = begin_turns();; next_turn(&turns)) {                                 \
        struct mu_heartbeat_counts c = counts_of(world, slot);                                     \
        if (condition)                                                                             \
            break;                                                                                 \
    }

/* Each of those that run is observed by the next of them, and its beats are acknowledged. */
static inline void await_ring(struct world *world)
{
    for (mu_slot slot = 0; slot < world->size; slot++) {
        if (world->node[slot] == NULL)
            continue;
        mu_slot before = slot;
        do
            before = (before + world->size - 1) % world->size;
        while (world->node[before] == NULL);
        AWAIT_COUNTS(world, slot, c.observes == before && holds_lease(world, slot));
        AWAIT_COUNTS(world, before, c.observer == slot && holds_lease(world, before));
    }
}

static inline void assert_nobody_accused(struct world *world)
{
    for (mu_slot slot = 0; slot < world->size; slot++) {
        if (world->node[slot] == NULL)
            continue;
        read_news(world, slot);
        assert_int_equal(said(world, slot, MU_DETECT_VERDICT, MU_SLOT_NONE), 0);
        assert_int_equal(said(world, slot, MU_DETECT_FENCED, MU_SLOT_NONE), 0);
    }
}

#endif
