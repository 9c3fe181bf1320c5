#include "chaos/script/watch.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

static void note(struct chaos_watch *watch, mu_slot by, const struct mu_local_event *event)
{
    if (watch->told_count == watch->told_room) {
        uint32_t room = watch->told_room == 0 ? 256 : 2 * watch->told_room;
        void *more = realloc(watch->told, room * sizeof *watch->told);
        if (more == NULL)
            abort();
        watch->told = more;
        watch->told_room = room;
    }
    watch->told[watch->told_count++] = (struct chaos_told){
        .by = by,
        .is_process = event->subject == MU_SUBJECT_PROCESS,
        .job = event->job,
        .rank = event->rank,
        .node = event->node,
        .verdict = event->evidence.verdict,
        .at_ns = event->learned_ns,
    };
}

static bool has_something(const struct operator_link *link)
{
    struct pollfd ready = {.fd = link->fd, .events = POLLIN};
    return link->fd >= 0 && poll(&ready, 1, 0) > 0;
}

static void take_one(struct chaos_watch *watch, uint32_t i, int timeout_ms)
{
    struct mu_local_message message;
    if (!operator_hear(&watch->links[i], &message, timeout_ms)) {
        operator_close(&watch->links[i]);
        return;
    }
    if (message.type == MU_LOCAL_CAUGHT_UP)
        watch->is_live[i] = true;
    else if (message.type == MU_LOCAL_LOST)
        watch->lost += message.lost.count;
    else if (message.type == MU_LOCAL_EVENT && watch->is_live[i] && !message.event.is_state &&
             message.event.subject != MU_SUBJECT_VIEW)
        note(watch, watch->nodes[i], &message.event);
}

void chaos_watch_take(struct chaos_watch *watch)
{
    for (uint32_t i = 0; i < watch->count; i++)
        while (has_something(&watch->links[i]))
            take_one(watch, i, 0);
}

static bool begin(struct operator_link *link, const struct operator_daemon *daemon)
{
    if (!operator_open(link, daemon))
        return false;
    if (operator_say(link, &(struct mu_local_message){.type = MU_LOCAL_WATCH}))
        return true;
    operator_close(link);
    return false;
}

bool chaos_watch_open(struct chaos_watch *watch, const struct operator_found *found,
                      char why[OPERATOR_TEXT_MAX])
{
    *watch = (struct chaos_watch){0};
    watch->links = calloc(found->count, sizeof *watch->links);
    watch->is_live = calloc(found->count, sizeof *watch->is_live);
    watch->nodes = calloc(found->count, sizeof *watch->nodes);
    if (watch->links == NULL || watch->is_live == NULL || watch->nodes == NULL)
        abort();
    for (size_t i = 0; i < found->count; i++) {
        struct operator_link *link = &watch->links[watch->count];
        if (begin(link, &found->daemons[i]))
            watch->nodes[watch->count++] = found->daemons[i].slot;
        else
            snprintf(why, OPERATOR_TEXT_MAX, "node %u %.400s", link->slot, link->why);
    }
    for (uint32_t i = 0; i < watch->count; i++)
        while (watch->links[i].fd >= 0 && !watch->is_live[i])
            take_one(watch, i, OPERATOR_TIMEOUT_MS);
    return watch->count > 0;
}

void chaos_watch_close(struct chaos_watch *watch)
{
    for (uint32_t i = 0; i < watch->count; i++)
        operator_close(&watch->links[i]);
    free(watch->links);
    free(watch->is_live);
    free(watch->nodes);
    free(watch->told);
    *watch = (struct chaos_watch){0};
}
