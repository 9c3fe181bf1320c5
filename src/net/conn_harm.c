/* Faults on purpose, at the sockets of connections. */
#define _GNU_SOURCE /* POLLRDHUP */
#include "net/conn_inside.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

mu_slot mu_conn_slot(const struct mu_conn *conn)
{
    mu_slot slot = MU_SLOT_NONE;
    if (conn->dialled)
        slot = conn->slot;
    else if (conn->known)
        slot = mu_seal_peer(&conn->seal)->from;
    return slot < conn->net->self.size ? slot : MU_SLOT_NONE;
}

static bool cuts_in(const struct mu_conn *conn)
{
    return mu_harm_cuts_in(&conn->net->harm, mu_conn_slot(conn));
}

static bool cuts_out(const struct mu_conn *conn)
{
    return mu_harm_cuts_out(&conn->net->harm, mu_conn_slot(conn));
}

bool mu_conn_is_cut(const struct mu_conn *conn)
{
    return cuts_in(conn) || cuts_out(conn);
}

/* ---- bytes that wait ---- */

static bool is_empty(const struct mu_held_list *list)
{
    return list->first == NULL;
}

static void append(struct mu_held_list *list, uint64_t due_ns, const uint8_t *bytes, ssize_t count)
{
    struct mu_held *held = malloc(sizeof *held + (count > 0 ? (size_t)count : 0));
    if (held == NULL)
        abort(); /* nothing else would keep the order of what was promised */
    held->next = NULL;
    held->due_ns = due_ns;
    held->count = count;
    if (count > 0)
        memcpy(held->bytes, bytes, (size_t)count);
    if (is_empty(list))
        list->end = &list->first;
    *list->end = held;
    list->end = &held->next;
}

static struct mu_held *take(struct mu_held_list *list)
{
    struct mu_held *held = list->first;
    list->first = held->next;
    if (is_empty(list))
        list->end = &list->first;
    return held;
}

static void on_late(uv_timer_t *timer);

/* For the first of each list; those behind it do not overtake it. */
static void wait_for_due(struct mu_conn *conn)
{
    uint64_t due_ns = MU_NEVER, now_ns = uv_hrtime();
    if (!is_empty(&conn->held_out) && !cuts_out(conn))
        due_ns = conn->held_out.first->due_ns;
    if (!is_empty(&conn->held_in) && !cuts_in(conn) && conn->held_in.first->due_ns < due_ns)
        due_ns = conn->held_in.first->due_ns;
    if (due_ns == MU_NEVER || conn->closing)
        return;
    uint64_t ms = due_ns > now_ns ? (due_ns - now_ns + 999999) / 1000000 : 0;
    uv_update_time(conn->net->loop);
    uv_timer_start(&conn->late_timer, on_late, ms, 0);
}

/* Calls no hook. */
static void release_out(struct mu_conn *conn, uint64_t now_ns)
{
    while (!conn->closing && !is_empty(&conn->held_out) && !cuts_out(conn) &&
           conn->held_out.first->due_ns <= now_ns) {
        struct mu_held *held = take(&conn->held_out);
        conn->held_bytes -= (size_t)held->count;
        mu_conn_write(conn, held->bytes, (size_t)held->count);
        free(held);
    }
    if (!conn->closing && conn->shutdown_waits && is_empty(&conn->held_out) && !cuts_out(conn))
        mu_conn_shut_down(conn);
}

/* What a hook does to the connection is seen before the next one. */
static void release(struct mu_conn *conn)
{
    uint64_t now_ns = uv_hrtime();
    if (conn->connect_waits && !mu_conn_is_cut(conn)) {
        mu_conn_connect_failed(conn);
        return;
    }
    release_out(conn, now_ns);
    mu_conn_tell_room(conn);
    while (!conn->closing && !is_empty(&conn->held_in) && !cuts_in(conn) &&
           conn->held_in.first->due_ns <= now_ns) {
        struct mu_held *held = take(&conn->held_in);
        mu_conn_came(conn, held->bytes, held->count);
        free(held);
    }
    wait_for_due(conn);
}

static void on_late(uv_timer_t *timer)
{
    release(timer->data);
}

bool mu_conn_hold_out(struct mu_conn *conn, const uint8_t *bytes, size_t count)
{
    uint64_t late_ns = mu_harm_late_out_ns(&conn->net->harm, mu_conn_slot(conn));
    if (late_ns == 0 && is_empty(&conn->held_out) && !cuts_out(conn))
        return false;
    append(&conn->held_out, uv_hrtime() + late_ns, bytes, (ssize_t)count);
    conn->held_bytes += count;
    if (!uv_is_active((uv_handle_t *)&conn->late_timer))
        wait_for_due(conn);
    return true;
}

bool mu_conn_hold_in(struct mu_conn *conn, const uint8_t *bytes, ssize_t count)
{
    uint64_t late_ns = mu_harm_late_in_ns(&conn->net->harm, mu_conn_slot(conn));
    if (late_ns == 0 && is_empty(&conn->held_in))
        return false;
    append(&conn->held_in, uv_hrtime() + late_ns, bytes, count);
    wait_for_due(conn);
    return true;
}

void mu_conn_forget_held(struct mu_conn *conn)
{
    while (!is_empty(&conn->held_out))
        free(take(&conn->held_out));
    while (!is_empty(&conn->held_in))
        free(take(&conn->held_in));
}

/* ---- ends that nobody may hear ---- */

/* Where the other side has ended, too, nobody is left to hear it: so there are no more of them than
 * peers, however long they try to come in. */
static void close_unheard(struct mu_net *net)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < net->kept_count; i++) {
        struct pollfd ended = {.fd = net->kept[i], .events = POLLRDHUP};
        if (poll(&ended, 1, 0) > 0)
            close(net->kept[i]);
        else
            net->kept[left++] = net->kept[i];
    }
    net->kept_count = left;
}

void mu_conn_keep_socket(struct mu_conn *conn)
{
    struct mu_net *net = conn->net;
    uv_os_fd_t fd;
    if (uv_fileno((const uv_handle_t *)&conn->tcp, &fd) != 0)
        return; /* it was never connected */
    int *more = realloc(net->kept, (net->kept_count + 1) * sizeof *more);
    int copy = more != NULL ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (more != NULL)
        net->kept = more;
    if (copy >= 0)
        net->kept[net->kept_count++] = copy;
    close_unheard(net);
}

void mu_conn_close_kept(struct mu_net *net)
{
    for (uint32_t i = 0; i < net->kept_count; i++)
        close(net->kept[i]);
    free(net->kept);
    net->kept = NULL;
    net->kept_count = 0;
}

/* ---- all of them ---- */

static void go_on(struct mu_conn *conn)
{
    bool is_cut = mu_conn_is_cut(conn);
    if (conn->read_waits && !cuts_in(conn)) {
        conn->read_waits = false;
        mu_conn_read_on(conn);
    }
    if (conn->timer_waits && !is_cut) {
        conn->timer_waits = false;
        mu_conn_wait_for_end(conn);
    }
    release_out(conn, uv_hrtime());
    if (!conn->closing) /* the rest calls hooks, and one of these may have called us */
        uv_timer_start(&conn->late_timer, on_late, 0, 0);
}

void mu_net_harm(struct mu_net *net, const struct mu_harm *harm)
{
    net->harm = *harm;
    mu_conn_close_kept(net);
    for (struct mu_conn *conn = net->first, *next; conn != NULL; conn = next) {
        next = conn->next; /* closing frees nothing before the loop runs next */
        if (!conn->closing)
            go_on(conn);
    }
}
