#include "wire/record/stream.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAGIC_BYTES = sizeof MU_RECORD_MAGIC - 1,
    PREFIX_BYTES = MAGIC_BYTES + 2,
    CHECK_BYTES = 8,
    END_LENGTH = 25
};

static struct mu_fields digesting(struct mu_fingerprint *digest, uint32_t words)
{
    return (struct mu_fields){.digest = digest, .words = words};
}

/* ---- digests ---- */

void mu_stream_digest_start(enum mu_record_door door, const void *config,
                            struct mu_fingerprint *digest)
{
    const struct mu_record_codec *codec = mu_record_codec(door);
    if (codec == NULL) {
        mu_record_digest_start(digest, config);
        return;
    }
    mu_fingerprint_init(digest);
    struct mu_fields fields = digesting(digest, 0);
    codec->config(&fields, (void *)(uintptr_t)config);
}

void mu_stream_digest(enum mu_record_door door, uint32_t words, const void *event,
                      const void *update, struct mu_fingerprint *digest)
{
    const struct mu_record_codec *codec = mu_record_codec(door);
    if (codec == NULL) {
        mu_record_digest_step(digest, event, update);
        return;
    }
    struct mu_fields fields = digesting(digest, words);
    if (codec->has_time)
        mu_field_u64(&fields, codec->time((void *)(uintptr_t)event));
    codec->event(&fields, (void *)(uintptr_t)event);
    codec->update(&fields, update);
}

/* ---- writing ---- */

/* A writer with room for so many bytes; false: there is no memory, and the rest is a gap. */
static bool make_room(struct mu_stream *stream, size_t bytes, struct mu_writer *writer)
{
    if (stream->room - stream->count < bytes) {
        size_t room = 2 * (stream->count + bytes);
        uint8_t *larger = realloc(stream->bytes, room);
        if (larger == NULL) {
            stream->gap = true;
            return false;
        }
        stream->bytes = larger;
        stream->room = room;
    }
    mu_writer_init(writer, stream->bytes + stream->count, stream->room - stream->count);
    return true;
}

static void took(struct mu_stream *stream, const struct mu_writer *writer)
{
    assert(!writer->full);
    stream->count += writer->used;
}

static void write_header(struct mu_writer *writer, enum mu_record_door door, const void *config)
{
    struct mu_fields fields = {.writer = writer};
    mu_write_bytes(writer, MU_RECORD_MAGIC, MAGIC_BYTES);
    mu_write_u8(writer, MU_RECORD_VERSION);
    mu_write_u8(writer, (uint8_t)door);
    mu_record_codec(door)->config(&fields, (void *)(uintptr_t)config);
}

static void start_node(struct mu_stream *stream, const struct mu_config *config)
{
    struct mu_writer writer;
    if (!make_room(stream, MU_RECORD_HEADER_BYTES, &writer))
        return;
    struct mu_record_result result = mu_record_encode_header(&writer, config);
    assert(result.error == MU_RECORD_OK); /* the node runs with it */
    (void)result;
    took(stream, &writer);
}

void mu_stream_start(struct mu_stream *stream, enum mu_record_door door, const void *config)
{
    *stream = (struct mu_stream){.door = door};
    mu_stream_digest_start(door, config, &stream->digest);
    const struct mu_record_codec *codec = mu_record_codec(door);
    if (codec == NULL) {
        start_node(stream, config);
        return;
    }
    struct mu_fields sizes = {0};
    struct mu_writer writer;
    codec->measure(&sizes, config);
    stream->words = sizes.words;
    mu_writer_init(&writer, NULL, SIZE_MAX);
    write_header(&writer, door, config);
    if (!make_room(stream, writer.used, &writer))
        return;
    write_header(&writer, door, config);
    took(stream, &writer);
}

void mu_stream_free(struct mu_stream *stream)
{
    free(stream->bytes);
    stream->bytes = NULL;
    stream->count = stream->room = 0;
}

/* All that the length of a record counts. */
static void write_counted(struct mu_stream *stream, struct mu_writer *writer, const void *event)
{
    const struct mu_record_codec *codec = mu_record_codec(stream->door);
    struct mu_fields fields = {.writer = writer, .words = stream->words};
    mu_write_u8(writer, 1);
    if (codec->has_time)
        mu_write_varint(writer, *codec->time((void *)(uintptr_t)event) - stream->state.now_ns);
    codec->event(&fields, (void *)(uintptr_t)event);
}

static bool put_node(struct mu_stream *stream, const struct mu_event *event)
{
    struct mu_writer writer;
    if (!make_room(stream, MU_RECORD_MAX + CHECK_BYTES, &writer))
        return false;
    struct mu_record_result result = mu_record_encode_event(&stream->state, &writer, event);
    assert(result.error == MU_RECORD_OK); /* the core gets no event that cannot be recorded */
    (void)result;
    took(stream, &writer);
    return true;
}

static bool put_other(struct mu_stream *stream, const void *event)
{
    const struct mu_record_codec *codec = mu_record_codec(stream->door);
    struct mu_writer writer;
    mu_writer_init(&writer, NULL, SIZE_MAX);
    write_counted(stream, &writer, event);
    size_t bytes = writer.used;
    if (!make_room(stream, MU_VARINT_MAX + bytes + CHECK_BYTES, &writer))
        return false;
    mu_write_varint(&writer, bytes);
    write_counted(stream, &writer, event);
    took(stream, &writer);
    if (codec->has_time)
        stream->state.now_ns = *codec->time((void *)(uintptr_t)event);
    stream->state.events++;
    return true;
}

void mu_stream_put(struct mu_stream *stream, const void *event, const struct mu_fingerprint *digest)
{
    struct mu_writer writer;
    if (stream->gap)
        return;
    bool put = stream->door == MU_RECORD_NODE ? put_node(stream, event) : put_other(stream, event);
    stream->digest = *digest;
    if (!put || !make_room(stream, CHECK_BYTES, &writer))
        return;
    mu_write_u64(&writer, digest->a);
    took(stream, &writer);
}

void mu_stream_step(struct mu_stream *stream, const void *event, const void *update)
{
    struct mu_fingerprint digest = stream->digest;
    mu_stream_digest(stream->door, stream->words, event, update, &digest);
    mu_stream_put(stream, event, &digest);
}

void mu_stream_gap(struct mu_stream *stream)
{
    struct mu_writer writer;
    if (stream->gap)
        return;
    if (make_room(stream, 2, &writer)) {
        mu_write_varint(&writer, 1);
        mu_write_u8(&writer, MU_RECORD_GAP);
        took(stream, &writer);
    }
    stream->gap = true;
}

void mu_stream_end(struct mu_stream *stream)
{
    struct mu_writer writer;
    if (!stream->gap && make_room(stream, 1 + END_LENGTH, &writer) &&
        mu_record_encode_end(&stream->state, &writer, &stream->digest).error == MU_RECORD_OK)
        took(stream, &writer);
}

/* ---- reading ---- */

static bool refuse(struct mu_stream_reader *reader, const char *rule)
{
    snprintf(reader->text, sizeof reader->text, "%s", rule);
    return false;
}

static bool open_node(struct mu_stream_reader *reader)
{
    struct mu_record_result result =
        mu_record_decode_header(reader->bytes, reader->size, &reader->node);
    reader->at = MU_RECORD_HEADER_BYTES;
    if (result.error == MU_RECORD_OK)
        return true;
    mu_record_text(result, reader->text, sizeof reader->text);
    return false;
}

static bool open_other(struct mu_stream_reader *reader, const struct mu_record_codec *codec)
{
    struct mu_reader bytes;
    mu_reader_init(&bytes, reader->bytes + PREFIX_BYTES, reader->size - PREFIX_BYTES);
    struct mu_fields fields = {.reader = &bytes};
    codec->config(&fields, &reader->config);
    reader->header = (struct mu_fields){.lists = fields.lists};
    reader->at = reader->size - mu_reader_left(&bytes);
    const char *rule = bytes.bad ? "the configuration is cut off" : fields.rule;
    if (rule == NULL)
        rule = codec->config_error(&reader->config);
    if (rule != NULL)
        return refuse(reader, rule);
    codec->measure(&reader->fields, &reader->config);
    return true;
}

/* The prefix of every door is the same, and what is wrong with it record.c says. */
bool mu_stream_open(struct mu_stream_reader *reader, const uint8_t *bytes, size_t size)
{
    *reader = (struct mu_stream_reader){.bytes = bytes, .size = size};
    bool has_prefix = size >= PREFIX_BYTES && memcmp(bytes, MU_RECORD_MAGIC, MAGIC_BYTES) == 0 &&
                      bytes[MAGIC_BYTES] == MU_RECORD_VERSION;
    reader->door = has_prefix ? (enum mu_record_door)bytes[PREFIX_BYTES - 1] : MU_RECORD_NODE;
    const struct mu_record_codec *codec = mu_record_codec(reader->door);
    return codec == NULL ? open_node(reader) : open_other(reader, codec);
}

void mu_stream_close(struct mu_stream_reader *reader)
{
    mu_fields_free(&reader->header);
    mu_fields_free(&reader->fields);
}

static enum mu_stream_what bad(struct mu_stream_reader *reader, const char *rule)
{
    refuse(reader, rule);
    return MU_STREAM_BAD;
}

static enum mu_stream_what read_check(struct mu_stream_reader *reader, size_t at)
{
    struct mu_reader bytes;
    mu_reader_init(&bytes, reader->bytes + at, reader->size - at);
    reader->check = mu_read_u64(&bytes);
    if (bytes.bad)
        return MU_STREAM_CUT;
    reader->at = at + CHECK_BYTES;
    return MU_STREAM_EVENT;
}

static enum mu_stream_what read_end(struct mu_stream_reader *reader, size_t used)
{
    size_t more = reader->size - reader->at - used;
    if (more > 0) {
        snprintf(reader->text, sizeof reader->text, "%zu bytes follow the end of the recording",
                 more);
        return MU_STREAM_BAD;
    }
    reader->end = reader->record.end;
    return MU_STREAM_END;
}

/* Records of the node's door; and the END of all doors. */
static enum mu_stream_what read_node(struct mu_stream_reader *reader)
{
    size_t used = 0;
    struct mu_record_result result =
        mu_record_decode(&reader->state, reader->bytes + reader->at, reader->size - reader->at,
                         &reader->record, &used);
    if (result.error == MU_RECORD_TRUNCATED)
        return MU_STREAM_CUT;
    if (result.error != MU_RECORD_OK) {
        mu_record_text(result, reader->text, sizeof reader->text);
        return MU_STREAM_BAD;
    }
    return reader->record.is_end ? read_end(reader, used) : read_check(reader, reader->at + used);
}

static const char *check_time(const struct mu_stream_reader *reader, uint64_t delta_ns)
{
    uint64_t most = MU_NEVER / 2 - 1;
    if (delta_ns > most || reader->state.now_ns > most - delta_ns)
        return "the time of an event is beyond 2^63 ns";
    bool is_start = reader->event.ring.type == MU_DETECT_START;
    if (is_start != (reader->state.events == 0))
        return "START is the first event, and no other";
    return NULL;
}

/* The contents of one record, behind its type. */
static const char *read_counted(struct mu_stream_reader *reader, struct mu_reader *bytes)
{
    const struct mu_record_codec *codec = mu_record_codec(reader->door);
    struct mu_fields *fields = &reader->fields;
    uint64_t delta_ns = codec->has_time ? mu_read_varint(bytes) : 0;
    mu_fields_free(fields);
    fields->reader = bytes;
    fields->rule = NULL;
    memset(&reader->event, 0, sizeof reader->event);
    codec->event(fields, &reader->event);
    fields->reader = NULL;
    if (bytes->bad)
        return "a record ends inside a field, or a number is not in its shortest form";
    if (fields->rule != NULL)
        return fields->rule;
    if (mu_reader_left(bytes) > 0)
        return "something follows the last field of a record";
    const char *rule = codec->has_time ? check_time(reader, delta_ns) : NULL;
    if (rule == NULL && codec->has_time)
        *codec->time(&reader->event) = reader->state.now_ns += delta_ns;
    return rule;
}

static enum mu_stream_what read_other(struct mu_stream_reader *reader)
{
    struct mu_reader bytes;
    mu_reader_init(&bytes, reader->bytes + reader->at, reader->size - reader->at);
    uint64_t length = mu_read_varint(&bytes);
    const uint8_t *counted = mu_read_bytes(&bytes, length);
    if (counted == NULL)
        return bytes.ended ? MU_STREAM_CUT : bad(reader, "the length of a record is no number");
    size_t after = reader->size - mu_reader_left(&bytes);
    mu_reader_init(&bytes, counted, length);
    if (mu_read_u8(&bytes) != 1)
        return bad(reader, "a record has a type that there is not");
    const char *rule = read_counted(reader, &bytes);
    if (rule != NULL)
        return bad(reader, rule);
    reader->state.events++;
    return read_check(reader, after);
}

enum mu_stream_what mu_stream_next(struct mu_stream_reader *reader)
{
    const uint8_t *next = reader->bytes + reader->at;
    size_t left = reader->size - reader->at;
    if (left >= 2 && next[0] == 1 && next[1] == MU_RECORD_GAP)
        return MU_STREAM_GAP;
    bool is_end = left >= 2 && next[0] == END_LENGTH && next[1] == MU_RECORD_END;
    return reader->door == MU_RECORD_NODE || is_end ? read_node(reader) : read_other(reader);
}

const void *mu_stream_config(const struct mu_stream_reader *reader)
{
    return reader->door == MU_RECORD_NODE ? (const void *)&reader->node : &reader->config;
}

const void *mu_stream_event(const struct mu_stream_reader *reader)
{
    return reader->door == MU_RECORD_NODE ? (const void *)&reader->record.event : &reader->event;
}
