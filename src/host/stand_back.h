/* Who was killed stands back for a moment, for those who are to be told of it.
 *
 * The kernel takes a process apart in its last thread, with the priority that it had: 2 ms for an
 * MPI process that has done nothing yet, on the core where its neighbours wait to be told.  What it
 * holds is free so much later, and who needs a lock of the kernel that it has waits as well; so it
 * is for a moment only.  A daemon that is killed or stopped within it gives nothing back. */
#ifndef MU_HOST_STAND_BACK_H
#define MU_HOST_STAND_BACK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { MU_STAND_BACK_MS = 10 };

/* A thread of a child of this process that was killed and not reaped yet. */
struct mu_stand_back {
    pid_t group;
    pid_t thread; /* 0: it does not stand back */
    int nice;     /* that it had before */
};

/* May this process give back what it takes?  Needs CAP_SYS_NICE. */
bool mu_stand_back_may(void);

/* Nothing happens where the thread is gone. */
void mu_stand_back_begin(struct mu_stand_back *back, pid_t group, pid_t thread);

/* Before the child is reaped.  Once more is no harm. */
void mu_stand_back_end(struct mu_stand_back *back);

#endif
