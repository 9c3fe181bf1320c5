/* The inside of 'muster why'; for cli and its test. */
#ifndef MU_CLI_WHY_H
#define MU_CLI_WHY_H

#include "command/account.h"
#include "launch/operator.h"

struct why_subject {
    bool is_node;
    mu_slot node;       /* NODE */
    uint32_t job, rank; /* else */
};

/* "2" or "1.4".  False: it is neither. */
bool why_subject_read(const char *text, struct why_subject *subject);

/* ---- where it is known from ---- */

enum { WHY_TEXT_MAX = 1024 };

/* The daemons of one cluster on this host.  True: it is known, and *account is to be freed.  False:
 * 'text' is a sentence that says why not, and what would help. */
bool why_live(const struct operator_found *found, const struct why_subject *subject,
              struct account *account, char text[WHY_TEXT_MAX]);

/* The same from the lines of a report.  A process that was lost with its node has no line of its
 * own: that of the node has its rank. */
bool why_report(FILE *file, const char *path, const struct why_subject *subject,
                struct account *account, char text[WHY_TEXT_MAX]);

/* ---- step by step ---- */

enum { WHY_STEPS_MAX = 14, WHY_STEP_TEXT_MAX = 512 };

struct why_step {
    const char *word; /* for scripts */
    bool has_time;
    uint64_t at_ns; /* since it was last heard, or since it was seen dead */
    char text[WHY_STEP_TEXT_MAX];
};

/* In their order.  Returns how many. */
size_t why_steps(const struct account *account, struct why_step steps[WHY_STEPS_MAX]);

#endif
