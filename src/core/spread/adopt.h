/* Who tells an orphan: a node whose parent in the tree of a notice is known to be dead. */
#ifndef MU_CORE_SPREAD_ADOPT_H
#define MU_CORE_SPREAD_ADOPT_H

#include "core/base/roster.h"
#include "core/base/graph.h"

enum { MU_ADOPTERS = 3 };

/* Is 'self', which has the news and whose edge leads to the orphan, one of those who tell it?
 *
 * These are the three nearest to the root of the orphan's own neighbours, as far as they are not
 * known to be dead; when it has fewer, everybody.  All of three may be dead and not known to be:
 * then the others see it when they hear of the first.
 *
 * The root, and whoever is an orphan itself, tells every orphan: those three may be waiting for it.
 * So the news comes as far as it would if everybody told every orphan. */
bool mu_adopts(const struct mu_roster *roster, mu_slot root, mu_slot self, mu_slot orphan);

#endif
