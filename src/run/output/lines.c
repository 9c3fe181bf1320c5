#define _GNU_SOURCE

#include "run/output/lines.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX

struct stream {
    uint8_t *bytes; /* held back; NULL when nothing is */
    size_t used, room;
    uint64_t since_ms;     /* what is held begins then */
    uint32_t older, newer; /* among those that hold something, by since_ms */
    bool ready;            /* holds a whole line, or its last: waits for a long line of another */
    bool ended;
};

struct lines {
    struct lines_config config;
    struct stream *streams;
    uint32_t oldest, newest;
    uint32_t ready;         /* streams that are */
    size_t held;            /* bytes */
    uint32_t open;          /* whose incomplete line stands at the end of the destination */
    uint32_t long_line;     /* whose line is passed on in pieces: others wait */
    uint64_t long_since_ms; /* its last piece */
};

struct lines *lines_open(const struct lines_config *config)
{
    assert(config->streams > 0 && config->streams < NOBODY && config->emit != NULL);
    struct lines *lines = calloc(1, sizeof *lines);
    struct stream *streams = calloc(config->streams, sizeof *streams);
    if (lines == NULL || streams == NULL) {
        free(lines);
        free(streams);
        return NULL;
    }
    lines->config = *config;
    lines->streams = streams;
    lines->oldest = lines->newest = lines->open = lines->long_line = NOBODY;
    return lines;
}

bool lines_more(struct lines *lines, uint32_t streams)
{
    assert(streams >= lines->config.streams && streams < NOBODY);
    struct stream *grown = realloc(lines->streams, streams * sizeof *grown);
    if (grown == NULL)
        return false;
    memset(grown + lines->config.streams, 0, (streams - lines->config.streams) * sizeof *grown);
    lines->streams = grown;
    lines->config.streams = streams;
    return true;
}

bool lines_again(struct lines *lines, uint32_t first, uint32_t count)
{
    assert(first + count <= lines->config.streams);
    if (lines->open - first < count || lines->long_line - first < count)
        return false;
    for (uint32_t i = first; i < first + count; i++)
        if (lines->streams[i].used > 0)
            return false;
    memset(lines->streams + first, 0, count * sizeof *lines->streams);
    return true;
}

void lines_close(struct lines *lines)
{
    if (lines == NULL)
        return;
    for (uint32_t i = lines->oldest; i != NOBODY; i = lines->streams[i].newer)
        free(lines->streams[i].bytes);
    free(lines->streams);
    free(lines);
}

/* ---- out ---- */

static void emit(struct lines *lines, uint32_t stream, const void *bytes, size_t count)
{
    lines->config.emit(lines->config.owner, stream, bytes, count);
}

/* The next byte of this stream stands where it should: behind its own, or on a new line. */
static void begin(struct lines *lines, uint32_t stream)
{
    if (lines->open == stream)
        return;
    if (lines->open != NOBODY)
        emit(lines, stream, "\n", 1);
    lines->open = NOBODY;
    if (lines->config.tag != NULL) {
        char tag[LINES_TAG_MAX];
        size_t length = lines->config.tag(lines->config.owner, stream, tag);
        assert(length <= LINES_TAG_MAX);
        emit(lines, stream, tag, length);
    }
}

/* One line or a part of one; without tags also several. */
static void write_part(struct lines *lines, uint32_t stream, const uint8_t *bytes, size_t count)
{
    begin(lines, stream);
    emit(lines, stream, bytes, count);
    lines->open = bytes[count - 1] == '\n' ? NOBODY : stream;
}

static void write_out(struct lines *lines, uint32_t stream, const uint8_t *bytes, size_t count)
{
    while (lines->config.tag != NULL && count > 0) {
        const uint8_t *newline = memchr(bytes, '\n', count);
        size_t part = newline == NULL ? count : (size_t)(newline - bytes) + 1;
        write_part(lines, stream, bytes, part);
        bytes += part;
        count -= part;
    }
    if (count > 0)
        write_part(lines, stream, bytes, count);
}

/* ---- what is held back ---- */

static void unlist(struct lines *lines, uint32_t index)
{
    struct stream *stream = &lines->streams[index];
    if (stream->older == NOBODY)
        lines->oldest = stream->newer;
    else
        lines->streams[stream->older].newer = stream->newer;
    if (stream->newer == NOBODY)
        lines->newest = stream->older;
    else
        lines->streams[stream->newer].older = stream->older;
}

static void list(struct lines *lines, uint32_t index, uint64_t now_ms)
{
    struct stream *stream = &lines->streams[index];
    stream->since_ms = now_ms;
    stream->older = lines->newest;
    stream->newer = NOBODY;
    if (lines->newest == NOBODY)
        lines->oldest = index;
    else
        lines->streams[lines->newest].newer = index;
    lines->newest = index;
}

static void set_ready(struct lines *lines, struct stream *stream, bool ready)
{
    lines->ready += ready;
    lines->ready -= stream->ready;
    stream->ready = ready;
}

/* False: no memory, and nothing has changed. */
static bool hold(struct lines *lines, uint32_t index, const uint8_t *bytes, size_t count,
                 uint64_t now_ms)
{
    struct stream *stream = &lines->streams[index];
    if (stream->used + count > stream->room) {
        size_t room =
            stream->room * 2 > stream->used + count ? stream->room * 2 : stream->used + count;
        uint8_t *larger = realloc(stream->bytes, room);
        if (larger == NULL)
            return false;
        stream->bytes = larger;
        stream->room = room;
    }
    if (stream->used == 0)
        list(lines, index, now_ms);
    memcpy(stream->bytes + stream->used, bytes, count);
    stream->used += count;
    lines->held += count;
    return true;
}

/* Emits the first 'count' bytes that a stream holds. */
static void let_go(struct lines *lines, uint32_t index, size_t count)
{
    struct stream *stream = &lines->streams[index];
    if (count == 0)
        return;
    write_out(lines, index, stream->bytes, count);
    lines->held -= count;
    stream->used -= count;
    memmove(stream->bytes, stream->bytes + count, stream->used);
    if (stream->used > 0)
        return;
    unlist(lines, index);
    free(stream->bytes);
    stream->bytes = NULL;
    stream->room = 0;
}

/* How many bytes up to the last newline, with it. */
static size_t whole_lines(const uint8_t *bytes, size_t count)
{
    const uint8_t *newline = count == 0 ? NULL : memrchr(bytes, '\n', count);
    return newline == NULL ? 0 : (size_t)(newline - bytes) + 1;
}

/* The long line is over, or broken: whoever waited goes on. */
static void end_long_line(struct lines *lines)
{
    lines->long_line = NOBODY;
    for (uint32_t i = lines->oldest, next; i != NOBODY && lines->ready > 0; i = next) {
        struct stream *stream = &lines->streams[i];
        next = stream->newer;
        if (!stream->ready)
            continue;
        set_ready(lines, stream, false);
        let_go(lines, i, stream->ended ? stream->used : whole_lines(stream->bytes, stream->used));
    }
}

/* Bytes without a newline, of a stream that nobody stands in the way of.  Returns how many are
 * held. */
static size_t put_part(struct lines *lines, uint32_t index, const uint8_t *bytes, size_t count,
                       size_t room, uint64_t now_ms)
{
    struct stream *stream = &lines->streams[index];
    if (count == 0)
        return 0;
    /* What has begun to show goes on at once. */
    if (lines->open == index && stream->used == 0) {
        write_out(lines, index, bytes, count);
        return 0;
    }
    if (stream->used + count <= lines->config.line_max && count <= room &&
        hold(lines, index, bytes, count, now_ms))
        return count;
    let_go(lines, index, stream->used);
    write_out(lines, index, bytes, count);
    lines->long_line = index;
    return 0;
}

size_t lines_put(struct lines *lines, uint32_t index, const uint8_t *bytes, size_t count,
                 size_t room, uint64_t now_ms)
{
    assert(index < lines->config.streams);
    struct stream *stream = &lines->streams[index];
    size_t whole = whole_lines(bytes, count);
    if (lines->long_line != NOBODY && lines->long_line != index) {
        if (count <= room && hold(lines, index, bytes, count, now_ms)) {
            set_ready(lines, stream, stream->ready || whole > 0);
            return count;
        }
        end_long_line(lines);
    }
    if (whole > 0) {
        let_go(lines, index, stream->used);
        write_out(lines, index, bytes, whole);
        if (lines->long_line == index)
            end_long_line(lines);
    }
    size_t held = put_part(lines, index, bytes + whole, count - whole, room, now_ms);
    if (lines->long_line == index)
        lines->long_since_ms = now_ms;
    return held;
}

void lines_end(struct lines *lines, uint32_t index)
{
    assert(index < lines->config.streams);
    struct stream *stream = &lines->streams[index];
    stream->ended = true;
    if (lines->long_line != NOBODY && lines->long_line != index) {
        if (stream->used > 0)
            set_ready(lines, stream, true);
        return;
    }
    let_go(lines, index, stream->used);
    if (lines->long_line == index)
        end_long_line(lines);
}

void lines_say(struct lines *lines, uint32_t stream, const char *text, size_t count)
{
    assert(count > 0 && text[count - 1] == '\n');
    if (lines->open != NOBODY)
        emit(lines, stream, "\n", 1);
    lines->open = NOBODY;
    emit(lines, stream, text, count);
}

size_t lines_held(const struct lines *lines)
{
    return lines->held;
}

uint64_t lines_due_ms(const struct lines *lines)
{
    if (lines->long_line != NOBODY)
        return lines->ready > 0 ? lines->long_since_ms + LINES_STALL_MS : LINES_NEVER;
    if (!lines->config.prompts || lines->oldest == NOBODY)
        return LINES_NEVER;
    return lines->streams[lines->oldest].since_ms + LINES_PROMPT_MS;
}

void lines_tick(struct lines *lines, uint64_t now_ms)
{
    if (lines->long_line != NOBODY && lines->ready > 0 &&
        now_ms >= lines->long_since_ms + LINES_STALL_MS)
        end_long_line(lines);
    if (lines->long_line != NOBODY || !lines->config.prompts)
        return;
    while (lines->oldest != NOBODY &&
           now_ms >= lines->streams[lines->oldest].since_ms + LINES_PROMPT_MS)
        let_go(lines, lines->oldest, lines->streams[lines->oldest].used);
}
