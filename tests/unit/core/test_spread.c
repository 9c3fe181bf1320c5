/* Reliable broadcast, at one node: whom it tells, when, and what it keeps.
 *
 * Most tests look at node 0 of 16.  Its neighbours: 1, 2, 4, 8 onward, 15, 14, 12 back; the edge
 * eight slots back leads to 8 again. */
#include "by_hand.h"

#include "test_wire_random.h"
#include "wire/record/record.h"

enum { NODES = 16 };

static uint64_t bit(mu_slot slot)
{
    return 1ull << slot;
}

static void node_zero(struct hand *hand)
{
    struct mu_config config = hand_config(NODES, 0);
    hand_init_connected(hand, &config);
}

/* Neighbours by the direction of the lowest edge that leads there. */
static uint64_t neighbours_onward(uint32_t size, mu_slot slot)
{
    uint64_t mask = 0;
    for (mu_slot to = 0; to < size; to++) {
        uint32_t edge = mu_graph_edge_to(size, slot, to);
        if (edge < mu_graph_edges(size) && edge % 2 == 0)
            mask |= bit(to);
    }
    return mask;
}

static uint64_t children(uint32_t size, mu_slot root, mu_slot slot)
{
    uint64_t mask = 0;
    for (mu_slot to = 0; to < size; to++)
        if (mu_graph_parent(size, root, to) == slot)
            mask |= bit(to);
    return mask;
}

/* Fires a timer at its deadline. */
static void fire(struct hand *hand, enum mu_timer timer)
{
    uint64_t due_ns = hand->update.deadline_ns[timer];
    assert_true(due_ns != MU_NEVER);
    hand->now_ns = due_ns > hand->now_ns ? due_ns : hand->now_ns;
    hand_timeout(hand, timer);
}

static bool is_armed(const struct hand *hand, enum mu_timer timer)
{
    return hand->update.deadline_ns[timer] != MU_NEVER;
}

/* Due at the first of this node's moments, which are half a wait apart, from 'least_ns' on. */
static void expect_due(const struct hand *hand, enum mu_timer timer, uint64_t least_ns)
{
    uint64_t due_ns = hand->update.deadline_ns[timer];
    assert_true(due_ns >= least_ns && due_ns < least_ns + HAND_REDUNDANT_NS / 2);
}

/* Serves redundant edges until none is due; adds up who is sent how many meanwhile. */
static void fire_redundant(struct hand *hand, uint32_t sends_to[NODES])
{
    while (is_armed(hand, MU_TIMER_ONWARD) || is_armed(hand, MU_TIMER_BACK)) {
        fire(hand, is_armed(hand, MU_TIMER_ONWARD) ? MU_TIMER_ONWARD : MU_TIMER_BACK);
        for (mu_slot slot = 0; sends_to != NULL && slot < NODES; slot++)
            sends_to[slot] += hand_sends_to(hand, slot);
    }
}

/* ---- who is told, and when ---- */

/* One notice at one node, from its parent in the tree to the last edge. */
static void check_waves(uint32_t size, mu_slot root, mu_slot self)
{
    struct hand hand;
    struct mu_config config = hand_config(size, self);
    hand_init_connected(&hand, &config);
    mu_slot parent = mu_graph_parent(size, root, self);
    if (parent == MU_SLOT_NONE)
        hand_post(&hand, "x");
    else
        hand_hear(&hand, parent, hand_payload_of(root, 1, "x"));
    uint64_t heard_ns = hand.now_ns;
    uint64_t left = hand_neighbours(size, self) & ~(parent == MU_SLOT_NONE ? 0 : bit(parent));

    /* At once: the children, and only then the clients of this node. */
    assert_true(hand_sent_mask(&hand) == children(size, root, self));
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    assert_int_equal(hand_place(&hand, MU_DO_DELIVER, MU_SLOT_NONE), hand.update.count - 1);
    left &= ~children(size, root, self);

    if (left != 0) { /* after half the wait: the others onward */
        expect_due(&hand, MU_TIMER_ONWARD, heard_ns + HAND_REDUNDANT_NS / 2);
        assert_false(is_armed(&hand, MU_TIMER_BACK));
        fire(&hand, MU_TIMER_ONWARD);
        assert_true(hand_sent_mask(&hand) == (left & neighbours_onward(size, self)));
        left &= ~neighbours_onward(size, self);
    }
    if (left != 0) { /* after all of it: the others back */
        expect_due(&hand, MU_TIMER_BACK, heard_ns + HAND_REDUNDANT_NS);
        fire(&hand, MU_TIMER_BACK);
        assert_true(hand_sent_mask(&hand) == left);
    }
    assert_false(is_armed(&hand, MU_TIMER_ONWARD) || is_armed(&hand, MU_TIMER_BACK));
    hand_free(&hand);
}

static void children_hear_before_clients_and_redundant_edges_wait(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 3, 5, 8, 13, 16, 23};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (mu_slot root = 0; root < sizes[i]; root++)
            for (mu_slot self = 0; self < sizes[i]; self++)
                check_waves(sizes[i], root, self);
}

static void a_redundant_edge_does_not_go_out_early(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    hand_hear(&hand, 4, hand_payload_of(3, 1, "x"));
    hand.now_ns = hand.update.deadline_ns[MU_TIMER_ONWARD] - 1;
    hand_timeout(&hand, MU_TIMER_ONWARD);
    hand_expect_nothing(&hand);
    hand.now_ns += 1;
    hand_timeout(&hand, MU_TIMER_BACK); /* not its turn */
    hand_expect_nothing(&hand);
    hand_timeout(&hand, MU_TIMER_ONWARD);
    assert_true(hand_sent_mask(&hand) == (bit(1) | bit(2) | bit(8)));
    hand.now_ns = hand.update.deadline_ns[MU_TIMER_BACK] - 1;
    hand_timeout(&hand, MU_TIMER_BACK);
    hand_expect_nothing(&hand);
    hand.now_ns += 1;
    hand_timeout(&hand, MU_TIMER_BACK);
    assert_true(hand_sent_mask(&hand) == (bit(15) | bit(14) | bit(12)));
    hand_free(&hand);
}

/* One write for each neighbour then, and one wake-up of it. */
static void notices_that_follow_each_other_use_redundant_edges_at_the_same_time(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    hand_hear(&hand, 4, hand_payload_of(3, 1, "x"));
    uint64_t due_ns = hand.update.deadline_ns[MU_TIMER_ONWARD];
    hand.now_ns = due_ns - HAND_REDUNDANT_NS / 2; /* the latest that still goes with it */
    hand_hear(&hand, 4, hand_payload_of(3, 2, "y"));
    assert_int_equal(hand.update.deadline_ns[MU_TIMER_ONWARD], due_ns);
    hand.now_ns = due_ns;
    hand_timeout(&hand, MU_TIMER_ONWARD);
    assert_true(hand_sent_mask(&hand) == (bit(1) | bit(2) | bit(8)));
    assert_int_equal(hand.update.deadline_ns[MU_TIMER_ONWARD], due_ns);
    hand_timeout(&hand, MU_TIMER_ONWARD);
    assert_true(hand_sent_mask(&hand) == (bit(1) | bit(2) | bit(8)));
    assert_false(is_armed(&hand, MU_TIMER_ONWARD));
    hand_free(&hand);
}

/* Nodes that share cores would else all send at once. */
static void nodes_have_moments_of_their_own(void **state)
{
    (void)state;
    uint64_t due_ns[2];
    for (mu_slot self = 0; self < 2; self++) {
        struct hand hand;
        struct mu_config config = hand_config(NODES, self);
        hand_init_connected(&hand, &config);
        hand_hear(&hand, self + 4, hand_payload_of(self + 3, 1, "x"));
        assert_true(is_armed(&hand, MU_TIMER_ONWARD));
        due_ns[self] = hand.update.deadline_ns[MU_TIMER_ONWARD];
        hand_free(&hand);
    }
    assert_true(due_ns[0] != due_ns[1]);
}

/* Node 0 hears news of node 3 from 4, its parent in that tree.  It has no child there. */
static void an_edge_is_skipped_when_the_neighbours_own_copy_has_come(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_notice news = hand_payload_of(3, 1, "x");
    node_zero(&hand);
    hand_hear(&hand, 4, news);
    assert_int_equal(hand_count(&hand, MU_DO_SEND), 0);
    hand_hear(&hand, 2, news);
    hand_expect_nothing(&hand); /* no second delivery */
    hand_hear(&hand, 15, news);
    hand_expect_nothing(&hand);
    fire(&hand, MU_TIMER_ONWARD);
    assert_true(hand_sent_mask(&hand) == (bit(1) | bit(8)));
    hand_hear(&hand, 14, news); /* between the two waves */
    fire(&hand, MU_TIMER_BACK);
    assert_true(hand_sent_mask(&hand) == bit(12));
    assert_int_equal(hand.node->spread.duplicates, 3);
    hand_free(&hand);
}

static void nothing_is_left_to_do_when_all_neighbours_have_sent_their_copies(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_notice news = hand_payload_of(3, 1, "x");
    node_zero(&hand);
    for (mu_slot slot = 1; slot < NODES; slot++)
        if ((hand_neighbours(NODES, 0) & bit(slot)) != 0)
            hand_hear(&hand, slot, news);
    fire(&hand, MU_TIMER_ONWARD);
    hand_expect_nothing(&hand);
    assert_false(is_armed(&hand, MU_TIMER_ONWARD) || is_armed(&hand, MU_TIMER_BACK));
    hand_free(&hand);
}

/* Below root 3, node 2's parent is 3, which is dead: node 2 waits for nobody. */
static void an_orphan_is_told_at_once(void **state)
{
    (void)state;
    struct hand hand;
    assert_int_equal(mu_graph_parent(NODES, 3, 2), 3);
    node_zero(&hand);
    hand_see_dead(&hand, 3);
    fire_redundant(&hand, NULL);
    hand_hear(&hand, 4, hand_payload_of(3, 1, "last words"));
    assert_true((hand_sent_mask(&hand) & bit(2)) != 0);
    assert_true(hand_place(&hand, MU_DO_SEND, 2) < hand_place(&hand, MU_DO_DELIVER, MU_SLOT_NONE));
    assert_int_equal(hand_sends_to(&hand, 12), 0); /* its parent lives: redundant, it can wait */
    hand_free(&hand);
}

/* How often this notice went to 'peer' in the last step. */
static uint32_t sends_of(const struct hand *hand, const struct mu_notice *notice, mu_slot peer)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < hand->update.count; i++) {
        const struct mu_effect *effect = &hand->update.effects[i];
        count += effect->type == MU_DO_SEND && effect->peer == peer &&
                 mu_notice_compare(&effect->frame.notice.id, &notice->id) == 0;
    }
    return count;
}

static void a_neighbour_that_becomes_an_orphan_meanwhile_is_told_at_once(void **state)
{
    (void)state;
    for (int waves = 0; waves < 2; waves++) {
        struct hand hand;
        mu_slot root = waves == 0 ? 3 : 1, orphan = waves == 0 ? 2 : 15; /* one onward, one back */
        struct mu_notice news = hand_payload_of(root, 1, "last words");
        assert_int_equal(mu_graph_parent(NODES, root, orphan), root);
        node_zero(&hand);
        hand_hear(&hand, 4, news);
        assert_int_equal(sends_of(&hand, &news, orphan), 0);
        if (waves == 1)
            fire(&hand, MU_TIMER_ONWARD);
        assert_int_equal(sends_of(&hand, &news, orphan), 0);
        hand_see_dead(&hand, root);
        assert_int_equal(sends_of(&hand, &news, orphan), 1);
        hand_free(&hand);
    }
}

/* Of 15's own neighbours 1, 7 and 11 are nearer to root 3 than node 0 is: they tell it.  Node 0
 * does when only two of them are left. */
static void an_orphan_is_left_to_three_that_are_nearer_to_the_root(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_notice news = hand_payload_of(3, 1, "last words");
    assert_int_equal(mu_graph_parent(NODES, 3, 15), 3);
    node_zero(&hand);
    hand_see_dead(&hand, 3);
    fire_redundant(&hand, NULL);
    hand_hear(&hand, 4, news);
    assert_int_equal(sends_of(&hand, &news, 15), 0);
    hand_see_dead(&hand, 10); /* is none of them */
    assert_int_equal(sends_of(&hand, &news, 15), 0);
    hand_see_dead(&hand, 11);
    assert_int_equal(sends_of(&hand, &news, 15), 1);
    hand_free(&hand);
}

/* ---- deaths ---- */

static void a_death_cuts_the_link_and_opens_one_to_the_next_live_slot(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    hand_see_dead(&hand, 4);
    hand_expect_close(&hand, MU_CLOSE_DEAD, 4);
    assert_int_equal(hand_count(&hand, MU_DO_OPEN), 1);
    assert_int_equal(hand_effect(&hand, MU_DO_OPEN, 0)->peer, 5);
    assert_int_equal(hand_sends_to(&hand, 4), 0);
    hand_see_dead(&hand, 12); /* back */
    hand_expect_close(&hand, MU_CLOSE_DEAD, 12);
    assert_int_equal(hand_effect(&hand, MU_DO_OPEN, 0)->peer, 11);
    hand_see_dead(&hand, 1); /* the next one is a neighbour already */
    assert_int_equal(hand_count(&hand, MU_DO_CLOSE), 1);
    assert_int_equal(hand_count(&hand, MU_DO_OPEN), 0);
    hand_free(&hand);
}

static void a_replacement_gets_everything_that_is_held_once(void **state)
{
    (void)state;
    struct hand hand;
    uint32_t sends_to[NODES] = {0};
    node_zero(&hand);
    hand_post(&hand, "one");
    hand_hear(&hand, 4, hand_payload_of(3, 1, "two"));
    fire_redundant(&hand, NULL);
    hand_post(&hand, "still waiting");
    hand_see_dead(&hand, 4);
    assert_int_equal(hand_sends_to(&hand, 5), 0); /* not connected yet */
    hand_link_up(&hand, 5, 0);
    sends_to[5] = hand_sends_to(&hand, 5);
    assert_true(sends_to[5] >= 2); /* what is spread goes at once */
    assert_int_equal(hand.update.count, sends_to[5]);
    for (uint32_t i = 0; i < sends_to[5]; i++)
        assert_int_equal(hand_effect(&hand, MU_DO_SEND, i)->frame.sequence, i + 1);
    fire_redundant(&hand, sends_to);
    assert_int_equal(sends_to[5], 4); /* three payloads and the death */
    hand_free(&hand);
}

static void a_neighbour_that_moves_to_another_edge_is_sent_nothing_twice(void **state)
{
    (void)state;
    struct hand hand;
    uint32_t sends_to[NODES] = {0};
    node_zero(&hand);
    hand_post(&hand, "one"); /* goes to every neighbour at once */
    fire_redundant(&hand, NULL);
    hand_see_dead(&hand, 1); /* 2 is now reached over the edge that led to 1 */
    sends_to[2] += hand_sends_to(&hand, 2);
    sends_to[8] += hand_sends_to(&hand, 8);
    fire_redundant(&hand, sends_to);
    assert_int_equal(sends_to[2], 1); /* the death, not the payload */
    assert_int_equal(sends_to[8], 1);
    hand_free(&hand);
}

static void a_death_seen_and_heard_is_delivered_once(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    hand_see_dead(&hand, 5);
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    hand_hear(&hand, 2, hand_death_of(5, 1, 6));
    hand_expect_nothing(&hand);
    hand_see_dead(&hand, 5);
    hand_expect_nothing(&hand);
    hand_hear(&hand, 2, hand_death_of(6, 1, 6)); /* the other way round */
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    hand_see_dead(&hand, 6);
    hand_expect_nothing(&hand);
    hand_free(&hand);
}

static void a_death_covers_earlier_incarnations_only(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    hand_hear(&hand, 2, hand_death_of(5, 3, 6));
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    hand_hear(&hand, 2, hand_death_of(5, 2, 6));
    hand_expect_nothing(&hand);
    hand_hear(&hand, 2, hand_death_of(5, 4, 6));
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    hand_free(&hand);
}

static void a_node_that_tells_of_its_own_death_is_believed_and_cut(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    hand_hear(&hand, 4, hand_death_of(4, 1, 4));
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    hand_expect_close(&hand, MU_CLOSE_DEAD, 4);
    assert_int_equal(hand_sends_to(&hand, 4), 0);
    hand_free(&hand);
}

static void the_last_survivor_talks_to_nobody_and_goes_on(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = hand_config(4, 0);
    hand_init_connected(&hand, &config);
    for (mu_slot slot = 1; slot < 4; slot++)
        hand_see_dead(&hand, slot);
    assert_int_equal(hand_count(&hand, MU_DO_OPEN), 0);
    hand_post(&hand, "anybody?");
    assert_int_equal(hand.update.count, 1);
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    hand_free(&hand);
}

/* ---- the fence ---- */

static void expect_inert(struct hand *hand)
{
    struct mu_frame frame = {.type = MU_FRAME_NOTICE, .sequence = 1, .ack = 99};
    frame.notice = hand_payload_of(3, 1, "x");
    for (int i = 0; i < 7; i++) {
        switch (i) {
        case 0:
            hand_post(hand, "x");
            break;
        case 1:
            hand_recv(hand, 1, &frame);
            break;
        case 2:
            hand_see_dead(hand, 3);
            break;
        case 3:
            hand_link_down(hand, 1);
            break;
        case 4:
            hand_link_up(hand, 1, 77);
            break;
        default:
            hand->now_ns += HAND_RETAIN_NS;
            for (int timer = 0; timer < MU_TIMERS; timer++)
                hand_timeout(hand, (enum mu_timer)timer);
        }
        hand_expect_nothing(hand);
        for (int timer = 0; timer < MU_TIMERS; timer++)
            assert_true(hand->update.deadline_ns[timer] == MU_NEVER);
    }
}

static void a_node_that_hears_of_its_own_death_is_fenced_and_inert(void **state)
{
    (void)state;
    for (int seen_here = 0; seen_here < 2; seen_here++) {
        struct hand hand;
        node_zero(&hand);
        hand_post(&hand, "arms deadlines");
        if (seen_here != 0)
            hand_see_dead(&hand, 0);
        else
            hand_hear(&hand, 1, hand_death_of(0, 1, 1));
        assert_int_equal(hand.update.count, 1);
        const struct mu_effect *fenced = hand_effect(&hand, MU_DO_FENCED, 0);
        assert_int_equal(fenced->notice.id.kind, MU_NOTICE_NODE_DEAD);
        assert_int_equal(fenced->notice.id.index, 0);
        expect_inert(&hand);
        hand_free(&hand);
    }
}

static void the_death_of_a_later_incarnation_fences_too(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    hand_hear(&hand, 1, hand_death_of(0, 2, 1));
    assert_int_equal(hand_count(&hand, MU_DO_FENCED), 1);
    assert_int_equal(hand.update.count, 1);
    expect_inert(&hand);
    hand_free(&hand);
}

static void the_death_of_an_earlier_incarnation_does_not_fence(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = hand_config(NODES, 0);
    config.incarnation = 3;
    hand_init_connected(&hand, &config);
    hand_hear(&hand, 1, hand_death_of(0, 2, 1));
    assert_int_equal(hand_count(&hand, MU_DO_FENCED), 0);
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 0); /* that it is here proves as much */
    hand_post(&hand, "still here");
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    assert_true(hand_sent_mask(&hand) == hand_neighbours(NODES, 0));
    hand_hear(&hand, 1, hand_death_of(0, 3, 1));
    assert_int_equal(hand_count(&hand, MU_DO_FENCED), 1);
    hand_free(&hand);
}

/* ---- capacities: each has its own fault, and the rest goes on ---- */

static void acknowledge_all(struct hand *hand)
{
    for (mu_slot slot = 1; slot < NODES; slot++)
        if ((hand_neighbours(NODES, 0) & bit(slot)) != 0)
            hand_acknowledge(hand, slot);
}

static struct mu_notice process_died(uint32_t job, uint32_t rank)
{
    return (struct mu_notice){.id = mu_notice_process(job, 1, rank), .root = 0};
}

static void too_many_notices_are_a_fault_of_their_own(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = hand_config(NODES, 0);
    config.limits.notices = 4;
    hand_init_connected(&hand, &config);
    hand_post(&hand, "one");
    hand_verdict(&hand, process_died(1, 0)); /* the share of one of 16 nodes is 1 in a term */
    hand_expect_fault(&hand, MU_FAULT_NOTICES_FULL, MU_SLOT_NONE);
    assert_int_equal(hand.update.count, 1);
    hand.now_ns += HAND_REDUNDANT_NS;
    hand_verdict(&hand, process_died(1, 0));
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    hand.now_ns += HAND_REDUNDANT_NS;
    hand_post(&hand, "three"); /* half of the places are taken, the rest is for what is heard */
    hand_expect_fault(&hand, MU_FAULT_NOTICES_FULL, MU_SLOT_NONE);
    assert_int_equal(hand.update.count, 1);
    hand_verdict(&hand, process_died(1, 0)); /* nothing new, so no need for room */
    hand_expect_nothing(&hand);
    for (uint32_t i = 1; i <= 2; i++) {
        hand_hear(&hand, 4, hand_payload_of(4, i, "x"));
        assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    }
    hand_see_dead(&hand, 5); /* deaths of nodes have room of their own */
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);

    /* What could not be held is not taken for known, and the payload was not numbered. */
    fire_redundant(&hand, NULL);
    acknowledge_all(&hand);
    hand.now_ns += 2 * HAND_RETAIN_NS;
    for (int i = 0; i < 4; i++)
        hand_timeout(&hand, MU_TIMER_RETAIN);
    hand_post(&hand, "three");
    assert_int_equal(hand_effect(&hand, MU_DO_DELIVER, 0)->notice.id.index, 2);
    hand_free(&hand);
}

/* The one frame without a notice that a step has sent to this peer. */
static const struct mu_frame *word_to(const struct hand *hand, mu_slot peer)
{
    const struct mu_frame *word = NULL;
    for (uint32_t i = 0; i < hand->update.count; i++) {
        const struct mu_effect *effect = &hand->update.effects[i];
        if (effect->type != MU_DO_SEND || effect->peer != peer ||
            effect->frame.type == MU_FRAME_NOTICE)
            continue;
        assert_null(word);
        word = &effect->frame;
    }
    assert_non_null(word);
    return word;
}

static void say(struct hand *hand, mu_slot from, enum mu_frame_type type, uint64_t ack)
{
    const struct mu_frame frame = {.type = (uint8_t)type, .ack = ack};
    hand_recv(hand, from, &frame);
}

static void expect_pushed_back(const struct hand *hand, enum mu_fault fault, mu_slot peer)
{
    const struct mu_effect *effect = hand_effect(hand, MU_DO_FAULT, 0);
    assert_string_equal(mu_fault_name(effect->fault), mu_fault_name(fault));
    assert_int_equal(effect->peer, peer);
    assert_int_equal(word_to(hand, peer)->type, MU_FRAME_FULL);
    assert_int_equal(hand_count(hand, MU_DO_DELIVER), 0);
    assert_int_equal(hand_count(hand, MU_DO_CLOSE), 0);
}

/* What is heard without room for it is not accepted, and nothing closes: it is told, and told again
 * when there is room.  What was on its way meanwhile is not taken. */
static void what_there_was_no_room_for_is_pushed_back_until_there_is(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = hand_config(NODES, 0);
    config.limits.notices = 1;
    hand_init_connected(&hand, &config);
    hand_post(&hand, "one");
    hand_hear(&hand, 4, hand_payload_of(3, 1, "x"));
    expect_pushed_back(&hand, MU_FAULT_NOTICES_FULL, 4);
    assert_int_equal(word_to(&hand, 4)->ack, 0);
    assert_int_equal(hand.update.count, 2);
    struct mu_frame next = {
        .type = MU_FRAME_NOTICE, .sequence = 2, .notice = hand_payload_of(3, 2, "y")};
    hand_recv(&hand, 4, &next); /* was on its way: no gap */
    hand_expect_nothing(&hand);
    acknowledge_all(&hand);
    hand.now_ns += HAND_RETAIN_NS;
    hand_timeout(&hand, MU_TIMER_RETAIN);
    assert_int_equal(word_to(&hand, 4)->type, MU_FRAME_ROOM);
    assert_int_equal(hand.update.count, 1);
    hand_recv(&hand, 4, &next); /* still of before */
    hand_expect_nothing(&hand);
    say(&hand, 4, MU_FRAME_AGAIN, 1);
    hand_expect_nothing(&hand);
    hand_hear(&hand, 4, hand_payload_of(3, 1, "x"));
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    assert_int_equal(mu_node_link_has(hand.node, 4, 1), 1);
    hand_free(&hand);
}

static void a_nodes_death_comes_in_although_there_is_no_room(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = hand_config(NODES, 0);
    config.limits.notices = 1;
    hand_init_connected(&hand, &config);
    hand_post(&hand, "one");
    hand_hear(&hand, 4, hand_payload_of(3, 1, "x"));
    expect_pushed_back(&hand, MU_FAULT_NOTICES_FULL, 4);
    struct mu_frame behind = {
        .type = MU_FRAME_NOTICE, .sequence = 2, .notice = hand_death_of(5, 1, 4)};
    hand_recv(&hand, 4, &behind); /* at once, before the other side has answered */
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    assert_true(mu_roster_is_vacant(&hand.node->roster, 5));
    assert_int_equal(mu_node_link_has(hand.node, 4, 1), 0); /* it comes again, and is a copy */
    say(&hand, 4, MU_FRAME_AGAIN, 1);
    hand_hear(&hand, 4, hand_death_of(5, 1, 4));
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 0);
    assert_int_equal(mu_node_link_has(hand.node, 4, 1), 1);
    hand_hear(&hand, 4, hand_death_of(6, 1, 4)); /* and what is sent after the answer, too */
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    hand_free(&hand);
}

/* The other side of it: all but deaths is taken back, and deaths are numbered anew. */
static void who_is_told_that_there_is_no_room_sends_deaths_only(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    hand_post(&hand, "one");
    hand_see_dead(&hand, 5);
    hand_post(&hand, "three");
    say(&hand, 4, MU_FRAME_FULL, 0);
    assert_int_equal(hand.update.count, 2);
    assert_int_equal(word_to(&hand, 4)->type, MU_FRAME_AGAIN);
    const struct mu_effect *death = hand_effect(&hand, MU_DO_SEND, 1);
    assert_int_equal(death->frame.notice.id.kind, MU_NOTICE_NODE_DEAD);
    assert_int_equal(death->frame.sequence, 1);
    hand_post(&hand, "four");
    assert_int_equal(hand_sends_to(&hand, 4), 0);
    assert_int_equal(hand_sends_to(&hand, 1), 1); /* others have room */
    hand_see_dead(&hand, 9);
    assert_int_equal(hand_sends_to(&hand, 4), 1);
    say(&hand, 4, MU_FRAME_ACK, 2); /* that frees places of the ring, and is not room there */
    hand_expect_nothing(&hand);
    say(&hand, 4, MU_FRAME_ROOM, 2);
    assert_int_equal(hand_sends_to(&hand, 4), 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(hand_effect(&hand, MU_DO_SEND, i)->frame.sequence, 3 + i);
    hand_free(&hand);
}

/* A death that found the ring full goes as soon as it is emptied. */
static void a_death_behind_a_full_window_does_not_wait_for_room(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = hand_config(NODES, 0);
    config.limits.window = 1;
    hand_init_connected(&hand, &config);
    hand_post(&hand, "one");
    hand_see_dead(&hand, 5);
    assert_int_equal(hand_sends_to(&hand, 4), 0);
    say(&hand, 4, MU_FRAME_FULL, 0);
    assert_int_equal(hand.update.count, 2);
    assert_int_equal(word_to(&hand, 4)->type, MU_FRAME_AGAIN);
    const struct mu_frame *death = &hand_effect(&hand, MU_DO_SEND, 1)->frame;
    assert_int_equal(death->notice.id.kind, MU_NOTICE_NODE_DEAD);
    assert_int_equal(death->sequence, 1);
    hand_free(&hand);
}

/* Both ends forget it with the connection. */
static void a_new_connection_knows_nothing_of_room(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    hand_post(&hand, "one");
    say(&hand, 4, MU_FRAME_FULL, 0);
    hand_link_down(&hand, 4);
    hand_link_up(&hand, 4, 0);
    assert_int_equal(hand_sends_to(&hand, 4), 1);
    assert_int_equal(hand_effect(&hand, MU_DO_SEND, 0)->frame.sequence, 1);
    hand_free(&hand);
}

static void what_there_was_no_room_for_comes_again_over_a_new_connection(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = hand_config(NODES, 0);
    config.limits.notices = 1;
    struct mu_notice news = hand_payload_of(3, 1, "x");
    hand_init_connected(&hand, &config);
    hand_post(&hand, "one");
    hand_hear(&hand, 4, news);
    expect_pushed_back(&hand, MU_FAULT_NOTICES_FULL, 4);
    assert_int_equal(mu_node_link_has(hand.node, 4, 1), 0);
    hand_link_down(&hand, 4);
    assert_int_equal(hand_effect(&hand, MU_DO_OPEN, 0)->peer, 4);
    hand_link_up(&hand, 4, 1);
    acknowledge_all(&hand);
    hand.now_ns += HAND_RETAIN_NS;
    hand_timeout(&hand, MU_TIMER_RETAIN);
    hand_hear(&hand, 4, news);
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    hand_free(&hand);
}

static void a_full_node_still_tells_repeats_and_gaps_from_news(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = hand_config(NODES, 0);
    config.limits.notices = 1;
    struct mu_frame frame = {.type = MU_FRAME_NOTICE, .sequence = 1};
    hand_init_connected(&hand, &config);
    hand_hear(&hand, 4, hand_payload_of(3, 1, "x"));
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    frame.notice = hand_payload_of(3, 2, "y"); /* there is no room for it, but it is a repeat */
    hand_recv(&hand, 4, &frame);
    hand_expect_nothing(&hand);
    frame.sequence = 3;
    hand_recv(&hand, 4, &frame);
    hand_expect_fault(&hand, MU_FAULT_LINK_GAP, 4);
    hand_expect_close(&hand, MU_CLOSE_RULE, 4);
    hand_free(&hand);
}

static void too_many_ranges_of_the_known_are_a_fault_of_their_own(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = hand_config(NODES, 0);
    config.limits.seen = 2;
    hand_init_connected(&hand, &config);
    hand_verdict(&hand, process_died(1, 0));
    hand_verdict(&hand, process_died(1, 5));
    hand_verdict(&hand, process_died(1, 2));
    hand_expect_fault(&hand, MU_FAULT_SEEN_FULL, MU_SLOT_NONE);
    assert_int_equal(hand.update.count, 1);
    hand_post(&hand, "x");
    hand_expect_fault(&hand, MU_FAULT_SEEN_FULL, MU_SLOT_NONE);
    hand_hear(&hand, 4, hand_payload_of(3, 1, "x"));
    expect_pushed_back(&hand, MU_FAULT_SEEN_FULL, 4);
    hand_verdict(&hand, process_died(1, 1)); /* next to what is known: takes no room */
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    hand_verdict(&hand, process_died(1, 2)); /* now it fits */
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    hand_see_dead(&hand, 5); /* deaths of nodes are kept elsewhere */
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    hand_free(&hand);
}

static void a_stream_that_is_over_gives_its_room_back(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = hand_config(NODES, 0);
    config.limits.seen = 1;
    hand_init_connected(&hand, &config);
    hand_verdict(&hand, process_died(1, 0));
    hand_verdict(&hand, process_died(2, 0));
    hand_expect_fault(&hand, MU_FAULT_SEEN_FULL, MU_SLOT_NONE);
    hand_forget(&hand, MU_NOTICE_PROC_DEAD, process_died(3, 0).id.stream); /* another one */
    hand_expect_nothing(&hand);
    hand_verdict(&hand, process_died(2, 0));
    hand_expect_fault(&hand, MU_FAULT_SEEN_FULL, MU_SLOT_NONE);
    hand_forget(&hand, MU_NOTICE_PROC_DEAD, process_died(1, 0).id.stream);
    hand_expect_nothing(&hand);
    hand_verdict(&hand, process_died(2, 0));
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    hand_verdict(&hand, process_died(1, 0)); /* held, and so known all the same */
    hand_expect_nothing(&hand);
    hand_free(&hand);
}

static void too_many_dead_are_a_fault_of_their_own(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = hand_config(NODES, 0);
    config.limits.dead = 1;
    hand_init_connected(&hand, &config);
    hand_see_dead(&hand, 4);
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    hand_see_dead(&hand, 8);
    hand_expect_fault(&hand, MU_FAULT_DEAD_FULL, MU_SLOT_NONE);
    assert_int_equal(hand.update.count, 1); /* in particular, its link is not cut */
    hand_hear(&hand, 8, hand_payload_of(8, 1, "I am here"));
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    hand_hear(&hand, 8, hand_death_of(4, 1, 8)); /* known */
    hand_expect_nothing(&hand);
    hand_hear(&hand, 1, hand_death_of(2, 1, 1));
    hand_expect_fault(&hand, MU_FAULT_DEAD_FULL, 1);
    hand_expect_close(&hand, MU_CLOSE_FULL, 1);
    hand_see_dead(&hand, 0); /* one's own death takes no room */
    assert_int_equal(hand_count(&hand, MU_DO_FENCED), 1);
    hand_free(&hand);
}

/* ---- proof ---- */

static struct mu_notice proof_of(mu_slot slot, mu_slot root, const char *text)
{
    return (struct mu_notice){.id = mu_notice_proof(slot, 1),
                              .root = root,
                              .length = (uint16_t)strlen(text),
                              .payload = (const uint8_t *)text};
}

static void proof_of_a_death_that_is_known_goes_on_once(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = hand_config(NODES, 0);
    config.limits.dead = 1; /* a proof needs no room of its own */
    hand_init_connected(&hand, &config);
    hand_hear(&hand, 1, hand_death_of(4, 1, 1));
    assert_false(mu_notice_is_proof(&hand_effect(&hand, MU_DO_DELIVER, 0)->notice.id));
    assert_false(mu_roster_is_proven(&hand.node->roster, 4, 1));
    hand_hear(&hand, 2, proof_of(4, 2, "seen"));
    const struct mu_notice *told = &hand_effect(&hand, MU_DO_DELIVER, 0)->notice;
    assert_true(mu_notice_is_proof(&told->id));
    assert_int_equal(told->length, 4);
    assert_true(mu_roster_is_proven(&hand.node->roster, 4, 1));
    assert_int_equal(hand.node->spread.count, 1); /* it has taken the other one's place */
    assert_int_equal(hand.node->spread.deaths, 1);
    hand_hear(&hand, 2, proof_of(4, 2, "seen"));
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 0);
    hand_hear(&hand, 1, hand_death_of(4, 1, 1)); /* weaker: never back */
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 0);
    assert_true(mu_roster_is_proven(&hand.node->roster, 4, 1));
    hand_free(&hand);
}

static void every_neighbour_is_sent_the_proof(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = hand_config(NODES, 0);
    hand_init_connected(&hand, &config);
    uint64_t others = hand_neighbours(NODES, 0) & ~(1ull << 1);
    hand_hear(&hand, 1, hand_death_of(5, 1, 1)); /* no neighbour */
    hand.now_ns += 2 * HAND_REDUNDANT_NS;
    hand_timeout(&hand, MU_TIMER_ONWARD);
    hand_timeout(&hand, MU_TIMER_BACK);
    hand_hear(&hand, 1, proof_of(5, 1, "seen"));
    uint64_t sent = hand_sent_mask(&hand);
    hand.now_ns += 2 * HAND_REDUNDANT_NS;
    hand_timeout(&hand, MU_TIMER_ONWARD);
    sent |= hand_sent_mask(&hand);
    hand_timeout(&hand, MU_TIMER_BACK);
    sent |= hand_sent_mask(&hand);
    assert_int_equal(sent, others);
    hand_free(&hand);
}

static void too_many_links_are_a_fault_of_their_own(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = hand_config(NODES, 0);
    config.limits.links = mu_graph_edges(NODES); /* 8: one more than there are neighbours */
    hand_init_connected(&hand, &config);
    hand_link_up(&hand, 3, 0);
    hand_expect_nothing(&hand);
    hand_link_up(&hand, 5, 0);
    hand_expect_fault(&hand, MU_FAULT_LINKS_FULL, 5);
    assert_int_equal(hand.update.count, 2);
    hand_expect_close(&hand, MU_CLOSE_FULL, 5);
    hand_hear(&hand, 3, hand_payload_of(3, 1, "x"));
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    hand_free(&hand);
}

static void a_replacement_without_room_for_its_link_comes_with_the_next_mending(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = hand_config(NODES, 0);
    config.limits.links = mu_graph_edges(NODES);
    hand_init_connected(&hand, &config);
    hand_link_up(&hand, 3, 0); /* the last entry */
    hand_see_dead(&hand, 8);   /* gives one back, and needs two: 9 onward and 7 back */
    assert_int_equal(hand_count(&hand, MU_DO_FAULT), 1);
    assert_int_equal(hand_effect(&hand, MU_DO_FAULT, 0)->fault, MU_FAULT_LINKS_FULL);
    assert_int_equal(hand_count(&hand, MU_DO_OPEN), 1);
    assert_int_equal(hand_effect(&hand, MU_DO_OPEN, 0)->peer, 9);
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    uint32_t sends_to[NODES] = {0};
    for (mu_slot slot = 0; slot < NODES; slot++)
        sends_to[slot] = hand_sends_to(&hand, slot);
    fire_redundant(&hand, sends_to);
    for (mu_slot slot = 1; slot < NODES; slot++) /* the others hear of it as ever */
        assert_int_equal(sends_to[slot],
                         slot != 8 && (hand_neighbours(NODES, 0) & bit(slot)) != 0 ? 1 : 0);
    hand_see_dead(&hand, 3);
    assert_int_equal(hand_count(&hand, MU_DO_FAULT), 0);
    assert_int_equal(hand_effect(&hand, MU_DO_OPEN, 0)->peer, 7);
    fire_redundant(&hand, NULL);
    hand_link_up(&hand, 7, 0);
    assert_int_equal(hand_sends_to(&hand, 7), 2); /* both deaths */
    hand_free(&hand);
}

static void too_long_a_payload_is_a_fault_of_its_own(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    hand_post(&hand, "sixteen letters."); /* as many as may be */
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    hand_post(&hand, "sixteen letters..");
    hand_expect_fault(&hand, MU_FAULT_PAYLOAD_LENGTH, MU_SLOT_NONE);
    assert_int_equal(hand.update.count, 1);
    hand_hear(&hand, 1, hand_payload_of(1, 1, "sixteen letters.."));
    hand_expect_fault(&hand, MU_FAULT_PAYLOAD_LENGTH, 1);
    hand_hear(&hand, 1, hand_payload_of(1, 1, "short")); /* the link goes on */
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    hand_post(&hand, "x");
    assert_int_equal(hand_effect(&hand, MU_DO_DELIVER, 0)->notice.id.index, 2);
    hand_free(&hand);
}

static void a_slot_beyond_the_machine_is_a_fault_of_its_own(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    hand_hear(&hand, 1, hand_death_of(NODES, 1, 1));
    hand_expect_fault(&hand, MU_FAULT_SLOT_RANGE, 1);
    hand_hear(&hand, 1, hand_death_of(5, 1, NODES));
    hand_expect_fault(&hand, MU_FAULT_SLOT_RANGE, 1);
    struct mu_notice payload = hand_payload_of(NODES, 1, "x");
    payload.root = 1;
    hand_hear(&hand, 1, payload);
    hand_expect_fault(&hand, MU_FAULT_SLOT_RANGE, 1);
    hand_hear(&hand, 1, hand_death_of(5, 1, 1)); /* the link goes on */
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    hand_free(&hand);
}

/* ---- what a notice carries ---- */

static void age_is_what_was_heard_and_transit_and_holding(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_frame frame = {.type = MU_FRAME_NOTICE, .sequence = 1};
    node_zero(&hand);
    frame.notice = hand_payload_of(1, 1, "x"); /* node 0 has children below 1 */
    frame.notice.age_ns = 7000;
    frame.notice.hops = 3;
    hand_recv_after(&hand, 1, &frame, 500);
    const struct mu_effect *deliver = hand_effect(&hand, MU_DO_DELIVER, 0);
    assert_int_equal(deliver->notice.age_ns, 7500);
    assert_int_equal(deliver->notice.hops, 3);
    const struct mu_effect *send = hand_effect(&hand, MU_DO_SEND, 0);
    assert_int_equal(send->frame.notice.age_ns, 7500);
    assert_int_equal(send->frame.notice.hops, 4);
    uint64_t heard_ns = hand.now_ns;
    fire(&hand, MU_TIMER_ONWARD);
    uint64_t held_ns = hand.now_ns - heard_ns;
    send = hand_effect(&hand, MU_DO_SEND, 0);
    assert_int_equal(send->frame.notice.age_ns, 7500 + held_ns);
    assert_int_equal(send->frame.notice.hops, 4);
    hand.now_ns += 123;
    hand_link_up(&hand, send->peer, 0); /* sent again, older by now */
    send = hand_effect(&hand, MU_DO_SEND, 0);
    assert_int_equal(send->frame.notice.age_ns, 7500 + held_ns + 123);
    hand_free(&hand);
}

static void payload_root_and_identity_are_passed_on_as_they_came(void **state)
{
    (void)state;
    struct hand hand;
    char text[] = "evidence";
    struct mu_notice notice = hand_death_of(9, 2, 1);
    notice.payload = (const uint8_t *)text;
    notice.length = sizeof text;
    node_zero(&hand);
    hand_hear(&hand, 1, notice);
    text[0] = '?'; /* the caller's bytes may go */
    assert_true(hand_count(&hand, MU_DO_SEND) > 0);
    for (uint32_t i = 0; i < hand.update.count; i++) {
        const struct mu_effect *effect = &hand.update.effects[i];
        const struct mu_notice *out =
            effect->type == MU_DO_SEND ? &effect->frame.notice : &effect->notice;
        assert_int_equal(mu_notice_compare(&out->id, &notice.id), 0);
        assert_int_equal(out->root, 1);
        assert_int_equal(out->length, sizeof text);
        assert_string_equal((const char *)out->payload, "evidence");
    }
    hand_free(&hand);
}

static void posts_are_numbered_from_one_in_the_stream_of_their_origin(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = hand_config(NODES, 6);
    config.incarnation = 9;
    hand_init_connected(&hand, &config);
    for (uint64_t i = 1; i <= 3; i++) {
        struct mu_notice_id expected = mu_notice_payload(6, 9, i);
        hand_post(&hand, "x");
        const struct mu_notice *notice = &hand_effect(&hand, MU_DO_DELIVER, 0)->notice;
        assert_int_equal(mu_notice_compare(&notice->id, &expected), 0);
        assert_int_equal(notice->root, 6);
        assert_int_equal(notice->hops, 0);
        assert_int_equal(notice->age_ns, 0);
    }
    hand_free(&hand);
}

/* ---- forgetting ---- */

static void a_payload_is_kept_for_its_time_and_then_forgotten(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_notice news = hand_payload_of(3, 1, "x");
    node_zero(&hand);
    uint64_t heard_ns = hand.now_ns;
    hand_hear(&hand, 4, news);
    assert_true(hand.update.deadline_ns[MU_TIMER_RETAIN] == MU_NEVER); /* not everybody has it */
    fire_redundant(&hand, NULL);
    acknowledge_all(&hand);
    assert_int_equal(hand.update.deadline_ns[MU_TIMER_RETAIN], heard_ns + HAND_RETAIN_NS);
    hand.now_ns = heard_ns + HAND_RETAIN_NS - 1;
    hand_timeout(&hand, MU_TIMER_RETAIN);
    assert_int_equal(hand.node->spread.count, 1);
    hand.now_ns++;
    hand_timeout(&hand, MU_TIMER_RETAIN);
    assert_int_equal(hand.node->spread.count, 0);
    assert_true(hand.update.deadline_ns[MU_TIMER_RETAIN] == MU_NEVER);
    hand_hear(&hand, 8, news); /* forgotten, but known */
    hand_expect_nothing(&hand);
    hand_free(&hand);
}

static void a_payload_that_somebody_has_not_acknowledged_is_kept_longer(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    hand_post(&hand, "x");
    hand_link_down(&hand, 8);
    for (mu_slot slot = 1; slot < 8; slot *= 2)
        hand_acknowledge(&hand, slot);
    for (mu_slot slot = 1; slot < 8; slot *= 2)
        hand_acknowledge(&hand, NODES - slot);
    for (int term = 0; term < 3; term++) {
        hand.now_ns += HAND_RETAIN_NS;
        hand_timeout(&hand, MU_TIMER_RETAIN);
        assert_int_equal(hand.node->spread.count, 1);
        assert_int_equal(hand.update.deadline_ns[MU_TIMER_RETAIN], hand.now_ns + HAND_RETAIN_NS);
    }
    hand_link_up(&hand, 8, 0);
    assert_int_equal(hand_effect(&hand, MU_DO_SEND, 0)->frame.notice.age_ns,
                     3ull * HAND_RETAIN_NS); /* the terms count */
    hand_acknowledge(&hand, 8);
    hand.now_ns += HAND_RETAIN_NS;
    hand_timeout(&hand, MU_TIMER_RETAIN);
    assert_int_equal(hand.node->spread.count, 0);
    hand_free(&hand);
}

static void deaths_of_processes_are_forgotten_and_those_of_nodes_never(void **state)
{
    (void)state;
    struct hand hand;
    node_zero(&hand);
    hand_see_dead(&hand, 5);
    hand_verdict(&hand, process_died(1, 0));
    fire_redundant(&hand, NULL);
    acknowledge_all(&hand);
    assert_int_equal(hand.node->spread.count, 2);
    for (int i = 0; i < 10; i++) {
        hand.now_ns += HAND_RETAIN_NS;
        hand_timeout(&hand, MU_TIMER_RETAIN);
    }
    assert_int_equal(hand.node->spread.count, 1);
    assert_false(is_armed(&hand, MU_TIMER_RETAIN));
    hand_hear(&hand, 1, process_died(1, 0)); /* forgotten, but known */
    hand_expect_nothing(&hand);
    hand_see_dead(&hand, 4);
    fire_redundant(&hand, NULL);
    hand_link_up(&hand, 6, 0); /* a neighbour from now on: hears of both nodes */
    assert_int_equal(hand_sends_to(&hand, 6), 2);
    hand_free(&hand);
}

static void payloads_that_are_to_be_kept_for_ever_arm_no_deadline(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = hand_config(NODES, 0);
    config.retain_ns = MU_NEVER;
    hand_init_connected(&hand, &config);
    hand_post(&hand, "x");
    fire_redundant(&hand, NULL);
    acknowledge_all(&hand);
    assert_true(hand.update.deadline_ns[MU_TIMER_RETAIN] == MU_NEVER);
    hand_free(&hand);
}

static void room_comes_back_when_payloads_are_forgotten(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = hand_config(NODES, 0);
    config.limits.notices = 6; /* three of its own */
    hand_init_connected(&hand, &config);
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 3; i++) {
            hand.now_ns += HAND_REDUNDANT_NS;
            hand_post(&hand, "x");
            assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
        }
        hand.now_ns += HAND_REDUNDANT_NS;
        hand_post(&hand, "x");
        hand_expect_fault(&hand, MU_FAULT_NOTICES_FULL, MU_SLOT_NONE);
        acknowledge_all(&hand);
        hand.now_ns += HAND_RETAIN_NS;
        for (int i = 0; i < 3; i++)
            hand_timeout(&hand, MU_TIMER_RETAIN);
    }
    assert_int_equal(hand.node->posted, 300);
    hand_free(&hand);
}

/* ---- all state is in the arena ---- */

static struct mu_fingerprint run_random(struct hand *hand, uint64_t seed, uint32_t events)
{
    struct random random = {.state = seed, .slots = NODES, .small = true};
    struct mu_fingerprint digest;
    mu_fingerprint_init(&digest);
    for (uint32_t i = 0; i < events; i++) {
        struct mu_frame frame;
        struct mu_notice notice;
        struct mu_event event = random_event(&random, hand->now_ns, &frame, &notice);
        /* A fenced node does nothing, which would be dull. */
        if (event.type == MU_EVENT_VERDICT && notice.id.kind == MU_NOTICE_NODE_DEAD &&
            notice.id.index == hand->node->config.self)
            continue;
        if (event.type == MU_EVENT_RECV && frame.type == MU_FRAME_NOTICE &&
            frame.notice.id.kind == MU_NOTICE_NODE_DEAD &&
            frame.notice.id.index == hand->node->config.self)
            continue;
        if (event.type == MU_EVENT_MEMBER && event.member.entry.slot == hand->node->config.self)
            continue;
        hand->now_ns = event.now_ns;
        mu_node_step(hand->node, &event, &hand->update);
        mu_record_digest_step(&digest, &event, &hand->update);
    }
    return digest;
}

static struct mu_fingerprint print_of(const struct hand *hand)
{
    struct mu_fingerprint print;
    mu_fingerprint_init(&print);
    mu_node_fingerprint(hand->node, &print);
    return print;
}

static bool same_print(struct mu_fingerprint a, struct mu_fingerprint b)
{
    return a.a == b.a && a.b == b.b;
}

static void a_node_restored_from_its_bytes_does_the_same_again(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct hand hand;
        node_zero(&hand);
        run_random(&hand, seed, 60);
        void *saved = malloc(hand.bytes);
        memcpy(saved, hand.node, hand.bytes);
        uint64_t saved_ns = hand.now_ns;
        struct mu_fingerprint at_save = print_of(&hand);

        struct mu_fingerprint first = run_random(&hand, 1000 + seed, 200);
        struct mu_fingerprint after_first = print_of(&hand);
        assert_false(same_print(at_save, after_first)); /* something did happen */

        memcpy(hand.node, saved, hand.bytes);
        hand.now_ns = saved_ns;
        assert_true(same_print(print_of(&hand), at_save));
        struct mu_fingerprint second = run_random(&hand, 1000 + seed, 200);
        assert_true(same_print(first, second));
        assert_true(same_print(after_first, print_of(&hand)));
        free(saved);
        hand_free(&hand);
    }
}

/* Links that lie, slots that are not there, limits of one: faults, but the node stands. */
static void whatever_comes_in_a_node_stands(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct random random = {.state = seed, .small = seed % 4 != 0};
        uint32_t size = (uint32_t)(1 + seed % 19);
        struct mu_config config = hand_config(size, (mu_slot)(seed % size));
        config.limits.links = mu_graph_edges(size) + 1 + (uint32_t)(seed % 3);
        config.limits.dead = (uint32_t)(1 + seed % 7);
        config.limits.seen = (uint32_t)(1 + seed % 5);
        config.limits.notices = (uint16_t)(1 + seed % 11);
        config.limits.window = (uint16_t)(1 + seed % 3);
        random.slots = size + 2;
        struct hand hand;
        hand_init(&hand, &config);
        hand_start(&hand, seed % 2 == 0);
        for (int i = 0; i < 400 && !hand.node->fenced; i++) {
            struct mu_frame frame;
            struct mu_notice notice;
            struct mu_event event = random_event(&random, hand.now_ns, &frame, &notice);
            mu_slot peer = (mu_slot)random_below(&random, size);
            /* Half of the frames are next on their link, or hardly anything would get through. */
            if (event.type == MU_EVENT_RECV && random_below(&random, 2) == 0) {
                event.recv.from = peer;
                event.recv.incarnation = 1;
                frame.sequence = mu_node_link_has(hand.node, peer, 1) + 1;
                frame.ack = 0;
            }
            if (event.type == MU_EVENT_LINK_UP && random_below(&random, 2) == 0) {
                const struct mu_link *link = mu_links_find(&hand.node->links, peer);
                event.link_up.peer = peer;
                event.link_up.peer_has = link == NULL ? 0 : link->sent - link->pending;
            }
            hand.now_ns = event.now_ns;
            mu_node_step(hand.node, &event, &hand.update); /* its asserts are the test */
            for (uint32_t k = 0; k < hand.update.count; k++)
                if (hand.update.effects[k].type == MU_DO_SEND)
                    assert_true(hand.update.effects[k].peer < size);
        }
        hand_free(&hand);
    }
}

static void the_fingerprint_sees_what_a_node_knows_and_not_when_it_learned_it(void **state)
{
    (void)state;
    struct hand one, other;
    node_zero(&one);
    node_zero(&other);
    assert_true(same_print(print_of(&one), print_of(&other)));
    hand_see_dead(&one, 5);
    assert_false(same_print(print_of(&one), print_of(&other)));
    other.now_ns += 12345;
    hand_see_dead(&other, 5);
    assert_true(same_print(print_of(&one), print_of(&other)));
    hand_post(&other, "x");
    assert_false(same_print(print_of(&one), print_of(&other)));
    hand_free(&one);
    hand_free(&other);
}

/* A copy that changes nothing else has been counted by its link, and a reconnect depends on that.
 */
static void the_fingerprint_sees_what_a_link_has_received(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_notice news = hand_payload_of(3, 1, "x");
    node_zero(&hand);
    hand_hear(&hand, 4, news);
    fire(&hand, MU_TIMER_ACK);
    struct mu_fingerprint before = print_of(&hand);
    hand_hear(&hand, 4, news);
    fire(&hand, MU_TIMER_ACK);
    assert_false(same_print(before, print_of(&hand)));
    hand_free(&hand);
}

static void the_fingerprint_sees_over_which_edge_news_came(void **state)
{
    (void)state;
    struct mu_fingerprint prints[2];
    for (int i = 0; i < 2; i++) {
        struct hand hand;
        node_zero(&hand);
        hand_hear(&hand, i == 0 ? 4 : 8, hand_payload_of(3, 1, "x"));
        mu_fingerprint_init(&prints[i]);
        mu_node_fingerprint_linkless(hand.node, &prints[i]);
        hand_free(&hand);
    }
    assert_false(same_print(prints[0], prints[1]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_hear_before_clients_and_redundant_edges_wait),
        cmocka_unit_test(a_redundant_edge_does_not_go_out_early),
        cmocka_unit_test(notices_that_follow_each_other_use_redundant_edges_at_the_same_time),
        cmocka_unit_test(nodes_have_moments_of_their_own),
        cmocka_unit_test(an_edge_is_skipped_when_the_neighbours_own_copy_has_come),
        cmocka_unit_test(nothing_is_left_to_do_when_all_neighbours_have_sent_their_copies),
        cmocka_unit_test(an_orphan_is_told_at_once),
        cmocka_unit_test(a_neighbour_that_becomes_an_orphan_meanwhile_is_told_at_once),
        cmocka_unit_test(an_orphan_is_left_to_three_that_are_nearer_to_the_root),
        cmocka_unit_test(a_death_cuts_the_link_and_opens_one_to_the_next_live_slot),
        cmocka_unit_test(a_replacement_gets_everything_that_is_held_once),
        cmocka_unit_test(a_neighbour_that_moves_to_another_edge_is_sent_nothing_twice),
        cmocka_unit_test(a_death_seen_and_heard_is_delivered_once),
        cmocka_unit_test(a_death_covers_earlier_incarnations_only),
        cmocka_unit_test(a_node_that_tells_of_its_own_death_is_believed_and_cut),
        cmocka_unit_test(the_last_survivor_talks_to_nobody_and_goes_on),
        cmocka_unit_test(a_node_that_hears_of_its_own_death_is_fenced_and_inert),
        cmocka_unit_test(the_death_of_a_later_incarnation_fences_too),
        cmocka_unit_test(the_death_of_an_earlier_incarnation_does_not_fence),
        cmocka_unit_test(too_many_notices_are_a_fault_of_their_own),
        cmocka_unit_test(what_there_was_no_room_for_is_pushed_back_until_there_is),
        cmocka_unit_test(a_nodes_death_comes_in_although_there_is_no_room),
        cmocka_unit_test(who_is_told_that_there_is_no_room_sends_deaths_only),
        cmocka_unit_test(a_death_behind_a_full_window_does_not_wait_for_room),
        cmocka_unit_test(a_new_connection_knows_nothing_of_room),
        cmocka_unit_test(what_there_was_no_room_for_comes_again_over_a_new_connection),
        cmocka_unit_test(a_full_node_still_tells_repeats_and_gaps_from_news),
        cmocka_unit_test(too_many_ranges_of_the_known_are_a_fault_of_their_own),
        cmocka_unit_test(a_stream_that_is_over_gives_its_room_back),
        cmocka_unit_test(too_many_dead_are_a_fault_of_their_own),
        cmocka_unit_test(proof_of_a_death_that_is_known_goes_on_once),
        cmocka_unit_test(every_neighbour_is_sent_the_proof),
        cmocka_unit_test(too_many_links_are_a_fault_of_their_own),
        cmocka_unit_test(a_replacement_without_room_for_its_link_comes_with_the_next_mending),
        cmocka_unit_test(too_long_a_payload_is_a_fault_of_its_own),
        cmocka_unit_test(a_slot_beyond_the_machine_is_a_fault_of_its_own),
        cmocka_unit_test(age_is_what_was_heard_and_transit_and_holding),
        cmocka_unit_test(payload_root_and_identity_are_passed_on_as_they_came),
        cmocka_unit_test(posts_are_numbered_from_one_in_the_stream_of_their_origin),
        cmocka_unit_test(a_payload_is_kept_for_its_time_and_then_forgotten),
        cmocka_unit_test(a_payload_that_somebody_has_not_acknowledged_is_kept_longer),
        cmocka_unit_test(deaths_of_processes_are_forgotten_and_those_of_nodes_never),
        cmocka_unit_test(payloads_that_are_to_be_kept_for_ever_arm_no_deadline),
        cmocka_unit_test(room_comes_back_when_payloads_are_forgotten),
        cmocka_unit_test(a_node_restored_from_its_bytes_does_the_same_again),
        cmocka_unit_test(whatever_comes_in_a_node_stands),
        cmocka_unit_test(the_fingerprint_sees_what_a_node_knows_and_not_when_it_learned_it),
        cmocka_unit_test(the_fingerprint_sees_what_a_link_has_received),
        cmocka_unit_test(the_fingerprint_sees_over_which_edge_news_came),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
