/* The heartbeat thread: drives this node's detector over one UDP socket, and does nothing else.
 *
 * It shares no lock with anybody and allocates nothing once it runs, so that no start of a process,
 * no output and no protocol can delay a beat.  Its stack, its buffers and the detector are one
 * region of memory, which is locked.  It and the main thread are joined by two bounded queues.
 *
 * All functions are for the main thread. */
#ifndef MU_DAEMON_HEART_HEARTBEAT_H
#define MU_DAEMON_HEART_HEARTBEAT_H

#include "core/ring/ring.h"
#include "net/harm.h"

#include <netinet/in.h>

struct mu_heartbeat;

/* ---- beginning and end ---- */

/* Opens the socket before the addresses of others are known: what they send meanwhile waits in it.
 * 'address' is of IPv4 or IPv6; *port is the one that was bound.  Returns 0, or an errno with
 * *heartbeat and *port untouched. */
int mu_heartbeat_listen(const struct sockaddr *address, struct mu_heartbeat **heartbeat,
                        uint16_t *port);

union mu_heartbeat_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct mu_heartbeat_config {
    struct mu_detect_config detect; /* has passed mu_detect_config_error() */
    /* By slot, of the same family as the socket's; copied.  The own one is not looked at. */
    const union mu_heartbeat_address *addresses;
    const uint8_t *key; /* of the machine, 32 bytes; not kept: another is derived from it */
    int priority;       /* of SCHED_FIFO, above the main thread's; 0: as everybody else */
    uint32_t queue;     /* capacity of each queue: a power of two */
    /* Sees every event before the detector does, on the heartbeat thread, so it may not wait.
     * NULL: not wanted. */
    void (*record)(void *context, const struct mu_detect_event *event,
                   const struct mu_detect_update *update);
    void *record_context;
};

/* Where this incarnation's nonces begin (struct mu_detect_config), from the system's random. */
uint64_t mu_heartbeat_draw_nonce(void);

/* What the system refused.  The thread runs nevertheless; a daemon says so in its log. */
struct mu_heartbeat_refused {
    int priority; /* errno, or 0 */
    int lock;     /* of its memory; errno, or 0 */
};

/* Starts the thread, once.  Returns 0, or an errno: nothing was started then, and only
 * mu_heartbeat_stop() may follow. */
int mu_heartbeat_start(struct mu_heartbeat *heartbeat, const struct mu_heartbeat_config *config,
                       struct mu_heartbeat_refused *refused);

/* Ends the thread, if it was started, without a word to anybody; closes and frees everything, and
 * wipes the key.  NULL: nothing happens. */
void mu_heartbeat_stop(struct mu_heartbeat *heartbeat);

/* ---- what the thread says ---- */

struct mu_heartbeat_news {
    uint64_t at_ns;                 /* CLOCK_MONOTONIC, of the step that it comes of */
    struct mu_detect_effect effect; /* all but SEND */
};

/* Readable when there may be news: for poll(). */
int mu_heartbeat_fd(const struct mu_heartbeat *heartbeat);

/* False: there is none, and the descriptor is no longer readable.  Whoever calls this until then
 * shows that the main loop moves (N13 of docs/spec/ring.md).
 *
 * While the queue is full, news waits in the thread, but for ASK_LAUNCHER, which comes again.  No
 * verdict is ever lost.  Of several reports
 * about one node, of several words about the lease and of several faults, only the last one may
 * come then; reports about too many nodes are lost and counted. */
bool mu_heartbeat_next(struct mu_heartbeat *heartbeat, struct mu_heartbeat_news *news);

/* ---- what it is told ---- */

/* False, from all of these: the queue is full.  Try again when the thread had its turn.
 *
 * A node that is out wakes the thread only where the ring mends; elsewhere it is known there before
 * the next beat or deadline is looked at. */
bool mu_heartbeat_out(struct mu_heartbeat *heartbeat, mu_slot slot, uint32_t incarnation,
                      bool proven);

/* The times have passed mu_detect_times_error(). */
bool mu_heartbeat_set(struct mu_heartbeat *heartbeat, uint64_t period_ns, uint64_t timeout_ns);

/* Every node has started: the grace is over. */
bool mu_heartbeat_ready(struct mu_heartbeat *heartbeat);

/* A connection to that node closed or was refused: if it is observed here, it is asked at once.  No
 * harm when the queue is full: it is asked when its beat is late. */
void mu_heartbeat_broke(struct mu_heartbeat *heartbeat, mu_slot slot);

/* A launcher's answer to ASK_LAUNCHER.  When there is no room it is lost: the question comes again.
 */
struct mu_heartbeat_answer {
    mu_slot subject;
    uint64_t nonce, stamp_ns, clock_ns;
    enum mu_launcher_reach reach;
};
void mu_heartbeat_launcher(struct mu_heartbeat *heartbeat,
                           const struct mu_heartbeat_answer *answer);

/* From then on datagrams are dropped or held back without a word, as this says.
 *
 * False also when the thread has not taken the last one yet, or there is no memory. */
bool mu_heartbeat_harm(struct mu_heartbeat *heartbeat, const struct mu_harm *harm);

/* ---- what it counts ---- */

enum { MU_HEARTBEAT_LAGS = 40 };

/* Only words of 64 bits.  They are read one by one while the thread goes on: each is right, but not
 * all are of the same instant. */
struct mu_heartbeat_counts {
    uint64_t in, in_bytes; /* datagrams that arrived, good or bad */
    uint64_t out, out_bytes;
    uint64_t malformed; /* of another length; or authentic, and yet against a rule or not for us */
    uint64_t forged;    /* with a wrong tag */
    uint64_t dropped;   /* good, and of no use to the detector: late, repeated, of the dead */
    uint64_t cut;       /* by mu_heartbeat_harm(), in and out; not counted above, unless it was
                           dropped because of who sent it */
    /* Errors of our own.  They are never evidence against anybody. */
    uint64_t send_errors, send_errno;       /* how many, the last one */
    uint64_t receive_errors, receive_errno; /* the same */
    uint64_t news_waiting;                  /* now, because the queue is full */
    uint64_t reports_lost;
    uint64_t rounds; /* of the loop: how often it woke up, */
    uint64_t at_ns;  /* and when it did last, on the detector's clock */
    /* How late TIMEOUT steps ran after the deadline that they were asked for: lags[b] of them by
     * less than 2^b ns, and not by less than half of that.  The last place has all above, too. */
    uint64_t lags[MU_HEARTBEAT_LAGS];
    uint64_t lag_ns_max;
    uint64_t lags_given_back; /* by the detector: rule N8 */
    /* The detector as it stands. */
    uint64_t observes, observer; /* slots, or MU_SLOT_NONE */
    uint64_t lease_until_ns;     /* as mu_detect_lease_until_ns() says, on CLOCK_BOOTTIME */
    /* The main thread, as far as it was asked for a sign. */
    uint64_t loop_ns_max; /* the longest time that it took to answer */
    uint64_t loop_stood;  /* how often that was too long */
};

/* All zero before the start. */
void mu_heartbeat_counts(const struct mu_heartbeat *heartbeat, struct mu_heartbeat_counts *counts);

/* What is left of the lease at this moment: 0 is not held, MU_NEVER is for ever.  It is right even
 * when the heartbeat thread itself is stopped, or the host was suspended. */
uint64_t mu_heartbeat_lease_ns(const struct mu_heartbeat *heartbeat);

/* At least 'percent' of the TIMEOUT steps were late by no more than this.  The answer is rounded
 * up to a power of two, and never above the worst one. */
uint64_t mu_heartbeat_lag_ns(const struct mu_heartbeat_counts *counts, unsigned percent);

/* What the thread has used of a processor.  0 before the start. */
uint64_t mu_heartbeat_cpu_ns(const struct mu_heartbeat *heartbeat);

#endif
