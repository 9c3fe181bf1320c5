/* A fingerprint of a detector's state, for the explorer. */
#include "core/detect_ring_state.h"

#include <string.h>

/* Parts consist of whole words without holes, and what is not in use is zero. */
static void add_words(struct mu_fingerprint *print, const void *part, size_t bytes)
{
    const uint8_t *at = part;
    for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, at + i, sizeof word);
        mu_fingerprint_add(print, word);
    }
}

void mu_detect_fingerprint(const struct mu_detect *detect, struct mu_fingerprint *print)
{
    add_words(print, detect, offsetof(struct mu_detect, nearest));
    mu_fingerprint_add(print, detect->nearest);
    mu_fingerprint_add(print, (uint64_t)detect->started << 2 | (uint64_t)detect->fenced << 1 |
                                  (uint64_t)detect->lease_held);
    add_words(print, detect->ring, sizeof detect->ring);
    add_words(print, detect->watchers, sizeof detect->watchers);
    add_words(print, &detect->ask, sizeof detect->ask);
    add_words(print, &detect->mend, sizeof detect->mend);
    add_words(print, &detect->part, sizeof detect->part);
    add_words(print, detect->taken, sizeof detect->taken);
    for (uint32_t i = 0; i < detect->dead.count; i++)
        mu_fingerprint_add(print, (uint64_t)detect->dead.entries[i].slot << 32 |
                                      detect->dead.entries[i].incarnation);
}
