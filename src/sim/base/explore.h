/* Every interleaving of a small group, on the shipping core: depth first over saved states.
 *
 * A model is a few nodes and what connects them, all in one block of memory that is copied away and
 * back.  Time is abstracted: an armed deadline may pass at any moment.  States that have the same
 * fingerprint are taken for the same (112 bits are kept: the chance of a mistake in 10^9 states is
 * about 10^-16). */
#ifndef MU_SIM_BASE_EXPLORE_H
#define MU_SIM_BASE_EXPLORE_H

#include "core/base/fingerprint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { EXPLORE_ACTIONS_MAX = 256, EXPLORE_WHOLE = 255 };

struct explore_action {
    uint8_t type; /* the model's own */
    uint8_t a, b;
    uint8_t cut; /* the acting node crashes after so many effects; EXPLORE_WHOLE: it does not */
};

struct explore_model {
    void *state; /* everything that changes */
    size_t state_bytes;

    /* What can happen now.  Returns how many actions were written. */
    uint32_t (*actions)(struct explore_model *model, struct explore_action *actions);

    /* Takes one action, whole or cut short. */
    void (*take)(struct explore_model *model, const struct explore_action *action);

    /* After a whole action: bit i is set when its node might have crashed after i effects, with
     * another outcome than by crashing before or afterwards. */
    uint64_t (*cuts)(struct explore_model *model);

    void (*fingerprint)(const struct explore_model *model, struct mu_fingerprint *print);

    /* NULL, or the law that this state breaks; 'message' says how. */
    const char *(*check)(struct explore_model *model, char message[256]);

    void (*describe)(const struct explore_model *model, const struct explore_action *action,
                     char text[128]);

    /* No state comes again on one way down: else that breaks the law "cycle". */
    bool is_acyclic;
};

struct explore_options {
    uint64_t seconds_max;  /* 0: no limit */
    uint64_t memory_bytes; /* for the visited states */
    void (*progress)(uint64_t states, uint64_t transitions);
    bool any_trace; /* the first violation that is met will do, and not the shortest way to one */
    FILE *trace;    /* where the shortest trace of a violation goes; NULL: nowhere */
};

struct explore_result {
    uint64_t states;
    uint64_t transitions;
    uint64_t depth_max;
    uint64_t violations; /* 0 or 1: the search ends at the first */
    bool complete;       /* every reachable state was visited */
    char law[16];
    char message[256];
    uint32_t trace_length; /* steps of the trace to a violation */
    double wall_s;
    double rss_mib;
};

void explore(struct explore_model *model, const struct explore_options *options,
             struct explore_result *result);

#endif
