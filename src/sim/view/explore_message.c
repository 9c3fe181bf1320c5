/* Messages on their way, each kept once, so that a state has only their numbers. */
#include "sim/view/explore_inside.h"

#include "sim/base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 1 << 12, IDS = 16, ENTRIES = 8 };

struct kept {
    struct mu_view_message message;
    struct mu_fingerprint print;
    struct mu_failed failed[IDS];
    struct mu_agree_entry entries[ENTRIES];
    struct mu_roster_entry dead[IDS];
    struct mu_span spans[IDS];
    struct mu_view_member odd[IDS];
    struct mu_view_lost lost[IDS];
    mu_slot joined[IDS];
    struct mu_roster_entry out[IDS];
};

struct view_messages {
    struct kept **kept;
    uint32_t *table; /* number + 1, by print */
    uint32_t count, capacity;
};

struct view_messages *view_messages_new(const struct mu_view_config *config)
{
    assert(config->limits.ids <= IDS && config->limits.entries <= ENTRIES);
    struct view_messages *messages = sim_calloc(1, sizeof *messages);
    messages->capacity = FIRST;
    messages->kept = sim_calloc(FIRST, sizeof *messages->kept);
    messages->table = sim_calloc(2ull * FIRST, sizeof *messages->table);
    return messages;
}

void view_messages_free(struct view_messages *messages)
{
    for (uint32_t i = 0; i < messages->count; i++)
        free(messages->kept[i]);
    free(messages->kept);
    free(messages->table);
    free(messages);
}

/* ---- fingerprints ---- */

static void print_roster(const struct mu_roster_entry *entries, uint32_t count,
                         struct mu_fingerprint *print)
{
    mu_fingerprint_add(print, count);
    for (uint32_t i = 0; i < count; i++) {
        mu_fingerprint_add(print, mu_view_key(entries[i].slot, entries[i].incarnation));
        mu_fingerprint_add(print, (uint64_t)entries[i].proven << 1 | (uint64_t)entries[i].in);
    }
}

static void print_entries(const struct mu_agree_entry *entries, uint32_t count,
                          struct mu_fingerprint *print)
{
    mu_fingerprint_add(print, count);
    for (uint32_t i = 0; i < count; i++) {
        mu_fingerprint_add(print, entries[i].key);
        mu_fingerprint_add(print, (uint64_t)entries[i].kind << 8 | entries[i].length);
        for (uint32_t at = 0; at < entries[i].length; at++)
            mu_fingerprint_add(print, entries[i].bytes[at]);
    }
}

static void print_agree(const struct mu_agree_message *agree, struct mu_fingerprint *print)
{
    const struct mu_agree_value *value = &agree->value;
    mu_fingerprint_add(print, (uint64_t)agree->type << 8 | (uint64_t)value->more << 2 |
                                  (uint64_t)value->entries_more << 1 | (uint64_t)value->silent);
    mu_fingerprint_add(print, value->bits);
    mu_fingerprint_add(print, value->failed_count);
    for (uint32_t i = 0; i < value->failed_count; i++)
        mu_fingerprint_add(print, (uint64_t)value->failed[i].node << 2 |
                                      (uint64_t)value->failed[i].acked << 1 |
                                      value->failed[i].proven);
    print_entries(value->entries, value->entry_count, print);
    print_roster(agree->dead, agree->dead_count, print);
}

static void print_whole(const struct mu_view_whole *whole, struct mu_fingerprint *print)
{
    mu_fingerprint_add(print, whole->before);
    mu_fingerprint_add(print, (uint64_t)whole->span_count << 32 | whole->odd_count);
    mu_fingerprint_add(print, (uint64_t)whole->lost_count << 32 | whole->joined_count);
    for (uint32_t i = 0; i < whole->span_count; i++)
        mu_fingerprint_add(print, mu_view_key(whole->spans[i].first, whole->spans[i].count));
    for (uint32_t i = 0; i < whole->odd_count; i++)
        mu_fingerprint_add(print, mu_view_key(whole->odd[i].id, whole->odd[i].incarnation));
    for (uint32_t i = 0; i < whole->lost_count; i++) {
        const struct mu_view_lost *lost = &whole->lost[i];
        mu_fingerprint_add(print, mu_view_key(lost->id, lost->incarnation));
        mu_fingerprint_add(print, (uint64_t)lost->proven << 2 | (uint64_t)lost->counts << 1 |
                                      (uint64_t)lost->clean);
    }
    for (uint32_t i = 0; i < whole->joined_count; i++)
        mu_fingerprint_add(print, whole->joined[i]);
    print_roster(whole->dead, whole->dead_count, print);
}

static struct mu_fingerprint print_of(const struct mu_view_message *message)
{
    struct mu_fingerprint print;
    mu_fingerprint_init(&print);
    mu_fingerprint_add(&print, (uint64_t)message->type << 8 | (uint64_t)message->mark.provisional);
    mu_fingerprint_add(&print, message->mark.number);
    mu_fingerprint_add(&print, message->mark.hash);
    if (message->type == MU_VIEW_AGREE)
        print_agree(&message->agree, &print);
    if (message->type == MU_VIEW_JOIN)
        print_entries(&message->join, 1, &print);
    if (message->type == MU_VIEW_WELCOME || message->type == MU_VIEW_AGREE)
        print_whole(&message->whole, &print);
    if (message->type == MU_VIEW_FENCE)
        mu_fingerprint_add(&print, mu_view_key(message->fenced.id, message->fenced.incarnation));
    return print;
}

/* ---- keeping ---- */

static void *copy(void *to, const void *from, uint32_t count, size_t size, uint32_t most)
{
    assert(count <= most);
    if (count > 0)
        memcpy(to, from, count * size);
    return to;
}

#define COPY(field, array, number)                                                                 \
    (field) = copy(array, field, number, sizeof array[0], sizeof array / sizeof array[0])

static struct kept *keep(const struct mu_view_message *message, struct mu_fingerprint print)
{
    struct kept *kept = sim_calloc(1, sizeof *kept);
    struct mu_agree_message *agree = &kept->message.agree;
    struct mu_view_whole *whole = &kept->message.whole;
    kept->message = *message;
    kept->print = print;
    COPY(agree->value.failed, kept->failed, agree->value.failed_count);
    COPY(agree->value.entries, kept->entries, agree->value.entry_count);
    COPY(agree->dead, kept->dead, agree->dead_count);
    COPY(whole->spans, kept->spans, whole->span_count);
    COPY(whole->odd, kept->odd, whole->odd_count);
    COPY(whole->lost, kept->lost, whole->lost_count);
    COPY(whole->joined, kept->joined, whole->joined_count);
    COPY(whole->dead, kept->out, whole->dead_count);
    return kept;
}

static uint32_t *place_of(struct view_messages *messages, struct mu_fingerprint print)
{
    uint64_t mask = 2ull * messages->capacity - 1;
    for (uint64_t at = print.a & mask;; at = (at + 1) & mask) {
        uint32_t number = messages->table[at];
        if (number == 0 || (messages->kept[number - 1]->print.a == print.a &&
                            messages->kept[number - 1]->print.b == print.b))
            return &messages->table[at];
    }
}

static void grow(struct view_messages *messages)
{
    struct kept **old = messages->kept;
    messages->capacity *= 2;
    messages->kept = sim_calloc(messages->capacity, sizeof *messages->kept);
    memcpy(messages->kept, old, messages->count * sizeof *old);
    free(old);
    free(messages->table);
    messages->table = sim_calloc(2ull * messages->capacity, sizeof *messages->table);
    for (uint32_t i = 0; i < messages->count; i++)
        *place_of(messages, messages->kept[i]->print) = i + 1;
}

uint32_t view_messages_number(struct view_messages *messages, const struct mu_view_message *message)
{
    struct mu_fingerprint print = print_of(message);
    uint32_t *place = place_of(messages, print);
    if (*place != 0)
        return *place - 1;
    if (messages->count == messages->capacity) {
        grow(messages);
        place = place_of(messages, print);
    }
    messages->kept[messages->count] = keep(message, print);
    *place = ++messages->count;
    return messages->count - 1;
}

const struct mu_view_message *view_messages_at(const struct view_messages *messages,
                                               uint32_t number)
{
    return &messages->kept[number]->message;
}

struct mu_fingerprint view_messages_print(const struct view_messages *messages, uint32_t number)
{
    return messages->kept[number]->print;
}

/* ---- words ---- */

void view_messages_describe(const struct mu_view_message *message, char text[VIEW_TEXT])
{
    static const char *const names[] = {"", "", "SAY_AGAIN", "JOIN", "WELCOME", "FENCE"};
    static const char *const agrees[] = {"", "UP", "DOWN", "ASK"};
    const struct mu_agree_value *value = &message->agree.value;
    unsigned long long number = message->mark.number;
    if (message->type != MU_VIEW_AGREE) {
        snprintf(text, VIEW_TEXT, "%s %llu/%04x", names[message->type], number,
                 (unsigned)(message->mark.hash & 0xffff));
        return;
    }
    int used = snprintf(text, VIEW_TEXT, "%s in %llu/%04x", agrees[message->agree.type], number,
                        (unsigned)(message->mark.hash & 0xffff));
    for (uint32_t i = 0; i < value->failed_count && used < VIEW_TEXT - 8; i++)
        used += snprintf(text + used, (size_t)(VIEW_TEXT - used), " -%u", value->failed[i].node);
    for (uint32_t i = 0; i < value->entry_count && used < VIEW_TEXT - 8; i++)
        used += snprintf(text + used, (size_t)(VIEW_TEXT - used), " %s%u",
                         value->entries[i].kind == MU_VIEW_KIND_JOIN ? "+" : "w",
                         (unsigned)(value->entries[i].key >> 32));
}
