#include "core/base/tree.h"

#include <assert.h>

uint32_t mu_tree_height(uint32_t total, uint8_t shift)
{
    uint32_t height = 0;
    for (uint32_t position = total - 1; position > 0; position = (position - 1) >> shift)
        height++;
    return height;
}

static bool is_dead(const struct mu_tree *tree, uint32_t position)
{
    return tree->dead->count > 0 &&
           mu_roster_is_vacant(tree->dead, mu_members_slot(tree->members, position));
}

static uint32_t position_of(const struct mu_tree *tree, mu_slot slot)
{
    uint32_t position = mu_members_position(tree->members, slot);
    assert(position != UINT32_MAX);
    return position;
}

/* The first member that is not dead and stands before 'position'; else 'position'. */
static uint32_t first_living(const struct mu_tree *tree, uint32_t position)
{
    uint32_t first = 0;
    while (first < position && is_dead(tree, first))
        first++;
    return first;
}

mu_slot mu_tree_parent(const struct mu_tree *tree, mu_slot slot)
{
    uint32_t position = position_of(tree, slot);
    for (uint32_t up = position; up > 0;) {
        up = (up - 1) >> tree->shift;
        if (!is_dead(tree, up))
            return mu_members_slot(tree->members, up);
    }
    uint32_t first = first_living(tree, position);
    return first == position ? MU_SLOT_NONE : mu_members_slot(tree->members, first);
}

/* The next position of the part below walk->top, children before siblings; UINT32_MAX: none. */
static uint32_t advance(const struct mu_tree *tree, const struct mu_tree_walk *walk, bool descend)
{
    uint32_t total = tree->members->total, at = walk->at;
    uint64_t child = ((uint64_t)at << tree->shift) + 1;
    if (descend && child < total)
        return (uint32_t)child;
    while (at != walk->top) {
        uint32_t parent = (at - 1) >> tree->shift;
        uint64_t last = (uint64_t)(parent + 1) << tree->shift;
        if (at < last && at + 1 < total)
            return at + 1;
        at = parent;
    }
    return UINT32_MAX;
}

/* Below the root itself its own part comes first; then, from the top of the tree, everybody whose
 * ancestors are all dead. */
static bool adopt(const struct mu_tree *tree, struct mu_tree_walk *walk)
{
    if (walk->adopting || walk->of == 0 || !is_dead(tree, 0) ||
        first_living(tree, walk->of) != walk->of)
        return false;
    walk->adopting = true;
    walk->top = walk->at = 0;
    return true;
}

mu_slot mu_tree_next_child(const struct mu_tree *tree, struct mu_tree_walk *walk)
{
    for (;;) {
        /* Only below the dead, and below the member itself in its own part, is there more. */
        bool is_start = walk->at == walk->top;
        bool own = walk->adopting && walk->at == walk->of;
        uint32_t next = advance(tree, walk, is_start || (!own && is_dead(tree, walk->at)));
        if (next == UINT32_MAX) {
            if (!adopt(tree, walk))
                return MU_SLOT_NONE;
            continue;
        }
        walk->at = next;
        if (!is_dead(tree, next) && next != walk->of)
            return mu_members_slot(tree->members, next);
    }
}

mu_slot mu_tree_first_child(const struct mu_tree *tree, mu_slot slot, struct mu_tree_walk *walk)
{
    uint32_t position = position_of(tree, slot);
    *walk = (struct mu_tree_walk){.of = position, .top = position, .at = position};
    return mu_tree_next_child(tree, walk);
}
