/* Recorded events of the node's door: docs/record.md has every byte.  Other doors: doors.h; all of
 * them in one file: stream.h.
 *
 * A recording is a header with the node's configuration, one record for each event that entered the
 * core, and an END with a digest of all that came out.  Running the events through a fresh node
 * must give the same digest.  What decodes without an error keeps the duties of a driver that
 * core/node.h and core/base/event.h name: START once, and first but for a first view, time never
 * backwards, every pointer good. */
#ifndef MU_WIRE_RECORD_RECORD_H
#define MU_WIRE_RECORD_RECORD_H

#include "core/base/config.h"
#include "core/base/event.h"
#include "core/base/fingerprint.h"
#include "wire/base/bytes.h"
#include "wire/peer/frame.h"

enum { MU_RECORD_VERSION = 3 };

#define MU_RECORD_MAGIC "MUSTREC1"

enum {
    MU_RECORD_HEADER_BYTES = 72,
    /* The longest record: a RECV, with its length, type, time (below 2^63), sender, incarnation and
     * transit time. */
    MU_RECORD_MAX = 3 + 1 + 9 + 4 + 5 + MU_VARINT_MAX + MU_WIRE_FRAME_MAX,
};

/* In the place of an event's type.  GAP: what comes after it was not recorded. */
enum { MU_RECORD_GAP = 254, MU_RECORD_END = 255 };

/* Where a recording stands, while it is written or read.  Zeroed at the start of the records. */
struct mu_record_state {
    uint64_t now_ns; /* of the last event */
    uint64_t events;
    bool started;
    bool ended;
};

struct mu_record_end {
    uint64_t events;
    struct mu_fingerprint digest;
};

/* One decoded record.  Pointers in the event lead to 'frame' and 'notice' next to it, so it is not
 * copied; payloads are in the bytes that it was decoded from, and live as long as those. */
struct mu_record {
    bool is_end;
    struct mu_event event;
    struct mu_record_end end;
    struct mu_frame frame;
    struct mu_notice notice;
};

enum mu_record_error {
    MU_RECORD_OK = 0,
    MU_RECORD_TRUNCATED, /* the bytes end inside it: with more of them it may be good */
    MU_RECORD_BAD_MAGIC,
    MU_RECORD_VERSION_NEWER,
    MU_RECORD_VERSION_OLDER,
    MU_RECORD_OTHER_DOOR, /* a stream of another door, or of none */
    MU_RECORD_CONFIG,     /* 'rule' says which */
    MU_RECORD_LENGTH,
    MU_RECORD_TYPE,
    MU_RECORD_SHORT,    /* ends inside a field */
    MU_RECORD_TRAILING, /* something follows its last field */
    MU_RECORD_VARINT,   /* a number that is not in its shortest form, or over 64 bits */
    MU_RECORD_TIME_BACKWARDS,
    MU_RECORD_TIME_OVERFLOW,
    MU_RECORD_NOT_STARTED,
    MU_RECORD_STARTED_TWICE,
    MU_RECORD_LINKS_UP,
    MU_RECORD_TIMER,
    MU_RECORD_SLOT,
    MU_RECORD_INCARNATION,
    MU_RECORD_POST_LENGTH,
    MU_RECORD_FORGET_KIND,
    MU_RECORD_MEMBER_NONE,
    MU_RECORD_MEMBER_FLAGS,
    MU_RECORD_MEMBER_OUT,
    MU_RECORD_FRAME_TYPE, /* a frame that does not enter the core */
    MU_RECORD_FRAME,      /* 'wire' says what is wrong with it */
    MU_RECORD_NOTICE,     /* 'wire' says what is wrong with it */
    MU_RECORD_COUNT,      /* END counts otherwise */
    MU_RECORD_AFTER_END,
    MU_RECORD_NO_ROOM,
};

struct mu_record_result {
    enum mu_record_error error;
    uint64_t value;             /* that broke the rule */
    uint64_t bound;             /* that it broke */
    const char *rule;           /* CONFIG */
    struct mu_wire_result wire; /* FRAME, NOTICE */
};

/* One sentence with value and rule, cut off at 'room' (MU_WIRE_TEXT_MAX holds all).  Returns
 * 'text'. */
const char *mu_record_text(struct mu_record_result result, char *text, size_t room);

/* On error nothing was written and the state has not moved; when that was for lack of room the
 * writer is marked full. */
struct mu_record_result mu_record_encode_header(struct mu_writer *writer,
                                                const struct mu_config *config);
struct mu_record_result mu_record_encode_event(struct mu_record_state *state,
                                               struct mu_writer *writer,
                                               const struct mu_event *event);
struct mu_record_result mu_record_encode_end(struct mu_record_state *state,
                                             struct mu_writer *writer,
                                             const struct mu_fingerprint *digest);

/* The header takes the first MU_RECORD_HEADER_BYTES.  The configuration passes mu_config_error();
 * whether there is memory for it is the caller's to decide (mu_node_bytes()). */
struct mu_record_result mu_record_decode_header(const uint8_t *bytes, size_t available,
                                                struct mu_config *config);

/* The record at the start of these bytes, *used of them.  TRUNCATED asks for more bytes, which are
 * at most MU_RECORD_MAX in all; at the end of a file it says that END is missing, as after a
 * crash.  On error the state has not moved. */
struct mu_record_result mu_record_decode(struct mu_record_state *state, const uint8_t *bytes,
                                         size_t available, struct mu_record *record, size_t *used);

/* A digest begins with the configuration ... */
void mu_record_digest_start(struct mu_fingerprint *digest, const struct mu_config *config);

/* ... and is fed with each step: the event, and every effect and deadline that came of it. */
void mu_record_digest_step(struct mu_fingerprint *digest, const struct mu_event *event,
                           const struct mu_update *update);

#endif
