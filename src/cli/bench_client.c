/* What 'muster bench' starts on every node: waits for the death of the victim through libmuster and
 * for the message of its relay, and writes down when it read which.
 *
 * It knows which of the two is measured first, so it waits for each in the one call that reads it,
 * as a program would: muster_next() and recv(). */
#include "cli/args.h"
#include "cli/bench_page.h"
#include "cli/bench_relay.h"
#include "cli/commands.h"
#include "muster.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

struct client {
    struct muster *muster; /* NULL: the floor alone is measured */
    int relay;
    struct bench_page *page;
    struct bench_slot *slot;
    uint32_t rank;
};

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "muster bench client: %s: %s\n", what, why);
    exit(1);
}

static void note_event(struct client *c, const struct muster_event *event, uint64_t now_ns)
{
    if (event->type == MUSTER_EVENT_CAUGHT_UP)
        return;
    if (event->type != MUSTER_EVENT_PROCESS || event->rank != c->page->victim ||
        c->slot->told > 0 || event->verdict != MUSTER_DEAD) {
        c->slot->wrong++;
        return;
    }
    c->slot->told++;
    c->slot->told_ns = now_ns;
    c->slot->age_ns = event->age_ns;
    c->slot->hops = event->hops;
    atomic_fetch_add(&c->page->told, 1);
}

static void read_event(struct client *c)
{
    struct muster_event event;
    struct muster_error error;
    int got = muster_next(c->muster, &event, MUSTER_FOREVER, &error);
    uint64_t now_ns = bench_now_ns();
    if (got < 0)
        fail("muster_next", error.text);
    note_event(c, &event, now_ns);
}

static void read_message(struct client *c)
{
    uint8_t bytes[BENCH_MESSAGE_BYTES];
    ssize_t count;
    do
        count = recv(c->relay, bytes, sizeof bytes, 0);
    while (count < 0 && errno == EINTR);
    uint64_t now_ns = bench_now_ns();
    if (count <= 0)
        exit(0); /* the bench is over */
    c->slot->bare_ns = now_ns;
    c->slot->bare++;
    atomic_fetch_add(&c->page->bare, 1);
}

static void read_death(struct client *c)
{
    while (c->slot->told == 0)
        read_event(c);
}

/* What is killed holds nothing open but what any program has: or relays would wake up. */
static _Noreturn void be_victim(struct client *c)
{
    close(c->relay);
    for (;;)
        read_event(c);
}

static _Noreturn void loop(struct client *c)
{
    read_message(c); /* it only warms up */
    if (c->muster == NULL)
        for (;;)
            read_message(c);
    if (c->rank == c->page->victim)
        be_victim(c);
    if (!c->page->death_first)
        read_message(c);
    read_death(c);
    if (c->page->death_first)
        read_message(c);
    for (;;)
        read_event(c); /* there should be none */
}

/* Up to here everything is history; a new job has none, so what it has is wrong. */
static uint32_t read_history(struct muster *muster)
{
    struct muster_event event = {0};
    struct muster_error error;
    uint32_t count = 0;
    for (;;) {
        if (muster_next(muster, &event, MUSTER_FOREVER, &error) < 0)
            fail("muster_next", error.text);
        if (event.type == MUSTER_EVENT_CAUGHT_UP)
            return count;
        count++;
    }
}

int cmd_bench_client(int argc, char **argv)
{
    uint64_t bench = 0, rank = 0, node = 0;
    bool is_bare = false;
    const struct arg args[] = {
        {"bench", ARG_NUMBER, &bench, 1, INT32_MAX, "PID", "the bench that this belongs to"},
        {"bare", ARG_FLAG, &is_bare, 0, 0, NULL, "no muster: the floor alone, as"},
        {"rank", ARG_NUMBER, &rank, 0, UINT32_MAX - 1, "R", "rank R,"},
        {"node", ARG_NUMBER, &node, 0, BENCH_RELAYS_MAX - 1, "N", "on node N"},
    };
    const struct command command = {"muster bench client",
                                    "What the other commands of 'muster bench' start.", NULL, args,
                                    sizeof args / sizeof args[0]};
    args_parse(&command, argc, argv);
    if (bench == 0)
        args_fail(&command, "no --bench");

    prctl(PR_SET_NAME, "bench-client"); /* for who profiles it */
    struct client client = {0};
    struct muster_error error;
    uint32_t wrong = 0;
    if (!is_bare) {
        if (muster_open(&client.muster, &error) != 0)
            fail("muster_open", error.text);
        rank = muster_rank(client.muster);
        node = muster_node(client.muster);
        wrong = read_history(client.muster);
    }
    int page_fd = -1;
    client.relay = bench_relay_connect((uint32_t)bench, (uint32_t)node, (uint32_t)rank, &page_fd);
    if (client.relay < 0 || (client.page = bench_page_open(page_fd)) == NULL)
        fail("the relay of this node", strerror(errno));
    if (rank >= client.page->size)
        args_fail(&command, "rank %llu is not below the size, %u", (unsigned long long)rank,
                  client.page->size);
    client.rank = (uint32_t)rank;
    client.slot = &client.page->slots[rank];
    client.slot->pid = (uint32_t)getpid();
    client.slot->node = (uint32_t)node;
    client.slot->wrong = wrong;
    atomic_fetch_add(&client.page->ready, 1);
    loop(&client);
}
