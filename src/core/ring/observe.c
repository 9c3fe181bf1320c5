/* Observing: watches, signs of life, and who is observed next (N1, N2, N10, N12). */
#include "core/ring/inside.h"

#include <assert.h>

void mu_observe_init(struct mu_detect *detect)
{
    for (int i = 0; i < MU_RING_WATCHES; i++)
        detect->ring[i] = (struct mu_watch){.slot = MU_SLOT_NONE};
}

struct mu_watch *mu_observe_find(struct mu_detect *detect, mu_slot slot)
{
    for (int i = 0; i < MU_RING_WATCHES; i++)
        if (detect->ring[i].slot == slot)
            return &detect->ring[i];
    return NULL;
}

/* ---- watches ---- */

static void send_watch(struct mu_detect *detect, struct mu_watch *watch,
                       struct mu_detect_update *update)
{
    struct mu_beat *beat =
        mu_detect_send(detect, MU_BEAT_WATCH, watch->slot, watch->incarnation, update);
    beat->nonce = watch->asked_nonce;
    beat->period_ns = detect->period_ns;
    beat->timeout_ns = detect->timeout_ns;
    beat->subject = detect->self;
    watch->resend_ns = detect->now_ns + mu_detect_slack_ns(detect->period_ns, detect->timeout_ns);
}

/* The watch that was in force goes on until a beat returns the new nonce. */
static void ask_anew(struct mu_detect *detect, struct mu_watch *watch,
                     struct mu_detect_update *update)
{
    watch->asked_nonce = ++detect->nonce;
    watch->fresh_ns = detect->now_ns;
    if (watch->force_nonce >= watch->times_nonce)
        watch->force_nonce = watch->asked_nonce;
    send_watch(detect, watch, update);
}

void mu_observe_begin(struct mu_detect *detect, struct mu_watch *watch, mu_slot slot,
                      uint32_t incarnation, struct mu_detect_update *update)
{
    assert(watch->slot == MU_SLOT_NONE && slot != detect->self);
    mu_help_on_observed(detect, slot);
    /* N12: whoever was never heard has time until the grace is over. */
    uint64_t from_ns = mu_since_ns(detect->grace_until_ns, detect->timeout_ns);
    *watch = (struct mu_watch){
        .slot = slot,
        .incarnation = incarnation,
        .nonce = detect->nonce + 1,
        .begun_nonce = detect->nonce + 1,
        .force_nonce = detect->nonce + 1,
        .times_nonce = detect->nonce + 1,
        .contact_ns = mu_max_ns(detect->now_ns, from_ns),
        .heard_ns = mu_max_ns(detect->now_ns, from_ns),
        .period_ns = detect->period_ns,
        .timeout_ns = detect->timeout_ns,
    };
    ask_anew(detect, watch, update);
}

void mu_observe_end(struct mu_detect *detect, struct mu_watch *watch,
                    struct mu_detect_update *update)
{
    if (watch->slot == MU_SLOT_NONE)
        return;
    struct mu_beat *beat =
        mu_detect_send(detect, MU_BEAT_RELEASE, watch->slot, watch->incarnation, update);
    beat->nonce = watch->asked_nonce != 0 ? watch->asked_nonce : watch->nonce;
    beat->subject = watch->slot;
    *watch = (struct mu_watch){.slot = MU_SLOT_NONE};
}

void mu_observe_on_set(struct mu_detect *detect, uint64_t before_ns,
                       struct mu_detect_update *update)
{
    if (mu_ask_is_on(detect))
        detect->ask.timeout_ns = mu_max_ns(mu_ask_timeout_ns(detect), before_ns);
    for (int i = 0; i < MU_RING_WATCHES; i++) {
        struct mu_watch *watch = &detect->ring[i];
        if (watch->slot == MU_SLOT_NONE)
            continue;
        watch->times_nonce = detect->nonce + 1;
        ask_anew(detect, watch, update);
    }
}

/* ---- signs of life ---- */

/* The nearest node has said something: is anybody still late, or silent? */
static void relieve(struct mu_detect *detect, bool is_news, struct mu_detect_update *update)
{
    struct mu_watch *watch = &detect->ring[MU_RING_NEAREST];
    bool is_late = mu_watch_late_ns(watch) <= detect->now_ns;
    if (!is_late || is_news)
        mu_mend_stop(detect, update);
    if (is_late)
        return;
    if (mu_part_mended(detect, update)) /* without answers, it may have dropped this observer */
        ask_anew(detect, watch, update);
    mu_ask_end(detect);
}

void mu_observe_said(struct mu_detect *detect, struct mu_watch *watch, uint64_t clock_ns, bool both,
                     struct mu_detect_update *update)
{
    uint64_t heard_ns = watch->heard_ns + watch->lag_ns;
    bool is_news = clock_ns > watch->said_ns || mu_detect_is_broken(detect, MU_DETECT_BROKEN_STAMP);
    if (is_news && both) {
        watch->contact_ns = watch->heard_ns = detect->now_ns;
        watch->lag_ns = 0;
        watch->probes = 0;
    } else if (is_news) {
        watch->heard_ns = detect->now_ns - watch->lag_ns; /* that lag is over, for this question */
    } else if (both) {
        /* So much older than what was heard before: no sign of life now, but both did hear. */
        uint64_t at_ns = mu_since_ns(heard_ns, watch->said_ns - clock_ns);
        watch->contact_ns = mu_max_ns(watch->contact_ns, mu_since_ns(at_ns, watch->lag_ns));
    }
    if (is_news)
        watch->said_ns = clock_ns;
    if (watch == &detect->ring[MU_RING_NEAREST] && mu_ask_is_on(detect))
        relieve(detect, is_news, update);
    else if (is_news)
        mu_mend_heard_again(detect);
}

/* Does the beat say that its sender hears us?  The first one of a watch does.  Where round trips
 * are long, or we were late ourselves, acknowledgements are as late. */
static bool returns_acks(const struct mu_watch *watch, const struct mu_beat *beat, bool is_first)
{
    if (is_first || beat->acked_ns == 0)
        return is_first;
    uint64_t slack_ns = mu_detect_slack_ns(watch->period_ns, watch->timeout_ns);
    uint64_t behind_ns =
        mu_max_ns(watch->timeout_ns - slack_ns, watch->round_trip_ns + 2 * watch->period_ns);
    return beat->stamp_ns - beat->acked_ns <= behind_ns + watch->lag_ns;
}

static void acknowledge(struct mu_detect *detect, const struct mu_beat *beat,
                        struct mu_detect_update *update)
{
    struct mu_beat *ack =
        mu_detect_send(detect, MU_BEAT_ACK, beat->from, beat->from_incarnation, update);
    ack->nonce = beat->nonce;
    ack->stamp_ns = beat->stamp_ns;
}

/* Which WATCH does it know?  It may have missed one, or be one behind. */
static void take_times(struct mu_detect *detect, struct mu_watch *watch, uint64_t nonce)
{
    uint64_t newest = mu_max_ns(watch->nonce, watch->asked_nonce);
    watch->nonce = mu_max_ns(watch->nonce, nonce);
    if (nonce == watch->asked_nonce)
        watch->asked_nonce = 0;
    if (nonce < watch->times_nonce)
        return;
    watch->force_nonce = newest;
    watch->period_ns = detect->period_ns;
    watch->timeout_ns = detect->timeout_ns;
}

void mu_observe_on_beat(struct mu_detect *detect, const struct mu_beat *beat,
                        struct mu_detect_update *update)
{
    struct mu_watch *watch = mu_observe_find(detect, beat->from);
    if (watch == NULL) {
        mu_help_on_beat(detect, beat, update);
        return;
    }
    bool is_first = watch->asked_nonce != 0 && beat->nonce == watch->asked_nonce;
    bool is_ours = (beat->nonce >= watch->nonce &&
                    beat->nonce <= mu_max_ns(watch->nonce, watch->asked_nonce)) ||
                   mu_detect_is_broken(detect, MU_DETECT_BROKEN_NONCE);
    bool is_news =
        beat->stamp_ns > watch->stamp_ns || mu_detect_is_broken(detect, MU_DETECT_BROKEN_STAMP);
    bool is_same = watch->incarnation == 0 || watch->incarnation == beat->from_incarnation;
    if (!is_ours || !is_news || !is_same || beat->acked_ns > beat->stamp_ns) {
        mu_detect_drop(detect);
        return;
    }
    take_times(detect, watch, beat->nonce);
    /* Else it counts on other times, or has waited while this node stood still, and others began to
     * ask in its place: then it gets no lease. */
    bool waited = mu_detect_lags(detect) && !mu_detect_is_broken(detect, MU_DETECT_BROKEN_LATE_ACK);
    if (beat->nonce <= watch->force_nonce && !waited)
        acknowledge(detect, beat, update);
    watch->incarnation = beat->from_incarnation;
    watch->stamp_ns = beat->stamp_ns;
    watch->fresh_ns = watch->lived_ns = detect->now_ns;
    mu_observe_said(detect, watch, beat->stamp_ns, returns_acks(watch, beat, is_first), update);
}

/* It answers, but for a timeout no beat has come: it may have forgotten the watch.  A WATCH that
 * may still be on its way is not replaced. */
static void renew(struct mu_detect *detect, struct mu_watch *watch, struct mu_detect_update *update)
{
    if (mu_since_ns(detect->now_ns, watch->fresh_ns) > watch->timeout_ns)
        ask_anew(detect, watch, update);
}

void mu_observe_answered(struct mu_detect *detect, const struct mu_beat *beat,
                         struct mu_detect_update *update)
{
    struct mu_watch *watch = mu_observe_find(detect, beat->from);
    if (watch == NULL && mu_mend_is_suspect(detect, beat->from)) {
        if (beat->nonce < detect->ask.first_nonce) { /* said before this suspicion, or recorded */
            mu_detect_drop(detect);
            return;
        }
        watch = mu_mend_found(detect, beat->from, beat->from_incarnation, update);
        if (watch != NULL)
            mu_observe_said(detect, watch, beat->type == MU_BEAT_ANSWER ? beat->acked_ns : 1, true,
                            update);
        mu_observe_settle(detect, update);
        return;
    }
    if (watch == NULL)
        return;
    bool is_same = watch->incarnation == 0 || watch->incarnation == beat->from_incarnation;
    /* Once it has said something, its clock tells what is new; before that, a recorded answer could
     * not be told from a fresh one. */
    bool is_recorded = watch->said_ns == 0 && beat->nonce < watch->begun_nonce;
    if (!is_same || is_recorded) {
        mu_detect_drop(detect);
        return;
    }
    watch->incarnation = beat->from_incarnation;
    watch->round_trip_ns = mu_max_ns(mu_min_ns(detect->now_ns - beat->stamp_ns, watch->timeout_ns),
                                     watch->round_trip_ns - watch->round_trip_ns / 8);
    mu_observe_said(detect, watch, beat->acked_ns, true, update);
    renew(detect, watch, update);
}

void mu_observe_on_answer(struct mu_detect *detect, const struct mu_beat *beat,
                          struct mu_detect_update *update)
{
    bool in_time = mu_ask_is_answered_in_time(detect, beat->nonce, beat->stamp_ns);
    bool is_watched = mu_observe_find(detect, beat->from) != NULL;
    if (!in_time || (!mu_ask_is_on(detect) && !is_watched)) {
        mu_detect_drop(detect);
        return;
    }
    if (beat->from != detect->ring[MU_RING_NEAREST].slot) /* from now on it is no suspect */
        mu_ask_vouch(detect, beat->from, beat->nonce, beat->stamp_ns);
    mu_observe_answered(detect, beat, update);
}

/* ---- who is next ---- */

static void drop_if_out(struct mu_detect *detect, struct mu_watch *watch)
{
    if (watch->slot == MU_SLOT_NONE || !mu_roster_is_vacant(&detect->dead, watch->slot))
        return;
    *watch = (struct mu_watch){.slot = MU_SLOT_NONE};
    if (watch == &detect->ring[MU_RING_NEAREST])
        mu_part_clear(detect);
    else
        mu_mend_resume(detect);
}

/* Who was found while the ring mended is observed for good. */
static void promote(struct mu_detect *detect)
{
    struct mu_watch *found = &detect->ring[MU_RING_MENDED];
    detect->ring[MU_RING_NEAREST] = *found;
    *found = (struct mu_watch){.slot = MU_SLOT_NONE};
    mu_mend_resume(detect); /* if it is silent as well */
}

void mu_observe_settle(struct mu_detect *detect, struct mu_detect_update *update)
{
    struct mu_watch *nearest = &detect->ring[MU_RING_NEAREST];
    if (detect->nearest != MU_SLOT_NONE) /* whoever is nearer is out for good */
        detect->nearest = mu_roster_next_live(&detect->dead, detect->nearest, true, detect->self);
    drop_if_out(detect, nearest);
    drop_if_out(detect, &detect->ring[MU_RING_MENDED]);
    if (detect->nearest == MU_SLOT_NONE) {
        mu_mend_stop(detect, update);
        mu_ask_end(detect);
        return;
    }
    mu_mend_trim(detect, mu_detect_distance(detect, detect->nearest));
    if (nearest->slot == MU_SLOT_NONE && detect->ring[MU_RING_MENDED].slot == detect->nearest)
        promote(detect);
    if (detect->mend.spans > 0)
        return; /* suspects lie between */
    if (nearest->slot == MU_SLOT_NONE)
        mu_observe_begin(detect, nearest, detect->nearest, 0, update);
    if (mu_ask_is_on(detect) && mu_watch_late_ns(nearest) > detect->now_ns)
        mu_ask_end(detect);
}

/* ---- time ---- */

void mu_observe_forgive(struct mu_detect *detect)
{
    for (int i = 0; i < MU_RING_WATCHES; i++) {
        struct mu_watch *watch = &detect->ring[i];
        if (watch->slot != MU_SLOT_NONE)
            watch->lag_ns = mu_max_ns(watch->lag_ns, mu_since_ns(detect->now_ns, watch->heard_ns));
    }
    mu_mend_forgive(detect);
    if (mu_ask_is_on(detect))
        detect->ask.sure_ns = detect->now_ns;
}

void mu_observe_give_back(struct mu_detect *detect, uint64_t lag_ns)
{
    for (int i = 0; i < MU_RING_WATCHES; i++)
        if (detect->ring[i].slot != MU_SLOT_NONE)
            detect->ring[i].lag_ns += lag_ns;
    mu_mend_give_back(detect, lag_ns);
    if (mu_ask_is_on(detect))
        detect->ask.lag_ns += lag_ns;
    if (detect->ask.sure_ns != 0)
        detect->ask.sure_ns += lag_ns;
    if (detect->part.phase != MU_PART_NONE)
        detect->part.step_ns += lag_ns;
}

static void resend_watches(struct mu_detect *detect, struct mu_detect_update *update)
{
    for (int i = 0; i < MU_RING_WATCHES; i++) {
        struct mu_watch *watch = &detect->ring[i];
        if (watch->slot != MU_SLOT_NONE && watch->asked_nonce != 0 &&
            watch->resend_ns <= detect->now_ns)
            send_watch(detect, watch, update);
    }
}

void mu_observe_on_timeout(struct mu_detect *detect, struct mu_detect_update *update)
{
    mu_verdict_on_timeout(detect, update);
    mu_part_on_timeout(detect, update);
    if (detect->fenced)
        return;
    resend_watches(detect, update);
    mu_ask_on_timeout(detect, update);
    mu_mend_on_timeout(detect, update);
}

uint64_t mu_observe_deadline_ns(const struct mu_detect *detect)
{
    const struct mu_watch *nearest = &detect->ring[MU_RING_NEAREST];
    uint64_t at_ns = MU_NEVER;
    for (int i = 0; i < MU_RING_WATCHES; i++)
        if (detect->ring[i].slot != MU_SLOT_NONE && detect->ring[i].asked_nonce != 0)
            at_ns = mu_min_ns(at_ns, detect->ring[i].resend_ns);
    if (!mu_ask_is_on(detect))
        return nearest->slot == MU_SLOT_NONE ? at_ns : mu_min_ns(at_ns, mu_watch_late_ns(nearest));
    at_ns = mu_min_ns(at_ns, detect->ask.round_ns);
    at_ns = mu_min_ns(at_ns, mu_verdict_deadline_ns(detect));
    at_ns = mu_min_ns(at_ns, mu_mend_deadline_ns(detect));
    return mu_min_ns(at_ns, mu_part_deadline_ns(detect));
}
