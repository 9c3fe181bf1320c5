/* Which rank runs where, what the command line makes of several programs and of spans of time, and
 * the words that bring a daemon up. */
#include "launch/bring_up.h"
#include "launch/map.h"
#include "run/options.h"
#include "command/span.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* after those above */
#include <cmocka.h>

/* ---- blocks ---- */

static void blocks_are_what_the_formula_says(void **state)
{
    (void)state;
    struct mu_launch_run runs[40];
    for (uint32_t nodes = 1; nodes <= 40; nodes++)
        for (uint32_t ranks = 1; ranks <= 130; ranks++) {
            uint32_t count = map_blocks(ranks, nodes, runs), rank = 0, most = 0;
            assert_in_range(count, 1, nodes < ranks ? nodes : ranks);
            for (uint32_t i = 0; i < count; i++) {
                assert_int_equal(runs[i].first, rank);
                assert_true(runs[i].count > 0);
                most = runs[i].count > most ? runs[i].count : most;
                for (uint32_t k = 0; k < runs[i].count; k++, rank++)
                    assert_int_equal(runs[i].slot, (uint64_t)rank * nodes / ranks);
            }
            assert_int_equal(rank, ranks);
            assert_int_equal(most, map_ranks_per_node(ranks, nodes));
        }
}

static void the_largest_job_does_not_overflow(void **state)
{
    (void)state;
    static struct mu_launch_run runs[1024];
    assert_int_equal(map_blocks(MU_LAUNCH_RANKS_MAX, 1024, runs), 1024);
    assert_int_equal(runs[1023].first, MU_LAUNCH_RANKS_MAX - 1024);
    assert_int_equal(runs[1023].count, 1024);
    assert_int_equal(map_ranks_per_node(MU_LAUNCH_RANKS_MAX, 1024), 1024);
    assert_int_equal(map_ranks_per_node(MU_LAUNCH_RANKS_MAX, 1000), 1049);
}

static void fewer_ranks_than_nodes_leave_nodes_out(void **state)
{
    (void)state;
    struct mu_launch_run runs[8];
    assert_int_equal(map_blocks(2, 8, runs), 2);
    assert_int_equal(runs[0].slot, 0);
    assert_int_equal(runs[1].slot, 4);
}

static void ranks_are_written_as_people_do(void **state)
{
    (void)state;
    char text[MAP_RANKS_TEXT_MAX];
    assert_string_equal(map_ranks_text(4, 1, text), "4");
    assert_string_equal(map_ranks_text(4, 4, text), "4-7");
    assert_string_equal(map_ranks_text(MU_LAUNCH_RANKS_MAX - 2, 2, text), "1048574-1048575");
}

/* ---- the command line ---- */

enum { ARGV_MAX = 32 };

/* Splits at spaces; argv is the caller's, and so is the line, which is cut up. */
static int split(char *line, char *argv[ARGV_MAX])
{
    int argc = 0;
    for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    return argc;
}

static void parse(struct run_options *options, char *line, char *argv[ARGV_MAX])
{
    run_options_parse(options, split(line, argv), argv);
}

static void one_process_for_each_node_unless_told(void **state)
{
    (void)state;
    char line[] = "run --nodes 5 prog";
    char *argv[ARGV_MAX];
    struct run_options options;
    parse(&options, line, argv);
    assert_int_equal(options.nodes, 5);
    assert_int_equal(options.ranks, 5);
    assert_int_equal(options.program_count, 1);
    assert_false(options.go_on);
    assert_int_equal(options.grace_ms, 500);
    run_options_free(&options);
}

static void what_follows_the_program_is_its_own(void **state)
{
    (void)state;
    char line[] = "run -np 3 prog -n 7 --nodes x -- --help";
    char *argv[ARGV_MAX];
    struct run_options options;
    parse(&options, line, argv);
    assert_int_equal(options.ranks, 3);
    assert_int_equal(options.nodes, 1);
    char **own = options.programs[0].argv;
    const char *expected[] = {"prog", "-n", "7", "--nodes", "x", "--", "--help"};
    for (int i = 0; i < 7; i++)
        assert_string_equal(own[i], expected[i]);
    assert_null(own[7]);
    run_options_free(&options);
}

static void two_dashes_end_the_flags(void **state)
{
    (void)state;
    char line[] = "run -n 2 -- -prog -x";
    char *argv[ARGV_MAX];
    struct run_options options;
    parse(&options, line, argv);
    assert_string_equal(options.programs[0].argv[0], "-prog");
    assert_string_equal(options.programs[0].argv[1], "-x");
    assert_null(options.programs[0].argv[2]);
    run_options_free(&options);
}

static void several_programs_share_the_ranks(void **state)
{
    (void)state;
    char line[] = "run --nodes 2 --slots 4 -n 1 -x A=1 lead a b : -n 2 -x B= -x C=3 --wdir /tmp "
                  "work : --wdir sub -np=3 last z";
    char *argv[ARGV_MAX], *here = getcwd(NULL, 0), sub[4096];
    struct run_options options;
    parse(&options, line, argv);
    snprintf(sub, sizeof sub, "%s/sub", here);
    assert_int_equal(options.program_count, 3);
    assert_int_equal(options.ranks, 6);
    const struct run_program *lead = &options.programs[0], *work = &options.programs[1],
                             *last = &options.programs[2];
    assert_int_equal(lead->count, 1);
    assert_string_equal(lead->argv[2], "b");
    assert_null(lead->argv[3]);
    assert_string_equal(lead->envp[0], "A=1");
    assert_null(lead->envp[1]);
    assert_string_equal(lead->directory, here);
    assert_int_equal(work->count, 2);
    assert_string_equal(work->argv[0], "work");
    assert_null(work->argv[1]);
    assert_string_equal(work->envp[0], "B=");
    assert_string_equal(work->envp[1], "C=3");
    assert_null(work->envp[2]);
    assert_string_equal(work->directory, "/tmp");
    assert_int_equal(last->count, 3);
    assert_string_equal(last->argv[1], "z");
    assert_null(last->argv[2]);
    assert_null(last->envp[0]);
    assert_string_equal(last->directory, sub);
    free(here);
    run_options_free(&options);
}

static void heartbeats_are_taken_or_left_as_usual(void **state)
{
    (void)state;
    char usual[] = "run prog", again[] = "run prog", line[] = "run --heartbeat 20ms,0.1s prog";
    char *argv[ARGV_MAX];
    struct run_options options;
    unsetenv("MUSTER_HEARTBEAT");
    parse(&options, usual, argv);
    assert_true(options.period_ns == 0 && options.timeout_ns == 0);
    run_options_free(&options);
    setenv("MUSTER_HEARTBEAT", "1s,3s", 1);
    parse(&options, again, argv);
    assert_int_equal(options.period_ns, 1000000000);
    assert_int_equal(options.timeout_ns, 3000000000);
    run_options_free(&options);
    parse(&options, line, argv); /* what is said counts */
    assert_int_equal(options.period_ns, 20000000);
    assert_int_equal(options.timeout_ns, 100000000);
    run_options_free(&options);
}

/* ---- spans ---- */

static void spans_are_read_with_their_unit(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {
        {"50ms", 50000000},
        {"1.5s", 1500000000},
        {"250us", 250000},
        {"2m", UINT64_C(120000000000)},
        {"1h", UINT64_C(3600000000000)},
        {"0.001us", 1},
        {"0ms", 0},
        {"007ms", 7000000},
        {"5.ms", 5000000},
        {"33.333333ms", 33333333},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        uint64_t ns = 77;
        if (!span_parse(good[i].text, &ns) || ns != good[i].ns)
            fail_msg("'%s' was read as %llu ns", good[i].text, (unsigned long long)ns);
    }
    static const char *const none[] = {"",
                                       "ms",
                                       "50",
                                       "50 ms",
                                       " 50ms",
                                       "-50ms",
                                       "+50ms",
                                       "50msec",
                                       "50ns",
                                       "0x32ms",
                                       "5e1ms",
                                       "1.2.3ms",
                                       ".5s",
                                       "nanms",
                                       "inf s",
                                       "50ms,1s",
                                       "1d",
                                       "50MS",
                                       "99999999999999999999s",
                                       "400000000m"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        uint64_t ns = 77;
        if (span_parse(none[i], &ns))
            fail_msg("'%s' was taken for a span", none[i]);
        assert_int_equal(ns, 77);
    }
}

static void spans_are_written_as_people_do(void **state)
{
    (void)state;
    char text[SPAN_TEXT_MAX];
    assert_string_equal(span_text(100000000, text), "100 ms");
    assert_string_equal(span_text(1500000000, text), "1.5 s");
    assert_string_equal(span_text(250000, text), "250 us");
    assert_string_equal(span_text(0, text), "0 us");
    assert_string_equal(span_text(999999, text), "999.999 us");
    assert_string_equal(span_text(UINT64_C(3600000000000), text), "3600 s");
    assert_true(strlen(span_text(UINT64_MAX, text)) < SPAN_TEXT_MAX);
}

static void a_heartbeat_is_a_period_and_a_timeout(void **state)
{
    (void)state;
    uint64_t period_ns, timeout_ns;
    char why[SPAN_WHY_MAX];
    assert_null(span_heartbeat("50ms,100ms", &period_ns, &timeout_ns, why));
    assert_true(period_ns == 50000000 && timeout_ns == 100000000);
    assert_null(span_heartbeat("2s", &period_ns, &timeout_ns, why));
    assert_true(period_ns == 2000000000 && timeout_ns == UINT64_C(10000000000));
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"", "'' is not PERIOD or PERIOD,TIMEOUT"},
        {"50", "'50' is not PERIOD"},
        {",1s", "',1s' is not PERIOD"},
        {"50ms,", "'50ms,' is not PERIOD"},
        {"50ms,1s,2s", "'50ms,1s,2s' is not PERIOD"},
        {"0.00000000000000000000000000000000001s", "is not PERIOD"},
        {"0ms,1s", "'0ms,1s': period must be at least 1 ms"},
        {"50ms,99ms", "'50ms,99ms': timeout must be at least two periods"},
        {"1s,61m", "'1s,61m': timeout must be at most an hour"},
        {"1h", "'1h': timeout must be at most an hour"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *said = span_heartbeat(wrong[i].text, &period_ns, &timeout_ns, why);
        if (said == NULL || strstr(said, wrong[i].says) == NULL)
            fail_msg("'%s': %s", wrong[i].text, said == NULL ? "taken" : said);
    }
}

/* ---- bring-up ---- */

static void two_nodes_never_have_the_same_address(void **state)
{
    (void)state;
    const uint64_t machines[] = {1, 62, 63, UINT64_MAX, UINT64_C(0x0123456789abcdef)};
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        uint32_t before = 0;
        for (mu_slot slot = 0; slot < 1024; slot++) {
            struct sockaddr_in address;
            bring_up_address(machines[i], slot, &address);
            uint32_t number = ntohl(address.sin_addr.s_addr);
            assert_int_equal(number >> 24, 127);
            assert_in_range(number >> 16 & 0xff, 1, 254); /* not where everybody else is */
            assert_true(slot == 0 || number == before + 1);
            before = number;
        }
    }
}

static void orders_are_as_documented(void **state)
{
    (void)state;
    struct sockaddr_in addresses[2];
    size_t count;
    for (mu_slot slot = 0; slot < 2; slot++)
        bring_up_address(UINT64_C(0x0000004c00000000), slot, &addresses[slot]);
    struct mu_orders orders = {.machine = UINT64_C(0x4c00000000),
                               .size = 2,
                               .slot = 1,
                               .listen = addresses[1].sin_addr,
                               .name = "node1",
                               .period_ns = 7000000,
                               .timeout_ns = 20000000,
                               .shared_host = true};
    for (size_t i = 0; i < sizeof orders.key; i++)
        orders.key[i] = (uint8_t)i;
    char *text = bring_up_first(&orders, &count);
    const char expected[] = "muster-orders 1\nmachine 0000004c00000000\n"
                            "key 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"
                            "size 2\nslot 1\nlisten 127.77.0.2\nname node1\n"
                            "period 7000000\ntimeout 20000000\nshared-host\n.\n";
    assert_int_equal(count, strlen(expected));
    assert_memory_equal(text, expected, count);
    free(text);
    pid_t daemon;
    assert_true(bring_up_listening("listening 127.77.0.1 40111 4711", &addresses[0], &daemon));
    assert_int_equal(daemon, 4711);
    assert_true(bring_up_listening("listening 127.77.0.2 65535 1", &addresses[1], &daemon));
    assert_int_equal(daemon, 1);
    text = bring_up_where(addresses, 2, &count);
    const char where[] = "node 0 127.77.0.1 40111\nnode 1 127.77.0.2 65535\n.\n";
    assert_int_equal(count, strlen(where));
    assert_memory_equal(text, where, count);
    free(text);
    text = bring_up_end(&count);
    assert_int_equal(count, 4);
    assert_memory_equal(text, "end\n", count);
    free(text);
}

static void a_wrong_answer_is_refused(void **state)
{
    (void)state;
    const char *wrong[] = {"",
                           "listening",
                           "listening 127.77.0.1",
                           "listening 127.77.0.1 ",
                           "listening 127.77.0.1 40111",
                           "listening 127.77.0.1 40111 ",
                           "listening 127.77.0.1 0 7",
                           "listening 127.77.0.1 65536 7",
                           "listening 127.77.0.1 -1 7",
                           "listening 127.77.0.1 123456 7",
                           "listening 127.77.0.1 40111 0",
                           "listening 127.77.0.1 40111 -7",
                           "listening 127.77.0.1 40111 7 ",
                           "listening 127.77.0.1 40111 7x",
                           "listening 127.77.0.12 40111 7",
                           "listening 127.77.0.3 40111 7",
                           "ready"};
    struct sockaddr_in address;
    pid_t daemon;
    bring_up_address(UINT64_C(0x4c00000000), 0, &address);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (bring_up_listening(wrong[i], &address, &daemon))
            fail_msg("'%s' was taken", wrong[i]);
}

static bool is_even(uint32_t nodes, uint32_t processors, const uint32_t *counts)
{
    struct mu_launch_run runs[8];
    uint32_t count = 0, first = 0;
    for (uint32_t slot = 0; slot < nodes; slot++) {
        if (counts[slot] > 0)
            runs[count++] = (struct mu_launch_run){slot, first, counts[slot]};
        first += counts[slot];
    }
    return map_is_even(runs, count, nodes, processors);
}

static void even_is_when_no_processor_has_more_than_its_share(void **state)
{
    (void)state;
    assert_true(is_even(4, 2, (const uint32_t[]){1, 1, 1, 1}));
    assert_true(is_even(4, 2, (const uint32_t[]){2, 0, 0, 2}));
    assert_true(is_even(4, 2, (const uint32_t[]){1, 0, 1, 0}));
    assert_true(is_even(4, 2, (const uint32_t[]){2, 0, 1, 0}));  /* three on two */
    assert_false(is_even(4, 2, (const uint32_t[]){1, 1, 0, 0})); /* both on one */
    assert_false(is_even(4, 2, (const uint32_t[]){1, 0, 0, 0})); /* it may have threads */
    assert_true(is_even(3, 2, (const uint32_t[]){2, 1, 2}));     /* three and two */
    assert_false(is_even(3, 2, (const uint32_t[]){2, 2, 1}));    /* four on one of two */
    assert_true(is_even(2, 8, (const uint32_t[]){4, 4}));
    assert_false(is_even(2, 8, (const uint32_t[]){8, 0}));
    assert_false(is_even(2, 8, (const uint32_t[]){2, 2}));
    assert_true(is_even(1, 2, (const uint32_t[]){2}));
    assert_false(is_even(3, 3, (const uint32_t[]){2, 2, 0})); /* the third is idle */
    assert_true(is_even(3, 3, (const uint32_t[]){2, 1, 1}));
    assert_true(is_even(3, 8, (const uint32_t[]){2, 3, 3}));
    assert_false(is_even(3, 8, (const uint32_t[]){3, 3, 2}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(even_is_when_no_processor_has_more_than_its_share),
        cmocka_unit_test(blocks_are_what_the_formula_says),
        cmocka_unit_test(the_largest_job_does_not_overflow),
        cmocka_unit_test(fewer_ranks_than_nodes_leave_nodes_out),
        cmocka_unit_test(ranks_are_written_as_people_do),
        cmocka_unit_test(one_process_for_each_node_unless_told),
        cmocka_unit_test(what_follows_the_program_is_its_own),
        cmocka_unit_test(two_dashes_end_the_flags),
        cmocka_unit_test(several_programs_share_the_ranks),
        cmocka_unit_test(heartbeats_are_taken_or_left_as_usual),
        cmocka_unit_test(spans_are_read_with_their_unit),
        cmocka_unit_test(spans_are_written_as_people_do),
        cmocka_unit_test(a_heartbeat_is_a_period_and_a_timeout),
        cmocka_unit_test(two_nodes_never_have_the_same_address),
        cmocka_unit_test(orders_are_as_documented),
        cmocka_unit_test(a_wrong_answer_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
