/* Exchanges between the daemons of a job (docs/spec/exchange.md), for whatever its processes do
 * together: each node gives a part, and each gets the parts of all.  And questions of one daemon to
 * one other.
 *
 * Both go over connections of their own (bulk.h), which are made when the first one is needed. */
#ifndef MU_DAEMON_EXCHANGE_EXCHANGE_H
#define MU_DAEMON_EXCHANGE_EXCHANGE_H

#include "daemon/peers/bulk.h"
#include "daemon/record/recorder.h"
#include "daemon/roll/roll.h"
#include "wire/peer/exchange.h"

struct mu_exchanges;

/* Who has asked, and what: for the answer. */
struct mu_exchange_ticket {
    mu_slot node;
    uint32_t job;
    uint64_t number;
};

struct mu_exchanges_hooks {
    void *owner;
    /* Another daemon, or this one, asks; mu_exchange_answer() follows, exactly once, now or later.
     * 'bytes' are good within the call.  When the question is about a job of which processes are on
     * this node, it comes when the job has begun here.  NULL: every answer is empty. */
    void (*asked)(void *owner, const struct mu_exchange_ticket *ticket, const uint8_t *bytes,
                  size_t count);
    /* That daemon says that this one was declared dead. */
    void (*fenced)(void *owner, mu_slot by);
    /* Is the lease held, now?  While it is not, others may have declared this node dead and gone on
     * without it: then no result and no answer of another node is told here.  NULL: it is. */
    bool (*lease)(void *owner);
};

struct mu_exchanges_config {
    struct mu_net *net;                  /* its loop, slot and size */
    const struct mu_roll *roll;          /* open for longer than this */
    struct mu_recorder *recorder;        /* NULL: not wanted */
    const struct sockaddr_in *addresses; /* of all slots; both stay the caller's */
    uint8_t shift;                       /* the fan-out of trees is 2^shift */
    struct mu_exchanges_hooks hooks;
};

/* Returns 0 or an errno. */
int mu_exchanges_open(const struct mu_exchanges_config *config, struct mu_exchanges **exchanges);

/* With a goodbye to the others, or only cut.  No hook and nobody's 'done' is called any more. */
void mu_exchanges_leave(struct mu_exchanges *exchanges, bool goodbye);

/* Handles of the loop are closed when it runs next.  NULL is fine. */
void mu_exchanges_close(struct mu_exchanges *exchanges);

/* ---- exchanges ---- */

struct mu_exchange_result {
    uint32_t part_count; /* one for each node that has given one, by increasing slot */
    const struct mu_exchange_part *parts; /* good within the call of 'done' */
    uint32_t missed; /* participants that failed (and did not leave) on nodes without a part */
};

typedef void mu_exchange_done(void *arg, const struct mu_exchange_result *result);

/* All processes of these ranks that live on this node have come to the same operation.  'tag' sorts
 * operations of the same ranks; the n-th call with the same job, ranks and tag here belongs to the
 * n-th everywhere, and one waits for the one before it.  Runs of ranks may come in any order.
 *
 * 'done' is called exactly once, from the loop, never within this call, while the lease is held;
 * but not when the job is over before, or it was abandoned.  It may begin the next one, and it does
 * not end the job.  When the last participant of this node is gone meanwhile, it is called with
 * what is there.
 *
 * NULL, or why not, as a sentence; then nothing has begun. */
const char *mu_exchange_begin(struct mu_exchanges *exchanges, uint32_t job, uint64_t tag,
                              const struct mu_rank_run *ranks, uint32_t run_count,
                              const uint8_t *bytes, size_t count, mu_exchange_done *done,
                              void *arg);

/* Nothing that was begun or asked with this 'arg' is to be called any more.  This node takes part
 * all the same. */
void mu_exchange_abandon(struct mu_exchanges *exchanges, const void *arg);

/* ---- questions ---- */

/* 'bytes' NULL: that node is dead.  An empty answer has a count of 0, and bytes. */
typedef void mu_exchange_answered(void *arg, const uint8_t *bytes, size_t count);

/* Asks a daemon, which may be this one.  'answered' is called exactly once, from the loop, never
 * within this call, of another daemon's answer while the lease is held; but not when the job is
 * over here before, or it was abandoned.  NULL, or why not. */
const char *mu_exchange_ask(struct mu_exchanges *exchanges, uint32_t job, mu_slot node,
                            const uint8_t *bytes, size_t count, mu_exchange_answered *answered,
                            void *arg);

/* NULL, or why not; then the asker still waits. */
const char *mu_exchange_answer(struct mu_exchanges *exchanges,
                               const struct mu_exchange_ticket *ticket, const uint8_t *bytes,
                               size_t count);

/* ---- what the daemon tells ---- */

/* A member has connected (door.h), for bulk. */
void mu_exchanges_member(struct mu_exchanges *exchanges, struct mu_conn *conn);

/* The roll has changed: each change once.  NULL; or of BEGAN why this job cannot be.  Then it is to
 * be over. */
const char *mu_exchanges_changed(struct mu_exchanges *exchanges,
                                 const struct mu_roll_change *change);

/* Several jobs that have begun here, as one: its ranks are those of the first, then those of the
 * second, and so on.  For exchanges among processes of all of them.  The caller gives it a number
 * that no job has, the same at all nodes, for the same jobs in the same order.  It is over when one
 * of them is.  Once more is no harm.  NULL, or why not. */
const char *mu_exchanges_join(struct mu_exchanges *exchanges, uint32_t number, const uint32_t *jobs,
                              uint32_t count);

struct mu_exchanges_counts {
    uint64_t done;     /* exchanges */
    uint64_t asked;    /* questions of this node */
    uint64_t answered; /* answers to them */
    uint64_t dropped;  /* messages that broke a rule, when their job had begun */
    uint64_t early;    /* bytes of messages that are kept until their job begins */
    struct mu_bulk_counts bulk;
};
struct mu_exchanges_counts mu_exchanges_counts(const struct mu_exchanges *exchanges);

#endif
