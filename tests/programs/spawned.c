/* What test_spawn starts: a process that does one thing.  Built without sanitizers, which would
 * catch its signals and make each start slow.
 *
 *   spawned exit CODE        spawned signal NUMBER       spawned wait
 *   spawned report FILE      writes to FILE what it was born with
 *   spawned family           starts a child that waits, prints its pid, leaves at the end of its
 * input spawned trace PID        holds PID as a debugger does, until the end of its input */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <unistd.h>

extern char **environ;

/* Not really: where a test fails to end it, nothing must be left behind for long. */
static void wait_for_ever(void)
{
    alarm(100);
    for (;;)
        pause();
}

static void die_of(int number)
{
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    raise(number);
    wait_for_ever();
}

static void print_status(FILE *out)
{
    char line[256];
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "SigBlk:", 7) == 0 || strncmp(line, "SigIgn:", 7) == 0 ||
            strncmp(line, "Cpus_allowed_list:", 18) == 0)
            fputs(line, out);
    if (status)
        fclose(status);
}

static void print_descriptors(FILE *out)
{
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char path[300], target[300];
        int number = atoi(entry->d_name);
        if (entry->d_name[0] == '.' || number == dirfd(folder) || number == fileno(out))
            continue;
        snprintf(path, sizeof path, "/proc/self/fd/%d", number);
        ssize_t length = readlink(path, target, sizeof target);
        fprintf(out, "fd %d %.*s\n", number, length < 0 ? 0 : (int)length, target);
    }
    if (folder)
        closedir(folder);
}

static int report(const char *file)
{
    char directory[4096];
    int death_signal = 0;
    struct rlimit core;
    FILE *out = fopen(file, "we");
    if (!out)
        return 1;
    prctl(PR_GET_PDEATHSIG, &death_signal);
    getrlimit(RLIMIT_CORE, &core);
    fprintf(out, "pid %d\nparent %d\ngroup %d\nsession %d\n", getpid(), getppid(), getpgrp(),
            getsid(0));
    fprintf(out, "death-signal %d\ncore %lu\n", death_signal, (unsigned long)core.rlim_cur);
    fprintf(out, "directory %s\n", getcwd(directory, sizeof directory));
    print_status(out);
    print_descriptors(out);
    for (char **variable = environ; *variable; variable++)
        fprintf(out, "env %s\n", *variable);
    return fclose(out) == 0 ? 0 : 1;
}

static void wait_for_end_of_input(void)
{
    char byte;
    while (read(0, &byte, 1) > 0)
        ;
}

static int family(bool deaf)
{
    pid_t child = fork();
    if (child == 0)
        wait_for_ever();
    if (deaf)
        signal(SIGTERM, SIG_IGN);
    printf("%d\n", child);
    fflush(stdout);
    wait_for_end_of_input();
    return 0;
}

static int trace(int pid)
{
    long held = ptrace(PTRACE_SEIZE, pid, NULL, NULL);
    printf("%d\n", held == 0 ? 0 : errno);
    fflush(stdout);
    wait_for_end_of_input();
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const char *value = argc > 2 ? argv[2] : "";
    if (strcmp(what, "exit") == 0)
        return atoi(value);
    if (strcmp(what, "signal") == 0)
        die_of(atoi(value));
    if (strcmp(what, "wait") == 0)
        wait_for_ever();
    if (strcmp(what, "report") == 0)
        return report(value);
    if (strcmp(what, "family") == 0)
        return family(strcmp(value, "deaf") == 0);
    if (strcmp(what, "trace") == 0)
        return trace(atoi(value));
    return 99;
}
