/* A daemon for test_spawn to be rough with: it starts 'spawned' processes, in circumstances that a
 * test must not bring upon itself.
 *
 *   spawn_daemon tree SPAWNED COUNT      starts COUNT that wait, prints their pids, works until
 * killed spawn_daemon storm SPAWNED           prints a line and starts what waits, as fast as it
 * can spawn_daemon closed SPAWNED FILE     has no descriptors 0 to 2 when it starts a report
 *   spawn_daemon old SPAWNED FILE        has no close_range(), and many descriptors to close */
#define _GNU_SOURCE
#include "host/spawn.h"
#include "host/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STORM = 400, MANY_DESCRIPTORS = 500, TIMEOUT_MS = 20000 };

static const char *const no_environment[] = {NULL};

static void check(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "spawn_daemon: %s: %s\n", what, strerror(errno));
    exit(98);
}

static struct mu_spawn_result start(struct mu_spawner *spawner, const struct mu_spawn_spec *spec)
{
    struct mu_spawn_result result;
    struct pollfd ready = {.fd = mu_spawner_fd(spawner), .events = POLLIN};
    check(mu_spawner_submit(spawner, spec, NULL), "submit");
    check(poll(&ready, 1, TIMEOUT_MS) == 1, "poll");
    check(mu_spawner_next(spawner, &result), "next");
    check(result.started, "start");
    return result;
}

static struct mu_spawn_spec spec_of(const char *const *argv)
{
    return (struct mu_spawn_spec){
        .argv = argv,
        .envp = no_environment,
        .stdio = {MU_SPAWN_NULL, MU_SPAWN_NULL, MU_SPAWN_NULL},
        .own_group = true,
    };
}

static void make_tree(const char *spawned, int count)
{
    struct mu_spawner *spawner;
    const char *const argv[] = {spawned, "wait", NULL};
    struct mu_spawn_spec spec = spec_of(argv);
    check(mu_spawner_open(1, &spawner) == 0, "open");
    for (int i = 0; i < count; i++)
        printf("%d\n", start(spawner, &spec).pid);
    fflush(stdout);
    alarm(100); /* where the test fails to end it */
    for (;;)
        pause();
}

/* Nobody waits for a result: whenever it is killed, a start is in progress or just over. */
static void storm(const char *spawned)
{
    struct mu_spawner *spawner;
    const char *const argv[] = {spawned, "wait", NULL};
    struct mu_spawn_spec spec = spec_of(argv);
    check(mu_spawner_open(STORM, &spawner) == 0, "open");
    printf("go\n");
    fflush(stdout);
    for (int i = 0; i < STORM; i++)
        check(mu_spawner_submit(spawner, &spec, NULL), "submit");
    alarm(100);
    for (;;)
        pause();
}

static int report(const char *spawned, const char *file)
{
    struct mu_spawner *spawner;
    struct mu_watch_proc *watch;
    struct mu_proc_end end;
    const char *const argv[] = {spawned, "report", file, NULL};
    struct mu_spawn_spec spec = spec_of(argv);
    check(mu_spawner_open(1, &spawner) == 0, "open");
    check(mu_watch_proc_open(1, &watch) == 0, "watch");
    struct mu_spawn_result result = start(spawner, &spec);
    struct mu_watched process = {.pid = result.pid, .pidfd = result.pidfd, .own_group = true};
    check(mu_watch_proc_add(watch, &process) == MU_WATCH_OK, "add");
    struct pollfd ready = {.fd = mu_watch_proc_fd(watch), .events = POLLIN};
    check(poll(&ready, 1, TIMEOUT_MS) == 1, "poll");
    check(mu_watch_proc_next(watch, &end), "next");
    mu_spawner_close(spawner);
    mu_watch_proc_close(watch);
    return mu_exit_kind_shell_code(&end.kind);
}

static void forbid_close_range(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof code[0], code};
    check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
    check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0, "filter");
    check(syscall(SYS_close_range, 100000, 100000, 0) != 0 && errno == ENOSYS, "close_range");
    for (int i = 0; i < MANY_DESCRIPTORS; i++)
        check(open("/dev/null", O_RDONLY) >= 0, "open many");
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    if (strcmp(what, "tree") == 0)
        make_tree(argv[2], atoi(argv[3]));
    if (strcmp(what, "storm") == 0)
        storm(argv[2]);
    if (strcmp(what, "closed") == 0) {
        for (int i = 0; i < 3; i++)
            close(i);
        return report(argv[2], argv[3]);
    }
    if (strcmp(what, "old") == 0) {
        forbid_close_range();
        return report(argv[2], argv[3]);
    }
    return 99;
}
