#define _GNU_SOURCE
#include "host/spawn_child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Sanitizers keep books per thread, and the thread they would take this for stands still in
 * clone(). So no function here is instrumented, and all calls go through syscall(), which none
 * intercepts. */
#ifdef __clang__
#define IN_CHILD                                                                                   \
    __attribute__((no_sanitize("address", "thread", "undefined", "coverage"),                      \
                   disable_sanitizer_instrumentation))
#else
#define IN_CHILD __attribute__((no_sanitize("address", "thread", "undefined")))
#endif

enum {
    SIGNALS = 64,            /* of the kernel's: more than the C library lets one touch */
    AFTER_STDIO = 3,         /* what is passed on besides */
    PATH_BYTES = PATH_MAX,   /* one candidate of the search */
    ENTRIES_BYTES = 4 * 1024 /* of a folder, at a time */
};

/* The kernel's struct sigaction, of which only the handler is ever not zero.  It comes first on all
 * of Linux's architectures but MIPS. */
struct kernel_sigaction {
    void (*handler)(int);
    unsigned long zero[7];
};

IN_CHILD static int failed(struct mu_spawn_child *child, int error)
{
    child->error = error;
    return -1;
}

/* Closes the race with a daemon that died before the request: then nobody will send the signal. */
IN_CHILD static int die_with_daemon(struct mu_spawn_child *child)
{
    child->step = MU_START_PARENT_DEATH;
    if (syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
        return failed(child, errno);
    if (syscall(SYS_getppid) != child->daemon)
        return failed(child, ESRCH);
    return 0;
}

IN_CHILD static int bind_to_cpus(struct mu_spawn_child *child)
{
    const struct mu_spawn_cpus *cpus = &child->spec->cpus;
    child->step = MU_START_CLONE;
    bool wanted = child->spec->bound || child->spec->preferred;
    if (wanted && syscall(SYS_sched_setaffinity, 0, sizeof *cpus, cpus) != 0 && child->spec->bound)
        return failed(child, errno);
    return 0;
}

/* A session with it: the kernel shares the processors by session (autogroup), and no terminal that
 * the process opens sends its signals to others. */
IN_CHILD static int lead_group(struct mu_spawn_child *child)
{
    child->step = MU_START_GROUP;
    if (child->spec->own_group && syscall(SYS_setsid) < 0)
        return failed(child, errno);
    return 0;
}

/* One that is in its place already may be close-on-exec, which dup3() cannot undo. */
IN_CHILD static long put_in_place(int from, int to)
{
    return from == to ? syscall(SYS_fcntl, to, F_SETFD, 0) : syscall(SYS_dup3, from, to, 0);
}

/* The caller's descriptors may be any numbers, 0 to 2 in another order too. */
IN_CHILD static int set_stdio(struct mu_spawn_child *child)
{
    int from[3], passed = child->spec->passed;
    child->step = MU_START_STDIO;
    if (passed > 0 && passed < AFTER_STDIO)
        passed = (int)syscall(SYS_fcntl, passed, F_DUPFD_CLOEXEC, AFTER_STDIO);
    if (passed < 0)
        return failed(child, errno);
    for (int i = 0; i < 3; i++) {
        from[i] = child->spec->stdio[i];
        if (from[i] == MU_SPAWN_NULL)
            from[i] = child->null_fd;
        /* Out of the way, before another one is put in its place. */
        if (from[i] < AFTER_STDIO && from[i] != i)
            from[i] = (int)syscall(SYS_fcntl, from[i], F_DUPFD_CLOEXEC, AFTER_STDIO);
        if (from[i] < 0)
            return failed(child, errno);
    }
    for (int i = 0; i < 3; i++)
        if (put_in_place(from[i], i) < 0)
            return failed(child, errno);
    /* The last one: whatever was 3 before is a copy that nobody needs any more. */
    if (passed > 0 && put_in_place(passed, AFTER_STDIO) < 0)
        return failed(child, errno);
    return 0;
}

/* The number that a name in /proc/self/fd is; -1 for "." and "..". */
IN_CHILD static int number_of(const char *name)
{
    int number = 0;
    for (; *name; name++) {
        if (*name < '0' || *name > '9')
            return -1;
        number = number * 10 + (*name - '0');
    }
    return number;
}

/* Before Linux 5.9, or where a container's filter does not know close_range().  Marks instead of
 * closing, so that the folder does not change while it is read. */
IN_CHILD static int close_one_by_one(struct mu_spawn_child *child, int first)
{
    char entries[ENTRIES_BYTES] __attribute__((aligned(8)));
    int folder =
        (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return failed(child, errno);
    for (;;) {
        long bytes = syscall(SYS_getdents64, folder, entries, sizeof entries);
        if (bytes < 0)
            return failed(child, errno);
        if (bytes == 0)
            return 0;
        /* struct linux_dirent64: inode 8 bytes, offset 8, length of the entry 2, type 1, name */
        for (long at = 0; at < bytes;) {
            uint16_t length = *(const uint16_t *)(entries + at + 16);
            int number = number_of(entries + at + 19);
            if (number >= first && syscall(SYS_fcntl, number, F_SETFD, FD_CLOEXEC) != 0)
                return failed(child, errno);
            at += length;
        }
    }
}

IN_CHILD static int close_others(struct mu_spawn_child *child)
{
    int first = AFTER_STDIO + (child->spec->passed > 0);
    child->step = MU_START_CLOSE;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0u, 0) == 0)
        return 0;
#endif
    return close_one_by_one(child, first);
}

IN_CHILD static int change_directory(struct mu_spawn_child *child)
{
    child->step = MU_START_CHDIR;
    if (child->spec->directory && syscall(SYS_chdir, child->spec->directory) != 0)
        return failed(child, errno);
    return 0;
}

/* The daemon may have raised its own: a program that uses select() must not have numbers above 1023
 * because of that.  It only ever goes down, which cannot fail. */
IN_CHILD static void limit_files(const struct mu_spawn_child *child)
{
    syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, child->files, NULL);
}

/* Signals were blocked until here: a handler of the daemon's must never run in this process, which
 * shares its memory. */
IN_CHILD static int reset_signals(struct mu_spawn_child *child)
{
    struct kernel_sigaction action = {.handler = SIG_DFL};
    uint64_t none = 0;
    child->step = MU_START_SIGNALS;
    for (int number = 1; number <= SIGNALS; number++) {
        bool ignored = number == SIGPIPE && child->spec->ignore_sigpipe;
        if (number == SIGKILL || number == SIGSTOP)
            continue;
        action.handler = ignored ? SIG_IGN : SIG_DFL;
        if (syscall(SYS_rt_sigaction, number, &action, NULL, sizeof none) != 0)
            return failed(child, errno);
    }
    if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none) != 0)
        return failed(child, errno);
    return 0;
}

/* Returns only when it failed; the step tells a missing file from a missing interpreter. */
IN_CHILD static void try_exec(struct mu_spawn_child *child, const char *path)
{
    child->step = MU_START_EXEC;
    child->error = 0; /* of an earlier folder: this one may succeed, and then nobody comes back */
    syscall(SYS_execve, path, child->spec->argv, child->spec->envp);
    child->error = errno;
    if (child->error == ENOENT && syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0)
        child->step = MU_START_INTERPRETER;
}

/* In the environment that the program gets, not in the daemon's. */
IN_CHILD static const char *search_path(const struct mu_spawn_spec *spec)
{
    for (const char *const *variable = spec->envp; *variable; variable++) {
        const char *text = *variable;
        if (text[0] == 'P' && text[1] == 'A' && text[2] == 'T' && text[3] == 'H' && text[4] == '=')
            return text + 5;
    }
    return "/usr/local/bin:/usr/bin:/bin";
}

/* "FOLDER/FILE", an empty folder being the current one; false when it is too long to exist. */
IN_CHILD static bool join(char *path, const char *folder, size_t folder_bytes, const char *file)
{
    size_t at = 0;
    if (folder_bytes >= PATH_BYTES - 1)
        return false;
    for (; at < folder_bytes; at++)
        path[at] = folder[at];
    if (at > 0)
        path[at++] = '/';
    for (; at < PATH_BYTES; at++, file++) {
        path[at] = *file;
        if (!*file)
            return true;
    }
    return false;
}

/* As execvp() does it: a file that is there and cannot be run is only the answer when no later
 * folder has a better one. */
IN_CHILD static void search_and_exec(struct mu_spawn_child *child, const char *file)
{
    char path[PATH_BYTES];
    enum mu_start_step step = MU_START_EXEC;
    int error = ENOENT;
    const char *folder = search_path(child->spec);
    for (;;) {
        size_t bytes = 0;
        while (folder[bytes] && folder[bytes] != ':')
            bytes++;
        if (join(path, folder, bytes, file)) {
            try_exec(child, path);
            bool missing = child->step == MU_START_EXEC &&
                           (child->error == ENOENT || child->error == ENOTDIR ||
                            child->error == ESTALE || child->error == ENODEV);
            if (!missing) {
                step = child->step;
                error = child->error;
            }
            if (!missing && error != EACCES && step != MU_START_INTERPRETER)
                break;
        }
        if (!folder[bytes])
            break;
        folder += bytes + 1;
    }
    child->step = step;
    child->error = error;
}

IN_CHILD static void exec_program(struct mu_spawn_child *child)
{
    const char *file = child->spec->argv[0];
    bool has_slash = false;
    for (const char *at = file; *at; at++)
        has_slash = has_slash || *at == '/';
    if (has_slash || !*file)
        try_exec(child, file);
    else
        search_and_exec(child, file);
}

IN_CHILD int mu_spawn_child_run(void *arg)
{
    struct mu_spawn_child *child = arg;
    if (die_with_daemon(child) == 0 && bind_to_cpus(child) == 0 && lead_group(child) == 0 &&
        set_stdio(child) == 0 && close_others(child) == 0 && change_directory(child) == 0 &&
        reset_signals(child) == 0) {
        limit_files(child);
        exec_program(child);
    }
    for (;;)
        syscall(SYS_exit_group, 127);
}
