/* What was told, held against what a script expects.  No I/O and no clock. */
#ifndef MU_CHAOS_SCRIPT_JUDGE_H
#define MU_CHAOS_SCRIPT_JUDGE_H

#include "chaos/script/script.h"

/* A daemon has told its node of a death. */
struct chaos_told {
    mu_slot by;
    bool is_process;
    uint32_t job, rank; /* of a process */
    mu_slot node;       /* it, or where the process ran */
    uint8_t verdict;    /* enum mu_verdict */
    uint64_t at_ns;     /* when that daemon learned it */
};

/* Everything that happened, on one clock. */
struct chaos_story {
    uint64_t began_ns;
    const uint64_t *step_ns; /* when each step was done */
    const mu_slot *watched;  /* nodes whose daemons are listened to */
    uint32_t watched_count;
    const struct chaos_told *told; /* in the order in which they were heard */
    uint32_t told_count;
};

/* Until when something may still come that counts, if not all that is expected came before. */
uint64_t chaos_judge_until_ns(const struct chaos_script *script, const struct chaos_story *story);

/* Is it met already, so that there is nothing to wait for? */
bool chaos_judge_is_met_early(const struct chaos_script *script, const struct chaos_story *story,
                              uint32_t expect);

/* Is it met?  Otherwise 'seen' says what was seen instead. */
enum { CHAOS_SEEN_MAX = 512 };
bool chaos_judge_expect(const struct chaos_script *script, const struct chaos_story *story,
                        uint32_t expect, char seen[CHAOS_SEEN_MAX]);

/* The next death from *from on that was told and that nobody expects, each once; false: there is
 * none. */
bool chaos_judge_surprise(const struct chaos_script *script, const struct chaos_story *story,
                          uint32_t *from, char seen[CHAOS_SEEN_MAX]);

#endif
