/* The set of visited states: fingerprints, and how deep each was met. */
#ifndef MU_SIM_BASE_VISITED_H
#define MU_SIM_BASE_VISITED_H

#include "core/base/fingerprint.h"

struct visited_entry {
    uint64_t a;
    uint64_t b; /* low 16 bits: depth; never 0 in an entry that is in use */
};

struct visited {
    struct visited_entry *entries;
    uint64_t capacity, count, memory_bytes;
};

enum visited_answer { VISITED_NEW, VISITED_SEEN, VISITED_FULL };

void visited_init(struct visited *visited, uint64_t memory_bytes);
void visited_free(struct visited *visited);

/* Adds a state met at 'depth'.  With 'shorter' it counts as new again when it was met deeper. */
enum visited_answer visited_add(struct visited *visited, const struct mu_fingerprint *print,
                                uint64_t depth, bool shorter);

#endif
