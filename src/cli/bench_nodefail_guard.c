#define _GNU_SOURCE
#include "cli/bench_nodefail_guard.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A fork of a process with threads: only what a signal handler might call.  It keeps no descriptor
 * of the bench, so that daemons notice its end. */
static _Noreturn void be_guard(int fd, const pid_t *pids, uint32_t count)
{
    char word = 0;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL); /* Ctrl-C is for the bench */
    prctl(PR_SET_NAME, "bench-guard");
    if (dup2(fd, 0) != 0 || syscall(SYS_close_range, 1, ~0u, 0) != 0)
        _exit(1);
    for (uint32_t i = 0; i < count; i++)
        if (syscall(SYS_pidfd_open, pids[i], 0) != (long)i + 1)
            _exit(1);
    if (write(0, &word, 1) != 1)
        _exit(1);
    while (read(0, &word, 1) < 0 && errno == EINTR)
        ;
    for (uint32_t i = 0; i < count; i++)
        syscall(SYS_pidfd_send_signal, (int)i + 1, SIGKILL, NULL, 0);
    _exit(0);
}

int nodefail_guard_start(struct nodefail_guard *guard, const pid_t *pids, uint32_t count)
{
    char word;
    int ends[2];
    *guard = (struct nodefail_guard){.fd = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0)
        be_guard(ends[1], pids, count);
    int error = errno;
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
    nodefail_guard_strike(guard);
    errno = ECHILD; /* it could not take hold of them */
    return -1;
}

void nodefail_guard_strike(struct nodefail_guard *guard)
{
    if (guard->pid == 0)
        return;
    close(guard->fd);
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    guard->pid = 0;
}
