#include "wire/record/doors.h"

#include "wire/peer/beat.h"

#include <string.h>

/* An enum, which may have any width. */
#define FIELD_ENUM(fields, value, last)                                                            \
    do {                                                                                           \
        uint32_t number = (uint32_t)(value);                                                       \
        mu_field_u32(fields, &number);                                                             \
        mu_field_check(fields, number <= (uint32_t)(last), "a type that there is not");            \
        if ((fields)->reader != NULL)                                                              \
            (value) = number;                                                                      \
    } while (0)

_Static_assert(sizeof(void *) != 8 ||
                   (sizeof(struct mu_detect_config) == 64 && sizeof(struct mu_beat) == 72 &&
                    sizeof(struct mu_agree_config) == 28 && sizeof(struct mu_agree_value) == 40 &&
                    sizeof(struct mu_allgather_config) == 48),
               "a recorded struct has changed: give the new field a place in its list below and in "
               "docs/record.md, under a new version");

/* ---- ring ---- */

static void ring_config(struct mu_fields *fields, void *of)
{
    struct mu_detect_config *config = of;
    mu_field_u32(fields, &config->size);
    mu_field_u32(fields, &config->self);
    mu_field_u32(fields, &config->incarnation);
    mu_field_u64(fields, &config->period_ns);
    mu_field_u64(fields, &config->timeout_ns);
    mu_field_u64(fields, &config->grace_ns);
    mu_field_u64(fields, &config->nonce);
    mu_field_u64(fields, &config->loop_ns);
    mu_field_u32(fields, &config->dead);
    mu_field_u32(fields, &config->broken_rules);
}

static const char *ring_config_error(const void *config)
{
    return mu_detect_config_error(config);
}

static void ring_measure(struct mu_fields *fields, const void *config)
{
    fields->size = ((const struct mu_detect_config *)config)->size;
}

static void beat(struct mu_fields *fields, struct mu_beat *beat)
{
    mu_field_u8(fields, &beat->type);
    mu_field_u8(fields, &beat->reach);
    mu_field_slot(fields, &beat->from);
    mu_field_slot(fields, &beat->to);
    mu_field_u32(fields, &beat->from_incarnation);
    mu_field_u32(fields, &beat->to_incarnation);
    mu_field_u64(fields, &beat->nonce);
    mu_field_u64(fields, &beat->stamp_ns);
    mu_field_u64(fields, &beat->acked_ns);
    mu_field_u64(fields, &beat->period_ns);
    mu_field_u64(fields, &beat->timeout_ns);
    mu_field_u32(fields, &beat->subject);
    mu_field_u32(fields, &beat->subject_incarnation);
}

/* What is read needs a place. */
static void recv_beat(struct mu_fields *fields, struct mu_detect_event *event)
{
    uint32_t one = 1;
    struct mu_beat *at = mu_field_list(fields, event->beat, &one, sizeof *at, 13);
    mu_field_check(fields, at != NULL && one == 1, "a RECV has one beat");
    if (fields->reader != NULL)
        event->beat = at;
    if (at == NULL || one != 1)
        return;
    beat(fields, at);
    const char *rule = fields->reader != NULL && fields->rule == NULL ? mu_beat_error(at) : NULL;
    mu_field_check(fields, rule == NULL, rule);
}

static void ring_event(struct mu_fields *fields, void *of)
{
    struct mu_detect_event *event = of;
    FIELD_ENUM(fields, event->type, MU_DETECT_LOOP);
    switch (event->type) {
    case MU_DETECT_START:
    case MU_DETECT_TIMEOUT:
    case MU_DETECT_READY:
    case MU_DETECT_LOOP:
        return;
    case MU_DETECT_RECV:
        recv_beat(fields, event);
        return;
    case MU_DETECT_OUT:
        mu_field_slot(fields, &event->out.slot);
        mu_field_u32(fields, &event->out.incarnation);
        mu_field_bool(fields, &event->out.proven);
        return;
    case MU_DETECT_SET:
        mu_field_u64(fields, &event->set.period_ns);
        mu_field_u64(fields, &event->set.timeout_ns);
        mu_field_check(fields,
                       mu_detect_times_error(event->set.period_ns, event->set.timeout_ns) == NULL,
                       "a SET of times that no detector takes");
        return;
    case MU_DETECT_BROKE:
        mu_field_slot(fields, &event->broke.slot);
        return;
    case MU_DETECT_LAUNCHER:
        mu_field_slot(fields, &event->launcher.subject);
        mu_field_u64(fields, &event->launcher.nonce);
        mu_field_u64(fields, &event->launcher.stamp_ns);
        mu_field_u64(fields, &event->launcher.clock_ns);
        FIELD_ENUM(fields, event->launcher.reach, MU_LAUNCHER_CHOSE);
        return;
    }
    mu_field_check(fields, false, "a type that there is not");
}

static uint64_t *ring_time(void *event)
{
    return &((struct mu_detect_event *)event)->now_ns;
}

static void evidence(struct mu_fields *fields, struct mu_detect_evidence *seen)
{
    mu_field_u8(fields, &seen->cause);
    mu_field_u32(fields, &seen->subject);
    mu_field_u32(fields, &seen->incarnation);
    mu_field_u64(fields, &seen->period_ns);
    mu_field_u64(fields, &seen->timeout_ns);
    mu_field_u64(fields, &seen->silent_ns);
    mu_field_u64(fields, &seen->suspect_ns);
    mu_field_u64(fields, &seen->lag_ns);
    mu_field_u32(fields, &seen->probes);
    mu_field_u32(fields, &seen->vouched_by);
    mu_field_u8(fields, &seen->launcher);
    mu_field_u8(fields, &seen->helpers);
    for (uint32_t i = 0; i < seen->helpers && i < MU_DETECT_HELPERS; i++) {
        mu_field_u32(fields, &seen->helper[i].slot);
        mu_field_u8(fields, &seen->helper[i].reach);
    }
}

static void ring_effect(struct mu_fields *fields, struct mu_detect_effect *effect)
{
    FIELD_ENUM(fields, effect->type, MU_DETECT_STOOD);
    switch (effect->type) {
    case MU_DETECT_SEND:
        beat(fields, &effect->beat);
        return;
    case MU_DETECT_VERDICT:
    case MU_DETECT_REPORT:
        evidence(fields, &effect->evidence);
        return;
    case MU_DETECT_FENCED:
        mu_field_u32(fields, &effect->by);
        return;
    case MU_DETECT_LEASE:
        mu_field_bool(fields, &effect->held);
        return;
    case MU_DETECT_FAULT:
        FIELD_ENUM(fields, effect->fault, UINT8_MAX);
        return;
    case MU_DETECT_ASK_LAUNCHER:
        mu_field_u32(fields, &effect->ask.subject);
        mu_field_u64(fields, &effect->ask.nonce);
        mu_field_u64(fields, &effect->ask.stamp_ns);
        return;
    case MU_DETECT_STOOD:
        mu_field_u32(fields, &effect->stood.phase);
        mu_field_u64(fields, &effect->stood.ns);
        return;
    case MU_DETECT_ASK_LOOP:
        return;
    }
}

static void ring_update(struct mu_fields *fields, const void *of)
{
    const struct mu_detect_update *update = of;
    uint32_t count = update->count;
    uint64_t deadline_ns = update->deadline_ns;
    mu_field_u32(fields, &count);
    for (uint32_t i = 0; i < count; i++)
        ring_effect(fields, &update->effects[i]);
    mu_field_u64(fields, &deadline_ns);
}

/* ---- agree ---- */

static void agree_config(struct mu_fields *fields, void *of)
{
    struct mu_agree_config *config = of;
    mu_field_u32(fields, &config->size);
    mu_field_u32(fields, &config->self);
    mu_field_u8(fields, &config->shift);
    mu_field_u16(fields, &config->rebalance_at);
    mu_field_u32(fields, &config->limits.dead);
    mu_field_u16(fields, &config->limits.groups);
    mu_field_u16(fields, &config->limits.runs);
    mu_field_u16(fields, &config->limits.failed);
    mu_field_u16(fields, &config->limits.entries);
    mu_field_u32(fields, &config->broken_rules);
}

static const char *agree_config_error(const void *config)
{
    return mu_agree_config_error(config);
}

static void agree_measure(struct mu_fields *fields, const void *config)
{
    fields->size = ((const struct mu_agree_config *)config)->size;
}

static void spans(struct mu_fields *fields, const struct mu_span **list, uint32_t *count)
{
    struct mu_span *spans = mu_field_list(fields, *list, count, sizeof *spans, 2);
    if (fields->reader != NULL)
        *list = spans;
    for (uint32_t i = 0; i < *count; i++) {
        mu_field_slot(fields, &spans[i].first);
        mu_field_u32(fields, &spans[i].count);
        mu_field_check(fields, fields->size == 0 || spans[i].count <= fields->size - spans[i].first,
                       "a span goes beyond the size of the cluster");
    }
}

static void failed_list(struct mu_fields *fields, const struct mu_failed **list, uint32_t *count)
{
    struct mu_failed *failed = mu_field_list(fields, *list, count, sizeof *failed, 4);
    if (fields->reader != NULL)
        *list = failed;
    for (uint32_t i = 0; i < *count; i++) {
        uint32_t node = failed[i].node;
        bool acked = failed[i].acked, proven = failed[i].proven;
        mu_field_slot(fields, &node);
        mu_field_u32(fields, &failed[i].process);
        mu_field_bool(fields, &acked);
        mu_field_bool(fields, &proven);
        if (fields->reader == NULL)
            continue;
        failed[i].node = node & ((1u << 30) - 1);
        failed[i].acked = acked;
        failed[i].proven = proven;
    }
}

static void entry_of(struct mu_fields *fields, struct mu_agree_entry *entry)
{
    mu_field_u64(fields, &entry->key);
    mu_field_u8(fields, &entry->kind);
    mu_field_u8(fields, &entry->length);
    mu_field_check(fields, entry->length <= MU_AGREE_ENTRY_BYTES, "an entry is too long");
    if (entry->length <= MU_AGREE_ENTRY_BYTES)
        mu_field_bytes(fields, entry->bytes, entry->length);
}

static void entries(struct mu_fields *fields, const struct mu_agree_entry **list, uint32_t *count)
{
    struct mu_agree_entry *entry = mu_field_list(fields, *list, count, sizeof *entry, 3);
    if (fields->reader != NULL)
        *list = entry;
    for (uint32_t i = 0; i < *count; i++)
        entry_of(fields, &entry[i]);
}

static void dead(struct mu_fields *fields, struct mu_roster_entry *entry)
{
    mu_field_slot(fields, &entry->slot);
    mu_field_u32(fields, &entry->incarnation);
    mu_field_bool(fields, &entry->proven);
    mu_field_bool(fields, &entry->in);
}

static void dead_list(struct mu_fields *fields, const struct mu_roster_entry **list,
                      uint32_t *count)
{
    struct mu_roster_entry *entry = mu_field_list(fields, *list, count, sizeof *entry, 4);
    if (fields->reader != NULL)
        *list = entry;
    for (uint32_t i = 0; i < *count; i++)
        dead(fields, &entry[i]);
}

static void value(struct mu_fields *fields, struct mu_agree_value *value)
{
    mu_field_u64(fields, &value->bits);
    failed_list(fields, &value->failed, &value->failed_count);
    entries(fields, &value->entries, &value->entry_count);
    mu_field_bool(fields, &value->entries_more);
    mu_field_bool(fields, &value->more);
    mu_field_bool(fields, &value->silent);
}

static void agree_message(struct mu_fields *fields, struct mu_agree_message *message)
{
    mu_field_u8(fields, &message->type);
    mu_field_u64(fields, &message->group);
    mu_field_u64(fields, &message->round);
    value(fields, &message->value);
    dead_list(fields, &message->dead, &message->dead_count);
}

static void recv_agree(struct mu_fields *fields, struct mu_agree_event *event)
{
    uint32_t one = 1;
    mu_field_slot(fields, &event->recv.from);
    struct mu_agree_message *at = mu_field_list(fields, event->recv.message, &one, sizeof *at, 10);
    mu_field_check(fields, at != NULL && one == 1, "a RECV has one message");
    if (fields->reader != NULL)
        event->recv.message = at;
    if (at != NULL && one == 1)
        agree_message(fields, at);
}

static void agree_event(struct mu_fields *fields, void *of)
{
    struct mu_agree_event *event = of;
    FIELD_ENUM(fields, event->type, MU_AGREE_NOTE);
    mu_field_bool(fields, &event->lease_held);
    switch (event->type) {
    case MU_AGREE_OPEN:
        mu_field_u64(fields, &event->open.group);
        spans(fields, &event->open.spans, &event->open.count);
        return;
    case MU_AGREE_CLOSE:
        mu_field_u64(fields, &event->close.group);
        return;
    case MU_AGREE_CALL:
        mu_field_u64(fields, &event->call.group);
        mu_field_u64(fields, &event->call.bits);
        failed_list(fields, &event->call.failed, &event->call.failed_count);
        entries(fields, &event->call.entries, &event->call.entry_count);
        mu_field_bool(fields, &event->call.silent);
        return;
    case MU_AGREE_RECV:
        recv_agree(fields, event);
        return;
    case MU_AGREE_DEAD:
        dead(fields, &event->dead);
        return;
    case MU_AGREE_RESUME:
        mu_field_slot(fields, &event->resume.peer);
        return;
    case MU_AGREE_LEASE:
        return;
    case MU_AGREE_NOTE:
        entry_of(fields, &event->note);
        return;
    }
    mu_field_check(fields, false, "a type that there is not");
}

static void agree_effect(struct mu_fields *fields, struct mu_agree_effect *effect)
{
    FIELD_ENUM(fields, effect->type, MU_AGREE_FAULT);
    mu_field_u32(fields, &effect->peer);
    switch (effect->type) {
    case MU_AGREE_SEND:
        agree_message(fields, &effect->message);
        return;
    case MU_AGREE_DELIVER:
        mu_field_u64(fields, &effect->decision.group);
        mu_field_u64(fields, &effect->decision.round);
        value(fields, &effect->decision.value);
        mu_field_bool(fields, &effect->decision.error);
        return;
    case MU_AGREE_DEATH:
        dead(fields, &effect->death);
        return;
    case MU_AGREE_FAULT:
        FIELD_ENUM(fields, effect->fault, UINT8_MAX);
        return;
    case MU_AGREE_FENCED:
        return;
    }
}

static void agree_update(struct mu_fields *fields, const void *of)
{
    const struct mu_agree_update *update = of;
    uint32_t count = update->count;
    mu_field_u32(fields, &count);
    for (uint32_t i = 0; i < count; i++)
        agree_effect(fields, &update->effects[i]);
}

/* ---- gather ---- */

static void gather_config(struct mu_fields *fields, void *of)
{
    struct mu_allgather_config *config = of;
    mu_field_u32(fields, &config->size);
    mu_field_u32(fields, &config->self);
    mu_field_u8(fields, &config->shift);
    spans(fields, &config->spans, &config->span_count);
    mu_field_u64(fields, &config->done);
    mu_field_u32(fields, &config->broken_rules);
}

static const char *gather_config_error(const void *config)
{
    return mu_allgather_config_error(config);
}

static void gather_measure(struct mu_fields *fields, const void *of)
{
    const struct mu_allgather_config *config = of;
    uint32_t total = 0;
    for (uint32_t i = 0; i < config->span_count; i++)
        total += config->spans[i].count;
    fields->size = config->size;
    fields->words = total / 64 + 1;
}

/* A set of members; NULL is none. */
static void parts(struct mu_fields *fields, const uint64_t **set)
{
    uint32_t words = *set != NULL ? fields->words : 0;
    uint64_t *word = mu_field_list(fields, *set, &words, sizeof *word, 1);
    mu_field_check(fields, words == 0 || words == fields->words, "a set of other members");
    for (uint32_t i = 0; i < words; i++)
        mu_field_u64(fields, &word[i]);
    if (fields->reader != NULL)
        *set = words == 0 ? NULL : word;
}

static void gather_message(struct mu_fields *fields, struct mu_allgather_message *message)
{
    mu_field_u8(fields, &message->type);
    mu_field_u64(fields, &message->round);
    parts(fields, &message->parts);
    mu_field_check(fields,
                   message->type >= MU_ALLGATHER_UP && message->type <= MU_ALLGATHER_TYPE_LAST &&
                       (message->parts == NULL) == (message->type == MU_ALLGATHER_WANT),
                   "a message of an exchange with parts of a WANT, or without parts of another");
}

static void recv_gather(struct mu_fields *fields, struct mu_allgather_event *event)
{
    uint32_t one = 1;
    struct mu_allgather_message *at = mu_field_list(fields, event->message, &one, sizeof *at, 3);
    mu_field_check(fields, at != NULL && one == 1, "a RECV has one message");
    if (fields->reader != NULL)
        event->message = at;
    if (at != NULL && one == 1)
        gather_message(fields, at);
}

static void gather_event(struct mu_fields *fields, void *of)
{
    struct mu_allgather_event *event = of;
    FIELD_ENUM(fields, event->type, MU_ALLGATHER_OUT);
    switch (event->type) {
    case MU_ALLGATHER_CALL:
        return;
    case MU_ALLGATHER_RECV:
        mu_field_slot(fields, &event->slot);
        recv_gather(fields, event);
        return;
    case MU_ALLGATHER_OUT:
        mu_field_slot(fields, &event->slot);
        return;
    }
    mu_field_check(fields, false, "a type that there is not");
}

static void gather_effect(struct mu_fields *fields, const struct mu_allgather_effect *effect)
{
    uint32_t type = effect->type, peer = effect->peer, fault = effect->fault;
    struct mu_allgather_message message = effect->message;
    mu_field_u32(fields, &type);
    if (type == MU_ALLGATHER_SEND || type == MU_ALLGATHER_FAULT)
        mu_field_u32(fields, &peer);
    if (type == MU_ALLGATHER_FAULT) {
        mu_field_u32(fields, &fault);
        return;
    }
    if (type == MU_ALLGATHER_SEND)
        mu_field_u8(fields, &message.type);
    mu_field_u64(fields, &message.round);
    if (type != MU_ALLGATHER_FORGET)
        parts(fields, &message.parts);
}

static void gather_update(struct mu_fields *fields, const void *of)
{
    const struct mu_allgather_update *update = of;
    uint32_t count = update->count;
    mu_field_u32(fields, &count);
    for (uint32_t i = 0; i < count; i++)
        gather_effect(fields, &update->effects[i]);
}

/* ---- the table ---- */

const struct mu_record_codec *mu_record_codec(enum mu_record_door door)
{
    static const struct mu_record_codec ring = {
        "ring",       true,       ring_config, ring_config_error,
        ring_measure, ring_event, ring_time,   ring_update};
    static const struct mu_record_codec agree = {
        "agree",       false,       agree_config, agree_config_error,
        agree_measure, agree_event, NULL,         agree_update};
    static const struct mu_record_codec gather = {
        "gather",       false,        gather_config, gather_config_error,
        gather_measure, gather_event, NULL,          gather_update};
    switch (door) {
    case MU_RECORD_RING:
        return &ring;
    case MU_RECORD_AGREE:
        return &agree;
    case MU_RECORD_GATHER:
        return &gather;
    case MU_RECORD_NODE:
        break;
    }
    return NULL;
}

const char *mu_record_door_name(enum mu_record_door door)
{
    const struct mu_record_codec *codec = mu_record_codec(door);
    return codec != NULL ? codec->name : "node";
}
