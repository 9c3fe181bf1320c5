/* Datagrams that a fault on purpose holds back for a while (harm.h).  Bounded: what does not fit is
 * lost, as in a network whose queues are full. */
#ifndef MU_DAEMON_HEART_DATAGRAMS_LATE_H
#define MU_DAEMON_HEART_DATAGRAMS_LATE_H

#include "core/base/types.h"
#include "daemon/heart/tag.h"

enum { MU_LATE_MAX = 512 };

struct mu_late_one {
    uint64_t due_ns;
    uint64_t order; /* who came first is first, when several are due at once */
    mu_slot to;     /* MU_SLOT_NONE: it came in */
    uint8_t bytes[MU_DATAGRAM_BYTES];
};

/* Zeroed: empty. */
struct mu_late {
    uint32_t count;
    uint64_t orders;
    struct mu_late_one ones[MU_LATE_MAX];
};

/* False: there is no room. */
bool mu_late_put(struct mu_late *late, uint64_t due_ns, mu_slot to,
                 const uint8_t bytes[MU_DATAGRAM_BYTES]);

/* The next one that is due; false: none is. */
bool mu_late_take(struct mu_late *late, uint64_t now_ns, struct mu_late_one *one);

/* When that will be; MU_NEVER: none is held. */
uint64_t mu_late_next_ns(const struct mu_late *late);

#endif
