#define _GNU_SOURCE
#include "run/output/output.h"

#include "run/output/lines.h"
#include "run/output/files.h"
#include "run/output/sink.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK_HELD UINT32_MAX /* bytes that had been held back; other marks are sources */

static const size_t held_max = 64 * 1024 * 1024;

/* Standard output, standard error, or both when they are the same file. */
struct place {
    struct run_output *output;
    struct sink *sink;
    struct lines *lines;   /* NULL: as it comes */
    bool amid_line;        /* as it comes: the last byte was no newline */
    uv_timer_t timer;      /* for lines */
    uint32_t target_of[2]; /* descriptor by stream */
};

/* Ranks of a further job. */
struct part {
    uint32_t job, first, ranks;
    bool is_free; /* that job is over, and another one may have them */
};

struct run_output {
    struct run_output_config config;
    struct part *parts; /* in the order of 'first' */
    uint32_t part_count;
    struct place places[2];
    struct place *place_of[2]; /* of stream 1 and 2; the same, when they are the same file */
    struct sink *file_sink;
    struct run_files *files;
    size_t held; /* bytes whose credit was given back before they were written */
    uint32_t handles;
};

/* ---- from the sinks ---- */

static void on_marked(void *owner, uint32_t mark, uint64_t count)
{
    struct run_output *output = owner;
    if (mark == MARK_HELD)
        output->held -= count;
    else
        output->config.hooks.credit(output->config.hooks.owner, mark, count);
}

static void on_failed(void *owner, uint32_t target, int error)
{
    struct run_output *output = owner;
    output->config.hooks.failed(output->config.hooks.owner,
                                target == STDOUT_FILENO ? "standard output" : "standard error",
                                error);
}

static void on_file_failed(void *owner, uint32_t target, int error)
{
    struct run_output *output = owner;
    char path[PATH_MAX];
    run_files_path(output->files, target, path, sizeof path);
    output->config.hooks.failed(output->config.hooks.owner, path, error);
}

static int file_descriptor(void *owner, uint32_t target)
{
    struct run_output *output = owner;
    return run_files_descriptor(output->files, target);
}

static void on_drained(void *owner)
{
    struct run_output *output = owner;
    if (run_output_drained(output))
        output->config.hooks.drained(output->config.hooks.owner);
}

bool run_output_drained(const struct run_output *output)
{
    for (int i = 0; i < 2; i++) {
        const struct place *place = &output->places[i];
        if ((place->sink != NULL && sink_queued(place->sink) > 0) ||
            (place->lines != NULL && lines_held(place->lines) > 0))
            return false;
    }
    return output->file_sink == NULL || sink_queued(output->file_sink) == 0;
}

/* ---- lines ---- */

/* Streams of a place are numbered 2 * rank, and + 1 for standard error. */
static void on_emit(void *owner, uint32_t stream, const void *bytes, size_t count)
{
    struct place *place = owner;
    sink_write(place->sink, place->target_of[stream % 2], bytes, count);
}

/* NULL: of the first job. */
static const struct part *part_of(const struct run_output *output, uint32_t rank)
{
    const struct part *found = NULL;
    for (uint32_t i = 0; i < output->part_count && output->parts[i].first <= rank; i++)
        found = &output->parts[i];
    return found;
}

static size_t on_tag(void *owner, uint32_t stream, char text[LINES_TAG_MAX])
{
    const struct place *place = owner;
    const struct part *part = part_of(place->output, stream / 2);
    const char *end = stream % 2 == 0 ? "" : "!";
    uint32_t rank = stream / 2 - (part != NULL ? part->first : 0);
    int length = part == NULL ? snprintf(text, LINES_TAG_MAX, "[%u%s] ", rank, end)
                              : snprintf(text, LINES_TAG_MAX, "[%u.%u%s] ", part->job, rank, end);
    return (size_t)length;
}

static void on_timer(uv_timer_t *timer);

static void set_timer(struct place *place)
{
    uint64_t due_ms = lines_due_ms(place->lines), now_ms = uv_now(place->output->config.loop);
    if (due_ms == LINES_NEVER)
        uv_timer_stop(&place->timer);
    else
        uv_timer_start(&place->timer, on_timer, due_ms > now_ms ? due_ms - now_ms : 0, 0);
}

/* So much less is held back than before: it is on its way to be written. */
static void release(struct place *place, size_t before)
{
    sink_mark(place->sink, MARK_HELD, before - lines_held(place->lines));
    set_timer(place);
}

static void on_timer(uv_timer_t *timer)
{
    struct place *place = timer->data;
    size_t before = lines_held(place->lines);
    lines_tick(place->lines, uv_now(place->output->config.loop));
    release(place, before);
}

static void put_lines(struct place *place, uint32_t stream, uint32_t source, const uint8_t *bytes,
                      uint32_t count)
{
    struct run_output *output = place->output;
    size_t before = lines_held(place->lines);
    size_t room = output->held < held_max ? held_max - output->held : 0;
    size_t held = lines_put(place->lines, stream, bytes, count, room, uv_now(output->config.loop));
    output->held += held;
    sink_mark(place->sink, source, count - held);
    release(place, before + held);
    if (held > 0)
        output->config.hooks.credit(output->config.hooks.owner, source, held);
}

/* ---- in ---- */

void run_output_put(struct run_output *output, uint32_t rank, uint32_t source, uint8_t stream,
                    const uint8_t *bytes, uint32_t count)
{
    uint32_t target = 2 * rank + stream - 1;
    struct place *place = output->place_of[stream - 1];
    if (count == 0)
        return;
    if (output->file_sink != NULL) {
        sink_write(output->file_sink, target, bytes, count);
        sink_mark(output->file_sink, source, count);
    } else if (place->lines != NULL) {
        put_lines(place, target, source, bytes, count);
    } else {
        sink_write(place->sink, place->target_of[stream - 1], bytes, count);
        sink_mark(place->sink, source, count);
        place->amid_line = bytes[count - 1] != '\n';
    }
}

void run_output_end(struct run_output *output, uint32_t rank, uint8_t stream)
{
    struct place *place = output->place_of[stream - 1];
    if (output->file_sink != NULL || place->lines == NULL)
        return;
    size_t before = lines_held(place->lines);
    lines_end(place->lines, 2 * rank + stream - 1);
    release(place, before);
}

void run_output_say(struct run_output *output, const char *format, ...)
{
    struct place *place = output->place_of[1];
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int count = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (count < 0)
        abort();
    assert(count > 0 && text[count - 1] == '\n');
    if (place->lines != NULL) {
        lines_say(place->lines, 1, text, (size_t)count);
    } else {
        if (place->amid_line)
            sink_write(place->sink, place->target_of[1], "\n", 1);
        place->amid_line = false;
        sink_write(place->sink, place->target_of[1], text, (size_t)count);
    }
    free(text);
}

/* ---- beginning and end ---- */

static bool same_file(int one, int other)
{
    struct stat a, b;
    return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino && a.st_rdev == b.st_rdev;
}

static int open_lines(struct run_output *output, struct place *place)
{
    bool is_terminal = isatty(place == &output->places[0] ? STDOUT_FILENO : STDERR_FILENO) == 1;
    const struct lines_config config = {.streams = 2 * output->config.ranks,
                                        .line_max = LINES_LINE_MAX,
                                        .prompts = is_terminal,
                                        .owner = place,
                                        .tag = output->config.tags ? on_tag : NULL,
                                        .emit = on_emit};
    place->lines = lines_open(&config);
    if (place->lines == NULL)
        return ENOMEM;
    uv_timer_init(output->config.loop, &place->timer);
    place->timer.data = place;
    output->handles++;
    return 0;
}

static int open_place(struct run_output *output, struct place *place, bool lines)
{
    const struct sink_hooks hooks = {
        .owner = output, .marked = on_marked, .failed = on_failed, .drained = on_drained};
    place->output = output;
    place->target_of[0] = STDOUT_FILENO;
    place->target_of[1] = STDERR_FILENO;
    int error = sink_open(output->config.loop, &hooks, &place->sink);
    return error != 0 || !lines ? error : open_lines(output, place);
}

static int open_places(struct run_output *output)
{
    bool lines = output->config.folder == NULL && (output->config.ranks > 1 || output->config.tags);
    int error = open_place(output, &output->places[0], lines);
    output->place_of[0] = output->place_of[1] = &output->places[0];
    if (error != 0 || same_file(STDOUT_FILENO, STDERR_FILENO))
        return error;
    output->place_of[1] = &output->places[1];
    return open_place(output, &output->places[1], lines);
}

static int open_file_sink(struct run_output *output)
{
    const struct sink_hooks hooks = {.owner = output,
                                     .descriptor = file_descriptor,
                                     .marked = on_marked,
                                     .failed = on_file_failed,
                                     .drained = on_drained};
    return sink_open(output->config.loop, &hooks, &output->file_sink);
}

/* Again for another job, so that a run which spawns for ever does not grow for ever. */
static bool take_again(struct run_output *output, struct part *part, uint32_t job, uint32_t ranks)
{
    if (!part->is_free || part->ranks < ranks)
        return false;
    for (int i = 0; i < 2; i++) {
        struct lines *lines = output->places[i].lines;
        if (lines != NULL && !lines_again(lines, 2 * part->first, 2 * part->ranks))
            return false; /* what is empty is the same when it begins again once more */
    }
    part->job = job;
    part->is_free = false;
    return true;
}

/* One rank alone is written as it comes; two must not mix their lines. */
static bool widen(struct run_output *output)
{
    for (int i = 0; i < 2; i++) {
        struct place *place = &output->places[i];
        if (place->sink == NULL)
            continue;
        bool good = place->lines != NULL ? lines_more(place->lines, 2 * output->config.ranks)
                                         : open_lines(output, place) == 0;
        if (!good)
            return false;
    }
    return true;
}

uint32_t run_output_more(struct run_output *output, uint32_t job, uint32_t ranks)
{
    for (uint32_t i = 0; i < output->part_count; i++)
        if (take_again(output, &output->parts[i], job, ranks))
            return output->parts[i].first;
    struct part *parts =
        realloc(output->parts, (output->part_count + (size_t)1) * sizeof *output->parts);
    if (parts == NULL)
        abort();
    uint32_t first = output->config.ranks;
    output->parts = parts;
    parts[output->part_count++] = (struct part){.job = job, .first = first, .ranks = ranks};
    output->config.ranks += ranks;
    if (!widen(output))
        abort();
    return first;
}

void run_output_less(struct run_output *output, uint32_t first)
{
    for (uint32_t i = 0; i < output->part_count; i++)
        output->parts[i].is_free = output->parts[i].is_free || output->parts[i].first == first;
}

struct run_output *run_output_open(const struct run_output_config *config, char *text, size_t room)
{
    struct run_output *output = calloc(1, sizeof *output);
    if (output == NULL) {
        snprintf(text, room, "no memory");
        return NULL;
    }
    output->config = *config;
    if (config->folder != NULL) {
        output->files = run_files_open(config->folder, config->ranks, text, room);
        if (output->files == NULL) {
            free(output);
            return NULL;
        }
    }
    int error = open_places(output);
    if (error == 0 && config->folder != NULL)
        error = open_file_sink(output);
    if (error == 0)
        return output;
    snprintf(text, room, "output cannot be prepared: %s", strerror(error));
    run_output_close(output);
    return NULL;
}

static void free_output(struct run_output *output)
{
    run_files_close(output->files);
    free(output->parts);
    lines_close(output->places[0].lines);
    lines_close(output->places[1].lines);
    free(output);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct place *place = handle->data;
    if (--place->output->handles == 0)
        free_output(place->output);
}

void run_output_close(struct run_output *output)
{
    if (output == NULL)
        return;
    sink_close(output->file_sink);
    for (int i = 0; i < 2; i++)
        sink_close(output->places[i].sink);
    if (output->handles == 0) {
        free_output(output);
        return;
    }
    for (int i = 0; i < 2; i++)
        if (output->places[i].lines != NULL)
            uv_close((uv_handle_t *)&output->places[i].timer, on_timer_closed);
}
