/* What 'muster bench nodefail' and 'muster bench accuracy' count with: who fails, what a reader
 * makes of what it is told, windows in which the host stood still, which repetitions count, and the
 * guard of what is stopped. */
#include "rig/watch.h"
#include "bench/nodefail/tally.h"
#include "rig/rig.h"
#include "rig/role.h"
#include "rig/stall.h"
#include "rig/guard.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
/* after those above */
#include <cmocka.h>

/* ---- who fails ---- */

enum { NODES = 16, DRAWS = 4000 };

static void any_nodes_rise_and_have_the_same_chance(void **state)
{
    (void)state;
    struct sim_random random;
    uint32_t drawn[NODES] = {0};
    sim_random_init(&random, 1);
    for (uint32_t i = 0; i < DRAWS; i++) {
        mu_slot victims[NODES];
        uint32_t count = 1 + i % NODES;
        nodefail_draw(&random, NODES, count, false, victims);
        for (uint32_t k = 0; k < count; k++) {
            assert_true(victims[k] < NODES && (k == 0 || victims[k] > victims[k - 1]));
            drawn[victims[k]]++;
        }
    }
    /* Each is drawn in (1 + 2 + ... + 16) / 16 of 16 draws: 8.5 of 16. */
    for (uint32_t i = 0; i < NODES; i++)
        assert_in_range(drawn[i], DRAWS * 85 / 160 - DRAWS / 20, DRAWS * 85 / 160 + DRAWS / 20);
}

static void contiguous_nodes_follow_each_other_around_the_ring(void **state)
{
    (void)state;
    struct sim_random random;
    bool began[NODES] = {false};
    sim_random_init(&random, 2);
    for (uint32_t i = 0; i < DRAWS; i++) {
        mu_slot victims[NODES];
        uint32_t count = 1 + i % NODES;
        nodefail_draw(&random, NODES, count, true, victims);
        began[victims[0]] = true;
        for (uint32_t k = 1; k < count; k++)
            assert_int_equal(victims[k], (victims[k - 1] + 1) % NODES);
    }
    for (uint32_t i = 0; i < NODES; i++)
        assert_true(began[i]);
}

/* ---- what a reader makes of it ---- */

/* Three nodes with two processes each; node 1 fails, with ranks 2 and 3.  A client of rank 0. */
static struct rig_page *page;
static struct client client;

static int open_world(void **state)
{
    (void)state;
    page = rig_page_make(3, 2, rig_count_bytes(3, 2));
    if (page == NULL)
        return -1;
    page->count.is_victim[1] = true;
    page->count.expected = 3;
    client = (struct client){.page = page, .slot = &page->slots[0]};
    return 0;
}

static int close_world(void **state)
{
    (void)state;
    rig_page_free(page);
    return 0;
}

static void hear_node(uint32_t node, bool is_state, uint64_t now_ns)
{
    struct muster_event event = {.type = MUSTER_EVENT_NODE,
                                 .verdict = MUSTER_SILENT,
                                 .node = node,
                                 .is_state = is_state,
                                 .age_ns = 40};
    role_count_note(&client, &event, now_ns);
}

static void hear_rank(uint32_t rank, bool is_state, uint64_t now_ns)
{
    struct muster_event event = {.type = MUSTER_EVENT_PROCESS,
                                 .verdict = MUSTER_DEAD,
                                 .rank = rank,
                                 .node = rank / 2,
                                 .is_state = is_state};
    role_count_note(&client, &event, now_ns);
}

static void a_node_then_its_processes(void **state)
{
    (void)state;
    hear_node(1, false, 100);
    hear_rank(3, false, 110);
    assert_int_equal(page->count.done, 0);
    hear_rank(2, false, 120);
    assert_int_equal(page->count.done, 1);
    assert_int_equal(page->slots[0].told, 3);
    assert_int_equal(page->slots[0].last_ns, 120);
    assert_int_equal(page->slots[0].wrong + page->slots[0].unexpected, 0);
    assert_int_equal(page->count.seen_ns[1], 60);
    assert_int_equal(*rig_page_node(page, 0, 1), 1);
    assert_int_equal(*rig_page_process(page, 0, 3), 1);
    assert_int_equal(*rig_page_process(page, 0, 4), 0);
}

static void whoever_saw_it_first_counts(void **state)
{
    (void)state;
    struct client other = {.page = page, .slot = &page->slots[1], .rank = 1};
    struct client third = {.page = page, .slot = &page->slots[4], .rank = 4};
    struct muster_event event = {.type = MUSTER_EVENT_NODE, .node = 1, .age_ns = 70};
    hear_node(1, false, 100);
    role_count_note(&other, &event, 120);
    assert_int_equal(page->count.seen_ns[1], 50);
    event.age_ns = 10;
    role_count_note(&third, &event, 130);
    assert_int_equal(page->count.seen_ns[1], 50);
}

static void other_things_are_not_expected(void **state)
{
    (void)state;
    const struct rig_slot *slot = &page->slots[0];
    hear_node(2, false, 100); /* lives */
    assert_int_equal(slot->unexpected, 1);
    hear_rank(4, false, 100); /* lives */
    assert_int_equal(slot->unexpected, 2);
    hear_rank(2, false, 100); /* before its node */
    assert_int_equal(slot->unexpected, 3);
    hear_node(1, false, 101);
    hear_node(1, false, 102); /* again */
    assert_int_equal(slot->unexpected, 4);
    hear_rank(2, false, 103); /* again */
    assert_int_equal(slot->unexpected, 5);
    assert_int_equal(*rig_page_process(page, 0, 2), 2);
    hear_rank(6, false, 104); /* nobody */
    hear_node(3, false, 104); /* nobody */
    assert_int_equal(slot->wrong, 2);
    assert_int_equal(slot->last_ns, 101);
    assert_int_equal(page->count.done, 0);
}

/* Of a process that ended well nobody is told; and each runs where it was started. */
static void what_cannot_be_is_wrong(void **state)
{
    (void)state;
    struct muster_event left = {
        .type = MUSTER_EVENT_PROCESS, .verdict = MUSTER_LEFT, .rank = 2, .node = 1};
    struct muster_event elsewhere = {
        .type = MUSTER_EVENT_PROCESS, .verdict = MUSTER_DEAD, .rank = 2, .node = 2};
    role_count_note(&client, &left, 100);
    role_count_note(&client, &elsewhere, 100);
    assert_int_equal(page->slots[0].wrong, 2);
    assert_int_equal(page->slots[0].told, 0);
}

static void state_may_repeat_and_comes_in_any_order(void **state)
{
    (void)state;
    const struct rig_slot *slot = &page->slots[0];
    hear_rank(3, true, 99);
    hear_node(1, false, 100);
    hear_rank(2, false, 101);
    hear_rank(2, true, 102);
    hear_node(1, true, 104);
    assert_int_equal(slot->wrong + slot->unexpected, 0);
    assert_int_equal(page->count.done, 1);
    assert_int_equal(*rig_page_process(page, 0, 2), 1);
    hear_node(0, true, 105); /* lives, all the same */
    assert_int_equal(slot->unexpected, 1);
}

static void when_it_is_over_nothing_counts(void **state)
{
    (void)state;
    page->is_over = true;
    hear_node(2, false, 100);
    hear_node(1, false, 100);
    assert_int_equal(page->slots[0].unexpected + page->slots[0].told, 0);
}

/* ---- when the host stood still ---- */

enum { WINDOWS = 4, WIDTH_NS = 1000 * 1000 };

static _Atomic uint64_t longest_ns[WINDOWS];

static struct stall_windows new_windows(void)
{
    for (int i = 0; i < WINDOWS; i++)
        longest_ns[i] = 0;
    return (struct stall_windows){.start_ns = 5 * WIDTH_NS,
                                  .width_ns = WIDTH_NS,
                                  .limit_ns = 1000,
                                  .count = WINDOWS,
                                  .longest_ns = longest_ns};
}

static void only_a_long_stall_spoils_a_window(void **state)
{
    (void)state;
    struct stall_windows windows = new_windows();
    stall_note(&windows, windows.start_ns + 10, 1000);
    assert_int_equal(stall_spoilt(&windows, 0, WINDOWS), 0);
    stall_note(&windows, windows.start_ns + 2 * WIDTH_NS, 1001);
    stall_note(&windows, windows.start_ns + 2 * WIDTH_NS + 9000, 50);
    assert_int_equal(stall_spoilt(&windows, 0, 2), 0);
    assert_int_equal(stall_spoilt(&windows, 0, 3), 1);
    assert_int_equal(stall_spoilt(&windows, 2, 9), 1);
    assert_int_equal(stall_spoilt(&windows, 3, 1), 0);
    assert_int_equal(stall_longest_ns(&windows), 1001);
}

static void stalls_near_each_other_add_up(void **state)
{
    (void)state;
    struct stall_recent recent = {.count = 0};
    assert_int_equal(stall_add(&recent, 100, 1000, 50), 50);
    assert_int_equal(stall_add(&recent, 100, 1150, 20), 70); /* 100 after the first had ended */
    assert_int_equal(stall_add(&recent, 100, 1200, 7), 27);  /* the first is too long ago */
    assert_int_equal(stall_add(&recent, 0, 1300, 3), 3);
    for (uint64_t i = 0; i < 3 * STALL_RECENT_MAX; i++)
        stall_add(&recent, 1000000, 2000 + 10 * i, 1);
    assert_int_equal(stall_add(&recent, 1000000, 9000, 1), STALL_RECENT_MAX);
}

static void a_stall_counts_in_each_window_that_it_touches(void **state)
{
    (void)state;
    struct stall_windows windows = new_windows();
    stall_note(&windows, windows.start_ns + WIDTH_NS - 600, 2000);
    assert_int_equal(longest_ns[0], 2000);
    assert_int_equal(longest_ns[1], 2000);
    assert_int_equal(longest_ns[2], 0);
    stall_note(&windows, windows.start_ns - 5000, 6000); /* from before the beginning */
    assert_int_equal(longest_ns[0], 6000);
    stall_note(&windows, windows.start_ns - 5000, 4000); /* before it altogether */
    stall_note(&windows, windows.start_ns + WINDOWS * WIDTH_NS + 1, 9000); /* behind */
    assert_int_equal(stall_longest_ns(&windows), 6000);
}

static void a_span_is_excused_by_a_spoilt_window_that_it_touches(void **state)
{
    (void)state;
    struct stall_windows windows = new_windows();
    uint64_t second_ns = windows.start_ns + WIDTH_NS;
    stall_note(&windows, second_ns + 100, 1500);
    assert_false(stall_between(&windows, windows.start_ns, second_ns - 1));
    assert_true(stall_between(&windows, windows.start_ns, second_ns));
    assert_true(stall_between(&windows, second_ns + 7, second_ns + 8));
    assert_true(stall_between(&windows, 0, windows.start_ns + 3 * WIDTH_NS));
    assert_false(stall_between(&windows, second_ns + WIDTH_NS, UINT64_MAX));
    assert_false(stall_between(&windows, 0, windows.start_ns - 1));
}

static void a_verdict_is_excused_by_a_stall_while_nothing_was_heard(void **state)
{
    (void)state;
    struct stall_windows windows = new_windows();
    uint64_t third_ns = windows.start_ns + 2 * WIDTH_NS;
    struct verdict verdict = {.seen_ns = third_ns + WIDTH_NS + 500};
    stall_note(&windows, third_ns, 400);
    /* 300 ns of silence and the period before that do not reach back so far; 450 and it do. */
    verdict.evidence.ring.silent_ns = 300;
    assert_false(verdict_is_excused(&verdict, &windows, 100, 300));
    verdict.evidence.ring.silent_ns = 450;
    assert_true(verdict_is_excused(&verdict, &windows, 100, 300));
    assert_false(verdict_is_excused(&verdict, &windows, 100, 500)); /* that bears 400 ns */
    /* One that is not the ring's says nothing of silence: the timeout stands in for it. */
    verdict.evidence.ring.silent_ns = 0;
    assert_false(verdict_is_excused(&verdict, &windows, 100, 300));
    assert_true(verdict_is_excused(&verdict, &windows, 100, 450));
}

static void the_longest_stall_of_a_span_is_known(void **state)
{
    (void)state;
    struct stall_windows windows = new_windows();
    uint64_t second_ns = windows.start_ns + WIDTH_NS, third_ns = second_ns + WIDTH_NS;
    stall_note(&windows, windows.start_ns, 300);
    stall_note(&windows, second_ns, 700);
    stall_note(&windows, second_ns, 600);
    assert_int_equal(stall_longest_between_ns(&windows, 0, second_ns - 1), 300);
    assert_int_equal(stall_longest_between_ns(&windows, windows.start_ns, second_ns), 700);
    assert_int_equal(stall_longest_between_ns(&windows, third_ns, UINT64_MAX), 0);
    assert_int_equal(stall_longest_between_ns(&windows, 0, windows.start_ns - 1), 0);
}

/* Nobody is woken up at the very nanosecond, so each timer notes something. */
static void timers_note_until_they_are_stopped(void **state)
{
    (void)state;
    struct stall_windows windows = {.width_ns = UINT64_C(1000000000), .limit_ns = 1000000000};
    struct stall_timers timers;
    assert_true(stall_windows_make(&windows, 3600 * windows.width_ns));
    assert_int_equal(stall_longest_ns(&windows), 0);
    assert_int_equal(stall_timers_start(&timers, &windows), 0);
    while (stall_longest_ns(&windows) == 0)
        sched_yield();
    stall_timers_stop(&timers);
    stall_timers_stop(&timers); /* again: nothing */
    /* What is added up of pieces is never less than the longest of them. */
    assert_in_range(timers.longest_ns, 1, stall_longest_ns(&windows));
    stall_windows_reset(&windows);
    assert_int_equal(stall_longest_ns(&windows), 0);
    stall_windows_free(&windows);
}

/* ---- which repetitions count ---- */

static struct nodefail_tally tally;

static int open_tally(void **state)
{
    (void)state;
    tally = (struct nodefail_tally){.reps = 2, .limit_ns = 1000};
    return nodefail_tally_make(&tally) ? 0 : -1;
}

static int close_tally(void **state)
{
    (void)state;
    nodefail_tally_free(&tally);
    return 0;
}

static enum nodefail_next take(enum nodefail_end end, uint64_t stall_ns, uint64_t missed,
                               uint64_t wrong)
{
    const struct nodefail_sample sample = {.end = end,
                                           .detect_ms = 1,
                                           .each_node_ms = 2,
                                           .all_told_ms = 3,
                                           .host_stall_ms = 0.5,
                                           .stall_ns = stall_ns,
                                           .missed = missed,
                                           .wrong = wrong};
    return nodefail_tally_take(&tally, &sample);
}

static void what_is_measured_counts(void **state)
{
    (void)state;
    assert_int_equal(take(NODEFAIL_MEASURED, 1000, 3, 4), NODEFAIL_NEXT);
    assert_int_equal(tally.taken, 1);
    assert_int_equal(tally.missed, 3);
    assert_int_equal(tally.wrong, 4);
    assert_int_equal(tally.repeated, 0);
    assert_int_equal(tally.longest_ns, 1000);
    assert_true(tally.ms[NODEFAIL_DETECT][0] == 1 && tally.ms[NODEFAIL_EACH_NODE][0] == 2);
    assert_true(tally.ms[NODEFAIL_ALL_TOLD][0] == 3 && tally.ms[NODEFAIL_HOST_STALL][0] == 0.5);
}

static void a_long_stall_excuses_everything(void **state)
{
    (void)state;
    assert_int_equal(take(NODEFAIL_MEASURED, 1001, 3, 4), NODEFAIL_AGAIN);
    for (size_t i = 1; i < NODEFAIL_MORE * tally.reps; i++)
        assert_int_equal(take(NODEFAIL_BROKEN, 5000, 0, 0), NODEFAIL_AGAIN);
    assert_int_equal(take(NODEFAIL_ENDED_EARLY, 7000, 0, 1), NODEFAIL_TOO_STILL);
    assert_int_equal(tally.repeated, NODEFAIL_MORE * tally.reps);
    assert_int_equal(tally.taken, 0);
    assert_int_equal(tally.missed + tally.wrong, 0);
    assert_int_equal(tally.longest_ns, 7000);
    assert_int_equal(take(NODEFAIL_MEASURED, 0, 0, 0), NODEFAIL_NEXT);
    assert_int_equal(tally.longest_ns, 7000);
}

static void without_a_stall_nothing_is_excused(void **state)
{
    (void)state;
    assert_int_equal(take(NODEFAIL_ENDED_EARLY, 0, 0, 2), NODEFAIL_NEXT);
    assert_int_equal(tally.wrong, 2);
    assert_int_equal(tally.taken, 0); /* it has no figures */
    assert_int_equal(take(NODEFAIL_BROKEN, 0, 0, 0), NODEFAIL_CANNOT);
    assert_int_equal(tally.repeated, 0);
}

/* ---- the guard ---- */

static pid_t start_stopped(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    assert_true(pid > 0);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    return pid;
}

static void the_guard_kills_what_is_stopped(void **state)
{
    (void)state;
    struct guard guard;
    pid_t pids[] = {start_stopped(), start_stopped()}, other = start_stopped();
    int status, pidfds[] = {guard_hold(pids[0]), guard_hold(pids[1])};
    assert_int_equal(guard_start(&guard, pidfds, 2, SIGKILL), 0);
    assert_int_equal(waitpid(pids[0], &status, WNOHANG), 0);
    guard_strike(&guard);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    assert_int_equal(waitpid(other, &status, WNOHANG), 0);
    kill(other, SIGKILL);
    assert_int_equal(waitpid(other, &status, 0), other);
    guard_strike(&guard); /* again: nothing */
    close(pidfds[0]);
    close(pidfds[1]);
}

/* A process that starts a guard for its child and is killed: we are told through a pipe that both
 * hold open. */
static void the_guard_outlives_its_bench(void **state)
{
    (void)state;
    int ends[2], status;
    char word;
    assert_int_equal(pipe(ends), 0);
    pid_t bench = fork();
    if (bench == 0) {
        struct guard guard;
        close(ends[0]);
        pid_t stopped = start_stopped();
        int pidfd = guard_hold(stopped);
        if (guard_start(&guard, &pidfd, 1, SIGKILL) != 0 || write(ends[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_true(bench > 0);
    close(ends[1]);
    assert_int_equal(read(ends[0], &word, 1), 1);
    kill(bench, SIGKILL);
    assert_int_equal(waitpid(bench, &status, 0), bench);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(read(ends[0], &word, 1), 0); /* comes when the stopped one is gone, too */
    close(ends[0]);
}

/* ---- words ---- */

static void times_follow_the_rules_of_the_ring(void **state)
{
    (void)state;
    assert_null(rig_times_error(100, 200));
    assert_null(rig_times_error(1, 2));
    assert_non_null(rig_times_error(100, 150));
}

static void a_verdict_says_what_was_known(void **state)
{
    (void)state;
    char text[VERDICT_TEXT_MAX];
    struct verdict verdict = {.evidence = {.verdict = MU_VERDICT_SILENT,
                                           .cause = MU_CAUSE_SILENCE,
                                           .seen_by = 7,
                                           .ring = {.period_ns = 10000000,
                                                    .timeout_ns = 20000000,
                                                    .silent_ns = 20100000,
                                                    .suspect_ns = 7600000,
                                                    .probes = 3,
                                                    .helper_count = 2,
                                                    .helpers = {{9, MU_REACH_TRYING}, {30, 0}}}}};
    verdict_text(&verdict, text);
    assert_non_null(strstr(text, "by node 7"));
    assert_non_null(strstr(text, "not heard for 20.100 ms, suspected for 7.600 ms, 3 probes"));
    assert_non_null(strstr(text, "node 9 tried, node 30 said nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_nodes_rise_and_have_the_same_chance),
        cmocka_unit_test(contiguous_nodes_follow_each_other_around_the_ring),
        cmocka_unit_test_setup_teardown(a_node_then_its_processes, open_world, close_world),
        cmocka_unit_test_setup_teardown(whoever_saw_it_first_counts, open_world, close_world),
        cmocka_unit_test_setup_teardown(what_cannot_be_is_wrong, open_world, close_world),
        cmocka_unit_test_setup_teardown(other_things_are_not_expected, open_world, close_world),
        cmocka_unit_test_setup_teardown(state_may_repeat_and_comes_in_any_order, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(when_it_is_over_nothing_counts, open_world, close_world),
        cmocka_unit_test(only_a_long_stall_spoils_a_window),
        cmocka_unit_test(stalls_near_each_other_add_up),
        cmocka_unit_test(a_stall_counts_in_each_window_that_it_touches),
        cmocka_unit_test(a_span_is_excused_by_a_spoilt_window_that_it_touches),
        cmocka_unit_test(a_verdict_is_excused_by_a_stall_while_nothing_was_heard),
        cmocka_unit_test(the_longest_stall_of_a_span_is_known),
        cmocka_unit_test(timers_note_until_they_are_stopped),
        cmocka_unit_test_setup_teardown(what_is_measured_counts, open_tally, close_tally),
        cmocka_unit_test_setup_teardown(a_long_stall_excuses_everything, open_tally, close_tally),
        cmocka_unit_test_setup_teardown(without_a_stall_nothing_is_excused, open_tally,
                                        close_tally),
        cmocka_unit_test(the_guard_kills_what_is_stopped),
        cmocka_unit_test(the_guard_outlives_its_bench),
        cmocka_unit_test(times_follow_the_rules_of_the_ring),
        cmocka_unit_test(a_verdict_says_what_was_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
