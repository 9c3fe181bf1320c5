/* What a decision makes of a view, and whether those who are kept may go on (W8, W18, W19). */
#include "core/view/inside.h"

/* ---- the dead of a decision ---- */

static bool read_word(const struct mu_agree_value *value, struct mu_view_member member,
                      struct mu_view_word *word)
{
    const struct mu_agree_entry *entry =
        mu_agree_value_entry(value, MU_VIEW_KIND_WORD, mu_view_key(member.id, member.incarnation));
    if (entry != NULL)
        mu_view_read_word(entry, word);
    return entry != NULL;
}

/* Does a member that is taken out still count?  Not if it is proven dead, and had helped nobody to
 * another view: it was in this one, or in none, and had contributed to nothing since. */
static bool counts(const struct mu_view *view, const struct mu_agree_value *value,
                   struct mu_view_member member, bool proven)
{
    const struct mu_view_list *list = &view->lists[MU_VIEW_NOW];
    struct mu_view_word word;
    if (mu_view_is_broken(view, MU_VIEW_BROKEN_UNCOUNTED))
        return false;
    if (!proven || mu_view_is_broken(view, MU_VIEW_BROKEN_COUNTED))
        return true;
    if (mu_view_is_broken(view, MU_VIEW_BROKEN_WORD))
        return false;
    if (!read_word(value, member, &word))
        return true;
    bool was_here = word.mark.number == list->number && word.mark.hash == list->hash;
    return word.mark.number != 0 && (!was_here || word.contributed);
}

/* Proven dead, and it held nobody dead that is kept. */
static bool is_clean(const struct mu_view *view, const struct mu_agree_value *value,
                     const struct mu_view_list *next, struct mu_view_member member, bool proven)
{
    struct mu_view_word word;
    if (!proven || mu_view_is_broken(view, MU_VIEW_BROKEN_COUNTED) ||
        !read_word(value, member, &word) || word.held_more)
        return false;
    for (uint8_t i = 0; i < word.held_count; i++)
        if (mu_view_list_find(next, word.held[i]).id != MU_SLOT_NONE)
            return false;
    return true;
}

/* ---- counting ---- */

struct tally {
    uint32_t total, kept;
    mu_slot lowest; /* of those that count */
    bool lowest_is_kept;
    bool proven; /* all that are not kept are proven dead */
    bool clean;  /* and held nobody dead that is kept */
};

static void count_one(struct tally *tally, mu_slot id, bool kept)
{
    tally->total++;
    tally->kept += kept ? 1 : 0;
    if (id < tally->lowest) {
        tally->lowest = id;
        tally->lowest_is_kept = kept;
    }
}

static bool was_joined(const struct mu_view *view, mu_slot id)
{
    for (uint32_t i = 0; i < view->joined_count; i++)
        if (view->joined[i] == id)
            return true;
    return false;
}

static const struct mu_view_lost *find_lost(const struct mu_view_lost *lost, uint32_t count,
                                            mu_slot id)
{
    for (uint32_t i = 0; i < count; i++)
        if (lost[i].id == id)
            return &lost[i];
    return NULL;
}

/* The first member of the present view that was in the one before, if 'older', and is not in
 * 'lost'. */
static mu_slot first_kept(const struct mu_view *view, const struct mu_view_lost *lost,
                          uint32_t count, bool older)
{
    const struct mu_members *ids = &view->lists[MU_VIEW_NOW].ids;
    for (uint32_t position = 0; position < ids->total; position++) {
        mu_slot id = mu_members_slot(ids, position);
        if (find_lost(lost, count, id) == NULL && !(older && was_joined(view, id)))
            return id;
    }
    return MU_SLOT_NONE;
}

/* Of the present view, or with 'older' of the one before it.  'lost': by this decision. */
static struct tally tally_of(const struct mu_view *view, const struct mu_view_lost *lost,
                             uint32_t count, bool older)
{
    struct tally tally = {.lowest = MU_SLOT_NONE, .clean = true};
    mu_slot first = first_kept(view, lost, count, older);
    uint32_t others = view->lists[MU_VIEW_NOW].ids.total - count; /* those that are kept */
    for (uint32_t i = 0; older && i < view->joined_count; i++)
        others -= find_lost(lost, count, view->joined[i]) == NULL ? 1 : 0;
    if (first != MU_SLOT_NONE)
        count_one(&tally, first, true), others--;
    tally.total += others;
    tally.kept += others;
    for (uint32_t i = 0; i < count; i++) {
        tally.clean = tally.clean && lost[i].clean;
        if (lost[i].counts && !(older && was_joined(view, lost[i].id)))
            count_one(&tally, lost[i].id, false);
    }
    for (uint32_t i = 0; older && i < view->lost_count; i++) {
        tally.clean = tally.clean && view->lost[i].clean;
        if (view->lost[i].counts)
            count_one(&tally, view->lost[i].id, false);
    }
    return tally;
}

/* Exactly half: by the launcher's word, if there is to be one. */
static bool wins_tie(const struct mu_view *view, const struct mu_agree_value *value,
                     const struct tally *tally, const struct mu_view_list *next)
{
    const struct mu_agree_entry *entry =
        mu_agree_value_entry(value, MU_VIEW_KIND_TIE, view->lists[MU_VIEW_NOW].number);
    if (mu_view_is_broken(view, MU_VIEW_BROKEN_TIE))
        return true;
    if (!view->config.tie_by_word)
        return tally->lowest_is_kept;
    return entry != NULL && mu_view_list_find(next, mu_view_read_tie(entry)).id != MU_SLOT_NONE;
}

static bool is_enough(const struct mu_view *view, const struct mu_agree_value *value,
                      const struct tally *tally, const struct mu_view_list *next)
{
    if (2 * tally->kept == tally->total)
        return wins_tie(view, value, tally, next);
    return 2 * tally->kept > tally->total;
}

static bool all_proven(const struct mu_agree_value *value)
{
    for (uint32_t i = 0; i < value->failed_count; i++)
        if (!value->failed[i].proven)
            return false;
    return true;
}

/* W18, W19.  The founding view has none before it: then older is as last. */
static bool has_quorum(const struct mu_view *view, const struct mu_agree_value *value,
                       const struct mu_view_list *next, uint32_t count)
{
    struct tally last = tally_of(view, view->lost_next, count, false);
    struct tally older = tally_of(view, view->lost_next, count, true);
    if (view->config.partition == MU_VIEW_ANY)
        return true;
    if (view->config.partition == MU_VIEW_STOP)
        return all_proven(value);
    if (older.clean) /* which looks at all that last.clean does */
        return true;
    return is_enough(view, value, &last, next) &&
           (mu_view_is_broken(view, MU_VIEW_BROKEN_LAST) || is_enough(view, value, &older, next));
}

/* ---- making it ---- */

static bool take_out(struct mu_view *view, struct mu_view_list *next, struct mu_view_member member,
                     bool proven, uint32_t *lost_count)
{
    if (!mu_view_list_remove(next, member.id))
        return false;
    view->lost_next[(*lost_count)++] =
        (struct mu_view_lost){.id = member.id, .incarnation = member.incarnation, .proven = proven};
    return true;
}

/* Whoever has the highest incarnation of an id, and a higher one than the member of that id. */
static bool take_in(struct mu_view *view, const struct mu_agree_value *value,
                    struct mu_view_list *next, uint32_t *lost_count, uint32_t *joined_count)
{
    const struct mu_view_list *now = &view->lists[MU_VIEW_NOW];
    for (uint32_t i = 0; i < value->entry_count; i++) {
        const struct mu_agree_entry *entry = &value->entries[i];
        struct mu_view_member member = mu_view_of_key(entry->key);
        bool is_last = i + 1 == value->entry_count || entry[1].kind != MU_VIEW_KIND_JOIN ||
                       mu_view_of_key(entry[1].key).id != member.id;
        struct mu_view_member old = mu_view_list_find(now, member.id);
        if (entry->kind != MU_VIEW_KIND_JOIN || !is_last || member.id >= view->config.limits.ids ||
            (old.id != MU_SLOT_NONE && old.incarnation >= member.incarnation))
            continue;
        if (mu_view_list_find(next, member.id).id != MU_SLOT_NONE &&
            !take_out(view, next, old, false, lost_count))
            return false;
        if (mu_view_list_add(next, member, view->config.limits.odd)) /* else it is refused */
            view->joined_next[(*joined_count)++] = member.id;
    }
    return true;
}

enum mu_view_next mu_view_make_next(struct mu_view *view, const struct mu_agree_value *value,
                                    uint32_t *lost_count, uint32_t *joined_count)
{
    const struct mu_view_list *now = &view->lists[MU_VIEW_NOW];
    struct mu_view_list *next = &view->lists[MU_VIEW_LATE];
    *lost_count = *joined_count = 0;
    mu_view_list_copy(next, now);
    for (uint32_t i = 0; i < value->failed_count; i++)
        if (value->failed[i].process == MU_FAILED_NODE &&
            !take_out(view, next, mu_view_list_at(now, value->failed[i].node),
                      value->failed[i].proven, lost_count))
            return MU_VIEW_NEXT_FULL;
    if (!take_in(view, value, next, lost_count, joined_count))
        return MU_VIEW_NEXT_FULL;
    for (uint32_t i = 0; i < *lost_count; i++) {
        struct mu_view_lost *lost = &view->lost_next[i];
        struct mu_view_member member = {lost->id, lost->incarnation};
        lost->counts = counts(view, value, member, lost->proven);
        lost->clean = is_clean(view, value, next, member, lost->proven);
    }
    next->number = now->number + 1;
    next->hash = mu_view_next_hash(now, value);
    return has_quorum(view, value, next, *lost_count) ? MU_VIEW_NEXT_OK : MU_VIEW_NEXT_QUORUM;
}

uint64_t mu_view_next_hash(const struct mu_view_list *list, const struct mu_agree_value *value)
{
    struct mu_fingerprint print;
    mu_fingerprint_init(&print);
    mu_fingerprint_add(&print, list->hash);
    mu_fingerprint_add(&print, list->number);
    mu_fingerprint_add(&print, (uint64_t)value->failed_count << 32 | value->entry_count);
    mu_fingerprint_add(&print, value->bits);
    mu_fingerprint_add(&print, (uint64_t)value->more << 1 | (uint64_t)value->entries_more);
    for (uint32_t i = 0; i < value->failed_count; i++)
        mu_fingerprint_add(&print, (uint64_t)value->failed[i].node << 1 | value->failed[i].proven);
    for (uint32_t i = 0; i < value->entry_count; i++) {
        const struct mu_agree_entry *entry = &value->entries[i];
        mu_fingerprint_add(&print, entry->key);
        mu_fingerprint_add(&print, (uint64_t)entry->kind << 8 | entry->length);
        for (uint32_t at = 0; at < entry->length; at++)
            mu_fingerprint_add(&print, entry->bytes[at]);
    }
    return print.a;
}
