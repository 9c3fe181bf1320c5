#include "bench/procfail/relay_loop.h"

#include "rig/door.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS_MAX = 64 };

/* What became readable: its kind, and an index of neighbours or a descriptor. */
enum source { SOURCE_POST, SOURCE_LISTENER, SOURCE_NEIGHBOUR, SOURCE_CLIENT };

struct client {
    int fd;
    uint32_t rank;
};

/* Bytes of a message that have come so far: TCP keeps no bounds. */
struct partial {
    size_t count;
    uint8_t bytes[BENCH_MESSAGE_BYTES];
};

struct state {
    const struct bench_relay *relay;
    int epoll;
    uint64_t newest;
    uint32_t client_count;
    struct client clients[BENCH_CLIENTS_MAX];
    struct partial partials[MU_GRAPH_EDGES_MAX];
};

static void watch(const struct state *s, int fd, enum source source, uint32_t index)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)source << 32 | index};
    if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        _exit(1);
}

/* The whole job: all neighbours first, then clients. */
static void pass(struct state *s, const uint8_t bytes[BENCH_MESSAGE_BYTES])
{
    struct bench_message message;
    memcpy(&message, bytes, sizeof message);
    if (message.sequence <= s->newest)
        return;
    s->newest = message.sequence;
    for (uint32_t i = 0; i < s->relay->neighbour_count; i++)
        send(s->relay->neighbours[i], bytes, BENCH_MESSAGE_BYTES, MSG_NOSIGNAL);
    for (uint32_t i = 0; i < s->client_count; i++)
        if (s->clients[i].rank != message.skip)
            send(s->clients[i].fd, bytes, BENCH_MESSAGE_BYTES, MSG_NOSIGNAL);
}

static void on_neighbour(struct state *s, uint32_t index)
{
    struct partial *partial = &s->partials[index];
    ssize_t count = read(s->relay->neighbours[index], partial->bytes + partial->count,
                         BENCH_MESSAGE_BYTES - partial->count);
    if (count <= 0)
        _exit(1); /* a relay is gone, so this is no measurement any more */
    partial->count += (size_t)count;
    if (partial->count == BENCH_MESSAGE_BYTES) {
        partial->count = 0;
        pass(s, partial->bytes);
    }
}

static void on_post(struct state *s)
{
    uint8_t bytes[BENCH_MESSAGE_BYTES];
    if (recv(s->relay->post, bytes, sizeof bytes, 0) != sizeof bytes)
        _exit(0); /* the bench is over */
    pass(s, bytes);
}

static void on_listener(struct state *s)
{
    int fd = rig_door_accept(s->relay->listener);
    if (fd < 0)
        return;
    if (s->client_count == BENCH_CLIENTS_MAX) {
        close(fd);
        return;
    }
    s->clients[s->client_count++] = (struct client){.fd = fd, .rank = BENCH_RANK_NONE};
    watch(s, fd, SOURCE_CLIENT, (uint32_t)fd);
}

/* A client says its rank once, and then nothing until it ends. */
static void on_client(struct state *s, int fd)
{
    uint32_t at = 0, rank;
    while (s->clients[at].fd != fd)
        at++;
    if (recv(fd, &rank, sizeof rank, 0) == sizeof rank) {
        s->clients[at].rank = rank;
        send(fd, "r", 1, MSG_NOSIGNAL); /* from now on it is told */
        return;
    }
    close(fd);
    s->clients[at] = s->clients[--s->client_count];
}

static void on_ready(struct state *s, uint64_t what)
{
    uint32_t index = (uint32_t)what;
    switch ((enum source)(what >> 32)) {
    case SOURCE_NEIGHBOUR:
        on_neighbour(s, index);
        return;
    case SOURCE_POST:
        on_post(s);
        return;
    case SOURCE_LISTENER:
        on_listener(s);
        return;
    case SOURCE_CLIENT:
        on_client(s, (int)index);
        return;
    }
}

_Noreturn void bench_relay_loop(const struct bench_relay *relay)
{
    static struct state state; /* too large for a stack; a relay has no other */
    state.relay = relay;
    state.epoll = epoll_create1(EPOLL_CLOEXEC);
    watch(&state, relay->post, SOURCE_POST, 0);
    watch(&state, relay->listener, SOURCE_LISTENER, 0);
    for (uint32_t i = 0; i < relay->neighbour_count; i++)
        watch(&state, relay->neighbours[i], SOURCE_NEIGHBOUR, i);
    for (;;) {
        struct epoll_event events[EVENTS_MAX];
        int count = epoll_wait(state.epoll, events, EVENTS_MAX, -1);
        for (int i = 0; i < count; i++)
            on_ready(&state, events[i].data.u64);
    }
}
