/* The view, who of it is out, and who is the master. */
#include "core/central/inside.h"

#include <assert.h>
#include <string.h>

bool mu_central_is_peer(const struct mu_central *central, const struct mu_central_host *host)
{
    return !host->out && host->slot != central->config.self;
}

struct mu_central_host *mu_central_find(const struct mu_central *central, mu_slot slot)
{
    uint32_t low = 0, high = central->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (central->hosts[middle].slot < slot)
            low = middle + 1;
        else
            high = middle;
    }
    return low < central->count && central->hosts[low].slot == slot ? &central->hosts[low] : NULL;
}

/* ---- who counts ---- */

static bool is_proven(const struct mu_central *central, const struct mu_central_host *host)
{
    return host->out && mu_roster_is_proven(&central->dead, host->slot, host->incarnation);
}

static uint32_t counted(const struct mu_central *central, mu_slot *first)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < central->count; i++)
        if (!is_proven(central, &central->hosts[i]) && count++ == 0)
            *first = central->hosts[i].slot;
    return count;
}

/* Of exactly half and half, the side with the lowest member goes on, as views have it. */
uint32_t mu_central_half(const struct mu_central *central)
{
    mu_slot first = MU_SLOT_NONE;
    uint32_t count = counted(central, &first);
    return first == central->config.self ? (count + 1) / 2 : count / 2 + 1;
}

uint32_t mu_central_majority(const struct mu_central *central)
{
    mu_slot first;
    return counted(central, &first) / 2 + 1;
}

/* ---- who is the master ---- */

/* The longest grant, and as long as it may take until whoever gave it knows of this view. */
uint64_t mu_central_grants_over_ns(const struct mu_central *central)
{
    return central->now_ns + central->config.cycle_ns + 3 * central->config.ceiling_ns;
}

/* It may come back under its slot, before anybody missed it. */
static const struct mu_central_host *lowest(const struct mu_central *central)
{
    for (uint32_t i = 0; i < central->count; i++)
        if (!central->hosts[i].out)
            return &central->hosts[i];
    return NULL;
}

static void choose_master(struct mu_central *central)
{
    const struct mu_central_host *master = lowest(central); /* this node, at the latest */
    if (master->slot == central->master && master->incarnation == central->master_incarnation)
        return;
    central->left_ns = mu_central_lease_until_ns(central);
    bool first = central->number == 1 && central->master == MU_SLOT_NONE;
    central->master = master->slot;
    central->master_incarnation = master->incarnation;
    mu_central_new_master(central);
    if (!mu_central_is_master(central))
        return;
    mu_central_begin(central);
    central->quiet_ns = first ? 0 : mu_central_grants_over_ns(central);
    if (mu_central_is_broken(central, MU_CENTRAL_BROKEN_INHERITED))
        central->quiet_ns = 0;
}

/* ---- views ---- */

static struct mu_central_host make(const struct mu_central *central, mu_slot slot,
                                   uint32_t incarnation)
{
    const struct mu_central_host *before = mu_central_find(central, slot);
    if (before != NULL && before->incarnation == incarnation)
        return *before;
    return (struct mu_central_host){.slot = slot,
                                    .incarnation = incarnation,
                                    .out = mu_roster_is_out(&central->dead, slot, incarnation),
                                    .asked_ns = MU_NEVER,
                                    .suspect_ns = MU_NEVER,
                                    .due_ns = MU_NEVER};
}

static void lay_out(struct mu_central *central, const struct mu_central_event *event)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < event->view.span_count; i++)
        for (uint32_t j = 0; j < event->view.spans[i].count; j++, count++)
            central->other[count] =
                make(central, event->view.spans[i].first + j, event->view.incarnations[count]);
    struct mu_central_host *before = central->hosts;
    central->hosts = central->other;
    central->other = before;
    central->count = count;
}

void mu_central_on_view(struct mu_central *central, const struct mu_central_event *event,
                        struct mu_central_update *update)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < event->view.span_count; i++)
        total += event->view.spans[i].count;
    if (event->view.number <= central->number)
        return;
    if (total > central->config.hosts) {
        mu_central_add(update, MU_CENTRAL_FAULT)->fault = MU_FAULT_HOSTS_FULL;
        return;
    }
    lay_out(central, event);
    central->number = event->view.number;
    central->hash = event->view.hash;
    const struct mu_central_host *self = mu_central_find(central, central->config.self);
    if (self == NULL || self->incarnation != central->config.incarnation)
        mu_central_fence(central, central->config.self, update);
    else
        choose_master(central);
}

/* ---- deaths ---- */

void mu_central_fence(struct mu_central *central, mu_slot by, struct mu_central_update *update)
{
    central->fenced = true;
    mu_central_add(update, MU_CENTRAL_FENCED)->by = by;
}

bool mu_central_mark_out(struct mu_central *central, mu_slot slot, uint32_t incarnation,
                         bool proven, struct mu_central_update *update)
{
    if (slot == central->config.self) {
        if (incarnation >= central->config.incarnation)
            mu_central_fence(central, slot, update);
        return true;
    }
    if (!mu_roster_fits(&central->dead, slot)) {
        mu_central_add(update, MU_CENTRAL_FAULT)->fault = MU_FAULT_DEAD_FULL;
        return false;
    }
    mu_roster_out(&central->dead, slot, incarnation);
    if (proven && mu_roster_is_out(&central->dead, slot, incarnation))
        mu_roster_prove(&central->dead, slot, incarnation);
    struct mu_central_host *host = mu_central_find(central, slot);
    if (host == NULL || host->incarnation > incarnation || host->out)
        return true;
    host->out = true;
    choose_master(central);
    return true;
}

void mu_central_tell(struct mu_central *central, mu_slot slot, uint32_t incarnation,
                     struct mu_central_update *update)
{
    struct mu_central_host to = {.slot = slot, .incarnation = incarnation};
    struct mu_poll *dead = mu_central_send(central, MU_POLL_DEAD, &to, update);
    dead->subject = slot;
    dead->subject_incarnation = incarnation;
}
