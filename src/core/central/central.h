/* The central detector: one node, the master, polls all others, and declares who does not answer.
 *
 * After Osman and Bargiela (EDDS); docs/spec/central.md has the rules, C1 to C8, whose names are
 * used here, and what is different from the paper.  A door of its own, as the ring's, for the same
 * thread of a daemon: a machine has one detector or the other.  What it says of a death is the
 * same: struct mu_detect_evidence.
 *
 * The master is the root of the view: its lowest member that is not known to be out.  Every node
 * runs this, since each may become the master. */
#ifndef MU_CORE_CENTRAL_CENTRAL_H
#define MU_CORE_CENTRAL_CENTRAL_H

#include "core/base/arena.h"
#include "core/base/roster.h"
#include "core/base/fingerprint.h"
#include "core/base/members.h"
#include "core/central/poll.h"
#include "core/ring/ring.h"

/* Rules that a test breaks on purpose.  Zero in every daemon. */
enum mu_central_broken {
    MU_CENTRAL_BROKEN_EARLY = 1u << 0,      /* C1: judges before all that has come was taken in */
    MU_CENTRAL_BROKEN_NONCE = 1u << 1,      /* C1: an answer counts, whatever it answers */
    MU_CENTRAL_BROKEN_FLOOR = 1u << 2,      /* C2: the timeout has no floor */
    MU_CENTRAL_BROKEN_LATE = 1u << 3,       /* C2: late answers are no samples */
    MU_CENTRAL_BROKEN_ONCE = 1u << 4,       /* C3: declared at the first timeout */
    MU_CENTRAL_BROKEN_HELPERS = 1u << 5,    /* C3: nobody listens to helpers */
    MU_CENTRAL_BROKEN_BACK = 1u << 6,       /* C4: a late answer brings a declared host back */
    MU_CENTRAL_BROKEN_TELLING = 1u << 7,    /* C4: nobody tells a declared host */
    MU_CENTRAL_BROKEN_GRANT = 1u << 8,      /* C5: a host is declared before its grant is over */
    MU_CENTRAL_BROKEN_LEASE = 1u << 9,      /* C5: a lease counts from the poll that grants it */
    MU_CENTRAL_BROKEN_HALF = 1u << 10,      /* C6: nobody vouches for the master */
    MU_CENTRAL_BROKEN_LAG = 1u << 11,       /* C6: own lag counts against the hosts */
    MU_CENTRAL_BROKEN_ALARM = 1u << 12,     /* C7: nobody misses the master */
    MU_CENTRAL_BROKEN_PROMISE = 1u << 13,   /* C7: who says that it misses the master goes on
                                               answering it */
    MU_CENTRAL_BROKEN_MAJORITY = 1u << 14,  /* C7: one that misses the master is enough */
    MU_CENTRAL_BROKEN_INHERITED = 1u << 15, /* C7: a new master does not wait for old grants */
    MU_CENTRAL_BROKEN_UNGRANTED = 1u << 16, /* C7: a poll that grants nothing is one, too */
    MU_CENTRAL_BROKEN_LOOP = 1u << 17,      /* a main loop may stand still for ever */
};

struct mu_central_config {
    uint32_t size; /* of the machine */
    mu_slot self;
    uint32_t incarnation;
    uint32_t hosts;      /* capacity: members of a view */
    uint32_t dead;       /* capacity: dead nodes */
    uint64_t cycle_ns;   /* between two polls of a host */
    uint64_t floor_ns;   /* of the timeout, and */
    uint64_t ceiling_ns; /* what it may grow to; also that of a host that never answered */
    uint64_t loop_ns;    /* what the main loop may stand still; 0: there is none */
    uint64_t nonce; /* where this incarnation's nonces begin: drawn by the driver, below 2^63 */
    uint32_t broken_rules; /* enum mu_central_broken */
};

enum {
    MU_CENTRAL_HOSTS = 256, /* the default capacity */
    MU_CENTRAL_HELPERS = MU_DETECT_HELPERS,
    MU_CENTRAL_TELL_CYCLES = 10, /* a declared host is told so often that it was */
};

/* Cycle 500 ms, floor 400 ms, ceiling 10 s, 256 hosts. */
void mu_central_config_default(struct mu_central_config *config, uint32_t size, mu_slot self);

/* NULL, or the rule that the configuration breaks. */
const char *mu_central_config_error(const struct mu_central_config *config);

/* ---- what enters ---- */

enum mu_central_event_type {
    MU_CENTRAL_START = 1, /* once, before everything else */
    MU_CENTRAL_TIMEOUT,   /* the deadline of the last update has passed */
    MU_CENTRAL_RECV,      /* authenticated; drivers hand over all that has come before a TIMEOUT */
    MU_CENTRAL_VIEW,      /* a view was installed here; a number that is not above the last one is
                             ignored */
    MU_CENTRAL_OUT,       /* the node says: this incarnation is dead or has left, whoever saw it */
    MU_CENTRAL_LOOP,      /* the main loop has had its turn since ASK_LOOP */
    MU_CENTRAL_RECOVER,   /* an operator wants this slot back: if it lives, it is told at once */
};

struct mu_central_event {
    enum mu_central_event_type type;
    uint64_t now_ns; /* monotonic, never less than in the event before */
    union {
        const struct mu_poll *poll; /* RECV */
        struct {
            uint64_t number; /* the first view of a machine is 1 */
            uint64_t hash;
            const struct mu_span *spans; /* of the caller; in order, with gaps between them */
            uint32_t span_count;
            const uint32_t *incarnations; /* by position */
        } view;
        struct {
            mu_slot slot;
            uint32_t incarnation;
            bool proven; /* it is known to have ended; else it was only silent, or unreachable */
        } out;
        mu_slot slot; /* RECOVER */
    };
};

/* ---- what leaves ---- */

enum mu_central_effect_type {
    MU_CENTRAL_SEND = 1,
    MU_CENTRAL_VERDICT, /* dead: hand it to the node.  The detector acts on it at once */
    MU_CENTRAL_REPORT,  /* a suspect is reached by others, and not from here (UNREACHABLE), or it is
                           suspect no more (cause 0) */
    MU_CENTRAL_FENCED,  /* this incarnation was declared dead: nothing more leaves this detector */
    MU_CENTRAL_LEASE,   /* 'held' */
    MU_CENTRAL_FAULT,   /* MU_FAULT_HOSTS_FULL: the view is not taken; MU_FAULT_DEAD_FULL: the death
                           is not */
    MU_CENTRAL_ASK_LOOP, /* LOOP is to come when the main loop has had its turn */
};

struct mu_central_effect {
    enum mu_central_effect_type type;
    union {
        struct mu_poll poll;                /* SEND */
        struct mu_detect_evidence evidence; /* VERDICT, REPORT; 'period_ns' is the cycle */
        bool held;                          /* LEASE */
        mu_slot by;                         /* FENCED: who said so */
        enum mu_fault fault;                /* FAULT */
    };
};

struct mu_central_update {
    struct mu_central_effect *effects; /* of the caller, with room for mu_central_effects_max() */
    uint32_t count;
    uint32_t capacity;
    uint64_t deadline_ns; /* MU_NEVER: none */
};

/* ---- the detector ---- */

struct mu_central; /* inside.h */

/* As mu_detect_bytes() and mu_detect_init(). */
size_t mu_central_bytes(const struct mu_central_config *config);
struct mu_central *mu_central_init(void *memory, size_t bytes,
                                   const struct mu_central_config *config);

/* The most effects of one step: what a master sends to all hosts at once. */
uint32_t mu_central_effects_max(const struct mu_central_config *config);

/* The one door.  A fenced detector accepts every event and does nothing. */
void mu_central_step(struct mu_central *central, const struct mu_central_event *event,
                     struct mu_central_update *update);

/* The lowest member that is not known to be out; MU_SLOT_NONE before the first view. */
mu_slot mu_central_master(const struct mu_central *central);

/* At the master: the timeout of a host, as it is now; 0 of one that it does not poll. */
uint64_t mu_central_timeout_ns(const struct mu_central *central, mu_slot slot);

bool mu_central_lease_held(const struct mu_central *central);

/* On the detector's clock; 0: not held.  As mu_detect_lease_until_ns(). */
uint64_t mu_central_lease_until_ns(const struct mu_central *central);

/* What the next step depends on, and nothing else. */
void mu_central_fingerprint(const struct mu_central *central, struct mu_fingerprint *print);

#endif
