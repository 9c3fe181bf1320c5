#define _GNU_SOURCE
#include "daemon/watch_proc.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The C library has this name only since glibc 2.36. */
#define IDTYPE_PIDFD ((idtype_t)3)

/* Whose end was fetched: to be buried, and reaped then. */
struct ended {
    int pidfd;
    pid_t group; /* that it led; 0: none */
};

struct mu_watch_proc {
    int epoll_fd;
    uint32_t capacity;
    uint32_t count;
    uint32_t high;    /* slots that have ever been in use */
    uint32_t *unused; /* below 'high', given back: high - count of them */
    struct ended *ended;
    uint32_t ended_count, buried;
    struct mu_watched *at; /* pidfd -1: slot not in use */
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

const char *mu_watch_error_text(enum mu_watch_error error)
{
    switch (error) {
    case MU_WATCH_OK:
        return "no error";
    case MU_WATCH_FULL:
        return "more processes on this node than the configuration allows";
    case MU_WATCH_TWICE:
        return "this rank of this job is already watched";
    case MU_WATCH_NO_SUCH:
        return "this rank of this job does not run here";
    case MU_WATCH_BAD_PIDFD:
        return "the kernel does not let its pidfd be watched";
    case MU_WATCH_SIGNAL:
        return "the kernel refused the signal";
    }
    abort();
}

/* A handler that somebody installed stays: it takes no status unless it waits for any child. */
static int keep_status_of_children(void)
{
    struct sigaction action;
    if (sigaction(SIGCHLD, NULL, &action) != 0)
        return errno;
    bool ignored = !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN;
    if (!ignored && !(action.sa_flags & SA_NOCLDWAIT))
        return 0;
    if (ignored)
        action.sa_handler = SIG_DFL;
    action.sa_flags &= ~SA_NOCLDWAIT;
    return sigaction(SIGCHLD, &action, NULL) == 0 ? 0 : errno;
}

static int open_parts(struct mu_watch_proc *watch)
{
    watch->at = calloc(watch->capacity, sizeof *watch->at);
    watch->unused = calloc(watch->capacity, sizeof *watch->unused);
    watch->ended = calloc(watch->capacity, sizeof *watch->ended);
    if (!watch->at || !watch->unused || !watch->ended)
        return ENOMEM;
    watch->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (watch->epoll_fd < 0)
        return errno;
    return keep_status_of_children();
}

int mu_watch_proc_open(uint32_t capacity, struct mu_watch_proc **watch)
{
    assert(capacity > 0);
    struct mu_watch_proc *made = calloc(1, sizeof *made);
    if (!made)
        return ENOMEM;
    made->capacity = capacity;
    made->epoll_fd = -1;
    int error = open_parts(made);
    if (error != 0) {
        mu_watch_proc_close(made);
        return error;
    }
    *watch = made;
    return 0;
}

void mu_watch_proc_close(struct mu_watch_proc *watch)
{
    if (!watch)
        return;
    mu_watch_proc_reap(watch);
    for (uint32_t slot = 0; slot < watch->high; slot++)
        if (watch->at[slot].pidfd >= 0)
            close(watch->at[slot].pidfd);
    if (watch->epoll_fd >= 0)
        close(watch->epoll_fd);
    free(watch->ended);
    free(watch->unused);
    free(watch->at);
    free(watch);
}

static struct mu_watched *find(struct mu_watch_proc *watch, uint32_t job, uint32_t rank)
{
    for (uint32_t slot = 0; slot < watch->high; slot++) {
        struct mu_watched *process = &watch->at[slot];
        if (process->pidfd >= 0 && process->job == job && process->rank == rank)
            return process;
    }
    return NULL;
}

/* Edge-triggered: a process that ended under a debugger is readable before it can be reaped.  When
 * the debugger lets go, the kernel wakes its pidfd once more. */
enum mu_watch_error mu_watch_proc_add(struct mu_watch_proc *watch, const struct mu_watched *process)
{
    if (find(watch, process->job, process->rank))
        return MU_WATCH_TWICE;
    if (watch->count == watch->capacity)
        return MU_WATCH_FULL;
    bool reuse = watch->count < watch->high;
    uint32_t slot = reuse ? watch->unused[watch->high - watch->count - 1] : watch->high;
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u32 = slot};
    if (epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, process->pidfd, &event) != 0)
        return MU_WATCH_BAD_PIDFD;
    watch->at[slot] = *process;
    watch->high += reuse ? 0 : 1;
    watch->count++;
    return MU_WATCH_OK;
}

uint32_t mu_watch_proc_count(const struct mu_watch_proc *watch)
{
    return watch->count;
}

int mu_watch_proc_fd(const struct mu_watch_proc *watch)
{
    return watch->epoll_fd;
}

static int wait_for(int pidfd, siginfo_t *info, int flags)
{
    int result;
    info->si_pid = 0; /* stays 0 when there is nothing yet */
    do
        result = waitid(IDTYPE_PIDFD, (id_t)pidfd, info, WEXITED | WNOHANG | flags);
    while (result != 0 && errno == EINTR);
    return result;
}

/* What can wait until the ends that were fetched have been told. */
static void bury(struct mu_watch_proc *watch)
{
    for (; watch->buried < watch->ended_count; watch->buried++) {
        const struct ended *ended = &watch->ended[watch->buried];
        if (ended->group > 0)
            kill(-ended->group, SIGKILL);
        epoll_ctl(watch->epoll_fd, EPOLL_CTL_DEL, ended->pidfd, NULL);
    }
}

void mu_watch_proc_reap(struct mu_watch_proc *watch)
{
    siginfo_t info;
    bury(watch);
    for (uint32_t i = 0; i < watch->ended_count; i++) {
        wait_for(watch->ended[i].pidfd, &info, 0);
        close(watch->ended[i].pidfd);
    }
    watch->ended_count = watch->buried = 0;
}

/* The group of one that somebody else has reaped may be anybody's by now. */
static void forget(struct mu_watch_proc *watch, uint32_t slot, const struct mu_exit_kind *kind)
{
    struct mu_watched *process = &watch->at[slot];
    bool led_group = process->own_group && kind->type != MU_EXIT_UNKNOWN;
    if (watch->ended_count == watch->capacity)
        mu_watch_proc_reap(watch);
    watch->ended[watch->ended_count++] =
        (struct ended){process->pidfd, led_group ? process->pid : 0};
    process->pidfd = -1;
    watch->count--;
    watch->unused[watch->high - watch->count - 1] = slot;
}

/* False when it has not ended for us yet. */
static bool see_end(const struct mu_watched *process, struct mu_exit_kind *kind)
{
    siginfo_t info;
    if (wait_for(process->pidfd, &info, WNOWAIT) != 0) {
        *kind = mu_exit_kind_unknown(errno);
        return true;
    }
    if (info.si_pid == 0)
        return false;
    *kind = mu_exit_kind_of(&info);
    return true;
}

bool mu_watch_proc_next(struct mu_watch_proc *watch, struct mu_proc_end *end)
{
    struct epoll_event event;
    bury(watch);
    for (;;) {
        int ready = epoll_wait(watch->epoll_fd, &event, 1, 0);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return false;
        struct mu_watched *process = &watch->at[event.data.u32];
        end->seen_ns = now_ns();
        if (!see_end(process, &end->kind))
            continue;
        end->job = process->job;
        end->rank = process->rank;
        end->pid = process->pid;
        forget(watch, event.data.u32, &end->kind);
        return true;
    }
}

void mu_watch_proc_await(struct mu_watch_proc *watch, uint32_t job, uint32_t rank,
                         uint64_t timeout_ns)
{
    const struct mu_watched *process = find(watch, job, rank);
    if (!process)
        return;
    struct pollfd readable = {.fd = process->pidfd, .events = POLLIN};
    struct timespec wait = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
                            .tv_nsec = (long)(timeout_ns % 1000000000u)};
    ppoll(&readable, 1, &wait, NULL);
}

/* It is not reaped before it leaves the set, so its number, and its group's, are still its own. One
 * that left its group for another is met as a process; so is every one that must die. */
static bool send_signal(const struct mu_watched *process, int number)
{
    bool took = process->own_group && kill(-process->pid, number) == 0;
    if (took && number != SIGKILL)
        return true;
    return syscall(SYS_pidfd_send_signal, process->pidfd, number, NULL, 0) == 0 || took;
}

enum mu_watch_error mu_watch_proc_signal(struct mu_watch_proc *watch, uint32_t job, uint32_t rank,
                                         int signal)
{
    const struct mu_watched *process = find(watch, job, rank);
    if (!process)
        return MU_WATCH_NO_SUCH;
    return send_signal(process, signal) ? MU_WATCH_OK : MU_WATCH_SIGNAL;
}

static uint32_t send_many(struct mu_watch_proc *watch, bool all, uint32_t job, int number)
{
    uint32_t took = 0;
    for (uint32_t slot = 0; slot < watch->high; slot++) {
        const struct mu_watched *process = &watch->at[slot];
        if (process->pidfd >= 0 && (all || process->job == job))
            took += send_signal(process, number) ? 1 : 0;
    }
    return took;
}

uint32_t mu_watch_proc_signal_job(struct mu_watch_proc *watch, uint32_t job, int signal)
{
    return send_many(watch, false, job, signal);
}

uint32_t mu_watch_proc_signal_all(struct mu_watch_proc *watch, int signal)
{
    return send_many(watch, true, 0, signal);
}

uint32_t mu_watch_proc_kill(struct mu_watch_proc *watch, uint64_t timeout_ns)
{
    struct pollfd readable = {.fd = watch->epoll_fd, .events = POLLIN};
    struct mu_proc_end end;
    uint64_t begin_ns = now_ns();
    mu_watch_proc_signal_all(watch, SIGKILL);
    for (;;) {
        while (mu_watch_proc_next(watch, &end))
            ;
        mu_watch_proc_reap(watch);
        uint64_t passed_ns = now_ns() - begin_ns;
        if (watch->count == 0 || passed_ns >= timeout_ns)
            return watch->count;
        uint64_t rest_ms = (timeout_ns - passed_ns) / 1000000 + 1;
        poll(&readable, 1, rest_ms < 60000 ? (int)rest_ms : 60000);
    }
}
