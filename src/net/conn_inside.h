/* What conn.c and conn_harm.c share: one connection, and what a fault on purpose (harm.h) holds
 * back of it. */
#ifndef MU_NET_CONN_INSIDE_H
#define MU_NET_CONN_INSIDE_H

#include "net/conn.h"

/* Bytes, or an end of the connection, that must wait. */
struct mu_held {
    struct mu_held *next;
    uint64_t due_ns; /* if it is late; one that is cut waits for the end of that */
    ssize_t count;   /* of bytes; negative: libuv's error */
    uint8_t bytes[];
};

struct mu_held_list {
    struct mu_held *first, **end;
};

struct mu_conn {
    uv_tcp_t tcp;
    uv_timer_t timer;
    uv_connect_t connect;
    uv_shutdown_t shutdown;
    struct mu_net *net;
    const struct mu_conn_hooks *hooks; /* NULL: it belongs to itself, or has ended */
    void *owner;
    struct mu_seal seal;
    uint8_t *buffer; /* of the seal, once accepted */
    bool dialled;
    bool known; /* of an acceptor: the other side has said who it is */
    bool accepted;
    bool was_high; /* more than MU_CONN_QUEUE_HIGH was queued, and the owner waits for room */
    bool closing;
    mu_slot slot; /* of a dialler: whom it dials */

    uint8_t *gathered; /* of this turn of the loop; NULL: nothing was ever sent */
    size_t gathered_bytes;
    bool is_gathered; /* is in the list of the net */
    struct mu_conn *next_gathered;
    uv_prepare_t before_wait; /* both run while it is the first in that list */
    uv_check_t after_wait;

    /* For the end of a fault: */
    bool read_waits, timer_waits, connect_waits, shutdown_waits;
    struct mu_held_list held_out, held_in;
    size_t held_bytes; /* of held_out */
    uv_timer_t late_timer;

    struct mu_conn *next, **link; /* all of the net */
    uint8_t handles;              /* that are not closed yet: tcp, two timers, prepare, check */
};

/* ---- conn.c ---- */

/* To the socket, past every fault; and what came from it: bytes, or an error. */
void mu_conn_write(struct mu_conn *conn, const uint8_t *bytes, size_t count);
void mu_conn_came(struct mu_conn *conn, const uint8_t *bytes, ssize_t count);
void mu_conn_read_on(struct mu_conn *conn);

/* Calls the hook 'room' if that is due. */
void mu_conn_tell_room(struct mu_conn *conn);

/* A connection that was not made, because of a fault: its owner hears that. */
void mu_conn_connect_failed(struct mu_conn *conn);

/* The rest of lingering.  False: that was all, it is closed. */
bool mu_conn_shut_down(struct mu_conn *conn);
void mu_conn_wait_for_end(struct mu_conn *conn);

/* ---- conn_harm.c ---- */

/* Whom it is with; MU_SLOT_NONE: a launcher, or nobody knows yet. */
mu_slot mu_conn_slot(const struct mu_conn *conn);

/* In whichever direction. */
bool mu_conn_is_cut(const struct mu_conn *conn);

/* True: it has a copy, and gives it to mu_conn_write() or mu_conn_came() later. */
bool mu_conn_hold_out(struct mu_conn *conn, const uint8_t *bytes, size_t count);
bool mu_conn_hold_in(struct mu_conn *conn, const uint8_t *bytes, ssize_t count);
void mu_conn_forget_held(struct mu_conn *conn);

/* The kernel says goodbye for every socket that is closed: so a copy of it stays open. */
void mu_conn_keep_socket(struct mu_conn *conn);
void mu_conn_close_kept(struct mu_net *net);

#endif
