/* Being observed: whom this node beats to (N1, N2). */
#include "core/ring/inside.h"

#include <assert.h>

void mu_watched_init(struct mu_detect *detect)
{
    for (int i = 0; i < MU_DETECT_WATCHERS; i++)
        detect->watchers[i] =
            (struct mu_watcher){.slot = MU_SLOT_NONE, .unanswered = MU_WATCHER_ENDED};
}

static void end(struct mu_watcher *watcher)
{
    watcher->unanswered = MU_WATCHER_ENDED;
    watcher->lease_ns = 0;
}

static struct mu_watcher *find(struct mu_detect *detect, mu_slot slot)
{
    for (int i = 0; i < MU_DETECT_WATCHERS; i++)
        if (detect->watchers[i].slot == slot)
            return &detect->watchers[i];
    return NULL;
}

mu_slot mu_detect_observer(const struct mu_detect *detect)
{
    const struct mu_watcher *best = NULL;
    for (int i = 0; i < MU_DETECT_WATCHERS; i++) {
        const struct mu_watcher *watcher = &detect->watchers[i];
        if (mu_watcher_is_over(watcher) || watcher->acked_ns == 0)
            continue;
        uint32_t here = mu_watcher_onward(detect, watcher->place);
        uint32_t there = best == NULL ? UINT32_MAX : mu_watcher_onward(detect, best->place);
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
        if (mu_watcher_is_over(watcher) || watcher->next_beat_ns > detect->now_ns)
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
    uint64_t at_ns = mu_lease_deadline_ns(detect);
    for (int i = 0; i < MU_DETECT_WATCHERS; i++)
        if (!mu_watcher_is_over(&detect->watchers[i]))
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
        if (mu_watcher_is_over(watcher))
            return watcher;
        if (farthest == NULL ||
            mu_watcher_onward(detect, watcher->place) > mu_watcher_onward(detect, farthest->place))
            farthest = watcher;
    }
    return mu_watcher_onward(detect, place) < mu_watcher_onward(detect, farthest->place) ? farthest
                                                                                         : NULL;
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
                   !mu_watcher_is_over(watcher);
    bool took_over = !goes_on || watcher->lease_ns <= detect->now_ns;
    uint64_t slack_ns = mu_detect_slack_ns(beat->period_ns, beat->timeout_ns);
    /* A new observer bridges the round trip to its first acknowledgement; one that changes its
     * timeout counts from the beat that goes out now, when that is less. */
    uint64_t lease_ns =
        goes_on ? mu_min_ns(watcher->lease_ns,
                            detect->now_ns + mu_lease_length_ns(beat->period_ns, beat->timeout_ns))
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
        .since_ns = took_over ? detect->now_ns : watcher->since_ns,
    };
    beat_to(detect, watcher, update);
}

/* The observer asks again, and has acknowledged nothing since the last beat: another one may get
 * through.  That it asks is a word. */
static bool is_waiting(const struct mu_watcher *watcher, const struct mu_beat *beat)
{
    return watcher->nonce == beat->nonce && watcher->incarnation == beat->from_incarnation &&
           !mu_watcher_is_over(watcher) && watcher->unanswered > 0;
}

void mu_watched_on_watch(struct mu_detect *detect, const struct mu_beat *beat,
                         struct mu_detect_update *update)
{
    struct mu_watcher *known = find(detect, beat->from), *watcher = known;
    bool sound = mu_detect_times_error(beat->period_ns, beat->timeout_ns) == NULL &&
                 beat->subject != detect->self && beat->nonce != 0 &&
                 !mu_roster_is_vacant(&detect->dead, beat->subject);
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
    if (watcher == NULL || mu_watcher_is_over(watcher) || watcher->nonce != beat->nonce ||
        watcher->incarnation != beat->from_incarnation || beat->stamp_ns <= watcher->acked_ns ||
        beat->stamp_ns > detect->stamp_ns) {
        mu_detect_drop(detect);
        return;
    }
    watcher->acked_ns = beat->stamp_ns;
    watcher->unanswered = 0;
    watcher->made_way = 0;
    watcher->lease_ns =
        beat->stamp_ns + mu_lease_length_ns(watcher->period_ns, watcher->timeout_ns);
}

void mu_watched_on_release(struct mu_detect *detect, const struct mu_beat *beat)
{
    struct mu_watcher *watcher = find(detect, beat->from);
    if (watcher == NULL || mu_watcher_is_over(watcher) || watcher->nonce != beat->nonce ||
        watcher->incarnation != beat->from_incarnation)
        mu_detect_drop(detect);
    else
        end(watcher);
}

void mu_watched_on_out(struct mu_detect *detect, mu_slot slot)
{
    uint64_t lease_ns = mu_detect_lease_until_ns(detect);
    for (int i = 0; i < MU_DETECT_WATCHERS; i++) {
        struct mu_watcher *watcher = &detect->watchers[i];
        if (mu_watcher_is_over(watcher) || (watcher->slot != slot && watcher->place != slot))
            continue;
        end(watcher);
        mu_lease_on_out(detect, lease_ns);
    }
}
