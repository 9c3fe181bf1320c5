/* libmuster: reading what happens, with one thread. */
#define _GNU_SOURCE
#include "test_client_joined.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* ---- what happens ---- */

static void first_what_has_happened_then_the_news(void **state)
{
    (void)state;
    struct mu_local_message death = fake_death(1, 7);
    put(death); /* before this process came */
    death.event.is_state = true;
    say(death);
    say(fake_caught_up(&daemon_here));
    publish(fake_death(2, 8));

    expect_next(MUSTER_EVENT_PROCESS, "rank 7 on node 2 failed: killed by SIGKILL");
    assert_int_equal(event.is_state, 1);
    assert_int_equal(event.serial, 1);
    expect_next(MUSTER_EVENT_CAUGHT_UP, "caught up: later events are live");
    assert_int_equal(event.serial, 0);
    expect_next(MUSTER_EVENT_PROCESS, "rank 8 on node 2 failed: killed by SIGKILL");
    assert_int_equal(event.is_state, 0);
    assert_int_equal(event.serial, 2);
    assert_int_equal(event.verdict, MUSTER_DEAD);
    assert_int_equal(event.rank, 8);
    assert_int_equal(event.node, 2);
    assert_int_equal(event.seen_by, 2);
    assert_int_equal(event.hops, 2);
    assert_int_equal(event.pid, 1234);
    assert_int_equal(event.exit_code, -1);
    assert_int_equal(event.signal, 9);
    assert_int_equal(event.lost, 0);
    expect_nothing(MUSTER_NOW);
}

static void expect_end(const struct mu_evidence *evidence, const char *text, int verdict,
                       int exit_code, int signal_number)
{
    struct mu_local_message end = fake_death(1, 7);
    end.event.evidence = *evidence;
    end.event.evidence.node = end.event.node;
    publish(end);
    expect_next(MUSTER_EVENT_PROCESS, text);
    assert_int_equal(event.verdict, verdict);
    assert_int_equal(event.exit_code, exit_code);
    assert_int_equal(event.signal, signal_number);
}

static void every_end_of_a_process(void **state)
{
    (void)state;
    struct mu_evidence left = {.verdict = MU_VERDICT_LEFT, .cause = MU_CAUSE_EXIT};
    expect_end(&left, "rank 7 on node 2 exited", MUSTER_LEFT, 0, 0);
    struct mu_evidence code = {.verdict = MU_VERDICT_DEAD,
                               .cause = MU_CAUSE_EXIT,
                               .how = {.type = MU_EXIT_CODE, .code = 3}};
    expect_end(&code, "rank 7 on node 2 failed: exit code 3", MUSTER_DEAD, 3, 0);
    struct mu_evidence lost = {.verdict = MU_VERDICT_DEAD, .cause = MU_CAUSE_NODE_LOST};
    expect_end(&lost, "rank 7 on node 2 failed: its node failed", MUSTER_DEAD, -1, 0);
    struct mu_evidence unknown = {
        .verdict = MU_VERDICT_DEAD, .cause = MU_CAUSE_EXIT, .how = {.type = MU_EXIT_UNKNOWN}};
    publish((struct mu_local_message){
        .type = MU_LOCAL_EVENT,
        .event = {.subject = MU_SUBJECT_PROCESS, .job = FAKE_JOB, .evidence = unknown}});
    assert_int_equal(muster_next(m, &event, MUSTER_NOW, &error), 1);
    assert_int_equal(event.exit_code, -1);
    assert_int_equal(event.signal, 0);
}

/* The longest that an event has to say: cut off, if at all, and never without its subject. */
static void a_start_that_failed(void **state)
{
    (void)state;
    struct mu_local_message end = fake_death(1, FAKE_SIZE - 1);
    end.event.evidence.how =
        (struct mu_exit_kind){.type = MU_EXIT_NOT_STARTED, .step = MU_START_EXEC, .error = ENOENT};
    char path[4000] = "";
    memset(path, 'p', sizeof path - 1);
    mu_evidence_path(&end.event.evidence, path);
    publish(end);
    assert_int_equal(muster_next(m, &event, MUSTER_NOW, &error), 1);
    assert_non_null(strstr(event.text, "rank 31 on node 2 failed: cannot start ...pppp"));
    assert_non_null(strstr(event.text, "No such file or directory"));
    assert_int_equal(event.exit_code, -1);
}

static void a_node_is_lost(void **state)
{
    (void)state;
    struct mu_local_message death = fake_death(4, 0);
    death.event.subject = MU_SUBJECT_NODE;
    death.event.job = 0;
    death.event.evidence = (struct mu_evidence){
        .verdict = MU_VERDICT_DEAD, .cause = MU_CAUSE_WITNESS, .seen_by = 6, .node = 2};
    death.event.evidence.how = (struct mu_exit_kind){.type = MU_EXIT_SIGNAL, .signal = 9};
    publish(death);
    expect_next(MUSTER_EVENT_NODE, "node 2 failed: daemon killed by SIGKILL");
    assert_int_equal(event.node, 2);
    assert_int_equal(event.seen_by, 6);
    assert_int_equal(event.exit_code, 0);
    assert_int_equal(event.pid, 0);
}

static void ages_go_on_until_they_are_read(void **state)
{
    (void)state;
    struct mu_local_message death = fake_death(1, 7);
    death.event.learned_ns -= 3000000000u;
    uint64_t learned_ns = death.event.learned_ns;
    publish(death);
    assert_int_equal(muster_next(m, &event, MUSTER_NOW, &error), 1);
    assert_true(event.age_ns >= 3000500000u);
    assert_true(event.age_ns <= fake_now_ns() - learned_ns + 500000);

    death.event.learned_ns = UINT64_MAX; /* of a clock that is ahead */
    publish(death);
    assert_int_equal(muster_next(m, &event, MUSTER_NOW, &error), 1);
    assert_true(event.age_ns == 500000);

    death.event.learned_ns = 0;
    death.event.age_ns = UINT64_MAX - 1;
    publish(death);
    assert_int_equal(muster_next(m, &event, MUSTER_NOW, &error), 1);
    assert_true(event.age_ns == UINT64_MAX);
}

static void timeouts(void **state)
{
    (void)state;
    expect_nothing(MUSTER_NOW);
    expect_nothing(-1);
    expect_nothing(INT64_MIN);
    expect_nothing(1);
    uint64_t before_ns = fake_now_ns();
    expect_nothing(20000000);
    assert_true(fake_now_ns() - before_ns >= 20000000);
    for (uint64_t serial = 1; serial <= 3; serial++)
        publish(fake_death(serial, 7));
    assert_int_equal(muster_next(m, &event, INT64_MIN, NULL), 1);
    assert_int_equal(muster_next(m, &event, MUSTER_FOREVER - 1, NULL), 1);
    assert_int_equal(muster_next(m, &event, MUSTER_FOREVER, NULL), 1);
}

/* As a program may do that locks itself up.  Only a wait with an end needs poll(). */
static void where_no_descriptor_may_be_opened(void **state)
{
    (void)state;
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    publish(fake_death(1, 7));
    publish(fake_death(2, 8));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int forever = muster_next(m, &event, MUSTER_FOREVER, &error);
    int a_while = muster_next(m, &event, 1000000000, &error);
    int now = muster_next(m, &event, MUSTER_NOW, &error);
    int in_vain = muster_next(m, &event, 1000000000, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(forever, 1);
    assert_int_equal(a_while, 1);
    assert_int_equal(now, 0);
    assert_int_equal(in_vain, -1);
    assert_int_equal(error.code, MUSTER_E_SYSTEM);
    assert_non_null(strstr(error.text, "Invalid argument"));
    expect_failure(MUSTER_E_SYSTEM, "Invalid argument");
}

/* A program that closes what is not its own is told so, and does not hang or spin. */
static void whoever_closes_the_descriptor_is_told(void **state)
{
    (void)state;
    int spare = dup(muster_fd(m));
    close(muster_fd(m));
    expect_failure(MUSTER_E_SYSTEM, "Bad file descriptor");
    assert_int_equal(dup2(spare, muster_fd(m)), muster_fd(m)); /* for muster_close() */
    close(spare);
    expect_failure(MUSTER_E_SYSTEM, "Bad file descriptor");
}

static void several_handles_each_hear_everything(void **state)
{
    (void)state;
    struct fake_daemon first = daemon_here;
    struct muster *other = open_here();
    assert_int_not_equal(muster_fd(other), muster_fd(m));
    publish(fake_death(1, 7));
    expect_rank(7);
    assert_int_equal(muster_next(other, &event, MUSTER_NOW, &error), 0); /* the state first */
    struct mu_local_message caught_up = {.type = MU_LOCAL_CAUGHT_UP, .caught_up.serial = 0};
    say(caught_up);
    assert_int_equal(muster_next(other, &event, MUSTER_FOREVER, &error), 1);
    assert_int_equal(event.type, MUSTER_EVENT_CAUGHT_UP);
    assert_int_equal(muster_next(other, &event, MUSTER_FOREVER, &error), 1);
    assert_int_equal(event.rank, 7);
    publish(fake_death(2, 8)); /* one stroke for both */
    assert_int_equal(muster_next(other, &event, MUSTER_FOREVER, &error), 1);
    assert_int_equal(event.rank, 8);
    muster_close(other);
    assert_int_equal(muster_next(m, &event, MUSTER_FOREVER, &error), 1);
    assert_int_equal(event.rank, 8);
    close(first.fd);
}

static void words(void **state)
{
    (void)state;
    assert_string_equal(muster_verdict_name(MUSTER_DEAD), "dead");
    assert_string_equal(muster_verdict_name(MUSTER_UNREACHABLE), "unreachable");
    assert_string_equal(muster_verdict_name(MUSTER_LEFT), "left");
    assert_string_equal(muster_verdict_name(0), "unknown");
    assert_string_equal(muster_verdict_name(MUSTER_LEFT + 1), "unknown");
    assert_string_equal(muster_verdict_name(UINT32_MAX), "unknown");
    assert_string_equal(muster_version(), MUSTER_VERSION);
}

/* ---- the end ---- */

static void a_daemon_that_is_gone_has_said_what_it_said(void **state)
{
    (void)state;
    publish(fake_death(1, 7));
    put(fake_death(2, 8)); /* it came to nothing more */
    fake_daemon_hang_up(&daemon_here);
    assert_int_equal(muster_next(m, &event, MUSTER_FOREVER, &error), 1);
    assert_int_equal(muster_next(m, &event, MUSTER_FOREVER, &error), 1);
    assert_int_equal(event.rank, 8);
    for (int i = 0; i < 3; i++)
        expect_failure(MUSTER_E_NO_DAEMON, "has ended");
    assert_int_equal(muster_next(m, &event, MUSTER_NOW, NULL), -1);
}

/* The last word goes by a packet, and an event that came before it is read before it: however many
 * there are, and also by who waits for the packet already. */
static void what_came_before_the_last_word_is_read_before_it(void **state)
{
    (void)state;
    expect_nothing(MUSTER_NOW);
    for (uint64_t serial = 1; serial <= 5; serial++)
        put(fake_death(serial, (uint32_t)serial)); /* without a stroke: the packet wakes */
    say(fake_refusal(MU_LOCAL_ENDING, "job 3 is over"));
    fake_daemon_hang_up(&daemon_here);
    for (uint32_t rank = 1; rank <= 5; rank++) {
        assert_true(is_readable(muster_fd(m)));
        assert_int_equal(muster_next(m, &event, MUSTER_FOREVER, &error), 1);
        assert_int_equal(event.rank, rank);
    }
    assert_true(is_readable(muster_fd(m)));
    expect_failure(MUSTER_E_NO_DAEMON, "job 3 is over");
    expect_failure(MUSTER_E_NO_DAEMON, "job 3 is over");
    assert_true(is_readable(muster_fd(m))); /* it still has that to say */
}

static void a_daemon_that_goes_while_it_tells_the_state(void **state)
{
    (void)state;
    say(fake_death(1, 7));
    publish(fake_death(1, 7)); /* from where the news begins was not said */
    fake_daemon_hang_up(&daemon_here);
    expect_rank(7);
    expect_failure(MUSTER_E_NO_DAEMON, "has ended");
}

static void closing_says_so(void **state)
{
    (void)state;
    struct mu_local_message message;
    muster_close(m);
    m = NULL;
    hear(MU_LOCAL_LEAVE);
    assert_false(fake_daemon_hear(&daemon_here, &message));
}

/* ---- what the daemon may not say ---- */

static void again(void)
{
    leave(NULL);
    join(NULL);
}

static void expect_refused_bytes(const uint8_t *bytes, size_t count, const char *words_of_it)
{
    fake_daemon_say_bytes(&daemon_here, bytes, count);
    say(fake_death(1, 7)); /* nothing counts any more */
    expect_failure(MUSTER_E_PROTOCOL, words_of_it);
    expect_failure(MUSTER_E_PROTOCOL, words_of_it);
    assert_true(is_readable(muster_fd(m)));
    again();
}

static void expect_refused(struct mu_local_message message, const char *words_of_it)
{
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    expect_refused_bytes(bytes, mu_local_encode(&message, bytes), words_of_it);
}

static void garbage_ends_it(void **state)
{
    (void)state;
    struct mu_local_message death = fake_death(1, 7);
    uint8_t bytes[70000] = {0};
    size_t count = mu_local_encode(&death, bytes);
    for (size_t cut = 1; cut < count; cut++)
        expect_refused_bytes(bytes, cut, "a packet of ");
    expect_refused_bytes(bytes, count + 1, "bytes follow");
    expect_refused_bytes(bytes, MU_LOCAL_PACKET_MAX + 1, "513 bytes and type 34");
    expect_refused_bytes(bytes, sizeof bytes, "70000 bytes and type 34");
    for (int type = 0; type < 256; type++) {
        bytes[0] = (uint8_t)type;
        bool good = type == MU_LOCAL_EVENT;
        if (!good)
            expect_refused_bytes(bytes, count, "");
    }
}

static void messages_of_others_end_it(void **state)
{
    (void)state;
    expect_refused(fake_welcome(), "type 32 is not for a member"); /* and its descriptors */
    expect_refused((struct mu_local_message){.type = MU_LOCAL_DONE}, "type 40");
    expect_refused((struct mu_local_message){.type = MU_LOCAL_STATUS}, "type 2");
    expect_refused((struct mu_local_message){.type = MU_LOCAL_LEAVE}, "type 8");
    struct mu_local_message refusal = fake_refusal(MU_LOCAL_BAD_PACKET, "you talk too much");
    say(refusal);
    expect_failure(MUSTER_E_REFUSED, "you talk too much");
    expect_failure(MUSTER_E_REFUSED, "you talk too much");
}

static void events_that_cannot_be_end_it(void **state)
{
    (void)state;
    struct mu_local_message death = fake_death(1, FAKE_SIZE);
    expect_refused(death, "rank 32 of job 3, but this is job 3 with 32 ranks");
    death = fake_death(1, 7);
    death.event.job = 4;
    expect_refused(death, "rank 7 of job 4");
    death = fake_death(1, 7);
    death.event.node = death.event.evidence.node = FAKE_NODES;
    expect_refused(death, "node 8, detected by node 2, in a cluster of 8 nodes");
    death = fake_death(1, 7);
    death.event.evidence.seen_by = FAKE_NODES;
    expect_refused(death, "detected by node 8");
}

/* ---- fork ---- */

static int in_the_child(void)
{
    if (muster_next(m, &event, MUSTER_FOREVER, &error) != -1 || error.code != MUSTER_E_FORKED)
        return 1;
    if (muster_next(m, &event, MUSTER_NOW, NULL) != -1 || muster_fd(m) != -1)
        return 2;
    if (muster_rank(m) != FAKE_RANK || muster_size(m) != FAKE_SIZE)
        return 3;
    muster_close(m);
    return 0;
}

static void a_child_has_no_part_in_it(void **state)
{
    (void)state;
    publish(fake_death(1, 7));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(in_the_child());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    char byte; /* the child has said nothing */
    assert_int_equal(recv(daemon_here.fd, &byte, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
    assert_true(is_readable(muster_fd(m)));
    publish(fake_death(2, 8));
    expect_next(MUSTER_EVENT_PROCESS, "rank 7 on node 2 failed: killed by SIGKILL");
    expect_next(MUSTER_EVENT_PROCESS, "rank 8 on node 2 failed: killed by SIGKILL");
    expect_nothing(MUSTER_NOW);
    publish(fake_death(3, 9));
    assert_int_equal(muster_next(m, &event, MUSTER_FOREVER, &error), 1);
    assert_int_equal(event.rank, 9);
}

int main(void)
{
#define JOINED(test)    cmocka_unit_test_setup_teardown(test, join, leave)
#define FOLLOWING(test) cmocka_unit_test_setup_teardown(test, follow, leave)
    const struct CMUnitTest tests[] = {
        JOINED(first_what_has_happened_then_the_news),
        FOLLOWING(every_end_of_a_process),
        FOLLOWING(a_start_that_failed),
        FOLLOWING(a_node_is_lost),
        FOLLOWING(ages_go_on_until_they_are_read),
        FOLLOWING(timeouts),
        FOLLOWING(where_no_descriptor_may_be_opened),
        FOLLOWING(whoever_closes_the_descriptor_is_told),
        FOLLOWING(several_handles_each_hear_everything),
        cmocka_unit_test(words),
        FOLLOWING(a_daemon_that_is_gone_has_said_what_it_said),
        FOLLOWING(what_came_before_the_last_word_is_read_before_it),
        JOINED(a_daemon_that_goes_while_it_tells_the_state),
        FOLLOWING(closing_says_so),
        JOINED(garbage_ends_it),
        JOINED(messages_of_others_end_it),
        JOINED(events_that_cannot_be_end_it),
        FOLLOWING(a_child_has_no_part_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
