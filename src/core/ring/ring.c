#include "core/ring/ring.h"

#include "core/ring/inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- configuration ---- */

/* A deadline is a time below 2^63 and a wait: the sum must not wrap. */
#define WAIT_NS_MAX (MU_NEVER / 4)

void mu_detect_config_default(struct mu_detect_config *config, uint32_t size, mu_slot self)
{
    assert(size >= 1 && size <= MU_SIZE_MAX && self < size);
    memset(config, 0, sizeof *config);
    config->size = size;
    config->self = self;
    config->incarnation = 1;
    config->period_ns = 100ull * 1000 * 1000;
    config->timeout_ns = 200ull * 1000 * 1000;
    config->grace_ns = 10ull * 1000 * 1000 * 1000;
    config->dead = size;
}

const char *mu_detect_times_error(uint64_t period_ns, uint64_t timeout_ns)
{
    if (period_ns < MU_PERIOD_NS_MIN)
        return "period must be at least 1 ms";
    if (timeout_ns > MU_TIMEOUT_NS_MAX)
        return "timeout must be at most an hour";
    if (timeout_ns / MU_TIMEOUT_RATIO_MIN < period_ns)
        return "timeout must be at least two periods";
    return NULL;
}

const char *mu_detect_config_error(const struct mu_detect_config *config)
{
    if (config->size < 1 || config->size > MU_SIZE_MAX)
        return "size must be between 1 and 16777216";
    if (config->self >= config->size)
        return "self must be below size";
    if (config->incarnation == 0)
        return "incarnation must be at least 1";
    if (config->dead > config->size)
        return "room for dead nodes must not be more than size";
    if (config->grace_ns > WAIT_NS_MAX)
        return "grace must be below 2^62 ns";
    if (config->loop_ns > WAIT_NS_MAX)
        return "patience with the main loop must be below 2^62 ns";
    if (config->nonce > INT64_MAX)
        return "nonce must be below 2^63";
    return mu_detect_times_error(config->period_ns, config->timeout_ns);
}

/* ---- memory ---- */

static void reset(struct mu_detect *detect, const struct mu_detect_config *config)
{
    detect->size = config->size;
    detect->self = config->self;
    detect->incarnation = config->incarnation;
    detect->period_ns = config->period_ns;
    detect->timeout_ns = config->timeout_ns;
    detect->grace_ns = config->grace_ns;
    detect->nonce = config->nonce;
    detect->broken_rules = config->broken_rules;
    detect->asked_ns = MU_NEVER;
    detect->nearest = MU_SLOT_NONE;
    detect->undecided = MU_SLOT_NONE;
    detect->lease.ended_by = MU_SLOT_NONE;
    detect->tell.next_ns = MU_NEVER;
    mu_watched_init(detect);
    mu_observe_init(detect);
    mu_ask_init(detect);
    mu_part_clear(detect);
    mu_help_init(detect);
    mu_loop_init(detect, config->loop_ns);
}

static struct mu_detect *lay_out(struct mu_arena *arena, const struct mu_detect_config *config)
{
    struct mu_roster unused; /* a measuring arena hands out no memory to write to */
    struct mu_detect *detect = mu_arena_array_line(arena, 1, sizeof *detect);
    mu_roster_init(detect == NULL ? &unused : &detect->dead, arena, config->size, config->dead);
    struct mu_unproven *unproven = mu_arena_array(arena, config->dead, sizeof *unproven);
    if (detect != NULL)
        detect->unproven = unproven;
    return detect;
}

size_t mu_detect_bytes(const struct mu_detect_config *config)
{
    struct mu_arena arena;
    mu_arena_init(&arena, NULL, 0);
    lay_out(&arena, config);
    return (arena.used + 63) / 64 * 64;
}

struct mu_detect *mu_detect_init(void *memory, size_t bytes, const struct mu_detect_config *config)
{
    assert(memory != NULL && mu_detect_config_error(config) == NULL);
    struct mu_arena arena;
    mu_arena_init(&arena, memory, bytes);
    struct mu_detect *detect = lay_out(&arena, config);
    reset(detect, config);
    return detect;
}

/* ---- effects ---- */

uint32_t mu_detect_effects_max(const struct mu_detect_config *config)
{
    (void)config;
    return MU_DETECT_EFFECTS_MAX;
}

struct mu_detect_effect *mu_detect_add(struct mu_detect_update *update,
                                       enum mu_detect_effect_type type)
{
    assert(update->count < MU_DETECT_EFFECTS_MAX);
    struct mu_detect_effect *effect = &update->effects[update->count++];
    memset(effect, 0, sizeof *effect);
    effect->type = type;
    return effect;
}

struct mu_beat *mu_detect_send(struct mu_detect *detect, enum mu_beat_type type, mu_slot to,
                               uint32_t to_incarnation, struct mu_detect_update *update)
{
    struct mu_beat *beat = &mu_detect_add(update, MU_DETECT_SEND)->beat;
    beat->type = (uint8_t)type;
    beat->from = detect->self;
    beat->to = to;
    beat->from_incarnation = detect->incarnation;
    beat->to_incarnation = to_incarnation;
    detect->counts.sent[type]++;
    return beat;
}

/* ---- datagrams ---- */

static bool is_sound(const struct mu_detect *detect, const struct mu_beat *beat)
{
    return beat->type >= MU_BEAT_WATCH && beat->type <= MU_BEAT_LAST &&
           beat->reach <= MU_REACH_LAST && beat->from < detect->size &&
           beat->from != detect->self && beat->to == detect->self && beat->from_incarnation != 0 &&
           beat->subject < detect->size && beat->nonce < MU_NEVER;
}

static void take_in(struct mu_detect *detect, const struct mu_beat *beat,
                    struct mu_detect_update *update)
{
    switch ((enum mu_beat_type)beat->type) {
    case MU_BEAT_WATCH:
        mu_watched_on_watch(detect, beat, update);
        return;
    case MU_BEAT_BEAT:
        mu_observe_on_beat(detect, beat, update);
        return;
    case MU_BEAT_ACK:
        mu_watched_on_ack(detect, beat);
        return;
    case MU_BEAT_RELEASE:
        if (beat->subject == detect->self)
            mu_watched_on_release(detect, beat);
        else
            mu_help_on_release(detect, beat);
        return;
    case MU_BEAT_PROBE:
        mu_help_on_probe(detect, beat, update);
        return;
    case MU_BEAT_ANSWER:
        if (beat->subject == detect->self)
            mu_observe_on_answer(detect, beat, update);
        else
            mu_help_on_answer(detect, beat, update);
        return;
    case MU_BEAT_ASK:
        mu_help_on_ask(detect, beat, update);
        return;
    case MU_BEAT_REPLY:
        mu_ask_on_reply(detect, beat, update);
        return;
    case MU_BEAT_TAKE:
        mu_help_on_take(detect, beat, update);
        return;
    case MU_BEAT_DEAD:
        mu_out_on_dead(detect, beat, update);
        return;
    }
    abort();
}

static void on_recv(struct mu_detect *detect, const struct mu_beat *beat,
                    struct mu_detect_update *update)
{
    if (!is_sound(detect, beat)) {
        mu_detect_drop(detect);
        return;
    }
    detect->counts.received[beat->type]++;
    if (beat->to_incarnation != detect->incarnation && beat->to_incarnation != 0 &&
        beat->type != MU_BEAT_DEAD)
        mu_detect_drop(detect);
    else if (beat->type == MU_BEAT_DEAD || !mu_roster_is_vacant(&detect->dead, beat->from))
        take_in(detect, beat, update);
    else if (mu_detect_is_out(detect, beat->from, beat->from_incarnation)) {
        mu_out_tell(detect, beat->from, beat->from_incarnation, update);
        mu_detect_drop(detect);
    } else
        mu_detect_drop(detect); /* a later tenant of a slot that is out: for views to admit */
}

/* ---- time ---- */

/* N8.  Lag is measured from the deadline that was asked for; what was given back once is not given
 * again, however many steps it takes until the deadline is kept. */
static void measure_lag(struct mu_detect *detect)
{
    uint64_t lag_ns = mu_since_ns(detect->now_ns, detect->asked_ns);
    detect->counts.lag_ns_max = mu_max_ns(detect->counts.lag_ns_max, lag_ns);
    if (!mu_detect_lags(detect))
        return;
    uint64_t from_ns = mu_max_ns(detect->asked_ns, detect->credited_ns);
    detect->credited_ns = detect->now_ns;
    detect->counts.lags++;
    if (mu_detect_is_broken(detect, MU_DETECT_BROKEN_NO_LAG))
        return;
    mu_observe_give_back(detect, mu_since_ns(detect->now_ns, from_ns));
    mu_loop_give_back(detect, mu_since_ns(detect->now_ns, from_ns));
}

static uint64_t deadline_ns(const struct mu_detect *detect)
{
    uint64_t at_ns = mu_min_ns(mu_watched_deadline_ns(detect), mu_observe_deadline_ns(detect));
    at_ns = mu_min_ns(at_ns, mu_min_ns(mu_out_deadline_ns(detect), mu_loop_deadline_ns(detect)));
    return mu_min_ns(at_ns, mu_help_deadline_ns(detect));
}

static void on_timeout(struct mu_detect *detect, struct mu_detect_update *update)
{
    mu_loop_on_timeout(detect, update);
    if (mu_loop_is_silent(detect))
        return;
    mu_watched_on_timeout(detect, update); /* first: others wait for these */
    mu_observe_on_timeout(detect, update);
    if (detect->fenced)
        return;
    mu_help_on_timeout(detect, update);
    mu_out_on_timeout(detect, update);
}

static void on_start(struct mu_detect *detect, struct mu_detect_update *update)
{
    assert(!detect->started);
    detect->started = true;
    detect->grace_until_ns = detect->now_ns + detect->grace_ns;
    if (detect->size > 1)
        detect->nearest = mu_detect_slot_at(detect, 1);
    mu_observe_settle(detect, update);
}

static void on_set(struct mu_detect *detect, uint64_t period_ns, uint64_t timeout_ns,
                   struct mu_detect_update *update)
{
    assert(mu_detect_times_error(period_ns, timeout_ns) == NULL);
    if (detect->period_ns == period_ns && detect->timeout_ns == timeout_ns)
        return;
    uint64_t before_ns = detect->timeout_ns, spare_ns = before_ns - detect->period_ns;
    if (timeout_ns < before_ns || timeout_ns - period_ns < spare_ns) {
        bool goes_on = detect->now_ns < detect->longer_until_ns;
        detect->longer_ns = mu_max_ns(before_ns, goes_on ? detect->longer_ns : 0);
        detect->longer_spare_ns = mu_max_ns(spare_ns, goes_on ? detect->longer_spare_ns : 0);
        detect->longer_until_ns = detect->now_ns + 2 * detect->longer_ns;
    }
    detect->period_ns = period_ns;
    detect->timeout_ns = timeout_ns;
    mu_observe_on_set(detect, before_ns, update);
}

static void dispatch(struct mu_detect *detect, const struct mu_detect_event *event,
                     struct mu_detect_update *update)
{
    switch (event->type) {
    case MU_DETECT_START:
        on_start(detect, update);
        return;
    case MU_DETECT_TIMEOUT:
        on_timeout(detect, update);
        return;
    case MU_DETECT_RECV:
        on_recv(detect, event->beat, update);
        return;
    case MU_DETECT_OUT:
        mu_out_on_out(detect, event->out.slot, event->out.incarnation, event->out.proven, update);
        return;
    case MU_DETECT_SET:
        on_set(detect, event->set.period_ns, event->set.timeout_ns, update);
        return;
    case MU_DETECT_READY:
        detect->grace_until_ns = mu_min_ns(detect->grace_until_ns, detect->now_ns);
        return;
    case MU_DETECT_BROKE:
        mu_ask_on_broke(detect, event->broke.slot);
        return;
    case MU_DETECT_LAUNCHER:
        mu_ask_on_launcher(detect, event, update);
        return;
    case MU_DETECT_LOOP:
        mu_loop_on_answer(detect, update);
        return;
    }
    abort();
}

void mu_detect_step(struct mu_detect *detect, const struct mu_detect_event *event,
                    struct mu_detect_update *update)
{
    assert(event->now_ns >= detect->now_ns && event->now_ns < MU_NEVER / 2);
    assert(detect->started || event->type == MU_DETECT_START);
    assert(update->capacity >= MU_DETECT_EFFECTS_MAX);
    detect->now_ns = event->now_ns;
    update->count = 0;
    update->deadline_ns = MU_NEVER;
    if (detect->fenced || mu_loop_keeps_out(detect, event))
        return;
    if (detect->now_ns > detect->asked_ns)
        measure_lag(detect);
    mu_lease_settle(detect); /* it may have run out since the last step */
    dispatch(detect, event, update);
    if (detect->fenced)
        return;
    mu_lease_settle(detect);
    mu_lease_note(detect, update);
    if (mu_loop_is_silent(detect)) {
        mu_loop_hush(update);
        return; /* the deadline that was asked for is still owed: from there on it is lag */
    }
    mu_verdict_note_undecided(detect, update);
    update->deadline_ns = mu_max_ns(deadline_ns(detect), detect->now_ns);
    /* Only TIMEOUT keeps deadlines: one that has passed is still owed after any other step. */
    if (event->type == MU_DETECT_TIMEOUT || update->deadline_ns > detect->now_ns)
        detect->asked_ns = update->deadline_ns;
    else
        detect->asked_ns = mu_min_ns(detect->asked_ns, detect->now_ns);
}

/* ---- what can be seen from outside ---- */

const struct mu_detect_counts *mu_detect_counts(const struct mu_detect *detect)
{
    return &detect->counts;
}

mu_slot mu_detect_observes(const struct mu_detect *detect)
{
    return detect->ring[MU_RING_NEAREST].slot;
}

/* Who asks may have to begin anew with each. */
mu_slot mu_detect_depends_on(const struct mu_detect *detect)
{
    return mu_ask_is_on(detect) ? MU_SLOT_NONE : mu_detect_observes(detect);
}
