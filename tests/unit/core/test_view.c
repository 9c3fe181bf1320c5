/* Views, told as stories: what the explorer of views does not go through (facts, policies, the
 * launcher's word, broken connections), and the plainest of what it does. */
#include "core/view/inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

enum { IDS = 8, QUEUE = 256, NOTICES = 32 };

struct letter {
    uint32_t from, to;
    struct mu_view_message message;
    struct mu_failed failed[IDS];
    struct mu_agree_entry entries[IDS];
    struct mu_roster_entry dead[IDS];
    struct mu_span spans[IDS];
    struct mu_view_member odd[IDS];
    struct mu_view_lost lost[IDS];
    mu_slot joined[IDS];
};

static struct {
    struct mu_view *views[IDS];
    bool lives[IDS], held[IDS];
    uint32_t incarnations[IDS];
    struct letter queue[QUEUE];
    uint32_t count;
    struct mu_view_event notices[NOTICES]; /* each is to reach everybody but its subject */
    uint32_t notice_count;
    struct mu_view_mark told[IDS];
    enum mu_view_stop stops[IDS];
    uint32_t faults, facts[IDS], deaths[IDS];
    struct mu_view_update update;
    struct mu_view_config config;
} world;

static void post(uint32_t from, const struct mu_view_effect *effect)
{
    struct letter *letter = &world.queue[world.count++];
    struct mu_view_message *message = &letter->message;
    assert_true(world.count < QUEUE);
    *letter = (struct letter){.from = from, .to = effect->peer.id, .message = effect->message};
#define COPY(field, number)                                                                        \
    do {                                                                                           \
        if ((number) > 0)                                                                          \
            memcpy(letter->COPIED, field, (number) * sizeof letter->COPIED[0]);                    \
        (field) = letter->COPIED;                                                                  \
    } while (0)
#define COPIED failed
    COPY(message->agree.value.failed, message->agree.value.failed_count);
#undef COPIED
#define COPIED entries
    COPY(message->agree.value.entries, message->agree.value.entry_count);
#undef COPIED
#define COPIED dead
    COPY(message->whole.dead, message->whole.dead_count);
#undef COPIED
#define COPIED spans
    COPY(message->whole.spans, message->whole.span_count);
#undef COPIED
#define COPIED odd
    COPY(message->whole.odd, message->whole.odd_count);
#undef COPIED
#define COPIED lost
    COPY(message->whole.lost, message->whole.lost_count);
#undef COPIED
#define COPIED joined
    COPY(message->whole.joined, message->whole.joined_count);
#undef COPIED
}

static void spread(struct mu_view_event event)
{
    assert_true(world.notice_count < NOTICES);
    world.notices[world.notice_count++] = event;
}

static void spread_death(struct mu_view_member member, bool proven)
{
    struct mu_view_event event = {.type = MU_VIEW_DEAD};
    event.dead.member = member;
    event.dead.proven = proven;
    spread(event);
}

static void spread_join(const struct mu_agree_entry *entry)
{
    struct mu_view_event event = {.type = MU_VIEW_HEARD_JOIN};
    event.entry = *entry;
    spread(event);
}

static void step(uint32_t id, struct mu_view_event event)
{
    event.lease_held = world.held[id];
    mu_view_step(world.views[id], &event, &world.update);
    for (uint32_t i = 0; i < world.update.count; i++) {
        const struct mu_view_effect *effect = &world.update.effects[i];
        if (effect->type == MU_VIEW_SEND && world.lives[effect->peer.id])
            post(id, effect);
        if (effect->type == MU_VIEW_TELL)
            world.told[id] = effect->told;
        if (effect->type == MU_VIEW_STOPPED)
            world.stops[id] = effect->stop;
        if (effect->type == MU_VIEW_DEATH) {
            world.deaths[id]++;
            spread_death(effect->death.member, effect->death.proven);
        }
        if (effect->type == MU_VIEW_JOINING)
            spread_join(&effect->entry);
        if (effect->type == MU_VIEW_FAULT)
            world.faults++;
        if (effect->type == MU_VIEW_INSTALL)
            for (uint32_t k = 0; k < effect->install.value.entry_count; k++)
                world.facts[id] += effect->install.value.entries[k].kind >= MU_VIEW_KIND_FACT;
    }
    if (mu_view_is_due(world.views[id]))
        step(id, (struct mu_view_event){.type = MU_VIEW_LEASE});
}

static void give_notices(void)
{
    for (uint32_t at = 0; at < world.notice_count; at++) {
        struct mu_view_event event = world.notices[at];
        struct mu_view_member about = event.type == MU_VIEW_DEAD
                                          ? event.dead.member
                                          : (struct mu_view_member){event.entry.key >> 32, 0};
        for (uint32_t id = 0; id < IDS; id++)
            if (world.lives[id] && id != about.id)
                step(id, event);
    }
    world.notice_count = 0;
}

/* Letters point into themselves: they are heard where they are. */
static void run(void)
{
    give_notices();
    for (uint32_t at = 0; at < world.count; at++) {
        struct mu_view_event event = {.type = MU_VIEW_RECV};
        uint32_t from = world.queue[at].from;
        event.recv.from = (struct mu_view_member){from, world.incarnations[from]};
        event.recv.message = &world.queue[at].message;
        if (world.lives[world.queue[at].to])
            step(world.queue[at].to, event);
        give_notices();
    }
    world.count = 0;
}

static void make(uint32_t id, uint32_t incarnation)
{
    free(world.views[id]);
    world.config.self = id;
    world.config.incarnation = incarnation;
    assert_null(mu_view_config_error(&world.config));
    size_t bytes = mu_view_bytes(&world.config);
    world.views[id] = mu_view_init(aligned_alloc(64, bytes), bytes, &world.config);
    world.lives[id] = world.held[id] = true;
    world.incarnations[id] = incarnation;
    world.stops[id] = MU_VIEW_STOP_NONE;
}

static void found(uint32_t nodes)
{
    for (uint32_t id = 0; id < nodes; id++)
        make(id, MU_VIEW_FOUNDER);
    for (uint32_t id = 0; id < nodes; id++) {
        struct mu_view_event event = {.type = MU_VIEW_START};
        event.start.count = nodes;
        event.start.cluster = 77;
        step(id, event);
    }
}

static int set_up(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
    mu_view_config_default(&world.config, IDS, 0);
    world.update.capacity = mu_view_effects_max(&world.config);
    world.update.effects = calloc(world.update.capacity, sizeof *world.update.effects);
    return world.update.effects == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    for (uint32_t id = 0; id < IDS; id++)
        free(world.views[id]);
    free(world.update.effects);
    return 0;
}

static void tell_dead(uint32_t id, uint32_t dead, const struct mu_view_word *word)
{
    struct mu_view_event event = {.type = MU_VIEW_DEAD};
    event.dead.member = (struct mu_view_member){dead, world.incarnations[dead]};
    event.dead.proven = word != NULL;
    event.dead.word = word;
    step(id, event);
}

/* It ends, and all others hear of it. */
static void die(uint32_t dead, bool proven)
{
    struct mu_view_word word;
    mu_view_word(world.views[dead], &word);
    world.lives[dead] = false;
    for (uint32_t id = 0; id < IDS; id++)
        if (world.lives[id])
            tell_dead(id, dead, proven ? &word : NULL);
    run();
}

static void expect_view(uint32_t id, uint64_t number, uint32_t set)
{
    assert_int_equal(mu_view_mark(world.views[id]).number, number);
    assert_int_equal(mu_view_total(world.views[id]), __builtin_popcount(set));
    for (uint32_t i = 0; i < mu_view_total(world.views[id]); i++) {
        struct mu_view_member member = mu_view_at(world.views[id], i);
        assert_true((set >> member.id & 1) != 0);
        assert_int_equal(member.incarnation, world.incarnations[member.id]);
    }
}

static void expect_all(uint64_t number, uint32_t set)
{
    for (uint32_t id = 0; id < IDS; id++) {
        if (!world.lives[id] || (set >> id & 1) == 0)
            continue;
        expect_view(id, number, set);
        assert_int_equal(mu_view_mark(world.views[id]).hash,
                         mu_view_mark(world.views[__builtin_ctz(set)]).hash);
        assert_int_equal(mu_view_told_total(world.views[id], number), __builtin_popcount(set));
    }
    assert_int_equal(world.faults, 0);
}

/* ---- stories ---- */

static void a_death_makes_a_view_and_the_next_one_tells_it(void **state)
{
    (void)state;
    found(5);
    assert_int_equal(world.told[3].number, 1);
    die(2, false);
    expect_all(3, 0x1b);
    for (uint32_t id = 0; id < 5; id++)
        if (id != 2)
            assert_int_equal(world.told[id].number, 2);
    die(0, false); /* the root */
    expect_all(5, 0x1a);
}

static void a_death_that_one_has_heard_of_reaches_all(void **state)
{
    (void)state;
    found(4);
    world.lives[3] = false;
    tell_dead(0, 3, NULL); /* the root waits: the others have heard nothing */
    run();
    expect_view(0, 1, 0xf);
    tell_dead(2, 3, NULL);
    tell_dead(1, 3, NULL);
    run();
    expect_all(3, 0x7);
}

static void silent_losses_end_below_half(void **state)
{
    (void)state;
    found(4);
    world.lives[2] = world.lives[3] = false;
    for (uint32_t id = 0; id < 2; id++)
        for (uint32_t dead = 2; dead < 4; dead++)
            tell_dead(id, dead, NULL);
    run(); /* one or two views, but the half with the lowest goes on */
    assert_int_equal(mu_view_total(world.views[0]), 2);
    assert_int_equal(world.stops[0], MU_VIEW_STOP_NONE);
    die(0, false);
    assert_int_equal(world.stops[1], MU_VIEW_STOP_QUORUM);
}

static void proven_losses_go_on_to_the_last(void **state)
{
    (void)state;
    found(4);
    for (uint32_t dead = 0; dead < 3; dead++)
        die(dead, true);
    assert_int_equal(mu_view_total(world.views[3]), 1);
    assert_int_equal(world.stops[3], MU_VIEW_STOP_NONE);
    assert_true(world.told[3].number > 1);
}

static void proof_without_a_last_word_counts_as_silence(void **state)
{
    (void)state;
    found(2);
    struct mu_view_event event = {.type = MU_VIEW_DEAD};
    event.dead.member = (struct mu_view_member){0, 1};
    event.dead.proven = true;
    world.lives[0] = false;
    step(1, event);
    assert_int_equal(world.stops[1], MU_VIEW_STOP_QUORUM);
}

static void a_last_word_that_says_too_much_counts(void **state)
{
    (void)state;
    struct mu_view_word word;
    found(2);
    mu_view_word(world.views[0], &word);
    word.contributed = true;
    word.held_count = 1;
    word.held[0] = 1; /* it had held the survivor dead, and may have told others so */
    world.lives[0] = false;
    tell_dead(1, 0, &word);
    assert_int_equal(world.stops[1], MU_VIEW_STOP_QUORUM);
}

static void the_launchers_word_breaks_a_tie(void **state)
{
    (void)state;
    world.config.tie_by_word = true;
    found(2);
    struct mu_view_event event = {.type = MU_VIEW_TIE};
    event.tie.keep = 1;
    step(1, event);
    die(0, false);
    assert_int_equal(world.stops[1], MU_VIEW_STOP_NONE);
    expect_view(1, 2, 2);
    found(2);
    die(1, false); /* and without it not even the lowest goes on */
    assert_int_equal(world.stops[0], MU_VIEW_STOP_QUORUM);
}

static void the_policy_decides_who_goes_on(void **state)
{
    (void)state;
    world.config.partition = MU_VIEW_ANY;
    found(3);
    die(0, false);
    die(1, false);
    assert_int_equal(world.stops[2], MU_VIEW_STOP_NONE);
    assert_int_equal(mu_view_total(world.views[2]), 1);
    world.config.partition = MU_VIEW_STOP;
    found(3);
    die(2, true);
    assert_int_equal(world.stops[0], MU_VIEW_STOP_NONE);
    die(1, false);
    assert_int_equal(world.stops[0], MU_VIEW_STOP_QUORUM);
}

static void ask_for(uint32_t id, uint32_t member)
{
    struct mu_view_event event = {.type = MU_VIEW_ASK};
    const uint8_t address[] = {10, 0, 0, 9};
    event.ask.member = (struct mu_view_member){member, world.incarnations[member]};
    event.ask.address = address;
    event.ask.length = sizeof address;
    step(id, event);
}

static void a_node_joins_leaves_and_comes_back(void **state)
{
    (void)state;
    found(3);
    make(5, mu_view_incarnation(1, 3));
    ask_for(5, 2);
    run();
    expect_all(3, 0x27);
    assert_int_equal(world.told[5].number, 2);
    step(5, (struct mu_view_event){.type = MU_VIEW_LEAVE});
    assert_int_equal(world.stops[5], MU_VIEW_STOP_LEFT);
    die(5, true);
    expect_all(5, 0x7);
    make(5, mu_view_incarnation(5, 4));
    ask_for(5, 0);
    run();
    expect_all(7, 0x27);
    assert_false(mu_view_is_dead(world.views[1], mu_view_at(world.views[1], 3)));
}

static void a_return_makes_the_incarnation_before_dead(void **state)
{
    (void)state;
    found(3);
    make(2, mu_view_incarnation(1, 9)); /* before anybody has missed it */
    ask_for(2, 0);
    assert_int_equal(world.count, 1);
    run();
    expect_all(3, 0x7);
    assert_true(mu_view_is_dead(world.views[1], (struct mu_view_member){2, 1}));
}

static void a_dead_incarnation_that_asks_is_fenced(void **state)
{
    (void)state;
    found(3);
    die(2, false);
    make(2, mu_view_incarnation(1, 9));
    uint32_t first = world.incarnations[2];
    ask_for(2, 0);
    run();
    expect_all(5, 0x7);
    die(2, false);
    make(2, first);
    ask_for(2, 1);
    run();
    assert_int_equal(world.stops[2], MU_VIEW_STOP_FENCED);
    expect_view(0, 7, 0x3);
}

static void a_fact_is_in_one_decision_at_all(void **state)
{
    (void)state;
    found(4);
    struct mu_view_event event = {.type = MU_VIEW_FACT};
    event.entry =
        (struct mu_agree_entry){.kind = MU_VIEW_KIND_FACT, .key = 9, .length = 2, .bytes = {1, 2}};
    for (uint32_t id = 0; id < 4; id++)
        step(id, event); /* seen by one, heard by the others */
    run();
    expect_all(3, 0xf);
    for (uint32_t id = 0; id < 4; id++) {
        assert_int_equal(world.facts[id], 1);
        assert_int_equal(world.told[id].number, 2);
    }
    event.entry.kind = MU_VIEW_KIND_JOIN; /* is no fact */
    step(0, event);
    assert_int_equal(world.faults, 1);
}

static void what_a_broken_connection_lost_is_said_again(void **state)
{
    (void)state;
    found(2);
    struct mu_view_event event = {.type = MU_VIEW_FACT};
    event.entry = (struct mu_agree_entry){.kind = MU_VIEW_KIND_FACT, .key = 9};
    step(0, event);
    step(1, event);
    assert_int_equal(world.count, 1);
    world.count = 0; /* the contribution of 1 is lost */
    struct mu_view_event resume = {.type = MU_VIEW_RESUME};
    resume.resume.peer = (struct mu_view_member){0, 1};
    step(1, resume);
    resume.resume.peer.id = 1;
    step(0, resume);
    run();
    expect_all(3, 0x3);
}

static void without_lease_nothing_is_said_or_installed(void **state)
{
    (void)state;
    found(3);
    world.held[1] = false;
    world.lives[0] = false;
    tell_dead(1, 0, NULL);
    tell_dead(2, 0, NULL);
    run();
    expect_view(1, 1, 0x7);
    world.held[1] = true;
    step(1, (struct mu_view_event){.type = MU_VIEW_LEASE});
    run();
    expect_all(3, 0x6);
}

static void a_rival_is_taken_for_dead(void **state)
{
    (void)state;
    found(3);
    struct mu_view_event event = {.type = MU_VIEW_BEAT};
    event.beat.from = (struct mu_view_member){2, 1};
    event.beat.mark = (struct mu_view_mark){1, 5, true};
    step(0, event); /* provisional: it will ask again */
    assert_int_equal(world.deaths[0], 0);
    event.beat.mark.provisional = false;
    step(0, event);
    assert_int_equal(world.deaths[0], 1);
    assert_true(mu_view_is_dead(world.views[0], event.beat.from));
}

static void words_that_break_a_rule_are_faults(void **state)
{
    (void)state;
    found(3);
    make(4, mu_view_incarnation(1, 1));
    struct mu_view_event event = {.type = MU_VIEW_START};
    event.start.count = 3;
    step(0, event); /* again */
    event.type = MU_VIEW_DEAD;
    event.dead.member = (struct mu_view_member){IDS, 1};
    event.dead.proven = false;
    event.dead.word = NULL;
    step(0, event);
    struct mu_view_message message = {.type = 99, .mark = {.number = 1, .hash = 77}};
    event = (struct mu_view_event){.type = MU_VIEW_RECV};
    event.recv.from = (struct mu_view_member){1, 1};
    event.recv.message = &message;
    step(0, event);
    message.type = MU_VIEW_JOIN; /* of another than who says it */
    message.join = (struct mu_agree_entry){.kind = MU_VIEW_KIND_JOIN, .key = mu_view_key(5, 9999)};
    step(0, event);
    message.type = MU_VIEW_WELCOME; /* nobody is in it */
    step(4, event);
    assert_int_equal(world.faults, 5);
    expect_view(0, 1, 0x7);
}

static void a_configuration_is_checked(void **state)
{
    (void)state;
    struct mu_view_config config;
    mu_view_config_default(&config, 1 << 20, 3);
    assert_null(mu_view_config_error(&config));
    config.limits.spans = 3;
    assert_non_null(mu_view_config_error(&config));
    mu_view_config_default(&config, 8, 8);
    assert_non_null(mu_view_config_error(&config));
    /* A large cluster with room for few changes takes little. */
    mu_view_config_default(&config, 1 << 20, 3);
    config.limits = (struct mu_view_limits){
        .ids = 1 << 20, .dead = 1, .odd = 1, .spans = 3, .failed = 2, .entries = 2};
    assert_null(mu_view_config_error(&config));
    assert_true(mu_view_bytes(&config) <= 4096);
}

int main(void)
{
#define STORY(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        STORY(a_death_makes_a_view_and_the_next_one_tells_it),
        STORY(a_death_that_one_has_heard_of_reaches_all),
        STORY(silent_losses_end_below_half),
        STORY(proven_losses_go_on_to_the_last),
        STORY(proof_without_a_last_word_counts_as_silence),
        STORY(a_last_word_that_says_too_much_counts),
        STORY(the_launchers_word_breaks_a_tie),
        STORY(the_policy_decides_who_goes_on),
        STORY(a_node_joins_leaves_and_comes_back),
        STORY(a_return_makes_the_incarnation_before_dead),
        STORY(a_dead_incarnation_that_asks_is_fenced),
        STORY(a_fact_is_in_one_decision_at_all),
        STORY(what_a_broken_connection_lost_is_said_again),
        STORY(without_lease_nothing_is_said_or_installed),
        STORY(a_rival_is_taken_for_dead),
        STORY(words_that_break_a_rule_are_faults),
        STORY(a_configuration_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
