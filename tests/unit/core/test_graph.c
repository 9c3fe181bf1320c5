/* The geometry, exhaustively for every size up to some hundreds. */
#include "core/base/roster.h"
#include "core/base/graph.h"
#include "sim/base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

enum {
    EVERY_SIZE = 512,  /* from slot 0: the circle looks the same from everywhere */
    EVERY_ROOT = 64,   /* from every slot, which is what shows that */
    FEW_SIZES = 20000, /* drawn between EVERY_SIZE and the largest */
};

/* Smallest b with 2^b >= size, by counting. */
static uint32_t bits_of(uint32_t size)
{
    uint32_t bits = 0;
    while ((1ull << bits) < size)
        bits++;
    return bits;
}

static mu_slot onward(uint32_t size, mu_slot slot, uint32_t by)
{
    return (mu_slot)(((uint64_t)slot + by) % size);
}

/* ---- edges ---- */

static void there_are_two_edges_for_each_bit_of_the_size(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= 4096; size++) {
        assert_int_equal(mu_graph_bits(size), bits_of(size));
        assert_int_equal(mu_graph_edges(size), 2 * bits_of(size));
    }
    assert_int_equal(mu_graph_bits(MU_SIZE_MAX - 1), 24);
    assert_int_equal(mu_graph_bits(MU_SIZE_MAX), 24);
    assert_int_equal(mu_graph_edges(MU_SIZE_MAX), MU_GRAPH_EDGES_MAX);
}

/* All that can be said of the edges of one slot. */
static void check_edges_from(uint32_t size, mu_slot from)
{
    uint32_t edges = mu_graph_edges(size);
    uint32_t *lowest = malloc(size * sizeof *lowest);
    uint32_t degree = 0;
    for (mu_slot to = 0; to < size; to++)
        lowest[to] = edges;
    for (uint32_t e = 0; e < edges; e++) {
        mu_slot to = mu_graph_target(size, from, e);
        uint32_t step = 1u << (e / 2);
        assert_true(to < size && to != from);
        assert_int_equal(to, onward(size, from, e % 2 == 0 ? step : size - step));
        if (lowest[to] == edges) {
            lowest[to] = e;
            degree++;
        }
        /* There and back again, by the edge of the other direction. */
        assert_int_equal(mu_graph_target(size, to, e ^ 1), from);
        assert_true(mu_graph_edge_to(size, to, from) < edges);
    }
    assert_true(degree <= 2 * bits_of(size));
    for (mu_slot to = 0; to < size; to++)
        assert_int_equal(mu_graph_edge_to(size, from, to), lowest[to]);
    free(lowest);
}

static void edge_to_is_the_lowest_edge_that_leads_there_and_every_edge_leads_back(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= EVERY_SIZE; size++) {
        mu_slot last = size <= EVERY_ROOT ? size - 1 : 0;
        for (mu_slot from = 0; from <= last; from++)
            check_edges_from(size, from);
        check_edges_from(size, size - 1);
    }
}

/* ---- the tree ---- */

/* Nonzero digits of the non-adjacent form, by its textbook definition. */
static uint32_t weight(uint32_t x)
{
    uint32_t count = 0;
    for (uint64_t left = x; left != 0; left /= 2)
        if (left % 2 == 1) {
            count++;
            left = left % 4 == 1 ? left - 1 : left + 1;
        }
    return count;
}

static uint32_t shortest(uint32_t size, mu_slot root, mu_slot slot)
{
    uint32_t ahead = (slot + size - root) % size;
    return ahead < size - ahead ? ahead : size - ahead;
}

/* The exact height: a distance is at most size / 2 <= 2^(b-1); 2^(b-1) itself is one digit, and a
 * smaller one has b-1 bits, so at most b places in the non-adjacent form and every other one of
 * them in use: (b + 1) / 2, rounded down. */
static uint32_t height_max(uint32_t size)
{
    return (bits_of(size) + 1) / 2;
}

static void check_walk_to_root(uint32_t size, mu_slot root, mu_slot slot)
{
    uint32_t depth = mu_graph_depth(size, root, slot);
    assert_int_equal(depth, weight(shortest(size, root, slot)));
    assert_true(depth <= height_max(size));
    if (size >= 2)
        assert_true(depth <= bits_of(size));
    mu_slot at = slot;
    for (uint32_t step = 0; step < depth; step++) {
        mu_slot parent = mu_graph_parent(size, root, at);
        assert_true(parent < size);
        assert_true(mu_graph_edge_to(size, at, parent) < mu_graph_edges(size));
        assert_int_equal(mu_graph_depth(size, root, parent), depth - step - 1);
        at = parent;
    }
    assert_int_equal(at, root);
    assert_int_equal(mu_graph_parent(size, root, at), MU_SLOT_NONE);
}

static void every_slot_reaches_the_root_over_neighbours_in_depth_steps(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= EVERY_SIZE; size++)
        for (mu_slot slot = 0; slot < size; slot++)
            check_walk_to_root(size, 0, slot);
    for (uint32_t size = 1; size <= EVERY_ROOT; size++)
        for (mu_slot root = 0; root < size; root++)
            for (mu_slot slot = 0; slot < size; slot++)
                check_walk_to_root(size, root, slot);
}

static void the_tree_looks_the_same_from_every_root(void **state)
{
    (void)state;
    for (uint32_t size = 2; size <= EVERY_ROOT; size++)
        for (mu_slot root = 0; root < size; root++)
            for (mu_slot slot = 1; slot < size; slot++)
                assert_int_equal(mu_graph_parent(size, root, onward(size, root, slot)),
                                 onward(size, root, mu_graph_parent(size, 0, slot)));
}

static void large_machines_have_the_same_tree(void **state)
{
    (void)state;
    struct sim_random random;
    sim_random_init(&random, 1);
    for (int i = 0; i < FEW_SIZES; i++) {
        uint32_t size = (uint32_t)sim_random_between(&random, EVERY_SIZE, MU_SIZE_MAX);
        mu_slot root = (mu_slot)sim_random_below(&random, size);
        check_walk_to_root(size, root, (mu_slot)sim_random_below(&random, size));
        check_walk_to_root(size, root, onward(size, root, size / 2));
        check_walk_to_root(size, root, onward(size, root, size / 2 + 1));
        check_walk_to_root(MU_SIZE_MAX, root, (mu_slot)sim_random_below(&random, MU_SIZE_MAX));
    }
}

static uint32_t height_of(uint32_t size)
{
    uint32_t height = 0;
    for (mu_slot slot = 0; slot < size; slot++)
        if (mu_graph_depth(size, 0, slot) > height)
            height = mu_graph_depth(size, 0, slot);
    return height;
}

static void the_bound_on_its_height_is_attained_at_every_power_of_two(void **state)
{
    (void)state;
    for (uint32_t bits = 1; bits <= 16; bits++)
        assert_int_equal(height_of(1u << bits), height_max(1u << bits));
}

/* Nobody has more children than neighbours; all but the root also have a parent among them. */
static void children_are_neighbours_and_all_but_the_root_are_somebodys(void **state)
{
    (void)state;
    uint32_t children[EVERY_SIZE];
    for (uint32_t size = 1; size <= EVERY_SIZE; size++) {
        uint32_t all = 0, of_root = 0;
        memset(children, 0, sizeof children);
        for (mu_slot slot = 1; slot < size; slot++) {
            children[mu_graph_parent(size, 0, slot)]++;
            of_root += weight(shortest(size, 0, slot)) == 1;
        }
        for (mu_slot slot = 0; slot < size; slot++) {
            uint32_t among_neighbours = 0;
            for (uint32_t e = 0; e < mu_graph_edges(size); e++) {
                mu_slot to = mu_graph_target(size, slot, e);
                among_neighbours +=
                    mu_graph_edge_to(size, slot, to) == e && mu_graph_parent(size, 0, to) == slot;
            }
            assert_int_equal(children[slot], among_neighbours);
            assert_true(children[slot] + (slot == 0 ? 0 : 1) <= mu_graph_edges(size));
            all += children[slot];
        }
        assert_int_equal(all, size - 1);
        assert_int_equal(children[0], of_root);
    }
}

/* ---- among survivors ---- */

struct survivors {
    struct mu_roster dead;
    struct mu_roster_entry entries[EVERY_ROOT];
};

static void all_live(struct survivors *s, uint32_t size)
{
    s->dead = (struct mu_roster){
        .entries = s->entries, .capacity = EVERY_ROOT, .founders = size, .size = size};
}

static void kill(struct survivors *s, mu_slot slot)
{
    mu_roster_out(&s->dead, slot % s->dead.size, 1);
}

/* The longest step onward that does not pass the goal.  Whoever took the place of a dead slot is at
 * or before the goal, so the highest bit of what is left goes with every hop. */
static uint32_t hops_between(const struct survivors *s, mu_slot from, mu_slot to)
{
    uint32_t size = s->dead.size, hops = 0;
    while (from != to) {
        uint32_t left = (to + size - from) % size;
        uint32_t edge = 2 * (31 - (uint32_t)__builtin_clz(left));
        from = mu_roster_next_live(&s->dead, mu_graph_target(size, from, edge), false, from);
        assert_true(from != MU_SLOT_NONE);
        assert_true((to + size - from) % size < left);
        hops++;
    }
    return hops;
}

static void check_all_pairs(const struct survivors *s)
{
    uint32_t size = s->dead.size;
    for (mu_slot from = 0; from < size; from++)
        for (mu_slot to = 0; to < size; to++)
            if (!mu_roster_is_vacant(&s->dead, from) && !mu_roster_is_vacant(&s->dead, to))
                assert_true(hops_between(s, from, to) <= bits_of(size));
}

static void survivors_are_log2_hops_apart_whoever_died(void **state)
{
    (void)state;
    struct survivors s;
    struct sim_random random;
    sim_random_init(&random, 2);
    for (uint32_t size = 2; size <= EVERY_ROOT; size++) {
        for (int draw = 0; draw < 40; draw++) {
            uint64_t dead = sim_random_below(&random, size);
            all_live(&s, size);
            for (uint64_t i = 0; i < dead; i++)
                kill(&s, (mu_slot)sim_random_below(&random, size));
            check_all_pairs(&s);
        }
    }
}

static void survivors_are_log2_hops_apart_when_the_worst_ones_died(void **state)
{
    (void)state;
    struct survivors s;
    for (uint32_t size = 2; size <= EVERY_ROOT; size++) {
        for (uint32_t length = 0; length < size; length++) { /* a contiguous part */
            all_live(&s, size);
            for (uint32_t i = 0; i < length; i++)
                kill(&s, 1 + i);
            check_all_pairs(&s);
        }
        all_live(&s, size); /* all neighbours of one */
        for (uint32_t e = 0; e < mu_graph_edges(size); e++)
            kill(&s, mu_graph_target(size, 0, e));
        check_all_pairs(&s);
        all_live(&s, size); /* every other one */
        for (mu_slot slot = 1; slot < size; slot += 2)
            kill(&s, slot);
        check_all_pairs(&s);
        all_live(&s, size); /* all but the powers of two */
        for (mu_slot slot = 1; slot < size; slot++)
            if ((slot & (slot - 1)) != 0)
                kill(&s, slot);
        check_all_pairs(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_are_two_edges_for_each_bit_of_the_size),
        cmocka_unit_test(edge_to_is_the_lowest_edge_that_leads_there_and_every_edge_leads_back),
        cmocka_unit_test(every_slot_reaches_the_root_over_neighbours_in_depth_steps),
        cmocka_unit_test(the_tree_looks_the_same_from_every_root),
        cmocka_unit_test(large_machines_have_the_same_tree),
        cmocka_unit_test(the_bound_on_its_height_is_attained_at_every_power_of_two),
        cmocka_unit_test(children_are_neighbours_and_all_but_the_root_are_somebodys),
        cmocka_unit_test(survivors_are_log2_hops_apart_whoever_died),
        cmocka_unit_test(survivors_are_log2_hops_apart_when_the_worst_ones_died),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
