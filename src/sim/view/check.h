/* One small world of views, drawn from its seed and checked against the laws of docs/spec/view.md.
 */
#ifndef MU_SIM_VIEW_CHECK_H
#define MU_SIM_VIEW_CHECK_H

#include "sim/base/check.h"

/* Larger ones find nothing that these do not. */
enum { SIM_CHECK_VIEW_NODES_MAX = 64 };

sim_check_one sim_check_view_one;

#endif
