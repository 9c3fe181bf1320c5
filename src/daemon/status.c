#include "daemon/inside.h"
#include "host/clock.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <unistd.h>

void mu_daemon_node(void *owner, struct mu_local_node *node)
{
    struct mu_daemon *daemon = owner;
    char host[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &daemon->door.address.sin_addr, host, sizeof host);
    node->slot = daemon->net.self.from;
    node->size = daemon->net.self.size;
    node->incarnation = daemon->net.self.incarnation;
    node->pid = (uint32_t)getpid();
    node->links_up = mu_peers_up(daemon->peers);
    node->links_wanted = mu_peers_wanted(daemon->peers); /* by this side; others may want more */
    if (node->links_wanted < node->links_up)
        node->links_wanted = node->links_up;
    node->dead = daemon->roll.dead_count;
    node->jobs = mu_jobs_count(daemon->jobs);
    node->processes = mu_jobs_processes(daemon->jobs);
    node->up_ns = mu_now_ns() - daemon->started_ns;
    snprintf(node->host, sizeof node->host, "%s", daemon->name);
    snprintf(node->address, sizeof node->address, "%s:%u", host,
             (unsigned)ntohs(daemon->door.address.sin_port));
}

/* In this order; then the classes of bad connections, then the faults of the core. */
static uint64_t plain(const struct mu_daemon *daemon, uint32_t i, const char **name)
{
    struct mu_heartbeat_counts beats;
    mu_heartbeat_counts(daemon->heartbeat, &beats);
    struct mu_agreements_counts agreements = mu_agreements_counts(daemon->agreements);
    struct mu_exchanges_counts exchanges = mu_exchanges_counts(daemon->exchanges);
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        {"witness_pid", (uint64_t)daemon->witness.pid}, /* 0: there is none any more */
        {"connections_taken", daemon->door.taken},
        {"connections_failed", daemon->door.failed},
        {"strangers_evicted", daemon->door.evicted},
        {"handshakes_late", daemon->net.late},
        {"links_broken", mu_peers_broken(daemon->peers)},
        {"frames_in", daemon->net.frames_in},
        {"frames_out", daemon->net.frames_out},
        {"bytes_in", daemon->net.bytes_in},
        {"bytes_out", daemon->net.bytes_out},
        {"core_events", mu_drive_events(daemon->drive)},
        {"core_bytes", mu_drive_bytes(daemon->drive)},
        {"notices", daemon->delivered},
        {"bad_evidence", daemon->bad_evidence},
        {"bad_news", daemon->bad_news},
        {"view", mu_views_present(daemon->views).number},
        {"view_told", daemon->roll.stable.number},
        {"agree_groups", agreements.groups},
        {"agree_decided", agreements.decided},
        {"agree_frames_in", agreements.received},
        {"agree_frames_out", agreements.sent},
        {"exchanges_done", exchanges.done},
        {"exchange_questions", exchanges.asked},
        {"exchange_dropped", exchanges.dropped},
        {"exchange_early_bytes", exchanges.early},
        {"bulk_connections", exchanges.bulk.connections},
        {"bulk_broken", exchanges.bulk.broken},
        {"bulk_bytes_in", exchanges.bulk.bytes_in},
        {"bulk_bytes_out", exchanges.bulk.bytes_out},
        {"bulk_waiting", exchanges.bulk.waiting},
        {"ring_period_ns", daemon->period_ns},
        {"ring_timeout_ns", daemon->timeout_ns},
        {"ring_observes", beats.observes},
        {"ring_observer", beats.observer},
        {"ring_lease_ns", mu_heartbeat_lease_ns(daemon->heartbeat)},
        {"ring_unreachable", daemon->unreachable},
        {"ring_undecided", daemon->undecided},
        {"loop_bound_ns", mu_detect_loop_bound_ns(daemon->timeout_ns, MU_DETECT_LOOP_NS)},
        {"loop_ns_max", beats.loop_ns_max},
        {"loop_stood", beats.loop_stood},
        {"ring_lag_ns_p99", mu_heartbeat_lag_ns(&beats, 99)},
        {"ring_lag_ns_max", beats.lag_ns_max},
        {"ring_lags_given_back", beats.lags_given_back},
        {"ring_cpu_ns", mu_heartbeat_cpu_ns(daemon->heartbeat)},
        {"beats_in", beats.in},
        {"beats_out", beats.out},
        {"beat_bytes_in", beats.in_bytes},
        {"beat_bytes_out", beats.out_bytes},
        {"beats_malformed", beats.malformed},
        {"beats_forged", beats.forged},
        {"beats_dropped", beats.dropped},
        {"beats_not_sent", beats.send_errors},
    };
    enum { ROWS = sizeof rows / sizeof rows[0] };
    if (i >= ROWS) {
        *name = NULL;
        return ROWS;
    }
    *name = rows[i].name;
    return rows[i].value;
}

bool mu_daemon_counter(void *owner, uint32_t i, const char **name, uint64_t *value)
{
    struct mu_daemon *daemon = owner;
    static char composed[64]; /* lives until the next call */
    uint64_t of_plain = plain(daemon, i, name);
    if (*name != NULL) {
        *value = of_plain;
        return true;
    }
    i -= (uint32_t)of_plain;
    if (i < MU_SEAL_CLASSES - 1) {
        snprintf(composed, sizeof composed, "bad_%s", mu_seal_class_name(i + 1));
        *value = daemon->net.bad[i + 1];
    } else if (i - (MU_SEAL_CLASSES - 1) < MU_FAULT_KINDS - 1) {
        i -= MU_SEAL_CLASSES - 1;
        snprintf(composed, sizeof composed, "fault_%s", mu_fault_name(i + 1));
        *value = daemon->faults[i + 1];
    } else {
        return false;
    }
    *name = composed;
    return true;
}
