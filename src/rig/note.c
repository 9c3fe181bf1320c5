#include "rig/role.h"

static void note_seen(struct rig_page *page, uint32_t node, uint64_t seen_ns)
{
    _Atomic uint64_t *first = &page->count.seen_ns[node];
    uint64_t before = atomic_load(first);
    while ((before == 0 || seen_ns < before) &&
           !atomic_compare_exchange_weak(first, &before, seen_ns))
        ;
}

/* Where it is counted how often this was told; NULL: it cannot be. */
static _Atomic uint8_t *times_of(struct client *c, const struct muster_event *event)
{
    struct rig_page *page = c->page;
    if (event->type == MUSTER_EVENT_NODE)
        return event->node < page->nodes ? rig_page_node(page, c->rank, event->node) : NULL;
    return event->rank < page->size && event->node == event->rank / page->procs &&
                   event->verdict != MUSTER_LEFT
               ? rig_page_process(page, c->rank, event->rank)
               : NULL;
}

/* It was not told before. */
static bool is_expected(struct client *c, const struct muster_event *event)
{
    return c->page->count.is_victim[event->node] &&
           (event->type == MUSTER_EVENT_NODE || event->is_state != 0 ||
            *rig_page_node(c->page, c->rank, event->node) > 0);
}

static void note_expected(struct client *c, const struct muster_event *event, uint64_t now_ns)
{
    if (event->type == MUSTER_EVENT_NODE)
        note_seen(c->page, event->node, now_ns - event->age_ns);
    c->slot->last_ns = now_ns;
    if (++c->slot->told == c->page->count.expected)
        atomic_fetch_add(&c->page->count.done, 1);
}

void role_count_note(struct client *c, const struct muster_event *event, uint64_t now_ns)
{
    if (c->page->is_over ||
        (event->type != MUSTER_EVENT_NODE && event->type != MUSTER_EVENT_PROCESS))
        return;
    _Atomic uint8_t *times = times_of(c, event);
    if (times == NULL) {
        c->slot->wrong++;
        return;
    }
    if (*times > 0 && event->is_state != 0)
        return;
    if (*times == 0 && is_expected(c, event))
        note_expected(c, event, now_ns);
    else
        c->slot->unexpected++;
    if (*times < UINT8_MAX)
        ++*times;
}
