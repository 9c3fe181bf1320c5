#include "by_hand.h"

struct mu_config hand_config(uint32_t size, mu_slot self)
{
    struct mu_config config;
    mu_config_default(&config, size, self);
    config.redundant_wait_ns = HAND_REDUNDANT_NS;
    config.ack_delay_ns = HAND_ACK_NS;
    config.retain_ns = HAND_RETAIN_NS;
    config.limits = (struct mu_limits){
        .links = mu_graph_edges(size) + 4,
        .dead = size,
        .seen = 8,
        .notices = 256,
        .payload_bytes = 16,
        .window = 8,
    };
    return config;
}

void hand_init(struct hand *hand, const struct mu_config *config)
{
    assert_null(mu_config_error(config));
    hand->bytes = mu_node_bytes(config);
    void *memory = aligned_alloc(64, hand->bytes);
    assert_non_null(memory);
    memset(memory, 0xa5, hand->bytes); /* a node does not rely on what was there */
    hand->node = mu_node_init(memory, hand->bytes, config);
    hand->now_ns = 1000;
    hand->update = (struct mu_update){.capacity = mu_node_effects_max(config)};
    hand->update.effects = calloc(hand->update.capacity, sizeof *hand->update.effects);
    assert_non_null(hand->update.effects);
}

void hand_free(struct hand *hand)
{
    free(hand->update.effects);
    free(hand->node);
}

void hand_init_connected(struct hand *hand, const struct mu_config *config)
{
    hand_init(hand, config);
    hand_start(hand, true);
    hand_expect_nothing(hand);
}

/* ---- what happens ---- */

static void step(struct hand *hand, struct mu_event *event)
{
    event->now_ns = hand->now_ns;
    mu_node_step(hand->node, event, &hand->update);
}

void hand_start(struct hand *hand, bool links_up)
{
    struct mu_event event = {.type = MU_EVENT_START, .start = {.links_up = links_up}};
    step(hand, &event);
}

void hand_timeout(struct hand *hand, enum mu_timer timer)
{
    struct mu_event event = {.type = MU_EVENT_TIMEOUT, .timeout = {.timer = timer}};
    step(hand, &event);
}

void hand_link_up_of(struct hand *hand, mu_slot peer, uint32_t incarnation, uint64_t peer_has)
{
    struct mu_event event = {
        .type = MU_EVENT_LINK_UP,
        .link_up = {.peer = peer, .incarnation = incarnation, .peer_has = peer_has},
    };
    step(hand, &event);
}

void hand_link_up(struct hand *hand, mu_slot peer, uint64_t peer_has)
{
    hand_link_up_of(hand, peer, 1, peer_has);
}

void hand_link_down(struct hand *hand, mu_slot peer)
{
    struct mu_event event = {.type = MU_EVENT_LINK_DOWN, .link_down = {.peer = peer}};
    step(hand, &event);
}

void hand_post(struct hand *hand, const char *payload)
{
    struct mu_event event = {
        .type = MU_EVENT_POST,
        .post = {.payload = (const uint8_t *)payload, .length = (uint16_t)strlen(payload)},
    };
    step(hand, &event);
}

void hand_forget(struct hand *hand, uint8_t kind, uint64_t stream)
{
    struct mu_event event = {.type = MU_EVENT_FORGET, .forget = {.kind = kind, .stream = stream}};
    step(hand, &event);
}

void hand_verdict(struct hand *hand, struct mu_notice notice)
{
    struct mu_event event = {.type = MU_EVENT_VERDICT, .verdict = {.notice = &notice}};
    step(hand, &event);
}

void hand_recv_after(struct hand *hand, mu_slot from, const struct mu_frame *frame,
                     uint64_t transit_ns)
{
    struct mu_event event = {
        .type = MU_EVENT_RECV,
        .recv = {.from = from,
                 .incarnation = mu_roster_incarnation(&hand->node->roster, from),
                 .frame = frame,
                 .transit_ns = transit_ns},
    };
    step(hand, &event);
}

void hand_recv(struct hand *hand, mu_slot from, const struct mu_frame *frame)
{
    hand_recv_after(hand, from, frame, 0);
}

void hand_hear(struct hand *hand, mu_slot from, struct mu_notice notice)
{
    struct mu_frame frame = {
        .type = MU_FRAME_NOTICE,
        .sequence =
            mu_node_link_has(hand->node, from, mu_roster_incarnation(&hand->node->roster, from)) +
            1,
        .notice = notice,
    };
    hand_recv(hand, from, &frame);
}

void hand_acknowledge(struct hand *hand, mu_slot peer)
{
    const struct mu_link *link = mu_links_find(&hand->node->links, peer);
    assert_non_null(link);
    struct mu_frame frame = {.type = MU_FRAME_ACK, .ack = link->sent};
    hand_recv(hand, peer, &frame);
}

void hand_see_dead(struct hand *hand, mu_slot dead)
{
    hand_verdict(hand, hand_death_of(dead, 1, hand->node->config.self));
}

/* ---- what came out ---- */

uint32_t hand_count(const struct hand *hand, enum mu_effect_type type)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < hand->update.count; i++)
        count += hand->update.effects[i].type == type;
    return count;
}

const struct mu_effect *hand_effect(const struct hand *hand, enum mu_effect_type type, uint32_t n)
{
    for (uint32_t i = 0; i < hand->update.count; i++)
        if (hand->update.effects[i].type == type && n-- == 0)
            return &hand->update.effects[i];
    fail_msg("the update has too few effects of type %d", type);
    return NULL;
}

uint32_t hand_place(const struct hand *hand, enum mu_effect_type type, mu_slot peer)
{
    for (uint32_t i = 0; i < hand->update.count; i++)
        if (hand->update.effects[i].type == type &&
            (peer == MU_SLOT_NONE || hand->update.effects[i].peer == peer))
            return i;
    return UINT32_MAX;
}

uint32_t hand_sends_to(const struct hand *hand, mu_slot peer)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < hand->update.count; i++)
        count += hand->update.effects[i].type == MU_DO_SEND && hand->update.effects[i].peer == peer;
    return count;
}

uint64_t hand_sent_mask(const struct hand *hand)
{
    uint64_t mask = 0;
    for (uint32_t i = 0; i < hand->update.count; i++) {
        if (hand->update.effects[i].type != MU_DO_SEND)
            continue;
        uint64_t one = 1ull << hand->update.effects[i].peer;
        assert_true((mask & one) == 0); /* nobody is sent two in one go */
        mask |= one;
    }
    return mask;
}

void hand_expect_nothing(const struct hand *hand)
{
    assert_int_equal(hand->update.count, 0);
}

void hand_expect_fault(const struct hand *hand, enum mu_fault fault, mu_slot peer)
{
    assert_int_equal(hand_count(hand, MU_DO_FAULT), 1);
    const struct mu_effect *effect = hand_effect(hand, MU_DO_FAULT, 0);
    assert_string_equal(mu_fault_name(effect->fault), mu_fault_name(fault));
    assert_int_equal(effect->peer, peer);
    assert_int_equal(hand_count(hand, MU_DO_DELIVER), 0);
    assert_int_equal(hand_count(hand, MU_DO_SEND), 0);
}

void hand_expect_close(const struct hand *hand, enum mu_close_reason reason, mu_slot peer)
{
    assert_int_equal(hand_count(hand, MU_DO_CLOSE), 1);
    const struct mu_effect *effect = hand_effect(hand, MU_DO_CLOSE, 0);
    assert_int_equal(effect->reason, reason);
    assert_int_equal(effect->peer, peer);
}

uint64_t hand_neighbours(uint32_t size, mu_slot slot)
{
    uint64_t mask = 0;
    for (uint32_t e = 0; e < mu_graph_edges(size); e++)
        mask |= 1ull << mu_graph_target(size, slot, e);
    return mask;
}

struct mu_notice hand_payload_of(mu_slot origin, uint64_t sequence, const char *text)
{
    return (struct mu_notice){
        .id = mu_notice_payload(origin, 1, sequence),
        .root = origin,
        .hops = 1,
        .length = (uint16_t)strlen(text),
        .payload = (const uint8_t *)text,
    };
}

struct mu_notice hand_death_of(mu_slot slot, uint32_t incarnation, mu_slot root)
{
    return (struct mu_notice){.id = mu_notice_node(slot, incarnation), .root = root};
}
