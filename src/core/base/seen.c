#include "core/base/seen.h"

#include <assert.h>
#include <string.h>

void mu_seen_init(struct mu_seen *seen, struct mu_arena *arena, uint32_t capacity, bool apart)
{
    seen->ranges = mu_arena_array(arena, capacity, sizeof *seen->ranges);
    seen->count = 0;
    seen->capacity = capacity;
    seen->apart = apart;
}

/* Does the range lie wholly before the identity? */
static bool before(const struct mu_seen_range *range, const struct mu_notice_id *id)
{
    if (range->kind != id->kind)
        return range->kind < id->kind;
    if (range->stream != id->stream)
        return range->stream < id->stream;
    return range->last < id->index;
}

static bool same_stream(const struct mu_seen_range *range, const struct mu_notice_id *id)
{
    return range->kind == id->kind && range->stream == id->stream;
}

/* Index of the first range that does not lie before the identity. */
static uint32_t place_of(const struct mu_seen *seen, const struct mu_notice_id *id)
{
    uint32_t low = 0, high = seen->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (before(&seen->ranges[middle], id))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool mu_seen_has(const struct mu_seen *seen, const struct mu_notice_id *id)
{
    uint32_t at = place_of(seen, id);
    if (at == seen->count)
        return false;
    const struct mu_seen_range *range = &seen->ranges[at];
    return same_stream(range, id) && range->first <= id->index;
}

static bool touches_previous(const struct mu_seen *seen, uint32_t at, const struct mu_notice_id *id)
{
    return at > 0 && same_stream(&seen->ranges[at - 1], id) &&
           seen->ranges[at - 1].last + 1 == id->index;
}

static bool touches_next(const struct mu_seen *seen, uint32_t at, const struct mu_notice_id *id)
{
    return !seen->apart && at < seen->count && same_stream(&seen->ranges[at], id) &&
           seen->ranges[at].first == id->index + 1;
}

bool mu_seen_fits(const struct mu_seen *seen, const struct mu_notice_id *id)
{
    uint32_t at = place_of(seen, id);
    return seen->count < seen->capacity || touches_previous(seen, at, id) ||
           touches_next(seen, at, id);
}

void mu_seen_add(struct mu_seen *seen, const struct mu_notice_id *id)
{
    uint32_t at = place_of(seen, id);
    struct mu_seen_range *range = &seen->ranges[at];
    assert(at == seen->count || !same_stream(range, id) || id->index < range->first);
    bool joins_previous = touches_previous(seen, at, id);
    bool joins_next = touches_next(seen, at, id);
    if (joins_previous && joins_next) {
        range[-1].last = range->last;
        memmove(range, range + 1, (seen->count - at - 1) * sizeof *range);
        seen->count--;
        memset(&seen->ranges[seen->count], 0, sizeof *range);
    } else if (joins_previous) {
        range[-1].last = id->index;
    } else if (joins_next) {
        range->first = id->index;
    } else {
        assert(seen->count < seen->capacity);
        memmove(range + 1, range, (seen->count - at) * sizeof *range);
        *range = (struct mu_seen_range){
            .kind = id->kind, .stream = id->stream, .first = id->index, .last = id->index};
        seen->count++;
    }
}

void mu_seen_forget(struct mu_seen *seen, uint8_t kind, uint64_t stream)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < seen->count; i++)
        if (seen->ranges[i].kind != kind || seen->ranges[i].stream != stream)
            seen->ranges[kept++] = seen->ranges[i];
    memset(&seen->ranges[kept], 0, (seen->count - kept) * sizeof seen->ranges[0]);
    seen->count = kept;
}
