/* Messages of exchanges: bytes and structs, also broken ones. */
#include "test_exchange_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

enum { ROOM = 4096 };

static uint8_t bytes[ROOM];

static size_t make(uint64_t seed)
{
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, sizeof bytes);
    random_exchange(seed, &writer);
    assert_false(writer.full);
    return writer.used;
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        struct mu_exchange_message message;
        struct mu_rank_run runs[8];
        uint8_t again[ROOM];
        struct mu_writer writer;
        size_t count = make(seed);
        assert_null(mu_exchange_decode(bytes, count, &message));
        assert_true(message.run_count <= 8);
        mu_writer_init(&writer, again, sizeof again);
        encode_exchange_again(&message, runs, &writer);
        assert_int_equal(writer.used, count);
        assert_memory_equal(again, bytes, count);
    }
}

/* What is cut off makes it shorter, or breaks it; of an exchange it always breaks it. */
static void what_is_cut_short_is_refused(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct mu_exchange_message message;
        size_t count = make(seed);
        bool is_exchange = bytes[1] <= MU_EXCHANGE_PART;
        for (size_t cut = 0; cut < (is_exchange ? count : 14); cut++)
            assert_non_null(mu_exchange_decode(bytes, cut, &message));
        bytes[count] = 0;
        if (is_exchange)
            assert_non_null(mu_exchange_decode(bytes, count + 1, &message));
    }
}

static void put_head(struct mu_writer *writer, uint8_t version, uint8_t type, uint64_t round)
{
    mu_writer_init(writer, bytes, sizeof bytes);
    mu_write_u8(writer, version);
    mu_write_u8(writer, type);
    mu_write_u32(writer, 1);
    mu_write_u64(writer, 0);
    mu_write_u64(writer, round);
}

/* NULL, or the rule that such an exchange breaks: one run after 'gap', another one after 'next'. */
static const char *try_lists(uint8_t type, uint64_t gap, uint64_t size, uint64_t next,
                             uint64_t node, uint64_t length)
{
    struct mu_exchange_message message;
    struct mu_writer writer;
    put_head(&writer, MU_EXCHANGE_VERSION, type, 1);
    mu_write_varint(&writer, 2);
    mu_write_varint(&writer, gap);
    mu_write_varint(&writer, size);
    mu_write_varint(&writer, next);
    mu_write_varint(&writer, 1);
    mu_write_varint(&writer, 1);
    mu_write_varint(&writer, node);
    mu_write_varint(&writer, length);
    mu_write_bytes(&writer, "abc", 3);
    return mu_exchange_decode(bytes, writer.used, &message);
}

static void what_breaks_a_rule_is_refused(void **state)
{
    (void)state;
    const uint64_t huge = UINT64_MAX;
    struct mu_exchange_message message;
    struct mu_writer writer;
    assert_null(try_lists(MU_EXCHANGE_UP, 0, 3, 1, 7, 3));
    assert_non_null(try_lists(MU_EXCHANGE_WANT, 0, 3, 1, 7, 3)); /* with a part */
    assert_non_null(try_lists(MU_EXCHANGE_UP, 0, 0, 1, 7, 3));
    assert_non_null(try_lists(MU_EXCHANGE_UP, 0, 3, 0, 7, 3)); /* no gap */
    assert_non_null(try_lists(MU_EXCHANGE_UP, 1 << 20, 1, 1, 7, 3));
    assert_non_null(try_lists(MU_EXCHANGE_UP, huge, 3, 1, 7, 3));
    assert_non_null(try_lists(MU_EXCHANGE_UP, 0, huge, 1, 7, 3));
    assert_non_null(try_lists(MU_EXCHANGE_UP, 0, 3, 1, MU_SIZE_MAX, 3));
    assert_non_null(try_lists(MU_EXCHANGE_UP, 0, 3, 1, huge, 3));
    assert_non_null(try_lists(MU_EXCHANGE_UP, 0, 3, 1, 7, 2)); /* bytes are left */
    assert_non_null(try_lists(MU_EXCHANGE_UP, 0, 3, 1, 7, 4));
    assert_non_null(try_lists(MU_EXCHANGE_UP, 0, 3, 1, 7, huge));
    put_head(&writer, MU_EXCHANGE_VERSION + 1, MU_EXCHANGE_ANSWER, 1);
    assert_non_null(mu_exchange_decode(bytes, writer.used, &message));
    put_head(&writer, MU_EXCHANGE_VERSION, MU_EXCHANGE_TYPE_LAST + 1, 1);
    assert_non_null(mu_exchange_decode(bytes, writer.used, &message));
    put_head(&writer, MU_EXCHANGE_VERSION, MU_EXCHANGE_ANSWER, 1);
    assert_null(mu_exchange_decode(bytes, writer.used, &message));
    put_head(&writer, MU_EXCHANGE_VERSION, MU_EXCHANGE_QUESTION, huge);
    assert_non_null(mu_exchange_decode(bytes, writer.used, &message)); /* says neither 0 nor 1 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(what_is_cut_short_is_refused),
        cmocka_unit_test(what_breaks_a_rule_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
