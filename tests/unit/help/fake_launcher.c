#include "fake_launcher.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

enum { WATCHDOG_MS = 120000, CREDIT = 1 << 20 };

struct fake_host fake;

static const uint8_t key[MU_SEAL_KEY_BYTES] = "a key for tests: thirty-two byte";
static const char *const nothing[] = {NULL};
static const char *const variables[] = {"PATH=/usr/bin:/bin", "COLOUR=green", "MUSTER_RANK=wrong",
                                        NULL};
static int descriptors_before;

/* ---- the daemon's owner ---- */

static const char *on_begin(void *owner, uint32_t job, const struct mu_launch_job *spec)
{
    (void)job;
    assert_ptr_equal(owner, &fake);
    assert_true(spec->size > 0);
    if (fake.begin_refusal != NULL)
        return fake.begin_refusal;
    fake.begun++;
    return NULL;
}

static void on_started(void *owner, uint32_t job, uint32_t rank, uint32_t pid)
{
    (void)owner;
    (void)job;
    (void)rank;
    assert_true(pid > 0);
    fake.started++;
}

static void on_ended(void *owner, uint32_t job, uint32_t rank, const struct mu_evidence *evidence,
                     bool stopping)
{
    (void)owner;
    (void)job;
    assert_null(mu_evidence_error(evidence));
    assert_int_equal(evidence->cause, MU_CAUSE_EXIT);
    assert_int_equal(evidence->node, FAKE_SLOT);
    assert_int_equal(evidence->seen_by, FAKE_SLOT);
    assert_int_equal(evidence->clock, 77);
    fake.ended++;
    fake.stopping += stopping ? 1 : 0;
    fake.ended_rank[rank % FAKE_RANKS_MAX]++;
}

static void on_spawned(void *owner, uint32_t job, uint32_t number, uint32_t made, const char *text)
{
    struct fake_host *host = owner;
    (void)job, (void)text;
    host->spawned = number;
    host->made = made;
}

static void on_over(void *owner, uint32_t job)
{
    (void)owner;
    (void)job;
    fake.over++;
}

static const char *on_gather(void *owner, uint32_t job, uint32_t size, const uint8_t *bytes,
                             size_t count)
{
    (void)owner;
    (void)job;
    (void)size;
    (void)bytes;
    (void)count;
    return "there is nobody else";
}

/* ---- the door ---- */

static void on_member(void *owner, struct mu_conn *conn)
{
    (void)owner;
    assert_int_equal(mu_conn_kind(conn), MU_SEAL_LAUNCHER);
    assert_int_equal(mu_conn_peer(conn)->from, FAKE_SIZE);
    mu_jobs_launcher(fake.jobs, conn);
    mu_conn_accept(conn, 0);
}

/* ---- the launcher ---- */

static void take_output(struct fake_launcher *launcher, const struct mu_launch_message *message)
{
    struct fake_rank *rank = &launcher->ranks[message->data.rank];
    struct fake_stream *stream = &rank->streams[message->data.stream];
    uint32_t count = message->data.count;
    assert_true(rank->starts > 0);
    assert_int_equal(stream->ends, 0);
    assert_true(count <= launcher->credit);
    launcher->credit -= count;
    stream->bytes = realloc(stream->bytes, stream->count + count);
    assert_non_null(stream->bytes);
    memcpy(stream->bytes + stream->count, message->data.bytes, count);
    stream->count += count;
    if (launcher->gives_back)
        fake_credit(launcher, count);
}

static void take(struct fake_launcher *launcher, const struct mu_launch_message *message)
{
    switch ((enum mu_launch_type)message->type) {
    case MU_LAUNCH_STARTED:
        launcher->ranks[message->started.rank].pid = message->started.pid;
        assert_int_equal(++launcher->ranks[message->started.rank].starts, 1);
        launcher->started++;
        return;
    case MU_LAUNCH_ENDED:
        launcher->ranks[message->ended.rank].evidence = message->ended.evidence;
        assert_int_equal(++launcher->ranks[message->ended.rank].ends, 1);
        launcher->ended++;
        return;
    case MU_LAUNCH_OUTPUT:
        take_output(launcher, message);
        return;
    case MU_LAUNCH_OUTPUT_END:
        assert_int_equal(++launcher->ranks[message->data.rank].streams[message->data.stream].ends,
                         1);
        launcher->stream_ends++;
        return;
    case MU_LAUNCH_INPUT_CREDIT:
        launcher->input_credit += message->credit.bytes;
        return;
    case MU_LAUNCH_TOLD:
        if (launcher->told_count == 0)
            launcher->ends_when_told = launcher->ended;
        launcher->told[launcher->told_count++ % 64] = *message;
        return;
    case MU_LAUNCH_BOUND:
        launcher->bound++;
        launcher->bound_rank = message->bound.rank;
        snprintf(launcher->bound_text, sizeof launcher->bound_text, "%s", message->bound.text);
        return;
    case MU_LAUNCH_REFUSED:
        snprintf(launcher->refused, sizeof launcher->refused, "%s", message->refused.text);
        return;
    case MU_LAUNCH_READY:
        launcher->ready++;
        return;
    case MU_LAUNCH_SPAWN:
        launcher->wish = message->spawn.number;
        launcher->wisher = message->spawn.rank;
        launcher->wish_size = message->spawn.spec.size;
        return;
    default:
        fail_msg("a daemon sent type %u", message->type);
    }
}

static void on_known(struct mu_conn *conn)
{
    mu_conn_accept(conn, 0);
}

static void on_open(struct mu_conn *conn)
{
    struct fake_launcher *launcher = mu_conn_owner(conn);
    launcher->open = true;
}

static void on_frame(struct mu_conn *conn, const uint8_t *bytes, size_t count)
{
    struct fake_launcher *launcher = mu_conn_owner(conn);
    struct mu_launch_message message;
    struct mu_launch_lists lists = {NULL};
    char text[MU_WIRE_TEXT_MAX];
    const char *error = mu_launch_decode(bytes, count, &message, &lists, text);
    if (error != NULL)
        fail_msg("%s", error);
    assert_int_equal(message.job, launcher->job);
    take(launcher, &message);
    mu_launch_lists_free(&lists);
}

static void on_closed(struct mu_conn *conn, const struct mu_conn_end *end)
{
    struct fake_launcher *launcher = mu_conn_owner(conn);
    launcher->conn = NULL;
    launcher->ended_with = end->ending;
    snprintf(launcher->reason, sizeof launcher->reason, "%s", end->text);
}

static const struct mu_conn_hooks launcher_hooks = {
    .known = on_known, .open = on_open, .frame = on_frame, .closed = on_closed};

struct fake_launcher *fake_connect(void)
{
    struct fake_launcher *launcher = calloc(1, sizeof *launcher);
    static uint32_t number = 100;
    assert_non_null(launcher);
    launcher->job = ++number;
    launcher->credit = CREDIT;
    launcher->gives_back = true;
    launcher->conn = mu_conn_dial(&fake.launcher_net, &fake.door.address, FAKE_SLOT,
                                  MU_SEAL_LAUNCHER, &launcher_hooks, launcher);
    assert_non_null(launcher->conn);
    FAKE_UNTIL(launcher->open);
    return launcher;
}

void fake_launcher_free(struct fake_launcher *launcher)
{
    if (launcher->conn != NULL)
        mu_conn_drop(launcher->conn);
    for (uint32_t rank = 0; rank < FAKE_RANKS_MAX; rank++)
        for (int stream = 1; stream <= 2; stream++)
            free(launcher->ranks[rank].streams[stream].bytes);
    free(launcher);
}

void fake_send(struct fake_launcher *launcher, const struct mu_launch_message *message)
{
    static uint8_t bytes[MU_LAUNCH_MESSAGE_MAX];
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, sizeof bytes);
    mu_launch_encode(&writer, message);
    assert_false(writer.full);
    if (launcher->conn != NULL)
        mu_conn_send(launcher->conn, bytes, writer.used);
}

struct mu_launch_message fake_job(uint32_t number, uint32_t here, const char *const *argv)
{
    static struct mu_launch_run run;
    static struct mu_launch_program program;
    run = (struct mu_launch_run){.slot = FAKE_SLOT, .first = 0, .count = here};
    program = (struct mu_launch_program){
        .first = 0, .count = here, .directory = "/", .argv = argv, .envp = nothing};
    return (struct mu_launch_message){
        .type = MU_LAUNCH_JOB,
        .job = number,
        .spec = {.size = here,
                 .input_rank = MU_RANK_NONE,
                 .run_count = 1,
                 .runs = &run,
                 .program_count = 1,
                 .programs = &program,
                 .envp = variables,
                 .credit = CREDIT},
    };
}

void fake_start_argv(struct fake_launcher *launcher, uint32_t here, const char *const *argv,
                     bool input)
{
    struct mu_launch_message message = fake_job(launcher->job, here, argv);
    message.spec.credit = launcher->credit;
    message.spec.input_rank = input ? 0 : MU_RANK_NONE;
    fake_send(launcher, &message);
}

void fake_start(struct fake_launcher *launcher, uint32_t here, const char *script, bool input)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    fake_start_argv(launcher, here, argv, input);
}

void fake_stop(struct fake_launcher *launcher, uint32_t grace_ms)
{
    fake_send(launcher, &(struct mu_launch_message){.type = MU_LAUNCH_STOP,
                                                    .job = launcher->job,
                                                    .stop = {.grace_ms = grace_ms}});
}

void fake_signal(struct fake_launcher *launcher, int number)
{
    fake_send(launcher, &(struct mu_launch_message){.type = MU_LAUNCH_SIGNAL,
                                                    .job = launcher->job,
                                                    .signal = {.number = (uint8_t)number}});
}

void fake_credit(struct fake_launcher *launcher, uint64_t bytes)
{
    launcher->credit += bytes;
    fake_send(launcher, &(struct mu_launch_message){
                            .type = MU_LAUNCH_CREDIT, .job = launcher->job, .credit = {bytes}});
}

void fake_input(struct fake_launcher *launcher, const void *bytes, uint32_t count)
{
    launcher->input_credit -= count;
    fake_send(launcher, &(struct mu_launch_message){.type = MU_LAUNCH_INPUT,
                                                    .job = launcher->job,
                                                    .data = {.count = count, .bytes = bytes}});
}

void fake_over(struct fake_launcher *launcher)
{
    fake_send(launcher, &(struct mu_launch_message){.type = MU_LAUNCH_OVER, .job = launcher->job});
}

/* ---- waiting ---- */

static void on_watchdog(uv_timer_t *timer)
{
    (void)timer;
    fake.barked = true;
}

void fake_watchdog(const char *condition)
{
    (void)condition;
    fake.barked = false;
    uv_timer_start(&fake.watchdog, on_watchdog, WATCHDOG_MS, 0);
}

void fake_turn(const char *condition)
{
    if (fake.barked)
        fail_msg("after %d ms it is not so: %s", WATCHDOG_MS, condition);
    uv_run(&fake.loop, UV_RUN_ONCE);
    fake.turns++;
}

bool fake_complete(const struct fake_launcher *launcher)
{
    return launcher->ended > 0 && launcher->stream_ends == 2 * launcher->ended &&
           mu_jobs_processes(fake.jobs) == 0;
}

void fake_expect_text(const struct fake_launcher *launcher, uint32_t rank, int stream,
                      const char *text)
{
    const struct fake_stream *came = &launcher->ranks[rank].streams[stream];
    if (came->count != strlen(text) || memcmp(came->bytes, text, came->count) != 0)
        fail_msg("stream %d of rank %u is '%.*s', not '%s'", stream, rank, (int)came->count,
                 came->count > 0 ? (const char *)came->bytes : "", text);
}

bool fake_alive(int pid)
{
    return kill(pid, 0) == 0;
}

/* ---- before and after each test ---- */

static int count_descriptors(void)
{
    int count = 0;
    DIR *entries = opendir("/proc/self/fd");
    assert_non_null(entries);
    while (readdir(entries) != NULL)
        count++;
    closedir(entries);
    return count;
}

/* The first loop of a process opens two descriptors that libuv keeps for good. */
static void warm_up(void)
{
    assert_int_equal(uv_loop_init(&fake.loop), 0);
    assert_int_equal(uv_loop_close(&fake.loop), 0);
}

static void on_dead(void *owner, uint32_t job, uint64_t *failed)
{
    (void)owner, (void)job, (void)failed;
}

static enum mu_goodbye on_owes(void *owner, uint32_t job, uint32_t rank)
{
    struct fake_host *host = owner;
    (void)job, (void)rank;
    host->asked++;
    return host->owes;
}

int fake_begin(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    warm_up();
    descriptors_before = count_descriptors();
    memset(&fake, 0, sizeof fake);
    assert_int_equal(uv_loop_init(&fake.loop), 0);
    uv_timer_init(&fake.loop, &fake.watchdog);
    struct mu_hello self = {
        .machine = 0xaa, .size = FAKE_SIZE, .from = FAKE_SLOT, .incarnation = 1};
    assert_int_equal(mu_net_init(&fake.net, &fake.loop, &self, key), 0);
    self.from = FAKE_SIZE; /* a launcher has no slot */
    assert_int_equal(mu_net_init(&fake.launcher_net, &fake.loop, &self, key), 0);
    fake.door.member = on_member;
    fake.door.owner = &fake;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    assert_int_equal(mu_door_open(&fake.door, &fake.net, &address), 0);
    struct mu_jobs_config config = {
        .net = &fake.net,
        .clock = 77,
        .shared_host = true,
        .processes = FAKE_PROCESSES,
        .socket = FAKE_SOCKET,
        .hooks = {.owner = &fake,
                  .begin = on_begin,
                  .started = on_started,
                  .ended = on_ended,
                  .over = on_over,
                  .gather = on_gather,
                  .spawned = on_spawned,
                  .owes = on_owes,
                  .dead = on_dead},
    };
    assert_int_equal(mu_jobs_open(&config, &fake.jobs), 0);
    return 0;
}

int fake_end(void **state)
{
    (void)state;
    if (fake.jobs != NULL)
        mu_jobs_close(fake.jobs);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    mu_door_close(&fake.door);
    FAKE_UNTIL(fake.net.open == 0 && fake.launcher_net.open == 0);
    uv_close((uv_handle_t *)&fake.watchdog, NULL);
    assert_int_equal(uv_run(&fake.loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&fake.loop), 0);
    mu_net_free(&fake.net);
    mu_net_free(&fake.launcher_net);
    assert_int_equal(count_descriptors(), descriptors_before);
    return 0;
}
