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
    if (gather->entry_count > 0)
        memset(gather->entries, 0, gather->entry_count * sizeof *gather->entries);
    gather->bits = UINT64_MAX;
    gather->count = gather->entry_count = 0;
    gather->more = gather->entries_more = gather->any = false;
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

/* ---- entries ---- */

int mu_agree_entry_compare(const struct mu_agree_entry *a, const struct mu_agree_entry *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return 0;
}

static bool is_greater(const struct mu_agree_entry *a, const struct mu_agree_entry *b)
{
    if (a->length != b->length)
        return a->length > b->length;
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) > 0;
}

static void join_entries(struct mu_gather *gather, const struct mu_agree_value *value)
{
    uint32_t at = 0;
    gather->entries_more = gather->entries_more || value->entries_more;
    for (uint32_t i = 0; i < value->entry_count; i++, at++) {
        const struct mu_agree_entry *theirs = &value->entries[i];
        struct mu_agree_entry *mine = gather->entries;
        while (at < gather->entry_count && mu_agree_entry_compare(&mine[at], theirs) < 0)
            at++;
        if (at < gather->entry_count && mu_agree_entry_compare(&mine[at], theirs) == 0) {
            if (is_greater(theirs, &mine[at]))
                mine[at] = *theirs;
            continue;
        }
        if (gather->entry_count == gather->entry_capacity)
            gather->entries_more = true;
        if (at == gather->entry_capacity)
            return; /* and all that follow are higher still */
        if (gather->entry_count < gather->entry_capacity)
            gather->entry_count++;
        memmove(&mine[at + 1], &mine[at], (gather->entry_count - at - 1) * sizeof *mine);
        mine[at] = *theirs;
    }
}

const struct mu_agree_entry *mu_agree_value_entry(const struct mu_agree_value *value, uint8_t kind,
                                                  uint64_t key)
{
    for (uint32_t i = 0; i < value->entry_count; i++)
        if (value->entries[i].kind == kind && value->entries[i].key == key)
            return &value->entries[i];
    return NULL;
}

static bool is_padded(const struct mu_agree_entry *entry)
{
    for (uint32_t i = entry->length; i < MU_AGREE_ENTRY_BYTES; i++)
        if (entry->bytes[i] != 0)
            return false;
    return true;
}

static const char *check_entries(const struct mu_agree_value *value)
{
    for (uint32_t i = 0; i < value->entry_count; i++) {
        const struct mu_agree_entry *entry = &value->entries[i];
        if (i > 0 && mu_agree_entry_compare(&value->entries[i - 1], entry) >= 0)
            return "entries are in order, none twice";
        if (entry->length > MU_AGREE_ENTRY_BYTES || !is_padded(entry))
            return "an entry is zero from its length on";
    }
    return NULL;
}

/* ---- values ---- */

/* Both lists are in order.  What only one of them has is not acknowledged by all, unless the other
 * side has no say. */
void mu_gather_join(struct mu_gather *gather, const struct mu_agree_value *value)
{
    uint16_t at = 0;
    bool was_any = gather->any;
    uint32_t unlisted = value->silent ? 1 : 0; /* what they think of one that they do not list */
    join_entries(gather, value);
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
                                   .entries = gather->entries,
                                   .entry_count = gather->entry_count,
                                   .entries_more = gather->entries_more,
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
    return check_entries(value);
}
