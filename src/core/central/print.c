#include "core/central/inside.h"

static void add_host(const struct mu_central_host *host, struct mu_fingerprint *print)
{
    const uint64_t values[] = {
        host->slot,       host->incarnation, host->out,        host->srtt_ns,    host->rttvar_ns,
        host->sent,       host->answered,    host->asked_ns,   host->suspect_ns, host->wait_ns,
        host->due_ns,     host->heard_ns,    host->echo_ns,    host->acked_ns,   host->grant_ns,
        host->granted_ns, host->polls,       host->reported,   host->helpers,    host->seen,
        host->present_ns, host->clock_ns,    host->confirm_ns, host->vouched,
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        mu_fingerprint_add(print, values[i]);
    for (uint8_t i = 0; i < host->helpers; i++)
        mu_fingerprint_add(print, (uint64_t)host->helper[i].slot << 8 | host->helper[i].reach);
}

void mu_central_fingerprint(const struct mu_central *central, struct mu_fingerprint *print)
{
    const uint64_t values[] = {
        central->started,       central->fenced,
        central->held,          central->now_ns,
        central->deadline_ns,   central->number,
        central->hash,          central->master,
        central->nonce,         central->cycle,
        central->round_ns,      central->vouched_ns,
        central->quiet_ns,      central->polled,
        central->since_ns,      central->answered_ns,
        central->promise_ns,    central->alarm_ns,
        central->missed_ns,     central->lease_ns,
        central->left_ns,       central->grant_ns,
        central->loop_asked_ns, central->loop_next_ns,
        central->lag_ns,        central->master_incarnation,
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        mu_fingerprint_add(print, values[i]);
    for (uint32_t i = 0; i < central->count; i++)
        add_host(&central->hosts[i], print);
    for (uint32_t i = 0; i < central->dead.count; i++) {
        const struct mu_roster_entry *dead = &central->dead.entries[i];
        mu_fingerprint_add(print, (uint64_t)dead->slot << 33 | (uint64_t)dead->incarnation << 1 |
                                      (uint64_t)dead->proven);
    }
}
