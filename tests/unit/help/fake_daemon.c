#define _GNU_SOURCE
#include "fake_daemon.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* Not cmocka's: this also runs on threads and in children. */
static void must(bool good, const char *what)
{
    if (good)
        return;
    perror(what);
    abort();
}

static void set_number(const char *variable, unsigned number)
{
    char text[16];
    snprintf(text, sizeof text, "%u", number);
    must(setenv(variable, text, 1) == 0, variable);
}

uint64_t fake_now_ns(void)
{
    struct timespec now; /* not by clock_gettime(), which a test may have bent */
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void fake_daemon_open(struct fake_daemon *daemon)
{
    *daemon = (struct fake_daemon){.fd = -1, .bell = -1};
    fake_daemon_board(daemon, FAKE_PLACES);
    /* The machine's number is the process's, so that tests can run side by side. */
    mu_local_name(daemon->name, geteuid(), (uint64_t)getpid() << 16 | 1, FAKE_SLOT);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path + 1, daemon->name, strlen(daemon->name));
    socklen_t length =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(daemon->name));
    daemon->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    must(daemon->listener >= 0, "socket");
    must(bind(daemon->listener, (struct sockaddr *)&address, length) == 0, "bind");
    must(listen(daemon->listener, 0) == 0, "listen"); /* room for one that waits */
    must(setenv("MUSTER_SOCKET", daemon->name, 1) == 0, "MUSTER_SOCKET");
    set_number("MUSTER_JOB", FAKE_JOB);
    set_number("MUSTER_RANK", FAKE_RANK);
}

void fake_daemon_close(struct fake_daemon *daemon)
{
    fake_daemon_hang_up(daemon);
    close(daemon->listener);
    close(daemon->bell);
    mu_journal_free(&daemon->journal);
    unsetenv("MUSTER_SOCKET");
    unsetenv("MUSTER_JOB");
    unsetenv("MUSTER_RANK");
}

void fake_daemon_board(struct fake_daemon *daemon, uint32_t places)
{
    if (daemon->bell >= 0) {
        close(daemon->bell);
        mu_journal_free(&daemon->journal);
    }
    must(mu_journal_init(&daemon->journal, places) == 0, "the board");
    daemon->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    must(daemon->bell >= 0, "the bell");
    daemon->gifts[0] = daemon->journal.board_fd;
    daemon->gifts[1] = daemon->bell;
}

void fake_daemon_accept(struct fake_daemon *daemon)
{
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    daemon->fd = accept4(daemon->listener, NULL, NULL, SOCK_CLOEXEC);
    must(daemon->fd >= 0, "accept");
    ssize_t count = recv(daemon->fd, bytes, sizeof bytes, 0);
    must(count > 0, "HELLO");
    must(mu_local_decode(bytes, (size_t)count, &daemon->hello) == NULL, "decode HELLO");
}

void fake_daemon_say_bytes(struct fake_daemon *daemon, const void *bytes, size_t count)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof daemon->gifts)];
    } control = {{0}};
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = count};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    bool brings = *(const uint8_t *)bytes == MU_LOCAL_WELCOME && daemon->gifts[0] >= 0;
    if (brings) {
        size_t size = (daemon->gifts[1] >= 0 ? 2 : 1) * sizeof daemon->gifts[0];
        control.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(size), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), daemon->gifts, size);
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(size);
    }
    must(sendmsg(daemon->fd, &message, MSG_NOSIGNAL) == (ssize_t)count, "send");
}

void fake_daemon_say(struct fake_daemon *daemon, const struct mu_local_message *message)
{
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    fake_daemon_say_bytes(daemon, bytes, mu_local_encode(message, bytes));
}

void fake_daemon_hang_up(struct fake_daemon *daemon)
{
    if (daemon->fd >= 0)
        close(daemon->fd);
    daemon->fd = -1;
}

bool fake_daemon_hear(struct fake_daemon *daemon, struct mu_local_message *message)
{
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    ssize_t count = recv(daemon->fd, bytes, sizeof bytes, 0);
    must(count >= 0, "recv");
    if (count > 0)
        must(mu_local_decode(bytes, (size_t)count, message) == NULL, "decode");
    return count > 0;
}

/* ---- the board ---- */

void fake_daemon_put(struct fake_daemon *daemon, const struct mu_local_message *event)
{
    struct mu_local_event copy = event->event;
    copy.serial = daemon->journal.head + 1;
    mu_journal_add(&daemon->journal, &copy);
}

void fake_daemon_put_bytes(struct fake_daemon *daemon, const void *bytes, size_t count)
{
    uint64_t words[MU_BOARD_WORDS] = {0};
    must(count <= sizeof words, "an event that is too long");
    memcpy(words, bytes, count);
    mu_board_put(daemon->journal.board, words, count);
    daemon->journal.head++;
}

void fake_daemon_strike(struct fake_daemon *daemon)
{
    uint64_t one = 1;
    must(write(daemon->bell, &one, sizeof one) == sizeof one, "the bell");
}

void fake_daemon_publish(struct fake_daemon *daemon, const struct mu_local_message *event)
{
    fake_daemon_put(daemon, event);
    fake_daemon_strike(daemon);
}

/* ---- greeting ---- */

static void *greet(void *argument)
{
    struct fake_daemon *daemon = argument;
    fake_daemon_accept(daemon);
    if (daemon->answer_count > 0)
        fake_daemon_say_bytes(daemon, daemon->answer, daemon->answer_count);
    else
        fake_daemon_hang_up(daemon);
    return NULL;
}

void fake_daemon_greet_bytes(struct fake_daemon *daemon, const void *bytes, size_t count)
{
    must(count <= sizeof daemon->answer, "an answer that is too long");
    memcpy(daemon->answer, bytes, count);
    daemon->answer_count = count;
    must(pthread_create(&daemon->greeter, NULL, greet, daemon) == 0, "pthread_create");
}

void fake_daemon_greet(struct fake_daemon *daemon, const struct mu_local_message *answer)
{
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    fake_daemon_greet_bytes(daemon, bytes, mu_local_encode(answer, bytes));
}

void fake_daemon_greeted(struct fake_daemon *daemon)
{
    must(pthread_join(daemon->greeter, NULL) == 0, "pthread_join");
}

/* ---- what it can say ---- */

struct mu_local_message fake_welcome(void)
{
    return (struct mu_local_message){.type = MU_LOCAL_WELCOME,
                                     .welcome = {.machine = 77,
                                                 .nodes = FAKE_NODES,
                                                 .slot = FAKE_SLOT,
                                                 .job = FAKE_JOB,
                                                 .rank = FAKE_RANK,
                                                 .size = FAKE_SIZE}};
}

struct mu_local_message fake_refusal(enum mu_local_refusal code, const char *text)
{
    struct mu_local_message message = {.type = MU_LOCAL_REFUSED, .refused = {.code = code}};
    snprintf(message.refused.text, sizeof message.refused.text, "%s", text);
    return message;
}

struct mu_local_message fake_caught_up(const struct fake_daemon *daemon)
{
    return (struct mu_local_message){.type = MU_LOCAL_CAUGHT_UP,
                                     .caught_up.serial = daemon->journal.head};
}

struct mu_local_message fake_death(uint64_t serial, uint32_t rank)
{
    return (struct mu_local_message){
        .type = MU_LOCAL_EVENT,
        .event = {.serial = serial,
                  .subject = MU_SUBJECT_PROCESS,
                  .hops = 2,
                  .job = FAKE_JOB,
                  .rank = rank,
                  .node = 2,
                  .learned_ns = fake_now_ns(),
                  .age_ns = 500000,
                  .evidence = {.verdict = MU_VERDICT_DEAD,
                               .cause = MU_CAUSE_EXIT,
                               .seen_by = 2,
                               .node = 2,
                               .pid = 1234,
                               .how = {.type = MU_EXIT_SIGNAL, .signal = 9}}},
    };
}
