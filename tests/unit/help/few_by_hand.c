#include "few_by_hand.h"

#include "wire/peer/beat.h"

struct few *few_new(uint32_t size)
{
    assert_true(size <= FEW_NODES_MAX);
    struct few *few = calloc(1, sizeof *few);
    assert_non_null(few);
    few->size = size;
    few->now_ns = 1000 * MS;
    few->delay_ns = 1 * MS;
    few->spread_ns = 2 * MS;
    mu_detect_config_default(&few->config, size, 0);
    few->config.grace_ns = 0;
    few->update.effects = few->effects;
    few->update.capacity = MU_DETECT_EFFECTS_MAX;
    return few;
}

void few_free(struct few *few)
{
    for (mu_slot slot = 0; slot < FEW_NODES_MAX; slot++)
        free(few->nodes[slot].detect);
    free(few);
}

uint64_t few_clock(const struct few *few, mu_slot slot)
{
    return few->now_ns + few->nodes[slot].clock_ns;
}

static void build(struct few *few, mu_slot slot)
{
    struct mu_detect_config config = few->config;
    config.self = slot;
    config.nonce = (slot + 1) * 1000000;
    void *memory = NULL;
    size_t bytes = mu_detect_bytes(&config);
    assert_int_equal(posix_memalign(&memory, 64, bytes), 0);
    few->nodes[slot].detect = mu_detect_init(memory, bytes, &config);
    few->nodes[slot].clock_ns = (slot * 7919 % 13) * 1234567891;
    few->nodes[slot].due_ns = MU_NEVER;
}

void few_start(struct few *few)
{
    for (mu_slot slot = 0; slot < few->size; slot++)
        if (few->nodes[slot].detect == NULL)
            build(few, slot);
    for (mu_slot slot = 0; slot < few->size; slot++)
        if (!few->nodes[slot].started && !few->nodes[slot].dead)
            few_step(few, slot, (struct mu_detect_event){.type = MU_DETECT_START});
}

void few_start_one(struct few *few, mu_slot slot)
{
    build(few, slot);
    few_step(few, slot, (struct mu_detect_event){.type = MU_DETECT_START});
}

struct few *few_started(uint32_t size)
{
    struct few *few = few_new(size);
    few_start(few);
    return few;
}

/* ---- effects ---- */

static void put_into_bag(struct few *few, const struct mu_beat *beat)
{
    assert_int_equal(beat->from, few->stepped);
    assert_true(beat->to < few->size && beat->to != beat->from);
    /* N11: who is known to be out is told so, and nothing else. */
    const struct mu_roster *dead = &few->nodes[beat->from].detect->dead;
    assert_true(beat->type == MU_BEAT_DEAD || !mu_roster_is_vacant(dead, beat->to));
    few->spoken++;
    if (few->nodes[beat->to].detect == NULL || few->cut[beat->from][beat->to] ||
        (few->loses != NULL && few->loses(few, beat)))
        return;
    for (uint32_t i = 0; i < FEW_BAG; i++)
        if (few->bag[i].at_ns == 0) {
            few->bagged = i < few->bagged ? few->bagged : i + 1;
            few->bag[i].at_ns = few->now_ns + few->delay_ns;
            few->bag[i].beat = *beat;
            return;
        }
    fail_msg("the bag is full");
}

static void spread(struct few *few, mu_slot by, mu_slot subject)
{
    for (mu_slot slot = 0; slot < few->size && few->spread_ns != MU_NEVER; slot++)
        if (slot != by && few->nodes[slot].told_ns[subject] == 0)
            few->nodes[slot].told_ns[subject] = few->now_ns + few->spread_ns;
}

/* The launcher answers a round trip later, as the test has said. */
static void few_launcher(struct few *few, mu_slot slot, const struct mu_detect_effect *effect)
{
    few->nodes[slot].answer =
        (struct mu_detect_event){.type = MU_DETECT_LAUNCHER,
                                 .launcher = {.subject = effect->ask.subject,
                                              .nonce = effect->ask.nonce,
                                              .stamp_ns = effect->ask.stamp_ns,
                                              .reach = few->launcher}};
    few->nodes[slot].answer_ns = few->now_ns + 2 * few->delay_ns;
}

static void carry_out(struct few *few, mu_slot slot, const struct mu_detect_effect *effect)
{
    if (effect->type == MU_DETECT_ASK_LAUNCHER && few->launcher != MU_LAUNCHER_NONE)
        few_launcher(few, slot, effect);
    if (effect->type == MU_DETECT_ASK_LAUNCHER)
        return;
    if (effect->type == MU_DETECT_SEND) {
        assert_null(mu_beat_error(&effect->beat));
        put_into_bag(few, &effect->beat);
        return;
    }
    assert_true(few->logged < FEW_LOG);
    struct few_entry *entry = &few->log[few->logged++];
    *entry =
        (struct few_entry){.type = effect->type, .at_ns = few->now_ns, .at = slot, .subject = slot};
    switch (effect->type) {
    case MU_DETECT_VERDICT:
        spread(few, slot, effect->evidence.subject);
        /* fall through */
    case MU_DETECT_REPORT:
        entry->evidence = effect->evidence;
        entry->subject = effect->evidence.subject;
        entry->cause = effect->evidence.cause;
        return;
    case MU_DETECT_LEASE:
        entry->held = effect->held;
        return;
    case MU_DETECT_SEND:
    case MU_DETECT_FENCED:
    case MU_DETECT_FAULT:
    case MU_DETECT_ASK_LAUNCHER:
    case MU_DETECT_ASK_LOOP:
    case MU_DETECT_STOOD:
        return;
    }
}

void few_step(struct few *few, mu_slot slot, struct mu_detect_event event)
{
    assert_false(few->nodes[slot].dead);
    uint64_t clock_ns = few->nodes[slot].clock_ns;
    event.now_ns = few->now_ns + clock_ns;
    few->nodes[slot].started = true;
    few->stepped = slot;
    mu_detect_step(few->nodes[slot].detect, &event, &few->update);
    uint64_t due_ns = few->update.deadline_ns;
    few->nodes[slot].due_ns = due_ns == MU_NEVER   ? MU_NEVER
                              : due_ns <= clock_ns ? few->now_ns
                                                   : due_ns - clock_ns;
    for (uint32_t i = 0; i < few->update.count; i++)
        carry_out(few, slot, &few->update.effects[i]);
}

void few_recv(struct few *few, struct mu_beat beat)
{
    few_step(few, beat.to, (struct mu_detect_event){.type = MU_DETECT_RECV, .beat = &beat});
}

void few_out(struct few *few, mu_slot slot, mu_slot out)
{
    few_step(
        few, slot,
        (struct mu_detect_event){.type = MU_DETECT_OUT, .out = {out, few->config.incarnation}});
}

void few_out_proven(struct few *few, mu_slot slot, mu_slot out)
{
    few_step(few, slot,
             (struct mu_detect_event){.type = MU_DETECT_OUT,
                                      .out = {out, few->config.incarnation, .proven = true}});
}

void few_set(struct few *few, mu_slot slot, uint64_t period_ns, uint64_t timeout_ns)
{
    few_step(few, slot,
             (struct mu_detect_event){.type = MU_DETECT_SET, .set = {period_ns, timeout_ns}});
}

/* ---- time ---- */

static bool is_awake(const struct few *few, mu_slot slot)
{
    return few->nodes[slot].started && !few->nodes[slot].dead && !few->nodes[slot].stopped;
}

/* The next thing that happens: datagrams first, then words of the node, then timers. */
static bool happen(struct few *few, uint64_t until_ns)
{
    enum { ARRIVAL, WORD, TIMER, LAUNCHER } what = TIMER;
    uint64_t at_ns = MU_NEVER;
    mu_slot who = 0, about = 0;
    for (uint32_t i = 0; i < few->bagged; i++) {
        const struct few_datagram *one = &few->bag[i];
        if (one->at_ns == 0 || one->at_ns >= at_ns)
            continue;
        if (few->nodes[one->beat.to].stopped)
            continue;
        at_ns = one->at_ns;
        what = ARRIVAL;
        about = i;
    }
    for (mu_slot slot = 0; slot < few->size; slot++) {
        if (!is_awake(few, slot))
            continue;
        for (mu_slot out = 0; out < few->size; out++)
            if (few->nodes[slot].told_ns[out] != 0 && few->nodes[slot].told_ns[out] < at_ns) {
                at_ns = few->nodes[slot].told_ns[out];
                what = WORD;
                who = slot;
                about = out;
            }
    }
    for (mu_slot slot = 0; slot < few->size; slot++)
        if (is_awake(few, slot) && few->nodes[slot].due_ns < at_ns) {
            at_ns = few->nodes[slot].due_ns;
            what = TIMER;
            who = slot;
        }
    for (mu_slot slot = 0; slot < few->size; slot++)
        if (is_awake(few, slot) && few->nodes[slot].answer_ns != 0 &&
            few->nodes[slot].answer_ns <= at_ns) {
            at_ns = few->nodes[slot].answer_ns;
            what = LAUNCHER;
            who = slot;
        }
    if (at_ns > until_ns)
        return false;
    few->now_ns = at_ns > few->now_ns ? at_ns : few->now_ns;
    if (what == TIMER) {
        few_step(few, who, (struct mu_detect_event){.type = MU_DETECT_TIMEOUT});
    } else if (what == LAUNCHER) {
        few->nodes[who].answer_ns = 0;
        few_step(few, who, few->nodes[who].answer);
    } else if (what == WORD) {
        few->nodes[who].told_ns[about] = MU_NEVER; /* once */
        few_out(few, who, about);
    } else {
        struct mu_beat beat = few->bag[about].beat;
        few->bag[about].at_ns = 0;
        if (is_awake(few, beat.to))
            few_recv(few, beat);
    }
    return true;
}

void few_run_until(struct few *few, uint64_t until_ns)
{
    uint32_t turns = 0;
    while (happen(few, until_ns))
        assert_true(turns++ < 2000000); /* time goes on */
    few->now_ns = until_ns;
}

void few_run(struct few *few, uint64_t for_ns)
{
    few_run_until(few, few->now_ns + for_ns);
}

void few_fire(struct few *few, mu_slot slot)
{
    assert_true(few->nodes[slot].due_ns != MU_NEVER);
    if (few->now_ns < few->nodes[slot].due_ns)
        few->now_ns = few->nodes[slot].due_ns;
    few_step(few, slot, (struct mu_detect_event){.type = MU_DETECT_TIMEOUT});
}

/* ---- faults ---- */

void few_kill(struct few *few, mu_slot slot)
{
    few->nodes[slot].dead = true;
}

void few_stop(struct few *few, mu_slot slot)
{
    few->nodes[slot].stopped = true;
}

void few_continue(struct few *few, mu_slot slot)
{
    few->nodes[slot].stopped = false;
}

void few_cut_one_way(struct few *few, mu_slot from, mu_slot to, bool cut)
{
    few->cut[from][to] = cut;
}

void few_cut_both(struct few *few, mu_slot a, mu_slot b, bool cut)
{
    few->cut[a][b] = few->cut[b][a] = cut;
}

void few_cut_off(struct few *few, mu_slot slot, bool cut)
{
    for (mu_slot other = 0; other < few->size; other++)
        few_cut_both(few, slot, other, cut);
}

/* ---- looking ---- */

const struct few_entry *few_find(const struct few *few, enum mu_detect_effect_type type,
                                 mu_slot subject, uint64_t from_ns)
{
    for (uint32_t i = 0; i < few->logged; i++)
        if (few->log[i].type == type && few->log[i].at_ns >= from_ns &&
            (subject == MU_SLOT_NONE || few->log[i].subject == subject))
            return &few->log[i];
    return NULL;
}

uint32_t few_count(const struct few *few, enum mu_detect_effect_type type)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < few->logged; i++)
        count += few->log[i].type == type;
    return count;
}

void few_expect_calm(const struct few *few)
{
    for (uint32_t i = 0; i < few->logged; i++)
        if (few->log[i].type != MU_DETECT_LEASE)
            fail_msg("node %u: effect %d about %u at %.3f ms", few->log[i].at, few->log[i].type,
                     few->log[i].subject, (double)few->log[i].at_ns / 1e6);
}

const struct mu_beat *few_sent(const struct few *few, enum mu_beat_type type, uint32_t n)
{
    for (uint32_t i = 0; i < few->update.count; i++) {
        const struct mu_detect_effect *effect = &few->update.effects[i];
        if (effect->type == MU_DETECT_SEND && effect->beat.type == type && n-- == 0)
            return &effect->beat;
    }
    return NULL;
}

uint32_t few_sent_to(const struct few *few, enum mu_beat_type type, mu_slot to)
{
    uint32_t count = 0;
    const struct mu_beat *beat;
    for (uint32_t n = 0; (beat = few_sent(few, type, n)) != NULL; n++)
        count += beat->to == to;
    return count;
}

struct mu_beat few_beat(const struct few *few, enum mu_beat_type type, mu_slot from, mu_slot to)
{
    return (struct mu_beat){
        .type = (uint8_t)type,
        .from = from,
        .to = to,
        .from_incarnation = few->config.incarnation,
        .to_incarnation = few->config.incarnation,
    };
}

struct mu_beat few_watch(const struct few *few, mu_slot from, mu_slot to, uint64_t nonce)
{
    struct mu_beat watch = few_beat(few, MU_BEAT_WATCH, from, to);
    watch.nonce = nonce;
    watch.period_ns = few->config.period_ns;
    watch.timeout_ns = few->config.timeout_ns;
    watch.subject = from;
    return watch;
}

static bool lives(const struct few *few, mu_slot slot)
{
    return !few->nodes[slot].dead && !few->nodes[slot].detect->fenced;
}

void few_expect_whole(const struct few *few)
{
    for (mu_slot slot = 0; slot < few->size; slot++) {
        if (!lives(few, slot))
            continue;
        mu_slot before = slot, after = slot;
        do
            before = (before + few->size - 1) % few->size;
        while (!lives(few, before));
        do
            after = (after + 1) % few->size;
        while (!lives(few, after));
        const struct mu_detect *detect = few->nodes[slot].detect;
        assert_int_equal(mu_detect_observes(detect), before == slot ? MU_SLOT_NONE : before);
        assert_int_equal(mu_detect_observer(detect), after == slot ? MU_SLOT_NONE : after);
        assert_true(mu_detect_lease_held(detect));
        uint32_t watchers = 0;
        for (int i = 0; i < MU_DETECT_WATCHERS; i++)
            watchers += detect->watchers[i].unanswered != MU_WATCHER_ENDED;
        assert_int_equal(watchers, after == slot ? 0 : 1);
    }
}

uint64_t few_dropped(const struct few *few, mu_slot slot)
{
    return mu_detect_counts(few->nodes[slot].detect)->dropped;
}
