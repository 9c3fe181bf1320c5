/* Views: the same numbered membership at every survivor; nodes that join, leave and come back.
 *
 * After Varma, "Scalable, Fault-Tolerant Membership for Group Communication on HPC Systems" (2006):
 * a radix tree over the members, built without messages.  docs/spec/view.md has the rules (W1 to
 * W23), what breaks without each, the laws, and where we leave the thesis.
 *
 * A view is an agreement on who is left, and there is no second protocol beside agreement: for each
 * view the members run one early returning agreement (core/agree) over the positions of that view,
 * and what it decides is the next view.  A position belongs to exactly one (id, incarnation), so
 * that one who comes back is somebody new to agreements.  Two are kept: that of the present view,
 * and the decided one of the view before, for those who ask late.
 *
 * A view that changes anything is followed at once by one more agreement.  Whoever decides that
 * knows that all members of the view have installed it: then, and not before, it is told to
 * programs.  Deaths are told at once, by the one door that the driver has for them.
 *
 * The lease: a node that may have been declared dead sends nothing and installs nothing.  Each
 * event says whether the lease is held.  Who gives it, and who may declare whom, is the ring's.
 *
 * What the driver owes:
 *   - MU_VIEW_DEAD for every death, whoever saw it, also for those that this door hands out.  When
 *     a node learns of a death, the driver cuts the link, and throws away what still waits to be
 *     sent there: a vote given before the verdict must not arrive after it.
 *   - MU_VIEW_JOINING and facts are forwarded to all as notices, as deaths are.
 *   - links carry messages in order, none lost while both ends live; if something may have been
 *     lost, both ends get MU_VIEW_RESUME when they are connected again.
 *   - heartbeats carry mu_view_mark, every tenth period also to the silent dead; MU_VIEW_BEAT.
 *   - before it sends, mu_view_word() goes to the page that it shares with its witness.
 *   - a node that stopped never speaks again under its incarnation: it joins with a new one.
 *
 * V4 (the same sequence everywhere) is for survivors: a node that died or was fenced may have
 * installed, but not told, another view of the same number. */
#ifndef MU_CORE_VIEW_VIEW_H
#define MU_CORE_VIEW_VIEW_H

#include "core/agree/agree.h"
#include "core/base/arena.h"
#include "core/base/fingerprint.h"
#include "core/base/members.h"

/* ---- configuration ---- */

/* Rules that a test breaks on purpose.  Zero in every daemon. */
enum mu_view_broken {
    MU_VIEW_BROKEN_HASH = 1u << 0,       /* W2: views are told apart by the number alone */
    MU_VIEW_BROKEN_LATE = 1u << 1,       /* W10: nobody answers for the view before */
    MU_VIEW_BROKEN_EARLY = 1u << 2,      /* W9: a message of the next view is forgotten */
    MU_VIEW_BROKEN_AGAIN = 1u << 3,      /* W11: a death that was not decided is let be */
    MU_VIEW_BROKEN_LAST = 1u << 4,       /* W18: a majority of the last view only */
    MU_VIEW_BROKEN_TIE = 1u << 5,        /* W18: any half will do */
    MU_VIEW_BROKEN_COUNTED = 1u << 6,    /* W19: proven deaths count as silent ones */
    MU_VIEW_BROKEN_UNCOUNTED = 1u << 7,  /* W19: silent deaths leave the count */
    MU_VIEW_BROKEN_WORD = 1u << 8,       /* W19: proof is enough, whatever the last word */
    MU_VIEW_BROKEN_FENCE = 1u << 9,      /* W21: a FENCE of an older view is obeyed */
    MU_VIEW_BROKEN_STABLE = 1u << 10,    /* W23: a view is told when it is installed */
    MU_VIEW_BROKEN_FOLLOW = 1u << 11,    /* W16: no second agreement */
    MU_VIEW_BROKEN_LEASE = 1u << 12,     /* W12: the lease is not looked at */
    MU_VIEW_BROKEN_OUTSIDE = 1u << 13,   /* W8: the sponsor takes the joiner in by itself */
    MU_VIEW_BROKEN_NEWER = 1u << 14,     /* W17: a WELCOME of the direct successor is taken */
    MU_VIEW_BROKEN_DELIVERS = 1u << 15,  /* W15: a provisional node tells its view */
    MU_VIEW_BROKEN_RIVAL = 1u << 16,     /* W20: another view of this number is let be */
    MU_VIEW_BROKEN_CONFIRMED = 1u << 17, /* W17: decides though nobody confirmed contributed */
    MU_VIEW_BROKEN_DEAD_SAY = 1u << 18,  /* W3: messages of the dead count */
    MU_VIEW_BROKEN_NO_FENCE = 1u << 19,  /* W21: nobody is told that it is out */
    /* What driver and ring owe: the worlds of tests look at these, and not the core. */
    MU_VIEW_BROKEN_QUEUE = 1u << 24,      /* W3: what waits to be sent to the dead is kept */
    MU_VIEW_BROKEN_LEASE_BACK = 1u << 25, /* W12: an ended lease comes back from anybody */
    MU_VIEW_BROKEN_VERDICT = 1u << 26,    /* W13: who has no lease declares */
    MU_VIEW_BROKEN_WELCOME = 1u << 27,    /* W12: WELCOME is a lease */
    MU_VIEW_BROKEN_BEATS = 1u << 28,      /* W21: no heartbeats to the silent dead */
    MU_VIEW_BROKEN_ONE_ASKED = 1u << 29,  /* W14: a joiner asks one member, and no other */
    MU_VIEW_BROKEN_RETURN = 1u << 30,     /* W1: a return has its old incarnation */
};

/* Who may go on after losses that nobody can prove (W18). */
enum mu_view_partition {
    MU_VIEW_MAJORITY = 0, /* more than half of the last view and of the one before it */
    MU_VIEW_ANY,          /* anybody: safe with crashes only */
    MU_VIEW_STOP,         /* nobody: all stop */
};

/* Capacities.  Memory is taken once for all of them; running over one is a named fault. */
struct mu_view_limits {
    uint32_t ids;     /* one above the highest id that there can be, and so the largest view */
    uint32_t dead;    /* incarnations that are remembered as dead; the oldest are forgotten */
    uint32_t odd;     /* members that did not found the cluster: joined or came back */
    uint16_t spans;   /* of neighbouring ids in one view */
    uint16_t failed;  /* taken out by one agreement; the rest by the next */
    uint16_t entries; /* joins, last words and facts in one agreement; the rest in the next */
};

struct mu_view_config {
    mu_slot self;         /* this node's id */
    uint32_t incarnation; /* MU_VIEW_FOUNDER, or by mu_view_incarnation() */
    uint8_t shift;        /* the tree's fan-out is 2^shift */
    enum mu_view_partition partition;
    bool tie_by_word; /* exactly half goes on by the launcher's word only (MU_VIEW_TIE); else the
                         half with the lowest member does */
    struct mu_view_limits limits;
    uint32_t broken_rules; /* enum mu_view_broken */
};

/* The incarnation of all who found a cluster. */
enum { MU_VIEW_FOUNDER = 1 };

/* The incarnation with which to join a cluster whose present view has this number, which any member
 * tells.  The number alone is not enough, because a lost view and its successor have the same:
 * 'nonce' differs between any two starts of one host, for instance by the milliseconds of its
 * clock.  A later start in the same view may so be below an earlier one: it is refused, and tries
 * again. */
static inline uint32_t mu_view_incarnation(uint64_t number, uint32_t nonce)
{
    return (uint32_t)((number + 1) << 12) | (nonce & 0xfff);
}

void mu_view_config_default(struct mu_view_config *config, uint32_t ids, mu_slot self);

/* NULL, or the rule that the configuration breaks. */
const char *mu_view_config_error(const struct mu_view_config *config);

/* ---- words ---- */

struct mu_view_member {
    mu_slot id;
    uint32_t incarnation;
};

/* What messages and heartbeats say of their sender's view. */
struct mu_view_mark {
    uint64_t number; /* 0: it has none */
    uint64_t hash;
    bool provisional; /* it was told this view, and has decided none itself */
};

enum { MU_VIEW_HELD = 4 };

/* What a node did before it died, as its witness read it: by it a death can leave the count (W19).
 */
struct mu_view_word {
    struct mu_view_mark mark; /* of its last view */
    bool contributed;         /* to the agreement on the next one */
    bool held_more;           /* it held others dead than those that are listed */
    uint8_t held_count;
    mu_slot held[MU_VIEW_HELD]; /* members of its view that it held dead */
};

/* What is carried in the value of an agreement, by union.  Facts are opaque. */
enum mu_view_kind {
    MU_VIEW_KIND_JOIN = 1, /* key: id, incarnation; bytes: the address */
    MU_VIEW_KIND_WORD,     /* key: id, incarnation; bytes: the last word */
    MU_VIEW_KIND_TIE,      /* key: number of the view; bytes: the id whose half goes on */
    MU_VIEW_KIND_FACT,     /* this and all above: the driver's own */
};

static inline uint64_t mu_view_key(mu_slot id, uint32_t incarnation)
{
    return (uint64_t)id << 32 | incarnation;
}

/* ---- messages ---- */

enum mu_view_message_type {
    MU_VIEW_AGREE = 1, /* one of the agreement of the view in 'mark': slots in it are positions */
    MU_VIEW_SAY_AGAIN, /* "I am in the view of 'mark' now: what did you say before?" */
    MU_VIEW_JOIN,      /* of one without a view: 'join' */
    MU_VIEW_WELCOME,   /* the view that has admitted the receiver */
    MU_VIEW_FENCE,     /* your incarnation, 'fenced', is out since the view of 'mark' */
    MU_VIEW_MESSAGE_LAST = MU_VIEW_FENCE,
};

/* A member of the view before that the view has not any more. */
struct mu_view_lost {
    mu_slot id;
    uint32_t incarnation;
    bool proven;
    bool counts; /* towards the majority of the view before */
    bool clean;  /* proven dead, and it held nobody dead that was kept */
};

/* All of a view that a newcomer needs.  Pointers are valid as long as the message. */
struct mu_view_whole {
    uint64_t before;             /* hash of the view before */
    const struct mu_span *spans; /* ids */
    uint32_t span_count;
    const struct mu_view_member *odd; /* members with other incarnations than MU_VIEW_FOUNDER */
    uint32_t odd_count;
    const struct mu_view_lost *lost; /* what changed last, for the majority of the view before */
    uint32_t lost_count;
    const mu_slot *joined;
    uint32_t joined_count;
    const struct mu_roster_entry *dead; /* by id */
    uint32_t dead_count;
};

struct mu_view_message {
    uint8_t type;
    struct mu_view_mark mark;      /* all but JOIN: of the sender's view, or the one it is about */
    struct mu_agree_message agree; /* AGREE */
    struct mu_agree_entry join;    /* JOIN: kind MU_VIEW_KIND_JOIN */
    struct mu_view_whole whole;    /* WELCOME; ASK: the dead, by id, and none in 'agree' */
    struct mu_view_member fenced;  /* FENCE */
};

/* ---- what enters ---- */

enum mu_view_event_type {
    MU_VIEW_START = 1, /* found a cluster: view 1 has the ids 0 .. count-1; all say the same */
    MU_VIEW_ASK,       /* to join: send JOIN to this member.  Repeated to others until confirmed */
    MU_VIEW_DEAD,      /* this incarnation is dead, whoever saw it; again with proof or last word */
    MU_VIEW_HEARD_JOIN, /* a notice: somebody wants to join */
    MU_VIEW_FACT,       /* a fact to carry, seen here or heard as a notice */
    MU_VIEW_TIE,        /* the launcher's word: if just half of the view is left, this member's */
    MU_VIEW_LEAVE,      /* this node leaves for good */
    MU_VIEW_RECV,       /* authenticated, of any incarnation, also of the dead */
    MU_VIEW_BEAT,       /* a heartbeat, likewise */
    MU_VIEW_RESUME,     /* messages to and from a peer may have been lost; it is connected now */
    MU_VIEW_EXPIRED,    /* not confirmed six timeouts after it first wished to join */
    MU_VIEW_LEASE,      /* nothing but whether the lease is held */
};

struct mu_view_event {
    enum mu_view_event_type type;
    bool lease_held; /* now */
    union {
        struct {
            uint32_t count;
            uint64_t cluster; /* a number that no other cluster has: view 1's hash begins with it */
        } start;
        struct {
            struct mu_view_member member;
            const uint8_t *address; /* of this node, as others are to reach it */
            uint8_t length;
        } ask;
        struct {
            struct mu_view_member member;
            bool proven;
            const struct mu_view_word *word; /* or NULL */
        } dead;
        struct mu_agree_entry entry; /* HEARD_JOIN, FACT */
        struct {
            mu_slot keep;
        } tie;
        struct {
            struct mu_view_member from;
            const struct mu_view_message *message;
        } recv;
        struct {
            struct mu_view_member from;
            struct mu_view_mark mark;
        } beat;
        struct {
            struct mu_view_member peer;
        } resume;
    };
};

/* ---- what leaves ---- */

enum mu_view_effect_type {
    MU_VIEW_SEND = 1,
    MU_VIEW_DEATH,   /* learned here: to the one door, with that evidence and no more.  Before the
                        view that does without it */
    MU_VIEW_JOINING, /* this node is the sponsor of a join: spread it, and watch the joiner */
    MU_VIEW_INSTALL, /* the present view is a new one (for a newcomer: it was told it) */
    MU_VIEW_TELL,    /* this view is stable: programs may be told.  It is the present one, or the
                        one before: mu_view_told_total() */
    MU_VIEW_STOPPED, /* this node does and says nothing any more */
    MU_VIEW_FAULT,
};

enum mu_view_stop {
    MU_VIEW_STOP_NONE = 0,
    MU_VIEW_STOP_FENCED,      /* others have decided a view without this node */
    MU_VIEW_STOP_DECIDED,     /* and this node has decided it with them */
    MU_VIEW_STOP_QUORUM,      /* too few are left here to go on (W18) */
    MU_VIEW_STOP_UNCONFIRMED, /* those that admitted it are gone (W17) */
    MU_VIEW_STOP_LEFT,        /* MU_VIEW_LEAVE */
};

/* Pointers inside an effect are valid until the next step. */
struct mu_view_effect {
    enum mu_view_effect_type type;
    struct mu_view_member peer; /* SEND: to whom; DEATH, FAULT: by whom, or MU_SLOT_NONE */
    union {
        struct mu_view_message message; /* SEND */
        struct {
            struct mu_view_member member;
            bool proven;
        } death;                     /* DEATH */
        struct mu_agree_entry entry; /* JOINING */
        struct {
            struct mu_view_mark mark;
            struct mu_agree_value value; /* decided: positions of the view before; facts */
            bool changed;                /* members or facts: it will be told */
        } install;                       /* INSTALL */
        struct mu_view_mark told;        /* TELL */
        enum mu_view_stop stop;          /* STOPPED */
        enum mu_fault fault;             /* FAULT */
    };
};

struct mu_view_update {
    struct mu_view_effect *effects; /* of the caller, with room for mu_view_effects_max() */
    uint32_t count;
    uint32_t capacity;
};

/* ---- one node's part ---- */

struct mu_view; /* inside.h: for the core and for checkers that look inside */

size_t mu_view_bytes(const struct mu_view_config *config);

/* All state lives in 'memory' (64-byte aligned, mu_view_bytes() long). */
struct mu_view *mu_view_init(void *memory, size_t bytes, const struct mu_view_config *config);

/* The most effects of one step. */
uint32_t mu_view_effects_max(const struct mu_view_config *config);

/* The one door.  Once stopped it accepts every event and does nothing. */
void mu_view_step(struct mu_view *view, const struct mu_view_event *event,
                  struct mu_view_update *update);

/* Is more to be done at once?  Then the driver steps it again, with MU_VIEW_LEASE. */
bool mu_view_is_due(const struct mu_view *view);

/* What the next step depends on, and nothing else. */
void mu_view_fingerprint(const struct mu_view *view, struct mu_fingerprint *print);

/* ---- to look ---- */

/* The present view's, as heartbeats carry it; number 0: none. */
struct mu_view_mark mu_view_mark(const struct mu_view *view);

uint32_t mu_view_total(const struct mu_view *view);

/* The member at a position below the total. */
struct mu_view_member mu_view_at(const struct mu_view *view, uint32_t position);

/* The position of exactly this incarnation in the present view; UINT32_MAX: it is no member. */
uint32_t mu_view_position(const struct mu_view *view, struct mu_view_member member);

/* Is this incarnation known to be dead? */
bool mu_view_is_dead(const struct mu_view *view, struct mu_view_member member);

/* The same of a view by its number, the present one or the one before: of each MU_VIEW_TELL of a
 * step, until the next step. */
uint32_t mu_view_told_total(const struct mu_view *view, uint64_t number);
struct mu_view_member mu_view_told_at(const struct mu_view *view, uint64_t number,
                                      uint32_t position);

/* What the page that is shared with the witness has to say, before anything is sent. */
void mu_view_word(const struct mu_view *view, struct mu_view_word *word);

#endif
