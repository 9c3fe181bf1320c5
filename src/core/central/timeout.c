/* How long a host may take: it follows its round trips (C2). */
#include "core/central/inside.h"

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* The first sample of a new master: the host says what was granted to it, which is a cycle and two
 * timeouts.  So the timeout begins where the one before had it. */
static void first(const struct mu_central *central, struct mu_central_host *host,
                  uint64_t round_trip_ns, uint64_t grant_ns)
{
    uint64_t cycle_ns = central->config.cycle_ns;
    uint64_t before_ns = grant_ns > cycle_ns ? (grant_ns - cycle_ns) / 2 : 0;
    before_ns = mu_central_min(before_ns, central->config.ceiling_ns);
    host->srtt_ns = round_trip_ns + 1; /* 0 is none */
    host->rttvar_ns = round_trip_ns / 2;
    if (before_ns > round_trip_ns)
        host->rttvar_ns = mu_central_max(host->rttvar_ns, (before_ns - round_trip_ns) / 4);
}

void mu_central_sample(const struct mu_central *central, struct mu_central_host *host,
                       uint64_t round_trip_ns, uint64_t grant_ns)
{
    if (host->srtt_ns == 0) {
        first(central, host, round_trip_ns, grant_ns);
        return;
    }
    uint64_t off_ns = distance(round_trip_ns, host->srtt_ns);
    host->rttvar_ns = host->rttvar_ns - host->rttvar_ns / 4 + off_ns / 4;
    host->srtt_ns = host->srtt_ns - host->srtt_ns / 8 + round_trip_ns / 8 + 1;
}

uint64_t mu_central_wait_ns(const struct mu_central *central, const struct mu_central_host *host)
{
    const struct mu_central_config *config = &central->config;
    if (host->srtt_ns == 0) /* it may be slow, and hold a long grant of another master (C7) */
        return mu_central_is_broken(central, MU_CENTRAL_BROKEN_INHERITED) ? config->floor_ns
                                                                          : config->ceiling_ns;
    uint64_t wait_ns = host->srtt_ns + 4 * host->rttvar_ns;
    if (!mu_central_is_broken(central, MU_CENTRAL_BROKEN_FLOOR))
        wait_ns = mu_central_max(wait_ns, config->floor_ns);
    return mu_central_min(wait_ns, config->ceiling_ns);
}
