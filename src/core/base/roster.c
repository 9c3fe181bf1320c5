#include "core/base/roster.h"

#include <assert.h>
#include <string.h>

void mu_roster_init(struct mu_roster *roster, struct mu_arena *arena, uint32_t founders,
                    uint32_t capacity)
{
    roster->entries = mu_arena_array(arena, capacity, sizeof *roster->entries);
    roster->count = 0;
    roster->capacity = capacity;
    roster->founders = founders;
    roster->size = founders;
}

/* Index of the first entry whose slot is not below 'slot'. */
static uint32_t place_of(const struct mu_roster *roster, mu_slot slot)
{
    uint32_t low = 0, high = roster->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (roster->entries[middle].slot < slot)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct mu_roster_entry *find(const struct mu_roster *roster, mu_slot slot)
{
    uint32_t at = place_of(roster, slot);
    return at < roster->count && roster->entries[at].slot == slot ? &roster->entries[at] : NULL;
}

/* ---- of one incarnation ---- */

bool mu_roster_is_in(const struct mu_roster *roster, mu_slot slot, uint32_t incarnation)
{
    return incarnation != 0 && mu_roster_incarnation(roster, slot) == incarnation;
}

bool mu_roster_is_out(const struct mu_roster *roster, mu_slot slot, uint32_t incarnation)
{
    const struct mu_roster_entry *entry = find(roster, slot);
    if (entry == NULL)
        return false;
    return entry->in ? incarnation < entry->incarnation : incarnation <= entry->incarnation;
}

bool mu_roster_is_proven(const struct mu_roster *roster, mu_slot slot, uint32_t incarnation)
{
    const struct mu_roster_entry *entry = find(roster, slot);
    return entry != NULL && (incarnation < entry->incarnation ||
                             (incarnation == entry->incarnation && !entry->in && entry->proven));
}

/* ---- of a place ---- */

uint32_t mu_roster_incarnation(const struct mu_roster *roster, mu_slot slot)
{
    const struct mu_roster_entry *entry = roster->count > 0 ? find(roster, slot) : NULL;
    if (entry != NULL)
        return entry->in ? entry->incarnation : 0;
    return slot < roster->founders ? 1 : 0;
}

bool mu_roster_is_vacant(const struct mu_roster *roster, mu_slot slot)
{
    return mu_roster_incarnation(roster, slot) == 0;
}

mu_slot mu_roster_next_live(const struct mu_roster *roster, mu_slot slot, bool back, mu_slot except)
{
    assert(slot < roster->size);
    for (uint32_t turn = 0; turn < roster->size; turn++) {
        if (slot != except && !mu_roster_is_vacant(roster, slot))
            return slot;
        if (back)
            slot = slot == 0 ? roster->size - 1 : slot - 1;
        else
            slot = slot + 1 == roster->size ? 0 : slot + 1;
    }
    return MU_SLOT_NONE;
}

/* ---- changes ---- */

bool mu_roster_fits(const struct mu_roster *roster, mu_slot slot)
{
    return roster->count < roster->capacity || find(roster, slot) != NULL;
}

/* The entry of this slot; a new one has incarnation 0. */
static struct mu_roster_entry *entry_of(struct mu_roster *roster, mu_slot slot)
{
    uint32_t at = place_of(roster, slot);
    struct mu_roster_entry *entry = &roster->entries[at];
    if (at < roster->count && entry->slot == slot)
        return entry;
    assert(roster->count < roster->capacity);
    memmove(entry + 1, entry, (roster->count - at) * sizeof *entry);
    *entry = (struct mu_roster_entry){.slot = slot};
    roster->count++;
    if (slot >= roster->size)
        roster->size = slot + 1;
    return entry;
}

bool mu_roster_out(struct mu_roster *roster, mu_slot slot, uint32_t incarnation)
{
    assert(slot < MU_SIZE_MAX);
    if (mu_roster_is_out(roster, slot, incarnation))
        return false;
    struct mu_roster_entry *entry = entry_of(roster, slot);
    *entry = (struct mu_roster_entry){.slot = slot, .incarnation = incarnation};
    return true;
}

bool mu_roster_prove(struct mu_roster *roster, mu_slot slot, uint32_t incarnation)
{
    assert(mu_roster_is_out(roster, slot, incarnation));
    if (mu_roster_is_proven(roster, slot, incarnation))
        return false;
    find(roster, slot)->proven = true;
    return true;
}

bool mu_roster_join(struct mu_roster *roster, mu_slot slot, uint32_t incarnation)
{
    assert(slot < MU_SIZE_MAX && incarnation > 0);
    if (mu_roster_is_out(roster, slot, incarnation) ||
        mu_roster_incarnation(roster, slot) >= incarnation)
        return false;
    struct mu_roster_entry *entry = entry_of(roster, slot);
    *entry = (struct mu_roster_entry){.slot = slot, .incarnation = incarnation, .in = true};
    return true;
}
