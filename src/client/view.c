/* The view that was read last: its members, put together from the parts that the daemon tells. */
#include "client/handle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void begin(struct mu_client_view *view, const struct mu_local_view *part)
{
    view->number = part->number;
    view->total = 0;
    view->announced = part->total;
    view->span_count = 0;
}

static bool make_room(struct mu_client_view *view, uint32_t more)
{
    if (view->span_count + more <= view->room)
        return true;
    uint32_t room = 2 * (view->span_count + more);
    struct mu_local_span *larger = realloc(view->spans, room * sizeof *larger);
    if (larger == NULL)
        return false;
    view->spans = larger;
    view->room = room;
    return true;
}

static const char *add(struct mu_client_view *view, const struct mu_local_view *part,
                       uint32_t nodes)
{
    for (uint32_t i = 0; i < part->span_count; i++) {
        const struct mu_local_span *last =
            view->span_count > 0 ? &view->spans[view->span_count - 1] : NULL;
        if (part->spans[i].first + part->spans[i].count > nodes)
            return "a member that the cluster has not";
        if (last != NULL && part->spans[i].first <= last->first + last->count)
            return "members out of order";
        view->spans[view->span_count++] = part->spans[i];
        view->total += part->spans[i].count;
    }
    if (part->is_last && view->total != view->announced)
        return "not as many members as it says";
    return NULL;
}

int mu_client_view_part(struct muster *m, const struct mu_local_view *part,
                        struct muster_error *error)
{
    struct mu_client_view *next = &m->views[1 - m->view_now];
    if (part->is_first)
        begin(next, part);
    if (part->number != next->number)
        return mu_client_fail(error, MUSTER_E_PROTOCOL,
                              "the daemon @%s told the middle of view %" PRIu64
                              " before its beginning",
                              m->name, part->number);
    if (!make_room(next, part->span_count))
        return mu_client_fail(error, MUSTER_E_SYSTEM, "no memory for the members of a view");
    const char *rule = add(next, part, m->who.nodes);
    if (rule != NULL)
        return mu_client_fail(error, MUSTER_E_PROTOCOL, "the daemon @%s told view %" PRIu64 ": %s",
                              m->name, part->number, rule);
    if (part->is_last)
        m->view_now = 1 - m->view_now;
    return part->is_last ? 1 : 0;
}

void mu_client_view_text(const struct muster *m, struct muster_event *event)
{
    const struct mu_client_view *now = &m->views[m->view_now], *before = &m->views[1 - m->view_now];
    int used = snprintf(event->text, sizeof event->text,
                        "view %" PRIu64 ": %" PRIu32 " of %" PRIu32 " nodes", now->number,
                        now->total, m->who.nodes);
    if (before->number > 0 && before->number < now->number && before->total != now->total &&
        used > 0)
        snprintf(event->text + used, sizeof event->text - (size_t)used, " (%" PRIu32 " before)",
                 before->total);
}

void mu_client_view_free(struct muster *m)
{
    free(m->views[0].spans);
    free(m->views[1].spans);
}

int muster_view(struct muster *m, uint64_t *number, uint32_t *nodes, uint32_t room, uint32_t *count,
                struct muster_error *error)
{
    int errno_before = errno;
    if (mu_client_check_owner(m, error) != 0)
        return -1;
    pthread_mutex_lock(&m->lock);
    const struct mu_client_view *view = &m->views[m->view_now];
    uint32_t filled = 0;
    for (uint32_t i = 0; i < view->span_count; i++)
        for (uint32_t k = 0; k < view->spans[i].count && filled < room; k++)
            nodes[filled++] = view->spans[i].first + k;
    *number = view->number;
    *count = view->total;
    pthread_mutex_unlock(&m->lock);
    errno = errno_before;
    return 0;
}
