#include "test_wire_random.h"

#include "wire/base/bytes.h"
#include "wire/peer/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
/* after the four above */
#include <cmocka.h>

static uint8_t bytes[MU_WIRE_FRAME_MAX];
static uint8_t again[MU_WIRE_FRAME_MAX];

static size_t encode(uint8_t *into, size_t room, const struct mu_message *message)
{
    struct mu_writer writer;
    mu_writer_init(&writer, into, room);
    struct mu_wire_result result = mu_wire_encode(&writer, message);
    assert_int_equal(result.error, MU_WIRE_OK);
    return writer.used;
}

static bool same_notice(const struct mu_notice *a, const struct mu_notice *b)
{
    return mu_notice_compare(&a->id, &b->id) == 0 && a->root == b->root && a->hops == b->hops &&
           a->age_ns == b->age_ns && a->length == b->length &&
           memcmp(a->payload, b->payload, a->length) == 0;
}

static bool same_message(const struct mu_message *a, const struct mu_message *b)
{
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case MU_MESSAGE_NOTICE:
        return a->frame.type == b->frame.type && a->frame.sequence == b->frame.sequence &&
               a->frame.ack == b->frame.ack && same_notice(&a->frame.notice, &b->frame.notice);
    case MU_MESSAGE_ACK:
    case MU_MESSAGE_FULL:
    case MU_MESSAGE_ROOM:
    case MU_MESSAGE_AGAIN:
        return a->frame.type == b->frame.type && a->frame.sequence == 0 && b->frame.sequence == 0 &&
               a->frame.ack == b->frame.ack;
    case MU_MESSAGE_HELLO:
        return a->hello.machine == b->hello.machine && a->hello.size == b->hello.size &&
               a->hello.from == b->hello.from && a->hello.to == b->hello.to &&
               a->hello.incarnation == b->hello.incarnation && a->hello.view == b->hello.view &&
               a->hello.hash == b->hello.hash && a->hello.has == b->hello.has;
    case MU_MESSAGE_REFUSE:
        return a->refuse.code == b->refuse.code && a->refuse.length == b->refuse.length &&
               memcmp(a->refuse.reason, b->refuse.reason, a->refuse.length) == 0;
    case MU_MESSAGE_BYE:
        return true;
    }
    return false;
}

/* One short message of each type, to be damaged. */
static const struct mu_message *example(size_t i)
{
    static const struct mu_message examples[] = {
        {.type = MU_MESSAGE_NOTICE,
         .frame = {.type = MU_FRAME_NOTICE,
                   .sequence = 7,
                   .ack = 3,
                   .notice = {.id = {.kind = MU_NOTICE_NODE_DEAD, .stream = 1, .index = 5},
                              .root = 5,
                              .hops = 2,
                              .length = 4,
                              .age_ns = 1500000,
                              .payload = (const uint8_t *)"gone"}}},
        {.type = MU_MESSAGE_NOTICE,
         .frame = {.type = MU_FRAME_NOTICE,
                   .sequence = 8,
                   .notice = {.id = {.kind = MU_NOTICE_PAYLOAD, .stream = 1, .index = 1},
                              .payload = (const uint8_t *)""}}},
        {.type = MU_MESSAGE_ACK, .frame = {.type = MU_FRAME_ACK, .ack = 9}},
        {.type = MU_MESSAGE_FULL, .frame = {.type = MU_FRAME_FULL, .ack = 10}},
        {.type = MU_MESSAGE_ROOM, .frame = {.type = MU_FRAME_ROOM, .ack = 11}},
        {.type = MU_MESSAGE_AGAIN, .frame = {.type = MU_FRAME_AGAIN, .ack = 12}},
        {.type = MU_MESSAGE_HELLO,
         .hello = {.machine = 77,
                   .size = 8,
                   .from = 3,
                   .to = 4,
                   .incarnation = 1,
                   .view = 5,
                   .hash = 6,
                   .has = 12}},
        {.type = MU_MESSAGE_REFUSE,
         .refuse = {.code = MU_REFUSE_DEAD, .length = 12, .reason = "you are dead"}},
        {.type = MU_MESSAGE_BYE},
    };
    return i < sizeof examples / sizeof examples[0] ? &examples[i] : NULL;
}

/* ---- bytes ---- */

static void numbers_are_written_most_significant_byte_first(void **state)
{
    (void)state;
    const uint8_t expected[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, sizeof bytes);
    mu_write_u8(&writer, 0x01);
    mu_write_u16(&writer, 0x0203);
    mu_write_u32(&writer, 0x04050607);
    mu_write_u64(&writer, 0x08090a0b0c0d0e0f);
    assert_int_equal(writer.used, sizeof expected);
    assert_memory_equal(bytes, expected, sizeof expected);
}

static void a_full_writer_stays_full_and_writes_nothing_more(void **state)
{
    (void)state;
    uint8_t small[4] = {0, 0, 0, 0xee};
    struct mu_writer writer;
    mu_writer_init(&writer, small, 3);
    mu_write_u16(&writer, 0x0102);
    mu_write_u16(&writer, 0x0304);
    assert_true(writer.full);
    mu_write_u8(&writer, 5); /* would fit, but then the reader would see another message */
    assert_int_equal(writer.used, 2);
    assert_int_equal(small[2], 0);
    assert_int_equal(small[3], 0xee);
}

static void a_writer_without_bytes_only_counts(void **state)
{
    (void)state;
    struct mu_writer writer;
    mu_writer_init(&writer, NULL, SIZE_MAX);
    mu_write_u64(&writer, 1);
    mu_write_varint(&writer, 300);
    assert_int_equal(writer.used, 10);
    assert_false(writer.full);
}

static void a_reader_that_ran_out_stays_bad_and_reads_zero(void **state)
{
    (void)state;
    const uint8_t three[] = {1, 2, 3};
    struct mu_reader reader;
    mu_reader_init(&reader, three, sizeof three);
    assert_int_equal(mu_read_u32(&reader), 0);
    assert_true(reader.bad && reader.ended);
    assert_int_equal(mu_read_u8(&reader), 0);
    assert_null(mu_read_bytes(&reader, 0));
}

static void every_varint_comes_back_and_has_the_shortest_length(void **state)
{
    (void)state;
    struct random r = {.state = 1};
    for (int i = 0; i < 20000; i++) {
        /* as many short ones as long ones */
        uint64_t value = random_u64(&r) >> random_below(&r, 64);
        size_t shortest = 1;
        for (uint64_t rest = value >> 7; rest != 0; rest >>= 7)
            shortest++;
        struct mu_writer writer;
        struct mu_reader reader;
        mu_writer_init(&writer, bytes, sizeof bytes);
        mu_write_varint(&writer, value);
        assert_int_equal(writer.used, shortest);
        mu_reader_init(&reader, bytes, writer.used);
        assert_true(mu_read_varint(&reader) == value);
        assert_false(reader.bad);
        mu_reader_init(&reader, bytes, writer.used - 1);
        mu_read_varint(&reader);
        assert_true(reader.bad && reader.ended);
    }
}

static void expect_bad_varint(const char *spelling, size_t count)
{
    struct mu_reader reader;
    mu_reader_init(&reader, (const uint8_t *)spelling, count);
    assert_int_equal(mu_read_varint(&reader), 0);
    assert_true(reader.bad);
    assert_false(reader.ended);
}

static void a_varint_with_useless_bytes_or_over_64_bits_is_bad(void **state)
{
    (void)state;
    expect_bad_varint("\x80\x00", 2);
    expect_bad_varint("\xff\x80\x00", 3);
    expect_bad_varint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10);
    expect_bad_varint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00", 11);
    expect_bad_varint("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 10);
}

/* ---- frames ---- */

static void random_messages_come_back_as_they_were(void **state)
{
    (void)state;
    struct random r = {.state = 2, .slots = MU_SIZE_MAX};
    for (int i = 0; i < 20000; i++) {
        struct mu_message message = random_message(&r), decoded;
        size_t count = encode(bytes, sizeof bytes, &message);
        struct mu_wire_result result = mu_wire_decode(bytes, count, &decoded);
        assert_int_equal(result.error, MU_WIRE_OK);
        assert_true(same_message(&message, &decoded));
        assert_int_equal(encode(again, sizeof again, &decoded), count);
        assert_memory_equal(bytes, again, count);
    }
}

static void the_longest_frame_has_the_stated_length(void **state)
{
    (void)state;
    struct mu_message message = *example(0);
    message.frame.notice.length = UINT16_MAX;
    message.frame.notice.payload = random_payload_bytes;
    assert_int_equal(encode(bytes, sizeof bytes, &message), MU_WIRE_FRAME_MAX);
}

static void a_payload_is_not_copied(void **state)
{
    (void)state;
    struct mu_message decoded;
    size_t count = encode(bytes, sizeof bytes, example(0));
    assert_int_equal(mu_wire_decode(bytes, count, &decoded).error, MU_WIRE_OK);
    assert_ptr_equal(decoded.frame.notice.payload, bytes + count - 4);
}

static void every_truncated_frame_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; example(i) != NULL; i++) {
        size_t count = encode(bytes, sizeof bytes, example(i));
        for (size_t cut = 0; cut < count; cut++) {
            struct mu_message decoded;
            assert_int_equal(mu_wire_decode(bytes, cut, &decoded).error, MU_WIRE_TRUNCATED);
            /* and when the length agrees that it is over */
            bytes[3] = (uint8_t)(cut - 4);
            bytes[2] = (uint8_t)((cut - 4) >> 8);
            if (cut >= 4)
                assert_int_not_equal(mu_wire_decode(bytes, cut, &decoded).error, MU_WIRE_OK);
            encode(bytes, sizeof bytes, example(i));
        }
    }
}

static void bytes_after_a_frame_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; example(i) != NULL; i++) {
        struct mu_message decoded;
        size_t count = encode(bytes, sizeof bytes, example(i));
        bytes[count] = 0;
        assert_int_equal(mu_wire_decode(bytes, count + 1, &decoded).error, MU_WIRE_TRAILING);
        bytes[3]++; /* now the frame owns that byte, and no field does */
        assert_int_not_equal(mu_wire_decode(bytes, count + 1, &decoded).error, MU_WIRE_OK);
    }
}

static void a_flipped_bit_is_refused_or_means_something_else(void **state)
{
    (void)state;
    for (size_t i = 0; example(i) != NULL; i++) {
        size_t count = encode(bytes, sizeof bytes, example(i));
        for (size_t bit = 0; bit < 8 * count; bit++) {
            struct mu_message decoded;
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            if (mu_wire_decode(bytes, count, &decoded).error == MU_WIRE_OK) {
                assert_false(same_message(example(i), &decoded));
                assert_int_equal(encode(again, sizeof again, &decoded), count);
                assert_memory_equal(bytes, again, count);
            }
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}

static void a_frame_that_does_not_fit_leaves_the_buffer_usable(void **state)
{
    (void)state;
    for (size_t i = 0; example(i) != NULL; i++) {
        size_t count = encode(bytes, sizeof bytes, example(i));
        for (size_t room = 0; room < count; room++) {
            struct mu_writer writer;
            mu_writer_init(&writer, again, room);
            assert_int_equal(mu_wire_encode(&writer, example(i)).error, MU_WIRE_NO_ROOM);
            assert_int_equal(writer.used, 0);
            assert_true(writer.full);
        }
    }
}

static void a_stream_gives_its_frames_one_byte_at_a_time(void **state)
{
    (void)state;
    uint8_t stream[1024];
    size_t total = 0;
    for (size_t i = 0; example(i) != NULL; i++)
        total += encode(stream + total, sizeof stream - total, example(i));

    size_t start = 0, found = 0;
    for (size_t end = 0; end <= total; end++) {
        size_t size;
        enum mu_wire_progress progress = mu_wire_frame_size(stream + start, end - start, &size);
        if (progress == MU_WIRE_MORE) {
            assert_true(size > end - start);
            continue;
        }
        struct mu_message decoded;
        assert_int_equal(progress, MU_WIRE_COMPLETE);
        assert_int_equal(size, end - start);
        assert_int_equal(mu_wire_decode(stream + start, size, &decoded).error, MU_WIRE_OK);
        assert_true(same_message(example(found), &decoded));
        found++;
        start = end;
    }
    assert_int_equal(start, total);
    assert_null(example(found));
}

static void a_stream_tells_a_bad_length_from_four_bytes(void **state)
{
    (void)state;
    const uint32_t bad_lengths[] = {0, 1, MU_WIRE_FRAME_MAX - 3, UINT32_MAX};
    for (size_t i = 0; i < 4; i++) {
        size_t size;
        struct mu_writer writer;
        mu_writer_init(&writer, bytes, sizeof bytes);
        mu_write_u32(&writer, bad_lengths[i]);
        assert_int_equal(mu_wire_frame_size(bytes, 3, &size), MU_WIRE_MORE);
        assert_int_equal(mu_wire_frame_size(bytes, 4, &size), MU_WIRE_BAD_LENGTH);
    }
}

/* ---- refusals ---- */

static void expect_text(struct mu_wire_result result, const char *expected)
{
    char text[MU_WIRE_TEXT_MAX];
    assert_string_equal(mu_wire_text(result, text, sizeof text), expected);
}

/* An example with one byte changed. */
static void expect_refused(size_t i, size_t at, uint8_t byte, const char *expected)
{
    struct mu_message decoded;
    size_t count = encode(bytes, sizeof bytes, example(i));
    bytes[at] = byte;
    expect_text(mu_wire_decode(bytes, count, &decoded), expected);
}

static void a_newer_version_is_refused_with_both_numbers(void **state)
{
    (void)state;
    expect_refused(8, 4, 7, "frame version 7 is newer than 3, the newest this program speaks");
    expect_refused(8, 4, 1, "frame version 1 is older than 3, the oldest this program speaks");
}

/* Whoever speaks another version reads why it was refused. */
static void a_refusal_has_version_1_for_ever(void **state)
{
    (void)state;
    encode(bytes, sizeof bytes, example(7));
    assert_int_equal(bytes[4], 1);
    expect_refused(7, 4, 2, "frame version 2 is newer than 1, the newest this program speaks");
    expect_refused(7, 4, 0, "frame version 0 is older than 1, the oldest this program speaks");
}

static void a_refused_frame_is_told_with_value_and_rule(void **state)
{
    (void)state;
    expect_refused(8, 5, 10, "frame type 10 is not one of 1 (NOTICE) to 9 (AGAIN)");
    expect_refused(8, 3, 3, "the bytes end after 6 of the 7 that the frame needs");
    expect_refused(8, 0, 1, "frame length 16777218 is not between 2 and 65586");
    expect_refused(0, 13, 0, "sequence 0 is wrong: it is at least 1 in a NOTICE, and 0 elsewhere");
    expect_refused(0, 22, 4, "notice kind 4 is not one of 1 (node dead) to 3 (payload)");
    expect_refused(0, 30, 0, "incarnation 0 is not between 1 and 4294967295");
    expect_refused(0, 26, 2, "incarnation 8589934593 is not between 1 and 4294967295");
    expect_refused(0, 35, 1,
                   "slot 16777221 is not below 16777216, the size of the largest machine");
    expect_refused(0, 39, 2,
                   "slot 33554437 is not below 16777216, the size of the largest machine");
    expect_refused(0, 54, 5, "payload length 5 is not the number of bytes that follow, 4");
    expect_refused(1, 38, 0, "payload index 0 is not at least 1");
    expect_refused(6, 17, 0, "machine size 0 is not between 1 and 16777216");
    expect_refused(6, 21, 9, "slot 9 in a HELLO is above 8, the size of its machine");
    expect_refused(6, 21, 4, "slot 4 says HELLO to itself");
    expect_refused(6, 37, 0, "a HELLO says the hash 6 of no view");
    expect_refused(6, 29, 0, "incarnation 0 is not between 1 and 4294967295");
    expect_refused(7, 6, 0, "refusal code 0 is not at least 1");
    expect_refused(7, 7, 13,
                   "length 13 of a refusal's reason is more than the bytes that follow, 12");
    expect_refused(7, 7, 11, "bytes after the last field: 1");
    expect_refused(7, 9, 27, "byte 27 in a refusal's reason is not printable ASCII");
}

static void what_could_not_be_read_is_not_written(void **state)
{
    (void)state;
    struct mu_message message = *example(0);
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, sizeof bytes);
    message.frame.notice.root = MU_SLOT_NONE;
    expect_text(mu_wire_encode(&writer, &message),
                "slot 4294967295 is not below 16777216, the size of the largest machine");
    struct mu_frame frame = {.type = 3};
    expect_text(mu_wire_encode_frame(&writer, &frame),
                "frame type 3 is not one of 1 (NOTICE) to 9 (AGAIN)");
    frame = (struct mu_frame){.type = MU_FRAME_ACK, .sequence = 5};
    assert_int_equal(mu_wire_encode_frame(&writer, &frame).error, MU_WIRE_SEQUENCE);
    assert_int_equal(writer.used, 0);
    assert_false(writer.full);
}

static void every_error_has_a_sentence(void **state)
{
    (void)state;
    for (int error = MU_WIRE_OK; error <= MU_WIRE_NO_ROOM; error++) {
        char text[MU_WIRE_TEXT_MAX];
        struct mu_wire_result result = {
            .error = (enum mu_wire_error)error, .value = UINT64_MAX, .bound = UINT64_MAX};
        assert_in_range(strlen(mu_wire_text(result, text, sizeof text)), 10, sizeof text - 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_written_most_significant_byte_first),
        cmocka_unit_test(a_full_writer_stays_full_and_writes_nothing_more),
        cmocka_unit_test(a_writer_without_bytes_only_counts),
        cmocka_unit_test(a_reader_that_ran_out_stays_bad_and_reads_zero),
        cmocka_unit_test(every_varint_comes_back_and_has_the_shortest_length),
        cmocka_unit_test(a_varint_with_useless_bytes_or_over_64_bits_is_bad),
        cmocka_unit_test(random_messages_come_back_as_they_were),
        cmocka_unit_test(the_longest_frame_has_the_stated_length),
        cmocka_unit_test(a_payload_is_not_copied),
        cmocka_unit_test(every_truncated_frame_is_refused),
        cmocka_unit_test(bytes_after_a_frame_are_refused),
        cmocka_unit_test(a_flipped_bit_is_refused_or_means_something_else),
        cmocka_unit_test(a_frame_that_does_not_fit_leaves_the_buffer_usable),
        cmocka_unit_test(a_stream_gives_its_frames_one_byte_at_a_time),
        cmocka_unit_test(a_stream_tells_a_bad_length_from_four_bytes),
        cmocka_unit_test(a_newer_version_is_refused_with_both_numbers),
        cmocka_unit_test(a_refusal_has_version_1_for_ever),
        cmocka_unit_test(a_refused_frame_is_told_with_value_and_rule),
        cmocka_unit_test(what_could_not_be_read_is_not_written),
        cmocka_unit_test(every_error_has_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
