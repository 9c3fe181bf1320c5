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
            "node %u asked it for the first time, since those between them were silent (heartbeats "
            "every %s, timeout %s); %u probe%s without an answer",
            account->seen_by, period, timeout, ring->probes, plural(ring->probes));
        return;
    }
    add(line, "heard", true, 0,
        "node %u, its observer, heard it for the last time (heartbeats every %s, timeout %s)",
        account->seen_by, period, timeout);
    add(line, "late", true, ring->silent_ns - ring->suspect_ns,
        "its heartbeat was late, so node %u suspected it: %u probe%s to it from here on",
        account->seen_by, ring->probes, plural(ring->probes));
}

static void add_helpers(struct line *line, const struct account *account)
{
    const struct mu_ring_proof *ring = &account->ring;
    static const char *const came[] = {
        [MU_REACH_NONE] = "it did not reply",
        [MU_REACH_TRYING] = "it tried, and got no answer",
        [MU_REACH_HEARD] = "it heard it",
        [MU_REACH_DEAD] = "it knew it to be dead",
    };
    uint64_t at_ns = was_observed(ring) ? ring->silent_ns - ring->suspect_ns : 0;
    for (uint32_t i = 0; i < ring->helper_count; i++)
        add(line, "helper", true, at_ns, "node %u was asked whether it reaches it: %s",
            ring->helpers[i].slot, came[ring->helpers[i].reach]);
    if (ring->helper_count == 0)
        add(line, "helper", false, 0, "nobody else was asked whether they reach it");
}

/* What the observer knew of itself: that it was neither cut off nor asleep. */
static void add_observer(struct line *line, const struct account *account)
{
    const struct mu_ring_proof *ring = &account->ring;
    if (ring->vouched_by != MU_SLOT_NONE)
        add(line, "vouched", false, 0,
            "node %u answered node %u meanwhile, so node %u was not cut off", ring->vouched_by,
            account->seen_by, account->seen_by);
    else
        add(line, "vouched", false, 0, "nobody else was left to vouch for node %u",
            account->seen_by);
    if (ring->lag_ns > 0)
        add(line, "lag", false, 0, "node %u was late itself by %.2f ms, which it gave back",
            account->seen_by, (double)ring->lag_ns / 1e6);
    else
        add(line, "lag", false, 0, "node %u was not late itself", account->seen_by);
}

static void add_declared(struct line *line, const struct account *account)
{
    const struct mu_ring_proof *ring = &account->ring;
    if (account->seen_by == account->node)
        add(line, "declared", true, ring->silent_ns,
            "node %u declared itself dead: of those that do not hear each other, fewer reached it",
            account->node);
    else if (account->cause == MU_CAUSE_UNREACHABLE)
        add(line, "declared", true, ring->silent_ns,
            "node %u declared it dead: others heard it, node %u did not, and that did not mend",
            account->seen_by, account->seen_by);
    else
        add(line, "declared", true, ring->silent_ns,
            "node %u declared it dead, %.2f ms after it was late", account->seen_by,
            (double)ring->suspect_ns / 1e6);
}

/* ---- everything else ---- */

static void add_seen(struct line *line, const struct account *account)
{
    char process[64] = "";
    if (account->pid != 0)
        snprintf(process, sizeof process, " (pid %u)", account->pid);
    switch (account->cause) {
    case MU_CAUSE_EXIT:
        add(line, "ended", true, 0, "node %u saw process %u%s end: %s", account->seen_by,
            account->rank, process, account->how);
        return;
    case MU_CAUSE_NODE_LOST:
        add(line, "lost", true, 0, "its node, %u, was lost", account->node);
        return;
    case MU_CAUSE_TOLD:
        add(line, "told", true, 0, "node %u said that it is dead", account->seen_by);
        return;
    case MU_CAUSE_WITNESS:
        add(line, "witness", true, 0, "its witness told node %u that its daemon has ended",
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
        char which[64] = "the only one";
        if (account->told_count > 1)
            snprintf(which, sizeof which, "the last of %zu", account->told_count);
        add(line, "known", true, seen_ns + last->after_ns,
            "node %u knew it, %s: %.2f ms after it was %s, over at most %u hop%s", last->node,
            which, (double)last->after_ns / 1e6,
            cause_has_proof(account->cause) ? "declared" : "seen", hops, plural(hops));
    } else {
        add(line, "known", false, 0, "no node has said that it knows it");
    }
    if (account->untold.count > 0)
        add(line, "untold", false, 0, "%s %s not said so",
            nodes_text(&account->untold, nodes, sizeof nodes),
            account->untold.count == 1 ? "has" : "have");
    if (account->no_answer.count > 0)
        add(line, "no-answer", false, 0, "%s %s not answer",
            nodes_text(&account->no_answer, nodes, sizeof nodes),
            account->no_answer.count == 1 ? "does" : "do");
}

/* Proof, also where the ring had found only silence. */
static void add_gone(struct line *line, const struct account *account, uint64_t seen_ns)
{
    if (account->is_gone)
        add(line, "gone", true, seen_ns + account->gone_after_ns,
            "its witness says that the daemon has ended and no process of the node is left");
}

size_t why_steps(const struct account *account, struct why_step steps[WHY_STEPS_MAX])
{
    struct line line = {.steps = steps};
    bool of_ring = cause_has_proof(account->cause);
    if (of_ring) {
        add_suspicion(&line, account);
        add_helpers(&line, account);
        add_observer(&line, account);
        add_declared(&line, account);
    } else {
        add_seen(&line, account);
    }
    add_gone(&line, account, of_ring ? account->ring.silent_ns : 0);
    add_told(&line, account, of_ring ? account->ring.silent_ns : 0);
    return line.count;
}
