/* The messages of views as bytes: docs/wire.md has every one.
 *
 * One message has exactly one encoding.  What can be checked without knowing the cluster is checked
 * here, on the way out as on the way in.  As a frame they travel on the connections of notices,
 * beside those of agreements, and are not numbered: all of them can be said again. */
#ifndef MU_WIRE_PEER_VIEW_H
#define MU_WIRE_PEER_VIEW_H

#include "core/view/view.h"
#include "wire/peer/agree.h"
#include "wire/peer/frame.h"

enum {
    MU_VIEW_VERSION = 1,
    MU_VIEW_FRAME = 10,      /* its type, beside enum mu_message_type */
    MU_VIEW_LIST_MAX = 1024, /* entries of each list: so a WELCOME fits into one frame */
};

/* Where the lists of a message go that is read. */
struct mu_view_room {
    struct mu_failed failed[MU_AGREE_FAILED_MAX];
    struct mu_roster_entry dead[MU_AGREE_FAILED_MAX], out[MU_VIEW_LIST_MAX];
    struct mu_agree_entry entries[MU_AGREE_ENTRIES_MAX];
    struct mu_span spans[MU_VIEW_LIST_MAX];
    struct mu_view_member odd[MU_VIEW_LIST_MAX];
    struct mu_view_lost lost[MU_VIEW_LIST_MAX];
    mu_slot joined[MU_VIEW_LIST_MAX];
};

/* NULL, or the rule that the message breaks. */
const char *mu_view_message_error(const struct mu_view_message *message);

/* The message has passed mu_view_message_error(). */
void mu_view_encode(struct mu_writer *writer, const struct mu_view_message *message);

/* NULL, or the rule that the bytes break; then *message is worth nothing.  Its lists are in the
 * room. */
const char *mu_view_decode(const uint8_t *bytes, size_t count, struct mu_view_room *room,
                           struct mu_view_message *message);

/* ---- the same as frames ---- */

/* Is this frame one of these?  It need not be a good one. */
bool mu_view_frame_is(const uint8_t *bytes, size_t count);

/* Returns how many bytes; asserts what breaks a rule. */
size_t mu_view_frame_encode(const struct mu_view_message *message,
                            uint8_t bytes[MU_WIRE_FRAME_MAX]);

/* One whole frame.  NULL, or the rule that it breaks; then *message is worth nothing. */
const char *mu_view_frame_decode(const uint8_t *bytes, size_t count,
                                 struct mu_view_message *message, struct mu_view_room *room);

#endif
