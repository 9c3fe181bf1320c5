#include "core/advise/value.h"

#include <string.h>

void mu_advise_gather_clear(struct mu_advise_gather *gather)
{
    gather->bits = UINT64_MAX;
    gather->count = 0;
    gather->more = false;
}

static uint32_t place_of(const struct mu_advise_gather *gather, mu_advise_word word)
{
    uint32_t low = 0, high = gather->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (gather->words[middle] < word)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* When all places are taken the highest goes. */
void mu_advise_gather_add(struct mu_advise_gather *gather, mu_advise_word word)
{
    uint32_t at = place_of(gather, word);
    if (at < gather->count && gather->words[at] == word)
        return;
    if (gather->count == gather->capacity) {
        gather->more = true;
        if (at == gather->capacity)
            return;
        gather->count--;
    }
    memmove(&gather->words[at + 1], &gather->words[at],
            (gather->count - at) * sizeof *gather->words);
    gather->words[at] = word;
    gather->count++;
}

void mu_advise_gather_join(struct mu_advise_gather *gather, const struct mu_advise_value *value)
{
    gather->bits &= value->bits;
    gather->more = gather->more || value->more;
    for (uint32_t i = 0; i < value->count; i++)
        mu_advise_gather_add(gather, value->words[i]);
}

struct mu_advise_value mu_advise_gather_value(const struct mu_advise_gather *gather)
{
    return (struct mu_advise_value){
        .bits = gather->bits, .words = gather->words, .count = gather->count, .more = gather->more};
}

const char *mu_advise_value_error(const struct mu_advise_value *value, uint32_t size)
{
    for (uint32_t i = 0; i < value->count; i++) {
        mu_advise_word word = value->words[i];
        if (word >> 48 > MU_ADVISE_SAYS_LAST)
            return "a word accuses, votes, or says that its speaker takes no part";
        if (mu_advise_subject_of(word) >= size || mu_advise_by_of(word) >= size)
            return "who speaks and who is spoken of are slots of the machine";
        if (i > 0 && value->words[i - 1] >= word)
            return "the words are in order, none twice";
    }
    return NULL;
}
