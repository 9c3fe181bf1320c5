/* PMI-1: lines, the space of keys, which ranks share a node, and processes that say what they like.
 */
#include "daemon/pmi/pmi1.h"
#include "turn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
/* after those above */
#include <cmocka.h>

static struct mu_pmi1_text text_of(const char *words)
{
    return (struct mu_pmi1_text){words, strlen(words)};
}

/* ---- lines ---- */

static struct mu_pmi1_line line_of(const char *words)
{
    struct mu_pmi1_line line;
    char text[MU_PMI1_TEXT_MAX];
    const char *wrong = mu_pmi1_parse(words, strlen(words), &line, text);
    if (wrong != NULL)
        fail_msg("'%s': %s", words, wrong);
    return line;
}

static void lines_are_what_clients_say(void **state)
{
    (void)state;
    struct mu_pmi1_line line = line_of("cmd=init pmi_version=1 pmi_subversion=1");
    assert_true(line.command == MU_PMI1_INIT && line.version == 1);
    line = line_of("cmd=put kvsname=a key=b=c value=d=");
    assert_int_equal(line.command, MU_PMI1_PUT);
    assert_true(mu_pmi1_is(line.kvsname, "a") && mu_pmi1_is(line.key, "b=c"));
    assert_true(mu_pmi1_is(line.value, "d="));
    line =
        line_of(" cmd=get  later=1 key=k kvsname=a "); /* another order, more blanks, more words */
    assert_true(line.command == MU_PMI1_GET && mu_pmi1_is(line.key, "k"));
    line = line_of("cmd=put kvsname=a key=b value=");
    assert_int_equal(line.value.count, 0);
    line = line_of("cmd=abort exitcode=259 some words");
    assert_true(line.command == MU_PMI1_ABORT && line.exit_code == 3);
    assert_int_equal(line_of("cmd=abort").exit_code, 1);
    assert_int_equal(line_of("cmd=abort exitcode=0").exit_code, 1);
    assert_int_equal(line_of("mcmd=spawn").command, MU_PMI1_SPAWN);
}

static void wrong_lines_are_refused_with_the_rule(void **state)
{
    (void)state;
    char longest[MU_PMI1_LINE_MAX], text[MU_PMI1_TEXT_MAX];
    static const struct {
        const char *line, *says;
    } wrong[] = {
        {"", "a line does not begin with cmd="},
        {"cmd", "a line does not begin with cmd="},
        {"key=a cmd=get", "a line does not begin with cmd="},
        {"cmd=", "cmd= is no command of PMI-1"},
        {"cmd=getbyidx", "cmd=getbyidx is no command of PMI-1"},
        {"cmd=init", "pmi_version is missing"},
        {"cmd=init pmi_version=", "length 0 of pmi_version is not between 1 and 4"},
        {"cmd=init pmi_version=99999", "length 5 of pmi_version is not between 1 and 4"},
        {"cmd=init pmi_version=1a", "pmi_version is not a number"},
        {"cmd=get key=a", "kvsname is missing"},
        {"cmd=get kvsname=a key=", "length 0 of key is not between 1 and 63"},
        {"cmd=get kvsname=a key=a key=a", "key is there twice"},
        {"cmd=put kvsname=a key=a", "value is missing"},
        {"cmd=put kvsname=a key=a value=a b", "a word without '='"},
        {"cmd=finalize\t", "byte 9 is not printable ASCII"},
        {"cmd=finalize\xff", "byte 255 is not printable ASCII"},
    };
    struct mu_pmi1_line line;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_string_equal(mu_pmi1_parse(wrong[i].line, strlen(wrong[i].line), &line, text),
                            wrong[i].says);
    assert_non_null(mu_pmi1_parse("cmd=finalize\0", 13, &line, text));
    for (int digits = 63; digits <= 64; digits++) {
        snprintf(longest, sizeof longest, "cmd=get kvsname=a key=%0*d", digits, 7);
        assert_int_equal(mu_pmi1_parse(longest, strlen(longest), &line, text) == NULL,
                         digits == 63);
    }
    for (int digits = 1023; digits <= 1024; digits++) {
        snprintf(longest, sizeof longest, "cmd=put kvsname=a key=b value=%0*d", digits, 7);
        assert_int_equal(mu_pmi1_parse(longest, strlen(longest), &line, text) == NULL,
                         digits == 1023);
    }
}

/* ---- the space ---- */

static void expect_pair(const struct mu_pmi1_space *space, const char *key, const char *expected)
{
    struct mu_pmi1_text value;
    assert_int_equal(mu_pmi1_get(space, text_of(key), &value), expected != NULL);
    if (expected != NULL)
        assert_true(mu_pmi1_is(value, expected));
}

static void what_is_put_goes_to_others_once(void **state)
{
    (void)state;
    struct mu_pmi1_space *here = mu_pmi1_space_open(), *there = mu_pmi1_space_open();
    char key[32];
    size_t count;
    for (int i = 0; i < 1000; i++) { /* more than it begins with room for */
        snprintf(key, sizeof key, "key-%d", i);
        assert_null(mu_pmi1_put(here, text_of(key), text_of(key + 4)));
    }
    assert_string_equal(mu_pmi1_put(here, text_of("key-7"), text_of("8")), "duplicate_key");
    assert_null(mu_pmi1_put(there, text_of("key-3"), text_of("own")));
    const uint8_t *news = mu_pmi1_news(here, &count);
    assert_null(mu_pmi1_merge(there, news, count));
    mu_pmi1_told(here);
    mu_pmi1_news(here, &count);
    assert_int_equal(count, 0);
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "key-%d", i);
        expect_pair(here, key, key + 4);
        expect_pair(there, key, i == 3 ? "own" : key + 4);
    }
    expect_pair(here, "key-1000", NULL);
    assert_null(mu_pmi1_put(here, text_of("later"), text_of("")));
    news = mu_pmi1_news(here, &count);
    assert_int_equal(count, 3 + 5);
    assert_memory_equal(news, "\5\0\0later", 8);
    mu_pmi1_space_close(here);
    mu_pmi1_space_close(there);
}

static void broken_news_are_refused(void **state)
{
    (void)state;
    const uint8_t good[] = "\1\0\2kvv\2\0\0kk";
    struct mu_pmi1_space *space = mu_pmi1_space_open();
    for (size_t cut = 0; cut < sizeof good; cut++) {
        uint8_t *exact = malloc(cut + 1);
        memcpy(exact, good, cut);
        bool whole = cut == 0 || cut == 6 || cut == 11;
        assert_int_equal(mu_pmi1_merge(space, exact, cut) == NULL, whole);
        free(exact);
    }
    expect_pair(space, "k", "vv");
    assert_non_null(mu_pmi1_merge(space, (const uint8_t *)"\0\0\1v", 4));   /* no key */
    assert_non_null(mu_pmi1_merge(space, (const uint8_t *)"\1\4\0k", 4));   /* 1024 */
    assert_non_null(mu_pmi1_merge(space, (const uint8_t *)"\100\0\0k", 4)); /* 64 */
    mu_pmi1_space_close(space);
}

static void a_node_cannot_put_without_end(void **state)
{
    (void)state;
    static char value[MU_PMI1_VALUE_MAX];
    char key[32];
    struct mu_pmi1_space *space = mu_pmi1_space_open();
    const char *why = NULL;
    uint32_t put = 0;
    memset(value, 'v', sizeof value - 1);
    while (why == NULL && put < MU_PMI1_SPACE_MAX) {
        snprintf(key, sizeof key, "%08x", put);
        why = mu_pmi1_put(space, text_of(key), text_of(value));
        put += why == NULL;
    }
    assert_string_equal(why, "no_room");
    assert_int_equal(put, MU_PMI1_SPACE_MAX / (8 + sizeof value - 1));
    mu_pmi1_space_close(space);
}

/* ---- who shares a node ---- */

static void expect_mapping(const struct mu_launch_run *runs, uint32_t count, const char *expected)
{
    char text[MU_PMI1_VALUE_MAX];
    const struct mu_launch_job spec = {.run_count = count, .runs = runs};
    assert_true(mu_pmi1_mapping(&spec, text));
    assert_string_equal(text, expected);
}

static void nodes_are_blocks_of_ranks(void **state)
{
    (void)state;
    const struct mu_launch_run one[] = {{5, 0, 4}}, two[] = {{0, 0, 4}, {1, 4, 4}},
                               gaps[] = {{2, 0, 1}, {4, 1, 1}, {9, 2, 2}},
                               turns[] = {{0, 0, 1}, {1, 1, 1}, {2, 2, 1}, {0, 3, 1}, {1, 4, 1}},
                               uneven[] = {{0, 0, 1}, {1, 1, 1}, {2, 2, 1}, {1, 3, 1}, {0, 4, 2}};
    expect_mapping(one, 1, "(vector,(0,1,4))");
    expect_mapping(two, 2, "(vector,(0,2,4))");
    expect_mapping(gaps, 3, "(vector,(0,2,1),(2,1,2))");
    expect_mapping(turns, 5, "(vector,(0,3,1))"); /* it begins again after its end */
    expect_mapping(uneven, 5, "(vector,(0,3,1),(1,1,1),(0,1,2))");
}

static void a_map_that_is_too_long_is_left_out(void **state)
{
    (void)state;
    static struct mu_launch_run runs[400];
    char text[MU_PMI1_VALUE_MAX];
    struct mu_launch_job spec = {.runs = runs};
    for (uint32_t i = 0; i < 400; i++)
        runs[i] = (struct mu_launch_run){.slot = i % 2, .first = 0, .count = 1 + i % 3};
    spec.run_count = 100;
    assert_true(mu_pmi1_mapping(&spec, text));
    spec.run_count = 400;
    assert_false(mu_pmi1_mapping(&spec, text));
}

/* ---- processes ---- */

enum { HERE = 3 };

static struct {
    uv_loop_t loop;
    struct mu_pmi1 *pmi1;
    struct mu_pmi1_job *job;
    int ends[HERE];
    uint32_t gathers;
    uint32_t aborted; /* rank * 1000 + code */
    char gathered[256];
    size_t gathered_count;
    const char *why_not; /* said to the next one */
    uint64_t failed;     /* ranks, a bit each */
} world;

static const char *on_gather(void *owner, uint32_t job, uint32_t size, const uint8_t *bytes,
                             size_t count)
{
    assert_ptr_equal(owner, &world);
    assert_int_equal(job, 7);
    assert_int_equal(size, 4);
    assert_true(count < sizeof world.gathered);
    if (count > 0)
        memcpy(world.gathered, bytes, count);
    world.gathered_count = count;
    world.gathers++;
    const char *why_not = world.why_not;
    world.why_not = NULL;
    return why_not;
}

static void on_aborted(void *owner, uint32_t job, uint32_t rank, uint8_t code)
{
    assert_ptr_equal(owner, &world);
    assert_int_equal(job, 7);
    world.aborted = rank * 1000 + code;
}

static void on_dead(void *owner, uint32_t job, uint64_t *failed)
{
    assert_ptr_equal(owner, &world);
    assert_int_equal(job, 7);
    *failed |= world.failed;
}

/* Ranks 0 and 1 are here and run the first program, rank 3 here the second one; rank 2 is
 * elsewhere, unless all are here. */
static void begin(bool alone)
{
    static const struct mu_launch_run spread[] = {{1, 0, 2}, {4, 2, 1}, {1, 3, 1}};
    static const struct mu_launch_run here[] = {{1, 0, 3}};
    static const struct mu_launch_program programs[] = {{.first = 0, .count = 2},
                                                        {.first = 2, .count = 2}};
    const struct mu_pmi1_hooks hooks = {&world, on_gather, on_aborted, on_dead};
    struct mu_launch_job spec = {.size = alone ? 3 : 4,
                                 .run_count = alone ? 1 : 3,
                                 .runs = alone ? here : spread,
                                 .program_count = 2,
                                 .programs = programs};
    memset(&world, 0, sizeof world);
    assert_int_equal(uv_loop_init(&world.loop), 0);
    assert_int_equal(mu_pmi1_open(&world.loop, &hooks, &world.pmi1), 0);
    world.job = mu_pmi1_job_open(world.pmi1, 7, 1, 0xabc, &spec);
    assert_non_null(world.job);
    for (uint32_t i = 0; i < HERE; i++)
        assert_int_equal(mu_pmi1_connect(world.job, i, &world.ends[i]), 0);
}

static void end(void)
{
    mu_pmi1_job_close(world.job);
    mu_pmi1_close(world.pmi1);
    uv_run(&world.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&world.loop), 0);
    for (int i = 0; i < HERE; i++)
        if (world.ends[i] >= 0)
            close(world.ends[i]);
}

static void say(int process, const char *words)
{
    assert_int_equal(write(world.ends[process], words, strlen(words)), strlen(words));
    turn_loop(&world.loop);
    turn_loop(&world.loop);
}

/* Nothing more and nothing less has come; "": the connection is closed.  NULL: nothing yet. */
static void expect(int process, const char *words)
{
    char came[2048];
    ssize_t count = recv(world.ends[process], came, sizeof came - 1, MSG_DONTWAIT);
    if (words == NULL) {
        assert_int_equal(count, -1);
        return;
    }
    assert_true(count >= 0);
    came[count] = '\0';
    assert_string_equal(came, words);
}

static void ask(int process, const char *words, const char *answer)
{
    say(process, words);
    expect(process, answer);
}

#define NAME "muster_0000000000000abc_7"

static void a_process_is_told_what_it_asks(void **state)
{
    (void)state;
    begin(false);
    ask(0, "cmd=init pmi_version=1 pmi_subversion=1\n",
        "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    ask(0, "cmd=init pmi_version=2 pmi_subversion=0\n",
        "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n");
    ask(0, "cmd=get_maxes\n", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n");
    ask(0, "cmd=get_appnum\n", "cmd=appnum appnum=0\n");
    ask(2, "cmd=get_appnum\n", "cmd=appnum appnum=1\n");
    ask(1, "cmd=get_universe_size\n", "cmd=universe_size size=4\n");
    ask(1, "cmd=get_my_kvsname\n", "cmd=my_kvsname kvsname=" NAME "\n");
    ask(1, "cmd=get kvsname=" NAME " key=PMI_process_mapping\n",
        "cmd=get_result rc=0 msg=success value=(vector,(0,1,2),(1,1,1),(0,1,1))\n");
    ask(1, "cmd=get kvsname=" NAME " key=nothing\n",
        "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
    ask(1, "cmd=get kvsname=other key=PMI_process_mapping\n",
        "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
    ask(1, "cmd=put kvsname=other key=a value=b\n", "cmd=put_result rc=-1 msg=no_such_kvsname\n");
    ask(1, "cmd=put kvsname=" NAME " key=a value=b\n", "cmd=put_result rc=0 msg=success\n");
    ask(2, "cmd=get kvsname=" NAME " key=a\n", "cmd=get_result rc=0 msg=success value=b\n");
    ask(0, "mcmd=spawn\nnprocs=2\nexecname=a b\ncmd=finalize\nendcmd\n",
        "cmd=spawn_result rc=-1 msg=not_supported\n");
    ask(0, "cmd=lookup_name service=a\n", "cmd=lookup_result rc=-1 msg=not_supported\n");
    ask(2, "cmd=abort exitcode=7\n", NULL);
    assert_int_equal(world.aborted, 3 * 1000 + 7);
    ask(0, "cmd=fina", NULL); /* in pieces, and two at once */
    ask(0, "lize\ncmd=get_appnum\n", "cmd=finalize_ack\ncmd=appnum appnum=0\n");
    end();
}

static void a_barrier_waits_for_all(void **state)
{
    (void)state;
    begin(true);
    for (int round = 0; round < 3; round++) {
        ask(0, "cmd=barrier_in\n", NULL);
        ask(2, "cmd=barrier_in\n", NULL);
        ask(1, "cmd=barrier_in\n", "cmd=barrier_out\n");
        expect(0, "cmd=barrier_out\n");
        expect(2, "cmd=barrier_out\n");
    }
    assert_int_equal(world.gathers, 0); /* there is nobody else */
    end();
}

static void a_barrier_does_not_wait_for_the_dead(void **state)
{
    (void)state;
    begin(true);
    ask(0, "cmd=barrier_in\n", NULL);
    ask(2, "cmd=barrier_in\n", NULL);
    mu_pmi1_ended(world.job, 2); /* it was in it */
    expect(2, "");
    expect(0, NULL);
    mu_pmi1_ended(world.job, 1); /* the last one that was waited for */
    expect(0, "cmd=barrier_out\n");
    ask(0, "cmd=barrier_in\n", "cmd=barrier_out\n"); /* alone from now on */
    mu_pmi1_ended(world.job, 0);
    end();
}

static void who_has_closed_its_end_cannot_come(void **state)
{
    (void)state;
    begin(true);
    ask(0, "cmd=barrier_in\n", NULL);
    ask(1, "cmd=barrier_in\n", NULL);
    close(world.ends[2]);
    world.ends[2] = -1;
    turn_loop(&world.loop);
    turn_loop(&world.loop);
    expect(0, "cmd=barrier_out\n");
    expect(1, "cmd=barrier_out\n");
    end();
}

/* The other nodes wait for this one: it comes with nothing, and says so. */
static void what_a_node_cannot_give_ends_the_barrier_for_all(void **state)
{
    (void)state;
    begin(false);
    world.why_not = "too much";
    for (int i = 0; i < HERE; i++)
        say(i, "cmd=barrier_in\n");
    assert_int_equal(world.gathers, 2);
    assert_int_equal(world.gathered_count, 1);
    assert_int_equal(world.gathered[0], 0);
    expect(0, NULL);
    mu_pmi1_part(world.job, 1, (const uint8_t *)"", 1); /* our own comes back */
    mu_pmi1_gathered(world.job);
    for (int i = 0; i < HERE; i++)
        expect(i, "");
    end();
    begin(false); /* and where it comes from another node */
    for (int i = 0; i < HERE; i++)
        say(i, "cmd=barrier_in\n");
    assert_int_equal(world.gathers, 1);
    mu_pmi1_part(world.job, 4, (const uint8_t *)"", 1);
    mu_pmi1_gathered(world.job);
    for (int i = 0; i < HERE; i++)
        expect(i, "");
    end();
}

static void nodes_meet_with_what_they_put(void **state)
{
    (void)state;
    begin(false);
    say(0, "cmd=put kvsname=" NAME " key=a value=one\n");
    say(0, "cmd=barrier_in\n");
    say(1, "cmd=barrier_in\n");
    assert_int_equal(world.gathers, 0);
    say(2, "cmd=barrier_in\n");
    assert_int_equal(world.gathers, 1);
    assert_int_equal(world.gathered_count, 7);
    assert_memory_equal(world.gathered, "\1\0\3aone", 7);
    expect(1, NULL);
    mu_pmi1_ended(world.job, 2); /* while the others are waited for: that is no second time */
    mu_pmi1_part(world.job, 1, (const uint8_t *)"\1\0\3aone", 7);     /* our own comes back */
    mu_pmi1_part(world.job, 4, (const uint8_t *)"\1\0\3btwo\1\0", 9); /* cut off after a pair */
    mu_pmi1_gathered(world.job);
    expect(1, "cmd=barrier_out\n");
    ask(1, "cmd=get kvsname=" NAME " key=b\n", "cmd=get_result rc=0 msg=success value=two\n");
    say(0, "cmd=barrier_in\n");
    say(1, "cmd=barrier_in\n");
    assert_int_equal(world.gathers, 2);
    assert_int_equal(world.gathered_count, 0);
    end();
}

static void who_breaks_a_rule_is_not_heard(void **state)
{
    (void)state;
    static char endless[MU_PMI1_LINE_MAX + 1];
    memset(endless, 'x', MU_PMI1_LINE_MAX);
    begin(true);
    ask(0, "cmd=barrier_in\n", NULL);
    ask(1, "hello\ncmd=get_maxes\n", "");
    say(2, endless); /* the last one that the barrier waits for */
    expect(2, "");
    expect(0, "cmd=barrier_out\n");
    ask(0, "cmd=barrier_in\ncmd=barrier_in\n", "");
    end();
}

/* Answers pile up in the socket, and then it is closed: the daemon has no memory for them. */
static void who_does_not_read_is_not_heard(void **state)
{
    (void)state;
    begin(true);
    ssize_t count;
    do {
        count = send(world.ends[0], "cmd=get_maxes\n", 14, MSG_DONTWAIT | MSG_NOSIGNAL);
        turn_loop(&world.loop);
    } while (count == 14);
    assert_int_equal(count, -1);
    ask(1, "cmd=get_appnum\n", "cmd=appnum appnum=0\n");
    end();
}

static void expect_dead(const uint64_t *failed, uint32_t size, const char *text)
{
    char made[MU_PMI1_VALUE_MAX];
    assert_int_equal(mu_pmi1_dead(failed, size, made), text != NULL);
    if (text != NULL)
        assert_string_equal(made, text);
}

static void the_dead_are_said_as_ranges(void **state)
{
    (void)state;
    uint64_t none[16] = {0}, some[16] = {0}, every[16], other[16];
    for (int i = 0; i < 16; i++) {
        every[i] = UINT64_MAX;
        other[i] = UINT64_C(0x5555555555555555);
    }
    some[0] = 0x3a | UINT64_C(3) << 62; /* 1, 3 to 5, 62 and on to 64 */
    some[1] = 1;
    expect_dead(none, 512, "");
    expect_dead(some, 512, "1,3-5,62-64");
    expect_dead(some, 64, "1,3-5,62-63");
    expect_dead(some, 5, "1,3-4");
    expect_dead(every, 512, "0-511");
    expect_dead(every, 1, "0");
    expect_dead(other, 1024, NULL); /* every second one is too long for a value */
}

static void who_is_dead_can_be_asked_for(void **state)
{
    (void)state;
    const char *get = "cmd=get kvsname=" NAME " key=PMI_dead_processes\n";
    begin(false);
    ask(0, get, "cmd=get_result rc=0 msg=success value=\n");
    world.failed = 0xd;
    ask(0, get, "cmd=get_result rc=0 msg=success value=0,2-3\n");
    ask(0, "cmd=get kvsname=other key=PMI_dead_processes\n",
        "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
    end();
}

static void who_has_said_init_and_not_finalize_is_inside(void **state)
{
    (void)state;
    const char *init = "cmd=init pmi_version=1 pmi_subversion=1\n", *last = "cmd=finalize\n";
    begin(false);
    assert_false(mu_pmi1_inside(world.job, 0));
    say(0, init);
    assert_true(mu_pmi1_inside(world.job, 0));
    assert_false(mu_pmi1_inside(world.job, 1));
    assert_false(mu_pmi1_inside(world.job, 2)); /* of another node */
    /* What it said last counts, though the loop has not looked at it; and who is gone has said it.
     */
    assert_int_equal(write(world.ends[0], last, strlen(last)), strlen(last));
    assert_int_equal(write(world.ends[1], init, strlen(init)), strlen(init));
    close(world.ends[0]);
    close(world.ends[1]);
    assert_false(mu_pmi1_inside(world.job, 0));
    assert_true(mu_pmi1_inside(world.job, 1));
    mu_pmi1_ended(world.job, 1);
    assert_true(mu_pmi1_inside(world.job, 1));
    /* One that we do not hear any more cannot say goodbye. */
    say(2, init);
    say(2, "what?\n");
    assert_false(mu_pmi1_inside(world.job, 3));
    world.ends[0] = world.ends[1] = -1;
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_what_clients_say),
        cmocka_unit_test(wrong_lines_are_refused_with_the_rule),
        cmocka_unit_test(what_is_put_goes_to_others_once),
        cmocka_unit_test(broken_news_are_refused),
        cmocka_unit_test(a_node_cannot_put_without_end),
        cmocka_unit_test(nodes_are_blocks_of_ranks),
        cmocka_unit_test(a_map_that_is_too_long_is_left_out),
        cmocka_unit_test(a_process_is_told_what_it_asks),
        cmocka_unit_test(a_barrier_waits_for_all),
        cmocka_unit_test(a_barrier_does_not_wait_for_the_dead),
        cmocka_unit_test(who_has_closed_its_end_cannot_come),
        cmocka_unit_test(what_a_node_cannot_give_ends_the_barrier_for_all),
        cmocka_unit_test(nodes_meet_with_what_they_put),
        cmocka_unit_test(who_breaks_a_rule_is_not_heard),
        cmocka_unit_test(who_does_not_read_is_not_heard),
        cmocka_unit_test(who_has_said_init_and_not_finalize_is_inside),
        cmocka_unit_test(the_dead_are_said_as_ranges),
        cmocka_unit_test(who_is_dead_can_be_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
