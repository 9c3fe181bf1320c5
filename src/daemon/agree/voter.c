/* The socket of one process, for one group. */
#include "daemon/agree/inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void on_closed(uv_handle_t *handle)
{
    struct mu_voter *voter = handle->data;
    struct mu_agreements *agreements = voter->agreements;
    free(voter);
    mu_agreements_handle_gone(agreements);
}

void mu_voter_close(struct mu_voter *voter)
{
    if (voter->fd < 0)
        return;
    struct mu_group_local *local =
        voter->group != NULL ? mu_group_local(voter->group, voter->rank) : NULL;
    if (local != NULL && local->voter == voter)
        local->voter = NULL;
    *voter->place = voter->next;
    if (voter->next != NULL)
        voter->next->place = voter->place;
    uv_close((uv_handle_t *)&voter->poll, on_closed);
    close(voter->fd);
    voter->fd = -1;
}

/* ---- out ---- */

static bool send_bytes(int fd, const uint8_t *bytes, size_t count)
{
    ssize_t sent;
    do
        sent = send(fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)count;
}

/* A last word, and closes it. */
static void refuse(struct mu_voter *voter, enum mu_local_refusal code, const char *text)
{
    struct mu_local_message message = {.type = MU_LOCAL_REFUSED, .refused.code = (uint8_t)code};
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    snprintf(message.refused.text, sizeof message.refused.text, "%s", text);
    send_bytes(voter->fd, bytes, mu_local_encode(&message, bytes));
    mu_voter_close(voter);
}

/* A process waits for the answer to its call, and for nothing else: its socket has room, unless so
 * many have gone at once that it cannot be told at once. */
void mu_voters_tell(struct mu_group *group, const struct mu_ballot *ballot)
{
    uint8_t bytes[MU_BALLOT_BYTES_MAX];
    size_t count = mu_ballot_encode(ballot, bytes);
    for (uint32_t i = 0; i < group->local_count; i++) {
        struct mu_group_local *local = &group->locals[i];
        if (local->called && local->voter != NULL && !send_bytes(local->voter->fd, bytes, count))
            refuse(local->voter, MU_LOCAL_CANNOT, "more are gone than the socket has room for");
    }
}

/* ---- in ---- */

static void on_join(struct mu_voter *voter, const struct mu_ballot *ballot)
{
    struct mu_agreements *agreements = voter->agreements;
    struct mu_group_job *job = mu_group_job_find(agreements, voter->job);
    const char *why = "its job is over";
    struct mu_group *group = job == NULL ? NULL
                                         : mu_group_join(agreements, job, voter->rank,
                                                         ballot->join.row, ballot->join.rows, &why);
    if (group == NULL) {
        refuse(voter, MU_LOCAL_CANNOT, why);
        return;
    }
    struct mu_group_local *local = mu_group_local(group, voter->rank);
    voter->group = group;
    local->voter = voter;
    local->had_voter = true;
    mu_agreements_announce_late(agreements, group);
    struct mu_ballot joined = {.type = MU_BALLOT_JOINED, .joined = {group->id, group->size}};
    uint8_t bytes[MU_BALLOT_BYTES_MAX];
    if (!send_bytes(voter->fd, bytes, mu_ballot_encode(&joined, bytes)))
        mu_voter_close(voter);
}

static void on_call(struct mu_voter *voter, const struct mu_ballot *ballot)
{
    struct mu_group_local *local = mu_group_local(voter->group, voter->rank);
    if (local->gone != 0)
        return; /* its end is known already */
    if (local->called || ballot->call.acked > voter->group->failed_told)
        refuse(voter, MU_LOCAL_BAD_PACKET,
               local->called ? "a second contribution to one agreement"
                             : "more failures are acknowledged than were told");
    else
        mu_group_contribute(voter->group, local, ballot->call.bits, ballot->call.acked);
}

static void on_leave(struct mu_voter *voter)
{
    struct mu_group *group = voter->group;
    uint32_t rank = voter->rank;
    mu_voter_close(voter);
    if (group != NULL)
        mu_group_lose(group, mu_group_local(group, rank), MU_BALLOT_LEFT);
}

static void on_packet(struct mu_voter *voter, const uint8_t *bytes, size_t count)
{
    struct mu_ballot ballot;
    if (count == 1 && bytes[0] == MU_LOCAL_LEAVE) {
        on_leave(voter);
        return;
    }
    const char *rule = mu_ballot_decode(bytes, count, &ballot);
    if (rule != NULL)
        refuse(voter, MU_LOCAL_BAD_PACKET, rule);
    else if (voter->group == NULL && ballot.type == MU_BALLOT_JOIN)
        on_join(voter, &ballot);
    else if (voter->group != NULL && ballot.type == MU_BALLOT_CALL)
        on_call(voter, &ballot);
    else
        refuse(voter, MU_LOCAL_BAD_PACKET, "first JOIN, once, and then contributions");
}

static void on_voter(uv_poll_t *poll, int status, int events)
{
    struct mu_voter *voter = poll->data;
    struct mu_agreements *agreements = voter->agreements;
    uint8_t bytes[MU_LOCAL_PACKET_MAX];
    (void)status;
    (void)events;
    /* A reset is told once, and before the packets that are still there. */
    ssize_t count;
    do
        count = recv(voter->fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC);
    while (count < 0 && (errno == EINTR || errno == ECONNRESET));
    if (count < 0 && errno == EAGAIN)
        return;
    if (count <= 0)
        mu_voter_close(voter); /* without a goodbye: the group waits until the process has ended */
    else
        on_packet(voter, bytes, (size_t)count);
    mu_agreements_settle(agreements);
}

void mu_agreements_voter(struct mu_agreements *agreements, uint32_t job, uint32_t rank, int fd)
{
    struct mu_voter *voter = calloc(1, sizeof *voter);
    if (voter == NULL || uv_poll_init(agreements->config.loop, &voter->poll, fd) != 0) {
        free(voter);
        close(fd);
        return;
    }
    voter->agreements = agreements;
    voter->fd = fd;
    voter->job = job;
    voter->rank = rank;
    voter->next = agreements->voters;
    voter->place = &agreements->voters;
    if (voter->next != NULL)
        voter->next->place = &voter->next;
    agreements->voters = voter;
    agreements->handles++;
    voter->poll.data = voter;
    uv_poll_start(&voter->poll, UV_READABLE, on_voter);
}
