/* Stories: what happens to a machine, and who must know in the end.  Every law is checked in each
 * (src/sim/node/law.c); a scenario adds what is special about it. */
#include "core/base/graph.h"
#include "sim/node/trace.h"
#include "sim/node/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

/* ---- telling a story ---- */

enum { MS = 1000 * 1000, US = 1000, FAULTS_MAX = 128, DETECTION_MS = 3 };

static struct sim_plan plan;
static struct sim_fault faults[FAULTS_MAX];
static struct sim_world world;

static struct {
    mu_slot node, dead;
    uint64_t at_ns;
} tells[FAULTS_MAX]; /* what a detector says, besides the oracle */
static uint32_t tell_count;

/* Messages take 20 to 40 us; a death is known to one survivor after DETECTION_MS. */
static void machine_of(uint32_t nodes)
{
    memset(&plan, 0, sizeof plan);
    memset(faults, 0, sizeof faults);
    tell_count = 0;
    plan.seed = 1;
    plan.faults = faults;
    mu_config_default(&plan.config, nodes, 0);
    plan.config.retain_ns = 1000ull * MS;
    plan.config.limits = (struct mu_limits){
        .links = nodes + mu_graph_edges(nodes),
        .dead = nodes,
        .seen = 64,
        .notices = (uint16_t)(2 * nodes * FAULTS_MAX),
        .payload_bytes = 16,
        .window = 4,
    };
    plan.net =
        (struct sim_net_plan){.tracked = true, .delay_ns_min = 20 * US, .jitter_ns_max = 20 * US};
    plan.links_up = true;
    plan.told_max = 1;
    plan.tell_ns_min = plan.tell_ns_max = DETECTION_MS * MS;
}

static struct sim_fault *at_ms(double ms, enum sim_fault_type type, mu_slot node)
{
    assert_true(plan.fault_count < FAULTS_MAX);
    struct sim_fault *fault = &faults[plan.fault_count++];
    *fault = (struct sim_fault){
        .type = type,
        .at_ns = (uint64_t)(ms * MS),
        .node = node,
        .after_effects = SIM_NOT_IN_UPDATE,
    };
    return fault;
}

static void kill_at_ms(mu_slot node, double ms)
{
    at_ms(ms, SIM_FAULT_CRASH, node);
}

/* It dies in the middle of its next update: only so many effects of it still happen. */
static void kill_inside_update_at_ms(mu_slot node, double ms, uint32_t effects)
{
    at_ms(ms, SIM_FAULT_CRASH, node)->after_effects = effects;
}

static void post_at_ms(mu_slot node, double ms)
{
    at_ms(ms, SIM_FAULT_POST, node)->id.kind = MU_NOTICE_PAYLOAD;
}

static void process_dies_at_ms(mu_slot node, uint32_t rank, double ms)
{
    at_ms(ms, SIM_FAULT_POST, node)->id = mu_notice_process(1, 1, rank);
}

static void stop_at_ms(mu_slot node, double ms, double for_ms)
{
    at_ms(ms, SIM_FAULT_STOP, node)->for_ns = (uint64_t)(for_ms * MS);
}

/* Slots below 'below' cannot reach the others. */
static void split_at_ms(mu_slot below, double ms, double for_ms)
{
    at_ms(ms, SIM_FAULT_SPLIT, below)->for_ns = (uint64_t)(for_ms * MS);
}

static void reset_at_ms(mu_slot a, mu_slot b, double ms)
{
    at_ms(ms, SIM_FAULT_RESET, a)->peer = b;
}

static void tell_at_ms(mu_slot node, mu_slot dead, double ms)
{
    assert_true(tell_count < FAULTS_MAX);
    tells[tell_count].node = node;
    tells[tell_count].dead = dead;
    tells[tell_count++].at_ns = (uint64_t)(ms * MS);
}

static void run(void)
{
    assert_null(mu_config_error(&plan.config));
    sim_world_init(&world, &plan);
    for (uint32_t i = 0; i < tell_count; i++)
        sim_world_push(&world, tells[i].at_ns, SIM_TELL, tells[i].node, tells[i].dead, 1);
    sim_world_run(&world, NULL);
}

static void the_end(void)
{
    sim_world_free(&world);
}

/* ---- looking at how it ended ---- */

static void expect_laws(void)
{
    if (world.law.broken != NULL)
        fail_msg("%s is broken at step %llu: %s", world.law.broken,
                 (unsigned long long)world.law.broken_step, world.law.message);
}

/* "0-2,5-7" */
static void expect_survivors(const char *expected)
{
    char text[256] = "";
    size_t used = 0;
    for (mu_slot first = 0; first < world.size; first++) {
        if (!sim_world_alive(&world, first))
            continue;
        mu_slot last = first;
        while (last + 1 < world.size && sim_world_alive(&world, last + 1))
            last++;
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%u", used > 0 ? "," : "", first);
        if (last > first)
            used += (size_t)snprintf(text + used, sizeof text - used, "-%u", last);
        assert_true(used < sizeof text);
        first = last;
    }
    assert_string_equal(text, expected);
}

static uint32_t told(mu_slot node, struct mu_notice_id id)
{
    for (uint32_t i = 0; i < world.law.told_count; i++)
        if (mu_notice_compare(&world.law.told[i].id, &id) == 0)
            return world.law.told[i].delivered[node];
    return 0;
}

/* Every survivor was told, once. */
static void expect_all_told(struct mu_notice_id id)
{
    char what[64];
    for (mu_slot node = 0; node < world.size; node++)
        if (sim_world_alive(&world, node) && told(node, id) != 1)
            fail_msg("node %u was told '%s' %u times", node, sim_trace_notice(what, &id),
                     told(node, id));
}

static void expect_all_know_dead(mu_slot first, mu_slot last)
{
    for (mu_slot slot = first; slot <= last; slot++)
        expect_all_told(mu_notice_node(slot, 1));
}

static void expect_all_have_post(mu_slot origin, uint64_t number)
{
    expect_all_told(mu_notice_payload(origin, 1, number));
}

/* ---- one story after the other ---- */

static void nothing_happens_and_nothing_is_said(void **state)
{
    (void)state;
    machine_of(16);
    run();
    expect_laws();
    expect_survivors("0-15");
    assert_int_equal(world.law.told_count, 0);
    the_end();
}

static void a_process_dies_and_everybody_is_told(void **state)
{
    (void)state;
    machine_of(16);
    process_dies_at_ms(6, 42, 1);
    run();
    expect_laws();
    expect_all_told(mu_notice_process(1, 1, 42));
    the_end();
}

/* The death of node 3 is seen by node 4 on the ring; but node 4 is dead when it happens. */
static void a_node_dies_whose_observer_is_already_dead(void **state)
{
    (void)state;
    machine_of(8);
    kill_at_ms(4, 10);
    kill_at_ms(3, 11);
    run();
    expect_laws();
    expect_survivors("0-2,5-7");
    expect_all_know_dead(3, 4);
    the_end();
}

/* Nobody hears of node 5's news at first: all who were sent it are dead before it arrives. */
static void all_neighbours_of_one_node_die_while_it_posts(void **state)
{
    (void)state;
    machine_of(32);
    for (uint32_t e = 0; e < mu_graph_edges(32); e++)
        if (mu_graph_edge_to(32, 5, mu_graph_target(32, 5, e)) == e)
            kill_at_ms(mu_graph_target(32, 5, e), 1.001);
    post_at_ms(5, 1);
    run();
    expect_laws();
    expect_survivors("0,2,5,8,10-12,14-20,22-28,30-31");
    expect_all_have_post(5, 1);
    expect_all_know_dead(29, 29);
    expect_all_know_dead(3, 4);
    the_end();
}

/* However much of it gets out: if one survivor is told, all are. */
static void a_node_dies_in_the_middle_of_telling(void **state)
{
    (void)state;
    uint32_t some = 0, none = 0;
    for (uint32_t effects = 0; effects <= 8; effects++) {
        machine_of(16);
        kill_inside_update_at_ms(7, 1, effects);
        post_at_ms(7, 1);
        run();
        expect_laws();
        expect_survivors("0-6,8-15");
        expect_all_know_dead(7, 7);
        if (told(0, mu_notice_payload(7, 1, 1)) == 1) {
            expect_all_have_post(7, 1);
            some++;
        } else {
            none++;
        }
        the_end();
    }
    assert_int_equal(none, 1); /* only when nothing went out at all */
    assert_int_equal(some, 8);
}

static void a_partition_heals_and_both_sides_hear(void **state)
{
    (void)state;
    machine_of(16);
    split_at_ms(8, 1, 5);
    post_at_ms(2, 2.5);
    post_at_ms(13, 2.5);
    run();
    expect_laws();
    expect_all_have_post(2, 1);
    expect_all_have_post(13, 1);
    assert_true(world.law.last_heard_ns >= 6 * MS); /* not before the split was over */
    the_end();
}

static void a_node_dies_on_either_side_of_a_partition(void **state)
{
    (void)state;
    machine_of(16);
    split_at_ms(8, 1, 20);
    kill_at_ms(3, 2);
    kill_at_ms(12, 2);
    post_at_ms(4, 10);
    run();
    expect_laws();
    expect_survivors("0-2,4-11,13-15");
    expect_all_know_dead(3, 3);
    expect_all_know_dead(12, 12);
    expect_all_have_post(4, 1);
    the_end();
}

static void a_stopped_node_hears_everything_once_it_wakes(void **state)
{
    (void)state;
    machine_of(8);
    stop_at_ms(3, 1, 5);
    for (mu_slot node = 0; node < 8; node++)
        if (node != 3)
            post_at_ms(node, 2);
    kill_at_ms(6, 2.5);
    run();
    expect_laws();
    for (mu_slot node = 0; node < 8; node++)
        if (node != 3)
            expect_all_have_post(node, 1);
    expect_all_know_dead(6, 6);
    assert_true(world.law.last_heard_ns >= 6 * MS);
    the_end();
}

/* Found by seed 997: what waited for the first stop was overtaken by what waited for the second. */
static void a_node_that_is_stopped_again_as_it_wakes_hears_everything_in_order(void **state)
{
    (void)state;
    machine_of(8);
    stop_at_ms(3, 1, 2);
    stop_at_ms(3, 1.5, 2);
    stop_at_ms(3, 3.0006, 2);
    for (int i = 0; i < 40; i++)
        post_at_ms(2, 1.2 + 0.1 * i);
    run();
    expect_laws();
    for (uint64_t i = 1; i <= 40; i++)
        expect_all_have_post(2, i);
    the_end();
}

static void half_of_the_machine_dies_side_by_side(void **state)
{
    (void)state;
    machine_of(64);
    for (mu_slot node = 16; node < 48; node++)
        kill_at_ms(node, 1);
    post_at_ms(0, 1);
    post_at_ms(50, 2);
    run();
    expect_laws();
    expect_survivors("0-15,48-63");
    expect_all_know_dead(16, 47);
    expect_all_have_post(0, 1);
    expect_all_have_post(50, 1);
    the_end();
}

static void every_other_node_dies_one_after_the_other(void **state)
{
    (void)state;
    machine_of(32);
    for (mu_slot node = 0; node < 32; node += 2)
        kill_at_ms(node, 1 + 0.1 * node);
    for (mu_slot node = 1; node < 32; node += 2)
        post_at_ms(node, 1 + 0.1 * node);
    run();
    expect_laws();
    for (mu_slot node = 0; node < 32; node += 2) {
        expect_all_know_dead(node, node);
        expect_all_have_post(node + 1, 1);
    }
    the_end();
}

static void all_but_one_die_and_that_one_knows_of_all(void **state)
{
    (void)state;
    machine_of(16);
    for (mu_slot node = 0; node < 16; node++)
        if (node != 9)
            kill_at_ms(node, 1 + 0.3 * node);
    run();
    expect_laws();
    expect_survivors("9");
    expect_all_know_dead(0, 8);
    expect_all_know_dead(10, 15);
    the_end();
}

/* Found by seed 1274: all edges of either lead to the dead that only the other one knows of. */
static void two_survivors_cut_off_from_each_other_find_each_other(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) { /* whoever the oracle happens to tell */
        machine_of(6);
        plan.seed = seed;
        plan.tell_ns_min = plan.tell_ns_max = 200ull * MS;
        for (mu_slot node = 1; node < 6; node++)
            if (node != 3)
                kill_at_ms(node, 1);
        tell_at_ms(0, 1, 2);
        tell_at_ms(0, 5, 2);
        tell_at_ms(3, 2, 2);
        tell_at_ms(3, 4, 2);
        post_at_ms(0, 10);
        post_at_ms(3, 10);
        run();
        expect_laws();
        expect_survivors("0,3");
        expect_all_know_dead(1, 2);
        expect_all_know_dead(4, 5);
        expect_all_have_post(0, 1);
        expect_all_have_post(3, 1);
        assert_true(world.law.last_heard_ns >= 200ull * MS); /* they could not before */
        the_end();
    }
}

/* Every neighbour sees its connection close, and each of them reports. */
static void a_death_that_all_neighbours_see_is_told_once(void **state)
{
    (void)state;
    machine_of(64);
    plan.neighbours_see_ns = 20 * US;
    plan.root_at_dead = true;
    kill_at_ms(20, 1);
    run();
    expect_laws();
    expect_all_know_dead(20, 20);
    assert_true(world.law.last_heard_ns < 2 * MS); /* nobody had to wait for a redundant edge */
    the_end();
}

static void connections_break_again_and_again_while_everybody_talks(void **state)
{
    (void)state;
    machine_of(8);
    plan.config.limits.window = 1; /* and links are always full */
    for (int i = 0; i < 60; i++)
        reset_at_ms((mu_slot)(i % 8), (mu_slot)((i + 1 + i / 8 % 2) % 8), 1 + 0.05 * i);
    for (int i = 0; i < 60; i++)
        post_at_ms((mu_slot)(i * 3 % 8), 1 + 0.05 * i);
    run();
    expect_laws();
    for (mu_slot node = 0; node < 8; node++)
        for (uint64_t i = 1; i <= 7; i++)
            expect_all_have_post(node, i);
    the_end();
}

static void a_machine_connects_while_it_is_already_in_use(void **state)
{
    (void)state;
    machine_of(16);
    plan.links_up = false;
    post_at_ms(1, 0);
    kill_at_ms(9, 0.01);
    run();
    expect_laws();
    expect_all_have_post(1, 1);
    expect_all_know_dead(9, 9);
    the_end();
}

/* The checkers look: the same story with a rule broken does not end well. */
static void a_partition_does_not_heal_when_links_forget(void **state)
{
    (void)state;
    machine_of(16);
    plan.config.broken_rules = MU_BROKEN_LINK_FORGETS;
    split_at_ms(8, 1, 5);
    post_at_ms(2, 2.5);
    post_at_ms(13, 2.5);
    run();
    assert_non_null(world.law.broken);
    the_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_happens_and_nothing_is_said),
        cmocka_unit_test(a_process_dies_and_everybody_is_told),
        cmocka_unit_test(a_node_dies_whose_observer_is_already_dead),
        cmocka_unit_test(all_neighbours_of_one_node_die_while_it_posts),
        cmocka_unit_test(a_node_dies_in_the_middle_of_telling),
        cmocka_unit_test(a_partition_heals_and_both_sides_hear),
        cmocka_unit_test(a_node_dies_on_either_side_of_a_partition),
        cmocka_unit_test(a_stopped_node_hears_everything_once_it_wakes),
        cmocka_unit_test(a_node_that_is_stopped_again_as_it_wakes_hears_everything_in_order),
        cmocka_unit_test(half_of_the_machine_dies_side_by_side),
        cmocka_unit_test(every_other_node_dies_one_after_the_other),
        cmocka_unit_test(all_but_one_die_and_that_one_knows_of_all),
        cmocka_unit_test(two_survivors_cut_off_from_each_other_find_each_other),
        cmocka_unit_test(a_death_that_all_neighbours_see_is_told_once),
        cmocka_unit_test(connections_break_again_and_again_while_everybody_talks),
        cmocka_unit_test(a_machine_connects_while_it_is_already_in_use),
        cmocka_unit_test(a_partition_does_not_heal_when_links_forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
