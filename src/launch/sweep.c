#define _GNU_SOURCE
#include "launch/sweep.h"

#include "host/clock.h"
#include "host/orphans.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void run_sweep_prepare(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

static int compare_pids(const void *a, const void *b)
{
    pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;
    return left < right ? -1 : left > right;
}

uint32_t run_sweep_lost(const struct machine *machine)
{
    uint32_t nodes = machine_nodes(machine), count = 0;
    pid_t *daemons = calloc(nodes, 2 * sizeof *daemons);
    if (daemons == NULL)
        abort();
    for (uint32_t i = 0; i < nodes; i++)
        if (machine_alive(machine, i)) { /* a daemon without its witness is ours, too */
            daemons[count++] = machine_child(machine, i);
            daemons[count++] = machine_daemon(machine, i);
        }
    qsort(daemons, count, sizeof *daemons, compare_pids);
    uint32_t found = mu_orphans_sweep(daemons, count, true);
    free(daemons);
    return found;
}

/* -1: there is no such process. */
static pid_t parent_of(pid_t pid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return -1;
    size_t count = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[count] = '\0';
    const char *name_end = strrchr(line, ')'); /* the name may hold anything */
    int parent;
    return name_end != NULL && sscanf(name_end + 1, " %*c %d", &parent) == 1 ? parent : -1;
}

/* One of our children that runs, or 0.  /proc/self/task/TID/children would say so at once, but not
 * every kernel has it. */
static pid_t find_child(void)
{
    DIR *processes = opendir("/proc");
    pid_t found = 0, self = getpid();
    if (processes == NULL)
        return 0;
    for (struct dirent *entry; found == 0 && (entry = readdir(processes)) != NULL;)
        if (isdigit((unsigned char)entry->d_name[0]) && parent_of(atoi(entry->d_name)) == self)
            found = atoi(entry->d_name);
    closedir(processes);
    return found;
}

/* False: there are none, dead or alive. */
static bool reap_all(void)
{
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        ;
    return pid == 0;
}

/* It is our child and not reaped, so the number is its own. */
static void kill_child(pid_t pid, int64_t timeout_ms)
{
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    kill(pid, SIGKILL);
    if (pidfd < 0)
        return;
    poll(&(struct pollfd){.fd = pidfd, .events = POLLIN}, 1, (int)timeout_ms);
    close(pidfd);
}

void run_sweep(uint32_t timeout_ms)
{
    int64_t until_ms = mu_now_ms() + timeout_ms;
    while (reap_all()) {
        int64_t left_ms = until_ms - mu_now_ms();
        pid_t child = left_ms > 0 ? find_child() : 0;
        if (child == 0)
            return;
        kill_child(child, left_ms);
    }
}
