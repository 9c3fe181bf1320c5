#include "core/advise/inside.h"

#include <assert.h>
#include <stdlib.h>

/* ---- configuration ---- */

enum { ALL_PAIRS_MAX = 16, ALL_PAIRS_LIMIT = 64, ZETA = 5, PASSES_MAX = 1000 };

void mu_advise_config_default(struct mu_advise_config *config, uint32_t size, mu_slot self)
{
    bool pairs = size <= ALL_PAIRS_MAX;
    uint32_t changed = size < 1024 ? size : 1024;
    *config =
        (struct mu_advise_config){.size = size,
                                  .self = self,
                                  .assignment = pairs ? MU_ADVISE_ALL_PAIRS : MU_ADVISE_CLUSTERS,
                                  .zeta = ZETA,
                                  .members_min = (size + 1) / 2,
                                  .has_program = true};
    mu_test_rules_default(&config->test);
    config->limits = (struct mu_advise_limits){.changed = changed,
                                               .tested = size <= 256 ? size : 256,
                                               .words = 1024,
                                               .dead = changed,
                                               .others = 4};
}

const char *mu_advise_config_error(const struct mu_advise_config *config)
{
    if (config->size < 1 || config->size > MU_SIZE_MAX)
        return "the size of a machine is 1 to 2^24";
    if (config->self >= config->size)
        return "a slot is below the machine's size";
    if (config->zeta < 1 || config->zeta > PASSES_MAX)
        return "who is out comes back after 1 to 1000 passes";
    if (config->members_min < 1 || config->members_min > config->size)
        return "the least number of members is 1 to the machine's size";
    if (config->assignment == MU_ADVISE_ALL_PAIRS && config->size > ALL_PAIRS_LIMIT)
        return "all pairs test each other up to 64; above it, clusters";
    if (config->test.factor_percent <= 100 || config->test.printed_factor_percent < 100)
        return "a threshold is above what is normal";
    if (config->test.failures < 1 || config->test.failures > MU_TEST_HISTORY)
        return "1 to 3 of the last 3 tests accuse";
    if (config->limits.changed < 1 || config->limits.tested < 1 || config->limits.words < 1 ||
        config->limits.dead < 1 || config->limits.others < 1)
        return "every limit is at least 1";
    return NULL;
}

/* ---- memory ---- */

static void build_others(struct mu_advise *advise, struct mu_arena *arena,
                         const struct mu_advise_config *config)
{
    struct mu_advise_other *others =
        mu_arena_array(arena, config->limits.others, sizeof *advise->others);
    advise->others = others;
    for (uint32_t i = 0; i < config->limits.others; i++) {
        struct mu_advise_other measured;
        struct mu_advise_other *other = others != NULL ? &others[i] : &measured;
        mu_advise_group_init(&other->group, arena, config->limits.changed);
        mu_advise_group_init(&other->next, arena, config->limits.changed);
    }
}

/* In a measuring arena 'advise' is worth nothing afterwards. */
static void build(struct mu_advise *advise, struct mu_arena *arena,
                  const struct mu_advise_config *config)
{
    const struct mu_advise_limits *limits = &config->limits;
    mu_advise_group_init(&advise->group, arena, limits->changed);
    mu_advise_group_init(&advise->next, arena, limits->changed);
    build_others(advise, arena, config);
    mu_roster_init(&advise->dead, arena, config->size, limits->dead);
    advise->trials = mu_arena_array(arena, limits->tested, sizeof *advise->trials);
    advise->trials_old = mu_arena_array(arena, limits->tested, sizeof *advise->trials);
    advise->times = mu_arena_array(arena, limits->tested + 1, sizeof *advise->times);
    advise->tested = mu_arena_array(arena, limits->tested, sizeof *advise->tested);
    advise->tally = mu_arena_array(arena, limits->words, sizeof *advise->tally);
    advise->accused = mu_arena_array(arena, limits->tested, sizeof *advise->accused);
    advise->said = (struct mu_advise_gather){.capacity = limits->tested};
    advise->said.words = mu_arena_array(arena, limits->tested, sizeof *advise->said.words);
}

size_t mu_advise_bytes(const struct mu_advise_config *config)
{
    struct mu_arena arena;
    struct mu_advise measured;
    mu_arena_init(&arena, NULL, 0);
    mu_arena_array(&arena, 1, sizeof measured);
    build(&measured, &arena, config);
    return (arena.used + 63) / 64 * 64;
}

struct mu_advise *mu_advise_init(void *memory, size_t bytes, const struct mu_advise_config *config)
{
    assert(mu_advise_config_error(config) == NULL);
    struct mu_arena arena;
    mu_arena_init(&arena, memory, bytes);
    struct mu_advise *advise = mu_arena_array(&arena, 1, sizeof *advise);
    build(advise, &arena, config);
    advise->config = *config;
    advise->config.test.broken_rules = config->broken_rules;
    mu_advise_group_all(&advise->group, config->size, 1);
    advise->works = true;
    struct mu_advise_update nothing = {0};
    if (mu_advise_tested(&advise->group, config->assignment, config->self, NULL, 0) <=
        config->limits.tested)
        mu_advise_retest(advise, &nothing);
    return advise;
}

/* ---- effects ---- */

/* Asks; for each group besides the own one a contribution, a round and a fault; and what comes once
 * in a step. */
uint32_t mu_advise_effects_max(const struct mu_advise_config *config)
{
    return config->limits.tested + 4u * config->limits.others + 16;
}

struct mu_advise_effect *mu_advise_add(struct mu_advise_update *update,
                                       enum mu_advise_effect_type type)
{
    assert(update->count < update->capacity);
    struct mu_advise_effect *effect = &update->effects[update->count++];
    *effect = (struct mu_advise_effect){.type = type};
    return effect;
}

void mu_advise_fault(struct mu_advise_update *update, enum mu_fault fault)
{
    mu_advise_add(update, MU_ADVISE_FAULT)->fault = fault;
}

/* ---- the door ---- */

static void hear(struct mu_advise *advise, const struct mu_advise_notice *notice,
                 struct mu_advise_update *update)
{
    if (notice->type == MU_ADVISE_GROUP && notice->group->size == advise->config.size)
        mu_advise_hear_group(advise, notice->group, update);
    else if (notice->type == MU_ADVISE_REFOUND)
        mu_advise_hear_refound(advise, notice->number, update);
}

static void learn(struct mu_advise *advise, mu_slot dead, struct mu_advise_update *update)
{
    if (dead >= advise->config.size)
        mu_advise_fault(update, MU_FAULT_SLOT_RANGE);
    else if (!mu_roster_fits(&advise->dead, dead))
        mu_advise_fault(update, MU_FAULT_DEAD_FULL);
    else if (mu_roster_out(&advise->dead, dead, 0))
        mu_advise_look(advise, update);
}

void mu_advise_step(struct mu_advise *advise, const struct mu_advise_event *event,
                    struct mu_advise_update *update)
{
    update->count = 0;
    switch (event->type) {
    case MU_ADVISE_INTERVAL:
        mu_advise_interval(advise, event, update);
        return;
    case MU_ADVISE_ANSWER:
        mu_advise_answer(advise, event);
        return;
    case MU_ADVISE_ARRIVE:
        mu_advise_arrive(advise, event->arrive.bits, update);
        return;
    case MU_ADVISE_BEGUN:
        mu_advise_begun(advise, &event->begun, update);
        return;
    case MU_ADVISE_DECIDED:
        mu_advise_decided(advise, event, update);
        return;
    case MU_ADVISE_REFOUNDED:
        mu_advise_refounded(advise, event, update);
        return;
    case MU_ADVISE_HEAR:
        hear(advise, event->notice, update);
        return;
    case MU_ADVISE_DEAD:
        learn(advise, event->dead, update);
        return;
    }
    abort();
}

/* ---- looking ---- */

bool mu_advise_works(const struct mu_advise *advise)
{
    return advise->works;
}

const struct mu_advise_group *mu_advise_group_of(const struct mu_advise *advise)
{
    return &advise->group;
}

static void print_key(struct mu_fingerprint *print, const struct mu_advise_group *group)
{
    struct mu_advise_key key = mu_advise_group_key(group);
    mu_fingerprint_add(print, (uint64_t)key.era << 40 ^ key.round);
    mu_fingerprint_add(print, key.hash);
}

static void print_trial(struct mu_fingerprint *print, const struct mu_trial *trial)
{
    mu_fingerprint_add(print, (uint64_t)trial->slot << 32 | trial->stint);
    mu_fingerprint_add(print, (uint64_t)trial->passes << 16 | (uint64_t)trial->failed << 8 |
                                  (uint64_t)trial->tests << 2 | (uint64_t)trial->asked << 1 |
                                  trial->accused);
    mu_fingerprint_add(print, trial->time_ns);
    mu_fingerprint_add(print, trial->printed.mean_ns);
    mu_fingerprint_add(print, trial->printed.deviation_ns);
}

static void print_other(struct mu_fingerprint *print, const struct mu_advise_other *other)
{
    mu_fingerprint_add(print,
                       (uint64_t)other->said << 2 | (uint64_t)other->decided << 1 | other->ready);
    print_key(print, &other->group);
    if (other->decided)
        print_key(print, &other->next);
}

void mu_advise_fingerprint(const struct mu_advise *advise, struct mu_fingerprint *print)
{
    mu_fingerprint_add(print, (uint64_t)advise->works << 2 | (uint64_t)advise->contributed << 1 |
                                  advise->joined);
    mu_fingerprint_add(print, (uint64_t)advise->refounds << 32 | advise->called);
    print_key(print, &advise->group);
    mu_fingerprint_add(print, advise->begun.round ^ advise->begun.hash);
    for (uint32_t i = 0; i < advise->config.limits.others; i++)
        if (advise->others[i].used)
            print_other(print, &advise->others[i]);
    for (uint32_t i = 0; i < MU_ADVISE_PAST; i++)
        mu_fingerprint_add(print, advise->past[i].hash + advise->past[i].round);
    for (uint32_t i = 0; i < advise->dead.count; i++)
        mu_fingerprint_add(print, advise->dead.entries[i].slot);
    for (uint32_t i = 0; advise->works && i < advise->trial_count; i++)
        print_trial(print, &advise->trials[i]);
    mu_fingerprint_add(print, advise->median_ns);
}
