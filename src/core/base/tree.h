/* The tree of a group, and how it mends: pure geometry, shared by agreements and views.
 *
 * Members stand in it by position (core/base/members.h).  With a fan-out of a = 2^shift the parent
 * of position p > 0 is (p - 1) / a, its children are a p + 1 .. a p + a: what is known as a radix
 * or a-ary tree, built without messages.  Fan-out 2 is the binary tree, 1 the string, and one as
 * large as the group the star; both are for tests.
 *
 * The dead are stepped over.  The parent of a member is its nearest ancestor that is not dead; if
 * all are, the first member that is not dead and stands before it; if there is none, it is the
 * root. Children are the living members whose parent it is.  Everything costs O(log N + deaths). */
#ifndef MU_CORE_BASE_TREE_H
#define MU_CORE_BASE_TREE_H

#include "core/base/roster.h"
#include "core/base/members.h"

enum { MU_TREE_SHIFT_MAX = 24 };

struct mu_tree {
    const struct mu_members *members;
    const struct mu_roster *dead;
    uint8_t shift; /* the fan-out is 2^shift */
};

/* Levels below the root when nobody is dead. */
uint32_t mu_tree_height(uint32_t total, uint8_t shift);

/* The parent of a member, dead or alive; MU_SLOT_NONE: it is the root. */
mu_slot mu_tree_parent(const struct mu_tree *tree, mu_slot slot);

/* A walk through the children of one member.  The tree does not change meanwhile. */
struct mu_tree_walk {
    uint32_t of;   /* position of the parent */
    uint32_t top;  /* of the part that is walked through now */
    uint32_t at;   /* position looked at last */
    bool adopting; /* it is the root, and in the part of those whose ancestors are all dead */
};

/* The first child and the next ones; MU_SLOT_NONE: no more. */
mu_slot mu_tree_first_child(const struct mu_tree *tree, mu_slot slot, struct mu_tree_walk *walk);
mu_slot mu_tree_next_child(const struct mu_tree *tree, struct mu_tree_walk *walk);

#endif
