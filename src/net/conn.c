#include "net/conn_inside.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INCOMING_BYTES = 256 * 1024,
    SHAKE_MS = 5000,  /* from the first packet to an open connection */
    LINGER_MS = 1000, /* after our last word, for the other side to hear it */
};

/* What one uv_write() carries: the part that the socket did not take at once. */
struct pending {
    uv_write_t request;
    uint8_t bytes[];
};

int mu_net_init(struct mu_net *net, uv_loop_t *loop, const struct mu_hello *self,
                const uint8_t key[MU_SEAL_KEY_BYTES])
{
    memset(net, 0, sizeof *net);
    net->incoming = malloc(INCOMING_BYTES);
    net->outgoing = malloc(MU_SEAL_BULK_MAX + MU_SEAL_OVERHEAD);
    if (net->incoming == NULL || net->outgoing == NULL) {
        free(net->incoming);
        free(net->outgoing);
        return ENOMEM;
    }
    net->loop = loop;
    net->gathered_end = &net->gathered;
    net->self = *self;
    memcpy(net->key, key, sizeof net->key);
    return 0;
}

void mu_net_free(struct mu_net *net)
{
    assert(net->open == 0);
    mu_conn_close_kept(net);
    free(net->incoming);
    free(net->outgoing);
    sodium_memzero(net, sizeof *net);
}

/* ---- the end ---- */

void mu_net_flush(struct mu_net *net);

static void on_handle_closed(uv_handle_t *handle)
{
    struct mu_conn *conn = handle->data;
    if (--conn->handles > 0)
        return;
    mu_seal_free(&conn->seal);
    conn->net->open--;
    *conn->link = conn->next;
    if (conn->next != NULL)
        conn->next->link = conn->link;
    mu_conn_forget_held(conn);
    free(conn->gathered);
    free(conn->buffer);
    free(conn);
}

static void close_handles(struct mu_conn *conn)
{
    if (conn->closing)
        return;
    mu_net_flush(conn->net); /* it may be the one whose handles do that */
    if (mu_harm_cuts_out(&conn->net->harm, mu_conn_slot(conn)))
        mu_conn_keep_socket(conn);
    conn->closing = true;
    conn->hooks = NULL;
    uv_close((uv_handle_t *)&conn->tcp, on_handle_closed);
    uv_close((uv_handle_t *)&conn->timer, on_handle_closed);
    uv_close((uv_handle_t *)&conn->late_timer, on_handle_closed);
    uv_close((uv_handle_t *)&conn->before_wait, on_handle_closed);
    uv_close((uv_handle_t *)&conn->after_wait, on_handle_closed);
}

/* Not the owner's doing: it hears why. */
static void end(struct mu_conn *conn, enum mu_conn_ending ending, uint8_t code, const char *text)
{
    const struct mu_conn_hooks *hooks = conn->hooks;
    conn->hooks = NULL;
    if (hooks != NULL && !conn->closing)
        hooks->closed(conn, &(struct mu_conn_end){.ending = ending, .code = code, .text = text});
    close_handles(conn);
}

static void end_bad(struct mu_conn *conn)
{
    struct mu_seal_result result = mu_seal_result(&conn->seal);
    enum mu_seal_class class = mu_seal_class(result.error);
    char text[MU_SEAL_TEXT_MAX];
    if (conn->hooks != NULL)
        conn->net->bad[class]++; /* what comes after our own last word counts for nothing */
    end(conn, result.error == MU_SEAL_CUT ? MU_CONN_CUT : MU_CONN_BAD, 0,
        mu_seal_text(result, text, sizeof text));
}

static void on_timer(uv_timer_t *timer)
{
    struct mu_conn *conn = timer->data;
    if (mu_conn_is_cut(conn)) { /* what it waits for may be on its way */
        conn->timer_waits = true;
        return;
    }
    if (conn->hooks != NULL)
        conn->net->late++;
    end(conn, MU_CONN_UNREACHED, 0, "the handshake was not over after 5 s");
}

/* ---- bytes out ---- */

static void on_written(uv_write_t *request, int status)
{
    struct pending *pending = (struct pending *)request;
    struct mu_conn *conn = request->data;
    free(pending);
    if (status >= 0) /* an error shows when reading, which knows more of what came before it */
        mu_conn_tell_room(conn);
}

void mu_conn_tell_room(struct mu_conn *conn)
{
    if (conn->hooks == NULL || mu_conn_queued(conn) > 0 || !conn->was_high)
        return;
    conn->was_high = false;
    if (conn->hooks->room != NULL)
        conn->hooks->room(conn);
}

static size_t socket_queued(const struct mu_conn *conn)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)&conn->tcp);
}

static void write_at_once(struct mu_conn *conn, const uint8_t *bytes, size_t count)
{
    if (!mu_conn_hold_out(conn, bytes, count))
        mu_conn_write(conn, bytes, count);
    if (mu_conn_queued(conn) > MU_CONN_QUEUE_HIGH)
        conn->was_high = true;
}

static void write_gathered(struct mu_conn *conn)
{
    size_t count = conn->gathered_bytes;
    conn->gathered_bytes = 0;
    if (count > 0)
        write_at_once(conn, conn->gathered, count);
}

static void write_bytes(struct mu_conn *conn, const uint8_t *bytes, size_t count)
{
    if (conn->closing || count == 0)
        return;
    write_gathered(conn); /* it was said first */
    write_at_once(conn, bytes, count);
}

static void before_wait(uv_prepare_t *handle)
{
    const struct mu_conn *conn = handle->data;
    mu_net_flush(conn->net);
}

static void after_wait(uv_check_t *handle)
{
    const struct mu_conn *conn = handle->data;
    mu_net_flush(conn->net);
}

/* The first one has its handles started for all. */
static void join_gathered(struct mu_conn *conn)
{
    struct mu_net *net = conn->net;
    if (conn->is_gathered)
        return;
    if (net->gathered == NULL) {
        uv_prepare_start(&conn->before_wait, before_wait);
        uv_check_start(&conn->after_wait, after_wait);
    }
    conn->is_gathered = true;
    conn->next_gathered = NULL;
    *net->gathered_end = conn;
    net->gathered_end = &conn->next_gathered;
}

/* In the order in which they began to say something. */
void mu_net_flush(struct mu_net *net)
{
    if (net->gathered == NULL)
        return;
    uv_prepare_stop(&net->gathered->before_wait);
    uv_check_stop(&net->gathered->after_wait);
    for (struct mu_conn *conn = net->gathered; conn != NULL; conn = conn->next_gathered) {
        conn->is_gathered = false;
        write_gathered(conn);
    }
    net->gathered = NULL;
    net->gathered_end = &net->gathered;
}

/* False: it has to go by itself. */
static bool gather(struct mu_conn *conn, const uint8_t *bytes, size_t count)
{
    if (conn->gathered == NULL)
        conn->gathered = malloc(MU_CONN_TURN_MAX);
    if (conn->gathered == NULL || count > MU_CONN_TURN_MAX)
        return false;
    if (count > MU_CONN_TURN_MAX - conn->gathered_bytes)
        write_gathered(conn);
    memcpy(conn->gathered + conn->gathered_bytes, bytes, count);
    conn->gathered_bytes += count;
    join_gathered(conn);
    return true;
}

void mu_conn_write(struct mu_conn *conn, const uint8_t *bytes, size_t count)
{
    conn->net->bytes_out += count;
    if (socket_queued(conn) == 0) {
        uv_buf_t direct = uv_buf_init((char *)bytes, (unsigned)count);
        int taken = uv_try_write((uv_stream_t *)&conn->tcp, &direct, 1);
        if (taken > 0) {
            bytes += taken;
            count -= (size_t)taken;
        }
        if (count == 0 || (taken < 0 && taken != UV_EAGAIN))
            return;
    }
    struct pending *pending = malloc(sizeof *pending + count);
    if (pending == NULL)
        abort(); /* nothing else would keep the order of what was promised */
    memcpy(pending->bytes, bytes, count);
    pending->request.data = conn;
    uv_buf_t rest = uv_buf_init((char *)pending->bytes, (unsigned)count);
    if (uv_write(&pending->request, (uv_stream_t *)&conn->tcp, &rest, 1, on_written) != 0)
        free(pending);
}

static void take_output(struct mu_conn *conn)
{
    const uint8_t *bytes;
    size_t count = mu_seal_output(&conn->seal, &bytes);
    if (count == 0)
        return;
    write_bytes(conn, bytes, count);
    mu_seal_consume(&conn->seal, count);
}

void mu_conn_send(struct mu_conn *conn, const uint8_t *bytes, size_t count)
{
    assert(conn->accepted);
    if (conn->closing)
        return;
    size_t sealed = mu_seal_send(&conn->seal, bytes, count, conn->net->outgoing);
    conn->net->frames_out++;
    if (!gather(conn, conn->net->outgoing, sealed))
        write_bytes(conn, conn->net->outgoing, sealed);
}

size_t mu_conn_frame_max(const struct mu_conn *conn)
{
    return mu_seal_frame_max(&conn->seal);
}

size_t mu_conn_queued(const struct mu_conn *conn)
{
    return socket_queued(conn) + conn->held_bytes;
}

/* ---- bytes in ---- */

/* False: the connection is over. */
static bool on_event(struct mu_conn *conn, enum mu_seal_event event)
{
    size_t count;
    const uint8_t *plain;
    switch (event) {
    case MU_SEAL_MORE:
        return true;
    case MU_SEAL_PEER_KNOWN:
        conn->known = true;
        if (mu_conn_is_cut(conn)) { /* only now we know that it is */
            end(conn, MU_CONN_UNREACHED, 0, "it is cut off");
            return false;
        }
        conn->hooks->known(conn);
        assert(conn->accepted || conn->hooks == NULL);
        break;
    case MU_SEAL_OPEN:
        uv_timer_stop(&conn->timer);
        conn->hooks->open(conn);
        break;
    case MU_SEAL_FRAME:
        conn->net->frames_in++;
        plain = mu_seal_plain(&conn->seal, &count);
        conn->hooks->frame(conn, plain, count);
        break;
    case MU_SEAL_REFUSED: {
        const struct mu_refuse *refusal = mu_seal_refusal(&conn->seal);
        char text[MU_WIRE_REASON_MAX + 1];
        snprintf(text, sizeof text, "%.*s", (int)refusal->length, refusal->reason);
        end(conn, MU_CONN_REFUSED, refusal->code, text);
        break;
    }
    case MU_SEAL_GOODBYE:
        end(conn, MU_CONN_GOODBYE, 0, "the other side said goodbye");
        break;
    case MU_SEAL_BAD:
        take_output(conn);
        end_bad(conn);
        break;
    }
    return conn->hooks != NULL;
}

static void on_bytes(struct mu_conn *conn, const uint8_t *bytes, size_t count)
{
    conn->net->bytes_in += count;
    enum mu_seal_event event = MU_SEAL_BAD;
    while (conn->hooks != NULL && event != MU_SEAL_MORE) {
        size_t used;
        event = mu_seal_input(&conn->seal, bytes, count, &used);
        bytes += used;
        count -= used;
        if (event != MU_SEAL_BAD)
            take_output(conn);
        if (!on_event(conn, event))
            return;
    }
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer);

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)suggested;
    struct mu_conn *conn = handle->data;
    /* Without room nothing is read: on_read() is told UV_ENOBUFS. */
    bool is_cut = mu_harm_cuts_in(&conn->net->harm, mu_conn_slot(conn));
    *buffer = uv_buf_init((char *)conn->net->incoming, is_cut ? 0 : INCOMING_BYTES);
}

void mu_conn_read_on(struct mu_conn *conn)
{
    uv_read_start((uv_stream_t *)&conn->tcp, on_alloc, on_read);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    struct mu_conn *conn = stream->data;
    if (count == UV_ENOBUFS) {
        conn->read_waits = true;
        uv_read_stop(stream);
    } else if (!mu_conn_hold_in(conn, (const uint8_t *)buffer->base, count)) {
        mu_conn_came(conn, (const uint8_t *)buffer->base, count);
    }
}

void mu_conn_came(struct mu_conn *conn, const uint8_t *bytes, ssize_t count)
{
    if (count >= 0) {
        on_bytes(conn, bytes, (size_t)count);
        return;
    }
    if (conn->hooks == NULL) { /* it waited for the other side to have heard our last word */
        close_handles(conn);
        return;
    }
    if (mu_seal_end(&conn->seal) == MU_SEAL_GOODBYE)
        end(conn, MU_CONN_GOODBYE, 0, "the other side said goodbye");
    else
        end_bad(conn);
}

/* ---- the beginning ---- */

static struct mu_conn *make(struct mu_net *net, const struct mu_conn_hooks *hooks, void *owner)
{
    struct mu_conn *conn = calloc(1, sizeof *conn);
    if (conn == NULL)
        return NULL;
    conn->net = net;
    conn->hooks = hooks;
    conn->owner = owner;
    int failed = uv_tcp_init(net->loop, &conn->tcp);
    assert(failed == 0); /* it opens nothing yet */
    failed = uv_timer_init(net->loop, &conn->timer);
    assert(failed == 0);
    failed = uv_timer_init(net->loop, &conn->late_timer);
    assert(failed == 0);
    uv_prepare_init(net->loop, &conn->before_wait);
    uv_check_init(net->loop, &conn->after_wait);
    conn->tcp.data = conn->timer.data = conn->late_timer.data = conn;
    conn->before_wait.data = conn->after_wait.data = conn;
    conn->handles = 5;
    net->open++;
    conn->next = net->first;
    conn->link = &net->first;
    if (conn->next != NULL)
        conn->next->link = &conn->next;
    net->first = conn;
    uv_timer_start(&conn->timer, on_timer, SHAKE_MS, 0);
    return conn;
}

static void start_reading(struct mu_conn *conn)
{
    uv_tcp_nodelay(&conn->tcp, 1);
    mu_conn_read_on(conn);
}

static void on_connected(uv_connect_t *request, int status)
{
    struct mu_conn *conn = request->data;
    if (conn->hooks == NULL)
        return;
    if (status < 0 && mu_conn_is_cut(conn)) { /* nor may we hear that nobody is there */
        conn->connect_waits = true;
        return;
    }
    if (status == UV_ECONNREFUSED) {
        end(conn, MU_CONN_NOBODY, 0, "nobody listens there");
        return;
    }
    if (status < 0) {
        end(conn, MU_CONN_UNREACHED, 0, uv_strerror(status));
        return;
    }
    start_reading(conn);
    take_output(conn);
}

struct mu_conn *mu_conn_dial(struct mu_net *net, const struct sockaddr_in *address, mu_slot to,
                             enum mu_seal_kind kind, const struct mu_conn_hooks *hooks, void *owner)
{
    struct mu_conn *conn = make(net, hooks, owner);
    if (conn == NULL)
        return NULL;
    conn->dialled = true;
    struct mu_hello self = net->self;
    self.to = to;
    mu_seal_init(&conn->seal, MU_SEAL_DIALLER, net->key, kind, &self);
    conn->connect.data = conn;
    conn->slot = to;
    if (mu_conn_is_cut(conn)) {
        conn->connect_waits = true;
        return conn;
    }
    int failed =
        uv_tcp_connect(&conn->connect, &conn->tcp, (const struct sockaddr *)address, on_connected);
    if (failed == 0)
        return conn;
    close_handles(conn);
    errno = -failed;
    return NULL;
}

/* The owner tries again, as after every failure that is nobody's proof. */
void mu_conn_connect_failed(struct mu_conn *conn)
{
    end(conn, MU_CONN_UNREACHED, 0, "it was cut off");
}

struct mu_conn *mu_conn_take(struct mu_net *net, uv_stream_t *listener,
                             const struct mu_conn_hooks *hooks, void *owner)
{
    struct mu_conn *conn = make(net, hooks, owner);
    if (conn == NULL)
        return NULL;
    mu_seal_init(&conn->seal, MU_SEAL_ACCEPTOR, net->key, MU_SEAL_ANY, &net->self);
    int failed = uv_accept(listener, (uv_stream_t *)&conn->tcp);
    if (failed != 0) {
        close_handles(conn);
        errno = -failed;
        return NULL;
    }
    start_reading(conn);
    return conn;
}

void mu_conn_accept(struct mu_conn *conn, uint64_t has)
{
    size_t room = mu_seal_buffer_bytes(&conn->seal);
    conn->buffer = malloc(room);
    if (conn->buffer == NULL) { /* the owner did not end it, so it has to hear of it */
        end(conn, MU_CONN_UNREACHED, 0, "no memory for one more connection");
        return;
    }
    conn->accepted = true;
    mu_seal_accept(&conn->seal, has, conn->buffer, room);
    take_output(conn);
}

void mu_conn_hand_over(struct mu_conn *conn, const struct mu_conn_hooks *hooks, void *owner)
{
    assert(conn->hooks != NULL);
    conn->hooks = hooks;
    conn->owner = owner;
}

void *mu_conn_owner(const struct mu_conn *conn)
{
    return conn->owner;
}

const struct mu_hello *mu_conn_peer(const struct mu_conn *conn)
{
    return mu_seal_peer(&conn->seal);
}

enum mu_seal_kind mu_conn_kind(const struct mu_conn *conn)
{
    return conn->seal.kind;
}

bool mu_conn_dialled(const struct mu_conn *conn)
{
    return conn->dialled;
}

void mu_conn_pause(struct mu_conn *conn, bool paused)
{
    if (conn->closing)
        return;
    conn->read_waits = false;
    if (paused)
        uv_read_stop((uv_stream_t *)&conn->tcp);
    else
        mu_conn_read_on(conn);
}

/* ---- the end, from here ---- */

static void on_shut_down(uv_shutdown_t *request, int status)
{
    struct mu_conn *conn = request->data;
    if (status < 0)
        close_handles(conn);
}

/* What was said last must arrive.  Closing a socket that still has something to read would reset
 * the connection and take our word away from under the other side: so read on, and throw it away.
 */
static void linger(struct mu_conn *conn)
{
    conn->hooks = NULL;
    write_gathered(conn);
    take_output(conn);
    conn->shutdown.data = conn;
    if (conn->held_bytes > 0 || mu_harm_cuts_out(&conn->net->harm, mu_conn_slot(conn)))
        conn->shutdown_waits = true;
    else if (!mu_conn_shut_down(conn))
        return;
    mu_conn_pause(conn, false);
    mu_conn_wait_for_end(conn);
}

bool mu_conn_shut_down(struct mu_conn *conn)
{
    conn->shutdown_waits = false;
    if (uv_shutdown(&conn->shutdown, (uv_stream_t *)&conn->tcp, on_shut_down) == 0)
        return true;
    close_handles(conn);
    return false;
}

void mu_conn_wait_for_end(struct mu_conn *conn)
{
    uv_timer_start(&conn->timer, on_timer, LINGER_MS, 0);
}

void mu_conn_bye(struct mu_conn *conn)
{
    if (!conn->accepted) {
        mu_conn_drop(conn);
        return;
    }
    mu_seal_bye(&conn->seal);
    linger(conn);
}

void mu_conn_refuse(struct mu_conn *conn, enum mu_refuse_code code, const char *reason)
{
    mu_seal_refuse(&conn->seal, code, reason);
    linger(conn);
}

void mu_conn_drop(struct mu_conn *conn)
{
    conn->hooks = NULL;
    close_handles(conn);
}
