/* One checker for each law of the ring.  Safety is checked at every step, liveness when a failure
 * is due and when the run is quiet.
 *
 * Who may be declared, and when, depends on what the world did to the two nodes.  In small worlds
 * it is written down for each pair: what was lost, how long a node stood still, who heard whom. */
#ifndef MU_SIM_RING_LAW_H
#define MU_SIM_RING_LAW_H

#include "core/ring/ring.h"

struct ring_world;

enum { RING_LOSSES = 8, RING_STALLS = 8 };

/* What one node, the first of the pair, has seen and said of another.  Times are the world's; 0:
 * never. */
struct ring_pair {
    uint64_t said_ns;      /* when that was said which was heard last, on its own clock */
    uint64_t heard_ns;     /* a fresh beat or answer */
    uint64_t heard_lag_ns; /* the lag of the hearer's steps until then, all together */
    uint64_t asked_ns;     /* the first watch or probe sent since it was heard */
    uint64_t asked_lag_ns;
    uint64_t watch_nonce;          /* of the newest watch that was sent */
    uint64_t stamp_ns;             /* the newest one heard under that watch */
    uint64_t beat_ns;              /* and when */
    uint64_t helped_ns;            /* a helper heard it; when that was asked */
    uint64_t helped_at_ns;         /* and when that was said */
    uint64_t perhaps_ns;           /* the last sign of life that the detector may count, or not */
    uint64_t vouched_ns;           /* it answered; when that was asked */
    uint64_t replied_ns;           /* it answered or replied, or a helper said that it hears it */
    uint64_t reported_ns;          /* 'unreachable', and not mended since */
    uint64_t lost_ns[RING_LOSSES]; /* when datagrams between them were lost, either way; kept for
                                      the pair with the lower slot first */
    uint32_t lost_next;
    uint64_t acked_nonce; /* of the last acknowledgement that came from it */
    uint64_t told_ns;     /* its node said that it is out */
    uint64_t taken_ns;    /* it may hold a lease until then, after a TAKE of the first one */
    uint64_t launched_ns; /* the launcher answered about it; when that was asked */
    bool proven;          /* its node has proof of it */
    uint64_t begun_nonce; /* of the first watch since it was released */
    bool spoken;          /* heard since then */
    bool refused;         /* it had no room for that watch */
    bool released;        /* that watch was given up */
    bool knows;           /* that it is out */
};

struct ring_stall {
    uint64_t from_ns, until_ns;
};

/* What is known of one node in a small world. */
struct ring_record {
    uint64_t start_ns;
    uint64_t lag_ns;       /* of its steps, all together */
    uint64_t lag_until_ns; /* counted so far */
    uint64_t trouble_ns;   /* the last loss that touched it, while losses count */
    mu_slot declared_by;   /* the first that did */
    uint64_t lease_ns;     /* when it won or lost its lease last */
    uint64_t lapsed;       /* on whose watch it was lost; a bit for each place */
    uint64_t back_ns;      /* when it last went on, or could be heard again */
    struct ring_stall stalls[RING_STALLS];
    uint32_t stall_next;
    uint64_t period_ns, timeout_ns;         /* as set */
    uint64_t old_period_ns, old_timeout_ns; /* before that */
    uint64_t set_ns;
};

struct ring_failure {
    mu_slot slot;
    uint64_t at_ns;
    uint64_t declared_ns; /* MU_NEVER: not yet */
    bool over;            /* it came back before it had to be declared */
};

struct ring_law {
    struct ring_pair *pairs;     /* by node and other node; NULL: a large world */
    struct ring_record *records; /* by node; NULL likewise */
    struct ring_failure *failures;
    uint32_t failure_count, failure_capacity;
    uint32_t undeclared; /* failures that still have to be declared */
    uint64_t timeout_ns_max, timeout_ns_min, period_ns_max; /* ever set */

    uint64_t spare_ns_min, spare_ns_max; /* timeout - period */

    uint64_t lapsed; /* places whose leases had run out before this step: ring_law_places() */
    bool held;       /* before this step its node had a lease */
    bool lagged;     /* its node had stood still until this step */
    uint64_t said_ns,
        heard_ns;     /* of the subject of a HEARD, as its node knew it before this step */
    bool from_out;    /* this step takes in a datagram of a node that its node knows is out ... */
    bool newer_watch; /* this step takes in a watch, and its node remembers a newer one */
    uint64_t dropped; /* ... and had dropped so many before */

    /* what came of plan->pair */
    uint64_t pair_reported_ns; /* 0: never */
    mu_slot first_declared;
    uint8_t first_cause;

    /* figures */
    uint64_t verdicts, reports, mended, fenced;
    uint64_t wrong;                                /* verdicts, in large worlds */
    uint64_t detect_ns_max, detect_ns_sum;         /* of failures with live neighbours */
    uint64_t detect_group_ns_max, detected_groups; /* of the others */
    uint64_t detected;

    /* The first law that was broken. */
    const char *broken; /* NULL: none */
    uint64_t broken_step;
    char message[256];
};

void ring_law_init(struct ring_law *law, const struct ring_world *world);
void ring_law_free(struct ring_law *law);

/* Notes that 'law' (D1, D2, ...) is broken.  Only the first is kept. */
void ring_law_fail(struct ring_world *world, const char *law, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What happens to nodes and datagrams. */
void ring_law_on_failed(struct ring_world *world, mu_slot slot);
void ring_law_on_back(struct ring_world *world, mu_slot slot);
void ring_law_on_stall(struct ring_world *world, mu_slot slot, uint64_t until_ns);
void ring_law_on_lost(struct ring_world *world, const struct mu_beat *beat, uint64_t until_ns);
void ring_law_on_set(struct ring_world *world, mu_slot slot, uint64_t period_ns,
                     uint64_t timeout_ns);

/* A step of one detector: before it, and after its effects. */
void ring_law_before_step(struct ring_world *world, mu_slot slot,
                          const struct mu_detect_event *event);
void ring_law_after_step(struct ring_world *world, mu_slot slot,
                         const struct mu_detect_event *event);

/* The main loop of a node begins to stand still; it should have had an effect by now. */
void ring_law_on_loop(struct ring_world *world, mu_slot slot);
void ring_law_on_loop_due(struct ring_world *world, mu_slot slot, bool is_silence);

/* Effects, as they happen. */
void ring_law_on_send(struct ring_world *world, mu_slot slot, const struct mu_beat *beat);
void ring_law_on_verdict(struct ring_world *world, mu_slot slot,
                         const struct mu_detect_evidence *evidence);
void ring_law_on_report(struct ring_world *world, mu_slot slot,
                        const struct mu_detect_evidence *evidence);
void ring_law_on_fenced(struct ring_world *world, mu_slot slot);
void ring_law_on_stood(struct ring_world *world, mu_slot slot, uint32_t phase);
void ring_law_on_lease(struct ring_world *world, mu_slot slot, bool held);

/* The node says to its detector that somebody is out. */
void ring_law_on_out(struct ring_world *world, mu_slot slot, mu_slot out, bool proven);

/* Everybody is being told of it: a verdict has come to the detector's node, or its witness has
 * spoken. */
void ring_law_on_declared(struct ring_world *world, mu_slot slot);

/* The failure should have been declared by now. */
void ring_law_on_due(struct ring_world *world, uint32_t failure);

/* The world has been quiet for long. */
void ring_law_on_end(struct ring_world *world);
void ring_law_on_end_of_pair(struct ring_world *world);

static inline uint64_t ring_law_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

#endif
