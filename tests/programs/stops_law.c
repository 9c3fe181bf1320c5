/* Who may be declared dead, who must be, and whether everything has come to rest. */
#include "stops.h"

static uint64_t end_of(const struct stop *stop)
{
    return stop->over ? stop->until_ns : UINT64_MAX;
}

/* The longest time in which the daemon did nothing.  One stop soon after another leaves it no time
 * for a heartbeat in between. */
static uint64_t stopped_ns(const struct cycle *cycle, uint32_t slot)
{
    uint64_t longest_ns = 0, from_ns = 0, until_ns = 0;
    for (uint32_t i = 0; i < cycle->stop_count; i++) { /* in the order in which they began */
        const struct stop *stop = &cycle->stops[i];
        if (stop->slot != slot)
            continue;
        if (until_ns == 0 || stop->from_ns - until_ns > cycle->period_ns)
            from_ns = stop->from_ns;
        until_ns = end_of(stop);
        if (until_ns - from_ns > longest_ns)
            longest_ns = until_ns - from_ns;
    }
    return longest_ns;
}

bool stops_is_stalled(const struct cycle *cycle)
{
    return cycle->lag_ns > cycle->timeout_ns - cycle->period_ns;
}

bool stops_may_be_declared(const struct cycle *cycle, uint32_t slot)
{
    uint64_t spare_ns = cycle->timeout_ns - cycle->period_ns;
    uint64_t long_ns = stopped_ns(cycle, slot);
    return cycle->nodes[slot].killed || stops_is_stalled(cycle) ||
           long_ns > spare_ns - cycle->lag_ns;
}

/* Was anything done to this node shortly before the stop of another, or during it? */
static bool is_in_the_way(const struct cycle *cycle, uint32_t slot, const struct stop *other)
{
    uint64_t from_ns = other->from_ns - 2 * cycle->timeout_ns, until_ns = end_of(other);
    const struct node *node = &cycle->nodes[slot];
    if (node->killed && node->killed_ns >= from_ns && node->killed_ns <= until_ns)
        return true;
    for (uint32_t i = 0; i < cycle->stop_count; i++) {
        const struct stop *stop = &cycle->stops[i];
        if (stop->slot == slot && end_of(stop) >= from_ns && stop->from_ns <= until_ns)
            return true;
    }
    return false;
}

/* Its observer may be stopped or dead, and so may who takes its place: each costs up to two
 * timeouts until somebody observes it. */
static bool is_long_enough(const struct cycle *cycle, const struct stop *stop)
{
    uint64_t limit_ns = cycle->timeout_ns * 5 / 4 + cycle->lag_ns;
    for (uint32_t n = 0; n < cycle->trial.nodes; n++)
        if (n != stop->slot && is_in_the_way(cycle, n, stop))
            limit_ns += 2 * cycle->timeout_ns;
    return (stop->over ? stop->ending_ns : trial_now_ns()) - stop->begun_ns > limit_ns;
}

bool stops_must_be_declared(const struct cycle *cycle, uint32_t slot)
{
    bool must = false;
    for (uint32_t i = 0; i < cycle->stop_count; i++)
        must |= cycle->stops[i].slot == slot && cycle->stops[i].when == RUNNING &&
                is_long_enough(cycle, &cycle->stops[i]);
    return must && !stops_is_stalled(cycle);
}

bool stops_is_for_good(const struct cycle *cycle, uint32_t slot)
{
    for (uint32_t i = 0; i < cycle->stop_count; i++)
        if (cycle->stops[i].slot == slot && cycle->stops[i].due_ns == FOR_GOOD_NS)
            return true;
    return false;
}

bool stops_may_end_early(const struct cycle *cycle)
{
    bool none_left = true;
    for (uint32_t n = 0; n < cycle->trial.nodes; n++) {
        none_left &= stops_may_be_declared(cycle, n);
        if (cycle->nodes[n].killed_at_start)
            return true;
    }
    for (uint32_t i = 0; i < cycle->stop_count; i++)
        if (cycle->stops[i].when == STARTING && stops_may_be_declared(cycle, cycle->stops[i].slot))
            return true;
    return none_left;
}

/* ---- has it come to rest? ---- */

static bool not_yet(struct cycle *cycle, const char *why, long number)
{
    cycle->why = why;
    cycle->number = number;
    return false;
}

static void read_all(struct cycle *cycle, struct trial_notes notes[TRIAL_RANKS_MAX])
{
    for (uint32_t n = 0; n < cycle->trial.nodes; n++)
        cycle->nodes[n].dead = cycle->nodes[n].killed;
    for (uint32_t r = 0; r < cycle->trial.ranks; r++) {
        trial_read_notes(&cycle->trial, r, &notes[r]);
        for (uint32_t n = 0; n < cycle->trial.nodes; n++)
            cycle->nodes[n].dead |= notes[r].nodes[n] > 0;
    }
}

bool stops_are_over(struct cycle *cycle)
{
    for (uint32_t i = 0; i < cycle->stop_count; i++)
        if (!cycle->stops[i].over && cycle->stops[i].due_ns != FOR_GOOD_NS)
            return not_yet(cycle, "still stopped: node", cycle->stops[i].slot);
    return true;
}

bool stops_are_up(struct cycle *cycle)
{
    static struct trial_notes notes[TRIAL_RANKS_MAX];
    read_all(cycle, notes);
    for (uint32_t r = 0; r < cycle->trial.ranks; r++)
        if (!notes[r].there && !cycle->nodes[trial_home(&cycle->trial, r)].dead)
            return not_yet(cycle, "not started: rank", r);
    return true;
}

/* Is everything at this node as it is when the node is dead? */
static bool is_node_over(struct cycle *cycle, uint32_t n, const struct trial_notes *notes)
{
    if (stops_is_for_good(cycle, n) && !cycle->nodes[n].killed)
        return true; /* nobody can end its processes before the job is over */
    if (!stops_has_exited(&cycle->nodes[n]))
        return not_yet(cycle, "declared dead, but its daemon has not ended: node", n);
    for (uint32_t r = 0; r < cycle->trial.ranks; r++)
        if (trial_home(&cycle->trial, r) == n && notes[r].there &&
            trial_has_process(&cycle->trial, notes[r].pid))
            return not_yet(cycle, "its node is dead, and it lives: rank", r);
    return true;
}

static bool is_told_of(struct cycle *cycle, uint32_t n, uint32_t rank,
                       const struct trial_notes *notes)
{
    if (notes->nodes[n] == 0)
        return not_yet(cycle, "not told of a dead node: rank", rank);
    for (uint32_t q = 0; q < cycle->trial.ranks; q++)
        if (trial_home(&cycle->trial, q) == n && notes->dead[q] == 0)
            return not_yet(cycle, "not told of a process of a dead node: rank", rank);
    return true;
}

bool stops_are_settled(struct cycle *cycle)
{
    static struct trial_notes notes[TRIAL_RANKS_MAX];
    read_all(cycle, notes);
    if (!stops_are_over(cycle))
        return false;
    uint32_t alive = 0;
    for (uint32_t n = 0; n < cycle->trial.nodes; n++)
        alive += !cycle->nodes[n].dead;
    for (uint32_t n = 0; n < cycle->trial.nodes; n++) {
        if (!cycle->nodes[n].dead) {
            bool must = stops_is_for_good(cycle, n) || stops_must_be_declared(cycle, n);
            if (must && alive > 1)
                return not_yet(cycle, "stopped for long, but not declared: node", n);
            continue;
        }
        if (!is_node_over(cycle, n, notes))
            return false;
        for (uint32_t r = 0; r < cycle->trial.ranks; r++)
            if (!cycle->nodes[trial_home(&cycle->trial, r)].dead &&
                !is_told_of(cycle, n, r, &notes[r]))
                return false;
    }
    return true;
}
