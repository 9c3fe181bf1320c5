/* What members of a job have of their daemon besides packets: the board, the bell of their job, and
 * an eye on their end. */
#define _GNU_SOURCE
#include "test_notify_world.h"
#include "turn.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Ranks of this node: 1, 9, 17, ... */
enum { JOB = 7, SIZE = 24, RANK = SELF, OTHER_RANK = SELF + NODES };

/* ---- the board ---- */

static void expect_refused(long result, int number, const char *what)
{
    if (result != -1 || errno != number)
        fail_msg("%s: returned %ld with errno %d, not %d", what, result, errno, number);
}

static void expect_read_only(int fd, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    expect_refused((long)(intptr_t)memory, EPERM, "mapping it for writing");
    expect_refused(pwrite(fd, "x", 1, 0), EPERM, "writing");
    expect_refused(ftruncate(fd, 0), EPERM, "shortening");
    expect_refused(ftruncate(fd, (off_t)bytes * 2), EPERM, "lengthening");
    expect_refused(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), EPERM,
                   "punching a hole");
    expect_refused(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), EPERM, "sealing it for its writer");
}

static void a_member_cannot_write_the_board(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    int fd = join_early(&world, JOB, RANK);
    const struct seat *seat = &seats[fd];
    expect_read_only(seat->board_fd, seat->board_bytes);
    void *mapped = (void *)(uintptr_t)seat->board.board;
    expect_refused(mprotect(mapped, seat->board_bytes, PROT_READ | PROT_WRITE), EACCES,
                   "making the map writable");
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", seat->board_fd);
    int again = open(path, O_RDWR | O_CLOEXEC);
    if (again >= 0) {
        expect_read_only(again, seat->board_bytes);
        close(again);
    }
    process_dies(&world, JOB, 5); /* who may write it still can */
    hear_process(&world, fd, 5, false);
    hang_up(fd);
    world_close(&world);
}

/* One memory for all members of all jobs, and a bell for each job. */
static void what_comes_with_a_welcome(void **state)
{
    (void)state;
    struct world world;
    struct stat a, b, c;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    begin_job(&world, JOB + 1, SIZE);
    int one = join_early(&world, JOB, RANK), two = join_early(&world, JOB, OTHER_RANK),
        other = join_early(&world, JOB + 1, RANK), operator= operate(&world);
    assert_null(seats[operator].board.board);
    fstat(seats[one].board_fd, &a);
    fstat(seats[two].board_fd, &b);
    fstat(seats[other].board_fd, &c);
    assert_true(a.st_ino == b.st_ino && a.st_ino == c.st_ino);
    process_dies(&world, JOB, 5);
    assert_true(strokes(two) == 1 && strokes(one) == 0); /* it is the same bell */
    assert_true(strokes(other) == 0);
    hang_up(one);
    hang_up(two);
    hang_up(other);
    hang_up(operator);
    world_close(&world);
}

/* ---- the bell ---- */

static void only_who_is_concerned_is_woken(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    begin_job(&world, JOB + 1, SIZE);
    int fd = join_early(&world, JOB, RANK), other = join_early(&world, JOB + 1, RANK);
    process_dies(&world, JOB, 5);
    assert_true(strokes(fd) == 1 && strokes(other) == 0);
    process_dies(&world, JOB, 5); /* known already */
    process_dies(&world, JOB, SIZE);
    process_dies(&world, JOB + 99, 5);
    assert_true(strokes(fd) == 0 && strokes(other) == 0);
    node_dies(&world, 3); /* and three processes of each job: one stroke */
    assert_true(strokes(fd) == 1 && strokes(other) == 1);
    node_dies(&world, 3);
    assert_true(strokes(fd) == 0 && strokes(other) == 0);
    hear_process(&world, fd, 5, false);
    hear_node(&world, fd, 3, false);
    hear_node(&world, other, 3, false);
    for (uint32_t rank = 3; rank < SIZE; rank += NODES) {
        assert_int_equal(hear_process(&world, fd, rank, false).job, JOB);
        assert_int_equal(hear_process(&world, other, rank, false).job, JOB + 1);
    }
    hear_nothing(&world, fd);
    hear_nothing(&world, other);
    hang_up(fd);
    hang_up(other);
    world_close(&world);
}

/* All members have it, and one of them writes to it. */
static void a_bell_that_is_full_is_struck_all_the_same(void **state)
{
    (void)state;
    struct world world;
    uint64_t most = UINT64_MAX - 1;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    int fd = join_early(&world, JOB, RANK);
    assert_int_equal(write(seats[fd].bell, &most, sizeof most), sizeof most);
    process_dies(&world, JOB, 5);
    assert_true(strokes(fd) == 1);
    hear_process(&world, fd, 5, false);
    hang_up(fd);
    world_close(&world);
}

/* A job that begins when nodes are dead already: nobody is woken by it, then or later; who watches
 * hears of it at once. */
static void a_job_that_begins_late_wakes_nobody(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    int fd = join_early(&world, JOB, RANK), watcher = operate(&world);
    ask(watcher, MU_LOCAL_WATCH);
    hear(&world, watcher, MU_LOCAL_CAUGHT_UP);
    node_dies(&world, 3);
    hear_node(&world, watcher, 3, false);
    for (uint32_t rank = 3; rank < SIZE; rank += NODES)
        hear_process(&world, watcher, rank, false);
    assert_true(strokes(fd) == 1);
    begin_job(&world, JOB + 1, SIZE);
    for (uint32_t rank = 3; rank < SIZE; rank += NODES) {
        struct mu_local_message message;
        assert_int_equal(try_hear(watcher, &message), 1); /* without a turn of the loop */
        assert_int_equal(message.event.job, JOB + 1);
        assert_int_equal(message.event.rank, rank);
    }
    assert_true(strokes(fd) == 0);
    int late = join(&world, JOB + 1, RANK);
    assert_true(strokes(late) == 0);
    process_dies(&world, JOB, 5);
    assert_true(strokes(fd) == 1 && strokes(late) == 0);
    hang_up(fd);
    hang_up(late);
    hang_up(watcher);
    world_close(&world);
}

/* ---- asking again ---- */

/* By hand: the seat would ask by itself. */
static void ask_again(int fd, uint64_t serial)
{
    seats[fd].next = 0;
    say(fd, (struct mu_local_message){.type = MU_LOCAL_AGAIN, .again.serial = serial});
}

static void who_has_lost_nothing_is_told_where_to_go_on(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 4, 8);
    begin_job(&world, JOB, SIZE);
    begin_job(&world, JOB + 1, SIZE);
    int fd = join_early(&world, JOB, RANK);
    for (uint32_t rank = 0; rank < 9; rank++)
        process_dies(&world, JOB + 1, rank);
    ask_again(fd, 1);
    assert_true(hear(&world, fd, MU_LOCAL_CAUGHT_UP).caught_up.serial == 5); /* 6 to 9 are there */
    ask_again(fd, 5);
    assert_true(hear(&world, fd, MU_LOCAL_CAUGHT_UP).caught_up.serial == 5);
    ask_again(fd, 8); /* it is there: it may read it */
    assert_true(hear(&world, fd, MU_LOCAL_CAUGHT_UP).caught_up.serial == 7);
    process_dies(&world, JOB, 2);
    hear_process(&world, fd, 2, false);
    assert_true(mu_notify_lost(world.notify) == 0);
    hang_up(fd);
    world_close(&world);
}

static void what_was_lost_is_counted_exactly(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 4, 8);
    begin_job(&world, JOB, SIZE);
    begin_job(&world, JOB + 1, SIZE);
    int fd = join_early(&world, JOB, RANK);
    for (uint32_t rank = 0; rank < 9; rank++)
        process_dies(&world, rank % 2 == 0 ? JOB : JOB + 1, rank); /* serials 1 to 9 */
    ask_again(fd, 2); /* of 2 to 5, which are gone, 3 and 5 are ours */
    assert_true(hear(&world, fd, MU_LOCAL_LOST).lost.count == 2);
    for (uint32_t rank = 0; rank < 9; rank += 2)
        hear_process(&world, fd, rank, true);
    assert_true(hear(&world, fd, MU_LOCAL_CAUGHT_UP).caught_up.serial == 9);
    assert_true(mu_notify_lost(world.notify) == 2);
    process_dies(&world, JOB, 9);
    hear_process(&world, fd, 9, false);
    hang_up(fd);
    world_close(&world);
}

static void who_asks_again_without_reason_is_refused(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 4, 8);
    begin_job(&world, JOB, SIZE);
    process_dies(&world, JOB, 5);
    int fd = join(&world, JOB, RANK);
    hear_process(&world, fd, 5, true);
    hear(&world, fd, MU_LOCAL_CAUGHT_UP);
    ask_again(fd, 2); /* the future */
    hear_refused(&world, fd, MU_LOCAL_BAD_PACKET);
    fd = join(&world, JOB, RANK);
    hear_process(&world, fd, 5, true);
    hear(&world, fd, MU_LOCAL_CAUGHT_UP);
    ask_again(fd, UINT64_MAX);
    hear_refused(&world, fd, MU_LOCAL_BAD_PACKET);
    fd = operate(&world);
    ask_again(fd, 1); /* is not for operators */
    hear_refused(&world, fd, MU_LOCAL_BAD_PACKET);
    fd = operate(&world);
    ask(fd, MU_LOCAL_LEAVE);
    hear_refused(&world, fd, MU_LOCAL_BAD_PACKET);
    fd = dial(&world);
    ask(fd, MU_LOCAL_LEAVE); /* who are you? */
    hear_refused(&world, fd, MU_LOCAL_BAD_PACKET);
    assert_true(mu_notify_refused(world.notify) == 5);
    world_close(&world);
}

/* ---- who closes without a goodbye ---- */

static void who_closes_without_a_word_owes_one(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    process_starts(&world, JOB, RANK, (uint32_t)getpid());
    int fd = join_early(&world, JOB, RANK);
    hang_up(fd);
    settle(&world);
    assert_true(mu_notify_inside(world.notify, JOB, RANK));
    process_dies(&world, JOB, 5);
    fd = join(&world, JOB, RANK);
    hang_up(fd); /* with packets unread: a reset */
    settle(&world);
    assert_int_equal(mu_notify_clients(world.notify), 0);
    world_close(&world);
}

static void who_says_goodbye_owes_none(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    process_starts(&world, JOB, RANK, (uint32_t)getpid());
    int fd = join_early(&world, JOB, RANK);
    ask(fd, MU_LOCAL_LEAVE);
    hear_end(&world, fd); /* it is let go at once */
    hang_up(fd);
    fd = join_early(&world, JOB, RANK);
    ask(fd, MU_LOCAL_LEAVE);
    hang_up(fd); /* before that is read */
    settle(&world);
    process_dies(&world, JOB, 5);
    fd = join(&world, JOB, RANK);
    settle(&world);
    ask(fd, MU_LOCAL_LEAVE);
    hang_up(fd); /* with the state unread: the reset comes before the goodbye */
    settle(&world);
    assert_false(mu_notify_inside(world.notify, JOB, RANK));
    assert_int_equal(mu_notify_clients(world.notify), 0);
    assert_true(mu_notify_refused(world.notify) == 0);
    world_close(&world);
}

static void who_is_no_process_of_ours_owes_nothing(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    hang_up(dial(&world));
    hang_up(operate(&world));
    hang_up(join_early(&world, JOB, RANK)); /* not known to be ours, or not any more */
    settle(&world);
    assert_false(mu_notify_inside(world.notify, JOB, RANK));
    process_starts(&world, JOB, RANK, (uint32_t)getpid());
    int fd = join_early(&world, JOB, RANK);
    process_ends(&world, JOB, RANK);
    hang_up(fd);
    settle(&world);
    assert_false(mu_notify_inside(world.notify, JOB, RANK));
    process_starts(&world, JOB, RANK, 1); /* a child of it has opened its own handle */
    hang_up(join_early(&world, JOB, RANK));
    settle(&world);
    assert_false(mu_notify_inside(world.notify, JOB, RANK));
    process_starts(&world, JOB, RANK, (uint32_t)getpid());
    fd = join_early(&world, JOB, RANK);
    job_over(&world, JOB);
    hang_up(fd);
    settle(&world);
    assert_int_equal(mu_notify_clients(world.notify), 0);
    world_close(&world);
}

/* ---- descriptors ---- */

/* Descriptors that are sent and not received count for their user, and the kernel has a limit: who
 * joins then waits until others have received theirs, and is not sent away. */
static int join_when_too_many_are_on_their_way(void)
{
    enum { LIMIT = 100, EACH = 10 };
    struct rlimit few = {.rlim_cur = LIMIT, .rlim_max = LIMIT};
    struct world world;
    int ends[2], fds[EACH] = {0};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof fds)];
    } control;
    char byte = 0;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes};
    world_open(&world, 64, 8);
    begin_job(&world, JOB, SIZE);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0 ||
        setrlimit(RLIMIT_NOFILE, &few) != 0)
        return 1;
    int messages = 0;
    for (ssize_t sent = 1; sent == 1; messages += sent == 1) {
        control.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof fds), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), fds, sizeof fds);
        message.msg_controllen = sizeof control.bytes;
        sent = sendmsg(ends[0], &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (errno != ETOOMANYREFS)
        return 2;
    int fd = dial(&world);
    say_hello(fd, MU_LOCAL_MEMBER, JOB, RANK);
    settle(&world);
    struct mu_local_message heard;
    if (try_hear(fd, &heard) != -1 || mu_notify_clients(world.notify) != 1)
        return 3;
    process_dies(&world, JOB, 5); /* it is no member yet, and this will be its state */
    while (messages-- > 0)
        if (recv(ends[1], &byte, 1, MSG_DONTWAIT) != 1) /* which closes what came with it */
            return 4;
    while (try_hear(fd, &heard) != 1)
        turn_loop(&world.loop);
    if (heard.type != MU_LOCAL_WELCOME || seats[fd].board.board == NULL)
        return 5;
    hear_process(&world, fd, 5, true);
    hear(&world, fd, MU_LOCAL_CAUGHT_UP);
    hang_up(fd);
    world_close(&world);
    return 0;
}

static void too_many_descriptors_on_their_way(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        /* Not root, for whom there is no limit; nor anybody else who has some on their way. */
        if (geteuid() == 0 && setuid(1000000 + (uid_t)getpid()) != 0)
            _exit(99);
        _exit(join_when_too_many_are_on_their_way());
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Without a descriptor for its bell a job cannot begin, and says so; nothing is left of it. */
static void no_descriptor_for_a_bell(void **state)
{
    (void)state;
    struct world world;
    struct rlimit before, none;
    struct mu_launch_run run = {.slot = SELF, .first = 0, .count = SIZE};
    struct mu_launch_job spec = {.size = SIZE, .run_count = 1, .runs = &run};
    world_open(&world, 64, 8);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const char *why_not = job_begins(&world, JOB, &spec);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_non_null(why_not);
    assert_null(job_begins(&world, JOB, &spec));
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_cannot_write_the_board),
        cmocka_unit_test(what_comes_with_a_welcome),
        cmocka_unit_test(only_who_is_concerned_is_woken),
        cmocka_unit_test(a_bell_that_is_full_is_struck_all_the_same),
        cmocka_unit_test(a_job_that_begins_late_wakes_nobody),
        cmocka_unit_test(who_has_lost_nothing_is_told_where_to_go_on),
        cmocka_unit_test(what_was_lost_is_counted_exactly),
        cmocka_unit_test(who_asks_again_without_reason_is_refused),
        cmocka_unit_test(who_closes_without_a_word_owes_one),
        cmocka_unit_test(who_says_goodbye_owes_none),
        cmocka_unit_test(who_is_no_process_of_ours_owes_nothing),
        cmocka_unit_test(too_many_descriptors_on_their_way),
        cmocka_unit_test(no_descriptor_for_a_bell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
