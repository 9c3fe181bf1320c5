/* Writes to the terminal, a pipe or files, without ever making the loop wait: the writing is done
 * by a thread of its own, one for each sink.
 *
 * What is to be written is copied and queued.  There is no bound here: callers queue only what they
 * have let others send, and let them send more when a mark tells that it has been written. */
#ifndef MU_RUN_OUTPUT_SINK_H
#define MU_RUN_OUTPUT_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct sink;

struct sink_hooks {
    void *owner;
    /* On the writer's thread: the descriptor of a target; -1 with errno when there is none.  NULL:
     * the target is one itself. */
    int (*descriptor)(void *owner, uint32_t target);
    /* The rest is called on the loop, and may be NULL.  What came before this mark has been
     * written, or was thrown away because its target failed. */
    void (*marked)(void *owner, uint32_t mark, uint64_t count);
    /* Once for each target: it cannot be written to, and what is for it is thrown away. */
    void (*failed)(void *owner, uint32_t target, int error);
    /* sink_queued() has become 0. */
    void (*drained)(void *owner);
};

/* Starts the thread.  Returns 0 and the sink, or an errno with *sink untouched. */
int sink_open(uv_loop_t *loop, const struct sink_hooks *hooks, struct sink **sink);

/* Ends the thread, also in the middle of a write that does not return; no hook is called any more.
 * What was not written is lost: wait for 'drained' first.  The memory goes when the loop has run
 * once more.  NULL is fine. */
void sink_close(struct sink *sink);

/* Both never wait and never fail: without memory they abort, since a gap would be worse. */
void sink_write(struct sink *sink, uint32_t target, const void *bytes, size_t count);

/* A number of the caller's, that comes back when everything before it has been written.  Marks with
 * the same number may come back as one, with the sum of their counts. */
void sink_mark(struct sink *sink, uint32_t mark, uint64_t count);

/* Bytes that have not been written or thrown away yet, as far as the loop has heard. */
size_t sink_queued(const struct sink *sink);

#endif
