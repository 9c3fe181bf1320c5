/* The ring: each node beats to the next live node, which notices when it stops.
 *
 * A detector has a door of its own, beside the node's, because in the daemon it is driven by the
 * heartbeat thread and must never wait for the rest.  Verdicts go from here to the node, deaths
 * that the node heard of come back; the driver carries both, late or at once.
 * docs/spec/ring.md has the rules; their names are used here. */
#ifndef MU_CORE_RING_RING_H
#define MU_CORE_RING_RING_H

#include "core/base/arena.h"
#include "core/ring/beat.h"
#include "core/base/roster.h"
#include "core/base/fingerprint.h"

/* ---- configuration ---- */

enum {
    MU_DETECT_HELPERS = 3,  /* asked about one suspect in one round */
    MU_DETECT_WATCHERS = 3, /* that one node beats to at once: one, but while a ring mends */
    MU_DETECT_TAKES = 2,    /* nodes that one helper observes in the place of others */
};

/* Rules that a test breaks on purpose.  Zero in every daemon. */
enum mu_detect_broken {
    MU_DETECT_BROKEN_NO_LAG = 1u << 0,       /* own lag is not given back */
    MU_DETECT_BROKEN_SEQUENTIAL = 1u << 1,   /* mending waits for one timeout after the other */
    MU_DETECT_BROKEN_FENCE_ORIGIN = 1u << 2, /* DEAD is believed for any incarnation */
    MU_DETECT_BROKEN_HELPERS = 1u << 3,      /* a helper's answer is ignored */
    MU_DETECT_BROKEN_LEASE = 1u << 4,        /* the lease never runs out */
    MU_DETECT_BROKEN_NONCE = 1u << 5,        /* a beat counts whatever its nonce */
    MU_DETECT_BROKEN_DOUBT = 1u << 6,        /* an observer that nobody answers accuses */
    MU_DETECT_BROKEN_OLD_WATCH = 1u << 7,    /* an older watch replaces a newer one */
    MU_DETECT_BROKEN_STAMP = 1u << 8,        /* a repeated beat counts as a new one */
    MU_DETECT_BROKEN_LEASE_BACK = 1u << 9,   /* an ended lease comes back from anybody, at once */
    MU_DETECT_BROKEN_NO_LEASE = 1u << 10,    /* who has no lease declares */
    MU_DETECT_BROKEN_ALONE = 1u << 11,       /* who is alone has a lease, whatever led there */
    MU_DETECT_BROKEN_TELLING = 1u << 12,     /* DEAD is only an answer */
    MU_DETECT_BROKEN_OVER = 1u << 13,        /* a taken node is declared a timeout after the TAKE */
    MU_DETECT_BROKEN_TAKE_OWN = 1u << 14,    /* an observer takes whom it observes itself */
    MU_DETECT_BROKEN_HEARD = 1u << 15,       /* HEARD with an old clock is a sign of life */
    MU_DETECT_BROKEN_OLD_TAKE = 1u << 16,    /* a TAKE is followed, however old it may be */
    MU_DETECT_BROKEN_LATE_ACK = 1u << 18,    /* a beat is acknowledged, however long it waited */
    MU_DETECT_BROKEN_LOOP = 1u << 17,        /* the main loop may stand still for ever */
    MU_DETECT_BROKEN_FAR = 1u << 19,   /* who was only probed counts as the one before it stopped */
    MU_DETECT_BROKEN_BROKE = 1u << 20, /* a connection that breaks is a timeout of silence */
};

struct mu_detect_config {
    uint32_t size;
    mu_slot self;
    uint32_t incarnation;
    uint64_t period_ns;
    uint64_t timeout_ns;
    uint64_t grace_ns; /* silence allowed to a node that was never heard since the start: daemons
                          do not start at the same instant */
    uint64_t nonce;    /* where this incarnation's nonces begin: drawn by the driver, below 2^63 */
    uint64_t loop_ns;  /* what the main loop may stand still, at least (N13); 0: there is none */
    uint32_t dead;     /* capacity: dead nodes */
    uint32_t broken_rules; /* enum mu_detect_broken */
};

enum {
    MU_PERIOD_NS_MIN = 1000 * 1000, /* 1 ms */
    MU_TIMEOUT_RATIO_MIN = 2,       /* timeout over period, at least */
};
#define MU_TIMEOUT_NS_MAX (UINT64_C(3600) * 1000 * 1000 * 1000)

/* N13: how long the main loop may stand still, in timeouts.  Where these are short, 'loop_ns' is
 * more: work of one turn does not get faster with them (setting up PMIx, a host under load). */
enum { MU_DETECT_LOOP_TIMEOUTS = 5 };
#define MU_DETECT_LOOP_NS (UINT64_C(1000) * 1000 * 1000)

/* Then its lease is over, and it is declared dead, at the latest; delays and lags apart. */
uint64_t mu_detect_loop_patience_ns(uint64_t timeout_ns, uint64_t loop_ns);
uint64_t mu_detect_loop_bound_ns(uint64_t timeout_ns, uint64_t loop_ns);

/* Period 100 ms, timeout 200 ms, grace 10 s, no main loop. */
void mu_detect_config_default(struct mu_detect_config *config, uint32_t size, mu_slot self);

/* NULL, or the rule that the configuration breaks. */
const char *mu_detect_config_error(const struct mu_detect_config *config);

/* The same for a period and timeout that are to be set at run time. */
const char *mu_detect_times_error(uint64_t period_ns, uint64_t timeout_ns);

/* ---- what enters ---- */

enum mu_detect_event_type {
    MU_DETECT_START = 1, /* once, before everything else */
    MU_DETECT_TIMEOUT,   /* the deadline of the last update has passed */
    MU_DETECT_RECV,      /* authenticated; drivers hand over all that has come before a TIMEOUT */
    MU_DETECT_OUT,       /* the node says: this incarnation is dead or has left, whoever saw it */
    MU_DETECT_SET,       /* new period and timeout; they passed mu_detect_times_error() */
    MU_DETECT_READY,     /* every node has started: the grace is over */
    MU_DETECT_BROKE,     /* a connection to this slot closed or was refused.  That proves nothing;
                            but it is asked at once, as if its beat were late */
    MU_DETECT_LAUNCHER,  /* the launcher answers ASK_LAUNCHER */
    MU_DETECT_LOOP,      /* the main loop has taken all that was there when ASK_LOOP was said last;
                            drivers hand this over, too, before a TIMEOUT */
};

/* How far the launcher came with its own connection to a suspect.  More is more. */
enum mu_launcher_reach {
    MU_LAUNCHER_NONE = 0,  /* no answer */
    MU_LAUNCHER_TRYING,    /* it has asked the suspect */
    MU_LAUNCHER_UNREACHED, /* its connection to the suspect is closed, or the suspect is silent */
    MU_LAUNCHER_HEARD,     /* the suspect has answered it since the question */
    MU_LAUNCHER_CHOSE,     /* it listens to who asks and to nobody else, and never will again: each
                              of the others has ended, or was declared by one it listened to */
};

struct mu_detect_event {
    enum mu_detect_event_type type;
    uint64_t now_ns; /* monotonic, never less than in the event before */
    union {
        const struct mu_beat *beat; /* RECV */
        struct {
            mu_slot slot;
            uint32_t incarnation;
            bool proven; /* it is known to have ended; else it was only silent, or unreachable */
        } out;
        struct {
            uint64_t period_ns;
            uint64_t timeout_ns;
        } set;
        struct {
            mu_slot slot;
        } broke;
        struct {
            mu_slot subject; /* these three as they were asked */
            uint64_t nonce;
            uint64_t stamp_ns;
            uint64_t clock_ns; /* HEARD: what the suspect's detector had on its clock; 0: unknown */
            enum mu_launcher_reach reach;
        } launcher;
    };
};

/* ---- what leaves ---- */

/* Why a node is declared, or reported. */
enum mu_detect_cause {
    MU_DETECT_SILENT = 1,  /* nobody hears it */
    MU_DETECT_UNREACHABLE, /* others hear it, its observer does not, and it was not mended in time
                            */
    MU_DETECT_UNDECIDED,   /* only reported: it is silent, and nobody at all answers this node, not
                              even a launcher.  It is not declared while that is so */
};

/* What the observer knew when it declared.  Spans end at the declaration. */
struct mu_detect_evidence {
    uint8_t cause; /* enum mu_detect_cause */
    mu_slot subject;
    uint32_t incarnation; /* 0: never heard here, so whichever the node knows */
    uint64_t period_ns;
    uint64_t timeout_ns;
    uint64_t silent_ns;  /* since it was last heard; of one that was never heard: since asked, or
                            since a timeout before the grace was over */
    uint64_t suspect_ns; /* since the beat was late and the first probe went out */
    uint64_t lag_ns;     /* of this observer itself, given back to the suspect */
    uint32_t probes;     /* sent to the suspect since then */
    mu_slot vouched_by;  /* an unsuspected node that answered the observer meanwhile; NONE: the
                            launcher did */
    uint8_t launcher;    /* enum mu_launcher_reach, about the subject */
    uint8_t helpers;     /* how many were asked */
    struct {
        mu_slot slot;
        uint8_t reach; /* enum mu_reach */
    } helper[MU_DETECT_HELPERS];
};

enum mu_detect_effect_type {
    MU_DETECT_SEND = 1,
    MU_DETECT_VERDICT, /* dead: hand it to the node.  The detector acts on it at once.  The subject
                          may be this node itself (D6: the one reached by fewer gives way) */
    MU_DETECT_REPORT,  /* 'unreachable' or 'undecided' began (REPORT with cause) or was mended
                          (cause 0); never both of one node at once */
    MU_DETECT_FENCED,  /* this incarnation was declared dead: nothing more leaves this detector */
    MU_DETECT_LEASE,   /* 'held' says whether somebody acknowledges this node */
    MU_DETECT_FAULT,   /* MU_FAULT_DEAD_FULL: a death that cannot be kept.  A verdict is not given,
                          what the node says is not acted on, and the ring does not mend there */
    MU_DETECT_ASK_LAUNCHER, /* no unsuspected node is left to be asked: can the launcher reach the
                               subject?  Repeated as questions are; without a launcher, ignored */
    MU_DETECT_ASK_LOOP,     /* LOOP is to come when the main loop has had its turn */
    MU_DETECT_STOOD, /* the main loop stands still, or moves again.  Whoever could say so in its
                        place should: it cannot */
};

/* What became of the main loop (N13). */
enum mu_loop_phase {
    MU_LOOP_MOVES = 0,
    MU_LOOP_LATE,   /* the lease is over */
    MU_LOOP_SILENT, /* nothing leaves this detector, until the loop moves again */
};

struct mu_detect_effect {
    enum mu_detect_effect_type type;
    union {
        struct mu_beat beat;                /* SEND */
        struct mu_detect_evidence evidence; /* VERDICT, REPORT */
        bool held;                          /* LEASE */
        mu_slot by;                         /* FENCED: who said so */
        enum mu_fault fault;                /* FAULT */
        struct {
            mu_slot subject;
            uint64_t nonce;
            uint64_t stamp_ns;
        } ask; /* ASK_LAUNCHER: all of it comes back with the answer */
        struct {
            uint32_t phase; /* enum mu_loop_phase */
            uint64_t ns;    /* for how long so far, since it was asked */
        } stood;            /* STOOD */
    };
};

struct mu_detect_update {
    struct mu_detect_effect *effects; /* of the caller, with room for MU_DETECT_EFFECTS_MAX */
    uint32_t count;
    uint32_t capacity;
    uint64_t deadline_ns; /* MU_NEVER: none */
};

/* ---- the detector ---- */

struct mu_detect; /* inside.h: for the core and for checkers that look inside */

size_t mu_detect_bytes(const struct mu_detect_config *config);

/* As mu_node_init(): all state lives in 'memory' (64-byte aligned, mu_detect_bytes() long). */
struct mu_detect *mu_detect_init(void *memory, size_t bytes, const struct mu_detect_config *config);

/* The most effects of one step: a constant, whatever the size of the machine.  A batch of probes
 * that is longer goes out over several steps, with a deadline that is due at once. */
enum { MU_DETECT_EFFECTS_MAX = 64 };
uint32_t mu_detect_effects_max(const struct mu_detect_config *config);

/* The one door.  A fenced detector accepts every event and does nothing. */
void mu_detect_step(struct mu_detect *detect, const struct mu_detect_event *event,
                    struct mu_detect_update *update);

/* Counted since the start, for status, benches and checkers. */
struct mu_detect_counts {
    uint64_t sent[MU_BEAT_LAST + 1];
    uint64_t received[MU_BEAT_LAST + 1];
    uint64_t dropped;    /* authentic, and yet: another incarnation, an old nonce, a repeat */
    uint64_t lag_ns_max; /* the worst lag of this detector's own steps */
    uint64_t lags;       /* how often lag was given back */
};
const struct mu_detect_counts *mu_detect_counts(const struct mu_detect *detect);

/* Whom it observes now, and who observes it: of those that acknowledge, the first one onward or a
 * helper in its place.  MU_SLOT_NONE: nobody. */
mu_slot mu_detect_observes(const struct mu_detect *detect);
mu_slot mu_detect_observer(const struct mu_detect *detect);

/* An end (OUT) of this node, or of one between it and this detector, is to be heard of at once; of
 * others it is early enough with the next event.  MU_SLOT_NONE: any end at once. */
mu_slot mu_detect_depends_on(const struct mu_detect *detect);

/* What it makes of its main loop (N13). */
enum mu_loop_phase mu_detect_loop_phase(const struct mu_detect *detect);

bool mu_detect_lease_held(const struct mu_detect *detect);

/* On the detector's clock: the lease runs out then, unless a step says otherwise before.  Whoever
 * acts under the lease on another thread compares this with the clock, because after a stall no
 * LEASE effect has come yet.  0: not held; MU_NEVER: all others are out, with proof. */
uint64_t mu_detect_lease_until_ns(const struct mu_detect *detect);

/* What the next step depends on, and nothing else. */
void mu_detect_fingerprint(const struct mu_detect *detect, struct mu_fingerprint *print);

#endif
