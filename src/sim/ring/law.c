#include "sim/ring/law.h"

#include "core/ring/inside.h"
#include "sim/base/memory.h"
#include "sim/ring/law_inside.h"
#include "sim/ring/world.h"
#include "wire/peer/beat.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAG_PART = 8 /* of (timeout - period): more than that is lag */ };

static void note_times(struct ring_law *law, uint64_t period_ns, uint64_t timeout_ns)
{
    law->timeout_ns_max = ring_law_max(law->timeout_ns_max, timeout_ns);
    law->timeout_ns_min = ring_law_min(law->timeout_ns_min, timeout_ns);
    law->period_ns_max = ring_law_max(law->period_ns_max, period_ns);
    law->spare_ns_min = ring_law_min(law->spare_ns_min, timeout_ns - period_ns);
    law->spare_ns_max = ring_law_max(law->spare_ns_max, timeout_ns - period_ns);
}

void ring_law_init(struct ring_law *law, const struct ring_world *world)
{
    const struct ring_plan *plan = world->plan;
    memset(law, 0, sizeof *law);
    law->timeout_ns_min = law->spare_ns_min = MU_NEVER;
    note_times(law, plan->config.period_ns, plan->config.timeout_ns);
    if (!plan->small)
        return;
    law->pairs = sim_calloc((size_t)world->size * world->size, sizeof *law->pairs);
    law->records = sim_calloc(world->size, sizeof *law->records);
    for (mu_slot slot = 0; slot < world->size; slot++) {
        struct ring_record *record = &law->records[slot];
        record->period_ns = record->old_period_ns = plan->config.period_ns;
        record->timeout_ns = record->old_timeout_ns = plan->config.timeout_ns;
    }
}

void ring_law_free(struct ring_law *law)
{
    free(law->pairs);
    free(law->records);
    free(law->failures);
    memset(law, 0, sizeof *law);
}

void ring_law_fail(struct ring_world *world, const char *law, const char *format, ...)
{
    if (world->law.broken != NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(world->law.message, sizeof world->law.message, format, arguments);
    va_end(arguments);
    world->law.broken = law;
    world->law.broken_step = world->events;
}

/* ---- what the world does ---- */

void ring_law_on_lost(struct ring_world *world, const struct mu_beat *beat, uint64_t until_ns)
{
    if (!world->plan->small)
        return;
    mu_slot low = beat->from < beat->to ? beat->from : beat->to;
    struct ring_pair *pair = ring_pair(world, low, beat->from + beat->to - low);
    pair->lost_ns[pair->lost_next++ % RING_LOSSES] = world->queue->now_ns;
    uint64_t *from_ns = &world->law.records[beat->from].trouble_ns;
    uint64_t *to_ns = &world->law.records[beat->to].trouble_ns;
    *from_ns = ring_law_max(*from_ns, until_ns);
    *to_ns = ring_law_max(*to_ns, until_ns);
}

void ring_law_on_stall(struct ring_world *world, mu_slot slot, uint64_t until_ns)
{
    ring_law_on_failed(world, slot);
    if (!world->plan->small)
        return;
    struct ring_record *record = &world->law.records[slot];
    record->stalls[record->stall_next++ % RING_STALLS] =
        (struct ring_stall){.from_ns = world->queue->now_ns, .until_ns = until_ns};
}

void ring_law_on_set(struct ring_world *world, mu_slot slot, uint64_t period_ns,
                     uint64_t timeout_ns)
{
    struct ring_record *record = &world->law.records[slot];
    record->old_period_ns = record->period_ns;
    record->old_timeout_ns = record->timeout_ns;
    record->period_ns = period_ns;
    record->timeout_ns = timeout_ns;
    record->set_ns = world->queue->now_ns;
    note_times(&world->law, period_ns, timeout_ns);
}

/* ---- who hears whom ---- */

/* What was said before the last word that was heard says nothing new. */
static void note_heard(struct ring_world *world, mu_slot slot, mu_slot from, uint64_t said_ns)
{
    struct ring_pair *pair = ring_pair(world, slot, from);
    if (said_ns <= pair->said_ns)
        return;
    pair->said_ns = said_ns;
    pair->spoken = true;
    pair->heard_ns = world->queue->now_ns;
    pair->heard_lag_ns = world->law.records[slot].lag_ns;
    pair->asked_ns = 0;
}

/* N2: an answer that cannot be told from a recorded one.  What it proves is that its sender lived
 * when it was asked; from a later question, that of this watch or suspicion, there was a full
 * timeout for the next answer, as D2 has it. */
static bool is_void(const struct ring_world *world, mu_slot slot, const struct mu_beat *answer)
{
    const struct mu_detect *detect = ring_world_detect(world, slot);
    const struct ring_pair *pair = ring_pair(world, slot, answer->from);
    if (!mu_observe_is_watched(detect, answer->from))
        return answer->nonce < detect->ask.first_nonce;
    return !pair->spoken && answer->nonce < pair->begun_nonce;
}

/* An answer says that its sender lived when it was asked.  One that took longer than a timeout says
 * nothing: it may have been recorded. */
static void note_answered(struct ring_world *world, mu_slot slot, const struct mu_beat *beat)
{
    struct ring_pair *pair = ring_pair(world, slot, beat->from);
    uint64_t asked_ns = beat->stamp_ns - ring_world_clock_ns(world, slot);
    uint64_t took_ns = world->queue->now_ns - asked_ns;
    struct ring_pair *helped = ring_pair(world, slot, beat->subject);
    bool is_heard =
        beat->type == MU_BEAT_REPLY && beat->reach == MU_REACH_HEARD && beat->subject != slot;
    pair->replied_ns = world->queue->now_ns;
    if (is_heard)
        helped->replied_ns = world->queue->now_ns;
    if (took_ns <= world->law.timeout_ns_max + world->law.records[slot].lag_ns) /* its own (N2) */
        pair->vouched_ns = ring_law_max(pair->vouched_ns, asked_ns);
    if (took_ns > world->law.timeout_ns_min)
        return;
    if (beat->type == MU_BEAT_ANSWER && beat->subject == slot && !is_void(world, slot, beat))
        note_heard(world, slot, beat->from, beat->acked_ns);
    if (!is_heard || beat->acked_ns <= helped->said_ns)
        return;
    helped->said_ns = beat->acked_ns;
    helped->helped_ns = ring_law_max(helped->helped_ns, asked_ns);
    helped->helped_at_ns = helped->perhaps_ns = world->queue->now_ns;
}

static void note_received(struct ring_world *world, mu_slot slot, const struct mu_beat *beat)
{
    struct ring_pair *pair = ring_pair(world, slot, beat->from);
    if (pair->knows || !ring_world_lives(world, slot))
        return;
    if (beat->type == MU_BEAT_ANSWER || beat->type == MU_BEAT_REPLY)
        note_answered(world, slot, beat);
    if (beat->type == MU_BEAT_ACK)
        pair->acked_nonce = ring_law_max(pair->acked_nonce, beat->nonce);
    if (beat->type != MU_BEAT_BEAT)
        return;
    if (beat->nonce != pair->watch_nonce ||
        pair->released) { /* may count, as the watch before may be in force */
        pair->said_ns = ring_law_max(pair->said_ns, beat->stamp_ns);
        pair->perhaps_ns = world->queue->now_ns;
        return;
    }
    if (beat->stamp_ns <= pair->stamp_ns)
        return;
    pair->stamp_ns = beat->stamp_ns;
    pair->beat_ns = world->queue->now_ns;
    note_heard(world, slot, beat->from, beat->stamp_ns);
}

/* The launcher answers: what it hears of the suspect is what a helper would. */
static void note_launcher(struct ring_world *world, mu_slot slot,
                          const struct mu_detect_event *event)
{
    struct ring_pair *pair = ring_pair(world, slot, event->launcher.subject);
    uint64_t asked_ns = event->launcher.stamp_ns - ring_world_clock_ns(world, slot);
    uint64_t now_ns = world->queue->now_ns, clock_ns = event->launcher.clock_ns;
    uint64_t lag_ns = world->law.records[slot].lag_ns;
    if (pair->knows || now_ns - asked_ns > world->law.timeout_ns_max + lag_ns)
        return;
    pair->launched_ns = ring_law_max(pair->launched_ns, asked_ns);
    if (event->launcher.reach != MU_LAUNCHER_HEARD)
        return;
    pair->replied_ns = pair->perhaps_ns = pair->helped_at_ns = now_ns;
    if (now_ns - asked_ns > world->law.timeout_ns_min ||
        (clock_ns != 0 && clock_ns <= pair->said_ns))
        return;
    pair->said_ns = clock_ns != 0 ? clock_ns : pair->said_ns;
    pair->helped_ns = ring_law_max(pair->helped_ns, asked_ns);
}

/* Does the node remember a newer watch of the same observer?  It remembers a few. */
static bool knows_newer(const struct ring_world *world, mu_slot slot, const struct mu_beat *watch)
{
    const struct mu_detect *detect = ring_world_detect(world, slot);
    for (int i = 0; i < MU_DETECT_WATCHERS; i++)
        if (detect->watchers[i].slot == watch->from && detect->watchers[i].nonce > watch->nonce)
            return true;
    return false;
}

/* N2: a helper's word that is older than what is known must not change that. */
static void note_known(struct ring_world *world, mu_slot slot, const struct mu_beat *beat)
{
    const struct mu_watch *watch = mu_observe_find(ring_world_detect(world, slot), beat->subject);
    bool is_heard = beat->type == MU_BEAT_REPLY && beat->reach == MU_REACH_HEARD && watch != NULL;
    world->law.said_ns = is_heard ? watch->said_ns : 0;
    world->law.heard_ns = is_heard ? watch->heard_ns : 0;
}

void ring_law_before_step(struct ring_world *world, mu_slot slot,
                          const struct mu_detect_event *event)
{
    if (!world->plan->small)
        return;
    struct ring_record *record = &world->law.records[slot];
    uint64_t now_ns = world->queue->now_ns, due_ns = world->seats[slot].deadline_ns;
    uint64_t spare_ns = ring_law_max(record->timeout_ns - record->period_ns,
                                     record->old_timeout_ns - record->old_period_ns);
    if (event->type == MU_DETECT_START)
        record->start_ns = now_ns;
    /* A deadline stays in the past until TIMEOUT keeps it: what was counted is not counted again.
     */
    if (due_ns != MU_NEVER && now_ns > due_ns + spare_ns / LAG_PART) {
        record->lag_ns += now_ns - ring_law_max(due_ns, record->lag_until_ns);
        record->lag_until_ns = now_ns;
    }
    world->law.from_out = false;
    world->law.lagged = due_ns != MU_NEVER && now_ns > due_ns + spare_ns / LAG_PART;
    world->law.lapsed = ring_law_places(world, slot, true);
    world->law.held = mu_detect_lease_until_ns(ring_world_detect(world, slot)) > event->now_ns;
    if (event->type == MU_DETECT_LAUNCHER)
        note_launcher(world, slot, event);
    if (event->type != MU_DETECT_RECV || world->seats[slot].silent)
        return;
    world->law.from_out = ring_pair(world, slot, event->beat->from)->knows;
    world->law.newer_watch =
        event->beat->type == MU_BEAT_WATCH && knows_newer(world, slot, event->beat);
    world->law.dropped = mu_detect_counts(ring_world_detect(world, slot))->dropped;
    note_known(world, slot, event->beat);
    note_received(world, slot, event->beat);
}

/* ---- what is sent ---- */

static void note_asked(struct ring_world *world, mu_slot slot, mu_slot to)
{
    struct ring_pair *pair = ring_pair(world, slot, to);
    if (pair->asked_ns != 0)
        return;
    pair->asked_ns = world->queue->now_ns;
    pair->asked_lag_ns = world->law.records[slot].lag_ns;
}

/* What the released one still sends does not count. */
static void note_release(struct ring_world *world, mu_slot slot, const struct mu_beat *beat)
{
    if (beat->subject == beat->to)
        ring_pair(world, slot, beat->to)->released = true;
}

static void note_watch(struct ring_world *world, mu_slot slot, const struct mu_beat *beat)
{
    struct ring_pair *pair = ring_pair(world, slot, beat->to);
    if (beat->nonce < pair->watch_nonce)
        ring_law_fail(world, "nonce", "node %u watches node %u with an older nonce", slot,
                      beat->to);
    if (beat->nonce > pair->watch_nonce)
        pair->stamp_ns = 0;
    if (pair->released || pair->watch_nonce == 0) { /* a new watch; what began it, counts */
        pair->begun_nonce = beat->nonce;
        pair->spoken =
            pair->heard_ns == world->queue->now_ns || pair->replied_ns == world->queue->now_ns;
    }
    pair->watch_nonce = beat->nonce;
    pair->released = false;
}

/* N9: as long as what a TAKE may have granted. */
static void note_take(struct ring_world *world, mu_slot slot, const struct mu_beat *beat)
{
    struct ring_pair *pair = ring_pair(world, slot, beat->subject);
    pair->taken_ns =
        ring_law_max(pair->taken_ns, world->queue->now_ns + 2 * beat->timeout_ns - beat->period_ns);
}

/* D3: when everything is settled, a node beats and acknowledges, and that is all; where beats can
 * be late because of their delay, it also asks. */
static void check_quiet(struct ring_world *world, mu_slot slot, const struct mu_beat *beat)
{
    uint64_t jitter_ns = world->plan->net.delay_ns_max + 4 * world->plan->timer_ns_max;
    if (world->queue->now_ns < world->plan->quiet_ns || world->law.undeclared > 0 ||
        jitter_ns >= ring_law_tolerance_ns(world) || beat->type == MU_BEAT_BEAT ||
        beat->type == MU_BEAT_ACK || beat->type == MU_BEAT_DEAD)
        return;
    ring_law_fail(world, "D3",
                  "long after the last change node %u sends node %u more than beats "
                  "and acknowledgements (type %u)",
                  slot, beat->to, beat->type);
}

/* N2: what comes under a watch that is over does not count. */
static void check_fresh(struct ring_world *world, mu_slot slot, const struct mu_beat *beat)
{
    const struct ring_pair *pair = ring_pair(world, slot, beat->to);
    if (beat->type == MU_BEAT_ACK && beat->nonce < pair->begun_nonce)
        ring_law_fail(world, "N2",
                      "node %u acknowledges a beat of node %u under a watch that is over", slot,
                      beat->to);
}

/* N3: whoever stood still may have been taken for dead, and another one begun to ask. */
static void check_late_ack(struct ring_world *world, mu_slot slot, const struct mu_beat *beat)
{
    if (beat->type == MU_BEAT_ACK && world->law.lagged &&
        beat->nonce == ring_pair(world, slot, beat->to)->watch_nonce)
        ring_law_fail(world, "N3", "node %u stood still, and acknowledges what node %u said before",
                      slot, beat->to);
}

/* N9: who observes a node itself has an answer of its own, and takes it for nobody. */
static void check_taken(struct ring_world *world, mu_slot slot, const struct mu_beat *beat)
{
    if (beat->type != MU_BEAT_REPLY || beat->reach != MU_REACH_TAKEN)
        return;
    const struct ring_pair *pair = ring_pair(world, slot, beat->subject);
    if (world->law.lagged)
        ring_law_fail(world, "N9",
                      "node %u stood still, and follows what node %u may have given up since", slot,
                      beat->to);
    if (pair->watch_nonce != 0 && !pair->released && !pair->knows)
        ring_law_fail(world, "N9", "node %u observes node %u, and takes it in the place of node %u",
                      slot, beat->subject, beat->to);
}

void ring_law_on_send(struct ring_world *world, mu_slot slot, const struct mu_beat *beat)
{
    if (beat->from != slot || beat->to == slot || beat->to >= world->size)
        ring_law_fail(world, "address", "node %u sends a datagram from %u to %u", slot, beat->from,
                      beat->to);
    const char *wrong = mu_beat_error(beat);
    if (wrong != NULL)
        ring_law_fail(world, "wire",
                      "node %u sends node %u a datagram of type %u that nobody takes: %s", slot,
                      beat->to, beat->type, wrong);
    if (world->seats[slot].fenced)
        ring_law_fail(world, "fence", "node %u was fenced and sends to node %u", slot, beat->to);
    if (world->seats[slot].silent)
        ring_law_fail(world, "D7", "the main loop of node %u stands still, and it sends to node %u",
                      slot, beat->to);
    if (!world->plan->small || world->law.broken != NULL)
        return;
    if (ring_pair(world, slot, beat->to)->knows && beat->type != MU_BEAT_DEAD)
        ring_law_fail(world, "fence",
                      "node %u knows that node %u is out, and still talks to it "
                      "(type %u)",
                      slot, beat->to, beat->type);
    if (beat->type == MU_BEAT_WATCH || beat->type == MU_BEAT_PROBE)
        note_asked(world, slot, beat->to);
    if (beat->type == MU_BEAT_WATCH && beat->subject == slot) /* else for somebody else */
        note_watch(world, slot, beat);
    if (beat->type == MU_BEAT_RELEASE)
        note_release(world, slot, beat);
    if (beat->type == MU_BEAT_TAKE)
        note_take(world, slot, beat);
    check_fresh(world, slot, beat);
    check_taken(world, slot, beat);
    check_late_ack(world, slot, beat);
    check_quiet(world, slot, beat);
}
