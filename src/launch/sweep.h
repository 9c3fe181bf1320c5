/* Nothing is left behind: whoever outlives its parents becomes our child, and is killed at the end.
 */
#ifndef MU_LAUNCH_SWEEP_H
#define MU_LAUNCH_SWEEP_H

#include "launch/machine.h"

#include <stdint.h>

/* From now on orphans among our descendants become our children (PR_SET_CHILD_SUBREAPER). */
void run_sweep_prepare(void);

/* The daemon of a node has ended.  Its processes die with it, but what they have started themselves
 * does not, and has become ours: kills every child that is no daemon, and reaps the dead.  Never
 * waits.  Returns how many there were: once more, until there is none. */
uint32_t run_sweep_lost(const struct machine *machine);

/* Kills and reaps every child, and theirs, which become ours; for as long as 'timeout_ms'.  When no
 * child is left that anybody else waits for. */
void run_sweep(uint32_t timeout_ms);

#endif
