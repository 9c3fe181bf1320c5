#define _GNU_SOURCE /* recvmmsg(), sendmmsg() */
#include "daemon/heart/datagrams.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* The kernel counts at least this much of the receive buffer for a datagram, however short. */
enum { KERNEL_BYTES_MIN = 256 };

static uint32_t kernel_room(int fd)
{
    int bytes = 0;
    socklen_t length = sizeof bytes;
    getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &length);
    return (uint32_t)bytes / KERNEL_BYTES_MIN + MU_DATAGRAMS_BATCH;
}

void mu_datagrams_init(struct mu_datagrams *datagrams)
{
    for (uint32_t i = 0; i < MU_DATAGRAMS_BATCH; i++) {
        datagrams->in_part[i] = (struct iovec){.iov_base = datagrams->in_bytes[i],
                                               .iov_len = sizeof datagrams->in_bytes[i]};
        datagrams->out_part[i] = (struct iovec){.iov_base = datagrams->out_bytes[i],
                                                .iov_len = sizeof datagrams->out_bytes[i]};
        datagrams->in[i].msg_hdr =
            (struct msghdr){.msg_iov = &datagrams->in_part[i], .msg_iovlen = 1};
        datagrams->out[i].msg_hdr = (struct msghdr){.msg_namelen = datagrams->address_bytes,
                                                    .msg_iov = &datagrams->out_part[i],
                                                    .msg_iovlen = 1};
    }
    datagrams->room = kernel_room(datagrams->fd);
}

/* ---- in ---- */

uint32_t mu_datagrams_receive(struct mu_datagrams *datagrams)
{
    int count = recvmmsg(datagrams->fd, datagrams->in, MU_DATAGRAMS_BATCH, MSG_DONTWAIT, NULL);
    if (count >= 0)
        return (uint32_t)count;
    if (errno != EAGAIN) {
        mu_count(&datagrams->counts->receive_errors, 1);
        mu_count_set(&datagrams->counts->receive_errno, (uint64_t)errno);
    }
    return 0;
}

/* The tag first, and nothing else is looked at before that is right. */
static bool open_bytes(struct mu_datagrams *datagrams, const uint8_t *bytes, struct mu_beat *beat)
{
    struct mu_heartbeat_counts *counts = datagrams->counts;
    if (!mu_beat_tag_is_right(bytes, &datagrams->key)) {
        mu_count(&counts->forged, 1);
        return false;
    }
    bool good = mu_beat_decode(bytes, MU_BEAT_BYTES, beat) == NULL && beat->to == datagrams->self &&
                beat->from < datagrams->size && beat->subject < datagrams->size;
    if (!good)
        mu_count(&counts->malformed, 1);
    return good;
}

static void hold(struct mu_datagrams *datagrams, uint64_t late_ns, mu_slot to, const uint8_t *bytes)
{
    if (datagrams->late == NULL ||
        !mu_late_put(datagrams->late, datagrams->now_ns + late_ns, to, bytes))
        mu_count(&datagrams->counts->cut, 1);
}

bool mu_datagrams_open(struct mu_datagrams *datagrams, uint32_t number, struct mu_beat *beat)
{
    struct mu_heartbeat_counts *counts = datagrams->counts;
    const uint8_t *bytes = datagrams->in_bytes[number];
    size_t count = datagrams->in[number].msg_len;
    if (mu_harm_cuts_in(&datagrams->harm, MU_SLOT_NONE)) { /* from everybody */
        mu_count(&counts->cut, 1);
        return false;
    }
    mu_count(&counts->in, 1);
    mu_count(&counts->in_bytes, count);
    if (count != MU_DATAGRAM_BYTES) {
        mu_count(&counts->malformed, 1);
        return false;
    }
    if (!open_bytes(datagrams, bytes, beat))
        return false;
    if (mu_harm_cuts_in(&datagrams->harm, beat->from)) {
        mu_count(&counts->cut, 1);
        return false;
    }
    uint64_t late_ns = mu_harm_late_in_ns(&datagrams->harm, beat->from);
    if (late_ns > 0)
        hold(datagrams, late_ns, MU_SLOT_NONE, bytes);
    return late_ns == 0;
}

/* ---- out ---- */

static uint8_t *next_out(struct mu_datagrams *datagrams)
{
    return datagrams->out_bytes[datagrams->out_count];
}

/* What next_out() has been filled with. */
static void push_out(struct mu_datagrams *datagrams, mu_slot to)
{
    /* The kernel only reads it. */
    datagrams->out[datagrams->out_count++].msg_hdr.msg_name = (void *)&datagrams->addresses[to];
    if (datagrams->out_count == MU_DATAGRAMS_BATCH)
        mu_datagrams_flush(datagrams);
}

void mu_datagrams_send(struct mu_datagrams *datagrams, const struct mu_beat *beat)
{
    assert(beat->from == datagrams->self && beat->to < datagrams->size);
    if (mu_harm_cuts_out(&datagrams->harm, beat->to)) {
        mu_count(&datagrams->counts->cut, 1);
        return;
    }
    uint8_t *bytes = next_out(datagrams);
    mu_beat_encode(beat, bytes);
    mu_beat_tag_write(bytes, &datagrams->key);
    uint64_t late_ns = mu_harm_late_out_ns(&datagrams->harm, beat->to);
    if (late_ns > 0)
        hold(datagrams, late_ns, beat->to, bytes);
    else
        push_out(datagrams, beat->to);
}

/* What cannot be sent is as lost as what the network loses: it is not tried again. */
void mu_datagrams_flush(struct mu_datagrams *datagrams)
{
    struct mu_heartbeat_counts *counts = datagrams->counts;
    for (uint32_t done = 0; done < datagrams->out_count;) {
        int sent = sendmmsg(datagrams->fd, datagrams->out + done, datagrams->out_count - done,
                            MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) {
            mu_count(&counts->out, (uint64_t)sent);
            mu_count(&counts->out_bytes, (uint64_t)sent * MU_DATAGRAM_BYTES);
            done += (uint32_t)sent;
            continue;
        }
        mu_count(&counts->send_errors, 1); /* of the first; the next one goes to somebody else */
        mu_count_set(&counts->send_errno, (uint64_t)errno);
        done++;
    }
    datagrams->out_count = 0;
}

/* ---- late ---- */

/* A cut may have taken the place of the fault that held it back. */
static bool is_lost(struct mu_datagrams *datagrams, bool is_cut)
{
    if (is_cut)
        mu_count(&datagrams->counts->cut, 1);
    return is_cut;
}

bool mu_datagrams_late(struct mu_datagrams *datagrams, struct mu_beat *beat)
{
    struct mu_late_one one;
    while (datagrams->late != NULL && mu_late_take(datagrams->late, datagrams->now_ns, &one)) {
        if (one.to == MU_SLOT_NONE) {
            if (open_bytes(datagrams, one.bytes, beat) &&
                !is_lost(datagrams, mu_harm_cuts_in(&datagrams->harm, beat->from)))
                return true;
            continue;
        }
        if (is_lost(datagrams, mu_harm_cuts_out(&datagrams->harm, one.to)))
            continue;
        memcpy(next_out(datagrams), one.bytes, sizeof one.bytes);
        push_out(datagrams, one.to);
    }
    return false;
}
