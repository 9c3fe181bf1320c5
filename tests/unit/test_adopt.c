/* Who tells an orphan, in drawn machines: always somebody, and never a crowd. */
#include "core/adopt.h"
#include "sim/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

enum { SIZE_MAX_DRAWN = 200, WORLDS = 20000 };

struct world {
    struct mu_dead dead;
    struct mu_dead_entry entries[SIZE_MAX_DRAWN];
    uint32_t size;
    mu_slot root, orphan;
};

/* Some are dead, and not the orphan. */
static void draw(struct world *world, struct sim_random *random)
{
    world->size = 2 + (uint32_t)sim_random_below(random, SIZE_MAX_DRAWN - 1);
    world->root = (mu_slot)sim_random_below(random, world->size);
    world->orphan = (mu_slot)sim_random_below(random, world->size);
    world->dead =
        (struct mu_dead){.entries = world->entries, .capacity = world->size, .size = world->size};
    uint64_t percent = sim_random_below(random, 100);
    for (mu_slot slot = 0; slot < world->size; slot++)
        if (slot != world->orphan && sim_random_below(random, 100) < percent)
            mu_dead_add(&world->dead, slot, 1);
}

static bool is_neighbour(const struct world *world, mu_slot slot)
{
    return mu_graph_edge_to(world->size, world->orphan, slot) < mu_graph_edges(world->size);
}

/* Does an edge of 'slot' lead to the orphan, the dead being stepped over? */
static bool leads_there(const struct world *world, mu_slot slot)
{
    for (uint32_t e = 0; e < mu_graph_edges(world->size); e++) {
        mu_slot target = mu_graph_target(world->size, slot, e);
        if (mu_dead_next_live(&world->dead, target, e % 2 == 1, slot) == world->orphan)
            return true;
    }
    return false;
}

/* All who could tell it adopt it; or, with enough neighbours of its own, the three nearest to the
 * root. */
static void check(const struct world *world)
{
    uint32_t able = 0, neighbours = 0, adopters = 0, deepest = 0, left_out = UINT32_MAX;
    for (mu_slot slot = 0; slot < world->size; slot++) {
        if (slot == world->orphan || mu_dead_is_out(&world->dead, slot) ||
            !leads_there(world, slot))
            continue;
        bool adopts = mu_adopts(&world->dead, world->root, slot, world->orphan);
        uint32_t depth = mu_graph_depth(world->size, world->root, slot);
        able++;
        neighbours += is_neighbour(world, slot);
        adopters += adopts;
        if (adopts && depth > deepest)
            deepest = depth;
        if (!adopts && is_neighbour(world, slot) && depth < left_out)
            left_out = depth;
    }
    if (neighbours < MU_ADOPTERS) {
        assert_int_equal(adopters, able);
    } else {
        assert_int_equal(adopters, MU_ADOPTERS);
        assert_true(deepest <= left_out);
    }
}

static void three_neighbours_tell_an_orphan_or_all_who_can(void **state)
{
    (void)state;
    struct sim_random random;
    static struct world world;
    sim_random_init(&random, 1);
    for (int i = 0; i < WORLDS; i++) {
        draw(&world, &random);
        check(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_neighbours_tell_an_orphan_or_all_who_can),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
