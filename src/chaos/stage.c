#define _GNU_SOURCE /* sigtimedwait() */
#include "chaos/stage.h"

#include "launch/signals.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
    return operator_find(command, &(struct operator_choice){.prefix = prefix}, &stage->found);
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

static bool open_rig(struct chaos_stage *stage, const struct chaos_stage_config *config)
{
    const struct rig_config rig = {.command = config->command,
                                   .nodes = config->nodes,
                                   .period_ns = config->period_ns,
                                   .timeout_ns = config->timeout_ns,
                                   .may_lose = true}; /* that is what it is for */
    stage->page = rig_prepare_clients(config->command, config->nodes, config->procs,
                                      rig_count_bytes(config->nodes, config->procs));
    return stage->page != NULL && rig_open(&stage->rig, &rig) &&
           rig_start_clients(&stage->rig, stage->page, config->role, MU_LAUNCH_PART) &&
           rig_wait_ready(&stage->rig);
}

bool chaos_stage_open(struct chaos_stage *stage, const struct chaos_stage_config *config)
{
    *stage = (struct chaos_stage){.is_own = true};
    stage->found.daemons = calloc(config->nodes, sizeof *stage->found.daemons);
    if (stage->found.daemons == NULL)
        abort();
    bool good = open_rig(stage, config);
    stage->signal = stage->rig.signal;
    for (mu_slot slot = 0; good && slot < config->nodes; slot++)
        stage->found.daemons[stage->found.count++] =
            (struct operator_daemon){machine_id(stage->rig.machine), slot, geteuid()};
    return good;
}

/* ---- both ---- */

bool chaos_stage_pass_ms(struct chaos_stage *stage, uint32_t ms)
{
    if (!stage->is_own)
        return sleep_ms(stage, ms);
    bool good = rig_pass_ms(&stage->rig, ms);
    stage->signal = stage->rig.signal;
    return good;
}

void chaos_stage_close(struct chaos_stage *stage)
{
    if (stage->is_own) {
        rig_close(&stage->rig);
        rig_page_free(stage->page);
    }
    operator_free(&stage->found);
}

int chaos_stage_end(const struct chaos_stage *stage, int code)
{
    if (stage->signal != 0)
        run_signals_die(stage->signal);
    return code;
}
