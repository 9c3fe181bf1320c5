/* Messages of views as bytes. */
#include "sim/base/random.h"
#include "wire/peer/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

enum { BYTES = 1 << 16 };

static struct mu_view_room room;

/* Encoded, read, and encoded again: the same bytes, in every prefix refused. */
static size_t round_trip(const struct mu_view_message *message, uint8_t bytes[BYTES])
{
    static uint8_t again[BYTES];
    struct mu_view_message in;
    struct mu_writer writer;
    assert_null(mu_view_message_error(message));
    mu_writer_init(&writer, bytes, BYTES);
    mu_view_encode(&writer, message);
    assert_false(writer.full);
    size_t count = writer.used;
    assert_null(mu_view_decode(bytes, count, &room, &in));
    assert_int_equal(in.type, message->type);
    mu_writer_init(&writer, again, BYTES);
    mu_view_encode(&writer, &in);
    assert_int_equal(writer.used, count);
    assert_memory_equal(again, bytes, count);
    for (size_t less = 0; less < count; less++)
        assert_non_null(mu_view_decode(bytes, less, &room, &in));
    return count;
}

static const struct mu_view_mark mark = {.number = 258, .hash = 7, .provisional = true};

/* docs/wire.md, byte by byte. */
static void the_bytes_are_those_of_the_page(void **state)
{
    (void)state;
    static uint8_t bytes[BYTES];
    const struct mu_view_message again = {.type = MU_VIEW_SAY_AGAIN, .mark = mark};
    const uint8_t expected[] = {1, 2, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 7, 1};
    assert_int_equal(round_trip(&again, bytes), sizeof expected);
    assert_memory_equal(bytes, expected, sizeof expected);
    const struct mu_view_message fence = {
        .type = MU_VIEW_FENCE, .mark = mark, .fenced = {.id = 3, .incarnation = 4096}};
    const uint8_t fenced[] = {0, 0, 0, 3, 0, 0, 16, 0};
    assert_int_equal(round_trip(&fence, bytes), sizeof expected + sizeof fenced);
    assert_memory_equal(bytes + sizeof expected, fenced, sizeof fenced);
    struct mu_view_message join = {
        .type = MU_VIEW_JOIN,
        .join = {
            .key = mu_view_key(5, 4097), .kind = MU_VIEW_KIND_JOIN, .length = 1, .bytes = {9}}};
    const uint8_t joins[] = {1, 3, 1, 0, 0, 0, 5, 0, 0, 16, 1, 1, 9};
    assert_int_equal(round_trip(&join, bytes), sizeof joins);
    assert_memory_equal(bytes, joins, sizeof joins);
}

static void a_welcome_has_all_of_a_view(void **state)
{
    (void)state;
    static uint8_t bytes[BYTES];
    const struct mu_span spans[] = {{0, 3}, {5, 2}};
    const struct mu_view_member odd[] = {{1, 4097}, {6, 300}};
    const struct mu_roster_entry dead[] = {{3, 1, .proven = true}, {6, 2, .proven = false}};
    const struct mu_view_lost lost[] = {
        {.id = 3, .incarnation = 1, .proven = true, .counts = true, .clean = true}};
    const mu_slot joined[] = {1, 6};
    struct mu_view_message welcome = {.type = MU_VIEW_WELCOME, .mark = mark};
    welcome.whole = (struct mu_view_whole){9, spans, 2, odd, 2, lost, 1, joined, 2, dead, 2};
    const uint8_t lists[] = {0,    0, 0,    0, 0, 0, 0,  9, 2, 0, 3, 2, 2, 2, 1, 0x81,
                             0x20, 4, 0xac, 2, 1, 3, 15, 2, 1, 4, 2, 3, 3, 2, 4};
    assert_int_equal(round_trip(&welcome, bytes), 19 + sizeof lists);
    assert_memory_equal(bytes + 19, lists, sizeof lists);
    struct mu_view_message in;
    assert_null(mu_view_decode(bytes, 19 + sizeof lists, &room, &in));
    assert_int_equal(in.whole.spans[1].first, 5);
    assert_int_equal(in.whole.odd[1].incarnation, 300);
    assert_true(in.whole.lost[0].counts && in.whole.lost[0].clean);
    assert_int_equal(in.whole.joined[1], 6);
    assert_int_equal(in.whole.dead[1].slot, 6);
    assert_true(in.whole.dead[0].proven && !in.whole.dead[1].proven);
    assert_int_equal(in.whole.before, 9);
}

/* The longest there can be fits into a frame. */
static void the_longest_welcome_is_one_frame(void **state)
{
    (void)state;
    static struct mu_span spans[MU_VIEW_LIST_MAX];
    static struct mu_view_member members[MU_VIEW_LIST_MAX];
    static struct mu_view_lost lost[MU_VIEW_LIST_MAX];
    static struct mu_roster_entry dead[MU_VIEW_LIST_MAX];
    static mu_slot ids[MU_VIEW_LIST_MAX];
    static uint8_t frame[MU_WIRE_FRAME_MAX];
    for (uint32_t i = 0; i < MU_VIEW_LIST_MAX; i++) {
        ids[i] = i * 16384 + 1;
        spans[i] = (struct mu_span){ids[i], 16000};
        members[i] = (struct mu_view_member){ids[i], UINT32_MAX - i};
        lost[i] = (struct mu_view_lost){.id = ids[i], .incarnation = UINT32_MAX, .counts = true};
        dead[i] = (struct mu_roster_entry){ids[i], UINT32_MAX, .proven = true};
    }
    struct mu_view_message welcome = {.type = MU_VIEW_WELCOME, .mark = mark}, in;
    enum { ALL = MU_VIEW_LIST_MAX };
    welcome.whole =
        (struct mu_view_whole){9, spans, ALL, members, ALL, lost, ALL, ids, ALL, dead, ALL};
    size_t count = mu_view_frame_encode(&welcome, frame);
    assert_true(mu_view_frame_is(frame, count));
    assert_null(mu_view_frame_decode(frame, count, &in, &room));
    assert_non_null(mu_view_frame_decode(frame, count - 1, &in, &room));
    assert_memory_equal(in.whole.lost, lost, sizeof lost);
    welcome.whole.dead_count = MU_VIEW_LIST_MAX + 1;
    assert_non_null(mu_view_message_error(&welcome));
}

static void an_agreement_travels_inside(void **state)
{
    (void)state;
    static uint8_t bytes[BYTES];
    const struct mu_failed failed = {.node = 2, .acked = 1, .process = MU_FAILED_NODE};
    const struct mu_agree_entry fact = {
        .kind = MU_VIEW_KIND_FACT, .key = 3, .length = 2, .bytes = {1, 2}};
    struct mu_view_message up = {.type = MU_VIEW_AGREE, .mark = mark};
    up.agree = (struct mu_agree_message){.type = MU_AGREE_UP, .group = 1, .round = 1};
    up.agree.value = (struct mu_agree_value){
        .bits = 1, .failed = &failed, .failed_count = 1, .entries = &fact, .entry_count = 1};
    size_t count = round_trip(&up, bytes);
    struct mu_view_message in;
    assert_null(mu_view_decode(bytes, count, &room, &in));
    assert_int_equal(in.agree.value.entry_count, 1);
    assert_memory_equal(&in.agree.value.entries[0], &fact, sizeof fact);
    const struct mu_roster_entry dead[] = {{3, 1, .proven = true}, {6, 2, .proven = false}};
    struct mu_view_message ask = {.type = MU_VIEW_AGREE, .mark = mark};
    ask.agree = (struct mu_agree_message){.type = MU_AGREE_ASK, .group = 1, .round = 1};
    ask.whole.dead = dead;
    ask.whole.dead_count = 2;
    count = round_trip(&ask, bytes);
    assert_null(mu_view_decode(bytes, count, &room, &in));
    assert_int_equal(in.whole.dead_count, 2);
    assert_int_equal(in.whole.dead[1].slot, 6);
    ask.agree.dead = dead; /* by position: no */
    ask.agree.dead_count = 2;
    assert_non_null(mu_view_message_error(&ask));
}

/* What is refused, with the field that is wrong. */
static void what_breaks_a_rule_is_refused(void **state)
{
    (void)state;
    const struct mu_view_message good = {
        .type = MU_VIEW_FENCE, .mark = mark, .fenced = {.id = 3, .incarnation = 1}};
    struct mu_view_message bad = good;
    bad.type = 0;
    assert_non_null(mu_view_message_error(&bad));
    bad = good;
    bad.mark.number = 0;
    assert_non_null(mu_view_message_error(&bad));
    bad = good;
    bad.fenced.incarnation = 0;
    assert_non_null(mu_view_message_error(&bad));
    bad = good;
    bad.fenced.id = MU_SIZE_MAX;
    assert_non_null(mu_view_message_error(&bad));
    struct mu_view_message join = {.type = MU_VIEW_JOIN,
                                   .join = {.key = mu_view_key(1, 1), .kind = 2}};
    assert_non_null(mu_view_message_error(&join));
    join.join.kind = MU_VIEW_KIND_JOIN;
    assert_null(mu_view_message_error(&join));
    join.join.key = mu_view_key(1, 0);
    assert_non_null(mu_view_message_error(&join));
    const struct mu_span touching[] = {{0, 2}, {2, 1}}, twice[] = {{0, 2}, {1, 1}};
    struct mu_view_message welcome = {.type = MU_VIEW_WELCOME, .mark = mark};
    assert_non_null(mu_view_message_error(&welcome)); /* nobody */
    welcome.whole.spans = touching;
    welcome.whole.span_count = 2;
    assert_non_null(mu_view_message_error(&welcome));
    welcome.whole.spans = twice;
    assert_non_null(mu_view_message_error(&welcome));
}

/* Any byte changed: refused, or another message with these very bytes. */
static void one_message_has_one_spelling(void **state)
{
    (void)state;
    static uint8_t bytes[BYTES], again[BYTES];
    struct sim_random random;
    sim_random_init(&random, 9);
    const struct mu_span spans[] = {{0, 3}, {5, 2}};
    const struct mu_view_member odd[] = {{1, 4097}, {6, 300}};
    const struct mu_view_lost lost[] = {{.id = 3, .incarnation = 1}};
    const struct mu_roster_entry dead[] = {{3, 1, .proven = true}};
    const mu_slot joined[] = {6};
    struct mu_view_message welcome = {.type = MU_VIEW_WELCOME, .mark = mark}, in;
    welcome.whole = (struct mu_view_whole){9, spans, 2, odd, 2, lost, 1, joined, 1, dead, 1};
    size_t count = round_trip(&welcome, bytes);
    uint32_t taken = 0;
    for (int i = 0; i < 20000; i++) {
        size_t at = (size_t)sim_random_below(&random, count);
        uint8_t was = bytes[at];
        bytes[at] ^= (uint8_t)sim_random_between(&random, 1, 255);
        if (mu_view_decode(bytes, count, &room, &in) == NULL) {
            struct mu_writer writer;
            mu_writer_init(&writer, again, BYTES);
            mu_view_encode(&writer, &in);
            assert_int_equal(writer.used, count);
            assert_memory_equal(again, bytes, count);
            taken++;
        }
        bytes[at] = was;
    }
    assert_true(taken > 1000 && taken < 19000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_those_of_the_page),
        cmocka_unit_test(a_welcome_has_all_of_a_view),
        cmocka_unit_test(the_longest_welcome_is_one_frame),
        cmocka_unit_test(an_agreement_travels_inside),
        cmocka_unit_test(what_breaks_a_rule_is_refused),
        cmocka_unit_test(one_message_has_one_spelling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
