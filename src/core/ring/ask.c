/* Asking around: the suspect itself, helpers far from each other, and whether anybody answers this
 * node at all (N4, N6, N7). */
#include "core/ring/inside.h"

#include <string.h>

static void forget_helpers(struct mu_detect *detect)
{
    detect->ask.subject = MU_SLOT_NONE;
    detect->ask.launcher = MU_LAUNCHER_NONE;
    for (int i = 0; i < MU_DETECT_HELPERS; i++) {
        detect->ask.helper[i].slot = MU_SLOT_NONE;
        detect->ask.helper[i].reach = MU_REACH_NONE;
    }
}

void mu_ask_init(struct mu_detect *detect)
{
    mu_ask_end(detect);
}

void mu_ask_end(struct mu_detect *detect)
{
    memset(&detect->ask, 0, sizeof detect->ask);
    detect->ask.round_ns = MU_NEVER;
    detect->ask.vouched_by = MU_SLOT_NONE;
    forget_helpers(detect);
}

void mu_ask_begin(struct mu_detect *detect)
{
    mu_ask_end(detect);
    detect->ask.round_ns = detect->now_ns;
    detect->ask.first_nonce = detect->nonce + 1;
    detect->ask.timeout_ns =
        mu_max_ns(detect->timeout_ns, detect->ring[MU_RING_NEAREST].timeout_ns);
}

/* ---- questions ---- */

void mu_ask_probe(struct mu_detect *detect, mu_slot slot, uint32_t incarnation,
                  struct mu_detect_update *update)
{
    struct mu_beat *beat = mu_detect_send(detect, MU_BEAT_PROBE, slot, incarnation, update);
    beat->nonce = ++detect->nonce;
    beat->stamp_ns = detect->now_ns;
    beat->subject = detect->self;
    beat->subject_incarnation = detect->incarnation;
}

static void ask(struct mu_detect *detect, mu_slot helper, mu_slot subject, uint32_t incarnation,
                struct mu_detect_update *update)
{
    struct mu_beat *beat = mu_detect_send(detect, MU_BEAT_ASK, helper, 0, update);
    beat->nonce = ++detect->nonce;
    beat->stamp_ns = detect->now_ns;
    beat->subject = subject;
    beat->subject_incarnation = incarnation;
}

/* Onward from this node lie those that it does not suspect, up to the farthest suspect. */
static uint32_t unsuspected(const struct mu_detect *detect)
{
    return detect->size - 1 - mu_mend_reach(detect);
}

/* A live, unsuspected node about so far onward; MU_SLOT_NONE: there is none. */
static mu_slot helper_at(const struct mu_detect *detect, uint64_t onward)
{
    uint32_t count = unsuspected(detect);
    for (uint64_t at = count == 0 ? 0 : onward % count; count > 0; at = 0) {
        mu_slot slot = (mu_slot)((detect->self + 1 + at) % detect->size);
        slot = mu_roster_next_live(&detect->dead, slot, false, detect->self);
        uint32_t distance = slot == MU_SLOT_NONE ? 0 : mu_detect_distance(detect, slot);
        if (distance > mu_mend_reach(detect) && distance <= detect->size - 1 - at)
            return slot;
        if (at == 0) /* from the first one on there is nobody */
            break;
    }
    return MU_SLOT_NONE;
}

void mu_ask_to_be_chosen(struct mu_detect *detect, mu_slot subject, struct mu_detect_update *update)
{
    struct mu_detect_effect *effect = mu_detect_add(update, MU_DETECT_ASK_LAUNCHER);
    effect->ask.subject = subject;
    effect->ask.nonce = ++detect->nonce;
    effect->ask.stamp_ns = detect->now_ns;
}

/* Nobody else is left to be asked. */
static void ask_launcher(struct mu_detect *detect, mu_slot subject, struct mu_detect_update *update)
{
    if (helper_at(detect, 0) != MU_SLOT_NONE)
        return;
    if (detect->ask.subject != subject)
        forget_helpers(detect);
    detect->ask.subject = subject;
    mu_ask_to_be_chosen(detect, subject, update);
}

void mu_ask_one(struct mu_detect *detect, mu_slot subject, uint32_t incarnation, uint32_t turn,
                struct mu_detect_update *update)
{
    mu_slot helper = helper_at(detect, turn);
    if (helper != MU_SLOT_NONE)
        ask(detect, helper, subject, incarnation, update);
}

/* The first helper is the one that answered last, or acknowledges this node's own beats: it lives,
 * however many die.  The others lie far from each other, and are new ones each time. */
static mu_slot first_helper(const struct mu_detect *detect, uint64_t turn)
{
    mu_slot known = detect->ask.vouched_by != MU_SLOT_NONE ? detect->ask.vouched_by
                                                           : mu_detect_observer(detect);
    if (known == MU_SLOT_NONE || mu_roster_is_vacant(&detect->dead, known) ||
        mu_detect_distance(detect, known) <= mu_mend_reach(detect))
        return helper_at(detect, turn);
    return known;
}

static bool is_asked(const struct mu_detect *detect, mu_slot slot, int count)
{
    for (int i = 0; i < count; i++)
        if (detect->ask.helper[i].slot == slot)
            return true;
    return false;
}

static void ask_helpers(struct mu_detect *detect, mu_slot subject, uint32_t incarnation,
                        struct mu_detect_update *update)
{
    bool decides = detect->part.phase == MU_PART_DECIDING;
    uint64_t turn = decides ? detect->part.turn : detect->ask.rounds;
    uint64_t apart = unsuspected(detect) / MU_DETECT_HELPERS;
    if (detect->ask.subject != subject)
        forget_helpers(detect);
    detect->ask.subject = subject;
    ask_launcher(detect, subject, update);
    for (int i = 0; i < MU_DETECT_HELPERS; i++) {
        mu_slot helper =
            i == 0 && !decides ? first_helper(detect, turn) : helper_at(detect, turn + i * apart);
        if (helper != MU_SLOT_NONE && is_asked(detect, helper, i))
            helper = helper_at(detect, turn + i * (apart + 1));
        if (helper != MU_SLOT_NONE && is_asked(detect, helper, i))
            helper = MU_SLOT_NONE;
        if (detect->ask.helper[i].slot != helper)
            detect->ask.helper[i].reach = MU_REACH_NONE;
        detect->ask.helper[i].slot = helper;
        if (helper != MU_SLOT_NONE)
            ask(detect, helper, subject, incarnation, update);
    }
}

static void ask_mended(struct mu_detect *detect, struct mu_detect_update *update)
{
    struct mu_watch *mended = &detect->ring[MU_RING_MENDED];
    if (mended->slot == MU_SLOT_NONE || mu_watch_late_ns(mended) > detect->now_ns)
        return;
    mu_ask_one(detect, mended->slot, mended->incarnation, detect->ask.rounds, update);
    mu_ask_probe(detect, mended->slot, mended->incarnation, update);
    mended->probes++;
}

static void begin_round(struct mu_detect *detect, struct mu_detect_update *update)
{
    struct mu_watch *nearest = &detect->ring[MU_RING_NEAREST];
    bool is_watched = nearest->slot == detect->nearest;
    uint64_t slack_ns = mu_detect_slack_ns(detect->period_ns, detect->timeout_ns);
    if (is_watched) /* while the times change, the shorter one */
        slack_ns = mu_min_ns(slack_ns, mu_detect_slack_ns(nearest->period_ns, nearest->timeout_ns));
    detect->ask.round_ns += slack_ns;
    if (detect->ask.round_ns <= detect->now_ns)
        detect->ask.round_ns = detect->now_ns + slack_ns;
    ask_helpers(detect, detect->nearest, is_watched ? nearest->incarnation : 0, update);
    /* The suspect comes last: what it answers itself is newer than what helpers say of it. */
    if (is_watched) {
        mu_ask_probe(detect, nearest->slot, nearest->incarnation, update);
        nearest->probes++;
    }
    ask_mended(detect, update);
    mu_part_renew(detect, update);
    mu_mend_again(detect);
    detect->ask.rounds++;
}

void mu_ask_on_timeout(struct mu_detect *detect, struct mu_detect_update *update)
{
    const struct mu_watch *nearest = &detect->ring[MU_RING_NEAREST];
    if (!mu_ask_is_on(detect) && nearest->slot != MU_SLOT_NONE &&
        mu_watch_late_ns(nearest) <= detect->now_ns)
        mu_ask_begin(detect);
    if (mu_ask_is_on(detect) && detect->ask.round_ns <= detect->now_ns)
        begin_round(detect, update);
}

/* ---- answers ---- */

uint64_t mu_ask_timeout_ns(const struct mu_detect *detect)
{
    return mu_max_ns(detect->timeout_ns, detect->ask.timeout_ns);
}

bool mu_ask_is_answered_in_time(const struct mu_detect *detect, uint64_t nonce, uint64_t stamp_ns)
{
    /* It may have waited in the socket; also when nobody is observed, only suspected. */
    uint64_t lag_ns = mu_max_ns(detect->ask.lag_ns, detect->ring[MU_RING_NEAREST].lag_ns);
    return nonce <= detect->nonce && stamp_ns <= detect->now_ns &&
           detect->now_ns - stamp_ns <= mu_ask_timeout_ns(detect) + lag_ns;
}

void mu_ask_vouch(struct mu_detect *detect, mu_slot by, uint64_t nonce, uint64_t stamp_ns)
{
    struct mu_ask *of = &detect->ask;
    if (nonce < of->first_nonce || stamp_ns < of->vouch_ns)
        return;
    of->vouched = true;
    of->vouch_ns = stamp_ns;
    of->vouched_by = by;
    if (of->doubt) /* this node was cut off: nobody can be blamed for what it did not hear */
        of->sure_ns = detect->now_ns;
    of->doubt = false;
}

void mu_ask_on_next(struct mu_detect *detect, struct mu_detect_update *update)
{
    if (mu_ask_is_on(detect) && detect->nearest != MU_SLOT_NONE)
        ask_launcher(detect, detect->nearest, update);
}

bool mu_ask_knows_of(const struct mu_detect *detect, mu_slot slot)
{
    return detect->ask.vouched_by != MU_SLOT_NONE || !detect->ask.vouched ||
           (detect->ask.subject == slot && detect->ask.launcher != MU_LAUNCHER_NONE);
}

bool mu_ask_is_vouched(const struct mu_detect *detect, uint64_t since_ns)
{
    if (mu_detect_is_broken(detect, MU_DETECT_BROKEN_DOUBT))
        return true;
    return detect->ask.vouched && detect->ask.vouch_ns >= mu_max_ns(since_ns, detect->ask.sure_ns);
}

/* Somebody hears the suspect, which had 'clock_ns' on its clock; 0: that is not known, but it was
 * after the question. */
static void on_heard(struct mu_detect *detect, mu_slot subject, uint32_t incarnation,
                     uint64_t clock_ns, uint64_t stamp_ns, struct mu_detect_update *update)
{
    struct mu_watch *watch = mu_observe_find(detect, subject);
    if (watch == NULL && mu_mend_is_suspect(detect, subject)) {
        /* It lives, so nobody beyond it is this node's concern. */
        watch = mu_mend_found(detect, subject, incarnation, update);
        if (watch != NULL)
            watch->contact_ns = stamp_ns;
    }
    if (clock_ns != 0 && mu_detect_is_broken(detect, MU_DETECT_BROKEN_HEARD))
        clock_ns = 0;
    if (watch != NULL)
        watch->lived_ns = mu_max_ns(watch->lived_ns, stamp_ns);
    if (watch != NULL)
        mu_observe_said(detect, watch, clock_ns != 0 ? clock_ns : watch->said_ns + 1, false,
                        update);
    mu_observe_settle(detect, update);
}

static void note_reach(struct mu_detect *detect, const struct mu_beat *beat)
{
    for (int i = 0; i < MU_DETECT_HELPERS; i++)
        if (detect->ask.helper[i].slot == beat->from && detect->ask.subject == beat->subject &&
            beat->reach > detect->ask.helper[i].reach && beat->reach != MU_REACH_TAKEN)
            detect->ask.helper[i].reach = beat->reach;
}

void mu_ask_on_reply(struct mu_detect *detect, const struct mu_beat *beat,
                     struct mu_detect_update *update)
{
    mu_slot subject = beat->subject;
    if (!mu_ask_is_on(detect) || beat->nonce < detect->ask.first_nonce ||
        !mu_ask_is_answered_in_time(detect, beat->nonce, beat->stamp_ns) ||
        subject == detect->self) {
        mu_detect_drop(detect);
        return;
    }
    bool ignored = mu_detect_is_broken(detect, MU_DETECT_BROKEN_HELPERS);
    note_reach(detect, beat);
    if (beat->from != detect->ring[MU_RING_NEAREST].slot)
        mu_ask_vouch(detect, beat->from, beat->nonce, beat->stamp_ns);
    if (mu_observe_find(detect, beat->from) == NULL) /* a suspect that helps lives itself */
        mu_observe_answered(detect, beat, update);
    if (beat->reach == MU_REACH_TAKEN)
        mu_part_on_taken(detect, beat);
    if (!mu_ask_is_on(detect) || ignored)
        return;
    if (beat->reach == MU_REACH_HEARD) {
        on_heard(detect, subject, beat->subject_incarnation, beat->acked_ns, beat->stamp_ns,
                 update);
        if (subject == detect->ring[MU_RING_NEAREST].slot)
            mu_part_on_heard(detect, beat, update);
    }
    if (beat->reach == MU_REACH_DEAD && !mu_roster_is_vacant(&detect->dead, subject))
        mu_detect_take_out(detect, subject, beat->subject_incarnation, false, update);
}

/* ---- the launcher ---- */

/* It stands outside the ring: its answer vouches for this node as that of an unsuspected node does,
 * and what it hears is a sign of life.  It cannot observe in anybody's place. */
void mu_ask_on_launcher(struct mu_detect *detect, const struct mu_detect_event *event,
                        struct mu_detect_update *update)
{
    mu_slot subject = event->launcher.subject;
    uint64_t nonce = event->launcher.nonce, stamp_ns = event->launcher.stamp_ns;
    uint32_t reach = event->launcher.reach;
    if (reach == MU_LAUNCHER_CHOSE) /* that is final, however old the word */
        detect->chosen = true;
    if (!mu_ask_is_on(detect) || nonce < detect->ask.first_nonce ||
        !mu_ask_is_answered_in_time(detect, nonce, stamp_ns) || subject >= detect->size ||
        subject == detect->self || reach == MU_LAUNCHER_NONE) {
        mu_detect_drop(detect);
        return;
    }
    if (subject == detect->ask.subject && reach > detect->ask.launcher)
        detect->ask.launcher = reach;
    mu_ask_vouch(detect, MU_SLOT_NONE, nonce, stamp_ns);
    if (reach == MU_LAUNCHER_HEARD && !mu_roster_is_vacant(&detect->dead, subject))
        on_heard(detect, subject, 0, event->launcher.clock_ns, stamp_ns, update);
}

/* ---- a broken connection ---- */

void mu_ask_on_broke(struct mu_detect *detect, mu_slot slot)
{
    struct mu_watch *nearest = &detect->ring[MU_RING_NEAREST];
    if (nearest->slot == MU_SLOT_NONE || nearest->slot != slot)
        return;
    if (mu_detect_is_broken(detect, MU_DETECT_BROKEN_BROKE))
        nearest->heard_ns = mu_since_ns(nearest->heard_ns, nearest->timeout_ns);
    if (!mu_ask_is_on(detect))
        mu_ask_begin(detect);
}
