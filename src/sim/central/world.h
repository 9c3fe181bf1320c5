/* The central detector's virtual world: detectors, each the shipping core, that send each other
 * datagrams in virtual time.  Views are idealised: an oracle tells of each death, decides the next
 * view and installs it at all members, each within a drawn time. */
#ifndef MU_SIM_CENTRAL_WORLD_H
#define MU_SIM_CENTRAL_WORLD_H

#include "core/central/central.h"
#include "sim/base/queue.h"
#include "sim/base/random.h"

#include <stdio.h>

enum { CENTRAL_NODES_MAX = 256, CENTRAL_FAULTS_MAX = 64, CENTRAL_CUTS_MAX = 64 };

enum central_what {
    CENTRAL_DATAGRAM = 1, /* ref: which one */
    CENTRAL_START_UP,     /* a node starts, for the first time or again */
    CENTRAL_TIMER,
    CENTRAL_WAKE,
    CENTRAL_TOLD,    /* node hears that peer, incarnation ref, is out; detail 1: with proof */
    CENTRAL_DECIDE,  /* the next view */
    CENTRAL_INSTALL, /* node installs view ref */
    CENTRAL_FAULT_BEGINS,
    CENTRAL_PROVEN, /* the witness of node says that it has ended */
    CENTRAL_DUE,    /* the law 'found' looks at node, incarnation ref */
    CENTRAL_TURN,   /* the main loop of node has its turn */
    CENTRAL_END,
};

enum central_fault_type {
    CENTRAL_CRASH = 1,  /* node; known: its witness says so; for_ns: it starts again after that */
    CENTRAL_STALL,      /* node stands still for_ns */
    CENTRAL_CUT,        /* node from peer (MU_SLOT_NONE: everybody), ways, for_ns */
    CENTRAL_LOOP_STOPS, /* its main loop stands still for_ns */
};

enum { CENTRAL_OUTWARD = 1, CENTRAL_INWARD = 2 };

enum { CENTRAL_MASTER = UINT32_MAX - 1 }; /* of a fault: whoever is the master then */

struct central_fault {
    enum central_fault_type type;
    uint64_t at_ns, for_ns; /* MU_NEVER: for good */
    mu_slot node, peer;
    uint32_t ways;
    bool known;
    bool aimed;   /* a stall that begins when answers are on their way to it */
    bool excuses; /* who suffers it may be declared */
};

struct central_plan {
    uint64_t seed;
    struct mu_central_config config; /* self, incarnation, nonce are filled in */
    uint64_t delay_ns_min, delay_ns_max;
    uint64_t slow_ns_max, slow_from_ns; /* links get slower, in steps, by up to so much */
    uint32_t loss_ppm, repeat_ppm, replay_ppm, late_ppm;
    uint64_t late_ns_max;
    uint64_t loss_apart_ns; /* not 0: losses that touch one node are so far apart, and excuse
                               nothing */
    uint64_t trouble_until_ns;
    uint64_t stall_ns_max; /* of a stall that excuses nothing */
    uint64_t start_ns_max, timer_ns_max, tell_ns_max, view_ns_max, back_ns_max, turn_ns_max;
    uint32_t inbox_max; /* datagrams that wait for one that stands still */
    bool strict;        /* only who is excused may be declared, while it lives */
    bool timely;        /* the bounds of detection are checked */
    bool reachable;     /* whoever cannot reach its master is reached by the others */
    uint64_t end_ns, quiet_ns;
    struct central_fault faults[CENTRAL_FAULTS_MAX];
    uint32_t fault_count;
    FILE *trace;
};

struct central_datagram {
    struct mu_poll poll;
    uint32_t next; /* in an inbox */
};

struct central_cut {
    mu_slot node, peer;
    uint32_t ways;
    uint64_t until_ns;
};

struct central_view {
    uint32_t incarnation[CENTRAL_NODES_MAX]; /* 0: no member */
};

struct central_seat {
    struct mu_central *central;
    uint32_t incarnation;
    uint64_t timer_ns, deadline_ns;
    uint64_t frozen_until_ns, loop_until_ns;
    uint64_t clock_ns; /* ahead of the world's */
    uint64_t lost_ns;  /* the last loss that touched it */
    uint64_t crashed_ns;
    uint64_t stalled_ns; /* the end of its last stall */
    uint32_t inbox_first, inbox_last, inbox_count;
    uint32_t view; /* installed */
    bool up, fenced, excused;
    bool cut_off;                         /* for good */
    uint32_t told[CENTRAL_NODES_MAX];     /* highest incarnation of each that it knows to be out */
    uint64_t tried_ns[CENTRAL_NODES_MAX]; /* it has last heard each as a helper */
};

struct central_world {
    const struct central_plan *plan;
    struct sim_queue queue;
    struct sim_random random;
    uint32_t size;
    uint8_t *memory;
    size_t bytes;
    struct mu_central_update update;
    struct central_seat *seats;
    struct central_view *views;
    uint32_t view_count;
    uint32_t out[CENTRAL_NODES_MAX]; /* highest incarnation that was declared or is proven */
    bool proven[CENTRAL_NODES_MAX];  /* that one */
    bool deciding;
    struct central_datagram *datagrams;
    uint32_t *unused;
    uint32_t datagram_count, unused_count, datagram_room;
    struct mu_poll record[512];
    uint64_t recorded;
    struct central_cut cuts[CENTRAL_CUTS_MAX];
    uint32_t cut_count;
    uint64_t master_since_ns; /* nobody has changed its mind about the master since then */
    uint64_t crash_ns;        /* the last one */
    uint64_t events, crashes, verdicts, wrong, sent;
    const char *broken;
    char message[256];
    uint64_t step;
};

void central_world_init(struct central_world *world, const struct central_plan *plan);
void central_world_free(struct central_world *world);
void central_world_run(struct central_world *world);

/* ---- for the laws ---- */

static inline bool central_lives(const struct central_world *world, mu_slot slot)
{
    return world->seats[slot].up && !world->seats[slot].fenced;
}

bool central_is_cut(const struct central_world *world, mu_slot from, mu_slot to);
void central_push(struct central_world *world, uint64_t at_ns, enum central_what what, mu_slot node,
                  mu_slot peer, uint32_t ref);

#endif
