/* One process of a job under random kills: writes down all that it is told, and lives until a file
 * says that it is over.
 *
 *     roll FOLDER     writes FOLDER/rank-N, one line with one write() for each thing:
 *                         pid PID node NODE socket NAME
 *                         process RANK VERDICT at NS    dead, silent, unreachable, left
 *                         node NODE VERDICT by NODE at NS     who has seen it
 *                         lost COUNT
 *                         over            it has seen FOLDER/over, and ends with exit code 0
 *                         broken TEXT     muster failed: it ends with exit code 9
 *
 * NS is when it was told, on the clock of this host.  SIGUSR1: it exits with 5, without a goodbye.
 */
#include <muster.h>

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int file = -1;

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    line[length] = '\n';
    if (write(file, line, (size_t)length + 1) != length + 1)
        _exit(8);
}

static int broken(const struct muster_error *error)
{
    note("broken %s", error->text);
    return 9;
}

static unsigned long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec;
}

static void on_signal(int number)
{
    (void)number;
    _exit(5);
}

static void note_event(const struct muster_event *event)
{
    switch (event->type) {
    case MUSTER_EVENT_PROCESS:
        note("process %u %s at %llu", event->rank, muster_verdict_name(event->verdict), now_ns());
        return;
    case MUSTER_EVENT_NODE:
        note("node %u %s by %u at %llu", event->node, muster_verdict_name(event->verdict),
             event->seen_by, now_ns());
        return;
    case MUSTER_EVENT_OVERFLOW:
        note("lost %llu", (unsigned long long)event->lost);
        return;
    default:
        return;
    }
}

int main(int argc, char **argv)
{
    const char *rank = getenv("MUSTER_RANK");
    if (argc != 2 || rank == NULL)
        return 7;
    char path[4096], over[4096];
    snprintf(path, sizeof path, "%s/rank-%s", argv[1], rank);
    snprintf(over, sizeof over, "%s/over", argv[1]);
    signal(SIGUSR1, on_signal);
    file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0)
        return 7;
    note("pid %d node %s socket %s", (int)getpid(), getenv("MUSTER_NODE"), getenv("MUSTER_SOCKET"));

    struct muster *muster;
    struct muster_error error;
    if (muster_open(&muster, &error) != 0)
        return broken(&error);
    while (access(over, F_OK) != 0) {
        struct muster_event event;
        int got = muster_next(muster, &event, 2 * 1000 * 1000, &error);
        if (got < 0)
            return broken(&error);
        if (got > 0)
            note_event(&event);
    }
    note("over");
    muster_close(muster);
    return 0;
}
