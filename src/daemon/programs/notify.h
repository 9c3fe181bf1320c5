/* What the programs on this node are told: the roll of every job, the journal of what happened, and
 * the clients that read it.
 *
 * One journal for all: a ring of the last events of this node, in memory that the processes of its
 * jobs can read.  So to tell all of them takes one write there and one stroke of a bell for each
 * job, however many they are.  A client has a place in the ring, no queue of its own, so a slow one
 * costs nothing, and what it missed is known exactly.  Who falls out of the ring asks, and is told
 * how many events it lost, and then the state: who is gone, now.
 *
 * Who is there and who is gone says the roll (daemon/roll); here is how programs come to know. */
#ifndef MU_DAEMON_PROGRAMS_NOTIFY_H
#define MU_DAEMON_PROGRAMS_NOTIFY_H

#include "daemon/roll/roll.h"

#include <uv.h>

struct mu_notify;

struct mu_notify_hooks {
    void *owner;
    /* For an operator's STATUS.  notify fills in jobs. */
    void (*node)(void *owner, struct mu_local_node *node);
    /* The i-th counter; false: there are no more. */
    bool (*counter)(void *owner, uint32_t i, const char **name, uint64_t *value);
    /* An operator wants a job to end, everywhere.  NULL, or why it cannot be: one sentence of
     * printable ASCII. */
    const char *(*kill)(void *owner, uint32_t job, int signal);
    /* The same for heartbeats, and for a fault of this node's network.  'holder' is a number that
     * only this client has; when a client that brought a fault is gone, 'let_go' says so. */
    const char *(*set)(void *owner, uint64_t period_ns, uint64_t timeout_ns);
    const char *(*chaos)(void *owner, const struct mu_chaos *chaos, uint64_t holder);
    void (*let_go)(void *owner, uint64_t holder);
    /* A process of this node wants to take part in agreements: its socket is handed over. */
    void (*voter)(void *owner, uint32_t job, uint32_t rank, int fd);
    /* The i-th dead node of which no process is left, for STATUS; false: there are no more. */
    bool (*gone)(void *owner, uint32_t i, struct mu_local_gone *gone);
};

struct mu_notify_config {
    uv_loop_t *loop;
    uint64_t machine;
    const struct mu_roll *roll; /* open for longer than this */
    uint32_t journal;           /* events that are kept; a power of two */
    uint32_t clients;           /* at once */
    struct mu_notify_hooks hooks;
};

/* Opens the socket (mu_local_name()).  Returns 0, or an errno with *notify untouched. */
int mu_notify_open(const struct mu_notify_config *config, struct mu_notify **notify);

/* Closes every client.  Handles of the loop are closed when it runs next. */
void mu_notify_close(struct mu_notify *notify);

/* The name that clients connect to, for their environment. */
const char *mu_notify_name(const struct mu_notify *notify);

/* The roll has changed: each change once.  NULL; or of BEGAN why this job cannot be: no memory, or
 * no descriptor.  Then it is to be over. */
const char *mu_notify_changed(struct mu_notify *notify, const struct mu_roll_change *change);

/* A process of this node has ended, and the roll does not know yet.  Has it a handle of libmuster
 * that it did not close? */
bool mu_notify_inside(struct mu_notify *notify, uint32_t job, uint32_t rank);

/* Counts, for status. */
uint32_t mu_notify_clients(const struct mu_notify *notify);
uint64_t mu_notify_lost(const struct mu_notify *notify);    /* events that clients lost */
uint64_t mu_notify_refused(const struct mu_notify *notify); /* clients turned away, packets that
                                                               broke a rule */

#endif
