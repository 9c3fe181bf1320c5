/* The bytes of entries that this room understands: numbers begin with their lowest byte. */
#include "core/view/inside.h"

#include <string.h>

enum { FLAG_PROVISIONAL = 1, FLAG_CONTRIBUTED = 2, FLAG_MORE = 4 };

static void put(struct mu_agree_entry *entry, uint64_t value, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++)
        entry->bytes[entry->length++] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const struct mu_agree_entry *entry, uint32_t at, uint32_t bytes)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < bytes; i++)
        value |= (uint64_t)entry->bytes[at + i] << 8 * i;
    return value;
}

void mu_view_write_word(struct mu_agree_entry *entry, struct mu_view_member member,
                        const struct mu_view_word *word)
{
    memset(entry, 0, sizeof *entry);
    entry->kind = MU_VIEW_KIND_WORD;
    entry->key = mu_view_key(member.id, member.incarnation);
    put(entry, word->mark.number, 8);
    put(entry, word->mark.hash, 8);
    put(entry,
        (uint64_t)((word->mark.provisional ? FLAG_PROVISIONAL : 0) |
                   (word->contributed ? FLAG_CONTRIBUTED : 0) | (word->held_more ? FLAG_MORE : 0)),
        1);
    put(entry, word->held_count, 1);
    for (uint8_t i = 0; i < word->held_count; i++)
        put(entry, word->held[i], 4);
}

void mu_view_read_word(const struct mu_agree_entry *entry, struct mu_view_word *word)
{
    uint64_t flags = get(entry, 16, 1), count = get(entry, 17, 1);
    memset(word, 0, sizeof *word);
    word->mark.number = get(entry, 0, 8);
    word->mark.hash = get(entry, 8, 8);
    word->mark.provisional = (flags & FLAG_PROVISIONAL) != 0;
    word->contributed = (flags & FLAG_CONTRIBUTED) != 0;
    word->held_more = (flags & FLAG_MORE) != 0 || count > MU_VIEW_HELD;
    word->held_count = count > MU_VIEW_HELD ? MU_VIEW_HELD : (uint8_t)count;
    for (uint8_t i = 0; i < word->held_count; i++)
        word->held[i] = (mu_slot)get(entry, 18 + 4u * i, 4);
}

void mu_view_write_tie(struct mu_agree_entry *entry, uint64_t number, mu_slot keep)
{
    memset(entry, 0, sizeof *entry);
    entry->kind = MU_VIEW_KIND_TIE;
    entry->key = number;
    put(entry, keep, 4);
}

mu_slot mu_view_read_tie(const struct mu_agree_entry *entry)
{
    return (mu_slot)get(entry, 0, 4);
}
