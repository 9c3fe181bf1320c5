#include "daemon/pmi/space.h"

#include "wire/base/bytes.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS_FIRST = 64, NEWS_FIRST = 4096 };

struct pair {
    struct pair *next;
    uint64_t hash;
    uint8_t key_count;
    uint16_t value_count;
    char bytes[]; /* the key, then the value */
};

struct mu_pmi1_space {
    struct pair **buckets;
    size_t bucket_count, pair_count;             /* a power of two; */
    size_t own_bytes;                            /* that this node's processes put */
    uint8_t hash_key[crypto_shorthash_KEYBYTES]; /* no process can choose keys that collide */
    uint8_t *news;
    size_t news_count, news_room;
};

struct mu_pmi1_space *mu_pmi1_space_open(void)
{
    struct mu_pmi1_space *space = calloc(1, sizeof *space);
    if (space == NULL)
        return NULL;
    space->bucket_count = BUCKETS_FIRST;
    space->buckets = calloc(space->bucket_count, sizeof(struct pair *));
    crypto_shorthash_keygen(space->hash_key);
    if (space->buckets != NULL)
        return space;
    free(space);
    return NULL;
}

void mu_pmi1_space_close(struct mu_pmi1_space *space)
{
    if (space == NULL)
        return;
    for (size_t i = 0; i < space->bucket_count; i++)
        while (space->buckets[i] != NULL) {
            struct pair *pair = space->buckets[i];
            space->buckets[i] = pair->next;
            free(pair);
        }
    free(space->buckets);
    free(space->news);
    free(space);
}

/* ---- pairs ---- */

static uint64_t hash_of(const struct mu_pmi1_space *space, struct mu_pmi1_text key)
{
    uint64_t hash;
    _Static_assert(sizeof hash == crypto_shorthash_BYTES, "one word");
    crypto_shorthash((unsigned char *)&hash, (const unsigned char *)key.at, key.count,
                     space->hash_key);
    return hash;
}

static struct pair *find(const struct mu_pmi1_space *space, struct mu_pmi1_text key, uint64_t hash)
{
    struct pair *pair = space->buckets[hash & (space->bucket_count - 1)];
    while (pair != NULL && (pair->hash != hash || pair->key_count != key.count ||
                            memcmp(pair->bytes, key.at, key.count) != 0))
        pair = pair->next;
    return pair;
}

/* Twice as many.  Without memory for them it goes on with those that are there. */
static void grow(struct mu_pmi1_space *space)
{
    size_t count = 2 * space->bucket_count;
    struct pair **buckets = calloc(count, sizeof(struct pair *));
    if (buckets == NULL)
        return;
    for (size_t i = 0; i < space->bucket_count; i++)
        while (space->buckets[i] != NULL) {
            struct pair *pair = space->buckets[i];
            struct pair **place = &buckets[pair->hash & (count - 1)];
            space->buckets[i] = pair->next;
            pair->next = *place;
            *place = pair;
        }
    free(space->buckets);
    space->buckets = buckets;
    space->bucket_count = count;
}

/* One that is not there yet.  False: no memory. */
static bool add(struct mu_pmi1_space *space, struct mu_pmi1_text key, struct mu_pmi1_text value,
                uint64_t hash)
{
    if (space->pair_count >= space->bucket_count)
        grow(space);
    struct pair *pair = malloc(sizeof *pair + key.count + value.count);
    if (pair == NULL)
        return false;
    struct pair **place = &space->buckets[hash & (space->bucket_count - 1)];
    *pair = (struct pair){.next = *place,
                          .hash = hash,
                          .key_count = (uint8_t)key.count,
                          .value_count = (uint16_t)value.count};
    memcpy(pair->bytes, key.at, key.count);
    if (value.count > 0)
        memcpy(pair->bytes + key.count, value.at, value.count);
    *place = pair;
    space->pair_count++;
    return true;
}

bool mu_pmi1_get(const struct mu_pmi1_space *space, struct mu_pmi1_text key,
                 struct mu_pmi1_text *value)
{
    const struct pair *pair = find(space, key, hash_of(space, key));
    if (pair == NULL)
        return false;
    *value = (struct mu_pmi1_text){pair->bytes + pair->key_count, pair->value_count};
    return true;
}

/* ---- news: pairs one after the other, length of the key (1), of the value (2), key, value ---- */

enum { PAIR_FIXED = 1 + 2 };

static bool write_news(struct mu_pmi1_space *space, struct mu_pmi1_text key,
                       struct mu_pmi1_text value)
{
    size_t more = PAIR_FIXED + key.count + value.count;
    if (space->news_room - space->news_count < more) {
        size_t room = 2 * space->news_room + NEWS_FIRST;
        uint8_t *news = realloc(space->news, room);
        if (news == NULL)
            return false;
        space->news = news;
        space->news_room = room;
    }
    struct mu_writer writer;
    mu_writer_init(&writer, space->news + space->news_count, more);
    mu_write_u8(&writer, (uint8_t)key.count);
    mu_write_u16(&writer, (uint16_t)value.count);
    mu_write_bytes(&writer, key.at, key.count);
    mu_write_bytes(&writer, value.at, value.count);
    space->news_count += more;
    return true;
}

const char *mu_pmi1_put(struct mu_pmi1_space *space, struct mu_pmi1_text key,
                        struct mu_pmi1_text value)
{
    uint64_t hash = hash_of(space, key);
    size_t bytes = key.count + value.count;
    if (find(space, key, hash) != NULL)
        return "duplicate_key";
    if (bytes > MU_PMI1_SPACE_MAX - space->own_bytes || !write_news(space, key, value))
        return "no_room";
    if (!add(space, key, value, hash)) {
        space->news_count -= PAIR_FIXED + bytes;
        return "no_room";
    }
    space->own_bytes += bytes;
    return NULL;
}

const uint8_t *mu_pmi1_news(const struct mu_pmi1_space *space, size_t *count)
{
    static const uint8_t nothing[1];
    *count = space->news_count;
    return space->news != NULL ? space->news : nothing;
}

void mu_pmi1_told(struct mu_pmi1_space *space)
{
    free(space->news);
    space->news = NULL;
    space->news_count = space->news_room = 0;
}

const char *mu_pmi1_merge(struct mu_pmi1_space *space, const uint8_t *bytes, size_t count)
{
    struct mu_reader reader;
    if (count == 0)
        return NULL; /* there may be no bytes at all */
    mu_reader_init(&reader, bytes, count);
    while (mu_reader_left(&reader) > 0) {
        struct mu_pmi1_text key = {NULL, mu_read_u8(&reader)};
        struct mu_pmi1_text value = {NULL, mu_read_u16(&reader)};
        if (key.count < 1 || key.count >= MU_PMI1_KEY_MAX || value.count >= MU_PMI1_VALUE_MAX)
            return "a key or a value that is too long, or a key of nothing";
        key.at = (const char *)mu_read_bytes(&reader, key.count);
        value.at = (const char *)mu_read_bytes(&reader, value.count);
        if (reader.bad)
            return "bytes that end inside a pair";
        uint64_t hash = hash_of(space, key);
        if (find(space, key, hash) == NULL && !add(space, key, value, hash))
            return "no memory for a pair";
    }
    return NULL;
}
