#include "sim/agree/world.h"

#include "sim/base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRESS_EVERY = 1 << 18 };

void agree_world_push(struct agree_world *world, enum agree_what what, uint64_t at_ns, mu_slot node,
                      mu_slot peer, uint32_t ref)
{
    struct sim_item item = {
        .at_ns = at_ns, .node = node, .peer = peer, .ref = ref, .what = (uint8_t)what};
    sim_queue_push(&world->queue, &item);
}

static uint64_t soon(struct agree_world *world, uint64_t most_ns)
{
    return world->queue.now_ns + sim_random_below(&world->random, most_ns + 1);
}

/* ---- trace ---- */

static void trace(const struct agree_world *world, mu_slot slot, const char *what, mu_slot peer,
                  const struct mu_agree_message *message)
{
    static const char *const names[] = {"", "UP", "DOWN", "ASK"};
    FILE *to = world->plan->trace;
    if (to == NULL)
        return;
    fprintf(to, "%9.3f ms  node %-4u %s", (double)world->queue.now_ns / 1e6, slot, what);
    if (peer != MU_SLOT_NONE)
        fprintf(to, " %u", peer);
    if (message != NULL) {
        fprintf(to, "  %s of %llu.%llu", names[message->type], (unsigned long long)message->group,
                (unsigned long long)message->round);
        if (message->type != MU_AGREE_ASK)
            fprintf(to, ", bits %llx", (unsigned long long)message->value.bits);
        for (uint32_t i = 0; i < message->value.failed_count; i++)
            fprintf(to, "%s%u", i == 0 ? ", failed " : " ", message->value.failed[i].node);
        for (uint32_t i = 0; i < message->dead_count; i++)
            fprintf(to, "%s%u", i == 0 ? ", dead " : " ", message->dead[i].slot);
    }
    fprintf(to, "\n");
}

/* ---- steps ---- */

/* Not drawn from the world's own numbers, and so is when it comes: worlds without proofs stay as
 * they are. */
bool agree_world_has_proof(const struct agree_world *world, mu_slot dead)
{
    return world->plan->proofs && !world->seats[dead].declared && !world->seats[dead].alive &&
           sim_random_hash(world->plan->seed ^ (uint64_t)dead << 32) % 2 == 0;
}

static void show_all(struct agree_world *world, mu_slot dead)
{
    const struct agree_plan *plan = world->plan;
    for (mu_slot slot = 0; slot < world->size; slot++)
        if (slot != dead && world->seats[slot].alive) {
            uint64_t drawn = sim_random_hash(plan->seed ^ (uint64_t)dead << 32 ^ (slot + 1));
            agree_world_push(world, AGREE_WHAT_DEAD,
                             world->queue.now_ns + drawn % (2 * plan->tell_ns_max + 1), slot, dead,
                             1);
        }
}

static void tell_all(struct agree_world *world, mu_slot dead)
{
    const struct agree_plan *plan = world->plan;
    for (mu_slot slot = 0; slot < world->size; slot++)
        if (slot != dead && world->seats[slot].alive) {
            uint64_t after_ns =
                sim_random_between(&world->random, plan->tell_ns_min, plan->tell_ns_max);
            agree_world_push(world, AGREE_WHAT_DEAD, world->queue.now_ns + after_ns, slot, dead, 0);
        }
}

static void crash(struct agree_world *world, mu_slot slot)
{
    struct agree_seat *seat = &world->seats[slot];
    if (!seat->alive || world->living == 1)
        return;
    trace(world, slot, "crashes", MU_SLOT_NONE, NULL);
    seat->alive = false;
    if (seat->declared)
        return;
    world->living--;
    tell_all(world, slot);
    if (agree_world_has_proof(world, slot))
        show_all(world, slot);
}

static void note_effect(struct agree_world *world, mu_slot slot,
                        const struct mu_agree_effect *effect)
{
    mu_fingerprint_add(&world->digest, (uint64_t)slot << 8 | (uint64_t)effect->type);
    mu_fingerprint_add(&world->digest, world->queue.now_ns ^ (uint64_t)effect->peer << 40);
}

static void on_decided(struct agree_world *world, mu_slot slot,
                       const struct mu_agree_effect *effect)
{
    uint32_t g = (uint32_t)effect->decision.group - 1;
    trace(world, slot, effect->decision.error ? "decides, with an error" : "decides", MU_SLOT_NONE,
          NULL);
    agree_world_law_on_deliver(world, slot, effect);
    if (effect->decision.round < world->plan->groups[g].rounds)
        agree_world_push(world, AGREE_WHAT_CALL, soon(world, world->plan->think_ns_max), slot,
                         MU_SLOT_NONE, g);
}

static void carry_out(struct agree_world *world, mu_slot slot, const struct mu_agree_effect *effect)
{
    struct agree_seat *seat = &world->seats[slot];
    note_effect(world, slot, effect);
    switch (effect->type) {
    case MU_AGREE_SEND:
        if (seat->lapsed)
            agree_law_fail(world, "lease", "node %u has no lease and sends", slot);
        trace(world, slot, "  ->", effect->peer, &effect->message);
        seat->sent++;
        world->messages++;
        agree_net_send(world, slot, effect->peer, &effect->message);
        return;
    case MU_AGREE_DELIVER:
        on_decided(world, slot, effect);
        return;
    case MU_AGREE_DEATH:
        if (agree_world_lives(world, effect->death.slot))
            agree_law_fail(world, "no-fault", "node %u hears that node %u is dead, which lives",
                           slot, effect->death.slot);
        return;
    case MU_AGREE_FENCED:
        if (!seat->declared)
            agree_law_fail(world, "no-fault", "node %u was declared dead, and lives", slot);
        return;
    case MU_AGREE_FAULT:
        if (effect->fault != MU_FAULT_AGREE_RUNS || !world->plan->runs_may_fill)
            agree_law_fail(world, "no-fault", "node %u: %s", slot, mu_fault_text(effect->fault));
        return;
    }
    abort();
}

static void step(struct agree_world *world, mu_slot slot, struct mu_agree_event *event)
{
    struct agree_seat *seat = &world->seats[slot];
    event->lease_held = !seat->lapsed;
    agree_world_law_before(world, slot);
    mu_agree_step(agree_world_node(world, slot), event, &world->update);
    uint32_t count = world->update.count;
    bool crashes = seat->cut && count > 0 && world->living > 1;
    if (!crashes && !seat->declared)
        agree_world_law_after(world, slot, event);
    if (crashes && seat->cut_after < count)
        count = seat->cut_after;
    for (uint32_t i = 0; i < count; i++)
        carry_out(world, slot, &world->update.effects[i]);
    if (crashes)
        crash(world, slot);
}

/* ---- what happens ---- */

static void open_group(struct agree_world *world, mu_slot slot, uint32_t g)
{
    const struct agree_group_plan *group = &world->plan->groups[g];
    struct mu_agree_event event = {.type = MU_AGREE_OPEN};
    event.open.group = g + 1;
    event.open.spans = group->spans;
    event.open.count = group->span_count;
    step(world, slot, &event);
    agree_world_push(world, AGREE_WHAT_CALL, soon(world, world->plan->start_ns_max), slot,
                     MU_SLOT_NONE, g);
}

/* What it lists: a process of its own now and then, and those of the deaths it knows that it has
 * acknowledged. */
static uint32_t draw_list(struct agree_world *world, mu_slot slot, uint32_t g,
                          struct mu_failed *failed)
{
    const struct agree_plan *plan = world->plan;
    const struct mu_agree *agree = agree_world_node(world, slot);
    uint32_t count = 0;
    bool own = sim_random_chance(&world->random, plan->process_percent);
    bool own_acked = sim_random_chance(&world->random, 50);
    for (uint32_t i = 0; i <= agree->dead.count; i++) {
        mu_slot dead = i < agree->dead.count ? agree->dead.entries[i].slot : MU_SLOT_NONE;
        if (own && slot < dead) {
            failed[count++] = (struct mu_failed){
                .node = slot & 0x3fffffff, .acked = own_acked, .process = slot + 1};
            own = false;
        }
        if (dead != MU_SLOT_NONE && mu_agree_is_member(agree, g + 1, dead) &&
            sim_random_chance(&world->random, plan->ack_percent))
            failed[count++] = (struct mu_failed){
                .node = dead & 0x3fffffff, .acked = 1, .process = MU_FAILED_NODE};
    }
    return count;
}

static void call(struct agree_world *world, mu_slot slot, uint32_t g)
{
    const struct mu_agree_group *group = mu_agree_find(agree_world_node(world, slot), g + 1);
    struct mu_failed *failed =
        sim_calloc(agree_world_node(world, slot)->dead.count + 1u, sizeof *failed);
    struct mu_agree_event event = {.type = MU_AGREE_CALL};
    event.call.group = g + 1;
    event.call.bits = ~(1ull << slot % 64);
    event.call.failed = failed;
    event.call.failed_count = draw_list(world, slot, g, failed);
    event.call.silent =
        sim_random_hash(world->plan->seed ^ slot) % 100 < world->plan->silent_percent;
    for (uint32_t i = 0; event.call.silent && i < event.call.failed_count; i++)
        failed[i].acked = 1;
    trace(world, slot, "contributes", MU_SLOT_NONE, NULL);
    agree_world_law_on_call(world, slot, &event, group->decided + 1);
    step(world, slot, &event);
    free(failed);
}

static void hear(struct agree_world *world, const struct sim_item *item)
{
    const struct mu_agree_message *message = agree_net_take(world, item);
    if (message != NULL && world->seats[item->node].alive) {
        struct mu_agree_message kept = *message; /* sending may move the parcels, not the lists */
        struct mu_agree_event event = {.type = MU_AGREE_RECV};
        event.recv.from = item->peer;
        event.recv.message = &kept;
        trace(world, item->node, "<-", item->peer, &kept);
        step(world, item->node, &event);
    }
    agree_net_give_back(world, item->ref);
}

static void lapse(struct agree_world *world, const struct agree_fault *fault)
{
    struct agree_seat *seat = &world->seats[fault->node];
    struct mu_agree_event event = {.type = MU_AGREE_LEASE};
    if (!seat->alive || seat->lapsed || (fault->declared && world->living == 1))
        return;
    trace(world, fault->node, fault->declared ? "loses its lease for good" : "loses its lease",
          MU_SLOT_NONE, NULL);
    seat->lapsed = true;
    step(world, fault->node, &event);
    if (fault->declared) {
        seat->declared = true;
        world->living--;
        tell_all(world, fault->node);
    } else {
        agree_world_push(world, AGREE_WHAT_RENEW, world->queue.now_ns + fault->for_ns, fault->node,
                         MU_SLOT_NONE, 0);
    }
}

static void strike(struct agree_world *world, const struct agree_fault *fault)
{
    struct agree_seat *seat = &world->seats[fault->node];
    switch (fault->type) {
    case AGREE_FAULT_CRASH:
        if (fault->after_effects == AGREE_NOT_IN_UPDATE) {
            crash(world, fault->node);
        } else {
            seat->cut = true;
            seat->cut_after = fault->after_effects;
        }
        return;
    case AGREE_FAULT_LAPSE:
        lapse(world, fault);
        return;
    case AGREE_FAULT_RESET:
        agree_net_reset(world, fault);
        return;
    }
    abort();
}

static void happen(struct agree_world *world, const struct sim_item *item)
{
    struct mu_agree_event event = {.type = MU_AGREE_LEASE};
    bool alive = item->what == AGREE_WHAT_FAULT || world->seats[item->node].alive;
    switch ((enum agree_what)item->what) {
    case AGREE_WHAT_OPEN:
        if (alive)
            open_group(world, item->node, item->ref);
        return;
    case AGREE_WHAT_CALL:
        if (alive)
            call(world, item->node, item->ref);
        return;
    case AGREE_WHAT_MESSAGE:
        hear(world, item);
        return;
    case AGREE_WHAT_DEAD:
        event.type = MU_AGREE_DEAD;
        event.dead.slot = item->peer;
        event.dead.incarnation = 1;
        event.dead.proven = item->ref == 1;
        if (alive) {
            trace(world, item->node,
                  item->ref == 1 ? "sees proof of the death of" : "hears of the death of",
                  item->peer, NULL);
            step(world, item->node, &event);
        }
        return;
    case AGREE_WHAT_FAULT:
        strike(world, &world->plan->faults[item->ref]);
        return;
    case AGREE_WHAT_RENEW: /* whatever comes first may bring the news */
        if (item->ref == 0)
            world->seats[item->node].lapsed = false;
        if (alive && item->ref > 0)
            step(world, item->node, &event);
        else if (alive)
            agree_world_push(world, AGREE_WHAT_RENEW, soon(world, world->plan->delay_ns_min),
                             item->node, MU_SLOT_NONE, 1);
        return;
    case AGREE_WHAT_RESUME:
        event.type = MU_AGREE_RESUME;
        event.resume.peer = item->peer;
        if (alive)
            step(world, item->node, &event);
        return;
    }
    abort();
}

/* ---- the world ---- */

static void start(struct agree_world *world)
{
    const struct agree_plan *plan = world->plan;
    for (uint32_t g = 0; g < plan->group_count; g++)
        for (uint32_t i = 0; i < plan->groups[g].span_count; i++)
            for (uint32_t k = 0; k < plan->groups[g].spans[i].count; k++)
                agree_world_push(world, AGREE_WHAT_OPEN, soon(world, plan->start_ns_max),
                                 plan->groups[g].spans[i].first + k, MU_SLOT_NONE, g);
    for (uint32_t i = 0; i < plan->fault_count; i++)
        agree_world_push(world, AGREE_WHAT_FAULT, plan->faults[i].at_ns, plan->faults[i].node,
                         MU_SLOT_NONE, i);
}

void agree_world_init(struct agree_world *world, const struct agree_plan *plan)
{
    assert(plan->group_count <= AGREE_WORLD_GROUPS);
    memset(world, 0, sizeof *world);
    world->plan = plan;
    world->size = world->living = plan->config.size;
    struct mu_agree_config config = plan->config;
    world->node_bytes = mu_agree_bytes(&config);
    world->nodes = sim_map(world->size * world->node_bytes);
    world->seats = sim_calloc(world->size, sizeof *world->seats);
    /* Broken rules may decide again and again. */
    world->update.capacity =
        mu_agree_effects_max(&config) + (config.broken_rules != 0 ? 16 * world->size : 0);
    world->update.effects = sim_calloc(world->update.capacity, sizeof *world->update.effects);
    sim_queue_init(&world->queue);
    sim_random_init(&world->random, plan->seed);
    mu_fingerprint_init(&world->digest);
    for (mu_slot slot = 0; slot < world->size; slot++) {
        config.self = slot;
        mu_agree_init(world->nodes + slot * world->node_bytes, world->node_bytes, &config);
        world->seats[slot].alive = true;
    }
    agree_net_init(world);
    agree_law_init(world);
    start(world);
}

void agree_world_free(struct agree_world *world)
{
    agree_law_free(world);
    agree_net_free(world);
    sim_queue_free(&world->queue);
    free(world->update.effects);
    free(world->seats);
    sim_unmap(world->nodes, world->size * world->node_bytes);
}

void agree_world_run(struct agree_world *world, void (*progress)(const struct agree_world *))
{
    struct sim_item item;
    while (world->broken == NULL && sim_queue_pop(&world->queue, &item)) {
        world->events++;
        happen(world, &item);
        if (progress != NULL && world->events % PROGRESS_EVERY == 0)
            progress(world);
    }
    if (world->broken == NULL)
        agree_world_law_on_quiet(world);
}
