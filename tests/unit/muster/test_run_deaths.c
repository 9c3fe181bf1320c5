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

/* Who was notified, by the line of the summary that begins so. */
static const char *said_of(struct run_deaths *deaths, const char *failure)
{
    const struct run_tally tally = {.go_on = true, .failed = 1, .first_who = "rank 0"};
    summary[0] = '\0';
    run_deaths_summary(deaths, &tally, add_lines, NULL);
    char *line = strstr(summary, failure);
    assert_non_null(line);
    *strchr(line, '\n') = '\0';
    char *notified = strstr(line, " of ");
    assert_non_null(notified);
    return notified - 1;
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
    assert_string_equal(said_of(deaths, "  rank 0 on node 0"),
                        "2 of 3 other nodes notified in 1.00 to 2.00 ms");
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
    assert_string_equal(said_of(deaths, "  rank 0 on node 0"),
                        "1 of 3 other nodes notified in 1.00 ms");
    assert_string_equal(said_of(deaths, "  node 0 (node0)"),
                        "0 of 3 other nodes confirmed notification");
    assert_string_equal(said_of(deaths, "  node 3 (node3)"),
                        "0 of 1 other node confirmed notification");
    end(deaths);
}

static void ranks_that_failed_alike_are_one_line(void **state)
{
    (void)state;
    struct run_deaths *deaths = begin();
    const struct run_tally tally = {.seconds = 1.25,
                                    .exited = 1,
                                    .failed = 3,
                                    .go_on = true,
                                    .code = 137,
                                    .first_who = "rank 0"};
    for (uint32_t rank = 0; rank < 3; rank++) {
        struct mu_evidence evidence = killed(rank);
        run_deaths_process(deaths, rank, &evidence);
    }
    summary[0] = '\0';
    run_deaths_summary(deaths, &tally, add_lines, NULL);
    assert_string_equal(summary,
                        "muster: job 1 finished after 1.2 s: 1 rank exited with code 0, 3 failed\n"
                        "  3 ranks, first rank 0 on node 0   killed by SIGKILL\n"
                        "muster: exit code 137 is that of the first failure, rank 0\n");
    end(deaths);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_that_died_untold_is_counted),
        cmocka_unit_test(ranks_that_failed_alike_are_one_line),
        cmocka_unit_test(nodes_that_died_later_do_not_change_what_was_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
