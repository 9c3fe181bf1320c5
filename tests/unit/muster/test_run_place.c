/* Where 'muster run' puts its processes: slots, rounds over nodes, more processes than slots. */
#include "launch/map.h"
#include "run/options.h"
#include "run/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

/* The node of each rank, as digits, out of runs that follow each other. */
static const char *nodes_of(const struct mu_launch_run *runs, uint32_t count)
{
    static char text[64];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(runs[i].first, rank);
        assert_true(runs[i].count > 0);
        assert_true(i == 0 || runs[i].slot != runs[i - 1].slot);
        for (uint32_t k = 0; k < runs[i].count; k++)
            text[rank++] = (char)('0' + runs[i].slot);
    }
    text[rank] = '\0';
    return text;
}

static void nodes_are_taken_in_turn_while_they_have_slots(void **state)
{
    (void)state;
    const uint32_t slots[] = {2, 1, 4}, any[] = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    struct mu_launch_run runs[8];
    assert_string_equal(nodes_of(runs, map_by_node(7, slots, 3, runs)), "0120222");
    assert_int_equal(map_by_node(7, slots, 3, runs), 5); /* the last three are one run */
    assert_string_equal(nodes_of(runs, map_by_node(2, slots, 3, runs)), "01");
    assert_string_equal(nodes_of(runs, map_by_node(8, any, 3, runs)), "01201201");
    assert_string_equal(nodes_of(runs, map_by_node(5, any, 1, runs)), "00000");
}

static void more_ranks_than_slots_are_spread_evenly(void **state)
{
    (void)state;
    const uint32_t any[] = {UINT32_MAX, UINT32_MAX, UINT32_MAX}, some[] = {3, 1, UINT32_MAX};
    uint32_t slots[] = {2, 1, 4};
    map_widen(7, slots, any, 3);
    assert_memory_equal(slots, ((uint32_t[]){2, 1, 4}), sizeof slots);
    map_widen(11, slots, any, 3);
    assert_memory_equal(slots, ((uint32_t[]){4, 2, 5}), sizeof slots);
    uint32_t limited[] = {2, 1, 4};
    map_widen(11, limited, some, 3);
    assert_memory_equal(limited, ((uint32_t[]){3, 1, 7}), sizeof limited);
}

/* Each rank is a run of its own. */
static void many_ranks_on_many_nodes(void **state)
{
    (void)state;
    enum { NODES = 1024, RANKS = 32 * NODES };
    static struct mu_launch_run runs[RANKS];
    static uint32_t slots[NODES];
    for (uint32_t i = 0; i < NODES; i++)
        slots[i] = UINT32_MAX;
    assert_int_equal(map_by_node(RANKS, slots, NODES, runs), RANKS);
    for (uint32_t i = 0; i < RANKS; i++)
        assert_true(runs[i].slot == i % NODES && runs[i].first == i && runs[i].count == 1);
}

static void words_of_other_launchers_are_known(void **state)
{
    (void)state;
    struct run_place place = {0};
    assert_true(run_place_map_by(&place, "node"));
    assert_true(place.by_node && !place.by_slot && !place.oversubscribe);
    assert_true(run_place_map_by(&place, "slot:OVERSUBSCRIBE"));
    assert_true(!place.by_node && place.by_slot && place.oversubscribe);
    assert_true(run_place_map_by(&place, ":nooversubscribe"));
    assert_true(!place.by_node && !place.by_slot && !place.oversubscribe);
    assert_true(run_place_bind_to(&place, "core"));
    assert_int_equal(place.binding, MU_LAUNCH_CORES);
    assert_true(run_place_bind_to(&place, "core:overload-allowed"));
    assert_int_equal(place.binding, MU_LAUNCH_CORES_SHARED);
    assert_true(run_place_bind_to(&place, "none"));
    assert_int_equal(place.binding, MU_LAUNCH_UNBOUND);
    const char *wrong[] = {"",      "nodes",     "nod", "core",
                           "slot:", "slot:span", ":",   "node:oversubscribe:x"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (run_place_map_by(&place, wrong[i]))
            fail_msg("--map-by '%s' was taken", wrong[i]);
    assert_false(run_place_bind_to(&place, "socket"));
    assert_false(run_place_bind_to(&place, "none:overload-allowed"));
}

/* ---- what fits ---- */

static void expect_error(const struct run_place *place, uint32_t ranks, uint32_t nodes,
                         const struct hosts *hosts, const char *expected)
{
    char text[RUN_PLACE_TEXT_MAX];
    const char *said = run_place_error(place, ranks, nodes, hosts, text);
    if (expected == NULL)
        assert_null(said);
    else
        assert_string_equal(said, expected);
}

static void more_than_slots_needs_a_word(void **state)
{
    (void)state;
    struct host two[] = {{.name = "a", .slots = 2, .max_slots = 3}, {.name = "b", .slots = 2}};
    struct hosts none = {0}, hosts = {two, 2};
    struct run_place place = {0}, over = {.oversubscribe = true};
    expect_error(&place, 4, 2, &hosts, NULL);
    expect_error(&place, 5, 2, &hosts,
                 "5 processes do not fit: the hosts have 4 slots (to start them anyway: "
                 "--oversubscribe)");
    expect_error(&over, 500, 2, &hosts, NULL);
    assert_true(run_place_is_oversubscribed(&over, 5, 2, &hosts));
    assert_false(run_place_is_oversubscribed(&over, 4, 2, &hosts));
    two[1].max_slots = 2;
    expect_error(&over, 5, 2, &hosts, NULL);
    expect_error(&over, 6, 2, &hosts, "6 processes do not fit: max_slots of the hosts allow 5");
    /* Nodes of this host have any number of slots, unless it is said. */
    expect_error(&place, 1 << 20, 1, &none, NULL);
    assert_false(run_place_is_oversubscribed(&place, 1 << 20, 1, &none));
    place.slots = 3;
    expect_error(&place, 6, 2, &none, NULL);
    expect_error(&place, 7, 2, &none,
                 "7 processes do not fit: 2 nodes with --slots 3 take 6 (to start them "
                 "anyway: --oversubscribe)");
}

static void expect_nodes(const struct run_place *place, uint32_t ranks, uint32_t nodes,
                         const struct hosts *hosts, const char *expected)
{
    struct mu_launch_run *runs;
    uint32_t count = run_place_runs(place, ranks, nodes, hosts, &runs);
    assert_string_equal(nodes_of(runs, count), expected);
    free(runs);
}

static void every_rank_has_its_node(void **state)
{
    (void)state;
    struct host two[] = {{.name = "a", .slots = 1, .max_slots = 2}, {.name = "b", .slots = 3}};
    struct hosts none = {0}, hosts = {two, 2};
    struct run_place usual = {0}, by_slot = {.by_slot = true}, by_node = {.by_node = true};
    expect_nodes(&usual, 4, 2, &none, "0011");
    expect_nodes(&by_slot, 4, 2, &none, "0011");
    expect_nodes(&by_node, 5, 2, &none, "01010");
    expect_nodes(&usual, 4, 2, &hosts, "0111");
    expect_nodes(&by_node, 3, 2, &hosts, "011");
    expect_nodes(&usual, 7, 2, &hosts, "0011111"); /* two more than by max_slots on the first */
    expect_nodes(&by_node, 7, 2, &hosts, "0101111");
    by_slot.slots = usual.slots = 4;
    expect_nodes(&by_slot, 6, 2, &none, "000011");
    expect_nodes(&usual, 6, 2, &none, "000111");
}

/* ---- the command line ---- */

static struct run_options parsed(const char *words)
{
    static char line[256];
    static char *argv[32];
    struct run_options options;
    int argc = 0;
    snprintf(line, sizeof line, "%s", words);
    for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    run_options_parse(&options, argc, argv);
    return options;
}

static void survivors_must_not_die_of_a_write(void **state)
{
    (void)state;
    const struct {
        const char *words;
        bool ignore;
    } lines[] = {
        {"run prog", false},
        {"run --sigpipe ignore prog", true},
        {"run --on-failure continue prog", true},
        {"run --on-failure continue --sigpipe default prog", false},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct run_options options = parsed(lines[i].words);
        assert_int_equal(options.ignore_sigpipe, lines[i].ignore);
        run_options_free(&options);
    }
}

static void oversubscribed_is_not_bound(void **state)
{
    (void)state;
    const struct {
        const char *words;
        uint8_t binding;
    } lines[] = {
        {"run -H a:2,b -n 3 --bind-to core prog", MU_LAUNCH_CORES},
        {"run -H a:2,b -n 4 --oversubscribe --bind-to core prog", MU_LAUNCH_UNBOUND},
        {"run -H a:2,b -n 4 --map-by node:oversubscribe --bind-to core prog", MU_LAUNCH_UNBOUND},
        {"run -H a -n 4 --oversubscribe --bind-to core:overload-allowed prog",
         MU_LAUNCH_CORES_SHARED},
        {"run --nodes 2 -n 400 --bind-to core prog", MU_LAUNCH_CORES}, /* the daemons refuse it */
        {"run --nodes 2 prog", MU_LAUNCH_PART},
        {"run --nodes 2 --bind-to none prog", MU_LAUNCH_UNBOUND},
        {"run -H a,b prog", MU_LAUNCH_UNBOUND},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct run_options options = parsed(lines[i].words);
        if (options.place.binding != lines[i].binding)
            fail_msg("'%s': %u", lines[i].words, options.place.binding);
        run_options_free(&options);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_taken_in_turn_while_they_have_slots),
        cmocka_unit_test(more_ranks_than_slots_are_spread_evenly),
        cmocka_unit_test(many_ranks_on_many_nodes),
        cmocka_unit_test(words_of_other_launchers_are_known),
        cmocka_unit_test(more_than_slots_needs_a_word),
        cmocka_unit_test(every_rank_has_its_node),
        cmocka_unit_test(survivors_must_not_die_of_a_write),
        cmocka_unit_test(oversubscribed_is_not_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
