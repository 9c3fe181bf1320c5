/* A daemon's notify with its loop, and clients on real sockets, in one process: for
 * tests/unit/test_notify.c and tests/unit/test_notify_storm.c.
 *
 * A client is a socket.  Unix sockets deliver within send(), so a loop that has run a few times
 * without waiting has done all that there was to do: nothing here depends on time. */
#ifndef TEST_NOTIFY_WORLD_H
#define TEST_NOTIFY_WORLD_H

#include "daemon/notify.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
/* after those above */
#include <cmocka.h>

enum { SELF = 1, NODES = 8, LOOPS_MAX = 1000 };

struct world {
    uv_loop_t loop;
    struct mu_notify *notify;
    uint64_t told; /* events that entered the journal */
    struct mu_local_event last_told;
    uint32_t kill_job;
    int kill_signal;
    bool close_on_kill;
};

static inline void on_told(void *owner, const struct mu_local_event *event)
{
    struct world *world = owner;
    world->told++;
    assert_true(event->serial == world->told);
    world->last_told = *event;
}

static inline void on_node(void *owner, struct mu_local_node *node)
{
    (void)owner;
    node->slot = SELF;
    node->size = NODES;
    node->incarnation = 1;
    snprintf(node->host, sizeof node->host, "node%d", SELF);
}

static inline bool on_counter(void *owner, uint32_t i, const char **name, uint64_t *value)
{
    (void)owner;
    *name = i == 0 ? "first" : "second";
    *value = 100 + i;
    return i < 2;
}

static inline const char *on_kill(void *owner, uint32_t job, int signal)
{
    struct world *world = owner;
    world->kill_job = job;
    world->kill_signal = signal;
    if (world->close_on_kill) {
        mu_notify_close(world->notify);
        world->notify = NULL;
    }
    return job == 13 ? "job 13 cannot be killed" : NULL;
}

static inline void world_open(struct world *world, uint32_t journal, uint32_t clients)
{
    memset(world, 0, sizeof *world);
    assert_int_equal(uv_loop_init(&world->loop), 0);
    struct mu_notify_config config = {
        .loop = &world->loop,
        .machine = 0x1000000000000000u + (uint64_t)getpid(),
        .self = SELF,
        .size = NODES,
        .journal = journal,
        .clients = clients,
        .hooks = {.owner = world,
                  .told = on_told,
                  .node = on_node,
                  .counter = on_counter,
                  .kill = on_kill},
    };
    assert_int_equal(mu_notify_open(&config, &world->notify), 0);
}

static inline void settle(struct world *world)
{
    for (int i = 0; i < 4; i++)
        uv_run(&world->loop, UV_RUN_NOWAIT);
}

static inline void world_close(struct world *world)
{
    if (world->notify != NULL)
        mu_notify_close(world->notify);
    settle(world);
    assert_int_equal(uv_loop_close(&world->loop), 0); /* no handle is left */
}

/* ---- news ---- */

static const struct mu_evidence killed = {
    .verdict = MU_VERDICT_DEAD,
    .cause = MU_CAUSE_EXIT,
    .seen_by = 2,
    .pid = 4711,
    .how = {.type = MU_EXIT_SIGNAL, .signal = 9},
    .seen_ns = 5,
    .clock = 6,
};
static const struct mu_evidence left = {
    .verdict = MU_VERDICT_LEFT, .cause = MU_CAUSE_EXIT, .seen_by = 2, .pid = 4712};
static const struct mu_evidence refused_node = {
    .verdict = MU_VERDICT_DEAD, .cause = MU_CAUSE_REFUSED, .seen_by = 4, .seen_ns = 50, .clock = 6};

/* Ranks go around the nodes: rank r is on node r % NODES when 'rounds' is more than one. */
static inline void begin_job(struct world *world, uint32_t job, uint32_t size)
{
    struct mu_launch_run *runs = calloc(size, sizeof *runs);
    for (uint32_t rank = 0; rank < size; rank++)
        runs[rank] = (struct mu_launch_run){.slot = rank % NODES, .first = rank, .count = 1};
    struct mu_launch_job spec = {.size = size, .run_count = size, .runs = runs};
    assert_null(mu_notify_job(world->notify, job, &spec));
    free(runs);
}

static inline void process_dies(struct world *world, uint32_t job, uint32_t rank)
{
    mu_notify_process(world->notify, job, rank, 1000 + rank, 10, 2, &killed);
}

static inline void process_leaves(struct world *world, uint32_t job, uint32_t rank)
{
    mu_notify_process(world->notify, job, rank, 1000 + rank, 10, 2, &left);
}

static inline void node_dies(struct world *world, mu_slot node)
{
    mu_notify_node(world->notify, node, 2000, 20, 3, &refused_node);
}

/* ---- clients ---- */

static inline int dial(const struct world *world)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *name = mu_notify_name(world->notify);
    memcpy(address.sun_path + 1, name, strlen(name));
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, bytes), 0);
    return fd;
}

static inline void say_bytes(int fd, const void *bytes, size_t count)
{
    assert_int_equal(send(fd, bytes, count, MSG_NOSIGNAL), count);
}

static inline void say(int fd, struct mu_local_message message)
{
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    say_bytes(fd, bytes, mu_local_encode(&message, bytes));
}

static inline void say_hello(int fd, enum mu_local_role role, uint32_t job, uint32_t rank)
{
    say(fd, (struct mu_local_message){
                .type = MU_LOCAL_HELLO,
                .hello = {
                    .version = MU_LOCAL_VERSION, .role = (uint8_t)role, .job = job, .rank = rank}});
}

/* 1 with the message, 0 at the end, -1 when nothing is there. */
static inline int try_hear(int fd, struct mu_local_message *message)
{
    uint8_t bytes[MU_LOCAL_PACKET_MAX + 1];
    ssize_t count = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count < 0 && errno == ECONNRESET)
        return 0; /* closed, with something from us unread */
    if (count < 0) {
        assert_int_equal(errno, EAGAIN);
        return -1;
    }
    if (count == 0)
        return 0;
    const char *rule = mu_local_decode(bytes, (size_t)count, message);
    if (rule != NULL)
        fail_msg("the daemon sent a packet that breaks a rule: %s", rule);
    return 1;
}

static inline int hear_any(struct world *world, int fd, struct mu_local_message *message)
{
    int heard = try_hear(fd, message);
    for (int i = 0; heard < 0 && i < LOOPS_MAX; i++) {
        uv_run(&world->loop, UV_RUN_NOWAIT);
        heard = try_hear(fd, message);
    }
    return heard;
}

static inline struct mu_local_message hear(struct world *world, int fd, enum mu_local_type type)
{
    struct mu_local_message message = {0};
    int heard = hear_any(world, fd, &message);
    if (heard != 1)
        fail_msg("waited for a message of type %d, and %s", type,
                 heard == 0 ? "the connection ended" : "nothing came");
    if (message.type != type)
        fail_msg("waited for a message of type %d, and %d came", type, message.type);
    return message;
}

static inline void hear_nothing(struct world *world, int fd)
{
    struct mu_local_message message;
    settle(world);
    int heard = try_hear(fd, &message);
    if (heard >= 0)
        fail_msg("nothing was to come, and %d came", heard == 0 ? 0 : message.type);
}

static inline void hear_end(struct world *world, int fd)
{
    struct mu_local_message message;
    assert_int_equal(hear_any(world, fd, &message), 0);
}

static inline void hear_refused(struct world *world, int fd, enum mu_local_refusal code)
{
    assert_int_equal(hear(world, fd, MU_LOCAL_REFUSED).refused.code, code);
    hear_end(world, fd);
    close(fd);
}

static inline struct mu_local_event hear_process(struct world *world, int fd, uint32_t rank,
                                                 bool is_state)
{
    struct mu_local_event event = hear(world, fd, MU_LOCAL_EVENT).event;
    assert_int_equal(event.subject, MU_SUBJECT_PROCESS);
    assert_int_equal(event.rank, rank);
    assert_int_equal(event.is_state, is_state);
    return event;
}

static inline struct mu_local_event hear_node(struct world *world, int fd, mu_slot node,
                                              bool is_state)
{
    struct mu_local_event event = hear(world, fd, MU_LOCAL_EVENT).event;
    assert_int_equal(event.subject, MU_SUBJECT_NODE);
    assert_int_equal(event.node, node);
    assert_int_equal(event.is_state, is_state);
    return event;
}

/* Joined, and at WELCOME; the state comes next. */
static inline int join(struct world *world, uint32_t job, uint32_t rank)
{
    int fd = dial(world);
    say_hello(fd, MU_LOCAL_MEMBER, job, rank);
    struct mu_local_welcome welcome = hear(world, fd, MU_LOCAL_WELCOME).welcome;
    assert_int_equal(welcome.job, job);
    assert_int_equal(welcome.rank, rank);
    return fd;
}

static inline int join_early(struct world *world, uint32_t job, uint32_t rank)
{
    int fd = join(world, job, rank);
    hear(world, fd, MU_LOCAL_CAUGHT_UP);
    return fd;
}

static inline int operate(struct world *world)
{
    int fd = dial(world);
    say_hello(fd, MU_LOCAL_OPERATOR, 0, 0);
    assert_int_equal(hear(world, fd, MU_LOCAL_WELCOME).welcome.size, 0);
    return fd;
}

static inline void ask(int fd, enum mu_local_type type)
{
    say(fd, (struct mu_local_message){.type = (uint8_t)type});
}

#endif
