/* One stream of a recording: a header, one record for each event with a check of what came of it,
 * and an END.  docs/record.md has every byte.
 *
 * The check after an event is half of the digest of all that has come so far.  So a stream that was
 * cut off, as by a daemon that was killed, is as good as its last whole record; and a run that goes
 * another way is found at the event where it begins to. */
#ifndef MU_WIRE_RECORD_STREAM_H
#define MU_WIRE_RECORD_STREAM_H

#include "wire/record/doors.h"
#include "wire/record/record.h"

/* ---- writing ---- */

struct mu_stream {
    enum mu_record_door door;
    struct mu_record_state state;
    struct mu_fingerprint digest;
    uint32_t words;
    uint8_t *bytes; /* that are not in the file yet: whoever writes them sets 'count' to 0 */
    size_t count, room;
    bool gap;
};

/* Takes no memory before the first byte.  Without memory a stream gets a gap. */
void mu_stream_start(struct mu_stream *stream, enum mu_record_door door, const void *config);
void mu_stream_free(struct mu_stream *stream);

/* One step: the event, and what came of it. */
void mu_stream_step(struct mu_stream *stream, const void *event, const void *update);

/* The same of a step whose digest was made elsewhere, by mu_stream_digest(). */
void mu_stream_put(struct mu_stream *stream, const void *event,
                   const struct mu_fingerprint *digest);
void mu_stream_digest_start(enum mu_record_door door, const void *config,
                            struct mu_fingerprint *digest);
void mu_stream_digest(enum mu_record_door door, uint32_t words, const void *event,
                      const void *update, struct mu_fingerprint *digest);

/* What follows is not recorded; nothing but a gap and the end is written any more. */
void mu_stream_gap(struct mu_stream *stream);
void mu_stream_end(struct mu_stream *stream);

/* ---- reading ---- */

enum mu_stream_what { MU_STREAM_EVENT, MU_STREAM_GAP, MU_STREAM_END, MU_STREAM_CUT, MU_STREAM_BAD };

struct mu_stream_reader {
    enum mu_record_door door;
    const uint8_t *bytes; /* of the caller */
    size_t size, at;
    struct mu_record_state state;
    struct mu_fields fields; /* of what was read last, and its lists */
    struct mu_fields header; /* lists of the configuration */
    struct mu_config node;   /* one of these two */
    union mu_record_config config;
    char text[MU_WIRE_TEXT_MAX]; /* of BAD */
    /* What came last. */
    struct mu_record record; /* of the node's door; else */
    union mu_record_event event;
    uint64_t check;
    struct mu_record_end end;
};

/* False with 'text': these bytes are no recording that can be read here. */
bool mu_stream_open(struct mu_stream_reader *reader, const uint8_t *bytes, size_t size);
void mu_stream_close(struct mu_stream_reader *reader);

/* CUT: the bytes end inside of a record.  After anything but EVENT nothing more is read. */
enum mu_stream_what mu_stream_next(struct mu_stream_reader *reader);

/* Of the configuration, and of the event that came last: to be handed to the door. */
const void *mu_stream_config(const struct mu_stream_reader *reader);
const void *mu_stream_event(const struct mu_stream_reader *reader);

#endif
