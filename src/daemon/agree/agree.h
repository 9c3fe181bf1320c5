/* Agreements of this node's processes: between the agreement of the core, the connections to other
 * daemons, and a socket for each process and group (wire/local/ballot.h).
 *
 * A group is some or all ranks of a job.  Those of this node that live contribute one by one; when
 * all have, this node calls once, with the AND of their bits and with the lists of the failed that
 * the core asks for.  The decision goes to all of them.  A node whose processes of a group are all
 * gone still is in its tree, and calls by itself, until nobody of the group is left anywhere.
 *
 * How a node learns of a group: from a process that joins it; or, when no process of it joins here,
 * from another node, which announces the group unless its first agreement is over soon.  The nodes
 * of a group do so one after the other, by their place in it, until one has: the first after 50 ms,
 * the next 5 ms later, and the last within 550 ms, however many they are. */
#ifndef MU_DAEMON_AGREE_AGREE_H
#define MU_DAEMON_AGREE_AGREE_H

#include "core/agree/agree.h"
#include "daemon/record/recorder.h"
#include "daemon/roll/roll.h"
#include "wire/peer/news.h"

#include <uv.h>

struct mu_agreements;

struct mu_agreements_hooks {
    void *owner;
    /* Without a connection it is dropped, one is made, and mu_agreements_up() follows. */
    void (*send)(void *owner, mu_slot peer, const uint8_t *bytes, size_t count);
    bool (*lease)(void *owner); /* is it held, now? */
    /* Everybody is to know this group. */
    void (*announce)(void *owner, const struct mu_news *news);
    /* A peer says that a node is dead, or that there is proof of it, and it had no more to say; or
     * that the one here is dead.  Both are called from the loop, within no other call. */
    void (*dead)(void *owner, const struct mu_roster_entry *death, mu_slot by);
    void (*fenced)(void *owner, mu_slot by);
    /* Of a peer: its message was not taken, and its connection is to be cut. */
    void (*fault)(void *owner, enum mu_fault fault, mu_slot peer);
};

struct mu_agreements_config {
    uv_loop_t *loop;
    const struct mu_roll *roll;   /* open for longer than this */
    struct mu_recorder *recorder; /* NULL: not wanted */
    uint8_t shift;                /* the fan-out of trees is 2^shift */
    struct mu_agreements_hooks hooks;
};

/* Returns 0 or an errno. */
int mu_agreements_open(const struct mu_agreements_config *config,
                       struct mu_agreements **agreements);

/* Closes every socket.  Handles of the loop are closed when it runs next. */
void mu_agreements_close(struct mu_agreements *agreements);

/* ---- jobs and processes ---- */

/* The roll has changed: each change once.  NULL; or of BEGAN why this job cannot be.  Then it is to
 * be over. */
const char *mu_agreements_changed(struct mu_agreements *agreements,
                                  const struct mu_roll_change *change);

/* A process of this node, with a socket for one group, which is taken. */
void mu_agreements_voter(struct mu_agreements *agreements, uint32_t job, uint32_t rank, int fd);

/* Another node announces a group. */
void mu_agreements_group(struct mu_agreements *agreements, const struct mu_news *news);

/* ---- the other daemons ---- */

/* NULL, or the rule that the frame breaks. */
const char *mu_agreements_frame(struct mu_agreements *agreements, mu_slot from,
                                const uint8_t *bytes, size_t count);
void mu_agreements_up(struct mu_agreements *agreements, mu_slot peer);
void mu_agreements_lease(struct mu_agreements *agreements); /* it may have changed */

/* Counts, for status. */
struct mu_agreements_counts {
    uint32_t groups;  /* open */
    uint64_t decided; /* agreements */
    uint64_t sent, received;
};
struct mu_agreements_counts mu_agreements_counts(const struct mu_agreements *agreements);

#endif
