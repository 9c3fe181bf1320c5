/* The members of one view: ids as runs, incarnations as exceptions. */
#include "core/view/inside.h"

#include <string.h>

uint32_t mu_view_spans_needed(const struct mu_view_limits *limits)
{
    uint64_t changes = (uint64_t)limits->dead + limits->odd + 1;
    uint32_t most = limits->ids / 2 + 1; /* every other one */
    return changes < most ? (uint32_t)changes : most;
}

void mu_view_list_copy(struct mu_view_list *to, const struct mu_view_list *from)
{
    to->number = from->number;
    to->hash = from->hash;
    mu_members_copy(&to->ids, &from->ids);
    memcpy(to->odd, from->odd, from->odd_count * sizeof *to->odd);
    to->odd_count = from->odd_count;
}

/* Index of the first exception whose id is not below 'id'. */
static uint32_t place_of(const struct mu_view_list *list, mu_slot id)
{
    uint32_t low = 0, high = list->odd_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list->odd[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_odd(const struct mu_view_list *list, uint32_t at, mu_slot id)
{
    return at < list->odd_count && list->odd[at].id == id;
}

struct mu_view_member mu_view_list_find(const struct mu_view_list *list, mu_slot id)
{
    uint32_t at = place_of(list, id);
    if (list->number == 0 || mu_members_position(&list->ids, id) == UINT32_MAX)
        return mu_view_nobody();
    return is_odd(list, at, id) ? list->odd[at] : (struct mu_view_member){id, MU_VIEW_FOUNDER};
}

struct mu_view_member mu_view_list_at(const struct mu_view_list *list, uint32_t position)
{
    return mu_view_list_find(list, mu_members_slot(&list->ids, position));
}

uint32_t mu_view_list_position(const struct mu_view_list *list, struct mu_view_member member)
{
    if (member.id == MU_SLOT_NONE || !mu_view_same(mu_view_list_find(list, member.id), member))
        return UINT32_MAX;
    return mu_members_position(&list->ids, member.id);
}

bool mu_view_list_remove(struct mu_view_list *list, mu_slot id)
{
    uint32_t at = place_of(list, id);
    if (!mu_members_remove(&list->ids, id))
        return false;
    if (is_odd(list, at, id)) {
        list->odd_count--;
        memmove(&list->odd[at], &list->odd[at + 1], (list->odd_count - at) * sizeof *list->odd);
    }
    return true;
}

bool mu_view_list_add(struct mu_view_list *list, struct mu_view_member member, uint32_t odd_max)
{
    uint32_t at = place_of(list, member.id);
    if (list->odd_count == odd_max || !mu_members_add(&list->ids, member.id))
        return false;
    memmove(&list->odd[at + 1], &list->odd[at], (list->odd_count - at) * sizeof *list->odd);
    list->odd[at] = member;
    list->odd_count++;
    return true;
}
