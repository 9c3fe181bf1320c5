#include "host/clock.h"
#include "rig/role.h"

#include "rig/door.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void note(struct client *c, enum bench_kind kind, uint64_t now_ns)
{
    c->slot->read_ns[kind] = now_ns;
    atomic_fetch_add(&c->page->read[kind], 1);
}

static void read_event(struct client *c)
{
    struct muster_event event;
    uint64_t now_ns = client_next(c, &event);
    if (event.type == MUSTER_EVENT_PROCESS && event.rank == c->page->victim &&
        event.verdict == MUSTER_DEAD && c->slot->read_ns[BENCH_DEATH] == 0)
        note(c, BENCH_DEATH, now_ns);
    else if (event.type != MUSTER_EVENT_CAUGHT_UP && event.type != MUSTER_EVENT_VIEW)
        c->slot->wrong++;
}

static void read_death(struct client *c)
{
    while (c->slot->read_ns[BENCH_DEATH] == 0)
        read_event(c);
}

static uint64_t read_message(const struct client *c, int relay)
{
    uint8_t bytes[BENCH_MESSAGE_BYTES];
    ssize_t count;
    do
        count = recv(relay, bytes, sizeof bytes, 0);
    while (count < 0 && errno == EINTR);
    uint64_t now_ns = mu_now_ns();
    if (count <= 0) {
        muster_close(c->muster);
        exit(0); /* the bench is over */
    }
    return now_ns;
}

static void read_in_order(struct client *c, int relay)
{
    for (uint32_t i = 0; i < c->page->order_count; i++) {
        enum bench_kind kind = c->page->order[i];
        if (kind == BENCH_DEATH)
            read_death(c);
        else
            note(c, kind, read_message(c, relay));
    }
}

/* Up to CAUGHT_UP everything is history; a new job has none but the view, so what it has is wrong.
 */
static void read_history(struct client *c)
{
    struct muster_event event;
    for (;;) {
        client_next(c, &event);
        if (event.type == MUSTER_EVENT_CAUGHT_UP)
            return;
        if (event.type != MUSTER_EVENT_VIEW)
            c->slot->wrong++;
    }
}

/* It has taken note of us when it answers. */
static int connect_relay(const struct client *c)
{
    char word;
    int relay = rig_door_connect(c->rig, c->node);
    if (relay < 0 || send(relay, &c->rank, sizeof c->rank, MSG_NOSIGNAL) < 0 ||
        recv(relay, &word, 1, 0) != 1)
        client_fail("the relay of this node", strerror(errno));
    return relay;
}

void role_read(struct client *c)
{
    if (c->muster != NULL)
        read_history(c);
    int relay = connect_relay(c);
    client_is_ready(c);
    read_message(c, relay);
    atomic_fetch_add(&c->page->warm, 1);
    while (c->muster == NULL)
        read_in_order(c, relay);
    if (c->rank == c->page->victim)
        close(relay); /* who is killed has nothing open that would wake the relay up */
    else
        read_in_order(c, relay);
    for (;;)
        read_event(c); /* there should be none */
}
