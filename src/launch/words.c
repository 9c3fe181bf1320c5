/* Whose word counts: see words.h. */
#include "launch/words.h"

#include <assert.h>
#include <stdlib.h>

struct word {
    mu_slot node;
    struct mu_evidence evidence; /* as it was told first */
    bool followed;
    uint32_t count; /* of its tellers that are not lost */
    bool *told;     /* by slot */
};

struct teller {
    bool lost;
    uint32_t lacks; /* words that are followed, and that it has not told */
};

struct words {
    uint32_t nodes;
    struct teller *tellers;
    uint32_t count, room;
    struct word *list;
    mu_slot from, to; /* tellers whose words may have come to count */
};

struct words *words_new(uint32_t nodes)
{
    struct words *words = calloc(1, sizeof *words);
    if (words == NULL)
        return NULL;
    words->nodes = nodes;
    words->tellers = calloc(nodes, sizeof *words->tellers);
    if (words->tellers != NULL)
        return words;
    free(words);
    return NULL;
}

void words_free(struct words *words)
{
    if (words == NULL)
        return;
    for (uint32_t i = 0; i < words->count; i++)
        free(words->list[i].told);
    free(words->list);
    free(words->tellers);
    free(words);
}

/* ---- what was told ---- */

static bool make_room(struct words *words)
{
    if (words->count < words->room)
        return true;
    uint32_t room = words->room > 0 ? words->room * 2 : 4;
    struct word *larger = realloc(words->list, room * sizeof *larger);
    if (larger == NULL)
        return false;
    words->list = larger;
    words->room = room;
    return true;
}

static struct word *add(struct words *words, mu_slot node, const struct mu_evidence *evidence)
{
    bool *told = make_room(words) ? calloc(words->nodes, sizeof *told) : NULL;
    if (told == NULL)
        return NULL;
    struct word *word = &words->list[words->count++];
    *word = (struct word){.node = node, .evidence = *evidence, .told = told};
    return word;
}

static struct word *find(struct words *words, mu_slot node, mu_slot seen_by)
{
    for (uint32_t i = 0; i < words->count; i++)
        if (words->list[i].node == node && words->list[i].evidence.seen_by == seen_by)
            return &words->list[i];
    return NULL;
}

bool words_take(struct words *words, mu_slot teller, mu_slot node,
                const struct mu_evidence *evidence)
{
    assert(teller < words->nodes && node < words->nodes && teller != node);
    struct word *word = find(words, node, evidence->seen_by);
    if (word == NULL)
        word = add(words, node, evidence);
    if (word == NULL)
        return false;
    if (word->told[teller] || words->tellers[teller].lost)
        return true;
    word->told[teller] = true;
    word->count++;
    words->tellers[teller].lacks -= word->followed;
    words->from = teller;
    words->to = teller + 1;
    return true;
}

/* ---- what counts ---- */

static void follow_none(struct words *words)
{
    for (uint32_t i = 0; i < words->count; i++)
        words->list[i].followed = false;
    for (mu_slot teller = 0; teller < words->nodes; teller++)
        words->tellers[teller].lacks = 0;
}

static void follow(struct words *words, struct word *word)
{
    word->followed = true;
    for (mu_slot teller = 0; teller < words->nodes; teller++)
        words->tellers[teller].lacks += !word->told[teller];
}

/* NULL: none of this teller's. */
static struct word *next_of(struct words *words, mu_slot teller, uint32_t tellers)
{
    if (words->tellers[teller].lost)
        return NULL;
    for (uint32_t i = 0; i < words->count; i++) {
        struct word *word = &words->list[i];
        if (!word->told[teller] || words->tellers[word->node].lost)
            continue;
        if (words->tellers[teller].lacks == 0)
            return word;
        if (word->count > tellers / 2) {
            follow_none(words);
            return word;
        }
    }
    return NULL;
}

const struct mu_evidence *words_next(struct words *words, uint32_t tellers, mu_slot *node)
{
    for (; words->from < words->to; words->from++) {
        struct word *word = next_of(words, words->from, tellers);
        if (word == NULL)
            continue;
        follow(words, word);
        *node = word->node;
        return &word->evidence;
    }
    return NULL;
}

/* ---- who is left ---- */

static bool is_side_left(const struct words *words)
{
    for (mu_slot teller = 0; teller < words->nodes; teller++)
        if (!words->tellers[teller].lost && words->tellers[teller].lacks == 0)
            return true;
    return false;
}

void words_lost(struct words *words, mu_slot node)
{
    words->tellers[node].lost = true;
    for (uint32_t i = 0; i < words->count; i++)
        words->list[i].count -= words->list[i].told[node];
    if (is_side_left(words))
        return;
    follow_none(words);
    words->from = 0;
    words->to = words->nodes;
}
