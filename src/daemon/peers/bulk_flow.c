/* What goes over the connection to one peer: messages in pieces, numbers, acknowledgements. */
#include "daemon/peers/bulk_inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- messages ---- */

struct mu_bulk_message *mu_bulk_message_make(uint32_t count)
{
    assert(count >= 1 && count <= MU_BULK_MESSAGE_MAX);
    struct mu_bulk_message *message = malloc(sizeof *message + count);
    if (message == NULL)
        return NULL;
    message->holders = 1;
    message->count = count;
    return message;
}

struct mu_bulk_message *mu_bulk_message_hold(struct mu_bulk_message *message)
{
    message->holders++;
    return message;
}

void mu_bulk_message_drop(struct mu_bulk_message *message)
{
    if (message != NULL && --message->holders == 0)
        free(message);
}

/* ---- out ---- */

static void send_frame(struct mu_bulk_peer *peer, const struct mu_bulk_frame *frame)
{
    struct mu_bulk *bulk = peer->bulk;
    if (bulk->frame == NULL && (bulk->frame = malloc(MU_SEAL_BULK_MAX)) == NULL)
        abort(); /* what others wait for could not go */
    struct mu_writer writer;
    mu_writer_init(&writer, bulk->frame, MU_SEAL_BULK_MAX);
    mu_bulk_encode(&writer, frame);
    assert(!writer.full);
    mu_conn_send(peer->conn, bulk->frame, writer.used);
}

void mu_bulk_send_ack(struct mu_bulk_peer *peer)
{
    if (!peer->owes || !peer->is_open || mu_conn_queued(peer->conn) > MU_CONN_QUEUE_HIGH)
        return;
    peer->owes = false;
    send_frame(peer, &(struct mu_bulk_frame){.type = MU_BULK_ACK, .ack = peer->received});
}

static size_t send_piece(struct mu_bulk_peer *peer)
{
    const struct mu_bulk_message *message = peer->next->message;
    size_t count = message->count - peer->next_sent, most = MU_SEAL_BULK_MAX - MU_BULK_HEAD_MAX;
    struct mu_bulk_frame frame = {.type = peer->next_sent == 0 ? MU_BULK_FIRST : MU_BULK_MORE,
                                  .sequence = peer->next_number,
                                  .ack = peer->received,
                                  .total = message->count,
                                  .bytes = message->bytes + peer->next_sent,
                                  .count = count < most ? count : most};
    if (frame.type == MU_BULK_FIRST)
        peer->owes = false; /* it says so */
    send_frame(peer, &frame);
    peer->next_sent += frame.count;
    if (peer->next_sent < message->count)
        return frame.count;
    if (peer->next_number > peer->sent_whole)
        peer->sent_whole = peer->next_number;
    peer->next = peer->next->next;
    peer->next_number++;
    peer->next_sent = 0;
    return frame.count;
}

/* As much as the connection takes without a long queue, and as is good for the others; on_room() or
 * mu_bulk_go_on() go on. */
void mu_bulk_pump(struct mu_bulk_peer *peer)
{
    size_t sent = 0;
    while (peer->is_open && peer->next != NULL &&
           mu_conn_queued(peer->conn) <= MU_CONN_QUEUE_HIGH) {
        if (sent > MU_BULK_TURN_BYTES) {
            mu_bulk_go_on(peer->bulk);
            return;
        }
        sent += send_piece(peer);
    }
}

static void drop_first(struct mu_bulk_peer *peer)
{
    struct mu_bulk_entry *entry = peer->first;
    peer->first = entry->next;
    if (peer->first == NULL)
        peer->end = &peer->first;
    peer->waiting -= entry->message->count;
    peer->bulk->counts.waiting -= entry->message->count;
    mu_bulk_message_drop(entry->message);
    free(entry);
}

/* NULL, or the rule that it breaks. */
static const char *take_ack(struct mu_bulk_peer *peer, uint64_t ack)
{
    if (ack > peer->sent_whole || (peer->next_sent > 0 && ack >= peer->next_number))
        return "an acknowledgement is of messages that were sent";
    for (; peer->acked < ack; peer->acked++) {
        if (peer->first == peer->next) {
            peer->next = peer->first->next;
            peer->next_number++;
        }
        drop_first(peer);
    }
    return NULL;
}

const char *mu_bulk_resume(struct mu_bulk_peer *peer, uint64_t has)
{
    peer->next = peer->first;
    peer->next_number = peer->acked + 1;
    peer->next_sent = 0;
    return take_ack(peer, has);
}

void mu_bulk_append(struct mu_bulk_peer *peer, struct mu_bulk_message *message)
{
    struct mu_bulk *bulk = peer->bulk;
    struct mu_bulk_entry *entry = malloc(sizeof *entry);
    if (entry == NULL)
        abort(); /* it was promised to arrive */
    *entry = (struct mu_bulk_entry){NULL, mu_bulk_message_hold(message)};
    *peer->end = entry;
    peer->end = &entry->next;
    peer->waiting += message->count;
    bulk->counts.waiting += message->count;
    bulk->counts.messages_out++;
    bulk->counts.bytes_out += message->count;
    if (peer->is_open && peer->next == NULL)
        peer->next = entry;
}

void mu_bulk_drop_all(struct mu_bulk_peer *peer)
{
    peer->next = NULL;
    while (peer->first != NULL)
        drop_first(peer);
}

/* ---- in ---- */

static const char *take_piece(struct mu_bulk_peer *peer, const struct mu_bulk_frame *frame)
{
    if (frame->type == MU_BULK_FIRST) {
        if (peer->in != NULL || frame->sequence != peer->received + 1)
            return "messages come one after the other, in the order of their numbers";
        peer->in = mu_bulk_message_make(frame->total);
        peer->in_count = 0;
        if (peer->in == NULL)
            return "no memory for this message now";
    }
    if (peer->in == NULL || frame->count > peer->in->count - peer->in_count)
        return "a piece is of a message that has begun, and not longer than what is left of it";
    memcpy(peer->in->bytes + peer->in_count, frame->bytes, frame->count);
    peer->in_count += (uint32_t)frame->count;
    if (peer->in_count < peer->in->count)
        return NULL;
    struct mu_bulk *bulk = peer->bulk;
    struct mu_bulk_message *message = peer->in;
    peer->in = NULL;
    peer->received++;
    peer->owes = true;
    bulk->counts.messages_in++;
    bulk->counts.bytes_in += message->count;
    const char *rule = bulk->hooks.message(bulk->hooks.owner, peer->slot, message);
    mu_bulk_message_drop(message);
    return rule;
}

const char *mu_bulk_take(struct mu_bulk_peer *peer, const uint8_t *bytes, size_t count)
{
    struct mu_bulk_frame frame;
    const char *rule = mu_bulk_decode(bytes, count, &frame);
    if (rule == NULL && frame.type != MU_BULK_MORE)
        rule = take_ack(peer, frame.ack);
    if (rule == NULL && frame.type != MU_BULK_ACK)
        rule = take_piece(peer, &frame);
    return rule;
}
