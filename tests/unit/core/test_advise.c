/* Recommended groups: stories of one member, and the pure parts against slower ways to the same. */
#include "core/advise/advise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

enum { SIZE = 4, ENTRIES = 64, WORDS = 64 };

/* ---- clusters ---- */

static struct mu_advise_entry room[ENTRIES];

static struct mu_advise_group group_of(uint32_t size, uint64_t members)
{
    struct mu_advise_group group = {.entries = room, .capacity = ENTRIES};
    mu_advise_group_all(&group, size, 1);
    for (mu_slot slot = 0; slot < size; slot++)
        if ((members >> slot & 1) == 0)
            assert_true(
                mu_advise_group_put(&group, (struct mu_advise_entry){.slot = slot, .count = 1}));
    return group;
}

/* Table 2 of the paper. */
static void clusters_are_those_of_the_paper(void **unused)
{
    (void)unused;
    static const char *const table[3][8] = {
        {"1", "0", "3", "2", "5", "4", "7", "6"},
        {"23", "32", "01", "10", "67", "76", "45", "54"},
        {"4567", "5476", "6745", "7654", "0123", "1032", "2301", "3210"},
    };
    for (uint32_t s = 1; s <= 3; s++)
        for (mu_slot i = 0; i < 8; i++)
            for (uint32_t k = 0; k < 1u << (s - 1); k++)
                assert_int_equal(mu_cluster_at(i, s, k), table[s - 1][i][k] - '0');
}

/* The member with the least place xor x, by looking at all. */
static mu_slot host_by_looking(uint32_t size, uint64_t members, mu_slot place)
{
    mu_slot best = MU_SLOT_NONE;
    for (mu_slot x = 0; x < size; x++)
        if ((members >> x & 1) != 0 && (best == MU_SLOT_NONE || (place ^ x) < (place ^ best)))
            best = x;
    return best;
}

static void check_hosts(uint32_t size, uint64_t members)
{
    struct mu_advise_group group = group_of(size, members);
    uint32_t d = mu_cluster_dimension(size);
    for (mu_slot place = 0; place < 1u << d; place++)
        assert_int_equal(mu_cluster_host(&group, place, d), host_by_looking(size, members, place));
}

static void hosts_are_the_nearest_in_every_subset(void **unused)
{
    (void)unused;
    for (uint32_t size = 1; size <= 8; size++)
        for (uint64_t members = 1; members < 1u << size; members++)
            check_hosts(size, members);
    for (uint64_t members = 1; members < 1u << 16; members++)
        check_hosts(16, members);
    for (uint64_t members = 1; members < 1u << 11; members++)
        check_hosts(11, members);
}

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
    return (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
}

static void hosts_are_the_nearest_in_larger_ones(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        uint32_t size = 17 + (uint32_t)(mixed(seed) % 48);
        uint64_t members = mixed(seed + 1) & mixed(seed + 2) & (UINT64_MAX >> (64 - size));
        if (seed % 3 == 0)
            members |= mixed(seed + 3) & (UINT64_MAX >> (64 - size));
        if (members != 0)
            check_hosts(size, members);
    }
}

/* Replacements of the paper's text: p5 for p4; p6 when p5 is out, too.  In the first round p0 has
 * nobody to exchange with when p4 to p6 are out: as the paper has it only when p7 is out, too. */
static void worked_examples_of_the_paper(void **unused)
{
    (void)unused;
    struct mu_advise_group group = group_of(8, 0xff & ~(1u << 4));
    assert_int_equal(mu_cluster_host(&group, 4, 3), 5);
    group = group_of(8, 0xff & ~(3u << 4));
    assert_int_equal(mu_cluster_host(&group, 4, 3), 6);
    group = group_of(8, 0xff & ~(1u << 2));
    assert_int_equal(mu_cluster_tester(&group, 6, 3), 3);
    assert_int_equal(mu_cluster_host(&group, 2, 3), 3);
    group = group_of(8, 0xff & ~(7u << 4));
    assert_int_equal(mu_cluster_tester(&group, 0, 3), 7);
    group = group_of(8, 0x0f);
    assert_int_equal(mu_cluster_tester(&group, 0, 3), MU_SLOT_NONE);
}

static bool tests_by_looking(uint32_t size, uint64_t members, mu_slot i, mu_slot j)
{
    for (uint32_t s = 1; s <= mu_cluster_dimension(size); s++)
        for (uint32_t k = 0; k < 1u << (s - 1); k++) {
            mu_slot x = mu_cluster_at(j, s, k);
            if (x < size && (members >> x & 1) != 0) {
                if (x == i)
                    return true;
                break;
            }
        }
    return false;
}

/* Turned round it is the same: whom i tests, and who tests j. */
static void testers_and_tested_agree(void **unused)
{
    (void)unused;
    for (uint32_t size = 2; size <= 9; size++)
        for (uint64_t members = 1; members < 1u << size; members++) {
            struct mu_advise_group group = group_of(size, members);
            for (mu_slot i = 0; i < size; i++) {
                if ((members >> i & 1) == 0)
                    continue;
                mu_slot tested[16];
                uint32_t count = mu_advise_tested(&group, MU_ADVISE_CLUSTERS, i, tested, 16);
                uint64_t found = 0;
                for (uint32_t k = 0; k < count; k++)
                    found |= UINT64_C(1) << tested[k];
                assert_int_equal(__builtin_popcountll(found), count);
                for (mu_slot j = 0; j < size; j++) {
                    bool by_looking = i != j && tests_by_looking(size, members, i, j);
                    assert_int_equal(found >> j & 1, by_looking);
                    assert_int_equal(mu_advise_tests(&group, MU_ADVISE_CLUSTERS, i, j), by_looking);
                }
            }
        }
}

/* ---- tests ---- */

static void the_middle_of_three_runs_counts(void **unused)
{
    (void)unused;
    const uint64_t orders[6][3] = {{1, 2, 3}, {1, 3, 2}, {2, 1, 3},
                                   {2, 3, 1}, {3, 1, 2}, {3, 2, 1}};
    for (int i = 0; i < 6; i++)
        assert_int_equal(mu_test_middle(orders[i]), 2);
    uint64_t four[] = {40, 10, 30, 20}, five[] = {5, 4, 3, 2, 1};
    assert_int_equal(mu_test_median(four, 4), 20);
    assert_int_equal(mu_test_median(five, 5), 3);
}

static bool judged(struct mu_trial *trial, uint64_t time_ns, uint32_t values)
{
    struct mu_test_rules rules;
    mu_test_rules_default(&rules);
    trial->time_ns = time_ns;
    return mu_trial_judge(trial, &rules, 100, values);
}

static void two_failures_of_three_accuse(void **unused)
{
    (void)unused;
    struct mu_trial trial;
    mu_trial_begin(&trial, 1, 0);
    assert_false(judged(&trial, 200, 8)); /* twice the median is not over it */
    assert_false(judged(&trial, 201, 8));
    assert_false(judged(&trial, 100, 8));
    assert_true(judged(&trial, MU_NEVER, 8)); /* no answer is a failure */
    assert_false(judged(&trial, 100, 8));     /* 2 of 3, and this one passed */
    mu_trial_begin(&trial, 1, 2);
    assert_false(judged(&trial, 300, 2)); /* a median of two is rough: 3 of 3 */
    assert_false(judged(&trial, 300, 2));
    assert_true(judged(&trial, 300, 2));
}

/* The first steps of Algorithm 1, by hand. */
static void the_printed_threshold_is_that_of_the_paper(void **unused)
{
    (void)unused;
    struct mu_test_rules rules;
    mu_test_rules_default(&rules);
    struct mu_printed printed = {0};
    assert_int_equal(mu_printed_limit_ns(&rules, &printed), UINT64_C(8000000000));
    mu_printed_take(&printed, 1000);
    assert_int_equal(printed.mean_ns, 100);
    assert_int_equal(printed.deviation_ns, 90);
    assert_int_equal(mu_printed_limit_ns(&rules, &printed), (100 + 4 * 90) * 5 / 2);
    mu_printed_take(&printed, 1000);
    assert_int_equal(printed.mean_ns, 190);
    assert_int_equal(printed.deviation_ns, 162);
}

/* ---- decisions ---- */

static mu_advise_word words[WORDS];
static uint32_t tally[WORDS];
static struct mu_advise_entry next_room[ENTRIES];

static struct mu_advise_group decide(const struct mu_advise_group *from, uint32_t least,
                                     uint32_t count)
{
    struct mu_decide_rules rules = {.assignment = MU_ADVISE_ALL_PAIRS, .members_min = least};
    struct mu_advise_gather gather = {.capacity = WORDS};
    mu_advise_word sorted[WORDS];
    gather.words = sorted;
    mu_advise_gather_clear(&gather);
    for (uint32_t i = 0; i < count; i++)
        mu_advise_gather_add(&gather, words[i]);
    struct mu_advise_decision decision = {.value = mu_advise_gather_value(&gather)};
    struct mu_advise_group to = {.entries = next_room, .capacity = ENTRIES};
    assert_true(mu_advise_decide(&rules, from, &decision, tally, &to));
    return to;
}

/* Two that accuse each other: the one with more accusers leaves, with a tie the higher, and its own
 * word is void. */
static void of_two_that_accuse_each_other_one_leaves(void **unused)
{
    (void)unused;
    struct mu_advise_group from = group_of(4, 0xf);
    words[0] = mu_advise_say(MU_ADVISE_ACCUSE, 1, 2);
    words[1] = mu_advise_say(MU_ADVISE_ACCUSE, 2, 1);
    struct mu_advise_group to = decide(&from, 1, 2);
    assert_true(mu_advise_is_member(&to, 1));
    assert_false(mu_advise_is_member(&to, 2));
    assert_true(mu_advise_is_part(&to, 2)); /* once more, without work */
    assert_int_equal(to.members, 3);
    words[2] = mu_advise_say(MU_ADVISE_ACCUSE, 1, 3);
    to = decide(&from, 1, 3);
    assert_false(mu_advise_is_member(&to, 1));
    assert_true(mu_advise_is_member(&to, 2));
}

static void slowness_leaves_the_least_number(void **unused)
{
    (void)unused;
    struct mu_advise_group from = group_of(4, 0xf);
    for (mu_slot i = 0; i < 3; i++)
        words[i] = mu_advise_say(MU_ADVISE_ACCUSE, i + 1, 0);
    assert_int_equal(decide(&from, 3, 3).members, 3);
    assert_int_equal(decide(&from, 1, 3).members, 1);
}

/* One proposes, and more than half of those that test it agree. */
static void who_is_out_comes_back_by_a_majority(void **unused)
{
    (void)unused;
    struct mu_advise_group from = group_of(4, 0x7);
    words[0] = mu_advise_say(MU_ADVISE_PROPOSE, 3, 0);
    struct mu_advise_group to = decide(&from, 1, 1);
    assert_false(mu_advise_group_get(&to, 3).comes);
    words[1] = mu_advise_say(MU_ADVISE_AGREE, 3, 1);
    to = decide(&from, 1, 2);
    assert_true(mu_advise_group_get(&to, 3).comes);
    assert_false(mu_advise_is_member(&to, 3)); /* one boundary without work first */
    words[0] = mu_advise_say(MU_ADVISE_AGREE, 3, 2);
    to = decide(&from, 1, 2);
    assert_false(mu_advise_group_get(&to, 3).comes); /* nobody proposed it */
}

/* ---- stories of one ---- */

static struct mu_advise *one;
static struct mu_advise_update update;

static int begin_story(void **unused)
{
    (void)unused;
    struct mu_advise_config config;
    mu_advise_config_default(&config, SIZE, 3);
    config.members_min = 1;
    size_t bytes = mu_advise_bytes(&config);
    one = mu_advise_init(aligned_alloc(64, bytes), bytes, &config);
    update.capacity = mu_advise_effects_max(&config);
    update.effects = calloc(update.capacity, sizeof *update.effects);
    return 0;
}

static int end_story(void **unused)
{
    (void)unused;
    free(one);
    free(update.effects);
    return 0;
}

static const struct mu_advise_effect *effect_of(enum mu_advise_effect_type type)
{
    for (uint32_t i = 0; i < update.count; i++)
        if (update.effects[i].type == type)
            return &update.effects[i];
    return NULL;
}

static void step(struct mu_advise_event event)
{
    mu_advise_step(one, &event, &update);
}

static void interval(uint64_t time_of_0)
{
    for (mu_slot slot = 0; slot < 3; slot++) {
        uint64_t time = slot == 0 ? time_of_0 : 100;
        step((struct mu_advise_event){.type = MU_ADVISE_ANSWER,
                                      .answer = {slot, {time, time, time}}});
    }
    step((struct mu_advise_event){.type = MU_ADVISE_INTERVAL,
                                  .interval = {false, true, {100, 100, 100}}});
}

static void decided(const mu_advise_word *said, uint32_t count)
{
    struct mu_advise_event event = {.type = MU_ADVISE_DECIDED};
    event.decided.key = mu_advise_group_key(mu_advise_group_of(one));
    event.decided.decision.value =
        (struct mu_advise_value){.bits = UINT64_MAX, .words = said, .count = count};
    step(event);
}

static void a_slow_one_is_accused_at_the_boundary(void **unused)
{
    (void)unused;
    interval(100); /* nobody was asked before */
    interval(300);
    assert_null(effect_of(MU_ADVISE_POST));
    interval(300);
    assert_non_null(effect_of(MU_ADVISE_POST));
    step((struct mu_advise_event){.type = MU_ADVISE_ARRIVE, .arrive.bits = 6});
    const struct mu_advise_effect *said = effect_of(MU_ADVISE_CONTRIBUTE);
    assert_non_null(said);
    assert_int_equal(said->contribute.value.bits, 6);
    assert_int_equal(said->contribute.value.count, 1);
    assert_int_equal(said->contribute.value.words[0], mu_advise_say(MU_ADVISE_ACCUSE, 0, 3));
    step((struct mu_advise_event){.type = MU_ADVISE_ARRIVE});
    assert_int_equal(effect_of(MU_ADVISE_FAULT)->fault, MU_FAULT_ADVISE_ARRIVE);
}

static void a_stall_of_all_accuses_nobody(void **unused)
{
    (void)unused;
    interval(100);
    for (int i = 0; i < 5; i++) {
        for (mu_slot slot = 0; slot < 3; slot++)
            step((struct mu_advise_event){.type = MU_ADVISE_ANSWER,
                                          .answer = {slot, {900, 900, 900}}});
        step((struct mu_advise_event){.type = MU_ADVISE_INTERVAL,
                                      .interval = {false, true, {900, 900, 900}}});
        assert_null(effect_of(MU_ADVISE_POST));
    }
}

/* It takes part in one boundary more, is outside, is voted back, and works when a member confirms.
 */
static void one_leaves_and_comes_back(void **unused)
{
    (void)unused;
    const mu_advise_word accusation = mu_advise_say(MU_ADVISE_ACCUSE, 3, 0);
    step((struct mu_advise_event){.type = MU_ADVISE_ARRIVE});
    decided(&accusation, 1);
    assert_false(mu_advise_works(one));
    assert_non_null(effect_of(MU_ADVISE_CONTRIBUTE));
    decided(NULL, 0);
    assert_false(mu_advise_works(one));
    assert_false(mu_advise_is_part(mu_advise_group_of(one), 3));

    struct mu_advise_entry entries[ENTRIES];
    struct mu_advise_group next = {.entries = entries, .capacity = ENTRIES};
    mu_advise_group_copy(&next, mu_advise_group_of(one));
    next.round++;
    mu_advise_group_put(&next, (struct mu_advise_entry){.slot = 3, .count = 2, .comes = 1});
    struct mu_advise_notice notice = {.type = MU_ADVISE_GROUP, .group = &next};
    step((struct mu_advise_event){.type = MU_ADVISE_HEAR, .notice = &notice});
    assert_non_null(effect_of(MU_ADVISE_CONTRIBUTE));
    decided(NULL, 0);
    assert_false(mu_advise_works(one)); /* no member has said so yet */
    next.round++;
    mu_advise_group_put(&next, (struct mu_advise_entry){.slot = 3, .count = 2});
    step((struct mu_advise_event){.type = MU_ADVISE_HEAR, .notice = &notice});
    assert_true(mu_advise_works(one));
    assert_true(effect_of(MU_ADVISE_ROUND)->round.works);
}

/* The last one outside: it asks all, and begins a new era. */
static void when_all_members_fail_a_new_era_begins(void **unused)
{
    (void)unused;
    const mu_advise_word accusation = mu_advise_say(MU_ADVISE_ACCUSE, 3, 0);
    step((struct mu_advise_event){.type = MU_ADVISE_ARRIVE});
    decided(&accusation, 1);
    const mu_slot failed[] = {0, 1, 2};
    for (mu_slot slot = 0; slot < 3; slot++) {
        assert_null(effect_of(MU_ADVISE_JOIN));
        step((struct mu_advise_event){.type = MU_ADVISE_DEAD, .dead = slot});
    }
    assert_true(effect_of(MU_ADVISE_JOIN)->join.no_member);
    struct mu_advise_event event = {.type = MU_ADVISE_REFOUNDED};
    event.refounded.number = 1;
    event.refounded.no_member = true;
    event.refounded.failed = failed;
    event.refounded.failed_count = 3;
    step(event);
    assert_true(mu_advise_works(one));
    assert_int_equal(mu_advise_group_of(one)->era, 2);
    assert_int_equal(mu_advise_group_of(one)->members, 1);
}

/* ---- two deciders that fail in a row ---- */

static struct mu_advise *four[SIZE];

static void tell(mu_slot slot, struct mu_advise_event event)
{
    mu_advise_step(four[slot], &event, &update);
}

/* One decides the boundary of a group with these words; who is listed as failed. */
static void let_decide(mu_slot slot, struct mu_advise_key key, const mu_advise_word *said,
                       uint32_t count, const mu_slot *failed, uint32_t failed_count)
{
    struct mu_advise_event event = {.type = MU_ADVISE_DECIDED, .decided.key = key};
    event.decided.decision.value =
        (struct mu_advise_value){.bits = UINT64_MAX, .words = said, .count = count};
    event.decided.decision.failed = failed;
    event.decided.decision.failed_count = failed_count;
    tell(slot, event);
}

static void let_hear(mu_slot slot, const struct mu_advise_group *group)
{
    struct mu_advise_notice notice = {.type = MU_ADVISE_GROUP, .group = group};
    tell(slot, (struct mu_advise_event){.type = MU_ADVISE_HEAR, .notice = &notice});
}

static void begin_four(uint32_t broken_rules)
{
    struct mu_advise_config config;
    for (mu_slot slot = 0; slot < SIZE; slot++) {
        mu_advise_config_default(&config, SIZE, slot);
        config.members_min = 1;
        config.broken_rules = broken_rules;
        size_t bytes = mu_advise_bytes(&config);
        four[slot] = mu_advise_init(aligned_alloc(64, bytes), bytes, &config);
    }
    update.capacity = mu_advise_effects_max(&config);
    update.effects = calloc(update.capacity, sizeof *update.effects);
}

static void end_four(void)
{
    for (mu_slot slot = 0; slot < SIZE; slot++)
        free(four[slot]);
    free(update.effects);
}

/* Nodes 2 and 3 are out.  Node 0 takes node 2 back, tells it, contributes to the next boundary, and
 * fails before anybody else has decided.  Node 1 decides otherwise: it takes node 3 back, tells it,
 * contributes, and fails.  So each of the comers has a contribution of one that is a member, of
 * which it does not know that it failed, and is the last that lives of its group. */
static void two_comers_of_different_groups(void)
{
    const mu_advise_word leave[] = {mu_advise_say(MU_ADVISE_ACCUSE, 2, 0),
                                    mu_advise_say(MU_ADVISE_ACCUSE, 3, 0)};
    for (uint32_t round = 1; round <= 2; round++)
        for (mu_slot slot = 0; slot < SIZE; slot++)
            let_decide(slot, mu_advise_group_key(mu_advise_group_of(four[slot])), leave,
                       round == 1 ? 2 : 0, NULL, 0);
    struct mu_advise_key key = mu_advise_group_key(mu_advise_group_of(four[0]));
    const mu_advise_word both[] = {mu_advise_say(MU_ADVISE_AGREE, 2, 1),
                                   mu_advise_say(MU_ADVISE_PROPOSE, 2, 0)};
    const mu_advise_word own[] = {mu_advise_say(MU_ADVISE_PROPOSE, 3, 1)};
    const mu_slot zero[] = {0}, one_of_them[] = {1};
    let_decide(0, key, both, 2, NULL, 0);
    struct mu_advise_key x = mu_advise_group_key(mu_advise_group_of(four[0]));
    let_hear(2, mu_advise_group_of(four[0]));
    assert_non_null(effect_of(MU_ADVISE_CONTRIBUTE));
    let_decide(1, key, own, 1, zero, 1);
    struct mu_advise_key y = mu_advise_group_key(mu_advise_group_of(four[1]));
    let_hear(3, mu_advise_group_of(four[1]));
    assert_non_null(effect_of(MU_ADVISE_CONTRIBUTE));
    let_decide(2, x, NULL, 0, one_of_them, 1);
    let_decide(3, y, NULL, 0, NULL, 0);
}

static void without_a_members_word_two_groups_work_in_one_round(void **unused)
{
    (void)unused;
    begin_four(MU_ADVISE_BROKEN_CONFIRM);
    two_comers_of_different_groups();
    const struct mu_advise_group *a = mu_advise_group_of(four[2]), *b = mu_advise_group_of(four[3]);
    assert_true(mu_advise_works(four[2]) && mu_advise_works(four[3]));
    assert_true(a->era == b->era && a->round == b->round);
    assert_false(mu_advise_group_key(a).hash == mu_advise_group_key(b).hash);
    end_four();
}

/* With it neither works, until both have founded one group anew. */
static void with_a_members_word_they_found_one_anew(void **unused)
{
    (void)unused;
    begin_four(0);
    two_comers_of_different_groups();
    assert_false(mu_advise_works(four[2]) || mu_advise_works(four[3]));
    const mu_slot failed[] = {0, 1};
    for (mu_slot slot = 2; slot < SIZE; slot++)
        for (mu_slot dead = 0; dead < 2; dead++)
            tell(slot, (struct mu_advise_event){.type = MU_ADVISE_DEAD, .dead = dead});
    assert_non_null(effect_of(MU_ADVISE_JOIN)); /* of node 3; node 2 has joined likewise */
    struct mu_advise_event event = {.type = MU_ADVISE_REFOUNDED};
    event.refounded.number = 1;
    event.refounded.no_member = true;
    event.refounded.failed = failed;
    event.refounded.failed_count = 2;
    tell(2, event);
    tell(3, event);
    struct mu_advise_key a = mu_advise_group_key(mu_advise_group_of(four[2]));
    struct mu_advise_key b = mu_advise_group_key(mu_advise_group_of(four[3]));
    assert_true(mu_advise_works(four[2]) && mu_advise_works(four[3]));
    assert_true(mu_advise_key_same(&a, &b));
    assert_int_equal(mu_advise_group_of(four[2])->members, 2);
    end_four();
}

static void bad_configurations_are_refused(void **unused)
{
    (void)unused;
    struct mu_advise_config config;
    mu_advise_config_default(&config, 8, 0);
    assert_null(mu_advise_config_error(&config));
    config.zeta = 0;
    assert_non_null(mu_advise_config_error(&config));
    mu_advise_config_default(&config, 8, 0);
    config.members_min = 9;
    assert_non_null(mu_advise_config_error(&config));
    mu_advise_config_default(&config, 8, 8);
    assert_non_null(mu_advise_config_error(&config));
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, begin_story, end_story)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusters_are_those_of_the_paper),
        cmocka_unit_test(hosts_are_the_nearest_in_every_subset),
        cmocka_unit_test(hosts_are_the_nearest_in_larger_ones),
        cmocka_unit_test(worked_examples_of_the_paper),
        cmocka_unit_test(testers_and_tested_agree),
        cmocka_unit_test(the_middle_of_three_runs_counts),
        cmocka_unit_test(two_failures_of_three_accuse),
        cmocka_unit_test(the_printed_threshold_is_that_of_the_paper),
        cmocka_unit_test(of_two_that_accuse_each_other_one_leaves),
        cmocka_unit_test(slowness_leaves_the_least_number),
        cmocka_unit_test(who_is_out_comes_back_by_a_majority),
        STORY(a_slow_one_is_accused_at_the_boundary),
        STORY(a_stall_of_all_accuses_nobody),
        STORY(one_leaves_and_comes_back),
        STORY(when_all_members_fail_a_new_era_begins),
        cmocka_unit_test(without_a_members_word_two_groups_work_in_one_round),
        cmocka_unit_test(with_a_members_word_they_found_one_anew),
        cmocka_unit_test(bad_configurations_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
