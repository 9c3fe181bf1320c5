/* Messages of any length between two daemons, as frames of a sealed connection of kind
 * MU_SEAL_BULK: docs/wire.md has every byte.
 *
 * A message goes in pieces, FIRST and as many MORE as it takes, nothing of another one between
 * them.  Messages are numbered from 1 in each direction; what was not acknowledged is sent again
 * on the next connection, from its first piece. */
#ifndef MU_WIRE_PEER_BULK_H
#define MU_WIRE_PEER_BULK_H

#include "wire/base/bytes.h"

enum {
    MU_BULK_MESSAGE_MAX = 64 * 1024 * 1024,
    MU_BULK_HEAD_MAX = 21, /* bytes of a frame before those of the message */
};

enum mu_bulk_type {
    MU_BULK_FIRST = 1,
    MU_BULK_MORE,
    MU_BULK_ACK, /* all messages up to this one are here */
    MU_BULK_TYPE_LAST = MU_BULK_ACK,
};

struct mu_bulk_frame {
    uint8_t type;         /* enum mu_bulk_type */
    uint64_t sequence;    /* FIRST: number of the message */
    uint64_t ack;         /* FIRST, ACK */
    uint32_t total;       /* FIRST: bytes of the whole message */
    const uint8_t *bytes; /* FIRST, MORE: the piece */
    size_t count;
};

/* NULL, or the rule that the frame breaks. */
const char *mu_bulk_error(const struct mu_bulk_frame *frame);

/* The frame has passed mu_bulk_error().  A piece is written with it. */
void mu_bulk_encode(struct mu_writer *writer, const struct mu_bulk_frame *frame);

/* NULL, or the rule that the bytes break; then *frame is worth nothing.  A piece points into
 * 'bytes'. */
const char *mu_bulk_decode(const uint8_t *bytes, size_t count, struct mu_bulk_frame *frame);

#endif
