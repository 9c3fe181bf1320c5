#include "core/base/members.h"

#include <assert.h>
#include <string.h>

void mu_members_init(struct mu_members *members, struct mu_arena *arena, uint32_t capacity)
{
    members->runs = mu_arena_array(arena, capacity, sizeof *members->runs);
    members->count = 0;
    members->capacity = capacity;
    members->total = 0;
}

const char *mu_members_error(const struct mu_members *members, uint32_t size,
                             const struct mu_span *spans, uint32_t count)
{
    if (count == 0)
        return "a group has members";
    if (count > members->capacity)
        return "a group has at most limits.runs spans of members";
    uint64_t end = 0; /* of the span before */
    for (uint32_t i = 0; i < count; i++) {
        if (spans[i].count == 0)
            return "a span is not empty";
        if (i > 0 && spans[i].first <= end)
            return "spans are in order, with gaps between them";
        end = (uint64_t)spans[i].first + spans[i].count;
        if (end > size)
            return "a member's slot is below the machine's size";
    }
    return NULL;
}

void mu_members_set(struct mu_members *members, const struct mu_span *spans, uint32_t count)
{
    assert(count <= members->capacity);
    members->total = 0;
    members->count = count;
    for (uint32_t i = 0; i < count; i++) {
        members->runs[i] = (struct mu_run){.first = spans[i].first, .position = members->total};
        members->total += spans[i].count;
    }
}

static uint32_t end_of(const struct mu_members *members, uint32_t run)
{
    return run + 1 < members->count ? members->runs[run + 1].position : members->total;
}

/* The last run that begins at or before the slot; 'count' when none does. */
static uint32_t run_of_slot(const struct mu_members *members, mu_slot slot)
{
    uint32_t low = 0, high = members->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (members->runs[middle].first <= slot)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? members->count : low - 1;
}

uint32_t mu_members_position(const struct mu_members *members, mu_slot slot)
{
    uint32_t run = run_of_slot(members, slot);
    if (run == members->count)
        return UINT32_MAX;
    uint32_t position = members->runs[run].position + (slot - members->runs[run].first);
    return position < end_of(members, run) ? position : UINT32_MAX;
}

mu_slot mu_members_slot(const struct mu_members *members, uint32_t position)
{
    assert(position < members->total);
    uint32_t low = 0, high = members->count - 1;
    while (low < high) {
        uint32_t middle = high - (high - low) / 2;
        if (members->runs[middle].position <= position)
            low = middle;
        else
            high = middle - 1;
    }
    return members->runs[low].first + (position - members->runs[low].position);
}

bool mu_members_remove(struct mu_members *members, mu_slot slot)
{
    uint32_t position = mu_members_position(members, slot);
    assert(position != UINT32_MAX);
    uint32_t at = run_of_slot(members, slot);
    struct mu_run *run = &members->runs[at];
    uint32_t end = end_of(members, at);
    bool is_first = position == run->position, is_last = position + 1 == end;
    if (!is_first && !is_last && members->count == members->capacity)
        return false;
    uint32_t behind = members->count - at - 1; /* runs after this one */
    if (is_first && is_last) {
        memmove(run, run + 1, behind * sizeof *run);
        members->count--;
        memset(&members->runs[members->count], 0, sizeof *run);
    } else if (is_first) {
        run->first++;
        at++;
    } else {
        if (!is_last) {
            memmove(run + 2, run + 1, behind * sizeof *run);
            run[1] = (struct mu_run){.first = slot + 1, .position = position + 1};
            members->count++;
        }
        at++;
    }
    for (; at < members->count; at++)
        members->runs[at].position--;
    members->total--;
    return true;
}

bool mu_members_add(struct mu_members *members, mu_slot slot)
{
    uint32_t before = run_of_slot(members, slot); /* count: none */
    uint32_t at = before == members->count ? 0 : before + 1;
    struct mu_run *next = &members->runs[at];
    bool touches_last =
        at > 0 && next[-1].first + (end_of(members, before) - next[-1].position) == slot;
    bool touches_next = at < members->count && next->first == slot + 1;
    assert(mu_members_position(members, slot) == UINT32_MAX);
    if (!touches_last && !touches_next) {
        if (members->count == members->capacity)
            return false;
        memmove(next + 1, next, (members->count - at) * sizeof *next);
        members->count++;
        *next = (struct mu_run){
            .first = slot, .position = at + 1 < members->count ? next[1].position : members->total};
        at++;
    } else if (touches_last && touches_next) {
        memmove(next, next + 1, (members->count - at - 1) * sizeof *next);
        members->count--;
        memset(&members->runs[members->count], 0, sizeof *next);
    } else if (touches_next) {
        next->first--;
        at++;
    }
    for (; at < members->count; at++)
        members->runs[at].position++;
    members->total++;
    return true;
}

void mu_members_copy(struct mu_members *members, const struct mu_members *from)
{
    assert(from->count <= members->capacity);
    memset(members->runs, 0, members->capacity * sizeof *members->runs);
    memcpy(members->runs, from->runs, from->count * sizeof *members->runs);
    members->count = from->count;
    members->total = from->total;
}
