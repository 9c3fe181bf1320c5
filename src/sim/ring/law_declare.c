/* Safety: who may be declared, reported and fenced, and when. */
#include "sim/ring/law.h"

#include "core/ring/inside.h"
#include "sim/ring/law_inside.h"

enum {
    TIMERS_LATE = 16, /* so many timers in a row, each late by timer_ns_max, are forgiven */
    PATIENCE = 5,     /* timeouts that an unreachable node is given */
};

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

/* ---- what the world did to two nodes ---- */

uint32_t ring_losses_since(const struct ring_world *world, mu_slot a, mu_slot b, uint64_t since_ns)
{
    const struct ring_pair *pair = a < b ? ring_pair(world, a, b) : ring_pair(world, b, a);
    uint32_t count = 0;
    for (uint32_t i = 0; i < RING_LOSSES; i++)
        if (pair->lost_ns[i] != 0 && pair->lost_ns[i] >= since_ns)
            count++;
    return count;
}

/* The longest time that the node stood still, of those that reach into the time since then. */
static uint64_t longest_stall_ns(const struct ring_world *world, mu_slot slot, uint64_t since_ns)
{
    const struct ring_record *record = &world->law.records[slot];
    uint64_t longest_ns = 0;
    for (uint32_t i = 0; i < RING_STALLS; i++) {
        const struct ring_stall *stall = &record->stalls[i];
        uint64_t until_ns = ring_law_min(stall->until_ns, world->queue->now_ns);
        if (stall->until_ns >= since_ns && until_ns > stall->from_ns)
            longest_ns = ring_law_max(longest_ns, until_ns - stall->from_ns);
    }
    return longest_ns;
}

/* Some datagram of one of the two, to or from a third node, was lost lately. */
static bool others_lost(const struct ring_world *world, mu_slot a, mu_slot b, uint64_t since_ns)
{
    for (mu_slot other = 0; other < world->size; other++)
        if (other != a && other != b &&
            (ring_losses_since(world, a, other, since_ns) > 0 ||
             ring_losses_since(world, b, other, since_ns) > 0))
            return true;
    return false;
}

/* ---- D2: nobody is declared whose delays and stalls stay within the bound ---- */

/* How many questions of the observer had time to be answered: each must have been lost. */
static uint32_t rounds_in_time(const struct ring_world *world, uint64_t time_ns, uint64_t takes_ns)
{
    uint64_t slack_ns = world->law.spare_ns_max / RING_SLACKS;
    return takes_ns >= time_ns ? 0 : (uint32_t)((time_ns - takes_ns) / slack_ns);
}

/* It gives a watch up when it had no word of the watcher for five timeouts. */
static bool beats_to(const struct ring_world *world, mu_slot slot, mu_slot observer)
{
    const struct mu_detect *detect = ring_world_detect(world, slot);
    for (int i = 0; i < MU_DETECT_WATCHERS; i++)
        if (detect->watchers[i].slot == observer &&
            detect->watchers[i].unanswered != MU_WATCHER_ENDED)
            return true;
    return false;
}

/* While the observer stood still it asked nothing: that time was given back, and questions of
 * before it count. */
static uint64_t asked_since_ns(const struct ring_world *world, mu_slot observer, mu_slot subject,
                               uint64_t since_ns)
{
    const struct ring_pair *pair = ring_pair(world, observer, subject);
    uint64_t lag_ns = world->law.records[observer].lag_ns - pair->asked_lag_ns;
    return ring_law_min(since_ns,
                        ring_law_max(pair->asked_ns, since_ns - ring_law_min(since_ns, lag_ns)));
}

static bool is_excused(const struct ring_world *world, mu_slot observer, mu_slot subject,
                       uint64_t since_ns, bool was_heard)
{
    const struct ring_law *law = &world->law;
    const struct ring_seat *seat = &world->seats[subject];
    if (seat->crashed || seat->fenced)
        return true;
    uint64_t delay_ns = world->plan->net.delay_ns_max;
    uint64_t late_ns = TIMERS_LATE * world->plan->timer_ns_max;
    if (!was_heard)
        since_ns = asked_since_ns(world, observer, subject, since_ns);
    uint64_t window_ns =
        since_ns > law->period_ns_max + delay_ns ? since_ns - law->period_ns_max - delay_ns : 0;
    uint64_t stall_ns = longest_stall_ns(world, subject, window_ns);
    uint32_t lost = ring_losses_since(world, observer, subject, window_ns);
    if (was_heard && delay_ns + stall_ns + late_ns >= law->spare_ns_min)
        return true;
    if (!was_heard && 2 * delay_ns + stall_ns + late_ns >= law->spare_ns_min)
        return true;
    uint64_t takes_ns = 2 * delay_ns + stall_ns + late_ns;
    uint64_t slack_ns = law->spare_ns_min / RING_SLACKS;
    /* Whoever believes that the observer is dead says so, and nothing else. */
    if (ring_pair(world, subject, observer)->knows)
        return lost > 0 || rounds_in_time(world, (RING_SLACKS - 1) * slack_ns, takes_ns) == 0;
    /* A node beats to a few at once only, and keeps those that stand nearer, also when they are
     * dead and it was not told yet: then there are only questions. */
    if ((ring_pair(world, observer, subject)->refused || !beats_to(world, subject, observer)) &&
        rounds_in_time(world, (RING_SLACKS - 1) * slack_ns, takes_ns) == 0)
        return true;
    if (was_heard)
        return lost > rounds_in_time(world, (RING_SLACKS - 1) * slack_ns, takes_ns);
    return lost > 0 && lost >= rounds_in_time(world, law->spare_ns_min, takes_ns);
}

static void check_silence(struct ring_world *world, mu_slot observer,
                          const struct mu_detect_evidence *evidence)
{
    mu_slot subject = evidence->subject;
    const struct ring_pair *pair = ring_pair(world, observer, subject);
    const struct ring_record *record = &world->law.records[observer];
    uint64_t now_ns = world->queue->now_ns;
    uint64_t claimed_ns = now_ns - evidence->silent_ns;
    uint64_t lag_ns = record->lag_ns - pair->heard_lag_ns, since_ns = pair->heard_ns;
    bool was_heard = true;
    /* Heard by a helper, or under the watch before; or not heard since it was asked: then the time
     * runs from some question. */
    bool was_only_probed = evidence->silent_ns == evidence->suspect_ns;
    if (claimed_ns > since_ns && claimed_ns <= pair->perhaps_ns && !was_only_probed) {
        since_ns = claimed_ns;
        lag_ns = 0;
    } else if (claimed_ns > since_ns && pair->asked_ns != 0 && claimed_ns >= pair->asked_ns) {
        lag_ns = claimed_ns == pair->asked_ns ? record->lag_ns - pair->asked_lag_ns : 0;
        since_ns = claimed_ns;
        was_heard = false;
    }
    uint64_t timeout_ns = was_heard ? world->law.timeout_ns_min : world->law.spare_ns_min;
    if (since_ns == 0)
        ring_law_fail(world, "evidence", "node %u declares node %u, which it has never asked",
                      observer, subject);
    if (now_ns - since_ns < timeout_ns + lag_ns)
        ring_law_fail(world, "D2",
                      "node %u declares node %u after %.3f ms without a word; the timeout is "
                      "%.3f ms, and it was itself late by %.3f ms",
                      observer, subject, ms(now_ns - since_ns), ms(timeout_ns), ms(lag_ns));
    /* The grace is for those that may not have started; one that has beaten, answered or helped,
     * or that a helper has heard, has. */
    bool is_known = pair->heard_ns != 0 || pair->helped_at_ns != 0 || pair->replied_ns != 0 ||
                    pair->perhaps_ns != 0;
    if (!is_known && now_ns < record->start_ns + world->plan->config.grace_ns)
        ring_law_fail(world, "D2", "node %u declares node %u, never heard, within the grace",
                      observer, subject);
    if (!is_excused(world, observer, subject, since_ns, was_heard))
        ring_law_fail(world, "D2",
                      "node %u declares node %u, which lives; delay and stall stayed within the "
                      "bound, and %u of their datagrams were lost",
                      observer, subject, ring_losses_since(world, observer, subject, since_ns));
}

/* ---- doubt: who hears nobody accuses nobody ---- */

static void check_doubt(struct ring_world *world, mu_slot observer,
                        const struct mu_detect_evidence *evidence)
{
    mu_slot by = evidence->vouched_by;
    uint64_t since_ns = world->queue->now_ns - evidence->suspect_ns;
    if (by == MU_SLOT_NONE) {
        if (evidence->launcher == MU_LAUNCHER_NONE ||
            ring_pair(world, observer, evidence->subject)->launched_ns < since_ns)
            ring_law_fail(world, "doubt", "node %u declares node %u, and nobody answers it",
                          observer, evidence->subject);
        return;
    }
    if (by == evidence->subject || by == observer || by >= world->size ||
        ring_pair(world, observer, by)->vouched_ns < since_ns)
        ring_law_fail(world, "doubt",
                      "node %u declares node %u and says that node %u answered it, but it did not",
                      observer, evidence->subject, by);
}

/* ---- D6: heard by a helper ---- */

/* What answers questions of this suspicion: older ones may have been recorded. */
static void check_helpers(struct ring_world *world, mu_slot observer,
                          const struct mu_detect_evidence *evidence)
{
    mu_slot subject = evidence->subject;
    const struct ring_pair *pair = ring_pair(world, observer, subject);
    uint64_t now_ns = world->queue->now_ns;
    if (pair->helped_ns != 0 && pair->helped_ns >= now_ns - evidence->suspect_ns &&
        pair->helped_ns >= pair->heard_ns && now_ns - pair->helped_ns < world->law.timeout_ns_min)
        ring_law_fail(world, "D6",
                      "node %u declares node %u silent; a helper said %.3f ms ago that it hears it",
                      observer, subject, ms(now_ns - pair->helped_ns));
}

static void check_patience(struct ring_world *world, mu_slot observer, mu_slot subject)
{
    uint64_t now_ns = world->queue->now_ns, since_ns = MU_NEVER;
    for (mu_slot other = 0; other < world->size; other++) {
        uint64_t reported_ns = ring_pair(world, observer, other)->reported_ns;
        if (reported_ns != 0 && (subject == other || subject == observer))
            since_ns = ring_law_min(since_ns, reported_ns);
    }
    if (since_ns == MU_NEVER)
        ring_law_fail(world, "D6", "node %u declares node %u unreachable and never reported it",
                      observer, subject);
    else if (now_ns - since_ns < PATIENCE * world->law.timeout_ns_min)
        ring_law_fail(world, "D6", "node %u declares node %u unreachable %.3f ms after its report",
                      observer, subject, ms(now_ns - since_ns));
}

/* ---- lease: a silent node is inert before it is declared ---- */

static bool is_granted_by(const struct mu_detect *detect, mu_slot observer)
{
    for (int i = 0; i < MU_DETECT_WATCHERS; i++)
        if (detect->watchers[i].place == observer && detect->watchers[i].acked_ns != 0 &&
            detect->watchers[i].made_way == 0 && detect->watchers[i].unanswered != MU_WATCHER_ENDED)
            return true;
    return false;
}

/* Does one between the two live on, which the observer has declared because it answers too late,
 * and has it acknowledged the subject? */
static bool is_granted_between(const struct ring_world *world, mu_slot observer, mu_slot subject)
{
    for (mu_slot at = ring_next(world, subject); at != observer; at = ring_next(world, at)) {
        bool granted = is_granted_by(ring_world_detect(world, subject), at) ||
                       ring_pair(world, subject, at)->knows; /* what it granted runs on */
        if (granted && !world->seats[at].crashed && !ring_world_frozen(world, at))
            return true;
    }
    return false;
}

/* The launcher listens to one of the two alone, whatever the other one declares: that one gets no
 * lease from anybody. */
static bool was_settled(const struct ring_world *world, mu_slot observer, mu_slot subject)
{
    return world->seats[observer].given_up && !world->seats[subject].given_up;
}

static void check_lease(struct ring_world *world, mu_slot observer, mu_slot subject)
{
    const struct mu_detect *detect = ring_world_detect(world, subject);
    uint64_t now_ns = world->queue->now_ns;
    if (!ring_world_lives(world, subject) || was_settled(world, observer, subject))
        return;
    if (mu_detect_lease_until_ns(detect) <= now_ns + ring_world_clock_ns(world, subject)) {
        /* Its own flag follows as soon as it gets to run. */
        if (mu_detect_lease_held(detect) && world->seats[subject].deadline_ns > now_ns)
            ring_law_fail(world, "lease",
                          "node %u is declared by node %u, its lease has run out, "
                          "and it does not know",
                          subject, observer);
        return;
    }
    /* Somebody else acknowledges it: one that was not found because of cuts between several nodes,
     * or was declared.  No excuse where the observer, or a helper in its place, has granted it as
     * well: the least of all counts. */
    uint64_t window_ns = ring_law_min(now_ns, 2 * world->law.timeout_ns_max);
    if (!is_granted_by(detect, observer) &&
        (others_lost(world, observer, subject, now_ns - window_ns) ||
         is_granted_between(world, observer, subject)))
        return;
    ring_law_fail(world, "lease", "node %u is declared silent by node %u and holds its lease",
                  subject, observer);
}

/* Who has no lease may be cut off itself, or declared.  The launcher stands outside. */
static void check_own_lease(struct ring_world *world, mu_slot observer,
                            const struct mu_detect_evidence *evidence)
{
    const struct mu_detect *detect = ring_world_detect(world, observer);
    uint64_t clock_ns = world->queue->now_ns + ring_world_clock_ns(world, observer);
    bool held = world->law.held || mu_detect_lease_until_ns(detect) > clock_ns;
    if (!held && evidence->vouched_by != MU_SLOT_NONE)
        ring_law_fail(world, "lease", "node %u declares node %u, and has no lease itself", observer,
                      evidence->subject);
}

/* A lease that has ended must not come back to one that was declared: the word of that is on its
 * way, and some act on it.  That word takes less than (timeout - period). */
static bool spreads_in_time(const struct ring_world *world, uint64_t since_ns)
{
    const struct ring_plan *plan = world->plan;
    for (mu_slot slot = 0; slot < world->size; slot++)
        if (world->seats[slot].loop_until_ns >= since_ns)
            return false; /* its node does not tell its detector */
    return 2 * plan->queue_ns_max + plan->tell_ns_max + plan->net.delay_ns_max <
           world->law.spare_ns_min;
}

static void check_lease_back(struct ring_world *world, mu_slot slot)
{
    const struct ring_record *record = &world->law.records[slot];
    uint64_t declared_ns = world->seats[slot].declared_ns;
    uint64_t window_ns = ring_law_min(declared_ns, 2 * world->law.timeout_ns_max);
    if (declared_ns == MU_NEVER || record->lease_ns == 0 || !world->seats[slot].told ||
        was_settled(world, record->declared_by, slot) || !spreads_in_time(world, declared_ns) ||
        others_lost(world, record->declared_by, slot, declared_ns - window_ns))
        return;
    ring_law_fail(world, "lease",
                  "node %u was declared by node %u %.3f ms ago, and has its lease back", slot,
                  record->declared_by, ms(world->queue->now_ns - declared_ns));
}

/* Without end: all others are out, and that is proven, or the launcher listens to this one alone.
 */
static void check_endless(struct ring_world *world, mu_slot slot)
{
    const struct ring_seat *seats = world->seats;
    for (mu_slot other = 0; other < world->size; other++) {
        if (other == slot)
            continue;
        if (ring_world_lives(world, other) && !seats[other].fenced &&
            mu_detect_lease_until_ns(ring_world_detect(world, other)) == MU_NEVER)
            ring_law_fail(world, "lease", "nodes %u and %u both hold a lease without end", slot,
                          other);
        if (!ring_pair(world, slot, other)->proven && !seats[other].proven &&
            (!seats[other].given_up || seats[slot].given_up))
            ring_law_fail(world, "lease",
                          "node %u holds a lease without end; nothing proves that node %u is dead",
                          slot, other);
    }
}

uint64_t ring_law_places(const struct ring_world *world, mu_slot slot, bool lapsed)
{
    const struct mu_detect *detect = ring_world_detect(world, slot);
    uint64_t now_ns = world->queue->now_ns + ring_world_clock_ns(world, slot), mask = 0;
    for (int i = 0; i < MU_DETECT_WATCHERS; i++) {
        const struct mu_watcher *watcher = &detect->watchers[i];
        if (watcher->unanswered != MU_WATCHER_ENDED && watcher->made_way == 0 &&
            (watcher->lease_ns <= now_ns) == lapsed)
            mask |= UINT64_C(1) << watcher->place % 64;
    }
    return mask;
}

/* N3: from one on whose watch it did not end, not within a timeout. */
static void check_lease_from(struct ring_world *world, mu_slot slot)
{
    const struct ring_record *record = &world->law.records[slot];
    uint64_t now_ns = world->queue->now_ns + ring_world_clock_ns(world, slot);
    uint64_t ended_ns = ring_world_detect(world, slot)->lease.ended_ns;
    if (record->lease_ns != 0 && (ring_law_places(world, slot, false) & record->lapsed) == 0 &&
        mu_detect_observes(ring_world_detect(world, slot)) != MU_SLOT_NONE &&
        now_ns < ended_ns + world->law.timeout_ns_min)
        ring_law_fail(world, "lease",
                      "node %u lost its lease %.3f ms ago, and another one gives it back", slot,
                      ms(now_ns - ended_ns));
}

/* Its own main loop ended it (N13): any place may give it back. */
static bool ended_by_loop(const struct ring_world *world, mu_slot slot)
{
    uint64_t now_ns = world->queue->now_ns + ring_world_clock_ns(world, slot);
    return mu_loop_lease_ns(ring_world_detect(world, slot), MU_NEVER) <= now_ns;
}

void ring_law_on_lease(struct ring_world *world, mu_slot slot, bool held)
{
    if (!world->plan->small)
        return;
    struct ring_record *record = &world->law.records[slot];
    if (held) {
        check_lease_back(world, slot);
        check_lease_from(world, slot);
    } else {
        record->lapsed = world->law.lapsed | ring_law_places(world, slot, true);
        if (ended_by_loop(world, slot))
            record->lapsed |= ring_law_places(world, slot, false);
    }
    record->lease_ns = world->queue->now_ns;
}

/* ---- effects ---- */

static void note_declared(struct ring_world *world, mu_slot subject, mu_slot by)
{
    struct ring_seat *seat = &world->seats[subject];
    if (world->plan->small && seat->declared_ns == MU_NEVER)
        world->law.records[subject].declared_by = by;
    seat->declared_ns = ring_law_min(seat->declared_ns, world->queue->now_ns);
}

static void check_small(struct ring_world *world, mu_slot observer,
                        const struct mu_detect_evidence *evidence)
{
    mu_slot subject = evidence->subject;
    struct ring_pair *pair = ring_pair(world, observer, subject);
    if (subject != observer && pair->knows)
        ring_law_fail(world, "once", "node %u declares node %u, which it knows is out", observer,
                      subject);
    if (evidence->cause == MU_DETECT_SILENT) {
        check_silence(world, observer, evidence);
        check_doubt(world, observer, evidence);
        check_helpers(world, observer, evidence);
        check_lease(world, observer, subject);
        check_own_lease(world, observer, evidence);
    } else if (evidence->cause == MU_DETECT_UNREACHABLE) {
        check_patience(world, observer, subject);
    } else {
        ring_law_fail(world, "evidence", "node %u declares node %u for no reason", observer,
                      subject);
    }
    if (subject != observer && world->queue->now_ns < pair->taken_ns)
        ring_law_fail(world, "N9",
                      "node %u declares node %u, to which a helper may have granted a lease",
                      observer, subject);
    pair->knows = true;
}

void ring_law_on_verdict(struct ring_world *world, mu_slot slot,
                         const struct mu_detect_evidence *evidence)
{
    mu_slot subject = evidence->subject;
    world->law.verdicts++;
    if (world->law.verdicts == 1) {
        world->law.first_declared = subject;
        world->law.first_cause = evidence->cause;
    }
    if (subject >= world->size ||
        (evidence->incarnation != 0 &&
         evidence->incarnation != ring_world_incarnation(world, subject))) {
        ring_law_fail(world, "evidence", "node %u declares node %u, incarnation %u: no such node",
                      slot, subject, evidence->incarnation);
        return;
    }
    if (world->plan->small)
        check_small(world, slot, evidence);
    else if (world->seats[subject].failed_ns == MU_NEVER) {
        world->law.wrong++;
        ring_law_fail(world, "D2", "node %u declares node %u, which lives", slot, subject);
    }
    note_declared(world, subject, slot);
}

void ring_law_on_report(struct ring_world *world, mu_slot slot,
                        const struct mu_detect_evidence *evidence)
{
    mu_slot subject = evidence->subject;
    uint64_t now_ns = world->queue->now_ns;
    if (!world->plan->small) {
        ring_law_fail(world, "D6", "node %u reports node %u: nothing was cut", slot, subject);
        return;
    }
    struct ring_pair *pair = ring_pair(world, slot, subject);
    if (evidence->cause == 0) {
        world->law.mended++;
        if (pair->reported_ns == 0)
            ring_law_fail(world, "D6", "node %u says that node %u is mended, and never reported it",
                          slot, subject);
        pair->reported_ns = 0;
        return;
    }
    if (evidence->cause == MU_DETECT_UNDECIDED) {
        pair->reported_ns = now_ns;
        return;
    }
    world->law.reports++;
    uint64_t window_ns =
        2 * world->law.timeout_ns_max + world->plan->net.delay_ns_max + evidence->lag_ns;
    uint64_t since_ns = now_ns > window_ns ? now_ns - window_ns : 0;
    if (pair->reported_ns != 0)
        ring_law_fail(world, "D6", "node %u reports node %u again", slot, subject);
    /* Where a round trip takes so long, a beat cannot say in time that its sender hears us. */
    uint64_t round_trip_ns = 2 * world->plan->net.delay_ns_max +
                             TIMERS_LATE * world->plan->timer_ns_max +
                             longest_stall_ns(world, subject, since_ns);
    uint64_t spare_ns = world->law.spare_ns_min;
    if (ring_losses_since(world, slot, subject, since_ns) == 0 &&
        round_trip_ns < spare_ns - spare_ns / RING_SLACKS)
        ring_law_fail(world, "D6", "node %u reports node %u, and nothing between them was lost",
                      slot, subject);
    pair->reported_ns = now_ns;
    if (world->law.pair_reported_ns == 0)
        world->law.pair_reported_ns = now_ns;
}

void ring_law_on_fenced(struct ring_world *world, mu_slot slot)
{
    world->law.fenced++;
    if (world->seats[slot].fenced)
        ring_law_fail(world, "fence", "node %u is fenced twice", slot);
    if (world->seats[slot].declared_ns == MU_NEVER)
        ring_law_fail(world, "fence", "node %u is fenced, and nobody declared it", slot);
    ring_law_on_failed(world, slot);
}

void ring_law_on_out(struct ring_world *world, mu_slot slot, mu_slot out, bool proven)
{
    if (!world->plan->small)
        return;
    struct ring_pair *pair = ring_pair(world, slot, out);
    pair->proven |= proven;
    pair->told_ns = pair->knows ? pair->told_ns : world->queue->now_ns;
    pair->knows = true;
}

/* ---- N1: a watch is answered with a beat, until an acknowledgement says that one arrived ---- */

static bool sends_beat(const struct ring_world *world, const struct mu_beat *watch)
{
    for (uint32_t i = 0; i < world->update.count; i++) {
        const struct mu_detect_effect *effect = &world->update.effects[i];
        if (effect->type == MU_DETECT_SEND && effect->beat.type == MU_BEAT_BEAT &&
            effect->beat.to == watch->from && effect->beat.nonce == watch->nonce)
            return true;
    }
    return false;
}

static void check_watch_answered(struct ring_world *world, mu_slot slot,
                                 const struct mu_beat *watch)
{
    const struct mu_detect *detect = ring_world_detect(world, slot);
    const struct mu_watcher *entry = NULL;
    bool is_full = true;
    for (int i = 0; i < MU_DETECT_WATCHERS; i++) {
        const struct mu_watcher *watcher = &detect->watchers[i];
        is_full &= watcher->unanswered != MU_WATCHER_ENDED;
        if (watcher->slot == watch->from && watcher->unanswered != MU_WATCHER_ENDED)
            entry = watcher;
    }
    ring_pair(world, watch->from, slot)->refused = entry == NULL && is_full;
    if (world->law.newer_watch && entry != NULL && entry->nonce == watch->nonce)
        ring_law_fail(world, "N2", "node %u takes an older watch of node %u for a newer one", slot,
                      watch->from);
    if (entry != NULL && entry->nonce == watch->nonce && !sends_beat(world, watch) &&
        ring_pair(world, slot, watch->from)->acked_nonce != watch->nonce)
        ring_law_fail(world, "N1",
                      "node %u has no acknowledgement of a beat to node %u under this watch, is "
                      "asked again, and does not beat",
                      slot, watch->from);
}

/* ---- N2: an old HEARD is no sign of life ---- */

static void check_heard(struct ring_world *world, mu_slot slot, const struct mu_beat *beat)
{
    if (world->law.said_ns == 0 || beat->acked_ns == 0 || beat->acked_ns > world->law.said_ns)
        return;
    const struct mu_watch *watch = mu_observe_find(ring_world_detect(world, slot), beat->subject);
    if (watch != NULL && watch->heard_ns > world->law.heard_ns)
        ring_law_fail(world, "N2",
                      "node %u takes an old word of node %u about node %u for a sign of life", slot,
                      beat->from, beat->subject);
}

/* ---- steps ---- */

void ring_law_after_step(struct ring_world *world, mu_slot slot,
                         const struct mu_detect_event *event)
{
    const struct ring_seat *seat = &world->seats[slot];
    if (world->update.count > MU_DETECT_EFFECTS_MAX)
        ring_law_fail(world, "bound", "a step of node %u has %u effects, at most %u are allowed",
                      slot, world->update.count, MU_DETECT_EFFECTS_MAX);
    if (seat->fenced && seat->deadline_ns != MU_NEVER)
        ring_law_fail(world, "fence", "node %u was fenced and still asks for a deadline", slot);
    if (!world->plan->small || seat->fenced)
        return;
    if (mu_detect_lease_until_ns(ring_world_detect(world, slot)) == MU_NEVER)
        check_endless(world, slot);
    if (event->type != MU_DETECT_RECV || seat->silent)
        return;
    const struct mu_beat *beat = event->beat;
    if (beat->type == MU_BEAT_WATCH && !world->law.from_out)
        check_watch_answered(world, slot, beat);
    check_heard(world, slot, beat);
    uint64_t dropped = mu_detect_counts(ring_world_detect(world, slot))->dropped;
    if (world->law.from_out && beat->type != MU_BEAT_DEAD && dropped == world->law.dropped)
        ring_law_fail(world, "fence", "node %u takes a datagram of node %u, which it knows is out",
                      slot, beat->from);
}
