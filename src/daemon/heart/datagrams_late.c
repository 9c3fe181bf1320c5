#include "daemon/heart/datagrams_late.h"

#include <string.h>

bool mu_late_put(struct mu_late *late, uint64_t due_ns, mu_slot to,
                 const uint8_t bytes[MU_DATAGRAM_BYTES])
{
    if (late->count == MU_LATE_MAX)
        return false;
    struct mu_late_one *one = &late->ones[late->count++];
    one->due_ns = due_ns;
    one->order = late->orders++;
    one->to = to;
    memcpy(one->bytes, bytes, sizeof one->bytes);
    return true;
}

static uint32_t first_of(const struct mu_late *late)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i < late->count; i++) {
        const struct mu_late_one *one = &late->ones[i], *best = &late->ones[first];
        if (one->due_ns < best->due_ns || (one->due_ns == best->due_ns && one->order < best->order))
            first = i;
    }
    return first;
}

bool mu_late_take(struct mu_late *late, uint64_t now_ns, struct mu_late_one *one)
{
    uint32_t first = first_of(late);
    if (late->count == 0 || late->ones[first].due_ns > now_ns)
        return false;
    *one = late->ones[first];
    late->ones[first] = late->ones[--late->count];
    return true;
}

uint64_t mu_late_next_ns(const struct mu_late *late)
{
    return late->count == 0 ? MU_NEVER : late->ones[first_of(late)].due_ns;
}
