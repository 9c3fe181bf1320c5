#include "rig/rig.h"

#include "launch/operator.h"
#include "launch/signals.h"
#include "launch/sweep.h"
#include "core/ring/ring.h"
#include "host/clock.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum { HEARD_WAIT_MS = 30000, HEARD_STEP_MS = 10, SWEEP_MS = 10000 };

void rig_broke(struct rig *rig, mu_slot node, const char *why)
{
    if (!rig->is_broken && rig->signal == 0)
        fprintf(stderr, "%s: node %u: %s\n", rig->config.command, node, why);
    rig->is_broken = true;
}

const char *rig_times_error(uint64_t period_ms, uint64_t timeout_ms)
{
    return mu_detect_times_error(period_ms * 1000000u, timeout_ms * 1000000u);
}

/* ---- hooks ---- */

static void on_failed(void *owner, const char *text)
{
    struct rig *rig = owner;
    if (rig->signal == 0)
        fprintf(stderr, "%s: %s\n", rig->config.command, text);
    rig->is_broken = true;
}

static void on_lost(void *owner, mu_slot node, const char *text)
{
    struct rig *rig = owner;
    rig->lost++;
    if (rig->config.lost != NULL)
        rig->config.lost(rig->config.owner, node, text);
    else if (!rig->config.may_lose)
        rig_broke(rig, node, text);
}

static void on_tick(uv_timer_t *tick)
{
    uv_stop(tick->loop); /* also when it is due before the loop has begun to wait */
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct rig *rig = handle->data;
    rig->signal = number;
    if (rig->machine != NULL)
        machine_end(rig->machine, 0); /* who waits for it to be ready waits no longer */
    uv_stop(handle->loop);
}

/* As nohup wants it. */
static bool hangup_is_ignored(void)
{
    struct sigaction now;
    return sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

static void take_signals(struct rig *rig)
{
    static const int numbers[RIG_SIGNALS] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < RIG_SIGNALS; i++) {
        uv_signal_init(&rig->loop, &rig->signals[i]);
        rig->signals[i].data = rig;
        if (numbers[i] != SIGHUP || !hangup_is_ignored())
            uv_signal_start(&rig->signals[i], on_signal, numbers[i]);
        uv_unref((uv_handle_t *)&rig->signals[i]);
    }
}

/* ---- what a daemon counts ---- */

static void take_counter(struct rig_counts *counts, const char *name, uint64_t value)
{
    const struct {
        const char *name;
        uint64_t *to;
    } rows[] = {
        {"ring_period_ns", &counts->period_ns},
        {"ring_timeout_ns", &counts->timeout_ns},
        {"ring_lease_ns", &counts->lease_ns},
        {"beats_out", &counts->beats_out},
        {"beat_bytes_out", &counts->beat_bytes_out},
        {"ring_cpu_ns", &counts->cpu_ns},
        {"ring_lag_ns_p99", &counts->lag_ns_p99},
        {"ring_lag_ns_max", &counts->lag_ns_max},
        {"ring_lags_given_back", &counts->lags_given_back},
        {"ring_unreachable", &counts->unreachable},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(name, rows[i].name) == 0)
            *rows[i].to = value;
}

static bool hear_status(struct operator_link *link, struct rig_counts *counts)
{
    struct mu_local_message message = {.type = MU_LOCAL_STATUS};
    if (!operator_say(link, &message))
        return false;
    while (operator_hear(link, &message, OPERATOR_TIMEOUT_MS)) {
        if (message.type == MU_LOCAL_DONE)
            return true;
        if (message.type == MU_LOCAL_NODE)
            counts->up_ns = message.node.up_ns;
        else if (message.type == MU_LOCAL_COUNTER)
            take_counter(counts, message.counter.name, message.counter.value);
        else if (message.type != MU_LOCAL_JOB && message.type != MU_LOCAL_PROCESS &&
                 message.type != MU_LOCAL_GONE)
            return operator_unexpected(link, &message);
    }
    return false;
}

bool rig_ask(struct rig *rig, mu_slot node, struct rig_counts *counts, char why[MACHINE_TEXT_MAX])
{
    const struct operator_daemon daemon = {
        .machine = machine_id(rig->machine), .slot = node, .uid = geteuid()};
    struct operator_link link;
    *counts = (struct rig_counts){0};
    bool good = operator_open(&link, &daemon) && hear_status(&link, counts);
    if (!good)
        snprintf(why, MACHINE_TEXT_MAX, "%s", link.why);
    operator_close(&link);
    return good;
}

/* A node that holds a lease is heard: its observer has acknowledged a heartbeat. */
bool rig_wait_heard(struct rig *rig)
{
    uint64_t end_ns = mu_now_ns() + HEARD_WAIT_MS * UINT64_C(1000000);
    char why[MACHINE_TEXT_MAX];
    for (mu_slot node = 0; node < rig->config.nodes && !rig->is_broken;) {
        struct rig_counts counts;
        if (!rig_ask(rig, node, &counts, why))
            rig_broke(rig, node, why);
        else if (counts.lease_ns > 0)
            node++;
        else if (mu_now_ns() > end_ns)
            rig_broke(rig, node, "is not heard by its observer after 30 s");
        else if (!rig_pass_ms(rig, HEARD_STEP_MS))
            return false;
    }
    return !rig->is_broken;
}

/* ---- beginning and end ---- */

static bool open_machine(struct rig *rig)
{
    char text[MACHINE_TEXT_MAX];
    const struct machine_config machine = {
        .loop = &rig->loop,
        .nodes = rig->config.nodes,
        .period_ns = rig->config.period_ns,
        .timeout_ns = rig->config.timeout_ns,
        .fanout = rig->config.fanout,
        .is_mute = rig->config.is_mute,
        .hooks = {.owner = rig, .failed = on_failed, .lost = on_lost},
    };
    rig->machine = machine_open(&machine, text);
    if (rig->machine == NULL)
        fprintf(stderr, "%s: %s\n", rig->config.command, text);
    return rig->machine != NULL && machine_wait_ready(rig->machine);
}

bool rig_open(struct rig *rig, const struct rig_config *config)
{
    *rig = (struct rig){.config = *config, .door = -1};
    signal(SIGPIPE, SIG_IGN); /* a daemon may be gone when we still talk to it */
    run_sweep_prepare();
    rig->has_loop = uv_loop_init(&rig->loop) == 0;
    if (!rig->has_loop) {
        fprintf(stderr, "%s: no memory or descriptors for a loop\n", config->command);
        return false;
    }
    uv_timer_init(&rig->loop, &rig->tick);
    take_signals(rig);
    return config->nodes == 0 || open_machine(rig);
}

static void close_machine(struct rig *rig)
{
    job_free(rig->job);
    /* Before their lifelines end: they need not say goodbye to each other. */
    for (mu_slot node = 0; node < rig->config.nodes; node++)
        machine_kill(rig->machine, node);
    machine_end(rig->machine, 0);
    machine_wait_gone(rig->machine);
    machine_free(rig->machine);
    rig->job = NULL;
    rig->machine = NULL;
}

static void close_loop(struct rig *rig)
{
    if (rig->door >= 0) {
        uv_close((uv_handle_t *)&rig->knock, NULL);
        close(rig->door);
    }
    for (int i = 0; i < RIG_SIGNALS; i++)
        uv_close((uv_handle_t *)&rig->signals[i], NULL);
    uv_close((uv_handle_t *)&rig->tick, NULL);
    uv_run(&rig->loop, UV_RUN_DEFAULT);
    int closed = uv_loop_close(&rig->loop);
    assert(closed == 0);
    (void)closed;
    rig->has_loop = false;
}

void rig_close(struct rig *rig)
{
    if (rig->page != NULL)
        rig->page->is_over = true;
    if (rig->machine != NULL)
        close_machine(rig);
    if (rig->has_loop)
        close_loop(rig);
    rig->page = NULL;
    run_sweep(SWEEP_MS);
}

int rig_end(const struct rig *rig, int code)
{
    if (rig->signal != 0)
        run_signals_die(rig->signal);
    return code;
}

bool rig_pass_ms(struct rig *rig, uint32_t ms)
{
    uv_update_time(&rig->loop);
    uv_timer_start(&rig->tick, on_tick, ms, 0);
    uv_run(&rig->loop, UV_RUN_DEFAULT);
    return !rig->is_broken && rig->signal == 0;
}

struct job *rig_start_job(struct rig *rig, uint32_t procs, const char *const *argv, uint8_t binding,
                          const struct job_hooks *hooks)
{
    char text[MACHINE_TEXT_MAX];
    const struct job_program program = {
        .count = rig->config.nodes * procs, .directory = "/", .argv = argv};
    const struct job_config config = {
        .machine = rig->machine,
        .program_count = 1,
        .programs = &program,
        .envp = (const char *const *)environ,
        .binding = binding,
        .hooks = *hooks,
    };
    struct job *job = job_start(&config, text);
    if (job == NULL)
        fprintf(stderr, "%s: %s\n", rig->config.command, text);
    return job;
}
