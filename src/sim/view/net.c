/* Connections: in order, none lost while both ends run and the connection holds. */
#include "sim/view/world.h"

#include "sim/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- parcels ---- */

static void *copy(const void *items, size_t count, size_t item_size)
{
    if (count == 0)
        return NULL;
    void *own = sim_calloc(count, item_size);
    memcpy(own, items, count * item_size);
    return own;
}

#define COPY(field, number) (field) = copy(field, number, sizeof *(field))
#define FREE(field)         free((void *)(uintptr_t)(field))

static struct view_parcel *pack(const struct mu_view_message *message)
{
    struct view_parcel *parcel = sim_calloc(1, sizeof *parcel);
    struct mu_agree_message *agree = &parcel->message.agree;
    struct mu_view_whole *whole = &parcel->message.whole;
    parcel->message = *message;
    COPY(agree->value.failed, agree->value.failed_count);
    COPY(agree->value.entries, agree->value.entry_count);
    COPY(agree->dead, agree->dead_count);
    COPY(whole->spans, whole->span_count);
    COPY(whole->odd, whole->odd_count);
    COPY(whole->lost, whole->lost_count);
    COPY(whole->joined, whole->joined_count);
    COPY(whole->dead, whole->dead_count);
    return parcel;
}

void view_world_give_back(struct view_parcel *parcel)
{
    struct mu_agree_message *agree = &parcel->message.agree;
    struct mu_view_whole *whole = &parcel->message.whole;
    FREE(agree->value.failed);
    FREE(agree->value.entries);
    FREE(agree->dead);
    FREE(whole->spans);
    FREE(whole->odd);
    FREE(whole->lost);
    FREE(whole->joined);
    FREE(whole->dead);
    free(parcel);
}

/* ---- ways ---- */

static struct view_way *way_of(const struct view_world *world, uint32_t from, uint32_t to)
{
    return &world->ways[view_world_pair(world, from, to)];
}

/* Each message has an item in the queue, which only says that the next one is due. */
void view_world_send(struct view_world *world, uint32_t from, uint32_t to,
                     const struct mu_view_message *message)
{
    struct view_way *way = way_of(world, from, to);
    uint64_t at_ns = view_world_soon(world);
    if (world->queue.now_ns < way->open_ns)
        return; /* no connection: RESUME will follow */
    if (at_ns < way->arrives_ns)
        at_ns = way->arrives_ns;
    way->arrives_ns = at_ns;
    struct view_parcel *parcel = pack(message);
    if (way->first == NULL)
        way->first = parcel;
    else
        way->last->next = parcel;
    way->last = parcel;
    view_world_push(world, VIEW_WHAT_MESSAGE, at_ns, to, from, way->epoch);
}

struct view_parcel *view_world_take(struct view_world *world, uint32_t from, uint32_t to,
                                    uint32_t epoch)
{
    struct view_way *way = way_of(world, from, to);
    struct view_parcel *parcel = way->first;
    if (parcel == NULL || epoch != way->epoch || view_world_are_apart(world, from, to))
        return NULL;
    way->first = parcel->next;
    return parcel;
}

void view_world_drop(struct view_world *world, uint32_t from, uint32_t to)
{
    struct view_way *way = way_of(world, from, to);
    way->epoch++;
    while (way->first != NULL) {
        struct view_parcel *parcel = way->first;
        way->first = parcel->next;
        view_world_give_back(parcel);
    }
}

bool view_world_is_sending(const struct view_world *world, uint32_t from, uint32_t to, uint8_t type)
{
    const struct view_parcel *parcel = way_of(world, from, to)->first;
    while (parcel != NULL && parcel->message.type != type)
        parcel = parcel->next;
    return parcel != NULL;
}

/* ---- breaking and mending ---- */

/* The two ends learn of the new connection one after the other, and before anything that is sent
 * over it arrives. */
static void break_way(struct view_world *world, uint32_t from, uint32_t to, uint64_t for_ns)
{
    uint64_t resume_ns = world->queue.now_ns + for_ns +
                         sim_random_between(&world->random, 1, world->plan->delay_ns_min);
    view_world_drop(world, from, to);
    way_of(world, from, to)->open_ns = resume_ns;
    view_world_push(world, VIEW_WHAT_RESUME, resume_ns, from, to, 0);
}

void view_world_reset(struct view_world *world, uint32_t a, uint32_t b, uint64_t for_ns)
{
    if (a == b || view_world_are_apart(world, a, b) ||
        world->queue.now_ns < way_of(world, a, b)->open_ns ||
        world->queue.now_ns < way_of(world, b, a)->open_ns)
        return;
    break_way(world, a, b, for_ns);
    break_way(world, b, a, for_ns);
}

/* What waited at the cut arrives. */
void view_world_heal(struct view_world *world)
{
    for (uint32_t from = 0; from < world->born; from++)
        for (uint32_t to = 0; to < world->born; to++) {
            struct view_way *way = way_of(world, from, to);
            way->epoch++;
            for (struct view_parcel *parcel = way->first; parcel != NULL; parcel = parcel->next)
                view_world_push(world, VIEW_WHAT_MESSAGE, view_world_soon(world), to, from,
                                way->epoch);
        }
}
