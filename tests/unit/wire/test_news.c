/* What daemons post to everybody besides deaths: bytes and rules. */
#include "test_news_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
/* after those above */
#include <cmocka.h>

static void expect_bytes(const struct mu_news *news, const uint8_t *expected, size_t count)
{
    uint8_t bytes[MU_NEWS_BYTES_MAX];
    struct mu_news again;
    assert_int_equal(mu_news_encode(news, bytes), count);
    assert_memory_equal(bytes, expected, count);
    assert_true(mu_news_decode(bytes, count, &again));
}

/* docs/wire.md, byte by byte. */
static void the_bytes_are_those_of_the_page(void **state)
{
    (void)state;
    struct mu_news ended = {.type = MU_NEWS_ENDED,
                            .job = 7,
                            .ended = {.evidence = {.verdict = MU_VERDICT_DEAD,
                                                   .cause = MU_CAUSE_EXIT,
                                                   .seen_by = 2,
                                                   .node = 2,
                                                   .how = {.type = MU_EXIT_SIGNAL, .signal = 9},
                                                   .seen_ns = 258,
                                                   .clock = 3},
                                      .waited_ns = 8,
                                      .rows = 1,
                                      .row = {{4, 5, 6}}}};
    expect_bytes(&ended,
                 (uint8_t[]){1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 8, 1, 0, 0, 0, 4, 0, 0, 0, 5,
                             0, 0, 0, 6, 1, 1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 9, 0,
                             0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0},
                 66);
    struct mu_news kill = {.type = MU_NEWS_KILL, .job = 7, .kill = {.signal = 15}};
    expect_bytes(&kill, (uint8_t[]){2, 0, 0, 0, 7, 15}, 6);
    struct mu_news times = {.type = MU_NEWS_TIMES,
                            .times = {.period_ns = 0x01020304, .timeout_ns = 0x0504030201}};
    expect_bytes(&times, (uint8_t[]){3, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 5, 4, 3, 2, 1},
                 21);
    struct mu_news quiet = {.type = MU_NEWS_QUIET, .job = 7, .quiet = {.rank = 3, .node = 2}};
    expect_bytes(&quiet, (uint8_t[]){5, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0, 2}, 13);
}

static void what_goes_out_comes_in_again(void **state)
{
    (void)state;
    size_t longest = 0;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        struct random r = {.state = seed, .slots = MU_SIZE_MAX, .small = seed % 7 == 0};
        struct mu_news news = random_news(&r, (enum mu_news_type)(1 + seed % MU_NEWS_LAST)), in;
        uint8_t bytes[MU_NEWS_BYTES_MAX + 1] = {0}, again[MU_NEWS_BYTES_MAX];
        size_t count = mu_news_encode(&news, bytes);
        assert_true(mu_news_decode(bytes, count, &in));
        assert_int_equal(mu_news_encode(&in, again), count);
        assert_memory_equal(again, bytes, count);
        longest = count > longest ? count : longest;
        for (size_t less = 0; less < count; less++)
            assert_false(mu_news_decode(bytes, less, &in));
        assert_false(mu_news_decode(bytes, count + 1, &in));
    }
    assert_true(longest > MU_NEWS_BYTES_MAX - 12 && longest <= MU_NEWS_BYTES_MAX);
}

/* Whatever one byte is changed to: it is refused, or is other news with these very bytes. */
static void one_piece_of_news_has_one_encoding(void **state)
{
    (void)state;
    uint64_t refused = 0;
    for (uint64_t round = 0; round < 60; round++) {
        struct random r = {.state = round, .slots = MU_SIZE_MAX, .small = round % 2 == 0};
        struct mu_news news = random_news(&r, (enum mu_news_type)(1 + round % MU_NEWS_LAST)), in;
        uint8_t bytes[MU_NEWS_BYTES_MAX], again[MU_NEWS_BYTES_MAX];
        size_t count = mu_news_encode(&news, bytes);
        for (size_t at = 0; at < count; at++) {
            uint8_t before = bytes[at];
            for (unsigned value = 0; value < 256; value++) {
                bytes[at] = (uint8_t)value;
                if (!mu_news_decode(bytes, count, &in)) {
                    refused++;
                    continue;
                }
                assert_int_equal(mu_news_encode(&in, again), count);
                assert_memory_equal(again, bytes, count);
            }
            bytes[at] = before;
        }
    }
    assert_true(refused > 0);
}

/* An ENDED with one thing changed. */
static bool is_good(struct mu_news news, uint32_t first, uint32_t count, uint32_t pid)
{
    uint8_t bytes[MU_NEWS_BYTES_MAX];
    struct mu_news in;
    news.ended.row[0].first = first;
    news.ended.row[0].count = count;
    news.ended.row[0].pid = pid;
    return mu_news_decode(bytes, mu_news_encode(&news, bytes), &in);
}

static void ends_are_of_processes_that_can_be(void **state)
{
    (void)state;
    struct random r = {.state = 1, .slots = MU_SIZE_MAX};
    struct mu_news news = random_news(&r, MU_NEWS_ENDED);
    assert_true(is_good(news, 0, NEWS_RANKS_MAX, 0));
    assert_true(is_good(news, NEWS_RANKS_MAX - 1, 1, INT32_MAX));
    assert_false(is_good(news, NEWS_RANKS_MAX - 1, 2, 1));
    assert_false(is_good(news, NEWS_RANKS_MAX, 1, 1));
    assert_false(is_good(news, 0, 0, 1));
    assert_false(is_good(news, 0, 1, (uint32_t)INT32_MAX + 1));
    assert_false(is_good(news, 0, 2, INT32_MAX));
    mu_evidence_path(&news.ended.evidence, "");
    assert_int_equal(mu_news_ended_rows(&news.ended.evidence), MU_NEWS_ENDED_ROWS_MAX);
    memset(news.ended.evidence.path, 'x', MU_EVIDENCE_PATH_MAX);
    assert_int_equal(mu_news_ended_rows(&news.ended.evidence), 6);
}

static void expect_times(uint32_t job, uint64_t period_ns, uint64_t timeout_ns, bool good)
{
    uint8_t bytes[21];
    struct mu_writer writer;
    struct mu_news news;
    mu_writer_init(&writer, bytes, sizeof bytes);
    mu_write_u8(&writer, MU_NEWS_TIMES);
    mu_write_u32(&writer, job);
    mu_write_u64(&writer, period_ns);
    mu_write_u64(&writer, timeout_ns);
    assert_int_equal(mu_news_decode(bytes, sizeof bytes, &news), good);
    if (good)
        assert_true(news.times.period_ns == period_ns && news.times.timeout_ns == timeout_ns);
}

static void what_breaks_a_rule_is_refused(void **state)
{
    (void)state;
    struct mu_news news;
    assert_false(mu_news_decode((uint8_t[]){0, 0, 0, 0, 1, 1}, 6, &news));
    assert_false(mu_news_decode((uint8_t[]){4, 0, 0, 0, 1, 1}, 6, &news));
    assert_false(mu_news_decode((uint8_t[]){2, 0, 0, 0, 1, 0}, 6, &news));
    assert_false(mu_news_decode((uint8_t[]){2, 0, 0, 0, 1, 65}, 6, &news));
    assert_true(mu_news_decode((uint8_t[]){2, 0, 0, 0, 1, 64}, 6, &news));
    expect_times(0, MU_PERIOD_NS_MIN, 2 * MU_PERIOD_NS_MIN, true);
    expect_times(0, MU_TIMEOUT_NS_MAX / 2, MU_TIMEOUT_NS_MAX, true);
    expect_times(1, MU_PERIOD_NS_MIN, 2 * MU_PERIOD_NS_MIN, false); /* of no job */
    expect_times(0, MU_PERIOD_NS_MIN - 1, 2 * MU_PERIOD_NS_MIN, false);
    expect_times(0, MU_PERIOD_NS_MIN, 2 * MU_PERIOD_NS_MIN - 1, false);
    expect_times(0, MU_PERIOD_NS_MIN, MU_TIMEOUT_NS_MAX + 1, false);
    expect_times(0, UINT64_MAX, 1, false);
    expect_times(0, 0, 0, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_those_of_the_page),
        cmocka_unit_test(what_goes_out_comes_in_again),
        cmocka_unit_test(one_piece_of_news_has_one_encoding),
        cmocka_unit_test(ends_are_of_processes_that_can_be),
        cmocka_unit_test(what_breaks_a_rule_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
