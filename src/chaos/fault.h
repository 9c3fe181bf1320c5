/* One fault, as people write it: of 'muster chaos', of a line of a script, drawn from a seed. */
#ifndef MU_CHAOS_FAULT_H
#define MU_CHAOS_FAULT_H

#include "wire/local/chaos.h"

enum {
    CHAOS_WHY_MAX = 256,
    CHAOS_TEXT_MAX = 160,
    CHAOS_LIST_TEXT_MAX = 96,
};

/* ---- lists of numbers: "3", "0-2,5,7-9" ---- */

struct chaos_list {
    uint8_t count; /* of ranges, which are in order and apart */
    struct mu_chaos_range ranges[MU_CHAOS_RANGES_MAX];
};

/* NULL, or why not, in 'why'. */
const char *chaos_list_parse(const char *text, struct chaos_list *list, char why[CHAOS_WHY_MAX]);

bool chaos_list_has(const struct chaos_list *list, uint32_t number);
uint32_t chaos_list_size(const struct chaos_list *list);
struct chaos_list chaos_list_of(uint32_t number);

/* Cut off with "..." where it is too long.  Returns 'text'. */
const char *chaos_list_text(const struct chaos_list *list, char text[CHAOS_LIST_TEXT_MAX]);

/* ---- whom it hits ---- */

struct chaos_target {
    bool is_process;
    uint32_t job;           /* of processes */
    struct chaos_list list; /* nodes, or ranks */
};

/* "node=LIST" or "proc=JOB.LIST". */
const char *chaos_target_parse(const char *text, struct chaos_target *target,
                               char why[CHAOS_WHY_MAX]);
const char *chaos_target_text(const struct chaos_target *target, char text[CHAOS_TEXT_MAX]);

/* ---- what it does ---- */

enum chaos_verb {
    CHAOS_KILL,
    CHAOS_STOP,
    CHAOS_CONT,
    CHAOS_CUT,
    CHAOS_HEAL,
    CHAOS_FLAP,
    CHAOS_SLOW,
    CHAOS_VERBS
};

struct chaos_fault {
    enum chaos_verb verb;
    struct chaos_target target;
    uint64_t for_ns;     /* 0: until something ends it */
    struct mu_chaos net; /* of cut, heal, flap and slow: as the daemon is told */
};

const char *chaos_verb_word(enum chaos_verb verb);

/* The words of docs/operate/fault-injection.md, without dashes: {"cut", "node=3", "out", "for",
 * "1s"}.  NULL, or why not, in 'why'. */
const char *chaos_fault_parse(const char *const *words, uint32_t count, struct chaos_fault *fault,
                              char why[CHAOS_WHY_MAX]);

/* Such words again.  Returns 'text'. */
enum { CHAOS_FAULT_TEXT_MAX = 400 };
const char *chaos_fault_text(const struct chaos_fault *fault, char text[CHAOS_FAULT_TEXT_MAX]);

#endif
