/* What clients of a daemon are told, over real sockets: as stories. */
#include "test_notify_world.h"
#include "turn.h"

#include "test_local_random.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Ranks of this node: 1, 9, 17, ... */
enum { JOB = 7, SIZE = 24, RANK = SELF, OTHER_RANK = SELF + NODES };

/* ---- members ---- */

static void a_member_hears_what_happens(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    int fd = dial(&world);
    say_hello(fd, MU_LOCAL_MEMBER, JOB, RANK);
    struct mu_local_welcome welcome = hear(&world, fd, MU_LOCAL_WELCOME).welcome;
    assert_true(welcome.machine == 0x1000000000000000u + (uint64_t)getpid());
    assert_int_equal(welcome.nodes, NODES);
    assert_int_equal(welcome.slot, SELF);
    assert_int_equal(welcome.job, JOB);
    assert_int_equal(welcome.rank, RANK);
    assert_int_equal(welcome.size, SIZE);
    hear(&world, fd, MU_LOCAL_CAUGHT_UP);
    hear_nothing(&world, fd);

    process_dies(&world, JOB, 5);
    struct mu_local_event event = hear_process(&world, fd, 5, false);
    assert_int_equal(event.serial, 1);
    assert_int_equal(event.job, JOB);
    assert_int_equal(event.node, 5);
    assert_int_equal(event.hops, 2);
    assert_int_equal(event.learned_ns, 1005);
    assert_int_equal(event.age_ns, 10);
    assert_int_equal(event.evidence.how.signal, 9);
    assert_int_equal(event.evidence.pid, 4711);
    assert_int_equal(event.evidence.seen_by, 2);

    process_leaves(&world, JOB, 6);
    event = hear_process(&world, fd, 6, false);
    assert_int_equal(event.evidence.verdict, MU_VERDICT_LEFT);
    assert_int_equal(event.evidence.pid, 4712);
    assert_int_equal(world.told, 2);
    hear_nothing(&world, fd);
    hang_up(fd);
    world_close(&world);
}

static void events_are_written_without_a_turn_of_the_loop(void **state)
{
    (void)state;
    struct world world;
    struct mu_local_message message;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    int fd = join_early(&world, JOB, RANK);
    assert_true(strokes(fd) == 0);
    process_dies(&world, JOB, 5);
    assert_true(strokes(fd) == 1);
    assert_int_equal(try_hear(fd, &message), 1);
    hang_up(fd);
    world_close(&world);
}

static void who_comes_late_is_told_the_state(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    process_dies(&world, JOB, 5);
    process_leaves(&world, JOB, 3);
    node_dies(&world, 2);
    int fd = join(&world, JOB, RANK);
    assert_int_equal(hear_process(&world, fd, 5, true).serial, 1);
    assert_int_equal(hear_process(&world, fd, 3, true).serial, 2);
    assert_int_equal(hear_node(&world, fd, 2, true).serial, 3);
    hear_process(&world, fd, 2, true);
    hear_process(&world, fd, 10, true);
    hear_process(&world, fd, 18, true);
    hear(&world, fd, MU_LOCAL_CAUGHT_UP);
    process_dies(&world, JOB, 7);
    hear_process(&world, fd, 7, false);
    hear_nothing(&world, fd);
    hang_up(fd);
    world_close(&world);
}

/* A program hears of a death once.  Whoever comes later hears the proof that came later. */
static void proof_takes_the_place_of_silence(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    int before = join(&world, JOB, RANK);
    hear(&world, before, MU_LOCAL_CAUGHT_UP);
    const struct mu_evidence told = {
        .verdict = MU_VERDICT_SILENT, .cause = MU_CAUSE_TOLD, .seen_by = 4};
    told_node(&world, 2, 2000, 20, 3, &told);
    assert_true(mu_gone_has(&world.roll.dead, 2));
    node_dies(&world, 2);                     /* proven */
    told_node(&world, 2, 2000, 20, 3, &told); /* never back */
    assert_int_equal(hear_node(&world, before, 2, false).evidence.verdict, MU_VERDICT_SILENT);
    hear_process(&world, before, 2, false);
    hear_process(&world, before, 10, false);
    hear_process(&world, before, 18, false);
    hear_nothing(&world, before);
    hang_up(before);
    int after = join(&world, JOB, RANK);
    assert_int_equal(hear_node(&world, after, 2, true).evidence.verdict, MU_VERDICT_DEAD);
    hang_up(after);
    world_close(&world);
}

/* The same from the roll alone, because the journal holds two events only. */
static void the_state_does_not_need_the_journal(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 2, 8);
    begin_job(&world, JOB, SIZE);
    begin_job(&world, JOB + 1, SIZE);
    struct mu_evidence missing = {.verdict = MU_VERDICT_DEAD, .cause = MU_CAUSE_EXIT, .seen_by = 5};
    missing.how = mu_exit_kind_not_started(MU_START_EXEC, ENOENT);
    mu_evidence_path(&missing, "./nope");
    told_process(&world, JOB, 5, 1005, 10, 2, &missing);
    process_leaves(&world, JOB, 3);
    node_dies(&world, 2);
    for (uint32_t rank = 3; rank < 8; rank++)
        process_dies(&world, JOB + 1, rank);
    int fd = join(&world, JOB, RANK);
    struct mu_local_event event = hear_process(&world, fd, 5, true);
    assert_int_equal(event.serial, 1);
    assert_int_equal(event.job, JOB);
    assert_int_equal(event.node, 5);
    assert_int_equal(event.hops, 2);
    assert_int_equal(event.learned_ns, 1005);
    assert_int_equal(event.age_ns, 10);
    assert_int_equal(event.evidence.how.error, ENOENT);
    assert_string_equal(event.evidence.path, "./nope");
    event = hear_process(&world, fd, 3, true);
    assert_int_equal(event.evidence.verdict, MU_VERDICT_LEFT);
    assert_int_equal(event.node, 3);
    event = hear_node(&world, fd, 2, true);
    assert_int_equal(event.evidence.cause, MU_CAUSE_WITNESS);
    assert_int_equal(event.evidence.seen_by, 4);
    event = hear_process(&world, fd, 2, true);
    assert_int_equal(event.evidence.cause, MU_CAUSE_NODE_LOST);
    hear_process(&world, fd, 10, true);
    hear_process(&world, fd, 18, true);
    hear(&world, fd, MU_LOCAL_CAUGHT_UP);
    assert_true(mu_notify_lost(world.notify) == 0);
    process_dies(&world, JOB, 7);
    hear_process(&world, fd, 7, false);
    hang_up(fd);
    world_close(&world);
}

static void a_member_hears_of_its_own_job_only(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 4, 8);
    begin_job(&world, JOB, SIZE);
    begin_job(&world, JOB + 1, SIZE);
    process_dies(&world, JOB + 1, 4);
    int fd = join_early(&world, JOB, RANK);
    process_dies(&world, JOB + 1, 5);
    process_dies(&world, JOB + 99, 5); /* which nobody knows here */
    hear_nothing(&world, fd);
    for (uint32_t rank = 6; rank < 16; rank++) /* more than the journal holds */
        process_dies(&world, JOB + 1, rank);
    process_dies(&world, JOB, 6);
    hear_process(&world, fd, 6, false);
    assert_true(mu_notify_lost(world.notify) == 0);
    hang_up(fd);
    world_close(&world);
}

/* ---- one death, two messengers ---- */

static void the_process_first_and_then_its_node(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    int fd = join_early(&world, JOB, RANK);
    process_dies(&world, JOB, 10);
    hear_process(&world, fd, 10, false);
    node_dies(&world, 2);
    hear_node(&world, fd, 2, false);
    struct mu_local_event event = hear_process(&world, fd, 2, false);
    assert_int_equal(event.evidence.cause, MU_CAUSE_NODE_LOST);
    assert_int_equal(event.evidence.seen_by, 4);
    assert_int_equal(event.evidence.seen_ns, 50);
    assert_int_equal(event.evidence.clock, 6);
    assert_int_equal(event.age_ns, 20);
    assert_int_equal(event.hops, 3);
    hear_process(&world, fd, 18, false); /* and not 10 again */
    node_dies(&world, 2);
    process_dies(&world, JOB, 10);
    hear_nothing(&world, fd);
    hang_up(fd);
    world_close(&world);
}

static void the_node_first_and_then_its_process(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    int fd = join_early(&world, JOB, RANK);
    node_dies(&world, 2);
    hear_node(&world, fd, 2, false);
    for (uint32_t rank = 2; rank < SIZE; rank += NODES)
        hear_process(&world, fd, rank, false);
    process_dies(&world, JOB, 10);
    process_leaves(&world, JOB, 18);
    hear_nothing(&world, fd);
    assert_int_equal(world.told, 4);
    hang_up(fd);
    world_close(&world);
}

struct recalled {
    uint32_t count;
    struct mu_local_event events[8];
};

static void recall(void *arg, const struct mu_local_event *event)
{
    struct recalled *recalled = arg;
    assert_true(recalled->count < 8);
    recalled->events[recalled->count++] = *event;
}

static void who_is_gone_can_be_asked_for_later(void **state)
{
    (void)state;
    struct world world;
    struct recalled nodes = {0}, processes = {0}, none = {0};
    world_open(&world, 64, 8);
    process_dies(&world, JOB, 1);
    node_dies(&world, 2);
    begin_job(&world, JOB, SIZE);
    process_leaves(&world, JOB, 4);
    mu_roll_dead_before(&world.roll, recall, &nodes);
    mu_roll_gone_before(&world.roll, JOB, recall, &processes);
    mu_roll_gone_before(&world.roll, JOB + 1, recall, &none);
    assert_int_equal(nodes.count, 1);
    assert_int_equal(nodes.events[0].subject, MU_SUBJECT_NODE);
    assert_int_equal(nodes.events[0].node, 2);
    assert_int_equal(processes.count, 1 + 3 + 1);
    assert_int_equal(none.count, 0);
    static const uint32_t ranks[] = {1, 2, 10, 18, 4};
    for (uint32_t i = 0; i < processes.count; i++) {
        assert_int_equal(processes.events[i].subject, MU_SUBJECT_PROCESS);
        assert_int_equal(processes.events[i].job, JOB);
        assert_int_equal(processes.events[i].rank, ranks[i]);
        assert_int_equal(processes.events[i].node, ranks[i] % NODES);
    }
    assert_int_equal(processes.events[0].evidence.how.type, killed.how.type);
    assert_int_equal(processes.events[1].evidence.cause, MU_CAUSE_NODE_LOST);
    assert_int_equal(processes.events[4].evidence.verdict, MU_VERDICT_LEFT);
    world_close(&world);
}

static void a_job_that_begins_after_a_node_has_died(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 2, 8);
    node_dies(&world, 3);
    node_dies(&world, 2);
    begin_job(&world, JOB, SIZE);
    assert_int_equal(world.told, 2 + 6);
    assert_int_equal(world.last_told.rank, 18);
    assert_int_equal(world.last_told.learned_ns, 2000);
    assert_int_equal(world.last_told.age_ns, 20);
    int fd = join(&world, JOB, RANK);
    hear_node(&world, fd, 3, true);
    hear_node(&world, fd, 2, true);
    static const uint32_t ranks[] = {3, 11, 19, 2, 10, 18};
    for (size_t i = 0; i < 6; i++) {
        struct mu_local_event event = hear_process(&world, fd, ranks[i], true);
        assert_int_equal(event.evidence.cause, MU_CAUSE_NODE_LOST);
        assert_int_equal(event.node, ranks[i] % NODES);
    }
    hear(&world, fd, MU_LOCAL_CAUGHT_UP);
    process_dies(&world, JOB, 10);
    hear_nothing(&world, fd);
    hang_up(fd);
    world_close(&world);
}

static void news_of_a_job_that_is_yet_to_begin_count(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    process_dies(&world, JOB, 4);
    process_dies(&world, JOB, 4);    /* told once */
    process_dies(&world, JOB, SIZE); /* no rank of it, as will turn out */
    process_dies(&world, JOB + 1, 5);
    assert_int_equal(world.told, 3);
    begin_job(&world, JOB, SIZE);
    process_dies(&world, JOB, 4);
    assert_int_equal(world.told, 3);
    int fd = join(&world, JOB, RANK);
    hear_process(&world, fd, 4, true);
    hear(&world, fd, MU_LOCAL_CAUGHT_UP);
    hang_up(fd);
    world_close(&world);
}

static void count_gone(void *arg, const struct mu_local_event *event)
{
    uint32_t *count = arg;
    assert_int_equal(event->rank, *count);
    assert_int_equal(event->evidence.how.signal, 9);
    ++*count;
}

/* Far more than the journal holds, and of another job in between. */
static void no_storm_before_a_job_begins_loses_one(void **state)
{
    (void)state;
    enum { STORM = 1000 };
    struct world world;
    uint32_t count = 0;
    world_open(&world, 64, 8);
    for (uint32_t rank = 0; rank < STORM; rank++) {
        process_dies(&world, JOB, rank);
        process_dies(&world, JOB, rank / 2); /* told once */
        process_dies(&world, JOB + 1, rank);
    }
    assert_int_equal(world.told, 2 * STORM);
    begin_job(&world, JOB, STORM + 9);
    mu_roll_gone_before(&world.roll, JOB, count_gone, &count);
    assert_int_equal(count, STORM);
    int fd = join(&world, JOB, RANK);
    for (uint32_t rank = 0; rank < STORM; rank++)
        assert_int_equal(hear_process(&world, fd, rank, true).evidence.pid, 4711);
    hear(&world, fd, MU_LOCAL_CAUGHT_UP);
    process_dies(&world, JOB, 3); /* known */
    hear_nothing(&world, fd);
    hang_up(fd);
    world_close(&world);
}

/* What still comes of a job that is over is not of one that has its number later. */
static void late_news_of_a_job_that_is_over_are_forgotten(void **state)
{
    (void)state;
    struct world world;
    uint32_t count = 0;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    job_over(&world, JOB);
    process_dies(&world, JOB, 0);
    begin_job(&world, JOB, SIZE);
    mu_roll_gone_before(&world.roll, JOB, count_gone, &count);
    assert_int_equal(count, 0);
    process_dies(&world, JOB, 0);
    mu_roll_gone_before(&world.roll, JOB, count_gone, &count);
    assert_int_equal(count, 1);
    world_close(&world);
}

static void a_number_that_is_used_again_is_another_job(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    int first = join_early(&world, JOB, RANK);
    process_dies(&world, JOB, 4);
    hear_process(&world, first, 4, false);
    struct mu_launch_run run = {.slot = 0, .first = 0, .count = SIZE};
    struct mu_launch_job spec = {.size = SIZE, .run_count = 1, .runs = &run};
    assert_non_null(job_begins(&world, JOB, &spec));
    job_over(&world, JOB);
    hear_refused(&world, first, MU_LOCAL_ENDING);
    job_over(&world, JOB); /* nothing */
    begin_job(&world, JOB, SIZE);
    int second = join_early(&world, JOB, RANK);
    process_dies(&world, JOB, 4);
    hear_process(&world, second, 4, false);
    hang_up(second);
    world_close(&world);
}

static void view_is_told(struct world *world, uint64_t number, uint32_t missing)
{
    const struct mu_span spans[] = {{0, missing}, {missing + 1, NODES - missing - 1}};
    const struct mu_roll_change change =
        mu_roll_stable(&world->roll, number, number, spans, 2, 70 + number);
    mu_notify_changed(world->notify, &change);
}

static void hear_view(struct world *world, int fd, uint64_t number, bool is_state)
{
    const struct mu_local_event event = hear(world, fd, MU_LOCAL_EVENT).event;
    assert_int_equal(event.subject, MU_SUBJECT_VIEW);
    assert_true(event.view.number == number && event.view.total == NODES - 1);
    assert_int_equal(event.is_state, is_state);
    assert_true(event.learned_ns == 70 + number);
}

/* The last of the state is the view; a member that loses some is told which one counts now. */
static void a_member_hears_of_views(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 8, 8);
    begin_job(&world, JOB, SIZE);
    int before = join(&world, JOB, RANK);
    hear(&world, before, MU_LOCAL_CAUGHT_UP);
    node_dies(&world, 1);
    view_is_told(&world, 2, 1);
    int fd = join(&world, JOB, RANK);
    struct mu_local_event event = hear(&world, fd, MU_LOCAL_EVENT).event;
    assert_int_equal(event.subject, MU_SUBJECT_NODE);
    while (event.subject != MU_SUBJECT_VIEW) /* who ran on that node */
        event = hear(&world, fd, MU_LOCAL_EVENT).event;
    assert_true(event.is_state && event.view.number == 2 && event.view.total == NODES - 1);
    hear(&world, fd, MU_LOCAL_CAUGHT_UP);
    view_is_told(&world, 3, 2);
    hear_view(&world, fd, 3, false);
    view_is_told(&world, 3, 2); /* told before */
    hear_nothing(&world, fd);
    hang_up(fd);
    hang_up(before);
    world_close(&world);
}

static void what_cannot_be_is_counted(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    process_dies(&world, JOB, SIZE);
    process_dies(&world, JOB, UINT32_MAX);
    node_dies(&world, NODES);
    assert_int_equal(world.told, 0);
    int fd = operate(&world);
    ask(fd, MU_LOCAL_STATUS);
    hear(&world, fd, MU_LOCAL_NODE);
    hear(&world, fd, MU_LOCAL_JOB);
    bool found = false;
    for (struct mu_local_message message = hear(&world, fd, MU_LOCAL_COUNTER);
         message.type == MU_LOCAL_COUNTER;) {
        found = found ||
                (strcmp(message.counter.name, "events_ignored") == 0 && message.counter.value == 3);
        assert_int_equal(hear_any(&world, fd, &message), 1);
    }
    assert_true(found);
    hang_up(fd);
    world_close(&world);
}

/* ---- who may be a member ---- */

static void a_wrong_rank_is_refused(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    begin_job(&world, JOB + 1, SIZE);
    process_starts(&world, JOB, RANK, (uint32_t)getpid());
    int fd = dial(&world);
    say_hello(fd, MU_LOCAL_MEMBER, JOB, OTHER_RANK); /* is here, but this is RANK */
    hear_refused(&world, fd, MU_LOCAL_NOT_KNOWN);
    fd = dial(&world);
    say_hello(fd, MU_LOCAL_MEMBER, JOB + 1, RANK);
    hear_refused(&world, fd, MU_LOCAL_NOT_KNOWN);
    assert_true(mu_notify_refused(world.notify) == 2);
    hang_up(join_early(&world, JOB, RANK));

    /* It has ended, and this is somebody else with its number. */
    process_ends(&world, JOB, RANK);
    hang_up(join_early(&world, JOB, OTHER_RANK));
    process_starts(&world, JOB + 1, RANK, (uint32_t)getpid());
    process_dies(&world, JOB + 1, RANK);
    hang_up(join_early(&world, JOB, OTHER_RANK));
    world_close(&world);
}

static void a_claim_is_taken_for_who_is_here_only(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    static const struct mu_local_hello claims[] = {
        {.job = JOB, .rank = 2},           /* is on another node */
        {.job = JOB, .rank = SIZE + SELF}, /* there is none */
        {.job = JOB, .rank = UINT32_MAX},
        {.job = JOB + 1, .rank = RANK},
    };
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        int fd = dial(&world);
        say_hello(fd, MU_LOCAL_MEMBER, claims[i].job, claims[i].rank);
        hear_refused(&world, fd, MU_LOCAL_NOT_KNOWN);
    }
    hang_up(join_early(&world, JOB, RANK));
    world_close(&world);
}

/* In a child: connects, claims, and exits with the type of the answer. */
static void claim_and_exit(const struct world *world, uint32_t rank)
{
    struct mu_local_message message;
    int fd = dial(world);
    say_hello(fd, MU_LOCAL_MEMBER, JOB, rank);
    struct pollfd answer = {.fd = fd, .events = POLLIN};
    bool heard = poll(&answer, 1, 20000) == 1 && try_hear(fd, &message) == 1;
    _exit(heard ? message.type : 0);
}

/* A grandchild in the group of a child that is 'announced': what is it answered? */
static int answer_to_group(struct world *world, uint32_t announced, uint32_t claimed)
{
    int ready[2], hold[2];
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(hold), 0);
    pid_t leader = fork();
    assert_true(leader >= 0);
    if (leader == 0) {
        char byte;
        close(hold[1]);
        setpgid(0, 0);
        pid_t member = write(ready[1], "", 1) == 1 && read(hold[0], &byte, 1) == 1 ? fork() : -1;
        if (member == 0)
            claim_and_exit(world, claimed);
        int status = 0;
        waitpid(member, &status, 0);
        _exit(member > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 0);
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1); /* it leads its group now */
    process_starts(world, JOB, announced, (uint32_t)leader);
    assert_int_equal(write(hold[1], "", 1), 1);
    int status = 0;
    pid_t ended = 0;
    struct pollfd nothing = {.fd = -1};
    for (int i = 0; ended == 0 && i < 20000; i++) {
        uv_run(&world->loop, UV_RUN_NOWAIT);
        ended = waitpid(leader, &status, WNOHANG);
        poll(&nothing, 1, ended == 0 ? 1 : 0); /* the children need the processor, too */
    }
    if (ended == 0)
        kill(-leader, SIGKILL);
    assert_int_equal(ended, leader);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(hold[i]);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static void a_member_is_known_by_its_group(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    assert_int_equal(answer_to_group(&world, RANK, RANK), MU_LOCAL_WELCOME);
    assert_int_equal(answer_to_group(&world, RANK, OTHER_RANK), MU_LOCAL_REFUSED);
    world_close(&world);
}

static void another_user_is_turned_away(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    struct world world;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    assert_int_equal(seteuid(65534), 0);
    int fd = dial(&world);
    assert_int_equal(seteuid(0), 0);
    hear_refused(&world, fd, MU_LOCAL_OTHER_USER);
    assert_true(mu_notify_refused(world.notify) == 1);
    assert_int_equal(mu_notify_clients(world.notify), 0);
    world_close(&world);
}

/* ---- places ---- */

static void strangers_make_room_for_others(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 3);
    begin_job(&world, JOB, SIZE);
    int first = dial(&world), second = dial(&world);
    int member = join_early(&world, JOB, RANK);
    assert_int_equal(mu_notify_clients(world.notify), 3);
    int late = join_early(&world, JOB, RANK); /* in the place of the first */
    hear_refused(&world, first, MU_LOCAL_NO_PLACE);
    hear_nothing(&world, second);
    int later = join_early(&world, JOB, RANK);
    hear_refused(&world, second, MU_LOCAL_NO_PLACE);
    int last = dial(&world); /* there is no stranger left */
    hear_refused(&world, last, MU_LOCAL_NO_PLACE);
    assert_int_equal(mu_notify_clients(world.notify), 3);
    assert_true(mu_notify_refused(world.notify) == 3);
    hang_up(member);
    settle(&world);
    assert_int_equal(mu_notify_clients(world.notify), 2);
    process_dies(&world, JOB, 5);
    hear_process(&world, late, 5, false);
    hear_process(&world, later, 5, false);
    hang_up(late);
    hang_up(later);
    world_close(&world);
}

static void many_clients_hear_the_same(void **state)
{
    (void)state;
    enum { CLIENTS = 100 };
    struct world world;
    int fds[CLIENTS];
    world_open(&world, 64, CLIENTS);
    begin_job(&world, JOB, SIZE);
    for (int i = 0; i < CLIENTS; i++)
        fds[i] = join_early(&world, JOB, i % 2 == 0 ? RANK : OTHER_RANK);
    for (uint32_t rank = 2; rank < 8; rank++)
        process_dies(&world, JOB, rank);
    for (int i = 0; i < CLIENTS; i++) {
        for (uint32_t rank = 2; rank < 8; rank++)
            assert_int_equal(hear_process(&world, fds[i], rank, false).serial, rank - 1);
        hear_nothing(&world, fds[i]);
    }
    for (int i = 0; i < CLIENTS; i++)
        hang_up(fds[i]);
    settle(&world);
    assert_int_equal(mu_notify_clients(world.notify), 0);
    world_close(&world);
}

static void handles_that_are_not_closed_are_counted(void **state)
{
    (void)state;
    struct world world;
    const struct mu_local_message leave = {.type = MU_LOCAL_LEAVE};
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    process_starts(&world, JOB, RANK, (uint32_t)getpid());
    process_starts(&world, JOB, OTHER_RANK, 1); /* not this process */
    assert_false(mu_notify_inside(world.notify, JOB, RANK));
    assert_false(mu_notify_inside(world.notify, JOB + 1, RANK));
    assert_false(mu_notify_inside(world.notify, JOB, 0)); /* of another node */
    int first = join(&world, JOB, RANK), second = join(&world, JOB, RANK);
    hear(&world, first, MU_LOCAL_CAUGHT_UP);
    hear(&world, second, MU_LOCAL_CAUGHT_UP);
    assert_true(mu_notify_inside(world.notify, JOB, RANK));
    say(first, leave); /* and the loop has not looked at it */
    assert_true(mu_notify_inside(world.notify, JOB, RANK));
    say(second, leave);
    hang_up(second);
    assert_false(mu_notify_inside(world.notify, JOB, RANK));
    hang_up(first);
    settle(&world);
    /* One that closes its socket, and says nothing. */
    int third = join(&world, JOB, RANK);
    hang_up(third);
    settle(&world);
    assert_true(mu_notify_inside(world.notify, JOB, RANK));
    world_close(&world);
}

static void others_run_until_they_are_known_to_have_ended(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, 10); /* ranks 1 and 9 are here */
    assert_true(mu_roll_others(&world.roll, JOB, RANK));
    for (uint32_t rank = 0; rank < 9; rank++)
        if (rank % 2 == 0)
            process_dies(&world, JOB, rank);
        else if (rank != RANK)
            process_leaves(&world, JOB, rank);
    assert_true(mu_roll_others(&world.roll, JOB, RANK));
    process_ends(&world, JOB, OTHER_RANK); /* it has left, and nobody was told yet */
    assert_false(mu_roll_others(&world.roll, JOB, RANK));
    process_leaves(&world, JOB, OTHER_RANK);
    assert_false(mu_roll_others(&world.roll, JOB, RANK));
    begin_job(&world, JOB + 1, 1); /* that it has spawned, on another node */
    assert_true(mu_roll_others(&world.roll, JOB, RANK));
    process_dies(&world, JOB + 1, 0);
    assert_false(mu_roll_others(&world.roll, JOB, RANK));
    world_close(&world);
}

static void who_closes_in_the_middle_disturbs_nobody(void **state)
{
    (void)state;
    enum { CLIENTS = 6 };
    struct world world;
    int fds[CLIENTS];
    world_open(&world, 64, CLIENTS);
    begin_job(&world, JOB, SIZE);
    for (int i = 0; i < CLIENTS; i++)
        fds[i] = join_early(&world, JOB, RANK);
    process_dies(&world, JOB, 2);
    hang_up(fds[0]); /* with an event unread */
    hear_process(&world, fds[2], 2, false);
    hang_up(fds[2]);              /* with nothing unread */
    process_dies(&world, JOB, 3); /* before the loop could notice */
    for (int i = 0; i < CLIENTS; i++) {
        if (i == 0 || i == 2)
            continue;
        hear_process(&world, fds[i], 2, false);
        hear_process(&world, fds[i], 3, false);
        hear_nothing(&world, fds[i]);
        hang_up(fds[i]);
    }
    settle(&world);
    assert_int_equal(mu_notify_clients(world.notify), 0);
    assert_true(mu_notify_refused(world.notify) == 0);
    world_close(&world);
}

/* Without a descriptor nobody can be taken, and the loop must not spin: it looks again later. */
static void no_descriptor_for_one_more(void **state)
{
    (void)state;
    struct world world;
    struct rlimit before, none;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    int fd = dial(&world);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = (rlim_t)fd + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    settle(&world);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(mu_notify_clients(world.notify), 0);
    for (int i = 0; mu_notify_clients(world.notify) == 0 && i < LOOPS_MAX; i++)
        turn_loop(&world.loop);
    assert_int_equal(mu_notify_clients(world.notify), 1);
    hang_up(fd);
    world_close(&world);
}

/* ---- packets that must not be ---- */

static void expect_refusal(struct world *world, int fd, const void *bytes, size_t count,
                           enum mu_local_refusal code)
{
    uint64_t before = mu_notify_refused(world->notify);
    say_bytes(fd, bytes, count);
    hear_refused(world, fd, code);
    assert_true(mu_notify_refused(world->notify) == before + 1);
}

static void a_packet_that_breaks_a_rule_ends_the_connection(void **state)
{
    (void)state;
    struct world world;
    uint8_t bytes[2000] = {0};
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    int witness = join_early(&world, JOB, RANK);
    expect_refusal(&world, dial(&world), "", 1, MU_LOCAL_BAD_PACKET);
    expect_refusal(&world, dial(&world), "\x01", 1, MU_LOCAL_BAD_PACKET);
    expect_refusal(&world, dial(&world), "\x02", 1, MU_LOCAL_BAD_PACKET); /* STATUS first */
    expect_refusal(&world, dial(&world), "\x01\x01", 2, MU_LOCAL_OTHER_VERSION);
    expect_refusal(&world, dial(&world), "\x01\x06later", 7, MU_LOCAL_OTHER_VERSION);
    bytes[0] = MU_LOCAL_STATUS;
    expect_refusal(&world, operate(&world), bytes, sizeof bytes, MU_LOCAL_BAD_PACKET);
    expect_refusal(&world, operate(&world), bytes, 2, MU_LOCAL_BAD_PACKET);
    bytes[0] = MU_LOCAL_DONE; /* what only a daemon says */
    expect_refusal(&world, operate(&world), bytes, 1, MU_LOCAL_BAD_PACKET);
    static const uint8_t hello[] = {
        MU_LOCAL_HELLO, MU_LOCAL_VERSION, MU_LOCAL_OPERATOR, 0, 0, 0, 0, 0, 0, 0, 0};
    expect_refusal(&world, operate(&world), hello, sizeof hello, MU_LOCAL_BAD_PACKET);
    expect_refusal(&world, join_early(&world, JOB, RANK), hello, sizeof hello, MU_LOCAL_BAD_PACKET);
    bytes[0] = MU_LOCAL_STATUS;
    expect_refusal(&world, join_early(&world, JOB, RANK), bytes, 1, MU_LOCAL_BAD_PACKET);
    process_dies(&world, JOB, 5);
    hear_process(&world, witness, 5, false);
    assert_int_equal(mu_notify_clients(world.notify), 1);
    hang_up(witness);
    world_close(&world);
}

static void garbage_hurts_nobody(void **state)
{
    (void)state;
    struct world world;
    struct random r = {.state = 3, .slots = NODES, .small = true};
    world_open(&world, 64, 4);
    begin_job(&world, JOB, SIZE);
    int witness = join_early(&world, JOB, RANK);
    for (int round = 0; round < 400; round++) {
        int fd = round % 2 == 0 ? dial(&world) : operate(&world);
        for (uint64_t packets = random_below(&r, 4); packets-- > 0;) {
            uint8_t bytes[MU_LOCAL_PACKET_MAX + 40];
            size_t count = (size_t)random_between(&r, 1, sizeof bytes);
            for (size_t i = 0; i < sizeof bytes; i++)
                bytes[i] = (uint8_t)random_u64(&r);
            if (random_below(&r, 2) == 0) {
                struct mu_local_message good =
                    random_local(&r, local_types[random_below(&r, LOCAL_TYPES)]);
                count = mu_local_encode(&good, bytes);
                bytes[random_below(&r, count)] ^= (uint8_t)random_below(&r, 4);
            }
            send(fd, bytes, count, MSG_NOSIGNAL); /* it may be closed already */
            if (random_below(&r, 2) == 0)
                settle(&world);
        }
        hang_up(fd);
        settle(&world);
        assert_int_equal(mu_notify_clients(world.notify), 1);
    }
    process_dies(&world, JOB, 5);
    hear_process(&world, witness, 5, false);
    hang_up(witness);
    world_close(&world);
}

/* ---- operators ---- */

static void an_operator_asks_for_the_status(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    begin_job(&world, JOB + 1, SIZE);
    process_starts(&world, JOB, 9, 1u << 30);
    process_starts(&world, JOB, 17, (1u << 30) + 1);
    process_starts(&world, JOB, 2, (1u << 30) + 2); /* not of this node */
    process_dies(&world, JOB, 17);
    process_dies(&world, JOB, 2);
    process_leaves(&world, JOB, 3);
    int fd = operate(&world);
    ask(fd, MU_LOCAL_STATUS);
    struct mu_local_node node = hear(&world, fd, MU_LOCAL_NODE).node;
    assert_int_equal(node.slot, SELF);
    assert_int_equal(node.jobs, 2);
    assert_string_equal(node.host, "node1");
    struct mu_local_job job = hear(&world, fd, MU_LOCAL_JOB).job;
    assert_int_equal(job.job, JOB);
    assert_int_equal(job.size, SIZE);
    assert_int_equal(job.here, 1);
    assert_int_equal(job.failed, 2);
    assert_int_equal(job.left, 1);
    struct mu_local_message process = hear(&world, fd, MU_LOCAL_PROCESS); /* the one that runs */
    assert_int_equal(process.process.rank, 9);
    assert_int_equal(process.process.pid, 1u << 30);
    assert_int_equal(hear(&world, fd, MU_LOCAL_JOB).job.job, JOB + 1);
    static const struct {
        const char *name;
        uint64_t value;
    } counters[] = {{"clients", 1},     {"clients_refused", 0}, {"events", 3},
                    {"events_lost", 0}, {"events_ignored", 0},  {"first", 100},
                    {"second", 101}};
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        struct mu_local_message message = hear(&world, fd, MU_LOCAL_COUNTER);
        assert_string_equal(message.counter.name, counters[i].name);
        assert_true(message.counter.value == counters[i].value);
    }
    for (uint32_t i = 0; i < 2; i++) { /* nodes of which no process is left */
        struct mu_local_gone gone = hear(&world, fd, MU_LOCAL_GONE).gone;
        assert_int_equal(gone.node, 1 + i);
        assert_int_equal(gone.gone_ns, 1000 + i);
    }
    hear(&world, fd, MU_LOCAL_DONE);
    process_dies(&world, JOB, 5);
    hear_nothing(&world, fd); /* only what it asks for */
    hang_up(fd);
    world_close(&world);
}

/* More than a socket holds, asked for twice, and jobs come and go in between. */
static void an_answer_waits_for_who_reads_slowly(void **state)
{
    (void)state;
    enum { JOBS = 500 };
    struct world world;
    world_open(&world, 64, 8);
    for (uint32_t job = 1; job <= JOBS; job++)
        begin_job(&world, job, NODES);
    int fd = operate(&world);
    ask(fd, MU_LOCAL_STATUS);
    ask(fd, MU_LOCAL_STATUS);
    settle(&world);
    job_over(&world, 1);
    job_over(&world, JOBS);
    begin_job(&world, JOBS + 1, NODES);
    for (int time = 0; time < 2; time++) {
        uint32_t last = time == 0 ? 0 : 1;
        hear(&world, fd, MU_LOCAL_NODE);
        struct mu_local_message message = hear(&world, fd, MU_LOCAL_JOB);
        for (; message.type == MU_LOCAL_JOB; hear_any(&world, fd, &message)) {
            uint32_t expected = last + 1 == JOBS ? JOBS + 1 : last + 1;
            assert_int_equal(message.job.job, expected);
            last = message.job.job;
        }
        assert_int_equal(last, JOBS + 1);
        assert_int_equal(message.type, MU_LOCAL_COUNTER);
        while (message.type == MU_LOCAL_COUNTER || message.type == MU_LOCAL_GONE)
            assert_int_equal(hear_any(&world, fd, &message), 1);
        assert_int_equal(message.type, MU_LOCAL_DONE);
    }
    hear_nothing(&world, fd);
    hang_up(fd);
    world_close(&world);
}

static void an_operator_goes_away_in_the_middle_of_an_answer(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    for (uint32_t job = 1; job <= 500; job++)
        begin_job(&world, job, NODES);
    int fd = operate(&world);
    ask(fd, MU_LOCAL_STATUS);
    settle(&world);
    assert_int_equal(mu_notify_clients(world.notify), 1);
    hang_up(fd);
    settle(&world);
    assert_int_equal(mu_notify_clients(world.notify), 0);
    world_close(&world);
}

static void an_operator_kills_a_job(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    int fd = operate(&world);
    say(fd, (struct mu_local_message){.type = MU_LOCAL_KILL, .kill = {.job = 5, .signal = 15}});
    hear(&world, fd, MU_LOCAL_DONE);
    assert_int_equal(world.kill_job, 5);
    assert_int_equal(world.kill_signal, 15);
    say(fd, (struct mu_local_message){.type = MU_LOCAL_KILL, .kill = {.job = 13, .signal = 9}});
    struct mu_local_message message = hear(&world, fd, MU_LOCAL_REFUSED);
    assert_int_equal(message.refused.code, MU_LOCAL_CANNOT);
    assert_string_equal(message.refused.text, "job 13 cannot be killed");
    ask(fd, MU_LOCAL_STATUS); /* it may go on */
    hear(&world, fd, MU_LOCAL_NODE);
    assert_true(mu_notify_refused(world.notify) == 0);
    hang_up(fd);
    world_close(&world);
}

static void an_operator_sets_times(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    int fd = operate(&world);
    say(fd, (struct mu_local_message){.type = MU_LOCAL_SET, .set = {5000000, 10000000}});
    hear(&world, fd, MU_LOCAL_DONE);
    assert_int_equal(world.set_period_ns, 5000000);
    say(fd, (struct mu_local_message){.type = MU_LOCAL_SET, .set = {5000000, 20000000}});
    struct mu_local_message message = hear(&world, fd, MU_LOCAL_REFUSED);
    assert_string_equal(message.refused.text, "too careful");
    hang_up(fd);
    world_close(&world);
}

/* Whose fault it is, and that it has gone: also when it closed without a word. */
static void an_operator_brings_a_fault_and_goes(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    int other = operate(&world), fd = operate(&world);
    say(fd, (struct mu_local_message){
                .type = MU_LOCAL_CHAOS,
                .chaos = {.kind = MU_CHAOS_CUT, .in = true, .held = true, .for_ns = 5}});
    hear(&world, fd, MU_LOCAL_DONE);
    assert_int_equal(world.chaos.kind, MU_CHAOS_CUT);
    assert_int_equal(world.chaos.for_ns, 5);
    hang_up(other);
    settle(&world);
    assert_int_equal(mu_notify_clients(world.notify), 1);
    assert_int_equal(world.let_go, 0); /* it had brought nothing */
    hang_up(fd);
    settle(&world);
    assert_int_equal(mu_notify_clients(world.notify), 0);
    assert_int_equal(world.let_go, world.holder + 1);
    world_close(&world);
}

static void an_operator_watches_all_jobs(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 4, 8);
    begin_job(&world, JOB, SIZE);
    for (uint32_t rank = 0; rank < 6; rank++)
        process_dies(&world, JOB, rank);
    int fd = operate(&world);
    ask(fd, MU_LOCAL_WATCH);
    for (uint32_t rank = 2; rank < 6; rank++) /* the last four are still kept */
        assert_int_equal(hear_process(&world, fd, rank, true).serial, rank + 1);
    hear(&world, fd, MU_LOCAL_CAUGHT_UP);
    process_dies(&world, JOB, 6);
    hear_process(&world, fd, 6, false);
    process_dies(&world, JOB + 1, 3); /* nobody knows this job */
    struct mu_local_event event = hear_process(&world, fd, 3, false);
    assert_int_equal(event.job, JOB + 1);
    node_dies(&world, 7);
    hear_node(&world, fd, 7, false);
    hear_process(&world, fd, 7, false);
    hear_process(&world, fd, 15, false);
    hear_process(&world, fd, 23, false);
    expect_refusal(&world, fd, "\x02", 1, MU_LOCAL_BAD_PACKET); /* WATCH is the last request */
    world_close(&world);
}

/* ---- the end ---- */

static void the_end_is_said_to_everybody(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    process_dies(&world, JOB, 5);
    int stranger = dial(&world), member = join(&world, JOB, RANK), operator= operate(&world);
    mu_notify_close(world.notify);
    world.notify = NULL;
    hear_process(&world, member, 5, true);
    hear(&world, member, MU_LOCAL_CAUGHT_UP);
    hear_refused(&world, member, MU_LOCAL_ENDING);
    hear_refused(&world, operator, MU_LOCAL_ENDING);
    hear_refused(&world, stranger, MU_LOCAL_ENDING);
    world_close(&world);
}

static void it_may_be_closed_within_a_hook(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    int fd = operate(&world);
    world.close_on_kill = true;
    say(fd, (struct mu_local_message){.type = MU_LOCAL_KILL, .kill = {.job = 5, .signal = 15}});
    hear_refused(&world, fd, MU_LOCAL_ENDING);
    world_close(&world);
}

static void a_name_is_taken_once(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    struct mu_notify_config config = {
        .loop = &world.loop,
        .machine = 0x1000000000000000u + (uint64_t)getpid(),
        .roll = &world.roll,
        .journal = 2,
        .clients = 1,
        .hooks = {.node = on_node,
                  .counter = on_counter,
                  .kill = on_kill,
                  .set = on_set,
                  .chaos = on_chaos,
                  .let_go = on_let_go,
                  .voter = on_voter,
                  .gone = on_gone},
    };
    struct mu_notify *second = NULL;
    assert_int_equal(mu_notify_open(&config, &second), EADDRINUSE);
    assert_null(second);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_hears_what_happens),
        cmocka_unit_test(events_are_written_without_a_turn_of_the_loop),
        cmocka_unit_test(who_comes_late_is_told_the_state),
        cmocka_unit_test(proof_takes_the_place_of_silence),
        cmocka_unit_test(the_state_does_not_need_the_journal),
        cmocka_unit_test(a_member_hears_of_its_own_job_only),
        cmocka_unit_test(the_process_first_and_then_its_node),
        cmocka_unit_test(the_node_first_and_then_its_process),
        cmocka_unit_test(who_is_gone_can_be_asked_for_later),
        cmocka_unit_test(a_job_that_begins_after_a_node_has_died),
        cmocka_unit_test(news_of_a_job_that_is_yet_to_begin_count),
        cmocka_unit_test(no_storm_before_a_job_begins_loses_one),
        cmocka_unit_test(late_news_of_a_job_that_is_over_are_forgotten),
        cmocka_unit_test(a_number_that_is_used_again_is_another_job),
        cmocka_unit_test(a_member_hears_of_views),
        cmocka_unit_test(what_cannot_be_is_counted),
        cmocka_unit_test(a_wrong_rank_is_refused),
        cmocka_unit_test(a_claim_is_taken_for_who_is_here_only),
        cmocka_unit_test(a_member_is_known_by_its_group),
        cmocka_unit_test(another_user_is_turned_away),
        cmocka_unit_test(strangers_make_room_for_others),
        cmocka_unit_test(many_clients_hear_the_same),
        cmocka_unit_test(handles_that_are_not_closed_are_counted),
        cmocka_unit_test(others_run_until_they_are_known_to_have_ended),
        cmocka_unit_test(who_closes_in_the_middle_disturbs_nobody),
        cmocka_unit_test(no_descriptor_for_one_more),
        cmocka_unit_test(a_packet_that_breaks_a_rule_ends_the_connection),
        cmocka_unit_test(garbage_hurts_nobody),
        cmocka_unit_test(an_operator_asks_for_the_status),
        cmocka_unit_test(an_answer_waits_for_who_reads_slowly),
        cmocka_unit_test(an_operator_goes_away_in_the_middle_of_an_answer),
        cmocka_unit_test(an_operator_kills_a_job),
        cmocka_unit_test(an_operator_sets_times),
        cmocka_unit_test(an_operator_brings_a_fault_and_goes),
        cmocka_unit_test(an_operator_watches_all_jobs),
        cmocka_unit_test(the_end_is_said_to_everybody),
        cmocka_unit_test(it_may_be_closed_within_a_hook),
        cmocka_unit_test(a_name_is_taken_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
