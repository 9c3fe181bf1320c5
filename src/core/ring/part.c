/* Unreachable: others hear the node, its observer does not (N9). */
#include "core/ring/inside.h"

void mu_part_clear(struct mu_detect *detect)
{
    detect->part = (struct mu_part){.taker = MU_SLOT_NONE};
}

static struct mu_watch *subject_of(struct mu_detect *detect)
{
    return &detect->ring[MU_RING_NEAREST];
}

/* ---- the helper that observes meanwhile ---- */

static void take(struct mu_detect *detect, struct mu_detect_update *update)
{
    struct mu_part *part = &detect->part;
    const struct mu_watch *watch = subject_of(detect);
    struct mu_beat *beat =
        mu_detect_send(detect, MU_BEAT_TAKE, part->taker, part->taker_incarnation, update);
    beat->nonce = ++detect->nonce;
    beat->stamp_ns = detect->now_ns;
    beat->period_ns = detect->period_ns;
    beat->timeout_ns = detect->timeout_ns;
    beat->subject = watch->slot;
    beat->subject_incarnation = watch->incarnation;
    /* It holds for two slacks, and lets the helper grant a lease that runs for a slack less than a
     * timeout.  Three slacks are for its way.  One before it may have named longer times. */
    bool is_short = mu_detect_is_broken(detect, MU_DETECT_BROKEN_OVER);
    uint64_t more_ns = is_short ? 0 : beat->timeout_ns - beat->period_ns;
    part->over_ns = mu_max_ns(part->over_ns, detect->now_ns + beat->timeout_ns + more_ns);
}

static bool has_taker(const struct mu_detect *detect)
{
    const struct mu_part *part = &detect->part;
    return part->taker != MU_SLOT_NONE && !mu_roster_is_vacant(&detect->dead, part->taker) &&
           mu_since_ns(detect->now_ns, part->taken_ns) <= detect->timeout_ns;
}

void mu_part_on_heard(struct mu_detect *detect, const struct mu_beat *beat,
                      struct mu_detect_update *update)
{
    struct mu_part *part = &detect->part;
    bool waits = part->phase == MU_PART_REPORTED || part->phase == MU_PART_DECIDING;
    if (!waits || has_taker(detect) || part->taker == beat->from)
        return;
    part->taker = beat->from;
    part->taker_incarnation = beat->from_incarnation;
    part->taken_ns = detect->now_ns;
    take(detect, update);
}

void mu_part_on_taken(struct mu_detect *detect, const struct mu_beat *beat)
{
    if (beat->from == detect->part.taker && beat->subject == subject_of(detect)->slot)
        detect->part.taken_ns = detect->now_ns;
}

/* The helper stops when nobody renews: also when nothing is heard of the node any more, so that its
 * lease is soon over. */
void mu_part_renew(struct mu_detect *detect, struct mu_detect_update *update)
{
    struct mu_part *part = &detect->part;
    const struct mu_watch *watch = subject_of(detect);
    uint64_t slack_ns = mu_detect_slack_ns(watch->period_ns, watch->timeout_ns);
    bool lives =
        watch->heard_ns + watch->lag_ns + MU_DETECT_TAKE_SLACKS * slack_ns >= detect->now_ns;
    if (part->phase != MU_PART_REPORTED && part->phase != MU_PART_DECIDING)
        return;
    if (has_taker(detect) && lives)
        take(detect, update);
    else if (part->taker != MU_SLOT_NONE && mu_roster_is_vacant(&detect->dead, part->taker))
        part->taker = MU_SLOT_NONE;
}

/* ---- begin and end ---- */

static void report(struct mu_detect *detect, enum mu_detect_cause cause,
                   struct mu_detect_update *update)
{
    struct mu_detect_evidence evidence =
        mu_verdict_evidence(detect, subject_of(detect)->slot, cause);
    mu_detect_add(update, MU_DETECT_REPORT)->evidence = evidence;
}

bool mu_part_mended(struct mu_detect *detect, struct mu_detect_update *update)
{
    struct mu_part *part = &detect->part;
    if (part->phase == MU_PART_NONE)
        return false;
    report(detect, 0, update);
    if (part->taker != MU_SLOT_NONE && !mu_roster_is_vacant(&detect->dead, part->taker)) {
        struct mu_beat *beat =
            mu_detect_send(detect, MU_BEAT_RELEASE, part->taker, part->taker_incarnation, update);
        beat->nonce = ++detect->nonce;
        beat->subject = subject_of(detect)->slot;
    }
    uint64_t over_ns = part->over_ns; /* the helper may not hear that it is released */
    mu_part_clear(detect);
    part->over_ns = over_ns;
    return true;
}

/* For a timeout nothing has said that both hear each other; but just now a helper has heard it, or
 * a beat has come that says that it does not hear us; and not only of before it was late. */
static bool is_parted(const struct mu_detect *detect, const struct mu_watch *watch)
{
    uint64_t heard_ns = watch->heard_ns + watch->lag_ns;
    uint64_t slack_ns = mu_detect_slack_ns(watch->period_ns, watch->timeout_ns);
    return watch->contact_ns + watch->lag_ns + watch->timeout_ns <= detect->now_ns &&
           watch->lived_ns >= mu_watch_late_ns(watch) && heard_ns + slack_ns >= detect->now_ns &&
           mu_ask_is_vouched(detect, mu_watch_late_ns(watch));
}

/* ---- five timeouts later ---- */

static void begin_decision(struct mu_detect *detect)
{
    for (int i = 0; i < MU_DETECT_HELPERS; i++)
        detect->ask.helper[i].reach = MU_REACH_NONE;
    detect->ask.launcher = MU_LAUNCHER_NONE;
    detect->part.turn = detect->ask.rounds;
    detect->part.phase = MU_PART_DECIDING;
    detect->part.step_ns = detect->now_ns + detect->timeout_ns;
    detect->ask.round_ns = detect->now_ns;
}

static void decide(struct mu_detect *detect, struct mu_detect_update *update)
{
    struct mu_part *part = &detect->part;
    mu_slot other = subject_of(detect)->slot;
    uint32_t reach_me = 0, reach_other = 0;
    for (int i = 0; i < MU_DETECT_HELPERS; i++) {
        reach_me += detect->ask.helper[i].reach != MU_REACH_NONE ? 1 : 0;
        reach_other += detect->ask.helper[i].reach == MU_REACH_HEARD ? 1 : 0;
    }
    bool are_two = detect->dead.count + 2 == detect->size; /* then it is the only helper */
    if (are_two && detect->ask.launcher != MU_LAUNCHER_NONE) {
        reach_me = 1;
        reach_other = detect->ask.launcher == MU_LAUNCHER_HEARD ? 1 : 0;
    }
    if (reach_me == 0) { /* doubt: other helpers may answer */
        begin_decision(detect);
    } else if (reach_other < reach_me || other > detect->self) {
        part->phase = MU_PART_LEAVING;
        part->step_ns = mu_max_ns(detect->now_ns, part->over_ns);
    } else {
        mu_verdict_declare(detect, detect->self, MU_DETECT_UNREACHABLE, update);
    }
}

void mu_part_on_timeout(struct mu_detect *detect, struct mu_detect_update *update)
{
    struct mu_part *part = &detect->part;
    const struct mu_watch *watch = subject_of(detect);
    if (watch->slot == MU_SLOT_NONE || !mu_ask_is_on(detect))
        return;
    switch ((enum mu_part_phase)part->phase) {
    case MU_PART_NONE:
        if (!is_parted(detect, watch))
            return;
        part->phase = MU_PART_REPORTED;
        part->step_ns = detect->now_ns + MU_DETECT_PATIENCE * detect->timeout_ns;
        report(detect, MU_DETECT_UNREACHABLE, update);
        return;
    case MU_PART_REPORTED:
        if (part->step_ns <= detect->now_ns)
            begin_decision(detect);
        return;
    case MU_PART_DECIDING:
        if (part->step_ns <= detect->now_ns)
            decide(detect, update);
        return;
    case MU_PART_LEAVING:
        if (part->step_ns <= detect->now_ns)
            mu_verdict_declare(detect, watch->slot, MU_DETECT_UNREACHABLE, update);
        return;
    }
}

uint64_t mu_part_deadline_ns(const struct mu_detect *detect)
{
    const struct mu_watch *watch = &detect->ring[MU_RING_NEAREST];
    if (detect->part.phase != MU_PART_NONE)
        return detect->ask.full ? MU_NEVER : detect->part.step_ns;
    /* After that each round of questions looks again. */
    uint64_t parted_ns = watch->contact_ns + watch->lag_ns + watch->timeout_ns;
    return watch->slot == MU_SLOT_NONE || parted_ns <= detect->now_ns ? MU_NEVER : parted_ns;
}
