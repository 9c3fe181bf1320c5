/* What enters the doors of the core, written down so that it can be run again (docs/record.md): a
 * folder for this daemon, with one stream for each door and instance.
 *
 * Streams are written to their files once in each turn of the loop, before it waits: a daemon that
 * is killed leaves all but its last turn.  The heartbeat thread hands its events over by a queue;
 * when that is full, the stream of the ring has a gap there and ends, and no thread waits for
 * another.
 *
 * Where a recorder or stream is an argument NULL is fine: nothing is recorded. */
#ifndef MU_DAEMON_RECORD_RECORDER_H
#define MU_DAEMON_RECORD_RECORDER_H

#include "wire/record/stream.h"

#include <uv.h>

struct mu_recorder;
struct mu_record_stream;

/* Makes the folder, which only its owner can read.  Returns 0; or an errno, also when it is there.
 */
int mu_recorder_open(uv_loop_t *loop, const char *folder, struct mu_recorder **recorder);

/* No turn of the loop is waited for any more: its handle is closed when that runs next. */
void mu_recorder_stop(struct mu_recorder *recorder);

/* After that, and after the heartbeat thread: ends every stream.  Returns 0, or the errno of what
 * could not be written on the way. */
int mu_recorder_close(struct mu_recorder *recorder);

/* A new file, NAME.record or, of doors with several instances, NAME-N.record.  NULL: it cannot be
 * made, or there are MU_RECORDER_STREAMS_MAX; that is said, and the recorder knows it. */
enum { MU_RECORDER_STREAMS_MAX = 256 };
struct mu_record_stream *mu_recorder_stream(struct mu_recorder *recorder, enum mu_record_door door,
                                            const void *config);

/* One step: the event, and what came of it. */
void mu_recorder_step(struct mu_record_stream *stream, const void *event, const void *update);

/* Writes its end, and closes the file. */
void mu_recorder_end(struct mu_record_stream *stream);

/* The stream of the ring, whose steps are on another thread: to be given to the heartbeat thread as
 * 'record' and its context.  NULL: there is none. */
void *mu_recorder_ring(struct mu_recorder *recorder, const struct mu_detect_config *config);
void mu_recorder_on_ring(void *context, const struct mu_detect_event *event,
                         const struct mu_detect_update *update);

#endif
