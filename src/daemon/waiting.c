/* News that the core has no room for: late, but not lost. */
#include "daemon/inside.h"
#include "host/clock.h"

#include <stdlib.h>

enum { WAITING_MS = 10 }; /* between two looks whether the core has room again */

_Static_assert((int)MU_EVIDENCE_BYTES_MAX <= (int)MU_NEWS_BYTES_MAX, "struct mu_daemon_news");

/* Returns whether the core has taken it. */
static bool give(struct mu_daemon *daemon, const struct mu_daemon_news *news)
{
    if (news->is_post)
        return mu_drive_post(daemon->drive, news->bytes, news->length);
    struct mu_notice notice = {.id = news->id,
                               .root = news->root,
                               .length = news->length,
                               .age_ns = mu_now_ns() - news->since_ns,
                               .payload = news->bytes};
    return mu_drive_verdict(daemon->drive, &notice);
}

static void keep(struct mu_daemon *daemon, const struct mu_daemon_news *news)
{
    struct mu_daemon_news *kept = malloc(sizeof *kept);
    if (kept == NULL)
        abort(); /* a death would stay unknown */
    struct mu_daemon_news **place = news->urgent ? &daemon->waiting : daemon->waiting_end;
    *kept = *news;
    kept->next = *place;
    *place = kept;
    if (kept->next == NULL)
        daemon->waiting_end = &kept->next;
}

void mu_daemon_give(struct mu_daemon *daemon, struct mu_daemon_news *news)
{
    news->since_ns = mu_now_ns();
    if ((daemon->waiting == NULL || news->urgent) && give(daemon, news))
        return;
    keep(daemon, news);
    if (!uv_is_active((uv_handle_t *)&daemon->waiting_timer))
        uv_timer_start(&daemon->waiting_timer, mu_daemon_on_waiting, WAITING_MS, WAITING_MS);
}

static void drop_waiting(struct mu_daemon *daemon, struct mu_daemon_news **place)
{
    struct mu_daemon_news *news = *place;
    *place = news->next;
    if (*place == NULL)
        daemon->waiting_end = place;
    free(news);
}

void mu_daemon_on_waiting(uv_timer_t *timer)
{
    struct mu_daemon *daemon = timer->data;
    while (daemon->waiting != NULL && give(daemon, daemon->waiting))
        drop_waiting(daemon, &daemon->waiting);
    if (daemon->waiting == NULL)
        uv_timer_stop(timer);
}

void mu_daemon_forget_waiting(struct mu_daemon *daemon, uint32_t job)
{
    for (struct mu_daemon_news **place = &daemon->waiting; *place != NULL;)
        if (job == 0 || (*place)->job == job)
            drop_waiting(daemon, place);
        else
            place = &(*place)->next;
}
