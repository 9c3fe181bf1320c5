/* The timeline of a death in words. */
#include "cli/why.h"

#include "command/span.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

struct line {
    struct why_step *steps;
    size_t count;
};

static void add(struct line *line, const char *word, bool has_time, uint64_t at_ns,
                const char *format, ...) __attribute__((format(printf, 5, 6)));

static void add(struct line *line, const char *word, bool has_time, uint64_t at_ns,
                const char *format, ...)
{
    if (line->count == WHY_STEPS_MAX)
        return;
    struct why_step *step = &line->steps[line->count++];
    va_list arguments;
    *step = (struct why_step){.word = word, .has_time = has_time, .at_ns = at_ns};
    va_start(arguments, format);
    vsnprintf(step->text, sizeof step->text, format, arguments);
    va_end(arguments);
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* "node 4", "nodes 4, 5 and 12 more" */
static const char *nodes_text(const struct account_list *list, char *text, size_t room)
{
    enum { SHOWN = 8 };
    size_t used = (size_t)snprintf(text, room, "node%s ", plural(list->count));
    for (size_t i = 0; i < list->count && i < SHOWN; i++)
        used +=
            (size_t)snprintf(text + used, room - used, "%s%u", i > 0 ? ", " : "", list->items[i]);
    if (list->count > SHOWN)
        snprintf(text + used, room - used, " and %zu more", list->count - SHOWN);
    return text;
}

/* ---- the ring ---- */

/* A node that was found when the ring had to mend was not observed before: its observer has asked
 * it, and it did not answer. */
static bool was_observed(const struct mu_ring_proof *ring)
{
    return ring->suspect_ns < ring->silent_ns;
}

static void add_suspicion(struct line *line, const struct account *account)
{
    const struct mu_ring_proof *ring = &account->ring;
    char period[SPAN_TEXT_MAX], timeout[SPAN_TEXT_MAX];
    span_text(ring->period_ns, period);
    span_text(ring->timeout_ns, timeout);
    if (!was_observed(ring)) {
        add(line, "asked", true, 0,
            "node %u became its observer, because those between them had failed, and sent %u "
            "probe%s: no reply (period %s, timeout %s)",
            account->seen_by, ring->probes, plural(ring->probes), period, timeout);
        return;
    }
    add(line, "heard", true, 0,
        "node %u, its observer, received the last heartbeat (period %s, timeout %s)",
        account->seen_by, period, timeout);
    add(line, "late", true, ring->silent_ns - ring->suspect_ns,
        "heartbeat late: suspected by node %u; %u probe%s sent, none answered", account->seen_by,
        ring->probes, plural(ring->probes));
}

static void add_helpers(struct line *line, const struct account *account)
{
    const struct mu_ring_proof *ring = &account->ring;
    static const char *const came[] = {
        [MU_REACH_NONE] = "no reply",
        [MU_REACH_TRYING] = "probes not answered",
        [MU_REACH_HEARD] = "it receives its heartbeats",
        [MU_REACH_DEAD] = "it knew of its failure already",
    };
    for (uint32_t i = 0; i < ring->helper_count; i++)
        add(line, "helper", false, 0, "asked node %u to probe it: %s", ring->helpers[i].slot,
            came[ring->helpers[i].reach]);
    if (ring->helper_count == 0)
        add(line, "helper", false, 0, "no other node was left to probe it");
}

/* What the observer knew of itself: that it was neither disconnected nor asleep. */
static void add_observer(struct line *line, const struct account *account)
{
    const struct mu_ring_proof *ring = &account->ring;
    if (ring->vouched_by != MU_SLOT_NONE)
        add(line, "vouched", false, 0, "node %u answered node %u, so node %u was connected",
            ring->vouched_by, account->seen_by, account->seen_by);
    else
        add(line, "vouched", false, 0,
            "no other node was left to confirm that node %u was connected", account->seen_by);
    if (ring->lag_ns > 0)
        add(line, "lag", false, 0,
            "node %u itself was late by %.2f ms, which were added to the timeout", account->seen_by,
            (double)ring->lag_ns / 1e6);
    else
        add(line, "lag", false, 0, "node %u itself was on time", account->seen_by);
}

/* Where the silence lasted longer than the timeout. */
static void add_held(struct line *line, const struct account *account)
{
    const struct mu_ring_proof *ring = &account->ring;
    uint64_t due_ns = ring->timeout_ns + ring->lag_ns;
    uint64_t over_ns = ring->silent_ns > due_ns ? ring->silent_ns - due_ns : 0;
    if (was_observed(ring) && over_ns > ring->timeout_ns / 2)
        add(line, "held", false, 0,
            "%.0f ms over the timeout: after 'muster set' a longer one stays in force for a while",
            (double)over_ns / 1e6);
}

static void add_declared(struct line *line, const struct account *account)
{
    const struct mu_ring_proof *ring = &account->ring;
    if (account->seen_by == account->node)
        add(line, "declared", true, ring->silent_ns,
            "node %u gave up: it was on the smaller side of a broken connection", account->node);
    else if (account->cause == MU_CAUSE_UNREACHABLE)
        add(line, "declared", true, ring->silent_ns,
            "node %u declared it failed: other nodes received its heartbeats, node %u did not",
            account->seen_by, account->seen_by);
    else
        add(line, "declared", true, ring->silent_ns, "node %u declared it failed",
            account->seen_by);
}

/* ---- everything else ---- */

static void add_seen(struct line *line, const struct account *account)
{
    char process[64] = "";
    if (account->pid != 0)
        snprintf(process, sizeof process, " (PID %u)", account->pid);
    switch (account->cause) {
    case MU_CAUSE_EXIT:
        add(line, "ended", true, 0, "the daemon of node %u saw rank %u%s end: %s", account->seen_by,
            account->rank, process, account->how);
        return;
    case MU_CAUSE_NODE_LOST:
        add(line, "lost", true, 0, "its node, %u, failed", account->node);
        return;
    case MU_CAUSE_TOLD:
        add(line, "told", true, 0, "node %u reported the failure", account->seen_by);
        return;
    case MU_CAUSE_WITNESS:
        add(line, "witness", true, 0, "its witness reported to node %u that the daemon has ended",
            account->seen_by);
        return;
    }
    add(line, "lost", true, 0, "the launcher lost it: %s", account->how);
}

static void add_told(struct line *line, const struct account *account, uint64_t seen_ns)
{
    char nodes[160];
    uint32_t hops = 0;
    for (size_t i = 0; i < account->told_count; i++)
        hops = account->told[i].hops > hops ? account->told[i].hops : hops;
    if (account->told_count > 0) {
        const struct account_told *last = &account->told[account->told_count - 1];
        size_t expected = account->told_count + account->untold.count + account->no_answer.count;
        char count[64] = "";
        if (expected > account->told_count)
            snprintf(count, sizeof count, "%zu of %zu", account->told_count, expected);
        else if (expected > 1)
            snprintf(count, sizeof count, "all %zu", expected);
        else
            snprintf(count, sizeof count, "1");
        add(line, "known", true, seen_ns + last->after_ns,
            "%s surviving node%s notified (last: node %u, %u hop%s)", count, plural(expected),
            last->node, hops, plural(hops));
    } else {
        add(line, "known", false, 0, "no node has confirmed notification");
    }
    if (account->untold.count > 0)
        add(line, "untold", false, 0, "notification not confirmed by %s",
            nodes_text(&account->untold, nodes, sizeof nodes));
    if (account->no_answer.count > 0)
        add(line, "no-answer", false, 0, "no answer from %s",
            nodes_text(&account->no_answer, nodes, sizeof nodes));
}

/* Proof, also where the ring had found only silence. */
static void add_gone(struct line *line, const struct account *account, uint64_t seen_ns)
{
    if (account->is_gone)
        add(line, "gone", true, seen_ns + account->gone_after_ns,
            "its witness reported that no process of the node is left");
}

size_t why_steps(const struct account *account, struct why_step steps[WHY_STEPS_MAX])
{
    struct line line = {.steps = steps};
    bool of_ring = cause_has_proof(account->cause);
    if (of_ring) {
        add_suspicion(&line, account);
        add_helpers(&line, account);
        add_observer(&line, account);
        add_held(&line, account);
        add_declared(&line, account);
    } else {
        add_seen(&line, account);
    }
    uint64_t seen_ns = of_ring ? account->ring.silent_ns : 0;
    bool gone_first = account->told_count == 0 ||
                      account->gone_after_ns < account->told[account->told_count - 1].after_ns;
    if (gone_first)
        add_gone(&line, account, seen_ns);
    add_told(&line, account, seen_ns);
    if (!gone_first)
        add_gone(&line, account, seen_ns);
    return line.count;
}
