/* Processes that lost their parent somewhere below this one: children of a job's processes that
 * left the group (setsid()), so that no signal to the group reaches them.
 *
 * As a subreaper this process inherits them, instead of init.  So they cannot escape: every child
 * that nobody here started is an orphan.  It lives while jobs run (it may be somebody's helper),
 * and is killed when the last one is over.
 *
 * A start in progress looks like an orphan: call these only while no process is being started.  A
 * kernel without /proc/PID/task/TID/children has no orphans to show, and nothing is done. */
#ifndef MU_HOST_ORPHANS_H
#define MU_HOST_ORPHANS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* From now on orphans come here.  Returns 0 or an errno. */
int mu_orphans_adopt(void);

/* Reaps every orphan that is dead, after killing those that are not when 'kill' says so.  'ours'
 * are the children that are no orphans, in ascending order.  Never waits.  Returns how many orphans
 * it found.  Killing one may bring us its children, so there are none left only when it finds none.
 */
uint32_t mu_orphans_sweep(const pid_t *ours, uint32_t count, bool kill);

/* Kills and reaps all children until none is left or the time is over: for the end of the daemon.
 * Returns how many it found last: when not 0, these hang in the kernel. */
uint32_t mu_orphans_end(uint64_t timeout_ns);

#endif
