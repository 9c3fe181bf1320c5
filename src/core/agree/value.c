#include "core/agree/value.h"

#include <string.h>

static int compare(const struct mu_failed *a, const struct mu_failed *b)
{
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return 0;
}

void mu_gather_clear(struct mu_gather *gather)
{
    memset(gather->failed, 0, gather->count * sizeof *gather->failed);
    gather->bits = UINT64_MAX;
    gather->count = 0;
    gather->more = gather->any = false;
}

/* Makes room for one at 'at'.  When all places are taken the last one goes; false: that would be
 * this one. */
static bool open_at(struct mu_gather *gather, uint16_t at)
{
    if (gather->count == gather->capacity)
        gather->more = true;
    if (at == gather->capacity)
        return false;
    if (gather->count < gather->capacity)
        gather->count++;
    memmove(&gather->failed[at + 1], &gather->failed[at],
            (size_t)(gather->count - at - 1) * sizeof *gather->failed);
    return true;
}

/* Both lists are in order.  What only one of them has is not acknowledged by all, unless the other
 * side has no say. */
void mu_gather_join(struct mu_gather *gather, const struct mu_agree_value *value)
{
    uint16_t at = 0;
    bool was_any = gather->any;
    uint32_t unlisted = value->silent ? 1 : 0; /* what they think of one that they do not list */
    gather->bits &= value->bits;
    gather->more = gather->more || value->more;
    gather->any = was_any || !value->silent;
    for (uint32_t i = 0; i < value->failed_count; i++) {
        const struct mu_failed *theirs = &value->failed[i];
        while (at < gather->count && compare(&gather->failed[at], theirs) < 0)
            gather->failed[at++].acked &= unlisted;
        if (at < gather->count && compare(&gather->failed[at], theirs) == 0) {
            gather->failed[at].acked &= theirs->acked;
            gather->failed[at].proven |= theirs->proven;
        } else {
            if (!open_at(gather, at))
                return; /* and all that follow are higher still */
            gather->failed[at] = *theirs;
            gather->failed[at].acked = was_any ? 0 : theirs->acked;
        }
        at++;
    }
    while (at < gather->count)
        gather->failed[at++].acked &= unlisted;
}

void mu_gather_set(struct mu_gather *gather, const struct mu_agree_value *value)
{
    mu_gather_clear(gather);
    mu_gather_join(gather, value);
}

void mu_gather_add_failed(struct mu_gather *gather, mu_slot node, bool proven)
{
    struct mu_failed failed = {
        .node = node, .acked = gather->any ? 0 : 1, .proven = proven, .process = MU_FAILED_NODE};
    uint16_t at = 0;
    while (at < gather->count && compare(&gather->failed[at], &failed) < 0)
        at++;
    if (at < gather->count && compare(&gather->failed[at], &failed) == 0)
        gather->failed[at].proven |= failed.proven;
    else if (open_at(gather, at))
        gather->failed[at] = failed;
}

struct mu_agree_value mu_gather_value(const struct mu_gather *gather)
{
    return (struct mu_agree_value){.bits = gather->bits,
                                   .failed = gather->failed,
                                   .failed_count = gather->count,
                                   .more = gather->more,
                                   .silent = !gather->any};
}

bool mu_agree_value_error(const struct mu_agree_value *value)
{
    bool error = value->more;
    for (uint32_t i = 0; i < value->failed_count; i++)
        error = error || value->failed[i].acked == 0;
    return error;
}

const char *mu_agree_value_check(const struct mu_agree_value *value, uint32_t size)
{
    for (uint32_t i = 0; i < value->failed_count; i++) {
        if (value->failed[i].node >= size)
            return "the slot of one that failed is below the machine's size";
        if (i > 0 && compare(&value->failed[i - 1], &value->failed[i]) >= 0)
            return "the failed are in order, none twice";
        if (value->failed[i].proven && value->failed[i].process != MU_FAILED_NODE)
            return "only the death of a node is proven or not";
        if (value->silent && !value->failed[i].acked)
            return "who has no say leaves nothing unacknowledged";
    }
    return NULL;
}
