#include "core/base/dead.h"

#include <assert.h>
#include <string.h>

void mu_dead_init(struct mu_dead *dead, struct mu_arena *arena, uint32_t size, uint32_t capacity)
{
    dead->entries = mu_arena_array(arena, capacity, sizeof *dead->entries);
    dead->count = 0;
    dead->capacity = capacity;
    dead->size = size;
}

/* Index of the first entry whose slot is not below 'slot'. */
static uint32_t place_of(const struct mu_dead *dead, mu_slot slot)
{
    uint32_t low = 0, high = dead->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (dead->entries[middle].slot < slot)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct mu_dead_entry *find(const struct mu_dead *dead, mu_slot slot)
{
    uint32_t at = place_of(dead, slot);
    return at < dead->count && dead->entries[at].slot == slot ? &dead->entries[at] : NULL;
}

bool mu_dead_has(const struct mu_dead *dead, mu_slot slot, uint32_t incarnation)
{
    const struct mu_dead_entry *entry = find(dead, slot);
    return entry != NULL && incarnation <= entry->incarnation;
}

bool mu_dead_is_out(const struct mu_dead *dead, mu_slot slot)
{
    return dead->count > 0 && find(dead, slot) != NULL;
}

bool mu_dead_fits(const struct mu_dead *dead, mu_slot slot)
{
    return dead->count < dead->capacity || find(dead, slot) != NULL;
}

bool mu_dead_add(struct mu_dead *dead, mu_slot slot, uint32_t incarnation)
{
    assert(slot < dead->size);
    uint32_t at = place_of(dead, slot);
    struct mu_dead_entry *entry = &dead->entries[at];
    if (at < dead->count && entry->slot == slot) {
        if (incarnation <= entry->incarnation)
            return false;
        entry->incarnation = incarnation;
        entry->proven = false;
        return true;
    }
    assert(dead->count < dead->capacity);
    memmove(entry + 1, entry, (dead->count - at) * sizeof *entry);
    *entry = (struct mu_dead_entry){.slot = slot, .incarnation = incarnation};
    dead->count++;
    return true;
}

bool mu_dead_is_proven(const struct mu_dead *dead, mu_slot slot, uint32_t incarnation)
{
    const struct mu_dead_entry *entry = find(dead, slot);
    return entry != NULL && (incarnation < entry->incarnation ||
                             (incarnation == entry->incarnation && entry->proven));
}

bool mu_dead_prove(struct mu_dead *dead, mu_slot slot, uint32_t incarnation)
{
    assert(mu_dead_has(dead, slot, incarnation));
    if (mu_dead_is_proven(dead, slot, incarnation))
        return false;
    dead->entries[place_of(dead, slot)].proven = true;
    return true;
}

mu_slot mu_dead_next_live(const struct mu_dead *dead, mu_slot slot, bool back, mu_slot except)
{
    assert(slot < dead->size);
    /* Each turn steps over one slot that is dead or excepted, so count + 2 turns always end. */
    for (uint32_t turn = 0; turn < dead->count + 2 && turn < dead->size; turn++) {
        if (slot != except && !mu_dead_is_out(dead, slot))
            return slot;
        if (back)
            slot = slot == 0 ? dead->size - 1 : slot - 1;
        else
            slot = slot + 1 == dead->size ? 0 : slot + 1;
    }
    return MU_SLOT_NONE;
}
