/* muster-bench-client, which 'muster bench' starts on every node: waits for the death of the victim
 * through libmuster and for the messages of its relay, and writes down when it read which.
 *
 *     muster-bench-client BENCH              in a job; BENCH is the process id of the bench
 *     muster-bench-client BENCH RANK NODE    without muster: the relays alone
 *
 * It knows what is measured in which order, so it waits for each in the one call that reads it, as
 * a program would: muster_next() and recv().  And it is small, because a process takes as long to
 * die and to wake up as it is large, which is not muster's time. */
#include "bench/procfail/door.h"
#include "rig/page.h"
#include "bench/procfail/relay.h"
#include "muster.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

struct client {
    struct muster *muster; /* NULL: the relays alone are measured */
    int relay;
    struct bench_page *page;
    struct bench_slot *slot;
    uint32_t rank, node;
    uint32_t wrong; /* before there was a slot */
};

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "muster-bench-client: %s: %s\n", what, why);
    exit(1);
}

static void note(struct client *c, enum bench_kind kind, uint64_t now_ns)
{
    c->slot->read_ns[kind] = now_ns;
    atomic_fetch_add(&c->page->read[kind], 1);
}

static void read_event(struct client *c)
{
    struct muster_event event;
    struct muster_error error;
    int got = muster_next(c->muster, &event, MUSTER_FOREVER, &error);
    uint64_t now_ns = bench_now_ns();
    if (got < 0)
        fail("muster_next", error.text);
    if (event.type == MUSTER_EVENT_PROCESS && event.rank == c->page->victim &&
        event.verdict == MUSTER_DEAD && c->slot->read_ns[BENCH_DEATH] == 0)
        note(c, BENCH_DEATH, now_ns);
    else if (event.type != MUSTER_EVENT_CAUGHT_UP)
        c->slot->wrong++;
}

static void read_death(struct client *c)
{
    while (c->slot->read_ns[BENCH_DEATH] == 0)
        read_event(c);
}

static uint64_t read_message(struct client *c)
{
    uint8_t bytes[BENCH_MESSAGE_BYTES];
    ssize_t count;
    do
        count = recv(c->relay, bytes, sizeof bytes, 0);
    while (count < 0 && errno == EINTR);
    uint64_t now_ns = bench_now_ns();
    if (count <= 0)
        exit(0); /* the bench is over */
    return now_ns;
}

static void read_in_order(struct client *c)
{
    for (uint32_t i = 0; i < c->page->order_count; i++) {
        enum bench_kind kind = c->page->order[i];
        if (kind == BENCH_DEATH)
            read_death(c);
        else
            note(c, kind, read_message(c));
    }
}

static _Noreturn void loop(struct client *c)
{
    read_message(c);
    atomic_fetch_add(&c->page->warm, 1);
    while (c->muster == NULL)
        read_in_order(c);
    if (c->rank == c->page->victim)
        close(c->relay); /* who is killed has nothing open that would wake the relay up */
    else
        read_in_order(c);
    for (;;)
        read_event(c); /* there should be none */
}

/* Up to CAUGHT_UP everything is history; a new job has none, so what it has is wrong. */
static void join(struct client *c)
{
    struct muster_event event = {0};
    struct muster_error error;
    if (muster_open(&c->muster, &error) != 0)
        fail("muster_open", error.text);
    c->rank = muster_rank(c->muster);
    c->node = muster_node(c->muster);
    for (;;) {
        if (muster_next(c->muster, &event, MUSTER_FOREVER, &error) < 0)
            fail("muster_next", error.text);
        if (event.type == MUSTER_EVENT_CAUGHT_UP)
            return;
        c->wrong++;
    }
}

static void take_slot(struct client *c, uint32_t bench)
{
    int page_fd = -1;
    c->relay = bench_door_connect(bench, c->node, c->rank, &page_fd);
    if (c->relay < 0 || (c->page = bench_page_open(page_fd)) == NULL)
        fail("the relay of this node", strerror(errno));
    if (c->rank >= c->page->size)
        fail("the rank of this process", "not below the size of the page");
    close(page_fd);
    c->slot = &c->page->slots[c->rank];
    c->slot->pid = (uint32_t)getpid();
    c->slot->node = c->node;
    c->slot->wrong = c->wrong;
    atomic_fetch_add(&c->page->ready, 1);
}

int main(int argc, char **argv)
{
    struct client client = {0};
    if (argc != 2 && argc != 4)
        fail("it takes BENCH, or BENCH RANK NODE", "'muster bench' starts it, nobody else");
    prctl(PR_SET_NAME, "bench-client"); /* for who profiles it */
    if (argc == 2) {
        join(&client);
    } else {
        client.rank = (uint32_t)strtoul(argv[2], NULL, 10);
        client.node = (uint32_t)strtoul(argv[3], NULL, 10);
    }
    take_slot(&client, (uint32_t)strtoul(argv[1], NULL, 10));
    loop(&client);
}
