/* The schedule of 'muster chaos random': drawn from the seed alone, round by round, whatever comes
 * of it.  So it has only faults of which it is known what must be told: too short for anybody to
 * be declared dead, or too long for nobody to be. */
#ifndef MU_CHAOS_RANDOM_PLAN_H
#define MU_CHAOS_RANDOM_PLAN_H

#include "chaos/fault.h"
#include "sim/base/random.h"

enum { CHAOS_ROUND_MAX = 3, CHAOS_NODES_MIN = 8, CHAOS_NODES_MAX = 1024 };

/* What must come of a fault. */
enum chaos_outcome {
    CHAOS_NOTHING,
    CHAOS_PROCESS_DIES,
    CHAOS_NODE_DIES,
    CHAOS_ONE_DIES, /* of the node and its peer: whom fewer others reach */
};

enum chaos_kind {
    CHAOS_KIND_KILL_PROCESS,
    CHAOS_KIND_KILL_NODE,
    CHAOS_KIND_STOP_SHORT,
    CHAOS_KIND_STOP_LONG,
    CHAOS_KIND_CUT_SHORT, /* both ways, in or out */
    CHAOS_KIND_CUT_LONG,  /* both ways, or out */
    CHAOS_KIND_FLAP_FAST,
    CHAOS_KIND_FLAP_SLOW,
    CHAOS_KIND_SLOW,
    CHAOS_KIND_IN_MEDIUM, /* hears nobody, and others hear it: some timeouts are no reason */
    CHAOS_KIND_IN_LONG,
    CHAOS_KIND_PART_MEDIUM, /* cut off from one or two others: as before */
    CHAOS_KIND_PART_LONG,   /* cut off from its observer */
    CHAOS_KINDS
};

const char *chaos_kind_word(enum chaos_kind kind);

struct chaos_planned {
    enum chaos_kind kind;
    enum chaos_outcome outcome;
    uint64_t after_ns; /* the beginning of the round */
    mu_slot node, peer;
    struct chaos_fault fault;
};

struct chaos_round {
    uint32_t number;     /* from 0 */
    bool is_new_machine; /* it begins with one */
    uint32_t count;
    struct chaos_planned faults[CHAOS_ROUND_MAX]; /* in the order of their times */
    uint64_t length_ns;                           /* from the beginning to the end of the last */
};

struct chaos_plan {
    uint32_t nodes;
    uint64_t period_ns, timeout_ns;
    struct sim_random random;
    uint32_t rounds;
    uint32_t sure; /* nodes that live, by plan */
    bool is_sure[CHAOS_NODES_MAX];
    bool is_dead[CHAOS_NODES_MAX]; /* surely; what is neither may be one or the other */
    bool has_process[CHAOS_NODES_MAX];
};

void chaos_plan_init(struct chaos_plan *plan, uint32_t nodes, uint64_t period_ns,
                     uint64_t timeout_ns, uint64_t seed);
void chaos_plan_next(struct chaos_plan *plan, struct chaos_round *round);

#endif
