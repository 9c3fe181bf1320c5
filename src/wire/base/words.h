/* Sentences out of pieces, without printf: it is large, and a program that reads its first event
 * for a long time finds none of it in the caches.  What does not fit is left out; the text is
 * always terminated. */
#ifndef MU_WIRE_BASE_WORDS_H
#define MU_WIRE_BASE_WORDS_H

#include <stddef.h>
#include <stdint.h>

struct mu_words {
    char *at;
    size_t room; /* left, with that of the terminator */
};

/* 'room' at least 1. */
static inline struct mu_words mu_words_in(char *text, size_t room)
{
    text[0] = '\0';
    return (struct mu_words){.at = text, .room = room};
}

static inline void mu_words_put(struct mu_words *words, const char *text)
{
    while (words->room > 1 && *text != '\0') {
        *words->at++ = *text++;
        words->room--;
    }
    *words->at = '\0';
}

static inline void mu_words_number(struct mu_words *words, int64_t number)
{
    char digits[21];
    char *first = digits + sizeof digits - 1;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    *first = '\0';
    do
        *--first = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (number < 0)
        *--first = '-';
    mu_words_put(words, first);
}

#endif
