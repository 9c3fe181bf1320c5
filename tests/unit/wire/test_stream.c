/* Streams of all doors: what a life of each has recorded is read back, runs again to the same
 * checks, and is good up to where it was cut off. */
#include "core/doors.h"
#include "wire/record/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

enum { SIZE = 4, SELF = 1 };

/* ---- one state of a door, and lives of it ---- */

struct run {
    void *memory;
    void *state;
    struct mu_fingerprint digest;
    struct mu_stream *stream; /* NULL: nothing is recorded */
    enum mu_record_door door;
    uint32_t words;
    union {
        struct mu_detect_update ring;
        struct mu_agree_update agree;
        struct mu_allgather_update gather;
    } update;
};

static void *grown(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(memory);
    memset(memory, 0, bytes);
    return memory;
}

#define BEGIN(run, name, state_of, config)                                                         \
    do {                                                                                           \
        (run)->memory = grown(state_of##_bytes(config));                                           \
        (run)->state = state_of##_init((run)->memory, state_of##_bytes(config), config);           \
        (run)->update.name.capacity = state_of##_effects_max(config);                              \
        (run)->update.name.effects =                                                               \
            calloc((run)->update.name.capacity, sizeof *(run)->update.name.effects);               \
        mu_stream_digest_start((run)->door, config, &(run)->digest);                               \
        if ((run)->stream != NULL)                                                                 \
            mu_stream_start((run)->stream, (run)->door, config);                                   \
    } while (0)

static void begin(struct run *run, enum mu_record_door door, const void *config,
                  struct mu_stream *stream)
{
    *run = (struct run){.door = door, .stream = stream};
    if (door == MU_RECORD_RING)
        BEGIN(run, ring, mu_detect, config);
    else if (door == MU_RECORD_AGREE)
        BEGIN(run, agree, mu_agree, config);
    else
        BEGIN(run, gather, mu_allgather, config);
    run->words = door == MU_RECORD_GATHER ? ((struct mu_allgather *)run->state)->words : 0;
}

static void step(struct run *run, const void *event)
{
    if (run->door == MU_RECORD_RING)
        mu_detect_step(run->state, event, &run->update.ring);
    else if (run->door == MU_RECORD_AGREE)
        mu_agree_step(run->state, event, &run->update.agree);
    else
        mu_allgather_step(run->state, event, &run->update.gather);
    mu_stream_digest(run->door, run->words, event, &run->update, &run->digest);
    if (run->stream != NULL)
        mu_stream_step(run->stream, event, &run->update);
}

static void end(struct run *run)
{
    free(run->update.ring.effects); /* the first field of each */
    free(run->memory);
}

static struct mu_detect_config ring_config(void)
{
    struct mu_detect_config config;
    mu_detect_config_default(&config, SIZE, SELF);
    config.incarnation = 1;
    config.nonce = 77;
    return config;
}

static void live_ring(struct mu_stream *stream)
{
    struct mu_detect_config config = ring_config();
    struct run run;
    uint64_t now_ns = 1000;
    begin(&run, MU_RECORD_RING, &config, stream);
    step(&run, &(struct mu_detect_event){.type = MU_DETECT_START, .now_ns = now_ns});
    const struct mu_beat watch = {.type = MU_BEAT_WATCH,
                                  .from = 2,
                                  .to = SELF,
                                  .from_incarnation = 1,
                                  .to_incarnation = 1,
                                  .nonce = 5,
                                  .period_ns = config.period_ns,
                                  .timeout_ns = config.timeout_ns,
                                  .subject = 2};
    step(&run, &(struct mu_detect_event){.type = MU_DETECT_RECV, .now_ns = now_ns, .beat = &watch});
    step(&run, &(struct mu_detect_event){.type = MU_DETECT_READY, .now_ns = now_ns});
    for (int i = 0; i < 40 && run.update.ring.deadline_ns != MU_NEVER; i++) {
        now_ns = run.update.ring.deadline_ns > now_ns ? run.update.ring.deadline_ns : now_ns;
        step(&run, &(struct mu_detect_event){.type = MU_DETECT_TIMEOUT, .now_ns = now_ns});
    }
    step(&run, &(struct mu_detect_event){.type = MU_DETECT_OUT,
                                         .now_ns = now_ns,
                                         .out = {.slot = 3, .incarnation = 1, .proven = true}});
    step(&run, &(struct mu_detect_event){.type = MU_DETECT_SET,
                                         .now_ns = now_ns,
                                         .set = {config.period_ns, 3 * config.timeout_ns}});
    step(&run, &(struct mu_detect_event){
                   .type = MU_DETECT_BROKE, .now_ns = now_ns + 1, .broke = {.slot = 0}});
    step(&run, &(struct mu_detect_event){.type = MU_DETECT_LAUNCHER,
                                         .now_ns = now_ns + 2,
                                         .launcher = {0, 1, 2, 3, MU_LAUNCHER_HEARD}});
    step(&run, &(struct mu_detect_event){.type = MU_DETECT_LOOP, .now_ns = now_ns + 3});
    end(&run);
}

static void live_agree(struct mu_stream *stream)
{
    enum { GROUP = 9 };
    struct mu_agree_config config;
    struct run run;
    mu_agree_config_default(&config, SIZE, SELF);
    config.limits.entries = 4;
    begin(&run, MU_RECORD_AGREE, &config, stream);
    const struct mu_span all = {.first = 0, .count = SIZE};
    const struct mu_failed failed[] = {{.node = SELF, .process = 3, .acked = 1}};
    const struct mu_agree_entry entry = {.key = 4, .kind = 1, .length = 2, .bytes = "ab"};
    const struct mu_roster_entry dead[] = {{.slot = 3, .incarnation = 1, .proven = true}};
    const struct mu_agree_message up = {
        .type = MU_AGREE_UP,
        .group = GROUP,
        .round = 1,
        .value = {.bits = 6, .failed = failed, .failed_count = 1, .silent = true}};
    const struct mu_agree_message ask = {
        .type = MU_AGREE_ASK, .group = GROUP, .round = 1, .dead = dead, .dead_count = 1};
    step(&run, &(struct mu_agree_event){
                   .type = MU_AGREE_OPEN, .lease_held = true, .open = {GROUP, &all, 1}});
    step(&run, &(struct mu_agree_event){.type = MU_AGREE_CALL,
                                        .lease_held = true,
                                        .call = {GROUP, 7, failed, 1, &entry, 1, .silent = false}});
    step(&run,
         &(struct mu_agree_event){.type = MU_AGREE_RECV, .lease_held = false, .recv = {3, &up}});
    step(&run, &(struct mu_agree_event){.type = MU_AGREE_LEASE, .lease_held = true});
    step(&run,
         &(struct mu_agree_event){.type = MU_AGREE_RECV, .lease_held = true, .recv = {0, &ask}});
    step(&run,
         &(struct mu_agree_event){.type = MU_AGREE_DEAD, .lease_held = true, .dead = dead[0]});
    step(&run, &(struct mu_agree_event){
                   .type = MU_AGREE_RESUME, .lease_held = true, .resume = {.peer = 0}});
    step(&run,
         &(struct mu_agree_event){.type = MU_AGREE_CLOSE, .lease_held = true, .close = {GROUP}});
    end(&run);
}

static void live_gather(struct mu_stream *stream)
{
    const struct mu_span spans[] = {{0, 2}, {3, 1}};
    const struct mu_allgather_config config = {
        .size = SIZE, .self = SELF, .shift = 1, .spans = spans, .span_count = 2, .done = 3};
    struct run run;
    begin(&run, MU_RECORD_GATHER, &config, stream);
    const uint64_t whole[] = {7};
    const struct mu_allgather_message want = {.type = MU_ALLGATHER_WANT, .round = 4},
                                      down = {
                                          .type = MU_ALLGATHER_DOWN, .round = 4, .parts = whole};
    step(&run, &(struct mu_allgather_event){.type = MU_ALLGATHER_CALL});
    step(&run,
         &(struct mu_allgather_event){.type = MU_ALLGATHER_RECV, .slot = 3, .message = &want});
    step(&run,
         &(struct mu_allgather_event){.type = MU_ALLGATHER_RECV, .slot = 0, .message = &down});
    step(&run, &(struct mu_allgather_event){.type = MU_ALLGATHER_OUT, .slot = 3});
    end(&run);
}

static void live(enum mu_record_door door, struct mu_stream *stream)
{
    if (door == MU_RECORD_RING)
        live_ring(stream);
    else if (door == MU_RECORD_AGREE)
        live_agree(stream);
    else
        live_gather(stream);
}

/* ---- again ---- */

struct again {
    enum mu_stream_what end;
    uint64_t events, same; /* of these, from the first one on */
    bool same_end;
};

static struct again run_again(const uint8_t *bytes, size_t count)
{
    struct mu_stream_reader *reader = calloc(1, sizeof *reader);
    struct again again = {.end = MU_STREAM_BAD};
    struct run run;
    if (!mu_stream_open(reader, bytes, count)) {
        mu_stream_close(reader);
        free(reader);
        return again;
    }
    begin(&run, reader->door, mu_stream_config(reader), NULL);
    while ((again.end = mu_stream_next(reader)) == MU_STREAM_EVENT) {
        step(&run, mu_stream_event(reader));
        again.same += again.same == again.events && run.digest.a == reader->check;
        again.events++;
    }
    again.same_end = reader->end.digest.a == run.digest.a && reader->end.digest.b == run.digest.b;
    end(&run);
    mu_stream_close(reader);
    free(reader);
    return again;
}

static void each_door_runs_again_to_the_same_checks(void **state)
{
    (void)state;
    for (enum mu_record_door door = MU_RECORD_RING; door <= MU_RECORD_DOOR_LAST; door++) {
        struct mu_stream stream;
        live(door, &stream);
        mu_stream_end(&stream);
        struct again again = run_again(stream.bytes, stream.count);
        assert_int_equal(again.end, MU_STREAM_END);
        assert_true(again.events >= 4 && again.events == stream.state.events);
        assert_true(again.same == again.events && again.same_end);
        mu_stream_free(&stream);
    }
}

static void a_stream_is_good_up_to_where_it_was_cut_off(void **state)
{
    (void)state;
    for (enum mu_record_door door = MU_RECORD_RING; door <= MU_RECORD_DOOR_LAST; door++) {
        struct mu_stream stream;
        live(door, &stream);
        uint64_t before = 0;
        for (size_t cut = 100; cut < stream.count; cut++) { /* no header is as long */
            struct again again = run_again(stream.bytes, cut);
            assert_int_equal(again.end, MU_STREAM_CUT);
            assert_true(again.same == again.events && again.events >= before);
            before = again.events;
        }
        mu_stream_free(&stream);
    }
}

static void a_flipped_bit_is_refused_or_goes_another_way(void **state)
{
    (void)state;
    for (enum mu_record_door door = MU_RECORD_AGREE; door <= MU_RECORD_DOOR_LAST; door++) {
        struct mu_stream stream;
        struct mu_stream_reader reader;
        live(door, &stream);
        mu_stream_end(&stream);
        assert_true(mu_stream_open(&reader, stream.bytes, stream.count));
        mu_stream_close(&reader);
        for (size_t bit = reader.at * 8; bit < stream.count * 8 - 26 * 8; bit++) {
            stream.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            struct again again = run_again(stream.bytes, stream.count);
            assert_true(again.end != MU_STREAM_END || again.same < again.events);
            stream.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        mu_stream_free(&stream);
    }
}

static void after_a_gap_nothing_is_recorded(void **state)
{
    (void)state;
    struct mu_stream stream;
    live_ring(&stream);
    uint64_t events = stream.state.events;
    mu_stream_gap(&stream);
    size_t count = stream.count;
    const struct mu_detect_event late = {.type = MU_DETECT_LOOP, .now_ns = stream.state.now_ns};
    mu_stream_put(&stream, &late, &stream.digest);
    mu_stream_gap(&stream);
    mu_stream_end(&stream);
    assert_int_equal(stream.count, count);
    struct again again = run_again(stream.bytes, stream.count);
    assert_int_equal(again.end, MU_STREAM_GAP);
    assert_true(again.events == events && again.same == events);
    mu_stream_free(&stream);
}

static void expect_refused(const uint8_t *bytes, size_t count, const char *text)
{
    struct mu_stream_reader reader;
    assert_false(mu_stream_open(&reader, bytes, count));
    assert_non_null(strstr(reader.text, text));
    mu_stream_close(&reader);
}

static void what_is_no_stream_is_refused_with_the_rule(void **state)
{
    (void)state;
    struct mu_stream stream;
    live_ring(&stream);
    expect_refused(stream.bytes, 12, "cut off");
    expect_refused((const uint8_t *)"something else", 14, "not a recording");
    stream.bytes[9] = 99;
    expect_refused(stream.bytes, stream.count, "door 99");
    stream.bytes[9] = MU_RECORD_RING;
    stream.bytes[10] = 0; /* size */
    expect_refused(stream.bytes, stream.count, "");
    stream.bytes[8] = 9;
    expect_refused(stream.bytes, stream.count, "version 9");
    mu_stream_free(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_door_runs_again_to_the_same_checks),
        cmocka_unit_test(a_stream_is_good_up_to_where_it_was_cut_off),
        cmocka_unit_test(a_flipped_bit_is_refused_or_goes_another_way),
        cmocka_unit_test(after_a_gap_nothing_is_recorded),
        cmocka_unit_test(what_is_no_stream_is_refused_with_the_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
