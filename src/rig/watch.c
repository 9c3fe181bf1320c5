#include "rig/watch.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

/* ---- links ---- */

static bool is_watched(const struct watch *watch, mu_slot node)
{
    for (int i = 0; i < WATCHES; i++)
        if (watch->links[i].is_open && watch->links[i].node == node)
            return true;
    return false;
}

/* Each node is tried once; what does not answer now may do so later. */
static void open_link(struct watch *watch, int i)
{
    struct mu_local_message message = {.type = MU_LOCAL_WATCH};
    uint32_t nodes = watch->rig->config.nodes;
    for (uint32_t tried = 0; tried < nodes && !watch->links[i].is_open; tried++) {
        struct operator_daemon daemon = {
            .machine = machine_id(watch->rig->machine), .slot = watch->next, .uid = geteuid()};
        watch->next = (watch->next + 1) % nodes;
        if (is_watched(watch, daemon.slot) || !machine_alive(watch->rig->machine, daemon.slot) ||
            !operator_open(&watch->links[i].link, &daemon))
            continue;
        watch->links[i].node = daemon.slot;
        watch->links[i].is_open = operator_say(&watch->links[i].link, &message);
        if (!watch->links[i].is_open)
            operator_close(&watch->links[i].link);
    }
}

static void close_link(struct watch *watch, int i)
{
    operator_close(&watch->links[i].link);
    watch->links[i].is_open = false;
}

/* ---- events ---- */

static void take_event(struct watch *watch, const struct mu_local_event *event)
{
    if (event->subject != MU_SUBJECT_NODE || event->node >= watch->rig->config.nodes)
        return;
    struct verdict *verdict = &watch->verdicts[event->node];
    uint64_t seen_ns = event->learned_ns - event->age_ns;
    if (verdict->seen_ns != 0 && verdict->seen_ns <= seen_ns)
        return;
    verdict->seen_ns = seen_ns;
    verdict->evidence = event->evidence;
}

static bool has_something(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    return poll(&ready, 1, 0) > 0;
}

static void take_from(struct watch *watch, int i)
{
    struct mu_local_message message;
    while (has_something(watch->links[i].link.fd)) {
        if (!operator_hear(&watch->links[i].link, &message, 0)) {
            close_link(watch, i);
            return;
        }
        if (message.type == MU_LOCAL_EVENT)
            take_event(watch, &message.event);
    }
}

void watch_take(struct watch *watch)
{
    for (int i = 0; i < WATCHES; i++) {
        if (!watch->links[i].is_open)
            open_link(watch, i);
        if (watch->links[i].is_open)
            take_from(watch, i);
    }
}

void watch_close(struct watch *watch)
{
    for (int i = 0; i < WATCHES; i++)
        if (watch->links[i].is_open)
            close_link(watch, i);
}

bool watch_has_verdict(const struct watch *watch)
{
    for (mu_slot node = 0; node < watch->rig->config.nodes; node++)
        if (watch->verdicts[node].seen_ns != 0)
            return true;
    return false;
}

uint64_t verdict_stall_ns(const struct verdict *verdict, const struct stall_windows *windows,
                          uint64_t period_ns, uint64_t timeout_ns)
{
    const struct mu_ring_proof *ring = &verdict->evidence.ring;
    uint64_t silent_ns = ring->silent_ns > 0 ? ring->silent_ns : timeout_ns;
    uint64_t from_ns = verdict->seen_ns - silent_ns - period_ns;
    return stall_longest_between_ns(windows, from_ns, verdict->seen_ns);
}

bool verdict_is_excused(const struct verdict *verdict, const struct stall_windows *windows,
                        uint64_t period_ns, uint64_t timeout_ns)
{
    return verdict_stall_ns(verdict, windows, period_ns, timeout_ns) > timeout_ns - period_ns;
}

/* ---- words ---- */

static const char *reach_word(uint8_t reach)
{
    static const char *const words[] = {"said nothing", "tried", "heard it", "knew it dead",
                                        "observes it"};
    return reach < sizeof words / sizeof words[0] ? words[reach] : "?";
}

const char *verdict_text(const struct verdict *verdict, char text[VERDICT_TEXT_MAX])
{
    char clause[MU_EVIDENCE_TEXT_MAX];
    const struct mu_evidence *evidence = &verdict->evidence;
    const struct mu_ring_proof *ring = &evidence->ring;
    int used =
        snprintf(text, VERDICT_TEXT_MAX, "%s, by node %u: %s", mu_verdict_word(evidence->verdict),
                 evidence->seen_by, mu_evidence_text(evidence, clause, sizeof clause));
    if (ring->timeout_ns == 0)
        return text;
    used += snprintf(text + used, (size_t)(VERDICT_TEXT_MAX - used),
                     "; not heard for %.3f ms, suspected for %.3f ms, %u probes, own lag %.3f ms",
                     (double)ring->silent_ns / 1e6, (double)ring->suspect_ns / 1e6, ring->probes,
                     (double)ring->lag_ns / 1e6);
    for (uint8_t i = 0; i < ring->helper_count && used < VERDICT_TEXT_MAX; i++)
        used += snprintf(text + used, (size_t)(VERDICT_TEXT_MAX - used), ", node %u %s",
                         ring->helpers[i].slot, reach_word(ring->helpers[i].reach));
    return text;
}
