/* The small tools of the core: arena, dead, seen, fingerprint. */
#include "core/base/arena.h"
#include "core/base/roster.h"
#include "core/base/fingerprint.h"
#include "core/node.h"
#include "core/base/seen.h"
#include "sim/base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

/* ---- arena ---- */

static const struct {
    size_t count, item_size;
    bool line;
} wanted[] = {{3, 1, false}, {1, 100, true}, {0, 8, false}, {7, 12, false},
              {1, 1, true},  {5, 8, false},  {1, 3, false}, {0, 1, true}};

enum { WANTED = sizeof wanted / sizeof wanted[0] };

static void take_all(struct mu_arena *arena, uint8_t *got[WANTED])
{
    for (size_t i = 0; i < WANTED; i++)
        got[i] = wanted[i].line ? mu_arena_array_line(arena, wanted[i].count, wanted[i].item_size)
                                : mu_arena_array(arena, wanted[i].count, wanted[i].item_size);
}

static size_t measure(void)
{
    struct mu_arena arena;
    uint8_t *got[WANTED];
    mu_arena_init(&arena, NULL, 0);
    take_all(&arena, got);
    for (size_t i = 0; i < WANTED; i++)
        assert_null(got[i]);
    return arena.used;
}

static void measuring_an_arena_says_what_using_it_takes(void **state)
{
    (void)state;
    size_t bytes = measure();
    size_t whole = (bytes + 63) / 64 * 64;
    uint8_t *base = aligned_alloc(64, whole);
    uint8_t *got[WANTED];
    struct mu_arena arena;
    memset(base, 0xff, whole);
    mu_arena_init(&arena, base, bytes); /* exactly: one byte less would be an assert */
    take_all(&arena, got);
    assert_int_equal(arena.used, bytes);
    free(base);
}

static void arrays_of_an_arena_are_aligned_and_zeroed_and_do_not_overlap(void **state)
{
    (void)state;
    size_t whole = (measure() + 63) / 64 * 64;
    uint8_t *base = aligned_alloc(64, whole);
    uint8_t *got[WANTED];
    struct mu_arena arena;
    memset(base, 0xff, whole);
    mu_arena_init(&arena, base, whole);
    take_all(&arena, got);
    const uint8_t *end = base;
    for (size_t i = 0; i < WANTED; i++) {
        size_t bytes = wanted[i].count * wanted[i].item_size;
        assert_int_equal((uintptr_t)got[i] % (wanted[i].line ? 64 : 8), 0);
        assert_true(got[i] >= end);
        for (size_t b = 0; b < bytes; b++)
            assert_int_equal(got[i][b], 0);
        end = got[i] + bytes;
    }
    assert_int_equal(end - base, arena.used);
    free(base);
}

static void a_node_needs_as_many_bytes_as_it_says_for_every_size(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= 300; size++) {
        struct mu_config config;
        mu_config_default(&config, size, size - 1);
        config.limits.payload_bytes = (uint16_t)(size % 50);
        config.limits.window = (uint16_t)(1 + size % 9);
        config.limits.notices = (uint16_t)(1 + size % 33);
        size_t bytes = mu_node_bytes(&config);
        void *memory = aligned_alloc(64, bytes);
        struct mu_node *node = mu_node_init(memory, bytes, &config); /* asserts when too small */
        assert_ptr_equal(node, memory);
        assert_int_equal(bytes % 64, 0);
        free(memory);
    }
}

/* ---- roster ---- */

enum { CIRCLE = 48 };

struct roster_tool {
    struct mu_roster roster;
    struct mu_roster_entry entries[CIRCLE];
};

static void roster_tool(struct roster_tool *tool, uint32_t size, uint32_t capacity)
{
    memset(tool, 0, sizeof *tool);
    tool->roster = (struct mu_roster){
        .entries = tool->entries, .capacity = capacity, .founders = size, .size = size};
}

static void a_death_covers_lower_incarnations_and_never_higher_ones(void **state)
{
    (void)state;
    struct roster_tool tool;
    roster_tool(&tool, 8, 8);
    assert_false(mu_roster_is_vacant(&tool.roster, 3));
    assert_false(mu_roster_is_out(&tool.roster, 3, 1));
    assert_true(mu_roster_out(&tool.roster, 3, 5));
    assert_true(mu_roster_is_vacant(&tool.roster, 3));
    for (uint32_t i = 1; i <= 5; i++) {
        assert_true(mu_roster_is_out(&tool.roster, 3, i));
        assert_false(mu_roster_out(&tool.roster, 3, i)); /* known already */
    }
    assert_false(mu_roster_is_out(&tool.roster, 3, 6));
    assert_false(mu_roster_is_out(&tool.roster, 2, 1));
    assert_false(mu_roster_is_out(&tool.roster, 4, 1));
    assert_false(mu_roster_is_proven(&tool.roster, 3, 5));
    assert_true(mu_roster_prove(&tool.roster, 3, 5));
    assert_false(mu_roster_prove(&tool.roster, 3, 5)); /* known already */
    assert_true(mu_roster_is_proven(&tool.roster, 3, 5));
    assert_true(mu_roster_out(&tool.roster, 3, 6)); /* whose death is another one */
    assert_false(mu_roster_is_proven(&tool.roster, 3, 6));
    assert_true(mu_roster_is_out(&tool.roster, 3, 6));
    assert_int_equal(tool.roster.count, 1);
}

static void who_comes_back_is_in_as_another_one(void **state)
{
    (void)state;
    struct roster_tool tool;
    roster_tool(&tool, 8, 8);
    assert_true(mu_roster_is_in(&tool.roster, 3, 1));
    assert_false(mu_roster_is_in(&tool.roster, 3, 2));
    assert_true(mu_roster_out(&tool.roster, 3, 1));
    assert_false(mu_roster_is_in(&tool.roster, 3, 1));
    assert_false(mu_roster_join(&tool.roster, 3, 1)); /* a death covers it */
    assert_true(mu_roster_join(&tool.roster, 3, 5));
    assert_false(mu_roster_join(&tool.roster, 3, 5)); /* known already */
    assert_false(mu_roster_join(&tool.roster, 3, 4));
    assert_int_equal(mu_roster_incarnation(&tool.roster, 3), 5);
    assert_false(mu_roster_is_vacant(&tool.roster, 3));
    assert_true(mu_roster_is_out(&tool.roster, 3, 4));
    assert_true(mu_roster_is_proven(&tool.roster, 3, 4));
    assert_false(mu_roster_is_out(&tool.roster, 3, 5));
    assert_false(mu_roster_is_proven(&tool.roster, 3, 5));
    assert_false(mu_roster_out(&tool.roster, 3, 4)); /* its death was known */
    assert_true(mu_roster_is_in(&tool.roster, 3, 5));
    assert_true(mu_roster_out(&tool.roster, 3, 5));
    assert_true(mu_roster_is_vacant(&tool.roster, 3));
    assert_int_equal(tool.roster.count, 1);
}

static void a_join_proves_the_death_of_all_before_it(void **state)
{
    (void)state;
    struct roster_tool tool;
    roster_tool(&tool, 8, 8);
    assert_true(mu_roster_join(&tool.roster, 2, 7)); /* nobody had told that (2, 1) is dead */
    assert_true(mu_roster_is_out(&tool.roster, 2, 1));
    assert_true(mu_roster_is_out(&tool.roster, 2, 6));
    assert_true(mu_roster_is_in(&tool.roster, 2, 7));
}

static void the_circle_grows_as_far_as_the_highest_slot_that_is_known(void **state)
{
    (void)state;
    struct roster_tool tool;
    roster_tool(&tool, 4, 8);
    assert_true(mu_roster_is_vacant(&tool.roster, 6));
    assert_true(mu_roster_join(&tool.roster, 6, 2));
    assert_int_equal(tool.roster.size, 7);
    assert_int_equal(mu_roster_next_live(&tool.roster, 4, false, MU_SLOT_NONE), 6);
    assert_int_equal(mu_roster_next_live(&tool.roster, 4, true, MU_SLOT_NONE), 3);
    assert_true(mu_roster_out(&tool.roster, 6, 2));
    assert_int_equal(tool.roster.size, 7);
    assert_int_equal(mu_roster_next_live(&tool.roster, 4, false, MU_SLOT_NONE), 0);
    assert_true(mu_roster_out(&tool.roster, 7, 3)); /* a death may come before the join */
    assert_int_equal(tool.roster.size, 8);
    assert_false(mu_roster_join(&tool.roster, 7, 3));
}

static void a_slot_with_an_entry_always_fits_and_no_other_one_does_when_full(void **state)
{
    (void)state;
    struct roster_tool tool;
    roster_tool(&tool, 8, 2);
    mu_roster_out(&tool.roster, 6, 1);
    assert_true(mu_roster_fits(&tool.roster, 0));
    mu_roster_out(&tool.roster, 1, 1);
    for (mu_slot slot = 0; slot < 8; slot++)
        assert_int_equal(mu_roster_fits(&tool.roster, slot), slot == 6 || slot == 1);
    assert_true(mu_roster_out(&tool.roster, 6, 2));
}

static void the_dead_stay_sorted_in_whatever_order_they_come(void **state)
{
    (void)state;
    struct sim_random random;
    sim_random_init(&random, 4);
    for (int round = 0; round < 200; round++) {
        struct roster_tool tool;
        uint32_t incarnation_of[CIRCLE] = {0};
        roster_tool(&tool, CIRCLE, CIRCLE);
        for (int i = 0; i < 100; i++) {
            mu_slot slot = (mu_slot)sim_random_below(&random, CIRCLE);
            uint32_t incarnation = (uint32_t)sim_random_between(&random, 1, 4);
            bool is_new = incarnation > incarnation_of[slot];
            assert_int_equal(mu_roster_out(&tool.roster, slot, incarnation), is_new);
            if (is_new)
                incarnation_of[slot] = incarnation;
        }
        uint32_t at = 0;
        for (mu_slot slot = 0; slot < CIRCLE; slot++) {
            assert_int_equal(mu_roster_is_vacant(&tool.roster, slot), incarnation_of[slot] > 0);
            if (incarnation_of[slot] == 0)
                continue;
            assert_int_equal(tool.entries[at].slot, slot);
            assert_int_equal(tool.entries[at].incarnation, incarnation_of[slot]);
            at++;
        }
        assert_int_equal(tool.roster.count, at);
    }
}

static mu_slot next_live_by_looking(const struct mu_roster *dead, mu_slot slot, bool back,
                                    mu_slot except)
{
    for (uint32_t i = 0; i < dead->size; i++) {
        mu_slot at = (slot + (back ? dead->size - i : i)) % dead->size;
        if (at != except && !mu_roster_is_vacant(dead, at))
            return at;
    }
    return MU_SLOT_NONE;
}

static void check_next_live(const struct mu_roster *dead)
{
    for (mu_slot slot = 0; slot < dead->size; slot++)
        for (mu_slot except = 0; except <= dead->size; except++)
            for (int back = 0; back < 2; back++) {
                mu_slot but = except == dead->size ? MU_SLOT_NONE : except;
                assert_int_equal(mu_roster_next_live(dead, slot, back != 0, but),
                                 next_live_by_looking(dead, slot, back != 0, but));
            }
}

static void the_next_live_slot_is_found_around_the_circle_both_ways(void **state)
{
    (void)state;
    struct sim_random random;
    sim_random_init(&random, 5);
    for (uint32_t size = 1; size <= CIRCLE; size++) {
        struct roster_tool tool;
        roster_tool(&tool, size, size);
        check_next_live(&tool.roster);
        while (tool.roster.count < size) { /* until everything is dead */
            if (mu_roster_out(&tool.roster, (mu_slot)sim_random_below(&random, size), 1))
                check_next_live(&tool.roster);
        }
        assert_int_equal(mu_roster_next_live(&tool.roster, 0, false, MU_SLOT_NONE), MU_SLOT_NONE);
    }
}

static void a_dead_stretch_across_slot_zero_is_stepped_over(void **state)
{
    (void)state;
    struct roster_tool tool;
    roster_tool(&tool, 8, 8);
    mu_roster_out(&tool.roster, 7, 1);
    mu_roster_out(&tool.roster, 0, 1);
    mu_roster_out(&tool.roster, 1, 1);
    assert_int_equal(mu_roster_next_live(&tool.roster, 7, false, MU_SLOT_NONE), 2);
    assert_int_equal(mu_roster_next_live(&tool.roster, 1, true, MU_SLOT_NONE), 6);
    assert_int_equal(mu_roster_next_live(&tool.roster, 7, false, 2), 3);
    assert_int_equal(mu_roster_next_live(&tool.roster, 1, true, 6), 5);
}

/* ---- seen ---- */

enum { KINDS = 3, STREAMS = 3, INDICES = 40, IDS = KINDS * STREAMS * INDICES };

struct seen_tool {
    struct mu_seen seen;
    struct mu_seen_range ranges[IDS];
};

static void seen_tool(struct seen_tool *tool, uint32_t capacity)
{
    memset(tool, 0, sizeof *tool);
    tool->seen = (struct mu_seen){.ranges = tool->ranges, .capacity = capacity};
}

static struct mu_notice_id id_number(uint32_t number)
{
    return (struct mu_notice_id){
        .kind = (uint8_t)(1 + number / (STREAMS * INDICES)),
        .stream = 7 + number / INDICES % STREAMS,
        .index = number % INDICES,
    };
}

static bool same_stream(uint32_t a, uint32_t b)
{
    return a / INDICES == b / INDICES;
}

/* How many ranges the ids that are set make up. */
static uint32_t runs_of(const bool known[IDS])
{
    uint32_t runs = 0;
    for (uint32_t i = 0; i < IDS; i++)
        runs += known[i] && (i == 0 || !known[i - 1] || !same_stream(i, i - 1));
    return runs;
}

static bool touches(const bool known[IDS], uint32_t i)
{
    return (i > 0 && same_stream(i, i - 1) && known[i - 1]) ||
           (i + 1 < IDS && same_stream(i, i + 1) && known[i + 1]);
}

static void check_seen(const struct mu_seen *seen, const bool known[IDS])
{
    assert_int_equal(seen->count, runs_of(known));
    for (uint32_t i = 0; i < IDS; i++) {
        struct mu_notice_id id = id_number(i);
        assert_int_equal(mu_seen_has(seen, &id), known[i]);
        if (!known[i])
            assert_int_equal(mu_seen_fits(seen, &id),
                             seen->count < seen->capacity || touches(known, i));
    }
}

static void ranges_merge_in_whatever_order_they_come(void **state)
{
    (void)state;
    struct sim_random random;
    sim_random_init(&random, 6);
    for (int round = 0; round < 10; round++) {
        struct seen_tool tool;
        bool known[IDS] = {false};
        seen_tool(&tool, round % 2 == 0 ? IDS : 12); /* with room, and with little of it */
        for (int i = 0; i < 600; i++) {
            uint32_t number = (uint32_t)sim_random_below(&random, IDS);
            struct mu_notice_id id = id_number(number);
            if (mu_seen_has(&tool.seen, &id) || !mu_seen_fits(&tool.seen, &id))
                continue;
            mu_seen_add(&tool.seen, &id);
            known[number] = true;
            check_seen(&tool.seen, known);
        }
    }
}

static void draw_order(struct sim_random *random, uint32_t order[IDS])
{
    for (uint32_t i = 0; i < IDS; i++) {
        uint32_t at = (uint32_t)sim_random_below(random, i + 1);
        order[i] = order[at];
        order[at] = i;
    }
}

static void one_content_has_one_layout(void **state)
{
    (void)state;
    struct sim_random random;
    sim_random_init(&random, 7);
    for (int round = 0; round < 50; round++) {
        struct seen_tool one, other;
        uint32_t order[IDS];
        bool in[IDS];
        seen_tool(&one, IDS);
        seen_tool(&other, IDS);
        for (uint32_t i = 0; i < IDS; i++)
            in[i] = sim_random_chance(&random, 70);
        for (int tool = 0; tool < 2; tool++) {
            draw_order(&random, order);
            for (uint32_t i = 0; i < IDS; i++) {
                struct mu_notice_id id = id_number(order[i]);
                if (in[order[i]])
                    mu_seen_add(tool == 0 ? &one.seen : &other.seen, &id);
            }
        }
        assert_int_equal(one.seen.count, other.seen.count);
        assert_memory_equal(one.ranges, other.ranges, sizeof one.ranges);
    }
}

static void a_million_payloads_of_one_origin_take_one_range(void **state)
{
    (void)state;
    struct seen_tool tool;
    seen_tool(&tool, 1);
    for (uint64_t i = 1; i <= 1000 * 1000; i++) {
        struct mu_notice_id id = mu_notice_payload(4, 1, i);
        assert_true(mu_seen_fits(&tool.seen, &id));
        mu_seen_add(&tool.seen, &id);
    }
    struct mu_notice_id first = mu_notice_payload(4, 1, 1), zero = mu_notice_payload(4, 1, 0);
    struct mu_notice_id other = mu_notice_payload(4, 2, 2), later = mu_notice_payload(4, 2, 1);
    assert_int_equal(tool.seen.count, 1);
    assert_true(mu_seen_has(&tool.seen, &first));
    assert_false(mu_seen_has(&tool.seen, &zero));
    assert_false(mu_seen_has(&tool.seen, &other));
    assert_false(mu_seen_fits(&tool.seen, &later));
}

static void a_stream_is_forgotten_whole_and_alone(void **state)
{
    (void)state;
    struct sim_random random;
    sim_random_init(&random, 8);
    for (int round = 0; round < 30; round++) {
        struct seen_tool tool;
        bool known[IDS] = {false};
        seen_tool(&tool, IDS);
        for (uint32_t i = 0; i < IDS; i++) {
            struct mu_notice_id id = id_number(i);
            known[i] = sim_random_chance(&random, 60);
            if (known[i])
                mu_seen_add(&tool.seen, &id);
        }
        uint32_t over = (uint32_t)sim_random_below(&random, IDS);
        mu_seen_forget(&tool.seen, id_number(over).kind, id_number(over).stream);
        for (uint32_t i = 0; i < IDS; i++)
            known[i] = known[i] && !same_stream(i, over);
        check_seen(&tool.seen, known);
        mu_seen_forget(&tool.seen, id_number(over).kind, 4711); /* one that never was */
        check_seen(&tool.seen, known);
    }
}

static void the_ends_of_the_number_line_do_not_touch(void **state)
{
    (void)state;
    struct seen_tool tool;
    seen_tool(&tool, 4);
    struct mu_notice_id zero = mu_notice_payload(1, 1, 0);
    struct mu_notice_id last = mu_notice_payload(1, 1, UINT64_MAX);
    mu_seen_add(&tool.seen, &last);
    mu_seen_add(&tool.seen, &zero);
    assert_int_equal(tool.seen.count, 2);
    struct mu_notice_id one = mu_notice_payload(1, 1, 1);
    assert_false(mu_seen_has(&tool.seen, &one));
}

/* ---- fingerprint ---- */

static struct mu_fingerprint print_of(const uint64_t *values, size_t count)
{
    struct mu_fingerprint print;
    mu_fingerprint_init(&print);
    for (size_t i = 0; i < count; i++)
        mu_fingerprint_add(&print, values[i]);
    return print;
}

static bool is_same(struct mu_fingerprint a, struct mu_fingerprint b)
{
    return a.a == b.a && a.b == b.b;
}

static void a_fingerprint_depends_on_values_their_order_and_their_number(void **state)
{
    (void)state;
    const uint64_t ab[] = {1, 2}, ba[] = {2, 1}, ac[] = {1, 3}, a_ends_in_zero[] = {1, 2, 0};
    assert_true(is_same(print_of(ab, 2), print_of(ab, 2)));
    assert_false(is_same(print_of(ab, 2), print_of(ba, 2)));
    assert_false(is_same(print_of(ab, 2), print_of(ac, 2)));
    assert_false(is_same(print_of(ab, 2), print_of(ab, 1)));
    assert_false(is_same(print_of(a_ends_in_zero, 3), print_of(ab, 2)));
}

static struct mu_fingerprint sum_of(const uint64_t *values, size_t count)
{
    struct mu_fingerprint sum = {0, 0};
    for (size_t i = 0; i < count; i++) {
        struct mu_fingerprint member = print_of(&values[i], 1);
        mu_fingerprint_add_member(&sum, &member);
    }
    return sum;
}

static void members_of_a_set_have_no_order_but_each_counts(void **state)
{
    (void)state;
    const uint64_t abc[] = {1, 2, 3}, cab[] = {3, 1, 2}, abb[] = {1, 2, 2}, abd[] = {1, 2, 4};
    assert_true(is_same(sum_of(abc, 3), sum_of(cab, 3)));
    assert_false(is_same(sum_of(abc, 3), sum_of(abd, 3)));
    assert_false(is_same(sum_of(abc, 3), sum_of(abc, 2)));
    /* Two of the same do not cancel out, in either half. */
    assert_true(sum_of(abb, 3).a != sum_of(abb, 1).a && sum_of(abb, 3).a != sum_of(abb, 2).a);
    assert_true(sum_of(abb, 3).b != sum_of(abb, 1).b && sum_of(abb, 3).b != sum_of(abb, 2).b);
}

static int compare_u64(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void either_half_alone_tells_many_values_apart(void **state)
{
    (void)state;
    enum { MANY = 100 * 1000 };
    uint64_t *a = malloc(MANY * sizeof *a), *b = malloc(MANY * sizeof *b);
    for (uint64_t i = 0; i < MANY; i++) {
        struct mu_fingerprint print = print_of(&i, 1);
        a[i] = print.a;
        b[i] = print.b;
    }
    qsort(a, MANY, sizeof *a, compare_u64);
    qsort(b, MANY, sizeof *b, compare_u64);
    for (size_t i = 1; i < MANY; i++)
        assert_true(a[i] != a[i - 1] && b[i] != b[i - 1]);
    free(a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measuring_an_arena_says_what_using_it_takes),
        cmocka_unit_test(arrays_of_an_arena_are_aligned_and_zeroed_and_do_not_overlap),
        cmocka_unit_test(a_node_needs_as_many_bytes_as_it_says_for_every_size),
        cmocka_unit_test(a_death_covers_lower_incarnations_and_never_higher_ones),
        cmocka_unit_test(who_comes_back_is_in_as_another_one),
        cmocka_unit_test(a_join_proves_the_death_of_all_before_it),
        cmocka_unit_test(the_circle_grows_as_far_as_the_highest_slot_that_is_known),
        cmocka_unit_test(a_slot_with_an_entry_always_fits_and_no_other_one_does_when_full),
        cmocka_unit_test(the_dead_stay_sorted_in_whatever_order_they_come),
        cmocka_unit_test(the_next_live_slot_is_found_around_the_circle_both_ways),
        cmocka_unit_test(a_dead_stretch_across_slot_zero_is_stepped_over),
        cmocka_unit_test(ranges_merge_in_whatever_order_they_come),
        cmocka_unit_test(one_content_has_one_layout),
        cmocka_unit_test(a_million_payloads_of_one_origin_take_one_range),
        cmocka_unit_test(a_stream_is_forgotten_whole_and_alone),
        cmocka_unit_test(the_ends_of_the_number_line_do_not_touch),
        cmocka_unit_test(a_fingerprint_depends_on_values_their_order_and_their_number),
        cmocka_unit_test(members_of_a_set_have_no_order_but_each_counts),
        cmocka_unit_test(either_half_alone_tells_many_values_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
