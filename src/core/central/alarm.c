/* The master is missed, and the lowest that lives declares it (C7). */
#include "core/central/inside.h"

void mu_central_new_master(struct mu_central *central)
{
    central->polled = false;
    central->since_ns = central->now_ns;
    central->answered_ns = central->promise_ns = central->lease_ns = 0;
    central->alarm_ns = central->missed_ns = MU_NEVER;
    central->left_ns = mu_central_min(central->left_ns, central->now_ns + central->config.cycle_ns +
                                                            2 * central->config.ceiling_ns);
    for (uint32_t i = 0; i < central->count; i++)
        central->hosts[i].present_ns = central->hosts[i].clock_ns = central->hosts[i].confirm_ns =
            0;
}

/* Own lag: the master had as much less time to be heard. */
void mu_central_give_back(struct mu_central *central)
{
    central->since_ns = mu_central_min(central->since_ns + central->lag_ns, central->now_ns);
    if (central->alarm_ns != MU_NEVER)
        central->alarm_ns = mu_central_min(central->alarm_ns + central->lag_ns, central->now_ns);
}

/* A new master has to hear of it, and must wait for old grants. */
static uint64_t patience_ns(const struct mu_central *central)
{
    const struct mu_central_config *config = &central->config;
    return config->cycle_ns + (central->polled ? 1 : 3) * config->ceiling_ns;
}

/* Whoever answered a poll vouches for the master for a ceiling, and says nothing else meanwhile. */
static uint64_t may_miss_ns(const struct mu_central *central)
{
    uint64_t free_ns = central->answered_ns + central->config.ceiling_ns;
    if (central->answered_ns == 0 || mu_central_is_broken(central, MU_CENTRAL_BROKEN_PROMISE))
        free_ns = 0;
    return free_ns;
}

/* ---- said and heard ---- */

static bool is_below(const struct mu_central *central, const struct mu_central_host *host)
{
    return host->slot < central->config.self && !host->out;
}

static void say_missed(struct mu_central *central, struct mu_central_update *update)
{
    const struct mu_central_host *master = mu_central_find(central, central->master);
    central->promise_ns = central->now_ns + central->config.ceiling_ns;
    central->missed_ns = central->now_ns + central->config.floor_ns;
    for (uint32_t i = 0; i < central->count; i++) {
        const struct mu_central_host *host = &central->hosts[i];
        if (!is_below(central, host))
            continue;
        struct mu_poll *missed = mu_central_send(central, MU_POLL_MISSED, host, update);
        missed->stamp_ns = central->now_ns;
        missed->acked_ns = host->clock_ns;
        missed->subject = master->slot;
        missed->subject_incarnation = master->incarnation;
    }
}

/* It counts from when this node spoke last to it: so long, and no longer, a promise was given. */
void mu_central_on_missed(struct mu_central *central, struct mu_central_host *from,
                          const struct mu_poll *missed, struct mu_central_update *update)
{
    if (missed->subject == central->master && missed->acked_ns <= central->now_ns)
        from->confirm_ns = mu_central_max(from->confirm_ns, missed->acked_ns);
    struct mu_poll *present = mu_central_send(central, MU_POLL_PRESENT, from, update);
    present->stamp_ns = missed->stamp_ns;
    present->clock_ns = central->now_ns;
}

/* The master lives, and hears: it may have lost its lease, and needs those again who vouch. */
static void begin_anew(struct mu_central *central)
{
    central->polled = false;
    central->since_ns = central->now_ns;
    central->alarm_ns = central->missed_ns = MU_NEVER;
}

void mu_central_on_present(struct mu_central *central, struct mu_central_host *from,
                           const struct mu_poll *present)
{
    if (central->alarm_ns == MU_NEVER || present->stamp_ns < central->alarm_ns)
        return;
    from->present_ns = central->now_ns;
    from->clock_ns = mu_central_max(from->clock_ns, present->clock_ns);
    if (from->slot == central->master)
        begin_anew(central);
}

/* ---- who declares it ---- */

static bool is_lowest(const struct mu_central *central)
{
    for (uint32_t i = 0; i < central->count; i++) {
        const struct mu_central_host *host = &central->hosts[i];
        if (is_below(central, host) && host->present_ns != 0 &&
            host->present_ns + 2 * central->config.floor_ns > central->now_ns)
            return false;
    }
    return true;
}

static bool is_confirmed(const struct mu_central *central)
{
    uint32_t count = 1;
    for (uint32_t i = 0; i < central->count; i++) {
        const struct mu_central_host *host = &central->hosts[i];
        if (mu_central_is_peer(central, host) && host->confirm_ns != 0 &&
            host->confirm_ns + central->config.ceiling_ns > central->now_ns)
            count++;
    }
    return count >= mu_central_majority(central) ||
           mu_central_is_broken(central, MU_CENTRAL_BROKEN_MAJORITY);
}

static void declare_master(struct mu_central *central, struct mu_central_update *update)
{
    struct mu_central_host *master = mu_central_find(central, central->master);
    master->heard_ns = central->since_ns;
    master->suspect_ns = central->alarm_ns;
    master->wait_ns = central->config.ceiling_ns;
    master->helpers = 0;
    mu_central_declare(central, master, update);
}

static bool is_missed(const struct mu_central *central)
{
    return central->now_ns >= central->since_ns + patience_ns(central) &&
           !mu_central_is_broken(central, MU_CENTRAL_BROKEN_ALARM);
}

void mu_central_watch_master(struct mu_central *central, struct mu_central_update *update)
{
    if (!is_missed(central))
        return;
    if (central->alarm_ns == MU_NEVER) {
        central->alarm_ns = central->now_ns;
        central->missed_ns = mu_central_max(central->now_ns, may_miss_ns(central));
    }
    if (central->missed_ns > central->now_ns)
        return;
    say_missed(central, update);
    if (central->now_ns >= central->alarm_ns + 2 * central->config.floor_ns && is_lowest(central) &&
        is_confirmed(central))
        declare_master(central, update);
}

uint64_t mu_central_member_deadline_ns(const struct mu_central *central)
{
    if (mu_central_is_broken(central, MU_CENTRAL_BROKEN_ALARM))
        return MU_NEVER;
    return central->alarm_ns == MU_NEVER ? central->since_ns + patience_ns(central)
                                         : central->missed_ns;
}
