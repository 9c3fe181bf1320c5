/* A job that begins late on one node:
 *
 *     late_job MUSTERD PROGRAM [ARGUMENT...]
 *
 * When the job is handed out, the daemon of node 1 is stopped until process 0, on node 0, has ended
 * with an exit code.  Loading the PMIx module takes milliseconds: so it hears of that end before
 * the job is there.  Then process 1 runs PROGRAM there.  Fails when that does. */
#include "launch/job.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

extern char **environ;

struct state {
    uv_loop_t loop;
    struct machine *machine;
    bool good;
};

static void on_failed(void *owner, const char *text)
{
    (void)owner;
    fprintf(stderr, "late_job: %s\n", text);
}

static void on_connected(void *owner)
{
    struct state *state = owner;
    kill(machine_daemon(state->machine, 1), SIGSTOP);
}

/* Everybody is told of an end before the launcher is. */
static void on_ended(void *owner, uint32_t rank, const struct mu_evidence *evidence)
{
    struct state *state = owner;
    char text[MU_EVIDENCE_TEXT_MAX];
    printf("process %u: %s\n", rank, mu_evidence_text(evidence, text, sizeof text));
    if (rank == 0)
        kill(machine_daemon(state->machine, 1), SIGCONT);
    else
        state->good = evidence->verdict == MU_VERDICT_LEFT;
}

static bool on_output(void *owner, uint32_t rank, uint8_t stream, const uint8_t *bytes,
                      uint32_t count)
{
    (void)owner, (void)rank;
    fwrite(bytes, 1, count, stream == 1 ? stdout : stderr);
    return true;
}

static void on_idle(void *owner)
{
    struct state *state = owner;
    uv_stop(&state->loop);
}

static void run_job(struct state *state, char **argv)
{
    static const char *const fails[] = {"/bin/sh", "-c", "exit 3", NULL};
    const struct job_program programs[] = {
        {.count = 1, .directory = "/", .argv = fails},
        {.count = 1, .directory = "/", .argv = (const char *const *)argv}};
    char text[MACHINE_TEXT_MAX];
    const struct job_config config = {
        .machine = state->machine,
        .program_count = 2,
        .programs = programs,
        .envp = (const char *const *)environ,
        .hooks = {.owner = state,
                  .connected = on_connected,
                  .ended = on_ended,
                  .output = on_output,
                  .idle = on_idle},
    };
    struct job *job = job_start(&config, text);
    if (job == NULL) {
        fprintf(stderr, "late_job: %s\n", text);
        return;
    }
    uv_run(&state->loop, UV_RUN_DEFAULT);
    job_finish(job);
    job_free(job);
}

int main(int argc, char **argv)
{
    char text[MACHINE_TEXT_MAX];
    static struct state state;
    if (argc < 3) {
        fprintf(stderr, "usage: late_job MUSTERD PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&state.loop);
    const struct machine_config config = {.loop = &state.loop,
                                          .nodes = 2,
                                          .musterd = argv[1],
                                          .pmix = true,
                                          .period_ns = UINT64_C(100000000),
                                          .timeout_ns = UINT64_C(20000000000),
                                          .hooks = {.owner = &state, .failed = on_failed}};
    state.machine = machine_open(&config, text);
    if (state.machine == NULL) {
        fprintf(stderr, "late_job: %s\n", text);
        return 1;
    }
    if (machine_wait_ready(state.machine))
        run_job(&state, argv + 2);
    machine_end(state.machine, MACHINE_PATIENCE_MS);
    machine_wait_gone(state.machine);
    machine_free(state.machine);
    uv_run(&state.loop, UV_RUN_DEFAULT);
    uv_loop_close(&state.loop);
    return state.good ? 0 : 1;
}
