#include "sim/advise/world.h"

#include "sim/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* An agreement as its contract has it, with all the freedom that leaves: those that failed are in
 * the decision or not; when all that have decided have failed, the others may decide otherwise. */

static struct advise_meeting *begin(struct advise_world *world)
{
    if (world->meeting_count == world->meeting_capacity) {
        world->meeting_capacity = world->meeting_capacity * 2 + 16;
        world->meetings =
            sim_realloc(world->meetings, world->meeting_capacity * sizeof *world->meetings);
    }
    struct advise_meeting *meeting = &world->meetings[world->meeting_count++];
    memset(meeting, 0, sizeof *meeting);
    meeting->said = sim_calloc(world->size, 1);
    meeting->planned = sim_calloc(world->size, 1);
    meeting->decided = sim_calloc(world->size, 1);
    meeting->takes_part = sim_calloc(world->size, 1);
    meeting->bits = sim_calloc(world->size, sizeof *meeting->bits);
    meeting->failed = sim_calloc(world->size, sizeof *meeting->failed);
    meeting->value.capacity = world->plan->config.limits.words;
    meeting->value.words = sim_calloc(meeting->value.capacity + 1u, sizeof *meeting->value.words);
    meeting->first_ns = world->queue.now_ns;
    return meeting;
}

void advise_meeting_free(struct advise_meeting *meeting)
{
    free(meeting->said);
    free(meeting->planned);
    free(meeting->decided);
    free(meeting->takes_part);
    free(meeting->bits);
    free(meeting->failed);
    free(meeting->value.words);
    free(meeting->words);
    free(meeting->speakers);
}

static void count_parts(struct advise_world *world, struct advise_meeting *meeting)
{
    for (mu_slot slot = 0; slot < world->size; slot++)
        meeting->parts += meeting->takes_part[slot] && world->seats[slot].alive;
}

/* The last ones are asked for most. */
struct advise_meeting *advise_meeting_of(struct advise_world *world,
                                         const struct mu_advise_group *group)
{
    struct mu_advise_key key = mu_advise_group_key(group);
    for (uint32_t i = world->meeting_count; i-- > 0;)
        if (mu_advise_key_same(&world->meetings[i].key, &key))
            return &world->meetings[i];
    struct advise_meeting *meeting = begin(world);
    meeting->key = key;
    for (mu_slot slot = 0; slot < world->size; slot++)
        meeting->takes_part[slot] = mu_advise_is_part(group, slot);
    count_parts(world, meeting);
    return meeting;
}

struct advise_meeting *advise_meeting_of_all(struct advise_world *world, uint32_t number)
{
    for (uint32_t i = world->meeting_count; i-- > 0;)
        if (world->meetings[i].key.round == 0 && world->meetings[i].number == number)
            return &world->meetings[i];
    struct advise_meeting *meeting = begin(world);
    meeting->number = number;
    memset(meeting->takes_part, 1, world->size);
    count_parts(world, meeting);
    return meeting;
}

static void plan_decisions(struct advise_world *world, struct advise_meeting *meeting)
{
    uint32_t ref = (uint32_t)(meeting - world->meetings);
    for (mu_slot slot = 0; meeting->parts == 0 && slot < world->size; slot++) {
        if (!meeting->said[slot] || meeting->planned[slot] || !world->seats[slot].alive)
            continue;
        meeting->planned[slot] = 1;
        advise_push(world, ADVISE_WHAT_DECIDE, advise_draw_ns(world, world->plan->decide_ns_max),
                    slot, MU_SLOT_NONE, ref);
    }
}

static void keep_word(struct advise_meeting *meeting, mu_advise_word word, mu_slot speaker)
{
    if (meeting->word_count == meeting->word_capacity) {
        meeting->word_capacity = meeting->word_capacity * 2 + 16;
        meeting->words =
            sim_realloc(meeting->words, meeting->word_capacity * sizeof *meeting->words);
        meeting->speakers =
            sim_realloc(meeting->speakers, meeting->word_capacity * sizeof *meeting->speakers);
    }
    meeting->words[meeting->word_count] = word;
    meeting->speakers[meeting->word_count++] = speaker;
}

/* Only the first word of each counts. */
void advise_meeting_say(struct advise_world *world, struct advise_meeting *meeting, mu_slot slot,
                        const struct mu_advise_value *value)
{
    if (meeting->said[slot] || !meeting->takes_part[slot])
        return;
    meeting->said[slot] = 1;
    meeting->bits[slot] = value->bits;
    meeting->parts--;
    for (uint32_t i = 0; i < value->count; i++)
        keep_word(meeting, value->words[i], slot);
    plan_decisions(world, meeting);
    uint32_t ref = (uint32_t)(meeting - world->meetings);
    for (mu_slot peer = 0; peer < world->size && !world->plan->config.has_program; peer++)
        if (meeting->takes_part[peer] && !meeting->said[peer] && meeting->key.round > 0)
            advise_push(world, ADVISE_WHAT_BEGUN, advise_draw_ns(world, world->plan->decide_ns_max),
                        peer, slot, ref);
}

void advise_meetings_lose(struct advise_world *world, mu_slot slot)
{
    for (uint32_t i = 0; i < world->meeting_count; i++) {
        struct advise_meeting *meeting = &world->meetings[i];
        if (!meeting->takes_part[slot] || meeting->said[slot])
            continue;
        meeting->parts--;
        plan_decisions(world, meeting);
    }
}

static bool has_living(const struct advise_world *world, const struct advise_meeting *meeting)
{
    if (meeting->decided[meeting->last] == 1 && world->seats[meeting->last].alive)
        return true;
    for (mu_slot slot = 0; slot < world->size; slot++)
        if (meeting->decided[slot] == 1 && world->seats[slot].alive)
            return true;
    return false;
}

/* Whoever failed and has said something may be in it; whoever is not in it is listed, and so are
 * those that decided otherwise. */
static void decide_anew(struct advise_world *world, struct advise_meeting *meeting)
{
    uint8_t *in = sim_calloc(world->size, 1);
    mu_advise_gather_clear(&meeting->value);
    meeting->failed_count = 0;
    meeting->no_member = true;
    for (mu_slot slot = 0; slot < world->size; slot++) {
        bool lives = world->seats[slot].alive;
        if (!meeting->takes_part[slot])
            continue;
        in[slot] = meeting->said[slot] && (lives || sim_random_chance(&world->random, 60));
        bool listed = !in[slot] || meeting->decided[slot] > 0 ||
                      (!lives && sim_random_chance(&world->random, 50));
        if (listed)
            meeting->failed[meeting->failed_count++] = slot;
        if (meeting->decided[slot] > 0)
            meeting->decided[slot] = 2; /* otherwise */
        if (in[slot] && meeting->key.round == 0)
            meeting->no_member = meeting->no_member && meeting->bits[slot] != 0;
        else if (in[slot])
            meeting->value.bits &= meeting->bits[slot];
    }
    for (uint32_t i = 0; i < meeting->word_count; i++)
        if (in[meeting->speakers[i]])
            mu_advise_gather_add(&meeting->value, meeting->words[i]);
    meeting->any = true;
    free(in);
}

/* What one that failed has told may still arrive, while nobody has decided otherwise. */
void advise_meeting_decide(struct advise_world *world, struct advise_meeting *meeting, mu_slot slot)
{
    if (!meeting->any || (!has_living(world, meeting) && sim_random_chance(&world->random, 70)))
        decide_anew(world, meeting);
    meeting->decided[slot] = 1;
    meeting->last = slot;
}
