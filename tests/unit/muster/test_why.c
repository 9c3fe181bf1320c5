/* What 'muster why' says: the account of a death as JSON and back, its steps, and a report's lines.
 */
#include "cli/why.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* after those above */
#include <cmocka.h>

static struct account silent(void)
{
    struct account account = {
        .is_node = true,
        .job = 1,
        .node = 2,
        .verdict = MU_VERDICT_SILENT,
        .cause = MU_CAUSE_SILENCE,
        .how = "no heartbeat for 101 ms",
        .code = 255,
        .seen_by = 3,
        .ring = {.period_ns = 50000000,
                 .timeout_ns = 100000000,
                 .silent_ns = 101250000,
                 .suspect_ns = 38750000,
                 .lag_ns = 2500000,
                 .probes = 3,
                 .vouched_by = 0,
                 .helper_count = 3,
                 .helpers = {{0, MU_REACH_TRYING}, {1, MU_REACH_NONE}, {5, MU_REACH_DEAD}}},
    };
    account_list_add(&account.ranks, 4);
    account_list_add(&account.ranks, 5);
    account_add_told(&account, 0, 2, 2000000);
    account_add_told(&account, 3, 0, 200000);
    account_sort_told(&account);
    return account;
}

static struct account killed(void)
{
    struct account account = {
        .job = 1,
        .rank = 7,
        .pid = 4711,
        .node = 3,
        .verdict = MU_VERDICT_DEAD,
        .cause = MU_CAUSE_EXIT,
        .how = "killed by SIGKILL",
        .code = 137,
        .seen_by = 3,
    };
    account_add_told(&account, 3, 0, 100000);
    return account;
}

/* ---- JSON ---- */

/* Out, in, and out again: the same. */
static void expect_again(struct account account)
{
    struct account read;
    json_t *first = account_json(&account);
    const char *wrong = account_read(first, &read);
    if (wrong != NULL)
        fail_msg("%s", wrong);
    json_t *second = account_json(&read);
    assert_true(json_equal(first, second));
    json_decref(first);
    json_decref(second);
    account_free(&read);
    account_free(&account);
}

static void an_account_comes_back_as_it_went(void **state)
{
    (void)state;
    expect_again(silent());
    expect_again(killed());
    struct account account = silent();
    account.cause = 0; /* only the launcher knows */
    account.verdict = MU_VERDICT_DEAD;
    account.seen_by = MU_SLOT_NONE;
    account.told_count = 0;
    account_list_add(&account.untold, 6);
    expect_again(account);
    account = silent();
    account.cause = MU_CAUSE_UNREACHABLE;
    account.verdict = MU_VERDICT_UNREACHABLE;
    account.ring.vouched_by = MU_SLOT_NONE;
    account.ring.helper_count = 0;
    expect_again(account);
}

static void everybody_knew_when_the_last_one_did(void **state)
{
    (void)state;
    struct account account = silent();
    json_t *object = account_json(&account);
    assert_true(json_real_value(json_object_get(object, "all_told_ms")) == 2.0);
    json_decref(object);
    account_list_add(&account.untold, 6);
    object = account_json(&account);
    assert_true(json_is_null(json_object_get(object, "all_told_ms")));
    json_decref(object);
    account_free(&account);
}

/* One field after the other is left out, or is something else. */
static void broken_lines_are_refused(void **state)
{
    (void)state;
    struct account accounts[] = {silent(), killed()}, read;
    static const char *const not_needed[] = {"all_told_ms", "processes"};
    for (size_t i = 0; i < 2; i++) {
        json_t *good = account_json(&accounts[i]);
        const char *name;
        json_t *value;
        json_object_foreach(good, name, value)
        {
            bool needed = true;
            for (size_t k = 0; k < 2; k++)
                needed = needed && strcmp(name, not_needed[k]) != 0;
            json_t *without = json_copy(good), *other = json_copy(good);
            json_object_del(without, name);
            json_object_set_new(other, name, json_true());
            if (needed && account_read(without, &read) == NULL)
                fail_msg("taken without '%s'", name);
            if (needed && account_read(other, &read) == NULL)
                fail_msg("taken with another '%s'", name);
            if (!needed) {
                assert_null(account_read(without, &read));
                account_free(&read);
            }
            json_decref(without);
            json_decref(other);
        }
        json_decref(good);
        account_free(&accounts[i]);
    }
    json_t *array = json_array();
    assert_non_null(account_read(array, &read));
    json_decref(array);
}

static void numbers_out_of_range_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value;
    } wrong[] = {
        {"job", "4294967296"},
        {"job", "-1"},
        {"node", "16777216"},
        {"code", "256"},
        {"seen_by", "16777216"},
        {"ranks", "[-1]"},
        {"untold", "[4294967296]"},
        {"told", "[{\"node\":1,\"ms\":-1,\"hops\":0}]"},
        {"told", "[{\"node\":1,\"ms\":1e300,\"hops\":0}]"},
        {"told", "[{\"node\":1,\"ms\":1,\"hops\":65536}]"},
        {"told", "[1]"},
        {"verdict", "\"bored\""},
        {"cause", "\"boredom\""},
        {"silent_ms", "-0.1"},
        {"probes", "4294967296"},
        {"helpers", "[{\"node\":1,\"reach\":\"far\"}]"},
        {"helpers", "[{\"node\":null,\"reach\":\"heard\"}]"},
        {"helpers", "[{},{},{},{}]"},
    };
    struct account account = silent(), read;
    json_t *good = account_json(&account);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        json_t *broken = json_copy(good);
        json_t *value = json_loads(wrong[i].value, JSON_DECODE_ANY, NULL);
        assert_non_null(value);
        json_object_set_new(broken, wrong[i].name, value);
        if (account_read(broken, &read) == NULL)
            fail_msg("taken with %s %s", wrong[i].name, wrong[i].value);
        json_decref(broken);
    }
    json_decref(good);
    account_free(&account);
}

static void words_for_scripts_are_found_again(void **state)
{
    (void)state;
    for (uint8_t cause = 1; cause <= MU_CAUSE_LAST; cause++)
        assert_int_equal(cause_of_word(cause_word((enum mu_cause)cause)), cause);
    for (uint8_t verdict = 1; verdict <= MU_VERDICT_LAST; verdict++)
        assert_int_equal(verdict_of_word(mu_verdict_word((enum mu_verdict)verdict)), verdict);
    assert_int_equal(cause_of_word(""), 0);
    assert_int_equal(verdict_of_word("Dead"), 0);
}

/* ---- steps ---- */

static void expect_steps(struct account account, const char *const *texts, size_t count)
{
    struct why_step steps[WHY_STEPS_MAX];
    size_t made = why_steps(&account, steps);
    for (size_t i = 0; i < made && i < count; i++) {
        char text[WHY_STEP_TEXT_MAX + 64];
        if (steps[i].has_time)
            snprintf(text, sizeof text, "%s %.2f: %s", steps[i].word, (double)steps[i].at_ns / 1e6,
                     steps[i].text);
        else
            snprintf(text, sizeof text, "%s: %s", steps[i].word, steps[i].text);
        assert_string_equal(text, texts[i]);
    }
    assert_int_equal(made, count);
    account_free(&account);
}
#define EXPECT_STEPS(account, ...)                                                                 \
    do {                                                                                           \
        static const char *const texts[] = {__VA_ARGS__};                                          \
        expect_steps(account, texts, sizeof texts / sizeof texts[0]);                              \
    } while (0)

static void a_silence_is_told_from_the_last_heartbeat_on(void **state)
{
    (void)state;
    EXPECT_STEPS(
        silent(),
        "heard 0.00: node 3, its observer, received the last heartbeat (period 50 ms, timeout "
        "100 ms)",
        "late 62.50: heartbeat late: suspected by node 3; 3 probes sent, none answered",
        "helper: asked node 0 to probe it: probes not answered",
        "helper: asked node 1 to probe it: no reply",
        "helper: asked node 5 to probe it: it knew of its failure already",
        "vouched: node 0 answered node 3, so node 3 was connected",
        "lag: node 3 itself was late by 2.50 ms, which were added to the timeout",
        "declared 101.25: node 3 declared it failed",
        "known 103.25: all 2 surviving nodes notified (last: node 0, 2 hops)");
}

/* Found while the ring mended, by somebody who had never observed it, and was alone. */
static void a_silence_that_nobody_observed(void **state)
{
    (void)state;
    struct account account = silent();
    account.ring.suspect_ns = account.ring.silent_ns;
    account.ring.helper_count = 0;
    account.ring.vouched_by = MU_SLOT_NONE;
    account.ring.lag_ns = 0;
    account.ring.probes = 1;
    account.told_count = 1;
    for (uint32_t node = 10; node < 20; node++)
        account_list_add(&account.untold, node);
    account_list_add(&account.no_answer, 9);
    EXPECT_STEPS(account,
                 "asked 0.00: node 3 became its observer, because those between them had failed, "
                 "and sent 1 probe: no reply (period 50 ms, timeout 100 ms)",
                 "helper: no other node was left to probe it",
                 "vouched: no other node was left to confirm that node 3 was connected",
                 "lag: node 3 itself was on time", "declared 101.25: node 3 declared it failed",
                 "known 101.45: 1 of 12 surviving nodes notified (last: node 3, 0 hops)",
                 "untold: notification not confirmed by nodes 10, 11, 12, 13, 14, 15, 16, 17 and 2 "
                 "more",
                 "no-answer: no answer from node 9");
}

static void whom_others_hear_is_declared_for_another_reason(void **state)
{
    (void)state;
    struct why_step steps[WHY_STEPS_MAX];
    struct account account = silent();
    account.cause = MU_CAUSE_UNREACHABLE;
    account.ring.helpers[0].reach = MU_REACH_HEARD;
    why_steps(&account, steps);
    assert_string_equal(steps[2].text, "asked node 0 to probe it: it receives its heartbeats");
    assert_string_equal(
        steps[7].text,
        "node 3 declared it failed: other nodes received its heartbeats, node 3 did not");
    account.seen_by = account.node; /* it gave way */
    why_steps(&account, steps);
    assert_string_equal(steps[7].text,
                        "node 2 gave up: it was on the smaller side of a broken connection");
    account_free(&account);
}

static void other_ends_are_told_from_when_they_were_seen(void **state)
{
    (void)state;
    EXPECT_STEPS(killed(),
                 "ended 0.00: the daemon of node 3 saw rank 7 (PID 4711) end: killed by SIGKILL",
                 "known 0.10: 1 surviving node notified (last: node 3, 0 hops)");
    struct account account = silent();
    account.cause = MU_CAUSE_WITNESS;
    EXPECT_STEPS(account, "witness 0.00: its witness reported to node 3 that the daemon has ended",
                 "known 2.00: all 2 surviving nodes notified (last: node 0, 2 hops)");
    account = killed();
    account.cause = MU_CAUSE_NODE_LOST;
    account.told_count = 0;
    EXPECT_STEPS(account, "lost 0.00: its node, 3, failed",
                 "known: no node has confirmed notification");
    account = silent();
    account.cause = 0;
    snprintf(account.how, sizeof account.how, "its connection was cut");
    account.told_count = 0;
    EXPECT_STEPS(account, "lost 0.00: the launcher lost it: its connection was cut",
                 "known: no node has confirmed notification");
}

static void sentences_name_the_subject(void **state)
{
    (void)state;
    char text[ACCOUNT_SENTENCE_MAX];
    struct account node = silent(), process = killed();
    assert_string_equal(account_sentence(&node, text),
                        "node 2 failed (silent): no heartbeat for 101 ms");
    assert_string_equal(account_sentence(&process, text),
                        "rank 1.7 failed on node 3: killed by SIGKILL");
    process.verdict = MU_VERDICT_LEFT;
    assert_string_equal(account_sentence(&process, text), "rank 1.7 exited on node 3");
    account_free(&node);
    account_free(&process);
}

/* ---- who is meant ---- */

static void subjects_are_nodes_or_processes(void **state)
{
    (void)state;
    struct why_subject subject;
    assert_true(why_subject_read("2", &subject));
    assert_true(subject.is_node && subject.node == 2);
    assert_true(why_subject_read("16777215", &subject));
    assert_true(why_subject_read("1.4", &subject));
    assert_true(!subject.is_node && subject.job == 1 && subject.rank == 4);
    assert_true(why_subject_read("4294967295.4294967295", &subject));
    static const char *const wrong[] = {"",
                                        ".",
                                        "1.",
                                        ".4",
                                        "a",
                                        "1.a",
                                        "1.4.2",
                                        "-1",
                                        "1.-4",
                                        " 1",
                                        "16777216",
                                        "1.4294967296",
                                        "0x1",
                                        "1.4 ",
                                        "4294967296.1",
                                        "99999999999999999999",
                                        "1,4",
                                        "node 1",
                                        "1.444444444444444444444444444444444"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (why_subject_read(wrong[i], &subject))
            fail_msg("'%s' was taken", wrong[i]);
}

/* ---- a report ---- */

static void write_line(FILE *file, struct account account)
{
    json_t *object = account_json(&account);
    json_dumpf(object, file, JSON_COMPACT);
    fputc('\n', file);
    json_decref(object);
    account_free(&account);
}

static FILE *make_report(void)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    write_line(file, killed());
    write_line(file, silent());
    rewind(file);
    return file;
}

static void a_report_knows_who_died(void **state)
{
    (void)state;
    char text[WHY_TEXT_MAX];
    struct account account;
    FILE *file = make_report();
    const struct why_subject node = {.is_node = true, .node = 2}, process = {.job = 1, .rank = 7},
                             lost = {.job = 1, .rank = 5};
    assert_true(why_report(file, "it", &node, &account, text));
    assert_true(account.is_node && account.node == 2 && account.ring.silent_ns == 101250000);
    account_free(&account);
    rewind(file);
    assert_true(why_report(file, "it", &process, &account, text));
    assert_true(!account.is_node && account.rank == 7 && account.pid == 4711);
    account_free(&account);
    rewind(file);
    assert_true(why_report(file, "it", &lost, &account, text));
    assert_true(!account.is_node && account.rank == 5 && account.node == 2);
    assert_int_equal(account.cause, MU_CAUSE_NODE_LOST);
    assert_string_equal(account.how, "its node failed");
    account_free(&account);
    fclose(file);
}

static void a_report_says_what_it_does_not_know(void **state)
{
    (void)state;
    char text[WHY_TEXT_MAX];
    struct account account;
    FILE *file = make_report();
    const struct why_subject node = {.is_node = true, .node = 3}, process = {.job = 2, .rank = 7};
    assert_false(why_report(file, "it", &node, &account, text));
    assert_string_equal(text, "it has no failure of node 3");
    rewind(file);
    assert_false(why_report(file, "it", &process, &account, text));
    assert_non_null(strstr(text, "it has no failure of rank 7 of job 2"));
    /* What was found before a broken line is not believed, either. */
    fseek(file, 0, SEEK_END);
    fputs("{\"job\":", file);
    rewind(file);
    const struct why_subject known = {.is_node = true, .node = 2};
    assert_false(why_report(file, "it", &known, &account, text));
    assert_string_equal(text, "it: line 3 is not a line of a report: not JSON");
    fclose(file);
}

static void the_last_line_counts(void **state)
{
    (void)state;
    char text[WHY_TEXT_MAX];
    struct account account, later = silent();
    FILE *file = make_report();
    fseek(file, 0, SEEK_END);
    later.ring.silent_ns = 999000000;
    write_line(file, later);
    rewind(file);
    const struct why_subject node = {.is_node = true, .node = 2};
    assert_true(why_report(file, "it", &node, &account, text));
    assert_int_equal(account.ring.silent_ns, 999000000);
    account_free(&account);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_account_comes_back_as_it_went),
        cmocka_unit_test(everybody_knew_when_the_last_one_did),
        cmocka_unit_test(broken_lines_are_refused),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(words_for_scripts_are_found_again),
        cmocka_unit_test(a_silence_is_told_from_the_last_heartbeat_on),
        cmocka_unit_test(a_silence_that_nobody_observed),
        cmocka_unit_test(whom_others_hear_is_declared_for_another_reason),
        cmocka_unit_test(other_ends_are_told_from_when_they_were_seen),
        cmocka_unit_test(sentences_name_the_subject),
        cmocka_unit_test(subjects_are_nodes_or_processes),
        cmocka_unit_test(a_report_knows_who_died),
        cmocka_unit_test(a_report_says_what_it_does_not_know),
        cmocka_unit_test(the_last_line_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
