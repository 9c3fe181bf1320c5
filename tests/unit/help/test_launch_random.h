/* Random messages of launchers and daemons that are good, from one seed: for
 * tests/unit/wire/test_launch.c and tests/fuzz. */
#ifndef TEST_LAUNCH_RANDOM_H
#define TEST_LAUNCH_RANDOM_H

#include "test_local_random.h"

#include "wire/launch/launch.h"

enum { LAUNCH_TYPES = 21, LAUNCH_RUNS = 12, LAUNCH_PROGRAMS = 4, LAUNCH_LIST = 6 };

static const uint8_t launch_types[LAUNCH_TYPES] = {
    MU_LAUNCH_JOB,     MU_LAUNCH_SIGNAL,     MU_LAUNCH_STOP,         MU_LAUNCH_OVER,
    MU_LAUNCH_INPUT,   MU_LAUNCH_CREDIT,     MU_LAUNCH_STARTED,      MU_LAUNCH_ENDED,
    MU_LAUNCH_OUTPUT,  MU_LAUNCH_OUTPUT_END, MU_LAUNCH_INPUT_CREDIT, MU_LAUNCH_TOLD,
    MU_LAUNCH_REFUSED, MU_LAUNCH_SPAWN,      MU_LAUNCH_SPAWNED,      MU_LAUNCH_READY,
    MU_LAUNCH_BOUND,   MU_LAUNCH_ASK,        MU_LAUNCH_PING,         MU_LAUNCH_PONG,
    MU_LAUNCH_REACH,
};

/* What a message points to. */
struct random_launch {
    struct mu_launch_run runs[LAUNCH_RUNS];
    struct mu_launch_program programs[LAUNCH_PROGRAMS];
    const char *lists[1 + 2 * LAUNCH_PROGRAMS][LAUNCH_LIST + 1];
    uint32_t list_count;
    char text[MU_LAUNCH_TEXT_MAX + 1];
    uint8_t bytes[64];
};

static inline const char *const *random_list(struct random *r, struct random_launch *memory,
                                             uint32_t least)
{
    static const char *const words[] = {"", "a", "PATH=/bin:/usr/bin", "-c", "NAME=", "\xff\x01"};
    const char **list = memory->lists[memory->list_count++];
    uint64_t count = least + random_below(r, LAUNCH_LIST + 1 - least);
    for (uint64_t i = 0; i < count; i++)
        list[i] = words[random_below(r, sizeof words / sizeof *words)];
    list[count] = NULL;
    return list;
}

/* How many ranks the next of 'left' rows has, so that the last takes the rest. */
static inline uint32_t random_row(struct random *r, uint32_t ranks, uint32_t left)
{
    return left == 1 ? ranks : 1 + (uint32_t)random_below(r, ranks - left + 1);
}

static inline uint32_t random_rank(struct random *r)
{
    return (uint32_t)random_between(r, 0, MU_LAUNCH_RANKS_MAX - 1);
}

static inline void random_programs(struct random *r, struct random_launch *memory,
                                   struct mu_launch_job *spec)
{
    uint32_t first = 0;
    spec->program_count = 1 + (uint32_t)random_below(r, LAUNCH_PROGRAMS);
    spec->programs = memory->programs;
    for (uint32_t i = 0; i < spec->program_count; i++) {
        uint32_t count = random_row(r, spec->size - first, spec->program_count - i);
        memory->programs[i] = (struct mu_launch_program){
            .first = first,
            .count = count,
            .directory = random_below(r, 2) == 0 ? "/" : "/srv/some where",
            .argv = random_list(r, memory, 1),
            .envp = random_list(r, memory, 0),
        };
        first += count;
    }
}

static inline struct mu_launch_job random_job(struct random *r, struct random_launch *memory)
{
    uint32_t size = (uint32_t)random_between(r, LAUNCH_RUNS, MU_LAUNCH_RANKS_MAX), first = 0;
    struct mu_launch_job spec = {
        .size = size,
        .ignore_sigpipe = random_below(r, 2) == 0,
        .binding = (uint8_t)random_below(r, MU_LAUNCH_BINDINGS),
        .report_bindings = random_below(r, 2) == 0,
        .pmi = random_below(r, 2) == 0,
        .input_rank = random_below(r, 2) == 0 ? MU_RANK_NONE : (uint32_t)random_below(r, size),
        .run_count = 1 + (uint32_t)random_below(r, LAUNCH_RUNS),
        .runs = memory->runs,
        .credit = random_between(r, 0, UINT64_MAX),
    };
    for (uint32_t i = 0; i < spec.run_count; i++) {
        uint32_t count = random_row(r, size - first, spec.run_count - i);
        memory->runs[i] =
            (struct mu_launch_run){.slot = random_slot(r), .first = first, .count = count};
        first += count;
    }
    random_programs(r, memory, &spec);
    spec.envp = random_list(r, memory, 0);
    if (random_below(r, 2) == 0) {
        spec.parent.root = (uint32_t)random_between(r, 1, UINT32_MAX);
        spec.parent.job = (uint32_t)random_between(r, 1, UINT32_MAX);
        spec.parent.rank = random_rank(r);
    }
    return spec;
}

static inline void random_data(struct random *r, struct mu_launch_message *message,
                               struct random_launch *memory)
{
    bool is_input = message->type == MU_LAUNCH_INPUT;
    bool is_end = message->type == MU_LAUNCH_OUTPUT_END;
    message->data.rank = random_rank(r);
    message->data.stream = is_input ? 0 : (uint8_t)(1 + random_below(r, 2));
    message->data.count =
        is_end ? 0 : (uint32_t)random_between(r, is_input ? 0 : 1, sizeof memory->bytes);
    message->data.bytes = memory->bytes;
    for (uint32_t i = 0; i < message->data.count; i++)
        memory->bytes[i] = (uint8_t)random_u64(r);
}

static inline struct mu_evidence random_end(struct random *r)
{
    for (;;) {
        struct mu_evidence evidence = random_evidence(r);
        if (evidence.cause == MU_CAUSE_EXIT)
            return evidence;
    }
}

static inline void random_told(struct random *r, struct mu_launch_message *message)
{
    message->told.is_node = random_below(r, 2) == 0;
    message->told.rank = message->told.is_node ? 0 : random_rank(r);
    message->told.node = random_slot(r);
    message->told.hops = (uint16_t)random_between(r, 0, UINT16_MAX);
    message->told.age_ns = random_between(r, 0, UINT64_MAX);
    message->told.evidence = random_evidence(r);
}

static inline struct mu_launch_message random_launch(struct random *r, uint8_t type,
                                                     struct random_launch *memory)
{
    struct mu_launch_message message = {.type = type,
                                        .job = (uint32_t)random_between(r, 0, UINT32_MAX)};
    memory->list_count = 0;
    switch ((enum mu_launch_type)type) {
    case MU_LAUNCH_JOB:
        message.spec = random_job(r, memory);
        break;
    case MU_LAUNCH_SIGNAL:
        message.signal.number = (uint8_t)random_between(r, 1, 64);
        break;
    case MU_LAUNCH_STOP:
        message.stop.grace_ms = (uint32_t)random_between(r, 0, UINT32_MAX);
        break;
    case MU_LAUNCH_OVER:
    case MU_LAUNCH_READY:
        break;
    case MU_LAUNCH_CREDIT:
    case MU_LAUNCH_INPUT_CREDIT:
        message.credit.bytes = random_between(r, 0, UINT64_MAX);
        break;
    case MU_LAUNCH_INPUT:
    case MU_LAUNCH_OUTPUT:
    case MU_LAUNCH_OUTPUT_END:
        random_data(r, &message, memory);
        break;
    case MU_LAUNCH_STARTED:
        message.started.rank = random_rank(r);
        message.started.pid = (uint32_t)random_between(r, 1, UINT32_MAX);
        break;
    case MU_LAUNCH_ENDED:
        message.ended.rank = random_rank(r);
        message.ended.evidence = random_end(r);
        break;
    case MU_LAUNCH_TOLD:
        random_told(r, &message);
        break;
    case MU_LAUNCH_REFUSED:
        random_text(r, memory->text, 1, MU_LAUNCH_TEXT_MAX);
        message.refused.text = memory->text;
        break;
    case MU_LAUNCH_BOUND:
        message.bound.rank = random_rank(r);
        random_text(r, memory->text, 1, MU_LAUNCH_TEXT_MAX);
        message.bound.text = memory->text;
        break;
    case MU_LAUNCH_SPAWN:
        message.spawn.number = (uint32_t)random_between(r, 0, UINT32_MAX);
        message.spawn.rank = random_rank(r);
        message.spawn.spec.size = (uint32_t)random_between(r, LAUNCH_PROGRAMS, MU_LAUNCH_RANKS_MAX);
        random_programs(r, memory, &message.spawn.spec);
        break;
    case MU_LAUNCH_SPAWNED:
        message.spawned.number = (uint32_t)random_between(r, 0, UINT32_MAX);
        message.spawned.job =
            random_below(r, 2) == 0 ? 0 : (uint32_t)random_between(r, 1, UINT32_MAX);
        memory->text[0] = '\0';
        if (message.spawned.job == 0)
            random_text(r, memory->text, 1, MU_LAUNCH_TEXT_MAX);
        message.spawned.text = memory->text;
        break;
    case MU_LAUNCH_ASK:
    case MU_LAUNCH_PING:
    case MU_LAUNCH_PONG:
    case MU_LAUNCH_REACH:
        message.reach.other = (mu_slot)random_below(r, MU_SIZE_MAX);
        message.reach.nonce = random_between(r, 0, UINT64_MAX);
        message.reach.stamp_ns = random_between(r, 0, UINT64_MAX);
        if (type == MU_LAUNCH_REACH)
            message.reach.reach = (uint8_t)random_between(r, 1, 3);
        if (type == MU_LAUNCH_PONG || message.reach.reach == 3)
            message.reach.clock_ns = random_between(r, 0, UINT64_MAX);
        break;
    }
    return message;
}

#endif
