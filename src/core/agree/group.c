#include "core/agree/inside.h"

#include <string.h>

uint32_t mu_agree_peers_max(const struct mu_agree_config *config)
{
    uint64_t most = ((uint64_t)config->limits.dead + 1) << config->shift;
    return most < config->size ? (uint32_t)most : config->size;
}

/* ---- groups ---- */

struct mu_agree_group *mu_agree_find(const struct mu_agree *agree, uint64_t id)
{
    for (uint32_t i = 0; i < agree->config.limits.groups; i++)
        if (agree->groups[i].used && agree->groups[i].id == id)
            return &agree->groups[i];
    return NULL;
}

struct mu_agree_group *mu_agree_find_or_add(struct mu_agree *agree, uint64_t id)
{
    struct mu_agree_group *group = mu_agree_find(agree, id);
    for (uint32_t i = 0; group == NULL && i < agree->config.limits.groups; i++)
        if (!agree->groups[i].used) {
            group = &agree->groups[i];
            group->used = true;
            group->id = id;
        }
    return group;
}

/* What came before the group was known, or its tree laid anew, may have come from others. */
static void drop_strangers(struct mu_agree_group *group)
{
    for (uint32_t r = 0; r < MU_ROUNDS; r++) {
        struct mu_round *round = &group->rounds[r];
        for (uint32_t i = round->peer_count; i-- > 0;)
            if (mu_members_position(&group->members, round->peers[i].slot) == UINT32_MAX)
                mu_agree_peer_remove(round, round->peers[i].slot);
    }
}

static bool has(const struct mu_span *spans, uint32_t count, mu_slot slot)
{
    for (uint32_t i = 0; i < count; i++)
        if (slot >= spans[i].first && slot - spans[i].first < spans[i].count)
            return true;
    return false;
}

enum mu_fault mu_agree_open(struct mu_agree *agree, uint64_t id, const struct mu_span *spans,
                            uint32_t count)
{
    struct mu_agree_group *group = mu_agree_find(agree, id);
    /* All groups have the same capacity. */
    const char *error =
        mu_members_error(&agree->groups[0].members, agree->config.size, spans, count);
    if (error != NULL || !has(spans, count, agree->config.self) || (group != NULL && group->open))
        return MU_FAULT_AGREE_MEMBERS;
    if (group == NULL && (group = mu_agree_find_or_add(agree, id)) == NULL)
        return MU_FAULT_AGREE_GROUPS;
    mu_members_set(&group->members, spans, count);
    group->open = true;
    drop_strangers(group);
    return MU_FAULT_NONE;
}

void mu_agree_close(struct mu_agree *agree, uint64_t id)
{
    struct mu_agree_group *group = mu_agree_find(agree, id);
    if (group == NULL)
        return;
    for (uint32_t r = 0; r < MU_ROUNDS; r++)
        mu_agree_round_clear(&group->rounds[r]);
    memset(group->settled, 0, group->settled_count * sizeof *group->settled);
    group->settled_count = 0;
    group->used = group->open = group->learns = group->stale = false;
    group->id = group->decided = 0;
}

void mu_agree_round_clear(struct mu_round *round)
{
    mu_gather_clear(&round->value);
    mu_agree_peers_clear(round);
    round->status = MU_AGREE_IDLE;
    round->decided = round->delivered = round->told = false;
}

void mu_agree_collect(struct mu_agree *agree)
{
    for (uint32_t i = 0; i < agree->config.limits.groups; i++) {
        struct mu_agree_group *group = &agree->groups[i];
        if (group->stale)
            mu_agree_round_clear(mu_agree_round(group, group->decided - 1));
        group->stale = false;
    }
}

/* ---- peers of a round ---- */

static uint32_t place_of(const struct mu_round *round, mu_slot slot)
{
    uint32_t low = 0, high = round->peer_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (round->peers[middle].slot < slot)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct mu_round *round, uint32_t at, mu_slot slot)
{
    return at < round->peer_count && round->peers[at].slot == slot;
}

struct mu_agree_peer *mu_agree_peer_add(const struct mu_agree *agree, struct mu_round *round,
                                        mu_slot slot)
{
    uint32_t at = place_of(round, slot);
    struct mu_agree_peer *peer = &round->peers[at];
    if (is_at(round, at, slot))
        return peer;
    if (round->peer_count == mu_agree_peers_max(&agree->config))
        return NULL;
    memmove(peer + 1, peer, (round->peer_count - at) * sizeof *peer);
    round->peer_count++;
    *peer = (struct mu_agree_peer){.slot = slot};
    return peer;
}

bool mu_agree_peer_got(const struct mu_round *round, mu_slot slot)
{
    uint32_t at = place_of(round, slot);
    return is_at(round, at, slot) && round->peers[at].got;
}

void mu_agree_peer_remove(struct mu_round *round, mu_slot slot)
{
    uint32_t at = place_of(round, slot);
    if (!is_at(round, at, slot))
        return;
    round->peer_count--;
    memmove(&round->peers[at], &round->peers[at + 1],
            (round->peer_count - at) * sizeof round->peers[0]);
    memset(&round->peers[round->peer_count], 0, sizeof round->peers[0]);
}

void mu_agree_peers_clear(struct mu_round *round)
{
    memset(round->peers, 0, round->peer_count * sizeof *round->peers);
    round->peer_count = 0;
}

/* ---- the dead of a group ---- */

bool mu_agree_is_settled(const struct mu_agree_group *group, mu_slot slot)
{
    for (uint16_t i = 0; i < group->settled_count; i++)
        if (group->settled[i] == slot)
            return true;
    return false;
}

void mu_agree_add_dead(const struct mu_agree *agree, const struct mu_agree_group *group,
                       struct mu_round *round)
{
    for (uint32_t i = 0; i < agree->dead.count; i++) {
        mu_slot slot = agree->dead.entries[i].slot;
        if (mu_members_position(&group->members, slot) != UINT32_MAX &&
            !mu_agree_is_settled(group, slot))
            mu_gather_add_failed(&round->value, slot, agree->dead.entries[i].proven);
    }
}

/* Everything here follows from decisions alone: it is the same at all members. */
static void note_settled(const struct mu_agree *agree, struct mu_agree_group *group)
{
    const struct mu_gather *last = &mu_agree_round(group, group->decided)->value;
    uint32_t room = (uint32_t)agree->config.rebalance_at + agree->config.limits.failed;
    for (uint16_t i = 0; i < last->count && group->settled_count < room; i++) {
        const struct mu_failed *failed = &last->failed[i];
        if (failed->process == MU_FAILED_NODE && failed->acked &&
            mu_members_position(&group->members, failed->node) != UINT32_MAX &&
            !mu_agree_is_settled(group, failed->node))
            group->settled[group->settled_count++] = failed->node;
    }
}

enum mu_fault mu_agree_settle(const struct mu_agree *agree, struct mu_agree_group *group)
{
    if (group->decided == 0)
        return MU_FAULT_NONE;
    note_settled(agree, group);
    if (mu_agree_is_broken(agree, MU_AGREE_BROKEN_REBALANCE)) {
        for (uint32_t i = 0; i < agree->dead.count; i++)
            if (mu_members_position(&group->members, agree->dead.entries[i].slot) != UINT32_MAX)
                mu_members_remove(&group->members, agree->dead.entries[i].slot);
        return MU_FAULT_NONE;
    }
    if (group->settled_count < agree->config.rebalance_at)
        return MU_FAULT_NONE;
    enum mu_fault fault = MU_FAULT_NONE;
    while (group->settled_count > 0 && fault == MU_FAULT_NONE) {
        if (mu_members_remove(&group->members, group->settled[group->settled_count - 1]))
            group->settled[--group->settled_count] = 0;
        else
            fault = MU_FAULT_AGREE_RUNS;
    }
    drop_strangers(group);
    return fault;
}

bool mu_agree_is_member(const struct mu_agree *agree, uint64_t id, mu_slot slot)
{
    const struct mu_agree_group *group = mu_agree_find(agree, id);
    return group != NULL && group->open &&
           mu_members_position(&group->members, slot) != UINT32_MAX &&
           !mu_agree_is_settled(group, slot);
}
