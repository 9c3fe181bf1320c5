#include "sim/agree/world.h"

#include "sim/base/memory.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Nodes contribute all ones but one bit, so in worlds of up to 64 nodes a value says who has
 * contributed; in larger ones 64 nodes share a bit. */

void agree_law_init(struct agree_world *world)
{
    const struct agree_plan *plan = world->plan;
    for (uint32_t g = 0; g < plan->group_count; g++)
        if (plan->groups[g].rounds > world->rounds_max)
            world->rounds_max = plan->groups[g].rounds;
    world->records = sim_calloc(plan->group_count * world->rounds_max, sizeof *world->records);
    for (uint32_t i = 0; i < plan->group_count * world->rounds_max; i++) {
        struct agree_record *record = &world->records[i];
        record->decided = sim_calloc(world->size, sizeof *record->decided);
        record->digest = sim_calloc(world->size, sizeof *record->digest);
        record->reference = MU_SLOT_NONE;
        if (plan->tracked)
            record->calls = sim_calloc(world->size, sizeof *record->calls);
    }
    for (uint32_t g = 0; g < AGREE_WORLD_GROUPS; g++) {
        world->before[g].capacity = plan->config.limits.failed;
        world->before[g].failed =
            sim_calloc(plan->config.limits.failed, sizeof *world->before[g].failed);
    }
}

void agree_law_free(struct agree_world *world)
{
    for (uint32_t i = 0; i < world->plan->group_count * world->rounds_max; i++) {
        struct agree_record *record = &world->records[i];
        for (mu_slot slot = 0; record->calls != NULL && slot < world->size; slot++)
            free(record->calls[slot].failed);
        free(record->calls);
        free(record->decided);
        free(record->digest);
    }
    for (uint32_t g = 0; g < AGREE_WORLD_GROUPS; g++)
        free(world->before[g].failed);
    free(world->records);
}

void agree_law_fail(struct agree_world *world, const char *law, const char *format, ...)
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

/* ---- A4: what was contributed is in the decision ---- */

/* ---- evidence: what is known of a death is handed on as it was told ---- */

static void note(const struct mu_roster_entry *death, uint64_t *dead, uint64_t *proven)
{
    *dead |= 1ull << death->slot;
    *proven |= (uint64_t)death->proven << death->slot;
}

static void note_known(const struct agree_world *world, mu_slot slot, uint64_t *dead,
                       uint64_t *proven)
{
    const struct mu_roster *known = &agree_world_node(world, slot)->dead;
    *dead = *proven = 0;
    for (uint32_t i = 0; i < known->count; i++)
        note(&known->entries[i], dead, proven);
}

static void check_evidence(struct agree_world *world, mu_slot slot,
                           const struct mu_agree_event *event)
{
    uint64_t dead, proven, told = world->dead_before, shown = world->proven_before;
    note_known(world, slot, &dead, &proven);
    if (event->type == MU_AGREE_DEAD)
        note(&event->dead, &told, &shown);
    for (uint32_t i = 0; i < world->update.count; i++)
        if (world->update.effects[i].type == MU_AGREE_DEATH)
            note(&world->update.effects[i].death, &told, &shown);
    if (dead != told || proven != shown)
        agree_law_fail(world, "evidence", "node %u knows of deaths what its driver does not", slot);
    for (mu_slot other = 0; other < world->size; other++)
        if ((proven >> other & 1) != 0 && !agree_world_has_proof(world, other))
            agree_law_fail(world, "evidence", "to node %u the death of node %u is proven", slot,
                           other);
}

/* At the end: what there is proof of is proven to everybody. */
static void check_proofs(struct agree_world *world, mu_slot slot)
{
    for (mu_slot dead = 0; dead < world->size; dead++)
        if (agree_world_has_proof(world, dead) &&
            !mu_roster_is_proven(&agree_world_node(world, slot)->dead, dead, 1))
            agree_law_fail(world, "evidence", "to node %u the death of node %u is not proven", slot,
                           dead);
}

void agree_world_law_before(struct agree_world *world, mu_slot slot)
{
    if (world->plan->tracked)
        note_known(world, slot, &world->dead_before, &world->proven_before);
    for (uint32_t g = 0; world->plan->tracked && g < world->plan->group_count; g++) {
        const struct mu_agree_group *group = mu_agree_find(agree_world_node(world, slot), g + 1);
        world->decided_before[g] = UINT64_MAX;
        if (group == NULL)
            continue;
        const struct mu_round *round = &group->rounds[(group->decided + 1) % MU_ROUNDS];
        world->decided_before[g] = group->decided;
        mu_gather_clear(&world->before[g]);
        if (round->status == MU_AGREE_IDLE)
            continue;
        struct mu_agree_value value = mu_gather_value(&round->value);
        mu_gather_set(&world->before[g], &value);
    }
}

static const struct mu_failed *find_failed(const struct mu_failed *failed, uint32_t count,
                                           const struct mu_failed *one)
{
    for (uint32_t i = 0; i < count; i++)
        if (failed[i].node == one->node && failed[i].process == one->process)
            return &failed[i];
    return NULL;
}

static void check_contained(struct agree_world *world, mu_slot slot, const struct mu_gather *before,
                            const struct mu_gather *result)
{
    if ((result->bits & ~before->bits) != 0)
        agree_law_fail(world, "A4", "node %u gathered bits %016llx and decides %016llx", slot,
                       (unsigned long long)before->bits, (unsigned long long)result->bits);
    for (uint16_t i = 0; i < before->count && !result->more; i++)
        if (find_failed(result->failed, result->count, &before->failed[i]) == NULL)
            agree_law_fail(world, "A4", "node %u gathered that node %u failed, which is lost", slot,
                           before->failed[i].node);
    for (uint16_t i = 0; i < before->count; i++) {
        const struct mu_failed *listed =
            find_failed(result->failed, result->count, &before->failed[i]);
        if (listed != NULL && before->failed[i].proven && !listed->proven)
            agree_law_fail(world, "evidence", "node %u gathered proof that node %u is dead: lost",
                           slot, listed->node);
    }
}

/* ---- cover: whoever is a member has contributed or failed ---- */

static bool has_contributed(const struct mu_gather *result, mu_slot slot)
{
    return (result->bits >> slot % 64 & 1) == 0;
}

static void check_cover(struct agree_world *world, mu_slot slot, uint32_t g,
                        const struct mu_gather *result)
{
    const struct mu_agree *agree = agree_world_node(world, slot);
    for (mu_slot member = 0; member < world->size && !result->more; member++) {
        struct mu_failed whole = {.node = member & 0x3fffffff, .process = MU_FAILED_NODE};
        if (mu_agree_is_member(agree, g + 1, member) && !has_contributed(result, member) &&
            find_failed(result->failed, result->count, &whole) == NULL)
            agree_law_fail(world, "cover",
                           "node %u decides, and node %u has neither contributed nor failed", slot,
                           member);
    }
}

void agree_world_law_after(struct agree_world *world, mu_slot slot,
                           const struct mu_agree_event *event)
{
    if (world->plan->tracked && !agree_world_node(world, slot)->fenced)
        check_evidence(world, slot, event);
    for (uint32_t g = 0; world->plan->tracked && g < world->plan->group_count; g++) {
        const struct mu_agree_group *group = mu_agree_find(agree_world_node(world, slot), g + 1);
        if (group == NULL)
            continue;
        uint32_t kept = 0;
        for (uint32_t r = 0; r < MU_ROUNDS; r++)
            kept += group->rounds[r].decided ? 1 : 0;
        if (kept > (group->stale ? 2u : 1u))
            agree_law_fail(world, "A6", "node %u keeps %u results", slot, kept);
        if (world->decided_before[g] == UINT64_MAX || group->decided == world->decided_before[g])
            continue;
        const struct mu_gather *result = &group->rounds[group->decided % MU_ROUNDS].value;
        if (!has_contributed(result, slot))
            agree_law_fail(world, "A4", "node %u decides without its own contribution", slot);
        check_contained(world, slot, &world->before[g], result);
        check_cover(world, slot, g, result);
    }
}

/* ---- A5: acknowledged is what every contributor has acknowledged ---- */

void agree_world_law_on_call(struct agree_world *world, mu_slot slot,
                             const struct mu_agree_event *call, uint64_t round)
{
    struct agree_record *record = agree_world_record(world, call->call.group, round);
    world->last_call_ns = world->queue.now_ns;
    if (record->calls == NULL)
        return;
    struct agree_call *made = &record->calls[slot];
    made->count = call->call.failed_count;
    made->silent = call->call.silent;
    made->failed = sim_calloc(made->count, sizeof *made->failed);
    if (made->count > 0)
        memcpy(made->failed, call->call.failed, made->count * sizeof *made->failed);
}

static bool all_acked(const struct agree_world *world, const struct agree_record *record,
                      const struct mu_agree_value *value, const struct mu_failed *one)
{
    for (mu_slot slot = 0; slot < world->size; slot++) {
        if ((value->bits >> slot % 64 & 1) != 0)
            continue; /* no contributor */
        const struct agree_call *call = &record->calls[slot];
        if (call->silent)
            continue;
        const struct mu_failed *listed = find_failed(call->failed, call->count, one);
        if (listed == NULL || !listed->acked)
            return false;
    }
    return true;
}

static void check_acks(struct agree_world *world, mu_slot slot, const struct agree_record *record,
                       const struct mu_agree_effect *effect)
{
    const struct mu_agree_value *value = &effect->decision.value;
    bool error = value->more;
    for (uint32_t i = 0; i < value->failed_count; i++) {
        const struct mu_failed *one = &value->failed[i];
        bool acked = all_acked(world, record, value, one);
        error = error || !acked;
        if (one->acked != acked)
            agree_law_fail(world, "A5", "node %u: the failure of node %u counts as %sacknowledged",
                           slot, one->node, one->acked ? "" : "not ");
        if (one->proven && !agree_world_has_proof(world, one->node))
            agree_law_fail(world, "evidence", "node %u decides that the death of node %u is proven",
                           slot, one->node);
        if (one->process == MU_FAILED_NODE && agree_world_lives(world, one->node))
            agree_law_fail(world, "no-fault", "node %u decides that node %u failed, which lives",
                           slot, one->node);
    }
    if (error != effect->decision.error)
        agree_law_fail(world, "A5", "node %u decides with %s error, which is wrong", slot,
                       effect->decision.error ? "an" : "no");
}

/* ---- A2 once, A3 the same ---- */

static struct mu_fingerprint digest_of(const struct mu_agree_effect *effect)
{
    const struct mu_agree_value *value = &effect->decision.value;
    struct mu_fingerprint print;
    mu_fingerprint_init(&print);
    mu_fingerprint_add(&print, value->bits);
    mu_fingerprint_add(&print, (uint64_t)value->more << 1 | (uint64_t)effect->decision.error);
    for (uint32_t i = 0; i < value->failed_count; i++) {
        mu_fingerprint_add(&print, (uint64_t)value->failed[i].node << 2 |
                                       (uint64_t)value->failed[i].proven << 1 |
                                       value->failed[i].acked);
        mu_fingerprint_add(&print, value->failed[i].process);
    }
    return print;
}

/* One that lives and has decided, other than this node; MU_SLOT_NONE: there is none. */
static mu_slot other_decider(const struct agree_world *world, struct agree_record *record,
                             mu_slot slot)
{
    mu_slot known = record->reference;
    if (known != MU_SLOT_NONE && agree_world_lives(world, known))
        return known;
    record->reference = MU_SLOT_NONE;
    for (mu_slot other = 0; known != MU_SLOT_NONE && other < world->size; other++)
        if (other != slot && record->decided[other] > 0 && agree_world_lives(world, other)) {
            record->reference = other;
            break;
        }
    return record->reference;
}

void agree_world_law_on_deliver(struct agree_world *world, mu_slot slot,
                                const struct mu_agree_effect *effect)
{
    struct agree_record *record =
        agree_world_record(world, effect->decision.group, effect->decision.round);
    world->last_decision_ns = world->queue.now_ns;
    if (world->seats[slot].lapsed)
        agree_law_fail(world, "lease", "node %u has no lease and decides", slot);
    if (++record->decided[slot] > 1)
        agree_law_fail(world, "A2", "node %u decides %u times", slot, record->decided[slot]);
    record->digest[slot] = digest_of(effect);
    mu_slot other = other_decider(world, record, slot);
    if (other == MU_SLOT_NONE)
        record->reference = slot;
    else if (memcmp(&record->digest[slot], &record->digest[other], sizeof record->digest[0]) != 0)
        agree_law_fail(world, "A3", "nodes %u and %u decide agreement %llu.%llu differently", other,
                       slot, (unsigned long long)effect->decision.group,
                       (unsigned long long)effect->decision.round);
    if (record->calls != NULL)
        check_acks(world, slot, record, effect);
}

/* ---- A1: every living member decides ---- */

static bool is_in(const struct agree_group_plan *group, mu_slot slot)
{
    for (uint32_t i = 0; i < group->span_count; i++)
        if (slot >= group->spans[i].first && slot - group->spans[i].first < group->spans[i].count)
            return true;
    return false;
}

void agree_world_law_on_quiet(struct agree_world *world)
{
    for (mu_slot slot = 0; world->plan->tracked && slot < world->size; slot++)
        if (agree_world_lives(world, slot))
            check_proofs(world, slot);
    for (uint32_t g = 0; g < world->plan->group_count; g++) {
        const struct agree_group_plan *group = &world->plan->groups[g];
        for (uint32_t r = 1; r <= group->rounds; r++)
            for (mu_slot slot = 0; slot < world->size; slot++)
                if (is_in(group, slot) && agree_world_lives(world, slot) &&
                    agree_world_record(world, g + 1, r)->decided[slot] == 0)
                    agree_law_fail(world, "A1", "node %u never decides agreement %u.%u", slot,
                                   g + 1, r);
    }
}
