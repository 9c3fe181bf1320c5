#include "wire/launch/launch.h"

#include "core/base/arena.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RUN_BYTES = 4 + 4,             /* slot, count */
    PROGRAM_BYTES = 4 + 1 + 4 + 4, /* count, directory, both lists: the shortest */
    SIGNAL_MAX = 64,
};

__attribute__((format(printf, 2, 3))) static const char *say(char *text, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(text, MU_WIRE_TEXT_MAX, format, values);
    va_end(values);
    return text;
}

/* ---- rules: the same for what comes in and what goes out ---- */

static const char *rank_error(uint32_t rank, char *text)
{
    if (rank < MU_LAUNCH_RANKS_MAX)
        return NULL;
    return say(text, "rank %" PRIu32 " is not below %d", rank, MU_LAUNCH_RANKS_MAX);
}

static const char *slot_error(mu_slot slot, char *text)
{
    if (slot < MU_SIZE_MAX)
        return NULL;
    return say(text, "slot %" PRIu32 " is not below %u", slot, MU_SIZE_MAX);
}

/* One row of ranks after the other, without a gap.  'what' is a run or a program. */
static const char *row_error(const char *what, uint32_t first, uint32_t count, uint64_t *next,
                             uint32_t size, char *text)
{
    if (first != *next)
        return say(text, "a %s begins with rank %" PRIu32 ", not with %" PRIu64, what, first,
                   *next);
    if (count == 0)
        return say(text, "the %s at rank %" PRIu32 " has no ranks", what, first);
    *next += count;
    if (*next > size)
        return say(text, "the %s at rank %" PRIu32 " ends after the job's %" PRIu32 " ranks", what,
                   first, size);
    return NULL;
}

static const char *rows_end_error(const char *what, uint64_t covered, uint32_t size, char *text)
{
    if (covered == size)
        return NULL;
    return say(text, "the %s have %" PRIu64 " of the job's %" PRIu32 " ranks", what, covered, size);
}

static const char *runs_error(const struct mu_launch_job *spec, char *text)
{
    uint64_t next = 0;
    for (uint32_t i = 0; i < spec->run_count; i++) {
        const struct mu_launch_run *run = &spec->runs[i];
        const char *error = slot_error(run->slot, text);
        if (error == NULL)
            error = row_error("run", run->first, run->count, &next, spec->size, text);
        if (error != NULL)
            return error;
    }
    return rows_end_error("runs", next, spec->size, text);
}

static const char *programs_error(const struct mu_launch_job *spec, char *text)
{
    uint64_t next = 0;
    if (spec->program_count < 1 || spec->program_count > MU_LAUNCH_PROGRAMS_MAX)
        return say(text, "%" PRIu32 " programs are not between 1 and %d", spec->program_count,
                   MU_LAUNCH_PROGRAMS_MAX);
    for (uint32_t i = 0; i < spec->program_count; i++) {
        const struct mu_launch_program *program = &spec->programs[i];
        const char *error =
            row_error("program", program->first, program->count, &next, spec->size, text);
        if (error != NULL)
            return error;
        if (program->argv[0] == NULL)
            return say(text, "the program at rank %" PRIu32 " has no name", program->first);
    }
    return rows_end_error("programs", next, spec->size, text);
}

static const char *parent_error(const struct mu_launch_parent *parent, char *text)
{
    bool none = parent->root == 0;
    if (none != (parent->job == 0) || (none && parent->rank != 0))
        return say(text,
                   "job %" PRIu32 " and rank %" PRIu32
                   " cannot be the parent in the run of %" PRIu32,
                   parent->job, parent->rank, parent->root);
    return rank_error(parent->rank, text);
}

static const char *job_error(const struct mu_launch_job *spec, char *text)
{
    if (spec->size < 1 || spec->size > MU_LAUNCH_RANKS_MAX)
        return say(text, "a job of %" PRIu32 " ranks is not between 1 and %d", spec->size,
                   MU_LAUNCH_RANKS_MAX);
    if (spec->input_rank != MU_RANK_NONE && spec->input_rank >= spec->size)
        return say(text,
                   "rank %" PRIu32 ", for standard input, is not below the job's size %" PRIu32,
                   spec->input_rank, spec->size);
    if (spec->binding >= MU_LAUNCH_BINDINGS)
        return say(text, "binding %u is not between 0 and %d", spec->binding,
                   MU_LAUNCH_BINDINGS - 1);
    const char *error = runs_error(spec, text);
    if (error == NULL)
        error = parent_error(&spec->parent, text);
    return error != NULL ? error : programs_error(spec, text);
}

static const char *data_error(const struct mu_launch_message *message, char *text)
{
    bool is_input = message->type == MU_LAUNCH_INPUT;
    uint8_t stream = message->data.stream;
    uint32_t count = message->data.count;
    if (is_input ? stream != 0 : stream != 1 && stream != 2)
        return say(text, "stream %u is wrong: it is 0 for input, 1 or 2 for output", stream);
    if (count > MU_LAUNCH_CHUNK_MAX)
        return say(text, "%" PRIu32 " bytes in one message are over %d", count,
                   MU_LAUNCH_CHUNK_MAX);
    if (message->type == MU_LAUNCH_OUTPUT && count == 0)
        return say(text, "an OUTPUT without bytes");
    if (message->type == MU_LAUNCH_OUTPUT_END && count != 0)
        return say(text, "an OUTPUT_END with %" PRIu32 " bytes", count);
    return rank_error(message->data.rank, text);
}

static const char *ended_error(const struct mu_launch_message *message, char *text)
{
    const struct mu_evidence *evidence = &message->ended.evidence;
    const char *rule = mu_evidence_error(evidence);
    if (rule != NULL)
        return say(text, "%s", rule);
    if (evidence->verdict != MU_VERDICT_DEAD && evidence->verdict != MU_VERDICT_LEFT)
        return say(text, "verdict %u of a process that ended is neither dead nor left",
                   evidence->verdict);
    if (evidence->cause != MU_CAUSE_EXIT)
        return say(text, "cause %u of a process that ended is not %d", evidence->cause,
                   MU_CAUSE_EXIT);
    return rank_error(message->ended.rank, text);
}

static const char *told_error(const struct mu_launch_message *message, char *text)
{
    const char *rule = mu_evidence_error(&message->told.evidence);
    if (rule != NULL)
        return say(text, "%s", rule);
    if (message->told.is_node && message->told.rank != 0)
        return say(text, "rank %" PRIu32 " of a node is not 0", message->told.rank);
    const char *error = slot_error(message->told.node, text);
    return error != NULL ? error : rank_error(message->told.rank, text);
}

/* 'what' is a refusal or a binding. */
static const char *words_error(const char *what, const char *words, int most, char *text)
{
    size_t length = strlen(words);
    if (length < 1 || length > (size_t)most)
        return say(text, "length %zu of a %s is not between 1 and %d", length, what, most);
    for (const char *at = words; *at != '\0'; at++)
        if (*at < 0x20 || *at > 0x7e)
            return say(text, "byte %u in a %s is not printable ASCII", (uint8_t)*at, what);
    return NULL;
}

static const char *bound_error(const struct mu_launch_message *message, char *text)
{
    const char *error = rank_error(message->bound.rank, text);
    return error != NULL ? error
                         : words_error("binding", message->bound.text, MU_LAUNCH_BOUND_MAX, text);
}

static const char *spawn_error(const struct mu_launch_message *message, char *text)
{
    const struct mu_launch_job *spec = &message->spawn.spec;
    if (spec->size < 1 || spec->size > MU_LAUNCH_RANKS_MAX)
        return say(text, "a job of %" PRIu32 " ranks is not between 1 and %d", spec->size,
                   MU_LAUNCH_RANKS_MAX);
    const char *error = rank_error(message->spawn.rank, text);
    return error != NULL ? error : programs_error(spec, text);
}

static const char *spawned_error(const struct mu_launch_message *message, char *text)
{
    const char *reason = message->spawned.text;
    if (message->spawned.job == 0)
        return words_error("refusal", reason, MU_LAUNCH_TEXT_MAX, text);
    return reason[0] == '\0'
               ? NULL
               : say(text, "job %" PRIu32 " with a reason why it is none", message->spawned.job);
}

static const char *reach_error(const struct mu_launch_message *message, char *text)
{
    const struct mu_launch_reach *reach = &message->reach;
    bool is_reach = message->type == MU_LAUNCH_REACH, is_heard = reach->reach == MU_LAUNCH_HEARD;
    if (is_reach ? reach->reach < MU_LAUNCH_TRYING || reach->reach > MU_LAUNCH_CHOSE
                 : reach->reach != 0)
        return say(text, "reach %u is wrong in a message of type %u", reach->reach, message->type);
    if (reach->clock_ns != 0 && !is_heard && message->type != MU_LAUNCH_PONG)
        return say(text, "a clock in a message of type %u, of nobody who answered", message->type);
    return slot_error(reach->other, text);
}

const char *mu_launch_error(const struct mu_launch_message *message, char *text)
{
    switch ((enum mu_launch_type)message->type) {
    case MU_LAUNCH_JOB:
        return job_error(&message->spec, text);
    case MU_LAUNCH_SIGNAL:
        if (message->signal.number >= 1 && message->signal.number <= SIGNAL_MAX)
            return NULL;
        return say(text, "signal %u is not between 1 and %d", message->signal.number, SIGNAL_MAX);
    case MU_LAUNCH_STOP:
    case MU_LAUNCH_OVER:
    case MU_LAUNCH_READY:
    case MU_LAUNCH_CREDIT:
    case MU_LAUNCH_INPUT_CREDIT:
        return NULL;
    case MU_LAUNCH_INPUT:
    case MU_LAUNCH_OUTPUT:
    case MU_LAUNCH_OUTPUT_END:
        return data_error(message, text);
    case MU_LAUNCH_STARTED:
        if (message->started.pid == 0)
            return say(text, "process id 0 of rank %" PRIu32, message->started.rank);
        return rank_error(message->started.rank, text);
    case MU_LAUNCH_ENDED:
        return ended_error(message, text);
    case MU_LAUNCH_TOLD:
        return told_error(message, text);
    case MU_LAUNCH_REFUSED:
        return words_error("refusal", message->refused.text, MU_LAUNCH_TEXT_MAX, text);
    case MU_LAUNCH_BOUND:
        return bound_error(message, text);
    case MU_LAUNCH_SPAWN:
        return spawn_error(message, text);
    case MU_LAUNCH_SPAWNED:
        return spawned_error(message, text);
    case MU_LAUNCH_ASK:
    case MU_LAUNCH_PING:
    case MU_LAUNCH_PONG:
    case MU_LAUNCH_REACH:
        return reach_error(message, text);
    }
    return say(text, "message type %u is none of a launcher or a daemon", message->type);
}

/* ---- out ---- */

static void write_string(struct mu_writer *writer, const char *string)
{
    mu_write_bytes(writer, string, strlen(string) + 1);
}

static void write_list(struct mu_writer *writer, const char *const *list)
{
    uint32_t count = 0;
    while (list[count] != NULL)
        count++;
    mu_write_u32(writer, count);
    for (uint32_t i = 0; i < count; i++)
        write_string(writer, list[i]);
}

static void write_programs(struct mu_writer *writer, const struct mu_launch_job *spec)
{
    mu_write_u32(writer, spec->program_count);
    for (uint32_t i = 0; i < spec->program_count; i++) {
        mu_write_u32(writer, spec->programs[i].count);
        write_string(writer, spec->programs[i].directory);
        write_list(writer, spec->programs[i].argv);
        write_list(writer, spec->programs[i].envp);
    }
}

static void write_job(struct mu_writer *writer, const struct mu_launch_job *spec)
{
    mu_write_u32(writer, spec->size);
    mu_write_u8(writer, spec->ignore_sigpipe);
    mu_write_u8(writer, spec->binding);
    mu_write_u8(writer, spec->report_bindings);
    mu_write_u8(writer, spec->pmi);
    mu_write_u32(writer, spec->input_rank);
    mu_write_u64(writer, spec->credit);
    mu_write_u32(writer, spec->run_count);
    for (uint32_t i = 0; i < spec->run_count; i++) {
        mu_write_u32(writer, spec->runs[i].slot);
        mu_write_u32(writer, spec->runs[i].count);
    }
    write_programs(writer, spec);
    write_list(writer, spec->envp);
    mu_write_u32(writer, spec->parent.root);
    mu_write_u32(writer, spec->parent.job);
    mu_write_u32(writer, spec->parent.rank);
}

static void write_data(struct mu_writer *writer, const struct mu_launch_message *message)
{
    uint32_t count = message->data.count;
    mu_write_u32(writer, message->data.rank);
    mu_write_u8(writer, message->data.stream);
    bool in_place = writer->bytes != NULL && message->data.bytes == writer->bytes + writer->used;
    if (in_place && !writer->full && count <= writer->capacity - writer->used)
        writer->used += count;
    else
        mu_write_bytes(writer, message->data.bytes, count);
}

static void write_told(struct mu_writer *writer, const struct mu_launch_message *message)
{
    mu_write_u8(writer, message->told.is_node);
    mu_write_u32(writer, message->told.rank);
    mu_write_u32(writer, message->told.node);
    mu_write_u16(writer, message->told.hops);
    mu_write_u64(writer, message->told.age_ns);
    mu_write_evidence(writer, &message->told.evidence);
}

static void write_reach(struct mu_writer *writer, const struct mu_launch_reach *reach)
{
    mu_write_u32(writer, reach->other);
    mu_write_u64(writer, reach->nonce);
    mu_write_u64(writer, reach->stamp_ns);
    mu_write_u64(writer, reach->clock_ns);
    mu_write_u8(writer, reach->reach);
}

static void write_body(struct mu_writer *writer, const struct mu_launch_message *message)
{
    switch ((enum mu_launch_type)message->type) {
    case MU_LAUNCH_JOB:
        write_job(writer, &message->spec);
        return;
    case MU_LAUNCH_SIGNAL:
        mu_write_u8(writer, message->signal.number);
        return;
    case MU_LAUNCH_STOP:
        mu_write_u32(writer, message->stop.grace_ms);
        return;
    case MU_LAUNCH_OVER:
    case MU_LAUNCH_READY:
        return;
    case MU_LAUNCH_CREDIT:
    case MU_LAUNCH_INPUT_CREDIT:
        mu_write_u64(writer, message->credit.bytes);
        return;
    case MU_LAUNCH_INPUT:
    case MU_LAUNCH_OUTPUT:
    case MU_LAUNCH_OUTPUT_END:
        write_data(writer, message);
        return;
    case MU_LAUNCH_STARTED:
        mu_write_u32(writer, message->started.rank);
        mu_write_u32(writer, message->started.pid);
        return;
    case MU_LAUNCH_ENDED:
        mu_write_u32(writer, message->ended.rank);
        mu_write_evidence(writer, &message->ended.evidence);
        return;
    case MU_LAUNCH_TOLD:
        write_told(writer, message);
        return;
    case MU_LAUNCH_REFUSED:
        write_string(writer, message->refused.text);
        return;
    case MU_LAUNCH_BOUND:
        mu_write_u32(writer, message->bound.rank);
        write_string(writer, message->bound.text);
        return;
    case MU_LAUNCH_SPAWN:
        mu_write_u32(writer, message->spawn.number);
        mu_write_u32(writer, message->spawn.rank);
        mu_write_u32(writer, message->spawn.spec.size);
        write_programs(writer, &message->spawn.spec);
        return;
    case MU_LAUNCH_SPAWNED:
        mu_write_u32(writer, message->spawned.number);
        mu_write_u32(writer, message->spawned.job);
        write_string(writer, message->spawned.text);
        return;
    case MU_LAUNCH_ASK:
    case MU_LAUNCH_PING:
    case MU_LAUNCH_PONG:
    case MU_LAUNCH_REACH:
        write_reach(writer, &message->reach);
        return;
    }
    abort();
}

void mu_launch_encode(struct mu_writer *writer, const struct mu_launch_message *message)
{
    char text[MU_WIRE_TEXT_MAX];
    assert(mu_launch_error(message, text) == NULL);
    mu_write_u8(writer, MU_LAUNCH_VERSION);
    mu_write_u8(writer, message->type);
    mu_write_u32(writer, message->job);
    write_body(writer, message);
}

/* ---- in ---- */

/* Lists are laid out twice with the same code, once only to measure, as the core's arena is. */
struct decoder {
    struct mu_reader in;
    struct mu_arena lists;
    char *text;
    bool failed; /* text says why; else, when 'in' is bad, the bytes ended */
};

#define FAIL(decoder, ...)                                                                         \
    do {                                                                                           \
        if (!(decoder)->in.bad) {                                                                  \
            say((decoder)->text, __VA_ARGS__);                                                     \
            (decoder)->in.bad = (decoder)->failed = true;                                          \
        }                                                                                          \
    } while (0)

/* How many items of at least 'least_bytes' follow: never more than there are bytes for, so that
 * nobody takes memory for what is not there. */
static uint32_t read_count(struct decoder *decoder, const char *what, size_t least_bytes)
{
    uint32_t count = mu_read_u32(&decoder->in);
    size_t left = mu_reader_left(&decoder->in);
    if (count > left / least_bytes)
        FAIL(decoder, "%" PRIu32 " %s are more than the %zu bytes that follow can hold", count,
             what, left);
    return decoder->in.bad ? 0 : count;
}

static bool read_bool(struct decoder *decoder)
{
    uint8_t value = mu_read_u8(&decoder->in);
    if (value > 1)
        FAIL(decoder, "byte %u is neither 0 (no) nor 1 (yes)", value);
    return value == 1;
}

/* It ends with a NUL in the message, so it can stay there. */
static const char *read_string(struct decoder *decoder)
{
    size_t left = mu_reader_left(&decoder->in);
    const uint8_t *end = left > 0 ? memchr(decoder->in.at, 0, left) : NULL;
    if (end == NULL) {
        FAIL(decoder, "a text does not end within the %zu bytes that are left", left);
        return NULL;
    }
    return (const char *)mu_read_bytes(&decoder->in, (size_t)(end - decoder->in.at) + 1);
}

static const char *const *read_list(struct decoder *decoder, const char *what)
{
    uint32_t count = read_count(decoder, what, 1);
    const char **list = mu_arena_array(&decoder->lists, (size_t)count + 1, sizeof *list);
    for (uint32_t i = 0; i < count && !decoder->in.bad; i++) {
        const char *string = read_string(decoder);
        if (list != NULL)
            list[i] = string;
    }
    return list;
}

static void read_runs(struct decoder *decoder, struct mu_launch_job *spec)
{
    uint32_t first = 0;
    spec->run_count = read_count(decoder, "runs", RUN_BYTES);
    struct mu_launch_run *runs = mu_arena_array(&decoder->lists, spec->run_count, sizeof *runs);
    for (uint32_t i = 0; i < spec->run_count; i++) {
        mu_slot slot = mu_read_u32(&decoder->in);
        uint32_t count = mu_read_u32(&decoder->in);
        if (runs != NULL)
            runs[i] = (struct mu_launch_run){.slot = slot, .first = first, .count = count};
        first += count; /* where it wraps around, a run before it ends after the job */
    }
    spec->runs = runs;
}

static void read_programs(struct decoder *decoder, struct mu_launch_job *spec)
{
    uint32_t first = 0;
    spec->program_count = read_count(decoder, "programs", PROGRAM_BYTES);
    struct mu_launch_program *programs =
        mu_arena_array(&decoder->lists, spec->program_count, sizeof *programs);
    for (uint32_t i = 0; i < spec->program_count && !decoder->in.bad; i++) {
        struct mu_launch_program program = {.first = first};
        program.count = mu_read_u32(&decoder->in);
        program.directory = read_string(decoder);
        program.argv = read_list(decoder, "arguments");
        program.envp = read_list(decoder, "variables");
        first += program.count;
        if (programs != NULL)
            programs[i] = program;
    }
    spec->programs = programs;
}

static void read_job(struct decoder *decoder, struct mu_launch_job *spec)
{
    spec->size = mu_read_u32(&decoder->in);
    spec->ignore_sigpipe = read_bool(decoder);
    spec->binding = mu_read_u8(&decoder->in);
    spec->report_bindings = read_bool(decoder);
    spec->pmi = read_bool(decoder);
    spec->input_rank = mu_read_u32(&decoder->in);
    spec->credit = mu_read_u64(&decoder->in);
    read_runs(decoder, spec);
    read_programs(decoder, spec);
    spec->envp = read_list(decoder, "variables");
    spec->parent.root = mu_read_u32(&decoder->in);
    spec->parent.job = mu_read_u32(&decoder->in);
    spec->parent.rank = mu_read_u32(&decoder->in);
}

static void read_wish(struct decoder *decoder, struct mu_launch_job *spec)
{
    spec->size = mu_read_u32(&decoder->in);
    read_programs(decoder, spec);
}

static void read_with_lists(struct decoder *decoder, struct mu_launch_job *spec,
                            struct mu_launch_lists *lists,
                            void (*read)(struct decoder *decoder, struct mu_launch_job *spec))
{
    struct decoder measure = *decoder;
    read(&measure, spec);
    if (measure.in.bad) {
        *decoder = measure;
        return;
    }
    size_t bytes = (measure.lists.used + 63) / 64 * 64;
    lists->memory = aligned_alloc(64, bytes);
    if (lists->memory == NULL) {
        FAIL(decoder, "no memory for the %zu bytes of a job's lists", bytes);
        return;
    }
    mu_arena_init(&decoder->lists, lists->memory, bytes);
    read(decoder, spec);
}

static void read_data(struct decoder *decoder, struct mu_launch_message *message)
{
    message->data.rank = mu_read_u32(&decoder->in);
    message->data.stream = mu_read_u8(&decoder->in);
    message->data.count = (uint32_t)mu_reader_left(&decoder->in);
    message->data.bytes = mu_read_bytes(&decoder->in, message->data.count);
}

static void read_evidence(struct decoder *decoder, struct mu_evidence *evidence)
{
    mu_read_evidence(&decoder->in, evidence);
    if (decoder->in.bad && !decoder->in.ended && !decoder->failed) {
        say(decoder->text, "the evidence of a death breaks a rule of its own");
        decoder->failed = true;
    }
}

static void read_told(struct decoder *decoder, struct mu_launch_message *message)
{
    message->told.is_node = read_bool(decoder);
    message->told.rank = mu_read_u32(&decoder->in);
    message->told.node = mu_read_u32(&decoder->in);
    message->told.hops = mu_read_u16(&decoder->in);
    message->told.age_ns = mu_read_u64(&decoder->in);
    read_evidence(decoder, &message->told.evidence);
}

static void read_reach(struct decoder *decoder, struct mu_launch_reach *reach)
{
    reach->other = mu_read_u32(&decoder->in);
    reach->nonce = mu_read_u64(&decoder->in);
    reach->stamp_ns = mu_read_u64(&decoder->in);
    reach->clock_ns = mu_read_u64(&decoder->in);
    reach->reach = mu_read_u8(&decoder->in);
}

static void read_body(struct decoder *decoder, struct mu_launch_message *message,
                      struct mu_launch_lists *lists)
{
    switch ((enum mu_launch_type)message->type) {
    case MU_LAUNCH_JOB:
        read_with_lists(decoder, &message->spec, lists, read_job);
        return;
    case MU_LAUNCH_SIGNAL:
        message->signal.number = mu_read_u8(&decoder->in);
        return;
    case MU_LAUNCH_STOP:
        message->stop.grace_ms = mu_read_u32(&decoder->in);
        return;
    case MU_LAUNCH_OVER:
    case MU_LAUNCH_READY:
        return;
    case MU_LAUNCH_CREDIT:
    case MU_LAUNCH_INPUT_CREDIT:
        message->credit.bytes = mu_read_u64(&decoder->in);
        return;
    case MU_LAUNCH_INPUT:
    case MU_LAUNCH_OUTPUT:
    case MU_LAUNCH_OUTPUT_END:
        read_data(decoder, message);
        return;
    case MU_LAUNCH_STARTED:
        message->started.rank = mu_read_u32(&decoder->in);
        message->started.pid = mu_read_u32(&decoder->in);
        return;
    case MU_LAUNCH_ENDED:
        message->ended.rank = mu_read_u32(&decoder->in);
        read_evidence(decoder, &message->ended.evidence);
        return;
    case MU_LAUNCH_TOLD:
        read_told(decoder, message);
        return;
    case MU_LAUNCH_REFUSED:
        message->refused.text = read_string(decoder);
        return;
    case MU_LAUNCH_BOUND:
        message->bound.rank = mu_read_u32(&decoder->in);
        message->bound.text = read_string(decoder);
        return;
    case MU_LAUNCH_SPAWN:
        message->spawn.number = mu_read_u32(&decoder->in);
        message->spawn.rank = mu_read_u32(&decoder->in);
        read_with_lists(decoder, &message->spawn.spec, lists, read_wish);
        return;
    case MU_LAUNCH_SPAWNED:
        message->spawned.number = mu_read_u32(&decoder->in);
        message->spawned.job = mu_read_u32(&decoder->in);
        message->spawned.text = read_string(decoder);
        return;
    case MU_LAUNCH_ASK:
    case MU_LAUNCH_PING:
    case MU_LAUNCH_PONG:
    case MU_LAUNCH_REACH:
        read_reach(decoder, &message->reach);
        return;
    }
    FAIL(decoder, "message type %u is none of a launcher or a daemon", message->type);
}

static void read_head(struct decoder *decoder, size_t count, struct mu_launch_message *message)
{
    if (count > MU_LAUNCH_MESSAGE_MAX)
        FAIL(decoder, "a message of %zu bytes is over %d", count, MU_LAUNCH_MESSAGE_MAX);
    uint8_t version = mu_read_u8(&decoder->in);
    if (version != MU_LAUNCH_VERSION)
        FAIL(decoder, "version %u of a launcher's or daemon's message is not %d", version,
             MU_LAUNCH_VERSION);
    message->type = mu_read_u8(&decoder->in);
    message->job = mu_read_u32(&decoder->in);
}

const char *mu_launch_decode(const uint8_t *bytes, size_t count, struct mu_launch_message *message,
                             struct mu_launch_lists *lists, char *text)
{
    struct decoder decoder = {.text = text};
    mu_reader_init(&decoder.in, bytes, count);
    mu_arena_init(&decoder.lists, NULL, 0);
    memset(message, 0, sizeof *message);
    read_head(&decoder, count, message);
    if (!decoder.in.bad)
        read_body(&decoder, message, lists);
    if (decoder.failed)
        return text;
    if (decoder.in.bad)
        return say(text, "a message of type %u ends inside a field, after %zu bytes", message->type,
                   count);
    if (mu_reader_left(&decoder.in) > 0)
        return say(text, "bytes after the last field of a message of type %u: %zu", message->type,
                   mu_reader_left(&decoder.in));
    return mu_launch_error(message, text);
}

void mu_launch_lists_free(struct mu_launch_lists *lists)
{
    free(lists->memory);
    lists->memory = NULL;
}

/* ---- looking up ---- */

const struct mu_launch_run *mu_launch_run_of(const struct mu_launch_job *spec, uint32_t rank)
{
    uint32_t low = 0, high = spec->run_count;
    if (rank >= spec->size)
        return NULL;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (spec->runs[middle].first <= rank)
            low = middle;
        else
            high = middle;
    }
    return &spec->runs[low];
}

const struct mu_launch_program *mu_launch_program_of(const struct mu_launch_job *spec,
                                                     uint32_t rank)
{
    for (uint32_t i = 0; i < spec->program_count; i++)
        if (rank - spec->programs[i].first < spec->programs[i].count)
            return &spec->programs[i];
    return NULL;
}

struct mu_launch_part mu_launch_part(mu_slot slot, uint32_t nodes, uint32_t processors)
{
    assert(slot < nodes && processors > 0);
    uint32_t first = (uint32_t)((uint64_t)slot * processors / nodes);
    uint32_t end = (uint32_t)(((uint64_t)slot + 1) * processors / nodes);
    return (struct mu_launch_part){.first = first, .count = end > first ? end - first : 1};
}
