#define _GNU_SOURCE
#include "host/orphans.h"

#include "host/clock.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What is done to each child. */
struct sweep {
    const pid_t *ours;
    uint32_t count;
    bool kill;
    uint32_t found;
    pid_t alive; /* one of those found; 0: all are reaped */
};

int mu_orphans_adopt(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 ? 0 : errno;
}

static int compare_pids(const void *a, const void *b)
{
    pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;
    return left < right ? -1 : left > right;
}

/* Only we reap our children, so the number is its own until we did. */
static void treat(struct sweep *sweep, pid_t pid)
{
    siginfo_t info = {.si_pid = 0};
    if (sweep->count > 0 &&
        bsearch(&pid, sweep->ours, sweep->count, sizeof pid, compare_pids) != NULL)
        return;
    if (sweep->kill)
        kill(pid, SIGKILL);
    sweep->found++;
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | __WALL) == 0 && info.si_pid == 0)
        sweep->alive = pid;
}

/* Reaping while the list is read may hide one that follows: the next sweep sees it. */
static void sweep_thread(struct sweep *sweep, const char *thread)
{
    char path[64];
    int pid;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/children", thread);
    FILE *children = fopen(path, "re");
    if (children == NULL)
        return;
    while (fscanf(children, "%d", &pid) == 1)
        treat(sweep, pid);
    fclose(children);
}

/* One call, and it reads nothing of /proc/self/task: the kernel would remember each thread there,
 * and who waits for our end would have to wait until it has forgotten them. */
static bool has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 || errno != ECHILD;
}

/* A child belongs to the thread that made it, and an orphan to any. */
static void sweep_all(struct sweep *sweep)
{
    if (!has_children())
        return;
    DIR *threads = opendir("/proc/self/task");
    if (threads == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(threads)) != NULL;)
        if (entry->d_name[0] != '.')
            sweep_thread(sweep, entry->d_name);
    closedir(threads);
}

/* Mostly nobody is dead, and one call says so. */
static bool somebody_died(void)
{
    siginfo_t info = {.si_pid = 0};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 && info.si_pid != 0;
}

uint32_t mu_orphans_sweep(const pid_t *ours, uint32_t count, bool kill)
{
    struct sweep sweep = {.ours = ours, .count = count, .kill = kill};
    if (kill || somebody_died())
        sweep_all(&sweep);
    return sweep.found;
}

/* Until it has ended, or the time is over. */
static void wait_for_end(pid_t pid, int timeout_ms)
{
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    if (ended.fd < 0)
        return;
    poll(&ended, 1, timeout_ms);
    close(ended.fd);
}

uint32_t mu_orphans_end(uint64_t timeout_ns)
{
    uint64_t begin_ns = mu_now_ns();
    for (;;) {
        struct sweep sweep = {.kill = true};
        sweep_all(&sweep);
        uint64_t passed_ns = mu_now_ns() - begin_ns;
        if (sweep.found == 0 || passed_ns >= timeout_ns)
            return sweep.found;
        if (sweep.alive != 0)
            wait_for_end(sweep.alive, (int)((timeout_ns - passed_ns) / 1000000 + 1));
    }
}
