/* The roster: who is in and who is out, the only owner of that for the protocols of a node.
 *
 * A member is an id and an incarnation: a death of (slot, i) covers every incarnation up to i and
 * none above, and a member that comes back has a higher one.  The founders, slots below 'founders',
 * are in with incarnation 1.  What differs from that is an entry: those who died, who came back,
 * and who joined on a slot of their own.  So it grows with failures and joins, and not with size.
 *
 * The circle of graph and tree is as large as the highest slot of which anything is known demands:
 * two rosters that know the same have the same circle, whatever they heard first. */
#ifndef MU_CORE_BASE_ROSTER_H
#define MU_CORE_BASE_ROSTER_H

#include "core/base/arena.h"
#include "core/base/types.h"

/* Of the founders. */
enum { MU_INCARNATION_FOUNDER = 1 };

struct mu_roster_entry {
    mu_slot slot;
    uint32_t incarnation; /* the highest that is known: it is in, or it is out */
    bool proven;          /* of one that is out: one who saw it had proof, not only silence */
    bool in;
};

struct mu_roster {
    struct mu_roster_entry *entries; /* sorted by slot */
    uint32_t count;
    uint32_t capacity;
    uint32_t founders; /* slots below are in from the start */
    uint32_t size;     /* of the circle: founders, and as far as anybody is known to have been */
};

void mu_roster_init(struct mu_roster *roster, struct mu_arena *arena, uint32_t founders,
                    uint32_t capacity);

/* ---- of one incarnation ---- */

/* Is it a member now? */
bool mu_roster_is_in(const struct mu_roster *roster, mu_slot slot, uint32_t incarnation);

/* Is it known to be dead? */
bool mu_roster_is_out(const struct mu_roster *roster, mu_slot slot, uint32_t incarnation);

/* Is there proof of its death?  None is needed below the incarnation that is known last. */
bool mu_roster_is_proven(const struct mu_roster *roster, mu_slot slot, uint32_t incarnation);

/* ---- of a place ---- */

/* The incarnation that is in; 0: nobody is. */
uint32_t mu_roster_incarnation(const struct mu_roster *roster, mu_slot slot);

/* Is nobody in?  Then its place in graph, ring and tree is taken by others. */
bool mu_roster_is_vacant(const struct mu_roster *roster, mu_slot slot);

/* The first slot from 'slot' (itself included) onward or back around the circle that is not vacant,
 * 'except' counting as vacant; MU_SLOT_NONE when there is none. */
mu_slot mu_roster_next_live(const struct mu_roster *roster, mu_slot slot, bool back,
                            mu_slot except);

/* ---- changes ---- */

/* Room to change this slot?  One that has an entry always fits. */
bool mu_roster_fits(const struct mu_roster *roster, mu_slot slot);

/* This incarnation is dead; 0: the one that is in, whichever that is.  Returns false when that was
 * known already.  The caller has asked mu_roster_fits(). */
bool mu_roster_out(struct mu_roster *roster, mu_slot slot, uint32_t incarnation);

/* There is proof of a death that is known.  Returns false when that was known, too. */
bool mu_roster_prove(struct mu_roster *roster, mu_slot slot, uint32_t incarnation);

/* This incarnation is a member, and every lower one is dead.  Returns false when it is in already,
 * or it or a higher one is known to be dead.  The caller has asked mu_roster_fits(). */
bool mu_roster_join(struct mu_roster *roster, mu_slot slot, uint32_t incarnation);

#endif
