/* A message of an agreement (wire/peer/agree.h) as a frame between two daemons: docs/wire.md.
 *
 * They travel on the connections of notices, beside NOTICE and ACK, and are not numbered
 * (core/agree/agree.h says why). */
#ifndef MU_WIRE_PEER_AGREE_FRAME_H
#define MU_WIRE_PEER_AGREE_FRAME_H

#include "wire/peer/agree.h"
#include "wire/peer/frame.h"

enum {
    MU_AGREE_FRAME = 6, /* its type, beside enum mu_message_type */
    MU_AGREE_FRAME_FIXED = 6,
    /* As much as fits into one frame. */
    MU_AGREE_FRAME_LIST_MAX = 4096, /* entries of a list */
};

/* Where the lists of a decoded message are. */
struct mu_agree_frame_lists {
    struct mu_failed failed[MU_AGREE_FRAME_LIST_MAX];
    struct mu_roster_entry dead[MU_AGREE_FRAME_LIST_MAX];
    struct mu_agree_entry entries[MU_AGREE_ENTRIES_MAX];
};

/* Is this frame one of these?  It need not be a good one. */
bool mu_agree_frame_is(const uint8_t *bytes, size_t count);

/* Returns how many bytes; asserts what breaks a rule, and lists that are too long. */
size_t mu_agree_frame_encode(const struct mu_agree_message *message,
                             uint8_t bytes[MU_WIRE_FRAME_MAX]);

/* One whole frame.  NULL, or the rule that it breaks; then *message is worth nothing. */
const char *mu_agree_frame_decode(const uint8_t *bytes, size_t count,
                                  struct mu_agree_message *message,
                                  struct mu_agree_frame_lists *lists);

#endif
