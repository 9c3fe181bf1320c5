#include "sim/agree/world.h"

#include "sim/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { NO_PARCEL = UINT32_MAX };

void agree_net_init(struct agree_world *world)
{
    size_t pairs = (size_t)world->size * world->size;
    world->parcel_unused = NO_PARCEL;
    if (!world->plan->tracked)
        return;
    world->arrives_ns = sim_calloc(pairs, sizeof *world->arrives_ns);
    world->epoch = sim_calloc(pairs, sizeof *world->epoch);
    world->open_ns = sim_calloc(pairs, sizeof *world->open_ns);
    world->until_ns = sim_calloc(pairs, sizeof *world->until_ns);
}

static void free_lists(struct agree_parcel *parcel)
{
    free((void *)(uintptr_t)parcel->message.value.failed);
    free((void *)(uintptr_t)parcel->message.dead);
    parcel->message.value.failed = NULL;
    parcel->message.dead = NULL;
}

void agree_net_free(struct agree_world *world)
{
    for (uint32_t i = 0; i < world->parcel_count; i++)
        free_lists(&world->parcels[i]);
    free(world->parcels);
    free(world->arrives_ns);
    free(world->epoch);
    free(world->open_ns);
    free(world->until_ns);
}

/* ---- parcels ---- */

static uint32_t take_unused(struct agree_world *world)
{
    if (world->parcel_unused != NO_PARCEL) {
        uint32_t parcel = world->parcel_unused;
        world->parcel_unused = world->parcels[parcel].next;
        return parcel;
    }
    if (world->parcel_count == world->parcel_capacity) {
        world->parcel_capacity = world->parcel_capacity == 0 ? 1024 : 2 * world->parcel_capacity;
        world->parcels =
            sim_realloc(world->parcels, world->parcel_capacity * sizeof *world->parcels);
    }
    return world->parcel_count++;
}

void agree_net_give_back(struct agree_world *world, uint32_t parcel)
{
    free_lists(&world->parcels[parcel]);
    world->parcels[parcel].next = world->parcel_unused;
    world->parcel_unused = parcel;
}

static void *copy(const void *items, size_t count, size_t item_size)
{
    if (count == 0)
        return NULL;
    void *own = sim_calloc(count, item_size);
    memcpy(own, items, count * item_size);
    return own;
}

static uint32_t pack(struct agree_world *world, const struct mu_agree_message *message)
{
    uint32_t at = take_unused(world);
    struct agree_parcel *parcel = &world->parcels[at];
    *parcel = (struct agree_parcel){.message = *message};
    parcel->message.value.failed =
        copy(message->value.failed, message->value.failed_count, sizeof *message->value.failed);
    parcel->message.dead = copy(message->dead, message->dead_count, sizeof *message->dead);
    return at;
}

/* ---- connections ---- */

static size_t pair_of(const struct agree_world *world, mu_slot from, mu_slot to)
{
    return (size_t)from * world->size + to;
}

/* In a large world each pair has one delay, so that its messages stay in order. */
static uint64_t delay_of(struct agree_world *world, mu_slot from, mu_slot to)
{
    uint64_t jitter = world->plan->jitter_ns_max + 1;
    if (world->plan->tracked)
        return world->plan->delay_ns_min + sim_random_below(&world->random, jitter);
    uint64_t pair = (uint64_t)from << 32 | to;
    return world->plan->delay_ns_min + sim_random_hash(pair ^ world->plan->seed << 7) % jitter;
}

void agree_net_send(struct agree_world *world, mu_slot from, mu_slot to,
                    const struct mu_agree_message *message)
{
    uint64_t now_ns = world->queue.now_ns, at_ns = now_ns + delay_of(world, from, to);
    size_t pair = pair_of(world, from, to);
    bool tracked = world->plan->tracked;
    if (tracked && now_ns < world->open_ns[pair])
        return; /* no connection: RESUME will follow */
    if (tracked && at_ns < world->arrives_ns[pair])
        at_ns = world->arrives_ns[pair];
    uint32_t parcel = pack(world, message);
    if (tracked) {
        world->arrives_ns[pair] = at_ns;
        world->parcels[parcel].epoch = world->epoch[pair];
    }
    agree_world_push(world, AGREE_WHAT_MESSAGE, at_ns, to, from, parcel);
}

const struct mu_agree_message *agree_net_take(struct agree_world *world,
                                              const struct sim_item *item)
{
    const struct agree_parcel *parcel = &world->parcels[item->ref];
    size_t pair = pair_of(world, item->peer, item->node);
    if (!world->plan->tracked || parcel->epoch == world->epoch[pair])
        return &parcel->message;
    bool in_time = parcel->epoch + 1 == world->epoch[pair] && item->at_ns <= world->until_ns[pair];
    return in_time ? &parcel->message : NULL;
}

static void break_way(struct agree_world *world, mu_slot from, mu_slot to, uint64_t for_ns)
{
    size_t pair = pair_of(world, from, to);
    uint64_t now_ns = world->queue.now_ns;
    uint64_t resume_ns =
        now_ns + for_ns + sim_random_between(&world->random, 1, world->plan->delay_ns_min);
    world->epoch[pair]++;
    world->open_ns[pair] = resume_ns;
    world->until_ns[pair] = now_ns + sim_random_below(&world->random, for_ns + 1);
    agree_world_push(world, AGREE_WHAT_RESUME, resume_ns, from, to, 0);
}

/* What is on its way arrives for a moment longer, or not at all.  The two ends learn of the new
 * connection one after the other, and before anything that is sent over it arrives. */
void agree_net_reset(struct agree_world *world, const struct agree_fault *fault)
{
    mu_slot a = fault->node, b = fault->peer;
    uint64_t now_ns = world->queue.now_ns;
    if (a == b || now_ns < world->open_ns[pair_of(world, a, b)] ||
        now_ns < world->open_ns[pair_of(world, b, a)])
        return;
    break_way(world, a, b, fault->for_ns);
    break_way(world, b, a, fault->for_ns);
}
