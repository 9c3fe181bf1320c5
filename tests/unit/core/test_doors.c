/* Every door: what comes of a step depends on the configuration and the events alone. */
#include "core/doors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

enum { SIZE = 8 };

static const struct mu_span all = {0, SIZE};

static void config_node(struct mu_config *config)
{
    mu_config_default(config, SIZE, 1);
}

static void config_ring(struct mu_detect_config *config)
{
    mu_detect_config_default(config, SIZE, 1);
}

static void config_central(struct mu_central_config *config)
{
    mu_central_config_default(config, SIZE, 1);
}

static void config_agree(struct mu_agree_config *config)
{
    mu_agree_config_default(config, SIZE, 1);
}

static void config_gather(struct mu_allgather_config *config)
{
    *config = (struct mu_allgather_config){
        .size = SIZE, .self = 1, .shift = 1, .spans = &all, .span_count = 1};
}

static void config_view(struct mu_view_config *config)
{
    mu_view_config_default(config, SIZE, 1);
}

static void config_advise(struct mu_advise_config *config)
{
    mu_advise_config_default(config, SIZE, 1);
}

/* Some first event of each, which changes the state. */
static const struct mu_event first_node = {.type = MU_EVENT_START, .now_ns = 1};
static const struct mu_detect_event first_ring = {.type = MU_DETECT_START, .now_ns = 1};
static const struct mu_central_event first_central = {.type = MU_CENTRAL_START, .now_ns = 1};
static const struct mu_agree_event first_agree = {
    .type = MU_AGREE_OPEN, .lease_held = true, .open = {.group = 1, .spans = &all, .count = 1}};
static const struct mu_allgather_event first_gather = {.type = MU_ALLGATHER_CALL};
static const struct mu_advise_event first_advise = {.type = MU_ADVISE_ARRIVE};

static const struct mu_view_event first_view = {
    .type = MU_VIEW_START, .lease_held = true, .start = {.count = SIZE, .cluster = 7}};

static bool same(struct mu_fingerprint a, struct mu_fingerprint b)
{
    return a.a == b.a && a.b == b.b;
}

/* Twice in memory that was not clean, and the second time put back to where it began. */
#define TEST_OF(name, state, config, event, update)                                                \
    static struct mu_fingerprint name##_print(const struct state *at)                              \
    {                                                                                              \
        struct mu_fingerprint print;                                                               \
        mu_fingerprint_init(&print);                                                               \
        state##_fingerprint(at, &print);                                                           \
        return print;                                                                              \
    }                                                                                              \
    static void name##_depends_on_its_events_alone(void **unused)                                  \
    {                                                                                              \
        (void)unused;                                                                              \
        struct config made;                                                                        \
        config_##name(&made);                                                                      \
        assert_null(config##_error(&made));                                                        \
        size_t bytes = state##_bytes(&made);                                                       \
        uint8_t *memory = aligned_alloc(64, bytes), *saved = malloc(bytes);                        \
        struct update after = {.capacity = state##_effects_max(&made)};                            \
        after.effects = calloc(after.capacity, sizeof *after.effects);                             \
        assert_true(memory != NULL && saved != NULL && after.effects != NULL);                     \
        struct mu_fingerprint begun[2], stepped[2];                                                \
        for (int i = 0; i < 2; i++) {                                                              \
            memset(memory, i == 0 ? 0 : 0xff, bytes);                                              \
            struct state *at = state##_init(memory, bytes, &made);                                 \
            begun[i] = name##_print(at);                                                           \
            memcpy(saved, memory, bytes);                                                          \
            state##_step(at, &first_##name, &after);                                               \
            stepped[i] = name##_print(at);                                                         \
            assert_true(after.count <= after.capacity);                                            \
            memcpy(memory, saved, bytes);                                                          \
            assert_true(same(name##_print(at), begun[i]));                                         \
        }                                                                                          \
        assert_true(same(begun[0], begun[1]) && same(stepped[0], stepped[1]));                     \
        assert_false(same(begun[0], stepped[0]));                                                  \
        free(after.effects);                                                                       \
        free(saved);                                                                               \
        free(memory);                                                                              \
    }
MU_DOORS(TEST_OF)

int main(void)
{
#define ROW(name, state, config, event, update)                                                    \
    cmocka_unit_test(name##_depends_on_its_events_alone),
    const struct CMUnitTest tests[] = {MU_DOORS(ROW)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
