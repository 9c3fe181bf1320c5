/* Processes of jobs that have not begun here and are gone already: kept until their job begins.
 *
 * A launcher starts a job on one node after the other, and gives a job to more nodes later, when
 * one of its processes spawns another job there.  So any number of its processes may be gone by
 * then, and each must be known: an exchange would wait for it for ever.  The journal has the last
 * events only; this has all, in the order in which they came.
 *
 * It grows with those who are gone, up to MU_UNBEGUN_MAX: as many as the largest job has.  Of a job
 * of which one did not fit that is known, and it cannot begin here.  For roll.c only. */
#ifndef MU_DAEMON_ROLL_UNBEGUN_H
#define MU_DAEMON_ROLL_UNBEGUN_H

#include "daemon/roll/gone.h"
#include "wire/launch/launch.h"

enum { MU_UNBEGUN_MAX = MU_LAUNCH_RANKS_MAX };

struct mu_unbegun_one {
    uint32_t job;
    mu_slot node;
    struct mu_gone gone; /* its index is the rank */
    struct mu_proof proof;
};

struct mu_unbegun {
    uint32_t max; /* MU_UNBEGUN_MAX, or fewer in a test */
    uint32_t count, room;
    struct mu_unbegun_one *all;
    uint32_t *places; /* by hash of job and rank: the place in 'all', plus 1; 0: free */
    uint32_t place_count;
    uint32_t lost_count;
    uint32_t *lost; /* jobs of which one did not fit */
};

/* Takes no memory. */
void mu_unbegun_init(struct mu_unbegun *unbegun, uint32_t max);
void mu_unbegun_free(struct mu_unbegun *unbegun);

bool mu_unbegun_has(const struct mu_unbegun *unbegun, uint32_t job, uint32_t rank);

/* One that is not there yet; the serial is above all others'. */
void mu_unbegun_add(struct mu_unbegun *unbegun, const struct mu_local_event *event);

/* Has one of this job not fitted? */
bool mu_unbegun_lost(const struct mu_unbegun *unbegun, uint32_t job);

/* Each of this job, in the order of serials; then they are forgotten, and what was lost of it. */
void mu_unbegun_take(struct mu_unbegun *unbegun, uint32_t job,
                     void (*each)(void *arg, const struct mu_local_event *event), void *arg);

#endif
