/* Who is recommended: the members, and who comes back or leaves.
 *
 * Everybody is a member, in even stint 0, unless there is an entry that says otherwise, so a group
 * takes room for those that ever left or failed, and not for all.  It changes by decisions only,
 * which are the same at all: there is nothing to merge. */
#ifndef MU_CORE_ADVISE_GROUP_H
#define MU_CORE_ADVISE_GROUP_H

#include "core/base/arena.h"
#include "core/base/types.h"

enum { MU_ADVISE_COUNT_MAX = (1 << 29) - 1 };

/* One that has ever left, or failed. */
struct mu_advise_entry {
    mu_slot slot;
    uint32_t count : 29; /* of events: even in, odd out; it numbers the stints */
    uint32_t gone : 1;   /* failed, as all have decided */
    uint32_t comes : 1;  /* voted in: takes part in one boundary before it works */
    uint32_t leaves : 1; /* worked in the last round: takes part in one boundary more */
};

struct mu_advise_group {
    uint32_t size;                   /* of all, in or out */
    uint32_t era;                    /* a new one when all members had failed */
    uint64_t round;                  /* of the era, from 1 on: that in which its members work */
    struct mu_advise_entry *entries; /* by slot, none twice */
    uint32_t count, capacity;
    uint32_t members; /* that work in this round */
};

/* What names a group: those that decided the same have the same. */
struct mu_advise_key {
    uint32_t era;
    uint64_t round;
    uint64_t hash; /* of all entries */
};

void mu_advise_group_init(struct mu_advise_group *group, struct mu_arena *arena, uint32_t capacity);

/* All are members in round 1 of an era. */
void mu_advise_group_all(struct mu_advise_group *group, uint32_t size, uint32_t era);

/* 'to' has at least the capacity that 'from' needs: else false, and 'to' has as many as fit. */
bool mu_advise_group_copy(struct mu_advise_group *to, const struct mu_advise_group *from);

struct mu_advise_key mu_advise_group_key(const struct mu_advise_group *group);
bool mu_advise_key_same(const struct mu_advise_key *a, const struct mu_advise_key *b);

/* Its place in the list, or that where it would be. */
uint32_t mu_advise_group_find(const struct mu_advise_group *group, mu_slot slot);

/* What is known of one; zeroed but for the slot when there is no entry. */
struct mu_advise_entry mu_advise_group_get(const struct mu_advise_group *group, mu_slot slot);

/* Notes it.  An entry that says nothing takes no place.  False: no room, and nothing changed. */
bool mu_advise_group_put(struct mu_advise_group *group, struct mu_advise_entry entry);

bool mu_advise_is_member(const struct mu_advise_group *group, mu_slot slot);

/* Member, or one that comes or leaves: who takes part in the boundary. */
bool mu_advise_is_part(const struct mu_advise_group *group, mu_slot slot);

/* Is any of 'length' slots from 'first' on a member? */
bool mu_advise_any_member(const struct mu_advise_group *group, mu_slot first, uint32_t length);

static inline bool mu_advise_entry_works(struct mu_advise_entry entry)
{
    return entry.count % 2 == 0 && !entry.gone && !entry.comes;
}

#endif
