/* What is known of a death: its bytes, its rules, and its words. */
#include "test_local_random.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
/* after those above */
#include <cmocka.h>

static size_t encode(const struct mu_evidence *evidence, uint8_t bytes[MU_EVIDENCE_BYTES_MAX])
{
    struct mu_writer writer;
    mu_writer_init(&writer, bytes, MU_EVIDENCE_BYTES_MAX);
    mu_write_evidence(&writer, evidence);
    assert_false(writer.full);
    return writer.used;
}

static bool decode(const uint8_t *bytes, size_t count, struct mu_evidence *evidence)
{
    struct mu_reader reader;
    mu_reader_init(&reader, bytes, count);
    mu_read_evidence(&reader, evidence);
    return !reader.bad && mu_reader_left(&reader) == 0;
}

static void assert_same(const struct mu_evidence *a, const struct mu_evidence *b)
{
    assert_int_equal(a->verdict, b->verdict);
    assert_int_equal(a->cause, b->cause);
    assert_int_equal(a->seen_by, b->seen_by);
    assert_int_equal(a->node, b->node);
    assert_int_equal(a->pid, b->pid);
    assert_int_equal(a->how.type, b->how.type);
    assert_int_equal(a->how.code, b->how.code);
    assert_int_equal(a->how.signal, b->how.signal);
    assert_int_equal(a->how.core_dumped, b->how.core_dumped);
    assert_int_equal(a->how.step, b->how.step);
    assert_int_equal(a->how.error, b->how.error);
    assert_true(a->seen_ns == b->seen_ns && a->clock == b->clock);
    assert_string_equal(a->path, b->path);
    assert_true(a->ring.period_ns == b->ring.period_ns && a->ring.timeout_ns == b->ring.timeout_ns);
    assert_true(a->ring.silent_ns == b->ring.silent_ns && a->ring.suspect_ns == b->ring.suspect_ns);
    assert_true(a->ring.lag_ns == b->ring.lag_ns && a->ring.probes == b->ring.probes);
    assert_int_equal(a->ring.vouched_by, b->ring.vouched_by);
    assert_int_equal(a->ring.helper_count, b->ring.helper_count);
    for (int i = 0; i < MU_DETECT_HELPERS; i++) {
        assert_int_equal(a->ring.helpers[i].slot, b->ring.helpers[i].slot);
        assert_int_equal(a->ring.helpers[i].reach, b->ring.helpers[i].reach);
    }
}

static const struct mu_evidence killed = {
    .verdict = MU_VERDICT_DEAD,
    .cause = MU_CAUSE_EXIT,
    .seen_by = 3,
    .node = 3,
    .pid = 4711,
    .how = {.type = MU_EXIT_SIGNAL, .signal = 9},
    .seen_ns = 1000,
    .clock = 77,
};

static const struct mu_evidence silent = {
    .verdict = MU_VERDICT_SILENT,
    .cause = MU_CAUSE_SILENCE,
    .seen_by = 3,
    .node = 2,
    .seen_ns = 1000,
    .clock = 77,
    .ring =
        {
            .period_ns = 0x010203040506,
            .timeout_ns = 0x020406080a0d,
            .silent_ns = 101999999,
            .suspect_ns = 4,
            .lag_ns = 5,
            .probes = 6,
            .vouched_by = 7,
            .helper_count = 2,
            .helpers = {{8, MU_REACH_TRYING}, {9, MU_REACH_DEAD}},
        },
};

/* docs/local.md, byte by byte. */
static void the_bytes_are_those_of_the_page(void **state)
{
    (void)state;
    static const uint8_t expected[] = {
        1,                                         /* verdict */
        1,                                         /* cause */
        0,   0,   0,    3,                         /* seen by */
        0,   0,   0,    5,                         /* node */
        0,   0,   0x12, 0x67,                      /* process */
        3,   0,   0,    0,    7, 0, 0,    0,    2, /* how */
        0,   0,   0,    0,    0, 0, 0x03, 0xe8, 1,
        2,   3,   4,    5,    6, 7, 8,    4, /* when, and the path's length */
        'n', 'o', 'p',  'e',
    };
    struct mu_evidence evidence = {
        .verdict = MU_VERDICT_DEAD,
        .cause = MU_CAUSE_EXIT,
        .seen_by = 3,
        .node = 5,
        .pid = 4711,
        .how = mu_exit_kind_not_started(MU_START_EXEC, ENOENT),
        .seen_ns = 1000,
        .clock = 0x0102030405060708u,
        .path = "nope",
    };
    uint8_t bytes[MU_EVIDENCE_BYTES_MAX];
    assert_int_equal(encode(&evidence, bytes), sizeof expected);
    assert_memory_equal(bytes, expected, sizeof expected);
}

static void the_bytes_of_a_proof_are_those_of_the_page(void **state)
{
    (void)state;
    static const uint8_t expected[] = {
        2, 4, 0, 0, 0,    3,    0,    0,    0, 2, 0, 0, 0, 0,           /* to the pid */
        0, 0, 0, 0, 0,    0,    0,    0,    0,                          /* no end */
        0, 0, 0, 0, 0,    0,    3,    0xe8, 0, 0, 0, 0, 0, 0, 0, 77, 0, /* no path */
        0, 0, 1, 2, 3,    4,    5,    6,                                /* period */
        0, 0, 2, 4, 6,    8,    0x0a, 0x0d,                             /* timeout */
        0, 0, 0, 0, 0x06, 0x14, 0x65, 0x7f,                             /* silent */
        0, 0, 0, 0, 0,    0,    0,    4,                                /* suspect */
        0, 0, 0, 0, 0,    0,    0,    5,                                /* lag */
        0, 0, 0, 6,                                                     /* probes */
        0, 0, 0, 7,                                                     /* vouched by */
        2,                                                              /* helpers */
        0, 0, 0, 8, 1,                                                  /* the first */
        0, 0, 0, 9, 3,                                                  /* the second */
    };
    uint8_t bytes[MU_EVIDENCE_BYTES_MAX];
    assert_int_equal(encode(&silent, bytes), sizeof expected);
    assert_memory_equal(bytes, expected, sizeof expected);
    struct mu_evidence again;
    assert_true(decode(bytes, sizeof expected, &again));
    assert_same(&silent, &again);
}

static void what_goes_out_comes_in_again(void **state)
{
    (void)state;
    size_t longest = 0;
    for (uint64_t seed = 0; seed < 4000; seed++) {
        struct random r = {.state = seed, .slots = MU_SIZE_MAX, .small = seed % 2 == 0};
        struct mu_evidence evidence = random_evidence(&r), again;
        assert_null(mu_evidence_error(&evidence));
        uint8_t bytes[MU_EVIDENCE_BYTES_MAX];
        size_t count = encode(&evidence, bytes);
        assert_true(decode(bytes, count, &again));
        assert_same(&evidence, &again);
        longest = count > longest ? count : longest;
        for (size_t less = 0; less < count; less++)
            assert_false(decode(bytes, less, &again));
    }
    assert_int_equal(longest, MU_EVIDENCE_BYTES_MAX);
}

/* Whatever one byte is changed to: it is refused, or is another evidence with these very bytes. */
static void one_evidence_has_one_encoding(void **state)
{
    (void)state;
    struct random r = {.state = 1, .slots = MU_SIZE_MAX};
    uint64_t refused = 0;
    for (int round = 0; round < 40; round++) {
        struct mu_evidence evidence = random_evidence(&r), other;
        uint8_t bytes[MU_EVIDENCE_BYTES_MAX], again[MU_EVIDENCE_BYTES_MAX];
        size_t count = encode(&evidence, bytes);
        for (size_t at = 0; at < count; at++) {
            uint8_t before = bytes[at];
            for (unsigned value = 0; value < 256; value++) {
                bytes[at] = (uint8_t)value;
                if (!decode(bytes, count, &other)) {
                    refused++;
                    continue;
                }
                assert_int_equal(encode(&other, again), count);
                assert_memory_equal(again, bytes, count);
            }
            bytes[at] = before;
        }
    }
    assert_true(refused > 0);
}

#define BROKEN(field, value)                                                                       \
    do {                                                                                           \
        struct mu_evidence broken = killed;                                                        \
        broken.field = (value);                                                                    \
        assert_non_null(mu_evidence_error(&broken));                                               \
    } while (0)

static void every_rule_has_a_sentence(void **state)
{
    (void)state;
    assert_null(mu_evidence_error(&killed));
    BROKEN(verdict, 0);
    BROKEN(verdict, MU_VERDICT_LAST + 1);
    BROKEN(verdict, MU_VERDICT_LEFT);
    BROKEN(verdict, MU_VERDICT_SILENT);
    BROKEN(cause, 0);
    BROKEN(cause, MU_CAUSE_LAST + 1);
    BROKEN(cause, MU_CAUSE_NODE_LOST); /* which has no way to end */
    BROKEN(cause, MU_CAUSE_TOLD);      /* the same */
    struct mu_evidence by_witness = killed;
    by_witness.cause = MU_CAUSE_WITNESS;
    assert_null(mu_evidence_error(&by_witness));
    by_witness.verdict = MU_VERDICT_SILENT; /* what a witness saw is proven */
    assert_non_null(mu_evidence_error(&by_witness));
    by_witness.verdict = MU_VERDICT_DEAD;
    by_witness.how = mu_exit_kind_not_started(MU_START_EXEC, ENOENT);
    assert_non_null(mu_evidence_error(&by_witness));
    BROKEN(seen_by, MU_SIZE_MAX);
    BROKEN(node, MU_SIZE_MAX);
    BROKEN(pid, 1u << 31);
    BROKEN(how.type, MU_EXIT_LEFT);
    BROKEN(how.type, MU_EXIT_LAST + 1);
    BROKEN(how.code, 1);
    BROKEN(how.code, -1);
    BROKEN(how.signal, 0);
    BROKEN(how.signal, 65);
    BROKEN(how.step, MU_START_EXEC);
    BROKEN(how.error, ENOENT);
    BROKEN(path[0], 'x');
    struct mu_evidence evidence = {.verdict = MU_VERDICT_DEAD, .cause = MU_CAUSE_EXIT};
    evidence.how = mu_exit_kind_not_started(MU_START_EXEC, ENOENT);
    evidence.how.core_dumped = true;
    assert_non_null(mu_evidence_error(&evidence));
    evidence.how.core_dumped = false;
    assert_null(mu_evidence_error(&evidence));
    memset(evidence.path, 'x', sizeof evidence.path); /* no end */
    assert_non_null(mu_evidence_error(&evidence));
    mu_evidence_path(&evidence, "x");
    evidence.path[0] = '\n';
    assert_non_null(mu_evidence_error(&evidence));
    struct mu_evidence silent_exit = {.verdict = MU_VERDICT_DEAD, .cause = MU_CAUSE_EXIT};
    silent_exit.how = mu_exit_kind_no_goodbye(MU_GOODBYE_LAST);
    assert_null(mu_evidence_error(&silent_exit));
    silent_exit.how.code = MU_GOODBYE_LAST + 1;
    assert_non_null(mu_evidence_error(&silent_exit));
    silent_exit.how.code = MU_GOODBYE_SAID;
    assert_non_null(mu_evidence_error(&silent_exit));
    struct mu_evidence lost = {.verdict = MU_VERDICT_LEFT, .cause = MU_CAUSE_NODE_LOST};
    assert_non_null(mu_evidence_error(&lost));
}

#define RING_BROKEN(field, value)                                                                  \
    do {                                                                                           \
        struct mu_evidence broken = silent;                                                        \
        broken.field = (value);                                                                    \
        assert_non_null(mu_evidence_error(&broken));                                               \
    } while (0)

static void a_proof_of_the_ring_has_rules(void **state)
{
    (void)state;
    assert_null(mu_evidence_error(&silent));
    RING_BROKEN(verdict, MU_VERDICT_DEAD);
    RING_BROKEN(verdict, MU_VERDICT_UNREACHABLE);
    RING_BROKEN(cause, MU_CAUSE_UNREACHABLE); /* which others hear */
    RING_BROKEN(ring.period_ns, MU_PERIOD_NS_MIN - 1);
    RING_BROKEN(ring.period_ns, 0);
    RING_BROKEN(ring.timeout_ns, 2 * silent.ring.period_ns - 1);
    RING_BROKEN(ring.timeout_ns, MU_TIMEOUT_NS_MAX + 1);
    RING_BROKEN(ring.vouched_by, MU_SIZE_MAX);
    RING_BROKEN(ring.helper_count, MU_DETECT_HELPERS + 1);
    RING_BROKEN(ring.helper_count, 1); /* and one more that was not asked */
    RING_BROKEN(ring.helpers[0].slot, MU_SIZE_MAX);
    RING_BROKEN(ring.helpers[0].reach, MU_REACH_DEAD + 1);
    RING_BROKEN(ring.helpers[2].slot, 1);
    RING_BROKEN(ring.helpers[2].reach, MU_REACH_HEARD);
    struct mu_evidence evidence = silent;
    evidence.verdict = MU_VERDICT_UNREACHABLE;
    evidence.cause = MU_CAUSE_UNREACHABLE;
    assert_null(mu_evidence_error(&evidence));
    evidence.ring.vouched_by = MU_SLOT_NONE;
    assert_null(mu_evidence_error(&evidence));
    evidence.ring.helper_count = 0;
    memset(evidence.ring.helpers, 0, sizeof evidence.ring.helpers);
    assert_null(mu_evidence_error(&evidence));
    /* Nobody else has one. */
    evidence.verdict = MU_VERDICT_DEAD;
    evidence.cause = MU_CAUSE_WITNESS;
    assert_non_null(mu_evidence_error(&evidence));
    struct mu_evidence with_proof = killed;
    with_proof.ring = silent.ring;
    assert_non_null(mu_evidence_error(&with_proof));
}

/* What the detector knew, field by field. */
static void a_proof_is_what_the_detector_knew(void **state)
{
    (void)state;
    const struct mu_detect_evidence seen = {
        .cause = MU_DETECT_SILENT,
        .subject = 2,
        .period_ns = silent.ring.period_ns,
        .timeout_ns = silent.ring.timeout_ns,
        .silent_ns = silent.ring.silent_ns,
        .suspect_ns = 4,
        .lag_ns = 5,
        .probes = 6,
        .vouched_by = 7,
        .helpers = 2,
        .helper = {{8, MU_REACH_TRYING}, {9, MU_REACH_DEAD}},
    };
    struct mu_evidence evidence = silent;
    evidence.ring = mu_ring_proof_of(&seen);
    assert_same(&evidence, &silent);
}

static void a_long_path_keeps_its_end(void **state)
{
    (void)state;
    struct mu_evidence evidence;
    char path[MU_EVIDENCE_PATH_MAX + 20];
    memset(path, 'a', sizeof path);
    path[MU_EVIDENCE_PATH_MAX] = '\0';
    mu_evidence_path(&evidence, path);
    assert_string_equal(evidence.path, path);
    memcpy(path + MU_EVIDENCE_PATH_MAX, "/program", sizeof "/program");
    mu_evidence_path(&evidence, path);
    assert_int_equal(strlen(evidence.path), MU_EVIDENCE_PATH_MAX);
    assert_memory_equal(evidence.path, "...a", 4);
    assert_string_equal(evidence.path + MU_EVIDENCE_PATH_MAX - 8, "/program");
    mu_evidence_path(&evidence, "/t\xc3\xa4glich/\n");
    assert_string_equal(evidence.path, "/t??glich/?");
    mu_evidence_path(&evidence, NULL);
    assert_string_equal(evidence.path, "");
}

static void expect_text(const struct mu_evidence *evidence, const char *expected)
{
    char text[MU_EVIDENCE_TEXT_MAX];
    assert_string_equal(mu_evidence_text(evidence, text, sizeof text), expected);
}

static void it_reads_as_a_clause(void **state)
{
    (void)state;
    expect_text(&killed, "killed by SIGKILL");
    struct mu_evidence evidence = {.verdict = MU_VERDICT_LEFT, .cause = MU_CAUSE_EXIT};
    expect_text(&evidence, "exit code 0");
    evidence.verdict = MU_VERDICT_DEAD;
    evidence.how = mu_exit_kind_not_started(MU_START_EXEC, ENOENT);
    mu_evidence_path(&evidence, "./nope");
    expect_text(&evidence, "cannot start ./nope: No such file or directory");
    evidence = (struct mu_evidence){.verdict = MU_VERDICT_DEAD, .cause = MU_CAUSE_NODE_LOST};
    expect_text(&evidence, "its node failed");
    evidence.cause = MU_CAUSE_TOLD;
    evidence.seen_by = 4;
    expect_text(&evidence, "reported by node 4");
    evidence.cause = MU_CAUSE_WITNESS;
    expect_text(&evidence, "daemon ended with exit code 0");
    evidence.how = (struct mu_exit_kind){.type = MU_EXIT_SIGNAL, .signal = 9};
    expect_text(&evidence, "daemon killed by SIGKILL");
    evidence.how = (struct mu_exit_kind){.type = MU_EXIT_CODE, .code = 3};
    expect_text(&evidence, "daemon ended with exit code 3");
    expect_text(&silent, "no heartbeat for 101 ms");
    evidence = silent;
    evidence.cause = MU_CAUSE_UNREACHABLE;
    evidence.verdict = MU_VERDICT_UNREACHABLE;
    expect_text(&evidence, "no heartbeat at node 3 for 101 ms, though other nodes receive them");
    evidence =
        (struct mu_evidence){.verdict = MU_VERDICT_SILENT, .cause = MU_CAUSE_TOLD, .seen_by = 3};
    assert_null(mu_evidence_error(&evidence));
    assert_false(mu_evidence_is_proof(&evidence));
    expect_text(&evidence, "reported by node 3");
    evidence.verdict = MU_VERDICT_DEAD;
    assert_null(mu_evidence_error(&evidence));
    assert_true(mu_evidence_is_proof(&evidence));
    evidence.verdict = MU_VERDICT_UNREACHABLE;
    assert_non_null(mu_evidence_error(&evidence));
    evidence.cause = MU_CAUSE_WITNESS;
    char text[8];
    assert_string_equal(mu_evidence_text(&evidence, text, sizeof text), "daemon ");
}

static void verdicts_have_words(void **state)
{
    (void)state;
    static const char *const words[] = {"dead", "silent",       "unreachable", "hung",
                                        "slow", "failed-check", "left"};
    for (int verdict = MU_VERDICT_DEAD; verdict <= MU_VERDICT_LAST; verdict++)
        assert_string_equal(mu_verdict_word((enum mu_verdict)verdict), words[verdict - 1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_those_of_the_page),
        cmocka_unit_test(the_bytes_of_a_proof_are_those_of_the_page),
        cmocka_unit_test(what_goes_out_comes_in_again),
        cmocka_unit_test(one_evidence_has_one_encoding),
        cmocka_unit_test(every_rule_has_a_sentence),
        cmocka_unit_test(a_proof_of_the_ring_has_rules),
        cmocka_unit_test(a_proof_is_what_the_detector_knew),
        cmocka_unit_test(a_long_path_keeps_its_end),
        cmocka_unit_test(it_reads_as_a_clause),
        cmocka_unit_test(verdicts_have_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
