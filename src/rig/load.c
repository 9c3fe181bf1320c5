#define _GNU_SOURCE
#include "rig/load.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- processes that only compute ---- */

/* It keeps no descriptor, so that daemons notice the end of the bench. */
static _Noreturn void compute(pid_t parent)
{
    volatile uint64_t sum = 0;
    signal(SIGINT, SIG_IGN); /* Ctrl-C is for the bench, which ends this */
    prctl(PR_SET_NAME, "bench-load");
    syscall(SYS_close_range, 0, ~0u, 0);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(1);
    for (;;)
        sum += 1;
}

int load_start(struct load *load, uint32_t per_core)
{
    cpu_set_t allowed;
    pid_t parent = getpid();
    *load = (struct load){0};
    if (per_core == 0)
        return 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return -1;
    uint32_t wanted = per_core * (uint32_t)CPU_COUNT(&allowed);
    load->pids = calloc(wanted, sizeof *load->pids);
    if (load->pids == NULL)
        return -1;
    while (load->count < wanted) {
        pid_t pid = fork();
        if (pid == 0)
            compute(parent);
        if (pid < 0) {
            int error = errno;
            load_stop(load);
            errno = error;
            return -1;
        }
        load->pids[load->count++] = pid;
    }
    return 0;
}

void load_stop(struct load *load)
{
    for (uint32_t i = 0; i < load->count; i++)
        kill(load->pids[i], SIGKILL); /* not reaped, so the number is still its own */
    for (uint32_t i = 0; i < load->count; i++)
        while (waitpid(load->pids[i], NULL, 0) < 0 && errno == EINTR)
            ;
    free(load->pids);
    *load = (struct load){0};
}

/* ---- jobs of short processes ---- */

static void on_ended(void *owner, uint32_t rank, const struct mu_evidence *evidence)
{
    struct launch *launch = owner;
    (void)rank;
    if (evidence->verdict == MU_VERDICT_LEFT)
        launch->processes++;
    else
        launch->failed++;
}

static void on_idle(void *owner)
{
    struct launch *launch = owner;
    launch->is_idle = true;
}

static bool start(struct launch *launch)
{
    static const char *const argv[] = {"true", NULL};
    const struct job_hooks hooks = {.owner = launch, .ended = on_ended, .idle = on_idle};
    launch->is_idle = false;
    launch->job = rig_start_job(launch->rig, LAUNCH_PER_NODE, argv, MU_LAUNCH_PART, &hooks);
    return launch->job != NULL;
}

bool launch_go_on(struct launch *launch)
{
    if (launch->job != NULL && !launch->is_idle)
        return true;
    if (launch->job != NULL) {
        job_finish(launch->job);
        job_free(launch->job);
        launch->job = NULL;
        launch->jobs++;
    }
    return start(launch);
}

void launch_stop(struct launch *launch)
{
    job_free(launch->job);
    launch->job = NULL;
}
