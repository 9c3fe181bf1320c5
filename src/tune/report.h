/* What 'muster tune' says of what it has seen: words for a person, and one JSON object. */
#ifndef MU_TUNE_REPORT_H
#define MU_TUNE_REPORT_H

#include "rig/watch.h"
#include "tune/advice.h"
#include "tune/ladder.h"

enum {
    TUNE_CHECKS_MAX = 8, /* a step idle, and one that is launching */
    TUNE_STEPS_MAX = TUNE_CONDITIONS * TUNE_RUNGS * TUNE_TRIES + 2 * TUNE_CHECKS_MAX,
};

struct tune_step {
    enum tune_condition condition;
    bool is_check; /* of what was going to be recommended */
    uint64_t period_ns;
    enum tune_result result;
    struct tune_sample sample;
    char text[VERDICT_TEXT_MAX]; /* how a false alarm came about */
};

struct tune_outcome {
    uint32_t nodes, load_per_core;
    uint64_t took_ns, machines;
    bool
        is_realtime; /* so were the timers on each core: what they saw was the host, not the load */
    struct tune_step steps[TUNE_STEPS_MAX];
    size_t step_count;
    struct tune_ladder ladders[TUNE_CONDITIONS];
    struct tune_facts facts;
    bool has_advice;
    struct tune_advice advice;
    const struct tune_step *check; /* in which the advice held, or a shorter one; NULL: none */
    struct tune_sample cost;       /* of the advice, idle; node_ns is 0: not measured */
};

/* "under load" */
const char *tune_condition_text(enum tune_condition condition);

void tune_print_words(const struct tune_outcome *outcome);
void tune_print_json(const struct tune_outcome *outcome);

#endif
