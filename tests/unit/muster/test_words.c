/* Whose word counts, when daemons say that nodes are dead. */
#include "launch/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { NODES = 6 };
static struct words *words;

static int begin(void **state)
{
    (void)state;
    words = words_new(NODES);
    return words == NULL;
}

static int end(void **state)
{
    (void)state;
    words_free(words);
    return 0;
}

/* Takes a word; the nodes that are given up for it, as bits. */
static unsigned tell(mu_slot teller, mu_slot node, mu_slot seen_by)
{
    struct mu_evidence evidence = {.seen_by = seen_by, .node = node};
    unsigned lost = 0;
    mu_slot next;
    assert_true(words_take(words, teller, node, &evidence));
    for (const struct mu_evidence *of; (of = words_next(words, NODES, &next)) != NULL;) {
        assert_int_equal(of->node, next);
        assert_int_equal(lost & 1u << next, 0);
        lost |= 1u << next;
        words_lost(words, next);
    }
    return lost;
}

static void deaths_that_all_are_told_count_in_any_order(void **state)
{
    (void)state;
    assert_int_equal(tell(0, 5, 0), 1u << 5);
    assert_int_equal(tell(1, 2, 3), 0); /* its word of node 5 is on its way */
    assert_int_equal(tell(1, 5, 0), 1u << 2);
    assert_int_equal(tell(0, 2, 3), 0); /* nobody twice */
}

static void of_two_halves_the_one_that_speaks_first_goes_on(void **state)
{
    (void)state;
    assert_int_equal(tell(0, 5, 0), 1u << 5);
    assert_int_equal(tell(3, 2, 3), 0);
    assert_int_equal(tell(4, 2, 3), 0);
    assert_int_equal(tell(3, 5, 4), 0); /* it was given up, and so it ended: no word of that side */
    assert_int_equal(tell(4, 5, 4), 0);
    assert_int_equal(tell(3, 1, 3), 0);
    assert_int_equal(tell(1, 5, 0), 0);
    assert_int_equal(tell(1, 4, 0), 1u << 4);
    assert_int_equal(tell(0, 3, 0), 0); /* this one has not said that of 4 yet */
    assert_int_equal(tell(0, 4, 0), 1u << 3);
    assert_int_equal(tell(3, 0, 3), 0); /* on its way when it was given up */
}

static void sides_that_hear_each_other_again_are_one(void **state)
{
    (void)state;
    assert_int_equal(tell(0, 5, 0), 1u << 5);
    assert_int_equal(tell(3, 2, 3), 0);
    assert_int_equal(tell(0, 2, 3), 1u << 2);
    assert_int_equal(tell(3, 5, 0), 0);
    assert_int_equal(tell(3, 4, 3), 1u << 4);
}

static void when_its_side_is_gone_the_others_are_heard(void **state)
{
    (void)state;
    assert_int_equal(tell(0, 5, 0), 1u << 5);
    assert_int_equal(tell(3, 2, 3), 0);
    words_lost(words, 0);
    mu_slot node;
    assert_non_null(words_next(words, NODES, &node));
    assert_int_equal(node, 2);
    words_lost(words, node);
    assert_null(words_next(words, NODES, &node));
    assert_int_equal(tell(3, 1, 3), 1u << 1);
}

static void one_that_is_cut_off_alone_does_not_win_by_speaking_first(void **state)
{
    (void)state;
    assert_int_equal(tell(0, 5, 0), 1u << 5);
    assert_int_equal(tell(1, 0, 1), 0);
    assert_int_equal(tell(2, 0, 1), 0);
    assert_int_equal(tell(3, 0, 1), 0);
    assert_int_equal(tell(4, 0, 1), 1u << 0); /* four of six */
    assert_int_equal(tell(4, 3, 4), 1u << 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(deaths_that_all_are_told_count_in_any_order, begin, end),
        cmocka_unit_test_setup_teardown(of_two_halves_the_one_that_speaks_first_goes_on, begin,
                                        end),
        cmocka_unit_test_setup_teardown(sides_that_hear_each_other_again_are_one, begin, end),
        cmocka_unit_test_setup_teardown(when_its_side_is_gone_the_others_are_heard, begin, end),
        cmocka_unit_test_setup_teardown(one_that_is_cut_off_alone_does_not_win_by_speaking_first,
                                        begin, end),
    };
    return cmocka_run_group_tests_name("words", tests, NULL, NULL);
}
