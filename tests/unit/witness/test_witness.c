/* A witness, its daemon that ends, and neighbours that listen: real processes and sockets. */
#define _GNU_SOURCE
#include "witness/witness.h"

#include "wire/peer/word.h"
#include "witness/tell.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { NODES = 6, DEAD_NODE = 2, PATIENCE_MS = 20000 };

static uint8_t key[MU_SEAL_KEY_BYTES] = {7, 7, 7};
static const struct mu_hello self = {
    .machine = 99, .size = NODES, .from = DEAD_NODE, .incarnation = 5};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- neighbours ---- */

/* One that listens, and what it was told. */
struct neighbour {
    int listener;
    mu_slot slot;
    struct sockaddr_in address;
    struct mu_word words[4];
    uint32_t count;
    uint32_t incarnation;
};

static void listen_at(struct neighbour *one, mu_slot slot)
{
    socklen_t length = sizeof one->address;
    memset(one, 0, sizeof *one);
    one->slot = slot;
    one->address.sin_family = AF_INET;
    one->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    one->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(one->listener, (struct sockaddr *)&one->address, length), 0);
    assert_int_equal(listen(one->listener, 8), 0);
    assert_int_equal(getsockname(one->listener, (struct sockaddr *)&one->address, &length), 0);
}

static void flush(int fd, struct mu_seal *seal)
{
    const uint8_t *bytes;
    size_t count = mu_seal_output(seal, &bytes);
    if (count > 0)
        assert_int_equal(send(fd, bytes, count, MSG_NOSIGNAL), count);
    mu_seal_consume(seal, count);
}

static void answer(int fd, struct mu_seal *seal, uint8_t heard)
{
    struct mu_word word = {.type = MU_WORD_HEARD, .heard = heard};
    uint8_t plain[MU_WORD_BYTES_MAX], sealed[MU_WORD_BYTES_MAX + MU_SEAL_OVERHEAD];
    size_t count = mu_seal_send(seal, plain, mu_word_encode(&word, plain), sealed);
    assert_int_equal(send(fd, sealed, count, MSG_NOSIGNAL), count);
}

/* False: it has said goodbye. */
static bool on_event(struct neighbour *one, int fd, struct mu_seal *seal, enum mu_seal_event event,
                     uint8_t *buffer, size_t room)
{
    size_t count;
    if (event == MU_SEAL_PEER_KNOWN) {
        one->incarnation = mu_seal_peer(seal)->incarnation;
        assert_int_equal(mu_seal_peer(seal)->from, DEAD_NODE);
        assert_int_equal(seal->kind, MU_SEAL_WITNESS);
        mu_seal_accept(seal, 0, buffer, room);
    } else if (event == MU_SEAL_FRAME) {
        const uint8_t *plain = mu_seal_plain(seal, &count);
        struct mu_word *word = &one->words[one->count++];
        assert_null(mu_word_decode(plain, count, word));
        answer(fd, seal, word->type);
    }
    assert_int_not_equal(event, MU_SEAL_BAD);
    return event != MU_SEAL_GOODBYE;
}

/* Until the witness has said all that it has to say. */
static void hear_out(struct neighbour *one)
{
    struct mu_seal seal;
    static uint8_t buffer[MU_SEAL_WITNESS_MAX + MU_SEAL_CIPHER_EXTRA];
    struct mu_hello us = {.machine = 99, .size = NODES, .from = one->slot, .incarnation = 1};
    struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
    setsockopt(one->listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    int fd = accept(one->listener, NULL, NULL);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    mu_seal_init(&seal, MU_SEAL_ACCEPTOR, key, MU_SEAL_ANY, &us);
    for (bool goes_on = true; goes_on;) {
        uint8_t bytes[512];
        ssize_t count = recv(fd, bytes, sizeof bytes, 0);
        assert_true(count > 0);
        enum mu_seal_event event = MU_SEAL_OPEN;
        for (size_t at = 0; goes_on && event != MU_SEAL_MORE;) {
            size_t used;
            event = mu_seal_input(&seal, bytes + at, (size_t)count - at, &used);
            at += used;
            flush(fd, &seal);
            goes_on = on_event(one, fd, &seal, event, buffer, sizeof buffer);
            flush(fd, &seal);
        }
    }
    mu_seal_free(&seal);
    close(fd);
}

static void expect_words(const struct neighbour *one, const struct mu_exit_kind *how)
{
    assert_int_equal(one->count, 2);
    assert_int_equal(one->incarnation, 5);
    assert_int_equal(one->words[0].type, MU_WORD_DEAD);
    assert_int_equal(one->words[1].type, MU_WORD_GONE);
    for (int i = 0; i < 2; i++)
        assert_memory_equal(&one->words[i].how, how, sizeof *how);
    assert_true(one->words[1].age_ns >= one->words[0].age_ns);
}

/* ---- a witness and its daemon ---- */

struct shared {
    _Atomic pid_t daemon, grandchild;
    _Atomic bool go;
};

struct pair {
    pid_t witness;
    int lifeline; /* our end */
    struct shared *shared;
};

static _Noreturn void be_daemon(const struct mu_witness_list *list, struct shared *shared,
                                const struct mu_witness *witness)
{
    mu_witness_page_write(witness->page, list);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* as a daemon is */
    if (fork() == 0) {                /* one that leaves, and nobody signals */
        setsid();
        if (fork() == 0) {
            shared->grandchild = getpid();
            for (;;)
                pause();
        }
        _exit(0);
    }
    while (shared->grandchild == 0)
        usleep(1000);
    shared->daemon = getpid();
    while (!shared->go)
        usleep(1000);
    _exit(3);
}

static struct pair start(const struct mu_witness_list *list)
{
    int pipes[2];
    struct pair pair;
    pair.shared =
        mmap(NULL, sizeof *pair.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(pipe(pipes), 0);
    pair.witness = fork();
    if (pair.witness == 0) {
        struct mu_witness witness;
        dup2(pipes[0], STDIN_FILENO);
        close(pipes[0]);
        close(pipes[1]);
        if (mu_witness_begin(key, &self, &witness) != 0)
            _exit(99);
        be_daemon(list, pair.shared, &witness);
    }
    close(pipes[0]);
    pair.lifeline = pipes[1];
    while (pair.shared->daemon == 0)
        usleep(1000);
    return pair;
}

/* The witness's status; then no process of that node is left. */
static int finish(struct pair *pair)
{
    int status;
    pid_t grandchild = pair->shared->grandchild;
    while (waitpid(pair->witness, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    assert_int_equal(kill(grandchild, 0), -1);
    assert_int_equal(errno, ESRCH);
    close(pair->lifeline);
    munmap(pair->shared, sizeof *pair->shared);
    return status;
}

static struct mu_witness_list list_of(const struct neighbour *neighbours, uint32_t count)
{
    struct mu_witness_list list = {.count = count};
    for (uint32_t i = 0; i < count; i++)
        list.at[i] = (struct mu_witness_neighbour){neighbours[i].slot, neighbours[i].address};
    return list;
}

/* ---- tests ---- */

static void three_are_told_that_it_is_dead_and_then_that_all_are_gone(void **state)
{
    (void)state;
    struct neighbour at[4];
    for (mu_slot i = 0; i < 4; i++)
        listen_at(&at[i], (mu_slot[]){3, 4, 5, 0}[i]);
    struct mu_witness_list list = list_of(at, 4);
    struct pair pair = start(&list);
    kill(pair.shared->daemon, SIGKILL);
    for (int i = 0; i < 3; i++)
        hear_out(&at[i]);
    int status = finish(&pair);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL); /* as the daemon ended */
    for (int i = 0; i < 3; i++)
        expect_words(&at[i], &(struct mu_exit_kind){.type = MU_EXIT_SIGNAL, .signal = SIGKILL});
    struct pollfd fourth = {.fd = at[3].listener, .events = POLLIN};
    assert_int_equal(poll(&fourth, 1, 0), 0); /* three are enough */
    for (int i = 0; i < 4; i++)
        close(at[i].listener);
}

/* One refuses, one does not answer: the next ones are tried. */
static void who_does_not_answer_is_left(void **state)
{
    (void)state;
    struct neighbour at[5];
    for (mu_slot i = 0; i < 5; i++)
        listen_at(&at[i], (mu_slot[]){3, 4, 5, 0, 1}[i]);
    close(at[0].listener);
    struct mu_witness_list list = list_of(at, 5);
    struct pair pair = start(&list);
    pair.shared->go = true;
    for (int i = 2; i < 5; i++)
        hear_out(&at[i]);
    int status = finish(&pair);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    for (int i = 2; i < 5; i++)
        expect_words(&at[i], &(struct mu_exit_kind){.type = MU_EXIT_CODE, .code = 3});
    for (int i = 1; i < 5; i++)
        close(at[i].listener);
}

static void after_a_goodbye_it_says_nothing(void **state)
{
    (void)state;
    struct neighbour one;
    listen_at(&one, 3);
    struct mu_witness_list list = list_of(&one, 1);
    list.leaving = true;
    struct pair pair = start(&list);
    pair.shared->go = true;
    int status = finish(&pair);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    struct pollfd nobody = {.fd = one.listener, .events = POLLIN};
    assert_int_equal(poll(&nobody, 1, 0), 0);
    close(one.listener);
}

/* Nobody answers, and the lifeline has ended: it does not stay. */
static void without_a_lifeline_it_does_not_insist(void **state)
{
    (void)state;
    struct neighbour one;
    listen_at(&one, 3);
    close(one.listener);
    struct mu_witness_list list = list_of(&one, 1);
    struct pair pair = start(&list);
    close(pair.lifeline);
    pair.lifeline = -1;
    uint64_t from_ns = now_ns();
    kill(pair.shared->daemon, SIGKILL);
    finish(&pair);
    assert_true(now_ns() - from_ns < 8000000000u); /* it would insist for 10 s */
}

static void signals_are_for_the_daemon(void **state)
{
    (void)state;
    struct mu_witness_list list = {.leaving = true};
    struct pair pair = start(&list);
    kill(pair.witness, SIGTERM);
    int status = finish(&pair);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

/* Somebody wants it to end while it still talks: it gives up talking, and leaves nothing behind. */
static void a_signal_after_the_end_leaves_no_process(void **state)
{
    (void)state;
    struct neighbour one;
    listen_at(&one, 3);
    struct mu_witness_list list = list_of(&one, 1);
    struct pair pair = start(&list);
    uint64_t from_ns = now_ns();
    kill(pair.shared->daemon, SIGKILL);
    struct pollfd called = {.fd = one.listener, .events = POLLIN};
    assert_int_equal(poll(&called, 1, PATIENCE_MS), 1); /* and nobody answers */
    kill(pair.witness, SIGTERM);
    int status = finish(&pair);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_true(now_ns() - from_ns < 8000000000u); /* it would insist for 10 s */
    close(one.listener);
}

/* "Private_Dirty:  123 kB" and the like: what it has that nobody shares. */
static long own_kib(pid_t pid)
{
    char path[64], line[256];
    long kib = 0, row;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return -1;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "Private_Clean: %ld", &row) == 1 ||
            sscanf(line, "Private_Dirty: %ld", &row) == 1)
            kib += row;
    fclose(file);
    return kib;
}

static void a_page_that_is_half_written_leaves_the_one_before(void **state)
{
    (void)state;
    struct mu_witness_page *page = mu_witness_page_make();
    assert_int_equal(mu_witness_page_read(page).count, 0);
    mu_witness_page_write(page, &(struct mu_witness_list){.count = 2});
    page->lists[1 - page->current].count = 7; /* and killed here */
    assert_int_equal(mu_witness_page_read(page).count, 2);
    mu_witness_page_write(page, &(struct mu_witness_list){.count = 3});
    assert_int_equal(mu_witness_page_read(page).count, 3);
    page->lists[page->current].count = UINT32_MAX;
    assert_int_equal(mu_witness_page_read(page).count, MU_WITNESS_NEIGHBOURS);
    munmap(page, sizeof *page);
}

/* It can only be seen by root: no other may look into it. */
static void it_is_small(void **state)
{
    (void)state;
    struct mu_witness_list list = {.leaving = true};
    struct pair pair = start(&list);
    long kib = own_kib(pair.witness);
    pair.shared->go = true;
    finish(&pair);
    if (kib < 0)
        skip();
#ifndef __SANITIZE_ADDRESS__
#ifndef __SANITIZE_THREAD__
    assert_in_range(kib, 1, 1023);
#endif
#endif
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_are_told_that_it_is_dead_and_then_that_all_are_gone),
        cmocka_unit_test(who_does_not_answer_is_left),
        cmocka_unit_test(after_a_goodbye_it_says_nothing),
        cmocka_unit_test(without_a_lifeline_it_does_not_insist),
        cmocka_unit_test(signals_are_for_the_daemon),
        cmocka_unit_test(a_signal_after_the_end_leaves_no_process),
        cmocka_unit_test(a_page_that_is_half_written_leaves_the_one_before),
        cmocka_unit_test(it_is_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
