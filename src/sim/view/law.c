/* The laws of docs/spec/view.md, one checker each. */
#include "sim/view/world.h"

#include "sim/base/memory.h"

#include <stdarg.h>

void view_world_fail(struct view_world *world, const char *law, const char *format, ...)
{
    if (world->broken != NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(world->message, sizeof world->message, format, arguments);
    va_end(arguments);
    world->broken = law;
    world->broken_step = world->events;
}

static unsigned tail(uint64_t hash)
{
    return (unsigned)(hash & 0xffff);
}

static bool is_well(const struct view_world *world, uint32_t process)
{
    const struct view_seat *seat = &world->seats[process];
    return seat->alive && !seat->declared &&
           view_world_node(world, process)->status == MU_VIEW_MEMBER;
}

/* ---- V2 and told: nobody tells twice or backwards, no two differently ---- */

static void on_tell(struct view_world *world, uint32_t process, const struct mu_view_mark *mark)
{
    struct view_seat *seat = &world->seats[process];
    unsigned number = (unsigned)mark->number;
    if (mark->number >= VIEW_WORLD_NUMBERS) {
        view_world_fail(world, "room", "view %u is told, and the world has room for %d", number,
                        VIEW_WORLD_NUMBERS);
        return;
    }
    if (mark->number <= seat->told)
        view_world_fail(world, "V2", "node %u tells view %u after view %u", process, number,
                        (unsigned)seat->told);
    seat->told = mark->number;
    if (world->told[number] == NULL)
        world->told[number] = sim_calloc(world->starts, sizeof *world->told[number]);
    uint64_t *told = world->told[number];
    for (uint32_t other = 0; other < world->born; other++)
        if (told[other] != 0 && told[other] != mark->hash)
            view_world_fail(world, "told", "view %u is %04x to node %u, and to node %u it is %04x",
                            number, tail(mark->hash), process, other, tail(told[other]));
    told[process] = mark->hash;
}

/* With proven deaths the dead may have told another view than those who go on (W19). */
void view_world_law_on_crash(struct view_world *world, uint32_t process)
{
    for (uint32_t number = 0; world->plan->proofs && number < VIEW_WORLD_NUMBERS; number++)
        if (world->told[number] != NULL)
            world->told[number][process] = 0;
}

/* ---- V1, and V4 while nothing is cut ---- */

static void check_same(struct view_world *world, uint32_t a, uint32_t b)
{
    const struct mu_view_list *mine = &view_world_node(world, a)->lists[MU_VIEW_NOW];
    for (int which = MU_VIEW_NOW; which <= MU_VIEW_LATE; which++) {
        const struct mu_view_list *theirs = &view_world_node(world, b)->lists[which];
        if (theirs->number == mine->number && theirs->hash != mine->hash)
            view_world_fail(world, "V4", "view %llu is %04x at node %u, and %04x at node %u",
                            (unsigned long long)mine->number, tail(mine->hash), a,
                            tail(theirs->hash), b);
    }
}

static void on_install(struct view_world *world, uint32_t process)
{
    const struct mu_view *view = view_world_node(world, process);
    if (view->status == MU_VIEW_ENDED)
        return;
    if (mu_view_position(view, world->seats[process].member) == UINT32_MAX)
        view_world_fail(world, "V1", "node %u has a view without itself", process);
    if (world->was_cut || !is_well(world, process))
        return;
    for (uint32_t other = 0; other < world->born; other++)
        if (other != process && is_well(world, other))
            check_same(world, process, other);
}

/* ---- halt: only the declared stop, and those that are too few ---- */

static void on_stop(struct view_world *world, uint32_t process, enum mu_view_stop stop)
{
    uint32_t well = 0;
    for (uint32_t other = 0; other < world->born; other++)
        well += world->seats[other].alive && !world->seats[other].declared ? 1 : 0;
    if (!world->plan->halts || world->seats[process].declared)
        return;
    if (stop != MU_VIEW_STOP_QUORUM || 2 * well > world->plan->founders)
        view_world_fail(world, "halt", "node %u stops, and need not", process);
}

/* ---- one effect: the lease, and all of the above ---- */

void view_world_law_on_effect(struct view_world *world, uint32_t process,
                              const struct mu_view_effect *effect)
{
    bool lapsed = world->seats[process].lapsed;
    switch (effect->type) {
    case MU_VIEW_SEND:
        if (lapsed && effect->message.type != MU_VIEW_JOIN)
            view_world_fail(world, "lease", "node %u has no lease and sends", process);
        return;
    case MU_VIEW_DEATH:
    case MU_VIEW_JOINING:
        return;
    case MU_VIEW_INSTALL:
        if (lapsed && !effect->install.mark.provisional)
            view_world_fail(world, "lease", "node %u has no lease and decides", process);
        on_install(world, process);
        return;
    case MU_VIEW_TELL:
        if (lapsed)
            view_world_fail(world, "lease", "node %u has no lease and tells", process);
        on_tell(world, process, &effect->told);
        return;
    case MU_VIEW_STOPPED:
        on_stop(world, process, effect->stop);
        return;
    case MU_VIEW_FAULT:
        view_world_fail(world, "no-fault", "node %u: %s", process, mu_fault_text(effect->fault));
        return;
    }
}

/* ---- when nothing more happens ---- */

/* split: no two go on in different views. */
static void check_split(struct view_world *world, uint32_t a, uint32_t b)
{
    struct mu_view_mark mine = mu_view_mark(view_world_node(world, a));
    struct mu_view_mark theirs = mu_view_mark(view_world_node(world, b));
    if (is_well(world, a) && is_well(world, b) && view_world_has_lease(world, a) &&
        view_world_has_lease(world, b) &&
        (mine.number != theirs.number || mine.hash != theirs.hash))
        view_world_fail(world, "split", "node %u goes on in view %llu/%04x, node %u in %llu/%04x",
                        a, (unsigned long long)mine.number, tail(mine.hash), b,
                        (unsigned long long)theirs.number, tail(theirs.hash));
}

static void check_members(struct view_world *world, uint32_t process)
{
    const struct mu_view *view = view_world_node(world, process);
    for (uint32_t position = 0; position < mu_view_total(view); position++) {
        uint32_t other = view_world_process(world, mu_view_at(view, position));
        if (other == VIEW_NOBODY || !world->seats[other].alive)
            view_world_fail(world, "stuck", "node %u keeps node %u in its view, which is dead",
                            process, mu_view_at(view, position).id);
    }
    for (uint32_t other = 0; other < world->born; other++)
        if (world->seats[other].alive &&
            mu_view_position(view, world->seats[other].member) == UINT32_MAX)
            view_world_fail(world, "stuck", "node %u never has node %u in its view", process,
                            other);
}

/* stuck: without a cut everybody is in a view of exactly those that run, and has told it. */
static void check_stuck(struct view_world *world, uint32_t process, bool any_member)
{
    const struct mu_view *view = view_world_node(world, process);
    if (!any_member)
        return; /* nobody is left to be heard by */
    if (view->status != MU_VIEW_MEMBER) {
        view_world_fail(world, "stuck", "node %u is never confirmed", process);
        return;
    }
    if (!view_world_has_lease(world, process))
        view_world_fail(world, "stuck", "node %u never has its lease again", process);
    if (view->untold)
        view_world_fail(world, "stuck", "node %u never tells view %llu", process,
                        (unsigned long long)mu_view_mark(view).number);
    check_members(world, process);
}

void view_world_law_on_quiet(struct view_world *world)
{
    bool any_member = false;
    for (uint32_t a = 0; a < world->born; a++) {
        any_member = any_member || (view_world_has_lease(world, a) &&
                                    view_world_node(world, a)->status == MU_VIEW_MEMBER);
        for (uint32_t b = 0; b < a; b++)
            check_split(world, a, b);
    }
    for (uint32_t a = 0; !world->is_cut && a < world->born; a++)
        if (world->seats[a].alive)
            check_stuck(world, a, any_member);
}
