#include "host/log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char log_name[64] = "?";
static bool log_verbose;
static int log_fd = STDERR_FILENO;

void mu_log_open(const char *name, bool verbose)
{
    snprintf(log_name, sizeof log_name, "%s", name);
    log_verbose = verbose;
    /* A file never blocks, and opened once more it would be written to at a place of our own, over
     * which whoever shares it writes. */
    struct stat status;
    if (fstat(STDERR_FILENO, &status) == 0 && S_ISREG(status.st_mode))
        return;
    /* Opened once more, it can be told not to block without telling whoever shares it: a terminal
     * that stands still must not hold up a daemon.  A socket cannot, and stays as it is. */
    int own = open("/proc/self/fd/2", O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (own >= 0)
        log_fd = own;
}

/* One write() for a line: daemons share the terminal. */
static void put(const char *format, va_list arguments)
{
    char line[512];
    int head = snprintf(line, sizeof line - 1, "musterd %s: ", log_name);
    int text = vsnprintf(line + head, sizeof line - 1 - (size_t)head, format, arguments);
    size_t used = (size_t)head + (text > 0 ? (size_t)text : 0);
    if (used > sizeof line - 2)
        used = sizeof line - 2;
    line[used] = '\n';
    if (write(log_fd, line, used + 1) < 0)
        return; /* nobody is there to hear it, or not now */
}

void mu_warn(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put(format, arguments);
    va_end(arguments);
}

void mu_tell(const char *format, ...)
{
    if (!log_verbose)
        return;
    va_list arguments;
    va_start(arguments, format);
    put(format, arguments);
    va_end(arguments);
}
