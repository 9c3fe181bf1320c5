/* Jobs one after another on the same daemons: what does each daemon keep of them?
 *
 *     many_jobs [--failures] MUSTERD NODES PROCESSES JOBS GROWTH_KIB PROGRAM [ARGUMENT...]
 *
 * Prints the memory that each daemon has written to, after the first job and after the last one.
 * What it shares with others (code) is not its growth, and depends on who else is there.  Fails
 * when a daemon grew by more, or when a process does.  With --failures somebody kills processes,
 * the others of that job go on, and memory is not looked at: only root may. */
#include "launch/job.h"
#include "launch/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

struct state {
    uv_loop_t loop;
    struct machine *machine;
    struct job *job;
    bool failures, failed;
};

static double own_kib(pid_t pid)
{
    char path[64], line[256];
    unsigned long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && kib == 0 && fgets(line, sizeof line, file) != NULL)
        sscanf(line, "Anonymous: %lu kB", &kib);
    if (file != NULL)
        fclose(file);
    return (double)kib;
}

static void on_failed(void *owner, const char *text)
{
    struct state *state = owner;
    fprintf(stderr, "many_jobs: %s\n", text);
    state->failed = true;
}

static void on_ended(void *owner, uint32_t rank, const struct mu_evidence *evidence)
{
    struct state *state = owner;
    char text[MU_EVIDENCE_TEXT_MAX];
    if (evidence->verdict == MU_VERDICT_LEFT || state->failures)
        return;
    fprintf(stderr, "many_jobs: process %u: %s\n", rank,
            mu_evidence_text(evidence, text, sizeof text));
    state->failed = true;
}

static void on_idle(void *owner)
{
    struct state *state = owner;
    uv_stop(&state->loop);
}

static bool run_job(struct state *state, uint32_t processes, char **argv)
{
    char text[MACHINE_TEXT_MAX];
    const struct job_program program = {
        .count = processes, .directory = "/", .argv = (const char *const *)argv};
    const struct job_config config = {
        .machine = state->machine,
        .program_count = 1,
        .programs = &program,
        .envp = (const char *const *)environ,
        .binding = MU_LAUNCH_PART,
        .hooks = {.owner = state, .ended = on_ended, .idle = on_idle},
    };
    state->job = job_start(&config, text);
    if (state->job == NULL) {
        fprintf(stderr, "many_jobs: %s\n", text);
        return false;
    }
    uv_run(&state->loop, UV_RUN_DEFAULT);
    job_finish(state->job);
    job_free(state->job);
    return !state->failed;
}

static bool run_jobs(struct state *state, uint32_t jobs, uint32_t processes, double limit_kib,
                     char **argv)
{
    uint32_t nodes = state->failures ? 0 : machine_nodes(state->machine);
    double *first = calloc(nodes + (size_t)1, sizeof *first);
    bool good = first != NULL;
    for (uint32_t i = 0; good && i < jobs; i++) {
        good = run_job(state, processes, argv);
        for (uint32_t n = 0; i == 0 && n < nodes; n++)
            first[n] = own_kib(machine_daemon(state->machine, n));
    }
    for (uint32_t n = 0; good && n < nodes; n++) {
        double last = own_kib(machine_daemon(state->machine, n));
        printf("node %u: %.0f KiB after job 1, %.0f KiB after job %u\n", n, first[n], last, jobs);
        good = first[n] > 0 && last - first[n] <= limit_kib;
        if (!good)
            fprintf(stderr, "many_jobs: node %u grew by %.0f KiB\n", n, last - first[n]);
    }
    free(first);
    return good;
}

int main(int argc, char **argv)
{
    char text[MACHINE_TEXT_MAX];
    static struct state state;
    if (argc > 1 && strcmp(argv[1], "--failures") == 0) {
        state.failures = true;
        argc--, argv++;
    }
    if (argc < 7) {
        fprintf(stderr, "usage: many_jobs [--failures] MUSTERD NODES PROCESSES JOBS GROWTH_KIB "
                        "PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    uv_loop_init(&state.loop);
    const struct machine_config config = {.loop = &state.loop,
                                          .nodes = (uint32_t)atoi(argv[2]),
                                          .musterd = argv[1],
                                          .pmix = true,
                                          .hooks = {.owner = &state, .failed = on_failed}};
    state.machine = machine_open(&config, text);
    if (state.machine == NULL) {
        fprintf(stderr, "many_jobs: %s\n", text);
        return 1;
    }
    bool good =
        machine_wait_ready(state.machine) &&
        run_jobs(&state, (uint32_t)atoi(argv[4]), (uint32_t)atoi(argv[3]), atof(argv[5]), argv + 6);
    machine_end(state.machine, MACHINE_PATIENCE_MS);
    machine_wait_gone(state.machine);
    machine_free(state.machine);
    uv_run(&state.loop, UV_RUN_DEFAULT);
    uv_loop_close(&state.loop);
    return good ? 0 : 1;
}
