/* What an agreement takes without a protocol: processes that send one packet to the relay of their
 * node, relays that pass one message up a binary tree and one down it, with bare sockets.  Prints
 * median, 99 % and maximum of all rounds of all processes, in us.
 *
 *     bare_tree NODES PROCS REPS
 *
 * Sockets are those of muster: packets of a Unix socket on a node, TCP between nodes.  Relays have
 * the priority of its daemons where that is permitted, and nodes their part of the processors. */
#define _GNU_SOURCE
#include "part.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WARM = 50, NODES_MAX = 256, UP_BYTES = 50, CALL_BYTES = 13, DECIDED_BYTES = 19 };

static int nodes, procs, reps;
static double *us; /* of all processes */

static void must(int good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(1);
}

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void run_process(int fd, double *mine)
{
    char bytes[64] = {0};
    for (int i = -WARM; i < reps; i++) {
        double from = now_us();
        must(send(fd, bytes, CALL_BYTES, 0) == CALL_BYTES, "send");
        must(recv(fd, bytes, sizeof bytes, 0) == DECIDED_BYTES, "recv");
        if (i >= 0)
            mine[i] = now_us() - from;
    }
}

/* All of one message: they are so short that a part of one is not worth a state of its own. */
static void read_all(int fd)
{
    char bytes[UP_BYTES];
    must(recv(fd, bytes, sizeof bytes, MSG_WAITALL) == UP_BYTES, "recv of a relay");
}

static void write_all(int fd)
{
    static const char bytes[UP_BYTES];
    must(send(fd, bytes, sizeof bytes, 0) == UP_BYTES, "send of a relay");
}

struct relay {
    int parent; /* -1: it is the root */
    int children[2], child_count;
    int *processes;
    int epoll;
};

static void watch(const struct relay *relay, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    must(epoll_ctl(relay->epoll, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
}

static void run_relay(const struct relay *relay)
{
    int rounds = WARM + reps;
    char bytes[64];
    while (rounds > 0) {
        for (int missing = procs + relay->child_count; missing > 0;) {
            struct epoll_event ready[64];
            int count = epoll_wait(relay->epoll, ready, 64, -1);
            for (int i = 0; i < count; i++, missing--) {
                int is_child = ready[i].data.fd == relay->children[0] ||
                               ready[i].data.fd == relay->children[1];
                if (is_child)
                    read_all(ready[i].data.fd);
                else
                    must(recv(ready[i].data.fd, bytes, sizeof bytes, 0) == CALL_BYTES, "recv");
            }
        }
        if (relay->parent >= 0) {
            struct epoll_event ready;
            write_all(relay->parent);
            must(epoll_wait(relay->epoll, &ready, 1, -1) == 1 && ready.data.fd == relay->parent,
                 "the decision");
            read_all(relay->parent);
        }
        for (int i = 0; i < relay->child_count; i++)
            write_all(relay->children[i]);
        for (int i = 0; i < procs; i++)
            must(send(relay->processes[i], bytes, DECIDED_BYTES, MSG_NOSIGNAL) == DECIDED_BYTES ||
                     rounds == 1,
                 "send");
        rounds--;
    }
}

static int dial(const struct sockaddr_in *address)
{
    int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    must(fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) == 0, "connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static void be_node(int self, const int *listeners, const struct sockaddr_in *addresses)
{
    struct relay relay = {.parent = -1, .children = {-1, -1}, .epoll = epoll_create1(0)};
    int one = 1;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    keep_to_part(self, nodes);
    relay.processes = calloc((size_t)procs, sizeof *relay.processes);
    for (int i = 0; i < procs; i++) {
        int ends[2];
        must(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0, "socketpair");
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            run_process(ends[1], us + (size_t)(self * procs + i) * (size_t)reps);
            _exit(0);
        }
        close(ends[1]);
        relay.processes[i] = ends[0];
        watch(&relay, ends[0]);
    }
    const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest);
    if (self > 0) {
        relay.parent = dial(&addresses[(self - 1) / 2]);
        watch(&relay, relay.parent);
    }
    for (int child = 2 * self + 1; child <= 2 * self + 2 && child < nodes; child++) {
        int fd = accept(listeners[self], NULL, NULL);
        must(fd >= 0, "accept");
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        relay.children[relay.child_count++] = fd;
        watch(&relay, fd);
    }
    run_relay(&relay);
    while (wait(NULL) > 0)
        ;
    _exit(0);
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

int main(int argc, char **argv)
{
    static int listeners[NODES_MAX];
    static struct sockaddr_in addresses[NODES_MAX];
    nodes = argc == 4 ? atoi(argv[1]) : 0;
    procs = argc == 4 ? atoi(argv[2]) : 0;
    reps = argc == 4 ? atoi(argv[3]) : 0;
    if (nodes < 1 || nodes > NODES_MAX || procs < 1 || reps < 1) {
        fprintf(stderr, "usage: bare_tree NODES PROCS REPS\n");
        return 2;
    }
    size_t count = (size_t)nodes * (size_t)procs * (size_t)reps;
    us = mmap(NULL, count * sizeof *us, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(us != MAP_FAILED, "memory");
    for (int i = 0; i < nodes; i++) {
        socklen_t length = sizeof addresses[i];
        addresses[i] =
            (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        listeners[i] = socket(AF_INET, SOCK_STREAM, 0);
        must(bind(listeners[i], (struct sockaddr *)&addresses[i], sizeof addresses[i]) == 0 &&
                 listen(listeners[i], 4) == 0 &&
                 getsockname(listeners[i], (struct sockaddr *)&addresses[i], &length) == 0,
             "listen");
    }
    for (int i = 0; i < nodes; i++)
        if (fork() == 0)
            be_node(i, listeners, addresses);
    int status, failed = 0;
    while (wait(&status) > 0)
        failed |= status;
    if (failed != 0)
        return 1;
    qsort(us, count, sizeof *us, compare);
    printf("%.3f %.3f %.3f\n", us[count / 2], us[count * 99 / 100], us[count - 1]);
    return 0;
}
