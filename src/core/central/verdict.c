/* The one door of verdicts, and what is known then. */
#include "core/central/inside.h"

#include <string.h>

/* Somebody who answered a poll that went out since the host was suspect. */
static mu_slot vouched_by(const struct mu_central *central, const struct mu_central_host *about)
{
    for (uint32_t i = 0; i < central->count; i++) {
        const struct mu_central_host *host = &central->hosts[i];
        if (mu_central_is_peer(central, host) && host != about && host->echo_ns != 0 &&
            host->echo_ns >= about->suspect_ns)
            return host->slot;
    }
    return MU_SLOT_NONE;
}

static bool is_heard(const struct mu_central_host *host)
{
    for (uint8_t i = 0; i < host->helpers; i++)
        if (host->helper[i].reach == MU_REACH_HEARD)
            return true;
    return false;
}

static uint64_t since(const struct mu_central *central, uint64_t at_ns)
{
    return at_ns < central->now_ns ? central->now_ns - at_ns : 0;
}

void mu_central_evidence(const struct mu_central *central, const struct mu_central_host *host,
                         struct mu_detect_evidence *evidence)
{
    *evidence = (struct mu_detect_evidence){
        .cause = is_heard(host) ? MU_DETECT_UNREACHABLE : MU_DETECT_SILENT,
        .subject = host->slot,
        .incarnation = host->incarnation,
        .period_ns = central->config.cycle_ns,
        .timeout_ns = host->wait_ns,
        .silent_ns = since(central, host->heard_ns != 0 ? host->heard_ns : host->asked_ns),
        .suspect_ns = since(central, host->suspect_ns),
        .lag_ns = central->lag_ns,
        .probes = host->polls,
        .vouched_by = vouched_by(central, host),
        .helpers = host->helpers,
    };
    for (uint8_t i = 0; i < host->helpers; i++) {
        evidence->helper[i].slot = host->helper[i].slot;
        evidence->helper[i].reach = host->helper[i].reach;
    }
}

bool mu_central_declare(struct mu_central *central, struct mu_central_host *host,
                        struct mu_central_update *update)
{
    struct mu_detect_evidence evidence;
    mu_central_evidence(central, host, &evidence);
    if (!mu_roster_fits(&central->dead, host->slot)) {
        mu_central_add(update, MU_CENTRAL_FAULT)->fault = MU_FAULT_DEAD_FULL;
        return false;
    }
    mu_central_add(update, MU_CENTRAL_VERDICT)->evidence = evidence;
    return mu_central_mark_out(central, host->slot, host->incarnation, false, update);
}
