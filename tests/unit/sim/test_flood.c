/* More deaths of processes than a daemon has room for, and a node that dies meanwhile. */
#include "core/base/graph.h"
#include "sim/node/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

enum { NODES = 8, DEATHS = 9000, DIES = 3 };

#define US UINT64_C(1000)
#define MS (1000 * US)

static struct sim_fault faults[DEATHS + 1];
static struct sim_plan plan;

/* A job of 9,000 processes over all nodes, all of which die within 50 ms; after 20 of them a node
 * dies, too.  The capacities are a daemon's. */
static void plan_flood(void)
{
    memset(&plan, 0, sizeof plan);
    plan.seed = 1;
    plan.faults = faults;
    plan.fault_count = DEATHS + 1;
    plan.links_up = plan.flood = true;
    plan.told_max = 1;
    plan.tell_ns_min = plan.tell_ns_max = 100 * US;
    plan.net =
        (struct sim_net_plan){.tracked = true, .delay_ns_min = 20 * US, .jitter_ns_max = 20 * US};
    mu_config_default(&plan.config, NODES, 0);
    plan.config.retain_ns =
        2000 * MS; /* shorter than a daemon's: the time is virtual, the work not */
    plan.config.limits.payload_bytes = 16;
    plan.death_ns_max =
        (2 * mu_graph_bits(NODES) + 2) * 4 * 40 * US + 2 * plan.config.redundant_wait_ns;
    for (uint32_t i = 0; i < DEATHS; i++)
        faults[i] = (struct sim_fault){.type = SIM_FAULT_POST,
                                       .node = i % NODES,
                                       .at_ns = i * 50 * MS / DEATHS,
                                       .id = mu_notice_process(1, 1, i)};
    faults[DEATHS] = (struct sim_fault){.type = SIM_FAULT_CRASH,
                                        .node = DIES,
                                        .at_ns = 20 * MS,
                                        .after_effects = SIM_NOT_IN_UPDATE};
}

static const struct sim_told *told(const struct sim_world *world, struct mu_notice_id id)
{
    for (uint32_t i = 0; i < world->law.told_count; i++)
        if (mu_notice_compare(&world->law.told[i].id, &id) == 0)
            return &world->law.told[i];
    return NULL;
}

static uint32_t who_know(const struct sim_world *world, struct mu_notice_id id)
{
    const struct sim_told *of = told(world, id);
    uint32_t count = 0;
    for (mu_slot node = 0; of != NULL && node < NODES; node++)
        count += of->delivered[node] == 1;
    return count;
}

static void a_nodes_death_is_told_in_time_although_9000_processes_die(void **state)
{
    (void)state;
    struct sim_world world;
    plan_flood();
    sim_world_init(&world, &plan);
    sim_world_run(&world, NULL);
    assert_null(world.law.broken); /* S8 among others; all laws hold */
    assert_true(world.law.no_room > 0);
    assert_int_equal(who_know(&world, mu_notice_node(DIES, 1)), NODES - 1);
    for (uint32_t i = 0; i < DEATHS; i++) /* late, but not lost, and told once */
        if (i % NODES != DIES)
            assert_true(who_know(&world, mu_notice_process(1, 1, i)) >= NODES - 1);
    sim_world_free(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_nodes_death_is_told_in_time_although_9000_processes_die),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
