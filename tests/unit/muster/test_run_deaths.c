/* What the summary of 'muster run' says of a failure: who was to be told, and who was. */
#include "run/deaths.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* ---- a job by hand: one rank on each of four nodes ---- */

enum { NODES = 4 };
static bool lost[NODES];
static uv_loop_t loop;
static char summary[1024];

uint32_t machine_nodes(const struct machine *machine)
{
    (void)machine;
    return NODES;
}

const char *machine_name(const struct machine *machine, mu_slot node)
{
    static const char *const names[NODES] = {"node0", "node1", "node2", "node3"};
    (void)machine;
    return names[node];
}

uint32_t job_number(const struct job *job)
{
    (void)job;
    return 1;
}

uint32_t job_size(const struct job *job)
{
    (void)job;
    return NODES;
}

uint32_t job_node_count(const struct job *job)
{
    (void)job;
    return NODES;
}

uint32_t job_live_nodes(const struct job *job)
{
    uint32_t count = 0;
    (void)job;
    for (mu_slot node = 0; node < NODES; node++)
        count += !lost[node];
    return count;
}

bool job_hosts(const struct job *job, mu_slot node)
{
    (void)job;
    return !lost[node];
}

mu_slot job_node_of(const struct job *job, uint32_t rank)
{
    (void)job;
    return rank;
}

enum job_state job_state(const struct job *job, uint32_t rank)
{
    (void)job;
    return lost[rank] ? JOB_ENDED : JOB_RUNNING;
}

/* ---- what happens ---- */

static void on_settled(void *owner)
{
    (void)owner;
}

static struct run_deaths *begin(void)
{
    memset(lost, 0, sizeof lost);
    assert_int_equal(uv_loop_init(&loop), 0);
    struct run_deaths *deaths =
        run_deaths_open(&(struct run_deaths_config){.loop = &loop, .settled = on_settled});
    assert_non_null(deaths);
    return deaths;
}

static struct mu_evidence killed(uint32_t rank)
{
    return (struct mu_evidence){.verdict = MU_VERDICT_DEAD,
                                .cause = MU_CAUSE_EXIT,
                                .seen_by = rank,
                                .how = {.type = MU_EXIT_SIGNAL, .signal = 9}};
}

static void tell(struct run_deaths *deaths, mu_slot by, uint32_t rank, uint64_t age_ms)
{
    struct mu_evidence evidence = killed(rank);
    const struct job_told told = {
        .by = by, .rank = rank, .node = rank, .age_ns = age_ms * 1000000, .evidence = &evidence};
    run_deaths_told(deaths, &told, false);
}

static void lose(struct run_deaths *deaths, mu_slot node)
{
    lost[node] = true;
    run_deaths_node(deaths, node, "its connection was cut", true);
    run_deaths_node_silent(deaths);
}

static void add_lines(void *owner, const char *lines)
{
    (void)owner;
    strncat(summary, lines, sizeof summary - strlen(summary) - 1);
}

/* The sentence about who was told of the failure whose line begins so. */
static const char *said_of(struct run_deaths *deaths, const char *failure)
{
    summary[0] = '\0';
    run_deaths_summary(deaths, 0, add_lines, NULL);
    char *line = strstr(summary, failure);
    assert_non_null(line);
    line = strchr(line, '\n') + 1;
    *strchr(line, '\n') = '\0';
    return line + strspn(line, " ");
}

static void end(struct run_deaths *deaths)
{
    run_deaths_close(deaths);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* ---- tests ---- */

static void a_node_that_died_untold_is_counted(void **state)
{
    (void)state;
    struct run_deaths *deaths = begin();
    struct mu_evidence evidence = killed(0);
    run_deaths_process(deaths, 0, &evidence);
    tell(deaths, 1, 0, 1);
    lose(deaths, 3); /* before it has told anybody */
    tell(deaths, 2, 0, 2);
    assert_string_equal(said_of(deaths, "muster: process 0"),
                        "2 of 3 other nodes told their processes; the first after 1.00 ms, the "
                        "last (node 2) after 2.00 ms.");
    end(deaths);
}

static void nodes_that_died_later_do_not_change_what_was_said(void **state)
{
    (void)state;
    struct run_deaths *deaths = begin();
    struct mu_evidence evidence = killed(0);
    run_deaths_process(deaths, 0, &evidence);
    tell(deaths, 1, 0, 1);
    lose(deaths, 0); /* its own node does not count */
    lose(deaths, 2);
    lose(deaths, 3);
    assert_string_equal(said_of(deaths, "muster: process 0"),
                        "1 of 3 other nodes, 1, told its processes after 1.00 ms.");
    assert_string_equal(said_of(deaths, "muster: node 0"),
                        "None of 3 other nodes has said that it told its processes.");
    assert_string_equal(said_of(deaths, "muster: node 3"),
                        "None of 1 other node has said that it told its processes.");
    end(deaths);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_that_died_untold_is_counted),
        cmocka_unit_test(nodes_that_died_later_do_not_change_what_was_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
