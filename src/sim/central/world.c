#include "sim/central/world.h"

#include "core/central/inside.h"
#include "sim/base/memory.h"
#include "sim/central/law.h"
#include "sim/central/trace.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MILLION = 1000 * 1000, RECORD = 512, NO_DATAGRAM = -1, LINE = 64 };

static uint64_t now(const struct central_world *world)
{
    return world->queue.now_ns;
}

static uint64_t draw_ns(struct central_world *world, uint64_t max_ns)
{
    return max_ns == 0 ? 0 : sim_random_below(&world->random, max_ns);
}

void central_push(struct central_world *world, uint64_t at_ns, enum central_what what, mu_slot node,
                  mu_slot peer, uint32_t ref)
{
    struct sim_item item = {
        .at_ns = at_ns, .node = node, .peer = peer, .ref = ref, .what = (uint8_t)what};
    sim_queue_push(&world->queue, &item);
}

/* ---- building ---- */

static void init_seat(struct central_world *world, mu_slot slot)
{
    struct central_seat *seat = &world->seats[slot];
    struct mu_central_config config = world->plan->config;
    uint32_t incarnation = seat->incarnation + 1;
    bool excused = seat->excused, cut_off = seat->cut_off; /* that may not be over */
    *seat = (struct central_seat){
        .incarnation = incarnation,
        .timer_ns = MU_NEVER,
        .deadline_ns = MU_NEVER,
        .clock_ns = sim_random_hash(world->plan->seed + 77 * slot + incarnation) % 1000000000,
        .inbox_first = (uint32_t)NO_DATAGRAM,
        .view = UINT32_MAX,
        .excused = excused,
        .cut_off = cut_off,
        .up = true,
    };
    config.self = slot;
    config.incarnation = incarnation;
    config.nonce = sim_random_hash(world->plan->seed ^ (uint64_t)slot << 20 ^ incarnation) >> 2;
    seat->central = mu_central_init(world->memory + slot * world->bytes, world->bytes, &config);
}

static void *lines(size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, LINE, bytes) != 0)
        memory = sim_realloc(NULL, SIZE_MAX);
    return memset(memory, 0, bytes);
}

static struct central_view *add_view(struct central_world *world)
{
    world->views = sim_realloc(world->views, (world->view_count + 1) * sizeof *world->views);
    struct central_view *view = &world->views[world->view_count++];
    memset(view, 0, sizeof *view);
    return view;
}

void central_world_init(struct central_world *world, const struct central_plan *plan)
{
    memset(world, 0, sizeof *world);
    world->plan = plan;
    world->size = plan->config.size;
    sim_random_init(&world->random, plan->seed);
    sim_queue_init(&world->queue);
    world->bytes = (mu_central_bytes(&plan->config) + LINE - 1) / LINE * LINE;
    world->memory = lines(world->size * world->bytes);
    world->seats = sim_calloc(world->size, sizeof *world->seats);
    world->update.capacity = mu_central_effects_max(&plan->config);
    world->update.effects = sim_calloc(world->update.capacity, sizeof *world->update.effects);
    struct central_view *first = add_view(world);
    for (mu_slot slot = 0; slot < world->size; slot++) {
        first->incarnation[slot] = 1;
        central_push(world, draw_ns(world, plan->start_ns_max), CENTRAL_START_UP, slot, 0, 0);
    }
    for (uint32_t i = 0; i < plan->fault_count; i++)
        central_push(world, plan->faults[i].at_ns, CENTRAL_FAULT_BEGINS, 0, 0, i);
    central_push(world, plan->end_ns, CENTRAL_END, 0, 0, 0);
}

void central_world_free(struct central_world *world)
{
    sim_queue_free(&world->queue);
    free(world->memory);
    free(world->seats);
    free(world->views);
    free(world->datagrams);
    free(world->unused);
    free(world->update.effects);
}

/* ---- datagrams ---- */

static uint32_t keep(struct central_world *world, const struct mu_poll *poll)
{
    if (world->unused_count == 0 && world->datagram_count == world->datagram_room) {
        world->datagram_room = world->datagram_room == 0 ? 64 : 2 * world->datagram_room;
        world->datagrams =
            sim_realloc(world->datagrams, world->datagram_room * sizeof *world->datagrams);
        world->unused = sim_realloc(world->unused, world->datagram_room * sizeof *world->unused);
    }
    uint32_t ref =
        world->unused_count > 0 ? world->unused[--world->unused_count] : world->datagram_count++;
    world->datagrams[ref] = (struct central_datagram){*poll, (uint32_t)NO_DATAGRAM};
    return ref;
}

static void arrive(struct central_world *world, const struct mu_poll *poll, uint64_t after_ns)
{
    uint64_t at_ns = (now(world) + after_ns + 999) / 1000 * 1000;
    central_push(world, at_ns, CENTRAL_DATAGRAM, poll->to, poll->from, keep(world, poll));
}

static bool cuts(const struct central_cut *cut, mu_slot from, mu_slot to)
{
    bool outward = (cut->ways & CENTRAL_OUTWARD) != 0 && cut->node == from &&
                   (cut->peer == MU_SLOT_NONE || cut->peer == to);
    bool inward = (cut->ways & CENTRAL_INWARD) != 0 && cut->node == to &&
                  (cut->peer == MU_SLOT_NONE || cut->peer == from);
    return outward || inward;
}

bool central_is_cut(const struct central_world *world, mu_slot from, mu_slot to)
{
    for (uint32_t i = 0; i < world->cut_count; i++)
        if (world->cuts[i].until_ns > now(world) && cuts(&world->cuts[i], from, to))
            return true;
    return false;
}

static bool draw(struct central_world *world, uint32_t ppm)
{
    return ppm > 0 && now(world) < world->plan->trouble_until_ns &&
           sim_random_below(&world->random, MILLION) < ppm;
}

static bool is_lost(struct central_world *world, const struct mu_poll *poll)
{
    uint64_t apart_ns = world->plan->loss_apart_ns, at_ns = now(world);
    struct central_seat *from = &world->seats[poll->from], *to = &world->seats[poll->to];
    if (!draw(world, world->plan->loss_ppm))
        return false;
    if (apart_ns > 0 && ((from->lost_ns != 0 && at_ns < from->lost_ns + apart_ns) ||
                         (to->lost_ns != 0 && at_ns < to->lost_ns + apart_ns)))
        return false;
    from->lost_ns = to->lost_ns = at_ns;
    return true;
}

/* A link gets slower in steps, up to what the plan says. */
enum { STEP_CYCLES = 12 };

static uint64_t slow_ns(const struct central_world *world, mu_slot from)
{
    const struct central_plan *plan = world->plan;
    if (plan->slow_ns_max == 0 || now(world) < plan->slow_from_ns ||
        sim_random_hash(plan->seed ^ from) % 3 == 0)
        return 0;
    uint64_t steps = (now(world) - plan->slow_from_ns) / (STEP_CYCLES * plan->config.cycle_ns);
    uint64_t by_ns = plan->config.floor_ns / 4;
    for (uint64_t i = 0; i < steps && by_ns < plan->slow_ns_max; i++)
        by_ns += by_ns * 7 / 10;
    return by_ns < plan->slow_ns_max ? by_ns : plan->slow_ns_max;
}

static void replay(struct central_world *world, const struct mu_poll *poll)
{
    if (world->plan->replay_ppm == 0)
        return;
    world->record[world->recorded++ % RECORD] = *poll;
    uint64_t known = world->recorded < RECORD ? world->recorded : RECORD;
    if (draw(world, world->plan->replay_ppm))
        arrive(world, &world->record[sim_random_below(&world->random, known)],
               draw_ns(world, 8 * world->plan->config.cycle_ns));
}

static void transmit(struct central_world *world, const struct mu_poll *poll)
{
    const struct central_plan *plan = world->plan;
    replay(world, poll);
    if (central_is_cut(world, poll->from, poll->to) || is_lost(world, poll)) {
        central_trace_lost(world, poll);
        return;
    }
    uint64_t after_ns = sim_random_between(&world->random, plan->delay_ns_min, plan->delay_ns_max) +
                        slow_ns(world, poll->from);
    if (draw(world, plan->late_ppm))
        after_ns += draw_ns(world, plan->late_ns_max);
    arrive(world, poll, after_ns);
    if (draw(world, plan->repeat_ppm))
        arrive(world, poll, after_ns + draw_ns(world, plan->delay_ns_max));
}

/* ---- the oracle of views ---- */

static void decide_soon(struct central_world *world)
{
    if (world->deciding)
        return;
    world->deciding = true;
    central_push(world, now(world) + 1000 + draw_ns(world, world->plan->view_ns_max),
                 CENTRAL_DECIDE, 0, 0, 0);
}

static void tell(struct central_world *world, mu_slot node, mu_slot out, uint32_t incarnation,
                 bool proven)
{
    struct sim_item item = {.at_ns = now(world) + 1000 + draw_ns(world, world->plan->tell_ns_max),
                            .node = node,
                            .peer = out,
                            .ref = incarnation,
                            .what = CENTRAL_TOLD,
                            .detail = proven};
    sim_queue_push(&world->queue, &item);
}

static void note_out(struct central_world *world, mu_slot out, uint32_t incarnation, bool proven,
                     mu_slot by)
{
    if (incarnation < world->out[out] || (incarnation == world->out[out] && !proven))
        return;
    world->out[out] = incarnation;
    world->proven[out] = proven;
    for (mu_slot node = 0; node < world->size; node++)
        if (node != by && node != out && world->seats[node].up)
            tell(world, node, out, incarnation, proven);
    decide_soon(world);
}

static void install_soon(struct central_world *world)
{
    const struct central_view *view = &world->views[world->view_count - 1];
    for (mu_slot node = 0; node < world->size; node++)
        if (view->incarnation[node] != 0)
            central_push(world, now(world) + 1000 + draw_ns(world, world->plan->view_ns_max),
                         CENTRAL_INSTALL, node, 0, world->view_count - 1);
}

static void on_decide(struct central_world *world)
{
    world->deciding = false;
    struct central_view *next = add_view(world), *last = next - 1;
    bool changed = false;
    for (mu_slot slot = 0; slot < world->size; slot++) {
        const struct central_seat *seat = &world->seats[slot];
        uint32_t incarnation = last->incarnation[slot];
        if (incarnation <= world->out[slot])
            incarnation = 0;
        if (seat->up && !seat->fenced && seat->incarnation > world->out[slot] &&
            seat->incarnation > last->incarnation[slot])
            incarnation = seat->incarnation; /* it has asked to join: the one before is dead */
        changed |= incarnation != last->incarnation[slot];
        next->incarnation[slot] = incarnation;
    }
    if (changed)
        install_soon(world);
    else
        world->view_count--;
}

/* ---- steps ---- */

static void arm(struct central_world *world, mu_slot slot)
{
    struct central_seat *seat = &world->seats[slot];
    if (seat->deadline_ns == MU_NEVER || seat->deadline_ns >= seat->timer_ns)
        return;
    uint64_t at_ns = seat->deadline_ns > now(world) ? seat->deadline_ns : now(world);
    at_ns = (at_ns + draw_ns(world, world->plan->timer_ns_max)) / 1000 * 1000 + 1500;
    seat->timer_ns = at_ns;
    central_push(world, at_ns, CENTRAL_TIMER, slot, 0, seat->incarnation);
}

static void fence(struct central_world *world, mu_slot slot)
{
    world->seats[slot].fenced = true;
    central_push(world, now(world) + 1000 + draw_ns(world, world->plan->back_ns_max),
                 CENTRAL_START_UP, slot, 0, world->seats[slot].incarnation);
}

static void on_verdict(struct central_world *world, mu_slot slot,
                       const struct mu_detect_evidence *evidence)
{
    world->verdicts++;
    if (central_lives(world, evidence->subject) &&
        world->seats[evidence->subject].incarnation == evidence->incarnation)
        world->wrong++;
    central_law_on_verdict(world, slot, evidence);
    world->seats[slot].told[evidence->subject] = evidence->incarnation;
    note_out(world, evidence->subject, evidence->incarnation, false, slot);
}

static void carry_out(struct central_world *world, mu_slot slot,
                      const struct mu_central_effect *effect)
{
    central_trace_effect(world, slot, effect);
    switch (effect->type) {
    case MU_CENTRAL_SEND:
        world->sent++;
        central_law_on_send(world, slot, &effect->poll);
        transmit(world, &effect->poll);
        return;
    case MU_CENTRAL_VERDICT:
        on_verdict(world, slot, &effect->evidence);
        return;
    case MU_CENTRAL_REPORT:
    case MU_CENTRAL_LEASE:
        return;
    case MU_CENTRAL_FENCED:
        fence(world, slot);
        return;
    case MU_CENTRAL_FAULT:
        central_law_fail(world, "no-fault", "node %u: %s", slot, mu_fault_text(effect->fault));
        return;
    case MU_CENTRAL_ASK_LOOP:
        central_push(world, now(world) + 1000 + draw_ns(world, world->plan->turn_ns_max),
                     CENTRAL_TURN, slot, 0, world->seats[slot].incarnation);
        return;
    }
    abort();
}

static void step(struct central_world *world, mu_slot slot, struct mu_central_event *event)
{
    struct central_seat *seat = &world->seats[slot];
    mu_slot before = mu_central_master(seat->central);
    event->now_ns = now(world) + seat->clock_ns;
    mu_central_step(seat->central, event, &world->update);
    uint64_t deadline_ns = world->update.deadline_ns;
    seat->deadline_ns = deadline_ns == MU_NEVER ? MU_NEVER : deadline_ns - seat->clock_ns;
    for (uint32_t i = 0; i < world->update.count; i++)
        carry_out(world, slot, &world->update.effects[i]);
    if (mu_central_master(seat->central) != before)
        world->master_since_ns = now(world);
    arm(world, slot);
}

static void receive(struct central_world *world, mu_slot slot, uint32_t ref)
{
    struct mu_poll poll = world->datagrams[ref].poll;
    struct mu_central_event event = {.type = MU_CENTRAL_RECV, .poll = &poll};
    world->unused[world->unused_count++] = ref;
    if (!central_lives(world, slot))
        return;
    if (poll.type == MU_POLL_TRIED)
        world->seats[slot].tried_ns[poll.from] = now(world);
    central_trace_receive(world, slot, &poll);
    step(world, slot, &event);
}

/* ---- items ---- */

static void on_datagram(struct central_world *world, const struct sim_item *item)
{
    struct central_seat *seat = &world->seats[item->node];
    if (seat->frozen_until_ns <= now(world)) {
        receive(world, item->node, item->ref);
    } else if (seat->inbox_count >= world->plan->inbox_max) {
        world->unused[world->unused_count++] = item->ref;
    } else {
        if (seat->inbox_count++ == 0)
            seat->inbox_first = item->ref;
        else
            world->datagrams[seat->inbox_last].next = item->ref;
        seat->inbox_last = item->ref;
    }
}

/* What has come is handed over before the deadline that has passed. */
static void on_wake(struct central_world *world, mu_slot slot)
{
    struct central_seat *seat = &world->seats[slot];
    if (seat->frozen_until_ns > now(world))
        return;
    while (seat->inbox_count > 0) {
        uint32_t ref = seat->inbox_first;
        seat->inbox_first = world->datagrams[ref].next;
        seat->inbox_count--;
        receive(world, slot, ref);
    }
    seat->timer_ns = MU_NEVER;
    if (central_lives(world, slot))
        arm(world, slot);
}

static void on_timer(struct central_world *world, const struct sim_item *item)
{
    struct central_seat *seat = &world->seats[item->node];
    if (item->at_ns != seat->timer_ns || item->ref != seat->incarnation)
        return;
    seat->timer_ns = MU_NEVER;
    if (!central_lives(world, item->node) || seat->frozen_until_ns > now(world))
        return;
    struct mu_central_event event = {.type = MU_CENTRAL_TIMEOUT};
    if (seat->deadline_ns <= now(world))
        step(world, item->node, &event);
    else
        arm(world, item->node);
}

static void on_start(struct central_world *world, const struct sim_item *item)
{
    struct central_seat *seat = &world->seats[item->node];
    if (item->ref != seat->incarnation || seat->cut_off)
        return; /* it has started again since, or could reach nobody who lets it join */
    init_seat(world, item->node);
    central_trace_line(world, item->node, "starts");
    struct mu_central_event event = {.type = MU_CENTRAL_START};
    step(world, item->node, &event);
    if (seat->incarnation == 1)
        central_push(world, now(world) + 1000, CENTRAL_INSTALL, item->node, 0, 0);
    else
        decide_soon(world);
}

static void on_told(struct central_world *world, const struct sim_item *item)
{
    struct central_seat *seat = &world->seats[item->node];
    struct mu_central_event event = {.type = MU_CENTRAL_OUT,
                                     .out = {item->peer, item->ref, item->detail != 0}};
    if (seat->told[item->peer] < item->ref)
        seat->told[item->peer] = item->ref;
    step(world, item->node, &event);
}

/* Who is new is told who is out. */
static void welcome(struct central_world *world, mu_slot slot)
{
    for (mu_slot out = 0; out < world->size; out++)
        if (world->out[out] > 0 && out != slot)
            tell(world, slot, out, world->out[out], world->proven[out]);
}

static void on_install(struct central_world *world, const struct sim_item *item)
{
    struct central_seat *seat = &world->seats[item->node];
    const struct central_view *view = &world->views[item->ref];
    struct mu_span spans[CENTRAL_NODES_MAX];
    uint32_t incarnations[CENTRAL_NODES_MAX], span_count = 0, count = 0;
    if (view->incarnation[item->node] != seat->incarnation ||
        (seat->view != UINT32_MAX && seat->view >= item->ref))
        return;
    for (mu_slot slot = 0; slot < world->size; slot++) {
        if (view->incarnation[slot] == 0)
            continue;
        bool goes_on = slot > 0 && view->incarnation[slot - 1] != 0;
        if (!goes_on)
            spans[span_count++] = (struct mu_span){slot, 0};
        spans[span_count - 1].count++;
        incarnations[count++] = view->incarnation[slot];
    }
    struct mu_central_event event = {
        .type = MU_CENTRAL_VIEW,
        .view = {item->ref + 1, sim_random_hash(item->ref + 1), spans, span_count, incarnations}};
    if (seat->view == UINT32_MAX && item->ref > 0)
        welcome(world, item->node);
    seat->view = item->ref;
    central_trace_line(world, item->node, "installs a view");
    step(world, item->node, &event);
}

static void on_turn(struct central_world *world, const struct sim_item *item)
{
    struct central_seat *seat = &world->seats[item->node];
    if (seat->loop_until_ns > now(world)) {
        if (seat->loop_until_ns != MU_NEVER)
            central_push(world, seat->loop_until_ns, CENTRAL_TURN, item->node, 0, item->ref);
        return;
    }
    struct mu_central_event event = {.type = MU_CENTRAL_LOOP};
    step(world, item->node, &event);
}

/* ---- faults ---- */

static void crash(struct central_world *world, mu_slot slot, const struct central_fault *fault)
{
    struct central_seat *seat = &world->seats[slot];
    if (!seat->up)
        return;
    world->crashes++;
    world->crash_ns = now(world);
    central_trace_line(world, slot, "crashes");
    seat->crashed_ns = now(world);
    if (!seat->fenced && !fault->known)
        central_law_on_crash(world, slot);
    seat->up = false;
    if (fault->known)
        central_push(world, now(world) + 1000 + draw_ns(world, world->plan->tell_ns_max),
                     CENTRAL_PROVEN, slot, 0, seat->incarnation);
    if (fault->for_ns != MU_NEVER && !seat->fenced)
        central_push(world, now(world) + fault->for_ns, CENTRAL_START_UP, slot, 0,
                     seat->incarnation);
}

static mu_slot whom(const struct central_world *world, mu_slot node)
{
    const struct central_view *view = &world->views[world->view_count - 1];
    if (node != CENTRAL_MASTER)
        return node;
    for (mu_slot slot = 0; slot < world->size; slot++)
        if (view->incarnation[slot] != 0 && central_lives(world, slot))
            return slot;
    return 0;
}

/* Stalls that excuse nothing come one by one. */
static bool comes_too_soon(const struct central_world *world, const struct central_fault *fault,
                           const struct central_seat *seat)
{
    const struct mu_central_config *config = &world->plan->config;
    return world->plan->strict && !fault->excuses && seat->stalled_ns != 0 &&
           now(world) < seat->stalled_ns + config->cycle_ns + 2 * config->ceiling_ns;
}

/* It waits until the master has polled, and then for a part of the way of the answers. */
static bool waits_for_round(struct central_world *world, const struct central_fault *fault,
                            uint32_t ref)
{
    const struct central_seat *seat = &world->seats[whom(world, fault->node)];
    if (!fault->aimed || !seat->up || !mu_central_is_master(seat->central))
        return false;
    uint64_t polled_ns = seat->central->round_ns - seat->central->config.cycle_ns - seat->clock_ns;
    uint64_t trip_ns = now(world) - polled_ns, delay_ns = world->plan->delay_ns_max;
    if (polled_ns < now(world) && trip_ns >= delay_ns * 2 / 3 && trip_ns < delay_ns * 4 / 3)
        return false;
    central_push(world, now(world) + delay_ns / 3, CENTRAL_FAULT_BEGINS, 0, 0, ref);
    return true;
}

static void on_fault(struct central_world *world, uint32_t ref)
{
    const struct central_fault *fault = &world->plan->faults[ref];
    mu_slot slot = whom(world, fault->node);
    if (waits_for_round(world, fault, ref))
        return;
    struct central_seat *seat = &world->seats[slot];
    uint64_t until_ns = fault->for_ns == MU_NEVER ? MU_NEVER : now(world) + fault->for_ns;
    seat->excused |= fault->excuses;
    switch (fault->type) {
    case CENTRAL_CRASH:
        crash(world, slot, fault);
        return;
    case CENTRAL_STALL:
        if (comes_too_soon(world, fault, seat))
            return;
        seat->stalled_ns = until_ns;
        central_trace_line(world, slot, "stands still");
        if (until_ns > seat->frozen_until_ns)
            seat->frozen_until_ns = until_ns;
        central_push(world, until_ns + 500, CENTRAL_WAKE, slot, 0, seat->incarnation);
        return;
    case CENTRAL_CUT:
        if (fault->peer != MU_SLOT_NONE && fault->excuses)
            world->seats[whom(world, fault->peer)].excused = true;
        assert(world->cut_count < CENTRAL_CUTS_MAX);
        central_trace_line(world, slot, "is cut off");
        seat->cut_off |= until_ns == MU_NEVER;
        world->cuts[world->cut_count++] = (struct central_cut){
            slot, fault->peer == MU_SLOT_NONE ? fault->peer : whom(world, fault->peer), fault->ways,
            until_ns};
        return;
    case CENTRAL_LOOP_STOPS:
        seat->loop_until_ns = until_ns;
        central_trace_line(world, slot, "has a main loop that stands still");
        if (central_lives(world, slot))
            central_law_on_loop(world, slot);
        return;
    }
    abort();
}

/* ---- running ---- */

/* What the node's other parts say waits while it stands still. */
static bool waits(struct central_world *world, const struct sim_item *item)
{
    const struct central_seat *seat = &world->seats[item->node];
    bool of_node =
        item->what == CENTRAL_TOLD || item->what == CENTRAL_INSTALL || item->what == CENTRAL_TURN;
    if (!of_node || seat->frozen_until_ns <= now(world))
        return false;
    struct sim_item later = *item;
    later.at_ns = seat->frozen_until_ns + 600; /* after the datagrams */
    sim_queue_push(&world->queue, &later);
    return true;
}

static bool is_gone(const struct central_world *world, const struct sim_item *item)
{
    if (item->what == CENTRAL_TOLD || item->what == CENTRAL_INSTALL)
        return !central_lives(world, item->node) || world->seats[item->node].central == NULL;
    if (item->what == CENTRAL_TURN || item->what == CENTRAL_WAKE)
        return !central_lives(world, item->node) ||
               item->ref != world->seats[item->node].incarnation;
    return false;
}

static void on_item(struct central_world *world, const struct sim_item *item)
{
    if (is_gone(world, item) || waits(world, item))
        return;
    switch ((enum central_what)item->what) {
    case CENTRAL_DATAGRAM:
        on_datagram(world, item);
        return;
    case CENTRAL_START_UP:
        on_start(world, item);
        return;
    case CENTRAL_TIMER:
        on_timer(world, item);
        return;
    case CENTRAL_WAKE:
        on_wake(world, item->node);
        return;
    case CENTRAL_TOLD:
        on_told(world, item);
        return;
    case CENTRAL_DECIDE:
        on_decide(world);
        return;
    case CENTRAL_INSTALL:
        on_install(world, item);
        return;
    case CENTRAL_FAULT_BEGINS:
        on_fault(world, item->ref);
        return;
    case CENTRAL_PROVEN:
        note_out(world, item->node, item->ref, true, item->node);
        return;
    case CENTRAL_DUE:
        central_law_on_due(world, item->node, item->ref);
        return;
    case CENTRAL_TURN:
        on_turn(world, item);
        return;
    case CENTRAL_END:
        central_law_on_end(world);
        return;
    }
    abort();
}

void central_world_run(struct central_world *world)
{
    struct sim_item item;
    while (world->broken == NULL && sim_queue_pop(&world->queue, &item)) {
        world->events++;
        on_item(world, &item);
        if (item.what == CENTRAL_END)
            return;
    }
}
