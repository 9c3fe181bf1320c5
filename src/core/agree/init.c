/* Configuration, memory and fingerprint of an agreement. */
#include "core/agree/inside.h"

#include <assert.h>

/* ---- configuration ---- */

void mu_agree_config_default(struct mu_agree_config *config, uint32_t size, mu_slot self)
{
    *config = (struct mu_agree_config){
        .size = size,
        .self = self,
        .shift = 1,
        .rebalance_at = 4,
        .limits = {.dead = size < 4096 ? size : 4096, .groups = 16, .runs = 256, .failed = 256},
    };
}

const char *mu_agree_config_error(const struct mu_agree_config *config)
{
    if (config->size < 1 || config->size > MU_SIZE_MAX)
        return "the size of a machine is 1 to 2^24";
    if (config->self >= config->size)
        return "a node's slot is below the machine's size";
    if (config->shift > MU_TREE_SHIFT_MAX)
        return "the fan-out of the tree is at most 2^24";
    if (config->rebalance_at < 1)
        return "a tree is laid anew after at least one death";
    if (config->limits.dead < 1 || config->limits.groups < 1 || config->limits.runs < 1 ||
        config->limits.failed < 1)
        return "every capacity is at least 1";
    return NULL;
}

/* ---- memory ---- */

static void init_round(struct mu_round *round, struct mu_arena *arena,
                       const struct mu_agree_config *config)
{
    round->value.failed = mu_arena_array(arena, config->limits.failed, sizeof *round->value.failed);
    round->value.capacity = config->limits.failed;
    round->value.entries =
        mu_arena_array(arena, config->limits.entries, sizeof *round->value.entries);
    round->value.entry_capacity = config->limits.entries;
    round->peers = mu_arena_array(arena, mu_agree_peers_max(config), sizeof *round->peers);
    if (arena->base != NULL)
        mu_agree_round_clear(round);
}

/* In a measuring arena 'agree' is worth nothing afterwards. */
static void build(struct mu_agree *agree, struct mu_arena *arena,
                  const struct mu_agree_config *config)
{
    agree->config = *config;
    mu_roster_init(&agree->dead, arena, config->size, config->limits.dead);
    agree->notes = (struct mu_gather){
        .bits = UINT64_MAX,
        .entries = mu_arena_array(arena, config->limits.entries, sizeof *agree->notes.entries),
        .entry_capacity = config->limits.entries};
    agree->groups = mu_arena_array(arena, config->limits.groups, sizeof *agree->groups);
    for (uint32_t i = 0; i < config->limits.groups; i++) {
        struct mu_agree_group measured = {0};
        struct mu_agree_group *group = agree->groups == NULL ? &measured : &agree->groups[i];
        mu_members_init(&group->members, arena, config->limits.runs);
        group->settled = mu_arena_array(arena, (size_t)config->rebalance_at + config->limits.failed,
                                        sizeof *group->settled);
        for (uint32_t r = 0; r < MU_ROUNDS; r++)
            init_round(&group->rounds[r], arena, config);
    }
}

size_t mu_agree_bytes(const struct mu_agree_config *config)
{
    struct mu_arena arena;
    struct mu_agree measured;
    mu_arena_init(&arena, NULL, 0);
    mu_arena_array(&arena, 1, sizeof measured);
    build(&measured, &arena, config);
    return (arena.used + 63) / 64 * 64;
}

struct mu_agree *mu_agree_init(void *memory, size_t bytes, const struct mu_agree_config *config)
{
    assert(mu_agree_config_error(config) == NULL);
    struct mu_arena arena;
    mu_arena_init(&arena, memory, bytes);
    struct mu_agree *agree = mu_arena_array(&arena, 1, sizeof *agree);
    build(agree, &arena, config);
    return agree;
}

uint32_t mu_agree_effects_max(const struct mu_agree_config *config)
{
    /* Each type of message at most once to each peer, and to each ancestor, in each group. */
    enum { TYPES = MU_AGREE_MESSAGE_LAST, ANCESTORS = 32, REST = 4 };
    uint32_t peers = mu_agree_peers_max(config) + ANCESTORS;
    return config->limits.groups * (TYPES * peers + REST) + 2 * config->limits.dead + REST;
}

/* ---- fingerprint ---- */

static void print_entry(const struct mu_agree_entry *entry, struct mu_fingerprint *print)
{
    mu_fingerprint_add(print, entry->key);
    mu_fingerprint_add(print, (uint64_t)entry->kind << 8 | entry->length);
    for (uint32_t i = 0; i < entry->length; i++)
        mu_fingerprint_add(print, entry->bytes[i]);
}

static void print_round(const struct mu_round *round, struct mu_fingerprint *print)
{
    mu_fingerprint_add(print, (uint64_t)round->peer_count << 32 |
                                  (uint64_t)round->value.count << 16 |
                                  (uint64_t)round->status << 8 | (uint64_t)round->value.more << 4 |
                                  (uint64_t)round->value.any << 3 | (uint64_t)round->told << 2 |
                                  (uint64_t)round->delivered << 1 | (uint64_t)round->decided);
    if (round->value.any)
        mu_fingerprint_add(print, round->value.bits);
    for (uint32_t i = 0; i < round->value.count; i++)
        mu_fingerprint_add(print, (uint64_t)round->value.failed[i].process << 32 |
                                      (uint64_t)round->value.failed[i].node << 2 |
                                      (uint64_t)round->value.failed[i].proven << 1 |
                                      round->value.failed[i].acked);
    for (uint32_t i = 0; i < round->value.entry_count; i++)
        print_entry(&round->value.entries[i], print);
    if (round->value.entries_more)
        mu_fingerprint_add(print, UINT64_MAX);
    for (uint32_t i = 0; i < round->peer_count; i++)
        mu_fingerprint_add(print, (uint64_t)round->peers[i].slot << 2 |
                                      (uint64_t)round->peers[i].got << 1 | round->peers[i].asks);
}

static void print_group(const struct mu_agree_group *group, struct mu_fingerprint *print)
{
    mu_fingerprint_add(print, group->id);
    mu_fingerprint_add(print, group->decided << 1 | (uint64_t)group->open);
    mu_fingerprint_add(print, (uint64_t)group->settled_count << 32 | group->members.count);
    for (uint16_t i = 0; i < group->settled_count; i++)
        mu_fingerprint_add(print, group->settled[i]);
    for (uint32_t i = 0; i < group->members.count; i++)
        mu_fingerprint_add(print, (uint64_t)group->members.runs[i].first << 32 |
                                      group->members.runs[i].position);
    uint64_t last = group->decided + (group->stale ? 1 : 2);
    for (uint64_t number = group->decided; number <= last; number++)
        print_round(&group->rounds[number % MU_ROUNDS], print);
}

void mu_agree_fingerprint(const struct mu_agree *agree, struct mu_fingerprint *print)
{
    mu_fingerprint_add(print, (uint64_t)agree->held << 1 | (uint64_t)agree->fenced);
    mu_fingerprint_add(print, agree->dead.count);
    for (uint32_t i = 0; i < agree->dead.count; i++)
        mu_fingerprint_add(print, (uint64_t)agree->dead.entries[i].slot << 33 |
                                      (uint64_t)agree->dead.entries[i].proven << 32 |
                                      agree->dead.entries[i].incarnation);
    for (uint32_t i = 0; i < agree->notes.entry_count; i++)
        print_entry(&agree->notes.entries[i], print);
    if (agree->notes.entries_more)
        mu_fingerprint_add(print, UINT64_MAX);
    if (mu_agree_is_broken(agree, MU_AGREE_BROKEN_DISCARD_TOLD))
        mu_fingerprint_add(print, agree->told_by_ask);
    for (uint32_t i = 0; i < agree->config.limits.groups; i++)
        if (agree->groups[i].used)
            print_group(&agree->groups[i], print);
}
