/* Whole lines out of many streams, for one destination: lines of two streams are never mixed.
 *
 * Pure: bytes and times in, bytes out.  A line that has not ended is held back until it has.
 * Three exceptions:
 *
 * - A line over 'line_max', or one for which the caller has no room, is passed on in pieces, and
 *   nothing of other streams comes in between: they are held back.  When its stream says nothing
 *   for LINES_STALL_MS while others wait, or there is no room to let them wait, the line is broken:
 *   a newline is put in.
 * - With 'prompts' a line that stays incomplete for LINES_PROMPT_MS is shown as far as it goes.  A
 *   line of another stream then begins on a line of its own: a newline is put in.
 * - What a stream wrote last without a newline is passed on at its end as it is; the newline is put
 *   in when something else follows. */
#ifndef MU_RUN_OUTPUT_LINES_H
#define MU_RUN_OUTPUT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LINES_LINE_MAX = 1024 * 1024,
    LINES_PROMPT_MS = 100,
    LINES_STALL_MS = 1000,
    LINES_TAG_MAX = 32,
};

#define LINES_NEVER UINT64_MAX

struct lines;

struct lines_config {
    uint32_t streams; /* numbered from 0 */
    size_t line_max;
    bool prompts;
    void *owner;
    /* What each line of a stream begins with; returns its length.  NULL: nothing. */
    size_t (*tag)(void *owner, uint32_t stream, char text[LINES_TAG_MAX]);
    /* Goes to the destination next.  Tags and newlines that are put in come this way, too. */
    void (*emit)(void *owner, uint32_t stream, const void *bytes, size_t count);
};

/* NULL: no memory. */
struct lines *lines_open(const struct lines_config *config);
void lines_close(struct lines *lines);

/* So many streams from now on, no less than before.  False: no memory, and nothing has changed. */
bool lines_more(struct lines *lines, uint32_t streams);

/* These streams have ended, and begin again for somebody else.  False: something of them is held
 * back, or the last line that shows is one of theirs without its end; and nothing has changed. */
bool lines_again(struct lines *lines, uint32_t first, uint32_t count);

/* Bytes of a stream.  At most 'room' of them are held back: how many, is returned.  The others, and
 * mostly what was held of this stream before, have been emitted; lines_held() tells. */
size_t lines_put(struct lines *lines, uint32_t stream, const uint8_t *bytes, size_t count,
                 size_t room, uint64_t now_ms);

/* The stream has ended; nothing of it stays held back, unless it waits for a long line. */
void lines_end(struct lines *lines, uint32_t stream);

/* Words of the launcher itself, whole lines: at once, and on lines of their own.  'stream' is only
 * passed on to 'emit'. */
void lines_say(struct lines *lines, uint32_t stream, const char *text, size_t count);

/* Bytes that are held back, of all streams. */
size_t lines_held(const struct lines *lines);

/* When lines_tick() has something to do, as far as is known now. */
uint64_t lines_due_ms(const struct lines *lines);
void lines_tick(struct lines *lines, uint64_t now_ms);

#endif
