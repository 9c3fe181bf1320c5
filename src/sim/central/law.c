#include "sim/central/law.h"

#include "core/central/inside.h"

#include <stdarg.h>

static uint64_t now(const struct central_world *world)
{
    return world->queue.now_ns;
}

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

void central_law_fail(struct central_world *world, const char *law, const char *format, ...)
{
    if (world->broken != NULL)
        return;
    world->broken = law;
    world->step = world->events;
    va_list list;
    va_start(list, format);
    vsnprintf(world->message, sizeof world->message, format, list);
    va_end(list);
}

static const struct central_view *newest(const struct central_world *world)
{
    return &world->views[world->view_count - 1];
}

/* Does it live as a member of the newest view? */
static bool is_member(const struct central_world *world, mu_slot slot)
{
    return central_lives(world, slot) &&
           newest(world)->incarnation[slot] == world->seats[slot].incarnation;
}

static bool works(const struct central_world *world, mu_slot slot)
{
    return is_member(world, slot) && !world->seats[slot].cut_off &&
           world->seats[slot].loop_until_ns <= now(world);
}

/* Can those that live go on?  More than half of the view must, or half of it with the lowest. */
static bool is_hopeful(const struct central_world *world)
{
    const struct central_view *view = newest(world);
    uint32_t counted = 0, living = 0;
    bool lowest = false;
    for (mu_slot slot = 0; slot < world->size; slot++) {
        bool gone = world->proven[slot] && view->incarnation[slot] <= world->out[slot];
        if (view->incarnation[slot] == 0 || gone)
            continue;
        if (counted++ == 0)
            lowest = works(world, slot);
        living += works(world, slot) ? 1 : 0;
    }
    return lowest ? 2 * living >= counted : 2 * living > counted;
}

/* ---- sending ---- */

/* Without stalls, nobody is late. */
static bool is_prompt(const struct central_plan *plan)
{
    uint64_t trip_ns = 2 * (plan->delay_ns_max + plan->timer_ns_max);
    return plan->slow_ns_max == 0 && trip_ns < plan->config.floor_ns;
}

void central_law_on_send(struct central_world *world, mu_slot slot, const struct mu_poll *poll)
{
    const struct central_seat *seat = &world->seats[slot];
    bool known_out = poll->to_incarnation <= seat->told[poll->to];
    bool replaced = seat->view != UINT32_MAX &&
                    poll->to_incarnation < world->views[seat->view].incarnation[poll->to];
    if (poll->type != MU_POLL_DEAD && known_out)
        central_law_fail(world, "final", "node %u speaks to %u.%u, which it knows to be out", slot,
                         poll->to, poll->to_incarnation);
    if (poll->type == MU_POLL_DEAD && !known_out && !replaced)
        central_law_fail(world, "fence", "node %u tells %u.%u that it is out, and nobody said so",
                         slot, poll->to, poll->to_incarnation);
    bool quiet =
        poll->type == MU_POLL_POLL || poll->type == MU_POLL_ANSWER || poll->type == MU_POLL_DEAD;
    if (!quiet && !seat->cut_off && now(world) >= world->plan->quiet_ns && is_prompt(world->plan) &&
        is_hopeful(world))
        central_law_fail(world, "quiet", "node %u sends a message of type %u when all is well",
                         slot, poll->type);
}

/* ---- verdicts ---- */

/* Nobody else was declared, as far as its own clock says. */
static void check_lease(struct central_world *world, mu_slot by, mu_slot subject)
{
    const struct central_seat *seat = &world->seats[subject];
    uint64_t until_ns = mu_central_lease_until_ns(seat->central);
    if (until_ns > now(world) + seat->clock_ns)
        central_law_fail(world, "lease", "node %u declares %u, which has its lease for %.3f ms", by,
                         subject, ms(until_ns - now(world) - seat->clock_ns));
}

static void check_cause(struct central_world *world, mu_slot by,
                        const struct mu_detect_evidence *evidence)
{
    uint64_t from_ns = now(world) - evidence->suspect_ns;
    bool heard = false;
    for (mu_slot slot = 0; slot < world->size; slot++)
        heard |= world->seats[slot].tried_ns[evidence->subject] >= from_ns;
    if (evidence->cause == MU_DETECT_UNREACHABLE && !heard)
        central_law_fail(world, "cause",
                         "node %u says that others reach %u, and nobody has heard it", by,
                         evidence->subject);
    bool by_master = mu_central_is_master(world->seats[by].central);
    if (evidence->cause == MU_DETECT_SILENT && world->plan->reachable && by_master)
        central_law_fail(world, "cause", "node %u says that %u is silent, and all others reach it",
                         by, evidence->subject);
}

/* With nobody else to ask it cannot know which of the two is cut off, and has the right to go on.
 */
static bool is_excused(const struct central_world *world, mu_slot by, mu_slot subject)
{
    bool alone = mu_central_half(world->seats[by].central) <= 1;
    return world->seats[subject].excused || (alone && world->seats[by].excused);
}

void central_law_on_verdict(struct central_world *world, mu_slot by,
                            const struct mu_detect_evidence *evidence)
{
    mu_slot subject = evidence->subject;
    const struct central_seat *seat = &world->seats[subject];
    if (evidence->incarnation <= world->seats[by].told[subject])
        central_law_fail(world, "door", "node %u declares %u.%u, which it knows to be out", by,
                         subject, evidence->incarnation);
    if (!central_lives(world, subject) || seat->incarnation != evidence->incarnation)
        return;
    check_lease(world, by, subject);
    check_cause(world, by, evidence);
    if (world->plan->strict && !is_excused(world, by, subject))
        central_law_fail(world, "false", "node %u declares %u, which is well", by, subject);
}

/* ---- what must be found, and when ---- */

static uint64_t round_trip_ns(const struct central_plan *plan)
{
    return 2 * plan->delay_ns_max + plan->stall_ns_max + 2 * plan->timer_ns_max;
}

/* No timeout is longer: the average is not above the longest round trip, nor is the deviation. */
static uint64_t longest_timeout_ns(const struct central_plan *plan)
{
    uint64_t trip_ns = round_trip_ns(plan), wait_ns = 5 * trip_ns;
    if (trip_ns >= plan->config.floor_ns || wait_ns > plan->config.ceiling_ns)
        return plan->config.ceiling_ns; /* it may be doubled */
    return wait_ns > plan->config.floor_ns ? wait_ns : plan->config.floor_ns;
}

static uint64_t host_bound_ns(const struct central_plan *plan)
{
    return plan->delay_ns_max + plan->config.cycle_ns + 2 * longest_timeout_ns(plan) +
           2 * round_trip_ns(plan) + plan->config.cycle_ns / 20;
}

static uint64_t master_bound_ns(const struct central_plan *plan)
{
    return 2 * plan->config.cycle_ns + plan->config.ceiling_ns + 6 * plan->config.floor_ns +
           6 * round_trip_ns(plan);
}

static uint64_t settled_ns(const struct central_plan *plan)
{
    return 8 * plan->config.cycle_ns + 3 * plan->config.ceiling_ns;
}

/* What it needs is there: a master that has settled, and nothing else happens meanwhile. */
static void watch(struct central_world *world, mu_slot slot, uint64_t after_ns)
{
    struct central_seat *seat = &world->seats[slot];
    bool is_master = mu_central_is_master(seat->central);
    uint64_t bound_ns = is_master ? master_bound_ns(world->plan) : host_bound_ns(world->plan);
    if (!world->plan->timely || !is_member(world, slot) ||
        now(world) < world->master_since_ns + settled_ns(world->plan))
        return;
    central_push(world, now(world) + after_ns + bound_ns, CENTRAL_DUE, slot, 0, seat->incarnation);
}

void central_law_on_crash(struct central_world *world, mu_slot slot)
{
    watch(world, slot, 0);
}

/* Its loop is asked each tenth of its patience, and may have been asked long ago. */
void central_law_on_loop(struct central_world *world, mu_slot slot)
{
    const struct central_plan *plan = world->plan;
    world->seats[slot].crashed_ns = now(world);
    watch(world, slot, plan->config.loop_ns + plan->config.loop_ns / 5 + plan->turn_ns_max);
}

void central_law_on_due(struct central_world *world, mu_slot slot, uint32_t incarnation)
{
    const struct central_seat *seat = &world->seats[slot];
    bool out = world->out[slot] >= incarnation || seat->incarnation > incarnation;
    bool others = world->crash_ns > seat->crashed_ns ||
                  (world->seats[slot].up ? false : seat->crashed_ns != world->crash_ns);
    if (out || others || world->master_since_ns > seat->crashed_ns || !is_hopeful(world))
        return;
    central_law_fail(world, "found", "node %u has stopped %.3f ms ago, and is not declared", slot,
                     ms(now(world) - seat->crashed_ns));
}

/* ---- the end: all is well again ---- */

static void check_member(struct central_world *world, mu_slot slot, mu_slot master)
{
    const struct central_seat *seat = &world->seats[slot];
    if (!is_member(world, slot))
        central_law_fail(world, "back", "node %u lives, and is no member", slot);
    else if (seat->view + 1 != world->view_count)
        central_law_fail(world, "back", "node %u has not installed the last view", slot);
    else if (mu_central_master(seat->central) != master)
        central_law_fail(world, "master", "node %u follows %u, and the lowest that lives is %u",
                         slot, mu_central_master(seat->central), master);
    else if (5 * world->plan->delay_ns_max < world->plan->config.cycle_ns &&
             world->plan->slow_ns_max == 0 && !mu_central_lease_held(seat->central))
        central_law_fail(world, "held", "node %u has no lease when all is well", slot);
}

void central_law_on_end(struct central_world *world)
{
    mu_slot master = MU_SLOT_NONE;
    if (!is_hopeful(world))
        return;
    for (mu_slot slot = 0; slot < world->size; slot++) {
        if (!central_lives(world, slot) || world->seats[slot].cut_off) {
            if (newest(world)->incarnation[slot] != 0)
                central_law_fail(world, "found", "node %u has stopped, and is still a member",
                                 slot);
            continue;
        }
        if (master == MU_SLOT_NONE)
            master = slot;
        check_member(world, slot, master);
    }
}
