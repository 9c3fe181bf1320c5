/* What a daemon and a process say about agreements: docs/local.md, byte by byte. */
#include "test_ballot_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
/* after the four above */
#include <cmocka.h>

static uint8_t bytes[MU_BALLOT_BYTES_MAX], again[MU_BALLOT_BYTES_MAX];

static void expect_bytes(const struct mu_ballot *ballot, const uint8_t *expected, size_t count)
{
    assert_int_equal(mu_ballot_encode(ballot, bytes), count);
    assert_memory_equal(bytes, expected, count);
}

static void the_bytes_are_those_of_the_page(void **state)
{
    (void)state;
    const struct mu_ballot join = {.type = MU_BALLOT_JOIN,
                                   .join = {.rows = 2, .row = {{1, 2}, {5, 1}}}};
    expect_bytes(&join, (uint8_t[]){16, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 1}, 19);
    const struct mu_ballot call = {.type = MU_BALLOT_CALL, .call = {.bits = 0x0102, .acked = 3}};
    expect_bytes(&call, (uint8_t[]){17, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3}, 13);
    const struct mu_ballot joined = {.type = MU_BALLOT_JOINED, .joined = {.group = 4, .size = 5}};
    expect_bytes(&joined, (uint8_t[]){48, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 5}, 13);
    const struct mu_ballot gone = {.type = MU_BALLOT_GONE,
                                   .gone = {.rows = 1, .row = {{7, 2}}, .kind = {MU_BALLOT_LEFT}}};
    expect_bytes(&gone, (uint8_t[]){49, 0, 1, 0, 0, 0, 7, 0, 0, 0, 2, 2}, 12);
    const struct mu_ballot decided = {.type = MU_BALLOT_DECIDED,
                                      .decided = {.round = 6, .bits = 7, .error = true}};
    expect_bytes(&decided, (uint8_t[]){50, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7, 1, 0},
                 19);
}

static void every_message_comes_back(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20000; seed++) {
        struct random r = {.state = seed, .small = seed % 2 == 0};
        struct mu_ballot ballot = random_ballot(&r), read;
        size_t count = mu_ballot_encode(&ballot, bytes);
        assert_null(mu_ballot_decode(bytes, count, &read));
        assert_int_equal(read.type, ballot.type);
        assert_int_equal(mu_ballot_encode(&read, again), count);
        assert_memory_equal(again, bytes, count);
        for (size_t cut = 0; cut < count; cut++)
            assert_non_null(mu_ballot_decode(bytes, cut, &read));
    }
}

static void expect_broken(const uint8_t *packet, size_t count)
{
    struct mu_ballot read;
    assert_non_null(mu_ballot_decode(packet, count, &read));
}

static void what_breaks_a_rule_is_refused(void **state)
{
    (void)state;
    expect_broken((uint8_t[]){15}, 1);
    expect_broken((uint8_t[]){16, 0, 0, 0}, 4);                               /* too long */
    expect_broken((uint8_t[]){16, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0}, 11);         /* empty row */
    expect_broken((uint8_t[]){16, 0, 1, 255, 255, 255, 255, 0, 0, 0, 2}, 11); /* over 2^32 */
    expect_broken((uint8_t[]){16, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 1},
                  19);                                                      /* no gap */
    expect_broken((uint8_t[]){16, 0, 29}, 3);                               /* too many */
    expect_broken((uint8_t[]){48, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0}, 13); /* no member */
    expect_broken((uint8_t[]){49, 0, 0}, 3);                                /* no row */
    expect_broken((uint8_t[]){49, 0, 1, 0, 0, 0, 7, 0, 0, 0, 2, 3}, 12);    /* kind */
    expect_broken((uint8_t[]){50, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 1, 0},
                  19); /* round */
    expect_broken((uint8_t[]){50, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7, 2, 0},
                  19); /* flag */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_those_of_the_page),
        cmocka_unit_test(every_message_comes_back),
        cmocka_unit_test(what_breaks_a_rule_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
