/* A script of timed faults and of what must be told of them: docs/operate/fault-injection.md. */
#ifndef MU_CHAOS_SCRIPT_SCRIPT_H
#define MU_CHAOS_SCRIPT_SCRIPT_H

#include "chaos/fault.h"

#include <stdio.h>

struct chaos_step {
    uint32_t line;
    uint64_t at_ns; /* since the script began */
    struct chaos_fault fault;
};

enum chaos_expects {
    CHAOS_TOLD, /* TARGET VERDICT within T */
    CHAOS_NO,   /* nothing of TARGET until T after the step */
    CHAOS_NONE, /* nothing at all between the step and T after it */
};

struct chaos_expect {
    uint32_t line;
    uint32_t step; /* index of the one that it belongs to */
    enum chaos_expects kind;
    struct chaos_target target; /* TOLD, NO */
    bool one;                   /* TOLD: of one of them, whichever it is, and of no other */
    uint8_t verdict;            /* TOLD: enum mu_verdict; 0: any */
    uint64_t span_ns;
    bool has_at; /* else whoever is watched; of TOLD, without those that are out */
    struct chaos_list at;
};

struct chaos_allow {
    bool any;
    struct chaos_target target;
};

/* Zeroed at first; freed with chaos_script_free(). */
struct chaos_script {
    struct chaos_step *steps;
    struct chaos_expect *expects;
    struct chaos_allow *allows;
    uint32_t step_count, expect_count, allow_count;
};

/* One line, which is cut up.  NULL, or why not, in 'why'. */
const char *chaos_script_line(struct chaos_script *script, char *text, uint32_t line,
                              char why[CHAOS_WHY_MAX]);

/* All lines.  NULL, or a sentence with the line's number in 'why'. */
const char *chaos_script_read(struct chaos_script *script, FILE *file, char why[CHAOS_WHY_MAX]);
void chaos_script_free(struct chaos_script *script);

/* "node=3 silent within 250 ms at 0-2".  Returns 'text'. */
const char *chaos_expect_text(const struct chaos_expect *expect, char text[CHAOS_FAULT_TEXT_MAX]);

#endif
