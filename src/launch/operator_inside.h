/* The inside of operator.h; for launch only. */
#ifndef MU_LAUNCH_OPERATOR_INSIDE_H
#define MU_LAUNCH_OPERATOR_INSIDE_H

#include "launch/operator.h"

/* Another user has taken its name, or nobody has it any more. */
bool operator_is_foreign(const struct operator_daemon *daemon);

#endif
