/* Children that a signal has killed, before the kernel has taken them apart.
 *
 * A parent hears of an end when the child's memory is gone: after 2 ms for an MPI process that has
 * done nothing yet, and the later the more there is.  The kernel's accounting (taskstats) is told
 * before that, when the last thread can run no more: no line of the program, no write to a pipe or
 * a socket.  So what it says is an end, and its cause.  What the child held is free later: memory,
 * files, locks, ports, its number.
 *
 * Only those ends are told here whose cause is certain by then: not an exit code, which is that of
 * the first thread and not of the last; nor a signal that makes a core file, but by the thread that
 * has written it.
 *
 * Needs Linux 5.19, CAP_NET_ADMIN, and the host's own namespaces of processes and networks; and the
 * kernel throws away what there is no room for.  So it is never the only way: whoever uses it waits
 * for the child as well.  Not thread-safe. */
#ifndef MU_HOST_EARLY_ENDS_H
#define MU_HOST_EARLY_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mu_early_end {
    pid_t pid;
    int signal;
    bool core_dumped;
};

enum { MU_EARLY_ENDS_PROCESSORS = 256 };

struct mu_early_ends {
    int fd; /* readable while there are some; -1: not open */
    pid_t self;
    uint16_t service; /* the number of the kernel's */
    char processors[MU_EARLY_ENDS_PROCESSORS];
};

/* Returns 0, or an errno where they are not to be had; then it is closed. */
int mu_early_ends_open(struct mu_early_ends *ends);
void mu_early_ends_close(struct mu_early_ends *ends);

/* One child of this process.  False: there is none.
 *
 * A number that is read here may be somebody else's by then, if its child was reaped meanwhile:
 * read until there is none before reaping any. */
bool mu_early_ends_next(struct mu_early_ends *ends, struct mu_early_end *end);

/* One message of the kernel; 'parent' is this process.  False: it is no such end. */
bool mu_early_ends_decode(const uint8_t *bytes, size_t count, pid_t parent,
                          struct mu_early_end *end);

#endif
