/* Who tells an orphan: a node whose parent in the tree of a notice is known to be dead. */
#ifndef MU_CORE_ADOPT_H
#define MU_CORE_ADOPT_H

#include "core/dead.h"
#include "core/graph.h"

enum { MU_ADOPTERS = 3 };

/* Of the orphan's own neighbours that are not known to be dead the three nearest to the root tell
 * it; when it has fewer, also everybody else whose edge leads there since others died.  Is 'self',
 * whose edge leads there, one of them?  All of three may be dead and not known to be; then the
 * others see it when they hear of the last. */
bool mu_adopts(const struct mu_dead *dead, mu_slot root, mu_slot self, mu_slot orphan);

#endif
