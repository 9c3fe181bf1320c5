#include "sim/advise/world.h"

#include "sim/base/memory.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { OFFSETS = 8 };

void advise_push(struct advise_world *world, enum advise_what what, uint64_t after_ns, mu_slot node,
                 mu_slot peer, uint32_t ref)
{
    struct sim_item item = {.at_ns = world->queue.now_ns + after_ns,
                            .node = node,
                            .peer = peer,
                            .ref = ref,
                            .what = (uint8_t)what};
    sim_queue_push(&world->queue, &item);
}

uint64_t advise_draw_ns(struct advise_world *world, uint64_t most_ns)
{
    return sim_random_below(&world->random, most_ns + 1);
}

__attribute__((format(printf, 3, 4))) static void trace(const struct advise_world *world,
                                                        mu_slot slot, const char *format, ...)
{
    FILE *to = world->plan->trace;
    if (to == NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    fprintf(to, "%9.3f  node %-3u ", (double)world->queue.now_ns / (double)ADVISE_INTERVAL_NS,
            slot);
    vfprintf(to, format, arguments);
    fprintf(to, "\n");
    va_end(arguments);
}

/* "2.7 {0 1 3} +4 -5 #c0ffee", with who comes and who leaves. */
static void describe(const struct advise_world *world, const struct mu_advise_group *group,
                     char text[256])
{
    int at = snprintf(text, 256, "%u.%llu {", group->era, (unsigned long long)group->round);
    if (world->plan->trace == NULL || world->size > ADVISE_TRACKED_MAX)
        return;
    for (mu_slot slot = 0; slot < group->size && at < 230; slot++) {
        struct mu_advise_entry entry = mu_advise_group_get(group, slot);
        if (entry.gone || (entry.count % 2 == 1 && !entry.leaves))
            continue;
        at += snprintf(text + at, 256 - (size_t)at, "%s%u ",
                       entry.comes    ? "+"
                       : entry.leaves ? "-"
                                      : "",
                       slot);
    }
    snprintf(text + at, 256 - (size_t)at, "} #%04x",
             (unsigned)(mu_advise_group_key(group).hash & 0xffff));
}

/* ---- notices ---- */

static struct advise_parcel *new_parcel(struct advise_world *world)
{
    if (world->parcel_count == world->parcel_capacity) {
        world->parcel_capacity = world->parcel_capacity * 2 + 16;
        world->parcels =
            sim_realloc(world->parcels, world->parcel_capacity * sizeof *world->parcels);
    }
    struct advise_parcel *parcel = &world->parcels[world->parcel_count++];
    memset(parcel, 0, sizeof *parcel);
    parcel->heard = sim_calloc(world->size, 1);
    return parcel;
}

static bool is_same(const struct advise_parcel *parcel, const struct mu_advise_notice *notice)
{
    if (parcel->type != notice->type || parcel->number != notice->number || parcel->lost)
        return false;
    if (notice->type == MU_ADVISE_REFOUND)
        return true;
    struct mu_advise_key a = mu_advise_group_key(&parcel->group);
    struct mu_advise_key b = mu_advise_group_key(notice->group);
    return mu_advise_key_same(&a, &b);
}

static void send_out(struct advise_world *world, struct advise_parcel *parcel)
{
    uint32_t ref = (uint32_t)(parcel - world->parcels);
    for (mu_slot slot = 0; slot < world->size; slot++)
        if (!parcel->heard[slot] && world->seats[slot].alive) {
            parcel->waits++;
            advise_push(world, ADVISE_WHAT_NOTICE, advise_draw_ns(world, world->plan->tell_ns_max),
                        slot, parcel->from, ref);
        }
}

/* Whoever posts it, it is one notice. */
static void post(struct advise_world *world, mu_slot from, const struct mu_advise_notice *notice)
{
    for (uint32_t i = world->parcel_count; i-- > 0;)
        if (is_same(&world->parcels[i], notice)) {
            world->parcels[i].heard[from] = 1;
            return;
        }
    struct advise_parcel *parcel = new_parcel(world);
    parcel->type = notice->type;
    parcel->number = notice->number;
    parcel->from = from;
    parcel->heard[from] = 1;
    if (notice->type == MU_ADVISE_GROUP) {
        parcel->group.capacity = notice->group->count;
        parcel->group.entries =
            sim_calloc(notice->group->count + 1u, sizeof *parcel->group.entries);
        mu_advise_group_copy(&parcel->group, notice->group);
    }
    send_out(world, parcel);
}

static bool anybody_knows(const struct advise_world *world, const struct advise_parcel *parcel)
{
    for (mu_slot slot = 0; slot < world->size; slot++)
        if (parcel->heard[slot] && world->seats[slot].alive)
            return true;
    return false;
}

/* ---- crashes ---- */

static void crash(struct advise_world *world, mu_slot slot)
{
    if (!world->seats[slot].alive || world->living == 1)
        return;
    trace(world, slot, "crashes");
    world->seats[slot].alive = false;
    world->living--;
    for (mu_slot peer = 0; peer < world->size; peer++)
        if (world->seats[peer].alive)
            advise_push(world, ADVISE_WHAT_DEAD, advise_draw_ns(world, world->plan->tell_ns_max),
                        peer, slot, 0);
    for (uint32_t i = 0; i < world->parcel_count; i++) {
        struct advise_parcel *parcel = &world->parcels[i];
        if (parcel->waits > 0 && !parcel->lost && parcel->heard[slot] &&
            !anybody_knows(world, parcel) && sim_random_chance(&world->random, 50))
            parcel->lost = true;
    }
    advise_meetings_lose(world, slot);
}

/* ---- steps ---- */

static void enter(struct advise_world *world, mu_slot slot, const struct mu_advise_effect *effect)
{
    struct advise_seat *seat = &world->seats[slot];
    char text[256];
    describe(world, effect->round.group, text);
    trace(world, slot, "%s %s", effect->round.works ? "works in" : "is outside of", text);
    if (!effect->round.works)
        return;
    seat->contributed_ns = 0;
    seat->entered_ns = world->queue.now_ns;
    world->rounds += 1;
    world->foundings += effect->round.group->round == 1;
    advise_law_enters(world, slot, effect->round.group);
    if (!world->plan->config.has_program)
        return;
    uint64_t work_ns = 1 + advise_draw_ns(world, world->plan->work_ns_max);
    advise_push(world, ADVISE_WHAT_ARRIVE, work_ns * world->slow[slot] / 10, slot, MU_SLOT_NONE,
                (uint32_t)(effect->round.group->round ^ (uint64_t)effect->round.group->era << 24));
}

static void contribute(struct advise_world *world, mu_slot slot,
                       const struct mu_advise_effect *effect)
{
    const struct mu_advise_group *group = effect->contribute.group;
    struct mu_advise_key key = mu_advise_group_key(group);
    struct mu_advise_key own = mu_advise_group_key(mu_advise_group_of(advise_at(world, slot)));
    char text[256];
    describe(world, group, text);
    bool refuses = effect->contribute.value.count > 0 &&
                   mu_advise_says_of(effect->contribute.value.words[0]) == MU_ADVISE_VOID;
    trace(world, slot, "%s %s", refuses ? "refuses" : "contributes to", text);
    if (mu_advise_works(advise_at(world, slot)) && mu_advise_key_same(&key, &own)) {
        world->seats[slot].contributed_ns = world->queue.now_ns;
        advise_law_contributes(world, slot);
    }
    advise_meeting_say(world, advise_meeting_of(world, group), slot, &effect->contribute.value);
}

static void accuse(struct advise_world *world, mu_slot slot, const struct mu_advise_notice *notice)
{
    for (uint32_t i = 0; i < notice->count; i++) {
        trace(world, slot, "accuses %u", mu_advise_subject_of(notice->words[i]));
        advise_law_accuses(world, slot, mu_advise_subject_of(notice->words[i]));
    }
}

static void carry_out(struct advise_world *world, mu_slot slot,
                      const struct mu_advise_effect *effect)
{
    struct advise_seat *seat = &world->seats[slot];
    struct mu_advise_value value = {0};
    if (effect->type != MU_ADVISE_ASK)
        mu_fingerprint_add(&world->digest, (uint64_t)slot << 8 | (uint64_t)effect->type);
    switch (effect->type) {
    case MU_ADVISE_ASK:
        seat->asked[seat->asked_count++] = effect->peer;
        return;
    case MU_ADVISE_POST:
        if (effect->notice.type == MU_ADVISE_ACCUSED)
            accuse(world, slot, &effect->notice);
        else
            post(world, slot, &effect->notice);
        return;
    case MU_ADVISE_CONTRIBUTE:
        contribute(world, slot, effect);
        return;
    case MU_ADVISE_JOIN:
        trace(world, slot, "joins agreement %u of all as %s", effect->join.number,
              effect->join.no_member ? "no member" : "a member");
        value.bits = effect->join.no_member;
        advise_meeting_say(world, advise_meeting_of_all(world, effect->join.number), slot, &value);
        return;
    case MU_ADVISE_ROUND:
        enter(world, slot, effect);
        return;
    case MU_ADVISE_FAULT:
        advise_law_fail(world, "no-fault", "node %u: %s", slot, mu_fault_text(effect->fault));
        return;
    }
    abort();
}

static void step(struct advise_world *world, mu_slot slot, const struct mu_advise_event *event)
{
    struct advise_seat *seat = &world->seats[slot];
    mu_advise_step(advise_at(world, slot), event, &world->update);
    uint32_t count = world->update.count;
    bool cuts = seat->cut && count > 0 &&
                (event->type == MU_ADVISE_DECIDED || event->type == MU_ADVISE_REFOUNDED);
    if (cuts && seat->cut_after < count)
        count = seat->cut_after;
    if (event->type == MU_ADVISE_INTERVAL)
        seat->asked_count = 0;
    for (uint32_t i = 0; i < count; i++)
        carry_out(world, slot, &world->update.effects[i]);
    if (cuts)
        crash(world, slot);
}

/* ---- tests ---- */

/* One run of a process in an interval: the same for all that ask. */
static uint64_t run_ns(const struct advise_world *world, mu_slot slot, uint32_t interval,
                       uint32_t run)
{
    uint64_t drawn =
        sim_random_hash(world->plan->seed ^ (uint64_t)slot << 40 ^ (uint64_t)interval << 8 ^ run);
    uint64_t noise = world->plan->noise_percent > 0 ? drawn % (2 * world->plan->noise_percent) : 0;
    uint64_t percent = 100 - world->plan->noise_percent + noise;
    return ADVISE_RUN_NS / 1000 * world->slow[slot] * world->stall_percent * percent / 100;
}

static void runs(const struct advise_world *world, mu_slot slot, uint32_t interval,
                 uint64_t runs_ns[MU_TEST_RUNS])
{
    for (uint32_t i = 0; i < MU_TEST_RUNS; i++)
        runs_ns[i] = run_ns(world, slot, interval, i);
}

static bool strikes(const struct advise_world *world, enum advise_fault_type type, mu_slot a,
                    mu_slot b, uint32_t interval)
{
    for (uint32_t i = 0; i < world->plan->fault_count; i++) {
        const struct advise_fault *fault = &world->plan->faults[i];
        if (fault->type == type && interval >= fault->first && interval <= fault->last &&
            ((fault->node == a && fault->peer == b) || (fault->node == b && fault->peer == a)))
            return true;
    }
    return false;
}

static void answer(struct advise_world *world, mu_slot slot, mu_slot from, uint64_t *time_ns)
{
    struct mu_advise_event event = {.type = MU_ADVISE_ANSWER};
    event.answer.from = from;
    runs(world, from, world->interval, event.answer.runs_ns);
    *time_ns = mu_test_middle(event.answer.runs_ns);
    step(world, slot, &event);
}

/* Else the question was of a stint that is over: what is answered does not count. */
bool advise_is_asked(const struct advise_world *world, mu_slot tester, mu_slot tested)
{
    uint64_t median_ns;
    const struct mu_trial *trial = mu_advise_trial(advise_at(world, tester), tested, &median_ns);
    return trial != NULL && trial->asked;
}

/* What a late tester has is what came before its stall: of some it has nothing. */
static void tick(struct advise_world *world, mu_slot slot)
{
    struct advise_seat *seat = &world->seats[slot];
    struct mu_advise_event event = {.type = MU_ADVISE_INTERVAL};
    bool late = strikes(world, ADVISE_LATE, slot, slot, world->interval);
    uint64_t *times = world->plan->tracked ? sim_calloc(world->size, sizeof *times) : NULL;
    uint64_t time_ns;
    for (mu_slot peer = 0; times != NULL && peer < world->size; peer++)
        times[peer] = MU_NEVER;
    for (uint32_t i = 0; i < seat->asked_count; i++) {
        mu_slot peer = seat->asked[i];
        if (!world->seats[peer].alive || (late && sim_random_chance(&world->random, 50)) ||
            (world->plan->tracked && strikes(world, ADVISE_BAD_LINK, slot, peer, world->interval)))
            continue;
        answer(world, slot, peer, times != NULL ? &times[peer] : &time_ns);
        if (times != NULL && !advise_is_asked(world, slot, peer))
            times[peer] = MU_NEVER;
    }
    world->tests += seat->asked_count;
    seat->tests_max = seat->asked_count > seat->tests_max ? seat->asked_count : seat->tests_max;
    event.interval.late = late;
    event.interval.has_run = true;
    runs(world, slot, world->interval, event.interval.runs_ns);
    if (times != NULL)
        advise_law_tests(world, slot, times, mu_test_middle(event.interval.runs_ns), late);
    free(times);
    step(world, slot, &event);
    advise_push(world, ADVISE_WHAT_TICK, ADVISE_INTERVAL_NS, slot, MU_SLOT_NONE, 0);
}

/* The next interval: who is slow in it. */
static void turn(struct advise_world *world)
{
    world->interval++;
    world->stall_percent = 100;
    memset(world->slow, 10, world->size);
    for (uint32_t i = 0; i < world->plan->fault_count; i++) {
        const struct advise_fault *fault = &world->plan->faults[i];
        if (world->interval < fault->first || world->interval > fault->last)
            continue;
        if (fault->type == ADVISE_STALL)
            world->stall_percent = fault->percent;
        else if (fault->type == ADVISE_SLOW)
            world->slow[fault->node] = (uint8_t)(fault->percent / 10);
    }
    for (mu_slot slot = 0; slot < world->size; slot++) {
        if (world->slow[slot] > 10)
            world->well_since[slot] = world->interval + 1;
        if (world->slow[slot] < 30)
            world->slow_since[slot] = UINT32_MAX;
        else if (world->slow_since[slot] == UINT32_MAX)
            world->slow_since[slot] = world->interval;
    }
    if (world->interval < world->plan->end)
        advise_push(world, ADVISE_WHAT_GRID, ADVISE_INTERVAL_NS, 0, MU_SLOT_NONE, 0);
}

/* ---- what happens ---- */

static void arrive(struct advise_world *world, const struct sim_item *item)
{
    const struct mu_advise *advise = advise_at(world, item->node);
    const struct mu_advise_group *group = mu_advise_group_of(advise);
    uint32_t present = (uint32_t)(group->round ^ (uint64_t)group->era << 24);
    if (mu_advise_works(advise) && present == item->ref)
        step(world, item->node,
             &(struct mu_advise_event){.type = MU_ADVISE_ARRIVE,
                                       .arrive.bits = ~(1ull << item->node % 64)});
}

static void decide_all(struct advise_world *world, mu_slot slot, uint32_t ref)
{
    const struct advise_meeting *meeting = &world->meetings[ref];
    struct mu_advise_event event = {.type = MU_ADVISE_REFOUNDED};
    event.refounded.number = meeting->number;
    event.refounded.no_member = meeting->no_member;
    event.refounded.failed = meeting->failed;
    event.refounded.failed_count = meeting->failed_count;
    trace(world, slot, "decides agreement %u of all: %s", meeting->number,
          meeting->no_member ? "no member is left" : "there are members");
    step(world, slot, &event);
}

static void decide(struct advise_world *world, mu_slot slot, uint32_t ref)
{
    advise_meeting_decide(world, &world->meetings[ref], slot);
    const struct advise_meeting *meeting = &world->meetings[ref];
    if (meeting->key.round == 0) {
        decide_all(world, slot, ref);
        return;
    }
    struct mu_advise *advise = advise_at(world, slot);
    struct mu_advise_key own = mu_advise_group_key(&advise->group);
    bool works = advise->works && mu_advise_key_same(&own, &meeting->key);
    struct mu_advise_group from = {.capacity = advise->group.capacity};
    from.entries = sim_calloc(from.capacity, sizeof *from.entries);
    mu_advise_group_copy(&from, &advise->group);
    struct mu_advise_event event = {.type = MU_ADVISE_DECIDED};
    event.decided.key = meeting->key;
    event.decided.decision.value = mu_advise_gather_value(&meeting->value);
    event.decided.decision.failed = meeting->failed;
    event.decided.decision.failed_count = meeting->failed_count;
    trace(world, slot, "decides %u.%llu #%04x, %u words, %u failed", meeting->key.era,
          (unsigned long long)meeting->key.round, (unsigned)(meeting->key.hash & 0xffff),
          meeting->value.count, meeting->failed_count);
    if (meeting->value.count > world->round_words_max)
        world->round_words_max = meeting->value.count;
    step(world, slot, &event);
    if (works && world->seats[slot].alive)
        advise_law_decides(world, slot, &from, &advise->group, &world->meetings[ref]);
    free(from.entries);
}

static void hear(struct advise_world *world, const struct sim_item *item)
{
    struct advise_parcel *parcel = &world->parcels[item->ref];
    parcel->waits--;
    if (parcel->lost || parcel->heard[item->node] || !world->seats[item->node].alive)
        return;
    parcel->heard[item->node] = 1;
    struct mu_advise_group group = parcel->group; /* the parcels may move, its entries do not */
    struct mu_advise_notice notice = {
        .type = parcel->type, .number = parcel->number, .group = &group};
    struct mu_advise_event event = {.type = MU_ADVISE_HEAR, .notice = &notice};
    step(world, item->node, &event);
}

static void strike(struct advise_world *world, const struct sim_item *item)
{
    const struct advise_fault *fault = &world->plan->faults[item->ref];
    if (fault->after_effects == ADVISE_NOT_IN_STEP) {
        crash(world, item->node);
        return;
    }
    world->seats[item->node].cut = true;
    world->seats[item->node].cut_after = fault->after_effects;
}

static void happen(struct advise_world *world, const struct sim_item *item)
{
    if (item->what == ADVISE_WHAT_NOTICE) {
        hear(world, item);
        return;
    }
    if (item->what == ADVISE_WHAT_GRID) {
        turn(world);
        return;
    }
    if (!world->seats[item->node].alive)
        return;
    switch ((enum advise_what)item->what) {
    case ADVISE_WHAT_GRID:
    case ADVISE_WHAT_NOTICE:
        break;
    case ADVISE_WHAT_TICK:
        tick(world, item->node);
        return;
    case ADVISE_WHAT_ARRIVE:
        arrive(world, item);
        return;
    case ADVISE_WHAT_BEGUN:
        step(world, item->node,
             &(struct mu_advise_event){.type = MU_ADVISE_BEGUN,
                                       .begun = world->meetings[item->ref].key});
        return;
    case ADVISE_WHAT_DECIDE:
        decide(world, item->node, item->ref);
        return;
    case ADVISE_WHAT_DEAD:
        step(world, item->node,
             &(struct mu_advise_event){.type = MU_ADVISE_DEAD, .dead = item->peer});
        return;
    case ADVISE_WHAT_CRASH:
        strike(world, item);
        return;
    }
    abort();
}

/* ---- the world ---- */

static void start(struct advise_world *world)
{
    const struct advise_plan *plan = world->plan;
    advise_push(world, ADVISE_WHAT_GRID, 0, 0, MU_SLOT_NONE, 0);
    for (mu_slot slot = 0; slot < world->size; slot++) {
        const struct mu_advise_group *group = mu_advise_group_of(advise_at(world, slot));
        struct mu_advise_effect effect = {.type = MU_ADVISE_ROUND};
        effect.round.group = group;
        effect.round.works = true;
        enter(world, slot, &effect);
        advise_push(world, ADVISE_WHAT_TICK,
                    1 + ADVISE_INTERVAL_NS / 2 +
                        advise_draw_ns(world, ADVISE_INTERVAL_NS / OFFSETS),
                    slot, MU_SLOT_NONE, 0);
    }
    for (uint32_t i = 0; i < plan->fault_count; i++)
        if (plan->faults[i].type == ADVISE_CRASH)
            advise_push(world, ADVISE_WHAT_CRASH,
                        plan->faults[i].first * ADVISE_INTERVAL_NS +
                            advise_draw_ns(world, ADVISE_INTERVAL_NS),
                        plan->faults[i].node, MU_SLOT_NONE, i);
}

static void init_node(struct advise_world *world, mu_slot slot)
{
    struct mu_advise_config config = world->plan->config;
    config.self = slot;
    mu_advise_init(world->nodes + slot * world->node_bytes, world->node_bytes, &config);
    world->seats[slot].alive = true;
    world->seats[slot].asked = sim_calloc(config.limits.tested, sizeof *world->seats[slot].asked);
    world->slow[slot] = 10;
    world->slow_since[slot] = UINT32_MAX;
}

void advise_world_init(struct advise_world *world, const struct advise_plan *plan)
{
    memset(world, 0, sizeof *world);
    world->plan = plan;
    world->size = world->living = plan->config.size;
    world->node_bytes = mu_advise_bytes(&plan->config);
    world->nodes = sim_map(world->size * world->node_bytes);
    world->seats = sim_calloc(world->size, sizeof *world->seats);
    world->slow = sim_calloc(world->size, 1);
    world->slow_since = sim_calloc(world->size, sizeof *world->slow_since);
    world->well_since = sim_calloc(world->size, sizeof *world->well_since);
    world->stall_percent = 100;
    world->update.capacity = mu_advise_effects_max(&plan->config);
    world->update.effects = sim_calloc(world->update.capacity, sizeof *world->update.effects);
    sim_queue_init(&world->queue);
    sim_random_init(&world->random, plan->seed);
    mu_fingerprint_init(&world->digest);
    for (mu_slot slot = 0; slot < world->size; slot++)
        init_node(world, slot);
    advise_law_init(world);
    start(world);
}

void advise_world_free(struct advise_world *world)
{
    advise_law_free(world);
    for (uint32_t i = 0; i < world->meeting_count; i++)
        advise_meeting_free(&world->meetings[i]);
    for (uint32_t i = 0; i < world->parcel_count; i++) {
        free(world->parcels[i].heard);
        free(world->parcels[i].group.entries);
    }
    for (mu_slot slot = 0; slot < world->size; slot++)
        free(world->seats[slot].asked);
    free(world->meetings);
    free(world->parcels);
    free(world->seats);
    free(world->slow);
    free(world->slow_since);
    free(world->well_since);
    free(world->update.effects);
    sim_queue_free(&world->queue);
    sim_unmap(world->nodes, world->size * world->node_bytes);
}

bool advise_world_run_until(struct advise_world *world, uint64_t until_ns)
{
    struct sim_item item;
    while (world->broken == NULL && sim_queue_pop(&world->queue, &item)) {
        world->events++;
        happen(world, &item);
        if (item.at_ns >= until_ns)
            break;
    }
    return world->broken == NULL;
}

void advise_world_run(struct advise_world *world)
{
    if (advise_world_run_until(world, world->plan->end * ADVISE_INTERVAL_NS))
        advise_law_end(world);
}
