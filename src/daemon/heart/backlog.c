#include "daemon/heart/backlog.h"

#include <assert.h>
#include <string.h>

enum { OTHERS = 4 }; /* a verdict on this node itself, FENCED, LEASE, FAULT */

uint32_t mu_backlog_capacity(uint32_t dead)
{
    return dead + OTHERS + MU_BACKLOG_REPORTS;
}

void mu_backlog_init(struct mu_backlog *backlog, struct mu_heartbeat_news *items, uint32_t capacity)
{
    *backlog = (struct mu_backlog){.items = items, .capacity = capacity};
}

/* The later of two that are alike says all that the earlier one did. */
static bool alike(const struct mu_detect_effect *a, const struct mu_detect_effect *b)
{
    bool about_one = a->type == MU_DETECT_VERDICT || a->type == MU_DETECT_REPORT;
    return a->type == b->type && (!about_one || a->evidence.subject == b->evidence.subject);
}

static bool hold(struct mu_backlog *backlog, const struct mu_heartbeat_news *news)
{
    for (uint32_t i = 0; i < backlog->count; i++)
        if (alike(&backlog->items[i].effect, &news->effect)) {
            backlog->items[i] = *news;
            return true;
        }
    bool report = news->effect.type == MU_DETECT_REPORT;
    if (report && backlog->reports == MU_BACKLOG_REPORTS)
        return false;
    assert(backlog->count < backlog->capacity);
    backlog->items[backlog->count++] = *news;
    backlog->reports += report;
    return true;
}

bool mu_backlog_put(struct mu_backlog *backlog, struct mu_spsc *queue,
                    const struct mu_heartbeat_news *news)
{
    if (backlog->count == 0 && mu_spsc_put(queue, news))
        return true;
    return hold(backlog, news);
}

uint32_t mu_backlog_move(struct mu_backlog *backlog, struct mu_spsc *queue)
{
    uint32_t moved = 0;
    while (moved < backlog->count && mu_spsc_put(queue, &backlog->items[moved])) {
        backlog->reports -= backlog->items[moved].effect.type == MU_DETECT_REPORT;
        moved++;
    }
    backlog->count -= moved;
    memmove(backlog->items, backlog->items + moved, backlog->count * sizeof *backlog->items);
    return moved;
}
