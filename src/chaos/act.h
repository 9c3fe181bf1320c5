/* Carries faults out, on the daemons of this host, and undoes them. */
#ifndef MU_CHAOS_ACT_H
#define MU_CHAOS_ACT_H

#include "chaos/fault.h"
#include "rig/guard.h"
#include "launch/operator.h"

/* A fault in force. */
struct chaos_hold {
    struct operator_link *links; /* of the network: to each node that has it */
    int *pidfds;                 /* of what is stopped */
    uint32_t link_count, pidfd_count;
    struct guard guard; /* which continues that */
};

/* Does it.  'held': it is not to outlive this process, and chaos_undo() ends it before; else it
 * stays, and *hold is empty.  False: 'why' says why, and what was done of it is undone. */
bool chaos_do(const struct operator_found *found, const struct chaos_fault *fault, bool held,
              struct chaos_hold *hold, char why[OPERATOR_TEXT_MAX]);

/* Heals or continues; not what another fault has taken the place of. */
void chaos_undo(struct chaos_hold *hold);

#endif
