/* What the ring and the notices owe, in virtual time (docs/spec/view.md):
 *   - a node observes the next one in its view that it does not hold dead, and declares it when
 * that was silent for a timeout: it crashed, is across the cut while its own side supports the
 *     observer, or its lease has ended on the observer's watch;
 *   - a lease ends before such a verdict, and comes back only from whom it ended with, or when no
 *     verdict can be under way;
 *   - notices reach all on one side of a cut, each after a delay of its own. */
#include "sim/view/world.h"

/* Longer than any stall. */
enum { SAID_TIMEOUTS = 5 };

/* A node that has had no lease for so long after a cut ends, as its daemon would. */
enum { LEASE_TIMEOUTS = 8 };

/* ---- who is what to whom ---- */

static bool is_member_of(const struct view_world *world, uint32_t process, uint32_t of)
{
    return world->seats[of].alive &&
           mu_view_position(view_world_node(world, of), world->seats[process].member) != UINT32_MAX;
}

/* Do they still talk to each other, were both running? */
static bool are_friends(const struct view_world *world, uint32_t a, uint32_t b)
{
    return a != b && !view_world_are_apart(world, a, b) && !view_world_knew(world, a, b) &&
           !view_world_knew(world, b, a);
}

/* The nearest in its view, so many steps on each time, that it does not hold dead. */
static uint32_t neighbour(const struct view_world *world, uint32_t process, bool is_before)
{
    const struct mu_view *view = view_world_node(world, process);
    uint32_t total = mu_view_total(view);
    uint32_t position = mu_view_position(view, world->seats[process].member);
    for (uint32_t away = 1; position < total && away < total; away++) {
        uint32_t at = (position + (is_before ? total - away : away)) % total;
        struct mu_view_member member = mu_view_at(view, at);
        if (!mu_view_is_dead(view, member))
            return view_world_process(world, member);
    }
    return VIEW_NOBODY;
}

static bool has_join(const struct mu_view *view, struct mu_view_member member, bool sponsors)
{
    uint64_t key = mu_view_key(member.id, member.incarnation);
    for (uint32_t i = 0; i < view->sponsored_count && sponsors; i++)
        if (mu_view_same(view->sponsored[i], member))
            return true;
    for (uint32_t i = 0; i < view->pending_count && !sponsors; i++)
        if (view->pending[i].kind == MU_VIEW_KIND_JOIN && view->pending[i].key == key)
            return true;
    return false;
}

/* Members are observed, and those that want to join by whoever knows. */
static bool is_concerned(const struct view_world *world, uint32_t process, uint32_t with)
{
    return is_member_of(world, with, process) ||
           has_join(view_world_node(world, process), world->seats[with].member, false);
}

/* ---- verdicts ---- */

/* Its lease was given by its own side, lately. */
static bool is_supported(const struct view_world *world, uint32_t process)
{
    for (uint32_t other = 0; other < world->born; other++)
        if (are_friends(world, process, other) && is_member_of(world, other, process))
            return true;
    return false;
}

/* By its own silence, and not by what others say. */
static bool can_declare(const struct view_world *world, uint32_t process, uint32_t other)
{
    const struct view_seat *seat = &world->seats[other];
    bool apart = view_world_are_apart(world, process, other);
    if (view_world_breaks(world, MU_VIEW_BROKEN_VERDICT) && apart)
        return true;
    if (!view_world_has_lease(world, process))
        return false;
    if (apart)
        return is_supported(world, process);
    if (!seat->alive)
        return !seat->proven; /* else its witness's word comes first */
    return seat->lapsed && seat->watch != VIEW_NOBODY &&
           (seat->watch == process || view_world_knew(world, process, seat->watch));
}

static uint64_t later(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

static bool is_silent(const struct view_world *world, uint32_t process, uint32_t other,
                      uint64_t since_ns, uint32_t timeouts)
{
    bool apart = view_world_are_apart(world, process, other);
    since_ns = later(since_ns, apart ? world->cut_ns : world->seats[other].silent_ns);
    return world->queue.now_ns >= since_ns + timeouts * world->plan->timeout_ns &&
           can_declare(world, process, other);
}

static void declare(struct view_world *world, uint32_t process, uint32_t other)
{
    view_world_trace(world, process, "declares", other);
    view_world_tell(world, process, other);
}

/* Its neighbour; and any that its own observers do not declare for long, as they hold each other
 * dead, or have no lease. */
static void observe(struct view_world *world, uint32_t process)
{
    struct view_seat *seat = &world->seats[process];
    const struct mu_view *view = view_world_node(world, process);
    if (!mu_view_has_view(view))
        return;
    uint32_t next = neighbour(world, process, false);
    if (next != seat->watched) {
        seat->watched = next;
        seat->watched_ns = world->queue.now_ns;
    }
    if (next != VIEW_NOBODY && is_silent(world, process, next, seat->watched_ns, 1)) {
        declare(world, process, next);
        return;
    }
    for (uint32_t other = 0; other < world->born; other++)
        if (other != process && !view_world_knew(world, process, other) &&
            is_silent(world, process, other, 0, 4) && is_concerned(world, process, other)) {
            declare(world, process, other);
            return;
        }
}

/* ---- notices ---- */

/* What those said that have ended arrives for a while, also at one that stood still meanwhile; not
 * at those that start later. */
static bool may_still_say(const struct view_world *world, uint32_t from, uint32_t process)
{
    const struct view_seat *seat = &world->seats[from];
    return seat->alive ||
           (world->seats[process].born_ns <= seat->silent_ns &&
            world->queue.now_ns < seat->silent_ns + SAID_TIMEOUTS * world->plan->timeout_ns);
}

static bool can_hear(const struct view_world *world, uint32_t process, uint32_t dead)
{
    for (uint32_t from = 0; from < world->born; from++)
        if (from != dead && view_world_knew(world, from, dead) &&
            are_friends(world, process, from) && may_still_say(world, from, process))
            return true;
    return false;
}

bool view_world_can_be_told(const struct view_world *world, uint32_t process, uint32_t dead)
{
    if (!world->seats[process].alive ||
        world->seats[process].member.id == world->seats[dead].member.id)
        return false;
    bool shows = world->seats[dead].proven && !view_world_are_apart(world, process, dead) &&
                 !world->worded[view_world_pair(world, process, dead)];
    if (view_world_knew(world, process, dead))
        return shows && is_member_of(world, dead, process);
    return shows || can_hear(world, process, dead);
}

static void notify(struct view_world *world, uint32_t process, uint32_t dead)
{
    bool *noticed = &world->noticed[view_world_pair(world, process, dead)];
    if (*noticed || !view_world_can_be_told(world, process, dead))
        return;
    *noticed = true;
    view_world_push(world, VIEW_WHAT_NOTICE, view_world_soon(world), process, dead, 0);
}

void view_world_spread(struct view_world *world, uint32_t from, uint32_t about)
{
    (void)from;
    for (uint32_t process = 0; process < world->born; process++)
        if (process != about)
            notify(world, process, about);
}

bool view_world_can_hear_join(const struct view_world *world, uint32_t process, uint32_t joiner)
{
    struct mu_view_member member = world->seats[joiner].member;
    if (!world->seats[process].alive || world->seats[process].member.id == member.id)
        return false;
    const struct mu_view *view = view_world_node(world, process);
    struct mu_view_member present = mu_view_list_find(&view->lists[MU_VIEW_NOW], member.id);
    if (has_join(view, member, false) || mu_view_is_dead(view, member) ||
        (present.id != MU_SLOT_NONE && present.incarnation >= member.incarnation))
        return false;
    for (uint32_t from = 0; from < world->born; from++)
        if (world->seats[from].alive && are_friends(world, process, from) &&
            has_join(view_world_node(world, from), member, false))
            return true;
    return false;
}

void view_world_spread_join(struct view_world *world, uint32_t from, uint32_t joiner)
{
    for (uint32_t process = 0; process < world->born; process++)
        if (process != from && process != joiner &&
            view_world_can_hear_join(world, process, joiner))
            view_world_push(world, VIEW_WHAT_JOINING, view_world_soon(world), process, joiner, 0);
}

/* A notice that was lost in a cut, and the joins that it has not heard of, are said again. */
static void listen(struct view_world *world, uint32_t process)
{
    for (uint32_t other = 0; other < world->born; other++) {
        if (other == process)
            continue;
        notify(world, process, other);
        if (other >= world->plan->founders && view_world_can_hear_join(world, process, other))
            view_world_push(world, VIEW_WHAT_JOINING, view_world_soon(world), process, other, 0);
    }
}

/* ---- leases ---- */

void view_world_end_lease(struct view_world *world, uint32_t process)
{
    struct view_seat *seat = &world->seats[process];
    if (seat->lapsed && seat->watch != VIEW_NOBODY)
        return;
    seat->lapsed = true;
    seat->watch = neighbour(world, process, true);
    seat->lapsed_ns = world->queue.now_ns;
    view_world_trace(world, process, "loses its lease, on the watch of", seat->watch);
}

/* Its observer holds it dead, and does not acknowledge its heartbeats. */
static bool is_refused(const struct view_world *world, uint32_t process)
{
    uint32_t observer = neighbour(world, process, true);
    return observer != VIEW_NOBODY && world->seats[observer].alive &&
           view_world_knew(world, observer, process);
}

/* Nobody acknowledges its heartbeats any more: those that run are across the cut, or one of the two
 * holds the other dead. */
static bool is_alone(const struct view_world *world, uint32_t process)
{
    bool waits = false, any = world->is_cut;
    for (uint32_t other = 0; other < world->born; other++) {
        if (other == process || !is_member_of(world, other, process))
            continue;
        waits = waits || !view_world_knew(world, process, other);
        if (world->seats[other].alive && are_friends(world, process, other))
            return false;
        any = any || world->seats[other].alive;
    }
    return waits && any;
}

static bool is_verdict_under_way(const struct view_world *world, uint32_t process)
{
    for (uint32_t other = 0; other < world->born; other++)
        if (other != process && world->seats[other].alive &&
            !view_world_are_apart(world, process, other) &&
            (view_world_knew(world, other, process) || can_hear(world, other, process)))
            return true;
    return false;
}

static bool can_have_lease(const struct view_world *world, uint32_t process)
{
    uint32_t watch = world->seats[process].watch;
    bool is_first = watch == VIEW_NOBODY;
    bool any = view_world_breaks(world, MU_VIEW_BROKEN_LEASE_BACK);
    bool is_gone = is_first || !world->seats[watch].alive || view_world_knew(world, process, watch);
    if (is_gone && !any && is_verdict_under_way(world, process))
        return false;
    for (uint32_t other = 0; other < world->born; other++) {
        if (!world->seats[other].alive || view_world_stalls(world, other) ||
            !are_friends(world, process, other) || !is_member_of(world, process, other))
            continue;
        if (any || is_first || other == watch ||
            (view_world_knew(world, process, watch) && view_world_knew(world, other, watch)))
            return true;
    }
    return false;
}

/* Where leases end for want of observers, some may never come back; in a world without cuts all do.
 */
static bool is_given_up(const struct view_world *world, uint32_t process)
{
    const struct view_seat *seat = &world->seats[process];
    return world->was_cut && seat->lapsed && seat->watch != VIEW_NOBODY &&
           world->queue.now_ns > seat->lapsed_ns + LEASE_TIMEOUTS * world->plan->timeout_ns;
}

static void look_at_lease(struct view_world *world, uint32_t process)
{
    struct view_seat *seat = &world->seats[process];
    struct mu_view_event event = {.type = MU_VIEW_LEASE};
    if (!mu_view_has_view(view_world_node(world, process)))
        return;
    if (seat->lapsed && can_have_lease(world, process)) {
        view_world_trace(world, process, "has its lease", VIEW_NOBODY);
        seat->lapsed = false;
        seat->watch = VIEW_NOBODY;
    } else if (is_given_up(world, process)) {
        view_world_crash(world, process, false);
        return;
    } else if (!seat->lapsed && (is_alone(world, process) || is_refused(world, process)) &&
               sim_random_chance(&world->random, 50)) {
        view_world_end_lease(world, process);
    } else {
        return;
    }
    view_world_act(world, process, &event);
}

/* ---- heartbeats, and asking to join ---- */

/* Only those of which something follows. */
static bool can_beat(const struct view_world *world, uint32_t from, uint32_t to)
{
    if (from == to || !world->seats[from].alive || !world->seats[to].alive ||
        view_world_are_apart(world, from, to))
        return false;
    const struct mu_view *view = view_world_node(world, to);
    struct mu_view_mark mark = mu_view_mark(view_world_node(world, from));
    struct mu_view_mark mine = mu_view_mark(view);
    bool dead = view_world_knew(world, to, from);
    if (view->status != MU_VIEW_MEMBER || mark.number == 0 || mark.number > mine.number ||
        (view_world_breaks(world, MU_VIEW_BROKEN_BEATS) &&
         (dead || view_world_knew(world, from, to))))
        return false;
    if (is_member_of(world, from, to))
        return mark.number == mine.number && mark.hash != mine.hash && !mark.provisional && !dead;
    return (!mark.provisional || dead) && view_world_has_lease(world, to) &&
           !view_world_is_sending(world, to, from, MU_VIEW_FENCE);
}

static void hear_beats(struct view_world *world, uint32_t process)
{
    for (uint32_t from = 0; from < world->born && world->seats[process].alive; from++) {
        if (view_world_stalls(world, from) || !can_beat(world, from, process) ||
            sim_random_chance(&world->random, 50))
            continue;
        struct mu_view_event event = {.type = MU_VIEW_BEAT};
        event.beat.from = world->seats[from].member;
        event.beat.mark = mu_view_mark(view_world_node(world, from));
        view_world_trace(world, process, "hears the heartbeat of", from);
        view_world_act(world, process, &event);
    }
}

static bool can_ask(const struct view_world *world, uint32_t process, uint32_t member)
{
    return member != process && world->seats[member].alive &&
           !view_world_are_apart(world, process, member) &&
           !view_world_knew(world, process, member) &&
           view_world_node(world, member)->status == MU_VIEW_MEMBER;
}

/* One member after the other, until it is confirmed; for six timeouts from the first try, also
 * where it holds all dead that are there. */
static void ask(struct view_world *world, uint32_t process)
{
    struct view_seat *seat = &world->seats[process];
    uint64_t now_ns = world->queue.now_ns;
    struct mu_view_event event = {.type = MU_VIEW_EXPIRED};
    if (view_world_node(world, process)->status == MU_VIEW_MEMBER)
        return;
    uint32_t first = (uint32_t)sim_random_below(&world->random, world->born), away = 0;
    while (away < world->born && !can_ask(world, process, (first + away) % world->born))
        away++;
    seat->asked_ns = seat->asked_ns == 0 ? now_ns : seat->asked_ns;
    if (now_ns > seat->asked_ns + 6 * world->plan->timeout_ns) {
        view_world_trace(world, process, "gives up being confirmed", VIEW_NOBODY);
    } else if (away < world->born && sim_random_chance(&world->random, 30)) {
        uint32_t member = (first + away) % world->born;
        event.type = MU_VIEW_ASK;
        event.ask.member = world->seats[member].member;
        view_world_trace(world, process, "asks to join", member);
    } else {
        return;
    }
    view_world_act(world, process, &event);
}

void view_world_tick(struct view_world *world, uint32_t process)
{
    void (*const parts[])(struct view_world *, uint32_t) = {listen, look_at_lease, observe,
                                                            hear_beats, ask};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (world->seats[process].alive && world->broken == NULL)
            parts[i](world, process);
}
