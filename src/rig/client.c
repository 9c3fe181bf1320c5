#include "host/clock.h"
#include "rig/role.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

_Noreturn void client_fail(const char *what, const char *why)
{
    fprintf(stderr, "muster-rig-client: %s: %s\n", what, why);
    exit(1);
}

_Noreturn void client_end(const struct client *client, const struct muster_error *error)
{
    if (error->code == MUSTER_E_NO_DAEMON || client->page->is_over) {
        muster_close(client->muster);
        exit(0);
    }
    client_fail("muster", error->text);
}

uint64_t client_next(struct client *client, struct muster_event *event)
{
    struct muster_error error;
    int got = muster_next(client->muster, event, MUSTER_FOREVER, &error);
    uint64_t now_ns = mu_now_ns();
    if (got < 0)
        client_end(client, &error);
    return now_ns;
}

void client_is_ready(struct client *client)
{
    client->slot->pid = (uint32_t)getpid();
    atomic_fetch_add(&client->page->ready, 1);
}
