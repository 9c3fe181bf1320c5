/* What is known already: notice identities as ranges, so that a thousand ranks of one job or a
 * million payloads of one origin take one entry.  Sorted and merged: one content, one layout. */
#ifndef MU_CORE_BASE_SEEN_H
#define MU_CORE_BASE_SEEN_H

#include "core/base/arena.h"
#include "core/base/notice.h"

struct mu_seen_range {
    uint64_t stream;
    uint64_t first, last;
    uint8_t kind;
};

struct mu_seen {
    struct mu_seen_range *ranges;
    uint32_t count;
    uint32_t capacity;
    bool apart; /* a rule that a test breaks: MU_BROKEN_SEEN_APART */
};

void mu_seen_init(struct mu_seen *seen, struct mu_arena *arena, uint32_t capacity, bool apart);

bool mu_seen_has(const struct mu_seen *seen, const struct mu_notice_id *id);

/* Room to add this one?  It may need none, when it touches a range that is there. */
bool mu_seen_fits(const struct mu_seen *seen, const struct mu_notice_id *id);

/* Drops all that is known of one stream. */
void mu_seen_forget(struct mu_seen *seen, uint8_t kind, uint64_t stream);

/* The identity must be new, and fit. */
void mu_seen_add(struct mu_seen *seen, const struct mu_notice_id *id);

#endif
