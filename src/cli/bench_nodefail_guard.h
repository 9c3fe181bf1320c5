/* Kills processes when this one has ended, however it ended: what is stopped cannot notice that by
 * itself, and would be left for ever. */
#ifndef MU_CLI_BENCH_NODEFAIL_GUARD_H
#define MU_CLI_BENCH_NODEFAIL_GUARD_H

#include <stdint.h>
#include <sys/types.h>

struct nodefail_guard {
    pid_t pid; /* of the guard; 0: none */
    int fd;    /* closed, by whomever: it strikes */
};

/* 'pids' are children of this process that it has not reaped, so that no number is used again
 * before the guard has taken hold of it.  Returns 0, or -1 with errno. */
int nodefail_guard_start(struct nodefail_guard *guard, const pid_t *pids, uint32_t count);

/* Kills them, and waits for the guard's end.  Without effect when it was not started. */
void nodefail_guard_strike(struct nodefail_guard *guard);

#endif
