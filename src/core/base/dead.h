/* The dead nodes: a sparse map from slot to the highest incarnation known to be dead.  A death of
 * (slot, i) covers every incarnation up to i and none above.  Grows with failures, not with size.
 */
#ifndef MU_CORE_BASE_DEAD_H
#define MU_CORE_BASE_DEAD_H

#include "core/base/arena.h"
#include "core/base/types.h"

struct mu_dead_entry {
    mu_slot slot;
    uint32_t incarnation;
    bool proven; /* one who saw it had proof: not only silence */
};

struct mu_dead {
    struct mu_dead_entry *entries; /* sorted by slot */
    uint32_t count;
    uint32_t capacity;
    uint32_t size; /* of the machine */
};

void mu_dead_init(struct mu_dead *dead, struct mu_arena *arena, uint32_t size, uint32_t capacity);

/* Is this incarnation known to be dead? */
bool mu_dead_has(const struct mu_dead *dead, mu_slot slot, uint32_t incarnation);

/* Is the slot out, whatever the incarnation?  Its place in graph and ring is taken by others. */
bool mu_dead_is_out(const struct mu_dead *dead, mu_slot slot);

/* Room for one more slot?  A death of a slot that is in already always fits. */
bool mu_dead_fits(const struct mu_dead *dead, mu_slot slot);

/* Returns false when this death was known already.  The caller has asked mu_dead_fits(). */
bool mu_dead_add(struct mu_dead *dead, mu_slot slot, uint32_t incarnation);

/* Is there proof of this death?  None is needed below the incarnation that died last. */
bool mu_dead_is_proven(const struct mu_dead *dead, mu_slot slot, uint32_t incarnation);

/* There is proof of a death that is in already.  Returns false when that was known. */
bool mu_dead_prove(struct mu_dead *dead, mu_slot slot, uint32_t incarnation);

/* The first live slot from 'slot' (itself included) onward or back around the circle, 'except'
 * counting as dead; MU_SLOT_NONE when nobody else lives. */
mu_slot mu_dead_next_live(const struct mu_dead *dead, mu_slot slot, bool back, mu_slot except);

#endif
