/* Who takes part: slots in increasing order, as runs of neighbouring ones, so that all of a machine
 * is one run.  A member's place in that order is its position: 0 .. total-1. */
#ifndef MU_CORE_BASE_MEMBERS_H
#define MU_CORE_BASE_MEMBERS_H

#include "core/base/arena.h"
#include "core/base/types.h"

/* So many slots from 'first' on. */
struct mu_span {
    mu_slot first;
    uint32_t count;
};

struct mu_run {
    mu_slot first;
    uint32_t position; /* of the first one */
};

struct mu_members {
    struct mu_run *runs; /* in order, with gaps between them */
    uint32_t count;      /* of runs */
    uint32_t capacity;
    uint32_t total; /* of members */
};

void mu_members_init(struct mu_members *members, struct mu_arena *arena, uint32_t capacity);

/* NULL, or the rule that the spans break on a machine of this size: not empty, in order, none next
 * to another (one group has one description), no more than the capacity. */
const char *mu_members_error(const struct mu_members *members, uint32_t size,
                             const struct mu_span *spans, uint32_t count);

/* Takes spans that have passed mu_members_error(). */
void mu_members_set(struct mu_members *members, const struct mu_span *spans, uint32_t count);

/* The position of a slot, or UINT32_MAX when it is no member. */
uint32_t mu_members_position(const struct mu_members *members, mu_slot slot);

/* The slot at a position below 'total'. */
mu_slot mu_members_slot(const struct mu_members *members, uint32_t position);

/* Takes a member out.  False when that splits a run and there is no room for one more; then nothing
 * has changed. */
bool mu_members_remove(struct mu_members *members, mu_slot slot);

/* Takes one in that is no member.  False when that needs a run and there is no room for it. */
bool mu_members_add(struct mu_members *members, mu_slot slot);

/* The same members, in memory of its own with at least the same capacity. */
void mu_members_copy(struct mu_members *members, const struct mu_members *from);

#endif
