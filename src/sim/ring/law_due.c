/* D1 and D4: every failure is declared in time. */
#include "sim/ring/law.h"

#include "sim/base/memory.h"
#include "sim/ring/law_inside.h"

enum {
    TIMERS_LATE = 40, /* each by timer_ns_max, in a row, on the way to one verdict */
};

/* ---- failures ---- */

void ring_law_on_failed(struct ring_world *world, mu_slot slot)
{
    struct ring_law *law = &world->law;
    struct ring_seat *seat = &world->seats[slot];
    if (seat->failed_ns != MU_NEVER)
        return;
    seat->failed_ns = world->queue->now_ns;
    if (seat->told)
        return;
    if (law->failure_count == law->failure_capacity) {
        law->failure_capacity = law->failure_capacity == 0 ? 16 : 2 * law->failure_capacity;
        law->failures = sim_realloc(law->failures, law->failure_capacity * sizeof *law->failures);
    }
    seat->failure = law->failure_count++;
    law->failures[seat->failure] =
        (struct ring_failure){.slot = slot, .at_ns = world->queue->now_ns, .declared_ns = MU_NEVER};
    law->undeclared++;
    ring_world_push(world, world->queue->now_ns + law->timeout_ns_min, RING_DUE, slot, 0,
                    seat->failure);
}

void ring_law_on_back(struct ring_world *world, mu_slot slot)
{
    struct ring_seat *seat = &world->seats[slot];
    if (seat->failed_ns == MU_NEVER || seat->fenced)
        return;
    seat->failed_ns = MU_NEVER;
    if (world->plan->small)
        world->law.records[slot].back_ns = world->queue->now_ns;
    struct ring_failure *failure = &world->law.failures[seat->failure];
    if (seat->told || failure->over || failure->declared_ns != MU_NEVER)
        return;
    failure->over = true;
    world->law.undeclared--;
}

/* ---- until when one must be declared ---- */

/* The next node onward that should notice; 'slot' itself: nobody is left.  One that was declared by
 * a node that could tell nobody lives on, and is as good as any. */
static mu_slot observer_of(const struct ring_world *world, mu_slot slot)
{
    mu_slot observer = ring_next(world, slot);
    while (observer != slot && (!ring_is_well(world, observer) || world->seats[observer].told))
        observer = ring_next(world, observer);
    return observer;
}

/* Since when there has been somebody who can answer the observer, so that it does not doubt itself;
 * MU_NEVER: there is nobody. */
static uint64_t answered_since_ns(const struct ring_world *world, mu_slot observer)
{
    if (!world->plan->small)
        return 0;
    uint64_t since_ns = MU_NEVER;
    for (mu_slot slot = 0; slot < world->size; slot++) {
        if (slot == observer || !ring_is_well(world, slot) ||
            world->seats[slot].declared_ns != MU_NEVER)
            continue;
        const struct ring_record *record = &world->law.records[slot];
        since_ns = ring_law_min(since_ns, ring_law_max(record->back_ns, record->trouble_ns));
    }
    return since_ns;
}

/* How long the observer stood still since then. */
static uint64_t stood_still_ns(const struct ring_world *world, mu_slot observer, uint64_t since_ns)
{
    uint64_t sum_ns = 0;
    for (uint32_t i = 0; world->plan->small && i < RING_STALLS; i++) {
        const struct ring_stall *stall = &world->law.records[observer].stalls[i];
        uint64_t from_ns = ring_law_max(stall->from_ns, since_ns);
        uint64_t until_ns = ring_law_min(stall->until_ns, world->queue->now_ns);
        if (until_ns > from_ns)
            sum_ns += until_ns - from_ns;
    }
    return sum_ns;
}

/* Did the observer hear its beats until the failure? */
static bool was_observed(const struct ring_world *world, mu_slot observer,
                         const struct ring_failure *failure)
{
    if (!world->plan->small)
        return true;
    const struct ring_pair *pair = ring_pair(world, observer, failure->slot);
    return pair->stamp_ns != 0 &&
           pair->heard_ns + world->law.period_ns_max + world->plan->timer_ns_max >= failure->at_ns;
}

/* The latest time at which anything happened to the nodes between the two. */
static uint64_t last_between_ns(const struct ring_world *world, mu_slot slot, mu_slot observer)
{
    uint64_t last_ns = 0;
    for (mu_slot at = ring_next(world, slot); at != observer; at = ring_next(world, at)) {
        const struct ring_seat *seat = &world->seats[at];
        if (seat->failed_ns != MU_NEVER)
            last_ns = ring_law_max(last_ns, seat->failed_ns);
        if (seat->declared_ns != MU_NEVER && seat->declared_ns < seat->failed_ns)
            last_ns = ring_law_max(last_ns, seat->declared_ns + world->plan->tell_ns_max);
    }
    return last_ns;
}

/* When this node lost the one that observed it; 0: it did not. */
static uint64_t lost_observer_ns(const struct ring_world *world, mu_slot slot)
{
    return last_between_ns(world, slot, observer_of(world, slot));
}

/* Of neighbours that failed one after the other the time runs from the last one, as in D4; so it
 * does when the observer's own observer failed, and it had no lease. */
static void count_detected(struct ring_world *world, const struct ring_failure *failure)
{
    struct ring_law *law = &world->law;
    mu_slot slot = failure->slot, before = slot == 0 ? world->size - 1 : slot - 1;
    uint64_t declared_ns = world->seats[slot].declared_ns;
    mu_slot observer = observer_of(world, slot);
    uint64_t between_ns = last_between_ns(world, slot, observer);
    between_ns = ring_law_max(between_ns, lost_observer_ns(world, observer));
    if (declared_ns < failure->at_ns)
        return; /* it was declared before, and nobody was told */
    if (between_ns == 0 && world->seats[before].failed_ns == MU_NEVER) {
        law->detected++;
        law->detect_ns_sum += declared_ns - failure->at_ns;
        law->detect_ns_max = ring_law_max(law->detect_ns_max, declared_ns - failure->at_ns);
        return;
    }
    uint64_t since_ns = ring_law_min(ring_law_max(failure->at_ns, between_ns), declared_ns);
    law->detected_groups++;
    law->detect_group_ns_max = ring_law_max(law->detect_group_ns_max, declared_ns - since_ns);
}

void ring_law_on_declared(struct ring_world *world, mu_slot slot)
{
    struct ring_seat *seat = &world->seats[slot];
    seat->declared_ns = ring_law_min(seat->declared_ns, world->queue->now_ns);
    if (seat->told)
        return;
    seat->told = true;
    if (seat->failed_ns == MU_NEVER)
        return;
    struct ring_failure *failure = &world->law.failures[seat->failure];
    failure->declared_ns = world->queue->now_ns;
    world->law.undeclared--;
    count_detected(world, failure);
}

/* The last time that this node was told of one between the two. */
static uint64_t last_told_ns(const struct ring_world *world, mu_slot told, mu_slot slot,
                             mu_slot observer)
{
    uint64_t last_ns = 0;
    for (mu_slot at = ring_next(world, slot); world->plan->small && at != observer;
         at = ring_next(world, at))
        last_ns = ring_law_max(last_ns, ring_pair(world, told, at)->told_ns);
    return last_ns;
}

/* The last time that a helper said of it, or of one between them, that it lives: a helper that
 * stood still may bring its word late. */
static uint64_t last_helped_ns(const struct ring_world *world, mu_slot slot, mu_slot observer)
{
    uint64_t last_ns = 0;
    for (mu_slot at = slot; at != observer; at = ring_next(world, at))
        last_ns = ring_law_max(last_ns, ring_pair(world, observer, at)->helped_at_ns);
    return last_ns;
}

/* When the first of them failed: lag since then was given back to it, and the others come after it.
 * Within the grace it is given back from the start on. */
static uint64_t first_failed_ns(const struct ring_world *world, const struct ring_failure *failure,
                                mu_slot observer)
{
    uint64_t first_ns = failure->at_ns;
    for (mu_slot at = failure->slot; at != observer; at = ring_next(world, at))
        first_ns = ring_law_min(first_ns, world->seats[at].failed_ns);
    if (world->plan->small &&
        first_ns < world->law.records[observer].start_ns + world->plan->config.grace_ns)
        return 0;
    return first_ns;
}

static uint64_t bound_ns(const struct ring_world *world, const struct ring_failure *failure,
                         mu_slot observer, uint64_t answered_ns)
{
    const struct ring_law *law = &world->law;
    uint64_t delay_ns = world->plan->net.delay_ns_max;
    uint64_t slack_ns = (law->timeout_ns_max - law->period_ns_max) / RING_SLACKS;
    /* Whoever is not answered in time doubts itself, and once it is sure it waits anew. */
    uint64_t answer_ns = slack_ns + 2 * delay_ns + 4 * world->plan->timer_ns_max;
    uint64_t once_ns = law->timeout_ns_max;
    if (law->period_ns_max + answer_ns >= law->timeout_ns_max)
        once_ns += law->period_ns_max + answer_ns;
    uint64_t base_ns = failure->at_ns, others_ns = 0;
    uint64_t between_ns = last_between_ns(world, failure->slot, observer);
    if (world->plan->small) {
        const struct ring_record *record = &law->records[observer];
        others_ns = ring_law_max(record->trouble_ns, record->back_ns);
        others_ns = ring_law_max(others_ns, last_helped_ns(world, failure->slot, observer));
        /* Whom it did not observe before has the grace that everybody has at the start. */
        if (between_ns != 0 || !was_observed(world, observer, failure))
            others_ns = ring_law_max(others_ns, record->start_ns + world->plan->config.grace_ns);
    }
    others_ns = ring_law_max(others_ns, ring_law_max(between_ns, answered_ns));
    bool alone = others_ns <= base_ns && between_ns == 0 && was_observed(world, observer, failure);
    base_ns = ring_law_max(base_ns, others_ns);
    /* Who is behind one that was only probed has two tolerances more, at most half of the spare
     * time; and it may wait for one that has as much more, before it is observed at all. */
    uint64_t far_ns = law->timeout_ns_max + law->spare_ns_max;
    uint64_t until_ns = base_ns + delay_ns + (alone ? once_ns : far_ns + once_ns);
    /* Reported as unreachable: whoever observed it meanwhile may have extended its lease. */
    if (world->plan->small && ring_pair(world, observer, failure->slot)->reported_ns != 0)
        until_ns += delay_ns + law->timeout_ns_max - law->period_ns_max + 2 * slack_ns;
    if (world->plan->small)
        until_ns = ring_law_max(until_ns, ring_pair(world, observer, failure->slot)->taken_ns);
    /* Then it asks the one behind, and finds the others from there. */
    uint64_t told_ns = last_told_ns(world, observer, failure->slot, observer);
    if (told_ns > 0)
        until_ns = ring_law_max(until_ns, told_ns + 2 * delay_ns + law->timeout_ns_max + once_ns);
    return until_ns + stood_still_ns(world, observer, first_failed_ns(world, failure, observer)) +
           TIMERS_LATE * world->plan->timer_ns_max + world->plan->queue_ns_max + 1000;
}

/* An observer that has no lease waits until it has one again: whoever observes it now, the next
 * well node onward, has found it, and a timeout has passed.  0: it has one. */
static uint64_t lease_bound_ns(const struct ring_world *world, mu_slot observer)
{
    const struct ring_law *law = &world->law;
    uint64_t now_ns = world->queue->now_ns, delay_ns = world->plan->net.delay_ns_max;
    uint64_t late_ns = TIMERS_LATE * world->plan->timer_ns_max + world->plan->queue_ns_max + 1000;
    if (!world->plan->small) {
        uint64_t lost_ns = lost_observer_ns(world, observer);
        return lost_ns == 0 ? 0 : lost_ns + 3 * law->timeout_ns_max + 6 * delay_ns + late_ns;
    }
    const struct ring_record *record = &law->records[observer];
    if (mu_detect_lease_held(ring_world_detect(world, observer)))
        return record->lease_ns + late_ns;
    mu_slot by = observer_of(world, observer);
    if (by == observer)
        return now_ns + law->timeout_ns_min;
    const struct ring_record *other = &law->records[by];
    uint64_t base_ns = ring_law_max(record->trouble_ns, record->back_ns);
    base_ns = ring_law_max(base_ns, ring_law_max(other->trouble_ns, other->back_ns));
    base_ns =
        ring_law_max(base_ns, ring_law_max(record->lease_ns, last_between_ns(world, observer, by)));
    base_ns = ring_law_max(base_ns, last_told_ns(world, by, observer, by));
    /* It beats to three at most, and the nearest may be dead, and its main loop may stand still. */
    base_ns = ring_law_max(base_ns, last_told_ns(world, observer, observer, by));
    base_ns = ring_law_max(base_ns, other->start_ns + world->plan->config.grace_ns);
    return base_ns + 4 * law->timeout_ns_max + 6 * delay_ns + late_ns +
           stood_still_ns(world, by, base_ns) + stood_still_ns(world, observer, base_ns);
}

/* One between the two is well, and the word that it was declared has not come to the observer,
 * which is on another side: that one is observed. */
static bool is_one_between(const struct ring_world *world, mu_slot slot, mu_slot observer)
{
    for (mu_slot at = ring_next(world, slot); world->plan->small && at != observer;
         at = ring_next(world, at))
        if (ring_is_well(world, at) && !ring_pair(world, observer, at)->knows)
            return true;
    return false;
}

void ring_law_on_due(struct ring_world *world, uint32_t index)
{
    const struct ring_failure *failure = &world->law.failures[index];
    uint64_t now_ns = world->queue->now_ns;
    if (failure->over || failure->declared_ns != MU_NEVER)
        return;
    mu_slot observer = observer_of(world, failure->slot);
    uint64_t answered_ns =
        observer == failure->slot ? MU_NEVER : answered_since_ns(world, observer);
    uint64_t until_ns = answered_ns == MU_NEVER ? now_ns + world->law.timeout_ns_min
                                                : bound_ns(world, failure, observer, answered_ns);
    /* A verdict waits for the main loop of its observer, until that one is silent itself (D7). */
    uint64_t loop_ns = world->seats[observer].loop_until_ns;
    until_ns = ring_law_max(until_ns, loop_ns == MU_NEVER ? now_ns + world->law.timeout_ns_min
                                                          : loop_ns + world->plan->queue_ns_max);
    if (observer != failure->slot)
        until_ns = ring_law_max(until_ns, lease_bound_ns(world, observer));
    if (observer != failure->slot && is_one_between(world, failure->slot, observer))
        until_ns = ring_law_max(until_ns, now_ns + world->law.timeout_ns_min);
    if (now_ns <= until_ns) {
        ring_world_push(world, until_ns + 1000, RING_DUE, failure->slot, 0, index);
        return;
    }
    ring_law_fail(world, "D1",
                  "node %u failed at %.3f ms, and node %u has not declared it; the bound is "
                  "%.3f ms",
                  failure->slot, (double)failure->at_ns / 1e6, observer,
                  (double)(until_ns - failure->at_ns) / 1e6);
}
