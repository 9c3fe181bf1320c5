/* Messages of any length to other daemons, beside the connections of notices, so that no notice
 * ever waits behind one.
 *
 * A connection (kind MU_SEAL_BULK) is made when there is something to send, and stays.  When both
 * daemons dial at once, the connection of the lower slot stays.  One that is lost is made anew
 * while something is not acknowledged, from both sides if need be: messages between two daemons
 * that live come in order, none lost, none twice.  Nothing here accuses anybody: what is for a node
 * waits until that is reached, or declared dead. */
#ifndef MU_DAEMON_PEERS_BULK_H
#define MU_DAEMON_PEERS_BULK_H

#include "net/conn.h"
#include "wire/peer/bulk.h"

struct mu_bulk;

/* Bytes that several may hold: peers that they are for, and whoever received them. */
struct mu_bulk_message {
    uint32_t holders;
    uint32_t count;
    uint8_t bytes[];
};

/* Of 1 .. MU_BULK_MESSAGE_MAX bytes, held by the caller.  NULL: no memory. */
struct mu_bulk_message *mu_bulk_message_make(uint32_t count);
struct mu_bulk_message *mu_bulk_message_hold(struct mu_bulk_message *message);
void mu_bulk_message_drop(struct mu_bulk_message *message); /* NULL is fine */

struct mu_bulk_hooks {
    void *owner;
    /* A message has come; who wants it for longer holds it.  NULL, or the rule that it breaks: then
     * it does not come again, but the connection ends. */
    const char *(*message)(void *owner, mu_slot from, struct mu_bulk_message *message);
    /* That daemon says that this one was declared dead. */
    void (*fenced)(void *owner, mu_slot by);
};

struct mu_bulk_counts {
    uint32_t connections; /* that are open */
    uint64_t broken;      /* that were, and ended without a goodbye */
    uint64_t messages_in, messages_out, bytes_in, bytes_out; /* once each, however often sent */
    uint64_t waiting; /* bytes that are not acknowledged yet */
};

/* 'addresses' of all slots, of the caller, stay there.  NULL: no memory. */
struct mu_bulk *mu_bulk_open(struct mu_net *net, const struct sockaddr_in *addresses,
                             const struct mu_bulk_hooks *hooks);

/* With a goodbye, or only cut.  No hook is called any more. */
void mu_bulk_leave(struct mu_bulk *bulk, bool goodbye);

/* After mu_bulk_leave(), or without it as after a goodbye.  NULL is fine.  Handles are closed when
 * the loop runs next. */
void mu_bulk_close(struct mu_bulk *bulk);

/* A member has connected (door.h), for bulk. */
void mu_bulk_member(struct mu_bulk *bulk, struct mu_conn *conn);

/* To another slot.  To one that is dead nothing goes.  Calls no hook. */
void mu_bulk_send(struct mu_bulk *bulk, mu_slot to, struct mu_bulk_message *message);

/* Bytes for that slot which it has not acknowledged: for whoever makes them faster than it takes
 * them. */
uint64_t mu_bulk_waiting(const struct mu_bulk *bulk, mu_slot to);

/* That node is dead: nothing comes from there or goes there any more. */
void mu_bulk_dead(struct mu_bulk *bulk, mu_slot slot);

struct mu_bulk_counts mu_bulk_counts(const struct mu_bulk *bulk);

#endif
