/* The connections of notices to other daemons: who dials, who accepts, what happens when one
 * breaks.
 *
 * Of two daemons the one with the lower slot dials first; the other one waits a moment before it
 * tries as well.  When both have dialled at once, the connection of the lower one stays.
 *
 * A connection that is cut is dialled again at once, from both sides.  That it was cut proves
 * nothing, and neither does a new one that is refused: a firewall can do both to a daemon that
 * lives and works.  The ring is to ask it at once; if the daemon has ended, its witness says so. */
#ifndef MU_DAEMON_PEERS_PEERS_H
#define MU_DAEMON_PEERS_PEERS_H

#include "core/base/event.h"
#include "net/conn.h"

struct mu_peers;

struct mu_peers_hooks {
    void *owner;
    /* For a handshake: mu_node_link_has(). */
    uint64_t (*has)(void *owner, mu_slot peer, uint32_t incarnation);
    void (*up)(void *owner, mu_slot peer, uint32_t incarnation, uint64_t has);
    void (*down)(void *owner, mu_slot peer);
    void (*frame)(void *owner, mu_slot peer, uint32_t incarnation, const struct mu_frame *frame);
    /* A frame of an agreement (wire/peer/agree_frame.h): NULL, or the rule that it breaks. */
    const char *(*agree)(void *owner, mu_slot peer, const uint8_t *bytes, size_t count);
    /* The same for one of a view (wire/peer/view.h). */
    const char *(*view)(void *owner, mu_slot peer, const uint8_t *bytes, size_t count);
    /* A connection to that daemon closed, or a new one was refused: nothing is proven. */
    void (*broke)(void *owner, mu_slot peer);
    /* That daemon says that this one was declared dead. */
    void (*fenced)(void *owner, mu_slot by);
    /* That daemon said goodbye.  Incarnation 0: it was never connected. */
    void (*left)(void *owner, mu_slot peer, uint32_t incarnation);
};

/* 'addresses' of all slots, of the caller, stay there.  Links that mend the graph are made after 10
 * ms, when the news that they are for has gone round; the higher slot waits for as long as it takes
 * to see that the lower one does not want it.  NULL: no memory. */
struct mu_peers *mu_peers_open(struct mu_net *net, const struct sockaddr_in *addresses,
                               const struct mu_peers_hooks *hooks);

/* BYE to everybody; or, without a goodbye, only cuts the connections, so that those who look for
 * this node find nobody, once the door is shut.  No hook is called any more. */
void mu_peers_leave(struct mu_peers *peers, bool goodbye);

/* After mu_peers_leave(), or without it as after a goodbye.  NULL is fine. */
void mu_peers_close(struct mu_peers *peers);

/* A link to this peer is wanted (MU_DO_OPEN). */
void mu_peers_want(struct mu_peers *peers, mu_slot peer);

/* A member has connected (door.h), for notices. */
void mu_peers_member(struct mu_peers *peers, struct mu_conn *conn);

/* MU_DO_SEND.  Without a connection nothing is sent: the link knows what the other side has. */
void mu_peers_send(struct mu_peers *peers, mu_slot peer, const struct mu_frame *frame);

/* A frame of an agreement.  Without a connection it is dropped, and one is made, at once: whoever
 * waits for an agreement waits for it. */
void mu_peers_say(struct mu_peers *peers, mu_slot peer, const uint8_t *bytes, size_t count);

/* MU_DO_CLOSE.  True: a connection was up, and the caller reports it as down, since no hook will.
 */
bool mu_peers_cut(struct mu_peers *peers, mu_slot peer, enum mu_close_reason reason);

/* Peers that are not known to be over, onward from this node: first those with a connection, then
 * the others.  At most 'room'; returns how many. */
uint32_t mu_peers_onward(const struct mu_peers *peers, mu_slot *slots, uint32_t room);

uint32_t mu_peers_up(const struct mu_peers *peers);     /* connections that are open */
uint32_t mu_peers_wanted(const struct mu_peers *peers); /* peers that are wanted and not given up */
uint64_t mu_peers_broken(const struct mu_peers *peers); /* connections that were cut so far */

#endif
