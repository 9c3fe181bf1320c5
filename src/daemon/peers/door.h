/* Where others connect: the listening socket, and those who have not said yet who they are.
 *
 * A stranger costs one small struct, for five seconds at most, and there is room for so many of
 * them: one more makes the oldest one go.  So whoever opens connections and says nothing neither
 * holds memory nor keeps members out, whose handshake takes a few milliseconds. */
#ifndef MU_DAEMON_PEERS_DOOR_H
#define MU_DAEMON_PEERS_DOOR_H

#include "net/conn.h"

enum { MU_DOOR_STRANGERS_MAX = 256 };

struct mu_door {
    struct mu_net *net;
    /* Somebody is a member and says who it is, as the hook 'known' of conn.h; its connection still
     * has the door's hooks: hand it over and accept it, or end it. */
    void (*member)(void *owner, struct mu_conn *conn);
    void *owner;
    uv_tcp_t listener;
    struct sockaddr_in address;                       /* where it listens */
    struct mu_conn *strangers[MU_DOOR_STRANGERS_MAX]; /* a ring, the oldest first; with gaps */
    uint32_t oldest, count;
    uint64_t taken;   /* connections so far */
    uint64_t evicted; /* strangers that had to go for others */
    uint64_t failed;  /* that the kernel could not give us: descriptors, memory */
    bool open;
    bool waits; /* somebody is there, and a fault on purpose lets nobody in */
};

/* Listens at that address; port 0: the kernel chooses, and door->address says which.  The other
 * fields are set before.  Returns 0, or an errno, and then there is nothing to close. */
int mu_door_open(struct mu_door *door, struct mu_net *net, const struct sockaddr_in *address);

/* A fault on purpose (mu_net_harm()) may be over: whoever waits comes in. */
void mu_door_look_again(struct mu_door *door);

/* Nobody comes in any more; strangers are sent away. */
void mu_door_close(struct mu_door *door);

#endif
