/* Mending: from the first late beat on, predecessors are probed in doubling batches (N5). */
#include "core/ring/inside.h"

#include <assert.h>
#include <string.h>

enum { ROOM_KEPT = 8 /* of the effects of a step, for others than probes */ };

uint32_t mu_mend_reach(const struct mu_detect *detect)
{
    if (detect->mend.spans > 0)
        return detect->mend.reach[detect->mend.spans - 1];
    return detect->nearest == MU_SLOT_NONE ? 0 : mu_detect_distance(detect, detect->nearest);
}

bool mu_mend_is_suspect(const struct mu_detect *detect, mu_slot slot)
{
    return detect->mend.spans > 0 && mu_detect_distance(detect, slot) <= mu_mend_reach(detect) &&
           !mu_roster_is_vacant(&detect->dead, slot);
}

uint64_t mu_mend_probed_ns(const struct mu_detect *detect, mu_slot slot)
{
    uint32_t distance = mu_detect_distance(detect, slot);
    for (uint32_t i = 0; i < detect->mend.spans; i++)
        if (distance <= detect->mend.reach[i])
            return detect->mend.probed_ns[i];
    return MU_NEVER;
}

bool mu_mend_is_far(const struct mu_detect *detect, mu_slot slot)
{
    return detect->mend.next_to_observed != mu_detect_distance(detect, slot) &&
           !mu_detect_is_broken(detect, MU_DETECT_BROKEN_FAR);
}

/* ---- where suspects end ---- */

void mu_mend_stop(struct mu_detect *detect, struct mu_detect_update *update)
{
    mu_observe_end(detect, &detect->ring[MU_RING_MENDED], update);
    memset(&detect->mend, 0, sizeof detect->mend);
}

/* All that lies in a span has been probed: from here it has the time of a stall that is allowed. */
static void start_clock(struct mu_detect *detect, uint32_t span)
{
    if (detect->mend.probed_ns[span] == MU_NEVER)
        detect->mend.probed_ns[span] = detect->now_ns;
}

static void cut(struct mu_detect *detect, uint32_t distance)
{
    struct mu_mend *mend = &detect->mend;
    uint32_t from = mu_detect_distance(detect, detect->nearest);
    while (mend->spans > 1 && mend->reach[mend->spans - 2] >= distance - 1)
        mend->spans--;
    mend->batch_ns = MU_NEVER;
    if (distance <= from) {
        memset(mend, 0, sizeof *mend);
        return;
    }
    /* Who answers was probed, and so was everybody before it. */
    mend->reach[mend->spans - 1] = distance - 1;
    if (mend->swept > distance - 1)
        mend->swept = distance - 1;
    start_clock(detect, mend->spans - 1);
}

/* Is the one that was found a suspect itself by now? */
static bool is_found_suspect(const struct mu_detect *detect)
{
    const struct mu_watch *found = &detect->ring[MU_RING_MENDED];
    return found->slot != MU_SLOT_NONE && mu_mend_is_suspect(detect, found->slot);
}

struct mu_watch *mu_mend_found(struct mu_detect *detect, mu_slot slot, uint32_t incarnation,
                               struct mu_detect_update *update)
{
    struct mu_watch *watch = &detect->ring[MU_RING_MENDED];
    uint32_t distance = mu_detect_distance(detect, slot);
    bool is_behind = is_found_suspect(detect) && distance > mu_detect_distance(detect, watch->slot);
    cut(detect, distance);
    if (is_behind)
        return NULL;
    mu_observe_end(detect, watch, update);
    mu_observe_begin(detect, watch, slot, incarnation, update);
    return watch;
}

void mu_mend_heard_again(struct mu_detect *detect)
{
    if (is_found_suspect(detect))
        cut(detect, mu_detect_distance(detect, detect->ring[MU_RING_MENDED].slot));
}

void mu_mend_trim(struct mu_detect *detect, uint32_t distance)
{
    struct mu_mend *mend = &detect->mend;
    uint32_t gone = 0;
    while (gone < mend->spans && mend->reach[gone] < distance)
        gone++;
    if (gone == 0)
        return;
    mend->spans -= gone;
    memmove(mend->reach, mend->reach + gone, mend->spans * sizeof mend->reach[0]);
    memmove(mend->probed_ns, mend->probed_ns + gone, mend->spans * sizeof mend->probed_ns[0]);
    if (mend->spans == 0)
        memset(mend, 0, sizeof *mend);
}

void mu_mend_resume(struct mu_detect *detect)
{
    bool never = mu_detect_is_broken(detect, MU_DETECT_BROKEN_SEQUENTIAL);
    if (detect->mend.spans == 0)
        return;
    detect->mend.batches = 0;
    detect->mend.batch_ns = never ? MU_NEVER : detect->now_ns;
}

void mu_mend_forgive(struct mu_detect *detect)
{
    for (uint32_t i = 0; i < detect->mend.spans; i++)
        if (detect->mend.probed_ns[i] != MU_NEVER)
            detect->mend.probed_ns[i] = detect->now_ns;
}

void mu_mend_give_back(struct mu_detect *detect, uint64_t lag_ns)
{
    for (uint32_t i = 0; i < detect->mend.spans; i++)
        if (detect->mend.probed_ns[i] != MU_NEVER)
            detect->mend.probed_ns[i] += lag_ns;
}

/* ---- batches ---- */

/* More suspects, up to this distance.  When all spans are in use, the last ones share a deadline:
 * the latest. */
static void extend(struct mu_detect *detect, uint32_t distance)
{
    struct mu_mend *mend = &detect->mend;
    if (mend->spans < MU_DETECT_SPANS)
        mend->spans++;
    mend->reach[mend->spans - 1] = distance;
    mend->probed_ns[mend->spans - 1] = MU_NEVER;
}

/* The first one behind all suspects; MU_SLOT_NONE: around the ring nobody is left unsuspected. */
static mu_slot next_behind(const struct mu_detect *detect)
{
    uint32_t reach = mu_mend_reach(detect);
    if (reach + 1 >= detect->size)
        return MU_SLOT_NONE;
    mu_slot slot = mu_roster_next_live(&detect->dead, mu_detect_slot_at(detect, reach + 1), true,
                                       detect->self);
    return slot != MU_SLOT_NONE && mu_detect_distance(detect, slot) > reach ? slot : MU_SLOT_NONE;
}

/* Who is observed and silent is a suspect; its deadline is that of its watch. */
static void suspect(struct mu_detect *detect, const struct mu_watch *watch)
{
    uint32_t distance = mu_detect_distance(detect, watch->slot);
    bool swept = detect->mend.spans == 0 || detect->mend.swept == mu_mend_reach(detect);
    extend(detect, distance);
    if (swept)
        detect->mend.swept = distance;
    mu_mend_resume(detect);
    mu_slot next = next_behind(detect);
    detect->mend.next_to_observed = next == MU_SLOT_NONE ? 0 : mu_detect_distance(detect, next);
}

/* So many batches reach everybody. */
static uint32_t batches_needed(const struct mu_detect *detect)
{
    uint32_t count = 1;
    while (count < 32 && (1ull << count) < detect->size)
        count++;
    return count;
}

static uint64_t batch_spacing_ns(const struct mu_detect *detect)
{
    uint64_t slack_ns = mu_detect_slack_ns(detect->period_ns, detect->timeout_ns);
    return (detect->timeout_ns - detect->period_ns - slack_ns) / batches_needed(detect);
}

static void next_batch(struct mu_detect *detect)
{
    struct mu_mend *mend = &detect->mend;
    mu_slot first = next_behind(detect);
    if (first == MU_SLOT_NONE) {
        mend->batch_ns = MU_NEVER;
        return;
    }
    uint32_t distance = mu_detect_distance(detect, first);
    uint64_t length = 1ull << (mend->batches < 31 ? mend->batches : 31);
    extend(detect, (uint32_t)mu_min_ns(distance + length - 1, detect->size - 1));
    mend->batches++;
    mend->batch_ns = detect->now_ns + batch_spacing_ns(detect);
}

/* ---- probes ---- */

/* Who doubts itself has probed everybody once, and then troubles only the nearest. */
static uint32_t sweep_end(const struct mu_detect *detect)
{
    uint32_t reach = mu_mend_reach(detect);
    uint32_t near = mu_detect_distance(detect, detect->nearest) + MU_DETECT_DOUBT_REACH;
    return detect->ask.doubt && near < reach ? near : reach;
}

static bool is_sweeping(const struct mu_detect *detect)
{
    return detect->mend.spans > 0 && detect->mend.swept < sweep_end(detect);
}

void mu_mend_again(struct mu_detect *detect)
{
    if (detect->mend.spans > 0 && !is_sweeping(detect))
        detect->mend.swept = mu_detect_distance(detect, detect->nearest) - 1;
}

static void sweep(struct mu_detect *detect, struct mu_detect_update *update)
{
    struct mu_mend *mend = &detect->mend;
    uint32_t end = sweep_end(detect);
    while (mend->swept < end && mu_detect_room(update) >= ROOM_KEPT + 2) {
        mu_slot slot = mu_detect_slot_at(detect, ++mend->swept);
        if (mu_observe_is_watched(detect, slot) || mu_roster_is_vacant(&detect->dead, slot))
            continue; /* each round asks those by itself */
        mu_ask_probe(detect, slot, 0, update);
        /* The nearest suspect has helpers of its own.  The others: after a chance to answer. */
        if (slot != detect->nearest && mu_mend_probed_ns(detect, slot) != MU_NEVER)
            mu_ask_one(detect, slot, 0, detect->ask.rounds + mend->swept, update);
    }
    for (uint32_t i = 0; i < mend->spans && mend->reach[i] <= mend->swept; i++)
        start_clock(detect, i);
}

/* May the search go on: has nobody been found, or is that one silent, too? */
static bool is_searching(const struct mu_detect *detect)
{
    return detect->ring[MU_RING_MENDED].slot == MU_SLOT_NONE || is_found_suspect(detect);
}

/* ---- who is silent, and cannot be declared ---- */

/* Without a lease nobody is declared, so one that was found and fell silent would be waited for
 * until the lease is back; and the next one behind, which lives, may wait for its own lease, which
 * it has from this node.  When the one found makes way; MU_NEVER: it need not. */
static uint64_t way_ns(const struct mu_detect *detect)
{
    bool held = mu_detect_lease_until_ns(detect) > detect->now_ns;
    if (held || !is_found_suspect(detect) || detect->mend.batch_ns != MU_NEVER ||
        next_behind(detect) == MU_SLOT_NONE)
        return MU_NEVER;
    return mu_watch_silent_ns(&detect->ring[MU_RING_MENDED]) + detect->timeout_ns;
}

static void make_way(struct mu_detect *detect, struct mu_detect_update *update)
{
    struct mu_watch *found = &detect->ring[MU_RING_MENDED];
    mu_slot next = next_behind(detect);
    mu_observe_end(detect, found, update);
    mu_observe_begin(detect, found, next, 0, update);
}

void mu_mend_on_timeout(struct mu_detect *detect, struct mu_detect_update *update)
{
    const struct mu_watch *nearest = &detect->ring[MU_RING_NEAREST];
    const struct mu_watch *found = &detect->ring[MU_RING_MENDED];
    if (!mu_ask_is_on(detect))
        return;
    if (detect->mend.spans == 0 && nearest->slot != MU_SLOT_NONE &&
        mu_watch_silent_ns(nearest) <= detect->now_ns)
        suspect(detect, nearest);
    if (detect->mend.spans == 0)
        return;
    if (!is_searching(detect) && mu_watch_silent_ns(found) <= detect->now_ns)
        suspect(detect, found);
    if (detect->mend.batch_ns <= detect->now_ns && is_searching(detect))
        next_batch(detect);
    if (way_ns(detect) <= detect->now_ns)
        make_way(detect, update);
    sweep(detect, update);
}

uint64_t mu_mend_deadline_ns(const struct mu_detect *detect)
{
    const struct mu_watch *nearest = &detect->ring[MU_RING_NEAREST];
    if (detect->mend.spans == 0)
        return nearest->slot == MU_SLOT_NONE ? MU_NEVER : mu_watch_silent_ns(nearest);
    if (is_sweeping(detect))
        return detect->now_ns;
    if (!is_searching(detect))
        return mu_watch_silent_ns(&detect->ring[MU_RING_MENDED]);
    return mu_min_ns(detect->mend.batch_ns, way_ns(detect));
}
