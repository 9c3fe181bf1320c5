#include "bench/nodefail/note.h"

static void note_seen(struct nodefail_page *page, uint32_t node, uint64_t seen_ns)
{
    uint64_t before = atomic_load(&page->seen_ns[node]);
    while (seen_ns < before &&
           !atomic_compare_exchange_weak(&page->seen_ns[node], &before, seen_ns))
        ;
}

static bool is_victim(const struct nodefail_page *page, uint32_t node)
{
    return node < page->nodes && page->is_victim[node];
}

static void good(struct nodefail_reader *reader, uint32_t *counter, uint64_t now_ns)
{
    struct nodefail_slot *slot = reader->slot;
    slot->last_ns = now_ns;
    ++*counter;
    if (slot->nodes_told + slot->processes_told == nodefail_expected(reader->page))
        atomic_fetch_add(&reader->page->done, 1);
}

static void note_node(struct nodefail_reader *reader, const struct muster_event *event,
                      uint64_t now_ns)
{
    struct nodefail_page *page = reader->page;
    if (!is_victim(page, event->node)) {
        reader->slot->wrong++;
    } else if (reader->told_node[event->node]) {
        reader->slot->wrong += event->is_state == 0;
    } else {
        reader->told_node[event->node] = true;
        note_seen(page, event->node, now_ns - event->age_ns);
        good(reader, &reader->slot->nodes_told, now_ns);
    }
}

static void note_process(struct nodefail_reader *reader, const struct muster_event *event,
                         uint64_t now_ns)
{
    const struct nodefail_page *page = reader->page;
    if (event->rank >= page->size || !is_victim(page, event->rank / page->procs) ||
        event->node != event->rank / page->procs || event->verdict == MUSTER_LEFT) {
        reader->slot->wrong++;
    } else if (reader->told_rank[event->rank]) {
        reader->slot->wrong += event->is_state == 0;
    } else if (!reader->told_node[event->node] && event->is_state == 0) {
        reader->slot->wrong++;
    } else {
        reader->told_rank[event->rank] = true;
        good(reader, &reader->slot->processes_told, now_ns);
    }
}

void nodefail_note(struct nodefail_reader *reader, const struct muster_event *event,
                   uint64_t now_ns)
{
    if (atomic_load(&reader->page->is_over))
        return;
    if (event->type == MUSTER_EVENT_NODE)
        note_node(reader, event, now_ns);
    else if (event->type == MUSTER_EVENT_PROCESS)
        note_process(reader, event, now_ns);
}
