/* What a daemon and the programs of its host say to each other: bytes, rules, names. */
#include "test_local_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
/* after those above */
#include <cmocka.h>

/* ---- bytes ---- */

static void expect_bytes(const struct mu_local_message *message, const uint8_t *expected,
                         size_t count)
{
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    assert_int_equal(mu_local_encode(message, bytes), count);
    assert_memory_equal(bytes, expected, count);
}

/* docs/local.md, byte by byte. */
static void the_bytes_are_those_of_the_page(void **state)
{
    (void)state;
    struct mu_local_message hello = {
        .type = MU_LOCAL_HELLO,
        .hello = {
            .version = MU_LOCAL_VERSION, .role = MU_LOCAL_MEMBER, .job = 7, .rank = 0x01020304}};
    expect_bytes(&hello, (uint8_t[]){1, 5, 1, 0, 0, 0, 7, 1, 2, 3, 4}, 11);
    struct mu_local_message kill = {.type = MU_LOCAL_KILL, .kill = {.job = 7, .signal = 15}};
    expect_bytes(&kill, (uint8_t[]){3, 0, 0, 0, 7, 15}, 6);
    struct mu_local_message welcome = {
        .type = MU_LOCAL_WELCOME,
        .welcome = {
            .machine = 0x0102030405060708u, .nodes = 8, .slot = 3, .job = 7, .rank = 2, .size = 9}};
    expect_bytes(&welcome, (uint8_t[]){32, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 8, 0, 0,
                                       0,  3, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0, 9},
                 29);
    struct mu_local_message refused = {.type = MU_LOCAL_REFUSED,
                                       .refused = {.code = MU_LOCAL_NOT_KNOWN, .text = "no"}};
    expect_bytes(&refused, (uint8_t[]){33, 3, 2, 'n', 'o'}, 5);
    struct mu_local_message again = {.type = MU_LOCAL_AGAIN, .again.serial = 258};
    expect_bytes(&again, (uint8_t[]){5, 0, 0, 0, 0, 0, 0, 1, 2}, 9);
    struct mu_local_message caught_up = {.type = MU_LOCAL_CAUGHT_UP, .caught_up.serial = 259};
    expect_bytes(&caught_up, (uint8_t[]){35, 0, 0, 0, 0, 0, 0, 1, 3}, 9);
    struct mu_local_message lost = {.type = MU_LOCAL_LOST, .lost.count = 258};
    expect_bytes(&lost, (uint8_t[]){36, 0, 0, 0, 0, 0, 0, 1, 2}, 9);
    struct mu_local_message counter = {.type = MU_LOCAL_COUNTER,
                                       .counter = {.name = "ab", .value = 3}};
    expect_bytes(&counter, (uint8_t[]){39, 0, 0, 0, 0, 0, 0, 0, 3, 2, 'a', 'b'}, 12);
    struct mu_local_message job = {.type = MU_LOCAL_JOB,
                                   .job = {.job = 7, .size = 9, .here = 2, .failed = 1, .left = 3}};
    expect_bytes(&job, (uint8_t[]){38, 0, 0, 0, 7, 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3},
                 21);
    expect_bytes(&(struct mu_local_message){.type = MU_LOCAL_STATUS}, (uint8_t[]){2}, 1);
    expect_bytes(&(struct mu_local_message){.type = MU_LOCAL_WATCH}, (uint8_t[]){4}, 1);
    struct mu_local_message set = {.type = MU_LOCAL_SET,
                                   .set = {.period_ns = 0x01020304, .timeout_ns = 0x05060708}};
    expect_bytes(&set, (uint8_t[]){6, 0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8}, 17);
    struct mu_local_message none = {.type = MU_LOCAL_CHAOS};
    expect_bytes(&none, (uint8_t[54]){7}, 54);
    struct mu_local_message cut = {.type = MU_LOCAL_CHAOS,
                                   .chaos = {.kind = MU_CHAOS_CUT,
                                             .out = true,
                                             .held = true,
                                             .for_ns = 258,
                                             .range_count = 1,
                                             .ranges = {{3, 5}}}};
    uint8_t bytes[62] = {7, 1, 0, 1, 1, [11] = 1, 2, [53] = 1, [57] = 3, [61] = 5};
    expect_bytes(&cut, bytes, sizeof bytes);
    struct mu_local_message process = {.type = MU_LOCAL_PROCESS, .process = {7, 258}};
    expect_bytes(&process, (uint8_t[]){41, 0, 0, 0, 7, 0, 0, 1, 2}, 9);
    expect_bytes(&(struct mu_local_message){.type = MU_LOCAL_LEAVE}, (uint8_t[]){8}, 1);
    expect_bytes(&(struct mu_local_message){.type = MU_LOCAL_DONE}, (uint8_t[]){40}, 1);
}

static void the_bytes_of_an_event(void **state)
{
    (void)state;
    struct mu_local_message message = {
        .type = MU_LOCAL_EVENT,
        .event = {.serial = 5,
                  .subject = MU_SUBJECT_PROCESS,
                  .is_state = true,
                  .hops = 2,
                  .job = 7,
                  .rank = 4,
                  .node = 6,
                  .learned_ns = 256,
                  .age_ns = 9,
                  .evidence = {.verdict = MU_VERDICT_DEAD, .cause = MU_CAUSE_NODE_LOST, .node = 6}},
    };
    static const uint8_t expected[] = {
        34, 1, 0, 0, 0, 0, 0, 0, 0, 5, 1, 0, 2, 0, 0, 0, 7, 0, 0, 0, 4, /* to the rank */
        0,  0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 9, 1, 2, 0, 0, 0, 0, 0, 0, 0, 6,
    };
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    assert_int_equal(mu_local_encode(&message, bytes), MU_LOCAL_EVENT_MAX - MU_EVIDENCE_PATH_MAX);
    assert_memory_equal(bytes, expected, sizeof expected);
    assert_int_equal(bytes[MU_LOCAL_STATE_AT], 1);
}

static void the_bytes_of_a_view(void **state)
{
    (void)state;
    struct mu_local_message message = {.type = MU_LOCAL_EVENT,
                                       .event = {.serial = 5,
                                                 .subject = MU_SUBJECT_VIEW,
                                                 .learned_ns = 256,
                                                 .view = {.number = 3,
                                                          .hash = 7,
                                                          .total = 4,
                                                          .is_first = true,
                                                          .is_last = true,
                                                          .span_count = 2,
                                                          .spans = {{0, 3}, {5, 1}}}}};
    static const uint8_t expected[] = {
        34, 0, 0, 0, 0, 0, 0, 0, 0, 5, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* to the rank */
        0,  0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,                /* to the age */
        0,  0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 4, 1,
        1,  2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0, 1,
    };
    struct mu_local_message in;
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    assert_int_equal(mu_local_encode(&message, bytes), sizeof expected);
    assert_memory_equal(bytes, expected, sizeof expected);
    assert_null(mu_local_decode(bytes, sizeof expected, &in));
    bytes[56] = 5; /* more members than there are */
    assert_non_null(mu_local_decode(bytes, sizeof expected, &in));
    bytes[56] = 4;
    bytes[71] = 3; /* no gap between the spans */
    assert_non_null(mu_local_decode(bytes, sizeof expected, &in));
    bytes[71] = 5;
    bytes[59] = 17; /* more spans than one part has */
    assert_non_null(mu_local_decode(bytes, sizeof expected, &in));
}

static void what_goes_out_comes_in_again(void **state)
{
    (void)state;
    size_t longest = 0;
    for (uint64_t seed = 0; seed < 6000; seed++) {
        struct random r = {.state = seed, .slots = MU_SIZE_MAX, .small = seed % 5 == 0};
        struct mu_local_message message = random_local(&r, local_types[seed % LOCAL_TYPES]), in;
        uint8_t bytes[MU_LOCAL_PACKET_MAX], again[MU_LOCAL_PACKET_MAX];
        size_t count = mu_local_encode(&message, bytes);
        assert_null(mu_local_decode(bytes, count, &in));
        assert_int_equal(in.type, message.type);
        assert_int_equal(mu_local_encode(&in, again), count);
        assert_memory_equal(again, bytes, count);
        longest = count > longest ? count : longest;
        for (size_t less = 0; less < count; less++)
            assert_non_null(mu_local_decode(bytes, less, &in));
        bytes[count] = 0;
        assert_non_null(mu_local_decode(bytes, count + 1, &in));
    }
    assert_true(longest < MU_LOCAL_PACKET_MAX);
}

static void fields_come_in_as_they_went_out(void **state)
{
    (void)state;
    struct random r = {.state = 9, .slots = MU_SIZE_MAX};
    for (int i = 0; i < 1000; i++) {
        struct mu_local_message message = random_local(&r, MU_LOCAL_EVENT), in;
        uint8_t bytes[MU_LOCAL_PACKET_MAX];
        assert_null(mu_local_decode(bytes, mu_local_encode(&message, bytes), &in));
        assert_true(in.event.serial == message.event.serial);
        assert_int_equal(in.event.subject, message.event.subject);
        assert_int_equal(in.event.is_state, message.event.is_state);
        assert_int_equal(in.event.hops, message.event.hops);
        assert_int_equal(in.event.job, message.event.job);
        assert_int_equal(in.event.rank, message.event.rank);
        assert_int_equal(in.event.node, message.event.node);
        assert_true(in.event.learned_ns == message.event.learned_ns);
        assert_true(in.event.age_ns == message.event.age_ns);
        if (in.event.subject == MU_SUBJECT_VIEW)
            assert_memory_equal(&in.event.view, &message.event.view, sizeof in.event.view);
        else
            assert_string_equal(in.event.evidence.path, message.event.evidence.path);
    }
    struct mu_local_message node = random_local(&r, MU_LOCAL_NODE), in;
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    assert_null(mu_local_decode(bytes, mu_local_encode(&node, bytes), &in));
    assert_memory_equal(&in.node, &node.node, offsetof(struct mu_local_node, host));
    assert_string_equal(in.node.host, node.node.host);
    assert_string_equal(in.node.address, node.node.address);
}

/* The way of an event by itself is the same: over the board it is all that is used. */
static void an_event_alone_is_the_same(void **state)
{
    (void)state;
    struct random r = {.state = 4, .slots = MU_SIZE_MAX};
    for (int i = 0; i < 1000; i++) {
        struct mu_local_message message = random_local(&r, MU_LOCAL_EVENT);
        struct mu_local_event in;
        uint8_t bytes[MU_LOCAL_PACKET_MAX], alone[MU_LOCAL_EVENT_MAX], again[MU_LOCAL_EVENT_MAX];
        size_t count = mu_local_encode(&message, bytes);
        assert_int_equal(mu_local_encode_event(&message.event, alone), count);
        assert_memory_equal(alone, bytes, count);
        memset(&in, 0x5a, sizeof in);
        assert_null(mu_local_decode_event(bytes, count, &in));
        assert_int_equal(mu_local_encode_event(&in, again), count);
        assert_memory_equal(again, bytes, count);
    }
    /* Of any other bytes both say the same: one byte of each type of message is changed. */
    for (int round = 0; round < 4 * LOCAL_TYPES; round++) {
        struct mu_local_message message = random_local(&r, local_types[round % LOCAL_TYPES]), in;
        struct mu_local_event event;
        uint8_t bytes[MU_LOCAL_PACKET_MAX] = {0};
        size_t count = mu_local_encode(&message, bytes);
        for (size_t at = 0; at <= count; at++) {
            bytes[at] ^= (uint8_t)random_between(&r, 1, 255);
            bool is_event = mu_local_decode(bytes, count, &in) == NULL && in.type == MU_LOCAL_EVENT;
            assert_int_equal(mu_local_decode_event(bytes, count, &event) == NULL, is_event);
            is_event = mu_local_decode(bytes, at, &in) == NULL && in.type == MU_LOCAL_EVENT;
            assert_int_equal(mu_local_decode_event(bytes, at, &event) == NULL, is_event);
        }
    }
}

/* Whatever one byte is changed to: it is refused, or is another message with these very bytes. */
static void one_message_has_one_encoding(void **state)
{
    (void)state;
    struct random r = {.state = 2, .slots = MU_SIZE_MAX, .small = true};
    for (int round = 0; round < 2 * LOCAL_TYPES; round++) {
        struct mu_local_message message = random_local(&r, local_types[round % LOCAL_TYPES]), in;
        uint8_t bytes[MU_LOCAL_PACKET_MAX], again[MU_LOCAL_PACKET_MAX];
        size_t count = mu_local_encode(&message, bytes);
        for (size_t at = 0; at < count; at++) {
            uint8_t before = bytes[at];
            for (unsigned value = 0; value < 256; value++) {
                bytes[at] = (uint8_t)value;
                if (mu_local_decode(bytes, count, &in) != NULL ||
                    (in.type == MU_LOCAL_HELLO && in.hello.version != MU_LOCAL_VERSION))
                    continue;
                assert_int_equal(mu_local_encode(&in, again), count);
                assert_memory_equal(again, bytes, count);
            }
            bytes[at] = before;
        }
    }
}

/* ---- rules ---- */

static void expect_broken(const uint8_t *bytes, size_t count)
{
    struct mu_local_message message;
    const char *rule = mu_local_decode(bytes, count, &message);
    assert_non_null(rule);
    assert_true(strlen(rule) > 0 && strlen(rule) <= MU_LOCAL_TEXT_MAX);
}
#define EXPECT_BROKEN(...)                                                                         \
    do {                                                                                           \
        static const uint8_t broken[] = {__VA_ARGS__};                                             \
        expect_broken(broken, sizeof broken);                                                      \
    } while (0)

static void what_breaks_a_rule_is_refused(void **state)
{
    (void)state;
    uint8_t zeros[MU_LOCAL_PACKET_MAX + 1] = {0};
    expect_broken(zeros, 0);
    expect_broken(zeros, 1);
    zeros[0] = MU_LOCAL_STATUS;
    expect_broken(zeros, sizeof zeros);
    EXPECT_BROKEN(5);                          /* AGAIN without a serial */
    EXPECT_BROKEN(5, 0, 0, 0, 0, 0, 0, 0, 0);  /* and with one that is none */
    EXPECT_BROKEN(7, 1);                       /* a fault ends before its last field */
    EXPECT_BROKEN(41, 0, 0, 0, 0, 0, 0, 0, 0); /* a process without a number */
    EXPECT_BROKEN(8, 0);                       /* LEAVE with more than that */
    EXPECT_BROKEN(9);                          /* what comes after it */
    EXPECT_BROKEN(31);
    EXPECT_BROKEN(41);
    EXPECT_BROKEN(255);
    EXPECT_BROKEN(1);                               /* HELLO without a version */
    EXPECT_BROKEN(1, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0); /* no role */
    EXPECT_BROKEN(1, 5, 4, 0, 0, 0, 0, 0, 0, 0, 0); /* nor this */
    EXPECT_BROKEN(1, 5, 2, 0, 0, 0, 1, 0, 0, 0, 0); /* an operator with a job */
    EXPECT_BROKEN(1, 5, 2, 0, 0, 0, 0, 0, 0, 0, 1); /* and with a rank */
    EXPECT_BROKEN(3, 0, 0, 0, 1, 0);                /* signal 0 */
    EXPECT_BROKEN(3, 0, 0, 0, 1, 65);               /* and 65 */
    EXPECT_BROKEN(5, 0, 0, 0, 0, 0, 0, 0, 0);       /* there is no event 0 to be told again */
    EXPECT_BROKEN(8, 0);                            /* more than LEAVE */
    EXPECT_BROKEN(35);                              /* caught up, but with what? */
    EXPECT_BROKEN(33, 0, 1, 'x');                   /* a refusal without a reason */
    EXPECT_BROKEN(33, 1, 0);                        /* and without a text */
    EXPECT_BROKEN(33, 1, 2, 'x');                   /* with less text than it says */
    EXPECT_BROKEN(33, 1, 1, 'x', 'y');              /* and with more */
    EXPECT_BROKEN(33, 1, 1, '\n');
    EXPECT_BROKEN(33, 1, 1, 0x7f);
    EXPECT_BROKEN(33, 1, 2, 'x', 0);
    EXPECT_BROKEN(36, 0, 0, 0, 0, 0, 0, 0, 0); /* nobody loses nothing */
    EXPECT_BROKEN(38, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0);
    EXPECT_BROKEN(38, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2);
    uint8_t text[MU_LOCAL_PACKET_MAX] = {33, 1, MU_LOCAL_TEXT_MAX + 1};
    memset(text + 3, 'x', MU_LOCAL_TEXT_MAX + 1);
    expect_broken(text, 3 + MU_LOCAL_TEXT_MAX + 1);
}

/* SET: the rules of the detector, and none of them broken by the neighbours of what is right. */
static void expect_times(uint64_t period_ns, uint64_t timeout_ns, bool good)
{
    uint8_t bytes[17] = {MU_LOCAL_SET};
    struct mu_local_message message;
    for (int i = 0; i < 8; i++) {
        bytes[1 + i] = (uint8_t)(period_ns >> (56 - 8 * i));
        bytes[9 + i] = (uint8_t)(timeout_ns >> (56 - 8 * i));
    }
    assert_int_equal(mu_local_decode(bytes, sizeof bytes, &message) == NULL, good);
    if (good)
        assert_true(message.set.period_ns == period_ns && message.set.timeout_ns == timeout_ns);
}

static void times_that_cannot_be_are_refused(void **state)
{
    (void)state;
    expect_times(MU_PERIOD_NS_MIN, 2 * MU_PERIOD_NS_MIN, true);
    expect_times(MU_PERIOD_NS_MIN, 2 * MU_PERIOD_NS_MIN - 1, false);
    expect_times(MU_PERIOD_NS_MIN - 1, 2 * MU_PERIOD_NS_MIN, false);
    expect_times(0, 0, false);
    expect_times(MU_TIMEOUT_NS_MAX / 2, MU_TIMEOUT_NS_MAX, true);
    expect_times(MU_TIMEOUT_NS_MAX / 2, MU_TIMEOUT_NS_MAX + 1, false);
    expect_times(MU_PERIOD_NS_MIN, UINT64_MAX, false);
    expect_times(UINT64_MAX, 1, false); /* twice it would be a small number */
}

static void expect_broken_event(size_t at, uint8_t value)
{
    struct mu_local_message message = {
        .type = MU_LOCAL_EVENT,
        .event = {.serial = 1,
                  .subject = MU_SUBJECT_NODE,
                  .node = 2,
                  .evidence = {.verdict = MU_VERDICT_DEAD, .cause = MU_CAUSE_WITNESS, .node = 2}},
    };
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    size_t count = mu_local_encode(&message, bytes);
    assert_null(mu_local_decode(bytes, count, &message));
    bytes[at] = value;
    expect_broken(bytes, count);
}

static void an_event_that_breaks_a_rule_is_refused(void **state)
{
    (void)state;
    expect_broken_event(MU_LOCAL_STATE_AT, 2);
    expect_broken_event(9, 0);  /* serial 0 */
    expect_broken_event(10, 0); /* about nothing */
    expect_broken_event(10, 4);
    expect_broken_event(16, 1); /* a node with a job */
    expect_broken_event(20, 1); /* and with a rank */
    expect_broken_event(37, 0); /* no verdict */
    expect_broken_event(76, 1); /* a path */
}

static void another_version_is_known_by_its_number(void **state)
{
    (void)state;
    struct mu_local_message message;
    static const uint8_t longer[] = {MU_LOCAL_HELLO, 6, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86};
    for (size_t count = 2; count <= sizeof longer; count++) {
        assert_null(mu_local_decode(longer, count, &message));
        assert_int_equal(message.type, MU_LOCAL_HELLO);
        assert_int_equal(message.hello.version, 6);
        assert_int_equal(message.hello.role, 0);
    }
    static const uint8_t older[] = {MU_LOCAL_HELLO, 2, MU_LOCAL_MEMBER, 0, 0, 0, 7, 0, 0, 0, 0};
    assert_null(mu_local_decode(older, sizeof older, &message));
    assert_int_equal(message.hello.version, 2);
    assert_int_equal(message.hello.role, 0);
}

/* ---- names ---- */

static void a_name_has_its_parts(void **state)
{
    (void)state;
    char name[MU_LOCAL_NAME_MAX];
    uint32_t uid;
    uint64_t machine;
    mu_slot slot;
    mu_local_name(name, 1000, 0x0123456789abcdefu, 3);
    assert_string_equal(name, "muster/1000/0123456789abcdef/3");
    assert_true(mu_local_name_parse(name, &uid, &machine, &slot));
    assert_int_equal(uid, 1000);
    assert_true(machine == 0x0123456789abcdefu);
    assert_int_equal(slot, 3);
    mu_local_name(name, UINT32_MAX, UINT64_MAX, MU_SIZE_MAX - 1);
    assert_true(mu_local_name_parse(name, &uid, &machine, &slot));
    assert_true(uid == UINT32_MAX && machine == UINT64_MAX && slot == MU_SIZE_MAX - 1);
}

static void other_names_are_none(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",
        "muster",
        "muster/1000/0123456789abcdef",
        "muster/1000/0123456789abcdef/",
        "muster/1000/0123456789abcdef/3/",
        "muster/1000/0123456789abcdef/3 ",
        "muster/1000/0123456789abcdef/03",
        "muster/1000/0123456789abcdef/-3",
        "muster/1000/0123456789abcdef/16777216",
        "muster/1000/0123456789ABCDEF/3",
        "muster/1000/123456789abcdef/3",
        "muster/1000/0x23456789abcdef/3",
        "muster/1000/00123456789abcdef/3",
        "muster/1000/0000000000000000/3",
        "muster/ 1000/0123456789abcdef/3",
        "muster/+1000/0123456789abcdef/3",
        "muster/4294967296/0123456789abcdef/3",
        "muster//0123456789abcdef/3",
        "@muster/1000/0123456789abcdef/3",
        "Muster/1000/0123456789abcdef/3",
        "muster/1000/0123456789abcdef/3333333333333333333333333333333333333333",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        uint32_t uid = 1;
        uint64_t machine = 2;
        mu_slot slot = 3;
        if (mu_local_name_parse(names[i], &uid, &machine, &slot))
            fail_msg("'%s' was taken for a name", names[i]);
        assert_true(uid == 1 && machine == 2 && slot == 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_those_of_the_page),
        cmocka_unit_test(the_bytes_of_an_event),
        cmocka_unit_test(the_bytes_of_a_view),
        cmocka_unit_test(what_goes_out_comes_in_again),
        cmocka_unit_test(fields_come_in_as_they_went_out),
        cmocka_unit_test(an_event_alone_is_the_same),
        cmocka_unit_test(one_message_has_one_encoding),
        cmocka_unit_test(what_breaks_a_rule_is_refused),
        cmocka_unit_test(times_that_cannot_be_are_refused),
        cmocka_unit_test(an_event_that_breaks_a_rule_is_refused),
        cmocka_unit_test(another_version_is_known_by_its_number),
        cmocka_unit_test(a_name_has_its_parts),
        cmocka_unit_test(other_names_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
