/* What must have been told by the end of a round of 'muster chaos random', and what must not; held
 * against what the readers have counted. */
#ifndef MU_CHAOS_RANDOM_LAW_H
#define MU_CHAOS_RANDOM_LAW_H

#include "chaos/random/plan.h"
#include "rig/page.h"

enum chaos_fate {
    CHAOS_LIVES,
    CHAOS_EITHER, /* nobody can know: whoever is told, all are */
    CHAOS_DIES,
};

/* Of one machine.  Zeroed: all live. */
struct chaos_law {
    uint32_t nodes;
    uint8_t node[CHAOS_NODES_MAX];    /* enum chaos_fate */
    uint8_t process[CHAOS_NODES_MAX]; /* of rank r, which is on node r */
    mu_slot pair[CHAOS_NODES_MAX];    /* of a node of two of which one dies: the other, plus 1 */
};

struct chaos_findings {
    uint64_t told;       /* that were to be told, and were */
    uint64_t missed;     /* that were not */
    uint64_t duplicates; /* told more than once */
    uint64_t wrong;      /* told, and nobody has died */
    char first[160];     /* which one it was; "": nothing is missing or wrong */
};

/* What this fault changes. */
void chaos_law_take(struct chaos_law *law, const struct chaos_planned *planned);

/* Something went otherwise than planned: this node may be declared dead, or not. */
void chaos_law_blur(struct chaos_law *law, mu_slot node);

void chaos_law_find(const struct chaos_law *law, struct rig_page *page,
                    struct chaos_findings *findings);

#endif
