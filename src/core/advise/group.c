#include "core/advise/group.h"

#include "core/base/fingerprint.h"

#include <assert.h>
#include <string.h>

void mu_advise_group_init(struct mu_advise_group *group, struct mu_arena *arena, uint32_t capacity)
{
    *group = (struct mu_advise_group){.capacity = capacity};
    group->entries = mu_arena_array(arena, capacity, sizeof *group->entries);
}

void mu_advise_group_all(struct mu_advise_group *group, uint32_t size, uint32_t era)
{
    group->size = group->members = size;
    group->era = era;
    group->round = 1;
    group->count = 0;
}

bool mu_advise_group_copy(struct mu_advise_group *to, const struct mu_advise_group *from)
{
    uint32_t count = from->count < to->capacity ? from->count : to->capacity;
    struct mu_advise_entry *entries = to->entries;
    uint32_t capacity = to->capacity;
    *to = *from;
    to->entries = entries;
    to->capacity = capacity;
    to->count = count;
    if (count > 0)
        memmove(entries, from->entries, count * sizeof *entries);
    return count == from->count;
}

static uint64_t word_of(struct mu_advise_entry entry)
{
    return (uint64_t)entry.slot << 32 | (uint64_t)entry.count << 3 | (uint64_t)entry.gone << 2 |
           (uint64_t)entry.comes << 1 | entry.leaves;
}

struct mu_advise_key mu_advise_group_key(const struct mu_advise_group *group)
{
    struct mu_fingerprint print;
    mu_fingerprint_init(&print);
    for (uint32_t i = 0; i < group->count; i++)
        mu_fingerprint_add(&print, word_of(group->entries[i]));
    return (struct mu_advise_key){group->era, group->round, print.a};
}

bool mu_advise_key_same(const struct mu_advise_key *a, const struct mu_advise_key *b)
{
    return a->era == b->era && a->round == b->round && a->hash == b->hash;
}

uint32_t mu_advise_group_find(const struct mu_advise_group *group, mu_slot slot)
{
    uint32_t low = 0, high = group->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (group->entries[middle].slot < slot)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct mu_advise_entry mu_advise_group_get(const struct mu_advise_group *group, mu_slot slot)
{
    uint32_t at = mu_advise_group_find(group, slot);
    if (at < group->count && group->entries[at].slot == slot)
        return group->entries[at];
    return (struct mu_advise_entry){.slot = slot};
}

static void take_out(struct mu_advise_group *group, uint32_t at)
{
    group->count--;
    memmove(&group->entries[at], &group->entries[at + 1],
            (group->count - at) * sizeof *group->entries);
}

bool mu_advise_group_put(struct mu_advise_group *group, struct mu_advise_entry entry)
{
    uint32_t at = mu_advise_group_find(group, entry.slot);
    bool is_there = at < group->count && group->entries[at].slot == entry.slot;
    bool is_empty = entry.count == 0 && !entry.gone && !entry.comes && !entry.leaves;
    bool worked = !is_there || mu_advise_entry_works(group->entries[at]);
    if (!is_there && !is_empty && group->count == group->capacity)
        return false;
    group->members += (uint32_t)mu_advise_entry_works(entry) - (uint32_t)worked;
    if (is_there && is_empty) {
        take_out(group, at);
        return true;
    }
    if (is_empty)
        return true;
    if (!is_there) {
        memmove(&group->entries[at + 1], &group->entries[at],
                (group->count - at) * sizeof *group->entries);
        group->count++;
    }
    group->entries[at] = entry;
    return true;
}

bool mu_advise_is_member(const struct mu_advise_group *group, mu_slot slot)
{
    return slot < group->size && mu_advise_entry_works(mu_advise_group_get(group, slot));
}

bool mu_advise_is_part(const struct mu_advise_group *group, mu_slot slot)
{
    struct mu_advise_entry entry = mu_advise_group_get(group, slot);
    return slot < group->size && !entry.gone &&
           (mu_advise_entry_works(entry) || entry.comes || entry.leaves);
}

/* Looks at no more entries than there are slots. */
bool mu_advise_any_member(const struct mu_advise_group *group, mu_slot first, uint32_t length)
{
    if (first >= group->size)
        return false;
    if (length > group->size - first)
        length = group->size - first;
    uint32_t out = 0;
    for (uint32_t at = mu_advise_group_find(group, first);
         at < group->count && group->entries[at].slot - first < length; at++)
        out += mu_advise_entry_works(group->entries[at]) ? 0 : 1;
    return out < length;
}
