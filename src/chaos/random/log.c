#define _GNU_SOURCE /* memfd_create() */
#include "chaos/random/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

bool chaos_log_open(struct chaos_log *log)
{
    log->saved = -1;
    log->fd = memfd_create("muster-chaos-log", MFD_CLOEXEC);
    return log->fd >= 0 && fcntl(log->fd, F_SETFL, O_APPEND) == 0;
}

void chaos_log_close(struct chaos_log *log)
{
    if (log->fd >= 0)
        close(log->fd);
    log->fd = -1;
}

void chaos_log_divert(struct chaos_log *log)
{
    fflush(stderr);
    log->saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (log->saved >= 0)
        dup2(log->fd, STDERR_FILENO);
}

void chaos_log_restore(struct chaos_log *log)
{
    fflush(stderr);
    if (log->saved < 0)
        return;
    dup2(log->saved, STDERR_FILENO);
    close(log->saved);
    log->saved = -1;
}

void chaos_log_show(struct chaos_log *log)
{
    char bytes[4096];
    off_t at = 0;
    for (ssize_t count; (count = pread(log->fd, bytes, sizeof bytes, at)) > 0; at += count)
        fwrite(bytes, 1, (size_t)count, stderr);
    chaos_log_forget(log);
}

void chaos_log_forget(struct chaos_log *log)
{
    if (ftruncate(log->fd, 0) != 0)
        return; /* it cannot fail; then it is shown later */
}
