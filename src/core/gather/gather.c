#include "core/gather/gather.h"

#include "core/base/tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool is_broken(const struct mu_allgather *gather, uint32_t rule)
{
    return (gather->config.broken_rules & rule) != 0;
}

static struct mu_tree tree_of(const struct mu_allgather *gather)
{
    return (struct mu_tree){&gather->members, &gather->out, gather->config.shift};
}

static struct mu_allgather_round *round_of(struct mu_allgather *gather, uint64_t number)
{
    return &gather->rounds[number % MU_ALLGATHER_ROUNDS];
}

/* ---- configuration ---- */

static uint32_t count_members(const struct mu_allgather_config *config)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < config->span_count; i++)
        total += config->spans[i].count;
    return total;
}

static bool has_self(const struct mu_allgather_config *config)
{
    for (uint32_t i = 0; i < config->span_count; i++)
        if (config->self >= config->spans[i].first &&
            config->self - config->spans[i].first < config->spans[i].count)
            return true;
    return false;
}

const char *mu_allgather_config_error(const struct mu_allgather_config *config)
{
    const struct mu_members any = {.capacity = config->span_count};
    if (config->size < 1 || config->size > MU_SIZE_MAX)
        return "the size of a machine is 1 to 2^24";
    if (config->shift > MU_TREE_SHIFT_MAX)
        return "the fan-out of the tree is at most 2^24";
    const char *rule = mu_members_error(&any, config->size, config->spans, config->span_count);
    if (rule != NULL)
        return rule;
    return has_self(config) ? NULL : "this node is a member of its exchanges";
}

/* ---- memory ---- */

/* In a measuring arena 'gather' is worth nothing afterwards. */
static void build(struct mu_allgather *gather, struct mu_arena *arena,
                  const struct mu_allgather_config *config)
{
    uint32_t total = count_members(config);
    gather->words = total / 64 + 1;
    mu_members_init(&gather->members, arena, config->span_count);
    mu_roster_init(&gather->out, arena, config->size, total);
    gather->out_bits = mu_arena_array(arena, gather->words, sizeof *gather->out_bits);
    for (uint32_t i = 0; i < MU_ALLGATHER_ROUNDS; i++) {
        struct mu_allgather_round *round = &gather->rounds[i];
        round->have = mu_arena_array(arena, gather->words, sizeof *round->have);
        round->asks = mu_arena_array(arena, gather->words, sizeof *round->asks);
        round->asked = mu_arena_array(arena, gather->words, sizeof *round->asked);
        round->up_to = MU_SLOT_NONE;
    }
}

size_t mu_allgather_bytes(const struct mu_allgather_config *config)
{
    struct mu_arena arena;
    struct mu_allgather measured;
    mu_arena_init(&arena, NULL, 0);
    mu_arena_array(&arena, 1, sizeof measured);
    build(&measured, &arena, config);
    return (arena.used + 63) / 64 * 64;
}

struct mu_allgather *mu_allgather_init(void *memory, size_t bytes,
                                       const struct mu_allgather_config *config)
{
    assert(mu_allgather_config_error(config) == NULL);
    struct mu_arena arena;
    mu_arena_init(&arena, memory, bytes);
    struct mu_allgather *gather = mu_arena_array(&arena, 1, sizeof *gather);
    build(gather, &arena, config);
    mu_members_set(&gather->members, config->spans, config->span_count);
    gather->config = *config;
    gather->config.spans = NULL;
    gather->done = config->done;
    gather->position = mu_members_position(&gather->members, config->self);
    return gather;
}

static void clear_round(struct mu_allgather *gather, struct mu_allgather_round *round)
{
    memset(round->have, 0, gather->words * sizeof *round->have);
    memset(round->asks, 0, gather->words * sizeof *round->asks);
    memset(round->asked, 0, gather->words * sizeof *round->asked);
    round->up_to = MU_SLOT_NONE;
    round->called = false;
}

/* ---- effects ---- */

/* Each member at most once, and DELIVER, FORGET. */
uint32_t mu_allgather_effects_max(const struct mu_allgather_config *config)
{
    return count_members(config) + 2;
}

static struct mu_allgather_effect *add(struct mu_allgather_update *update,
                                       enum mu_allgather_effect_type type, uint64_t number)
{
    assert(update->count < update->capacity);
    struct mu_allgather_effect *effect = &update->effects[update->count++];
    *effect = (struct mu_allgather_effect){.type = type, .peer = MU_SLOT_NONE};
    effect->message.round = number;
    return effect;
}

static void send(struct mu_allgather *gather, enum mu_allgather_type type, uint64_t number,
                 mu_slot peer, struct mu_allgather_update *update)
{
    struct mu_allgather_effect *effect = add(update, MU_ALLGATHER_SEND, number);
    effect->peer = peer;
    effect->message.type = (uint8_t)type;
    effect->message.parts = type == MU_ALLGATHER_WANT ? NULL : round_of(gather, number)->have;
}

static void deliver(struct mu_allgather *gather, uint64_t number,
                    struct mu_allgather_update *update)
{
    add(update, MU_ALLGATHER_DELIVER, number)->message.parts = round_of(gather, number)->have;
}

/* ---- what is there ---- */

/* Is everybody from one position to another (both included) here, or out? */
static bool covers_range(const struct mu_allgather *gather, const uint64_t *have, uint32_t first,
                         uint32_t last)
{
    for (uint32_t word = first / 64; word <= last / 64; word++) {
        uint64_t wanted = UINT64_MAX;
        if (word == first / 64)
            wanted &= UINT64_MAX << first % 64;
        if (word == last / 64)
            wanted &= UINT64_MAX >> (63 - last % 64);
        if ((wanted & ~(have[word] | gather->out_bits[word])) != 0)
            return false;
    }
    return true;
}

/* All below this node in the tree, level by level.  While it lives, whoever is below it finds its
 * parent there, too, or here: so deaths do not change who these are. */
static bool covers_below(const struct mu_allgather *gather, const uint64_t *have)
{
    uint64_t first = gather->position, last = first, total = gather->members.total;
    for (;;) {
        first = (first << gather->config.shift) + 1;
        last = (last + 1) << gather->config.shift;
        if (first >= total)
            return true;
        if (!covers_range(gather, have, (uint32_t)first,
                          (uint32_t)(last < total ? last : total - 1)))
            return false;
    }
}

static bool covers(const struct mu_allgather *gather, const struct mu_allgather_round *round,
                   bool all)
{
    if (is_broken(gather, MU_ALLGATHER_BROKEN_COVER))
        return true;
    if (all)
        return covers_range(gather, round->have, 0, gather->members.total - 1);
    return covers_below(gather, round->have);
}

/* ---- the rules ---- */

/* X5, X8. */
static void finish(struct mu_allgather *gather, uint64_t number, struct mu_allgather_update *update)
{
    struct mu_allgather_round *round = round_of(gather, number);
    struct mu_tree tree = tree_of(gather);
    struct mu_tree_walk walk;
    for (mu_slot child = mu_tree_first_child(&tree, gather->config.self, &walk);
         child != MU_SLOT_NONE; child = mu_tree_next_child(&tree, &walk)) {
        send(gather, MU_ALLGATHER_DOWN, number, child, update);
        uint32_t position = mu_members_position(&gather->members, child);
        round->asks[position / 64] &= ~(UINT64_C(1) << position % 64);
    }
    for (uint32_t word = 0; word < gather->words; word++)
        while (round->asks[word] != 0) {
            uint32_t position = word * 64 + (uint32_t)__builtin_ctzll(round->asks[word]);
            round->asks[word] &= round->asks[word] - 1;
            if (!is_broken(gather, MU_ALLGATHER_BROKEN_ASKERS))
                send(gather, MU_ALLGATHER_DOWN, number, mu_members_slot(&gather->members, position),
                     update);
        }
    memset(round->asked, 0, gather->words * sizeof *round->asked);
    round->up_to = MU_SLOT_NONE;
    gather->done = number;
    gather->forgot = false;
    deliver(gather, number, update);
    if (number > 1)
        add(update, MU_ALLGATHER_FORGET, number - 1);
    clear_round(gather, round_of(gather, number - 1));
}

/* X2, X3: at the end of every step. */
static void complete(struct mu_allgather *gather, struct mu_allgather_update *update)
{
    uint64_t number = gather->done + 1;
    struct mu_allgather_round *round = round_of(gather, number);
    if (!round->called)
        return;
    struct mu_tree tree = tree_of(gather);
    mu_slot parent = mu_tree_parent(&tree, gather->config.self);
    if (!covers(gather, round, parent == MU_SLOT_NONE))
        return;
    if (parent == MU_SLOT_NONE) {
        finish(gather, number, update);
        return;
    }
    bool again = round->up_to == MU_SLOT_NONE || !is_broken(gather, MU_ALLGATHER_BROKEN_AGAIN);
    if (round->up_to != parent && again) {
        send(gather, MU_ALLGATHER_UP, number, parent, update);
        round->up_to = parent;
    }
}

/* X1. */
static enum mu_fault call(struct mu_allgather *gather, struct mu_allgather_update *update)
{
    struct mu_allgather_round *round = round_of(gather, gather->done + 1);
    if (round->called)
        return MU_FAULT_GATHER_CALL;
    round->called = true;
    mu_allgather_put(round->have, gather->position);
    gather->forgot = is_broken(gather, MU_ALLGATHER_BROKEN_FORGET);
    complete(gather, update);
    return MU_FAULT_NONE;
}

static void merge(struct mu_allgather *gather, struct mu_allgather_round *round,
                  const uint64_t *parts)
{
    bool own = mu_allgather_in(round->have, gather->position); /* nobody else can give that */
    for (uint32_t word = 0; word < gather->words; word++)
        round->have[word] |= parts[word];
    if (!own)
        round->have[gather->position / 64] &= ~(UINT64_C(1) << gather->position % 64);
}

/* X4. */
static void answer(struct mu_allgather *gather, mu_slot from,
                   const struct mu_allgather_message *message, struct mu_allgather_update *update)
{
    bool asks = message->type == MU_ALLGATHER_UP || message->type == MU_ALLGATHER_WANT;
    if (asks && !is_broken(gather, MU_ALLGATHER_BROKEN_ANSWER) && !gather->forgot)
        send(gather, MU_ALLGATHER_DOWN, message->round, from, update);
}

static enum mu_fault receive(struct mu_allgather *gather, mu_slot from,
                             const struct mu_allgather_message *message,
                             struct mu_allgather_update *update)
{
    uint32_t position = mu_members_position(&gather->members, from);
    uint64_t number = message->round;
    struct mu_allgather_round *round = round_of(gather, number);
    if (position == UINT32_MAX || from == gather->config.self)
        return MU_FAULT_GATHER_MEMBER;
    if (number < 1 || number > gather->done + 2)
        return MU_FAULT_GATHER_ROUND;
    if (number > gather->done && message->type == MU_ALLGATHER_DOWN &&
        (number > gather->done + 1 || !round->called))
        return MU_FAULT_GATHER_RESULT;
    if (number < gather->done)
        return MU_FAULT_NONE; /* X8: whoever sent it has got it since */
    if (number == gather->done) {
        answer(gather, from, message, update);
        return MU_FAULT_NONE;
    }
    if (message->parts != NULL)
        merge(gather, round, message->parts);
    if (message->type == MU_ALLGATHER_DOWN) {
        finish(gather, number, update);
        return MU_FAULT_NONE;
    }
    if (message->type != MU_ALLGATHER_PART && !mu_allgather_is_out(gather, position))
        mu_allgather_put(round->asks, position);
    complete(gather, update);
    return MU_FAULT_NONE;
}

/* X6: the root before this one may have had the result, and have told some. */
static void want(struct mu_allgather *gather, struct mu_allgather_update *update)
{
    uint64_t number = gather->done + 1;
    struct mu_allgather_round *round = round_of(gather, number);
    struct mu_tree tree = tree_of(gather);
    bool is_new_root =
        gather->position > 0 && mu_tree_parent(&tree, gather->config.self) == MU_SLOT_NONE;
    if (!round->called || !is_new_root || is_broken(gather, MU_ALLGATHER_BROKEN_WANT))
        return;
    struct mu_tree_walk walk;
    for (mu_slot child = mu_tree_first_child(&tree, gather->config.self, &walk);
         child != MU_SLOT_NONE; child = mu_tree_next_child(&tree, &walk)) {
        uint32_t position = mu_members_position(&gather->members, child);
        if (mu_allgather_in(round->asked, position))
            continue;
        mu_allgather_put(round->asked, position);
        send(gather, MU_ALLGATHER_WANT, number, child, update);
    }
}

/* X7. */
static void retire(struct mu_allgather *gather, struct mu_allgather_update *update)
{
    gather->retired = true;
    if (round_of(gather, gather->done + 1)->called)
        deliver(gather, gather->done + 1, update);
}

static void lose(struct mu_allgather *gather, mu_slot slot, struct mu_allgather_update *update)
{
    uint32_t position = mu_members_position(&gather->members, slot);
    if (position == UINT32_MAX || mu_allgather_is_out(gather, position))
        return;
    mu_roster_out(&gather->out, slot, 1);
    mu_allgather_put(gather->out_bits, position);
    if (slot == gather->config.self) {
        retire(gather, update);
        return;
    }
    for (uint32_t i = 0; i < MU_ALLGATHER_ROUNDS; i++)
        gather->rounds[i].asks[position / 64] &= ~(UINT64_C(1) << position % 64);
    uint64_t done = gather->done;
    complete(gather, update);
    if (gather->done == done)
        want(gather, update);
}

static void add_fault(struct mu_allgather_update *update, enum mu_fault fault, mu_slot peer)
{
    if (fault == MU_FAULT_NONE)
        return;
    struct mu_allgather_effect *effect = add(update, MU_ALLGATHER_FAULT, 0);
    effect->fault = fault;
    effect->peer = peer;
}

void mu_allgather_step(struct mu_allgather *gather, const struct mu_allgather_event *event,
                       struct mu_allgather_update *update)
{
    update->count = 0;
    if (gather->retired)
        return;
    switch (event->type) {
    case MU_ALLGATHER_CALL:
        add_fault(update, call(gather, update), MU_SLOT_NONE);
        return;
    case MU_ALLGATHER_RECV:
        add_fault(update, receive(gather, event->slot, event->message, update), event->slot);
        return;
    case MU_ALLGATHER_OUT:
        lose(gather, event->slot, update);
        return;
    }
    abort();
}

/* ---- looking ---- */

bool mu_allgather_lacks(const struct mu_allgather *gather, uint64_t round, uint32_t position)
{
    if (gather->retired || round <= gather->done || round > gather->done + 2 ||
        position == gather->position)
        return false;
    return !mu_allgather_in(gather->rounds[round % MU_ALLGATHER_ROUNDS].have, position);
}

bool mu_allgather_is_out(const struct mu_allgather *gather, uint32_t position)
{
    return mu_allgather_in(gather->out_bits, position);
}

void mu_allgather_fingerprint(const struct mu_allgather *gather, struct mu_fingerprint *print)
{
    mu_fingerprint_add(print, gather->done << 2 | (uint64_t)gather->retired << 1 |
                                  (uint64_t)gather->forgot);
    for (uint32_t word = 0; word < gather->words; word++)
        mu_fingerprint_add(print, gather->out_bits[word]);
    for (uint64_t number = gather->done; number <= gather->done + 2; number++) {
        const struct mu_allgather_round *round = &gather->rounds[number % MU_ALLGATHER_ROUNDS];
        mu_fingerprint_add(print, (uint64_t)round->up_to << 1 | (uint64_t)round->called);
        for (uint32_t word = 0; word < gather->words; word++) {
            mu_fingerprint_add(print, round->have[word]);
            mu_fingerprint_add(print, round->asks[word]);
            mu_fingerprint_add(print, round->asked[word]);
        }
    }
}
