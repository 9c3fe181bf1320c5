#define _GNU_SOURCE
#include "bench/procfail/relay.h"

#include "rig/door.h"
#include "bench/procfail/relay_loop.h"
#include "host/cores.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START_WAIT_MS = 10000 };

/* ---- addresses ---- */

static int listen_to_relays(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) != 0 ||
        listen(fd, MU_GRAPH_EDGES_MAX) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        return -1;
    *port = address.sin_port;
    return fd;
}

/* ---- the bring-up ---- */

/* What the bench makes before it forks; a relay takes its own of it. */
struct plan {
    uint32_t nodes;
    uint16_t ports[BENCH_RELAYS_MAX];
    int trunks[BENCH_RELAYS_MAX];    /* listen to relays */
    int listeners[BENCH_RELAYS_MAX]; /* listen to clients */
    int posts[BENCH_RELAYS_MAX][2];  /* the bench's end, the relay's end */
};

static int lay(struct plan *plan)
{
    for (uint32_t i = 0; i < plan->nodes; i++) {
        plan->trunks[i] = listen_to_relays(&plan->ports[i]);
        plan->listeners[i] = rig_door_open(i);
        if (plan->trunks[i] < 0 || plan->listeners[i] < 0 ||
            socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, plan->posts[i]) != 0)
            return -1;
    }
    return 0;
}

/* In a relay: an edge that leads to the same neighbour as a lower one is no edge. */
static bool is_edge(uint32_t size, mu_slot self, uint32_t edge)
{
    return mu_graph_edge_to(size, self, mu_graph_target(size, self, edge)) == edge;
}

static int dial(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_port = port};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    return connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? fd : -1;
}

/* The lower slot of two neighbours dials; the backlog takes it, so nobody waits for another. */
static void connect_neighbours(const struct plan *plan, mu_slot self, struct bench_relay *relay)
{
    uint32_t to_come = 0;
    for (uint32_t edge = 0; edge < mu_graph_edges(plan->nodes); edge++) {
        if (!is_edge(plan->nodes, self, edge))
            continue;
        mu_slot to = mu_graph_target(plan->nodes, self, edge);
        if (self < to)
            relay->neighbours[relay->neighbour_count++] = dial(plan->ports[to]);
        else
            to_come++;
    }
    while (to_come-- > 0)
        relay->neighbours[relay->neighbour_count++] = accept(plan->trunks[self], NULL, NULL);
    for (uint32_t i = 0; i < relay->neighbour_count; i++) {
        int on = 1;
        if (setsockopt(relay->neighbours[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
            _exit(1); /* also when it could not be connected: then it is no socket */
    }
}

static _Noreturn void be_relay(const struct plan *plan, mu_slot self, pid_t bench)
{
    /* From here on it dies with the bench; and if that is gone already, now. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != bench)
        _exit(1);
    prctl(PR_SET_NAME, "bench-relay"); /* for who profiles it */
    for (uint32_t i = 0; i < plan->nodes; i++) {
        close(plan->posts[i][0]);
        if (i != self) {
            close(plan->posts[i][1]);
            close(plan->trunks[i]);
            close(plan->listeners[i]);
        }
    }
    struct bench_relay relay = {.post = plan->posts[self][1], .listener = plan->listeners[self]};
    connect_neighbours(plan, self, &relay);
    close(plan->trunks[self]);
    if (send(relay.post, "r", 1, MSG_NOSIGNAL) != 1)
        _exit(1);
    bench_relay_loop(&relay);
}

static int await_ready(int post)
{
    struct pollfd poll_fd = {.fd = post, .events = POLLIN};
    char word;
    int ready;
    do
        ready = poll(&poll_fd, 1, START_WAIT_MS);
    while (ready < 0 && errno == EINTR);
    if (ready == 1 && recv(post, &word, 1, 0) == 1)
        return 0;
    errno = ready == 0 ? ETIMEDOUT : ECONNRESET;
    return -1;
}

static int fork_all(const struct plan *plan, struct bench_relays *relays)
{
    pid_t bench = getpid();
    for (uint32_t i = 0; i < plan->nodes; i++) {
        relays->pids[i] = fork();
        if (relays->pids[i] == 0)
            be_relay(plan, i, bench);
        if (relays->pids[i] < 0)
            return -1;
        relays->posts[i] = plan->posts[i][0];
    }
    return 0;
}

int bench_relays_start(struct bench_relays *relays, uint32_t nodes)
{
    static struct plan plan; /* too large for a stack, and only used while starting */
    assert(nodes >= 1 && nodes <= BENCH_RELAYS_MAX);
    *relays = (struct bench_relays){0};
    plan.nodes = nodes;
    if (lay(&plan) != 0 || fork_all(&plan, relays) != 0)
        return -1;
    for (uint32_t i = 0; i < nodes; i++) {
        close(plan.trunks[i]);
        close(plan.listeners[i]);
        close(plan.posts[i][1]);
    }
    for (uint32_t i = 0; i < nodes; i++)
        if (await_ready(relays->posts[i]) != 0)
            return -1;
    relays->nodes = nodes;
    return 0;
}

void bench_relays_stop(struct bench_relays *relays)
{
    for (uint32_t i = 0; i < relays->nodes; i++) {
        close(relays->posts[i]);
        kill(relays->pids[i], SIGKILL);
    }
    for (uint32_t i = 0; i < relays->nodes; i++)
        waitpid(relays->pids[i], NULL, 0);
}

int bench_relays_set_realtime(const struct bench_relays *relays, bool is_realtime)
{
    int policy = is_realtime ? SCHED_FIFO : SCHED_OTHER;
    const struct sched_param lowest = {.sched_priority = sched_get_priority_min(policy)};
    struct mu_spawn_cpus allowed, part;
    if (!mu_cores_allowed(&allowed))
        return -1;
    for (uint32_t i = 0; i < relays->nodes; i++) {
        mu_cores_part(&allowed, i, relays->nodes, &part);
        if (sched_setscheduler(relays->pids[i], policy, &lowest) != 0 ||
            mu_cores_keep_to(relays->pids[i], is_realtime ? &part : &allowed) != 0)
            return -1;
    }
    return 0;
}

int bench_relays_post(struct bench_relays *relays, uint32_t node, uint32_t skip)
{
    struct bench_message message = {.sequence = ++relays->sequence, .skip = skip};
    assert(node < relays->nodes);
    return send(relays->posts[node], &message, sizeof message, MSG_NOSIGNAL) < 0 ? -1 : 0;
}
