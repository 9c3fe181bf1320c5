/* Runs a command, whose output goes nowhere, and prints how long it took, and how much of a core it
 * and all it waited for took, in ms.
 *
 *     stopwatch COMMAND [ARG]...
 *
 * Its exit code is that of the command. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double ms_of(struct timeval time)
{
    return (double)time.tv_sec * 1e3 + (double)time.tv_usec / 1e3;
}

int main(int argc, char **argv)
{
    struct rusage usage;
    int status;
    if (argc < 2) {
        fprintf(stderr, "stopwatch: no command\n");
        return 2;
    }
    double from_ms = now_ms();
    pid_t pid = fork();
    if (pid == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, STDOUT_FILENO);
        execvp(argv[1], argv + 1);
        fprintf(stderr, "stopwatch: %s: %s\n", argv[1], strerror(errno));
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid) {
        fprintf(stderr, "stopwatch: %s\n", strerror(errno));
        return 1;
    }
    printf("%.3f %.3f\n", now_ms() - from_ms, ms_of(usage.ru_utime) + ms_of(usage.ru_stime));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
