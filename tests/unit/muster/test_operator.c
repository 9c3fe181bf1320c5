/* Finding machines of this user, choosing one, and talking to a daemon: here a thread of the test
 * that plays one, well or badly. */
#define _GNU_SOURCE
#include "launch/operator.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
/* after those above */
#include <cmocka.h>

#define LISTENS "0000000064bf833e: 00000002 00000000 00010000 0005 01 461071 "
#define A       "aaaa000000000001"
#define B       "aaaa000000000002"
#define C       "bbbb000000000003"

/* ---- lines ---- */

static void line_is_read(void **state)
{
    (void)state;
    struct operator_daemon daemon = {0};
    assert_true(operator_line(LISTENS "@muster/1000/" A "/3\n", 1000, &daemon));
    assert_int_equal(daemon.machine, 0xaaaa000000000001);
    assert_int_equal(daemon.slot, 3);
    assert_true(operator_line(LISTENS "@muster/1000/" A "/16777215", 1000, &daemon));
    assert_int_equal(daemon.slot, 16777215);
}

static void other_lines_are_left_out(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "Num       RefCount Protocol Flags    Type St Inode Path\n",
        "",
        "\n",
        "00000000e3cebbd8: 00000003 00000000 00000000 0001 03  1056\n",
        LISTENS "/run/muster/1000/" A "/3\n",
        LISTENS "@muster/1001/" A "/3\n",   /* another user */
        LISTENS "@muster/1000/" A "/3 x\n", /* a space in it */
        LISTENS "@muster/1000/" A "/3/4\n",
        LISTENS "@muster/1000/" A "/\n",
        LISTENS "@muster/1000/" A "\n",
        LISTENS "@muster/1000/aaaa00000000001/3\n", /* 15 digits */
        LISTENS "@muster/1000/" A "/3333333333333333333333333333333333333333333333333333333333\n",
        LISTENS "@mustard/1000/" A "/3\n",
        LISTENS "muster/1000/" A "/3\n",
        /* accepted by a daemon, not listening */
        "00000000194a6e60: 00000003 00000000 00000000 0005 03 461073 @muster/1000/" A "/3\n",
        /* a stream, not packets */
        "00000000194a6e60: 00000003 00000000 00010000 0001 01 461073 @muster/1000/" A "/3\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct operator_daemon daemon;
        if (operator_line(lines[i], 1000, &daemon))
            fail_msg("taken for a daemon: %s", lines[i]);
    }
}

/* What operator_read() finds in these lines. */
static struct operator_found read_all(const char *lines)
{
    struct operator_found found = {0};
    FILE *file = fmemopen((char *)lines, strlen(lines), "r");
    assert_non_null(file);
    assert_true(operator_read(file, 1000, &found));
    fclose(file);
    return found;
}

static const char three[] = "Num       RefCount Protocol Flags    Type St Inode Path\n" //
    LISTENS "@muster/1000/" C "/0\n"                                                    //
    LISTENS "@muster/1000/" A "/10\n"                                                   //
    LISTENS "@muster/1000/" A "/9\n"                                                    //
    LISTENS "@muster/0/" A "/1\n"                                                       //
    LISTENS "@muster/1000/" B "/1\n"                                                    //
    LISTENS "@muster/1000/" A "/9\n";

static void daemons_are_sorted_each_once(void **state)
{
    (void)state;
    struct operator_found found = read_all(three);
    assert_int_equal(found.count, 4);
    assert_int_equal(found.daemons[0].slot, 9);
    assert_int_equal(found.daemons[1].slot, 10);
    assert_int_equal(found.daemons[2].machine, 0xaaaa000000000002);
    assert_int_equal(found.daemons[3].machine, 0xbbbb000000000003);
    operator_free(&found);
}

static void many_daemons_are_read(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    char *lines = malloc(COUNT * 128);
    assert_non_null(lines);
    size_t used = 0;
    for (int i = 0; i < COUNT; i++)
        used += (size_t)sprintf(lines + used, LISTENS "@muster/1000/" A "/%d\n", COUNT - 1 - i);
    struct operator_found found = read_all(lines);
    assert_int_equal(found.count, COUNT);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(found.daemons[i].slot, i);
    operator_free(&found);
    free(lines);
}

/* ---- choosing ---- */

/* expect_kept(LINES, PREFIX, CLUSTERS, DAEMONS): so many are left. */
static void expect_kept(const char *lines, const char *prefix, size_t clusters, size_t daemons)
{
    struct operator_found found = read_all(lines);
    assert_int_equal(operator_keep(&found, prefix), clusters);
    assert_int_equal(found.count, daemons);
    operator_free(&found);
}

static void one_cluster_needs_no_name(void **state)
{
    (void)state;
    expect_kept(LISTENS "@muster/1000/" A "/0\n" LISTENS "@muster/1000/" A "/1\n", NULL, 1, 2);
    expect_kept(LISTENS "@muster/0/" A "/0\n", NULL, 0, 0);
}

static void several_need_a_prefix(void **state)
{
    (void)state;
    expect_kept(three, NULL, 3, 4);
    expect_kept(three, "a", 2, 3);
    expect_kept(three, "aaaa", 2, 3);
    expect_kept(three, "b", 1, 1);
    expect_kept(three, "BBBB", 1, 1);
    expect_kept(three, A, 1, 2);
    expect_kept(three, "c", 0, 0);
}

static void clusters_are_taken_one_by_one(void **state)
{
    (void)state;
    struct operator_found found = read_all(three);
    size_t count;
    assert_int_equal(operator_cluster(&found, 0, &count)->slot, 9);
    assert_int_equal(count, 2);
    assert_int_equal(operator_cluster(&found, 2, &count)->machine, 0xaaaa000000000002);
    assert_int_equal(count, 1);
    operator_free(&found);
}

static void daemons_of_any_user_are_read_with_their_owner(void **state)
{
    (void)state;
    struct operator_daemon daemon = {0};
    assert_true(operator_line(LISTENS "@muster/1000/" A "/3\n", OPERATOR_ANY_USER, &daemon));
    assert_int_equal(daemon.uid, 1000);
    assert_true(operator_line(LISTENS "@muster/0/" A "/3\n", OPERATOR_ANY_USER, &daemon));
    assert_int_equal(daemon.uid, 0);
}

static void ids_and_ages_are_short(void **state)
{
    (void)state;
    char id[OPERATOR_ID_DIGITS + 1], age[OPERATOR_AGE_MAX];
    assert_string_equal(operator_id_text(0x28c0496b00000001, id), "28c0496b");
    assert_string_equal(operator_age_text(1700000000, age), "1.7 s");
    assert_string_equal(operator_age_text(UINT64_C(720) * 1000000000, age), "12 min");
    assert_string_equal(operator_age_text(UINT64_C(10800) * 1000000000, age), "3 h");
    assert_string_equal(operator_age_text(UINT64_C(6) * 86400 * 1000000000, age), "6 d");
}

/* ---- a daemon, played by a thread ---- */

enum manner { WELCOMES, SAYS_NOTHING, REFUSES, GARBAGE, TOO_LONG, CLOSES, IS_ANOTHER, NO_WELCOME };

struct player {
    enum manner manner;
    struct operator_daemon daemon;
    int listener;
    pthread_t thread;
};

static void tell(int fd, const struct mu_local_message *message)
{
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    send(fd, bytes, mu_local_encode(message, bytes), MSG_NOSIGNAL);
}

static void answer(const struct player *player, int fd)
{
    struct mu_local_message message = {
        .type = MU_LOCAL_WELCOME,
        .welcome = {.machine = player->daemon.machine, .nodes = 8, .slot = player->daemon.slot}};
    switch (player->manner) {
    case WELCOMES:
        tell(fd, &message);
        break;
    case IS_ANOTHER:
        message.welcome.slot = 7;
        tell(fd, &message);
        break;
    case REFUSES:
        message = (struct mu_local_message){.type = MU_LOCAL_REFUSED};
        message.refused.code = MU_LOCAL_ENDING;
        strcpy(message.refused.text, "this node ends");
        tell(fd, &message);
        break;
    case GARBAGE:
        send(fd, "garbage", 7, MSG_NOSIGNAL);
        break;
    case TOO_LONG: {
        static const uint8_t zeros[MU_LOCAL_PACKET_MAX + 1];
        send(fd, zeros, sizeof zeros, MSG_NOSIGNAL);
        break;
    }
    case NO_WELCOME:
        tell(fd, &(struct mu_local_message){.type = MU_LOCAL_DONE});
        break;
    case SAYS_NOTHING:
    case CLOSES:
        break;
    }
}

/* One connection: hears a HELLO, answers in its manner, and waits until the other side closes. */
static void *play(void *argument)
{
    const struct player *player = argument;
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    struct mu_local_message message;
    int fd = accept(player->listener, NULL, NULL);
    if (fd < 0)
        return NULL;
    ssize_t count = recv(fd, bytes, sizeof bytes, 0);
    bool is_hello = count > 0 && mu_local_decode(bytes, (size_t)count, &message) == NULL &&
                    message.type == MU_LOCAL_HELLO && message.hello.role == MU_LOCAL_OPERATOR;
    if (is_hello)
        answer(player, fd);
    if (is_hello && player->manner != CLOSES)
        while (recv(fd, bytes, sizeof bytes, 0) > 0)
            continue;
    close(fd);
    return NULL;
}

static void begin(struct player *player, enum manner manner)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[MU_LOCAL_NAME_MAX];
    /* no real machine: these are random, and would have to hit this one */
    uint64_t machine = 0x7e57000000000000u | (uint64_t)getpid();
    *player = (struct player){.manner = manner, .daemon = {machine, 2, geteuid()}};
    mu_local_name(name, geteuid(), machine, player->daemon.slot);
    memcpy(address.sun_path + 1, name, strlen(name));
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    player->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(player->listener >= 0);
    assert_int_equal(bind(player->listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(player->listener, 1), 0);
    assert_int_equal(pthread_create(&player->thread, NULL, play, player), 0);
}

static void end(struct player *player)
{
    pthread_join(player->thread, NULL);
    close(player->listener);
}

static void a_daemon_that_welcomes_is_open(void **state)
{
    (void)state;
    struct player player;
    struct operator_link link;
    begin(&player, WELCOMES);
    bool opened = operator_open(&link, &player.daemon);
    if (!opened)
        print_error("%s\n", link.why);
    operator_close(&link);
    end(&player);
    assert_true(opened);
    assert_int_equal(link.welcome.nodes, 8);
}

static void others_say_why_not(void **state)
{
    (void)state;
    static const struct {
        enum manner manner;
        const char *says;
    } cases[] = {
        {SAYS_NOTHING, "does not answer"},
        {REFUSES, "refused: this node ends"},
        {GARBAGE, "sent an invalid reply"},
        {TOO_LONG, "513 bytes"},
        {CLOSES, "has ended"},
        {IS_ANOTHER, "claims to be node 7"},
        {NO_WELCOME, "sent an unexpected reply"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct player player;
        struct operator_link link;
        begin(&player, cases[i].manner);
        bool opened = operator_open(&link, &player.daemon);
        end(&player);
        assert_false(opened);
        assert_int_equal(link.fd, -1);
        if (strstr(link.why, cases[i].says) == NULL)
            fail_msg("'%s' does not say '%s'", link.why, cases[i].says);
    }
}

static void nobody_is_gone(void **state)
{
    (void)state;
    struct operator_link link;
    assert_false(operator_open(&link, &(struct operator_daemon){0x7e57ffffffffffff, 1, geteuid()}));
    assert_string_equal(link.why, "has ended");
    operator_close(&link); /* nothing to close is fine */
}

/* It neither accepts nor reads: the kernel's queue of connections fills up, and nobody waits. */
static void a_full_queue_does_not_hang(void **state)
{
    (void)state;
    enum { TRIES = 8 };
    struct player player;
    struct operator_link links[TRIES] = {0};
    bool full = false;
    begin(&player, WELCOMES);
    assert_true(operator_open(&links[0], &player.daemon)); /* the thread is busy with this one */
    int fds[TRIES];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[MU_LOCAL_NAME_MAX];
    mu_local_name(name, geteuid(), player.daemon.machine, player.daemon.slot);
    memcpy(address.sun_path + 1, name, strlen(name));
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    for (int i = 0; i < TRIES; i++) {
        fds[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        full = connect(fds[i], (struct sockaddr *)&address, length) != 0 && errno == EAGAIN;
    }
    bool opened = operator_open(&links[1], &player.daemon);
    for (int i = 0; i < TRIES; i++)
        close(fds[i]);
    operator_close(&links[0]);
    end(&player);
    assert_true(full);
    assert_false(opened);
    assert_string_equal(links[1].why, "does not answer: too many connections are waiting");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_is_read),
        cmocka_unit_test(other_lines_are_left_out),
        cmocka_unit_test(daemons_are_sorted_each_once),
        cmocka_unit_test(many_daemons_are_read),
        cmocka_unit_test(one_cluster_needs_no_name),
        cmocka_unit_test(several_need_a_prefix),
        cmocka_unit_test(clusters_are_taken_one_by_one),
        cmocka_unit_test(daemons_of_any_user_are_read_with_their_owner),
        cmocka_unit_test(ids_and_ages_are_short),
        cmocka_unit_test(a_daemon_that_welcomes_is_open),
        cmocka_unit_test(others_say_why_not),
        cmocka_unit_test(nobody_is_gone),
        cmocka_unit_test(a_full_queue_does_not_hang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
