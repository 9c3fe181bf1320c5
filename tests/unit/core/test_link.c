/* The reliable link, between two nodes of a machine of two: everything that one posts is for the
 * other, so what is sent is what the link does.  A few tests need a third node to be dead. */
#include "by_hand.h"

#include "sim/base/random.h"

enum { WINDOW = 4 };

static struct mu_config config_of_two(mu_slot self)
{
    struct mu_config config = hand_config(2, self);
    config.limits.window = WINDOW;
    return config;
}

/* Node 0 of two, connected. */
static void alone(struct hand *hand)
{
    struct mu_config config = config_of_two(0);
    hand_init_connected(hand, &config);
}

static struct mu_frame frame_of(uint64_t sequence, uint64_t ack)
{
    return (struct mu_frame){
        .type = MU_FRAME_NOTICE,
        .sequence = sequence,
        .ack = ack,
        .notice = hand_payload_of(1, sequence, "x"),
    };
}

static struct mu_frame ack_of(uint64_t ack)
{
    return (struct mu_frame){.type = MU_FRAME_ACK, .ack = ack};
}

static void recv_frame(struct hand *hand, uint64_t sequence, uint64_t ack)
{
    struct mu_frame frame = frame_of(sequence, ack);
    hand_recv(hand, 1, &frame);
}

static void recv_ack(struct hand *hand, uint64_t ack)
{
    struct mu_frame frame = ack_of(ack);
    hand_recv(hand, 1, &frame);
}

/* Frames first .. last went to node 1, in this order, and nothing else did. */
static void expect_sent(const struct hand *hand, uint64_t first, uint64_t last)
{
    uint32_t count = (uint32_t)(last - first + 1);
    assert_int_equal(hand_count(hand, MU_DO_SEND), count);
    for (uint32_t i = 0; i < count; i++) {
        const struct mu_effect *send = hand_effect(hand, MU_DO_SEND, i);
        assert_int_equal(send->peer, 1);
        assert_int_equal(send->frame.type, MU_FRAME_NOTICE);
        assert_int_equal(send->frame.sequence, first + i);
        assert_int_equal(send->frame.notice.id.index, first + i); /* here: payload n is frame n */
    }
}

static void expect_fault_and_close(const struct hand *hand, enum mu_fault fault)
{
    hand_expect_fault(hand, fault, 1);
    assert_int_equal(hand->update.count, 2);
    hand_expect_close(hand, MU_CLOSE_RULE, 1);
}

/* ---- numbers and acknowledgements ---- */

static void frames_are_numbered_from_one(void **state)
{
    (void)state;
    struct hand hand;
    alone(&hand);
    for (uint64_t i = 1; i <= WINDOW; i++) {
        hand_post(&hand, "news");
        expect_sent(&hand, i, i);
        assert_int_equal(hand_effect(&hand, MU_DO_SEND, 0)->frame.ack, 0);
    }
    hand_free(&hand);
}

static void an_acknowledgement_rides_on_data(void **state)
{
    (void)state;
    struct hand hand;
    alone(&hand);
    recv_frame(&hand, 1, 0);
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    assert_int_equal(hand_count(&hand, MU_DO_SEND), 0);
    hand_post(&hand, "news");
    assert_int_equal(hand_effect(&hand, MU_DO_SEND, 0)->frame.ack, 1);
    hand.now_ns += HAND_ACK_NS;
    hand_timeout(&hand, MU_TIMER_ACK); /* nothing is owed any more */
    hand_expect_nothing(&hand);
    assert_true(hand.update.deadline_ns[MU_TIMER_ACK] == MU_NEVER);
    hand_free(&hand);
}

static void an_acknowledgement_that_finds_no_frame_goes_alone_after_its_delay(void **state)
{
    (void)state;
    struct hand hand;
    alone(&hand);
    assert_true(hand.update.deadline_ns[MU_TIMER_ACK] == MU_NEVER);
    recv_frame(&hand, 1, 0);
    assert_int_equal(hand.update.deadline_ns[MU_TIMER_ACK], hand.now_ns + HAND_ACK_NS);
    hand.now_ns += HAND_ACK_NS - 1;
    hand_timeout(&hand, MU_TIMER_ACK);
    hand_expect_nothing(&hand); /* too early */
    hand.now_ns += 1;
    hand_timeout(&hand, MU_TIMER_ACK);
    assert_int_equal(hand.update.count, 1);
    const struct mu_effect *send = hand_effect(&hand, MU_DO_SEND, 0);
    assert_int_equal(send->peer, 1);
    assert_int_equal(send->frame.type, MU_FRAME_ACK);
    assert_int_equal(send->frame.sequence, 0);
    assert_int_equal(send->frame.ack, 1);
    assert_true(hand.update.deadline_ns[MU_TIMER_ACK] == MU_NEVER);
    hand_free(&hand);
}

static void half_a_window_is_acknowledged_at_once(void **state)
{
    (void)state;
    struct hand hand;
    alone(&hand);
    for (uint64_t i = 1; i < WINDOW / 2; i++) {
        recv_frame(&hand, i, 0);
        assert_true(hand.update.deadline_ns[MU_TIMER_ACK] > hand.now_ns);
    }
    hand.now_ns++;
    recv_frame(&hand, WINDOW / 2, 0);
    assert_int_equal(hand.update.deadline_ns[MU_TIMER_ACK], hand.now_ns);
    hand_timeout(&hand, MU_TIMER_ACK);
    assert_int_equal(hand.update.count, 1);
    assert_int_equal(hand_effect(&hand, MU_DO_SEND, 0)->frame.ack, WINDOW / 2);
    hand_free(&hand);
}

static void an_acknowledgement_is_cumulative_and_an_old_one_changes_nothing(void **state)
{
    (void)state;
    struct hand hand;
    alone(&hand);
    for (int i = 0; i < 3; i++)
        hand_post(&hand, "news");
    recv_ack(&hand, 2);
    hand_expect_nothing(&hand);
    const struct mu_link *link = mu_links_find(&hand.node->links, 1);
    assert_int_equal(link->pending, 1);
    recv_ack(&hand, 1);
    hand_expect_nothing(&hand);
    assert_int_equal(link->pending, 1);
    recv_ack(&hand, 3);
    assert_int_equal(link->pending, 0);
    hand_free(&hand);
}

/* ---- the window ---- */

static void a_full_window_holds_back_until_there_is_room_again(void **state)
{
    (void)state;
    struct hand hand;
    alone(&hand);
    for (int i = 0; i < WINDOW; i++)
        hand_post(&hand, "news");
    for (int i = 0; i < 3; i++) {
        hand_post(&hand, "more");
        assert_int_equal(hand_count(&hand, MU_DO_SEND), 0);
        assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1); /* nobody here waits for it */
    }
    recv_ack(&hand, 1);
    expect_sent(&hand, WINDOW + 1, WINDOW + 1);
    recv_ack(&hand, 3);
    expect_sent(&hand, WINDOW + 2, WINDOW + 3);
    recv_ack(&hand, WINDOW + 3);
    hand_expect_nothing(&hand);
    hand_post(&hand, "last");
    expect_sent(&hand, WINDOW + 4, WINDOW + 4);
    hand_free(&hand);
}

/* ---- reconnects ---- */

static void a_broken_link_is_asked_for_once_and_sends_nothing_meanwhile(void **state)
{
    (void)state;
    struct hand hand;
    alone(&hand);
    hand_link_down(&hand, 1);
    assert_int_equal(hand.update.count, 1);
    assert_int_equal(hand_effect(&hand, MU_DO_OPEN, 0)->peer, 1);
    hand_link_down(&hand, 1);
    hand_expect_nothing(&hand);
    hand_post(&hand, "news");
    assert_int_equal(hand_count(&hand, MU_DO_SEND), 0);
    hand_link_up(&hand, 1, 0);
    expect_sent(&hand, 1, 1);
    hand_link_down(&hand, 1); /* and again, now that it was up */
    assert_int_equal(hand_count(&hand, MU_DO_OPEN), 1);
    hand_free(&hand);
}

static void a_reconnect_sends_exactly_what_is_missing_in_order(void **state)
{
    (void)state;
    for (uint64_t has = 0; has <= 3; has++) {
        struct hand hand;
        alone(&hand);
        for (int i = 0; i < 3; i++)
            hand_post(&hand, "news");
        hand_link_down(&hand, 1);
        hand_post(&hand, "when it is down");
        hand_link_up(&hand, 1, has);
        expect_sent(&hand, has + 1, 4);
        assert_int_equal(hand.update.count, 4 - has);
        hand_free(&hand);
    }
}

static void a_reconnect_makes_room_for_what_had_to_wait(void **state)
{
    (void)state;
    struct hand hand;
    alone(&hand);
    for (int i = 0; i < WINDOW + 2; i++)
        hand_post(&hand, "news");
    hand_link_down(&hand, 1);
    hand_link_up(&hand, 1, 1);
    expect_sent(&hand, 2, WINDOW + 1);
    recv_ack(&hand, 2);
    expect_sent(&hand, WINDOW + 2, WINDOW + 2);
    hand_free(&hand);
}

static void a_new_connection_may_come_before_the_old_one_is_seen_to_break(void **state)
{
    (void)state;
    struct hand hand;
    alone(&hand);
    for (int i = 0; i < 3; i++)
        hand_post(&hand, "news");
    hand_link_up(&hand, 1, 1);
    expect_sent(&hand, 2, 3);
    assert_int_equal(hand.update.count, 2);
    hand_free(&hand);
}

static void what_a_link_has_received_outlives_its_connection(void **state)
{
    (void)state;
    struct hand hand;
    alone(&hand);
    assert_int_equal(mu_node_link_has(hand.node, 1, 1), 0);
    recv_frame(&hand, 1, 0);
    recv_frame(&hand, 2, 0);
    hand_link_down(&hand, 1);
    assert_int_equal(mu_node_link_has(hand.node, 1, 1), 2);
    hand_link_up(&hand, 1, 0);
    recv_frame(&hand, 3, 0);
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    assert_int_equal(mu_node_link_has(hand.node, 1, 1), 3);
    hand_free(&hand);
}

static void a_handshake_is_an_acknowledgement(void **state)
{
    (void)state;
    struct hand hand;
    alone(&hand);
    recv_frame(&hand, 1, 0);
    hand_link_up(&hand, 1, 0); /* the peer was told what has arrived */
    hand.now_ns += HAND_ACK_NS;
    hand_timeout(&hand, MU_TIMER_ACK);
    hand_expect_nothing(&hand);
    hand_free(&hand);
}

static void nodes_open_every_link_when_they_start_and_none_twice(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= 40; size++) {
        struct hand hand;
        struct mu_config config = hand_config(size, size / 2);
        config.limits.links += 1;
        hand_init(&hand, &config);
        hand_start(&hand, false);
        uint64_t asked = 0;
        for (uint32_t i = 0; i < hand.update.count; i++) {
            assert_int_equal(hand.update.effects[i].type, MU_DO_OPEN);
            uint64_t one = 1ull << hand.update.effects[i].peer;
            assert_true((asked & one) == 0);
            asked |= one;
        }
        assert_true(asked == hand_neighbours(size, size / 2));
        hand_free(&hand);
    }
}

/* ---- what breaks the rules ---- */

static void a_repeat_is_dropped_and_acknowledged_again(void **state)
{
    (void)state;
    struct hand hand;
    alone(&hand);
    recv_frame(&hand, 1, 0);
    hand.now_ns += HAND_ACK_NS;
    hand_timeout(&hand, MU_TIMER_ACK);
    recv_frame(&hand, 1, 0);
    hand_expect_nothing(&hand);
    assert_int_equal(hand.node->links.repeats, 1);
    assert_int_equal(mu_node_link_has(hand.node, 1, 1), 1);
    hand.now_ns += HAND_ACK_NS;
    hand_timeout(&hand, MU_TIMER_ACK);
    assert_int_equal(hand_effect(&hand, MU_DO_SEND, 0)->frame.ack, 1);
    hand_free(&hand);
}

static void a_gap_is_a_fault_and_closes_the_link(void **state)
{
    (void)state;
    struct hand hand;
    alone(&hand);
    recv_frame(&hand, 1, 0);
    recv_frame(&hand, 3, 0);
    expect_fault_and_close(&hand, MU_FAULT_LINK_GAP);
    assert_int_equal(mu_node_link_has(hand.node, 1, 1), 1); /* a reconnect resumes from here */
    recv_frame(&hand, 2, 0);                                /* the connection is gone */
    hand_expect_nothing(&hand);
    hand_link_down(&hand, 1);
    assert_int_equal(hand_count(&hand, MU_DO_OPEN), 1);
    hand_link_up(&hand, 1, 0);
    recv_frame(&hand, 2, 0);
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    hand_free(&hand);
}

static void acknowledging_what_was_never_sent_is_a_fault_and_closes_the_link(void **state)
{
    (void)state;
    struct hand hand;
    alone(&hand);
    recv_ack(&hand, 1);
    expect_fault_and_close(&hand, MU_FAULT_LINK_ACK);
    hand_link_up(&hand, 1, 0);
    hand_post(&hand, "news");
    recv_frame(&hand, 1, 2); /* news on a frame that lies is not believed, either */
    expect_fault_and_close(&hand, MU_FAULT_LINK_ACK);
    assert_int_equal(mu_node_link_has(hand.node, 1, 1), 0);
    hand_link_up(&hand, 1, 0);
    expect_sent(&hand, 1, 1); /* what is certain was kept */
    hand_free(&hand);
}

static void resuming_from_what_was_never_sent_is_a_fault_and_closes_the_link(void **state)
{
    (void)state;
    struct hand hand;
    alone(&hand);
    hand_post(&hand, "news");
    hand_link_down(&hand, 1);
    hand_link_up(&hand, 1, 2);
    expect_fault_and_close(&hand, MU_FAULT_LINK_RESUME);
    hand_link_down(&hand, 1);
    assert_int_equal(hand_count(&hand, MU_DO_OPEN), 1);
    hand_link_up(&hand, 1, 0);
    expect_sent(&hand, 1, 1);
    hand_free(&hand);
}

static void resuming_from_what_is_forgotten_is_a_fault_and_closes_the_link(void **state)
{
    (void)state;
    struct hand hand;
    alone(&hand);
    for (int i = 0; i < 3; i++)
        hand_post(&hand, "news");
    recv_ack(&hand, 2);
    hand_link_down(&hand, 1);
    hand_link_up(&hand, 1, 1);
    expect_fault_and_close(&hand, MU_FAULT_LINK_RESUME);
    hand_link_up(&hand, 1, 2); /* the oldest one that is still known */
    expect_sent(&hand, 3, 3);
    hand_free(&hand);
}

static void a_slot_that_cannot_be_a_peer_is_a_fault(void **state)
{
    (void)state;
    struct hand hand;
    alone(&hand);
    hand_link_up(&hand, 0, 0); /* itself */
    hand_expect_fault(&hand, MU_FAULT_SLOT_RANGE, 0);
    hand_link_up(&hand, 2, 0);
    hand_expect_fault(&hand, MU_FAULT_SLOT_RANGE, 2);
    hand_link_down(&hand, 2);
    hand_expect_nothing(&hand);
    hand_free(&hand);
}

/* ---- strays and the dead ---- */

static void frames_over_no_connection_are_strays(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = hand_config(32, 0);
    hand_init_connected(&hand, &config);
    struct mu_frame frame = frame_of(1, 0);
    hand_recv(&hand, 3, &frame); /* not a neighbour, and never connected */
    hand_expect_nothing(&hand);
    hand_recv(&hand, 32, &frame); /* nobody */
    hand_expect_nothing(&hand);
    hand_link_down(&hand, 1);
    hand_recv(&hand, 1, &frame); /* of the connection before */
    hand_expect_nothing(&hand);
    assert_int_equal(hand.node->strays, 3);
    assert_int_equal(mu_node_link_has(hand.node, 1, 1), 0);
    hand_free(&hand);
}

static void frames_of_a_node_known_dead_are_strays(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = hand_config(8, 0);
    hand_init_connected(&hand, &config);
    hand_see_dead(&hand, 1);
    hand_expect_close(&hand, MU_CLOSE_DEAD, 1);
    struct mu_frame frame = frame_of(1, 0);
    hand_recv(&hand, 1, &frame);
    hand_expect_nothing(&hand);
    assert_int_equal(hand.node->strays, 1);
    hand_link_down(&hand, 1); /* as announced: nothing to ask for */
    hand_expect_nothing(&hand);
    /* What a live node relays of it is news all the same. */
    hand_hear(&hand, 2, hand_payload_of(1, 1, "last words"));
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    hand_free(&hand);
}

static void a_connection_of_a_dead_slot_is_closed(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = hand_config(8, 0);
    hand_init_connected(&hand, &config);
    hand_see_dead(&hand, 1);
    hand_link_up(&hand, 1, 0);
    assert_int_equal(hand.update.count, 1);
    hand_expect_close(&hand, MU_CLOSE_DEAD, 1);
    struct mu_frame frame = frame_of(1, 0);
    hand_recv(&hand, 1, &frame);
    hand_expect_nothing(&hand);
    hand_free(&hand);
}

static void another_incarnation_does_not_resume_the_link_of_the_one_before(void **state)
{
    (void)state;
    struct hand hand;
    alone(&hand);
    recv_frame(&hand, 1, 0);
    hand_post(&hand, "news");
    hand_link_down(&hand, 1);
    hand_link_up_of(&hand, 1, 2, 0); /* its death is not known here yet */
    assert_int_equal(hand.update.count, 1);
    hand_expect_close(&hand, MU_CLOSE_RETURNED, 1);
    recv_frame(&hand, 2, 0);
    hand_expect_nothing(&hand);
    assert_int_equal(hand.node->strays, 1);
    hand_link_up(&hand, 1, 0); /* it was the old one that lives */
    expect_sent(&hand, 1, 1);
    assert_int_equal(mu_node_link_has(hand.node, 1, 1), 1);
    hand_free(&hand);
}

static void a_link_that_nobody_needs_is_not_asked_for_again(void **state)
{
    (void)state;
    struct hand hand;
    struct mu_config config = hand_config(32, 0);
    hand_init_connected(&hand, &config);
    hand_link_up(&hand, 3, 0); /* somebody's replacement edge leads here */
    hand_expect_nothing(&hand);
    hand_hear(&hand, 3, hand_payload_of(3, 1, "x"));
    assert_int_equal(hand_count(&hand, MU_DO_DELIVER), 1);
    hand_link_down(&hand, 3);
    hand_expect_nothing(&hand);
    hand_free(&hand);
}

/* ---- a conversation ---- */

enum { ON_THE_WAY_MAX = 64, WORDS = 400 };

/* Two nodes, and the frames between them. */
struct talk {
    struct hand ends[2];
    struct mu_frame frames[2][ON_THE_WAY_MAX]; /* on their way to each end */
    uint8_t texts[2][ON_THE_WAY_MAX][16];
    uint32_t count[2];
    uint64_t heard[2];
};

static void carry(struct talk *talk, int end)
{
    const struct mu_update *update = &talk->ends[end].update;
    int other = 1 - end;
    for (uint32_t i = 0; i < update->count; i++) {
        const struct mu_effect *effect = &update->effects[i];
        assert_int_not_equal(effect->type, MU_DO_FAULT);
        if (effect->type == MU_DO_DELIVER && effect->notice.root == (mu_slot)other) {
            /* Every word once, in order, whatever broke meanwhile. */
            assert_int_equal(effect->notice.id.index, ++talk->heard[end]);
            assert_memory_equal(effect->notice.payload, &talk->heard[end], 8);
        }
        if (effect->type != MU_DO_SEND)
            continue;
        uint32_t at = talk->count[other]++;
        assert_true(at < ON_THE_WAY_MAX);
        talk->frames[other][at] = effect->frame;
        if (effect->frame.notice.length > 0)
            memcpy(talk->texts[other][at], effect->frame.notice.payload,
                   effect->frame.notice.length);
    }
}

static void arrive(struct talk *talk, int end)
{
    if (talk->count[end] == 0)
        return;
    struct mu_frame frame = talk->frames[end][0];
    uint8_t text[16];
    memcpy(text, talk->texts[end][0], sizeof text);
    frame.notice.payload = text;
    talk->count[end]--;
    memmove(&talk->frames[end][0], &talk->frames[end][1], talk->count[end] * sizeof frame);
    memmove(&talk->texts[end][0], &talk->texts[end][1], talk->count[end] * sizeof text);
    hand_recv(&talk->ends[end], (mu_slot)(1 - end), &frame);
    carry(talk, end);
}

/* The connection breaks; what is on its way is lost.  Sometimes one end has not noticed before. */
static void reconnect(struct talk *talk, struct sim_random *random)
{
    uint64_t has[2];
    for (int end = 0; end < 2; end++) {
        talk->count[end] = 0;
        has[end] = mu_node_link_has(talk->ends[end].node, (mu_slot)(1 - end), 1);
        if (sim_random_chance(random, 50))
            hand_link_down(&talk->ends[end], (mu_slot)(1 - end));
    }
    for (int end = 0; end < 2; end++) {
        hand_link_up(&talk->ends[end], (mu_slot)(1 - end), has[1 - end]);
        carry(talk, end);
    }
}

static void say(struct talk *talk, int end, uint64_t said[2])
{
    if (said[end] == WORDS)
        return;
    uint64_t word = ++said[end];
    struct mu_event event = {.type = MU_EVENT_POST, .now_ns = talk->ends[end].now_ns};
    event.post.payload = (const uint8_t *)&word;
    event.post.length = sizeof word;
    mu_node_step(talk->ends[end].node, &event, &talk->ends[end].update);
    carry(talk, end);
}

static void tick(struct talk *talk, int end, enum mu_timer timer)
{
    struct hand *hand = &talk->ends[end];
    uint64_t due_ns = hand->update.deadline_ns[timer];
    if (due_ns == MU_NEVER)
        return;
    if (due_ns > hand->now_ns)
        hand->now_ns = due_ns;
    hand_timeout(hand, timer);
    carry(talk, end);
}

static void talk_through_resets(uint64_t seed, uint16_t window)
{
    struct talk *talk = calloc(1, sizeof *talk);
    struct sim_random random;
    uint64_t said[2] = {0, 0};
    sim_random_init(&random, seed);
    for (int end = 0; end < 2; end++) {
        struct mu_config config = config_of_two((mu_slot)end);
        config.limits.window = window;
        config.limits.notices = 8 * WORDS;
        hand_init_connected(&talk->ends[end], &config);
    }
    while (talk->heard[0] < WORDS || talk->heard[1] < WORDS) {
        int end = (int)sim_random_below(&random, 2);
        uint64_t what = sim_random_below(&random, 100);
        if (what < 30)
            say(talk, end, said);
        else if (what < 80)
            arrive(talk, end);
        else if (what < 95)
            tick(talk, end, what < 92 ? MU_TIMER_ACK : MU_TIMER_RETAIN);
        else
            reconnect(talk, &random);
    }
    for (int end = 0; end < 2; end++)
        hand_free(&talk->ends[end]);
    free(talk);
}

static void two_nodes_lose_and_repeat_nothing_through_hundreds_of_resets(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        talk_through_resets(seed, (uint16_t)(1 + seed % 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_numbered_from_one),
        cmocka_unit_test(an_acknowledgement_rides_on_data),
        cmocka_unit_test(an_acknowledgement_that_finds_no_frame_goes_alone_after_its_delay),
        cmocka_unit_test(half_a_window_is_acknowledged_at_once),
        cmocka_unit_test(an_acknowledgement_is_cumulative_and_an_old_one_changes_nothing),
        cmocka_unit_test(a_full_window_holds_back_until_there_is_room_again),
        cmocka_unit_test(a_broken_link_is_asked_for_once_and_sends_nothing_meanwhile),
        cmocka_unit_test(a_reconnect_sends_exactly_what_is_missing_in_order),
        cmocka_unit_test(a_reconnect_makes_room_for_what_had_to_wait),
        cmocka_unit_test(a_new_connection_may_come_before_the_old_one_is_seen_to_break),
        cmocka_unit_test(what_a_link_has_received_outlives_its_connection),
        cmocka_unit_test(a_handshake_is_an_acknowledgement),
        cmocka_unit_test(nodes_open_every_link_when_they_start_and_none_twice),
        cmocka_unit_test(a_repeat_is_dropped_and_acknowledged_again),
        cmocka_unit_test(a_gap_is_a_fault_and_closes_the_link),
        cmocka_unit_test(acknowledging_what_was_never_sent_is_a_fault_and_closes_the_link),
        cmocka_unit_test(resuming_from_what_was_never_sent_is_a_fault_and_closes_the_link),
        cmocka_unit_test(resuming_from_what_is_forgotten_is_a_fault_and_closes_the_link),
        cmocka_unit_test(a_slot_that_cannot_be_a_peer_is_a_fault),
        cmocka_unit_test(frames_over_no_connection_are_strays),
        cmocka_unit_test(frames_of_a_node_known_dead_are_strays),
        cmocka_unit_test(a_connection_of_a_dead_slot_is_closed),
        cmocka_unit_test(another_incarnation_does_not_resume_the_link_of_the_one_before),
        cmocka_unit_test(a_link_that_nobody_needs_is_not_asked_for_again),
        cmocka_unit_test(two_nodes_lose_and_repeat_nothing_through_hundreds_of_resets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
