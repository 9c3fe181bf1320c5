#include "bench/procfail/machine.h"

#include "rig/page.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum { STOP_WAIT_MS = 10000, REPORT_WAIT_MS = 2000 };

#define SILENCE_NS UINT64_C(10000000000)

/* Says what went wrong, once. */
static void broke(struct bench_machine *bench, const char *what, uint32_t number, const char *why)
{
    if (!bench->is_broken)
        fprintf(stderr, "muster bench: %s %u: %s\n", what, number, why);
    bench->is_broken = true;
}

/* ---- hooks ---- */

static void on_failed(void *owner, const char *text)
{
    struct bench_machine *bench = owner;
    fprintf(stderr, "muster bench: %s\n", text);
    bench->is_broken = true;
}

static void on_lost(void *owner, mu_slot node, const char *text)
{
    broke(owner, "node", node, text);
}

static void on_ended(void *owner, uint32_t rank, const struct mu_evidence *evidence)
{
    struct bench_machine *bench = owner;
    char text[MU_EVIDENCE_TEXT_MAX];
    if (rank == bench->victim && bench->seen_ns == 0)
        bench->seen_ns = evidence->seen_ns;
    else if (!job_stopped(bench->job))
        broke(bench, "nobody killed process", rank, mu_evidence_text(evidence, text, sizeof text));
}

static void on_told(void *owner, const struct job_told *told)
{
    struct bench_machine *bench = owner;
    if (told->is_node || told->rank != bench->victim)
        return; /* clients count what should not have been */
    struct bench_told *by = &bench->told[told->by];
    by->ns = told->evidence->seen_ns + told->age_ns;
    by->hops = told->hops;
}

static bool on_output(void *owner, uint32_t rank, uint8_t stream, const uint8_t *bytes,
                      uint32_t count)
{
    (void)owner, (void)rank, (void)stream;
    fwrite(bytes, 1, count, stderr);
    return true;
}

static void on_refused(void *owner, mu_slot node, const char *text)
{
    broke(owner, "node", node, text);
}

static void on_idle(void *owner)
{
    struct bench_machine *bench = owner;
    bench->is_idle = true;
}

static void on_tick(uv_timer_t *tick)
{
    uv_stop(tick->loop); /* also when it is due before the loop has begun to wait */
}

/* ---- the machine ---- */

bool bench_machine_open(struct bench_machine *bench, uint32_t nodes)
{
    char text[MACHINE_TEXT_MAX];
    *bench = (struct bench_machine){.told = calloc(nodes, sizeof *bench->told)};
    bench->has_loop = bench->told != NULL && uv_loop_init(&bench->loop) == 0;
    if (!bench->has_loop) {
        fprintf(stderr, "muster bench: no memory or descriptors for a loop\n");
        return false;
    }
    uv_timer_init(&bench->loop, &bench->tick);
    bench->tick.data = bench;
    struct machine_config config = {
        .loop = &bench->loop,
        .nodes = nodes,
        /* The beats are the usual ones, but a host that stands still is no failure here. */
        .period_ns = MACHINE_PERIOD_NS,
        .timeout_ns = SILENCE_NS,
        .hooks = {.owner = bench, .failed = on_failed, .lost = on_lost},
    };
    bench->machine = machine_open(&config, text);
    if (bench->machine == NULL) {
        fprintf(stderr, "muster bench: %s\n", text);
        return false;
    }
    return machine_wait_ready(bench->machine);
}

void bench_machine_close(struct bench_machine *bench)
{
    job_free(bench->job);
    if (bench->machine != NULL) {
        machine_end(bench->machine, MACHINE_PATIENCE_MS);
        machine_wait_gone(bench->machine);
        machine_free(bench->machine);
    }
    if (bench->has_loop) {
        uv_close((uv_handle_t *)&bench->tick, NULL);
        uv_run(&bench->loop, UV_RUN_DEFAULT);
        int closed = uv_loop_close(&bench->loop);
        assert(closed == 0);
    }
    free(bench->told);
}

bool bench_machine_pass_ms(void *owner)
{
    struct bench_machine *bench = owner;
    uv_update_time(&bench->loop);
    uv_timer_start(&bench->tick, on_tick, 1, 0);
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    return !bench->is_broken;
}

/* ---- a job ---- */

bool bench_machine_start(struct bench_machine *bench, const char *client, uint32_t procs,
                         uint32_t victim, bool has_parts)
{
    char pid[16], text[MACHINE_TEXT_MAX];
    uint32_t nodes = machine_nodes(bench->machine);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    const char *const argv[] = {client, pid, NULL};
    const struct job_program program = {.count = nodes * procs, .directory = "/", .argv = argv};
    const struct job_config config = {
        .machine = bench->machine,
        .program_count = 1,
        .programs = &program,
        .envp = (const char *const *)environ,
        .binding = has_parts ? MU_LAUNCH_PART : MU_LAUNCH_UNBOUND,
        .one_host = true,
        .hooks = {.owner = bench,
                  .ended = on_ended,
                  .told = on_told,
                  .output = on_output,
                  .refused = on_refused,
                  .idle = on_idle},
    };
    bench->victim = victim;
    bench->is_idle = false;
    bench->seen_ns = 0;
    memset(bench->told, 0, nodes * sizeof *bench->told);
    bench->job = job_start(&config, text);
    if (bench->job == NULL)
        fprintf(stderr, "muster bench: %s\n", text);
    return bench->job != NULL;
}

static bool has_reported(const struct bench_machine *bench)
{
    for (uint32_t i = 0; i < machine_nodes(bench->machine); i++)
        if (bench->told[i].ns == 0)
            return false;
    return bench->seen_ns > 0;
}

bool bench_machine_reported(struct bench_machine *bench)
{
    uint64_t end_ns = bench_now_ns() + REPORT_WAIT_MS * UINT64_C(1000000);
    while (!has_reported(bench) && bench_now_ns() < end_ns)
        if (!bench_machine_pass_ms(bench))
            return false;
    return true;
}

bool bench_machine_stop(struct bench_machine *bench)
{
    uint64_t end_ns = bench_now_ns() + STOP_WAIT_MS * UINT64_C(1000000);
    job_stop(bench->job, 0);
    while (!bench->is_idle && bench_now_ns() < end_ns)
        if (!bench_machine_pass_ms(bench))
            return false;
    if (!bench->is_idle) {
        fprintf(stderr, "muster bench: %u processes had not ended after %d s\n",
                job_left(bench->job), STOP_WAIT_MS / 1000);
        return false;
    }
    job_finish(bench->job);
    job_free(bench->job);
    bench->job = NULL;
    return true;
}
