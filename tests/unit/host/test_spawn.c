/* Starting and watching real processes.  The programs they run are in tests/programs.  Every test
 * begins and ends with the same descriptors and without a child. */
#define _GNU_SOURCE
#include "host/early_ends.h"
#include "host/spawn.h"
#include "host/spawn_child.h"
#include "host/watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* after those above */
#include <cmocka.h>

#define SPAWNED      MUSTER_PROGRAMS "/spawned"
#define SPAWN_DAEMON MUSTER_PROGRAMS "/spawn_daemon"
#define ARGV(...)    ((const char *const[]){__VA_ARGS__, NULL})

enum { CAPACITY = 256, TIMEOUT_MS = 20000, REPORT_MAX = 64 * 1024 };

static const char *const environment[] = {"COLOUR=green", "PATH=/usr/bin:/bin", NULL};

static struct mu_spawner *spawner;
static struct mu_watch_proc *watch;
static char folder[64]; /* of this run; removed at the end */

/* ---- small tools ---- */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool sanitized(void)
{
    const char *text = getenv("MUSTER_SANITIZED");
    return text && strcmp(text, "1") == 0;
}

static bool readable_within(int fd, int timeout_ms)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    uint64_t end_ns = now_ns() + (uint64_t)timeout_ms * 1000000u;
    for (;;) {
        int64_t rest_ms = ((int64_t)end_ns - (int64_t)now_ns()) / 1000000;
        int count = poll(&ready, 1, rest_ms > 0 ? (int)rest_ms : 0);
        if (count >= 0 || errno != EINTR)
            return count > 0;
    }
}

static struct mu_spawn_spec spec_of(const char *const *argv)
{
    return (struct mu_spawn_spec){
        .argv = argv,
        .envp = environment,
        .stdio = {MU_SPAWN_NULL, MU_SPAWN_NULL, MU_SPAWN_NULL},
        .own_group = true,
    };
}

static struct mu_spawn_result next_result(void)
{
    struct mu_spawn_result result;
    while (!mu_spawner_next(spawner, &result))
        assert_true(readable_within(mu_spawner_fd(spawner), TIMEOUT_MS));
    return result;
}

static struct mu_spawn_result start(const struct mu_spawn_spec *spec)
{
    int tag;
    assert_true(mu_spawner_submit(spawner, spec, &tag));
    struct mu_spawn_result result = next_result();
    assert_ptr_equal(result.spec, spec);
    assert_ptr_equal(result.tag, &tag);
    return result;
}

static void watch_as(const struct mu_spawn_result *result, uint32_t job, uint32_t rank)
{
    struct mu_watched process = {job, rank, result->pid, result->pidfd, result->spec->own_group};
    assert_true(result->started);
    assert_int_equal(mu_watch_proc_add(watch, &process), MU_WATCH_OK);
}

static pid_t start_and_watch(const struct mu_spawn_spec *spec, uint32_t job, uint32_t rank)
{
    struct mu_spawn_result result = start(spec);
    watch_as(&result, job, rank);
    return result.pid;
}

static struct mu_proc_end next_end(void)
{
    struct mu_proc_end end;
    while (!mu_watch_proc_next(watch, &end))
        assert_true(readable_within(mu_watch_proc_fd(watch), TIMEOUT_MS));
    return end;
}

static struct mu_exit_kind run_spec(const struct mu_spawn_spec *spec)
{
    start_and_watch(spec, 1, 0);
    return next_end().kind;
}

static struct mu_exit_kind run(const char *const *argv)
{
    struct mu_spawn_spec spec = spec_of(argv);
    return run_spec(&spec);
}

static void expect_failure(const struct mu_spawn_spec *spec, enum mu_start_step step, int error,
                           int shell_code)
{
    struct mu_spawn_result result = start(spec);
    assert_false(result.started);
    assert_int_equal(result.failure.type, MU_EXIT_NOT_STARTED);
    assert_int_equal(result.failure.step, step);
    assert_int_equal(result.failure.error, error);
    assert_int_equal(mu_exit_kind_shell_code(&result.failure), shell_code);
    assert_int_equal(result.pidfd, -1);
}

static void path_in_folder(char *path, size_t room, const char *name)
{
    snprintf(path, room, "%s/%s", folder, name);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void read_file(const char *path, char *text, size_t room)
{
    FILE *in = fopen(path, "re");
    assert_non_null(in);
    text[fread(text, 1, room - 1, in)] = '\0';
    fclose(in);
}

static bool has_line(const char *text, const char *line)
{
    size_t length = strlen(line);
    for (const char *at = text; (at = strstr(at, line)); at++)
        if ((at == text || at[-1] == '\n') && at[length] == '\n')
            return true;
    print_error("no line '%s' in:\n%s", line, text);
    return false;
}

static int count_lines_with(const char *text, const char *begin)
{
    int count = 0;
    for (const char *at = text; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        count += strncmp(at, begin, strlen(begin)) == 0;
    }
    return count;
}

/* The report that a process with this spec writes about itself. */
static const char *report_of(struct mu_spawn_spec *spec)
{
    static char text[REPORT_MAX];
    char path[128];
    path_in_folder(path, sizeof path, "report");
    spec->argv = ARGV(SPAWNED, "report", path);
    struct mu_exit_kind kind = run_spec(spec);
    assert_int_equal(kind.type, MU_EXIT_LEFT);
    read_file(path, text, sizeof text);
    unlink(path);
    return text;
}

/* One number per line. */
static int read_number(int fd)
{
    char line[32];
    size_t length = 0;
    for (;;) {
        assert_true(readable_within(fd, TIMEOUT_MS));
        assert_int_equal(read(fd, &line[length], 1), 1);
        if (line[length] == '\n')
            break;
        assert_true(++length < sizeof line);
    }
    line[length] = '\0';
    return atoi(line);
}

static int open_pidfd(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* ---- before and after each test ---- */

static int descriptors_before;

static int count_descriptors(void)
{
    int count = 0;
    DIR *entries = opendir("/proc/self/fd");
    assert_non_null(entries);
    while (readdir(entries))
        count++;
    closedir(entries);
    return count;
}

static int begin(void **state)
{
    (void)state;
    descriptors_before = count_descriptors();
    assert_int_equal(mu_spawner_open(CAPACITY, &spawner), 0);
    assert_int_equal(mu_watch_proc_open(CAPACITY, &watch), 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    siginfo_t info;
    assert_int_equal(mu_watch_proc_kill(watch, TIMEOUT_MS * UINT64_C(1000000)), 0);
    mu_watch_proc_close(watch);
    mu_spawner_close(spawner);
    assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOHANG), -1); /* no child, no zombie */
    assert_int_equal(errno, ECHILD);
    assert_int_equal(count_descriptors(), descriptors_before);
    return 0;
}

/* ---- ends ---- */

static void codes_come_back(void **state)
{
    (void)state;
    struct mu_exit_kind kind = run(ARGV(SPAWNED, "exit", "0"));
    assert_int_equal(kind.type, MU_EXIT_LEFT);
    const int codes[] = {1, 3, 126, 127, 128, 255};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", codes[i]);
        kind = run(ARGV(SPAWNED, "exit", text));
        assert_int_equal(kind.type, MU_EXIT_CODE);
        assert_int_equal(kind.code, codes[i]);
    }
}

static bool ends_a_process(int number)
{
    const int not_these[] = {SIGCHLD, SIGCONT, SIGSTOP,  SIGTSTP, SIGTTIN,
                             SIGTTOU, SIGURG,  SIGWINCH, 32,      33};
    for (size_t i = 0; i < sizeof not_these / sizeof not_these[0]; i++)
        if (not_these[i] == number)
            return false;
    return true;
}

static void every_signal_that_ends_a_process_is_named(void **state)
{
    (void)state;
    for (int number = 1; number <= 64; number++) {
        char text[16];
        snprintf(text, sizeof text, "%d", number);
        if (!ends_a_process(number))
            continue;
        struct mu_exit_kind kind = run(ARGV(SPAWNED, "signal", text));
        assert_int_equal(kind.type, MU_EXIT_SIGNAL);
        assert_int_equal(kind.signal, number);
        assert_false(kind.core_dumped); /* the program sets its limit to 0 */
    }
}

/* Whether the kernel writes a file here depends on the machine; the flag must say so either way. */
static void the_core_flag_is_set_when_there_is_a_core(void **state)
{
    (void)state;
    char pattern[128], path[128];
    read_file("/proc/sys/kernel/core_pattern", pattern, sizeof pattern);
    struct mu_spawn_spec spec =
        spec_of(ARGV("/bin/sh", "-c", "ulimit -c unlimited && kill -SEGV $$"));
    spec.directory = folder;
    struct mu_exit_kind kind = run_spec(&spec);
    path_in_folder(path, sizeof path, "core");
    bool dumped = unlink(path) == 0;
    if (strcmp(pattern, "core\n") != 0 || kind.type == MU_EXIT_CODE) {
        print_message("not checked: core_pattern is %s", pattern);
        return;
    }
    assert_int_equal(kind.type, MU_EXIT_SIGNAL);
    assert_int_equal(kind.core_dumped, dumped);
    print_message("a core was %s\n", dumped ? "dumped" : "not dumped");
}

static void two_hundred_ends_are_seen_once_each(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    static struct mu_spawn_spec specs[COUNT];
    static char codes[COUNT][16];
    static const char *argvs[COUNT][4];
    int seen[COUNT] = {0};
    for (int i = 0; i < COUNT; i++) {
        snprintf(codes[i], sizeof codes[i], "%d", i);
        argvs[i][0] = SPAWNED;
        argvs[i][1] = "exit";
        argvs[i][2] = codes[i];
        specs[i] = spec_of(argvs[i]);
        assert_true(mu_spawner_submit(spawner, &specs[i], &specs[i]));
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        struct mu_spawn_result result = next_result();
        assert_ptr_equal(result.tag, &specs[i]); /* in order */
        watch_as(&result, 7, i);
    }
    for (int i = 0; i < COUNT; i++) {
        struct mu_proc_end one = next_end();
        assert_int_equal(one.job, 7);
        assert_in_range(one.rank, 0, COUNT - 1);
        assert_int_equal(one.kind.code, one.rank);
        assert_true(one.seen_ns <= now_ns());
        seen[one.rank]++;
    }
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(seen[i], 1);
    assert_int_equal(mu_watch_proc_count(watch), 0);
    assert_false(readable_within(mu_watch_proc_fd(watch), 0));
}

static void a_stop_is_not_an_end(void **state)
{
    (void)state;
    struct mu_proc_end one;
    siginfo_t info;
    struct mu_spawn_spec spec = spec_of(ARGV(SPAWNED, "wait"));
    pid_t pid = start_and_watch(&spec, 1, 0);
    const int signals[] = {SIGSTOP, SIGCONT};
    const int states[] = {WSTOPPED, WCONTINUED};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mu_watch_proc_signal(watch, 1, 0, signals[i]), MU_WATCH_OK);
        assert_int_equal(waitid(P_PID, (id_t)pid, &info, states[i]), 0);
        assert_false(mu_watch_proc_next(watch, &one));
    }
    assert_int_equal(mu_watch_proc_signal(watch, 1, 0, SIGSTOP), MU_WATCH_OK);
    assert_int_equal(mu_watch_proc_signal(watch, 1, 0, SIGKILL), MU_WATCH_OK);
    assert_int_equal(next_end().kind.signal, SIGKILL);
}

/* A debugger holds what is left of it: it cannot be reaped, as when the kernel takes long to take
 * it apart.  Where the kernel tells (early_ends.h), the end is fetched all the same, once; where
 * not, the loop must not spin meanwhile. */
static void a_killed_process_is_told_before_it_can_be_reaped(void **state)
{
    (void)state;
    int in[2], out[2];
    char pid_text[16];
    struct mu_proc_end one;
    struct mu_early_ends early;
    bool is_early = mu_early_ends_open(&early) == 0;
    mu_early_ends_close(&early);
    struct mu_spawn_spec spec = spec_of(ARGV(SPAWNED, "wait"));
    pid_t pid = start_and_watch(&spec, 1, 0);
    snprintf(pid_text, sizeof pid_text, "%d", pid);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    struct mu_spawn_spec debugger = spec_of(ARGV(SPAWNED, "trace", pid_text));
    debugger.stdio[0] = in[0];
    debugger.stdio[1] = out[1];
    start_and_watch(&debugger, 1, 1);
    bool held = read_number(out[0]) == 0;
    if (!held)
        print_message("not checked: this machine forbids tracing\n");
    assert_int_equal(mu_watch_proc_signal(watch, 1, 0, SIGKILL), MU_WATCH_OK);
    if (held && is_early) {
        one = next_end();
        assert_int_equal(one.rank, 0);
        assert_int_equal(one.pid, pid);
        assert_int_equal(one.kind.type, MU_EXIT_SIGNAL);
        assert_int_equal(one.kind.signal, SIGKILL);
        assert_int_equal(mu_watch_proc_signal(watch, 1, 0, SIGKILL), MU_WATCH_NO_SUCH);
        assert_int_equal(mu_watch_proc_count(watch), 1);
        mu_watch_proc_reap(watch);
        assert_int_equal(kill(pid, 0), 0); /* nobody else's number yet */
    } else if (held) {
        assert_true(readable_within(mu_watch_proc_fd(watch), TIMEOUT_MS));
        assert_false(mu_watch_proc_next(watch, &one));
        assert_false(readable_within(mu_watch_proc_fd(watch), 20));
    }
    close(in[1]);
    if (!held || !is_early)
        assert_int_equal(next_end().rank + next_end().rank, 1);
    else
        assert_int_equal(next_end().rank, 1);
    assert_false(mu_watch_proc_next(watch, &one));
    close(in[0]);
    close(out[0]);
    close(out[1]);
}

/* It has what is left of the process as soon as the kernel lets it, and its pidfd may be readable
 * twice. */
static pid_t start_debugger(pid_t pid)
{
    int ready[2];
    char is_held = 0;
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t debugger = fork();
    assert_true(debugger >= 0);
    if (debugger == 0) {
        is_held = ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0;
        if (write(ready[1], &is_held, 1) == 1 && is_held)
            while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
                ;
        _exit(0);
    }
    assert_int_equal(read(ready[0], &is_held, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return debugger;
}

static void debuggers_that_let_go_at_once_leave_everything_in_order(void **state)
{
    (void)state;
    enum { ROUNDS = 400 };
    struct mu_spawn_spec spec = spec_of(ARGV(SPAWNED, "wait"));
    start_and_watch(&spec, 1, ROUNDS);
    for (uint32_t rank = 0; rank < ROUNDS; rank++) {
        pid_t debugger = start_debugger(start_and_watch(&spec, 1, rank));
        assert_int_equal(mu_watch_proc_signal(watch, 1, rank, SIGKILL), MU_WATCH_OK);
        uint32_t ends = 0;
        struct mu_proc_end one;
        for (bool is_there = true; is_there || ends == 0;) { /* looks all the time, not when told */
            is_there = is_there && waitpid(debugger, NULL, WNOHANG) == 0;
            ends += mu_watch_proc_next(watch, &one);
        }
        assert_int_equal(ends, 1);
        assert_int_equal(one.rank, rank);
        assert_int_equal(mu_watch_proc_count(watch), 1);
    }
    assert_int_equal(mu_watch_proc_signal(watch, 1, ROUNDS, SIGKILL), MU_WATCH_OK);
    assert_int_equal(next_end().rank, ROUNDS);
}

static void a_status_that_somebody_took_is_no_endless_loop(void **state)
{
    (void)state;
    siginfo_t info;
    struct mu_spawn_spec spec = spec_of(ARGV(SPAWNED, "exit", "0"));
    pid_t pid = start_and_watch(&spec, 1, 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
    struct mu_proc_end one = next_end();
    assert_int_equal(one.kind.type, MU_EXIT_UNKNOWN);
    assert_int_equal(one.kind.error, ECHILD);
}

static void an_ignored_sigchld_is_undone(void **state)
{
    (void)state;
    struct mu_watch_proc *second;
    struct sigaction now;
    signal(SIGCHLD, SIG_IGN);
    assert_int_equal(mu_watch_proc_open(1, &second), 0);
    mu_watch_proc_close(second);
    sigaction(SIGCHLD, NULL, &now);
    assert_true(now.sa_handler == SIG_DFL);
    assert_int_equal(run(ARGV(SPAWNED, "exit", "5")).code, 5);
}

/* ---- starts that fail ---- */

static void a_missing_program_is_named(void **state)
{
    (void)state;
    char text[MU_EXIT_TEXT_MAX];
    struct mu_spawn_spec spec = spec_of(ARGV("./nope"));
    struct mu_spawn_result result = start(&spec);
    assert_false(result.started);
    mu_exit_kind_text(&result.failure, mu_spawn_path(&spec, result.failure.step), text,
                      sizeof text);
    assert_string_equal(text, "cannot start ./nope: No such file or directory");
    expect_failure(&spec, MU_START_EXEC, ENOENT, 127);
    spec.argv = ARGV("no-such-program-anywhere");
    expect_failure(&spec, MU_START_EXEC, ENOENT, 127);
    spec.argv = ARGV("");
    expect_failure(&spec, MU_START_EXEC, ENOENT, 127);
}

static void a_program_that_cannot_run_is_told_from_a_missing_one(void **state)
{
    (void)state;
    char path[128], text[MU_EXIT_TEXT_MAX];
    struct mu_spawn_spec spec = spec_of(ARGV(path));
    path_in_folder(path, sizeof path, "file");
    write_file(path, "just text\n", 0644);
    expect_failure(&spec, MU_START_EXEC, EACCES, 126);
    write_file(path, "no first line that names an interpreter\n", 0755);
    expect_failure(&spec, MU_START_EXEC, ENOEXEC, 126);
    write_file(path, "#!/no/such/interpreter\n", 0755);
    expect_failure(&spec, MU_START_INTERPRETER, ENOENT, 127);
    struct mu_exit_kind kind = mu_exit_kind_not_started(MU_START_INTERPRETER, ENOENT);
    assert_non_null(strstr(mu_exit_kind_text(&kind, path, text, sizeof text), "interpreter"));
    unlink(path);
    spec.argv = ARGV(folder);
    expect_failure(&spec, MU_START_EXEC, EACCES, 126);
    spec.argv = ARGV("/dev/null/x");
    expect_failure(&spec, MU_START_EXEC, ENOTDIR, 127);
}

static void a_list_of_arguments_that_is_too_long_is_named(void **state)
{
    (void)state;
    enum { LONG = 1 << 20 }; /* one argument may have 128 KiB */
    char *argument = malloc(LONG);
    assert_non_null(argument);
    memset(argument, 'x', LONG - 1);
    argument[LONG - 1] = '\0';
    struct mu_spawn_spec spec = spec_of(ARGV(SPAWNED, "exit", argument));
    expect_failure(&spec, MU_START_EXEC, E2BIG, 126);
    free(argument);
}

static void a_bad_folder_is_named(void **state)
{
    (void)state;
    char text[MU_EXIT_TEXT_MAX];
    struct mu_spawn_spec spec = spec_of(ARGV(SPAWNED, "exit", "0"));
    spec.directory = "/no/where";
    expect_failure(&spec, MU_START_CHDIR, ENOENT, 126);
    struct mu_exit_kind kind = mu_exit_kind_not_started(MU_START_CHDIR, ENOENT);
    mu_exit_kind_text(&kind, mu_spawn_path(&spec, MU_START_CHDIR), text, sizeof text);
    assert_string_equal(text,
                        "cannot enter working directory /no/where: No such file or directory");
    spec.directory = "/dev/null";
    expect_failure(&spec, MU_START_CHDIR, ENOTDIR, 126);
}

static void a_bad_descriptor_is_named(void **state)
{
    (void)state;
    struct mu_spawn_spec spec = spec_of(ARGV(SPAWNED, "exit", "0"));
    spec.stdio[2] = 12345;
    expect_failure(&spec, MU_START_STDIO, EBADF, 126);
    spec.stdio[2] = -7;
    expect_failure(&spec, MU_START_STDIO, EBADF, 126);
}

static void no_descriptor_for_a_process_is_named(void **state)
{
    (void)state;
    struct rlimit before, none;
    struct mu_spawn_spec spec = spec_of(ARGV(SPAWNED, "exit", "0"));
    int lowest_free = dup(0);
    assert_true(lowest_free >= 0);
    close(lowest_free);
    getrlimit(RLIMIT_NOFILE, &before);
    none = (struct rlimit){(rlim_t)lowest_free, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    struct mu_spawn_result result = start(&spec);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_false(result.started);
    assert_int_equal(result.failure.step, MU_START_CLONE);
    assert_int_equal(result.failure.error, EMFILE);
    assert_int_equal(run_spec(&spec).type, MU_EXIT_LEFT); /* and it goes on */
}

/* ---- what a process is born with ---- */

static void nothing_of_the_daemon_comes_along(void **state)
{
    (void)state;
    char line[160];
    sigset_t some, before;
    struct rlimit core_before, core = {4096, RLIM_INFINITY};
    sigemptyset(&some);
    sigaddset(&some, SIGUSR2);
    sigaddset(&some, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &some, &before);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    getrlimit(RLIMIT_CORE, &core_before);
    core.rlim_max = core_before.rlim_max;
    setrlimit(RLIMIT_CORE, &core);
    int leak = dup(1), leak_high = fcntl(1, F_DUPFD, 200); /* neither is close-on-exec */

    struct mu_spawn_spec spec = spec_of(NULL);
    spec.directory = folder;
    const char *text = report_of(&spec);
    assert_int_equal(count_lines_with(text, "fd "), 3);
    assert_true(has_line(text, "fd 0 /dev/null"));
    assert_true(has_line(text, "fd 1 /dev/null"));
    assert_true(has_line(text, "fd 2 /dev/null"));
    assert_true(has_line(text, "SigBlk:\t0000000000000000"));
    assert_true(has_line(text, "SigIgn:\t0000000000000000"));
    assert_int_equal(count_lines_with(text, "env "), 2);
    assert_true(has_line(text, "env COLOUR=green"));
    assert_true(has_line(text, "core 4096"));
    snprintf(line, sizeof line, "directory %s", folder);
    assert_true(has_line(text, line));
    snprintf(line, sizeof line, "parent %d", getpid());
    assert_true(has_line(text, line));
    snprintf(line, sizeof line, "death-signal %d", SIGKILL);
    assert_true(has_line(text, line));

    close(leak);
    close(leak_high);
    setrlimit(RLIMIT_CORE, &core_before);
    signal(SIGHUP, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void sigpipe_is_ignored_where_asked(void **state)
{
    (void)state;
    struct mu_spawn_spec spec = spec_of(NULL);
    spec.ignore_sigpipe = true;
    assert_true(has_line(report_of(&spec), "SigIgn:\t0000000000001000"));
}

/* Whatever number it has, also one of those that are replaced. */
static void one_more_descriptor_where_asked(void **state)
{
    (void)state;
    struct mu_spawn_spec spec = spec_of(NULL);
    assert_false(has_line(report_of(&spec), "fd 3 /dev/zero"));
    int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC), before = dup(1);
    spec.passed = zero;
    assert_true(has_line(report_of(&spec), "fd 3 /dev/zero"));
    assert_int_equal(count_lines_with(report_of(&spec), "fd "), 4);
    spec.passed = dup2(zero, 1);
    const char *text = report_of(&spec);
    dup2(before, 1);
    assert_true(has_line(text, "fd 3 /dev/zero"));
    assert_true(has_line(text, "fd 1 /dev/null"));
    close(before);
    close(zero);
}

static void bound_to_a_processor_where_asked(void **state)
{
    (void)state;
    char line[64];
    int cpu = sched_getcpu();
    assert_true(cpu >= 0);
    struct mu_spawn_spec spec = spec_of(NULL);
    spec.bound = true;
    spec.cpus.words[cpu / MU_SPAWN_WORD_BITS] = 1ul << cpu % MU_SPAWN_WORD_BITS;
    snprintf(line, sizeof line, "Cpus_allowed_list:\t%d", cpu);
    assert_true(has_line(report_of(&spec), line));
    /* To none: the kernel does not have that. */
    memset(&spec.cpus, 0, sizeof spec.cpus);
    spec.argv = (const char *const[]){"/bin/true", NULL};
    expect_failure(&spec, MU_START_CLONE, EINVAL, 126);
}

static void a_session_and_a_group_of_its_own_where_asked(void **state)
{
    (void)state;
    char line[64];
    int pid, group, session;
    struct mu_spawn_spec spec = spec_of(NULL);
    const char *text = report_of(&spec);
    assert_int_equal(sscanf(strstr(text, "pid "), "pid %d", &pid), 1);
    assert_int_equal(sscanf(strstr(text, "group "), "group %d", &group), 1);
    assert_int_equal(group, pid);
    assert_int_equal(sscanf(strstr(text, "session "), "session %d", &session), 1);
    assert_int_equal(session, pid);
    spec.own_group = false;
    snprintf(line, sizeof line, "group %d\nsession %d", getpgrp(), getsid(0));
    assert_non_null(strstr(report_of(&spec), line));
}

static void the_path_is_searched_in_its_own_environment(void **state)
{
    (void)state;
    char path[128], variable[256];
    struct mu_spawn_spec spec = spec_of(ARGV("tool"));
    path_in_folder(path, sizeof path, "tool");
    write_file(path, "#!/bin/sh\nexit 42\n", 0755);
    expect_failure(&spec, MU_START_EXEC, ENOENT, 127);
    snprintf(variable, sizeof variable, "PATH=/no/where:/dev/null:%s", folder);
    spec.envp = ARGV("X=1", variable);
    assert_int_equal(run_spec(&spec).code, 42);
    spec.envp = ARGV("PATH=/no/where::"); /* empty: where it begins */
    spec.directory = folder;
    assert_int_equal(run_spec(&spec).code, 42);
    chmod(path, 0644);
    expect_failure(&spec, MU_START_EXEC, EACCES, 126);
    spec.envp = ARGV("HOME=/");
    spec.argv = ARGV("true");
    assert_int_equal(run_spec(&spec).type, MU_EXIT_LEFT);
    unlink(path);
}

/* What a descriptor of ours is, as a line of a report about descriptor 'as'. */
static void line_of_own(int fd, int as, char *line, size_t room)
{
    char path[64], target[200];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(path, target, sizeof target);
    assert_true(length > 0);
    snprintf(line, room, "fd %d %.*s", as, (int)length, target);
}

static void descriptors_0_to_2_may_come_in_any_order(void **state)
{
    (void)state;
    int saved[3], pipes[4];
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    assert_int_equal(pipe2(pipes + 2, O_CLOEXEC), 0);
    for (int i = 0; i < 3; i++)
        saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 3);
    const int sources[][3] = {{0, 1, 2},   {1, 2, 0},   {2, 1, 0},       {1, 1, 1},
                              {-1, 0, -1}, {2, -1, -1}, {1, pipes[1], 0}};
    fflush(stdout);
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        struct mu_spawn_spec spec = spec_of(NULL);
        char lines[3][256];
        /* 0 to 2 are ours for a moment: three different things, all close-on-exec */
        dup3(pipes[0], 0, O_CLOEXEC);
        dup3(pipes[3], 1, O_CLOEXEC);
        dup3(pipes[2], 2, O_CLOEXEC);
        for (int j = 0; j < 3; j++) {
            spec.stdio[j] = sources[i][j];
            if (sources[i][j] < 0)
                snprintf(lines[j], sizeof lines[j], "fd %d /dev/null", j);
            else
                line_of_own(sources[i][j], j, lines[j], sizeof lines[j]);
        }
        const char *text = report_of(&spec);
        for (int j = 0; j < 3; j++)
            dup2(saved[j], j);
        assert_int_equal(count_lines_with(text, "fd "), 3);
        for (int j = 0; j < 3; j++)
            assert_true(has_line(text, lines[j]));
    }
    for (int i = 0; i < 3; i++)
        close(saved[i]);
    for (int i = 0; i < 4; i++)
        close(pipes[i]);
}

static void report_of_daemon(const char *how)
{
    char path[128], text[REPORT_MAX];
    path_in_folder(path, sizeof path, "report");
    struct mu_spawn_spec spec = spec_of(ARGV(SPAWN_DAEMON, how, SPAWNED, path));
    spec.stdio[2] = 2;
    struct mu_exit_kind kind = run_spec(&spec);
    assert_int_equal(kind.type, MU_EXIT_LEFT);
    read_file(path, text, sizeof text);
    unlink(path);
    assert_int_equal(count_lines_with(text, "fd "), 3);
    assert_true(has_line(text, "fd 0 /dev/null"));
    assert_true(has_line(text, "fd 1 /dev/null"));
    assert_true(has_line(text, "fd 2 /dev/null"));
}

static void a_daemon_without_standard_descriptors_can_start(void **state)
{
    (void)state;
    report_of_daemon("closed");
}

static void nothing_leaks_without_close_range(void **state)
{
    (void)state;
    report_of_daemon("old");
}

/* ---- signals, groups, capacity ---- */

static void signals_reach_one_a_job_or_all(void **state)
{
    (void)state;
    struct mu_spawn_spec spec = spec_of(ARGV(SPAWNED, "wait"));
    for (uint32_t i = 0; i < 6; i++) {
        spec.own_group = i % 2 == 0;
        start_and_watch(&spec, 10 + i / 3, i % 3);
    }
    assert_int_equal(mu_watch_proc_signal(watch, 10, 1, SIGTERM), MU_WATCH_OK);
    struct mu_proc_end one = next_end();
    assert_int_equal(one.job, 10);
    assert_int_equal(one.rank, 1);
    assert_int_equal(one.kind.signal, SIGTERM);
    assert_int_equal(mu_watch_proc_signal(watch, 10, 1, SIGTERM), MU_WATCH_NO_SUCH);
    assert_int_equal(mu_watch_proc_signal_job(watch, 11, SIGUSR1), 3);
    for (int i = 0; i < 3; i++) {
        one = next_end();
        assert_int_equal(one.job, 11);
        assert_int_equal(one.kind.signal, SIGUSR1);
    }
    assert_int_equal(mu_watch_proc_signal(watch, 10, 0, 1000), MU_WATCH_SIGNAL);
    assert_int_equal(mu_watch_proc_signal_all(watch, SIGINT), 2);
    assert_int_equal(next_end().kind.signal, SIGINT);
    assert_int_equal(next_end().kind.signal, SIGINT);
    assert_int_equal(mu_watch_proc_signal_all(watch, SIGINT), 0);
}

static void a_full_set_says_so_and_room_comes_back(void **state)
{
    (void)state;
    struct mu_watch_proc *small, *whole = watch;
    struct mu_spawn_spec spec = spec_of(ARGV(SPAWNED, "wait"));
    assert_int_equal(mu_watch_proc_open(2, &small), 0);
    watch = small;
    start_and_watch(&spec, 1, 0);
    struct mu_spawn_result second = start(&spec);
    struct mu_watched process = {1, 0, second.pid, second.pidfd, true};
    assert_int_equal(mu_watch_proc_add(watch, &process), MU_WATCH_TWICE);
    process.rank = 1;
    assert_int_equal(mu_watch_proc_add(watch, &process), MU_WATCH_OK);
    struct mu_spawn_result third = start(&spec);
    process = (struct mu_watched){1, 2, third.pid, third.pidfd, true};
    assert_int_equal(mu_watch_proc_add(watch, &process), MU_WATCH_FULL);
    assert_non_null(strstr(mu_watch_error_text(MU_WATCH_FULL), "configuration"));
    mu_watch_proc_signal(watch, 1, 0, SIGKILL);
    assert_int_equal(next_end().rank, 0);
    assert_int_equal(mu_watch_proc_add(watch, &process), MU_WATCH_OK);
    assert_int_equal(mu_watch_proc_count(watch), 2);
    process = (struct mu_watched){.job = 2, .pidfd = 12345};
    assert_int_equal(mu_watch_proc_add(whole, &process), MU_WATCH_BAD_PIDFD);
    assert_int_equal(mu_watch_proc_kill(watch, TIMEOUT_MS * UINT64_C(1000000)), 0);
    mu_watch_proc_close(small);
    watch = whole;
}

static void a_full_spawner_says_so(void **state)
{
    (void)state;
    struct mu_spawn_spec spec = spec_of(ARGV(SPAWNED, "wait"));
    for (int i = 0; i < CAPACITY; i++)
        assert_true(mu_spawner_submit(spawner, &spec, NULL));
    assert_false(mu_spawner_submit(spawner, &spec, NULL));
    struct mu_spawn_result result = next_result();
    watch_as(&result, 1, 0);
    assert_true(mu_spawner_submit(spawner, &spec, NULL));
    /* The rest is for mu_spawner_close() to end and reap: end() checks that it does. */
}

struct family {
    int in, out;    /* its input, open as long as it is to stay; its output */
    int grandchild; /* pidfd */
};

static struct family start_family(const char *deaf)
{
    int in[2], out[2];
    struct mu_spawn_spec spec = spec_of(ARGV(SPAWNED, "family", deaf));
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    spec.stdio[0] = in[0];
    spec.stdio[1] = out[1];
    start_and_watch(&spec, 1, 0);
    close(in[0]);
    close(out[1]);
    struct family family = {in[1], out[0], open_pidfd(read_number(out[0]))};
    assert_true(family.grandchild >= 0);
    assert_false(readable_within(family.grandchild, 0));
    return family;
}

/* The end of the leader was fetched. */
static void end_family(const struct family *family)
{
    struct mu_proc_end none;
    assert_false(mu_watch_proc_next(watch, &none));
    assert_true(readable_within(family->grandchild, TIMEOUT_MS));
    close(family->grandchild);
    close(family->out);
}

/* What a process started in its group ends with it, also when it leaves in good order. */
static void the_group_ends_with_its_leader(void **state)
{
    (void)state;
    struct family family = start_family("");
    close(family.in);
    assert_int_equal(next_end().kind.type, MU_EXIT_LEFT);
    end_family(&family);
}

static void a_signal_reaches_the_whole_group(void **state)
{
    (void)state;
    struct family family = start_family("deaf");
    assert_int_equal(mu_watch_proc_signal(watch, 1, 0, SIGTERM), MU_WATCH_OK);
    assert_true(readable_within(family.grandchild, TIMEOUT_MS)); /* while its parent lives */
    assert_false(readable_within(mu_watch_proc_fd(watch), 0));
    close(family.in);
    assert_int_equal(next_end().kind.type, MU_EXIT_LEFT);
    end_family(&family);
}

static void killing_everything_waits_no_longer_than_asked(void **state)
{
    (void)state;
    struct mu_spawn_spec spec = spec_of(ARGV(SPAWNED, "wait"));
    for (uint32_t i = 0; i < 20; i++) {
        start_and_watch(&spec, i % 3, i);
        if (i % 4 == 0)
            mu_watch_proc_signal(watch, i % 3, i, SIGSTOP);
    }
    uint64_t begin_ns = now_ns();
    assert_int_equal(mu_watch_proc_kill(watch, TIMEOUT_MS * UINT64_C(1000000)), 0);
    print_message("20 processes killed and reaped in %.1f ms\n",
                  (double)(now_ns() - begin_ns) / 1e6);
    start_and_watch(&spec, 1, 0);
    uint32_t left = mu_watch_proc_kill(watch, 0); /* at once: it may be gone already or not */
    assert_in_range(left, 0, 1);
}

/* ---- death of the daemon ---- */

static struct mu_spawn_result start_daemon(const char *const *argv, int *lines)
{
    int out[2];
    struct mu_spawn_spec spec = spec_of(argv);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    spec.stdio[1] = out[1];
    spec.stdio[2] = 2;
    assert_true(mu_spawner_submit(spawner, &spec, NULL));
    struct mu_spawn_result result = next_result();
    assert_true(result.started);
    close(out[1]);
    *lines = out[0];
    return result;
}

static int kill_pidfd(int pidfd)
{
    return (int)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

/* The spawner of the test is their parent's parent: orphans come to this process. */
static void processes_die_with_their_daemon(void **state)
{
    (void)state;
    enum { COUNT = 20 };
    int lines, pidfds[COUNT];
    siginfo_t info;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    struct mu_spawn_result daemon = start_daemon(ARGV(SPAWN_DAEMON, "tree", SPAWNED, "20"), &lines);
    for (int i = 0; i < COUNT; i++) {
        pidfds[i] = open_pidfd(read_number(lines));
        assert_true(pidfds[i] >= 0);
    }
    for (int i = 0; i < COUNT; i++)
        assert_false(readable_within(pidfds[i], 0));
    uint64_t begin_ns = now_ns();
    assert_int_equal(kill_pidfd(daemon.pidfd), 0);
    for (int i = 0; i < COUNT; i++)
        assert_true(readable_within(pidfds[i], TIMEOUT_MS));
    print_message("%d processes died within %.2f ms of their daemon\n", COUNT,
                  (double)(now_ns() - begin_ns) / 1e6);
    assert_int_equal(waitid((idtype_t)3, (id_t)daemon.pidfd, &info, WEXITED), 0);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(waitid((idtype_t)3, (id_t)pidfds[i], &info, WEXITED), 0);
        assert_int_equal(info.si_status, SIGKILL);
        close(pidfds[i]);
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    close(daemon.pidfd);
    close(lines);
}

/* True when the last child is gone before the time is over. */
static bool no_child_left(uint64_t timeout_ns)
{
    uint64_t end_ns = now_ns() + timeout_ns;
    while (now_ns() < end_ns) {
        pid_t pid = waitpid(-1, NULL, WNOHANG);
        if (pid < 0 && errno == ECHILD)
            return true;
        if (pid == 0)
            sched_yield();
    }
    return false;
}

/* The daemon dies at any moment of a start, also between clone() and the parent-death request. */
static void no_process_slips_through_when_the_daemon_dies(void **state)
{
    (void)state;
    int rounds = sanitized() ? 15 : 60;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int round = 0; round < rounds; round++) {
        int lines;
        char byte[3];
        struct mu_spawn_result daemon = start_daemon(ARGV(SPAWN_DAEMON, "storm", SPAWNED), &lines);
        assert_true(readable_within(lines, TIMEOUT_MS));
        assert_int_equal(read(lines, byte, sizeof byte), 3);
        for (uint64_t until_ns = now_ns() + (uint64_t)round * 137000; now_ns() < until_ns;)
            ;
        assert_int_equal(kill_pidfd(daemon.pidfd), 0);
        assert_true(no_child_left(TIMEOUT_MS * UINT64_C(1000000)));
        close(daemon.pidfd);
        close(lines);
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

/* Too short a moment to hit by chance, so the new process's side of it is run with a wrong parent.
 */
static void a_process_whose_daemon_is_gone_does_not_begin(void **state)
{
    (void)state;
    int status;
    struct mu_spawn_spec spec = spec_of(ARGV("/bin/true"));
    struct mu_spawn_child *child =
        mmap(NULL, sizeof *child, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(child != MAP_FAILED);
    *child = (struct mu_spawn_child){.spec = &spec, .daemon = getppid(), .null_fd = 0};
    pid_t pid = fork();
    if (pid == 0)
        mu_spawn_child_run(child);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 127);
    assert_int_equal(child->step, MU_START_PARENT_DEATH);
    assert_int_equal(child->error, ESRCH);
    munmap(child, sizeof *child);
}

static void closing_the_spawner_ends_what_it_started(void **state)
{
    (void)state;
    struct mu_spawner *whole = spawner;
    struct mu_spawn_spec spec = spec_of(ARGV(SPAWNED, "wait"));
    assert_int_equal(mu_spawner_open(4, &spawner), 0);
    start_and_watch(&spec, 1, 0);
    mu_spawner_close(spawner);
    spawner = whole;
    assert_int_equal(next_end().kind.signal, SIGKILL);
}

static void *start_one(void *arg)
{
    start_and_watch(arg, 1, 0);
    return NULL;
}

/* The thread that asks may end: the spawner's, which is the parent, goes on. */
static void a_process_outlives_the_thread_that_asked(void **state)
{
    (void)state;
    pthread_t thread;
    struct mu_spawn_spec spec = spec_of(ARGV(SPAWNED, "wait"));
    assert_int_equal(pthread_create(&thread, NULL, start_one, &spec), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    struct mu_spawn_spec other = spec_of(ARGV("/bin/true"));
    for (int i = 0; i < 20; i++) {
        start_and_watch(&other, 2, 0);
        assert_int_equal(next_end().job, 2);
    }
    assert_int_equal(mu_watch_proc_count(watch), 1);
    assert_int_equal(mu_watch_proc_signal(watch, 1, 0, SIGTERM), MU_WATCH_OK);
    assert_int_equal(next_end().kind.signal, SIGTERM);
}

/* ---- many threads and signals in the daemon ---- */

/* Else a handler of the daemon's could run in a new process, in the daemon's memory. */
static void the_thread_of_the_spawner_takes_no_signal(void **state)
{
    (void)state;
    int found = 0;
    run(ARGV("/bin/true")); /* while a thread begins, the C library blocks all by itself */
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *entry; (entry = readdir(tasks));) {
        char path[300], text[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        read_file(path, text, sizeof text);
        if (!strstr(text, "Name:\tmuster-spawn\n"))
            continue;
        uint64_t blocked = strtoull(strstr(text, "SigBlk:") + 7, NULL, 16);
        for (int number = 1; number < 32; number++)
            if (number != SIGKILL && number != SIGSTOP)
                assert_true(blocked >> (number - 1) & 1);
        found++;
    }
    closedir(tasks);
    assert_int_equal(found, 1);
}

static atomic_bool stop_noise;
static atomic_uint alarms;

static void *make_noise(void *arg)
{
    (void)arg;
    while (!atomic_load(&stop_noise)) {
        char *text = malloc(1000);
        FILE *out = fopen("/dev/null", "we");
        if (text && out)
            fprintf(out, "%p\n", (void *)text);
        if (out)
            fclose(out);
        free(text);
    }
    return NULL;
}

static void on_alarm(int number)
{
    (void)number;
    atomic_fetch_add(&alarms, 1);
}

static void starts_are_safe_among_busy_threads_and_signals(void **state)
{
    (void)state;
    enum { THREADS = 8, STARTS = 150 };
    pthread_t threads[THREADS];
    struct sigaction action = {.sa_handler = on_alarm}, before;
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    char text[16];
    atomic_store(&stop_noise, false);
    sigaction(SIGALRM, &action, &before);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_noise, NULL), 0);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 1; i <= STARTS; i++) {
        snprintf(text, sizeof text, "%d", i);
        assert_int_equal(run(ARGV(SPAWNED, "exit", text)).code, i);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    atomic_store(&stop_noise, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    sigaction(SIGALRM, &before, NULL);
    print_message("%u alarms meanwhile\n", atomic_load(&alarms));
}

/* ---- measured, not judged ---- */

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void print_latency_of_a_death(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    uint64_t took_ns[COUNT];
    struct mu_spawn_spec spec = spec_of(ARGV(SPAWNED, "wait"));
    for (uint32_t i = 0; i < COUNT; i++)
        start_and_watch(&spec, 1, i);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint64_t begin_ns = now_ns();
        assert_int_equal(mu_watch_proc_signal(watch, 1, i, SIGKILL), MU_WATCH_OK);
        struct mu_proc_end one = next_end();
        assert_int_equal(one.rank, i);
        took_ns[i] = one.seen_ns - begin_ns;
    }
    qsort(took_ns, COUNT, sizeof took_ns[0], compare_u64);
    print_message("SIGKILL to seen: median %.0f us, p95 %.0f us, max %.0f us\n",
                  (double)took_ns[COUNT / 2] / 1e3, (double)took_ns[COUNT * 95 / 100] / 1e3,
                  (double)took_ns[COUNT - 1] / 1e3);
}

static void watch_pid(pid_t pid, uint32_t rank)
{
    struct mu_watched process = {1, rank, pid, open_pidfd(pid), false};
    assert_int_equal(mu_watch_proc_add(watch, &process), MU_WATCH_OK);
}

/* With a pipe that exec closes, so that it too ends when exec has succeeded or failed. */
static void start_by_fork(uint32_t rank)
{
    int ends[2], error;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        execve("/bin/true", (char *const *)ARGV("true"), (char *const *)environment);
        error = errno;
        _exit(write(ends[1], &error, sizeof error) > 0 ? 127 : 126);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &error, sizeof error), 0);
    close(ends[0]);
    watch_pid(pid, rank);
}

static void start_by_posix_spawn(uint32_t rank)
{
    pid_t pid;
    assert_int_equal(posix_spawn(&pid, "/bin/true", NULL, NULL, (char *const *)ARGV("true"),
                                 (char *const *)environment),
                     0);
    watch_pid(pid, rank);
}

static void start_by_spawner(uint32_t rank)
{
    struct mu_spawn_spec spec = spec_of(ARGV("/bin/true"));
    start_and_watch(&spec, 1, rank);
}

/* Starts and reaps as fast as it can, with at most 64 at a time. */
static uint64_t time_starts(void (*start_it)(uint32_t), uint32_t count, uint64_t *in_start_ns)
{
    struct mu_proc_end one;
    uint64_t begin_ns = now_ns();
    *in_start_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t before_ns = now_ns();
        start_it(i);
        *in_start_ns += now_ns() - before_ns;
        while (mu_watch_proc_next(watch, &one))
            ;
        if (mu_watch_proc_count(watch) >= 64)
            next_end();
    }
    while (mu_watch_proc_count(watch) > 0)
        next_end();
    return now_ns() - begin_ns;
}

/* The best of three: the machine is not ours alone. */
static void print_rate(const char *how, void (*start_it)(uint32_t), uint32_t count)
{
    uint64_t best_ns = UINT64_MAX, best_in_start_ns = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        uint64_t in_start_ns, all_ns = time_starts(start_it, count, &in_start_ns);
        best_ns = all_ns < best_ns ? all_ns : best_ns;
        best_in_start_ns = in_start_ns < best_in_start_ns ? in_start_ns : best_in_start_ns;
    }
    print_message("  %-12s %6.0f us a start, %6.0f starts/s with the ends\n", how,
                  (double)best_in_start_ns / 1e3 / count, count * 1e9 / (double)best_ns);
}

/* All at once, as the start of a job is: the spawner's queue is never empty. */
static void print_rate_of_a_job(uint32_t count)
{
    struct mu_spawn_spec spec = spec_of(ARGV("/bin/true"));
    struct mu_proc_end one;
    uint32_t submitted = 0, started = 0, ended = 0;
    uint64_t begin_ns = now_ns(), all_started_ns = 0;
    while (ended < count) {
        struct pollfd ready[2] = {{.fd = mu_spawner_fd(spawner), .events = POLLIN},
                                  {.fd = mu_watch_proc_fd(watch), .events = POLLIN}};
        struct mu_spawn_result result;
        while (submitted < count && submitted - ended < CAPACITY &&
               mu_spawner_submit(spawner, &spec, NULL))
            submitted++;
        assert_true(poll(ready, 2, TIMEOUT_MS) > 0);
        while (mu_spawner_next(spawner, &result))
            watch_as(&result, 1, started++);
        if (started == count && all_started_ns == 0)
            all_started_ns = now_ns() - begin_ns;
        while (mu_watch_proc_next(watch, &one))
            ended++;
    }
    print_message("  a job of %u: all started after %.0f ms (%.0f/s), all ended after %.0f ms\n",
                  count, (double)all_started_ns / 1e6, count * 1e9 / (double)all_started_ns,
                  (double)(now_ns() - begin_ns) / 1e6);
}

static void print_rates_of_starting(void **state)
{
    (void)state;
    uint32_t count = sanitized() ? 20 : 100;
    size_t sizes_mb[] = {0, 256};
    for (int i = 0; i < 2; i++) {
        size_t bytes = sizes_mb[i] << 20;
        void *memory = NULL;
        if (bytes > 0) {
            memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            assert_true(memory != MAP_FAILED);
            memset(memory, 1, bytes);
        }
        print_message("a daemon with %zu MB more:\n", sizes_mb[i]);
        print_rate("fork + pipe", start_by_fork, count);
        print_rate("posix_spawn", start_by_posix_spawn, count);
        print_rate("spawner", start_by_spawner, count);
        print_rate_of_a_job(sanitized() ? 100 : 768);
        if (bytes > 0)
            munmap(memory, bytes);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(codes_come_back),
        TEST(every_signal_that_ends_a_process_is_named),
        TEST(the_core_flag_is_set_when_there_is_a_core),
        TEST(two_hundred_ends_are_seen_once_each),
        TEST(a_stop_is_not_an_end),
        TEST(a_killed_process_is_told_before_it_can_be_reaped),
        TEST(debuggers_that_let_go_at_once_leave_everything_in_order),
        TEST(a_status_that_somebody_took_is_no_endless_loop),
        TEST(an_ignored_sigchld_is_undone),
        TEST(a_missing_program_is_named),
        TEST(a_program_that_cannot_run_is_told_from_a_missing_one),
        TEST(a_list_of_arguments_that_is_too_long_is_named),
        TEST(a_bad_folder_is_named),
        TEST(a_bad_descriptor_is_named),
        TEST(no_descriptor_for_a_process_is_named),
        TEST(nothing_of_the_daemon_comes_along),
        TEST(sigpipe_is_ignored_where_asked),
        TEST(one_more_descriptor_where_asked),
        TEST(bound_to_a_processor_where_asked),
        TEST(a_session_and_a_group_of_its_own_where_asked),
        TEST(the_path_is_searched_in_its_own_environment),
        TEST(descriptors_0_to_2_may_come_in_any_order),
        TEST(a_daemon_without_standard_descriptors_can_start),
        TEST(nothing_leaks_without_close_range),
        TEST(signals_reach_one_a_job_or_all),
        TEST(a_full_set_says_so_and_room_comes_back),
        TEST(a_full_spawner_says_so),
        TEST(the_group_ends_with_its_leader),
        TEST(a_signal_reaches_the_whole_group),
        TEST(killing_everything_waits_no_longer_than_asked),
        TEST(processes_die_with_their_daemon),
        TEST(no_process_slips_through_when_the_daemon_dies),
        TEST(a_process_whose_daemon_is_gone_does_not_begin),
        TEST(closing_the_spawner_ends_what_it_started),
        TEST(a_process_outlives_the_thread_that_asked),
        TEST(the_thread_of_the_spawner_takes_no_signal),
        TEST(starts_are_safe_among_busy_threads_and_signals),
        TEST(print_latency_of_a_death),
        TEST(print_rates_of_starting),
    };
    snprintf(folder, sizeof folder, "/tmp/test_spawn.XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
