#include "core/central/central.h"

#include "core/central/inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- configuration ---- */

/* A deadline is a time below 2^63 and some waits: the sum must not wrap. */
#define WAIT_NS_MAX (MU_NEVER / 64)

enum { MS = 1000 * 1000, CYCLE_NS_MIN = MS };

void mu_central_config_default(struct mu_central_config *config, uint32_t size, mu_slot self)
{
    assert(size >= 1 && size <= MU_SIZE_MAX && self < size);
    memset(config, 0, sizeof *config);
    config->size = size;
    config->self = self;
    config->incarnation = 1;
    config->hosts = MU_CENTRAL_HOSTS;
    config->dead = size;
    config->cycle_ns = 500ull * MS;
    config->floor_ns = 400ull * MS;
    config->ceiling_ns = 10000ull * MS;
}

static const char *times_error(const struct mu_central_config *config)
{
    if (config->cycle_ns < CYCLE_NS_MIN)
        return "cycle must be at least 1 ms";
    if (config->ceiling_ns > WAIT_NS_MAX || config->cycle_ns > WAIT_NS_MAX ||
        config->loop_ns > WAIT_NS_MAX)
        return "cycle, ceiling and patience with the main loop must be below 2^58 ns";
    if (config->floor_ns / 3 < config->cycle_ns / 4)
        return "floor must be at least three quarters of a cycle: a lease lasts from one poll to "
               "the one after the next";
    if (config->ceiling_ns < config->floor_ns)
        return "ceiling must be at least the floor";
    return NULL;
}

const char *mu_central_config_error(const struct mu_central_config *config)
{
    if (config->size < 1 || config->size > MU_SIZE_MAX)
        return "size must be between 1 and 16777216";
    if (config->self >= config->size)
        return "self must be below size";
    if (config->incarnation == 0)
        return "incarnation must be at least 1";
    if (config->hosts < 1 || config->hosts > config->size + MU_CENTRAL_HOSTS)
        return "room for hosts must be at least 1, and not far more than size";
    if (config->dead > config->size)
        return "room for dead nodes must not be more than size";
    if (config->nonce > INT64_MAX)
        return "nonce must be below 2^63";
    return times_error(config);
}

/* ---- memory ---- */

/* In a measuring arena 'central' is worth nothing afterwards. */
static void build(struct mu_central *central, struct mu_arena *arena,
                  const struct mu_central_config *config)
{
    mu_roster_init(&central->dead, arena, config->size, config->dead);
    central->hosts = mu_arena_array(arena, config->hosts, sizeof *central->hosts);
    central->other = mu_arena_array(arena, config->hosts, sizeof *central->other);
}

size_t mu_central_bytes(const struct mu_central_config *config)
{
    struct mu_arena arena;
    struct mu_central measured;
    mu_arena_init(&arena, NULL, 0);
    mu_arena_array(&arena, 1, sizeof measured);
    build(&measured, &arena, config);
    return (arena.used + 63) / 64 * 64;
}

struct mu_central *mu_central_init(void *memory, size_t bytes,
                                   const struct mu_central_config *config)
{
    assert(memory != NULL && mu_central_config_error(config) == NULL);
    struct mu_arena arena;
    mu_arena_init(&arena, memory, bytes);
    struct mu_central *central = mu_arena_array(&arena, 1, sizeof *central);
    build(central, &arena, config);
    central->config = *config;
    central->nonce = config->nonce;
    central->master = MU_SLOT_NONE;
    central->deadline_ns = central->round_ns = MU_NEVER;
    central->alarm_ns = central->missed_ns = MU_NEVER;
    central->loop_asked_ns = central->loop_next_ns = MU_NEVER;
    return central;
}

/* ---- effects ---- */

/* To each host a poll, three questions to helpers about it, a verdict and a report, or what a
 * member sends; DEAD to each of the dead; and what is there once. */
uint32_t mu_central_effects_max(const struct mu_central_config *config)
{
    return (MU_CENTRAL_HELPERS + 3) * config->hosts + config->dead + 8;
}

struct mu_central_effect *mu_central_add(struct mu_central_update *update,
                                         enum mu_central_effect_type type)
{
    assert(update->count < update->capacity);
    struct mu_central_effect *effect = &update->effects[update->count++];
    memset(effect, 0, sizeof *effect);
    effect->type = type;
    return effect;
}

struct mu_poll *mu_central_send(struct mu_central *central, enum mu_poll_type type,
                                const struct mu_central_host *to, struct mu_central_update *update)
{
    struct mu_poll *poll = &mu_central_add(update, MU_CENTRAL_SEND)->poll;
    poll->type = (uint8_t)type;
    poll->from = central->config.self;
    poll->from_incarnation = central->config.incarnation;
    poll->to = to->slot;
    poll->to_incarnation = to->incarnation;
    return poll;
}

/* ---- datagrams ---- */

static void take_in(struct mu_central *central, struct mu_central_host *from,
                    const struct mu_poll *poll, struct mu_central_update *update)
{
    switch ((enum mu_poll_type)poll->type) {
    case MU_POLL_POLL:
        mu_central_on_poll(central, from, poll, update);
        return;
    case MU_POLL_ANSWER:
        mu_central_on_answer(central, from, poll, update);
        return;
    case MU_POLL_ASK:
        mu_central_on_ask(central, from, poll, update);
        return;
    case MU_POLL_TRY:
        mu_central_on_try(central, from, poll, update);
        return;
    case MU_POLL_TRIED:
        mu_central_on_tried(central, from, poll, update);
        return;
    case MU_POLL_REPLY:
        mu_central_on_reply(central, poll, update);
        return;
    case MU_POLL_MISSED:
        mu_central_on_missed(central, from, poll, update);
        return;
    case MU_POLL_PRESENT:
        mu_central_on_present(central, from, poll);
        return;
    case MU_POLL_DEAD:
        return;
    }
}

/* C4, by a broken rule: what the paper does. */
static void bring_back(struct mu_central *central, const struct mu_poll *poll)
{
    struct mu_central_host *host = mu_central_find(central, poll->from);
    if (host == NULL || !mu_central_is_master(central) || poll->type != MU_POLL_ANSWER)
        return;
    host->out = false;
    host->asked_ns = host->suspect_ns = MU_NEVER;
}

static bool is_sound(const struct mu_central *central, const struct mu_poll *poll)
{
    return poll->type >= MU_POLL_POLL && poll->type <= MU_POLL_LAST &&
           poll->to == central->config.self && poll->from != central->config.self &&
           poll->from < central->config.size && poll->reach <= MU_REACH_LAST;
}

/* Declared; or another one has its place, and that proves its death. */
static bool is_out(const struct mu_central *central, const struct mu_central_host *from,
                   const struct mu_poll *poll)
{
    return mu_roster_is_out(&central->dead, poll->from, poll->from_incarnation) ||
           (from != NULL && poll->from_incarnation < from->incarnation);
}

static void on_dead(struct mu_central *central, const struct mu_poll *poll,
                    struct mu_central_update *update)
{
    if (poll->to_incarnation == central->config.incarnation)
        mu_central_fence(central, poll->from, update);
}

static void on_recv(struct mu_central *central, const struct mu_poll *poll,
                    struct mu_central_update *update)
{
    if (!is_sound(central, poll))
        return;
    struct mu_central_host *from = mu_central_find(central, poll->from);
    if (poll->type == MU_POLL_DEAD) {
        on_dead(central, poll, update);
    } else if (is_out(central, from, poll)) {
        if (mu_central_is_broken(central, MU_CENTRAL_BROKEN_BACK))
            bring_back(central, poll);
        else if (!mu_central_is_broken(central, MU_CENTRAL_BROKEN_TELLING))
            mu_central_tell(central, poll->from, poll->from_incarnation, update);
    } else if (from != NULL && !from->out && from->incarnation == poll->from_incarnation &&
               poll->to_incarnation == central->config.incarnation) {
        take_in(central, from, poll, update);
    } /* else it is of another view, and the next one says who that is */
    if (mu_central_is_broken(central, MU_CENTRAL_BROKEN_EARLY) && mu_central_is_master(central))
        mu_central_judge(central, update);
}

/* ---- time ---- */

/* C6.  A step that comes late was late by this node's own fault. */
static void measure_lag(struct mu_central *central)
{
    if (central->now_ns <= central->deadline_ns ||
        central->now_ns - central->deadline_ns <= central->config.cycle_ns / 2)
        return;
    central->lag_ns = central->now_ns - central->deadline_ns;
    central->deadline_ns = central->now_ns; /* given back once */
    if (central->loop_asked_ns != MU_NEVER)
        central->loop_asked_ns +=
            mu_central_min(central->lag_ns, central->now_ns - central->loop_asked_ns);
    if (!mu_central_is_broken(central, MU_CENTRAL_BROKEN_LAG))
        mu_central_forgive(central);
}

static uint64_t deadline_of(const struct mu_central *central)
{
    if (central->master == MU_SLOT_NONE || mu_central_loop_stands(central))
        return MU_NEVER;
    uint64_t at_ns = mu_central_is_master(central) ? mu_central_master_deadline_ns(central)
                                                   : mu_central_member_deadline_ns(central);
    uint64_t lease_ns = mu_central_lease_until_ns(central);
    if (central->held)
        at_ns = mu_central_min(at_ns, lease_ns);
    return mu_central_min(at_ns, mu_central_loop_deadline_ns(central));
}

static void on_timeout(struct mu_central *central, struct mu_central_update *update)
{
    mu_central_loop_ask(central, update);
    if (central->master == MU_SLOT_NONE || mu_central_loop_stands(central))
        return;
    if (!mu_central_is_master(central)) {
        mu_central_watch_master(central, update);
        return;
    }
    mu_central_judge(central, update);
    mu_central_keep_rounds(central, update);
}

static void on_recover(struct mu_central *central, mu_slot slot, struct mu_central_update *update)
{
    for (uint32_t i = 0; i < central->dead.count; i++)
        if (central->dead.entries[i].slot == slot)
            mu_central_tell(central, slot, central->dead.entries[i].incarnation, update);
}

static void dispatch(struct mu_central *central, const struct mu_central_event *event,
                     struct mu_central_update *update)
{
    switch (event->type) {
    case MU_CENTRAL_START:
        assert(!central->started);
        central->started = true;
        central->loop_next_ns = central->config.loop_ns == 0 ? MU_NEVER : central->now_ns;
        return;
    case MU_CENTRAL_TIMEOUT:
        on_timeout(central, update);
        return;
    case MU_CENTRAL_RECV:
        if (!mu_central_loop_stands(central) || event->poll->type == MU_POLL_DEAD)
            on_recv(central, event->poll, update);
        return;
    case MU_CENTRAL_VIEW:
        mu_central_on_view(central, event, update);
        return;
    case MU_CENTRAL_OUT:
        mu_central_mark_out(central, event->out.slot, event->out.incarnation, event->out.proven,
                            update);
        return;
    case MU_CENTRAL_LOOP:
        mu_central_loop_answer(central);
        return;
    case MU_CENTRAL_RECOVER:
        on_recover(central, event->slot, update);
        return;
    }
    abort();
}

static void note_lease(struct mu_central *central, struct mu_central_update *update)
{
    bool held = mu_central_lease_held(central);
    if (held == central->held)
        return;
    central->held = held;
    mu_central_add(update, MU_CENTRAL_LEASE)->held = held;
}

void mu_central_step(struct mu_central *central, const struct mu_central_event *event,
                     struct mu_central_update *update)
{
    assert(event->now_ns >= central->now_ns && event->now_ns < MU_NEVER / 2);
    assert(central->started || event->type == MU_CENTRAL_START);
    assert(update->capacity >= mu_central_effects_max(&central->config));
    central->now_ns = event->now_ns;
    update->count = 0;
    update->deadline_ns = MU_NEVER;
    if (central->fenced)
        return;
    measure_lag(central);
    dispatch(central, event, update);
    if (central->fenced)
        return;
    note_lease(central, update);
    uint64_t at_ns = mu_central_max(deadline_of(central), central->now_ns);
    /* Only TIMEOUT keeps deadlines: one that has passed is still owed after any other step. */
    bool owed = event->type != MU_CENTRAL_TIMEOUT && at_ns == central->now_ns;
    central->deadline_ns = owed ? mu_central_min(central->deadline_ns, at_ns) : at_ns;
    update->deadline_ns = at_ns;
}

/* ---- what can be seen from outside ---- */

mu_slot mu_central_master(const struct mu_central *central)
{
    return central->master;
}

uint64_t mu_central_timeout_ns(const struct mu_central *central, mu_slot slot)
{
    const struct mu_central_host *host = mu_central_find(central, slot);
    bool polls = host != NULL && mu_central_is_master(central) && mu_central_is_peer(central, host);
    return polls ? mu_central_wait_ns(central, host) : 0;
}

uint64_t mu_central_lease_until_ns(const struct mu_central *central)
{
    if (central->fenced || central->master == MU_SLOT_NONE || mu_central_loop_stands(central))
        return 0;
    uint64_t until_ns = mu_central_max(central->left_ns, mu_central_is_master(central)
                                                             ? mu_central_master_lease_ns(central)
                                                             : central->lease_ns);
    return until_ns > central->now_ns ? until_ns : 0;
}

bool mu_central_lease_held(const struct mu_central *central)
{
    return mu_central_lease_until_ns(central) > 0;
}
