/* libmuster: joining a job, and everything that can be in the way. */
#define _GNU_SOURCE
#include "fake_daemon.h"
#include "muster.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* after the four that it needs */
#include <cmocka.h>

static struct fake_daemon daemon_here;

/* The library's clock is this one, because a program's own function comes before the C library's.
 * With a step, each look at it finds so much more gone. */
static _Atomic uint64_t clock_step_ns, clock_ahead_ns;

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *time)
{
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    uint64_t ahead_ns = atomic_fetch_add(&clock_ahead_ns, clock_step_ns) + clock_step_ns;
    uint64_t ns = (uint64_t)time->tv_nsec + ahead_ns % 1000000000;
    time->tv_sec += (time_t)(ahead_ns / 1000000000 + ns / 1000000000);
    time->tv_nsec = (long)(ns % 1000000000);
    return result;
}

/* So is this: it asks whose daemon it is, when it is connected and before it says HELLO. */
static void (*before_hello)(void);

__attribute__((visibility("default"))) int getsockopt(int fd, int level, int name, void *value,
                                                      socklen_t *length)
{
    if (name == SO_PEERCRED && before_hello != NULL)
        before_hello();
    return (int)syscall(SYS_getsockopt, fd, level, name, value, length);
}

static int listen_here(void **state)
{
    (void)state;
    clock_step_ns = 0;
    before_hello = NULL;
    fake_daemon_open(&daemon_here);
    return 0;
}

static int close_here(void **state)
{
    (void)state;
    fake_daemon_close(&daemon_here);
    return 0;
}

static int lowest_free_fd(void)
{
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    close(fd);
    return fd;
}

/* How often memory of that name is mapped: the daemon's board and others. */
static int count_boards(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int count = 0;
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL)
        count += strstr(line, "/memfd:") != NULL;
    fclose(maps);
    return count;
}

/* muster_open() fails with this code and a text that has these words; it leaves the handle, errno
 * and the descriptors as they were. */
static void expect_failure(int code, const char *words)
{
    struct muster *untouched = (struct muster *)&daemon_here, *m = untouched;
    struct muster_error error = {0};
    int free_fd = lowest_free_fd();
    errno = EXDEV;
    assert_int_equal(muster_open(&m, &error), -1);
    assert_int_equal(errno, EXDEV);
    assert_ptr_equal(m, untouched);
    assert_int_equal(lowest_free_fd(), free_fd);
    if (strstr(error.text, words) == NULL)
        fail_msg("'%s' does not say '%s'", error.text, words);
    assert_int_equal(error.code, code);
}

/* ---- the environment ---- */

static void without_muster_there_is_no_job(void **state)
{
    (void)state;
    expect_failure(MUSTER_E_NOT_A_MEMBER, "MUSTER_SOCKET is not in the environment");
    struct muster *m;
    assert_int_equal(muster_open(&m, NULL), -1);
}

static void expect_refused_value(const char *variable, const char *value, const char *words)
{
    char before[MU_LOCAL_NAME_MAX];
    snprintf(before, sizeof before, "%s", getenv(variable));
    if (value != NULL)
        setenv(variable, value, 1);
    else
        unsetenv(variable);
    expect_failure(MUSTER_E_NOT_A_MEMBER, words);
    setenv(variable, before, 1);
}

static void the_environment_is_read_strictly(void **state)
{
    (void)state;
    static const char *const names[] = {"",
                                        "@",
                                        "muster/0",
                                        "@muster/0/00000000000000aa/1",
                                        "muster/0/aa/1",
                                        "muster/0/00000000000000aa/16777216",
                                        "muster/0/00000000000000aa/1 ",
                                        "muster/0/0000000000000000/1",
                                        "/tmp/socket"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        expect_refused_value("MUSTER_SOCKET", names[i], "which is not the name of a daemon");
    char endless[1000] = "";
    memset(endless, 'x', sizeof endless - 1);
    expect_refused_value("MUSTER_SOCKET", endless, "MUSTER_SOCKET is 'xxx");
    expect_refused_value("MUSTER_SOCKET", "two\nlines\033[31m", "'two?lines?[31m'");

    static const char *const numbers[] = {
        "",    "-1", "+1",   " 1",         "1 ",
        "0x1", "00", "01",   "1.0",        "a",
        "1a",  "\n", "1e\t", "4294967296", "18446744073709551617"};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        expect_refused_value("MUSTER_JOB", numbers[i], "MUSTER_JOB is '");
        expect_refused_value("MUSTER_RANK", numbers[i], "not a number from 0 to 4294967295");
    }
    expect_refused_value("MUSTER_JOB", NULL, "MUSTER_JOB is not");
    expect_refused_value("MUSTER_RANK", NULL, "MUSTER_RANK is not");
}

static void the_largest_numbers_are_numbers(void **state)
{
    (void)state;
    setenv("MUSTER_JOB", "4294967295", 1);
    setenv("MUSTER_RANK", "0", 1);
    struct mu_local_message welcome = fake_welcome();
    struct muster *m;
    fake_daemon_greet(&daemon_here, &welcome);
    assert_int_equal(muster_open(&m, NULL), 0);
    fake_daemon_greeted(&daemon_here);
    assert_int_equal(daemon_here.hello.hello.job, UINT32_MAX);
    assert_int_equal(daemon_here.hello.hello.rank, 0);
    muster_close(m);
}

/* ---- the daemon's answer ---- */

static void a_member_learns_who_it_is(void **state)
{
    (void)state;
    struct mu_local_message welcome = fake_welcome();
    welcome.welcome.rank = 9; /* the kernel knows better than the environment */
    struct muster *m;
    struct muster_error error = {.text = ""};
    fake_daemon_greet(&daemon_here, &welcome);
    errno = EXDEV;
    assert_int_equal(muster_open(&m, &error), 0);
    assert_int_equal(errno, EXDEV);
    fake_daemon_greeted(&daemon_here);

    assert_int_equal(daemon_here.hello.type, MU_LOCAL_HELLO);
    assert_int_equal(daemon_here.hello.hello.version, MU_LOCAL_VERSION);
    assert_int_equal(daemon_here.hello.hello.role, MU_LOCAL_MEMBER);
    assert_int_equal(daemon_here.hello.hello.job, FAKE_JOB);
    assert_int_equal(daemon_here.hello.hello.rank, FAKE_RANK);
    assert_int_equal(muster_job(m), FAKE_JOB);
    assert_int_equal(muster_rank(m), 9);
    assert_int_equal(muster_size(m), FAKE_SIZE);
    assert_int_equal(muster_node(m), FAKE_SLOT);
    assert_int_equal(muster_nodes(m), FAKE_NODES);
    assert_true(fcntl(muster_fd(m), F_GETFD) & FD_CLOEXEC);
    int fd = muster_fd(m);
    errno = EXDEV;
    muster_close(m);
    muster_close(NULL);
    assert_int_equal(errno, EXDEV);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void expect_answer_fails(const struct mu_local_message *answer, int code, const char *words)
{
    int free_fd = lowest_free_fd(), mappings = count_boards();
    if (answer != NULL)
        fake_daemon_greet(&daemon_here, answer);
    else
        fake_daemon_greet_bytes(&daemon_here, "", 0);
    struct muster *m;
    struct muster_error error = {0};
    assert_int_equal(muster_open(&m, &error), -1);
    fake_daemon_greeted(&daemon_here);
    fake_daemon_hang_up(&daemon_here);
    assert_int_equal(lowest_free_fd(), free_fd);
    assert_int_equal(count_boards(), mappings);
    if (strstr(error.text, words) == NULL)
        fail_msg("'%s' does not say '%s'", error.text, words);
    assert_int_equal(error.code, code);
}

static void a_refusal_is_passed_on(void **state)
{
    (void)state;
    static const struct {
        enum mu_local_refusal refusal;
        int code;
    } cases[] = {
        {MU_LOCAL_OTHER_VERSION, MUSTER_E_VERSION}, {MU_LOCAL_OTHER_USER, MUSTER_E_REFUSED},
        {MU_LOCAL_NOT_KNOWN, MUSTER_E_REFUSED},     {MU_LOCAL_NO_PLACE, MUSTER_E_REFUSED},
        {MU_LOCAL_BAD_PACKET, MUSTER_E_REFUSED},    {MU_LOCAL_ENDING, MUSTER_E_NO_DAEMON},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct mu_local_message refusal = fake_refusal(cases[i].refusal, "such is life");
        expect_answer_fails(&refusal, cases[i].code, "such is life");
    }
    char endless[MU_LOCAL_TEXT_MAX + 1] = ""; /* as long as it can be, and all of it is told */
    memset(endless, 'x', MU_LOCAL_TEXT_MAX);
    struct mu_local_message refusal = fake_refusal(MU_LOCAL_NOT_KNOWN, endless);
    expect_answer_fails(&refusal, MUSTER_E_REFUSED, endless);
}

static void another_answer_is_refused(void **state)
{
    (void)state;
    struct mu_local_message answer = fake_death(1, 7);
    expect_answer_fails(&answer, MUSTER_E_PROTOCOL, "type 34 instead of WELCOME");
    answer = (struct mu_local_message){.type = MU_LOCAL_CAUGHT_UP};
    expect_answer_fails(&answer, MUSTER_E_PROTOCOL, "type 35 instead of WELCOME");
    answer = fake_welcome();
    answer.welcome.size = answer.welcome.rank = answer.welcome.job = 0; /* as to an operator */
    expect_answer_fails(&answer, MUSTER_E_PROTOCOL, "without ranks");

    static const uint8_t garbage[MU_LOCAL_PACKET_MAX + 1] = {0xff, 0xfe};
    static const size_t counts[] = {1, 2, 100, MU_LOCAL_PACKET_MAX, sizeof garbage};
    struct muster *m;
    struct muster_error error;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        fake_daemon_greet_bytes(&daemon_here, garbage, counts[i]);
        assert_int_equal(muster_open(&m, &error), -1);
        fake_daemon_greeted(&daemon_here);
        fake_daemon_hang_up(&daemon_here);
        assert_int_equal(error.code, MUSTER_E_PROTOCOL);
    }
}

/* ---- the board ---- */

/* The program's copy of the descriptors is gone with the handle, and so is its map. */
static void a_handle_leaves_nothing(void **state)
{
    (void)state;
    struct mu_local_message welcome = fake_welcome();
    for (int i = 0; i < 3; i++) {
        int free_fd = lowest_free_fd(), boards = count_boards();
        struct muster *m;
        fake_daemon_greet(&daemon_here, &welcome);
        assert_int_equal(muster_open(&m, NULL), 0);
        fake_daemon_greeted(&daemon_here);
        assert_int_equal(count_boards(), boards + 1);
        muster_close(m);
        fake_daemon_hang_up(&daemon_here);
        assert_int_equal(lowest_free_fd(), free_fd);
        assert_int_equal(count_boards(), boards);
    }
}

static void expect_gifts_fail(int board, int bell, const char *words)
{
    struct mu_local_message welcome = fake_welcome();
    daemon_here.gifts[0] = board;
    daemon_here.gifts[1] = bell;
    expect_answer_fails(&welcome, MUSTER_E_SYSTEM, words);
}

/* Memory of so many bytes that begins with these. */
static int make_memory(const void *bytes, size_t count, size_t size, int seals)
{
    int fd = memfd_create("no-board", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    assert_int_equal(pwrite(fd, bytes, count, 0), (ssize_t)count);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

static void a_board_that_is_none_is_refused(void **state)
{
    (void)state;
    struct mu_board head = {.magic = MU_BOARD_MAGIC, .capacity = 16};
    size_t size = mu_board_bytes(16);
    int good = make_memory(&head, sizeof head, size, F_SEAL_SHRINK);
    int unsealed = make_memory(&head, sizeof head, size, F_SEAL_GROW);
    int empty = make_memory(&head, 0, 0, F_SEAL_SHRINK);
    int zeros = make_memory(&head, 0, size, F_SEAL_SHRINK);
    int shorter = make_memory(&head, sizeof head, size - 1, F_SEAL_SHRINK);
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    expect_gifts_fail(-1, -1, "did not arrive");
    expect_gifts_fail(good, -1, "did not arrive");
    expect_gifts_fail(unsealed, daemon_here.bell, "not sealed memory");
    expect_gifts_fail(file, daemon_here.bell, "not sealed memory");
    expect_gifts_fail(daemon_here.bell, daemon_here.bell, "not sealed memory");
    expect_gifts_fail(empty, daemon_here.bell, "Invalid argument");
    expect_gifts_fail(zeros, daemon_here.bell, "does not begin as a board does");
    expect_gifts_fail(shorter, daemon_here.bell, "shorter than its capacity says");
    expect_gifts_fail(good, file, "Operation not permitted"); /* no bell: nothing to wait for */
    const int all[] = {good, unsealed, empty, zeros, shorter, file};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        close(all[i]);
}

static void refuse_unheard(void)
{
    struct mu_local_message refusal = fake_refusal(MU_LOCAL_NO_PLACE, "enough of you");
    daemon_here.fd = accept(daemon_here.listener, NULL, NULL);
    fake_daemon_say(&daemon_here, &refusal);
    fake_daemon_hang_up(&daemon_here);
}

/* HELLO finds nobody: the reason is told all the same, and nothing raises SIGPIPE. */
static void a_refusal_before_hello_is_heard(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_DFL); /* whatever this process inherited */
    before_hello = refuse_unheard;
    expect_failure(MUSTER_E_REFUSED, "enough of you");
}

static void *refuse_on_a_thread(void *unused)
{
    (void)unused;
    refuse_unheard();
    return NULL;
}

/* The daemon closes while HELLO is on its way: a reset, mostly, which comes before the reason. */
static void a_refusal_while_hello_is_on_its_way_is_heard(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, refuse_on_a_thread, NULL), 0);
        struct muster *m;
        struct muster_error error;
        assert_int_equal(muster_open(&m, &error), -1);
        pthread_join(thread, NULL);
        assert_non_null(strstr(error.text, "enough of you"));
    }
}

static void a_daemon_that_hangs_up_is_gone(void **state)
{
    (void)state;
    expect_answer_fails(NULL, MUSTER_E_NO_DAEMON, "has ended");
}

static void nobody_listens(void **state)
{
    (void)state;
    close(daemon_here.listener);
    expect_failure(MUSTER_E_NO_DAEMON, "Connection refused");
    daemon_here.listener = -1;
}

/* ---- waiting for it ---- */

static void a_daemon_that_does_not_answer_is_given_up(void **state)
{
    (void)state;
    clock_step_ns = UINT64_C(4950000000);
    expect_failure(MUSTER_E_NO_DAEMON, "has not answered for 10 seconds");
}

/* Its queue is full, so that connecting takes as long as it likes. */
static void a_daemon_that_does_not_accept_is_given_up(void **state)
{
    (void)state;
    clock_step_ns = UINT64_C(4950000000);
    expect_failure(MUSTER_E_NO_DAEMON, "has not answered"); /* takes the only place in the queue */
    clock_step_ns = UINT64_C(9900000000);
    expect_failure(MUSTER_E_NO_DAEMON, "cannot connect to the daemon");
}

/* ---- whose it is ---- */

static void a_daemon_of_another_user_is_not_believed(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip(); /* only root can be somebody else */
        return;
    }
    /* Who called listen() is whose it is: the child, as nobody. */
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(seteuid(65534) != 0 || listen(daemon_here.listener, 1) != 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    expect_failure(MUSTER_E_REFUSED, "is of user 65534: it must be of user 0 or of root");
}

static void roots_daemon_is_believed(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
        return;
    }
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct muster *m;
        _exit(seteuid(65534) != 0 || muster_open(&m, NULL) != 0);
    }
    struct mu_local_message welcome = fake_welcome();
    fake_daemon_accept(&daemon_here);
    fake_daemon_say(&daemon_here, &welcome);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- descriptors ---- */

static void without_descriptors_it_says_so(void **state)
{
    (void)state;
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    struct muster *m;
    struct muster_error error;
    int result = muster_open(&m, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(result, -1);
    assert_int_equal(error.code, MUSTER_E_SYSTEM);
    assert_non_null(strstr(error.text, "Too many open files"));
}

/* In a child with room for so many descriptors.  The exit code says how far it came. */
static _Noreturn void join_with(rlim_t room)
{
    struct rlimit limit = {.rlim_cur = 3 + room, .rlim_max = 3 + room};
    struct muster *m;
    struct muster_error error;
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        _exit(10);
    int result = muster_open(&m, &error);
    if (result != 0 && (lowest_free_fd() != (room > 0 ? 3 : -1) || error.code != MUSTER_E_SYSTEM))
        _exit(11);
    if (result == 0)
        muster_close(m);
    if (result != 0 && strstr(error.text, "did not arrive") != NULL)
        _exit(1);
    _exit(result == 0 ? 2 : strstr(error.text, "Too many open files") != NULL ? 0 : 12);
}

/* One for the connection, two that come over it, and one to wait at. */
static void with_too_few_descriptors_it_says_so(void **state)
{
    (void)state;
    static const int expected[] = {0, 1, 1, 0, 2, 2};
    for (rlim_t room = 0; room < sizeof expected / sizeof expected[0]; room++) {
        struct mu_local_message welcome = fake_welcome();
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            join_with(room);
        if (room > 0) {
            fake_daemon_accept(&daemon_here);
            fake_daemon_say(&daemon_here, &welcome);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        fake_daemon_hang_up(&daemon_here);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), expected[room]);
    }
}

/* None of the library's descriptors is 0, 1 or 2, and a new program would inherit none. */
static int without_standard_streams(void)
{
    struct muster *m;
    struct muster_event event;
    if (muster_open(&m, NULL) != 0 || muster_fd(m) < 3)
        return 1;
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) != -1)
            return 2;
    int open = 0;
    for (int fd = 3; fd < 1024; fd++) {
        int flags = fcntl(fd, F_GETFD);
        if (flags >= 0 && (flags & FD_CLOEXEC) == 0)
            return 3;
        open += flags >= 0;
    }
    if (open != 3) /* the connection, the bell, and what to wait at */
        return 4;
    if (muster_next(m, &event, MUSTER_FOREVER, NULL) != 1 ||
        muster_next(m, &event, MUSTER_FOREVER, NULL) != 1 || event.rank != 7)
        return 5;
    muster_close(m);
    return fcntl(3, F_GETFD) == -1 ? 0 : 6;
}

/* A program that has closed its standard streams and opens others later would print to the
 * daemon. */
static void standard_descriptors_stay_free(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (int fd = 0; fd < 1024; fd++)
            close(fd);
        _exit(without_standard_streams());
    }
    struct mu_local_message welcome = fake_welcome();
    fake_daemon_accept(&daemon_here);
    fake_daemon_say(&daemon_here, &welcome);
    struct mu_local_message caught_up = fake_caught_up(&daemon_here), death = fake_death(1, 7);
    fake_daemon_say(&daemon_here, &caught_up);
    fake_daemon_publish(&daemon_here, &death);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
#define WITH_DAEMON(test) cmocka_unit_test_setup_teardown(test, listen_here, close_here)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_muster_there_is_no_job),
        WITH_DAEMON(the_environment_is_read_strictly),
        WITH_DAEMON(the_largest_numbers_are_numbers),
        WITH_DAEMON(a_member_learns_who_it_is),
        WITH_DAEMON(a_refusal_is_passed_on),
        WITH_DAEMON(another_answer_is_refused),
        WITH_DAEMON(a_refusal_before_hello_is_heard),
        WITH_DAEMON(a_refusal_while_hello_is_on_its_way_is_heard),
        WITH_DAEMON(a_daemon_that_hangs_up_is_gone),
        WITH_DAEMON(nobody_listens),
        WITH_DAEMON(a_daemon_that_does_not_answer_is_given_up),
        WITH_DAEMON(a_daemon_that_does_not_accept_is_given_up),
        WITH_DAEMON(a_daemon_of_another_user_is_not_believed),
        WITH_DAEMON(roots_daemon_is_believed),
        WITH_DAEMON(a_handle_leaves_nothing),
        WITH_DAEMON(a_board_that_is_none_is_refused),
        WITH_DAEMON(without_descriptors_it_says_so),
        WITH_DAEMON(with_too_few_descriptors_it_says_so),
        WITH_DAEMON(standard_descriptors_stay_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
