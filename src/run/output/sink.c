#include "run/output/sink.h"

#include "host/thread.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BLOCK_SMALL = 4 * 1024,   /* the first one, so that lines that follow come along */
    BLOCK_LARGE = 128 * 1024, /* when more comes than is written */
    MARKS_LOOKED_AT = 8,      /* for one to add to, from the end */
};

struct mark {
    uint32_t number;
    uint64_t count;
};

/* What goes to one target in one piece.  Marks come back when all of it has been written. */
struct block {
    struct block *next;
    uint32_t target;
    int error; /* once it has been dealt with */
    struct mark *marks;
    size_t mark_count, mark_room;
    size_t used, room;
    uint8_t bytes[];
};

struct queue {
    struct block *first, **end;
};

struct failure {
    uint32_t target;
    int error;
};

struct sink {
    struct sink_hooks hooks;
    uv_async_t wake; /* the loop: blocks are finished */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more; /* the thread: there is something to write, or it is over */
    /* under the lock */
    struct queue waiting, finished;
    struct block *writing; /* what is in it belongs to the thread */
    bool over;
    /* of the loop */
    size_t queued;
    bool closed;
    /* of the thread */
    struct failure *failures;
    size_t failure_count;
};

static void queue_init(struct queue *queue)
{
    queue->first = NULL;
    queue->end = &queue->first;
}

static void queue_add(struct queue *queue, struct block *block)
{
    block->next = NULL;
    *queue->end = block;
    queue->end = &block->next;
}

static struct block *queue_take(struct queue *queue)
{
    struct block *block = queue->first;
    if (block == NULL)
        return NULL;
    queue->first = block->next;
    if (queue->first == NULL)
        queue->end = &queue->first;
    return block;
}

static void block_free(struct block *block)
{
    free(block->marks);
    free(block);
}

/* ---- the thread ---- */

static int write_some(int descriptor, const uint8_t *bytes, size_t count, size_t *written)
{
    thread_may_be_cancelled();
    ssize_t result = write(descriptor, bytes, count);
    int error = result < 0 ? errno : 0;
    if (error == EAGAIN) /* somebody made our terminal or pipe a non-blocking one */
        poll(&(struct pollfd){.fd = descriptor, .events = POLLOUT}, 1, -1);
    thread_must_not_be_cancelled();
    *written = result < 0 ? 0 : (size_t)result;
    return error == EAGAIN || error == EINTR ? 0 : error;
}

static int known_failure(const struct sink *sink, uint32_t target)
{
    for (size_t i = 0; i < sink->failure_count; i++)
        if (sink->failures[i].target == target)
            return sink->failures[i].error;
    return 0;
}

static void note_failure(struct sink *sink, uint32_t target, int error)
{
    size_t bytes = (sink->failure_count + 1) * sizeof *sink->failures;
    struct failure *failures = realloc(sink->failures, bytes);
    if (failures == NULL)
        abort();
    failures[sink->failure_count++] = (struct failure){.target = target, .error = error};
    sink->failures = failures;
}

/* Sets the block's error when its target fails now. */
static void write_block(struct sink *sink, struct block *block)
{
    if (block->used == 0 || known_failure(sink, block->target) != 0)
        return;
    int descriptor = (int)block->target, error = 0;
    if (sink->hooks.descriptor != NULL)
        descriptor = sink->hooks.descriptor(sink->hooks.owner, block->target);
    if (descriptor < 0)
        error = errno;
    for (size_t done = 0; error == 0 && done < block->used;) {
        size_t written;
        error = write_some(descriptor, block->bytes + done, block->used - done, &written);
        done += written;
    }
    if (error == 0)
        return;
    note_failure(sink, block->target, error);
    block->error = error;
}

static void *run(void *argument)
{
    struct sink *sink = argument;
    thread_must_not_be_cancelled();
    pthread_mutex_lock(&sink->lock);
    for (;;) {
        while (sink->waiting.first == NULL && !sink->over)
            pthread_cond_wait(&sink->more, &sink->lock);
        if (sink->over)
            break;
        struct block *block = sink->writing = queue_take(&sink->waiting);
        pthread_mutex_unlock(&sink->lock);
        write_block(sink, block);
        pthread_mutex_lock(&sink->lock);
        queue_add(&sink->finished, block);
        sink->writing = NULL;
        if (!sink->over)
            uv_async_send(&sink->wake);
    }
    pthread_mutex_unlock(&sink->lock);
    return NULL;
}

/* ---- the loop ---- */

static void on_closed(uv_handle_t *handle)
{
    struct sink *sink = handle->data;
    for (struct block *block; (block = queue_take(&sink->waiting)) != NULL;)
        block_free(block);
    for (struct block *block; (block = queue_take(&sink->finished)) != NULL;)
        block_free(block);
    if (sink->writing != NULL)
        block_free(sink->writing);
    pthread_cond_destroy(&sink->more);
    pthread_mutex_destroy(&sink->lock);
    free(sink->failures);
    free(sink);
}

static struct block *next_finished(struct sink *sink)
{
    pthread_mutex_lock(&sink->lock);
    struct block *block = queue_take(&sink->finished);
    pthread_mutex_unlock(&sink->lock);
    return block;
}

/* Tells of one block; a hook may close the sink. */
static void tell(struct sink *sink, struct block *block)
{
    sink->queued -= block->used;
    if (block->error != 0 && sink->hooks.failed != NULL)
        sink->hooks.failed(sink->hooks.owner, block->target, block->error);
    for (size_t i = 0; i < block->mark_count && !sink->closed; i++)
        if (sink->hooks.marked != NULL)
            sink->hooks.marked(sink->hooks.owner, block->marks[i].number, block->marks[i].count);
    if (!sink->closed && block->used > 0 && sink->queued == 0 && sink->hooks.drained != NULL)
        sink->hooks.drained(sink->hooks.owner);
    block_free(block);
}

static void on_wake(uv_async_t *wake)
{
    struct sink *sink = wake->data;
    for (struct block *block; !sink->closed && (block = next_finished(sink)) != NULL;)
        tell(sink, block);
}

int sink_open(uv_loop_t *loop, const struct sink_hooks *hooks, struct sink **result)
{
    struct sink *sink = calloc(1, sizeof *sink);
    if (sink == NULL)
        return ENOMEM;
    sink->hooks = *hooks;
    queue_init(&sink->waiting);
    queue_init(&sink->finished);
    pthread_mutex_init(&sink->lock, NULL);
    pthread_cond_init(&sink->more, NULL);
    sink->wake.data = sink;
    int error = -uv_async_init(loop, &sink->wake, on_wake);
    if (error != 0) {
        free(sink);
        return error;
    }
    error = thread_start(&sink->thread, run, sink);
    if (error != 0) {
        uv_close((uv_handle_t *)&sink->wake, on_closed);
        return error;
    }
    *result = sink;
    return 0;
}

void sink_close(struct sink *sink)
{
    if (sink == NULL)
        return;
    assert(!sink->closed);
    sink->closed = true;
    pthread_mutex_lock(&sink->lock);
    sink->over = true;
    bool is_writing = sink->writing != NULL;
    pthread_cond_signal(&sink->more);
    pthread_mutex_unlock(&sink->lock);
    if (thread_end(sink->thread, is_writing))
        uv_close((uv_handle_t *)&sink->wake, on_closed);
    else /* the thread may still look at all this */
        uv_close((uv_handle_t *)&sink->wake, NULL);
}

static struct block *block_new(struct sink *sink, uint32_t target, size_t room)
{
    struct block *block = malloc(sizeof *block + room);
    if (block == NULL)
        abort();
    memset(block, 0, sizeof *block);
    block->target = target;
    block->room = room;
    queue_add(&sink->waiting, block);
    return block;
}

/* Where targets take turns, nothing more will fit in: a block has no spare room then. */
static size_t room_for(const struct block *before, uint32_t target, size_t count)
{
    size_t room = count;
    if (before == NULL)
        room = BLOCK_SMALL;
    else if (before->target == target)
        room = BLOCK_LARGE;
    return room > count ? room : count;
}

/* The last block of the queue, or NULL. */
static struct block *last(const struct sink *sink)
{
    if (sink->waiting.first == NULL)
        return NULL;
    return (struct block *)((char *)sink->waiting.end - offsetof(struct block, next));
}

void sink_write(struct sink *sink, uint32_t target, const void *bytes, size_t count)
{
    if (count == 0)
        return;
    sink->queued += count;
    pthread_mutex_lock(&sink->lock);
    struct block *block = last(sink);
    if (block == NULL || block->target != target || block->room - block->used < count)
        block = block_new(sink, target, room_for(block, target, count));
    memcpy(block->bytes + block->used, bytes, count);
    block->used += count;
    pthread_cond_signal(&sink->more);
    pthread_mutex_unlock(&sink->lock);
}

static void add_mark(struct block *block, uint32_t number, uint64_t count)
{
    size_t looked = block->mark_count < MARKS_LOOKED_AT ? block->mark_count : MARKS_LOOKED_AT;
    for (size_t i = 1; i <= looked; i++) {
        struct mark *mark = &block->marks[block->mark_count - i];
        if (mark->number != number)
            continue;
        mark->count += count;
        return;
    }
    if (block->mark_count == block->mark_room) {
        block->mark_room = block->mark_room == 0 ? 4 : 2 * block->mark_room;
        block->marks = realloc(block->marks, block->mark_room * sizeof *block->marks);
        if (block->marks == NULL)
            abort();
    }
    block->marks[block->mark_count++] = (struct mark){.number = number, .count = count};
}

void sink_mark(struct sink *sink, uint32_t number, uint64_t count)
{
    if (count == 0)
        return;
    pthread_mutex_lock(&sink->lock);
    struct block *block = last(sink);
    if (block == NULL)
        block = block_new(sink, 0, 0);
    add_mark(block, number, count);
    pthread_cond_signal(&sink->more);
    pthread_mutex_unlock(&sink->lock);
}

size_t sink_queued(const struct sink *sink)
{
    return sink->queued;
}
