/* Agreements by hand, told as stories. */
#include "test_agree_few.h"

static const struct mu_failed acked_0 = {.node = 0, .acked = 1, .process = MU_FAILED_NODE};

/* ---- without failures ---- */

static void all_decide_the_and_of_all(void **state)
{
    (void)state;
    struct few *few = few_new(7);
    few_start(few);
    few_open(few);
    for (mu_slot slot = 0; slot < 7; slot++)
        few_call(few, slot, ~(1ull << slot));
    few_carry_all(few);
    for (mu_slot slot = 0; slot < 7; slot++) {
        assert_int_equal(few->decisions[slot], 1);
        assert_int_equal(few->decided[slot].decision.value.bits, ~0x7full);
        assert_int_equal(few->decided[slot].decision.round, 1);
        assert_false(few->decided[slot].decision.error);
    }
    few_free(few);
}

static void a_group_of_one_decides_at_once(void **state)
{
    (void)state;
    struct few *few = few_new(1);
    few_start(few);
    few_open(few);
    for (uint32_t round = 1; round < 10; round++) {
        few_call(few, 0, round);
        assert_int_equal(few->decisions[0], round);
        assert_int_equal(few->decided[0].decision.value.bits, round);
    }
    few_free(few);
}

static void only_members_take_part(void **state)
{
    (void)state;
    struct few *few = few_new(6);
    const struct mu_span odd[] = {{1, 1}, {3, 1}, {5, 1}};
    few_start(few);
    for (mu_slot slot = 1; slot < 6; slot += 2) {
        few_open_at(few, slot, odd, 3);
        few_call(few, slot, slot);
    }
    few_carry_all(few);
    assert_int_equal(few->decided[5].decision.value.bits, 1 & 3 & 5);
    few_open_at(few, 2, odd, 3); /* which it is not in */
    few_expect_fault(few, MU_FAULT_AGREE_MEMBERS);
    few_free(few);
}

/* Node 1 has not heard of the group when node 2's contribution to node 0 has long arrived. */
static void messages_may_come_before_the_group(void **state)
{
    (void)state;
    struct few *few = few_new(3);
    struct mu_span all = {0, 3};
    few_start(few);
    few_open_at(few, 2, &all, 1);
    few_call(few, 2, ~4ull);
    few_carry_all(few);
    few_open_at(few, 0, &all, 1);
    few_open_at(few, 1, &all, 1);
    few_call(few, 1, ~2ull);
    few_call(few, 0, ~1ull);
    few_carry_all(few);
    for (mu_slot slot = 0; slot < 3; slot++)
        assert_int_equal(few->decided[slot].decision.value.bits, ~7ull);
    few_free(few);
}

/* ---- failures ---- */

/* Node 0 decides, tells node 1, and dies.  Node 2 hears it all the same. */
static void the_death_of_the_root_loses_nothing(void **state)
{
    (void)state;
    struct few *few = few_new(3);
    few_start(few);
    few_open(few);
    for (mu_slot slot = 0; slot < 3; slot++)
        few_call(few, slot, ~(1ull << slot));
    assert_true(few_carry(few, 1, 0) && few_carry(few, 2, 0) && few_carry(few, 0, 1));
    few->crashed[0] = true;
    few->mail_count = 0;
    few_tell(few, 2, 0); /* its parent is node 1 now, */
    few_carry_all(few);  /* which has the decision */
    assert_int_equal(few->decided[1].decision.value.bits, ~7ull);
    assert_int_equal(few->decided[2].decision.value.bits, ~7ull);
    few_free(few);
}

/* Nobody that lives knows whether node 0 has decided: node 1 asks. */
static void a_new_root_asks_its_children(void **state)
{
    (void)state;
    struct few *few = few_new(3);
    few_start(few);
    few_open(few);
    few_call(few, 1, ~2ull);
    few_call(few, 2, ~4ull);
    few->crashed[0] = true;
    few->mail_count = 0;
    few_tell(few, 1, 0);
    assert_int_equal(few->mail[0].message.type, MU_AGREE_ASK);
    few_carry(few, 1, 2);
    const struct mu_agree_effect *death = few_effect(few, MU_AGREE_DEATH);
    assert_non_null(death);           /* node 2 is told by the ASK, and tells its driver */
    assert_int_equal(death->peer, 1); /* who said so */
    assert_int_equal(death->death.slot, 0);
    assert_false(death->death.proven);
    few_carry_all(few);
    for (mu_slot slot = 1; slot < 3; slot++) {
        assert_int_equal(few->decisions[slot], 1);
        assert_int_equal(few->decided[slot].decision.value.bits, ~6ull);
        assert_int_equal(few->decided[slot].decision.value.failed_count, 1);
        assert_true(few->decided[slot].decision.error);
    }
    few_free(few);
}

/* Node 2 has proof that node 0 is dead; node 1, which decides, does not.  The decision has it, and
 * so does node 1 from then on, and its driver; nobody has it before. */
static void proof_is_carried_and_never_made_up(void **state)
{
    (void)state;
    struct few *few = few_new(4);
    few_start(few);
    few_open(few);
    few->crashed[0] = true;
    few_tell(few, 1, 0);
    few_tell(few, 3, 0);
    struct mu_agree_event proof = {.type = MU_AGREE_DEAD,
                                   .dead = {.slot = 0, .incarnation = 1, .proven = true}};
    few_step(few, 2, proof);
    few_call(few, 1, ~2ull);
    few_call(few, 3, ~8ull);
    few_carry_all(few);
    assert_false(mu_roster_is_proven(&few->nodes[1]->dead, 0, 1));
    few_call(few, 2, ~4ull);
    few_carry(few, 2, 1);
    const struct mu_agree_effect *death = few_effect(few, MU_AGREE_DEATH);
    assert_non_null(death);
    assert_int_equal(death->death.slot, 0);
    assert_true(death->death.proven);
    few_carry_all(few);
    for (mu_slot slot = 1; slot < 4; slot++) {
        assert_int_equal(few->decided[slot].decision.value.failed_count, 1);
        assert_true(few->failed[slot][0].proven);
        assert_true(mu_roster_is_proven(&few->nodes[slot]->dead, 0, 1));
    }
    proof.dead.proven = false;
    few_step(few, 1, proof); /* never back */
    assert_true(mu_roster_is_proven(&few->nodes[1]->dead, 0, 1));
    few_free(few);
}

static void agree_again(struct few *few, mu_slot first, const struct mu_failed *failed,
                        uint32_t count)
{
    for (mu_slot slot = first; slot < few->size; slot++)
        few_call_with(few, slot, UINT64_MAX, failed, count);
    few_carry_all(few);
}

/* ULFM's way: an error at all until all have acknowledged. */
static void an_error_stays_until_all_have_acknowledged(void **state)
{
    (void)state;
    struct few *few = few_new(3);
    few->config.rebalance_at = 2;
    few_start(few);
    few_open(few);
    few->crashed[0] = true;
    few_tell(few, 1, 0);
    few_tell(few, 2, 0);
    few_call_with(few, 1, UINT64_MAX, &acked_0, 1);
    few_call(few, 2, UINT64_MAX);
    few_carry_all(few);
    assert_true(few->decided[1].decision.error && few->decided[2].decision.error);
    agree_again(few, 1, &acked_0, 1);
    assert_false(few->decided[1].decision.error || few->decided[2].decision.error);
    assert_int_equal(few->decided[1].decision.value.failed_count, 1);
    assert_true(mu_agree_is_member(few->nodes[1], GROUP, 0)); /* until the next call */
    agree_again(few, 1, NULL, 0);
    assert_false(mu_agree_is_member(few->nodes[1], GROUP, 0));
    assert_int_equal(few->decided[2].decision.value.failed_count, 0);
    assert_false(few->decided[2].decision.error);
    few_free(few);
}

/* Two deaths that all have acknowledged: the five that are left are a tree of their own. */
static void the_tree_is_laid_anew(void **state)
{
    (void)state;
    struct few *few = few_new(7);
    few->config.rebalance_at = 2;
    few_start(few);
    few_open(few);
    const struct mu_failed both[] = {acked_0, {.node = 1, .acked = 1, .process = MU_FAILED_NODE}};
    few->crashed[0] = few->crashed[1] = true;
    for (mu_slot slot = 2; slot < 7; slot++) {
        few_tell(few, slot, 0);
        few_tell(few, slot, 1);
    }
    agree_again(few, 2, both, 2);
    assert_int_equal(few->nodes[2]->groups[0].members.total, 7);
    agree_again(few, 2, NULL, 0);
    for (mu_slot slot = 2; slot < 7; slot++) {
        assert_int_equal(few->decisions[slot], 2);
        assert_int_equal(few->nodes[slot]->groups[0].members.total, 5);
        assert_int_equal(few->decided[slot].decision.value.failed_count, 0);
    }
    few_free(few);
}

/* Three nodes are dead, a decision lists two: the next one tells of the third. */
static void more_failures_than_fit_come_one_decision_later(void **state)
{
    (void)state;
    struct few *few = few_new(5);
    few->config.rebalance_at = 1;
    few->config.limits.failed = 2;
    few_start(few);
    few_open(few);
    const struct mu_failed dead[] = {acked_0,
                                     {.node = 1, .acked = 1, .process = MU_FAILED_NODE},
                                     {.node = 2, .acked = 1, .process = MU_FAILED_NODE}};
    for (mu_slot slot = 0; slot < 3; slot++) {
        few->crashed[slot] = true;
        few_tell(few, 3, slot);
        few_tell(few, 4, slot);
    }
    agree_again(few, 3, dead, 3);
    assert_int_equal(few->decided[4].decision.value.failed_count, 2);
    assert_true(few->decided[4].decision.value.more && few->decided[4].decision.error);
    agree_again(few, 3, &dead[2], 1);
    assert_int_equal(few->decided[4].decision.value.failed_count, 1);
    assert_int_equal(few->failed[4][0].node, 2);
    assert_false(few->decided[4].decision.value.more || few->decided[4].decision.error);
    few_free(few);
}

/* A process of node 1 died before it contributed; its node lives. */
static void a_dead_process_is_one_that_failed(void **state)
{
    (void)state;
    struct few *few = few_new(2);
    few_start(few);
    few_open(few);
    struct mu_failed process = {.node = 1, .process = 12};
    few_call_with(few, 1, UINT64_MAX, &process, 1);
    few_call(few, 0, UINT64_MAX);
    few_carry_all(few);
    assert_true(few->decided[0].decision.error);
    assert_int_equal(few->failed[0][0].process, 12);
    process.acked = 1;
    agree_again(few, 0, &process, 1);
    assert_false(few->decided[0].decision.error);
    few_free(few);
}

/* All processes of node 2 have left.  It does not know of the death, and that is no matter. */
static void a_silent_node_keeps_nobody_from_acknowledging(void **state)
{
    (void)state;
    struct few *few = few_new(3);
    few_start(few);
    few_open(few);
    few->crashed[0] = true;
    few_tell(few, 1, 0);
    few_tell(few, 2, 0);
    few_call_with(few, 1, UINT64_MAX, &acked_0, 1);
    few_step(few, 2,
             (struct mu_agree_event){.type = MU_AGREE_CALL,
                                     .call = {.group = GROUP, .bits = UINT64_MAX, .silent = true}});
    few_carry_all(few);
    assert_int_equal(few->decided[2].decision.value.failed_count, 1);
    assert_false(few->decided[1].decision.error || few->decided[2].decision.error);
    few_free(few);
}

/* ---- lease and connections ---- */

/* Node 0 has all contributions and no lease: it decides when it is heard again. */
static void without_lease_nothing_is_said(void **state)
{
    (void)state;
    struct few *few = few_new(3);
    few_start(few);
    few_open(few);
    few->unheld[0] = true;
    for (mu_slot slot = 0; slot < 3; slot++)
        few_call(few, slot, slot);
    few_carry_all(few);
    assert_int_equal(few->decisions[0] + few->decisions[1] + few->decisions[2], 0);
    few_call(few, 0, 0); /* nor does the next one begin */
    few_expect_fault(few, MU_FAULT_AGREE_CALL);
    few->unheld[0] = false;
    few_step(few, 0, (struct mu_agree_event){.type = MU_AGREE_LEASE});
    few_carry_all(few);
    for (mu_slot slot = 0; slot < 3; slot++)
        assert_int_equal(few->decisions[slot], 1);
    few_free(few);
}

/* Node 1 has its lease again when the decision arrives: what it withheld is not said any more. */
static void the_lease_may_come_back_with_any_event(void **state)
{
    (void)state;
    struct few *few = few_new(3);
    struct mu_failed failed = {.node = 2, .process = MU_FAILED_NODE};
    struct mu_agree_message down = {.type = MU_AGREE_DOWN, .group = GROUP, .round = 1};
    down.value = (struct mu_agree_value){.bits = 4, .failed = &failed, .failed_count = 1};
    few_start(few);
    few_open(few);
    few->unheld[1] = true;
    few_call(few, 1, 5);
    assert_int_equal(few->update.count, 0);
    few->unheld[1] = false;
    few_step(few, 1,
             (struct mu_agree_event){.type = MU_AGREE_RECV, .recv = {.from = 0, .message = &down}});
    assert_null(few_effect(few, MU_AGREE_SEND));
    assert_int_equal(few->decided[1].decision.value.bits, 4);
    /* And a group that is closed meanwhile is not spoken of. */
    few->unheld[0] = true;
    few_call(few, 0, 1);
    few->unheld[0] = false;
    few_step(few, 0, (struct mu_agree_event){.type = MU_AGREE_CLOSE, .close = {.group = GROUP}});
    assert_int_equal(few->update.count, 0);
    few_free(few);
}

/* Node 1 is root of two groups and gathers in both.  A decision of one tells of a death, and then
 * of a second one with a lower slot: who is asked in the other is told of both. */
static void an_ask_tells_of_all_that_the_step_has_learned(void **state)
{
    (void)state;
    struct few *few = few_new(8);
    struct mu_span all = {0, 8};
    struct mu_failed failed[] = {{.node = 2, .process = MU_FAILED_NODE},
                                 {.node = 3, .process = MU_FAILED_NODE}};
    struct mu_agree_message down = {.type = MU_AGREE_DOWN, .group = GROUP, .round = 1};
    down.value = (struct mu_agree_value){.bits = 4, .failed = failed, .failed_count = 2};
    few_start(few);
    few_open_at(few, 1, &all, 1);
    few_step(few, 1,
             (struct mu_agree_event){.type = MU_AGREE_OPEN,
                                     .open = {.group = GROUP + 1, .spans = &all, .count = 1}});
    few_tell(few, 1, 0);
    few_call(few, 1, 1);
    few_step(few, 1, (struct mu_agree_event){.type = MU_AGREE_CALL, .call = {.group = GROUP + 1}});
    few->mail_count = 0;
    few_step(few, 1,
             (struct mu_agree_event){.type = MU_AGREE_RECV, .recv = {.from = 2, .message = &down}});
    uint32_t asks = 0;
    for (uint32_t i = 0; i < few->mail_count; i++)
        if (few->mail[i].message.type == MU_AGREE_ASK) {
            asks++;
            assert_int_equal(few->mail[i].message.dead_count, 3);
            assert_int_equal(few->mail[i].dead[2].slot, 3);
        }
    assert_int_equal(asks, 3); /* of nodes 5, 6 and 7 */
    few_free(few);
}

static void what_a_connection_lost_is_said_again(void **state)
{
    (void)state;
    struct few *few = few_new(2);
    few_start(few);
    few_open(few);
    few_call(few, 0, 3);
    few_call(few, 1, 5);
    few->mail_count = 0; /* the UP is lost, */
    few_step(few, 0, (struct mu_agree_event){.type = MU_AGREE_RESUME, .resume = {.peer = 1}});
    few_step(few, 1, (struct mu_agree_event){.type = MU_AGREE_RESUME, .resume = {.peer = 0}});
    assert_true(few_carry(few, 1, 0));
    few->mail_count = 0; /* and then the DOWN */
    few_step(few, 0, (struct mu_agree_event){.type = MU_AGREE_RESUME, .resume = {.peer = 1}});
    few_step(few, 1, (struct mu_agree_event){.type = MU_AGREE_RESUME, .resume = {.peer = 0}});
    few_carry_all(few);
    assert_int_equal(few->decided[1].decision.value.bits, 1);
    few_free(few);
}

/* ---- what is refused ---- */

static void a_call_out_of_turn_is_refused(void **state)
{
    (void)state;
    struct few *few = few_new(2);
    struct mu_failed twice[] = {acked_0, acked_0};
    few_start(few);
    few_call(few, 1, 0);
    few_expect_fault(few, MU_FAULT_AGREE_CALL); /* no such group */
    few_open(few);
    few_call_with(few, 1, 0, twice, 2);
    few_expect_fault(few, MU_FAULT_AGREE_VALUE);
    few_call(few, 1, 0);
    few_call(few, 1, 0);
    few_expect_fault(few, MU_FAULT_AGREE_CALL); /* not decided yet */
    few_open(few);
    few_expect_fault(few, MU_FAULT_AGREE_MEMBERS); /* again */
    few_free(few);
}

static void hear(struct few *few, mu_slot from, mu_slot to, struct mu_agree_message message)
{
    few_step(few, to,
             (struct mu_agree_event){.type = MU_AGREE_RECV,
                                     .recv = {.from = from, .message = &message}});
}

static void a_message_that_cannot_be_is_refused(void **state)
{
    (void)state;
    struct few *few = few_new(4);
    const struct mu_span three = {0, 3};
    struct mu_agree_message up = {.type = MU_AGREE_UP, .group = GROUP, .round = 1};
    struct mu_failed high = {.node = 4, .process = MU_FAILED_NODE};
    few_start(few);
    few_open_at(few, 0, &three, 1);
    hear(few, 3, 0, up);
    few_expect_fault(few, MU_FAULT_AGREE_MEMBER);
    hear(few, 4, 0, up);
    few_expect_fault(few, MU_FAULT_SLOT_RANGE);
    up.round = 3;
    hear(few, 1, 0, up);
    few_expect_fault(few, MU_FAULT_AGREE_ROUND);
    up.round = 0;
    hear(few, 1, 0, up);
    few_expect_fault(few, MU_FAULT_AGREE_ROUND);
    up.round = 1;
    up.value.failed = &high;
    up.value.failed_count = 1;
    hear(few, 1, 0, up);
    few_expect_fault(few, MU_FAULT_AGREE_VALUE);
    up.value.failed_count = 0;
    up.group = 8;
    hear(few, 1, 0, up);
    up.group = 9; /* there is room for two */
    hear(few, 1, 0, up);
    few_expect_fault(few, MU_FAULT_AGREE_GROUPS);
    few_step(few, 0, (struct mu_agree_event){.type = MU_AGREE_CLOSE, .close = {.group = 8}});
    hear(few, 1, 0, up);
    assert_null(few_effect(few, MU_AGREE_FAULT));
    few_free(few);
}

/* Node 2 was taken for dead: whoever is asked by it, or lists it, ends it. */
static void a_node_that_was_declared_dead_stops(void **state)
{
    (void)state;
    struct few *few = few_new(3);
    few_start(few);
    few_open(few);
    struct mu_roster_entry dead = {.slot = 2, .incarnation = 1};
    struct mu_agree_message ask = {.type = MU_AGREE_ASK, .group = GROUP, .round = 1};
    ask.dead = &dead;
    ask.dead_count = 1;
    few_call(few, 2, 1);
    hear(few, 0, 2, ask);
    assert_non_null(few_effect(few, MU_AGREE_FENCED));
    assert_int_equal(few->update.count, 1);
    few_tell(few, 2, 0);
    assert_int_equal(few->update.count, 0);
    few_free(few);
}

static void what_the_dead_said_is_thrown_away(void **state)
{
    (void)state;
    struct few *few = few_new(3);
    few_start(few);
    few_open(few);
    few_call(few, 1, 1);
    few_tell(few, 1, 0);
    few->mail_count = 0;
    hear(few, 0, 1, (struct mu_agree_message){.type = MU_AGREE_DOWN, .group = GROUP, .round = 1});
    assert_int_equal(few->update.count + few->decisions[1], 0);
    few_free(few);
}

static void more_deaths_than_there_is_room_for_are_a_fault(void **state)
{
    (void)state;
    struct few *few = few_new(4);
    few->config.limits.dead = 1;
    few_start(few);
    few_tell(few, 0, 1);
    assert_int_equal(few->update.count, 0);
    few_tell(few, 0, 2);
    few_expect_fault(few, MU_FAULT_DEAD_FULL);
    few_free(few);
}

static void a_configuration_is_checked(void **state)
{
    (void)state;
    struct mu_agree_config config, good;
    mu_agree_config_default(&good, 1000, 3);
    assert_null(mu_agree_config_error(&good));
    config = good, config.size = 0;
    assert_non_null(mu_agree_config_error(&config));
    config = good, config.self = 1000;
    assert_non_null(mu_agree_config_error(&config));
    config = good, config.shift = 25;
    assert_non_null(mu_agree_config_error(&config));
    config = good, config.rebalance_at = 0;
    assert_non_null(mu_agree_config_error(&config));
    config = good, config.limits.failed = 0;
    assert_non_null(mu_agree_config_error(&config));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_decide_the_and_of_all),
        cmocka_unit_test(a_group_of_one_decides_at_once),
        cmocka_unit_test(only_members_take_part),
        cmocka_unit_test(messages_may_come_before_the_group),
        cmocka_unit_test(the_death_of_the_root_loses_nothing),
        cmocka_unit_test(a_new_root_asks_its_children),
        cmocka_unit_test(proof_is_carried_and_never_made_up),
        cmocka_unit_test(an_error_stays_until_all_have_acknowledged),
        cmocka_unit_test(the_tree_is_laid_anew),
        cmocka_unit_test(more_failures_than_fit_come_one_decision_later),
        cmocka_unit_test(a_dead_process_is_one_that_failed),
        cmocka_unit_test(a_silent_node_keeps_nobody_from_acknowledging),
        cmocka_unit_test(without_lease_nothing_is_said),
        cmocka_unit_test(the_lease_may_come_back_with_any_event),
        cmocka_unit_test(an_ask_tells_of_all_that_the_step_has_learned),
        cmocka_unit_test(what_a_connection_lost_is_said_again),
        cmocka_unit_test(a_call_out_of_turn_is_refused),
        cmocka_unit_test(a_message_that_cannot_be_is_refused),
        cmocka_unit_test(a_node_that_was_declared_dead_stops),
        cmocka_unit_test(what_the_dead_said_is_thrown_away),
        cmocka_unit_test(more_deaths_than_there_is_room_for_are_a_fault),
        cmocka_unit_test(a_configuration_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
