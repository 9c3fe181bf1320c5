/* What the programs on this node are told: the roll of every job, the journal of what happened, and
 * the clients that read it.
 *
 * One journal for all: a ring of the last events of this node, in memory that the processes of its
 * jobs can read.  So to tell all of them takes one write there and one stroke of a bell for each
 * job, however many they are.  A client has a place in the ring, no queue of its own, so a slow one
 * costs nothing, and what it missed is known exactly.  Who falls out of the ring asks, and is told
 * how many events it lost, and then the state: who is gone, now.
 *
 * The roll of a job has one place for each rank.  Whatever comes first of "process 7 is dead" and
 * "node 1, where process 7 ran, is dead" is told; what comes second is not, so nobody hears of one
 * death twice. */
#ifndef MU_DAEMON_PROGRAMS_NOTIFY_H
#define MU_DAEMON_PROGRAMS_NOTIFY_H

#include "wire/launch/launch.h"
#include "wire/local/local.h"

#include <uv.h>

struct mu_notify;

struct mu_notify_hooks {
    void *owner;
    /* Each event, when the members have it. */
    void (*told)(void *owner, const struct mu_local_event *event);
    /* A process of this node has closed its connection without a goodbye: most likely it is dying,
     * and the kernel is about to say so. */
    void (*dying)(void *owner, uint32_t job, uint32_t rank);
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
    mu_slot self;
    uint32_t size;
    uint32_t journal; /* events that are kept; a power of two */
    uint32_t clients; /* at once */
    struct mu_notify_hooks hooks;
};

/* Opens the socket (mu_local_name()).  Returns 0, or an errno with *notify untouched. */
int mu_notify_open(const struct mu_notify_config *config, struct mu_notify **notify);

/* Closes every client.  Handles of the loop are closed when it runs next. */
void mu_notify_close(struct mu_notify *notify);

/* The name that clients connect to, for their environment. */
const char *mu_notify_name(const struct mu_notify *notify);

/* A job begins: before its first process starts here.  Whatever has come of it before counts, and
 * who ran on nodes that are dead.  NULL, or why not: the number is taken, or no memory. */
const char *mu_notify_job(struct mu_notify *notify, uint32_t job, const struct mu_launch_job *spec);
void mu_notify_job_over(struct mu_notify *notify, uint32_t job);

/* Each process of a job that is gone, as far as known here: it failed, or it left.  And each node
 * that is dead.  The event is good within the call. */
typedef void mu_notify_each(void *arg, const struct mu_local_event *event);
void mu_notify_gone(const struct mu_notify *notify, uint32_t job, mu_notify_each *each, void *arg);
void mu_notify_dead(const struct mu_notify *notify, mu_notify_each *each, void *arg);

/* A process of this node runs, so that a client can be recognized by what the kernel says of it:
 * its process id, or that of its group. */
void mu_notify_started(struct mu_notify *notify, uint32_t job, uint32_t rank, uint32_t pid);

/* It has ended, so its number means nothing any more.  mu_notify_process() says so, too; this is
 * for ends that are no news, because the job is being stopped. */
void mu_notify_ended(struct mu_notify *notify, uint32_t job, uint32_t rank);

/* A process of this node has ended, and mu_notify_ended() is still to come.  Has it a handle of
 * libmuster that it did not close?  And do others run, of whichever job, as far as is known here?
 */
bool mu_notify_inside(struct mu_notify *notify, uint32_t job, uint32_t rank);
bool mu_notify_others(const struct mu_notify *notify, uint32_t job, uint32_t rank);

/* News.  Each is told once, whoever brings it how often; a node's death is followed by those of the
 * processes that ran there and are not gone yet, in the order of ranks.  The evidence keeps its
 * rules (mu_evidence_error()).  A slot that the machine has not, or a rank that the job has not, is
 * only counted. */
void mu_notify_process(struct mu_notify *notify, uint32_t job, uint32_t rank, uint64_t now_ns,
                       uint64_t age_ns, uint16_t hops, const struct mu_evidence *evidence);
void mu_notify_node(struct mu_notify *notify, mu_slot node, uint64_t now_ns, uint64_t age_ns,
                    uint16_t hops, const struct mu_evidence *evidence);

/* Was it told that this node is dead?  Then of mu_notify_node() only proof is news: it is kept, and
 * no program hears of the death twice. */
bool mu_notify_has_node(const struct mu_notify *notify, mu_slot node);

/* Counts, for status. */
uint32_t mu_notify_clients(const struct mu_notify *notify);
uint64_t mu_notify_lost(const struct mu_notify *notify);    /* events that clients lost */
uint64_t mu_notify_refused(const struct mu_notify *notify); /* clients turned away, packets that
                                                               broke a rule */

#endif
