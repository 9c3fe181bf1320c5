#define _GNU_SOURCE
#include "bench/noise_bare.h"

#include "host/clock.h"
#include "host/cores.h"
#include "rig/page.h"
#include "wire/peer/beat.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BEAT = 1, ACK = 2 };

struct go {
    uint64_t start_ns;
    uint32_t periods;
};

/* One of them, in its own process. */
struct self {
    int fd, control;
    uint64_t period_ns, phase_ns;
    struct sockaddr_in next, before;
    uint8_t bytes[MU_DATAGRAM_BYTES];
};

/* ---- in its process ---- */

static uint64_t cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static void say(struct self *self, uint8_t what, const struct sockaddr_in *to)
{
    self->bytes[0] = what;
    sendto(self->fd, self->bytes, sizeof self->bytes, 0, (const struct sockaddr *)to, sizeof *to);
}

/* The last answer comes within a period of the last beat. */
static void beat(struct self *self, const struct go *go)
{
    uint64_t due_ns = go->start_ns + self->phase_ns;
    uint64_t end_ns = due_ns + go->periods * self->period_ns;
    uint32_t beats = 0;
    for (;;) {
        uint64_t now_ns = mu_now_ns();
        if (now_ns >= end_ns)
            return;
        if (now_ns >= due_ns && beats < go->periods) {
            say(self, BEAT, &self->next);
            beats++;
            due_ns += self->period_ns;
        }
        uint64_t left_ns = due_ns > now_ns ? due_ns - now_ns : 0;
        struct timespec left = {.tv_sec = (time_t)(left_ns / 1000000000u),
                                .tv_nsec = (long)(left_ns % 1000000000u)};
        struct pollfd ready = {.fd = self->fd, .events = POLLIN};
        if (ppoll(&ready, 1, &left, NULL) <= 0)
            continue;
        if (recv(self->fd, self->bytes, sizeof self->bytes, MSG_DONTWAIT) < 0)
            continue;
        if (self->bytes[0] == BEAT)
            say(self, ACK, &self->before);
    }
}

static _Noreturn void be_node(struct self *self, pid_t parent)
{
    const struct sched_param first = {.sched_priority = sched_get_priority_min(SCHED_FIFO) + 1};
    struct go go;
    signal(SIGINT, SIG_IGN); /* Ctrl-C is for the bench, which ends this */
    prctl(PR_SET_NAME, "bench-bare");
    prctl(PR_SET_TIMERSLACK, 1);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(1);
    sched_setscheduler(0, SCHED_FIFO, &first); /* where daemons may not either, neither has it */
    while (recv(self->control, &go, sizeof go, 0) == sizeof go) {
        uint64_t used_ns = cpu_ns();
        beat(self, &go);
        used_ns = cpu_ns() - used_ns;
        send(self->control, &used_ns, sizeof used_ns, MSG_NOSIGNAL);
    }
    _exit(0);
}

/* ---- in the bench ---- */

static int open_socket(struct sockaddr_in *address)
{
    socklen_t length = sizeof *address;
    *address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)address, length) == 0 &&
        getsockname(fd, (struct sockaddr *)address, &length) == 0)
        return fd;
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return -1;
}

static int start_node(struct bare_ring *ring, uint32_t i, const int *fds,
                      const struct sockaddr_in *addresses)
{
    int ends[2];
    pid_t parent = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        struct self self = {
            .fd = fds[i],
            .control = ends[1],
            .period_ns = ring->period_ns,
            .phase_ns = ring->period_ns * i / ring->count, /* as daemons: not all at once */
            .next = addresses[(i + 1) % ring->count],
            .before = addresses[(i + ring->count - 1) % ring->count],
        };
        if (mu_cores_keep_to_part(i, ring->count) != 0) /* as daemons */
            _exit(1);
        be_node(&self, parent);
    }
    int error = errno;
    close(ends[1]);
    ring->nodes[i].pid = pid;
    ring->nodes[i].control = ends[0];
    errno = error;
    return pid > 0 ? 0 : -1;
}

int bare_ring_start(struct bare_ring *ring, uint32_t count, uint64_t period_ns)
{
    *ring = (struct bare_ring){.count = count, .period_ns = period_ns};
    ring->nodes = calloc(count, sizeof *ring->nodes);
    struct sockaddr_in *addresses = calloc(count, sizeof *addresses);
    int *fds = calloc(count, sizeof *fds);
    uint32_t opened = 0, started = 0;
    bool good = ring->nodes != NULL && addresses != NULL && fds != NULL;
    for (uint32_t i = 0; good && i < count; i++)
        ring->nodes[i].control = -1;
    for (; good && opened < count; opened += good)
        good = (fds[opened] = open_socket(&addresses[opened])) >= 0;
    for (; good && started < count; started += good)
        good = start_node(ring, started, fds, addresses) == 0;
    int error = errno;
    for (uint32_t i = 0; i < opened; i++)
        close(fds[i]);
    free(fds);
    free(addresses);
    if (!good)
        bare_ring_stop(ring);
    errno = error;
    return good ? 0 : -1;
}

void bare_ring_stop(struct bare_ring *ring)
{
    for (uint32_t i = 0; ring->nodes != NULL && i < ring->count; i++) {
        struct bare_node *node = &ring->nodes[i];
        if (node->pid > 0 && kill(node->pid, SIGKILL) == 0) /* not reaped before */
            while (waitpid(node->pid, NULL, 0) < 0 && errno == EINTR)
                ;
        if (node->control >= 0)
            close(node->control);
    }
    free(ring->nodes);
    *ring = (struct bare_ring){0};
}

bool bare_ring_go(struct bare_ring *ring, uint32_t periods)
{
    const struct go go = {.start_ns = mu_now_ns() + ring->period_ns, .periods = periods};
    for (uint32_t i = 0; i < ring->count; i++) {
        if (send(ring->nodes[i].control, &go, sizeof go, MSG_NOSIGNAL) != sizeof go)
            return false;
        ring->nodes[i].periods += periods;
    }
    return true;
}

bool bare_ring_take(struct bare_ring *ring)
{
    for (uint32_t i = 0; i < ring->count; i++) {
        uint64_t used_ns;
        if (recv(ring->nodes[i].control, &used_ns, sizeof used_ns, 0) != sizeof used_ns)
            return false;
        ring->nodes[i].cpu_ns += used_ns;
    }
    return true;
}
