/* Being observed: whom this node beats to, and its lease (N1, N2, N3). */
#include "core/ring/inside.h"

#include <assert.h>

void mu_watched_init(struct mu_detect *detect)
{
    for (int i = 0; i < MU_DETECT_WATCHERS; i++)
        detect->watchers[i] =
            (struct mu_watcher){.slot = MU_SLOT_NONE, .unanswered = MU_WATCHER_ENDED};
}

static bool is_over(const struct mu_watcher *watcher)
{
    return watcher->unanswered == MU_WATCHER_ENDED;
}

static void end(struct mu_watcher *watcher)
{
    watcher->unanswered = MU_WATCHER_ENDED;
    watcher->lease_ns = 0;
}

/* How far onward an observer stands.  The first live one is the one that may declare this node. */
static uint32_t onward(const struct mu_detect *detect, mu_slot place)
{
    return place >= detect->self ? place - detect->self : place + detect->size - detect->self;
}

static struct mu_watcher *find(struct mu_detect *detect, mu_slot slot)
{
    for (int i = 0; i < MU_DETECT_WATCHERS; i++)
        if (detect->watchers[i].slot == slot)
            return &detect->watchers[i];
    return NULL;
}

/* ---- the lease ---- */

/* An observer and a helper in its place: what one of them acknowledges counts for both. */
static uint64_t lease_at_ns(const struct mu_detect *detect, mu_slot place)
{
    uint64_t lease_ns = 0;
    for (int i = 0; i < MU_DETECT_WATCHERS; i++)
        if (!is_over(&detect->watchers[i]) && detect->watchers[i].place == place)
            lease_ns = mu_max_ns(lease_ns, detect->watchers[i].lease_ns);
    return lease_ns;
}

static const struct mu_watcher *first_onward(const struct mu_detect *detect)
{
    const struct mu_watcher *first = NULL;
    for (int i = 0; i < MU_DETECT_WATCHERS; i++) {
        const struct mu_watcher *watcher = &detect->watchers[i];
        if (!is_over(watcher) &&
            (first == NULL || onward(detect, watcher->place) < onward(detect, first->place)))
            first = watcher;
    }
    return first;
}

/* Of several observers each may turn out to be the one that declares this node, because those
 * between are out: the least of their leases counts.  One that stands farther onward and has
 * acknowledged nothing yet has just asked, and waits for a timeout from there. */
static uint64_t least_lease_ns(const struct mu_detect *detect)
{
    const struct mu_watcher *first = first_onward(detect);
    uint64_t lease_ns = first == NULL ? 0 : lease_at_ns(detect, first->place);
    for (int i = 0; i < MU_DETECT_WATCHERS; i++) {
        const struct mu_watcher *watcher = &detect->watchers[i];
        if (!is_over(watcher) && watcher->acked_ns != 0)
            lease_ns = mu_min_ns(lease_ns, lease_at_ns(detect, watcher->place));
    }
    return lease_ns;
}

uint64_t mu_detect_lease_until_ns(const struct mu_detect *detect)
{
    if (detect->fenced || !detect->started)
        return 0;
    if (detect->nearest == MU_SLOT_NONE)
        return MU_NEVER; /* nobody is left to declare this node */
    if (detect->lease_held && mu_detect_is_broken(detect, MU_DETECT_BROKEN_LEASE))
        return MU_NEVER;
    return mu_loop_lease_ns(detect, least_lease_ns(detect));
}

bool mu_detect_lease_held(const struct mu_detect *detect)
{
    return detect->lease_held;
}

void mu_watched_note_lease(struct mu_detect *detect, struct mu_detect_update *update)
{
    bool held = mu_detect_lease_until_ns(detect) > detect->now_ns;
    if (held == detect->lease_held)
        return;
    detect->lease_held = held;
    mu_detect_add(update, MU_DETECT_LEASE)->held = held;
}

/* A beat with this stamp is heard after it, so its observer has not waited for a timeout before
 * this is over.  Nor has one that only probes, and begins when its observer has missed a beat. */
static uint64_t lease_length_ns(uint64_t period_ns, uint64_t timeout_ns)
{
    uint64_t slack_ns = mu_detect_slack_ns(period_ns, timeout_ns);
    uint64_t tolerance_ns = mu_detect_tolerance_ns(period_ns, timeout_ns);
    return mu_min_ns(timeout_ns - slack_ns, timeout_ns - period_ns + tolerance_ns);
}

static uint64_t lease_of(const struct mu_watcher *watcher, uint64_t stamp_ns)
{
    return stamp_ns + lease_length_ns(watcher->period_ns, watcher->timeout_ns);
}

mu_slot mu_detect_observer(const struct mu_detect *detect)
{
    const struct mu_watcher *best = NULL;
    for (int i = 0; i < MU_DETECT_WATCHERS; i++) {
        const struct mu_watcher *watcher = &detect->watchers[i];
        if (is_over(watcher) || watcher->acked_ns == 0)
            continue;
        uint32_t here = onward(detect, watcher->place);
        uint32_t there = best == NULL ? UINT32_MAX : onward(detect, best->place);
        if (here < there || (here == there && watcher->acked_ns > best->acked_ns))
            best = watcher;
    }
    return best == NULL ? MU_SLOT_NONE : best->slot;
}

/* ---- beats ---- */

uint64_t mu_watched_stamp_ns(struct mu_detect *detect)
{
    detect->stamp_ns = mu_max_ns(detect->now_ns, detect->stamp_ns + 1);
    return detect->stamp_ns;
}

static void beat_to(struct mu_detect *detect, struct mu_watcher *watcher,
                    struct mu_detect_update *update)
{
    struct mu_beat *beat =
        mu_detect_send(detect, MU_BEAT_BEAT, watcher->slot, watcher->incarnation, update);
    beat->nonce = watcher->nonce;
    beat->stamp_ns = mu_watched_stamp_ns(detect);
    beat->acked_ns = watcher->acked_ns;
    watcher->unanswered++;
}

void mu_watched_on_timeout(struct mu_detect *detect, struct mu_detect_update *update)
{
    for (int i = 0; i < MU_DETECT_WATCHERS; i++) {
        struct mu_watcher *watcher = &detect->watchers[i];
        if (is_over(watcher) || watcher->next_beat_ns > detect->now_ns)
            continue;
        if (watcher->unanswered * watcher->period_ns >= MU_DETECT_PATIENCE * watcher->timeout_ns) {
            end(watcher);
            continue;
        }
        beat_to(detect, watcher, update);
        watcher->next_beat_ns += watcher->period_ns;
        if (watcher->next_beat_ns <= detect->now_ns) /* a stall: not all that was missed at once */
            watcher->next_beat_ns = detect->now_ns + watcher->period_ns;
    }
}

uint64_t mu_watched_deadline_ns(const struct mu_detect *detect)
{
    uint64_t at_ns = detect->lease_held ? mu_detect_lease_until_ns(detect) : MU_NEVER;
    for (int i = 0; i < MU_DETECT_WATCHERS; i++)
        if (!is_over(&detect->watchers[i]))
            at_ns = mu_min_ns(at_ns, detect->watchers[i].next_beat_ns);
    return at_ns;
}

/* ---- what observers say ---- */

/* An entry for one more: unused, or over, or that of somebody who stands farther onward. */
static struct mu_watcher *make_room(struct mu_detect *detect, mu_slot place)
{
    struct mu_watcher *farthest = NULL;
    for (int i = 0; i < MU_DETECT_WATCHERS; i++)
        if (detect->watchers[i].slot == MU_SLOT_NONE)
            return &detect->watchers[i];
    for (int i = 0; i < MU_DETECT_WATCHERS; i++) {
        struct mu_watcher *watcher = &detect->watchers[i];
        if (is_over(watcher))
            return watcher;
        if (farthest == NULL || onward(detect, watcher->place) > onward(detect, farthest->place))
            farthest = watcher;
    }
    return onward(detect, place) < onward(detect, farthest->place) ? farthest : NULL;
}

static bool is_newer(const struct mu_detect *detect, const struct mu_watcher *watcher,
                     const struct mu_beat *beat)
{
    if (mu_detect_is_broken(detect, MU_DETECT_BROKEN_OLD_WATCH))
        return true;
    if (beat->from_incarnation != watcher->incarnation)
        return beat->from_incarnation > watcher->incarnation;
    return beat->nonce > watcher->nonce;
}

static void take_on(struct mu_detect *detect, struct mu_watcher *watcher,
                    const struct mu_beat *beat, struct mu_detect_update *update)
{
    bool goes_on = watcher->slot == beat->from && watcher->incarnation == beat->from_incarnation &&
                   !is_over(watcher);
    uint64_t slack_ns = mu_detect_slack_ns(beat->period_ns, beat->timeout_ns);
    /* A new observer bridges the round trip to its first acknowledgement; one that changes its
     * timeout counts from the beat that goes out now, when that is less. */
    uint64_t lease_ns =
        goes_on ? mu_min_ns(watcher->lease_ns,
                            detect->now_ns + lease_length_ns(beat->period_ns, beat->timeout_ns))
                : mu_min_ns(mu_detect_lease_until_ns(detect), detect->now_ns + slack_ns);
    *watcher = (struct mu_watcher){
        .slot = beat->from,
        .incarnation = beat->from_incarnation,
        .place = beat->subject,
        .nonce = beat->nonce,
        .period_ns = beat->period_ns,
        .timeout_ns = beat->timeout_ns,
        .next_beat_ns = detect->now_ns + beat->period_ns,
        .acked_ns = goes_on ? watcher->acked_ns : 0,
        .lease_ns = lease_ns,
    };
    beat_to(detect, watcher, update);
}

/* The observer asks again, and has acknowledged nothing since the last beat: another one may get
 * through.  That it asks is a word. */
static bool is_waiting(const struct mu_watcher *watcher, const struct mu_beat *beat)
{
    return watcher->nonce == beat->nonce && watcher->incarnation == beat->from_incarnation &&
           !is_over(watcher) && watcher->unanswered > 0;
}

void mu_watched_on_watch(struct mu_detect *detect, const struct mu_beat *beat,
                         struct mu_detect_update *update)
{
    struct mu_watcher *known = find(detect, beat->from), *watcher = known;
    bool sound = mu_detect_times_error(beat->period_ns, beat->timeout_ns) == NULL &&
                 beat->subject != detect->self && beat->nonce != 0 &&
                 !mu_dead_is_out(&detect->dead, beat->subject);
    if (sound && known == NULL)
        watcher = make_room(detect, beat->subject);
    if (!sound || watcher == NULL) {
        mu_detect_drop(detect);
    } else if (known == NULL || is_newer(detect, known, beat)) {
        take_on(detect, watcher, beat, update);
    } else if (is_waiting(known, beat)) {
        known->unanswered = 0;
        beat_to(detect, known, update);
    } else {
        mu_detect_drop(detect);
    }
}

void mu_watched_on_ack(struct mu_detect *detect, const struct mu_beat *beat)
{
    struct mu_watcher *watcher = find(detect, beat->from);
    if (watcher == NULL || is_over(watcher) || watcher->nonce != beat->nonce ||
        watcher->incarnation != beat->from_incarnation || beat->stamp_ns <= watcher->acked_ns ||
        beat->stamp_ns > detect->stamp_ns) {
        mu_detect_drop(detect);
        return;
    }
    watcher->acked_ns = beat->stamp_ns;
    watcher->unanswered = 0;
    watcher->lease_ns = lease_of(watcher, beat->stamp_ns);
}

void mu_watched_on_release(struct mu_detect *detect, const struct mu_beat *beat)
{
    struct mu_watcher *watcher = find(detect, beat->from);
    if (watcher == NULL || is_over(watcher) || watcher->nonce != beat->nonce ||
        watcher->incarnation != beat->from_incarnation)
        mu_detect_drop(detect);
    else
        end(watcher);
}

void mu_watched_on_out(struct mu_detect *detect, mu_slot slot)
{
    for (int i = 0; i < MU_DETECT_WATCHERS; i++) {
        struct mu_watcher *watcher = &detect->watchers[i];
        if (watcher->slot == slot || (!is_over(watcher) && watcher->place == slot))
            end(watcher);
    }
}
