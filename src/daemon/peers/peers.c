#include "daemon/peers/peers.h"

#include "wire/peer/agree_frame.h"
#include "wire/peer/view.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    AGAIN_MS_MIN = 1,
    SOON_MS = 10,        /* after a connection has broken */
    AGAIN_MS_MAX = 1000, /* between two attempts */
    REFUSED_MS = 100,    /* what broke a rule, or did not fit, will hardly be better at once */
    GIVE_WAY_MS = 500,   /* the higher slot lets the lower one dial first */
    MEND_MS = 10,        /* news of a death first, then the handshakes for what takes its place */
    MEND_GIVE_WAY_MS = 190, /* and so much later if the lower slot may not want it at all */
};

/* Another daemon, from the first moment that there is or should be a connection. */
struct peer {
    struct mu_peers *peers;
    mu_slot slot;
    uint32_t incarnation; /* of the last connection; 0: there was none */
    struct mu_conn *conn; /* one at a time */
    bool up;              /* it is open, and the core knows */
    bool wanted;
    bool over; /* it said BYE, or is dead: no more attempts from here */
    uint32_t again_ms;
    uv_timer_t timer;
};

struct mu_peers {
    struct mu_net *net;
    const struct sockaddr_in *addresses;
    struct mu_peers_hooks hooks;
    struct peer **slots; /* by slot */
    uint32_t up, wanted;
    uint64_t broken;
    bool was_up; /* some connection: what is wanted from then on mends the graph */
    bool left;
};

static const struct mu_conn_hooks dialled, accepted;

struct mu_peers *mu_peers_open(struct mu_net *net, const struct sockaddr_in *addresses,
                               const struct mu_peers_hooks *hooks)
{
    struct mu_peers *peers = calloc(1, sizeof *peers);
    if (peers == NULL)
        return NULL;
    peers->slots = calloc(net->self.size, sizeof *peers->slots);
    if (peers->slots == NULL) {
        free(peers);
        return NULL;
    }
    peers->net = net;
    peers->addresses = addresses;
    peers->hooks = *hooks;
    return peers;
}

static void dial(struct peer *peer);

static void on_timer(uv_timer_t *timer)
{
    struct peer *peer = timer->data;
    if (peer->conn == NULL && !peer->over && !peer->peers->left)
        dial(peer);
}

static struct peer *peer_of(struct mu_peers *peers, mu_slot slot)
{
    assert(slot < peers->net->self.size && slot != peers->net->self.from);
    if (peers->slots[slot] != NULL)
        return peers->slots[slot];
    struct peer *peer = calloc(1, sizeof *peer);
    if (peer == NULL)
        abort(); /* without a link the news would not reach everybody */
    peer->peers = peers;
    peer->slot = slot;
    peer->again_ms = AGAIN_MS_MIN;
    uv_timer_init(peers->net->loop, &peer->timer);
    peer->timer.data = peer;
    peers->slots[slot] = peer;
    return peer;
}

static void want(struct peer *peer, bool wanted)
{
    if (peer->wanted == wanted)
        return;
    peer->wanted = wanted;
    peer->peers->wanted += wanted ? 1 : UINT32_MAX;
}

/* No connection is up any more; the core is told unless it knows. */
static void set_down(struct peer *peer, bool tell)
{
    peer->conn = NULL;
    if (!peer->up)
        return;
    peer->up = false;
    peer->peers->up--;
    if (tell)
        peer->peers->hooks.down(peer->peers->hooks.owner, peer->slot);
}

static void again_later(struct peer *peer)
{
    uv_timer_start(&peer->timer, on_timer, peer->again_ms, 0);
    peer->again_ms = peer->again_ms * 2 < AGAIN_MS_MAX ? peer->again_ms * 2 : AGAIN_MS_MAX;
}

static void again_after_refusal(struct peer *peer)
{
    if (peer->again_ms < REFUSED_MS)
        peer->again_ms = REFUSED_MS;
    again_later(peer);
}

static void dial(struct peer *peer)
{
    struct mu_peers *peers = peer->peers;
    peer->conn = mu_conn_dial(peers->net, &peers->addresses[peer->slot], peer->slot,
                              MU_SEAL_NOTICES, &dialled, peer);
    if (peer->conn == NULL)
        again_later(peer); /* our own trouble */
}

/* If that daemon has ended, its witness is about to say so: that saves the attempt, while others
 * need the time. */
static void dial_soon(struct peer *peer)
{
    uv_timer_start(&peer->timer, on_timer, SOON_MS, 0);
}

/* ---- hooks of a connection ---- */

static void on_known(struct mu_conn *conn)
{
    struct peer *peer = mu_conn_owner(conn);
    const struct mu_peers_hooks *hooks = &peer->peers->hooks;
    mu_conn_accept(conn, hooks->has(hooks->owner, peer->slot, mu_conn_peer(conn)->incarnation));
}

static void on_open(struct mu_conn *conn)
{
    struct peer *peer = mu_conn_owner(conn);
    const struct mu_hello *hello = mu_conn_peer(conn);
    uv_timer_stop(&peer->timer);
    peer->again_ms = AGAIN_MS_MIN;
    peer->incarnation = hello->incarnation;
    peer->up = true;
    peer->peers->up++;
    peer->peers->was_up = true;
    peer->peers->hooks.up(peer->peers->hooks.owner, peer->slot, hello->incarnation, hello->has);
}

/* NULL, or what is wrong with it, in 'text' or elsewhere. */
static const char *take_frame(struct peer *peer, const uint8_t *bytes, size_t count,
                              char text[MU_WIRE_TEXT_MAX])
{
    const struct mu_peers_hooks *hooks = &peer->peers->hooks;
    if (mu_agree_frame_is(bytes, count))
        return hooks->agree(hooks->owner, peer->slot, bytes, count);
    if (mu_view_frame_is(bytes, count))
        return hooks->view(hooks->owner, peer->slot, bytes, count);
    struct mu_message message;
    struct mu_wire_result result = mu_wire_decode(bytes, count, &message);
    if (result.error != MU_WIRE_OK)
        return mu_wire_text(result, text, MU_WIRE_TEXT_MAX);
    if (!mu_wire_is_frame(message.type))
        return "a HELLO or a last word in the middle";
    hooks->frame(hooks->owner, peer->slot, peer->incarnation, &message.frame);
    return NULL;
}

static void on_frame(struct mu_conn *conn, const uint8_t *bytes, size_t count)
{
    struct peer *peer = mu_conn_owner(conn);
    char text[MU_WIRE_TEXT_MAX];
    const char *rule = take_frame(peer, bytes, count, text);
    if (rule == NULL)
        return;
    peer->peers->net->bad[MU_SEAL_CLASS_MALFORMED]++;
    mu_conn_refuse(conn, MU_REFUSE_FORMAT, rule);
    again_after_refusal(peer); /* first, so that the core, which wants it again, does not dial */
    set_down(peer, true);
}

static void on_closed(struct mu_conn *conn, const struct mu_conn_end *end)
{
    struct peer *peer = mu_conn_owner(conn);
    bool was_up = peer->up;
    if (end->ending == MU_CONN_GOODBYE) {
        peer->over = true; /* before the core hears of it and wants the link again */
        want(peer, false);
        peer->peers->hooks.left(peer->peers->hooks.owner, peer->slot, peer->incarnation);
    } else {
        peer->peers->broken += was_up;
        if (was_up || end->ending == MU_CONN_NOBODY)
            peer->peers->hooks.broke(peer->peers->hooks.owner, peer->slot);
    }
    if (end->ending == MU_CONN_REFUSED)
        again_after_refusal(peer); /* so that the core, which wants it again, does not dial */
    set_down(peer, true);
    if (peer->conn != NULL || peer->over || peer->peers->left)
        return; /* what the core did about it has settled it */
    switch (end->ending) {
    case MU_CONN_GOODBYE:
        return;
    case MU_CONN_REFUSED:
        if (end->code == MU_REFUSE_DEAD)
            peer->peers->hooks.fenced(peer->peers->hooks.owner, peer->slot);
        return;
    case MU_CONN_CUT:
    case MU_CONN_BAD:
    case MU_CONN_NOBODY:
    case MU_CONN_UNREACHED:
        if (was_up)
            dial_soon(peer);
        else
            again_later(peer);
        return;
    }
    abort();
}

static const struct mu_conn_hooks dialled = {
    .known = on_known, .open = on_open, .frame = on_frame, .closed = on_closed};

/* One that is accepted was known before it was handed over. */
static const struct mu_conn_hooks accepted = {
    .known = NULL, .open = on_open, .frame = on_frame, .closed = on_closed};

void mu_peers_member(struct mu_peers *peers, struct mu_conn *conn)
{
    mu_slot slot = mu_conn_peer(conn)->from;
    struct peer *peer = peer_of(peers, slot);
    bool dialling = peer->conn != NULL && !peer->up;
    if (peers->left || (dialling && mu_conn_dialled(peer->conn) && slot > peers->net->self.from)) {
        mu_conn_drop(conn); /* ours is on its way, and has precedence */
        return;
    }
    if (peer->conn != NULL) {
        mu_conn_drop(peer->conn); /* the other side has given that one up, or gives way to this */
        set_down(peer, true);
        if (peer->conn != NULL) { /* told so, the core wanted another one, which is too late now */
            mu_conn_drop(peer->conn);
            peer->conn = NULL;
        }
    }
    uv_timer_stop(&peer->timer);
    peer->conn = conn;
    mu_conn_hand_over(conn, &accepted, peer);
    mu_conn_accept(conn,
                   peers->hooks.has(peers->hooks.owner, slot, mu_conn_peer(conn)->incarnation));
}

/* ---- what the core wants ---- */

/* Was never connected, and is to take the place of one that is dead. */
static void dial_to_mend(struct peer *peer)
{
    bool give_way = peer->slot < peer->peers->net->self.from;
    uv_timer_start(&peer->timer, on_timer, MEND_MS + (give_way ? MEND_GIVE_WAY_MS : 0), 0);
}

void mu_peers_want(struct mu_peers *peers, mu_slot slot)
{
    struct peer *peer = peer_of(peers, slot);
    if (peers->left || peer->over)
        return;
    want(peer, true);
    if (peer->conn != NULL || uv_is_active((uv_handle_t *)&peer->timer))
        return;
    /* At the start both ends want it.  What mends the graph is often wanted by one end only: the
     * other one never dials.  After that, somebody must find out what has happened. */
    bool give_way = slot < peers->net->self.from;
    if (peer->incarnation != 0)
        dial_soon(peer);
    else if (peers->was_up)
        dial_to_mend(peer);
    else if (give_way)
        uv_timer_start(&peer->timer, on_timer, GIVE_WAY_MS, 0);
    else
        dial(peer);
}

void mu_peers_send(struct mu_peers *peers, mu_slot slot, const struct mu_frame *frame)
{
    struct peer *peer = peer_of(peers, slot);
    if (!peer->up)
        return;
    uint8_t bytes[MU_WIRE_FRAME_MAX];
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, sizeof bytes);
    struct mu_wire_result result = mu_wire_encode_frame(&writer, frame);
    assert(result.error == MU_WIRE_OK); /* the core sends nothing that breaks a rule */
    mu_conn_send(peer->conn, bytes, writer.used);
}

void mu_peers_say(struct mu_peers *peers, mu_slot slot, const uint8_t *bytes, size_t count)
{
    struct peer *peer = peer_of(peers, slot);
    if (peer->up) {
        mu_conn_send(peer->conn, bytes, count);
        return;
    }
    if (peers->left || peer->over)
        return;
    want(peer, true);
    bool refused = peer->again_ms > REFUSED_MS; /* it will hardly be better at once */
    if (peer->conn == NULL && !refused) {
        uv_timer_stop(&peer->timer);
        dial(peer);
    }
}

bool mu_peers_cut(struct mu_peers *peers, mu_slot slot, enum mu_close_reason reason)
{
    static const struct {
        enum mu_refuse_code code;
        const char *text;
    } words[] = {
        [MU_CLOSE_DEAD] = {MU_REFUSE_DEAD, "that incarnation was declared dead"},
        [MU_CLOSE_RULE] = {MU_REFUSE_FORMAT, "a frame broke a rule of the link"},
        [MU_CLOSE_FULL] = {MU_REFUSE_FULL, "no room here"},
        [MU_CLOSE_RETURNED] = {MU_REFUSE_RETURNED, "no view has admitted that incarnation"},
    };
    struct peer *peer = peer_of(peers, slot);
    bool was_up = peer->up;
    if (peer->conn != NULL && was_up)
        mu_conn_refuse(peer->conn, words[reason].code, words[reason].text);
    else if (peer->conn != NULL)
        mu_conn_drop(peer->conn);
    set_down(peer, false);
    if (reason == MU_CLOSE_DEAD) {
        peer->over = true;
        uv_timer_stop(&peer->timer);
        want(peer, false);
    } else {
        again_after_refusal(peer);
    }
    return was_up;
}

/* ---- for the witness ---- */

/* Adds those onward of this node that are up, or not; returns how many there are then. */
static uint32_t add_onward(const struct mu_peers *peers, bool up, mu_slot *slots, uint32_t count,
                           uint32_t room)
{
    uint32_t size = peers->net->self.size;
    for (uint32_t i = 1; i < size && count < room; i++) {
        const struct peer *peer = peers->slots[(peers->net->self.from + i) % size];
        if (peer != NULL && !peer->over && peer->up == up)
            slots[count++] = peer->slot;
    }
    return count;
}

uint32_t mu_peers_onward(const struct mu_peers *peers, mu_slot *slots, uint32_t room)
{
    uint32_t count = add_onward(peers, true, slots, 0, room);
    return add_onward(peers, false, slots, count, room);
}

/* ---- the end ---- */

void mu_peers_leave(struct mu_peers *peers, bool goodbye)
{
    peers->left = true;
    for (uint32_t i = 0; i < peers->net->self.size; i++) {
        struct peer *peer = peers->slots[i];
        if (peer == NULL)
            continue;
        uv_timer_stop(&peer->timer);
        if (peer->conn != NULL && goodbye)
            mu_conn_bye(peer->conn);
        else if (peer->conn != NULL)
            mu_conn_drop(peer->conn);
        set_down(peer, false);
    }
}

static void on_timer_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void mu_peers_close(struct mu_peers *peers)
{
    if (peers == NULL)
        return;
    mu_peers_leave(peers, true);
    for (uint32_t i = 0; i < peers->net->self.size; i++)
        if (peers->slots[i] != NULL)
            uv_close((uv_handle_t *)&peers->slots[i]->timer, on_timer_closed);
    free(peers->slots);
    free(peers);
}

uint32_t mu_peers_up(const struct mu_peers *peers)
{
    return peers->up;
}

uint32_t mu_peers_wanted(const struct mu_peers *peers)
{
    return peers->wanted;
}

uint64_t mu_peers_broken(const struct mu_peers *peers)
{
    return peers->broken;
}
