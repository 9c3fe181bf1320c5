/* Early returning agreement: survivors of a group decide the same, while more of them die.
 *
 * After Herault et al., "Practical scalable consensus for pseudo-synchronous distributed systems"
 * (SC 2015), with the corrections that it needs: docs/spec/agree.md has the rules (R0 to R10), what
 * breaks without each, and the laws.  Nothing here knows who asks, or what for.
 *
 * It has a door of its own, as the detector has, and no clock: events in, effects out.
 *
 * Nodes take part, not processes.  A driver that hosts several processes of a group waits until all
 * of them that live have contributed, and calls once, with
 *   - the AND of their bits;
 *   - its list: own processes of the group that failed before they contributed, marked when all
 *     living ones here have acknowledged them; and, marked, all else that they all have
 *     acknowledged: dead nodes, processes of other nodes.
 * When none of them lives, or is left, the call is silent: all ones, its list all marked.  It is a
 * node of the tree like any other, and keeps nobody from acknowledging.
 * A process that said goodbye is in no list.  After a decision what it lists as acknowledged by all
 * may be left out of later lists: processes at once, nodes when mu_agree_is_member() says no more.
 *
 * Within one group agreements follow each other: the next call comes after the decision was
 * delivered.  Agreements that are to run at the same time are of different groups, which may have
 * the same members: a driver that offers k pending agreements opens k groups and takes turns.
 *
 * Messages are carried by the links' connections, unnumbered, in order, without loss while the
 * connection lasts.  They are not kept until acknowledged, because all of them can be said again
 * from what a node knows anyway, and saying one twice changes nothing.  So a link needs no room for
 * them, however many agreements there are.  A message to a peer without a connection: the driver
 * opens one, and keeps the message meanwhile or drops it.  Whenever something may have been lost (a
 * connection broke, or a message was dropped) both ends are told RESUME once they are connected
 * again, and whoever still waits for an answer asks again (R8).
 *
 * The lease: a node that may have been declared dead sends no message and delivers no decision.
 * Each event says whether the lease is held; what was withheld goes out with the first event that
 * comes when it is held again (R9). */
#ifndef MU_CORE_AGREE_AGREE_H
#define MU_CORE_AGREE_AGREE_H

#include "core/agree/value.h"
#include "core/base/arena.h"
#include "core/base/roster.h"
#include "core/base/fingerprint.h"
#include "core/base/members.h"

/* ---- configuration ---- */

/* Rules that a test breaks on purpose.  Zero in every daemon. */
enum mu_agree_broken {
    MU_AGREE_BROKEN_ASKERS = 1u << 0,       /* (1) an UP that comes late is forgotten */
    MU_AGREE_BROKEN_DEAF_ROOT = 1u << 1,    /* (2) a decision counts from the parent only */
    MU_AGREE_BROKEN_DISCARD = 1u << 2,      /* (3) messages of the dead count */
    MU_AGREE_BROKEN_DISCARD_TOLD = 1u << 3, /* (4) likewise, when an ASK told of the death */
    MU_AGREE_BROKEN_PATH = 1u << 4,     /* (5) an ASK tells only of the members before its sender */
    MU_AGREE_BROKEN_PARENT = 1u << 5,   /* the parent is compared after it was marked dead */
    MU_AGREE_BROKEN_AGAIN = 1u << 6,    /* a parent's death counts after the decision, too */
    MU_AGREE_BROKEN_MARK = 1u << 7,     /* what an ASK tells is noted, and not acted on */
    MU_AGREE_BROKEN_CHILDREN = 1u << 8, /* nobody waits for the children's contributions */
    MU_AGREE_BROKEN_ORPHANS = 1u << 9,  /* nobody asks the children of a dead child */
    MU_AGREE_BROKEN_COLLECT = 1u << 10, /* a result is forgotten when the next agreement begins */
    MU_AGREE_BROKEN_GROWS = 1u << 11,   /* a contribution said again has the latest deaths */
    MU_AGREE_BROKEN_FROZEN = 1u << 12,  /* the failed are those known at the call */
    MU_AGREE_BROKEN_LEASE = 1u << 13,   /* the lease is not looked at */
    MU_AGREE_BROKEN_RESUME = 1u << 14,  /* nothing is said again on a new connection */
    MU_AGREE_BROKEN_ERROR = 1u << 15,   /* an error by what this node knows, not by the decision */
    MU_AGREE_BROKEN_REBALANCE = 1u << 16, /* the tree is laid anew by what this node knows */
    MU_AGREE_BROKEN_PROVES = 1u << 17,    /* a death that others tell of counts as proven */
    MU_AGREE_BROKEN_FIRST = 1u << 18,     /* and proof of one that is known is dropped */
};

/* The rules as they are printed, but for the test of the parent, which there is never true. */
#define MU_AGREE_PRINTED                                                                           \
    (MU_AGREE_BROKEN_ASKERS | MU_AGREE_BROKEN_DEAF_ROOT | MU_AGREE_BROKEN_DISCARD |                \
     MU_AGREE_BROKEN_PATH | MU_AGREE_BROKEN_AGAIN | MU_AGREE_BROKEN_MARK)

/* Capacities.  Memory is taken once for all of them; running over one is a named fault. */
struct mu_agree_limits {
    uint32_t dead;    /* dead nodes; by it also grows how many children one node can get */
    uint16_t groups;  /* open at a time, and those of which only messages have come yet */
    uint16_t runs;    /* of neighbouring slots in one group */
    uint16_t failed;  /* listed in one decision; beyond it the decision says that there are more */
    uint16_t entries; /* carried by one decision, likewise; 0: the driver has none */
};

struct mu_agree_config {
    uint32_t size;
    mu_slot self;
    uint8_t shift; /* the tree's fan-out is 2^shift */
    uint16_t
        rebalance_at; /* so many deaths that all have acknowledged, and the tree is laid anew */
    struct mu_agree_limits limits;
    uint32_t broken_rules; /* enum mu_agree_broken */
};

/* A binary tree, laid anew after four deaths, with room for a daemon's work. */
void mu_agree_config_default(struct mu_agree_config *config, uint32_t size, mu_slot self);

/* NULL, or the rule that the configuration breaks. */
const char *mu_agree_config_error(const struct mu_agree_config *config);

/* ---- messages ---- */

enum mu_agree_message_type {
    MU_AGREE_UP = 1, /* to the parent: the contributions from here on down */
    MU_AGREE_DOWN,   /* the decision */
    MU_AGREE_ASK,    /* to a child: the decision, or your contribution again */
    MU_AGREE_MESSAGE_LAST = MU_AGREE_ASK,
};

struct mu_agree_message {
    uint8_t type;
    uint64_t group;
    uint64_t round;                     /* agreements of a group are numbered from 1 */
    struct mu_agree_value value;        /* UP, DOWN */
    const struct mu_roster_entry *dead; /* ASK: all deaths that the sender knows, by slot */
    uint32_t dead_count;
};

/* ---- what enters ---- */

enum mu_agree_event_type {
    MU_AGREE_OPEN = 1, /* a group that this node is a member of; all members say the same */
    MU_AGREE_CLOSE,    /* it is over at every member: all that is known of it is forgotten.  The
                          driver drops what still comes: it would be taken for a group to come */
    MU_AGREE_CALL,     /* this node's contribution to the group's next agreement */
    MU_AGREE_RECV,     /* authenticated */
    MU_AGREE_DEAD,     /* this incarnation is dead and fenced, whoever saw it; once more when there
                          is proof */
    MU_AGREE_RESUME,   /* messages to and from a peer may have been lost; it is connected now */
    MU_AGREE_LEASE,    /* nothing but whether the lease is held */
    MU_AGREE_NOTE,     /* an entry that goes into all contributions from now on: with deaths, when
                          one is complete (R2), however late that is known */
};

struct mu_agree_event {
    enum mu_agree_event_type type;
    bool lease_held; /* now; the driver compares mu_detect_lease_until_ns() with its clock */
    union {
        struct {
            uint64_t group;
            const struct mu_span *spans;
            uint32_t count;
        } open;
        struct {
            uint64_t group;
        } close;
        struct {
            uint64_t group;
            uint64_t bits;
            const struct mu_failed *failed; /* in order, none twice */
            uint32_t failed_count;
            const struct mu_agree_entry *entries; /* in order, none twice */
            uint32_t entry_count;
            bool silent; /* no process here has a say */
        } call;
        struct {
            mu_slot from;
            const struct mu_agree_message *message;
        } recv;
        struct mu_roster_entry dead;
        struct {
            mu_slot peer;
        } resume;
        struct mu_agree_entry note;
    };
};

/* ---- what leaves ---- */

enum mu_agree_effect_type {
    MU_AGREE_SEND = 1,
    MU_AGREE_DELIVER, /* the decision, once; sends before it matter more than it */
    MU_AGREE_DEATH,   /* 'peer' says that a node is dead, or that there is proof of it: report it
                         with that evidence and no more */
    MU_AGREE_FENCED,  /* this node itself was declared dead: it does and says nothing any more */
    MU_AGREE_FAULT,   /* with a peer: its message was not taken, so cut the connection: RESUME
                         will bring it again.  Without: the driver's own event was refused */
};

/* Pointers inside an effect are valid until the next step. */
struct mu_agree_effect {
    enum mu_agree_effect_type type;
    mu_slot peer;
    union {
        struct mu_agree_message message; /* SEND */
        struct {
            uint64_t group;
            uint64_t round;
            struct mu_agree_value value;
            bool error; /* one of the failed is not acknowledged by all: at all nodes, or at none */
        } decision;     /* DELIVER */
        struct mu_roster_entry death; /* DEATH */
        enum mu_fault fault;          /* FAULT */
    };
};

struct mu_agree_update {
    struct mu_agree_effect *effects; /* of the caller, with room for mu_agree_effects_max() */
    uint32_t count;
    uint32_t capacity;
};

/* ---- one node's part ---- */

struct mu_agree; /* inside.h: for the core and for checkers that look inside */

size_t mu_agree_bytes(const struct mu_agree_config *config);

/* As mu_node_init(): all state lives in 'memory' (64-byte aligned, mu_agree_bytes() long). */
struct mu_agree *mu_agree_init(void *memory, size_t bytes, const struct mu_agree_config *config);

/* The most effects of one step. */
uint32_t mu_agree_effects_max(const struct mu_agree_config *config);

/* The one door.  Once fenced it accepts every event and does nothing. */
void mu_agree_step(struct mu_agree *agree, const struct mu_agree_event *event,
                   struct mu_agree_update *update);

/* Is a node still in a group?  Not any more when its death was decided, acknowledged by all, and is
 * settled.  False for a group that is not open. */
bool mu_agree_is_member(const struct mu_agree *agree, uint64_t group, mu_slot slot);

/* What the next step depends on, and nothing else. */
void mu_agree_fingerprint(const struct mu_agree *agree, struct mu_fingerprint *print);

#endif
