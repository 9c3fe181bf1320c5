/* Groups and their trees, exhaustively for small ones, against the definitions. */
#include "core/base/tree.h"
#include "sim/base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

enum { SLOTS = 64 };

struct grove {
    _Alignas(64) uint8_t memory[4096];
    struct mu_members members;
    struct mu_roster dead;
    struct mu_tree tree;
};

static void plant(struct grove *grove, uint8_t shift)
{
    struct mu_arena arena;
    mu_arena_init(&arena, grove->memory, sizeof grove->memory);
    mu_members_init(&grove->members, &arena, SLOTS);
    mu_roster_init(&grove->dead, &arena, SLOTS, SLOTS);
    grove->tree = (struct mu_tree){&grove->members, &grove->dead, shift};
}

/* ---- members ---- */

/* The members of a set of slots, as spans. */
static uint32_t spans_of(uint64_t set, struct mu_span spans[SLOTS])
{
    uint32_t count = 0;
    for (mu_slot slot = 0; slot < SLOTS; slot++) {
        bool is_in = (set >> slot & 1) != 0, joins = slot > 0 && (set >> (slot - 1) & 1) != 0;
        if (is_in && joins)
            spans[count - 1].count++;
        else if (is_in)
            spans[count++] = (struct mu_span){slot, 1};
    }
    return count;
}

static void expect_members(const struct mu_members *members, uint64_t set)
{
    uint32_t position = 0;
    for (mu_slot slot = 0; slot < SLOTS; slot++) {
        if ((set >> slot & 1) == 0) {
            assert_int_equal(mu_members_position(members, slot), UINT32_MAX);
            continue;
        }
        assert_int_equal(mu_members_position(members, slot), position);
        assert_int_equal(mu_members_slot(members, position), slot);
        position++;
    }
    assert_int_equal(members->total, position);
}

static void positions_count_the_members(void **state)
{
    (void)state;
    struct grove grove;
    struct sim_random random;
    struct mu_span spans[SLOTS];
    sim_random_init(&random, 1);
    for (int i = 0; i < 2000; i++) {
        uint64_t set = sim_random_next(&random) | sim_random_next(&random);
        uint32_t count = spans_of(set, spans);
        plant(&grove, 1);
        assert_null(mu_members_error(&grove.members, SLOTS, spans, count));
        mu_members_set(&grove.members, spans, count);
        expect_members(&grove.members, set);
        while (set != 0) { /* one after the other goes */
            mu_slot slot = (mu_slot)sim_random_below(&random, SLOTS);
            if ((set >> slot & 1) == 0)
                continue;
            assert_true(mu_members_remove(&grove.members, slot));
            set &= ~(1ull << slot);
            expect_members(&grove.members, set);
        }
    }
}

/* Any set of ten, taken in in any direction, by way of each smaller one. */
static void members_are_taken_in(void **state)
{
    (void)state;
    struct grove grove;
    struct mu_span one = {0, 1};
    for (uint64_t set = 1; set < 1024; set++)
        for (int down = 0; down < 2; down++) {
            uint64_t in = 0;
            plant(&grove, 1);
            for (int i = 0; i < 10; i++) {
                mu_slot slot = (mu_slot)(down ? 9 - i : i);
                one.first = slot;
                if ((set >> slot & 1) == 0)
                    continue;
                if (in == 0)
                    mu_members_set(&grove.members, &one, 1);
                else
                    assert_true(mu_members_add(&grove.members, slot));
                in |= 1ull << slot;
                expect_members(&grove.members, in);
            }
            for (mu_slot slot = 0; slot < 10; slot++)
                if ((set >> slot & 1) == 0) { /* into any gap */
                    assert_true(mu_members_add(&grove.members, slot));
                    expect_members(&grove.members, set | 1ull << slot);
                    assert_true(mu_members_remove(&grove.members, slot));
                    expect_members(&grove.members, set);
                }
        }
    plant(&grove, 1);
    grove.members.capacity = 1;
    mu_members_set(&grove.members, &one, 1);
    one.first = 3;
    mu_members_set(&grove.members, &one, 1);
    assert_false(mu_members_add(&grove.members, 5));
    assert_true(mu_members_add(&grove.members, 4));
    expect_members(&grove.members, 0x18);
}

static void a_removal_that_needs_room_may_be_refused(void **state)
{
    (void)state;
    struct grove grove;
    struct mu_span all = {0, 9};
    plant(&grove, 1);
    grove.members.capacity = 2;
    mu_members_set(&grove.members, &all, 1);
    assert_true(mu_members_remove(&grove.members, 4));
    assert_false(mu_members_remove(&grove.members, 2));
    expect_members(&grove.members, 0x1ef);
    assert_true(mu_members_remove(&grove.members, 5)); /* at an edge there is no need */
    expect_members(&grove.members, 0x1cf);
}

static void a_description_is_checked(void **state)
{
    (void)state;
    struct grove grove;
    plant(&grove, 1);
    grove.members.capacity = 2;
    struct mu_span empty = {3, 0}, high = {60, 5}, touching[] = {{1, 2}, {3, 1}};
    struct mu_span back[] = {{5, 1}, {1, 1}}, three[] = {{1, 1}, {3, 1}, {5, 1}};
    assert_non_null(mu_members_error(&grove.members, SLOTS, NULL, 0));
    assert_non_null(mu_members_error(&grove.members, SLOTS, &empty, 1));
    assert_non_null(mu_members_error(&grove.members, SLOTS, &high, 1));
    assert_non_null(mu_members_error(&grove.members, SLOTS, touching, 2));
    assert_non_null(mu_members_error(&grove.members, SLOTS, back, 2));
    assert_non_null(mu_members_error(&grove.members, SLOTS, three, 3));
    assert_null(mu_members_error(&grove.members, SLOTS, three, 2));
}

/* ---- trees ---- */

/* By the definition: the nearest ancestor that lives, else the first member that does. */
static mu_slot parent_by_hand(const struct grove *grove, uint32_t position)
{
    uint32_t fanout = 1u << grove->tree.shift;
    for (uint32_t up = position; up > 0;) {
        up = (up - 1) / fanout;
        mu_slot slot = mu_members_slot(&grove->members, up);
        if (!mu_roster_is_vacant(&grove->dead, slot))
            return slot;
    }
    for (uint32_t first = 0; first < position; first++) {
        mu_slot slot = mu_members_slot(&grove->members, first);
        if (!mu_roster_is_vacant(&grove->dead, slot))
            return slot;
    }
    return MU_SLOT_NONE;
}

static void expect_tree(const struct grove *grove)
{
    uint32_t children = 0, living = 0;
    for (uint32_t p = 0; p < grove->members.total; p++) {
        mu_slot slot = mu_members_slot(&grove->members, p);
        assert_int_equal(mu_tree_parent(&grove->tree, slot), parent_by_hand(grove, p));
        if (mu_roster_is_vacant(&grove->dead, slot))
            continue;
        living++;
        uint64_t seen = 0;
        struct mu_tree_walk walk;
        for (mu_slot child = mu_tree_first_child(&grove->tree, slot, &walk); child != MU_SLOT_NONE;
             child = mu_tree_next_child(&grove->tree, &walk)) {
            assert_int_equal(seen >> child & 1, 0); /* each once */
            assert_false(mu_roster_is_vacant(&grove->dead, child));
            assert_int_equal(mu_tree_parent(&grove->tree, child), slot);
            seen |= 1ull << child;
            children++;
        }
    }
    /* Everybody that lives is somebody's child, but the root. */
    assert_int_equal(children, living == 0 ? 0 : living - 1);
}

static void every_small_tree_mends_by_the_definition(void **state)
{
    (void)state;
    for (uint8_t shift = 0; shift <= 4; shift++)
        for (uint32_t total = 1; total <= 10; total++)
            for (uint32_t deaths = 0; deaths < 1u << total; deaths++) {
                struct grove grove;
                struct mu_span span = {5, total};
                plant(&grove, shift);
                mu_members_set(&grove.members, &span, 1);
                for (uint32_t p = 0; p < total; p++)
                    if ((deaths >> p & 1) != 0)
                        mu_roster_out(&grove.dead, 5 + p, 1);
                mu_roster_out(&grove.dead, 2, 1); /* no member */
                expect_tree(&grove);
            }
}

static void larger_trees_mend_too(void **state)
{
    (void)state;
    struct sim_random random;
    struct mu_span spans[SLOTS];
    sim_random_init(&random, 2);
    for (int i = 0; i < 3000; i++) {
        struct grove grove;
        uint64_t set = sim_random_next(&random) | sim_random_next(&random) | 1;
        uint64_t deaths = sim_random_next(&random) & sim_random_next(&random);
        plant(&grove, (uint8_t)sim_random_below(&random, 7));
        mu_members_set(&grove.members, spans, spans_of(set, spans));
        for (mu_slot slot = 0; slot < SLOTS; slot++)
            if ((deaths >> slot & 1) != 0)
                mu_roster_out(&grove.dead, slot, 1);
        expect_tree(&grove);
    }
}

static void the_height_is_that_of_the_last_member(void **state)
{
    (void)state;
    assert_int_equal(mu_tree_height(1, 1), 0);
    assert_int_equal(mu_tree_height(3, 1), 1);
    assert_int_equal(mu_tree_height(4, 1), 2);
    assert_int_equal(mu_tree_height(1 << 20, 1), 20);
    assert_int_equal(mu_tree_height(7, 0), 6);
    assert_int_equal(mu_tree_height(1000, 10), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_count_the_members),
        cmocka_unit_test(members_are_taken_in),
        cmocka_unit_test(a_removal_that_needs_room_may_be_refused),
        cmocka_unit_test(a_description_is_checked),
        cmocka_unit_test(every_small_tree_mends_by_the_definition),
        cmocka_unit_test(larger_trees_mend_too),
        cmocka_unit_test(the_height_is_that_of_the_last_member),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
