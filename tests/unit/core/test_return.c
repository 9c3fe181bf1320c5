/* Members that come back and that join, at one node by hand: rules 17 to 19 of docs/spec/spread.md,
 * 8 and 9 of docs/spec/link.md. */
#include "by_hand.h"

enum { NODES = 8, SLOTS = 12 };

static void member(struct hand *hand, mu_slot slot, uint32_t incarnation, bool in)
{
    struct mu_event event = {.type = MU_EVENT_MEMBER, .now_ns = hand->now_ns};
    event.member.entry =
        (struct mu_roster_entry){.slot = slot, .incarnation = incarnation, .in = in};
    mu_node_step(hand->node, &event, &hand->update);
}

static void comes_in(struct hand *hand, mu_slot slot, uint32_t incarnation)
{
    member(hand, slot, incarnation, true);
}

static struct mu_config with_room(mu_slot self)
{
    struct mu_config config = hand_config(NODES, self);
    config.slots = SLOTS;
    config.limits.links = SLOTS + mu_graph_edges(SLOTS);
    config.limits.dead = 4 * SLOTS;
    return config;
}

static void node_zero(struct hand *hand)
{
    struct mu_config config = with_room(0);
    hand_init_connected(hand, &config);
}

static void let_edges_be_served(struct hand *hand)
{
    hand->now_ns += 4 * HAND_REDUNDANT_NS;
    hand_timeout(hand, MU_TIMER_ONWARD);
    hand_timeout(hand, MU_TIMER_BACK);
}

static void hear_late(struct hand *hand, mu_slot from, uint32_t incarnation)
{
    struct mu_frame frame = {.type = MU_FRAME_ACK};
    struct mu_event event = {.type = MU_EVENT_RECV,
                             .now_ns = hand->now_ns,
                             .recv = {.from = from, .incarnation = incarnation, .frame = &frame}};
    mu_node_step(hand->node, &event, &hand->update);
}

static void who_comes_back_gets_what_is_held_once_on_a_fresh_link(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    hand_see_dead(&hand, 1);
    let_edges_be_served(&hand);
    comes_in(&hand, 1, 5);
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 0);
    assert_int_equal(hand_effect(&hand, MU_DO_OPEN, 0)->peer, 1);
    hand_link_up_of(&hand, 1, 5, 0);
    assert_int_equal(hand_sends_to(&hand, 1), 1);
    const struct mu_effect *sent = hand_effect(&hand, MU_DO_SEND, 0);
    assert_int_equal(sent->frame.sequence, 1);
    assert_int_equal(sent->frame.notice.id.kind, MU_NOTICE_NODE_DEAD);
    comes_in(&hand, 1, 5); /* heard again */
    hand_expect_nothing(&hand);
    hand_free(&hand);
}

static void a_connection_of_the_wrong_incarnation_is_closed_with_the_reason(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    hand_link_up_of(&hand, 3, 5, 0); /* no view has admitted it */
    assert_int_equal(hand_effect(&hand, MU_DO_CLOSE, 0)->reason, MU_CLOSE_RETURNED);
    hand_see_dead(&hand, 1);
    comes_in(&hand, 1, 5);
    hand_link_up_of(&hand, 1, 4, 0);
    assert_int_equal(hand_effect(&hand, MU_DO_CLOSE, 0)->reason, MU_CLOSE_DEAD);
    hand_link_up_of(&hand, 1, 6, 0);
    assert_int_equal(hand_effect(&hand, MU_DO_CLOSE, 0)->reason, MU_CLOSE_RETURNED);
    hand_free(&hand);
}

static void a_frame_of_a_dead_incarnation_is_a_stray(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    hand_see_dead(&hand, 1);
    comes_in(&hand, 1, 5);
    hand_link_up_of(&hand, 1, 5, 0);
    uint64_t strays = hand.node->strays;
    hear_late(&hand, 1, 1);
    assert_int_equal(hand.node->strays, strays + 1);
    hear_late(&hand, 1, 5);
    assert_int_equal(hand.node->strays, strays + 1);
    hand_free(&hand);
}

static void a_handshake_says_nothing_of_the_incarnation_before(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    hand_hear(&hand, 1, hand_death_of(3, 1, 1));
    assert_int_equal(mu_node_link_has(hand.node, 1, 1), 1);
    assert_int_equal(mu_node_link_has(hand.node, 1, 5), 0);
    hand_free(&hand);
}

static void a_join_tells_of_the_death_of_who_was_there_before(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    comes_in(&hand, 1, 5);
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    const struct mu_notice *told = &hand_effect(&hand, MU_DO_DELIVER, 0)->notice;
    assert_int_equal(told->id.index, 1);
    assert_int_equal(mu_notice_incarnation(&told->id), 1);
    assert_false(mu_notice_is_proof(&told->id));
    assert_true(hand_place(&hand, MU_DO_CLOSE, 1) < hand_place(&hand, MU_DO_OPEN, 1));
    hand_hear(&hand, 2, hand_death_of(1, 1, 2)); /* a copy */
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 0);
    assert_true(mu_roster_is_in(&hand.node->roster, 1, 5));
    hand_free(&hand);
}

static void a_death_may_come_before_the_join(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    hand_hear(&hand, 2, hand_death_of(9, 4, 2)); /* of a slot beyond the circle */
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    comes_in(&hand, 9, 4);
    hand_expect_nothing(&hand);
    assert_true(mu_roster_is_vacant(&hand.node->roster, 9));
    hand_free(&hand);
}

static void a_join_of_a_higher_incarnation_fences(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    comes_in(&hand, 0, 2);
    assert_int_equal(hand_count(&hand, MU_DO_FENCED), 1);
    assert_true(hand.node->fenced);
    hand_free(&hand);
}

static void a_slot_beyond_the_capacity_is_refused(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    comes_in(&hand, SLOTS, 2);
    assert_int_equal(hand_effect(&hand, MU_DO_FAULT, 0)->fault, MU_FAULT_SLOT_RANGE);
    hand_free(&hand);
}

static void a_new_slot_makes_the_circle_grow(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    comes_in(&hand, 8, 3);
    assert_int_equal(hand.node->spread.size, 9);
    assert_int_equal(hand.node->spread.edge_count, mu_graph_edges(9));
    assert_true(mu_spread_edge_of(&hand.node->spread, 8) < hand.node->spread.edge_count);
    hand_free(&hand);
}

static void what_a_root_beyond_the_circle_says_goes_over_every_edge_at_once(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    struct mu_notice notice = hand_death_of(3, 1, 2);
    notice.root = 11;
    hand_hear(&hand, 2, notice);
    assert_true(hand_sent_mask(&hand) ==
                (hand_neighbours(NODES, 0) & ~(UINT64_C(1) << 2 | UINT64_C(1) << 3)));
    hand_free(&hand);
}

static void a_first_view_is_known_and_not_news(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = with_room(5);
    config.incarnation = 7;
    hand_init(&hand, &config);
    member(&hand, 1, 1, false);
    hand_expect_nothing(&hand);
    member(&hand, 5, 7, true);
    member(&hand, 9, 2, true);
    hand_start(&hand, false);
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 0);
    assert_int_equal(hand_place(&hand, MU_DO_OPEN, 1), UINT32_MAX);
    assert_int_equal(hand.node->spread.size, 10);
    hand_free(&hand);
}

static void the_notice_of_a_death_that_is_over_is_dropped(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    hand_see_dead(&hand, 1);
    let_edges_be_served(&hand);
    for (mu_slot peer = 2; peer < NODES; peer++)
        if (mu_links_find(&hand.node->links, peer) != NULL) {
            if (!mu_links_find(&hand.node->links, peer)->up)
                hand_link_up(&hand, peer, 0);
            hand_acknowledge(&hand, peer);
        }
    assert_int_equal(hand.node->spread.count, 1);
    struct mu_event event = {
        .type = MU_EVENT_FORGET, .now_ns = hand.now_ns, .forget = {MU_NOTICE_NODE_DEAD, 1, 1}};
    mu_node_step(hand.node, &event, &hand.update);
    assert_int_equal(hand.node->spread.count, 0);
    assert_int_equal(hand.node->spread.deaths, 0);
    hand_hear(&hand, 2, hand_death_of(1, 1, 2)); /* the roster knows it all the same */
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 0);
    hand_free(&hand);
}

/* Found by seed 54 of 'check spread': the proof took its place, and the queue led to nothing. */
static void a_proof_takes_the_place_of_a_death_that_is_over(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    hand_see_dead(&hand, 1);
    let_edges_be_served(&hand); /* and nothing is acknowledged: it is retained */
    struct mu_event event = {
        .type = MU_EVENT_FORGET, .now_ns = hand.now_ns, .forget = {MU_NOTICE_NODE_DEAD, 1, 1}};
    mu_node_step(hand.node, &event, &hand.update);
    assert_int_equal(hand.node->spread.count, 1);
    struct mu_notice proof = {.id = mu_notice_proof(1, 1), .root = 0};
    hand_verdict(&hand, proof);
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    assert_int_equal(hand.update.deadline_ns[MU_TIMER_RETAIN], MU_NEVER);
    hand_free(&hand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_comes_back_gets_what_is_held_once_on_a_fresh_link),
        cmocka_unit_test(a_connection_of_the_wrong_incarnation_is_closed_with_the_reason),
        cmocka_unit_test(a_frame_of_a_dead_incarnation_is_a_stray),
        cmocka_unit_test(a_handshake_says_nothing_of_the_incarnation_before),
        cmocka_unit_test(a_join_tells_of_the_death_of_who_was_there_before),
        cmocka_unit_test(a_death_may_come_before_the_join),
        cmocka_unit_test(a_join_of_a_higher_incarnation_fences),
        cmocka_unit_test(a_slot_beyond_the_capacity_is_refused),
        cmocka_unit_test(a_new_slot_makes_the_circle_grow),
        cmocka_unit_test(what_a_root_beyond_the_circle_says_goes_over_every_edge_at_once),
        cmocka_unit_test(a_first_view_is_known_and_not_news),
        cmocka_unit_test(the_notice_of_a_death_that_is_over_is_dropped),
        cmocka_unit_test(a_proof_takes_the_place_of_a_death_that_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
