#include "sim/agree/explore_inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void agree_break(struct agree_model *model, const char *law, const char *format, ...)
{
    const char *only = model->options->law;
    if (model->law != NULL || (only != NULL && strcmp(only, law) != 0))
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(model->message, sizeof model->message, format, arguments);
    va_end(arguments);
    model->law = law;
}

static struct agree_small round_value(const struct mu_agree_group *group, uint64_t number)
{
    struct mu_agree_value value = mu_gather_value(&group->rounds[number % MU_ROUNDS].value);
    return agree_small_value(&value);
}

static const char *name_set(char text[40], agree_mask set)
{
    size_t used = 0;
    text[used++] = '{';
    for (uint32_t slot = 0; slot < AGREE_NODES; slot++)
        if (agree_in(set, slot))
            text[used++] = (char)('0' + slot);
    text[used++] = '}';
    text[used] = '\0';
    return text;
}

/* ---- one step ---- */

static struct agree_deaths known(const struct agree_model *model, uint32_t slot)
{
    const struct mu_roster *dead = &agree_at(model, slot)->dead;
    struct agree_deaths known = {0, 0};
    for (uint32_t i = 0; i < dead->count; i++) {
        agree_mask bit = (agree_mask)(1u << dead->entries[i].slot);
        known.dead |= bit;
        known.proven |= dead->entries[i].proven ? bit : 0;
    }
    return known;
}

/* What the step brought in, or hands to the driver. */
static struct agree_deaths told(const struct agree_model *model, const struct mu_agree_event *event)
{
    struct agree_deaths told = {0, 0};
    for (uint32_t i = 0; i <= model->update.count; i++) {
        const struct mu_agree_effect *effect = &model->update.effects[i];
        const struct mu_roster_entry *death = NULL;
        if (i == model->update.count)
            death = event->type == MU_AGREE_DEAD ? &event->dead : NULL;
        else if (effect->type == MU_AGREE_DEATH)
            death = &effect->death;
        if (death == NULL)
            continue;
        told.dead |= (agree_mask)(1u << death->slot);
        told.proven |= (agree_mask)(death->proven << death->slot);
    }
    return told;
}

/* The driver hears all that this node learned, as it was told, and no more; and nobody holds a
 * death for proven of which nobody has seen proof. */
static void check_evidence(struct agree_model *model, uint32_t slot,
                           const struct mu_agree_event *event)
{
    struct agree_deaths now = known(model, slot), heard = told(model, event);
    const struct agree_deaths *before = &model->known_before;
    char one[40], other[40];
    if ((now.proven & ~model->state->proven) != 0)
        agree_break(model, "evidence",
                    "to node %u the deaths of %s are proven, and those of %s are", slot,
                    name_set(one, now.proven), name_set(other, model->state->proven));
    if ((before->dead & ~now.dead) != 0 || (before->proven & ~now.proven) != 0 ||
        now.dead != (before->dead | heard.dead) || now.proven != (before->proven | heard.proven))
        agree_break(model, "evidence",
                    "node %u knows the deaths of %s, %s of them proven, and its "
                    "driver does not",
                    slot, name_set(one, now.dead), name_set(other, now.proven));
}

void agree_law_before(struct agree_model *model, uint32_t slot)
{
    model->known_before = known(model, slot);
    for (uint32_t g = 0; g < model->options->agreements; g++) {
        const struct mu_agree_group *group = mu_agree_find(agree_at(model, slot), g + 1);
        uint64_t number = group->decided + 1;
        bool called = group->rounds[number % MU_ROUNDS].status != MU_AGREE_IDLE;
        model->decided_before[g] = group->decided;
        model->before[g] = called ? round_value(group, number) : (struct agree_small){0};
    }
}

/* A4: whatever this node gathered is in the decision; and everybody contributed, has failed, or is
 * no member any more. */
static void check_decision(struct agree_model *model, uint32_t slot, uint32_t g,
                           const struct mu_agree_group *group)
{
    const struct agree_small *before = &model->before[g];
    struct agree_small result = round_value(group, group->decided);
    char one[40], other[40];
    if (!agree_in(result.contributed, slot))
        agree_break(model, "A4", "node %u decides without its own contribution", slot);
    if ((before->contributed & ~result.contributed) != 0)
        agree_break(model, "A4", "node %u had contributions of %s and decides with those of %s",
                    slot, name_set(one, before->contributed), name_set(other, result.contributed));
    if ((before->failed & ~result.failed) != 0)
        agree_break(model, "A4", "node %u contributed that %s failed and decides that %s did", slot,
                    name_set(one, before->failed), name_set(other, result.failed));
    if ((before->proven & ~result.proven) != 0 || (result.proven & ~model->state->proven) != 0)
        agree_break(model, "evidence",
                    "node %u had proof of the deaths of %s and decides that %s are", slot,
                    name_set(one, before->proven), name_set(other, result.proven));
    for (uint32_t other_slot = 0; other_slot < model->size; other_slot++)
        if (!agree_in(result.contributed | result.failed, other_slot) &&
            mu_agree_is_member(agree_at(model, slot), g + 1, other_slot))
            agree_break(model, "cover", "node %u decides with contributions of %s and failed %s",
                        slot, name_set(one, result.contributed), name_set(other, result.failed));
    if ((result.acked & ~model->state->acked[slot][g]) != 0)
        agree_break(model, "A5", "node %u has not acknowledged what counts as acknowledged by all",
                    slot);
    model->state->acked[slot][g] = 0;
}

/* A6: nothing is kept but the last result. */
static void check_kept(struct agree_model *model, uint32_t slot, const struct mu_agree_group *group)
{
    uint32_t kept = 0;
    for (uint32_t r = 0; r < MU_ROUNDS; r++)
        kept += group->rounds[r].decided ? 1 : 0;
    if (kept > (group->stale ? 2u : 1u))
        agree_break(model, "A6", "node %u keeps %u results", slot, kept);
}

void agree_law_after(struct agree_model *model, uint32_t slot, const struct mu_agree_event *event)
{
    if (!agree_at(model, slot)->fenced)
        check_evidence(model, slot, event);
    for (uint32_t g = 0; g < model->options->agreements; g++) {
        const struct mu_agree_group *group = mu_agree_find(agree_at(model, slot), g + 1);
        if (group->decided > model->decided_before[g])
            check_decision(model, slot, g, group);
        check_kept(model, slot, group);
    }
}

void agree_law_on_deliver(struct agree_model *model, uint32_t slot,
                          const struct mu_agree_effect *effect)
{
    uint32_t g = (uint32_t)effect->decision.group - 1;
    uint32_t r = (uint32_t)effect->decision.round - 1;
    struct agree_small *decided = &model->state->decided[slot][g][r];
    struct agree_small value = agree_small_value(&effect->decision.value);
    if (decided->type != 0)
        agree_break(model, "A2", "node %u decides twice", slot);
    bool unacked = (value.failed & ~value.acked) != 0 || value.more;
    if (effect->decision.error != unacked)
        agree_break(model, "A5", "node %u decides with %s error, and %s", slot,
                    effect->decision.error ? "an" : "no",
                    unacked ? "a failure is not acknowledged" : "every failure is acknowledged");
    value.type = 1;
    *decided = value;
}

/* ---- states ---- */

static void check_same(struct agree_model *model, uint32_t g, uint32_t r)
{
    uint32_t first = UINT32_MAX;
    for (uint32_t slot = 0; slot < model->size; slot++) {
        const struct agree_small *mine = &model->state->decided[slot][g][r];
        if (!agree_is_living(model, slot) || mine->type == 0)
            continue;
        if (first == UINT32_MAX) {
            first = slot;
            continue;
        }
        const struct agree_small *theirs = &model->state->decided[first][g][r];
        char a[40], b[40], c[40], d[40];
        if (memcmp(mine, theirs, sizeof *mine) != 0)
            agree_break(model, "A3",
                        "node %u decides %s with failed %s, node %u decides %s with failed %s",
                        first, name_set(a, theirs->contributed), name_set(b, theirs->failed), slot,
                        name_set(c, mine->contributed), name_set(d, mine->failed));
    }
}

void agree_law_check(struct agree_model *model, bool still)
{
    for (uint32_t g = 0; g < model->options->agreements; g++)
        for (uint32_t r = 0; r < model->options->rounds; r++) {
            check_same(model, g, r);
            for (uint32_t slot = 0; still && slot < model->size; slot++)
                if (agree_is_living(model, slot) && model->state->decided[slot][g][r].type == 0)
                    agree_break(model, "A1", "node %u waits for ever", slot);
        }
}
