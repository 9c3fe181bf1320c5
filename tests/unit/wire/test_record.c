#include "test_wire_random.h"

#include "core/node.h"
#include "wire/record/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after the five above */
#include <cmocka.h>

static uint8_t bytes[MU_RECORD_MAX];
static uint8_t again[MU_RECORD_MAX];

static void expect_text(struct mu_record_result result, const char *expected)
{
    char text[MU_WIRE_TEXT_MAX];
    assert_string_equal(mu_record_text(result, text, sizeof text), expected);
}

static size_t encode(struct mu_record_state *state, uint8_t *into, const struct mu_event *event)
{
    struct mu_writer writer;
    mu_writer_init(&writer, into, MU_RECORD_MAX);
    assert_int_equal(mu_record_encode_event(state, &writer, event).error, MU_RECORD_OK);
    return writer.used;
}

static void expect_decoded(struct mu_record_state *state, const uint8_t *from, size_t count,
                           struct mu_record *record)
{
    size_t used = 0;
    struct mu_record_result result = mu_record_decode(state, from, count, record, &used);
    assert_int_equal(result.error, MU_RECORD_OK);
    assert_int_equal(used, count);
}

/* Two events that a node cannot tell apart have the same digest. */
static struct mu_fingerprint print_of(const struct mu_event *event)
{
    struct mu_fingerprint print;
    struct mu_update nothing = {.count = 0};
    mu_fingerprint_init(&print);
    mu_record_digest_step(&print, event, &nothing);
    return print;
}

static bool same_print(struct mu_fingerprint a, struct mu_fingerprint b)
{
    return a.a == b.a && a.b == b.b;
}

static const struct mu_record_state started = {.now_ns = 1000, .events = 1, .started = true};

/* clang-format off */
#define A_PROCESS_DIED {                                                        \
    .id = {.kind = MU_NOTICE_PROC_DEAD, .stream = 4294967297, .index = 3},      \
    .root = 2, .length = 2, .payload = (const uint8_t *)"ev",                   \
}
/* clang-format on */

/* One short event of each type, to be damaged. */
static const struct mu_event *example(size_t i)
{
    static const struct mu_notice notice = A_PROCESS_DIED;
    static const struct mu_frame frame = {
        .type = MU_FRAME_NOTICE, .sequence = 1, .notice = A_PROCESS_DIED};
    static const struct mu_frame ack = {.type = MU_FRAME_ACK, .ack = 2};
    static const struct mu_event examples[] = {
        {.type = MU_EVENT_TIMEOUT, .now_ns = 1500, .timeout = {MU_TIMER_RETAIN}},
        {.type = MU_EVENT_RECV, .now_ns = 1001, .recv = {3, 1, 200, &frame}},
        {.type = MU_EVENT_RECV, .now_ns = 1000, .recv = {3, 1, 0, &ack}},
        {.type = MU_EVENT_LINK_UP, .now_ns = 1000, .link_up = {5, 1, 300}},
        {.type = MU_EVENT_LINK_DOWN, .now_ns = 1000, .link_down = {5}},
        {.type = MU_EVENT_VERDICT, .now_ns = 1000, .verdict = {&notice}},
        {.type = MU_EVENT_POST, .now_ns = 1000, .post = {(const uint8_t *)"hi", 2}},
        {.type = MU_EVENT_FORGET, .now_ns = 1000, .forget = {MU_NOTICE_NODE_DEAD, 2, 300}},
        {.type = MU_EVENT_MEMBER,
         .now_ns = 1000,
         .member = {{.slot = 300, .incarnation = 2, .in = true}}},
    };
    return i < sizeof examples / sizeof examples[0] ? &examples[i] : NULL;
}

/* ---- header ---- */

static struct mu_config sample_config(void)
{
    struct mu_config config;
    mu_config_default(&config, 300, 17);
    config.incarnation = 0x01020304;
    config.redundant_wait_ns = INT64_MAX;
    config.ack_delay_ns = 0x1122334455667788;
    config.retain_ns = UINT64_MAX;
    config.limits.seen = UINT32_MAX;
    config.limits.payload_bytes = UINT16_MAX;
    config.broken_rules = 0x80000001;
    return config;
}

static size_t encode_header(const struct mu_config *config)
{
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(mu_record_encode_header(&writer, config).error, MU_RECORD_OK);
    return writer.used;
}

static void the_whole_configuration_comes_back(void **state)
{
    (void)state;
    struct mu_config config = sample_config(), decoded;
    size_t count = encode_header(&config);
    assert_int_equal(count, MU_RECORD_HEADER_BYTES);
    assert_int_equal(mu_record_decode_header(bytes, count, &decoded).error, MU_RECORD_OK);
    assert_memory_equal(&config, &decoded, sizeof config); /* both were zeroed: padding agrees */
}

static void every_truncated_header_is_refused(void **state)
{
    (void)state;
    struct mu_config config = sample_config();
    size_t count = encode_header(&config);
    for (size_t cut = 0; cut < count; cut++)
        assert_int_equal(mu_record_decode_header(bytes, cut, &config).error, MU_RECORD_TRUNCATED);
    expect_text(mu_record_decode_header(bytes, 10, &config),
                "the recording ends after 10 bytes of a part that needs at least 72");
}

static void a_header_that_cannot_be_is_refused_with_the_rule(void **state)
{
    (void)state;
    struct mu_config config = sample_config(), decoded;
    size_t count = encode_header(&config);
    bytes[8] = 4;
    expect_text(mu_record_decode_header(bytes, count, &decoded),
                "recording version 4 is newer than 3, the newest this program reads");
    bytes[8] = 0;
    expect_text(mu_record_decode_header(bytes, count, &decoded),
                "recording version 0 is older than 3, the oldest this program reads");
    bytes[0] = 'm';
    expect_text(mu_record_decode_header(bytes, count, &decoded),
                "this is not a recording: it does not begin with MUSTREC1");
    encode_header(&config);
    bytes[19] = 255; /* of self */
    expect_text(mu_record_decode_header(bytes, count, &decoded),
                "the recorded configuration cannot be: self must be below slots");
    config.limits.window = 0;
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, sizeof bytes);
    expect_text(mu_record_encode_header(&writer, &config),
                "the recorded configuration cannot be: limits.window must be at least 1");
    assert_int_equal(writer.used, 0);
}

/* ---- records ---- */

static void random_events_come_back_as_they_were(void **state)
{
    (void)state;
    struct random r = {.state = 3, .slots = MU_SIZE_MAX};
    struct mu_record_state out = {0}, in = {0}, check = {0};
    struct mu_event event = {.type = MU_EVENT_START, .now_ns = random_below(&r, 1u << 30)};
    struct mu_frame frame;
    struct mu_notice notice;
    for (int i = 0; i < 20000; i++) {
        struct mu_record record;
        size_t count = encode(&out, bytes, &event);
        expect_decoded(&in, bytes, count, &record);
        assert_int_equal(in.events, i + 1);
        assert_true(same_print(print_of(&event), print_of(&record.event)));
        assert_int_equal(encode(&check, again, &record.event), count);
        assert_memory_equal(bytes, again, count);
        event = random_event(&r, event.now_ns, &frame, &notice);
    }
}

static void the_longest_record_has_the_stated_length(void **state)
{
    (void)state;
    struct mu_frame frame = *example(1)->recv.frame;
    frame.notice.length = UINT16_MAX;
    frame.notice.payload = random_payload_bytes;
    struct mu_event event = {.type = MU_EVENT_RECV,
                             .now_ns = MU_NEVER / 2,
                             .recv = {MU_SIZE_MAX - 1, UINT32_MAX, UINT64_MAX, &frame}};
    struct mu_record_state longest = {.events = 1, .started = true};
    assert_int_equal(encode(&longest, bytes, &event), MU_RECORD_MAX);
}

static void every_truncated_record_asks_for_more(void **state)
{
    (void)state;
    for (size_t i = 0; example(i) != NULL; i++) {
        struct mu_record_state out = started, in = started;
        size_t count = encode(&out, bytes, example(i)), used;
        struct mu_record record;
        for (size_t cut = 0; cut < count; cut++) {
            struct mu_record_result result = mu_record_decode(&in, bytes, cut, &record, &used);
            assert_int_equal(result.error, MU_RECORD_TRUNCATED);
            assert_in_range(result.bound, cut + 1, count);
        }
        expect_decoded(&in, bytes, count, &record);
    }
}

static void a_flipped_bit_is_refused_or_means_something_else(void **state)
{
    (void)state;
    for (size_t i = 0; example(i) != NULL; i++) {
        struct mu_record_state out = started;
        size_t count = encode(&out, bytes, example(i)), used;
        for (size_t bit = 0; bit < 8 * count; bit++) {
            struct mu_record_state in = started, check = started;
            struct mu_record record;
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            if (mu_record_decode(&in, bytes, count, &record, &used).error == MU_RECORD_OK) {
                assert_false(same_print(print_of(example(i)), print_of(&record.event)));
                assert_int_equal(encode(&check, again, &record.event), used);
                assert_memory_equal(bytes, again, used);
            }
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}

static void a_record_that_does_not_fit_moves_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; example(i) != NULL; i++) {
        struct mu_record_state out = started;
        size_t count = encode(&out, bytes, example(i));
        for (size_t room = 0; room < count; room++) {
            struct mu_writer writer;
            out = started;
            mu_writer_init(&writer, again, room);
            assert_int_equal(mu_record_encode_event(&out, &writer, example(i)).error,
                             MU_RECORD_NO_ROOM);
            assert_int_equal(writer.used, 0);
            assert_memory_equal(&out, &started, sizeof out);
        }
    }
}

static void expect_refused(struct mu_record_state in, const char *record_bytes, size_t count,
                           const char *expected)
{
    struct mu_record_state before = in;
    struct mu_record record;
    size_t used;
    expect_text(mu_record_decode(&in, (const uint8_t *)record_bytes, count, &record, &used),
                expected);
    assert_memory_equal(&in, &before, sizeof in);
}

static void a_refused_record_is_told_with_value_and_rule(void **state)
{
    (void)state;
    const struct mu_record_state fresh = {0};
    struct mu_record_state late = {.now_ns = MU_NEVER - 2, .events = 1};
    struct mu_record_state over = {.ended = true};
    expect_refused(started, "\x00", 1, "record length 0 is not between 1 and 65619");
    expect_refused(started, "\xff\xff\x7f", 3, "record length 2097151 is not between 1 and 65619");
    expect_refused(started, "\x81\x00", 2, "a number is not in its shortest form, or over 64 bits");
    expect_refused(started, "\x03\x02\x80\x00", 4,
                   "a number is not in its shortest form, or over 64 bits");
    expect_refused(started, "\x02\x0a\x00", 3,
                   "record type 10 is neither an event, 1 (START) to 9 (MEMBER), nor 255 (END)");
    expect_refused(started, "\x02\x02\x00", 3, "the record ends before the last field of its type");
    expect_refused(started, "\x04\x02\x00\x00\x00", 5, "bytes after the last field of a record: 1");
    expect_refused(started, "\x03\x02\x00\x04", 4, "timer 4 is not below 4");
    expect_refused(started, "\x03\x01\x00\x00", 4, "a second START after 1 events");
    expect_refused(fresh, "\x03\x01\x00\x02", 4, "links_up 2 in a START is neither 0 nor 1");
    expect_refused(fresh, "\x03\x02\x00\x00", 4,
                   "the first event has type 2; it must be 1 (START)");
    expect_refused(late, "\x03\x02\x02\x00", 4,
                   "time overflows: 2 ns after an event at 18446744073709551613 ns");
    expect_refused(started, "\x06\x05\x00\x80\x80\x80\x08", 7,
                   "slot 16777216 is not below 16777216, the size of the largest machine");
    expect_refused(started, "\x09\x04\x00\x01\x80\x80\x80\x80\x10\x00", 10,
                   "incarnation 4294967296 is above 4294967295");
    expect_refused(started, "\x0b\x03\x00\x01\x01\x00\x00\x00\x00\x02\x03\x05", 12,
                   "a received frame has type 5; 3 (HELLO) to 5 (BYE) do not enter the core");
    expect_refused(started, "\x0b\x03\x00\x01\x01\x00\x00\x00\x00\x02\x04\x05", 12,
                   "a received frame cannot be: frame version 4 is newer than 3, the newest this "
                   "program speaks");
    expect_refused(started, "\x05\x09\x00\x01\x00\x01", 6,
                   "the member at slot 1 has no incarnation");
    expect_refused(fresh, "\x05\x09\x00\x01\x01\x03", 6,
                   "what is said of a member, 3, is above 2: out, in, or out with proof");
    expect_refused(started, "\x05\x09\x00\x01\x01\x00", 6,
                   "after START a member, at slot 1, can only be in");
    expect_refused(started, "\x0b\x08\x00\x04\x00\x00\x00\x00\x00\x00\x00\x01", 12,
                   "a stream of kind 4 cannot be forgotten: only of 1 to 3");
    expect_refused(over, "\x03\x02\x00\x00", 4, "something follows END, the last record");
}

static void a_verdict_that_cannot_be_is_refused(void **state)
{
    (void)state;
    struct mu_record_state out = started;
    size_t count = encode(&out, bytes, example(5));
    bytes[3] = 0; /* its kind */
    expect_refused(started, (const char *)bytes, count,
                   "a verdict cannot be: notice kind 0 is not one of 1 (node dead) to 3 (payload)");
}

static void what_could_not_be_read_is_not_written(void **state)
{
    (void)state;
    struct mu_record_state out = started;
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, sizeof bytes);
    struct mu_event event = {.type = MU_EVENT_LINK_DOWN, .now_ns = 999};
    expect_text(mu_record_encode_event(&out, &writer, &event),
                "time 999 ns runs backwards: the event before was at 1000 ns");
    event.now_ns = MU_NEVER;
    expect_text(mu_record_encode_event(&out, &writer, &event),
                "time overflows: 18446744073709550615 ns after an event at 1000 ns");
    event.link_down.peer = MU_SLOT_NONE;
    assert_int_equal(mu_record_encode_event(&out, &writer, &event).error, MU_RECORD_SLOT);
    assert_int_equal(writer.used, 0);
    assert_memory_equal(&out, &started, sizeof out);
}

static void every_error_has_a_sentence(void **state)
{
    (void)state;
    for (int error = MU_RECORD_OK; error <= MU_RECORD_NO_ROOM; error++) {
        char text[MU_WIRE_TEXT_MAX];
        struct mu_record_result result = {.error = (enum mu_record_error)error,
                                          .value = UINT64_MAX,
                                          .bound = UINT64_MAX,
                                          .rule = "a rule",
                                          .wire = {MU_WIRE_TRUNCATED, UINT64_MAX, UINT64_MAX}};
        assert_in_range(strlen(mu_record_text(result, text, sizeof text)), 10, sizeof text - 2);
    }
}

/* ---- whole recordings ---- */

/* A node of a small machine that is stepped and recorded, or replayed. */
struct run {
    struct mu_node *node;
    struct mu_update update;
    struct mu_fingerprint digest;
};

static void run_begin(struct run *run, const struct mu_config *config)
{
    size_t size = mu_node_bytes(config);
    run->node = mu_node_init(aligned_alloc(64, size), size, config);
    run->update = (struct mu_update){.capacity = mu_node_effects_max(config)};
    run->update.effects = malloc(run->update.capacity * sizeof *run->update.effects);
    mu_fingerprint_init(&run->digest);
}

static void run_step(struct run *run, const struct mu_event *event)
{
    mu_node_step(run->node, event, &run->update);
    mu_record_digest_step(&run->digest, event, &run->update);
}

static void run_end(struct run *run)
{
    free(run->node);
    free(run->update.effects);
}

/* Some hundred events of a node of six, as good as they come at random. */
static void record_a_life(struct random *r, struct mu_writer *writer)
{
    struct mu_config config;
    struct run run;
    struct mu_record_state out = {0};
    struct mu_event event = {.type = MU_EVENT_START, .start = {random_below(r, 2) == 0}};
    mu_config_default(&config, 6, 2);
    assert_int_equal(mu_record_encode_header(writer, &config).error, MU_RECORD_OK);
    run_begin(&run, &config);
    struct mu_frame frame;
    struct mu_notice notice;
    for (int i = 0; i < 300; i++) {
        run_step(&run, &event);
        assert_int_equal(mu_record_encode_event(&out, writer, &event).error, MU_RECORD_OK);
        event = random_event(r, event.now_ns, &frame, &notice);
    }
    assert_int_equal(mu_record_encode_end(&out, writer, &run.digest).error, MU_RECORD_OK);
    run_end(&run);
}

static struct mu_record_end replay(const uint8_t *at, size_t left, struct mu_fingerprint *digest)
{
    struct mu_config config;
    struct run run;
    struct mu_record_state in = {0};
    struct mu_record record;
    assert_int_equal(mu_record_decode_header(at, left, &config).error, MU_RECORD_OK);
    at += MU_RECORD_HEADER_BYTES;
    left -= MU_RECORD_HEADER_BYTES;
    run_begin(&run, &config);
    while (!in.ended) {
        size_t used;
        assert_int_equal(mu_record_decode(&in, at, left, &record, &used).error, MU_RECORD_OK);
        at += used;
        left -= used;
        if (!record.is_end)
            run_step(&run, &record.event);
    }
    assert_int_equal(left, 0);
    *digest = run.digest;
    run_end(&run);
    return record.end;
}

static void a_recorded_life_replays_to_the_same_digest(void **state)
{
    (void)state;
    static uint8_t file[1 << 20];
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct random r = {.state = seed, .slots = 6, .small = true};
        struct mu_writer writer;
        struct mu_fingerprint digest;
        mu_writer_init(&writer, file, sizeof file);
        record_a_life(&r, &writer);
        struct mu_record_end end = replay(file, writer.used, &digest);
        assert_int_equal(end.events, 300);
        assert_true(same_print(end.digest, digest));
    }
}

static void end_must_count_the_events_and_be_last(void **state)
{
    (void)state;
    struct mu_record_state out = started, in = started;
    struct mu_fingerprint digest = {1, 2};
    struct mu_writer writer;
    struct mu_record record;
    mu_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(mu_record_encode_end(&out, &writer, &digest).error, MU_RECORD_OK);
    assert_int_equal(mu_record_encode_end(&out, &writer, &digest).error, MU_RECORD_AFTER_END);
    in.events = 4;
    expect_refused(in, (const char *)bytes, writer.used, "END counts 1 events, but there are 4");
    in.events = 1;
    expect_decoded(&in, bytes, writer.used, &record);
    assert_true(record.is_end && in.ended && same_print(record.end.digest, digest));
}

/* ---- the digest ---- */

static struct mu_fingerprint print_effect(const struct mu_effect *effect)
{
    struct mu_fingerprint print;
    struct mu_effect effects[1] = {*effect};
    struct mu_update update = {.effects = effects, .count = 1};
    mu_fingerprint_init(&print);
    mu_record_digest_step(&print, example(0), &update);
    return print;
}

#define EXPECT_IN_DIGEST(effect, change)                                                           \
    do {                                                                                           \
        struct mu_effect other = effect;                                                           \
        change;                                                                                    \
        assert_false(same_print(print_effect(&effect), print_effect(&other)));                     \
    } while (0)

static void the_digest_covers_every_field_of_an_effect(void **state)
{
    (void)state;
    struct mu_effect send = {.type = MU_DO_SEND, .peer = 3, .frame = *example(1)->recv.frame};
    EXPECT_IN_DIGEST(send, other.peer++);
    EXPECT_IN_DIGEST(send, other.frame.sequence++);
    EXPECT_IN_DIGEST(send, other.frame.ack++);
    EXPECT_IN_DIGEST(send, other.frame.type = MU_FRAME_ACK);
    struct mu_effect deliver = {.type = MU_DO_DELIVER, .notice = *example(5)->verdict.notice};
    EXPECT_IN_DIGEST(deliver, other.notice.id.kind++);
    EXPECT_IN_DIGEST(deliver, other.notice.id.stream++);
    EXPECT_IN_DIGEST(deliver, other.notice.id.index++);
    EXPECT_IN_DIGEST(deliver, other.notice.root++);
    EXPECT_IN_DIGEST(deliver, other.notice.hops++);
    EXPECT_IN_DIGEST(deliver, other.notice.age_ns++);
    EXPECT_IN_DIGEST(deliver, other.notice.length--);
    EXPECT_IN_DIGEST(deliver, other.notice.payload = (const uint8_t *)"ew");
    EXPECT_IN_DIGEST(deliver, other.type = MU_DO_FENCED);
    struct mu_effect fault = {.type = MU_DO_FAULT, .fault = MU_FAULT_LINK_GAP};
    EXPECT_IN_DIGEST(fault, other.fault++);
    EXPECT_IN_DIGEST(fault, other.peer++);
    struct mu_effect open = {.type = MU_DO_OPEN, .peer = 3};
    EXPECT_IN_DIGEST(open, other.peer++);
    EXPECT_IN_DIGEST(open, other.type = MU_DO_CLOSE);
}

static void the_digest_covers_every_deadline(void **state)
{
    (void)state;
    struct mu_update update = {.count = 0};
    struct mu_fingerprint before = print_of(example(0));
    for (int timer = 0; timer < MU_TIMERS; timer++) {
        struct mu_fingerprint print;
        update.deadline_ns[timer]++;
        mu_fingerprint_init(&print);
        mu_record_digest_step(&print, example(0), &update);
        assert_false(same_print(print, before));
        update.deadline_ns[timer]--;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_configuration_comes_back),
        cmocka_unit_test(every_truncated_header_is_refused),
        cmocka_unit_test(a_header_that_cannot_be_is_refused_with_the_rule),
        cmocka_unit_test(random_events_come_back_as_they_were),
        cmocka_unit_test(the_longest_record_has_the_stated_length),
        cmocka_unit_test(every_truncated_record_asks_for_more),
        cmocka_unit_test(a_flipped_bit_is_refused_or_means_something_else),
        cmocka_unit_test(a_record_that_does_not_fit_moves_nothing),
        cmocka_unit_test(a_refused_record_is_told_with_value_and_rule),
        cmocka_unit_test(a_verdict_that_cannot_be_is_refused),
        cmocka_unit_test(what_could_not_be_read_is_not_written),
        cmocka_unit_test(every_error_has_a_sentence),
        cmocka_unit_test(a_recorded_life_replays_to_the_same_digest),
        cmocka_unit_test(end_must_count_the_events_and_be_last),
        cmocka_unit_test(the_digest_covers_every_field_of_an_effect),
        cmocka_unit_test(the_digest_covers_every_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
