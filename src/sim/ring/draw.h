/* Small worlds of the ring, drawn from a seed. */
#ifndef MU_SIM_RING_DRAW_H
#define MU_SIM_RING_DRAW_H

#include "sim/ring/world.h"

enum { RING_FAULTS_MAX = 1024 };

/* What kind of trouble a world has.  Each kind is there for a law that is exact only in it. */
enum ring_kind {
    RING_WITHIN_BOUNDS, /* crashes and stops; nobody else is late, and nothing is lost */
    RING_FEW_LOSSES,    /* the same, and datagrams are lost, but too few to excuse anything */
    RING_CUT_PAIR,      /* two nodes cannot reach each other, and nothing else */
    RING_CUT_NODES,     /* some nodes are cut off from all others, in one way or both */
    RING_STORM,         /* everything at once */
    RING_SIDES,         /* two sides do not hear each other, in one way or both, and then they do */
    RING_LAST_WORDS,    /* an observer declares one that stands still, and dies */
    RING_TAKEN,         /* two cannot reach each other, and those who help have troubles, too */
    RING_KINDS,
};

struct ring_draw {
    struct sim_random random;
    struct ring_plan plan;
    struct ring_fault faults[RING_FAULTS_MAX];
    enum ring_kind kind;
    uint64_t other_period_ns, other_timeout_ns; /* set at run time in some worlds */
    uint64_t limit_ns;                          /* delay and stall together stay below */
    uint64_t stall_ns_max;                      /* that excuses nothing */
    uint64_t from_ns, until_ns;                 /* faults begin between the two */
};

/* The plan points into the draw. */
void ring_draw(struct ring_draw *draw, uint64_t seed, uint32_t nodes, uint32_t broken_rules);

#endif
