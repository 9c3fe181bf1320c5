#define _GNU_SOURCE
#include "rig/guard.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int guard_hold(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

bool guard_signal(int pidfd, int signal)
{
    return syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) == 0;
}

/* All but these, which go up. */
static bool close_others(const int *fds, uint32_t count)
{
    unsigned from = 0;
    for (uint32_t i = 0; i < count; from = (unsigned)fds[i++] + 1)
        if (from < (unsigned)fds[i] && syscall(SYS_close_range, from, (unsigned)fds[i] - 1, 0) != 0)
            return false;
    return syscall(SYS_close_range, from, ~0u, 0) == 0;
}

/* A fork of a process with threads: only what a signal handler might call.  It keeps no other
 * descriptor, so that daemons notice the end of who started them.  One of 'fds' is its end of the
 * socket. */
static _Noreturn void be_guard(int fd, const int *fds, uint32_t count, int number)
{
    char word = 0;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL); /* Ctrl-C is for whom it guards, */
    setsid();                             /* and so is a SIGKILL for the whole process group */
    prctl(PR_SET_NAME, "muster-guard");
    if (!close_others(fds, count) || write(fd, &word, 1) != 1)
        _exit(1);
    while (read(fd, &word, 1) < 0 && errno == EINTR)
        ;
    for (uint32_t i = 0; i < count; i++)
        if (fds[i] != fd)
            guard_signal(fds[i], number);
    _exit(0);
}

static int compare(const void *a, const void *b)
{
    int one = *(const int *)a, other = *(const int *)b;
    return (one > other) - (one < other);
}

/* Forks; the guard has its end of the socket in 'ends', and 'fds' has room for one more. */
static pid_t start(const int ends[2], int *fds, uint32_t count, int number)
{
    fds[count++] = ends[1];
    qsort(fds, count, sizeof *fds, compare);
    pid_t pid = fork();
    if (pid == 0)
        be_guard(ends[1], fds, count, number);
    return pid;
}

int guard_start(struct guard *guard, const int *pidfds, uint32_t count, int signal)
{
    char word;
    int ends[2];
    *guard = (struct guard){.fd = -1};
    int *fds = malloc((count + 1) * sizeof *fds);
    if (fds == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        free(fds);
        return -1;
    }
    if (count > 0)
        memcpy(fds, pidfds, count * sizeof *fds);
    pid_t pid = start(ends, fds, count, signal);
    int error = errno;
    free(fds);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        errno = error;
        return -1;
    }
    guard->pid = pid;
    guard->fd = ends[0];
    ssize_t got;
    do
        got = read(guard->fd, &word, 1);
    while (got < 0 && errno == EINTR);
    if (got == 1)
        return 0;
    guard_strike(guard);
    errno = ECHILD; /* it could not take hold of them */
    return -1;
}

void guard_strike(struct guard *guard)
{
    if (guard->pid == 0)
        return;
    close(guard->fd);
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    guard->pid = 0;
}
