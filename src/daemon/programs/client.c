/* One client: what it says, and what it is told, packet by packet.  What an operator asks for is in
 * operator.c.
 *
 * How a member comes to hear of everything once:
 *
 * - Whatever concerns it is an event with a serial, and stands in two rolls: that of its job and
 *   that of the nodes.  They are complete and in the order of serials.
 * - The state is those two, merged, from their beginning to their end: whatever their end is by
 *   then, so an event that happens while the state is being told is told as part of it.
 * - When there is no more, CAUGHT_UP goes out with the serial of the last event.  From there on it
 *   reads the journal itself, on the board.  There is nothing between the two to be lost or told
 *   twice.
 * - When the event that it wants next is gone from there, it asks AGAIN.  The answer is LOST and
 *   the state, all of it; or, if nothing that was dropped concerns it, from where to go on. */
#include "daemon/programs/inside.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void on_client(uv_poll_t *poll, int status, int events);

/* ---- open and close ---- */

static void on_closed(uv_handle_t *handle)
{
    struct mu_client *client = handle->data;
    struct mu_notify *notify = client->notify;
    free(client);
    mu_notify_handle_gone(notify);
}

struct mu_client *mu_client_open(struct mu_notify *notify, int fd, pid_t pid)
{
    struct mu_client *client = calloc(1, sizeof *client);
    if (client == NULL || uv_poll_init(notify->config.loop, &client->poll, fd) != 0) {
        free(client);
        close(fd);
        return NULL;
    }
    client->notify = notify;
    client->poll.data = client;
    client->fd = fd;
    client->pid = pid;
    client->since = notify->clients_seen++;
    notify->clients[notify->accepted++] = client;
    notify->handles++;
    uv_poll_start(&client->poll, UV_READABLE, on_client);
    return client;
}

static void leave_list(struct mu_client *client)
{
    struct mu_notify *notify = client->notify;
    uint32_t i = 0;
    while (notify->clients[i] != client)
        i++;
    notify->clients[i] = notify->clients[--notify->accepted];
}

/* A handle that is closed, by its process or by us. */
static void uncount(struct mu_client *client)
{
    if (client->counted)
        client->job->handles[client->place]--;
    client->counted = false;
}

/* Its socket stays open, for whoever takes it. */
static void let_go(struct mu_client *client)
{
    const struct mu_notify_hooks *hooks = &client->notify->config.hooks;
    uncount(client);
    if (client->holds)
        hooks->let_go(hooks->owner, client->since);
    leave_list(client);
    uv_close((uv_handle_t *)&client->poll, on_closed);
    client->fd = -1;
}

void mu_client_close(struct mu_client *client)
{
    int fd = client->fd;
    if (fd < 0)
        return;
    let_go(client);
    close(fd);
}

/* ---- one packet out ---- */

static ssize_t send_packet(int fd, const uint8_t *bytes, size_t count)
{
    return send(fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* And the two descriptors that a member reads from then on: the board, and the bell of its job. */
static ssize_t send_with_board(const struct mu_client *client, const uint8_t *bytes, size_t count)
{
    int fds[2] = {client->notify->journal.board_fd, client->job->bell};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof fds)];
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof fds),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS}};
    memcpy(CMSG_DATA(&control.header), fds, sizeof fds);
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = count};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    return sendmsg(client->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void mu_client_turn_away(int fd, enum mu_local_refusal code, const char *text)
{
    struct mu_local_message message = {.type = MU_LOCAL_REFUSED, .refused.code = (uint8_t)code};
    uint8_t packet[MU_LOCAL_PACKET_MAX];
    snprintf(message.refused.text, sizeof message.refused.text, "%s", text);
    send_packet(fd, packet, mu_local_encode(&message, packet)); /* who does not read misses it */
}

void mu_client_refuse(struct mu_client *client, enum mu_local_refusal code, const char *text)
{
    if (client->fd < 0)
        return;
    mu_client_turn_away(client->fd, code, text);
    mu_client_close(client);
}

static void break_off(struct mu_client *client, enum mu_local_refusal code, const char *text)
{
    client->notify->refused++;
    mu_client_refuse(client, code, text);
}

size_t mu_client_encode(struct mu_client *client, const struct mu_local_message *message)
{
    return mu_local_encode(message, client->notify->packet);
}

static size_t encode_caught_up(struct mu_client *client, uint64_t serial)
{
    return mu_client_encode(
        client, &(struct mu_local_message){.type = MU_LOCAL_CAUGHT_UP, .caught_up.serial = serial});
}

static size_t encode_welcome(struct mu_client *client)
{
    const struct mu_notify_config *config = &client->notify->config;
    struct mu_local_message message = {
        .type = MU_LOCAL_WELCOME,
        .welcome = {.machine = config->machine,
                    .nodes = config->roll->size,
                    .slot = config->roll->self},
    };
    if (client->job != NULL) {
        message.welcome.job = client->job->roll->number;
        message.welcome.rank = client->rank;
        message.welcome.size = client->job->roll->spec.size;
    }
    return mu_client_encode(client, &message);
}

/* ---- events ---- */

static bool concerns(const struct mu_client *client, const struct mu_journal_key *key)
{
    return client->role == MU_LOCAL_OPERATOR || key->subject != MU_SUBJECT_PROCESS ||
           mu_journal_is_of(key, client->job->roll->number);
}

/* How many events concern this client that the journal has dropped before it read them. */
static uint64_t missed(const struct mu_client *client)
{
    const struct mu_notify *notify = client->notify;
    uint64_t from = client->cursor, to = mu_journal_oldest(&notify->journal);
    if (from >= to)
        return 0;
    if (client->role == MU_LOCAL_OPERATOR)
        return to - from;
    const struct mu_gone_list *dead = &notify->config.roll->dead, *gone = &client->job->roll->gone;
    return (uint64_t)(mu_gone_before(dead, to) - mu_gone_before(dead, from)) +
           (mu_gone_before(gone, to) - mu_gone_before(gone, from)) +
           mu_roll_views_told(notify->config.roll, from, to);
}

/* Moves its place on to the next event that concerns it.  False: there is none. */
static bool find_next(struct mu_client *client)
{
    const struct mu_journal *journal = &client->notify->journal;
    uint64_t oldest = mu_journal_oldest(journal);
    if (client->cursor < oldest)
        client->cursor = oldest;
    while (client->cursor <= journal->head &&
           !concerns(client, mu_journal_key(journal, client->cursor)))
        client->cursor++;
    return client->cursor <= journal->head;
}

/* As it stands in the journal, but marked as state. */
static size_t mark_state(struct mu_client *client, uint64_t serial)
{
    const struct mu_journal *journal = &client->notify->journal;
    size_t count = mu_journal_key(journal, serial)->count;
    uint8_t *packet = client->notify->packet;
    memcpy(packet, mu_journal_packet(journal, serial), count);
    packet[MU_LOCAL_STATE_AT] = 1;
    return count;
}

static size_t encode_gone(struct mu_client *client, bool is_node)
{
    struct mu_local_message message = {.type = MU_LOCAL_EVENT};
    if (is_node)
        mu_roll_dead_event(client->notify->config.roll, client->nodes_told, &message.event);
    else
        mu_roll_gone_event(client->job->roll, client->processes_told, &message.event);
    message.event.is_state = true;
    return mu_client_encode(client, &message);
}

/* Serials of the next ones that it has not been told; UINT64_MAX for none. */
static void next_gone(const struct mu_client *client, uint64_t *node, uint64_t *process)
{
    const struct mu_gone_list *dead = &client->notify->config.roll->dead;
    *node = mu_gone_serial(dead, client->nodes_told);
    *process = mu_gone_serial(&client->job->roll->gone, client->processes_told);
}

/* The view is told last, from its first event on; when another has become stable meanwhile, that
 * one.  0: it has been told. */
static size_t encode_view(struct mu_client *client)
{
    const struct mu_roll *roll = client->notify->config.roll;
    struct mu_local_message message = {.type = MU_LOCAL_EVENT};
    uint64_t first = roll->stable.first, next = client->view_told + 1;
    if (roll->stable.number == 0 || client->view_told >= roll->stable.last ||
        !mu_roll_stable_event(roll, next > first ? (uint32_t)(next - first) : 0, &message.event))
        return 0;
    message.event.is_state = true;
    return mu_client_encode(client, &message);
}

static size_t encode_member_state(struct mu_client *client)
{
    uint64_t node, process;
    next_gone(client, &node, &process);
    uint64_t serial = node < process ? node : process;
    if (serial == UINT64_MAX) {
        size_t count = encode_view(client);
        return count > 0 ? count : encode_caught_up(client, client->notify->journal.head);
    }
    /* What the journal still has of processes is told as it was told others: it has all the
     * evidence, also of those that left.  Of a node there may be proof since. */
    if (process < node && process >= mu_journal_oldest(&client->notify->journal))
        return mark_state(client, process);
    return encode_gone(client, node < process);
}

static void view_sent(struct mu_client *client)
{
    uint64_t first = client->notify->config.roll->stable.first;
    client->view_told = client->view_told + 1 > first ? client->view_told + 1 : first;
}

static void member_state_sent(struct mu_client *client)
{
    uint64_t node, process;
    next_gone(client, &node, &process);
    if (node < process) {
        client->nodes_told++;
    } else if (process < node) {
        client->processes_told++;
    } else if (client->view_told < client->notify->config.roll->stable.last) {
        view_sent(client);
    } else {
        client->step = MU_STEP_LIVE;
    }
}

/* Of an operator who watches: all that is still kept. */
static size_t encode_operator_state(struct mu_client *client)
{
    if (missed(client) > 0) {
        client->step = MU_STEP_LOST;
        return 0;
    }
    if (!find_next(client))
        return encode_caught_up(client, client->notify->journal.head);
    return mark_state(client, client->cursor);
}

static void operator_state_sent(struct mu_client *client)
{
    if (client->cursor > client->notify->journal.head)
        client->step = MU_STEP_LIVE;
    else
        client->cursor++;
}

static size_t encode_lost(struct mu_client *client)
{
    return mu_client_encode(
        client, &(struct mu_local_message){.type = MU_LOCAL_LOST, .lost.count = missed(client)});
}

static void lost_sent(struct mu_client *client)
{
    client->notify->lost += missed(client);
    client->cursor = mu_journal_oldest(&client->notify->journal);
    client->nodes_told = client->processes_told = 0;
    client->view_told = 0;
    client->step = MU_STEP_STATE;
}

/* To a member that has asked again: from where to go on, if it has lost nothing. */
static size_t encode_go_on(struct mu_client *client)
{
    if (missed(client) > 0) {
        client->step = MU_STEP_LOST;
        return 0;
    }
    uint64_t oldest = mu_journal_oldest(&client->notify->journal);
    return encode_caught_up(client, (client->cursor > oldest ? client->cursor : oldest) - 1);
}

/* The event itself, not a copy. */
static size_t find_live(struct mu_client *client, const uint8_t **bytes)
{
    const struct mu_journal *journal = &client->notify->journal;
    if (client->role == MU_LOCAL_MEMBER)
        return 0;
    if (missed(client) > 0) {
        client->step = MU_STEP_LOST;
        return 0;
    }
    if (!find_next(client))
        return 0;
    *bytes = mu_journal_packet(journal, client->cursor);
    return mu_journal_key(journal, client->cursor)->count;
}

/* ---- the steps ---- */

/* The next packet of this step: 0 when there is none, or the step has changed. */
static size_t make_packet(struct mu_client *client, const uint8_t **bytes)
{
    *bytes = client->notify->packet;
    switch (client->step) {
    case MU_STEP_HELLO:
    case MU_STEP_IDLE:
        return 0;
    case MU_STEP_WELCOME:
        return encode_welcome(client);
    case MU_STEP_LOST:
        return encode_lost(client);
    case MU_STEP_STATE:
        return client->role == MU_LOCAL_MEMBER ? encode_member_state(client)
                                               : encode_operator_state(client);
    case MU_STEP_GO_ON:
        return encode_go_on(client);
    case MU_STEP_LIVE:
        return find_live(client, bytes);
    case MU_STEP_NODE:
    case MU_STEP_JOBS:
    case MU_STEP_PROCESSES:
    case MU_STEP_COUNTERS:
    case MU_STEP_GONE:
    case MU_STEP_DONE:
    case MU_STEP_CANNOT:
        return mu_operator_packet(client);
    }
    abort();
}

/* The packet that make_packet() made is gone. */
static void packet_sent(struct mu_client *client)
{
    switch (client->step) {
    case MU_STEP_WELCOME:
        client->step = client->role == MU_LOCAL_MEMBER ? MU_STEP_STATE : MU_STEP_IDLE;
        return;
    case MU_STEP_LOST:
        lost_sent(client);
        return;
    case MU_STEP_STATE:
        if (client->role == MU_LOCAL_MEMBER)
            member_state_sent(client);
        else
            operator_state_sent(client);
        return;
    case MU_STEP_GO_ON:
        client->step = MU_STEP_LIVE;
        return;
    case MU_STEP_LIVE:
        client->cursor++;
        return;
    case MU_STEP_NODE:
    case MU_STEP_JOBS:
    case MU_STEP_PROCESSES:
    case MU_STEP_COUNTERS:
    case MU_STEP_GONE:
    case MU_STEP_DONE:
    case MU_STEP_CANNOT:
        mu_operator_sent(client);
        return;
    case MU_STEP_HELLO:
    case MU_STEP_IDLE:
        break;
    }
    abort();
}

/* May it say something now?  An operator's next request waits in its socket for the end of the
 * answer. */
static bool listens(const struct mu_client *client)
{
    return client->role != MU_LOCAL_OPERATOR || client->step == MU_STEP_IDLE ||
           client->step == MU_STEP_LOST || client->step == MU_STEP_STATE ||
           client->step == MU_STEP_LIVE;
}

static void wait_for_room(struct mu_client *client)
{
    client->blocked = true;
    uv_poll_start(&client->poll, UV_WRITABLE | (listens(client) ? UV_READABLE : 0), on_client);
}

/* The kernel bounds how many of a user are sent and not received yet, by the number of open files.
 * Where hundreds of processes join at once, they must read theirs first. */
static void wait_for_descriptors(struct mu_client *client)
{
    client->later = true;
    mu_notify_look_again(client->notify);
}

void mu_client_pump(struct mu_client *client)
{
    while (client->fd >= 0 && !client->blocked && !client->later) {
        const uint8_t *bytes;
        enum mu_client_step step = client->step;
        size_t count = make_packet(client, &bytes);
        if (count == 0 && client->step == step)
            return;
        if (count == 0)
            continue;
        ssize_t sent = step == MU_STEP_WELCOME && client->job != NULL
                           ? send_with_board(client, bytes, count)
                           : send_packet(client->fd, bytes, count);
        if (sent == (ssize_t)count)
            packet_sent(client);
        else if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM)
            wait_for_room(client);
        else if (errno == ETOOMANYREFS)
            wait_for_descriptors(client);
        else
            mu_client_close(client);
    }
}

/* ---- what it says ---- */

/* Whose process it is, by the kernel's word; false when the kernel has none: the process is in
 * another group by now, or mu_roll_started() is still to come. */
static bool recognize(const struct mu_client *client, uint32_t *job_number, uint32_t *rank)
{
    pid_t group = client->pid > 0 ? getpgid(client->pid) : -1;
    const struct mu_roll_job *job = client->notify->config.roll->jobs;
    for (; job != NULL; job = job->next)
        for (uint32_t i = 0; i < job->here_count; i++) {
            pid_t pid = (pid_t)job->here[i].pid;
            if (pid == 0 || (pid != client->pid && pid != group))
                continue;
            *job_number = job->number;
            *rank = job->here[i].rank;
            return true;
        }
    return false;
}

/* Of the process that the rank is, and not of children of it.  It may have been faster than
 * mu_roll_started(). */
static void count_handle(struct mu_client *client)
{
    uint32_t pid = client->job->roll->here[client->place].pid;
    client->counted = pid == 0 || pid == (uint32_t)client->pid;
    client->job->handles[client->place] += client->counted;
}

static void on_member(struct mu_client *client, const struct mu_local_hello *hello)
{
    char text[MU_LOCAL_TEXT_MAX + 1];
    uint32_t job, rank;
    if (recognize(client, &job, &rank) && (job != hello->job || rank != hello->rank)) {
        snprintf(text, sizeof text,
                 "process %d is rank %" PRIu32 " of job %" PRIu32 ", not rank %" PRIu32
                 " of job %" PRIu32,
                 (int)client->pid, rank, job, hello->rank, hello->job);
        break_off(client, MU_LOCAL_NOT_KNOWN, text);
        return;
    }
    client->job = mu_notify_find(client->notify, hello->job);
    if (client->job == NULL || mu_roll_place(client->job->roll, hello->rank) == UINT32_MAX) {
        snprintf(text, sizeof text, "no rank %" PRIu32 " of a job %" PRIu32 " on this node",
                 hello->rank, hello->job);
        break_off(client, MU_LOCAL_NOT_KNOWN, text);
        return;
    }
    client->rank = hello->rank;
    client->place = mu_roll_place(client->job->roll, hello->rank);
    client->step = MU_STEP_WELCOME;
    if (hello->role == MU_LOCAL_VOTER) {
        const struct mu_notify_hooks *hooks = &client->notify->config.hooks;
        int fd = client->fd;
        let_go(client);
        hooks->voter(hooks->owner, hello->job, hello->rank, fd);
    } else {
        count_handle(client);
    }
}

static void on_hello(struct mu_client *client, const struct mu_local_hello *hello)
{
    char text[MU_LOCAL_TEXT_MAX + 1];
    if (hello->version != MU_LOCAL_VERSION) {
        snprintf(text, sizeof text, "version %u is not spoken here, only version %d",
                 hello->version, MU_LOCAL_VERSION);
        break_off(client, MU_LOCAL_OTHER_VERSION, text);
        return;
    }
    client->role = hello->role;
    if (hello->role != MU_LOCAL_OPERATOR)
        on_member(client, hello);
    else
        client->step = MU_STEP_WELCOME;
}

static void on_again(struct mu_client *client, uint64_t serial)
{
    if (client->step != MU_STEP_LIVE || serial > client->notify->journal.head) {
        break_off(client, MU_LOCAL_BAD_PACKET, "nothing that it could have read is gone");
        return;
    }
    client->cursor = serial;
    client->step = MU_STEP_GO_ON;
}

static void on_member_says(struct mu_client *client, const struct mu_local_message *message)
{
    if (message->type == MU_LOCAL_AGAIN)
        on_again(client, message->again.serial);
    else if (message->type == MU_LOCAL_LEAVE)
        mu_client_close(client);
    else
        break_off(client, MU_LOCAL_BAD_PACKET, "not something that a member says");
}

static void on_packet(struct mu_client *client, const uint8_t *bytes, size_t count)
{
    struct mu_local_message message;
    const char *rule = mu_local_decode(bytes, count, &message);
    if (rule != NULL)
        break_off(client, MU_LOCAL_BAD_PACKET, rule);
    else if (client->step == MU_STEP_HELLO && message.type == MU_LOCAL_HELLO)
        on_hello(client, &message.hello);
    else if (client->step == MU_STEP_HELLO)
        break_off(client, MU_LOCAL_BAD_PACKET, "the first packet is HELLO");
    else if (client->role == MU_LOCAL_MEMBER)
        on_member_says(client, &message);
    else if (client->step != MU_STEP_IDLE)
        break_off(client, MU_LOCAL_BAD_PACKET, "who watches says nothing more");
    else if (!mu_operator_asks(client, &message))
        break_off(client, MU_LOCAL_BAD_PACKET, "not something that an operator asks");
}

void mu_client_catch_up(struct mu_client *client)
{
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    while (client->fd >= 0) {
        ssize_t count = recv(client->fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC);
        if (count > 0)
            on_packet(client, bytes, (size_t)count);
        else if (count == 0 || (errno != EINTR && errno != ECONNRESET))
            return;
    }
}

/* One that closed without having read everything resets the connection, and that is told before the
 * packets that are still there: LEAVE may be one of them. */
static void on_hang_up(struct mu_client *client)
{
    mu_client_catch_up(client);
    if (client->fd < 0)
        return;
    uint32_t pid = client->job != NULL ? client->job->roll->here[client->place].pid : 0;
    /* Not a child of it that has opened a handle of its own. */
    if (pid != 0 && pid == (uint32_t)client->pid)
        client->counted = false; /* and its handle was never closed: that stays */
    mu_client_close(client);
}

static void read_packet(struct mu_client *client)
{
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    /* MSG_TRUNC: the packet's length, also when it is longer than this. */
    ssize_t count = recv(client->fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count <= 0)
        on_hang_up(client);
    else
        on_packet(client, bytes, (size_t)count);
}

static void on_client(uv_poll_t *poll, int status, int events)
{
    struct mu_client *client = poll->data;
    if (status < 0) {
        on_hang_up(client); /* it had not read everything */
        return;
    }
    if (events & UV_READABLE)
        read_packet(client);
    bool had_waited = client->blocked && (events & UV_WRITABLE) != 0;
    if (had_waited)
        client->blocked = false;
    mu_client_pump(client);
    if (had_waited && client->fd >= 0 && !client->blocked)
        uv_poll_start(&client->poll, UV_READABLE, on_client);
}
