/* Exchanges without bytes: each rule, one node at a time. */
#include "core/gather/gather.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

enum { SIZE = 128 };

static struct mu_allgather *node;
static void *memory;
static struct mu_allgather_update update;
static struct mu_allgather_effect effects[SIZE + 2];
static const struct mu_span seven = {0, 7}; /* a binary tree of three levels */

static void open_node(mu_slot self, const struct mu_span *spans, uint32_t count)
{
    const struct mu_allgather_config config = {
        .size = SIZE, .self = self, .shift = 1, .spans = spans, .span_count = count};
    size_t bytes = mu_allgather_bytes(&config);
    free(memory);
    memory = aligned_alloc(64, bytes);
    assert_non_null(memory);
    node = mu_allgather_init(memory, bytes, &config);
    update = (struct mu_allgather_update){.effects = effects, .capacity = SIZE + 2};
    assert_true(mu_allgather_effects_max(&config) <= update.capacity);
}

static int close_node(void **state)
{
    (void)state;
    free(memory);
    memory = NULL;
    return 0;
}

static void call(void)
{
    mu_allgather_step(node, &(struct mu_allgather_event){.type = MU_ALLGATHER_CALL}, &update);
}

static void lose(mu_slot slot)
{
    mu_allgather_step(node, &(struct mu_allgather_event){MU_ALLGATHER_OUT, slot, NULL}, &update);
}

/* The fault of the update, if there is one: then there is nothing else in it. */
static enum mu_fault fault_of_update(void)
{
    for (uint32_t i = 0; i < update.count; i++)
        if (effects[i].type == MU_ALLGATHER_FAULT) {
            assert_int_equal(update.count, 1);
            return effects[i].fault;
        }
    return MU_FAULT_NONE;
}

static enum mu_fault hear(mu_slot from, enum mu_allgather_type type, uint64_t round, uint64_t parts)
{
    uint64_t set[SIZE / 64 + 1] = {parts};
    const struct mu_allgather_message message = {(uint8_t)type, round,
                                                 type == MU_ALLGATHER_WANT ? NULL : set};
    mu_allgather_step(node, &(struct mu_allgather_event){MU_ALLGATHER_RECV, from, &message},
                      &update);
    return fault_of_update();
}

/* The i-th effect is this one. */
static void expect_send(uint32_t i, enum mu_allgather_type type, mu_slot peer, uint64_t round,
                        uint64_t parts)
{
    assert_true(i < update.count);
    assert_int_equal(effects[i].type, MU_ALLGATHER_SEND);
    assert_int_equal(effects[i].message.type, type);
    assert_int_equal(effects[i].peer, peer);
    assert_int_equal(effects[i].message.round, round);
    if (type == MU_ALLGATHER_WANT)
        assert_null(effects[i].message.parts);
    else
        assert_int_equal(effects[i].message.parts[0], parts);
}

static void expect_delivery(uint32_t i, uint64_t round, uint64_t parts)
{
    assert_true(i < update.count);
    assert_int_equal(effects[i].type, MU_ALLGATHER_DELIVER);
    assert_int_equal(effects[i].message.round, round);
    assert_int_equal(effects[i].message.parts[0], parts);
}

/* ---- tests ---- */

static void one_alone_is_done_at_once(void **state)
{
    (void)state;
    const struct mu_span self = {5, 1};
    open_node(5, &self, 1);
    call();
    assert_int_equal(update.count, 1);
    expect_delivery(0, 1, 1);
    call();
    assert_int_equal(update.count, 2);
    expect_delivery(0, 2, 1);
    assert_int_equal(effects[1].type, MU_ALLGATHER_FORGET);
    assert_int_equal(effects[1].message.round, 1);
}

/* Node 1 is below node 0, and has 3 and 4 below it. */
static void parts_go_up_when_all_below_are_there(void **state)
{
    (void)state;
    open_node(1, &seven, 1);
    assert_false(hear(3, MU_ALLGATHER_UP, 1, 1 << 3)); /* before it has its own */
    assert_int_equal(update.count, 0);
    call();
    assert_int_equal(update.count, 0);
    assert_false(hear(4, MU_ALLGATHER_UP, 1, 1 << 4));
    assert_int_equal(update.count, 1);
    expect_send(0, MU_ALLGATHER_UP, 0, 1, 0x1a);
    assert_false(hear(0, MU_ALLGATHER_DOWN, 1, 0x7f));
    assert_int_equal(update.count, 3);
    expect_send(0, MU_ALLGATHER_DOWN, 3, 1, 0x7f);
    expect_send(1, MU_ALLGATHER_DOWN, 4, 1, 0x7f);
    expect_delivery(2, 1, 0x7f);
}

static void a_new_parent_is_sent_it_again(void **state)
{
    (void)state;
    open_node(3, &seven, 1);
    call();
    expect_send(0, MU_ALLGATHER_UP, 1, 1, 0x08);
    lose(1);
    assert_int_equal(update.count, 1);
    expect_send(0, MU_ALLGATHER_UP, 0, 1, 0x08);
    lose(1); /* once more is no news */
    assert_int_equal(update.count, 0);
    lose(0);
    assert_int_equal(update.count, 1);
    expect_send(0, MU_ALLGATHER_UP, 2, 1, 0x08); /* all above are out: the first that is not */
}

static void who_is_out_is_not_waited_for(void **state)
{
    (void)state;
    open_node(1, &seven, 1);
    call();
    assert_false(hear(3, MU_ALLGATHER_UP, 1, 1 << 3));
    lose(4);
    assert_int_equal(update.count, 1);
    expect_send(0, MU_ALLGATHER_UP, 0, 1, 0x0a);
}

/* Also those that are no children as far as this node knows. */
static void who_has_the_result_answers(void **state)
{
    (void)state;
    open_node(1, &seven, 1);
    call();
    assert_false(hear(3, MU_ALLGATHER_UP, 1, 1 << 3));
    assert_false(hear(4, MU_ALLGATHER_UP, 1, 1 << 4));
    assert_false(hear(2, MU_ALLGATHER_WANT, 1, 0)); /* 2 takes itself for the root */
    assert_false(hear(0, MU_ALLGATHER_DOWN, 1, 0x7f));
    assert_int_equal(update.count, 4);
    expect_send(2, MU_ALLGATHER_DOWN, 2, 1, 0x7f); /* it asked before */
    assert_false(hear(5, MU_ALLGATHER_UP, 1, 1 << 5));
    assert_int_equal(update.count, 1);
    expect_send(0, MU_ALLGATHER_DOWN, 5, 1, 0x7f);
    assert_false(hear(5, MU_ALLGATHER_PART, 1, 1 << 5)); /* which asks for nothing */
    assert_int_equal(update.count, 0);
}

/* The old one may have had the result, and have told some. */
static void a_new_root_asks(void **state)
{
    (void)state;
    open_node(1, &seven, 1);
    call();
    lose(0);
    assert_int_equal(update.count, 3);
    expect_send(0, MU_ALLGATHER_WANT, 3, 1, 0);
    expect_send(1, MU_ALLGATHER_WANT, 4, 1, 0);
    expect_send(2, MU_ALLGATHER_WANT, 2, 1, 0);
    lose(2); /* whose children are its own now */
    assert_int_equal(update.count, 2);
    expect_send(0, MU_ALLGATHER_WANT, 5, 1, 0);
    expect_send(1, MU_ALLGATHER_WANT, 6, 1, 0);
    assert_false(hear(6, MU_ALLGATHER_DOWN, 1, 0x7f));
    assert_int_equal(update.count, 5);
    expect_delivery(4, 1, 0x7f);
}

static void a_round_ahead_is_kept_for_later(void **state)
{
    (void)state;
    open_node(1, &seven, 1);
    call();
    assert_false(hear(3, MU_ALLGATHER_UP, 2, 1 << 3));
    assert_true(mu_allgather_lacks(node, 1, 3));
    assert_false(mu_allgather_lacks(node, 2, 3));
    assert_false(mu_allgather_lacks(node, 3, 3)); /* nobody can be there */
    assert_false(hear(0, MU_ALLGATHER_DOWN, 1, 0x7f));
    assert_false(hear(4, MU_ALLGATHER_UP, 2, 1 << 4));
    call();
    assert_int_equal(update.count, 1);
    expect_send(0, MU_ALLGATHER_UP, 0, 2, 0x1a);
    assert_false(hear(0, MU_ALLGATHER_DOWN, 2, 0x7f));
    assert_false(hear(3, MU_ALLGATHER_UP, 1, 1 << 3)); /* long done: who sent it has it, too */
    assert_int_equal(update.count, 0);
}

static void who_is_out_itself_is_told_what_there_is(void **state)
{
    (void)state;
    open_node(1, &seven, 1);
    call();
    assert_false(hear(3, MU_ALLGATHER_UP, 1, 1 << 3));
    lose(1);
    assert_int_equal(update.count, 1);
    expect_delivery(0, 1, 0x0a);
    assert_false(hear(4, MU_ALLGATHER_UP, 1, 1 << 4));
    lose(0);
    assert_int_equal(update.count, 0);
}

static void messages_that_cannot_be_are_refused(void **state)
{
    (void)state;
    open_node(1, &seven, 1);
    assert_int_equal(hear(7, MU_ALLGATHER_UP, 1, 1 << 3), MU_FAULT_GATHER_MEMBER);
    assert_int_equal(effects[0].peer, 7);
    assert_int_equal(hear(1, MU_ALLGATHER_UP, 1, 1 << 3), MU_FAULT_GATHER_MEMBER); /* this node */
    assert_int_equal(hear(3, MU_ALLGATHER_UP, 0, 1 << 3), MU_FAULT_GATHER_ROUND);
    assert_int_equal(hear(3, MU_ALLGATHER_UP, 3, 1 << 3), MU_FAULT_GATHER_ROUND);
    /* before it has given its part */
    assert_int_equal(hear(0, MU_ALLGATHER_DOWN, 1, 0x7f), MU_FAULT_GATHER_RESULT);
    assert_true(mu_allgather_lacks(node, 1, 3));
    assert_false(hear(3, MU_ALLGATHER_UP, 1, 0x1a)); /* with the part of this node, it says */
    assert_false(mu_allgather_in(node->rounds[1].have, 1));
}

static void a_second_part_of_a_round_is_refused(void **state)
{
    (void)state;
    open_node(1, &seven, 1);
    call();
    call();
    assert_int_equal(fault_of_update(), MU_FAULT_GATHER_CALL);
    assert_int_equal(effects[0].peer, MU_SLOT_NONE);
}

static void a_configuration_is_checked(void **state)
{
    (void)state;
    struct mu_allgather_config config = {.size = SIZE, .self = 6, .spans = &seven, .span_count = 1};
    assert_null(mu_allgather_config_error(&config));
    config.self = 7;
    assert_non_null(mu_allgather_config_error(&config));
    config.self = 6;
    config.size = 6;
    assert_non_null(mu_allgather_config_error(&config));
    config.size = SIZE;
    config.span_count = 0;
    assert_non_null(mu_allgather_config_error(&config));
}

/* Sets of more than one word, members with gaps, and every position as the only one missing. */
static void nobody_is_overlooked(void **state)
{
    (void)state;
    const struct mu_span spans[] = {{0, 1}, {10, 100}, {120, 8}};
    for (uint32_t missing = 1; missing < 109; missing++) {
        uint64_t set[SIZE / 64 + 1] = {0};
        open_node(0, spans, 3);
        assert_int_equal(node->members.total, 109);
        call();
        for (uint32_t i = 1; i < 109; i++)
            if (i != missing)
                mu_allgather_put(set, i);
        const struct mu_allgather_message message = {MU_ALLGATHER_UP, 1, set};
        const struct mu_allgather_event event = {MU_ALLGATHER_RECV, 10, &message};
        mu_allgather_step(node, &event, &update);
        assert_int_equal(update.count, 0);
        lose(mu_members_slot(&node->members, missing));
        assert_true(update.count > 0 && effects[update.count - 1].type == MU_ALLGATHER_DELIVER);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(test) cmocka_unit_test_teardown(test, close_node)
        TEST(one_alone_is_done_at_once),           TEST(parts_go_up_when_all_below_are_there),
        TEST(a_new_parent_is_sent_it_again),       TEST(who_is_out_is_not_waited_for),
        TEST(who_has_the_result_answers),          TEST(a_new_root_asks),
        TEST(a_round_ahead_is_kept_for_later),     TEST(who_is_out_itself_is_told_what_there_is),
        TEST(messages_that_cannot_be_are_refused), TEST(a_second_part_of_a_round_is_refused),
        TEST(a_configuration_is_checked),          TEST(nobody_is_overlooked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
