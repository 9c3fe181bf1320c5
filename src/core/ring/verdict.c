/* Who is declared, when, and with what evidence (N5, N7). */
#include "core/ring/inside.h"

enum { VERDICTS_AT_ONCE = 16 };

struct mu_detect_evidence mu_verdict_evidence(const struct mu_detect *detect, mu_slot subject,
                                              enum mu_detect_cause cause)
{
    const struct mu_watch *watch = &detect->ring[MU_RING_NEAREST];
    const struct mu_ask *ask = &detect->ask;
    struct mu_detect_evidence evidence = {
        .cause = (uint8_t)cause,
        .subject = subject,
        .period_ns = detect->period_ns,
        .timeout_ns = mu_ask_timeout_ns(detect),
        .probes = ask->rounds,
        .vouched_by = MU_SLOT_NONE,
    };
    if (watch->slot == subject || subject == detect->self) {
        /* Against itself, the node says what it knows of the one that it cannot reach. */
        evidence.incarnation = subject == detect->self ? detect->incarnation : watch->incarnation;
        evidence.period_ns = watch->period_ns;
        evidence.timeout_ns = watch->timeout_ns;
        evidence.silent_ns = mu_since_ns(detect->now_ns, watch->heard_ns);
        uint64_t last_ns = mu_min_ns(watch->contact_ns, watch->heard_ns);
        evidence.suspect_ns = mu_since_ns(detect->now_ns, last_ns + mu_watch_late_after_ns(watch));
        evidence.lag_ns = watch->lag_ns;
        evidence.probes = watch->probes;
    } else {
        uint64_t probed_ns = mu_mend_probed_ns(detect, subject);
        evidence.silent_ns = evidence.suspect_ns = mu_since_ns(detect->now_ns, probed_ns);
    }
    if (mu_ask_is_vouched(detect, mu_since_ns(detect->now_ns, evidence.suspect_ns)))
        evidence.vouched_by = ask->vouched_by;
    mu_slot about = subject == detect->self ? watch->slot : subject;
    if (ask->subject == about)
        evidence.launcher = (uint8_t)ask->launcher;
    for (int i = 0; i < MU_DETECT_HELPERS && ask->subject == about; i++) {
        if (ask->helper[i].slot == MU_SLOT_NONE)
            continue;
        evidence.helper[evidence.helpers].slot = ask->helper[i].slot;
        evidence.helper[evidence.helpers++].reach = (uint8_t)ask->helper[i].reach;
    }
    return evidence;
}

/* For a while after the times were shortened the longer ones count: who was granted a lease under
 * them, perhaps by somebody who is out now, relies on them. */
static uint64_t held_back_ns(const struct mu_detect *detect, uint64_t at_ns, uint64_t by_ns)
{
    if (detect->now_ns >= detect->longer_until_ns)
        return at_ns;
    return mu_min_ns(at_ns + by_ns, mu_max_ns(at_ns, detect->longer_until_ns));
}

static uint64_t heard_due_ns(const struct mu_detect *detect, const struct mu_watch *watch)
{
    return held_back_ns(detect, mu_watch_due_ns(watch),
                        mu_since_ns(detect->longer_ns, watch->timeout_ns));
}

/* Of one that was only probed.  It has its lease from the one between, for as much longer as the
 * spare time was, and as the tolerance was, which grows by at most a quarter of that.  When that
 * one was only probed as well, it may have stopped just before it could answer: a lease that it
 * gave then runs for a tolerance more; and another is for the way of the probe. */
static uint64_t probed_due_ns(const struct mu_detect *detect, uint64_t probed_ns)
{
    uint64_t timeout_ns = mu_ask_timeout_ns(detect), spare_ns = timeout_ns - detect->period_ns;
    if (mu_mend_is_far(detect, detect->nearest))
        probed_ns += 2 * mu_detect_tolerance_ns(detect->period_ns, timeout_ns);
    uint64_t less_ns = mu_since_ns(detect->longer_spare_ns, spare_ns);
    return held_back_ns(detect, probed_ns + spare_ns, less_ns + less_ns / MU_DETECT_SLACKS);
}

/* When the nearest node has been silent for long enough, and since when somebody must have vouched
 * for this one. */
static uint64_t due_ns(const struct mu_detect *detect, uint64_t *since_ns)
{
    const struct mu_watch *watch = &detect->ring[MU_RING_NEAREST];
    uint64_t sure_ns =
        detect->ask.sure_ns == 0 ? 0 : detect->ask.sure_ns + mu_ask_timeout_ns(detect);
    if (watch->slot == detect->nearest) {
        *since_ns = mu_watch_silent_ns(watch);
        uint64_t at_ns = mu_max_ns(heard_due_ns(detect, watch), detect->part.over_ns);
        return mu_max_ns(at_ns, sure_ns);
    }
    *since_ns = mu_mend_probed_ns(detect, detect->nearest);
    if (*since_ns == MU_NEVER)
        return MU_NEVER;
    uint64_t at_ns = probed_due_ns(detect, *since_ns);
    return mu_max_ns(mu_max_ns(at_ns, sure_ns), detect->grace_until_ns);
}

bool mu_verdict_declare(struct mu_detect *detect, mu_slot subject, enum mu_detect_cause cause,
                        struct mu_detect_update *update)
{
    struct mu_detect_evidence evidence = mu_verdict_evidence(detect, subject, cause);
    if (subject == detect->self) {
        mu_detect_add(update, MU_DETECT_VERDICT)->evidence = evidence;
        mu_detect_fence(detect, detect->self, update);
        return true;
    }
    if (!mu_roster_fits(&detect->dead, subject)) {
        if (!detect->ask.full)
            mu_detect_add(update, MU_DETECT_FAULT)->fault = MU_FAULT_DEAD_FULL;
        detect->ask.full = true;
        return false;
    }
    mu_detect_add(update, MU_DETECT_VERDICT)->evidence = evidence;
    return mu_detect_take_out(detect, subject, evidence.incarnation, false, update);
}

/* Who has no lease may be the one that is cut off, and may have been declared.  Only the launcher
 * knows better, where nobody else is left. */
static bool may_declare(const struct mu_detect *detect)
{
    return mu_detect_lease_until_ns(detect) > detect->now_ns ||
           (detect->ask.vouched && detect->ask.vouched_by == MU_SLOT_NONE) ||
           mu_detect_is_broken(detect, MU_DETECT_BROKEN_NO_LEASE);
}

void mu_verdict_on_timeout(struct mu_detect *detect, struct mu_detect_update *update)
{
    for (int i = 0; i < VERDICTS_AT_ONCE && detect->nearest != MU_SLOT_NONE; i++) {
        uint64_t since_ns = 0;
        if (due_ns(detect, &since_ns) > detect->now_ns)
            return;
        if (!mu_ask_is_vouched(detect, since_ns)) {
            detect->ask.doubt = mu_ask_is_on(detect);
            return;
        }
        if (!mu_ask_knows_of(detect, detect->nearest)) { /* it was asked just now */
            detect->ask.doubt =
                mu_since_ns(detect->now_ns, detect->ask.vouch_ns) > mu_ask_timeout_ns(detect);
            return;
        }
        if (!may_declare(detect) ||
            !mu_verdict_declare(detect, detect->nearest, MU_DETECT_SILENT, update))
            return;
    }
}

uint64_t mu_verdict_deadline_ns(const struct mu_detect *detect)
{
    uint64_t since_ns = 0;
    uint64_t at_ns = detect->nearest == MU_SLOT_NONE ? MU_NEVER : due_ns(detect, &since_ns);
    /* Whoever is in doubt waits for an answer, and asks again with each round. */
    return detect->ask.full || at_ns == MU_NEVER || !mu_ask_is_vouched(detect, since_ns) ||
                   !mu_ask_knows_of(detect, detect->nearest) || !may_declare(detect)
               ? MU_NEVER
               : at_ns;
}

/* Who is due, with nobody to say a word about it.  One that is reported unreachable was heard. */
static mu_slot undecided(const struct mu_detect *detect)
{
    uint64_t since_ns = 0;
    if (!detect->ask.doubt || detect->nearest == MU_SLOT_NONE ||
        detect->part.phase != MU_PART_NONE || due_ns(detect, &since_ns) > detect->now_ns)
        return MU_SLOT_NONE;
    return detect->nearest;
}

void mu_verdict_note_undecided(struct mu_detect *detect, struct mu_detect_update *update)
{
    mu_slot before = detect->undecided, now = undecided(detect);
    if (before == now)
        return;
    detect->undecided = now;
    if (before != MU_SLOT_NONE && !mu_roster_is_vacant(&detect->dead, before))
        mu_detect_add(update, MU_DETECT_REPORT)->evidence = mu_verdict_evidence(detect, before, 0);
    if (now != MU_SLOT_NONE)
        mu_detect_add(update, MU_DETECT_REPORT)->evidence =
            mu_verdict_evidence(detect, now, MU_DETECT_UNDECIDED);
}
