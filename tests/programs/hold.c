/* Holds some threads of a daemon for a while, and no others, as a debugger would.
 *
 *     hold PID main|beat|both MILLISECONDS
 *
 * Says "held NS" when they stand still, NS being CLOCK_MONOTONIC just before.  They go on at the
 * end, or when this program is killed. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "hold: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool is_beat(int pid, int thread)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", pid, thread);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    if (fgets(name, sizeof name, file) == NULL)
        name[0] = '\0';
    fclose(file);
    return strcmp(name, "muster-beat\n") == 0;
}

static int find_beat(int pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    int found = 0;
    if (tasks == NULL)
        fail(path);
    for (struct dirent *entry = readdir(tasks); entry != NULL; entry = readdir(tasks))
        if (is_beat(pid, atoi(entry->d_name)))
            found = atoi(entry->d_name);
    closedir(tasks);
    if (found == 0)
        fail("no thread muster-beat");
    return found;
}

static void hold(int thread)
{
    if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0 ||
        ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) != 0 || waitpid(thread, NULL, __WALL) < 0)
        fail("cannot hold it");
}

int main(int argc, char **argv)
{
    int threads[2], count = 0, pid = argc == 4 ? atoi(argv[1]) : 0;
    if (pid <= 0) {
        fprintf(stderr, "usage: hold PID main|beat|both MILLISECONDS\n");
        return 2;
    }
    if (strcmp(argv[2], "beat") != 0)
        threads[count++] = pid;
    if (strcmp(argv[2], "main") != 0)
        threads[count++] = find_beat(pid);
    uint64_t from_ns = now_ns(), for_ms = strtoull(argv[3], NULL, 10);
    for (int i = 0; i < count; i++)
        hold(threads[i]);
    printf("held %" PRIu64 "\n", from_ns);
    fflush(stdout);
    struct timespec left = {.tv_sec = (time_t)(for_ms / 1000),
                            .tv_nsec = (long)(for_ms % 1000 * 1000000)};
    while (nanosleep(&left, &left) != 0)
        continue;
    for (int i = 0; i < count; i++)
        ptrace(PTRACE_DETACH, threads[i], NULL, NULL); /* it may have been killed */
    return 0;
}
