#define _GNU_SOURCE
#include "chaos/pids.h"

#include "rig/guard.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the list ---- */

static bool add(struct chaos_pids *pids, int fd, char why[OPERATOR_TEXT_MAX])
{
    int *more = realloc(pids->fds, (pids->count + 1) * sizeof *more);
    if (more == NULL) {
        close(fd);
        snprintf(why, OPERATOR_TEXT_MAX, "no memory");
        return false;
    }
    pids->fds = more;
    pids->fds[pids->count++] = fd;
    return true;
}

/* The parent as /proc says; 0: there is no such process. */
static pid_t parent_of(pid_t pid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    int parent = 0;
    bool good = fgets(line, sizeof line, file) != NULL;
    const char *after = good ? strrchr(line, ')') : NULL; /* a name may have any character */
    if (after == NULL || sscanf(after, ") %*c %d", &parent) != 1)
        parent = 0;
    fclose(file);
    return parent;
}

/* -1: it is gone, or was not the daemon's.  Once it is held, its number is its own. */
static int hold_child(pid_t pid, pid_t daemon)
{
    int fd = guard_hold(pid);
    if (fd >= 0 && parent_of(pid) != daemon) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* ---- nodes ---- */

bool chaos_pids_of_daemon(const struct operator_link *link, struct chaos_pids *pids,
                          char why[OPERATOR_TEXT_MAX])
{
    if (link->pid == 0) {
        snprintf(why, OPERATOR_TEXT_MAX, "node %u is in another PID namespace", link->slot);
        return false;
    }
    int fd = guard_hold(link->pid);
    /* As long as its socket stands it lives, and the number is its own. */
    struct pollfd socket = {.fd = link->fd, .events = POLLIN};
    if (fd >= 0 && poll(&socket, 1, 0) >= 0 && (socket.revents & (POLLHUP | POLLERR)) == 0)
        return add(pids, fd, why);
    if (fd >= 0)
        close(fd);
    snprintf(why, OPERATOR_TEXT_MAX, "node %u has ended", link->slot);
    return false;
}

/* Each thread of the daemon has children of its own. */
static bool add_children_of(const char *path, pid_t daemon, struct chaos_pids *pids,
                            char why[OPERATOR_TEXT_MAX])
{
    FILE *file = fopen(path, "re");
    bool good = true;
    int child;
    while (good && file != NULL && fscanf(file, "%d", &child) == 1) {
        int fd = hold_child(child, daemon);
        if (fd >= 0)
            good = add(pids, fd, why);
    }
    if (file != NULL)
        fclose(file);
    return good;
}

bool chaos_pids_of_children(const struct operator_link *link, struct chaos_pids *pids,
                            char why[OPERATOR_TEXT_MAX])
{
    char path[512];
    snprintf(path, sizeof path, "/proc/%d/task", (int)link->pid);
    DIR *tasks = opendir(path);
    bool good = true;
    for (struct dirent *task; good && tasks != NULL && (task = readdir(tasks)) != NULL;) {
        if (task->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)link->pid, task->d_name);
        good = add_children_of(path, link->pid, pids, why);
    }
    if (tasks != NULL)
        closedir(tasks);
    return good;
}

/* ---- processes ---- */

/* What one daemon says. */
struct search {
    const struct chaos_target *target;
    pid_t daemon;
    uint32_t job; /* that it speaks of */
    struct chaos_pids *pids;
    struct chaos_list found; /* ranks, as far as they fit; to say which one is missing */
    bool good;
    char *why;
};

static void note(struct chaos_list *list, uint32_t rank)
{
    if (list->count > 0 && list->ranges[list->count - 1].last + 1 == rank)
        list->ranges[list->count - 1].last = rank;
    else if (list->count < MU_CHAOS_RANGES_MAX)
        list->ranges[list->count++] = (struct mu_chaos_range){rank, rank};
}

static void take(void *owner, const struct mu_local_message *message)
{
    struct search *search = owner;
    if (message->type == MU_LOCAL_JOB)
        search->job = message->job.job;
    if (message->type != MU_LOCAL_PROCESS || search->job != search->target->job ||
        !chaos_list_has(&search->target->list, message->process.rank) || !search->good)
        return;
    int fd = hold_child((pid_t)message->process.pid, search->daemon);
    if (fd < 0)
        return; /* it has just ended */
    search->good = add(search->pids, fd, search->why);
    note(&search->found, message->process.rank);
}

static void say_missing(const struct search *search, const char *silent, char *why)
{
    const struct chaos_list *list = &search->target->list;
    for (uint8_t r = 0; r < list->count; r++)
        for (uint32_t rank = list->ranges[r].first; rank <= list->ranges[r].last; rank++)
            if (!chaos_list_has(&search->found, rank)) {
                snprintf(why, OPERATOR_TEXT_MAX,
                         "rank %" PRIu32 " of job %" PRIu32 " does not run on this host%.300s",
                         rank, search->target->job, silent);
                return;
            }
}

bool chaos_pids_of_processes(const struct operator_found *found, const struct chaos_target *target,
                             struct chaos_pids *pids, char why[OPERATOR_TEXT_MAX])
{
    struct search search = {.target = target, .pids = pids, .good = true, .why = why};
    char silent[OPERATOR_TEXT_MAX] = "";
    for (size_t i = 0; i < found->count && search.good; i++) {
        struct operator_link link;
        bool opened = operator_open(&link, &found->daemons[i]);
        search.daemon = link.pid;
        search.job = 0;
        if (!opened || !operator_status(&link, take, &search))
            snprintf(silent, sizeof silent, "; node %u %.300s", link.slot, link.why);
        operator_close(&link);
    }
    if (!search.good || pids->count == chaos_list_size(&target->list))
        return search.good;
    say_missing(&search, silent, why);
    return false;
}
