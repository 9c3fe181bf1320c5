/* Which nodes fail in a repetition of 'muster bench nodefail', what comes of it, and what all of
 * them come to. */
#ifndef MU_BENCH_NODEFAIL_TALLY_H
#define MU_BENCH_NODEFAIL_TALLY_H

#include "core/base/types.h"
#include "sim/base/random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many of 0 .. nodes-1, each once: neighbours on the ring from a drawn one on, or any, with the
 * same chance for all, in rising order. */
void nodefail_draw(struct sim_random *random, uint32_t nodes, uint32_t count, bool contiguous,
                   mu_slot *victims);

enum nodefail_end {
    NODEFAIL_MEASURED,
    NODEFAIL_ENDED_EARLY, /* a daemon had ended before anybody was to fail: there are no figures */
    NODEFAIL_BROKEN,      /* nothing came of it, and it was said why */
};

struct nodefail_sample {
    enum nodefail_end end;
    uint64_t from_ns;     /* right before the first victim was killed, stopped or cut off */
    double detect_ms;     /* until each victim was known to some daemon */
    double each_node_ms;  /* until on each surviving node one process had read all of it */
    double all_told_ms;   /* until the last survivor had read the last event about them */
    double host_stall_ms; /* the longest time meanwhile in which the host stood still */
    uint32_t last_rank;   /* that survivor */
    uint64_t missed;      /* events that survivors did not read in time */
    uint64_t
        wrong; /* events that survivors read and should not have; or daemons that ended early */
    uint64_t stall_ns; /* the longest in all of the repetition, from before its daemons start on */
};

/* Figures of one kind, one of each repetition that has any. */
enum nodefail_figure {
    NODEFAIL_DETECT,
    NODEFAIL_EACH_NODE,
    NODEFAIL_ALL_TOLD,
    NODEFAIL_HOST_STALL,
    NODEFAIL_FIGURES
};

struct nodefail_tally {
    size_t reps;       /* that are to count, and at most NODEFAIL_MORE times as many are repeated */
    uint64_t limit_ns; /* of a stall: a repetition with a longer one does not count */
    size_t taken;      /* repetitions that count and have figures */
    double *ms[NODEFAIL_FIGURES];
    uint64_t missed, wrong; /* in those that count */
    size_t repeated;        /* those that do not */
    uint64_t longest_ns;    /* stall in any of them */
};

enum { NODEFAIL_MORE = 4 };

enum nodefail_next {
    NODEFAIL_NEXT,      /* it counts */
    NODEFAIL_AGAIN,     /* the host stood still: once more the same */
    NODEFAIL_TOO_STILL, /* the same, but too often by now */
    NODEFAIL_CANNOT,    /* it broke, and not because of that */
};

/* 'reps' and 'limit_ns' are set.  False: no memory. */
bool nodefail_tally_make(struct nodefail_tally *tally);
void nodefail_tally_free(struct nodefail_tally *tally);

/* Takes what was measured in, unless it is excused.  At most 'reps' are to count. */
enum nodefail_next nodefail_tally_take(struct nodefail_tally *tally,
                                       const struct nodefail_sample *sample);

#endif
