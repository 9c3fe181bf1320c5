#include "sim/central/run.h"

#include "sim/base/wall.h"
#include "sim/central/world.h"

#include <string.h>

enum { ACK_TRIPS = 20 /* the paper's tack_timeout, in round trips */ };

/* ---- as printed ---- */

/* One host after the other is waited for, all having been asked at once.  The clock of the loop is
 * where the last wait has ended; an answer that came before costs no time, but is subtracted all
 * the same: 'treply' is the response time. */
static uint64_t printed_cycle(const struct sim_run_central *run, struct sim_random *random,
                              uint64_t *timeout_ns)
{
    uint64_t clock_ns = 0, accused = 0, low_ns = run->trip_ns / 10;
    for (uint32_t host = 1; host < run->nodes; host++) {
        uint64_t reply_ns = sim_random_between(random, low_ns, 9 * low_ns) +
                            sim_random_between(random, low_ns, 9 * low_ns);
        if (reply_ns > clock_ns + *timeout_ns) {
            accused++;
            clock_ns += *timeout_ns;
            *timeout_ns = 0;
            continue;
        }
        clock_ns = reply_ns > clock_ns ? reply_ns : clock_ns;
        *timeout_ns = reply_ns < *timeout_ns ? *timeout_ns - reply_ns : 0;
    }
    return accused;
}

/* Whoever was removed is back in the next cycle: its answer comes late, and brings it back. */
static void run_printed(const struct sim_run_central *run, struct sim_run_central_result *result)
{
    struct sim_random random, again;
    sim_random_init(&random, run->seed);
    sim_random_init(&again, run->seed);
    uint64_t timeout_ns = ACK_TRIPS * run->trip_ns;
    for (uint64_t cycle = 1; cycle <= run->cycles; cycle++) {
        uint64_t restored_ns = ACK_TRIPS * run->trip_ns;
        result->accused += printed_cycle(run, &random, &timeout_ns);
        result->accused_restored += printed_cycle(run, &again, &restored_ns);
        if (timeout_ns == 0 && result->exhausted_cycle == 0)
            result->exhausted_cycle = cycle;
    }
}

/* ---- ours: the shipping core ---- */

static void run_ours(const struct sim_run_central *run, struct sim_run_central_result *result)
{
    struct central_plan plan = {.seed = run->seed, .end_ns = run->cycles * run->cycle_ns};
    struct central_world world;
    mu_central_config_default(&plan.config, run->nodes, 0);
    plan.config.cycle_ns = run->cycle_ns;
    plan.config.floor_ns = run->cycle_ns / 5 * 4;
    plan.delay_ns_min = run->trip_ns / 10;
    plan.delay_ns_max = run->trip_ns / 10 * 9;
    plan.inbox_max = UINT32_MAX;
    plan.tell_ns_max = plan.view_ns_max = plan.back_ns_max = plan.start_ns_max = run->cycle_ns;
    plan.quiet_ns = MU_NEVER;
    central_world_init(&world, &plan);
    central_world_run(&world);
    result->accused = world.wrong;
    result->events = world.events;
    central_world_free(&world);
}

void sim_run_central(const struct sim_run_central *run, struct sim_run_central_result *result)
{
    double start_s = sim_wall_s();
    memset(result, 0, sizeof *result);
    if (run->printed)
        run_printed(run, result);
    else
        run_ours(run, result);
    result->wall_s = sim_wall_s() - start_s;
}
