/* Daemons' connections over real sockets: several nodes in one process, on one loop. */
#include "net/conn_inside.h"
#include "daemon/peers/door.h"
#include "daemon/peers/peers.h"
#include "wire/peer/agree_frame.h"
#include "wire/peer/view.h"
#include "turn.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum {
    NODES = 5,
    LINKED = 3,   /* by link_all(); most tests need no more */
    MEND_MS = 10, /* as in peers.c */
    TURNS_MAX = 20000,
};

struct host {
    struct mu_net net;
    struct mu_door door;
    struct mu_peers *peers;
    bool up[NODES];
    uint32_t ups[NODES], downs[NODES], frames[NODES];
    mu_slot broke; /* MU_SLOT_NONE: nobody */
    uint32_t broke_count;
    uint32_t fenced;
    uint32_t left[NODES];
    uint64_t last_ack;
    uint32_t agreed[NODES], viewed[NODES];
    uint64_t last_round;
    bool like_the_core; /* wants a link again as soon as it is down */
    bool heals;         /* ends every fault as soon as it hears something */
    bool counts;        /* what it hears is 1, 2, 3 and so on */
    uint32_t inside;    /* calls of 'frame' that have not returned */
};

static uv_loop_t loop;
static struct host hosts[NODES];
static struct sockaddr_in addresses[NODES];
static const uint8_t key[MU_SEAL_KEY_BYTES] = {1, 2, 3};
static const struct mu_harm healthy;

/* ---- hooks that write down what they hear ---- */

static uint64_t has(void *owner, mu_slot peer, uint32_t incarnation)
{
    assert_int_equal(incarnation, 1);
    struct host *host = owner;
    assert_false(host->up[peer]); /* a handshake begins after the last connection has ended */
    return 0;
}

static void up(void *owner, mu_slot peer, uint32_t incarnation, uint64_t peer_has)
{
    struct host *host = owner;
    assert_int_equal(incarnation, 1);
    assert_int_equal(peer_has, 0);
    assert_false(host->up[peer]);
    host->up[peer] = true;
    host->ups[peer]++;
}

static void down(void *owner, mu_slot peer)
{
    struct host *host = owner;
    assert_true(host->up[peer]);
    host->up[peer] = false;
    host->downs[peer]++;
    if (host->like_the_core)
        mu_peers_want(host->peers, peer);
}

static void frame(void *owner, mu_slot peer, uint32_t incarnation, const struct mu_frame *heard)
{
    assert_int_equal(incarnation, 1);
    struct host *host = owner;
    assert_true(host->up[peer]);
    host->frames[peer]++;
    if (host->counts)
        assert_int_equal(heard->ack, host->last_ack + 1);
    host->last_ack = heard->ack;
    assert_int_equal(host->inside++, 0);
    if (host->heals)
        mu_net_harm(&host->net, &healthy);
    host->inside--;
}

static void broke(void *owner, mu_slot peer)
{
    struct host *host = owner;
    host->broke = peer;
    host->broke_count++;
}

static void fenced(void *owner, mu_slot by)
{
    struct host *host = owner;
    (void)by;
    host->fenced++;
}

static void left(void *owner, mu_slot peer, uint32_t incarnation)
{
    struct host *host = owner;
    assert_int_equal(incarnation, 1);
    host->left[peer]++;
}

static const char *agree(void *owner, mu_slot peer, const uint8_t *bytes, size_t count)
{
    static struct mu_agree_frame_lists lists;
    struct host *host = owner;
    struct mu_agree_message message;
    const char *rule = mu_agree_frame_decode(bytes, count, &message, &lists);
    host->agreed[peer]++;
    host->last_round = message.round;
    return rule;
}

static const char *view(void *owner, mu_slot peer, const uint8_t *bytes, size_t count)
{
    static struct mu_view_room room;
    struct host *host = owner;
    struct mu_view_message message;
    const char *rule = mu_view_frame_decode(bytes, count, &message, &room);
    host->viewed[peer]++;
    return rule;
}

static void member(void *owner, struct mu_conn *conn)
{
    struct host *host = owner;
    if (mu_conn_kind(conn) == MU_SEAL_NOTICES)
        mu_peers_member(host->peers, conn);
    else
        mu_conn_refuse(conn, MU_REFUSE_FORMAT, "only notices");
}

/* ---- the world ---- */

static void open_host(mu_slot slot)
{
    struct host *host = &hosts[slot];
    memset(host, 0, sizeof *host);
    host->broke = MU_SLOT_NONE;
    struct mu_hello self = {.machine = 77, .size = NODES, .from = slot, .incarnation = 1};
    assert_int_equal(mu_net_init(&host->net, &loop, &self, key), 0);
    host->door.member = member;
    host->door.owner = host;
    struct sockaddr_in any = {.sin_family = AF_INET};
    inet_pton(AF_INET, "127.0.0.1", &any.sin_addr);
    assert_int_equal(mu_door_open(&host->door, &host->net, &any), 0);
    addresses[slot] = host->door.address;
}

static int begin(void **state)
{
    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    for (mu_slot slot = 0; slot < NODES; slot++)
        open_host(slot);
    for (mu_slot slot = 0; slot < NODES; slot++) {
        const struct mu_peers_hooks hooks = {&hosts[slot], has,  up,    down,   frame,
                                             agree,        view, broke, fenced, left};
        hosts[slot].peers = mu_peers_open(&hosts[slot].net, addresses, &hooks);
        assert_non_null(hosts[slot].peers);
    }
    return 0;
}

static int finish(void **state)
{
    (void)state;
    for (mu_slot slot = 0; slot < NODES; slot++) {
        mu_door_close(&hosts[slot].door);
        mu_peers_close(hosts[slot].peers);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    for (mu_slot slot = 0; slot < NODES; slot++)
        mu_net_free(&hosts[slot].net);
    assert_int_equal(uv_loop_close(&loop), 0);
    return 0;
}

/* Runs the loop until the condition holds; fails when it never does. */
#define UNTIL(condition)                                                                           \
    do {                                                                                           \
        int turns = 0;                                                                             \
        while (!(condition)) {                                                                     \
            assert_true(turns++ < TURNS_MAX);                                                      \
            turn();                                                                                \
        }                                                                                          \
    } while (false)

static void turn(void)
{
    turn_loop(&loop);
}

static bool linked(mu_slot a, mu_slot b)
{
    return hosts[a].up[b] && hosts[b].up[a];
}

static void link_all(void)
{
    for (mu_slot a = 0; a < LINKED; a++)
        for (mu_slot b = 0; b < LINKED; b++)
            if (a != b)
                mu_peers_want(hosts[a].peers, b);
    UNTIL(linked(0, 1) && linked(0, 2) && linked(1, 2));
}

/* Its door is shut and its connections end, without a goodbye. */
static void die(mu_slot slot)
{
    mu_door_close(&hosts[slot].door);
    mu_peers_leave(hosts[slot].peers, false);
}

/* ---- tests ---- */

static void each_pair_has_one_connection(void **state)
{
    (void)state;
    link_all();
    for (mu_slot a = 0; a < LINKED; a++) {
        assert_int_equal(mu_peers_up(hosts[a].peers), LINKED - 1);
        assert_int_equal(mu_peers_wanted(hosts[a].peers), LINKED - 1);
        for (mu_slot b = 0; b < LINKED; b++)
            assert_int_equal(hosts[a].ups[b] - hosts[a].downs[b], a == b ? 0 : 1);
    }
    const struct mu_frame ack = {.type = MU_FRAME_ACK, .ack = 42};
    mu_peers_send(hosts[2].peers, 0, &ack);
    UNTIL(hosts[0].frames[2] == 1);
    assert_int_equal(hosts[0].last_ack, 42);
}

static void a_cut_connection_comes_back(void **state)
{
    (void)state;
    link_all();
    assert_true(mu_peers_cut(hosts[0].peers, 1, MU_CLOSE_RULE));
    hosts[0].up[1] = false;
    UNTIL(linked(0, 1) && hosts[1].downs[0] >= 1);
}

/* Returns how long it is. */
static size_t make_ask(uint64_t round, uint8_t bytes[MU_WIRE_FRAME_MAX])
{
    const struct mu_agree_message ask = {.type = MU_AGREE_ASK, .group = 7, .round = round};
    return mu_agree_frame_encode(&ask, bytes);
}

static void what_is_said_of_agreements_arrives_beside_notices(void **state)
{
    (void)state;
    uint8_t bytes[MU_WIRE_FRAME_MAX];
    size_t count = make_ask(5, bytes);
    link_all();
    mu_peers_say(hosts[2].peers, 0, bytes, count);
    UNTIL(hosts[0].agreed[2] == 1);
    assert_int_equal(hosts[0].last_round, 5);
    assert_int_equal(hosts[0].frames[2], 0);
}

/* What was dropped is said again by whoever hears that it is up. */
static void who_has_something_to_say_makes_a_connection(void **state)
{
    (void)state;
    uint8_t bytes[MU_WIRE_FRAME_MAX];
    size_t count = make_ask(5, bytes);
    mu_peers_say(hosts[2].peers, 0, bytes, count); /* dropped */
    UNTIL(linked(0, 2));
    assert_int_equal(hosts[0].agreed[2], 0);
}

static void a_bad_word_of_an_agreement_cuts_the_connection(void **state)
{
    (void)state;
    uint8_t bytes[MU_WIRE_FRAME_MAX];
    size_t count = make_ask(1, bytes);
    link_all();
    bytes[6] = 77; /* of another version */
    mu_peers_say(hosts[2].peers, 0, bytes, count);
    UNTIL(hosts[0].downs[2] == 1 && linked(0, 2));
    assert_int_equal(hosts[0].net.bad[MU_SEAL_CLASS_MALFORMED], 1);
}

/* A firewall could have done both: cut the connection, and refused new ones. */
static void who_refuses_is_asked_and_dialled_again(void **state)
{
    (void)state;
    link_all();
    die(2);
    UNTIL(hosts[0].broke_count >= 3 && hosts[1].broke_count >= 3);
    assert_int_equal(hosts[0].broke, 2);
    assert_int_equal(hosts[1].broke, 2);
    assert_true(linked(0, 1));
    assert_int_equal(mu_peers_wanted(hosts[0].peers), 2); /* it may live */
}

/* For the witness: who can be told, the next one onward first, the linked before the others. */
static void those_onward_are_known(void **state)
{
    (void)state;
    mu_slot slots[NODES];
    link_all();
    assert_int_equal(mu_peers_onward(hosts[1].peers, slots, NODES), 2);
    assert_int_equal(slots[0], 2);
    assert_int_equal(slots[1], 0);
    die(2);
    UNTIL(!hosts[1].up[2]);
    assert_int_equal(mu_peers_onward(hosts[1].peers, slots, NODES), 2);
    assert_int_equal(slots[0], 0);
    assert_int_equal(slots[1], 2);
    assert_int_equal(mu_peers_onward(hosts[1].peers, slots, 1), 1);
    mu_peers_cut(hosts[1].peers, 2, MU_CLOSE_DEAD);
    assert_int_equal(mu_peers_onward(hosts[1].peers, slots, NODES), 1);
}

static void who_leaves_is_not_dead(void **state)
{
    (void)state;
    link_all();
    mu_peers_leave(hosts[1].peers, true);
    mu_door_close(&hosts[1].door);
    UNTIL(!hosts[0].up[1] && !hosts[2].up[1]);
    for (int i = 0; i < 50; i++)
        turn();
    assert_int_equal(hosts[0].broke_count + hosts[2].broke_count, 0);
    assert_int_equal(hosts[0].left[1], 1);
    assert_int_equal(hosts[2].left[1], 1);
    assert_int_equal(hosts[0].left[2] + hosts[2].left[0], 0);
    assert_int_equal(mu_peers_wanted(hosts[0].peers), 1);
}

static void who_was_declared_dead_is_told_so(void **state)
{
    (void)state;
    link_all();
    assert_true(mu_peers_cut(hosts[0].peers, 2, MU_CLOSE_DEAD));
    hosts[0].up[2] = false;
    UNTIL(hosts[2].fenced == 1);
}

/* The core wants an edge again in the same moment; that must not drown the word. */
static void who_wants_the_link_again_is_told_so(void **state)
{
    (void)state;
    link_all();
    hosts[2].like_the_core = true;
    assert_true(mu_peers_cut(hosts[0].peers, 2, MU_CLOSE_DEAD));
    hosts[0].up[2] = false;
    UNTIL(hosts[2].fenced == 1);
}

static int connect_plain(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&addresses[0], sizeof addresses[0]), 0);
    return fd;
}

static void silent_strangers_keep_nobody_out(void **state)
{
    (void)state;
    enum { STRANGERS = MU_DOOR_STRANGERS_MAX + 50 };
    int fds[STRANGERS];
    for (int i = 0; i < STRANGERS; i++) {
        fds[i] = connect_plain();
        if (i % 64 == 0)
            turn();
    }
    UNTIL(hosts[0].door.evicted == 50);
    assert_int_equal(hosts[0].door.taken, STRANGERS);
    link_all();
    for (int i = 0; i < STRANGERS; i++)
        close(fds[i]);
    UNTIL(hosts[0].door.count == 0);
    assert_true(linked(0, 1) && linked(0, 2));
}

static void rubbish_is_counted_and_reaches_nobody(void **state)
{
    (void)state;
    link_all();
    uint64_t before = hosts[0].net.bad[MU_SEAL_CLASS_MALFORMED];
    uint32_t downs = hosts[0].downs[1] + hosts[0].downs[2];
    int fd = connect_plain();
    assert_int_equal(write(fd, "GET / HTTP/1.1\r\n\r\n", 18), 18);
    UNTIL(hosts[0].net.bad[MU_SEAL_CLASS_MALFORMED] == before + 1);
    close(fd);
    assert_int_equal(hosts[0].downs[1] + hosts[0].downs[2], downs);
}

/* Both dial in the same moment: one connection stays, at both ends the same. */
static void two_who_dial_at_once_agree(void **state)
{
    (void)state;
    link_all();
    for (int round = 0; round < 20; round++) {
        /* Each end cuts for itself, without waiting for the other: both dial again. */
        if (mu_peers_cut(hosts[0].peers, 1, MU_CLOSE_RULE))
            hosts[0].up[1] = false;
        if (mu_peers_cut(hosts[1].peers, 0, MU_CLOSE_RULE))
            hosts[1].up[0] = false;
        UNTIL(linked(0, 1));
    }
    const struct mu_frame ack = {.type = MU_FRAME_ACK, .ack = 7};
    uint32_t before = hosts[1].frames[0];
    mu_peers_send(hosts[0].peers, 1, &ack);
    UNTIL(hosts[1].frames[0] == before + 1);
}

struct look {
    uv_timer_t timer;
    bool is_over;
    mu_slot at;
    uint32_t open; /* connections there, tried ones too */
};

static void on_look(uv_timer_t *timer)
{
    struct look *look = timer->data;
    look->open = hosts[look->at].net.open;
    look->is_over = true;
}

/* Timers of one loop fire in the order in which they are due, however late that is. */
static uint32_t open_after_ms(mu_slot at, uint64_t ms)
{
    struct look look = {.at = at};
    uv_timer_init(&loop, &look.timer);
    look.timer.data = &look;
    uv_timer_start(&look.timer, on_look, ms, 0);
    UNTIL(look.is_over);
    uv_close((uv_handle_t *)&look.timer, NULL);
    turn();
    return look.open;
}

static void who_mends_alone_gives_way_to_nobody_for_long(void **state)
{
    (void)state;
    mu_peers_want(hosts[1].peers, 2);
    UNTIL(linked(1, 2));
    assert_int_equal(hosts[2].net.open, 1);
    mu_peers_want(hosts[2].peers, 0);           /* a lower slot, and one that does not want it */
    assert_int_equal(open_after_ms(2, 400), 2); /* at the start it would be 500 */
    UNTIL(linked(0, 2));
}

/* Node 0 has three links, and wants one more in the place of one that is dead. */
static void want_a_fourth(void)
{
    for (mu_slot slot = 1; slot <= 3; slot++) {
        mu_peers_want(hosts[0].peers, slot);
        mu_peers_want(hosts[slot].peers, 0);
    }
    UNTIL(linked(0, 1) && linked(0, 2) && linked(0, 3));
    assert_int_equal(hosts[0].net.open, 3);
    mu_peers_want(hosts[0].peers, 4);
}

static void what_mends_waits_for_the_news(void **state)
{
    (void)state;
    want_a_fourth();
    assert_int_equal(open_after_ms(0, MEND_MS / 2), 3);
    UNTIL(linked(0, 4));
}

/* ---- faults on purpose ---- */

static struct mu_harm cut_between(bool in, bool out, mu_slot peer)
{
    struct mu_harm harm = {.is_on = true, .chaos = {.kind = MU_CHAOS_CUT, .in = in, .out = out}};
    if (peer != MU_SLOT_NONE) {
        harm.chaos.range_count = 1;
        harm.chaos.ranges[0] = (struct mu_chaos_range){peer, peer};
    }
    return harm;
}

static void send_ack(mu_slot from, mu_slot to, uint64_t ack)
{
    mu_peers_send(hosts[from].peers, to, &(struct mu_frame){.type = MU_FRAME_ACK, .ack = ack});
}

/* As long as it takes the others to say something to each other: what is not held is there then. */
static void let_others_talk(mu_slot a, mu_slot b)
{
    uint32_t before = hosts[b].frames[a];
    for (uint32_t i = 0; i < 20; i++) {
        send_ack(a, b, 1);
        UNTIL(hosts[b].frames[a] == before + i + 1);
    }
}

/* What is said while it is cut is heard afterwards, in order, on the same connection. */
static void a_cut_holds_back_and_loses_nothing(void **state)
{
    (void)state;
    struct mu_harm cut = cut_between(true, true, MU_SLOT_NONE);
    link_all();
    mu_net_harm(&hosts[0].net, &cut);
    for (uint64_t i = 1; i <= 5; i++) {
        send_ack(0, 1, 100 + i);
        send_ack(1, 0, 200 + i);
    }
    let_others_talk(1, 2);
    assert_int_equal(hosts[1].frames[0], 0);
    assert_int_equal(hosts[0].frames[1], 0);
    mu_net_harm(&hosts[0].net, &healthy);
    UNTIL(hosts[1].frames[0] == 5 && hosts[0].frames[1] == 5);
    assert_int_equal(hosts[1].last_ack, 105);
    assert_int_equal(hosts[0].last_ack, 205);
    assert_int_equal(hosts[0].downs[1] + hosts[1].downs[0], 0);
}

static void a_cut_is_one_way_and_for_one_peer(void **state)
{
    (void)state;
    struct mu_harm cut = cut_between(false, true, 1);
    link_all();
    mu_net_harm(&hosts[0].net, &cut);
    send_ack(0, 1, 7);
    send_ack(0, 2, 8);
    send_ack(1, 0, 9);
    UNTIL(hosts[2].frames[0] == 1 && hosts[0].frames[1] == 1);
    let_others_talk(1, 2);
    assert_int_equal(hosts[1].frames[0], 0);
    cut = cut_between(true, false, 2); /* and now otherwise */
    mu_net_harm(&hosts[0].net, &cut);
    UNTIL(hosts[1].frames[0] == 1);
    send_ack(2, 0, 10);
    send_ack(0, 2, 11);
    UNTIL(hosts[2].frames[0] == 2);
    assert_int_equal(hosts[0].frames[2], 0);
    mu_net_harm(&hosts[0].net, &healthy);
    UNTIL(hosts[0].frames[2] == 1);
}

/* Nobody hears that it ends its connections, until it is healed. */
static void who_is_cut_ends_unheard(void **state)
{
    (void)state;
    struct mu_harm cut = cut_between(false, true, MU_SLOT_NONE);
    link_all();
    mu_net_harm(&hosts[0].net, &cut);
    mu_peers_leave(hosts[0].peers, false);
    let_others_talk(1, 2);
    assert_int_equal(hosts[1].downs[0] + hosts[2].downs[0], 0);
    assert_int_equal(hosts[0].net.kept_count, 2);
    mu_net_harm(&hosts[0].net, &healthy);
    UNTIL(hosts[1].downs[0] == 1 && hosts[2].downs[0] == 1);
}

/* Nothing is kept for those who would not hear it anyway. */
static void who_is_cut_keeps_no_socket_of_the_dead(void **state)
{
    (void)state;
    struct mu_harm cut = cut_between(false, true, MU_SLOT_NONE);
    link_all();
    mu_net_harm(&hosts[0].net, &cut);
    for (mu_slot slot = 1; slot < LINKED; slot++) {
        die(slot);
        UNTIL(hosts[0].downs[slot] == 1);
        assert_int_equal(hosts[0].net.kept_count, 0);
    }
    mu_net_harm(&hosts[0].net, &healthy);
}

/* Nobody is found to refuse, nor reached, nor let in, while a cut is between. */
static void nothing_is_seen_through_a_cut(void **state)
{
    (void)state;
    struct mu_harm cut = cut_between(true, true, MU_SLOT_NONE);
    link_all();
    mu_net_harm(&hosts[0].net, &cut);
    die(1);
    UNTIL(hosts[2].broke == 1);
    for (int i = 0; i < 50; i++)
        turn(); /* it would have dialled by now */
    assert_int_equal(hosts[0].broke_count, 0);
    mu_net_harm(&hosts[0].net, &healthy);
    UNTIL(hosts[0].broke == 1);
}

static void what_is_late_comes_in_order(void **state)
{
    (void)state;
    struct mu_harm slow = {.is_on = true,
                           .chaos = {.kind = MU_CHAOS_SLOW,
                                     .in = true,
                                     .out = true,
                                     .delay_ns = 20 * UINT64_C(1000000),
                                     .jitter_ns = 20 * UINT64_C(1000000)}};
    link_all();
    mu_net_harm(&hosts[0].net, &slow);
    uint64_t from_ns = uv_hrtime();
    for (uint64_t i = 1; i <= 20; i++)
        send_ack(0, 1, i);
    UNTIL(hosts[1].frames[0] == 20);
    assert_int_equal(hosts[1].last_ack, 20);
    assert_true(uv_hrtime() - from_ns >= 20 * UINT64_C(1000000));
    from_ns = uv_hrtime();
    send_ack(1, 0, 33);
    UNTIL(hosts[0].frames[1] == 1);
    assert_true(uv_hrtime() - from_ns >= 20 * UINT64_C(1000000));
    assert_int_equal(hosts[0].downs[1] + hosts[1].downs[0], 0);
}

static uint32_t held_in(const struct mu_net *net)
{
    uint32_t count = 0;
    for (const struct mu_conn *conn = net->first; conn != NULL; conn = conn->next)
        for (const struct mu_held *held = conn->held_in.first; held != NULL; held = held->next)
            count++;
    return count;
}

/* As a node that is slow, and hears that it was declared dead: the next word waits its turn. */
static void a_fault_may_end_while_a_word_is_heard(void **state)
{
    (void)state;
    struct mu_harm cut = cut_between(true, false, MU_SLOT_NONE);
    struct mu_harm slow = cut;
    slow.chaos.kind = MU_CHAOS_SLOW;
    slow.chaos.delay_ns = 50 * UINT64_C(1000000);
    link_all();
    hosts[0].heals = true;
    mu_net_harm(&hosts[0].net, &slow);
    for (uint32_t i = 1; i <= 2; i++) { /* each with a read of its own */
        send_ack(1, 0, i);
        UNTIL(held_in(&hosts[0].net) == i || hosts[0].frames[1] > 0);
    }
    mu_net_harm(&hosts[0].net, &cut);
    for (uint64_t due_ns = uv_hrtime() + slow.chaos.delay_ns; uv_hrtime() < due_ns;)
        turn();
    mu_net_harm(&hosts[0].net, &healthy); /* both are due */
    UNTIL(hosts[0].frames[1] == 2);
    assert_int_equal(hosts[0].last_ack, 2);
    assert_int_equal(hosts[0].downs[1], 0);
}

/* Whoever came while nobody was let in comes in afterwards. */
static void who_waits_at_the_door_comes_in(void **state)
{
    (void)state;
    struct mu_harm cut = cut_between(true, false, MU_SLOT_NONE);
    mu_net_harm(&hosts[0].net, &cut);
    mu_peers_want(hosts[1].peers, 2);
    mu_peers_want(hosts[2].peers, 1);
    UNTIL(linked(1, 2));
    mu_peers_want(hosts[1].peers, 0); /* it lets the lower one dial first, and then tries */
    UNTIL(hosts[0].door.waits);
    let_others_talk(1, 2);
    assert_int_equal(hosts[0].door.taken, 0);
    mu_net_harm(&hosts[0].net, &healthy);
    mu_door_look_again(&hosts[0].door);
    UNTIL(linked(0, 1));
}

/* ---- what goes together ---- */

static void what_is_gathered_goes_in_order(void **state)
{
    (void)state;
    link_all();
    hosts[0].counts = hosts[1].counts = true;
    uint64_t before = hosts[2].net.bytes_out;
    for (uint64_t ack = 1; ack <= 3; ack++) {
        send_ack(2, 0, ack);
        send_ack(2, 1, ack);
    }
    assert_int_equal(hosts[2].net.bytes_out, before);
    turn();
    assert_true(hosts[2].net.bytes_out > before);
    send_ack(2, 0, 4);
    UNTIL(hosts[0].frames[2] == 4 && hosts[1].frames[2] == 3);
}

/* Some goes earlier then, and nothing is lost. */
static void more_is_gathered_than_there_is_room_for(void **state)
{
    (void)state;
    enum { MANY = 500 };
    link_all();
    hosts[0].counts = true;
    uint64_t before = hosts[2].net.bytes_out;
    for (uint64_t ack = 1; ack <= MANY; ack++)
        send_ack(2, 0, ack);
    assert_true(hosts[2].net.bytes_out > before);
    uint64_t early = hosts[2].net.bytes_out;
    turn();
    assert_true(hosts[2].net.bytes_out > early);
    UNTIL(hosts[0].frames[2] == MANY);
}

static void what_is_gathered_goes_before_a_goodbye(void **state)
{
    (void)state;
    link_all();
    send_ack(2, 0, 1);
    mu_peers_leave(hosts[2].peers, true);
    mu_door_close(&hosts[2].door);
    UNTIL(hosts[0].left[2] == 1);
    assert_int_equal(hosts[0].frames[2], 1);
}

static void what_is_gathered_goes_before_the_end(void **state)
{
    (void)state;
    link_all();
    send_ack(2, 0, 1);
    die(2);
    UNTIL(hosts[0].downs[2] == 1);
    assert_int_equal(hosts[0].frames[2], 1);
}

static void what_is_gathered_is_held_back_by_a_cut(void **state)
{
    (void)state;
    struct mu_harm cut = cut_between(false, true, 0);
    link_all();
    mu_net_harm(&hosts[2].net, &cut);
    send_ack(2, 0, 1);
    let_others_talk(2, 1);
    assert_int_equal(hosts[0].frames[2], 0);
    mu_net_harm(&hosts[2].net, &healthy);
    UNTIL(hosts[0].frames[2] == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_pair_has_one_connection, begin, finish),
        cmocka_unit_test_setup_teardown(a_cut_connection_comes_back, begin, finish),
        cmocka_unit_test_setup_teardown(what_is_said_of_agreements_arrives_beside_notices, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(who_has_something_to_say_makes_a_connection, begin, finish),
        cmocka_unit_test_setup_teardown(a_bad_word_of_an_agreement_cuts_the_connection, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(who_refuses_is_asked_and_dialled_again, begin, finish),
        cmocka_unit_test_setup_teardown(those_onward_are_known, begin, finish),
        cmocka_unit_test_setup_teardown(who_leaves_is_not_dead, begin, finish),
        cmocka_unit_test_setup_teardown(who_was_declared_dead_is_told_so, begin, finish),
        cmocka_unit_test_setup_teardown(who_wants_the_link_again_is_told_so, begin, finish),
        cmocka_unit_test_setup_teardown(silent_strangers_keep_nobody_out, begin, finish),
        cmocka_unit_test_setup_teardown(rubbish_is_counted_and_reaches_nobody, begin, finish),
        cmocka_unit_test_setup_teardown(two_who_dial_at_once_agree, begin, finish),
        cmocka_unit_test_setup_teardown(who_mends_alone_gives_way_to_nobody_for_long, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(what_mends_waits_for_the_news, begin, finish),
        cmocka_unit_test_setup_teardown(a_cut_holds_back_and_loses_nothing, begin, finish),
        cmocka_unit_test_setup_teardown(a_cut_is_one_way_and_for_one_peer, begin, finish),
        cmocka_unit_test_setup_teardown(who_is_cut_ends_unheard, begin, finish),
        cmocka_unit_test_setup_teardown(who_is_cut_keeps_no_socket_of_the_dead, begin, finish),
        cmocka_unit_test_setup_teardown(nothing_is_seen_through_a_cut, begin, finish),
        cmocka_unit_test_setup_teardown(what_is_late_comes_in_order, begin, finish),
        cmocka_unit_test_setup_teardown(a_fault_may_end_while_a_word_is_heard, begin, finish),
        cmocka_unit_test_setup_teardown(who_waits_at_the_door_comes_in, begin, finish),
        cmocka_unit_test_setup_teardown(what_is_gathered_goes_in_order, begin, finish),
        cmocka_unit_test_setup_teardown(more_is_gathered_than_there_is_room_for, begin, finish),
        cmocka_unit_test_setup_teardown(what_is_gathered_goes_before_a_goodbye, begin, finish),
        cmocka_unit_test_setup_teardown(what_is_gathered_goes_before_the_end, begin, finish),
        cmocka_unit_test_setup_teardown(what_is_gathered_is_held_back_by_a_cut, begin, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
