#include "sim/node/record.h"

#include "core/node.h"
#include "sim/base/memory.h"
#include "sim/node/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { REPLAY_BYTES_MAX = 1 << 30 }; /* a file must not ask for all memory there is */

/* ---- writing ---- */

static void write_out(struct sim_recorder *recorder, bool made)
{
    const struct mu_recording *piece = recorder->recording;
    if (!made || fwrite(piece->bytes, 1, piece->count, recorder->to) != piece->count)
        recorder->failed = true;
}

bool sim_record_start(struct sim_recorder *recorder, FILE *to, const struct mu_config *config)
{
    *recorder = (struct sim_recorder){.to = to, .node = config->self};
    recorder->recording = sim_calloc(1, sizeof *recorder->recording);
    write_out(recorder, mu_recording_start(recorder->recording, config));
    return !recorder->failed;
}

void sim_record_step(struct sim_recorder *recorder, mu_slot node, const struct mu_event *event,
                     const struct mu_update *update)
{
    if (node == recorder->node)
        write_out(recorder, mu_recording_step(recorder->recording, event, update));
}

bool sim_record_end(struct sim_recorder *recorder)
{
    write_out(recorder, mu_recording_end(recorder->recording));
    free(recorder->recording);
    recorder->recording = NULL;
    return !recorder->failed && fflush(recorder->to) == 0;
}

/* ---- running again ---- */

static void fail(struct sim_replay_result *result, const char *path, const char *why)
{
    snprintf(result->error, sizeof result->error, "%s: %s", path, why);
}

/* The whole file, of the caller to free; NULL with the error filled. */
static uint8_t *read_file(const char *path, size_t *size, struct sim_replay_result *result)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail(result, path, strerror(errno));
        return NULL;
    }
    uint8_t *bytes = NULL;
    size_t capacity = 0, got = 0;
    *size = 0;
    do {
        capacity = capacity == 0 ? 65536 : 2 * capacity;
        bytes = sim_realloc(bytes, capacity);
        got = fread(bytes + *size, 1, capacity - *size, file);
        *size += got;
    } while (*size == capacity);
    if (ferror(file) != 0) {
        fail(result, path, strerror(errno));
        free(bytes);
        bytes = NULL;
    }
    fclose(file);
    return bytes;
}

struct replay {
    const char *path;
    struct mu_node *node;
    struct mu_update update;
    FILE *trace;
};

static void replay_step(struct replay *replay, const struct mu_event *event,
                        struct sim_replay_result *result)
{
    mu_node_step(replay->node, event, &replay->update);
    mu_record_digest_step(&result->digest, event, &replay->update);
    result->events++;
    result->effects += replay->update.count;
    mu_slot self = replay->node->config.self;
    if (replay->trace != NULL)
        sim_trace_event(replay->trace, self, event);
    for (uint32_t i = 0; i < replay->update.count; i++) {
        const struct mu_effect *effect = &replay->update.effects[i];
        result->delivered += effect->type == MU_DO_DELIVER;
        if (replay->trace != NULL)
            sim_trace_effect(replay->trace, self, event->now_ns, effect);
    }
}

static void replay_records(struct replay *replay, const uint8_t *bytes, size_t size,
                           struct sim_replay_result *result)
{
    struct mu_record_state state = {0};
    size_t at = 0;
    char text[MU_WIRE_TEXT_MAX];
    for (;;) {
        struct mu_record record;
        size_t used = 0;
        struct mu_record_result decoded =
            mu_record_decode(&state, bytes + at, size - at, &record, &used);
        if (decoded.error != MU_RECORD_OK) {
            snprintf(result->error, sizeof result->error, "%s: byte %zu: %s", replay->path,
                     MU_RECORD_HEADER_BYTES + at, mu_record_text(decoded, text, sizeof text));
            return;
        }
        at += used;
        if (record.is_end) {
            result->recorded = record.end.digest;
            if (at != size)
                snprintf(result->error, sizeof result->error,
                         "%s: %zu bytes follow the end of the recording", replay->path, size - at);
            return;
        }
        replay_step(replay, &record.event, result);
    }
}

static void replay_bytes(struct replay *replay, const uint8_t *bytes, size_t size,
                         struct sim_replay_result *result)
{
    struct mu_config config;
    char text[MU_WIRE_TEXT_MAX];
    struct mu_record_result header = mu_record_decode_header(bytes, size, &config);
    if (header.error != MU_RECORD_OK) {
        fail(result, replay->path, mu_record_text(header, text, sizeof text));
        return;
    }
    size_t node_bytes = mu_node_bytes(&config);
    size_t update_bytes = mu_node_effects_max(&config) * sizeof *replay->update.effects;
    if (node_bytes + update_bytes > REPLAY_BYTES_MAX) {
        snprintf(result->error, sizeof result->error,
                 "%s: its node needs %zu bytes, more than %d are not given", replay->path,
                 node_bytes + update_bytes, REPLAY_BYTES_MAX);
        return;
    }
    mu_record_digest_start(&result->digest, &config);
    void *memory = sim_map(node_bytes);
    replay->node = mu_node_init(memory, node_bytes, &config);
    replay->update.capacity = mu_node_effects_max(&config);
    replay->update.effects = sim_calloc(replay->update.capacity, sizeof *replay->update.effects);
    replay_records(replay, bytes + MU_RECORD_HEADER_BYTES, size - MU_RECORD_HEADER_BYTES, result);
    free(replay->update.effects);
    sim_unmap(memory, node_bytes);
}

void sim_replay(const char *path, FILE *trace, struct sim_replay_result *result)
{
    memset(result, 0, sizeof *result);
    size_t size;
    uint8_t *bytes = read_file(path, &size, result);
    if (bytes == NULL)
        return;
    struct replay replay = {.path = path, .trace = trace};
    replay_bytes(&replay, bytes, size, result);
    free(bytes);
}
