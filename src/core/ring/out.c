/* Who is out, who is told so, and being fenced (N10, N11). */
#include "core/ring/inside.h"

#include <string.h>

enum { ROOM_KEPT = 8 /* of the effects of a step, for others than DEAD */ };

/* A death whose incarnation nobody here knew is kept as 0, until the node says which it was. */
bool mu_detect_is_out(const struct mu_detect *detect, mu_slot slot, uint32_t incarnation)
{
    if (!mu_roster_is_vacant(&detect->dead, slot))
        return false;
    return mu_roster_is_out(&detect->dead, slot, incarnation) ||
           !mu_roster_is_out(&detect->dead, slot, 1);
}

void mu_detect_fence(struct mu_detect *detect, mu_slot by, struct mu_detect_update *update)
{
    detect->fenced = true;
    if (detect->lease.held)
        mu_detect_add(update, MU_DETECT_LEASE)->held = false;
    detect->lease.held = false;
    mu_detect_add(update, MU_DETECT_FENCED)->by = by;
}

/* ---- out without proof ---- */

static struct mu_unproven *find_unproven(struct mu_detect *detect, mu_slot slot)
{
    for (uint32_t i = 0; i < detect->unproven_count; i++)
        if (detect->unproven[i].slot == slot)
            return &detect->unproven[i];
    return NULL;
}

static void note_unproven(struct mu_detect *detect, mu_slot slot, uint32_t incarnation)
{
    struct mu_unproven *known = find_unproven(detect, slot);
    if (known == NULL && mu_roster_is_vacant(&detect->dead, slot))
        return; /* its death was proven before */
    if (known == NULL) {
        known = &detect->unproven[detect->unproven_count++];
        *known = (struct mu_unproven){.slot = slot};
    }
    if (incarnation > known->incarnation)
        known->incarnation = incarnation;
}

static void note_proven(struct mu_detect *detect, mu_slot slot)
{
    struct mu_unproven *known = find_unproven(detect, slot);
    if (known != NULL)
        *known = detect->unproven[--detect->unproven_count];
}

bool mu_detect_take_out(struct mu_detect *detect, mu_slot slot, uint32_t incarnation, bool proven,
                        struct mu_detect_update *update)
{
    bool was_out = mu_roster_is_vacant(&detect->dead, slot);
    mu_watched_on_out(detect, slot);
    mu_help_on_out(detect, slot);
    if (!mu_roster_fits(&detect->dead, slot)) {
        mu_detect_add(update, MU_DETECT_FAULT)->fault = MU_FAULT_DEAD_FULL;
        return false;
    }
    if (proven)
        note_proven(detect, slot);
    else
        note_unproven(detect, slot, incarnation);
    mu_roster_out(&detect->dead, slot, incarnation);
    if (was_out)
        return true;
    detect->tell.until_ns = detect->now_ns + MU_DETECT_PATIENCE * detect->timeout_ns;
    if (detect->tell.next_ns == MU_NEVER)
        detect->tell.next_ns = detect->now_ns;
    mu_observe_settle(detect, update);
    mu_ask_on_next(detect, update);
    return true;
}

void mu_out_on_out(struct mu_detect *detect, mu_slot slot, uint32_t incarnation, bool proven,
                   struct mu_detect_update *update)
{
    if (slot >= detect->size)
        mu_detect_drop(detect);
    else if (slot != detect->self)
        mu_detect_take_out(detect, slot, incarnation, proven, update);
    else if (incarnation == 0 || incarnation >= detect->incarnation)
        mu_detect_fence(detect, detect->self, update);
}

/* ---- DEAD ---- */

void mu_out_on_dead(struct mu_detect *detect, const struct mu_beat *beat,
                    struct mu_detect_update *update)
{
    bool is_me = beat->subject_incarnation >= detect->incarnation ||
                 mu_detect_is_broken(detect, MU_DETECT_BROKEN_FENCE_ORIGIN);
    if (beat->subject == detect->self && is_me)
        mu_detect_fence(detect, beat->from, update);
    else
        mu_detect_drop(detect);
}

void mu_out_tell(struct mu_detect *detect, mu_slot slot, uint32_t incarnation,
                 struct mu_detect_update *update)
{
    struct mu_beat *dead = mu_detect_send(detect, MU_BEAT_DEAD, slot, incarnation, update);
    dead->subject = slot;
    dead->subject_incarnation = incarnation;
}

/* Of those that are out without proof, this node tells whom it would observe if they lived, and the
 * suspects were dead: these may be so, and tell nobody. */
static bool is_mine(const struct mu_detect *detect, const struct mu_unproven *entry)
{
    return entry->incarnation != 0 &&
           (detect->nearest == MU_SLOT_NONE ||
            mu_detect_distance(detect, entry->slot) <= mu_mend_reach(detect));
}

static bool is_telling(const struct mu_detect *detect)
{
    return detect->unproven_count > 0 &&
           (detect->now_ns < detect->tell.until_ns || !detect->lease.held) &&
           !mu_detect_is_broken(detect, MU_DETECT_BROKEN_TELLING);
}

void mu_out_on_timeout(struct mu_detect *detect, struct mu_detect_update *update)
{
    struct mu_tell *tell = &detect->tell;
    if (tell->next_ns > detect->now_ns)
        return;
    for (; is_telling(detect) && tell->at < detect->unproven_count; tell->at++) {
        if (mu_detect_room(update) <= ROOM_KEPT)
            return; /* the others at once, in another step */
        const struct mu_unproven *entry = &detect->unproven[tell->at];
        if (is_mine(detect, entry))
            mu_out_tell(detect, entry->slot, entry->incarnation, update);
    }
    if (is_telling(detect) && detect->nearest == MU_SLOT_NONE && !detect->chosen)
        mu_ask_to_be_chosen(detect, detect->unproven[0].slot, update);
    tell->at = 0;
    tell->next_ns = is_telling(detect) ? detect->now_ns + detect->period_ns : MU_NEVER;
}

uint64_t mu_out_deadline_ns(const struct mu_detect *detect)
{
    return detect->tell.next_ns;
}
