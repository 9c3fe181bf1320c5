#include "daemon/roll/unbegun.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void mu_unbegun_init(struct mu_unbegun *unbegun, uint32_t max)
{
    *unbegun = (struct mu_unbegun){.max = max};
}

void mu_unbegun_free(struct mu_unbegun *unbegun)
{
    for (uint32_t i = 0; i < unbegun->count; i++)
        mu_proof_drop(&unbegun->all[i].proof);
    free(unbegun->all);
    free(unbegun->places);
    free(unbegun->lost);
    mu_unbegun_init(unbegun, unbegun->max);
}

/* ---- where it is ---- */

static uint32_t hash(uint32_t job, uint32_t rank)
{
    uint64_t both = ((uint64_t)job << 32 | rank) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(both >> 32);
}

/* The place of this one, or the free one where it would be.  There is a free one. */
static uint32_t *find(const struct mu_unbegun *unbegun, uint32_t job, uint32_t rank)
{
    uint32_t mask = unbegun->place_count - 1, at = hash(job, rank) & mask;
    for (;; at = (at + 1) & mask) {
        uint32_t *place = &unbegun->places[at];
        const struct mu_unbegun_one *one = *place == 0 ? NULL : &unbegun->all[*place - 1];
        if (one == NULL || (one->job == job && one->gone.index == rank))
            return place;
    }
}

static void fill_places(struct mu_unbegun *unbegun)
{
    memset(unbegun->places, 0, unbegun->place_count * sizeof *unbegun->places);
    for (uint32_t i = 0; i < unbegun->count; i++)
        *find(unbegun, unbegun->all[i].job, unbegun->all[i].gone.index) = i + 1;
}

bool mu_unbegun_has(const struct mu_unbegun *unbegun, uint32_t job, uint32_t rank)
{
    return unbegun->count > 0 && *find(unbegun, job, rank) != 0;
}

/* ---- in ---- */

/* Twice as many, and four places for each that there may be now. */
static void grow(struct mu_unbegun *unbegun)
{
    uint32_t room = unbegun->room == 0 ? 64 : 2 * unbegun->room;
    struct mu_unbegun_one *all = realloc(unbegun->all, room * sizeof *all);
    uint32_t *places = calloc((size_t)room * 4, sizeof *places);
    if (all == NULL || places == NULL)
        abort(); /* a death would stay unknown */
    free(unbegun->places);
    unbegun->all = all;
    unbegun->places = places;
    unbegun->room = room;
    unbegun->place_count = room * 4;
    fill_places(unbegun);
}

bool mu_unbegun_lost(const struct mu_unbegun *unbegun, uint32_t job)
{
    for (uint32_t i = 0; i < unbegun->lost_count; i++)
        if (unbegun->lost[i] == job)
            return true;
    return false;
}

static void lose(struct mu_unbegun *unbegun, uint32_t job)
{
    if (mu_unbegun_lost(unbegun, job))
        return;
    uint32_t *lost = realloc(unbegun->lost, (unbegun->lost_count + (size_t)1) * sizeof *lost);
    if (lost == NULL)
        abort(); /* nobody would know that a death is unknown */
    unbegun->lost = lost;
    unbegun->lost[unbegun->lost_count++] = job;
}

void mu_unbegun_add(struct mu_unbegun *unbegun, const struct mu_local_event *event)
{
    assert(!mu_unbegun_has(unbegun, event->job, event->rank));
    if (unbegun->count == unbegun->max) {
        lose(unbegun, event->job);
        return;
    }
    if (unbegun->count == unbegun->room)
        grow(unbegun);
    *find(unbegun, event->job, event->rank) = unbegun->count + 1;
    struct mu_unbegun_one *one = &unbegun->all[unbegun->count++];
    *one = (struct mu_unbegun_one){.job = event->job,
                                   .node = event->node,
                                   .gone = {.serial = event->serial,
                                            .learned_ns = event->learned_ns,
                                            .age_ns = event->age_ns,
                                            .index = event->rank,
                                            .hops = event->hops}};
    mu_proof_keep(&one->proof, &event->evidence);
}

/* ---- out ---- */

static struct mu_local_event event_of(const struct mu_unbegun_one *one)
{
    struct mu_local_event event = {.serial = one->gone.serial,
                                   .subject = MU_SUBJECT_PROCESS,
                                   .hops = one->gone.hops,
                                   .job = one->job,
                                   .rank = one->gone.index,
                                   .node = one->node,
                                   .learned_ns = one->gone.learned_ns,
                                   .age_ns = one->gone.age_ns};
    mu_proof_read(&one->proof, &event.evidence);
    return event;
}

static void find_again(struct mu_unbegun *unbegun, uint32_t job)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < unbegun->lost_count; i++)
        if (unbegun->lost[i] != job)
            unbegun->lost[kept++] = unbegun->lost[i];
    unbegun->lost_count = kept;
}

void mu_unbegun_take(struct mu_unbegun *unbegun, uint32_t job,
                     void (*each)(void *arg, const struct mu_local_event *event), void *arg)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < unbegun->count; i++) {
        struct mu_unbegun_one *one = &unbegun->all[i];
        if (one->job != job) {
            unbegun->all[kept++] = *one;
            continue;
        }
        const struct mu_local_event event = event_of(one);
        each(arg, &event);
        mu_proof_drop(&one->proof);
    }
    bool some = kept < unbegun->count;
    unbegun->count = kept;
    find_again(unbegun, job);
    if (some)
        fill_places(unbegun);
}
