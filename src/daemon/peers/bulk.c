#include "daemon/peers/bulk_inside.h"

#include <assert.h>
#include <stdlib.h>

enum {
    AGAIN_MS_MIN = 1,
    AGAIN_MS_MAX = 1000, /* between two attempts */
    REFUSED_MS = 100,    /* what broke a rule, or did not fit, will hardly be better at once */
};

static const struct mu_conn_hooks dialled, accepted;

/* ---- peers ---- */

struct mu_bulk *mu_bulk_open(struct mu_net *net, const struct sockaddr_in *addresses,
                             const struct mu_bulk_hooks *hooks)
{
    struct mu_bulk *bulk = calloc(1, sizeof *bulk);
    if (bulk == NULL)
        return NULL;
    bulk->slots = calloc(net->self.size, sizeof *bulk->slots);
    if (bulk->slots == NULL) {
        free(bulk);
        return NULL;
    }
    bulk->net = net;
    bulk->addresses = addresses;
    bulk->hooks = *hooks;
    uv_idle_init(net->loop, &bulk->more);
    bulk->more.data = bulk;
    return bulk;
}

static struct mu_bulk_peer *peer_of(struct mu_bulk *bulk, mu_slot slot)
{
    assert(slot < bulk->net->self.size && slot != bulk->net->self.from);
    if (bulk->slots[slot] != NULL)
        return bulk->slots[slot];
    struct mu_bulk_peer *peer = calloc(1, sizeof *peer);
    if (peer == NULL)
        abort(); /* what is for it would be lost */
    peer->bulk = bulk;
    peer->slot = slot;
    peer->again_ms = AGAIN_MS_MIN;
    peer->end = &peer->first;
    uv_timer_init(bulk->net->loop, &peer->timer);
    peer->timer.data = peer;
    bulk->slots[slot] = peer;
    return peer;
}

static void set_down(struct mu_bulk_peer *peer)
{
    peer->conn = NULL;
    peer->bulk->counts.connections -= peer->is_open;
    peer->is_open = false;
    peer->owes = false; /* the next handshake says it */
    peer->is_paused = false;
    peer->in_turn = 0;
    mu_bulk_message_drop(peer->in);
    peer->in = NULL;
}

static void dial(struct mu_bulk_peer *peer);

static void on_timer(uv_timer_t *timer)
{
    struct mu_bulk_peer *peer = timer->data;
    if (peer->conn == NULL && peer->first != NULL)
        dial(peer);
}

static void again_later(struct mu_bulk_peer *peer)
{
    uv_timer_start(&peer->timer, on_timer, peer->again_ms, 0);
    peer->again_ms = peer->again_ms * 2 < AGAIN_MS_MAX ? peer->again_ms * 2 : AGAIN_MS_MAX;
}

static void again_after_refusal(struct mu_bulk_peer *peer)
{
    if (peer->again_ms < REFUSED_MS)
        peer->again_ms = REFUSED_MS;
    again_later(peer);
}

static void dial(struct mu_bulk_peer *peer)
{
    struct mu_bulk *bulk = peer->bulk;
    peer->conn = mu_conn_dial(bulk->net, &bulk->addresses[peer->slot], peer->slot, MU_SEAL_BULK,
                              &dialled, peer);
    if (peer->conn == NULL)
        again_later(peer);
}

/* ---- sending ---- */

static void on_more(uv_idle_t *idle)
{
    struct mu_bulk *bulk = idle->data;
    uv_idle_stop(idle);
    for (uint32_t i = 0; i < bulk->net->self.size; i++) {
        struct mu_bulk_peer *peer = bulk->slots[i];
        if (peer == NULL)
            continue;
        peer->in_turn = 0;
        if (peer->is_paused)
            mu_conn_pause(peer->conn, false);
        peer->is_paused = false;
        mu_bulk_pump(peer);
    }
}

void mu_bulk_go_on(struct mu_bulk *bulk)
{
    uv_idle_start(&bulk->more, on_more);
}

void mu_bulk_send(struct mu_bulk *bulk, mu_slot to, struct mu_bulk_message *message)
{
    struct mu_bulk_peer *peer = peer_of(bulk, to);
    if (peer->is_dead || bulk->left)
        return;
    mu_bulk_append(peer, message);
    mu_bulk_pump(peer);
    if (peer->conn == NULL && !uv_is_active((uv_handle_t *)&peer->timer))
        dial(peer);
}

uint64_t mu_bulk_waiting(const struct mu_bulk *bulk, mu_slot to)
{
    return bulk->slots[to] == NULL ? 0 : bulk->slots[to]->waiting;
}

static void refuse(struct mu_bulk_peer *peer, const char *rule)
{
    peer->bulk->net->bad[MU_SEAL_CLASS_MALFORMED]++;
    mu_conn_refuse(peer->conn, MU_REFUSE_FORMAT, rule);
    set_down(peer);
    again_after_refusal(peer);
}

static void on_frame(struct mu_conn *conn, const uint8_t *bytes, size_t count)
{
    struct mu_bulk_peer *peer = mu_conn_owner(conn);
    const char *rule = mu_bulk_take(peer, bytes, count);
    if (peer->conn != conn)
        return; /* the hook has ended it */
    if (rule != NULL) {
        refuse(peer, rule);
        return;
    }
    mu_bulk_send_ack(peer);
    peer->in_turn += (uint32_t)count;
    if (peer->in_turn > MU_BULK_TURN_BYTES && !peer->is_paused) {
        peer->is_paused = true;
        mu_conn_pause(conn, true);
        mu_bulk_go_on(peer->bulk);
    }
}

/* ---- hooks of a connection ---- */

static void on_known(struct mu_conn *conn)
{
    struct mu_bulk_peer *peer = mu_conn_owner(conn);
    mu_conn_accept(conn, peer->received);
}

static void on_open(struct mu_conn *conn)
{
    struct mu_bulk_peer *peer = mu_conn_owner(conn);
    const struct mu_hello *hello = mu_conn_peer(conn);
    uv_timer_stop(&peer->timer);
    peer->again_ms = AGAIN_MS_MIN;
    peer->incarnation = hello->incarnation;
    peer->is_open = true;
    peer->bulk->counts.connections++;
    const char *rule = mu_bulk_resume(peer, hello->has);
    if (rule != NULL)
        refuse(peer, rule);
    else
        mu_bulk_pump(peer);
}

static void on_room(struct mu_conn *conn)
{
    struct mu_bulk_peer *peer = mu_conn_owner(conn);
    mu_bulk_pump(peer);
    mu_bulk_send_ack(peer);
}

static void on_closed(struct mu_conn *conn, const struct mu_conn_end *end)
{
    struct mu_bulk_peer *peer = mu_conn_owner(conn);
    bool was_open = peer->is_open;
    peer->bulk->counts.broken += was_open && end->ending != MU_CONN_GOODBYE;
    set_down(peer);
    if (end->ending == MU_CONN_REFUSED && end->code == MU_REFUSE_DEAD) {
        peer->bulk->hooks.fenced(peer->bulk->hooks.owner, peer->slot);
        return;
    }
    if (peer->first == NULL)
        return;
    if (end->ending == MU_CONN_REFUSED)
        again_after_refusal(peer);
    else if (was_open && end->ending != MU_CONN_GOODBYE)
        dial(peer);
    else
        again_later(peer);
}

static const struct mu_conn_hooks dialled = {
    .known = on_known, .open = on_open, .frame = on_frame, .room = on_room, .closed = on_closed};

/* One that is accepted was known before it was handed over. */
static const struct mu_conn_hooks accepted = {
    .known = NULL, .open = on_open, .frame = on_frame, .room = on_room, .closed = on_closed};

void mu_bulk_member(struct mu_bulk *bulk, struct mu_conn *conn)
{
    const struct mu_hello *hello = mu_conn_peer(conn);
    struct mu_bulk_peer *peer = peer_of(bulk, hello->from);
    bool dialling = peer->conn != NULL && !peer->is_open && mu_conn_dialled(peer->conn);
    if (peer->is_dead) {
        mu_conn_refuse(conn, MU_REFUSE_DEAD, "that incarnation was declared dead");
        return;
    }
    if (peer->incarnation != 0 && peer->incarnation != hello->incarnation) {
        mu_conn_refuse(conn, MU_REFUSE_RETURNED, "another incarnation is not known to be dead");
        return;
    }
    if (bulk->left || (dialling && peer->slot > bulk->net->self.from)) {
        mu_conn_drop(conn); /* ours is on its way, and has precedence */
        return;
    }
    if (peer->conn != NULL) {
        mu_conn_drop(peer->conn); /* the other side has given that one up, or gives way to this */
        bulk->counts.broken += peer->is_open;
        set_down(peer);
    }
    uv_timer_stop(&peer->timer);
    peer->conn = conn;
    mu_conn_hand_over(conn, &accepted, peer);
    mu_conn_accept(conn, peer->received);
}

/* ---- the end ---- */

static void end_peer(struct mu_bulk_peer *peer)
{
    uv_timer_stop(&peer->timer);
    set_down(peer);
    mu_bulk_drop_all(peer);
}

void mu_bulk_dead(struct mu_bulk *bulk, mu_slot slot)
{
    struct mu_bulk_peer *peer = peer_of(bulk, slot);
    if (peer->is_dead)
        return;
    peer->is_dead = true;
    if (peer->is_open)
        mu_conn_refuse(peer->conn, MU_REFUSE_DEAD, "that incarnation was declared dead");
    else if (peer->conn != NULL)
        mu_conn_drop(peer->conn);
    end_peer(peer);
}

void mu_bulk_leave(struct mu_bulk *bulk, bool goodbye)
{
    bulk->left = true;
    uv_idle_stop(&bulk->more);
    for (uint32_t i = 0; i < bulk->net->self.size; i++) {
        struct mu_bulk_peer *peer = bulk->slots[i];
        if (peer == NULL)
            continue;
        if (peer->conn != NULL && goodbye)
            mu_conn_bye(peer->conn);
        else if (peer->conn != NULL)
            mu_conn_drop(peer->conn);
        end_peer(peer);
    }
}

static void on_handle_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void mu_bulk_close(struct mu_bulk *bulk)
{
    if (bulk == NULL)
        return;
    mu_bulk_leave(bulk, true);
    for (uint32_t i = 0; i < bulk->net->self.size; i++)
        if (bulk->slots[i] != NULL)
            uv_close((uv_handle_t *)&bulk->slots[i]->timer, on_handle_closed);
    free(bulk->slots);
    free(bulk->frame);
    uv_close((uv_handle_t *)&bulk->more, on_handle_closed);
}

struct mu_bulk_counts mu_bulk_counts(const struct mu_bulk *bulk)
{
    return bulk->counts;
}
