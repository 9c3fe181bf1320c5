/* A daemon's notify with its loop, and clients on real sockets, in one process: for
 * tests/unit/test_notify*.c.
 *
 * A client is a socket.  Unix sockets deliver within send(), so a loop that has run a few times
 * without waiting has done all that there was to do: nothing here depends on time.
 *
 * A member hears as libmuster does: the state by packets, then the board; and it asks again when it
 * finds its event gone.  Of its bell a test can ask how often it was struck. */
#ifndef TEST_NOTIFY_WORLD_H
#define TEST_NOTIFY_WORLD_H

#include "daemon/programs/notify.h"
#include "wire/local/board.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
/* after those above */
#include <cmocka.h>

enum { SELF = 1, NODES = 8, LOOPS_MAX = 1000, FDS_MAX = 4096 };

static const struct mu_evidence killed = {
    .verdict = MU_VERDICT_DEAD,
    .cause = MU_CAUSE_EXIT,
    .seen_by = 2,
    .pid = 4711,
    .how = {.type = MU_EXIT_SIGNAL, .signal = 9},
    .seen_ns = 5,
    .clock = 6,
};

struct world {
    uv_loop_t loop;
    struct mu_roll roll;
    struct mu_notify *notify;
    uint64_t told; /* events that entered the journal */
    struct mu_local_event last_told;
    uint32_t kill_job;
    int kill_signal;
    bool close_on_kill;
    uint64_t set_period_ns;
    struct mu_chaos chaos;
    uint64_t holder, let_go; /* of the fault; who is gone, plus 1 */
    int voter;               /* a socket that was handed over; 0: none */
};

static inline void on_told(void *owner, const struct mu_local_event *event)
{
    struct world *world = owner;
    world->told++;
    assert_true(event->serial == world->told);
    world->last_told = *event;
}

/* ---- changes of the roll, handed on as the daemon does ---- */

static inline const char *hand_on(struct world *world, struct mu_roll_change change)
{
    if (change.what == MU_ROLL_NOTHING)
        return change.why_not;
    const char *why_not = mu_notify_changed(world->notify, &change);
    mu_roll_events(&change, on_told, world);
    return why_not;
}

static inline void told_process(struct world *world, uint32_t job, uint32_t rank, uint64_t now_ns,
                                uint64_t age_ns, uint16_t hops, const struct mu_evidence *evidence)
{
    const struct mu_local_event event = {.subject = MU_SUBJECT_PROCESS,
                                         .hops = hops,
                                         .job = job,
                                         .rank = rank,
                                         .learned_ns = now_ns,
                                         .age_ns = age_ns,
                                         .evidence = *evidence};
    hand_on(world, mu_roll_told(&world->roll, &event, 0));
}

static inline void told_node(struct world *world, mu_slot node, uint64_t now_ns, uint64_t age_ns,
                             uint16_t hops, const struct mu_evidence *evidence)
{
    const struct mu_local_event event = {.subject = MU_SUBJECT_NODE,
                                         .hops = hops,
                                         .node = node,
                                         .learned_ns = now_ns,
                                         .age_ns = age_ns,
                                         .evidence = *evidence};
    hand_on(world, mu_roll_told(&world->roll, &event, 1));
}

static inline void job_over(struct world *world, uint32_t job)
{
    hand_on(world, mu_roll_over(&world->roll, job, 7));
}

static inline const char *job_begins(struct world *world, uint32_t job,
                                     const struct mu_launch_job *spec)
{
    const char *why_not = hand_on(world, mu_roll_begin(&world->roll, job, spec));
    if (why_not != NULL && mu_roll_find(&world->roll, job) != NULL &&
        mu_roll_find(&world->roll, job)->order == world->roll.jobs_begun)
        job_over(world, job);
    return why_not;
}

static inline void process_starts(struct world *world, uint32_t job, uint32_t rank, uint32_t pid)
{
    hand_on(world, mu_roll_started(&world->roll, job, rank, pid));
}

static inline void process_ends(struct world *world, uint32_t job, uint32_t rank)
{
    hand_on(world, mu_roll_ended(&world->roll, job, rank, false));
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

static inline const char *on_set(void *owner, uint64_t period_ns, uint64_t timeout_ns)
{
    struct world *world = owner;
    world->set_period_ns = period_ns;
    return timeout_ns == 4 * period_ns ? "too careful" : NULL;
}

static inline const char *on_chaos(void *owner, const struct mu_chaos *chaos, uint64_t holder)
{
    struct world *world = owner;
    world->chaos = *chaos;
    world->holder = holder;
    return NULL;
}

static inline void on_voter(void *owner, uint32_t job, uint32_t rank, int fd)
{
    struct world *world = owner;
    (void)job;
    (void)rank;
    world->voter = fd;
}

/* Of two nodes no process is left. */
static inline bool on_gone(void *owner, uint32_t i, struct mu_local_gone *gone)
{
    (void)owner;
    *gone = (struct mu_local_gone){.node = 1 + i, .gone_ns = 1000 + i};
    return i < 2;
}

static inline void on_let_go(void *owner, uint64_t holder)
{
    struct world *world = owner;
    world->let_go = holder + 1;
}

static inline void world_open(struct world *world, uint32_t journal, uint32_t clients)
{
    memset(world, 0, sizeof *world);
    assert_int_equal(uv_loop_init(&world->loop), 0);
    assert_true(mu_roll_open(&world->roll, SELF, NODES));
    struct mu_notify_config config = {
        .loop = &world->loop,
        .machine = 0x1000000000000000u + (uint64_t)getpid(),
        .roll = &world->roll,
        .journal = journal,
        .clients = clients,
        .hooks = {.owner = world,
                  .node = on_node,
                  .counter = on_counter,
                  .kill = on_kill,
                  .set = on_set,
                  .chaos = on_chaos,
                  .let_go = on_let_go,
                  .voter = on_voter,
                  .gone = on_gone},
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
    mu_roll_close(&world->roll);
}

/* ---- news ---- */

static const struct mu_evidence left = {
    .verdict = MU_VERDICT_LEFT, .cause = MU_CAUSE_EXIT, .seen_by = 2, .pid = 4712};
static const struct mu_evidence refused_node = {
    .verdict = MU_VERDICT_DEAD, .cause = MU_CAUSE_WITNESS, .seen_by = 4, .seen_ns = 50, .clock = 6};

/* Ranks go around the nodes: rank r is on node r % NODES when 'rounds' is more than one. */
static inline void begin_job(struct world *world, uint32_t job, uint32_t size)
{
    struct mu_launch_run *runs = calloc(size, sizeof *runs);
    for (uint32_t rank = 0; rank < size; rank++)
        runs[rank] = (struct mu_launch_run){.slot = rank % NODES, .first = rank, .count = 1};
    struct mu_launch_job spec = {.size = size, .run_count = size, .runs = runs};
    assert_null(job_begins(world, job, &spec));
    free(runs);
}

static inline void process_dies(struct world *world, uint32_t job, uint32_t rank)
{
    told_process(world, job, rank, 1000 + rank, 10, 2, &killed);
}

static inline void process_leaves(struct world *world, uint32_t job, uint32_t rank)
{
    told_process(world, job, rank, 1000 + rank, 10, 2, &left);
}

static inline void node_dies(struct world *world, mu_slot node)
{
    told_node(world, node, 2000, 20, 3, &refused_node);
}

/* ---- clients ---- */

static inline int dial(const struct world *world)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *name = mu_notify_name(world->notify);
    memcpy(address.sun_path + 1, name, strlen(name));
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0 && fd < FDS_MAX);
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

/* What a member has, by its socket. */
struct seat {
    struct mu_board_view board; /* of NULL: not a member */
    size_t board_bytes;
    int board_fd, bell;
    uint64_t next; /* on the board; 0: the state comes by packets */
    bool asked;
    uint32_t job;
};
static struct seat seats[FDS_MAX];

static inline void sit_down(int fd, struct msghdr *message)
{
    struct cmsghdr *part = CMSG_FIRSTHDR(message);
    struct seat *seat = &seats[fd];
    if (part == NULL)
        return;
    int fds[2];
    struct stat about;
    assert_int_equal(part->cmsg_type, SCM_RIGHTS);
    assert_int_equal(part->cmsg_len, CMSG_LEN(sizeof fds));
    memcpy(fds, CMSG_DATA(part), sizeof fds);
    assert_int_equal(fstat(fds[0], &about), 0);
    *seat = (struct seat){.board_bytes = (size_t)about.st_size, .board_fd = fds[0], .bell = fds[1]};
    void *memory = mmap(NULL, seat->board_bytes, PROT_READ, MAP_SHARED, fds[0], 0);
    assert_true(memory != MAP_FAILED);
    assert_null(mu_board_look(&seat->board, memory, seat->board_bytes));
}

/* Closes any client's socket, abruptly; -1 is none. */
static inline void hang_up(int fd)
{
    if (fd < 0)
        return;
    struct seat *seat = &seats[fd];
    if (seat->board.board != NULL) {
        munmap((void *)(uintptr_t)seat->board.board, seat->board_bytes);
        close(seat->board_fd);
        close(seat->bell);
    }
    *seat = (struct seat){.board = {NULL}};
    close(fd);
}

/* How often the bell of its job was struck since somebody asked. */
static inline uint64_t strokes(int fd)
{
    uint64_t count = 0;
    if (read(seats[fd].bell, &count, sizeof count) < 0)
        assert_int_equal(errno, EAGAIN);
    return count;
}

/* A packet: 1 with the message, 0 at the end, -1 when nothing is there. */
static inline int try_packet(int fd, struct mu_local_message *message)
{
    uint8_t bytes[MU_LOCAL_PACKET_MAX + 1];
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(4 * sizeof(int))]; /* more than may come */
    } control;
    struct iovec part = {.iov_base = bytes, .iov_len = sizeof bytes};
    struct msghdr got = {.msg_iov = &part,
                         .msg_iovlen = 1,
                         .msg_control = control.bytes,
                         .msg_controllen = sizeof control.bytes};
    ssize_t count = recvmsg(fd, &got, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0 && errno == ECONNRESET)
        return 0; /* closed, with something from us unread */
    if (count < 0) {
        assert_int_equal(errno, EAGAIN);
        return -1;
    }
    if (count == 0)
        return 0;
    sit_down(fd, &got);
    const char *rule = mu_local_decode(bytes, (size_t)count, message);
    if (rule != NULL)
        fail_msg("the daemon sent a packet that breaks a rule: %s", rule);
    return 1;
}

/* From the board: 1 with the message, -1 when nothing is there. */
static inline int try_board(int fd, struct mu_local_message *message)
{
    struct seat *seat = &seats[fd];
    uint64_t words[MU_BOARD_WORDS];
    size_t count;
    while (seat->next != 0) {
        enum mu_board_answer answer = mu_board_take(&seat->board, seat->next, words, &count);
        if (answer == MU_BOARD_NOT_YET)
            return -1;
        if (answer == MU_BOARD_GONE) {
            uint8_t bytes[MU_LOCAL_PACKET_MAX];
            struct mu_local_message again = {.type = MU_LOCAL_AGAIN, .again.serial = seat->next};
            send(fd, bytes, mu_local_encode(&again, bytes), MSG_NOSIGNAL); /* it may be closed */
            seat->next = 0;
            seat->asked = true;
            return -1;
        }
        *message = (struct mu_local_message){.type = MU_LOCAL_EVENT};
        assert_null(mu_local_decode_event((const uint8_t *)words, count, &message->event));
        assert_true(message->event.serial == seat->next++);
        if (message->event.subject != MU_SUBJECT_PROCESS || message->event.job == seat->job)
            return 1;
    }
    return -1;
}

/* What comes next, as a program would hear it: 1 with the message, 0 at the end, -1 when nothing is
 * there. */
static inline int try_hear(int fd, struct mu_local_message *message)
{
    struct seat *seat = &seats[fd];
    for (;;) {
        if (try_board(fd, message) == 1)
            return 1;
        int heard = try_packet(fd, message);
        if (heard != 1 || seat->board.board == NULL)
            return heard;
        if (message->type == MU_LOCAL_WELCOME)
            seat->job = message->welcome.job;
        if (message->type == MU_LOCAL_LOST)
            seat->asked = false;
        if (message->type != MU_LOCAL_CAUGHT_UP)
            return 1;
        assert_true(message->caught_up.serial <= mu_board_head(&seat->board));
        seat->next = message->caught_up.serial + 1;
        bool silent = seat->asked;
        seat->asked = false;
        if (!silent)
            return 1;
    }
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
    hang_up(fd);
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
