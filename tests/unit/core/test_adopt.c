/* Who tells an orphan: few do, and the news comes to everybody. */
#include "core/spread/adopt.h"
#include "sim/base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

enum {
    SIZE_DRAWN = 200, /* at most */
    WORLDS = 20000,
    EVERY_SET = 11, /* up to this size all sets of the dead are looked at */
};

struct world {
    struct mu_roster dead;
    struct mu_roster_entry entries[SIZE_DRAWN];
    uint32_t size;
    mu_slot root;
    bool all_tell; /* every orphan: what it is compared with */
};

static void begin(struct world *world, uint32_t size, mu_slot root)
{
    world->size = size;
    world->root = root;
    world->dead = (struct mu_roster){
        .entries = world->entries, .capacity = size, .founders = size, .size = size};
}

static bool lives(const struct world *world, mu_slot slot)
{
    return !mu_roster_is_vacant(&world->dead, slot);
}

static bool is_orphan(const struct world *world, mu_slot slot)
{
    mu_slot parent = mu_graph_parent(world->size, world->root, slot);
    return parent != MU_SLOT_NONE && !lives(world, parent);
}

static mu_slot end_of(const struct world *world, mu_slot slot, uint32_t edge)
{
    mu_slot target = mu_graph_target(world->size, slot, edge);
    return mu_roster_next_live(&world->dead, target, edge % 2 == 1, slot);
}

static bool are_neighbours(const struct world *world, mu_slot a, mu_slot b)
{
    return mu_graph_edge_to(world->size, a, b) < mu_graph_edges(world->size);
}

/* ---- few ---- */

static void draw(struct world *world, struct sim_random *random)
{
    uint32_t size = 2 + (uint32_t)sim_random_below(random, SIZE_DRAWN - 1);
    begin(world, size, (mu_slot)sim_random_below(random, size));
    uint64_t percent = sim_random_below(random, 100);
    for (mu_slot slot = 0; slot < size; slot++)
        if (sim_random_below(random, 100) < percent)
            mu_roster_out(&world->dead, slot, 1);
}

static bool leads_to(const struct world *world, mu_slot from, mu_slot to)
{
    for (uint32_t e = 0; e < mu_graph_edges(world->size); e++)
        if (end_of(world, from, e) == to)
            return true;
    return false;
}

/* Apart from orphans and the root. */
static void check_adopters_of(const struct world *world, mu_slot orphan)
{
    uint32_t able = 0, neighbours = 0, adopters = 0, deepest = 0, left_out = UINT32_MAX;
    for (mu_slot slot = 0; slot < world->size; slot++) {
        if (slot == orphan || !lives(world, slot) || !leads_to(world, slot, orphan))
            continue;
        neighbours += are_neighbours(world, orphan, slot);
        bool adopts = mu_adopts(&world->dead, world->root, slot, orphan);
        if (slot == world->root || is_orphan(world, slot)) {
            assert_true(adopts);
            continue;
        }
        uint32_t depth = mu_graph_depth(world->size, world->root, slot);
        able++;
        adopters += adopts;
        if (adopts && depth > deepest)
            deepest = depth;
        if (!adopts && are_neighbours(world, orphan, slot) && depth < left_out)
            left_out = depth;
    }
    assert_true(deepest <= left_out);
    if (neighbours < MU_ADOPTERS)
        assert_int_equal(adopters, able);
    else
        assert_true(adopters <= MU_ADOPTERS);
}

static void three_neighbours_tell_an_orphan_or_all_who_can(void **state)
{
    (void)state;
    struct sim_random random;
    static struct world world;
    sim_random_init(&random, 1);
    for (int i = 0; i < WORLDS; i++) {
        draw(&world, &random);
        mu_slot orphan = (mu_slot)sim_random_below(&random, world.size);
        if (lives(&world, orphan) && is_orphan(&world, orphan))
            check_adopters_of(&world, orphan);
    }
}

/* ---- everybody ---- */

static bool tells(const struct world *world, mu_slot from, mu_slot to)
{
    if (mu_graph_parent(world->size, world->root, to) == from)
        return true;
    return is_orphan(world, to) &&
           (world->all_tell || mu_adopts(&world->dead, world->root, from, to));
}

/* Who hears it without redundant edges, when 'has' have it and all deaths are known to all. */
static uint64_t hear(const struct world *world, uint64_t has)
{
    for (uint64_t before = 0; before != has;) {
        before = has;
        for (mu_slot slot = 0; slot < world->size; slot++)
            for (uint32_t e = 0; (has >> slot & 1) != 0 && e < mu_graph_edges(world->size); e++) {
                mu_slot to = end_of(world, slot, e);
                if (to != MU_SLOT_NONE && tells(world, slot, to))
                    has |= UINT64_C(1) << to;
            }
    }
    return has;
}

static void check_all_hear(struct world *world, uint64_t has)
{
    world->all_tell = true;
    uint64_t all = hear(world, has);
    world->all_tell = false;
    if (hear(world, has) != all)
        fail_msg("size %u, root %u, %u dead: %#llx have it", world->size, world->root,
                 world->dead.count, (unsigned long long)has);
}

/* The root has it; or it is dead, and one of its own children has it from it; or all its neighbours
 * see its death. */
static void check_starts(struct world *world)
{
    uint64_t neighbours = 0;
    if (lives(world, world->root)) {
        check_all_hear(world, UINT64_C(1) << world->root);
        return;
    }
    for (mu_slot slot = 0; slot < world->size; slot++) {
        if (!lives(world, slot))
            continue;
        if (is_orphan(world, slot))
            check_all_hear(world, UINT64_C(1) << slot);
        if (are_neighbours(world, world->root, slot))
            neighbours |= UINT64_C(1) << slot;
    }
    check_all_hear(world, neighbours);
}

static void what_one_orphan_or_the_root_knows_comes_to_all(void **state)
{
    (void)state;
    static struct world world;
    for (uint32_t size = 2; size <= EVERY_SET; size++)
        for (uint32_t set = 0; set < 1u << size; set++) {
            begin(&world, size, 0);
            for (mu_slot slot = 0; slot < size; slot++)
                if ((set >> slot & 1) != 0)
                    mu_roster_out(&world.dead, slot, 1);
            check_starts(&world);
        }
}

static void so_it_does_in_larger_machines(void **state)
{
    (void)state;
    struct sim_random random;
    static struct world world;
    sim_random_init(&random, 2);
    for (int i = 0; i < WORLDS / 40; i++) {
        uint32_t size = EVERY_SET + 1 + (uint32_t)sim_random_below(&random, 64 - EVERY_SET);
        uint64_t percent = sim_random_below(&random, 100);
        begin(&world, size, 0);
        for (mu_slot slot = 0; slot < size; slot++)
            if (sim_random_below(&random, 100) < percent)
                mu_roster_out(&world.dead, slot, 1);
        check_starts(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_neighbours_tell_an_orphan_or_all_who_can),
        cmocka_unit_test(what_one_orphan_or_the_root_knows_comes_to_all),
        cmocka_unit_test(so_it_does_in_larger_machines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
