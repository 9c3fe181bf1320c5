#include "sim/node/replay.h"

#include "core/doors.h"
#include "sim/base/memory.h"
#include "sim/node/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { REPLAY_BYTES_MAX = 1 << 30 }; /* a file must not ask for all memory there is */

/* ---- a file ---- */

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

/* ---- one state of any door ---- */

union any_update {
    struct mu_update node;
    struct mu_detect_update ring;
    struct mu_agree_update agree;
    struct mu_allgather_update gather;
};

struct runner {
    size_t (*bytes)(const void *config);
    size_t (*effect_bytes)(const void *config); /* of all of one step */
    void *(*init)(void *memory, size_t bytes, const void *config, union any_update *update,
                  void *effects);
    uint32_t (*step)(void *state, const void *event, union any_update *update); /* effects */
};

#define RUNNER(name, state, config, event, update)                                                 \
    static size_t name##_bytes(const void *of)                                                     \
    {                                                                                              \
        return state##_bytes(of);                                                                  \
    }                                                                                              \
    static size_t name##_effect_bytes(const void *of)                                              \
    {                                                                                              \
        return state##_effects_max(of) * sizeof *((struct update *)NULL)->effects;                 \
    }                                                                                              \
    static void *name##_init(void *memory, size_t bytes, const void *of, union any_update *any,    \
                             void *effects)                                                        \
    {                                                                                              \
        any->name.effects = effects;                                                               \
        any->name.capacity = state##_effects_max(of);                                              \
        return state##_init(memory, bytes, of);                                                    \
    }                                                                                              \
    static uint32_t name##_step(void *at, const void *entered, union any_update *any)              \
    {                                                                                              \
        state##_step(at, entered, &any->name);                                                     \
        return any->name.count;                                                                    \
    }                                                                                              \
    static const struct runner name##_runner = {name##_bytes, name##_effect_bytes, name##_init,    \
                                                name##_step};

RUNNER(node, mu_node, mu_config, mu_event, mu_update)
RUNNER(ring, mu_detect, mu_detect_config, mu_detect_event, mu_detect_update)
RUNNER(agree, mu_agree, mu_agree_config, mu_agree_event, mu_agree_update)
RUNNER(gather, mu_allgather, mu_allgather_config, mu_allgather_event, mu_allgather_update)

static const struct runner *runner_of(enum mu_record_door door)
{
    switch (door) {
    case MU_RECORD_NODE:
        return &node_runner;
    case MU_RECORD_RING:
        return &ring_runner;
    case MU_RECORD_AGREE:
        return &agree_runner;
    case MU_RECORD_GATHER:
        return &gather_runner;
    }
    abort();
}

/* ---- running again ---- */

struct replay {
    const char *path;
    const struct runner *runner;
    struct mu_stream_reader reader;
    void *state;
    union any_update update;
    FILE *trace;
};

static void note_node(struct replay *replay, struct sim_replay_result *result)
{
    const struct mu_event *event = mu_stream_event(&replay->reader);
    mu_slot self = replay->reader.node.self;
    if (replay->trace != NULL)
        sim_trace_event(replay->trace, self, event);
    for (uint32_t i = 0; i < replay->update.node.count; i++) {
        const struct mu_effect *effect = &replay->update.node.effects[i];
        result->delivered += effect->type == MU_DO_DELIVER;
        if (replay->trace != NULL)
            sim_trace_effect(replay->trace, self, event->now_ns, effect);
    }
}

static void step(struct replay *replay, struct sim_replay_result *result)
{
    struct mu_stream_reader *reader = &replay->reader;
    const void *event = mu_stream_event(reader);
    result->effects += replay->runner->step(replay->state, event, &replay->update);
    mu_stream_digest(reader->door, reader->fields.words, event, &replay->update, &result->digest);
    result->events++;
    if (reader->door == MU_RECORD_NODE)
        note_node(replay, result);
    if (result->same && result->digest.a != reader->check) {
        result->same = false;
        result->differs = result->events;
    }
}

static void end(struct replay *replay, struct sim_replay_result *result)
{
    result->recorded = replay->reader.end.digest;
    if (result->digest.a != result->recorded.a || result->digest.b != result->recorded.b)
        result->same = false;
}

static void run(struct replay *replay, struct sim_replay_result *result)
{
    for (;;)
        switch (mu_stream_next(&replay->reader)) {
        case MU_STREAM_EVENT:
            step(replay, result);
            break;
        case MU_STREAM_END:
            end(replay, result);
            return;
        case MU_STREAM_GAP:
            result->end = SIM_REPLAY_GAP;
            return;
        case MU_STREAM_CUT:
            result->end = SIM_REPLAY_CUT;
            return;
        case MU_STREAM_BAD:
            snprintf(result->error, sizeof result->error, "%s: byte %zu: %s", replay->path,
                     replay->reader.at, replay->reader.text);
            return;
        }
}

static void replay_stream(struct replay *replay, struct sim_replay_result *result)
{
    const void *config = mu_stream_config(&replay->reader);
    replay->runner = runner_of(replay->reader.door);
    size_t bytes = replay->runner->bytes(config);
    size_t effects = replay->runner->effect_bytes(config);
    if (bytes + effects > REPLAY_BYTES_MAX) {
        snprintf(result->error, sizeof result->error,
                 "%s: its state needs %zu bytes, more than %d are not given", replay->path,
                 bytes + effects, REPLAY_BYTES_MAX);
        return;
    }
    void *memory = sim_map(bytes), *room = sim_calloc(1, effects);
    mu_stream_digest_start(replay->reader.door, config, &result->digest);
    replay->state = replay->runner->init(memory, bytes, config, &replay->update, room);
    run(replay, result);
    free(room);
    sim_unmap(memory, bytes);
}

void sim_replay(const char *path, FILE *trace, struct sim_replay_result *result)
{
    memset(result, 0, sizeof *result);
    size_t size;
    uint8_t *bytes = read_file(path, &size, result);
    if (bytes == NULL)
        return;
    struct replay replay = {.path = path, .trace = trace};
    result->same = true;
    if (mu_stream_open(&replay.reader, bytes, size)) {
        result->door = replay.reader.door;
        replay_stream(&replay, result);
    } else {
        fail(result, path, replay.reader.text);
    }
    mu_stream_close(&replay.reader);
    free(bytes);
}
