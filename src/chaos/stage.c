#define _GNU_SOURCE /* sigtimedwait() */
#include "chaos/stage.h"

#include "launch/signals.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern char **environ;

/* ---- a machine that is there ---- */

static void end_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
}

bool chaos_stage_find(struct chaos_stage *stage, const struct command *command, const char *prefix)
{
    sigset_t set;
    *stage = (struct chaos_stage){0};
    end_signals(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return operator_find(command, prefix, &stage->found);
}

static bool sleep_ms(struct chaos_stage *stage, uint32_t ms)
{
    sigset_t set;
    struct timespec span = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    end_signals(&set);
    int number = sigtimedwait(&set, NULL, &span);
    if (number > 0)
        stage->signal = number;
    return stage->signal == 0;
}

/* ---- one of our own ---- */

/* That is what it is for. */
static void on_lost(void *owner, mu_slot node, const char *text)
{
    (void)owner, (void)node, (void)text;
}

static void on_refused(void *owner, mu_slot node, const char *text)
{
    struct chaos_stage *stage = owner;
    rig_broke(&stage->ring, node, text);
}

static void on_ended(void *owner, uint32_t rank, const struct mu_evidence *evidence)
{
    struct chaos_stage *stage = owner;
    char text[MU_EVIDENCE_TEXT_MAX];
    if (evidence->how.type == MU_EXIT_NOT_STARTED)
        rig_broke(&stage->ring, job_node_of(stage->job, rank),
                  mu_evidence_text(evidence, text, sizeof text));
}

static bool start_processes(struct chaos_stage *stage, const struct chaos_stage_config *config)
{
    char text[MACHINE_TEXT_MAX];
    const struct job_program program = {
        .count = config->nodes * config->procs, .directory = "/", .argv = config->argv};
    const struct job_config job = {
        .machine = stage->ring.machine,
        .program_count = 1,
        .programs = &program,
        .envp = (const char *const *)environ,
        .binding = MU_LAUNCH_PART,
        .one_host = true,
        .hooks = {.owner = stage, .ended = on_ended, .refused = on_refused},
    };
    stage->job = job_start(&job, text);
    if (stage->job == NULL)
        fprintf(stderr, "%s: %s\n", config->command, text);
    return stage->job != NULL;
}

static bool all_started(const struct chaos_stage *stage)
{
    for (uint32_t rank = 0; rank < job_size(stage->job); rank++)
        if (job_state(stage->job, rank) == JOB_WAITING)
            return false;
    return true;
}

bool chaos_stage_open(struct chaos_stage *stage, const struct chaos_stage_config *config)
{
    *stage = (struct chaos_stage){.is_own = true};
    const struct rig_config ring = {.command = config->command,
                                    .nodes = config->nodes,
                                    .period_ns = config->period_ns,
                                    .timeout_ns = config->timeout_ns,
                                    .lost = on_lost,
                                    .owner = stage};
    stage->found.daemons = calloc(config->nodes, sizeof *stage->found.daemons);
    if (stage->found.daemons == NULL)
        abort();
    bool good = rig_open(&stage->ring, &ring) && start_processes(stage, config);
    while (good && !all_started(stage))
        good = chaos_stage_pass_ms(stage, 1);
    stage->signal = stage->ring.signal;
    for (mu_slot slot = 0; good && slot < config->nodes; slot++)
        stage->found.daemons[stage->found.count++] =
            (struct operator_daemon){machine_id(stage->ring.machine), slot};
    return good;
}

/* ---- both ---- */

bool chaos_stage_pass_ms(struct chaos_stage *stage, uint32_t ms)
{
    if (!stage->is_own)
        return sleep_ms(stage, ms);
    bool good = rig_pass_ms(&stage->ring, ms);
    stage->signal = stage->ring.signal;
    return good;
}

void chaos_stage_close(struct chaos_stage *stage)
{
    if (stage->is_own) {
        job_free(stage->job);
        stage->job = NULL;
        rig_close(&stage->ring);
    }
    operator_free(&stage->found);
}

int chaos_stage_end(const struct chaos_stage *stage, int code)
{
    if (stage->signal != 0)
        run_signals_die(stage->signal);
    return code;
}
