/* What the files of the daemon proper share: daemon.c, drive.c, news.c, status.c
 * and others beside them. */
#ifndef MU_DAEMON_INSIDE_H
#define MU_DAEMON_INSIDE_H

#include "daemon/agree/agree.h"
#include "daemon/daemon.h"
#include "daemon/peers/door.h"
#include "daemon/drive.h"
#include "daemon/exchange/exchange.h"
#include "daemon/heart/heartbeat.h"
#include "daemon/jobs/jobs.h"
#include "daemon/peers/peers.h"
#include "daemon/pmix/loader.h"
#include "daemon/programs/notify.h"
#include "daemon/record/recorder.h"
#include "daemon/roll/roll.h"
#include "daemon/view/view.h"
#include "wire/peer/news.h"
#include "witness/witness.h"

enum { MU_FAULT_KINDS = MU_FAULT_LAST + 1 };

/* Ends of processes that wait for each other: news.c. */
struct mu_daemon_ended;

/* What was seen here, and the core had no room for. */
struct mu_daemon_news {
    struct mu_daemon_news *next;
    bool is_post;           /* else a verdict */
    bool urgent;            /* it is tried before all that waits, and waits before it */
    uint32_t job;           /* that it is about; 0: none */
    struct mu_notice_id id; /* of a verdict; and root */
    mu_slot root;
    uint64_t since_ns;
    uint16_t length;
    uint8_t bytes[MU_NEWS_BYTES_MAX];
};

/* A node of which no process is left, says its witness. */
struct mu_daemon_gone {
    mu_slot node;
    uint64_t ns; /* when it said so, on our clock */
};

struct mu_daemon_word;

struct mu_daemon {
    uv_loop_t loop;
    struct mu_net net;
    struct mu_door door;
    struct mu_roll roll;
    struct mu_recorder *recorder; /* NULL: not wanted */
    struct mu_peers *peers;       /* NULL before the start */
    struct mu_drive *drive;
    struct mu_notify *notify;
    struct mu_jobs *jobs;
    struct mu_agreements *agreements;
    struct mu_views *views;
    struct mu_exchanges *exchanges; /* NULL before the start */
    struct mu_pmix_loader *pmix;    /* NULL: not wanted */
    uint32_t abort_job, abort_rank; /* a job that is to end when this process of it has; 0: none */
    uv_timer_t abort_timer;
    const struct sockaddr_in *addresses; /* from the start on */
    uv_poll_t lifeline;
    struct mu_orders_input *input; /* what comes on it */
    uv_signal_t signals[3];
    char name[MU_ORDERS_NAME_MAX + 1];
    int answers;
    uint64_t clock; /* which clock ours is: see wire/base/evidence.h */
    uint64_t started_ns;
    bool shared_host; /* all nodes are on one host */
    bool ready_said;
    bool ending;
    bool fenced;
    int exit_code;

    struct mu_daemon_ended *ended;
    uv_timer_t ended_timer;

    struct mu_daemon_news *waiting, **waiting_end; /* in the order in which it was seen */
    uv_timer_t waiting_timer;

    /* The ring: ring.c. */
    struct mu_heartbeat *heartbeat; /* from the beginning on; runs from the start on */
    bool ring_runs;
    bool ring_ready; /* it knows that every node has started */
    bool times_wait; /* period_ns and timeout_ns, for room in the queue to the heartbeat thread */
    uv_poll_t ring_poll;
    uint64_t period_ns, timeout_ns; /* as everybody was told last */
    struct mu_roster_entry *outs;   /* deaths that the heartbeat thread does not know yet */
    uint32_t out_count;
    uv_timer_t ring_timer;
    uint64_t bye_ns;                /* when somebody left for the last time; 0: nobody has */
    struct mu_heartbeat_news *held; /* verdicts that wait because of it */
    uint32_t held_count;
    uv_timer_t bye_timer;
    uint64_t unreachable; /* reports */
    mu_slot undecided;    /* it is silent, and nobody is left to ask; MU_SLOT_NONE: nobody is */

    /* A fault on purpose: chaos.c. */
    struct mu_harm harm;
    uint64_t harm_holder;
    uv_timer_t harm_timer;  /* its end, */
    uv_timer_t flap_timer;  /* up and down, */
    uv_timer_t again_timer; /* and for a heartbeat thread that has had no time to listen */

    /* Witnesses: witness.c. */
    struct mu_witness witness; /* our own; pid 0: there is none any more */
    uv_poll_t witness_poll;
    bool witness_polled;
    struct mu_daemon_word *words; /* connections of witnesses of others */
    struct mu_daemon_gone *gone;  /* room for every node, from the first on */
    uint32_t gone_count;

    uint64_t faults[MU_FAULT_KINDS];
    uint64_t delivered, bad_evidence, bad_news;
};

/* ---- news.c: between processes, core and clients ---- */

/* Hooks of jobs.h. */
const char *mu_daemon_job_begin(void *owner, uint32_t job, const struct mu_launch_job *spec);
void mu_daemon_started(void *owner, uint32_t job, uint32_t rank, uint32_t pid);
void mu_daemon_ended(void *owner, uint32_t job, uint32_t rank, const struct mu_evidence *evidence,
                     bool stopping);
void mu_daemon_job_over(void *owner, uint32_t job);

/* The members that the cluster begins with. */
void mu_daemon_found(struct mu_daemon *daemon);

/* A node is dead, says another one: the core is to know that, and no more than that. */
void mu_daemon_node_told(struct mu_daemon *daemon, const struct mu_roster_entry *death, mu_slot by);

/* A node is dead, with its evidence, which names it: only this node has it, or several do at once.
 */
void mu_daemon_node_declared(struct mu_daemon *daemon, uint32_t incarnation,
                             const struct mu_evidence *evidence);
void mu_daemon_node_ended(struct mu_daemon *daemon, uint32_t incarnation,
                          const struct mu_evidence *evidence);

/* Everybody is to know that no process of a dead node is left. */
void mu_daemon_post_gone(struct mu_daemon *daemon, mu_slot node, uint32_t incarnation,
                         const struct mu_exit_kind *how);

/* Hooks of view.h. */
void mu_daemon_view_installed(void *owner, const struct mu_roll_view *view);
void mu_daemon_view_told(void *owner, struct mu_view_mark mark, const struct mu_span *spans,
                         uint32_t count);

/* Hook of agree.h: everybody is to know this group. */
void mu_daemon_announce(void *owner, const struct mu_news *news);

/* Everybody is to beat like this. */
void mu_daemon_post_times(struct mu_daemon *daemon, uint64_t period_ns, uint64_t timeout_ns);

/* What the core delivers. */
void mu_daemon_deliver(struct mu_daemon *daemon, const struct mu_notice *notice);

/* An operator's word, or that of a process.  Without room it is kept, and said as soon as there is
 * some; so the answer is always NULL. */
const char *mu_daemon_kill(void *owner, uint32_t job, int signal);

/* What waits of a job is news to nobody any more; 0: of all. */
void mu_daemon_forget_ended(struct mu_daemon *daemon, uint32_t job);
void mu_daemon_on_ended(uv_timer_t *timer);

/* ---- waiting.c: news that the core has no room for ---- */

/* To the core, at once or as soon as there is room; in the order in which it was seen. */
void mu_daemon_give(struct mu_daemon *daemon, struct mu_daemon_news *news);
void mu_daemon_on_waiting(uv_timer_t *timer);

/* As above. */
void mu_daemon_forget_waiting(struct mu_daemon *daemon, uint32_t job);

/* ---- ring.c: the heartbeat thread ---- */

/* Its socket has the address of the door, and the same port: it is chosen here.  Returns 0 or an
 * errno. */
int mu_daemon_ring_listen(struct mu_daemon *daemon, struct sockaddr_in *address);
int mu_daemon_ring_start(struct mu_daemon *daemon, const struct sockaddr_in *addresses);
/* The loop hears no more of it, and the thread beats on; then that ends, too. */
void mu_daemon_ring_close(struct mu_daemon *daemon);
void mu_daemon_ring_stop(struct mu_daemon *daemon);

/* A node is dead, whoever saw it, or has said goodbye: the ring is to mend. */
void mu_daemon_ring_left(struct mu_daemon *daemon, mu_slot slot, uint32_t incarnation);
void mu_daemon_ring_out(struct mu_daemon *daemon, mu_slot slot, uint32_t incarnation, bool proven);
void mu_daemon_ring_times(struct mu_daemon *daemon, uint64_t period_ns, uint64_t timeout_ns);
void mu_daemon_ring_ready(struct mu_daemon *daemon);
void mu_daemon_ring_again(uv_timer_t *timer);

/* Has this node, at this moment, not been declared dead by anybody?  Hook of agree.h and
 * exchange.h.
 */
bool mu_daemon_lease(void *owner);

/* Hooks of jobs.h. */
void mu_daemon_reached(void *owner, const struct mu_launch_reach *answer);
uint64_t mu_daemon_alive_ns(void *owner);

/* An operator's words: NULL, or why not. */
const char *mu_daemon_set(void *owner, uint64_t period_ns, uint64_t timeout_ns);

/* A connection to this node closed, or was refused: nothing is proven, but it is to be asked. */
void mu_daemon_ring_broke(struct mu_daemon *daemon, mu_slot slot);

/* ---- witness.c: our own witness, and words of others ---- */

/* NULL: there is none. */
void mu_daemon_witness_open(struct mu_daemon *daemon, const struct mu_witness *witness);
void mu_daemon_witness_close(struct mu_daemon *daemon);

/* Links have come or gone; this daemon has said goodbye. */
void mu_daemon_witness_links(struct mu_daemon *daemon);
void mu_daemon_witness_leave(struct mu_daemon *daemon);

/* The witness of another daemon has something to say. */
void mu_daemon_witness_member(struct mu_daemon *daemon, struct mu_conn *conn);

/* News of a node whose processes are gone; what is known of one (NULL: nothing), and of the i-th,
 * as hook of notify.h. */
void mu_daemon_gone(struct mu_daemon *daemon, const struct mu_news *news, uint64_t now_ns,
                    uint64_t age_ns);
const struct mu_daemon_gone *mu_daemon_gone_of(const struct mu_daemon *daemon, mu_slot node);
bool mu_daemon_gone_next(void *owner, uint32_t i, struct mu_local_gone *gone);

/* ---- pmi_barrier.c: what PMI-1 needs of other nodes; hooks of jobs.h ---- */

const char *mu_daemon_gather(void *owner, uint32_t job, uint32_t size, const uint8_t *bytes,
                             size_t count);
void mu_daemon_dead(void *owner, uint32_t job, uint64_t *failed);

/* ---- goodbye.c: who ends without one; hook of jobs.h ---- */

enum mu_goodbye mu_daemon_owes(void *owner, uint32_t job, uint32_t rank);

/* ---- chaos.c: faults of the network on purpose ---- */

void mu_daemon_chaos_open(struct mu_daemon *daemon);
const char *mu_daemon_chaos(void *owner, const struct mu_chaos *chaos, uint64_t holder);
void mu_daemon_chaos_let_go(void *owner, uint64_t holder);

/* Whatever there was is over. */
void mu_daemon_chaos_end(struct mu_daemon *daemon);
void mu_daemon_chaos_close(struct mu_daemon *daemon);

/* ---- pmix_host.c: between the PMIx module and the other parts ---- */

/* False: no memory. */
bool mu_daemon_pmix_open(struct mu_daemon *daemon);

/* A process of this node has ended. */
void mu_daemon_pmix_ended(struct mu_daemon *daemon, uint32_t job, uint32_t rank);

/* Hook of exchange.h. */
void mu_daemon_pmix_asked(void *owner, const struct mu_exchange_ticket *ticket,
                          const uint8_t *bytes, size_t count);

/* Hooks of jobs.h. */
bool mu_daemon_pmix_hold(void *owner, uint32_t job, const struct mu_launch_job *spec);
char **mu_daemon_pmix_env(void *owner, uint32_t job, uint32_t rank);
char **mu_daemon_pmix_usual_env(void *owner, uint32_t job);
void mu_daemon_pmix_env_free(void *owner, char **env);
void mu_daemon_pmix_spawned(void *owner, uint32_t job, uint32_t number, uint32_t made,
                            const char *text);

/* ---- daemon.c ---- */

/* After every event that comes from outside of a step: is this node ready, or fenced? */
void mu_daemon_settle(struct mu_daemon *daemon);

/* Somebody says that this node was declared dead; MU_SLOT_NONE: a launcher. */
void mu_daemon_fenced_by(struct mu_daemon *daemon, mu_slot by);
void mu_daemon_fault(struct mu_daemon *daemon, enum mu_fault fault, mu_slot peer);

/* The core says that this node was declared dead. */
void mu_daemon_fenced(struct mu_daemon *daemon);

/* ---- status.c: what an operator sees ---- */

void mu_daemon_node(void *owner, struct mu_local_node *node);
bool mu_daemon_counter(void *owner, uint32_t i, const char **name, uint64_t *value);

#endif
