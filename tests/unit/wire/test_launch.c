/* The messages between a launcher and the daemons: docs/launch.md. */
#include "test_launch_random.h"

#include "wire/launch/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after the ones above */
#include <cmocka.h>

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static uint8_t bytes[MU_LAUNCH_MESSAGE_MAX + 1];
static uint8_t again[MU_LAUNCH_MESSAGE_MAX + 1];
static char text[MU_WIRE_TEXT_MAX];

static const struct mu_launch_run two_runs[] = {
    {.slot = 3, .first = 0, .count = 2},
    {.slot = 0, .first = 2, .count = 3},
};
static const char *const sleeper[] = {"sleep", "1", "", NULL};
static const char *const server[] = {"./serve", NULL};
static const char *const port[] = {"PORT=80", "EMPTY=", NULL};
static const char *const shared[] = {"HOME=/root", "PATH=/bin", NULL};
static const char *const nothing[] = {NULL};
static const struct mu_launch_program two_programs[] = {
    {.first = 0, .count = 4, .directory = "/", .argv = sleeper, .envp = nothing},
    {.first = 4, .count = 1, .directory = "/srv/www", .argv = server, .envp = port},
};

static struct mu_launch_message job_message(void)
{
    return (struct mu_launch_message){
        .type = MU_LAUNCH_JOB,
        .job = 7,
        .spec = {.size = 5,
                 .ignore_sigpipe = true,
                 .binding = MU_LAUNCH_CORES_SHARED,
                 .pmi = true,
                 .input_rank = 0,
                 .run_count = 2,
                 .runs = two_runs,
                 .program_count = 2,
                 .programs = two_programs,
                 .envp = shared,
                 .credit = 65536,
                 .parent = {1, 3, 2}},
    };
}

static struct mu_evidence killed(void)
{
    return (struct mu_evidence){
        .verdict = MU_VERDICT_DEAD,
        .cause = MU_CAUSE_EXIT,
        .seen_by = 3,
        .node = 3,
        .pid = 4711,
        .how = {.type = MU_EXIT_SIGNAL, .signal = 9},
        .seen_ns = 123456789,
        .clock = 42,
    };
}

enum { EXAMPLES = 21 };

/* One message of each type. */
static struct mu_launch_message example(int i)
{
    static const uint8_t data[] = {'h', 'i', 0, 255};
    struct mu_launch_message message = {.job = 9};
    switch (i) {
    case 0:
        return job_message();
    case 1:
        message.type = MU_LAUNCH_SIGNAL;
        message.signal.number = 64;
        break;
    case 2:
        message.type = MU_LAUNCH_STOP;
        message.stop.grace_ms = 500;
        break;
    case 3:
        message.type = MU_LAUNCH_OVER;
        break;
    case 4:
        message.type = MU_LAUNCH_CREDIT;
        message.credit.bytes = UINT64_MAX;
        break;
    case 5:
        message.type = MU_LAUNCH_INPUT_CREDIT;
        message.credit.bytes = 1;
        break;
    case 6:
        message.type = MU_LAUNCH_INPUT;
        message.data.bytes = data;
        message.data.count = sizeof data;
        break;
    case 7:
        message.type = MU_LAUNCH_OUTPUT;
        message.data.rank = 4;
        message.data.stream = 2;
        message.data.bytes = data;
        message.data.count = sizeof data;
        break;
    case 8:
        message.type = MU_LAUNCH_OUTPUT_END;
        message.data.rank = MU_LAUNCH_RANKS_MAX - 1;
        message.data.stream = 1;
        break;
    case 9:
        message.type = MU_LAUNCH_STARTED;
        message.started.rank = 3;
        message.started.pid = 4711;
        break;
    case 10:
        message.type = MU_LAUNCH_ENDED;
        message.ended.rank = 3;
        message.ended.evidence = killed();
        break;
    case 11:
        message.type = MU_LAUNCH_TOLD;
        message.told.rank = 3;
        message.told.node = 2;
        message.told.hops = 4;
        message.told.age_ns = 1000000;
        message.told.evidence = killed();
        break;
    case 12:
        message.type = MU_LAUNCH_SPAWN;
        message.spawn.number = 3;
        message.spawn.rank = 2;
        message.spawn.spec.size = 5;
        message.spawn.spec.program_count = 2;
        message.spawn.spec.programs = two_programs;
        break;
    case 13:
        message.type = MU_LAUNCH_SPAWNED;
        message.spawned.number = 3;
        message.spawned.text = "no such program";
        break;
    case 14:
        message.type = MU_LAUNCH_READY;
        break;
    case 15:
        message.type = MU_LAUNCH_BOUND;
        message.bound.rank = 2;
        message.bound.text = "core 1: [./B]";
        break;
    case 16:
    case 17:
    case 18:
    case 19: {
        static const uint8_t types[] = {MU_LAUNCH_ASK, MU_LAUNCH_PING, MU_LAUNCH_PONG,
                                        MU_LAUNCH_REACH};
        message.type = types[i - 16];
        message.reach.other = MU_SIZE_MAX - 1;
        message.reach.nonce = 77;
        message.reach.stamp_ns = 78;
        message.reach.clock_ns = i >= 18 ? 79 : 0;
        message.reach.reach = i == 19 ? 3 : 0;
        break;
    }
    default:
        message.type = MU_LAUNCH_REFUSED;
        message.refused.text = "job 9 runs here already";
        break;
    }
    return message;
}

static size_t encode(uint8_t *into, size_t room, const struct mu_launch_message *message)
{
    struct mu_writer writer;
    mu_writer_init(&writer, into, room);
    mu_launch_encode(&writer, message);
    assert_false(writer.full);
    return writer.used;
}

/* The sentence that refuses these bytes; NULL when they are good, and encode to the same again. */
static const char *refusal(const uint8_t *from, size_t count)
{
    struct mu_launch_message message;
    struct mu_launch_lists lists = {NULL};
    const char *error = mu_launch_decode(from, count, &message, &lists, text);
    if (error == NULL) {
        assert_int_equal(encode(again, sizeof again, &message), count);
        assert_memory_equal(again, from, count);
    } else {
        assert_ptr_equal(error, text);
        assert_true(strlen(error) > 0 && strlen(error) < sizeof text - 1);
    }
    mu_launch_lists_free(&lists);
    return error;
}

static void expect_refusal(size_t count, const char *words)
{
    const char *error = refusal(bytes, count);
    if (error == NULL || strstr(error, words) == NULL)
        fail_msg("'%s' is not in '%s'", words, error == NULL ? "(it was taken)" : error);
}

static void expect_rule(const struct mu_launch_message *message, const char *words)
{
    const char *error = mu_launch_error(message, text);
    if (error == NULL || strstr(error, words) == NULL)
        fail_msg("'%s' is not in '%s'", words, error == NULL ? "(no rule is broken)" : error);
}

static void same_list(const char *const *a, const char *const *b)
{
    for (; *a != NULL && *b != NULL; a++, b++)
        assert_string_equal(*a, *b);
    assert_true(*a == NULL && *b == NULL);
}

/* ---- what goes out comes in ---- */

static void test_every_type_comes_back(void **state)
{
    (void)state;
    for (int i = 0; i < EXAMPLES; i++) {
        struct mu_launch_message message = example(i);
        assert_null(refusal(bytes, encode(bytes, sizeof bytes, &message)));
    }
}

static void test_random_messages_come_back(void **state)
{
    (void)state;
    struct random r = {.state = 1, .slots = MU_SIZE_MAX};
    struct random_launch memory;
    for (int i = 0; i < 20000; i++) {
        r.small = i % 2 == 0;
        struct mu_launch_message message =
            random_launch(&r, launch_types[i % LAUNCH_TYPES], &memory);
        const char *error = refusal(bytes, encode(bytes, sizeof bytes, &message));
        if (error != NULL)
            fail_msg("message %d of type %u: %s", i, message.type, error);
    }
}

static void test_a_job_comes_back(void **state)
{
    (void)state;
    struct mu_launch_message message = job_message(), decoded;
    struct mu_launch_lists lists = {NULL};
    size_t count = encode(bytes, sizeof bytes, &message);
    assert_null(mu_launch_decode(bytes, count, &decoded, &lists, text));
    const struct mu_launch_job *spec = &decoded.spec;
    assert_int_equal(decoded.type, MU_LAUNCH_JOB);
    assert_int_equal(decoded.job, 7);
    assert_int_equal(spec->size, 5);
    assert_true(spec->ignore_sigpipe);
    assert_int_equal(spec->binding, MU_LAUNCH_CORES_SHARED);
    assert_false(spec->report_bindings);
    assert_true(spec->pmi);
    assert_int_equal(spec->input_rank, 0);
    assert_int_equal(spec->credit, 65536);
    assert_int_equal(spec->parent.root, 1);
    assert_int_equal(spec->parent.job, 3);
    assert_int_equal(spec->parent.rank, 2);
    assert_int_equal(spec->run_count, 2);
    assert_memory_equal(spec->runs, two_runs, sizeof two_runs);
    same_list(spec->envp, message.spec.envp);
    assert_int_equal(spec->program_count, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(spec->programs[i].first, two_programs[i].first);
        assert_int_equal(spec->programs[i].count, two_programs[i].count);
        assert_string_equal(spec->programs[i].directory, two_programs[i].directory);
        same_list(spec->programs[i].argv, two_programs[i].argv);
        same_list(spec->programs[i].envp, two_programs[i].envp);
    }
    mu_launch_lists_free(&lists);
}

static void test_news_of_a_death_come_back(void **state)
{
    (void)state;
    struct mu_launch_lists lists = {NULL};
    struct mu_launch_message message = example(11), decoded;
    size_t count = encode(bytes, sizeof bytes, &message);
    assert_null(mu_launch_decode(bytes, count, &decoded, &lists, text));
    assert_int_equal(decoded.told.rank, 3);
    assert_int_equal(decoded.told.node, 2);
    assert_int_equal(decoded.told.hops, 4);
    assert_int_equal(decoded.told.age_ns, 1000000);
    assert_int_equal(decoded.told.evidence.how.signal, 9);
    assert_int_equal(decoded.told.evidence.pid, 4711);
    assert_null(lists.memory);
}

/* docs/launch.md says so. */
static void test_the_bytes_of_output(void **state)
{
    (void)state;
    const uint8_t expected[] = {5, 34, 0, 0, 0, 9, 0, 0, 0, 4, 2, 'h', 'i', 0, 255};
    struct mu_launch_message message = example(7);
    assert_int_equal(encode(bytes, sizeof bytes, &message), sizeof expected);
    assert_memory_equal(bytes, expected, sizeof expected);
    assert_int_equal(sizeof expected - message.data.count, MU_LAUNCH_DATA_FIXED);
}

static void test_bytes_that_are_in_place_stay_there(void **state)
{
    (void)state;
    struct mu_launch_message message = example(7);
    struct mu_writer writer;
    uint8_t *place = bytes + MU_LAUNCH_DATA_FIXED;
    memcpy(place, message.data.bytes, message.data.count);
    message.data.bytes = place;
    assert_int_equal(encode(bytes, sizeof bytes, &message), MU_LAUNCH_DATA_FIXED + 4);
    assert_memory_equal(place, "hi\0\377", 4);
    mu_writer_init(&writer, bytes, MU_LAUNCH_DATA_FIXED + 3);
    mu_launch_encode(&writer, &message);
    assert_true(writer.full);
}

static void test_counting_says_how_long_it_is(void **state)
{
    (void)state;
    for (int i = 0; i < EXAMPLES; i++) {
        struct mu_launch_message message = example(i);
        struct mu_writer counter, writer;
        mu_writer_init(&counter, NULL, SIZE_MAX);
        mu_launch_encode(&counter, &message);
        assert_int_equal(counter.used, encode(bytes, sizeof bytes, &message));
        mu_writer_init(&writer, bytes, counter.used - 1);
        mu_launch_encode(&writer, &message);
        assert_true(writer.full);
    }
}

static void test_the_longest_job(void **state)
{
    (void)state;
    struct mu_launch_message message = job_message();
    struct mu_writer counter;
    char *variable = malloc(MU_LAUNCH_MESSAGE_MAX);
    message.spec.envp = LIST("");
    mu_writer_init(&counter, NULL, SIZE_MAX);
    mu_launch_encode(&counter, &message);
    size_t length = MU_LAUNCH_MESSAGE_MAX - counter.used;
    memset(variable, 'v', length + 1);
    variable[length] = '\0';
    message.spec.envp = LIST(variable);
    assert_null(refusal(bytes, encode(bytes, sizeof bytes, &message)));
    variable[length] = 'v';
    variable[length + 1] = '\0';
    size_t count = encode(bytes, sizeof bytes, &message);
    assert_int_equal(count, MU_LAUNCH_MESSAGE_MAX + 1);
    expect_refusal(count, "a message of 262145 bytes is over 262144");
    free(variable);
}

/* ---- what is damaged is refused ---- */

static void test_cut_messages(void **state)
{
    (void)state;
    for (int i = 0; i < EXAMPLES; i++) {
        struct mu_launch_message message = example(i);
        bool open_end = message.type == MU_LAUNCH_INPUT || message.type == MU_LAUNCH_OUTPUT;
        size_t count = encode(bytes, sizeof bytes, &message);
        for (size_t cut = 0; cut < count; cut++) {
            /* Behind a block of exactly this size a read too far is seen by the sanitizer. */
            uint8_t *part = malloc(cut + 1);
            memcpy(part, bytes, cut);
            uint8_t *exact = realloc(part, cut > 0 ? cut : 1);
            const char *error = refusal(exact, cut);
            if (error == NULL && !(open_end && cut >= MU_LAUNCH_DATA_FIXED))
                fail_msg("type %u is taken after %zu of %zu bytes", message.type, cut, count);
            free(exact);
        }
        bytes[count] = 0;
        if (!open_end)
            assert_non_null(refusal(bytes, count + 1));
    }
}

/* Whatever is taken encodes to the same bytes: refusal() looks. */
static void test_flipped_bits(void **state)
{
    (void)state;
    for (int i = 0; i < EXAMPLES; i++) {
        struct mu_launch_message message = example(i);
        size_t count = encode(bytes, sizeof bytes, &message);
        for (size_t bit = 0; bit < 8 * count; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            refusal(bytes, count);
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
}

static void test_head(void **state)
{
    (void)state;
    struct mu_launch_message message = example(3);
    size_t count = encode(bytes, sizeof bytes, &message);
    bytes[0] = 2;
    expect_refusal(count, "version 2 of a launcher's or daemon's message is not 5");
    bytes[0] = MU_LAUNCH_VERSION;
    bytes[1] = 200;
    expect_refusal(count, "message type 200");
    expect_refusal(0, "ends inside a field, after 0 bytes");
    bytes[1] = MU_LAUNCH_OVER;
    bytes[count] = 1;
    expect_refusal(count + 1, "bytes after the last field of a message of type 4: 1");
}

/* Where the fields of the example job stand. */
enum {
    AT_PIPE = 10,
    AT_BINDING = 11,
    AT_RUNS = 26,
    AT_FIRST_COUNT = 34,
    AT_PROGRAMS = 46,
    AT_ARGV = 56
};

static size_t encode_job(void)
{
    struct mu_launch_message message = job_message();
    return encode(bytes, sizeof bytes, &message);
}

static void test_counts_without_bytes(void **state)
{
    (void)state;
    size_t count = encode_job();
    assert_memory_equal(bytes + AT_RUNS, "\0\0\0\2\0\0\0\3\0\0\0\2", 12);
    assert_memory_equal(bytes + AT_PROGRAMS, "\0\0\0\2\0\0\0\4/\0\0\0\0\3sleep", 19);
    memset(bytes + AT_RUNS, 255, 4);
    expect_refusal(count, "4294967295 runs are more than the");
    encode_job();
    memset(bytes + AT_PROGRAMS, 255, 4);
    expect_refusal(count, "4294967295 programs are more than the");
    encode_job();
    memset(bytes + AT_ARGV + 1, 255, 3);
    expect_refusal(count, "16777215 arguments are more than the");
    encode_job();
    bytes[AT_PIPE] = 2;
    expect_refusal(count, "byte 2 is neither 0 (no) nor 1 (yes)");
    encode_job();
    bytes[AT_BINDING] = 4;
    expect_refusal(count, "binding 4 is not between 0 and 3");
    encode_job();
    bytes[AT_FIRST_COUNT] = 255; /* the first run is so long that the ranks after it wrap around */
    expect_refusal(count, "the run at rank 0 ends after the job's 5 ranks");
}

static void test_a_text_without_an_end(void **state)
{
    (void)state;
    struct mu_launch_message message = example(EXAMPLES - 1);
    size_t count = encode(bytes, sizeof bytes, &message);
    expect_refusal(count - 1, "a text does not end within the 23 bytes that are left");
    bytes[count - 5] = 0; /* a text that ends early leaves bytes behind */
    expect_refusal(count, "bytes after the last field");
    bytes[8] = '\n';
    bytes[count - 5] = 'x';
    expect_refusal(count, "byte 10 in a refusal is not printable ASCII");
}

/* ---- rules ---- */

static void test_rules_of_a_job(void **state)
{
    (void)state;
    struct mu_launch_message message = job_message();
    struct mu_launch_run runs[2];
    struct mu_launch_program programs[2];
    message.spec.runs = runs;
    message.spec.programs = programs;
#define AGAIN (memcpy(runs, two_runs, sizeof runs), memcpy(programs, two_programs, sizeof programs))
    AGAIN;
    assert_null(mu_launch_error(&message, text));
    runs[1].first = 3;
    expect_rule(&message, "a run begins with rank 3, not with 2");
    runs[1].first = 1;
    expect_rule(&message, "a run begins with rank 1, not with 2");
    AGAIN;
    runs[1].count = 0;
    expect_rule(&message, "the run at rank 2 has no ranks");
    runs[1].count = 4;
    expect_rule(&message, "the run at rank 2 ends after the job's 5 ranks");
    runs[1].count = 2;
    expect_rule(&message, "the runs have 4 of the job's 5 ranks");
    AGAIN;
    runs[0].slot = MU_SIZE_MAX;
    expect_rule(&message, "slot 16777216 is not below 16777216");
    AGAIN;
    programs[1].first = 0;
    expect_rule(&message, "a program begins with rank 0, not with 4");
    AGAIN;
    programs[0].argv = nothing;
    expect_rule(&message, "the program at rank 0 has no name");
    AGAIN;
    message.spec.program_count = 1;
    expect_rule(&message, "the programs have 4 of the job's 5 ranks");
    message.spec.program_count = 0;
    expect_rule(&message, "0 programs are not between 1 and 256");
    message.spec.program_count = 2;
    message.spec.run_count = 0;
    expect_rule(&message, "the runs have 0 of the job's 5 ranks");
    message.spec.run_count = 2;
    message.spec.input_rank = 5;
    expect_rule(&message, "rank 5, for standard input, is not below the job's size 5");
    message.spec.input_rank = MU_RANK_NONE;
    assert_null(mu_launch_error(&message, text));
    message.spec.size = 0;
    expect_rule(&message, "a job of 0 ranks is not between 1 and 1048576");
    message.spec.size = MU_LAUNCH_RANKS_MAX + 1;
    expect_rule(&message, "a job of 1048577 ranks");
#undef AGAIN
}

static void test_rules_of_data(void **state)
{
    (void)state;
    struct mu_launch_message message = example(7);
    message.data.stream = 0;
    expect_rule(&message, "stream 0 is wrong");
    message.data.stream = 3;
    expect_rule(&message, "stream 3 is wrong");
    message.data.stream = 1;
    message.data.count = 0;
    expect_rule(&message, "an OUTPUT without bytes");
    message.data.bytes = bytes;
    message.data.count = MU_LAUNCH_CHUNK_MAX;
    assert_null(mu_launch_error(&message, text));
    message.data.count++;
    expect_rule(&message, "65537 bytes in one message are over 65536");
    message.data.count = 1;
    message.data.rank = MU_LAUNCH_RANKS_MAX;
    expect_rule(&message, "rank 1048576 is not below 1048576");
    message.data.rank = 0;
    message.type = MU_LAUNCH_OUTPUT_END;
    expect_rule(&message, "an OUTPUT_END with 1 bytes");
    message.type = MU_LAUNCH_INPUT;
    expect_rule(&message, "stream 1 is wrong");
    message.data.stream = 0;
    message.data.count = 0;
    assert_null(mu_launch_error(&message, text));
}

static void test_other_rules(void **state)
{
    (void)state;
    struct mu_launch_message message = example(1);
    message.signal.number = 0;
    expect_rule(&message, "signal 0 is not between 1 and 64");
    message.signal.number = 65;
    expect_rule(&message, "signal 65 is not between 1 and 64");
    message = example(9);
    message.started.pid = 0;
    expect_rule(&message, "process id 0 of rank 3");
    message = example(10);
    message.ended.rank = UINT32_MAX;
    expect_rule(&message, "rank 4294967295 is not below");
    message = example(11);
    message.told.is_node = true;
    expect_rule(&message, "rank 3 of a node is not 0");
    message.told.rank = 0;
    assert_null(mu_launch_error(&message, text));
    message = example(EXAMPLES - 1);
    message.refused.text = "";
    expect_rule(&message, "length 0 of a refusal is not between 1 and 200");
    message = example(13);
    message.spawned.job = 4;
    expect_rule(&message, "job 4 with a reason why it is none");
    message = job_message();
    message.spec.parent = (struct mu_launch_parent){0, 4, 0};
    expect_rule(&message, "job 4 and rank 0 cannot be the parent in the run of 0");
}

static void test_looking_up(void **state)
{
    (void)state;
    struct mu_launch_message message = job_message();
    const struct mu_launch_job *spec = &message.spec;
    for (uint32_t rank = 0; rank < 5; rank++) {
        assert_ptr_equal(mu_launch_run_of(spec, rank), &two_runs[rank < 2 ? 0 : 1]);
        assert_ptr_equal(mu_launch_program_of(spec, rank), &two_programs[rank < 4 ? 0 : 1]);
    }
    assert_null(mu_launch_run_of(spec, 5));
    assert_null(mu_launch_program_of(spec, 5));
    assert_null(mu_launch_run_of(spec, MU_RANK_NONE));
    assert_null(mu_launch_program_of(spec, MU_RANK_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_comes_back),
        cmocka_unit_test(test_random_messages_come_back),
        cmocka_unit_test(test_a_job_comes_back),
        cmocka_unit_test(test_news_of_a_death_come_back),
        cmocka_unit_test(test_the_bytes_of_output),
        cmocka_unit_test(test_bytes_that_are_in_place_stay_there),
        cmocka_unit_test(test_counting_says_how_long_it_is),
        cmocka_unit_test(test_the_longest_job),
        cmocka_unit_test(test_cut_messages),
        cmocka_unit_test(test_flipped_bits),
        cmocka_unit_test(test_head),
        cmocka_unit_test(test_counts_without_bytes),
        cmocka_unit_test(test_a_text_without_an_end),
        cmocka_unit_test(test_rules_of_a_job),
        cmocka_unit_test(test_rules_of_data),
        cmocka_unit_test(test_other_rules),
        cmocka_unit_test(test_looking_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
