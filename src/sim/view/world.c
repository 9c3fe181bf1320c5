#include "sim/view/world.h"

#include "sim/base/memory.h"
#include "sim/view/explore_inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { QUIET_TIMEOUTS = 10, END_TIMEOUTS = 1000, STEPS_MAX = 1000 };

void view_world_push(struct view_world *world, enum view_what what, uint64_t at_ns, uint32_t node,
                     uint32_t peer, uint32_t ref)
{
    struct sim_item item = {
        .at_ns = at_ns, .node = node, .peer = peer, .ref = ref, .what = (uint8_t)what};
    if (what != VIEW_WHAT_TICK && at_ns > world->active_ns)
        world->active_ns = at_ns;
    sim_queue_push(&world->queue, &item);
}

uint64_t view_world_soon(struct view_world *world)
{
    const struct view_plan *plan = world->plan;
    return world->queue.now_ns + plan->delay_ns_min +
           sim_random_below(&world->random, plan->jitter_ns_max + 1);
}

uint32_t view_world_process(const struct view_world *world, struct mu_view_member member)
{
    for (uint32_t process = world->born; process-- > 0;)
        if (mu_view_same(world->seats[process].member, member))
            return process;
    return VIEW_NOBODY;
}

/* ---- trace ---- */

void view_world_trace(const struct view_world *world, uint32_t process, const char *what,
                      uint32_t peer)
{
    FILE *to = world->plan->trace;
    if (to == NULL)
        return;
    fprintf(to, "%9.3f ms  node %-3u %s", (double)world->queue.now_ns / 1e6, process, what);
    if (peer != VIEW_NOBODY)
        fprintf(to, " %u", peer);
    fprintf(to, "\n");
}

static void trace_message(const struct view_world *world, uint32_t process, const char *what,
                          uint32_t peer, const struct mu_view_message *message)
{
    char text[VIEW_TEXT], line[2 * VIEW_TEXT];
    if (world->plan->trace == NULL)
        return;
    view_messages_describe(message, text);
    snprintf(line, sizeof line, "%s %s %u", text, what, peer);
    view_world_trace(world, process, line, VIEW_NOBODY);
}

static void trace_view(const struct view_world *world, uint32_t process, const char *what,
                       const struct mu_view_mark *mark)
{
    char line[2 * VIEW_TEXT];
    snprintf(line, sizeof line, "%s view %llu/%04x%s", what, (unsigned long long)mark->number,
             (unsigned)(mark->hash & 0xffff), mark->provisional ? ", provisional" : "");
    view_world_trace(world, process, line, VIEW_NOBODY);
}

/* ---- processes begin and end ---- */

static uint32_t process_of_id(const struct view_world *world, mu_slot id)
{
    for (uint32_t process = world->born; process-- > 0;)
        if (world->seats[process].member.id == id)
            return process;
    return VIEW_NOBODY;
}

/* The number that any member tells it, and its clock. */
static uint32_t draw_incarnation(struct view_world *world, uint32_t process)
{
    uint64_t number = 1;
    uint32_t first = (uint32_t)sim_random_below(&world->random, process);
    for (uint32_t away = 0; away < process; away++) {
        uint32_t other = (first + away) % process;
        if (world->seats[other].alive && !view_world_are_apart(world, process, other) &&
            mu_view_has_view(view_world_node(world, other))) {
            number = mu_view_mark(view_world_node(world, other)).number;
            break;
        }
    }
    return mu_view_incarnation(number, process);
}

static void begin(struct view_world *world, mu_slot id)
{
    uint32_t process = world->born++;
    struct view_seat *seat = &world->seats[process];
    struct mu_view_config config = world->plan->config;
    bool founds = process < world->plan->founders;
    uint32_t before = founds ? VIEW_NOBODY : process_of_id(world, id);
    *seat = (struct view_seat){.member.id = id,
                               .born_ns = world->queue.now_ns,
                               .alive = true,
                               .lapsed = !founds,
                               .watch = VIEW_NOBODY,
                               .watched = VIEW_NOBODY};
    seat->member.incarnation = founds ? MU_VIEW_FOUNDER : draw_incarnation(world, process);
    if (view_world_breaks(world, MU_VIEW_BROKEN_RETURN) && before != VIEW_NOBODY &&
        before != process)
        seat->member.incarnation = world->seats[before].member.incarnation;
    config.self = id;
    config.incarnation = seat->member.incarnation;
    mu_view_init(view_world_node(world, process), world->node_bytes, &config);
    view_world_trace(world, process, "starts, with id", id);
    view_world_push(world, VIEW_WHAT_TICK,
                    world->queue.now_ns +
                        sim_random_below(&world->random, world->plan->timeout_ns / 2),
                    process, 0, 0);
}

/* It runs no more. */
static void end(struct view_world *world, uint32_t process)
{
    struct view_seat *seat = &world->seats[process];
    seat->alive = seat->lapsed = seat->declared = false;
    seat->watch = VIEW_NOBODY;
    seat->silent_ns = world->queue.now_ns;
    for (uint32_t peer = 0; peer < world->born; peer++) {
        view_world_drop(world, peer, process);
        if (view_world_are_apart(world, process, peer)) /* it waits to be sent */
            view_world_drop(world, process, peer);
    }
    if (world->plan->comes_back && sim_random_chance(&world->random, 70))
        view_world_push(world, VIEW_WHAT_START,
                        world->queue.now_ns +
                            sim_random_below(&world->random, 4 * world->plan->timeout_ns),
                        0, 0, seat->member.id);
}

void view_world_crash(struct view_world *world, uint32_t process, bool proven)
{
    struct view_seat *seat = &world->seats[process];
    view_world_trace(world, process, proven ? "crashes, as its witness tells" : "crashes",
                     VIEW_NOBODY);
    world->crashes++;
    if (proven)
        mu_view_word(view_world_node(world, process), &seat->word);
    seat->proven = proven;
    view_world_law_on_crash(world, process);
    end(world, process);
    view_world_spread(world, process, process);
}

/* Somebody goes on. */
static bool is_last(const struct view_world *world, uint32_t process)
{
    for (uint32_t other = 0; other < world->born; other++)
        if (other != process && world->seats[other].alive &&
            view_world_node(world, other)->status == MU_VIEW_MEMBER)
            return false;
    return true;
}

/* ---- steps ---- */

/* What is said of the dead: links are cut, and what waits to be sent there goes (W3). */
static void note_deaths(struct view_world *world, uint32_t process)
{
    const struct mu_view *view = view_world_node(world, process);
    for (uint32_t dead = 0; dead < world->born; dead++) {
        bool *knew = &world->knew[view_world_pair(world, process, dead)];
        if (*knew || !mu_view_is_dead(view, world->seats[dead].member))
            continue;
        *knew = true;
        if (world->seats[dead].alive)
            world->seats[dead].declared = true;
        if (view_world_are_apart(world, process, dead) &&
            !view_world_breaks(world, MU_VIEW_BROKEN_QUEUE))
            view_world_drop(world, process, dead);
        if (!view_world_breaks(world, MU_VIEW_BROKEN_DEAD_SAY))
            view_world_drop(world, dead, process);
        view_world_spread(world, process, dead);
    }
}

static void send(struct view_world *world, uint32_t process, const struct mu_view_effect *effect)
{
    uint32_t to = view_world_process(world, effect->peer);
    if (to == VIEW_NOBODY || !world->seats[to].alive ||
        (view_world_knew(world, to, process) && effect->message.type != MU_VIEW_FENCE &&
         !view_world_breaks(world, MU_VIEW_BROKEN_DEAD_SAY)))
        return;
    trace_message(world, process, " ->", to, &effect->message);
    view_world_send(world, process, to, &effect->message);
}

static void carry_out(struct view_world *world, uint32_t process,
                      const struct mu_view_effect *effect)
{
    view_world_law_on_effect(world, process, effect);
    switch (effect->type) {
    case MU_VIEW_SEND:
        send(world, process, effect);
        return;
    case MU_VIEW_JOINING:
        view_world_spread_join(world, process,
                               view_world_process(world, mu_view_of_key(effect->entry.key)));
        return;
    case MU_VIEW_INSTALL:
        trace_view(world, process, "installs", &effect->install.mark);
        return;
    case MU_VIEW_TELL:
        trace_view(world, process, "tells", &effect->told);
        return;
    case MU_VIEW_STOPPED:
        view_world_trace(world, process, "stops, by reason", effect->stop);
        end(world, process);
        return;
    case MU_VIEW_DEATH:
    case MU_VIEW_FAULT:
        return;
    }
    abort();
}

/* True: it goes on. */
static bool act_once(struct view_world *world, uint32_t process, struct mu_view_event *event)
{
    struct view_seat *seat = &world->seats[process];
    event->lease_held = view_world_has_lease(world, process);
    world->active_ns =
        world->queue.now_ns > world->active_ns ? world->queue.now_ns : world->active_ns;
    mu_view_step(view_world_node(world, process), event, &world->update);
    uint32_t count = world->update.count;
    bool crashes = seat->cut && count > 0 && !is_last(world, process);
    note_deaths(world, process);
    if (crashes && seat->cut_after < count)
        count = seat->cut_after;
    for (uint32_t i = 0; i < count && seat->alive; i++)
        carry_out(world, process, &world->update.effects[i]);
    if (crashes && seat->alive)
        view_world_crash(world, process, seat->cut_proven);
    return seat->alive;
}

void view_world_act(struct view_world *world, uint32_t process, struct mu_view_event *event)
{
    struct mu_view_event again = {.type = MU_VIEW_LEASE};
    for (uint32_t steps = 0; act_once(world, process, event); steps++) {
        if (!mu_view_is_due(view_world_node(world, process)))
            return;
        if (steps == STEPS_MAX)
            view_world_fail(world, "stuck", "node %u is always due again", process);
        if (world->broken != NULL)
            return;
        event = &again;
    }
}

void view_world_tell(struct view_world *world, uint32_t process, uint32_t about)
{
    const struct view_seat *dead = &world->seats[about];
    struct mu_view_event event = {.type = MU_VIEW_DEAD};
    bool shows = dead->proven && !view_world_are_apart(world, process, about);
    event.dead.member = dead->member;
    event.dead.proven = shows;
    event.dead.word = shows ? &dead->word : NULL;
    if (shows)
        world->worded[view_world_pair(world, process, about)] = true;
    view_world_act(world, process, &event);
}

/* ---- what happens ---- */

static void hear(struct view_world *world, uint32_t process, uint32_t from, uint32_t epoch)
{
    struct view_parcel *parcel = view_world_take(world, from, process, epoch);
    struct mu_view_event event = {.type = MU_VIEW_RECV};
    if (parcel == NULL)
        return;
    event.recv.from = world->seats[from].member;
    event.recv.message = &parcel->message;
    trace_message(world, process, " <-", from, &parcel->message);
    if (parcel->message.type == MU_VIEW_WELCOME && view_world_breaks(world, MU_VIEW_BROKEN_WELCOME))
        world->seats[process].lapsed = false;
    view_world_act(world, process, &event);
    view_world_give_back(parcel);
}

static void hear_notice(struct view_world *world, uint32_t process, uint32_t dead)
{
    world->noticed[view_world_pair(world, process, dead)] = false;
    if (!view_world_can_be_told(world, process, dead))
        return;
    view_world_trace(world, process, "hears of the death of", dead);
    view_world_tell(world, process, dead);
}

static void hear_join(struct view_world *world, uint32_t process, uint32_t joiner)
{
    struct mu_view_member member = world->seats[joiner].member;
    struct mu_view_event event = {.type = MU_VIEW_HEARD_JOIN};
    if (!view_world_can_hear_join(world, process, joiner))
        return;
    event.entry.kind = MU_VIEW_KIND_JOIN;
    event.entry.key = mu_view_key(member.id, member.incarnation);
    view_world_trace(world, process, "hears of the join of", joiner);
    view_world_act(world, process, &event);
}

static void resume(struct view_world *world, uint32_t process, uint32_t peer)
{
    struct mu_view_event event = {.type = MU_VIEW_RESUME};
    event.resume.peer = world->seats[peer].member;
    if (view_world_knew(world, process, peer) || !world->seats[peer].alive)
        return;
    view_world_trace(world, process, "is connected again to", peer);
    view_world_act(world, process, &event);
}

/* ---- faults ---- */

static void start_again(struct view_world *world, mu_slot id)
{
    uint32_t process = process_of_id(world, id);
    if (world->born < world->starts && (process == VIEW_NOBODY || !world->seats[process].alive))
        begin(world, id);
}

static void stall(struct view_world *world, uint32_t process, uint64_t for_ns)
{
    struct view_seat *seat = &world->seats[process];
    uint64_t now_ns = world->queue.now_ns;
    if (view_world_stalls(world, process))
        return;
    view_world_trace(world, process, "stands still", VIEW_NOBODY);
    seat->stalled_ns = now_ns + for_ns;
    seat->silent_ns = now_ns;
    if (2 * for_ns > world->plan->timeout_ns && mu_view_has_view(view_world_node(world, process)))
        view_world_end_lease(world, process);
}

static void leave(struct view_world *world, uint32_t process)
{
    struct view_seat *seat = &world->seats[process];
    struct mu_view_event event = {.type = MU_VIEW_LEAVE};
    if (seat->lapsed || view_world_node(world, process)->status != MU_VIEW_MEMBER ||
        is_last(world, process))
        return;
    view_world_trace(world, process, "leaves", VIEW_NOBODY);
    mu_view_word(view_world_node(world, process), &seat->word);
    seat->proven = true;
    view_world_law_on_crash(world, process);
    view_world_act(world, process, &event);
    view_world_spread(world, process, process);
}

static void strike_one(struct view_world *world, const struct view_fault *fault, uint32_t process)
{
    struct view_seat *seat = &world->seats[process];
    uint32_t peer = process_of_id(world, fault->peer);
    if (fault->type == VIEW_FAULT_STALL) {
        stall(world, process, fault->for_ns);
    } else if (fault->type == VIEW_FAULT_RESET && peer != VIEW_NOBODY) {
        view_world_reset(world, process, peer, fault->for_ns);
    } else if (fault->type == VIEW_FAULT_LEAVE) {
        leave(world, process);
    } else if (fault->type == VIEW_FAULT_CRASH && fault->after_effects != VIEW_NOT_IN_UPDATE) {
        seat->cut = true;
        seat->cut_after = fault->after_effects;
        seat->cut_proven = fault->proven;
    } else if (fault->type == VIEW_FAULT_CRASH && !is_last(world, process)) {
        view_world_crash(world, process, fault->proven);
    }
}

static void strike(struct view_world *world, const struct view_fault *fault)
{
    uint32_t process = process_of_id(world, fault->id);
    switch (fault->type) {
    case VIEW_FAULT_CUT:
        if (world->is_cut)
            return;
        world->is_cut = world->was_cut = true;
        world->sides = fault->sides;
        world->cut_ns = world->queue.now_ns;
        if (world->plan->trace != NULL)
            fprintf(world->plan->trace, "%9.3f ms  ids %llx are cut off from the others\n",
                    (double)world->queue.now_ns / 1e6, (unsigned long long)fault->sides);
        return;
    case VIEW_FAULT_HEAL:
        if (!world->is_cut)
            return;
        world->is_cut = false;
        view_world_heal(world);
        if (world->plan->trace != NULL)
            fprintf(world->plan->trace, "%9.3f ms  the cut heals\n",
                    (double)world->queue.now_ns / 1e6);
        return;
    case VIEW_FAULT_START:
        start_again(world, fault->id);
        return;
    case VIEW_FAULT_CRASH:
    case VIEW_FAULT_STALL:
    case VIEW_FAULT_RESET:
    case VIEW_FAULT_LEAVE:
        if (process != VIEW_NOBODY && world->seats[process].alive &&
            (fault->type == VIEW_FAULT_STALL || !view_world_stalls(world, process)))
            strike_one(world, fault, process);
        return;
    }
    abort();
}

/* ---- the queue ---- */

static void tick(struct view_world *world, uint32_t process)
{
    uint64_t period_ns = world->plan->timeout_ns / 4;
    view_world_tick(world, process);
    view_world_push(world, VIEW_WHAT_TICK,
                    world->queue.now_ns + period_ns / 2 +
                        sim_random_below(&world->random, period_ns),
                    process, 0, 0);
}

static void happen(struct view_world *world, const struct sim_item *item)
{
    switch ((enum view_what)item->what) {
    case VIEW_WHAT_TICK:
        tick(world, item->node);
        return;
    case VIEW_WHAT_MESSAGE:
        hear(world, item->node, item->peer, item->ref);
        return;
    case VIEW_WHAT_NOTICE:
        hear_notice(world, item->node, item->peer);
        return;
    case VIEW_WHAT_JOINING:
        hear_join(world, item->node, item->peer);
        return;
    case VIEW_WHAT_RESUME:
        resume(world, item->node, item->peer);
        return;
    case VIEW_WHAT_FAULT:
        strike(world, &world->plan->faults[item->ref]);
        return;
    case VIEW_WHAT_START:
        start_again(world, item->ref);
        return;
    }
    abort();
}

/* What happens to one that stands still waits for it; to one that ended, nothing does. */
static void happen_in_time(struct view_world *world, const struct sim_item *item)
{
    bool is_fate = item->what == VIEW_WHAT_FAULT || item->what == VIEW_WHAT_START;
    if (is_fate || (world->seats[item->node].alive && !view_world_stalls(world, item->node)))
        happen(world, item);
    else if (world->seats[item->node].alive)
        view_world_push(world, (enum view_what)item->what, world->seats[item->node].stalled_ns,
                        item->node, item->peer, item->ref);
}

void view_world_run(struct view_world *world)
{
    uint64_t timeout_ns = world->plan->timeout_ns;
    struct sim_item item;
    while (world->broken == NULL && sim_queue_pop(&world->queue, &item)) {
        if (item.at_ns > world->active_ns + QUIET_TIMEOUTS * timeout_ns)
            break;
        world->events++;
        happen_in_time(world, &item);
        if (item.at_ns > END_TIMEOUTS * timeout_ns)
            view_world_fail(world, "stuck", "after %d timeouts there is still no rest",
                            END_TIMEOUTS);
    }
    if (world->broken == NULL)
        view_world_law_on_quiet(world);
}

/* ---- the world ---- */

static void start(struct view_world *world)
{
    const struct view_plan *plan = world->plan;
    for (mu_slot id = 0; id < plan->founders; id++)
        begin(world, id);
    for (uint32_t process = 0; process < plan->founders; process++) {
        struct mu_view_event event = {.type = MU_VIEW_START};
        event.start.count = plan->founders;
        event.start.cluster = 1;
        view_world_act(world, process, &event);
    }
    for (uint32_t i = 0; i < plan->fault_count; i++)
        view_world_push(world, VIEW_WHAT_FAULT, plan->faults[i].at_ns, 0, 0, i);
}

void view_world_init(struct view_world *world, const struct view_plan *plan)
{
    memset(world, 0, sizeof *world);
    world->plan = plan;
    world->starts = plan->starts;
    size_t pairs = (size_t)plan->starts * plan->starts;
    world->node_bytes = mu_view_bytes(&plan->config);
    world->nodes = sim_map(world->starts * world->node_bytes);
    world->seats = sim_calloc(world->starts, sizeof *world->seats);
    world->ways = sim_calloc(pairs, sizeof *world->ways);
    world->knew = sim_calloc(pairs, sizeof *world->knew);
    world->worded = sim_calloc(pairs, sizeof *world->worded);
    world->noticed = sim_calloc(pairs, sizeof *world->noticed);
    world->update.capacity = mu_view_effects_max(&plan->config);
    world->update.effects = sim_calloc(world->update.capacity, sizeof *world->update.effects);
    sim_queue_init(&world->queue);
    sim_random_init(&world->random, plan->seed);
    start(world);
}

void view_world_free(struct view_world *world)
{
    for (uint32_t from = 0; from < world->starts; from++)
        for (uint32_t to = 0; to < world->starts; to++)
            view_world_drop(world, from, to);
    for (uint32_t number = 0; number < VIEW_WORLD_NUMBERS; number++)
        free(world->told[number]);
    sim_queue_free(&world->queue);
    free(world->update.effects);
    free(world->noticed);
    free(world->worded);
    free(world->knew);
    free(world->ways);
    free(world->seats);
    sim_unmap(world->nodes, world->starts * world->node_bytes);
}
