/* What bulk.c (who is connected) and bulk_flow.c (what goes over a connection) share. */
#ifndef MU_DAEMON_PEERS_BULK_INSIDE_H
#define MU_DAEMON_PEERS_BULK_INSIDE_H

#include "daemon/peers/bulk.h"

/* To and from one peer before the loop looks at others: notices must not wait for long. */
enum { MU_BULK_TURN_BYTES = 512 * 1024 };

/* A message on its way: its number is that of the one before it and one. */
struct mu_bulk_entry {
    struct mu_bulk_entry *next;
    struct mu_bulk_message *message;
};

/* Another daemon, from the first message on. */
struct mu_bulk_peer {
    struct mu_bulk *bulk;
    mu_slot slot;
    uint32_t incarnation; /* of the last connection; 0: there was none */
    struct mu_conn *conn; /* one at a time */
    bool is_open;
    bool is_dead;
    uint32_t again_ms;
    uv_timer_t timer;

    struct mu_bulk_entry *first, **end; /* not acknowledged, the oldest first */
    uint64_t acked;                     /* number of the last one that is */
    uint64_t waiting;                   /* bytes of the others */
    struct mu_bulk_entry *next;         /* to be sent on this connection; NULL: all were */
    uint64_t next_number;
    size_t next_sent;    /* bytes of it that were */
    uint64_t sent_whole; /* number of the last one that was ever sent whole */

    uint64_t received;          /* number of the last message that is here */
    struct mu_bulk_message *in; /* the next one, in pieces; NULL: none has begun */
    uint32_t in_count;          /* bytes of it that are here */
    bool owes;                  /* an acknowledgement */
    uint32_t in_turn;           /* bytes that came since the loop looked at others */
    bool is_paused;             /* until it has */
};

struct mu_bulk {
    struct mu_net *net;
    const struct sockaddr_in *addresses;
    struct mu_bulk_hooks hooks;
    struct mu_bulk_peer **slots; /* by slot; NULL: nothing yet */
    uint8_t *frame;              /* that is being made; NULL: none was yet */
    struct mu_bulk_counts counts;
    uv_idle_t more; /* after the loop has looked at others */
    bool left;
};

/* ---- bulk.c ---- */

/* When the loop has looked at others: goes on. */
void mu_bulk_go_on(struct mu_bulk *bulk);

/* ---- bulk_flow.c ---- */

/* One more message at the end. */
void mu_bulk_append(struct mu_bulk_peer *peer, struct mu_bulk_message *message);

/* A connection is open: everything begins with what the other side has not got.  NULL, or the rule
 * that it breaks. */
const char *mu_bulk_resume(struct mu_bulk_peer *peer, uint64_t has);

/* Sends as much as the connection takes without a long queue, and as is good for the others. */
void mu_bulk_pump(struct mu_bulk_peer *peer);

/* An acknowledgement that found no message to ride on.  It is of all that came until now: while a
 * peer does not read, one is owed, and none is queued. */
void mu_bulk_send_ack(struct mu_bulk_peer *peer);

/* NULL, or the rule that the frame breaks.  Calls the hook when a message is whole. */
const char *mu_bulk_take(struct mu_bulk_peer *peer, const uint8_t *bytes, size_t count);

/* All that is not acknowledged. */
void mu_bulk_drop_all(struct mu_bulk_peer *peer);

#endif
