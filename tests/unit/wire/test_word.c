/* What a witness says, byte by byte. */
#include "test_wire_random.h"

#include "wire/peer/word.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct mu_word dead = {.type = MU_WORD_DEAD,
                                    .how = {.type = MU_EXIT_SIGNAL, .signal = 9},
                                    .age_ns = 0x0102030405060708};

static void the_bytes_are_those_of_the_page(void **state)
{
    (void)state;
    static const uint8_t expected[] = {1, 2, 0, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8};
    uint8_t bytes[MU_WORD_BYTES_MAX];
    assert_int_equal(mu_word_encode(&dead, bytes), sizeof expected);
    assert_memory_equal(bytes, expected, sizeof expected);
    struct mu_word heard = {.type = MU_WORD_HEARD, .heard = MU_WORD_GONE};
    assert_int_equal(mu_word_encode(&heard, bytes), 2);
    assert_int_equal(bytes[0], 3);
    assert_int_equal(bytes[1], 2);
}

static void what_is_said_is_understood(void **state)
{
    (void)state;
    const struct mu_word words[] = {
        dead,
        {.type = MU_WORD_GONE, .how = {.type = MU_EXIT_CODE, .code = 3}, .age_ns = 7},
        {.type = MU_WORD_GONE, .how = {.type = MU_EXIT_LEFT}},
        {.type = MU_WORD_DEAD, .how = {.type = MU_EXIT_UNKNOWN}},
        {.type = MU_WORD_DEAD, .how = {.type = MU_EXIT_SIGNAL, .signal = 11, .core_dumped = true}},
        {.type = MU_WORD_HEARD, .heard = MU_WORD_DEAD},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        uint8_t bytes[MU_WORD_BYTES_MAX];
        struct mu_word in;
        size_t count = mu_word_encode(&words[i], bytes);
        assert_null(mu_word_decode(bytes, count, &in));
        assert_memory_equal(&in, &words[i], sizeof in);
        for (size_t cut = 0; cut < count; cut++)
            assert_non_null(mu_word_decode(bytes, cut, &in));
    }
}

static void every_rule_has_a_sentence(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t byte;
    } wrong[] = {
        {0, 0}, {0, 4},  /* no such word */
        {1, 3}, {1, 5},  /* not started; no such end */
        {2, 1},          /* an exit code beside a signal */
        {3, 0}, {3, 65}, /* no signal */
        {4, 2},          /* dumped core, or not */
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        uint8_t bytes[MU_WORD_BYTES_MAX];
        struct mu_word in;
        size_t count = mu_word_encode(&dead, bytes);
        bytes[wrong[i].at] = wrong[i].byte;
        assert_non_null(mu_word_decode(bytes, count, &in));
    }
    struct mu_word in;
    assert_non_null(mu_word_decode((const uint8_t[]){3, 3}, 2, &in));
    assert_non_null(mu_word_decode((const uint8_t[]){3, 1, 0}, 3, &in));
    assert_non_null(mu_word_decode((const uint8_t[]){1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 13,
                                   &in)); /* an exit code of 0 is no failure */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_those_of_the_page),
        cmocka_unit_test(what_is_said_is_understood),
        cmocka_unit_test(every_rule_has_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
