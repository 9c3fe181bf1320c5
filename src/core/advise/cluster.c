#include "core/advise/cluster.h"

#include <assert.h>

uint32_t mu_cluster_dimension(uint32_t size)
{
    uint32_t d = 0;
    while ((UINT64_C(1) << d) < size)
        d++;
    return d;
}

mu_slot mu_cluster_at(mu_slot i, uint32_t s, uint32_t k)
{
    assert(s >= 1 && k < (UINT64_C(1) << (s - 1)));
    return i ^ (mu_slot)1 << (s - 1) ^ k;
}

/* From the whole cube down, into the half nearer to 'place' if there is a member in it. */
mu_slot mu_cluster_host(const struct mu_advise_group *group, mu_slot place, uint32_t d)
{
    mu_slot base = place >> d << d;
    if (!mu_advise_any_member(group, base, (uint32_t)1 << d))
        return MU_SLOT_NONE;
    while (d-- > 0) {
        mu_slot half = (mu_slot)1 << d;
        mu_slot near = base | (place & half);
        base = mu_advise_any_member(group, near, half) ? near : near ^ half;
    }
    return base;
}

mu_slot mu_cluster_tester(const struct mu_advise_group *group, mu_slot j, uint32_t s)
{
    return mu_cluster_host(group, mu_cluster_at(j, s, 0), s - 1);
}

bool mu_advise_tests(const struct mu_advise_group *group, enum mu_advise_assignment assignment,
                     mu_slot i, mu_slot j)
{
    if (i == j || !mu_advise_is_member(group, i))
        return false;
    if (assignment == MU_ADVISE_ALL_PAIRS)
        return true;
    uint32_t s = 1;
    while ((i ^ j) >> s != 0)
        s++;
    return mu_cluster_tester(group, j, s) == i;
}

struct list {
    const struct mu_advise_group *group;
    mu_slot *slots;
    uint32_t room, count;
};

static void add(struct list *list, mu_slot slot)
{
    if (slot >= list->group->size || mu_advise_group_get(list->group, slot).gone)
        return;
    if (list->count < list->room)
        list->slots[list->count] = slot;
    list->count++;
}

/* A bit for each dimension whose half across from i is without a member: i stands for the places
 * that differ from it in such bits only. */
static mu_slot empty_halves(const struct mu_advise_group *group, mu_slot i)
{
    mu_slot empty = 0;
    for (uint32_t d = 0; d < mu_cluster_dimension(group->size); d++)
        if (!mu_advise_any_member(group, (i ^ (mu_slot)1 << d) >> d << d, (uint32_t)1 << d))
            empty |= (mu_slot)1 << d;
    return empty;
}

static void add_across(struct list *list, mu_slot i, uint32_t s, mu_slot empty)
{
    mu_slot mask = empty & (((mu_slot)1 << (s - 1)) - 1), subset = 0;
    do {
        add(list, mu_cluster_at(i, s, subset));
        subset = (subset - mask) & mask; /* the next one, and after the last one none */
    } while (subset != 0);
}

uint32_t mu_advise_tested(const struct mu_advise_group *group, enum mu_advise_assignment assignment,
                          mu_slot i, mu_slot *tested, uint32_t room)
{
    struct list list = {group, tested, room, 0};
    if (assignment == MU_ADVISE_CLUSTERS) {
        mu_slot empty = empty_halves(group, i);
        for (uint32_t s = 1; s <= mu_cluster_dimension(group->size); s++)
            add_across(&list, i, s, empty);
        return list.count;
    }
    for (mu_slot j = 0; j < group->size; j++)
        if (j != i)
            add(&list, j);
    return list.count;
}
