/* Sends a signal to processes when this one has ended, however it ended: what is stopped cannot
 * notice that by itself, and would be left for ever. */
#ifndef MU_RIG_GUARD_H
#define MU_RIG_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct guard {
    pid_t pid; /* of the guard; 0: none */
    int fd;    /* closed, by whomever: it strikes */
};

/* The pidfd of a process, close-on-exec; or -1 with errno. */
int guard_hold(pid_t pid);

/* Through a pidfd.  False with errno: ESRCH, it has ended. */
bool guard_signal(int pidfd, int signal);

/* A process of its own, which keeps the pidfds; the caller's remain the caller's.  Returns 0, or
 * -1 with errno. */
int guard_start(struct guard *guard, const int *pidfds, uint32_t count, int signal);

/* Sends the signal, and waits for the guard's end.  Without effect when it was not started. */
void guard_strike(struct guard *guard);

#endif
