/* A fingerprint of a detector's state, for the explorer. */
#include "core/ring/inside.h"

#include <string.h>

/* Parts consist of whole words without holes that a copy could fill, and what is not in use is
 * zero. */
_Static_assert(sizeof(struct mu_watch) == 144 && sizeof(struct mu_watcher) == 80 &&
                   sizeof(struct mu_part) == 40 && sizeof(struct mu_taken) == 72,
               "a part has changed: does it have holes?");

static void add_words(struct mu_fingerprint *print, const void *part, size_t bytes)
{
    const uint8_t *at = part;
    for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, at + i, sizeof word);
        mu_fingerprint_add(print, word);
    }
}

static void print_mend(const struct mu_mend *mend, struct mu_fingerprint *print)
{
    mu_fingerprint_add(print, (uint64_t)mend->spans << 32 | mend->batches);
    mu_fingerprint_add(print, (uint64_t)mend->next_to_observed << 32 | mend->swept);
    mu_fingerprint_add(print, mend->batch_ns);
    for (uint32_t i = 0; i < mend->spans; i++) {
        mu_fingerprint_add(print, mend->reach[i]);
        mu_fingerprint_add(print, mend->probed_ns[i]);
    }
}

void mu_detect_fingerprint(const struct mu_detect *detect, struct mu_fingerprint *print)
{
    add_words(print, detect, offsetof(struct mu_detect, nearest));
    mu_fingerprint_add(print, detect->nearest);
    mu_fingerprint_add(print, (uint64_t)detect->started << 2 | (uint64_t)detect->fenced << 1 |
                                  (uint64_t)detect->lease.held |
                                  (uint64_t)detect->lease.ended << 3 |
                                  (uint64_t)detect->chosen << 4);
    mu_fingerprint_add(print, (uint64_t)detect->undecided << 32 | detect->lease.ended_by);
    mu_fingerprint_add(print, detect->lease.left_ns);
    mu_fingerprint_add(print, detect->lease.ended_ns);
    add_words(print, &detect->tell, sizeof detect->tell);
    add_words(print, detect->ring, sizeof detect->ring);
    add_words(print, detect->watchers, sizeof detect->watchers);
    add_words(print, &detect->ask, sizeof detect->ask);
    print_mend(&detect->mend, print);
    add_words(print, &detect->part, sizeof detect->part);
    add_words(print, detect->taken, sizeof detect->taken);
    add_words(print, &detect->loop, sizeof detect->loop);
    for (uint32_t i = 0; i < detect->dead.count; i++)
        mu_fingerprint_add(print, (uint64_t)detect->dead.entries[i].slot << 32 |
                                      detect->dead.entries[i].incarnation);
    for (uint32_t i = 0; i < detect->unproven_count; i++)
        mu_fingerprint_add(print, (uint64_t)detect->unproven[i].slot << 32 |
                                      detect->unproven[i].incarnation);
}
