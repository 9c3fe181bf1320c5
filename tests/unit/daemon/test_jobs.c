/* The jobs of a daemon, with real processes and a launcher over loopback.  Every test begins and
 * ends without a child and with the same descriptors. */
#define _GNU_SOURCE
#include "fake_launcher.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1024 * 1024 };

/* Says OVER, waits until the daemon has forgotten the job, and says goodbye. */
static void finish(struct fake_launcher *launcher)
{
    uint32_t over = fake.over;
    fake_over(launcher);
    FAKE_UNTIL(fake.over == over + 1);
    assert_int_equal(mu_jobs_count(fake.jobs), 0);
    assert_non_null(launcher->conn);
    mu_conn_bye(launcher->conn);
    launcher->conn = NULL;
    fake_launcher_free(launcher);
}

static void expect_ended(const struct fake_launcher *launcher, uint32_t rank,
                         enum mu_exit_type type, int value)
{
    const struct mu_evidence *evidence = &launcher->ranks[rank].evidence;
    assert_int_equal(launcher->ranks[rank].ends, 1);
    assert_int_equal(evidence->how.type, type);
    assert_int_equal(evidence->verdict, type == MU_EXIT_LEFT ? MU_VERDICT_LEFT : MU_VERDICT_DEAD);
    if (type == MU_EXIT_CODE)
        assert_int_equal(evidence->how.code, value);
    if (type == MU_EXIT_SIGNAL)
        assert_int_equal(evidence->how.signal, value);
    if (type == MU_EXIT_NOT_STARTED)
        assert_int_equal(evidence->how.error, value);
}

static bool has_text(const struct fake_launcher *launcher, uint32_t rank, const char *text)
{
    const struct fake_stream *stream = &launcher->ranks[rank].streams[1];
    return stream->count >= strlen(text) && memcmp(stream->bytes, text, strlen(text)) == 0;
}

static int number_from(const struct fake_launcher *launcher, uint32_t rank)
{
    const struct fake_stream *stream = &launcher->ranks[rank].streams[1];
    char text[32];
    assert_true(stream->count < sizeof text);
    memcpy(text, stream->bytes, stream->count);
    text[stream->count] = '\0';
    return atoi(text);
}

/* ---- goodbyes ---- */

static void test_exit_0_without_a_goodbye(void **state)
{
    (void)state;
    struct fake_launcher *launcher = fake_connect();
    fake.owes = MU_GOODBYE_MUSTER;
    fake_start(launcher, 2, "exit $MUSTER_RANK", false);
    FAKE_UNTIL(fake_complete(launcher) && launcher->ended == 2);
    expect_ended(launcher, 0, MU_EXIT_NO_GOODBYE, MU_GOODBYE_MUSTER);
    assert_int_equal(launcher->ranks[0].evidence.how.code, MU_GOODBYE_MUSTER);
    expect_ended(launcher, 1, MU_EXIT_CODE, 1);
    assert_int_equal(fake.asked, 1); /* who has failed anyway is not asked for */
    fake_over(launcher);
    fake_launcher_free(launcher);
}

static void test_who_is_ended_owes_nothing(void **state)
{
    (void)state;
    struct fake_launcher *launcher = fake_connect();
    fake.owes = MU_GOODBYE_MUSTER;
    fake_start(launcher, 1, "trap 'exit 0' TERM; echo up; while :; do sleep 0.01; done", false);
    FAKE_UNTIL(has_text(launcher, 0, "up"));
    fake_stop(launcher, 10000);
    FAKE_UNTIL(fake_complete(launcher) && launcher->ended == 1);
    expect_ended(launcher, 0, MU_EXIT_LEFT, 0);
    fake_over(launcher);
    fake_launcher_free(launcher);
}

/* ---- the simple way ---- */

static void test_four_processes(void **state)
{
    (void)state;
    struct fake_launcher *launcher = fake_connect();
    fake_start(launcher, 4, "echo out $MUSTER_RANK; echo err $MUSTER_RANK >&2; exit $MUSTER_RANK",
               false);
    FAKE_UNTIL(fake_complete(launcher) && launcher->ended == 4);
    for (uint32_t rank = 0; rank < 4; rank++) {
        char text[32];
        assert_int_equal(launcher->ranks[rank].starts, 1);
        expect_ended(launcher, rank, rank == 0 ? MU_EXIT_LEFT : MU_EXIT_CODE, (int)rank);
        assert_int_equal(launcher->ranks[rank].evidence.pid, launcher->ranks[rank].pid);
        assert_true(launcher->ranks[rank].evidence.seen_ns > 0);
        snprintf(text, sizeof text, "out %u\n", rank);
        fake_expect_text(launcher, rank, 1, text);
        snprintf(text, sizeof text, "err %u\n", rank);
        fake_expect_text(launcher, rank, 2, text);
        assert_int_equal(fake.ended_rank[rank], 1);
    }
    assert_int_equal(fake.begun, 1);
    assert_int_equal(fake.started, 4);
    assert_int_equal(fake.ended, 4);
    assert_int_equal(fake.stopping, 0);
    assert_int_equal(mu_jobs_count(fake.jobs), 1);
    finish(launcher);
}

static void test_environment(void **state)
{
    (void)state;
    static const char *const argv[] = {"env", NULL};
    static const char *const own[] = {"COLOUR=blue", "MUSTER_SIZE=wrong", NULL};
    struct fake_launcher *launcher = fake_connect();
    struct mu_launch_message message = fake_job(launcher->job, 2, argv);
    const struct mu_launch_run runs[] = {
        {0, 0, 1}, {FAKE_SLOT, 1, 1}, {2, 2, 2}, {FAKE_SLOT, 4, 1}};
    const struct mu_launch_program program = {
        .first = 0, .count = 5, .directory = "/tmp", .argv = argv, .envp = own};
    message.spec.size = 5;
    message.spec.runs = runs;
    message.spec.run_count = 4;
    message.spec.programs = &program;
    fake_send(launcher, &message);
    FAKE_UNTIL(fake_complete(launcher) && launcher->ended == 2);
    char text[512];
    for (uint32_t local = 0; local < 2; local++) {
        snprintf(text, sizeof text,
                 "MUSTER_SOCKET=" FAKE_SOCKET "\nMUSTER_JOB=%u\nMUSTER_RANK=%u\nMUSTER_SIZE=5\n"
                 "MUSTER_NODE=1\nMUSTER_NODES=3\nMUSTER_LOCAL_RANK=%u\nCOLOUR=blue\n"
                 "PATH=/usr/bin:/bin\n",
                 launcher->job, local == 0 ? 1 : 4, local);
        fake_expect_text(launcher, local == 0 ? 1 : 4, 1, text);
    }
    finish(launcher);
}

static void test_nothing_here(void **state)
{
    (void)state;
    static const char *const argv[] = {"true", NULL};
    struct fake_launcher *launcher = fake_connect();
    struct mu_launch_message message = fake_job(launcher->job, 1, argv);
    const struct mu_launch_run run = {.slot = 0, .first = 0, .count = 1};
    message.spec.runs = &run;
    fake_send(launcher, &message);
    FAKE_UNTIL(fake.begun == 1);
    assert_int_equal(mu_jobs_count(fake.jobs), 1);
    FAKE_UNTIL(launcher->ready == 1);
    finish(launcher);
    assert_int_equal(fake.started + fake.ended, 0);
}

static void test_a_wish_for_a_further_job(void **state)
{
    (void)state;
    static const char *const argv[] = {"true", NULL}, *const none[] = {NULL};
    static const struct mu_launch_program program = {
        .first = 0, .count = 3, .directory = "/", .argv = argv, .envp = none};
    const struct mu_launch_job wish = {.size = 3, .program_count = 1, .programs = &program};
    struct fake_launcher *launcher = fake_connect();
    fake_start(launcher, 2, "read line", true);
    FAKE_UNTIL(launcher->started == 2);
    assert_null(mu_jobs_spawn(fake.jobs, launcher->job, 1, 77, &wish));
    FAKE_UNTIL(launcher->wish == 77);
    assert_int_equal(launcher->wisher, 1);
    assert_int_equal(launcher->wish_size, 3);
    fake_send(launcher,
              &(struct mu_launch_message){.type = MU_LAUNCH_SPAWNED,
                                          .job = launcher->job,
                                          .spawned = {.number = 77, .job = 5, .text = ""}});
    FAKE_UNTIL(fake.spawned == 77);
    assert_int_equal(fake.made, 5);
    const struct mu_launch_job nobody = {.size = 0, .program_count = 1, .programs = &program};
    assert_string_equal(mu_jobs_spawn(fake.jobs, launcher->job, 1, 78, &nobody),
                        "a job of 0 ranks is not between 1 and 1048576");
    assert_string_equal(mu_jobs_spawn(fake.jobs, launcher->job + 1, 1, 79, &wish),
                        "the job is ending");
    fake_stop(launcher, 0);
    FAKE_UNTIL(fake_complete(launcher) && launcher->ended == 2);
    assert_string_equal(mu_jobs_spawn(fake.jobs, launcher->job, 1, 80, &wish), "the job is ending");
    finish(launcher);
}

static void test_programs_that_do_not_start(void **state)
{
    (void)state;
    static const char *const good[] = {"true", NULL};
    static const char *const missing[] = {"/nonexistent/program", NULL};
    static const char *const none[] = {NULL};
    const struct mu_launch_program programs[] = {
        {.first = 0, .count = 1, .directory = "/", .argv = good, .envp = none},
        {.first = 1, .count = 1, .directory = "/", .argv = missing, .envp = none},
        {.first = 2, .count = 1, .directory = "/nonexistent", .argv = good, .envp = none},
    };
    struct fake_launcher *launcher = fake_connect();
    struct mu_launch_message message = fake_job(launcher->job, 3, good);
    message.spec.programs = programs;
    message.spec.program_count = 3;
    fake_send(launcher, &message);
    FAKE_UNTIL(fake_complete(launcher) && launcher->ended == 3);
    expect_ended(launcher, 0, MU_EXIT_LEFT, 0);
    expect_ended(launcher, 1, MU_EXIT_NOT_STARTED, ENOENT);
    assert_int_equal(launcher->ranks[1].evidence.how.step, MU_START_EXEC);
    assert_string_equal(launcher->ranks[1].evidence.path, "/nonexistent/program");
    expect_ended(launcher, 2, MU_EXIT_NOT_STARTED, ENOENT);
    assert_int_equal(launcher->ranks[2].evidence.how.step, MU_START_CHDIR);
    assert_string_equal(launcher->ranks[2].evidence.path, "/nonexistent");
    assert_int_equal(launcher->started, 1);
    assert_int_equal(fake.ended, 3);
    finish(launcher);
}

/* The limit under which so many more descriptors can be opened. */
static rlim_t limit_with_free(int count)
{
    int fd = 0;
    for (; count > 0; fd++)
        count -= fcntl(fd, F_GETFD) < 0;
    return (rlim_t)fd;
}

/* Who cannot have its pipes is not started, and says why; the others are.
 * Ranks 0 to 3 take 6 + 3 * 4 of 21, so that one is left for the process that is being started,
 * also while the next rank has one pipe and finds that there is no second. */
static void test_too_few_descriptors(void **state)
{
    (void)state;
    struct rlimit before, few;
    struct fake_launcher *launcher = fake_connect();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = limit_with_free(21);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    fake_start(launcher, 30, "read line; echo done", true);
    FAKE_UNTIL(launcher->started + launcher->ended >= 30);
    fake_input(launcher, "go\n", 3);
    FAKE_UNTIL(fake_complete(launcher) && launcher->ended == 30);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    uint32_t refused = 0;
    for (uint32_t rank = 0; rank < 30; rank++) {
        if (launcher->ranks[rank].starts == 1) {
            fake_expect_text(launcher, rank, 1, "done\n");
            continue;
        }
        expect_ended(launcher, rank, MU_EXIT_NOT_STARTED, EMFILE);
        refused++;
    }
    assert_true(refused > 0 && refused < 30);
    finish(launcher);
}

/* Many more than are started at once. */
static void test_many_processes(void **state)
{
    (void)state;
    struct fake_launcher *launcher = fake_connect();
    fake_start(launcher, 200, "echo $MUSTER_LOCAL_RANK", false);
    FAKE_UNTIL(fake_complete(launcher) && launcher->ended == 200);
    for (uint32_t rank = 0; rank < 200; rank++) {
        char text[16];
        snprintf(text, sizeof text, "%u\n", rank);
        fake_expect_text(launcher, rank, 1, text);
        assert_int_equal(launcher->ranks[rank].starts, 1);
        expect_ended(launcher, rank, MU_EXIT_LEFT, 0);
    }
    finish(launcher);
}

/* ---- output ---- */

static void test_much_output_through_little_credit(void **state)
{
    (void)state;
    static const char row[] = "0123456789abcde\n";
    struct fake_launcher *launcher = fake_connect();
    launcher->credit = 10000;
    fake_start(launcher, 1, "yes 0123456789abcde | head -c 8388608", false);
    FAKE_UNTIL(fake_complete(launcher));
    const struct fake_stream *stream = &launcher->ranks[0].streams[1];
    assert_int_equal(stream->count, 8 * MIB);
    for (size_t i = 0; i < stream->count; i++)
        if (stream->bytes[i] != (uint8_t)row[i % 16])
            fail_msg("byte %zu is %u", i, stream->bytes[i]);
    expect_ended(launcher, 0, MU_EXIT_LEFT, 0);
    finish(launcher);
}

/* The pipe still has what it wrote; its end does not wait for that. */
static void test_killed_while_writing(void **state)
{
    (void)state;
    struct fake_launcher *launcher = fake_connect();
    launcher->credit = 0;
    fake_start(launcher, 1, "yes | head -c 5000; printf last; kill -9 $$", false);
    FAKE_UNTIL(launcher->ended == 1);
    expect_ended(launcher, 0, MU_EXIT_SIGNAL, SIGKILL);
    FAKE_UNTIL(launcher->stream_ends == 1); /* of stderr, which is empty */
    assert_int_equal(launcher->ranks[0].streams[1].count, 0);
    fake_credit(launcher, 1);
    FAKE_UNTIL(launcher->stream_ends == 2);
    const struct fake_stream *stream = &launcher->ranks[0].streams[1];
    assert_int_equal(stream->count, 5004);
    assert_memory_equal(stream->bytes + 5000, "last", 4);
    finish(launcher);
}

static void test_without_credit_it_waits(void **state)
{
    (void)state;
    struct fake_launcher *launcher = fake_connect();
    launcher->credit = 100;
    launcher->gives_back = false;
    fake_start(launcher, 2, "yes", false);
    FAKE_UNTIL(launcher->credit == 0 && launcher->started == 2);
    uint64_t turns = fake.turns;
    /* The pipes are full and nothing moves: the loop must not spin on them. */
    fake_signal(launcher, SIGUSR1);
    FAKE_UNTIL(launcher->ended == 2);
    assert_true(fake.turns - turns < 200);
    launcher->gives_back = true;
    fake_credit(launcher, MIB);
    FAKE_UNTIL(fake_complete(launcher));
    expect_ended(launcher, 0, MU_EXIT_SIGNAL, SIGUSR1);
    finish(launcher);
}

/* Who writes without an end does not keep the other from being heard. */
static void test_streams_take_turns(void **state)
{
    (void)state;
    struct fake_launcher *launcher = fake_connect();
    launcher->credit = 1000;
    fake_start(launcher, 3, "[ $MUSTER_RANK = 1 ] || exec yes; echo here; exec sleep 100", false);
    FAKE_UNTIL(has_text(launcher, 1, "here\n") && launcher->ranks[0].streams[1].count > MIB &&
               launcher->ranks[2].streams[1].count > MIB);
    fake_stop(launcher, 0);
    FAKE_UNTIL(fake_complete(launcher) && launcher->ended == 3);
    finish(launcher);
}

static void test_output_that_closes_early(void **state)
{
    (void)state;
    struct fake_launcher *launcher = fake_connect();
    fake_start(launcher, 1, "echo first; exec >&- 2>&-; read line; exit 7", true);
    FAKE_UNTIL(launcher->stream_ends == 2);
    assert_int_equal(launcher->ended, 0);
    uint64_t turns = fake.turns;
    fake_input(launcher, NULL, 0);
    FAKE_UNTIL(launcher->ended == 1);
    assert_true(fake.turns - turns < 50);
    expect_ended(launcher, 0, MU_EXIT_CODE, 7);
    fake_expect_text(launcher, 0, 1, "first\n");
    finish(launcher);
}

/* ---- input ---- */

static void test_input_comes_back(void **state)
{
    (void)state;
    static uint8_t bytes[2 * MIB];
    struct fake_launcher *launcher = fake_connect();
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 251);
    fake_start(launcher, 2, "exec cat", true);
    for (size_t sent = 0; sent < sizeof bytes;) {
        FAKE_UNTIL(launcher->input_credit > 0);
        size_t count = launcher->input_credit;
        if (count > MU_LAUNCH_CHUNK_MAX)
            count = MU_LAUNCH_CHUNK_MAX;
        if (count > sizeof bytes - sent)
            count = sizeof bytes - sent;
        fake_input(launcher, bytes + sent, (uint32_t)count);
        sent += count;
    }
    assert_int_equal(launcher->ranks[0].ends, 0); /* it waits for more */
    fake_input(launcher, NULL, 0);
    FAKE_UNTIL(fake_complete(launcher) && launcher->ended == 2);
    const struct fake_stream *stream = &launcher->ranks[0].streams[1];
    assert_int_equal(stream->count, sizeof bytes);
    assert_memory_equal(stream->bytes, bytes, sizeof bytes);
    assert_int_equal(launcher->ranks[1].streams[1].count, 0); /* its input was /dev/null */
    assert_int_equal(launcher->input_credit, 64 * 1024);
    finish(launcher);
}

static void test_input_that_nobody_reads(void **state)
{
    (void)state;
    static uint8_t bytes[32 * 1024];
    struct fake_launcher *launcher = fake_connect();
    fake_start(launcher, 1, "exec <&-; echo closed; exec sleep 100", true);
    FAKE_UNTIL(has_text(launcher, 0, "closed\n"));
    for (int i = 0; i < 20; i++) {
        FAKE_UNTIL(launcher->input_credit >= sizeof bytes);
        fake_input(launcher, bytes, sizeof bytes);
    }
    FAKE_UNTIL(launcher->input_credit == 64 * 1024);
    fake_stop(launcher, 0);
    FAKE_UNTIL(fake_complete(launcher));
    fake_input(launcher, bytes, sizeof bytes); /* to one that is gone */
    FAKE_UNTIL(launcher->input_credit == 64 * 1024);
    finish(launcher);
}

static void test_input_for_one_that_does_not_start(void **state)
{
    (void)state;
    static const char *const missing[] = {"/nonexistent/program", NULL};
    struct fake_launcher *launcher = fake_connect();
    fake_start_argv(launcher, 1, missing, true);
    FAKE_UNTIL(launcher->input_credit > 0);
    fake_input(launcher, "lost", 4);
    FAKE_UNTIL(fake_complete(launcher) && launcher->input_credit == 64 * 1024);
    fake_input(launcher, NULL, 0);
    finish(launcher);
}

/* What does not fit into the pipe waits, and comes back when the process dies. */
static void test_input_that_waits(void **state)
{
    (void)state;
    static uint8_t bytes[MU_LAUNCH_CHUNK_MAX];
    struct fake_launcher *launcher = fake_connect();
    fake_start(launcher, 1, "exec sleep 100", true);
    FAKE_UNTIL(launcher->input_credit == sizeof bytes);
    fake_input(launcher, bytes, sizeof bytes);
    FAKE_UNTIL(launcher->input_credit == sizeof bytes); /* the pipe took it all */
    fake_input(launcher, bytes, sizeof bytes);
    fake_signal(launcher, SIGTERM);
    FAKE_UNTIL(fake_complete(launcher) && launcher->input_credit == sizeof bytes);
    finish(launcher);
}

/* ---- signals, and the end ---- */

static void test_signals(void **state)
{
    (void)state;
    struct fake_launcher *launcher = fake_connect();
    fake_start(launcher, 2,
               "trap 'echo got; exit 3' USR1; echo ready; while :; do sleep 0.01; done", false);
    FAKE_UNTIL(has_text(launcher, 0, "ready\n") && has_text(launcher, 1, "ready\n"));
    fake_signal(launcher, SIGUSR1);
    FAKE_UNTIL(fake_complete(launcher) && launcher->ended == 2);
    fake_expect_text(launcher, 1, 1, "ready\ngot\n");
    expect_ended(launcher, 0, MU_EXIT_CODE, 3);
    assert_int_equal(fake.stopping, 0);
    finish(launcher);
}

/* Nobody is left out, whenever it comes. */
static void test_signal_while_starting(void **state)
{
    (void)state;
    struct fake_launcher *launcher = fake_connect();
    fake_start(launcher, 100, "exec sleep 100", false);
    fake_signal(launcher, SIGUSR2);
    FAKE_UNTIL(fake_complete(launcher) && launcher->ended == 100);
    for (uint32_t rank = 0; rank < 100; rank++)
        expect_ended(launcher, rank, MU_EXIT_SIGNAL, SIGUSR2);
    assert_int_equal(fake.stopping, 0);
    finish(launcher);
}

static void test_stop_while_starting(void **state)
{
    (void)state;
    struct fake_launcher *launcher = fake_connect();
    fake_start(launcher, 200, "exec sleep 100", false);
    fake_stop(launcher, 20000);
    FAKE_UNTIL(fake_complete(launcher) && launcher->ended == 200);
    uint32_t never = 0;
    for (uint32_t rank = 0; rank < 200; rank++) {
        if (launcher->ranks[rank].starts == 1) {
            expect_ended(launcher, rank, MU_EXIT_SIGNAL, SIGTERM);
            continue;
        }
        expect_ended(launcher, rank, MU_EXIT_NOT_STARTED, ECANCELED);
        never++;
    }
    assert_true(never > 0 && never < 200);
    assert_int_equal(fake.stopping, 200);
    assert_int_equal(launcher->started + never, 200);
    finish(launcher);
}

static void test_stop_with_grace(void **state)
{
    (void)state;
    struct fake_launcher *launcher = fake_connect();
    fake_start(launcher, 2,
               "[ $MUSTER_RANK = 0 ] && trap '' TERM; echo ready; while :; do sleep 0.01; done",
               false);
    FAKE_UNTIL(has_text(launcher, 0, "ready\n") && has_text(launcher, 1, "ready\n"));
    fake_stop(launcher, 100);
    FAKE_UNTIL(launcher->ended == 1);
    expect_ended(launcher, 1, MU_EXIT_SIGNAL, SIGTERM);
    FAKE_UNTIL(fake_complete(launcher) && launcher->ended == 2);
    expect_ended(launcher, 0, MU_EXIT_SIGNAL, SIGKILL);
    finish(launcher);
}

static void test_stop_again_is_sooner(void **state)
{
    (void)state;
    struct fake_launcher *launcher = fake_connect();
    fake_start(launcher, 1, "trap 'echo no' TERM; echo ready; while :; do sleep 0.01; done", false);
    FAKE_UNTIL(has_text(launcher, 0, "ready\n"));
    fake_stop(launcher, 3600000);
    FAKE_UNTIL(has_text(launcher, 0, "ready\nno\n"));
    fake_stop(launcher, 0);
    FAKE_UNTIL(fake_complete(launcher));
    expect_ended(launcher, 0, MU_EXIT_SIGNAL, SIGKILL);
    finish(launcher);
}

static void test_launcher_is_cut(void **state)
{
    (void)state;
    struct fake_launcher *launcher = fake_connect();
    launcher->credit = 1000; /* so it waits for a pipe when the connection goes */
    launcher->gives_back = false;
    fake_start(launcher, 3, "[ $MUSTER_RANK = 0 ] && trap '' TERM; while :; do echo again; done",
               false);
    FAKE_UNTIL(launcher->credit == 0 && launcher->started == 3);
    fake_launcher_free(launcher);
    FAKE_UNTIL(fake.over == 1);
    assert_int_equal(fake.ended, 3);
    assert_int_equal(fake.stopping, 3);
    assert_int_equal(mu_jobs_count(fake.jobs), 0);
}

static void test_launcher_is_cut_while_starting(void **state)
{
    (void)state;
    struct fake_launcher *launcher = fake_connect();
    fake_start(launcher, 200, "exec sleep 100", false);
    FAKE_UNTIL(launcher->started > 0);
    fake_launcher_free(launcher);
    FAKE_UNTIL(fake.over == 1);
    assert_int_equal(fake.ended, 200);
}

static void test_operator_kills(void **state)
{
    (void)state;
    struct fake_launcher *launcher = fake_connect();
    fake_start(launcher, 2, "exec sleep 100", false);
    FAKE_UNTIL(launcher->started == 2);
    assert_false(mu_jobs_kill(fake.jobs, launcher->job + 1, SIGINT));
    assert_true(mu_jobs_kill(fake.jobs, launcher->job, SIGINT));
    FAKE_UNTIL(fake_complete(launcher) && launcher->ended == 2);
    expect_ended(launcher, 0, MU_EXIT_SIGNAL, SIGINT);
    assert_int_equal(fake.stopping, 2);
    finish(launcher);
}

static void on_all_over(void *owner)
{
    assert_ptr_equal(owner, &fake);
    fake.all_over++;
}

static void test_the_node_ends(void **state)
{
    (void)state;
    struct fake_launcher *launcher = fake_connect(), *late = fake_connect();
    fake_start(launcher, 40, "exec sleep 100", false);
    FAKE_UNTIL(launcher->started > 0);
    mu_jobs_stop_all(fake.jobs, 10000, on_all_over);
    assert_int_equal(fake.all_over, 0);
    fake_start(late, 1, "true", false);
    FAKE_UNTIL(late->refused[0] != '\0');
    assert_string_equal(late->refused, "this node is ending");
    FAKE_UNTIL(fake.all_over == 1);
    assert_int_equal(fake.ended, 40);
    FAKE_UNTIL(fake_complete(launcher) && launcher->ended == 40);
    mu_jobs_stop_all(fake.jobs, 10000, on_all_over); /* nobody is left */
    assert_int_equal(fake.all_over, 2);
    fake_launcher_free(launcher);
    fake_launcher_free(late);
}

static void close_jobs(void *owner)
{
    (void)owner;
    mu_jobs_close(fake.jobs);
    fake.jobs = NULL;
}

static void test_closed_when_all_is_over(void **state)
{
    (void)state;
    struct fake_launcher *launcher = fake_connect();
    fake_start(launcher, 2, "exec sleep 100", false);
    FAKE_UNTIL(launcher->started == 2);
    mu_jobs_stop_all(fake.jobs, 10000, close_jobs);
    FAKE_UNTIL(fake.jobs == NULL && launcher->conn == NULL);
    fake_launcher_free(launcher);
}

/* fake_end() sees that no child is left. */
static void test_closed_in_the_middle(void **state)
{
    (void)state;
    struct fake_launcher *launcher = fake_connect();
    fake_start(launcher, 100, "trap '' TERM; setsid sleep 100 & while :; do echo x; done", true);
    FAKE_UNTIL(launcher->started > 10);
    close_jobs(NULL);
    FAKE_UNTIL(launcher->conn == NULL);
    fake_launcher_free(launcher);
}

/* ---- orphans ---- */

static void test_orphans(void **state)
{
    (void)state;
    struct fake_launcher *launcher = fake_connect();
    fake_start(launcher, 1, "setsid sh -c 'echo $$; exec sleep 100' & wait", false);
    FAKE_UNTIL(launcher->ranks[0].streams[1].count > 1);
    int orphan = number_from(launcher, 0);
    fake_signal(launcher, SIGTERM);
    /* It still has the pipe, and nobody waits for it. */
    FAKE_UNTIL(fake_complete(launcher));
    expect_ended(launcher, 0, MU_EXIT_SIGNAL, SIGTERM);
    assert_true(fake_alive(orphan));
    finish(launcher);
    FAKE_UNTIL(!fake_alive(orphan));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* Children in the group go with their leader, whoever holds the pipe. */
static void test_a_group_goes_with_its_leader(void **state)
{
    (void)state;
    struct fake_launcher *launcher = fake_connect();
    fake_start(launcher, 1, "sh -c 'echo $$; exec sleep 100' & wait", false);
    FAKE_UNTIL(launcher->ranks[0].streams[1].count > 1);
    int child = number_from(launcher, 0);
    kill((pid_t)launcher->ranks[0].pid, SIGKILL);
    FAKE_UNTIL(fake_complete(launcher));
    finish(launcher);
    FAKE_UNTIL(!fake_alive(child));
}

/* ---- refusals ---- */

static void test_refusals(void **state)
{
    (void)state;
    static const char *const argv[] = {"sleep", "100", NULL};
    struct fake_launcher *first = fake_connect(), *same = fake_connect(), *many = fake_connect(),
                         *other = fake_connect(), *unwanted = fake_connect();
    fake_start_argv(first, 200, argv, false);
    same->job = first->job;
    fake_start_argv(same, 1, argv, false);
    FAKE_UNTIL(same->refused[0] != '\0');
    char text[64];
    snprintf(text, sizeof text, "job %u is on this node already", first->job);
    assert_string_equal(same->refused, text);

    fake_start_argv(many, 101, argv, false);
    FAKE_UNTIL(many->refused[0] != '\0');
    assert_string_equal(many->refused, "the job needs 101 processes on this node, which runs 200 "
                                       "and takes at most 300 (use more nodes)");

    struct mu_launch_message message = fake_job(other->job, 1, argv);
    const struct mu_launch_run run = {.slot = FAKE_SIZE, .first = 0, .count = 1};
    message.spec.runs = &run;
    fake_send(other, &message);
    FAKE_UNTIL(other->refused[0] != '\0');
    assert_string_equal(other->refused, "node 3 is not in this cluster of 3 nodes");

    fake.begin_refusal = "not \x1b today";
    fake_start_argv(unwanted, 1, argv, false);
    fake_stop(unwanted, 0); /* crosses the refusal */
    fake_over(unwanted);
    FAKE_UNTIL(unwanted->refused[0] != '\0');
    assert_string_equal(unwanted->refused, "not ? today");
    assert_int_equal(mu_jobs_count(fake.jobs), 1);
    fake_launcher_free(same);
    fake_launcher_free(many);
    fake_launcher_free(other);
    fake_launcher_free(unwanted);
    fake_stop(first, 0);
    FAKE_UNTIL(fake_complete(first) && first->ended == 200);
    finish(first);
}

/* The only core that we may use is that of the one process; a second one is too much. */
/* A daemon that could run on one processor only when it began; now all its threads can anywhere, so
 * that who is found there was bound. */
static cpu_set_t wide;
static int narrow_cpu;

static int begin_narrow(void **state)
{
    cpu_set_t narrow;
    narrow_cpu = sched_getcpu();
    CPU_ZERO(&narrow);
    CPU_SET(narrow_cpu, &narrow);
    assert_int_equal(sched_getaffinity(0, sizeof wide, &wide), 0);
    assert_int_equal(sched_setaffinity(0, sizeof narrow, &narrow), 0);
    int result = fake_begin(state);
    DIR *threads = opendir("/proc/self/task");
    assert_non_null(threads);
    for (struct dirent *thread; (thread = readdir(threads)) != NULL;)
        if (thread->d_name[0] != '.')
            assert_int_equal(sched_setaffinity(atoi(thread->d_name), sizeof wide, &wide), 0);
    closedir(threads);
    return result;
}

static void test_a_core_for_each(void **state)
{
    (void)state;
    static const char *const argv[] = {"grep", "-o", "Cpus_allowed_list:.*", "/proc/self/status",
                                       NULL};
    struct fake_launcher *one = fake_connect(), *more = fake_connect(), *shared = fake_connect();
    struct fake_launcher *part = fake_connect();
    char text[64];
    struct mu_launch_message message = fake_job(one->job, 1, argv);
    message.spec.binding = MU_LAUNCH_CORES;
    message.spec.report_bindings = true;
    fake_send(one, &message);
    FAKE_UNTIL(fake_complete(one) && one->ended == 1);
    snprintf(text, sizeof text, "Cpus_allowed_list:\t%d\n", narrow_cpu);
    fake_expect_text(one, 0, 1, text);
    assert_int_equal(one->bound, 1);
    assert_int_equal(one->bound_rank, 0);
    assert_memory_equal(one->bound_text, "core ", 5);
    assert_non_null(strchr(one->bound_text, 'B'));
    finish(one);

    /* It is another node of this host that has the second process. */
    const struct mu_launch_run runs[] = {{FAKE_SLOT, 0, 1}, {FAKE_SLOT + 1, 1, 1}};
    const char *const none[] = {NULL};
    const struct mu_launch_program program = {
        .first = 0, .count = 2, .directory = "/", .argv = argv, .envp = none};
    message = fake_job(more->job, 1, argv);
    message.spec.size = 2;
    message.spec.runs = runs;
    message.spec.run_count = 2;
    message.spec.programs = &program;
    message.spec.binding = MU_LAUNCH_CORES;
    fake_send(more, &message);
    FAKE_UNTIL(more->refused[0] != '\0');
    assert_string_equal(more->refused, "2 processes cannot have a core each: its host has 1 "
                                       "(--bind-to none, or core:overload-allowed)");
    message.job = shared->job;
    message.spec.binding = MU_LAUNCH_CORES_SHARED;
    fake_send(shared, &message);
    FAKE_UNTIL(shared->ended == 1 && shared->stream_ends == 2);
    fake_expect_text(shared, 0, 1, text);
    assert_int_equal(shared->bound, 0);
    fake_launcher_free(more);
    finish(shared);

    /* Its node's part of one processor is that one. */
    message = fake_job(part->job, 1, argv);
    message.spec.binding = MU_LAUNCH_PART;
    message.spec.report_bindings = true;
    fake_send(part, &message);
    FAKE_UNTIL(fake_complete(part) && part->ended == 1);
    fake_expect_text(part, 0, 1, text);
    assert_int_equal(part->bound, 1);
    snprintf(text, sizeof text, "processors %d, its node's part of the host", narrow_cpu);
    assert_string_equal(part->bound_text, text);
    finish(part);
}

/* A launcher that breaks the rules loses its connection, and its job. */
static void expect_thrown_out(struct fake_launcher *launcher, const char *reason)
{
    FAKE_UNTIL(launcher->conn == NULL);
    assert_int_equal(launcher->ended_with, MU_CONN_REFUSED);
    assert_string_equal(launcher->reason, reason);
    FAKE_UNTIL(mu_jobs_count(fake.jobs) == 0);
    fake_launcher_free(launcher);
}

static void test_broken_rules(void **state)
{
    (void)state;
    static const uint8_t byte = 'x';
    struct fake_launcher *launcher = fake_connect();
    fake_stop(launcher, 0);
    expect_thrown_out(launcher, "a message before the job that it is about");

    launcher = fake_connect();
    fake_start(launcher, 1, "exec sleep 100", false);
    fake_start(launcher, 1, "exec sleep 100", false);
    expect_thrown_out(launcher, "a second job on one connection");

    launcher = fake_connect();
    fake_start(launcher, 1, "exec sleep 100", false);
    fake_input(launcher, &byte, 1);
    expect_thrown_out(launcher, "input for a rank that does not get it here");

    launcher = fake_connect();
    fake_start(launcher, 1, "exec sleep 100", true);
    static uint8_t much[MU_LAUNCH_CHUNK_MAX];
    for (int i = 0; i < 4; i++)
        fake_input(launcher, much, sizeof much);
    expect_thrown_out(launcher, "more input than was granted");

    launcher = fake_connect();
    fake_start(launcher, 1, "exec sleep 100", false);
    launcher->job++;
    fake_over(launcher);
    launcher->job--;
    expect_thrown_out(launcher, "a message about another job than the connection's");

    launcher = fake_connect();
    fake_start(launcher, 1, "exec sleep 100", false);
    fake_send(launcher, &(struct mu_launch_message){
                            .type = MU_LAUNCH_STARTED, .job = launcher->job, .started = {0, 1}});
    expect_thrown_out(launcher, "a message that only a daemon sends");

    launcher = fake_connect();
    mu_conn_send(launcher->conn, &byte, 1);
    expect_thrown_out(launcher, "version 120 of a launcher's or daemon's message is not 5");
}

/* ---- news ---- */

static struct mu_local_event news(uint32_t job, uint32_t rank, uint8_t verdict)
{
    return (struct mu_local_event){
        .serial = 1,
        .subject = MU_SUBJECT_PROCESS,
        .hops = 2,
        .job = job,
        .rank = rank,
        .node = 0,
        .age_ns = 12345,
        .evidence = {.verdict = verdict,
                     .cause = MU_CAUSE_EXIT,
                     .how = {.type = verdict == MU_VERDICT_LEFT ? MU_EXIT_LEFT : MU_EXIT_SIGNAL,
                             .signal = verdict == MU_VERDICT_LEFT ? 0 : 9}},
    };
}

static void test_news_is_told(void **state)
{
    (void)state;
    struct fake_launcher *launcher = fake_connect(), *other = fake_connect();
    fake_start(launcher, 2, "read line", true);
    fake_start(other, 1, "exec sleep 100", false);
    FAKE_UNTIL(launcher->ended == 1 && other->started == 1);
    struct mu_local_event event = news(launcher->job, 7, MU_VERDICT_DEAD);
    struct mu_local_event left = news(launcher->job, 8, MU_VERDICT_LEFT);
    struct mu_local_event node = {
        .subject = MU_SUBJECT_NODE,
        .node = 2,
        .age_ns = 1,
        .evidence = {.verdict = MU_VERDICT_DEAD, .cause = MU_CAUSE_WITNESS, .node = 2},
    };
    struct mu_local_event lost = news(launcher->job, 9, MU_VERDICT_DEAD);
    lost.evidence = (struct mu_evidence){
        .verdict = MU_VERDICT_DEAD, .cause = MU_CAUSE_NODE_LOST, .node = lost.node};
    uint64_t frames = fake.net.frames_out;
    mu_jobs_told(fake.jobs, &event);
    mu_jobs_told(fake.jobs, &left);
    mu_jobs_told(fake.jobs, &lost); /* with its node, which is told */
    mu_jobs_told(fake.jobs, &node);
    assert_int_equal(fake.net.frames_out, frames); /* not now: news first */
    FAKE_UNTIL(launcher->told_count == 2 && other->told_count == 1);
    assert_false(launcher->told[0].told.is_node);
    assert_int_equal(launcher->told[0].told.rank, 7);
    assert_int_equal(launcher->told[0].told.hops, 2);
    assert_int_equal(launcher->told[0].told.age_ns, 12345);
    assert_true(launcher->told[1].told.is_node);
    assert_int_equal(launcher->told[1].told.node, 2);
    assert_int_equal(other->told[0].told.node, 2);

    /* More than there is room for at first; the last process of the job takes it along. */
    for (uint32_t rank = 0; rank < 70; rank++) {
        event = news(launcher->job, rank, MU_VERDICT_DEAD);
        mu_jobs_told(fake.jobs, &event);
    }
    fake_input(launcher, NULL, 0);
    FAKE_UNTIL(launcher->ended == 2 && launcher->told_count == 72);
    for (uint32_t i = 8; i < 72; i++) /* the last 64 are kept */
        assert_int_equal(launcher->told[i % 64].told.rank, i - 2);
    /* Nobody is left who could be kept waiting by it: it goes at once. */
    frames = fake.net.frames_out;
    mu_jobs_told(fake.jobs, &event);
    assert_int_equal(fake.net.frames_out, frames + 1);
    fake_over(launcher);
    FAKE_UNTIL(fake.over == 1 && launcher->told_count == 73);
    fake_launcher_free(launcher);
    fake_launcher_free(other);
    FAKE_UNTIL(fake.over == 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_begin, fake_end)
    const struct CMUnitTest tests[] = {
        TEST(test_exit_0_without_a_goodbye),
        TEST(test_who_is_ended_owes_nothing),
        TEST(test_four_processes),
        TEST(test_environment),
        TEST(test_nothing_here),
        TEST(test_a_wish_for_a_further_job),
        TEST(test_programs_that_do_not_start),
        TEST(test_too_few_descriptors),
        TEST(test_many_processes),
        TEST(test_much_output_through_little_credit),
        TEST(test_killed_while_writing),
        TEST(test_without_credit_it_waits),
        TEST(test_streams_take_turns),
        TEST(test_output_that_closes_early),
        TEST(test_input_comes_back),
        TEST(test_input_that_nobody_reads),
        TEST(test_input_for_one_that_does_not_start),
        TEST(test_input_that_waits),
        TEST(test_signals),
        TEST(test_signal_while_starting),
        TEST(test_stop_while_starting),
        TEST(test_stop_with_grace),
        TEST(test_stop_again_is_sooner),
        TEST(test_launcher_is_cut),
        TEST(test_launcher_is_cut_while_starting),
        TEST(test_operator_kills),
        TEST(test_the_node_ends),
        TEST(test_closed_when_all_is_over),
        TEST(test_closed_in_the_middle),
        TEST(test_orphans),
        TEST(test_a_group_goes_with_its_leader),
        TEST(test_refusals),
        cmocka_unit_test_setup_teardown(test_a_core_for_each, begin_narrow, fake_end),
        TEST(test_broken_rules),
        TEST(test_news_is_told),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
