/* The roll of a daemon: who is in the cluster, which jobs there are, and what is known of each
 * rank. There is no other table of these: every part of the daemon reads it, and only seven
 * functions change it.  Each says what has changed, once; news.c hands that on to all parts, and
 * what changes nothing is told to nobody.  So whatever comes first of "process 7 is dead" and "node
 * 1, where process 7 ran, is dead" is a change, and what comes second is not.
 *
 * A member is a slot and an incarnation.  A death covers its own incarnation and those below, and
 * an incarnation that is dead does not come back: a node that returns is a new one.
 *
 * Memory: a row for each slot; of a job a byte and some bits for each rank, and a place for each
 * that is gone; of a job that has not begun, its dead (unbegun.h).  Of jobs that are over the last
 * MU_ROLL_OVER_MAX numbers are kept, and the oldest is forgotten first: news of a job that was
 * forgotten is taken for news of one that has not begun, which costs room in unbegun.h. */
#ifndef MU_DAEMON_ROLL_ROLL_H
#define MU_DAEMON_ROLL_ROLL_H

#include "core/base/members.h"
#include "core/base/roster.h"
#include "daemon/roll/unbegun.h"

enum { MU_ROLL_OVER_MAX = 256 };

/* Views of which is remembered when they were told: the others may count as missed. */
enum { MU_ROLL_VIEWS_MAX = 64 };

/* Serials of the events of one that was told. */
struct mu_roll_told {
    uint64_t first, last;
};

/* The view that programs were told last. */
struct mu_roll_stable {
    uint64_t number, hash;
    uint32_t total;
    struct mu_span *spans; /* of its members */
    uint32_t span_count;
    uint64_t first, last; /* serials of its events */
    uint64_t learned_ns;
};

/* ---- the table, to be read by everybody ---- */

enum mu_member_state { MU_MEMBER_NONE, MU_MEMBER_IN, MU_MEMBER_DEAD, MU_MEMBER_LEFT };

struct mu_roll_member {
    uint32_t incarnation; /* the highest that was in */
    uint8_t state;        /* enum mu_member_state, of that one */
    bool proven;          /* DEAD: not only silent */
};

enum mu_rank_state {
    MU_RANK_WAITING, /* or it runs elsewhere: only here is known when a process starts */
    MU_RANK_RUNS,
    MU_RANK_LEFT,
    MU_RANK_FAILED,
};

/* A rank whose node is this one. */
struct mu_roll_here {
    uint32_t rank;
    uint32_t pid; /* 0: it does not run */
};

struct mu_roll_job {
    struct mu_roll_job *next; /* in the order in which they began */
    uint64_t order;           /* which this says: from 1 */
    uint32_t number;
    struct mu_launch_job spec; /* size and runs only */
    uint8_t *states;          /* by rank: enum mu_rank_state; of this node's by its own word only */
    uint32_t ended;           /* ranks that left or failed */
    struct mu_gone_list gone; /* of these, whom everybody has been told of */
    uint32_t failed, left;    /* of these */
    uint32_t here_count;
    struct mu_roll_here *here; /* by increasing rank */
};

struct mu_roll_over {
    uint32_t number; /* 0: none */
    uint64_t since_ns;
};

struct mu_roll {
    mu_slot self;
    uint32_t size;
    uint64_t view; /* number of the last one; 0: none yet */
    uint64_t view_hash;
    struct mu_roll_stable stable;                 /* number 0: none yet */
    struct mu_roll_told views[MU_ROLL_VIEWS_MAX]; /* that were told */
    uint64_t views_told;
    struct mu_roll_member *members; /* by slot */
    uint32_t in_count, dead_count;  /* of these, DEAD */
    struct mu_gone_list dead;       /* members */
    struct mu_roll_job *jobs;
    uint32_t job_count;
    uint64_t jobs_begun;
    struct mu_unbegun unbegun;
    struct mu_roll_over over[MU_ROLL_OVER_MAX];
    uint32_t over_next;
    struct mu_roll_job *ending;      /* over, and freed by the next change */
    uint64_t serial;                 /* of the last event */
    uint64_t ignored;                /* news of a slot or rank that there is not */
    struct mu_roll_seat *ins, *outs; /* of the last view's change */
};

/* False: no memory. */
bool mu_roll_open(struct mu_roll *roll, mu_slot self, uint32_t size);
void mu_roll_close(struct mu_roll *roll);

/* NULL: it has not begun here, or is over. */
struct mu_roll_job *mu_roll_find(const struct mu_roll *roll, uint32_t job);
bool mu_roll_is_over(const struct mu_roll *roll, uint32_t job);

/* Of a slot; NONE, incarnation 0: it was never in. */
struct mu_roll_member mu_roll_member(const struct mu_roll *roll, mu_slot slot);

/* As it was heard; 0: it was not, and is the one that is in, or was last. */
uint32_t mu_roll_incarnation(const struct mu_roll *roll, mu_slot slot, uint32_t heard);

mu_slot mu_roll_node(const struct mu_roll_job *job, uint32_t rank);
enum mu_rank_state mu_roll_state(const struct mu_roll_job *job, uint32_t rank);

/* Its place among those of this node; UINT32_MAX: it is not here. */
uint32_t mu_roll_place(const struct mu_roll_job *job, uint32_t rank);

/* Ranks of a job on that node. */
uint32_t mu_roll_count(const struct mu_launch_job *spec, mu_slot slot);

/* Slots put in order, each once; and what they are as spans, for which there is room for each slot.
 * Both return how many there are. */
uint32_t mu_roll_slots(mu_slot *slots, uint32_t count);
uint32_t mu_roll_slot_place(const mu_slot *slots, uint32_t count, mu_slot slot); /* it is there */
uint32_t mu_roll_spans(mu_slot *slots, uint32_t count, struct mu_span *spans);

/* Do others than this rank run, of whichever job, as far as is known here? */
bool mu_roll_others(const struct mu_roll *roll, uint32_t job, uint32_t rank);

/* ---- what changes it ---- */

enum mu_roll_what {
    MU_ROLL_NOTHING,
    MU_ROLL_BEGAN,   /* job; events: who ran on nodes that are dead */
    MU_ROLL_OVER,    /* job, for the last time */
    MU_ROLL_STARTED, /* job, rank: of this node */
    MU_ROLL_ENDED,   /* job, rank, failed: of this node; not told to anybody yet */
    MU_ROLL_GONE,    /* one event; job NULL: it has not begun here, or is over */
    MU_ROLL_DEAD,    /* member; events: the node, and who ran there */
    MU_ROLL_PROVEN,  /* member: was silent, and is dead */
    MU_ROLL_VIEW,    /* ins and outs; events: nodes that only the view has declared dead */
    MU_ROLL_STABLE,  /* events: the view that programs may be told */
};

struct mu_roll_seat {
    mu_slot slot;
    uint32_t incarnation;
    bool proven, left; /* of an out: not only silent; it said goodbye */
};

struct mu_roll_change {
    const struct mu_roll *roll;
    enum mu_roll_what what;
    const char *why_not; /* NOTHING: the rule that it broke; NULL: it was known */
    struct mu_roll_job *job;
    uint32_t rank;
    bool failed;
    struct mu_roster_entry member;
    struct mu_local_event event; /* GONE: it; DEAD: the node's */
    uint64_t first, last;        /* serials of events; first > last: none */
    /* VIEW: of its lists only what is news here.  Good until the next view. */
    const struct mu_roll_seat *ins, *outs;
    uint32_t in_count, out_count;
};

/* The i-th of a job that is gone; the i-th of the dead. */
void mu_roll_gone_event(const struct mu_roll_job *job, uint32_t i, struct mu_local_event *event);
void mu_roll_dead_event(const struct mu_roll *roll, uint32_t i, struct mu_local_event *event);

/* Each event of a change, in the order of serials.  The event is good within the call. */
typedef void mu_roll_each(void *arg, const struct mu_local_event *event);
void mu_roll_events(const struct mu_roll_change *change, mu_roll_each *each, void *arg);

/* The i-th event of the view that was told last; false: it has no more. */
bool mu_roll_stable_event(const struct mu_roll *roll, uint32_t i, struct mu_local_event *event);

/* How many views have events with serials from 'from' up to, but not with, 'to'.  Of those that are
 * forgotten one is said. */
uint32_t mu_roll_views_told(const struct mu_roll *roll, uint64_t from, uint64_t to);

/* All that is known: each member that is dead; each rank of a job that is gone. */
void mu_roll_dead_before(const struct mu_roll *roll, mu_roll_each *each, void *arg);
void mu_roll_gone_before(const struct mu_roll *roll, uint32_t job, mu_roll_each *each, void *arg);

/* A job begins, before its first process starts here.  Whatever has come of it before counts.
 * NOTHING: its number is taken, not all of its dead could be kept, or no memory. */
struct mu_roll_change mu_roll_begin(struct mu_roll *roll, uint32_t job,
                                    const struct mu_launch_job *spec);

/* The job of the change is freed by the next change. */
struct mu_roll_change mu_roll_over(struct mu_roll *roll, uint32_t job, uint64_t now_ns);

/* A process of this node runs; has ended.  What a launcher ends has not failed. */
struct mu_roll_change mu_roll_started(struct mu_roll *roll, uint32_t job, uint32_t rank,
                                      uint32_t pid);
struct mu_roll_change mu_roll_ended(struct mu_roll *roll, uint32_t job, uint32_t rank, bool failed);

/* A notice, whoever brings it how often: all of the event but its serial, and of a node its
 * incarnation; 0: that which is in.  The evidence keeps its rules. */
struct mu_roll_change mu_roll_told(struct mu_roll *roll, const struct mu_local_event *news,
                                   uint32_t incarnation);

/* A view: who comes in, and who goes out, since the one before; its first one has all members in.
 * Views come by increasing numbers, and may leave some out.  An in proves the death of all lower
 * incarnations.  For an out that no notice has told 'now_ns' and 'clock' say when and on which
 * clock it became known.  NOTHING with a rule: its number was another view, a slot or list is out
 * of range, or one comes in who is dead; then nothing has changed. */
struct mu_roll_view {
    uint64_t number;
    uint64_t hash;
    uint32_t in_count, out_count;
    const struct mu_roll_seat *ins, *outs; /* each slot at most once in either */
    uint64_t now_ns, clock;
};
struct mu_roll_change mu_roll_view(struct mu_roll *roll, const struct mu_roll_view *view);

/* A view is stable: programs may be told.  Its members, as spans with gaps between them.  NOTHING:
 * it was told, or a later one. */
struct mu_roll_change mu_roll_stable(struct mu_roll *roll, uint64_t number, uint64_t hash,
                                     const struct mu_span *spans, uint32_t count, uint64_t now_ns);

#endif
