/* Helping others: answering, probing for them, and observing in their place (N6, N9).
 *
 * A helper keeps nothing of a question.  The probe carries who asked, with its nonce and stamp, and
 * the suspect returns them: what comes back was said after the question, whoever carried it. */
#include "core/ring/inside.h"

void mu_help_init(struct mu_detect *detect)
{
    for (int i = 0; i < MU_DETECT_TAKES; i++)
        detect->taken[i] = (struct mu_taken){.slot = MU_SLOT_NONE};
}

/* ---- questions ---- */

void mu_help_on_probe(struct mu_detect *detect, const struct mu_beat *beat,
                      struct mu_detect_update *update)
{
    struct mu_beat *answer =
        mu_detect_send(detect, MU_BEAT_ANSWER, beat->from, beat->from_incarnation, update);
    answer->nonce = beat->nonce;
    answer->stamp_ns = beat->stamp_ns;
    answer->acked_ns = mu_watched_stamp_ns(detect);
    answer->subject = beat->subject;
    answer->subject_incarnation = beat->subject_incarnation;
}

static void reply(struct mu_detect *detect, const struct mu_beat *question, enum mu_reach reach,
                  struct mu_detect_update *update)
{
    struct mu_beat *beat =
        mu_detect_send(detect, MU_BEAT_REPLY, question->from, question->from_incarnation, update);
    beat->reach = (uint8_t)reach;
    beat->nonce = question->nonce;
    beat->stamp_ns = question->stamp_ns;
    beat->subject = question->subject;
    beat->subject_incarnation = question->subject_incarnation;
}

void mu_help_on_ask(struct mu_detect *detect, const struct mu_beat *beat,
                    struct mu_detect_update *update)
{
    mu_slot subject = beat->subject;
    if (subject == beat->from) {
        mu_detect_drop(detect);
        return;
    }
    if (mu_detect_is_out(detect, subject, beat->subject_incarnation)) {
        reply(detect, beat, MU_REACH_DEAD, update);
        return;
    }
    reply(detect, beat, subject == detect->self ? MU_REACH_HEARD : MU_REACH_TRYING, update);
    if (subject == detect->self || mu_roster_is_vacant(&detect->dead, subject))
        return;
    struct mu_beat *probe =
        mu_detect_send(detect, MU_BEAT_PROBE, subject, beat->subject_incarnation, update);
    probe->nonce = beat->nonce;
    probe->stamp_ns = beat->stamp_ns;
    probe->subject = beat->from;
    probe->subject_incarnation = beat->from_incarnation;
}

void mu_help_on_answer(struct mu_detect *detect, const struct mu_beat *beat,
                       struct mu_detect_update *update)
{
    if (beat->subject == beat->from || mu_roster_is_vacant(&detect->dead, beat->subject)) {
        mu_detect_drop(detect);
        return;
    }
    struct mu_beat *heard =
        mu_detect_send(detect, MU_BEAT_REPLY, beat->subject, beat->subject_incarnation, update);
    heard->reach = MU_REACH_HEARD;
    heard->nonce = beat->nonce;
    heard->stamp_ns = beat->stamp_ns;
    heard->acked_ns = beat->acked_ns;
    heard->subject = beat->from;
    heard->subject_incarnation = beat->from_incarnation;
}

/* ---- in the place of another ---- */

static bool is_active(const struct mu_detect *detect, const struct mu_taken *taken)
{
    return taken->slot != MU_SLOT_NONE && taken->nonce != 0 && taken->until_ns > detect->now_ns;
}

/* One that was not renewed is kept for a while without a word, so that nobody else's
 * acknowledgements count for that node: its observer may be about to declare it. */
static bool is_unused(const struct mu_detect *detect, const struct mu_taken *taken)
{
    return taken->slot == MU_SLOT_NONE || taken->nonce == 0 ||
           mu_since_ns(detect->now_ns, taken->until_ns) > MU_DETECT_PATIENCE * taken->timeout_ns;
}

static struct mu_taken *find_taken(struct mu_detect *detect, mu_slot slot, mu_slot asker)
{
    for (int i = 0; i < MU_DETECT_TAKES; i++)
        if (detect->taken[i].slot == slot && detect->taken[i].asker == asker)
            return &detect->taken[i];
    return NULL;
}

static struct mu_taken *find_unused(struct mu_detect *detect)
{
    for (int i = 0; i < MU_DETECT_TAKES; i++) /* what is remembered of others goes last */
        if (detect->taken[i].slot == MU_SLOT_NONE)
            return &detect->taken[i];
    for (int i = 0; i < MU_DETECT_TAKES; i++)
        if (is_unused(detect, &detect->taken[i]))
            return &detect->taken[i];
    return NULL;
}

static void send_watch(struct mu_detect *detect, struct mu_taken *taken,
                       struct mu_detect_update *update)
{
    struct mu_beat *beat =
        mu_detect_send(detect, MU_BEAT_WATCH, taken->slot, taken->incarnation, update);
    beat->nonce = taken->nonce;
    beat->period_ns = taken->period_ns;
    beat->timeout_ns = taken->timeout_ns;
    beat->subject = taken->asker;
    taken->resend_ns = detect->now_ns + mu_detect_slack_ns(taken->period_ns, taken->timeout_ns);
}

/* A watch for the place of 'from', or one more time until it ends. */
static void hold(struct mu_detect *detect, struct mu_taken *taken, const struct mu_beat *beat,
                 struct mu_detect_update *update)
{
    bool goes_on = is_active(detect, taken) && taken->period_ns == beat->period_ns &&
                   taken->timeout_ns == beat->timeout_ns;
    taken->asker_nonce = beat->nonce;
    taken->until_ns = detect->now_ns +
                      MU_DETECT_TAKE_SLACKS * mu_detect_slack_ns(beat->period_ns, beat->timeout_ns);
    reply(detect, beat, MU_REACH_TAKEN, update);
    if (goes_on)
        return;
    taken->nonce = ++detect->nonce;
    taken->stamp_ns = 0;
    taken->period_ns = beat->period_ns;
    taken->timeout_ns = beat->timeout_ns;
    send_watch(detect, taken, update);
}

/* A TAKE that has waited in the socket while this node stood still is too old to be followed: its
 * sender may have given up, and be about to declare the subject. */
static bool has_waited(const struct mu_detect *detect)
{
    return mu_detect_lags(detect) && !mu_detect_is_broken(detect, MU_DETECT_BROKEN_OLD_TAKE);
}

/* Without room there is no reply, and the asker finds another helper. */
void mu_help_on_take(struct mu_detect *detect, const struct mu_beat *beat,
                     struct mu_detect_update *update)
{
    mu_slot subject = beat->subject;
    bool sound = mu_detect_times_error(beat->period_ns, beat->timeout_ns) == NULL &&
                 subject != detect->self && subject != beat->from &&
                 (mu_observe_find(detect, subject) == NULL ||
                  mu_detect_is_broken(detect, MU_DETECT_BROKEN_TAKE_OWN));
    struct mu_taken *taken = find_taken(detect, subject, beat->from);
    if (sound && mu_roster_is_vacant(&detect->dead, subject)) {
        reply(detect, beat, MU_REACH_DEAD, update);
        return;
    }
    if (sound && taken == NULL) {
        taken = find_unused(detect);
        if (taken != NULL)
            *taken = (struct mu_taken){
                .slot = subject, .incarnation = beat->subject_incarnation, .asker = beat->from};
    }
    if (!sound || taken == NULL || beat->nonce <= taken->asker_nonce || has_waited(detect))
        mu_detect_drop(detect);
    else
        hold(detect, taken, beat, update);
}

void mu_help_on_release(struct mu_detect *detect, const struct mu_beat *beat)
{
    struct mu_taken *taken = find_taken(detect, beat->subject, beat->from);
    if (taken == NULL || beat->nonce <= taken->asker_nonce) {
        mu_detect_drop(detect);
        return;
    }
    taken->asker_nonce = beat->nonce;
    taken->nonce = 0;
}

static void tell_released(struct mu_detect *detect, const struct mu_beat *beat,
                          struct mu_detect_update *update)
{
    struct mu_beat *release =
        mu_detect_send(detect, MU_BEAT_RELEASE, beat->from, beat->from_incarnation, update);
    release->nonce = beat->nonce;
    release->subject = beat->from;
    mu_detect_drop(detect);
}

void mu_help_on_beat(struct mu_detect *detect, const struct mu_beat *beat,
                     struct mu_detect_update *update)
{
    for (int i = 0; i < MU_DETECT_TAKES; i++) {
        struct mu_taken *taken = &detect->taken[i];
        if (taken->slot != beat->from || taken->nonce == 0)
            continue;
        if (taken->nonce != beat->nonce || beat->stamp_ns <= taken->stamp_ns ||
            !is_active(detect, taken)) {
            mu_detect_drop(detect);
            return;
        }
        taken->stamp_ns = beat->stamp_ns;
        taken->resend_ns = MU_NEVER;
        struct mu_beat *ack =
            mu_detect_send(detect, MU_BEAT_ACK, beat->from, beat->from_incarnation, update);
        ack->nonce = beat->nonce;
        ack->stamp_ns = beat->stamp_ns;
        return;
    }
    tell_released(detect, beat, update); /* a RELEASE was lost */
}

void mu_help_on_out(struct mu_detect *detect, mu_slot slot)
{
    for (int i = 0; i < MU_DETECT_TAKES; i++)
        if (detect->taken[i].slot == slot || detect->taken[i].asker == slot)
            detect->taken[i] = (struct mu_taken){.slot = MU_SLOT_NONE};
}

void mu_help_on_observed(struct mu_detect *detect, mu_slot slot)
{
    for (int i = 0; i < MU_DETECT_TAKES; i++)
        if (detect->taken[i].slot == slot)
            detect->taken[i].nonce = 0; /* the asker's nonce is kept: its TAKE may be recorded */
}

void mu_help_on_timeout(struct mu_detect *detect, struct mu_detect_update *update)
{
    for (int i = 0; i < MU_DETECT_TAKES; i++) {
        struct mu_taken *taken = &detect->taken[i];
        if (is_active(detect, taken) && taken->resend_ns <= detect->now_ns)
            send_watch(detect, taken, update);
    }
}

uint64_t mu_help_deadline_ns(const struct mu_detect *detect)
{
    uint64_t at_ns = MU_NEVER;
    for (int i = 0; i < MU_DETECT_TAKES; i++)
        if (is_active(detect, &detect->taken[i]))
            at_ns = mu_min_ns(at_ns, detect->taken[i].resend_ns);
    return at_ns;
}
