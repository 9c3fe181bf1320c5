#include "sim/advise/world.h"

#include "sim/base/memory.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { WELL_FOR = 4, SLOW_FOR = 8, ROUNDS_LEFT = 4, SLOW_MOST = 8 };

void advise_law_init(struct advise_world *world)
{
    size_t pairs = world->plan->tracked ? (size_t)world->size * world->size : 0;
    world->pairs = sim_calloc(pairs + 1, sizeof *world->pairs);
    world->bad_until = sim_calloc(pairs + 1, sizeof *world->bad_until);
    world->accused_by = sim_calloc(2 * pairs + 1, sizeof *world->accused_by);
    world->passes_by = sim_calloc(2 * pairs + 1, sizeof *world->passes_by);
    world->sound = sim_calloc(world->size, sizeof *world->sound);
}

void advise_law_free(struct advise_world *world)
{
    for (uint32_t i = 0; i < world->record_count; i++)
        free(world->records[i].hash);
    free(world->records);
    free(world->pairs);
    free(world->bad_until);
    free(world->accused_by);
    free(world->passes_by);
    free(world->sound);
}

void advise_law_fail(struct advise_world *world, const char *law, const char *format, ...)
{
    if (world->broken != NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(world->message, sizeof world->message, format, arguments);
    va_end(arguments);
    world->broken = law;
    world->broken_step = world->events;
}

static struct advise_pair *pair_of(const struct advise_world *world, mu_slot tester, mu_slot tested)
{
    return &world->pairs[(size_t)tester * world->size + tested];
}

static size_t said_at(const struct advise_world *world, uint64_t round, mu_slot slot, mu_slot other)
{
    return ((size_t)(round % 2) * world->size + slot) * world->size + other;
}

/* ---- what the laws count themselves ---- */

/* Counts anew in each stint of either. */
static struct advise_pair *count_in(struct advise_world *world, const struct mu_advise_group *group,
                                    mu_slot tester, mu_slot tested)
{
    struct advise_pair *pair = pair_of(world, tester, tested);
    uint32_t own = mu_advise_group_get(group, tester).count;
    uint32_t its = mu_advise_group_get(group, tested).count;
    if (pair->era != group->era || pair->own_stint != own || pair->stint != its)
        *pair = (struct advise_pair){.era = group->era, .own_stint = own, .stint = its};
    return pair;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The lower median of members, by another way than the core's. */
static uint64_t median_of(const struct advise_world *world, const struct mu_advise_group *group,
                          const uint64_t *times, uint64_t own_ns)
{
    uint64_t values[ADVISE_TRACKED_MAX + 1] = {own_ns};
    uint32_t count = 1;
    for (mu_slot slot = 0; slot < world->size; slot++)
        if (times[slot] != MU_NEVER && mu_advise_is_member(group, slot))
            values[count++] = times[slot];
    qsort(values, count, sizeof values[0], compare);
    return values[(count - 1) / 2];
}

void advise_law_tests(struct advise_world *world, mu_slot tester, const uint64_t *times,
                      uint64_t own_ns, bool late)
{
    const struct mu_advise *advise = advise_at(world, tester);
    const struct advise_seat *seat = &world->seats[tester];
    if (!mu_advise_works(advise)) {
        world->sound[tester] = 0;
        return;
    }
    const struct mu_advise_group *group = mu_advise_group_of(advise);
    uint64_t median_ns = median_of(world, group, times, own_ns);
    bool sound = !late && median_ns < ADVISE_RUN_NS * world->stall_percent / 100 * 13 / 10;
    world->sound[tester] =
        (uint8_t)(sound ? world->sound[tester] + (world->sound[tester] < 100) : 0);
    for (uint32_t i = 0; i < seat->asked_count; i++) {
        mu_slot peer = seat->asked[i];
        struct advise_pair *pair = count_in(world, group, tester, peer);
        if (!advise_is_asked(world, tester, peer))
            continue;
        if (times[peer] == MU_NEVER && !late)
            world->bad_until[(size_t)tester * world->size + peer] = world->interval + 1;
        if (late)
            continue;
        bool failed = times[peer] == MU_NEVER ||
                      times[peer] > median_ns * world->plan->config.test.factor_percent / 100;
        pair->failed = (uint8_t)((pair->failed << 1 | failed) & 7);
        pair->tests += pair->tests < 3;
        if (pair->tests < 3)
            pair->third = world->interval + 1;
        pair->passes = failed ? 0 : pair->passes + 1;
    }
}

/* R3, half of it: on which tests.  false: nobody that is well. */
void advise_law_accuses(struct advise_world *world, mu_slot tester, mu_slot accused)
{
    if (!world->plan->tracked)
        return;
    const struct mu_advise *advise = advise_at(world, tester);
    struct advise_pair *pair = count_in(world, mu_advise_group_of(advise), tester, accused);
    bool well =
        world->seats[accused].alive && world->well_since[accused] + WELL_FOR <= world->interval &&
        world->bad_until[(size_t)tester * world->size + accused] + WELL_FOR <= world->interval;
    if (well)
        advise_law_fail(world, "false", "node %u accuses node %u, which is well", tester, accused);
    if ((pair->failed & 1) == 0 || __builtin_popcount(pair->failed) < 2)
        advise_law_fail(world, "R3", "node %u accuses node %u without two failed tests in 3",
                        tester, accused);
    pair->accused = true;
}

void advise_law_contributes(struct advise_world *world, mu_slot slot)
{
    if (!world->plan->tracked)
        return;
    const struct mu_advise_group *group = mu_advise_group_of(advise_at(world, slot));
    for (mu_slot other = 0; other < world->size; other++) {
        struct advise_pair *pair = count_in(world, group, slot, other);
        size_t at = said_at(world, group->round, slot, other);
        bool tests =
            other != slot && mu_advise_tests(group, world->plan->config.assignment, slot, other);
        world->accused_by[at] = pair->accused;
        world->passes_by[at] = tests ? pair->passes : 0;
    }
}

/* ---- decisions ---- */

/* Did that one work, or was to, and does not? */
static bool has_left(const struct mu_advise_group *from, const struct mu_advise_group *to,
                     mu_slot slot)
{
    return mu_advise_group_get(from, slot).count % 2 == 0 &&
           mu_advise_group_get(to, slot).count % 2 == 1;
}

/* R1 An accusation that a living member has contributed counts, unless its accuser leaves, too, or
 * nobody more may. */
static void judge_accusations(struct advise_world *world, const struct mu_advise_group *from,
                              const struct mu_advise_group *to,
                              const struct advise_meeting *meeting)
{
    if (to->members <= world->plan->config.members_min || meeting->value.more)
        return;
    for (mu_slot by = 0; by < world->size; by++) {
        if (!world->seats[by].alive || !meeting->said[by] || !mu_advise_is_member(from, by) ||
            !mu_advise_is_member(to, by))
            continue;
        for (mu_slot slot = 0; slot < world->size; slot++)
            if (world->accused_by[said_at(world, from->round, by, slot)] != 0 &&
                mu_advise_is_member(to, slot))
                advise_law_fail(world, "R1", "node %u accused node %u, which stays", by, slot);
    }
}

/* R3 Nobody leaves but by the word of a member, in the stint of both. */
static void judge_leaver(struct advise_world *world, const struct mu_advise_group *from,
                         const struct mu_advise_group *to, mu_slot slot)
{
    bool is_accused = false;
    for (mu_slot by = 0; by < world->size; by++)
        is_accused = is_accused || (world->accused_by[said_at(world, from->round, by, slot)] != 0 &&
                                    mu_advise_is_member(from, by) && mu_advise_is_member(to, by));
    for (mu_slot by = 0; by < world->size && !is_accused; by++)
        is_accused = world->accused_by[said_at(world, from->round, by, slot)] != 0 &&
                     mu_advise_is_member(from, by) && has_left(from, to, by);
    for (mu_slot by = 0; by < world->size && !is_accused; by++) /* it has failed since */
        is_accused = world->accused_by[said_at(world, from->round, by, slot)] != 0 &&
                     mu_advise_is_member(from, by) && !world->seats[by].alive;
    if (!is_accused)
        advise_law_fail(world, "R3", "node %u leaves, and no member has accused it", slot);
}

/* void: one of two that accuse each other stays.  Whoever leaves was accused by one that stays, or
 * that left after it, so somebody's word about the last one that leaves counts. */
static void judge_last_word(struct advise_world *world, const struct mu_advise_group *from,
                            const struct mu_advise_group *to)
{
    bool any = false, counts = false;
    for (mu_slot slot = 0; slot < world->size; slot++) {
        if (!has_left(from, to, slot))
            continue;
        any = true;
        for (mu_slot by = 0; by < world->size; by++)
            counts = counts || (world->accused_by[said_at(world, from->round, by, slot)] != 0 &&
                                (mu_advise_is_member(to, by) || mu_advise_group_get(to, by).gone));
    }
    if (any && !counts)
        advise_law_fail(world, "R1", "all that were accused left, and all that accused them");
}

/* By looking for it, and not by descending. */
static mu_slot first_in_cluster(const struct mu_advise_group *group, mu_slot j, uint32_t s)
{
    for (uint32_t k = 0; k < 1u << (s - 1); k++)
        if (mu_advise_is_member(group, mu_cluster_at(j, s, k)))
            return mu_cluster_at(j, s, k);
    return MU_SLOT_NONE;
}

static bool tests(const struct advise_world *world, const struct mu_advise_group *group, mu_slot i,
                  mu_slot j)
{
    if (world->plan->config.assignment == MU_ADVISE_ALL_PAIRS)
        return i != j && mu_advise_is_member(group, i);
    for (uint32_t s = 1; s <= mu_cluster_dimension(world->size); s++)
        if (first_in_cluster(group, j, s) == i)
            return true;
    return false;
}

/* R2 Nobody comes back but by the passes that its testers saw, and most of them. */
static void judge_comer(struct advise_world *world, const struct mu_advise_group *from,
                        const struct mu_advise_group *to, mu_slot slot, uint32_t comers)
{
    uint32_t count = mu_advise_group_get(from, slot).count / 2;
    uint32_t need = world->plan->config.zeta << (count < 5 ? count : 5);
    uint32_t testers = 0, votes = 0, proposals = 0;
    for (mu_slot by = 0; by < world->size; by++) {
        if (!tests(world, from, by, slot) || !mu_advise_is_member(to, by))
            continue;
        uint32_t passes = world->passes_by[said_at(world, from->round, by, slot)];
        testers++;
        votes += 2 * passes > need;
        proposals += passes >= need;
    }
    bool is_recalled = to->members + comers <= world->plan->config.members_min;
    if ((proposals == 0 || 2 * votes <= testers) && !is_recalled)
        advise_law_fail(world, "R2", "node %u comes back with %u of %u votes and %u proposals",
                        slot, votes, testers, proposals);
}

/* R4 Slowness leaves the least number; when deaths do not, who is out is called. */
static void judge_size(struct advise_world *world, const struct mu_advise_group *to, uint32_t left,
                       uint32_t comers)
{
    uint32_t out = 0;
    for (uint32_t i = 0; i < to->count; i++)
        out += to->entries[i].count % 2 == 1 && !to->entries[i].gone && !to->entries[i].leaves;
    if (left > 0 && to->members < world->plan->config.members_min)
        advise_law_fail(world, "R4", "%u left, and only %u members stay", left, to->members);
    if (to->members > 0 && to->members + comers < world->plan->config.members_min && out > 0)
        advise_law_fail(world, "R4", "%u members are left, and %u that are out are not called",
                        to->members, out);
}

static bool was_slow(const struct advise_world *world, mu_slot slot, uint64_t at_ns)
{
    return world->slow_since[slot] != UINT32_MAX &&
           world->slow_since[slot] + SLOW_FOR <= at_ns / ADVISE_INTERVAL_NS;
}

/* found: while few are slow, one that has been for long is out. */
static void judge_slow(struct advise_world *world, const struct mu_advise_group *from,
                       const struct mu_advise_group *to, const struct advise_meeting *meeting,
                       mu_slot slot)
{
    uint32_t slow = 0;
    for (mu_slot other = 0; other < world->size; other++)
        slow += world->slow[other] > 10 && mu_advise_is_member(from, other);
    if (4 * slow > from->members || to->members <= world->plan->config.members_min ||
        meeting->value.more)
        return;
    for (mu_slot by = 0; by < world->size; by++) {
        struct advise_pair *pair = pair_of(world, by, slot);
        if (world->seats[by].alive && mu_advise_is_member(to, by) && meeting->said[by] &&
            world->sound[by] >= SLOW_FOR + 1 && world->slow[by] == 10 &&
            tests(world, from, by, slot) && pair->tests == 3 &&
            pair->third < meeting->first_ns / ADVISE_INTERVAL_NS && pair->era == from->era &&
            pair->stint == mu_advise_group_get(from, slot).count)
            advise_law_fail(world, "found", "node %u is slow since %u and stays; node %u tests it",
                            slot, world->slow_since[slot], by);
    }
}

void advise_law_decides(struct advise_world *world, mu_slot slot,
                        const struct mu_advise_group *from, const struct mu_advise_group *to,
                        const struct advise_meeting *meeting)
{
    (void)slot;
    uint32_t left = 0, comers = 0;
    if (!world->plan->tracked || to->era != from->era)
        return;
    for (mu_slot other = 0; other < world->size; other++) {
        left += has_left(from, to, other);
        comers += mu_advise_group_get(to, other).comes;
    }
    judge_accusations(world, from, to, meeting);
    judge_size(world, to, left, comers);
    judge_last_word(world, from, to);
    for (mu_slot other = 0; other < world->size; other++) {
        if (has_left(from, to, other))
            judge_leaver(world, from, to, other);
        if (mu_advise_group_get(to, other).comes)
            judge_comer(world, from, to, other, comers);
        if (world->seats[other].alive && mu_advise_is_member(from, other) &&
            mu_advise_is_member(to, other) && was_slow(world, other, meeting->first_ns))
            judge_slow(world, from, to, meeting, other);
    }
    world->exits += left;
    world->returns += comers;
}

/* ---- R5: those that live and work in a round have the same group ---- */

static struct advise_record *record_of(struct advise_world *world,
                                       const struct mu_advise_group *group)
{
    for (uint32_t i = world->record_count; i-- > 0;)
        if (world->records[i].round == group->round && world->records[i].era == group->era)
            return &world->records[i];
    if (world->record_count == world->record_capacity) {
        world->record_capacity = world->record_capacity * 2 + 16;
        world->records =
            sim_realloc(world->records, world->record_capacity * sizeof *world->records);
    }
    struct advise_record *record = &world->records[world->record_count++];
    *record = (struct advise_record){group->era, group->round, NULL};
    record->hash = sim_calloc(world->size, sizeof *record->hash);
    return record;
}

void advise_law_enters(struct advise_world *world, mu_slot slot,
                       const struct mu_advise_group *group)
{
    if (!world->plan->tracked)
        return;
    struct advise_record *record = record_of(world, group);
    record->hash[slot] = mu_advise_group_key(group).hash | 1;
    for (mu_slot other = 0; other < world->size; other++)
        if (world->seats[other].alive && record->hash[other] != 0 &&
            record->hash[other] != record->hash[slot])
            advise_law_fail(world, "R5",
                            "nodes %u and %u work in different groups of round %u.%llu", other,
                            slot, group->era, (unsigned long long)group->round);
}

/* ---- the end: nobody waits for ever, and who is well works ---- */

static uint64_t round_ns_max(const struct advise_plan *plan)
{
    return SLOW_MOST * plan->work_ns_max + 2 * plan->decide_ns_max + 4 * plan->tell_ns_max;
}

static void judge_waiting(struct advise_world *world, mu_slot slot, uint64_t end_ns)
{
    const struct advise_seat *seat = &world->seats[slot];
    uint64_t since_ns = world->plan->config.has_program ? seat->entered_ns : seat->contributed_ns;
    if (since_ns > 0 && since_ns + round_ns_max(world->plan) < end_ns)
        advise_law_fail(world, "hang", "node %u is in round %llu since interval %.1f", slot,
                        (unsigned long long)mu_advise_group_of(advise_at(world, slot))->round,
                        (double)since_ns / (double)ADVISE_INTERVAL_NS);
}

static void judge_back(struct advise_world *world, mu_slot slot, uint32_t count)
{
    uint64_t need = (uint64_t)world->plan->config.zeta << (count / 2 < 5 ? count / 2 : 5);
    uint64_t rounds = ROUNDS_LEFT * round_ns_max(world->plan) / ADVISE_INTERVAL_NS;
    uint64_t since =
        world->well_since[slot] > world->plan->busy ? world->well_since[slot] : world->plan->busy;
    if (since + need + rounds + WELL_FOR < world->plan->end)
        advise_law_fail(world, "back", "node %u is well since %u and does not work", slot,
                        world->well_since[slot]);
}

void advise_law_end(struct advise_world *world)
{
    uint64_t end_ns = world->plan->end * ADVISE_INTERVAL_NS;
    const struct mu_advise_group *newest = NULL;
    for (mu_slot slot = 0; slot < world->size; slot++) {
        const struct mu_advise *advise = advise_at(world, slot);
        if (!world->seats[slot].alive || !mu_advise_works(advise))
            continue;
        newest = mu_advise_group_of(advise);
        judge_waiting(world, slot, end_ns);
    }
    if (newest == NULL)
        advise_law_fail(world, "hang", "nobody works any more, and %u live", world->living);
    for (mu_slot slot = 0; newest != NULL && slot < world->size; slot++)
        if (world->seats[slot].alive && !mu_advise_works(advise_at(world, slot)))
            judge_back(world, slot, mu_advise_group_get(newest, slot).count);
}
