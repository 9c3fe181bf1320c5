/* 'muster chaos': words of faults and scripts, what a script makes of what was told, the schedule
 * of random faults, and its law. */
#include "chaos/script/judge.h"
#include "chaos/random/law.h"
#include "wire/base/evidence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* after those above */
#include <cmocka.h>

#define MS UINT64_C(1000000)

/* ---- lists ---- */

static void lists_are_sorted_and_joined(void **state)
{
    (void)state;
    struct chaos_list list;
    char why[CHAOS_WHY_MAX], text[CHAOS_LIST_TEXT_MAX];
    assert_null(chaos_list_parse("7-9,0,2,1,5,8-12", &list, why));
    assert_string_equal(chaos_list_text(&list, text), "0-2,5,7-12");
    assert_int_equal(chaos_list_size(&list), 10);
    assert_true(chaos_list_has(&list, 12) && chaos_list_has(&list, 0));
    assert_false(chaos_list_has(&list, 3) || chaos_list_has(&list, 13));
    static const char *const wrong[] = {"",   ",",    "1,",       "1,,2",      "2-1", "-1",
                                        "1-", "1-2-", "16777216", "123456789", "x",   "1 "};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_non_null(chaos_list_parse(wrong[i], &list, why));
        assert_non_null(strstr(why, wrong[i]));
    }
}

/* ---- faults ---- */

/* Words, cut up at spaces. */
static const char *parse(const char *line, struct chaos_fault *fault, char why[CHAOS_WHY_MAX])
{
    static char text[256];
    const char *words[32];
    uint32_t count = 0;
    char *rest;
    snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    return chaos_fault_parse(words, count, fault, why);
}

static void faults_are_read_and_written(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "kill node=3",
        "kill proc=1.0-3,7",
        "stop node=0-2 for 1500ms",
        "cont proc=2.5",
        "cut node=3",
        "cut node=3 in for 10ms",
        "cut node=0-3 out peers 4-7 for 250us",
        "heal node=1",
        "flap node=2 down 50ms up 200ms for 5000ms",
        "slow node=2 by 20ms jitter 5ms peers 1",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct chaos_fault fault;
        char why[CHAOS_WHY_MAX] = "", text[CHAOS_FAULT_TEXT_MAX];
        assert_null(parse(lines[i], &fault, why));
        assert_string_equal(chaos_fault_text(&fault, text), lines[i]);
        assert_null(mu_chaos_error(&fault.net));
    }
    struct chaos_fault fault;
    char why[CHAOS_WHY_MAX];
    assert_null(parse("cut node=3 for 1s in out", &fault, why));
    assert_true(fault.net.in && fault.net.out);
    assert_int_equal(fault.net.for_ns, 1000 * MS);
}

static void wrong_faults_are_named(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"", "''"},
        {"break node=1", "'break'"},
        {"cut", "node=LIST"},
        {"cut 3", "'3'"},
        {"cut node=", "''"},
        {"cut proc=1.2", "a process has no network"},
        {"kill proc=1", "'proc=1'"},
        {"kill node=1 for 1s", "'for'"},
        {"stop node=1 for", "missing DURATION"},
        {"stop node=1 for 5", "'5'"},
        {"stop node=1 for 0s", "over 0"},
        {"stop node=1 for 1s for 2s", "given twice"},
        {"cut node=1 by 5ms", "'by'"},
        {"flap node=1 down 5ms", "'up'"},
        {"flap node=1 down 5us up 1s", "1 ms"},
        {"slow node=1", "'by'"},
        {"slow node=1 by 11s", "10 s"},
        {"heal node=1 in", "'in'"},
        {"cut node=1 peers 2 peers 3", "given twice"},
        {"cut node=1 for 25h", "24 hours"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct chaos_fault fault;
        char why[CHAOS_WHY_MAX];
        assert_non_null(parse(rows[i][0], &fault, why));
        if (strstr(why, rows[i][1]) == NULL)
            fail_msg("'%s' gives: %s", rows[i][0], why);
    }
}

/* ---- what a daemon is told ---- */

#define EXPECT_RULE(change)                                                                        \
    do {                                                                                           \
        struct mu_chaos chaos = good;                                                              \
        change;                                                                                    \
        assert_non_null(mu_chaos_error(&chaos));                                                   \
    } while (0)

static void a_daemon_refuses_what_cannot_be(void **state)
{
    (void)state;
    struct mu_chaos good = {.kind = MU_CHAOS_CUT,
                            .in = true,
                            .held = true,
                            .for_ns = MU_CHAOS_SPAN_MAX_NS,
                            .range_count = 2,
                            .ranges = {{0, 3}, {5, MU_SIZE_MAX - 1}}};
    assert_null(mu_chaos_error(&good));
    EXPECT_RULE(chaos.kind = MU_CHAOS_SLOW + 1);
    EXPECT_RULE(chaos.kind = MU_CHAOS_NONE);
    EXPECT_RULE(chaos.in = false);
    EXPECT_RULE(chaos.for_ns++);
    EXPECT_RULE(chaos.down_ns = MU_CHAOS_SPAN_MIN_NS);
    EXPECT_RULE(chaos.delay_ns = 1);
    EXPECT_RULE(chaos.seed = 1);
    EXPECT_RULE(chaos.range_count = MU_CHAOS_RANGES_MAX + 1);
    EXPECT_RULE(chaos.ranges[1].first = 3);
    EXPECT_RULE(chaos.ranges[1].last = MU_SIZE_MAX);
    EXPECT_RULE(chaos.ranges[0].first = 4);
    good = (struct mu_chaos){.kind = MU_CHAOS_FLAP,
                             .out = true,
                             .down_ns = MU_CHAOS_SPAN_MIN_NS,
                             .up_ns = MU_CHAOS_SPAN_MAX_NS};
    assert_null(mu_chaos_error(&good));
    EXPECT_RULE(chaos.up_ns = 0);
    EXPECT_RULE(chaos.up_ns++);
    EXPECT_RULE(chaos.down_ns--);
    good = (struct mu_chaos){.kind = MU_CHAOS_SLOW,
                             .in = true,
                             .delay_ns = MU_CHAOS_DELAY_MAX_NS,
                             .jitter_ns = MU_CHAOS_DELAY_MAX_NS};
    assert_null(mu_chaos_error(&good));
    EXPECT_RULE(chaos.delay_ns = 0);
    EXPECT_RULE(chaos.delay_ns++);
    EXPECT_RULE(chaos.jitter_ns++);
    good = (struct mu_chaos){0};
    assert_null(mu_chaos_error(&good));
    EXPECT_RULE(chaos.held = true);
    EXPECT_RULE(chaos.for_ns = 1);
    EXPECT_RULE(chaos.range_count = 1);
}

/* ---- scripts ---- */

static const char *read_text(const char *text, struct chaos_script *script, char why[CHAOS_WHY_MAX])
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    assert_non_null(file);
    *script = (struct chaos_script){0};
    const char *error = chaos_script_read(script, file, why);
    fclose(file);
    return error;
}

static void a_script_is_read(void **state)
{
    (void)state;
    struct chaos_script script;
    char why[CHAOS_WHY_MAX], text[CHAOS_FAULT_TEXT_MAX];
    assert_null(read_text("# first\n"
                          "\n"
                          "at 200ms cut node=3 for 1s   # and so on\n"
                          "expect node=3 silent within 700ms at 0-2\n"
                          "\texpect no node=1 for 1s\n"
                          "then 2s kill proc=1.4\n"
                          "expect none for 0s\n"
                          "allow any\n"
                          "allow node=7\n"
                          "at 2.2s heal node=3",
                          &script, why));
    assert_int_equal(script.step_count, 3);
    assert_int_equal(script.steps[0].at_ns, 200 * MS);
    assert_int_equal(script.steps[1].at_ns, 2200 * MS);
    assert_int_equal(script.steps[2].at_ns, 2200 * MS);
    assert_int_equal(script.steps[1].line, 6);
    assert_int_equal(script.expect_count, 3);
    assert_int_equal(script.expects[0].step, 0);
    assert_int_equal(script.expects[2].step, 1);
    assert_string_equal(chaos_expect_text(&script.expects[0], text),
                        "node=3 silent within 700 ms at 0-2");
    assert_string_equal(chaos_expect_text(&script.expects[1], text), "no node=1 for 1 s");
    assert_string_equal(chaos_expect_text(&script.expects[2], text), "none for 0 us");
    assert_int_equal(script.allow_count, 2);
    chaos_script_free(&script);
}

static void a_wrong_script_is_refused_with_its_line(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"at 1s cut node=1\nfoo\n", "line 2:", "'foo'"},
        {"at x cut node=1\n", "line 1:", "'at x'"},
        {"at 1s\n", "line 1:", "a duration and a fault"},
        {"at 1s cut\n", "line 1:", "node=LIST"},
        {"at 1s cut node=1\nat 500ms heal node=1\n", "line 2:", "earlier than the step"},
        {"expect none for 1s\n", "line 1:", "needs a step"},
        {"at 1s cut node=1\nexpect node=1 ded within 1s\n", "line 2:", "'ded'"},
        {"at 1s cut node=1\nexpect node=1 dead in 1s\n", "line 2:", "'within' DURATION"},
        {"at 1s cut node=1\nexpect node=1 dead within\n", "line 2:", "missing DURATION"},
        {"at 1s cut node=1\nexpect node=1 dead within 1s at\n", "line 2:", "list of nodes"},
        {"at 1s cut node=1\nexpect node=1 dead within 1s at 1 2\n", "line 2:", "'2'"},
        {"at 1s cut node=1\nexpect none within 1s\n", "line 2:", "'for' DURATION"},
        {"at 1s cut node=1\nallow\n", "line 2:", "'any'"},
        {"# nothing\n", "no step", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct chaos_script script;
        char why[CHAOS_WHY_MAX];
        assert_non_null(read_text(rows[i][0], &script, why));
        if (strstr(why, rows[i][1]) == NULL || strstr(why, rows[i][2]) == NULL)
            fail_msg("'%s' gives: %s", rows[i][0], why);
        chaos_script_free(&script);
    }
}

/* ---- what was told ---- */

/* Nodes 0 to 3 are watched; the script's one step is at 1000 ms. */
static bool judge(const char *text, const struct chaos_told *told, uint32_t count,
                  char seen[CHAOS_SEEN_MAX])
{
    static const mu_slot watched[] = {0, 1, 2, 3};
    static const uint64_t step_ns[] = {1000 * MS};
    struct chaos_script script;
    char why[CHAOS_WHY_MAX];
    assert_null(read_text(text, &script, why));
    struct chaos_story story = {.began_ns = 900 * MS,
                                .step_ns = step_ns,
                                .watched = watched,
                                .watched_count = 4,
                                .told = told,
                                .told_count = count};
    bool met = true;
    seen[0] = '\0';
    for (uint32_t i = 0; met && i < script.expect_count; i++)
        met = chaos_judge_expect(&script, &story, i, seen);
    uint32_t from = 0;
    if (met && chaos_judge_surprise(&script, &story, &from, seen))
        met = false;
    chaos_script_free(&script);
    return met;
}

static struct chaos_told node_told(mu_slot by, mu_slot node, uint8_t verdict, uint64_t at_ms)
{
    return (struct chaos_told){.by = by, .node = node, .verdict = verdict, .at_ns = at_ms * MS};
}

static void what_was_told_meets_what_was_expected(void **state)
{
    (void)state;
    char seen[CHAOS_SEEN_MAX];
    struct chaos_told told[5] = {
        node_told(0, 3, MU_VERDICT_SILENT, 1100),
        node_told(1, 3, MU_VERDICT_SILENT, 1150),
        node_told(2, 3, MU_VERDICT_SILENT, 1200),
        {.by = 0,
         .is_process = true,
         .job = 1,
         .rank = 6,
         .node = 3,
         .verdict = MU_VERDICT_DEAD,
         .at_ns = 1100 * MS},
    };
    const char *good = "at 0s cut node=3\nexpect node=3 silent within 200ms\n";
    assert_true(judge(good, told, 4, seen)); /* its process is named with it */
    assert_true(judge("at 0s cut node=3\nexpect node=3 gone within 200ms", told, 4, seen));
    assert_true(judge("at 0s cut node=3\nexpect node=3 gone within 99ms at 3\nallow any", told, 4,
                      seen) == false); /* node 3 was not notified of itself */
    assert_false(judge("at 0s cut node=3\nexpect node=3 dead within 200ms", told, 4, seen));
    assert_non_null(strstr(seen, "node 0 was notified that node=3 is silent, after 100.0 ms"));
    assert_false(judge("at 0s cut node=3\nexpect node=3 silent within 199ms", told, 4, seen));
    assert_string_equal(seen, "node 2 was notified of node=3 after 200.0 ms");
    assert_false(judge(good, told, 2, seen));
    assert_string_equal(seen, "node 2 was not notified of node=3");
    told[4] = told[1];
    assert_false(judge(good, told, 5, seen));
    assert_string_equal(seen, "node 1 was notified of node=3 more than once");
    told[4] = node_told(1, 2, MU_VERDICT_SILENT, 1150);
    assert_false(judge(good, told, 5, seen));
    assert_string_equal(
        seen, "1 node was notified that node=2 is silent, node 1 250.0 ms after the start");
    told[4] = node_told(0, 3, MU_VERDICT_SILENT, 950);
    assert_false(judge(good, told + 1, 4, seen));
    assert_string_equal(seen, "node 0 was notified of node=3 50.0 ms before");
}

static void one_of_two_is_expected(void **state)
{
    (void)state;
    char seen[CHAOS_SEEN_MAX];
    const char *one = "at 0s cut node=2 peers 3\nexpect one node=2-3 gone within 200ms";
    struct chaos_told told[3] = {node_told(0, 3, MU_VERDICT_SILENT, 1100),
                                 node_told(1, 3, MU_VERDICT_SILENT, 1100),
                                 node_told(1, 2, MU_VERDICT_SILENT, 1100)};
    assert_true(judge(one, told, 2, seen));
    assert_false(judge(one, told, 1, seen));
    assert_string_equal(seen, "node 1 was not notified of node=3");
    assert_false(judge(one, told, 3, seen));
    assert_string_equal(seen, "node 1 was notified of node=2 as well");
    assert_false(judge(one, told, 0, seen));
    /* Who may be gone need not be told. */
    assert_true(
        judge("at 0s cut node=3\nexpect node=3 gone within 1s\nallow node=0,2", told + 1, 1, seen));
}

static void silence_is_expected(void **state)
{
    (void)state;
    char seen[CHAOS_SEEN_MAX];
    struct chaos_told told = node_told(2, 1, MU_VERDICT_SILENT, 1100);
    const char *none = "at 0s stop node=1\nexpect none for 99ms\nallow any";
    assert_true(judge(none, &told, 1, seen));
    assert_false(judge("at 0s stop node=1\nexpect none for 100ms\nallow any", &told, 1, seen));
    assert_string_equal(seen, "node 2 was notified that node=1 is silent, after 100.0 ms");
    assert_true(judge("at 0s stop node=1\nexpect none for 1s at 0,1,3\nallow any", &told, 1, seen));
    assert_true(judge("at 0s stop node=1\nexpect no node=0,2-3 for 1s\nallow any", &told, 1, seen));
    assert_false(judge("at 0s stop node=1\nexpect no node=1 for 1s\nallow any", &told, 1, seen));
    told.at_ns = 950 * MS; /* before the step, and after the start */
    assert_true(judge("at 0s stop node=1\nexpect none for 1s\nallow any", &told, 1, seen));
    assert_false(judge("at 0s stop node=1\nexpect no node=1 for 1s\nallow any", &told, 1, seen));
    assert_false(judge("at 0s stop node=1\nexpect none for 1s", &told, 1, seen));
    assert_true(judge("at 0s stop node=1\nallow node=1", &told, 1, seen));
}

/* ---- the schedule ---- */

static void the_seed_draws_the_schedule(void **state)
{
    (void)state;
    static struct chaos_plan one, same, other;
    static struct chaos_round a, b, c;
    uint32_t differ = 0;
    chaos_plan_init(&one, 32, 50 * MS, 250 * MS, 7);
    chaos_plan_init(&same, 32, 50 * MS, 250 * MS, 7);
    chaos_plan_init(&other, 32, 50 * MS, 250 * MS, 8);
    for (int i = 0; i < 500; i++) {
        chaos_plan_next(&one, &a);
        chaos_plan_next(&same, &b);
        chaos_plan_next(&other, &c);
        assert_memory_equal(&a, &b, sizeof a);
        differ += memcmp(&a, &c, sizeof a) != 0;
    }
    assert_true(differ > 450);
}

/* Each fault is one that a user could type, hits who lives, and is long or short enough. */
static void a_schedule_keeps_its_rules(void **state)
{
    (void)state;
    static struct chaos_plan plan;
    static struct chaos_round round;
    uint32_t kinds[CHAOS_KINDS] = {0}, machines = 0, faults = 0;
    bool is_out[32] = {false};
    const uint64_t timeout_ns = 250 * MS, spare_ns = 200 * MS;
    chaos_plan_init(&plan, 32, 50 * MS, timeout_ns, 1);
    for (uint32_t i = 0; i < 3000; i++) {
        chaos_plan_next(&plan, &round);
        assert_int_equal(round.number, i);
        assert_in_range(round.count, 1, CHAOS_ROUND_MAX);
        if (round.is_new_machine) {
            machines++;
            memset(is_out, 0, sizeof is_out);
        }
        for (uint32_t k = 0; k < round.count; k++) {
            const struct chaos_planned *planned = &round.faults[k];
            char text[CHAOS_FAULT_TEXT_MAX], why[CHAOS_WHY_MAX];
            struct chaos_fault again;
            assert_null(parse(chaos_fault_text(&planned->fault, text), &again, why));
            again.net.seed = planned->fault.net.seed;
            assert_memory_equal(&again, &planned->fault, sizeof again);
            assert_false(is_out[planned->node]);
            uint64_t for_ns = planned->fault.for_ns;
            bool is_cut = planned->fault.verb == CHAOS_STOP || planned->fault.verb == CHAOS_CUT;
            if (is_cut && planned->outcome == CHAOS_NODE_DIES)
                assert_true(for_ns > timeout_ns * 5 / 4 + (round.count - 1) * 2 * timeout_ns);
            if (planned->kind == CHAOS_KIND_STOP_SHORT || planned->kind == CHAOS_KIND_CUT_SHORT)
                assert_true(for_ns * round.count <= spare_ns * 6 / 10 + round.count * MS);
            kinds[planned->kind]++;
            faults++;
        }
        for (uint32_t k = 0; k < round.count; k++) {
            const struct chaos_planned *planned = &round.faults[k];
            if (planned->outcome == CHAOS_NODE_DIES || planned->outcome == CHAOS_ONE_DIES)
                is_out[planned->node] = true;
            if (planned->outcome == CHAOS_ONE_DIES)
                is_out[planned->peer] = true;
        }
    }
    for (int i = 0; i < CHAOS_KINDS; i++)
        assert_true(kinds[i] > 0);
    assert_true(machines > 10 && machines < faults / 10);
}

/* ---- the law ---- */

enum { NODES = 4 };

static struct rig_page *page;

static int make_page(void **state)
{
    (void)state;
    page = rig_page_make(NODES, 1, rig_count_bytes(NODES, 1));
    return page == NULL ? -1 : 0;
}

static int free_page(void **state)
{
    (void)state;
    rig_page_free(page);
    return 0;
}

/* Every reader was told so often of this node, and of its process. */
static void tell_all(uint32_t node, uint8_t of_node, uint8_t of_process)
{
    for (uint32_t reader = 0; reader < NODES; reader++) {
        *rig_page_node(page, reader, node) = of_node;
        *rig_page_process(page, reader, node) = of_process;
    }
}

static struct chaos_findings find(const struct chaos_law *law)
{
    struct chaos_findings findings;
    chaos_law_find(law, page, &findings);
    bool is_bad = findings.missed + findings.duplicates + findings.wrong > 0;
    assert_int_equal(is_bad, findings.first[0] != '\0');
    return findings;
}

static void a_death_is_told_once_to_each_survivor(void **state)
{
    (void)state;
    struct chaos_law law = {.nodes = NODES};
    const struct chaos_planned dies = {.outcome = CHAOS_NODE_DIES, .node = 2};
    assert_int_equal(find(&law).told, 0);
    chaos_law_take(&law, &dies);
    assert_int_equal(find(&law).missed, 6); /* three survivors: the node, and its process */
    tell_all(2, 1, 1);
    assert_int_equal(find(&law).told, 6);
    assert_int_equal(find(&law).missed, 0);
    *rig_page_node(page, 3, 2) = 0;
    assert_int_equal(find(&law).missed, 1);
    assert_string_equal(find(&law).first, "node 2: its failure was not reported by process 3");
    *rig_page_node(page, 3, 2) = 2;
    assert_int_equal(find(&law).duplicates, 1);
    *rig_page_node(page, 3, 2) = 1;
    *rig_page_node(page, 0, 1) = 1;
    assert_int_equal(find(&law).wrong, 1);
    *rig_page_node(page, 0, 1) = 0;
    page->slots[1].wrong = 1;
    assert_int_equal(find(&law).wrong, 1);
}

/* It was killed before its node died: its death is told once. */
static void a_process_dies_before_its_node(void **state)
{
    (void)state;
    struct chaos_law law = {.nodes = NODES};
    const struct chaos_planned dies = {.outcome = CHAOS_PROCESS_DIES, .node = 1};
    const struct chaos_planned node_dies = {.outcome = CHAOS_NODE_DIES, .node = 1};
    chaos_law_take(&law, &dies);
    tell_all(1, 0, 1);
    assert_int_equal(find(&law).told, 3);
    assert_int_equal(find(&law).missed + find(&law).wrong, 0);
    chaos_law_take(&law, &node_dies);
    assert_int_equal(find(&law).missed, 3);
    tell_all(1, 1, 1);
    assert_int_equal(find(&law).missed + find(&law).duplicates, 0);
    tell_all(1, 1, 2);
    assert_int_equal(find(&law).duplicates, 3);
}

/* Whoever of the two it is, all survivors are told the same. */
static void of_two_one_dies(void **state)
{
    (void)state;
    struct chaos_law law = {.nodes = NODES};
    const struct chaos_planned part = {.outcome = CHAOS_ONE_DIES, .node = 0, .peer = 1};
    chaos_law_take(&law, &part);
    assert_int_equal(find(&law).missed, 1);
    tell_all(1, 1, 1);
    assert_int_equal(find(&law).missed + find(&law).wrong, 0);
    assert_int_equal(find(&law).told, 4); /* nodes 2 and 3 are the survivors */
    *rig_page_node(page, 3, 1) = 0;
    assert_int_equal(find(&law).missed, 1);
}

static void what_is_blurred_may_be_either(void **state)
{
    (void)state;
    struct chaos_law law = {.nodes = NODES};
    chaos_law_blur(&law, 3);
    assert_int_equal(find(&law).missed + find(&law).wrong, 0);
    tell_all(3, 1, 1);
    assert_int_equal(find(&law).missed + find(&law).wrong, 0);
    *rig_page_process(page, 0, 3) = 0;
    assert_int_equal(find(&law).missed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_sorted_and_joined),
        cmocka_unit_test(faults_are_read_and_written),
        cmocka_unit_test(wrong_faults_are_named),
        cmocka_unit_test(a_daemon_refuses_what_cannot_be),
        cmocka_unit_test(a_script_is_read),
        cmocka_unit_test(a_wrong_script_is_refused_with_its_line),
        cmocka_unit_test(what_was_told_meets_what_was_expected),
        cmocka_unit_test(one_of_two_is_expected),
        cmocka_unit_test(silence_is_expected),
        cmocka_unit_test(the_seed_draws_the_schedule),
        cmocka_unit_test(a_schedule_keeps_its_rules),
        cmocka_unit_test_setup_teardown(a_death_is_told_once_to_each_survivor, make_page,
                                        free_page),
        cmocka_unit_test_setup_teardown(a_process_dies_before_its_node, make_page, free_page),
        cmocka_unit_test_setup_teardown(of_two_one_dies, make_page, free_page),
        cmocka_unit_test_setup_teardown(what_is_blurred_may_be_either, make_page, free_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
