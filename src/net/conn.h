/* One sealed connection (seal.h) over a TCP socket of a libuv loop.
 *
 * Whoever has one gives it hooks, and hears of everything that it did not ask for itself.  From
 * mu_conn_bye(), mu_conn_refuse() and mu_conn_drop() on, no hook is called any more and the
 * connection belongs to itself: it sends what is queued, closes, and is freed.
 *
 * A connection that ends otherwise calls 'closed', once and last, and is freed after that. */
#ifndef MU_NET_CONN_H
#define MU_NET_CONN_H

#include "net/harm.h"
#include "net/seal.h"

#include <netinet/in.h>
#include <uv.h>

struct mu_conn;

/* What all connections of one loop share. */
struct mu_net {
    uv_loop_t *loop;
    struct mu_hello self; /* machine, size, from, incarnation, view, hash: who we are in every
                             handshake */
    uint8_t key[MU_SEAL_KEY_BYTES];
    uint8_t *incoming;              /* every read goes through here */
    uint8_t *outgoing;              /* and every sealed frame */
    uint64_t bad[MU_SEAL_CLASSES];  /* connections that ended for a reason of that class */
    uint64_t late;                  /* connections whose handshake was not over in time */
    uint64_t frames_in, frames_out; /* sealed frames, with the handshake's */
    uint64_t bytes_in, bytes_out;   /* of TCP */
    uint32_t open;                  /* connections that are not freed yet */
    struct mu_conn *first;          /* these */
    struct mu_conn *gathered; /* those with something to be written in this turn of the loop */
    struct mu_conn **gathered_end;
    struct mu_harm harm; /* mu_net_harm() */
    int *kept;           /* sockets of closed connections, whose end nobody may hear */
    uint32_t kept_count;
};

/* Returns 0 or an errno.  'net' is the caller's and does not move. */
int mu_net_init(struct mu_net *net, uv_loop_t *loop, const struct mu_hello *self,
                const uint8_t key[MU_SEAL_KEY_BYTES]);

/* What this turn of the loop has to send goes to the sockets now, and not when the turn ends:
 * before the process stops itself. */
void mu_net_flush(struct mu_net *net);

/* When no connection is open any more. */
void mu_net_free(struct mu_net *net);

/* A fault on purpose: from now on, until the next one.  Bytes are held back, in or out, as by a
 * network that loses them and where TCP sends them again: until the fault is over, or by as much as
 * they are late.  Nobody is told.  While a connection is cut, no new one is tried to that peer, the
 * time of a handshake stands still, and its end is not heard on the other side.  A hook may call
 * it: what was held back until now comes to hooks later, never within the call. */
void mu_net_harm(struct mu_net *net, const struct mu_harm *harm);

enum mu_conn_ending {
    MU_CONN_GOODBYE = 1, /* the other side said BYE */
    MU_CONN_REFUSED,     /* the other side said REFUSE: code and reason */
    MU_CONN_CUT,         /* it ended without a word */
    MU_CONN_BAD,         /* bytes that must not be: 'text' says which rule */
    MU_CONN_NOBODY,      /* of a dialler: the kernel there says that nobody listens */
    MU_CONN_UNREACHED,   /* could not be made for another reason, here or between */
};

struct mu_conn_end {
    enum mu_conn_ending ending;
    uint8_t code;     /* REFUSED: enum mu_refuse_code */
    const char *text; /* a sentence; never NULL */
};

struct mu_conn_hooks {
    /* The other side has proved that it is a member and says who it is (mu_conn_peer()).  Answer
     * within the call: mu_conn_accept(), mu_conn_refuse() or mu_conn_drop(). */
    void (*known)(struct mu_conn *conn);
    /* Its HELLO is here: mu_conn_peer()->has is good, and frames can go. */
    void (*open)(struct mu_conn *conn);
    void (*frame)(struct mu_conn *conn, const uint8_t *bytes, size_t count);
    /* mu_conn_queued() had been over MU_CONN_QUEUE_HIGH and is 0 again.  May be NULL. */
    void (*room)(struct mu_conn *conn);
    void (*closed)(struct mu_conn *conn, const struct mu_conn_end *end);
};

enum {
    MU_CONN_QUEUE_HIGH = 256 * 1024,
    MU_CONN_TURN_MAX = 4096, /* bytes of a turn of the loop that mu_conn_queued() does not count */
};

/* Connects to slot 'to' of the machine at that address.  The first hook comes later, never within
 * the call.  NULL: no memory or no descriptor; errno says which. */
struct mu_conn *mu_conn_dial(struct mu_net *net, const struct sockaddr_in *address, mu_slot to,
                             enum mu_seal_kind kind, const struct mu_conn_hooks *hooks,
                             void *owner);

/* Takes a connection from a listening socket, in its connection callback. */
struct mu_conn *mu_conn_take(struct mu_net *net, uv_stream_t *listener,
                             const struct mu_conn_hooks *hooks, void *owner);

/* Within 'known': goes on.  'has' as in mu_seal_accept().  Without memory for it 'closed' is called
 * within the call. */
void mu_conn_accept(struct mu_conn *conn, uint64_t has);

/* Somebody else takes care of it from now on. */
void mu_conn_hand_over(struct mu_conn *conn, const struct mu_conn_hooks *hooks, void *owner);

void *mu_conn_owner(const struct mu_conn *conn);
const struct mu_hello *mu_conn_peer(const struct mu_conn *conn); /* from 'known' on */
enum mu_seal_kind mu_conn_kind(const struct mu_conn *conn);
bool mu_conn_dialled(const struct mu_conn *conn);

/* From mu_conn_accept() on.  At most mu_conn_frame_max() bytes; they are copied.  All short
 * frames of one turn of the loop go in one write, and wake the other side once: after the callbacks
 * of what had come, or before the loop waits.  Never blocks: what the socket does not take is
 * queued, without a bound of its own: the caller looks at mu_conn_queued(). */
void mu_conn_send(struct mu_conn *conn, const uint8_t *bytes, size_t count);
size_t mu_conn_frame_max(const struct mu_conn *conn);
size_t mu_conn_queued(const struct mu_conn *conn);

/* Stops or goes on reading: a peer that sends too fast is held back by TCP. */
void mu_conn_pause(struct mu_conn *conn, bool paused);

/* The three ways to end it from here; see the top. */
void mu_conn_bye(struct mu_conn *conn);
void mu_conn_refuse(struct mu_conn *conn, enum mu_refuse_code code, const char *reason);
void mu_conn_drop(struct mu_conn *conn);

#endif
