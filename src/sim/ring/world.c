#include "sim/ring/world.h"

#include "core/ring/inside.h"
#include "sim/base/memory.h"
#include "sim/ring/trace.h"
#include "sim/ring/world_inside.h"
#include "sim/node/world.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROGRESS_EVERY = 1 << 20,
    PREFETCH_AHEAD = 8,
    SMALL_BYTES = 1 << 20, /* less is not worth pages of its own */
    LINE = 64,
    BURST_MORE = 64,
    STATE_BYTES_MAX = 2048, /* of a detector, without what it knows of the dead */
};

/* ---- building ---- */

struct mu_detect *ring_world_detect(const struct ring_world *world, mu_slot slot)
{
    return (struct mu_detect *)(void *)(world->memory + (size_t)slot * world->detect_bytes);
}

uint32_t ring_world_incarnation(const struct ring_world *world, mu_slot slot)
{
    uint32_t of = world->plan->incarnations;
    return of <= 1 ? 1 : 1 + (uint32_t)(sim_random_hash(world->plan->seed ^ slot) % of);
}

uint64_t ring_world_clock_ns(const struct ring_world *world, mu_slot slot)
{
    uint64_t of_ns = world->plan->clock_ns_max;
    return of_ns == 0 ? 0 : sim_random_hash(world->plan->seed + 7 * (slot + 1)) % of_ns;
}

static void *zeroed(size_t bytes)
{
    if (bytes >= SMALL_BYTES)
        return sim_map(bytes);
    void *memory = NULL;
    if (posix_memalign(&memory, LINE, bytes) != 0)
        memory = sim_realloc(NULL, SIZE_MAX); /* says that there is none, and ends */
    return memset(memory, 0, bytes);
}

static void give_back(void *memory, size_t bytes)
{
    if (bytes >= SMALL_BYTES)
        sim_unmap(memory, bytes);
    else
        free(memory);
}

static void init_detectors(struct ring_world *world)
{
    const struct ring_plan *plan = world->plan;
    world->detect_bytes = (mu_detect_bytes(&plan->config) + LINE - 1) / LINE * LINE;
    world->memory = zeroed(world->size * world->detect_bytes);
    for (mu_slot slot = 0; slot < world->size; slot++) {
        struct mu_detect_config config = plan->config;
        config.self = slot;
        config.incarnation = ring_world_incarnation(world, slot);
        config.nonce = sim_random_hash(plan->seed ^ (uint64_t)slot << 20) >> 2;
        mu_detect_init(ring_world_detect(world, slot), world->detect_bytes, &config);
    }
    world->update.capacity = MU_DETECT_EFFECTS_MAX;
    world->update.effects = sim_calloc(MU_DETECT_EFFECTS_MAX, sizeof *world->update.effects);
}

void ring_world_init(struct ring_world *world, const struct ring_plan *plan)
{
    memset(world, 0, sizeof *world);
    world->plan = plan;
    world->size = plan->config.size;
    world->living = world->size;
    sim_random_init(&world->random, plan->seed);
    sim_queue_init(&world->own_queue);
    world->queue = plan->nodes != NULL ? &plan->nodes->queue : &world->own_queue;
    mu_fingerprint_init(&world->digest);
    ring_net_init(&world->net, &plan->net, world->size);
    init_detectors(world);
    world->seats = zeroed(world->size * sizeof *world->seats);
    for (mu_slot slot = 0; slot < world->size; slot++)
        world->seats[slot] = (struct ring_seat){.deadline_ns = MU_NEVER,
                                                .timer_at_ns = MU_NEVER,
                                                .failed_ns = MU_NEVER,
                                                .declared_ns = MU_NEVER,
                                                .inbox_first = RING_NO_DATAGRAM,
                                                .inbox_last = RING_NO_DATAGRAM};
    ring_law_init(&world->law, world);
    size_t bytes_max = STATE_BYTES_MAX + 2 * plan->config.dead * sizeof(struct mu_roster_entry);
    if (world->detect_bytes > bytes_max)
        ring_law_fail(world, "bound", "a detector takes %zu bytes, at most %zu are allowed",
                      world->detect_bytes, bytes_max);
}

void ring_world_free(struct ring_world *world)
{
    sim_queue_free(&world->own_queue);
    ring_net_free(&world->net);
    ring_law_free(&world->law);
    give_back(world->memory, world->size * world->detect_bytes);
    give_back(world->seats, world->size * sizeof *world->seats);
    free(world->update.effects);
    memset(world, 0, sizeof *world);
}

/* ---- the queue ---- */

static bool is_news(const struct sim_item *item)
{
    return item->what == RING_VERDICT || item->what == RING_OUT;
}

static void push(struct ring_world *world, const struct sim_item *item)
{
    sim_queue_push(world->queue, item);
    world->news += is_news(item) ? 1 : 0;
    world->faults_left += item->what == RING_FAULT ? 1 : 0;
}

void ring_world_push(struct ring_world *world, uint64_t at_ns, enum ring_what what, mu_slot node,
                     mu_slot peer, uint32_t ref)
{
    struct sim_item item = {
        .at_ns = at_ns, .node = node, .peer = peer, .ref = ref, .what = (uint8_t)what};
    push(world, &item);
}

uint64_t ring_world_draw_ns(struct ring_world *world, uint64_t ns_max)
{
    return ns_max == 0 ? 0 : sim_random_below(&world->random, ns_max);
}

/* A timer fires between two whole microseconds, when arrivals of this instant have been told. */
void ring_world_arm(struct ring_world *world, mu_slot slot)
{
    struct ring_seat *seat = &world->seats[slot];
    if (seat->silent || seat->deadline_ns == MU_NEVER || seat->deadline_ns >= seat->timer_at_ns)
        return;
    uint64_t at_ns = ring_law_max(seat->deadline_ns, world->queue->now_ns);
    at_ns = (at_ns + ring_world_draw_ns(world, world->plan->timer_ns_max)) / 1000 * 1000 + 500;
    if (at_ns < world->queue->now_ns || at_ns < seat->deadline_ns)
        at_ns += 1000;
    if (at_ns >= seat->timer_at_ns)
        return;
    seat->timer_at_ns = at_ns;
    ring_world_push(world, at_ns, RING_TIMER, slot, 0, 0);
}

/* ---- one step of one detector ---- */

static void on_verdict(struct ring_world *world, mu_slot slot,
                       const struct mu_detect_evidence *evidence)
{
    ring_law_on_verdict(world, slot, evidence);
    ring_world_push(world,
                    world->queue->now_ns + ring_world_draw_ns(world, world->plan->queue_ns_max),
                    RING_VERDICT, slot, evidence->subject, 0);
}

static void on_fenced(struct ring_world *world, mu_slot slot)
{
    ring_law_on_fenced(world, slot);
    if (world->seats[slot].fenced)
        return;
    world->seats[slot].fenced = true;
    world->living--;
}

/* An acknowledgement belongs to the period of its beat: else what is on its way when counting
 * begins and ends would make a difference. */
static void count_sent(struct ring_world *world, const struct mu_beat *beat)
{
    uint64_t at_ns = world->queue->now_ns;
    if (beat->type == MU_BEAT_ACK)
        at_ns = beat->stamp_ns - ring_world_clock_ns(world, beat->to);
    if (at_ns >= world->plan->count_from_ns && at_ns < world->plan->count_until_ns)
        world->sent_counted++;
}

static void carry_out(struct ring_world *world, mu_slot slot, const struct mu_detect_effect *effect)
{
    uint64_t now_ns = world->queue->now_ns;
    if (world->plan->trace != NULL)
        ring_trace_effect(world->plan->trace, now_ns, slot, effect);
    switch (effect->type) {
    case MU_DETECT_SEND:
        count_sent(world, &effect->beat);
        ring_law_on_send(world, slot, &effect->beat);
        ring_net_send(world, &effect->beat);
        return;
    case MU_DETECT_VERDICT:
        on_verdict(world, slot, &effect->evidence);
        return;
    case MU_DETECT_REPORT:
        ring_law_on_report(world, slot, &effect->evidence);
        return;
    case MU_DETECT_FENCED:
        on_fenced(world, slot);
        return;
    case MU_DETECT_LEASE:
        ring_law_on_lease(world, slot, effect->held);
        return;
    case MU_DETECT_ASK_LAUNCHER:
        ring_launcher_on_ask(world, slot, effect);
        return;
    case MU_DETECT_ASK_LOOP:
        ring_world_push(world, now_ns + ring_world_draw_ns(world, world->plan->queue_ns_max),
                        RING_LOOP, slot, 0, 0);
        return;
    case MU_DETECT_STOOD:
        ring_law_on_stood(world, slot, effect->stood.phase);
        return;
    case MU_DETECT_FAULT:
        ring_law_fail(world, "no-fault", "node %u: %s", slot, mu_fault_text(effect->fault));
        return;
    }
    abort();
}

void ring_world_step(struct ring_world *world, mu_slot slot, struct mu_detect_event *event,
                     const struct ring_datagram *datagram)
{
    struct ring_seat *seat = &world->seats[slot];
    uint64_t clock_ns = ring_world_clock_ns(world, slot);
    assert(seat->started && !seat->crashed);
    event->now_ns = world->queue->now_ns + clock_ns;
    if (world->plan->trace != NULL)
        ring_trace_event(world->plan->trace, world->queue->now_ns, slot, event,
                         datagram == NULL || datagram->copy == RING_GENUINE);
    ring_law_before_step(world, slot, event);
    struct mu_detect *detect = ring_world_detect(world, slot);
    mu_detect_step(detect, event, &world->update);
    if (!mu_loop_is_silent(detect) || detect->fenced) /* else the last one is still owed */
        seat->deadline_ns = world->update.deadline_ns == MU_NEVER ? MU_NEVER
                            : world->update.deadline_ns > clock_ns
                                ? world->update.deadline_ns - clock_ns
                                : 0;
    for (uint32_t i = 0; i < world->update.count; i++)
        carry_out(world, slot, &world->update.effects[i]);
    ring_law_after_step(world, slot, event);
    ring_world_arm(world, slot);
}

void ring_world_receive(struct ring_world *world, mu_slot slot, uint32_t ref)
{
    struct ring_datagram datagram = world->net.datagrams[ref];
    ring_net_release(&world->net, ref);
    struct mu_detect_event event = {.type = MU_DETECT_RECV, .beat = &datagram.beat};
    ring_world_step(world, slot, &event, &datagram);
}

/* ---- running ---- */

static void on_datagram(struct ring_world *world, const struct sim_item *item)
{
    const struct ring_seat *seat = &world->seats[item->node];
    if (!seat->started || seat->crashed)
        ring_net_release(&world->net, item->ref);
    else if (seat->frozen_until_ns > item->at_ns)
        ring_fault_wait_in_socket(world, item->node, item->ref);
    else
        ring_world_receive(world, item->node, item->ref);
}

/* Bound: probes to all nodes go out in one instant, over several steps; more than that never ends.
 */
static void check_burst(struct ring_world *world, const struct sim_item *item)
{
    bool goes_on = world->burst_slot == item->node && world->burst_ns == item->at_ns;
    world->burst = goes_on ? world->burst + 1 : 1;
    world->burst_slot = item->node;
    world->burst_ns = item->at_ns;
    if (world->burst > world->size + BURST_MORE)
        ring_law_fail(world, "bound", "node %u asks for a deadline that is due at once, for ever",
                      item->node);
}

static void on_timer(struct ring_world *world, const struct sim_item *item)
{
    struct ring_seat *seat = &world->seats[item->node];
    if (seat->timer_at_ns != item->at_ns)
        return; /* an earlier one took its place */
    seat->timer_at_ns = MU_NEVER;
    if (seat->crashed || seat->frozen_until_ns > item->at_ns)
        return; /* it looks when it wakes */
    if (seat->deadline_ns > item->at_ns) {
        ring_world_arm(world, item->node);
        return;
    }
    check_burst(world, item);
    struct mu_detect_event event = {.type = MU_DETECT_TIMEOUT};
    ring_world_step(world, item->node, &event, NULL);
}

static void on_start(struct ring_world *world, mu_slot slot)
{
    struct ring_seat *seat = &world->seats[slot];
    if (seat->crashed)
        return;
    seat->started = true;
    struct mu_detect_event event = {.type = MU_DETECT_START};
    ring_world_step(world, slot, &event, NULL);
}

/* What the node and its detector say to each other waits while they stand still, or only the node's
 * main loop. */
static bool waits_for_frozen(struct ring_world *world, const struct sim_item *item)
{
    const struct ring_seat *seat = &world->seats[item->node];
    bool of_node = is_news(item) || item->what == RING_SET || item->what == RING_LOOP ||
                   item->what == RING_LAUNCHER;
    uint64_t until_ns = ring_law_max(seat->frozen_until_ns, seat->loop_until_ns);
    if (!of_node || (until_ns <= item->at_ns && seat->started))
        return false;
    struct sim_item later = *item;
    later.at_ns = seat->started ? until_ns : item->at_ns + 1000 * 1000;
    if (later.at_ns != MU_NEVER && !seat->crashed)
        push(world, &later);
    return true;
}

static void on_item(struct ring_world *world, const struct sim_item *item)
{
    bool there = !world->seats[item->node].crashed;
    switch ((enum ring_what)item->what) {
    case RING_DATAGRAM:
        on_datagram(world, item);
        return;
    case RING_START:
        on_start(world, item->node);
        return;
    case RING_TIMER:
        on_timer(world, item);
        return;
    case RING_WAKE:
        ring_fault_on_wake(world, item->node);
        return;
    case RING_VERDICT:
        ring_tell_on_verdict(world, item);
        return;
    case RING_OUT:
        if (there)
            ring_tell_on_out(world, item);
        return;
    case RING_SET:
        if (there)
            ring_fault_on_set(world, item->node, &world->plan->faults[item->ref]);
        return;
    case RING_FAULT:
        ring_fault_on_fault(world, item->ref);
        return;
    case RING_MENDED:
        ring_fault_on_mended(world, item->node);
        return;
    case RING_DUE:
        ring_law_on_due(world, item->ref);
        return;
    case RING_LOOP:
        if (there)
            ring_tell_on_loop(world, item->node);
        return;
    case RING_LOOP_DUE:
        ring_law_on_loop_due(world, item->node, item->ref == 1);
        return;
    case RING_PROVEN:
        ring_fault_on_proven(world, item->node);
        return;
    case RING_LAUNCHER:
        ring_launcher_on_answer(world, item);
        return;
    }
    abort();
}

static void digest_item(struct ring_world *world, const struct sim_item *item)
{
    uint64_t what = (uint64_t)item->what << 56 | (uint64_t)item->node << 24 | item->peer;
    mu_fingerprint_add(&world->digest, item->at_ns);
    mu_fingerprint_add(&world->digest, what);
    if (item->what == RING_DATAGRAM) {
        const struct mu_beat *beat = &world->net.datagrams[item->ref].beat;
        mu_fingerprint_add(&world->digest, beat->nonce ^ beat->stamp_ns << 8 ^ beat->type);
    }
}

static void prefetch(const struct ring_world *world)
{
    const struct sim_item *item = sim_queue_peek(world->queue, PREFETCH_AHEAD);
    if (item == NULL || world->plan->small)
        return;
    const uint8_t *detect = world->memory + (size_t)item->node * world->detect_bytes;
    for (size_t line = 0; line < 6 * LINE; line += LINE)
        __builtin_prefetch(detect + line);
    __builtin_prefetch(&world->seats[item->node]);
}

static void start_all(struct ring_world *world)
{
    if (world->plan->nodes != NULL)
        sim_world_start(world->plan->nodes);
    for (mu_slot slot = 0; slot < world->size; slot++)
        ring_world_push(world,
                        ring_world_draw_ns(world, world->plan->start_ns_max) / 1000 * 1000 + 500,
                        RING_START, slot, 0, 0);
    for (uint32_t i = 0; i < world->plan->fault_count; i++)
        ring_world_push(world, world->plan->faults[i].at_ns, RING_FAULT, 0, 0, i);
}

/* Without an end that was planned: every failure is declared, and everybody was told. */
static bool is_over(const struct ring_world *world)
{
    return world->plan->end_ns == MU_NEVER && world->faults_left == 0 && world->news == 0 &&
           world->law.undeclared == 0 &&
           (world->plan->nodes == NULL || sim_world_is_calm(world->plan->nodes));
}

static void take_item_of_nodes(struct ring_world *world, const struct sim_item *item)
{
    struct sim_world *nodes = world->plan->nodes;
    sim_world_take(nodes, item);
    if (nodes->law.broken != NULL)
        ring_law_fail(world, nodes->law.broken, "%s", nodes->law.message);
}

void ring_world_run(struct ring_world *world, void (*progress)(const struct ring_world *))
{
    struct sim_item item;
    start_all(world);
    while (world->law.broken == NULL && !is_over(world)) {
        if (!sim_queue_pop(world->queue, &item) || item.at_ns > world->plan->end_ns)
            break;
        world->events++;
        if (progress != NULL && world->events % PROGRESS_EVERY == 0)
            progress(world);
        if (item.what < RING_DATAGRAM) {
            take_item_of_nodes(world, &item);
            continue;
        }
        world->news -= is_news(&item) ? 1 : 0;
        world->faults_left -= item.what == RING_FAULT ? 1 : 0;
        prefetch(world);
        digest_item(world, &item);
        if (!waits_for_frozen(world, &item))
            on_item(world, &item);
    }
    if (world->law.broken == NULL)
        ring_law_on_end(world);
}
