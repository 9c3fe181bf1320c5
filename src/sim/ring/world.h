/* The ring's virtual world: detectors, each the shipping core, that send each other datagrams in
 * virtual time.  What stands between a detector and the rest of its machine (the node, and spread)
 * is an oracle here, or the real nodes of a sim_world. */
#ifndef MU_SIM_RING_WORLD_H
#define MU_SIM_RING_WORLD_H

#include "core/ring/ring.h"
#include "core/base/notice.h"
#include "sim/base/queue.h"
#include "sim/base/random.h"
#include "sim/ring/law.h"
#include "sim/ring/net.h"

#include <stdio.h>

struct sim_world;

/* What an item of the queue means for its node; the numbers of enum sim_what lie below. */
enum ring_what {
    RING_DATAGRAM = 64, /* ref: which one */
    RING_START,
    RING_TIMER,
    RING_WAKE,
    RING_VERDICT,  /* what its detector said of peer, incarnation ref, has come to the node */
    RING_OUT,      /* the node says to its detector: peer is out; ref: with proof or without */
    RING_SET,      /* ref: index in the schedule */
    RING_FAULT,    /* ref: index in the schedule */
    RING_MENDED,   /* ref: index in the schedule: a cut that was counted as a failure is over */
    RING_DUE,      /* the failure 'ref' should be declared by now */
    RING_LOOP,     /* its main loop answers its detector */
    RING_LOOP_DUE, /* its main loop has stood still for long; ref 1: for a timeout more */
    RING_PROVEN,   /* the witness of a node that has crashed says so */
    RING_LAUNCHER, /* its answer comes; ref: which one */
};

enum ring_fault_type {
    RING_FAULT_CRASH = 1, /* node; known: its witness proves it to everybody, for_ns later */
    RING_FAULT_STOP,      /* node, for_ns: it stands still, and datagrams wait in its socket */
    RING_FAULT_CUT, /* node, peer (MU_SLOT_NONE: everybody), ways, for_ns; or side, ways, for_ns */
    RING_FAULT_SET, /* new period and timeout at every node */
    RING_FAULT_OLD_DEAD, /* node is sent a DEAD that was recorded in an earlier life */
    RING_FAULT_BROKE,    /* node loses its connection to peer; both may live */
    RING_FAULT_LOOP,     /* node, for_ns: its main loop stands still, and its detector goes on */
};

struct ring_fault {
    enum ring_fault_type type;
    uint64_t at_ns;
    uint64_t for_ns; /* MU_NEVER: for good */
    mu_slot node, peer;
    uint32_t ways; /* enum ring_ways, seen from node */
    uint64_t side; /* not 0: between those that it draws, and the others */
    bool known;
    uint64_t period_ns, timeout_ns;
};

/* The launcher, outside of the ring. */
struct ring_launcher {
    bool there;
    uint32_t reaches_percent;               /* of all nodes */
    uint64_t still_from_ns, still_until_ns; /* it stands still */
};

/* Everything that differs between runs. */
struct ring_plan {
    uint64_t seed;
    struct mu_detect_config config; /* self, incarnation and nonce are filled in */
    struct ring_net_plan net;
    struct ring_launcher launcher;
    bool small;            /* pairs of nodes are watched one by one: every law is checked */
    uint64_t start_ns_max; /* nodes start within this time */
    uint64_t timer_ns_max; /* a timer fires up to so late, and that is not called lag */
    uint64_t queue_ns_max; /* from a detector to its node, and back */
    uint64_t tell_ns_max;  /* the oracle takes up to so long from node to node */
    uint32_t tell_slots;   /* it tells so many live slots on either side; 0: everybody */
    uint32_t incarnations; /* each node's is drawn from 1 to this */
    uint64_t clock_ns_max; /* each node's clock is ahead of the world's by up to this */
    uint32_t inbox_max;    /* datagrams that wait in the socket of a node that stands still */
    uint64_t end_ns;       /* quiet laws are checked then; MU_NEVER: when all is declared */
    uint64_t quiet_ns;     /* from then on nothing but beats and acknowledgements is sent */
    uint64_t count_from_ns, count_until_ns; /* messages are counted between the two */
    struct ring_fault *faults;              /* of the caller */
    uint32_t fault_count;
    const struct ring_fault *pair; /* this cut between two nodes is the only trouble; or NULL */
    struct sim_world *nodes;       /* carries verdicts; NULL: the oracle does */
    FILE *trace;                   /* readable events; NULL: none */
};

/* What the world knows of one node besides its core.  Times are the world's. */
struct ring_seat {
    uint64_t deadline_ns;     /* asked for by the last step */
    uint64_t timer_at_ns;     /* when its item is due; MU_NEVER: none */
    uint64_t frozen_until_ns; /* it stands still; MU_NEVER: for good */
    uint64_t loop_from_ns;    /* its main loop stands still since then, 0: never did, */
    uint64_t loop_until_ns;   /* until then; MU_NEVER: for good */
    uint64_t failed_ns;       /* nothing of it is heard since then; MU_NEVER: it is well */
    uint64_t set_ns;          /* when the times that it has were set; 0: those of the start */
    uint64_t declared_ns;     /* first verdict on it, or word of its witness; MU_NEVER: none */
    uint32_t inbox_first, inbox_last, inbox_count;
    uint32_t failure; /* index of its last failure, when it had one */
    bool started, crashed, fenced;
    bool silent;   /* its detector, because of its main loop (N13) */
    bool told;     /* everybody is being told that it is out */
    bool given_up; /* by the launcher */
    bool proven;   /* its witness has spoken */
} __attribute__((aligned(64)));

struct ring_world {
    const struct ring_plan *plan;
    uint32_t size;
    struct sim_random random;
    struct sim_queue *queue; /* its own, or that of plan->nodes */
    struct sim_queue own_queue;
    uint64_t events;
    uint64_t news;                /* items in the queue: words between detectors and nodes */
    uint64_t faults_left;         /* likewise */
    struct mu_fingerprint digest; /* of the whole sequence of events */

    uint8_t *memory; /* the detectors */
    size_t detect_bytes;
    struct mu_detect_update update;
    struct ring_seat *seats; /* by node */
    uint32_t living;         /* neither crashed nor fenced */
    mu_slot burst_slot;      /* whose timer fired last, when, and how often in a row */
    uint64_t burst_ns, burst;

    struct ring_net net;
    struct ring_law law;
    uint64_t sent_counted; /* between count_from_ns and count_until_ns */
};

/* Builds the world.  'plan' outlives it. */
void ring_world_init(struct ring_world *world, const struct ring_plan *plan);
void ring_world_free(struct ring_world *world);

/* Runs to the end, or until a law is broken.  'progress' is called now and then. */
void ring_world_run(struct ring_world *world, void (*progress)(const struct ring_world *));

struct mu_detect *ring_world_detect(const struct ring_world *world, mu_slot slot);

/* Its own numbers: what a node was configured with. */
uint32_t ring_world_incarnation(const struct ring_world *world, mu_slot slot);
uint64_t ring_world_clock_ns(const struct ring_world *world, mu_slot slot);

/* Is its detector at work: it has started, has not crashed and is not fenced?  It may stand still.
 */
static inline bool ring_world_lives(const struct ring_world *world, mu_slot slot)
{
    const struct ring_seat *seat = &world->seats[slot];
    return seat->started && !seat->crashed && !seat->fenced;
}

/* It stands still now. */
static inline bool ring_world_frozen(const struct ring_world *world, mu_slot slot)
{
    return world->seats[slot].frozen_until_ns > world->queue->now_ns;
}

/* For the plan of plan->nodes, with this world as its 'detectors': the node 'slot' tells its
 * clients of this notice, and its detector, too. */
void ring_world_told(void *detectors, mu_slot slot, const struct mu_notice *notice);

/* Has the launcher a connection to this node? */
bool ring_launcher_reaches(const struct ring_world *world, mu_slot slot);

/* For the net and the laws: puts an item into the queue. */
void ring_world_push(struct ring_world *world, uint64_t at_ns, enum ring_what what, mu_slot node,
                     mu_slot peer, uint32_t ref);

#endif
