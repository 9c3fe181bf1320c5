/* Small worlds of the central detector, drawn from a seed. */
#ifndef MU_SIM_CENTRAL_DRAW_H
#define MU_SIM_CENTRAL_DRAW_H

#include "sim/central/world.h"

/* What kind of trouble a world has.  Each kind is there for a law that is exact only in it. */
enum central_kind {
    CENTRAL_KIND_WITHIN,  /* crashes, and delays and stalls that excuse nothing */
    CENTRAL_KIND_LOSSES,  /* datagrams are lost, but too few to excuse anything */
    CENTRAL_KIND_STALLED, /* one node stands still for long: who moves is not declared */
    CENTRAL_KIND_CUT_OFF, /* one node is cut off: so, too */
    CENTRAL_KIND_PAIR,    /* a host and its master do not hear each other, and all others do */
    CENTRAL_KIND_SLOWER,  /* links get slower and slower */
    CENTRAL_KIND_MASTERS, /* one master after the other dies */
    CENTRAL_KIND_LOOP,    /* a main loop stands still */
    CENTRAL_KIND_STORM,   /* everything at once */
    CENTRAL_KINDS,
};

struct central_draw {
    struct sim_random random;
    struct central_plan plan;
    enum central_kind kind;
    uint64_t from_ns, until_ns; /* faults begin between the two */
};

void central_draw(struct central_draw *draw, uint64_t seed, uint32_t nodes, uint32_t broken_rules);

#endif
