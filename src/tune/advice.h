/* What 'muster tune' recommends, from what it has seen. */
#ifndef MU_TUNE_ADVICE_H
#define MU_TUNE_ADVICE_H

#include <stdbool.h>
#include <stdint.h>

enum { TUNE_MARGIN = 2 }; /* over the shortest period that held, and over the longest stall */

enum tune_condition {
    TUNE_IDLE,
    TUNE_LOAD,   /* processes compute on each core */
    TUNE_LAUNCH, /* the same, and short processes are started all the time */
    TUNE_CONDITIONS,
};

struct tune_facts {
    uint64_t held_ns[TUNE_CONDITIONS]; /* the shortest period that held; 0: none */
    uint64_t stall_ns;   /* the longest time for which the host stood still, in one piece */
    uint64_t refuted_ns; /* the longest period that was to be recommended and did not hold,
                            whoever's fault that was; 0: none */
};

enum tune_reason {
    TUNE_BY_HELD,
    TUNE_BY_STALL,
    TUNE_BY_CHECK, /* what was recommended before did not hold */
};

struct tune_advice {
    uint64_t period_ns, timeout_ns;
    enum tune_reason reason; /* what asked for the longest period */
    uint64_t held_ns;        /* the shortest period that held under every condition */
};

/* The period is the margin over whatever asks for most, rounded up to a number that people write;
 * whole milliseconds.  On a host that stands still for longer than timeout - period nodes that live
 * are declared dead, whoever's fault that is: so the longest stall counts as well as what held.
 *
 * False with *advice untouched: under some condition no pair held, or none that is allowed would
 * do. */
bool tune_advise(const struct tune_facts *facts, struct tune_advice *advice);

/* The next period from this one on that people write: 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 25, 30, 40,
 * 50, 60, 80, 100, 150 ... milliseconds. */
uint64_t tune_round_up_ns(uint64_t period_ns);

#endif
