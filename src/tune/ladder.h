/* The way down that 'muster tune' takes under one condition: from a long period to a short one,
 * until a node is declared dead though nobody died.  No clock and no machine here: times and
 * results come in, the next step comes out. */
#ifndef MU_TUNE_LADDER_H
#define MU_TUNE_LADDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TUNE_RUNGS = 8,
    TUNE_RATIO = 2,        /* timeout over period: the paper's, and the least that is allowed */
    TUNE_TRIES = 3,        /* of a rung, while the host stands still */
    TUNE_PERIODS_MIN = 10, /* of a step: fewer show nothing */
};

/* The period of a rung: 200 ms at the top, rung 0, and 1 ms at the bottom. */
uint64_t tune_rung_ns(size_t rung);

/* The shortest step with this period. */
uint64_t tune_span_ns_min(uint64_t period_ns);

/* ---- one step ---- */

struct tune_sample {
    uint64_t span_ns;  /* how long it took */
    uint64_t beats;    /* datagrams meanwhile: each heartbeat, and its acknowledgement */
    uint64_t alarms;   /* nodes that were declared dead */
    uint64_t excused;  /* of them, while the host stood still for longer than timeout - period */
    uint64_t stall_ns; /* the longest stall meanwhile; those within a timeout are added up */
    uint64_t node_ns;  /* how long the nodes ran, summed up; what of their time */
    uint64_t cpu_ns;   /* heartbeats took of a core, */
    uint64_t bytes;    /* and what of bytes, without headers of UDP and IP */
    bool is_refused;   /* daemons did not take these times, and did not come up with them either */
};

enum tune_result {
    TUNE_HELD,
    TUNE_ALARM,
    TUNE_REFUSED,
    TUNE_SPOILT, /* by stalls of the host: it shows nothing */
};

enum tune_result tune_judge(const struct tune_sample *sample, uint32_t nodes, uint64_t period_ns);

/* For whoever lives with these times: nobody excuses an alarm there. */
bool tune_is_refuted(const struct tune_sample *sample);

/* ---- all of them ---- */

enum tune_end {
    TUNE_GOES_ON,
    TUNE_END_BOTTOM,  /* every rung held */
    TUNE_END_ALARM,   /* the first false alarm */
    TUNE_END_REFUSED, /* daemons do not come up with these times */
    TUNE_END_STALLS,  /* a rung was spoilt as often as it may be, or no time is left to repeat it */
    TUNE_END_TIME,    /* no time is left for the next rung */
};

/* Zeroed at first. */
struct tune_ladder {
    size_t rung;     /* that is next */
    uint32_t spoilt; /* tries of it */
    enum tune_end end;
    uint64_t held_ns;   /* the shortest period that held; 0: none */
    uint64_t failed_ns; /* the one that did not; 0: none */
};

/* The next step, when so much time is left for all that follow.  The top is tried however little
 * that is: without it there is nothing to recommend.  False: it is over, and 'end' says why. */
bool tune_ladder_next(struct tune_ladder *ladder, uint64_t left_ns, uint64_t *period_ns,
                      uint64_t *span_ns);

/* What came of that step. */
void tune_ladder_take(struct tune_ladder *ladder, enum tune_result result);

#endif
