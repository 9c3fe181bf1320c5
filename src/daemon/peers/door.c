#include "daemon/peers/door.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum { BACKLOG = 1024 };

/* A stranger is found by its connection: there are few, and each looks once. */
static void forget(struct mu_door *door, const struct mu_conn *conn)
{
    for (uint32_t i = 0; i < door->count; i++) {
        struct mu_conn **place = &door->strangers[(door->oldest + i) % MU_DOOR_STRANGERS_MAX];
        if (*place == conn)
            *place = NULL;
    }
    while (door->count > 0 && door->strangers[door->oldest] == NULL) {
        door->oldest = (door->oldest + 1) % MU_DOOR_STRANGERS_MAX;
        door->count--;
    }
}

static void remember(struct mu_door *door, struct mu_conn *conn)
{
    if (door->count == MU_DOOR_STRANGERS_MAX) {
        struct mu_conn *oldest = door->strangers[door->oldest];
        door->evicted++;
        forget(door, oldest);
        mu_conn_drop(oldest);
    }
    door->strangers[(door->oldest + door->count) % MU_DOOR_STRANGERS_MAX] = conn;
    door->count++;
}

static void on_known(struct mu_conn *conn)
{
    struct mu_door *door = mu_conn_owner(conn);
    forget(door, conn);
    door->member(door->owner, conn);
}

static void on_closed(struct mu_conn *conn, const struct mu_conn_end *end)
{
    (void)end; /* counted by its class in 'net' */
    forget(mu_conn_owner(conn), conn);
}

static void on_open(struct mu_conn *conn)
{
    (void)conn;
    assert(false); /* a member was handed over */
}

static void on_frame(struct mu_conn *conn, const uint8_t *bytes, size_t count)
{
    (void)bytes;
    (void)count;
    on_open(conn);
}

static const struct mu_conn_hooks stranger = {
    .known = on_known, .open = on_open, .frame = on_frame, .closed = on_closed};

static void on_connection(uv_stream_t *listener, int status)
{
    struct mu_door *door = listener->data;
    if (mu_harm_cuts_in(&door->net->harm, MU_SLOT_NONE)) {
        door->waits = true; /* they wait in the kernel, and hear nothing */
        return;
    }
    struct mu_conn *conn = status == 0 ? mu_conn_take(door->net, listener, &stranger, door) : NULL;
    if (conn == NULL) {
        door->failed++;
        return;
    }
    door->taken++;
    remember(door, conn);
}

/* libuv holds one that nobody took, and looks for others when somebody has. */
void mu_door_look_again(struct mu_door *door)
{
    if (!door->open || !door->waits)
        return;
    door->waits = false;
    on_connection((uv_stream_t *)&door->listener, 0);
}

int mu_door_open(struct mu_door *door, struct mu_net *net, const struct sockaddr_in *address)
{
    door->net = net;
    door->oldest = door->count = 0;
    int failed = uv_tcp_init(net->loop, &door->listener);
    assert(failed == 0);
    door->listener.data = door;
    failed = uv_tcp_bind(&door->listener, (const struct sockaddr *)address, 0);
    if (failed == 0)
        failed = uv_listen((uv_stream_t *)&door->listener, BACKLOG, on_connection);
    int length = sizeof door->address;
    if (failed == 0)
        failed = uv_tcp_getsockname(&door->listener, (struct sockaddr *)&door->address, &length);
    if (failed == 0) {
        door->open = true;
        return 0;
    }
    uv_close((uv_handle_t *)&door->listener, NULL);
    return -failed;
}

void mu_door_close(struct mu_door *door)
{
    if (!door->open)
        return;
    door->open = false;
    uv_close((uv_handle_t *)&door->listener, NULL);
    while (door->count > 0) {
        struct mu_conn *conn = door->strangers[door->oldest];
        forget(door, conn);
        mu_conn_drop(conn);
    }
}
